"""Texts that are numbers: currencies, percent, thousands, decimal commas, brackets for minus; read in bulk.

A column has one decimal sign. Texts such as 12,5 or 1.234,5 can only be read with a comma, 12.5 or 1,234.5 only with a
point; 1,234 and 1.234 with both. So every column is tried with both signs, and the one that reads more cells is taken;
where both read the same, what the rest of the table uses.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Floats = np.ndarray[Any, Any]
Strings = Any  # pa.StringArray

CURRENCY = (
    r"(?:[A-Z]{1,2}\$|R\$|[$€£¥₹₽₩₺₫₴₦₱฿]|(?i:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|"
    r"euros?|dollars?|kr\.?|zł|Kč|Rs\.?))"
)
BEFORE = rf"^([-+]?)\s*{CURRENCY}\s*([-+]?[\d.,])"
AFTER = rf"\s*(?:{CURRENCY}|%|,-|\.-)$"
BRACKETS = r"^\((.*\d.*)\)$"
EXPONENT = r"(?:[eE][-+]?\d{1,3})?"
POINT = rf"^[-+]?(?:(?:[1-9]\d{{0,2}}(?:,\d{{3}})+|[1-9]\d{{0,2}}(?:['’ ]\d{{3}})+|\d+)(?:\.\d*)?|\.\d+){EXPONENT}$"
COMMA = rf"^[-+]?(?:(?:[1-9]\d{{0,2}}(?:\.\d{{3}})+|[1-9]\d{{0,2}}(?:['’ ]\d{{3}})+|\d+)(?:,\d*)?|,\d+){EXPONENT}$"
PATTERNS = {".": POINT, ",": COMMA}
SPACES = "[\u00a0\u2007\u2009\u202f]"
MINUS = "^[\u2212\u2013]"


@dataclass(frozen=True)
class Numbers:
    """Numbers read from texts, NaN where a text is none; their decimal sign, and what they were dressed in."""

    values: Floats
    decimal: str
    is_percent: bool = False
    currency: str = ""

    @property
    def read(self) -> Any:
        return ~np.isnan(self.values)


def read_plain(texts: Strings) -> Floats | None:
    """All texts as numbers if they are written as Python writes them, gaps as NaN; None if any is not."""
    try:
        found = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return None if np.isinf(found).any() else found


def read_numbers(texts: Strings, counts: Any, decimal: str | None, usual: str = ".") -> Numbers:
    """Numbers in distinct texts that occur ``counts`` times; ``usual`` decides the decimal sign where both would do."""
    bare, currency, is_percent = _undressed(texts)
    signs = (decimal,) if decimal else (usual, "," if usual == "." else ".")
    fits = {sign: _matches(bare, PATTERNS[sign]) for sign in signs}
    sign = max(signs, key=lambda sign: counts[fits[sign]].sum())  # the first of equals
    values = _as_floats(bare, fits[sign], sign)
    return Numbers(values, sign, is_percent, currency)


def plain_numbers(texts: Strings, decimal: str) -> Floats:
    """Numbers written with this decimal sign and nothing else; NaN for other texts."""
    return _as_floats(texts, _matches(texts, PATTERNS[decimal]), decimal)


def comma_evidence(texts: Strings) -> int:
    """How many distinct texts are numbers with a decimal comma only, less those with a decimal point only."""
    bare, _, _ = _undressed(texts)
    point, comma = _matches(bare, POINT), _matches(bare, COMMA)
    return int(np.count_nonzero(comma & ~point)) - int(np.count_nonzero(point & ~comma))


def _undressed(texts: Strings) -> tuple[Strings, str, bool]:
    """The texts without signs of currency, percent and brackets, which currency it was, and whether it was percent."""
    bare = pc.replace_substring_regex(pc.replace_substring_regex(texts, SPACES, " "), MINUS, "-")
    bare = pc.replace_substring_regex(bare, BRACKETS, r"-\1")
    is_percent = bool(pc.any(pc.ends_with(bare, "%")).as_py())
    found = pc.extract_regex(bare, rf"(?P<sign>{CURRENCY})").drop_null()
    currency = found[0]["sign"].as_py() if len(found) else ""
    bare = pc.replace_substring_regex(bare, BEFORE, r"\1\2")
    return pc.replace_substring_regex(bare, AFTER, ""), currency, is_percent


def _matches(texts: Strings, pattern: str) -> Any:
    return pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False).astype(bool)


def _as_floats(texts: Strings, fits: Any, decimal: str) -> Floats:
    values = np.full(len(texts), np.nan)
    chosen = pc.filter(texts, pa.array(fits))
    thousands = r"[,'’ ]" if decimal == "." else r"[.'’ ]"
    plain = pc.replace_substring_regex(chosen, thousands, "")
    plain = plain if decimal == "." else pc.replace_substring(plain, ",", ".")
    values[fits] = pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False)
    values[np.isinf(values)] = np.nan
    return values
