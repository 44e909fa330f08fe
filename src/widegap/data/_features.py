"""Finite feature maps for kernels: rows in, a dense table of r columns out, on which linear methods then work.

Nystrom: with landmarks L and ``K(L, L) = U diag(s) U'``, the map ``phi(x) = K(x, L) U s^(-1/2)`` has inner products
that equal the kernel on the landmarks and its best approximation from them elsewhere. With every row a landmark the
map is exact (kernel PCA before centring). Directions with s below ``RANK_TOL`` times the largest, or below what
rounding in the dtype of the data leaves, are dropped, so constant or low-rank kernels give few columns. The table
takes n * r numbers in the dtype of the data, the landmarks r rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import row_norms

from widegap.data._blocks import Floats, RowBlocks
from widegap.exceptions import InvalidDataError

RANK_TOL = 1e-10
UNITS_DIFFER = 10
MEDIAN_SAMPLE = 500  # rows whose pairwise distances set the width
MEDIAN_FACTOR = 1.5  # width of the Gaussian in medians of the distances

Kernel = str | Callable[[Any, Any], Floats]


@dataclass(frozen=True)
class KernelMap:
    """A fitted map; ``transform`` takes rows as the landmarks are: dense or CSR."""

    kernel: Kernel
    params: Mapping[str, Any]
    landmarks: Any
    projection: Floats
    weights: Floats | None = None

    def transform(self, X: Any) -> Floats:
        """Features of the rows of X, shape (rows, r)."""
        X = scale_columns(X, self.weights)
        return (kernel_matrix(X, self.landmarks, self.kernel, self.params) @ self.projection).astype(
            X.dtype, copy=False
        )

    def transform_blocks(self, blocks: RowBlocks) -> Floats:
        """Features of all rows, block by block."""
        return blocks.map(lambda block: self.transform(block.take(slice(None))))


def fit_kernel_map(
    blocks: RowBlocks,
    kernel: Kernel,
    *,
    gamma: float | str,
    params: Mapping[str, Any] | None,
    n_components: int,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> KernelMap:
    """Draw landmarks from the rows, their columns multiplied by ``weights``, and decompose their kernel."""
    options = dict(params or {})
    if kernel in ("rbf", "poly"):
        # A sample of its own: the landmarks may be too few to tell a width.
        if gamma == "median":
            gamma = median_gamma(scale_columns(_draw(blocks, MEDIAN_SAMPLE, rng), weights))
        options["gamma"] = float(gamma)
    landmarks = scale_columns(_draw(blocks, n_components, rng), weights)
    K = kernel_matrix(landmarks, landmarks, kernel, options)
    if not np.isfinite(K).all():
        raise InvalidDataError(
            f"Kernel {kernel!r} gives NaN or infinity on these rows; rescale the data or choose other parameters."
        )
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    tol = max(RANK_TOL, 10 * float(np.finfo(landmarks.dtype).eps))
    keep = values > tol * max(values[-1], 0)
    if not keep.any():
        raise InvalidDataError(f"Kernel {kernel!r} is zero on these rows; nothing can be separated: change it.")
    return KernelMap(kernel, options, landmarks, (vectors[:, keep] / np.sqrt(values[keep]))[:, ::-1], weights)


def scale_columns(X: Any, weights: Floats | None) -> Any:
    """X with its columns multiplied by weights, in its own dtype; X itself without weights."""
    if weights is None:
        return X
    weights = weights.astype(X.dtype)
    return X * weights if isinstance(X, np.ndarray) else sp.csr_array(X.multiply(weights))


def column_weights(X: Any, standardize: bool | str) -> Floats | None:
    """1 / standard deviation of every column (1 where it is constant), or None if columns are to stay as they are.

    "auto" standardises dense tables whose largest deviation exceeds ten times the median one.
    """
    if standardize is False or (standardize == "auto" and sp.issparse(X)):
        return None
    deviations = np.sqrt(StandardScaler(with_mean=False).fit(X).var_)
    varying = deviations[deviations > 0]
    if standardize == "auto" and (not len(varying) or varying.max() <= UNITS_DIFFER * np.median(varying)):
        return None
    return 1 / np.where(deviations > 0, deviations, 1.0)


def _draw(blocks: RowBlocks, size: int, rng: np.random.Generator) -> Any:
    """Up to ``size`` rows at random, in their order."""
    n = blocks.shape[0]
    return blocks.take(np.sort(rng.choice(n, min(n, size), replace=False)))


def median_gamma(X: Any) -> float:
    """1 / width^2 with width = 1.5 times the median nonzero distance among the rows."""
    distances = euclidean_distances(X)
    # Rows that are equal come out some roundings apart, relative to their length.
    rounding = 4 * np.sqrt(np.finfo(np.float64).eps) * row_norms(X).max()
    positive = distances[distances > rounding]
    if not len(positive):
        raise InvalidDataError("All rows drawn for the kernel width are equal; give gamma a number.")
    return float(1 / (MEDIAN_FACTOR * np.median(positive)) ** 2)


def kernel_matrix(X: Any, Y: Any, kernel: Kernel, params: Mapping[str, Any]) -> Floats:
    """Kernel between rows of X and Y; a callable gets the two tables."""
    if callable(kernel):
        K = np.asarray(kernel(X, Y, **params), dtype=np.float64)
        if K.shape != (X.shape[0], Y.shape[0]):
            raise InvalidDataError(
                f"The kernel function returned shape {K.shape} for {X.shape[0]} and {Y.shape[0]} rows; "
                "it must return one value a pair of rows."
            )
        return K
    return pairwise_kernels(X, Y, metric=kernel, **params).astype(np.float64, copy=False)
