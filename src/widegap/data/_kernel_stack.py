"""Several kernels side by side: every kernel becomes a block of columns, centred by its users and of equal trace.

A kernel sees a *source*: some columns of the table X, or one of the views if X is a dict of tables. Its features are
those of ``_kernel_maps.py`` with two differences. All kernels share their landmarks, whose kernel matrix is centred
first, so that a kernel gives the same features whether it is computed here or handed in as a matrix; and an
indefinite one is not refused: its negative directions are dropped, and their share of the spectrum is reported.

Trace normalisation divides a block by the square root of its total variance over all rows, which makes the mean
diagonal of the centred kernel 1: else the kernel of the largest unit would win. A kernel that is constant on the rows
has no variance and gets no columns.

    effective rank   (sum_j lam_j)^2 / sum_j lam_j^2,   lam the spectrum of the centred kernel
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from widegap.data._blocks import Floats
from widegap.data._centred import CentredRows
from widegap.data._kernel_maps import SVD_SAMPLE, FeatureMap, KernelMap, check_values, fit_map
from widegap.data._kernel_specs import KernelSpec
from widegap.data._kernels import holds_values, needs_width
from widegap.data._sampling import drawn
from widegap.data._sources import row_blocks
from widegap.data._tables import storage
from widegap.exceptions import InvalidDataError


@dataclass(frozen=True)
class FittedKernel:
    """One kernel: where it looks, how it maps, and what was found out about it.

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
        Share of the spectrum that was negative and is left out.
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
        table = select(X, self.source)
        return table if self.transformer is None else apply(self.transformer, table, self.name)


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


def is_views(X: Any) -> bool:
    """Whether X is a dict of tables; one of scipy's sparse matrices is a dict, too, and is a table."""
    return isinstance(X, Mapping) and storage(X) == "dense"


def n_columns(table: Any) -> int:
    """Columns of a table; 1 for a list of documents or other objects."""
    return int(table.shape[1]) if getattr(table, "ndim", 1) == 2 else 1


def select(X: Any, source: Any) -> Any:
    """A source's part of a table or of a dict of views."""
    if isinstance(X, Mapping):
        return X[source]
    return X if source is None else X[:, source]


def fit_kernel_stack(
    X: Any, specs: Sequence[KernelSpec], *, n_components: int, normalize: bool, rng: np.random.Generator
) -> tuple[KernelStack, Floats]:
    """Fit every kernel to a table or a dict of views; the stack, and the features of all rows.

    The kernels have random numbers of their own, so that those drawn later from ``rng`` do not depend on them.
    """
    n = n_rows(X)
    landmarks = drawn(n, max(2, n_components), rng)  # one alone has no scatter
    sample = drawn(n, SVD_SAMPLE, rng)
    fitted = [
        _fit_kernel(X, spec, landmarks, sample, n_components, normalize, own)
        for spec, own in zip(specs, rng.spawn(len(specs)), strict=True)
    ]
    blocks = [features for _, features in fitted if features.shape[1]]
    return KernelStack([kernel for kernel, _ in fitted]), np.hstack(blocks) if blocks else np.zeros((n, 0))


def n_rows(X: Any) -> int:
    """Rows of a table, of a list of documents, or of any of the views, which have the same number."""
    if isinstance(X, Mapping):
        X = next(iter(X.values()))
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _fit_kernel(
    X: Any,
    spec: KernelSpec,
    landmarks: Any,
    sample: Any,
    n_components: int,
    normalize: bool,
    rng: np.random.Generator,
) -> tuple[FittedKernel, Floats]:
    """The kernel and its features of all rows; without columns if it is constant."""
    table = raw = select(X, spec.source)
    transformer, width = None, n_columns(raw)
    if spec.is_transformer:
        transformer = clone(spec.kernel).fit(raw)
        table = apply(transformer, raw, spec.name)
    elif holds_values(spec.kernel) and width != table.shape[0]:
        raise InvalidDataError(
            f"Kernel {spec.name!r} is precomputed, but its matrix has shape {table.shape}; in fit it must be square, "
            "with a row and a column for every sample."
        )
    kernel_map, negative = _fit_map(table, spec, landmarks, sample, n_components, rng)
    constant = FittedKernel(spec.name, spec.source, width, transformer, None, negative, 0.0)
    if kernel_map is None:
        return constant, np.zeros((table.shape[0], 0))
    features = check_values(kernel_map.transform(table), repr(spec.name))
    scale = CentredRows(row_blocks(features)).scale
    if scale == 0:
        return constant, np.zeros((table.shape[0], 0))
    rank = _effective_rank(features[sample])
    if normalize:
        features /= features.dtype.type(scale)
        kernel_map = replace(kernel_map, projection=kernel_map.projection / scale)
    return replace(constant, map=kernel_map, effective_rank=rank), features


def _fit_map(
    table: Any, spec: KernelSpec, landmarks: Any, sample: Any, n_components: int, rng: np.random.Generator
) -> tuple[KernelMap | None, float]:
    """The map of one kernel and the negative share of its spectrum; no map if it is constant on the landmarks."""
    kernel, options = ("linear", {}) if spec.is_transformer else (spec.kernel, spec.params)
    if needs_width(kernel) and CentredRows(row_blocks(table[sample])).scale == 0:
        return None, 0.0
    rows = _SharedRows(table, landmarks if holds_values(kernel) else None, landmarks, sample, rng)
    kernel_map, spectrum = fit_map(rows, kernel, options, n_components, rng, name=repr(spec.name), centred=True)
    if spectrum is None:
        return kernel_map, 0.0
    return (kernel_map if spectrum.projection.shape[1] else None), spectrum.negative_share


@dataclass(frozen=True)
class _SharedRows:
    """Rows of a table whose landmarks and samples are those of all kernels; ``columns`` stand for them, if given."""

    table: Any
    columns: Any
    chosen: Any
    sample: Any
    rng: np.random.Generator
    weights: Floats | None = None
    unit_rows: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.table.shape

    def some(self, size: int) -> Any:
        whole = size >= len(self.sample)
        return self.table[self.sample if whole else self.rng.choice(self.sample, size, replace=False)]

    def landmarks(self) -> tuple[Any, Any]:
        rows = self.table[self.chosen]
        return rows, rows if self.columns is None else self.columns


def apply(transformer: Any, table: Any, name: str) -> Any:
    """What a transformer makes of rows, as a table of finite numbers."""
    return check_array(
        transformer.transform(table), accept_sparse="csr", dtype=[np.float64, np.float32], input_name=f"kernel {name!r}"
    )


def _effective_rank(features: Floats) -> float:
    """(trace)^2 over the squared Frobenius norm of the covariance."""
    centred = features - features.mean(axis=0, dtype=np.float64)
    gram = centred.T @ centred
    return float(np.trace(gram) ** 2 / np.square(gram).sum())
