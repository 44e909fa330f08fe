"""Clusters of a search once it has heard what is known of the rows (``constraints/_seeded_clusters.py``)."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widegap._types import Doubles, Indices, Labels
from widegap.constraints._known_classes import Views
from widegap.constraints._seeded_clusters import Listener
from widegap.constraints._units import Units
from widegap.features._label_spreading import Spread
from widegap.features._neighbours import NeighbourGraph, neighbour_graph
from widegap.features._principal import leading_directions
from widegap.forest._agreement import row_agreement
from widegap.forest._merge_search import LEADING, SMOOTHINGS, Cut, Forest
from widegap.forest._search_space import SearchSpace
from widegap.forest._temperature import member_votes
from widegap.rows._sampling import all_or_drawn

DIRECTIONS = 50  # leading ones of rows with many columns


@dataclass(frozen=True)
class OpenCut:
    """A cut of a forest that knew nothing, ready to hear what is known as often as the user likes."""

    found: Cut
    spread: Spread
    listener: Listener

    @classmethod
    def of(cls, forest: Forest, space: SearchSpace, k: int) -> "OpenCut":
        """What is known spreads over the groups of all members, and over their clusters at k and at 2k."""
        found, finer = forest.cut(k), min(2 * k, forest.most_clusters)
        sets = [(labels, 1) for labels in (*found.members, *forest.cuts(finer))]
        groups = [member.groups for member in forest.members]
        times = Counter(map(id, groups))
        sets += [(labels, times.pop(id(labels))) for labels in groups if id(labels) in times]
        spread = Spread.of(forest.graph.weights, sets)
        views = views_of(space, forest.graph)
        return cls(found, spread, Listener.of(spread, found.labels, k, views))

    def hear(self, units: Units) -> Cut:
        """The cut with clusters that keep what is known of units, and follow from it."""
        labels, _ = self.listener.hear(units)
        agreement = row_agreement(np.column_stack(self.found.members), labels, self.listener.k)
        return replace(self.found, labels=labels, agreement=agreement)

    def belief(self, units: Units | None, labels: Labels) -> Doubles:
        """What speaks for each cluster, (n, k): votes of the members for ``labels`` as long as nothing is known."""
        return (
            member_votes(self.found.members, labels, self.listener.k) if units is None else self.listener.hear(units)[1]
        )


def views_of(space: SearchSpace, graph: NeighbourGraph) -> Views:
    """Features to classify rows by.

    Kernel features count halfway between as they are and whitened: what tells classes apart may vary little. Beside
    them they count averaged over neighbours, as the members of a search see them.
    """
    P = space.leading(LEADING)
    plain = _unit(P / np.maximum(np.square(P).sum(axis=0), np.finfo(P.dtype).tiny) ** 0.25)
    near = np.hstack([plain, *(_unit(graph.smooth(P, steps)) for steps in SMOOTHINGS)])
    wide = leading_directions(space.rows, DIRECTIONS) if space.rows.shape[1] > space.features.shape[1] else None
    return Views(plain, near / np.sqrt(np.float32(1 + len(SMOOTHINGS))), None if wide is None else _unit(wide))


def _unit(F: Doubles) -> Doubles:
    """Features about their mean, of the mean squared length 1."""
    F = F - F.mean(axis=0)
    return F / max(float(np.sqrt(np.square(F).sum(axis=1).mean())), float(np.finfo(F.dtype).tiny) ** 0.5)


def informed_labels(rows: Any, n_neighbors: int, found: Labels, k: int, units: Units) -> Labels:
    """The same of a search that leaves no forest."""
    spread = Spread.of(neighbour_graph(rows, n_neighbors).weights, [(found, 1)])
    return Listener.of(spread, found, k).hear(units)[0]


def rows_by_weight(weights: Any, most: int, rng: np.random.Generator) -> Indices:
    """Indices of rows, ascending, each as often as its weight says, up to ``most`` of them.

    Whole weights are met exactly if there is room; else rows are drawn in proportion, evenly spaced along the weights.
    """
    whole = bool((weights == np.floor(weights)).all())
    size = min(most, int(weights.sum()) if whole else np.count_nonzero(weights))
    ends = np.cumsum(weights) * (size / weights.sum())
    ends[np.flatnonzero(weights)[-1] :] = size  # rounding must not leave the last place empty
    return np.searchsorted(ends, np.arange(size) + rng.random(), side="right")


def rows_to_search(n: int, most: int, units: Units | None, rng: np.random.Generator) -> Indices:
    """Indices of so many rows of n, and of those of which something is known, of these no more either."""
    chosen = all_or_drawn(n, most, rng)
    if units is None:
        return chosen
    held = np.flatnonzero(units.constrained)
    return np.union1d(chosen, held[all_or_drawn(len(held), most, rng)])
