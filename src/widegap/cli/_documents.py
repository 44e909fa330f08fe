"""``widegap documents``: the topics of texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._delivery import Targets, deliver
from widegap.cli._errors import CommandError, guarded
from widegap.cli._names_file import read_names
from widegap.cli._phases import tell_reading

if TYPE_CHECKING:
    from widegap.results import DocumentRows

MOST_COMPARED = 10  # topics that -k auto looks at; each number takes four fits, and a list of more topics is not read


@guarded
def documents(
    path: Annotated[
        Path, typer.Argument(help="Folder of .txt, .md, .html, .pdf or .docx; CSV; JSONL; text by lines; '-' is stdin.")
    ],
    k: Annotated[
        str,
        typer.Option(
            "-k",
            "--clusters",
            help="Number of topics; auto, or a range such as 2-8, recommends one.",
            rich_help_panel=options.RUN,
        ),
    ] = "auto",  # fmt: skip
    text_column: options.TextColumn = None,
    encoding: options.Encoding = "auto",
    language: Annotated[
        str,
        typer.Option(
            help="Language whose stop words are ignored: auto detects it, other has none.",
            rich_help_panel=options.READING,
        ),
    ] = "auto",  # fmt: skip
    stemmer: Annotated[
        bool,
        typer.Option("--stem", help="Count English words with one stem as one term.", rich_help_panel=options.READING),
    ] = False,
    universum: Annotated[
        Path | None,
        typer.Option(help="Documents that belong to no topic, in the same formats.", rich_help_panel=options.KNOWLEDGE),
    ] = None,
    known_column: Annotated[
        str | None,
        typer.Option(
            help="Known labels: a column or key, empty where unknown, or a CSV file of document,label.",
            rich_help_panel=options.KNOWLEDGE,
        ),
    ] = None,  # fmt: skip
    known: options.FormerKnown = None,
    must_link: Annotated[
        Path | None,
        typer.Option(
            help="CSV of two columns: pairs of documents in one topic, by name, id or number.",
            rich_help_panel=options.KNOWLEDGE,
        ),
    ] = None,  # fmt: skip
    cannot_link: Annotated[
        Path | None,
        typer.Option(help="CSV of two columns: pairs in different topics.", rich_help_panel=options.KNOWLEDGE),
    ] = None,
    min_size: Annotated[
        str | None,
        typer.Option(
            help="Smallest allowed topic, in documents (20) or as a share (5%).", rich_help_panel=options.KNOWLEDGE
        ),
    ] = None,  # fmt: skip
    max_size: Annotated[
        str | None,
        typer.Option(help="Largest allowed topic, in documents or as a share.", rich_help_panel=options.KNOWLEDGE),
    ] = None,
    weight_column: Annotated[str | None, typer.Option(hidden=True)] = None,
    outliers: Annotated[str | None, typer.Option(hidden=True)] = None,
    output: options.Output = None,
    model: options.Model = None,
    report: options.Report = None,
    without_rows: options.WithoutRows = False,
    title: options.Title = None,
    names: options.Names = None,
    json: options.Json = False,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Find the topics of documents, with the terms that define each."""
    from widegap.cli._compare import FEW_SUBSAMPLES, SUBSAMPLES, Comparison, add_recommendation, recommend
    from widegap.cli._constraint_options import ConstraintOptions
    from widegap.cli._document_reading import read_documents
    from widegap.results import Result

    targets = Targets(output, model, report, with_rows=not without_rows)
    targets.check(path, universum, must_link, cannot_link, json=json)
    known_column = options.current(known_column, known, "--known-column", "--known")
    knowledge = ConstraintOptions(known_column, must_link, cannot_link, weight_column, min_size, max_size, outliers)
    knowledge.check_documents()
    numbers = None if k == "auto" else options.cluster_numbers(k)
    own_names = read_names(names)
    tell_reading(path, quiet=quiet)
    rows = read_documents(path, text_column, encoding, known_column)
    outside = None if universum is None else read_documents(universum, text_column, encoding)
    rows = rows if outside is None else _without_junk(rows, outside)
    n = len(rows.X)
    numbers = numbers or range(2, max(3, min(MOST_COMPARED, n // 3) + 1))
    _check_number(numbers[-1], rows)
    estimator = _estimator(numbers[-1], language, stemmer, seed)
    constraints = knowledge.read_documents(rows)
    recommendation = None
    if len(numbers) > 1:
        rows.notes += knowledge.about_comparison()
        few = FEW_SUBSAMPLES if k == "auto" else SUBSAMPLES
        comparison = Comparison(estimator, rows.X, n, seed, rows.notes, "topic")
        recommendation = recommend(comparison, numbers, quiet=quiet, json=json, n_subsamples=few)
        estimator.set_params(n_clusters=recommendation.chosen)
    constraints.check_documents(rows, estimator.n_clusters)
    knowledge.set_up(estimator, n)
    interrupted = _fit(estimator, rows, outside, constraints.arguments(), quiet=quiet)
    rows.notes += _about_language(estimator, language)

    def finish(summary: dict[str, Any]) -> None:
        if recommendation is not None:
            add_recommendation(summary, recommendation)

    name = title or (path.resolve().name if str(path) != "-" else "standard input")
    result = Result(estimator, rows, labels=estimator.labels_, names=own_names, title=name,
                    corrections=constraints.corrections(estimator.labels_))  # fmt: skip
    deliver(result, targets, quiet=quiet, json=json, interrupted=interrupted, finish=finish)


def _fit(
    estimator: Any, rows: "DocumentRows", outside: "DocumentRows | None", arguments: dict[str, Any], *, quiet: bool
) -> bool:
    """Fit, and note what the universum changed; returns whether the user interrupted it."""
    from sklearn.base import clone

    from widegap._wording import counted
    from widegap.cli._fitting import gathering_warnings, watching

    with watching(f"Clustering {counted(len(rows.X), 'document')}", None, quiet) as watch:
        with gathering_warnings(rows.notes):
            plain = clone(estimator).set_params(callback=watch)
            junk = None if outside is None else outside.X
            estimator.set_params(callback=watch).fit(rows.X, universum=junk, **arguments)
            if outside is not None and not watch.interrupted:
                rows.notes.append(_effect(estimator, plain.fit(rows.X, **arguments), outside))
    estimator.set_params(callback=None)
    return watch.interrupted


def _estimator(k: int, language: str, stemmer: bool, seed: int) -> Any:
    from widegap import DocumentClustering

    return DocumentClustering(
        n_clusters=k,
        stop_words=None if language == "other" else language,
        stemmer="porter" if stemmer else None,
        random_state=seed,
    )


def _about_language(estimator: Any, asked: str) -> list[str]:
    """Whose stop words were ignored, if the language was detected."""
    language = estimator._reader.vocabulary.language
    if asked != "auto" or language == "english":
        return []
    if language is None:
        return ["The language was not recognised, so no stop words were ignored; set it with --language."]
    return [f"The documents are in {language.capitalize()}: its stop words were ignored; --language sets another."]


def _without_junk(rows: "DocumentRows", outside: "DocumentRows") -> "DocumentRows":
    """The documents that are not also in the universum."""
    from widegap._wording import counted

    junk = {" ".join(text.split()) for text in outside.X}
    both = {i for i, text in enumerate(rows.X) if " ".join(text.split()) in junk}
    rows = rows.without(both) if both else rows
    rows.notes = [*rows.notes, *outside.notes]
    if both:
        are = "is" if len(both) == 1 else "are"
        rows.notes.append(f"{counted(len(both), 'document')} {are} also in the universum and got no topic.")
    if not rows.X:
        raise CommandError(
            "Every document is also in the universum, so none is left to cluster; choose another --universum."
        )
    return rows


def _effect(estimator: Any, plain: Any, outside: "DocumentRows") -> str:
    """What the universum changed, against a fit without it."""
    import numpy as np

    from widegap._wording import counted
    from widegap.metrics import clustering_accuracy

    known = (estimator.labels_ >= 0) & (plain.labels_ >= 0)
    same = clustering_accuracy(plain.labels_[known], estimator.labels_[known]) if known.any() else 1.0
    moved = round((1 - same) * int(np.count_nonzero(known)))
    given = f"With the {counted(len(outside.X), 'document')} of the universum"
    if not moved:
        return f"{given} every document is in the same topic as without."
    return f"{given} {moved:,} of {len(known):,} documents are in another topic than without."


def _check_number(k: int, rows: "DocumentRows") -> None:
    """Refuse more topics than documents, and note more than there are different ones."""
    n, distinct = len(rows.X), len(set(rows.X))
    if k > n:
        raise CommandError(f"-k {k} asks for more topics than there are documents ({n}); ask for fewer.")
    if k > distinct:
        rows.notes.append(
            f"-k {k} asks for more topics than there are different documents ({distinct}), so equal ones may be in "
            f"different topics; ask for {distinct} or fewer."
        )
