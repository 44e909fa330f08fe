"""What MMC and GMMC share: centred kernel, labels from the relaxation, a support vector machine for new rows."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from widegap._warnings import warn_caller
from widegap.base._clusterer import WeightVectorClusterer
from widegap.base._validation import COST, Interval, kernel_constraints
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._kernel_maps import KernelMap, centre_kernel, check_values, decompose, without_offsets
from widegap.features._kernels import kernel_matrix, kernel_options, settle_width
from widegap.rows._blocks import RowBlocks
from widegap.rows._centred import CentredRows
from widegap.rows._matrices import check_finite
from widegap.rows._sources import row_blocks
from widegap.rows._threads import one_blas_thread
from widegap.sdp._semidefinite import SDPRecord, SDPSolution, SignArray, round_matrix


@dataclass(frozen=True)
class Relaxation:
    """A program's solution, the largest difference of the cluster sizes, and the objective of given signs."""

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

    def _read(self, X: Any) -> RowBlocks:
        self._check_two_clusters()
        blocks = super()._read(X)
        self._check_size(blocks.shape[0])
        return blocks

    def _search(self, blocks: RowBlocks, rng: np.random.Generator) -> None:
        self.n_clusters_ = self.n_clusters
        with one_blas_thread():  # as the solvers ask for, with the reason
            self._fit_rows(check_finite(blocks.take(np.arange(blocks.shape[0]))).astype(np.float64), rng)

    def _fit_rows(self, rows: Any, rng: np.random.Generator) -> None:
        rows, offsets = without_offsets(self.kernel, rows)
        params = self._resolve_kernel(rows)
        gram = check_values(kernel_matrix(rows, rows, self.kernel, params), repr(self.kernel))
        kernel = self._centre(gram)
        scale = float(kernel.trace() / len(kernel))
        self._store(self._relax(kernel / scale), scale, rng)
        svm = SVC(kernel="precomputed", C=self._svm_cost()).fit(gram / scale, self.labels_)
        weights = svm.dual_coef_.T / scale
        self.kernel_map_ = KernelMap(self.kernel, params, rows[svm.support_], weights, offsets=offsets)
        halves = np.array([-0.5, 0.5])
        self.coef_, self.intercept_ = halves[:, None], halves * svm.intercept_
        self._mean, self._mean_scores = np.zeros(1), self.intercept_

    def _relax(self, kernel: np.ndarray[Any, Any]) -> Relaxation:
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

    def _resolve_kernel(self, rows: Any) -> dict[str, Any]:
        """The kernel's arguments, with the width set; refuses rows that are all equal."""
        if CentredRows(row_blocks(rows)).scale == 0:
            raise InvalidDataError(
                f"All {rows.shape[0]} rows are equal, so they cannot be separated into 2 clusters; check the data."
            )
        options = kernel_options(self.kernel, self.gamma, self.kernel_params)
        return settle_width(self.kernel, options, lambda size: rows, np.random.default_rng(0))

    def _centre(self, gram: np.ndarray) -> np.ndarray:
        """The kernel about the mean of the rows in its space; refuses what no hyperplane could separate."""
        spectrum = decompose(gram, np.float64, centred=True)
        spectrum.check_margin(self.kernel, len(gram))
        if not spectrum.projection.shape[1]:
            raise InvalidDataError(
                f"Kernel {self.kernel!r} maps all {len(gram)} rows to the same point; choose other parameters, such "
                "as a larger gamma."
            )
        return centre_kernel((gram + gram.T) / 2)

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
