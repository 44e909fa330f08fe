"""Blocks of rows, and RowBlocks: the one way in which a method reads data.

A block is a few MiB of consecutive rows and knows its own representation; nothing above this package asks whether
data are sparse. Each operation is linear in the stored entries and never makes a dense copy. Dense rows are centred as
they are read; sparse rows stay as they are, and constants and sums are corrected for the mean.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from widegap._types import Array, Doubles, Floats, FloatType, Indices, Labels, Matrix, SparseMatrix
from widegap.rows._protocols import Filling, Parts, Source, State, Total, add_in_place, end_to_end, marked, pieces
from widegap.rows._state_files import CHUNK_ROWS, NewArray
from widegap.rows._threads import ordered_map
from widegap.rows.loops._entry_tables import aligned_zeros, grouped

_Found = TypeVar("_Found")
_Span = tuple[Source, int, int, int]  # a source, first and last row within it, first row in the whole


class Scorer:
    """Scores ``W (x - mean) + b``, with W, b and mean as dense and CSR loops need them, prepared once per pass."""

    def __init__(self, W: Floats, b: Floats, mean: Floats):
        self.W, self.b, self.mean = W, b, mean
        self._forms: dict[tuple[str, FloatType], tuple[Floats, ...]] = {}

    def __len__(self) -> int:
        return len(self.W)

    def dense(self, dtype: FloatType) -> tuple[Floats, ...]:
        """mean, W and b in the dtype of the rows; b corrects what the mean loses by rounding to float32."""

        def make() -> tuple[Floats, ...]:
            return self.mean, self.W, self.b - self.W @ (self.mean - self.mean.astype(dtype))

        return self._form("dense", make, dtype)

    def csr(self, dtype: FloatType) -> tuple[Floats, ...]:
        """W in groups of clusters, end to end, and the constants of uncentred rows."""
        return self._form("csr", lambda: (grouped(self.W, dtype), self.b - self.W @ self.mean), dtype)

    def _form(self, kind: str, make: Callable[[], tuple[Floats, ...]], dtype: FloatType) -> tuple[Floats, ...]:
        if (kind, dtype) not in self._forms:
            self._forms[kind, dtype] = tuple(np.ascontiguousarray(part, dtype) for part in make())
        return self._forms[kind, dtype]


@dataclass(frozen=True)
class Loops:
    """A compiled pass of a loss, in the two forms that rows have; each adds to ``normal`` and ``bias``.

    ``dense(X, mean, W, b, *arguments, normal, bias)`` centres the rows itself and sees (k, d) arrays;
    ``csr(data, indices, indptr, table, b, *arguments, normal, bias)`` leaves them as they are, has W in groups of
    clusters and a normal (d, k). Both return a tuple of numbers to be added up.
    """

    dense: Callable[..., tuple[float, ...]]
    csr: Callable[..., tuple[float, ...]]


@dataclass(frozen=True)
class PassSums:
    """What a pass over rows adds up: some numbers, the sum of weighted rows (k, d) and the sum of weights (k,).

    ``uncentred`` (k,) are the weights of rows that were added to the normal before the mean was subtracted.
    """

    values: Floats
    normal: Floats
    bias: Floats
    uncentred: Floats

    def __add__(self, other: "PassSums") -> "PassSums":
        return PassSums(*map(add, vars(self).values(), vars(other).values()))

    def __iadd__(self, other: "PassSums") -> "PassSums":
        for own, more in zip(vars(self).values(), vars(other).values(), strict=True):
            own += more
        return self

    def centred(self, mean: Floats, factor: float) -> "PassSums":
        """The same with every row's mean subtracted, and the normal times a factor."""
        if not self.uncentred.any():
            return replace(self, normal=factor * self.normal)
        from widegap.rows.loops import _passes

        normal = np.empty(self.normal.shape)
        _passes.centre_normal(np.ascontiguousarray(self.normal.T), self.uncentred, mean, factor, normal)
        return replace(self, normal=normal, uncentred=np.zeros(len(self.uncentred)))


def csr_parts(X: SparseMatrix) -> tuple[Floats, Labels, Labels]:
    """The arrays that loops over CSR rows take; places are int32, or int64 where there are more."""
    return X.data, X.indices, X.indptr


class Part(Protocol):
    """Some rows of a block, to be summed up centred and rescaled."""

    n_features: int

    def weighted(self, weights: Floats, chosen: Indices | None = None) -> Floats:
        """Sums of the rows (or the chosen ones) weighted by each row of ``weights`` (m, rows): shape (m, d)."""

    def moved(self, counts: Floats, old: Labels, new: Labels, k: int) -> Floats:
        """Sums of the rows that enter each cluster minus those that leave it, by counts (m, rows): (m, k, d)."""


class DensePart:
    """Rows that have been centred."""

    def __init__(self, centred: Floats, scale: float):
        self.X, self.scale, self.n_features = centred, scale, centred.shape[1]

    def weighted(self, weights: Floats, chosen: Indices | None = None) -> Floats:
        return weights @ (self.X if chosen is None else self.X[chosen]) / self.scale

    def moved(self, counts: Floats, old: Labels, new: Labels, k: int) -> Floats:
        # It is faster to sum the few rows of each cluster than all rows with weights that are mostly zero.
        sums = np.zeros((len(counts), k, self.n_features))
        for p in range(k):
            for side, sign in ((new, 1.0), (old, -1.0)):
                chosen = np.flatnonzero(side == p)
                if len(chosen):
                    sums[:, p] += self.weighted(sign * counts[:, chosen], chosen)
        return sums


class CsrPart:
    """Sparse rows, from whose sums the mean is subtracted."""

    def __init__(self, X: SparseMatrix, mean: Floats, scale: float):
        self.X, self.mean, self.scale, self.n_features = X, mean, scale, X.shape[1]

    def weighted(self, weights: Floats, chosen: Indices | None = None) -> Floats:
        from widegap.rows.loops import _passes

        rows, weights = np.arange(self.X.shape[0]) if chosen is None else chosen, np.ascontiguousarray(weights)
        sums: Doubles = _passes.weighted_csr(*csr_parts(self.X), rows, weights, self.mean, self.scale)
        return sums

    def moved(self, counts: Floats, old: Labels, new: Labels, k: int) -> Floats:
        from widegap.rows.loops import _passes

        counts = np.ascontiguousarray(counts)
        sums: Doubles = _passes.moved_csr(*csr_parts(self.X), counts, old, new, k, self.mean, self.scale)
        return sums


class Block(Protocol):
    """Consecutive rows; ``rows`` is their place in the whole data."""

    rows: slice

    def run(self, loops: Loops, scorer: Scorer, arguments: tuple[object, ...]) -> PassSums:
        """A compiled pass over the rows."""

    def scores(self, scorer: Scorer) -> Floats:
        """Scores of every row, shape (rows, k), in the dtype of the data."""

    def part(self, rows: Indices, mean: Floats, scale: float) -> Part:
        """Some of the rows, to be summed up centred and divided by the scale."""

    def moments(self, weights: Floats | None = None) -> tuple[float, Floats, Floats]:
        """Number (or weight) of the rows, column means and summed squared distances to them.

        NaN or inf show in the last.
        """

    def take(self, rows: Indices | slice) -> Matrix:
        """Some of the rows as an array or CSR array in memory."""


class DenseBlock:
    """Rows of an ndarray or memmap."""

    def __init__(self, X: Floats, start: int):
        # Always read-only and C-ordered: numba would compile each loop again for any other layout.
        self.X = np.ascontiguousarray(X)
        if self.X.flags.writeable:
            self.X = self.X.view()
            self.X.flags.writeable = False
        self.X = self.X.view(np.ndarray)
        self.rows = slice(start, start + X.shape[0])

    def run(self, loops: Loops, scorer: Scorer, arguments: tuple[object, ...]) -> PassSums:
        mean, W, b = scorer.dense(self.X.dtype)
        normal, bias = np.zeros(W.shape), np.zeros(len(W))
        values = loops.dense(self.X, mean, W, b, *arguments, normal, bias)
        normal -= np.outer(bias, scorer.mean - mean)
        return PassSums(np.array(values), normal, bias, np.zeros(len(W)))

    def scores(self, scorer: Scorer) -> Floats:
        mean, W, b = scorer.dense(self.X.dtype)
        try:
            from widegap.rows.loops import _passes
        except ImportError:  # to predict needs no compiler; NumPy differs by rounding
            return np.asarray((self.X - mean) @ W.T + b, self.X.dtype)
        out: Floats = np.empty((len(self.X), len(scorer)), self.X.dtype)
        _passes.scores_dense(self.X, mean, W, b, out)
        return out

    def part(self, rows: Indices, mean: Floats, scale: float) -> Part:
        return DensePart(self.X[rows] - mean, scale)

    def moments(self, weights: Floats | None = None) -> tuple[float, Floats, Floats]:
        from widegap.rows.loops import _passes

        if weights is None:
            return len(self.X), *_passes.moments_dense(self.X)
        total = float(weights.sum())
        with np.errstate(over="ignore", invalid="ignore"):  # NaN and inf are reported by the caller
            mean = weights @ self.X / total
            steps = self.X - mean
            error = weights @ steps / total
            return total, mean + error, weights @ np.square(steps) - total * np.square(error)

    def take(self, rows: Indices | slice) -> Floats:
        return self.X[rows]


class CsrBlock:
    """Rows of a CSR matrix, whose arrays they share."""

    def __init__(self, X: SparseMatrix, start: int):
        self.X = X
        self.rows = slice(start, start + X.shape[0])

    def run(self, loops: Loops, scorer: Scorer, arguments: tuple[object, ...]) -> PassSums:
        table, b = scorer.csr(self.X.dtype)
        normal, bias = aligned_zeros((self.X.shape[1], len(b))), np.zeros(len(b))
        values = loops.csr(*csr_parts(self.X), table, b, *arguments, normal, bias)
        return PassSums(np.array(values), normal.T, bias, bias.copy())

    def scores(self, scorer: Scorer) -> Floats:
        try:
            from widegap.rows.loops import _passes
        except ImportError:  # as for dense rows
            return np.asarray(self.X @ scorer.W.T + (scorer.b - scorer.W @ scorer.mean), self.X.dtype)
        out: Floats = np.empty((self.X.shape[0], len(scorer)), self.X.dtype)
        table, b = scorer.csr(self.X.dtype)
        _passes.scores_csr(*csr_parts(self.X), table, self.X.shape[1], b, out)
        return out

    def part(self, rows: Indices, mean: Floats, scale: float) -> Part:
        return CsrPart(self.X[rows], mean, scale)

    def moments(self, weights: Floats | None = None) -> tuple[float, Floats, Floats]:
        n, d = self.X.shape
        data, indices = self.X.data, self.X.indices
        each = None if weights is None else np.repeat(weights, np.diff(self.X.indptr))  # of every entry
        total = n if weights is None else float(weights.sum())

        def sums(values: Floats) -> Doubles:
            weighted: Floats = values if each is None else each * values
            return np.bincount(indices, weighted, d).astype(np.float64, copy=False)

        absent = total - (np.bincount(indices, each, d) if each is not None else np.bincount(indices, minlength=d))
        with np.errstate(over="ignore", invalid="ignore"):  # NaN and inf are reported by the caller
            mean = sums(data) / total
            steps = data - mean[indices]
            scatter = sums(np.square(steps)) + absent * np.square(mean)
            error = (sums(steps) - absent * mean) / total  # what long sums lost in the mean
            return total, mean + error, scatter - total * np.square(error)

    def take(self, rows: Indices | slice) -> SparseMatrix:
        taken = self.X[rows]
        if max(*taken.shape, taken.nnz) < np.iinfo(np.int32).max:  # scikit-learn's k-means refuses 64-bit indices
            taken.indices, taken.indptr = taken.indices.astype(np.int32), taken.indptr.astype(np.int32)
        return taken


def _array(state: State) -> np.ndarray[Any, Any]:
    """A state of rows that this process reads: the array that it is."""
    assert isinstance(state, np.ndarray)
    return state


class RowBlocks:
    """Rows from one or several sources, read block by block on up to ``n_threads`` threads.

    Passes read every row exactly once. Blocks and the order of summation do not depend on the number of threads, so
    neither does any result. ``to_user_form`` turns a state into what users get, ``new_array`` makes its array.
    """

    in_process = True

    def __init__(
        self,
        sources: Sequence[Source],
        n_threads: int = 1,
        to_user_form: Callable[[Array], Any] = np.asarray,
        new_array: NewArray = np.empty,
    ):
        self.sources, self.to_user_form, self.new_array = sources, to_user_form, new_array
        self.shape = (sum(s.shape[0] for s in sources), sources[0].shape[1])
        self.dtype: FloatType = np.result_type(*(s.dtype for s in sources))
        self.n_threads = n_threads
        self._spans = self._place(sources)

    @staticmethod
    def _place(sources: Sequence[Source]) -> list[_Span]:
        """The spans of all blocks."""
        spans, first = [], 0
        for source in sources:
            spans += [(source, start, stop, first + start) for start, stop in source.spans()]
            first += source.shape[0]
        return spans

    def _holding(self, rows: Indices) -> list[_Span]:
        """The spans that contain at least one of the ascending ``rows``."""
        starts = np.array([span[3] for span in self._spans])
        return [self._spans[s] for s in np.unique(np.searchsorted(starts, rows, side="right") - 1)]

    @staticmethod
    def _read(span: _Span) -> Iterator[Block]:
        """The blocks of a span: one, unless its source gives it in pieces."""
        source, start, stop, first = span
        for X in pieces(source.read(start, stop)):
            yield DenseBlock(X, first) if isinstance(X, np.ndarray) else CsrBlock(X, first)
            first += X.shape[0]

    def _each(
        self, function: Callable[..., _Found], state: Sequence[Array], spans: Sequence[_Span]
    ) -> Iterator[_Found]:
        """``function(block, *parts)`` for some spans, in their order."""

        def part(span: _Span) -> list[_Found]:
            return [function(block, *(values[block.rows] for values in state)) for block in self._read(span)]

        return chain.from_iterable(ordered_map(part, spans, self.n_threads))

    def sweep(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        return self._gathered(self._each(function, list(map(_array, state)), self._spans))

    def _gathered(self, found: Iterator[tuple[Parts, Total]]) -> tuple[tuple[State, ...], Total]:
        """States and sums of consecutive rows as those of all rows."""
        new: Filling | None = None
        for parts, part in found:
            if new is None:
                new, total = Filling(self.shape[0], parts, self.new_array), part
            else:
                total += part  # in place: a normal may be as large as the rows
            new.add(parts)
        assert new is not None
        return new.arrays, total

    def reduce(
        self, function: Callable[..., Total], *state: State, where: Callable[..., bool] | None = None
    ) -> Total | None:
        arrays = list(map(_array, state))
        if where is None:
            return add_in_place(self._each(function, arrays, self._spans))

        def part(block: Block, *parts: Array) -> Total | None:
            return function(block, *parts) if where(*parts) else None  # a piece of a span may have none

        spans = [span for span in self._spans if where(*(values[_rows(span)] for values in arrays))]
        return add_in_place(found for found in self._each(part, arrays, spans) if found is not None)

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        starts, arrays = range(0, self.shape[0], CHUNK_ROWS), list(map(_array, state))
        return self._gathered(function(*(values[i : i + CHUNK_ROWS] for values in arrays)) for i in starts)

    def map(self, function: Callable[[Block], Array]) -> np.ndarray[Any, Any]:
        """``function(block)``, one entry per row, laid end to end: one read of the data."""
        return _array(self.sweep(lambda block: ((function(block),), 0))[0][0])

    def take(self, rows: Indices) -> Matrix:
        """Some rows, numbered in ascending order; reads only the blocks that hold them."""
        parts = []
        for block in chain.from_iterable(map(self._read, self._holding(rows))):
            inside = slice(*np.searchsorted(rows, [block.rows.start, block.rows.stop]))
            parts.append(block.take(rows[inside] - block.rows.start))
        return end_to_end(parts)

    def place(self, values: Array) -> State:
        return values

    def mark(self, rows: Indices) -> State:
        return marked(self.shape[0], rows, np.arange(len(rows)), self.new_array)

    def numbers(self) -> State:
        found = self.new_array((self.shape[0],), np.dtype(np.int64))
        for start in range(0, len(found), CHUNK_ROWS):
            found[start : start + CHUNK_ROWS] = np.arange(start, min(start + CHUNK_ROWS, len(found)))
        return found

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        return _array(state)

    def publish(self, state: State) -> Any:
        return self.to_user_form(_array(state))


def _rows(span: _Span) -> slice:
    """Where the rows of a span lie in the whole."""
    return slice(span[3], span[3] + span[2] - span[1])
