"""Classes by known labels and the clusters that hear them, against the formulas of their modules in loops."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from widegap.constraints._known_classes import KnownClasses, Views, _judged
from widegap.constraints._leave_one_out import ClassScores, _turns, least_squares, self_training
from widegap.constraints._seeded_clusters import SeededClusters, _divided
from widegap.constraints._self_training import self_trained
from widegap.constraints._units import read_constraints


def features(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    Z = rng.normal(size=(n, d)) + 2 * np.eye(3)[classes][:, :d]
    Z -= Z.mean(axis=0)
    return classes, (Z / np.sqrt(np.square(Z).sum(axis=1).mean())).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_the_sharpest_of_thirteen(seed):
    rng = np.random.default_rng(seed)
    scores, held, classes = (
        rng.normal(size=(20, 3)),
        rng.normal(size=(12, 3)) + np.eye(3)[np.arange(12) % 3],
        np.arange(12) % 3,
    )
    judges = rng.random(12) < 0.8
    each = {
        t: sum(log_softmax(t * held[i])[classes[i]] for i in range(12) if judges[i])
        for t in [2 ** (i / 2) for i in range(13)]
    }
    best = max(each, key=each.get)
    found, shares = _judged(ClassScores(scores, held), classes, judges)
    assert found == pytest.approx(each[best])
    np.testing.assert_allclose(shares, softmax(best * scores, axis=1))


@pytest.mark.parametrize("with_wide", [False, True])
def test_classifiers_are_weighted_by_what_they_predict(with_wide):
    classes, plain = features()
    smooth, wide = features(seed=1)[1], features(seed=2)[1] if with_wide else None
    known = np.full(40, -1)
    known[:13] = np.array([5, 2, 9])[classes[:13]]
    known[13] = 7  # the only one of its class
    found = Views(plain, smooth, wide).classes(known)
    rows, names = np.arange(14), np.array([2, 5, 7, 9])
    places = np.searchsorted(names, known[:14])
    judges = places != 2
    predictions = [(Z, one) for Z in (plain, smooth) for one in least_squares(Z, rows, places, (0.001, 0.01, 0.1))]
    if with_wide:
        predictions.append((wide, self_training(wide, rows, places, 0.1)))
    judged = [_judged(one, places, judges) for _, one in predictions]
    weights = softmax([log for log, _ in judged])
    np.testing.assert_allclose(found.likely, sum(a * P for a, (_, P) in zip(weights, judged, strict=True)), rtol=1e-6)
    assert found.names.tolist() == names.tolist() and found.labels_each == 14 / 4
    seen = [plain, smooth] + [wide] * with_wide
    sums = [sum(a for a, (Z, _) in zip(weights, predictions, strict=True) if Z is one) for one in seen]
    kept = [(a, Z) for a, Z in zip(sums, seen, strict=True) if a > 0.05]
    assert [a for a, _ in found.views] == pytest.approx([a for a, _ in kept])
    assert all(one is other for (_, one), (_, other) in zip(found.views, kept, strict=True))
    shares = softmax(np.random.default_rng(0).normal(size=(40, 4)), axis=1)
    expected = sum(a * self_trained(Z, np.log(shares), rows, places) for a, Z in kept)
    np.testing.assert_allclose(found.self_trained(shares), expected)


def test_rows_are_left_out_in_five_turns():
    assert _turns(np.array([0, 1, 0, 2, 0, 1, 0, 0, 0, 0])).tolist() == [0, 0, 1, -1, 2, 1, 3, 4, 0, 1]


@pytest.mark.parametrize("each", [1.0, 10.0, 30.0])
def test_shares_are_divided_by_what_a_classifier_says(each):
    rng = np.random.default_rng(0)
    shares, likely, said = (
        softmax(rng.normal(size=(6, 4)), axis=1),
        softmax(rng.normal(size=(6, 2)), axis=1),
        rng.normal(size=(6, 2)),
    )

    class Told(KnownClasses):
        labels_each = each

        def self_trained(self, shares):
            Told.asked = shares
            return said

    found = _divided(shares, Told(np.array([3, 1]), likely, [], None, None))
    r = each / (each + 10)
    total = shares[:, 3] + shares[:, 1]
    parts = (1 - r) * shares[:, [3, 1]] + r * total[:, None] * likely
    np.testing.assert_allclose(Told.asked, parts)
    powers = parts * np.exp(said) ** r
    np.testing.assert_allclose(found[:, [3, 1]], total[:, None] * powers / powers.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(found[:, [0, 2]], shares[:, [0, 2]])


def spread(Y):
    """Half of what a row has stays, half goes to its block."""
    blocks = np.repeat(np.arange(3), [8, 4, 6])
    sums = np.stack([Y[blocks == p].mean(axis=0) for p in range(3)])
    return 0.5 * Y + 0.5 * sums[blocks]


@pytest.mark.parametrize("known", [{0: 0}, {0: 0, 9: 1}, {0: 0, 1: 0, 9: 1}, {0: 1, 8: 2, 12: 0, 13: 0, 14: 0}])
def test_shares_of_known_labels_and_of_clusters_found_without(known):
    found = np.repeat([0, 1, 2], [7, 5, 6]).astype(np.int32)
    column = np.full(18, -1)
    column[list(known)] = list(known.values())
    labels, shares = SeededClusters.of(spread, found, 3).constrained(read_constraints(18, 3, known=column).units)

    def seeds(labels):
        Y = np.zeros((18, 3))
        for i in range(18):
            if labels[i] >= 0:
                Y[i, labels[i]] = 1 / np.count_nonzero(labels == labels[i])
        return Y

    units = read_constraints(18, 3, known=column).units
    anchors = units.anchors[units.of_row]
    names = SeededClusters.of(spread, found, 3)._names(spread(seeds(anchors)), anchors)
    order = np.argsort(names)
    trusted, sizes = spread(seeds(found))[:, order], np.bincount(found)[order]
    counts = np.array([np.count_nonzero(anchors == p) for p in range(3)])
    trust = 2 / (2 + counts**2)
    F = (1 - trust) * spread(seeds(anchors)) + trust * trusted
    F = F / F.sum(axis=0) * (sizes / sizes.mean()) ** (0.5 * trust)
    expected = F / F.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, expected, rtol=1e-5)
    np.testing.assert_array_equal(labels, np.where(anchors >= 0, anchors, expected.argmax(axis=1)))
