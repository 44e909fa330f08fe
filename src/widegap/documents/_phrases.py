"""Pairs of words that belong together, such as "space station": found among the leading terms of a topic.

A pair of neighbouring words is a phrase of a topic if it stands in at least three of its documents, and wherever the
rarer of the two words occurs there, the other one is its neighbour at least every third time. Where a script has no
spaces, terms are overlapping pairs of signs: those that are phrases become one word again, of any length.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from widegap.documents._words import overlap, tokens

LEAST_DOCUMENTS = 3  # with fewer, a pair may be the habit of one writer: not tuned
NEIGHBOUR_SHARE = 1 / 3  # of the rarer word's places: not tuned; less joins words that merely occur in one topic
MOST_DOCUMENTS = 2000  # of a topic, which are enough to count pairs


def phrases_of(documents: Sequence[str], terms: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of the terms that are phrases of these documents, the most frequent first."""
    wanted = set(terms)
    alone: Counter[str] = Counter()
    beside: Counter[tuple[str, str]] = Counter()
    spread: Counter[tuple[str, str]] = Counter()
    for document in documents:
        words = list(tokens(document))
        alone.update(word for word in words if word in wanted)
        pairs = [pair for pair in pairwise(words) if pair[0] in wanted and pair[1] in wanted and pair[0] != pair[1]]
        beside.update(pairs)
        spread.update(set(pairs))
    found = [
        (pair, count)
        for pair, count in beside.items()
        if spread[pair] >= LEAST_DOCUMENTS and count >= NEIGHBOUR_SHARE * min(alone[pair[0]], alone[pair[1]])
    ]
    return [pair for pair, _ in sorted(found, key=lambda entry: (-entry[1], entry[0]))]


def with_phrases(
    documents: Sequence[str], labels: npt.ArrayLike, terms: dict[int, list[str]], n: int
) -> dict[int, list[str]]:
    """The first ``n`` terms of every topic, with phrases in place of the words they are made of."""
    labels = np.asarray(labels)
    found = {}
    for topic, words in terms.items():
        rows = np.flatnonzero(labels == topic)[:MOST_DOCUMENTS]
        phrases = phrases_of([documents[row] for row in rows], words)
        found[topic] = [_spelt(parts) for parts in _joined(words, phrases)[:n]]
    return found


def _joined(words: Sequence[str], phrases: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The words, each alone or with those that it forms a phrase with: two words, or a chain of pairs that overlap."""
    shown = [[word] for word in words]
    for first, second in phrases:
        left = next((parts for parts in shown if parts[-1] == first), None)
        right = next((parts for parts in shown if parts[0] == second), None)
        if left is None or right is None or left is right:
            continue
        if overlap(first, second) or len(left) == len(right) == 1:
            place = min(shown.index(left), shown.index(right))
            shown = [parts for parts in shown if parts is not left and parts is not right]
            shown.insert(place, left + right)
    return shown


def _spelt(parts: list[str]) -> str:
    """A phrase as people write it."""
    text = parts[0]
    for before, word in pairwise(parts):
        text += word[1:] if overlap(before, word) else f" {word}"
    return text
