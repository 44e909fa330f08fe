"""Model files that are safe to open: a zip of one JSON text and plain NumPy arrays, nothing that runs.

A pickle runs whatever it says when it is opened, so models that are passed around must not be pickles. Here
``model.json`` holds the parameters and fitted attributes as a tree, whose arrays lie beside it as ``0.npy``, ``1.npy``,
... and are read with ``allow_pickle=False``. An estimator in the tree is named as in ``widegap``, or is one that the
program has defined; the objects inside are of the classes that this estimator declares (``_stored``). All get the
attributes set that their class declares, of the declared types, and nothing of theirs is called. Sizes are checked
before anything is read, indices and shapes before a compiled loop sees them. The format is our own rather than skops'
because it needs no further package, and because declarations are easier to judge than a general loader.
"""

import inspect
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import scipy.sparse as sp

from widegap._atomic import replacing
from widegap._catalogue import estimator_class, stored_name
from widegap.data._kernel_maps import KernelMap
from widegap.data._kernels import may_be_stored
from widegap.estimators._base import Clusterer, stored_attributes
from widegap.exceptions import InvalidDataError, NotSupportedError

__all__ = ["load", "save"]

FORMAT = "widegap.model/1"
MAX_BYTES = 4 << 30
MAX_JSON_BYTES = 256 << 20
MAX_PARTS = 10_000
# What reading a damaged archive raises, RuntimeError where it is encrypted or nested too deeply.
DAMAGES = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError)


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
    name = type(estimator).__name__
    if not isinstance(estimator, Clusterer):
        raise NotSupportedError(f"{name} has no model file; use an estimator of widegap.")
    refusal = estimator._refusal_to_store()
    if refusal is not None:
        raise NotSupportedError(refusal)
    tree = _Writer(arrays).estimator(estimator, name)
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
            model = _Reader(archive, path).estimator(document["model"])
            _check_shapes(model, path)
            extra = document.get("extra")
    except (*DAMAGES, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidDataError):
            raise
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    return model, extra if isinstance(extra, dict) else {}


def _damaged(path: Any, why: str) -> InvalidDataError:
    return InvalidDataError(f"{path} is no model file of widegap, or a damaged one ({why:.200}); save the model again.")


def _parts(cls: type) -> dict[str, type]:
    """The classes of objects that may lie inside one of a class, by name."""
    found: dict[str, type] = {}
    kinds = list(stored_attributes(cls).values())
    while kinds:
        kind = kinds.pop()
        kinds.extend(get_args(kind))
        if isinstance(kind, type) and kind.__name__ not in found and stored_attributes(kind):
            found[kind.__name__] = kind
            kinds.extend(stored_attributes(kind).values())
    return found


def _parameters(cls: type) -> dict[str, Any]:
    """The arguments of a class and their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a declared type: what a list or dict holds is judged by itself."""
    if get_origin(kind) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if kind is Any:
        return True
    kind = type(None) if kind is None else get_origin(kind) or kind
    return isinstance(value, int | float if kind is float else kind)


class _Writer:
    """Values to JSON; arrays are put aside and numbered."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]]):
        self.arrays = arrays
        self.parts: dict[str, type] = {}

    def estimator(self, estimator: Clusterer, where: str) -> Any:
        cls = type(estimator)
        name = stored_name(cls)
        outer, self.parts = self.parts, _parts(cls)
        declared = {*_parameters(cls), *stored_attributes(cls)}
        state = {key: item for key, item in vars(estimator).items() if key not in cls._not_stored}
        tree = {"$": name, "state": self._state(state, declared, where)}
        self.parts = outer
        return tree

    def _state(self, state: Mapping[str, Any], declared: Any, where: str) -> Any:
        for key in state:
            if key not in declared:
                raise NotSupportedError(
                    f"{where}.{key} is no attribute that a model file holds; declare it in the _stored of its class, "
                    "or delete it."
                )
        return {key: self.tree(item, f"{where}.{key}") for key, item in state.items()}

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
        if isinstance(value, Clusterer):
            return self.estimator(value, where)
        cls = type(value)
        storable = not isinstance(value, KernelMap) or may_be_stored(value.kernel, value.params)
        if self.parts.get(cls.__name__) is not cls or not storable:
            raise NotSupportedError(
                f"{where} is {value!r:.80}, which a safe model file cannot hold; use the kernels and transformers that "
                "widegap knows by name."
            )
        return {"$": cls.__name__, "state": self._state(vars(value), stored_attributes(cls), where)}


class _Reader:
    """The way back; every object is of a declared class and only gets declared attributes."""

    def __init__(self, archive: zipfile.ZipFile, path: Any):
        self.archive, self.path = archive, path
        self.parts: dict[str, type] = {}

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
        return self._object(kind, tree) if kind in self.parts else self.estimator(tree)

    def estimator(self, tree: Any) -> Any:
        cls = estimator_class(tree["$"])
        if cls is None:
            raise _damaged(self.path, f"it asks for the class {tree['$']!r}")
        outer, self.parts = self.parts, _parts(cls)
        defaults = _parameters(cls)
        found = self._filled(cls, tree["state"], dict.fromkeys(defaults, Any) | stored_attributes(cls))
        vars(found).update(defaults | vars(found))
        self.parts = outer
        return found

    def _object(self, name: str, tree: Any) -> Any:
        return self._filled(self.parts[name], tree["state"], stored_attributes(self.parts[name]))

    def _filled(self, cls: type, state: Any, declared: Mapping[str, Any]) -> Any:
        """An object with the attributes of a file, each of the type that its class declares."""
        found = object.__new__(cls)
        for key, item in state.items():
            value = self.value(item)
            if key not in declared or not _fits(value, declared[key]):
                raise _damaged(self.path, f"{cls.__name__}.{key} is {type(value).__name__}")
            vars(found)[key] = value
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
    n_scores = model._n_score_vectors
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
        finite = finite and all(map(_is_finite, (landmarks, part.projection, part.weights, part.offsets)))
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
