"""Means over the rows of a table, for sentences and small tables on other pages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.store import Store
from experiments.tables import EXPERIMENTS
from experiments.tables._ranking import FRONT, USUAL, Panel
from experiments.tables._table import ACCURACY, Score, Table, markdown
from experiments.tables.mixed import FAMD, MIXED, TABLES
from experiments.tables.panel import GEMCLUS, PANEL

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


def values_of(name: str, title: str, store: Store) -> Any:
    """The mean over seeds of a column of a table in every row; NaN where it was not measured."""
    return EXPERIMENTS[name].means(title, store)


def value_of(name: str, title: str, label: str, store: Store) -> float:
    """The mean over seeds of a column of a table in one row; NaN where it was not measured."""
    return by_row(EXPERIMENTS[name], [title], store)[label][title]


def mean_of(name: str, title: str, store: Store) -> float:
    """The mean of a column; NaN if a row was not measured."""
    return float(np.mean(values_of(name, title, store)))


def means_of(name: str, titles: Iterable[str], store: Store) -> dict[str, float]:
    return {title: mean_of(name, title, store) for title in titles}


def by_row(table: Table, titles: Iterable[str], store: Store) -> dict[str, dict[str, float]]:
    """Figures of some columns in every row."""
    found = {title: table.means(title, store) for title in titles}
    return {row.label: {title: means[j] for title, means in found.items()} for j, row in enumerate(table.rows)}


def group_means(group: str, titles: Iterable[str], store: Store) -> dict[str, float]:
    """The means of some methods over a group of the tables with categories."""
    return {title: float(MIXED.mean(MIXED.column(title), MIXED.groups[group], store)) for title in titles}


def number(value: float, digits: int = 1) -> str:
    """A figure as it is printed."""
    return GAP if np.isnan(value) else f"{value:.{digits}f}"


def in_order(figures: dict[str, float], digits: int = 1, unit: str = "") -> str:
    """Names with their figures, the highest first; without those that were not measured."""
    known = {name: value for name, value in figures.items() if not np.isnan(value)}
    ordered = sorted(known, key=lambda name: -known[name])
    return ", ".join(f"{SHORT.get(name, name)} {known[name]:.{digits}f}{unit}" for name in ordered)


def grid(lines: Mapping[str, Mapping[str, float]], digits: int = 1) -> str:
    """A table of figures with the best of every line bold."""
    heads = [SHORT.get(head, head) for head in next(iter(lines.values()))]
    return markdown(lines, heads, [_bold([*line.values()], digits) for line in lines.values()])


def _bold(line: Sequence[float], digits: int) -> list[str]:
    shown = [number(value, digits) for value in line]
    best = number(float(np.nanmax(line)), digits) if np.isfinite(line).any() else ""
    return [f"**{text}**" if text == best else text for text in shown]


def panel(store: Store, score: Score = ACCURACY, *, complete: bool = True) -> Panel:
    """The labelled sets that all methods finished, or all of them."""
    found = Panel.of(replace(PANEL, score=score), store, (GEMCLUS,))
    return found.finished() if complete else found
