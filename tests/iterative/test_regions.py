"""Segments as areas: smoothing, tiny regions, the table and the tint."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from widegap.exceptions import InvalidDataError
from widegap.image import clean, describe_segments, tint
from widegap.iterative import _regions


def n_regions(labels):
    return sum(ndimage.label(labels == label)[1] for label in np.unique(labels))


def majority(labels, radius):
    """By definition: the most frequent label of a square, cut at the edges by repeating them; the own one if tied."""
    padded = np.pad(labels, radius, mode="edge")
    found = labels.copy()
    for y, x in np.ndindex(labels.shape):
        votes = np.bincount(padded[y : y + 2 * radius + 1, x : x + 2 * radius + 1].ravel())
        if labels[y, x] >= len(votes) or votes[labels[y, x]] < votes.max():
            found[y, x] = votes.argmax()
    return found


@settings(max_examples=30, deadline=None)
@given(
    arrays(np.int32, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.integers(0, 2)), st.integers(1, 2)
)
def test_smoothing_is_the_majority_of_the_square(labels, radius):
    np.testing.assert_array_equal(clean(labels, smooth=radius), majority(labels, radius))


def test_strips_change_nothing(monkeypatch):
    labels = np.random.default_rng(0).integers(0, 3, (70, 40)).astype(np.uint8)
    whole = clean(labels, smooth=3, min_region=5)
    monkeypatch.setattr(_regions, "STRIP", 16)
    np.testing.assert_array_equal(clean(labels, smooth=3, min_region=5), whole)
    assert whole.dtype == np.uint8


@settings(max_examples=30, deadline=None)
@given(
    arrays(np.int32, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.integers(0, 3)), st.integers(2, 9)
)
def test_no_region_is_smaller_than_asked_for(labels, least):
    found = clean(labels, smooth=0, min_region=least)
    sizes = [size for label in np.unique(found) for size in np.bincount(ndimage.label(found == label)[0].ravel())[1:]]
    assert min(sizes) >= min(least, labels.size)
    assert set(np.unique(found)) <= set(np.unique(labels))


def test_a_tiny_region_joins_where_its_border_is_longest():
    labels = np.zeros((7, 9), int)
    labels[:, 5:] = 1
    labels[2:5, 4] = 2  # beside 0 along five sides of its pixels, beside 1 along three
    assert clean(labels, smooth=0, min_region=4)[3].tolist() == [0] * 5 + [1] * 4
    labels[2:5, 4], labels[2:5, 5] = 0, 2  # and now the other way round
    assert clean(labels, smooth=0, min_region=4)[3].tolist() == [0] * 5 + [1] * 4


def test_texture_no_longer_shatters_segments():
    rng = np.random.default_rng(0)
    truth = np.zeros((200, 300), np.uint8)
    truth[:, 100:] = 1
    truth[80:, 200:] = 2
    noisy = np.where(rng.random(truth.shape) < 0.25, rng.integers(0, 3, truth.shape), truth).astype(np.uint8)
    assert n_regions(noisy) > 3000
    found = clean(noisy, smooth=3, min_region=60)
    assert n_regions(found) == 3
    assert np.mean(found != truth) < 0.01


def test_the_table_of_segments():
    labels = np.zeros((10, 20), int)
    labels[2:4, 5:9] = 1
    labels[8, 19] = 1
    image = np.zeros((10, 20, 3), np.uint8)
    image[labels == 1] = [255, 128, 0]
    rest, spot = describe_segments(image, labels)
    assert (spot["pixels"], spot["regions"], spot["colour"]) == (9, 2, "#ff8000")
    assert [spot[side] for side in ("left", "top", "right", "bottom")] == [5, 2, 19, 8]
    assert spot["x"] == pytest.approx((7 * 8 + 19.5) / 9 / 20)
    assert spot["y"] == pytest.approx((3 * 8 + 8.5) / 9 / 10)
    assert rest["share"] + spot["share"] == 1
    grey = describe_segments(image[:, :, 0] / 255, labels)[1]
    assert grey["colour"] == "#ffffff"


def test_the_tint_mixes_picture_and_colour():
    image = np.full((2, 2, 3), 100, np.uint8)
    found = tint(image, np.array([[0, 1], [2, 0]]), ["ff0000", "00ff00"], opacity=0.5)
    assert found[0, 0].tolist() == [178, 50, 50]
    assert found[1, 0].tolist() == found[0, 0].tolist()  # colours begin anew
    assert (tint(image, np.zeros((2, 2), int), opacity=0.0) == image).all()


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (np.zeros(4, int), {}, r"labels have shape \(4,\) and type int64; pass integers of shape"),
        (np.zeros((4, 4)), {}, "type float64; pass integers of shape"),
        (np.zeros((4, 4), int), {"smooth": -1}, "smooth=-1 and min_region=0 must not be negative"),
    ],
)
def test_refusals(labels, options, message):
    with pytest.raises((InvalidDataError, ValueError), match=message):
        clean(labels, **options)
    with pytest.raises(InvalidDataError, match="make them equal"):
        describe_segments(np.zeros((2, 2)), np.zeros((3, 3), int))


def test_examples_in_the_docstrings_run():
    assert doctest.testmod(_regions).failed == 0
