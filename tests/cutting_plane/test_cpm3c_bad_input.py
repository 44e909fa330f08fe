"""CPM3C on data and parameters that are wrong or strange: a clear error, or the documented result."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from widegap import CPM3C
from widegap.exceptions import InvalidDataError
from widegap.metrics import clustering_accuracy
from widegap.rows import shards


def blobs(n=60, d=4, k=2, seed=0):
    """Groups of normal rows around distant centres, and their numbers."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % k
    return rng.normal(size=(n, d)) + 10 * rng.normal(size=(k, d))[groups], groups


def spoiled(value, at=(3, 1)):
    X, _ = blobs()
    X[at] = value
    return X


def refuses(model, X, error, match, **fit_parameters):
    """Fit raises, and leaves nothing behind that looks fitted."""
    with pytest.raises(error, match=match):
        model.fit(X, **fit_parameters)
    with pytest.raises(NotFittedError):
        check_is_fitted(model, "labels_")


# Data


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize(
    ("value", "match"),
    [(np.nan, "Input X contains NaN"), (np.inf, "contains infinity"), (-np.inf, "contains infinity")],
)
def test_nan_and_infinity_are_refused(value, match, n_clusters, convert):
    refuses(CPM3C(n_clusters), convert(spoiled(value)), ValueError, match)


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_nan_inside_shards_is_refused(value, suffix, n_clusters, tmp_path):
    X = spoiled(value)
    np.save(tmp_path / "a.npy", X[:30])
    np.savez(tmp_path / "a.npz", X=X[:30])
    np.save(tmp_path / "b.npy", X[30:])
    rows = shards([tmp_path / f"a.{suffix}", tmp_path / "b.npy"])
    refuses(CPM3C(n_clusters), rows, InvalidDataError, "contain NaN, infinity, or values too large to square")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_inside_shards_is_refused_at_predict(value, tmp_path):
    np.save(tmp_path / "a.npy", spoiled(value))
    model = CPM3C(random_state=0).fit(blobs()[0])
    with pytest.raises(InvalidDataError, match="X contains NaN, infinity, or values too large for its dtype"):
        model.predict(shards([tmp_path / "a.npy"]))


def test_nan_inside_shards_is_refused_with_a_kernel(tmp_path):
    np.save(tmp_path / "a.npy", spoiled(np.nan))
    refuses(CPM3C(kernel="rbf"), shards([tmp_path / "a.npy"]), ValueError, "NaN")


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_values_too_large_to_square_are_refused():
    refuses(CPM3C(), blobs()[0] * 1e200, InvalidDataError, "squares of it overflow in float64, .* divide all")


@pytest.mark.parametrize("X", [[["a", "b"], ["c", "d"]], np.array([["x", 1.0], ["y", 2.0]], dtype=object)])
def test_strings_are_refused(X):
    refuses(CPM3C(), X, ValueError, "Column 0 of X has text .*encode the table first")


def test_complex_data_are_refused():
    refuses(CPM3C(), blobs()[0] + 1j, ValueError, "Complex data not supported")


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.zeros(5), "Expected 2D array, got 1D array instead"),
        (np.zeros((5, 2, 2)), "Found array with dim 3"),
        (3.0, "Expected 2D array, got scalar array instead"),
        (np.empty((0, 3)), r"Found array with 0 sample\(s\)"),
        (np.empty((5, 0)), r"Found array with 0 feature\(s\)"),
        (sp.csr_array((0, 3)), r"Found array with 0 sample\(s\)"),
    ],
)
def test_wrong_shapes_are_refused(X, match):
    refuses(CPM3C(), X, ValueError, match)


def test_empty_shards_are_refused(tmp_path):
    np.save(tmp_path / "empty.npy", np.empty((0, 4)))
    rows = shards([tmp_path / "empty.npy"])
    refuses(CPM3C(), rows, InvalidDataError, "X has 0 rows; at least one is needed")
    with pytest.raises(InvalidDataError, match="X has 0 rows; at least one is needed"):
        CPM3C().fit(blobs()[0]).predict(rows)


@pytest.mark.parametrize(("n_rows", "n_clusters"), [(1, 2), (2, 3), (4, 10)])
def test_fewer_rows_than_clusters_are_refused(n_rows, n_clusters):
    match = f"n_samples={n_rows} should be >= n_clusters={n_clusters}: every cluster needs a row; lower n_clusters"
    refuses(CPM3C(n_clusters), blobs(n_rows)[0], InvalidDataError, match)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_equal_rows_are_refused(n_clusters, convert, value):
    match = f"All 50 rows are equal, so they cannot be separated into {n_clusters} clusters; use fewer clusters"
    refuses(CPM3C(n_clusters), convert(np.full((50, 3), value)), InvalidDataError, match)


@pytest.mark.parametrize("n_rows", [50, 100_000])
def test_equal_rows_far_from_the_origin_are_refused(n_rows):
    refuses(CPM3C(), np.full((n_rows, 3), 1e6 / 3), InvalidDataError, f"All {n_rows} rows are equal")


@pytest.mark.parametrize(
    ("parameters", "match"), [({}, "equal; give gamma"), ({"gamma": 1.0}, "All 50 rows are equal")]
)
def test_equal_rows_are_refused_with_a_kernel(parameters, match):
    refuses(CPM3C(kernel="rbf", **parameters), np.ones((50, 3)), InvalidDataError, match)


def test_equal_rows_form_one_cluster():
    assert not CPM3C(1).fit(np.ones((5, 2))).labels_.any()


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_two_distinct_rows_fill_three_clusters():
    model = CPM3C(3, random_state=0).fit(np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0))
    assert np.bincount(model.labels_, minlength=3).min() == 1
    assert model.starved_


def test_one_column_works():
    groups = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 1)) + 10 * groups[:, None]
    model = CPM3C(random_state=0).fit(X)
    assert clustering_accuracy(groups, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_one_column_and_three_clusters_need_a_bias():
    X = np.concatenate([np.linspace(c, c + 1, 30) for c in (0, 10, 20)])[:, None]
    groups = np.repeat([0, 1, 2], 30)
    biased = CPM3C(3, C=1.0, order="linearize_first", balance=100.0, random_state=0).fit(X)
    assert clustering_accuracy(groups, biased.labels_) == 1 and not biased.starved_
    # Scores that all pass through the mean cannot put a cluster between two others.
    assert CPM3C(3, C=1.0, order="linearize_first", random_state=0).fit(X).starved_


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_huge_outlier_does_not_become_a_cluster_of_its_own(n_clusters):
    """The bound keeps every cluster at 0.3 n / k rows; without it the outlier stays alone."""
    X, _ = blobs(n=90, k=n_clusters)
    X[5] *= 1000
    bounded = CPM3C(n_clusters, random_state=0).fit(X)
    assert np.bincount(bounded.labels_, minlength=n_clusters).min() == 27 // n_clusters
    assert bounded.starved_
    free = CPM3C(n_clusters, min_cluster_fraction=0.0, random_state=0).fit(X)
    assert np.sum(free.labels_ == free.labels_[5]) == 1


def test_constant_columns_do_not_hide_equal_rows():
    refuses(CPM3C(), np.tile([1.0, 1e9, -3.0], (20, 1)), InvalidDataError, "All 20 rows are equal")


# Parameters


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_clusters": 0}, r"'n_clusters' .* must be an int in the range \[1, inf\). Got 0"),
        ({"n_clusters": -2}, r"'n_clusters' .* Got -2"),
        ({"n_clusters": 2.0}, r"'n_clusters' .* must be an int"),
        ({"C": 0}, r"'C' .* a str among \{'auto'\} or a float in the range \[1e-12, 1000000000000.0\]. Got 0"),
        ({"C": -1.0}, r"'C' .* Got -1.0"),
        ({"C": np.nan}, r"'C' .* Got nan"),
        ({"C": "scale"}, r"'C' .* Got 'scale'"),
        ({"balance": -0.1}, r"'balance' .* a float in the range \[0.0, inf\). Got -0.1"),
        ({"balance": np.inf}, r"'balance' .* Got inf"),
        ({"min_cluster_fraction": -0.1}, r"'min_cluster_fraction' .* in the range \[0.0, 1.0\]. Got -0.1"),
        ({"min_cluster_fraction": 1.1}, r"'min_cluster_fraction' .* in the range \[0.0, 1.0\]. Got 1.1"),
        ({"min_cluster_fraction": np.nan}, r"'min_cluster_fraction' .* Got nan"),
        ({"order": "cuts"}, r"'order' .* must be a str among .*'linearize_first'.* Got 'cuts'"),
        ({"loss": "hinge"}, r"'loss' .* must be a str among .*'sum'.* Got 'hinge'"),
        ({"init": "kmeans"}, r"'init' .* must be a str among .*'k-means'.* or an array-like. Got 'kmeans'"),
        ({"init": 5}, r"'init' .* Got 5"),
        ({"kernel": "gauss"}, r"'kernel' .* must be a str among .*'rbf'.* or a callable. Got 'gauss'"),
        ({"gamma": 0}, r"'gamma' .* Got 0"),
        ({"gamma": "scale"}, r"'gamma' .* a str among \{'median', 'diameter'\}.* Got 'scale'"),
        ({"kernel_params": 3}, r"'kernel_params' .* must be an instance of 'dict' or None"),
        ({"n_components": 0}, r"'n_components' .* Got 0"),
        ({"n_init": 0}, r"'n_init' .* Got 0"),
        ({"n_init": "many"}, r"'n_init' .* Got 'many'"),
        ({"tol": 0}, r"'tol' .* a float in the range \(0.0, inf\). Got 0"),
        ({"tol": np.nan}, r"'tol' .* Got nan"),
        ({"max_iter": 0}, r"'max_iter' .* Got 0"),
        ({"random_state": "seed"}, r"'random_state' .* Got 'seed'"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning; use None for the default, -1 for all cores or a positive number"),
        ({"n_jobs": 1.5}, r"'n_jobs' .* must be an instance of 'int' or None"),
        ({"verbose": -1}, r"'verbose' .* Got -1"),
        ({"callback": 3}, r"'callback' .* must be a callable or None"),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_parameters_out_of_range_are_refused(parameters, match):
    refuses(CPM3C(**parameters), blobs()[0], ValueError, match)


def test_fewer_jobs_than_minus_all_cores_means_one():
    assert CPM3C(n_jobs=-1000, random_state=0).fit(blobs()[0]).converged_


def test_zero_jobs_are_refused_at_predict():
    model = CPM3C(random_state=0).fit(blobs()[0]).set_params(n_jobs=0)
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning"):
        model.predict(blobs()[0])


@pytest.mark.parametrize(
    ("init", "match"),
    [
        ([0, 1], r"init has shape \(2,\), X has 60 rows; starting labels need one entry per row"),
        (np.zeros((60, 1), int), r"init has shape \(60, 1\), X has 60 rows"),
        (
            np.full(60, 2),
            "init holds values from 2 to 2; starting labels must be integers from 0 to n_clusters - 1 = 1",
        ),
        (np.full(60, -1), "init holds values from -1 to -1; starting labels must be integers"),
        (np.zeros(60), "init has dtype float64; starting labels must be integers from 0 to n_clusters - 1 = 1"),
        (np.full(60, np.nan), "init has dtype float64"),
        (["a"] * 60, "init has dtype <U1; starting labels must be integers"),
        ([None] * 60, "init has dtype object; starting labels must be integers"),
    ],
    ids=["length", "shape", "too large", "negative", "float", "nan", "str", "None"],
)
def test_starting_labels_that_do_not_fit_are_refused(init, match):
    refuses(CPM3C(init=init), blobs()[0], InvalidDataError, match)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_starting_labels_may_leave_clusters_empty(n_clusters):
    X, groups = blobs(k=n_clusters)
    model = CPM3C(n_clusters, init=np.zeros(60, int)).fit(X)
    assert np.bincount(model.labels_, minlength=n_clusters).min() >= int(0.3 * 60 / n_clusters)


def test_kernel_function_of_wrong_shape_is_refused():
    match = re.escape("The kernel function returned shape (3,) for 60 and 60 rows; it must return one value per pair")
    refuses(CPM3C(kernel=lambda A, B: np.ones(3)), blobs()[0], InvalidDataError, match)


def test_kernel_function_with_nan_is_refused():
    def nan_kernel(A, B):
        return np.full((len(A), len(B)), np.nan)

    refuses(CPM3C(kernel=nan_kernel), blobs()[0], InvalidDataError, "gives NaN or infinity on these rows")


@pytest.mark.parametrize(
    ("kernel", "match"),
    [("cosine", "maps all 20 rows to one point, .* change the kernel"), ("rbf", "give gamma a number")],
)
def test_kernel_that_sees_nothing_is_refused(kernel, match):
    refuses(CPM3C(kernel=kernel), np.zeros((20, 3)), InvalidDataError, match)


def test_kernel_parameters_the_kernel_does_not_have_are_refused():
    refuses(
        CPM3C(kernel="rbf", kernel_params={"degree": 3}),
        blobs()[0],
        InvalidDataError,
        "'degree', but kernel 'rbf' takes none",
    )


def test_a_single_landmark_is_enough():
    X, groups = blobs()
    assert CPM3C(kernel="rbf", n_components=1, random_state=0).fit(X).coef_.shape == (2, 1)


# Labels and weights


@pytest.mark.parametrize(
    "y", [None, np.arange(60) % 3, ["a"] * 60, np.full(60, -1), [-1, 1] * 30, np.linspace(0, 1, 60)]
)
def test_other_y_are_ignored(y):
    X, _ = blobs()
    np.testing.assert_array_equal(CPM3C(random_state=0).fit(X, y).labels_, CPM3C(random_state=0).fit(X).labels_)


# predict


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_predict_before_fit_is_refused(method):
    with pytest.raises(NotFittedError, match="This CPM3C instance is not fitted yet"):
        getattr(CPM3C(), method)(blobs()[0])


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.full((3, 4), "a"), "Column 0 of X has text .*encode the table first"),
        (np.zeros((3, 4), complex), "Complex data not supported"),
        (np.zeros((3, 2)), "X has 2 features, but CPM3C is expecting 4 features as input"),
        (np.zeros((3, 9)), "X has 9 features, but CPM3C is expecting 4 features as input"),
        (sp.csr_array((3, 2)), "X has 2 features, but CPM3C is expecting 4 features as input"),
        (np.zeros(4), "Expected 2D array, got 1D array instead"),
        (np.zeros((3, 4, 1)), "Found array with dim 3"),
        (np.full((3, 4), np.nan), "Input X contains NaN"),
        (np.full((3, 4), np.inf), "contains infinity"),
        (np.zeros((0, 4)), r"Found array with 0 sample\(s\)"),
    ],
    ids=["str", "complex", "few", "many", "few sparse", "1-D", "3-D", "nan", "inf", "empty"],
)
def test_rows_that_do_not_fit_are_refused_at_predict(X, match, method):
    model = CPM3C(random_state=0).fit(blobs()[0])
    with pytest.raises(ValueError, match=match):
        getattr(model, method)(X)


def test_shards_of_another_width_are_refused_at_predict(tmp_path):
    np.save(tmp_path / "narrow.npy", np.zeros((5, 3)))
    model = CPM3C(random_state=0).fit(blobs()[0])
    with pytest.raises(InvalidDataError, match="X has 3 features, but CPM3C was fitted with 4; pass the same columns"):
        model.predict(shards([tmp_path / "narrow.npy"]))
