"""The profile: how clusters differ, column by column, or their mean pictures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap.base._docs import shared_docs
from widegap.exceptions import NotSupportedError
from widegap.plot._axes import INK, axes_for, in_lines, without_frame
from widegap.plot._shown_clusters import ShownClusters, clusters_of, result_of
from widegap.results._palette import light_colour
from widegap.results._row_views import RowView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_LINES = 15  # columns in which clusters differ most; more do not fit a figure
MOST_DEVIATIONS = 2.0  # from which on a difference has the full colour
CELL_WIDTH, HEAD_LETTERS = 1.05, 14  # inches of the column of a cluster, and letters of a line above it
MORE_COLOUR, LESS_COLOUR = "#3a8f3f", "#c05a2a"  # as in the report's table


@shared_docs
def profile(model: Any, X: Any, *, names: Mapping[Any, str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw how clusters differ: means and shares of the columns in which they differ most, in the units of the table.

    A cell is green where the cluster has more than other rows, and orange where it has less; the stronger, the more
    standard deviations lie between. Where the columns are pixels, the mean picture of every cluster is drawn instead.

    Parameters
    ----------
    <any fitted model>
    X : {array-like, frame, sparse matrix} of shape (n_samples, n_features)
        Rows as the model takes them, not necessarily those of the fit.
    <names of clusters>
    <ax>

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap import MaxMarginClustering, plot
    >>> X = load_iris(as_frame=True).data
    >>> ax = plot.profile(MaxMarginClustering(3, random_state=0).fit(X), X)
    >>> ax.get_yticklabels()[0].get_text()
    'petal length (cm)'
    """
    result = result_of(model, X, names)
    clusters, view = clusters_of(result), result.view
    if view.picture is not None:
        return _draw_pictures(view, clusters, ax)
    found = view.profile()
    if found is None:
        why = (
            "documents have terms, not columns"
            if view.unit == "document"
            else (
                "the columns of a kernel matrix are rows" if view.pairwise else "no column differs between the clusters"
            )
        )
        raise NotSupportedError(f"There is no profile of columns: {why}. plot.map(model, X) shows the clusters.")
    return _draw_table(found["lines"][:SHOWN_LINES], clusters, ax)


def _draw_table(lines: list[dict[str, Any]], clusters: ShownClusters, ax: "Axes | None") -> "Axes":
    from matplotlib.colors import LinearSegmentedColormap

    ax = axes_for(ax, 2.2 + CELL_WIDTH * len(clusters.kinds), 1.2 + 0.36 * len(lines))
    differences = np.array([[cell["difference"] for cell in line["cells"]] for line in lines])
    shades = LinearSegmentedColormap.from_list("profile", [LESS_COLOUR, "white", MORE_COLOUR])
    ax.imshow(differences, cmap=shades, vmin=-MOST_DEVIATIONS, vmax=MOST_DEVIATIONS, alpha=0.75, aspect="auto")
    for i, line in enumerate(lines):
        for j, cell in enumerate(line["cells"]):
            ax.text(j, i, cell["text"], color=INK, ha="center", va="center", fontsize=9)
    ax.set_yticks(range(len(lines)), [in_lines(line["feature"]) for line in lines], fontsize="small")
    ax.xaxis.tick_top()
    _name_columns(ax, range(len(clusters.kinds)), clusters)
    return ax


def _draw_pictures(view: RowView, clusters: ShownClusters, ax: "Axes | None") -> "Axes":
    """The mean picture of every cluster side by side, with its number below."""
    assert view.picture is not None
    height, width = view.picture
    k = len(clusters.kinds)
    ax = axes_for(ax, max(3.0, 0.95 * k), 1.6)
    means = np.nan_to_num(view.contrasts.means).reshape(k, height, width)
    step = width + max(1, width // 8)
    for i, picture in enumerate(means):
        ax.imshow(
            picture, cmap="gray_r", vmin=means.min(), vmax=means.max(), extent=(i * step, i * step + width, height, 0)
        )
    ax.set_xlim(-1, k * step)
    ax.set_ylim(height + 1, -1)
    ax.set_yticks([])
    _name_columns(ax, [i * step + width / 2 for i in range(k)], clusters)
    return ax


def _name_columns(ax: "Axes", places: Sequence[float], clusters: ShownClusters) -> None:
    """Call the columns by their clusters, in their colours."""
    ax.set_xticks(places, [in_lines(clusters.numbered(label), HEAD_LETTERS) for label in clusters.kinds])
    without_frame(ax)
    for text, label in zip(ax.get_xticklabels(), clusters.kinds, strict=True):
        text.set(color=light_colour(label), fontweight="bold", fontsize=8)
