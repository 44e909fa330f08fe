"""A table of the page: rows are data sets, columns are what a paper printed or what cells measured.

Columns are of kinds that never mix: figures printed in a paper; ours without labels; those whose settings were chosen
with the labels, as the papers did (an oracle, nobody has it in practice); and methods of others. Where methods are told
some labels or links at run time, ours and those of others are kinds of their own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from experiments.cells import SEEDS, Cell
from experiments.store import Record, Store

PRINTED, FREE, TUNED, BASELINE = "printed", "label-free", "tuned with labels", "baseline"
TOLD, TOLD_BASELINE = "side information", "baseline, same information"
NOT_RUN = "not run"
MOST_COLUMNS = 7  # beside the labels of the rows; more do not fit in view


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


@dataclass(frozen=True)
class Measured:
    """One method under one setting."""

    title: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: str = FREE
    seeds: int = SEEDS

    def cells(self, row: "Row") -> list[Cell]:
        if row.only is not None and self.title not in row.only:
            return []
        seeds = min(self.seeds, dict(row.seeds).get(self.title, self.seeds))
        return [
            Cell.of(name, self.method, seeds, **{**self.settings, **row.settings(self.method)}) for name in row.data
        ]

    def values(self, row: "Row", score: "Score", store: Store) -> Any:
        """The score of every seed, meaned over the data sets of the row; a string if it was not measured."""
        cells = self.cells(row)
        if not cells:
            return row.otherwise
        found = [store.records.get(cell) for cell in cells]
        missing = next((record for record in found if record is None or record.status != "ok"), found[0])
        return _why(missing) if missing is None or missing.status != "ok" else _mean([score(r) for r in found if r])

    def text(self, row: "Row", score: "Score", store: Store) -> str:
        return figure(self.values(row, score, store), score.digits)


@dataclass(frozen=True)
class Shown(Measured):
    """A method by a figure of its own, ``of`` in the extra figures of its records, whatever the table's score is."""

    of: str = ""
    digits: int = 1

    def values(self, row: "Row", score: "Score", store: Store) -> Any:
        own = Score(self.of, lambda record: [extra[self.of] for extra in record.extra])
        return super().values(row, own, store)

    def text(self, row: "Row", score: "Score", store: Store) -> str:
        return figure(self.values(row, score, store), self.digits)


@dataclass(frozen=True)
class Tuned:
    """The best of a grid of settings by mean accuracy (majority, or ``by``), chosen with labels as the papers did."""

    title: str
    method: str
    grid: Sequence[Mapping[str, Any]]
    seeds: int = SEEDS
    kind: str = TUNED
    by: "Score | None" = None

    def columns(self) -> list[Measured]:
        return [Measured(self.title, self.method, settings, TUNED, self.seeds) for settings in self.grid]

    def cells(self, row: "Row") -> list[Cell]:
        return [cell for column in self.columns() for cell in column.cells(row)]

    def values(self, row: "Row", score: "Score", store: Store) -> Any:
        """Every data set of the row has its own best setting."""
        best = []
        for name in row.data:
            one = replace(row, data=(name,))
            tried = [(column, column.values(one, self.by or MAJORITY, store)) for column in self.columns()]
            scored = [(float(np.mean(values)), column) for column, values in tried if not isinstance(values, str)]
            if not scored:
                return tried[0][1]
            best.append(max(scored, key=lambda pair: pair[0])[1].values(one, score, store))
        return _mean(best)

    def text(self, row: "Row", score: "Score", store: Store) -> str:
        return figure(self.values(row, score, store), score.digits)


@dataclass(frozen=True)
class Row:
    """A line: one data set, or several whose scores are meaned; ``only`` names the columns that are run."""

    label: str
    data: tuple[str, ...]
    note: str = ""
    only: tuple[str, ...] | None = None
    otherwise: str = "-"
    own: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()  # method: settings of this row alone, as its balance
    seeds: tuple[tuple[str, int], ...] = ()  # title of a column: at most so many seeds, where a run takes long

    def settings(self, method: str) -> dict[str, Any]:
        return dict(dict(self.own).get(method, ()))


@dataclass(frozen=True)
class Score:
    """How a record becomes one number a seed; ``better`` is +1 if high ones are good, -1 if low ones are, or 0."""

    title: str
    of: Callable[[Record], Sequence[float]]
    digits: int = 1
    better: int = 1

    def __call__(self, record: Record) -> np.ndarray[Any, Any]:
        return np.asarray(self.of(record), dtype=float)


MAJORITY = Score("accuracy in %, clusters mapped to their largest class", lambda r: r.scores["majority"])
ACCURACY = Score("accuracy in %, clusters mapped one to one to classes", lambda r: r.scores["accuracy"])
ERROR = Score(
    "error in %, clusters mapped one to one to classes", lambda r: [100 - v for v in r.scores["accuracy"]], better=-1
)
RAND = Score("Rand index", lambda r: [v / 100 for v in r.scores["rand"]], 3)
NMI = Score("normalised mutual information", lambda r: [v / 100 for v in r.scores["nmi"]], 3)
BALANCED = Score("balanced error in %", lambda r: r.scores["balanced_error"], better=-1)
TIME = Score(
    "CPU time, as a multiple of KMeans(n_init=1) on the same rows",
    lambda r: [s / r.kmeans_seconds for s in r.seconds],
    better=-1,
)
ITERATIONS = Score("iterations", lambda r: [extra["iterations"] for extra in r.extra], better=0)


@dataclass(frozen=True)
class Table:
    """One table; ``quick`` names the rows of the short run."""

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Any, ...]
    score: Score = MAJORITY
    note: str = ""
    quick: tuple[str, ...] = ()
    after: Callable[["Table", Store], str] | None = None

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
        figures = [self._figures(row, store) for row in self.rows]
        tables = [
            markdown(labels, [heads[j] for j in part], [[line[j] for j in part] for line in figures])
            for part in np.array_split(np.arange(len(heads)), -(-len(heads) // MOST_COLUMNS))
        ]
        notes = [f"[^{mark}]: {note}" for note, mark in marks.items()]
        after = self.after(self, store) if self.after else ""
        parts = [
            f"### {self.title}",
            f"`{self.name}`: {self.score.title}. {self.note}".strip(),
            *tables,
            after,
        ]
        return "\n\n".join(part for part in [*parts, "\n".join(notes)] if part) + "\n"

    def _figures(self, row: Row, store: Store) -> list[str]:
        """The figures of a row; the best of those without labels is bold, and so is what prints alike."""
        found = [column.text(row, self.score, store) for column in self.columns]
        means = np.array([self._mean(column, row, store) for column in self.columns])
        if not self.score.better or np.isfinite(means).sum() < 2:
            return found
        best = means == np.nanmax(self.score.better * means) * self.score.better
        return [f"**{text}**" if is_best else text for text, is_best in zip(found, best, strict=True)]

    def _mean(self, column: Any, row: Row, store: Store) -> float:
        """What takes part in the comparison of a row, as it prints; NaN for what does not."""
        if not isinstance(column, Measured) or column.kind not in (FREE, BASELINE):
            return np.nan
        values = column.values(row, self.score, store)
        return np.nan if isinstance(values, str) else round(float(np.mean(values)), self.score.digits)


def markdown(labels: Sequence[str], heads: Sequence[str], figures: Sequence[Sequence[str]]) -> str:
    """A table with a label before every line."""
    lines = [f"| {label} | {' | '.join(line)} |" for label, line in zip(labels, figures, strict=True)]
    return "\n".join([f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|", *lines])


def figure(values: Any, digits: int) -> str:
    """Mean and standard deviation over seeds; the deviation is left out where one run is all there is."""
    if isinstance(values, str):
        return values
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values):.{digits}f}"


def _mean(found: list[Any]) -> Any:
    """Over data sets, seed by seed; a method that is not seeded has one value everywhere."""
    length = min(len(values) for values in found)
    return np.mean([values[:length] for values in found], axis=0)


def _why(record: Record | None) -> str:
    if record is None:
        return NOT_RUN
    return f"{NOT_RUN}: {record.reason}" if record.status == "refused" else f"{record.status}: {record.reason}"
