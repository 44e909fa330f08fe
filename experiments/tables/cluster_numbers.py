"""How many clusters are there? Ways to find the number, on every labelled set and on drawn shapes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.shapes import FRESH, SINGLE, STRUCTURED
from experiments.store import Record, Store
from experiments.tables._table import HERE, Measured, Printed, Row, Score, Table, markdown, other, ours, printed
from experiments.tables.panel import SETS

ROWS = 3000  # of larger sets, the same for all ways
LARGE = ("optdigits", "letter", "satimage", "svmguide1", "ringnorm", "mnist", "a4a", "a9a", "fcps engytime", "rcv1")
CLASSES = Printed("classes", printed("cluster_numbers", HERE)["classes"], kind="known")
SMALL = ("sklearn", "ionosphere", "fcps")  # begin the names of sets for which the most stable number was sought
STABLE = "most stable"
DRAWS = 6  # of every kind, none of which was looked at while the rule was settled
WAYS = (
    ours("number by auto", 1, "auto"),
    ours("number by stability", 1, STABLE),
    other("number by HDBSCAN", title="HDBSCAN"),
    other("number by silhouette", 1, "silhouette"),
    other("number by gap", 1, "gap statistic"),
    other("number by BIC", 1, "BIC of mixtures"),
)
QUICK_WAYS = tuple(way.title for way in WAYS if way.title != STABLE)


def _distances(record: Record) -> Any:
    """Of the numbers found from the number of classes, seed by seed."""
    return np.array([extra["number"] - extra["classes"] for extra in record.extra])


NUMBER = Score("number of clusters found", lambda record: [extra["number"] for extra in record.extra], 0, better=0)
RIGHT = Score("draws with the right number, in %", lambda record: 100.0 * (_distances(record) == 0), 0)
AWAY = Score("distance from the number of classes", lambda record: np.abs(_distances(record)), better=-1)


def tally(table: Table, store: Store) -> str:
    """Hits, mean distance and, where there is one cluster alone, false alarms of every way that was measured on all."""
    several, alone = _parted(table)
    lines = {}
    for way in WAYS:
        right, away, quiet = (_all(way, *what, store) for what in ((several, RIGHT), (several, AWAY), (alone, RIGHT)))
        if right is None or away is None or quiet is None or not len(right):
            continue
        lines[way.title] = [f"{np.count_nonzero(right)} of {len(right)}", f"{np.mean(away):.2f}"]
        lines[way.title] += [f"{np.count_nonzero(quiet == 0)} of {len(quiet)}"] * bool(alone)
    return markdown(lines, ["right", "mean distance", *["false alarms"] * bool(alone)], lines.values())


def _parted(table: Table) -> tuple[list[Row], list[Row]]:
    """The rows with several clusters, and those with one alone."""
    rows: tuple[list[Row], list[Row]] = ([], [])
    for row in table.rows:
        rows[row.label in SINGLE].append(row)
    return rows


def hits(table: Table, store: Store) -> dict[str, tuple[int, int]]:
    """How often every way that was measured on all is right where there are several clusters, and of how many."""
    found = {way.title: _all(way, _parted(table)[0], RIGHT, store) for way in WAYS}
    return {
        way: (np.count_nonzero(right), len(right)) for way, right in found.items() if right is not None and len(right)
    }


def _all(way: Measured, rows: Sequence[Row], score: Score, store: Store) -> Any:
    """The score on every data set of the rows that the way is for; None unless all were measured."""
    single = [part for row in rows if way.cells(row) for part in row.parts()]
    values = np.array([way.mean(row, score, store) for row in single])
    return None if np.isnan(values).any() else values


def _set(label: str, name: str) -> Row:
    if label in LARGE:
        return Row(label, (f"{name}@{ROWS}",), only=QUICK_WAYS)
    return Row(label, (name,), only=None if label.startswith(SMALL) else QUICK_WAYS)


ON_SETS = Table(
    "cluster-numbers",
    tuple(_set(label, name) for label, name in SETS.items()),
    (CLASSES, *WAYS),
    NUMBER,
    quick=("sklearn iris", "fcps hepta"),
    after=tally,
    told={"ROWS": ROWS},
)
ON_SHAPES = Table(
    "cluster-numbers-drawn",
    tuple(
        Row(kind, tuple(f"shapes/{kind}-{i}" for i in range(FRESH, FRESH + DRAWS))) for kind in (*STRUCTURED, *SINGLE)
    ),
    tuple(way for way in WAYS if way.title != STABLE),
    RIGHT,
    quick=("moons", "gaussian"),
    after=tally,
    told={"DRAWS": DRAWS, "single": ", ".join(SINGLE)},
)

EXPERIMENTS = (ON_SETS, ON_SHAPES)
