"""Several kernels: their norm, the master by its interior point, and whole convex problems against Clarabel."""

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _problems import blobs, make_problem, make_search, random_labels, row_losses
from widegap.cutting_plane import _kernel_weights
from widegap.cutting_plane._cutting_plane import minimize_convex, solve_master
from widegap.cutting_plane._kernel_dual import KernelDual
from widegap.cutting_plane._kernel_weights import solve_kernel_master
from widegap.cutting_plane._norms import KernelNorm, Ridge
from widegap.cutting_plane._qp import solve_qp
from widegap.exceptions import SolverError

NORMS = [1.5, 2.0, 3.0]


# The norm ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.1, *NORMS, 20.0])
def test_norm_is_the_least_over_kernel_weights(p):
    rng = np.random.default_rng(0)
    norm = KernelNorm((2, 1, 4), p)
    W = rng.normal(size=(3, 7)) * [1, 1, 0.1, 2, 2, 2, 2]
    squares = np.array([np.square(part).sum() for part in np.split(W, [2, 3], axis=1)])
    np.testing.assert_allclose(norm.lengths(W) ** 2, squares)
    w = norm.weights(W)
    assert (w**p).sum() == pytest.approx(1)
    assert norm.value(W) == pytest.approx((squares / w).sum())
    for _ in range(200):
        other = np.abs(w + rng.normal(size=3) * 0.1)
        other /= (other**p).sum() ** (1 / p)
        assert (squares / other).sum() >= norm.value(W) * (1 - 1e-12)


def test_norm_of_one_kernel_is_the_ridge():
    W = np.random.default_rng(0).normal(size=(2, 5))
    assert KernelNorm((5,), 1.7).value(W) == pytest.approx(Ridge().value(W))
    np.testing.assert_allclose(KernelNorm((5,), 1.7).weights(W), [1.0])
    assert KernelNorm((2, 3), 1e6).value(W) == pytest.approx(Ridge().value(W), rel=1e-5)


def test_norm_of_nothing():
    norm = KernelNorm((2, 2), 2.0)
    assert norm.value(np.zeros((2, 4))) == 0
    np.testing.assert_allclose(norm.weights(np.zeros((2, 4))), np.sqrt([0.5, 0.5]))
    np.testing.assert_allclose(norm.weights(np.array([[0.0, 0, 3, 4]])), [0, 1])


# The master -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Master:
    """Random cuts: normals of every kernel, offsets, groups, caps and bias rows of sum zero."""

    normals: list[np.ndarray]
    offsets: np.ndarray
    groups: np.ndarray
    caps: np.ndarray
    biases: np.ndarray
    beta: float
    balance: float

    def solve(self, p=2.0):
        grams = np.array([part @ part.T for part in self.normals])
        return solve_kernel_master(
            grams, self.offsets, self.groups, self.caps, self.biases, beta=self.beta, balance=self.balance, p=p
        )

    def weights(self, solution):
        """v_k of the solution."""
        parts = zip(self.normals, solution.weights, strict=True)
        return [w / self.beta * solution.multipliers @ part for part, w in parts]

    def primal(self, solution):
        """The value of what the solution implies, from the definition."""
        v, b = self.weights(solution), solution.bias
        heights = self.offsets - sum(part @ x for part, x in zip(self.normals, v, strict=True)) - self.biases @ b
        slacks = [max(0.0, heights[self.groups == g].max(initial=0.0)) for g in range(len(self.caps))]
        lengths = sum(x @ x / w for x, w in zip(v, solution.weights, strict=True) if w > 0)
        return self.beta / 2 * lengths + self.caps @ slacks


def random_master(seed, n_kernels=None, n_cuts=None):
    rng = np.random.default_rng(seed)
    M, m, k = n_kernels or rng.integers(2, 6), n_cuts or rng.integers(1, 40), rng.integers(2, 6)
    normals = [rng.normal(size=(m, rng.integers(1, 12))) * 10 ** rng.uniform(-1.5, 0) for _ in range(M)]
    if seed % 3 == 0:  # equal and nearly equal cuts
        normals = [np.vstack([part, part, part * (1 + 1e-7)]) for part in normals]
        m *= 3
    n_groups = 1 + seed % 2
    biases = rng.normal(size=(m, k))
    return Master(
        normals,
        rng.uniform(-0.2, 1, m),
        rng.integers(0, n_groups, m),
        10 ** rng.uniform(-1, 0.5, n_groups),
        biases - biases.mean(axis=1, keepdims=True),
        10 ** rng.uniform(-2, 0),
        [0.0, 0.03, 0.5][rng.integers(3)],
    )


def referee(master, p):
    """The master's primal by Clarabel, with the kernel weights as variables."""
    v = [cp.Variable(part.shape[1]) for part in master.normals]
    w, b, xi = cp.Variable(len(v)), cp.Variable(master.biases.shape[1]), cp.Variable(len(master.caps))
    scores = sum(part @ x for part, x in zip(master.normals, v, strict=True)) + master.biases @ b
    rules = [scores >= master.offsets - xi[master.groups], xi >= 0, cp.pnorm(w, p, approx=False) <= 1]
    rules += [cp.max(b) - cp.min(b) <= master.balance]
    value = master.beta / 2 * sum(cp.quad_over_lin(x, w[i]) for i, x in enumerate(v)) + master.caps @ xi
    return cp.Problem(cp.Minimize(value), rules).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("p", [1.01, 1.05, *NORMS])
@pytest.mark.parametrize("seed", range(12))
def test_master_agrees_with_clarabel(seed, p):
    master = random_master(seed)
    solution = master.solve(p)
    assert solution.primal == pytest.approx(referee(master, p), rel=1e-6, abs=1e-7)


@given(seed=st.integers(0, 10**6), p=st.sampled_from([1.01, 1.05, 1.2, *NORMS, 10.0, 100.0]))
@settings(max_examples=100, deadline=None)
def test_a_solution_proves_itself(seed, p):
    master = random_master(seed)
    solution = master.solve(p)
    x = solution.multipliers
    assert solution.residual <= 1e-6
    assert (x >= 0).all()
    sums = np.bincount(master.groups, x, len(master.caps))
    assert (sums <= master.caps * (1 + 1e-12)).all()
    assert np.ptp(solution.bias) <= master.balance * (1 + 1e-12)
    assert (solution.weights**p).sum() == pytest.approx(1) or not x.any()
    assert solution.primal == pytest.approx(master.primal(solution), rel=1e-9, abs=1e-12)
    assert solution.dual <= solution.primal + 1e-12


def test_a_worked_case():
    # One cut, kernels of squared normals 3 and 4, |q|_2 = 5 x^2: x - 5/2 x^2 / beta has its maximum at beta / 5.
    master = Master(
        [np.array([[np.sqrt(3.0)]]), np.array([[0.0, 2.0]])],
        *(np.ones(1), np.zeros(1, int), np.ones(1)),
        *(np.zeros((1, 2)), 0.5, 0.0),
    )
    solution = master.solve()
    np.testing.assert_allclose(solution.multipliers, [0.1], rtol=1e-6)
    np.testing.assert_allclose(solution.weights, [0.6, 0.8])
    assert solution.dual == pytest.approx(0.05)
    tight = replace(master, caps=np.array([0.04])).solve()
    np.testing.assert_allclose(tight.multipliers, [0.04], rtol=1e-6)
    assert tight.primal == pytest.approx(0.04 - 5 * 0.04**2)


@pytest.mark.parametrize("seed", range(12))
def test_one_kernel_is_the_qp(seed):
    master = random_master(seed, n_kernels=1)
    m, k = len(master.offsets), master.biases.shape[1]
    gram = np.zeros((m + 2 * k, m + 2 * k))
    gram[:m, :m] = master.normals[0] @ master.normals[0].T / master.beta
    linear = np.concatenate([master.offsets, np.zeros(k), np.full(k, -master.balance)])
    groups = np.concatenate([master.groups, np.full(2 * k, -1)])
    equality = np.hstack([master.biases.T, np.eye(k), -np.eye(k)])
    qp = solve_qp(gram, linear, groups, master.caps, equality)
    for p in NORMS:
        assert master.solve(p).dual == pytest.approx(qp.dual, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("p", [1.05, *NORMS])
@pytest.mark.parametrize("seed", range(6))
def test_order_copies_and_zeros_of_kernels(seed, p):
    master = random_master(seed)
    solution = master.solve(p)
    order = np.random.default_rng(seed).permutation(len(master.normals))
    permuted = replace(master, normals=[master.normals[i] for i in order]).solve(p)
    np.testing.assert_allclose(permuted.weights, solution.weights[order], atol=1e-4)
    assert permuted.dual == pytest.approx(solution.dual, rel=1e-7, abs=1e-9)
    zero = np.zeros_like(master.normals[0])
    padded = replace(master, normals=[zero, *master.normals, zero]).solve(p)
    assert padded.dual == pytest.approx(solution.dual, rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(padded.weights[1:-1], solution.weights, atol=1e-4)
    assert not padded.weights[[0, -1]].any()
    # |w|_p <= 1 leaves M equal kernels M^(-1/p) each: together they are one kernel times M^(1 - 1/p).
    one = replace(master, normals=master.normals[:1])
    copies = replace(master, normals=master.normals[:1] * 4).solve(p)
    factor = 4 ** ((1 - 1 / p) / 2)
    scaled = replace(one, normals=[master.normals[0] * factor]).solve(p)
    assert copies.dual == pytest.approx(scaled.dual, rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(copies.weights, 4 ** (-1 / p), rtol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_lifted_weights_lead_to_the_same_answer(monkeypatch, seed):
    master = random_master(seed)
    reduced = {p: master.solve(p) for p in (1.2, *NORMS)}
    monkeypatch.setattr(_kernel_weights, "_LIFTED_BELOW", np.inf)
    for p, solution in reduced.items():
        assert master.solve(p).dual == pytest.approx(solution.dual, rel=2e-8, abs=1e-10)


@pytest.mark.parametrize("seed", [4, 9, 20, 78, 81, 87, 110, 117])  # where Newton's method on the norm itself fails
def test_a_norm_near_one(seed):
    master = random_master(seed)
    solution = master.solve(1.01)
    assert solution.primal == pytest.approx(referee(master, 1.01), rel=1e-6, abs=1e-7)


def test_idle_cuts_get_no_weight_at_all():
    master = random_master(1, n_cuts=30)
    assert 0 < np.count_nonzero(master.solve().multipliers) < 30


def test_a_master_that_is_not_solved_says_so(monkeypatch):
    monkeypatch.setattr(_kernel_weights, "MAX_ITERATIONS", 2)
    with pytest.raises(SolverError, match=r"relative gap of .* after 2 iterations; it must be <= 1e-06.*lower C"):
        random_master(1, n_cuts=30).solve()


# The convex problem -----------------------------------------------------------------------------------------------


def test_every_way_to_solve_is_tried(monkeypatch):
    tried, solve = [], _kernel_weights._interior_point
    monkeypatch.setattr(_kernel_weights, "ACCEPTED", -1.0)
    monkeypatch.setattr(_kernel_weights, "_interior_point", lambda *given: tried.append(given[1:]) or solve(*given))
    with pytest.raises(SolverError):
        random_master(0).solve()
    assert tried == [(False, True), (False, False), (True, True), (True, False)]  # lifted, with a corrector


@pytest.mark.parametrize("size", [0.01, 100.0])
def test_weights_have_norm_one_however_short_the_answer(size):
    grams, one = np.stack([np.eye(2), 2 * np.eye(2)]), np.ones((1, 2))
    dual = KernelDual(grams, np.ones(2), np.zeros((2, 2)), one, np.ones(1), 0.0, 2.0)
    _, w, _ = dual.norm_with(np.full(2, size), np.array([3.0, 4.0]))
    np.testing.assert_allclose(w, [0.6, 0.8])


def kernel_blocks(rng, X):
    """Rows with the columns of X and squares of them as two further kernels, in units of their own."""
    parts = [X, np.square(X - X.mean(axis=0)), rng.normal(size=(len(X), 2))]
    sizes = tuple(part.shape[1] for part in parts)
    return np.hstack([part / np.sqrt(part.var(axis=0).sum()) for part in parts]), sizes


def clarabel_optimum(Z, sizes, labels, k, beta, balance, p):
    """The whole problem with a slack a row: for two clusters in the paper's form, with one vector and |b| free."""
    n = len(Z)
    parts = np.split(Z, np.cumsum(sizes)[:-1], axis=1)
    w, xi = cp.Variable(len(sizes)), cp.Variable(n)
    rules = [xi >= 0, cp.pnorm(w, p) <= 1]
    if k == 2:
        v, b = [cp.Variable(size) for size in sizes], cp.Variable()
        scores = sum(part @ x for part, x in zip(parts, v, strict=True)) + b
        rules += [cp.multiply(2 * labels - 1, scores) >= 1 - xi, cp.abs(b) <= balance]
        norm = sum(cp.quad_over_lin(x, w[i]) for i, x in enumerate(v)) / 2
    else:
        v, b = [cp.Variable((size, k)) for size in sizes], cp.Variable(k)
        scores = sum(part @ x for part, x in zip(parts, v, strict=True)) + np.ones((n, 1)) @ cp.reshape(b, (1, k), "C")
        own = cp.sum(cp.multiply(np.eye(k)[labels], scores), axis=1)
        rules += [own - scores[:, r] >= (labels != r) - xi for r in range(k)]
        rules += [cp.max(b) - cp.min(b) <= balance]
        norm = sum(cp.quad_over_lin(cp.vec(x, "C"), w[i]) for i, x in enumerate(v))
    return cp.Problem(cp.Minimize(beta / 2 * norm + cp.sum(xi) / n), rules).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("p", [2.0, 2.0, 1.5, 3.0], ids=["2", "2 again", "1.5", "3"])
@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(i, marks=pytest.mark.slow) for i in range(8, 25))])
def test_convex_optimum_agrees_with_clarabel(request, seed, p):
    rng = np.random.default_rng([seed, "again" in request.node.callspec.id])
    k, n = (2, 24) if seed % 2 else (int(rng.integers(3, 5)), 30)
    X, sizes = kernel_blocks(rng, blobs(rng, n, 2, k))
    balance, beta = [0.0, 0.1][seed % 4 // 2], 10 ** rng.uniform(-2, -0.5)
    labels = random_labels(rng, n, k)
    problem = replace(make_problem(X, k, beta, balance=balance), norm=KernelNorm(sizes, p))
    search = make_search(problem, labels)
    point, gap = minimize_convex(problem, search.cuts, search.best, 1e-6, 500, search.recorder)
    Z = (X - X.mean(axis=0)) / problem.target.rows.scale
    assert point.objective == pytest.approx(clarabel_optimum(Z, sizes, labels, k, beta, balance, p), rel=1e-5)
    direct = beta / 2 * problem.norm.value(point.W) + row_losses(Z @ point.W.T + point.b, labels, "max").mean()
    assert point.objective == pytest.approx(direct, rel=1e-10)
    assert gap <= 1e-6 * point.objective
    assert 0 < search.recorder.residual <= 1e-6


def test_master_keeps_one_gram_a_kernel():
    rng = np.random.default_rng(0)
    X, sizes = kernel_blocks(rng, blobs(rng, 30, 3, 3))
    problem = replace(make_problem(X, 3, 0.05), norm=KernelNorm(sizes, 2.0))
    search = make_search(problem, random_labels(rng, 30, 3))
    cuts = search.cuts
    for _ in range(20):  # beyond the first size of the buffers
        search.relabel_after_master()
        cuts.add(0, problem.planes(rng.normal(size=(3, 8)), np.zeros(3), search.labels)[0])
    normals = cuts.normals.reshape(len(cuts), 3, 8)
    for gram, part in zip(cuts.grams, np.split(normals, np.cumsum(sizes)[:-1], axis=2), strict=True):
        np.testing.assert_allclose(gram, np.einsum("akd,bkd->ab", part, part), atol=1e-12)
    np.testing.assert_allclose(cuts.gram, cuts.normals @ cuts.normals.T, atol=1e-12)
    master = solve_master(cuts, 0.05, problem.caps, 0.0, 2.0)
    assert master.residual <= 1e-6
