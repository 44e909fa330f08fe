"""``widegap cluster``: the clusters of a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._delivery import Targets, deliver
from widegap.cli._errors import CommandError, guarded
from widegap.cli._names_file import read_names
from widegap.cli._phases import tell_encoding, tell_reading
from widegap.cli._places import check_writable

if TYPE_CHECKING:
    from widegap.cli._column_options import TableOptions
    from widegap.cli._compare import Recommendation
    from widegap.cli._constraint_options import ConstraintOptions, StatedConstraints
    from widegap.results import EncodedRows

DATA_HELP = "CSV, TSV, Excel, JSON, Parquet, Feather, SQLite (file.db::table), .npy, .npz or svmlight, also compressed; '-' is stdin."  # fmt: skip  # noqa: E501


@guarded
def cluster(
    data: Annotated[Path, typer.Argument(help=DATA_HELP)],
    k: options.ClusterNumber = "auto",
    method: options.Method = "auto",
    columns: options.UsedColumns = None,
    drop: options.DroppedColumns = None,
    numeric: options.NumericColumns = None,
    categorical: options.CategoricalColumns = None,
    text_column: options.TopicColumns = None,
    label_column: options.LabelColumn = None,
    column_weight: options.ColumnWeights = None,
    scale: options.ScaleUse = options.Scaling.auto,
    dates: options.DateUse = options.Dates.elapsed,
    missing: options.Gaps = options.Missing.median,
    na_values: options.GapWords = None,
    decimal: options.DecimalSign = options.Decimal.auto,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    known_column: options.KnownColumn = None,
    known: options.FormerKnown = None,
    must_link: options.MustLink = None,
    cannot_link: options.CannotLink = None,
    weight_column: options.WeightColumn = None,
    min_size: options.MinSize = None,
    max_size: options.MaxSize = None,
    outliers: options.Outliers = None,
    output: options.Output = None,
    model: options.Model = None,
    report: options.Report = None,
    without_rows: options.WithoutRows = False,
    title: options.Title = None,
    names: options.Names = None,
    json: options.Json = False,
    seed: options.Seed = 0,
    checkpoint: options.CheckpointFile = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Cluster the rows of a table. Columns are read by content; the summary shows how, and how to change it."""
    from widegap.cli._column_options import TableOptions, stated_weights
    from widegap.cli._constraint_options import ConstraintOptions
    from widegap.tables._delimited import Dialect

    find_number = k == "auto"
    numbers = range(1, 2) if find_number else options.cluster_numbers(k)
    targets = Targets(output, model, report, with_rows=not without_rows)
    targets.check(options.file_of(data), must_link, cannot_link, json=json)
    known_column = options.current(known_column, known, "--known-column", "--known")
    knowledge = ConstraintOptions(known_column, must_link, cannot_link, weight_column, min_size, max_size, outliers)
    plan = _Plan("auto" if find_number else numbers[0], method, seed, checkpoint, knowledge)
    chosen = TableOptions(
        columns=options.names(columns),
        drop=options.names(drop),
        numeric=options.names(numeric),
        categorical=options.names(categorical),
        text_columns=options.names(text_column),
        label_column=label_column,
        known_column=known_column,
        weight_column=weight_column,
        missing=missing.value,
        na_values=options.names(na_values),
        decimal=decimal.value,
        dates=dates.value,
        scale=scale.value,
        weights=stated_weights(column_weight),
    )
    shown = _Shown(title or _title(data), read_names(names), targets, quiet, json)
    if _cluster_large(data, chosen, plan, numbers, shown):
        return
    dialect = Dialect(encoding, delimiter, None if decimal.value == "auto" else decimal.value, header)
    _cluster_table(data, dialect, chosen, plan, numbers, shown)


@dataclass(frozen=True)
class _Shown:
    """How a result is titled, where it goes and what is printed."""

    title: str
    names: dict[str, str]
    targets: Targets
    quiet: bool
    json: bool


@dataclass
class _Plan:
    """How rows are clustered."""

    k: int | str
    method: str
    seed: int
    checkpoint: Path | None
    knowledge: "ConstraintOptions"

    def estimator(self, n_rows: int, *, scales: bool) -> Any:
        """The estimator; ``scales`` if it may look at the units of columns itself."""
        from widegap.cli._fitting import make_estimator

        estimator = make_estimator(self.method, self.k, self.seed, scales=scales)
        self.knowledge.set_up(estimator, n_rows)
        if self.checkpoint is None:
            return estimator
        if "checkpoint" not in estimator.get_params():
            raise CommandError(
                f"--checkpoint is for --method cpm3c and mkc; {self.method} reads the rows only a few times and has "
                "none: choose one of those methods, or leave --checkpoint out."
            )
        check_writable(self.checkpoint)
        return estimator.set_params(checkpoint=self.checkpoint)


def _title(data: Path) -> str:
    return options.file_of(data).stem if str(data) != "-" else "standard input"


def _cluster_large(data: Path, chosen: "TableOptions", plan: _Plan, numbers: range, shown: _Shown) -> bool:
    """Cluster a file that is too large to be read whole; False if it is not, or an option needs all of it at once."""
    from widegap.cli._fitting import check_count, choose_method
    from widegap.cli._large import cluster_file, open_file

    whole = (chosen.categorical, chosen.numeric, chosen.drop, chosen.text_columns, chosen.na_values,
             chosen.label_column, chosen.weights, plan.knowledge.used, len(numbers) > 1)  # fmt: skip
    file = None if any(whole) else open_file(data, chosen.columns, chosen.scale)
    if file is None:
        return False
    tell_reading(data, quiet=shown.quiet)
    plan.method = choose_method(plan.method, file.source, find_number=plan.k == "auto")
    check_count(numbers[-1], file.n_rows)
    shown.targets.check_rows(file.n_rows)
    estimator = plan.estimator(file.n_rows, scales=False)
    cluster_file(file, estimator, shown.targets, shown.title, quiet=shown.quiet, json=shown.json)
    return True


def _cluster_table(
    data: Path, dialect: Any, chosen: "TableOptions", plan: _Plan, numbers: range, shown: _Shown
) -> None:
    from widegap.cli._column_options import encode
    from widegap.cli._compare import Comparison, recommend
    from widegap.cli._fitting import check_count, check_variety, choose_method, make_estimator
    from widegap.tables._reading import read_table

    tell_reading(data, quiet=shown.quiet)
    table = read_table(data, dialect)
    tell_encoding(table, quiet=shown.quiet)
    rows = encode(table, chosen)
    n_rows = rows.X.shape[0]
    check_count(numbers[-1], n_rows)
    shown.targets.check_rows(n_rows)
    check_variety(numbers[-1], rows.X, rows.notes)
    plan.method = choose_method(plan.method, rows.X, find_number=plan.k == "auto")
    plan.knowledge.check(plan.method)
    constraints = plan.knowledge.read(rows, chosen.na_values)
    recommendation = None
    if len(numbers) > 1:
        rows.notes += plan.knowledge.about_comparison()
        estimator = make_estimator(plan.method, numbers[-1], plan.seed, scales=rows.scales)
        comparison = Comparison(estimator, rows.X, n_rows, plan.seed, rows.notes)
        recommendation = recommend(comparison, numbers, quiet=shown.quiet, json=shown.json)
        plan.k = recommendation.chosen
    constraints.check(rows.kept.tolist(), plan.k)
    _fit(rows, plan.estimator(n_rows, scales=rows.scales), constraints, recommendation, chosen.label_column, shown)


def _fit(
    rows: "EncodedRows",
    estimator: Any,
    constraints: "StatedConstraints",
    recommendation: "Recommendation | None",
    label_column: str | None,
    shown: _Shown,
) -> None:
    """Fit, write and show."""
    from widegap._wording import counted
    from widegap.cli import _fitting as fitting
    from widegap.cli._compare import add_recommendation, explain_auto
    from widegap.results import Result

    label = f"Searching for clusters in {counted(len(rows.kept), 'row')}"
    with fitting.watching(label, estimator._expected_records(len(rows.kept)), shown.quiet) as watch:
        with fitting.gathering_warnings(rows.notes):
            estimator.set_params(callback=watch).fit(rows.X, **constraints.arguments())
    estimator.set_params(callback=None)
    if estimator.n_clusters == "auto" and not watch.interrupted:
        recommendation = explain_auto(estimator)

    def finish(summary: dict[str, Any]) -> None:
        add_columns(summary, rows)
        name_drop(summary)
        if label_column is not None:
            add_classes(summary, rows, label_column, labels)
        if recommendation is not None:
            add_recommendation(summary, recommendation)

    labels = estimator.labels_
    result = Result(estimator, rows, labels=labels, names=shown.names, title=shown.title,
                    corrections=constraints.corrections(labels))  # fmt: skip
    deliver(result, shown.targets, quiet=shown.quiet, json=shown.json, interrupted=watch.interrupted, finish=finish)


def add_columns(summary: dict[str, Any], rows: "EncodedRows") -> None:
    """Put into the summary how the columns were read."""
    from widegap.cli._column_options import decision_lines, decisions

    summary["columns"] = decisions(rows.encoder)
    summary["decisions"] = decision_lines(rows.encoder)
    summary["scaling"] = rows.encoder.scaling_


def name_drop(summary: dict[str, Any]) -> None:
    """Name the option that leaves out the column that almost determines the clusters, where the summary warns."""
    from widegap.cli._column_options import quoted
    from widegap.results._cautions import WITHOUT_IT, follows
    from widegap.results._deciding_columns import followed_column

    found = followed_column(summary["decided"])
    if found is not None:
        column, share = found["column"], found["share"]
        plain, named = follows(column, share, WITHOUT_IT), follows(column, share, f"--drop {quoted(column)}")
        summary["warnings"] = [named if note == plain else note for note in summary["warnings"]]


def add_classes(summary: dict[str, Any], rows: "EncodedRows", column: str, labels: Any) -> None:
    """Put into the summary how many rows of every class each cluster has."""
    from widegap.results._label_table import label_table

    if rows.frame is not None:
        kinds = [cluster["label"] for cluster in summary["clusters"]]
        summary["classes"] = label_table(labels, rows.frame[column].tolist(), column, kinds)
