"""Whole tables in memory, arrays or CSR matrices: operations that hide the difference.

``X.shape``, ``X.dtype``, ``X[rows]``, ``X[:, columns]`` and products with arrays are the same for both and need nothing
from here. What differs has a function; only a choice of method may ask for ``storage``. ``dense_rows`` alone makes
sparse rows dense.

Sums are taken about the mean and in float64. A column whose deviation is at most the rounding of its own entries
counts as constant: a time stamp or an account number of many digits must not decide what the other columns mean.
"""

from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize

from widegap._types import Doubles, Floats, Indices, Ints, Labels, Mask, Matrix, SparseMatrix
from widegap.exceptions import InvalidDataError
from widegap.rows._centred import Moments, finite_moments
from widegap.rows._sampling import drawn
from widegap.rows._sources import row_blocks

CACHED_NUMBERS = 1 << 18  # numbers worked on at a time: 2 MiB, about a second cache; not tuned
FEW_ROWS = 16  # a sparse table with no more rows is fitted as an array: it has many ties; not tuned
FEW_NUMBERS = 10_000  # most numbers of such an array: 80 kB; not tuned
FEW_COLUMNS = 1000  # a sparse table with more columns holds words: most numbers are 0, and the others alike in size
GIANT = 1e8  # about the root of float64's rounding unit: beyond it usual squares vanish beside the largest
UNITS_DIFFER = 10  # columns of one unit rarely differ by more, tables of several units by hundreds; not tuned
FAR_DEVIATIONS = 1e3  # squares so far out lose six digits of float64, those of float32 all but one
# Range of the largest number of a table, by dtype, in which its squares and their sums neither vanish nor overflow
# (distances are taken in float32 in places).
MAGNITUDES: dict[type, tuple[float, float]] = {np.float64: (1e-18, 1e18), np.float32: (1e-15, 1e15)}

Ranges = tuple[Floats, Floats]  # least and largest numbers
_Table = TypeVar("_Table", bound=Matrix)


def storage(X: object) -> Literal["dense", "sparse"]:
    """How a table is stored, for a choice of method."""
    return "sparse" if sp.issparse(X) else "dense"


def row_chunks(n: int, width: int) -> list[slice]:
    """Rows cut so that a chunk of ``width`` numbers per row stays in the cache."""
    step = max(1, CACHED_NUMBERS // width)
    return [slice(start, start + step) for start in range(0, n, step)]


def sample_rows(X: Matrix, size: int, rng: np.random.Generator) -> Matrix:
    """Up to ``size`` rows at random, in their order."""
    return X[drawn(X.shape[0], size, rng)]


def dense_rows(X: Matrix, rows: Indices | slice) -> Floats:
    """Some rows as an ordinary array."""
    part = X[rows]
    return np.asarray(part if isinstance(part, np.ndarray) else part.toarray())  # not as a view of a file


def stacked(first: Matrix, second: Matrix) -> Matrix:
    """The rows of two tables below each other; CSR if one of them is."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([np.asarray(first), np.asarray(second)])
    return sp.csr_array(sp.vstack([sp.csr_array(first), sp.csr_array(second)], format="csr"))


def indicators(numbers: Labels, size: int) -> SparseMatrix:
    """A row for each number, with a 1 in its column."""
    n = len(numbers)
    return sp.csr_array((np.ones(n), numbers, np.arange(n + 1)), shape=(n, size))


def stored_numbers(X: Matrix) -> Floats:
    """The numbers of an array, or those that a CSR matrix stores."""
    return X if isinstance(X, np.ndarray) else X.data


def dense_if_few(X: Matrix) -> Matrix:
    """X itself, or as an array if it has few rows, whose many ties are then broken as those of arrays are."""
    few = X.shape[0] <= FEW_ROWS and X.shape[0] * X.shape[1] <= FEW_NUMBERS
    return dense_rows(X, slice(None)) if few and sp.issparse(X) else X


def check_finite(X: _Table) -> _Table:
    """X itself; refuses NaN and infinity, for rows or features that have not been checked before."""
    if not np.isfinite(stored_numbers(X)).all():
        raise InvalidDataError(
            "X contains NaN, infinity, or values too large for its dtype; impute, drop or rescale them."
        )
    return X


def check_magnitude(X: _Table, largest: float) -> _Table:
    """X itself; refuses it if its largest number, without its sign, is too small or too large to be squared."""
    low, high = MAGNITUDES[X.dtype.type]
    if largest and not low <= largest <= high:
        trouble = "vanish" if largest < low else "overflow"
        raise InvalidDataError(
            f"The largest number of X is {largest:.3g}, and squares of it {trouble} in {X.dtype}, which needs one "
            f"between {low:g} and {high:g}: divide all columns by {largest:.0e}; units do not matter."
        )
    return X


def lone_giant(X: Matrix, most: float) -> tuple[float, float] | None:
    """The largest distance of a number from its column's median, and the usual one if rounding swallows it.

    Beyond ``GIANT``, the root of the rounding unit, squares of usual distances are less than the rounding of the
    largest square. What is usual is the median of some rows, in the column where it is largest. No number of X exceeds
    ``most``: that alone rules a giant out for most tables, without a read.
    """
    if _holds_words(X):
        return None
    some = dense_rows(X, slice(None, None, max(1, X.shape[0] // 200))).astype(np.float64)
    middle = _medians(some)
    usual = float(_medians(np.abs(some - middle)).max(initial=0.0))
    if not 0 < usual < 2 * most / GIANT:
        return None
    low, high = column_ranges(X)
    largest = float(np.maximum(high - middle, middle - low).max(initial=0.0))
    return (largest, usual) if usual < largest / GIANT else None


def _medians(X: Floats) -> Floats:
    """Median of every column of a few rows, in a fifth of the time of ``np.median``."""
    ordered = np.sort(X.T, axis=1)
    return np.asarray((ordered[:, (len(X) - 1) // 2] + ordered[:, len(X) // 2]) / 2)


def refuse_non_numbers(X: Any, name: str = "X") -> Any:
    """X itself; refuses what NumPy would silently turn into numbers: masked entries, dates and durations."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InvalidDataError(
            f"{name} is a masked array with {np.ma.count_masked(X)} masked entries, whose masks would be ignored; fill "
            "them, X.filled(...), or drop their rows."
        )
    for kind in [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", ()):
        if getattr(kind, "kind", None) in ("m", "M"):
            raise InvalidDataError(
                f"{name} holds {kind}, dates or durations in place of numbers; convert them to numbers of days, "
                "which TableEncoder does for a table."
            )
    return X


def count_distinct_rows(X: Matrix, enough: int) -> int:
    """How many different rows there are, counted up to ``enough``."""
    found: set[object] = set()
    X = _canonical(X) if sp.issparse(X) else X
    for i in range(X.shape[0]):
        if not isinstance(X, np.ndarray):
            part = slice(X.indptr[i], X.indptr[i + 1])
            cells = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
            found.add(frozenset(cell for cell in cells if cell[1]))
        else:
            found.add((X[i] + 0.0).tobytes())  # minus zero is zero
        if len(found) >= enough:
            break
    return len(found)


def shuffle_columns(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Every column shuffled by itself: a table with the same columns and no structure."""
    if isinstance(X, np.ndarray):
        return rng.permuted(X, axis=0)
    n = X.shape[0]
    columns = sp.csc_array(_canonical(X))
    counts = np.diff(columns.indptr)
    places = [rng.permutation(n)[:count] for count in counts]
    owners = np.repeat(np.arange(len(counts)), counts)
    rows = np.concatenate(places) if places else np.zeros(0, np.int64)
    return sp.csr_array((columns.data, (rows, owners)), shape=X.shape)


def column_moments(X: Matrix, moments: Moments | None = None) -> tuple[Floats, Floats]:
    """Mean and standard deviation of every column; a deviation within the rounding of the column is 0."""
    moments = finite_moments(row_blocks(X)) if moments is None else moments
    variance = np.where(moments.varies, moments.scatter / moments.n_rows, 0.0)
    return moments.mean, np.sqrt(np.maximum(variance, 0.0))


def without_gaps(X: Matrix) -> tuple[Matrix, Floats | None]:
    """A table with NaN replaced by column means, and where it had values (1 or 0); None if it had no NaN."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or not np.isnan(X.sum()):
        return X, None
    present = ~np.isnan(X)
    counts = present.sum(axis=0)
    means = np.where(present, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(present, X, means), present.astype(X.dtype)


def zeros_for_gaps(filled: Matrix, present: Floats | None) -> Matrix:
    """What ``without_gaps`` gives with 0 where there were gaps; sparse rows have none."""
    return filled if present is None else dense_rows(filled, slice(None)) * present


def cluster_means(sums: Doubles, sizes: Doubles) -> Doubles:
    """Means of sums over so many rows each; NaN where there is none."""
    return np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0)


def count_missing(X: Matrix) -> Ints:
    """Number of NaN in every column."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.isnan(X).sum(axis=0))
    return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])


def column_sums(X: Matrix) -> Floats:
    """Sum of every column, added up in the dtype of X."""
    if isinstance(X, np.ndarray):
        return np.asarray(X.sum(axis=0))
    return np.asarray(X.sum(axis=0, dtype=np.float64))  # scipy converts what it has added up


def largest_number(X: Matrix) -> float:
    """The largest number of a table, without its sign; NaN if one is. One read: few rows at a time stay in the cache.

    Numbers that a sparse table stores twice are added up, but not those of words.
    """
    numbers = stored_numbers(X if isinstance(X, np.ndarray) or _holds_words(X) else _canonical(X))
    width = numbers.size // max(1, len(numbers))
    ends = [(-part.min(), part.max()) for part in (numbers[chunk] for chunk in row_chunks(len(numbers), max(1, width)))]
    return float(np.max(ends, initial=0.0))


def column_ranges(X: Matrix) -> Ranges:
    """Least and largest value of every column: one read."""
    if not isinstance(X, np.ndarray):
        return _sparse_ranges(_canonical(X))
    chunks = row_chunks(*X.shape)
    low, high = X[chunks[0]].min(axis=0), X[chunks[0]].max(axis=0)
    for chunk in chunks[1:]:
        np.minimum(low, X[chunk].min(axis=0), out=low)
        np.maximum(high, X[chunk].max(axis=0), out=high)
    return np.asarray(low), np.asarray(high)


def _sparse_ranges(X: SparseMatrix) -> Ranges:
    """The same of a CSR matrix as it is: turned to columns it would be held twice."""
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]  # the others have zeros as well
    low, high = (np.where(full, end, 0.0).astype(X.dtype) for end in (np.inf, -np.inf))
    np.minimum.at(low, X.indices, X.data)
    np.maximum.at(high, X.indices, X.data)
    return low, high


def _holds_words(X: Matrix) -> bool:
    return bool(sp.issparse(X) and X.shape[1] > FEW_COLUMNS)


def whole_columns(X: Matrix) -> Mask:
    """Which columns hold whole numbers only."""
    rests = X - np.floor(X) if isinstance(X, np.ndarray) else X - X.floor()
    return np.asarray(np.asarray(rests.sum(axis=0)).ravel() == 0)


def column_weights(X: Matrix, standardize: bool | str, moments: Moments | None = None) -> Floats | None:
    """1 / standard deviation of every column, or None if columns stay as they are.

    "auto" standardises dense tables whose largest deviation exceeds ten times the median one. Columns that are
    constant within rounding get the weight 0, because their last digits mean nothing. ``moments`` of the rows, where
    they are known, are not computed again.
    """
    if standardize is False or (standardize == "auto" and storage(X) == "sparse"):
        return None
    deviations = column_moments(X, moments)[1]
    varies = deviations > 0
    varying = deviations[varies]
    if standardize == "auto" and (not len(varying) or varying.max() <= UNITS_DIFFER * np.median(varying)):
        return None if _constant_columns_are_equal(X, varies) else varies.astype(np.float64)
    return np.divide(1.0, deviations, out=np.zeros_like(deviations), where=varies)


def _constant_columns_are_equal(X: Matrix, varies: Mask) -> bool:
    """Whether the columns that do not vary hold one value each, to the last digit."""
    assert isinstance(X, np.ndarray)  # "auto" leaves sparse tables as they are
    still = X[:, np.flatnonzero(~varies)]
    return bool((still == still[:1]).all())


def scale_columns(X: Matrix, weights: Floats | None) -> Matrix:
    """X with its columns multiplied by weights, in its own dtype; X itself without weights."""
    if weights is None:
        return X
    weights = weights.astype(X.dtype)
    return X * weights if isinstance(X, np.ndarray) else sp.csr_array(X.multiply(weights))


def scale_table(X: Matrix, weights: Floats | None, unit_rows: bool) -> Matrix:
    """X with its columns multiplied by weights, and then rows of length one with ``unit_rows`` (zero rows stay)."""
    X = scale_columns(X, weights)
    scaled: Matrix = normalize(X) if unit_rows else X
    return scaled


def column_offsets(X: Matrix, moments: Moments | None = None) -> Floats | None:
    """Means of the columns that lie far from 0 for their spread, 0 for the others; None if there are no such columns.

    Far is ``FAR_DEVIATIONS`` standard deviations: beyond them squares of entries leave distances too few digits.
    """
    mean, deviation = column_moments(X, moments)
    far = np.abs(mean) > FAR_DEVIATIONS * deviation
    return np.where(far, mean, 0.0) if far.any() else None


def shift_columns(X: Matrix, offsets: Floats | None) -> Matrix:
    """``X - offsets`` in float64; X itself without offsets. Equal rows stay equal.

    Columns that are shifted are stored in full: a column far from 0 has hardly a zero anyway.
    """
    if offsets is None:
        return X
    if isinstance(X, np.ndarray):
        return X - offsets
    X = _canonical(X)
    shifted = sp.csr_array((X.data - offsets[X.indices], X.indices, X.indptr), shape=X.shape)
    absent = _absent(X, np.flatnonzero(offsets))
    if not len(absent[0]):
        return shifted
    filled = shifted + sp.csr_array((-offsets[absent[1]], absent), shape=X.shape)
    filled.indices, filled.indptr = filled.indices.astype(X.indices.dtype), filled.indptr.astype(X.indptr.dtype)
    return filled


def _absent(X: SparseMatrix, columns: Indices) -> tuple[Indices, Indices]:
    """Rows and columns of the entries that a CSR matrix does not store in some columns."""
    place = np.full(X.shape[1], -1)
    place[columns] = np.arange(len(columns))
    places, rows = place[X.indices], np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored = np.zeros((X.shape[0], len(columns)), bool)
    stored[rows[places >= 0], places[places >= 0]] = True
    rows, places = np.nonzero(~stored)
    return rows, columns[places]


def distances_to(centres: Floats, X: Matrix) -> Floats:
    """Distance of every row to every centre, shape (n, k)."""
    if isinstance(X, np.ndarray):
        return np.stack([np.linalg.norm(X - centre, axis=1) for centre in centres], axis=1)
    distances: Doubles = euclidean_distances(X, centres)
    return distances


def without_far_offsets(X: Matrix) -> Matrix:
    """X without the offsets of its columns, for methods that depend on distances only."""
    return shift_columns(X, column_offsets(X))


def _canonical(X: SparseMatrix) -> SparseMatrix:
    """CSR with every entry stored once; X itself if it has that form."""
    if X.has_canonical_format:
        return X
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    return X
