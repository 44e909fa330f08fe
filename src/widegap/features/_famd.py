r"""Factor analysis of mixed data: principal axes of a table in which numbers and categories count alike.

Numbers are standardised. The flags of a category with levels l of shares p_l become

    (v_l - p_l) / sqrt(p_l),

both flags where a column of two levels has only one; a category then has the variance (levels - 1) in all, at most 1
along any axis, as a number has. So along an axis with an eigenvalue above 1 several columns vary together. A column of
weight w counts as w columns would: its values are multiplied by sqrt(w).

*How many axes are real* is decided by parallel analysis (Horn, 1965): the values of every column are shuffled on their
own, which keeps the column and breaks all ties to others. The leading axes count as long as their eigenvalues exceed
what ``QUANTILE`` of ``SHUFFLES`` shuffled tables reach at the same place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widegap._types import Doubles, Floats
from widegap.features._column_groups import ColumnGroup

SHUFFLES = 20  # tables whose eigenvalues are compared: the 95 % quantile is then the second largest
QUANTILE = 0.95  # the usual one
FEWEST_AXES = 2  # however small their eigenvalues are


@dataclass(frozen=True)
class MixedAxes:
    """Coordinates of some rows along the principal axes, and the eigenvalues, descending."""

    coordinates: Doubles
    eigenvalues: Doubles

    @property
    def leading(self) -> Doubles:
        """Coordinates along axes that several columns share: those with eigenvalues above 1, two at least."""
        return self.coordinates[:, : max(FEWEST_AXES, int((self.eigenvalues > 1).sum()))]


def mixed_axes(X: Floats, groups: Sequence[ColumnGroup]) -> MixedAxes:
    """The principal axes of a dense table whose columns form groups."""
    values = np.hstack(scaled_groups(X, groups))
    eigenvalues, axes = np.linalg.eigh(values.T @ values / len(values))
    return MixedAxes(values @ axes[:, ::-1], eigenvalues[::-1])


def scaled_groups(X: Floats, groups: Sequence[ColumnGroup]) -> list[Doubles]:
    """The columns of every group about their means, scaled so that all groups count alike."""
    return [np.sqrt(group.weight) * _scaled(X[:, group.columns].astype(np.float64), group) for group in groups]


def n_shared_axes(X: Floats, groups: Sequence[ColumnGroup], rng: np.random.Generator) -> int:
    """How many axes are more than accident, by parallel analysis."""
    blocks = scaled_groups(X, groups)
    shuffled = [_eigenvalues([block[rng.permutation(len(X))] for block in blocks]) for _ in range(SHUFFLES)]
    exceeds = _eigenvalues(blocks) > np.quantile(shuffled, QUANTILE, axis=0)
    return int(np.argmin(exceeds)) if not exceeds.all() else len(exceeds)


def _scaled(values: Doubles, group: ColumnGroup) -> Doubles:
    if not group.is_category:
        deviations = values.std(axis=0)
        return (values - values.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0) / np.sqrt(values.shape[1])
    flags = flags_of(values)
    shares = flags.mean(axis=0)
    return (flags - shares) / np.sqrt(np.maximum(shares, 1 / len(flags)))


def flags_of(values: Doubles) -> Doubles:
    """Flags of a category: one column for each level that occurs; a row without a level has none."""
    if values.shape[1] > 1:
        flags = (values > values.max(axis=0) / 2).astype(np.float64)
    else:
        flags = (values == np.unique(values)).astype(np.float64)
    return flags[:, flags.any(axis=0)]


def _eigenvalues(blocks: list[Doubles]) -> Floats:
    values = np.hstack(blocks)
    return np.linalg.eigvalsh(values.T @ values / len(values))[::-1]
