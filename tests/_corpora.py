"""Drawn documents whose subjects share most of their words."""

import numpy as np
import scipy.sparse as sp

K = 5  # subjects


def corpus(n, own=0.5, seed=0):
    """Weights of 25 words a document, of its subject or of the language, and the subjects."""
    rng = np.random.default_rng(seed)
    language = 1 / np.arange(1, 1501) ** 0.8
    language /= language.sum()
    subjects = np.array([rng.permutation(language) for _ in range(K)])
    y = rng.integers(0, K, n)
    X = np.array([rng.multinomial(25, own * subjects[p] + (1 - own) * language) for p in y], float)
    return sp.csr_array(X * np.log(n / (1 + (X > 0).sum(axis=0)))), y
