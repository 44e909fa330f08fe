"""Threads: an ordered map over a small shared pool, and how many threads BLAS and OpenMP may use.

Not ``prange``: its workqueue layer aborts under concurrent Python threads and its OpenMP layer kills forked children.
A forked child has no pool and opens its own. Work of one item never opens a pool: on small data waking threads costs
more than the work. numba and BLAS release the GIL inside the mapped function.

The whole process has one number of BLAS threads. Two ``threadpool_limits`` that overlap leave it at one for good: the
second saves what the first has set. ``one_blas_thread`` counts its users, so that fits in several threads leave the
process as they found it; nothing else in the library may change the number.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Protocol, TypeVar

import threadpoolctl

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")

_pools: dict[int, ThreadPoolExecutor] = {}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)


def _pool(n_threads: int) -> ThreadPoolExecutor:
    """The one pool of ``n_threads`` threads."""
    found = _pools.get(n_threads)
    if found is None:
        # Atomic, so that all threads get the same pool; a surplus pool has not started a thread.
        found = _pools.setdefault(n_threads, ThreadPoolExecutor(n_threads, thread_name_prefix="widegap"))
    return found


def ordered_map(function: Callable[[_Item], _Answer], items: Sequence[_Item], n_threads: int) -> Iterator[_Answer]:
    """Yield ``function(item)`` in the order of the items, with at most two answers per thread in flight."""
    if n_threads <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    pool = _pool(n_threads)
    pending: deque[Future[_Answer]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) >= 2 * n_threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # an error or Ctrl-C in one block must not leave the others queued
        for future in pending:
            future.cancel()


class _Library(Protocol):
    """A library of threadpoolctl."""

    filepath: str
    prefix: str
    num_threads: int

    def set_num_threads(self, number: int, /) -> None: ...


class _BlasLimit:
    """One BLAS thread while there are users; the last to leave restores what the first found."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._users = 0
        self._former: dict[str, tuple[_Library, int]] = {}

    def enter(self) -> None:
        with self.lock:
            # All of them for the first user; later ones may have loaded a library that brings its own BLAS.
            new = [library for library in _libraries("blas") if library.filepath not in self._former]
            self._former |= {library.filepath: (library, library.num_threads) for library in new}
            _set_blas_numbers([(library, 1) for library in new])
            self._users += 1

    def leave(self) -> None:
        with self.lock:
            self._users -= 1
            if not self._users:
                _set_blas_numbers(list(self._former.values()))
                self._former.clear()


_blas_limit = _BlasLimit()

if hasattr(os, "register_at_fork"):  # a child must not inherit the lock while another thread holds it
    os.register_at_fork(
        before=_blas_limit.lock.acquire,
        after_in_parent=_blas_limit.lock.release,
        after_in_child=_blas_limit.lock.release,
    )


def _libraries(user_api: str) -> list[_Library]:
    return list(_controller(len(sys.modules)).select(user_api=user_api).lib_controllers)


def blas_kernels() -> dict[str, str]:
    """The libraries of linear algebra, and for which processors they run."""
    found = sorted((library.prefix, str(getattr(library, "architecture", "?"))) for library in _libraries("blas"))
    return {f"BLAS {place}": f"{name} {kernels}" for place, (name, kernels) in enumerate(found, 1)}


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> threadpoolctl.ThreadpoolController:
    """The libraries loaded so far; finding them takes 2 ms, so this runs only after further imports."""
    return threadpoolctl.ThreadpoolController()


def _set_numbers(numbers: list[tuple[_Library, int]]) -> None:
    for library, number in numbers:
        library.set_num_threads(number)


def _set_blas_numbers(numbers: list[tuple[_Library, int]]) -> None:
    """The same for BLAS, from any thread."""
    # threadpoolctl 3.8 lets only the thread that first limited OpenBLAS limit it again; ours may be another one.
    if not numbers:
        return
    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
    _set_numbers(numbers)
    release(force=True)


@contextmanager
def one_blas_thread(*, openmp: bool = False) -> Iterator[None]:
    """Limit BLAS to one thread, in the whole process, until the last user leaves.

    With ``openmp``, the OpenMP loops that this thread starts are limited too. On a busy machine, threads that wait for
    each other make small products and k-means on small tables up to a hundred times slower. scikit-learn's k-means and
    nearest neighbours limit BLAS by themselves, without counting: they too belong inside this context.
    """
    former = [(library, library.num_threads) for library in _libraries("openmp")] if openmp else []
    _blas_limit.enter()
    try:
        _set_numbers([(library, 1) for library, _ in former])  # OpenMP keeps this number by thread
        yield
    finally:
        _set_numbers(former)
        _blas_limit.leave()
