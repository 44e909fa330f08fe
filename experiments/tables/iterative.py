"""Zhang, Tsang, Kwok: Maximum margin clustering made practical (ICML 2007, IEEE TNN 2009): tables and slides.

Printed means are of ten runs; "-" where a method ran out of memory. Signs and points that the scan lost were restored
where one reading alone makes sense. The slides are those of the conference version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.data import pairs
from experiments.store import Store
from experiments.tables._compare import KMEANS, beside, shortfalls, tests
from experiments.tables._table import (
    BASELINE,
    ERROR,
    ITERATIONS,
    LEAST_TIME,
    TUNED,
    Measured,
    Printed,
    Row,
    Table,
    Tuned,
    listed,
    ours,
    printed,
)

WIDTHS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)  # of the iterative methods and GMMC, in D
CUT_WIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)  # of normalised cut and kernel k-means
MMC_GRID = [{"width": w, "C": c, "most_rows": 100} for w in (1.0, 3.0) for c in (1.0, 10.0, 100.0, 500.0)]
UNBALANCED = 0.7  # least share of half of the rows; the paper's l of 0.15 n
ITERATIVE = {"iterSVM": "IterSVM", "iterLS-SVM": "IterLSSVM", "iterSVR": "IterSVR"}  # printed, and ours
BOUND = (*ITERATIVE.values(), *(f"{name} by width" for name in ITERATIVE.values()), "MMC by width")
STATED = ("ionosphere", "satimage/1-2", "svmguide1", "w1a")  # data sets
FAR = 2.0  # % of error
HARD = 10  # % of error

FRONT_DOOR, ITER_SVR = ours("MaxMarginClustering"), ours("IterSVR")
MMC = Measured("MMC here", "MMC by width", {"most_rows": 100})
NCUT = Measured("NCut", "NCut", {"local": True}, BASELINE)
LABEL_FREE: dict[str, Sequence[Any]] = {
    "KM": KMEANS,
    "KKM": (Measured("kernel k-means", "kernel k-means", {"width": 1.0}, BASELINE),),
    "NC": (Measured("NCut by sign", "NCut by sign", {"width": 1.0}, BASELINE), NCUT),
    "MMC": (MMC,),
    "GMMC": (Measured("GMMC here", "GMMC by width", {"most_rows": 1000}),),
    **{name: (ours(title),) for name, title in ITERATIVE.items()},
}


def balanced(name: str) -> tuple[Row, ...]:
    """Where the paper's balance is stated, all iterative methods have the same bound on the sizes."""
    own = dict.fromkeys(BOUND, {"min_cluster_fraction": UNBALANCED})
    return tuple(replace(row, own=own) if row.data[0] in STATED else row for row in listed(name))


def _tuned(title: str, method: str, widths: Sequence[float], seeds: int, **more: Any) -> Tuned:
    return Tuned(f"{title} tuned", method, [{"width": w, **more} for w in widths], seeds)


TUNED_COLUMNS: Mapping[str, Sequence[Any]] = {
    "KM": KMEANS[1:],
    "KKM": (_tuned("kernel k-means", "kernel k-means", CUT_WIDTHS, 3),),
    "NC": (_tuned("NCut by sign", "NCut by sign", CUT_WIDTHS, 1), _tuned("NCut", "NCut", CUT_WIDTHS, 3)),
    "MMC": (Tuned("MMC tuned", "MMC by width", MMC_GRID, 1),),
    "GMMC": (_tuned("GMMC", "GMMC by width", WIDTHS, 1, most_rows=800),),
    **{name: (_tuned(title, f"{title} by width", WIDTHS, 2),) for name, title in ITERATIVE.items()},
}


def _against(names: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> list[tuple[str, str]]:
    """Titles of printed columns and of ours."""
    return [(name, columns[name][0].title) for name in names]


def _in_kmeans(seconds: str, unit: str) -> str:
    """Printed seconds, and as multiples of the paper's k-means."""
    ratio = float(seconds) / float(unit)
    return f"{ratio:.0f} ({seconds} s)" if ratio >= 100 else f"{ratio:.3g} ({seconds} s)"


def _starts(table: Table, store: Store) -> str:
    errors = [column.records(table.rows[0], store) for column in table.columns[1:3]]
    if not all(errors):
        return ""
    by_sign, by_kmeans = (records[0].extra[0]["errors"][0] for records in errors)
    return (
        f"The cut by sign errs by {by_sign:.1f} % here, normalised cut by 21.9 % in the paper; the cut by k-means on "
        f"the same two eigenvectors by {by_kmeans:.1f} %, with clusters of other sizes."
    )


def _turns(name: str, epsilon: float | None) -> tuple[Measured, Measured]:
    by_sign = Measured(name, "turn by turn", {"epsilon": epsilon}, seeds=1)
    kmeans = {"epsilon": epsilon, "start": "cut by k-means"}
    return by_sign, replace(by_sign, title=f"{name}, cut by k-means", settings=kmeans)


TABLE1 = Table(
    "iterative-table1",
    tuple(
        Row(label, ("optdigits/3-9",), own={"turn by turn": {"C": float(label.split()[-1])}})
        for label in printed("iterative-table1")["iterSVM"]
    ),
    beside("iterative-table1", {"iterSVM": _turns("IterSVM", None), "iterSVR": _turns("IterSVR", 0.0)}),
    ERROR,
    ("C = 0.01",),
    _starts,
)

START = "start, then IterSVR"
STARTS = {"random": "random", "KM": "k-means", "NC": "cut by sign"}
STARTED = Measured("here", START, seeds=3)
ERRORS, SECONDS = printed("iterative-table2").values()
TABLE2 = Table(
    "iterative-table2",
    tuple(
        Row(
            label,
            pairs("digits"),
            own={START: {"iterate": label.endswith("iterSVR"), "start": STARTS[label.split()[0]]}},
        )
        for label in ERRORS
    ),
    (
        Printed("error", ERRORS),
        STARTED,
        Printed("time", {row: _in_kmeans(text, SECONDS["KM only"]) for row, text in SECONDS.items()}),
        replace(STARTED, title="time here", score=LEAST_TIME),
    ),
    ERROR,
    ("KM only",),
)

ROWS = balanced("iterative-table4")
TABLE4 = Table(
    "iterative-table4",
    ROWS,
    (*beside("iterative-table4", LABEL_FREE), FRONT_DOOR),
    ERROR,
    ("optdigits 3-8 (s)", "ionosphere"),
    shortfalls(*_against(("GMMC", *ITERATIVE), LABEL_FREE)),
)


def _tuned_words(table: Table, store: Store) -> str:
    """Also: is it the search or the objective that keeps IterSVR from the classes?"""
    column = Measured("", "IterSVR by width", {"width": 4.0}, TUNED, 2)
    better, worse = [], []
    for row in table.rows:
        records = column.records(row, store)
        if not records or column.mean(row, ERROR, store) <= FAR:
            continue
        found, classes = (np.mean([end[name] for end in records[0].extra]) for name in ("objective", "of_classes"))
        (better if classes < found else worse).append(f"{row.label} ({100 * (classes / found - 1):+.0f} %)")
    missed = shortfalls(*_against([name for name in TUNED_COLUMNS if name != "KM"], TUNED_COLUMNS))(table, store)
    return (
        f"{missed}\n\nRows on which the error of IterSVR exceeds {FAR:g} % at sigma = 4 D, with the objective of the "
        "classes relative to that of the labels found. Lower, so that the search failed: "
        f"{', '.join(better) or 'none'}. Higher, so that the objective prefers other labels: "
        f"{', '.join(worse) or 'none'}. On image and satellite the classes themselves (430 of 1010 and 703 of 2236 "
        "rows) are outside the balance."
    )


TABLE4_TUNED = replace(
    TABLE4,
    name="iterative-table4-tuned",
    columns=beside("iterative-table4", TUNED_COLUMNS),
    quick=("optdigits 3-8 (s)",),
    after=_tuned_words,
)
UNIT = printed("iterative-table5")["KM"]
TIMES = beside("iterative-table5", LABEL_FREE, lambda _, row, seconds: _in_kmeans(seconds, UNIT[row]))
TABLE5 = Table("iterative-table5", ROWS, (*TIMES, FRONT_DOOR), LEAST_TIME)
TABLE6 = Table("iterative-table6", ROWS, beside("iterative-table6", LABEL_FREE), ITERATIONS)

SLIDES_ERRORS = Table(
    "iterative-slides-errors",
    balanced("iterative-slides-errors"),
    beside(
        "iterative-slides-errors",
        LABEL_FREE | {"MMC": (), "GMMC": (), "iterSVR": (ITER_SVR, *TUNED_COLUMNS["iterSVR"], FRONT_DOOR)},
    ),
    ERROR,
    ("3-8",),
    shortfalls(("iterSVR", "IterSVR")),
)


def _pair_words(table: Table, store: Store) -> str:
    """Also: the pairs on which the start decides."""
    lines = []
    for row in table.rows:
        errors = {part.data[0].split("/")[1]: ITER_SVR.mean(part, ERROR, store) for part in row.parts()}
        hard = {pair: error for pair, error in errors.items() if error > HARD}
        others = [error for pair, error in errors.items() if pair not in hard]
        listed = ", ".join(f"{pair} {error:.0f}" for pair, error in hard.items()) or "none"
        lines.append(f"{row.label} {listed}; {np.mean(others):.1f} in the mean of the other {len(others)}")
    missed = shortfalls(("iterSVM", "IterSVM"), ("iterSVR", "IterSVR"))
    first, second, us = "IterSVR", "KMeans(10)", FRONT_DOOR.title
    tested = tests((first, "IterSVM"), (first, second), (us, second), (us, first))
    return (
        f"{missed(table, store)}\n\nIterSVR errs by more than {HARD} % on these pairs: {'. '.join(lines)}.\n\n"
        f"The same pairs by accuracy in %, tested:\n\n{tested(table, store)}"
    )


SLIDES_PAIRS = Table(
    "iterative-slides-pairs",
    (
        Row("UCI", pairs("digits")),
        Row(
            "MNIST",
            pairs("mnist-test"),
            "The 10000 test digits, about 2000 rows per pair. One seed of IterSVM and IterSVR; no widths were tried.",
            only=("KMeans(1)", "KMeans(10)", "NCut", "IterSVM", "IterSVR", "MaxMarginClustering"),
            otherwise="not run: six kernels for each of 45 pairs",
            seeds={"IterSVM": 1, "IterSVR": 1},
        ),
    ),
    beside(
        "iterative-slides-pairs",
        LABEL_FREE
        | {"NC": (NCUT,), "iterSVR": (ITER_SVR, _tuned("IterSVR", "IterSVR by width", WIDTHS, 1), FRONT_DOOR)},
    ),
    ERROR,
    after=_pair_words,
)
TIMED = {"NC": NCUT, "MMC": MMC, "iterSVR": ITER_SVR}
SLIDES_TIMES = Table(
    "iterative-slides-times",
    listed("iterative-slides-times"),
    (
        *beside(
            "iterative-slides-times",
            {name: (replace(one, title=f"time of {one.title}", score=LEAST_TIME),) for name, one in TIMED.items()},
            lambda _, row, seconds: f"{seconds} s",
        ),
        *beside("iterative-slides-times", {f"{name} error": (one,) for name, one in TIMED.items()}),
        FRONT_DOOR,
    ),
    ERROR,
    ("digits 2-7",),
)

EXPERIMENTS = (TABLE1, TABLE2, TABLE4, TABLE4_TUNED, TABLE5, TABLE6, SLIDES_ERRORS, SLIDES_PAIRS, SLIDES_TIMES)
