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
from experiments.tables._table import ACCURACY, BASELINE, Measured, Row, Score, Table, noted
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
    """One value a collection, the mean of its seeds: over these are means and intervals."""

    seeds: int = JUNK_SEEDS

    @staticmethod
    def meaned(found: list[Any]) -> Any:
        return np.array([np.mean(values) for values in found])

    def text(self, row: Row, score: Score, store: Store) -> str:
        values = self.values(row, score, store)
        return values if isinstance(values, str) else f"{values.mean():.1f}"


@dataclass(frozen=True)
class Half(OverCollections):
    """The gain of a rule, the settings of its row, over the collections of one half."""

    names: Sequence[str] = ()

    def cells(self, row: Row) -> list[Cell]:
        return super().cells(replace(row, data=_aside(self.names)))

    def text(self, row: Row, score: Score, store: Store) -> str:
        values = self.values(row, score, store)
        return values if isinstance(values, str) else with_interval(values)


def _aside(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"aside/{name}" for name in names)


def interval(values: Any) -> tuple[float, float]:
    """Student's, of the mean."""
    away = student.ppf((1 + SURE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - away), float(values.mean() + away)


def with_interval(values: Any) -> str:
    low, high = interval(values)
    return f"{values.mean():+.1f} ({low:+.1f} to {high:+.1f})"


A, A_NMI, B, B_NMI = (
    Half(f"{half}: {title}", METHOD, seeds=SEEDS, score=noted(f"gain_{of}"), names=names)
    for half, names in (("half A", CHOSEN_ON), ("half B", REPORTED_ON))
    for title, of in (("accuracy", "accuracy"), ("mutual information", "nmi"))
)


def chosen_rule(table: Table, store: Store) -> Row | None:
    """The rule with the largest mean gain of accuracy on half A; None before all are measured."""
    means = table.means(A, store)
    return None if np.isnan(means).any() else table.rows[int(np.argmax(means))]


def verdict(table: Table, store: Store) -> str:
    """Which rule half A chooses, what it gains on half B, and whether that is more than chance."""
    row = chosen_rule(table, store)
    if row is None or np.isnan(B.mean(row, table.score, store)):
        return "Not complete."
    accuracy, information = (column.text(row, table.score, store) for column in (B, B_NMI))
    values = {one.label: B.values(one, table.score, store) for one in table.rows}
    least = {label: interval(found)[0] for label, found in values.items() if not isinstance(found, str)}
    sure = [label for label, low in least.items() if low > 0]
    earned = row.label in sure
    words = (
        "It earns its place as the default" if earned else "That may be chance: no rule earns a place as the default"
    )
    return (
        f"Half A chooses *{row.label}*, {A.text(row, table.score, store)} points of accuracy. On half B it gains "
        f"{accuracy} of accuracy and {information} of mutual information, in points, with 95 % intervals. {words}. Of "
        f"the {len(least)} rules measured on half B, {len(sure)} have an interval of accuracy above "
        f"0{': ' if sure else ''}{', '.join(sure)}."
    )


RULED = Table(
    "universum-rules",
    tuple(Row(label, (), own={METHOD: settings}) for label, settings in RULES.items()),
    (A, A_NMI, B, B_NMI),
    GAINED,
    after=verdict,
    told={"A": len(CHOSEN_ON), "B": len(REPORTED_ON), "SEEDS": SEEDS},
)

WAYS = (
    OverCollections("margins without", JUNK, {"by": "without"}),
    OverCollections("universum, weight 0.3", JUNK, {"by": "universum"}),
    OverCollections("universum, weight 1", JUNK, {"by": "universum", "share": 1.0}),
    OverCollections("logistic regression", JUNK, {"by": "logistic"}, BASELINE),
)
LEFT = replace(noted("junk_left"), title="junk left in topics, in % of all junk", better=0)
RIGHT = replace(noted("kept_right"), title="rows kept in topics that have the right one, in %", better=0)


def _differences(table: Table, store: Store) -> str:
    """What a universum changes against margins without it, with intervals over collections."""
    first, *others = table.columns
    lines = []
    for column in others:
        told = []
        for row in table.rows:
            values = [one.values(row, table.score, store) for one in (first, column)]
            if any(isinstance(value, str) for value in values):
                return "Not complete."
            told.append(f"{row.label} {with_interval(values[1] - values[0])}")
        lines.append(f"- {column.title} less {first.title}: {'; '.join(told)}.")
    return "\n".join(lines)


KEPT = Table(
    "universum-junk",
    tuple(
        Row(f"{100 * share:.0f} % junk", _aside(REPORTED_ON), own={JUNK: {"junk": share}}) for share in (0.1, 0.2, 0.3)
    ),
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
