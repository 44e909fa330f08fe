"""Rows that belong nowhere, and probabilities."""

import numpy as np

from experiments.store import Store
from experiments.tables._ranking import FRONT
from experiments.tables._table import BASELINE, FREE, NOT_RUN, Measured, Score, Table, noted, rows_of
from experiments.tables.panel import SETS as PANEL_SETS
from experiments.tables.say import SETS as SAY_SETS
from experiments.tables.say import at_least, count, known, verdict

MOST_LOST = 2.0  # points of the clean rows
LEAST_FOUND = 80.0  # recall and precision of the noise, in %
ROWS = 1500
LARGE = ("letter", "svmguide1", "ringnorm", "image", "w1a", "a1a", "a4a", "cora", "rcv1", "fcps engytime")
LEFT_OUT = ("mnist", "a9a")  # the test part and the nested samples stand for them
WAYS = (
    Measured("noise ignored", "noise, outliers", {"outliers": 0}, FREE),
    Measured('outliers="auto"', "noise, outliers", {"outliers": "auto"}, FREE),
    Measured("share given", "noise, outliers", {"outliers": 0.1 / 1.1}, FREE),
    Measured("HDBSCAN", "noise, HDBSCAN", {}, BASELINE),
)
AUTO = WAYS[1].title


def _noted(way: Measured, of: str) -> Measured:
    title = "clean rows" if of == "clean" else of
    return Measured(f"{way.title}: {title}", way.method, way.settings, way.kind, score=noted(of))


def _noise_words(table: Table, store: Store) -> str:
    shown, lines = table.by_title(store), []
    for title in (way.title for way in WAYS[1:]):
        kept = at_least(shown[f"{title}: clean rows"], shown["fit of the clean rows alone"], MOST_LOST)
        both = [shown[f"{title}: {of}"] for of in ("recall", "precision")]
        found = known(np.min(both, axis=0) >= LEAST_FOUND, *both)
        aims = [f", {verdict(reached, len(reached))}" if title == AUTO else "" for reached in (kept, found)]
        lines.append(
            f"- {title}: clean rows within {MOST_LOST:g} points of the fit without noise on {count(kept)}{aims[0]}; "
            f"recall and precision of at least {LEAST_FOUND:g} % on {count(found)}{aims[1]}."
        )
    return "\n".join(lines)


CONTAMINATED = Table(
    "contaminated",
    rows_of({f"digits, {kind} noise": f"contaminated/digits-{kind}" for kind in ("uniform", "shuffled")}),
    (
        Measured("fit of the clean rows alone", "noise, clean fit", score=noted("clean")),
        *(_noted(way, "clean") for way in WAYS),
        *(_noted(way, of) for way in WAYS[1:] for of in ("recall", "precision")),
    ),
    Score("accuracy of the clean rows, recall and precision of the noise, in %", lambda record: [], better=0),
    ("digits, uniform noise",),
    _noise_words,
)


def _calibration_words(table: Table, store: Store) -> str:
    words = []
    for what, digits, (ours, theirs) in (
        ("expected calibration error", 1, table.columns[:2]),
        ("Brier score", 3, table.columns[2:]),
    ):
        both = np.array([table.means(ours, store), table.means(theirs, store)])
        both = both[:, ~np.isnan(both).any(axis=0)]
        if not both.size:
            return f"{NOT_RUN.capitalize()}."
        mean = both.mean(axis=1)
        words.append(
            f"- {what.capitalize()}: {mean[0]:.{digits}f} in the mean of {both.shape[1]} sets, of the mixture "
            f"{mean[1]:.{digits}f}; no higher than the mixture's on {(both[0] <= both[1]).sum()}."
        )
    return "\n".join(words)


SMALL = {label: f"{name}@{ROWS}" if label in LARGE else name for label, name in PANEL_SETS.items()}
CALIBRATION = Table(
    "calibration",
    rows_of({label: name for label, name in SMALL.items() if label not in LEFT_OUT} | SAY_SETS),
    tuple(
        Measured(f"{who}: {title}", method, kind=kind, seeds=1, score=noted(of, digits))
        for title, of, digits in (("calibration error in %", "error", 1), ("Brier", "brier", 3))
        for who, method, kind in ((FRONT, "probabilities", FREE), ("GMM full", "probabilities, GMM full", BASELINE))
    ),
    Score("calibration and Brier score of `predict_proba`, lower is better", lambda record: [], better=0),
    ("sklearn iris",),
    _calibration_words,
    {"ROWS": ROWS},
)

EXPERIMENTS = (CONTAMINATED, CALIBRATION)
