"""How much every column of the user's table decided, and whether one almost determines the clusters.

The share of a column is that of its variance which lies between the clusters, see ``column_shares``; it is computed on
the values in the user's units, and a category counts once over all its flags. One column nearly *is* the clustering if
both tell each other: the clusters have a share of ``FOLLOWED`` of the column, and the column of the clusters. For the
second, every row goes to the cluster whose mean is nearest in this column alone, and the share is that of the variance
of the clusters' flags which lies between the groups that this gives. Both are needed: of six clusters, one may have a
value of its own in a column, which they explain then, though the column does not tell the others apart.

Chosen on the mixed tables. True classes reach 0.93 in the weaker of the two directions (three groups of customers that
differ in income, and as much in other columns; the next are 0.92 and 0.90, of 54 tables). Clusters that follow gaps and
are a column reach 0.96 (sex of the Titanic's passengers), 0.99 (the number of dependents of debtors, of cylinders of
cars, sex of abalones) and 1 (sex of crabs, discipline of professors).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widegap._types import Floats, Ints, Labels
from widegap._wording import clip
from widegap.features._column_groups import ColumnGroup
from widegap.features._explained_columns import column_shares
from widegap.results._profile import Feature
from widegap.rows._matrices import storage, without_gaps

FOLLOWED = 0.95  # share of each other from which clusters are said to follow a column
MOST_FEATURES = 2000  # of wider tables, which hold words or pixels, no column is told apart


def deciding_columns(values: Any, features: Sequence[Feature], labels: Ints) -> list[dict[str, Any]] | None:
    """Every column with its ``share`` and whether it is ``followed``, the largest share first.

    None where there is a single cluster, or no table of columns.
    """
    if storage(values) != "dense" or not 0 < len(features) <= MOST_FEATURES:
        return None
    inside = labels >= 0
    kinds, codes = np.unique(labels[inside], return_inverse=True)
    if len(kinds) < 2:
        return None
    order = sorted(range(len(features)), key=lambda j: features[j].group)
    owners = [features[j].group for j in order]
    ends = [0, *(j for j in range(1, len(owners)) if owners[j] != owners[j - 1]), len(owners)]
    groups = [ColumnGroup(first, stop) for first, stop in zip(ends, ends[1:], strict=False)]
    table, clusters = np.asarray(without_gaps(values)[0], np.float64)[inside][:, order], codes.astype(np.int32)
    shares = np.minimum(column_shares(table, groups, clusters, len(kinds)), 1.0)  # a sum may round above 1
    found = []
    for group, share in zip(groups, shares.tolist(), strict=True):
        followed = (
            len(groups) > 1 and share >= FOLLOWED and share_predicted(table[:, group.columns], clusters) >= FOLLOWED
        )
        found.append({"column": clip(features[owners[group.first]].column, 80), "share": share, "followed": followed})
    return sorted(found, key=lambda entry: -entry["share"])


def share_predicted(values: Floats, codes: Labels) -> float:
    """How much a column, of one feature or of all flags of a category, tells of clusters that are numbered from 0."""
    k = int(codes.max()) + 1
    least, nearest = np.full(len(codes), np.inf), np.zeros(len(codes), np.int32)
    for label in range(k):
        distances = np.square(values - values[codes == label].mean(axis=0)).sum(axis=1)
        closer = distances < least
        least[closer], nearest[closer] = distances[closer], label
    groups, predicted = np.unique(nearest, return_inverse=True)
    flags = np.eye(k)[codes]
    return float(column_shares(flags, [ColumnGroup(0, k)], predicted.astype(np.int32), len(groups))[0])


def followed_column(decided: Sequence[dict[str, Any]] | None) -> dict[str, Any] | None:
    """The column that almost determines the clusters, the first if there are several; None if there is none."""
    return next((entry for entry in decided or () if entry["followed"]), None)
