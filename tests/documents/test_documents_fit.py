"""How a document clustering is searched for: objective, history, callback, logging, seeds, and what a file keeps."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from widegap import DocumentClustering, datasets, persistence
from widegap.documents._linear_scores import weight_of_loss
from widegap.documents._topic_search import KMEANS_RUNS, MARGIN_STEPS, _weight_of_loss
from widegap.report import summarize

FOOD = ["bread with flour and yeast", "flour and yeast for bread", "bread, salt and flour", "yeast lets flour rise"]
SPORT = ["a late goal in the match", "the match had a goal", "the goal of the late match", "a referee of the match"]
NOTES = FOOD + SPORT


@pytest.fixture(scope="module")
def library():
    documents, _ = datasets.load_docstrings(return_X_y=True)
    return documents[::3]


@pytest.fixture(scope="module")
def fitted(library):
    return DocumentClustering(4, random_state=0).fit(library)


def loss_by_hand(model, corpus):
    """Mean over topics of the objective of its classifier, as the module of linear scores defines it."""
    rows = corpus.terms.toarray()
    scores = rows @ model.coef_.T + model.intercept_
    total = 0.0
    for topic in range(model.n_clusters_):
        sign = np.where(model.labels_ == topic, 1, -1)
        size = model.coef_[topic] @ model.coef_[topic] + model.intercept_[topic] ** 2
        total += size / (2 * weight_of_loss(len(rows)) * len(rows))
        total += np.mean(np.maximum(0, 1 - sign * scores[:, topic]) ** 2)
    return total / model.n_clusters_


def test_the_objective_is_that_of_the_weights(fitted):
    assert fitted.labels_.min() == 0
    assert fitted.objective_ == pytest.approx(loss_by_hand(fitted, fitted._corpus))
    assert 0 < fitted.objective_ < 1


def test_history_tells_the_steps(fitted):
    steps = [record.step for record in fitted.history_]
    assert steps == sorted(steps, key=["start", "margins", "terms"].index)
    assert steps.count("start") == KMEANS_RUNS
    assert 0 < steps.count("margins") <= 2 * MARGIN_STEPS
    assert steps.count("terms") == fitted.n_iter_
    assert fitted.history_[-1].objective == fitted.objective_
    seconds = [record.seconds for record in fitted.history_]
    assert seconds == sorted(seconds)
    for step in set(steps):
        numbers = [record.iteration for record in fitted.history_ if record.step == step]
        assert numbers == list(range(len(numbers)))


def test_rounds_of_self_training_lower_the_objective():
    documents, _ = datasets.load_docstrings(return_X_y=True)
    model = DocumentClustering(6, features="tfidf", random_state=0).fit(documents[::2])
    rounds = [record.objective for record in model.history_ if record.step == "terms"]
    assert len(rounds) > 1
    assert np.all(np.diff(rounds) <= 1e-3 * rounds[0])  # the classifiers are fitted to a tolerance


@pytest.mark.parametrize("step", ["start", "margins", "terms"])
def test_a_callback_ends_the_search_with_a_whole_result(library, step):
    seen = []

    def stop(record):
        seen.append(record)
        return record.step == step

    model = DocumentClustering(3, random_state=0, callback=stop).fit(library)
    assert model.history_ == seen
    assert sum(record.step == step for record in seen) == 1
    assert seen[-1].step == "terms"
    assert not model.converged_
    assert set(model.labels_) == {0, 1, 2}
    assert np.mean(model.predict(library) == model.labels_) == 1
    assert all(model.top_terms(3).values())


def test_embeddings_report_the_method_s_own_search():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 5)) + 6 * np.eye(5)[np.arange(60) % 3]
    model = DocumentClustering(3, random_state=0).fit(rows)
    assert {record.step for record in model.history_} == {"margins"}
    assert model.converged_ and not model.starved_
    assert 0 < model.n_iter_ <= len(model.history_)
    assert model.objective_ == pytest.approx(min(record.objective for record in model.history_), rel=0.05)


def test_one_topic_needs_no_search():
    model = DocumentClustering(1).fit(NOTES)
    assert (model.objective_, model.history_, model.n_iter_) == (0, [], 0)
    assert model.converged_ and not model.starved_


def test_verbose_logs_the_steps(caplog):
    with caplog.at_level(logging.INFO, logger="widegap"):
        model = DocumentClustering(2, random_state=0, verbose=1).fit(NOTES)
    lines = [record.message for record in caplog.records if record.message.split()[0] in ("start", "margins", "terms")]
    assert lines == [record.line() for record in model.history_]
    assert lines[-1].startswith(f"terms {model.n_iter_ - 1}, objective {model.objective_:.6g}, 0 flips, ")


def test_a_model_file_keeps_how_the_search_went(fitted, tmp_path):
    persistence.save(fitted, tmp_path / "m.widegap")
    model, _ = persistence.load(tmp_path / "m.widegap")
    assert model.history_ == [replace(record, seconds=0.0) for record in fitted.history_]
    for name in ("objective_", "n_iter_", "converged_", "starved_"):
        assert getattr(model, name) == getattr(fitted, name)
    np.testing.assert_array_equal(model.terms_, fitted.terms_)
    assert model.predict(["open a file"]) == fitted.predict(["open a file"])


def test_the_report_shows_objective_and_search(fitted, library):
    summary = summarize(fitted, library)
    assert summary["objective"]["name"] == "squared hinge loss"
    assert summary["objective"]["better"] == "lower"
    assert summary["objective"]["value"] == pytest.approx(fitted.objective_)
    assert [point["objective"] for point in summary["search"]["curve"]] == pytest.approx(
        [record.objective for record in fitted.history_ if record.step == "terms"]
    )


class RandomLabels(ClusterMixin, BaseEstimator):
    """A method whose labels tell its seed."""

    def __init__(self, n_clusters=2, random_state=None):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.labels_ = rng.permutation(np.arange(len(X)) % self.n_clusters)
        return self


def test_a_method_without_a_seed_gets_ours():
    method = RandomLabels()
    first, again, other = (
        DocumentClustering(4, method=method, random_state=seed).fit(NOTES * 5).labels_.tolist() for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert method.random_state is None


def test_a_method_keeps_its_own_seed():
    fits = [
        DocumentClustering(4, method=RandomLabels(random_state=7), random_state=seed).fit(NOTES * 5) for seed in (0, 1)
    ]
    assert fits[0].labels_.tolist() == fits[1].labels_.tolist()


class LabelledPipeline(ClusterMixin, BaseEstimator):
    """A method around another one, whose seed is a parameter one level down."""

    def __init__(self, inner):
        self.inner = inner

    def fit(self, X, y=None):
        self.labels_ = make_pipeline(Normalizer(), self.inner).fit(X)[-1].labels_
        return self


def test_the_seed_reaches_nested_methods():
    fits = [
        DocumentClustering(4, method=LabelledPipeline(RandomLabels(4)), random_state=0).fit(NOTES * 5) for _ in range(2)
    ]
    assert fits[0].labels_.tolist() == fits[1].labels_.tolist()


def test_another_method_has_an_objective_where_terms_are_scored():
    model = DocumentClustering(2, method=KMeans(n_init=5), random_state=0).fit(NOTES)
    assert 0 < model.objective_ < 1
    assert model.history_ == [] and model.converged_
    on_rows = DocumentClustering(2, method=KMeans(n_init=5), random_state=0).fit(np.eye(4)[[0, 0, 1, 1]])
    assert on_rows.objective_ is None


def test_the_weight_of_the_loss_follows_the_variance_of_the_axis_before_the_number_of_topics():
    X = np.random.default_rng(0).normal(size=(60, 6)) * [9, 5, 3, 2, 1, 1]
    variances = np.sort(np.linalg.eigvalsh(np.cov(X.T, bias=True)))[::-1]
    for k in (2, 3, 4):
        assert _weight_of_loss(X, k) == pytest.approx(1 / (0.3 * variances[k - 2]), rel=1e-3)
    assert _weight_of_loss(np.ones((9, 3)), 2) == "auto"
