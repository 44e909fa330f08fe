"""What estimators with one weight vector a cluster share: ``decision_function`` and ``predict``."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from widegap._validation import check_rows, check_threads
from widegap.data._blocks import DenseBlock, RowBlocks, Scorer
from widegap.data._kernel_maps import KernelMap
from widegap.exceptions import InvalidDataError


class WeightVectorClusterer(ClusterMixin, BaseEstimator):
    """Base of clusterers that score a row by ``coef_ @ x + intercept_``, after a feature map if there is a kernel."""

    n_clusters_: int
    coef_: np.ndarray[Any, Any]
    intercept_: np.ndarray[Any, Any]
    kernel_map_: KernelMap | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _block_scores(self, blocks: RowBlocks) -> np.ndarray[Any, Any]:
        """Scores of all rows; of a kernel's features no more than a block is ever held."""
        # Scores about the fitted mean: exact where the rows lie far from the origin.
        scorer, kernel_map = Scorer(self.coef_, self._mean_scores, self._mean), self.kernel_map_
        if kernel_map is None:
            return blocks.map(lambda block: block.scores(scorer))
        return kernel_map.map_blocks(blocks, lambda features: DenseBlock(features, 0).scores(scorer))

    def _scores(self, X: Any) -> np.ndarray[Any, Any]:
        check_is_fitted(self)
        scores = self._block_scores(check_rows(self, X, reset=False, n_threads=check_threads(self.n_jobs)))
        # Arrays were checked above; rows from files are first looked at here.
        if not np.isfinite(scores).all():
            raise InvalidDataError(
                "X contains NaN, infinity, or values too large for its dtype; impute, drop or rescale them."
            )
        return scores

    def fit_predict(self, X, y=None):
        """Find the clusters of the rows of X and return ``labels_``.

        Parameters
        ----------
        X, y
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self.fit(X, y).labels_

    def decision_function(self, X):
        """Score of every row for every cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters), or (n_samples,) for two clusters
            For two clusters the lead of cluster 1 over cluster 0; its sign is the cluster, its size the margin.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if self.n_clusters_ == 2 else scores

    def predict(self, X):
        """Cluster with the largest score, for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to assign; they need not have been seen by ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self._scores(X).argmax(axis=1).astype(np.int32)
