"""Known labels, links and sizes in CPM3C, M2DCU and MKC: kept exactly, or refused with the reason."""

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _problems import blobs, centre, clarabel_value, random_labels
from widegap import CPM3C, M2DCU, MKC, persistence
from widegap.constraints._side_information import RowConstraints, read_sample_weight, size_bounds
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import read_constraints
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError

SAID = ["known", "must_link", "cannot_link", "sample_weight"]


def three_groups(n=90, seed=0, spread=4.0):
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 3
    return groups, spread * np.eye(3)[groups] + rng.normal(size=(n, 3))


MODELS = [
    CPM3C(3, random_state=0),
    CPM3C(3, kernel="rbf", n_components=20, random_state=0),
    M2DCU(3, C_universum=0, random_state=0),
    MKC(3, kernels=["linear"], n_init=2, random_state=0),
]
each_model = pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.get_params().get('kernel')}"
)


def read_weights(*values):
    return read_sample_weight(np.array(values), len(values))


def test_weights_are_read_with_the_least_that_counts():
    assert read_sample_weight(None, 3) is None and read_sample_weight(2.5, 3) is None
    assert read_weights(2, 2, 2) is None and read_weights(True, True) is None
    assert read_weights(1, 2, 0).tolist() == [1, 2, 0] and read_weights(1, 2, 0).dtype == np.float64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_weights(1.0, 1e18, 1.0)[0] == 1  # 1e-18 of the largest is just not lost
    with pytest.raises(InvalidDataError, match=r"sample_weight\[0\] = 1.0 is below 1e-18 of the largest, 1.1e\+18"):
        read_weights(1.0, 1.1e18, 1.0)


@pytest.mark.parametrize(("rest", "told"), [(0.99e-4, True), (1.01e-4, False)])
def test_a_row_that_decides_alone_is_told(rest, told):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_weights(rest / 2, 1.0, rest / 2)
        read_weights(0.0, 1.0, 0.0)  # nothing else counts: that is meant
    assert len(caught) == told
    if told:
        assert str(caught[0].message).startswith("sample_weight[1] is 1.0e+00, 1.0e+04 times all other rows together")


def test_the_fewest_clusters_of_what_is_known():
    assert RowConstraints().fewest_clusters == 1 and RowConstraints().is_empty

    def fewest(n, **given):
        found = read_constraints(n, None, **given)
        return RowConstraints(found.units, found.classes).fewest_clusters

    assert fewest(4, known=[5, 6, 7, -1]) == 3
    assert fewest(4, must_link=[(0, 1)]) == 1
    assert fewest(4, cannot_link=[(0, 1)]) == 2
    assert fewest(5, cannot_link=[(0, 1), (1, 2), (0, 2)]) == 3
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]  # no three are all apart, but two colours do not do
    assert fewest(5, cannot_link=ring) == 3
    assert fewest(6, known=[1, 2, -1, -1, -1, -1], cannot_link=[(0, 2), (1, 2)]) == 3


def test_constraints_on_samples_and_on_rows_that_are_fitted():
    found = read_constraints(6, None, known=[4, -1, 4, -1, 3, -1], must_link=[(1, 3)], cannot_link=[(1, 5)])
    given = RowConstraints(found.units, found.classes, np.array([1.0, 2, 2, 2, 2, 0]))
    assert given.known_counts(3).tolist() == [1, 2, 0] and RowConstraints().known_counts(2).tolist() == [0, 0]
    assert given.constrained(6).tolist() == [True] * 6 and RowConstraints().constrained(2).tolist() == [False] * 2
    assert given.classes_of(3) == [3, 4, None] and not given.is_empty
    assert RowConstraints(weights=np.ones(2)).is_empty is RowConstraints(found.units).is_empty is False
    sample = given.of_rows(np.array([0, 1, 3]), 6)
    assert sample.n_sampled_from == 6 and sample.weights.tolist() == [1, 2, 2]
    part = given.weighted
    assert part.present.tolist() == [0, 1, 2, 3, 4] and RowConstraints().weighted is None
    assert RowConstraints(weights=np.array([1.0, 2])).weighted is None
    fitted = given.of_fitted(part)
    assert fitted.weights.tolist() == [1, 2, 2, 2, 2] and fitted.held.tolist() == [True] * 5
    even = TakingPart.where(np.array([0, 1, 1, 1, 1, 0], bool))
    inner = given.of_fitted(even)
    assert inner.weights is None and inner.part is even
    again = inner.of_fitted(TakingPart.where(np.array([0, 1, 1, 1], bool)))
    assert again.part.n == 6 and again.part.present.tolist() == [2, 3, 4]
    assert given.digest() and not RowConstraints().digest() and given.digest() != replace(given, weights=None).digest()


def test_sizes_of_samples_and_of_the_default():
    lower, upper = size_bounds(RowConstraints(), None, None, 10, 3, 2)
    assert lower.tolist() == [3, 3] and upper.tolist() == [10, 10]
    assert size_bounds(RowConstraints(), 0, None, 10, 3, 2)[0].tolist() == [0, 0]
    assert size_bounds(RowConstraints(), None, [2, 9], 10, 3, 2)[0].tolist() == [2, 3]
    sampled = RowConstraints(n_sampled_from=20)
    assert size_bounds(sampled, 4, 15, 10, 3, 2)[0].tolist() == [2, 2]
    assert size_bounds(sampled, 4, 15, 10, 3, 2)[1].tolist() == [8, 8]
    for fraction, n, least in ((0.1, 39, 1), (0.1, 40, 2), (0.1, 59, 2), (0.0, 59, 0), (0.01, 59, 1)):
        assert CPM3C(2, min_cluster_fraction=fraction)._least_size(n, 2) == least


@pytest.mark.parametrize("method", [CPM3C, M2DCU, MKC])
def test_one_signature(method):
    parameters = inspect.signature(method.fit).parameters
    assert [p for p in parameters if p not in ("self", "X", "y", "universum")] == SAID
    assert all(parameters[p].kind is inspect.Parameter.KEYWORD_ONLY for p in SAID)
    assert all(inspect.signature(method).parameters[name].default is None for name in ("size_min", "size_max"))


@each_model
def test_known_labels_are_kept_and_named(model):
    groups, X = three_groups()
    names = np.array(["oak", "ash", "elm"], dtype=object)[groups]
    known = np.where(np.arange(90) < 12, names, None)
    model = clone(model).fit(X, known=known)
    assert model.classes_ == ["ash", "elm", "oak"]
    assert [model.classes_[label] for label in model.labels_[:12]] == names[:12].tolist()
    assert np.mean(np.array(model.classes_, dtype=object)[model.labels_] == names) > 0.9
    assert model.labels_.dtype == np.int32


@each_model
def test_without_known_labels_no_cluster_has_one(model):
    assert clone(model).fit(three_groups()[1]).classes_ == [None] * 3
    assert clone(model).set_params(n_clusters=1).fit(three_groups()[1]).classes_ == [None]


@each_model
def test_a_wrong_label_is_kept_all_the_same(model):
    groups, X = three_groups()
    known = np.where(np.arange(90) < 30, groups, -1)
    known[0] = 2
    model = clone(model).fit(X, known=known)
    np.testing.assert_array_equal(model.labels_[:30], known[:30])
    assert model.predict(X[:1]) == 0  # new rows are free


@each_model
def test_links_are_kept(model):
    groups, X = three_groups()
    together, apart = [[0, 1], [1, 2], [4, 8]], [[0, 3], [5, 8], [6, 7]]
    model = clone(model).fit(X, must_link=together, cannot_link=apart)
    z = model.labels_
    assert z[0] == z[1] == z[2] and z[4] == z[8]
    assert all(z[a] != z[b] for a, b in apart)


@each_model
@pytest.mark.parametrize(
    ("size_min", "size_max", "least", "most"),
    [(30, 30, 30, 30), (1 / 3, None, 30, 90), (None, 0.4, 1, 36), ([10, 20, 40], [20, 30, 90], None, None)],
)
def test_sizes_are_exact(model, size_min, size_max, least, most):
    X = np.random.default_rng(1).exponential(size=(90, 3))
    model = clone(model).set_params(size_min=size_min, size_max=size_max).fit(X)
    counts = np.bincount(model.labels_, minlength=3)
    lower = size_min if least is None else [least] * 3
    upper = size_max if most is None else [most] * 3
    assert (counts >= lower).all() and (counts <= upper).all()


def test_all_at_once():
    groups, X = three_groups()
    known = np.where(np.arange(90) < 3, groups, -1)
    model = CPM3C(3, size_min=25, size_max=35, random_state=0)
    model.fit(X, known=known, must_link=[[10, 20], [20, 30]], cannot_link=[[10, 11], [11, 12], [1, 13]])
    z = model.labels_
    assert (z[:3] == groups[:3]).all() and z[10] == z[20] == z[30] and z[10] != z[11] != z[12] and z[13] != z[1]
    counts = np.bincount(z)
    assert counts.min() >= 25 and counts.max() <= 35


def test_more_clusters_than_labels_finds_new_groups():
    groups, X = three_groups(spread=8)
    known = np.where((np.arange(90) < 20) & (groups < 2), groups, -1)
    model = CPM3C(3, random_state=0).fit(X, known=known)
    assert model.classes_ == [0, 1, None]
    assert (model.labels_ == groups).mean() > 0.95


def test_labels_of_one_class_only():
    groups, X = three_groups(spread=8)
    model = CPM3C(3, random_state=0).fit(X, known=np.where((np.arange(90) < 20) & (groups == 1), 7, -1))
    assert model.classes_ == [7, None, None]
    assert ((model.labels_ == 0) == (groups == 1)).mean() > 0.95


def test_contradictions_are_refused():
    X = three_groups()[1]
    with pytest.raises(InvalidDataError, match="known holds 4 labels .* n_clusters=3"):
        CPM3C(3).fit(X, known=np.arange(90) % 4)
    with pytest.raises(InvalidDataError, match=r"cannot be together by cannot_link, but 0 - 1 \(must-link\)"):
        CPM3C(3).fit(X, must_link=[[0, 1]], cannot_link=[[1, 0]])
    with pytest.raises(InvalidDataError, match="all to be in different clusters"):
        CPM3C(1).fit(X, cannot_link=[[1, 0]])
    with pytest.raises(InfeasibleBalanceError, match="3 x 31 = 93 rows, but there are 90"):
        CPM3C(3, size_min=31).fit(X)
    with pytest.raises(InfeasibleBalanceError, match="90 rows are known to be in cluster 0, but size_max allows 40"):
        CPM3C(3, size_max=40).fit(X, known=np.zeros(90, int))
    with pytest.raises(InvalidDataError, match=r"known has shape \(3,\), X has 90 rows"):
        CPM3C(3).fit(X, known=[1, 2, 3])


def test_arguments_go_through_a_pipeline():
    groups, X = three_groups()
    known = np.where(np.arange(90) < 30, groups, -1)
    known[0] = 2
    with sklearn.config_context(enable_metadata_routing=True):
        model = CPM3C(3, random_state=0).set_fit_request(known=True, must_link=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, known=known, must_link=[[40, 41]])
    labels = pipeline[-1].labels_
    assert (labels[:30] == known[:30]).all() and labels[40] == labels[41]


def test_classes_are_stored(tmp_path):
    groups, X = three_groups()
    model = CPM3C(3, size_min=[20, 0.1, 5], random_state=0).fit(X, known=np.where(groups == 0, "a", "-1"))
    persistence.save(model, tmp_path / "model.widegap")
    loaded = persistence.load(tmp_path / "model.widegap")[0]
    assert loaded.classes_ == ["a", None, None] and loaded.size_min == [20, 0.1, 5]


@pytest.mark.parametrize("loss", ["max", "sum"])
def test_with_all_labels_known_the_result_is_the_classifier_of_the_same_margin(loss):
    X = blobs(np.random.default_rng(0), 40, 3, 3)
    labels = random_labels(np.random.default_rng(1), 40, 3)
    model = CPM3C(3, C=0.5, loss=loss, tol=1e-5, max_iter=2000, random_state=0).fit(X, known=labels)
    beta = 1 / (0.5 * np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    optimum = clarabel_value(centre(X), labels, 3, beta, loss)
    assert optimum <= model.objective_ * (1 + 1e-8) and model.objective_ <= (1 + 1e-4) * optimum
    np.testing.assert_array_equal(model.labels_, labels)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]))
def test_all_constraints_hold_after_any_sequence_of_refits(seed, k):
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(30, 2)), random_labels(rng, 30, k, min_count=5)
    known = np.full(30, -1)
    pairs = np.empty((0, 2), int)
    model = CPM3C(k, size_min=3, size_max=30 - 3 * (k - 1), random_state=0)
    for _ in range(3):
        row = rng.integers(30)
        known[row] = truth[row]
        new = rng.integers(0, 30, (2, 2))
        pairs = np.concatenate([pairs, new[new[:, 0] != new[:, 1]]])
        same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
        model.fit(X, known=known, must_link=pairs[same], cannot_link=pairs[~same])
        z = model.labels_
        assert [model.classes_[label] for label in z[known >= 0]] == known[known >= 0].tolist()  # no label is lost
        assert (z[pairs[same, 0]] == z[pairs[same, 1]]).all() and (z[pairs[~same, 0]] != z[pairs[~same, 1]]).all()
        assert np.bincount(z, minlength=k).min() >= 3
        model.set_params(init=z)
    order = rng.permutation(len(pairs))
    swapped, same = pairs[order][:, ::-1], same[order]
    again = clone(model).fit(X, known=known, must_link=swapped[same], cannot_link=swapped[~same])
    pairs, same = swapped[::-1], same[::-1]
    np.testing.assert_array_equal(
        again.labels_, clone(model).fit(X, known=known, must_link=pairs[same], cannot_link=pairs[~same]).labels_
    )
