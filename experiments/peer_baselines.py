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
TOPIC_SIZE = 10  # the least, BERTopic's default


def _genie(name: str, task: Task, **settings: Any) -> Any:
    try:
        import genieclust
    except ImportError:
        raise RefusedError("genieclust is not installed") from None
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

    The resolution is halved in on until there are as many as classes, or for want of that as near as can be.
    """
    try:
        import igraph
        import leidenalg
    except ImportError:
        raise RefusedError("leidenalg is not installed") from None
    weights = neighbour_graph(dense(task), NEIGHBOURS).weights
    edges = weights.maximum(weights.T).tocoo()
    above = edges.row < edges.col
    graph = igraph.Graph(task.X.shape[0], np.column_stack([edges.row, edges.col])[above].tolist())
    (low, high), best = RESOLUTIONS, None
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        found = leidenalg.find_partition(
            graph,
            leidenalg.RBConfigurationVertexPartition,
            weights=edges.data[above].tolist(),
            resolution_parameter=middle,
            seed=seed,
        )
        if best is None or abs(len(found) - task.n_clusters) < abs(len(best) - task.n_clusters):
            best = found
        if len(found) == task.n_clusters:
            break
        low, high = (low, middle) if len(found) > task.n_clusters else (middle, high)
    assert best is not None
    return np.array(best.membership)


def _latent(task: Task) -> Any:
    """The leading directions of the weights of terms, rows of length one."""
    X = term_rows(task)
    return normalize(TruncatedSVD(min(LSA_SIZE, min(X.shape) - 1), random_state=0).fit_transform(X))


@method("LSA + KMeans(10)")
def latent_kmeans(task: Task, seed: int) -> Any:
    return KMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(_latent(task))


@method("BERTopic on LSA")
def topics_of_densities(task: Task, seed: int) -> Any:
    """BERTopic's pipeline at its defaults, with LSA in place of a language model.

    UMAP to five coordinates, HDBSCAN, and the weights of words in each topic (c-TF-IDF), by which topics are merged
    down to the number of classes, as by its ``nr_topics``, and rows of no topic join the most similar one.
    """
    try:
        from umap import UMAP
    except ImportError:
        raise RefusedError("umap-learn is not installed") from None
    embedded = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    topics = HDBSCAN(min_cluster_size=TOPIC_SIZE, copy=True).fit_predict(embedded.fit_transform(_latent(task)))
    words = normalize(_counts(task), "l1")
    if topics.max() >= task.n_clusters:
        merge = AgglomerativeClustering(task.n_clusters, metric="cosine", linkage="average")
        merged = merge.fit_predict(_class_weights(words, topics).toarray())
        topics = np.where(topics < 0, -1, merged[topics])
    aside = topics < 0
    if aside.any() and not aside.all():
        topics[aside] = (words[aside] @ normalize(_class_weights(words, topics)).T).toarray().argmax(axis=1)
    return topics


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
