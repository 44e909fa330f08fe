"""Principal axes, spectra and decompositions of kernels against NumPy, and what counts as zero."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from _representations import table
from widegap.exceptions import InvalidDataError
from widegap.features import _spectrum
from widegap.features._kernel_maps import (
    KernelMap,
    Spectrum,
    check_symmetric,
    decompose,
    finer_map,
    fit_precomputed_map,
    linear_map,
    may_be_finer,
    singular_directions,
)
from widegap.features._kernel_stack import _effective_rank
from widegap.features._principal import (
    PrincipalAxes,
    PrincipalMap,
    centred_gram,
    leading_directions,
    ridge_whitening,
    whiten,
)
from widegap.features._spectrum import leading_variances, leading_vectors

both_forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@pytest.mark.parametrize("cached", [1, 13, 1 << 18])
def test_coordinates_and_whitened_ones_are_those_of_numpy(cached, monkeypatch):
    monkeypatch.setattr("widegap.rows._matrices.CACHED_NUMBERS", cached)
    F = np.random.default_rng(0).normal(size=(40, 4)) * [5, 2, 1, 0] + 7
    mean, gram = centred_gram(F)
    Z = F - F.mean(axis=0)
    assert_allclose(mean, F.mean(axis=0))
    assert_allclose(gram, Z.T @ Z, atol=1e-10)
    found = PrincipalMap.fit(F)
    values = np.linalg.eigvalsh(Z.T @ Z)[::-1][:3]
    assert_allclose(found.lam, values)
    P = found.transform(F)
    assert_allclose(P.T @ P, np.diag(values), atol=1e-8)
    for rho in (0.0, 3.0):
        Q = whiten(P, found.lam, rho)
        assert Q.flags.c_contiguous
        assert_allclose(Q.T @ Q, np.diag(values / (values + rho)), atol=1e-10)
        assert_allclose(Z @ found.whitening(rho), Q, atol=1e-10)
        assert_allclose(found.whiten_in_place(F.copy(), rho), Q, atol=1e-10)
        W = ridge_whitening(gram, rho)
        least = max(rho, 1e-10 * np.trace(gram))
        assert_allclose(W @ W.T, np.linalg.inv(gram + least * np.eye(4)), rtol=1e-5)
    assert not np.allclose(ridge_whitening(gram[:3, :3], 1e-3), ridge_whitening(gram[:3, :3], 1e-2), rtol=1e-9)


def test_axes_below_a_thousandth_of_a_degree_of_freedom_have_no_part():
    lam = np.array([1000.0, 1.0, 0.998])  # with a ridge of 998 or so: 1/2, and about a thousandth
    P = np.eye(3)
    assert whiten(P, lam, 999.0).shape == (3, 1)  # exactly a thousandth is not more
    assert whiten(P, lam, 998.5).shape == (3, 2)
    assert whiten(P, lam, 0.0).shape == (3, 3)
    assert_allclose(whiten(P, lam, 998.5)[0, 0], 1 / np.sqrt(1998.5))
    weak = np.array([1e-3, 1e-5, 1e-7])  # freedoms of about 1e-3, 1e-5 and 1e-7 with a ridge of 1
    assert whiten(P, weak, 1.0).shape == (3, 1 + 1)  # the strongest sets the scale: 1e-2 of it is enough
    tiny = PrincipalMap.of(np.zeros(3), np.diag([1.0, 1.1e-10, 0.9e-10]))
    assert_allclose(tiny.lam, [1.0, 1.1e-10])


@both_forms
def test_axes_in_units_of_the_total_deviation(form, monkeypatch):
    X = np.random.default_rng(1).normal(size=(30, 5)) * [9, 4, 1, 1, 1] + 3
    Z = X - X.mean(axis=0)
    expected = Z @ np.linalg.svd(Z, full_matrices=False)[2].T / np.sqrt(np.square(Z).sum() / 30)
    for size in (1, 2, 5, 9):
        found = PrincipalAxes(form(X), size, 0).coordinates(form(X))
        assert found.shape == (30, min(size, 5))
        assert_allclose(np.abs(found), np.abs(expected[:, :size]), atol=1e-8)
    monkeypatch.setattr("widegap.features._principal.EXPLICIT_COLUMNS", 4)
    found = PrincipalAxes(form(X[:4]), 4, 0).coordinates(form(X[:4]))
    assert found.shape == (4, 4 if form is np.asarray else 3)


@both_forms
def test_directions_of_rows_have_length_one(form):
    X = table(25, 6)
    found = leading_directions(form(X), 3)
    assert found.shape == (25, 3) and found.dtype == np.float32
    present = np.abs(X).sum(axis=1) > 0
    assert_allclose(np.linalg.norm(found, axis=1), present, atol=1e-5)
    V = np.linalg.svd(X, full_matrices=False)[2][:3]
    expected = X @ V.T
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-30)
    assert_allclose(np.abs(found), np.abs(expected), atol=0.05)


@both_forms
@pytest.mark.parametrize("shape", [(60, 7), (7, 60), (40, 40)])
@pytest.mark.parametrize("explicit", [5, 400])
def test_weighted_variances_are_those_of_repeated_rows(form, shape, explicit, monkeypatch):
    monkeypatch.setattr(_spectrum, "EXPLICIT_SIZE", explicit)
    X, times = table(*shape, density=0.9), np.arange(shape[0]) % 3 + 1
    repeated = np.repeat(X, times, axis=0)
    mean = repeated.mean(axis=0)
    expected = np.sort(np.linalg.eigvalsh(np.cov(repeated.T, bias=True)))[::-1][:3]
    tolerance = 1e-9 if explicit == 400 else 3e-3
    assert_allclose(leading_variances(form(X), mean, 3, times.astype(float)), expected, rtol=tolerance)
    plain = np.sort(np.linalg.eigvalsh(np.cov(X.T, bias=True)))[::-1][:3]
    assert_allclose(leading_variances(form(X), X.mean(axis=0), 3), plain, rtol=tolerance)


@both_forms
def test_leading_vectors_span_the_leading_subspace(form):
    X, times = table(80, 6, density=1.0) * [8, 4, 2, 0.1, 0.1, 0.1], np.arange(80) % 3 + 1
    X[:, 5] = 0
    X[:2, 5] = 0.01  # stored twice: no part of a sparse table's directions
    for weights, rows in ((None, X), (times.astype(float), np.repeat(X, times, axis=0))):
        V = np.linalg.svd(rows, full_matrices=False)[2][:2]
        found = leading_vectors(form(X), 2, 0, weights)
        assert_allclose(found @ found.T, np.eye(2), atol=1e-5)
        assert_allclose(np.linalg.norm(found @ V.T), np.sqrt(2), rtol=1e-3)
    whole = leading_vectors(form(X), 9, 0)
    assert whole.shape == (6 if form is np.asarray else 5, 6)
    assert whole[:, 5].any() == (form is np.asarray)
    X[:3, 5] = 0.01
    assert leading_vectors(sp.csr_array(X), 9, 0).shape == (6, 6)  # three entries are enough


@pytest.mark.parametrize(
    ("values", "dtype", "kept"),
    [([1.0, 1.1e-10], np.float64, 2), ([1.0, 0.9e-10], np.float64, 1), ([1.0, 1.3e-6], np.float32, 2),
     ([1.0, 1.1e-6], np.float32, 1), ([4.0, 1.0, 0.0], np.float64, 2), ([0.0, 0.0], np.float64, 0)],
)  # fmt: skip
def test_eigenvalues_within_rounding_are_zero(values, dtype, kept):
    found = decompose(np.diag(values), dtype, centred=False)
    assert found.projection.shape == (len(values), kept)
    assert (found.lowest, found.highest, found.negative_share) == (min(values), max(values), 0)
    expected = np.diag(1 / np.sqrt(np.maximum(values, 1e-300)))[:, :kept]
    assert_allclose(found.projection, expected)


def test_negative_eigenvalues_count_beyond_rounding():
    assert decompose(np.diag([1.0, -0.9e-5]), np.float64, centred=False).negative_share == 0
    found = decompose(np.diag([1.0, -1.1e-5]), np.float64, centred=False)
    assert found.negative_share == pytest.approx(1.1e-5 / (1 + 1.1e-5)) and found.lowest == -1.1e-5
    with pytest.raises(InvalidDataError, match="eigenvalues on 2 rows go from -1.1e-05 to 1, so it has no margin"):
        found.check_margin("mine", 2)
    Spectrum(np.eye(2), -1.0, 1.0, 0.0).check_margin("mine", 2)
    centred = decompose(np.ones((3, 3)) + np.diag([2.0, 2.0, 2.0]), np.float64, centred=True)
    assert centred.projection.shape == (3, 2) and centred.highest == pytest.approx(2)


def test_a_kernel_may_differ_from_its_mirror_image_by_rounding():
    K = np.array([[1.0, 0.5], [0.5, 4.0]])
    for difference, wrong in ((3.9e-5, False), (4.1e-5, True)):
        other = K + [[0, difference], [0, 0]]
        if wrong:
            with pytest.raises(InvalidDataError, match="mine is not symmetric: .* by up to 4.1e-05"):
                check_symmetric(other, "mine")
        else:
            assert check_symmetric(other, "mine") is other


def test_effective_ranks():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]) + 5
    assert _effective_rank(X) == pytest.approx(2) and _effective_rank(X[:, :1]) == pytest.approx(1)
    assert _effective_rank(X * [1, 3]) == pytest.approx((1 + 9) ** 2 / (1 + 81))
    assert _effective_rank(np.full((3, 2), 4.0)) == 0


def test_directions_are_unit_vectors_where_columns_are_few():
    X = table(20, 4)
    assert_array_equal(singular_directions(X, 4, np.random.default_rng(0)), np.eye(4))
    found = singular_directions(X, 3, np.random.default_rng(0))
    assert found.shape == (3, 4)
    V = np.linalg.svd(X)[2][:3]
    assert_allclose(np.abs(np.sum(found * V, axis=1)), 1, atol=1e-6)


def test_maps_may_be_finer_of_enough_rows():
    def kernel(name, **settings):
        return KernelMap(name, {"gamma": 1.0} if name in ("rbf", "poly") else {}, np.eye(2), np.eye(2), **settings)

    for n, fine in ((1999, False), (2000, True)):
        rows = np.zeros((n, 1))
        assert may_be_finer(kernel("rbf"), rows) == fine
        assert not may_be_finer(kernel("poly"), rows) and not may_be_finer(kernel("linear"), rows)
    words = sp.csr_array((3, 3))
    assert may_be_finer(kernel("cosine", unit_rows=True), words) and not may_be_finer(kernel("cosine"), words)
    assert not may_be_finer(kernel(lambda X, Y: X @ Y.T, unit_rows=True), words)


def test_a_finer_map_has_means_of_cells_as_landmarks(monkeypatch):
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 8, axis=0) + np.tile([[0.5, 0], [-0.5, 0]], (12, 1))
    own = KernelMap("rbf", {"gamma": 0.25}, X[:2], np.eye(2), unit_rows=False)
    found = finer_map(own, X, X, np.ones(2), 0)
    assert_allclose(np.sort(found.landmarks, axis=0), np.sort([[0, 0], [5, 0], [0, 5]], axis=0), atol=1e-12)
    assert found.params == {"gamma": 1.0} and (found.offsets == 1).all()
    K = np.exp(-np.square(found.landmarks[:, None] - found.landmarks).sum(axis=2))
    assert_allclose(K @ found.projection @ found.projection.T @ K, K, atol=1e-9)
    monkeypatch.setattr("widegap.features._kernel_maps.MOST_MEANS", 2)
    assert len(finer_map(own, X, X, None, 0).landmarks) == 2
    flat = linear_map(own, np.eye(3)[:2], None)
    assert (flat.kernel, flat.params, flat.landmarks.shape, flat.offsets) == ("linear", {}, (2, 3), None)
    assert_array_equal(flat.projection, np.eye(2))


def test_landmarks_of_a_kernel_matrix_are_two_columns_at_least():
    X = np.random.default_rng(0).normal(size=(9, 3))
    K, members = X @ X.T, np.array([0, 2, 4, 5, 8])
    for asked, found in ((1, 2), (2, 2), (4, 4), (9, 5)):
        fitted = fit_precomputed_map(K[members], members, asked, np.random.default_rng(0))
        assert len(fitted.landmarks) == found and set(fitted.landmarks) <= set(members)
    centred = X[members] - X[members].mean(axis=0)
    features = fitted.transform(K)[members]
    features -= features.mean(axis=0)
    assert_allclose(features @ features.T, centred @ centred.T, atol=1e-9)
