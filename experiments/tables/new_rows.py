"""Rows that were not fitted: how good ``predict`` is on them, and whether it repeats ``labels_``."""

from dataclasses import replace

import numpy as np

from experiments.store import Store
from experiments.tables._ranking import FRONT, USUAL
from experiments.tables._table import ACCURACY, BASELINE, FREE, Row, Shown, Table
from experiments.tables.pairs import DENSE

SETS = {"digits": "digits/all", "optdigits": "optdigits/all", "satimage": "satimage/all", "MNIST": "mnist/all"}
FEW = 2  # seeds of sets with many rows
LARGE = ("MNIST", "mnist", "letter")
AGAIN = "MaxMarginClustering, fitted rows predicted"
SCORE = replace(ACCURACY, better=0)  # columns are not rivals: no figure is bold


def _on_half(title: str, method: str, kind: str) -> tuple[Shown, Shown]:
    return (
        Shown(f"{title}: fitted half", method, kind=kind, of="fitted"),
        Shown(f"{title}: other half", method, kind=kind, of="new"),
    )


OURS, THEIRS = _on_half(FRONT, f"{FRONT} on half", FREE), _on_half(USUAL, f"{USUAL} on half", BASELINE)


def _row(label: str, name: str, columns: tuple[Shown, ...]) -> Row:
    if label not in LARGE:
        return Row(label, (name,))
    return Row(label, (name,), f"{FEW} seeds.", seeds=tuple((column.title, FEW) for column in columns))


def _means(column: Shown, table: Table, store: Store) -> dict[str, float]:
    """The figure of a column by row, where it was measured."""
    found = {row.label: column.values(row, table.score, store) for row in table.rows}
    return {label: float(np.mean(values)) for label, values in found.items() if not isinstance(values, str)}


def _lost(table: Table, store: Store) -> str:
    words = []
    for name, (fitted, new) in ((FRONT, OURS), (USUAL, THEIRS)):
        before, after = _means(fitted, table, store), _means(new, table, store)
        if len(before) < len(table.rows):
            return "Not complete."
        gain = [after[label] - before[label] for label in before]
        words.append(f"{name} {np.mean(gain):+.1f} points ({min(gain):+.1f} to {max(gain):+.1f})")
    return f"New rows less fitted ones: {', '.join(words)}."


NEW_COLUMNS = (*OURS, Shown(f"{FRONT}: same", f"{FRONT} on half", of="same"), *THEIRS)
NEW_ROWS = Table(
    "new-rows",
    "New rows",
    tuple(_row(label, name, NEW_COLUMNS) for label, name in SETS.items()),
    NEW_COLUMNS,
    SCORE,
    "A random half of the rows is fitted, another half for every seed, and `predict` labels the other. *Same* is the "
    "share of fitted rows, in %, to which `predict` gives their label in `labels_`.",
    quick=("digits",),
    after=_lost,
)

SAME = Shown("equal labels, in %", AGAIN, of="same", digits=2)
AGAIN_COLUMNS = (Shown("`labels_`", AGAIN, of="fitted"), Shown("`predict`", AGAIN, of="predicted"), SAME)


def _unequal(table: Table, store: Store) -> str:
    same = _means(SAME, table, store)
    if not same:
        return "Not measured yet."
    equal = sum(value == 100 for value in same.values())
    least = min(same, key=lambda label: same[label])
    return (
        f"`predict` repeats every label on {equal} of {len(same)} sets; in the mean {np.mean(list(same.values())):.2f} "
        f"% of the labels, least on {least} ({same[least]:.2f} %)."
    )


PREDICTED = Table(
    "predicted-again",
    "Fitted rows predicted again",
    tuple(_row(label, name, AGAIN_COLUMNS) for label, name in DENSE.items()),
    AGAIN_COLUMNS,
    SCORE,
    f"{FRONT} with its defaults on the dense sets of `panel`: the accuracy of `labels_` and of `predict` on the same "
    "rows, and the share of rows to which both give the same label.",
    quick=("sklearn iris",),
    after=_unequal,
)

EXPERIMENTS = (NEW_ROWS, PREDICTED)
