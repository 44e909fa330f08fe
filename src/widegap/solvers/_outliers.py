"""Rows that lie apart from all others: which to set aside, and where to draw the line for new rows.

The distance from a row to its ``NEAR``-th neighbour *among the rows that are kept* is what counts, on a logarithmic
scale, so that units play no part. With a share it is the largest ones that are set aside. With "auto" it is those
beyond

    median + CLEAR * 1.4826 median absolute deviation

of the kept rows: 1.4826 makes it a standard deviation where the logarithms are normal. Distances, median and deviation
are taken anew in every round, and rows may come back, until nothing changes: outliers do not vouch for each other, and
do not widen the measure by which they are judged.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widegap.solvers._result import FloatArray

NEAR = 5  # the neighbour whose distance counts
CLEAR = 2.5  # settled on scikit-learn's digits with and without noise
ROUNDS = 20
NORMAL = 1.4826
ROUNDING = 1e-6  # of the span of all scores


def typical_rows(
    nearest: NDArray[np.int64], distances: FloatArray, outliers: Any, held: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which rows to keep, by the nearest other rows of every row, two tables (n, neighbours).

    ``outliers`` is a share of the rows or "auto"; rows that are ``held`` always stay.
    """
    kept = np.ones(len(nearest), dtype=bool)
    for _ in range(ROUNDS):
        reach = _distance_to_kept(nearest, distances, kept)
        judge = _beyond_bulk if outliers == "auto" else _farthest
        now = ~judge(reach, kept, outliers) | held
        if np.array_equal(now, kept):
            break
        kept = now
    return kept


def _distance_to_kept(nearest: Any, distances: FloatArray, kept: NDArray[np.bool_]) -> FloatArray:
    """Logarithm of the distance to the last of ``NEAR`` kept neighbours, infinite where there are not so many."""
    count = min(NEAR, nearest.shape[1])
    seen = np.cumsum(kept[nearest], axis=1)
    place = (seen >= count).argmax(axis=1)
    found = np.where(seen[:, -1] >= count, distances[np.arange(len(place)), place], np.inf)
    return np.log(np.maximum(found, np.finfo(np.float64).tiny))


def _beyond_bulk(reach: FloatArray, kept: NDArray[np.bool_], outliers: Any) -> NDArray[np.bool_]:
    bulk = reach[kept & np.isfinite(reach)]
    middle = np.median(bulk) if len(bulk) else np.inf
    spread = NORMAL * np.median(np.abs(bulk - middle)) if len(bulk) else 0.0
    return reach > middle + CLEAR * spread if spread > 0 else np.zeros(len(reach), dtype=bool)


def _farthest(reach: FloatArray, kept: NDArray[np.bool_], outliers: Any) -> NDArray[np.bool_]:
    out = np.zeros(len(reach), dtype=bool)
    count = round(outliers * len(reach))
    out[np.argsort(-reach, kind="stable")[:count]] = True
    return out


def split_point(inside: FloatArray, outside: FloatArray) -> float:
    """The value below which rows are taken for outliers, with the least sum of both rates of error on these.

    It is the least value inside, but for rounding, where nothing is outside.
    """
    if not len(outside):
        return float(inside.min() - ROUNDING * np.ptp(inside))  # the same row gets its score in other ways later
    values = np.concatenate([inside, outside])
    order = np.argsort(values, kind="stable")
    is_out = order >= len(inside)
    # If the line is drawn at the i-th value, rows inside before it are lost, and rows outside from it on get in.
    lost = np.cumsum(np.append(0, ~is_out)) / len(inside)
    let_in = np.append(np.cumsum(is_out[::-1])[::-1], 0) / len(outside)
    best = int(np.argmin(lost + let_in))
    return float(values[order[best]]) if best < len(values) else float(np.nextafter(values[order[-1]], np.inf))
