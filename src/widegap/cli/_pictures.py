"""Pictures in and out: read upright, labels with a palette, views that fit a screen, and a table of the segments."""

import csv
import io
from pathlib import Path
from typing import Any

from widegap._atomic import replacing
from widegap.cli._errors import CommandError

BYTE = 255  # largest value of a channel of 8 bits
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp")
VIEW = 1600  # most pixels along a side of pictures that are made to be looked at
PICTURE_BLOCK = 256  # rows of the picture that are compared at a time

FREE_VALUES = 1 << 24  # numbers of a picture that are always allowed: 64 MB in single precision
VALUES_A_BYTE = 5_000  # not tuned: packers of PNG and TIFF reach about 1,000 where all pixels are equal


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
            for top in range(0, len(found), PICTURE_BLOCK):
                parents[found[top : top + PICTURE_BLOCK]] = self.labels[top : top + PICTURE_BLOCK]
            self._parents.append(parents)
        self.labels, self.n_segments = found, n

    def between(self) -> Any:
        """(number of segments, labels) of the splits between the first and the last, the latest first."""
        import numpy as np

        table = np.arange(max(1, self.n_segments), dtype=np.uint8)
        for parents in self._parents[:0:-1]:
            table = parents[table]
            yield int(table.max()) + 1, table[self.labels]


def pictures_in(folder: Path) -> list[Path]:
    """The pictures of a folder, by name; without label pictures of an earlier run."""
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURE_ENDINGS and path.is_file())
    found = [path for path in found if ".segments" not in path.name]
    if not found:
        raise CommandError(f"{folder} holds no pictures; their names end in {', '.join(PICTURE_ENDINGS)}.")
    return found


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
                _check_size(file, path)
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


def _check_size(file: Any, path: Path) -> None:
    """Refuse a picture whose head declares far more pixels than its bytes can describe."""
    size, values = path.stat().st_size, file.width * file.height * len(file.getbands())
    if values > max(FREE_VALUES, VALUES_A_BYTE * size):
        raise CommandError(
            f"{path} declares {file.width:,} x {file.height:,} pixels in {size:,} bytes, so it is damaged or empty; "
            "save it again."
        )


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
    values /= np.float32(max(high - low, float(np.finfo(np.float32).tiny)))
    note = f"Grey values from {low:g} to {high:g} were stretched to the range from black to white."
    return np.clip(values, 0, 1, out=values), [note]


def cleaned(labels: Any, smooth: int, min_region: int) -> Any:
    """Labels smoothed over neighbours and without tiny regions, as the options say."""
    from widegap.image import clean

    return clean(labels, smooth=smooth, min_region=min_region) if smooth or min_region else labels


def save_views(image: Any, labels: Any, output: Path, *, side: bool) -> list[str]:
    """The label picture, the picture under transparent colours with borders, and both beside each other."""
    import numpy as np
    from PIL import Image

    from widegap.image import overlay, tint

    factor = -(-max(labels.shape) // VIEW)
    plain = np.asarray(Image.fromarray(overlay(image, np.broadcast_to(np.uint8(0), labels.shape))).reduce(factor))
    few = np.ascontiguousarray(labels[::factor, ::factor])
    lined = overlay(tint(plain, few), few)
    written = [
        save_labels(labels, output),
        _save(Image.fromarray(lined), output.with_suffix(f".overlay{output.suffix}")),
    ]
    if side:
        parts = np.hstack([plain, lined, np.asarray(_with_palette(few).convert("RGB"))])
        written.append(_save(Image.fromarray(parts), output.with_suffix(f".side{output.suffix}")))
    return written


def save_labels(labels: Any, path: Path) -> str:
    """Labels as a picture with a palette."""
    return _save(_with_palette(labels), path)


def _with_palette(labels: Any) -> Any:
    from PIL import Image

    from widegap.iterative._regions import PALETTE

    found = Image.frombytes("P", labels.shape[::-1], labels.tobytes())
    found.putpalette(bytes.fromhex("".join(PALETTE * -(-256 // len(PALETTE))))[:768])
    return found


def _save(picture: Any, path: Path) -> str:
    with replacing(path) as temporary:
        picture.save(temporary)
    return str(path)


def segment_table(image: Any, labels: Any) -> list[dict[str, Any]]:
    """Area, mean colour and place of every segment, of the picture as it is shown."""
    import numpy as np

    from widegap.image import describe_segments, overlay

    return describe_segments(overlay(image, np.broadcast_to(np.uint8(0), labels.shape)), labels)


def save_table(rows: list[dict[str, Any]], path: Path) -> str:
    """The table of segments as CSV, shares with four digits."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
    from widegap.results._written_files import write_text

    write_text(path, buffer.getvalue())
    return str(path)
