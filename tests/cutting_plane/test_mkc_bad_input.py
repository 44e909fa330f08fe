"""What MKC refuses, and with what words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import FunctionTransformer

from widegap import MKC
from widegap.exceptions import InvalidDataError

X = np.random.default_rng(0).normal(size=(30, 4))
K = X @ X.T


def fit(data, **parameters):
    return MKC(**{"random_state": 0, **parameters}).fit(data)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([], r"kernels is empty; list at least one kernel: a name \('linear', .*, \(name, parameters\)"),
        (["gauss"], "kernels holds 'gauss', which is not a kernel; use a name"),
        ([3], "kernels holds 3, which is not a kernel"),
        ([("rbf", 0.1)], r"kernels holds \('rbf', 0.1\), which is not a kernel"),
        ([("rbf", {"sigma": 1})], "but kernel 'rbf' takes 'gamma' and 'width'; leave out sigma"),
        ([("linear", {"gamma": 1})], "but kernel 'linear' takes no parameters; leave out gamma"),
        ([("rbf", {"gamma": 1, "width": 1})], "give gamma or width, not both, as a positive number"),
        ([("poly", {"gamma": -1})], "give gamma or width, not both, as a positive number"),
        ([("rbf", {"width": np.inf})], "give gamma or width, not both, as a positive number"),
        ([("a", "rbf", [0]), ("a", "linear", [1])], "uses the name 'a' 2 times; give every kernel its own name"),
        ([("linear", "rbf", [0]), "linear", ("b", "linear", [0]), ("b", "rbf", [0])], "uses the name 'b' 2 times"),
        ([(0, "rbf", [0])], "a triple that begins with 0; it must begin with its own name"),
        ([("a", "rbf", [4])], r"'a' asks for the columns array\(\[4\]\), but X has 4; list column numbers from 0 to 3"),
        ([("a", "rbf", [0.5])], r"'a' asks for the columns array\(\[0.5\]\), but X has 4"),
        ([("a", "rbf", [True, False])], "'a' asks for the columns .*, but X has 4"),
        ([("a", "rbf", slice(9, 12))], r"'a' asks for the columns slice\(9, 12, None\), an empty list"),
        ([("a", "rbf", ["size"])], "'a' asks for column 'size', but X has no column names; use column numbers"),
        ([("a", "rbf", "text")], "'a' asks for column 'text', .* Views by name need X to be a dict"),
    ],
)
def test_kernels(kernels, message):
    with pytest.raises(InvalidDataError, match=message):
        fit(X, kernels=kernels)


def test_names_of_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(InvalidDataError, match="asks for column 'e', but X has the columns 'a', 'b', 'c', 'd'"):
        fit(frame, kernels=[("k", "rbf", ["a", "e"])])


@pytest.mark.parametrize(
    ("views", "kernels", "message"),
    [
        ({}, ["linear"], "X is a dict without views; pass at least one table of rows"),
        ({"a": X, "b": X[:20]}, ["linear"], "different numbers of rows: 'a' 30, 'b' 20; row i must be the same sample"),
        ({"a": K, "b": K[:20, :20]}, ["precomputed"], "different numbers of rows: 'a' 30, 'b' 20"),
        ({"a": X}, [("k", "rbf", "b")], "Kernel 'k' looks at the view 'b', but X holds 'a'; name one of them"),
        ({"a": X}, [("k", "rbf", 0)], "Kernel 'k' looks at the view 0, but X holds 'a'"),
        (
            {"a": K, "b": K[:, :20]},
            ["precomputed"],
            r"'b:precomputed' is precomputed, but its matrix has shape \(30, 20",
        ),
        ({"a": X + np.triu(K)[:, :4], "b": np.triu(K)}, [("k", "precomputed", "b")], "Kernel 'k' is not symmetric"),
    ],
)
def test_views(views, kernels, message):
    with pytest.raises(InvalidDataError, match=message):
        fit(views, kernels=kernels)


def test_a_precomputed_kernel_must_be_square():
    with pytest.raises(InvalidDataError, match=r"shape \(30, 4\); in fit it must be square, with a row and a column"):
        fit(X, kernels=["precomputed"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(bad):
    spoilt = K.copy()
    spoilt[3, 4] = spoilt[4, 3] = bad
    with pytest.raises(ValueError, match="Input view 'b' contains (NaN|infinity)"):
        fit({"a": K, "b": spoilt}, kernels=["precomputed"])
    with pytest.raises(InvalidDataError, match="Kernel 'mine' gives NaN or infinity on these rows; rescale"):
        fit(X, kernels=["linear", ("mine", lambda A, B: np.full((len(A), len(B)), bad), [0])])
    with pytest.raises(ValueError, match="Input kernel 'own' contains (NaN|infinity)"):
        fit(X, kernels=[("own", FunctionTransformer(lambda A: A + bad), [0, 1])])


def test_a_function_must_return_one_value_a_pair():
    with pytest.raises(InvalidDataError, match=r"The kernel function returned shape \(30,\) for 30 and 30 rows"):
        fit(X, kernels=[lambda A, B: A[:, 0]])


def test_rows_that_are_all_equal():
    with pytest.raises(InvalidDataError, match="All 4 kernels are constant on the 30 rows, .* into 2 clusters"):
        fit(np.ones((30, 2)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernels": "linear"}, "'kernels' parameter of MKC must be an instance of 'list' or an instance of 'tuple'"),
        ({"norm": 1.0}, r"'norm' parameter of MKC must be a float in the range \(1.0, 1000000.0\]"),
        ({"normalize": "max"}, "'normalize' parameter of MKC"),
        ({"C": 0}, "'C' parameter of MKC"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(X, **parameters)


def test_new_rows_must_look_like_the_fitted_ones():
    table, views = fit(X), fit({"a": X, "K": K}, kernels=[("x", "rbf", "a"), ("k", "precomputed", "K")])
    with pytest.raises(InvalidDataError, match="MKC was fitted on one table; pass new rows in the same form"):
        table.predict({"a": X})
    with pytest.raises(InvalidDataError, match="MKC was fitted on a dict of views; pass new rows in the same form"):
        views.predict(X)
    with pytest.raises(InvalidDataError, match="'k' was fitted on the view 'K', but X holds the views 'a'; pass all"):
        views.predict({"a": X})
    with pytest.raises(
        InvalidDataError, match="'K' has 7 columns, .* of a precomputed kernel one for every row of fit"
    ):
        views.predict({"a": X, "K": K[:, :7]})
    with pytest.raises(InvalidDataError, match="different numbers of rows: 'a' 30, 'K' 5"):
        views.predict({"a": X, "K": K[:5]})
    with pytest.raises(ValueError, match="X has 3 features, but MKC is expecting 4 features"):
        table.predict(X[:, :3])
