"""``widegap.export``: the format by the ending of the file, the plan of the model, the file as a whole."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import widegap
from widegap._atomic import replacing
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.exporting._column_plan import TablePlan, table_plan
from widegap.exporting._python_file import python_file
from widegap.exporting._scoring_plan import ScoringPlan, plan_of

EXPORT_ENDINGS = (".py", ".onnx", ".sql")  # one for each format


def export(model: Any, path: str | os.PathLike[str], *, table: str = "rows", keep: Sequence[str] = ()) -> None:
    """Write a fitted model as a file that runs without widegap.

    The ending decides about the format. A ``.py`` file needs NumPy alone, an ``.onnx`` file runs in onnxruntime, and a
    ``.sql`` file is one SELECT that DuckDB and SQLite run. All give the scores, the cluster, how certain it is (the
    largest probability, where the model has ``predict_proba``) and the cluster with -1 for outliers (where the model
    can reject rows). All compute in float64.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted estimator of this package, or a pipeline of a ``TableEncoder`` and one, which then reads the table in
        the exported file, too. Not: models of precomputed kernels, of functions of your own, of several views, and
        ``DocumentClustering``.
    path : path
        The file appears whole or not at all. ``.onnx`` needs ``pip install 'widegap[export]'``.
    table : str, default="rows"
        Name of the table that the SELECT of a ``.sql`` file reads.
    keep : sequence of str, default=()
        Columns of that table, such as a key, that the SELECT passes on beside its results.

    Examples
    --------
    >>> import widegap
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = widegap.CPM3C(n_clusters=3, random_state=0).fit(X)
    >>> widegap.export(model, "irises.py")  # doctest: +SKIP
    """
    ending = Path(path).suffix.lower()
    if ending not in EXPORT_ENDINGS:
        raise InvalidDataError(f"{os.fspath(path)!r} ends in {ending!r}; name a file in {', '.join(EXPORT_ENDINGS)}.")
    if ending != ".sql" and (table != "rows" or len(keep)):
        raise InvalidDataError(f"table and keep are for .sql files, and {os.fspath(path)!r} is none; leave them out.")
    plan, columns = _plans(model, dates=ending == ".py")
    content = _content(plan, columns, ending, table, keep)
    with replacing(path) as temporary:
        Path(temporary).write_bytes(content)


def _content(plan: ScoringPlan, columns: TablePlan | None, ending: str, table: str, keep: Sequence[str]) -> bytes:
    if ending == ".py":
        return python_file(plan, columns, widegap.__version__).encode("ascii")
    if columns is not None and not columns.fills:
        raise NotSupportedError(
            f"The encoder refuses rows with gaps (missing='refuse'), which a {ending} file cannot do; fit it with "
            "missing='fill', or export a .py file."
        )
    if ending == ".sql":
        from widegap.exporting._sql_statement import sql_statement

        return sql_statement(plan, columns, table, keep).encode("utf-8")
    from widegap.exporting._onnx_graph import onnx_file

    return onnx_file(plan, columns, widegap.__version__)


def _plans(model: Any, *, dates: bool) -> tuple[ScoringPlan, TablePlan | None]:
    """The plans of a model and of its encoder, if it has one."""
    steps = [step for _, step in getattr(model, "steps", ())]
    if not steps:
        return plan_of(model), None
    if len(steps) != 2 or type(steps[0]).__name__ != "TableEncoder":
        raise NotSupportedError(
            f"A pipeline of {' and '.join(type(step).__name__ for step in steps)} cannot be exported; pass its last "
            "step, which takes the transformed rows, or a pipeline of a TableEncoder and an estimator."
        )
    plan, found = plan_of(steps[1]), table_plan(steps[0], dates=dates)
    if found is None and steps[0].factors_ is not None:
        raise NotSupportedError(
            "The TableEncoder of this pipeline scales a matrix without names, which cannot be exported; fit the "
            "pipeline on a data frame, or pass its last step, which takes the scaled rows."
        )
    return plan, found
