"""Codes of columns, axes of mixed tables, and the share of a column that clusters explain, by plain computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.metrics import r2_score

from widegap.features._coded_columns import FEW_LEVELS, KNOTS, CodedColumns
from widegap.features._column_groups import ColumnGroup
from widegap.features._explained_columns import column_shares
from widegap.features._famd import MixedAxes, flags_of, mixed_axes, n_shared_axes, scaled_groups

GROUPS = [ColumnGroup(0, 1), ColumnGroup(1, 4, True), ColumnGroup(4, 5, True), ColumnGroup(5, 6)]


def table(seed, n=60):
    """A number, a category of three levels, one of two, and a number of few levels."""
    rng = np.random.default_rng(seed)
    flags = np.eye(3)[np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]]
    return np.column_stack([rng.normal(size=n), flags, np.r_[0, 1, rng.random(n - 2) < 0.3], rng.integers(0, 5, n)])


def test_codes_are_shares_of_one():
    X = table(0)
    coded = CodedColumns.fit(X, GROUPS)
    codes = coded.transform(X)
    assert codes.shape == (60, coded.n_codes) and coded.n_codes == KNOTS + 3 + 2 + 5
    assert (codes >= 0).all()
    np.testing.assert_allclose(np.add.reduceat(codes, coded.ends[:-1], axis=1), 1)


def test_few_levels_have_a_code_each():
    X = np.arange(FEW_LEVELS, dtype=float)[:, None] ** 2
    np.testing.assert_array_equal(CodedColumns.fit(X, [ColumnGroup(0, 1)]).transform(X), np.eye(FEW_LEVELS))


def test_a_number_between_knots_is_shared_and_beyond_the_ends_is_the_end():
    X = np.arange(15.0)[:, None]  # knots 0, 2, ..., 14
    found = CodedColumns.fit(X, [ColumnGroup(0, 1)]).transform(np.array([[2.5], [-3.0], [99.0]]))
    np.testing.assert_allclose(found[0, 1:3], [0.75, 0.25])
    assert found[1, 0] == found[2, -1] == 1


def test_a_gap_in_a_category_has_no_code():
    X = table(1)
    coded = CodedColumns.fit(X, GROUPS)
    X[3, 1:4] = 0
    assert not coded.transform(X)[3, KNOTS : KNOTS + 3].any()


@given(st.integers(0, 1000), st.floats(0.1, 50), st.floats(-100, 100))
def test_codes_ignore_units_and_weights_multiply_them(seed, unit, zero):
    X = table(seed)
    other = X * [unit, 2, 2, 2, 3, unit] + [zero, 0, 0, 0, 0, zero]
    codes = CodedColumns.fit(X, GROUPS).transform(X)
    np.testing.assert_allclose(CodedColumns.fit(other, GROUPS).transform(other), codes, atol=1e-7)
    halved = [ColumnGroup(g.first, g.stop, g.is_category, 0.5) for g in GROUPS]
    np.testing.assert_allclose(CodedColumns.fit(X, halved).transform(X), codes / 2)


def test_scores_are_those_of_the_codes():
    X, rng = table(2), np.random.default_rng(0)
    coded = CodedColumns.fit(X, GROUPS)
    W, b = rng.normal(size=(4, coded.n_codes)), rng.normal(size=4)
    np.testing.assert_allclose(coded.folded(W, b)(X), coded.transform(X) @ W.T + b)


def test_axes_are_principal_components_of_the_scaled_columns():
    X = table(3)
    values = np.hstack(scaled_groups(X, GROUPS))
    found, expected = mixed_axes(X, GROUPS), PCA().fit(values)
    variances = expected.explained_variance_ * (len(X) - 1) / len(X)
    np.testing.assert_allclose(found.eigenvalues[: len(variances)], variances, atol=1e-9)
    np.testing.assert_allclose(np.abs(found.coordinates[:, :2]), np.abs(expected.transform(values)[:, :2]), atol=1e-8)


def test_every_column_has_a_variance_of_one_along_its_own_axes():
    X = table(4)
    number, three, two, few = (np.linalg.eigvalsh(np.cov(block.T, bias=True)) if block.shape[1] > 1 else [block.var()]
                               for block in scaled_groups(X, GROUPS))  # fmt: skip
    assert number[0] == pytest.approx(1) and few[0] == pytest.approx(1)
    np.testing.assert_allclose(three[1:], 1)
    np.testing.assert_allclose(two[-1], 1)


def test_independent_columns_share_no_axis_and_a_common_cause_is_one():
    rng = np.random.default_rng(0)
    groups = [ColumnGroup(j, j + 1) for j in range(8)]
    noise = [n_shared_axes(rng.normal(size=(200, 8)), groups, rng) for _ in range(20)]
    assert np.mean(np.array(noise) > 0) <= 0.25  # 5 % are expected; 4 of 20 have a chance of 1 in 60
    cause = rng.normal(size=(200, 1))
    assert n_shared_axes(rng.normal(size=(200, 8)) + cause, groups, rng) == 1


@given(st.integers(0, 1000))
def test_shares_are_adjusted_r2(seed):
    rng = np.random.default_rng(seed)
    X, labels = table(seed), rng.integers(0, 3, 60).astype(np.int32)
    labels[:3] = [0, 1, 2]
    means = np.vstack([X[labels == p].mean(axis=0) for p in range(3)])[labels]
    for group, found in zip(GROUPS, column_shares(X, GROUPS, labels, 3), strict=True):
        at = group.columns
        r2 = r2_score(X[:, at], means[:, at], multioutput="variance_weighted")
        assert found == pytest.approx(max(0, 1 - (1 - r2) * 59 / 57), abs=1e-9)


def test_clusters_that_are_a_category_have_its_whole_share():
    X = table(5)
    found = column_shares(X, GROUPS, X[:, 1:4].argmax(axis=1).astype(np.int32), 3)
    assert found[1] == pytest.approx(1) and found[0] < 0.3


@pytest.mark.parametrize(("n", "n_codes"), [(2, 2), (FEW_LEVELS, 12), (FEW_LEVELS + 1, KNOTS)])
def test_numbers_of_up_to_twelve_levels_have_a_code_each(n, n_codes):
    X = np.column_stack([np.arange(float(n)), np.full(n, 3.0)])
    coded = CodedColumns.fit(X, [ColumnGroup(0, 1), ColumnGroup(1, 2)])  # a single value has none
    assert coded.ends == [0, n_codes] and coded.n_codes == n_codes
    assert (CodedColumns.fit(X[:, :1], [ColumnGroup(0, 1, True)]).n_codes) == n  # of a category all levels


def test_numbers_of_a_group_share_its_weight_and_flags_that_were_never_raised_stay_down():
    X = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 4.0, 0.0], [1.0, 0.0, 4.0, 0.0]])
    coded = CodedColumns.fit(X, [ColumnGroup(0, 2, False, 3.0), ColumnGroup(2, 4, True, 0.5)])
    new = np.array([[0.5, 2.0, 2.0, 9.0], [0.25, 0.0, 2.1, -1.0]])
    expected = [[0.75, 0.75, 0, 1.5, 0, 0], [1.125, 0.375, 1.5, 0, 0.5, 0]]
    np.testing.assert_allclose(coded.transform(new), expected)


@pytest.mark.parametrize(
    ("eigenvalues", "n"), [([3, 1, 0.5], 2), ([3, 2, 1], 2), ([3, 2, 1.5, 0.1], 3), ([0.9, 0.5, 0.2], 2)]
)
def test_axes_with_eigenvalues_above_one_lead(eigenvalues, n):
    Z = np.arange(4.0 * len(eigenvalues)).reshape(4, -1)
    np.testing.assert_array_equal(MixedAxes(Z, np.array(eigenvalues, float)).leading, Z[:, :n])


def test_flags_of_levels_that_occur():
    np.testing.assert_array_equal(flags_of(np.array([[3.0], [1.0], [3.0]])), [[0, 1], [1, 0], [0, 1]])
    several = np.array([[2.0, 0.0, 0.0], [0.9, 4.0, 0.0], [1.1, 2.0, 0.0]])
    np.testing.assert_array_equal(flags_of(several), [[1, 0], [0, 1], [1, 0]])  # above half of the largest


def test_weights_of_groups_and_scaled_columns_by_hand():
    X = np.array([[1.0, 0.0, 5.0, 2.0], [3.0, 0.0, 5.0, 2.0], [1.0, 4.0, 5.0, 0.0], [3.0, 4.0, 5.0, 2.0]])
    numbers, still, two = scaled_groups(
        X, [ColumnGroup(0, 2, False, 4.0), ColumnGroup(2, 3), ColumnGroup(3, 4, True, 9.0)]
    )
    np.testing.assert_allclose(numbers, 2 * np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]]) / np.sqrt(2))
    np.testing.assert_array_equal(still, np.zeros((4, 1)))
    shares = np.array([0.25, 0.75])
    np.testing.assert_allclose(two, 3 * (np.array([[0, 1], [0, 1], [1, 0], [0, 1]]) - shares) / np.sqrt(shares))


def test_shared_axes_exceed_nearly_all_shuffled_tables(monkeypatch):
    """Eigenvalues of the tables by hand: the nineteenth of twenty decides, and the first that does not exceed ends."""
    groups, rng = [ColumnGroup(j, j + 1) for j in range(3)], np.random.default_rng(0)
    shuffled = [np.array([value, 1.0, 0.5]) for value in np.linspace(1, 2, 20)]
    edge = np.quantile(np.linspace(1, 2, 20), 0.95)
    for own, n in (([edge + 1e-9, 1.0, 9.0], 1), ([edge, 9.0, 9.0], 0), ([9.0, 9.0, 0.5], 2), ([9.0, 9.0, 9.0], 3)):
        answers = iter([*shuffled, np.array(own)])
        monkeypatch.setattr("widegap.features._famd._eigenvalues", lambda blocks, answers=answers: next(answers))
        assert n_shared_axes(rng.normal(size=(9, 3)), groups, rng) == n


def test_shares_at_their_ends():
    X, groups = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0], [6.0, 5.0]]), [ColumnGroup(0, 1), ColumnGroup(1, 2)]
    # Of 20 the clusters {0, 2} and {4, 6} leave 4: 1 - 4 / 20 * 3 / 2.
    np.testing.assert_allclose(column_shares(X, groups, np.array([0, 0, 1, 1]), 2), [0.7, 0])
    np.testing.assert_allclose(column_shares(X, groups, np.array([0, 0, 2, 2]), 3), [1 - 0.2 * 3, 0])  # one is empty
    np.testing.assert_allclose(column_shares(X, groups, np.array([0, 1, 0, 1]), 2), [0, 0])  # below 0
    np.testing.assert_allclose(column_shares(X, groups, np.array([0, 1, 2, 3]), 4), [1, 0])
    np.testing.assert_allclose(column_shares(X, groups, np.array([0, 1, 1, 1]), 2), [0.4, 0])
