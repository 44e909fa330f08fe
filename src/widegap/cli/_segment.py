"""``widegap segment``: the segments of a picture."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import INTERRUPTED, CommandError, guarded, tell
from widegap.cli._files import check_distinct, check_writable, partial_name, replacing

DEEP = 65535  # white in a picture of 16 bits
MAX_SEGMENTS = 256  # of a picture with a palette
WRITABLE = (".png", ".gif", ".tif", ".tiff", ".bmp")
PALETTE = ("4269d0", "efb118", "ff725c", "6cc5b0", "3ca951", "ff8ab7", "a463f2", "97bbf5", "9c6b4e", "9498a0")


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
    """Divide a picture into segments; writes labels, an overlay, a side-by-side, and every split."""
    from widegap.cli._fitting import watching

    output = output or picture.with_suffix(".segments.png")
    if output.suffix.lower() not in WRITABLE:
        raise CommandError(f"{output}: labels need a lossless picture, one of {', '.join(WRITABLE)}; rename it.")
    _check_places(picture, output, k if recursive else 1)
    image = read_picture(picture)
    if image.shape[0] * image.shape[1] < k:
        raise CommandError(f"-k {k} asks for more segments than {picture} has pixels; ask for fewer.")
    settings = {"position": position, "texture": texture, "random_state": seed}
    with watching(f"Segmenting {image.shape[1]} x {image.shape[0]} pixels", k, quiet) as watch:
        steps = []
        for labels in _steps(image, k, method.value, recursive, settings):
            steps.append(labels)
            if watch(None):
                break
    if watch.interrupted:
        output = partial_name(output)
    written = _write(image, steps, output)
    _tell(steps[-1], written, quiet=quiet, json=json)
    if watch.interrupted:
        tell(f"Interrupted: the segments found so far are in {output}.")
        raise typer.Exit(INTERRUPTED)


def _check_places(picture: Path, output: Path, k: int) -> None:
    """Refuse names that cannot be written to, or that would replace the picture."""
    for name in ("", ".overlay", ".side", *(f".{n}" for n in range(2, k))):
        path = output.with_suffix(f"{name}{output.suffix}")
        check_distinct({"-o": path}, (picture,))
        check_writable(path)


def read_picture(path: Path) -> Any:
    """Pixels of a picture file, upright: bytes, or numbers from 0 to 1 where it has more than 8 bits."""
    import warnings

    import numpy as np
    from PIL import Image, ImageOps, UnidentifiedImageError

    if not path.exists():
        raise CommandError(f"{path}: no such file; check the name.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as file:
                upright = ImageOps.exif_transpose(file)
                if upright.mode.startswith("I"):
                    values = np.asarray(upright).astype(np.float64)
                    if upright.mode != "I" or values.max() > DEEP // 256:
                        return np.clip(values / max(DEEP, values.max()), 0, 1)
                return np.asarray(upright.convert("RGBA" if "A" in upright.getbands() else "RGB"))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise CommandError(f"{path} has too many pixels ({error}); make it smaller.") from error
    except UnidentifiedImageError as error:
        raise CommandError(f"{path} is no picture that can be read; convert it to PNG or JPEG.") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CommandError(f"{path} is damaged: {error}; save it again.") from error


def _steps(image: Any, k: int, method: str, recursive: bool, settings: dict[str, Any]) -> Any:
    """Label pictures, the last one is the result."""
    from widegap import image as images

    if recursive:
        return images.bisections(image, k, method, **settings)
    return iter([images.segment(image, k, method, recursive=False, **settings)])


def _write(image: Any, steps: list[Any], output: Path) -> list[str]:
    """Labels, overlay, side by side, and the splits in between."""
    import numpy as np
    from PIL import Image

    from widegap.image import overlay

    def save(picture: Any, path: Path) -> str:
        with replacing(path) as temporary:
            picture.save(temporary)
        return str(path)

    def labelled(labels: Any) -> Any:
        found = Image.frombytes("P", labels.shape[::-1], labels.astype(np.uint8).tobytes())
        found.putpalette(bytes.fromhex("".join(PALETTE * -(-256 // len(PALETTE))))[:768])
        return found

    last = labelled(steps[-1])
    lined = overlay(image, steps[-1])
    plain = overlay(image, np.zeros_like(steps[-1]))
    side = np.hstack([plain, lined, np.asarray(last.convert("RGB"))])
    written = [
        save(last, output),
        save(Image.fromarray(lined), output.with_suffix(f".overlay{output.suffix}")),
        save(Image.fromarray(side), output.with_suffix(f".side{output.suffix}")),
    ]
    for n, labels in enumerate(steps[1:-1], 2):
        written.append(save(labelled(labels), output.with_suffix(f".{n}{output.suffix}")))
    return written


def _tell(labels: Any, written: list[str], *, quiet: bool, json: bool) -> None:
    import numpy as np

    from widegap.cli._output import print_json
    from widegap.report._text import counted

    sizes = np.bincount(labels.ravel()).tolist()
    if json:
        print_json({"schema": "widegap.segments/1", "sizes": sizes, "written": written})
    if json or quiet:
        return
    height, width = labels.shape
    shares = ", ".join(f"{100 * size / labels.size:.0f} %" for size in sizes)
    print(f"{width} x {height} pixels, {counted(len(sizes), 'segment')}: {shares}")
    for name in written:
        print(name)
