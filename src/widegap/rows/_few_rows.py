"""Labels of a few rows without compiled code, where they are certain to be those of the compiled loops.

A process that predicts a handful of rows should not import a compiler first. NumPy adds up in another order than the
loops, so their scores differ by rounding. With unit roundoff u of the rows' dtype, both lie within

    (d + 8) u (|W| |x - mean| + |b|)

of the exact score: d products and sums, and a few roundings of what goes into them. For CSR rows, which are not
centred, |x| + |mean| replaces |x - mean|. A score that leads by more than the bounds of all four sums is the largest in
either order of summation; if any row lacks such a lead, the loops decide for all of them.

The bound stays, after a measurement: without it, plain NumPy gave 2 of 38,400 CSR rows in float32 another label than
the loops where columns lie 1,000 deviations from 0, and a third of them at 10 million; a row alone would then get
another label than in a larger table.
"""

import numpy as np

from widegap._types import Floats, Labels, Matrix
from widegap.rows._blocks import Block, Scorer

FEW_PREDICTED = 64  # rows; for more of them the loops are worth the second that importing numba takes


def largest(scores: Floats) -> Labels:
    """Number of the largest score of every row."""
    return scores.argmax(axis=1).astype(np.int32)


def certain_labels(block: Block, scorer: Scorer) -> Labels | None:
    """What ``largest(block.scores(scorer))`` is; None where there are many rows, or rounding could decide."""
    if block.rows.stop - block.rows.start > FEW_PREDICTED:
        return None
    X = block.take(slice(None))
    with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity are never certain
        scores, magnitudes = _scores(X, scorer)
        labels, rivals = largest(scores), scores.copy()
        rivals[np.arange(len(labels)), labels] = -np.inf
        lead = scores.max(axis=1) - rivals.max(axis=1)
        unsure = 4 * (X.shape[1] + 8) * np.finfo(X.dtype).eps * magnitudes.max(axis=1)
    return labels if np.all(np.isfinite(unsure) & (lead > unsure)) else None


def _scores(X: Matrix, scorer: Scorer) -> tuple[Floats, Floats]:
    """Scores of rows, and a bound of their rounding up to a factor; both in float64."""
    W, b, mean = scorer.W, scorer.b, scorer.mean
    size, least = np.abs(W).T, np.abs(b)
    if isinstance(X, np.ndarray):
        centred = X - mean.astype(np.float64)
        return centred @ W.T + b, abs(centred) @ size + least
    X = X.astype(np.float64)
    return X @ W.T + (b - W @ mean), abs(X) @ size + (least + np.abs(mean) @ size)
