"""Several kernels side by side: every kernel becomes a block of columns, centred by its users and of equal trace.

A kernel sees a *source*: some columns of the table X, or one of the views if X is a dict of tables. Its features are
those of ``_kernel_maps.py`` with two differences. All kernels share their landmarks, whose kernel matrix is centred
first, so that a kernel gives the same features whether it is computed here or passed as a matrix; and an indefinite
kernel is not refused: its negative directions are dropped, and their share of the spectrum is reported.

Trace normalisation divides a block by the square root of its total variance over all rows, which makes the mean
diagonal of the centred kernel 1: otherwise the kernel of the largest unit would win. A kernel that is constant on the
rows has no variance and gets no columns. The maps are fitted to the landmarks and to a sample; all variances come from
one read of the rows, and the features are held or computed in every pass, as ``feature_rows`` decides.

    effective rank   (sum_j lam_j)^2 / sum_j lam_j^2,   lam the spectrum of the centred kernel
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widegap._types import Floats, Indices, Matrix
from widegap.exceptions import InvalidDataError
from widegap.features._kernel_maps import SVD_SAMPLE, FeatureMap, KernelMap, fit_map, not_finite
from widegap.features._kernel_rows import (
    SeenRows,
    TableRows,
    ViewRows,
    n_columns,
    n_rows,
    source_part,
    transformed_table,
)
from widegap.features._kernel_specs import KernelSpec
from widegap.features._kernels import holds_values, needs_width
from widegap.rows._centred import CentredRows, Moments
from widegap.rows._protocols import Rows
from widegap.rows._sampling import drawn, drawn_as_repeated
from widegap.rows._sources import divided_columns, row_blocks


@dataclass(frozen=True)
class FittedKernel:
    """One kernel: its source, its map, and findings about it.

    Attributes
    ----------
    name : str
    source : array of column numbers, key of a view, or None
        None is all columns of X.
    n_features : int
        Columns of its source, before the transformer if it has one.
    transformer : fitted transformer or None
    map : KernelMap or None
        None if the kernel is constant on the rows.
    negative_share : float
        Share of the spectrum that was negative and was dropped.
    effective_rank : float
        0 if constant.
    """

    name: str
    source: Any
    n_features: int
    transformer: Any
    map: KernelMap | None
    negative_share: float
    effective_rank: float

    @property
    def width(self) -> int:
        """Number of features."""
        return 0 if self.map is None else self.map.projection.shape[1]

    def transform(self, X: Any) -> Floats:
        """Features of the rows of a table or a dict of views."""
        assert self.map is not None
        return self.map.transform(self._seen(X))

    def folded(self, W: Floats, b: Floats) -> Callable[[Any], Floats]:
        """The function from rows to the scores ``W phi(x) + b``."""
        assert self.map is not None
        of_rows = self.map.folded(W, b)
        return lambda X: of_rows(self._seen(X))

    def _seen(self, X: Any) -> Any:
        """The rows as the map sees them."""
        table = source_part(X, self.source)
        return table if self.transformer is None else transformed_table(self.transformer, table, self.name)


@dataclass(frozen=True)
class KernelStack(FeatureMap):
    """All kernels; ``transform`` takes rows of the table or a dict of views and gives the blocks side by side."""

    kernels: Sequence[FittedKernel]

    @property
    def active(self) -> list[FittedKernel]:
        """The kernels that have columns."""
        return [kernel for kernel in self.kernels if kernel.map is not None]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of columns of the active kernels."""
        return tuple(kernel.width for kernel in self.active)

    def transform(self, X: Any) -> Floats:
        """Features of the rows of X, shape (rows, sum of sizes)."""
        blocks = [kernel.transform(X) for kernel in self.active]
        return np.hstack(blocks) if blocks else np.zeros((n_rows(X), 0))

    def transform_seen(self, tables: Mapping[str, Matrix], n_rows: int) -> Floats:
        """The same from the table that each kernel, by name, sees of the rows."""
        blocks = [kernel.map.transform(tables[kernel.name]) for kernel in self.kernels if kernel.map is not None]
        return np.hstack(blocks) if blocks else np.zeros((n_rows, 0))

    def folded(self, W: Floats, b: Floats) -> Callable[[Any], Floats]:
        ends = np.cumsum(self.sizes, dtype=np.int64)
        products = [
            kernel.folded(W[:, end - kernel.width : end], b / len(ends))
            for kernel, end in zip(self.active, ends, strict=True)
        ]
        return lambda X: sum((of_rows(X) for of_rows in products), np.zeros((n_rows(X), len(b)), np.float32))

    def check_views(self, views: Mapping[str, Any]) -> None:
        """Refuse views without a table that some kernel needs, or with other columns than those fitted."""
        for kernel in self.active:
            if kernel.source not in views:
                raise InvalidDataError(
                    f"Kernel {kernel.name!r} was fitted on the view {kernel.source!r}, but X holds the views "
                    f"{', '.join(map(repr, views))}; pass all views that fit saw."
                )
            width = n_columns(views[kernel.source])
            if width != kernel.n_features:
                raise InvalidDataError(
                    f"The view {kernel.source!r} has {width} columns, but kernel {kernel.name!r} was fitted with "
                    f"{kernel.n_features}; pass the same columns, of a precomputed kernel one for every row of fit."
                )


def fit_kernel_stack(
    X: Any,
    specs: Sequence[KernelSpec],
    *,
    n_components: int,
    normalize: bool,
    n_threads: int,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> tuple[KernelStack, Rows]:
    """Fit every kernel to rows or to a dict of views; return the stack and the features of all rows.

    The kernels have their own random numbers, so that those drawn later from ``rng`` do not depend on them.
    ``weights`` belong to rows; transformers ignore them.
    """
    n = n_rows(X)
    landmarks = drawn(n, max(2, n_components), rng, weights)  # one alone has no scatter
    sample = drawn_as_repeated(n, SVD_SAMPLE, rng, weights)
    seen: SeenRows = (ViewRows if isinstance(X, Mapping) else TableRows)(X, landmarks, sample)
    pairs = zip(specs, rng.spawn(len(specs)), strict=True)
    stack = KernelStack([_fit_kernel(seen, spec, n_components, own) for spec, own in pairs])
    return _settled(stack, seen.features(stack, n_threads), sample, normalize, weights)


def _fit_kernel(seen: SeenRows, spec: KernelSpec, n_components: int, rng: np.random.Generator) -> FittedKernel:
    """The kernel before normalisation; without a map if it is constant on the landmarks."""
    width = seen.n_columns(spec)
    if holds_values(spec.kernel) and width != seen.n_rows:
        raise InvalidDataError(
            f"Kernel {spec.name!r} is precomputed, but its matrix has shape {(seen.n_rows, width)}; in fit it must be "
            "square, with a row and a column for every sample."
        )
    transformer = seen.fitted(spec)
    kernel_map, negative = _fit_map(seen, spec, n_components, rng)
    return FittedKernel(spec.name, spec.source, width, transformer, kernel_map, negative, 0.0)


def _fit_map(
    seen: SeenRows, spec: KernelSpec, n_components: int, rng: np.random.Generator
) -> tuple[KernelMap | None, float]:
    """The map of one kernel and the negative share of its spectrum; no map if it is constant on the landmarks."""
    kernel, options = ("linear", {}) if spec.is_transformer else (spec.kernel, spec.params)
    if needs_width(kernel) and CentredRows(row_blocks(seen.take(spec, seen.sample))).scale == 0:
        return None, 0.0
    rows = _SharedRows(seen, spec, rng)
    kernel_map, spectrum = fit_map(rows, kernel, options, n_components, rng, name=repr(spec.name), centred=True)
    if spectrum is None:
        return kernel_map, 0.0
    return (kernel_map if spectrum.projection.shape[1] else None), spectrum.negative_share


@dataclass(frozen=True)
class _SharedRows:
    """Rows as one kernel sees them, with the landmarks and the sample of all kernels."""

    seen: SeenRows
    spec: KernelSpec
    rng: np.random.Generator
    weights: Floats | None = None
    unit_rows: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.seen.n_rows, self.seen.take(self.spec, self.seen.landmarks).shape[1]

    def some(self, size: int) -> Matrix:
        sample = self.seen.take(self.spec, self.seen.sample)
        whole = size >= sample.shape[0]
        return sample if whole else sample[self.rng.choice(sample.shape[0], size, replace=False)]

    def landmarks(self) -> tuple[Matrix, Matrix | Indices]:
        rows = self.seen.take(self.spec, self.seen.landmarks)
        return rows, self.seen.landmarks if holds_values(self.spec.kernel) else rows


def _settled(
    stack: KernelStack, features: Rows, sample: Indices, normalize: bool, weights: Floats | None
) -> tuple[KernelStack, Rows]:
    """The stack and its features without constant kernels, with equal traces if ``normalize``."""
    placed = [] if weights is None else [features.place(weights)]
    moments = features.reduce(lambda block, *weights: Moments(*block.moments(*weights)), *placed)
    assert moments is not None
    some, end = features.take(sample), 0
    settled: list[FittedKernel] = []
    kept: list[Indices] = []
    divisors: list[Floats] = []
    for kernel in stack.kernels:
        columns = slice(end, end := end + kernel.width)
        found = replace(moments, mean=moments.mean[columns], scatter=moments.scatter[columns])
        if not np.isfinite(found.scatter).all():
            raise not_finite(repr(kernel.name))
        if not found.varies.any():
            settled.append(replace(kernel, map=None))
            continue
        scale = float(np.sqrt(found.variance)) if normalize else 1.0
        settled.append(_of_unit(kernel, scale, _effective_rank(some[:, columns])))
        kept.append(np.arange(columns.start, columns.stop))
        divisors.append(np.full(kernel.width, scale))
    if len(kept) < len(stack.active) or normalize:
        empty = np.zeros(0)
        chosen = np.concatenate([*kept, empty.astype(np.intp)])
        features = divided_columns(features, chosen, np.concatenate([*divisors, empty]))
    return KernelStack(settled), features


def _of_unit(kernel: FittedKernel, scale: float, rank: float) -> FittedKernel:
    """The kernel with its features divided by ``scale``."""
    assert kernel.map is not None
    return replace(kernel, map=replace(kernel.map, projection=kernel.map.projection / scale), effective_rank=rank)


def _effective_rank(features: Matrix) -> float:
    """(trace)^2 over the squared Frobenius norm of the covariance."""
    assert isinstance(features, np.ndarray)
    centred = features - features.mean(axis=0, dtype=np.float64)
    gram = centred.T @ centred
    square = float(np.square(gram).sum())
    return float(np.trace(gram) ** 2 / square) if square else 0.0
