"""``transform`` and ``score`` of clusterers that score every row for every cluster.

With the scores s_1(x), ..., s_k(x) of a row, whose largest is that of its cluster,

    transform    max_q s_q(x) - s_p(x)    how far the row is from being in cluster p: 0 in its own, never negative
    score        mean of g(s(x))          what the rows contribute to the objective of the method, higher is better

The first is the same for all methods: the smallest entry of a row is that of ``predict``. The second is each method's
own. Methods with a loss have minus the loss of the row for its own cluster; their regulariser does not depend on the
rows, and does not count. Scores ``M_p . q - |M_p|^2 / 2`` of the nearest mean M_p have, at their largest,

    2 max_p s_p = |q|^2 - min_p |q - M_p|^2

that is what the means explain of the row. Its mean over the rows of the fit is sum_p n_p |M_p|^2 / n, and the R^2 that
MaxMarginClustering maximises is this in units of its whitened coordinates. So the score of rows is the R^2 of the fit
times the ratio of both means.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from widegap._types import Floats
from widegap.base._docs import shared_docs
from widegap.base._validation import check_row_weights
from widegap.exceptions import NotSupportedError
from widegap.rows._collections import is_collection


class ScoredClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """What scores of rows for clusters give: distances to the clusters, and the value of a clustering on rows."""

    n_clusters_: int

    def _map_rows(self, X: Any, function: Callable[[Floats], Any]) -> Any:
        """``function`` of the scores of the rows of X, a block at a time; lazy where X is."""
        raise NotImplementedError

    def _decision(self, scores: Floats) -> Floats:
        """What ``decision_function`` gives, from what ``_map_rows`` passes."""
        return scores[:, 1] - scores[:, 0] if self.n_clusters_ == 2 else scores

    def _labels_and_scores(self, X: Any) -> tuple[Any, Any]:
        """What ``predict`` and ``decision_function`` give, by one pass over the rows."""
        raise NotImplementedError

    def _distance_rule(self) -> Callable[[Floats], Floats]:
        """Distances to the clusters, shape (n, k), from what ``_map_rows`` passes."""
        return below_largest

    def _value_rule(self) -> Callable[[Floats], Floats]:
        """What each row contributes to the objective, shape (n,), from what ``_map_rows`` passes."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    @shared_docs
    def transform(self, X: Any) -> Any:
        """Distance of every row to every cluster: by how much its score is below the largest score of the row.

        It is 0 for the cluster that ``predict`` gives the row, and the margin over the other cluster where there are
        two. Scores of :class:`MaxMarginClustering` are those of the nearest mean, so that its distances are half the
        difference of two squared distances: to the mean of the cluster, and to the nearest mean. For more than two
        clusters of :class:`IterSVR`, :class:`IterLSSVM` and :class:`IterSVM` a score is the smallest margin on the way
        to the cluster.

        Parameters
        ----------
        <rows to assign>

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Lazy for collections of Dask. ``set_output(transform="pandas")`` or "polars" makes it a frame.
        """
        check_is_fitted(self)
        if is_collection(X) and _wants_frame(self):  # all distances would be computed for it, in this process
            raise NotSupportedError(
                "transform of a Dask collection is a lazy array, and set_output asks for a frame in memory; use "
                "set_output(transform='default'), or transform X.compute()."
            )
        return self._map_rows(X, self._distance_rule())

    @shared_docs
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """How well rows fit the clusters: their mean contribution to the objective of the method; higher is better.

        :class:`MaxMarginClustering`: R², which is ``objective_`` on the rows of the fit (as far as ``predict`` repeats
        their labels), and for other rows in proportion to what the clusters explain of them: the mean of
        :math:`|q|^2 - \\min_p |q - m_p|^2` with whitened features q and means :math:`m_p` of the clusters. Where its
        clusters follow the columns of a table, the mean log-likelihood of a row.
        All other methods: minus the mean loss that the method minimises, each row taken for its own cluster, without
        the regulariser; at most 0, where all rows keep the margin. The loss is the hinge for :class:`CPM3C`,
        :class:`M2DCU`, :class:`MKC`, :class:`MMC`, :class:`GMMC` and :class:`IterSVM`, that of the regression for
        :class:`IterSVR` and :class:`IterLSSVM`, summed over the bisections on the row's way, and the squared hinge of
        all topics for :class:`DocumentClustering`.

        Compare values of the same method, kernel, C and number of clusters: more clusters have a larger R², and a
        larger C a smaller loss, whatever the rows.

        Parameters
        ----------
        <rows to assign>
        y : ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean; None weighs all alike.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        values = self._map_rows(X, self._value_rule())
        if sample_weight is None:
            return float(values.mean(dtype=np.float64))
        weights = check_row_weights(sample_weight, values.shape[0])
        return float((values * weights).sum() / weights.sum())


def below_largest(scores: Floats) -> Floats:
    """By how much each score is below the largest of its row."""
    return np.asarray(scores.max(axis=1, keepdims=True) - scores)


def explained_scatter(scores: Floats, unit: float) -> Floats:
    """``unit`` times half of ``|q|^2 - min_p |q - M_p|^2``, from the scores of nearest means."""
    return np.asarray(unit * scores.max(axis=1))


def log_likelihoods(scores: Floats) -> Floats:
    """The logarithm of each row's probability, from those of the row and every class together."""
    return np.asarray(logsumexp(scores, axis=1))


def lost_margin(scores: Floats) -> Floats:
    """Minus the hinge of each row's lead, ``max(0, 1 - lead)``; 0 for a single cluster, which has no rival."""
    if scores.shape[1] == 1:
        return np.zeros(len(scores))
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(np.minimum(0.0, two[:, 1] - two[:, 0] - 1))


def lost_margins(scores: Floats) -> Floats:
    """Minus the hinges of each row's leads over all rivals, added up and divided by the number of clusters."""
    hinges = np.maximum(0.0, 1 - below_largest(scores))
    return np.asarray((1 - hinges.sum(axis=1)) / scores.shape[1])  # its own lead of 0 has the hinge 1


def _wants_frame(estimator: object) -> bool:
    config = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return (config or get_config()["transform_output"]) != "default"
