"""Tables whose columns are pixels: recognised by the names or the values, and shown as mean pictures."""

import base64
import math
import re
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

LEAST_SIDE = 7  # pixels; the digits of scikit-learn have 8, and smaller squares of columns are common tables
MOST_PIXELS = 128 * 128  # larger mean pictures would make the page heavy
SMOOTH = 0.6  # how much neighbours differ, in units of pixels at random: digits 0.07 and 0.41, noise about 1
PIXEL_NAMES = re.compile(r"(px|pix|pixel)s?[ _]*\d+|column \d+|\d+|x\d+", re.IGNORECASE)


def picture_shape(names: Sequence[str], mean: Any) -> tuple[int, int] | None:
    """Height and width if columns are the pixels of square pictures, row by row; None if they are not.

    Columns must be numbered or called pixels, their number a square, and their mean a picture: neighbours, also in the
    next row, are more alike than pixels at random.
    """
    side = math.isqrt(len(names))
    if side * side != len(names) or side < LEAST_SIDE or len(names) > MOST_PIXELS:
        return None
    if not all(PIXEL_NAMES.fullmatch(str(name)) or str(name).lower().startswith("pixel") for name in names):
        return None
    picture = np.asarray(mean, dtype=float).reshape(side, side)
    spread = 2 * picture.var()  # mean squared difference of two pixels at random
    steps = (np.square(np.diff(picture, axis=axis)).mean() for axis in (0, 1))
    return (side, side) if spread > 0 and max(steps) < SMOOTH * spread else None


def grey_picture(values: Any, low: float, high: float) -> str:
    """A picture as a data address: dark where values are large, like ink."""
    values = np.asarray(values, dtype=float)
    grey = np.rint(255 * (1 - np.clip((values - low) / max(high - low, np.finfo(float).tiny), 0, 1))).astype(np.uint8)
    height, width = grey.shape
    rows = b"".join(b"\0" + row.tobytes() for row in grey)  # every row without a filter
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
