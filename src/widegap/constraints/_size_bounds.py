"""Bounds on cluster sizes: as users give them, and as the label steps want them.

A bound is a number of rows (int), a share of all rows (float up to 1), or one of these for every cluster. Shares are
rounded so that 1 / k can be met whatever n is: down for the least size, up for the largest.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widegap.exceptions import InfeasibleBalanceError

LARGEST_BOUND = 2**40  # so that sums of bounds stay below 2^63
SHARE_ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996


def read_sizes(
    size_min: Any, size_max: Any, n_rows: int, n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and largest number of rows of every cluster, checked against the number of rows.

    Parameters
    ----------
    size_min, size_max : None, int, float or sequence of n_clusters of them
        None sets no bound.
    n_rows, n_clusters : int
        What the bounds are for.

    Returns
    -------
    lower, upper : ndarray of shape (n_clusters,)

    Raises
    ------
    InfeasibleBalanceError
        If a bound is none, or if no sizes can meet them, with the sums.
    """
    lower = _read_bound(size_min, "size_min", n_rows, n_clusters, np.floor, SHARE_ROUNDING, 0)
    upper = _read_bound(size_max, "size_max", n_rows, n_clusters, np.ceil, -SHARE_ROUNDING, n_rows)
    crossed = np.flatnonzero(lower > upper)
    if len(crossed):
        p = crossed[0]
        raise InfeasibleBalanceError(
            f"size_min asks for {lower[p]} rows in cluster {p} and size_max allows {upper[p]}; lower the one or raise "
            "the other."
        )
    if lower.sum() > n_rows:
        raise InfeasibleBalanceError(
            f"size_min={size_min!r} asks for {_summed(lower)} rows, but there are {n_rows}; lower it or n_clusters."
        )
    if upper.sum() < n_rows:
        raise InfeasibleBalanceError(
            f"size_max={size_max!r} leaves room for {_summed(upper)} rows, but there are {n_rows}; raise it or "
            "n_clusters."
        )
    return lower, upper


def fewest_of_size(size_max: Any, n_rows: int) -> int:
    """The least number of clusters in which all rows have room; that of the bounds, if there is one for each."""
    if size_max is None:
        return 1
    if not isinstance(size_max, Real):
        return len(size_max)
    (most,) = _read_bound(size_max, "size_max", n_rows, 1, np.ceil, -SHARE_ROUNDING, n_rows)
    return -(-n_rows // max(1, int(most)))


def check_known_sizes(
    lower: NDArray[np.int64], upper: NDArray[np.int64], known: NDArray[np.int64], n_rows: int
) -> None:
    """Refuse bounds that rows whose clusters are known make impossible; ``known`` is their number in every cluster."""
    over = np.flatnonzero(known > upper)
    if len(over):
        p = over[0]
        raise InfeasibleBalanceError(
            f"{known[p]} rows are known to be in cluster {p}, but size_max allows {upper[p]}; raise size_max or remove "
            "labels."
        )
    needed = np.maximum(lower, known)
    if needed.sum() > n_rows:
        raise InfeasibleBalanceError(
            f"Known labels and size_min ask for {_summed(needed)} rows, but there are {n_rows}; lower size_min."
        )


def feasible_minimum(least: int, known: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """A least size for all clusters, lowered where rows whose clusters are known leave too few others."""
    while least and np.maximum(least, known).sum() > n_rows:
        least -= 1
    return np.where(known < least, least, 0)


def scale_sizes(
    lower: NDArray[np.int64], upper: NDArray[np.int64], known: NDArray[np.int64], n_rows: int, n_sampled: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bounds for a sample of the rows, in proportion, but so that labels that are known in it can be kept."""
    share = n_sampled / n_rows
    upper = np.maximum(np.ceil(upper * share).astype(np.int64), known)
    lower = np.minimum(np.floor(lower * share).astype(np.int64), upper)
    while np.maximum(lower, known).sum() > n_sampled:
        lower = lower // 2
    return lower, upper


def _summed(sizes: NDArray[np.int64]) -> str:
    if len(set(sizes.tolist())) == 1:
        return f"{len(sizes)} x {sizes[0]} = {sizes.sum()}"
    return f"{' + '.join(map(str, sizes))} = {sizes.sum()}"


def _read_bound(
    bound: Any, name: str, n_rows: int, n_clusters: int, rounding: Any, slack: float, default: int
) -> NDArray[np.int64]:
    """One number of rows for every cluster."""
    if bound is None:
        return np.full(n_clusters, default)
    each = [bound] * n_clusters if isinstance(bound, Real) else list(bound)
    if len(each) != n_clusters:
        raise InfeasibleBalanceError(
            f"{name} has {len(each)} entries, but n_clusters={n_clusters}; pass one number, or one for every cluster."
        )
    for value in each:
        is_share = isinstance(value, Real) and not isinstance(value, Integral)
        is_count = isinstance(value, Integral) and not isinstance(value, bool)
        if not (is_count and 0 <= float(value) <= LARGEST_BOUND or is_share and 0 <= float(value) <= 1):
            raise InfeasibleBalanceError(
                f"{name} holds {value!r}; give a number of rows as an integer from 0 to 2^40, or a share of all rows "
                "as a float from 0 to 1."
            )
    counts = [v if isinstance(v, Integral) else int(rounding(float(v) * n_rows + slack)) for v in each]
    return np.clip(np.array(counts, dtype=np.int64), 0, None)


def check_min_counts(min_counts: ArrayLike, n: int, k: int) -> NDArray[np.int64]:
    """Return min_counts as int64 after checking that n rows in k clusters can satisfy it."""
    m = np.asarray(min_counts)
    if m.shape != (k,):
        raise InfeasibleBalanceError(
            f"min_counts has shape {m.shape} but costs has {k} columns; there must be one lower bound "
            f"per cluster. Pass an array of shape ({k},)."
        )
    if m.dtype.kind not in "iu" or np.any(m < 0):
        raise InfeasibleBalanceError(
            f"min_counts = {m}; lower bounds on cluster sizes must be integers >= 0. "
            "Round fractions of rows down and use 0 for no bound."
        )
    # Python integers, because a sum in int64 can wrap round to a small number.
    total = sum(m.tolist())
    if total > n:
        raise InfeasibleBalanceError(
            f"min_counts sums to {total} but there are only {n} rows; the lower bounds together must not "
            "exceed the number of rows. Lower the bounds or the number of clusters."
        )
    return m.astype(np.int64)


def check_max_counts(max_counts: ArrayLike, m: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return max_counts as int64 after checking that n rows can satisfy them and the lower bounds."""
    most = np.asarray(max_counts)
    if most.shape != m.shape or most.dtype.kind not in "iu" or np.any(most < m):
        raise InfeasibleBalanceError(
            f"max_counts = {most} with min_counts = {m}; upper bounds on cluster sizes must be integers, one per "
            "cluster, and not below the lower bounds. Raise them."
        )
    total = sum(most.tolist())
    if total < n:
        raise InfeasibleBalanceError(
            f"max_counts sums to {total} but there are {n} rows; the upper bounds together must leave room for all "
            "rows. Raise the bounds or the number of clusters."
        )
    return np.minimum(most, n).astype(np.int64)
