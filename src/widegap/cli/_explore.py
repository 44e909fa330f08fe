"""``widegap explore``: a page on which to look at clusters, correct them, and cluster again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded, tell
from widegap.cli._phases import tell_encoding, tell_reading

if TYPE_CHECKING:
    from widegap._types import Floats
    from widegap.cli._column_options import TableOptions
    from widegap.explorer._opening import Opened
    from widegap.explorer._rows import ShownRows
    from widegap.results import DocumentRows, EncodedRows
    from widegap.tables import TableEncoder
    from widegap.tables._delimited import Dialect

TOPICS = 8  # of documents without -k: as many as fit the list on the page without scrolling; not tuned


@dataclass
class _Opening:
    """What is shown: the model, its rows, and what people see of them."""

    model: Any
    X: Any
    shown: "ShownRows"
    notes: list[str]
    encoder: "TableEncoder | None" = None
    extra: dict[str, Any] = field(default_factory=dict)
    weights: "Floats | None" = None


@guarded
def open_explorer(
    path: Annotated[Path, typer.Argument(help="A table, a folder of documents, or a model file and its table.")],
    data: Annotated[Path | None, typer.Argument(help="The table or documents that the model was fitted to.")] = None,
    k: Annotated[str, typer.Option("-k", "--clusters", help="Number of clusters to begin with.")] = "auto",
    method: options.Method = "auto",
    columns: Annotated[str | None, typer.Option(help="Columns to use, separated by commas.")] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Column of true classes: shown, never used.")] = None,
    column_weight: Annotated[
        list[str] | None, typer.Option(help="Weight of a column, such as income=0.5; may be repeated.")
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="Column of texts; every row is then a document.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    update: Annotated[
        bool,
        typer.Option("--update", help="Update the model with the table, which has new rows, and tell what changed."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the last session on this path.")] = False,
    session: Annotated[
        Path | None, typer.Option(help="File to save every action in; beside the data if not given.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but 127.0.0.1 and ::1 needs --expose.")
    ] = "127.0.0.1",
    expose: Annotated[bool, typer.Option("--expose", help="Let in other machines that know the address.")] = False,
    title: options.Title = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    seed: options.Seed = 0,
    debug: options.Debug = False,
) -> None:
    """Open a page to look at clusters, slide their number, correct them and cluster again."""
    from widegap.cli._column_options import TableOptions, stated_weights
    from widegap.tables._delimited import Dialect

    _check_host(host, expose)
    source = data or path
    dialect = Dialect(encoding, delimiter, header=header)
    number = k if k == "auto" else options.cluster_numbers(k)[0]
    chosen = TableOptions(
        columns=options.names(columns),
        drop=options.names(drop),
        label_column=label_column,
        weights=stated_weights(column_weight),
    )
    if chosen != TableOptions() and (data is not None or path.is_dir() or text_column is not None):
        raise CommandError(
            "--columns, --drop, --label-column and --column-weight are for a table that is clustered; a model has its "
            "columns, and documents have none: leave them out."
        )
    if update and data is None:
        raise CommandError("--update needs a model file and a table of new rows; name both.")
    if update:
        opening = _open_updated(path, source, text_column, dialect)
    elif data is not None:
        tell_reading(source, quiet=False)
        opening = _open_model(path, data, text_column, dialect)
    elif path.is_dir() or text_column is not None:
        tell_reading(source, quiet=False)
        opening = _open_documents(path, text_column, encoding, number, seed)
    else:
        tell_reading(source, quiet=False)
        opening = _open_table(path, dialect, chosen, method, number, seed)
    place = session or source.with_name(f"{source.name}.explore.jsonl")
    with _session_place(place, resume):
        workspace = _served(opening, title or source.name, source, place, resume, host, port)
    print(workspace.address, flush=True)
    tell(f"Every action is saved to {place}; Ctrl-C stops the program, --resume continues.")
    if not hasattr(opening.model, "labels_") and not workspace.number:
        workspace.pages.worker.again()
    try:
        if browser:
            workspace.open_browser()
        workspace.wait()
    except KeyboardInterrupt:
        pass
    finally:
        workspace.close()


def _served(opening: _Opening, title: str, source: Path, place: Path, resume: bool, host: str, port: int) -> "Opened":
    """The workspace, whose page can be opened."""
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
        weights=opening.weights,
    )
    if resume:
        tell(f"Resuming after {workspace.number} actions; finding the clusters again.")
        workspace.fit_of(workspace.state.fit)
    try:
        workspace.serve(host=host, port=port)
    except BaseException:
        workspace.close()
        if not resume:
            place.unlink(missing_ok=True)
        raise
    return workspace


def _check_host(host: str, expose: bool) -> None:
    from widegap.explorer._addresses import is_own

    if is_own(host):
        return
    if not expose:
        raise CommandError(
            f"--host {host} would let other machines reach the page, and with it your rows; add --expose to allow it."
        )
    tell(
        f"Listening on {host}: anyone on the network who knows the address with its token can read your rows and "
        "change the session, and the connection is not encrypted."
    )


@contextmanager
def _session_place(place: Path, resume: bool) -> Iterator[None]:
    """Make place for the file of a session; an earlier one is kept under another name unless it is resumed.

    If the page cannot be opened, the files are as before, unless another explorer has begun a session there meanwhile.
    """
    kept = None
    if not resume and place.exists():
        kept = next(
            other
            for i in range(1, 10_000)
            if not (other := place.with_name(f"{place.stem}.{i}{place.suffix}")).exists()
        )
        place.rename(kept)
    try:
        yield
    except BaseException:
        if kept is not None and not place.exists():
            kept.rename(place)
        raise
    if kept is not None:
        tell(f"An earlier session was kept as {kept}; to continue it: --resume --session {kept}")


def _open_table(
    path: Path, dialect: "Dialect", columns: "TableOptions", method: str, k: int | str, seed: int
) -> _Opening:
    from widegap.cli._column_options import encode
    from widegap.cli._fitting import choose_method, make_estimator
    from widegap.tables._reading import read_table

    table = read_table(path, dialect)
    tell_encoding(table, quiet=False)
    rows = encode(table, columns)
    chosen = choose_method(method, rows.X, find_number=k == "auto" and method in ("auto", "max-margin"))
    if k == "auto" and chosen != "max-margin":
        raise CommandError(f"--method {chosen} needs a fixed k; pass one, such as -k 5.")
    estimator = make_estimator(chosen, k, seed, scales=rows.scales)
    return _Opening(estimator, rows.X, _shown(rows), rows.notes, rows.encoder)


def _open_documents(path: Path, text_column: str | None, encoding: str, k: int | str, seed: int) -> _Opening:
    from widegap import DocumentClustering
    from widegap.cli._document_reading import read_documents

    rows = read_documents(path, text_column, encoding)
    number = min(TOPICS, len(rows.X)) if k == "auto" else int(k)
    return _Opening(DocumentClustering(number, random_state=seed), rows.X, _shown(rows), rows.notes)


def _open_model(model: Path, data: Path, text_column: str | None, dialect: "Dialect") -> _Opening:
    from widegap import describe
    from widegap.cli._constraint_options import read_weight_column
    from widegap.cli._predict import load_model, read_stored_rows
    from widegap.results import DocumentRows
    from widegap.results._result import stored_names

    estimator, extra = load_model(model)
    rows = read_stored_rows(estimator, extra, data, text_column, dialect)
    encoder, clusterer = getattr(rows, "encoder", None), describe.last_step(estimator)
    kept = {**extra, "names": stored_names(extra)}
    column = extra.get("weight_column")
    weights = None if column is None or isinstance(rows, DocumentRows) else read_weight_column(rows, str(column))
    return _Opening(clusterer, rows.X, _shown(rows), rows.notes, encoder, kept, weights)


def _open_updated(model: Path, data: Path, text_column: str | None, dialect: "Dialect") -> _Opening:
    """A model after an update with new rows."""
    from widegap.cli._update import update_stored

    found = update_stored(model, data, text_column, dialect, None, 0.0, quiet=False)
    kept = {key: value for key, value in found.extra.items() if key not in ("corrections", "fixed")}
    extra = {**kept, **found.keeps, "names": found.names}
    rows = found.rows
    encoder = getattr(rows, "encoder", None)
    return _Opening(found.estimator, rows.X, _shown(rows), rows.notes, encoder, extra, found.weights)


def _shown(rows: "DocumentRows | EncodedRows") -> "ShownRows":
    """What the page shows of the rows."""
    from widegap.explorer._rows import ShownRows
    from widegap.results import DocumentRows

    if isinstance(rows, DocumentRows):
        return ShownRows(rows.X, titles=rows.names, frame=rows.frame)
    return ShownRows(
        rows.X,
        values=rows.values,
        names=rows.feature_names,
        frame=rows.frame,
        dialect=rows.dialect,
        kept=rows.kept,
        ids=rows.ids,
    )
