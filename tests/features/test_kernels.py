"""The table of kernels: one entry is all that a new kernel needs, in every method and in model files."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import laplacian_kernel

from widegap import CPM3C, GMMC, MKC, IterLSSVM, MaxMarginClustering, persistence
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features import _kernels
from widegap.features._kernels import KERNELS, KernelEntry, KernelParam


def laplace(X, Y, gamma, power=1.0):
    return laplacian_kernel(X, Y, gamma=np.sqrt(gamma)) ** power


ENTRY = KernelEntry(
    laplace,
    storable=True,
    params={"power": KernelParam("a positive number", _kernels.is_positive)},
    widths=("gamma", "width"),
)


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setitem(KERNELS, "laplace", ENTRY)


@pytest.fixture(scope="module")
def groups():
    return make_blobs(90, 3, centers=2, cluster_std=0.5, random_state=1)


METHODS = [
    MaxMarginClustering(2, kernel="laplace", random_state=0),
    CPM3C(2, kernel="laplace", random_state=0),
    IterLSSVM(2, kernel="laplace", random_state=0),
    GMMC(2, kernel="laplace"),
    MKC(2, kernels=["laplace", ("laplace", {"width": 0.5})], random_state=0),
    MKC(2, kernels=[("laplace", {"gamma": "diameter", "power": 2.0})], random_state=0),
]


@pytest.mark.parametrize("model", METHODS, ids=lambda model: type(model).__name__)
def test_an_entry_is_all_that_a_kernel_needs(table, groups, model):
    X, y = groups
    model.fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert adjusted_rand_score(y, model.predict(X)) == 1


@pytest.mark.parametrize("model", [m for m in METHODS if type(m) is not GMMC], ids=lambda model: type(model).__name__)
def test_a_model_with_it_is_saved_and_read(table, groups, tmp_path, model):
    X, _ = groups
    model.fit(X)
    persistence.save(model, tmp_path / "model")
    found, _ = persistence.load(tmp_path / "model")
    np.testing.assert_allclose(found.decision_function(X), model.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize("model", [METHODS[0], METHODS[4]], ids=lambda model: type(model).__name__)
def test_a_kernel_that_files_may_not_hold_is_refused_when_saving(monkeypatch, groups, tmp_path, model):
    monkeypatch.setitem(KERNELS, "laplace", replace(ENTRY, storable=False))
    with pytest.raises(NotSupportedError, match="which a safe model file cannot hold; use the kernels"):
        persistence.save(model.fit(groups[0]), tmp_path / "model")


def test_a_file_with_a_kernel_that_is_not_in_the_table_is_refused(monkeypatch, groups, tmp_path):
    monkeypatch.setitem(KERNELS, "laplace", ENTRY)
    persistence.save(METHODS[0].fit(groups[0]), tmp_path / "model")
    monkeypatch.delitem(KERNELS, "laplace")
    with pytest.raises(InvalidDataError, match="is not a model file of widegap, or is damaged"):
        persistence.load(tmp_path / "model")


@pytest.mark.parametrize("method", [MaxMarginClustering, CPM3C, IterLSSVM, GMMC])
def test_it_is_gone_with_its_entry(groups, method):
    with pytest.raises(ValueError, match=r"'kernel' .* must be a str among .*'rbf'.* Got 'laplace'"):
        method(kernel="laplace").fit(groups[0])


@pytest.mark.parametrize("method", [CPM3C, IterLSSVM, GMMC])
def test_methods_that_need_rows_refuse_matrices_of_values(method):
    with pytest.raises(ValueError, match="'kernel' .* Got 'precomputed'"):
        method(kernel="precomputed").fit(np.eye(4))


@pytest.mark.parametrize("method", [MaxMarginClustering, CPM3C, IterLSSVM, GMMC])
@pytest.mark.parametrize("gamma", ["median", "diameter"])
def test_every_method_takes_every_rule_for_the_width(groups, method, gamma):
    X, y = groups
    assert adjusted_rand_score(y, method(2, kernel="rbf", gamma=gamma).fit_predict(X)) == 1
    with pytest.raises(ValueError, match=r"'gamma' .* must be a str among \{'median', 'diameter'\} or a float"):
        method(2, gamma="scale").fit(X)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"degree": -1}, "kernel 'poly' has degree=-1; it must be a positive number"),
        ({"degree": "3"}, "has degree='3'; it must be a positive number"),
        ({"coef0": np.nan}, "has coef0=nan; it must be a finite number"),
    ],
)
def test_arguments_of_kernels_are_checked(groups, params, match):
    for model in (MaxMarginClustering(kernel="poly", kernel_params=params), MKC(kernels=[("poly", params)])):
        with pytest.raises(InvalidDataError, match=match.replace("kernel 'poly'", ".*'poly'.*")):
            model.fit(groups[0])
