"""Rows that were not fitted: how good ``predict`` is on them, and whether it repeats ``labels_``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.store import Store
from experiments.tables._ranking import FRONT, USUAL
from experiments.tables._table import ACCURACY, BASELINE, FREE, Measured, Table, few_seeds, noting, rows_of
from experiments.tables.pairs import DENSE

SETS = {"digits": "digits/all", "optdigits": "optdigits/all", "satimage": "satimage/all", "MNIST": "mnist/all"}
FEW = 2  # seeds of sets with many rows
LARGE = ("MNIST", "mnist", "letter")
AGAIN = "MaxMarginClustering, fitted rows predicted"
SCORE = replace(ACCURACY, better=0)  # columns are not rivals: no figure is bold


def _on_half(title: str, method: str, kind: str) -> tuple[Measured, ...]:
    halves = {"fitted half": "fitted", "other half": "new"}
    return tuple(noting(of, f"{title}: {half}", method, kind) for half, of in halves.items())


OURS, THEIRS = _on_half(FRONT, f"{FRONT} on half", FREE), _on_half(USUAL, f"{USUAL} on half", BASELINE)


def _table(name: str, sets: Mapping[str, str], columns: tuple[Measured, ...], *rest: Any) -> Table:
    rows = (few_seeds(row, columns, FEW, f"{FEW} seeds.") if row.label in LARGE else row for row in rows_of(sets))
    return Table(name, tuple(rows), columns, SCORE, *rest)


def _lost(table: Table, store: Store) -> str:
    words = []
    for name, (fitted, new) in ((FRONT, OURS), (USUAL, THEIRS)):
        gain = table.means(new, store) - table.means(fitted, store)
        if np.isnan(gain).any():
            return "Not complete."
        words.append(f"{name} {np.mean(gain):+.1f} points ({min(gain):+.1f} to {max(gain):+.1f})")
    return f"New rows less fitted ones: {', '.join(words)}."


SAME_HALF = noting("same", f"{FRONT}: same", f"{FRONT} on half")
NEW_ROWS = _table("new-rows", SETS, (*OURS, SAME_HALF, *THEIRS), ("digits",), _lost)
SAME = noting("same", "equal labels, in %", AGAIN, digits=2)
AGAIN_COLUMNS = (noting("fitted", "`labels_`", AGAIN), noting("predicted", "`predict`", AGAIN), SAME)


def _unequal(table: Table, store: Store) -> str:
    same = {row.label: mean for row, mean in zip(table.rows, table.means(SAME, store), strict=True) if mean == mean}
    if not same:
        return "Not measured yet."
    equal = sum(value == 100 for value in same.values())
    least = min(same, key=lambda label: same[label])
    return (
        f"`predict` repeats every label on {equal} of {len(same)} sets; in the mean {np.mean(list(same.values())):.2f} "
        f"% of the labels, least on {least} ({same[least]:.2f} %)."
    )


PREDICTED = _table("predicted-again", DENSE, AGAIN_COLUMNS, ("sklearn iris",), _unequal, {"FRONT": FRONT})
EXPERIMENTS = (NEW_ROWS, PREDICTED)
