"""Zhao, Kwok, Zhang: Multiple kernel clustering (SDM 2009)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.store import Record, Store
from experiments.tables._compare import Columns, paper_table, shortfalls
from experiments.tables._figure import Figure, by_setting, by_size, curves, draw, growths, logarithmic, series
from experiments.tables._table import MAJORITY, RAND, TUNED, Measured, Printed, Row, Tuned, listed, ours, printed, tuned
from experiments.tables.cpm3c import BASELINES, BINARY, TOLERANCES

GRID: dict[str, Sequence[Any]] = {"C": (10.0, 100.0), "balance": (0.0, 0.3)}
DEGREES, MEDIANS = {"degree": (2, 3)}, {"width": (0.75, 1.5, 3.0)}
KERNELS = ("linear", "poly", "rbf")


def _tuned(title: str, *kernels: str, **axes: Sequence[Any]) -> Tuned:
    return tuned(title, "MKC kernels", 1, kernels=(kernels,), **GRID, **axes)


COLUMNS: Columns = {
    "MKC, paper's": (
        _tuned("MKC tuned", *KERNELS, **DEGREES, **MEDIANS),
        ours("MKC kernels", title="MKC of three"),
        ours("MKC"),
        Measured("MKC from the classes", "MKC from classes", kind=TUNED, seeds=1),
        ours("MaxMarginClustering"),
    ),
    "K1, paper's": (_tuned("K1", "linear"),),
    "K2, paper's": (_tuned("K2", "poly", **DEGREES),),
    "K3, paper's": (_tuned("K3", "rbf", **MEDIANS),),
    **BASELINES,
}
MORE = ("digits0689", "digits1279", "letterABCD", "mnist01234")  # clusters than IterSVR takes
ROWS = [replace(row, seeds=dict.fromkeys(BINARY * (row.label in MORE), 0)) for row in listed("mkc-table2")]
SUBSETS = {"letterAvB": 500, "satellite": 500, "letterABCD": 500, "mnist01234": 1000}
PART = ours("MKC subset")
MISSED = shortfalls(("MKC, paper's", "MKC", "MKC tuned", "MaxMarginClustering"))


def _part(row: Row) -> Row:
    return replace(row, own={PART.method: {"size": SUBSETS.get(row.label)}})


def _fitted(title: str) -> Measured:
    """MKC fitted to "all" rows or a "subset", with the score that the title names."""
    score = RAND if title.endswith("Rand") else MAJORITY
    return replace(ours("MKC") if title.startswith("all") else PART, title=title, score=score)


FITTED = {"": (Printed("rows of the subset", SUBSETS),)} | {name: (_fitted(name),) for name in printed("mkc-table3")}
TABLES = (
    paper_table("mkc-table2", ROWS, COLUMNS, after=MISSED),
    paper_table("mkc-table2-rand", ROWS, COLUMNS, RAND, after=MISSED),
    paper_table("mkc-table3", [_part(row) for row in ROWS], FITTED),
)

SETS = {
    "svmguide1": ("svmguide1", (200, 400, 800, 1600, 3000)),
    "ringnorm": ("ringnorm", (200, 400, 800, 1600, 4000)),
    "letterAvB": ("letter/A-B", (200, 400, 800, 1500)),
    "satellite": ("satimage/1-2", (200, 400, 800, 2000)),
    "letterABCD": ("letter/A-B-C-D", (200, 400, 800, 1600, 3000)),
    "mnist01234": ("mnist-14/0-1-2-3-4", (500, 2000, 8000, 30_000)),
}
TOGETHER, *ALONE = (
    by_size(SETS, "MKC kernels", kernels=kernels, order="cuts_first")
    for kernels in (KERNELS, *((name,) for name in KERNELS))
)
TICKS = (1, 2, 3, 4, 6, 8, 10)
DATA = {row.label: row.data[0] for row in ROWS}
TURNED = {label: DATA[label] for label in ("digits2v7", "letterAvB", "satellite", "ringnorm")}
BY_NUMBER = by_setting(TURNED, "MKC Gaussians", "number", range(1, 11))
BY_TOLERANCE = by_setting(TURNED, "MKC kernels", "tol", TOLERANCES)


def _alone(store: Store, label: str) -> tuple[Any, Any]:
    """Sizes and the sum of the times of the three kernels, one after the other, where all were measured."""
    times = [dict(zip(*series(store, lines[label]), strict=True)) for lines in ALONE]
    sizes = sorted(set.intersection(*map(set, times)))
    return np.array(sizes), np.array([sum(of_kernel[size] for of_kernel in times) for size in sizes])


def _draw_against_single(canvas: Any, store: Store) -> str:
    """A panel a data set: MKC, and its kernels one after the other."""
    ratios = []
    for axes, label in zip(canvas.subplots(2, 3).flat, SETS, strict=True):
        ((at, together),) = curves(axes, store, {"MKC": TOGETHER[label]}).values()
        sizes, apart = _alone(store, label)
        draw(axes, sizes, apart, 1, "K1 + K2 + K3")
        logarithmic(axes, "x", "y")
        axes.set_title(label, fontsize=9)
        if len(sizes) and sizes[-1] == at[-1]:
            ratios.append(f"{label} {together[-1] / apart[-1]:.2f}")
    canvas.axes[0].legend(fontsize=8)
    canvas.supxlabel("rows", fontsize=9)
    canvas.supylabel("CPU seconds", fontsize=9)
    return f"Time of MKC at the most rows, in units of the three single fits: {', '.join(ratios)}."


def _draw_sizes(canvas: Any, store: Store) -> str:
    left, right = canvas.subplots(1, 2)
    times = curves(left, store, TOGETHER, symbol="n")
    loops = np.concatenate([turns for _, turns in curves(right, store, TOGETHER, _inner).values()])
    logarithmic(left, "x", "y")
    logarithmic(right, "x")
    left.set(xlabel="rows", ylabel="CPU seconds")
    right.set(xlabel="rows", ylabel="CCCP iterations a cut")
    right.set_ylim(bottom=0)
    canvas.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize=7.5)
    return (
        f"Fitted growth from {growths(times, 'n')}; the paper: roughly n. Inner loops take {loops.min():.1f} to "
        f"{loops.max():.1f} iterations in the mean; the paper: fewer than 10."
    )


def _inner(record: Record) -> float:
    return float(np.mean([extra["cccp"] for extra in record.extra]))


def _draw_numbers_and_tolerances(canvas: Any, store: Store) -> str:
    left, right = canvas.subplots(1, 2)
    by_number, by_tolerance = curves(left, store, BY_NUMBER), curves(right, store, BY_TOLERANCE)
    logarithmic(left, "x", "y")
    logarithmic(right, "x", "y")
    left.set(xlabel="Gaussian kernels", ylabel="CPU seconds")
    left.set_xticks(TICKS, [str(number) for number in TICKS])
    right.set_xlabel("tolerance ε, relative to the objective")
    right.legend(fontsize=7.5)
    return (
        f"Time grows with the number M of kernels as {growths(by_number, 'M')} (the paper: roughly M^2), and with the "
        f"tolerance as {growths(by_tolerance, 'ε')} (the paper: roughly ε^-0.2)."
    )


EXPERIMENTS = (
    *TABLES,
    Figure("mkc-figure1", (TOGETHER, ALONE), _draw_against_single, (7.0, 4.2)),
    Figure("mkc-figure2", TOGETHER, _draw_sizes, (8.0, 3.2)),
    Figure("mkc-figure3", (BY_NUMBER, BY_TOLERANCE), _draw_numbers_and_tolerances),
)
