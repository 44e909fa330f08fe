"""The slides of the conference version of the iterSVR paper: what they have beyond its tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.data import pairs
from experiments.store import Store
from experiments.tables._compare import tested
from experiments.tables._table import ERROR, LEAST_TIME, Measured, Printed, Row, Table, Tuned, listed, printed
from experiments.tables.iterative import (
    FRONT_DOOR,
    KMEANS,
    LABEL_FREE,
    TUNED_COLUMNS,
    WIDTHS,
    balanced,
    beside,
    not_reached,
)

MMC, NCUT = LABEL_FREE["MMC"][0], LABEL_FREE["NC"][1]
ITER_SVM, ITER_SVR = LABEL_FREE["iterSVM"][0], LABEL_FREE["iterSVR"][0]
HARD = 10  # % of error

SLIDE_COLUMNS: dict[str, tuple[Any, ...]] = {
    **{name: LABEL_FREE[name] for name in ("NC", "iterSVM", "iterLS-SVM")},
    "KM": KMEANS,
    "iterSVR": (ITER_SVR, *TUNED_COLUMNS["iterSVR"], FRONT_DOOR),
}
ERRORS = Table(
    "iterative-slides-errors",
    balanced("iterative-slides-errors"),
    beside("iterative-slides-errors", SLIDE_COLUMNS),
    ERROR,
    ("3-8",),
    lambda table, store: not_reached(table, store, {"iterSVR": ITER_SVR}),
)

PAIR_ROWS = (
    Row("UCI", pairs("digits")),
    Row(
        "MNIST",
        pairs("mnist-test"),
        "The 10000 test digits, about 2000 rows per pair. One seed of IterSVM and IterSVR; no widths were tried.",
        only=("KMeans(1)", "KMeans(10)", "NCut", "IterSVM", "IterSVR", "MaxMarginClustering"),
        otherwise="not run: six kernels for each of 45 pairs",
        seeds={"IterSVM": 1, "IterSVR": 1},
    ),
)


def _pair_words(table: Table, store: Store) -> str:
    """Wilcoxon over the 45 pairs; accuracies."""
    compared = (
        ("IterSVR", "IterSVM"),
        ("IterSVR", "KMeans(10)"),
        ("MaxMarginClustering", "KMeans(10)"),
        ("MaxMarginClustering", "IterSVR"),
    )
    lines = [tested(table, store, row.label, *pair) for row in table.rows for pair in compared]
    told = "\n".join(f"- {line}" for line in lines if line)
    reached = not_reached(table, store, {"iterSVM": ITER_SVM, "iterSVR": ITER_SVR})
    return "\n\n".join((reached, _hard_pairs(table, store), "The same pairs by accuracy in %, tested:", told))


def _hard_pairs(table: Table, store: Store) -> str:
    """Pairs on which the start decides."""
    lines = []
    for row in table.rows:
        errors = {part.data[0].split("/")[1]: ITER_SVR.mean(part, ERROR, store) for part in row.parts()}
        hard = {pair: error for pair, error in errors.items() if error > HARD}
        others = [error for pair, error in errors.items() if pair not in hard]
        listed = ", ".join(f"{pair} {error:.0f}" for pair, error in hard.items()) or "none"
        lines.append(f"{row.label} {listed}; {np.mean(others):.1f} in the mean of the other {len(others)}")
    return f"IterSVR errs by more than {HARD} % on these pairs: {'. '.join(lines)}."


PAIR_COLUMNS = {
    "KM": KMEANS,
    "NC": (NCUT,),
    "iterSVM": LABEL_FREE["iterSVM"],
    "iterSVR": (
        ITER_SVR,
        Tuned("IterSVR tuned", "IterSVR by width", [{"width": w} for w in WIDTHS], 1),
        FRONT_DOOR,
    ),
}
PAIRS = Table(
    "iterative-slides-pairs", PAIR_ROWS, beside("iterative-slides-pairs", PAIR_COLUMNS), ERROR, after=_pair_words
)

SLIDES = printed("iterative-slides-times")
TIMED = {"NC": NCUT, "MMC": MMC, "iterSVR": ITER_SVR}


def _timed_words(table: Table, store: Store) -> str:
    """MMC's time over IterSVR's, beside the printed ratios."""
    found = []
    for row in table.rows:
        slow, fast = (column.records([row], store) for column in (MMC, ITER_SVR))
        if slow and fast:
            theirs = float(SLIDES["MMC"][row.label]) / float(SLIDES["iterSVR"][row.label])
            found.append(f"{row.label} {min(slow[0].seconds) / min(fast[0].seconds):.0f} (slides: {theirs:.0f})")
    return f"MMC takes as many times the CPU time of IterSVR: {', '.join(found)}." if found else ""


def _timed(name: str, column: Measured) -> Sequence[Any]:
    seconds = {label: f"{text} s" for label, text in SLIDES[name].items()}
    return Printed(name, seconds), replace(column, title=f"time of {column.title}", score=LEAST_TIME)


TIMES = Table(
    "iterative-slides-times",
    listed("iterative-slides-times"),
    (
        *(column for name, measured in TIMED.items() for column in _timed(name, measured)),
        *(
            column
            for name, measured in TIMED.items()
            for column in (Printed(f"{name} error", SLIDES[f"{name} error"]), measured)
        ),
        FRONT_DOOR,
    ),
    ERROR,
    ("digits 2-7",),
    _timed_words,
)

EXPERIMENTS = (ERRORS, PAIRS, TIMES)
