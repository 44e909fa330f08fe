"""Search by exact single moves: features smoothed over neighbours where that serves, starts, and the search itself.

The objective and the moves are those of ``forest/_single_moves.py``, the search among starts is in
``_partition_search.py``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Doubles, Labels
from widegap.base._records import Recorder
from widegap.base._starts import feature_starts
from widegap.features._neighbours import neighbour_graph
from widegap.features._principal import PrincipalMap, whiten
from widegap.forest._partition_search import FoundPartition, StartRecord, search_partition
from widegap.forest._search_space import SearchSpace

SMOOTHING_STEPS = 2
SMOOTHED_ROWS = 1_000  # smaller tables lose by smoothing
REACHED = 0.8  # share of rows that the neighbour graph must serve for smoothing="auto" to use it
CONTINUATION = (0.1, 1.0)  # every start is improved with a tenth of C first: fewer directions, fewer poor optima


@dataclass(frozen=True)
class MovesSearch:
    """What the search is told; ``given`` are starting labels of the searched rows, None to make starts by ``init``."""

    n_clusters: int
    C: float
    min_count: int
    init: str
    n_init: int
    given: Labels | None
    smoothing: int | str
    n_neighbors: int

    def run(
        self, space: SearchSpace, recorder: Recorder[StartRecord], rng: np.random.Generator
    ) -> tuple[FoundPartition, int]:
        """The best labels of the searched rows, and the steps of smoothing that were taken."""
        P, lam, steps = self._features(space)
        # Labels that the user gave are refined, not led elsewhere first.
        factors = CONTINUATION if self.given is None else CONTINUATION[-1:]
        stages = [whiten(P, lam, 1 / (factor * self.C)) for factor in factors]
        starts = (
            feature_starts(self.init, P, space.rows, self.n_clusters, self.n_init, self.min_count, rng)
            if self.given is None
            else [("given", self.given)]
        )
        return search_partition(stages, starts, self.n_clusters, self.min_count, recorder, rng), steps

    def _features(self, space: SearchSpace) -> tuple[Doubles, Doubles, int]:
        """Principal coordinates, smoothed or not, their squared lengths, and the steps."""
        P, lam = space.principal.transform(space.features), space.principal.lam
        if self.smoothing == 0 or (self.smoothing == "auto" and len(P) < SMOOTHED_ROWS):
            return P, lam, 0
        graph = neighbour_graph(space.rows, self.n_neighbors)
        steps: Any = self.smoothing
        if steps == "auto":
            steps = SMOOTHING_STEPS if graph.reached >= REACHED else 0
        if not steps:
            return P, lam, 0
        P = graph.smooth(P, steps)
        turned = PrincipalMap.fit(P)
        return turned.transform(P), turned.lam, steps
