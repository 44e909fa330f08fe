"""Image segmentation: labels of pixels, order of splits, every kind of picture, and clear refusals."""

import doctest
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from _data import requires_data
from widegap import image as module
from widegap import metrics
from widegap.exceptions import InvalidDataError
from widegap.image import bisections, overlay, paint, pixel_features, segment


@pytest.fixture(scope="module")
def flag():
    """Three stripes of noisy colours, and which pixel is in which."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 15)[:, None] * np.ones(40, int)
    colours = np.array([[200, 40, 40], [240, 240, 240], [30, 60, 180]])[truth]
    return np.clip(colours + rng.normal(0, 12, colours.shape), 0, 255).astype(np.uint8), truth


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize("estimator", ["iter-svr", "max-margin", "cpm3c", KMeans(n_init=3)], ids=str)
def test_stripes_are_found(flag, estimator, recursive):
    picture, truth = flag
    labels = segment(picture, 3, estimator, recursive=recursive, random_state=0)
    assert labels.shape == truth.shape and labels.dtype == np.int32
    assert metrics.clustering_accuracy(truth.ravel(), labels.ravel()) >= 0.99


def test_the_same_seed_gives_the_same_labels(flag):
    first, second = (segment(flag[0], 3, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_each_split_refines_the_one_before(flag):
    steps = list(bisections(flag[0], 4, random_state=0))
    assert [step.max() + 1 for step in steps] == [1, 2, 3, 4]
    for before, after in zip(steps, steps[1:], strict=False):
        for part in range(after.max() + 1):
            assert len(np.unique(before[after == part])) == 1
        sizes = np.bincount(after.ravel())
        assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(steps[-1], segment(flag[0], 4, random_state=0))


@pytest.mark.parametrize(
    "convert",
    [
        lambda picture: picture / 255,
        lambda picture: (picture / 255).astype(np.float32),
        lambda picture: np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)]),
        lambda picture: picture.astype(np.int64),
        lambda picture: picture.tolist(),
    ],
    ids=["float64", "float32", "opaque RGBA", "int64", "lists"],
)
def test_the_same_picture_in_other_forms(flag, convert):
    np.testing.assert_allclose(pixel_features(convert(flag[0])), pixel_features(flag[0]), atol=1e-7)


def test_grey_and_transparent_pictures():
    grey = np.array([[0, 255], [51, 102]], np.uint8)
    np.testing.assert_allclose(pixel_features(grey)[:, 0], [0, 1, 0.2, 0.4], atol=1e-7)
    clear = np.dstack([grey, np.zeros_like(grey)])
    np.testing.assert_allclose(pixel_features(clear)[:, 0], 1)


def test_position_and_texture_are_columns_of_their_own():
    picture = np.zeros((20, 40), np.uint8)
    picture[:, 20:] = 255 * (np.indices((20, 20)).sum(axis=0) % 2)
    X = pixel_features(picture, position=2.0, texture=3.0).reshape(20, 40, 4)
    np.testing.assert_allclose(X[3, 7, 1:3], [2 * 3 / 40, 2 * 7 / 40], atol=1e-6)
    assert X[10, 5, 3] == pytest.approx(0, abs=1e-6)
    window = picture[7:14, 27:34] / 255
    assert X[10, 30, 3] == pytest.approx(3 * window.std(), rel=1e-4)
    # Chess squares and black are one pair of colours; only texture parts the picture in the middle.
    halves = segment(picture, 2, "max-margin", texture=5.0, random_state=0)
    truth = np.repeat([[0] * 20 + [1] * 20], 20, axis=0)
    assert metrics.clustering_accuracy(truth.ravel(), halves.ravel()) > 0.9


def test_overlay_marks_the_boundary_alone(flag):
    picture, truth = flag
    drawn = overlay(picture, truth)
    changed = (drawn != picture).any(axis=2)
    np.testing.assert_array_equal(np.flatnonzero(changed.any(axis=1)), [15, 30])
    np.testing.assert_array_equal(drawn[15, 0], [255, 40, 40])
    assert overlay(picture[:, :, 0], truth).shape == (45, 40, 3)


def test_paint_gives_every_segment_its_mean_colour(flag):
    picture, truth = flag
    painted = paint(picture, truth)
    for part in range(3):
        expected = picture[truth == part].mean(axis=0)
        assert np.abs(painted[truth == part] - expected).max() <= 0.51
    assert paint(picture[:, :, 0], truth).shape == (45, 40, 3)
    with pytest.raises(InvalidDataError, match="one label a pixel"):
        paint(picture, truth[:2])


LARGE = [
    # Bytes a pixel, measured and with a margin; 21 of the first two are a table of all colours, whatever the picture.
    pytest.param(16, {}, 40, id="few colours"),  # 27
    pytest.param(1, {}, 85, id="noise", marks=pytest.mark.slow),  # 64: nearly every pixel has a colour of its own
    pytest.param(16, {"texture": 1.0, "position": 1.0}, 70, id="all features", marks=pytest.mark.slow),  # 54
]


@pytest.mark.parametrize(("step", "features", "most"), LARGE)
def test_a_large_picture_takes_memory_for_its_colours_and_labels_alone(step, features, most):
    picture = np.random.default_rng(0).integers(0, 256, (1500, 2000, 3), dtype=np.uint8)
    picture[:, 1000:] //= 4
    picture = picture // step * step
    segment(picture[:60, 970:1030], 2, "max-margin", random_state=0)  # compiles
    tracemalloc.start()
    labels = segment(picture, 2, "max-margin", random_state=0, **features)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert labels.shape == (1500, 2000)
    assert peak < most * labels.size


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_equal_colours_are_labelled_once_and_alike(channels, monkeypatch):
    """A picture of bytes and the same one in floats, of which every pixel is labelled, give the same segments."""
    monkeypatch.setattr(module, "PIXEL_BLOCK", 100)
    picture = np.random.default_rng(0).integers(0, 5, (15, 20, channels), dtype=np.uint8) * 40
    if channels == 4:
        picture[:, :, -1] = 255
    once = module._pixels(picture, 3, 0.0, 0.0)
    assert len(once.rows) == len(np.unique(picture.reshape(300, -1), axis=0))
    assert once.counts.sum() == 300
    every = (picture / np.float32(255)).astype(np.float32)
    assert len(module._pixels(every, 3, 0.0, 0.0).rows) == 300
    for recursive in (True, False):
        arguments = {"n_segments": 3, "estimator": "max-margin", "recursive": recursive, "random_state": 0}
        np.testing.assert_array_equal(segment(picture, **arguments), segment(every, **arguments))


def test_a_flat_colour_has_no_scatter_whatever_its_value():
    picture = np.full((9, 9, 3), 179, np.uint8)
    with pytest.raises(InvalidDataError, match="All pixels have one colour, too few for 2 segments; ask for at most 1"):
        segment(picture, 2)
    with pytest.raises(InvalidDataError, match="All 81 pixels are equal within their 1 segment"):
        segment(picture / 255, 2)


@pytest.mark.parametrize(
    ("picture", "parameters", "message"),
    [
        (np.zeros(5), {}, r"image has shape \(5,\)"),
        ("photo.jpg", {}, "image is the name 'photo.jpg'; open it first"),
        (np.zeros((2, 2, 7)), {}, r"shape \(2, 2, 7\).*1 to 4 channels"),
        (np.zeros((0, 4)), {}, "not empty"),
        (np.full((3, 3), 300), {}, "from 300 to 300; integers must be 0 to 255"),
        (np.full((3, 3), -0.5), {}, "from -0.5 to -0.5"),
        (np.full((3, 3), np.nan), {}, "rescale"),
        (np.array([["a", "b"]]), {}, "must be numbers"),
        (np.zeros((3, 3)), {"n_segments": 2}, "All 9 pixels are equal within their 1 segment,.*ask for fewer"),
        (np.eye(3), {"n_segments": 10}, "n_segments=10 .* from 1 to 9 pixels"),
        (np.eye(3), {"n_segments": 1.5}, "n_segments=1.5"),
        (np.eye(3), {"n_segments": "many"}, "n_segments='many' .* or 'auto'"),
        (np.eye(3, dtype=np.uint8), {"n_segments": 3}, "only 2 different colours, too few for 3 .* at most 2"),
        (np.eye(3), {"estimator": "k-means"}, "estimator='k-means' is not known; choose iter-svr, max-margin, cpm3c"),
    ],
)
def test_refusals(picture, parameters, message):
    with pytest.raises((InvalidDataError, ValueError), match=message):
        segment(picture, **parameters)


def test_overlay_refuses_labels_of_another_shape():
    with pytest.raises(InvalidDataError, match=r"labels has shape \(2, 2\), the image \(3, 3\)"):
        overlay(np.eye(3), np.zeros((2, 2)))


def test_examples_in_the_docstrings_run():
    assert doctest.testmod(module).failed == 0


@requires_data
@pytest.mark.parametrize(("photo", "estimator"), [("113044", "iter-svr"), ("113016", "max-margin")])
def test_a_horse_is_told_from_its_meadow(photo, estimator):
    """Every region that a person drew lies in one of the two segments, up to 5 % of the pixels (measured: 2 %)."""
    PIL = pytest.importorskip("PIL.Image")
    folder = Path(os.environ["WIDEGAP_DATA"], "bsds500")
    labels = segment(PIL.open(next(folder.rglob(f"{photo}.jpg"))), 2, estimator, random_state=0)
    for regions in np.load(folder / "ground_truth.npz")[photo]:
        pure = sum(np.bincount(labels[regions == region]).max() for region in np.unique(regions))
        assert pure >= 0.95 * labels.size
    assert np.bincount(labels.ravel()).min() >= 0.1 * labels.size


def test_a_colour_that_fills_more_than_a_segment_may_hold_stays_whole():
    image = np.full((30, 30), 255, np.uint8)
    image[3:8, 3:9] = 40
    labels = segment(image, 2, random_state=0)
    assert len(np.unique(labels[image == 255])) == len(np.unique(labels[image == 40])) == 1
    assert len(np.unique(labels)) == 2


# The number of segments


COLOURS = np.array([[220, 40, 40], [40, 60, 210], [245, 235, 90], [40, 170, 70], [20, 20, 20], [240, 240, 240]])


def drawing(k, noise, seed=0):
    """Rectangles of k - 1 colours on the first one, and which colour each pixel has."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((90, 120), int)
    for j in range(1, k):
        row, column = rng.integers(0, 60), 19 * (j - 1)
        labels[row : row + 28, column : column + 17] = j
    noisy = COLOURS[labels] + rng.normal(0, noise, (90, 120, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8), labels


@pytest.mark.parametrize(("k", "noise", "recursive"), [(2, 10, True), (3, 0, False), (4, 10, False), (6, 10, True)])
def test_the_number_of_segments_is_found(k, noise, recursive):
    """Measured: all of 2 to 6 colours with noise of 0, 10 and 25, each with an accuracy of 0.998 or more."""
    picture, truth = drawing(k, noise)
    labels = segment(picture, "auto", recursive=recursive, random_state=0)
    assert labels.max() + 1 == k
    assert metrics.clustering_accuracy(truth.ravel(), labels.ravel()) > 0.99


def test_one_colour_is_one_segment_and_no_groups_are_two():
    assert segment(np.full((20, 20, 3), 90, np.uint8), "auto").max() == 0
    ramp = np.tile(np.linspace(0, 1, 60), (40, 1))
    assert segment(ramp, "auto", random_state=0).max() >= 1
    assert segment(np.array([[0.0, 1.0]]), "auto", random_state=0).max() == 1


def test_bisections_end_at_the_number_that_is_found():
    picture, _ = drawing(4, 5)
    assert [labels.max() + 1 for labels in bisections(picture, "auto", random_state=0)] == [1, 2, 3, 4]
