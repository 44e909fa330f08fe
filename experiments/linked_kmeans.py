"""k-means that knows pairs of rows: COP-k-means and PCK-means, as short as they can be.

``must`` and ``cannot`` are arrays of pairs of row numbers.

    COP-k-means (Wagstaff et al. 2001)   every link is kept: a row goes to the nearest centre that breaks none
    PCK-means (Basu et al. 2004)         every broken link costs the mean squared distance from the centres; the
                                         centres begin as means of the largest sets of rows that are linked together, or
                                         as rows with a cannot-link: with known labels as the means of these
"""

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances

ROUNDS = 50
STARTS = 3  # of COP-k-means, which may come to a row that fits nowhere and begins again then


class NoAssignmentError(Exception):
    """No start of COP-k-means found labels that keep all links."""


def pairs_of(known: Any) -> tuple[Any, Any]:
    """Known labels (None where there is none) as links between the rows that have one."""
    rows = np.flatnonzero([label is not None for label in known])
    first, second = (rows[side] for side in np.triu_indices(len(rows), 1))
    same = np.array([known[a] == known[b] for a, b in zip(first, second, strict=True)], dtype=bool)
    found = np.column_stack([first, second])
    return found[same], found[~same]


def linked_sets(must: Any, n_rows: int) -> Any:
    """Number of the set of every row: rows that must-links join, directly or through others, share one."""
    graph = coo_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n_rows, n_rows))
    return connected_components(graph, directed=False)[1]


def cop_kmeans(X: Any, n_clusters: int, must: Any, cannot: Any, rng: np.random.Generator) -> Any:
    """Labels of the start with the least squared distances among those that keep all links."""
    sets = linked_sets(must, len(X))
    sizes = np.bincount(sets)
    means = np.zeros((len(sizes), X.shape[1]))
    np.add.at(means, sets, X)
    means /= sizes[:, None]
    rivals = _other_ends(sets[cannot])
    tried = [_cop_start(means, sizes, n_clusters, rivals, rng) for _ in range(STARTS)]
    found = [start for start in tried if start is not None]
    if not found:
        raise NoAssignmentError(f"none of {STARTS} starts kept all {len(must) + len(cannot)} links")
    return min(found, key=lambda start: start[0])[1][sets]


def _cop_start(means: Any, sizes: Any, k: int, rivals: Any, rng: np.random.Generator) -> tuple[float, Any] | None:
    """Cost and labels of the sets of rows, from one draw of centres; None if a set fits nowhere."""
    centres, labels = _drawn_centres(means, k, rng), np.full(len(means), -1)
    for _ in range(ROUNDS):
        distances = euclidean_distances(means, centres, squared=True)
        found = distances.argmin(axis=1)
        placed: dict[int, int] = {}
        for unit in rng.permutation(sorted(rivals)).tolist():
            taken = {placed.get(other) for other in rivals[unit]}
            nearest = next((p for p in distances[unit].argsort().tolist() if p not in taken), None)
            if nearest is None:
                return None
            found[unit] = placed[unit] = nearest
        if (found == labels).all():
            break
        labels = found
        centres = _centres(means, sizes, labels, centres)
    return float((sizes * distances[np.arange(len(means)), labels]).sum()), labels


def pck_means(X: Any, n_clusters: int, must: Any, cannot: Any, rng: np.random.Generator) -> Any:
    """Labels that weigh broken links against distances."""
    n, k = len(X), n_clusters
    friends, rivals = _other_ends(must), _other_ends(cannot)
    centres, labels = _first_centres(X, k, linked_sets(must, n), cannot, rng), np.full(n, -1)
    for _ in range(ROUNDS):
        distances = euclidean_distances(X, centres, squared=True)
        price = distances.min(axis=1).mean()
        found = distances.argmin(axis=1)
        for row in rng.permutation(sorted(friends.keys() | rivals.keys())).tolist():
            cost = distances[row].copy()
            for other in rivals.get(row, ()):
                cost[found[other]] += price
            for other in friends.get(row, ()):
                cost += price * (np.arange(k) != found[other])
            found[row] = cost.argmin()
        if (found == labels).all():
            break
        labels, centres = found, _centres(X, np.ones(n), found, centres)
    return labels


def _other_ends(links: Any) -> dict[int, list[int]]:
    """The other ends of the links of every row that has any."""
    found: dict[int, list[int]] = {}
    for a, b in np.unique(np.sort(links, axis=1), axis=0).tolist():
        found.setdefault(a, []).append(b)
        found.setdefault(b, []).append(a)
    return found


def _drawn_centres(X: Any, k: int, rng: np.random.Generator) -> Any:
    return kmeans_plusplus(X, k, random_state=int(rng.integers(2**31)))[0]


def _first_centres(X: Any, k: int, sets: Any, cannot: Any, rng: np.random.Generator) -> Any:
    """Means of the largest sets that have links, and drawn rows if there are fewer than k."""
    sizes = np.bincount(sets)
    linked = sizes > 1
    linked[sets[cannot].ravel()] = True
    largest = np.argsort(-sizes * linked, kind="stable")[: min(k, linked.sum())]
    centres = _drawn_centres(X, k, rng)
    for p, chosen in enumerate(largest):
        centres[p] = X[sets == chosen].mean(axis=0)
    return centres


def _centres(X: Any, weights: Any, labels: Any, before: Any) -> Any:
    """Weighted means of the clusters; an empty one stays where it was."""
    centres = before.copy()
    for p in np.unique(labels):
        rows = labels == p
        centres[p] = np.average(X[rows], axis=0, weights=weights[rows])
    return centres
