"""Pictures as arrays, and their segments as areas: smoothed, without tiny regions, drawn, and described one by one.

A region is a connected part of a segment: pixels that touch along a side. Colours alone scatter a textured segment over
thousands of them. ``clean`` gives every pixel the most frequent segment around it, and then hands regions below a size
to the neighbour with which they share the longest border.
"""

from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from widegap._types import Doubles, Ints, Labels
from widegap.exceptions import InvalidDataError

STRIP = 256  # rows of a picture that are worked on at a time
PALETTE = ("4269d0", "efb118", "ff725c", "6cc5b0", "3ca951", "ff8ab7", "a463f2", "97bbf5", "9c6b4e", "9498a0")
OPACITY = 0.4  # not tuned: ten colours can be distinguished, and the picture shows through

Bytes = npt.NDArray[np.uint8]
Features = npt.NDArray[np.float32]  # rows of colours from 0 to 1, place and texture


class ArrayInterface(Protocol):
    """Anything that NumPy can read without a copy, such as an image of Pillow."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


Picture = npt.ArrayLike | ArrayInterface


def clean(labels: npt.ArrayLike, *, smooth: int = 2, min_region: int = 0) -> Labels:
    """Label picture with smoother borders and without tiny regions.

    Parameters
    ----------
    labels : array-like of shape (height, width)
        Segment of every pixel, from 0.
    smooth : int, default=2
        Every pixel gets the most frequent segment within this distance, in a square, and keeps its own where there is
        a tie. 0 changes nothing.
    min_region : int, default=0
        Connected regions with fewer pixels become part of the neighbour that they share the longest border with.

    Returns
    -------
    ndarray of shape (height, width), of the type of ``labels``
        Segments keep their numbers; one that has only tiny regions may vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from widegap.image import clean
    >>> labels = np.zeros((6, 8), int)
    >>> labels[:, 4:] = 1
    >>> labels[2, 1] = 1
    >>> clean(labels, smooth=0, min_region=3)[2].tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    found: Labels = np.asarray(labels)
    if found.ndim != 2 or found.dtype.kind not in "ui":
        raise InvalidDataError(
            f"labels have shape {found.shape} and type {found.dtype}; pass integers of shape (height, width)."
        )
    if smooth < 0 or min_region < 0:
        raise ValueError(f"smooth={smooth!r} and min_region={min_region!r} must not be negative.")
    found = _smoothed(found, int(smooth)) if smooth else found
    return _without_tiny(found, int(min_region)) if min_region > 1 else found


def _smoothed(labels: Labels, radius: int) -> Labels:
    """Most frequent label in a square around every pixel, strip by strip."""
    found = np.empty_like(labels)
    for top in range(0, len(labels), STRIP):
        above = min(radius, top)
        part = labels[top - above : top + STRIP + radius]
        present = np.unique(part)
        own = np.full(part.shape, present[0], labels.dtype)
        best = _votes(part, present[0], radius)
        for label in present[1:]:
            votes = _votes(part, label, radius)
            # Sums of single precision differ in the last digits where the votes are equal.
            better = (votes > best + 1e-4) | ((votes > best - 1e-4) & (part == label))
            own[better] = label
            np.maximum(best, votes, out=best)
        found[top : top + STRIP] = own[above : above + STRIP]
    return found


def _votes(labels: Labels, label: np.int32, radius: int) -> npt.NDArray[np.float32]:
    """Share of one label in a square around every pixel."""
    inside = (labels == label).astype(np.float32)
    votes: npt.NDArray[np.float32] = ndimage.uniform_filter(inside, 2 * radius + 1, mode="nearest")
    return votes


def _components(labels: Labels) -> tuple[Labels, Labels]:
    """Number of the region of every pixel, and the segment of every region."""
    regions = np.zeros(labels.shape, np.int32)
    owners: list[int] = []
    for label in np.unique(labels):
        inside, n = ndimage.label(labels == label)
        mask = inside > 0
        regions[mask] = inside[mask] + (len(owners) - 1)
        owners += [int(label)] * n
    return regions, np.array(owners, labels.dtype)


def _without_tiny(labels: Labels, least: int) -> Labels:
    regions, owners = _components(labels)
    while True:
        sizes = np.bincount(regions.ravel(), minlength=len(owners))
        target = _neighbours_of_tiny(regions, sizes, least)
        if target is None:
            return owners[regions]
        regions = target[regions]


def _neighbours_of_tiny(regions: Labels, sizes: Ints, least: int) -> Labels | None:
    """Which region every region joins, itself if it is large enough; None if all are."""
    tiny = (sizes > 0) & (sizes < least)
    if not tiny.any() or np.count_nonzero(sizes) < 2:
        return None
    pairs = [
        np.stack([a[a != b], b[a != b]]) for a, b in ((regions[:, 1:], regions[:, :-1]), (regions[1:], regions[:-1]))
    ]
    first, second = np.concatenate(pairs, axis=1).astype(np.int64)
    first, second = np.concatenate([first, second]), np.concatenate([second, first])
    # Into larger regions only, by number where sizes are equal, so that chains of regions end.
    grows = tiny[first] & ((sizes[second] > sizes[first]) | ((sizes[second] == sizes[first]) & (second < first)))
    codes, borders = np.unique(first[grows] * len(sizes) + second[grows], return_counts=True)
    if not len(codes):
        return None
    order = np.argsort(borders, kind="stable")  # the longest border comes last, and stays
    target = np.arange(len(sizes))
    target[codes[order] // len(sizes)] = codes[order] % len(sizes)
    while (target[target] != target).any():
        target = target[target]
    return target.astype(np.int32)


def describe_segments(image: Picture, labels: npt.ArrayLike) -> list[dict[str, Any]]:
    """What each segment is: its area, mean colour and place.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        Grey values or RGB; integers from 0 to 255 or floats from 0 to 1.
    labels : array-like of shape (height, width)
        Segment of every pixel, from 0.

    Returns
    -------
    list of dict
        With segment, pixels, share, colour (as in "#4269d0"), x and y (the centre, from 0 at the left and top to 1),
        left, top, right and bottom (of the box around it, in pixels), and regions (connected parts).
    """
    pixels: Doubles = np.asarray(image)
    segments: Labels = np.asarray(labels)
    height, width = segments.shape
    if pixels.shape[:2] != segments.shape:
        raise InvalidDataError(f"labels have shape {segments.shape}, the image {pixels.shape[:2]}; make them equal.")
    n = int(segments.max()) + 1
    sums, boxes = np.zeros((n, 6)), np.tile(np.array([width, height, -1, -1]), (n, 1))
    for top in range(0, height, STRIP):
        part = segments[top : top + STRIP]
        colours = pixels[top : top + STRIP].reshape(part.size, -1)[:, :3].astype(np.float64)
        colours = np.broadcast_to(colours / (255 if pixels.dtype.kind in "ui" else 1), (part.size, 3))
        ys, xs = np.indices(part.shape).reshape(2, -1)
        weights = np.column_stack([np.ones(part.size), xs + 0.5, ys + top + 0.5, colours])
        for j in range(6):
            sums[:, j] += np.bincount(part.ravel(), weights[:, j], n)
        for column, values in enumerate((xs, ys + top)):
            np.minimum.at(boxes[:, column], part.ravel(), values)
            np.maximum.at(boxes[:, column + 2], part.ravel(), values)
    regions = np.bincount(_components(segments)[1], minlength=n)
    means = sums / np.maximum(sums[:, :1], 1)
    return [
        {
            "segment": j,
            "pixels": int(sums[j, 0]),
            "share": float(sums[j, 0] / segments.size),
            "colour": "#" + "".join(f"{round(255 * value):02x}" for value in means[j, 3:]),
            "x": float(means[j, 1] / width),
            "y": float(means[j, 2] / height),
            **dict(zip(("left", "top", "right", "bottom"), map(int, boxes[j]), strict=True)),
            "regions": int(regions[j]),
        }
        for j in range(n)
        if sums[j, 0]
    ]


def tint(image: Picture, labels: npt.ArrayLike, colours: Sequence[str] = PALETTE, opacity: float = OPACITY) -> Bytes:
    """The picture with every segment under a transparent colour of its own.

    Parameters
    ----------
    image : array-like of shape (height, width, 3), dtype uint8
        RGB.
    labels : array-like of shape (height, width)
        Segment of every pixel, from 0.
    colours : sequence of str, default=ten colours
        Such as "4269d0"; they repeat if there are more segments.
    opacity : float, default=0.4
        From 0, which shows the picture, to 1, which hides it.

    Returns
    -------
    ndarray of shape (height, width, 3), dtype uint8
    """
    pixels: Bytes = np.asarray(image)
    segments: Labels = np.asarray(labels)
    table = np.array([list(bytes.fromhex(colour)) for colour in colours], dtype=np.float32)
    found = np.empty((*segments.shape, 3), np.uint8)
    for top in range(0, len(segments), STRIP):
        part = slice(top, top + STRIP)
        found[part] = np.rint((1 - opacity) * pixels[part] + opacity * table[segments[part] % len(table)])
    return found


def overlay(image: Picture, labels: npt.ArrayLike, colour: Sequence[int] = (255, 40, 40)) -> Bytes:
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
    pixels = picture_array(image)
    segments = _check_labels(labels, pixels)
    _check_colour(colour)
    drawn = np.empty((*segments.shape, 3), np.uint8)
    for top in range(0, len(drawn), STRIP):
        drawn[top : top + STRIP] = np.rint(255 * picture_colours(pixels[top : top + STRIP]))
    edge = np.zeros(segments.shape, bool)
    edge[:, 1:] |= segments[:, 1:] != segments[:, :-1]
    edge[1:] |= segments[1:] != segments[:-1]
    drawn[edge] = colour
    return drawn


def paint(image: Picture, labels: npt.ArrayLike) -> Bytes:
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
    colours = picture_colours(image)
    segments = _check_labels(labels, colours)
    sizes = np.maximum(np.bincount(segments.ravel()), 1)
    channels = np.broadcast_to(colours, (*segments.shape, 3)).reshape(-1, 3).T
    means = np.column_stack([np.bincount(segments.ravel(), channel) / sizes for channel in channels])
    return np.rint(255 * means).astype(np.uint8)[segments]


def _check_labels(labels: npt.ArrayLike, image: Features | Bytes) -> Labels:
    """One segment for every pixel, from 0."""
    found: Labels = np.asarray(labels)
    if found.shape != image.shape[:2]:
        raise InvalidDataError(
            f"labels has shape {found.shape}, the image {image.shape[:2]}; one label a pixel is needed."
        )
    if found.dtype.kind not in "iub" or not 0 <= int(found.min()) <= int(found.max()) < found.size:
        raise InvalidDataError(f"labels holds {found.dtype}; they must be integers from 0 to {found.size - 1}.")
    return found


def _check_colour(colour: Sequence[int]) -> None:
    if len(colour) != 3 or not all(isinstance(level, Integral) and 0 <= level <= 255 for level in colour):
        raise InvalidDataError(f"colour={colour!r} is not valid; pass three integers from 0 to 255.")


def picture_array(image: Picture) -> Bytes:
    """The image as numbers of shape (height, width, channels)."""
    if isinstance(image, str | PathLike):
        raise InvalidDataError(f"image is the name {str(image)!r}; open it first, for example with PIL.Image.open.")
    found: Bytes = np.asarray(image)
    if found.ndim == 2:
        found = found[:, :, None]
    if found.ndim != 3 or found.shape[2] not in (1, 2, 3, 4) or 0 in found.shape:
        raise InvalidDataError(
            f"image has shape {found.shape}; it must be (height, width) or (height, width, 1 to 4 channels), not empty."
        )
    if found.dtype.kind not in "uif":
        raise InvalidDataError(f"image holds {found.dtype}; its values must be numbers.")
    return found


def picture_colours(image: Picture) -> Features:
    """Colours from 0 to 1 in float32, shape (height, width, 1 or 3)."""
    pixels = picture_array(image)
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        values = pixels.astype(np.float32)
    if pixels.dtype.kind in "ui":
        values /= 255
    if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
        raise InvalidDataError(
            f"image holds values from {pixels.min():g} to {pixels.max():g}; integers must be 0 to 255 and floats "
            "0 to 1: rescale it."
        )
    if pixels.shape[2] in (2, 4):
        values = values[:, :, :-1] * values[:, :, -1:] + (1 - values[:, :, -1:])
    return values
