"""A model as a Python file that needs NumPy alone.

The file holds the functions of ``_standalone.py`` and the model as literals: arrays as the base64 of their bytes, names
of columns, levels and classes as ASCII literals of Python, so that no text of a table can become code.
"""

import base64
from pathlib import Path
from typing import Any

import numpy as np

from widegap.exporting._column_plan import TablePlan
from widegap.exporting._scoring_plan import ScoringPlan, plain_tree

STANDALONE = Path(__file__).with_name("_standalone.py")  # whose text behind "# begin" is copied
HEAD = '''"""A clustering model, exported by widegap {version}. It needs NumPy alone.

    scores(X)                   score of every row for every cluster
    predict(X, reject=False)    cluster of every row; with reject, -1 for outliers
    predict_proba(X)            probability of every cluster, where the model has them

X is {rows}. CLASSES has the names of the clusters, where there are any.
"""

'''
TAIL = '''

CLASSES = _MODEL["classes"]


def scores(X):
    """Score of every row for every cluster."""
    return _scores_of(_MODEL, _TABLE, X)


def predict(X, reject=False):
    """Cluster of every row; with ``reject``, -1 for outliers."""
    return _predicted(_MODEL, _TABLE, X, reject)


def predict_proba(X):
    """Probability of every cluster, for every row."""
    return _probabilities(_MODEL, _TABLE, X)
'''


def python_file(plan: ScoringPlan, table: TablePlan | None, version: str) -> str:
    """The text of the file."""
    code = STANDALONE.read_text(encoding="utf-8").split("# begin\n", 1)[1]
    code = code.replace("  # type: ignore[no-untyped-def]", "")
    rows = f"an array of shape (rows, {plan.n_features})" if table is None else "a dict of columns, or a data frame"
    head = HEAD.format(version=version, rows=rows)
    data = f"\n\n_MODEL = {_literal(plain_tree(plan))}\n_TABLE = {_literal(plain_tree(table))}\n"
    return head + code + data + TAIL


def _literal(value: Any) -> str:
    """A tree of plain values as an expression of Python, in ASCII."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{ascii(str(key))}: {_literal(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return ascii(str(value))
    if isinstance(value, int | float):
        return repr(float(value) if isinstance(value, float) else int(value))
    return _array_literal(np.asarray(value))


def _array_literal(array: np.ndarray[Any, Any]) -> str:
    kind = "<f8" if array.dtype.kind == "f" else "<i8"
    text = base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode("ascii")
    return f"_array({kind!r}, {tuple(map(int, array.shape))!r}, {text!r})"
