"""Ordered map over a small shared thread pool; numba and BLAS release the GIL inside the mapped function.

Not ``prange``: its workqueue layer aborts under concurrent Python threads and its OpenMP layer kills forked children.
A forked child finds no pool and opens its own. Work of one item never opens a pool: on small data waking threads
costs more than the work.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_pools: dict[int, ThreadPoolExecutor] = {}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)


def _pool(n_threads: int) -> ThreadPoolExecutor:
    if n_threads not in _pools:
        _pools[n_threads] = ThreadPoolExecutor(n_threads, thread_name_prefix="widegap")
    return _pools[n_threads]


def ordered_map(function: Callable[[Item], Answer], items: Sequence[Item], n_threads: int) -> Iterator[Answer]:
    """Yield ``function(item)`` in the order of the items, at most two answers a thread in flight."""
    if n_threads <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    pool = _pool(n_threads)
    pending: deque[Future[Answer]] = deque()
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
