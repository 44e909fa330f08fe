"""Texts that are numbers: currencies, percent, thousands, decimal commas, brackets for minus; read in bulk.

A column has one decimal sign. Texts such as 12,5 or 1.234,5 can only be read with a comma, 12.5 or 1,234.5 only with a
point; 1,234 and 1.234 with both. So every column is tried with both signs, and the one that reads more cells is taken;
where both read the same, what the rest of the table uses.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from widegap._types import Codes, Doubles, Ints, Labels, Mask

CURRENCY = (
    r"(?:[A-Z]{1,2}\$|R\$|[$€£¥₹₽₩₺₫₴₦₱฿]|(?i:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|"
    r"euros?|dollars?|kr\.?|zł|Kč|Rs\.?))"
)
BEFORE = rf"^([-+]?)\s*{CURRENCY}\s*([-+]?[\d.,])"
AFTER = rf"\s*(?:{CURRENCY}|%|,-|\.-)$"
BRACKETS = r"^\((.*\d.*)\)$"
EXPONENT = r"(?:[eE][-+]?\d{1,3})?"
POINT_NUMBER = (
    rf"^[-+]?(?:(?:[1-9]\d{{0,2}}(?:,\d{{3}})+|[1-9]\d{{0,2}}(?:['’ ]\d{{3}})+|\d+)(?:\.\d*)?|\.\d+){EXPONENT}$"
)
COMMA_NUMBER = (
    rf"^[-+]?(?:(?:[1-9]\d{{0,2}}(?:\.\d{{3}})+|[1-9]\d{{0,2}}(?:['’ ]\d{{3}})+|\d+)(?:,\d*)?|,\d+){EXPONENT}$"
)
PATTERNS = {".": POINT_NUMBER, ",": COMMA_NUMBER}
SPACES = "\u00a0\u2007\u2009\u202f"
MINUSES = "\u2212\u2013"
MOST_SHAPES = 1000  # of texts that are read shape by shape
EXACT_DIGITS = 15  # of a whole number that float64 holds for certain
ROWS_AT_ONCE = 1 << 16  # of one shape
TRIED = 1000  # cells that are tried as plain numbers before all are


@dataclass(frozen=True)
class Numbers:
    """Numbers read from texts, NaN where a text is not a number; and their decimal sign."""

    values: Doubles
    decimal: str

    @cached_property
    def read(self) -> Mask:
        """Which texts are numbers."""
        return ~np.isnan(self.values)


def read_plain(texts: pa.StringArray) -> Doubles | None:
    """All texts as numbers if they are written as Python writes them, gaps as NaN; None if any is not."""
    try:
        if len(texts) > TRIED:
            pc.cast(texts.slice(0, TRIED), pa.float64())  # Arrow is slow to refuse a column of words
        found = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return None if np.isinf(found).any() else found


def bytes_of(texts: pa.StringArray) -> tuple[Codes, npt.NDArray[np.int32]]:
    """The bytes of all texts behind each other, and where each text begins and the last one ends."""
    _, places, content = texts.buffers()
    offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return (np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)), offsets


def read_numbers(texts: pa.StringArray, counts: Ints, decimal: str | None, usual: str = ".") -> Numbers:
    """Numbers in distinct texts that occur ``counts`` times; ``usual`` decides the decimal sign where both would do."""
    shapes, shape_of = _shapes(texts)
    sizes = np.bincount(shape_of, counts, minlength=len(shapes))
    bare = _undressed(shapes)
    signs = (decimal,) if decimal else (usual, "," if usual == "." else ".")
    fits = {signs[0]: _matches(bare, PATTERNS[signs[0]])}
    if not fits[signs[0]].all():
        fits |= {sign: _matches(bare, PATTERNS[sign]) for sign in signs[1:]}
    sign = max(fits, key=lambda sign: sizes[fits[sign]].sum())  # the first of equals
    if len(shapes) > MOST_SHAPES:
        return Numbers(_as_floats(_undressed(texts), fits[sign][shape_of], sign), sign)
    return Numbers(
        _by_shape(
            texts,
            shapes,
            shape_of,
            np.where(fits[sign], np.array(_with_point(bare, sign).to_pylist(), dtype=str), ""),
            sign,
        ),
        sign,
    )


def _shapes(texts: pa.StringArray) -> tuple[pa.StringArray, Labels]:
    """The texts as the patterns see them, each different one once, and which each text has.

    All digits are 1, but for zeros behind another sign: a number with thousands does not begin with one.
    """
    parts = [_shaped(texts.slice(i, ROWS_AT_ONCE)).dictionary_encode() for i in range(0, len(texts), ROWS_AT_ONCE)]
    if not parts:
        return texts, np.zeros(0, np.int32)
    chunks = pa.chunked_array(parts).unify_dictionaries().chunks
    return chunks[0].dictionary, np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])


def _shaped(texts: pa.StringArray) -> pa.StringArray:
    content, offsets = bytes_of(texts)
    content, offsets = content[offsets[0] : offsets[-1]], offsets - offsets[0]
    digits = is_digit(content)
    changed = np.where(digits, np.uint8(ord("1")), content)
    is_zero = content == ord("0")
    is_zero[1:] &= ~digits[:-1]
    begins = offsets[:-1][offsets[:-1] < len(content)]
    is_zero[begins] = content[begins] == ord("0")
    changed[is_zero] = ord("0")
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(changed))


def _by_shape(
    texts: pa.StringArray, shapes: pa.StringArray, shape_of: Labels, written: npt.NDArray[np.str_], decimal: str
) -> Doubles:
    """Numbers of texts whose shapes are ``written`` so with a point; NaN where that is empty.

    The digits of short numbers are a whole number m and a power of ten, m 10^-k, both exact in float64, so that one
    division rounds as a parser does.
    """
    values = np.full(len(texts), np.nan)
    content, offsets = bytes_of(texts)
    places = [[i for i, sign in enumerate(shape.encode()) if sign in b"01"] for shape in shapes.to_pylist()]
    numbers: list[str] = written.tolist()
    is_short = np.array([len(digits) <= EXACT_DIGITS and "e" not in number.lower()
                         for digits, number in zip(places, numbers, strict=True)], dtype=bool)  # fmt: skip
    for start in range(0, len(texts), ROWS_AT_ONCE):
        some = shape_of[start : start + ROWS_AT_ONCE]
        order = np.argsort(some, kind="stable")
        present, first = np.unique(some[order], return_index=True)
        for shape, rows in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            if not numbers[shape] or not is_short[shape]:
                continue
            begins = offsets[start + rows]
            m = np.zeros(len(rows))
            for i in places[shape]:
                m = 10 * m + (content[begins + i] - ord("0"))
            m /= 10.0 ** len(numbers[shape].partition(".")[2])
            values[start + rows] = -m if numbers[shape].startswith("-") else m
    long = np.flatnonzero(((written != "") & ~is_short)[shape_of])
    if len(long):
        values[long] = _as_floats(_undressed(texts.take(pa.array(long))), np.ones(len(long), dtype=bool), decimal)
    return values


def plain_numbers(texts: pa.StringArray, decimal: str) -> Doubles:
    """Numbers written with this decimal sign and nothing else; NaN for other texts."""
    return _as_floats(texts, _matches(texts, PATTERNS[decimal]), decimal)


def comma_evidence(texts: pa.StringArray) -> int:
    """How many distinct texts are numbers with a decimal comma only, less those with a decimal point only."""
    bare = _undressed(texts)
    point, comma = _matches(bare, POINT_NUMBER), _matches(bare, COMMA_NUMBER)
    return int(np.count_nonzero(comma & ~point)) - int(np.count_nonzero(point & ~comma))


def _undressed(texts: pa.StringArray) -> pa.StringArray:
    """The texts without signs of currency, percent and brackets."""
    occurs, (content, offsets) = _occurring(texts), bytes_of(texts)
    bare = texts
    if any(map(occurs, SPACES)):
        bare = pc.replace_substring_regex(bare, f"[{SPACES}]", " ")
    if any(map(occurs, MINUSES)):
        bare = pc.replace_substring_regex(bare, f"^[{MINUSES}]", "-")
    if occurs("("):
        bare = pc.replace_substring_regex(bare, BRACKETS, r"-\1")
    first, last = content[offsets[:-1]], content[offsets[1:] - 1]
    if not is_digit(first).all():
        bare = pc.replace_substring_regex(bare, BEFORE, r"\1\2")
    return bare if is_digit(last).all() else pc.replace_substring_regex(bare, AFTER, "")


def is_digit(signs: Codes) -> Mask:
    """Which bytes are digits."""
    return (signs >= ord("0")) & (signs <= ord("9"))


def _occurring(texts: pa.StringArray) -> Callable[[str], bool]:
    """A test of whether a sign may occur in the texts, by the bytes they have; much faster than a search."""
    content, offsets = bytes_of(texts)
    found = np.zeros(256, dtype=bool)
    found[content[offsets[0] : offsets[-1]]] = True
    return lambda sign: bool(found[list(sign.encode())].all())


def _matches(texts: pa.StringArray, pattern: str) -> Mask:
    return pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False).astype(bool)


def _as_floats(texts: pa.StringArray, fits: Mask, decimal: str) -> Doubles:
    values = np.full(len(texts), np.nan)
    plain = pc.filter(texts, pa.array(fits))
    values[fits] = pc.cast(_with_point(plain, decimal), pa.float64()).to_numpy(zero_copy_only=False)
    values[np.isinf(values)] = np.nan
    return values


def _with_point(texts: pa.StringArray, decimal: str) -> pa.StringArray:
    """Numbers with a decimal point and nothing between thousands."""
    occurs = _occurring(texts)
    for sign in "'’ " + ("," if decimal == "." else "."):
        texts = pc.replace_substring(texts, sign, "") if occurs(sign) else texts
    return texts if decimal == "." else pc.replace_substring(texts, ",", ".")
