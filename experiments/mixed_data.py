"""Tables of numbers and categories, some with missing cells: "mixed/penguins", and "mixed-shuffled/penguins".

The files are in the folder ``mixed`` of the folder that ``WIDEGAP_DATA`` names; the column ``label`` has the classes,
for the judge alone. Names that begin with "syn" are drawn tables, the others real ones. A task has the frame and, as X,
what ``TableEncoder`` makes of it.

In a shuffled table each column is permuted on its own: every column keeps its values and its gaps, but no two columns
have anything to do with each other. It has one cluster.

``columns_of`` gives the columns one by one, with their missing cells, for methods that treat them one by one. What each
column is, number or category, is what ``TableEncoder`` decides, so that all methods agree about that.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells import Task, task
from widegap import TableEncoder
from widegap._types import Doubles, Mask

SHUFFLED_WITH = 0
ONE_FLAG = 0.5**0.5  # times two opposite flags, gives the distances of one


@dataclass(frozen=True)
class MixedColumn:
    """One column of a table, its gaps filled as ``TableEncoder`` fills them.

    ``values`` has one column for a number, and for a category one column of 0 and 1 for each level, two for yes/no.
    The values times ``factor`` have the distances of what ``TableEncoder`` makes of the column.
    """

    values: Doubles
    is_category: bool
    missing: Mask
    factor: float = 1.0


def _read(name: str) -> tuple[Any, Any]:
    """The frame and its classes."""
    import pandas as pd

    frame = pd.read_csv(Path(os.environ["WIDEGAP_DATA"], "mixed", f"{name}.csv"))
    classes = frame.pop("label").astype(str).to_numpy(dtype=object)
    return frame, classes


@task("mixed")
def mixed(name: str) -> Task:
    frame, classes = _read(name)
    return Task(_encoded(frame), classes, frame=frame)


@task("mixed-shuffled")
def mixed_shuffled(name: str) -> Task:
    rng = np.random.default_rng(SHUFFLED_WITH)
    frame = _read(name)[0].apply(lambda column: column.to_numpy()[rng.permutation(len(column))])
    return Task(_encoded(frame), np.zeros(len(frame), dtype=int), frame=frame)


def _encoded(frame: Any) -> Doubles:
    """Numbers alone: which of them are one column is what methods of frames find out by themselves."""
    return np.asarray(TableEncoder().fit_transform(frame))


def columns_of(frame: Any) -> list[MixedColumn]:
    """The columns that ``TableEncoder`` uses, in their order."""
    encoder = TableEncoder().fit(frame)
    values, names = encoder.readable(frame), encoder.get_feature_names_out().tolist()
    factors = np.ones(len(names)) if encoder.factors_ is None else encoder.factors_
    found = []
    for column in encoder.columns_ or ():
        if column.used:
            at = [names.index(name) for name in column.names]
            missing = missing_in(frame, column.name)
            is_yes_or_no = column.is_flag and len(at) == 1
            flags = np.column_stack([values[:, at], 1 - values[:, at]]) if is_yes_or_no else values[:, at]
            factor = ONE_FLAG if is_yes_or_no else 1.0 if column.is_flag else float(factors[at[0]])
            found.append(MixedColumn(flags, column.is_flag, missing, factor))
    return found


def missing_in(frame: Any, name: str) -> Mask:
    """Which cells of a column ``TableEncoder`` takes for missing."""
    return TableEncoder(columns=[name]).fit(frame).gaps(frame)


def with_missing_level(column: MixedColumn) -> Doubles:
    """The flags of a category, and one more for a missing cell where there is any."""
    if not column.missing.any():
        return column.values
    return np.column_stack([np.where(column.missing[:, None], 0.0, column.values), column.missing])
