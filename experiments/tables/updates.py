"""Models that are updated: batches in which a class appears and another vanishes, false alarms, and power."""

from typing import Any

import numpy as np

from experiments.store import Record, Store
from experiments.tables._table import ACCURACY, Measured, Row, Score, Table

RUNS = 50  # of every source
DRAWS = 100  # of every change


def _shares(name: str) -> Any:
    return lambda record: [100.0 * bool(extra[name]) for extra in record.extra]


DRIFT = Score("updates with a p-value of drift of at most 0.05, in %", _shares("drift"), better=0)
TOLD = Score("updates that told of the change, in %", _shares("told"), 0)


def _records(table: Table, store: Store, way: str) -> list[Record]:
    found = [store.records.get(cell) for row in table.rows for cell in _column(table, way).cells(row)]
    return [record for record in found if record is not None and record.status == "ok"]


def _column(table: Table, way: str) -> Measured:
    return next(column for column in table.columns if isinstance(column, Measured) and column.title == way)


def what_was_told(table: Table, store: Store) -> str:
    """Swaps, when the new class had its own cluster, and whether the lost one was told."""
    lines = ["| | runs | swaps | new class at once | one batch later | lost class told |", "|---|---|---|---|---|---|"]
    for way in ("memory 5000", "memory 300"):
        extras = [extra for record in _records(table, store, way) for extra in record.extra]
        if extras:
            late = np.array([extra["late"] for extra in extras])
            swaps, told = (sum(int(extra[name]) for extra in extras) for name in ("swaps", "told"))
            lines.append(
                f"| {way} | {len(extras)} | {swaps} | {np.count_nonzero(late == 0)} | {np.count_nonzero(late == 1)} | "
                f"{told} |"
            )
    return "\n".join(lines)


def structure(table: Table, store: Store) -> str:
    """How often a cluster was called new, split, merged or vanished."""
    extras = [extra for record in _records(table, store, "update") for extra in record.extra]
    if not extras:
        return ""
    alarms, drifts = (sum(bool(extra[name]) for extra in extras) for name in ("structure", "drift"))
    return (
        f"Of {len(extras)} updates with rows from the same source, {drifts} have a p-value of drift of at most 0.05, "
        f"and {alarms} call a cluster new, split, merged or vanished."
    )


IN_BATCHES = Table(
    "updates",
    (
        Row("digits", ("digits/all",)),
        Row("optdigits", ("optdigits/all",)),
        Row("MNIST, test set", ("mnist-test/all",)),
    ),
    (
        Measured("memory 5000", "updated in batches", seeds=3),
        Measured("memory 300", "updated in batches", seeds=3, settings={"memory": 300}),
        Measured("one fit of 300 rows and a batch", "one fit of the rows of an update", seeds=3),
        Measured("one fit of all rows", "one fit of all batches", seeds=3),
    ),
    ACCURACY,
    quick=("digits",),
    after=what_was_told,
)
SAME_SOURCE = Table(
    "updates-same-source",
    (
        *(
            Row(name, (f"drawn source/{name}",), own={"updated from the same source": {"source": name}})
            for name in ("apart", "touching", "skewed")
        ),
        Row("digits, halves", ("digits/all",)),
    ),
    (Measured("update", "updated from the same source", seeds=RUNS),),
    DRIFT,
    quick=(),
    after=structure,
)
CHANGED = Table(
    "updates-changed",
    (Row("five clouds", ("drawn source/apart",)),),
    (
        Measured("share 20 to 10 %", "updated after a change", seeds=DRAWS, settings={"change": "share"}),
        Measured("centre moved along a column", "updated after a change", seeds=DRAWS, settings={"change": "column"}),
        Measured("centre moved anywhere", "updated after a change", seeds=DRAWS, settings={"change": "centre"}),
    ),
    TOLD,
    quick=(),
)

EXPERIMENTS = (IN_BATCHES, SAME_SOURCE, CHANGED)
