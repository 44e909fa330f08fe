"""CPM3C on two worker processes of Dask against the same rows in memory on two threads; the clock, in turns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._measure import Row, best_ratio
from widegap import CPM3C

CHUNK_ROWS, COLUMNS, CLUSTERS = 250_000, 50, 4
SETTINGS: dict[str, Any] = {"random_state": 0, "n_init": 1, "order": "linearize_first"}
REPEATS = 3


def chunk(i: int) -> Any:
    """Float32 rows around centres that overlap a little, drawn where they are needed."""
    rng = np.random.default_rng([i, 1])
    centres = (8 / np.sqrt(COLUMNS) * np.random.default_rng(0).standard_normal((CLUSTERS, COLUMNS))).astype(np.float32)
    return centres[rng.integers(0, CLUSTERS, CHUNK_ROWS)] + rng.standard_normal((CHUNK_ROWS, COLUMNS), np.float32)


def rows(sizes: tuple[int, ...] = (1_000_000, 5_000_000)) -> Iterator[Row]:
    """Ratios of whole fits; the rows are persisted on the workers before."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        for n in sizes:
            parts = range(n // CHUNK_ROWS)
            lazy = [da.from_delayed(dask.delayed(chunk)(i), (CHUNK_ROWS, COLUMNS), np.float32) for i in parts]
            on_workers = da.concatenate(lazy).persist()
            wait(on_workers)
            here = np.concatenate([chunk(i) for i in parts])
            far, near = CPM3C(CLUSTERS, **SETTINGS), CPM3C(CLUSTERS, n_jobs=2, **SETTINGS)
            ratio, seconds = best_ratio(lambda f=far, X=on_workers: f.fit(X), lambda f=near, X=here: f.fit(X), REPEATS)
            passes = far.history_[-1].passes, near.history_[-1].passes
            detail = f"in memory {seconds:.2f} s; {passes[0]} and {passes[1]} passes"
            yield Row(f"fit, {n:,} x {COLUMNS} float32 on 2 workers of Dask, against memory", ratio, 1.3, detail)
