"""Probabilities of clusters, from scores and a temperature that needs no labels.

    P(p | x) = exp(s_p(x) / T) / sum_q exp(s_q(x) / T)

T is the temperature at which these probabilities tell best, by cross-entropy, how the members of a search voted: a
member that puts row i into a cluster of its own votes for p with the share of that cluster's rows whose cluster is p in
the end. Where members go different ways scores are not worth much, and T is high. A search with a single member, or
without any, has only its own labels to go by, and its probabilities are surer than they should be.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from widegap.estimators._base import WeightVectorClusterer
from widegap.estimators._docs import shared_docs
from widegap.solvers._result import FloatArray, LabelArray

RANGE = 1e-4, 1e4  # of temperatures, relative to the standard deviation of the scores


class ProbabilityMixin(WeightVectorClusterer):
    """``predict_proba`` for clusterers that score rows and have fitted a ``temperature_``."""

    _stored = {"temperature_": float}

    temperature_: float

    @shared_docs
    def predict_proba(self, X: Any) -> np.ndarray[Any, Any]:
        """Probability of every cluster, for each row.

        Parameters
        ----------
        <rows to assign>

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows have the sum 1; the largest is that of ``predict``. They are calibrated by the agreement of the
            members of the search, without labels: where all members are wrong alike, they are too sure.
        """
        check_is_fitted(self)
        temperature = self.temperature_
        return self._map_scores(X, lambda scores: softmax(scores / temperature, axis=1))


def member_votes(members: Sequence[LabelArray], labels: LabelArray, k: int) -> FloatArray:
    """How the members vote for k clusters, (n, k), rows of sum 1."""
    total = np.zeros((len(labels), k))
    for member in members:
        shared = np.zeros((int(member.max()) + 1, k))
        np.add.at(shared, (member, labels), 1.0)
        total += (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1))[member]
    return total / len(members)


def fit_temperature(scores: FloatArray, votes: FloatArray) -> float:
    """The temperature of the least cross-entropy between votes and probabilities."""
    scale = float(scores.std())
    if scale == 0 or scores.shape[1] == 1:
        return 1.0

    def entropy(log_temperature: float) -> float:
        return -float((votes * log_softmax(scores / np.exp(log_temperature), axis=1)).sum())

    bounds = tuple(np.log(np.array(RANGE) * scale))
    return float(np.exp(minimize_scalar(entropy, bounds=bounds, method="bounded").x))
