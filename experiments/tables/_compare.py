"""Sentences below tables, computed from the results: what a paper has and ours have not, and tests."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.store import Store
from experiments.tables._table import MAJORITY, Printed, Row, Table

REASONS = Path(__file__).with_name("missed.csv")
SAME = 0.01  # objectives that differ by less, relative, are within the tolerance of a search


@cache
def reasons() -> dict[tuple[str, str], str]:
    """Why ours misses a figure of a paper, by the first table that prints the row and the label of the row."""
    with REASONS.open(encoding="utf-8", newline="") as lines:
        return {(line["table"], line["row"]): line["why"] for line in csv.DictReader(lines)}


def shortfalls(
    table: Table,
    store: Store,
    printed: Printed,
    titles: Sequence[str],
    margin: float,
    why: Callable[[Row], str] = lambda row: "",
    of: str = "",
) -> str:
    """Rows where a figure of the paper exceeds the first of our columns by more than a margin, and all of them.

    Rows of the second kind are told in full. Both have the reason that ``missed.csv`` knows, under the name of the
    table or of the one that it is ``of``, and the second kind also what ``why`` says; without a figure in the first
    column a row does not count.
    """
    digits, first = table.score.digits, titles[0]
    means = {title: table.means(title, store) for title in titles}
    rows, missed, told = 0, [], []
    for j, row in enumerate(table.rows):
        ours = {title: column[j] for title, column in means.items() if not np.isnan(column[j])}
        if row.label not in printed.figures or first not in ours:
            continue
        rows += 1
        paper = float(printed.figures[row.label])
        known = reasons().get((of or table.name, row.label), "")
        if paper - ours[first] > margin:
            missed.append(f"{row.label}{f' ({known})' if known else ''}")
        if paper - max(ours.values()) > margin:
            figures = ", ".join(f"{title} {value:.{digits}f}" for title, value in ours.items())
            reason = "; ".join(filter(None, (known, why(row))))
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
    ends = [record.extra[0] for record in column.records([row], store)]
    if not ends:
        return ""
    found, ideal = (float(np.mean([end[name] for end in ends])) for name in ("found", "from_classes"))
    if abs(ideal / found - 1) <= SAME:
        return f"a search from the classes ends at the same objective within {SAME:.0%}"
    side = "a higher" if ideal > found else "a lower"
    return f"a search from the classes ends at {side} objective, {ideal:.3g} instead of {found:.3g}"


def tested(table: Table, store: Store, label: str, first: str, second: str) -> str:
    """Wilcoxon's signed-rank test of the accuracies of two columns over the data sets of a row."""
    from scipy.stats import wilcoxon

    row = next(row for row in table.rows if row.label == label)
    part = replace(table, rows=tuple(row.parts()), score=MAJORITY)
    one, another = (part.means(title, store) for title in (first, second))
    if np.isnan([one, another]).any():
        return ""
    difference = np.round(one - another, 6)
    chance = wilcoxon(difference).pvalue if difference.any() else 1.0
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    return (
        f"{label}: {first} {one.mean():.1f} against {second} {another.mean():.1f} in the mean of {len(one)} pairs; "
        f"better on {better}, worse on {worse}, equal on {len(one) - better - worse}; Wilcoxon's signed-rank test "
        f"gives p = {chance:.2g}."
    )
