"""``widegap cluster``: the groups of a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import INTERRUPTED, CommandError, guarded, tell
from widegap.cli._places import check_distinct, check_writable, partial_name


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
            raise CommandError("--model - asks for a model on standard output, which goes to files only; name one.")
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
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, .npy, .npz or svmlight; '-' reads CSV from stdin.")],
    k: Annotated[
        str, typer.Option("-k", "--clusters", help="Number of clusters, auto to find it, or a range to compare: 3..10.")
    ],
    method: options.Method = "auto",
    columns: Annotated[str | None, typer.Option(help="Columns to use, separated by commas.")] = None,
    categorical: Annotated[str | None, typer.Option(help="Columns of numbers that are categories.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Known classes: not used, only compared with.")] = None,
    scale: Annotated[options.Scaling, typer.Option(help="Scale of the columns.")] = options.Scaling.auto,
    missing: Annotated[
        options.Missing, typer.Option(help="Missing values: fill, drop rows, refuse.")
    ] = options.Missing.median,  # fmt: skip  # noqa: E501
    decimal: Annotated[
        str, typer.Option(help="Decimal sign in CSV files; with a comma, points separate thousands.")
    ] = ".",
    output: options.Output = None,
    model: options.Model = None,
    report: options.Report = None,
    title: options.Title = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    seed: options.Seed = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which a run that was killed goes on; of --method cpm3c and mkc.")
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Cluster the rows of a table; numbers are used as they are, texts as categories."""
    from widegap.cli._columns import Choices, plan_columns
    from widegap.cli._fitting import check_count, check_variety, choose_method
    from widegap.cli._large import cluster_large, large_job
    from widegap.cli._reading import Dialect, read_table

    find_number = k == "auto"
    numbers = range(1, 2) if find_number else options.cluster_numbers(k)
    targets = Targets(output, model, report)
    targets.check(data, json=json)
    if len(numbers) > 1 and targets.any:
        raise CommandError(f"-k {k} compares numbers of clusters and writes nothing; choose one, then ask for files.")
    file = large_job(data, options.names(columns), scale.value, bool(categorical or label_column or len(numbers) > 1))
    if file is not None:
        wanted = choose_method(method, file.source, find_number=find_number)
        check_count(numbers[-1], file.n_rows)
        estimator = _estimator(wanted, "auto" if find_number else numbers[0], seed, checkpoint)
        cluster_large(file, estimator, targets, title or data.stem, quiet=quiet, json=json)
        return
    choices = Choices(
        columns=options.names(columns),
        categorical=options.names(categorical),
        label_column=label_column,
        missing=missing.value,
        decimal=decimal,
        scale=scale.value,
    )
    table = read_table(data, Dialect(encoding, delimiter, decimal, header))
    plan, rows = plan_columns(table, choices)
    check_count(numbers[-1], rows.X.shape[0])
    check_variety(numbers[-1], rows.X, rows.notes)
    chosen = choose_method(method, rows.X, find_number=find_number)
    if len(numbers) > 1:
        from widegap.cli._compare import compare

        compare(chosen, numbers, rows, seed, quiet=quiet, json=json)
        return
    job = _Job(table, plan, rows, title or (data.stem if str(data) != "-" else "standard input"), label_column)
    estimator = _estimator(chosen, "auto" if find_number else numbers[0], seed, checkpoint)
    _run(job, estimator, targets, quiet=quiet, json=json)


@dataclass
class _Job:
    table: Any
    plan: Any
    rows: Any
    title: str
    label_column: str | None


def _estimator(method: str, k: int | str, seed: int, checkpoint: Path | None) -> Any:
    from widegap.cli._fitting import make_estimator

    estimator = make_estimator(method, k, seed)
    if checkpoint is None:
        return estimator
    if "checkpoint" not in estimator.get_params():
        raise CommandError(
            f"--checkpoint is for --method cpm3c and mkc; {method} keeps none, as it reads the rows a few times only: "
            "choose one of them, or leave it out."
        )
    check_writable(checkpoint)
    return estimator.set_params(checkpoint=checkpoint)


def _run(job: _Job, estimator: Any, targets: Targets, *, quiet: bool, json: bool) -> None:
    from widegap.cli import _fitting as fitting
    from widegap.cli._output import show
    from widegap.report._wording import counted

    label = f"Clustering {counted(len(job.rows.kept), 'row')}"
    with fitting.watching(label, estimator._expected_records(len(job.rows.kept)), quiet) as watch:
        with fitting.gathering_warnings(job.rows.notes):
            estimator.set_params(callback=watch).fit(job.rows.X)
    estimator.set_params(callback=None)
    if watch.interrupted:
        targets = targets.partial()
    summary, margins = _summary(job, estimator)
    written = _write(job, estimator, summary, margins, targets)
    show(summary, written, quiet=quiet, json=json, to_stderr=targets.to_stdout)
    if watch.interrupted:
        end_interrupted(written)


def end_interrupted(written: list[str]) -> None:
    """End the command after a fit that was cut short, saying where its result went."""
    where = "; ".join(written) if written else "nothing was asked to be written"
    tell(f"Interrupted: this is the best result so far ({where}).")
    raise typer.Exit(INTERRUPTED)


def _summary(job: _Job, estimator: Any) -> tuple[dict[str, Any], Any]:
    from widegap import describe
    from widegap.report import summarize

    summary = summarize(
        estimator,
        job.rows.X,
        labels=estimator.labels_,
        values=job.rows.values,
        feature_names=job.plan.names,
        items=job.table.row_texts(job.rows.kept),
        title=job.title,
        notes=[*job.rows.notes, *_agreement(job, estimator.labels_)],
    )
    scores = describe.scores(estimator, job.rows.X)
    return summary, describe.leads(scores, estimator.labels_)


def _agreement(job: _Job, labels: Any) -> list[str]:
    """How well the clusters match classes that are known."""
    if job.label_column is None:
        return []
    from widegap.metrics import clustering_accuracy, normalized_mutual_info

    truth = job.table.frame[job.label_column].iloc[job.rows.kept].astype(str).to_numpy()
    accuracy = clustering_accuracy(truth, labels, mapping="majority")
    shared = normalized_mutual_info(truth, labels)
    return [
        f"Compared with {job.label_column!r}, which was not used: {100 * accuracy:.1f} % of the rows are in a cluster "
        f"whose majority has their class; normalised mutual information {shared:.2f}."
    ]


def _write(job: _Job, estimator: Any, summary: dict[str, Any], margins: Any, targets: Targets) -> list[str]:
    from widegap import persistence
    from widegap.cli._output import clustered_frame, write_frame, write_report

    written = []
    if targets.output is not None:
        frame = clustered_frame(job.table, job.rows.kept, estimator.labels_, margins)
        write_frame(targets.output, frame, job.plan.decimal, from_text=job.table.from_text)
        written.append(f"rows: {targets.output}")
    if targets.model is not None:
        persistence.save(estimator, targets.model, extra={"columns": job.plan.to_json(), "title": job.title})
        written.append(f"model: {targets.model}")
    if targets.report is not None:
        write_report(targets.report, summary)
        written.append(f"report: {targets.report}")
    return written
