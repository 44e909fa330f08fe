"""``widegap verify``: whether this machine gives the labels of a stored model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded, one_line
from widegap.cli._phases import tell_reading
from widegap.cli._predict import ModelFile, load_model, read_stored_rows

if TYPE_CHECKING:
    from widegap.results import DocumentRows, EncodedRows
    from widegap.results._verification import Verification

IDENTICAL, DIFFERENT, OTHER_ROWS = 0, 3, 4  # exit codes; those of errors are below

RowsOfFit = Annotated[Path, typer.Argument(help="The rows that the model was fitted to, or its documents.")]


@guarded
def verify(
    model: ModelFile,
    data: RowsOfFit,
    text_column: options.TextColumn = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Fit the rows of a saved model again, and say whether this machine gives the same labels.

    Ends with 0 if it does, with 3 if labels differ, and with 4 if these are not the rows of the model.
    """
    from widegap import describe
    from widegap.cli._output import print_json
    from widegap.results._verification import check_verifiable, fit_again
    from widegap.tables._delimited import Dialect

    estimator, extra = load_model(model)
    clusterer = describe.last_step(estimator)
    if "large" in extra:
        raise CommandError(f"{model} is a model of a file too large for memory, which this command does not verify.")
    check_verifiable(clusterer, {"sample_weight": None} if extra.get("weight_column") else {})
    tell_reading(data, quiet=quiet)
    rows = read_stored_rows(estimator, extra, data, text_column, Dialect(encoding, delimiter, header=header))
    from widegap.cli import _fitting as fitting

    with fitting.gathering_warnings(rows.notes):
        found = fit_again(clusterer, rows.X, _fit_arguments(rows, extra))
    if json:
        print_json(_as_json(found))
    elif not quiet:
        for line in _lines(found, len(clusterer.labels_)):
            print(one_line(line))
    code = {"identical": IDENTICAL, "other rows": OTHER_ROWS}.get(found.verdict, DIFFERENT)
    if code:
        raise typer.Exit(code)


def _fit_arguments(rows: "DocumentRows | EncodedRows", extra: dict[str, Any]) -> dict[str, Any]:
    """What the fit got besides rows, where the file says how to read it: weights."""
    from widegap.cli._constraint_options import read_weight_column
    from widegap.results import EncodedRows

    column = extra.get("weight_column")
    if not column or not isinstance(rows, EncodedRows):
        return {}
    return {"sample_weight": read_weight_column(rows, str(column))}


def _as_json(found: "Verification") -> dict[str, Any]:
    changed = {name: {"fit": then, "here": here} for name, (then, here) in found.changed.items()}
    counts = {"n_rows": found.n_rows, "n_different": found.n_different, "ari": found.ari}
    return {"verdict": found.verdict, **counts, "changed": changed}


def _lines(found: "Verification", n_fitted: int) -> list[str]:
    """What people read."""
    from widegap._wording import counted

    rows = counted(found.n_rows, "row")
    words = {
        "identical": f"The same labels: {rows}, all in the cluster that the model has for them.",
        "renumbered": f"The same clusters of {rows}, but some have other numbers than in the model.",
        "different": f"Other labels: {found.n_different} of {rows} are in another cluster",
        "other rows": "These are not the rows of the model",
    }
    line = words[found.verdict]
    if found.verdict == "different":
        line += f" (adjusted Rand index {found.ari:.4f})."
    if found.verdict == "other rows":
        line += f": {rows} instead of {n_fitted:,}." if found.ari is None else ": their values differ."
    changed = [f"{name}: {then} at the fit, {here} here" for name, (then, here) in found.changed.items()]
    return [line, *changed]
