"""Figures 2 to 4 of the M2DCU paper: what C_u, C_l and l do to 20Newsgroup."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Store
from experiments.tables._figure import Figure, measured

C_TARGET = tuple(2**power for power in range(1, 7))
C_UNIVERSUM = (0.001, 0.01, 0.1, 1, 10)
BOUNDS = (0.001, 0.01, 0.1, 1, 10)
PER_DOCUMENT = 1 / 3000  # balance bounds mean scores, the paper's l their sums over 3000 documents
LEAST_BALANCE = BOUNDS[0] * PER_DOCUMENT
DATA = "m2dcu/20news"
SCORES = {"accuracy": "accuracy in %", "nmi": "NMI in %"}
Lines = Mapping[str, Sequence[Cell]]


def _cell(C: float, C_universum: float, balance: float = LEAST_BALANCE) -> Cell:
    """A cell of the tuned grids, or near them."""
    if C_universum == 0:
        return Cell.of(DATA, "M2DCU-0", C=C, balance=balance)
    return Cell.of(DATA, "M2DCU", C=C, C_universum=C_universum, balance=balance)


BY_UNIVERSUM = {f"$C_l$ = {C}": [_cell(C, weight) for weight in (0, *C_UNIVERSUM)] for C in (4, 16, 64)}
BY_TARGET = {f"$C_u$ = {weight:g}": [_cell(C, weight) for C in C_TARGET] for weight in (0, 1, 10)}
BY_BOUND = {
    "l as printed, on sums of scores": [_cell(64, 1, bound * PER_DOCUMENT) for bound in BOUNDS],
    "l on mean scores": [_cell(64, 1, bound) for bound in BOUNDS],
}


def _draw(canvas: Any, store: Store, lines: Lines, ticks: Sequence[Any], label: str) -> str:
    """Accuracy and NMI beside each other; tells how far each line moves."""
    moves = []
    for axes, (score, title) in zip(canvas.subplots(1, 2), SCORES.items(), strict=True):
        for (name, cells), marker in zip(lines.items(), "osD", strict=False):
            values = np.array([measured(store, cell).scores[score] for cell in cells])
            mean, spread = values.mean(axis=1), values.std(axis=1)
            at = np.arange(len(mean))
            (line,) = axes.plot(at, mean, marker=marker, markersize=3.5, linewidth=1.3, label=name)
            axes.fill_between(at, mean - spread, mean + spread, alpha=0.15, color=line.get_color(), linewidth=0)
            if score == "accuracy":
                moves.append(f"{name.replace('$', '')}: {mean[0]:.1f} at the left, {mean[-1]:.1f} at the right")
        axes.set_xticks(np.arange(len(ticks)), [f"{tick:g}" for tick in ticks])
        axes.set_xlabel(f"${label}$")
        axes.set_ylabel(title)
    canvas.legend(*canvas.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return f"Bands of one standard deviation. Accuracy of {'; '.join(moves)}."


def _figure(number: int, what: str, lines: Lines, ticks: Sequence[Any]) -> Figure:
    cells = tuple(cell for line in lines.values() for cell in line)
    return Figure(f"m2dcu-figure{number}", cells, lambda canvas, store: _draw(canvas, store, lines, ticks, what))


EXPERIMENTS = (
    _figure(2, "C_u", BY_UNIVERSUM, (0, *C_UNIVERSUM)),
    _figure(3, "C_l", BY_TARGET, C_TARGET),
    _figure(4, "l", BY_BOUND, BOUNDS),
)
