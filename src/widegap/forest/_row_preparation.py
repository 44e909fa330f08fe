"""How the rows of a fit become those that a search sees: sampled, mapped by the kernel, outliers left out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from widegap._types import Floats, Ints, Mask
from widegap.base._validation import check_cluster_number, check_rows_left, one_point_error
from widegap.constraints._outliers import typical_rows
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._column_groups import ColumnGroup
from widegap.features._kernel_maps import KernelMap, fit_kernel_map, fit_precomputed_map
from widegap.features._kernels import holds_values
from widegap.features._neighbours import neighbour_graph
from widegap.forest._column_search import ColumnSearch, has_few_levels, unmeasured_columns
from widegap.forest._forest_search import ForestSearch
from widegap.forest._merge_search import LEADING
from widegap.forest._moves_search import MovesSearch
from widegap.forest._search_space import PreparedRows, SearchSpace, rows_by_weight, rows_to_search
from widegap.rows._centred import Moments, finite_moments
from widegap.rows._matrices import column_weights, dense_rows, storage
from widegap.rows._protocols import Rows
from widegap.rows._sources import held_table, row_blocks

COLUMN_ROWS = 1_000  # which tell whether a table has few values in most columns


@dataclass(frozen=True)
class RowsToFit:
    """The rows of a fit, their side information as it came and as it was read, and which columns belong together."""

    blocks: Rows
    side: SideInformation
    constraints: RowConstraints
    groups: Sequence[ColumnGroup] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.blocks.shape

    @cached_property
    def moments(self) -> Moments:
        """Means and scatter of the columns, in one read; refuses NaN and infinity."""
        return finite_moments(self.blocks)

    @property
    def are_equal(self) -> bool:
        """Whether no column varies."""
        return not self.moments.varies.any() or self.moments.variance == 0


@dataclass(frozen=True)
class SearchedRows:
    """The rows that a search takes, which of the table they are, their map, and the outliers as they came."""

    prepared: PreparedRows
    part: TakingPart
    kernel_map: KernelMap
    outliers: Any


@dataclass(frozen=True)
class KernelSettings:
    """Parameters of the estimator that decide how rows are mapped."""

    kernel: str | Callable[..., Any]
    gamma: float | str
    params: dict[str, Any] | None
    n_components: int | str
    standardize: bool | str


@dataclass(frozen=True)
class RowPreparation:
    """How rows are prepared: for which search, by which kernel, with which ridge and share of outliers.

    The kernel does not see ``unmeasured`` columns.
    """

    search: ForestSearch | MovesSearch
    settings: KernelSettings
    C: float
    outliers: float | str
    n_threads: int
    unmeasured: Sequence[int] | None = None

    @property
    def precomputed(self) -> bool:
        """Whether the rows are those of a kernel matrix."""
        return holds_values(self.settings.kernel)

    def run(self, rows: RowsToFit, rng: np.random.Generator) -> SearchedRows:
        """The rows to be searched."""
        first = _first_rows_of_table(rows) if self.search.follows_columns else None
        if first is None or rows.groups is None:
            return self._run(rows, rng, by_columns=False)
        return replace(self, unmeasured=unmeasured_columns(first, rows.groups))._run(rows, rng, by_columns=True)

    def _run(self, rows: RowsToFit, rng: np.random.Generator, *, by_columns: bool) -> SearchedRows:
        k = self.search.n_clusters
        part, sample, outliers = self._choose(rows, k, rng, by_columns=by_columns)
        check_cluster_number(len(np.unique(part.searched)), 1 if k == "auto" else k)
        moments = rows.moments if sample is held_table(rows.blocks) else None
        weights = self._column_weights(sample, moments)
        kernel_map = self._fit_map(sample, part.searched, rng, self.settings.gamma, weights)
        space = SearchSpace.of(sample, kernel_map, self.C, moments, precomputed=self.precomputed)
        if space.is_point:
            raise one_point_error(self.settings.kernel, sample, len(part.searched), 2 if k == "auto" else k)
        prepared = PreparedRows(
            space=space,
            units=searched_units(rows.constraints, part),
            feature_sets=self._feature_sets(space, kernel_map, sample, part.searched, rng, weights),
            by_angle=self._by_angle(space.rows),
            columns=self._column_search(sample, rows.groups, rng) if by_columns and rows.groups else None,
        )
        return SearchedRows(prepared, part, kernel_map, outliers)

    def _choose(
        self, rows: RowsToFit, k: int | Literal["auto"], rng: np.random.Generator, *, by_columns: bool
    ) -> tuple[TakingPart, Any, Any]:
        """The rows to be searched, and the outliers among those that were looked at."""
        n, constraints = rows.shape[0], rows.constraints
        is_sparse = storage(rows.blocks.take(np.arange(1))) == "sparse"
        most = self.search.n_searched(rows.shape, sparse=is_sparse, by_columns=by_columns)
        if constraints.weights is not None:
            chosen = rows_by_weight(constraints.weights, most, rng)
        else:
            chosen = rows_to_search(n, most, constraints.units, rng)
        numbers, copies = np.unique(chosen, return_inverse=True)
        held = held_table(rows.blocks) if len(numbers) == n and not by_columns else None
        chosen, sample = numbers[copies], rows.blocks.take(numbers) if held is None else held
        if len(copies) > len(numbers):
            sample = sample[copies]
        if not self.outliers:
            return TakingPart(n, np.arange(n), searched=chosen), sample, sample[:0].copy()
        kept = check_rows_left(self._typical(sample, chosen, constraints.constrained(n)[chosen], rng), self.outliers, k)
        part = TakingPart(n, np.arange(n), np.unique(chosen[~kept]), chosen[kept])
        return part, sample if kept.all() else sample[kept], sample[~kept]

    def _typical(self, sample: Any, chosen: Ints, constrained: Mask, rng: np.random.Generator) -> Mask:
        """Which of the rows are no outliers; constrained ones never are."""
        first = self._fit_map(sample, chosen, rng, self.settings.gamma, self._column_weights(sample))
        space = SearchSpace.of(sample, first, self.C, precomputed=self.precomputed)
        graph = neighbour_graph(space.rows, self.search.n_neighbors, self.n_threads)
        return typical_rows(graph.nearest, graph.distances, self.outliers, constrained)

    def _feature_sets(
        self,
        space: SearchSpace,
        kernel_map: KernelMap,
        sample: Any,
        searched: Ints,
        rng: np.random.Generator,
        weights: Floats | None,
    ) -> Iterator[Floats]:
        """Leading features of the searched rows: those of ``predict``, then by the same kernel from other landmarks."""
        yield space.features[:, : kernel_map.leading(LEADING).projection.shape[1]]
        gamma = kernel_map.params.get("gamma", self.settings.gamma)
        while True:
            yield self._fit_map(sample, searched, rng, gamma, weights).leading(LEADING).transform(sample)

    def _fit_map(
        self, sample: Any, searched: Ints, rng: np.random.Generator, gamma: float | str, weights: Floats | None
    ) -> KernelMap:
        """Features of the kernel from the searched rows; ``weights`` belong to columns."""
        settings, rank = self.settings, self.settings.n_components
        rank = self.search.n_landmarks(len(searched)) if rank == "auto" else int(rank)
        if self.precomputed:
            return fit_precomputed_map(sample, searched, rank, rng)
        return fit_kernel_map(
            row_blocks(sample),
            settings.kernel,
            gamma=gamma,
            params=settings.params,
            n_components=rank,
            rng=rng,
            weights=weights,
            unit_rows=self._by_angle(sample),
        )

    def _column_search(self, sample: Any, groups: Sequence[ColumnGroup], rng: np.random.Generator) -> ColumnSearch:
        return ColumnSearch(sample, groups, int(rng.integers(2**31)), self.unmeasured is not None)

    def _column_weights(self, sample: Any, moments: Moments | None = None) -> Floats | None:
        """Factors of the columns: 0 for those whose values create gaps."""
        if self.precomputed:
            return None
        found = column_weights(sample, self.settings.standardize, moments)
        if not self.unmeasured:
            return found
        weights = np.ones(sample.shape[1]) if found is None else found.copy()
        weights[list(self.unmeasured)] = 0.0
        return weights

    def _by_angle(self, rows: Any) -> bool:
        """Whether rows are normalised to length one, as documents are compared."""
        return self.settings.standardize == "auto" and self.search.unit_rows and storage(rows) == "sparse"


def _first_rows_of_table(rows: RowsToFit) -> Floats | None:
    """Some rows of a dense table that has categories, or few values in most columns; None of all others."""
    first = rows.blocks.take(np.arange(min(rows.shape[0], COLUMN_ROWS))) if rows.groups else None
    if first is None or rows.groups is None or storage(first) == "sparse":
        return None
    table = dense_rows(first, slice(None))
    return table if has_few_levels(table, rows.groups) else None


def searched_units(constraints: RowConstraints, part: TakingPart) -> Units | None:
    """Constraints on the searched rows, if there are any."""
    if constraints.units is None:
        return None
    units = constraints.units.of_rows(part.searched)
    return units if units.constrained.any() else None


def refuse_auto(cuts_anywhere: bool) -> None:
    """Refuse an open number of clusters where a search looks for one number."""
    if not cuts_anywhere:
        raise InvalidDataError(
            "n_clusters='auto' needs the tree of a search by merging, but this one makes moves; give n_clusters a "
            "number, or use search='agree' without starting labels."
        )


def refuse_equal_rows(n_rows: int, fewest: int) -> None:
    """Refuse labels, links and sizes that ask for several clusters of equal rows."""
    if fewest > 1:
        raise InvalidDataError(
            f"All {n_rows} rows are equal, so they cannot be separated, but known labels, cannot_link or size_max "
            f"ask for {fewest} clusters; leave these out or check the data."
        )


def refuse_on_workers(cuts_anywhere: bool, search: str, outliers: float | str, *, precomputed: bool) -> None:
    """Refuse, for rows that workers hold, what needs a number for every row, or more, in this process."""
    if outliers:
        raise NotSupportedError(
            f"outliers={outliers!r} on rows of Dask would need a look at all neighbours in one process; find the "
            "outliers of a sample, X[:10000].compute(), and use predict(X, reject=True) for all."
        )
    if not cuts_anywhere:
        what = "init=<labels>" if search != "moves" else "search='moves'"
        raise NotSupportedError(
            f"{what} on rows of Dask would need the kernel features of all rows in one process; use "
            "search='agree' or 'merge' without starting labels, or fit X.compute()."
        )
    if precomputed:
        raise NotSupportedError(
            "kernel='precomputed' on rows of Dask would need the kernel between searched rows and all rows in one "
            "process; pass the rows and a kernel, or fit X.compute()."
        )
