"""Products of CSR rows with a few columns, by vector instructions that numba does not find by itself.

A stored entry x in column j needs the weights of j, a handful of neighbouring numbers. A plain loop is compiled either
to one number at a time, or to gathers across entries, which are slower still. So the two inner loops are written as
LLVM vectors of 8, 4, 2 or 1 numbers; k clusters take a sweep for every two vectors, and the row of a document stays in
the first cache meanwhile. Several running sums hide the latency of an addition. W is stored in groups of clusters, one
for each vector (``_entry_tables.py``), N is (d, k). Most of a sweep is spent on the entries themselves: for ten
clusters one sweep with vectors of 8 and 2 takes 0.75 times as long as two sweeps.

Kept after a measurement: plain loops take 2.6 to 5.8 times as long, for 2, 4 and 10 clusters of 10,000 documents over
20,000 terms in either precision, on one thread.

    add_products    s_p   += sum_e x_e W[p, j_e]
    add_rows        N[j_e, p] += c_p x_e          N, c in float64

for the entries e of one row, and ``products_in_order`` for all rows. Arrays are C-contiguous.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils

from widegap._jit import jit, jit_in_order
from widegap.rows.loops._lanes import INT64, Lanes, array_of, int64, intrinsic

ORDERED_LANES = 16  # in float32 a cache line
SUMS = 4  # running sums of a product: an addition takes four cycles, and one can start in each


class _Entries(Lanes):
    """The code that reads entries of a CSR row and the ``lanes`` numbers of their columns in a table.

    Those of column j begin ``j width`` numbers after the first, or ``j lanes`` without a width.
    """

    def __init__(self, context: Any, builder: Any, arrays: Any, table: Any, first: Any, lanes: int, width: Any = None):
        super().__init__(context, builder, table[0].dtype, lanes)
        self.data, self.indices = (array_of(context, builder, *array).data for array in arrays)
        self.table = builder.gep(array_of(context, builder, *table).data, [first])
        self.width = int64(lanes) if width is None else width

    def address(self, e: Any) -> Any:
        """Where the numbers of entry e are in the table."""
        j = self.builder.load(self.builder.gep(self.indices, [e]))
        j = self.builder.sext(j, INT64) if j.type.width < INT64.width else j
        return self.builder.gep(self.table, [self.builder.mul(j, self.width)])

    def entry(self, e: Any) -> Any:
        """Entry e in every lane."""
        x = self.builder.load(self.builder.gep(self.data, [e]))
        return self.spread(x if x.type == self.number else self.builder.fpext(x, self.number))


class _Products(_Entries):
    """Running sums of the products with one group of weights, and the one or two places where their totals go.

    The halves of the group are its first and its last clusters, which may overlap.
    """

    def __init__(self, context: Any, builder: Any, arrays: Any, W: Any, d: Any, row: Any, ends: Any, lanes: int):
        first, stop = ends
        super().__init__(context, builder, arrays, W, builder.mul(first, d), lanes)
        half = lanes // 2
        columns = [first, builder.sub(stop, int64(half))] if half else [first]
        self.places = [builder.gep(row, [column]) for column in columns]
        self.part = Lanes(context, builder, W[0].dtype, half or 1)
        self.totals = self.sums(SUMS)
        builder.store(self.part.joined([self.part.load(place) for place in self.places]), self.totals[0])

    def add(self, e: Any, total: Any) -> None:
        """Add the product of entry e."""
        value = self.multiply_add(self.entry(e), self.load(self.address(e)), self.builder.load(total))
        self.builder.store(value, total)

    def finish(self) -> None:
        """Write the totals."""
        value = self.builder.load(self.totals[0])
        for total in self.totals[1:]:
            value = self.builder.fadd(value, self.builder.load(total))
        for place, numbers in zip(self.places, self.split(value, self.part.lanes), strict=True):
            self.part.store(numbers, place)


@intrinsic(prefer_literal=True)
def _add_products(typing, data, indices, first, last, W, d, S, r, column, stop, lanes, more):  # type: ignore[no-untyped-def]
    """One sweep for the clusters from ``column`` up to ``stop``: a group of ``lanes``, and one of ``more`` if not 0."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        begin, end, column_at, stop_at = (args[i] for i in (2, 3, 8, 9))
        scores = array_of(context, builder, kinds[6], args[6])
        row = builder.gep(scores.data, [builder.mul(args[7], cgutils.unpack_tuple(builder, scores.shape)[1])])
        arrays, table = list(zip(kinds[:2], args[:2], strict=True)), (kinds[4], args[4])
        sizes = [size.literal_value for size in (lanes, more) if size.literal_value]
        borders = [column_at, *(builder.add(column_at, int64(size)) for size in sizes[:-1]), stop_at]
        groups = [
            _Products(context, builder, arrays, table, args[5], row, ends, size)
            for ends, size in zip(pairwise(borders), sizes, strict=True)
        ]

        def add(e, place):  # type: ignore[no-untyped-def]
            for group in groups:
                group.add(e, group.totals[place])

        def add_some(e):  # type: ignore[no-untyped-def]
            for place in range(SUMS):
                add(builder.add(e, int64(place)), place)

        whole = builder.sub(end, builder.and_(builder.sub(end, begin), int64(SUMS - 1)))
        groups[0].each(begin, whole, SUMS, add_some)
        groups[0].each(whole, end, 1, lambda e: add(e, 0))
        for group in groups:
            group.finish()
        return context.get_dummy_value()

    return types.void(data, indices, first, last, W, d, S, r, column, stop, lanes, more), generate


@intrinsic(prefer_literal=True)
def _add_rows(typing, data, indices, first, last, N, c, column, lanes):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        width = cgutils.unpack_tuple(builder, array_of(context, builder, kinds[4], args[4]).shape)[1]
        arrays, table = zip(kinds[:2], args[:2], strict=True), (kinds[4], args[4])
        entries = _Entries(context, builder, arrays, table, args[6], lanes.literal_value, width)
        factors = entries.load(builder.gep(array_of(context, builder, kinds[5], args[5]).data, [args[6]]))

        def add(e):  # type: ignore[no-untyped-def]
            address = entries.address(e)
            entries.store(entries.multiply_add(entries.entry(e), factors, entries.load(address)), address)

        entries.each(args[2], args[3], 1, add)
        return context.get_dummy_value()

    return types.void(data, indices, first, last, N, c, column, lanes), generate


@intrinsic
def _sum_in_order(typing, data, indices, first, last, F, out, i, column):  # type: ignore[no-untyped-def]
    """out[i, p] = sum_e x_e F[j_e, p] for the ``ORDERED_LANES`` columns from ``column`` on, entry by entry."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        arrays, table = zip(kinds[:2], args[:2], strict=True), (kinds[4], args[4])
        found = array_of(context, builder, kinds[5], args[5])
        width = cgutils.unpack_tuple(builder, found.shape)[1]
        entries = _Entries(context, builder, arrays, table, args[7], ORDERED_LANES, width)
        (total,) = entries.sums(1)

        def add(e):  # type: ignore[no-untyped-def]
            product = builder.fmul(entries.entry(e), entries.load(entries.address(e)))
            builder.store(builder.fadd(builder.load(total), product), total)

        entries.each(args[2], args[3], 1, add)
        place = builder.add(builder.mul(args[6], width), args[7])
        entries.store(builder.load(total), builder.gep(found.data, [place]))
        return context.get_dummy_value()

    return types.void(data, indices, first, last, F, out, i, column), generate


@jit
def add_products(data, indices, first, last, W, d, S, r):  # type: ignore[no-untyped-def]
    """S[r, p] += the product of a row's entries, those from first to last, and the weights of cluster p."""
    k = S.shape[1]
    for p in range(0, k, 16):
        stop = min(p + 16, k)
        clusters = stop - p
        if clusters > 12:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 8, 8)
        elif clusters > 10:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 8, 4)
        elif clusters == 10:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 8, 2)
        elif clusters == 9:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 8, 1)
        elif clusters > 4:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 8, 0)
        elif clusters > 2:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 4, 0)
        elif clusters == 2:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 2, 0)
        else:
            _add_products(data, indices, first, last, W, d, S, r, p, stop, 1, 0)


@jit
def add_products_of_one(data, indices, first, last, w, S):  # type: ignore[no-untyped-def]
    """The same for a single cluster, which takes a fraction of the code: S[0, 0] is its score."""
    _add_products(data, indices, first, last, w, 0, S, 0, 0, 1, 1, 0)


@jit
def add_rows(data, indices, first, last, N, c):  # type: ignore[no-untyped-def]
    """N[j, p] += c[p] times the row's entry in column j; vectors of clusters whose factors are all 0 are skipped."""
    k = c.shape[0]
    for p in range(0, k - 3, 4):
        if c[p] != 0 or c[p + 1] != 0 or c[p + 2] != 0 or c[p + 3] != 0:
            _add_rows(data, indices, first, last, N, c, p, 4)
    if k & 2 and (c[k & ~3] != 0 or c[(k & ~3) + 1] != 0):
        _add_rows(data, indices, first, last, N, c, k & ~3, 2)
    if k & 1 and c[k - 1] != 0:
        _add_rows(data, indices, first, last, N, c, k - 1, 1)


@jit
def add_rows_of_one(data, indices, first, last, N, c):  # type: ignore[no-untyped-def]
    """The same for a single cluster."""
    _add_rows(data, indices, first, last, N, c, 0, 1)


@jit_in_order
def products_in_order(data, indices, indptr, F, out):  # type: ignore[no-untyped-def]
    """out = A F for a CSR table A; the number of columns is a multiple of ``ORDERED_LANES``.

    Bit by bit what scipy finds, which takes four times as long for six to ten columns in float32.
    """
    for i in range(out.shape[0]):
        for p in range(0, out.shape[1], ORDERED_LANES):
            _sum_in_order(data, indices, np.int64(indptr[i]), np.int64(indptr[i + 1]), F, out, i, p)
