"""Leading eigenvalues of the covariance of some rows, and leading singular vectors; sparse rows stay sparse."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils.extmath import randomized_svd

from widegap._types import Doubles, Floats, Matrix, SparseMatrix

EXPLICIT_SIZE = 400  # up to this many rows or columns, forming the small Gram matrix is faster than Lanczos
RARE = 3  # a column with fewer stored entries has no part in a leading direction of many rows; not tuned
POWER_STEPS = 2  # of the randomised SVD: a start needs only a subspace near the leading one; not tuned
LANCZOS_TOL = 1e-3  # the values set the scale of a regulariser: three digits are enough


def leading_variances(X: Matrix, mean: Floats, count: int, weights: Floats | None = None) -> Floats:
    """The ``count`` largest eigenvalues of ``(X - mean)'(X - mean) / n``, descending, padded with zeros.

    With weights of the rows, of ``(X - mean)' diag(weights) (X - mean)`` over their sum. Lanczos needs a few products
    with X, and vectors as long as its shorter side; a fixed first vector makes it deterministic.
    """
    n, d = X.shape
    size = min(n, d)
    if size <= EXPLICIT_SIZE:
        values = np.linalg.eigvalsh(_small_gram(X, mean, weights))
    else:
        first = np.random.default_rng(0).standard_normal(size)
        values = eigsh(
            _gram_operator(X, mean, 1.0 if weights is None else np.sqrt(weights)),
            min(count, size - 1),
            tol=LANCZOS_TOL,
            v0=first,
            return_eigenvectors=False,
        )
    leading = np.sort(np.maximum(values, 0))[::-1][:count] / (n if weights is None else weights.sum())
    return np.pad(leading, (0, count - len(leading)))


def leading_vectors(X: Matrix, rank: int, seed: int, weights: Floats | None = None) -> Floats:
    """About the ``rank`` leading right singular vectors of the rows, uncentred, as orthonormal rows (rank, d).

    Single precision is enough to find a subspace; rare columns of a sparse table are left out of it.
    """
    n, d = X.shape
    X = X if weights is None else _rows_times(X, np.sqrt(weights))
    columns = np.arange(d)
    if not isinstance(X, np.ndarray):
        columns = np.flatnonzero(np.bincount(X.indices, minlength=d) >= RARE)
        X = X[:, columns]
    rank = min(rank, n, len(columns))
    V = np.zeros((rank, d))
    V[:, columns] = randomized_svd(X.astype(np.float32), rank, n_iter=POWER_STEPS, random_state=seed)[2]
    return V


def _small_gram(X: Matrix, mean: Floats, weights: Floats | None) -> Floats:
    """Centred Gram matrix on the shorter side of X; its nonzero eigenvalues are those of the other side."""
    n, d = X.shape
    if weights is not None and not isinstance(X, np.ndarray):
        return _weighted_gram(X.astype(np.float64), mean, weights)
    if isinstance(X, np.ndarray):
        centred = X - mean if weights is None else (X - mean) * np.sqrt(weights)[:, None]
        return centred.T @ centred if d <= n else centred @ centred.T
    X = X.astype(np.float64)
    if d <= n:
        gram = _dense(X.T @ X) - n * np.outer(mean, mean)
        step = np.asarray(X.sum(axis=0)).ravel() - n * mean  # zero up to rounding when mean is the mean of X
        return gram - np.outer(step, mean) - np.outer(mean, step)
    projections = np.asarray(X @ mean).ravel()
    return _dense(X @ X.T) - projections[:, None] - projections[None, :] + mean @ mean


def _weighted_gram(X: SparseMatrix, mean: Floats, weights: Floats) -> Floats:
    """The same for weighted sparse rows, whose mean is the weighted one."""
    n, d = X.shape
    if d <= n:
        return _dense(X.T @ _rows_times(X, weights)) - weights.sum() * np.outer(mean, mean)
    projections = np.asarray(X @ mean).ravel()
    gram = _dense(X @ X.T) - projections[:, None] - projections[None, :] + mean @ mean
    return gram * np.sqrt(np.outer(weights, weights))


def _rows_times(X: Matrix, factors: Floats) -> Matrix:
    """The rows, each times a number."""
    if isinstance(X, np.ndarray):
        return X * factors[:, None]
    found: SparseMatrix = sp.csr_array(sp.diags_array(factors) @ X)
    return found


def _dense(product: object) -> Doubles:
    """A small product as a float64 array."""
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float64)


def _gram_operator(X: Matrix, mean: Floats, roots: Floats | float) -> LinearOperator:
    """``A'A``, or ``AA'`` where that is smaller, of the centred rows A, each times the root of its weight."""
    n, d = X.shape
    if isinstance(X, np.ndarray):  # in the dtype of the rows: a product of two dtypes would copy X every time
        X, mean = (X - mean).astype(X.dtype, copy=False), np.zeros(d)

    def forth(v: Floats) -> Floats:
        return roots * (np.asarray(X @ v.ravel().astype(X.dtype)) - mean @ v.ravel())

    def back(u: Floats) -> Floats:
        u = roots * u.ravel()
        return np.asarray(X.T @ u.astype(X.dtype)) - mean * u.sum()

    first, second = (forth, back) if d <= n else (back, forth)
    return LinearOperator((min(n, d),) * 2, matvec=lambda v: second(first(v)), dtype=np.float64)
