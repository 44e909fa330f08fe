"""Rows of unequal length, as counts of words are before anybody weights or normalises them: why k-means can lead."""

from dataclasses import replace

import numpy as np

from experiments.store import Store
from experiments.tables._table import ACCURACY, NMI, Table, other, ours, rows_of

SEEDS = 3
COLLECTIONS = {
    "WebKB Texas": "texas",
    "WebKB Washington": "washington",
    "Reuters-6": "reuters-6@2000",
    "rec4": "rec4@2000",
}
KINDS = {"counts": "counts", "0/1": "presence"}
SETS = {f"{label}, {kind}": f"{task}/{name}" for kind, task in KINDS.items() for label, name in COLLECTIONS.items()}
COLUMNS = (
    other("one cluster", SEEDS),
    other("KMeans(10)", SEEDS, "k-means"),
    ours("CPM3C", SEEDS),
    ours("CPM3C", SEEDS, "CPM3C, sizes freer", balance=1.0, min_cluster_fraction=0.05),
    other("KMeans(10) of length one", SEEDS, "k-means, length one"),
    ours("CPM3C of length one", SEEDS, "CPM3C, length one"),
)


def _leads(table: Table, store: Store) -> str:
    """How far CPM3C is above k-means, apart for sets with and without a class of most rows."""
    largest, theirs, found = (table.means(column, store) for column in COLUMNS[:3])
    lead, uneven = found - theirs, largest > 50
    if np.isnan(lead).any():
        return "Not complete."
    return (
        f"CPM3C less k-means: {_signed(lead[uneven])} points in the mean of the {uneven.sum()} with a class of more "
        f"than half of the rows, {_signed(lead[~uneven])} of the other {(~uneven).sum()}."
    )


def _signed(values: np.ndarray) -> str:
    return f"{values.mean():+.1f} ({values.min():+.1f} to {values.max():+.1f})"


def _means(table: Table, store: Store) -> str:
    means = table.by_title(store)
    if np.isnan(list(means.values())).any():
        return "Not complete."
    better = (means["CPM3C, length one"] > means["CPM3C"]).sum()
    found = ", ".join(f"{title} {mean.mean():.3f}" for title, mean in means.items())
    return f"Means: {found}. Rows of length one are better for CPM3C on {better} of {len(table.rows)}."


LENGTHS = Table("lengths", rows_of(SETS | {"Cora, 0/1": "cora-bow"}), COLUMNS, ACCURACY, ("Cora, 0/1",), _leads)
EXPERIMENTS = (LENGTHS, replace(LENGTHS, name="lengths-nmi", score=NMI, after=_means))
