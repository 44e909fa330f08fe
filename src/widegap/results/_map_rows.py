"""Rows as the map takes them: numbers, which are the terms of documents."""

from typing import Any

import numpy as np

from widegap._types import Matrix
from widegap.base._validation import check_numbers

MAP_TERMS = 10_000  # most frequent terms of documents, by which the map places them; more only add memory


def map_rows_of(X: Any) -> Matrix:
    """The rows that ``neighbour_layout`` takes: numbers as they are, documents by their weighted terms."""
    if hasattr(X, "shape") and len(X.shape) == 2:
        return check_numbers(X)
    from sklearn.feature_extraction.text import TfidfVectorizer

    terms = TfidfVectorizer(sublinear_tf=True, max_features=MAP_TERMS, dtype=np.float32)
    try:
        found: Matrix = terms.fit_transform(X)
    except ValueError:  # no document has a word
        return np.zeros((len(X), 1))
    return found
