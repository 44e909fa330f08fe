"""Columns that are large and constant, or all rows far from the origin, change nothing: no digits are lost to them."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

from widegap import CPM3C, GMMC, MKC, IterSVR, MaxMarginClustering, persistence
from widegap.features._kernel_maps import fit_kernel_map
from widegap.features._kernels import WIDTH_RULES, median_gamma
from widegap.rows._sources import row_blocks

METHODS = [
    MaxMarginClustering(2, random_state=0),
    MaxMarginClustering(2, kernel="linear", random_state=0),
    MKC(2, random_state=0),
    CPM3C(2, kernel="rbf", random_state=0),
    IterSVR(2, random_state=0),
    IterSVR(2, gamma="diameter", random_state=0),
    GMMC(2),
]


def constant(X):
    return np.column_stack([X, np.full(len(X), 1e9)])


def time_stamp(X):
    return np.column_stack([np.full(len(X), 1.7e9 + 0.123), X])


def offset(X):
    return X + 1e8


every_method = pytest.mark.parametrize("model", METHODS, ids=lambda model: f"{type(model).__name__}")


def fit(model, X):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Kernel 'poly'")  # whose values do depend on the origin
        return model.fit(X)


@every_method
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("moved", [constant, time_stamp, offset])
def test_groups_are_found_far_from_zero(model, form, moved):
    X, y = make_blobs(120, 4, centers=2, random_state=3)
    model = fit(model, form(moved(X)))
    assert adjusted_rand_score(y, model.labels_) == 1
    new, groups = make_blobs(300, 4, centers=2, random_state=3)
    assert adjusted_rand_score(groups, model.predict(form(moved(new)))) == 1


@every_method
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_large_constant_column_in_float32(model, form):
    X, y = make_blobs(120, 4, centers=2, random_state=3)
    model = fit(model, form(constant(X).astype(np.float32)))
    assert adjusted_rand_score(y, model.labels_) == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_smoothing_over_neighbours_is_the_same_far_from_zero(form):
    X = np.round(make_blobs(1200, 6, centers=3, cluster_std=3.0, random_state=0)[0] * 64) / 64
    near, far = (MaxMarginClustering(3, search="moves", random_state=0).fit(form(Y)) for Y in (X, X + 2.0**26))
    assert near.smoothing_ == far.smoothing_ == 2
    assert adjusted_rand_score(near.labels_, far.labels_) > 0.99


@pytest.mark.parametrize("rule", WIDTH_RULES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_widths_do_not_depend_on_the_origin(rule, form, dtype):
    X = np.round(np.random.default_rng(0).normal(size=(60, 3)) * 64) / 64
    gamma = WIDTH_RULES[rule].gamma
    expected = gamma(X, np.random.default_rng(0))
    far = 2.0**10 if dtype == np.float32 else 2.0**27
    for moved in (X + far, np.column_stack([X, np.full(60, 1e9)])):
        assert gamma(form(moved.astype(dtype)), np.random.default_rng(0)) == pytest.approx(expected, rel=1e-9)


def test_rows_that_differ_by_little_beside_one_far_away_have_a_width():
    X = np.vstack([np.arange(50.0)[:, None] / 50, [[1e9]]])
    assert 1 / np.sqrt(median_gamma(X)) == pytest.approx(1.5 * np.median(np.diff(X[:35:16, 0])), rel=0.2)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("n_columns", [3, 90])
def test_features_have_the_kernel_of_rows_far_from_zero(kernel, form, n_columns):
    X = np.round(np.random.default_rng(0).normal(size=(60, n_columns)) * 64) / 64
    blocks = row_blocks(form(X + 2.0**27))
    rng = np.random.default_rng(0)
    found = fit_kernel_map(blocks, kernel, gamma=0.1, params=None, n_components=60, rng=rng).transform_blocks(blocks)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    expected = np.exp(-0.1 * squared) if kernel == "rbf" else -squared / 2
    found = found @ found.T
    for K in (found, expected):  # about the mean, on which no margin depends
        K -= K.mean(axis=0)
        K -= K.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


class TestCommandLine:
    @pytest.mark.parametrize("scale", ["auto", "standard", "none"])
    @pytest.mark.parametrize("column", ["stamp", "account"])
    def test_time_stamps_and_account_numbers(self, tmp_path, scale, column):
        from widegap.cli._app import app

        X, y = make_blobs(300, 4, centers=2, random_state=3)
        frame = pd.DataFrame(X, columns=list("abcd"))
        frame[column] = 1_700_000_000 if column == "stamp" else [str(12345678901234567890 + i) for i in range(300)]
        frame.to_csv(tmp_path / "in.csv", index=False)
        arguments = [
            str(tmp_path / "in.csv"),
            "-k",
            "2",
            "--seed",
            "0",
            "--scale",
            scale,
            "-o",
            str(tmp_path / "o.csv"),
        ]
        answer = CliRunner().invoke(app, ["cluster", *arguments])
        assert answer.exit_code == 0, answer.output
        assert adjusted_rand_score(y, pd.read_csv(tmp_path / "o.csv")["cluster"]) == 1


def test_a_model_file_keeps_the_offsets(tmp_path):
    X, _ = make_blobs(120, 4, centers=2, random_state=3)
    model = MaxMarginClustering(2, random_state=0).fit(X + 1e8)
    persistence.save(model, tmp_path / "model")
    found, _ = persistence.load(tmp_path / "model")
    np.testing.assert_allclose(found.decision_function(X + 1e8), model.decision_function(X + 1e8), rtol=1e-9)
    np.testing.assert_array_equal(found.kernel_map_.offsets, model.kernel_map_.offsets)
