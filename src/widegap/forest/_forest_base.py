"""How a clusterer searches by merging, and labels all rows by what it found."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from widegap._types import Doubles, Labels
from widegap._warnings import warn_caller
from widegap.base._progress import logger
from widegap.base._records import Recorder
from widegap.base._starts import sample_size
from widegap.base._validation import (
    check_cluster_number,
    check_rows_left,
    check_threads,
    one_point_error,
)
from widegap.constraints._label_rules import rules_for
from widegap.constraints._outliers import typical_rows
from widegap.constraints._side_information import RowConstraints, SideInformation, refuse_elsewhere
from widegap.constraints._taking_part import TakingPart
from widegap.exceptions import NoStructureWarning, NotSupportedError, StarvedClusterWarning
from widegap.features._kernel_maps import FoldedScores, KernelMap, fit_kernel_map, fit_precomputed_map
from widegap.features._kernels import holds_values
from widegap.features._neighbours import neighbour_graph
from widegap.features._principal import PrincipalMap
from widegap.forest._forest_cuts import ForestCuts, largest_or_none
from widegap.forest._informed_cut import informed_labels, rows_by_weight, rows_to_search
from widegap.forest._merge_search import LEADING, SMOOTHINGS, Forest, grow, plan_for
from widegap.forest._moves_search import MovesSearch
from widegap.forest._number_search import (
    ClusterNumberScore,
    find_separations,
    number_scores,
    separations_found,
)
from widegap.forest._partition_search import StartRecord
from widegap.forest._search_space import Extension, SearchSpace, nearest_mean_scores
from widegap.forest._single_moves import cluster_sums, improve
from widegap.rows._matrices import column_weights, storage
from widegap.rows._protocols import Rows, State
from widegap.rows._sources import row_blocks

SEARCH_ROWS = 10_000  # more rows are searched through a sample of so many
AUTO_COMPONENTS = 300
LEAST_COMPONENTS = 150
EXACT_ROWS = 1_000  # up to so many rows single moves see the kernel as it is
MOVES_FRACTION = 0.2  # of min_cluster_fraction="auto" where the search makes single moves
POLISH_SWEEPS = 3  # of exact moves on all rows
DOUBTFUL = 0.9  # agreement of the members below which the clusters are compared with chance
LEAST_SOUND = 0.3  # share of sound members below which they are, too: less than one of the three rules
CHANCE = 2.5  # separation that rows without structure can reach


class ForestClusterer(ForestCuts):
    """Base of clusterers that search by merging, or by moves, some rows (``_space``) that stand for all."""

    kernel: Any
    gamma: float | str
    kernel_params: dict[str, Any] | None
    n_components: int | str
    standardize: bool | str
    smoothing: int | str
    n_neighbors: int
    min_cluster_fraction: float | str  # type: ignore[assignment]
    outliers: float | str
    smoothing_: int
    init: Any
    n_init: int | str
    callback: Any

    @property
    def _precomputed(self) -> bool:
        return holds_values(self.kernel)

    @property
    def _smoothings(self) -> tuple[int, ...]:
        """Steps of smoothing of the members."""
        return SMOOTHINGS if self.smoothing == "auto" else (int(self.smoothing),)

    @property
    def _leaves_forest(self) -> bool:
        """Whether one fit serves every number of clusters."""
        return not self._by_moves

    @property
    def _fraction(self) -> float:
        if self.min_cluster_fraction == "auto":
            return MOVES_FRACTION if self._by_moves else 0.0
        return float(self.min_cluster_fraction)

    def _min_count(self, n: int) -> int:
        """Least rows of a cluster among n."""
        return self._least_size(n, self.n_clusters_)

    def _least_size(self, n_rows: int, n_clusters: int) -> int:
        return max(1, int(self._fraction * n_rows / n_clusters))

    def _check_distributable(self) -> None:
        """Refuse what needs a number for every row, or more, in this process."""
        if self.outliers:
            raise NotSupportedError(
                f"outliers={self.outliers!r} on rows of Dask would need a look at all neighbours in one process; set "
                "rows of a sample aside, X[:10000].compute(), and use predict(X, reject=True) for all."
            )
        if self._by_moves:
            what = "init=<labels>" if self.search != "moves" else "search='moves'"
            raise NotSupportedError(
                f"{what} on rows of Dask would need the kernel features of all rows in one process; use "
                "search='agree' or 'merge' without starting labels, or fit X.compute()."
            )
        if self._precomputed:
            raise NotSupportedError(
                "kernel='precomputed' on rows of Dask would need the kernel between searched rows and all rows in one "
                "process; pass the rows and a kernel, or fit X.compute()."
            )

    def _check_constraints(self, side: SideInformation, rows: Rows) -> RowConstraints:
        """What was said of the rows, if it can be kept where they are; refuses sizes that cannot."""
        constraints, k = self._read_constraints(side, rows.shape[0]), self.n_clusters
        if not rows.in_process:
            refuse_elsewhere(constraints, self.size_max)
        if k != "auto":
            self._size_bounds(constraints, rows.shape[0], k)
            self.classes_ = constraints.classes_of(k)
        return constraints

    def _search_rows(self, blocks: Any, rng: np.random.Generator) -> None:
        """Search a sample (or all rows), then label all."""
        n = blocks.shape[0]
        numbers, copies = np.unique(self._choose(n, rng), return_inverse=True)
        chosen, sample = numbers[copies], blocks.take(numbers)
        if len(copies) > len(numbers):
            sample = sample[copies]
        kept = self._typical(sample, chosen, n, rng)
        aside, others = chosen[~kept], sample[~kept]
        chosen, sample = (chosen, sample) if kept.all() else (chosen[kept], sample[kept])
        check_cluster_number(len(np.unique(chosen)), 1 if self.n_clusters == "auto" else self.n_clusters)
        self.kernel_map_ = self._fit_map(sample, chosen, rng, self.gamma)
        self._space = SearchSpace.of(sample, chosen, self.kernel_map_, self.C, precomputed=self._precomputed)
        self._aside = self.kernel_map_.transform(others) if len(aside) else self._space.features[:0]
        if self._space.is_point:
            raise one_point_error(self.kernel, sample, len(chosen), self.n_clusters)
        recorder = Recorder(StartRecord, self.callback, logger.info if self.verbose else None)
        if self._by_moves:
            labels = self._search_by_moves(self.n_clusters, n, recorder, rng)
        else:
            fewest = 1 if self.n_clusters != "auto" else self._fewest_clusters(n - len(np.unique(aside)))
            labels = self._search_by_merging(fewest, lambda: self._more_features(sample, rng), recorder, rng)
        self.history_ = recorder.records
        self.n_iter_, self.converged_ = len(recorder.records), not recorder.stopped
        self._store_labels(blocks.publish(self._label_all(blocks, labels, aside, rng)))

    def _choose(self, n: int, rng: np.random.Generator) -> Any:
        """Numbers of the rows to be searched, several times where weights say so."""
        most = max(SEARCH_ROWS, 1 if self.n_clusters == "auto" else 2 * self.n_clusters)
        if self._by_moves:
            most = n if n <= SEARCH_ROWS else sample_size(self.n_clusters)
        if self._constraints.weights is not None:
            return rows_by_weight(self._constraints.weights, most, rng)
        return rows_to_search(n, most, self._constraints.units, rng)

    def _search_by_moves(self, k: int, n: int, recorder: Recorder[StartRecord], rng: np.random.Generator) -> Any:
        """Labels of the largest R2 over all starts."""
        self.n_clusters_ = k
        named = isinstance(self.init, str)
        search = MovesSearch(
            n_clusters=k,
            C=self.C,
            min_count=self._min_count(len(self._space.chosen)),
            init=self.init if named else "given",
            n_init=self._n_init,
            given=None if named else self._start_labels(self._constraints, n, k)[self._space.chosen],
            smoothing=self.smoothing,
            n_neighbors=self.n_neighbors,
        )
        found, self.smoothing_ = search.run(self._space, recorder, rng)
        self.starts_ = np.array([record.objective for record in recorder.records])
        self.objective_ = found.best.objective
        self.starved_ = found.missed is not None
        if found.missed is not None:
            warn_caller(found.what_is_missed(self._fraction), StarvedClusterWarning)
        units, labels = self._searched_units(), found.best.labels
        return labels if units is None else informed_labels(self._space.rows, self.n_neighbors, labels, k, units)

    @property
    def _n_init(self) -> int:
        return 10 if self.n_init == "auto" else self.n_init

    def _search_by_merging(
        self, fewest: int, more_features: Callable[[], Any], recorder: Recorder[StartRecord], rng: np.random.Generator
    ) -> Labels:
        """Labels of the searched rows on which the members agree; fewer than asked for where hardly any rows differ.

        "auto" finds ``fewest`` clusters or more.
        """
        rows, neighbours = self._space.rows, self.n_neighbors
        found = find_separations(rows, neighbours, rng) if self.n_clusters == "auto" else None
        k = self.n_clusters if found is None else max(found.n_clusters, fewest)
        self._forest = self._grow(max(2, k), more_features, recorder, rng)
        if found is not None:
            self.n_clusters_scores_ = number_scores(found, self._forest)
        labels = self._store_cut(k)
        if found is None and (doubt := self._doubt()):
            self._warn_of_chance(separations_found(self._forest, k, rows, neighbours, rng), doubt)
        return labels

    def _doubt(self) -> str:
        """What speaks against the clusters: that members disagree, or that few count, whose agreement may be chance."""
        agreement, sound = self.agreement_.mean(), self._forest.share_sound(self.n_clusters_)
        if agreement < DOUBTFUL:
            return f"the members of the search agree only to {100 * agreement:.0f} %"
        if sound < LEAST_SOUND:
            return f"{100 * (1 - sound):.0f} % of the members of the search were left out for clusters of stray rows"
        return ""

    def _score_numbers(self, rng: np.random.Generator) -> list[ClusterNumberScore]:
        """What speaks for other numbers of clusters of the fitted rows."""
        return number_scores(find_separations(self._space.rows, self.n_neighbors, rng), self._kept_forest())

    def _grow(
        self, k: int, more_features: Callable[[], Any], recorder: Recorder[StartRecord], rng: np.random.Generator
    ) -> Forest:
        """The members, until the callback asks to stop; the first features are those of ``predict``."""
        space = self._space
        graph = neighbour_graph(space.rows, self.n_neighbors, check_threads(self.n_jobs))
        members: list[Any] = []
        first = space.features[:, : self.kernel_map_.leading(LEADING).projection.shape[1]]
        features = lambda: more_features() if members else first  # noqa: E731
        spacing = graph.spacing if self._by_angle(space.rows) and self.search == "agree" else None
        for member in grow(features, graph, k, rng, plan_for(len(space.chosen)), self._smoothings):
            if not members or member.groups is not members[-1].groups:
                sums = space.whitened_sums(member.groups, len(member.tree.leaf_sizes))
            members.append(member)
            objective = member.explained(sums, k, spacing)
            if recorder.add(start=len(members) - 1, kind=member.kind, objective=objective) or self.search == "merge":
                break
        return Forest(members, graph, spacing)

    def _warn_of_chance(self, separation: Doubles, doubt: str) -> None:
        k = self.n_clusters_
        if separation.max(initial=0.0) < CHANCE:
            warn_caller(
                f"The {k} clusters are no further apart than clusters of rows without structure, and {doubt}: do not "
                "read much into them. n_clusters='auto' tells whether another number does better.",
                NoStructureWarning,
            )

    def _more_features(self, sample: Any, rng: np.random.Generator) -> Any:
        """Leading features of the searched rows from other landmarks, by the same kernel."""
        arguments = self.kernel_map_.params
        found = self._fit_map(sample, self._space.chosen, rng, arguments.get("gamma", self.gamma))
        return found.leading(LEADING).transform(sample)

    def _fit_map(self, sample: Any, chosen: Any, rng: np.random.Generator, gamma: float | str) -> KernelMap:
        """Features of the kernel from the searched rows."""
        n = len(chosen)
        rank = self._auto_rank(n) if self.n_components == "auto" else self.n_components
        if self._precomputed:
            return fit_precomputed_map(sample, chosen, rank, rng)
        return fit_kernel_map(
            row_blocks(sample),
            self.kernel,
            gamma=gamma,
            params=self.kernel_params,
            n_components=rank,
            rng=rng,
            weights=column_weights(sample, self.standardize),
            unit_rows=self._by_angle(sample),
        )

    def _by_angle(self, rows: Any) -> bool:
        """Whether rows are brought to length one, as documents are compared."""
        return self.standardize == "auto" and not self._by_moves and storage(rows) == "sparse"

    def _auto_rank(self, n: int) -> int:
        """How many landmarks n searched rows get."""
        if self._by_moves:
            return n if n <= EXACT_ROWS else AUTO_COMPONENTS
        return min(AUTO_COMPONENTS, max(LEAST_COMPONENTS, n // 4))

    def _typical(self, sample: Any, chosen: Any, n: int, rng: np.random.Generator) -> Any:
        """Which of the searched rows, of n, take part: those that ``outliers`` does not set aside."""
        if not self.outliers:
            return np.ones(len(chosen), dtype=bool)
        first = self._fit_map(sample, chosen, rng, self.gamma)
        space = SearchSpace.of(sample, chosen, first, self.C, precomputed=self._precomputed)
        graph = neighbour_graph(space.rows, self.n_neighbors, check_threads(self.n_jobs))
        held = self._constraints.constrained(n)[chosen]
        kept = typical_rows(graph.nearest, graph.distances, self.outliers, held)
        return check_rows_left(kept, self.outliers, self.n_clusters)

    def _label_all(self, rows: Rows, labels: Labels, aside: Any, rng: np.random.Generator) -> State:
        """Labels of all rows: those beyond the sample get theirs by the scores, in one pass, those ``aside`` -1."""
        space, by_moves = self._space, self._by_moves
        self._fix_scores(labels)
        self._judge_scores(labels)
        if by_moves:
            del self._space
        marks, whole = rows.mark(space.chosen), space.is_all(rows.shape[0])
        if whole:
            found, nearest = rows.fold(lambda marks: ((labels[marks], marks), 0), marks)[0]
        elif by_moves:
            found = self._folded().map(rows, self._largest_if_typical())
        else:
            found, nearest = self._extend(rows, space, labels, marks)
        if not by_moves:
            groups = self._forest.members[0].groups
            self._extension = Extension.of(rows, nearest, marks, groups)
        if self.outliers:
            found[aside], found[space.chosen] = -1, labels
        found = self._with_rules(rows, found)
        # Moves by coordinates that are not smoothed would undo what smoothing found; nor do they know of anything else.
        plain = self._constraints.is_empty and not self.outliers and self.size_min is None and self.size_max is None
        polished = by_moves and not whole and not self.smoothing_ and plain
        return self._polish(rows, found, rng) if polished else found

    def _polish(self, blocks: Any, labels: Any, rng: np.random.Generator) -> Any:
        """Exact moves of all rows."""
        features = self.kernel_map_.transform_blocks(blocks)
        # Whitened by all rows, not by the sample: with the sample's covariance the moves go astray.
        principal = PrincipalMap.fit(features)
        Q = principal.whiten_in_place(features, 1 / self.C)
        labels = improve(Q, labels, self.n_clusters_, self._min_count(len(Q)), rng, POLISH_SWEEPS).labels
        k, whitening = self.n_clusters_, principal.whitening(1 / self.C)
        sums, sizes = cluster_sums(Q, labels, k), np.bincount(labels, minlength=k)
        self._store_scores(principal.mean, *nearest_mean_scores(sums, whitening, sizes))
        return labels

    def _with_rules(self, rows: Rows, labels: State) -> State:
        """The labels, moved at least cost in the scores where sizes, known labels or links demand it."""
        k, constraints = self.n_clusters_, self._constraints
        if self.outliers:
            return self._with_rules_inside(rows, labels)
        rules = rules_for(rows, constraints.units, *self._size_bounds(constraints, rows.shape[0], k))
        counts = rows.fold(lambda labels: ((), np.bincount(labels, minlength=k)), labels)[1]
        if rules.allow(counts) and rules.keeps(labels):
            return labels
        (costs,) = self._folded().sweep(rows, _costs, labels)
        return rules.label(costs, None).labels

    def _with_rules_inside(self, rows: Rows, labels: Any) -> Any:
        """The same where some rows were set aside, which count for nothing."""
        part = TakingPart.where((labels >= 0) | self._constraints.constrained(len(labels)))
        rule, inside = self._rule_inside(part, self.n_clusters_), part.present
        if (labels[inside] < 0).any() or not rule.admits(labels[inside]):  # rows of which something is known stay
            (costs,) = self._folded().sweep(rows, _costs, labels)
            labels[inside] = rule.label(costs[inside]).labels
        return labels

    def _largest_if_typical(self) -> Callable[[Any], Any]:
        """The rule of ``predict`` for rows that were not searched: -1 may be an answer if ``outliers`` is set."""
        return partial(largest_or_none, least=self.reject_below_) if self.outliers else _largest

    def _extend(self, rows: Rows, space: SearchSpace, labels: Labels, marks: State) -> tuple[State, ...]:
        """Cluster and nearest group of every row; the searched rows keep their labels."""
        k, choose = self.n_clusters_, self._largest_if_typical()
        groups = self._forest.members[0].groups
        coef, constants = space.nearest_mean_scores(groups, int(groups.max()) + 1)
        W = np.vstack([self.coef_, coef])
        b = np.concatenate([self._mean_scores, constants])

        def winners(scores: Any, marks: Any) -> Any:
            return np.where(marks < 0, choose(scores[:, :k]), labels[marks]), _largest(scores[:, k:])

        return FoldedScores(self.kernel_map_, W, b, space.mean).sweep(rows, winners, marks)


def _largest(scores: Any) -> Any:
    """Number of the largest score of every row."""
    return scores.argmax(axis=1).astype(np.int32)


def _costs(scores: Any, labels: Any) -> tuple[Any]:
    """What the clusters cost every row; its own is no dearer than any."""
    costs = -scores
    rows = np.flatnonzero(labels >= 0)
    costs[rows, labels[rows]] = costs[rows].min(axis=1)
    return (costs,)
