"""How much of every column of a table the clusters explain.

The share of column c is that of its variance which lies between the clusters, adjusted for their number,

    1 - (1 - R2) (n - 1) / (n - k),        not below 0,

with R2 summed over all columns of X that form it: the flags of a category count as one column together. Clusters that
say nothing have a share near 0 in every column, clusters that are a category have a share of 1 in that one.
"""

from collections.abc import Sequence

import numpy as np

from widegap._types import Doubles, Floats, Labels
from widegap.features._column_groups import ColumnGroup


def column_shares(X: Floats, groups: Sequence[ColumnGroup], labels: Labels, k: int) -> Doubles:
    """The share of each group of columns of a dense table; 0 for a column of a single value."""
    n, counts = len(labels), np.maximum(np.bincount(labels, minlength=k), 1)
    shares = np.zeros(len(groups))
    for place, group in enumerate(groups):
        values = X[:, group.columns] - X[:, group.columns].mean(axis=0, dtype=np.float64)
        total = float(np.square(values).sum())
        if total > 0:
            sums = np.column_stack([np.bincount(labels, column, minlength=k) for column in values.T])
            between = float((np.square(sums).sum(axis=1) / counts).sum())
            shares[place] = max(0.0, 1 - (1 - between / total) * (n - 1) / max(n - k, 1))
    return shares
