"""MKC: the reduced dual against Clarabel on the whole cone program, growth of a fit, and MKC against single kernels."""

from collections.abc import Iterator
from itertools import product

import clarabel
import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks._measure import Row, best_ratio, exponent, time_once
from experiments import loaders
from widegap import MKC
from widegap.cutting_plane._kernel_weights import solve_kernel_master
from widegap.cutting_plane._mkc import DEFAULT_KERNELS


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    with threadpool_limits(1):
        yield _master(n_cuts=60, n_kernels=3, n_features=300, k=5)
    X = _letters()
    MKC(4, random_state=0).fit(X[:300])
    yield _growth_with_rows()
    yield _growth_with_kernels(X)
    yield _growth_with_tolerance(X)
    yield from _single_kernels(X)


def _letters():
    X, y = loaders.load_letter(return_X_y=True)
    return X[np.isin(y, list("ABCD"))]


def _master(n_cuts: int, n_kernels: int, n_features: int, k: int) -> Row:
    """One master with random cuts, no balance; Clarabel has weights, kernel weights and the slack as variables."""
    rng = np.random.default_rng(0)
    normals = [rng.normal(size=(n_cuts, k * n_features)) * 0.05 for _ in range(n_kernels)]
    offsets, beta = rng.uniform(0.5, 1, n_cuts), 0.1
    grams = np.array([part @ part.T for part in normals])
    groups, caps, biases = np.zeros(n_cuts, int), np.ones(1), np.zeros((n_cuts, k))
    values = {}

    def ours():
        values["ours"] = solve_kernel_master(grams, offsets, groups, caps, biases, beta=beta, balance=0.0, p=2.0).primal

    program = _cone_program(normals, offsets, beta)

    def theirs():
        values["clarabel"] = clarabel.DefaultSolver(*program).solve().obj_val

    ratio, seconds = best_ratio(ours, theirs, repeats=5)
    apart = abs(values["ours"] / values["clarabel"] - 1)
    detail = f"Clarabel {1e3 * seconds:.0f} ms, ours {1e3 * ratio * seconds:.1f} ms; values {apart:.0e} apart"
    name = f"master: {n_cuts} cuts, {n_kernels} kernels of {n_features} features, {k} classes, against Clarabel"
    return Row(name, ratio, 0.1, detail)


def _cone_program(normals, offsets, beta: float):
    """Clarabel's arguments for: min beta/2 sum_k t_k + xi, |v_k|^2 <= t_k w_k, |w|_2 <= 1, all cuts met up to xi.

    Variables: the v_k, then t, w and xi. |v|^2 <= t w is the cone |(2 v, t - w)| <= t + w.
    """
    M, width = len(normals), normals[0].shape[1]
    first_t, first_w, slack = M * width, M * width + M, M * width + 2 * M
    size = slack + 1
    cuts = np.hstack([*normals, np.zeros((len(offsets), 2 * M)), np.ones((len(offsets), 1))])
    linear = sparse.vstack([sparse.csc_matrix(-cuts), sparse.csc_matrix(([-1.0], ([0], [slack])), (1, size))])
    cone_rows, limits = [linear], [-offsets, np.zeros(1)]
    cones = [clarabel.NonnegativeConeT(len(offsets) + 1)]
    for k in range(M):
        rows = sparse.lil_matrix((width + 2, size))
        rows[0, first_t + k] = rows[0, first_w + k] = -1.0
        rows[1, first_t + k], rows[1, first_w + k] = -1.0, 1.0
        rows[np.arange(2, width + 2), np.arange(k * width, (k + 1) * width)] = -2.0
        cone_rows.append(rows)
        limits.append(np.zeros(width + 2))
        cones.append(clarabel.SecondOrderConeT(width + 2))
    ball = sparse.lil_matrix((M + 1, size))
    ball[np.arange(1, M + 1), np.arange(first_w, slack)] = -1.0
    cone_rows.append(ball)
    limits.append(np.r_[1.0, np.zeros(M)])
    cones.append(clarabel.SecondOrderConeT(M + 1))
    price = np.zeros(size)
    price[first_t:first_w], price[slack] = beta / 2, 1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return (
        sparse.csc_matrix((size, size)),
        price,
        sparse.vstack(cone_rows).tocsc(),
        np.concatenate(limits),
        cones,
        settings,
    )


def _seconds(X, k: int, **parameters) -> float:
    return min(time_once(lambda: MKC(k, random_state=0, n_init=1, **parameters).fit(X)) for _ in range(3))


def _row(name: str, sizes: list, seconds: list[float], paper: float) -> Row:
    detail = ", ".join(f"{size}: {1e3 * s:.0f} ms" for size, s in zip(sizes, seconds, strict=True))
    return Row(f"exponent of time in {name}, one start", exponent(sizes, seconds), None, f"paper {paper}; {detail}")


def _growth_with_rows() -> Row:
    X = loaders.load_ringnorm().data
    sizes = [925, 1850, 3700, 7400]
    return _row("n, ringnorm", sizes, [_seconds(X[:n], 2) for n in sizes], 1)


def _growth_with_kernels(X) -> Row:
    """Gaussians of different widths, as in the paper."""
    sizes = [1, 2, 4, 8]
    widths = np.geomspace(0.5, 2, 8)
    lists = [[("rbf", {"width": width}) for width in widths[:M]] for M in sizes]
    return _row("the number of kernels, letters A to D", sizes, [_seconds(X, 4, kernels=ks) for ks in lists], 2)


def _growth_with_tolerance(X) -> Row:
    tolerances = [0.03, 0.01, 0.003, 0.001]
    return _row("tol, letters A to D", tolerances, [_seconds(X, 4, tol=tol) for tol in tolerances], -0.2)


def _single_kernels(letters) -> Iterator[Row]:
    """Whole default fits; the four kernels together against one after the other."""
    X, y = loaders.load_satimage(return_X_y=True)
    for name, table, k in (("satellite", X[np.isin(y, [1, 2])], 2), ("letters A to D", letters, 4)):

        def together(table=table, k=k):
            for seed in range(3):
                MKC(k, random_state=seed).fit(table)

        def apart(table=table, k=k):
            for seed, kernel in product(range(3), DEFAULT_KERNELS):
                MKC(k, kernels=[kernel], random_state=seed).fit(table)

        ratio, seconds = best_ratio(together, apart, repeats=3)
        name = f"fit of {len(DEFAULT_KERNELS)} kernels, {name}, three seeds, against the sum of single ones"
        yield Row(name, ratio, 1.0, f"single ones {seconds:.2f} s")
