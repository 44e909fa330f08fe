"""Printed columns beside ours, and sentences below tables: which figures of a paper ours miss, and tests."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from experiments.store import Store
from experiments.tables._table import ERROR, MAJORITY, NMI, RAND, Measured, Printed, Row, Table, other, printed

REASONS = Path(__file__).with_name("missed.csv")
SAME = 0.01  # objectives that differ by less, relative, are within the tolerance of a search
MARGINS = {ERROR: 2.0, RAND: 0.02, NMI: 0.02}  # by which a printed figure is missed, else 1
OF_PAPER = ", paper's"  # ends the title of a printed column where ours has the same name
KMEANS = (other("KMeans(1)"), other("KMeans(10)"))
Words = Callable[[Table, Store], str]


@cache
def reasons() -> dict[tuple[str, str], str]:
    """Why ours misses a figure of a paper, by the first table that prints the row and the label of the row."""
    with REASONS.open(encoding="utf-8", newline="") as lines:
        return {(line["table"], line["row"]): line["why"] for line in csv.DictReader(lines)}


def beside(
    table: str,
    ours: Mapping[str, Sequence[Any]],
    told: Callable[[str, str, str], str] = lambda name, row, text: text,
) -> tuple[Any, ...]:
    """The columns of a paper's table, as they are told, each followed by ours of the same method, by its title."""
    columns: list[Any] = []
    for title, measured in ours.items():
        name = title.removesuffix(OF_PAPER)
        if paper := printed(table).get(name):
            texts = {row: text if text == "-" else told(name, row, text) for row, text in paper.items()}
            columns += [Printed(title, texts), *measured]
    return tuple(columns)


def together(*sentences: Words) -> Words:
    """Those that have something to say, a line each."""
    return lambda table, store: "\n".join(filter(None, (told(table, store) for told in sentences)))


def shortfalls(*compared: Sequence[str], ideal: Measured | None = None) -> Words:
    """Which rows are missed: for titles of a printed column and of ours, where it beats the first, and where all.

    Both have the reason that ``missed.csv`` knows. Where it beats all the figures are told, and whether ``ideal``, a
    search from the classes, ends at a lower objective. Rows count if the first column has a figure.
    """
    return together(*(lambda table, store, c=titles: _shortfall(table, store, ideal, *c) for titles in compared))


def _shortfall(table: Table, store: Store, ideal: Measured | None, paper: str, *titles: str) -> str:
    figures = [table.column(paper).figures.get(row.label, "-").split()[0] for row in table.rows]
    theirs = np.array([np.nan if text == "-" else float(text) for text in figures])
    ours = np.array([table.means(title, store) for title in titles])
    short = (theirs - ours) * table.score.better
    n_rows, margin, digits = np.isfinite(short[0]).sum(), MARGINS.get(table.score, 1.0), table.score.digits
    if not n_rows:
        return ""
    missed, by_all = [], []
    for j in np.flatnonzero(short[0] > margin):
        row = table.rows[j]
        known = _reason(table.name, row.label)
        missed.append(f"{row.label}{f' ({known})' if known else ''}")
        if np.nanmin(short[:, j]) > margin:
            means = zip(titles, ours[:, j], strict=True)
            told = [f"paper {theirs[j]:.{digits}f}", *(f"{title} {v:.{digits}f}" for title, v in means if v == v)]
            why = "; ".join(filter(None, (known, ideal and told_by_objective(row, store, ideal))))
            by_all.append(f"{row.label} ({', '.join(told)}{': ' if why else ''}{why})")
    name, beats = paper.removesuffix(OF_PAPER), "exceeds" if table.score.better > 0 else "is below"
    found = f"- The paper's {name} {beats} {titles[0]} by more than {margin:g} on {_listed(missed, n_rows)}."
    if len(titles) > 1 and missed:
        all_rows = _listed(by_all, n_rows, "; ")
        found += f"\n- It {beats} each of {', '.join(titles)} by more than {margin:g} on {all_rows}."
    return found


def _reason(table: str, label: str) -> str:
    """Of a row in any table of the same paper."""
    paper = table.partition("-")[0]
    return next((why for (name, row), why in reasons().items() if name.startswith(paper) and row == label), "")


def _listed(names: Sequence[str], rows: int, between: str = ", ") -> str:
    """How many of the rows, and which."""
    return f"{len(names)} of {rows} rows: {between.join(names)}" if names else f"none of {rows} rows"


def told_by_objective(row: Row, store: Store, column: Measured) -> str:
    """Whether a search from the classes ends at a lower objective, in the mean of the data sets of a row.

    If it does not, a better optimiser would not lead to the classes; if it does, the search falls short.
    """
    ends = [record.extra[0] for record in column.records(row, store)]
    if not ends:
        return ""
    found, ideal = (float(np.mean([end[name] for end in ends])) for name in ("found", "from_classes"))
    if abs(ideal / found - 1) <= SAME:
        return f"a search from the classes ends at the same objective within {SAME:.0%}"
    side = "a higher" if ideal > found else "a lower"
    return f"a search from the classes ends at {side} objective, {ideal:.3g} instead of {found:.3g}"


def tests(*compared: tuple[str, str]) -> Words:
    """Wilcoxon's signed-rank test of the accuracies of two columns over the data sets of a row that has several."""

    def told(table: Table, store: Store) -> str:
        rows = [row for row in table.rows if len(row.data) > 1]
        return "\n".join(filter(None, (_tested(table, store, row, *titles) for row in rows for titles in compared)))

    return told


def _tested(table: Table, store: Store, row: Row, first: str, second: str) -> str:
    parts = replace(table, rows=tuple(row.parts()), score=MAJORITY)
    one, another = (parts.means(title, store) for title in (first, second))
    if np.isnan([one, another]).any():
        return ""
    difference = np.round(one - another, 6)
    chance = wilcoxon(difference).pvalue if difference.any() else 1.0
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    return (
        f"- {row.label}: {first} {one.mean():.1f} against {second} {another.mean():.1f} in the mean of {len(one)} "
        f"pairs; better on {better}, worse on {worse}, equal on {len(one) - better - worse}; Wilcoxon's signed-rank "
        f"test gives p = {chance:.2g}."
    )
