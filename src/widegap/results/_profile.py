"""What clusters look like, column by column, in the units of the file: means of numbers, shares of categories.

Features are what a table has after encoding; columns are what the file has. Features called "city = Paris" that hold 0
and 1 are the categories of one column "city"; a column of 0 and 1 under a plain name is a yes or no.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Floats, Indices, Ints
from widegap._wording import number, plain
from widegap.rows._matrices import column_moments, column_ranges, whole_columns, without_gaps

MOST_LINES = 60  # of the table; the others differ less between clusters
MARKED = 0.5  # standard deviations from which a difference is marked
LEVEL = " = "
EPOCH = date(1970, 1, 1)
# Whole numbers in the first range read as years in any column, without a comma; in the second only by its name.
YEARS, NAMED_YEARS = (1800, 2100), (1000, 2999)
YEAR_NAME = re.compile(r"(?<![a-z])(year|yr|jahr|année|annee|año|anno)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Feature:
    """One feature: the file's column it comes from, and how to read its values.

    ``group`` is the number of the first feature of that column, which tells columns of the same name apart.
    ``kind`` is "number", "count" (whole numbers), "year", "share" (0 or 1) or "date" (days since 1970); ``level`` is
    the category that it stands for, if any.
    """

    name: str
    column: str
    group: int
    kind: str = "number"
    level: str | None = None

    def text(self, value: float | None) -> str:
        """A mean of the feature for people."""
        if value is None or not np.isfinite(value):
            return "–"
        if self.kind == "share":
            return f"{100 * value:.0f} %" if value == 0 or abs(value) >= 0.01 else "<1 %"
        if self.kind == "year":
            return f"{value:.0f}"
        if self.kind == "date":
            return (EPOCH + timedelta(days=round(value))).isoformat()
        return number(value)


def features_of(names: Sequence[str], values: Any, dates: frozenset[int] = frozenset()) -> list[Feature]:
    """How to read each feature of a table of numbers, NaN for gaps."""
    filled, present = without_gaps(values)
    means, deviations = column_moments(filled)
    low, high = column_ranges(filled)
    whole = whole_columns(filled if present is None else np.nan_to_num(values))
    if present is not None:  # filled cells do not vary
        deviations = deviations / np.sqrt(np.maximum(present.mean(axis=0, dtype=np.float64), 1 / len(present)))
    # Numbers between 0 and 1 vary at most like this, and only if all are 0 or 1.
    flags = (low == 0) & (high == 1) & np.isclose(np.square(deviations), means * (1 - means), rtol=1e-6)
    found: list[Feature] = []
    groups: dict[str, int] = {}
    for j, name in enumerate(names):
        column, sign, level = str(name).partition(LEVEL)
        constant = low[j] == high[j] and low[j] in (0, 1)  # a category that all rows have, or none
        if sign and (flags[j] or constant):
            found.append(Feature(name, column, groups.setdefault(column, j), "share", level))
        else:
            kind = "date" if j in dates else "share" if flags[j] else "count" if whole[j] else "number"
            if kind in ("count", "number") and _is_year(column, low[j], high[j], bool(whole[j])):
                kind = "year"
            found.append(Feature(name, str(name), j, kind))
    return found


def _is_year(column: str, low: float, high: float, whole: bool) -> bool:
    """Whether numbers are years of the calendar: by their range, which is wider where the name of the column says so.

    Gaps filled with a median may have made halves of whole years, which the name alone then tells.
    """
    first, last = NAMED_YEARS if YEAR_NAME.search(column) else YEARS
    return bool(first <= low and high <= last and (whole or YEAR_NAME.search(column)))


def count_columns(features: Sequence[Feature]) -> int:
    """How many columns of the file the features come from."""
    return len({feature.group for feature in features})


class Contrasts:
    """Means of the clusters, of the others and of all rows, and how far apart they are in standard deviations."""

    def __init__(self, values: Any, labels: Ints, features: list[Feature], n_clusters: int):
        self.features = features
        self.differences, self.means, self.rest = describe.contrasts(values, labels, n_clusters)
        filled, present = without_gaps(values)
        self.everywhere: Floats = column_moments(filled)[0]
        if present is not None:
            self.everywhere = np.where(present.any(axis=0), self.everywhere, np.nan)

    def order(self, label: int) -> Indices:
        """Features by how much they set a cluster apart, the strongest first; without those that do not.

        Of two that differ as much, such as yes and no, the one that the cluster has more of comes first.
        """
        differences = self.differences[label]
        found = np.lexsort((-np.sign(differences), -np.round(np.abs(differences), 9)))
        return found[differences[found] != 0]

    def strongest(self, most: int) -> list[int]:
        """Features in which clusters differ most, each from all others; of yes and no only one."""
        if not len(self.differences):
            return []
        strength = np.abs(self.differences).max(axis=0)
        order = [int(j) for j in np.argsort(-strength, kind="stable") if strength[j] > 0]
        return [j for j in order if not self._is_mirrored(j)][:most]

    def _is_mirrored(self, j: int) -> bool:
        """Whether a feature is the more frequent of the only two categories of its column."""
        feature = self.features[j]
        if feature.level is None:
            return False
        twins = [i for i, other in enumerate(self.features) if other.group == feature.group]
        if len(twins) != 2 or not np.isclose(self.everywhere[twins].sum(), 1.0):
            return False
        other = twins[0] if twins[1] == j else twins[1]
        return (self.everywhere[j], j) > (self.everywhere[other], other)

    def table(self, most: int = MOST_LINES) -> dict[str, Any]:
        """The profile: one line a feature, one cell a cluster."""
        shown = self.strongest(most)
        return {
            "lines": [self._line(j) for j in shown],
            "columns": count_columns(self.features),
            "hidden": len(self.strongest(len(self.features))) - len(shown),
        }

    def _line(self, j: int) -> dict[str, Any]:
        feature = self.features[j]
        cells = [
            {
                "value": plain(mean),
                "text": feature.text(mean),
                "difference": round(float(difference), 4),
                "mark": int(np.sign(difference)) * int(abs(difference) >= MARKED),
            }
            for mean, difference in zip(self.means[:, j], self.differences[:, j], strict=True)
        ]
        everywhere = float(self.everywhere[j])
        return {
            "feature": feature.name,
            "column": feature.column,
            "level": feature.level,
            "kind": feature.kind,
            "value": plain(everywhere),
            "text": feature.text(everywhere),
            "cells": cells,
        }
