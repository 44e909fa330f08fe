"""Scores of documents for topics that are linear in their terms, fitted to labels.

A topic p has a weight for each term and an intercept. Those of one-vs-rest squared hinges minimise, for n rows x of
length one with labels z and k topics,

    F(W, b; z) = mean_p [ (|w_p|^2 + b_p^2) / (2 C n) + mean_i max(0, 1 - y_ip (w_p x_i + b_p))^2 ],   y_ip = +-1

and F is 1 where nothing is separated (W = 0). For given scores the cheapest label of a row is that of its largest
score, so that fitting and labelling in turn lower F.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sklearn.svm import LinearSVC

from widegap._types import Floats, Indices, Labels, Matrix
from widegap.documents._topic_rules import TopicRules
from widegap.rows._threads import one_blas_thread

LEAST_C, LARGEST_C = 0.1, 0.5  # settled with the constants of ``_topic_search.py``, LARGEST_C on 60 to 200 documents
LEAST_TOTAL = 30  # of C over all rows: with less, intercepts outweigh terms and the largest cluster takes all rows
TRAINING_TOL = 1e-2  # of liblinear: labels follow from the weights, and rounds to come correct both


class LinearModel(Protocol):
    """What scikit-learn fits: weights, intercepts, and labels by them."""

    coef_: Floats
    intercept_: Floats

    def predict(self, X: Matrix) -> Labels: ...


@dataclass(frozen=True)
class LinearScores:
    """Labels of rows, the weights that score any rows, and how good they are.

    ``objective`` is F, None where no loss was minimised. ``starved`` tells whether a cluster is at its least size.
    """

    labels: Labels
    coef: Floats
    intercept: Floats
    objective: float | None = None
    starved: bool = False

    def of(self, X: Matrix) -> Floats:
        """Scores of rows for every cluster."""
        return np.asarray(X @ self.coef.T) + self.intercept

    def leads(self, X: Matrix) -> Floats:
        """Lead of each row's own score over the largest other one; infinite for a single topic, NaN for label -1."""
        scores = self.of(X)
        rows = np.flatnonzero(self.labels >= 0)
        own = scores[rows, self.labels[rows]]
        scores[rows, self.labels[rows]] = -np.inf
        leads = np.full(len(scores), np.nan)
        leads[rows] = own - scores[rows].max(axis=1)
        return leads

    def reordered(self, order: Indices) -> "LinearScores":
        """The same with cluster ``order[p]`` as cluster p."""
        place = np.append(np.argsort(order), -1)
        labels = place[self.labels].astype(np.int32)
        return replace(self, labels=labels, coef=self.coef[order], intercept=self.intercept[order])


def fit_linear_scores(X: Matrix, labels: Labels, k: int, seed: int, weights: Floats | None = None) -> LinearScores:
    """Scores by one-vs-rest squared hinges, not yet judged; rows labelled -1 do not count, others by their weights."""
    if k == 1:
        return mean_scores(X, labels, k)
    known = labels >= 0
    if not known.all():  # else no copy of the rows is needed
        X, weights = X[known], None if weights is None else weights[known]
    return LinearScores(labels, *_symmetric(fit_svm(X, labels[known], seed, weights=weights), k))


def explaining_weights(X: Matrix, labels: Labels, k: int) -> Floats:
    """Weights of columns for labels that were found in others: what clusters share, not what single rows have."""
    if k == 1:
        return mean_scores(X, labels, k).coef
    known = labels >= 0
    return _symmetric(fit_svm(X[known], labels[known], 0, LEAST_C), k)[0]


def _symmetric(model: LinearModel, k: int) -> tuple[Floats, Floats]:
    """Weights and intercepts with one row per cluster, where the model has a single one for two."""
    signs = np.array([[-1], [1]]) if k == 2 else 1
    return signs * model.coef_, np.ravel(signs * model.intercept_)


def mean_scores(X: Matrix, labels: Labels, k: int) -> LinearScores:
    """Scores by the nearness to the means of the clusters, in any unit; -1 does not count."""
    known = labels >= 0
    members = np.eye(k)[labels[known]]
    means = np.asarray(X[known].T @ members).T / members.sum(axis=0)[:, None]
    return LinearScores(labels, means, -(means**2).sum(axis=1) / 2)


def fit_svm(X: Matrix, labels: Labels, seed: int, C: float | None = None, weights: Floats | None = None) -> LinearModel:
    """One-vs-rest squared hinges."""
    C = weight_of_loss(len(labels)) if C is None else C
    with one_blas_thread():
        found: LinearModel = LinearSVC(C=C, dual=True, tol=TRAINING_TOL, random_state=seed).fit(X, labels, weights)
    return found


def weight_of_loss(n_rows: int) -> float:
    """C: how much the loss of a row weighs."""
    return float(np.clip(LEAST_TOTAL / n_rows, LEAST_C, LARGEST_C))


def relabelled(found: LinearScores, X: Matrix, rules: TopicRules) -> LinearScores:
    """The same weights with the labels they give to rows, as far as the rules let them.

    The intercept of a cluster that would be too small rises until it has that many rows, that of one too large falls,
    so that scores and labels agree; with known labels or links they need not.
    """
    scores = found.of(X)
    step = rules.label(scores)
    raises = _raises(scores, step.labels, step.prices)
    mended = replace(found, labels=step.labels, intercept=found.intercept + raises, starved=step.starved)
    return judged(mended, scores + raises)


def _raises(scores: Floats, labels: Labels, prices: Floats) -> Floats:
    """What to add to scores so that labels are theirs: prices do, but leave ties; half way to the next row is between.

    ``prices`` are those of the bounds on sizes.
    """
    raises = prices.copy()
    for p in np.flatnonzero(prices):
        needed = np.delete(scores + raises, p, axis=1).max(axis=1) - scores[:, p]
        raises[p] = (needed[labels == p].max() + needed[labels != p].min()) / 2
    return raises


def minus_squared_hinges(scores: Floats) -> Floats:
    """Minus the mean squared hinge of each row over all clusters, if it belongs to that of its largest score."""
    signs = np.where(np.eye(scores.shape[1], dtype=bool)[scores.argmax(axis=1)], 1.0, -1.0)
    return np.asarray(-(np.maximum(0, 1 - signs * scores) ** 2).mean(axis=1))


def judged(found: LinearScores, scores: Floats) -> LinearScores:
    """The same with its objective; ``scores`` are those of the labelled rows."""
    known = found.labels >= 0
    labels = found.labels[known]
    signs = np.where(np.eye(len(found.coef), dtype=bool)[labels], 1.0, -1.0)
    loss = float((np.maximum(0, 1 - signs * scores[known]) ** 2).mean())
    sizes = float((found.coef**2).sum(axis=1).mean() + (found.intercept**2).mean())
    return replace(found, objective=loss + sizes / (2 * weight_of_loss(len(labels)) * len(labels)))
