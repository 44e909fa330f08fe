"""Latent classes: the likelihood against plain computations, EM against brute force, and their number."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.metrics import adjusted_rand_score

from tests._mixed_tables import customers, shuffled
from widegap import TableEncoder
from widegap.features._column_groups import ColumnGroup
from widegap.forest import _latent_classes
from widegap.forest._column_search import ColumnSearch, has_few_levels
from widegap.forest._latent_classes import classes_of_labels, fit_latent_classes

ENDS = [0, 2, 5]


def drawn_codes(seed, n=40):
    """Codes of a column of two levels and of one with three."""
    rng = np.random.default_rng(seed)
    return np.hstack([np.eye(2)[rng.integers(0, 2, n)], np.eye(3)[rng.integers(0, 3, n)]])


def posterior_climbed(classes, codes):
    """The likelihood and the logarithm of the prior that EM climbs together."""
    return classes.log_likelihood + float((classes.log_codes * codes.mean(axis=0)).sum())


@given(st.integers(0, 500), st.integers(1, 4))
def test_the_likelihood_is_that_of_the_mixture(seed, k):
    codes = drawn_codes(seed)
    labels = np.random.default_rng(seed).integers(0, k, 40).astype(np.int32)
    found = classes_of_labels(codes, ENDS, labels, k)
    plain = 0.0
    for row in codes:
        products = [np.exp(found.log_shares[p]) * np.prod(np.exp(found.log_codes[p]) ** row) for p in range(k)]
        plain += np.log(sum(products))
    assert found.log_likelihood == pytest.approx(plain, rel=1e-9)
    assert found.n_parameters == k - 1 + k * 3
    for first, stop in zip(ENDS, ENDS[1:], strict=False):
        np.testing.assert_allclose(np.exp(found.log_codes[:, first:stop]).sum(axis=1), 1)


@settings(max_examples=25)
@given(st.integers(0, 500))
def test_every_step_of_em_climbs(seed):
    codes = drawn_codes(seed)
    start = np.random.default_rng(seed).integers(0, 2, 40).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_latent_classes, "EM_GAIN", -np.inf)
        climbed = []
        for steps in range(1, 12):
            patch.setattr(_latent_classes, "EM_STEPS", steps)
            climbed.append(posterior_climbed(fit_latent_classes(codes, ENDS, start, 2), codes))
    assert np.diff(climbed).min() >= -1e-9


@pytest.mark.parametrize("seed", range(5))
def test_em_by_plain_steps(seed):
    """From 0.9 in the starting class; until a step gains less than 1e-5 a row, at most 100; known rows stay."""
    rng, k = np.random.default_rng(seed), 3
    codes, start = drawn_codes(seed, 50), np.random.default_rng(seed).integers(0, 3, 50).astype(np.int32)
    known = np.where(rng.random(50) < 0.2, start, -1).astype(np.int32) if seed % 2 else None
    shares, before = 0.9 * np.eye(k)[start] + 0.1 / k, -np.inf
    for _ in range(100):
        if known is not None:
            shares[known >= 0] = np.eye(k)[known[known >= 0]]
        log_shares = np.log(shares.mean(axis=0))
        counts = shares.T @ codes + codes.mean(axis=0)
        log_codes = np.log(
            np.hstack([part / part.sum(axis=1, keepdims=True) for part in np.split(counts, [2], axis=1)])
        )
        joint = log_shares + codes @ log_codes.T
        shares = np.exp(log_softmax(joint, axis=1))
        likelihood = logsumexp(joint, axis=1).sum()
        climbed = likelihood + (log_codes * codes.mean(axis=0)).sum()
        if climbed - before <= 1e-5 * 50:
            break
        before = climbed
    found = fit_latent_classes(codes, ENDS, start, k, known)
    assert found.log_likelihood == pytest.approx(likelihood, abs=1e-9)
    np.testing.assert_allclose(found.log_shares, log_shares, atol=1e-9)
    np.testing.assert_allclose(found.log_codes, log_codes, atol=1e-9)
    assert found.n_parameters == k - 1 + k * 3
    again = found.in_order(np.array([2, 0, 1]))
    np.testing.assert_array_equal(again.labels(codes), np.array([1, 2, 0])[found.labels(codes)])


def test_em_reaches_what_a_general_solver_finds():
    """Two classes of clear structure: a quasi-Newton method on the same objective from the truth ends there, too."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 60).astype(np.int32)
    first = np.eye(2)[(rng.random(120) < np.where(labels, 0.9, 0.1)).astype(int)]
    second = np.eye(3)[np.where(rng.random(120) < 0.8, labels, 2)]
    codes = np.hstack([first, second])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_latent_classes, "EM_GAIN", 0.0)
        patch.setattr(_latent_classes, "EM_STEPS", 5000)
        found = fit_latent_classes(codes, ENDS, labels, 2)

    def loss(z):
        shares, parts = log_softmax(z[:2]), z[2:].reshape(2, 5)
        logs = np.hstack([log_softmax(parts[:, :2], axis=1), log_softmax(parts[:, 2:], axis=1)])
        return -logsumexp(codes @ logs.T + shares, axis=1).sum() - (logs * codes.mean(axis=0)).sum()

    start = np.concatenate([found.log_shares, found.log_codes.ravel()]) + 0.1 * rng.normal(size=12)
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-8})
    assert posterior_climbed(found, codes) == pytest.approx(-best.fun, abs=1e-5)


def test_em_from_all_labelings_of_ten_rows_is_no_better_than_the_best_of_them():
    """EM never ends below where it starts, so its best over all starts bounds every labeling of ten rows."""
    codes = drawn_codes(3, n=10)
    starts = [np.array((0, *rest), np.int32) for rest in itertools.product((0, 1), repeat=9)]
    reached = max(posterior_climbed(fit_latent_classes(codes, ENDS, start, 2), codes) for start in starts)
    labelled = max(posterior_climbed(classes_of_labels(codes, ENDS, start, 2), codes) for start in starts)
    assert reached >= labelled - 1e-9


def search(frame, seed=0):
    X = TableEncoder().fit_transform(frame)
    return ColumnSearch(np.asarray(X), X.column_groups, seed)


def test_segments_of_customers_are_found_and_counted():
    frame, segment = customers()
    number = search(frame).number()
    assert number.n_clusters == 3 and number.choice.strength > 2
    assert all(number.strength(k) > 1 for k in (2, 3)) and number.choice.rejected_strength < 1
    labels = search(frame).classes(3).labels(search(frame).codes)
    table = np.histogram2d(segment, labels, bins=3)[0]
    assert table.max(axis=1).sum() > 0.95 * len(frame)  # 98 % in this draw


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_columns_are_one_class(seed):
    assert search(shuffled(customers(seed=seed)[0], seed)).number().n_clusters == 1


def test_the_number_of_classes_is_bounded_by_the_axes_that_columns_share():
    """A continuum along one axis is never cut into more than two."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-3, 3, 2000)
    levels = [(t + rng.normal(0, 0.3, 2000) > cut).astype(float) for cut in (-2, -1, 0, 1, 2)]
    X = np.column_stack([t + rng.normal(0, 0.2, 2000), *levels])
    found = ColumnSearch(X, [ColumnGroup(j, j + 1, j > 0) for j in range(6)], 0)
    assert found.number().n_clusters <= found.n_axes + 1


def test_members_agree_on_segments_and_not_on_noise():
    frame, _ = customers()
    for table, least, most in ((frame, 0.9, 1.0), (shuffled(frame), 0.0, 0.7)):
        found = search(table)
        classes = found.classes(3)
        own = classes.labels(found.codes)
        assert least <= np.mean([adjusted_rand_score(own, labels) for labels in found.members(3)]) <= most


def test_tables_of_numbers_are_not_for_latent_classes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 3)), rng.integers(0, 3, 50)])
    numbers = [ColumnGroup(j, j + 1) for j in range(4)]
    assert not has_few_levels(X, numbers)
    assert has_few_levels(X, [*numbers[:3], ColumnGroup(3, 4, True)])
    assert has_few_levels(X[:, 2:], numbers[:2])
