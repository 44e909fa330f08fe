"""The top of a tree of merges: how clusters would join if there were fewer."""

from typing import Any

import numpy as np


def top_of_tree(tree: Any, n_clusters: int) -> dict[str, Any] | None:
    """The merges above ``n_clusters`` groups; None where there are fewer than two merges to show.

    Returns
    -------
    dict with leaves, merges and heights
        ``leaves`` are the clusters in an order in which no branches cross. Merge s joins the nodes ``merges[s]`` to
        node ``n_clusters + s``, where 0 to ``n_clusters - 1`` are clusters; ``heights`` never fall.
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
    return {"leaves": leaves, "merges": merges, "heights": [float(height) for height in heights]}


def _leaves(merges: list[list[int]], n_clusters: int, sizes: Any) -> list[int]:
    """Clusters from top to bottom, of two branches the one with more rows first."""
    parts: dict[int, list[int]] = {cluster: [cluster] for cluster in range(n_clusters)}
    for step, pair in enumerate(merges):
        branches = sorted((parts[node] for node in pair), key=lambda part: -sum(sizes[cluster] for cluster in part))
        parts[n_clusters + step] = branches[0] + branches[1]
    return parts[n_clusters + len(merges) - 1]
