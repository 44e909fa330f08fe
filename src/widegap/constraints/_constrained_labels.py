"""Cheapest labels of units of rows, some of which are fixed, some of which must be apart, with bounds on sizes.

    min_z  sum_u c[u, z_u]     subject to   z_u = a_u            for anchored units,
                                            z_u != z_v           for pairs (u, v) that are apart,
                                            m[p] <= rows of p <= M[p].

Units of one row that are apart from no free unit are *easy*: given the labels of the others they are a transportation
problem (``_transport.py``), solved exactly, and without bounds they take their cheapest label. The others are *hard*;
with size bounds and units of several rows, or with pairs apart, the problem is that of packing or of colouring a graph.
They are decided by a depth-first search that tries the cheapest labels first and cuts off what cannot become cheaper:
in breadth-first order of the graph, component by component where no bound couples these. Where easy units and bounds
meet, the search sees costs minus the prices of the transport step, in which units may be split. A unit without rows
costs nothing and counts for no size, but its anchor and its links hold.

The search of a component ends after a number of nodes. If it was complete and no easy unit had to be priced, its labels
are optimal; else they are improved by moves and swaps of hard units, as are labels from before (``warm_start``), and
the cheaper ones are taken.

=========  =======================================================================================
symbol     meaning
=========  =======================================================================================
c          costs, shape (u, k): sum over the rows of a unit
m, M       lower, upper: bounds on the number of rows of each cluster
allowed    (u, k): False where an anchored unit that is apart holds the cluster
=========  =======================================================================================
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widegap._types import Floats, Ints
from widegap.constraints._hard_units import HardUnits, improve, search_labels
from widegap.constraints._transport import assign
from widegap.constraints._units import Units
from widegap.exceptions import InfeasibleBalanceError


@dataclass(frozen=True)
class RuledLabels:
    """Labels of rows (a state) that keep every rule, and whether a bound on sizes decided some of them."""

    labels: Any
    bound_active: bool


class LabelRule:
    """What labels must keep, prepared for many label steps.

    Parameters
    ----------
    of_row, sizes, anchors, apart : ndarray
        Units, as ``_units.Units`` has them.
    lower, upper : ndarray of shape (k,)
        Least and largest number of rows of every cluster.
    """

    @classmethod
    def of_units(cls, units: Units, lower: Ints, upper: Ints) -> "LabelRule":
        """The rule of units and bounds on sizes."""
        return cls(units.of_row, units.sizes, units.anchors, units.apart, lower, upper)

    def __init__(self, of_row: Ints, sizes: Ints, anchors: Ints, apart: Ints, lower: Ints, upper: Ints):
        self.lower, self.upper = lower, upper
        self._of_row, self._sizes, self._anchors, self._apart = of_row, sizes, anchors, apart
        self._free = np.flatnonzero(anchors < 0)
        self._is_each_row = len(sizes) == len(of_row) and bool((sizes == 1).all())
        fixed = anchors >= 0
        self.known_counts = np.bincount(anchors[fixed], sizes[fixed], len(lower)).astype(np.int64)
        n_free = int(sizes[self._free].sum())
        self._lower, self._upper = (
            np.maximum(lower - self.known_counts, 0),
            np.minimum(upper - self.known_counts, n_free),
        )
        self._bounded = bool((self._lower > 0).any() or (self._upper < n_free).any())
        self._hard = HardUnits.of(sizes[self._free], self._allowed(), self._free_pairs(), coupled=self._bounded)

    def _allowed(self) -> NDArray[np.bool_]:
        allowed = np.ones((len(self._sizes), len(self.lower)), dtype=bool)
        for one, other in (self._apart.T, self._apart.T[::-1]):
            anchored = self._anchors[one] >= 0
            allowed[other[anchored], self._anchors[one[anchored]]] = False
        return allowed[self._free]

    def _free_pairs(self) -> Ints:
        """Pairs of free units that are apart, by their numbers among these."""
        number = np.full(len(self._sizes), -1)
        number[self._free] = np.arange(len(self._free))
        pairs = number[self._apart]
        return pairs[(pairs >= 0).all(axis=1)]

    def keeps(self, labels: Any) -> bool:
        """Whether labels of all rows keep anchors and links."""
        units = self._of_units(labels)
        fixed = self._anchors >= 0
        return bool(
            (units >= 0).all()
            and np.array_equal(units[self._of_row], labels)
            and np.array_equal(units[fixed], self._anchors[fixed])
            and (units[self._apart[:, 0]] != units[self._apart[:, 1]]).all()
        )

    def admits(self, labels: Any) -> bool:
        """Whether labels of all rows keep every rule."""
        counts = np.bincount(labels, minlength=len(self.lower))
        return self.keeps(labels) and bool((counts >= self.lower).all() and (counts <= self.upper).all())

    def at_minimum(self, labels: Any) -> bool:
        """Whether a cluster is as small as it may get, and not only because all its rows are known."""
        counts = np.bincount(labels, minlength=len(self.lower))
        return bool(((counts <= self.lower) & (self.lower > self.known_counts)).any())

    def _of_units(self, labels: Any) -> Ints:
        """Labels of the units; of those without rows any that fit, -1 where none does."""
        units = self._anchors.copy()
        units[self._of_row] = labels
        if (units >= 0).all():
            return units
        k = len(self.lower)
        rest = LabelRule(self._of_row, self._sizes, units, self._apart, np.zeros_like(self.lower), self._no_bound)
        try:
            return rest._label_units(np.zeros((len(self._of_row), k)), None)[0]
        except InfeasibleBalanceError:
            return units

    @property
    def _no_bound(self) -> Ints:
        return np.full_like(self.upper, len(self._of_row))

    def label(self, costs: Any, warm_start: Any = None) -> RuledLabels:
        """The cheapest labels that keep every rule, or the cheapest found.

        Parameters
        ----------
        costs : ndarray of shape (n, k)
            Cost of every label of every row.
        warm_start : ndarray of shape (n,), default=None
            Labels from before: the result is not dearer than they are, if they keep the rules.

        Raises
        ------
        InfeasibleBalanceError
            If there are no such labels, or none was found.
        """
        units, bound_active = self._label_units(costs, warm_start)
        return RuledLabels(units[self._of_row].astype(np.int32), bound_active)

    def _label_units(self, costs: Any, warm_start: Any) -> tuple[Ints, bool]:
        """The labels of all units, and whether a bound on sizes decided some of them."""
        units = self._anchors.copy()
        bound_active = False
        if not self._hard.allowed.any(axis=1).all():
            raise self._failure(proven=True)
        if len(self._free):
            c = self._unit_costs(np.asarray(costs, np.float64))
            cheapest = np.where(self._hard.allowed, c, np.inf).argmin(axis=1)
            bound_active = self._bounded and not self._within(cheapest)
            start = (
                self._of_units(warm_start)[self._free] if warm_start is not None and self.admits(warm_start) else None
            )
            units[self._free] = self._label_free(c, cheapest, bound_active, start)
        return units, bound_active

    def _unit_costs(self, costs: Floats) -> Floats:
        if self._is_each_row:
            return costs if len(self._free) == len(costs) else costs[self._free]
        sums = np.empty((len(self._sizes), costs.shape[1]))
        for p, column in enumerate(costs.T):
            sums[:, p] = np.bincount(self._of_row, column, len(sums))
        return sums[self._free]

    def _within(self, labels: Ints) -> bool:
        counts = np.bincount(labels, self._hard.sizes, len(self.lower))
        return bool((counts >= self._lower).all() and (counts <= self._upper).all())

    def _label_free(self, c: Floats, cheapest: Ints, bound_active: bool, warm_start: Ints | None) -> Ints:
        hard = self._hard
        if not hard.units.size:
            return self._label_easy(c, cheapest) if bound_active else cheapest
        seen = self._priced(c) if self._bounded and len(hard.units) < len(c) else c
        found, proven = search_labels(hard, seen, self._lower, self._upper)
        if found is None and warm_start is None:
            raise self._failure(proven)
        starts = [] if warm_start is None else [warm_start]
        if found is not None:
            labels = cheapest.copy()
            labels[hard.units] = found[hard.units]
            starts.append(self._label_easy(c, labels))
        if not (proven and seen is c) or found is None:
            starts = [self._label_easy(c, improve(hard, c, start, self._lower, self._upper)) for start in starts]
        each = np.arange(len(c))
        return min(reversed(starts), key=lambda labels: float(c[each, labels].sum()))

    def _label_easy(self, c: Floats, labels: Ints) -> Ints:
        """The labels with those of easy units chosen exactly, given those of hard ones."""
        hard = self._hard
        easy = np.ones(len(c), dtype=bool)
        easy[hard.units] = False
        if not self._bounded or not easy.any():
            return labels
        taken = np.bincount(labels[~easy], hard.sizes[~easy], len(self.lower)).astype(np.int64)
        costs = _without_forbidden(c[easy], hard.allowed[easy])
        chosen = assign(costs, np.maximum(self._lower - taken, 0), self._upper - taken).labels
        if not hard.allowed[easy][np.arange(len(chosen)), chosen].all():
            raise self._failure(not hard.units.size)
        labels = labels.copy()
        labels[easy] = chosen
        return labels

    def _priced(self, c: Floats) -> Floats:
        """Costs minus what a row more in a cluster is worth if units could be split."""
        sizes = self._hard.sizes
        each = np.maximum(sizes, 1)[:, None]
        rows = np.repeat(_without_forbidden(c, self._hard.allowed) / each, sizes, axis=0)
        return c - sizes[:, None] * assign(rows, self._lower, self._upper).prices

    def _failure(self, proven: bool) -> InfeasibleBalanceError:
        wishes = ["cannot_link"] if len(self._apart) else []
        wishes += ["size_min and size_max"] if self._bounded else []
        found = "No labeling keeps" if proven else "No labeling was found, though there may be one, that keeps"
        return InfeasibleBalanceError(
            f"{found} {' and '.join(wishes) or 'all links'} with n_clusters={len(self.lower)}; raise n_clusters"
            f"{', widen the bounds' if self._bounded else ''}{' or remove links' if len(self._apart) else ''}."
        )


def _without_forbidden(c: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Costs with labels that are not allowed dearer than anything that avoids them."""
    if allowed.all():
        return c
    return np.where(allowed, c, c.max() + (len(c) + 1) * (np.ptp(c) + 1))
