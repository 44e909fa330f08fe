"""Rows that belong nowhere, and probabilities."""

import numpy as np

from experiments.store import Store
from experiments.tables._ranking import FRONT
from experiments.tables._table import BASELINE, FREE, NOT_RUN, Measured, Row, Score, Shown, Table
from experiments.tables.panel import SETS as PANEL_SETS
from experiments.tables.say import SETS as SAY_SETS
from experiments.tables.say import compared, count, means, verdict

MOST_LOST = 2.0  # points of the clean rows
LEAST_FOUND = 80.0  # recall and precision of the noise, in %
ROWS = 1500
LARGE = ("letter", "svmguide1", "ringnorm", "image", "w1a", "a1a", "a4a", "cora", "rcv1", "fcps engytime")
LEFT_OUT = ("mnist", "a9a")  # the test part and the nested samples stand for them
WAYS = (
    ("noise ignored", "noise, outliers", {"outliers": 0}, FREE),
    ('outliers="auto"', "noise, outliers", {"outliers": "auto"}, FREE),
    ("share given", "noise, outliers", {"outliers": 0.1 / 1.1}, FREE),
    ("HDBSCAN", "noise, HDBSCAN", {}, BASELINE),
)
AUTO = WAYS[1][0]


def _noise_columns() -> tuple[Shown, ...]:
    clean = [
        Shown(f"{title}: clean rows", method, settings, kind, of="clean") for title, method, settings, kind in WAYS
    ]
    found = [
        Shown(f"{title}: {of}", method, settings, kind, of=of)
        for title, method, settings, kind in WAYS[1:]
        for of in ("recall", "precision")
    ]
    return (
        Shown("fit of the clean rows alone", "noise, clean fit", kind=FREE, of="clean"),
        *clean,
        *found,
    )


def _noise_words(table: Table, store: Store) -> str:
    shown = {column.title: means(column, table, store) for column in table.columns}
    whole = shown["fit of the clean rows alone"]
    lines = []
    for title in (way[0] for way in WAYS[1:]):
        kept = compared(shown[f"{title}: clean rows"], whole, MOST_LOST)
        found = [
            None if r is None or p is None else min(r, p) >= LEAST_FOUND
            for r, p in zip(shown[f"{title}: recall"], shown[f"{title}: precision"], strict=True)
        ]
        aims = f", {verdict(kept, len(kept))}", f", {verdict(found, len(found))}"
        lines.append(
            f"- {title}: clean rows within {MOST_LOST:g} points of the fit without noise on {count(kept)}"
            f"{aims[0] if title == AUTO else ''}; recall and precision of at least {LEAST_FOUND:g} % on {count(found)}"
            f"{aims[1] if title == AUTO else ''}."
        )
    return "\n".join(lines)


CONTAMINATED = Table(
    "contaminated",
    "Outliers",
    tuple(Row(f"digits, {kind} noise", (f"contaminated/digits-{kind}",)) for kind in ("uniform", "shuffled")),
    _noise_columns(),
    Score("accuracy of the clean rows, recall and precision of the noise, in %", lambda record: [], better=0),
    "Rows of noise, a tenth of the number of rows, are added: uniform between the extremes of every column, or with "
    'every column shuffled over the rows. Clean rows marked as outliers count as wrong. "Noise ignored" is a fit with '
    "the defaults, where noise joins clusters; HDBSCAN finds its own number of clusters.",
    quick=("digits, uniform noise",),
    after=_noise_words,
)


def _calibration_words(table: Table, store: Store) -> str:
    words = []
    for what, digits, (ours, theirs) in (
        ("expected calibration error", 1, table.columns[:2]),
        ("Brier score", 3, table.columns[2:]),
    ):
        pairs = zip(means(ours, table, store), means(theirs, table, store), strict=True)
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not both:
            return f"{NOT_RUN.capitalize()}."
        mean = np.mean(both, axis=0)
        words.append(
            f"- {what.capitalize()}: {mean[0]:.{digits}f} in the mean of {len(both)} sets, of the mixture "
            f"{mean[1]:.{digits}f}; no higher than the mixture's on {sum(a <= b for a, b in both)}."
        )
    return "\n".join(words)


def _calibration_rows() -> tuple[Row, ...]:
    small = {label: f"{name}@{ROWS}" if label in LARGE else name for label, name in PANEL_SETS.items()}
    sets = {label: name for label, name in small.items() if label not in LEFT_OUT} | SAY_SETS
    return tuple(Row(label, (name,)) for label, name in sets.items())


def _probabilities(title: str, of: str, digits: int) -> tuple[Measured, ...]:
    ours, theirs = f"{FRONT}: {title}", f"GMM full: {title}"
    return (
        Shown(ours, "probabilities", of=of, digits=digits, seeds=1),
        Shown(theirs, "probabilities, GMM full", kind=BASELINE, of=of, digits=digits, seeds=1),
    )


CALIBRATION = Table(
    "calibration",
    "Calibration of probabilities",
    _calibration_rows(),
    (*_probabilities("calibration error in %", "error", 1), *_probabilities("Brier", "brier", 3)),
    Score("calibration and Brier score of `predict_proba`, lower is better", lambda record: [], better=0),
    "Clusters are mapped one to one to classes; then the expected calibration error compares the largest probability "
    "with the share of right rows in ten bins, and the Brier score (0 to 2) is the squared distance from the class. No "
    f"probability was fitted with labels. One seed; at most {ROWS} rows of larger sets. The mixture has full "
    "covariances and uses the 50 leading directions of sparse or wide rows.",
    quick=("sklearn iris",),
    after=_calibration_words,
)

EXPERIMENTS = (CONTAMINATED, CALIBRATION)
