"""Zhang, Tsang, Kwok: Maximum margin clustering made practical (ICML 2007, IEEE TNN 2009): tables and slides.

Printed means are of ten runs; "-" where a method ran out of memory. Signs and points that the scan lost were restored
where one reading alone makes sense. The slides are those of the conference version.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.data import pairs
from experiments.store import Store
from experiments.tables._compare import Columns, paper_table, shortfalls, tests, time_table
from experiments.tables._table import ERROR, KMEANS, LEAST_TIME, Row, Table, listed, noted, other, ours, printed, tuned

WIDTHS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)  # of the iterative methods and GMMC, in D
CUT_WIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)  # of normalised cut and kernel k-means
UNBALANCED = 0.7  # least share of half of the rows; the paper's l of 0.15 n
ITERATIVE = {"iterSVM": "IterSVM", "iterLS-SVM": "IterLSSVM", "iterSVR": "IterSVR"}  # printed, and ours
BOUND = (*ITERATIVE.values(), *(f"{name} by width" for name in ITERATIVE.values()), "MMC by width")
STATED = ("ionosphere", "satimage/1-2", "svmguide1", "w1a")  # data sets
FAR = 2.0  # % of error
HARD = 10  # % of error

FRONT_DOOR, ITER_SVR = ours("MaxMarginClustering"), ours("IterSVR")
NCUT = other("NCut", local=True)
LABEL_FREE: dict[str, Sequence[Any]] = {
    "KM": KMEANS,
    "KKM": (other("kernel k-means", width=1.0),),
    "NC": (other("NCut by sign", width=1.0), NCUT),
    "MMC": (ours("MMC by width", title="MMC here", most_rows=100),),
    "GMMC": (ours("GMMC by width", title="GMMC here", most_rows=1000),),
    **{name: (ours(title),) for name, title in ITERATIVE.items()},
}
FRONT = {"": (FRONT_DOOR,)}
TUNED_COLUMNS: Columns = {
    "KM": KMEANS[1:],
    "KKM": (tuned("kernel k-means tuned", "kernel k-means", 3, width=CUT_WIDTHS),),
    "NC": (
        tuned("NCut by sign tuned", "NCut by sign", 1, width=CUT_WIDTHS),
        tuned("NCut tuned", "NCut", 3, width=CUT_WIDTHS),
    ),
    "MMC": (tuned("MMC tuned", "MMC by width", 1, width=(1.0, 3.0), C=(1.0, 10.0, 100.0, 500.0), most_rows=(100,)),),
    "GMMC": (tuned("GMMC tuned", "GMMC by width", 1, width=WIDTHS, most_rows=(800,)),),
    **{name: (tuned(f"{title} tuned", f"{title} by width", 2, width=WIDTHS),) for name, title in ITERATIVE.items()},
}


def balanced(name: str) -> tuple[Row, ...]:
    """Where the paper's balance is stated, all iterative methods have the same bound on the sizes."""
    own = dict.fromkeys(BOUND, {"min_cluster_fraction": UNBALANCED})
    return tuple(replace(row, own=own) if row.data[0] in STATED else row for row in listed(name))


def _in_kmeans(_: str, ratio: float, seconds: str) -> str:
    """Printed seconds, and as multiples of the paper's k-means."""
    return f"{ratio:.0f} ({seconds} s)" if ratio >= 100 else f"{ratio:.3g} ({seconds} s)"


def _turns(name: str, epsilon: float | None) -> Sequence[Any]:
    """From either cut."""
    by_kmeans = ours("turn by turn", 1, f"{name}, cut by k-means", epsilon=epsilon, start="cut by k-means")
    return ours("turn by turn", 1, name, epsilon=epsilon), by_kmeans


def _cut_words(table: Table, store: Store) -> str:
    records = [column.records(table.rows[0], store) for column in table.columns[1:3]]
    if not all(records):
        return ""
    by_sign, by_kmeans = (found[0].extra[0]["errors"][0] for found in records)
    return (
        f"The cut by sign errs by {by_sign:.1f} % here, normalised cut by 21.9 % in the paper; the cut by k-means on "
        f"the same two eigenvectors by {by_kmeans:.1f} %, with clusters of other sizes."
    )


def _tuned_words(table: Table, store: Store) -> str:
    """Also: is it the search or the objective that keeps IterSVR from the classes?"""
    column = ours("IterSVR by width", 2, width=4.0)
    better, worse = [], []
    for row in table.rows:
        records = column.records(row, store)
        if not records or column.mean(row, ERROR, store) <= FAR:
            continue
        found, classes = (np.mean([end[name] for end in records[0].extra]) for name in ("objective", "of_classes"))
        (better if classes < found else worse).append(f"{row.label} ({100 * (classes / found - 1):+.0f} %)")
    missed = shortfalls(*((name, found[0].title) for name, found in TUNED_COLUMNS.items() if name != "KM"))
    return (
        f"{missed(table, store)}\n\nRows on which the error of IterSVR exceeds {FAR:g} % at sigma = 4 D, with the "
        "objective of the classes relative to that of the labels found. Lower, so that the search failed: "
        f"{', '.join(better) or 'none'}. Higher, so that the objective prefers other labels: "
        f"{', '.join(worse) or 'none'}. On image and satellite the classes themselves (430 of 1010 and 703 of 2236 "
        "rows) are outside the balance."
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


OF_COSTS, SECONDS = printed("iterative-table1")["iterSVM"], printed("iterative-table2")["time"]
IN_KMEANS = {row: _in_kmeans("", float(text) / float(SECONDS["KM only"]), text) for row, text in SECONDS.items()}
START = "start, then IterSVR"
STARTS = {"random": "random", "KM": "k-means", "NC": "cut by sign"}
STARTED = ours(START, 3, "here")
ROWS = balanced("iterative-table4")
MISSED = shortfalls(("GMMC", "GMMC here"), *ITERATIVE.items())
BY_TUNED = paper_table("iterative-table4", ROWS, TUNED_COLUMNS, ERROR, _tuned_words)
TABLES = (
    paper_table(
        "iterative-table1",
        [Row(label, ("optdigits/3-9",), own={"turn by turn": {"C": float(label.split()[-1])}}) for label in OF_COSTS],
        {"iterSVM": _turns("IterSVM", None), "iterSVR": _turns("IterSVR", 0.0)},
        ERROR,
        _cut_words,
    ),
    paper_table(
        "iterative-table2",
        [
            Row(label, pairs("digits"), own={START: {"iterate": of != "only", "start": STARTS[start]}})
            for label in SECONDS
            for start, *_, of in [label.split()]
        ],
        {"error": (STARTED,), "time": (replace(STARTED, title="time here", score=LEAST_TIME),)},
        ERROR,
        shown=lambda title, row, text: IN_KMEANS[row] if title == "time" else text,
    ),
    paper_table("iterative-table4", ROWS, LABEL_FREE | FRONT, ERROR, MISSED),
    replace(BY_TUNED, name="iterative-table4-tuned"),
    time_table("iterative-table5", ROWS, LABEL_FREE | FRONT, "KM", _in_kmeans),
    paper_table("iterative-table6", ROWS, LABEL_FREE, replace(noted("iterations"), better=0)),
)

SLOW = {"IterSVM": 1, "IterSVR": 1, "IterSVR tuned": 0}
SVR_BY_WIDTH = tuned("IterSVR tuned", "IterSVR by width", 1, width=WIDTHS)
TIMED = {"NC": NCUT, "MMC": LABEL_FREE["MMC"][0], "iterSVR": ITER_SVR}
SLIDES = (
    paper_table(
        "iterative-slides-errors",
        balanced("iterative-slides-errors"),
        LABEL_FREE | {"MMC": (), "GMMC": (), "iterSVR": (ITER_SVR, *TUNED_COLUMNS["iterSVR"], FRONT_DOOR)},
        ERROR,
        shortfalls(("iterSVR", "IterSVR")),
    ),
    paper_table(
        "iterative-slides-pairs",
        [
            replace(row, seeds=SLOW, otherwise="not run: six kernels for each of 45 pairs") if row.note else row
            for row in listed("iterative-slides-pairs")
        ],
        LABEL_FREE | {"NC": (NCUT,), "iterSVR": (ITER_SVR, SVR_BY_WIDTH, FRONT_DOOR)},
        ERROR,
        after=_pair_words,
    ),
    paper_table(
        "iterative-slides-times",
        listed("iterative-slides-times"),
        {name: (replace(one, title=f"time of {one.title}", score=LEAST_TIME),) for name, one in TIMED.items()}
        | {f"{name} error": (one,) for name, one in TIMED.items()}
        | FRONT,
        ERROR,
        shown=lambda title, _, text: text if title.endswith("error") else f"{text} s",
    ),
)
EXPERIMENTS = (*TABLES, *SLIDES)
