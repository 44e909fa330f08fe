"""DocumentClustering: whole fits of sparse rows against k-means on the same rows, and how many bytes they take.

Set ``OMP_NUM_THREADS`` and ``OPENBLAS_NUM_THREADS`` to 1, so that threads that wait are not counted.
"""

import tracemalloc
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks._measure import Row, best_cpu_times
from experiments import loaders
from widegap import DocumentClustering
from widegap.metrics import clustering_accuracy

GROUPS = ("comp.", "rec.", "sci.", "talk.")
N_NEWS_TERMS = 47_000
SEEDS = (0, 1, 2)
TURNS = 3


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    text, topics = _news()
    yield from _fit("20news", text, topics)
    data = loaders.load_rcv1()
    yield from _fit("RCV1", data.data, data.target)
    yield _memory(data.data)


def _news() -> tuple[Any, Any]:
    data = loaders.load_20news(categories=list(GROUPS), headers=False)
    vectorizer = TfidfVectorizer(stop_words="english", max_df=0.5, sublinear_tf=True, max_features=N_NEWS_TERMS)
    return vectorizer.fit_transform(data.data), np.array([name.split(".")[0] for name in data.target])


def _fit(name: str, X: Any, y: Any) -> Iterator[Row]:
    """Processor seconds, the best of some turns for each seed; the first call compiles and is not counted."""
    DocumentClustering(4, random_state=0).fit(X[:500])
    seconds: dict[str, list[float]] = {"DocumentClustering": [], "KMeans(n_init=1)": [], "KMeans(n_init=10)": []}
    accuracies: dict[str, list[float]] = {method: [] for method in seconds}
    for seed in SEEDS:
        models = {
            "DocumentClustering": DocumentClustering(4, random_state=seed),
            "KMeans(n_init=1)": KMeans(4, n_init=1, random_state=seed),
            "KMeans(n_init=10)": KMeans(4, n_init=10, random_state=seed),
        }
        ours, one, ten = (partial(model.fit, X) for model in models.values())
        times = best_cpu_times(ours, one, repeats=TURNS) + best_cpu_times(ten)
        for (method, model), best in zip(models.items(), times, strict=True):
            seconds[method].append(best)
            accuracies[method].append(100 * clustering_accuracy(y, model.labels_))
    detail = "; ".join(
        f"{method} {np.mean(seconds[method]):.2f} s, accuracy {np.mean(found):.1f}"
        for method, found in accuracies.items()
    )
    for method, target in (("KMeans(n_init=1)", 2.5), ("KMeans(n_init=10)", None)):
        ratio = np.sum(seconds["DocumentClustering"]) / np.sum(seconds[method])
        yield Row(f"fit, {name}, {X.shape[0]} x {X.shape[1]} CSR, k = 4, against {method}", ratio, target, detail)
        detail = ""


def _memory(X: Any) -> Row:
    """Peak of a fit against the bytes of X, whose dense form would take hundreds of times as many."""
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    tracemalloc.start()
    DocumentClustering(4, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    dense = X.shape[0] * X.shape[1] * X.data.itemsize
    detail = f"X {stored / 2**20:.0f} MiB, dense {dense / 2**20:.0f} MiB"
    return Row("peak memory of a fit, RCV1, against X as it is stored", peak / stored, None, detail)
