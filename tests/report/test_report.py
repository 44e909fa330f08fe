"""Reports: the dict of numbers, and the page made of it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.manifold import trustworthiness
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from widegap import (
    CPM3C,
    GMMC,
    M2DCU,
    MKC,
    MMC,
    DocumentClustering,
    IterSVR,
    MaxMarginClustering,
    describe,
    persistence,
    universum,
)
from widegap._wording import clip, number, plain
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.report import SCHEMA, render, summarize
from widegap.rows._sources import row_blocks

TEXTS = [
    "bake the bread with flour and yeast",
    "knead flour, yeast and water for bread",
    "bread needs salt, flour and time",
    "the goalkeeper saved a late goal",
    "a late goal decided the match",
    "the match ended without a goal",
]


class Page(HTMLParser):
    """Elements of a page with their attributes, and the words between them outside of scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self._inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.words.append(data)

    def count(self, tag, **wanted):
        return sum(
            t == tag and all(a.get(key.replace("_", "-")) == value for key, value in wanted.items())
            for t, a in self.elements
        )

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def wine():
    return load_wine()


@pytest.fixture(scope="module")
def fitted(wine):
    return MaxMarginClustering(3, random_state=0).fit(wine.data)


@pytest.fixture(scope="module")
def summary(wine, fitted):
    return summarize(fitted, wine.data, feature_names=wine.feature_names, title="Wine")


def test_the_summary_is_json_with_a_schema(summary, fitted):
    again = json.loads(json.dumps(summary, allow_nan=False))
    assert again["schema"] == SCHEMA == "widegap.report/2"
    assert [cluster["size"] for cluster in again["clusters"]] == np.bincount(fitted.labels_).tolist()
    assert again["objective"]["value"] == fitted.objective_
    assert again["search"]["members"] == len(fitted.history_)
    assert again["search"]["agreement"] == fitted.agreement_.mean()
    assert again["settings"]["C"] == 10.0
    assert {"Python", "widegap", "numpy"} <= set(again["versions"])
    page = render(again)
    assert page == render(summary)


def test_what_separates_a_cluster_is_the_standardised_difference(summary, wine, fitted):
    for cluster in summary["clusters"]:
        inside = fitted.labels_ == cluster["label"]
        gaps = (wine.data[inside].mean(axis=0) - wine.data[~inside].mean(axis=0)) / wine.data.std(axis=0)
        strongest = int(np.abs(gaps).argmax())
        first = cluster["separates"][0]
        assert first["feature"] == wine.feature_names[strongest]
        assert first["difference"] == pytest.approx(gaps[strongest])
        assert first["mean"] == pytest.approx(wine.data[inside, strongest].mean())


def test_margins_are_leads_over_the_next_cluster(summary, wine, fitted):
    scores, rows = fitted.decision_function(wine.data), np.arange(len(wine.data))
    leads = scores[rows, fitted.labels_]  # below those of the next cluster where neighbours know better than scores
    scores[rows, fitted.labels_] = -np.inf
    leads = leads - scores.max(axis=1)
    for cluster in summary["clusters"]:
        own = leads[fitted.labels_ == cluster["label"]]
        assert cluster["margin"]["median"] == pytest.approx(np.median(own))
        assert sum(cluster["margin"]["counts"]) == cluster["size"]
        assert cluster["borderline"][0]["margin"] == pytest.approx(own.min())
        assert cluster["representatives"][0]["margin"] == pytest.approx(own.max())
        assert fitted.labels_[cluster["borderline"][0]["row"]] == cluster["label"]


def test_leads_by_hand():
    scores = np.array([[1.0, 3.0, 2.5], [4.0, 1.0, 0.0], [0.0, 1.0, 5.0]])
    np.testing.assert_allclose(describe.leads(scores, [1, 1, -1]), [0.5, -3.0, np.nan])
    assert np.isnan(describe.leads(scores[:, :1], [0, 0, 0])).all()


def test_contrasts_do_not_depend_on_the_representation():
    X = sparse.random(50, 8, 0.4, format="csr", random_state=0)
    labels = np.arange(50) % 3 - (np.arange(50) == 7)
    for dense, other in zip(describe.contrasts(X.toarray(), labels, 3), describe.contrasts(X, labels, 3), strict=True):
        np.testing.assert_allclose(dense, other, atol=1e-12)
    X = np.column_stack([np.ones(50), labels])
    assert (describe.contrasts(X, labels, 3)[0][:, 0] == 0).all()  # a constant column sets nothing apart


def test_the_map_keeps_neighbours_together_and_says_who_placed_them(wine):
    X = wine.data / wine.data.std(axis=0)
    summary = summarize(CPM3C(2, random_state=0).fit(X), X)
    points = np.array([(point["x"], point["y"]) for point in summary["map"]["points"]])
    assert trustworthiness(X, points, n_neighbors=10) > 0.9  # 0.937 measured
    assert "Rows that are alike are near each other." in Page(render(summary)).text
    summary["map"]["layout"] = "umap-learn"
    assert "near each other, as umap-learn places them." in Page(render(summary)).text


def test_the_map_of_several_clusters_keeps_them_apart():
    X, y = make_blobs(200, centers=8 * np.eye(5), cluster_std=0.3, random_state=0)
    model = MaxMarginClustering(5, random_state=0).fit(X)
    points = np.array([(p["x"], p["y"]) for p in summarize(model, X)["map"]["points"]])
    means = np.array([points[y == label].mean(axis=0) for label in range(5)])
    nearest = np.square(points[:, None] - means).sum(axis=2).argmin(axis=1)
    assert (nearest == y).all()


def test_many_rows_are_sampled_and_the_page_says_so():
    X, _ = make_blobs([29_000, 900, 100], 3, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)
    model = CPM3C(
        3, balance=1.0, min_cluster_fraction=0.01, random_state=0, init=(X[:, 0] > 4) + 2 * (X[:, 1] > 4)
    ).fit(X)
    summary = summarize(model, X)
    shown = summary["map"]["shown"]
    assert 2900 <= shown <= 3000
    labels = [point["cluster"] for point in summary["map"]["points"]]
    assert all(labels.count(label) >= 90 for label in range(3))  # the small ones have not vanished
    assert sum(cluster["size"] for cluster in summary["clusters"]) == 30_000
    page = render(summary)
    assert f"A sample: {shown:,} of 30,000 rows." in Page(page).text
    assert len(page) < 1_500_000


def test_a_sample_is_spread_over_the_clusters():
    labels = np.repeat([0, 1, 2], [9_000, 990, 10])
    rows = describe.spread_sample(labels, 600)
    assert len(rows) <= 600
    assert len(set(rows.tolist())) == len(rows)
    assert np.bincount(labels[rows])[2] == 10
    assert describe.spread_sample(labels, 10_000).tolist() == list(range(10_000))


@pytest.mark.parametrize(
    "estimator",
    [CPM3C(3, random_state=0), IterSVR(3, random_state=0), MKC(3, random_state=0), MaxMarginClustering(1)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_has_a_page(estimator, wine):
    summary = summarize(estimator.fit(wine.data), wine.data)
    page = Page(render(summary))
    assert page.count("article", **{"class": "card"}) == summary["n_clusters"]
    if isinstance(estimator, MKC):
        assert "Kernel weights" in page.text
        assert len(summary["kernels"]) == len(estimator.kernel_weights_)


@pytest.mark.parametrize(("relaxation", "name"), [(GMMC, "score norm"), (MMC, "margin objective")])
def test_a_relaxation_without_a_search_has_a_page_too(relaxation, name, wine):
    rows = wine.data[:: 4 if relaxation is GMMC else 12] / wine.data.std(axis=0)
    model = relaxation().fit(rows)
    summary = summarize(model, rows)
    assert summary["objective"]["name"] == name  # not the regression's of the iterative methods
    assert summary["objective"]["better"] == "lower"
    assert summary["objective"]["value"] == pytest.approx(model.objective_)
    assert f"{name} {number(model.objective_, 4)}" in Page(render(summary)).text
    assert summary["search"] is None  # its records hold bounds, no objective
    assert Page(render(summary)).count("article", **{"class": "card"}) == 2


def test_sparse_rows_and_a_universum(wine):
    X = sparse.random(120, 30, 0.3, format="csr", random_state=0)
    U = universum.means(X, 3, random_state=0)
    model = M2DCU(3, margin_tolerance=0.01, random_state=0).fit(X, universum=U)
    summary = summarize(model, X)
    assert summary["universum"]["n_rows"] == 3
    assert "mean margin" in Page(render(summary)).text


def test_other_rows_than_the_fitted_ones_are_predicted(wine, fitted):
    summary = summarize(fitted, wine.data[:50])
    sizes = np.bincount(fitted.predict(wine.data[:50]), minlength=3).tolist()
    assert [cluster["size"] for cluster in summary["clusters"]] == sizes
    render(summary)  # with empty clusters, too
    assert 0 in sizes


def sizes_of(summary):
    return [cluster["size"] for cluster in summary["clusters"]]


def test_as_many_other_rows_do_not_get_the_labels_of_the_fit(wine):
    order = np.random.default_rng(0).permutation(178)
    first, second = wine.data[order[:89]], wine.data[order[89:]]
    model = MaxMarginClustering(3, random_state=0).fit(first)
    summary = summarize(model, second)
    assert not summary["fitted"]
    assert sizes_of(summary) == np.bincount(model.predict(second), minlength=3).tolist()
    assert sizes_of(summary) != np.bincount(model.labels_).tolist()
    turned = summarize(model, first[::-1])  # the same rows in another order are others, too
    labels = [point["cluster"] for point in turned["map"]["points"]]
    assert labels == model.predict(first[::-1]).tolist() != model.labels_.tolist()


def test_rows_of_the_fit_keep_its_labels_however_they_are_stored(tmp_path):
    X, _ = load_digits(return_X_y=True)
    model = MaxMarginClustering(10, random_state=0).fit(X)
    assert (model.predict(X) != model.labels_).any()  # smoothing had a say
    persistence.save(model, tmp_path / "m.widegap")
    for known in (model, persistence.load(tmp_path / "m.widegap")[0]):
        for rows in (X, X.astype(np.float32), X.tolist(), sparse.csr_array(X), pd.DataFrame(X)):
            assert describe.is_fitted_on(known, rows)
    assert summarize(model, X)["fitted"]
    assert sizes_of(summarize(model, X)) == np.bincount(model.labels_).tolist()
    np.testing.assert_array_equal(describe.labels(model, X), model.labels_)
    changed = X.copy()
    changed[0, 5] += 1
    assert not describe.is_fitted_on(model, changed)
    np.testing.assert_array_equal(describe.labels(model, changed), model.predict(changed))
    blocks = MaxMarginClustering(10, random_state=0).fit(X).fit(row_blocks(X))  # which are not remembered
    np.testing.assert_array_equal(describe.labels(blocks, X), blocks.predict(X))


def test_as_many_other_documents_do_not_get_the_labels_of_the_fit():
    model = DocumentClustering(2, random_state=0).fit(TEXTS)
    others = TEXTS[::-1]
    assert summarize(model, TEXTS)["fitted"]
    summary = summarize(model, others)
    assert not summary["fitted"]
    found = {point["row"]: point["cluster"] for point in summary["map"]["points"]}
    assert [found[row] for row in range(6)] == model.predict(others).tolist() != model.labels_.tolist()


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(3, random_state=0), AgglomerativeClustering(3), DBSCAN(2.2), GaussianMixture(3, random_state=0)],
    ids=lambda clusterer: type(clusterer).__name__,
)
def test_clusterers_of_scikit_learn_have_a_page(clusterer, wine):
    X = wine.data / wine.data.std(axis=0)
    labels = clusterer.fit_predict(X)
    summary = summarize(clusterer, X, feature_names=wine.feature_names)
    k = labels.max() + 1
    assert (summary["method"], summary["n_clusters"]) == (type(clusterer).__name__, k)
    assert sizes_of(summary) == np.bincount(labels[labels >= 0]).tolist()
    assert summary["unassigned"] == np.count_nonzero(labels < 0)
    assert summary["objective"] is None
    assert summary["clusters"][0]["separates"][0]["feature"] in wine.feature_names
    page = Page(render(summary))
    assert page.count("article", **{"class": "card"}) == k
    assert "Examples" not in page.text  # typical are rows with large margins, of which these methods know nothing
    assert "margin" not in page.text
    if isinstance(clusterer, DBSCAN):
        assert summary["unassigned"] > 0
        assert any("belong to no cluster (outliers)" in text for text in summary["warnings"])
    if hasattr(clusterer, "predict"):
        assert sizes_of(summarize(clusterer, X[:100])) == np.bincount(labels[:100], minlength=k).tolist()
    else:
        with pytest.raises(
            NotSupportedError, match=r"X has 100 rows, but \w+ has no predict and knows only the 178 rows"
        ):
            summarize(clusterer, X[:100])


def test_a_clusterer_that_finds_nothing_but_noise_has_a_page(wine):
    summary = summarize(DBSCAN(1e-9).fit(wine.data), wine.data)
    assert (summary["n_clusters"], summary["unassigned"]) == (0, 178)
    assert "178 rows belong to no cluster" in Page(render(summary)).text


def test_what_is_not_fitted_is_refused(wine):
    with pytest.raises(InvalidDataError, match="DBSCAN has neither labels_ nor predict: fit it first"):
        summarize(DBSCAN(), wine.data)


@pytest.mark.parametrize("clusterer", [MaxMarginClustering(3, random_state=0), KMeans(3, random_state=0)])
def test_a_pipeline_is_shown_in_the_units_it_was_given(clusterer):
    frame = load_wine(as_frame=True).data
    model = make_pipeline(StandardScaler(), clusterer).fit(frame)
    summary = summarize(model, frame)
    assert summary["method"] == type(clusterer).__name__
    assert summary["fitted"]
    assert sizes_of(summary) == np.bincount(model[-1].labels_).tolist()
    proline = [item for c in summary["clusters"] for item in c["separates"] if item["feature"] == "proline"]
    assert proline[0]["mean"] == pytest.approx(frame["proline"][model[-1].labels_ == 0].mean())
    assert summary["settings"]["pipeline"] == f"standardscaler → {type(clusterer).__name__.lower()}"
    half = summarize(model, frame[:89])
    assert not half["fitted"]
    assert sizes_of(half) == np.bincount(model.predict(frame[:89]), minlength=3).tolist()
    render(half)


def test_a_pipeline_of_categories_shows_the_columns_of_the_frame():
    frame = pd.DataFrame({"x": np.arange(30) % 2 * 9.0, "kind": np.where(np.arange(30) % 2, "red", "blue")})
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    summary = summarize(make_pipeline(encoder, CPM3C(2, random_state=0)).fit(frame), frame)
    features = {item["feature"] for item in summary["clusters"][0]["separates"]}
    assert features & {"kind = red", "kind = blue"}  # as in the frame, not as the encoder calls them
    assert "x" in features
    assert summary["n_features"] == 2
    assert summary["map"]["points"][1]["text"] == "x 9, kind red"
    render(summary)


def test_a_pipeline_of_texts_shows_them():
    model = make_pipeline(TfidfVectorizer(), CPM3C(2, random_state=0)).fit(TEXTS)
    summary = summarize(model, TEXTS)
    assert summary["fitted"]
    assert summary["map"]["points"][0]["text"] == TEXTS[0]
    assert {item["feature"] for item in summary["clusters"][0]["separates"]} & {"bread", "flour", "goal", "late"}
    np.testing.assert_array_equal(describe.labels(model, TEXTS), model[-1].labels_)
    assert describe.scores(model, TEXTS).shape == (6, 2)


def test_frames_give_the_names_of_columns(wine):
    frame = load_wine(as_frame=True).data
    model = CPM3C(2, random_state=0).fit(frame)
    summary = summarize(model, frame[:50])  # predicted; with a warning if the names had been lost on the way
    assert summary["clusters"][0]["separates"][0]["feature"] in wine.feature_names


def test_a_precomputed_kernel_has_no_columns_to_name(wine):
    X = wine.data / wine.data.std(axis=0)
    K = X @ X.T
    summary = summarize(MaxMarginClustering(2, kernel="precomputed", random_state=0).fit(K), K)
    assert [cluster["separates"] for cluster in summary["clusters"]] == [[], []]
    render(summary)


def test_an_estimator_without_scores_has_a_map_and_no_margins(wine):
    class Plain(CPM3C):
        decision_function = property()

    summary = summarize(Plain(2, random_state=0).fit(wine.data), wine.data)
    assert summary["map"]["shown"] == 178
    assert [cluster["margin"] for cluster in summary["clusters"]] == [None, None]


def test_documents():
    model = DocumentClustering(2, random_state=0).fit(TEXTS)
    summary = json.loads(json.dumps(summarize(model, TEXTS, title="Notes"), allow_nan=False))
    assert summary["unit"] == "document"
    assert [cluster["name"] for cluster in summary["clusters"]] == list(model.topic_names_.values())
    assert [item["feature"] for item in summary["clusters"][0]["separates"]] == model.top_terms(12)[0]
    page = Page(render(summary))
    assert "goal" in page.text
    assert "6 documents" in page.text
    again = summarize(model, TEXTS[:4])
    assert sum(cluster["size"] for cluster in again["clusters"]) == 4
    render(again)


def test_warnings_in_plain_words(wine):
    model = MaxMarginClustering(3, random_state=0, callback=lambda record: True).fit(wine.data)
    summary = summarize(model, wine.data, notes=["Read me first."])
    assert summary["warnings"][0] == "Read me first."
    assert any("stopped before it converged" in warning for warning in summary["warnings"])
    model.starved_ = True
    assert any("as small as the settings allow" in warning for warning in summarize(model, wine.data)["warnings"])


def test_warnings_of_starts_and_small_clusters(wine):
    from widegap.results._cautions import plain_warnings

    fitted = MaxMarginClustering(3, search="moves", random_state=0).fit(wine.data)
    lonely = json.loads(json.dumps(summarize(fitted, wine.data)))
    assert [start["objective"] for start in lonely["search"]["starts"]] == fitted.starts_.tolist()
    for i, start in enumerate(lonely["search"]["starts"]):
        start["objective"] = 1.9 if i == 0 else 1.0
    lonely["clusters"][1].update(share=0.001, size=1)
    lonely["clusters"][0]["margin"]["negative"] = 60
    lonely["unassigned"] = 4
    said = " ".join(plain_warnings(fitted, lonely))
    assert "Only one of 10 starts reached the best result" in said
    assert "Very small: Cluster 1 (1)" in said
    assert "60 of 178 rows score higher for another cluster" in said
    assert "4 rows belong to no cluster" in said


def test_other_rows_are_not_described_by_the_fit(wine, fitted, summary):
    few = summarize(fitted, wine.data[:3], feature_names=wine.feature_names)
    empty = [cluster for cluster in few["clusters"] if not cluster["size"]]
    assert summary["fitted"]
    assert not few["fitted"]
    assert empty
    assert not any("Very small" in warning for warning in few["warnings"])
    assert all(cluster["separates"] == [] for cluster in few["clusters"] if cluster["size"] in (0, 3))
    assert "explained" not in Page(render(few)).text.split("Clusters")[0]
    assert "This is about the fit, which was made on other rows" in Page(render(few)).text
    assert "1 row, 13 columns" in Page(render(summarize(fitted, wine.data[:1]))).text


def test_nothing_sets_apart_a_cluster_that_is_empty_or_alone():
    X = np.arange(12.0).reshape(6, 2)
    differences, _, _ = describe.contrasts(X, np.zeros(6, int), 2)
    assert (differences == 0).all()


def test_the_objective_is_shown_as_a_share(summary, fitted):
    assert summary["objective"]["most"] == 2
    assert summary["objective"]["share"] == pytest.approx(fitted.objective_ / 2)
    assert f"{50 * fitted.objective_:.0f} % of the cluster labels explained" in Page(render(summary)).text
    two = summarize(model := MaxMarginClustering(2, random_state=0).fit(X := np.r_[np.eye(4), 9 + np.eye(4)]), X)
    assert two["objective"]["share"] == two["objective"]["value"] == model.objective_
    assert "% of the cluster labels explained" in Page(render(two)).text


NASTY = [
    "<script>window.hit=1</script>",
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    '"><svg onload=window.hit=1>',
    "' onmouseover='window.hit=1",
    "<!-- -->]]>{{ 7*7 }}{% raw %}",
    "&lt;b&gt; & \u2028 \u202e",
]


@pytest.mark.parametrize("text", NASTY)
def test_all_text_of_users_is_escaped(text, wine, fitted):
    names = [f"{text} {j}" for j in range(wine.data.shape[1])]
    X = wine.data
    clean = Page(render(summarize(fitted, X, items=["x"] * len(X), title="t", notes=["n"], feature_names=["f"] * 13)))
    summary = summarize(fitted, X, items=[text] * len(X), title=text, notes=[text], feature_names=names)
    summary["clusters"][0]["name"] = summary["method"] = summary["settings"]["C"] = text
    page = render(summary)
    dirty = Page(page)
    assert [tag for tag, _ in dirty.elements] == [tag for tag, _ in clean.elements]  # no element more than without it
    assert not any(name.startswith("on") for _, attributes in dirty.elements for name in attributes)
    assert text in "".join(dirty.words)  # and it is shown as it was written
    payload = re.search(r'class="payload">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(payload)["points"][0][2] == text


def test_right_to_left_text_is_isolated(wine, fitted):
    page = render(summarize(fitted, wine.data, title="מרווח رحب", feature_names=["شعاع"] * 13))
    assert '<h1 dir="auto">מרווח رحب</h1>' in page
    assert "<bdi>شعاع</bdi>" in page


def test_texts_of_a_megabyte_are_cut(wine, fitted):
    huge = "long " * 200_000
    page = render(summarize(fitted, wine.data, title=huge, items=[huge] * 178, notes=[huge], feature_names=[huge] * 13))
    assert len(page) < 400_000
    assert "…" in Page(page).text


def test_text_that_no_page_can_hold_is_replaced():
    assert clip("a\x00b\x1bc\ud800d") == "a\ufffdb\ufffdc\ufffdd"
    clip("a\ud800").encode("utf-8")
    assert clip("x" * 500) == "x" * 299 + "…"
    assert plain(np.float64("nan")) is None
    assert plain({"a": [np.int64(3), float("inf"), {1}]}) == {"a": [3, None, "{1}"]}
    assert number(-1234567.0) == "−1,234,567"
    assert number(None) == "–"


def test_the_page_needs_no_network(summary):
    page = render(summary)
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not an address
    parsed = Page(page)
    assert not any({"src", "href", "action"} & attributes.keys() for _, attributes in parsed.elements)
    (policy,) = (a["content"] for _, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy")
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert parsed.count("meta", name="viewport") == 1
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page


def test_every_rule_of_the_style_sheet_is_the_reports_own(summary):
    sheet = re.search(r"<style>(.*?)</style>", render(summary), re.DOTALL)[1]
    inner = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\s*\}", r"\1", sheet)
    heads = [head.strip() for head in re.findall(r"([^{}]+)\{[^{}]*\}", inner)]
    assert len(heads) > 80
    selectors = [selector.strip() for head in heads for selector in head.split(",")]
    own = re.compile(r"(\.widegap-report|(html|body)\.widegap-page|@page widegap)\b")
    assert [selector for selector in selectors if not own.match(selector)] == []
    assert " id=" not in render(summary)  # two reports may share a page


def test_the_chart_has_a_point_a_row(summary):
    page = Page(render(summary))
    assert sum(tag == "circle" and "data-i" in attributes for tag, attributes in page.elements) == 178
    assert page.count("button", data_filter="2") == 1


def test_wrong_calls_say_what_is_wrong(wine, fitted, summary):
    with pytest.raises(InvalidDataError, match="items has 1 entries for 178 rows"):
        summarize(fitted, wine.data, items=["x"])
    with pytest.raises(InvalidDataError, match="labels has 1 entries for 178 rows"):
        summarize(fitted, wine.data, labels=[0])
    with pytest.raises(InvalidDataError, match="feature_names has 1 names for 13 columns"):
        summarize(fitted, wine.data, feature_names=["x"])
    with pytest.raises(InvalidDataError, match="values has 1 rows, but X has 178"):
        summarize(fitted, wine.data, values=wine.data[:1])
    with pytest.raises(InvalidDataError, match="schema 'widegap.report/0'"):
        render({**summary, "schema": "widegap.report/0"})


def test_the_report_says_how_sure_clusters_are_where_members_agree():
    X, _ = make_blobs(200, 3, centers=3, random_state=0)
    model = MaxMarginClustering(3, random_state=0).fit(X)
    summary = summarize(model, X)
    assert summary["search"]["members"] == 12
    expected = [model.agreement_[model.labels_ == cluster].mean() for cluster in range(3)]
    assert [cluster["agreement"] for cluster in summary["clusters"]] == pytest.approx(expected)
    page = render(summary)
    assert "clustered in 12 different ways, and these clusters are what the results agree on. On average 100 %" in page
    assert page.count("% sure") == 3
    assert "100 % sure" in page
    assert summary["clusters"][0]["unsure"] == 0
    assert summary["map"]["points"][0]["sure"] == model.agreement_[0]
    assert ", 100 % sure" in Page(page).text
    others = summarize(model, X + 1e-3)
    assert all(cluster["agreement"] is None for cluster in others["clusters"])
    assert "% sure" not in render(others)


def test_a_single_tree_is_not_called_sure():
    X, _ = make_blobs(200, 3, centers=3, random_state=0)
    summary = summarize(MaxMarginClustering(3, search="merge", random_state=0).fit(X), X)
    assert summary["search"]["agreement"] is None
    page = render(summary)
    assert "sure" not in Page(page).text
    assert "Many small groups were merged, the closest first, until 3 were left." in page
