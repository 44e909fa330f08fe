"""Bytes of a file: unpacked if it is compressed, never beyond a limit, and as text in whatever encoding it has."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
from typing import IO

import numpy as np

from widegap.exceptions import InvalidDataError

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst", b"PK\x03\x04": ".zip"}
FREE_BYTES = 256 << 20  # that every file may unpack to: any machine has them
RATIO = 100  # and how many times its own size a larger one may: not tuned
UNPACKED_AT_ONCE = 1 << 20  # bytes between two looks at the limit
SNIFFED = 1 << 16  # bytes from which encoding and dialect are found: a few hundred lines
FEWEST_ZEROS = 4  # from which every other byte being zero speaks for UTF-16
BOMS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def packing(content: bytes) -> str:
    """The ending of the packer that made these bytes; empty if they are not packed."""
    return next((ending for magic, ending in MAGIC.items() if content.startswith(magic)), "")


def unpack(content: bytes, name: str, member: str | None = None) -> tuple[bytes, str]:
    """The bytes inside a packed file, and the name of the file inside if it has one."""
    ending, inner = packing(content), ""
    try:
        if ending == ".zip":
            return _from_zip(content, name, member)
        return _limited(_open(io.BytesIO(content), ending, name), len(content), name), inner
    except (InvalidDataError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged file causes in one of five packers
        raise InvalidDataError(f"{name} is damaged, or not what its name says ({error}); pack it again.") from error


def _open(file: IO[bytes], ending: str, name: str) -> IO[bytes] | gzip.GzipFile:
    if ending == ".zst":
        try:
            import zstandard
        except ImportError as error:
            raise InvalidDataError(f"{name}: .zst needs zstandard: pip install 'widegap[table]'.") from error
        unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        return unpacker.stream_reader(file, read_across_frames=True)
    if ending == ".gz":
        return gzip.GzipFile(fileobj=file)
    return bz2.BZ2File(file) if ending == ".bz2" else lzma.LZMAFile(file)


def _limited(file: IO[bytes] | gzip.GzipFile, packed: int, name: str) -> bytes:
    most, parts, total = max(FREE_BYTES, RATIO * packed), [], 0
    while part := file.read(UNPACKED_AT_ONCE):
        total += len(part)
        if total > most:
            raise InvalidDataError(f"{name} unpacks to more than {most >> 20:,} MB; if you trust it, unpack it first.")
        parts.append(part)
    return b"".join(parts)


def _from_zip(content: bytes, name: str, member: str | None) -> tuple[bytes, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX/")]
        if member is None and len(names) != 1:
            shown = ", ".join(names[:5]) or "none"
            raise InvalidDataError(
                f"{name} holds {len(names)} files ({shown}); name one: {name}::{(names or ['file'])[0]}"
            )
        found = member or names[0]
        if found not in names:
            raise InvalidDataError(f"{name} holds no {found!r}; it holds {', '.join(names[:5])}.")
        with archive.open(found) as file:
            return _limited(file, len(content), name), found


def find_encoding(content: bytes, name: str, encoding: str = "auto") -> str:
    """The encoding of a text; the one that the user named, or the one that its bytes suggest."""
    if encoding.lower() not in ("auto", "utf-8", "utf8"):
        return encoding
    bom = next((found for mark, found in BOMS.items() if content.startswith(mark)), None)
    if bom is not None:
        return bom
    if encoding.lower() != "auto":
        return "utf-8"
    head = content[:SNIFFED]
    if b"\0" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) > max(FEWEST_ZEROS, 0.4 * len(head) / 2) and min(even, odd) < 0.1 * max(even, odd):
            return "utf-16-le" if odd > even else "utf-16-be"
        return "utf-8"  # not a text, which ``decode`` refuses
    return "utf-8" if is_utf8(content) else _guess(content)


def is_utf8(content: bytes) -> bool:
    """Whether all of it is UTF-8; by Arrow, because to make a Python text of a file costs half of what parsing does."""
    if content.isascii():
        return True
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, len(content)]))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(content)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _guess(content: bytes) -> str:
    """An encoding of one byte a letter: Western Europe's, unless the letters clearly speak for another."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    marked = b"\n".join(line for line in content[: 4 * SNIFFED].splitlines() if not line.isascii())
    best = from_bytes(marked or content[:SNIFFED]).best()
    found = best.encoding if best is not None else "cp1252"
    if found in ("cp1250", "iso8859_2"):  # often guessed of Western texts: look for letters that only the East has
        return found if re.search(rb"[a-z][\xb9\xb3\xbf\x9f\xf8]|[\xb9\xb3\xbf\x9f\xf8][a-z]", marked) else "cp1252"
    return found if found.startswith(("cp1251", "cp1253", "koi8", "shift", "gb", "big5", "euc")) else "cp1252"


def as_utf8(content: bytes, name: str, encoding: str, remedy: str) -> bytes:
    """The text of a file in UTF-8 without a mark at its front, not copied where it is that already.

    Bytes said to be UTF-8 are not checked here: the parser has to refuse those that are not.
    """
    if encoding in ("utf-8", "utf-8-sig") and b"\0" not in content[:SNIFFED]:
        return content.removeprefix(codecs.BOM_UTF8)
    return decode(content, name, encoding, remedy).encode("utf-8")


def decode(content: bytes, name: str, encoding: str, remedy: str) -> str:
    """The text of a file; ``remedy`` is for a file that holds no text."""
    found = find_encoding(content, name, encoding)
    wide = found.lower().replace("-", "").replace("_", "").startswith(("utf16", "utf32"))
    if b"\0" in content[:SNIFFED] and not wide:
        raise InvalidDataError(f"{name} is not a text file: it contains zero bytes; {remedy}.")
    try:
        return content.decode(found)
    except UnicodeDecodeError as error:
        if found == "cp1252":  # five bytes have no letter there
            return content.decode("latin-1")
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidDataError(
            f"{name} is not {found} in line {line}; pass --encoding with another, such as latin-1."
        ) from error
    except LookupError as error:
        raise InvalidDataError(f"--encoding {encoding}: no such encoding; try utf-8, latin-1 or cp1252.") from error
