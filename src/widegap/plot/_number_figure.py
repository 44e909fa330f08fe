"""How many clusters: the strength of every number."""

from typing import TYPE_CHECKING, Any

from widegap import describe
from widegap.base._docs import shared_docs
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.plot._axes import INK, MUTED, axes_for, without_frame
from widegap.results._how_many import number_found, shown_scores
from widegap.results._palette import NO_CLUSTER, light_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@shared_docs
def numbers(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the strength of every number of clusters, for a model that chose its number itself.

    The strength says how clearly a number stands out from the next smaller one that does. The largest number above the
    dashed line is chosen; if no bar reaches it, there is one cluster.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted with ``n_clusters="auto"``.
    <ax>

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap import MaxMarginClustering, plot
    >>> ax = plot.numbers(MaxMarginClustering("auto", random_state=0).fit(load_iris().data))
    >>> ax.get_title(loc="left")
    '2 clusters (strength 10.0; a single cloud reaches 1 about once in 50).'
    """
    estimator = describe.last_step(model)
    name = type(estimator).__name__
    if getattr(estimator, "n_clusters", None) != "auto":
        given = getattr(estimator, "n_clusters", None)
        raise NotSupportedError(
            f"{name} was given n_clusters={given!r}, so no other number was tried; fit MaxMarginClustering('auto'), or "
            "compare numbers with selection.compare_cluster_numbers."
        )
    if not hasattr(estimator, "labels_"):
        raise InvalidDataError(f"{name} has no labels_: fit it first.")
    found = number_found(estimator)
    assert found is not None  # as n_clusters is "auto"
    scores = shown_scores(found)
    if not scores:
        raise NotSupportedError(f"{name} compared no numbers of clusters. {found['words']}")
    ax = axes_for(ax, 7.2, 3.2)
    ks = [score["n_clusters"] for score in scores]
    heights = [max(0.0, score["strength"] or 0.0) for score in scores]
    ax.bar(ks, heights, 0.7, color=[light_colour(0) if k == found["chosen"] else NO_CLUSTER for k in ks])
    ax.axhline(found["needed"], color=MUTED, ls="--", lw=1)
    ax.set_ylim(0, 1.05 * max(*heights, 2 * found["needed"]))
    ax.set_xticks(ks)
    ax.set_xlim(ks[0] - 0.6, ks[-1] + 0.6)
    ax.set(xlabel="number of clusters", ylabel="strength")
    sentence = found["words"] if found["choice"] is None else found["choice"]["sentence"]
    ax.set_title(sentence, color=INK, fontsize="medium", loc="left", wrap=True)
    without_frame(ax, "bottom", "left")
    return ax
