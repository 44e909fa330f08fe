"""The top of a tree of merges: how clusters would join if there were fewer."""

from typing import Any

import numpy as np

from widegap.forest._split_words import CLEAR_WORD, CLOUD_WORD, LIKELY_WORD


def judged_tree(model: Any) -> Any:
    """The tree of a fitted model with the excess of its merges: measured now, if its search is in memory; or None.

    Latent classes are no merges of groups, and their tree is as it is.
    """
    tree, kept = getattr(model, "tree_", None), getattr(model, "_kept", None)
    if tree is None or kept is None or kept.result.classes is not None or not np.isnan(tree.excess).all():
        return tree
    return kept.cuts.judged_tree(kept.result, model.n_neighbors)


def top_of_tree(tree: Any, n_clusters: int) -> dict[str, Any] | None:
    """The merges above ``n_clusters`` groups; None where there are fewer than two merges to show.

    Returns
    -------
    dict with leaves, merges, heights, words and splits
        ``leaves`` are the clusters in an order in which no branches cross. Merge s joins the nodes ``merges[s]`` to
        node ``n_clusters + s``, where 0 to ``n_clusters - 1`` are clusters; ``heights`` never fall. ``words`` say of
        each merge whether the split is real (``MergeTree.words``), and ``splits`` says it of all, in a sentence.
    """
    m = len(tree.leaf_sizes)
    if not 2 < n_clusters <= m:
        return None
    below = m - n_clusters  # merges inside of clusters
    clusters = tree.cut(n_clusters)
    node_of = {int(node): int(cluster) for node, cluster in enumerate(clusters)}
    for step in range(below):
        node_of[m + step] = node_of[int(tree.merges[step][0])]
    merges = []
    for step, pair in enumerate(tree.merges[below:]):
        merges.append([node_of[int(node)] for node in pair])
        node_of[m + below + step] = n_clusters + step
    heights = np.maximum.accumulate(np.clip(tree.margins[below:], 0.0, None))
    leaves = _leaves(merges, n_clusters, np.bincount(clusters, tree.leaf_sizes, n_clusters))
    words = tree.words()[below:]
    shown = {"leaves": leaves, "merges": merges, "heights": [float(height) for height in heights]}
    return {**shown, "words": words, "splits": _splits(words)}


def _splits(words: list[str]) -> str:
    """How many of the splits are real, in a sentence; empty if none was measured."""
    counts = {word: words.count(word) for word in (CLEAR_WORD, LIKELY_WORD, CLOUD_WORD)}
    if not any(counts.values()):
        return ""
    total, clear, likely = sum(counts.values()), counts[CLEAR_WORD], counts[LIKELY_WORD]
    weak = "" if not counts[CLOUD_WORD] else f", and {counts[CLOUD_WORD]} no clearer than within a cloud (dashed)"
    return f"{clear} of {total} splits between clusters are clear, {likely} likely{weak}."


def _leaves(merges: list[list[int]], n_clusters: int, sizes: Any) -> list[int]:
    """Clusters from top to bottom, of two branches the one with more rows first."""
    parts: dict[int, list[int]] = {cluster: [cluster] for cluster in range(n_clusters)}
    for step, pair in enumerate(merges):
        branches = sorted((parts[node] for node in pair), key=lambda part: -sum(sizes[cluster] for cluster in part))
        parts[n_clusters + step] = branches[0] + branches[1]
    return parts[n_clusters + len(merges) - 1]
