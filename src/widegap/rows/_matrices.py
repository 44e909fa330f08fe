"""Whole tables in memory, an array or a CSR matrix: what the package asks of them, whichever of the two they are.

``X.shape``, ``X.dtype``, ``X[rows]``, ``X[:, columns]`` and products with arrays are the same for both and need nothing
from here. What differs has a function; only a choice of method may ask for ``storage``. Nothing is densified but the
rows that ``dense_rows`` is told to.

Sums are taken about the mean and in float64. A column whose deviation is no more than the rounding of its own entries
counts as constant: a time stamp or an account number of many digits must not decide what the other columns mean.
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize

from widegap._types import Floats
from widegap.exceptions import InvalidDataError
from widegap.rows._centred import finite_moments
from widegap.rows._sampling import drawn
from widegap.rows._sources import row_blocks

CHUNK = 1 << 18  # numbers worked on at a time: they stay in the cache, and take little memory
FEW_ROWS, FEW_NUMBERS = 16, 10_000  # of a sparse table that is fitted as an ordinary array
FEW_COLUMNS = 1000  # more of them in a sparse table are words, most of whose numbers are 0
GIANT = 1e8
UNITS_DIFFER = 10
FAR = 1e3
# Sizes of the largest number of a table, by its dtype, whose squares and their sums can be told from 0 and infinity
# wherever they are formed (distances are taken in float32 in places).
MAGNITUDES: dict[type, tuple[float, float]] = {np.float64: (1e-18, 1e18), np.float32: (1e-15, 1e15)}


def storage(X: Any) -> Literal["dense", "sparse"]:
    """How a table is stored, for those who choose a method by it."""
    return "sparse" if _is_sparse(X) else "dense"


def _is_sparse(X: Any) -> bool:
    return bool(sp.issparse(X))


def row_chunks(n: int, width: int) -> list[slice]:
    """Rows cut so that a chunk of ``width`` numbers a row stays in the cache."""
    step = max(1, CHUNK // width)
    return [slice(start, start + step) for start in range(0, n, step)]


def sample_rows(X: Any, size: int, rng: np.random.Generator) -> Any:
    """Up to ``size`` rows at random, in their order."""
    return X[drawn(X.shape[0], size, rng)]


def dense_rows(X: Any, rows: Any) -> Floats:
    """Some rows as an ordinary array."""
    part = X[rows]
    return np.asarray(part.toarray() if _is_sparse(part) else part)


def dense_if_few(X: Any) -> Any:
    """X itself, or as an ordinary array if it has few rows: their many ties are then rounded and broken alike."""
    few = X.shape[0] <= FEW_ROWS and X.shape[0] * X.shape[1] <= FEW_NUMBERS
    return dense_rows(X, slice(None)) if few and _is_sparse(X) else X


def check_finite(X: Any) -> Any:
    """X itself; refuses NaN and infinity, for rows or features that nobody has looked at yet."""
    if not np.isfinite(X.data if _is_sparse(X) else X).all():
        raise InvalidDataError(
            "X contains NaN, infinity, or values too large for its dtype; impute, drop or rescale them."
        )
    return X


def check_magnitude(X: Any) -> Any:
    """X itself; refuses one whose numbers are all too small, or some too large, to be squared."""
    numbers = X.data if _is_sparse(X) else X
    if not numbers.size:
        return X
    largest = max(abs(float(numbers.min())), abs(float(numbers.max())))
    low, high = MAGNITUDES[X.dtype.type]
    if largest and not low <= largest <= high:
        trouble = "vanish" if largest < low else "overflow"
        raise InvalidDataError(
            f"The largest number of X is {largest:.3g}, and squares of it {trouble} in {X.dtype}, for which it must be "
            f"between {low:g} and {high:g}: divide all columns by {largest:.0e}; units do not matter."
        )
    return X


def lone_giant(X: Any) -> tuple[float, float] | None:
    """The largest distance of a number from its column's middle, and the usual one, if rounding swallows the latter.

    Beyond ``GIANT``, the root of the rounding unit, squares of usual distances are less than the rounding of the
    largest square. What is usual is the median of some rows, in the column where it is largest.
    """
    if _is_sparse(X) and X.shape[1] > FEW_COLUMNS:
        return None
    some = dense_rows(X, slice(None, None, max(1, X.shape[0] // 200))).astype(np.float64)
    middle = _medians(some)
    usual = float(_medians(np.abs(some - middle)).max(initial=0.0))
    high, low = X.max(axis=0), X.min(axis=0)
    if _is_sparse(X):
        high, low = high.toarray().ravel(), low.toarray().ravel()
    largest = float(np.maximum(high - middle, middle - low).max(initial=0.0))
    return (largest, usual) if 0 < usual < largest / GIANT else None


def _medians(X: Floats) -> Floats:
    """Median of every column of a few rows: ``np.median`` takes five times as long."""
    ordered = np.sort(X.T, axis=1)
    return np.asarray((ordered[:, (len(X) - 1) // 2] + ordered[:, len(X) // 2]) / 2)


def refuse_non_numbers(X: Any, name: str = "X") -> Any:
    """X itself; refuses what NumPy would turn into numbers without a word: masked entries, dates and durations."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InvalidDataError(
            f"{name} is a masked array with {np.ma.count_masked(X)} masked entries, which would be used as if they "
            "were not; fill them, X.filled(...), or drop their rows."
        )
    for kind in [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", ()):
        if getattr(kind, "kind", None) in ("m", "M"):
            raise InvalidDataError(
                f"{name} holds {kind}, dates or durations in place of numbers; turn them into numbers of days or hours."
            )
    return X


def count_distinct_rows(X: Any, enough: int) -> int:
    """How many different rows there are, counted up to ``enough``."""
    found: set[Any] = set()
    X = _canonical(X) if _is_sparse(X) else X
    for i in range(X.shape[0]):
        if _is_sparse(X):
            part = slice(X.indptr[i], X.indptr[i + 1])
            cells = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
            found.add(frozenset(cell for cell in cells if cell[1]))
        else:
            found.add((X[i] + 0.0).tobytes())  # minus zero is zero
        if len(found) >= enough:
            break
    return len(found)


def shuffle_columns(X: Any, rng: np.random.Generator) -> Any:
    """Every column with its entries in an order of its own: what is left of a table without its structure."""
    if not _is_sparse(X):
        return rng.permuted(X, axis=0)
    n = X.shape[0]
    columns = sp.csc_array(_canonical(X))
    counts = np.diff(columns.indptr)
    places = [rng.permutation(n)[:count] for count in counts]
    owners = np.repeat(np.arange(len(counts)), counts)
    rows = np.concatenate(places) if places else np.zeros(0, np.int64)
    return sp.csr_array((columns.data, (rows, owners)), shape=X.shape)


def column_moments(X: Any) -> tuple[Floats, Floats]:
    """Mean and standard deviation of every column; a deviation within the rounding of the column is 0."""
    moments = finite_moments(row_blocks(X))
    variance = np.where(moments.varies, moments.scatter / moments.n_rows, 0.0)
    return moments.mean, np.sqrt(np.maximum(variance, 0.0))


def without_gaps(X: Any) -> tuple[Any, Any]:
    """A table whose NaN are the means of their columns, and where it had values (0 or 1); None if everywhere."""
    if _is_sparse(X) or X.dtype.kind != "f" or not np.isnan(X.sum()):
        return X, None
    present = ~np.isnan(X)
    counts = present.sum(axis=0)
    means = np.where(present, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(present, X, means), present.astype(X.dtype)


def column_ranges(X: Any) -> tuple[Floats, Floats]:
    """Least and largest value of every column."""
    low, high = X.min(axis=0), X.max(axis=0)
    if _is_sparse(low):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low, high


def whole_columns(X: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which columns hold whole numbers only."""
    rests = X - (X.floor() if _is_sparse(X) else np.floor(X))
    return np.asarray(rests.sum(axis=0)).ravel() == 0


def column_weights(X: Any, standardize: bool | str) -> Floats | None:
    """1 / standard deviation of every column, or None if columns are to stay as they are.

    "auto" standardises dense tables whose largest deviation exceeds ten times the median one. Columns that are
    constant within rounding get the weight 0, as their last digits say nothing.
    """
    if standardize is False or (standardize == "auto" and storage(X) == "sparse"):
        return None
    deviations = column_moments(X)[1]
    varies = deviations > 0
    varying = deviations[varies]
    if standardize == "auto" and (not len(varying) or varying.max() <= UNITS_DIFFER * np.median(varying)):
        return None if _constant_columns_are_equal(X, varies) else varies.astype(np.float64)
    return np.divide(1.0, deviations, out=np.zeros_like(deviations), where=varies)


def _constant_columns_are_equal(X: Any, varies: Any) -> bool:
    """Whether the columns that do not vary hold one value each, to the last digit."""
    still = X[:, np.flatnonzero(~varies)]
    return bool((still == still[:1]).all())


def scale_columns(X: Any, weights: Floats | None) -> Any:
    """X with its columns multiplied by weights, in its own dtype; X itself without weights."""
    if weights is None:
        return X
    weights = weights.astype(X.dtype)
    return sp.csr_array(X.multiply(weights)) if _is_sparse(X) else X * weights


def scale_table(X: Any, weights: Floats | None, unit_rows: bool) -> Any:
    """X with its columns multiplied by weights, and then with rows of length one if so wished (zero rows stay)."""
    X = scale_columns(X, weights)
    return normalize(X) if unit_rows else X


def column_offsets(X: Any) -> Floats | None:
    """Means of the columns that lie far from 0 for their spread, 0 for the others; None if there are no such columns.

    Far is ``FAR`` standard deviations: there squares of entries lose so many digits that little is left of distances.
    """
    mean, deviation = column_moments(X)
    far = np.abs(mean) > FAR * deviation
    return np.where(far, mean, 0.0) if far.any() else None


def shift_columns(X: Any, offsets: Floats | None) -> Any:
    """``X - offsets`` in float64; X itself without offsets. Rows that are equal stay so.

    Columns that are moved are stored in full, as those that lie far from 0 are anyway.
    """
    if offsets is None:
        return X
    if not _is_sparse(X):
        return X - offsets
    X = _canonical(X)
    shifted = sp.csr_array((X.data - offsets[X.indices], X.indices, X.indptr), shape=X.shape)
    absent = _absent(X, np.flatnonzero(offsets))
    if not len(absent[0]):
        return shifted
    filled = shifted + sp.csr_array((-offsets[absent[1]], absent), shape=X.shape)
    filled.indices, filled.indptr = filled.indices.astype(X.indices.dtype), filled.indptr.astype(X.indptr.dtype)
    return filled


def _absent(X: Any, columns: Any) -> tuple[Any, Any]:
    """Rows and columns of the entries that a CSR matrix does not store in the given columns."""
    place = np.full(X.shape[1], -1)
    place[columns] = np.arange(len(columns))
    places, rows = place[X.indices], np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored = np.zeros((X.shape[0], len(columns)), bool)
    stored[rows[places >= 0], places[places >= 0]] = True
    rows, places = np.nonzero(~stored)
    return rows, columns[places]


def distances_to(centres: Floats, X: Any) -> Floats:
    """Distance of every row to every centre, shape (n, k)."""
    if _is_sparse(X):
        return euclidean_distances(X, centres)
    return np.stack([np.linalg.norm(X - centre, axis=1) for centre in centres], axis=1)


def near_origin(X: Any) -> Any:
    """X without the offsets of its columns, for methods that look at distances only."""
    return shift_columns(X, column_offsets(X))


def _canonical(X: Any) -> Any:
    """CSR with every entry stored once; X itself if it is so."""
    if X.has_canonical_format:
        return X
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    return X
