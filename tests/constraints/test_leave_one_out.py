"""Known rows left out: the formula against refits without them, turns of self-training, and who is believed."""

import numpy as np
import pytest

from widegap.constraints import _leave_one_out as _left_out
from widegap.constraints._known_classes import RIDGES, Views, _judged
from widegap.constraints._leave_one_out import ClassScores, least_squares, self_training


def two_blobs(n=60, columns=5, apart=9.0, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 2
    Z = rng.normal(size=(n, columns))
    Z[:, 0] += apart * (classes - 0.5)
    Z -= Z.mean(axis=0)
    return classes, Z / np.sqrt(np.square(Z).sum(axis=1).mean())


def solved(Z, rows, classes, weights, ridge):
    """Scores of all rows by the normal equations."""
    Y = np.eye(3)[classes] - 1 / 3
    G = Z[rows] * weights[:, None]
    return Z @ np.linalg.solve(G.T @ Z[rows] + ridge * np.eye(Z.shape[1]), G.T @ Y)


@pytest.mark.parametrize("columns", [4, 40])  # fewer than known rows, and more
@pytest.mark.parametrize("ridge", RIDGES)
def test_left_out_is_the_fit_without_the_row(columns, ridge):
    rng = np.random.default_rng(1)
    Z, rows = rng.normal(size=(50, columns)), rng.permutation(50)[:17]
    classes = np.r_[0, 1, 2, rng.integers(0, 3, 14)]
    weights = 1 / np.bincount(classes)[classes]
    (told,) = least_squares(Z, rows, classes, (ridge,))
    np.testing.assert_allclose(told.scores, solved(Z, rows, classes, weights, ridge), rtol=1e-6, atol=1e-8)
    for i, row in enumerate(rows):
        others = np.arange(17) != i
        without = solved(Z, rows[others], classes[others], weights[others], ridge)[row]
        np.testing.assert_allclose(told.held_out[i], without, rtol=1e-5, atol=1e-7)


def test_self_training_leaves_rows_out_in_turns():
    classes, Z = two_blobs()
    rows = np.arange(14)
    told = self_training(Z, rows, classes[:14], 0.1)
    np.testing.assert_array_equal(told.scores.argmax(axis=1)[14:], classes[14:])
    out = np.isin(rows // 2 % _left_out.HELD_OUT_TURNS, [1])  # second and seventh row of each class
    without = _left_out._self_trained(Z, rows[~out], classes[:14][~out], 0.1)
    np.testing.assert_allclose(told.held_out[out], without[rows[out]])


def test_self_training_does_not_depend_on_the_origin():
    classes, Z = two_blobs()
    near, far = (self_training(Z + shift, np.arange(14), classes[:14], 0.1) for shift in (0.0, 5.0))
    np.testing.assert_allclose(far.scores, near.scores, atol=1e-8)
    np.testing.assert_allclose(far.held_out, near.held_out, atol=1e-8)


def test_the_only_row_of_a_class_is_never_left_out():
    turns = _left_out._turns(np.array([0, 1, 0, 2, 0, 2]))
    np.testing.assert_array_equal(turns, [0, -1, 1, 0, 2, 1])


def test_self_training_reaches_rows_that_no_known_row_is_near():
    classes, Z = two_blobs(400, 30)
    rows = np.array([0, 1])
    (told,) = least_squares(Z, rows, classes[:2], (0.1,))
    trained = self_training(Z, np.arange(4), classes[:4], 0.1)
    alone = np.mean(told.scores.argmax(axis=1) == classes)
    assert np.mean(trained.scores.argmax(axis=1) == classes) == 1 > alone


def test_who_tells_labels_that_it_has_not_seen_is_judged():
    classes, judges = np.array([0, 0, 0, 1, 1, 1]), np.ones(6, bool)
    right = np.eye(2)[classes]
    good = ClassScores(np.array([[1.0, 0.0]]), right)
    bad = ClassScores(np.array([[0.0, 1.0]]), right[::-1])
    (lost, _), (won, shares) = (_judged(one, classes, judges) for one in (bad, good))
    assert won > -1e-9 > lost + 1 and shares[0, 0] > 0.9
    assert _judged(bad, classes, judges)[1][0, 1] < shares[0, 0]  # who errs may not be sure


def test_one_row_of_each_class_or_a_single_class_judges_nobody():
    classes, Z = two_blobs()
    views, known = Views(Z, Z, None), np.full(60, -1)
    assert views.classes(known) is None
    known[:2] = 3, 1
    assert views.classes(known) is None
    known[:4] = 3, -1, 3, 3
    assert views.classes(known) is None
    known[:4] = 3, 1, 3, 1
    found = views.classes(known)
    names, likely = found.names, found.likely
    assert names.tolist() == [1, 3] and likely.sum(axis=1) == pytest.approx(1)
    np.testing.assert_array_equal(names[likely.argmax(axis=1)], np.where(classes == 0, 3, 1))


def test_every_round_of_self_training_takes_a_fifth_of_the_rows_more(monkeypatch):
    classes, Z = two_blobs(40)
    counts, surest = [], _left_out.surest
    monkeypatch.setattr(_left_out, "surest", lambda *arguments: (counts.append(arguments[-1]), surest(*arguments))[1])
    _left_out._self_trained(Z, np.arange(12), classes[:12], 0.1)
    assert counts == [12, 16, 24, 32, 40]  # the known ones at least
