"""Estimators that take new rows and keep their clusters: the steps of an update.

An update never changes the estimator it is called on. It makes another one with the same parameters:

1. the new rows are read, and joined with the remembered ones (``_joint_rows.py``);
2. the method searches the joint rows (``_follow`` of a subclass); new clusters are found on the way
   (``_new_clusters.py``), and clusters keep their numbers (``_matching.py``);
3. new and remembered rows are compared under the labels found (``_changes.py``, ``_drift.py``);
4. of the joint rows some are remembered (``_memory.py``).

Inside, clusters are positions among the scores; users see numbers (``Clusterer._to_numbers``).
"""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from widegap._types import Doubles, Floats, Indices, Labels, Mask, Matrix
from widegap.base._clusterer import take_over
from widegap.base._docs import shared_docs
from widegap.base._one_fit import one_fit
from widegap.base._validation import Interval, check_threads, checked_rows, count_rows, digest_of
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._selective_clusterer import SelectiveClusterer, some_rows
from widegap.constraints._side_information import RowConstraints, SideInformation, read_sample_weight
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._column_groups import column_groups
from widegap.features._kernel_rows import is_views
from widegap.features._neighbours import neighbour_graph
from widegap.features._principal import PrincipalAxes
from widegap.rows._blocks import RowBlocks
from widegap.rows._collections import entries_at, is_collection
from widegap.rows._known_frames import known_frame
from widegap.rows._matrices import storage
from widegap.rows._sampling import all_or_drawn
from widegap.rows._sources import row_blocks
from widegap.rows._threads import one_blas_thread
from widegap.updating._changes import Change, Lineage, find_changes
from widegap.updating._drift import Drift, find_drift
from widegap.updating._joint_rows import Followed, JointRows, UpdateRows, join_rows
from widegap.updating._matching import match_clusters
from widegap.updating._memory import Memory, rows_to_remember
from widegap.updating._new_clusters import find_new_clusters

MEMORY: dict[str, list[object]] = {"memory": [Interval(Integral, 0, None, closed="left")]}
SEARCHED_ROWS = 90_000  # new rows that an update searches; the others get their cluster by predict
POOL = 20  # times as many rows as are remembered: of more, these are drawn first
UPDATE_AXES = 30  # principal axes in which methods without a search of their own look for new clusters; not tuned
UPDATE_NEIGHBOURS = 30  # over which coordinates are averaged there, as in MaxMarginClustering
NO_PAIRS = np.empty((0, 2), np.int64)
NO_MEMORY = (
    "{name} remembers no rows, which update needs: {why}. Fit the rows again with memory=5000, and save the model with "
    "its rows."
)


class UpdatableClusterer(SelectiveClusterer):
    """Base of clusterers with ``update`` and ``partial_fit``."""

    _stored: ClassVar = {"_memory": Memory | None, "changes_": list[Change], "drift_": Drift}

    memory: int
    changes_: list[Change]
    drift_: Drift
    agreement_: np.ndarray[Any, Any]
    predict_proba: Callable[[Any], Any]  # of those with agreement_
    _memory: Memory | None = None
    _constraints: RowConstraints  # of all rows, during a fit

    def _check_stored(self) -> None:
        super()._check_stored()
        if self._memory is not None:
            self._memory.check(self.n_features_in_, self.cluster_numbers_.tolist())

    # Remembering

    def _whole_fit(self, X: Any, **options: Any) -> Self:
        for name in UpdatableClusterer._stored:
            self.__dict__.pop(name, None)  # of an earlier fit or update
        X = X if is_views(X) else known_frame(X)  # some streams can be read only once
        self._constraints = RowConstraints()
        try:
            super()._whole_fit(X, **options)
        finally:
            constraints = self.__dict__.pop("_constraints", RowConstraints())
        if self.memory and not self._precomputed and not is_views(X):
            self._memory = self._remember(X, constraints)
        return self

    def _read_constraints(self, side: SideInformation, n_rows: int) -> RowConstraints:
        found = super()._read_constraints(side, n_rows)
        if side.constraints is None and "_constraints" in vars(self):  # of all rows of a fit that is going on
            self._constraints = found
        return found

    def _remember(self, X: Any, constraints: RowConstraints) -> Memory:
        """A sample of the rows of a fit."""
        n, rng = len(self.labels_), np.random.default_rng(0)  # a seed of its own: what is remembered changes no fit
        pool = all_or_drawn(n, POOL * self.memory, rng)
        if constraints.units is not None:
            pool = np.union1d(pool, np.flatnonzero(constraints.units.constrained))
        weights = np.ones(len(pool)) if constraints.weights is None else constraints.weights[pool].astype(np.float64)
        labels, held = entries_at(self.labels_, pool), constraints.constrained(n)[pool]
        kept, weights = rows_to_remember(labels, weights, held, self.memory, rng)
        places = pool[kept]
        units = None if constraints.units is None else constraints.units.of_rows(places)
        table = self._some_rows(X, places)
        return Memory(table, labels[kept], weights * (n / len(pool)), places, units, self.n_clusters_, n, n)

    def _some_rows(self, X: Any, rows: Indices) -> Matrix:
        table = checked_rows(self, X, rows, check_threads(self.n_jobs))
        return np.array(table) if storage(table) == "dense" else table

    # Updating

    @shared_docs
    @one_blas_thread()  # as in the fit
    def update(self, X: Any, *, sample_weight: Any = None, forget: float = 0.0) -> Self:
        """A fitted estimator that has also seen the rows of X; clusters keep their numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            New rows, with the columns of the fit.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every new row, as for ``fit``.
        forget : float, default=0.0
            Share of its weight that every remembered row loses before the new ones are added, from 0 to below 1: 0.5
            lets what was seen an update ago count half.

        Returns
        -------
        estimator
            A new one; this one is left as it is. ``labels_`` are those of the new rows, ``changes_`` and ``drift_``
            tell what changed. The search sees the new rows and the remembered ones (``memory``), so that time and
            memory do not depend on how many rows came before. A cluster that is made of new rows, where hardly any
            were before, gets the next free number; ``n_clusters_`` follows, also where ``n_clusters`` is a number.
        """
        check_is_fitted(self)
        memory = self._checked_memory().faded(checked_share(forget), named_clusters(self))
        X = known_frame(X)
        new = self._new_rows(X, sample_weight)
        joint = self._joined(new, memory)
        other: Self = clone(self)
        followed = other._follow(self, joint)
        other._complete_update(self, X, new, joint, followed)
        return other

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """``update`` in place; the first call is a ``fit``.

        Parameters
        ----------
        X, sample_weight
            As for ``update``.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        if not hasattr(self, "labels_"):
            return self.fit(X, sample_weight=sample_weight)
        with one_fit(self):
            take_over(self, self.update(X, sample_weight=sample_weight))
        return self

    def _checked_memory(self) -> Memory:
        if self._memory is not None:
            return self._memory
        name = type(self).__name__
        if self._precomputed:
            raise NotSupportedError(
                f"{name} with a precomputed kernel cannot be updated: new rows would need their kernel values with "
                "rows that it does not hold; pass rows and a kernel."
            )
        why = "its model file holds none, or its rows were several views"
        why = why if self.memory else "memory=0"
        raise NotSupportedError(NO_MEMORY.format(name=name, why=why))

    def _new_rows(self, X: Any, sample_weight: Any) -> UpdateRows:
        """The new rows that are searched: all of them, those without a weight left out, or a sample."""
        n, rng = count_rows(X), np.random.default_rng(0)
        weights = read_sample_weight(sample_weight, n)
        counted = np.arange(n) if weights is None else np.flatnonzero(weights)
        chosen = counted[all_or_drawn(len(counted), SEARCHED_ROWS, rng)]
        table = self._some_rows(X, chosen)
        dense = storage(table) == "dense" and not is_collection(X)
        groups = column_groups(getattr(self, "columns", None), X, table.shape[1]) if dense else None
        shares = np.ones(len(chosen)) if weights is None else weights[chosen].astype(np.float64)
        return UpdateRows(table, chosen, shares * (len(counted) / len(chosen)), counted, n, groups)

    def _joined(self, new: UpdateRows, memory: Memory) -> JointRows:
        numbers = self.cluster_numbers_
        living = np.isin(numbers, memory.labels)
        if memory.units is not None:  # labels are those of positions, of which some may be forgotten
            position = np.append(np.where(living, np.cumsum(living) - 1, -1), -1)  # the last is that of free units
            memory = replace(memory, units=replace(memory.units, anchors=position[memory.units.anchors]))
        found = [self._living_positions(table, living) for table in (new.table, memory.rows)]
        classes = [label for label, lives in zip(self.classes_, living, strict=True) if lives]
        return join_rows(new, memory, numbers[living], np.concatenate(found).astype(np.int32), classes)

    def _living_positions(self, rows: Matrix, living: Any) -> Labels:
        """Positions of the nearest clusters among those that are not forgotten."""
        scores = self._scores(row_blocks(rows))  # blocks have no names of columns to compare with those of the fit
        return scores[:, living].argmax(axis=1).astype(np.int32)

    def _follow(self, old: Any, joint: JointRows) -> Followed:
        """Search the joint rows from the labels that they have, and store what is found; for rows of any method.

        If the search leads to other clusters, all rows keep the labels that they have, and only the scores are fitted.
        """
        coordinates = PrincipalAxes(joint.rows, UPDATE_AXES, 0).coordinates(joint.rows).astype(np.float32)
        smooth = neighbour_graph(coordinates, UPDATE_NEIGHBOURS, check_threads(self.n_jobs)).smooth(coordinates, 1)
        fresh = find_new_clusters(smooth, joint.is_new, joint.counts, joint.before, np.random.default_rng(0))
        k = len(joint.numbers)
        start = np.where(fresh >= 0, k + fresh, joint.before)
        n_clusters = k + int(fresh.max(initial=-1)) + 1
        inside = np.flatnonzero(self._typical(old, joint))
        constraints = replace(joint.constraints, weights=joint.weights).of_fitted(TakingPart(len(start), inside))
        constraints, rows = replace(constraints, part=None), joint.rows[inside]
        inner = self._for_joint_rows(n_clusters, start[inside])
        inner._fit(rows, side=SideInformation(constraints=constraints))
        if not keeps_clusters(inner.labels_, start[inside], joint.weights[inside], n_clusters):
            anchors = Units(np.arange(len(inside)), np.ones(len(inside), np.int64), start[inside], NO_PAIRS)
            inner._fit(rows, side=SideInformation(constraints=replace(constraints, units=anchors)))
        take_over(self, inner)
        positions = np.full(len(start), -1, np.int32)
        positions[inside] = self.labels_
        numbers = np.append(joint.numbers, joint.next_number + np.arange(n_clusters - k)).astype(np.int32)
        self._numbers = numbers
        self._note_outliers(joint.rows, positions)
        labels = self._to_numbers(positions)
        self.labels_ = labels[: joint.n_new]
        return Followed(labels, labels, coordinates, Lineage(joint.numbers.tolist(), numbers.tolist()))

    def _typical(self, old: Any, joint: JointRows) -> Mask:
        """Which joint rows are no outliers: remembered ones, and new ones that the old model does not reject."""
        inside = np.ones(len(joint.weights), bool)
        if self.outliers:
            inside[: joint.n_new] = old.predict(row_blocks(joint.rows[: joint.n_new]), reject=True) >= 0
        return inside

    def _for_joint_rows(self, n_clusters: int, start: Labels | None = None) -> Any:
        """An estimator with the same parameters for joint rows: bounds on sizes are for the new ones alone."""
        changed: dict[str, Any] = {"n_clusters": n_clusters, "size_min": None, "size_max": None}
        if start is not None:
            changed |= {"init": start, "outliers": 0}
        known = self.get_params(deep=False)
        changed |= {name: None for name in ("labels_out", "checkpoint") if name in known}
        if "columns" in known:
            changed["columns"] = "auto"  # the joint rows know their columns
        return clone(self).set_params(**changed)

    def _complete_update(self, old: Any, X: Any, new: UpdateRows, joint: JointRows, followed: Followed) -> None:
        """Store what an update tells and remembers, and labels of all new rows."""
        names = getattr(old, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        if not new.all_searched:
            self._label_unsearched(X, new)
        if not is_collection(X) and not isinstance(X, RowBlocks):
            self._rows_digest = digest_of(X)
        self._keep_sizes(X, new)
        columns = [f"column {j}" for j in range(joint.rows.shape[1])] if names is None else list(map(str, names))
        compared = followed.compared(joint, columns)
        self.changes_ = find_changes(compared, followed.lineage)
        self.drift_ = find_drift(compared, np.random.default_rng(0))
        self._memory = self._remember_joint(new, joint, followed)

    def _keep_sizes(self, X: Any, new: UpdateRows) -> None:
        """Move new rows at least cost where bounds on sizes demand it; the bounds are for those that count."""
        if self.size_min is None and self.size_max is None:
            return
        if is_collection(self.labels_):
            raise NotSupportedError(
                f"size_min={self.size_min!r} and size_max={self.size_max!r} need the labels of all new rows in this "
                f"process, but workers hold {new.n} rows, of which {len(new.chosen)} are searched; leave out rows of "
                "weight 0 and pass fewer rows at a time, or leave out the bounds."
            )
        labels = self._to_positions(self.labels_)
        rows = new.counted[np.asarray(labels)[new.counted] >= 0]
        bounds = self._size_bounds(RowConstraints(), len(rows), self.n_clusters_)
        rule = LabelRule.of_units(Units.free(len(rows)), *bounds)
        if not rule.admits(labels[rows]):
            labels[rows] = rule.label(-self._scores(some_rows(X, rows))).labels
            self.labels_ = self._to_numbers(labels)

    def _label_unsearched(self, X: Any, new: UpdateRows) -> None:
        """Labels of all new rows where some were not searched; these are predicted, and their agreement estimated."""
        self.__dict__.pop("_rows_digest", None)
        agreement = self.__dict__.pop("agreement_", None)
        found = self.predict(X)
        if not is_collection(found):
            found[new.chosen] = self.labels_
            if agreement is not None:
                sure = np.asarray(self.predict_proba(X)).max(axis=1)
                sure[new.chosen] = agreement
                self.agreement_ = sure
        self.labels_ = found

    def _remember_joint(self, new: UpdateRows, joint: JointRows, followed: Followed) -> Memory:
        units = joint.constraints.units
        held = np.zeros(len(joint.weights), bool) if units is None else units.constrained
        rng = np.random.default_rng(0)
        kept, weights = rows_to_remember(followed.labels, joint.weights, held, self.memory, rng)
        next_number = max(joint.next_number, int(self.cluster_numbers_.max()) + 1)
        rows: Any = joint.rows[kept]
        table: Floats = np.asarray(rows) if storage(rows) == "dense" else rows
        units = None if units is None else units.of_rows(kept)
        settled = followed.n_settled or joint.n_settled
        places, labels = new.among_all(kept), followed.labels[kept]
        return Memory(table, labels, weights, places, units, next_number, new.n, settled, followed.doubt)


def keeps_clusters(labels: Labels, start: Labels, weights: Doubles, k: int) -> bool:
    """Whether clusters found from starting labels are still those that they began as."""
    match = match_clusters(labels, start, weights, k, k)
    return match.clean and np.array_equal(match.numbers, np.arange(k))


def named_clusters(model: Any) -> Labels:
    """Numbers of the clusters that carry a known label."""
    found: Labels = model.cluster_numbers_[[label is not None for label in model.classes_]]
    return found


def checked_share(forget: Any) -> float:
    """``forget`` as a share."""
    if isinstance(forget, Real) and not isinstance(forget, bool) and 0 <= float(forget) < 1:
        return float(forget)
    raise InvalidDataError(f"forget={forget!r}; it is the share that is forgotten: a number from 0 to below 1.")
