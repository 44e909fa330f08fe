"""Means over the rows of a table, for sentences and small tables on other pages."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.store import Store
from experiments.tables import EXPERIMENTS
from experiments.tables._ranking import FRONT, USUAL, Panel
from experiments.tables._table import ACCURACY, Score, markdown
from experiments.tables.panel import GEMCLUS, PANEL

TABLES, FAMD = "TableEncoder + MaxMarginClustering", "FAMD, five axes + KMeans(10)"  # of the tables with categories
GAP = "-"  # printed where a figure was not measured
SHORT = {  # what tables call a method, and what people call it
    FRONT: "widegap",
    "DocumentClustering": "widegap",
    USUAL: "k-means",
    "KMeans(10) of one-hot columns": "one-hot + k-means",
    TABLES: "widegap",
    FAMD: "FAMD + k-means",
    "GMM full": "GMM",
    "SpectralClustering": "spectral",
    "BERTopic on LSA, k-means": "BERTopic on LSA",
    "Genie_G0.3": "Genie",
    "sklearn_gm": "GMM",
    "sklearn_kmeans": "k-means",
}


def column_of(name: str, title: str) -> tuple[Any, Any]:
    """A table by its name, and its column by its title."""
    table = EXPERIMENTS[name]
    return table, next(column for column in table.columns if column.title == title)


def values_of(name: str, title: str, store: Store, rows: Collection[str] | None = None) -> Any:
    """The mean over seeds of a column in every row, or in those named; NaN where it was not measured."""
    table, column = column_of(name, title)
    chosen = [row for row in table.rows if rows is None or row.label in rows]
    found = [column.values(row, table.score, store) for row in chosen]
    return np.array([np.nan if isinstance(values, str) else np.mean(values) for values in found])


def mean_of(name: str, title: str, store: Store, rows: Collection[str] | None = None) -> float:
    """The mean of a column; NaN if a row was not measured."""
    return float(np.mean(values_of(name, title, store, rows)))


def group_mean(name: str, title: str, group: str, store: Store) -> float:
    """The mean of a method over a group of the tables with categories."""
    table, column = column_of(name, title)
    return float(table.mean(column, table.groups[group], store))


def number(value: float, digits: int = 1) -> str:
    """A figure as it is printed."""
    return GAP if np.isnan(value) else f"{value:.{digits}f}"


def in_order(figures: dict[str, float], digits: int = 1, unit: str = "") -> str:
    """Names with their figures, the highest first; without those that were not measured."""
    known = {name: value for name, value in figures.items() if not np.isnan(value)}
    ordered = sorted(known, key=lambda name: -known[name])
    return ", ".join(f"{SHORT.get(name, name)} {known[name]:.{digits}f}{unit}" for name in ordered)


def grid(lines: Mapping[str, Sequence[float]], heads: Sequence[str], digits: int = 1) -> str:
    """A table of figures with the best of every line bold."""
    return markdown(
        [*lines], [SHORT.get(head, head) for head in heads], [_bold(line, digits) for line in lines.values()]
    )


def _bold(line: Sequence[float], digits: int) -> list[str]:
    shown = [number(value, digits) for value in line]
    best = number(float(np.nanmax(line)), digits) if np.isfinite(line).any() else ""
    return [f"**{text}**" if text == best else text for text in shown]


def panel(store: Store, score: Score = ACCURACY, *, complete: bool = True) -> Panel:
    """The labelled sets that all methods finished, or all of them."""
    found = Panel.of(replace(PANEL, score=score), store, (GEMCLUS,)).begun()
    return found.finished() if complete else found
