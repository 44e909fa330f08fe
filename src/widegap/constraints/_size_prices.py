"""Cheapest labels under lower bounds on cluster sizes, where the costs of the rows are held elsewhere.

The problem and its dual are those of ``_transport.py``: k prices pi >= 0 such that every row minimises c[i, p] - pi[p]
and every cluster has its least number of rows. Rows do not travel; prices go out and counts come back.

Row i joins cluster p when pi[p] exceeds its *threshold*

    t[i, p] = c[i, p] - min over q != p of (c[i, q] - pi[q]),

so that the least price at which p has enough rows, the other prices held, is an order statistic of thresholds, or 0.
It is found by histograms of ``COST_BINS`` bins, one fold over the costs each, the next inside the bin where the wanted
rank lies. All clusters do so at once, again and again. That map of prices to prices is monotone, as dearer rivals make
a cluster dearer, and its least fixed point are the optimal prices: from below they are only raised, as in an auction.
It begins near them, at the prices of the exact solution on ``PRICED_ROWS`` rows.

How exact: costs get an addition of up to ``TIE_NOISE`` of their range, drawn for every row, so that equal rows differ
and a price can split them; prices are found to a tenth of that. So the labels are the cheapest for the sizes they have,
up to ``TIE_NOISE`` of the range of the costs a row. A cluster may lack ``SHORTFALL`` of its least number of rows, or,
with a price, have as many too many; it never lacks all.

Where clusters outbid each other for the same rows by ever so little, or rows are equal, prices take too many rounds.
Then the ``PRICED_ROWS`` rows that change their cluster most easily are labelled exactly, and all other rows stay.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from widegap._types import Floats
from widegap.constraints._transport import assign
from widegap.exceptions import SolverError

COST_BINS = 4096  # 12 bits of a price in one pass over the rows; not tuned
TIE_NOISE = 1e-9  # of the range of the costs: splits equal rows, and is far below what decides labels
SHORTFALL = 1e-3  # of a least size that may be lacking: exact sizes would take more passes over the rows
PRICED_ROWS = 10_000  # labelled exactly in this process; not tuned
PRICE_ROUNDS = 60  # prices that have not settled by then outbid each other by ever less; not tuned


class Costs(Protocol):
    """Rows that can run a function over a state of theirs (``Rows.fold``)."""

    shape: tuple[int, int]
    in_process: bool

    def fold(self, function: Callable[..., Any], *state: Any) -> tuple[tuple[Any, ...], Any]: ...

    def collect(self, state: Any) -> Any: ...

    def numbers(self) -> Any: ...


@dataclass(frozen=True)
class PricedLabels:
    """Labels as a state, and the prices (k,) at which they are the cheapest."""

    labels: Any
    prices: Floats


def assign_by_prices(rows: Costs, costs: Any, min_counts: Any) -> PricedLabels:
    """Labels of the rows at least total cost, up to the tolerances above, within least sizes."""
    wanted = np.asarray(min_counts, np.int64)
    slack = np.floor(SHORTFALL * wanted).astype(np.int64)
    least, enough = np.maximum(wanted - slack, np.minimum(wanted, 1)), wanted + slack
    span = _range(rows, costs)
    (costs,), _ = rows.fold(lambda costs: ((_split(costs, TIE_NOISE * span),), 0), costs)
    prices = _sample_prices(rows, costs, wanted)
    for _ in range(PRICE_ROUNDS):
        counts = _sizes(rows, costs, prices)
        off = (counts < least) | ((prices > 0) & (counts > enough))
        if not off.any():
            break
        prices = _renewed(rows, costs, prices, np.flatnonzero(off), wanted[off], span)
    else:
        counts = _sizes(rows, costs, prices)
        if (counts < least).any():
            return PricedLabels(_mended(rows, costs, prices, wanted, counts), prices)
    (labels,), _ = rows.fold(lambda costs: ((_labels(costs, prices),), 0), costs)
    return PricedLabels(labels, prices)


def _sizes(rows: Costs, costs: Any, prices: Floats) -> Any:
    """Numbers of rows of the clusters at given prices."""
    return rows.fold(lambda costs: ((), _counts(costs, prices)), costs)[1]


def _mended(rows: Costs, costs: Any, prices: Floats, wanted: Any, counts: Any) -> Any:
    """Labels at these prices, except of the rows nearest to another cluster, which are labelled so that sizes hold."""
    numbers = rows.numbers()
    near = rows.fold(lambda costs, numbers: ((), _nearest(costs, numbers, prices)), costs, numbers)[1]
    others = counts - _counts(near.costs, prices)
    needed = np.maximum(wanted - others, 0)
    if needed.sum() > len(near.numbers):
        p = int((wanted - counts).argmax())
        raise SolverError(
            f"Cluster {p} got {counts[p]} rows in {PRICE_ROUNDS} rounds of prices, but must have {wanted[p]}, which "
            f"moving {len(near.numbers)} rows does not mend; lower size_min or min_cluster_fraction, or fit a sample "
            "in memory and predict the rest."
        )
    order = np.argsort(near.numbers)
    chosen, labels = near.numbers[order], assign(near.costs[order], needed).labels

    def label(costs: Floats, numbers: Any) -> Any:
        places = np.minimum(np.searchsorted(chosen, numbers), len(chosen) - 1)
        return ((np.where(chosen[places] == numbers, labels[places], _labels(costs, prices)),), 0)

    return rows.fold(label, costs, numbers)[0][0]


def _renewed(rows: Costs, costs: Any, prices: Floats, some: Any, wanted: Any, span: float) -> Floats:
    """The least prices of some clusters, each for itself, that give them the wanted numbers of rows."""
    # Above what the others pay, and by the range of costs, every row would join.
    low, high = np.zeros(len(some)), np.full(len(some), prices.max() + 2 * span)
    each = np.arange(len(some))
    while (high - low).max() > TIE_NOISE / 10 * span:
        joined = rows.fold(lambda costs, low=low, high=high: ((), _ranks(costs, prices, some, low, high)), costs)[1]
        place = np.clip((joined < wanted[:, None]).sum(axis=1), 0, COST_BINS)  # the first edge with enough rows
        edges = np.linspace(low, high, COST_BINS + 1, axis=1)
        low, high = edges[each, np.maximum(place - 1, 0)], edges[each, place]
    prices = prices.copy()
    prices[some] = high
    return prices


def _sample_prices(rows: Costs, costs: Any, wanted: Any) -> Floats:
    """Prices of the exact solution on some rows."""
    step = max(1, rows.shape[0] // PRICED_ROWS)
    found = rows.fold(lambda costs: ((), _Gathered([costs[::step]])), costs)[1]
    some = np.concatenate(found.parts)
    return assign(some, wanted * len(some) // rows.shape[0]).prices


def _range(rows: Costs, costs: Any) -> float:
    found = rows.fold(lambda costs: ((), _Extremes(-float(costs.min()), float(costs.max()))), costs)[1]
    return max(found.high + found.low, 1e-300)


@dataclass(frozen=True)
class _Extremes:
    """Minus the least and the largest value."""

    low: float
    high: float

    def __add__(self, other: "_Extremes") -> "_Extremes":
        return _Extremes(max(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class _Gathered:
    """A few rows of every shard."""

    parts: list[Any]

    def __add__(self, other: "_Gathered") -> "_Gathered":
        return _Gathered(self.parts + other.parts)


@dataclass(frozen=True)
class _Nearest:
    """The rows that lose least by another cluster: what they lose, their numbers and costs."""

    losses: Floats
    numbers: Any
    costs: Floats

    def __add__(self, other: "_Nearest") -> "_Nearest":
        losses = np.concatenate([self.losses, other.losses])
        first = np.argsort(losses, kind="stable")[:PRICED_ROWS]
        numbers, costs = np.concatenate([self.numbers, other.numbers]), np.concatenate([self.costs, other.costs])
        return _Nearest(losses[first], numbers[first], costs[first])


def _nearest(costs: Floats, numbers: Any, prices: Floats) -> _Nearest:
    """Up to ``PRICED_ROWS`` rows that lose least by another cluster than that of least cost minus price."""
    two = np.partition(costs - prices, 1, axis=1)
    losses = two[:, 1] - two[:, 0]
    first = np.argsort(losses, kind="stable")[:PRICED_ROWS]
    return _Nearest(losses[first], numbers[first], costs[first])


def _split(costs: Floats, size: float) -> Floats:
    """Costs in float64, with additions that make equal rows differ."""
    return costs + size * np.random.default_rng(len(costs)).random(costs.shape)


def _labels(costs: Floats, prices: Floats) -> Any:
    return (costs - prices).argmin(axis=1).astype(np.int32)


def _counts(costs: Floats, prices: Floats) -> Any:
    return np.bincount(_labels(costs, prices), minlength=len(prices))


def _ranks(costs: Floats, prices: Floats, some: Any, low: Floats, high: Floats) -> Any:
    """For some clusters and every edge between low and high, how many rows join at that price."""
    reduced = costs - prices
    found = []
    for p, start, stop in zip(some, low, high, strict=True):
        thresholds = costs[:, p] - np.delete(reduced, p, axis=1).min(axis=1)
        if start == stop:  # this price is found, others are not
            places = np.where(thresholds <= start, 0, COST_BINS + 1)
        else:
            places = np.clip(np.ceil((thresholds - start) / (stop - start) * COST_BINS), 0, COST_BINS + 1)
        found.append(np.cumsum(np.bincount(places.astype(np.int64), minlength=COST_BINS + 2))[: COST_BINS + 1])
    return np.array(found)
