"""What topics must keep at every step of a document clustering: known labels, links, bounds on sizes.

Start, margins and self-training (``_topics.py``) work on a sample of the documents or on all, and each ends in labels.
For scores s (n, k) these are

    max_z  sum_i s[i, z_i]     subject to   z keeps what was said, and every topic its least and largest size,

a transportation problem where nothing is known of single documents, else that of
``constraints/_constrained_labels.py``. No topic may be empty, whatever the bounds say: weights of terms could not be
fitted to it.

A few known labels among thousands of documents would hold and yet hardly be heard: wherever losses or means are summed
up, the documents that have one weigh ``HEARD`` times as much as all others together. But one document is not a topic:
each weighs at most ``MOST`` of n / k, and never less than one.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from widegap._types import Floats, Ints, Labels
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._label_rules import feasible_bounds
from widegap.constraints._side_information import RowConstraints, size_bounds
from widegap.constraints._transport import assign
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError

FLOOR = 0.1  # every topic keeps at least this fraction of n / k documents where size_min says nothing
HEARD, MOST = 0.5, 0.05  # settled on WebKB and rec4 with 1 to 10 labels a class


@dataclass(frozen=True)
class RuledTopics:
    """Labels that keep the rules, what bounds on sizes add to the scores, and whether a topic is at its least size."""

    labels: Labels
    prices: Floats
    starved: bool


class TopicRules:
    """The rules for n documents in k topics, and the label step under them.

    Parameters
    ----------
    heard : RowConstraints
        What was said of the documents.
    size_min, size_max
        Bounds on sizes as the user gave them.
    n, k : int
        Documents and topics.
    """

    def __init__(self, heard: RowConstraints, size_min: Any, size_max: Any, n: int, k: int):
        self.heard, self.n, self.k = heard, n, k
        self._given = size_min, size_max
        self._known = heard.known_counts(k)
        self.lower, self.upper = self._bounds(size_min, size_max)
        units = heard.units
        self._rule = None if units is None else LabelRule(*vars(units).values(), self.lower, self.upper)

    @property
    def is_sized(self) -> bool:
        """Whether the user gave bounds on sizes."""
        return any(bound is not None for bound in self._given)

    def of_rows(self, rows: Any) -> "TopicRules":
        """The rules for a sample of the documents, with bounds in proportion."""
        if len(rows) == self.n:
            return self
        return TopicRules(self.heard.of_rows(rows, self.n), *self._given, len(rows), self.k)

    def _bounds(self, size_min: Any, size_max: Any) -> tuple[Ints, Ints]:
        heard, n, k = self.heard, self.n, self.k
        sampled, units = heard.n_sampled_from is not None, heard.units
        lower, upper = size_bounds(heard, size_min, size_max, n, max(1, int(FLOOR * n / k)), k)
        if units is not None:
            if len(units.sizes) < k:
                raise InvalidDataError(
                    f"must_link and known labels leave {len(units.sizes)} groups of documents, but n_clusters={k} and "
                    "every topic needs one; lower n_clusters or remove links."
                )
            if sampled or size_min is None:
                lower, upper = feasible_bounds(units, lower, upper, relax_upper=sampled)
        lower = np.maximum(lower, self._known == 0)
        full = np.flatnonzero(lower > upper)
        if len(full):
            raise InfeasibleBalanceError(
                f"size_max={size_max!r} leaves no room for a document in topic {full[0]}; raise it, or lower "
                "n_clusters."
            )
        return lower, upper

    def label(self, scores: Floats) -> RuledTopics:
        """The labels of largest score that keep the rules."""
        if self._rule is None:
            step = assign(-scores, self.lower, self.upper if self._given[1] is not None else None)
            return RuledTopics(step.labels, step.prices, bool(step.prices.any() or self._starves(step.labels)))
        found = self._rule.label(-scores)
        return RuledTopics(found.labels, np.zeros(self.k), found.bound_active or self._starves(found.labels))

    def _starves(self, labels: Labels) -> bool:
        # Among a handful of documents one may well be a topic of its own accord.
        counts = np.bincount(labels, minlength=self.k)
        return bool(((counts <= self.lower) & (self.lower > np.maximum(self._known, 1))).any())

    @cached_property
    def weights(self) -> Floats | None:
        """How much each document counts, None if all count the same."""
        units = self.heard.units
        known = np.zeros(self.n, bool) if units is None else units.anchors[units.of_row] >= 0
        count = np.count_nonzero(known)
        weight = min(HEARD * (self.n - count) / count, MOST * self.n / self.k) if count else 1.0
        return np.where(known, weight, 1.0) if weight > 1 else None

    def sizes(self) -> dict[str, list[int]]:
        """The bounds as parameters of a method that clusters these documents."""
        return {"size_min": self.lower.tolist(), "size_max": self.upper.tolist()}

    def alone(self) -> RowConstraints:
        """What was said, with weights, as if the sample were all documents: bounds are in proportion already."""
        return replace(self.heard, weights=self.weights, n_sampled_from=None)

    def arguments(self) -> dict[str, Any]:
        """For ``fit`` of another estimator: topics of documents (-1: not known), groups, and pairs that are apart."""
        units = self.heard.units
        if units is None:
            return {}
        found = {}
        if (units.anchors >= 0).any():
            found["known"] = units.anchors[units.of_row]
        linked = (units.sizes > 1) & (units.anchors < 0)
        if linked.any():
            found["must_link"] = np.where(linked, np.arange(len(linked)), -1)[units.of_row]
        if len(units.apart):
            found["cannot_link"] = np.unique(units.of_row, return_index=True)[1][units.apart]
        return found
