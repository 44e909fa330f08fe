"""MMC and GMMC: general solvers and brute force as referees, proven bounds, scikit-learn's conventions, bad input."""

import sys
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from _expected_failures import expected_failures
from widegap import persistence
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.metrics import clustering_error
from widegap.sdp._gmmc import GMMC, score_norm, score_value, solve_gmmc
from widegap.sdp._mmc import MMC, margin_value, solve_mmc
from widegap.sdp._semidefinite import Relaxation, SDPRecord, SDPSolution, _oriented, round_matrix, signs_within

pytest.importorskip("scs", reason='MMC needs scs: pip install "widegap[sdp]"')

BOTH = pytest.mark.parametrize("Estimator", [MMC, GMMC])
SIX = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])


def centred(gram):
    means = gram.mean(axis=0)
    kernel = gram - means - means[:, None] + means.mean()
    return kernel / (kernel.trace() / len(gram))


def random_kernel(n, seed, n_features=3, separation=0.0):
    """A centred Gaussian kernel of two groups."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features))
    X[n // 2 :, 0] += separation
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    return centred(np.exp(-squared / (2.25 * np.median(squared))))


def labelings(n, limit):
    """All labelings with |e'y| <= limit, up to the sign."""
    for rest in product((-1, 1), repeat=n - 1):
        signs = np.array((-1, *rest), np.int8)
        if abs(signs.sum(dtype=int)) <= limit:
            yield signs


def outer(signs):
    return np.outer(signs, signs).astype(float)


def inverse(B):
    B = np.linalg.inv(B)
    return (B + B.T) / 2


def digits(first, second, size=50):
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == digit)[:size] for digit in (first, second)])
    return X[rows], y[rows]


# ----------------------------------------------------------------------------------------------- referees: the solvers


def mmc_referee(K, C, limit):
    """Eq. 6 of the paper as it is printed."""
    cp = pytest.importorskip("cvxpy")
    n = len(K)
    M, delta, mu, nu = cp.Variable((n, n), PSD=True), cp.Variable((1, 1)), cp.Variable((n, 1)), cp.Variable((n, 1))
    side = np.ones((n, 1)) + mu - nu
    block = cp.bmat([[cp.multiply(M, K), side], [side.T, delta - 2 * C * cp.sum(nu)]])
    rows = M @ np.ones(n)
    constraints = [(block + block.T) / 2 >> 0, mu >= 0, nu >= 0, cp.diag(M) == 1, rows <= limit, rows >= -limit]
    problem = cp.Problem(cp.Minimize(cp.sum(delta)), constraints)
    return problem.solve(solver="CLARABEL")


def gmmc_referee(K, C, C_e, solver, **options):
    """Eq. 7 of the paper as it is printed, with n + 1 rows and the bias."""
    cp = pytest.importorskip("cvxpy")
    n = len(K)
    P = np.hstack([np.eye(n), np.ones((n, 1))])
    e0 = np.append(np.ones(n), 0.0)
    Q = P.T @ np.linalg.inv(K) @ P + C_e * np.outer(e0, e0)
    gamma = cp.Variable(n)
    diagonal = cp.diag(cp.hstack([gamma, np.zeros(1)]))
    constraints = [(Q + Q.T) / 2 - diagonal >> 0, gamma >= 0, gamma <= C]
    return cp.Problem(cp.Maximize(cp.sum(gamma)), constraints).solve(solver=solver, **options)


@pytest.mark.parametrize(
    ("n", "limit", "n_plus", "expected", "moved"),
    [(6, 2, 4, 4, False), (6, 2, 5, 4, True), (6, 2, 2, 2, False), (6, 2, 1, 2, True), (7, 1, 4, 4, False),
     (7, 1, 5, 4, True), (7, 1, 2, 3, True), (6, 1.9, 4, 3, True), (6, 4, 6, 5, True), (6, 0, 3, 3, False)],
)  # fmt: skip
def test_signs_within_a_limit(n, limit, n_plus, expected, moved):
    scores = np.r_[np.arange(1.0, n_plus + 1), -np.arange(1.0, n - n_plus + 1)]
    signs, told = signs_within(scores, limit)
    assert (np.count_nonzero(signs > 0), told) == (expected, moved)
    assert scores[signs > 0].min() > scores[signs < 0].max()


def test_the_first_score_is_not_positive():
    assert _oriented(np.array([2.0, -1.0])).tolist() == [-2, 1] and _oriented(np.array([-2.0, 1.0])).tolist() == [-2, 1]
    assert _oriented(np.array([0.0, 1.0])).tolist() == [0, 1]


def test_the_best_of_the_eigenvector_and_the_projections():
    K = random_kernel(7, 3)
    values = []

    def value(signs):
        values.append(float(signs @ K @ signs))
        return values[-1]

    signs, best, moved = round_matrix(K, 5.0, value, 9, np.random.default_rng(4))
    assert len(values) == 10 and best == min(values) == signs @ K @ signs and min(values) < values[0]
    rng, roots = np.random.default_rng(4), np.linalg.eigh(K)
    root = roots[1] * np.sqrt(np.maximum(roots[0], 0))
    candidates = [_oriented(roots[1][:, -1])] + [_oriented(root @ rng.standard_normal(7)) for _ in range(9)]
    each = [signs_within(scores, 5.0) for scores in candidates]
    assert values == [float(one @ K @ one) for one, _ in each]
    assert moved is each[int(np.argmin(values))][1]
    assert len([value(round_matrix(K, 5.0, value, 0, rng)[0])]) == 1


@pytest.mark.parametrize(
    ("converged", "n_iter", "end"),
    [(True, 100, None), (False, 100, "raise tol, or max_iter."), (False, 99, "no further progress was possible.")],
)
def test_what_a_fit_stores_and_says(converged, n_iter, end):
    model = GMMC(max_iter=100)
    record = SDPRecord(n_iter, 8.0, 6.0, 0.1)
    matrix = np.outer([1.0, -1, 1], [1.0, -1, 1])
    solution = SDPSolution(matrix, np.zeros(3), 8.0, 6.0, 0.0, n_iter, converged, [record])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model._store(Relaxation(solution, 1.0, lambda signs: 10.0), 4.0, None)
    assert [str(entry.message).endswith(end) for entry in caught] == ([] if end is None else [True])
    assert model.labels_.tolist() == [0, 1, 0] and model.objective_ == 2.5 and model.lower_bound_ == 1.5
    assert model.gap_ == 0.25 and model.tightness_ == pytest.approx(1) and not model.starved_
    assert model.n_iter_ == n_iter and model.converged_ is converged and record.gap == 2


def test_one_cluster_and_too_many_rows():
    for Estimator in (MMC, GMMC):
        model = Estimator(1).fit(np.eye(3))
        assert model.lower_bound_ == model.gap_ == 0 and model.tightness_ == 1 and model.kernel_map_ is None
        limited = Estimator(2, max_samples=5)
        limited._check_size(5)
        with pytest.raises(ValueError, match="X has 6 rows, more than max_samples=5"):
            limited._check_size(6)
    assert GMMC(ridge=0.25)._svm_cost() == 4


@pytest.mark.parametrize("C", [0.3, 10.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_mmc_agrees_with_a_general_solver(seed, C):
    K = random_kernel(12, seed)
    solution = solve_mmc(K, C, limit=2.0, tol=1e-7, max_iter=20000)
    expected = mmc_referee(K, C, 2.0)
    assert solution.primal == pytest.approx(expected, rel=1e-4)
    assert solution.dual == pytest.approx(expected, rel=1e-4)


@pytest.mark.filterwarnings("ignore:Converting A to a CSC")  # CVXPY 1.8 gives SCS 3.2.7 a sparse array
@pytest.mark.parametrize("C", [0.2, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("solver", "options", "rel"), [("CLARABEL", {}, 1e-5), ("SCS", {"eps": 1e-7, "max_iters": 50000}, 1e-4)]
)
def test_gmmc_agrees_with_general_solvers(seed, C, solver, options, rel):
    K = random_kernel(14, seed) + 0.05 * np.eye(14)  # eq. 7 inverts the kernel
    means = K.mean(axis=0)
    B = score_norm(K - means - means[:, None] + means.mean(), C_e=0.5, ridge=1e-12)
    solution = solve_gmmc(B, C, tol=1e-8, max_iter=100)
    assert solution.primal == pytest.approx(gmmc_referee(K, C, 0.5, solver, **options), rel=rel)


def test_eliminating_the_bias_of_gmmc_is_the_schur_complement():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, 9))
    K = A @ A.T
    K_inverse = np.linalg.inv(K)
    sums = K_inverse.sum(axis=0)
    expected = K_inverse - np.outer(sums, sums) / sums.sum() + 0.3
    means = K.mean(axis=0)
    B = score_norm(K - means - means[:, None] + means.mean(), C_e=0.3, ridge=1e-9)
    np.testing.assert_allclose(B, expected, rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------------------ referee: brute force


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [8, 9, 10])
def test_both_find_the_best_of_all_labelings_of_separable_points(n, seed):
    K = random_kernel(n, seed, separation=8.0)
    limit = 2.0 if n % 2 == 0 else 1.0
    rng = np.random.default_rng(0)
    solution = solve_mmc(K, 10.0, limit, tol=1e-6, max_iter=20000)
    signs, value, _ = round_matrix(solution.matrix, limit, lambda y: margin_value(K, outer(y), 10.0), 0, rng)
    best = min(labelings(n, limit), key=lambda y: margin_value(K, outer(y), 10.0))
    np.testing.assert_array_equal(signs, best)
    assert solution.dual <= value + 1e-9

    B = score_norm(K, 1.0, 1e-3)
    B_inverse = inverse(B)
    solution = solve_gmmc(B, 100.0, tol=1e-7, max_iter=100)
    signs, value, _ = round_matrix(solution.matrix, n - 2, lambda y: score_value(B_inverse, y), 0, rng)
    best = min(labelings(n, n - 2), key=lambda y: score_value(B_inverse, y))
    np.testing.assert_array_equal(signs, best)
    assert solution.dual <= value + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_no_labeling_is_below_the_proven_bound(seed):
    K = random_kernel(8, seed)
    mmc = solve_mmc(K, 1.0, 2.0, tol=1e-3, max_iter=50)  # loosely solved: the bound must hold all the same
    assert mmc.dual <= min(margin_value(K, outer(y), 1.0) for y in labelings(8, 2.0))
    B = score_norm(K, 1.0, 1e-2)
    gmmc = solve_gmmc(B, 100.0, tol=1e-6, max_iter=3)
    assert gmmc.dual <= min(score_value(inverse(B), y) for y in labelings(8, 8))


def test_roundings_reach_the_best_labeling_where_the_eigenvector_does_not():
    better = 0
    for seed in range(6):
        K = random_kernel(10, seed)
        solution = solve_mmc(K, 1.0, 2.0, tol=1e-5, max_iter=20000)

        def value(y, K=K):
            return margin_value(K, outer(y), 1.0)

        plain = round_matrix(solution.matrix, 2.0, value, 0, np.random.default_rng(0))[1]
        tried = round_matrix(solution.matrix, 2.0, value, 200, np.random.default_rng(0))[1]
        assert tried <= plain
        assert tried == pytest.approx(min(map(value, labelings(10, 2.0))), rel=1e-6)
        better += tried < plain - 1e-6
    assert better


# ---------------------------------------------------------------------------------------------------------- the pieces


def test_two_points_by_hand():
    """Rows at -1 and 1, kernel [[1, -1], [-1, 1]]: y = (-1, 1) gives w = 1 and no loss, so the norm is 1."""
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    mmc = solve_mmc(K, 10.0, 0.0, tol=1e-8, max_iter=5000)
    assert mmc.primal == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_allclose(mmc.matrix, K, atol=1e-5)
    # B = pinv(K) + C_e ee' has z'Bz = 1 for z = (-1, 1).
    gmmc = solve_gmmc(score_norm(K, 1.0, 1e-9), 10.0, tol=1e-8, max_iter=50)
    assert gmmc.dual == pytest.approx(1.0, rel=1e-6)
    np.testing.assert_allclose(gmmc.matrix, K, atol=1e-4)


def test_margin_value_is_twice_the_svm_objective():
    K = random_kernel(12, 0)
    signs = np.where(np.arange(12) % 3, 1, -1).astype(np.int8)
    # The SVM without bias: its dual value, maximised over a fine grid of directions, is bounded by this primal point.
    cp = pytest.importorskip("cvxpy")
    a = cp.Variable(12)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(12))
    loss = cp.sum(cp.pos(1 - cp.multiply(signs.astype(float), K @ a)))
    expected = cp.Problem(cp.Minimize(cp.sum_squares(root.T @ a) + 2 * 0.7 * loss)).solve(solver="CLARABEL")
    assert margin_value(K, outer(signs), 0.7) == pytest.approx(expected, rel=1e-5)


def test_threshold_moves_only_as_far_as_the_limit_asks():
    scores = np.array([-3.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    signs, moved = signs_within(scores, 6.0)
    assert (list(signs), moved) == ([-1, 1, 1, 1, 1, 1], False)
    signs, moved = signs_within(scores, 2.0)
    assert (list(signs), moved) == ([-1, -1, 1, 1, 1, 1], True)
    signs, moved = signs_within(-scores, 0.0)
    assert (list(signs), moved) == ([1, 1, 1, -1, -1, -1], True)
    signs, moved = signs_within(np.ones(3), 1.0)
    assert (sorted(signs), moved) == ([-1, 1, 1], True)


def test_the_null_vector_of_the_slack_is_the_leading_eigenvector():
    K = random_kernel(20, 0, separation=8.0)
    B = score_norm(K, 1.0, 1e-3)
    solution = solve_gmmc(B, 0.1, tol=1e-8, max_iter=100)
    assert solution.tightness > 0.999
    values, vectors = np.linalg.eigh(B - np.diag(solution.multipliers))
    leading = np.linalg.eigh(solution.matrix)[1][:, -1]
    assert values[0] < 1e-6 * values[-1]
    assert abs(vectors[:, 0] @ leading) > 1 - 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_gap_of_gmmc_is_a_proof_all_along(seed):
    B = score_norm(random_kernel(30, seed), 1.0, 1e-3)
    solution = solve_gmmc(B, 0.5, tol=1e-8, max_iter=100)
    assert solution.converged
    assert len(solution.history) == solution.n_iter + 1
    optimum = solution.history[-1].dual
    assert all(record.dual <= optimum * (1 + 1e-7) <= record.primal * (1 + 2e-7) for record in solution.history)
    W, gamma = solution.matrix, solution.multipliers
    recomputed = (B * W).sum() + 0.5 * np.maximum(0, 1 - W.diagonal()).sum()
    assert recomputed == pytest.approx(gamma.sum(), rel=1e-6)
    assert gamma.min() >= 0 and gamma.max() <= 0.5
    assert np.linalg.eigvalsh(B - np.diag(gamma))[0] > -1e-9
    assert np.linalg.eigvalsh(W)[0] > -1e-9


# ---------------------------------------------------------------------------------------------------------- estimators


# tol for speed alone
@parametrize_with_checks([MMC(tol=1e-2), GMMC()], expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@BOTH
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", lambda A, B: A @ B.T])
def test_six_points_with_every_kernel(Estimator, kernel):
    X = np.hstack([SIX - 6, np.ones((6, 1))])
    model = Estimator(kernel=kernel).fit(X)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.labels_.dtype == model.predict(X).dtype == np.int32
    assert model.decision_function(X).shape == (6,)
    assert model.n_clusters_ == 2 and model.converged_ and not model.starved_
    assert model.lower_bound_ <= model.objective_ * (1 + 1e-6)


def test_objective_is_that_of_a_support_vector_machine():
    X, _ = digits(3, 8, 15)
    model = MMC(kernel="linear", C=1.0).fit(X)
    centred_rows = X - X.mean(axis=0)
    scale = (centred_rows**2).sum() / len(X)
    signs = 2 * model.labels_ - 1
    svm = SVC(kernel="linear", C=1 / scale, tol=1e-6).fit(centred_rows, signs)  # with a bias, so never above
    hinge = np.maximum(0, 1 - signs * svm.decision_function(centred_rows)).sum()
    assert (svm.coef_**2).sum() + 2 / scale * hinge <= model.objective_ * (1 + 1e-4)
    value = margin_value(centred_rows @ centred_rows.T / scale, outer(signs), 1.0) / scale
    assert model.objective_ == pytest.approx(value, rel=1e-6)


@BOTH
def test_sparse_and_single_precision_rows_give_the_same_labels(Estimator):
    X, _ = digits(3, 8, 20)
    labels = Estimator().fit_predict(X)
    for other in (sp.csr_array(X), X.astype(np.float32), X.tolist()):
        model = Estimator().fit(other)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.predict(other), Estimator().fit(X).predict(X))


@BOTH
def test_shift_scale_and_order_change_nothing(Estimator):
    X, _ = digits(1, 7, 20)
    labels = Estimator(kernel="linear").fit_predict(X)
    np.testing.assert_array_equal(Estimator(kernel="linear").fit_predict(1e4 * X + 300), labels)
    order = np.random.default_rng(0).permutation(len(X))
    assert clustering_error(labels[order], Estimator(kernel="linear").fit_predict(X[order])) == 0


@BOTH
def test_refitting_and_cloning_repeat_the_result(Estimator):
    X, _ = digits(8, 9, 20)
    model = Estimator(n_roundings=20, random_state=3).fit(X)
    again = clone(model).fit(X)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert model.objective_ == again.objective_
    assert model.objective_ <= Estimator().fit(X).objective_


def test_fraction_of_mmc_bounds_the_sizes():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((32, 2)), rng.standard_normal((8, 2)) + 8])
    held = MMC(min_cluster_fraction=0.8).fit(X)
    assert abs(np.bincount(held.labels_)[0] - 20) <= 4
    free = MMC(min_cluster_fraction=0.2, n_roundings=50, random_state=0).fit(X)
    assert 8 <= np.bincount(free.labels_).min() <= 10
    assert free.objective_ < held.objective_
    assert GMMC(C_e=1e-3).fit(X).labels_[-1] == 1


def test_duplicated_rows_need_the_ridge_and_get_it():
    X = np.repeat(SIX, 5, axis=0)
    for model in (MMC(), GMMC()):
        np.testing.assert_array_equal(model.fit_predict(X), np.repeat([0, 0, 0, 1, 1, 1], 5))


# Measured on this machine: MMC 0, 1, 3, 9 % and GMMC 0, 1, 2, 8 %; with 100 roundings 1, 0, 0, 2 and 1, 0, 0, 3 %.
@pytest.mark.parametrize(
    ("pair", "most"),
    [
        ((3, 8), 2),
        pytest.param((1, 7), 3, marks=pytest.mark.slow),
        pytest.param((2, 7), 5, marks=pytest.mark.slow),
        ((8, 9), 12),
    ],
)
def test_digit_pairs(pair, most):
    X, y = digits(*pair)
    for model in (MMC(), GMMC()):
        assert percent(y, model.fit_predict(X)) <= most
    # Which rounding wins hangs on the last digits of the kernel: 2 or 4 % of 8-9.
    assert percent(y, MMC(n_roundings=100, random_state=0).fit_predict(X)) <= 4


def percent(y, labels):
    return round(100 * clustering_error(y, labels), 9)


def test_predict_serves_rows_not_seen():
    X, y = digits(3, 8, 150)
    train = np.r_[:40, 150:190]
    for model in (MMC(), GMMC()):
        model.fit(X[train])
        assert clustering_error(y, model.predict(X)) <= 0.08


@BOTH
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_model_files_predict_the_same(Estimator, kernel, convert, tmp_path):
    X, _ = digits(3, 8, 15)
    model = Estimator(kernel=kernel, tol=1e-3, random_state=0).fit(convert(X))
    persistence.save(model, tmp_path / "model.widegap")
    loaded, _ = persistence.load(tmp_path / "model.widegap")
    new = convert(digits(3, 8, 40)[0])
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    assert loaded.get_params() == model.get_params()
    assert loaded.history_ == [replace(record, seconds=0.0) for record in model.history_]
    for name in ("objective_", "lower_bound_", "gap_", "tightness_", "n_iter_", "converged_", "starved_"):
        assert getattr(loaded, name) == getattr(model, name)


@BOTH
def test_functions_as_kernels_have_no_model_file(Estimator, tmp_path):
    model = Estimator(kernel=lambda A, B: A @ B.T).fit(SIX)
    with pytest.raises(NotSupportedError, match="kernel.* which a safe model file cannot hold; use the kernels"):
        persistence.save(model, tmp_path / "model.widegap")


@BOTH
def test_decision_values_are_those_of_the_support_vector_machine(Estimator):
    X, _ = digits(3, 8, 20)
    model = Estimator(kernel="linear").fit(X)
    centred_rows = X - X.mean(axis=0)
    scale = (centred_rows**2).sum() / len(X)
    cost = model.C if Estimator is MMC else 1 / model.ridge
    svm = SVC(kernel="linear", C=cost / scale).fit(centred_rows, model.labels_)
    values = svm.decision_function(centred_rows)
    np.testing.assert_allclose(model.decision_function(X), values, atol=0.02 * np.abs(values).max())


# ----------------------------------------------------------------------------------------------------------- bad input


@BOTH
def test_more_clusters_name_the_alternative(Estimator):
    with pytest.raises(NotSupportedError, match=r"n_clusters=3, but .*use CPM3C\(n_clusters=3\)"):
        Estimator(n_clusters=3).fit(SIX)


@BOTH
def test_one_cluster_is_trivial(Estimator):
    model = Estimator(n_clusters=1).fit(SIX)
    assert not model.labels_.any() and not model.predict(SIX).any()
    assert model.n_clusters_ == 1 and model.converged_


@BOTH
def test_too_many_rows_name_the_alternatives(Estimator):
    limit = Estimator().max_samples
    with pytest.raises(
        InvalidDataError,
        match=rf"{limit + 1} rows, more than max_samples={limit}.*MaxMarginClustering, CPM3C or IterSVR",
    ):
        Estimator().fit(np.zeros((limit + 1, 1)))


@BOTH
def test_rows_that_cannot_be_clustered(Estimator):
    with pytest.raises(ValueError, match="NaN"):
        Estimator().fit([[0.0], [np.nan], [1.0]])
    with pytest.raises(InvalidDataError, match="n_samples=1 should be >= n_clusters=2"):
        Estimator().fit([[0.0]])
    for row in ([0.0, 0.0], [1e8, 3.0]):
        with pytest.raises(InvalidDataError, match="All 5 rows are equal"):
            Estimator().fit([row] * 5)
    with pytest.raises(InvalidDataError, match="same point"):
        Estimator(kernel="rbf", gamma=1e-18).fit(SIX)
    with pytest.raises(InvalidDataError, match="not positive semidefinite"):
        Estimator(kernel=lambda A, B: -(A @ B.T) + np.abs(A - B.T)).fit(SIX)
    with pytest.raises(InvalidDataError, match="NaN or infinity"):
        Estimator(kernel=lambda A, B: A @ B.T * np.nan).fit(SIX)


def test_parameters_out_of_range():
    for parameters in (
        {"C": 0},
        {"min_cluster_fraction": 0},
        {"max_samples": 1},
        {"n_roundings": -1},
        {"kernel": "cubic"},
    ):
        with pytest.raises(ValueError, match=f"The '{next(iter(parameters))}' parameter"):
            MMC(**parameters).fit(SIX)
    for parameters in ({"C_e": 0}, {"ridge": 0}):
        with pytest.raises(ValueError, match=f"The '{next(iter(parameters))}' parameter"):
            GMMC(**parameters).fit(SIX)


@BOTH
def test_a_fit_that_is_cut_short_says_so(Estimator):
    X, _ = digits(3, 8, 10)
    with pytest.warns(
        ConvergenceWarning, match=f"{Estimator.__name__} stopped after 2 iterations.*raise tol, or max_iter"
    ):
        model = Estimator(max_iter=2).fit(X)
    assert not model.converged_ and model.n_iter_ == 2


def test_missing_scs_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scs", None)
    with pytest.raises(ImportError, match=r'pip install "widegap\[sdp\]"'):
        MMC().fit(SIX)
    GMMC().fit(SIX)  # needs no extra


@BOTH
def test_two_rows_and_three(Estimator):
    np.testing.assert_array_equal(Estimator().fit_predict([[0.0], [1.0]]), [0, 1])
    np.testing.assert_array_equal(Estimator().fit_predict([[0.0], [1.0], [9.0]]), [0, 0, 1])
