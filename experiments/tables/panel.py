"""Beyond the papers: every labelled set at hand, defaults only; accuracies and times, also in one picture."""

from typing import Any

import numpy as np

from experiments.cells import SEEDS
from experiments.store import Store
from experiments.tables._figure import Figure, name_points
from experiments.tables._ranking import FRONT, KNOWN, Panel, ranking, shortfalls
from experiments.tables._table import ACCURACY, Measured, Table, costs, few_seeds, other, ours, rows_of, sets_of

MOVES = Measured("search by moves", FRONT, {"search": "moves"})  # what was the default before
OURS = (ours(FRONT), MOVES, ours("CPM3C"), ours("MKC"))
SEEDS_OF = {"UMAP + GMM": 3, "UMAP + HDBSCAN": 1}  # of others; they take long
OTHERS = (
    *("KMeans(10)", "BisectingKMeans", "SpectralClustering", "Ward", "Average linkage", "GMM full", "GMM tied"),
    *("BIRCH", "HDBSCAN", "UMAP + GMM", "UMAP + HDBSCAN", "Genie", "GIc", "Leiden"),
)
PEERS = tuple(other(name, SEEDS_OF.get(name, SEEDS)) for name in OTHERS)
GEMCLUS = "gemclus"  # a package under the GPL: measured where it is installed, for comparison only
FEW = 2
SETS, TEXTS = sets_of("panel"), sets_of("panel-texts")
LARGE = ("mnist", "rcv1", "a9a", "letter", "cora", *TEXTS)


def standing(store: Store) -> str:
    """How the front door compares with what people use: what the README shows."""
    return ranking(PANEL, store, (GEMCLUS,), KNOWN)


def _words(table: Table, store: Store) -> str:
    return f"{ranking(table, store, (GEMCLUS,))}\n\n{shortfalls(table, store, TEXTS, GEMCLUS)}"


PANEL = Table(
    "panel",
    tuple(
        few_seeds(row, (*OURS[1:], *PEERS), FEW, f"{FEW} seeds, of {FRONT} {SEEDS}.") if row.label in LARGE else row
        for row in rows_of(SETS | TEXTS)
    ),
    (*OURS, *PEERS, other(GEMCLUS, FEW)),
    ACCURACY,
    ("sklearn iris", "sklearn wine", "ionosphere", "fcps hepta"),
    _words,
)


def _draw(canvas: Any, store: Store) -> str:
    """A point for each method: time to the right, accuracy upwards."""
    panel = Panel.of(PANEL, store, (GEMCLUS,)).finished()
    means, times = panel.means, panel.typical_times
    red, axes = [column.title for column in OURS], canvas.subplots()
    axes.set_xscale("log")
    order = sorted(range(len(means)), key=lambda i: (i != panel.front, panel.names[i] not in red, -means[i]))
    styles = []
    for i in order:
        colour, is_front = "#d1495b" if panel.names[i] in red else "#30638e", i == panel.front
        axes.plot(times[i], means[i], "o", color=colour, markersize=8 if is_front else 5)
        styles.append({"color": colour, "fontweight": "bold" if is_front else "normal"})
    axes.set_xlim(times.min() / 1.8, times.max() * 2)
    axes.set_ylim(means.min() - 3, means.max() + 4)
    axes.set_xlabel("CPU time of a fit, in k-means fits (geometric mean)")
    axes.set_ylabel("mean accuracy in %")
    name_points(axes, [panel.names[i] for i in order], np.column_stack([times, means])[order], styles)
    fastest = int(np.argmin(times))
    return (
        f"Means over {len(panel.sets)} sets; red points are widegap's. Up and to the left is better: {FRONT} has "
        f"{means[panel.front]:.1f} % in {times[panel.front]:.0f} times the time of one k-means, the fastest method, "
        f"{panel.names[fastest]}, {means[fastest]:.1f} % in {times[fastest]:.0f} times."
    )


PICTURE = Figure("panel-picture", PANEL.cells(), _draw, (7.2, 4.2))
EXPERIMENTS = (PICTURE, PANEL, *costs(PANEL))
