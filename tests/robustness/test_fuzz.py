"""Any table, any estimator: labels of the right kind, or an error with a reason; nothing else, and not for long.

Tables come in all dtypes, orders, strides and containers, read-only, with duplicates, denormals, NaN and 1e308, with as
many rows as clusters, with one column, with more columns than rows.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from _counts import tried
from _limits import within
from widegap import CPM3C, GMMC, MKC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering
from widegap.exceptions import WidegapError

SECONDS = 30
ESTIMATORS = [CPM3C, MKC, GMMC, IterSVM, IterSVR, IterLSSVM, MaxMarginClustering]
FILLS = [0.0, 1.0, -1.0, 0.1, 5e-324, 1e-200, 1e-20, 1e12, 1e18, 1e308, float("nan"), float("inf")]
KINDS = ["f8", "f4", "i8", "u1", "bool", "f2", "O", "c16", "U5", "M8[s]"]


@st.composite
def tables(draw, rows=(0, 14), columns=(0, 1, 2, 3, 20), kinds=KINDS, fills=FILLS):
    """A table, fit to be clustered or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(*rows)), draw(st.sampled_from(columns))
    X = rng.normal(size=(n, d)) * draw(st.sampled_from([1.0, 1e-8, 1e8]))
    if n and d and draw(st.booleans()):
        X[rng.integers(n), rng.integers(d)] = draw(st.sampled_from(fills))
    if n and draw(st.booleans()):
        X = X[rng.integers(max(1, n // 3), size=n)]
    with np.errstate(all="ignore"):
        kind = draw(st.sampled_from(kinds))
        finite = np.where(np.isfinite(X), np.clip(X, -1e15, 1e15), 0)
        X = finite.astype("i8").astype(kind) if kind in ("i8", "u1", "M8[s]") else X.astype(kind)
    return draw(st.sampled_from(CONTAINERS))(X)


def frame(X):
    import pandas as pd

    return pd.DataFrame(X, index=[0] * len(X))


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def unsorted_csr(X):
    X = sp.csr_array(X) if X.dtype.kind in "fiub" and X.dtype != np.float16 else sp.csr_array(np.zeros(X.shape))
    return sp.csr_array(
        (X.data[::-1].copy(), X.indices[::-1].astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )


CONTAINERS = [
    np.ascontiguousarray,
    np.asfortranarray,
    read_only,
    lambda X: np.repeat(X, 2, axis=0)[::2],
    lambda X: np.flip(X),
    np.ma.masked_array,
    lambda X: X.tolist(),
    frame,
    unsorted_csr,
]


@st.composite
def models(draw, estimators=ESTIMATORS):
    cls = draw(st.sampled_from(estimators))
    options = {"random_state": draw(st.integers(0, 3))}
    if cls is not MKC and draw(st.booleans()):
        options["kernel"] = draw(st.sampled_from(["linear", "rbf", "poly", "cosine"]))
    return cls(draw(st.integers(1, 4)), **options)


def check(model, X):
    """One fit: labels of the right kind, predictions that stay the same, or an error with a reason."""
    with warnings.catch_warnings(), within(SECONDS):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # numbers that went wrong without a word
        try:
            model.fit(X)
        except (WidegapError, ValueError, TypeError) as error:
            assert len(str(error)) > 15, repr(error)
            tried("fits of drawn tables", 1)
            return
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        assert model.labels_.shape == (n,)
        assert model.labels_.dtype == np.int32
        assert set(model.labels_) <= set(range(model.n_clusters_))
        np.testing.assert_array_equal(model.predict(X), model.predict(X))
    tried("fits of drawn tables", 1)


OPTIONS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
    "database": None,
    "phases": (Phase.generate,),  # tracing and shrinking would take most of the time
}


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Loops are compiled before the clock runs."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    for rows in (X, X.astype(np.float32), sp.csr_array(X), sp.csr_array(X.astype(np.float32))):
        for cls in ESTIMATORS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cls(2, random_state=0).fit(rows)


@given(models(), tables())
@settings(max_examples=500, **OPTIONS)
def test_fits_of_any_table(model, X):
    check(model, X)


@pytest.mark.slow
@given(models(), tables())
@settings(max_examples=20_000, **OPTIONS)
def test_many_fits_of_any_table(model, X):
    check(model, X)


LARGER = tables(rows=(8, 60), columns=(1, 2, 3, 5, 9, 20), kinds=["f8", "f4", "i8", "u1", "bool"], fills=FILLS[:5])


@pytest.mark.slow
@given(models([*ESTIMATORS, *[MaxMarginClustering] * 5]), LARGER)
@settings(max_examples=500, **OPTIONS)
def test_fits_of_larger_tables(model, X):
    """Most can be clustered; ``make test-loops`` runs this as plain Python, where NumPy checks every index."""
    check(model, X)
