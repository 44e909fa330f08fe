"""Stop words by language, and which language documents are in.

English has scikit-learn's list. The other lists are those of the package stop-words (BSD, 33 languages), which comes
with the extra ``documents``. A language is recognised by its stop words: in running text they are a third of all words
or more, of their own language and hardly of another. Chinese and Japanese, which are cut into pieces that no list has,
are recognised by their scripts.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import islice

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from widegap.documents._markup import plain_text
from widegap.documents._words import script_language, tokens
from widegap.exceptions import InvalidDataError

SAMPLED_DOCUMENTS, SAMPLED_WORDS = 300, 300  # documents, and words of each
SAMPLED_SIGNS = 1000  # of each document, for its script: the words above have about as many
ENOUGH = 0.15  # share of the words that must be stop words of a language to recognise it


def known_languages() -> list[str]:
    """The languages with stop words, English first; the others if the package is installed."""
    return ["english", *sorted(set(_lists()) - {"english"})]


def stop_words_of(language: str) -> frozenset[str]:
    """The stop words of a language by its English name."""
    if language == "english":
        return frozenset(ENGLISH_STOP_WORDS)
    found = _lists()
    if language not in found:
        hint = "" if found else " Other languages need the package stop-words: pip install 'widegap[documents]'."
        raise InvalidDataError(
            f"stop_words={language!r} is not known; choose 'auto', one of {', '.join(known_languages())}, a list of "
            f"words, or None.{hint}"
        )
    return found[language]


def detect_language(documents: Sequence[str]) -> str | None:
    """The language of documents, by their script or their stop words; None if no list fits."""
    sample = documents[:: max(1, len(documents) // SAMPLED_DOCUMENTS)]
    written_in = script_language("".join(plain_text(document)[:SAMPLED_SIGNS] for document in sample))
    if written_in in _lists():
        return written_in
    counts: Counter[str] = Counter()
    for document in sample:
        counts.update(islice(tokens(document), SAMPLED_WORDS))
    total = sum(counts.values())
    lists = {"english": frozenset(ENGLISH_STOP_WORDS), **{k: v for k, v in _lists().items() if k != "english"}}
    shares = {
        language: sum(counts[word] for word in words & counts.keys()) / max(1, total)
        for language, words in lists.items()
    }
    best = max(shares, key=lambda language: shares[language])
    return best if shares[best] >= ENOUGH else None


@cache
def _lists() -> dict[str, frozenset[str]]:
    """Lists of the package, as words are counted here: in lower case, two letters or more."""
    try:
        import stop_words
    except ImportError:
        return {}
    return {
        language: frozenset(word for entry in stop_words.get_stop_words(language) for word in tokens(entry))
        for language in stop_words.AVAILABLE_LANGUAGES
    }
