"""The rule of ``predict`` for documents, which scores them by their words."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from _corpora import K, corpus
from widegap import MaxMarginClustering, persistence
from widegap.forest import _cluster_scores, _search_space
from widegap.metrics import clustering_accuracy
from widegap.rows import shards

FITTED = 700
UNSURE = pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")


def fit(X, **parameters):
    return MaxMarginClustering(K, random_state=0, **parameters).fit(X)


@pytest.fixture(scope="module")
def documents():
    X, y = corpus(2 * FITTED)
    return X[:FITTED], X[FITTED:], y[FITTED:]


@pytest.fixture(scope="module")
def model(documents):
    return fit(documents[0])


@pytest.fixture(scope="module")
def by_search(documents):
    """The same fit with the scores of the search's own features."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cluster_scores, "FAITHFUL", 0.0)
        return fit(documents[0])


def test_words_repeat_the_labels_and_are_better_for_new_documents(documents, model, by_search):
    X, new, y = documents
    assert_array_equal(model.labels_, by_search.labels_)
    assert (by_search.predict(X) != model.labels_).mean() > 0.05  # or this corpus needs no other rule
    assert (model.predict(X) != model.labels_).mean() < 0.02
    assert clustering_accuracy(y, model.predict(new)) > clustering_accuracy(y, by_search.predict(new))


def test_the_map_has_a_direction_a_cluster(documents, model):
    X, _, _ = documents
    assert (model.kernel_map_.kernel, model.kernel_map_.landmarks.shape) == ("linear", (K, X.shape[1]))
    assert model.coef_.shape == (K, K)
    unit = X / np.sqrt(X.power(2).sum(axis=1))[:, None]
    scores = unit @ model.kernel_map_.landmarks.toarray().T @ model.coef_.T + model.intercept_
    assert_array_equal(np.asarray(scores).argmax(axis=1), model.predict(X))


def test_single_precision_gives_the_same(documents, model):
    X, new, _ = documents
    single = fit(X.astype(np.float32))
    assert single.kernel_map_.kernel == "linear"
    assert (single.predict(X.astype(np.float32)) != single.labels_).mean() < 0.02
    assert (model.predict(new.astype(np.float32)) != model.predict(new)).mean() < 0.01


def test_new_documents_of_the_subjects_are_not_rejected(documents, model):
    X, new, _ = documents
    assert (model.predict(new, reject=True) < 0).mean() < 0.02
    assert (model.predict(X, reject=True) >= 0).all()


def test_rejected_and_sure_documents_beside_outliers(documents):
    X, new, _ = documents
    model = fit(X, outliers=0.05)
    assert model.kernel_map_.kernel == "linear" and (model.labels_ == -1).sum() == 35
    foreign = sp.csr_array(np.random.default_rng(0).permutation(new.toarray().T).T)  # its words mean nothing
    own_rejected, foreign_rejected = ((model.predict(rows, reject=True) < 0).mean() for rows in (new, foreign))
    assert own_rejected < foreign_rejected - 0.2
    assert model.predict_proba(new).max(axis=1).mean() > model.predict_proba(foreign).max(axis=1).mean()


def test_probabilities_are_not_those_of_labels_known_by_heart(documents, model):
    _, new, y = documents
    P, hits = model.predict_proba(new), clustering_accuracy(y, model.predict(new))
    assert_allclose(P.sum(axis=1), 1)
    assert P.max(axis=1).mean() < hits + 0.02


def test_cuts_corrections_files_and_blocks_score_by_words_too(documents, model, tmp_path):
    X, new, _ = documents
    fewer = model.with_clusters(3)
    assert fewer.coef_.shape == (3, 3) and (fewer.predict(X) != model.cut(3)).mean() < 0.02
    persistence.save(model, tmp_path / "m")
    assert_array_equal(persistence.load(tmp_path / "m")[0].predict(new), model.predict(new))
    sp.save_npz(tmp_path / "a.npz", X[:100])
    sp.save_npz(tmp_path / "b.npz", X[100:])
    assert_array_equal(fit(shards([tmp_path / "a.npz", tmp_path / "b.npz"])).predict(new), model.predict(new))
    known = np.where(np.arange(FITTED) < 20, model.labels_, None)
    corrected = model.refit(known=known)
    assert (corrected.predict(X) != corrected.labels_).mean() < 0.02


@UNSURE
def test_documents_beyond_the_searched_ones_get_the_same_rule(documents, monkeypatch):
    X, _, _ = documents
    monkeypatch.setattr(_search_space, "SPARSE_ROWS", 600)
    monkeypatch.setattr(_search_space, "LEAST_SAMPLE", 600)
    model = fit(X)
    assert model.kernel_map_.kernel == "linear"
    assert (model.predict(X) != model.labels_).sum() <= 0.02 * 600


@UNSURE
def test_rows_of_other_lengths_and_kernels_of_ones_own_keep_the_features_of_the_search(documents):
    X, _, _ = documents

    def product(A, B):
        return np.asarray((A @ B.T).todense() if sp.issparse(A @ B.T) else A @ B.T)

    assert fit(X, standardize=False).kernel_map_.kernel == "rbf"
    assert fit(X, kernel=product).kernel_map_.kernel is product


def test_documents_are_merged_freely_alone(model):
    assert {candidate.pool for candidate in model.candidates_} == {"gaps"}
