"""MaxMarginClustering against what people use; growth with n, memory, and what its sample and its predictions cost.

Times are processor seconds, the least of interleaved repeats: fits of several seconds on a shared machine say little by
the clock. Set ``OMP_NUM_THREADS`` and ``OPENBLAS_NUM_THREADS`` to 1, so that threads that wait are not counted.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits, make_moons
from sklearn.mixture import GaussianMixture

from benchmarks._measure import Row, best_cpu_times, best_ratio
from experiments import loaders, runner
from experiments.tables.panel import SETS
from widegap import MaxMarginClustering
from widegap.features._exact_neighbours import nearest_rows
from widegap.features._neighbour_index import NeighbourIndex
from widegap.features._neighbours import neighbour_graph
from widegap.forest import _search_space
from widegap.metrics import clustering_error

SMALL = ("sklearn iris", "sklearn wine", "sklearn breast_cancer", "fcps atom", "digits")
SAMPLES = (5_000, 20_000, 40_000)  # rows searched, against the default
MOST_ROWS = 10_000  # of sets whose predictions are compared with their labels


def rows() -> Iterator[Row]:
    """Small sets, each row of the report as soon as it is measured."""
    _compile()
    yield from _one_row()
    yield from _small_sets()


def large() -> Iterator[Row]:
    """Sets of 10000 rows and more."""
    _compile()
    X, y = loaders.load_mnist(return_X_y=True)
    yield from _ten_thousand(X[60000:], y[60000:])
    rival = KMeans(10, n_init=10, random_state=0)
    yield _against("MNIST 70000 x 784, KMeans(n_init=10)", X, y, rival, 0.4)
    if find_spec("umap") is not None:
        yield _against("MNIST 70000 x 784, UMAP and Gaussian mixture", X, y, _UmapMixture(10), 0.4)
    yield from _million()
    yield from _found_number()


def _compile() -> None:
    MaxMarginClustering(2, random_state=0).fit(_ringnorm(1500)[0])


def _one_row() -> Iterator[Row]:
    """Labels of a single row: what every call costs."""
    digits = load_digits().data
    for X in (digits, digits[:900]):
        rival = KMeans(10, n_init=1, random_state=0).fit(X)
        model = MaxMarginClustering(10, random_state=0).fit(X)
        ratio, base = best_ratio(lambda: model.predict(X[:1]), lambda: rival.predict(X[:1]), repeats=500)  # noqa: B023
        detail = f"{1e3 * base * ratio:.2f} ms against {1e3 * base:.2f} ms"
        yield Row(f"predict, one row of {len(X)} digits, KMeans", ratio, 3.3, detail)  # 0.4 ms where k-means takes 0.12


def _small_sets() -> Iterator[Row]:
    tables = {name: _load(name) for name in SMALL} | {"moons, 1000": make_moons(1000, noise=0.05, random_state=0)}
    for name, (X, y) in tables.items():
        rival = SpectralClustering(len(set(y)), affinity="nearest_neighbors", random_state=0)
        yield _against(f"{name}, SpectralClustering on neighbours", X, y, rival, 2.0, repeats=3)
        yield _against(f"{name}, n_clusters='auto', KMeans(n_init=10)", X, y, _kmeans(y), None, n_clusters="auto")


def _ten_thousand(X, y) -> Iterator[Row]:
    spectral = SpectralClustering(10, affinity="nearest_neighbors", random_state=0)
    yield _against("MNIST test set, SpectralClustering on neighbours", X, y, spectral, 1.5)
    if find_spec("umap") is not None:
        yield _against("MNIST test set, UMAP and Gaussian mixture", X, y, _UmapMixture(10), 1.0)
    yield _against("MNIST test set, n_clusters='auto', KMeans(n_init=10)", X, y, _kmeans(y), None, n_clusters="auto")


class _UmapMixture:
    """What many do today; umap-learn is measured where it is installed, and compiled before."""

    def __init__(self, n_clusters: int):
        import umap

        self.n_clusters = n_clusters
        self._umap = umap.UMAP(random_state=0, n_jobs=1)
        self._umap.fit_transform(
            np.random.default_rng(0).normal(size=(5000, 20))
        )  # above 4096 rows another way is taken

    def fit(self, X):
        mixture = GaussianMixture(self.n_clusters, random_state=0)
        self.labels_ = mixture.fit_predict(self._umap.fit_transform(X))
        return self

    def __sklearn_clone__(self):
        return self


def _million() -> Iterator[Row]:
    X, y = _ringnorm(1_000_000)
    yield _against("ringnorm-like 1000000 x 20, KMeans(n_init=10)", X, y, _kmeans(y), 1.2)
    model = MaxMarginClustering(2, random_state=0)
    for n in (100_000, 200_000):  # all of the former are searched, 10000 of the latter, 20000 of a million
        whole, part = best_cpu_times(lambda: model.fit(X), lambda: model.fit(X[:n]))  # noqa: B023
        detail = f"{whole:.2f} s against {part:.2f} s"
        yield Row(f"fit of these rows against the first {n}", whole / part, 1_000_000 / n, detail)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield Row("peak memory of that fit against X itself", peak / X.nbytes, 3.0, f"{peak / 1e6:.0f} MB")


def _found_number() -> Iterator[Row]:
    """What it costs to find the number of clusters, against a fit with that number."""
    rng = np.random.default_rng(0)
    tables = {f"{n} x 10": rng.normal(size=(n, 10)) + 6 * np.eye(10)[np.arange(n) % 5] for n in (2_000, 4_000)}
    tables["satimage"], _ = _load("satimage")
    for name, X in tables.items():
        auto = MaxMarginClustering("auto", random_state=0).fit(X)
        given = MaxMarginClustering(max(2, auto.n_clusters_), random_state=0)
        found, told = best_cpu_times(lambda: auto.fit(X), lambda: given.fit(X))  # noqa: B023
        detail = f"{found:.2f} s for {auto.n_clusters_} clusters against {told:.2f} s"
        yield Row(f"n_clusters='auto' against the number it finds, {name}", found / told, 2.0, detail)


def sample_sizes() -> Iterator[Row]:
    """What a larger or smaller sample for the search would cost and gain."""
    tables = {
        "MNIST 70000": _load("mnist"),
        "letter 20000": _load("letter"),
        "ringnorm-like 10^6": _ringnorm(1_000_000),
    }
    for name, (X, y) in tables.items():
        base = _search_of(_search_space.SEARCH_ROWS, X, y)
        for size in SAMPLES:
            if size <= len(X):
                seconds, accuracy = _search_of(size, X, y)
                detail = f"{seconds:.1f} s, accuracy {accuracy:.1f} against {base[0]:.1f} s, {base[1]:.1f}"
                yield Row(f"fit, {name}, {size} rows searched against the default", seconds / base[0], None, detail)


def neighbours() -> Iterator[Row]:
    """The index of neighbours against all pairs, and neighbours against pynndescent where it is installed."""
    X = loaders.load_mnist(return_X_y=True)[0]
    NeighbourIndex.fit(X[:2000]).of_rows(30), nearest_rows(X[:2000], 30, 1)  # compile
    yield _index_against_all_pairs("MNIST 70000 x 784", X, 0.1)
    yield _index_against_all_pairs("ringnorm-like 100000 x 20", _ringnorm(100_000)[0], 0.6)
    if find_spec("pynndescent") is not None:
        yield from _against_pynndescent(X)


def _index_against_all_pairs(name: str, X, target: float) -> Row:
    found: dict[str, tuple] = {}
    ours, theirs = best_cpu_times(
        lambda: found.update(index=NeighbourIndex.fit(X).of_rows(30)),
        lambda: found.update(all=nearest_rows(X, 30, 1)),
    )
    share = 100 * _shared(found["index"][0], found["all"][0])
    detail = f"{ours:.1f} s against {theirs:.1f} s; the index finds {share:.1f} % of the neighbours"
    return Row(f"30 neighbours of {name}, index against all pairs", ours / theirs, target, detail)


def _against_pynndescent(X) -> Iterator[Row]:
    from pynndescent import NNDescent

    NNDescent(X[:5000], n_neighbors=31, random_state=0, n_jobs=1)  # compiles
    for n in (10_000, 20_000, 40_000):
        found: dict[str, np.ndarray] = {}
        ours, theirs = best_cpu_times(
            lambda: found.update(ours=neighbour_graph(X[:n], 30).nearest),  # noqa: B023
            lambda: found.update(  # noqa: B023
                theirs=NNDescent(X[:n], n_neighbors=31, random_state=0, n_jobs=1).neighbor_graph[0][:, 1:]  # noqa: B023
            ),
        )
        exact = nearest_rows(X[:n], 30, 1)[0]
        shares = [100 * _shared(found[which], exact) for which in ("ours", "theirs")]
        detail = f"{ours:.1f} s, {shares[0]:.1f} % found, against {theirs:.1f} s, {shares[1]:.1f} %"
        yield Row(f"30 neighbours of MNIST, {n} rows, against pynndescent", ours / theirs, None, detail)


def _shared(found, exact) -> float:
    """Share of the neighbours in one table that are in the same row of the other."""
    return float(np.mean([np.isin(b, a).mean() for a, b in zip(found, exact, strict=True)]))


def _search_of(size: int, X, y) -> tuple[float, float]:
    """Mean seconds and accuracy over two seeds with a sample of so many rows."""
    usual, _search_space.SEARCH_ROWS = _search_space.SEARCH_ROWS, size
    found = []
    for seed in range(2):
        model = MaxMarginClustering(len(set(y)), random_state=seed)
        seconds = best_cpu_times(lambda: model.fit(X))[0]  # noqa: B023
        found.append((seconds, 100 - 100 * clustering_error(y, model.labels_)))
    _search_space.SEARCH_ROWS = usual
    return tuple(np.mean(found, axis=0))


def predictions() -> Iterator[Row]:
    """Per cent of the fitted rows to which ``predict`` gives another cluster than ``labels_``."""
    for name in SETS:
        X, y = _load(name)
        if X.shape[0] <= MOST_ROWS:
            models = [MaxMarginClustering(len(set(y)), random_state=seed).fit(X) for seed in range(2)]
            moved = [100 * float((model.predict(X) != model.labels_).mean()) for model in models]
            yield Row(f"rows that predict moves, {name}, %", max(moved), 5.0, f"{min(moved):.1f} to {max(moved):.1f}")


def _load(name: str):
    task = runner.load(SETS[name])
    return task.X, task.y


def _kmeans(y) -> KMeans:
    return KMeans(len(set(y)), n_init=10, random_state=0)


def _ringnorm(n: int):
    """Two Gaussians of 20 columns, one wide about 0, one narrow aside, in float32."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = np.where(y[:, None] == 1, rng.normal(2 / np.sqrt(20), 1, (n, 20)), rng.normal(0, 2, (n, 20)))
    return X.astype(np.float32), y


def _against(name: str, X, y, rival, target: float | None, repeats: int = 1, n_clusters=None) -> Row:
    model = MaxMarginClustering(n_clusters or len(set(y)), random_state=0)
    fitted = clone(rival)
    fits: tuple[Callable[[], object], ...] = (lambda: model.fit(X), lambda: fitted.fit(X))
    ours, theirs = best_cpu_times(*fits, repeats=repeats)
    errors = [100 * clustering_error(y, labels) for labels in (model.labels_, fitted.labels_)]
    detail = f"{ours:.2f} s, error {errors[0]:.1f} against {theirs:.2f} s, error {errors[1]:.1f}"
    return Row(f"fit, {name}", ours / theirs, target, detail)
