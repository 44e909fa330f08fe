"""What a user says of the rows besides the rows: some labels, links, weights, sizes. Read and checked here for all.

A clusterer that takes it all derives from ``UserSay``, which has the signature of ``fit``. The steps of its fit get a
``Given`` with the arguments as they came; ``UserSay._hear`` reads it once the number of rows is known, and
``UserSay._size_bounds`` the sizes once that of clusters is.

    known, must_link, cannot_link    constraints/_units.py; a unit is a set of rows that get one label
    size_min, size_max               constraints/_size_bounds.py; else min_cluster_fraction bounds them
    sample_weight                    weight 2 is the row twice; only ratios count, so that equal weights are none
"""

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from widegap._types import Floats, Ints
from widegap._warnings import warn_caller
from widegap.base._clusterer import Clusterer
from widegap.base._docs import shared_docs
from widegap.base._validation import Interval, check_start_labels, digest_of, take_rows
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._size_bounds import check_known_sizes, feasible_minimum, read_sizes, scale_sizes
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units, largest_clique, read_constraints
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError, NotSupportedError
from widegap.features._kernel_rows import is_views, n_rows
from widegap.rows._blocks import RowBlocks
from widegap.rows._collections import is_collection

NOTHING = 1e-18  # of the largest weight: no sum would notice it
LITTLE = 1e-4  # of the largest weight: so little have all others together where one row decides alone


SIZE_CONSTRAINTS: dict = {
    name: [Interval(Real, 0, None, closed="left"), "array-like", None] for name in ("size_min", "size_max")
}


@dataclass(frozen=True)
class Heard:
    """What is known of the rows: their units (None if nothing is), the labels in sorted order, and weights or None.

    The label ``classes[p]`` is that of cluster p. Of a sample, ``n_sampled_from`` is the number of all rows. Where
    other rows take no part, ``part`` tells which do, and ``held`` marks those of which anything is known: also that
    they belong to rows that take no part.
    """

    units: Units | None = None
    classes: list[Any] = field(default_factory=list)
    weights: Floats | None = None
    n_sampled_from: int | None = None
    part: TakingPart | None = None
    held: np.ndarray[Any, np.dtype[np.bool_]] | None = None

    def classes_of(self, n_clusters: int) -> list[Any]:
        """The label of every cluster, None for those that carry none."""
        return self.classes + [None] * (n_clusters - len(self.classes))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said."""
        return self.units is None and self.weights is None

    @property
    def fewest_clusters(self) -> int:
        """Clusters that there must be: one for each label, and as many as rows that are to be apart need."""
        units, fewest = self.units, max(len(self.classes), 1)
        if units is None or not len(units.apart):
            return fewest
        fewest = max(fewest, largest_clique(units))
        linked = units.of_present(np.flatnonzero(units.constrained))
        while not _can_be_apart(linked, fewest):
            fewest += 1
        return fewest

    def constrained(self, n_rows: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Of each of so many rows, whether anything is known of it."""
        if self.held is not None:
            return self.held
        return np.zeros(n_rows, bool) if self.units is None else self.units.constrained

    @property
    def weighted(self) -> TakingPart | None:
        """The rows whose weight is not zero; None if no row's is."""
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

    def of_rows(self, rows: np.ndarray[Any, Any], n_rows: int) -> "Heard":
        """What is known of a sample of all rows."""
        units = None if self.units is None else self.units.of_rows(rows)
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, units=units, weights=weights, n_sampled_from=n_rows)

    def of_present(self, part: TakingPart) -> "Heard":
        """What is known of some rows where the others take no part; bounds on sizes are for these alone."""
        rows = part.present
        units = None if self.units is None else self.units.of_present(rows)
        weights = None if self.weights is None else self.weights[rows]
        whole = part if self.part is None else self.part.some(part)
        held = self.constrained(part.n)[rows]
        return Heard(units, self.classes, weights, part=whole, held=held).without_equal_weights()

    def without_equal_weights(self) -> "Heard":
        """The same; weights that are all equal say nothing."""
        return replace(self, weights=None) if self.weights is not None and not np.ptp(self.weights) else self

    def digest(self) -> str:
        """What tells a fit with these statements from others; empty without any."""
        parts = [] if self.units is None else list(vars(self.units).values())
        parts += [] if self.weights is None else [self.weights]
        return blake2b(b"".join(part.tobytes() for part in parts)).hexdigest() if parts else ""


@dataclass(frozen=True)
class Given:
    """The arguments of ``fit`` besides the rows, as they came, or what was ``heard`` of them if that is known."""

    known: Any = None
    must_link: Any = None
    cannot_link: Any = None
    sample_weight: Any = None
    heard: Heard | None = None

    @property
    def leaves_rows_out(self) -> bool:
        """Whether some weights are zero."""
        return self.sample_weight is not None and not np.asarray(self.sample_weight).all()


class UserSay(Clusterer):
    """Base of clusterers that take known labels, links, weights and sizes."""

    _stored: ClassVar = {"classes_": list}
    _precomputed: bool = False  # whether a row of X has a column for every row

    size_min: Any
    size_max: Any
    min_cluster_fraction: float
    init: Any

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
            labels, and ``classes_`` tells which cluster is which. There may be more clusters than labels.
        must_link : array-like, default=None
            Rows that belong together: pairs of row numbers, shape (m, 2), or one group a row, shape (n_samples,), with
            -1, None or NaN for none. Only the second form can be split by cross-validation.
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
        return self._complete_fit(X, given=Given(known, must_link, cannot_link, sample_weight))

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
        said = {"known": known, "must_link": must_link, "cannot_link": cannot_link, "sample_weight": sample_weight}
        return self.fit(X, y, **said).labels_

    def _fit(self, X: Any, *, given: Given, **others: Any) -> Self:
        """The steps of a fit, to the rows whose weights are not zero."""
        if not given.leaves_rows_out:
            return super()._fit(X, given=given, **others)
        self._refuse_to_leave_out(X)
        heard = self._hear(given, n_rows(X))
        part = heard.weighted
        assert part is not None
        super()._fit(some_rows(X, part.present), given=Given(heard=heard.of_present(part)), **others)
        absent = some_rows(X, part.absent)
        labels = part.with_absent(self.labels_, self.predict(absent))
        if heard.units is not None:
            costs = np.zeros((part.n, self.n_clusters_))
            costs[part.absent] = -self._scores(absent)
            labels = label_absent(heard.units, labels, part, costs)
        self.labels_ = labels
        self._take_in(part, absent, given, heard)
        if hasattr(self, "_rows_digest"):
            self._rows_digest = digest_of(X)
        return self

    def _take_in(self, part: TakingPart, absent: Any, given: Given, heard: Heard) -> None:
        """Make what is stored of the rows that took part speak of all rows, the ``absent`` ones included."""

    def _start_labels(self, heard: Heard, n_rows: int, n_clusters: int) -> Any:
        """The labels that the user gave to start from, of so many rows that take part."""
        part = heard.part
        if part is None:
            return check_start_labels(self.init, n_rows, n_clusters)
        return check_start_labels(self.init, part.n, n_clusters)[part.present]

    def _refuse_to_leave_out(self, X: Any) -> None:
        if self._precomputed or is_collection(X) or isinstance(X, RowBlocks):
            kind = "kernel matrix" if self._precomputed else "X"
            raise NotSupportedError(
                "sample_weight is zero for some rows, which can be left out of a table in memory only; leave them out "
                f"of the {kind} yourself, or give them a small weight."
            )

    def _hear(self, given: Given, n_rows: int) -> Heard:
        """What was said of so many rows, checked; the number of clusters may yet be open."""
        n_clusters = self.n_clusters if isinstance(self.n_clusters, Integral) else None
        return hear(given, n_rows, n_clusters)

    def _size_bounds(self, heard: Heard, n_rows: int, n_clusters: int) -> tuple[Ints, Ints]:
        """Least and largest number of rows of every cluster; refuses those that nothing can meet."""
        return size_bounds(
            heard, self.size_min, self.size_max, n_rows, self._least_size(n_rows, n_clusters), n_clusters
        )

    def _least_size(self, n_rows: int, n_clusters: int) -> int:
        """Rows that every cluster keeps where ``size_min`` says nothing."""
        return max(1, int(self.min_cluster_fraction * n_rows / n_clusters)) if self.min_cluster_fraction else 0


def hear(given: Given, n_rows: int, n_clusters: int | None) -> Heard:
    """What was said of so many rows, checked; None is a number of clusters that is not known yet."""
    if given.heard is not None:
        return given.heard
    weights = read_weights(given.sample_weight, n_rows)
    links = {"known": given.known, "must_link": given.must_link, "cannot_link": given.cannot_link}
    if all(link is None for link in links.values()):
        return Heard(weights=weights)
    found = read_constraints(n_rows, n_clusters, **links)
    units = found.units if found.units.constrained.any() else None
    return Heard(units, found.classes, weights)


def size_bounds(
    heard: Heard, size_min: Any, size_max: Any, n_rows: int, least: int, n_clusters: int
) -> tuple[Ints, Ints]:
    """Bounds on sizes for what was heard; ``least`` is what every cluster keeps where ``size_min`` says nothing."""
    known = heard.known_counts(n_clusters)
    if heard.n_sampled_from is None:
        lower, upper = read_sizes(size_min, size_max, n_rows, n_clusters)
        check_known_sizes(lower, upper, known, n_rows)
    else:
        bounds = read_sizes(size_min, size_max, heard.n_sampled_from, n_clusters)
        lower, upper = scale_sizes(*bounds, known, heard.n_sampled_from, n_rows)
    if size_min is None:
        lower = np.minimum(feasible_minimum(least, known, n_rows), upper)
    return lower, upper


def read_weights(sample_weight: Any, n_rows: int) -> Floats | None:
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
    lost = np.flatnonzero((weights > 0) & (shares < NOTHING))
    if len(lost):
        raise InvalidDataError(
            f"sample_weight[{lost[0]}] = {weights[lost[0]]} is below {NOTHING} of the largest, {weights.max():.1e}, "
            "and would be lost in rounding; give such rows the weight 0."
        )
    others = shares.sum() - 1
    if 0 < others < LITTLE:
        warn_caller(
            f"sample_weight[{weights.argmax()}] is {weights.max():.1e}, {1 / others:.1e} times all other rows "
            "together, which hardly count: samples hold that row alone. Check the weights.",
            UserWarning,
        )
    return None if (weights == weights[0]).all() else weights


def some_rows(X: Any, rows: Ints) -> Any:
    """Some rows of a table, or of each of several views."""
    return {name: take_rows(view, rows) for name, view in X.items()} if is_views(X) else take_rows(X, rows)


def label_absent(units: Units, labels: Any, part: TakingPart, costs: Floats) -> Any:
    """Labels in which rows that took no part in a fit have the cheapest ones that links with the others leave them."""
    anchors, present = units.anchors.copy(), part.present
    anchors[units.of_row[present]] = labels[present]
    rule = LabelRule(units.of_row, units.sizes, anchors, units.apart, *_no_bounds(part.n, costs.shape[1]))
    found = rule.label(costs).labels
    found[present] = labels[present]  # -1 for those that were set aside
    return found


def _can_be_apart(units: Units, n_clusters: int) -> bool:
    """Whether so many clusters suffice for labels and links, as far as a search tells."""
    n = len(units.of_row)
    try:
        LabelRule(*vars(units).values(), *_no_bounds(n, n_clusters)).label(np.zeros((n, n_clusters)))
    except InfeasibleBalanceError:
        return False
    return True


def _no_bounds(n_rows: int, n_clusters: int) -> tuple[Ints, Ints]:
    return np.zeros(n_clusters, np.int64), np.full(n_clusters, n_rows)


def refuse_elsewhere(heard: Heard, size_max: Any) -> None:
    """Refuse what needs the costs of all rows in one place, for rows that a cluster of machines holds."""
    units = heard.units
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
    if heard.weights is not None and not heard.weights.all():
        raise NotSupportedError(
            "sample_weight is zero for some rows, which workers of a Dask cluster hold; leave these rows out of X."
        )
