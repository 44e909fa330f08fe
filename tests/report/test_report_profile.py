"""What a report says of clusters in the units of the file: profile, names, tree, pictures; and reports in notebooks."""

import base64
import html
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from widegap import DocumentClustering, MaxMarginClustering, TableEncoder
from widegap._wording import ShownItem, clip, titled
from widegap.cli._column_options import decisions
from widegap.exceptions import InvalidDataError
from widegap.forest._linkage import MergeTree
from widegap.report import render, summarize
from widegap.report._charts import dendrogram
from widegap.results._dendrogram import top_of_tree
from widegap.results._images import picture_shape
from widegap.results._names import cluster_names
from widegap.results._profile import Contrasts, features_of

GROUP = np.repeat([0, 1, 2], 20)
FRAME = pd.DataFrame(
    {
        "annual_income": np.array([20_000.0, 60_000.0, 61_000.0])[GROUP] + np.arange(60) % 5 * 100,
        "visits": np.array([30, 2, 3])[GROUP] + np.arange(60) % 3,
        "city": np.where(GROUP == 2, "Oslo", np.where(np.arange(60) % 2, "Paris", "Rome")),
        "member": np.where(GROUP == 1, "yes", "no"),
        "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(365 * GROUP, "D"),
    },
    index=[f"C{i:03d}" for i in range(60)],
)


@pytest.fixture(scope="module")
def summary():
    model = make_pipeline(FunctionTransformer(lambda frame: np.eye(3)[GROUP[: len(frame)]]), KMeans(3, random_state=0))
    return summarize(model.fit(FRAME), FRAME)


def line(summary, feature):
    return next(line for line in summary["profile"]["lines"] if line["feature"] == feature)


def group_of(summary, cluster):
    """The group of rows that a cluster is."""
    point = next(point for point in summary["map"]["points"] if point["cluster"] == cluster)
    return GROUP[point["row"]]


def test_the_profile_has_means_and_shares_in_the_units_of_the_frame(summary):
    json.dumps(summary, allow_nan=False)
    assert summary["n_features"] == 5  # columns of the frame, however many features they became
    income, oslo, joined = (line(summary, name) for name in ("annual_income", "city = Oslo", "joined"))
    for cluster in range(3):
        group = group_of(summary, cluster)
        rows = FRAME[GROUP == group]
        assert income["cells"][cluster]["value"] == pytest.approx(rows["annual_income"].mean())
        assert oslo["cells"][cluster]["text"] == ("100 %" if group == 2 else "0 %")
        assert joined["cells"][cluster]["text"] == str(rows["joined"].mean().date())
    assert income["text"] == "47,200"
    names = [entry["feature"] for entry in summary["profile"]["lines"]]
    assert len({"member = yes", "member = no"} & set(names)) == 1  # the other says the same


def test_differences_of_half_a_deviation_are_marked(summary):
    for entry in summary["profile"]["lines"]:
        for cell in entry["cells"]:
            assert cell["mark"] == np.sign(cell["difference"]) * (abs(cell["difference"]) >= 0.5)


def test_clusters_are_named_by_what_sets_them_apart(summary):
    names = {group_of(summary, c["label"]): c["name"] for c in summary["clusters"]}
    assert set(names[0].split(", ")) == {"low annual income", "many visits"}
    assert "member" in names[1]
    assert "Oslo" in names[2]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("n_orders", [1, 1, 9, 9], ["few orders", "many orders"]),
        ("orders", [1.5, 1.2, 9.1, 9.2], ["low orders", "high orders"]),  # no counts
        ("is_member", [0, 0, 1, 1], ["no member", "member"]),
        ("zip = 123", [0, 0, 1, 1], ["Cluster 0", "zip 123"]),
        ("column 3", [1, 1, 9, 9], ["Cluster 0", "Cluster 1"]),
        ("same", [1, 9, 1, 9], ["Cluster 0", "Cluster 1"]),
    ],
)
def test_words_for_columns(name, values, expected):
    values = np.array(values, dtype=float)[:, None]
    contrasts = Contrasts(values, np.array([0, 0, 1, 1]), features_of([name], values), 2)
    assert cluster_names(contrasts, np.arange(2)) == expected


def test_no_two_clusters_have_one_name():
    values = np.repeat([[0.0], [5.0], [5.2]], 3, axis=0)
    contrasts = Contrasts(values, np.repeat([0, 1, 2], 3), features_of(["size"], values), 3)
    names = cluster_names(contrasts, np.arange(3))
    assert len(set(names)) == 3
    assert names[0] == "low size"


def test_names_of_the_user_come_first(summary):
    X = np.eye(3)[GROUP]
    model = KMeans(3, random_state=0).fit(X)
    named = summarize(model, X, names={"1": " VIPs ", 2: ""})
    assert [c["name"] for c in named["clusters"]] == ["Cluster 0", "VIPs", "Cluster 2"]
    with pytest.raises(InvalidDataError, match="a name for cluster '7', which does not exist; clusters are 0, 1, 2"):
        summarize(model, X, names={"7": "x"})


def test_a_table_encoder_shows_the_values_behind_the_texts():
    frame = pd.DataFrame(
        {"price": [f"€{1000 + 2000 * (g == 0) + i:,}.50" for i, g in enumerate(GROUP)], "city": FRAME["city"].to_list()}
    )
    model = make_pipeline(TableEncoder(), KMeans(2, n_init=1, random_state=0)).fit(frame)
    found = summarize(model, frame)
    assert found["n_features"] == 2
    price = next(line for line in found["profile"]["lines"] if line["feature"] == "price")
    numbers = frame["price"].str.strip("€").str.replace(",", "").astype(float)
    for cluster in range(2):
        assert price["cells"][cluster]["value"] == pytest.approx(numbers[model[-1].labels_ == cluster].mean())
    assert "€3,000.50" in found["map"]["points"][0]["text"]
    found["columns"] = decisions(model[0])
    page = render(found)
    assert "How the columns were read" in page
    assert "<td>category</td>" in page


def test_gaps_do_not_count():
    values = np.array([[1.0], [np.nan], [9.0], [9.0], [np.nan], [11.0]])
    contrasts = Contrasts(values, np.array([0, 0, 0, 1, 1, 1]), features_of(["x"], values), 2)
    np.testing.assert_allclose(contrasts.means.ravel(), [5.0, 10.0])
    np.testing.assert_allclose(contrasts.everywhere, 7.5)
    present = np.array([1.0, 9.0, 9.0, 11.0])
    np.testing.assert_allclose(contrasts.differences.ravel(), np.array([-5.0, 5.0]) / present.std())


def test_examples_show_the_columns_that_set_the_cluster_apart():
    X = np.eye(3)[GROUP] + np.arange(60)[:, None] / 1000
    model = MaxMarginClustering(3, search="moves", random_state=0).fit(X)
    found = summarize(model, X, frame=FRAME)
    for cluster in found["clusters"]:
        assert cluster["columns"][0] == cluster["separates"][0]["feature"].partition(" = ")[0]
        for example in (*cluster["representatives"], *cluster["borderline"]):
            cell = FRAME[cluster["columns"][0]].iloc[example["row"]]
            shown = example["cells"][0].replace(",", "")
            assert shown == (cell if isinstance(cell, str) else f"{cell:g}") or shown == str(cell)[:10]
    page = render(found)
    first = found["clusters"][0]["representatives"][0]
    assert f'<td class="num">{first["row"] + 1}' in page  # people count from 1
    assert 'scope="col">where' in page
    assert re.search("deep inside|close to|inside", first["depth"])


def test_rows_are_called_by_the_index_of_a_frame_or_by_ids(summary):
    assert summary["map"]["points"][7]["id"] == "C007"
    assert '"8 (C007)"' in render(summary)
    X = np.eye(3)[GROUP]
    plain = summarize(KMeans(3, random_state=0).fit(X), X)
    assert plain["map"]["points"][7]["id"] is None
    with pytest.raises(InvalidDataError, match="ids has 2 entries for 60 rows"):
        summarize(KMeans(3, random_state=0).fit(X), X, ids=[1, 2])
    with pytest.raises(InvalidDataError, match="frame has 3 rows, but X has 60"):
        summarize(KMeans(3, random_state=0).fit(X), X, frame=FRAME[:3])


def test_the_tree_is_the_top_of_the_merges():
    # Four groups: 0 and 1 merge first, then 2 and 3, then all; cut at 3 clusters the first merge is inside of one.
    tree = MergeTree(np.array([[0, 1], [2, 3], [4, 5]]), np.array([0.1, 0.4, 0.9]), np.array([7, 5, 12]),
                     np.array([4, 3, 3, 2]))  # fmt: skip
    found = top_of_tree(tree, 3)
    assert found["heights"] == [0.4, 0.9]
    assert found["merges"] == [[1, 2], [0, 3]]
    assert found["leaves"] == [0, 1, 2]
    assert str(dendrogram(found)).count("<path") == 2
    assert top_of_tree(tree, 2) is None  # a single merge says nothing
    assert top_of_tree(tree, 5) is None


def test_the_tree_agrees_with_scipys_cut():
    X = np.random.default_rng(0).normal(size=(40, 2))
    Z = linkage(X, "average")  # its heights all differ
    tree = MergeTree(Z[:, :2].astype(np.int64), Z[:, 2], Z[:, 3].astype(np.int64), np.ones(40, np.int64))
    found = top_of_tree(tree, 5)
    assert sorted(found["leaves"]) == list(range(5))
    assert found["heights"] == pytest.approx(sorted(Z[-4:, 2]))
    # The first merge above five clusters joins what scipy joins from five to four.
    five, four = (fcluster(Z, k, "maxclust") for k in (5, 4))
    joined = next(group for group in set(four) if len(set(five[four == group])) == 2)
    assert {int(cluster) for cluster in tree.cut(5)[four == joined]} == set(found["merges"][0])


def test_pixels_are_shown_as_mean_pictures():
    image = pytest.importorskip("PIL.Image")
    X, y = load_digits(return_X_y=True)
    X = X[y < 3]
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    found = summarize(model, X)
    assert found["n_features"] == 64
    data = found["clusters"][1]["picture"].removeprefix("data:image/png;base64,")
    picture = np.asarray(image.open(io.BytesIO(base64.b64decode(data))), dtype=float)
    mean = X[model.labels_ == 1].mean(axis=0).reshape(8, 8)
    assert np.corrcoef(picture.ravel(), -mean.ravel())[0, 1] > 0.999
    assert [c["name"] for c in found["clusters"]] == ["Cluster 0", "Cluster 1", "Cluster 2"]
    assert render(found).count('<img class="picture"') == 3
    named = [f"pixel_{i}_{j}" for i in range(8) for j in range(8)]
    assert picture_shape(named, X.mean(axis=0)) == (8, 8)


def test_other_columns_are_no_pictures():
    rng = np.random.default_rng(0)
    numbered = [f"column {j}" for j in range(64)]
    assert not any(picture_shape(numbered, rng.normal(size=64)) for _ in range(200))
    assert picture_shape([f"income {j}" for j in range(64)], np.arange(64.0)) is None
    assert picture_shape(numbered[:63], np.arange(63.0)) is None
    assert picture_shape(numbered, np.ones(64)) is None


def test_a_notebook_shows_a_summary_in_a_frame(summary):
    shown = summary._repr_html_()
    page = html.unescape(re.search(r'srcdoc="(.*?)"', shown, re.DOTALL)[1])
    assert page == render(summary)
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert "allow-same-origin" not in shown
    assert shown.count("<") == 2  # the frame's own two tags: nothing of the page leaks out of the attribute


def test_a_notebook_shows_a_fitted_model():
    X = np.eye(3)[GROUP] + np.arange(60)[:, None] / 1000
    model = MaxMarginClustering(3, search="merge", random_state=0)
    assert "<iframe" not in model._repr_html_()
    shown = model.fit(X)._repr_mimebundle_()["text/html"]
    assert "<iframe" in model._repr_html_()  # scikit-learn numbers its diagrams, so the two differ
    page = html.unescape(re.search(r'srcdoc="(.*?)"', shown, re.DOTALL)[1])
    assert "<b>60</b> rows" in page
    assert page.count('<article class="card"') == 3
    assert page.count("<b>20</b> rows") == 3
    assert "Which clusters are closest" in page
    texts = ["bread flour yeast", "flour yeast salt", "goal match late", "late goal kick"] * 3
    topics = DocumentClustering(2, random_state=0).fit(texts)
    assert html.escape(next(iter(topics.topic_names_.values()))) in topics._repr_html_()


def test_excerpts_end_between_words():
    text = "word " * 100
    assert clip(text, 50) == "word " * 9 + "word…"
    assert clip("a" * 40 + " " + "b" * 100, 50) == "a" * 40 + " " + "b" * 8 + "…"  # too much would be lost
    assert titled("# Title\n\nBody of it.") == ShownItem("Title", "Body of it.")
    assert titled("One line only.") == ShownItem("", "One line only.")
    assert titled("long " * 40 + "\nrest").title == ""


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("flipper_length_mm", "low flipper length (mm)"),
        ("body mass (kg)", "low body mass (kg)"),
        ("income_usd", "low income (USD)"),
        ("share_pct", "low share (%)"),
        ("mm", "low mm"),
        ("price_min", "low price min"),
        ("steps_km", "low steps (km)"),
    ],
)
def test_units_stand_apart_in_names(column, name):
    values = np.repeat([[1.25], [9.5]], 10, axis=0)
    found = Contrasts(values, np.repeat([0, 1], 10), features_of([column], values), 2)
    assert cluster_names(found, np.arange(2))[0] == name


@pytest.mark.parametrize(
    ("column", "values", "kind", "text"),
    [
        ("year", [1994, 2019], "year", "2019"),
        ("built", [1850, 2019], "year", "2019"),
        ("year_built", [1200, 2019.5], "year", "2020"),
        ("yearly_income", [1200, 2019.5], "number", "2,020"),
        ("visits", [3, 2019], "count", "2,019"),
        ("grams", [1900.5, 2019.5], "number", "2,020"),
    ],
)
def test_years_have_no_comma(column, values, kind, text):
    (feature,) = features_of([column], np.array(values, float)[:, None])
    assert feature.kind == kind and feature.text(values[-1]) == text


def test_years_of_examples_have_no_comma():
    frame = pd.DataFrame({"year": np.repeat([1990.0, 2019.0], 10), "size": np.repeat([1.5, 9.25], 10)})
    model = make_pipeline(TableEncoder(), MaxMarginClustering(2, random_state=0)).fit(frame)
    summary = summarize(model, frame)
    cells = {cell for cluster in summary["clusters"] for row in cluster["representatives"] for cell in row["cells"]}
    assert {"1990", "2019"} <= cells
    assert {cluster["name"].split(",")[0] for cluster in summary["clusters"]} == {"early year", "late year"}
    assert "2,019" not in render(summary)


def test_long_headers_of_examples_may_be_broken():
    X = np.repeat([[0.0, 0.0], [9.0, 8.0]], 10, axis=0) + np.linspace(0, 1, 20)[:, None]
    names = ["a_very_long_<b>_header_mm", "other"]
    page = render(summarize(MaxMarginClustering(2, random_state=0).fit(X), X, feature_names=names))
    assert "a_<wbr>very_<wbr>long_<wbr>&lt;b&gt;_<wbr>header_<wbr>mm" in page
