"""The one place that decides how numba compiles our loops.

``nogil`` lets threads run chunk kernels side by side; ``cache`` keeps machine code on disk between runs. A package
directory that cannot be written (a read-only image) makes numba raise at decoration: then we compile per process.
NaN-related fast-math flags stay off: the estimators reject NaN, but a kernel that meets one must not loop or guess.
"""

from collections.abc import Callable
from typing import TypeVar

import numba

_FAST_MATH = {"reassoc", "contract", "nsz", "arcp"}

Function = TypeVar("Function", bound=Callable[..., object])


def jit(function: Function) -> Function:
    """Compile ``function`` with numba: cached on disk where possible, without the GIL."""
    try:
        return numba.njit(cache=True, nogil=True, fastmath=_FAST_MATH)(function)
    except RuntimeError:  # "cannot cache function": no writable place for the cache
        return numba.njit(nogil=True, fastmath=_FAST_MATH)(function)
