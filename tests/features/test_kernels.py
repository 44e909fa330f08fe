"""The table of kernels: one entry is all that a new kernel needs, in every method and in model files."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import laplacian_kernel

from widegap import CPM3C, GMMC, MKC, IterLSSVM, MaxMarginClustering, persistence
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features import _kernels
from widegap.features._kernels import (
    KERNELS,
    KernelEntry,
    KernelNames,
    KernelParam,
    diameter_gamma,
    far_pair,
    holds_values,
    ignores_shifts,
    kernel_matrix,
    kernel_options,
    kernel_to,
    may_be_stored,
    median_gamma,
    needs_width,
    settle_width,
)


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


class TestWidths:
    """Widths by hand."""

    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [6.0, 8.0]])  # distances 5, 0, 10, 5, 5, 10

    def test_the_median_is_that_of_the_distances_above_zero(self):
        assert median_gamma(self.X) == pytest.approx(1 / (1.5 * 5) ** 2)
        assert median_gamma(self.X[[0, 1, 3]]) == pytest.approx(1 / 7.5**2)
        line = np.array([[0.0], [1.0], [4.0], [9.0]])  # 1, 3, 4, 5, 8, 9: the two in the middle count
        assert median_gamma(line) == pytest.approx(1 / (1.5 * 4.5) ** 2)
        assert median_gamma(sp.csr_array(line)) == pytest.approx(1 / (1.5 * 4.5) ** 2)

    def test_the_diameter_is_four_times_the_largest_distance(self):
        for form in (np.asarray, sp.csr_array):
            assert diameter_gamma(form(self.X), np.random.default_rng(0)) == pytest.approx(1 / 40**2)
        for rule in (median_gamma, lambda X: diameter_gamma(X, np.random.default_rng(0))):
            with pytest.raises(InvalidDataError, match="All rows drawn for the kernel width are equal; give gamma"):
                rule(np.full((4, 2), 0.3))

    def test_the_farthest_rows_are_found(self):
        class First:
            def integers(self, n):
                return 2

        X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.1], [0.5, 0.9], [0.5, -0.9]])
        first, second = far_pair(X, False, First())
        np.testing.assert_allclose(first, np.square(X - X[2]).sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(second, np.square(X - X[4]).sum(axis=1), atol=1e-12)
        first, second = far_pair(X, True, First())
        assert first.max() == pytest.approx(1.8**2) == second.max()

    @pytest.mark.parametrize(("options", "gamma"), [({"gamma": 0.5}, 0.5), ({"gamma": "median"}, 1 / 7.5**2),
        ({"width": 3.0}, 1 / (3 * 5) ** 2), ({}, 1 / 7.5**2), ({"gamma": "diameter"}, 1 / 1600)])  # fmt: skip
    def test_a_width_is_a_number_a_rule_or_in_medians(self, options, gamma):
        asked = []

        def some(size):
            asked.append(size)
            return self.X

        given = dict(options)
        found = settle_width("rbf", options, some, np.random.default_rng(0))
        assert found == {"gamma": pytest.approx(gamma)} and options == given
        rule = options.get("gamma", "median")
        assert asked == ([] if rule == 0.5 else [{"median": 500, "diameter": 2000}[rule]])
        assert settle_width("linear", {}, some, np.random.default_rng(0)) == {}


def test_values_of_kernels_are_their_definitions():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    squares = np.square(X[:, None] - Y).sum(axis=2)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
        for gamma in (1e-3, 0.5, 50.0):
            K = kernel_to(Y.astype(dtype), "rbf", {"gamma": gamma})(X.astype(dtype))
            # Of float32 only where its rounding leaves five digits of the exponent.
            assert K.dtype == (np.float32 if dtype == np.float32 and gamma < 1 else np.float64)
            np.testing.assert_allclose(K, np.exp(-gamma * squares), atol=tolerance * max(1, gamma))
    squares_of_sums = kernel_matrix(X, Y, "poly", {"gamma": 2.0, "degree": 2, "coef0": 3})
    np.testing.assert_allclose(squares_of_sums, (2 * X @ Y.T + 3) ** 2)
    np.testing.assert_array_equal(kernel_matrix(X, np.array([2, 0]), "precomputed", {}), X[:, [2, 0]])
    assert kernel_matrix(X.astype(np.float32), Y, "rbf", {"gamma": 0.5}).dtype == np.float64
    with pytest.raises(InvalidDataError, match="returned values of dtype complex128; they must be real numbers"):
        kernel_matrix(X, Y, lambda X, Y: np.ones((5, 4)) + 1j, {})


def test_single_precision_is_left_where_it_costs_digits():
    eps = float(np.finfo(np.float32).eps)
    rows = np.array([[-1.0], [1.0]], np.float32)
    for gamma, dtype in ((0.999e-5 / eps, np.float32), (1.001e-5 / eps, np.float64)):
        assert kernel_to(rows, "rbf", {"gamma": gamma})(rows).dtype == dtype


def test_questions_about_kernels():
    assert [needs_width(name) for name in KERNELS] == [False, True, True, False, False]
    assert [ignores_shifts(name) for name in KERNELS] == [True, True, False, False, False]
    assert [holds_values(name) for name in KERNELS] == [False] * 4 + [True]
    assert not (needs_width(laplace) or ignores_shifts(laplace) or holds_values(laplace))
    assert all(map(_kernels.is_positive, (1, 1e-300, 1e300)))
    assert not any(map(_kernels.is_positive, (0, -1, np.inf, True, "1", None)))
    without, all_of_them = KernelNames(False), KernelNames(True)
    assert list(without) == ["linear", "rbf", "poly", "cosine"] and len(without) == 4
    assert list(all_of_them) == [*without, "precomputed"] and len(all_of_them) == 5
    assert "precomputed" not in without and "precomputed" in all_of_them and "none" not in all_of_them
    assert may_be_stored("rbf", {"gamma": 1}) and not may_be_stored("rbf", {"degree": 1})
    assert not may_be_stored("none", {}) and not may_be_stored(laplace, {})
    assert kernel_options("linear", 2.0, None) == {} and kernel_options(laplace, 2.0, {"gamma": 1}) == {"gamma": 1}
    assert kernel_options("poly", "median", {"degree": 2}) == {"degree": 2, "gamma": "median"}
    for params, words in (({"gamma": 1}, "'gamma', but kernel 'rbf' takes none; gamma is a parameter of its own"),
                          ({"degree": 1}, "'degree', but kernel 'rbf' takes none.$")):  # fmt: skip
        with pytest.raises(InvalidDataError, match=words):
            kernel_options("rbf", 1.0, params)


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
