"""``widegap documents``: the topics of texts."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded

SHOWN_TEXT = 280


class Language(StrEnum):
    """Languages with stop words."""

    english = "english"
    other = "other"


@guarded
def documents(
    path: Annotated[
        Path, typer.Argument(help="Folder of .txt, .md or .html; CSV; JSONL; text by lines; '-' is stdin.")
    ],
    k: Annotated[int, typer.Option("-k", "--clusters", min=1, help="Number of topics.")],
    universum: Annotated[
        Path | None, typer.Option(help="Documents that belong to no topic, in any of these forms.")
    ] = None,  # fmt: skip  # noqa: E501
    text_column: Annotated[str | None, typer.Option(help="Column or key of the texts in CSV or JSONL.")] = None,
    language: Annotated[Language, typer.Option(help="English leaves out English stop words.")] = Language.english,
    stemmer: Annotated[bool, typer.Option("--stem", help="Count English words with one stem as one term.")] = False,
    output: options.Output = None,
    model: options.Model = None,
    report: options.Report = None,
    title: options.Title = None,
    encoding: options.Encoding = "utf-8",
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Find the topics of documents, with the terms that define each."""
    from widegap.cli._cluster import Targets, end_interrupted
    from widegap.cli._fitting import gathering_warnings, watching
    from widegap.cli._output import show
    from widegap.cli._texts import read_documents
    from widegap.report._wording import counted

    targets = Targets(output, model, report)
    targets.check(path, universum, json=json)
    found = read_documents(path, text_column, encoding)
    if k > len(found.texts):
        raise CommandError(f"-k {k} asks for more topics than there are documents ({len(found.texts)}); ask for fewer.")
    others = None
    if universum is not None:
        outside = read_documents(universum, text_column, encoding)
        found.notes += outside.notes
        others = outside.texts
    _check_variety(k, found)
    label = f"Clustering {counted(len(found.texts), 'document')}"
    with watching(label, None, quiet) as watch, gathering_warnings(found.notes):
        estimator = _fit(found.texts, others, k, language, stemmer, seed, watch)
    estimator.set_params(callback=None)
    if watch.interrupted:
        targets = targets.partial()
    name = title or (path.resolve().name if str(path) != "-" else "standard input")
    summary, write_rows = summarize_documents(estimator, found, None, name)
    written = _write(estimator, summary, write_rows, targets, name)
    show(summary, written, quiet=quiet, json=json, to_stderr=targets.to_stdout)
    if watch.interrupted:
        end_interrupted(written)


def _fit(
    texts: list[str],
    universum: list[str] | None,
    k: int,
    language: Language,
    stemmer: bool,
    seed: int,
    callback: Callable[[Any], bool],
) -> Any:
    from widegap import DocumentClustering

    estimator = DocumentClustering(
        n_clusters=k,
        stop_words="english" if language is Language.english else None,
        stemmer="porter" if stemmer else None,
        random_state=seed,
        callback=callback,
    )
    return estimator.fit(texts, universum=universum)


def _check_variety(k: int, found: Any) -> None:
    """Note more topics than there are different documents."""
    n = len(set(found.texts))
    if n < k:
        found.notes.append(
            f"-k {k} asks for more topics than there are different documents ({n}), so that equal ones may be in "
            f"different topics; ask for {n} or fewer."
        )


def describe_documents(estimator: Any, path: Path, text_column: str | None, encoding: str, title: str) -> Any:
    """Summary of documents, and a function that writes their table, that a saved model is applied to."""
    from widegap.cli._texts import read_documents

    found = read_documents(path, text_column, encoding)
    return summarize_documents(estimator, found, estimator.predict(found.texts), title)


def summarize_documents(estimator: Any, found: Any, labels: Any, title: str) -> Any:
    """Summary of documents, and a function that writes their table to a path."""
    from widegap.cli._output import write_frame
    from widegap.report import summarize

    items = [f"{name}: {text[:SHOWN_TEXT]}" for name, text in zip(found.names, found.texts, strict=True)]
    summary = summarize(estimator, found.texts, labels=labels, items=items, title=title, notes=found.notes)

    def write(output: Path) -> None:
        write_frame(output, _frame(estimator, found, labels), from_text=found.from_text)

    return summary, write


def _frame(estimator: Any, found: Any, labels: Any) -> Any:
    import numpy as np
    import pandas as pd

    from widegap import describe
    from widegap.cli._output import with_results

    if labels is None:
        labels, margins = estimator.labels_, estimator.margins_
    else:
        place = {int(topic): j for j, topic in enumerate(estimator.topics_)}
        columns = np.array([place.get(int(label), -1) for label in labels])
        margins = describe.leads(describe.scores(estimator, found.texts), columns)
    names = estimator.topic_names_
    frame = found.frame.copy() if found.frame is not None else pd.DataFrame({"document": found.names})
    new = {"topic": labels, "topic_name": [names.get(int(label), "") for label in labels], "margin": margins}
    return with_results(frame, new)


def _write(estimator: Any, summary: dict[str, Any], write_rows: Any, targets: Any, title: str) -> list[str]:
    from widegap import persistence
    from widegap.cli._output import write_report

    written = []
    if targets.output is not None:
        write_rows(targets.output)
        written.append(f"documents: {targets.output}")
    if targets.model is not None:
        persistence.save(estimator, targets.model, extra={"title": title})
        written.append(f"model: {targets.model}")
    if targets.report is not None:
        write_report(targets.report, summary)
        written.append(f"report: {targets.report}")
    return written
