"""What people use today, at scikit-learn's settings unless the paper names others; all get the number of clusters."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, Birch, BisectingKMeans, KMeans, SpectralClustering
from sklearn.decomposition import TruncatedSVD
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler, normalize

from experiments.cells import RefusedError, Task, method

UMAP_SIZE = 10  # coordinates; on digits, where two were tried as well, mixtures gain seven points by ten
UMAP_CLUSTER = 140  # the least cluster of HDBSCAN there is a 140th of the rows, as in UMAP's own example of clustering
DENSE_FEATURES = 50  # sparse rows are reduced to so many for methods that need dense ones
MOST_PAIRWISE = 12_000  # rows of methods with an n x n matrix


def dense(task: Task, most_features: int = 10**9) -> Any:
    """Dense rows: of sparse or very wide ones the leading directions (uncentred)."""
    if issparse(task.X) or task.X.shape[1] > most_features:
        size = min(DENSE_FEATURES, min(task.X.shape) - 1)
        return TruncatedSVD(size, random_state=0).fit_transform(task.X)
    return np.asarray(task.X, dtype=float)


def refuse_many_rows(task: Task) -> None:
    if task.X.shape[0] > MOST_PAIRWISE:
        raise RefusedError(f"{task.X.shape[0]} rows: the n x n matrix was not formed above {MOST_PAIRWISE}")


@method("KMeans(1)")
def kmeans_once(task: Task, seed: int) -> Any:
    return KMeans(task.n_clusters, n_init=1, init="random", random_state=seed).fit_predict(task.X)


@method("KMeans(10)")
def kmeans(task: Task, seed: int) -> Any:
    return KMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(task.X)


@method("KMeans(10) of length one")
def kmeans_of_length_one(task: Task, seed: int) -> Any:
    return KMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(normalize(task.X))


@method("BisectingKMeans")
def bisecting(task: Task, seed: int) -> Any:
    return BisectingKMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(task.X)


@method("SpectralClustering")
def spectral(task: Task, seed: int) -> Any:
    """With nearest neighbours, the default of scikit-learn for anything but a few rows."""
    model = SpectralClustering(task.n_clusters, affinity="nearest_neighbors", random_state=seed)
    return model.fit_predict(task.X)


@method("Ward", seeded=False)
def ward(task: Task, seed: int) -> Any:
    refuse_many_rows(task)
    return AgglomerativeClustering(task.n_clusters).fit_predict(dense(task))


@method("Average linkage", seeded=False)
def average_linkage(task: Task, seed: int) -> Any:
    refuse_many_rows(task)
    return AgglomerativeClustering(task.n_clusters, linkage="average").fit_predict(dense(task))


@method("BIRCH", seeded=False)
def birch(task: Task, seed: int) -> Any:
    """Its threshold, a distance, is for columns of deviation 1."""
    return Birch(n_clusters=task.n_clusters).fit_predict(StandardScaler().fit_transform(dense(task)))


@method("HDBSCAN", seeded=False)
def hdbscan(task: Task, seed: int) -> Any:
    """Finds its own number of clusters; noise counts as a cluster of its own."""
    if task.X.shape[0] > 20_000:
        raise RefusedError(f"{task.X.shape[0]} rows: not run above 20000")
    return HDBSCAN(copy=True).fit_predict(dense(task, DENSE_FEATURES))


def _mixture(task: Task, seed: int, covariance: str) -> Any:
    X = dense(task, 4 * DENSE_FEATURES)
    scale = X.var(axis=0).mean()
    return GaussianMixture(
        task.n_clusters, covariance_type=covariance, n_init=3, reg_covar=1e-3 * scale, random_state=seed
    ).fit_predict(X)


@method("GMM full")
def mixture_full(task: Task, seed: int) -> Any:
    return _mixture(task, seed, "full")


@method("GMM tied")
def mixture_tied(task: Task, seed: int) -> Any:
    return _mixture(task, seed, "tied")


def _embedded(task: Task, seed: int) -> Any:
    """Rows as UMAP embeds them with what its documentation sets for clustering; sparse rows by their cosines.

    umap-learn is compared with only, and no dependency of ours.
    """
    try:
        from umap import UMAP
    except ImportError:
        raise RefusedError("umap-learn is not installed") from None
    sparse = issparse(task.X)
    return UMAP(
        n_neighbors=min(30, task.X.shape[0] - 1),
        min_dist=0.0,
        n_components=UMAP_SIZE,
        metric="cosine" if sparse else "euclidean",
        random_state=seed,
    ).fit_transform(csr_matrix(task.X) if sparse else task.X)


@method("UMAP + GMM")
def umap_mixture(task: Task, seed: int) -> Any:
    embedded = _embedded(task, seed)
    return GaussianMixture(task.n_clusters, n_init=3, random_state=seed).fit_predict(embedded)


@method("UMAP + HDBSCAN")
def umap_hdbscan(task: Task, seed: int) -> Any:
    """Finds its own number of clusters; noise counts as a cluster of its own, as for HDBSCAN alone."""
    embedded = _embedded(task, seed)
    least = max(10, len(embedded) // UMAP_CLUSTER)
    return HDBSCAN(min_samples=10, min_cluster_size=least, copy=True).fit_predict(embedded)


@method("gemclus")
def gemclus(task: Task, seed: int) -> Any:
    """A discriminative network with the one-against-one MMD of GemClus (GPL, compared only, no dependency of ours).

    Columns are standardised, batches have 200 rows, 200 epochs: of its models and settings that were tried on iris,
    wine, breast cancer and digits the best in the mean.
    """
    try:
        from gemclus.mlp import MLPMMD
    except ImportError as error:
        raise RefusedError(f"{error.name} is not installed") from None
    refuse_many_rows(task)
    X = StandardScaler().fit_transform(dense(task))
    return MLPMMD(task.n_clusters, ovo=True, batch_size=200, max_iter=200, random_state=seed).fit_predict(X)
