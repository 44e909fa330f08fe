"""Model files taken apart, and put together again with parts that somebody has changed."""

import hashlib
import io
import json
import zipfile

import numpy as np

from widegap import persistence


def parts_of(path):
    """The parts of a model file by name, without its checksums."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "checksums.json"}


def forge(path, parts, **changed):
    """Write a model file of some parts, with checksums that match; a part of None is left out."""
    contents = {name: content for name, content in {**parts, **changed}.items() if content is not None}
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in contents.items()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, "checksums.json": json.dumps(digests)}.items():
            archive.writestr(name, content)
    return path


def edited(parts, change):
    """The tree with a change."""
    document = json.loads(parts["model.json"])
    change(document)
    return json.dumps(document)


def state_of(parts):
    return json.loads(parts["model.json"])["model"]["state"]


def part_of(parts, attribute):
    """The name of the part that holds an attribute."""
    return f"{state_of(parts)[attribute]['part']}.npy"


def array_bytes(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def saved_parts(model, path):
    persistence.save(model, path)
    return parts_of(path)
