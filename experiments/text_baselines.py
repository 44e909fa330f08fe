"""Baselines of the M2DCU paper that are made for documents: two factorisations, a mixture and CLGR."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from experiments.baselines import DENSE_FEATURES, dense, refuse_many_rows
from experiments.cells import RefusedError, Task, method
from widegap.documents._topic_search import spherical_labels


def term_rows(task: Task) -> Any:
    if task.counts is None:
        raise RefusedError("needs rows that are not negative")
    return task.counts


@method("NMF")
def nmf(task: Task, seed: int) -> Any:
    """A document goes to its largest coordinate, the basis vectors being of length one (Xu, Liu, Gong 2003)."""
    model = NMF(task.n_clusters, init="nndsvda", max_iter=400, random_state=seed)
    return (model.fit_transform(term_rows(task)) * np.linalg.norm(model.components_, axis=1)).argmax(axis=1)


@method("PLSA")
def plsa(task: Task, seed: int) -> Any:
    """The factorisation with the Kullback-Leibler divergence, which has the same optima, from a random start."""
    model = NMF(
        task.n_clusters, init="random", solver="mu", beta_loss="kullback-leibler", max_iter=300, random_state=seed
    )
    return (model.fit_transform(term_rows(task)) * model.components_.sum(axis=1)).argmax(axis=1)


@method("GMM")
def mixture(task: Task, seed: int) -> Any:
    """Full covariances on the 50 leading directions, rows of length one."""
    rows = normalize(dense(task)[:, :DENSE_FEATURES])
    return GaussianMixture(task.n_clusters, reg_covar=1e-4, random_state=seed).fit_predict(rows)


@method("LDA")
def lda(task: Task, seed: int) -> Any:
    """On counts of words where there are documents."""
    counts = term_rows(task)
    if task.documents is not None:
        counter = CountVectorizer(stop_words="english", min_df=3, max_df=0.5, max_features=counts.shape[1])
        counts = counter.fit_transform(task.documents)
    model = LatentDirichletAllocation(task.n_clusters, max_iter=15, random_state=seed)
    return model.fit_transform(counts).argmax(axis=1)


@method("spherical k-means")
def spherical(task: Task, seed: int) -> Any:
    """Renormalised centres, best of several starts: how DocumentClustering begins, here on the weights of terms."""
    return spherical_labels(term_rows(task), task.n_clusters, np.random.default_rng(seed))


@method("CLGR")
def clgr(task: Task, seed: int, neighbours: int = 40, ridge: float = 1.0, smoothness: float = 1.0) -> Any:
    """Clustering with local and global regularisation (Wang, Zhang, Li 2007).

    Of all orthonormal indicators Q, those that a local linear ridge regression on the neighbours of each row predicts
    best, plus ``smoothness`` times the normalised Laplacian of the neighbour graph: the least eigenvectors of
    (I - A)'(I - A) + smoothness L.
    """
    refuse_many_rows(task)
    X = dense(task)
    distances, places = NearestNeighbors(n_neighbors=neighbours).fit(X).kneighbors()
    predictor = _local_predictor(X, places, ridge)
    laplacian = _laplacian(distances, places)
    quadratic = predictor.T @ predictor + smoothness * laplacian
    top = float(abs(quadratic).sum(axis=1).max())
    start = np.random.default_rng(seed).standard_normal(len(X))
    shifted = top * sp.identity(len(X), format="csr") - quadratic
    _, vectors = eigsh(shifted, k=task.n_clusters, which="LA", v0=start, tol=1e-4, ncv=8 * task.n_clusters + 20)
    return discretized(vectors, np.random.default_rng(seed))


def _local_predictor(X: Any, places: Any, ridge: float) -> sp.csr_matrix:
    """I - A, where row i of A predicts an indicator at i from the neighbours by a ridge regression around row i."""
    n, m = places.shape
    away = X[places] - X[:, None, :]
    gram = away @ away.transpose(0, 2, 1)
    scale = np.trace(gram, axis1=1, axis2=2)[:, None, None] / m
    weights = np.linalg.solve(gram + (ridge * scale + 1e-12) * np.eye(m), np.ones((n, m, 1)))[:, :, 0]
    weights /= weights.sum(axis=1, keepdims=True)
    A = sp.csr_matrix((weights.ravel(), places.ravel(), np.arange(0, n * m + 1, m)), shape=(n, n))
    return sp.identity(n, format="csr") - A


def _laplacian(distances: Any, places: Any) -> sp.csr_matrix:
    """Normalised, of the neighbour graph with locally scaled Gaussian weights."""
    n, m = places.shape
    width = distances[:, min(7, m) - 1] + 1e-12
    values = np.exp(-(distances**2) / (width[:, None] * width[places]))
    W = sp.csr_matrix((values.ravel(), places.ravel(), np.arange(0, n * m + 1, m)), shape=(n, n))
    W = W.maximum(W.T)
    scale = sp.diags_array(1 / np.sqrt(np.asarray(W.sum(axis=1)).ravel()))
    return sp.csr_matrix(sp.identity(n) - scale @ W @ scale)


def discretized(vectors: Any, rng: np.random.Generator, n_starts: int = 5, most: int = 50) -> Any:
    """The labels whose indicators a rotation of the vectors comes closest to (Yu, Shi 2003), best of several starts."""
    rows = normalize(vectors)
    best, labels = -np.inf, np.zeros(len(rows), dtype=int)
    for _ in range(n_starts):
        rotation, fit = _spread_rows(rows, rng), -np.inf
        for _ in range(most):
            found = (rows @ rotation).argmax(axis=1)
            U, sizes, Vt = np.linalg.svd(np.eye(rows.shape[1])[found].T @ rows)
            rotation = (U @ Vt).T
            if sizes.sum() - fit < 1e-9 * len(rows):
                break
            fit = sizes.sum()
        if fit > best:
            best, labels = fit, found
    return labels


def _spread_rows(rows: Any, rng: np.random.Generator) -> Any:
    """Rows that are as orthogonal to each other as can be, one after the other, as columns."""
    chosen, overlap = [rows[rng.integers(len(rows))]], np.zeros(len(rows))
    for _ in range(rows.shape[1] - 1):
        overlap += abs(rows @ chosen[-1])
        chosen.append(rows[overlap.argmin()])
    return np.array(chosen).T
