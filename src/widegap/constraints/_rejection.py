"""Outliers of clusterers that score rows by weight vectors: left out of a fit, rejected among new rows.

Outliers are found by their distances to the nearest rows that are kept (``constraints/_outliers.py``), again in every
round until nothing changes; the fit never sees them. The margin is no help: rows of noise that are like each other
become a cluster with a wide margin. On scikit-learn's digits with a tenth of uniform noise, leaving out the rows of
least margin in every round found none of the noise, and 42 % of column-shuffled rows.

Nor do scores show which new rows are outliers, as they grow with the distance from a boundary. A new row is rejected by

    r(x) = |x - m_p| / (median of |x_i - m_p| over the kept rows i of p),      p its cluster, m_p the mean of that,

beyond the value that separates kept rows from outliers with the least sum of both rates of error.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widegap._types import Floats, Labels, Mask
from widegap.base._validation import check_rows, check_rows_left, check_threads
from widegap.constraints._outliers import NTH_NEIGHBOUR, least_outlying_reach, split_point, typical_rows
from widegap.constraints._selective_clusterer import SelectiveClusterer, some_rows
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._taking_part import TakingPart
from widegap.exceptions import NotSupportedError
from widegap.features._kernel_rows import is_views
from widegap.features._neighbours import distance_to_nearest, neighbour_graph
from widegap.rows._blocks import RowBlocks
from widegap.rows._collections import is_collection
from widegap.rows._matrices import distances_to
from widegap.rows._protocols import Rows
from widegap.rows._sampling import all_or_drawn

OUTLIER_NEIGHBOURS = 30  # as MaxMarginClustering has by default; secluded groups up to this size are kept
COMPARED_WITH = 10_000  # rows whose neighbours are found; other rows are compared with these alone
DISTANCE_ROWS = 4096  # whose distances are held at a time, to bound memory; not tuned


class OutlierRejection(SelectiveClusterer):
    """Base of clusterers that leave out the rows far from all others before they begin."""

    _stored = {"reject_beyond_": float, "_centres": np.ndarray, "_radii": np.ndarray}

    reject_beyond_: float

    @property
    def _settles_outliers_first(self) -> bool:
        return bool(self.outliers)

    def _fit_rows(self, X: Any, rng: np.random.Generator, **further: Any) -> None:
        for name in OutlierRejection._stored:
            self.__dict__.pop(name, None)  # of an earlier fit
        super()._fit_rows(X, rng, **further)

    def _label_unfitted(self, X: Any, part: TakingPart, side: SideInformation, constraints: RowConstraints) -> None:
        self._note_outliers(some_rows(X, part.present), part.to_all(self.labels_, -1)[part.present])
        super()._label_unfitted(X, part, side, constraints)

    def _refuse_to_leave_out(self, X: Any, side: SideInformation) -> None:
        super()._refuse_to_leave_out(X, side)
        if self.outliers:
            self._refuse_outliers(X)

    def _refuse_outliers(self, X: Any) -> None:
        """Refuse ``outliers`` where distances between rows are not at hand."""
        what = f"outliers={self.outliers!r} needs distances between rows of one table in memory"
        if is_collection(X) or isinstance(X, RowBlocks):
            raise NotSupportedError(
                f"{what}; fit a sample, such as the first 10000 rows, and use predict(X, reject=True) for all."
            )
        if is_views(X) or self._precomputed:
            raise NotSupportedError(
                f"{what}, but X is {'several views' if is_views(X) else 'a kernel matrix'}; leave rows out yourself."
            )
        if not isinstance(self.init, str):
            raise NotSupportedError(
                f"outliers={self.outliers!r} with starting labels is not possible, as it is not known yet which rows "
                "take part; set init='k-means', or leave rows out yourself."
            )

    def _find_outliers(self, X: Any, constrained: Mask) -> Mask:
        blocks = check_rows(self, X, reset=True, n_threads=check_threads(self.n_jobs))
        n = blocks.shape[0]
        chosen = all_or_drawn(n, COMPARED_WITH, np.random.default_rng(0))  # the same rows in every fit
        sample = blocks.take(chosen)
        graph = neighbour_graph(sample, OUTLIER_NEIGHBOURS, check_threads(self.n_jobs))
        kept = typical_rows(graph.nearest, graph.distances, self.outliers, constrained[chosen])
        found = constrained.copy()
        found[chosen] = kept
        line, near = least_outlying_reach(graph.nearest, graph.distances, kept), sample[kept]
        for rows in _in_turn(np.setdiff1d(np.arange(n), chosen)):
            found[rows] |= distance_to_nearest(near, blocks.take(rows), NTH_NEIGHBOUR) < line
        return ~check_rows_left(found, self.outliers, self.n_clusters)

    def _check_stored(self) -> None:
        super()._check_stored()
        if not hasattr(self, "reject_beyond_"):
            return
        if np.isnan(self.reject_beyond_):
            raise ValueError("reject_beyond_ is not a number")
        shapes = {"_centres": (self.n_clusters_, self.n_features_in_), "_radii": (self.n_clusters_,)}
        for name, shape in shapes.items():
            values = getattr(self, name, None)
            if values is None or values.shape != shape or values.dtype.kind != "f" or not np.isfinite(values).all():
                raise ValueError(f"{name} does not fit {shape[0]} clusters")

    def _note_outliers(self, X: Any, positions: Labels) -> None:
        """Means and radii of the clusters, and how many radii away a row is rejected."""
        if not self.outliers:
            return
        labels = positions
        blocks = check_rows(self, X, reset=False, n_threads=check_threads(self.n_jobs))
        k, counts = self.n_clusters_, np.bincount(labels[labels >= 0], minlength=self.n_clusters_)
        sums = np.zeros((k, blocks.shape[1]))
        for rows in _in_turn(np.flatnonzero(labels >= 0)):
            sums += np.asarray(blocks.take(rows).T @ np.eye(k)[labels[rows]]).T
        self._centres = sums / np.maximum(counts, 1)[:, None]
        nearest = np.where(labels >= 0, labels, self._to_positions(self.predict(X)))
        away = self._distances(blocks, nearest)
        medians = [np.median(away[labels == p]) if count else 0.0 for p, count in enumerate(counts)]
        self._radii = np.maximum(medians, np.finfo(np.float64).tiny ** 0.5)
        ratios = away / self._radii[nearest]
        self.reject_beyond_ = -split_point(-ratios[labels >= 0], -ratios[labels < 0])

    def _distances(self, blocks: Rows, labels: Labels) -> Floats:
        """Distance of every row to the mean of its cluster."""
        parts = [
            distances_to(self._centres, blocks.take(rows))[np.arange(len(rows)), labels[rows]]
            for rows in _in_turn(np.arange(len(labels)))
        ]
        return np.concatenate(parts)

    def _predict_or_reject(self, X: Any) -> np.ndarray[Any, Any]:
        check_is_fitted(self)
        if not hasattr(self, "reject_beyond_"):
            raise NotSupportedError(
                "predict(X, reject=True) needs a fit that looked for outliers; fit with outliers='auto' or a share."
            )
        if is_collection(X):
            raise NotSupportedError(
                "predict(X, reject=True) needs rows in memory or in files; call it for every chunk of X by "
                "X.map_blocks, or leave reject out."
            )
        labels = self.predict(X)
        blocks = check_rows(self, X, reset=False, n_threads=check_threads(self.n_jobs))
        nearest = self._to_positions(labels)
        away = self._distances(blocks, nearest) / self._radii[nearest]
        return np.where(away > self.reject_beyond_, np.int32(-1), labels)


def _in_turn(rows: Any) -> Any:
    """Numbers of rows, some thousand at a time."""
    return [rows[start : start + DISTANCE_ROWS] for start in range(0, len(rows), DISTANCE_ROWS)]
