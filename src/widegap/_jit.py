"""The one place that decides how and when numba compiles our loops.

A loop is compiled, or loaded from the cache, when it is first called: importing numba takes longer than most of what a
short-lived process does with this package. ``nogil`` lets threads run loops in parallel; ``_loop_cache.py`` keeps
machine code on disk between runs. If there is no place for it (a read-only image without a home), its making raises,
and on a full disk the first call does: then loops are compiled in every process. NaN-related fast-math flags stay off:
the estimators reject NaN, but a loop that meets one must end, with NaN in its result.

Compiling is what a first fit waits for. So loops take plain arrays, one type for each argument, and allocate nothing:
inside a loop, ``np.zeros`` costs as much as a small loop, and a slice that is assigned or a sort twenty times that.
Without arrays of their own, loops need not count who holds an array, which saves a tenth of the time; the few that do
allocate have a decorator of their own. A loop that others call becomes part of these before types are found: to compile
it by itself and then to link it took a third of the time for CPM3C. It then has the flags of the loop that calls it.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import update_wrapper
from threading import RLock
from typing import Any, ClassVar, TypeVar, cast

_FAST_MATH = {"reassoc", "contract", "nsz", "arcp"}

Function = TypeVar("Function", bound=Callable[..., object])

_lock = RLock()  # of two threads that call a loop for the first time, one prepares it
_loops: list["_Loop"] = []
_kept_on_disk = True  # until the disk is full


class _Loop:
    """A function that is handed to numba when Python calls it first.

    ``targetoptions`` and ``py_func`` are what numba looks for where another loop calls this one: it puts the statements
    of this loop in the place of the call.
    """

    targetoptions: ClassVar = {"inline": "always"}

    def __init__(self, function: Callable[..., Any], *, in_order: bool = False, allocates: bool = False):
        update_wrapper(self, function)
        self.py_func, self._in_order, self._allocates = function, in_order, allocates
        self._compiled: Any = None
        _loops.append(self)

    def __call__(self, *arguments: Any) -> Any:
        try:
            compiled = self._compiled
            if compiled is not None:
                return compiled(*arguments)
            with _no_collections():
                return self.compiled(*arguments)
        except OSError:  # of numba, which could not store what it has compiled; the loop itself has not begun
            if not _kept_on_disk:
                raise
            _forget_disk()
            return self.compiled(*arguments)
        except SystemError as error:
            if holds_interrupt(error):  # Ctrl-C while numba turned arguments or results into its own
                raise KeyboardInterrupt from error
            raise

    @property
    def compiled(self) -> Any:
        """The function as numba has it."""
        if self._compiled is None:
            with _lock:
                if self._compiled is None:
                    self._compiled = self._compile()
        return self._compiled

    @property
    def _numba_type_(self) -> Any:
        """The type of this loop's name in another loop, where nothing uses the name any more."""
        from numba import types

        return types.none

    def _compile(self) -> Any:
        import numba

        flags: dict[str, Any] = {
            "nogil": True,
            "fastmath": set() if self._in_order else _FAST_MATH,
            "no_cfunc_wrapper": True,
            "_nrt": self._allocates,
        }
        compiled = numba.njit(**flags)(self.py_func)
        if _kept_on_disk:
            from widegap._loop_cache import LoopCache

            with suppress(RuntimeError):  # "cannot cache function": no writable place for the cache
                compiled._cache = LoopCache(self.py_func)
        return compiled

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled by its name, as functions are


@contextmanager
def _no_collections() -> Iterator[None]:
    """Put off the search for cycles of objects, which took a sixth of a first fit: all that numba makes stays."""
    were_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if were_on:
            gc.enable()


def holds_interrupt(error: BaseException | None) -> bool:
    """Whether an error was brought about by a KeyboardInterrupt."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _forget_disk() -> None:
    """From now on compile in this process only, and again what was compiled: other loops call it."""
    global _kept_on_disk
    with _lock:
        _kept_on_disk = False
        for loop in _loops:
            loop._compiled = None


def jit(function: Function) -> Function:
    """Compile ``function`` with numba at its first call: cached on disk where possible, without the GIL."""
    return cast(Function, _Loop(function))


def jit_in_order(function: Function) -> Function:
    """The same without fast-math flags: additions in the order in which they are written, on every processor."""
    return cast(Function, _Loop(function, in_order=True))


def allocating_jit(function: Function) -> Function:
    """The same for a loop that makes arrays."""
    return cast(Function, _Loop(function, allocates=True))


def folders_of_code() -> list[str]:
    """Where the machine code of the loops that this process has called is kept; none if it cannot be."""
    caches = [loop._compiled._cache for loop in _loops if loop._compiled is not None]
    return sorted({cache.cache_path for cache in caches if cache.cache_path} if _kept_on_disk else ())
