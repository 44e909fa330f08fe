"""Normalised cut and kernel k-means, the baselines of the papers that need all pairs of rows."""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from experiments.cells import RefusedError, Task, method

MOST_ROWS = 8000
STARTS = 10
LOCAL_NEIGHBOUR = 7
DENSE_ROWS = 400  # below, all eigenvectors at once are faster than a few by iteration
FALLBACK_ROWS = 3000  # up to here all at once where iterations do not converge
MOST_TURNS = 200


def squared_distances(X: Any) -> Any:
    """All pairs, in single precision; refused where they would not fit."""
    if X.shape[0] > MOST_ROWS:
        raise RefusedError(f"{X.shape[0]} rows: the n x n matrix was not formed above {MOST_ROWS}")
    single = X.astype(np.float32)
    return euclidean_distances(single, squared=True)


def gaussian(squared: Any, width: float) -> Any:
    """``exp(-d^2 / sigma^2)``, sigma a fraction of the largest distance; overwrites the distances."""
    squared *= np.float32(-1 / (width**2 * float(squared.max())))
    return np.exp(squared, out=squared)


def locally_scaled(squared: Any) -> Any:
    """``exp(-d_ij^2 / (s_i s_j))`` with s_i the distance to the seventh neighbour; overwrites the distances."""
    rank = min(LOCAL_NEIGHBOUR, len(squared) - 1)
    scale = np.sqrt(np.partition(squared, rank, axis=1)[:, rank])
    scale = np.maximum(scale, scale[scale > 0].min(initial=1.0))  # rows with so many equals have none of their own
    squared /= -scale[:, None]
    squared /= scale
    return np.exp(squared, out=squared)


@method("NCut")
def normalised_cut(task: Task, seed: int, width: float = 0.25, local: bool = False) -> Any:
    """Spectral clustering on all pairs: k-means on the leading eigenvectors of D^-1/2 W D^-1/2, rows of length one."""
    W = squared_distances(task.X)
    W = locally_scaled(W) if local else gaussian(W, width)
    np.fill_diagonal(W, 1.0)
    scale = 1 / np.sqrt(W.sum(axis=1, dtype=np.float64)).astype(np.float32)
    W *= scale[:, None]
    W *= scale
    vectors = leading_vectors(W, task.n_clusters, np.random.default_rng(seed))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return KMeans(task.n_clusters, n_init=STARTS, random_state=seed).fit_predict(vectors)


def leading_vectors(W: Any, k: int, rng: np.random.Generator) -> Any:
    """Eigenvectors of the largest eigenvalues; a narrow kernel gives many near one, which iterations cannot tell."""
    n = len(W)
    if n > DENSE_ROWS:
        try:
            start = rng.normal(size=n).astype(np.float32)
            return eigsh(W, k, which="LA", v0=start, tol=1e-5, maxiter=100)[1].astype(np.float64)
        except ArpackNoConvergence:
            if n > FALLBACK_ROWS:
                raise RefusedError("the eigenvectors did not converge: hardly any rows are alike") from None
    return eigh(W.astype(np.float64), subset_by_index=(n - k, n - 1))[1]


@method("kernel k-means")
def kernel_kmeans(task: Task, seed: int, width: float = 1.0) -> Any:
    """Lloyd's turns in the feature space from ten draws of k rows, all at once; the least inertia wins."""
    K = gaussian(squared_distances(task.X), width)
    n, k = len(K), task.n_clusters
    rng = np.random.default_rng(seed)
    seeds = np.concatenate([rng.choice(n, k, replace=False) for _ in range(STARTS)])
    labels = K[:, seeds].reshape(n, STARTS, k).argmax(axis=2)
    for _ in range(MOST_TURNS):
        distance = _distances_to_means(K, labels, k)
        nearest = distance.argmin(axis=2)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels[:, distance.min(axis=2).sum(axis=0).argmin()]


def _distances_to_means(K: Any, labels: Any, k: int) -> Any:
    """Squared distance of every row to every mean of every start, but for k(x, x); empty clusters are far away."""
    member = (labels[:, :, None] == np.arange(k)).astype(np.float32)
    flat = member.reshape(len(K), -1)
    sizes = flat.sum(axis=0)
    shares = flat / np.maximum(sizes, 1)
    scores = (K @ shares).astype(np.float64)
    distance = (shares * scores).sum(axis=0) - 2 * scores
    distance[:, sizes == 0] = np.inf
    return distance.reshape(member.shape)
