"""Known labels and weights reach a clusterer inside a pipeline or a search as they do in a fit of its own."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from widegap import CPM3C, MaxMarginClustering

METHODS = [MaxMarginClustering, CPM3C]
# The rows are close together on purpose, and the fits say so.
pytestmark = pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def overlapping_rows():
    """Groups so close that labels and weights decide about many rows."""
    rng = np.random.default_rng(0)
    groups = np.arange(120) % 3
    X = rng.normal(size=(120, 4)) + 1.5 * np.eye(3, 4)[groups]
    known = np.where(rng.random(120) < 0.3, groups, -1)
    return X, known, rng.choice([0.1, 1.0, 10.0], 120)


@pytest.mark.parametrize("method", METHODS)
def test_known_and_weights_both_pass_through_a_pipeline(method):
    X, known, weights = overlapping_rows()
    clusterer = method(3, random_state=0).set_fit_request(known=True, sample_weight=True)
    pipeline = make_pipeline(MinMaxScaler(), clusterer).fit(X, known=known, sample_weight=weights)
    scaled = MinMaxScaler().fit_transform(X)
    direct = {
        names: method(3, random_state=0).fit(scaled, **dict(zip(names, values, strict=True))).labels_
        for names, values in {
            ("known", "sample_weight"): (known, weights),
            ("known",): (known,),
            ("sample_weight",): (weights,),
        }.items()
    }
    labels = pipeline[-1].labels_
    np.testing.assert_array_equal(labels, direct["known", "sample_weight"])
    # Either argument matters for these rows: a pipeline that lost one would give other labels.
    assert (labels != direct[("known",)]).any()
    assert (labels != direct[("sample_weight",)]).any()


@pytest.mark.parametrize("method", METHODS)
def test_an_argument_without_a_request_is_refused(method):
    X, known, weights = overlapping_rows()
    pipeline = make_pipeline(MinMaxScaler(), method(3, random_state=0).set_fit_request(known=True))
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        pipeline.fit(X, known=known, sample_weight=weights)


def agreement(model, X, y):
    return adjusted_rand_score(y[y >= 0], model.predict(X)[y >= 0])


GRIDS = [(MaxMarginClustering, {"search": ["agree", "moves"]}), (CPM3C, {"C": [0.01, 1.0]})]


@pytest.mark.parametrize(("method", "grid"), GRIDS)
def test_a_search_cuts_known_labels_into_folds(method, grid):
    X, known, _ = overlapping_rows()
    ((name, values),) = grid.items()
    clusterer = method(3, random_state=0).set_fit_request(known=True)
    folds = KFold(3)
    steps = make_pipeline(MinMaxScaler(), clusterer)
    search = GridSearchCV(steps, {f"{method.__name__.lower()}__{name}": values}, scoring=agreement, cv=folds)
    search.fit(X, known, known=known)
    for i, value in enumerate(values):
        for fold, (train, test) in enumerate(folds.split(X)):
            scaler = MinMaxScaler().fit(X[train])
            model = method(3, random_state=0, **{name: value}).fit(scaler.transform(X[train]), known=known[train])
            expected = agreement(model, scaler.transform(X[test]), known[test])
            assert search.cv_results_[f"split{fold}_test_score"][i] == expected
    best = method(3, random_state=0, **{name: values[search.best_index_]})
    best.fit(MinMaxScaler().fit_transform(X), known=known)  # with all rows, and all labels
    np.testing.assert_array_equal(search.best_estimator_[-1].labels_, best.labels_)
