"""What a clusterer whose search leaves a forest of merges can do: other numbers of clusters, and how sure rows are."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from widegap._validation import check_threads
from widegap._warnings import warn_caller
from widegap.data._collections import count_labels
from widegap.data._kernel_maps import FoldedScores, KernelMap, fit_kernel_map, fit_precomputed_map
from widegap.data._kernels import holds_values
from widegap.data._neighbours import neighbour_graph
from widegap.data._principal import PrincipalMap
from widegap.data._rows import Rows, State
from widegap.data._sources import row_blocks
from widegap.data._tables import column_weights, storage
from widegap.estimators._base import WeightVectorClusterer
from widegap.estimators._merge_search import LEADING, SMOOTHINGS, Forest, grow, n_draws
from widegap.estimators._number_search import ClusterNumberScore, find_separations, number_scores
from widegap.estimators._partition_search import StartRecord
from widegap.estimators._search_space import Extension, SearchSpace, nearest_mean_scores
from widegap.exceptions import InvalidDataError, NoStructureWarning, NotSupportedError
from widegap.solvers._cluster_number import Separations
from widegap.solvers._merging import MergeTree
from widegap.solvers._prices import label_step
from widegap.solvers._result import FloatArray, LabelArray, Recorder
from widegap.solvers._single_moves import improve, r_squared

AUTO_COMPONENTS = 300
LEAST_COMPONENTS = 150
EXACT_ROWS = 1_000  # up to so many rows single moves see the kernel as it is
MOVES_FRACTION = 0.2  # of min_cluster_fraction="auto" where the search makes single moves
POLISH_SWEEPS = 3  # of exact moves on all rows
DOUBTFUL = 0.9  # agreement of the members below which the clusters are compared with chance
CHANCE = 2.5  # separation that rows without structure can reach


class ForestClusterer(WeightVectorClusterer):
    """Base of clusterers that search by merging, or by moves, some rows (``_space``) that stand for all."""

    _stored = {"agreement_": np.ndarray, "tree_": MergeTree, "n_clusters_scores_": list[ClusterNumberScore]}
    _not_stored = WeightVectorClusterer._not_stored | {"_forest", "_space", "_extension"}

    C: float
    kernel: Any
    gamma: float | str
    kernel_params: dict[str, Any] | None
    n_components: int | str
    standardize: bool | str
    search: str
    smoothing: int | str
    n_neighbors: int
    min_cluster_fraction: float | str
    smoothing_: int
    kernel_map_: KernelMap
    _forest: Forest
    _space: SearchSpace
    _extension: Extension

    @property
    def _precomputed(self) -> bool:
        return holds_values(self.kernel)

    @property
    def _by_moves(self) -> bool:
        """Whether the search makes single moves and leaves no forest."""
        raise NotImplementedError

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
        return max(1, int(self._fraction * n / self.n_clusters_))

    def _check_distributable(self) -> None:
        """Refuse what needs a number for every row, or more, in this process."""
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

    def cut(self, k: int) -> np.ndarray[Any, Any]:
        """Clusters of the fitted rows at another number, without a new search.

        Parameters
        ----------
        k : int
            From 1 to the number of groups of the search.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
            ``labels_`` if k is ``n_clusters_``. Of ``search="merge"`` cuts are nested: every cluster of ``cut(k)`` is a
            union of clusters of ``cut(k + 1)``. Of "agree" they need not be, as the members agree anew at each number;
            ``tree_.cut`` gives nested ones.
        """
        most = self._kept_forest().most_clusters
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= most:
            raise InvalidDataError(
                f"cut({k!r}) is not possible: the search formed {most} groups, so k must be a whole number from 1 to "
                f"{most}; fit with a larger n_clusters for more."
            )
        if k == self.n_clusters_:
            return self.labels_
        return self._extension.to_all_rows(self._forest.cut(int(k)).labels, int(k))

    def with_clusters(self, k: int) -> Self:
        """A fitted estimator for another number of clusters, without a new search.

        Parameters
        ----------
        k : int
            As for ``cut``.

        Returns
        -------
        estimator
            A new one, with ``labels_`` equal to ``cut(k)``; this one is left as it is.
        """
        labels = self.cut(k)
        other = clone(self).set_params(n_clusters=int(k))
        vars(other).update({name: value for name, value in vars(self).items() if name not in self.get_params()})
        other._store_cut(int(k))
        searched = np.asarray(labels[self._space.chosen])  # computed where labels are lazy
        other._fix_scores(self._space.whitened, self._space.principal, searched)
        other._store_labels(labels)
        return other

    def _kept_forest(self) -> Forest:
        """The members of the search, or why there are none."""
        check_is_fitted(self)
        if hasattr(self, "_forest"):
            return self._forest
        if self._by_moves:
            raise NotSupportedError("search='moves' looks for one number of clusters; use 'agree' or 'merge' to cut.")
        raise NotSupportedError(
            "Other numbers of clusters need the search, which one cluster does without and a model file does not "
            "hold; fit the rows again, with two clusters or more."
        )

    def _search_by_merging(
        self, more_features: Callable[[], Any], recorder: Recorder[StartRecord], rng: np.random.Generator
    ) -> LabelArray:
        """Labels of the searched rows on which the members agree; fewer than asked for where hardly any rows differ."""
        found = self._find_separations(rng) if self.n_clusters == "auto" else None
        k = self.n_clusters if found is None else found.n_clusters
        self._forest = self._grow(max(2, k), more_features, recorder, rng)
        if found is not None:
            self.n_clusters_scores_ = number_scores(found, self._forest)
        labels = self._store_cut(k)
        if found is None and self.agreement_.mean() < DOUBTFUL:
            self._warn_of_chance(self._find_separations(rng).separation)
        return labels

    def _find_separations(self, rng: np.random.Generator) -> Separations:
        return find_separations(self._space.rows, self.n_neighbors, rng)

    def _score_numbers(self, rng: np.random.Generator) -> list[ClusterNumberScore]:
        """What speaks for other numbers of clusters of the fitted rows."""
        return number_scores(self._find_separations(rng), self._kept_forest())

    def _grow(
        self, k: int, more_features: Callable[[], Any], recorder: Recorder[StartRecord], rng: np.random.Generator
    ) -> Forest:
        """The members, until the callback asks to stop; the first features are those of ``predict``."""
        space = self._space
        graph = neighbour_graph(space.rows, self.n_neighbors, check_threads(self.n_jobs))
        Q = space.whitened
        members: list[Any] = []
        first = space.features[:, : self.kernel_map_.leading(LEADING).projection.shape[1]]
        features = lambda: more_features() if members else first  # noqa: E731
        for member in grow(features, graph, k, rng, n_draws(len(space.chosen)), self._smoothings):
            members.append(member)
            objective = r_squared(Q, member.labels(k), k)
            if recorder.add(start=len(members) - 1, kind=member.kind, objective=objective) or self.search == "merge":
                break
        return Forest(members, graph)

    def _store_cut(self, k: int) -> LabelArray:
        """Cut the forest at k clusters, store what follows, and return the labels of the searched rows."""
        found = self._forest.cut(k)
        self.n_clusters_, self.tree_, self.agreement_, self.starved_ = k, found.tree, found.agreement, False
        self.objective_ = r_squared(self._space.whitened, found.labels, k) if k > 1 else 0.0
        return found.labels

    def _warn_of_chance(self, separation: FloatArray) -> None:
        k = self.n_clusters_
        if separation[: k - 1].max(initial=0.0) < CHANCE:
            warn_caller(
                f"The {k} clusters are no more apart than those of rows without structure, and the members of the "
                f"search agree on {100 * self.agreement_.mean():.0f} % only: do not read much into them. "
                "n_clusters='auto' tells whether another number does better.",
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
            unit_rows=self.standardize == "auto" and not self._by_moves and storage(sample) == "sparse",
        )

    def _auto_rank(self, n: int) -> int:
        """How many landmarks n searched rows get."""
        if self._by_moves:
            return n if n <= EXACT_ROWS else AUTO_COMPONENTS
        return min(AUTO_COMPONENTS, max(LEAST_COMPONENTS, n // 4))

    def _label_all(self, rows: Rows, labels: LabelArray, rng: np.random.Generator) -> State:
        """Labels of all rows: those beyond the sample get theirs by the scores, in one pass."""
        space, by_moves = self._space, self._by_moves
        self._fix_scores(space.whitened, space.principal, labels)
        if by_moves:
            del self._space
        marks, whole = rows.mark(space.chosen), len(space.chosen) == rows.shape[0]
        if whole:
            found, nearest = rows.fold(lambda marks: ((labels[marks], marks), 0), marks)[0]
        elif by_moves:
            found = self._folded().map(rows, _largest)
        else:
            found, nearest = self._extend(rows, labels, marks)
        if not by_moves:
            groups = self._forest.members[0].groups
            self._extension = Extension.of(rows, nearest, marks, groups)
        found = self._with_bound(rows, found)
        # Moves by coordinates that are not smoothed would undo what smoothing found.
        return found if whole or not by_moves or self.smoothing_ else self._polish(rows, found, rng)

    def _polish(self, blocks: Any, labels: Any, rng: np.random.Generator) -> Any:
        """Exact moves of all rows."""
        features = self.kernel_map_.transform_blocks(blocks)
        # Whitened by all rows, not by the sample: with the sample's covariance the moves go astray.
        principal = PrincipalMap.fit(features)
        Q = principal.whiten_in_place(features, 1 / self.C)
        labels = improve(Q, labels, self.n_clusters_, self._min_count(len(Q)), rng, POLISH_SWEEPS).labels
        self._fix_scores(Q, principal, labels)
        return labels

    def _with_bound(self, rows: Rows, labels: State) -> State:
        """The labels, moved at least cost in the scores where a cluster would be too small."""
        k = self.n_clusters_
        least = self._min_count(rows.shape[0])
        counts = rows.fold(lambda labels: ((), np.bincount(labels, minlength=k)), labels)[1]
        if counts.min() >= least:
            return labels
        (costs,) = self._folded().sweep(rows, _costs, labels)
        return label_step(rows)(costs, np.full(k, least)).labels

    def _extend(self, rows: Rows, labels: LabelArray, marks: State) -> tuple[State, ...]:
        """Cluster and nearest group of every row; the searched rows keep their labels."""
        space, k = self._space, self.n_clusters_
        groups = self._forest.members[0].groups
        Q, m = space.whitened, int(groups.max()) + 1
        coef, constants = nearest_mean_scores(Q, space.principal, groups, m, self.C)
        W = np.vstack([self.coef_, coef])
        b = np.concatenate([self._mean_scores, constants])

        def winners(scores: Any, marks: Any) -> Any:
            return np.where(marks < 0, _largest(scores[:, :k]), labels[marks]), _largest(scores[:, k:])

        return FoldedScores(self.kernel_map_, W, b, space.principal.mean).sweep(rows, winners, marks)

    def _fix_scores(self, Q: Any, principal: PrincipalMap, labels: Any) -> None:
        """Scores of the nearest cluster mean, as weights for the features."""
        self.coef_, self._mean_scores = nearest_mean_scores(Q, principal, labels, self.n_clusters_, self.C)
        self._mean = principal.mean
        self.intercept_ = self._mean_scores - self.coef_ @ self._mean

    def _store_labels(self, labels: Any) -> None:
        self.labels_ = labels
        if hasattr(self, "_extension"):
            self.agreement_ = self._extension.to_all_means(self.agreement_)
        sizes = count_labels(labels, self.n_clusters_)
        self.starved_ = bool(self.starved_ or sizes.min() <= self._min_count(len(labels)))


def _largest(scores: Any) -> Any:
    """Number of the largest score of every row."""
    return scores.argmax(axis=1).astype(np.int32)


def _costs(scores: Any, labels: Any) -> tuple[Any]:
    """What the clusters cost every row; its own is no dearer than any."""
    costs = -scores
    costs[np.arange(len(labels)), labels] = costs.min(axis=1)
    return (costs,)
