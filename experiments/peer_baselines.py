"""Clusterers of others under licences that are not ours (genieclust: AGPL, leidenalg: GPL), and BERTopic's pipeline.

They are installed for measuring only (``pip install --group peers``); no extra of widegap names them.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from experiments.baselines import dense
from experiments.cells import RefusedError, Task, method
from experiments.text_baselines import term_rows
from widegap.features._neighbours import neighbour_graph

NEIGHBOURS = 10  # as MaxMarginClustering has
HALVINGS = 25  # of the range of Leiden's resolution
RESOLUTIONS = (1e-4, 1e3)
LSA_SIZE = 100
LEAST_TOPIC = 10  # documents, BERTopic's default


def _genie(name: str, task: Task, **settings: Any) -> Any:
    try:
        import genieclust
    except ImportError as error:  # itself, or a package that it needs
        raise RefusedError(f"{error.name} is not installed") from None
    X = np.ascontiguousarray(dense(task))
    return getattr(genieclust, name)(n_clusters=task.n_clusters, **settings).fit_predict(X)


@method("Genie", seeded=False)
def genie(task: Task, seed: int) -> Any:
    """Single linkage that merges the smallest clusters while the Gini index of the sizes is above 0.3."""
    return _genie("Genie", task, gini_threshold=0.3)


@method("GIc", seeded=False)
def genie_by_information(task: Task, seed: int) -> Any:
    return _genie("GIc", task)


@method("Leiden")
def leiden(task: Task, seed: int) -> Any:
    """Communities of the weighted neighbour graph that ours is built on.

    The resolution is halved in on until there are as many as classes, or for want of that as near as can be. Counted
    are communities of a tenth of n / k rows: a few rows that nothing joins to the others are one at any resolution.
    """
    try:
        import igraph
        import leidenalg
    except ImportError as error:
        raise RefusedError(f"{error.name} is not installed") from None
    weights = neighbour_graph(dense(task), NEIGHBOURS).weights
    edges = weights.maximum(weights.T).tocoo()
    above = edges.row < edges.col
    graph = igraph.Graph(task.X.shape[0], np.column_stack([edges.row, edges.col])[above].tolist())
    (low, high), best, nearest = RESOLUTIONS, None, np.inf
    least = task.X.shape[0] / (10 * task.n_clusters)
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        found = leidenalg.find_partition(
            graph,
            leidenalg.RBConfigurationVertexPartition,
            weights=edges.data[above].tolist(),
            resolution_parameter=middle,
            seed=seed,
        )
        away = sum(size >= least for size in found.sizes()) - task.n_clusters
        if abs(away) < nearest:
            best, nearest = found, abs(away)
        if away == 0:
            break
        low, high = (low, middle) if away > 0 else (middle, high)
    assert best is not None
    return np.array(best.membership)


def _latent(task: Task) -> Any:
    """The leading directions of the weights of terms, rows of length one."""
    X = term_rows(task)
    return normalize(TruncatedSVD(min(LSA_SIZE, min(X.shape) - 1), random_state=0).fit_transform(X))


@method("LSA + KMeans(10)")
def latent_kmeans(task: Task, seed: int) -> Any:
    return KMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(_latent(task))


def _embedded_topics(latent: Any, seed: int) -> Any:
    """UMAP as BERTopic sets it."""
    try:
        from umap import UMAP
    except ImportError:
        raise RefusedError("umap-learn is not installed") from None
    return UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed).fit_transform(latent)


@method("BERTopic on LSA")
def topics_of_densities(task: Task, seed: int) -> Any:
    """BERTopic's pipeline with LSA in place of a language model, for a number of topics that is given.

    UMAP to five coordinates, then HDBSCAN. BERTopic's documentation advises to reach the number by the least size of a
    topic, and to merge topics (``nr_topics``) only after that: average linkage of many small topics leaves
    nearly all documents in one topic. What is left to merge goes by the mean embeddings of topics. Documents of no
    topic join the one with the most similar words (c-TF-IDF), as by ``reduce_outliers``.
    """
    latent, words = _latent(task), normalize(_counts(task), "l1")
    topics = _as_many_topics(_embedded_topics(latent, seed), task.n_clusters)
    if topics.max() >= task.n_clusters:
        means = np.array([latent[topics == topic].mean(axis=0) for topic in range(topics.max() + 1)])
        merged = AgglomerativeClustering(task.n_clusters, metric="cosine", linkage="average").fit_predict(means)
        topics = np.where(topics < 0, -1, merged[topics])
    aside = topics < 0
    if aside.any() and not aside.all():
        topics[aside] = (words[aside] @ normalize(_class_weights(words, topics)).T).toarray().argmax(axis=1)
    return topics


def _as_many_topics(rows: Any, number: int) -> Any:
    """The largest least size of a topic that leaves as many topics as are asked for; else the nearest number."""
    low, high, best = LEAST_TOPIC, len(rows) // number, None
    while low <= high:
        size = (low + high) // 2
        found = HDBSCAN(min_cluster_size=size, copy=True).fit_predict(rows)
        if best is None or abs(found.max() + 1 - number) <= abs(best.max() + 1 - number):
            best = found
        low, high = (size + 1, high) if found.max() + 1 >= number else (low, size - 1)
    assert best is not None
    return best


@method("BERTopic on LSA, k-means")
def topics_of_kmeans(task: Task, seed: int) -> Any:
    """The same with k-means in place of HDBSCAN, which BERTopic's documentation offers for a known number of topics."""
    return KMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(_embedded_topics(_latent(task), seed))


def _counts(task: Task) -> Any:
    """How often words occur, or their weights where there are no documents."""
    if task.documents is None:
        return term_rows(task)
    return CountVectorizer(max_features=term_rows(task).shape[1]).fit_transform(task.documents)


def _class_weights(words: Any, topics: Any) -> Any:
    """c-TF-IDF: the share of a word in a topic times log(1 + words of a mean topic / occurrences of the word)."""
    members = np.equal.outer(np.arange(topics.max() + 1), topics).astype(float)
    total = normalize(words.T.dot(members.T).T, "l1")
    frequency = np.asarray(total.sum(axis=0)).ravel()
    return csr_matrix(total * np.log1p(1 / np.maximum(frequency / len(total), 1e-12)))
