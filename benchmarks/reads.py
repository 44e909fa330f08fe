"""How often rows are read: the checks of a fit against one read, and a table of new rows against their scores alone."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.utils import check_array

from benchmarks._measure import Row, best_cpu_times
from widegap import MaxMarginClustering
from widegap.base._validation import check_table
from widegap.results import PlainRows, Result


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    model = MaxMarginClustering(8, random_state=0)
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(200_000, 50))
    sparse = sp.random_array((200_000, 500), density=0.02, format="csr", rng=rng)
    for name, X, target in (("200,000 x 50", dense, 2.0), ("200,000 x 500 CSR", sparse, None)):
        ours, theirs = best_cpu_times(
            lambda X=X: check_table(model, X, reset=True), lambda X=X: check_array(X, accept_sparse="csr"), repeats=7
        )
        yield Row(
            f"{name}: checks of a fit, against check_array", ours / theirs, target, f"check_array {1e3 * theirs:.0f} ms"
        )
    X, _ = make_blobs(25_000, 50, centers=8, random_state=0)
    model.fit(X[:5000])
    new = X[5000:]
    ours, theirs = best_cpu_times(
        lambda: Result(model, PlainRows(new)).frame(), lambda: model.decision_function(new), repeats=5
    )
    yield Row(
        "20,000 new rows: cluster, certainty and margin, against their scores", ours / theirs, 1.5, f"{theirs:.2f} s"
    )
