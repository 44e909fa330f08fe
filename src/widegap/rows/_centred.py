"""Centred and rescaled rows, without a centred copy: what every method above works on.

    x~ = (x - mean) / scale,      scale^2 = total variance = (1/n) sum_i |x_i - mean|^2,

so that a problem's constants mean the same in metres and in millimetres, and a sparse matrix stays sparse. Weights
for x~ are converted to weights for x before a pass, and normals back after it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from widegap._types import Array, Doubles, Floats, Indices, Ints, Labels, Mask
from widegap.exceptions import InvalidDataError
from widegap.rows._blocks import Block, Loops, Part, PassSums, Scorer
from widegap.rows._protocols import Parts, Rows, State, Total

MOVED_ROWS = 1 << 14  # moved rows worked on at a time: memory does not grow with their number; not tuned

_Number = TypeVar("_Number", np.floating, np.int64)
Judgement = tuple[tuple[float, ...], Floats, Parts]


@dataclass(frozen=True)
class Moments:
    """Row count (or weight), column means and summed squared distances to them; adds up exactly (Chan et al.)."""

    n_rows: float
    mean: Floats
    scatter: Floats

    def __add__(self, other: "Moments") -> "Moments":
        n = self.n_rows + other.n_rows
        with np.errstate(over="ignore", invalid="ignore"):  # NaN and inf are reported once all rows are read
            step = other.mean - self.mean
            scatter = self.scatter + other.scatter + step * step * (self.n_rows * other.n_rows / n)
            return Moments(n, self.mean + step * (other.n_rows / n), scatter)

    @property
    def variance(self) -> float:
        """Total variance."""
        return float(self.scatter.sum()) / self.n_rows

    @property
    def varies(self) -> Mask:
        """Which columns vary by more than rounding, which gives equal entries a variance of (eps mean)^2."""
        return np.asarray(self.scatter > 4 * self.n_rows * np.square(np.finfo(np.float64).eps * self.mean))


def finite_moments(blocks: Rows, name: str = "data", weights: State | None = None) -> Moments:
    """Moments of all rows, in one read; refuses NaN and infinity."""
    moments = blocks.reduce(lambda block, *weights: Moments(*block.moments(*weights)), *optional_state(weights))
    assert moments is not None
    if not np.isfinite(moments.scatter).all():
        raise InvalidDataError(
            f"The {name} contain NaN, infinity, or values too large to square; impute, drop or rescale them."
        )
    return moments


class CentredRows:
    """Rows of a RowBlocks, centred and with total variance 1. ``n_passes`` counts reads of the whole data.

    ``mean`` and ``scale`` are those of the rows themselves, or, by ``in_frame_of``, those of other rows. ``weights`` is
    a state with a positive number per row, or None; ``total`` is their sum, or the number of rows.
    """

    def __init__(self, blocks: Rows, weights: Floats | None = None):
        self.blocks = blocks
        self.shape = blocks.shape
        self.n_passes = 1
        self.weights: State | None = None if weights is None else blocks.place(weights)
        self.total: float = self.shape[0] if weights is None else float(weights.sum())
        moments = finite_moments(blocks, weights=self.weights)
        self.mean = moments.mean
        self.scale = float(np.sqrt(moments.variance)) if moments.varies.any() else 0.0

    @classmethod
    def in_frame_of(cls, other: "CentredRows", blocks: Rows) -> "CentredRows":
        """Further rows, known to be finite, with the mean and scale of ``other``, so that its weights apply."""
        rows = cls.__new__(cls)
        rows.blocks, rows.shape, rows.n_passes = blocks, blocks.shape, 0
        rows.mean, rows.scale = other.mean, other.scale
        rows.weights, rows.total = None, blocks.shape[0]
        return rows

    def array_weights(self) -> Floats | None:
        """The weights of the rows as an array of this process."""
        return None if self.weights is None else self.blocks.collect(self.weights)

    def run(
        self,
        loops: Loops,
        W: Floats,
        b: Floats,
        arguments: Callable[..., tuple[tuple[object, ...], Parts]],
        *state: State,
    ) -> tuple[tuple[State, ...], PassSums]:
        """A loss's compiled pass at weights (W, b): one read.

        ``arguments(n_rows, *parts)`` gives the loop's own arguments for a block of ``n_rows`` rows, and the new states
        among them.
        """
        scorer = self._scorer(W, b)

        def part(block: Block, *parts: Array) -> tuple[Parts, PassSums]:
            own, new = arguments(block.rows.stop - block.rows.start, *parts)
            return new, block.run(loops, scorer, own)

        self.n_passes += 1
        found, sums = self.blocks.sweep(part, *state)
        return found, sums.centred(self.mean, 1 / self.scale)

    def judge(
        self, W: Floats, b: Floats, function: Callable[..., Judgement], *state: State
    ) -> tuple[tuple[State, ...], PassSums]:
        """A loss's pass in NumPy: one read.

        ``function(scores, *parts)`` gets the scores of some rows and their part of the state. It returns numbers to be
        added up, the weight of every row in the normal of every cluster, shape (rows, k), and new states.
        """
        scorer, mean, scale = self._scorer(W, b), self.mean, self.scale

        def part(block: Block, *parts: Array) -> tuple[Parts, PassSums]:
            values, weights, new = function(block.scores(scorer).astype(np.float64, copy=False), *parts)
            some = np.flatnonzero(weights.any(axis=1))
            normal = block.part(some, mean, scale).weighted(weights[some].T)
            return new, PassSums(np.array(values), normal, weights.sum(axis=0), np.zeros(weights.shape[1]))

        self.n_passes += 1
        return self.blocks.sweep(part, *state)

    def _scorer(self, W: Floats, b: Floats) -> Scorer:
        return Scorer(W / self.scale, b, self.mean)

    def map_scores(self, W: Floats, b: Floats, function: Callable[[Floats], Array]) -> State:
        """``function`` of the scores of every row, a block at a time, as a state: one read."""
        scorer = self._scorer(W, b)
        self.n_passes += 1
        return self.blocks.sweep(lambda block: ((function(block.scores(scorer)),), 0))[0][0]

    def sum_scores(self, W: Floats, b: Floats, function: Callable[..., Total], *state: State) -> Total:
        """Sum of ``function(scores, *parts)``, of a block's scores and its part of the state: one read."""
        scorer = self._scorer(W, b)
        self.n_passes += 1
        total = self.blocks.reduce(lambda block, *parts: function(block.scores(scorer), *parts), *state)
        assert total is not None
        return total

    def scores(self, W: Floats, b: Floats) -> State:
        """Scores of every row, shape (n, k)."""
        return self.map_scores(W, b, lambda scores: scores)

    def largest_scores(self, W: Floats, b: Floats) -> State:
        """Index of the largest score of every row."""
        return self.map_scores(W, b, lambda scores: scores.argmax(axis=1).astype(np.int32))

    def sum_moved(self, function: Callable[..., Total], old: State, new: State, *state: State) -> Total | None:
        """Sum of ``function(some, old, new, *parts)`` over the rows whose label changes; None if none does.

        ``some`` are a few thousand of these rows at a time. Reads the blocks that hold any.
        """
        mean, scale = self.mean, self.scale

        def part(block: Block, old: Labels, new: Labels, *parts: Array) -> Total:
            return _in_chunks(block, np.flatnonzero(old != new), mean, scale, function, old, new, *parts)

        return self.blocks.reduce(part, old, new, *state, where=lambda old, new, *_: bool((old != new).any()))

    def class_sums(self, labels: State, k: int) -> Floats:
        """Weighted sum of the rows of each cluster, shape (k, d): one read."""
        mean, scale = self.mean, self.scale

        def chunk(rows: Part, labels: Labels, *weights: Floats) -> Floats:
            return rows.weighted(times_weights(np.eye(k)[labels].T, *weights))

        def part(block: Block, labels: Labels, *weights: Floats) -> Floats:
            return _in_chunks(block, np.arange(len(labels)), mean, scale, chunk, labels, *weights)

        sums = self.blocks.reduce(part, labels, *optional_state(self.weights))
        assert sums is not None
        return sums

    def label_counts(self, labels: State, k: int) -> Ints:
        """Number of rows of each cluster, shape (k,)."""

        def part(labels: Labels) -> tuple[Parts, Ints]:
            return (), np.bincount(labels, minlength=k)

        return self.blocks.fold(part, labels)[1]

    def label_weights(self, labels: State, k: int) -> Doubles | Ints:
        """Summed weight of the rows of each cluster, shape (k,); without weights their number."""

        def part(labels: Labels, weights: Floats | None = None) -> tuple[Parts, Doubles | Ints]:
            return (), np.bincount(labels, minlength=k) if weights is None else np.bincount(labels, weights, k)

        return self.blocks.fold(part, labels, *optional_state(self.weights))[1]

    def count_flips(self, old: State, new: State) -> int:
        """In how many rows two labelings differ."""

        def part(old: Labels, new: Labels) -> tuple[Parts, int]:
            return (), int(np.count_nonzero(old != new))

        return self.blocks.fold(part, old, new)[1]

    def label_counts_and_flips(self, labels: State, old: State | None, k: int) -> tuple[Ints, int | None]:
        """Both of the above at once, which on a cluster is one journey; no flips if there are no old labels."""
        if old is None:
            return self.label_counts(labels, k), None

        def part(labels: Labels, old: Labels) -> tuple[Parts, Ints]:
            return (), np.append(np.bincount(labels, minlength=k), np.count_nonzero(old != labels))

        found: Ints = self.blocks.fold(part, labels, old)[1]
        return found[:-1], int(found[-1])

    def to_input_space(self, W: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Weights and intercept for rows that are neither centred nor rescaled."""
        coef = W / self.scale
        return coef, b - coef @ self.mean


def optional_state(state: State | None) -> list[State]:
    """The state as one more argument of a pass, or none."""
    return [] if state is None else [state]


def times_weights(values: npt.NDArray[_Number], *weights: Floats) -> Floats | npt.NDArray[_Number]:
    """Values whose last axis are rows, times the weights of the rows if there are any."""
    return values * weights[0] if weights else values


def _in_chunks(
    block: Block, rows: Indices, mean: Floats, scale: float, function: Callable[..., Total], *parts: Array
) -> Total:
    """Sum of ``function(some, *parts)`` over rows of a block, a few thousand at a time."""
    places = [rows[start : start + MOVED_ROWS] for start in range(0, len(rows), MOVED_ROWS)]
    return reduce(
        add, (function(block.part(place, mean, scale), *(values[place] for values in parts)) for place in places)
    )
