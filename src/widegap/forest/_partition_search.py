"""The search of MaxMarginClustering among labelings: from many starts by single moves, and a look beyond the bound."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Labels
from widegap.base._records import Recorder
from widegap.forest._single_moves import Partition, improve, kick, most_even

KICKS = 5
LOOSER = 0.1  # of the least size: what is tried to see whether the bound keeps a better answer out
LEAST_GROUP = 5  # fewer rows are outliers
MISSED = 0.5  # share of the unexplained part that such an answer must leave to be worth a word


@dataclass(frozen=True)
class StartRecord:
    """One start, or one member: its number and kind, the R2 it led to, and the seconds since the search began."""

    start: int
    kind: str
    objective: float
    seconds: float

    def line(self) -> str:
        """The record as one line of the log."""
        return f"{self.start}, {self.kind}: R2 {self.objective:.6g}, {self.seconds:.2f} s"


@dataclass(frozen=True)
class FoundPartition:
    """The best labels within the bound on sizes, and far better ones beyond it if the search has met any."""

    best: Partition
    missed: Partition | None

    def what_is_missed(self, min_cluster_fraction: float) -> str:
        """What lies beyond the bound, and how to get it."""
        assert self.missed is not None
        sizes = np.bincount(self.missed.labels)
        share = sizes.min() / sizes.sum()
        return (
            f"min_cluster_fraction={min_cluster_fraction} keeps out clusters that fit much better: one of them has "
            f"{share:.1%} of the rows, and R2 would be {self.missed.objective:.3g} and not {self.best.objective:.3g}; "
            f"set min_cluster_fraction below {share * len(sizes):.2g} to find them."
        )


def search_partition(
    stages: Sequence[Any],
    starts: Iterable[tuple[str, Labels]],
    k: int,
    min_count: int,
    recorder: Recorder[StartRecord],
    rng: np.random.Generator,
) -> FoundPartition:
    """The best R2 over all starts, shaken a few times; ties go to even sizes.

    ``stages`` are whitened features of the rows, the last with the ridge that counts. Every start goes through all.
    """
    found: list[Partition] = []
    uneven: list[Labels] = []
    for i, (kind, labels) in enumerate(starts):
        if np.bincount(labels, minlength=k).min() < min_count:
            uneven.append(labels)
        for Q in stages:
            partition = improve(Q, labels, k, min_count, rng)
            labels = partition.labels
        found.append(partition)
        if recorder.add(start=i, kind=kind, objective=partition.objective):
            return FoundPartition(most_even(found, k), None)
    first = max(found, key=lambda partition: partition.objective)
    found.append(kick(first, stages[-1], k, min_count, KICKS, rng))
    best = most_even(found, k)
    return FoundPartition(best, _beyond_bound(best, stages[-1], uneven, k, min_count, rng))


def _beyond_bound(
    best: Partition, Q: Any, starts: Sequence[Labels], k: int, min_count: int, rng: np.random.Generator
) -> Partition | None:
    """What starts with a cluster below the bound lead to if it is loosened, where that is far better."""
    loose = max(LEAST_GROUP, int(LOOSER * min_count))
    found = [improve(Q, labels, k, loose, rng) for labels in starts] if loose < min_count else []
    better = max(found, key=lambda partition: partition.objective, default=best)
    return better if k - 1 - better.objective < MISSED * (k - 1 - best.objective) else None
