"""CPM3C: one pass against reading the data, whole fits against k-means, growth with n and with 1 / tol.

Set ``OMP_NUM_THREADS`` and ``OPENBLAS_NUM_THREADS`` to 1: whole fits are measured in processor seconds.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks._measure import Row, best_cpu_times, best_ratio, exponent, time_once
from experiments import loaders
from widegap import CPM3C
from widegap.cutting_plane._hinge import hinge_pass
from widegap.metrics import clustering_accuracy
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

GROUPS = ("comp.", "rec.", "sci.", "talk.")
SEEDS = (0, 1, 2)


def rows() -> Iterator[Row]:
    """Dense rows, each row of the report as soon as it is measured."""
    X, y = _mnist()
    yield from _dense_pass(X)
    yield from _fit("MNIST 70000 x 784 float32", X, y, 10, (0.7, 0.4))
    yield from _growth(X)
    yield from _tolerance(X)


def text() -> Iterator[Row]:
    """Sparse rows."""
    X, topics = _news()
    yield from _sparse_pass(X)
    yield from _fit(f"20news, 4 super-groups, {X.shape[0]} x {X.shape[1]} CSR", X, topics, 4, (1.5, 0.3), turns=3)


def _mnist():
    data = loaders.load_mnist()
    return data.data / np.float32(255), data.target


def _news():
    data = loaders.load_20news(categories=list(GROUPS), headers=False)
    text = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.5, sublinear_tf=True).fit_transform(data.data)
    groups = [name.split(".")[0] + "." for name in data.target]
    return text, np.array([GROUPS.index(group) for group in groups])


def _random_weights(k: int, d: int, scale: float):
    return np.random.default_rng(0).normal(size=(k, d)) * scale, np.zeros(k)


def _dense_pass(X) -> Iterator[Row]:
    for n_threads in (1, 2):
        view = CentredRows(row_blocks(X, n_threads=n_threads))
        for k, target in ((10, 2.5), (2, 1.1)):
            W, b = _random_weights(k, X.shape[1], 2.0)
            ratio, base = best_ratio(lambda v=view, W=W, b=b: hinge_pass(v, W, b, None, all_rivals=False), X.sum)
            name = f"one pass, MNIST float32, k = {k}, {n_threads} thread(s), against X.sum()"
            yield Row(name, ratio, target, f"X.sum() {1e3 * base:.1f} ms")


def _sparse_pass(X) -> Iterator[Row]:
    for n_threads in (1, 2):
        view = CentredRows(row_blocks(X, n_threads=n_threads))
        for k, target in ((2, 1.0), (4, 1.0), (10, 1.0)):
            W, b = _random_weights(k, X.shape[1], 3.0)
            Wt = np.ascontiguousarray(W.T)
            ratio, base = best_ratio(
                lambda v=view, W=W, b=b: hinge_pass(v, W, b, None, all_rivals=False), lambda Wt=Wt: X @ Wt
            )
            name = f"one pass, 20news CSR, k = {k}, {n_threads} thread(s), against X @ W.T"
            yield Row(name, ratio, target, f"X @ W.T {1e3 * base:.1f} ms")


def _fit(name: str, X, y, k: int, targets: tuple[float, float], turns: int = 1) -> Iterator[Row]:
    """Whole fits, start included: processor seconds, the best of some turns. Targets are for n_init = 1 and 10."""
    CPM3C(k, random_state=0).fit(X[:6000])  # beyond the sample of starts: compiles all that the fits need
    seconds = {"CPM3C": [], "KMeans(n_init=1)": [], "KMeans(n_init=10)": []}
    accuracies = {method: [] for method in seconds}
    for seed in SEEDS:
        models = {
            "CPM3C": CPM3C(k, random_state=seed),
            "KMeans(n_init=1)": KMeans(k, n_init=1, random_state=seed),
            "KMeans(n_init=10)": KMeans(k, n_init=10, random_state=seed),
        }
        ours, one, ten = (partial(model.fit, X) for model in models.values())
        times = best_cpu_times(ours, one, repeats=turns) + best_cpu_times(ten)
        for (method, model), best in zip(models.items(), times, strict=True):
            seconds[method].append(best)
            accuracies[method].append(100 * clustering_accuracy(y, model.labels_))
    detail = "; ".join(
        f"{method} {np.mean(seconds[method]):.2f} s, accuracy {np.mean(a):.1f} ({min(a):.1f}-{max(a):.1f})"
        for method, a in accuracies.items()
    )
    for method, target in zip(("KMeans(n_init=1)", "KMeans(n_init=10)"), targets, strict=True):
        ratio = np.sum(seconds["CPM3C"]) / np.sum(seconds[method])
        yield Row(f"fit, {name}, k = {k}, against {method}", ratio, target, detail)
        detail = ""


def _growth(X) -> Iterator[Row]:
    """Exponent of the fit's time in n on random subsets of MNIST: as it is, and without the constant of the sample."""
    sizes = [8750, 17500, 35000, 70000]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    subsets = [np.ascontiguousarray(X[order[:n]]) for n in sizes]
    direction = rng.normal(size=X.shape[1])
    halves = [(S @ direction > np.median(S @ direction)).astype(int) for S in subsets]
    for name, starts in (("default", ["k-means"] * len(sizes)), ("given start", halves)):
        seconds = [
            min(time_once(lambda S=S, z=z: CPM3C(2, init=z, random_state=0).fit(S)) for _ in range(3))
            for S, z in zip(subsets, starts, strict=True)
        ]
        detail = ", ".join(f"n = {n}: {1e3 * s:.0f} ms" for n, s in zip(sizes, seconds, strict=True))
        yield Row(f"exponent of time in n, MNIST subsets, k = 2, {name}", exponent(sizes, seconds), 1.1, detail)


def _tolerance(X) -> Iterator[Row]:
    """Time at smaller tolerances against tol = 0.01, ten clusters."""
    reference = time_once(lambda: CPM3C(10, random_state=0).fit(X))
    for tol in (0.1, 0.001):
        model = CPM3C(10, tol=tol, random_state=0, max_iter=2000)
        ratio = time_once(lambda model=model: model.fit(X)) / reference
        yield Row(f"fit, MNIST, k = 10, tol = {tol}, against tol = 0.01", ratio, None, f"{model.n_iter_} iterations")
