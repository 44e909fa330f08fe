"""Finite feature maps for kernels: rows in, a dense table of r columns out, on which linear methods then work.

Nystrom: with landmarks L and ``K(L, L) = U diag(s) U'``, the map ``phi(x) = K(x, L) U s^(-1/2)`` has inner products
that equal the kernel on the landmarks and its best approximation from them elsewhere. With every row a landmark the
map is exact (kernel PCA before centring). Directions with s below ``RANK_TOL`` times the largest, or below what
rounding in the dtype of the data leaves, are dropped, so constant or low-rank kernels give few columns. The table
takes n * r numbers in the dtype of the data, the landmarks r rows.

For kernels that are inner products (linear, cosine) the r leading right singular vectors of some rows take the
landmarks' place, with the identity for U s^(-1/2): the best features of that rank, and dense only in r columns however
wide X is. With a precomputed kernel the landmarks are the numbers of the columns that are used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from widegap.data._blocks import Floats, RowBlocks
from widegap.data._kernels import (
    Kernel,
    check_kernel_params,
    kernel_entry,
    kernel_matrix,
    needs_width,
    resolve_gamma,
)
from widegap.data._tables import check_finite, row_chunks, scale_columns
from widegap.exceptions import InvalidDataError

RANK_TOL = 1e-10
INDEFINITE = 1e-5  # negative eigenvalues up to this share of the largest are rounding
SYMMETRY_TOL = 1e-5
SVD_SAMPLE = 5000  # rows whose singular vectors serve the linear and the cosine kernel


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
        n, r = X.shape[0], self.projection.shape[1]
        features = np.empty((n, r), X.dtype)
        for rows in row_chunks(n, self.landmarks.shape[0]):
            chunk = scale_columns(X[rows], self.weights)
            features[rows] = kernel_matrix(chunk, self.landmarks, self.kernel, self.params) @ self.projection
        return features

    def transform_blocks(self, blocks: RowBlocks) -> Floats:
        """Features of all rows, block by block."""
        return self.map_blocks(blocks, lambda features: features)

    def map_blocks(self, blocks: RowBlocks, function: Callable[[Floats], Floats]) -> Floats:
        """``function`` of every block's features, laid end to end; block after block, as BLAS has its own threads."""
        blocks = RowBlocks(blocks.sources, n_threads=1)
        return blocks.map(lambda block: function(self.transform(block.take(slice(None)))))


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
    options = check_kernel_params(kernel, params)

    def draw(size: int) -> Any:
        return scale_columns(draw_rows(blocks, size, rng), weights)

    if needs_width(kernel):
        # A sample of its own: the landmarks may be too few to tell a width.
        options["gamma"] = resolve_gamma(gamma, draw, rng)
    if is_inner_product(kernel) and n_components < blocks.shape[0]:
        directions = leading_directions(draw(SVD_SAMPLE), kernel, n_components, rng)
        return KernelMap(kernel, options, directions, np.eye(len(directions)), weights)
    landmarks = draw(n_components)
    K = kernel_matrix(landmarks, landmarks, kernel, options)
    if not np.isfinite(K).all():
        raise InvalidDataError(
            f"Kernel {kernel!r} gives NaN or infinity on these rows; rescale the data or choose other parameters."
        )
    return KernelMap(kernel, options, landmarks, _projection(K, kernel, landmarks.dtype), weights)


def fit_precomputed_map(rows: Any, members: Any, n_components: int, rng: np.random.Generator) -> KernelMap:
    """Map from ``rows``, the rows numbered ``members`` of a square kernel matrix, by some of their own columns."""
    size = min(len(members), max(2, n_components))  # one landmark alone has no scatter
    chosen = np.sort(rng.choice(len(members), size, replace=False))
    K = rows[chosen][:, members[chosen]]
    K = K.astype(np.float64) if isinstance(K, np.ndarray) else K.toarray().astype(np.float64)
    K = centre_kernel(check_symmetric(K, "The precomputed kernel"))
    return KernelMap("precomputed", {}, members[chosen], _projection(K, "precomputed", rows.dtype))


def check_symmetric(K: Floats, name: str) -> Floats:
    """K itself; refuses one that differs from its mirror image by more than rounding."""
    if np.abs(K - K.T).max() > SYMMETRY_TOL * np.abs(K).max():
        raise InvalidDataError(
            f"{name} is not symmetric: entries differ from their mirror image by up to "
            f"{np.abs(K - K.T).max():.3g}; pass (K + K.T) / 2 if that is rounding."
        )
    return K


def centre_kernel(K: Floats) -> Floats:
    """The landmarks' kernel centred about them: a constant that was added to a kernel plays no part in any margin.

    The features come out shifted by a constant, which every user of them takes off with their mean.
    """
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True)


def is_inner_product(kernel: Kernel) -> bool:
    """Whether a kernel's features are coordinates along some directions, and need no landmarks."""
    entry = kernel_entry(kernel)
    return entry is not None and entry.inner_product_of is not None


def leading_directions(X: Any, kernel: Kernel, r: int, rng: np.random.Generator) -> Floats:
    """Up to r leading right singular vectors of the rows in the kernel's form of them, as rows.

    The axes themselves where there are no more.
    """
    if X.shape[1] <= r:
        return np.eye(X.shape[1])
    entry = kernel_entry(kernel)
    assert entry is not None and entry.inner_product_of is not None
    X = entry.inner_product_of(X)
    return randomized_svd(X, min(r, *X.shape), random_state=int(rng.integers(2**31)))[2]


def _projection(K: Floats, kernel: Kernel, dtype: Any) -> Floats:
    """``U s^(-1/2)`` of the landmarks' kernel matrix, negligible directions left out."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    if values[0] < -INDEFINITE * np.abs(values).max():
        raise InvalidDataError(
            f"Kernel {kernel!r} is not positive semidefinite: its eigenvalues on {len(K)} rows go from {values[0]:.3g} "
            f"to {values[-1]:.3g}, so it has no margin. Use another kernel, or K @ K.T of a similarity matrix K."
        )
    keep = values > _rank_tol(dtype) * values[-1]
    if not keep.any():
        raise InvalidDataError(f"Kernel {kernel!r} is zero on these rows; nothing can be separated: change it.")
    return (vectors[:, keep] / np.sqrt(values[keep]))[:, ::-1]


def clipped_projection(K: Floats, dtype: Any) -> tuple[Floats, float]:
    """The same for the centred kernel, which may be indefinite or constant: negative directions are left out.

    The second answer is their share of the spectrum, 0 where it is rounding; a constant kernel has no columns.
    """
    values, vectors = np.linalg.eigh(centre_kernel((K + K.T) / 2))
    rounding = _rank_tol(dtype) * float(np.abs(K).max())
    keep = values > max(_rank_tol(dtype) * values[-1], rounding)
    indefinite = values[0] < -max(INDEFINITE * np.abs(values).max(), rounding)
    share = -float(values[values < 0].sum() / np.abs(values).sum()) if indefinite else 0.0
    return (vectors[:, keep] / np.sqrt(values[keep]))[:, ::-1], share


def _rank_tol(dtype: Any) -> float:
    """Eigenvalues below this share of the largest are rounding."""
    return max(RANK_TOL, 10 * float(np.finfo(dtype).eps))


def draw_rows(blocks: RowBlocks, size: int, rng: np.random.Generator) -> Any:
    """Up to ``size`` rows at random, in their order; refuses NaN and infinity."""
    n = blocks.shape[0]
    return check_finite(blocks.take(np.sort(rng.choice(n, min(n, size), replace=False))))
