"""Does a universum pay? Rules for it on one half of the collections, their gain on the other, and a universum of junk.

The runs with and without a universum have the same seeds; gains are meaned over seeds, and the intervals are Student's
over collections, because it is to new collections that a rule has to carry over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from experiments.cells import Cell
from experiments.store import Store
from experiments.tables._table import ACCURACY, BASELINE, FREE, Measured, Row, Score, Table, noted
from experiments.universum_data import CHOSEN_ON, REPORTED_ON

METHOD, JUNK = "M2DCU by rule", "M2DCU amid junk"
SEEDS, JUNK_SEEDS = 10, 5
SURE = 0.95
PAPER = "all kinds: likeliest 10 % (the paper's choice)"
RULES: dict[str, Mapping[str, Any]] = {
    PAPER: {"source": "all kinds", "rows": "likely", "fraction": 0.1},
    "all kinds": {"source": "all kinds"},
    "random rows alone": {"source": "random"},
    "midpoints of centres alone": {"source": "means"},
    "rest": {},
    "rest: weight 0.03": {"share": 0.03},
    "rest: weight 0.1": {"share": 0.1},
    "rest: weight 1": {"share": 1.0},
    "rest: weight 3": {"share": 3.0},
    "rest: a twentieth of it": {"fraction": 0.05},
    "rest: a fifth of it": {"fraction": 0.2},
    "rest: likeliest 10 %": {"rows": "likely", "fraction": 0.1},
    "rest: likeliest 30 %": {"rows": "likely", "fraction": 0.3},
    "rest: nearest 30 %": {"rows": "near", "fraction": 0.3},
    "rest: nearest 30 % of each pair": {"rows": "near each pair", "fraction": 0.3},
    "rest: shorter half": {"rows": "short", "fraction": 0.5},
    "rest: longer half": {"rows": "long", "fraction": 0.5},
    "rest: tolerance 0.1": {"tolerance": 0.1},
    "rest: C times 3": {"factor": 3.0},
    "rest: k + 2 clusters": {"more_clusters": 2},
    "rest: shared start": {"shared_start": True},
    "rest: shared start and weight 1": {"shared_start": True, "share": 1.0},
    "rest: shared start and weight 3": {"shared_start": True, "share": 3.0},
    "rest: nearest 30 % and shared start": {"rows": "near", "fraction": 0.3, "shared_start": True},
    "all kinds: shared start": {"source": "all kinds", "shared_start": True},
}
GAINED = Score("points gained over the run without, and a 95 % interval", noted("gain_accuracy").of, better=0)


@dataclass(frozen=True)
class OverCollections(Measured):
    """One value a collection, the mean of its seeds. Gains are over collections of their own, with an interval."""

    collections: Sequence[str] = ()

    @staticmethod
    def meaned(found: list[Any]) -> Any:
        return np.array([np.mean(values) for values in found])

    def cells(self, row: Row) -> list[Cell]:
        return super().cells(replace(row, data=tuple(f"aside/{name}" for name in self.collections or row.data)))

    def shown(self, values: Any, row: Row, score: Score, store: Store) -> str:
        return with_interval(values) if self.collections else f"{values.mean():.1f}"


def interval(values: Any) -> tuple[float, float]:
    """Student's, of the mean."""
    away = student.ppf((1 + SURE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - away), float(values.mean() + away)


def with_interval(values: Any) -> str:
    low, high = interval(values)
    return f"{values.mean():+.1f} ({low:+.1f} to {high:+.1f})"


A, A_NMI, B, B_NMI = (
    OverCollections(f"{half}: {title}", METHOD, seeds=SEEDS, score=noted(f"gain_{of}"), collections=names)
    for half, names in (("half A", CHOSEN_ON), ("half B", REPORTED_ON))
    for title, of in (("accuracy", "accuracy"), ("mutual information", "nmi"))
)


def verdict(table: Table, store: Store) -> str:
    """Which rule half A chooses, what it gains on half B, and whether that is more than chance."""
    means = table.means(A, store)
    row = table.rows[int(np.argmax(means))]
    values = {one.label: B.values(one, table.score, store) for one in table.rows}
    if np.isnan(means).any() or isinstance(values[row.label], str):
        return "Not complete."
    on_a, on_b, information = (column.text(row, table.score, store) for column in (A, B, B_NMI))
    least = {label: interval(found)[0] for label, found in values.items() if not isinstance(found, str)}
    sure = [label for label, low in least.items() if low > 0]
    chance = "That may be chance: no rule earns a place as the default"
    return (
        f"Half A chooses *{row.label}*, {on_a} points of accuracy. On half B it gains {on_b} of accuracy and "
        f"{information} of mutual information, in points, with 95 % intervals. "
        f"{'It earns its place as the default' if row.label in sure else chance}. Of the {len(least)} rules measured "
        f"on half B, {len(sure)} have an interval of accuracy above 0{': ' if sure else ''}{', '.join(sure)}."
    )


RULED = Table(
    "universum-rules",
    tuple(Row(label, (), own={METHOD: settings}) for label, settings in RULES.items()),
    (A, A_NMI, B, B_NMI),
    GAINED,
    after=verdict,
    told={"A": len(CHOSEN_ON), "B": len(REPORTED_ON), "SEEDS": SEEDS},
)


def _way(title: str, kind: str = FREE, **settings: Any) -> OverCollections:
    return OverCollections(title, JUNK, settings, kind, JUNK_SEEDS)


WAYS = (
    _way("margins without", by="without"),
    _way("universum, weight 0.3", by="universum"),
    _way("universum, weight 1", by="universum", share=1.0),
    _way("logistic regression", BASELINE, by="logistic"),
)
LEFT = replace(noted("junk_left"), title="junk left in topics, in % of all junk", better=0)
RIGHT = replace(noted("kept_right"), title="rows kept in topics that have the right one, in %", better=0)


def _differences(table: Table, store: Store) -> str:
    """What a universum changes against margins without it, with intervals over collections."""
    found = [[column.values(row, table.score, store) for row in table.rows] for column in table.columns]
    if any(isinstance(values, str) for of_column in found for values in of_column):
        return "Not complete."
    lines = []
    for column, of_column in zip(table.columns[1:], found[1:], strict=True):
        pairs = zip(table.rows, found[0], of_column, strict=True)
        told = [f"{row.label} {with_interval(values - without)}" for row, without, values in pairs]
        lines.append(f"- {column.title} less {table.columns[0].title}: {'; '.join(told)}.")
    return "\n".join(lines)


KEPT = Table(
    "universum-junk",
    tuple(Row(f"{100 * share:.0f} % junk", REPORTED_ON, own={JUNK: {"junk": share}}) for share in (0.1, 0.2, 0.3)),
    WAYS,
    LEFT,
    after=_differences,
)
EXPERIMENTS = (
    RULED,
    KEPT,
    replace(KEPT, name="universum-junk-right", score=RIGHT),
    replace(KEPT, name="universum-junk-accuracy", score=replace(ACCURACY, better=0)),
)
