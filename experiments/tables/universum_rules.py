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
from experiments.store import Record, Store
from experiments.tables._table import ACCURACY, BASELINE, FREE, Column, Row, Score, Table, noted
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
GAINED = Score("points gained over the run without, and a 95 % interval", lambda record: gains(record), better=0)


def gains(record: Record, score: str = "accuracy") -> list[float]:
    return [extra[f"gain_{score}"] for extra in record.extra]


@dataclass(frozen=True)
class Half(Column):
    """The gain of a rule, the settings of its row, meaned over the collections of one half."""

    title: str
    names: Sequence[str]
    of: str
    kind: str = FREE

    def cells(self, row: Row) -> list[Cell]:
        return [Cell.of(f"aside/{name}", METHOD, SEEDS, **row.own[METHOD]) for name in self.names]

    def values(self, row: Row, score: Score, store: Store) -> Any:
        """By collection."""
        records = [store.records.get(cell) for cell in self.cells(row)]
        if any(record is None or record.status != "ok" for record in records):
            return "not run"
        return np.array([np.mean(gains(record, self.of)) for record in records if record])

    def text(self, row: Row, score: Score, store: Store) -> str:
        values = self.values(row, score, store)
        if isinstance(values, str):
            return values
        low, high = interval(values)
        return f"{values.mean():+.1f} ({low:+.1f} to {high:+.1f})"


def interval(values: Any) -> tuple[float, float]:
    """Student's, of the mean."""
    away = student.ppf((1 + SURE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - away), float(values.mean() + away)


A, A_NMI, B, B_NMI = (
    Half(f"{half}: {title}", names, of)
    for half, names in (("half A", CHOSEN_ON), ("half B", REPORTED_ON))
    for title, of in (("accuracy", "accuracy"), ("mutual information", "nmi"))
)
SCORES = {B: "accuracy", B_NMI: "mutual information"}


def chosen_rule(table: Table, store: Store) -> Row | None:
    """The rule with the largest mean gain of accuracy on half A; None before all are measured."""
    means = table.means(A, store)
    return None if np.isnan(means).any() else table.rows[int(np.argmax(means))]


def verdict(table: Table, store: Store) -> str:
    """Which rule half A chooses, what it gains on half B, and whether that is more than chance."""
    row = chosen_rule(table, store)
    if row is None or np.isnan(B.mean(row, table.score, store)):
        return "Not complete."
    told = " and ".join(f"{column.text(row, table.score, store)} of {name}" for column, name in SCORES.items())
    values = {one.label: B.values(one, table.score, store) for one in table.rows}
    least = {label: interval(found)[0] for label, found in values.items() if not isinstance(found, str)}
    sure = [label for label, low in least.items() if low > 0]
    earned = row.label in sure
    words = (
        "It earns its place as the default" if earned else "That may be chance: no rule earns a place as the default"
    )
    return (
        f"Half A chooses *{row.label}*, {A.text(row, table.score, store)} points of accuracy. On half B it gains "
        f"{told}, in points, with 95 % intervals. {words}. Of the {len(least)} rules measured on half B, "
        f"{len(sure)} have an interval of accuracy above 0{': ' if sure else ''}{', '.join(sure)}."
    )


RULED = Table(
    "universum-rules",
    tuple(Row(label, (), own={METHOD: settings}) for label, settings in RULES.items()),
    (A, A_NMI, B, B_NMI),
    GAINED,
    quick=(),
    after=verdict,
    told={"A": len(CHOSEN_ON), "B": len(REPORTED_ON), "SEEDS": SEEDS},
)

WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "margins without": ({"by": "without"}, FREE),
    "universum, weight 0.3": ({"by": "universum"}, FREE),
    "universum, weight 1": ({"by": "universum", "share": 1.0}, FREE),
    "logistic regression": ({"by": "logistic"}, BASELINE),
}
OF_JUNK = {
    "junk_left": "junk left in topics, in % of all junk",
    "kept_right": "rows kept in topics that have the right one, in %",
}


@dataclass(frozen=True)
class Kept(Column):
    """What one way of telling junk scores, meaned over the collections of half B that have enough of it."""

    title: str
    settings: Mapping[str, Any]
    kind: str

    def cells(self, row: Row) -> list[Cell]:
        settings = {**self.settings, **row.own[JUNK]}
        return [Cell.of(f"aside/{name}", JUNK, JUNK_SEEDS, **settings) for name in row.data]

    def values(self, row: Row, score: Score, store: Store) -> Any:
        records = [store.records.get(cell) for cell in self.cells(row)]
        if any(record is None or record.status != "ok" for record in records):
            return "not run"
        return np.array([np.mean(score(record)) for record in records if record])

    def text(self, row: Row, score: Score, store: Store) -> str:
        values = self.values(row, score, store)
        return values if isinstance(values, str) else f"{values.mean():.1f}"


def _score(name: str) -> Score:
    return replace(noted(name), title=OF_JUNK[name])


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
            low, high = interval(values[1] - values[0])
            told.append(f"{row.label} {np.mean(values[1] - values[0]):+.1f} ({low:+.1f} to {high:+.1f})")
        lines.append(f"- {column.title} less {first.title}: {'; '.join(told)}.")
    return "\n".join(lines)


KEPT = Table(
    "universum-junk",
    tuple(Row(f"{100 * share:.0f} % junk", REPORTED_ON, own={JUNK: {"junk": share}}) for share in (0.1, 0.2, 0.3)),
    tuple(Kept(title, settings, kind) for title, (settings, kind) in WAYS.items()),
    replace(_score("junk_left"), better=-1),
    quick=(),
    after=_differences,
)
EXPERIMENTS = (
    RULED,
    KEPT,
    replace(KEPT, name="universum-junk-right", score=_score("kept_right")),
    replace(KEPT, name="universum-junk-accuracy", score=ACCURACY),
)
