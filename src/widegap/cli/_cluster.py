"""``widegap cluster``: the groups of a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import INTERRUPTED, CommandError, guarded, tell
from widegap.cli._names_file import read_names
from widegap.cli._places import check_distinct, check_writable, partial_name

DATA_HELP = "CSV, TSV, Excel, JSON, Parquet, Feather, SQLite (file.db::table), .npy, .npz or svmlight, also packed; '-' is stdin."  # fmt: skip  # noqa: E501


@dataclass(frozen=True)
class Targets:
    """Where results go."""

    output: Path | None
    model: Path | None
    report: Path | None

    def check(self, *inputs: Path | None, json: bool = False) -> None:
        """Refuse places that cannot be written to, or that are read, before the work begins."""
        from widegap.cli._output import check_output

        check_output(self.output)
        check_distinct({"-o": self.output, "--model": self.model, "--report": self.report}, inputs, json)
        if str(self.model) == "-":
            raise CommandError("--model - is not possible: a model cannot be printed; name a file.")
        for path in (self.output, self.model, self.report):
            if path is not None and str(path) != "-":
                check_writable(path)

    def partial(self) -> "Targets":
        """The same with names that tell of a fit that was cut short."""
        return Targets(*(path and partial_name(path) for path in (self.output, self.model, self.report)))

    @property
    def to_stdout(self) -> bool:
        return "-" in (str(self.output), str(self.report))

    @property
    def any(self) -> bool:
        return any((self.output, self.model, self.report))


@guarded
def cluster(
    data: Annotated[Path, typer.Argument(help=DATA_HELP)],
    k: Annotated[
        str, typer.Option("-k", "--clusters", help="Number of clusters; auto, or a range such as 2-8, recommends one.")
    ],
    method: options.Method = "auto",
    columns: Annotated[str | None, typer.Option(help="Use only these columns, separated by commas.")] = None,
    drop: Annotated[str | None, typer.Option(help="Leave out these columns.")] = None,
    numeric: Annotated[str | None, typer.Option(help="Read these columns as numbers.")] = None,
    categorical: Annotated[str | None, typer.Option(help="Read these columns as categories.")] = None,
    text_column: Annotated[str | None, typer.Option(help="Columns of free text, used by their topics.")] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column of known classes: never used to cluster, only compared with the result.")
    ] = None,
    scale: Annotated[options.Scaling, typer.Option(help="How numbers are scaled.")] = options.Scaling.auto,
    dates: Annotated[
        options.Dates, typer.Option(help="Dates as days, or as year, month, weekday, hour.")
    ] = options.Dates.elapsed,
    missing: Annotated[
        options.Missing, typer.Option(help="Gaps: fill in the median, drop the rows, or refuse.")
    ] = options.Missing.median,
    na_values: Annotated[str | None, typer.Option(help="More words that mean a gap, separated by commas.")] = None,
    decimal: Annotated[
        options.Decimal, typer.Option(help="Decimal sign of numbers in text files.")
    ] = options.Decimal.auto,
    known: options.Known = None,
    must_link: options.MustLink = None,
    cannot_link: options.CannotLink = None,
    weight_column: options.WeightColumn = None,
    min_size: options.MinSize = None,
    max_size: options.MaxSize = None,
    outliers: options.Outliers = None,
    output: options.Output = None,
    model: options.Model = None,
    report: options.Report = None,
    title: options.Title = None,
    names: options.Names = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    seed: options.Seed = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File that keeps progress: the same command resumes a killed run (--method cpm3c, mkc)."),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Cluster the rows of a table. Columns are read by what they hold; the summary says how, and how to change it."""
    from widegap.cli._compare import recommend
    from widegap.cli._fitting import check_count, check_variety, choose_method
    from widegap.cli._large import cluster_large, large_job
    from widegap.cli._side_information_options import Wishes
    from widegap.cli._table_rows import Choices, encode
    from widegap.tables._delimited import Dialect
    from widegap.tables._reading import read_table

    find_number = k == "auto"
    numbers = range(1, 2) if find_number else options.cluster_numbers(k)
    targets = Targets(output, model, report)
    targets.check(options.file_of(data), must_link, cannot_link, json=json)
    wishes = Wishes(known, must_link, cannot_link, weight_column, min_size, max_size, outliers)
    plan = _Plan("auto" if find_number else numbers[0], method, seed, checkpoint, wishes)
    whole = any((categorical, numeric, drop, text_column, na_values, label_column, wishes.asked, len(numbers) > 1))
    file = large_job(data, options.names(columns), scale.value, whole)
    if file is not None:
        plan.method = choose_method(method, file.source, find_number=find_number)
        check_count(numbers[-1], file.n_rows)
        estimator = plan.estimator(file.n_rows, scales=False)
        cluster_large(file, estimator, targets, title or data.stem, quiet=quiet, json=json)
        return
    choices = Choices(
        columns=options.names(columns),
        drop=options.names(drop),
        numeric=options.names(numeric),
        categorical=options.names(categorical),
        text_columns=options.names(text_column),
        label_column=label_column,
        known=known,
        weight_column=weight_column,
        missing=missing.value,
        na_values=options.names(na_values),
        decimal=decimal.value,
        dates=dates.value,
        scale=scale.value,
    )
    table = read_table(data, Dialect(encoding, delimiter, None if decimal.value == "auto" else decimal.value, header))
    rows = encode(table, choices)
    check_count(numbers[-1], rows.X.shape[0])
    check_variety(numbers[-1], rows.X, rows.notes)
    plan.method = choose_method(method, rows.X, find_number=find_number)
    name = title or (options.file_of(data).stem if str(data) != "-" else "standard input")
    wishes.check(plan.method)
    job = Job(table, rows, choices, name, plan, read_names(names), wishes.read(table, rows, choices.na_values))
    if len(numbers) > 1:
        rows.notes += wishes.told_of_comparison()
        job.recommendation = recommend(job.comparison(numbers[-1]), numbers, quiet=quiet, json=json)
        plan.k = job.recommendation.chosen
    job.said.check(rows.kept, plan.k)
    _run(job, plan.estimator(rows.X.shape[0], scales=rows.scales), targets, quiet=quiet, json=json)


@dataclass
class _Plan:
    """How rows are clustered, as the options say."""

    k: int | str
    method: str
    seed: int
    checkpoint: Path | None
    wishes: Any

    def estimator(self, n_rows: int, *, scales: bool, k: int | str | None = None) -> Any:
        """The estimator; ``scales`` if it may look at the units of columns itself."""
        from widegap.cli._fitting import make_estimator

        estimator = make_estimator(self.method, k or self.k, self.seed, scales=scales)
        self.wishes.set_up(estimator, n_rows)
        if self.checkpoint is None:
            return estimator
        if "checkpoint" not in estimator.get_params():
            raise CommandError(
                f"--checkpoint is for --method cpm3c and mkc; {self.method} needs none, as it reads the rows "
                "only a few times; choose one of those methods, or leave --checkpoint out."
            )
        check_writable(self.checkpoint)
        return estimator.set_params(checkpoint=self.checkpoint)


@dataclass
class Job:
    """Rows that are clustered, and what is told of them."""

    table: Any
    rows: Any
    choices: Any
    title: str
    plan: _Plan | None
    names: dict[str, str]
    said: Any
    recommendation: Any = None

    def comparison(self, k: int) -> Any:
        """What there is to compare, by an estimator for up to k clusters."""
        from widegap.cli._compare import Comparison
        from widegap.cli._fitting import make_estimator

        assert self.plan is not None
        estimator = make_estimator(self.plan.method, k, self.plan.seed, scales=self.rows.scales)
        return Comparison(estimator, self.rows.X, self.rows.X.shape[0], self.plan.seed, self.rows.notes)


def _run(job: Job, estimator: Any, targets: Targets, *, quiet: bool, json: bool) -> None:
    from widegap._wording import counted
    from widegap.cli import _fitting as fitting
    from widegap.cli._compare import explain_auto
    from widegap.cli._output import assignments, show

    label = f"Clustering {counted(len(job.rows.kept), 'row')}"
    with fitting.watching(label, estimator._expected_records(len(job.rows.kept)), quiet) as watch:
        with fitting.gathering_warnings(job.rows.notes):
            estimator.set_params(callback=watch).fit(job.rows.X, **job.said.arguments())
    estimator.set_params(callback=None)
    if watch.interrupted:
        targets = targets.partial()
    elif estimator.n_clusters == "auto":
        job.recommendation = explain_auto(estimator)
    summary, margins = summarize_job(job, estimator)
    written = write_job(job, estimator, summary, margins, targets)
    if json:
        summary["assignments"] = assignments(job.rows.kept, estimator.labels_, margins)
    show(summary, written, quiet=quiet, json=json, to_stderr=targets.to_stdout)
    if watch.interrupted:
        end_interrupted(written)


def end_interrupted(written: list[str]) -> None:
    """End the command after a fit that was cut short, saying where its result went."""
    where = "; ".join(written) if written else "nothing was asked to be written"
    tell(f"Interrupted: this is the best result so far ({where}).")
    raise typer.Exit(INTERRUPTED)


def summarize_job(job: Job, estimator: Any) -> tuple[dict[str, Any], Any]:
    """The summary of a result, and the margins of the rows."""
    from widegap import describe
    from widegap.cli._compare import add_recommendation
    from widegap.cli._table_rows import decision_lines, decisions, single_rows
    from widegap.report import summarize
    from widegap.report._summarize import number_rows

    by_hand = job.said.figures(estimator.labels_)
    summary = summarize(
        estimator,
        job.rows.X,
        labels=estimator.labels_,
        values=job.rows.values,
        feature_names=job.rows.names,
        **single_rows(job.table, job.rows.encoder, job.rows.kept),
        title=job.title,
        names=job.names,
        notes=[*([by_hand["words"]] if by_hand else []), *job.rows.notes, *_agreement(job, estimator.labels_)],
    )
    number_rows(summary, job.rows.kept)
    summary["by_hand"] = by_hand
    summary["columns"] = decisions(job.rows.encoder)
    summary["decisions"] = decision_lines(job.rows.encoder)
    summary["scaling"] = job.rows.encoder.scaling_
    if job.recommendation is not None:
        add_recommendation(summary, job.recommendation)
    scores = describe.scores(estimator, job.rows.X)
    return summary, describe.leads(scores, estimator.labels_)


def _agreement(job: Job, labels: Any) -> list[str]:
    """How well the clusters match classes that are known."""
    label_column = job.choices.label_column
    if label_column is None:
        return []
    from widegap.metrics import clustering_accuracy, normalized_mutual_info

    inside = labels >= 0
    truth = job.table.frame[label_column].iloc[job.rows.kept[inside]].astype(str).to_numpy()
    accuracy = clustering_accuracy(truth, labels[inside], mapping="majority")
    shared = normalized_mutual_info(truth, labels[inside])
    return [
        f"Compared with {label_column!r}, which was not used: {100 * accuracy:.1f} % of the rows are in a cluster "
        f"whose majority has their class; normalised mutual information {shared:.2f}."
    ]


def write_job(job: Job, estimator: Any, summary: dict[str, Any], margins: Any, targets: Targets) -> list[str]:
    """Write what was asked for; returns lines that tell where."""
    from sklearn.pipeline import Pipeline

    from widegap import persistence
    from widegap.cli._output import clustered_frame, write_frame, write_report
    from widegap.cli._table_rows import with_dialect

    written = []
    if targets.output is not None:
        names = {cluster["label"]: cluster["name"] for cluster in summary["clusters"] if cluster["named"]}
        frame = clustered_frame(job.table, job.rows, estimator.labels_, margins, names)
        write_frame(targets.output, frame, with_dialect(job.table, job.rows))
        written.append(f"rows: {targets.output}")
    if targets.model is not None:
        extra = {
            "missing": job.choices.missing,
            "title": job.title,
            "names": job.names,
            **job.said.stored(estimator.labels_),
        }
        model = Pipeline([("table", job.rows.encoder), ("cluster", estimator)])
        persistence.save(model, targets.model, extra=extra)
        written.append(f"model: {targets.model}")
    if targets.report is not None:
        write_report(targets.report, summary)
        written.append(f"report: {targets.report}")
    return written
