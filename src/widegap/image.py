"""Image segmentation: every pixel is a row of colours, and a clusterer finds the segments.

``segment`` is all that most users need; ``bisections`` shows how the recursive form of Zhang, Tsang and Kwok
("Maximum margin clustering made practical", Fig. 10) gets there, one split after the other; ``overlay`` and ``paint``
draw the result. Clusterers are fitted to a sample of the pixels and label the others with ``predict``, so that time and
memory grow with the number of pixels alone: the table of features takes 4 bytes a pixel and column.
"""

from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter
from sklearn.base import clone

from widegap._validation import check_generator
from widegap.estimators._cpm3c import CPM3C
from widegap.estimators._iterative import IterSVR
from widegap.estimators._max_margin import MaxMarginClustering
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError

__all__ = ["bisections", "overlay", "paint", "pixel_features", "segment"]

SAMPLE = 5000  # pixels to which a clusterer is fitted
NO_BOUND = 0.5  # of ``balance``: sizes from 0 to n
TEXTURE_WINDOW = 7
LUMINANCE = (0.299, 0.587, 0.114)
ESTIMATORS = {
    # Objects rarely fill half of a picture: each side of a split may take from 25 to 75 %.
    "iter-svr": lambda: IterSVR(balance=0.25),
    "max-margin": MaxMarginClustering,
    "cpm3c": lambda: CPM3C(balance=0.5),
}


def segment(image, n_segments=2, estimator="iter-svr", *, recursive=True, position=0.0, texture=0.0, random_state=None):
    """Label every pixel with its segment.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        Grey values, RGB or RGBA; integers from 0 to 255 or floats from 0 to 1. Transparent pixels are laid on white.
    n_segments : int, default=2
        Number of segments.
    estimator : {"iter-svr", "max-margin", "cpm3c"} or estimator, default="iter-svr"
        A clusterer with ``n_clusters``, ``fit`` and ``predict``.
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
        Segments from 0 to n_segments - 1, by falling number of pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from widegap.image import segment
    >>> image = np.zeros((20, 30))
    >>> image[5:12, 8:20] = 0.9
    >>> np.bincount(segment(image, 2, random_state=0).ravel()).tolist()
    [516, 84]
    """
    if recursive:
        *_, labels = bisections(
            image, n_segments, estimator, position=position, texture=texture, random_state=random_state
        )
        return labels
    X, shape = _pixels(image, n_segments, position, texture)
    rng = check_generator(random_state)
    return _by_size(_fit_predict(X, n_segments, estimator, rng)).reshape(shape)


def bisections(image, n_segments=2, estimator="iter-svr", *, position=0.0, texture=0.0, random_state=None):
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
    X, shape = _pixels(image, n_segments, position, texture)
    rng = check_generator(random_state)
    labels = np.zeros(len(X), np.int32)
    yield labels.reshape(shape).copy()
    for n_found in range(1, n_segments):
        widest = _widest(X, labels, n_found)
        inside = np.flatnonzero(labels == widest)
        parts = _fit_predict(X[inside], 2, estimator, rng)
        labels[inside[parts == 1]] = n_found
        yield _by_size(labels).reshape(shape)


def pixel_features(image, *, position=0.0, texture=0.0):
    """Rows of colours from 0 to 1, one a pixel, and what else was asked for.

    Parameters
    ----------
    image, position, texture
        As for :func:`segment`.

    Returns
    -------
    ndarray of shape (height * width, n_columns), dtype float32
    """
    colours = _colours(image)
    height, width = colours.shape[:2]
    columns = [colours.reshape(height * width, -1)]
    if position:
        places = np.indices((height, width), dtype=np.float32).reshape(2, -1).T
        columns.append(np.float32(position) * places / max(height, width))
    if texture:
        brightness = colours @ np.float32(LUMINANCE) if colours.shape[2] == 3 else colours[:, :, 0]
        mean = uniform_filter(brightness, TEXTURE_WINDOW)
        variance = uniform_filter(np.square(brightness), TEXTURE_WINDOW) - np.square(mean)
        columns.append(np.float32(texture) * np.sqrt(np.maximum(variance, 0)).reshape(-1, 1))
    return np.hstack(columns) if len(columns) > 1 else columns[0]


def overlay(image, labels, colour=(255, 40, 40)):
    """The image in RGB with the boundaries between segments drawn into it.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        As for :func:`segment`.
    labels : array-like of shape (height, width)
        Segment of every pixel.
    colour : tuple of three ints, default=(255, 40, 40)
        Colour of the boundaries.

    Returns
    -------
    ndarray of shape (height, width, 3), dtype uint8
    """
    colours, labels = _colours(image), np.asarray(labels)
    _check_labels(labels, colours)
    drawn = np.rint(255 * np.broadcast_to(colours, (*labels.shape, 3))).astype(np.uint8)
    edge = np.zeros(labels.shape, bool)
    edge[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    edge[1:] |= labels[1:] != labels[:-1]
    drawn[edge] = colour
    return drawn


def paint(image, labels):
    """Every segment in the mean colour of its pixels.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        As for :func:`segment`.
    labels : array-like of shape (height, width)
        Segment of every pixel, from 0.

    Returns
    -------
    ndarray of shape (height, width, 3), dtype uint8
    """
    colours, labels = _colours(image), np.asarray(labels)
    _check_labels(labels, colours)
    sizes = np.maximum(np.bincount(labels.ravel()), 1)
    channels = np.broadcast_to(colours, (*labels.shape, 3)).reshape(-1, 3).T
    means = np.column_stack([np.bincount(labels.ravel(), channel) / sizes for channel in channels])
    return np.rint(255 * means).astype(np.uint8)[labels]


def _check_labels(labels: Any, colours: Any) -> None:
    if labels.shape != colours.shape[:2]:
        raise InvalidDataError(
            f"labels has shape {labels.shape}, the image {colours.shape[:2]}; one label a pixel is needed."
        )


def _colours(image: Any) -> np.ndarray[Any, Any]:
    """Colours from 0 to 1 in float32, shape (height, width, 1 or 3)."""
    if isinstance(image, str | PathLike):
        raise InvalidDataError(f"image is the name {str(image)!r}; open it first, for example with PIL.Image.open.")
    image = np.asarray(image)
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.shape[2] not in (1, 2, 3, 4) or 0 in image.shape:
        raise InvalidDataError(
            f"image has shape {image.shape}; it must be (height, width) or (height, width, 1 to 4 channels), not empty."
        )
    if image.dtype.kind not in "uif":
        raise InvalidDataError(f"image holds {image.dtype}; its values must be numbers.")
    values = image.astype(np.float32)
    if image.dtype.kind in "ui":
        values /= 255
    if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
        raise InvalidDataError(
            f"image holds values from {image.min():g} to {image.max():g}; integers must lie in 0 to 255 and floats in "
            "0 to 1: rescale it."
        )
    if image.shape[2] in (2, 4):
        values, alpha = values[:, :, :-1], values[:, :, -1:]
        values = values * alpha + (1 - alpha)
    return values


def _pixels(image: Any, n_segments: int, position: float, texture: float) -> tuple[Any, tuple[int, int]]:
    """Features of the pixels and the shape of the image."""
    X = pixel_features(image, position=position, texture=texture)
    if not isinstance(n_segments, Integral) or not 1 <= n_segments <= len(X):
        raise ValueError(f"n_segments={n_segments!r} is out of range; it must be an integer from 1 to {len(X)} pixels.")
    shape = np.shape(image)
    return X, (shape[0], shape[1])


def _fit_predict(X: Any, n_clusters: int, estimator: Any, rng: np.random.Generator) -> Any:
    """Cluster a sample of the rows, and predict the others."""
    if n_clusters == 1:
        return np.zeros(len(X), np.int32)
    sample = X[np.sort(rng.choice(len(X), min(len(X), SAMPLE), replace=False))]
    model = _clusterer(estimator, n_clusters, rng)
    try:
        return model.fit(sample).predict(X)
    except InfeasibleBalanceError:  # one flat colour fills more than a segment may hold, as in drawings
        return model.set_params(balance=NO_BOUND).fit(sample).predict(X)


def _clusterer(estimator: Any, n_clusters: int, rng: np.random.Generator) -> Any:
    if isinstance(estimator, str):
        if estimator not in ESTIMATORS:
            raise ValueError(f"estimator={estimator!r} is not known; choose {', '.join(ESTIMATORS)} or pass one.")
        model = ESTIMATORS[estimator]()
    else:
        model = clone(estimator)
    model.set_params(n_clusters=n_clusters)
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(2**31)))
    return model


def _widest(X: Any, labels: Any, n_found: int) -> int:
    """The segment with the largest sum of squared distances to its mean."""
    scatters = [X[labels == p].var(axis=0, dtype=np.float64).sum() * np.sum(labels == p) for p in range(n_found)]
    if not max(scatters) > 0:
        raise InvalidDataError(
            f"All {len(X)} pixels are equal within their {n_found} segments, so that none can be split; ask for fewer."
        )
    return int(np.argmax(scatters))


def _by_size(labels: Any) -> Any:
    """Rename segments so that the largest is 0."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    names = np.empty(len(order), np.int32)
    names[order] = np.arange(len(order))
    return names[labels]
