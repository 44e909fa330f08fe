"""Model files that are safe to open: a zip of one JSON text and plain NumPy arrays, nothing that runs.

A pickle runs whatever it says when it is opened, so models that are passed around must not be pickles. Here
``model.json`` holds the parameters and fitted attributes as a tree, whose arrays lie beside it as ``0.npy``, ``1.npy``,
... and are read with ``allow_pickle=False``. Objects in the tree name one of a fixed list of classes (``CLASSES``) and
get their attributes set; nothing of theirs is called. Sizes are checked before anything is read, indices and shapes
before a compiled loop sees them. The format is our own rather than skops' because it needs no further package, and
because a short list of classes is easier to judge than a general loader.
"""

import inspect
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from widegap._atomic import replacing
from widegap.data._kernel_maps import KernelMap
from widegap.data._kernels import may_be_stored
from widegap.exceptions import InvalidDataError, NotSupportedError

__all__ = ["load", "save"]

FORMAT = "widegap.model/1"
MAX_BYTES = 4 << 30
MAX_JSON_BYTES = 256 << 20
MAX_PARTS = 10_000
CLASSES = {
    "CPM3C": "widegap.estimators._cpm3c",
    "DocumentClustering": "widegap.estimators._document_clustering",
    "IterLSSVM": "widegap.estimators._iterative",
    "IterSVM": "widegap.estimators._iterative",
    "IterSVR": "widegap.estimators._iterative",
    "M2DCU": "widegap.estimators._m2dcu",
    "MKC": "widegap.estimators._mkc",
    "MaxMarginClustering": "widegap.estimators._max_margin",
    "StartRecord": "widegap.estimators._max_margin",
    "TurnRecord": "widegap.estimators._iterative_base",
    "UniversumReport": "widegap.estimators._universum_rows",
    "IterationRecord": "widegap.solvers._result",
    "KernelMap": "widegap.data._kernel_maps",
    "KernelStack": "widegap.data._kernel_stack",
    "FittedKernel": "widegap.data._kernel_stack",
    "DocumentTerms": "widegap.data.text._vocabulary",
    "TermMatrix": "widegap.data.text._vocabulary",
    "TermChoice": "widegap.data.text._vocabulary",
}
# What reading a damaged archive raises, RuntimeError where it is encrypted or nested too deeply.
DAMAGES = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError)
NOT_KEPT = ("callback", "n_jobs")  # a function, and a choice for one machine
LEFT_OUT = {
    *NOT_KEPT,
    "_corpus",  # the fitted documents, which only ``refit`` needs
    "_universum",
    "_marked",
    "_encoder",  # the same holds for the reduction by LSA
}


def save(estimator: Any, path: str | os.PathLike[str], *, extra: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    estimator : estimator
        Fitted estimator of this package; without functions of your own (kernels), which no safe file can hold.
        ``callback`` and ``n_jobs`` are left out, and a ``DocumentClustering`` cannot ``refit`` when it is read again.
    path : path
        The file appears whole or not at all.
    extra : mapping, default=None
        Further values for JSON, returned by ``load``.
    """
    arrays: list[np.ndarray[Any, Any]] = []
    if type(estimator).__name__ not in CLASSES or not hasattr(estimator, "get_params"):
        raise NotSupportedError(f"{type(estimator).__name__} has no model file; use an estimator of widegap.")
    if not isinstance(getattr(estimator, "features", ""), str) or getattr(estimator, "_kind", "") == "embeddings":
        raise NotSupportedError(
            "A DocumentClustering on embeddings or with a transformer of yours has no model file; save the transformer "
            "by its own means, and an estimator fitted on its output."
        )
    tree = _Writer(arrays).tree(estimator, type(estimator).__name__)
    text = json.dumps({"format": FORMAT, "model": tree, "extra": dict(extra or {})})
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
        for i, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(f"{i}.npy", buffer.getbuffer())


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> tuple[Any, dict[str, Any]]:
    """Read a model file; safe also where its origin is unknown.

    Parameters
    ----------
    path : path
        What ``save`` wrote.
    max_bytes : int, default=4 GiB
        A model that would take more memory is refused before it is read.

    Returns
    -------
    estimator, extra
        The fitted estimator, and the dict that was saved with it.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive, path, max_bytes)
            document = json.loads(archive.read("model.json").decode("utf-8"))
            if not isinstance(document, dict) or document.get("format") != FORMAT:
                raise _damaged(path, f"its format is not {FORMAT}")
            model = _Reader(archive, path).object(document["model"])
            if not hasattr(model, "predict"):
                raise _damaged(path, f"it holds a {type(model).__name__}")
            _check_shapes(model, path)
            extra = document.get("extra")
    except (*DAMAGES, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidDataError):
            raise
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    return model, extra if isinstance(extra, dict) else {}


def _damaged(path: Any, why: str) -> InvalidDataError:
    return InvalidDataError(f"{path} is no model file of widegap, or a damaged one ({why:.200}); save the model again.")


class _Writer:
    """Values to JSON; arrays are put aside and numbered."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]]):
        self.arrays = arrays

    def tree(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if isinstance(value, np.generic):
            return self.tree(value.item(), where)
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if sp.issparse(value):
            csr = sp.csr_array(value)
            parts = [self._array(part, where) for part in (csr.data, csr.indices, csr.indptr)]
            return {"$": "csr", "parts": parts, "shape": list(csr.shape)}
        if isinstance(value, list | tuple | set | frozenset):
            kind = type(value).__name__
            items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            found = [self.tree(item, where) for item in items]
            return found if kind == "list" else {"$": kind, "items": found}
        if isinstance(value, Mapping):
            pairs = [[self.tree(key, where), self.tree(item, f"{where}[{key!r}]")] for key, item in value.items()]
            return {"$": "dict", "items": pairs}
        return self._object(value, where)

    def _array(self, value: np.ndarray[Any, Any], where: str) -> Any:
        if value.dtype.hasobject:
            if not all(isinstance(item, str) for item in value.ravel()) or value.ndim != 1:
                raise NotSupportedError(f"{where} holds Python objects, which a safe model file cannot.")
            return {"$": "names", "items": value.tolist()}
        self.arrays.append(value)
        return {"$": "array", "part": len(self.arrays) - 1}

    def _object(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        storable = not isinstance(value, KernelMap) or may_be_stored(value.kernel, value.params)
        if CLASSES.get(name) != type(value).__module__ or not storable:
            raise NotSupportedError(
                f"{where} is {value!r:.80}, which a safe model file cannot hold; use the kernels and transformers that "
                "widegap knows by name."
            )
        state = {key: item for key, item in vars(value).items() if key not in LEFT_OUT}
        return {"$": name, "state": {key: self.tree(item, f"{where}.{key}") for key, item in state.items()}}


class _Reader:
    """The way back; every object is of a listed class and only gets attributes."""

    def __init__(self, archive: zipfile.ZipFile, path: Any):
        self.archive, self.path = archive, path

    def value(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.value(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        kind = tree["$"]
        if kind == "float":
            return float(tree["value"])
        if kind == "array":
            return self._array(tree["part"])
        if kind == "names":
            return np.array([str(item) for item in tree["items"]], dtype=object)
        if kind == "csr":
            X = sp.csr_array(tuple(self.value(part) for part in tree["parts"]), shape=tuple(tree["shape"]))
            X.check_format(full_check=True)  # compiled loops trust the indices
            return X
        if kind in ("tuple", "set", "frozenset"):
            return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](self.value(i) for i in tree["items"])
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in tree["items"]}
        return self.object(tree)

    def object(self, tree: Any) -> Any:
        name = tree["$"]
        if name not in CLASSES:
            raise _damaged(self.path, f"it asks for the class {name!r}")
        cls = getattr(import_module(CLASSES[name]), name)
        found = object.__new__(cls)
        vars(found).update({str(key): self.value(item) for key, item in tree["state"].items()})
        vars(found).update({name: None for name in NOT_KEPT if name in inspect.signature(cls).parameters})
        return found

    def _array(self, part: Any) -> np.ndarray[Any, Any]:
        with self.archive.open(f"{int(part)}.npy") as file:
            size = self.archive.getinfo(f"{int(part)}.npy").file_size
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, dtype = read[version](file)
            if dtype.hasobject or math.prod(shape) * dtype.itemsize > size:  # before memory is set aside for it
                raise _damaged(self.path, f"array {part} claims shape {shape} of {dtype} in {size} bytes")
        with self.archive.open(f"{int(part)}.npy") as file:
            return np.lib.format.read_array(file, allow_pickle=False)


def _check_sizes(archive: zipfile.ZipFile, path: Any, max_bytes: int) -> None:
    parts = archive.infolist()
    total = sum(part.file_size for part in parts)
    json_bytes = archive.getinfo("model.json").file_size
    if total > max_bytes:
        raise InvalidDataError(
            f"{path} would unpack to {total:,} bytes, more than the limit of {max_bytes:,} bytes; if you trust it, "
            "call persistence.load with a higher max_bytes."
        )
    for found, most, what in ((len(parts), MAX_PARTS, "parts"), (json_bytes, MAX_JSON_BYTES, "bytes of JSON")):
        if found > most:
            raise InvalidDataError(
                f"{path} holds {found:,} {what}, more than the {most:,} that a model file may have; get it anew from "
                "where it was saved."
            )


def _check_shapes(model: Any, path: Any) -> None:
    """Refuse weights that do not fit each other, or are no numbers: compiled loops do not look."""
    coef = getattr(model, "coef_", None)
    if coef is None:
        return
    n_scores = model.n_clusters_ - hasattr(model, "bisected_")
    if not isinstance(coef, np.ndarray) or coef.ndim != 2:
        raise _damaged(path, "its weights are no table")
    width = coef.shape[1]
    fits = coef.dtype.kind == "f" and len(coef) == n_scores
    finite = _is_finite(coef)
    for name, length in (("intercept_", n_scores), ("_mean_scores", n_scores), ("_mean", width)):
        part = getattr(model, name, None)
        fits = fits and (part is None or _is_vector(part, length))
        finite = finite and _is_finite(part)
    kernel_map = getattr(model, "kernel_map_", None)
    if hasattr(kernel_map, "kernels"):  # several side by side
        maps = [(kernel.map, None) for kernel in kernel_map.active]
        fits = fits and sum(kernel_map.sizes) == width
    else:
        maps = [(kernel_map, model.n_features_in_)] if kernel_map is not None else []
        fits = fits and (bool(maps) or width == getattr(model, "n_features_in_", width))
        fits = fits and all(part.projection.shape[1] == width for part, _ in maps)
    for part, n_features in maps:
        landmarks = part.landmarks
        finite = finite and all(map(_is_finite, (landmarks, part.projection, part.weights)))
        fits = fits and may_be_stored(part.kernel, part.params)
        fits = fits and part.projection.shape[0] == landmarks.shape[0]
        fits = fits and (landmarks.ndim == 1 or n_features in (None, landmarks.shape[1]))
    if not fits:
        raise _damaged(path, "its weights do not fit each other")
    if not finite:
        raise _damaged(path, "its weights are not all finite numbers")


def _is_finite(part: Any) -> bool:
    """Whether all numbers of an array or a sparse matrix are finite; so is None."""
    numbers = part.data if sp.issparse(part) else part
    return not isinstance(numbers, np.ndarray) or numbers.dtype.kind != "f" or bool(np.isfinite(numbers).all())


def _is_vector(part: Any, length: int) -> bool:
    return isinstance(part, np.ndarray) and part.shape == (length,) and part.dtype.kind == "f"
