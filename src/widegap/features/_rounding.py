"""What the last bits of a number may not decide: whether features are equal, the sign of an axis, a tie.

Libraries of linear algebra add in an order that suits the processor. So products of matrices, eigenvectors and
exponentials differ in their last bits from machine to machine, and where two choices are equally good, these bits would
choose. Rows of small integers have many such ties. A search goes the same way everywhere if

- values that are compared for equality lie on a grid that is coarse against rounding and fine against what matters,
- of candidates whose merits differ by no more than ``LAST_BITS``, relative to their size, the first one is taken,
- an axis points to where its first large entry is positive,
- rough products in single precision find candidates only, and sums in double precision decide between them.

Last bits may still tip a value over an edge of the grid, or of ``LAST_BITS``. That happens once in a million values or
less, and then what differs is one unit of the grid, which hardly ever decides.
"""

import sys

import numpy as np

from widegap._types import Floats, FloatType

LAST_BITS = 1e-11  # rounding of sums in double precision leaves 1e-12 and less; not tuned
GRID_BITS = {4: 22, 8: 40}  # by bytes of a number: differences of such numbers are exact
LARGE_ENTRY = 0.999  # of the largest entry of an axis: entries that are this large are alike


def on_grid(values: Floats, dtype: FloatType | type[np.floating] | None = None) -> Floats:
    """The values, rounded to multiples of a power of two: 22 bits of the largest in single precision, else 40.

    ``dtype`` is that of the result. Values that lie on the grid stay as they are: the largest one counts as what it is
    rounded to, which may be the next power of two.
    """
    dtype = np.dtype(values.dtype if dtype is None else dtype)
    bits = min(GRID_BITS[values.dtype.itemsize], GRID_BITS[dtype.itemsize])
    largest = float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))
    top = np.frexp(min(largest * (1 + 2.0**-bits), sys.float_info.max))[1]
    digits = np.finfo(values.dtype).nmant - bits
    with np.errstate(over="ignore"):
        far = np.ldexp(values.dtype.type(1.5), int(top) + digits)  # numbers of this size are as far apart as the grid
    if not np.isfinite(far):
        return values.astype(dtype)
    found = values + far
    found -= far
    return found.astype(dtype, copy=False)


def with_fixed_signs(axes: Floats) -> Floats:
    """Axes (columns), each turned so that the first of its large entries is positive."""
    if not axes.size:
        return axes
    sizes = np.abs(axes)
    first = (sizes >= LARGE_ENTRY * sizes.max(axis=0)).argmax(axis=0)
    return np.asarray(axes * np.where(axes[first, np.arange(axes.shape[1])] < 0, -1.0, 1.0))
