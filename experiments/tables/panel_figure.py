"""The panel in one picture: how good and how slow every method is."""

from typing import Any

import numpy as np

from experiments.store import Store
from experiments.tables._figure import Figure
from experiments.tables._ranking import FRONT, Panel
from experiments.tables.panel import GEMCLUS, PANEL

OURS = tuple(column.title for column in PANEL.columns[:4])
BELOW = ("SpectralClustering", "CPM3C", "GMM tied", "HDBSCAN", "BisectingKMeans")  # names that would lie on another one


def _draw(canvas: Any, store: Store) -> str:
    """A point for each method: time to the right, accuracy upwards."""
    panel = Panel.of(PANEL, store, (GEMCLUS,)).finished()
    means, times = panel.scores.mean(axis=1), np.exp(np.log(panel.times).mean(axis=1))
    axes = canvas.subplots()
    axes.set_xscale("log")
    for name, time, mean in zip(panel.names, times, means, strict=True):
        colour = "#d1495b" if name in OURS else "#30638e"
        axes.plot(time, mean, "o", color=colour, markersize=8 if name == FRONT else 5)
        low = name in BELOW
        axes.annotate(
            name, (time, mean), (0, -6 if low else 6), textcoords="offset points", color=colour, ha="center",
            va="top" if low else "bottom", fontweight="bold" if name == FRONT else "normal",
        )  # fmt: skip
    axes.set_xlim(times.min() / 1.8, times.max() * 2)
    axes.set_ylim(means.min() - 3, means.max() + 4)
    axes.set_xlabel("CPU time of a fit, in k-means fits (geometric mean)")
    axes.set_ylabel("mean accuracy in %")
    fastest = int(np.argmin(times))
    return (
        f"Means over {len(panel.sets)} sets; red points are widegap's. Up and to the left is better: {FRONT} has "
        f"{means[panel.front]:.1f} % in {times[panel.front]:.0f} times the time of one k-means, the fastest method, "
        f"{panel.names[fastest]}, {means[fastest]:.1f} % in {times[fastest]:.0f} times."
    )


PICTURE = Figure(
    "panel-picture",
    tuple(PANEL.cells()),
    _draw,
    size=(7.2, 4.2),
)

EXPERIMENTS = (PICTURE,)
