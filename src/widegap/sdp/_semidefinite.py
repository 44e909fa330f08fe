"""What the two semidefinite relaxations share: an answer with its proof, rounding, and the estimator around them.

``_mmc.py`` and ``_gmmc.py`` replace the labels yy' by a positive semidefinite matrix and prove how good their answer
is. ``round_matrix`` turns the matrix into labels. ``SDPClusterer`` centres the kernel before, and fits a support vector
machine to the labels after, which assigns new rows.

Both solvers run with BLAS held to one thread: the matrices are small, and on a busy machine of two cores threads that
wait for each other made n = 352 take 93 s instead of 0.9 s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from widegap._types import Doubles, Floats, Matrix
from widegap._warnings import warn_caller
from widegap.base._clusterer import WeightVectorClusterer
from widegap.base._scored_clusterer import lost_margin
from widegap.base._validation import COST, Interval, kernel_constraints
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._kernel_maps import KernelMap, centre_kernel, check_values, decompose, without_offsets
from widegap.features._kernels import kernel_matrix, kernel_options, settle_width
from widegap.rows._centred import CentredRows
from widegap.rows._matrices import check_finite
from widegap.rows._protocols import Rows
from widegap.rows._sources import row_blocks
from widegap.rows._threads import one_blas_thread

SignArray = npt.NDArray[np.int8]

LABELS_OBJECTIVE = "objective of some labels"  # what the QP is for, in the words of an error


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


@dataclass(frozen=True)
class Relaxation:
    """A program's solution, the largest difference of the cluster sizes, and the objective of labels by their signs."""

    solution: SDPSolution
    limit: float
    value: Callable[[SignArray], float]


class SDPClusterer(WeightVectorClusterer):
    """Base of the two: a subclass has its program in ``_relax`` and the C of the machine in ``_svm_cost``."""

    _record = SDPRecord
    _stored = {"lower_bound_": float, "gap_": float, "tightness_": float}
    n_jobs = 1
    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "C": [COST],
        **kernel_constraints(),
        "n_roundings": [Interval(Integral, 0, None, closed="left")],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _value_rule(self) -> Callable[[Floats], Floats]:
        return lost_margin

    def _read(self, X: Any) -> object:
        self._check_two_clusters()
        return super()._read(X)

    def _prepare(self, blocks: Rows, rng: np.random.Generator) -> Rows:
        self._check_size(blocks.shape[0])
        return blocks

    def _search(self, blocks: Rows, rng: np.random.Generator) -> None:
        self.n_clusters_ = self.n_clusters
        with one_blas_thread():  # as the solvers ask for, with the reason
            self._fit_table(check_finite(blocks.take(np.arange(blocks.shape[0]))).astype(np.float64), rng)

    def _fit_table(self, table: Matrix, rng: np.random.Generator) -> None:
        """Labels from the relaxation, and a support vector machine that reproduces them."""
        rows, offsets = without_offsets(self.kernel, table)
        params = self._resolve_kernel(rows)
        values = check_values(kernel_matrix(rows, rows, self.kernel, params), repr(self.kernel))
        gram = np.asarray(values, np.float64)
        kernel = self._centre(gram)
        scale = float(kernel.trace() / len(kernel))
        self._store(self._relax(kernel / scale), scale, rng)
        svm = SVC(kernel="precomputed", C=self._svm_cost()).fit(gram / scale, self.labels_)
        weights = svm.dual_coef_.T / scale
        self.kernel_map_ = KernelMap(self.kernel, params, rows[svm.support_], weights, offsets=offsets)
        halves = np.array([-0.5, 0.5])
        self.coef_, self.intercept_ = halves[:, None], halves * svm.intercept_
        self._mean, self._mean_scores = np.zeros(1), self.intercept_

    def _relax(self, kernel: Doubles) -> Relaxation:
        """Solve the program for a centred kernel of mean diagonal one."""
        raise NotImplementedError

    def _svm_cost(self) -> float:
        raise NotImplementedError

    def _check_two_clusters(self) -> None:
        if self.n_clusters > 2:
            raise NotSupportedError(
                f"n_clusters={self.n_clusters}, but {type(self).__name__} finds two clusters at most; "
                f"use CPM3C(n_clusters={self.n_clusters})."
            )

    def _check_size(self, n: int) -> None:
        if n > self.max_samples:
            raise InvalidDataError(
                f"X has {n} rows, more than max_samples={self.max_samples}: {type(self).__name__} solves a "
                "semidefinite program whose time grows at least with the cube of their number. Cluster all rows with "
                "MaxMarginClustering, CPM3C or IterSVR, fit a sample and call predict on the rest, or raise "
                "max_samples."
            )

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        self.kernel_map_ = None
        self.lower_bound_ = self.gap_ = 0.0
        self.tightness_ = 1.0

    def _resolve_kernel(self, rows: Matrix) -> dict[str, Any]:
        """The kernel's arguments, with the width set; refuses rows that are all equal."""
        if CentredRows(row_blocks(rows)).scale == 0:
            raise InvalidDataError(
                f"All {rows.shape[0]} rows are equal, so they cannot be separated into 2 clusters; check the data."
            )
        options = kernel_options(self.kernel, self.gamma, self.kernel_params)
        return settle_width(self.kernel, options, lambda size: rows, np.random.default_rng(0))

    def _centre(self, gram: Doubles) -> Doubles:
        """The kernel about the mean of the rows in its space; refuses what no hyperplane could separate."""
        spectrum = decompose(gram, np.float64, centred=True)
        spectrum.check_margin(self.kernel, len(gram))
        if not spectrum.projection.shape[1]:
            raise InvalidDataError(
                f"Kernel {self.kernel!r} maps all {len(gram)} rows to the same point; choose other parameters, such "
                "as a larger gamma."
            )
        return np.asarray(centre_kernel((gram + gram.T) / 2), np.float64)

    def _store(self, found: Relaxation, scale: float, rng: np.random.Generator) -> None:
        """Labels from the relaxation, and what is known about it; values in units of the kernel as it came."""
        solution = found.solution
        signs, labelled, moved = round_matrix(solution.matrix, found.limit, found.value, self.n_roundings, rng)
        self.labels_ = (signs > 0).astype(np.int32)
        self.objective_ = labelled / scale
        self.lower_bound_ = solution.dual / scale
        self.gap_ = solution.gap
        self.tightness_ = solution.tightness
        self.history_ = solution.history
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.starved_ = moved
        if not solution.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {solution.n_iter} iterations with a relative gap of "
                f"{solution.gap:.2g}, before it met tol={self.tol}; raise tol"
                + (", or max_iter." if solution.n_iter >= self.max_iter else ": no further progress was possible."),
                ConvergenceWarning,
            )
