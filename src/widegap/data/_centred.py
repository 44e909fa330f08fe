"""Centred and rescaled rows, without a centred copy: what every method above works on.

    x~ = (x - mean) / scale,      scale^2 = total variance = (1/n) sum_i |x_i - mean|^2,

so that a problem's constants mean the same in metres and in millimetres, and a sparse matrix stays sparse. Weights
for x~ are turned into weights for x on the way in, normals the other way on the way out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widegap.data._blocks import Block, Codes, Floats, Labels, MarginSums, Moves, RowBlocks, Scorer
from widegap.exceptions import InvalidDataError


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


@dataclass(frozen=True)
class MarginPass:
    """One fused pass over all rows: its sums, and the labels and active rivals (bits) of every row."""

    sums: MarginSums
    labels: Labels
    codes: Codes


@dataclass(frozen=True)
class GroupSums:
    """Loss of some rows, and the number (k,) and sum (k, d) of those counted in each cluster."""

    loss: float
    counts: Floats
    sums: Floats

    def __add__(self, other: "GroupSums") -> "GroupSums":
        return GroupSums(self.loss + other.loss, self.counts + other.counts, self.sums + other.sums)


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

    def margin(self, W: Floats, b: Floats, labels: Labels | None, *, all_rivals: bool) -> MarginPass:
        """Fused pass at weights (W, b): given labels are held fixed, None lets every row take its largest score."""
        n, k = self.shape[0], len(W)
        choose = labels is None
        kept = np.empty(n, np.int32) if labels is None else labels
        codes = np.empty((n, (k + 7) // 8), np.uint8)
        scorer = self._scorer(W, b)

        def part(block: Block) -> MarginSums:
            rows = block.rows
            return block.margin(scorer, kept[rows], codes[rows], choose=choose, all_rivals=all_rivals)

        self.n_passes += 1
        sums = self.blocks.reduce(part)
        normal = np.ascontiguousarray(sums.normal)
        normal -= np.outer(sums.uncentred, self.mean)
        normal /= self.scale
        return MarginPass(replace(sums, normal=normal, uncentred=np.zeros(k)), kept, codes)

    def _scorer(self, W: Floats, b: Floats) -> Scorer:
        return Scorer(W / self.scale, b, self.mean)

    def scores(self, W: Floats, b: Floats) -> Floats:
        """Scores of every row, shape (n, k)."""
        scorer = self._scorer(W, b)
        self.n_passes += 1
        return self.blocks.map(lambda block: block.scores(scorer))

    def largest_scores(self, W: Floats, b: Floats) -> Labels:
        """Index of the largest score of every row."""
        scorer = self._scorer(W, b)
        self.n_passes += 1
        return self.blocks.map(lambda block: block.scores(scorer).argmax(axis=1).astype(np.int32))

    def grouped(self, W: Floats, b: Floats, judge: Callable[[Floats, slice], tuple[float, Labels]]) -> GroupSums:
        """Sums over the rows that ``judge`` counts in some cluster: one read.

        ``judge(scores, rows)`` gets the scores of the rows of a block and their place in the whole; it returns their
        loss and the cluster in which each is counted, -1 for none.
        """
        k = len(W)
        scorer = self._scorer(W, b)

        def part(block: Block) -> GroupSums:
            loss, clusters = judge(block.scores(scorer), block.rows)
            counted = np.flatnonzero(clusters >= 0)
            joining = Moves(counted, np.full(len(counted), -1, np.int32), clusters[counted])
            sums = block.transfer(np.ones((1, len(counted))), self.mean, joining, k)[0]
            return GroupSums(loss, np.bincount(joining.new, minlength=k).astype(np.float64), sums)

        self.n_passes += 1
        total = self.blocks.reduce(part)
        return replace(total, sums=total.sums / self.scale)

    def transfer(self, counts: Callable[[np.ndarray[Any, Any]], Floats], moves: Moves, k: int) -> Floats:
        """Enter-minus-leave sums of the moved rows, shape (m, k, d); ``counts(rows)`` weighs them, shape (m, rows)."""

        def part(block: Block) -> Floats:
            inside, local = moves.within(block.rows)
            return block.transfer(counts(moves.rows[inside]), self.mean, local, k)

        return self.blocks.reduce(part, moves.rows) / self.scale

    def to_input_space(self, W: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Weights and intercept for the rows as they came."""
        coef = W / self.scale
        return coef, b - coef @ self.mean
