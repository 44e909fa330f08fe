"""Kernel feature maps and the spectrum that sets the regulariser, against their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from threadpoolctl import threadpool_limits

from _representations import every_representation, table
from widegap.exceptions import InvalidDataError
from widegap.features._kernel_maps import KERNEL_RANK_TOL, FoldedScores, decompose, fit_kernel_map
from widegap.features._kernels import median_gamma
from widegap.features._spectrum import leading_variances
from widegap.rows._sources import row_blocks


def fit(X, kernel, n_components=10_000, gamma="median", params=None, seed=0):
    blocks = X if hasattr(X, "sources") else row_blocks(X)
    rng = np.random.default_rng(seed)
    return fit_kernel_map(blocks, kernel, gamma=gamma, params=params, n_components=n_components, rng=rng)


def as_dense(X):
    return (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(np.float64)


def squared_distances(X, Y):
    return ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)


def laplace(X, Y, width=2.0):
    """A kernel as a user would write it."""
    return np.exp(-np.abs(as_dense(X)[:, None, :] - as_dense(Y)[None, :, :]).sum(axis=2) / width)


def unit(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


# Each kernel by its definition, in plain NumPy; g is the gamma passed to the map.
KERNELS = {
    "rbf": lambda X, Y, g: np.exp(-g * squared_distances(X, Y)),
    "poly": lambda X, Y, g: (g * X @ Y.T + 1) ** 3,
    "cosine": lambda X, Y, g: unit(X) @ unit(Y).T,
    "linear": lambda X, Y, g: X @ Y.T,
    laplace: lambda X, Y, g: laplace(X, Y),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: getattr(k, "__name__", k))


@pytest.mark.parametrize(
    ("kernel", "n_components", "exact"),
    [("linear", 6, True), ("linear", 5, False), ("rbf", 6, False), ("rbf", 39, False), ("rbf", 40, True)],
)
def test_a_map_is_exact_by_all_directions_or_all_rows(kernel, n_components, exact):
    X = table(40, 6)
    found = fit(X, kernel, n_components)
    assert found.landmarks.shape == (n_components, 6)
    assert found.is_exact(len(X)) is exact
    Phi = found.transform(X)
    values = KERNELS[kernel](X, X, found.params.get("gamma"))
    assert np.allclose(Phi @ Phi.T, values, atol=1e-6 * np.abs(values).max()) is exact


@every_kernel
@every_representation
def test_all_rows_as_landmarks_give_the_kernel(make_blocks, kernel, tmp_path):
    X = table(61, 4)
    blocks = make_blocks(X, tmp_path)
    found = fit(blocks, kernel, gamma=0.2).transform_blocks(blocks)
    tol = 1e-8 if blocks.dtype == np.float64 else 2e-5
    expected = KERNELS[kernel](X, X, 0.2)
    assert found.dtype == blocks.dtype
    assert_allclose(found @ found.T, expected, rtol=0, atol=tol * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["rbf", "poly", laplace], ids=["rbf", "poly", "function"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_out_of_sample_rows_have_the_kernel_with_the_landmarks(kernel, form):
    X, new = table(61, 4), table(30, 4, seed=9)
    fitted = fit(form(X), kernel, n_components=25, gamma=0.2)
    landmarks = as_dense(fitted.landmarks)
    assert len(landmarks) == 25
    assert all((landmarks[i] == X).all(axis=1).any() for i in range(25))
    expected = KERNELS[kernel](new, landmarks, 0.2)
    found = fitted.transform(form(new)) @ fitted.transform(fitted.landmarks).T
    assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@every_kernel
def test_sparse_equals_dense(kernel):
    X, new = table(61, 4), table(30, 4, seed=9)
    dense, sparse = fit(X, kernel, n_components=25), fit(sp.csr_array(X), kernel, n_components=25)
    assert_allclose(dense.landmarks, as_dense(sparse.landmarks), rtol=0, atol=1e-12)
    assert sp.issparse(sparse.landmarks) == (kernel not in ("linear", "cosine"))
    a, b = dense.transform(new), sparse.transform(sp.csr_array(new))
    assert_allclose(a @ a.T, b @ b.T, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("r", [2, 4, 25])
def test_linear_kernels_get_the_best_features_of_their_rank(kernel, form, r):
    X = table(61, 4)
    fitted = fit(form(X), kernel, n_components=r)
    rows = unit(X) if kernel == "cosine" else X
    best = rows @ np.linalg.svd(rows, full_matrices=False)[2][:r].T
    found = fitted.transform(form(X))
    assert found.shape == (61, min(r, 4))
    assert_allclose(found @ found.T, best @ best.T, rtol=0, atol=1e-8)


def test_blocks_give_the_same_features(monkeypatch):
    X = table(200, 4)
    fitted = fit(X, "rbf", n_components=30)
    whole = fitted.transform(X)
    monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", 700)
    for n_threads in (1, 2):
        assert_allclose(fitted.transform_blocks(row_blocks(X, n_threads=n_threads)), whole, rtol=0, atol=1e-9)


def test_landmarks_are_drawn_without_repeats_and_with_the_seed():
    X = np.arange(50.0)[:, None]
    a, b, c = (fit(X, "rbf", n_components=20, seed=seed).landmarks.ravel() for seed in (0, 0, 1))
    assert_array_equal(a, b)
    assert len(set(a)) == 20 and (np.diff(a) > 0).all()
    assert set(a) != set(c)


def test_first_columns_carry_most():
    X = table(80, 4)
    features = fit(X, "rbf", gamma=0.1).transform(X)
    sizes = (features**2).sum(axis=0)
    assert (np.diff(sizes) <= 1e-8 * sizes[0]).all() and sizes[0] > 2 * sizes[5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(("kernel", "rank"), [("linear", 3), ("cosine", 3), ("poly", 20)])
def test_low_rank_kernels_give_few_columns(kernel, rank, form, dtype):
    X = table(60, 3, density=1.0).astype(dtype)
    fitted = fit(form(X), kernel, gamma=0.5)
    assert fitted.projection.shape == (60 if kernel == "poly" else 3, rank)
    features = fitted.transform(form(X)).astype(np.float64)
    expected = KERNELS[kernel](X.astype(np.float64), X.astype(np.float64), 0.5)
    assert_allclose(features @ features.T, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_kernel_gives_one_column(dtype):
    X = table(40, 3).astype(dtype)
    features = fit(X, lambda X, Y: np.full((len(X), len(Y)), 4.0)).transform(X)
    assert features.dtype == dtype
    assert_allclose(np.abs(features), 2, rtol=1e-6)
    assert features.shape == (40, 1)


def test_one_giant_number_does_not_overflow_in_single_precision():
    X = np.array([[1e12], [5e-9], [1e-9], [4e-9], [1e-8]], dtype=np.float32)
    features = fit(X, "rbf", gamma=7e15).transform(X).astype(np.float64)  # gamma times its square is beyond float32
    assert_allclose((features @ features.T)[0], [1, 0, 0, 0, 0], atol=1e-5)  # about the others rounding decides


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_gamma_and_parameters_reach_the_kernel(kernel):
    X = table(30, 3)
    assert fit(X, kernel, gamma=0.7).params["gamma"] == 0.7
    assert fit(X, kernel).params["gamma"] == median_gamma(X)
    params = {"degree": 2, "coef0": 0.5} if kernel == "poly" else {}
    kept = dict(params)
    fitted = fit(X, kernel, gamma=0.7, params=params)
    assert params == kept  # the caller's dict is not written to
    found = fitted.transform(X)
    expected = (0.7 * X @ X.T + 0.5) ** 2 if kernel == "poly" else KERNELS["rbf"](X, X, 0.7)
    assert_allclose(found @ found.T, expected, atol=1e-8 * expected.max())
    wide = fit(X, laplace, params={"width": 5.0}).transform(X)
    assert_allclose(wide @ wide.T, laplace(X, X, width=5.0), atol=1e-8)


class TestMedianGamma:
    def by_definition(self, X):
        distances = pdist(X)
        return 1 / (1.5 * np.median(distances[distances > 0])) ** 2

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
    def test_definition(self, form):
        X = table(101, 4)
        assert median_gamma(form(X)) == pytest.approx(self.by_definition(X), rel=1e-10)

    def test_by_hand(self):
        # Distances 3, 4, 5: the median is 4 and the width 6.
        assert median_gamma(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])) == pytest.approx(1 / 36, rel=1e-12)

    def test_zero_distances_do_not_count(self):
        X = np.repeat(table(9, 40, density=1.0) + 0.1, 12, axis=0)
        assert median_gamma(X) == pytest.approx(self.by_definition(X), rel=1e-10)

    def test_width_comes_from_a_sample_and_not_from_few_landmarks(self):
        X = table(1203, 2)
        fitted = fit_kernel_map(
            row_blocks(X), "rbf", gamma="median", params=None, n_components=1, rng=np.random.default_rng(0)
        )
        assert fitted.landmarks.shape[0] == 1
        assert fitted.params["gamma"] == pytest.approx(self.by_definition(X), rel=0.15)

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
    @pytest.mark.parametrize("seed", range(5))
    def test_equal_rows_are_refused(self, form, seed):
        row = np.random.default_rng(seed).normal(size=(1, 50))
        with pytest.raises(InvalidDataError, match="rows drawn for the kernel width are equal; give gamma a number"):
            median_gamma(form(np.repeat(row, 20, axis=0)))


class TestRefusals:
    X = table(20, 3)

    def refuse(self, kernel, match):
        with pytest.raises(InvalidDataError, match=match):
            fit(self.X, kernel)

    def test_zero(self):
        self.refuse(lambda X, Y: 0 * laplace(X, Y), "is zero on these rows; nothing can be separated: change it")

    def test_negative(self):
        self.refuse(lambda X, Y: -laplace(X, Y), "is not positive semidefinite: its eigenvalues on 20 rows go from -")

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite(self, bad):
        self.refuse(lambda X, Y: np.full((len(X), len(Y)), bad), "gives NaN or infinity on these rows; rescale")

    def test_not_finite_names_the_kernel(self):
        large = pytest.raises(InvalidDataError, match="Kernel 'poly' gives NaN or infinity")
        with large, np.errstate(all="ignore"):
            fit(np.full((5, 2), 1e200) * np.arange(1, 6)[:, None], "poly", gamma=1e-200, params={"degree": 9})

    @pytest.mark.parametrize(
        ("answer", "shape"),
        [
            (lambda X, Y: np.ones(len(X)), r"\(20,\)"),
            (lambda X, Y: 1.0, r"\(\)"),
            (lambda X, Y: np.ones((len(X), len(Y) + 1)), r"\(20, 21\)"),
        ],
    )
    def test_wrong_shape(self, answer, shape):
        self.refuse(answer, rf"returned shape {shape} for 20 and 20 rows; it must return one value per pair of rows")

    def test_wrong_shape_on_new_rows(self):
        fitted = fit(self.X, lambda X, Y: laplace(Y, X))
        with pytest.raises(InvalidDataError, match=r"returned shape \(20, 7\) for 7 and 20 rows"):
            fitted.transform(self.X[:7])


# Spectrum


def covariance_eigenvalues(X, mean):
    X = as_dense(X) - mean
    with threadpool_limits(1):
        return np.linalg.eigvalsh(X.T @ X / len(X))[::-1]


dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@dtypes
@forms
@pytest.mark.parametrize("shape", [(150, 12), (12, 150), (40, 40), (401, 6), (6, 401)])
@pytest.mark.parametrize("count", [1, 4])
def test_variances_of_small_tables(shape, count, form, dtype):
    X = form(table(*shape).astype(dtype))
    mean = as_dense(X).mean(axis=0)
    found = leading_variances(X, mean, count)
    assert_allclose(found, covariance_eigenvalues(X, mean)[:count], rtol=1e-9)
    assert found.dtype == np.float64


@forms
@pytest.mark.parametrize(("shape", "tol"), [((150, 12), 1e-9), ((12, 150), 1e-9), ((410, 402), 2e-3)])
def test_variances_about_another_mean(shape, tol, form):
    X = table(*shape)
    mean = X.mean(axis=0) + np.random.default_rng(0).normal(size=shape[1])  # the sample's mean is not the data's
    assert_allclose(leading_variances(form(X), mean, 3), covariance_eigenvalues(X, mean)[:3], rtol=tol)


@forms
@pytest.mark.parametrize("shape", [(500, 420), (420, 500)])
def test_variances_by_lanczos(shape, form, monkeypatch):
    X = table(*shape, density=0.2)
    X[:, :3] *= [9, 6, 4]
    mean = X.mean(axis=0)
    expected = covariance_eigenvalues(X, mean)[:4]
    assert_allclose(leading_variances(form(X), mean, 4), expected, rtol=2e-3)
    assert_array_equal(leading_variances(form(X), mean, 4), leading_variances(form(X), mean, 4))
    monkeypatch.setattr("widegap.features._spectrum._small_gram", None)  # that was Lanczos indeed
    leading_variances(form(X), mean, 4)


@forms
@pytest.mark.parametrize("shape", [(3, 50), (50, 3), (1, 1)])
def test_variances_are_padded_with_zeros(shape, form):
    X = table(*shape, density=1.0)
    mean = X.mean(axis=0)
    found = leading_variances(form(X), mean, 6)
    expected = np.zeros(6)
    rank = min(min(shape), shape[0] - 1)
    expected[:rank] = covariance_eigenvalues(X, mean)[:rank]
    assert found.shape == (6,)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert (found >= 0).all()


@dtypes
@pytest.mark.parametrize("shape", [(150, 12), (12, 150), (410, 402)])
def test_variances_survive_an_offset(shape, dtype):
    X = (table(*shape) + 1e4).astype(dtype)
    mean = as_dense(X).mean(axis=0)
    assert_allclose(leading_variances(X, mean, 3), covariance_eigenvalues(X, mean)[:3], rtol=2e-3)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", laplace])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_folded_scores_are_scores_of_the_features(kernel, form):
    X, new = form(table(60, 5)), form(table(23, 5, seed=1))
    rng = np.random.default_rng(2)
    features = fit(X, kernel, n_components=20)
    r = features.projection.shape[1]
    W, b, mean = rng.normal(size=(3, r)), rng.normal(size=3), rng.normal(size=r)
    expected = (features.transform(new) - mean) @ W.T + b
    assert_allclose(FoldedScores(features, W, b, mean).of_rows(new), expected, atol=1e-9 * np.abs(expected).max())


def test_folded_scores_notice_weights_that_change_in_place():
    features = fit(table(30, 4), "rbf")
    weights = np.ones((2, features.projection.shape[1])), np.zeros(2), np.zeros(features.projection.shape[1])
    folded = FoldedScores(features, *weights)
    assert folded.is_of(features, *weights) and not folded.is_of(fit(table(30, 4), "rbf"), *weights)
    for part in weights:
        part.flat[0] += 1
        assert not folded.is_of(features, *weights)
        part.flat[0] -= 1


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_leading_features_are_the_first_ones_and_explain_most(kernel):
    X = np.random.default_rng(0).normal(size=(60, 8))
    whole = fit(X, kernel, 30)
    leading = whole.leading(6)
    features = whole.transform(X)
    if kernel == "linear":
        assert leading is whole  # directions may be the columns as they came
        return
    assert_allclose(leading.transform(X), features[:, :6], atol=1e-12)
    shares = np.square(whole.transform(whole.landmarks)).sum(axis=0)
    assert (np.diff(shares) <= 1e-9 * shares[0]).all()


def test_a_kernel_of_low_rank_is_decomposed_as_any_other():
    """Two columns under a wide Gaussian: few directions, found from a factor of the kernel."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    K = np.exp(-0.05 * squared_distances(X, X))
    found = decompose(K, np.float64, centred=False)
    values, vectors = np.linalg.eigh(K)
    keep = values > KERNEL_RANK_TOL * values[-1]
    rank = found.projection.shape[1]
    assert rank == keep.sum() < 100
    assert found.highest == pytest.approx(values[-1])
    assert_allclose(K @ found.projection @ found.projection.T @ K, K, atol=1e-7)
    turned = vectors[:, keep][:, ::-1] / np.sqrt(values[keep][::-1])
    assert_allclose(np.abs(found.projection[:, :10]), np.abs(turned[:, :10]), rtol=1e-5, atol=1e-8)


def test_negative_directions_of_a_kernel_of_low_rank_are_seen():
    a, b = np.random.default_rng(0).normal(size=(2, 30))
    found = decompose(np.outer(a, a) - 0.5 * np.outer(b, b), np.float64, centred=False)
    assert found.negative_share > 0.1 and found.lowest < 0
