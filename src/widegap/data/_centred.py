"""Centred and rescaled rows, without a centred copy: what every method above works on.

    x~ = (x - mean) / scale,      scale^2 = total variance = (1/n) sum_i |x_i - mean|^2,

so that a problem's constants mean the same in metres and in millimetres, and a sparse matrix stays sparse. Weights
for x~ are turned into weights for x on the way in, normals the other way on the way out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from widegap.data._blocks import Block, Floats, Labels, Loops, Part, PassSums, RowBlocks, Scorer, Total
from widegap.exceptions import InvalidDataError

CHUNK_ROWS = 1 << 14  # moved rows worked on at a time, so that what is held does not grow with their number

Judge = Callable[[Floats, slice], tuple[tuple[float, ...], Floats]]


@dataclass(frozen=True)
class Moments:
    """Row count, means and summed squared distances to them by column; adds up exactly (Chan et al.)."""

    n_rows: int
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
    def varies(self) -> Any:
        """Which columns vary by more than rounding, which alone gives equal entries a variance of (eps mean)^2."""
        return self.scatter > 4 * self.n_rows * np.square(np.finfo(np.float64).eps * self.mean)


def finite_moments(blocks: RowBlocks, name: str = "data") -> Moments:
    """Moments of all rows, in one read; refuses NaN and infinity."""
    moments = blocks.reduce(lambda block: Moments(*block.moments()))
    if not np.isfinite(moments.scatter).all():
        raise InvalidDataError(
            f"The {name} contain NaN, infinity, or values too large to square; impute, drop or rescale them."
        )
    return moments


class CentredRows:
    """Rows of a RowBlocks, seen centred and with total variance 1. ``n_passes`` counts reads of the whole data.

    ``mean`` and ``scale`` are those of the rows themselves, or, by ``in_frame_of``, those of other rows.
    """

    def __init__(self, blocks: RowBlocks):
        self.blocks = blocks
        self.shape = blocks.shape
        self.n_passes = 1
        moments = finite_moments(blocks)
        self.mean = moments.mean
        self.scale = float(np.sqrt(moments.variance)) if moments.varies.any() else 0.0

    @classmethod
    def in_frame_of(cls, other: "CentredRows", blocks: RowBlocks) -> "CentredRows":
        """Further rows, known to be finite, as the weights for ``other`` see them: same mean, same scale."""
        rows = cls.__new__(cls)
        rows.blocks, rows.shape, rows.n_passes = blocks, blocks.shape, 0
        rows.mean, rows.scale = other.mean, other.scale
        return rows

    def run(self, loops: Loops, W: Floats, b: Floats, arguments: Callable[[slice], tuple[Any, ...]]) -> PassSums:
        """A loss's compiled pass at weights (W, b): one read. ``arguments(rows)`` are its own, for those rows."""
        scorer = self._scorer(W, b)
        self.n_passes += 1
        sums = self.blocks.reduce(lambda block: block.run(loops, scorer, arguments(block.rows)))
        normal = np.ascontiguousarray(sums.normal)
        normal -= np.outer(sums.uncentred, self.mean)
        normal /= self.scale
        return replace(sums, normal=normal, uncentred=np.zeros(len(W)))

    def judge(self, W: Floats, b: Floats, function: Judge) -> PassSums:
        """A loss's pass in NumPy: one read.

        ``function(scores, rows)`` gets the scores of some rows and their place in the whole. It returns numbers to be
        added up, and the weight of every row in the normal of every cluster, shape (rows, k).
        """
        scorer = self._scorer(W, b)

        def part(block: Block) -> PassSums:
            values, weights = function(block.scores(scorer).astype(np.float64, copy=False), block.rows)
            some = np.flatnonzero(weights.any(axis=1))
            normal = block.part(some, self.mean, self.scale).weighted(weights[some].T)
            return PassSums(np.array(values), normal, weights.sum(axis=0), np.zeros(len(W)))

        self.n_passes += 1
        return self.blocks.reduce(part)

    def _scorer(self, W: Floats, b: Floats) -> Scorer:
        return Scorer(W / self.scale, b, self.mean)

    def map_scores(self, W: Floats, b: Floats, function: Callable[[Floats], Any]) -> Any:
        """``function`` of the scores of every row, a block at a time: one read."""
        scorer = self._scorer(W, b)
        self.n_passes += 1
        return self.blocks.map(lambda block: function(block.scores(scorer)))

    def scores(self, W: Floats, b: Floats) -> Floats:
        """Scores of every row, shape (n, k)."""
        return self.map_scores(W, b, lambda scores: scores)

    def largest_scores(self, W: Floats, b: Floats) -> Labels:
        """Index of the largest score of every row."""
        return self.map_scores(W, b, lambda scores: scores.argmax(axis=1).astype(np.int32))

    def sum_over(self, rows: np.ndarray[Any, Any], function: Callable[[Part, slice], Total]) -> Total:
        """Sum of ``function(some, place)`` over the given rows (ascending), a few thousand at a time.

        ``some`` are the rows ``rows[place]``. Reads the blocks that hold any.
        """

        def part(block: Block) -> Total:
            first, last = np.searchsorted(rows, [block.rows.start, block.rows.stop])
            places = [slice(start, min(start + CHUNK_ROWS, last)) for start in range(first, last, CHUNK_ROWS)]
            parts = (block.part(rows[place] - block.rows.start, self.mean, self.scale) for place in places)
            return reduce(add, map(function, parts, places))

        return self.blocks.reduce(part, rows)

    def class_sums(self, labels: Labels, k: int) -> Floats:
        """Sum of the rows of each cluster, shape (k, d): one read."""

        def part(rows: Part, place: slice) -> Floats:
            return rows.weighted(np.eye(k)[labels[place]].T)

        return self.sum_over(np.arange(len(labels)), part)

    def to_input_space(self, W: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Weights and intercept for the rows as they came."""
        coef = W / self.scale
        return coef, b - coef @ self.mean
