"""Units that cannot be labelled one by one: the depth-first search for their labels, and moves and swaps.

See ``_constrained_labels.py`` for the problem. Nothing here is of the size of the data, unless links or bounds are.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widegap._types import Floats, Ints

NODES = 20_000  # steps of the search in one component that has found nothing
REFINEMENT = 1000  # steps from the first labels on; enough to prove those of about ten units the best
SWAP_ROUNDS = 10  # of moves and swaps over all hard units
PARTNERS = 8  # units tried for a swap
GAIN = 1e-12  # relative to the range of the costs: less is rounding


@dataclass(frozen=True)
class HardUnits:
    """All free units: ``sizes`` (u,), ``allowed`` (u, k), who is apart from whom, and which of them are hard.

    ``components`` are the hard units in sets that can be searched one by one, each in the order of the search.
    """

    sizes: Ints
    allowed: NDArray[np.bool_]
    neighbours: dict[int, list[int]]
    units: Ints
    components: list[list[int]]

    @classmethod
    def of(cls, sizes: Ints, allowed: NDArray[np.bool_], pairs: Ints, *, coupled: bool) -> "HardUnits":
        """``coupled`` if bounds on sizes make one problem of all units, and hard ones of all but single rows."""
        neighbours: dict[int, list[int]] = {}
        for u, v in pairs.tolist():
            neighbours.setdefault(u, []).append(v)
            neighbours.setdefault(v, []).append(u)
        uneven = np.flatnonzero(sizes != 1).tolist() if coupled else []
        units = np.array(sorted({*neighbours, *uneven}), dtype=np.int64)
        components = _components(units, neighbours, sizes)
        if coupled and components:
            components = [[unit for component in components for unit in component]]
        return cls(sizes, allowed, neighbours, units, components)


def _components(units: Ints, neighbours: dict[int, list[int]], sizes: Ints) -> list[list[int]]:
    """Connected sets in breadth-first order from their largest unit, large units first: these are hardest to place."""
    seen: set[int] = set()
    found = []
    for start in sorted(units.tolist(), key=lambda unit: (-sizes[unit], -len(neighbours.get(unit, ())), unit)):
        if start in seen:
            continue
        seen.add(start)
        component, queue = [], deque([start])
        while queue:
            unit = queue.popleft()
            component.append(unit)
            new = [other for other in sorted(neighbours.get(unit, ())) if other not in seen]
            seen.update(new)
            queue.extend(new)
        found.append(component)
    return found


def search_labels(hard: HardUnits, c: Floats, lower: Ints, upper: Ints) -> tuple[Ints | None, bool]:
    """Labels (u,) in which those of hard units count, None if there are none; whether that is proven optimal."""
    labels = np.full(len(c), -1)
    spare = int(hard.sizes.sum() - hard.sizes[hard.units].sum())
    proven = True
    for component in hard.components:
        search = _DepthFirst(hard, c, component, lower, upper, spare)
        found, complete = search.run()
        proven = proven and complete
        if found is None:
            return None, complete
        labels[component] = found
    return labels, proven


class _DepthFirst:
    """One component: labels are tried in the order of their costs, and a branch ends when it cannot beat the best."""

    def __init__(self, hard: HardUnits, c: Floats, units: list[int], lower: Ints, upper: Ints, spare: int):
        self.hard, self.units = hard, units
        self.sizes = hard.sizes[units].tolist()
        self.lower, self.upper = lower.tolist(), upper.tolist()
        self.bounded = any(self.lower)
        costs = np.where(hard.allowed[units], c[units], np.inf)
        self.choices = [
            [(float(row[p]), int(p)) for p in np.argsort(row, kind="stable") if row[p] < np.inf] for row in costs
        ]
        least = np.append(costs.min(axis=1), 0.0)
        self.floor = np.cumsum(least[::-1])[::-1].tolist()  # what the units from i on cost at least
        self.rest = [*np.cumsum([spare, *self.sizes[::-1]])[::-1].tolist()]  # rows from i on
        self.counts = [0] * len(self.lower)
        self.labels: dict[int, int] = {}

    def run(self) -> tuple[list[int] | None, bool]:
        best, best_cost = None, np.inf
        untried = [iter(self.choices[0])]
        spent = [0.0]
        budget = NODES
        while budget > 0:
            budget -= 1
            depth = len(untried) - 1
            choice = self._next(depth, untried[depth], best_cost - spent[depth] - self.floor[depth + 1])
            if choice is None:
                untried.pop()
                spent.pop()
                if not untried:
                    return best, True
                self._undo(depth - 1)
                continue
            cost, p = choice
            if depth + 1 == len(self.units):
                budget = min(budget, REFINEMENT) if best is None else budget
                best_cost = spent[depth] + cost
                best = [*(self.labels[unit] for unit in self.units[:-1]), p]
                continue
            self.labels[self.units[depth]] = p
            self.counts[p] += self.sizes[depth]
            spent.append(spent[depth] + cost)
            untried.append(iter(self.choices[depth + 1]))
        return best, False

    def _undo(self, depth: int) -> None:
        self.counts[self.labels.pop(self.units[depth])] -= self.sizes[depth]

    def _next(self, depth: int, choices: Any, most: float) -> tuple[float, int] | None:
        """The next choice that breaks nothing and costs less than ``most``."""
        size, near = self.sizes[depth], self.hard.neighbours.get(self.units[depth], ())
        for cost, p in choices:
            if cost >= most:
                return None
            if any(self.labels.get(other, -1) == p for other in near) or self.counts[p] + size > self.upper[p]:
                continue
            if self._can_be_filled(p, size, self.rest[depth + 1]):
                return cost, p
        return None

    def _can_be_filled(self, p: int, size: int, rest: int) -> bool:
        """Whether ``rest`` further rows can fill all clusters to their least sizes once p has this unit."""
        if not self.bounded:
            return True
        lacking = sum(max(0, m - n) for m, n in zip(self.lower, self.counts, strict=True))
        return lacking - min(size, max(0, self.lower[p] - self.counts[p])) <= rest


def improve(hard: HardUnits, c: Floats, labels: Ints, lower: Ints, upper: Ints) -> Ints:
    """Cheaper labels by moves and swaps of hard units, until there are none, in ``SWAP_ROUNDS`` at most."""
    steps = _Steps(hard, c, labels, lower, upper)
    for _ in range(SWAP_ROUNDS):
        changed = [steps.improve(unit) for unit in hard.units.tolist()]
        if not any(changed):
            break
    return steps.labels


class _Steps:
    """Labels that moves and swaps make cheaper. ``best_leave[q, p]`` is the largest gain of a unit that goes q to p."""

    def __init__(self, hard: HardUnits, c: Floats, labels: Ints, lower: Ints, upper: Ints):
        self.hard, self.c, self.labels = hard, c, labels.copy()
        self.lower, self.upper = lower.tolist(), upper.tolist()
        self.counts = np.bincount(labels, hard.sizes, c.shape[1]).astype(np.int64).tolist()
        self.least = GAIN * (1 + float(np.ptp(c)))
        self.best_leave = np.full((c.shape[1], c.shape[1]), -np.inf)
        for q in range(c.shape[1]):
            self._renew(q)

    def _renew(self, q: int) -> None:
        gains = self._gains(np.flatnonzero(self.labels == q), q)
        self.best_leave[q] = gains.max(axis=0, initial=-np.inf)

    def _gains(self, units: Ints, q: int) -> Floats:
        """What units of q gain in every cluster, minus infinity where they may not go."""
        return np.where(self.hard.allowed[units], self.c[units, q][:, None] - self.c[units], -np.inf)

    def improve(self, u: int) -> bool:
        """Move a unit, alone or in exchange for another, if that is cheaper and breaks nothing; True if it did."""
        p = int(self.labels[u])
        gains = self._gains(np.array([u]), p)[0]
        promising = np.flatnonzero(gains + np.maximum(self.best_leave[:, p], 0) > self.least)
        for q in sorted(promising.tolist(), key=lambda q: -gains[q]):
            if q != p and self._move_or_swap(u, p, q, float(gains[q])):
                self._renew(p)
                self._renew(q)
                return True
        return False

    def _move_or_swap(self, u: int, p: int, q: int, gain: float) -> bool:
        blockers = [other for other in self.hard.neighbours.get(u, ()) if self.labels[other] == q]
        if len(blockers) > 1:
            return False
        size = int(self.hard.sizes[u])
        if not blockers and gain > self.least and self._fits(p, q, size):
            self._move(u, q)
            return True
        others = np.array(blockers) if blockers else np.flatnonzero(self.labels == q)
        others = others[self.hard.allowed[others, p]]
        gains = gain + self.c[others, q] - self.c[others, p]
        others, gains = others[gains > self.least], gains[gains > self.least]
        for v in others[np.argsort(-gains, kind="stable")[:PARTNERS]].tolist():
            free = not any(self.labels[other] == p and other != u for other in self.hard.neighbours.get(v, ()))
            if free and self._fits(p, q, size - int(self.hard.sizes[v])):
                self._move(u, q)
                self._move(v, p)
                return True
        return False

    def _fits(self, p: int, q: int, rows: int) -> bool:
        """Whether ``rows`` rows may go from p to q, or from q to p if the number is negative."""
        after_p, after_q = self.counts[p] - rows, self.counts[q] + rows
        return self.lower[p] <= after_p <= self.upper[p] and self.lower[q] <= after_q <= self.upper[q]

    def _move(self, unit: int, cluster: int) -> None:
        self.counts[self.labels[unit]] -= int(self.hard.sizes[unit])
        self.counts[cluster] += int(self.hard.sizes[unit])
        self.labels[unit] = cluster
