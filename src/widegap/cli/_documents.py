"""``widegap documents``: the topics of texts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded
from widegap.cli._names_file import read_names

MOST_TOPICS = 10  # that -k auto looks at


@guarded
def documents(
    path: Annotated[
        Path, typer.Argument(help="Folder of .txt, .md, .html, .pdf or .docx; CSV; JSONL; text by lines; '-' is stdin.")
    ],
    k: Annotated[
        str, typer.Option("-k", "--clusters", help="Number of topics; auto, or a range such as 2-8, recommends one.")
    ],
    universum: Annotated[
        Path | None, typer.Option(help="Documents that belong to no topic, in any of these forms.")
    ] = None,  # fmt: skip  # noqa: E501
    text_column: Annotated[str | None, typer.Option(help="Column or key of the texts in CSV or JSONL.")] = None,
    language: Annotated[
        str, typer.Option(help="Language whose stop words do not count; 'auto' detects it, 'other' has none.")
    ] = "auto",
    stemmer: Annotated[bool, typer.Option("--stem", help="Count English words with one stem as one term.")] = False,
    known: Annotated[
        str | None, typer.Option(help="Labels you know: a column or key, empty elsewhere, or a CSV of document,label.")
    ] = None,  # fmt: skip  # noqa: E501
    must_link: Annotated[
        Path | None, typer.Option(help="CSV of two columns: documents that belong together, by name, id or number.")
    ] = None,  # fmt: skip  # noqa: E501
    cannot_link: Annotated[
        Path | None, typer.Option(help="The same for documents that must be in different topics.")
    ] = None,
    min_size: Annotated[
        str | None, typer.Option(help="Smallest allowed topic, in documents (20) or as a share (5%).")
    ] = None,
    max_size: Annotated[str | None, typer.Option(help="Largest allowed topic, in the same way.")] = None,
    weight_column: Annotated[str | None, typer.Option(hidden=True)] = None,
    outliers: Annotated[str | None, typer.Option(hidden=True)] = None,
    output: options.Output = None,
    model: options.Model = None,
    report: options.Report = None,
    title: options.Title = None,
    names: options.Names = None,
    encoding: options.Encoding = "auto",
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Find the topics of documents, with the terms that define each."""
    from sklearn.base import clone

    from widegap._wording import counted
    from widegap.cli._cluster import Targets, end_interrupted
    from widegap.cli._compare import FEW_SUBSAMPLES, SUBSAMPLES, Comparison, add_recommendation, recommend
    from widegap.cli._document_constraints import check_said, check_wishes, read_said
    from widegap.cli._fitting import gathering_warnings, watching
    from widegap.cli._output import show
    from widegap.cli._side_information_options import Wishes
    from widegap.cli._texts import read_documents

    targets = Targets(output, model, report)
    targets.check(path, universum, must_link, cannot_link, json=json)
    wishes = Wishes(known, must_link, cannot_link, weight_column, min_size, max_size, outliers)
    check_wishes(wishes)
    numbers = None if k == "auto" else options.cluster_numbers(k)
    given = read_names(names)
    found = read_documents(path, text_column, encoding, known)
    outside = None if universum is None else read_documents(universum, text_column, encoding)
    if outside is not None:
        found = _without_junk(found, outside)
    n = len(found.texts)
    numbers = numbers or range(2, max(3, min(MOST_TOPICS, n // 3) + 1))
    if numbers[-1] > n:
        raise CommandError(f"-k {numbers[-1]} asks for more topics than there are documents ({n}); ask for fewer.")
    _check_variety(numbers[-1], found)
    estimator = _estimator(numbers[-1], language, stemmer, seed)
    said = read_said(wishes, found)
    recommendation = None
    if len(numbers) > 1:
        found.notes += wishes.told_of_comparison()
        few = FEW_SUBSAMPLES if k == "auto" else SUBSAMPLES
        comparison = Comparison(estimator, found.texts, n, seed, found.notes, "topic")
        recommendation = recommend(comparison, numbers, quiet=quiet, json=json, n_subsamples=few)
        estimator.set_params(n_clusters=recommendation.chosen)
    check_said(said, found, estimator.n_clusters)
    wishes.set_up(estimator, n)
    label = f"Clustering {counted(n, 'document')}"
    with watching(label, None, quiet) as watch, gathering_warnings(found.notes):
        plain = clone(estimator).set_params(callback=watch)
        junk = None if outside is None else outside.texts
        estimator.set_params(callback=watch).fit(found.texts, universum=junk, **said.arguments())
        if outside is not None and not watch.interrupted:
            found.notes.append(_effect(estimator, plain.fit(found.texts, **said.arguments()), outside))
    estimator.set_params(callback=None)
    found.notes += _about_language(estimator, language)
    if watch.interrupted:
        targets = targets.partial()
    name = title or (path.resolve().name if str(path) != "-" else "standard input")
    by_hand = said.figures(estimator.labels_)
    found.notes[:0] = [by_hand["words"]] if by_hand else []
    summarize, write_rows, assign = describe_topics(estimator, found, None, name, given)
    summary = summarize()
    summary["by_hand"] = by_hand
    if recommendation is not None:
        add_recommendation(summary, recommendation)
    extra = {"title": name, "names": given, **said.stored(estimator.labels_)}
    written = _write(estimator, summary, write_rows, targets, extra)
    if json:
        summary["assignments"] = assign()
    show(summary, written, quiet=quiet, json=json, to_stderr=targets.to_stdout)
    if watch.interrupted:
        end_interrupted(written)


def _estimator(k: int, language: str, stemmer: bool, seed: int) -> Any:
    from widegap import DocumentClustering

    return DocumentClustering(
        n_clusters=k,
        stop_words=None if language == "other" else language,
        stemmer="porter" if stemmer else None,
        random_state=seed,
    )


def _about_language(estimator: Any, asked: str) -> list[str]:
    """Whose stop words were left out, where that was found out."""
    language = estimator._reader.vocabulary.language
    if asked != "auto" or language == "english":
        return []
    if language is None:
        return ["The language was not recognised, so no stop words were left out; --language names it."]
    return [f"The documents are in {language.capitalize()}: its stop words were left out. --language names another."]


def _without_junk(found: Any, outside: Any) -> Any:
    """The documents without those that are in the universum, too."""
    from widegap._wording import counted

    junk = {" ".join(text.split()) for text in outside.texts}
    both = {i for i, text in enumerate(found.texts) if " ".join(text.split()) in junk}
    found = found.without(both) if both else found
    found.notes = [*found.notes, *outside.notes]
    if both:
        are = "is" if len(both) == 1 else "are"
        found.notes.append(f"{counted(len(both), 'document')} {are} also in the universum and got no topic.")
    if not found.texts:
        raise CommandError(
            "Every document is also in the universum, so none is left to cluster; choose another --universum."
        )
    return found


def _effect(estimator: Any, plain: Any, outside: Any) -> str:
    """What the universum changed, against a fit without it."""
    import numpy as np

    from widegap._wording import counted
    from widegap.metrics import clustering_accuracy

    known = (estimator.labels_ >= 0) & (plain.labels_ >= 0)
    same = clustering_accuracy(plain.labels_[known], estimator.labels_[known]) if known.any() else 1.0
    moved = round((1 - same) * int(np.count_nonzero(known)))
    said = f"{counted(len(outside.texts), 'document')} of the universum helped to place the borders between topics"
    if not moved:
        return f"{said}; every document kept the topic that it has without them."
    return f"{said}; {moved:,} of {len(known):,} documents are in another topic than without them."


def _check_variety(k: int, found: Any) -> None:
    """Note more topics than there are different documents."""
    n = len(set(found.texts))
    if n < k:
        found.notes.append(
            f"-k {k} asks for more topics than there are different documents ({n}), so that equal ones may be in "
            f"different topics; ask for {n} or fewer."
        )


def describe_documents(
    estimator: Any, path: Path, text_column: str | None, encoding: str, title: str, names: Any = None
) -> Any:
    """What can be told of documents that a saved model is applied to, as ``describe_topics`` has it."""
    from widegap.cli._texts import read_documents

    found = read_documents(path, text_column, encoding)
    return describe_topics(estimator, found, estimator.predict(found.texts), title, names)


def describe_topics(estimator: Any, found: Any, labels: Any, title: str, names: Any = None) -> Any:
    """Functions that summarize documents, write their table to a path, and give their topics."""
    from widegap.cli._output import assignments, write_frame

    def summary() -> Any:
        from widegap.report import summarize

        return summarize(
            estimator,
            found.texts,
            labels=labels,
            items=found.items(),
            ids=found.names,
            title=title,
            names=names,
            notes=found.notes,
        )

    def write(output: Path) -> None:
        write_frame(output, _frame(estimator, found, labels), found.dialect)

    def assign() -> Any:
        frame = _frame(estimator, found, labels)
        return assignments(range(len(frame)), frame.iloc[:, -3], frame.iloc[:, -1])

    return summary, write, assign


def _frame(estimator: Any, found: Any, labels: Any) -> Any:
    import numpy as np
    import pandas as pd

    from widegap import describe
    from widegap.tables._writing import with_results

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


def _write(estimator: Any, summary: dict[str, Any], write_rows: Any, targets: Any, extra: Any) -> list[str]:
    from widegap import persistence
    from widegap.cli._output import write_report

    written = []
    if targets.output is not None:
        write_rows(targets.output)
        written.append(f"documents: {targets.output}")
    if targets.model is not None:
        persistence.save(estimator, targets.model, extra=extra)
        written.append(f"model: {targets.model}")
    if targets.report is not None:
        write_report(targets.report, summary)
        written.append(f"report: {targets.report}")
    return written
