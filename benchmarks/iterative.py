"""IterSVR against the loop of its paper around LIBSVM: same start, width, label step and stopping rule; label step."""

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

from benchmarks._measure import Row, best_ratio, exponent, time_once
from experiments import loaders
from widegap import IterSVR
from widegap.iterative._bisection import far_kmeans
from widegap.iterative._threshold import absolute_losses, best_split, bisection_bounds
from widegap.metrics import clustering_accuracy, clustering_error

FRACTION = 0.7  # the paper's for unbalanced sets


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    X, y = loaders.load_satimage(return_X_y=True)
    chosen = np.isin(y, [1, 2])
    X, y = X[chosen].astype(np.float64), y[chosen]
    model = IterSVR(min_cluster_fraction=FRACTION, init="k-means", random_state=0)
    ours = clone(model).set_params(callback=lambda record: record.iteration + 1 == equal)
    model.fit(X)
    gamma = model.kernel_map_.params["gamma"]
    labels, turns = libsvm_loop(X, gamma, model.max_iter)
    # As many turns for both: that ours settles a turn earlier or later is chance.
    equal = min(turns, model.n_iter_)
    ratio, seconds = best_ratio(lambda: ours.fit(X), lambda: libsvm_loop(X, gamma, equal), repeats=7)
    errors = [100 * clustering_error(y, found) for found in (model.labels_, labels)]
    detail = (
        f"{equal} turns each, {1e3 * ratio * seconds:.0f} ms against {1e3 * seconds:.0f} ms; to the end "
        f"{model.n_iter_} turns, error {errors[0]:.2f} against {turns} turns, error {errors[1]:.2f}; labels agree "
        f"{100 * clustering_accuracy(labels, model.labels_):.2f} %"
    )
    yield Row(f"fit, satellite C1-C2 {X.shape[0]} x {X.shape[1]}, IterSVR against the LIBSVM loop", ratio, 0.1, detail)
    yield _label_step()


def libsvm_loop(X: np.ndarray, gamma: float, max_iter: int) -> tuple[np.ndarray, int]:
    """Labels and turns of IterSVR as published, scikit-learn's SVR on the kernel matrix, computed once."""
    labels = np.where(far_kmeans(X, True, np.random.default_rng(0)), 1.0, -1.0)
    bounds = bisection_bounds(len(X), FRACTION)
    K = rbf_kernel(X, gamma=gamma)
    turns = 0
    settled = False
    while not settled and turns < max_iter:
        machine = SVR(kernel="precomputed", C=500.0, epsilon=0.05).fit(K, labels)
        following = best_split(machine.predict(K), absolute_losses, bounds).y
        settled, labels, turns = bool((following == labels).all()), following, turns + 1
    return labels, turns


def _label_step() -> Row:
    sizes = [20_000, 80_000, 320_000]
    f = np.random.default_rng(0).normal(size=sizes[-1])
    seconds = [
        min(time_once(lambda n=n: best_split(f[:n], absolute_losses, [(1, n - 1)])) for _ in range(5)) for n in sizes
    ]
    detail = ", ".join(f"n = {n}: {1e3 * s:.0f} ms" for n, s in zip(sizes, seconds, strict=True))
    return Row(
        "exponent of time in n, joint search of labels and bias (2 would be the definition)",
        exponent(sizes, seconds),
        1.3,
        detail,
    )
