"""Whole tables in memory, dense or sparse: ranges of columns and leading principal coordinates."""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from widegap.data._blocks import Floats
from widegap.data._centred import CentredRows
from widegap.data._sources import row_blocks
from widegap.exceptions import InvalidDataError, NotSupportedError

EXPLICIT_COLUMNS = 400  # up to this many columns of a sparse table their covariance is formed and solved whole


def column_ranges(X: Any) -> tuple[Floats, Floats]:
    """Least and largest value of every column of a dense table; sparse ones are refused, as their range says little."""
    if not isinstance(X, np.ndarray):
        raise NotSupportedError(
            f"X is a sparse matrix of {X.shape[1]} columns; rows drawn between their least and largest values would be "
            "dense and far from all rows of X. Reduce first, for example with TruncatedSVD, and draw from the result."
        )
    return X.min(axis=0), X.max(axis=0)


class PrincipalAxes:
    """The ``size`` leading principal axes of a table, in units of its total standard deviation."""

    def __init__(self, X: Any, size: int, seed: int):
        rows = CentredRows(row_blocks(X))
        if rows.scale == 0:
            raise InvalidDataError(f"All {X.shape[0]} rows are equal, so none is nearer than another; check the data.")
        self.mean = rows.mean
        if isinstance(X, np.ndarray):
            # Centred first: far from the origin a Gram matrix of uncentred rows has no digits left.
            pca = PCA(size, random_state=seed).fit(X - self.mean)
        else:
            solver = "covariance_eigh" if X.shape[1] <= EXPLICIT_COLUMNS else "arpack"
            pca = PCA(size, svd_solver=solver, random_state=seed).fit(X.astype(np.float64))
        self.axes = pca.components_.T / rows.scale

    def coordinates(self, X: Any) -> Floats:
        """Coordinates of any rows, shape (rows, size)."""
        if isinstance(X, np.ndarray):
            return (X - self.mean) @ self.axes
        return np.asarray(X @ self.axes - self.mean @ self.axes)
