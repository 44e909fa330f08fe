"""Labels of a few rows without compiled code, where they are certain to be those of the compiled loops.

A process that predicts a handful of rows should not import a compiler first. NumPy adds up in another order than the
loops, so that the scores of both differ by rounding. With unit roundoff u of the rows' dtype either lies within

    (d + 8) u (|W| |x - mean| + |b|)

of the exact score: d products and sums, and a few roundings of what goes into them. Of CSR rows, which are not centred,
|x| + |mean| is in the place of |x - mean|. A score that leads by more than the bounds of all four sums is the largest
by either way of adding; as soon as one row has none, the loops decide about all.
"""

from typing import Any

import numpy as np

from widegap._types import Floats, Labels
from widegap.rows._blocks import Block, Scorer
from widegap.rows._matrices import storage

FEW = 64  # rows; with more of them the loops are worth their import


def largest(scores: Floats) -> Labels:
    """Number of the largest score of every row."""
    return scores.argmax(axis=1).astype(np.int32)


def certain_labels(block: Block, scorer: Scorer) -> Labels | None:
    """What ``largest(block.scores(scorer))`` is; None where there are many rows, or rounding could decide."""
    if block.rows.stop - block.rows.start > FEW:
        return None
    X = block.take(slice(None))
    with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity are never certain
        scores, magnitudes = _scores(X, scorer)
        labels, others = largest(scores), scores.copy()
        others[np.arange(len(labels)), labels] = -np.inf
        lead = scores.max(axis=1) - others.max(axis=1)
        unsure = 4 * (X.shape[1] + 8) * np.finfo(X.dtype).eps * magnitudes.max(axis=1)
    return labels if np.all(np.isfinite(unsure) & (lead > unsure)) else None


def _scores(X: Any, scorer: Scorer) -> tuple[Floats, Floats]:
    """Scores of rows, and what bounds their rounding but for a factor; both in float64."""
    W, b, mean = scorer.W, scorer.b, scorer.mean
    size, least = np.abs(W).T, np.abs(b)
    if storage(X) == "sparse":
        b, least = b - W @ mean, least + np.abs(mean) @ size
        X = X.astype(np.float64)
    else:
        X = X - mean.astype(np.float64)
    return X @ W.T + b, abs(X) @ size + least
