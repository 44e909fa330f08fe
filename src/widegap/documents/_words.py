"""From documents to words: HTML, tokens and counts.

Where a script has spaces, a word is a run of letters. Chinese and Japanese have none: a run of Han characters is cut
into overlapping pairs, as most words have two characters, and a single character between other scripts is a word.
Katakana spells names and loan words, so that a run of it is a word. Hiragana is mostly grammar, endings and particles:
it only separates the others, except in a document that has nothing else. Thai, Lao, Burmese and Khmer are cut into
pairs of signs, whatever these are.

Everything that depends on a word alone (stop words, stems) is done once a distinct word, after counting.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from widegap.documents._markup import plain_text

_HAN = "\u3005\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA, _KATAKANA = "\u3041-\u309f", "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_PARTICLES = "的吗呢吧啊"  # of Chinese, which hardly begin or end a word: a run of Han characters ends there
_PAIRED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_UNSPACED = _HAN + _HIRAGANA + _KATAKANA + _PAIRED
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0970-\u0dff"  # accents and vowel signs inside words
_WORD = re.compile(rf"(?:(?![{_UNSPACED}])[^\W\d_]|[{_MARKS}]){{2,}}")
_RUN = re.compile(rf"(?:(?![{_PARTICLES}])[{_HAN}])+|[{_KATAKANA}]{{2,}}|[{_PAIRED}]{{2,}}")
_HIRAGANA_RUN = re.compile(rf"[{_HIRAGANA}]{{2,}}")
_KANA, _HAN_SIGN = re.compile(rf"[{_HIRAGANA}{_KATAKANA}]"), re.compile(rf"[{_HAN}]")
KANA_SHARE = 0.05  # of the signs of a Japanese text at least: usually half, and none of a Chinese text; not tuned
_IS_KATAKANA = re.compile(rf"[{_KATAKANA}]")


def tokens(document: str) -> Iterator[str]:
    """Lower-case words of two letters or more; pieces of runs where a script has no spaces."""
    text, empty = plain_text(document).lower(), True
    for word in _WORD.findall(text):
        empty = False
        yield word
    for run in _RUN.findall(text):
        empty = False
        yield from [run] if len(run) == 1 or _IS_KATAKANA.match(run) else _pairs(run)
    if empty:
        for run in _HIRAGANA_RUN.findall(text):
            yield from _pairs(run)


def overlap(first: str, second: str) -> bool:
    """Whether two neighbouring tokens are pairs of one run: the second begins with the sign that ends the first."""
    return len(first) == len(second) == 2 and first[1] == second[0] and bool(_RUN.fullmatch(first + second[1]))


def script_language(text: str) -> str | None:
    """Japanese or Chinese, which their scripts tell; None for other texts."""
    kana, han = len(_KANA.findall(text)), len(_HAN_SIGN.findall(text))
    words = sum(map(len, _WORD.findall(text)))
    if kana + han <= words:
        return None
    return "japanese" if kana > KANA_SHARE * (kana + han) else "chinese"


def _pairs(run: str) -> Iterator[str]:
    return (first + second for first, second in pairwise(run))


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
