"""Labels of a few rows without compiled code: certain up to the bound of rounding, and at most for 64 rows."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import widegap.rows.loops._passes  # noqa: F401 - to be taken away
from _representations import table
from widegap.rows._blocks import CsrBlock, DenseBlock, Scorer
from widegap.rows._few_rows import certain_labels, largest

BOUND = 36  # 4 (d + 8) for one column, in units of eps
FORMS = {"dense": DenseBlock, "csr": lambda X, start: CsrBlock(sp.csr_array(X), start)}


def found(X, W, b, mean, form, start=0):
    scorer = Scorer(*(np.array(part, np.float64) for part in (W, b, mean)))
    return certain_labels(FORMS[form](X, start), scorer)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("steps", [BOUND, BOUND + 1])
def test_a_lead_of_the_bound_is_not_certain_and_a_larger_one_is(form, steps, dtype):
    X, eps = np.ones((1, 1), dtype), float(np.finfo(dtype).eps)
    labels = found(X, [[0.0], [0.0]], [1 - steps * eps, 1.0], [0.0], form)
    if steps == BOUND:
        assert labels is None
    else:
        assert_array_equal(labels, [1])
        assert labels.dtype == np.int32


@pytest.mark.parametrize("form", FORMS)
def test_the_bound_grows_with_rows_weights_and_for_sparse_rows_with_the_mean(form):
    eps = float(np.finfo(np.float64).eps)
    # Both scores have the constant 0 and the weight 1; the first leads by 100 steps of eps.
    lead = [100 * eps, 0.0]
    assert found(np.full((1, 1), 2.0), [[1.0], [1.0]], lead, [0.0], form)[0] == 0  # 72 steps of eps
    assert found(np.full((1, 1), 4.0), [[1.0], [1.0]], lead, [0.0], form) is None  # 144
    assert found(np.full((1, 1), 2.0), [[2.0], [2.0]], lead, [0.0], form) is None
    near = found(np.full((1, 1), 4.0), [[1.0], [1.0]], lead, [4.0], form)  # the centred row is 0, the sparse one is not
    assert near is None if form == "csr" else near[0] == 0
    far = found(np.zeros((1, 1)), [[1.0], [1.0]], lead, [4.0], form)
    assert far is None
    one_is_unsure = found(np.array([[2.0], [4.0]]), [[1.0], [1.0]], lead, [0.0], form)
    assert one_is_unsure is None


@pytest.mark.parametrize("form", FORMS)
def test_up_to_64_rows_are_few(form):
    X = table(65, 3) + 1
    W, b, mean = np.random.default_rng(0).normal(size=(3, 3)), np.arange(3.0), X.mean(axis=0)
    expected = ((X - mean) @ W.T + b).argmax(axis=1)
    assert_array_equal(found(X[:64], W, b, mean, form, start=100), expected[:64])
    assert found(X, W, b, mean, form) is None
    X[3, 1] = np.inf
    assert found(X[:9], W, b, mean, form) is None
    assert_array_equal(largest(np.array([[1.0, 2.0, 2.0], [3.0, 1.0, 0.0]])), [1, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_scores_without_a_compiler_are_those_of_the_loops(form, dtype, monkeypatch):
    X = (table(20, 4) + 3).astype(dtype)
    rng = np.random.default_rng(1)
    scorer = Scorer(rng.normal(size=(3, 4)), rng.normal(size=3), X.mean(axis=0, dtype=np.float64))
    block = FORMS[form](X, 0)
    expected = (X.astype(np.float64) - scorer.mean) @ scorer.W.T + scorer.b
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    assert_allclose(block.scores(scorer), expected, atol=tolerance)
    monkeypatch.delattr("widegap.rows.loops._passes")
    monkeypatch.setitem(sys.modules, "widegap.rows.loops._passes", None)
    plain = block.scores(scorer)
    assert plain.dtype == dtype
    assert_allclose(plain, expected, atol=tolerance)
