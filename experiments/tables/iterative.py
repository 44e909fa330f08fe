"""Zhang, Tsang, Kwok: Maximum margin clustering made practical (ICML 2007, IEEE TNN 2009): the tables.

Printed means are of ten runs; "-" where a method ran out of memory. Signs and points that the scan lost were restored
where one reading alone makes sense.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.data import pairs
from experiments.store import Store
from experiments.tables._compare import reasons
from experiments.tables._table import (
    BASELINE,
    ERROR,
    ITERATIONS,
    LEAST_TIME,
    TUNED,
    Column,
    Measured,
    Printed,
    Row,
    Table,
    Tuned,
    listed,
    other,
    ours,
    printed,
)
from experiments.tables.cpm3c import in_units

WIDTHS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)  # of the iterative methods and GMMC, in D
CUT_WIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)  # of normalised cut and kernel k-means
MMC_GRID = [{"width": w, "C": c, "most_rows": 100} for w in (1.0, 3.0) for c in (1.0, 10.0, 100.0, 500.0)]
UNBALANCED = 0.7  # least share of half of the rows; the paper's l of 0.15 n
ITERATIVE = ("IterSVM", "IterLSSVM", "IterSVR")
BOUND = (*ITERATIVE, *(f"{name} by width" for name in ITERATIVE), "MMC by width")
MARGIN = 2.0  # points of error beyond which a row counts as not reached
STATED = ("ionosphere", "satimage/1-2", "svmguide1", "w1a")  # data sets


def balanced(name: str) -> tuple[Row, ...]:
    """Where the paper's balance is stated, all iterative methods have the same bound on the sizes."""
    own = dict.fromkeys(BOUND, {"min_cluster_fraction": UNBALANCED})
    return tuple(replace(row, own=own) if row.data[0] in STATED else row for row in listed(name))


ROWS = balanced("iterative-table4")


def in_kmeans(ratio: float, seconds: str) -> str:
    """Printed seconds, and as multiples of the paper's k-means."""
    return f"{ratio:.0f} ({seconds} s)" if ratio >= 100 else f"{ratio:.3g} ({seconds} s)"


KMEANS = (other("KMeans(1)"), other("KMeans(10)"))
LABEL_FREE: dict[str, tuple[Measured, ...]] = {
    "KM": KMEANS,
    "KKM": (Measured("kernel k-means", "kernel k-means", {"width": 1.0}, BASELINE),),
    "NC": (
        Measured("NCut by sign", "NCut by sign", {"width": 1.0}, BASELINE),
        Measured("NCut", "NCut", {"local": True}, BASELINE),
    ),
    "MMC": (Measured("MMC here", "MMC by width", {"most_rows": 100}),),
    "GMMC": (Measured("GMMC here", "GMMC by width", {"most_rows": 1000}),),
    "iterSVM": (ours("IterSVM"),),
    "iterLS-SVM": (ours("IterLSSVM"),),
    "iterSVR": (ours("IterSVR"),),
}
FRONT_DOOR = ours("MaxMarginClustering")


def _by_width(title: str, method: str, widths: tuple[float, ...], seeds: int, **more: Any) -> Tuned:
    return Tuned(title, method, [{"width": w, **more} for w in widths], seeds)


TUNED_COLUMNS: dict[str, tuple[Any, ...]] = {
    "KM": KMEANS[1:],
    "KKM": (_by_width("kernel k-means tuned", "kernel k-means", CUT_WIDTHS, 3),),
    "NC": (
        _by_width("NCut by sign tuned", "NCut by sign", CUT_WIDTHS, 1),
        _by_width("NCut tuned", "NCut", CUT_WIDTHS, 3),
    ),
    "MMC": (Tuned("MMC tuned", "MMC by width", MMC_GRID, 1),),
    "GMMC": (_by_width("GMMC tuned", "GMMC by width", WIDTHS, 1, most_rows=800),),
    **{
        theirs: (_by_width(f"{name} tuned", f"{name} by width", WIDTHS, 2),)
        for theirs, name in zip(("iterSVM", "iterLS-SVM", "iterSVR"), ITERATIVE, strict=True)
    },
}


def beside(
    table: str, measured: Mapping[str, tuple[Any, ...]], make: Callable[[str], Printed] | None = None
) -> tuple[Any, ...]:
    """Each printed column followed by ours of the same method."""
    columns: list[Any] = []
    for name, figures in printed(table).items():
        columns += [make(name) if make else Printed(name, figures), *measured.get(name, ())]
    return tuple(columns)


def not_reached(table: Table, store: Store, measured: Mapping[str, Any]) -> str:
    """Rows whose printed error is lower than ours by more than the margin, for every method; ours by printed name."""
    lines = []
    for name, column in measured.items():
        compared, worse, better, theirs = 0, [], 0, table.column(name).figures
        for row, mine in zip(table.rows, table.means(column, store), strict=True):
            text = theirs.get(row.label, "-").split()[0]
            if text == "-" or np.isnan(mine):
                continue
            compared += 1
            better += mine - float(text) < -MARGIN
            if mine - float(text) > MARGIN:
                known = reasons().get(("iterative-table4", row.label), "")
                worse.append(f"{row.label} ({text} printed, {mine:.1f} here{f': {known}' if known else ''})")
        if compared:
            listed = ": " + "; ".join(worse) if worse else ""
            lines.append(
                f"- {column.title} against the paper's {name}: lower error by more than {MARGIN:g} points on {better} "
                f"of {compared} rows, higher on {len(worse)}{listed}."
            )
    return "\n".join(lines)


def _best_counts(table: Table, store: Store, columns: tuple[Any, ...]) -> str:
    """How often each has the least error, ties counted for all, over the rows that all of these finished."""
    errors = np.array([table.means(column, store) for column in columns])
    found = errors[:, ~np.isnan(errors).any(axis=0)]
    if not found.size:
        return ""
    best = (found <= found.min(axis=0) + 0.05).sum(axis=1)
    told = [f"{c.title} {b} (mean error {e:.1f})" for c, b, e in zip(columns, best, found.mean(axis=1), strict=True)]
    return f"Times best of the {found.shape[1]} rows that all of these finished: " + ", ".join(told) + "."


def _label_free_words(table: Table, store: Store) -> str:
    compared = {name: LABEL_FREE[name][0] for name in ("GMMC", "iterSVM", "iterLS-SVM", "iterSVR")}
    quick = [column for name, found in LABEL_FREE.items() if "MMC" not in name for column in found]
    return not_reached(table, store, compared) + "\n\n" + _best_counts(table, store, (*quick, FRONT_DOOR))


def _tuned_words(table: Table, store: Store) -> str:
    compared = {name: found[0] for name, found in TUNED_COLUMNS.items() if name != "KM"}
    return not_reached(table, store, compared) + "\n\n" + _objective_words(table, store)


def _objective_words(table: Table, store: Store) -> str:
    """Is it the search or the objective that keeps IterSVR from the classes?"""
    column = Measured("", "IterSVR by width", {"width": 4.0}, TUNED, 2)
    better, worse = [], []
    for row in table.rows:
        records = column.records([row], store)
        if not records or column.mean(row, ERROR, store) <= MARGIN:
            continue
        found, classes = (np.mean([end[name] for end in records[0].extra]) for name in ("objective", "of_classes"))
        (better if classes < found else worse).append(f"{row.label} ({100 * (classes / found - 1):+.0f} %)")
    return (
        f"Rows on which the error of IterSVR exceeds {MARGIN:g} % at sigma = 4 D, with the objective of the classes "
        f"relative to that of the labels found. Lower, so that the search failed: {', '.join(better) or 'none'}. "
        f"Higher, so that the objective prefers other labels: {', '.join(worse) or 'none'}. On image and satellite the "
        "classes themselves (430 of 1010 and 703 of 2236 rows) are outside the balance."
    )


def _cost_words(table: Table, store: Store) -> str:
    """Where the two starts lead, from the store."""
    found = table.by_title(store)
    if np.isnan(list(found.values())).any():
        return ""
    starts = [column.records(table.rows[:1], store)[0].extra[0]["errors"][0] for column in table.columns[1:3]]
    told = "; ".join(f"{title} {min(v):.1f} to {max(v):.1f}" for title, v in found.items())
    return (
        f"The cut by sign errs by {starts[0]:.1f} % here, normalised cut by 21.9 % in the paper; the cut by k-means on "
        f"the same two eigenvectors by {starts[1]:.1f} %, with clusters of other sizes. Errors over all C: {told}."
    )


def _turns(name: str, epsilon: float | None) -> tuple[Column, Column]:
    settings = {"epsilon": epsilon}
    return (
        Measured(name, "turn by turn", settings, seeds=1),
        Measured(f"{name}, cut by k-means", "turn by turn", settings | {"start": "cut by k-means"}, seeds=1),
    )


TABLE1 = Table(
    "iterative-table1",
    tuple(
        Row(label, ("optdigits/3-9",), own={"turn by turn": {"C": float(label.split()[-1])}})
        for label in printed("iterative-table1")["iterSVM"]
    ),
    beside("iterative-table1", {"iterSVM": _turns("IterSVM", None), "iterSVR": _turns("IterSVR", 0.0)}),
    ERROR,
    ("C = 0.01",),
    _cost_words,
)

START = "start, then IterSVR"
STARTS = {"random": "random", "KM": "k-means", "NC": "cut by sign"}
STARTED = Measured("here", START, seeds=3)
OF_STARTS = printed("iterative-table2")
UNIT = OF_STARTS | {"KM": dict.fromkeys(OF_STARTS["seconds"], OF_STARTS["seconds"]["KM only"])}
TABLE2 = Table(
    "iterative-table2",
    tuple(
        Row(
            label,
            pairs("digits"),
            own={START: {"iterate": label.endswith("iterSVR"), "start": STARTS[label.split()[0]]}},
        )
        for label in OF_STARTS["error"]
    ),
    (
        Printed("error", OF_STARTS["error"]),
        STARTED,
        in_units("time", UNIT, "seconds", "KM", in_kmeans),
        replace(STARTED, title="time here", score=LEAST_TIME),
    ),
    ERROR,
    ("KM only",),
)
TABLE4 = Table(
    "iterative-table4",
    ROWS,
    (*beside("iterative-table4", LABEL_FREE), FRONT_DOOR),
    ERROR,
    ("optdigits 3-8 (s)", "ionosphere"),
    _label_free_words,
)
TABLE4_TUNED = Table(
    "iterative-table4-tuned",
    ROWS,
    beside("iterative-table4", TUNED_COLUMNS),
    ERROR,
    ("optdigits 3-8 (s)",),
    _tuned_words,
)
SECONDS = printed("iterative-table5")
TABLE5 = Table(
    "iterative-table5",
    ROWS,
    (
        *beside("iterative-table5", LABEL_FREE, lambda name: in_units(name, SECONDS, name, "KM", in_kmeans)),
        FRONT_DOOR,
    ),
    LEAST_TIME,
)
TABLE6 = Table("iterative-table6", ROWS, beside("iterative-table6", LABEL_FREE), ITERATIONS)

EXPERIMENTS = (TABLE1, TABLE2, TABLE4, TABLE4_TUNED, TABLE5, TABLE6)
