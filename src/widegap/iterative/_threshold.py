"""The label step of the iterative methods: the best threshold on decision values, with bounded cluster sizes.

    minimise  sum_i loss(f_i + b, y_i)   over b and y in {-1, +1}^n,   low <= #{y_i = +1} <= high

With the values in descending order, the best labels for a given number m of positives are +1 for the m largest
(Proposition 2 of Zhang, Tsang and Kwok), so that a labeling is a place to cut the sorted list. For each
of the n - 1 cuts the best b is known in closed form up to an order statistic:

    square    b = mean(y - f)
    absolute  b = median(y - f); the union of two sorted lists, 1 - f of the positives and -1 - f of the others
    hinge     the slope in b begins at -m and gains one at every member of that union: b = its m-th smallest member

One binary search over all cuts at once finds the order statistic and prefix sums give the loss: O(n log n) altogether.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from widegap._types import Doubles, Ints, Mask
from widegap.exceptions import InfeasibleBalanceError

TIE_TOL = 1e-12  # values nearer than this, relative to their largest difference, differ by rounding only
NO_SPREAD = 1e-13  # absolute: values are regressions on -1 and 1

CutLosses = Callable[[Doubles], tuple[Doubles, Doubles]]
Bounds = list[tuple[int, int]]  # fewest and most positives, or several such intervals


@dataclass(frozen=True)
class LabelCut:
    """The best cut.

    Attributes
    ----------
    y : ndarray of shape (n,)
        -1.0 or 1.0.
    bias : float
        A number b for which ``sign(f + b)`` equals y, unless equal values were divided: the best one if that
        separates, else half-way between the two values at the cut.
    loss : float
        The sum of losses at the best b.
    n_positive : int
        Number of labels +1.
    bound_active : bool
        Whether a cut outside the bounds would have had a smaller loss, or equal values were divided.
    """

    y: Doubles
    bias: float
    loss: float
    n_positive: int
    bound_active: bool


def bisection_bounds(n: int, min_fraction: float, n_leaves: int = 2) -> Bounds:
    """Fewest and most positives of a bisection whose two sides will be ``n_leaves`` clusters in the end.

    A side that will be s of them has at least ``min_fraction`` of the n s / n_leaves rows of equal clusters, widened to
    the nearest whole numbers. Where n_leaves is odd either side may be the larger one: then there are two intervals.
    """
    return [_side_bounds(n, min_fraction, s / n_leaves) for s in sorted({n_leaves // 2, (n_leaves + 1) // 2})]


def _side_bounds(n: int, min_fraction: float, share: float) -> tuple[int, int]:
    even, rounding = share * n, 1e-12 * n  # 0.94 * 100 / 2 is a little below 47
    low = min(np.ceil(min_fraction * even - rounding), np.floor(even))
    high = max(np.floor(n - min_fraction * (n - even) + rounding), np.ceil(even))
    return max(1, int(low)), min(n - 1, int(high))


def square_losses(values: Doubles) -> tuple[Doubles, Doubles]:
    """Losses and best biases of all cuts of descending values; entry m - 1 belongs to m positives."""
    n = len(values)
    m = np.arange(1, n)
    total = values.sum()
    shift = (2 * m - n) - total  # sum of y - f
    correlation = 2 * np.cumsum(values)[:-1] - total  # sum of y f
    return n + values @ values - 2 * correlation - shift**2 / n, shift / n


def absolute_losses(values: Doubles) -> tuple[Doubles, Doubles]:
    """As ``square_losses`` for |f + b - y|."""
    n = len(values)
    m = np.arange(1, n)
    k = np.full(n - 1, (n + 1) // 2)
    from_top, lower, upper = _order_statistic(values, k)
    upper = upper if n % 2 == 0 else lower
    top, rest = _part_sums(values, from_top, k - from_top)
    # (members above b) - (members below b), and b times their difference in number
    loss = (top[1] + rest[1]) - (top[0] + rest[0]) + lower * (2 * k - n)
    # sums of 1 - f and -1 - f: the signs of the constants
    constants = (m - 2 * from_top) - ((n - m) - 2 * (k - from_top))
    return loss + constants, (lower + upper) / 2


def hinge_losses(values: Doubles) -> tuple[Doubles, Doubles]:
    """As ``square_losses`` for max(0, 1 - y (f + b))."""
    n = len(values)
    m = np.arange(1, n)
    from_top, lower, upper = _order_statistic(values, m)
    from_rest = m - from_top
    top, rest = _part_sums(values, from_top, from_rest)
    # Positives above b lose (1 - f) - b, others below b lose b - (-1 - f); there are equally many, so b drops out.
    return (m - from_top) + top[1] + from_rest - rest[0], (lower + upper) / 2


def _order_statistic(values: Doubles, k: Ints) -> tuple[Ints, Doubles, Doubles]:
    """For every cut: how many of the k smallest members of the union are positives' ones; members k and k + 1.

    The union of the cut m is ``1 - values[:m]`` and ``-1 - values[m:]``, both ascending.
    """
    n = len(values)
    m = np.arange(1, n)
    padded = np.concatenate([values, [-np.inf]])
    low, high = np.maximum(0, k - (n - m)), np.minimum(k, m)
    for _ in range(int(n).bit_length() + 1):
        # The smallest i with top[i] >= rest[k - i - 1]: then the k smallest are i of the top and k - i of the rest.
        middle = (low + high) // 2
        enough = (middle >= high) | (
            1 - padded[np.minimum(middle, n)] >= -1 - padded[np.clip(m + k - middle - 1, 0, n)]
        )
        low, high = np.where(enough, low, middle + 1), np.where(enough, np.minimum(middle, high), high)
    i, j = high, k - high

    def member(index: Ints, inside: Mask, offset: float, otherwise: float) -> Doubles:
        return np.where(inside, offset - values[np.clip(index, 0, n - 1)], otherwise)

    lower = np.maximum(member(i - 1, i > 0, 1, -np.inf), member(m + j - 1, j > 0, -1, -np.inf))
    upper = np.minimum(member(i, i < m, 1, np.inf), member(m + j, m + j < n, -1, np.inf))
    return i, lower, np.where(np.isfinite(upper), upper, lower)


def _part_sums(
    values: Doubles, from_top: Ints, from_rest: Ints
) -> tuple[tuple[Doubles, Doubles], tuple[Doubles, Doubles]]:
    """Sums of -values over the first ``from_top`` positives and the other ones, and the same for the rest."""
    n = len(values)
    m = np.arange(1, n)
    sums = np.concatenate([[0.0], np.cumsum(-values)])
    top = sums[from_top], sums[m] - sums[from_top]
    rest = sums[m + from_rest] - sums[m], sums[n] - sums[m + from_rest]
    return top, rest


def best_split(f: Doubles, losses: CutLosses, bounds: Bounds, tie_tol: float = TIE_TOL) -> LabelCut:
    """The labels and bias of least loss among the cuts whose number of positives is within one of the bounds.

    Equal values are divided only where no other cut is within the bounds, and then in the order of the rows, so that
    every bound can be met. InfeasibleBalanceError if all values are equal: nothing is known about the rows.
    """
    n = len(f)
    order = np.argsort(-f, kind="stable")
    values = f[order]
    distinct = values[:-1] - values[1:] > max(tie_tol * float(values[0] - values[-1]), NO_SPREAD)
    if not distinct.any():
        raise InfeasibleBalanceError(
            f"All {n} decision values are equal, so no threshold separates them; raise C, change the kernel's width, "
            "or check the data for equal rows."
        )
    m = np.arange(1, n)
    within = np.any([(m >= low) & (m <= high) for low, high in bounds], axis=0)
    feasible = within & distinct if (within & distinct).any() else within
    # A common shift of the values shifts b alone; without it long sums would lose digits.
    centre = float(values.mean())
    loss, bias = losses(values - centre)
    best = int(np.argmin(np.where(feasible, loss, np.inf)))
    overall = float(np.min(loss[distinct]))
    y = np.full(n, -1.0)
    y[order[: best + 1]] = 1.0
    b = float(bias[best]) - centre
    if not values[best + 1] < -b < values[best]:
        b = -float(values[best] + values[best + 1]) / 2
    active = loss[best] > overall + 1e-12 * max(1.0, abs(overall)) or not distinct[best]
    return LabelCut(y, b, float(loss[best]), best + 1, bool(active))
