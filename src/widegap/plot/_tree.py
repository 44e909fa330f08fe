"""The tree: which clusters would join if there were fewer, and whether each split is real."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from widegap import describe
from widegap._wording import counted
from widegap.exceptions import NotSupportedError
from widegap.forest._split_words import CLOUD_WORD
from widegap.plot._axes import MUTED, axes_for, without_frame
from widegap.plot._clusters import fitted_clusters
from widegap.results._dendrogram import judged_tree, top_of_tree
from widegap.results._palette import light_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def tree(model: Any, *, X: Any = None, names: Mapping[Any, str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the tree in which clusters would join if there were fewer of them.

    The further right two branches meet, the more clearly they are apart. Each meeting says whether the split is *clear*
    or *likely*, or no clearer than within one cloud (dashed), where that is known: :ref:`n_clusters="auto"` measures
    it, and for other models in memory it is measured now, which takes about as long as the fit.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted ``MaxMarginClustering(search="merge")`` with three clusters or more, or a pipeline that ends in one.
    X : {array-like, frame, sparse matrix} of shape (n_samples, n_features), default=None
        The rows of the fit. With them, clusters are named by what sets them apart, as in the report.
    names : mapping, default=None
        Names of clusters by their labels.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    clusters = fitted_clusters(model, X, names)
    top = _top(describe.last_step(model))
    leaves = top["leaves"]
    ax = axes_for(ax, 7.2, 0.9 + 0.34 * len(leaves))
    places = {leaf: (0.0, float(row)) for row, leaf in enumerate(leaves)}
    for pair, height, word in zip(top["merges"], top["heights"], top["words"], strict=True):
        (x0, y0), (x1, y1) = (places[node] for node in pair)
        style = "--" if word == CLOUD_WORD else "-"
        ax.plot([x0, height, height, x1], [y0, y0, y1, y1], style, color=MUTED, lw=1.4, zorder=1)
        if word:
            ax.annotate(
                word, (height, (y0 + y1) / 2), (4, 0), textcoords="offset points", va="center", fontsize=8, color=MUTED
            )
        places[len(places)] = (height, (y0 + y1) / 2)
    ax.scatter([0] * len(leaves), range(len(leaves)), s=70, c=[light_colour(leaf) for leaf in leaves], zorder=2)
    ax.set_yticks(range(len(leaves)), [clusters.numbered(leaf) for leaf in leaves])
    ax.set_ylim(len(leaves) - 0.5, -0.5)
    ax.set_xlim(-0.02 * max(top["heights"]), 1.18 * max(*top["heights"], 1e-9))
    ax.set_xlabel("margin between the parts")
    without_frame(ax, "bottom")
    return ax


def _top(estimator: Any) -> dict[str, Any]:
    """The merges above the clusters, or an error that says why there is nothing to draw."""
    name, k = type(estimator).__name__, int(getattr(estimator, "n_clusters_", 0))
    if not hasattr(estimator, "tree_"):
        search = getattr(estimator, "search", None)
        kind = name if search is None else f"{name}(search={search!r})"
        raise NotSupportedError(f"{kind} has no tree of clusters; fit MaxMarginClustering(search='merge').")
    found = top_of_tree(judged_tree(estimator), k)
    if found is None:
        raise NotSupportedError(
            f"{name} has {counted(k, 'cluster')}, and a tree needs three; draw model.with_clusters(3), for instance."
        )
    return found
