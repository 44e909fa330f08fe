"""Sentences below tables and figures, computed from the results: what a paper has and ours have not, tests, growth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Record, Store
from experiments.tables._figure import MissingError, measured
from experiments.tables._table import MAJORITY, Printed, Row, Score, Table

LEAST_TIME = Score(
    "CPU time, as a multiple of KMeans(n_init=1) on the same rows; the least of all runs of either",
    lambda record: [min(record.seconds) / record.kmeans_seconds],
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
    table: Table, store: Store, printed: Printed, titles: Sequence[str], margin: float, why: Mapping[str, str]
) -> str:
    """Rows where the paper's figure exceeds each of our columns by more than a margin, with a reason if known."""
    digits = table.score.digits
    found, rows = [], 0
    for row in table.rows:
        ours = {title: _mean(table, title, row, store) for title in titles}
        if row.label not in printed.figures or np.isnan(list(ours.values())).any():
            continue
        rows += 1
        paper = float(printed.figures[row.label])
        if paper - max(ours.values()) > margin:
            figures = ", ".join(f"{title} {value:.{digits}f}" for title, value in ours.items())
            reason = f"; {why[row.label]}" if row.label in why else ""
            found.append(f"{row.label} (paper {paper:.{digits}f}, {figures}{reason})")
    names = " and ".join(titles)
    if not rows:
        return ""
    if not found:
        return f"No row of {rows} has the paper's {printed.title} above {names} by more than {margin:g}."
    return f"The paper's {printed.title} exceeds {names} by more than {margin:g} on {len(found)} of {rows} rows: " + (
        "; ".join(found) + "."
    )


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
