"""Outliers: rows far from all others, and the value that separates them from other rows in new data.

What counts is the distance from a row to its ``NTH_NEIGHBOUR``-th neighbour *among the rows that are kept*, on a
logarithmic scale, so that units play no part. With a share, the rows with the largest distances are outliers. With
"auto" it is those beyond

    median + OUTLYING_DEVIATIONS * 1.4826 median absolute deviation

of the kept rows: 1.4826 makes it a standard deviation where the logarithms are normal. Distances, median and deviation
are computed again in every round, and rows may come back, until nothing changes: outliers do not support each other,
and do not widen the measure by which they are judged.

A cluster of few rows has wide gaps between them even if it is as compact as the others, so that this measure would take
it for noise. So "auto" keeps *secluded* groups: a set S of more than ``NTH_NEIGHBOUR`` rows, and of no more than a row
has neighbours in the tables, with

    min over i in S, j not in S of d(i, j)  >  max over i, j in S of d(i, j).

Stray rows hardly ever form one: in many dimensions they are about as far from each other as from all others.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widegap._types import Floats

NTH_NEIGHBOUR = 5  # whose distance counts: a few stray rows together must not pass for a cluster; not tuned
OUTLYING_DEVIATIONS = 2.5  # settled on scikit-learn's digits with and without noise
OUTLIER_ROUNDS = 20  # choices that have not settled by then may go back and forth; not tuned
NORMAL_DEVIATION = 1.4826  # standard deviation of a normal law over its median absolute deviation
SCORE_ROUNDING = 1e-6  # of the span of all scores


def typical_rows(
    nearest: NDArray[np.int64], distances: Floats, outliers: Any, held: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which rows to keep, by the nearest other rows of every row, two tables (n, neighbours).

    ``outliers`` is a share of the rows or "auto"; rows that are ``held`` always stay.
    """
    kept = np.ones(len(nearest), dtype=bool)
    if outliers == "auto":
        held = held | in_secluded_groups(nearest, distances)
    for _ in range(OUTLIER_ROUNDS):
        reach = _distance_to_kept(nearest, distances, kept)
        judge = _beyond_bulk if outliers == "auto" else _farthest
        now = ~judge(reach, kept, outliers) | held
        if np.array_equal(now, kept):
            break
        kept = now
    return kept


def least_outlying_reach(nearest: NDArray[np.int64], distances: Floats, kept: NDArray[np.bool_]) -> float:
    """The least distance of an outlier to its ``NTH_NEIGHBOUR``-th kept neighbour; infinite without outliers."""
    reach = _distance_to_kept(nearest, distances, kept)
    return float(np.exp(reach[~kept].min(initial=np.inf)))


def in_secluded_groups(nearest: NDArray[np.int64], distances: Floats) -> NDArray[np.bool_]:
    """Which rows are in a secluded group: more than ``NTH_NEIGHBOUR`` rows, farther from others than from each other.

    The other rows of such a group of m + 1 are the m nearest of each of them. So m + 1 rows have the same set of
    themselves and their m nearest, which a sum of random numbers, one a row, identifies.
    """
    n, count = nearest.shape
    found = np.zeros(n, dtype=bool)
    sign = np.asarray(np.random.default_rng(0).integers(2**63, size=n, dtype=np.uint64))
    sums = sign[:, None] + np.cumsum(sign[nearest], axis=1, dtype=np.uint64)  # modulo 2^64
    for m in range(NTH_NEIGHBOUR, count):
        _, group, sizes = np.unique(sums[:, m - 1], return_inverse=True, return_counts=True)
        whole = np.flatnonzero(sizes[group] == m + 1)
        if len(whole):
            widest, nearest_other = np.zeros(len(sizes)), np.full(len(sizes), np.inf)
            np.maximum.at(widest, group[whole], distances[whole, m - 1])
            np.minimum.at(nearest_other, group[whole], distances[whole, m])
            found[whole] |= (nearest_other > widest)[group[whole]]
    return found


def _distance_to_kept(nearest: Any, distances: Floats, kept: NDArray[np.bool_]) -> Floats:
    """Logarithm of the distance to the ``NTH_NEIGHBOUR``-th kept neighbour, infinite where there are fewer."""
    count = min(NTH_NEIGHBOUR, nearest.shape[1])
    seen = np.cumsum(kept[nearest], axis=1)
    place = (seen >= count).argmax(axis=1)
    found = np.where(seen[:, -1] >= count, distances[np.arange(len(place)), place], np.inf)
    return np.log(np.maximum(found, np.finfo(np.float64).tiny))


def _beyond_bulk(reach: Floats, kept: NDArray[np.bool_], outliers: Any) -> NDArray[np.bool_]:
    bulk = reach[kept & np.isfinite(reach)]
    middle = np.median(bulk) if len(bulk) else np.inf
    spread = NORMAL_DEVIATION * np.median(np.abs(bulk - middle)) if len(bulk) else 0.0
    return reach > middle + OUTLYING_DEVIATIONS * spread if spread > 0 else np.zeros(len(reach), dtype=bool)


def _farthest(reach: Floats, kept: NDArray[np.bool_], outliers: Any) -> NDArray[np.bool_]:
    out = np.zeros(len(reach), dtype=bool)
    count = round(outliers * len(reach))
    out[np.argsort(-reach, kind="stable")[:count]] = True
    return out


def split_point(inside: Floats, outside: Floats) -> float:
    """The value below which rows are taken for outliers, with the least sum of both rates of error on these.

    Without values outside it is the least value inside, less rounding.
    """
    if not len(outside):
        return float(inside.min() - SCORE_ROUNDING * np.ptp(inside))  # the same row gets its score in other ways later
    values = np.concatenate([inside, outside])
    order = np.argsort(values, kind="stable")
    is_out = order >= len(inside)
    # If the line is drawn at the i-th value, rows inside before it are lost, and rows outside from it on get in.
    lost = np.cumsum(np.append(0, ~is_out)) / len(inside)
    let_in = np.append(np.cumsum(is_out[::-1])[::-1], 0) / len(outside)
    best = int(np.argmin(lost + let_in))
    return float(values[order[best]]) if best < len(values) else float(np.nextafter(values[order[-1]], np.inf))
