"""Tables of papers, printed columns beside ours, and the sentences below them: which figures ours miss, and tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from experiments.store import Store
from experiments.tables._table import LEAST_TIME, MAJORITY, Printed, Row, Score, Table, lines_of, printed

SAME = 0.01  # objectives that differ by less, relative, are within the tolerance of a search
OF_PAPER = ", paper's"  # ends the title of a printed column where ours has the same name
Columns = Mapping[str, Sequence[Any]]  # ours by the title of the printed one
Words = Callable[[Table, Store], str]


@cache
def reasons() -> dict[tuple[str, str], str]:
    """Why ours misses a figure of a paper, by the first table that prints the row and the label of the row."""
    return {(line["table"], line["row"]): line["why"] for line in lines_of("missed.csv")}


def paper_table(
    name: str,
    rows: Sequence[Row],
    columns: Columns,
    score: Score = MAJORITY,
    after: Words | None = None,
    shown: Callable[[str, str, str], str] = lambda title, row, text: text,
) -> Table:
    """The rows and columns that a paper prints, as they are ``shown``, each column followed by ours of the same method.

    Ours that it has no column for are under an empty title; those of another table of the paper are left out. A short
    run takes the first row, unless that is of many data sets.
    """
    paper, found = printed(name), []
    for title, measured in columns.items():
        if texts := paper.get(title.removesuffix(OF_PAPER)):
            figures = {row: text if text == "-" else shown(title, row, text) for row, text in texts.items()}
            found.append(Printed(title, figures))
        found += measured if texts or not title else ()
    known = {row for texts in paper.values() for row in texts}
    listed = tuple(row for row in rows if row.label in known)
    quick = (listed[0].label,) if len(listed[0].data) == 1 else ()
    return Table(name, listed, tuple(found), score, quick, after)


def time_table(
    name: str, rows: Sequence[Row], columns: Columns, unit: str, told: Callable[[str, float, str], str]
) -> Table:
    """With the seconds of a paper in those of its k-means, the column ``unit``."""
    units = printed(name)[unit]
    return paper_table(
        name, rows, columns, LEAST_TIME, shown=lambda title, row, s: told(title, float(s) / float(units[row]), s)
    )


def together(*sentences: Words) -> Words:
    """Those that have something to say, a line each."""
    return lambda table, store: "\n".join(filter(None, (told(table, store) for told in sentences)))


def shortfalls(*compared: Sequence[str]) -> Words:
    """Which rows are missed: for titles of a printed column and of ours, where it beats the first, and where all.

    Both have the reason that ``missed.csv`` knows, the second kind also at what objective a search from the classes
    ends. Rows count if the first column has a figure.
    """
    return together(*(lambda table, store, c=titles: _shortfall(table, store, *c) for titles in compared))


def _shortfall(table: Table, store: Store, paper: str, *titles: str) -> str:
    short = table.score.better * (table.means(paper, store) - [table.means(title, store) for title in titles])
    n_rows, margin = np.isfinite(short[0]).sum(), table.score.margin
    missed, by_all = [], []
    for j in np.flatnonzero(short[0] > margin):
        row = table.rows[j]
        why = [_reason(table.name, row.label)]
        missed.append(_explained(row.label, why))
        if np.nanmin(short[:, j]) > margin:
            by_all.append(_explained(row.label, [*why, _told_by_objective(table, row, store, titles[0])]))
    name, beats = paper.removesuffix(OF_PAPER), "exceeds" if table.score.better > 0 else "is below"
    found = f"- The paper's {name} {beats} {titles[0]} by more than {margin:g} on {_counted(missed, n_rows)}."
    if len(titles) > 1 and missed:
        found += f"\n- It {beats} each of {', '.join(titles)} by more than {margin:g} on {_counted(by_all, n_rows)}."
    return found if n_rows else ""


def _explained(label: str, reasons: Sequence[str]) -> str:
    why = "; ".join(filter(None, reasons))
    return f"{label} ({why})" if why else label


def _counted(labels: Sequence[str], n_rows: int) -> str:
    return f"{len(labels)} of {n_rows} rows: {', '.join(labels)}" if labels else f"none of {n_rows} rows"


def _reason(table: str, label: str) -> str:
    """Of a row in any table of the same paper."""
    paper = table.partition("-")[0]
    return next((why for (name, row), why in reasons().items() if name.startswith(paper) and row == label), "")


def _told_by_objective(table: Table, row: Row, store: Store, method: str) -> str:
    """Whether a search from the classes ends at a lower objective, in the mean of the data sets of a row.

    If it does not, a better optimiser would not lead to the classes; if it does, the search falls short.
    """
    ideals = [column for column in table.columns if column.title == f"{method} from the classes"]
    ends = [record.extra[0] for column in ideals for record in column.records(row, store)]
    if not ends:
        return ""
    found, ideal = (float(np.mean([end[name] for end in ends])) for name in ("found", "from_classes"))
    if abs(ideal / found - 1) <= SAME:
        return f"a search from the classes ends at the same objective within {SAME:.0%}"
    side = "a higher" if ideal > found else "a lower"
    return f"a search from the classes ends at {side} objective, {ideal:.3g} instead of {found:.3g}"


def chance_of(difference: Any) -> float:
    """How often chance gives as much: the p-value of Wilcoxon's signed-rank test."""
    return float(wilcoxon(difference).pvalue) if difference.any() else 1.0


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
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    return (
        f"- {row.label}: {first} {one.mean():.1f} against {second} {another.mean():.1f} in the mean of {len(one)} "
        f"pairs; better on {better}, worse on {worse}, equal on {len(one) - better - worse}; Wilcoxon's signed-rank "
        f"test gives p = {chance_of(difference):.2g}."
    )
