"""``widegap segment``: the segments of a picture, or of all pictures in a folder."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import INTERRUPTED, CommandError, guarded, tell
from widegap.cli._pictures import Steps, pictures_in, read_picture
from widegap.cli._places import check_distinct, check_writable, partial_name
from widegap.exceptions import InvalidDataError

MAX_SEGMENTS = 256  # of a picture with a palette
LOSSLESS = (".png", ".gif", ".tif", ".tiff", ".bmp")
TINY_REGIONS = 2000  # a region is tiny if this many would fit into the picture; chosen by eye on photos
SHOWN_SEGMENTS, SHOWN_FILES = 12, 6  # lines, so that the summary of a picture stays on one screen


class SegmentMethod(StrEnum):
    """Methods of ``segment``."""

    iter_svr = "iter-svr"
    max_margin = "max-margin"
    cpm3c = "cpm3c"


@guarded
def segment_pictures(
    picture: Annotated[
        Path, typer.Argument(help="PNG, JPEG or another format that Pillow reads; or a folder of them.")
    ],
    k: Annotated[
        str | None,
        typer.Option("-k", "--segments", help="Number of segments; auto finds it.", show_default="auto"),
    ] = None,
    method: Annotated[
        SegmentMethod | None,
        typer.Option(help="Clustering method.", show_default="iter-svr, or max-margin if the number is found"),
    ] = None,
    recursive: Annotated[
        bool, typer.Option("--recursive/--at-once", help="Split in two repeatedly, or all at once.")
    ] = True,
    position: Annotated[float, typer.Option(min=0, help="Weight of a pixel's position relative to its colour.")] = 0.0,
    texture: Annotated[float, typer.Option(min=0, help="Weight of local contrast.")] = 0.0,
    smooth: Annotated[
        int, typer.Option(min=0, max=100, help="Radius in pixels of the neighbourhood that votes on each label.")
    ] = 2,
    min_region: Annotated[
        int | None, typer.Option(min=0, help="Smallest region in pixels (default: 1/2000 of the picture).")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Label picture, or a folder for those of a folder of pictures.",
            rich_help_panel=options.RESULTS,
        ),
    ] = None,  # fmt: skip
    model: Annotated[
        Path | None,
        typer.Option(help="Fit one model to all pictures, and save it to this file.", rich_help_panel=options.RESULTS),
    ] = None,
    apply: Annotated[
        Path | None, typer.Option(help="Apply a saved model, in place of -k.", rich_help_panel=options.RUN)
    ] = None,
    json: options.Json = False,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Segment a picture; writes labels, an overlay, a side-by-side view, every split, and a table.

    Photos take about 0.4 GB of memory and 15 bytes a pixel (12 megapixels: 0.6 GB).

    With --position, --texture or more than 8 bits it is 45 bytes a pixel.
    """
    if k is None and model is not None and model.exists():
        apply, model = options.current(apply, model, "--apply", "--model without -k"), None
    if k is not None and apply is not None:
        raise CommandError("-k and --apply cannot be combined: the model has its number of segments; leave one out.")
    job = _Job(
        k=_asked_number(k),
        method="auto" if method is None else method.value,
        recursive=recursive and model is None and apply is None,
        settings={"position": position, "texture": texture, "random_state": seed},
        smooth=smooth,
        min_region=min_region,
        model=model,
        apply=apply,
        is_folder=picture.is_dir(),
    )
    job.find(picture, output)
    _run(job, quiet=quiet, json=json)


def _asked_number(k: str | None) -> int | None:
    """The number of segments; None if it is to be found."""
    if k is None or k.strip() == "auto":
        return None
    if not k.strip().isdecimal() or not 1 <= int(k) <= MAX_SEGMENTS:
        raise CommandError(f"-k {k!r} must be a number of segments from 1 to {MAX_SEGMENTS}, or auto.")
    return int(k)


@dataclass
class _Job:
    """What to do; ``places`` are pairs of a picture and its label picture, and a ``k`` of None is to be found."""

    k: int | None
    method: str
    recursive: bool
    settings: dict[str, Any]
    smooth: int
    min_region: int | None
    model: Path | None
    apply: Path | None
    is_folder: bool
    places: list[tuple[Path, Path]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def find(self, picture: Path, output: Path | None) -> None:
        """Which pictures there are, and where labels go; refuses what cannot be written, or would replace a picture."""
        if self.is_folder:
            folder = output or _folder_beside(picture.resolve())
            if folder.exists() and not folder.is_dir():
                raise CommandError(f"{folder} is a file; results for a folder of pictures go to a folder.")
            if folder.resolve() == picture.resolve():
                raise CommandError(f"{folder}: -o would write among the pictures that are read; choose another folder.")
            folder.mkdir(parents=True, exist_ok=True)
            self.places = [(path, folder / f"{path.name}.segments.png") for path in pictures_in(picture)]
        else:
            self.places = [(picture, output or picture.with_suffix(".segments.png"))]
        for source, target in self.places:
            if target.suffix.lower() not in LOSSLESS:
                raise CommandError(
                    f"{target}: labels need a lossless picture, one of {', '.join(LOSSLESS)}; rename it."
                )
            splits = range(2, (self.k or 1) if self.recursive and not self.is_folder else 1)
            for name in ("", ".overlay", ".side", *(f".{n}" for n in splits)):
                path = target.with_suffix(f"{name}{target.suffix}")
                check_distinct({"-o": path}, (source,))
                check_writable(path)
        if self.model is not None:
            check_distinct({"--model": self.model, "-o": self.places[0][1]}, [source for source, _ in self.places])
            check_writable(self.model)


def _folder_beside(pictures: Path) -> Path:
    """Where results go that nobody asked to be elsewhere."""
    if not pictures.name:
        raise CommandError(f"{pictures} has no folder beside it for the results; name one with -o.")
    return pictures.with_name(f"{pictures.name}-segments")


@dataclass
class _Done:
    """A picture that was divided: its table, and the files that were written."""

    picture: Path
    shape: tuple[int, int]
    table: list[dict[str, Any]]
    written: list[str]


def _run(job: _Job, *, quiet: bool, json: bool) -> None:
    from widegap._wording import counted
    from widegap.cli._fitting import gathering_warnings, watching

    n, recursive_steps = len(job.places), job.k - 1 if job.recursive and job.k is not None else None
    label = f"Segmenting {counted(n, 'picture')}" if job.is_folder else f"Segmenting {job.places[0][0].name}"
    done: list[_Done] = []
    unfinished: tuple[Any, Steps] | None = None
    total = n if job.is_folder else recursive_steps
    with watching(label, total, quiet, at_once=True) as watch, gathering_warnings(job.notes):
        found = _fitted(job)
        for source, target in job.places:
            image = _read(source, job)
            if image is None:
                continue
            steps = Steps()
            unfinished = (image, steps)
            try:
                for labels in _steps(image, job, found):
                    if steps.n_segments and not job.is_folder:  # the first is the whole picture
                        watch(None)
                    steps.add(labels)
            except InvalidDataError as error:
                _skip(job, CommandError(f"{source}: {error}"))
                continue
            done.append(_finish(job, source, target, image, steps))
            unfinished = None
            if job.is_folder:
                watch(None)
    if watch.interrupted:
        _end_interrupted(job, done, unfinished, quiet=quiet, json=json)
    if not done:
        raise CommandError(f"None of the {n} pictures could be segmented. {job.notes[0]}")
    job.notes += _about_number(job, done, found)
    _tell(job, done, quiet=quiet, json=json)


def _read(source: Path, job: _Job) -> Any:
    """The pixels of a picture; None with a note if one of several is damaged or has too few."""
    try:
        image, notes = read_picture(source)
        if job.k is not None and image.shape[0] * image.shape[1] < job.k:
            raise CommandError(f"-k {job.k} asks for more segments than {source} has pixels; ask for fewer.")
    except CommandError as error:
        return _skip(job, error)
    job.notes += notes
    return image


def _skip(job: _Job, error: CommandError) -> None:
    """Note why one of several pictures is left out; a single one is refused."""
    if not job.is_folder:
        raise error
    job.notes.append(f"Skipped: {error}")


def _about_number(job: _Job, done: list[_Done], found: Any) -> list[str]:
    """Where the number of segments came from, if nobody gave it; ``found`` is the model of all pictures."""
    if job.k is not None or job.apply is not None:
        return []
    if job.is_folder and job.model is None:
        return ["The number of segments was found for each picture by itself; -k sets one for all."]
    number = len(done[0].table) if found is None else len(found.order)
    return [f"The number of segments ({number}) was found; -k sets another."]


def _fitted(job: _Job) -> Any:
    """The model of all pictures, fitted or loaded; None if each picture is divided by itself."""
    from widegap.cli._picture_models import PictureModel, fit_model

    if job.apply is not None:
        return PictureModel.load(job.apply)
    if job.model is None:
        return None
    images = (image for image in (_read(source, job) for source, _ in job.places) if image is not None)
    found = fit_model(images, len(job.places), job.k, job.method, job.settings)
    job.notes[:] = list(dict.fromkeys(job.notes))
    found.save(job.model)
    return found


def _steps(image: Any, job: _Job, model: Any) -> Iterator[Any]:
    """Label pictures, the last one is the result."""
    from widegap import image as images

    if model is not None:
        return iter([model.labels(image)])
    number = "auto" if job.k is None else job.k
    if job.recursive:
        return images.bisections(image, number, job.method, **job.settings)
    return iter([images.segment(image, number, job.method, recursive=False, **job.settings)])


def _finish(job: _Job, source: Path, target: Path, image: Any, steps: Steps) -> _Done:
    """Smooth the labels and write what belongs to one picture."""
    from widegap.cli import _pictures as pictures

    least = steps.labels.size // TINY_REGIONS if job.min_region is None else job.min_region
    steps.labels = pictures.cleaned(steps.labels, job.smooth, least)
    written = pictures.save_views(image, steps.labels, target, side=not job.is_folder)
    table = pictures.segment_table(image, steps.labels)
    written.append(pictures.save_table(table, target.with_suffix(".csv")))
    if not job.is_folder:
        splits = [(target.with_suffix(f".{n}{target.suffix}"), labels) for n, labels in steps.between()]
        written += [pictures.save_labels(labels, path) for path, labels in reversed(splits)]
    return _Done(source, steps.labels.shape, table, written)


def _end_interrupted(job: _Job, done: list[_Done], unfinished: Any, *, quiet: bool, json: bool) -> None:
    """After Ctrl-C keep what there is, and print where."""
    if job.is_folder:
        if done:
            _tell(job, done, quiet=quiet, json=json)
        tell(f"Interrupted: {len(done)} of {len(job.places)} pictures are done; the rest were not started.")
        raise typer.Exit(INTERRUPTED)
    source, target = job.places[0]
    if not done and (unfinished is None or unfinished[1].n_segments < 2):
        tell("Interrupted before the first split; nothing was written.")
        raise typer.Exit(INTERRUPTED)
    if not done:
        image, steps = unfinished
        target = partial_name(target)
        done = [_finish(job, source, target, image, steps)]
    _tell(job, done, quiet=quiet, json=json)
    wanted = "" if job.k is None else f" of {job.k}"
    tell(f"Interrupted: {len(done[0].table)}{wanted} segments were found so far; they are in {target}.")
    raise typer.Exit(INTERRUPTED)


def _tell(job: _Job, done: list[_Done], *, quiet: bool, json: bool) -> None:
    from widegap.cli._output import print_json

    model = [] if job.model is None else [str(job.model)]
    if json:
        found = [
            {"picture": str(one.picture), "sizes": [row["pixels"] for row in one.table], "segments": one.table,
             "written": one.written}
            for one in done
        ]  # fmt: skip
        document: dict[str, Any] = {"schema": "widegap.segments/2", "warnings": job.notes, "model": model}
        print_json({**document, "pictures": found} if job.is_folder else {**document, **found[0]})
    if json or quiet:
        return
    for one in done:
        _print(one, named=job.is_folder)
    for note in job.notes:
        tell(f"note: {note}")
    written = [*model, *(name for one in done for name in one.written)]
    if job.is_folder:
        print(f"{len(written) - len(model)} files in {job.places[0][1].parent}")
        return
    for name in written if len(written) <= SHOWN_FILES else written[: SHOWN_FILES - 2]:
        print(name)
    if len(written) > SHOWN_FILES:
        print(f"... and {len(written) - SHOWN_FILES + 2} more, up to {written[-1]}")


def _print(one: _Done, *, named: bool) -> None:
    """Size and segments of a picture; of a single one the table."""
    from widegap._wording import counted

    height, width = one.shape
    head = f"{width} x {height} pixels, {counted(len(one.table), 'segment')}"
    if named:
        shares = ", ".join(f"{100 * row['share']:.0f} %" for row in one.table[:SHOWN_SEGMENTS])
        print(f"{one.picture.name}: {head}: {shares}{', ...' if len(one.table) > SHOWN_SEGMENTS else ''}")
        return
    print(head)
    print("segment   area   colour   centre (x, y)   regions")
    for row in one.table[:SHOWN_SEGMENTS]:
        place = f"{100 * row['x']:.0f} %, {100 * row['y']:.0f} %"
        print(f"{row['segment']:>7}{100 * row['share']:>5.0f} %  {row['colour']}   {place:>13}   {row['regions']:>7,}")
    if len(one.table) > SHOWN_SEGMENTS:
        print(f"... and {len(one.table) - SHOWN_SEGMENTS} smaller ones")
