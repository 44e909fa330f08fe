"""``widegap update``: a saved model learns from new rows, and its clusters keep their numbers and names."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._delivery import Targets, deliver
from widegap.cli._errors import CommandError, guarded
from widegap.cli._phases import tell_reading
from widegap.cli._predict import ModelFile, NewRows, load_model, read_stored_rows

if TYPE_CHECKING:
    from widegap.results import DocumentRows, EncodedRows, Result
    from widegap.tables._delimited import Dialect


@guarded
def update(
    model: ModelFile,
    data: NewRows,
    new_model: Annotated[
        Path | None,
        typer.Option("--model", help=f"Save the updated model; {options.HOLDS_ROWS}", rich_help_panel=options.RESULTS),
    ] = None,
    output: options.Output = None,
    report: options.Report = None,
    without_rows: options.WithoutRows = False,
    title: options.Title = None,
    forget: Annotated[
        float,
        typer.Option(
            help="Share of its weight that every earlier row loses, from 0 to below 1.", rich_help_panel=options.RUN
        ),
    ] = 0.0,
    weight_column: options.WeightColumn = None,
    text_column: options.TextColumn = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Update a saved model with new rows: clusters keep their numbers, and changes are reported."""
    from widegap.tables._delimited import Dialect

    if not 0 <= forget < 1:
        raise CommandError(f"--forget {forget:g} must be a share from 0 to below 1, such as 0.2.")
    targets = Targets(output, new_model, report, with_rows=not without_rows)
    targets.check(model, options.file_of(data), json=json)
    updated = update_stored(
        model, data, text_column, Dialect(encoding, delimiter, header=header), weight_column, forget, quiet=quiet
    )
    deliver(updated.result(title), targets, quiet=quiet, json=json)


class Updated:
    """An updated model with its new rows, and what its file will hold beside it."""

    def __init__(self, estimator: Any, rows: "DocumentRows | EncodedRows", extra: dict[str, Any], weights: Any):
        self.estimator, self.rows, self.weights = estimator, rows, weights
        self.extra = extra

    @property
    def names(self) -> dict[str, str]:
        """Names of clusters that live, and of those that this update has ended: later ones need them no more."""
        from widegap.results._result import stored_names

        told = {str(change.cluster) for change in self.estimator.changes_}
        return {label: name for label, name in stored_names(self.extra).items() if label in told}

    @property
    def keeps(self) -> dict[str, Any]:
        """What the file says of corrections: rows before are gone, so that only words are left of these."""
        from widegap.corrections._stored_log import StoredCorrections

        log = StoredCorrections.of_former_rows(self.extra)
        return log.stored() if log.earlier or log.weight_column else {}

    def result(self, title: str | None) -> "Result":
        """The result for users."""
        from widegap.results import Corrections, Result

        title = title or str(self.extra.get("title") or "Clusters")
        corrections = Corrections(None, self.keeps)
        return Result(
            self.estimator, self.rows, labels=self.estimator.labels_, names=self.names, title=title,
            corrections=corrections,
        )  # fmt: skip


def update_stored(
    model: Path,
    data: Path,
    text_column: str | None,
    dialect: "Dialect",
    weight_column: str | None,
    forget: float,
    *,
    quiet: bool,
) -> Updated:
    """Read a model and new rows, and update it; Ctrl-C leaves everything as it was."""
    from widegap import describe
    from widegap._wording import counted
    from widegap.cli import _fitting as fitting

    estimator, extra = load_model(model)
    clusterer = describe.last_step(estimator)
    _check(model, clusterer, extra)
    tell_reading(data, quiet=quiet)
    rows = read_stored_rows(estimator, extra, data, text_column, dialect)
    column = weight_column or extra.get("weight_column")
    weights = None if column is None else _weights(rows, str(column))
    rows.notes += _notes_on_further(rows, estimator, column)
    arguments = {} if weights is None else {"sample_weight": weights}
    label = f"Updating with {counted(len(rows.X), _unit(clusterer))}"
    with fitting.watching(label, None, quiet, at_once=True) as watch, fitting.gathering_warnings(rows.notes):
        updated = clusterer.update(rows.X, forget=forget, **arguments)
    if watch.interrupted:
        raise KeyboardInterrupt
    return Updated(
        updated, rows, extra if weight_column is None else {**extra, "weight_column": weight_column}, weights
    )


def _notes_on_further(rows: "DocumentRows | EncodedRows", estimator: Any, weight_column: Any) -> list[str]:
    """A note on columns that the model does not know, if the table has any."""
    from widegap.results import EncodedRows
    from widegap.tables._frames import as_columns, few

    if not isinstance(rows, EncodedRows) or rows.table.columns is None:
        return []
    known = {*map(str, estimator[0].feature_names_in_), str(weight_column)}
    further = [name for name in as_columns(rows.table.columns).names if name not in known]
    if not further:
        return []
    if len(further) == 1:
        return [f"The column {few(further)} is not used: the model was fitted without it."]
    return [f"The columns {few(further)} are not used: the model was fitted without them."]


def _unit(clusterer: Any) -> str:
    return "document" if hasattr(clusterer, "topic_names_") else "row"


def _weights(rows: "DocumentRows | EncodedRows", column: str) -> Any:
    from widegap.cli._constraint_options import read_weight_column
    from widegap.results import EncodedRows

    if not isinstance(rows, EncodedRows):
        raise CommandError("--weight-column is for tables; documents have no weights: leave it out.")
    return read_weight_column(rows, column)


def _check(model: Path, clusterer: Any, extra: dict[str, Any]) -> None:
    """Refuse models that cannot be updated, with the reason."""
    name = type(clusterer).__name__
    if not hasattr(clusterer, "update"):
        raise CommandError(
            f"{model} holds {name}, which cannot be updated; cluster the rows with --method max-margin, cpm3c or mkc."
        )
    if "large" in extra:
        raise CommandError(
            f"{model} is a model of a file too large for memory, which this command does not update; cluster some of "
            "its rows with --model, and update that model."
        )
    if getattr(clusterer, "_memory", None) is None:
        raise CommandError(
            f"{model} holds no rows, which update needs: it was saved --without-rows, or by an earlier version. Fit "
            f"the rows again, such as with 'widegap cluster ... --model {model.name}', and update that model."
        )
