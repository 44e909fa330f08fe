"""Bounds on sizes against k-means-constrained, which knows nothing else; measured where that is installed.

Processor seconds, one thread. Centres of unequal weight, so that the bounds decide some rows.
"""

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from benchmarks._measure import Row, best_cpu_times
from widegap import CPM3C, MaxMarginClustering

ROWS, COLUMNS, CLUSTERS = 10_000, 20, 10
LEAST, MOST = 800, 1200


def rows() -> Iterator[Row]:
    """All rows of the report."""
    if find_spec("k_means_constrained") is None:
        return
    from k_means_constrained import KMeansConstrained

    X = _unequal_groups()
    bounds = {"size_min": LEAST, "size_max": MOST}
    for model in (CPM3C(CLUSTERS, **bounds, random_state=0), MaxMarginClustering(CLUSTERS, **bounds, random_state=0)):
        model.fit(X)  # compiles
        sizes = np.bincount(model.labels_, minlength=CLUSTERS)
        assert LEAST <= sizes.min() and sizes.max() <= MOST
        for n_init in (10, 1):  # ten starts are its default
            rival = KMeansConstrained(CLUSTERS, **bounds, n_init=n_init, random_state=0, n_jobs=1)
            ours, theirs = best_cpu_times(lambda: model.fit(X), lambda: rival.fit(X))  # noqa: B023
            name = f"{type(model).__name__}, {ROWS} x {COLUMNS}, k = {CLUSTERS}, {LEAST} to {MOST} rows each"
            detail = f"{ours:.2f} s against {theirs:.2f} s"
            yield Row(f"{name}, k-means-constrained (n_init={n_init})", ours / theirs, 1.0, detail)


def _unequal_groups() -> np.ndarray:
    rng = np.random.default_rng(0)
    shares = np.linspace(1, 3, CLUSTERS)
    groups = rng.choice(CLUSTERS, ROWS, p=shares / shares.sum())
    return rng.normal(size=(CLUSTERS, COLUMNS))[groups] * 1.5 + rng.normal(size=(ROWS, COLUMNS))
