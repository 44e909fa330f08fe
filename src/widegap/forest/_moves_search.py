"""The search by exact single moves: features smoothed over neighbours where that helps, starts, moves and kicks.

The objective and the moves are those of ``forest/_single_moves.py``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import default_rng

from widegap._types import Floats, Labels
from widegap._warnings import warn_caller
from widegap.base._records import Recorder
from widegap.base._starts import best_threshold, count_feature_starts, feature_starts, rounded, sample_size
from widegap.exceptions import StarvedClusterWarning
from widegap.features._kernel_maps import KernelMap
from widegap.features._kmeans import kmeans
from widegap.features._neighbours import NeighbourGraph, neighbour_graph
from widegap.features._principal import PrincipalMap, whiten
from widegap.forest._search_result import SearchResult, StartRecord, constrained_labels
from widegap.forest._search_space import PreparedRows, SearchSpace, nearest_mean_scores
from widegap.forest._single_moves import Partition, cluster_sums, improve_by_moves, kick, most_even
from widegap.rows._blocks import RowBlocks
from widegap.rows._protocols import Rows, State

EXACT_MOVES_ROWS = 1_000  # up to this many rows moves see the kernel as it is; not tuned
MOST_MOVED = 10_000  # more rows are sampled before they are moved; not tuned
FEATURE_RANK = 300  # landmarks of more rows, as for a search by merging; not tuned
AUTO_STARTS = 10  # of n_init="auto"; not tuned
QUICK_RANK = 100  # features for labels that are only a candidate, as many as members of a search by merging see
QUICK_STARTS = 2  # by k-means: three, or ten with kicks, did no better on 61 tasks
QUICK_AXES = 3  # thresholds that are starts of two clusters, beside those
QUICK_TURNS = 20  # of k-means, which moves go on from
SMOOTHING_STEPS = 2  # of smoothing="auto"; not tuned
SMOOTHED_ROWS = 1_000  # smaller tables lose by smoothing
REACHED = 0.8  # share of rows that the neighbour graph must serve for smoothing="auto" to use it
CONTINUATION = (0.1, 1.0)  # every start is improved with a tenth of C first: fewer directions, fewer poor optima
POLISH_SWEEPS = 3  # of exact moves on all rows, each a pass over them; not tuned
KICKS = 5  # of the best start: each costs as much as a start; not tuned
LOOSER = 0.1  # of the least size: what is tried to see whether the bound keeps a better answer out
LEAST_GROUP = 5  # fewer rows are outliers
MISSED = 0.5  # share of the unexplained part that such an answer must leave to be worth a warning


@dataclass(frozen=True)
class MovesSearch:
    """A search by single moves from many starts.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    min_cluster_fraction : float
        Share of n / k rows that every cluster keeps.
    init : str or None
        How starts are made; None for starting labels.
    n_init : int or "auto"
        Number of k-means starts.
    smoothing : int or "auto"
        Steps of smoothing.
    n_neighbors : int
        Neighbours of a row in the graph that smooths.
    """

    n_clusters: int
    min_cluster_fraction: float
    init: str | None
    n_init: int | str
    smoothing: int | str
    n_neighbors: int

    cuts_anywhere: ClassVar[bool] = False  # a search finds one number of clusters
    unit_rows: ClassVar[bool] = False  # sparse rows stay as they are
    auto_fraction: ClassVar[float] = 0.2  # of min_cluster_fraction="auto": R2 alone would split off single rows

    @property
    def n_starts(self) -> int:
        """Number of k-means starts."""
        return AUTO_STARTS if self.n_init == "auto" else int(self.n_init)

    @property
    def follows_columns(self) -> bool:
        """Single moves take every column for a number."""
        return False

    def n_searched(self, shape: tuple[int, int], *, sparse: bool, by_columns: bool) -> int:
        """How many rows of a table to search, at most."""
        return shape[0] if shape[0] <= MOST_MOVED else sample_size(self.n_clusters)

    def n_landmarks(self, n: int) -> int:
        """How many landmarks n searched rows get."""
        return n if n <= EXACT_MOVES_ROWS else FEATURE_RANK

    def n_records(self, n: int) -> int:
        """How many starts there are."""
        return count_feature_starts(self.init, self.n_clusters, self.n_starts) if self.init else 1

    def run(self, prepared: PreparedRows, recorder: Recorder[StartRecord], rng: np.random.Generator) -> SearchResult:
        """Labels of the largest R2 over all starts, which keep the constraints."""
        space, k = prepared.space, self.n_clusters
        min_count = self.least_size(space.rows.shape[0])
        P, lam, steps = self.features(space, space.principal, space.features)
        # Labels that the user gave are refined, not led elsewhere first.
        factors = CONTINUATION if prepared.start is None else CONTINUATION[-1:]
        stages = [whiten(P, lam, 1 / (factor * space.C)) for factor in factors]
        if prepared.start is not None:
            starts: Iterable[tuple[str, Labels]] = [("given", prepared.start)]
        else:
            assert self.init is not None
            starts = feature_starts(self.init, P, space.rows, k, self.n_starts, min_count, rng)
        found = search_partition(stages, starts, k, min_count, recorder, rng)
        if found.missed is not None:
            warn_caller(found.what_is_missed(self.min_cluster_fraction), StarvedClusterWarning)
        labels = found.best.labels
        if prepared.units is not None:
            labels = constrained_labels(space.rows, self.n_neighbors, labels, k, prepared.units)
        return SearchResult(
            labels=labels,
            n_clusters=k,
            objective=found.best.objective,
            members=[labels],
            smoothing=steps,
            starved=found.missed is not None,
        )

    def polish(
        self, blocks: Rows, kernel_map: KernelMap, labels: State, C: float, rng: np.random.Generator
    ) -> tuple[Labels, Floats, Floats, Floats]:
        """Labels after exact moves of all rows, the mean of the features, and weights and constants of the scores."""
        assert isinstance(blocks, RowBlocks)  # rows on workers are searched by merging alone
        features, k = kernel_map.transform_blocks(blocks), self.n_clusters
        # Whitened by all rows, not by the sample: with the sample's covariance the moves go astray.
        principal = PrincipalMap.fit(features)
        Q = principal.whiten_in_place(features, 1 / C)
        start = blocks.collect(labels)
        moved = improve_by_moves(Q, start, k, self.least_size(len(Q)), rng, POLISH_SWEEPS).labels
        sums, sizes = cluster_sums(Q, moved, k), np.bincount(moved, minlength=k)
        return moved, principal.mean, *nearest_mean_scores(sums, principal.whitening(1 / C), sizes)

    def least_size(self, n: int) -> int:
        """Rows that every cluster keeps of n."""
        return max(1, int(self.min_cluster_fraction * n / self.n_clusters))

    def features(
        self, space: SearchSpace, principal: PrincipalMap, Phi: Floats, graph: NeighbourGraph | None = None
    ) -> tuple[Floats, Floats, int]:
        """Principal coordinates of features, smoothed by the graph or not, their squared lengths, and the steps."""
        P, lam = principal.transform(Phi), principal.lam
        if self.smoothing == 0 or (self.smoothing == "auto" and len(P) < SMOOTHED_ROWS):
            return P, lam, 0
        if graph is None:
            graph = neighbour_graph(space.rows, self.n_neighbors)
        if self.smoothing == "auto":
            steps = SMOOTHING_STEPS if graph.reached >= REACHED else 0
        else:
            steps = int(self.smoothing)
        if not steps:
            return P, lam, 0
        smooth = graph.smooth(P, steps)
        turned = PrincipalMap.fit(smooth)
        if not len(turned.lam):  # two rows, each the neighbour of the other, have one average
            return P, lam, 0
        return turned.transform(smooth), turned.lam, steps


@dataclass(frozen=True)
class QuickMoves:
    """Labels by single moves from few starts: a candidate beside those of a search by merging.

    ``seed`` decides about the starts, whatever the numbers of clusters that were asked for before.
    """

    space: SearchSpace
    graph: NeighbourGraph
    seed: int

    def __call__(self, k: int, start: Labels) -> Labels:
        """Labels of the largest R2 for k clusters, among ties the most even ones; ``start`` is one of the starts."""
        search, rng = MovesSearch(k, MovesSearch.auto_fraction, None, 1, "auto", 0), default_rng((self.seed, k))
        Phi = self.space.features[:, :QUICK_RANK]
        P, lam, _ = search.features(self.space, PrincipalMap.fit(Phi), Phi, self.graph)
        stages = [whiten(P, lam, 1 / (factor * self.space.C)) for factor in CONTINUATION]
        least, found = search.least_size(len(P)), []
        for labels in self._starts(np.ascontiguousarray(P), k, least, rng):
            for Q in stages:
                partition = improve_by_moves(Q, labels, k, least, rng)
                labels = partition.labels
            found.append(partition)
        found.append(improve_by_moves(stages[-1], start, k, least, rng))  # refined, not led elsewhere first
        return most_even(found, k).labels

    @staticmethod
    def _starts(P: Floats, k: int, least: int, rng: np.random.Generator) -> Iterator[Labels]:
        """k-means on the features, and for two clusters the best thresholds along leading axes."""
        for _ in range(QUICK_STARTS):
            yield kmeans(P, k, QUICK_TURNS, rng)
        for axis in range(min(QUICK_AXES, P.shape[1]) if k == 2 else 0):
            yield best_threshold(P[:, axis], least)


@dataclass(frozen=True)
class FoundPartition:
    """The best labels within the bound on sizes, and far better ones beyond it if the search has met any."""

    best: Partition
    missed: Partition | None

    def what_is_missed(self, min_cluster_fraction: float) -> str:
        """The better labels beyond the bound, and how to get them."""
        assert self.missed is not None
        sizes = np.bincount(self.missed.labels)
        share = sizes.min() / sizes.sum()
        return (
            f"min_cluster_fraction={min_cluster_fraction} keeps out clusters that fit much better: one of them has "
            f"{share:.1%} of the rows, and R2 would be {self.missed.objective:.3g} and not {self.best.objective:.3g}; "
            f"set min_cluster_fraction below {share * len(sizes):.2g} to find them."
        )


def search_partition(
    stages: Sequence[Floats],
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
            partition = improve_by_moves(Q, labels, k, min_count, rng)
            labels = partition.labels
        found.append(partition)
        if recorder.add(start=i, kind=kind, objective=partition.objective):
            return FoundPartition(most_even(found, k), None)
    first = max(found, key=lambda partition: rounded(partition.objective))
    found.append(kick(first, stages[-1], k, min_count, KICKS, rng))
    best = most_even(found, k)
    return FoundPartition(best, _beyond_bound(best, stages[-1], uneven, k, min_count, rng))


def _beyond_bound(
    best: Partition, Q: Floats, starts: Sequence[Labels], k: int, min_count: int, rng: np.random.Generator
) -> Partition | None:
    """What starts with a cluster below the bound lead to if it is loosened, where that is far better."""
    loose = max(LEAST_GROUP, int(LOOSER * min_count))
    found = [improve_by_moves(Q, labels, k, loose, rng) for labels in starts] if loose < min_count else []
    better = max(found, key=lambda partition: partition.objective, default=best)
    return better if k - 1 - better.objective < MISSED * (k - 1 - best.objective) else None
