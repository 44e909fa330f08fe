"""All rows of a fit as a list of kernels sees them: one table, wherever its rows are, or several views in memory.

Only landmarks and a sample of a table are taken; the rest is mapped block by block. A transformer is fitted to all rows
if they are in memory or small enough to be (``may_be_held``), else to the sample, like all kernels.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_array

from widegap._types import Floats, Indices, Matrix
from widegap.features._kernel_specs import KernelSpec
from widegap.rows._matrices import check_finite, storage
from widegap.rows._protocols import Rows
from widegap.rows._sources import feature_rows, may_be_held, row_blocks
from widegap.rows._threads import one_blas_thread


class Stack(Protocol):
    """Kernels side by side."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of features."""

    def transform(self, X: Any) -> Floats:
        """Features of rows."""

    def transform_seen(self, tables: Mapping[str, Matrix], n_rows: int) -> Floats:
        """Features of rows from the table that each kernel, by name, sees of them."""


class SeenRows(Protocol):
    """Rows that kernels are fitted to; ``landmarks`` and ``sample`` are numbers of rows."""

    n_rows: int
    landmarks: Indices
    sample: Indices

    def n_columns(self, spec: KernelSpec) -> int:
        """Columns where a kernel looks."""

    def fitted(self, spec: KernelSpec) -> Any:
        """The fitted transformer of a kernel that is one."""

    def take(self, spec: KernelSpec, rows: Indices) -> Matrix:
        """The landmarks or the sample as a kernel sees them."""

    def features(self, stack: Stack, n_threads: int) -> Rows:
        """The features of all rows, to be read by ``n_threads`` threads."""


class _Transformed:
    """What kernels see if some of them are transformers."""

    def __init__(self, landmarks: Indices, sample: Indices):
        self.landmarks, self.sample = landmarks, sample
        self._transformers: dict[str, Any] = {}

    def fitted(self, spec: KernelSpec) -> Any:
        if spec.is_transformer:
            self._transformers[spec.name] = clone(spec.kernel).fit(self._training(spec))
        return self._transformers.get(spec.name)

    def _training(self, spec: KernelSpec) -> Any:
        """What a transformer is fitted to."""
        raise NotImplementedError

    def _as_seen(self, spec: KernelSpec, table: Any) -> Matrix:
        transformer = self._transformers.get(spec.name)
        return table if transformer is None else transformed_table(transformer, table, spec.name)


class TableRows(_Transformed):
    """One table, in memory, in files or on a cluster; kernels look at its columns."""

    def __init__(self, rows: Rows, landmarks: Indices, sample: Indices):
        super().__init__(landmarks, sample)
        self._rows, self.n_rows = rows, rows.shape[0]
        self._taken: list[tuple[Indices, Matrix]] = []

    def n_columns(self, spec: KernelSpec) -> int:
        return self._rows.shape[1] if spec.source is None else len(spec.source)

    def _training(self, spec: KernelSpec) -> Matrix:
        whole = may_be_held(self._rows, self._rows.shape[1])
        table = check_finite(self._rows.take(np.arange(self.n_rows))) if whole else self._take(self.sample)
        return _columns_of(table, spec.source)

    def take(self, spec: KernelSpec, rows: Indices) -> Matrix:
        return self._as_seen(spec, _columns_of(self._take(rows), spec.source))

    def _take(self, rows: Indices) -> Matrix:
        """Some rows, read once for all kernels."""
        for known, table in self._taken:
            if known is rows:
                return table
        self._taken.append((rows, check_finite(self._rows.take(rows))))
        return self._taken[-1][1]

    def features(self, stack: Stack, n_threads: int) -> Rows:
        with one_blas_thread():  # blocks are mapped side by side
            return feature_rows(self._rows, _Checked(stack.transform), sum(stack.sizes))


class _Checked:
    """A map that refuses rows with NaN or infinity, because rows in files have not been checked before."""

    def __init__(self, transform: Callable[[Matrix], Floats]):
        self._transform = transform

    def __call__(self, X: Matrix) -> Floats:
        return self._transform(check_finite(X))


class ViewRows(_Transformed):
    """Tables of the same rows by name, in memory; each is transformed once."""

    def __init__(self, views: Mapping[str, Any], landmarks: Indices, sample: Indices):
        super().__init__(landmarks, sample)
        self._views, self.n_rows = views, n_rows(views)
        self._tables: dict[str, Matrix] = {}

    def n_columns(self, spec: KernelSpec) -> int:
        return n_columns(self._view(spec))

    def _training(self, spec: KernelSpec) -> Any:
        return self._view(spec)

    def _view(self, spec: KernelSpec) -> Any:
        assert isinstance(spec.source, str)
        return self._views[spec.source]

    def take(self, spec: KernelSpec, rows: Indices) -> Matrix:
        if spec.name not in self._tables:
            self._tables[spec.name] = self._as_seen(spec, self._view(spec))
        return self._tables[spec.name][rows]

    def features(self, stack: Stack, n_threads: int) -> Rows:
        return row_blocks(stack.transform_seen(self._tables, self.n_rows), n_threads=n_threads)


def is_views(X: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether X is a dict of views; scipy's ``dok_matrix`` is a dict too, but a table."""
    return isinstance(X, Mapping) and storage(X) == "dense"


def n_columns(table: Any) -> int:
    """Columns of a table; 1 for a list of documents or other objects."""
    return int(table.shape[1]) if getattr(table, "ndim", 1) == 2 else 1


def n_rows(X: Any) -> int:
    """Rows of a table, of a list of documents, or of any of the views, which have the same number."""
    if isinstance(X, Mapping):
        X = next(iter(X.values()))
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def source_part(X: Any, source: npt.NDArray[np.integer] | str | None) -> Any:
    """A source's part of a table or of a dict of views."""
    return X[source] if isinstance(X, Mapping) else _columns_of(X, source)


def _columns_of(X: Matrix, columns: npt.NDArray[np.integer] | str | None) -> Matrix:
    """Some columns of a table, or all."""
    assert not isinstance(columns, str)  # that is the name of a view
    return X if columns is None else X[:, columns]


def transformed_table(transformer: Any, table: Any, name: str) -> Matrix:
    """Rows after a transformer, as a table of finite numbers."""
    found: Matrix = check_array(
        transformer.transform(table), accept_sparse="csr", dtype=[np.float64, np.float32], input_name=f"kernel {name!r}"
    )
    return found
