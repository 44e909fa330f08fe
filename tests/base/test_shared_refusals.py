"""What several estimators owe the user alike: rows from blocks with NaN, copies of rows, kernels that see nothing."""

import numpy as np
import pytest

from widegap import CPM3C, GMMC, MKC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering
from widegap.exceptions import InvalidDataError
from widegap.metrics import clustering_accuracy
from widegap.rows._sources import row_blocks

ITERATIVE = [IterSVM, IterSVR, IterLSSVM]


def groups_and_rows(n=60):
    rng = np.random.default_rng(0)
    groups = np.arange(n) % 2
    return groups, rng.normal(size=(n, 4)) + 10 * groups[:, None]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
@pytest.mark.parametrize("method", [*ITERATIVE, CPM3C, GMMC])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_blocks_with_nan_are_refused(method, kernel, value):
    _, X = groups_and_rows()
    X[3, 1] = value
    model = method(kernel=kernel, random_state=0)
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(InvalidDataError, match="contains? NaN, infinity, .* impute, drop"),
    ):
        model.fit(row_blocks(X))
    with pytest.raises(ValueError, match="contains (NaN|infinity)"):
        model.fit(X)


@pytest.mark.parametrize("model", [*(method() for method in ITERATIVE), CPM3C(kernel="rbf"), MaxMarginClustering()])
def test_nine_rows_in_ten_are_copies(model):
    groups, X = groups_and_rows(100)
    X = np.vstack([X, np.repeat(X[:2], 450, axis=0)])  # one row of each group
    groups = np.concatenate([groups, np.repeat([0, 1], 450)])
    model.set_params(random_state=0)
    if "gamma" in model.get_params():
        model.set_params(gamma="median")
    assert clustering_accuracy(groups, model.fit(X).labels_) == 1


@pytest.mark.parametrize("method", [*ITERATIVE, CPM3C])
def test_kernel_that_maps_all_rows_to_one_point_is_named(method):
    match = "Kernel 'rbf' maps all 60 rows to one point, so they cannot .* change the kernel or its parameters"
    with pytest.raises(InvalidDataError, match=match):
        method(kernel="rbf", gamma=1e-30).fit(groups_and_rows()[1])


@pytest.mark.parametrize("method", [*ITERATIVE, CPM3C, GMMC])
def test_unknown_kernel_parameters_are_named(method):
    match = "kernel_params holds 'width', but kernel 'poly' takes 'coef0' and 'degree'"
    with pytest.raises(InvalidDataError, match=match):
        method(kernel="poly", kernel_params={"width": 1}).fit(groups_and_rows()[1])


@pytest.mark.parametrize("model", [*(method() for method in ITERATIVE), CPM3C(), GMMC(), MaxMarginClustering(), MKC()])
@pytest.mark.parametrize("unknown", [-1, -1.0, np.nan])
def test_y_is_ignored(model, unknown):
    groups, X = groups_and_rows()
    y = np.where(np.arange(len(X)) < 10, unknown, 2 + groups)
    model.set_params(random_state=0)
    np.testing.assert_array_equal(model.fit_predict(X, y), model.fit_predict(X))
