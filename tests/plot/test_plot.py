"""What figures hold: points, colours and names; and what they refuse."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.pipeline import make_pipeline

from widegap import CPM3C, DocumentClustering, MaxMarginClustering, TableEncoder, plot, report
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.results._palette import LIGHT, NO_CLUSTER

TEXTS = ["goal match team player", "match team goal cup", "oven bread flour butter", "flour butter cake oven"] * 5


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True)


@pytest.fixture(scope="module")
def model(iris):
    return MaxMarginClustering(3, random_state=0).fit(iris.data)


@pytest.fixture(scope="module")
def customers():
    rng = np.random.default_rng(0)
    group = np.arange(120) % 3
    frame = pd.DataFrame(
        {
            "age": rng.normal(np.array([25, 45, 65])[group], 3),
            "city": np.array(["Bonn", "Ulm", "Kiel"])[group],
            "visits": rng.poisson(np.array([20, 5, 1])[group]),
        }
    )
    return make_pipeline(TableEncoder(), MaxMarginClustering(3, random_state=0)).fit(frame), frame


def legend(ax):
    return [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]


def ticks(axis):
    return [text.get_text().replace("\n", " ") for text in axis.get_ticklabels()]


def names_of(model, X):
    """What the report calls the clusters."""
    return [f"{cluster['label']}: {cluster['name']}" for cluster in report.summarize(model, X)["clusters"]]


def points_of(ax):
    """Places of all points by colour."""
    return {to_hex(part.get_facecolor()[0]): np.asarray(part.get_offsets()) for part in ax.collections}


def test_the_map_has_the_places_colours_and_names_of_the_report(model, iris):
    ax = plot.map(model, iris.data)
    summary = report.summarize(model, iris.data)
    points = points_of(ax)
    for label in range(3):
        wanted = [(p["x"], p["y"]) for p in summary["map"]["points"] if p["cluster"] == label]
        np.testing.assert_allclose(points[LIGHT[label]], wanted)
    assert legend(ax) == names_of(model, iris.data)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]


def test_a_large_table_is_sampled_and_the_figure_says_so():
    X, _ = make_blobs(4000, centers=2, random_state=0)
    ax = plot.map(KMeans(2, random_state=0).fit(X), X)
    assert 2900 <= sum(map(len, points_of(ax).values())) <= 3000
    assert "of 4,000 rows" in ax.get_xlabel()


def test_rows_without_a_cluster_are_grey_and_lie_below():
    X, _ = make_blobs(80, centers=2, cluster_std=0.5, random_state=0)
    found = DBSCAN(0.3).fit(X)
    ax = plot.map(found, X)
    assert list(points_of(ax))[0] == NO_CLUSTER
    assert len(points_of(ax)[NO_CLUSTER]) == np.count_nonzero(found.labels_ < 0) > 0
    assert legend(ax)[-1] == "no cluster"
    counts = plot.confusion(found, np.zeros(80))
    assert ticks(counts.yaxis)[-1] == "no cluster"


def test_figures_of_a_table_of_categories(customers):
    model, frame = customers
    names = names_of(model, frame)
    assert legend(plot.map(model, frame)) == names
    ax = plot.profile(model, frame)
    assert ticks(ax.xaxis) == names and {"age", "visits", "city = Bonn"} <= set(ticks(ax.yaxis))
    shown = [text.get_text() for text in ax.texts]
    assert "100 %" in shown and len(shown) == 3 * len(ticks(ax.yaxis))
    assert sorted(ticks(plot.tree(model, X=frame).yaxis)) == names
    assert [text.rsplit(" 40 rows", 1)[0] for text in ticks(plot.agreement(model, X=frame).yaxis)] == names
    assert sorted(ticks(plot.confusion(model, frame["city"], X=frame).yaxis)) == names


def test_pixels_are_shown_as_pictures():
    X = load_digits().data
    ax = plot.profile(KMeans(4, n_init=1, random_state=0).fit(X), X)
    assert [picture.get_array().shape for picture in ax.images] == [(8, 8)] * 4


def test_names_come_from_the_user_and_from_known_labels(iris):
    known = [None] * 150
    known[0], known[50], known[100] = "setosa", "versicolor", "virginica"
    model = MaxMarginClustering(3, random_state=0).fit(iris.data, known=known)
    carried = [f"{label}: {name}" for label, name in enumerate(model.classes_)]
    assert sorted(ticks(plot.tree(model).yaxis)) == carried == legend(plot.map(model, iris.data))
    own = plot.agreement(model, names={1: "mine"})
    assert ticks(own.yaxis)[1].startswith("1: mine ")
    with pytest.raises(InvalidDataError, match="names has a name for cluster 7"):
        plot.map(model, iris.data, names={7: "none"})


def test_the_tree_joins_what_the_report_joins_and_says_whether_splits_are_real(model):
    from widegap.results._dendrogram import judged_tree, top_of_tree

    top = top_of_tree(judged_tree(model), 3)
    ax = plot.tree(model)
    assert ticks(ax.yaxis) == [f"Cluster {leaf}" for leaf in top["leaves"]]
    assert [text.get_text() for text in ax.texts] == top["words"] == ["as in a cloud", "clear"]
    assert [line.get_linestyle() for line in ax.lines] == ["--", "-", "-"]
    assert ticks(ax.xaxis) == ["2", "1"]


def test_agreement_is_as_long_as_the_rows_are_sure(model):
    ax = plot.agreement(model)
    for label, outline in enumerate(ax.collections):
        corners = outline.get_paths()[0].vertices[:, 0]
        sure = model.agreement_[model.labels_ == label]
        assert corners.max() == pytest.approx(sure.max()) and set(np.round(sure, 9)) <= set(np.round(corners, 9))


def test_numbers_marks_the_chosen_one(iris):
    model = MaxMarginClustering("auto", random_state=0).fit(iris.data)
    ax = plot.numbers(model)
    scores = {round(bar.get_x() + bar.get_width() / 2): bar for bar in ax.patches}
    for score in model.n_clusters_scores_:
        if score.n_clusters in scores:
            assert scores[score.n_clusters].get_height() == pytest.approx(max(0.0, score.strength or 0.0))
    coloured = [k for k, bar in scores.items() if to_hex(bar.get_facecolor()) == LIGHT[0]]
    assert coloured == [model.n_clusters_]
    assert ax.get_title(loc="left") == model.n_clusters_choice_.sentence()


def test_confusion_counts_rows(model, iris):
    y = iris.target_names[iris.target]
    ax = plot.confusion(model, pd.Series(y, name="species"))
    table = pd.crosstab(model.labels_, y)
    found = np.array([int(text.get_text()) for text in ax.texts]).reshape(3, 3)
    order = [int(text.removeprefix("Cluster ")) for text in ticks(ax.yaxis)]
    np.testing.assert_array_equal(found, table.loc[order].to_numpy())
    assert (ticks(ax.xaxis), ax.get_xlabel()) == (list(table.columns), "species")


def test_documents_have_a_map_and_a_confusion_by_topic():
    model = DocumentClustering(2, random_state=0).fit(TEXTS)
    ax = plot.map(model, TEXTS)
    assert sum(map(len, points_of(ax).values())) == 20
    wanted = [f"{label}: {name}" for label, name in model.topic_names_.items()]
    assert legend(ax) == wanted
    assert sorted(ticks(plot.confusion(model, [0, 0, 1, 1] * 5).yaxis)) == wanted
    with pytest.raises(NotSupportedError, match="documents have terms, not columns"):
        plot.profile(model, TEXTS)


def test_axes_of_the_caller_are_used(model, iris):
    figure, axes = plt.subplots(1, 5)
    y = iris.target
    drawn = [plot.map(model, iris.data, ax=axes[0]), plot.tree(model, ax=axes[1]), plot.agreement(model, ax=axes[2])]
    drawn += [plot.profile(model, iris.data, ax=axes[3]), plot.confusion(model, y, ax=axes[4])]
    assert drawn == list(axes) and plt.get_fignums() == [figure.number]
    with pytest.raises(InvalidDataError, match="ax is a ndarray; pass one matplotlib Axes"):
        plot.map(model, iris.data, ax=axes)


REFUSED = [
    (lambda m, X: plot.tree(CPM3C(3, random_state=0).fit(X)), "CPM3C has no tree of clusters; fit MaxMargin"),
    (
        lambda m, X: plot.tree(MaxMarginClustering(3, search="moves", random_state=0).fit(X)),
        r"MaxMarginClustering\(search='moves'\) has no tree",
    ),
    (
        lambda m, X: plot.tree(m.with_clusters(2)),
        r"has 2 clusters, and a tree needs three; draw model.with_clusters\(3",
    ),
    (lambda m, X: plot.agreement(CPM3C(3, random_state=0).fit(X)), "CPM3C has a single search.*fit MaxMargin"),
    (
        lambda m, X: plot.agreement(MaxMarginClustering(3, search="merge", random_state=0).fit(X)),
        r"has a single search.*fit MaxMarginClustering\(search='agree'\)",
    ),
    (lambda m, X: plot.numbers(m), "was given n_clusters=3, so no other number was tried; fit"),
    (lambda m, X: plot.numbers(MaxMarginClustering("auto")), "has no labels_: fit it first"),
    (lambda m, X: plot.confusion(m, [0, 1]), r"y has shape \(2,\), but the fit had 150 rows"),
    (lambda m, X: plot.tree(m, X=X[:100]), "X are not the 150 rows of the fit"),
    (lambda m, X: plot.agreement(MaxMarginClustering(3)), "MaxMarginClustering has no labels_: fit it first"),
]


@pytest.mark.parametrize(("draw", "match"), REFUSED)
def test_a_figure_without_meaning_is_refused_before_it_is_opened(draw, match, model, iris):
    with pytest.raises((InvalidDataError, NotSupportedError), match=match):
        draw(model, iris.data)
    assert plt.get_fignums() == []


def test_kernel_matrices_have_no_profile(iris):
    K = iris.data.to_numpy() @ iris.data.to_numpy().T
    model = MaxMarginClustering(2, kernel="precomputed", random_state=0).fit(K)
    with pytest.raises(NotSupportedError, match="columns of a kernel matrix are rows"):
        plot.profile(model, K)
    assert len(legend(plot.map(model, K))) == 2


WITHOUT = """
import sys
sys.modules["matplotlib"] = None
from sklearn.cluster import KMeans
from widegap import plot
from widegap.exceptions import NotSupportedError
X = [[0.0], [1.0], [9.0]]
try:
    plot.map(KMeans(2, n_init=1).fit(X), X)
except NotSupportedError as error:
    print(error)
"""


def test_without_matplotlib_the_error_names_the_extra():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout == "Plots need matplotlib, which is not installed: pip install 'widegap[plot]'.\n"
