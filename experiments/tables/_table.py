"""A table of the page: rows are data sets, columns are what a paper printed or what cells measured.

Columns are of kinds that never mix: figures printed in a paper; ours without labels; those whose settings were chosen
with the labels, as the papers did (an oracle, nobody has it in practice); and methods of others. Where methods are told
some labels or links at run time, ours and those of others are kinds of their own. Titles and notes are in
``notes.md``, rows of single data sets in ``rows.csv``, printed figures in ``experiments/printed``.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells import SEEDS, Cell
from experiments.data import pairs
from experiments.store import Record, Store

PRINTED, FREE, TUNED, BASELINE = "printed", "label-free", "tuned with labels", "baseline"
TOLD, TOLD_BASELINE = "side information", "baseline, same information"
NOT_RUN = "not run"
MOST_COLUMNS = 7  # beside the labels of the rows; more do not fit in view
HERE = Path(__file__).parent
PAPERS = Path(__file__).parents[1] / "printed"


@cache
def notes() -> dict[str, tuple[str, str]]:
    """Title and note by the name of a table or figure."""
    parts = [part.split("\n\n") for part in (HERE / "notes.md").read_text(encoding="utf-8").split("\n## ")[1:]]
    return {name: (title, " ".join(" ".join(rest).split())) for name, title, *rest in parts}


@cache
def lines_of(path: str | Path) -> list[dict[str, str]]:
    """The lines of a CSV file of this folder, or of any path."""
    with (HERE / path).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def printed(name: str, folder: Path = PAPERS) -> dict[str, dict[str, str]]:
    """What a paper prints in a table, by column and label of the row; "-" as the paper has it."""
    lines = lines_of(folder / f"{name}.csv")
    return {title: {line["row"]: line[title] for line in lines} for title in lines[0] if title != "row"}


@dataclass(frozen=True)
class Printed:
    """A column of figures as a paper prints them, by the label of the row."""

    title: str
    figures: Mapping[str, Any]
    kind: str = PRINTED

    def cells(self, row: "Row") -> list[Cell]:
        return []

    def text(self, row: "Row", score: "Score", store: Store) -> str:
        return str(self.figures.get(row.label, ""))

    def mean(self, row: "Row", score: "Score", store: Store) -> float:
        """The figure without its deviation; NaN where the paper has none."""
        text = self.text(row, score, store).split(" ")[0]
        return float("nan") if text in ("", "-") else float(text)


@dataclass(frozen=True)
class Score:
    """How a record becomes one number a seed; ``better`` is +1 if high ones are good, -1 if low ones are, or 0.

    A printed figure that is better than ours by more than the margin is missed.
    """

    title: str
    of: Callable[[Record], Sequence[float]]
    digits: int = 1
    better: int = 1
    margin: float = 1.0

    def __call__(self, record: Record) -> np.ndarray[Any, Any]:
        return np.asarray(self.of(record), dtype=float)


def noted(name: str, digits: int = 1) -> Score:
    """A figure that the method itself noted."""
    return Score(name, lambda record: [extra[name] for extra in record.extra], digits)


MAJORITY = Score("accuracy in %, clusters mapped to their largest class", lambda r: r.scores["majority"])
ACCURACY = Score("accuracy in %, clusters mapped one to one to classes", lambda r: r.scores["accuracy"])
ERROR = Score(
    "error in %, clusters mapped one to one to classes", lambda r: [100 - v for v in r.scores["accuracy"]], 1, -1, 2.0
)
RAND = Score("Rand index", lambda r: [v / 100 for v in r.scores["rand"]], 3, margin=0.02)
NMI = Score("normalised mutual information", lambda r: [v / 100 for v in r.scores["nmi"]], 3, margin=0.02)
LEAST_TIME = Score(
    "CPU time, as a multiple of KMeans(n_init=1) on the same rows; the least of all runs of either",
    lambda r: [min(r.seconds) / r.kmeans_seconds],
    better=-1,
)
MEMORY = Score(
    "peak memory of a fit beyond the process with the data, in MB; the least of all runs",
    lambda r: [r.megabytes],
    0,
    better=-1,
)


@dataclass(frozen=True)
class Row:
    """A line: one data set, or several whose scores are meaned; ``only`` names the columns that are run."""

    label: str
    data: tuple[str, ...]
    note: str = ""
    only: tuple[str, ...] | None = None
    otherwise: str = "-"
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # settings of a method in this row alone
    seeds: Mapping[str, int] = field(default_factory=dict)  # title of a column: at most so many; it is not run with 0

    def parts(self) -> list["Row"]:
        """A row for each data set."""
        return [replace(self, data=(name,)) for name in self.data]


def few_seeds(row: Row, columns: Iterable["Measured"], seeds: int, note: str) -> Row:
    """The row with so many seeds of some columns."""
    return replace(row, note=note, seeds=dict.fromkeys((column.title for column in columns), seeds))


def rows_of(sets: Mapping[str, str]) -> tuple[Row, ...]:
    """Rows by label, with one data set each."""
    return tuple(Row(label, (name,)) for label, name in sets.items())


def listed(table: str) -> tuple[Row, ...]:
    """The rows that ``rows.csv`` has for a table; "digits/pairs" are all pairs of digits."""
    found = [line for line in lines_of("rows.csv") if line["table"] == table]
    data = {line["data"]: (line["data"],) for line in found}
    data |= {name: pairs(name.removesuffix("/pairs")) for name in data if name.endswith("/pairs")}
    return tuple(Row(line["label"], data[line["data"]], line["note"]) for line in found)


def sets_of(table: str) -> dict[str, str]:
    """Data sets by label, where ``rows.csv`` has one in every row."""
    return {row.label: row.data[0] for row in listed(table)}


class Column:
    """What columns that are measured have in common; ``values`` are a score by seed, or why there are none."""

    title: str
    kind: str
    score: Score | None = None  # in place of the table's

    def values(self, row: Row, score: Score, store: Store) -> Any:
        raise NotImplementedError

    def text(self, row: Row, score: Score, store: Store) -> str:
        values = self.values(row, score, store)
        return values if isinstance(values, str) else self.shown(values, row, score, store)

    def shown(self, values: Any, row: Row, score: Score, store: Store) -> str:
        """Mean and standard deviation over seeds; the deviation is left out where one run is all there is."""
        digits = (self.score or score).digits
        mean = f"{np.mean(values):.{digits}f}"
        return mean if len(values) == 1 else f"{mean} ± {np.std(values):.{digits}f}"

    def mean(self, row: Row, score: Score, store: Store) -> float:
        """NaN if it was not measured."""
        values = self.values(row, score, store)
        return float("nan") if isinstance(values, str) else float(np.mean(values))


@dataclass(frozen=True)
class Measured(Column):
    """One method under one setting."""

    title: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: str = FREE
    seeds: int = SEEDS
    score: Score | None = None

    def cells(self, row: Row) -> list[Cell]:
        seeds = min(self.seeds, row.seeds.get(self.title, self.seeds))
        if not seeds or (row.only is not None and self.title not in row.only):
            return []
        settings = {**self.settings, **row.own.get(self.method, {})}
        return [Cell.of(name, self.method, seeds, **settings) for name in row.data]

    def records(self, row: Row, store: Store) -> list[Record]:
        """Those that went well."""
        return store.ok(self.cells(row))

    def values(self, row: Row, score: Score, store: Store) -> Any:
        cells = self.cells(row)
        if not cells:
            return row.otherwise
        found = self.records(row, store)
        if len(found) < len(cells):
            return next(_why(r) for r in map(store.records.get, cells) if r is None or r.status != "ok")
        if score is MEMORY and not all(record.megabytes for record in found):
            return f"{NOT_RUN}: memory was not measured"
        return self.meaned([(self.score or score)(record) for record in found])

    @staticmethod
    def meaned(found: Sequence[Any]) -> Any:
        """Over the data sets of a row, seed by seed; a method that is not seeded has one value everywhere."""
        length = min(map(len, found))
        return np.mean([values[:length] for values in found], axis=0)


def ours(method: str, seeds: int = SEEDS, title: str = "", **settings: Any) -> Measured:
    """A method of ours, at its defaults but for the settings."""
    return Measured(title or method, method, settings, seeds=seeds)


def other(method: str, seeds: int = SEEDS, title: str = "", **settings: Any) -> Measured:
    """A method of others."""
    return replace(ours(method, seeds, title, **settings), kind=BASELINE)


def noting(of: str, title: str, method: str, kind: str = FREE, digits: int = 1, **settings: Any) -> Measured:
    """A column of a figure that the method itself noted."""
    return Measured(title, method, settings, kind, score=noted(of, digits))


KMEANS = (other("KMeans(1)"), other("KMeans(10)"))


@dataclass(frozen=True)
class Tuned(Column):
    """The best of a grid of settings by mean accuracy (majority, or ``by``), chosen with labels as the papers did."""

    title: str
    method: str
    grid: Sequence[Mapping[str, Any]]
    seeds: int = SEEDS
    kind: str = TUNED
    by: Score = MAJORITY

    def columns(self) -> list[Measured]:
        return [ours(self.method, self.seeds, self.title, **settings) for settings in self.grid]

    def cells(self, row: Row) -> list[Cell]:
        return [cell for column in self.columns() for cell in column.cells(row)]

    def values(self, row: Row, score: Score, store: Store) -> Any:
        """Every data set of the row has its own best setting."""
        best, columns = [], self.columns()
        for one in row.parts():
            means = [column.mean(one, self.by, store) for column in columns]
            if np.isnan(means).all():
                return columns[0].values(one, self.by, store)
            best.append(columns[int(np.nanargmax(means))].values(one, score, store))
        return Measured.meaned(best)


def tuned(title: str, method: str, seeds: int = SEEDS, by: Score = MAJORITY, **axes: Sequence[Any]) -> Tuned:
    """With the product of some axes as its grid."""
    grid = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    return Tuned(title, method, grid, seeds, by=by)


@dataclass(frozen=True)
class Table:
    """One table; ``quick`` names the rows of the short run, ``told`` what its note has in braces."""

    name: str
    rows: tuple[Row, ...]
    columns: tuple[Any, ...]
    score: Score = MAJORITY
    quick: tuple[str, ...] = ()
    after: Callable[["Table", Store], str] | None = None
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self._noted()[0]

    @property
    def head(self) -> str:
        """Name, score and note."""
        return f"`{self.name}`: {self.score.title}. {self._noted()[1]}".strip()

    def _noted(self) -> list[str]:
        """Title and note; "labels-5" is one of "labels"."""
        texts = notes().get(self.name) or notes()[self.name.rpartition("-")[0]]
        return [text.format(**self.told) for text in texts]

    def cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        names = [row.label for row in self.rows]
        wanted = names if rows is None else list(rows)
        if unknown := [name for name in wanted if name not in names]:
            raise SystemExit(f"{self.name} has no row {', '.join(unknown)}: choose from {', '.join(names)}")
        chosen = [row for row in self.rows if row.label in wanted]
        return [cell for row in chosen for column in self.columns for cell in column.cells(row)]

    def quick_cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        """One seed of the rows that are asked for, or of those of the short run."""
        return [replace(cell, seeds=1) for cell in self.cells(self.quick if rows is None else rows)]

    def column(self, title: str) -> Any:
        return next(column for column in self.columns if column.title == title)

    def means(self, column: Any, store: Store) -> Any:
        """The mean of a column, which may be named, in every row; NaN where it was not measured."""
        found = self.column(column) if isinstance(column, str) else column
        return np.array([found.mean(row, self.score, store) for row in self.rows])

    def by_title(self, store: Store) -> dict[str, Any]:
        """The means of all measured columns."""
        return {column.title: self.means(column, store) for column in self.columns if isinstance(column, Column)}

    def section(self, store: Store) -> str:
        """Markdown: title, what is shown, the table with the kinds of its columns in a second line, and notes.

        A table with more columns than fit in view becomes several with the same rows.
        """
        marks: dict[str, str] = {}  # rows with the same note share it
        for row in self.rows:
            if row.note:
                marks.setdefault(row.note, f"{self.name}-{len(marks) + 1}")
        labels = [row.label + (f" [^{marks[row.note]}]" if row.note else "") for row in self.rows]
        heads = [f"{column.title}<br>*{column.kind}*" for column in self.columns]
        figures = [self.figures(row, store) for row in self.rows]
        tables = [
            markdown(labels, [heads[j] for j in part], [[line[j] for j in part] for line in figures])
            for part in np.array_split(np.arange(len(heads)), -(-len(heads) // MOST_COLUMNS))
        ]
        footnotes = "\n".join(f"[^{mark}]: {note}" for note, mark in marks.items())
        parts = [f"### {self.title}", self.head, *tables, self.words(store), footnotes]
        return "\n\n".join(filter(None, parts)) + "\n"

    def words(self, store: Store) -> str:
        """The sentences below the table."""
        return self.after(self, store) if self.after else ""

    def figures(self, row: Row, store: Store) -> list[str]:
        """The figures of a row; the best of those without labels is bold, and so is what prints alike."""
        found = [column.text(row, self.score, store) for column in self.columns]
        means = np.array([self._compared(column, row, store) for column in self.columns])
        if not self.score.better or np.isfinite(means).sum() < 2:
            return found
        best = means == np.nanmax(self.score.better * means) * self.score.better
        return [f"**{text}**" if is_best else text for text, is_best in zip(found, best, strict=True)]

    def _compared(self, column: Any, row: Row, store: Store) -> float:
        """What takes part in the comparison of a row, as it prints; NaN for what does not."""
        if not isinstance(column, Measured) or column.kind not in (FREE, BASELINE) or column.score is not None:
            return np.nan
        return round(column.mean(row, self.score, store), self.score.digits)


def costs(table: Table) -> tuple[Table, Table]:
    """Time and memory of the fits of a table."""
    plain = replace(table, quick=(), after=None)
    times, memory = f"{table.name}-times", f"{table.name}-memory"
    return replace(plain, name=times, score=LEAST_TIME), replace(plain, name=memory, score=MEMORY)


def markdown(labels: Iterable[str], heads: Sequence[str], figures: Iterable[Iterable[Any]], corner: str = "") -> str:
    """A table with a label before every line."""
    lines = [f"| {label} | {' | '.join(map(str, line))} |" for label, line in zip(labels, figures, strict=True)]
    return "\n".join([f"|{corner} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|", *lines])


def _why(record: Record | None) -> str:
    if record is None:
        return NOT_RUN
    return f"{NOT_RUN}: {record.reason}" if record.status == "refused" else f"{record.status}: {record.reason}"
