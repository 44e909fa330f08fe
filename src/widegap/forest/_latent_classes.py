r"""Latent classes: clusters within which the columns of a table are independent of each other.

A row of class p, which has the share pi_p, has code j of column c (``features/_coded_columns.py``) with probability
theta_pj, whatever its other columns are. For rows with codes x_i the log-likelihood is

    L = sum_i log sum_p pi_p exp( sum_j x_ij log theta_pj ),        sum of theta_pj over the codes of a column = 1,

and EM looks for its maximum: the share r_ip of class p in row i, proportional to the p-th term, then

    pi_p = sum_i r_ip / n,      theta_pj proportional to sum_i r_ip x_ij + (mean of x_j),

where the last term is one row of the whole table, which keeps a level that a class happens to lack from being
impossible. With it, what EM climbs is L plus the logarithm of that row in every class, sum_pj (mean of x_j) log
theta_pj. Numbers enter through their codes, so L makes no assumption on their distribution.

The scores ``log pi_p + sum_j x_j log theta_pj`` are linear in the codes: a row belongs to the class with the largest.

A model with k classes has k - 1 + k sum_c (codes of c - 1) free parameters. AIC3 = -2 L + 3 (parameters) compares
numbers of classes: on drawn tables it finds the number more often than BIC and ICL do (``benchmarks/choices.md``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widegap._types import Doubles, Ints, Labels

EM_STEPS = 100  # of EM
EM_GAIN = 1e-5  # of what EM climbs, for a row, below which a step is the last
SURE = 0.9  # share of a row in the class where it starts; the rest is shared by all
PENALTY = 3.0  # of AIC3, for each parameter


@dataclass(frozen=True)
class LatentClasses:
    """Logarithms of the shares of the classes (k,) and of the codes in them (k, codes), and the log-likelihood."""

    log_shares: Doubles
    log_codes: Doubles
    log_likelihood: float
    n_parameters: int

    @property
    def aic3(self) -> float:
        """The criterion that compares numbers of classes; less is better."""
        return -2 * self.log_likelihood + PENALTY * self.n_parameters

    def scores(self, codes: Doubles) -> Doubles:
        """Logarithm of the joint probability of every class and the codes of a row."""
        return codes @ self.log_codes.T + self.log_shares

    def labels(self, codes: Doubles) -> Labels:
        """The class with the largest score."""
        return self.scores(codes).argmax(axis=1).astype(np.int32)

    def in_order(self, order: Ints) -> "LatentClasses":
        """The same classes in another order."""
        return replace(self, log_shares=self.log_shares[order], log_codes=self.log_codes[order])


def fit_latent_classes(
    codes: Doubles, ends: Sequence[int], start: Labels, k: int, known: Labels | None = None
) -> LatentClasses:
    """Classes by EM from labels; ``ends`` is where the codes of the columns begin and the last ones end.

    Rows whose class is ``known``, not -1, stay in it.
    """
    fixed = np.flatnonzero(known >= 0) if known is not None else np.zeros(0, np.int64)
    of_fixed = np.eye(k)[start[:0] if known is None else known[fixed]]
    shares, before = SURE * np.eye(k)[start] + (1 - SURE) / k, -np.inf
    for _ in range(EM_STEPS):
        shares[fixed] = of_fixed
        found = _most_likely(codes, ends, shares)
        shares, likelihood = shares_of_scores(found.scores(codes))
        found = replace(found, log_likelihood=likelihood)
        # With known rows, what is climbed has their own terms instead of their totals; the rest decides when to stop.
        climbed = found.log_likelihood + float(found.log_codes.sum(axis=0) @ codes.mean(axis=0))
        if climbed - before <= EM_GAIN * len(codes):
            break
        before = climbed
    return found


def shares_of_scores(scores: Doubles) -> tuple[Doubles, float]:
    """Shares proportional to the exponentials of scores, which it overwrites, and the sum of the logs of the totals."""
    largest = scores.max(axis=1, keepdims=True)
    scores -= largest
    shares = np.exp(scores, out=scores)
    totals = shares.sum(axis=1, keepdims=True)
    shares /= totals
    return shares, float(np.log(totals).sum() + largest.sum())


def classes_of_labels(codes: Doubles, ends: Sequence[int], labels: Labels, k: int) -> LatentClasses:
    """The classes that have given rows."""
    found = _most_likely(codes, ends, np.eye(k)[labels])
    return replace(found, log_likelihood=shares_of_scores(found.scores(codes))[1])


def _most_likely(codes: Doubles, ends: Sequence[int], shares: Doubles) -> LatentClasses:
    """The classes in which the rows have given shares (n, k); their likelihood is yet to be computed."""
    n, k = shares.shape
    counts = shares.T @ codes + codes.mean(axis=0)
    totals = np.repeat(np.add.reduceat(counts, ends[:-1], axis=1), np.diff(ends), axis=1)
    least = np.finfo(np.float64).tiny
    log_shares, log_codes = (np.log(np.maximum(part, least)) for part in (shares.sum(axis=0) / n, counts / totals))
    return LatentClasses(log_shares, log_codes, -np.inf, k - 1 + k * (ends[-1] - len(ends) + 1))
