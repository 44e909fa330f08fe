"""Image segmentation: every pixel is a row of colours, and a clusterer finds the segments.

``segment`` is all that most users need; ``bisections`` shows how the recursive form of Zhang, Tsang and Kwok
("Maximum margin clustering made practical", Fig. 10) gets there, one split after the other; ``clean`` smooths the
result, ``describe_segments`` lists areas, colours and places, and ``overlay``, ``tint`` and ``paint`` draw them.
Clusterers are fitted to a sample of the pixels and label the rest with ``predict``, block by block, so that time and
memory grow with the number of pixels alone. In pictures with 8 bits a channel every different colour is labelled once,
however many pixels have it; where each pixel has features of its own (position, texture, more bits), their table takes
4 bytes a pixel and column.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter
from sklearn.base import clone

from widegap._types import Doubles, Indices, Ints, Labels
from widegap._wording import counted
from widegap.base._validation import check_generator
from widegap.cutting_plane._cpm3c import CPM3C
from widegap.exceptions import InvalidDataError
from widegap.forest._max_margin import MaxMarginClustering
from widegap.iterative._iterative import IterSVR
from widegap.iterative._iterative_clusterer import IterativeClusterer
from widegap.iterative._regions import (
    Bytes,
    Features,
    Picture,
    clean,
    describe_segments,
    overlay,
    paint,
    picture_array,
    picture_colours,
    tint,
)
from widegap.rows._sampling import drawn

__all__ = ["bisections", "clean", "describe_segments", "overlay", "paint", "pixel_features", "segment", "tint"]

FITTED_PIXELS = 5000  # pixels to which a clusterer is fitted
NUMBER_PIXELS = 2000  # pixels from which the number of segments is found: in less than a second; 5,000 vary as much
SMALL_SEGMENT = (
    0.02  # share of n / k pixels that a segment keeps if their number is found; chosen on drawings with noise
)
FEWEST_PIXELS = 10  # from which a number of segments can be found; not tuned
MOST_FOUND = 256  # segments that "auto" gives at most: a label picture has no more
PIXEL_BLOCK = 1 << 17  # pixels that are worked on at a time
MOST_DIVIDED = 0.01  # share of the sampled pixels that may be labelled unlike others of their colour
TEXTURE_WINDOW = 7  # pixels a side. Not tuned: fabric and grass show their grain, and edges stay narrow
LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, as in ITU-R BT.601
SEGMENTERS = {
    # Objects rarely fill half of a picture: each side of a split may take from 25 to 75 %.
    "iter-svr": lambda: IterSVR(min_cluster_fraction=0.5),
    # Pixels have no neighbourhood of their own among colours, only mass: moves suit them.
    "max-margin": lambda: MaxMarginClustering(search="moves"),
    "cpm3c": lambda: CPM3C(balance=0.5),
}


def segment(
    image: Picture,
    n_segments: int | str = 2,
    estimator: Any = "auto",
    *,
    recursive: bool = True,
    position: float = 0.0,
    texture: float = 0.0,
    random_state: Any = None,
) -> Labels:
    """Label every pixel with its segment.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        Grey values, RGB or RGBA; integers from 0 to 255 or floats from 0 to 1. Transparent pixels are laid on white.
    n_segments : int or "auto", default=2
        Number of segments. "auto" finds it: as many as :class:`MaxMarginClustering` with ``n_clusters="auto"`` finds
        among 2,000 pixels, at most 256. A picture whose colours form no groups, such as many photos, is split in two;
        one of a single colour stays whole.
    estimator : {"auto", "iter-svr", "max-margin", "cpm3c"} or estimator, default="auto"
        A clusterer with ``n_clusters``, ``fit`` and ``predict``. "auto" is "max-margin", with small segments allowed,
        if the number of segments is to be found, else "iter-svr", which gives each side of a split at least a quarter.
    recursive : bool, default=True
        Split in two again and again, the segment with the most scatter first. Otherwise the estimator is asked for
        ``n_segments`` clusters at once.
    position : float, default=0.0
        Weight of a pixel's place (0 to 1 along the longer side) beside its colours.
    texture : float, default=0.0
        Weight of the local deviation of brightness, over 7 x 7 pixels.
    random_state : int, RandomState instance or None, default=None
        Determines the sample of pixels and the estimator.

    Returns
    -------
    ndarray of shape (height, width), dtype int32
        Segments from 0 on, by falling number of pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from widegap.image import segment
    >>> image = np.zeros((20, 30))
    >>> image[5:12, 8:20] = 0.9
    >>> np.bincount(segment(image, 2, random_state=0).ravel()).tolist()
    [516, 84]
    >>> int(segment(image, "auto", random_state=0).max()) + 1
    2
    """
    if recursive:
        *_, labels = bisections(
            image, n_segments, estimator, position=position, texture=texture, random_state=random_state
        )
        return labels
    pixels, rng = _pixels(image, n_segments, position, texture), check_generator(random_state)
    number = _number(pixels, n_segments, rng)
    labels = np.zeros(len(pixels.rows), np.int32)
    _divide(pixels, labels, 0, range(number), _method(estimator, n_segments), rng)
    return pixels.picture(labels)


def bisections(
    image: Picture,
    n_segments: int | str = 2,
    estimator: Any = "auto",
    *,
    position: float = 0.0,
    texture: float = 0.0,
    random_state: Any = None,
) -> Iterator[Labels]:
    """Label images after every split, from one segment to ``n_segments``.

    Parameters
    ----------
    image, n_segments, estimator, position, texture, random_state
        As for :func:`segment`.

    Yields
    ------
    ndarray of shape (height, width), dtype int32
        Segments so far, by falling number of pixels.
    """
    pixels = _pixels(image, n_segments, position, texture)
    rng = check_generator(random_state)
    number = _number(pixels, n_segments, rng)
    labels = np.zeros(len(pixels.rows), np.int32)
    yield pixels.picture(labels)
    for n_found in range(1, number):
        widest = _widest(pixels, labels, n_found)
        _divide(pixels, labels, widest, (widest, n_found), _method(estimator, n_segments), rng)
        yield pixels.picture(labels)


def pixel_features(image: Picture, *, position: float = 0.0, texture: float = 0.0) -> Features:
    """Rows of colours from 0 to 1, one for each pixel, and the further features asked for.

    Parameters
    ----------
    image, position, texture
        As for :func:`segment`.

    Returns
    -------
    ndarray of shape (height * width, n_columns), dtype float32
    """
    colours = picture_colours(image)
    height, width, n_channels = colours.shape
    if not position and not texture:
        return colours.reshape(height * width, n_channels)
    X = np.empty((height, width, n_channels + 2 * bool(position) + bool(texture)), np.float32)
    X[:, :, :n_channels] = colours
    if position:
        along = np.float32(position) * np.arange(max(height, width), dtype=np.float32) / max(height, width)
        X[:, :, n_channels] = along[:height, None]
        X[:, :, n_channels + 1] = along[:width]
    if texture:
        brightness = colours @ np.asarray(LUMINANCE, np.float32) if n_channels == 3 else colours[:, :, 0]
        del colours
        variance = uniform_filter(np.square(brightness), TEXTURE_WINDOW)
        variance -= np.square(uniform_filter(brightness, TEXTURE_WINDOW))
        X[:, :, -1] = np.float32(texture) * np.sqrt(np.maximum(variance, 0, out=variance), out=variance)
    return X.reshape(height * width, -1)


@dataclass(frozen=True)
class _Pixels:
    """Features of the pixels, equal ones once.

    ``rows`` (n_rows, n_columns) are the features, ``counts`` how many pixels have each, ``places`` (n_pixels,) which
    row a pixel has; the latter two are None if every pixel has a row of its own.
    """

    shape: tuple[int, int]
    rows: Features
    places: Labels | None = None
    counts: Doubles | None = None

    def of_pixels(self, values: Labels) -> Iterator[tuple[slice, Labels]]:
        """Values of the rows for one block of pixels after the other."""
        for block in _blocks(self.shape[0] * self.shape[1]):
            yield block, values[block] if self.places is None else values[self.places[block]]

    def sizes(self, labels: Labels, n_labels: int) -> Ints:
        """Number of pixels with each label."""
        return np.bincount(labels, self.counts, n_labels).astype(np.int64)

    def picture(self, labels: Labels) -> Labels:
        """Labels of the pixels, renamed so that the largest segment is 0."""
        order = np.argsort(-self.sizes(labels, int(labels.max()) + 1), kind="stable")
        names = np.empty(len(order), np.int32)
        names[order] = np.arange(len(order))
        found = np.empty(self.shape[0] * self.shape[1], np.int32)
        for block, values in self.of_pixels(names[labels]):
            found[block] = values
        return found.reshape(self.shape)

    def sample(self, labels: Labels, wanted: int, rng: np.random.Generator) -> Features:
        """Features of pixels drawn from those with one label."""
        n = int(self.sizes(labels, wanted + 1)[wanted])
        ranks = drawn(n, FITTED_PIXELS, rng)
        found, seen = [], 0
        for block, values in self.of_pixels(labels):
            inside = np.flatnonzero(values == wanted)
            here = ranks[np.searchsorted(ranks, seen) : np.searchsorted(ranks, seen + len(inside))] - seen
            found.append(block.start + inside[here])
            seen += len(inside)
        pixels = np.concatenate(found)
        return self.rows[pixels if self.places is None else self.places[pixels]]


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, PIXEL_BLOCK):
        yield slice(start, min(n, start + PIXEL_BLOCK))


def _number(pixels: _Pixels, n_segments: int | str, rng: np.random.Generator) -> int:
    """The number of segments as it was asked for, or as it is found; refuses more than there are colours."""
    if isinstance(n_segments, str):
        return found_number(pixels.sample(np.zeros(len(pixels.rows), np.int32), 0, rng), rng)
    n_colours = None if pixels.counts is None else len(pixels.rows)
    if n_colours is not None and n_colours < n_segments:
        few = "All pixels have one colour" if n_colours == 1 else f"The pixels have only {n_colours} different colours"
        raise InvalidDataError(f"{few}, too few for {n_segments} segments; ask for at most {n_colours}.")
    return n_segments


def _method(estimator: Any, n_segments: int | str) -> Any:
    """The clusterer, or the one that suits: segments that are found may be small, and no bound may divide others."""
    if not isinstance(estimator, str) or estimator != "auto":
        return estimator
    if not isinstance(n_segments, str):
        return "iter-svr"
    return SEGMENTERS["max-margin"]().set_params(min_cluster_fraction=SMALL_SEGMENT)


def found_number(rows: Features, rng: np.random.Generator) -> int:
    """How many segments the features of some pixels show; where they form no groups, a picture is split in two."""
    rows = rows[drawn(len(rows), NUMBER_PIXELS, rng)]
    if not np.ptp(rows, axis=0).any():
        return 1
    if len(rows) < FEWEST_PIXELS:
        return 2
    model = MaxMarginClustering("auto", random_state=int(rng.integers(2**31))).fit(rows)
    return min(max(2, int(model.n_clusters_)), MOST_FOUND)


def _pixels(image: Picture, n_segments: int | str, position: float, texture: float) -> _Pixels:
    """The pixels of an image that is to be divided into segments."""
    pixels = picture_array(image)
    height, width, n_channels = pixels.shape
    n = height * width
    if n_segments != "auto" and (not isinstance(n_segments, Integral) or not 1 <= n_segments <= n):
        raise ValueError(
            f"n_segments={n_segments!r} is out of range; it must be an integer from 1 to {n} pixels, or 'auto'."
        )
    if n_channels in (2, 4) and pixels.dtype == np.uint8 and pixels[:, :, -1].min() == 255:
        pixels, n_channels = pixels[:, :, :-1], n_channels - 1  # nothing is transparent
    if position or texture or pixels.dtype != np.uint8 or n_channels not in (1, 3):
        return _Pixels((height, width), pixel_features(pixels, position=position, texture=texture))
    return _Pixels((height, width), *_distinct(pixels))


def _distinct(image: Bytes) -> tuple[Features, Labels, Doubles]:
    """Different colours of an image of bytes as features, which one every pixel has, and how often each occurs."""
    height, width, n_channels = image.shape
    n = height * width
    table = np.zeros(1 << (8 * n_channels), np.int32)
    places = np.zeros((height, width), np.int32)
    for channel in range(n_channels):
        places <<= 8
        places |= image[:, :, channel]
    places = places.reshape(n)
    for block in _blocks(n):
        table[places[block]] = 1
    codes = np.flatnonzero(table)
    table[codes] = np.arange(len(codes), dtype=np.int32)
    counts = np.zeros(len(codes))
    for block in _blocks(n):
        places[block] = table[places[block]]
        counts += np.bincount(places[block], minlength=len(codes))
    channels = [codes >> (8 * j) & 255 for j in reversed(range(n_channels))]
    return pixel_features(np.stack(channels, axis=-1)[None].astype(np.uint8)), places, counts


def _divide(
    pixels: _Pixels, labels: Labels, part: int, names: Sequence[int], estimator: Any, rng: np.random.Generator
) -> None:
    """Cluster a sample of one segment, and write the names of its parts into the labels of all rows."""
    if len(names) == 1:
        return
    sample = pixels.sample(labels, part, rng)
    model = _clusterer(estimator, len(names), rng)
    model.fit(sample)
    if isinstance(model, IterativeClusterer) and np.mean(model.predict(sample) != model.labels_) > MOST_DIVIDED:
        # One flat colour fills more than a segment may hold, as in drawings: it was divided to meet the bound.
        model.set_params(min_cluster_fraction=0.0).fit(sample)
    numbers = np.asarray(names, np.int32)
    for block in _blocks(len(labels)):
        inside = np.flatnonzero(labels[block] == part) + block.start
        if len(inside):
            labels[inside] = numbers[model.predict(pixels.rows[inside])]


def _clusterer(estimator: Any, n_clusters: int, rng: np.random.Generator) -> Any:
    if isinstance(estimator, str):
        if estimator not in SEGMENTERS:
            raise ValueError(f"estimator={estimator!r} is not known; choose {', '.join(SEGMENTERS)} or pass one.")
        model = SEGMENTERS[estimator]()
    else:
        model = clone(estimator)
    model.set_params(n_clusters=n_clusters)
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(2**31)))
    return model


def _widest(pixels: _Pixels, labels: Labels, n_found: int) -> int:
    """The segment with the largest sum of squared distances to its mean."""
    scatters = [_scatter(pixels, np.flatnonzero(labels == part)) for part in range(n_found)]
    if not max(scatters) > 0:
        n = pixels.shape[0] * pixels.shape[1]
        raise InvalidDataError(
            f"All {n} pixels are equal within their {counted(n_found, 'segment')}, so that none can be split; ask for "
            "fewer."
        )
    return int(np.argmax(scatters))


def _scatter(pixels: _Pixels, inside: Indices) -> float:
    """Sum of squared distances to the mean; exactly 0 if all are equal."""
    total, moment, square = 0.0, np.zeros(pixels.rows.shape[1]), 0.0
    for block in _blocks(len(inside)):
        rows = (pixels.rows[inside[block]] - pixels.rows[inside[0]]).astype(np.float64)
        weights = np.ones(len(rows)) if pixels.counts is None else pixels.counts[inside[block]]
        total += weights.sum()
        moment = moment + weights @ rows
        square += weights @ np.square(rows).sum(axis=1)
    return float(square - np.square(moment).sum() / max(total, 1.0))
