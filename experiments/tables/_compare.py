"""Sentences below tables and figures, computed from the results: what a paper has and ours have not, tests, growth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Record, Store
from experiments.tables._figure import MissingError, measured
from experiments.tables._table import MAJORITY, Printed, Row, Score, Table

SAME = 0.01  # objectives that differ by less, relative, are within the tolerance of a search
LEAST_TIME = Score(
    "CPU time, as a multiple of KMeans(n_init=1) on the same rows; the least of all runs of either",
    lambda record: [min(record.seconds) / record.kmeans_seconds],
    better=-1,
)


@dataclass(frozen=True)
class Scored:
    """A column that has its own score, beside columns with another one."""

    title: str
    column: Any
    score: Score

    @property
    def kind(self) -> str:
        return self.column.kind

    def cells(self, row: Row) -> list[Cell]:
        return self.column.cells(row)

    def text(self, row: Row, score: Score, store: Store) -> str:
        return self.column.text(row, self.score, store)


def shortfalls(
    table: Table, store: Store, printed: Printed, titles: Sequence[str], margin: float, why: Callable[[Row], str]
) -> str:
    """Rows where a figure of the paper exceeds the first of our columns by more than a margin, and all of them.

    Rows of the second kind are told in full, with a reason if ``why`` knows one; without a figure in the first column a
    row does not count.
    """
    digits, first = table.score.digits, titles[0]
    rows, missed, told = 0, [], []
    for row in table.rows:
        means = {title: _mean(table, title, row, store) for title in titles}
        ours = {title: mean for title, mean in means.items() if not np.isnan(mean)}
        if row.label not in printed.figures or first not in ours:
            continue
        rows += 1
        paper = float(printed.figures[row.label])
        if paper - ours[first] > margin:
            missed.append(row.label)
        if paper - max(ours.values()) > margin:
            figures = ", ".join(f"{title} {value:.{digits}f}" for title, value in ours.items())
            reason = why(row)
            told.append(f"{row.label} (paper {paper:.{digits}f}, {figures}{': ' if reason else ''}{reason})")
    if not rows:
        return ""
    name = printed.title.removesuffix(", paper's")
    found = [f"The paper's {name} exceeds {first} by more than {margin:g} on {_listed(missed, rows)}."]
    if missed:
        found.append(f"It exceeds each of {', '.join(titles)} by more than {margin:g} on {_listed(told, rows, '; ')}.")
    return "\n".join(f"- {sentence}" for sentence in found)


def _listed(names: Sequence[str], rows: int, between: str = ", ") -> str:
    """How many of the rows, and which."""
    return f"{len(names)} of {rows} rows: {between.join(names)}" if names else f"none of {rows} rows"


def told_by_objective(row: Row, store: Store, column: Any) -> str:
    """Whether a search from the classes ends at a lower objective, in the mean of the data sets of a row.

    If it does not, a better optimiser would not lead to the classes; if it does, the search falls short.
    """
    records = [store.records.get(cell) for cell in column.cells(row)]
    ends = [record.extra[0] for record in records if record is not None and record.status == "ok"]
    if not ends:
        return ""
    found, ideal = (float(np.mean([end[name] for end in ends])) for name in ("found", "from_classes"))
    if abs(ideal / found - 1) <= SAME:
        return f"a search from the classes ends at the same objective within {SAME:.0%}"
    side = "a higher" if ideal > found else "a lower"
    return f"a search from the classes ends at {side} objective, {ideal:.3g} instead of {found:.3g}"


def _mean(table: Table, title: str, row: Row, store: Store) -> float:
    column = next(column for column in table.columns if column.title == title)
    values = column.values(row, table.score, store)
    return float("nan") if isinstance(values, str) else float(np.mean(values))


def tested(table: Table, store: Store, label: str, first: str, second: str, score: Score = MAJORITY) -> str:
    """Wilcoxon's signed-rank test of two columns over the data sets of a row."""
    from scipy.stats import wilcoxon

    row = next(row for row in table.rows if row.label == label)
    pairs = [replace(row, data=(name,)) for name in row.data]
    part = replace(table, rows=tuple(pairs), score=score)
    means = np.array([[_mean(part, title, pair, store) for title in (first, second)] for pair in pairs])
    if np.isnan(means).any():
        return ""
    difference = np.round(means[:, 0] - means[:, 1], 6)
    chance = wilcoxon(difference).pvalue if difference.any() else 1.0
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    return (
        f"{label}: {first} {means[:, 0].mean():.1f} against {second} {means[:, 1].mean():.1f} in the mean of "
        f"{len(pairs)} pairs; better on {better}, worse on {worse}, equal on {len(pairs) - better - worse}; Wilcoxon's "
        f"signed-rank test gives p = {chance:.2g}."
    )


def series(store: Store, cells: Mapping[Any, Cell], value: Callable[[Record], float]) -> tuple[Any, Any]:
    """Abscissae and values of the cells that were measured; ``MissingError`` if none was."""
    found, missing = [], None
    for at, cell in cells.items():
        try:
            found.append((at, value(measured(store, cell))))
        except MissingError as error:
            missing = error
    if not found:
        raise missing or MissingError("no cells")
    return tuple(np.array(found, dtype=float).T)


def least_seconds(record: Record) -> float:
    """CPU seconds of the fastest seed: the others may hold what a process does only once."""
    return min(record.seconds)


def growth(at: Any, values: Any) -> float:
    """The exponent d of the power law at^d that fits best, a line in a log-log plot."""
    return float(np.polyfit(np.log(at), np.log(values), 1)[0]) if len(at) > 1 else float("nan")


def guide(axes: Any, at: Any, values: Any, exponent: float, label: str) -> None:
    """A dotted line of known growth, above the curve it is compared with."""
    at = np.asarray(at, dtype=float)
    axes.plot(at, 2 * values[-1] * (at / at[-1]) ** exponent, ":", color="#555555", linewidth=1, label=label)


MARKERS = "os^Dv*Xp"
STEPS = ((4.0, (1, 1.5, 2, 3, 4, 5, 7)), (30.0, (1, 2, 5)), (np.inf, (1,)))  # ratio of an axis' ends: marks a decade


def draw(axes: Any, at: Any, values: Any, place: int, label: str = "") -> None:
    """A curve with a mark of its own: colours alone are hard to tell apart."""
    axes.plot(at, values, f"{MARKERS[place]}-", color=f"C{place}", markersize=4, linewidth=1.2, label=label)


def logarithmic(axes: Any, *names: str) -> None:
    """Make axes ("x", "y") logarithmic, with a few plain numbers, the fewer the longer the axis."""
    for name in names:
        getattr(axes, f"set_{name}scale")("log")
        low, high = getattr(axes, f"get_{name}lim")()
        steps = next(steps for ratio, steps in STEPS if high / low < ratio)
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        marks = [mark for mark in np.outer(decades, steps).ravel() if low <= mark <= high]
        getattr(axes, f"set_{name}ticks")(marks, [f"{mark:g}" for mark in marks])
        getattr(axes, f"set_{name}ticks")([], minor=True)
        getattr(axes, f"set_{name}lim")(low, high)
