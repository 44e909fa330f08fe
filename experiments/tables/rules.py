"""Could another label-free rule do better? Alternatives to the defaults of the search by moves, chosen on one half of
the sets and confirmed on the other; and what changes of the defaults do to classes that had no part in them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.data import pairs
from experiments.store import Store
from experiments.tables._table import ACCURACY, BASELINE, FREE, Measured, Row, Table, Tuned
from experiments.tables.panel import SETS

METHOD = "MaxMarginClustering"
MOVES = {"search": "moves"}
LEFT_OUT = ("mnist", "a9a", "a4a", "letter", "rcv1")  # as all texts
HALVES = ("A", "B")
ALTERNATIVES: dict[str, Mapping[str, Any]] = {
    "C = 1": {"C": 1.0},
    "C = 100": {"C": 100.0},
    "width 1": {"width": 1.0},
    "width 3": {"width": 3.0},
    "width 5": {"width": 5.0},
    "never smooth": {"smoothing": 0},
    "always smooth": {"smoothing": 2},
    "15 neighbours": {"n_neighbors": 15},
    "always scale": {"standardize": True},
    "never scale": {"standardize": False},
    "sizes 0.5": {"min_cluster_fraction": 0.5},
    "sizes 0.05": {"min_cluster_fraction": 0.05},
}
SEEDS = 3
LEAST_RINGNORM = 96.5  # accuracy in %
LETTERS = tuple(f"letter/{a}-{b}" for a, b in ("CD", "EF", "GH", "IJ", "KL", "MN", "OP", "QR", "ST", "UV", "WX", "YZ"))
TRIPLES = tuple(f"mnist-test/{a}-{a + 1}-{a + 2}" for a in range(8))


def _half(label: str) -> str:
    """By turns through the alphabet: decided before anything was measured."""
    return HALVES[sorted(SETS).index(label) % 2]


def _means(table: Table, store: Store, half: str) -> dict[str, float]:
    """Mean accuracy over the sets of a half, for the default and every alternative."""
    rows = [row for row in table.rows if row.label.endswith(f"({half})")]
    found = {}
    for column in _columns():
        values = [column.values(row, table.score, store) for row in rows]
        if any(isinstance(value, str) for value in values):
            return {}
        found[column.title] = float(np.mean([np.mean(value) for value in values]))
    return found


def verdict(table: Table, store: Store) -> str:
    """The best alternative on half A, and what it does on half B."""
    on = {half: _means(table, store, half) for half in HALVES}
    if not all(on.values()):
        return "Not complete: no verdict."
    lines = ["| mean accuracy | " + " | ".join(f"half {half}" for half in HALVES) + " |", "|---" * 3 + "|"]
    lines += [f"| {name} | " + " | ".join(f"{on[half][name]:.1f}" for half in HALVES) + " |" for name in on["A"]]
    best = max(on["A"], key=lambda name: on["A"][name])
    gains = {half: on[half][best] - on[half]["default"] for half in HALVES}
    if best == "default":
        words = "No alternative beats the default on half A."
    else:
        words = (
            f"Best on half A: {best}, {gains['A']:+.1f} points over the default there and {gains['B']:+.1f} on half B."
        )
    return "\n".join(lines) + "\n\n" + words + _held_back(table, store, best)


def _held_back(table: Table, store: Store, best: str) -> str:
    """Whether a better rule breaks what `tests/accuracy/test_max_margin_accuracy.py` holds the defaults to."""
    row = next(row for row in table.rows if row.data == ("ringnorm",))
    column = next(column for column in _columns() if column.title == best)
    accuracy = float(np.mean(column.values(row, table.score, store)))
    if best == "default" or accuracy >= LEAST_RINGNORM:
        return ""
    return f" It was not adopted, because ringnorm falls to {accuracy:.1f}, and the tests demand {LEAST_RINGNORM}."


def _columns() -> Sequence[Measured]:
    return [
        Measured("default", METHOD, MOVES, FREE, SEEDS),
        *(Measured(title, f"{METHOD} with", settings, FREE, SEEDS) for title, settings in ALTERNATIVES.items()),
    ]


RULES = Table(
    "rules",
    "MaxMarginClustering, search by moves: alternatives to its defaults",
    tuple(
        Row(f"{label} ({_half(label)})", (name,))
        for label, name in SETS.items()
        if label not in LEFT_OUT and not label.startswith("cora")
    ),
    (*_columns(), Tuned("best alternative", f"{METHOD} with", tuple(ALTERNATIVES.values()), SEEDS)),
    ACCURACY,
    "The search by moves, which was the default before. Half A of the sets may choose a rule, half B confirms it; the "
    "halves alternate through the alphabet. `width` is the kernel's in medians of the distances, 1.5 by default; "
    "`sizes` is `min_cluster_fraction`, 0.2 by default. Seeds 0 to 2; the largest sets and texts are left out because "
    "they take too long. Half B is not untouched: the defaults, and some of these alternatives, had been compared on "
    "all these sets before the halves were drawn.",
    quick=("sklearn iris (B)",),
    after=verdict,
)

CHANGE = Table(
    "change",
    "The last changes of the defaults, on classes not used to choose them",
    (
        Row("MNIST pairs", pairs("mnist-test"), "Test digits."),
        Row("MNIST triples", TRIPLES, "Test digits, three consecutive ones."),
        Row("letter pairs", LETTERS),
        Row("segment pairs", pairs("segment", "1234567")),
        Row("satellite pairs", tuple(name for name in pairs("satimage", "123457") if name != "satimage/1-2")),
    ),
    (
        Measured("moves, before", f"{METHOD} before", {}, FREE, 2),
        Measured("moves", METHOD, MOVES, FREE, 2),
        Measured("now: agreement", METHOD, {}, FREE, 2),
        Measured("KMeans(10)", "KMeans(10)", {}, BASELINE, 2),
    ),
    ACCURACY,
    "First, starts of the search by moves were improved with a tenth of C first, and ties went to even sizes; then the "
    "search by agreement became the default. Both were chosen on the sets of the panel and on pairs of UCI digits; "
    "these pairs and triples were measured only afterwards, but the complete sets that they come from are in the "
    "panel. Seeds 0 and 1.",
    quick=(),
)

EXPERIMENTS = (RULES, CHANGE)
