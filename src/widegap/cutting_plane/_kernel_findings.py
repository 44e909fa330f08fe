"""What MKC finds out about its kernels, before and after the search, and what it warns of."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._warnings import warn_caller
from widegap.cutting_plane._norms import KernelNorm
from widegap.exceptions import InvalidDataError, KernelWarning
from widegap.features._kernel_stack import KernelStack
from widegap.rows._centred import CentredRows, optional_state

ONE_DIRECTION = 1.1  # effective rank below which nearly all of a kernel lies in one direction


def check_kernels(stack: KernelStack, n_rows: int, n_clusters: int) -> None:
    """Say which kernels are indefinite or constant; refuse several clusters if all are constant."""
    if not stack.active and n_clusters > 1:
        raise InvalidDataError(
            f"All {len(stack.kernels)} kernels are constant on the {n_rows} rows, so they cannot be separated into "
            f"{n_clusters} clusters; use fewer clusters or check the data."
        )
    for kernel in stack.kernels:
        if kernel.negative_share > 0:
            _warn(
                f"Kernel {kernel.name!r} is not positive semidefinite: {kernel.negative_share:.1%} of its spectrum "
                "is negative and was left out; use another kernel, or K @ K.T of a similarity matrix K."
            )
        if kernel.map is None:
            _warn(f"Kernel {kernel.name!r} is constant on these rows and gets the weight 0; leave it out.")


def warn_of_collapse(objective: float, tol: float) -> None:
    """Say that nothing was separated."""
    _warn(
        f"The objective of {objective:.4g} is no better, within tol={tol}, than where nothing is separated; the labels "
        "mean little. Raise C, lower balance or change the kernels."
    )


def warn_of_one_direction(names: list[str], weights: Any, ranks: Any) -> None:
    """Say that the heaviest kernel owes its weight to lying in one direction, if it does and others do not."""
    heaviest = int(weights.argmax())
    if ranks[heaviest] < ONE_DIRECTION and (np.delete(ranks, heaviest) >= 2).any():
        _warn(
            f"Kernel {names[heaviest]!r} has the largest weight, {weights[heaviest]:.2f}, but nearly all its variance "
            "is in one direction, which gives margin whatever that direction means; compare with a fit without it."
        )


def _warn(message: str) -> None:
    warn_caller(message, KernelWarning)


def largest_lead(rows: CentredRows, beta: float) -> float:
    """A difference of biases that no solution exceeds, as it would give all rows to one cluster, and some to spare.

    At a solution the regulariser is at most 1, the loss of zero weights: |W|^2 <= 2 / beta. A larger bound on the mean
    scores means the same, and only costs the master its digits.
    """
    mean = rows.mean
    largest = rows.blocks.reduce(
        lambda block: _Largest(float(np.square(block.take(slice(None)) - mean).sum(axis=1).max()))
    )
    assert largest is not None
    return 1 + 2 * float(np.sqrt(largest.value / beta)) / rows.scale


@dataclass(frozen=True)
class _Largest:
    """A number; their sum is the largest."""

    value: float

    def __add__(self, other: "_Largest") -> "_Largest":
        return _Largest(max(self.value, other.value))


def kernel_margins(rows: CentredRows, norm: KernelNorm, point: Any) -> Any:
    """Mean lead of a row's cluster over its best rival that each kernel contributes: one read."""
    k, ends = len(point.W), np.cumsum(norm.sizes)
    W = np.tile(point.W, (1 + len(ends), 1))  # of all kernels, then of each alone
    for m, (stop, size) in enumerate(zip(ends, norm.sizes, strict=True), start=1):
        W[m * k : (m + 1) * k, : stop - size] = 0
        W[m * k : (m + 1) * k, stop:] = 0
    b = np.concatenate([point.b, np.zeros(k * len(ends))])

    def leads(scores: Any, labels: Any, *weights: Any) -> Any:
        everyone = np.arange(len(labels))
        scores = scores.reshape(len(labels), -1, k)
        others = scores[:, 0].copy()
        others[everyone, labels] = -np.inf
        parts = scores[everyone, 1:, labels] - scores[everyone, 1:, others.argmax(axis=1)]
        return (parts * weights[0][:, None] if weights else parts).sum(axis=0, dtype=np.float64)

    return rows.sum_scores(W, b, leads, point.labels, *optional_state(rows.weights)) / rows.total
