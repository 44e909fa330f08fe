"""CutSet: whatever is added, moved and retired, its Gram matrix, codes and heights belong to the planes it holds."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap.cutting_plane import _cuts
from widegap.cutting_plane._cuts import CAPACITY, MAX_AGE, CutSet, add_all

K, D = 3, 4


def make_plane(rng, name=None):
    """A random plane; its codes are just a name by which it is recognised."""
    return SimpleNamespace(
        loss=0.0, offset=float(rng.uniform()), normal=rng.normal(size=(K, D)), bias=rng.normal(size=K), codes=name
    )


def make_cuts(rng, n, n_groups=1):
    """A set of n planes named 0, 1, ..., and those planes."""
    cuts, planes = CutSet(K, D), [make_plane(rng, name) for name in range(n)]
    for name, plane in enumerate(planes):
        cuts.add(name % n_groups, plane)
    return cuts, planes


def names(cuts):
    return cuts._codes


class Model:
    """The same set as a plain list of planes, without anything kept up to date."""

    def __init__(self):
        self.planes = []

    def add(self, group, plane):
        self.planes.append((group, plane))

    def shift(self, group, change):
        members = [p for g, p in self.planes if g == group]
        for plane, offset, normal, bias in zip(members, change.offset, change.normal, change.bias, strict=True):
            plane.offset += offset
            plane.normal = plane.normal + normal
            plane.bias = plane.bias + bias

    def keep(self, kept):
        self.planes = [(g, p) for g, p in self.planes if p.codes in kept]

    def assert_equal(self, cuts):
        assert len(cuts) == len(self.planes)
        normals = np.array([p.normal.ravel() for _, p in self.planes]).reshape(-1, K * D)
        np.testing.assert_array_equal(cuts.groups, [g for g, _ in self.planes])
        np.testing.assert_allclose(cuts.offsets, [p.offset for _, p in self.planes], atol=1e-12)
        np.testing.assert_allclose(cuts.biases, np.reshape([p.bias for _, p in self.planes], (-1, K)), atol=1e-12)
        np.testing.assert_allclose(cuts.normals, normals, atol=1e-12)
        np.testing.assert_allclose(cuts.gram, normals @ normals.T, atol=1e-11)
        for group in range(3):
            assert cuts.codes(group) == [p.codes for g, p in self.planes if g == group]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["add", "add", "add", "shift", "retire"]), max_size=60), st.integers(0, 2**32 - 1))
def test_gram_and_codes_follow_any_sequence_of_changes(steps, seed):
    with pytest.MonkeyPatch.context() as patch:
        # Small enough that planes go for either reason in most sequences.
        patch.setattr(_cuts, "CAPACITY", 6)
        patch.setattr(_cuts, "MAX_AGE", 1)
        change_at_random(steps, np.random.default_rng(seed))


def change_at_random(steps, rng):
    """Do the same to a set and to its model, and compare them after every step."""
    cuts, model = CutSet(K, D), Model()
    for name, step in enumerate(steps):
        group = int(rng.integers(3))
        if step == "add":
            plane = make_plane(rng, name)
            cuts.add(group, plane)
            model.add(group, plane)
        elif step == "shift":
            m = len(cuts.codes(group))
            change = SimpleNamespace(
                offset=rng.normal(size=m), normal=rng.normal(size=(m, K, D)), bias=rng.normal(size=(m, K))
            )
            cuts.shift(group, change)
            model.shift(group, change)
        elif len(cuts):
            cuts.retire(np.maximum(0, rng.normal(size=len(cuts)) - 1))
            model.keep(set(names(cuts)))
        model.assert_equal(cuts)


def test_buffers_grow_beyond_their_first_size():
    rng = np.random.default_rng(0)
    cuts, planes = make_cuts(rng, 3 * _cuts._FIRST_SIZE)
    normals = np.array([p.normal.ravel() for p in planes])
    np.testing.assert_array_equal(cuts.normals, normals)
    np.testing.assert_allclose(cuts.gram, normals @ normals.T, atol=1e-12)


def test_heights_are_the_planes_at_a_point():
    rng = np.random.default_rng(1)
    cuts, planes = make_cuts(rng, 10)
    W, b = rng.normal(size=(K, D)), rng.normal(size=K)
    expected = [p.offset - (p.normal * W).sum() - p.bias @ b for p in planes]
    np.testing.assert_allclose(cuts.heights(W, b), expected, atol=1e-12)


def test_combine_is_the_weighted_sum_of_normals():
    rng = np.random.default_rng(2)
    cuts, planes = make_cuts(rng, 5)
    weights = rng.uniform(size=5)
    expected = sum(w * p.normal for w, p in zip(weights, planes, strict=True))
    np.testing.assert_allclose(cuts.combine(weights), expected, atol=1e-12)


def test_add_all_gives_every_plane_its_own_group():
    rng = np.random.default_rng(3)
    cuts = CutSet(K, D)
    add_all(cuts, [make_plane(rng, "target"), make_plane(rng, None)])
    add_all(cuts, [make_plane(rng, "target again"), make_plane(rng, None)])
    np.testing.assert_array_equal(cuts.groups, [0, 1, 0, 1])
    assert cuts.codes(0) == ["target", "target again"]
    assert cuts.codes(1) == [None, None]
    assert cuts.codes(2) == []


def test_a_shift_leaves_other_groups_alone():
    rng = np.random.default_rng(4)
    cuts, planes = make_cuts(rng, 6, n_groups=2)
    before = cuts.heights(np.ones((K, D)), np.ones(K))
    cuts.shift(1, SimpleNamespace(offset=np.full(3, 2.0), normal=np.ones((3, K, D)), bias=np.zeros((3, K))))
    change = cuts.heights(np.ones((K, D)), np.ones(K)) - before
    np.testing.assert_allclose(change, [0, 2 - K * D] * 3, atol=1e-12)


def test_idle_planes_retire_after_their_last_round_of_grace():
    cuts, _ = make_cuts(np.random.default_rng(5), 3)
    for _ in range(MAX_AGE):
        cuts.retire(np.array([1.0, 0.0, 0.5]))
    assert names(cuts) == [0, 1, 2]
    cuts.retire(np.array([1.0, 0.0, 0.5]))
    assert names(cuts) == [0, 2]
    np.testing.assert_array_equal(cuts.multipliers, [1.0, 0.5])


def test_a_plane_that_is_used_again_starts_its_age_anew():
    cuts, _ = make_cuts(np.random.default_rng(6), 2)
    for weight in (0.0, 1.0, 0.0):
        for _ in range(MAX_AGE if weight == 0 else 1):
            cuts.retire(np.array([1.0, weight]))
    assert names(cuts) == [0, 1]


def test_weights_that_are_only_rounding_count_as_idle():
    cuts, _ = make_cuts(np.random.default_rng(7), 2)
    for _ in range(MAX_AGE + 1):
        cuts.retire(np.array([1e-3, 1e-14]))
    assert names(cuts) == [0]


def test_beyond_capacity_the_largest_weights_stay_and_then_the_youngest_idle():
    n_used, n = CAPACITY - 4, CAPACITY + 10
    cuts, _ = make_cuts(np.random.default_rng(8), n)
    weights = np.zeros(n)
    weights[:n_used] = np.linspace(0.1, 1, n_used)
    cuts.retire(weights)
    assert names(cuts) == [*range(n_used), *range(n - 4, n)]
    np.testing.assert_array_equal(cuts.multipliers, np.append(weights[:n_used], np.zeros(4)))


def test_used_planes_stay_beyond_capacity_and_all_idle_ones_go():
    rng = np.random.default_rng(9)
    n = CAPACITY + 5
    cuts, _ = make_cuts(rng, n)
    weights = rng.uniform(0.1, 1, n)
    weights[[3, 7]] = 0
    cuts.retire(weights)
    assert names(cuts) == [c for c in range(n) if c not in (3, 7)]


def test_up_to_capacity_nothing_young_is_dropped():
    cuts, _ = make_cuts(np.random.default_rng(10), CAPACITY)
    cuts.retire(np.zeros(CAPACITY))
    assert len(cuts) == CAPACITY


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_used_plane_is_never_dropped(seed):
    rng = np.random.default_rng(seed)
    cuts = CutSet(K, D)
    for name in range(80):
        cuts.add(int(rng.integers(2)), make_plane(rng, name))
        before, weights = list(names(cuts)), rng.uniform(size=len(cuts)) * (rng.random(len(cuts)) < 0.4)
        used = {before[c] for c in np.flatnonzero(weights)}
        cuts.retire(weights)
        assert len(cuts) <= max(CAPACITY * len(set(cuts.groups)), len(used))
        assert used <= set(names(cuts))


def test_an_empty_set_has_empty_arrays():
    cuts = CutSet(K, D)
    assert (len(cuts), cuts.gram.shape, cuts.normals.shape) == (0, (0, 0), (0, K * D))
    assert cuts.heights(np.ones((K, D)), np.zeros(K)).shape == (0,)


@pytest.mark.parametrize("n", [1, _cuts._FIRST_SIZE, _cuts._FIRST_SIZE + 1])
def test_the_order_of_arrival_is_kept(n):
    cuts, _ = make_cuts(np.random.default_rng(11), n)
    assert names(cuts) == list(range(n))
