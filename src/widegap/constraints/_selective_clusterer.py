"""Fits of the rows that take part: rows of weight zero and outliers are left out, and labelled afterwards.

The steps of a fit see a smaller table and constraints for it (``RowConstraints.of_fitted``). Afterwards outliers get
the label -1, and rows of weight zero the one that ``predict`` gives them, unless links forbid it.
"""

from typing import Any

import numpy as np

from widegap._types import Floats, Ints, Labels, Mask
from widegap.base._clusterer import WeightVectorClusterer
from widegap.base._docs import shared_docs
from widegap.base._validation import check_start_labels, digest_of, take_rows
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._side_information import (
    ConstrainedClusterer,
    RowConstraints,
    SideInformation,
    no_size_bounds,
)
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units
from widegap.exceptions import NotSupportedError
from widegap.features._kernel_rows import is_views, n_rows
from widegap.rows._blocks import RowBlocks
from widegap.rows._collections import is_collection


class SelectiveClusterer(ConstrainedClusterer, WeightVectorClusterer):
    """Base of clusterers that score rows and may leave some of them out of a fit."""

    outliers: float | str
    init: Any

    @property
    def _precomputed(self) -> bool:
        """Whether a row of X has a column for every row."""
        return False

    @property
    def _settles_outliers_first(self) -> bool:
        """Whether outliers are left out before the fit begins."""
        return False

    def _fit_rows(self, X: Any, rng: np.random.Generator, *, side: SideInformation, **further: Any) -> None:
        """The steps of a fit of the rows that take part, then labels of all rows."""
        if not side.leaves_rows_out and not self._settles_outliers_first:
            super()._fit_rows(X, rng, side=side, **further)
            return
        self._refuse_to_leave_out(X, side)
        constraints = self._read_constraints(side, n_rows(X))
        part = self._select(X, constraints)
        inner = SideInformation(constraints=constraints.of_fitted(part))
        super()._fit_rows(some_rows(X, part.fitted), rng, side=inner, **further)
        self._label_unfitted(X, part, side, constraints)
        if hasattr(self, "_rows_digest"):
            self._rows_digest = digest_of(X)

    def _refuse_to_leave_out(self, X: Any, side: SideInformation) -> None:
        """Refuse rows of weight zero where X cannot be split."""
        if side.leaves_rows_out and (self._precomputed or is_collection(X) or isinstance(X, RowBlocks)):
            kind = "kernel matrix" if self._precomputed else "X"
            raise NotSupportedError(
                "sample_weight is zero for some rows, which can be left out of a table in memory only; leave them out "
                f"of the {kind} yourself, or give them a small weight."
            )

    def _select(self, X: Any, constraints: RowConstraints) -> TakingPart:
        """The rows that take part in a fit."""
        n = n_rows(X)
        present = np.ones(n, bool) if constraints.weights is None else constraints.weights > 0
        if not self._settles_outliers_first:
            return TakingPart.where(present)
        rows, outlying = np.flatnonzero(present), np.zeros(n, bool)
        outlying[rows] = self._find_outliers(some_rows(X, rows), constraints.constrained(n)[rows])
        return TakingPart.where(present, outlying)

    def _find_outliers(self, X: Any, constrained: Mask) -> Mask:
        """Which rows belong to no cluster; ``constrained`` ones always belong to one."""
        raise NotImplementedError

    def _note_outliers(self, X: Any, positions: Labels) -> None:
        """Store what tells outliers from other rows, after a fit without them; ``positions`` are -1 for outliers."""

    def _label_unfitted(self, X: Any, part: TakingPart, side: SideInformation, constraints: RowConstraints) -> None:
        """Labels of all rows, from those of the fitted ones."""
        absent = some_rows(X, part.absent)
        if not len(part.absent):
            self.labels_ = part.to_all(self.labels_, ())
            return
        labels = part.to_all(self.labels_, self.predict(absent))
        if constraints.units is not None:
            costs = np.zeros((part.n, self.n_clusters_))
            costs[part.absent] = -self._scores(absent)
            labels = label_absent(constraints.units, labels, part, costs)
        self.labels_ = labels

    def _start_labels(self, constraints: RowConstraints, n_rows: int, n_clusters: int) -> Any:
        """The starting labels of the fitted rows, ``n_rows`` of them."""
        part = constraints.part
        if part is None:
            return check_start_labels(self.init, n_rows, n_clusters)
        return check_start_labels(self.init, part.n, n_clusters)[part.fitted]

    @shared_docs
    def predict(self, X: Any, *, reject: bool = False) -> np.ndarray[Any, Any]:
        """Cluster with the largest score, for each row.

        Parameters
        ----------
        <rows to assign>
        reject : bool, default=False
            Give -1 to outliers. :class:`MaxMarginClustering` rejects rows whose largest score is below
            ``reject_below_``: they are like the outliers of the fit or, if there were none, farther out than any of its
            rows. Other methods need a fit with ``outliers``; they reject rows that are farther from the mean of their
            cluster than ``reject_beyond_`` times its median row.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self._predict_or_reject(X) if reject else super().predict(X)

    def _predict_or_reject(self, X: Any) -> np.ndarray[Any, Any]:
        """The clusters of rows, -1 for outliers."""
        raise NotImplementedError


def some_rows(X: Any, rows: Ints) -> Any:
    """Some rows of a table, or of each of several views."""
    return {name: take_rows(view, rows) for name, view in X.items()} if is_views(X) else take_rows(X, rows)


def label_absent(units: Units, labels: Any, part: TakingPart, costs: Floats) -> Any:
    """Labels in which absent rows have the cheapest ones that links with the other rows allow."""
    anchors, present = units.anchors.copy(), part.present
    anchors[units.of_row[present]] = labels[present]
    rule = LabelRule(units.of_row, units.sizes, anchors, units.apart, *no_size_bounds(part.n, costs.shape[1]))
    found = rule.label(costs).labels
    found[present] = labels[present]  # -1 for outliers
    return found
