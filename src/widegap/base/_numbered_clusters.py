"""Numbers of clusters and their places: after updates numbers have gaps, while arrays have one entry a cluster."""

from typing import Any

import numpy as np

from widegap._types import Ints


def numbers_of(estimator: Any, labels: Any) -> Ints:
    """The numbers of the clusters of a model, in the order of its scores.

    They count from 0 where the model does not tell, or where the labels are those of other clusters.
    """
    own = getattr(estimator, "topics_", None)
    if own is None and hasattr(estimator, "n_clusters_"):
        own = getattr(estimator, "cluster_numbers_", np.arange(int(estimator.n_clusters_)))
    found: Ints = np.asarray(() if own is None else own, dtype=np.int64)
    most = int(np.max(labels, initial=-1))
    if most < 0 or np.isin(labels, np.append(found, -1)).all():
        return found
    return np.arange(max(len(found), most + 1))


def places_of(numbers: Ints, labels: Any) -> Ints:
    """The place of every label among the numbers; -1 for -1."""
    table = np.full(int(numbers.max(initial=0)) + 2, -1, np.int32)
    table[numbers] = np.arange(len(numbers))
    places: Ints = table[labels]
    return places
