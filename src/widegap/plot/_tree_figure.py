"""The tree: which clusters would join if there were fewer, and whether each split is real."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from widegap import describe
from widegap._wording import counted
from widegap.base._docs import shared_docs
from widegap.exceptions import NotSupportedError
from widegap.forest._split_words import CLOUD_WORD
from widegap.plot._axes import MUTED, axes_for, in_lines, without_frame
from widegap.plot._shown_clusters import fitted_clusters
from widegap.results._dendrogram import judged_tree, top_of_tree
from widegap.results._palette import light_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@shared_docs
def tree(model: Any, *, X: Any = None, names: Mapping[Any, str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the tree in which clusters would join if there were fewer of them.

    Two branches that meet above a number are one cluster from that number on. Each meeting says whether the split is
    *clear* or *likely*, or *as in a cloud* (dashed): no clearer than within one group. ``n_clusters="auto"`` measures
    this; for other models in memory it is measured now, which takes about as long as the fit.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted ``MaxMarginClustering`` with three clusters or more and ``search="agree"``, the default, or "merge"; or
        a pipeline that ends in one.
    <X, to name clusters>
    <ax>

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap import MaxMarginClustering, plot
    >>> ax = plot.tree(MaxMarginClustering(3, random_state=0).fit(load_iris().data))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['Cluster 0', 'Cluster 2', 'Cluster 1']
    """
    clusters = fitted_clusters(model, X, names)
    top = _top(describe.last_step(model))
    leaves = top["leaves"]
    ax = axes_for(ax, 7.2, 0.9 + 0.42 * len(leaves))
    places = {leaf: (0.0, float(row)) for row, leaf in enumerate(leaves)}
    for x, (pair, word) in enumerate(zip(top["merges"], top["words"], strict=True), 1):
        (x0, y0), (x1, y1) = (places[node] for node in pair)
        style = "--" if word == CLOUD_WORD else "-"
        ax.plot([x0, x, x, x1], [y0, y0, y1, y1], style, color=MUTED, lw=1.4, zorder=1)
        middle = (y0 + y1) / 2
        ax.annotate(word, (x, middle), (3, 2), textcoords="offset points", va="bottom", fontsize=8, color=MUTED)
        places[len(places)] = (x, middle)
    k = len(leaves)
    end = k - 1 + max(0.6, k / 10)  # room for a word
    ax.plot([k - 1, end], [middle, middle], color=MUTED, lw=1.4, zorder=1)  # the word of the last one stands on it
    ax.scatter([0] * k, range(k), s=70, c=[light_colour(leaf) for leaf in leaves], zorder=2)
    ax.set_yticks(range(k), [in_lines(clusters.numbered(leaf)) for leaf in leaves], fontsize="small")
    ax.set_ylim(k - 0.5, -0.5)
    ax.set_xlim(-0.02 * k, end)
    ax.set_xticks(range(1, k), [str(k - joined) for joined in range(1, k)])
    ax.set_xlabel("number of clusters")
    without_frame(ax, "bottom")
    return ax


def _top(estimator: Any) -> dict[str, Any]:
    """The merges above the clusters, or an error that says why there is nothing to draw."""
    name, k = type(estimator).__name__, int(getattr(estimator, "n_clusters_", 0))
    if not hasattr(estimator, "tree_"):
        search = getattr(estimator, "search", None)
        kind = name if search is None else f"{name}(search={search!r})"
        raise NotSupportedError(f"{kind} has no tree of clusters; fit MaxMarginClustering(search='agree').")
    found = top_of_tree(judged_tree(estimator), k)
    if found is None:
        raise NotSupportedError(
            f"{name} has {counted(k, 'cluster')}, and a tree needs three; draw model.with_clusters(3), for instance."
        )
    return found
