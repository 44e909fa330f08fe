"""Losses of every cut against all cuts and all kinks, and cuts at the edges of ties and bounds."""

import numpy as np
import pytest

from widegap.exceptions import InfeasibleBalanceError
from widegap.iterative._threshold import absolute_losses, best_split, hinge_losses, square_losses

LOSSES = {
    "square": (square_losses, lambda v, y: np.square(v - y)),
    "absolute": (absolute_losses, lambda v, y: np.abs(v - y)),
    "hinge": (hinge_losses, lambda v, y: np.maximum(0, 1 - y * v)),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(12))
def test_losses_and_biases_of_every_cut(name, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    values = np.sort(rng.normal(size=n) if seed % 2 else rng.integers(-2, 3, n).astype(float))[::-1]
    losses, biases = LOSSES[name][0](values)
    assert losses.shape == biases.shape == (n - 1,)
    for m in range(1, n):
        y = np.where(np.arange(n) < m, 1.0, -1.0)
        kinks = np.append(y - values, (y - values).mean())
        sums = [LOSSES[name][1](values + b, y).sum() for b in kinks]
        assert losses[m - 1] == pytest.approx(min(sums), abs=1e-12)
        assert LOSSES[name][1](values + biases[m - 1], y).sum() == pytest.approx(min(sums), abs=1e-12)
        best = kinks[np.array(sums) <= min(sums) + 1e-12]
        if name != "square":  # half way between the ends of all that are best
            assert biases[m - 1] == pytest.approx((best.min() + best.max()) / 2, abs=1e-12)


def given(losses):
    """A loss that prefers the cuts as told, whatever the values are; zero is the bias."""
    return lambda values: (np.array(losses, float), np.zeros(len(values) - 1))


@pytest.mark.parametrize(
    ("losses", "bounds", "n_positive", "active"),
    [
        ([3, 1, 2, 4], [(1, 4)], 2, False),
        ([3, 1, 2, 4], [(3, 4)], 3, True),
        ([3, 1, 2, 4], [(1, 1), (4, 4)], 1, True),
        ([3, 1, 1, 4], [(3, 4)], 3, False),  # as good as outside
        ([3, 1, 1 + 1e-13, 4], [(3, 4)], 3, False),
        ([3, 1, 1 + 1e-11, 4], [(3, 4)], 3, True),
        ([300, 100, 100 + 1e-11, 400], [(3, 4)], 3, False),  # relative to the loss
        ([1, 1, 1, 1], [(1, 4)], 1, False),
    ],
)
def test_the_best_cut_within_the_bounds(losses, bounds, n_positive, active):
    split = best_split(np.array([0.0, 4, 3, 1, -2]), given(losses), bounds)
    assert (split.n_positive, split.bound_active) == (n_positive, active)
    assert split.loss == losses[n_positive - 1]
    order = [1, 2, 3, 0, 4]
    assert split.y[order].tolist() == [1.0] * n_positive + [-1.0] * (5 - n_positive)


def test_a_bias_that_does_not_separate_gives_way_to_the_middle():
    f = np.array([4.0, 3, 1, 0])

    def with_bias(b):
        return best_split(f, lambda values: (np.array([2.0, 1, 2]), np.full(3, b)), [(1, 3)]).bias

    assert with_bias(0.0) == -2.0  # the mean of all
    assert with_bias(0.5) == -1.5
    assert with_bias(-0.9) == -2.9
    assert with_bias(-1.0) == -2.0  # at the row above: the middle of the gap
    assert with_bias(1.0) == -2.0  # at the row below
    assert with_bias(5.0) == -2.0


@pytest.mark.parametrize(
    ("gap", "tie_tol", "divided"),
    [(2e-3, 1e-3, True), (5e-3, 1e-3, False), (4e-12, 1e-12, True), (5e-12, 1e-12, False)],
)
def test_values_are_equal_up_to_a_share_of_their_span(gap, tie_tol, divided):
    f = np.array([4.0, 2.0, 2.0 - gap, 0.0])
    free = best_split(f, given([2, 1, 2]), [(1, 3)], tie_tol)
    assert (free.n_positive == 1) is divided and not free.bound_active
    forced = best_split(f, given([2, 1, 2]), [(2, 2)], tie_tol)
    assert forced.n_positive == 2 and forced.bound_active is divided


@pytest.mark.parametrize(("spread", "refused"), [(0.9e-13, True), (1.2e-13, False)])
def test_values_without_spread_are_refused(spread, refused):
    f = np.array([0.0, spread])
    if refused:
        with pytest.raises(InfeasibleBalanceError, match="All 2 decision values are equal"):
            best_split(f, hinge_losses, [(1, 1)])
    else:
        assert best_split(f, hinge_losses, [(1, 1)]).y.tolist() == [-1, 1]
