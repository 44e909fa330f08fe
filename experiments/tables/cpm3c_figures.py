"""The figures of the CPM3C paper: time against rows and tolerance, accuracy against tolerance."""

from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Store
from experiments.tables._figure import Figure, draw, growth, guide, least_seconds, logarithmic, series

TWO = {
    "Letter": ("letter/A-B", (100, 200, 400, 800, 1500)),
    "UCISat": ("satimage/1-2", (100, 250, 500, 1000, 2000)),
    "Text-1": ("news/text-1", (200, 500, 1000, 1900)),
    "MNIST 1-7": ("mnist/1-7", (250, 1000, 4000, 15_000)),
}
MORE = {
    "Cora-ML": ("cora-titles/ml", (200, 400, 800, 1600)),
    "WK-WC": ("webkb/wisconsin", (200, 400, 800, 1200)),
    "20-news": ("news/rec4", (250, 500, 1000, 2000, 3900)),
    "RCVI": ("rcv1", (500, 1000, 3000, 9000, 20_000)),
}
SEEDS = 3
TOLERANCES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
JUDGED = {
    "Dig 3-8": "digits/3-8",
    "Letter": "letter/A-B",
    "UCISat": "satimage/1-2",
    "Text-1": "news/text-1",
    "Dig 0689": "digits/0-6-8-9",
    "Dig 1279": "digits/1-2-7-9",
    "20-news": "news/rec4",
}


def _by_size(data: str, sizes: tuple[int, ...]) -> dict[int, Cell]:
    return {size: Cell.of(f"{data}@{size}", "CPM3C", SEEDS) for size in sizes}


def _by_tolerance(data: str) -> dict[float, Cell]:
    return {tol: Cell.of(data, "CPM3C", SEEDS, tol=tol) for tol in TOLERANCES}


def _draw_sizes(canvas: Any, store: Store) -> str:
    """Two panels, two clusters and more, log-log with a line of linear growth."""
    exponents = {}
    for axes, sets in zip(canvas.subplots(1, 2, sharey=True), (TWO, MORE), strict=True):
        for place, (label, (data, sizes)) in enumerate(sets.items()):
            at, seconds = series(store, _by_size(data, sizes), least_seconds)
            exponents[label] = growth(at, seconds)
            draw(axes, at, seconds, place, f"{label}, n^{exponents[label]:.2f}")
        guide(axes, at, seconds, 1.0, "linear")
        axes.set_xlabel("rows")
        axes.legend(fontsize=7.5)
    for axes in canvas.axes:  # when all is drawn: they share their ends
        logarithmic(axes, "x", "y")
    canvas.axes[0].set_ylabel("CPU seconds")
    canvas.axes[0].set_title("two clusters", fontsize=9)
    canvas.axes[1].set_title("more clusters", fontsize=9)
    steepest = max(exponents, key=lambda label: exponents[label])
    return (
        f"Fitted growth: from n^{min(exponents.values()):.2f} to n^{exponents[steepest]:.2f} ({steepest}); the paper: "
        "roughly n."
    )


def _draw_tolerances(canvas: Any, store: Store, timed: bool) -> str:
    axes = canvas.subplots()
    found = {}
    for place, (label, data) in enumerate(JUDGED.items()):
        value = least_seconds if timed else (lambda record: float(np.mean(record.scores["majority"])))
        at, values = found[label] = series(store, _by_tolerance(data), value)
        draw(axes, at, values, place, f"{label}, ε^{growth(at, values):.2f}" if timed else label)
    logarithmic(axes, *("xy" if timed else "x"))
    axes.set_xlabel("tolerance ε, relative to the objective")
    axes.set_ylabel("CPU seconds" if timed else "accuracy in %")
    axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    if timed:
        exponents = [growth(*curve) for curve in found.values()]
        return (
            f"Time falls as ε^{min(exponents):.2f} to ε^{max(exponents):.2f} as the tolerance is loosened; the paper: "
            "roughly ε^-0.5."
        )
    gaps = {label: values[at == 0.01][0] - values[at == at.min()][0] for label, (at, values) in found.items()}
    worst = max(gaps, key=lambda label: abs(gaps[label]))
    return (
        f"From ε = {TOLERANCES[0]:g} to 0.01, the default and the paper's choice, accuracy changes most on {worst}, by "
        f"{gaps[worst]:+.1f} points."
    )


SIZED = tuple(cell for sets in (TWO, MORE) for data, sizes in sets.values() for cell in _by_size(data, sizes).values())
LOOSENED = tuple(cell for data in JUDGED.values() for cell in _by_tolerance(data).values())
EXPERIMENTS = (
    Figure(
        "cpm3c-figure1",
        SIZED,
        _draw_sizes,
        quick=(Cell.of("letter/A-B@100", "CPM3C"), Cell.of("letter/A-B@400", "CPM3C")),
    ),
    Figure(
        "cpm3c-figure2",
        LOOSENED,
        lambda canvas, store: _draw_tolerances(canvas, store, timed=False),
        quick=(Cell.of("digits/3-8", "CPM3C", tol=0.1),),
    ),
    Figure("cpm3c-figure3", LOOSENED, lambda canvas, store: _draw_tolerances(canvas, store, timed=True)),
)
