"""How to add a loss: the Huberised hinge, which penalises small violations of the margin less.

    phi(m) = 0 for m >= 1,   (1 - m)^2 / (4 h) for 1 - 2h < m < 1,   1 - m - h below,

with m the lead of a row's cluster over its strongest rival. phi is convex and falls, m is concave in the scores, so
phi(m) is convex for a fixed label. Its tangent at m0, ``phi(m) >= a - g m``, and ``m <= s_z - s_r`` for any rival r
give the plane ``a - g (s_z - s_r)``. A code is (a, g, r). For the label r the pair vanishes, which leaves the plane 0.
"""

import numpy as np

from widegap.base._records import SearchRecorder
from widegap.constraints._label_rules import size_rules
from widegap.cutting_plane._cccp import Search, search_from
from widegap.cutting_plane._problem import Problem
from widegap.cutting_plane._score_loss import ScoreLoss
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

H = 0.25  # half the width of the quadratic part


def strongest_rivals(scores):
    """For every row and label, the best of the other clusters."""
    order = scores.argsort(axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return np.where(best == np.arange(scores.shape[1]), second, best)


class HuberHingeLoss(ScoreLoss):
    """The Huberised hinge over the rows to be clustered."""

    def costs(self, scores):
        leads = scores - np.take_along_axis(scores, strongest_rivals(scores), axis=1)
        missing = np.maximum(1 - leads, 0)
        return np.where(missing < 2 * H, missing**2 / (4 * H), missing - H)

    def codes(self, scores, labels):
        rows = np.arange(len(labels))
        rivals = strongest_rivals(scores)[rows, labels]
        leads = scores[rows, labels] - scores[rows, rivals]
        slopes = np.clip((1 - leads) / (2 * H), 0, 1)
        return np.stack([self.costs(scores)[rows, labels] + slopes * leads, slopes, rivals], axis=1)

    def planes(self, codes, labels):
        rows, rivals = np.arange(len(labels)), codes[:, 2].astype(int)
        counted = rivals != labels
        weights = np.zeros((len(labels), self.n_clusters))
        weights[rows, labels] += codes[:, 1] * counted
        weights[rows, rivals] -= codes[:, 1] * counted
        return codes[:, 0] * counted, weights


def cluster(X, start, n_clusters, *, beta=0.05, min_count=1):
    """Labels of lowest regularised loss, searched from starting labels, and the steps of the search."""
    (n, d), rows = X.shape, CentredRows(row_blocks(X))
    rules = size_rules(rows.blocks, np.full(n_clusters, min_count), np.full(n_clusters, n))
    problem = Problem(HuberHingeLoss(rows, n_clusters), n, n_clusters, d, beta, rules)
    recorder = SearchRecorder(lambda: rows.n_passes)
    search = Search.from_labels(problem, start, recorder, tol=1e-3, max_iter=200)
    return search_from(search, "linearize_first", anneal=False), recorder.records


if __name__ == "__main__":
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris
    from sklearn.metrics import adjusted_rand_score

    X, y = load_iris(return_X_y=True)
    start = KMeans(3, n_init=1, random_state=0).fit_predict(X).astype(np.int32)
    result, records = cluster(X, start, 3, min_count=20)
    agreement = adjusted_rand_score(y, result.point.labels)
    print(f"objective {result.point.objective:.4f} after {len(records)} steps, adjusted Rand index {agreement:.2f}")
