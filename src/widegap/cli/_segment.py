"""``widegap segment``: the segments of a picture."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import INTERRUPTED, CommandError, guarded, tell
from widegap.cli._places import check_distinct, check_writable, partial_name, replacing

BYTE = 255
MAX_SEGMENTS = 256  # of a picture with a palette
WRITABLE = (".png", ".gif", ".tif", ".tiff", ".bmp")
PALETTE = ("4269d0", "efb118", "ff725c", "6cc5b0", "3ca951", "ff8ab7", "a463f2", "97bbf5", "9c6b4e", "9498a0")
VIEW = 1600  # most pixels along a side of pictures that are made to be looked at
SHOWN_SIZES, SHOWN_FILES = 12, 6
BLOCK = 256  # rows of the picture that are compared at a time


class SegmentMethod(StrEnum):
    """Methods of ``segment``."""

    iter_svr = "iter-svr"
    max_margin = "max-margin"
    cpm3c = "cpm3c"


@guarded
def segment(
    picture: Annotated[Path, typer.Argument(help="PNG, JPEG, or what else Pillow reads.")],
    k: Annotated[int, typer.Option("-k", "--segments", min=1, max=MAX_SEGMENTS, help="Number of segments.")],
    method: Annotated[SegmentMethod, typer.Option(help="How to cluster the pixels.")] = SegmentMethod.iter_svr,
    recursive: Annotated[bool, typer.Option("--recursive/--at-once", help="Split in two again and again.")] = True,
    position: Annotated[float, typer.Option(min=0, help="Weight of a pixel's place beside its colour.")] = 0.0,
    texture: Annotated[float, typer.Option(min=0, help="Weight of the local contrast.")] = 0.0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Label picture; others get names like it.")
    ] = None,  # fmt: skip  # noqa: E501
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Divide a picture into segments; writes labels, an overlay, a side-by-side, and every split.

    Photos take about 0.4 GB of memory and 15 bytes a pixel (12 megapixels: 0.6 GB).

    With --position, --texture or more than 8 bits it is 45 bytes a pixel.
    """
    from widegap.cli._fitting import gathering_warnings, watching

    output = output or picture.with_suffix(".segments.png")
    if output.suffix.lower() not in WRITABLE:
        raise CommandError(f"{output}: labels need a lossless picture, one of {', '.join(WRITABLE)}; rename it.")
    _check_places(picture, output, k if recursive else 1)
    image, notes = read_picture(picture)
    if image.shape[0] * image.shape[1] < k:
        raise CommandError(f"-k {k} asks for more segments than {picture} has pixels; ask for fewer.")
    settings = {"position": position, "texture": texture, "random_state": seed}
    label = f"Segmenting {image.shape[1]} x {image.shape[0]} pixels"
    steps = Steps()
    with (
        watching(label, k - 1 if recursive else None, quiet, at_once=True) as watch,
        gathering_warnings(notes),
    ):
        for labels in _steps(image, k, method.value, recursive, settings):
            if steps.n_segments:  # the first is the whole picture
                watch(None)
            steps.add(labels)
    if watch.interrupted and steps.n_segments < 2:
        tell("Interrupted before the first split; nothing was written.")
        raise typer.Exit(INTERRUPTED)
    if watch.interrupted:
        output = partial_name(output)
    written = _write(image, steps, output)
    _tell(steps.labels, written, notes, quiet=quiet, json=json)
    if watch.interrupted:
        tell(f"Interrupted: {steps.n_segments} of {k} segments were found so far; they are in {output}.")
        raise typer.Exit(INTERRUPTED)


class Steps:
    """Labels after every split: the last ones, and a table from these to each step before, as splits only refine."""

    def __init__(self) -> None:
        self.labels: Any = None
        self.n_segments = 0
        self._parents: list[Any] = []

    def add(self, labels: Any) -> None:
        """The labels after one more split."""
        import numpy as np

        found = labels.astype(np.uint8)
        n = int(found.max()) + 1
        if self.labels is not None:
            parents = np.zeros(n, np.uint8)
            for top in range(0, len(found), BLOCK):
                parents[found[top : top + BLOCK]] = self.labels[top : top + BLOCK]
            self._parents.append(parents)
        self.labels, self.n_segments = found, n

    def between(self) -> Any:
        """(number of segments, labels) of the splits between the first and the last, the latest first."""
        import numpy as np

        table = np.arange(max(1, self.n_segments), dtype=np.uint8)
        for parents in self._parents[:0:-1]:
            table = parents[table]
            yield int(table.max()) + 1, table[self.labels]


def _check_places(picture: Path, output: Path, k: int) -> None:
    """Refuse names that cannot be written to, or that would replace the picture."""
    for name in ("", ".overlay", ".side", *(f".{n}" for n in range(2, k))):
        path = output.with_suffix(f"{name}{output.suffix}")
        check_distinct({"-o": path}, (picture,))
        check_writable(path)


def read_picture(path: Path) -> tuple[Any, list[str]]:
    """Pixels of a picture file, upright, and notes: bytes, or numbers from 0 to 1 where it has more than 8 bits."""
    import warnings

    from PIL import Image, ImageOps, UnidentifiedImageError

    if not path.exists():
        raise CommandError(f"{path}: no such file; check the name.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as file:
                ImageOps.exif_transpose(file, in_place=True)
                file.load()
                return _pixels_of(file, path)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise CommandError(f"{path} has too many pixels ({error}); make it smaller.") from error
    except UnidentifiedImageError as error:
        raise CommandError(f"{path} cannot be read as a picture; convert it to PNG or JPEG.") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CommandError(f"{path} is damaged: {error}; save it again.") from error


def _pixels_of(file: Any, path: Path) -> tuple[Any, list[str]]:
    import numpy as np

    clear = "A" in file.getbands() or "transparency" in file.info
    if file.mode in ("L", "RGB") and not clear:
        return np.asarray(file), []
    if file.mode != "F" and not file.mode.startswith("I"):
        return np.asarray(file.convert("RGBA" if clear else "RGB")), []
    values = np.asarray(file).astype(np.float32)
    if not np.isfinite(values).all():
        raise CommandError(f"{path} holds values that are not finite; replace them, and save it again.")
    low, high = float(values.min()), float(values.max())
    if file.mode == "I" and 0 <= low and high <= BYTE:
        return values.astype(np.uint8), []
    if file.mode == "F" and 0 <= low and high <= 1:
        return values, []
    values -= np.float32(low)
    values /= np.float32(max(high - low, np.finfo(np.float32).tiny))
    said = f"Grey values from {low:g} to {high:g} were brought to the range from black to white."
    return np.clip(values, 0, 1, out=values), [said]


def _steps(image: Any, k: int, method: str, recursive: bool, settings: dict[str, Any]) -> Any:
    """Label pictures, the last one is the result."""
    from widegap import image as images

    if recursive:
        return images.bisections(image, k, method, **settings)
    return iter([images.segment(image, k, method, recursive=False, **settings)])


def _write(image: Any, steps: Steps, output: Path) -> list[str]:
    """Labels, overlay, side by side, and the splits in between; the second and third small enough to be looked at."""
    import numpy as np
    from PIL import Image

    from widegap.image import overlay

    def save(picture: Any, path: Path) -> str:
        with replacing(path) as temporary:
            picture.save(temporary)
        return str(path)

    def labelled(labels: Any) -> Any:
        found = Image.frombytes("P", labels.shape[::-1], labels.tobytes())
        found.putpalette(bytes.fromhex("".join(PALETTE * -(-256 // len(PALETTE))))[:768])
        return found

    factor = -(-max(steps.labels.shape) // VIEW)
    plain = np.asarray(Image.fromarray(overlay(image, np.broadcast_to(np.uint8(0), steps.labels.shape))).reduce(factor))
    few = np.ascontiguousarray(steps.labels[::factor, ::factor])
    lined = overlay(plain, few)
    side = np.hstack([plain, lined, np.asarray(labelled(few).convert("RGB"))])
    written = [
        save(labelled(steps.labels), output),
        save(Image.fromarray(lined), output.with_suffix(f".overlay{output.suffix}")),
        save(Image.fromarray(side), output.with_suffix(f".side{output.suffix}")),
    ]
    between = [save(labelled(labels), output.with_suffix(f".{n}{output.suffix}")) for n, labels in steps.between()]
    return [*written, *reversed(between)]


def _tell(labels: Any, written: list[str], notes: list[str], *, quiet: bool, json: bool) -> None:
    import numpy as np

    from widegap.cli._output import print_json
    from widegap.report._wording import counted

    sizes = np.zeros(0, np.int64)
    for top in range(0, len(labels), BLOCK):
        part = np.bincount(labels[top : top + BLOCK].ravel(), minlength=len(sizes))
        part[: len(sizes)] += sizes
        sizes = part
    if json:
        document = {"schema": "widegap.segments/1", "sizes": sizes.tolist(), "written": written, "warnings": notes}
        print_json(document)
    if json or quiet:
        return
    height, width = labels.shape
    shares = [f"{100 * size / labels.size:.0f} %" for size in sizes]
    smaller = f", and {len(shares) - SHOWN_SIZES} smaller ones" if len(shares) > SHOWN_SIZES else ""
    print(f"{width} x {height} pixels, {counted(len(sizes), 'segment')}: {', '.join(shares[:SHOWN_SIZES])}{smaller}")
    for note in notes:
        tell(f"note: {note}")
    for name in written if len(written) <= SHOWN_FILES else written[: SHOWN_FILES - 2]:
        print(name)
    if len(written) > SHOWN_FILES:
        print(f"... and {len(written) - SHOWN_FILES + 2} more splits, up to {written[-1]}")
