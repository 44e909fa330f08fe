"""``widegap explore``: a page on which to look at clusters, correct them, and cluster again."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded, tell

LOOPBACK = ("127.0.0.1", "localhost")
TOPICS = 8  # of documents, unless -k says otherwise


@dataclass
class _Opening:
    """What is shown: the model, its rows, and what people see of them."""

    model: Any
    X: Any
    shown: Any
    notes: list[str]
    encoder: Any = None
    extra: dict[str, Any] = field(default_factory=dict)


@guarded
def explore(
    path: Annotated[Path, typer.Argument(help="A table, a folder of documents, or a model file and its table.")],
    data: Annotated[Path | None, typer.Argument(help="The table or documents that the model was fitted to.")] = None,
    k: Annotated[str, typer.Option("-k", "--clusters", help="Number of clusters to begin with.")] = "auto",
    method: options.Method = "auto",
    columns: Annotated[str | None, typer.Option(help="Columns to use, separated by commas.")] = None,
    text_column: Annotated[str | None, typer.Option(help="Column of texts; every row is then a document.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the last session on this path.")] = False,
    session: Annotated[
        Path | None, typer.Option(help="File to save every action in; beside the data if not given.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; any but 127.0.0.1 needs --expose.")] = LOOPBACK[0],
    expose: Annotated[bool, typer.Option("--expose", help="Let in other machines that know the address.")] = False,
    title: options.Title = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    seed: options.Seed = 0,
    debug: options.Debug = False,
) -> None:
    """Open a page to look at clusters, slide their number, correct them and cluster again."""
    from widegap.tables._delimited import Dialect

    _check_host(host, expose)
    source = data or path
    dialect = Dialect(encoding, delimiter, header=header)
    number = k if k == "auto" else options.cluster_numbers(k)[0]
    if data is not None:
        opening = _open_model(path, data, text_column, dialect)
    elif path.is_dir() or text_column is not None:
        opening = _open_documents(path, text_column, encoding, number, seed)
    else:
        opening = _open_table(path, dialect, options.names(columns), method, number, seed)
    place = _session_place(session or source.with_name(f"{source.name}.explore.jsonl"), resume)
    _serve(opening, title or source.name, source, place, resume, host, port, browser)


def _serve(
    opening: _Opening, title: str, source: Path, place: Path, resume: bool, host: str, port: int, browser: bool
) -> None:
    import webbrowser

    from widegap.explorer._opening import Opened

    workspace = Opened(
        opening.model,
        opening.X,
        rows=opening.shown,
        title=title,
        notes=opening.notes,
        session=place,
        resume=resume,
        source=str(source),
        encoder=opening.encoder,
        extra=opening.extra,
    )
    if resume:
        tell(f"Resuming after {workspace.number} actions; finding the clusters again.")
        workspace.fit_of(workspace.state.fit)
    workspace.serve(host="127.0.0.1" if host in LOOPBACK else host, port=port)
    print(workspace.address, flush=True)
    tell(f"Every action is saved to {place}; Ctrl-C stops the program, --resume continues.")
    if not hasattr(opening.model, "labels_") and not workspace.number:
        workspace.pages.worker.again()
    if browser:
        webbrowser.open(workspace.address)
    try:
        workspace.wait()
    except KeyboardInterrupt:
        workspace.close()


def _check_host(host: str, expose: bool) -> None:
    if host in LOOPBACK:
        return
    if not expose:
        raise CommandError(
            f"--host {host} would let other machines reach the page, and with it your rows; add --expose to allow it."
        )
    tell(
        f"Listening on {host}: anyone on the network who knows the address with its token can read your rows and "
        "change the session, and the connection is not encrypted."
    )


def _session_place(place: Path, resume: bool) -> Path:
    """The file of the session; an earlier one is kept under another name unless it is resumed."""
    if resume or not place.exists():
        return place
    kept = next(
        other for i in range(1, 10_000) if not (other := place.with_name(f"{place.stem}.{i}{place.suffix}")).exists()
    )
    place.rename(kept)
    tell(f"An earlier session was kept as {kept}; to continue it: --resume --session {kept}")
    return place


def _open_table(path: Path, dialect: Any, columns: tuple[str, ...], method: str, k: int | str, seed: int) -> _Opening:
    from widegap.cli._fitting import choose_method, make_estimator
    from widegap.cli._table_rows import Choices, encode
    from widegap.tables._reading import read_table

    table = read_table(path, dialect)
    rows = encode(table, Choices(columns=columns))
    chosen = choose_method(method, rows.X, find_number=k == "auto" and method in ("auto", "max-margin"))
    if k == "auto" and chosen != "max-margin":
        raise CommandError(f"--method {chosen} needs the number of clusters; pass one, such as -k 5.")
    estimator = make_estimator(chosen, k, seed, scales=rows.scales)
    return _Opening(estimator, rows.X, _shown_table(table, rows), rows.notes, rows.encoder)


def _shown_table(table: Any, rows: Any) -> Any:
    from widegap.cli._table_rows import with_dialect
    from widegap.explorer._rows import ShownRows

    frame = None if table.frame is None else table.frame.iloc[rows.kept].reset_index(drop=True)
    return ShownRows(
        rows.X, values=rows.values, names=rows.names, frame=frame, dialect=with_dialect(table, rows), kept=rows.kept
    )


def _open_documents(path: Path, text_column: str | None, encoding: str, k: int | str, seed: int) -> _Opening:
    from widegap import DocumentClustering

    found, shown = _shown_documents(path, text_column, encoding)
    number = min(TOPICS, len(found.texts)) if k == "auto" else k
    return _Opening(DocumentClustering(number, random_state=seed), found.texts, shown, found.notes)


def _shown_documents(path: Path, text_column: str | None, encoding: str) -> tuple[Any, Any]:
    from widegap.cli._texts import read_documents
    from widegap.explorer._rows import ShownRows

    found = read_documents(path, text_column, encoding)
    return found, ShownRows(found.texts, titles=found.names, frame=found.frame)


def _open_model(model: Path, data: Path, text_column: str | None, dialect: Any) -> _Opening:
    from widegap.cli._names_file import stored_names
    from widegap.cli._predict import load_model
    from widegap.cli._table_rows import apply, model_parts
    from widegap.tables._reading import read_table

    estimator, extra = load_model(model)
    kept = {**extra, "names": stored_names(extra)}
    if hasattr(estimator, "topic_names_"):
        found, shown = _shown_documents(data, text_column, dialect.encoding)
        return _Opening(estimator, found.texts, shown, found.notes, extra=kept)
    encoder, clusterer = model_parts(estimator)
    table = read_table(data, dialect, least="at least one row")
    rows = apply(table, encoder, kept.get("missing") == "drop")
    return _Opening(clusterer, rows.X, _shown_table(table, rows), rows.notes, encoder, kept)
