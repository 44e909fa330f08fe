"""Models that are updated: batches in which a class appears and another vanishes, false alarms, and power."""

from typing import Any

from experiments.store import Store
from experiments.tables._table import ACCURACY, Row, Score, Table, markdown, ours, rows_of

RUNS = 50  # of every source
DRAWS = 100  # of every change


def _shares(name: str) -> Any:
    return lambda record: [100.0 * bool(extra[name]) for extra in record.extra]


DRIFT = Score("updates with a p-value of drift of at most 0.05, in %", _shares("drift"), better=0)
TOLD = Score("updates that told of the change, in %", _shares("told"), 0)


def _extras(table: Table, store: Store, way: str) -> list[dict[str, Any]]:
    """What the method noted in every run of a column."""
    records = [record for row in table.rows for record in table.column(way).records(row, store)]
    return [extra for record in records for extra in record.extra]


def what_was_told(table: Table, store: Store) -> str:
    """Swaps, when the new class had its own cluster, and whether the lost one was told."""
    lines = {}
    for way in ("memory 5000", "memory 300"):
        if extras := _extras(table, store, way):
            late = [extra["late"] for extra in extras]
            swaps, told = (sum(int(extra[name]) for extra in extras) for name in ("swaps", "told"))
            lines[way] = [len(extras), swaps, late.count(0), late.count(1), told]
    heads = ["runs", "swaps", "new class at once", "one batch later", "lost class told"]
    return markdown(lines, heads, lines.values())


def structure(table: Table, store: Store) -> str:
    """How often a cluster was called new, split, merged or vanished."""
    extras = _extras(table, store, "update")
    if not extras:
        return ""
    alarms, drifts = (sum(bool(extra[name]) for extra in extras) for name in ("structure", "drift"))
    return (
        f"Of {len(extras)} updates with rows from the same source, {drifts} have a p-value of drift of at most 0.05, "
        f"and {alarms} call a cluster new, split, merged or vanished."
    )


IN_BATCHES = Table(
    "updates",
    rows_of({"digits": "digits/all", "optdigits": "optdigits/all", "MNIST, test set": "mnist-test/all"}),
    (
        ours("updated in batches", 3, "memory 5000"),
        ours("updated in batches", 3, "memory 300", memory=300),
        ours("one fit of the rows of an update", 3, "one fit of 300 rows and a batch"),
        ours("one fit of all batches", 3, "one fit of all rows"),
    ),
    ACCURACY,
    ("digits",),
    what_was_told,
)
SAME = "updated from the same source"
SAME_SOURCE = Table(
    "updates-same-source",
    (
        *(
            Row(name, (f"drawn source/{name}",), own={SAME: {"source": name}})
            for name in ("apart", "touching", "skewed")
        ),
        Row("digits, halves", ("digits/all",)),
    ),
    (ours(SAME, RUNS, "update"),),
    DRIFT,
    after=structure,
)
CHANGED = Table(
    "updates-changed",
    rows_of({"five clouds": "drawn source/apart"}),
    tuple(
        ours("updated after a change", DRAWS, title, change=change)
        for title, change in (
            ("share 20 to 10 %", "share"),
            ("centre moved along a column", "column"),
            ("centre moved anywhere", "centre"),
        )
    ),
    TOLD,
)

EXPERIMENTS = (IN_BATCHES, SAME_SOURCE, CHANGED)
