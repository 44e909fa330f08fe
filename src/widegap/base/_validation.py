"""Checks of parameters and rows; the only file that touches scikit-learn's private helpers."""

import os
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import cpu_count
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_array, check_random_state, validate_data

from widegap._types import Array, Doubles, Indices, Labels, Mask, Matrix
from widegap._warnings import warn_caller
from widegap.base._table_refusals import RefusedTable
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._kernels import WIDTH_RULES, KernelNames
from widegap.rows._blocks import RowBlocks
from widegap.rows._centred import CentredRows
from widegap.rows._collections import collection_rows, is_collection
from widegap.rows._fingerprints import fingerprint, text_fingerprint
from widegap.rows._known_frames import known_frame
from widegap.rows._matrices import check_magnitude, dense_if_few, largest_number, lone_giant, refuse_non_numbers
from widegap.rows._protocols import Rows
from widegap.rows._sources import row_blocks
from widegap.rows._state_files import state_arrays

__all__ = [
    "COST",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_cluster_number",
    "check_documents",
    "check_generator",
    "check_labels",
    "check_precomputed",
    "check_numbers",
    "check_row_numbers",
    "check_row_weights",
    "check_rows",
    "check_start_labels",
    "check_table",
    "check_threads",
    "check_views",
    "digest_of",
    "holds_numbers",
    "input_kind",
    "kernel_constraints",
    "one_point_error",
    "take_rows",
]


MAX_LABELS = 100_000  # clusters that a user's labels may name: pages and tables have a line for each; not tuned
# Weights of losses: far outside these bounds labels are those at the bound, or sums overflow.
COST = Interval(Real, 1e-12, 1e12, closed="both")


class _Estimator(Protocol):
    """What checks of rows read and set on an estimator."""

    _fits_collections: ClassVar[bool]
    labels_out: str | os.PathLike[str] | None
    n_features_in_: int
    feature_names_in_: Array
    _rows_digest: str


def kernel_constraints(*, precomputed: bool = False) -> dict[str, list[object]]:
    """Rules of the parameters ``kernel``, ``gamma`` and ``kernel_params``, read from the table of kernels."""
    return {
        "kernel": [StrOptions(KernelNames(precomputed)), callable],
        "gamma": [StrOptions(WIDTH_RULES.keys()), Interval(Real, 0, None, closed="neither")],
        "kernel_params": [dict, None],
    }


def check_threads(n_jobs: int | None) -> int:
    """Number of threads: None is what scikit-learn's own loops would use, negative counts back from all cores."""
    if n_jobs is None:
        return int(_openmp_effective_n_threads())
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use None for the default, -1 for all cores or a positive number.")
    return n_jobs if n_jobs > 0 else max(1, int(cpu_count()) + 1 + n_jobs)


def check_rows(estimator: _Estimator, X: Any, *, reset: bool, n_threads: int) -> Rows:
    """Rows as blocks: arrays, memmaps, frames and sparse matrices are validated, RowBlocks are taken as they are."""
    if is_collection(X):
        if not estimator._fits_collections:
            raise NotSupportedError(
                f"{type(estimator).__name__} does not fit collections of Dask; use CPM3C, M2DCU, MKC or "
                "MaxMarginClustering, or fit X.compute() or a sample of X and predict X, which is lazy."
            )
        if reset and estimator.labels_out is not None:
            raise NotSupportedError(
                "labels_out is for rows in memory or in files; for Dask collections labels_ is lazy: leave labels_out "
                "out, and write the labels by Dask, such as dask.array.to_npy_stack(folder, model.labels_)."
            )
        rows, names, warning = collection_rows(X, n_threads)
        _check_shape(estimator, rows.shape, reset=reset)
        if reset and names is not None:
            estimator.feature_names_in_ = names
        if reset and warning is not None:
            warn_caller(warning, UserWarning)
        return rows
    if isinstance(X, RowBlocks):
        _check_shape(estimator, X.shape, reset=reset)
    else:
        X = check_table(estimator, known_frame(X), reset=reset)
        X = dense_if_few(X) if reset else X
    return row_blocks(X, n_threads=n_threads, new_array=state_arrays(estimator.labels_out if reset else None))


def _check_shape(estimator: _Estimator, shape: tuple[int, int], *, reset: bool) -> None:
    """Refuse a table without rows, or with other columns than the fitted one; store the number of columns."""
    if not shape[0]:
        raise InvalidDataError("X has 0 rows; at least one is needed: check the files.")
    if reset:
        estimator.n_features_in_ = shape[1]
        for name in ("feature_names_in_", "_rows_digest"):
            estimator.__dict__.pop(name, None)  # of an earlier fit on a table
    elif shape[1] != estimator.n_features_in_:
        raise InvalidDataError(
            f"X has {shape[1]} features, but {type(estimator).__name__} was fitted with "
            f"{estimator.n_features_in_}; pass the same columns."
        )


def check_table(estimator: _Estimator, X: Any, *, reset: bool) -> Matrix:
    """A validated array or CSR matrix in memory; for a fit the estimator stores its digest."""
    refuse_non_numbers(X)
    rules: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "accept_large_sparse": True}
    with np.errstate(invalid="ignore"):  # infinities of both signs are added up, and then refused
        try:
            if not reset:
                return validate_data(estimator, X, reset=False, **rules)
            table: Matrix = validate_data(estimator, X, reset=True, ensure_all_finite=False, **rules)
            largest = largest_number(table)
            if not np.isfinite(largest):
                validate_data(estimator, X, reset=True, **rules)  # says what is wrong
        except (ValueError, TypeError) as error:
            raise RefusedTable(X, estimator).error(error) from None
    _warn_of_giants(check_magnitude(table, largest), largest)
    estimator._rows_digest = fingerprint(table)
    return table


def checked_rows(estimator: _Estimator, X: Any, rows: Indices, n_threads: int) -> Matrix:
    """Some rows of a table, checked; of arrays, frames and CSR matrices in memory no others are looked at."""
    if isinstance(X, np.ndarray) or (hasattr(X, "iloc") and not is_collection(X)):
        return check_table(estimator, take_rows(X, rows), reset=False)
    if isinstance(X, sp.csr_array | sp.csr_matrix):  # all of them may be unsorted, and would be copied to sort them
        X, rows = X[rows], np.arange(len(rows))
    return check_rows(estimator, X, reset=False, n_threads=n_threads).take(rows)


def count_rows(X: Any) -> int:
    """How many rows a table has, whatever holds it; those of lazy frames are counted."""
    if is_collection(X):
        return int(collection_rows(X, 1)[0].shape[0])
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _warn_of_giants(table: Matrix, largest: float) -> None:
    """Warn if one number is so large that rounding decides about the other rows."""
    giant = lone_giant(table, largest)
    if giant is not None:
        warn_caller(
            f"X holds a number {giant[0]:.1e} from the median of its column, while {giant[1]:.1e} is usual: beside it "
            "rounding decides about the other rows, also when a stored model predicts them. Correct or drop that row.",
            UserWarning,
        )


def digest_of(X: Any) -> str:
    """Digest of a table or of documents, to compare with that of a fit."""
    X = known_frame(X)
    if input_kind(X) == "documents":
        return text_fingerprint(check_documents(X))
    return fingerprint(check_numbers(X))


def check_numbers(X: Any, **rules: object) -> Matrix:
    """An array or CSR matrix of finite numbers; ``rules`` are further arguments of scikit-learn's check_array."""
    with np.errstate(invalid="ignore"):  # infinities of both signs are added up, and then refused
        table: Matrix = check_array(known_frame(X), accept_sparse="csr", dtype=[np.float64, np.float32], **rules)
    return table


def holds_numbers(frame: Any) -> bool:
    """Whether all columns of a frame of pandas, polars or Arrow are numbers or truth values, gaps or not."""
    try:
        table = check_array(known_frame(frame), dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    except (ValueError, TypeError):
        return False
    return bool(table.dtype.kind in "biuf")


def check_views(views: Mapping[str, Any], raw: Collection[str]) -> dict[str, Any]:
    """Tables of the same rows by name, each validated; only a transformer sees those named in ``raw``."""
    if not views:
        raise InvalidDataError("X is a dict without views; pass at least one table of rows.")
    known = {name: known_frame(view) for name, view in views.items()}
    checked = {name: view if name in raw else _check_view(view, name) for name, view in known.items()}
    sizes = {name: view.shape[0] if hasattr(view, "shape") else len(view) for name, view in checked.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name!r} {size}" for name, size in sizes.items())
        raise InvalidDataError(
            f"The views have different numbers of rows: {counts}; row i must be the same sample in all."
        )
    return checked


def _check_view(view: Any, name: str) -> Matrix:
    """One of several tables of the same rows."""
    title = f"view {name!r}"
    refuse_non_numbers(view, title)
    try:
        table = check_numbers(view, input_name=title)
    except (ValueError, TypeError) as error:
        raise RefusedTable(view, None, title, f"X[{name!r}]").error(error) from None
    return check_magnitude(table, largest_number(table))


def check_rows_left(kept: Mask, outliers: float | str, n_clusters: int | str) -> Mask:
    """Which rows take part; refuses ``outliers`` that leave fewer of them than clusters."""
    left, least = int(kept.sum()), int(n_clusters) if isinstance(n_clusters, Integral) else 1
    if left < least <= len(kept):
        raise InvalidDataError(
            f"outliers={outliers!r} leaves {left} of {len(kept)} rows, but every cluster needs one and n_clusters is "
            f"{n_clusters}; lower outliers."
        )
    return kept


def check_cluster_number(n_rows: int, n_clusters: int) -> None:
    """Refuse more clusters than rows."""
    if n_rows < n_clusters:
        raise InvalidDataError(
            f"n_samples={n_rows} should be >= n_clusters={n_clusters}: every cluster needs a row; lower n_clusters."
        )


def one_point_error(kernel: object, rows: Matrix | RowBlocks | None, n_rows: int, n_clusters: int) -> InvalidDataError:
    """Why ``n_rows`` without any scatter cannot be separated: they are equal, or the kernel makes them equal.

    ``rows`` are those rows, or some of them, before the kernel; None without one.
    """
    if kernel == "linear" or rows is None or CentredRows(row_blocks(rows)).scale == 0:
        cause, remedy = f"All {n_rows} rows are equal", "use fewer clusters or check the data"
    else:
        cause, remedy = f"Kernel {kernel!r} maps all {n_rows} rows to one point", "change the kernel or its parameters"
    return InvalidDataError(f"{cause}, so they cannot be separated into {n_clusters} clusters; {remedy}.")


def check_precomputed(shape: tuple[int, int], standardize: bool | str) -> None:
    """Refuse a kernel matrix that is not square, and ``standardize=True``."""
    if shape[0] != shape[1]:
        raise InvalidDataError(
            f"X has shape {shape}, but kernel='precomputed' needs the square matrix of the kernel between all rows; "
            "pass one, or choose another kernel."
        )
    if standardize is True:
        raise InvalidDataError(
            "standardize=True divides columns of X, but a precomputed kernel has none; use 'auto' or False."
        )


def check_start_labels(init: npt.ArrayLike, n_rows: int, n_clusters: int) -> Labels:
    """A user's starting labels as int32."""
    labels = np.asarray(init)
    if labels.shape != (n_rows,):
        raise InvalidDataError(
            f"init has shape {labels.shape}, X has {n_rows} rows; starting labels need one entry per row."
        )
    rule = f"starting labels must be integers from 0 to n_clusters - 1 = {n_clusters - 1}."
    if labels.dtype.kind not in "iub":
        raise InvalidDataError(f"init has dtype {labels.dtype}; {rule}")
    if labels.min() < 0 or labels.max() >= n_clusters:
        raise InvalidDataError(f"init holds values from {labels.min()} to {labels.max()}; {rule}")
    return labels.astype(np.int32)


def check_labels(labels: npt.ArrayLike, n_rows: int | None = None, n_clusters: int | None = None) -> Any:
    """A user's clusters of rows, -1 for none; refuses other numbers, and too many or too few of them."""
    found = np.asarray(labels)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise InvalidDataError(
            f"labels has shape {found.shape} and dtype {found.dtype}; pass one integer per row, -1 for none."
        )
    if n_rows is not None and len(found) != n_rows:
        raise InvalidDataError(f"labels has {len(found)} entries for {n_rows} rows; pass one per row.")
    most = n_clusters if n_clusters is not None else MAX_LABELS
    if not isinstance(most, Integral) or not 0 <= most <= MAX_LABELS:
        raise InvalidDataError(f"n_clusters={n_clusters!r} must be an integer from 0 to {MAX_LABELS:,}.")
    if found.size and not -1 <= int(found.min()) <= int(found.max()) < most:
        raise InvalidDataError(
            f"labels holds values from {found.min()} to {found.max()}; they must go from -1 to {most - 1}."
        )
    return found


def check_row_numbers(rows: npt.ArrayLike, n_rows: int) -> Indices:
    """A user's numbers of rows."""
    found = np.asarray(rows)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise InvalidDataError(f"rows has shape {found.shape} and dtype {found.dtype}; pass a list of row numbers.")
    if found.size and not 0 <= int(found.min()) <= int(found.max()) < n_rows:
        raise InvalidDataError(f"rows holds {found.min()} to {found.max()}; rows are numbered from 0 to {n_rows - 1}.")
    return found.astype(np.intp)


def check_row_weights(sample_weight: npt.ArrayLike, n_rows: int) -> Doubles:
    """Weights of rows; refuses those that have no mean."""
    weights: Doubles = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise InvalidDataError(f"sample_weight has shape {weights.shape} for {n_rows} rows; pass one weight per row.")
    if not np.isfinite(weights).all() or weights.min(initial=0.0) < 0 or not weights.sum() > 0:
        raise InvalidDataError("sample_weight must be finite, at least 0, and not 0 for all rows; correct the weights.")
    return weights


def check_generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """A NumPy generator seeded by scikit-learn's kind of random_state."""
    if isinstance(random_state, Integral):
        return np.random.default_rng(int(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def input_kind(X: Any) -> str:
    """Whether X is a sparse "matrix" of terms, a dense table of "embeddings", or a list of "documents"."""
    if sp.issparse(X):
        return "matrix"
    is_frame = hasattr(X, "columns")
    if is_frame and any(getattr(kind, "kind", "") == "O" or str(kind) == "String" for kind in X.dtypes):
        raise InvalidDataError(
            f"X is a frame with the columns {', '.join(map(str, X.columns[:10]))}; pass the one that holds the "
            f"documents, such as frame[{X.columns[0]!r}]."
        )
    first = X[0] if isinstance(X, list | tuple) and len(X) else ""
    is_table = is_frame or getattr(X, "ndim", 1) == 2 or (isinstance(first, Iterable) and _holds_no_text(first))
    return "embeddings" if is_table else "documents"


def _holds_no_text(values: Iterable[object]) -> bool:
    return not isinstance(values, str | bytes) and not isinstance(next(iter(values), ""), str)


def check_documents(documents: Iterable[object], name: str = "documents") -> list[str]:
    """The documents as a list of strings."""
    if isinstance(documents, str | bytes):
        raise InvalidDataError(f"{name} is one {type(documents).__name__}, but must be a list of str: pass [text].")
    texts: list[str] = []
    for i, text in enumerate(documents):
        if not isinstance(text, str):
            remedy = "decode it first" if isinstance(text, bytes) else "convert it, or replace missing texts by ''"
            raise InvalidDataError(
                f"{name}[{i}] is {text!r:.60} of type {type(text).__name__}, but must be a str: {remedy}."
            )
        texts.append(text)
    return texts
