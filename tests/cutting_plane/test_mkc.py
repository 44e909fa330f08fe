"""MKC as users meet it: conventions, forms of kernels and of data, what its attributes promise, invariances."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from _expected_failures import expected_failures
from widegap import CPM3C, MKC
from widegap.base._starts import different_starts
from widegap.cutting_plane._mkc import check_kernels, largest_lead, warn_of_collapse, warn_of_one_direction
from widegap.datasets import load_digits
from widegap.exceptions import InvalidDataError, KernelWarning
from widegap.metrics import clustering_accuracy
from widegap.rows import shards
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

THREE = ["linear", ("poly", {"degree": 2}), ("rbf", {"gamma": 1e-3})]


def digits(*classes):
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, classes)
    return X[chosen], y[chosen]


def fit(X, n_clusters=2, **parameters):
    return MKC(n_clusters, **{"random_state": 0, **parameters}).fit(X)


def same_partition(first, second):
    return clustering_accuracy(first, second) == 1


def one_hot_margins(model, X):
    """Mean lead of the label's score over its best rival."""
    scores = model.decision_function(X)
    if scores.ndim == 1:
        scores = np.stack([-scores / 2, scores / 2], axis=1)
    own = scores[np.arange(len(scores)), model.labels_].copy()
    scores[np.arange(len(scores)), model.labels_] = -np.inf
    return (own - scores.max(axis=1)).mean()


def messages(call, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    return [(entry.category, str(entry.message)) for entry in caught]


@pytest.mark.parametrize(
    ("weights", "ranks", "told"),
    [
        ([0.9, 0.1], [1.0, 5.0], True),
        ([0.9, 0.1], [1.0, 2.0], True),
        ([0.9, 0.1], [1.0, 1.99], False),
        ([0.1, 0.9], [1.0, 5.0], False),
        ([0.9, 0.1], [3.0, 5.0], False),
        ([0.9], [1.0], False),
        ([0.8, 0.1, 0.1], [1.0, 1.0, 4.0], True),
    ],
)
def test_a_heavy_kernel_of_one_direction_is_told(weights, ranks, told):
    names = ["first", "second", "third"][: len(weights)]
    found = messages(warn_of_one_direction, names, np.array(weights), np.array(ranks))
    assert [kind for kind, _ in found] == [KernelWarning] * told
    if told:
        assert found[0][1].startswith(f"Kernel 'first' has the largest weight, {weights[0]:.2f}")


def test_a_collapse_is_told():
    ((kind, text),) = messages(warn_of_collapse, 0.99876, 0.003)
    assert kind is KernelWarning and text.startswith("The objective of 0.9988 is no better, within tol=0.003")


def kernel_called(name, share=0.0, map="map"):
    return SimpleNamespace(name=name, negative_share=share, map=map)


def test_indefinite_and_constant_kernels_are_told():
    stack = SimpleNamespace(
        active=["a"], kernels=[kernel_called("a"), kernel_called("b", 1e-9), kernel_called("c", map=None)]
    )
    found = messages(check_kernels, stack, 10, 2)
    assert [kind for kind, _ in found] == [KernelWarning] * 2
    assert found[0][1].startswith("Kernel 'b' is not positive") and found[1][1].startswith("Kernel 'c' is constant")
    constant = SimpleNamespace(active=[], kernels=[kernel_called("c", map=None)])
    with pytest.raises(InvalidDataError, match="All 1 kernels are constant on the 10 rows"):
        check_kernels(constant, 10, 2)
    assert len(messages(check_kernels, constant, 10, 1)) == 1


@pytest.mark.parametrize(
    ("loss", "k", "balance", "objective", "collapsed"),
    [
        ("max", 3, 0.0, 0.9, True),
        ("max", 3, 0.0, 0.8999, False),
        ("max", 3, 0.25, 0.675, True),
        ("max", 3, 0.25, 0.6749, False),
        ("sum", 4, 0.0, 0.675, True),
        ("sum", 4, 0.0, 0.6749, False),
        ("max", 3, 1.5, 0.0, True),
        ("max", 2, 1.0, 1e-9, True),
    ],
)
def test_when_a_result_is_no_better_than_nothing(loss, k, balance, objective, collapsed):
    model = MKC(k, loss=loss, balance=balance, tol=0.1)
    result = SimpleNamespace(point=SimpleNamespace(objective=objective))
    assert model._collapsed(result) is collapsed


def test_the_largest_lead_by_hand():
    X = np.array([[0.0, 0], [4, 0], [2, 6], [2, -6]])
    rows = CentredRows(row_blocks(X))
    assert largest_lead(rows, 0.25) == pytest.approx(1 + 2 * (36 / 0.25) ** 0.5 / rows.scale)
    assert rows.scale == pytest.approx((80 / 4) ** 0.5)


@pytest.mark.parametrize(("k", "order"), [(2, "cuts_first"), (3, "linearize_first"), (1, "linearize_first")])
def test_the_plan_of_several_kernels(k, order):
    plan = MKC(k)._plan()
    assert (plan.order, plan.kmeans_runs, plan.kmeans_starts, plan.random_starts) == (order, 20, 20, 0)


@parametrize_with_checks([MKC()], expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    follow_convention(estimator, check)


@pytest.mark.slow  # several minutes: their tables are small, but there are many, and every fit has several kernels
@parametrize_with_checks(
    [
        MKC(kernels=["rbf"], balance=0.1),
        MKC(3, kernels=["cosine", "linear"], loss="sum", norm=1.5, order="one_step"),
        MKC(kernels=["linear", PCA(1)], normalize=None, init="random"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions_under_other_settings(estimator, check):
    follow_convention(estimator, check)


def follow_convention(estimator, check):
    with warnings.catch_warnings():
        # Their tables are tiny or noise, on some of which kernels are constant and nothing can be separated.
        warnings.simplefilter("ignore", KernelWarning)
        check(estimator)


# What the attributes promise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("data", ["pair", "triple"])
def test_attributes(request, data, norm):
    X, y = request.getfixturevalue(data)
    k = len(np.unique(y))
    model = fit(X, k, norm=norm)
    assert model.kernel_names_ == ["linear", "poly", "rbf", "rbf-2"]
    assert (model.kernel_weights_**norm).sum() == pytest.approx(1)
    assert (model.kernel_weights_ > 0).all()
    assert model.kernel_margins_.sum() == pytest.approx(one_hot_margins(model, X), rel=1e-6)
    assert (model.kernel_ranks_ >= 1).all()
    assert model.kkt_residual_ <= 1e-6
    assert model.converged_
    assert not model.collapsed_
    assert not model.starved_
    assert model.C_ == pytest.approx(10)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.coef_.shape[1] == sum(kernel.width for kernel in model.kernel_map_.kernels)
    assert clustering_accuracy(y, model.labels_) > 0.9


def test_objective_is_that_of_the_definition(triple):
    X, _ = triple
    model = fit(X, 3, kernels=THREE, tol=1e-4, norm=3.0)
    features = model.kernel_map_.transform(X)
    blocks = np.split(features, np.cumsum(model.kernel_map_.sizes)[:-1], axis=1)
    weights = np.split(model.coef_, np.cumsum(model.kernel_map_.sizes)[:-1], axis=1)
    for block in blocks:
        assert block.var(axis=0).sum() == pytest.approx(1)
    pairs = zip(weights, model.kernel_weights_, strict=True)
    regulariser = sum(np.square(v).sum() / w for v, w in pairs) / (2 * model.C)
    scores = sum((block - block.mean(axis=0)) @ v.T for block, v in zip(blocks, weights, strict=True))
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-8)
    ordered = np.sort(scores, axis=1)
    loss = np.maximum(0, 1 - ordered[:, -1] + ordered[:, -2]).mean()
    assert model.objective_ == pytest.approx(regulariser + loss, rel=1e-8)


@pytest.mark.parametrize("k", [2, 3])
def test_one_kernel_is_cpm3c(k):
    X, _ = digits(*range(k))
    Z = X - X.mean(axis=0)
    Z /= np.sqrt(np.square(Z).sum(axis=1).mean())
    start = CPM3C(k, random_state=0).fit(X).labels_
    ours = fit(X, k, kernels=["linear"], C=7.0, init=start, balance=0.05, order="cuts_first")
    theirs = CPM3C(k, C=7.0, init=start, balance=0.05, order="cuts_first", tol=ours.tol).fit(Z)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(Z), atol=1e-6)
    np.testing.assert_allclose(ours.kernel_weights_, [1.0])


def test_copies_of_a_kernel_are_that_kernel_scaled(pair):
    X, _ = pair
    start = fit(X).labels_
    copies = fit(X, kernels=["linear"] * 4, C=5.0, init=start, tol=1e-5)
    # sqrt(4) times the kernel is the kernel with twice the C.
    one = fit(X, kernels=["linear"], C=10.0, init=start, tol=1e-5)
    np.testing.assert_allclose(copies.kernel_weights_, 0.5, rtol=1e-6)
    assert copies.objective_ == pytest.approx(one.objective_, rel=3e-5)
    assert same_partition(copies.labels_, one.labels_)


def test_order_of_kernels_does_not_matter(triple):
    X, _ = triple
    start = fit(X, 3).labels_
    first = fit(X, 3, kernels=THREE, init=start, tol=1e-5)
    second = fit(X, 3, kernels=THREE[::-1], init=start, tol=1e-5)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert second.kernel_names_ == first.kernel_names_[::-1]
    assert first.objective_ == pytest.approx(second.objective_, rel=2e-5)
    np.testing.assert_allclose(first.kernel_weights_, second.kernel_weights_[::-1], atol=2e-3)


def test_zero_and_constant_kernels_change_nothing(pair):
    X, _ = pair
    views = {"x": X, "none": np.zeros((len(X), 3)), "same": np.full((len(X), 2), 7.0), "K": np.ones((len(X), len(X)))}
    kernels = [("a", "linear", "x"), ("b", "poly", "x")]
    plain = fit(views, kernels=kernels)
    more = [("0", "linear", "none"), *kernels, ("7", ("rbf", {"gamma": 1.0}), "same"), ("1", "precomputed", "K")]
    with pytest.warns(KernelWarning, match="is constant on these rows and gets the weight 0") as caught:
        padded = fit(views, kernels=more)
    assert [str(warning.message)[:10] for warning in caught] == ["Kernel '0'", "Kernel '7'", "Kernel '1'"]
    np.testing.assert_array_equal(plain.labels_, padded.labels_)
    assert plain.objective_ == padded.objective_
    np.testing.assert_array_equal(padded.kernel_weights_, [0, *plain.kernel_weights_, 0, 0])
    np.testing.assert_array_equal(padded.kernel_margins_, [0, *plain.kernel_margins_, 0, 0])
    np.testing.assert_array_equal(padded.decision_function(views), plain.decision_function(views))


def test_units_and_shifts_of_a_kernel_do_not_matter(pair):
    X, _ = pair
    kernels = [("top", "linear", slice(0, 32)), ("bottom", "linear", slice(32, 64))]
    plain = fit(X, kernels=kernels)
    changed = fit(np.hstack([1e3 * X[:, :32] + 5, X[:, 32:] / 50]), kernels=kernels)
    np.testing.assert_array_equal(plain.labels_, changed.labels_)
    np.testing.assert_allclose(plain.kernel_weights_, changed.kernel_weights_, rtol=1e-6)
    raw = fit(np.hstack([1e3 * X[:, :32], X[:, 32:]]), kernels=kernels, normalize=None, C=1e-8)
    assert raw.kernel_weights_[0] > 0.99 > plain.kernel_weights_[0]


def test_small_norms_choose_and_large_ones_do_not(pair):
    X, _ = pair
    spread = [np.ptp(fit(X, norm=norm).kernel_weights_) for norm in (1.01, 1.2, 2.0, 50.0)]
    assert spread == sorted(spread, reverse=True)
    assert spread[-1] < 0.02


# Forms of kernels and data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "n_components"), [("pair", 60), ("pair", 400), ("triple", 60)])
def test_precomputed_and_computed_kernels_give_the_same(request, data, n_components):
    X, y = request.getfixturevalue(data)
    k = len(np.unique(y))
    new = X[::3] + 0.5
    functions = {
        "rbf": lambda A, B: rbf_kernel(A, B, gamma=1e-3),
        "poly": lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.01, coef0=1),
    }
    named = [("rbf", {"gamma": 1e-3}), ("poly", {"degree": 2, "gamma": 0.01})]
    options = {"n_clusters": k, "n_components": n_components}
    computed = fit(X, kernels=named, **options)
    called = fit(X, kernels=list(functions.values()), **options)
    given = fit({name: f(X, X) for name, f in functions.items()}, kernels=["precomputed"], **options)
    blocks = {name: f(new, X) for name, f in functions.items()}
    for model, rows in ((called, new), (given, blocks)):
        np.testing.assert_array_equal(model.labels_, computed.labels_)
        np.testing.assert_allclose(model.kernel_weights_, computed.kernel_weights_, rtol=1e-5)
        assert model.objective_ == pytest.approx(computed.objective_, rel=1e-6)
        np.testing.assert_allclose(model.decision_function(rows), computed.decision_function(new), atol=1e-5)


def test_a_linear_kernel_is_exact_in_every_form(pair):
    X, _ = pair
    by_columns = fit(X, kernels=["linear"], tol=1e-5)
    by_matrix = fit(X @ X.T, kernels=["precomputed"], tol=1e-5)
    by_function = fit(X, kernels=[lambda A, B: A @ B.T], tol=1e-5)
    for model in (by_matrix, by_function):
        np.testing.assert_array_equal(model.labels_, by_columns.labels_)
        assert model.objective_ == pytest.approx(by_columns.objective_, rel=1e-4)
    np.testing.assert_array_equal(by_matrix.predict(X[:7] @ X.T), by_columns.predict(X[:7]))


def test_kernels_of_columns_are_kernels_of_views(pair):
    X, _ = pair
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(64)])
    mask = np.arange(64) < 32
    by_place = [
        fit(X, kernels=[("t", "linear", np.arange(32)), ("b", "rbf", range(32, 64))]),
        fit(X, kernels=[("t", "linear", mask), ("b", "rbf", slice(32, None))]),
        fit(frame, kernels=[("t", "linear", list(frame.columns[:32])), ("b", "rbf", list(frame.columns[32:]))]),
        fit({"p": X[:, :32], "q": X[:, 32:]}, kernels=[("t", "linear", "p"), ("b", "rbf", "q")]),
    ]
    for model in by_place[1:]:
        np.testing.assert_array_equal(model.labels_, by_place[0].labels_)
        np.testing.assert_allclose(model.kernel_weights_, by_place[0].kernel_weights_, rtol=1e-8)
    np.testing.assert_array_equal(by_place[2].predict(frame), by_place[0].predict(X))


def test_kernels_without_a_place_look_at_every_view(pair):
    X, _ = pair
    model = fit({"top": X[:, :32], "bottom": X[:, 32:]}, kernels=["linear", ("rbf", {"width": 1.0}), "linear"])
    names = ["top:linear", "bottom:linear", "top:rbf", "bottom:rbf", "top:linear-2", "bottom:linear-2"]
    assert model.kernel_names_ == names
    np.testing.assert_allclose(model.kernel_weights_[:2], model.kernel_weights_[4:], rtol=1e-6)


def test_text_beside_numbers():
    rng = np.random.default_rng(0)
    topics = ["ball goal team match score", "soup bread oven taste recipe"]
    labels = np.repeat([0, 1], 40)
    documents = [" ".join(rng.choice(topics[z].split(), 6)) for z in labels]
    views = {"text": documents, "numbers": rng.normal(size=(80, 4)) + labels[:, None]}
    model = fit(views, kernels=[("words", TfidfVectorizer(), "text"), ("numbers", "rbf", "numbers")])
    assert same_partition(model.labels_, labels)
    assert model.kernel_weights_[0] > model.kernel_weights_[1]
    some = {"text": documents[:3], "numbers": views["numbers"][:3]}
    np.testing.assert_array_equal(model.predict(some), model.labels_[:3])
    assert not hasattr(model, "n_features_in_")


def test_transformers_are_cloned_and_their_features_normalised(pair):
    X, _ = pair
    transformer = PCA(5)
    model = fit(X, kernels=["linear", transformer, ("low", PCA(3), slice(0, 32))])
    assert not hasattr(transformer, "components_")
    assert model.kernel_names_ == ["linear", "pca", "low"]
    assert model.kernel_map_.sizes == (64, 5, 3)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("form", ["csr", "float32", "shards"])
def test_representations(pair, tmp_path, form):
    X, _ = pair
    dense = fit(X)
    if form == "shards":
        np.save(tmp_path / "a.npy", X[:100])
        np.save(tmp_path / "b.npy", X[100:])
        other = shards([tmp_path / "a.npy", tmp_path / "b.npy"])
    else:
        other = sp.csr_array(X) if form == "csr" else X.astype(np.float32)
    model = fit(other)
    assert clustering_accuracy(dense.labels_, model.labels_) > 0.99
    np.testing.assert_allclose(model.kernel_weights_, dense.kernel_weights_, atol=0.01)
    np.testing.assert_array_equal(model.predict(other), model.labels_)


def test_a_fitted_model_survives_pickling_and_cloning(pair):
    X, _ = pair
    model = fit({"x": X}, kernels=[("own", ("rbf", {"width": 1.0}), "x"), ("low", PCA(3), "x")])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict({"x": X}), model.labels_)
    np.testing.assert_array_equal(clone(model).fit({"x": X}).labels_, model.labels_)


def test_refitting_forgets_the_other_form(pair):
    X, _ = pair
    model = fit(X)
    model.fit({"x": X})
    assert not hasattr(model, "n_features_in_")
    np.testing.assert_array_equal(model.predict({"x": X}), model.labels_)
    model.fit(X)
    assert model.n_features_in_ == 64


def test_one_cluster(pair):
    X, _ = pair
    model = fit(X, 1)
    np.testing.assert_array_equal(model.predict(X), 0)
    np.testing.assert_allclose(model.kernel_weights_, 0.5)
    assert not model.collapsed_


def test_few_landmarks_are_enough(pair):
    X, _ = pair
    agreement = clustering_accuracy(fit(X, n_components=60).labels_, fit(X, n_components=len(X)).labels_)
    assert agreement > 0.98


def test_starts_that_are_alike_count_once():
    a = np.repeat([0, 1], 50)
    nearly_a, b, c = a.copy(), np.tile([0, 1], 50), np.repeat([0, 1, 0], [25, 50, 25])
    nearly_a[0] = 1
    kept = different_starts([a, nearly_a, 1 - a, b, c], 2)
    assert [labels is other for labels, other in zip(kept, (a, b), strict=True)] == [True, True]


def test_several_starts_are_searched_and_the_lowest_wins(triple):
    X, _ = triple
    best = fit(X, 3)
    single = [fit(X, 3, n_init=1, random_state=seed).objective_ for seed in range(4)]
    assert best.objective_ <= min(single) * 1.01
    assert len({record.start for record in fit(X, 3, n_init=3, init="random").history_}) == 3


# Warnings ---------------------------------------------------------------------------------------------------------


def test_indefinite_kernels_are_clipped(pair):
    X, _ = pair
    K = rbf_kernel(X, gamma=1e-3)
    values, vectors = np.linalg.eigh(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())
    flipped = values * np.where(np.arange(len(X)) % 5, 1, -1)
    bad, good = (vectors * flipped) @ vectors.T, (vectors * np.maximum(flipped, 0)) @ vectors.T
    with pytest.warns(KernelWarning, match=r"'precomputed' is not positive semidefinite: \d+\.\d% of its spectrum"):
        clipped = fit(bad, kernels=["precomputed"], n_components=len(X))
    share = np.abs(flipped[flipped < 0]).sum() / np.abs(flipped).sum()
    assert clipped.kernel_map_.kernels[0].negative_share == pytest.approx(share, rel=1e-6)
    clean = fit(good, kernels=["precomputed"], n_components=len(X))
    np.testing.assert_array_equal(clipped.labels_, clean.labels_)
    assert clean.kernel_map_.kernels[0].negative_share == 0


def test_a_kernel_of_one_direction_is_pointed_out(pair):
    X, _ = pair
    rng = np.random.default_rng(0)
    views = {"x": X, "coin": rng.choice([-1.0, 1.0], size=(len(X), 1))}
    with pytest.warns(KernelWarning, match="'coin' has the largest weight, .* nearly all its variance is in one"):
        model = fit(views, kernels=[("x", "linear", "x"), ("coin", "linear", "coin")], C=1.0)
    assert model.kernel_ranks_[1] == pytest.approx(1)
    # Kernels that are all of one direction leave no doubt about the reason.
    fit(views["coin"] + rng.normal(size=(len(X), 1)), kernels=["linear"])


def test_kernels_in_their_own_units_are_ranked_and_pointed_out_too(pair):
    X, _ = pair
    model = fit(X, normalize=None)
    assert (model.kernel_ranks_ >= 1).all()
    coin = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(X), 1))
    views, kernels = {"x": X / 100, "coin": coin}, [("x", "linear", "x"), ("coin", "linear", "coin")]
    with pytest.warns(KernelWarning, match="'coin' has the largest weight, .* nearly all its variance is in one"):
        model = fit(views, kernels=kernels, C=1.0, normalize=None)
    assert model.kernel_ranks_[1] == pytest.approx(1)


def test_a_collapse_is_pointed_out(pair):
    X, _ = pair
    with pytest.warns(KernelWarning, match=r"no better, within tol=0.003, than where nothing is separated"):
        model = fit(X, C=1e-3)
    assert model.collapsed_
    assert model.objective_ == pytest.approx(1, abs=0.01)


def test_a_collapsed_start_is_not_chosen(pair):
    X, _ = pair
    # All rows in one cluster cost 0.2 then, less than any boundary does; the bound on sizes makes that a starved run.
    with pytest.warns(KernelWarning, match="nothing is separated"):
        model = fit(X, balance=0.8, min_cluster_fraction=0.0)
    assert model.collapsed_
    assert model.objective_ == pytest.approx(0.2, rel=0.01)
    assert not fit(X, balance=0.3).collapsed_


# Forms and sizes that ended in errors


@pytest.mark.parametrize("form", [sp.dok_array, sp.dok_matrix])
def test_a_dictionary_of_keys_is_a_table(pair, form):
    X, _ = pair
    model, expected = fit(form(X)), fit(sp.csr_array(X))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(form(X)), expected.predict(sp.csr_array(X)))


@pytest.mark.parametrize("rows", [np.ones((5, 2)), {"a": np.ones((5, 2))}], ids=["table", "views"])
def test_one_cluster_of_equal_rows_can_be_predicted(rows):
    with pytest.warns(KernelWarning, match="is constant on these rows"):
        model = MKC(1, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.predict(rows), np.zeros(5))
    assert model.decision_function(rows).shape == (5, 1)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_kernels_of_very_different_sizes_need_no_normalisation(scale):
    X, y = digits(0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)  # weights follow the sizes, whatever a kernel says
        model = MKC(normalize=None, random_state=0).fit(X * scale)
    assert clustering_accuracy(y, model.labels_) == 1
    assert model.converged_


@pytest.mark.parametrize("balance", [1e3, 1e6, 1e12])
def test_a_very_large_balance_is_no_bound_at_all(balance):
    X, y = digits(0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)  # that a bias alone would cost nothing
        large, model = (MKC(balance=value, random_state=0).fit(X) for value in (100.0, balance))
    assert clustering_accuracy(y, model.labels_) == 1
    assert model.objective_ == pytest.approx(large.objective_, rel=1e-6)
