"""Side information: labels of some rows, links, weights and sizes, read and checked in one place for all methods.

A clusterer that takes it derives from ``ConstrainedClusterer``, which has the signature of ``fit``. The steps of its
fit get a ``SideInformation`` with the arguments as they came. ``_read_constraints`` reads it once the number of rows is
known, ``_size_bounds`` the sizes once the number of clusters is.

    known, must_link, cannot_link    constraints/_units.py; a unit is a set of rows that get one label
    size_min, size_max               constraints/_size_bounds.py; else min_cluster_fraction bounds them
    sample_weight                    weight 2 is the row twice; only ratios count, so that equal weights are none
"""

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from widegap._types import Floats, Ints, Mask
from widegap._warnings import warn_caller
from widegap.base._clusterer import Clusterer
from widegap.base._docs import shared_docs
from widegap.base._validation import Interval
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._size_bounds import check_known_sizes, feasible_minimum, read_sizes, scale_sizes
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units, largest_clique, read_constraints
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError, NotSupportedError

LOST_WEIGHT = 1e-18  # of the largest weight: no sum would notice it
REST_OF_WEIGHTS = 1e-4  # of the largest weight: what all other rows have together where one decides alone


SIZE_CONSTRAINTS: dict = {
    name: [Interval(Real, 0, None, closed="left"), "array-like", None] for name in ("size_min", "size_max")
}


@dataclass(frozen=True)
class RowConstraints:
    """Side information that was read and checked.

    Attributes
    ----------
    units : Units or None
        Rows that get one label, with their labels and links; None without any.
    classes : list
        Known labels in sorted order: ``classes[p]`` is that of cluster p.
    weights : ndarray or None
        Weights of the rows; None if all are equal.
    n_sampled_from : int or None
        Number of all rows if these are a sample.
    part : TakingPart or None
        Which rows of the table these are, if they are not all of it.
    held : ndarray or None
        Which of these rows have a label or a link, links with rows that take no part included; None: as ``units``.
    """

    units: Units | None = None
    classes: list[Any] = field(default_factory=list)
    weights: Floats | None = None
    n_sampled_from: int | None = None
    part: TakingPart | None = None
    held: Mask | None = None

    def classes_of(self, n_clusters: int) -> list[Any]:
        """The label of every cluster, None for those that carry none."""
        return self.classes + [None] * (n_clusters - len(self.classes))

    @property
    def is_empty(self) -> bool:
        """Whether there are neither constraints nor weights."""
        return self.units is None and self.weights is None

    @property
    def fewest_clusters(self) -> int:
        """The least number of clusters: one for each label, and as many as rows that are to be apart need."""
        units, fewest = self.units, max(len(self.classes), 1)
        if units is None or not len(units.apart):
            return fewest
        fewest = max(fewest, largest_clique(units))
        linked = units.of_present(np.flatnonzero(units.constrained))
        while not _can_be_apart(linked, fewest):
            fewest += 1
        return fewest

    def constrained(self, n_rows: int) -> Mask:
        """Which of the rows have a label or a link."""
        if self.held is not None:
            return self.held
        return np.zeros(n_rows, bool) if self.units is None else self.units.constrained

    @property
    def weighted(self) -> TakingPart | None:
        """The rows whose weight is not zero; None if all are."""
        if self.weights is None or self.weights.all():
            return None
        return TakingPart.where(self.weights > 0)

    def known_counts(self, n_clusters: int) -> Ints:
        """Rows of each cluster whose labels are known."""
        if self.units is None:
            return np.zeros(n_clusters, np.int64)
        fixed = self.units.anchors >= 0
        sizes = self.units.sizes[fixed]
        return np.bincount(self.units.anchors[fixed], sizes, n_clusters).astype(np.int64)

    def of_rows(self, rows: np.ndarray[Any, Any], n_rows: int) -> "RowConstraints":
        """The constraints on a sample of the rows."""
        units = None if self.units is None else self.units.of_rows(rows)
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, units=units, weights=weights, n_sampled_from=n_rows)

    def of_fitted(self, part: TakingPart) -> "RowConstraints":
        """The constraints on the fitted rows, where the others take no part; bounds on sizes are for these alone."""
        rows = part.fitted
        units = None if self.units is None else self.units.of_present(rows)
        weights = None if self.weights is None or not np.ptp(self.weights[rows]) else self.weights[rows]
        whole = part if self.part is None else part.within(self.part.fitted, self.part.n)
        return RowConstraints(units, self.classes, weights, part=whole, held=self.constrained(part.n)[rows])

    def followed_by(self, later: "RowConstraints", n_rows: int) -> "RowConstraints":
        """Constraints on these ``n_rows`` rows and then on later ones, whose labels are those of the first clusters.

        Weights are left out.
        """
        own = Units.free(n_rows) if self.units is None else self.units
        if later.units is None:
            return RowConstraints(self.units, self.classes)
        classes = [*later.classes, *(label for label in self.classes if label not in later.classes)]
        places = np.array([classes.index(label) for label in self.classes] + [-1])  # the last is that of free units
        return RowConstraints(replace(own, anchors=places[own.anchors]).followed_by(later.units), classes)

    def digest(self) -> str:
        """A digest of labels, links and weights; empty without any."""
        parts = [] if self.units is None else list(vars(self.units).values())
        parts += [] if self.weights is None else [self.weights]
        return blake2b(b"".join(part.tobytes() for part in parts)).hexdigest() if parts else ""


@dataclass(frozen=True)
class SideInformation:
    """The arguments of ``fit`` besides the rows, as they came, or the ``constraints`` that were read from them."""

    known: Any = None
    must_link: Any = None
    cannot_link: Any = None
    sample_weight: Any = None
    constraints: RowConstraints | None = None

    @property
    def leaves_rows_out(self) -> bool:
        """Whether some weights are zero."""
        return self.sample_weight is not None and not np.asarray(self.sample_weight).all()


class ConstrainedClusterer(Clusterer):
    """Base of clusterers that take known labels, links, weights and sizes."""

    _stored: ClassVar = {"classes_": list}

    size_min: Any
    size_max: Any
    min_cluster_fraction: float

    classes_: list[Any]

    @shared_docs
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Find the clusters of the rows of X.

        Parameters
        ----------
        <rows to fit>
        known : array-like of shape (n_samples,), default=None
            Labels of some rows, numbers or strings; -1, None or NaN where the label is not known. These rows keep their
            labels, and ``classes_`` has the label of every cluster. There may be more clusters than labels.
        must_link : array-like, default=None
            Rows that belong together: pairs of row numbers, shape (m, 2), or one group per row, shape (n_samples,),
            with -1, None or NaN for none. Only the second form can be split by cross-validation.
        cannot_link : array-like, default=None
            Rows that must be in different clusters, in the same two forms; rows of a group are all apart.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row: weight 2 is the same as the row twice, weight 0 as its absence. Bounds on sizes count
            rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._complete_fit(X, side=SideInformation(known, must_link, cannot_link, sample_weight))

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        *,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_weight: Any = None,
    ) -> np.ndarray[Any, Any]:
        """Find the clusters of the rows of X and return ``labels_``.

        Parameters
        ----------
        X, y, known, must_link, cannot_link, sample_weight
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        side = {"known": known, "must_link": must_link, "cannot_link": cannot_link, "sample_weight": sample_weight}
        return self.fit(X, y, **side).labels_

    def _read_constraints(self, side: SideInformation, n_rows: int) -> RowConstraints:
        """Side information of ``n_rows`` rows, read and checked; the number of clusters may be open."""
        n_clusters = self.n_clusters if isinstance(self.n_clusters, Integral) else None
        return read_side_information(side, n_rows, n_clusters)

    def _size_bounds(self, constraints: RowConstraints, n_rows: int, n_clusters: int) -> tuple[Ints, Ints]:
        """Least and largest number of rows of every cluster; refuses those that nothing can meet."""
        return size_bounds(
            constraints, self.size_min, self.size_max, n_rows, self._least_size(n_rows, n_clusters), n_clusters
        )

    def _least_size(self, n_rows: int, n_clusters: int) -> int:
        """Rows that every cluster keeps if ``size_min`` is None."""
        return max(1, int(self.min_cluster_fraction * n_rows / n_clusters)) if self.min_cluster_fraction else 0


def read_side_information(side: SideInformation, n_rows: int, n_clusters: int | None) -> RowConstraints:
    """Side information of ``n_rows`` rows, read and checked; ``n_clusters`` is None as long as it is open."""
    if side.constraints is not None:
        return side.constraints
    weights = read_sample_weight(side.sample_weight, n_rows)
    links = {"known": side.known, "must_link": side.must_link, "cannot_link": side.cannot_link}
    if all(link is None for link in links.values()):
        return RowConstraints(weights=weights)
    found = read_constraints(n_rows, n_clusters, **links)
    units = found.units if found.units.constrained.any() else None
    return RowConstraints(units, found.classes, weights)


def size_bounds(
    constraints: RowConstraints, size_min: Any, size_max: Any, n_rows: int, least: int, n_clusters: int
) -> tuple[Ints, Ints]:
    """Least and largest sizes; ``least`` is what every cluster keeps where ``size_min`` is None."""
    known = constraints.known_counts(n_clusters)
    if constraints.n_sampled_from is None:
        lower, upper = read_sizes(size_min, size_max, n_rows, n_clusters)
        check_known_sizes(lower, upper, known, n_rows)
    else:
        bounds = read_sizes(size_min, size_max, constraints.n_sampled_from, n_clusters)
        lower, upper = scale_sizes(*bounds, known, constraints.n_sampled_from, n_rows)
    if size_min is None:
        lower = np.minimum(feasible_minimum(least, known, n_rows), upper)
    return lower, upper


def read_sample_weight(sample_weight: Any, n_rows: int) -> Floats | None:
    """One weight a row, or None where all are equal: then they change nothing."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = [sample_weight] * n_rows
    weights = np.asarray(sample_weight)
    if weights.shape != (n_rows,) or weights.dtype.kind not in "iufb":
        raise InvalidDataError(
            f"sample_weight has shape {weights.shape} and dtype {weights.dtype}, X has {n_rows} rows; pass one number "
            "a row."
        )
    weights = weights.astype(np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        raise InvalidDataError(
            f"sample_weight[{wrong[0]}] = {weights[wrong[0]]}; weights must be finite and not negative: remove the "
            "row, or give it a weight."
        )
    if not weights.any():
        raise InvalidDataError("sample_weight is zero for every row; at least one row must count.")
    shares = weights / weights.max()
    lost = np.flatnonzero((weights > 0) & (shares < LOST_WEIGHT))
    if len(lost):
        raise InvalidDataError(
            f"sample_weight[{lost[0]}] = {weights[lost[0]]} is below {LOST_WEIGHT} of the largest, "
            f"{weights.max():.1e}, and would be lost in rounding; give such rows the weight 0."
        )
    rest = np.delete(shares, shares.argmax()).sum()  # of all, rounding may leave nothing
    if 0 < rest < REST_OF_WEIGHTS:
        warn_caller(
            f"sample_weight[{weights.argmax()}] is {weights.max():.1e}, {1 / rest:.1e} times all other rows "
            "together, which hardly count: samples hold that row alone. Check the weights.",
            UserWarning,
        )
    return None if (weights == weights[0]).all() else weights


def _can_be_apart(units: Units, n_clusters: int) -> bool:
    """Whether ``n_clusters`` suffice for labels and links, as far as a search finds out."""
    n = len(units.of_row)
    try:
        LabelRule.of_units(units, *no_size_bounds(n, n_clusters)).label(np.zeros((n, n_clusters)))
    except InfeasibleBalanceError:
        return False
    return True


def no_size_bounds(n_rows: int, n_clusters: int) -> tuple[Ints, Ints]:
    """Bounds on sizes that any labels meet."""
    return np.zeros(n_clusters, np.int64), np.full(n_clusters, n_rows)


def refuse_elsewhere(constraints: RowConstraints, size_max: Any) -> None:
    """Refuse what needs the costs of all rows in one place, for rows that a cluster of machines holds."""
    units = constraints.units
    if size_max is not None:
        raise NotSupportedError(
            f"size_max={size_max!r} needs the rows in this process, but workers of a Dask cluster hold them; "
            "fit a sample with size_max and predict the rest, or leave it out."
        )
    if units is not None and (len(units.apart) or (units.sizes[units.anchors < 0] > 1).any()):
        raise NotSupportedError(
            "must_link and cannot_link need the rows in this process, but workers of a Dask cluster hold them; "
            "give the linked rows labels with known, or fit a sample with the links and predict the rest."
        )
    if constraints.weights is not None and not constraints.weights.all():
        raise NotSupportedError(
            "sample_weight is zero for some rows, which workers of a Dask cluster hold; leave these rows out of X."
        )
