"""Is a split real? A word for the excess of a merge.

The excess x of a merge (``_cluster_number.py``) says how much more clearly its two parts are apart than the parts
within them. How often a merge of a given excess joined two different clusters was counted on simulated tables with
known clusters, and a logistic curve was fitted to the counts:

    P(real) = 1 / (1 + exp(3.68 - 2.20 asinh x)),      0.5 at x = 2.6, 0.9 at x = 7.2.

It is a frequency over these tables, half of whose merges near the top were real, not a p-value of one table:
``benchmarks/choices.md`` compares it with tables drawn later.
"""

import numpy as np

from widegap._types import Floats

INTERCEPT, SLOPE = 3.68, 2.20  # of the logistic curve in asinh x
CLEARLY_REAL = 0.9  # of P(real): nine of ten such splits are real
LIKELY_REAL = 0.5  # more often real than not
CLEAR_WORD, LIKELY_WORD, CLOUD_WORD = "clear", "likely", "as in a cloud"


def share_real(excess: Floats) -> Floats:
    """P(real) of merges with this excess; NaN stays NaN."""
    return 1 / (1 + np.exp(INTERCEPT - SLOPE * np.arcsinh(excess)))


def split_words(excess: Floats) -> list[str]:
    """ "clear", "likely" or "as in a cloud" for every merge; an empty text where the excess is not known."""
    return [_word(share) for share in share_real(excess)]


def _word(share: float) -> str:
    if np.isnan(share):
        return ""
    return CLEAR_WORD if share >= CLEARLY_REAL else LIKELY_WORD if share >= LIKELY_REAL else CLOUD_WORD
