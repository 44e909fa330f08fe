"""Collections of few documents: no topic may vanish, and what the bound on sizes decides is said."""

import numpy as np
import pytest

from widegap import DocumentClustering, datasets
from widegap.constraints._side_information import RowConstraints
from widegap.documents._linear_scores import LinearScores, relabelled
from widegap.documents._topic_rules import TopicRules
from widegap.exceptions import InvalidDataError
from widegap.metrics import normalized_mutual_info

SIZES, NUMBERS, SEEDS = (60, 100), (2, 3, 4), range(2)


@pytest.fixture(scope="module")
def samples():
    """Fits of documents drawn at random, with the documents and their chapters."""
    documents, chapters = datasets.load_docstrings(return_X_y=True)
    found = []
    for n in SIZES:
        for seed in SEEDS:
            chosen = np.random.default_rng(1000 * n + seed).choice(len(documents), n, replace=False)
            texts = [documents[i] for i in chosen]
            fits = [DocumentClustering(k, random_state=seed).fit(texts) for k in NUMBERS]
            found += [(model, texts, chapters[chosen]) for model in fits]
    return found


def test_no_topic_vanishes(samples):
    """With the weight of the loss that suits thousands of documents, 3 of these 12 fits lose one in predict."""
    for model, texts, _ in samples:
        predicted, topics = model.predict(texts), set(range(model.n_clusters))
        assert set(predicted[predicted >= 0]) == set(model.labels_[model.labels_ >= 0]) == topics


def test_predictions_are_the_labels_of_few_documents(samples):
    assert all(np.mean(model.predict(texts) == model.labels_) >= 0.98 for model, texts, _ in samples)  # measured: 1


def test_topics_of_few_documents_are_sensible(samples):
    """Measured 0.16 on average; 0.115 with the weight of the loss and the rank of LSA that suit thousands."""
    assert np.mean([normalized_mutual_info(chapters, model.labels_) for model, _, chapters in samples]) >= 0.14


def test_no_topic_of_them_is_at_its_bound(samples):
    for model, _, _ in samples:
        assert not model.starved_
        sizes = np.bincount(model.labels_[model.labels_ >= 0])
        assert sizes.min() > 0.1 * sizes.sum() / model.n_clusters


def test_a_cluster_at_its_bound_keeps_its_rows_in_the_scores():
    angles = np.linspace(0, 1, 60)
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    scores = LinearScores(np.zeros(60, np.int32), np.array([[1.0, 0], [1.0, 1.0], [0, 1.0]]), np.array([-5.0, 0, -7.0]))
    found = relabelled(scores, rows, TopicRules(RowConstraints(), None, None, 60, 3))
    assert found.labels.tolist() == [0] * 2 + [1] * 56 + [2] * 2
    assert found.of(rows).argmax(axis=1).tolist() == found.labels.tolist()
    assert found.starved
    np.testing.assert_array_equal(found.coef, scores.coef)


@pytest.mark.parametrize("method", ["auto", "m2dcu"])
def test_documents_with_the_same_terms_are_refused(method):
    model = DocumentClustering(2, method=method)
    message = "All 3 documents with any term hold the same terms, .* set n_clusters=1, lower min_df"
    with pytest.raises(InvalidDataError, match=message):
        model.fit(["apple"] * 3 + ["the of"] * 3)
    assert model.set_params(n_clusters=1).fit_predict(["apple"] * 3 + ["the of"] * 3).tolist() == [0] * 3 + [-1] * 3
