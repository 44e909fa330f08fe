"""How sure clusters are: agreement for the rows of a fit, probabilities for others, nothing where neither is known."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widegap import CPM3C, MaxMarginClustering
from widegap.results import PlainRows, Result
from widegap.results._certainty import agreement_of, probability_of

X, _ = make_blobs(240, 3, centers=3, cluster_std=2.0, random_state=0)
OLD, NEW = X[:180], X[180:]


@pytest.fixture(scope="module")
def model():
    return MaxMarginClustering(3, random_state=0).fit(OLD)


def sure_in(model, rows, **options):
    result = Result(model, PlainRows(rows), **options)
    frame = result.frame()
    if "sure" not in frame:
        assert {row["sure"] for row in result.assignments()} == {None}
        return None
    assert list(frame.columns)[-3:] == ["cluster", "sure", "margin"]
    assert [row["sure"] for row in result.assignments()] == frame["sure"].tolist()
    return frame["sure"].to_numpy()


def test_rows_of_the_fit_have_the_agreement_and_new_ones_the_largest_probability(model):
    np.testing.assert_allclose(sure_in(model, OLD), model.agreement_, atol=1e-6)
    largest = model.predict_proba(NEW).max(axis=1)
    assert largest.min() < 0.9  # some rows lie between clusters
    np.testing.assert_allclose(sure_in(model, NEW), largest, atol=1e-6)


def test_the_page_calls_only_the_agreement_sure(model):
    clusters = Result(model, PlainRows(NEW)).summary()["clusters"]
    assert [cluster["agreement"] for cluster in clusters] == [None] * 3


def test_clusters_of_a_users_own_have_their_own_probability(model):
    labels = np.array([-1, *np.roll(model.predict(NEW), 1)[1:]])
    expected = model.predict_proba(NEW)[np.arange(len(NEW)), labels]
    expected[0] = 0.0  # without a cluster, as outliers of a fit
    np.testing.assert_allclose(sure_in(model, NEW, labels=labels), expected, atol=1e-6)
    assert probability_of(model, NEW, np.full(len(NEW), 3), None) is None  # a cluster that the model does not have


@pytest.mark.parametrize("search", ["merge", "moves"])
@pytest.mark.parametrize("rows", [OLD, NEW], ids=["old", "new"])
def test_a_search_with_one_member_is_not_called_sure(search, rows):
    single = MaxMarginClustering(3, search=search, random_state=0).fit(OLD)
    assert agreement_of(single) is None
    assert sure_in(single, rows) is None


@pytest.mark.parametrize("clusterer", [CPM3C(3, random_state=0), KMeans(3, n_init=1, random_state=0)])
def test_methods_without_probabilities_write_no_column(clusterer):
    assert sure_in(clusterer.fit(OLD), NEW) is None


def test_any_model_with_probabilities_tells_how_sure_it_is():
    mixture = make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0)).fit(OLD)
    for rows in (OLD, NEW):
        np.testing.assert_allclose(sure_in(mixture, rows), mixture.predict_proba(rows).max(axis=1), atol=1e-6)
