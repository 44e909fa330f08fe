"""Rows of unequal length, as counts of words are before anybody weights or normalises them: why k-means can lead."""

from dataclasses import replace

import numpy as np

from experiments.store import Store
from experiments.tables._table import ACCURACY, BASELINE, NMI, Measured, Row, Table

SEEDS = 3
COLLECTIONS = {
    "WebKB Texas": "texas",
    "WebKB Washington": "washington",
    "Reuters-6": "reuters-6@2000",
    "rec4": "rec4@2000",
}
KINDS = {"counts": "counts", "0/1": "presence"}
ROWS = (
    *(
        Row(f"{label}, {kind}", (f"{task}/{name}",))
        for kind, task in KINDS.items()
        for label, name in COLLECTIONS.items()
    ),
    Row("Cora, 0/1", ("cora-bow",)),
)
ONE = Measured("one cluster", "one cluster", kind=BASELINE, seeds=SEEDS)
KMEANS = Measured("k-means", "KMeans(10)", kind=BASELINE, seeds=SEEDS)
OURS = Measured("CPM3C", "CPM3C", seeds=SEEDS)
COLUMNS = (
    ONE,
    KMEANS,
    OURS,
    Measured("CPM3C, sizes freer", "CPM3C", {"balance": 1.0, "min_cluster_fraction": 0.05}, seeds=SEEDS),
    Measured("k-means, length one", "KMeans(10) of length one", kind=BASELINE, seeds=SEEDS),
    Measured("CPM3C, length one", "CPM3C of length one", seeds=SEEDS),
)


def _leads(table: Table, store: Store) -> str:
    """How far CPM3C is above k-means, apart for sets with and without a class of most rows."""
    values = [[column.values(row, table.score, store) for column in (ONE, KMEANS, OURS)] for row in table.rows]
    if any(isinstance(value, str) for row in values for value in row):
        return "Not complete."
    largest, theirs, ours = np.array([[np.mean(value) for value in row] for row in values]).T
    lead, uneven = ours - theirs, largest > 50
    return (
        f"CPM3C less k-means: {_signed(lead[uneven])} points in the mean of the {uneven.sum()} with a class of more "
        f"than half of the rows, {_signed(lead[~uneven])} of the other {(~uneven).sum()}."
    )


def _signed(values: np.ndarray) -> str:
    return f"{values.mean():+.1f} ({values.min():+.1f} to {values.max():+.1f})"


def _means(table: Table, store: Store) -> str:
    values = {column.title: [column.values(row, table.score, store) for row in table.rows] for column in table.columns}
    if any(isinstance(value, str) for column in values.values() for value in column):
        return "Not complete."
    means = {title: np.array([np.mean(value) for value in column]) for title, column in values.items()}
    better = (means["CPM3C, length one"] > means["CPM3C"]).sum()
    found = ", ".join(f"{title} {mean.mean():.3f}" for title, mean in means.items())
    return f"Means: {found}. Rows of length one are better for CPM3C on {better} of {len(table.rows)}."


LENGTHS = Table(
    "lengths",
    "Raw word counts: accuracy",
    ROWS,
    COLUMNS,
    ACCURACY,
    "Long documents lie far from the mean and short ones near it, so clusters mainly differ in length. K-means then "
    "finds one cluster of nearly all rows and a few of the longest, and its accuracy is up to the share of the largest "
    "class, the first column; CPM3C does not allow clusters as small as that, unless its size bounds are loosened "
    "(`balance=1, min_cluster_fraction=0.05`). No tf-idf, 5000 terms, at most 2000 documents.",
    quick=("Cora, 0/1",),
    after=_leads,
)
LENGTHS_NMI = replace(
    LENGTHS,
    name="lengths-nmi",
    title="Raw word counts: normalised mutual information",
    score=NMI,
    note="The same clusterings, by a score that does not reward one large cluster.",
    after=_means,
)

EXPERIMENTS = (LENGTHS, LENGTHS_NMI)
