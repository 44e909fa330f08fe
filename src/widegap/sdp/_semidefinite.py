"""What the two semidefinite relaxations of maximum margin clustering share: their answer with its proof, and rounding.

``_mmc`` and ``_gmmc`` replace the labels yy' by a positive semidefinite matrix and prove how good their answer is.
Labels come back from the matrix by ``round_matrix``.

Both are to be run with BLAS held to one thread: the matrices are small, and on a busy machine of two cores threads
that wait for each other made n = 352 take 93 s instead of 0.9 s.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from widegap._types import Doubles

SignArray = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SDPRecord:
    """One iteration: the value of the relaxation's minimisation, its lower bound, and the seconds since the start."""

    iteration: int
    primal: float
    dual: float
    seconds: float

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


@dataclass(frozen=True)
class SDPSolution:
    """The matrix that stands for yy' (or zz'), and the proof.

    Attributes
    ----------
    matrix : (n, n) array
        M of unit diagonal, or W; positive semidefinite.
    multipliers : (n,) array
        lam or gamma.
    primal, dual : float
        Upper and lower bound of the relaxation's optimal value. No labeling has an objective below ``dual``.
    residual : float
        How far max |Me| is above its limit; 0 for GMMC.
    converged : bool
        Whether the solver met its tolerance.
    history : list of SDPRecord
        Every iteration for GMMC, the last one for MMC.
    """

    matrix: Doubles
    multipliers: Doubles
    primal: float
    dual: float
    residual: float
    n_iter: int
    converged: bool
    history: list[SDPRecord]

    @property
    def gap(self) -> float:
        """Primal minus dual value, relative to the primal."""
        return (self.primal - self.dual) / abs(self.primal)

    @property
    def tightness(self) -> float:
        """Share of the leading eigenvalue in the trace: 1 if the matrix is yy', that is if the relaxation is exact."""
        values = np.linalg.eigvalsh(self.matrix)
        return float(values[-1] / values.sum())


def _oriented(scores: Doubles) -> Doubles:
    """The scores or their negatives, such that the first one is not positive."""
    return -scores if scores[0] > 0 else scores


def signs_within(scores: Doubles, limit: float) -> tuple[SignArray, bool]:
    """Signs of the scores; if their sum exceeds the limit, the threshold moves until it does not.

    Returns
    -------
    signs : (n,) array of -1 and 1
    moved : bool
        Whether the limit decided.
    """
    n = len(scores)
    largest = int((n + limit) // 2)
    n_plus = int(np.count_nonzero(scores > 0))
    wanted = min(max(n_plus, n - largest), largest)
    signs = np.full(n, -1, np.int8)
    signs[np.argsort(-scores, kind="stable")[:wanted]] = 1
    return signs, wanted != n_plus


def round_matrix(
    matrix: Doubles,
    limit: float,
    value: Callable[[SignArray], float],
    n_roundings: int,
    rng: np.random.Generator,
) -> tuple[SignArray, float, bool]:
    """Labels from the relaxation's matrix: of the leading eigenvector and random projections the best by ``value``.

    A projection is g'V for matrix = V'V and a normal vector g, as Goemans and Williamson do for the maximum cut.

    Returns
    -------
    signs : (n,) array of -1 and 1
    value : float
    moved : bool
        Whether the limit on |e'y| decided some labels.
    """
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))
    directions = [root @ rng.standard_normal(len(root)) for _ in range(n_roundings)]
    candidates = [signs_within(_oriented(scores), limit) for scores in [vectors[:, -1], *directions]]
    objectives = [value(signs) for signs, _ in candidates]
    best = int(np.argmin(objectives))
    return candidates[best][0], objectives[best], candidates[best][1]
