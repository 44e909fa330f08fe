"""MMC: maximum margin clustering as a semidefinite program, after Xu et al.

The dual of a support vector machine without bias, minimised over the labels y::

    min_y  p(yy'),    p(M) = max_{0 <= lam <= C}  2 e'lam - lam'(K o M) lam

(o: entry by entry). p is convex in M. Replacing yy' by a positive semidefinite M gives, with the Schur complement and
the multipliers mu, nu of the box on lam, an SDP in n^2/2 unknowns, which SCS solves::

    min delta  s.t.  [[K o M, e + mu - nu], [., delta - 2C e'nu]] >= 0,  M >= 0,  diag M = e,  |Me| <= limit,
                     mu >= 0,  nu >= 0

Proof. From above: p(M) of SCS's M, after its negative eigenvalues are cut and its diagonal is brought back to one.
From below, for any lam in the box, any d and u, and eta >= 0 large enough to make the matrix semidefinite::

    p(M) >= 2 e'lam - e'd - limit |u|_1 - n eta,     Diag(d) + (ue' + eu')/2 + eta I - K o lam lam' >= 0

Neither uses SCS's own word for its accuracy. The first holds up to ``residual``, the part of |Me| above the limit.

======== ============ ==================================================================
symbol   argument     meaning
======== ============ ==================================================================
K        kernel       (n, n) positive semidefinite, of mean diagonal about one
C        C            largest multiplier of a row
limit    limit        largest |e'y|, the difference of the cluster sizes
======== ============ ==================================================================
"""

from collections.abc import Callable
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.sparse import csc_matrix

from widegap._types import Doubles
from widegap.base._clusterer import Objective
from widegap.base._docs import shared_docs
from widegap.base._validation import Interval
from widegap.cutting_plane._qp import solve_qp
from widegap.exceptions import SolverError
from widegap.rows._threads import one_blas_thread
from widegap.sdp._semidefinite import LABELS_OBJECTIVE, Relaxation, SDPClusterer, SDPRecord, SDPSolution

ROOT2 = float(np.sqrt(2.0))  # SCS scales entries off the diagonal by it, so that the packed product is the trace


def margin_value(kernel: Doubles, M: Doubles, C: float) -> float:
    """p(M): twice the objective of the support vector machine without bias if M = yy'."""
    n = len(kernel)
    return 2 * solve_qp(kernel * M, np.ones(n), np.arange(n), np.full(n, C), phase=LABELS_OBJECTIVE).primal


def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns below the diagonal, column by column as SCS wants them."""
    columns, rows = np.triu_indices(n, 1)
    return rows, columns


def _triangle(n: int) -> npt.NDArray[np.intp]:
    """Position of entry (i, j), i >= j, in SCS's packed lower triangle; (n, n), symmetric."""
    index = np.zeros((n, n), np.intp)
    columns, rows = np.triu_indices(n)
    index[rows, columns] = index[columns, rows] = np.arange(len(rows))
    return index


def _unpack(packed: Doubles, n: int) -> Doubles:
    """Symmetric matrix from SCS's packed triangle, whose entries off the diagonal carry a factor sqrt 2."""
    full = packed[_triangle(n)] / ROOT2
    full.flat[:: n + 1] *= ROOT2
    return full


def _assemble(kernel: Doubles, C: float, limit: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Data and cones of ``min c'x  s.t.  Ax + s = b, s in cones``."""
    n = len(kernel)
    rows, columns = _pairs(n)
    pairs, each = np.arange(len(rows)), np.arange(n)
    delta, mu, nu = len(rows), len(rows) + 1 + each, len(rows) + 1 + n + each  # unknowns after M below the diagonal
    ones, off = np.ones(n), np.ones(len(rows))
    top, block = 4 * n, 4 * n + n * (n + 1) // 2
    in_M, in_block = top + _triangle(n), block + _triangle(n + 1)
    corner = in_block[n, n]
    entries = [  # row, column, value
        (each, mu, -ones),
        (n + each, nu, -ones),
        *((start + i, pairs, sign * off) for start, sign in ((2 * n, 1), (3 * n, -1)) for i in (rows, columns)),
        (in_M[rows, columns], pairs, -ROOT2 * off),
        (in_block[rows, columns], pairs, -ROOT2 * kernel[rows, columns]),
        (in_block[n, :n], mu, -ROOT2 * ones),
        (in_block[n, :n], nu, ROOT2 * ones),
        (np.array([corner]), np.array([delta]), -np.ones(1)),
        (np.full(n, corner), nu, 2 * C * ones),
    ]
    b = np.zeros(corner + 1)
    b[2 * n : 3 * n], b[3 * n : 4 * n] = limit - 1, limit + 1
    b[in_M.diagonal()] = 1
    b[in_block.diagonal()[:n]] = kernel.diagonal()
    b[in_block[n, :n]] = ROOT2
    i, j, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    c = np.zeros(len(rows) + 1 + 2 * n)
    c[delta] = 1
    A = csc_matrix((values, (i, j)), shape=(b.size, c.size))  # SCS 3.2.7 takes no sparse array
    A.sort_indices()
    return {"A": A, "b": b, "c": c}, {"l": 4 * n, "s": [n, n + 1]}


def import_scs() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import scs
    except ImportError as error:
        raise ImportError('MMC needs the package scs, which is not installed: pip install "widegap[sdp]".') from error
    return scs


def solve_mmc(kernel: Doubles, C: float, limit: float, *, tol: float, max_iter: int) -> SDPSolution:
    """Solve the SDP of MMC with SCS and prove the answer.

    Parameters
    ----------
    kernel : (n, n) array
        Positive semidefinite, n >= 2, mean diagonal about one.
    C, limit : float
        Both > 0; a labeling with |e'y| <= limit must exist.
    tol : float
        Absolute and relative tolerance of SCS's residuals.
    max_iter : int
        Most iterations of SCS.

    Returns
    -------
    SDPSolution
    """
    began = perf_counter()
    x, y, info = _solve_scs(*_assemble(kernel, C, limit), {"eps_abs": tol, "eps_rel": tol, "max_iters": max_iter})
    n = len(kernel)
    rows, columns = _pairs(n)
    M = np.eye(n)
    M[rows, columns] = M[columns, rows] = x[: len(rows)]
    M = _correlation(M)
    multipliers, dual = _lower_bound(kernel, C, limit, y)
    primal = margin_value(kernel, M, C)
    return SDPSolution(
        matrix=M,
        multipliers=multipliers,
        primal=primal,
        dual=dual,
        residual=max(0.0, float(np.abs(M.sum(axis=0)).max()) - limit),
        n_iter=int(info["iter"]),
        converged=info["status"] == "solved",
        history=[SDPRecord(int(info["iter"]), primal, dual, perf_counter() - began)],
    )


def _solve_scs(
    data: dict[str, Any], cones: dict[str, Any], settings: dict[str, float]
) -> tuple[Doubles, Doubles, dict[str, Any]]:
    """Primal and dual vector of SCS, with zeros in place of NaN, and its own report."""
    scs = import_scs()
    try:
        answer = scs.SCS(data, cones, verbose=False, **settings).solve()
        x, y = (np.nan_to_num(np.asarray(answer[name], dtype=np.float64)) for name in "xy")
        if (x.shape, y.shape) != (data["c"].shape, data["b"].shape):
            raise ValueError(f"answer of lengths {x.shape} and {y.shape}")
        return x, y, answer["info"]
    except Exception as error:  # SCS raises what it likes
        raise SolverError(
            f"The semidefinite program with {len(data['c'])} unknowns was not solved (scs: {type(error).__name__}: "
            f"{error}); use fewer rows, a C near 1, or GMMC."
        ) from error


def _correlation(M: Doubles) -> Doubles:
    """A positive semidefinite matrix of unit diagonal near M."""
    values, vectors = np.linalg.eigh(M)
    root = vectors * np.sqrt(np.maximum(values, 0))
    root /= np.maximum(linalg.norm(root, axis=1), np.finfo(np.float64).tiny)[:, None]
    M = root @ root.T
    np.fill_diagonal(M, 1)
    return M


def _lower_bound(kernel: Doubles, C: float, limit: float, y: Doubles) -> tuple[Doubles, float]:
    """lam and a bound that holds whatever the accuracy of SCS's dual vector y."""
    n = len(kernel)
    u = y[2 * n : 3 * n] - y[3 * n : 4 * n]
    of_M = _unpack(y[4 * n : 4 * n + n * (n + 1) // 2], n)
    of_block = _unpack(y[4 * n + n * (n + 1) // 2 :], n + 1)
    lam = np.clip(-of_block[n, :n], 0, C)
    d = of_M.diagonal() + kernel.diagonal() * lam**2 - u
    slack = np.diag(d) + (u + u[:, None]) / 2 - kernel * np.outer(lam, lam)
    eta = max(0.0, -float(linalg.eigvalsh(slack, subset_by_index=[0, 0])[0]))
    return lam, float(2 * lam.sum() - d.sum() - limit * np.abs(u).sum() - n * eta)


@shared_docs
class MMC(SDPClusterer):
    r"""Maximum margin clustering (MMC) by semidefinite programming.

    Seeks the labels for which a support vector machine through the mean of the rows has the lowest objective [1]_,

    .. math::  \min_{y \in \{-1, 1\}^n} \min_w \; \|w\|^2 + 2 C \sum_i \max(0,\; 1 - y_i \langle w, \phi(x_i) \rangle),
               \qquad |e'y| \le (1 - \mathrm{min\_cluster\_fraction}) n,

    by replacing :math:`yy'` in its dual by a positive semidefinite matrix M, which makes the problem convex. No start
    is needed, and the answer bounds every labeling from below. The price is n^2 / 2 unknowns: see Notes. Needs the
    extra "sdp": ``pip install "widegap[sdp]"``.

    Parameters
    ----------
    <n_clusters, at most two>

    C : float, default=1.0
        Weight of the loss against the norm, for a kernel whose centred matrix is brought to mean diagonal one.

    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        A callable takes two tables of rows and returns the matrix of kernel values.

    gamma : {"median", "diameter"} or float, default="median"
        Coefficient of "rbf" and "poly". "median" is :math:`1 / (1.5 m)^2` with m the median distance of the rows,
        "diameter" :math:`1 / (4 D)^2` with D the largest.

    <kernel_params>

    min_cluster_fraction : float, default=0.94
        Each of the clusters has at least this share of n / 2 rows; half a row less is always allowed if n is odd.

    n_roundings : int, default=0
        Random projections of M that are tried as labels beside its leading eigenvector (the paper's); the lowest
        objective wins.

    max_samples : int, default=200
        More rows than this are refused.

    tol : float, default=1e-4
        Tolerance of SCS's residuals.

    max_iter : int, default=10000
        Most iterations of SCS.

    random_state : int, RandomState instance or None, default=None
        Determines the random projections, if there are any; all else is deterministic.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), dtype int32
        Cluster of each row; the first row is in cluster 0, unless ``min_cluster_fraction`` moved it.

    objective_ : float
        Objective of ``labels_``, in the formula above with the kernel in its own units.

    lower_bound_ : float
        Proven: no labeling within the bound on sizes has a lower objective. Where both agree the labels are optimal.

    gap_ : float
        Proven relative distance of the semidefinite program's solution from its optimum.

    tightness_ : float
        Share of the leading eigenvalue in the trace of M; 1 if the relaxation is exact.

    history_ : list of SDPRecord
        One record, of the last iteration: primal, dual, gap, seconds.

    n_iter_ : int
        Iterations of SCS.

    converged_ : bool
        Whether SCS met ``tol``.

    starved_ : bool
        Whether ``min_cluster_fraction``, and not the sign of the eigenvector, decided the cluster of some rows.

    <n_clusters_>

    kernel_map_ : KernelMap
        The function of the support vector machine that assigns new rows, fitted to ``labels_``: its support vectors
        and their weights, which give one number a row.

    coef_, intercept_ : ndarray of shape (2, 1) and (2,)
        Scores of the clusters: that number and the machine's intercept, halved, with either sign.

    <n_features_in_>

    <feature_names_in_>

    Notes
    -----
    There is no ``sample_weight``: the program holds a matrix of all rows, at most a few hundred. Repeat rows instead.

    The program has no bias (with one it would not be convex). The paper's hyperplane passes through the origin;
    here the kernel is centred first, so that it passes through the mean and a shift of X changes nothing with the
    linear and the Gaussian kernel.

    Measured on one core with ``tol=1e-4`` on digits 3 and 8: 50 rows 0.2 s, 100 rows 1.5 s, 200 rows 17 s, at proven
    gaps of 0.05 to 0.2 %. The relaxation is loose there (``tightness_`` 0.5 to 0.7), so that rounding matters. Errors
    in percent on the first 50 + 50 rows of the digits 3-8, 1-7, 2-7 and 8-9: 0, 1, 3, 9 with the eigenvector, and
    1, 0, 0, 2 with ``n_roundings=100``, which costs less than a second; the figures in [2]_ for subsets of this size
    are 2, 0, 15, 3.

    References
    ----------
    .. [1] L. Xu, J. Neufeld, B. Larson, D. Schuurmans, "Maximum margin clustering", NIPS 2004.
    .. [2] K. Zhang, I. Tsang, J. Kwok, "Maximum margin clustering made practical", IEEE TNN 20(4), 2009.

    Examples
    --------
    >>> from widegap import MMC
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> MMC(kernel="linear").fit_predict(X)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    _objective = Objective(
        "margin objective", "lower", "of an SVM for these labels; see lower_bound_ for the least possible"
    )
    _parameter_constraints: dict = {
        **SDPClusterer._parameter_constraints,
        "C": [Interval(Real, 1e-12, 1e3, closed="both")],  # beyond, SCS makes no progress within max_iter
        "min_cluster_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: str | float = "median",
        kernel_params: dict[str, Any] | None = None,
        min_cluster_fraction: float = 0.94,
        n_roundings: int = 0,
        max_samples: int = 200,
        tol: float = 1e-4,
        max_iter: int = 10000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.min_cluster_fraction = min_cluster_fraction
        self.n_roundings = n_roundings
        self.max_samples = max_samples
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _relax(self, kernel: Doubles) -> Relaxation:
        n = len(kernel)
        # An odd number of rows has no halves, and no cluster may be empty.
        limit = min(max((1 - self.min_cluster_fraction) * n, n % 2), n - 2)
        import_scs()
        with one_blas_thread():  # anew, as scs has brought a BLAS of its own
            solution = solve_mmc(kernel, self.C, limit, tol=self.tol, max_iter=self.max_iter)
        return Relaxation(
            solution, limit, lambda signs: margin_value(kernel, np.outer(signs, signs).astype(float), self.C)
        )

    def _svm_cost(self) -> float:
        return self.C
