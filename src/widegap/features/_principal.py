"""Principal axes: of kernel features, with their whitened form for a ridge, and of tables to plot or to reduce.

For centred features Phi of some rows, ``Phi'Phi = U diag(lam) U'``: P = Phi U are kernel PCA coordinates, and
``Q = P (lam + rho)^(-1/2)`` those of the regularised least-squares fit (see ``forest/_single_moves.py``). Directions
that the ridge leaves less than ``LEAST_FREEDOM`` of a degree of freedom are dropped.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri
from sklearn.decomposition import PCA, TruncatedSVD

from widegap._types import Doubles, Floats, Mask, Matrix
from widegap.exceptions import InvalidDataError
from widegap.features._rounding import with_fixed_signs
from widegap.rows._centred import CentredRows
from widegap.rows._matrices import row_chunks
from widegap.rows._sources import row_blocks

EXPLICIT_COLUMNS = 400  # up to this many columns of a sparse table, forming their covariance is faster than Lanczos
AXIS_TOL = 1e-10  # variances below this share of the largest are rounding of a Gram matrix in float64
DIRECTION_STEPS = 4  # of power iteration: more leave the directions of words as they are
LEAST_FREEDOM = 1e-3  # degrees of freedom of a direction that has no part in a fit; not tuned


@dataclass(frozen=True)
class PrincipalMap:
    """Rotation of features about their mean; ``lam`` are the squared lengths of the coordinates, descending."""

    mean: Floats
    rotation: Floats
    lam: Floats

    @classmethod
    def fit(cls, features: Floats) -> "PrincipalMap":
        """From the features of the rows that are searched."""
        return cls.of(*centred_gram(features))

    @classmethod
    def of(cls, mean: Floats, gram: Floats) -> "PrincipalMap":
        """From the mean of features and their products about it."""
        lam, U = np.linalg.eigh(gram)
        keep = lam > AXIS_TOL * max(lam[-1], 0)
        return cls(mean, with_fixed_signs(U[:, keep])[:, ::-1], lam[keep][::-1])

    def transform(self, features: Floats) -> Floats:
        """Coordinates P of any rows, in float64."""
        return np.asarray((features - self.mean) @ self.rotation)

    def whitening(self, rho: float) -> Floats:
        """(features, s) matrix from centred features to Q, negligible directions left out."""
        keep, factors = _ridge_axes(self.lam, rho)
        return self.rotation[:, keep] * factors[keep]

    def whiten_in_place(self, features: Floats, rho: float) -> Floats:
        """Q of any rows, in the memory of their features, which it overwrites."""
        W = self.whitening(rho)
        n, s = len(features), W.shape[1]
        # Q has no more columns than the features, so its rows never reach beyond the features already read.
        Q = features.reshape(-1)[: n * s].reshape(n, s)
        for rows in row_chunks(*features.shape):
            Q[rows] = (features[rows] - self.mean) @ W
        return Q


def centred_gram(features: Floats) -> tuple[Floats, Floats]:
    """The mean of features, and ``Phi'Phi`` about it, in float64."""
    mean = features.mean(axis=0, dtype=np.float64)
    gram = np.zeros((features.shape[1],) * 2)
    for rows in row_chunks(*features.shape):
        centred = features[rows] - mean
        gram += centred.T @ centred
    return mean, gram


def ridge_whitening(gram: Floats, rho: float) -> Floats:
    """W with ``W W' = (gram + rho)^-1``, triangular: whitened as by ``PrincipalMap``, up to a rotation, at less cost.

    The ridge is at least what rounding leaves of a direction without variance.
    """
    rho = max(rho, AXIS_TOL * float(np.trace(gram)))
    L = np.linalg.cholesky(gram + rho * np.eye(len(gram)))
    return np.asarray(dtrtri(L, lower=True)[0].T)


def whiten(P: Floats, lam: Floats, rho: float) -> Floats:
    """Q from principal coordinates with squared lengths ``lam``, C-ordered in the dtype of P."""
    keep, factors = _ridge_axes(lam, rho)
    return np.ascontiguousarray(P[:, keep] * factors[keep].astype(P.dtype))


def _ridge_axes(lam: Floats, rho: float) -> tuple[Mask, Floats]:
    """Which axes the ridge does not make negligible, and the factor that whitens each.

    If the ridge leaves no axis a tenth of a degree of freedom, the strongest axis sets the scale.
    """
    freedom = lam / (lam + rho)
    return freedom > LEAST_FREEDOM * min(1.0, 10 * freedom.max(initial=0.0)), 1 / np.sqrt(lam + rho)


def leading_directions(X: Matrix, size: int) -> Floats:
    """Coordinates of the rows of a table on its leading singular directions, each row of length 1."""
    found: Floats = TruncatedSVD(min(size, *X.shape), n_iter=DIRECTION_STEPS, random_state=0).fit_transform(X)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return (found / np.maximum(lengths, np.finfo(found.dtype).tiny)).astype(np.float32)


class PrincipalAxes:
    """The leading principal axes of a table, up to ``size``, in units of its total standard deviation."""

    def __init__(self, X: Matrix, size: int, seed: int):
        rows = CentredRows(row_blocks(X))
        if rows.scale == 0:
            raise InvalidDataError(f"All {X.shape[0]} rows are equal, so none is nearer than another; check the data.")
        self.mean = rows.mean
        size = min(size, *X.shape)
        if isinstance(X, np.ndarray):
            # Centred first: far from the origin, a Gram matrix of uncentred rows has no digits left.
            pca = PCA(size, random_state=seed).fit(X - self.mean)
        else:
            solver = "covariance_eigh" if X.shape[1] <= EXPLICIT_COLUMNS else "arpack"
            size = size if solver == "covariance_eigh" else min(size, X.shape[0] - 1)  # Lanczos finds no more
            pca = PCA(size, svd_solver=solver, random_state=seed).fit(X.astype(np.float64))
        self.axes: Doubles = pca.components_.T / rows.scale

    def coordinates(self, X: Matrix) -> Floats:
        """Coordinates of any rows, shape (rows, size)."""
        if isinstance(X, np.ndarray):
            return (X - self.mean) @ self.axes
        return np.asarray(X @ self.axes - self.mean @ self.axes)
