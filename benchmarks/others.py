"""For reading: other k-means beside CPM3C, on the same rows, in processor seconds of one thread; no targets.

Packages of the group ``bench`` that are missing are left out, and the report says which.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from threadpoolctl import threadpool_limits

from benchmarks._measure import Row, best_cpu_times
from experiments import loaders
from widegap import CPM3C
from widegap.metrics import clustering_accuracy

K = 10
Fit = Callable[[Any], Any]  # rows to labels


def rows() -> Iterator[Row]:
    """CPM3C against each of the others on MNIST, 70000 x 784 float32."""
    data = loaders.load_mnist()
    X, y = data.data / np.float32(255), data.target
    with threadpool_limits(1):
        own, found = _fitted(lambda X: CPM3C(K, random_state=0, n_jobs=1).fit(X).labels_, X)
        said = f"CPM3C {own:.2f} s, accuracy {100 * clustering_accuracy(y, found):.1f}"
        for name, (package, make) in OTHERS.items():
            try:
                fit = make(import_module(package))
            except ImportError as error:
                yield Row(f"fit, MNIST, k = {K}, against {name}: not measured", np.nan, None, str(error))
                continue
            seconds, labels = _fitted(fit, X)
            detail = f"{name} {seconds:.2f} s, accuracy {100 * clustering_accuracy(y, labels):.1f}; {said}"
            yield Row(f"fit, MNIST, k = {K}, against {name}", own / seconds, None, detail)


def _fitted(fit: Fit, X: Any) -> tuple[float, Any]:
    """Processor seconds and labels; a fit of few rows goes before, for what is done once."""
    fit(X[:6000])
    found: list[Any] = []
    (seconds,) = best_cpu_times(lambda: found.append(fit(X)))
    return seconds, np.asarray(found[-1])


def _scikit_learn(_: Any) -> Fit:
    return lambda X: KMeans(K, n_init=1, random_state=0).fit(X).labels_


def _mini_batches(_: Any) -> Fit:
    return lambda X: MiniBatchKMeans(K, n_init=1, random_state=0).fit(X).labels_


def _faiss(faiss: Any) -> Fit:
    def fit(X: Any) -> Any:
        faiss.omp_set_num_threads(1)
        model = faiss.Kmeans(X.shape[1], K, seed=0, max_points_per_centroid=len(X))  # its default trains on a sample
        model.train(X)
        return model.index.search(X, 1)[1][:, 0]

    return fit


def _intelex(cluster: Any) -> Fit:
    """Its own class, imported by its own name: nothing of scikit-learn is replaced."""
    return lambda X: cluster.KMeans(K, n_init=1, random_state=0).fit(X).labels_


def _dask_ml(cluster: Any) -> Fit:
    import dask
    import dask.array as da

    def fit(X: Any) -> Any:
        with dask.config.set(scheduler="synchronous"):
            return cluster.KMeans(K, random_state=0).fit(da.from_array(X, chunks=(7000, X.shape[1]))).labels_.compute()

    return fit


OTHERS: dict[str, tuple[str, Callable[[Any], Fit]]] = {
    "KMeans(n_init=1)": ("sklearn.cluster", _scikit_learn),
    "MiniBatchKMeans(n_init=1)": ("sklearn.cluster", _mini_batches),
    "faiss-cpu, all points": ("faiss", _faiss),
    "scikit-learn-intelex": ("sklearnex.cluster", _intelex),
    "KMeans of dask-ml, k-means||": ("dask_ml.cluster", _dask_ml),
}
