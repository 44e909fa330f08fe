"""What a user's type checker sees of the package: `make lint` runs mypy on this file, and a test runs the file.

Lines that end in ``type: ignore`` are mistakes: mypy must find them, or it complains of an ignore that is not needed.
"""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import widegap
from widegap import CPM3C, M2DCU, MaxMarginClustering, metrics, persistence, selection, universum


def use(path: str) -> None:
    """The main calls, with the types that they are known to have."""
    X = np.vstack([np.zeros((20, 2)), np.ones((20, 2))]) + np.random.default_rng(0).normal(0, 0.1, (40, 2))
    model = assert_type(MaxMarginClustering(n_clusters=2, random_state=0).fit(X), MaxMarginClustering)
    labels = assert_type(model.predict(X), np.ndarray[Any, Any])
    assert_type(model.decision_function(X), np.ndarray[Any, Any])
    assert_type(widegap.CPM3C(random_state=0).fit_predict(X), np.ndarray[Any, Any])
    assert_type(metrics.clustering_accuracy(np.repeat([0, 1], 20), labels), float)
    persistence.save(model, path)
    assert_type(persistence.load(path)[1], dict[str, Any])
    records = selection.compare_cluster_numbers(CPM3C(random_state=0), X, [2], n_subsamples=1, random_state=0)
    assert_type(records[0].stability, float)
    U = assert_type(universum.random(X, 10, random_state=0), npt.NDArray[np.floating])
    assert_type(M2DCU(random_state=0, margin_tolerance=0.0).fit(X, universum=U), M2DCU)


def misuse(model: MaxMarginClustering) -> None:
    """Calls that cannot work."""
    CPM3C(clusters=3)  # type: ignore[call-arg]
    model.fit()  # type: ignore[call-arg]
    _ = model.predict([[0.0, 0.0]]).labels  # type: ignore[attr-defined]
    universum.random([[0.0], [1.0]], "ten")  # type: ignore[arg-type]
    _ = widegap.KMeans  # type: ignore[attr-defined]
