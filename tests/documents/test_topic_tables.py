"""What topics show of terms and documents, on a model whose values are set by hand."""

import numpy as np
import pytest

from widegap.documents._document_clustering import DocumentClustering
from widegap.documents._reader import DocumentReader
from widegap.documents._updatable_topics import UpdatableTopics
from widegap.documents._vocabulary import RawDocuments, TermChoice
from widegap.exceptions import InvalidDataError

TEXTS = ["aa bb cc", "aa bb dd", "aa cc dd", "ee ff gg", "ee ff hh", "ee gg hh", "zz"]


@pytest.fixture
def model():
    found = DocumentClustering(2, random_state=0, min_df=2, stop_words=None).fit(TEXTS)
    assert isinstance(found, UpdatableTopics)
    found.topics_ = np.array([3, 5], np.int32)
    found.labels_ = np.array([3, 3, 3, 5, 5, 5, -1], np.int32)
    found.term_weights_ = np.array([[0.0, 3, 1, 2, 5, -1, 4, -2], [1.0, -1, -1, 0, -1, 0, -1, -1]])
    found.margins_ = np.array([0.2, 0.1, 0.1, 0.5, 0.3, 0.4, np.nan])
    found.centrality_ = np.array([0.7, 0.9, 0.9, 0.2, 0.3, 0.1, np.nan])
    found.classes_ = [None, "cats"]
    return found


def test_terms_that_speak_for_a_topic(model):
    assert model.terms_.tolist() == ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"]
    assert model.top_terms() == {3: ["ee", "gg", "bb", "dd", "cc"], 5: ["aa"]}
    assert model.top_terms(2) == {3: ["ee", "gg"], 5: ["aa"]}
    model.term_weights_ = np.tile(np.arange(12, 0, -1.0), (2, 1))[:, :8]
    assert model.top_terms()[3] == model.terms_.tolist()


def test_names_are_labels_or_three_terms(model):
    assert model.topic_names_ == {3: "ee, gg, bb", 5: "cats"}
    model._kept_names = {3: "old", 9: "gone"}
    assert model.topic_names_ == {3: "old", 5: "cats"}


def test_documents_that_show_a_topic(model):
    assert model.representatives() == {3: [1, 2, 0], 5: [4, 3, 5]}
    assert model.representatives(1) == {3: [1], 5: [4]}
    assert model.borderline(2) == {3: [1, 2], 5: [4, 5]}
    assert model.borderline() == {3: [1, 2, 0], 5: [4, 5, 3]}


def test_tables(model):
    topics = model.to_frame(n_terms=1, n_documents=2)
    assert topics.to_numpy().tolist() == [[3, 3, "ee, gg, bb", ["ee"], [1, 2]], [5, 3, "cats", ["aa"], [4, 3]]]
    assert topics.columns.tolist() == ["topic", "size", "name", "top_terms", "representatives"]
    assert len(model.to_frame().top_terms[0]) == 5 and len(model.to_frame().representatives[0]) == 3
    documents = model.to_frame("documents")
    assert documents["name"].tolist() == ["ee, gg, bb"] * 3 + ["cats"] * 3 + [""]
    assert documents["topic"].tolist() == model.labels_.tolist() and documents.index.name == "document"
    with pytest.raises(ValueError, match="of='words' is not a kind of table"):
        model.to_frame("words")


def test_defaults():
    expected = {"n_clusters": 2, "max_df": 0.5, "max_features": 10_000, "memory": 5000, "verbose": 0}
    params = DocumentClustering().get_params()
    assert {name: params[name] for name in expected} == expected


def test_further_documents_are_of_the_first_kind():
    choice, words = TermChoice(1, 1.0, None), {"stop_words": None, "stemmer": None}
    dense, texts = DocumentReader(), DocumentReader()
    first = dense.read_first(np.eye(3), choice, words, None)
    texts.read_first(["aa bb", "cc"], choice, words, None)
    assert first.terms is None and first.known.tolist() == [True] * 3 and dense.n_columns == 3
    assert dense.terms is None and texts.terms.tolist() == ["aa", "bb", "cc"] and texts.check_terms() == 3
    dense.check_raw(RawDocuments(np.eye(3)))
    with pytest.raises(ValueError, match="it remembers documents"):
        texts.check_raw(RawDocuments(texts.read_raw(["aa"]).rows))
    with pytest.raises(InvalidDataError, match="X has 2 columns, but the fit had 3"):
        dense.read(np.eye(2))
    with pytest.raises(InvalidDataError, match="X is of the kind 'documents', but fit got 'embeddings'"):
        dense.read(["aa"])
    with pytest.raises(ValueError, match="do not go with its vocabulary"):
        dense.check_terms()
    assert texts.read(["aa zz", "zz"]).known.tolist() == [True, False]
    assert dense.grown(RawDocuments(np.eye(3)), np.ones(3)).vocabulary is None
