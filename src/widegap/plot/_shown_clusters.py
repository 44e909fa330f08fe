"""The clusters of a model as figures show them: their labels, names and rows.

With the rows at hand the names are those of the report. Without them a cluster is called by the user's own name, by the
known label that it carries, by its topic, or by its number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Ints
from widegap.base._validation import check_labels
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.results import PlainRows, Result
from widegap.results._names import fit_names, own_names
from widegap.rows._collections import is_collection

NO_CLUSTER_NAME = "no cluster"


@dataclass(frozen=True)
class ShownClusters:
    """The cluster of every row, the labels of all clusters, and their names."""

    labels: Ints
    kinds: list[int]
    names: Mapping[int, str]

    def numbered(self, label: int) -> str:
        """What a figure calls a cluster: its number, and its name unless that is the number; -1 is none."""
        if label < 0:
            return NO_CLUSTER_NAME
        name = self.names[label]
        return name if name == f"Cluster {label}" else f"{label}: {name}"

    @property
    def shown(self) -> list[int]:
        """The clusters, and -1 at the end if there are rows without one."""
        return [*self.kinds, *([-1] if (self.labels < 0).any() else [])]


def result_of(model: Any, X: Any, names: Mapping[Any, str] | None) -> Result:
    """A model and rows in memory, as the report shows them."""
    if is_collection(X):
        raise NotSupportedError("plot draws rows in memory; pass a sample of the collection, or X.compute().")
    result = Result(model, PlainRows(X), names=names)
    result.view.describe(result.rows)
    return result


def clusters_of(result: Result) -> ShownClusters:
    """The clusters of rows."""
    view = result.view
    return ShownClusters(view.labels, [int(label) for label in view.kinds], view.named(result.own_names))


def fitted_clusters(model: Any, X: Any, names: Mapping[Any, str] | None) -> ShownClusters:
    """The clusters of the rows of the fit, named by these rows if they are given."""
    estimator = describe.last_step(model)
    found = getattr(estimator, "labels_", None)
    if found is None:
        raise InvalidDataError(f"{type(estimator).__name__} has no labels_: fit it first, or pass a clusterer.")
    if is_collection(found):
        raise NotSupportedError(
            "labels_ is a collection, because the model was fitted on one; plot.map(model, X) draws a sample X of it."
        )
    labels = check_labels(found)
    if X is not None:
        if not describe.is_fitted_on(model, X):
            raise InvalidDataError(f"X are not the {len(labels)} rows of the fit, which this figure shows; pass these.")
        return clusters_of(result_of(model, X, names))
    k = max(int(getattr(estimator, "n_clusters_", 0)), int(labels.max(initial=-1)) + 1)
    kinds = [int(label) for label in getattr(estimator, "topics_", np.arange(k))]
    return ShownClusters(labels, kinds, fit_names(estimator, kinds) | own_names(names, kinds))
