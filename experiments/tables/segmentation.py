"""Figures 9 and 10 of the iterSVR paper: photos segmented by recursive bisection of their colours."""

from dataclasses import replace
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.photos import small_photo, unpacked
from experiments.store import Store
from experiments.tables._figure import Figure, measured
from experiments.tables._table import BASELINE, FREE, Measured, Table, listed, noted
from widegap.image import paint

BY_HAND = replace(noted("by_hand", 3), title="Rand index of the pixels, mean over all segmentations by hand")


def _words(table: Table, store: Store) -> str:
    """Means and times best, from the store."""
    means = np.array([table.means(column, store) for column in table.columns])
    if np.isnan(means).any():
        return ""
    best = (means >= means.max(axis=0) - 0.0005).sum(axis=1)
    found = zip(table.columns, means.mean(axis=1), best, strict=True)
    told = [f"{column.title} {mean:.3f} ({times})" for column, mean, times in found]
    return f"Mean of the {len(table.rows)} rows, and times best: {', '.join(told)}."


SEGMENTED = Table(
    "iterative-figure9",
    tuple(
        replace(row, label=f"{row.label} in {number} segments", own={"segments": {"number": number}})
        for row in listed("iterative-figure9")
        for number in (2, 4)
    ),
    tuple(
        Measured(name, "segments", {"by": name}, BASELINE if name == "k-means" else FREE, 3)
        for name in ("k-means", "IterSVM", "IterSVR", "MaxMarginClustering")
    ),
    BY_HAND,
    quick=("horses 113016 in 2 segments",),
    after=_words,
)

PHOTO = "china"
DRAWN = {
    name: Cell.of(f"photo/{PHOTO}", "segments", 1, by=name, number=5, keep=True) for name in ("k-means", "IterSVR")
}


def _draw_stages(figure: Any, store: Store) -> str:
    """The photo and its segments after every split, in their mean colours, by two methods."""
    photo = small_photo(PHOTO)
    grid = figure.subplots(len(DRAWN), 5)
    told = []
    for line, (name, cell) in zip(grid, DRAWN.items(), strict=True):
        stages = [unpacked(text).reshape(photo.shape[:2]) for text in measured(store, cell).extra[0]["stages"]]
        for axes, stage in zip(line, (None, *stages), strict=True):
            axes.imshow(photo if stage is None else paint(photo, stage), interpolation="nearest")
            axes.set(xticks=[], yticks=[], title="photo" if stage is None else f"{stage.max() + 1} segments")
            axes.grid(False)
            axes.spines[:].set_visible(False)
        line[0].set_ylabel(name)
        share = 100 * np.bincount(stages[-1].ravel()) / stages[-1].size
        told.append(f"{name} {', '.join(f'{s:.0f}' for s in share)}")
    return f"Shares of the five segments in %: {'; '.join(told)}."


EXPERIMENTS = (SEGMENTED, Figure("iterative-figure10", DRAWN, _draw_stages, (9.0, 2.9)))
