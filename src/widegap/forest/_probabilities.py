"""Probabilities of clusters, from scores and a temperature that needs no labels.

    P(p | x) = exp(s_p(x) / T) / sum_q exp(s_q(x) / T)

T is the temperature at which these probabilities tell best how the members of a search voted
(``forest/_temperature.py``). Where members go different ways scores are not worth much, and T is high. A search with a
single member, or without any, has only its own labels to go by, and its probabilities are surer than they should be.
"""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from widegap.base._clusterer import WeightVectorClusterer
from widegap.base._docs import shared_docs


class ProbabilityMixin(WeightVectorClusterer):
    """``predict_proba`` for clusterers that score rows and have fitted a ``temperature_``."""

    _stored = {"temperature_": float}

    temperature_: float

    def _check_stored(self) -> None:
        super()._check_stored()
        if not 0 < self.temperature_ < np.inf:
            raise ValueError(f"temperature_ is {self.temperature_}")

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
