"""MaxMarginClustering against k-means and spectral clustering; growth with n."""

import tracemalloc
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits

from benchmarks._measure import Row, best_ratio, exponent, time_once
from experiments import loaders
from widegap import MaxMarginClustering
from widegap.metrics import clustering_error


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    MaxMarginClustering(2, random_state=0).fit(_ringnorm(1500)[0])
    yield _one_row()
    yield from _million()
    X, y = loaders.load_mnist(return_X_y=True)
    yield _against("MNIST 70000 x 784, KMeans(n_init=10)", X, y, 10, KMeans(10, n_init=10, random_state=0), 0.5)
    spectral = SpectralClustering(10, affinity="nearest_neighbors", random_state=0)
    yield _against("MNIST test set, SpectralClustering", X[60000:], y[60000:], 10, spectral, 0.1)
    yield _growth()


def _one_row() -> Row:
    """Labels of a single row: what every call costs."""
    X = load_digits().data
    rival = KMeans(10, n_init=1, random_state=0).fit(X)
    model = MaxMarginClustering(10, n_init=1, random_state=0).fit(X)
    ratio, base = best_ratio(lambda: model.predict(X[:1]), lambda: rival.predict(X[:1]), repeats=500)
    detail = f"{1e3 * base * ratio:.2f} ms against {1e3 * base:.2f} ms"
    return Row("predict, one row of digits, KMeans", ratio, 3.3, detail)  # 0.4 ms where k-means takes 0.12


def _ringnorm(n: int):
    """Two Gaussians of 20 columns, one wide about 0, one narrow aside, in float32."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = np.where(y[:, None] == 1, rng.normal(2 / np.sqrt(20), 1, (n, 20)), rng.normal(0, 2, (n, 20)))
    return X.astype(np.float32), y


def _against(name: str, X, y, k: int, rival, target: float, **parameters) -> Row:
    model = MaxMarginClustering(k, random_state=0, **parameters)
    ours, theirs = time_once(lambda: model.fit(X)), time_once(lambda: rival.fit(X))
    errors = [100 * clustering_error(y, labels) for labels in (model.labels_, rival.labels_)]
    detail = f"{ours:.2f} s, error {errors[0]:.1f} against {theirs:.2f} s, error {errors[1]:.1f}"
    return Row(f"fit, {name}", ours / theirs, target, detail)


def _million() -> Iterator[Row]:
    X, y = _ringnorm(1_000_000)
    rival = KMeans(2, n_init=10, random_state=0)
    yield _against("ringnorm-like 1000000 x 20, rank 50, KMeans(n_init=10)", X, y, 2, rival, 0.7, n_components=50)
    tracemalloc.start()
    MaxMarginClustering(2, n_components=50, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield Row("peak memory of that fit against X itself", peak / X.nbytes, None, f"{peak / 1e6:.0f} MB")


def _growth() -> Row:
    sizes = [125_000, 250_000, 500_000, 1_000_000]
    X, _ = _ringnorm(sizes[-1])
    model = MaxMarginClustering(2, n_components=50, random_state=0)
    seconds = [min(time_once(lambda n=n: model.fit(X[:n])) for _ in range(2)) for n in sizes]
    detail = ", ".join(f"n = {n}: {s:.2f} s" for n, s in zip(sizes, seconds, strict=True))
    return Row("exponent of time in n, ringnorm-like, rank 50", exponent(sizes, seconds), 1.05, detail)
