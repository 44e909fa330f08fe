"""What labels must keep, as a search sees it: bounds on sizes, labels that are held, and links between rows.

Three cases, from cheap to dear. Without links a row takes its best label, or the one that is held for it, and as long
as the sizes are within their bounds nothing else is asked. Where they are not, the cheapest labels within bounds are a
transportation problem (``_transport.py``, or by prices where rows are elsewhere). With links, labels depend on each
other, and every label step is one of ``_constrained_labels.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Ints
from widegap.constraints._constrained_labels import LabelRule, RuledLabels
from widegap.constraints._size_prices import Costs, assign_by_prices
from widegap.constraints._transport import assign
from widegap.constraints._units import Units
from widegap.exceptions import InfeasibleBalanceError

FORBIDDEN = 1e3  # ranges of the costs that another label than the held one costs, where prices decide


@dataclass(frozen=True)
class Rules:
    """Bounds on sizes (k,), and the label step for when these or links decide.

    Attributes
    ----------
    lower, upper : ndarray of shape (k,)
        Least and largest number of rows of every cluster.
    label : callable
        ``label(costs, warm_start)`` gives the cheapest labels that keep all rules, as ``RuledLabels``; ``warm_start``
        are labels from before, or None: what is found is not dearer than these.
    known_counts : ndarray of shape (k,)
        Rows of each cluster whose labels are held.
    held : state or None
        The label of every row that has one to keep, -1 for others.
    linked : bool
        Whether labels of rows depend on each other even within the bounds.
    keeps : callable
        Whether labels keep what is held and linked.
    """

    lower: Ints
    upper: Ints
    label: Callable[[Any, Any], RuledLabels]
    known_counts: Ints
    held: Any = None
    linked: bool = False
    keeps: Callable[[Any], bool] = lambda labels: True

    def allow(self, counts: Any) -> bool:
        """Whether these sizes are within the bounds."""
        return bool((counts >= self.lower).all() and (counts <= self.upper).all())

    def at_minimum(self, counts: Any) -> bool:
        """Whether a cluster is as small as it may get, and not only because its rows are known."""
        by_labels = (self.known_counts >= self.lower) & (self.known_counts > 0)
        return bool(((counts <= self.lower) & ~by_labels).any())


def size_rules(rows: Costs, lower: Any, upper: Any) -> Rules:
    """Bounds on sizes alone; rows that are elsewhere know only least sizes."""
    lower, upper = np.asarray(lower, np.int64), np.asarray(upper, np.int64)
    if lower.sum() > rows.shape[0]:
        raise InfeasibleBalanceError(
            f"{len(lower)} clusters of at least {lower.max()} rows do not fit into {rows.shape[0]} rows; lower "
            "min_cluster_fraction or n_clusters."
        )

    def label(costs: Any, warm_start: Any) -> RuledLabels:
        if not rows.in_process:
            return RuledLabels(assign_by_prices(rows, costs, lower).labels, True)
        most = None if (upper >= rows.shape[0]).all() else upper
        return RuledLabels(assign(rows.collect(costs), lower, most).labels, True)

    return Rules(lower, upper, label, np.zeros_like(lower))


def unit_rules(rows: Costs, units: Units, lower: Ints, upper: Ints, place: Callable[[Any], Any]) -> Rules:
    """Bounds on sizes and what is known of units (``_units.Units``).

    ``place`` makes a state of an array with one entry a row. Rows that are elsewhere know held labels and least sizes.
    """
    rule = LabelRule.of_units(units, lower, upper)
    free = units.anchors < 0
    linked = bool((units.sizes[free] > 1).any() or len(units.apart))
    held = place(units.anchors[units.of_row].astype(np.int32))
    if rows.in_process:
        return Rules(lower, upper, rule.label, rule.known_counts, held, linked, rule.keeps)

    def label(costs: Any, warm_start: Any) -> RuledLabels:
        (costs,), _ = rows.fold(lambda costs, held: ((_held_alone(costs, held),), 0), costs, held)
        labels = assign_by_prices(rows, costs, lower).labels
        (labels,), _ = rows.fold(lambda labels, held: ((np.where(held < 0, labels, held),), 0), labels, held)
        return RuledLabels(labels, True)

    def keeps(labels: Any) -> bool:
        return not rows.fold(lambda labels, held: ((), int(((held >= 0) & (held != labels)).sum())), labels, held)[1]

    return Rules(lower, upper, label, rule.known_counts, held, linked, keeps)


def rules_for(rows: Any, units: Units | None, lower: Ints, upper: Ints) -> Rules:
    """Bounds on sizes, and what is known of units unless these are None."""
    return size_rules(rows, lower, upper) if units is None else unit_rules(rows, units, lower, upper, rows.place)


def _held_alone(costs: Any, held: Any) -> Any:
    """Costs in which labels other than the held one are out of reach."""
    other = (held >= 0)[:, None] & (held[:, None] != np.arange(costs.shape[1]))
    return np.where(other, costs + FORBIDDEN * (np.abs(costs).max() + 1), costs)


def feasible_bounds(units: Units, lower: Ints, upper: Ints, *, relax_upper: bool) -> tuple[Ints, Ints]:
    """Bounds that links leave room for: the given ones, or less and less of the least sizes.

    For bounds that no user gave: the default least size, and those of a sample, whose largest sizes may go too.
    """
    n = len(units.of_row)
    nothing = np.zeros((n, len(lower)))
    while True:
        try:
            LabelRule.of_units(units, lower, upper).label(nothing)
        except InfeasibleBalanceError:
            if not lower.any():
                if not relax_upper or (upper >= n).all():
                    return lower, upper  # the links themselves cannot be met; the search raises an error
                upper = np.full_like(upper, n)
            lower = lower // 2
        else:
            return lower, upper
