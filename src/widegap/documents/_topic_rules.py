"""Constraints on topics at every step of a document clustering: known labels, links, bounds on sizes.

Start, margins and self-training (``_topic_search.py``) work on a sample of the documents or on all, and each ends in
labels. For scores s (n, k) these are

    max_z  sum_i s[i, z_i]     subject to   the constraints on documents, and the least and largest size of every topic,

a transportation problem without labels and links, else that of ``constraints/_constrained_labels.py``. No topic may be
empty, whatever the bounds are: weights of terms could not be fitted to it.

A few known labels among thousands of documents would hold and yet hardly shape the topics: wherever losses or means are
summed up, the documents that have one weigh ``KNOWN_WEIGHT`` times as much as all others together. But one document is
not a topic: each weighs at most ``MOST_WEIGHT`` of n / k, and never less than one.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from widegap._types import Floats, Indices, Ints, Labels, Mask
from widegap._warnings import warn_caller
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._label_rules import feasible_bounds
from widegap.constraints._side_information import RowConstraints, size_bounds
from widegap.constraints._transport import assign
from widegap.constraints._units import Units
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError, NotSupportedError, StarvedClusterWarning

FLOOR = 0.1  # every topic keeps at least this fraction of n / k documents where size_min is None: not tuned
KNOWN_WEIGHT, MOST_WEIGHT = 0.5, 0.05  # settled on WebKB and rec4 with 1 to 10 labels per class
LINK_ARGUMENTS = ("known", "must_link", "cannot_link")  # arguments of ``fit`` that an estimator may not have


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
    constraints : RowConstraints
        Known labels and links of the documents.
    size_min, size_max
        Bounds on sizes as the user gave them.
    n, k : int
        Documents and topics.
    floor : float
        Fraction of n / k documents that every topic keeps where ``size_min`` is None.
    """

    def __init__(self, constraints: RowConstraints, size_min: Any, size_max: Any, n: int, k: int, floor: float = FLOOR):
        self.constraints, self.n, self.k, self.floor = constraints, n, k, floor
        self._sizes = size_min, size_max
        self._known = constraints.known_counts(k)
        self.lower, self.upper = self._bounds(size_min, size_max)
        units = constraints.units
        self._rule = (
            None
            if units is None
            else LabelRule(units.of_row, units.sizes, units.anchors, units.apart, self.lower, self.upper)
        )

    @property
    def is_sized(self) -> bool:
        """Whether the user gave bounds on sizes."""
        return any(bound is not None for bound in self._sizes)

    def of_rows(self, rows: Indices) -> "TopicRules":
        """The rules for a sample of the documents, with bounds in proportion."""
        if len(rows) == self.n:
            return self
        return TopicRules(self.constraints.of_rows(rows, self.n), *self._sizes, len(rows), self.k, self.floor)

    def _bounds(self, size_min: Any, size_max: Any) -> tuple[Ints, Ints]:
        n, k = self.n, self.k
        sampled, units = self.constraints.n_sampled_from is not None, self.constraints.units
        lower, upper = size_bounds(self.constraints, size_min, size_max, n, max(1, int(self.floor * n / k)), k)
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
            step = assign(-scores, self.lower, self.upper if self._sizes[1] is not None else None)
            return RuledTopics(step.labels, step.prices, bool(step.prices.any() or self._starves(step.labels)))
        found = self._rule.label(-scores)
        return RuledTopics(found.labels, np.zeros(self.k), found.bound_active or self._starves(found.labels))

    def _starves(self, labels: Labels) -> bool:
        # Among a handful of documents one may well be a topic of its own accord.
        counts = np.bincount(labels, minlength=self.k)
        return bool(((counts <= self.lower) & (self.lower > np.maximum(self._known, 1))).any())

    @cached_property
    def weights(self) -> Floats | None:
        """How much each document counts, None if all count the same; 1 on average where labels are not known."""
        units, own = self.constraints.units, self.constraints.weights
        known = np.zeros(self.n, bool) if units is None else units.anchors[units.of_row] >= 0
        count = np.count_nonzero(known)
        weight = min(KNOWN_WEIGHT * (self.n - count) / count, MOST_WEIGHT * self.n / self.k) if count else 1.0
        if own is not None:
            own = own / own.mean()
            return np.where(known, np.maximum(own, weight), own)
        return np.where(known, weight, 1.0) if weight > 1 else None

    def sizes(self) -> dict[str, list[int]]:
        """The bounds as parameters of a method that clusters these documents."""
        return {"size_min": self.lower.tolist(), "size_max": self.upper.tolist()}

    def alone(self) -> RowConstraints:
        """The constraints with weights, as if the sample were all documents: bounds are in proportion already."""
        return replace(self.constraints, weights=self.weights, n_sampled_from=None)

    def arguments(self) -> dict[str, Ints]:
        """For ``fit`` of another estimator: topics of documents (-1: not known), groups, and pairs that are apart."""
        units = self.constraints.units
        if units is None:
            return {}
        found: dict[str, Ints] = {}
        if (units.anchors >= 0).any():
            found["known"] = units.anchors[units.of_row]
        linked = (units.sizes > 1) & (units.anchors < 0)
        if linked.any():
            found["must_link"] = np.where(linked, np.arange(len(linked)), -1)[units.of_row]
        if len(units.apart):
            found["cannot_link"] = np.unique(units.of_row, return_index=True)[1][units.apart]
        return found


def taking_part(has_terms: Mask, units: Units | None, marked: Mask) -> Mask:
    """Documents that are clustered: those with any term, and those that labels or links tie to a topic."""
    inside = has_terms & ~marked
    if units is None:
        return inside
    tied = units.anchors >= 0
    tied[units.of_row[inside]] = True
    return tied[units.of_row] & ~marked


def of_documents(constraints: RowConstraints, active: Mask) -> RowConstraints:
    """The constraints on some of all documents, and only the labels that are known of these."""
    weights = None if constraints.weights is None else constraints.weights[active]
    if constraints.units is None:
        return RowConstraints(weights=weights)
    units = constraints.units.of_rows(np.flatnonzero(active))
    present = np.unique(units.anchors[units.anchors >= 0])
    place = np.full(len(constraints.classes) + 1, -1)
    place[present] = np.arange(len(present))
    units = replace(units, anchors=place[units.anchors])
    classes = [constraints.classes[p] for p in present]
    return RowConstraints(units if units.constrained.any() else None, classes, weights)


def refuse_for_method(constraints: RowConstraints, method: Any, size_min: Any, size_max: Any) -> None:
    """Refuse constraints that an estimator as ``method`` does not take."""
    if isinstance(method, str):
        return
    if size_min is not None or size_max is not None:
        raise NotSupportedError(
            f"size_min={size_min!r} and size_max={size_max!r} are for method='auto', 'cpm3c' and "
            f"'m2dcu'; set the bounds of {method} instead, if it has any."
        )
    taken = inspect.signature(method.fit).parameters
    missing = [] if constraints.units is None else [name for name in LINK_ARGUMENTS if name not in taken]
    if missing:
        raise NotSupportedError(
            f"fit of {method} takes no {missing[0]}; use method='auto', or an estimator that does, such as "
            "MaxMarginClustering."
        )


def check_topics(chosen: Sequence[int], topics: Labels) -> Ints:
    """Topics to move into the universum, all but one at most."""
    labels = np.atleast_1d(np.asarray(chosen, dtype=np.int64))
    unknown = np.setdiff1d(labels, topics)
    if len(unknown):
        raise InvalidDataError(
            f"universum_labels holds {unknown.tolist()}, but the topics are {topics.tolist()}; choose among these."
        )
    if len(np.unique(labels)) == len(topics):
        raise InvalidDataError(
            f"universum_labels={labels.tolist()} would leave no topic; leave at least one out of it."
        )
    return labels


def check_positions(positions: list[Any], n: int) -> Indices:
    """Positions of documents to move into the universum."""
    found = np.asarray(positions)
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
        raise InvalidDataError(
            f"universum_documents={positions!r:.80} must be positions from 0 to {n - 1} of fitted documents, or "
            "further documents as str."
        )
    return found


def matched_topics(topics: Labels, old: Labels, new: Labels, k: int) -> Labels:
    """A topic for each of k new clusters: that of the old cluster it overlaps most with, one-to-one, or a new one."""
    overlap = np.zeros((len(topics), k))
    both = (old >= 0) & (new >= 0)
    np.add.at(overlap, (old[both], new[both]), 1)
    found = topics.max() + 1 + np.arange(k, dtype=np.int32)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    found[columns] = topics[rows]
    return found


def warn_of_starved(labels: Labels, topics: Labels, size_max: Any) -> None:
    """Name the topics at their least size, unless the largest size decided, which the user asked for."""
    sizes = {int(topic): int(np.count_nonzero(labels == topic)) for topic in topics}
    least = min(sizes.values())
    if size_max is not None and least > max(1, int(FLOOR * sum(sizes.values()) / len(sizes))):
        return
    *first, last = [str(topic) for topic, size in sizes.items() if size == least]
    topics_have = f"Topics {', '.join(first)} and {last} each have" if first else f"Topic {last} has"
    warn_caller(
        f"{topics_have} {least} of {sum(sizes.values())} documents, the least that one of {len(sizes)} may have, so "
        "that this bound and not the terms decided some of them; lower n_clusters, or read these documents before you "
        f"rely on {'these topics' if first else 'the topic'}.",
        StarvedClusterWarning,
    )
