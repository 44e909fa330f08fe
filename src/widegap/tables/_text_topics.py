"""What a column of free text is about: a few topics as columns of numbers, under the words that make them.

Texts become rows of term weights (tf-idf, of length one), and non-negative factors of that table, ``A ~ W H``, give
every text a weight W for each topic, whose largest entries in H are its words. Factors that cannot be negative read as
"how much of this is in the text". New texts get W for the same H by non-negative least squares.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Doubles

MOST_TERMS = 1000  # the most frequent ones; a model file holds a weight for each in every topic
MOST_TEXT_TOPICS = 8  # columns that a text becomes: a view beside the others, not most of the table
TEXTS_A_TOPIC = 10  # fewer texts get fewer topics
SAME_TOPIC = 0.9  # cosine from which two topics are one
NAME_WORDS = 3  # words in the name of a topic
KEPT_DIGITS = 6  # of what is kept: enough for the weights, and the same on every machine
# Rounds, all of which are done: columns of 1,400 to 1,500 paragraphs of documentation took 30 to 106 to scikit-learn's
# tolerance. Of their topics 23 of 24 had the words of our own alternating least squares before it; of 420 made-up texts
# of five subjects only 1 of 8 had, at a slightly lower loss (16.77 against 16.82).
NMF_STEPS = 100


@dataclass
class Topics:
    """Topics of a column.

    Attributes
    ----------
    terms : list of str
    idf : list of float
        How rare each term is.
    weights : list of list of float
        Weight of every term in every topic.
    names : list of str
        Its heaviest terms.
    """

    terms: list[str]
    idf: list[float]
    weights: list[list[float]]
    names: list[str]

    def check(self) -> None:
        """Raise ValueError if the parts, from a model file, do not fit each other."""
        n = len(self.terms)
        words = all(isinstance(word, str) for word in (*self.terms, *self.names)) and len(set(self.terms)) == n
        idf, weights = np.array(self.idf, np.float64), np.array(self.weights, np.float64)
        if not words or idf.shape != (n,) or weights.shape != (len(self.names), n):
            raise ValueError("weights of topics do not fit")
        if not np.isfinite(idf).all() or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError("weights of topics are not finite, negative, or all zero")


def find_topics(texts: list[str]) -> Topics | None:
    """Topics of texts; None if they share no words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words="english", max_features=MOST_TERMS, min_df=2, sublinear_tf=True)
    try:
        table = vectorizer.fit_transform(texts)
    except ValueError:  # no word in two texts
        return None
    k = max(1, min(MOST_TEXT_TOPICS, len(texts) // TEXTS_A_TOPIC, *table.shape))
    weights = _factors(table, k)
    heavy = _different(weights)
    terms = [str(term) for term in vectorizer.get_feature_names_out()]
    names = _distinct([", ".join(terms[j] for j in np.argsort(-row, kind="stable")[:NAME_WORDS]) for row in heavy])
    return Topics(terms, np.round(vectorizer.idf_, KEPT_DIGITS).tolist(), np.round(heavy, KEPT_DIGITS).tolist(), names)


def _factors(table: Any, k: int) -> Doubles:
    """H of non-negative factors; without a tolerance, as names have long settled when the last digits have not."""
    from sklearn.decomposition import NMF

    # Where factors are exact, rounding can make their squared error negative before NMF takes its root; it is not read.
    with np.errstate(invalid="ignore"):
        found: Doubles = NMF(k, init="nndsvd", random_state=0, tol=0, max_iter=NMF_STEPS).fit(table).components_
    return found


def _different(weights: Doubles) -> Doubles:
    """The topics that hold anything and are not nearly another one."""
    kept: list[Doubles] = []
    for row in weights[weights.sum(axis=1) > 0]:
        unit = row / np.linalg.norm(row)
        if all(unit @ other / np.linalg.norm(other) < SAME_TOPIC for other in kept):
            kept.append(row)
    return np.array(kept)


def topic_weights(texts: list[str], topics: Topics) -> Doubles:
    """Weight of every topic in every text."""
    from sklearn.decomposition import non_negative_factorization
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    counts = CountVectorizer(vocabulary={term: j for j, term in enumerate(topics.terms)}).transform(texts)
    counts = counts.astype(np.float64)
    counts.data = np.log(counts.data) + 1.0
    rows = normalize(counts.multiply(np.asarray(topics.idf)))
    weights = np.array(topics.weights, np.float64)
    found: Doubles
    found, _, _ = non_negative_factorization(rows, H=weights, update_H=False, tol=0, max_iter=NMF_STEPS)
    return found


def _distinct(names: list[str]) -> list[str]:
    return [name if names.index(name) == j else f"{name} ({j + 1})" for j, name in enumerate(names)]
