"""Clusters and scores of rows, by one pass over them."""

from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Floats, Ints


def labels_and_scores(estimator: Any, X: Any) -> tuple[Ints, Floats | None]:
    """What ``describe.labels`` and ``describe.scores`` give for the rows of a clusterer.

    Rows of the fit keep its labels, which need not be those of the largest scores.
    """
    known = hasattr(estimator, "_rows_digest") and describe.is_fitted_on(estimator, X)
    if known or not hasattr(estimator, "_labels_and_scores"):
        return describe.labels(estimator, X), describe.scores(estimator, X)
    labels, values = estimator._labels_and_scores(X)
    return np.asarray(labels), describe.score_of_each(values)
