"""From documents to words: checks, HTML, tokens and counts.

Everything that depends on a word alone (stop words, stems) is done once a distinct word, after counting.
"""

import html
import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

# Scripts without spaces between words: their text is cut into overlapping pairs of signs.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0970-\u0dff"  # accents and vowel signs inside words
_WORD = re.compile(rf"(?:(?![{_UNSPACED}])[^\W\d_]|[{_MARKS}]){{2,}}")
_RUN = re.compile(rf"[{_UNSPACED}]{{2,}}")

_HTML = re.compile(
    r"<!doctype\s+html|<html\b|</(?:a|b|body|div|h[1-6]|head|i|li|p|span|td|title|ul)\s*>", re.IGNORECASE
)
_HIDDEN = re.compile(r"<(/?)(?:script|style)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


def plain_text(document: str) -> str:
    """The document without markup if it looks like HTML, else as it is."""
    if not _HTML.search(document):
        return document
    # Every second piece is the slash of a tag; what follows an opening tag is code, up to the closing one.
    pieces = _HIDDEN.split(document)
    shown = [pieces[0], *(text for slash, text in zip(pieces[1::2], pieces[2::2], strict=True) if slash)]
    return html.unescape(_TAG.sub(" ", " ".join(shown)))


def tokens(document: str) -> Iterator[str]:
    """Lower-case words of two letters or more; pairs of signs where a script has no spaces."""
    text = plain_text(document).lower()
    yield from _WORD.findall(text)
    for run in _RUN.findall(text):
        yield from (first + second for first, second in pairwise(run))


def count_words(documents: list[str]) -> tuple[sp.csr_array, npt.NDArray[np.object_]]:
    """How often each distinct word occurs in each document, and the words."""
    counter = CountVectorizer(analyzer=tokens, dtype=np.float64)
    try:
        counts = counter.fit_transform(documents)
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        return sp.csr_array((len(documents), 0)), np.array([], dtype=object)
    return sp.csr_array(counts), counter.get_feature_names_out()
