"""The zip of a model file: its parts, their largest sizes, and their checksums.

    model.json        the tree
    0.npy, 1.npy ...  arrays, each used once
    checksums.json    SHA-256 of every other entry

Memory. An array takes the bytes of its entry. A byte of JSON can take more: ``{"a":[]}`` is parsed into 29 times its
size (measured), and the tree made of it takes as much again; with something to spare every byte counts ``JSON_COST``
times against the limit. JSON is also limited in size and depth by itself, because parsing is slow and recursive.
"""

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from widegap._nesting import nesting
from widegap._types import Array
from widegap.exceptions import NotSupportedError

MAX_MODEL_BYTES = 4 << 30  # what load takes by default: no model of ours came near it, and most machines have it
MAX_JSON_BYTES = 32 << 20  # names of a million columns or terms; parsed in a second, not tuned
MAX_DEPTH = 100  # models nest about ten deep; Python's parser recurses, and would fail at about a thousand
MAX_PARTS = 10_000  # a forest of many members has hundreds of arrays; not tuned
JSON_COST = 64  # twice the 29 bytes of memory that a byte of JSON was measured to take (above), with something to spare
READ_BYTES = 1 << 20  # read at a time: the second copy of an entry stays small
TREE, CHECKSUMS = "model.json", "checksums.json"


class DamagedModelError(ValueError):
    """What is wrong with a model file, in a few words."""


class ModelTooLargeError(Exception):
    """A model file is larger than allowed; the message continues after the file name."""


def write_archive(path: Path, text: str, arrays: Sequence[Array], name: str) -> None:
    """Write a tree and its arrays; refuses a model that ``ModelArchive`` would refuse."""
    tree = text.encode("utf-8")
    for found, most, what in ((len(tree), MAX_JSON_BYTES, "bytes of JSON"), (len(arrays), MAX_PARTS - 2, "arrays")):
        if found > most:
            raise NotSupportedError(
                f"{name} takes {found:,} {what}, but a model file may have {most:,} at most; use fewer named columns "
                "or terms."
            )
    digests = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(TREE), tree)
        digests[TREE] = hashlib.sha256(tree).hexdigest()
        for i, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(_entry(f"{i}.npy"), buffer.getbuffer())
            digests[f"{i}.npy"] = hashlib.sha256(buffer.getbuffer()).hexdigest()
        archive.writestr(_entry(CHECKSUMS), json.dumps(digests))


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry without the time of day, so that the same model gives the same file."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    return entry


class ModelArchive:
    """An open model file of checked size; every part can be taken once."""

    def __init__(self, file: BinaryIO, max_bytes: int):
        self._zip = zipfile.ZipFile(file)
        entries = self._zip.infolist()
        self._sizes = {entry.filename: entry.file_size for entry in entries}
        if len(self._sizes) < len(entries):
            raise DamagedModelError("it holds two entries of the same name")
        self._check_sizes(max_bytes)
        self._left = _parsed(self._read(CHECKSUMS))
        if self._left.keys() != self._sizes.keys() - {CHECKSUMS}:
            raise DamagedModelError("its checksums are not those of its entries")

    def _check_sizes(self, max_bytes: int) -> None:
        json_bytes = self._sizes[TREE] + self._sizes[CHECKSUMS]
        total = sum(self._sizes.values()) + (JSON_COST - 1) * json_bytes
        if total > max_bytes:
            raise ModelTooLargeError(
                f"could take {total:,} bytes of memory, but the limit is {max_bytes:,}; if you trust the file, call "
                "persistence.load with a higher max_bytes."
            )
        for found, most, what in (
            (len(self._sizes), MAX_PARTS, "parts"),
            (json_bytes, MAX_JSON_BYTES, "bytes of JSON"),
        ):
            if found > most:
                raise ModelTooLargeError(
                    f"holds {found:,} {what}, but a model file may have {most:,} at most; copy it again from where it "
                    "was saved."
                )

    def document(self) -> dict[str, Any]:
        """The parsed tree, and the other entries of its document."""
        return _parsed(self._take(TREE))

    def array(self, part: object) -> Array:
        """An array of the tree; it shares the memory of its entry, so a false header reserves nothing."""
        if type(part) is not int:
            raise DamagedModelError(f"it asks for the array {part!r:.40}")
        content = self._take(f"{part}.npy")
        head = io.BytesIO(content)
        version = np.lib.format.read_magic(head)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = readers[version](head)
        count, start = math.prod(shape), head.tell()
        if dtype.hasobject or min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - start:
            raise DamagedModelError(f"array {part} declares shape {shape} of {dtype} in {len(content)} bytes")
        values = np.frombuffer(content, dtype, count, start) if count else np.empty(0, dtype)
        return values.reshape(shape, order="F" if fortran else "C")

    def _take(self, name: str) -> bytearray:
        """An entry with the right checksum; refuses to give one twice, which a file could ask for endlessly."""
        digest = self._left.pop(name, None)
        if digest is None:
            raise DamagedModelError(f"it has no part {name}, or uses it twice")
        content = self._read(name)
        if hashlib.sha256(content).hexdigest() != digest:
            raise DamagedModelError(f"the checksum of {name} is wrong")
        return content

    def _read(self, name: str) -> bytearray:
        content = bytearray(self._sizes[name])
        left = memoryview(content)
        with self._zip.open(name) as file:
            while left and (read := file.read(min(len(left), READ_BYTES))):
                left[: len(read)] = read
                left = left[len(read) :]
            if left or file.read(1):
                raise DamagedModelError(f"{name} does not have its declared size")
        return content


def _parsed(content: bytearray) -> dict[str, Any]:
    """JSON whose nesting is known to be shallow before the recursive parser sees it."""
    text = content.decode("utf-8")
    if nesting(text) > MAX_DEPTH:
        raise DamagedModelError(f"its JSON is nested more than {MAX_DEPTH} deep")
    document = json.loads(text)
    if not isinstance(document, dict):
        raise DamagedModelError("its JSON holds no object")
    return document
