"""What MKC finds out about its kernels, before and after the search, and what it warns of."""

from typing import Any

import numpy as np

from widegap._warnings import warn_caller
from widegap.data._centred import CentredRows
from widegap.data._kernel_stack import KernelStack
from widegap.exceptions import KernelWarning
from widegap.problems._norms import KernelNorm

ONE_DIRECTION = 1.1  # effective rank below which nearly all of a kernel lies in one direction


def warn_of_kernels(stack: KernelStack) -> None:
    """Say which kernels are indefinite or constant."""
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
    squared = rows.blocks.map(lambda block: np.square(block.take(slice(None)) - rows.mean).sum(axis=1))
    return 1 + 2 * float(np.sqrt(squared.max() / beta)) / rows.scale


def kernel_margins(rows: CentredRows, norm: KernelNorm, point: Any) -> Any:
    """Mean lead of a row's cluster over its best rival that each kernel contributes: one read a kernel, and one."""
    everyone = np.arange(rows.shape[0])
    scores = rows.scores(point.W, point.b)
    scores[everyone, point.labels] = -np.inf
    rivals = scores.argmax(axis=1)
    ends = np.cumsum(norm.sizes)
    margins = []
    for stop, size in zip(ends, norm.sizes, strict=True):
        W = np.zeros_like(point.W)
        W[:, stop - size : stop] = point.W[:, stop - size : stop]
        parts = rows.scores(W, np.zeros(len(W)))
        margins.append((parts[everyone, point.labels] - parts[everyone, rivals]).mean())
    return np.array(margins)
