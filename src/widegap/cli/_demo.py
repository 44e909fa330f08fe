"""The demo: scikit-learn's bundled digits, k-means and CPM3C side by side."""

from time import perf_counter

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from widegap import CPM3C
from widegap.metrics import clustering_accuracy

TASKS = ((3, 8), (1, 7), (2, 7), (8, 9), (0, 6, 8, 9), (1, 2, 7, 9), tuple(range(10)))
SEEDS = range(3)
TITLE = "Handwritten digits, clustered without labels: accuracy in % (mean over 3 seeds) and seconds a fit"


def run_demo() -> int:
    """Print one line a set of digits."""
    X, y = load_digits(return_X_y=True)
    print("Compiling the inner loops (the first run takes half a minute) ...", flush=True)
    for k in (2, 3):  # before the clock runs, so that the table shows the work and not the compiler
        CPM3C(k, min_cluster_fraction=1.0).fit(X[:50])  # so tight that the label step under a bound compiles too
    print(TITLE)
    print(f"{'digits':<22}{'rows':>6}{'KMeans(n_init=10)':>24}{'CPM3C':>18}")
    for digits in TASKS:
        chosen = np.isin(y, digits)
        rows, truth, k = X[chosen], y[chosen], len(digits)
        name = " ".join(map(str, digits))
        kmeans = _measure(lambda seed, k=k: KMeans(k, n_init=10, random_state=seed), rows, truth)
        cpm3c = _measure(lambda seed, k=k: CPM3C(k, random_state=seed), rows, truth)
        print(f"{name:<22}{len(rows):>6}{kmeans:>24}{cpm3c:>18}", flush=True)
    return 0


def _measure(make, rows, truth) -> str:
    """Mean accuracy and mean time over the seeds, as text."""
    # One thread for all: on a few hundred rows k-means can lose a hundredfold to threads that wait for each other.
    with threadpool_limits(1):
        began = perf_counter()
        labels = [make(seed).fit_predict(rows) for seed in SEEDS]
        seconds = (perf_counter() - began) / len(SEEDS)
    accuracy = np.mean([clustering_accuracy(truth, found, mapping="majority") for found in labels])
    return f"{100 * accuracy:.1f}   {seconds:.2f} s"
