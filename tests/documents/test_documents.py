"""DocumentClustering: from documents of the standard library to topics, predictions, tables and refits."""

import doctest
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from widegap import CPM3C, DocumentClustering, datasets
from widegap.base import _starts
from widegap.documents import _document_clustering
from widegap.documents._linear_scores import LinearScores, fit_linear_scores
from widegap.documents._topic_rules import matched_topics
from widegap.documents._topic_search import held_out_recovery, spherical_labels
from widegap.exceptions import InvalidDataError, NotSupportedError, StarvedClusterWarning
from widegap.metrics import clustering_accuracy

FOOD = [
    "bake the bread with flour and yeast",
    "knead flour, yeast and water for bread",
    "bread needs salt, flour and time",
    "yeast makes the flour rise",
]
SPORT = [
    "the goalkeeper saved a late goal",
    "a late goal decided the match",
    "the match ended without a goal",
    "the referee stopped the match",
]
NOTES = FOOD + SPORT
SIDES = [0] * 4 + [1] * 4


@pytest.fixture(scope="module")
def library():
    return datasets.load_docstrings(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(library):
    return DocumentClustering(4, random_state=0).fit(library[0])


def test_doctest():
    failures, tried = doctest.testmod(_document_clustering)
    assert tried and not failures


def test_chapters_of_the_library(library):
    documents, chapters = library
    found = [DocumentClustering(4, random_state=s).fit_predict(documents) for s in range(5)]
    ours = np.mean([clustering_accuracy(chapters, labels) for labels in found])
    rows = TfidfVectorizer(stop_words="english").fit_transform(documents)
    theirs = np.mean(
        [clustering_accuracy(chapters, KMeans(4, n_init=10, random_state=s).fit(rows).labels_) for s in range(5)]
    )
    assert ours >= 0.66
    assert ours >= theirs + 0.10


def test_a_sample_leads_to_the_same_topics(library, monkeypatch):
    documents, chapters = library
    monkeypatch.setattr(_starts, "START_SAMPLE", 500)
    models = [DocumentClustering(4, random_state=s).fit(documents) for s in range(5)]
    assert np.mean([clustering_accuracy(chapters, model.labels_) for model in models]) >= 0.6
    assert all(model.labels_.min() == 0 for model in models)


def test_terms_name_the_chapters(library, fitted):
    documents, chapters = library
    named = {}
    for topic, terms in fitted.top_terms(12).items():
        inside = [chapters[i] for i in np.flatnonzero(fitted.labels_ == topic)]
        named[max(set(inside), key=inside.count)] = terms
    assert "file" in named["files"] and "path" in named["files"]
    assert "thread" in named["threads"]


def test_predictions_are_the_labels_of_seen_documents(library, fitted):
    assert np.mean(fitted.predict(library[0]) == fitted.labels_) >= 0.97  # the rest is moved by the least size
    leads = fitted.decision_function(library[0])
    assert leads.shape == (len(library[0]), 4)
    np.testing.assert_array_equal(fitted.topics_[leads.argmax(axis=1)], fitted.predict(library[0]))


def test_two_topics_have_one_score():
    model = DocumentClustering(2, random_state=0).fit(NOTES)
    np.testing.assert_array_equal(model.decision_function(NOTES) > 0, model.predict(NOTES) == 1)


@pytest.mark.parametrize("features", ["lsa", "tfidf"])
@pytest.mark.parametrize("as_input", [list, np.array, CountVectorizer(stop_words="english").fit_transform])
def test_inputs(as_input, features):
    model = DocumentClustering(2, features=features, random_state=0).fit(as_input(NOTES))
    assert clustering_accuracy(SIDES, model.labels_) == 1
    assert clustering_accuracy(SIDES, model.predict(as_input(NOTES))) == 1


def test_names_of_columns():
    counter = CountVectorizer(stop_words="english")
    counts = counter.fit_transform(NOTES)
    model = DocumentClustering(2, random_state=0)
    named = model.fit(counts, feature_names=counter.get_feature_names_out()).top_terms(2)
    assert {term for terms in named.values() for term in terms} == {"bread", "yeast", "goal", "match"}
    assert model.fit(counts).top_terms(1)[0][0].startswith("x")


def test_in_a_pipeline(library):
    pipeline = make_pipeline(CountVectorizer(stop_words="english", min_df=3), DocumentClustering(4, random_state=0))
    labels = pipeline.fit_predict(library[0])
    np.testing.assert_array_equal(
        pipeline.predict(library[0][:5]), pipeline[-1].predict(pipeline[0].transform(library[0][:5]))
    )
    assert clustering_accuracy(library[1], labels) >= 0.6


def test_stems_are_shown_as_words():
    documents = ["runner running runs", "running run today", "cooks cooking dinner", "cooking cooked lunch"]
    model = DocumentClustering(2, stemmer="porter", random_state=0).fit(documents)
    assert {terms[0] for terms in model.top_terms(1).values()} == {"running", "cooking"}


def test_the_seed_decides(library):
    first, again = (DocumentClustering(4, random_state=3).fit(library[0]) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    np.testing.assert_array_equal(first.coef_, again.coef_)


def test_clone_and_parameters():
    model = DocumentClustering(3, method=KMeans(n_init=1), stemmer="porter", max_features=50)
    copy = clone(model)
    assert copy.get_params()["method__n_init"] == 1
    assert {key: value for key, value in copy.get_params(deep=False).items() if key != "method"} == {
        key: value for key, value in model.get_params(deep=False).items() if key != "method"
    }


def test_pickle(library, fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.decision_function(library[0]), fitted.decision_function(library[0]))
    assert copy.top_terms() == fitted.top_terms()


def test_exemplary_documents(fitted):
    central, doubtful = fitted.representatives(4), fitted.borderline(2)
    for topic in range(4):
        members = np.flatnonzero(fitted.labels_ == topic)
        assert len(central[topic]) == 4 and set(central[topic]) <= set(members)
        assert fitted.centrality_[central[topic][0]] == fitted.centrality_[members].max()
        assert fitted.margins_[doubtful[topic][0]] == fitted.margins_[members].min()


def test_centrality_is_the_cosine_to_the_mean(fitted):
    rows = fitted._corpus.terms.toarray()
    members = fitted.labels_ == 1
    mean = rows[members].mean(axis=0)
    np.testing.assert_allclose(fitted.centrality_[members], rows[members] @ mean / np.linalg.norm(mean))


def test_tables(library, fitted):
    topics = fitted.to_frame(n_terms=5)
    assert topics.columns.tolist() == ["topic", "size", "name", "top_terms", "representatives"]
    assert topics["size"].sum() == (fitted.labels_ >= 0).sum()
    assert topics["name"].tolist() == [", ".join(terms[:3]) for terms in topics["top_terms"]]
    documents = fitted.to_frame("documents")
    assert len(documents) == len(library[0])
    np.testing.assert_array_equal(documents["topic"], fitted.labels_)
    with pytest.raises(ValueError, match="of='words' is not a kind of table; choose 'topics' or 'documents'"):
        fitted.to_frame("words")


def test_documents_without_terms_have_no_topic():
    documents = [*NOTES, "", "the", "1 2 3"]
    model = DocumentClustering(2, random_state=0).fit(documents)
    assert model.labels_[-3:].tolist() == [-1, -1, -1]
    assert clustering_accuracy(SIDES, model.labels_[:8]) == 1
    assert np.isnan(model.margins_[-3:]).all()
    assert not {8, 9, 10} & {i for found in model.representatives(20).values() for i in found}
    assert model.predict(["", "unheard", "flour"]).tolist()[:2] == [-1, -1]
    assert model.to_frame("documents")["name"].tolist()[-1] == ""


def test_copies_of_a_document_share_a_topic():
    documents = NOTES * 20
    labels = DocumentClustering(2, random_state=0).fit_predict(documents)
    assert (labels.reshape(20, 8) == labels[:8]).all()
    assert clustering_accuracy(SIDES * 20, labels) == 1


def test_documents_of_one_word():
    documents = ["apple", "pear"] * 10
    assert clustering_accuracy([0, 1] * 10, DocumentClustering(2, random_state=0).fit_predict(documents)) == 1


def test_a_huge_document():
    huge = " ".join(FOOD) * 100_000
    assert len(huge) > 10_000_000
    model = DocumentClustering(2, random_state=0).fit([*NOTES, huge])
    assert model.labels_[-1] == model.labels_[0]


@pytest.mark.parametrize(
    "documents",
    [
        ["мама печёт хлеб", "хлеб печёт пекарь", "мяч влетел в ворота", "вратарь поймал мяч"],
        ["面包师烤面包", "我们烤面包", "守门员接住足球", "足球比赛开始"],
        [
            f"<html><body><p>{text}</p><script>var match = 'flour';</script></body></html>"
            for text in FOOD[:2] + SPORT[1:3]
        ],
    ],
    ids=["russian", "chinese", "html"],
)
def test_other_texts(documents):
    model = DocumentClustering(2, max_df=1.0, random_state=0)
    assert clustering_accuracy([0, 0, 1, 1], model.fit_predict(documents)) == 1


def test_one_topic():
    model = DocumentClustering(1).fit(NOTES)
    assert set(model.labels_) == {0}
    assert model.top_terms(3)[0][0] in {"flour", "match", "goal"}
    assert model.predict(["flour"]).tolist() == [0]


class TopicPipeline:
    """What topic pipelines ask of a clusterer: fit with y, labels_, predict."""

    def __init__(self, cluster_model):
        self.cluster_model = cluster_model

    def fit(self, embeddings, y=None):
        self.cluster_model.fit(embeddings, y=y)
        self.topics = self.cluster_model.labels_
        return self

    def transform(self, embeddings):
        return self.cluster_model.predict(embeddings)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_embeddings_in_a_topic_pipeline(dtype):
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(3, 16))
    truth = np.repeat(np.arange(3), 50)
    embeddings = (centres[truth] + rng.normal(size=(150, 16))).astype(dtype)
    pipeline = TopicPipeline(DocumentClustering(3, random_state=0)).fit(embeddings)
    assert clustering_accuracy(truth, pipeline.topics) == 1
    np.testing.assert_array_equal(pipeline.transform(embeddings), pipeline.topics)
    model = pipeline.cluster_model
    assert model.topic_names_ == {0: "topic 0", 1: "topic 1", 2: "topic 2"}
    assert model.to_frame()["size"].tolist() == [50, 50, 50]
    with pytest.raises(NotSupportedError, match="top_terms needs terms, but fit got a dense array"):
        model.top_terms()
    with pytest.raises(InvalidDataError, match="X has 15 columns, but the fit had 16"):
        model.predict(embeddings[:, 1:])


class LetterShares(TransformerMixin, BaseEstimator):
    """Stands for a model that embeds documents: shares of some letters."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.array([[text.count(letter) / len(text) for letter in "fymg"] for text in X])


def test_features_of_a_transformer_are_clustered_and_terms_explain_them():
    model = DocumentClustering(2, features=LetterShares(), random_state=0).fit(NOTES)
    expected = CPM3C(2, random_state=0).fit(LetterShares().transform(NOTES))
    assert clustering_accuracy(expected.labels_, model.labels_) >= 7 / 8
    assert model.coef_.shape == (2, 4)
    assert model.term_weights_.shape == (2, len(model.terms_))
    np.testing.assert_array_equal(model.predict(NOTES), model.labels_)
    assert set(model.top_terms(3)[model.labels_[0]]) == {"yeast", "flour", "bread"}


@pytest.mark.parametrize(
    ("method", "features"),
    [
        (KMeans(n_init=5, random_state=0), "tfidf"),
        (AgglomerativeClustering(), "lsa"),
        (KMeans(n_init=5, random_state=0), HashingVectorizer(n_features=256, stop_words="english")),
        (AgglomerativeClustering(), LetterShares()),
        (CPM3C(random_state=0), LetterShares()),
    ],
)
def test_other_methods(method, features):
    model = DocumentClustering(2, method=method, features=features).fit(NOTES)
    assert clustering_accuracy(SIDES, model.labels_) >= 7 / 8
    assert clustering_accuracy(SIDES, model.predict(NOTES)) >= 7 / 8
    assert not hasattr(method, "labels_")


def test_a_method_gets_the_number_of_topics():
    assert set(DocumentClustering(3, method=KMeans(n_init=5, random_state=0), features="tfidf").fit_predict(NOTES)) == {
        0,
        1,
        2,
    }


def test_documents_that_a_method_leaves_out_have_no_topic():
    embeddings = np.r_[np.zeros((5, 2)), np.full((5, 2), 9.0), [[50.0, 0.0]]] + np.arange(11)[:, None] * 0.01
    model = DocumentClustering(method=DBSCAN(eps=1.0, min_samples=2)).fit(embeddings)
    assert model.labels_.tolist() == [0] * 5 + [1] * 5 + [-1]
    assert model.n_clusters_ == 2 and np.isnan(model.margins_[-1])


@pytest.fixture
def five(library):
    return DocumentClustering(5, random_state=0).fit(library[0])


def test_refit_without_a_topic(five):
    before = five.labels_.copy()
    sizes = np.bincount(before)
    junk = int(sizes.argmin())
    five.refit(universum_labels=[junk])
    assert five.topics_.tolist() == [topic for topic in range(5) if topic != junk]
    assert (five.labels_[before == junk] == -1).all()
    stayed = before != junk
    assert np.mean(five.labels_[stayed] == before[stayed]) >= 0.8
    assert list(five.top_terms()) == five.topics_.tolist()
    assert set(five.predict(["open a file"])) <= set(five.topics_)


def test_refit_with_documents_in_the_universum(library, five):
    before = five.labels_.copy()
    five.refit(universum_documents=[0, 1, 2])
    assert five.labels_[:3].tolist() == [-1, -1, -1]
    assert five.n_clusters_ == 5
    assert np.mean(five.labels_[3:] == before[3:]) >= 0.8
    five.refit(universum_documents=["lorem ipsum file", "file dolor"])
    assert five.labels_[:3].tolist() == [-1, -1, -1]
    assert len(five._universum) == 1


def test_a_universum_matters(library):
    documents, chapters = library
    internet = [text for text, chapter in zip(documents, chapters, strict=True) if chapter == "internet"]
    others = [text for text, chapter in zip(documents, chapters, strict=True) if chapter != "internet"]
    plain = DocumentClustering(3, random_state=0).fit(others)
    model = DocumentClustering(3, random_state=0).fit(others, universum=internet)
    assert model.labels_.min() >= 0
    assert 0 < np.mean(model.labels_ != plain.labels_) < 0.5


def test_refit_needs_something_legal(five):
    with pytest.raises(InvalidDataError, match=r"universum_labels holds \[9\], but the topics are \[0, 1, 2, 3, 4\]"):
        five.refit(universum_labels=[9])
    with pytest.raises(InvalidDataError, match="would leave no topic; leave at least one out"):
        five.refit(universum_labels=range(5))
    with pytest.raises(InvalidDataError, match="must be positions from 0 to .* or further documents as str"):
        five.refit(universum_documents=[10**6])
    before = five.labels_.copy()
    five.set_params(method="cpm3c")
    with pytest.raises(InvalidDataError, match="method='cpm3c' takes no universum; set method='m2dcu'"):
        five.refit(universum_labels=[0])
    np.testing.assert_array_equal(five.labels_, before)
    assert not five._marked.any()


def test_refit_needs_the_documents(five):
    del five._corpus  # as in a model that was read from a file
    with pytest.raises(NotSupportedError, match="refit needs the fitted documents: model files hold none"):
        five.refit(universum_labels=[0])


@pytest.mark.parametrize(
    ("arguments", "documents", "message"),
    [
        ({}, "one text", "documents is one str"),
        ({}, ["flour", None], r"documents\[1\] is None"),
        ({}, ["", "the"], "hold no words besides stop words"),
        ({}, [], "The 0 documents hold no words"),
        ({"n_clusters": 5}, ["apple", "pear", ""], "n_samples=2 should be >= n_clusters=5"),
        ({"min_df": 3}, NOTES[:2], "lower min_df"),
        ({}, ["same words here"] * 5, "at most the fraction max_df=0.5"),
        ({}, np.array([[1.0, np.nan], [0.0, 1.0]]), "NaN"),
        ({}, sp.csr_array([[1.0, -1.0], [0.0, 1.0]]), "dense array"),
    ],
)
def test_bad_documents(arguments, documents, message):
    with pytest.raises(ValueError, match=message):
        DocumentClustering(**arguments).fit(documents)


def test_fewer_distinct_documents_than_topics():
    documents = ["apple tree", "pear tree", "plum"] * 4
    model = DocumentClustering(5, max_df=1.0, random_state=0)
    with pytest.warns(StarvedClusterWarning, match="Topics .* and .* each have 1 of 12 documents, .* lower n_clusters"):
        labels = model.fit_predict(documents)
    assert model.starved_
    assert set(labels) == set(range(5))


def test_another_kind_of_input_is_refused():
    model = DocumentClustering(2, random_state=0).fit(NOTES)
    with pytest.raises(InvalidDataError, match="X is of the kind 'matrix', but fit got 'documents'"):
        model.predict(sp.csr_array(np.eye(3)))


@pytest.mark.parametrize("name", ["predict", "decision_function", "top_terms", "representatives", "to_frame", "refit"])
def test_not_fitted(name):
    model = DocumentClustering()
    with pytest.raises(NotFittedError):
        getattr(model, name)(*([NOTES] if name in ("predict", "decision_function") else []))


@pytest.mark.parametrize(
    "arguments", [{"n_clusters": 0}, {"method": "kmeans"}, {"stemmer": "lancaster"}, {"max_df": 0}]
)
def test_bad_parameters(arguments):
    with pytest.raises(ValueError, match=f"The {next(iter(arguments))!r} parameter"):
        DocumentClustering(**arguments).fit(NOTES)


def test_spherical_labels_of_dense_and_sparse_rows_agree():
    rng = np.random.default_rng(0)
    rows = np.abs(rng.normal(size=(60, 6))) + 3 * np.eye(6)[np.arange(60) % 3]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    dense = spherical_labels(rows, 3, np.random.default_rng(1))
    np.testing.assert_array_equal(dense, spherical_labels(sp.csr_array(rows), 3, np.random.default_rng(1)))
    assert clustering_accuracy(np.arange(60) % 3, dense) == 1


def test_recovery_tells_real_labels_from_random_ones(library):
    rows = TfidfVectorizer(stop_words="english", min_df=3).fit_transform(library[0])
    chapters = np.unique(library[1], return_inverse=True)[1].astype(np.int32)
    assert held_out_recovery(rows, chapters, 0) > 0.5
    assert held_out_recovery(rows, np.random.default_rng(0).permutation(chapters), 0) < 0.05


def test_topics_are_matched_by_overlap():
    topics = np.array([0, 2, 5], dtype=np.int32)
    old = np.array([0, 0, 0, 1, 1, 2, 2, -1], dtype=np.int32)
    new = np.array([2, 2, 1, 0, 0, 1, 1, 3], dtype=np.int32)
    assert matched_topics(topics, old, new, 4).tolist() == [2, 5, 0, 9]


def test_reordered_scores():
    found = LinearScores(np.array([0, 1, 2, -1], np.int32), np.eye(3), np.arange(3.0)).reordered(np.array([2, 0, 1]))
    assert found.labels.tolist() == [1, 2, 0, -1]
    assert found.intercept.tolist() == [2, 0, 1]
    assert found.coef.argmax(axis=1).tolist() == [2, 0, 1]


def test_scores_of_two_clusters_is_symmetric():
    rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    found = fit_linear_scores(rows, np.array([0, 0, 1, 1], np.int32), 2, 0)
    np.testing.assert_allclose(found.of(rows).sum(axis=1), 0, atol=1e-12)
    assert found.of(rows).argmax(axis=1).tolist() == [0, 0, 1, 1]


def test_a_frame_is_refused_with_the_column_to_pass():
    frame = pd.DataFrame({"text": ["a cat sat", "a dog ran", "a cat ran"], "year": [1, 2, 3]})
    with pytest.raises(InvalidDataError, match=r"columns text, year; pass the one .* frame\['text'\]"):
        DocumentClustering(2).fit(frame)
    with pytest.raises(ValueError, match="is not a kind of table"):
        DocumentClustering(2, min_df=1, random_state=0).fit(frame["text"]).to_frame(frame["text"].tolist())
