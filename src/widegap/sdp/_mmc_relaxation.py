"""Maximum margin clustering as a semidefinite program, after Xu et al.

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

from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.sparse import csc_matrix

from widegap._types import Doubles
from widegap.cutting_plane._qp import solve_qp
from widegap.exceptions import SolverError
from widegap.sdp._semidefinite import SDPRecord, SDPSolution

ROOT2 = float(np.sqrt(2.0))
PHASE = "objective of given labels"


def margin_value(kernel: Doubles, M: Doubles, C: float) -> float:
    """p(M): twice the objective of the support vector machine without bias if M = yy'."""
    n = len(kernel)
    return 2 * solve_qp(kernel * M, np.ones(n), np.arange(n), np.full(n, C), phase=PHASE).primal


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


def _solve_scs(data: dict[str, Any], cones: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Primal and dual vector of SCS, with zeros for numbers that are none, and what it says of itself."""
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
