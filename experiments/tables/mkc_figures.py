"""The figures of the MKC paper: time against rows, kernels and tolerance, and the length of the inner loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Record, Store
from experiments.tables._figure import Figure, draw, growth, guide, least_seconds, logarithmic, series

SEEDS = 3
SETS = {
    "svmguide1": ("svmguide1", (200, 400, 800, 1600, 3000)),
    "ringnorm": ("ringnorm", (200, 400, 800, 1600, 4000)),
    "letterAvB": ("letter/A-B", (200, 400, 800, 1500)),
    "satellite": ("satimage/1-2", (200, 400, 800, 2000)),
    "letterABCD": ("letter/A-B-C-D", (200, 400, 800, 1600, 3000)),
    "mnist01234": ("mnist-14/0-1-2-3-4", (500, 2000, 8000, 30_000)),
}
KERNELS = ("linear", "poly", "rbf")
PAPERS_ORDER: dict[str, Any] = {"order": "cuts_first"}
NUMBERS = tuple(range(1, 11))
TICKS = (1, 2, 3, 4, 6, 8, 10)
TOLERANCES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
TURNED = {
    "digits2v7": "digits/2-7",
    "letterAvB": "letter/A-B",
    "satellite": "satimage/1-2",
    "ringnorm": "ringnorm@500each",
}


def _by_size(label: str, kernels: tuple[str, ...] = KERNELS) -> dict[int, Cell]:
    data, sizes = SETS[label]
    return {size: Cell.of(f"{data}@{size}", "MKC kernels", SEEDS, kernels=kernels, **PAPERS_ORDER) for size in sizes}


def _by_number(data: str) -> dict[int, Cell]:
    return {number: Cell.of(data, "MKC Gaussians", SEEDS, number=number) for number in NUMBERS}


def _by_tolerance(data: str) -> dict[float, Cell]:
    return {tol: Cell.of(data, "MKC kernels", SEEDS, tol=tol) for tol in TOLERANCES}


def _alone(store: Store, label: str) -> tuple[Any, Any]:
    """Sizes and the sum of the times of the three kernels, one after the other, where all were measured."""
    curves = [dict(zip(*series(store, _by_size(label, (name,)), least_seconds), strict=True)) for name in KERNELS]
    sizes = sorted(set.intersection(*map(set, curves)))
    return np.array(sizes), np.array([sum(curve[size] for curve in curves) for size in sizes])


def _draw_against_single(canvas: Any, store: Store) -> str:
    """A panel a data set: MKC, and its kernels one after the other."""
    ratios = {}
    for axes, label in zip(canvas.subplots(2, 3).flat, SETS, strict=True):
        at, together = series(store, _by_size(label), least_seconds)
        sizes, apart = _alone(store, label)
        draw(axes, at, together, 0, "MKC")
        draw(axes, sizes, apart, 1, "K1 + K2 + K3")
        logarithmic(axes, "x", "y")
        axes.set_title(label, fontsize=9)
        if len(sizes) and sizes[-1] == at[-1]:
            ratios[label] = float(together[-1] / apart[-1])
    canvas.axes[0].legend(fontsize=8)
    canvas.supxlabel("rows", fontsize=9)
    canvas.supylabel("CPU seconds", fontsize=9)
    listed = ", ".join(f"{label} {ratio:.2f}" for label, ratio in ratios.items())
    return f"Time of MKC at the most rows, in units of the three single fits: {listed}."


def _draw_sizes(canvas: Any, store: Store) -> str:
    left, right = canvas.subplots(1, 2)
    exponents, loops = {}, []
    for place, label in enumerate(SETS):
        at, seconds = series(store, _by_size(label), least_seconds)
        exponents[label] = growth(at, seconds)
        draw(left, at, seconds, place, f"{label}, n^{exponents[label]:.2f}")
        at, turns = series(store, _by_size(label), _inner)
        draw(right, at, turns, place)
        loops += list(turns)
    guide(left, at, seconds, 1.0, "linear")
    logarithmic(left, "x", "y")
    logarithmic(right, "x")
    left.set_ylabel("CPU seconds")
    right.set_ylabel("CCCP iterations a cut")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xlabel("rows")
    canvas.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize=7.5)
    return (
        f"Fitted growth from n^{min(exponents.values()):.2f} to n^{max(exponents.values()):.2f}; the paper: roughly n. "
        f"Inner loops take {min(loops):.1f} to {max(loops):.1f} iterations in the mean; the paper: fewer than 10."
    )


def _inner(record: Record) -> float:
    return float(np.mean([extra["cccp"] for extra in record.extra]))


def _draw_numbers_and_tolerances(canvas: Any, store: Store) -> str:
    left, right = canvas.subplots(1, 2)
    by_number: dict[str, float] = {}
    by_tolerance: dict[str, float] = {}
    curves: tuple[tuple[Any, Callable[[str], Any], dict[str, float]], ...] = (
        (left, _by_number, by_number),
        (right, _by_tolerance, by_tolerance),
    )
    for axes, cells, exponents in curves:
        for place, (label, data) in enumerate(TURNED.items()):
            at, seconds = series(store, cells(data), least_seconds)
            exponents[label] = growth(at, seconds)
            draw(axes, at, seconds, place, label)
        logarithmic(axes, "x", "y")
    left.set_xlabel("Gaussian kernels")
    left.set_xticks(TICKS, [str(number) for number in TICKS])
    left.set_ylabel("CPU seconds")
    right.set_xlabel("tolerance ε, relative to the objective")
    right.legend(fontsize=7.5)
    return (
        f"Time grows with the number M of kernels as M^{min(by_number.values()):.2f} to "
        f"M^{max(by_number.values()):.2f} (the paper: roughly M^2), and with the tolerance as "
        f"ε^{min(by_tolerance.values()):.2f} to ε^{max(by_tolerance.values()):.2f} (the paper: roughly ε^-0.2)."
    )


EXPERIMENTS = (
    Figure(
        "mkc-figure1",
        tuple(
            cell
            for label in SETS
            for kernels in (KERNELS, *((name,) for name in KERNELS))
            for cell in _by_size(label, kernels).values()
        ),
        _draw_against_single,
        (7.0, 4.2),
        (Cell.of("svmguide1@200", "MKC kernels", kernels=KERNELS, **PAPERS_ORDER),),
    ),
    Figure("mkc-figure2", tuple(cell for label in SETS for cell in _by_size(label).values()), _draw_sizes, (8.0, 3.2)),
    Figure(
        "mkc-figure3",
        tuple(
            cell for data in TURNED.values() for cells in (_by_number, _by_tolerance) for cell in cells(data).values()
        ),
        _draw_numbers_and_tolerances,
    ),
)
