"""Nearest means of clusters in the columns of sparse rows themselves, whitened by a ridge.

With rows x_i about their mean m, their scatter S = sum_i (x_i - m)(x_i - m)', the mean M_p of cluster p about m, and a
ridge rho, a row belongs to the cluster with the largest score

    w_p . (x - m) - w_p . M_p / 2,      w_p = (S + rho I)^(-1) M_p ,

which is that of the nearest mean in the coordinates ``(S + rho I)^(-1/2) (x - m)``. There are as many columns as words,
so S is never formed. Where A has the rows x_i - m, and column p of T is 1 / n_p at the rows of cluster p and 0
elsewhere, ``M_p = (A'T)_p`` and so

    W = A' (A A' + rho I)^(-1) T :

one linear system with a right side a cluster, in as many unknowns as there are rows. Conjugate gradients need products
with A alone, which are products with the sparse rows and means of columns. They need few of them: the ridge is not
small against the eigenvalues of A A', which fall quickly for rows of length one. Columns without an entry have no
weight, and are not stored: hashed words have a million columns, most of them empty.

With more columns than rows the scores of the fitted rows are larger than those of new rows. What new rows get is seen
from the scores of each half by the other half (``held_out_scores``).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from widegap._types import Doubles, Labels, Matrix, SparseMatrix

RESIDUAL = 1e-2  # of the right side at which the gradients stop: 1e-1 and 1e-4 repeat as many labels to 0.1 %
GRADIENT_STEPS = 100  # of the gradients: 22 sets of sparse rows took 16 at most, with a ridge of 1


@dataclass(frozen=True)
class RidgeMeans:
    """Directions w_p of clusters in the columns (k, d), the mean score ``w_p . m``, and ``-w_p . M_p / 2``."""

    directions: SparseMatrix
    mean_scores: Doubles
    constants: Doubles

    def of(self, rows: Matrix) -> Doubles:
        """Scores of rows, (n, k)."""
        products = safe_sparse_dot(rows.astype(np.float64, copy=False), self.directions.T, dense_output=True)
        return np.asarray(products) - self.mean_scores + self.constants


def fit_ridge_means(rows: Matrix, labels: Labels, k: int, ridge: float) -> RidgeMeans:
    """Scores of the nearest mean of k clusters; a cluster without rows has the mean of all rows."""
    assert not isinstance(rows, np.ndarray)
    T = np.eye(k)[labels] / np.maximum(np.bincount(labels, minlength=k), 1)
    T -= T.mean(axis=0)
    columns = rows.T.tocsr()
    used = np.flatnonzero(np.diff(columns.indptr))
    columns = columns[used]
    filled = columns.T.tocsr()

    def times(V: Doubles) -> Doubles:
        """(A A' + rho I) V, for V with columns about their means."""
        products: Doubles = np.asarray(filled @ (columns @ V))
        return products - products.mean(axis=0) + ridge * V

    W = np.asarray(columns @ conjugate_gradients(times, T))
    scores: Doubles = np.asarray(filled @ W)
    ends = len(used) * np.arange(k + 1)
    directions = sp.csr_array((W.T.ravel(), np.tile(used, k), ends), shape=(k, rows.shape[1]))
    return RidgeMeans(directions, scores.mean(axis=0), -np.einsum("ip,ip->p", scores, T) / 2)


def held_out_scores(rows: Matrix, labels: Labels, k: int, ridge: float, seed: int) -> Doubles:
    """Scores of every row by means of the other half of the rows, in the unit of those by all rows.

    Half the rows have half the scatter, so that with half the ridge their scores are twice as large.
    """
    first = np.random.default_rng(seed).permutation(len(labels)) % 2 == 0
    scores = np.empty((len(labels), k))
    for half in (first, ~first):
        scores[~half] = fit_ridge_means(rows[half], labels[half], k, ridge / 2).of(rows[~half]) / 2
    return scores


def conjugate_gradients(times: Callable[[Doubles], Doubles], B: Doubles) -> Doubles:
    """X with ``times(X) = B`` for a positive definite map of columns, each solved on its own."""
    X, R = np.zeros_like(B), B.copy()
    P, left = R.copy(), np.square(R).sum(axis=0)
    enough, least = RESIDUAL**2 * left, np.finfo(np.float64).tiny
    for _ in range(GRADIENT_STEPS):
        if (left <= enough).all():
            break
        Q = times(P)
        step = left / np.maximum((P * Q).sum(axis=0), least)
        X += step * P
        R -= step * Q
        before, left = left, np.square(R).sum(axis=0)
        P = R + left / np.maximum(before, least) * P
    return X
