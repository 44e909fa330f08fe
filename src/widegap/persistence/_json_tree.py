"""Estimators as a tree of JSON values and arrays, and back.

Every object in a tree is a dict with its kind under "$"; numbers, texts and lists are those of JSON.
"""

import inspect
import math
from collections.abc import Container, Iterable, Mapping
from typing import Any, cast, get_args

import numpy as np
import scipy.sparse as sp

from widegap._catalogue import estimator_class, stored_name
from widegap._types import Array, SparseMatrix
from widegap.base._clusterer import Clusterer, stored_attributes
from widegap.exceptions import NotSupportedError
from widegap.features._kernel_maps import KernelMap
from widegap.features._kernels import may_be_stored
from widegap.persistence._archive import DamagedModelError, ModelArchive
from widegap.persistence._declared_types import fits
from widegap.rows._file_sizes import check_compressed

ARRAY_KINDS = "biufU"  # dtypes that models hold


def _parts(cls: type) -> dict[str, type]:
    """The classes of the objects that an object of a class may hold, by name."""
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


def _complete(part: Any) -> None:
    """Give an object the defaults of attributes that its class calls ``_added_later`` and its file does not have."""
    later = [name for name in getattr(type(part), "_added_later", ()) if name not in vars(part)]
    for name in later:
        vars(part)[name] = getattr(type(part), name)
    if later and hasattr(part, "__post_init__"):
        part.__post_init__()


class Writer:
    """Values to JSON; arrays are collected and numbered."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.parts: dict[str, type] = {}

    def estimator(self, estimator: Clusterer, where: str) -> dict[str, object]:
        cls = type(estimator)
        name = stored_name(cls)
        outer, self.parts = self.parts, _parts(cls)
        declared = {*_parameters(cls), *stored_attributes(cls)}
        state = {key: item for key, item in vars(estimator).items() if key not in cls._not_stored}
        tree: dict[str, object] = {"$": name, "state": self._state(state, declared, where)}
        self.parts = outer
        return tree

    def _state(self, state: Mapping[str, object], declared: Container[str], where: str) -> dict[str, object]:
        for key in state:
            if key not in declared:
                raise NotSupportedError(
                    f"{where}.{key} is not declared for model files; add it to the _stored of its class, or delete it."
                )
        return {key: self.tree(item, f"{where}.{key}") for key, item in state.items()}

    def tree(self, value: object, where: str) -> object:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if isinstance(value, np.generic):
            return self.tree(value.item(), where)
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, sp.sparray | sp.spmatrix):
            csr: SparseMatrix = sp.csr_array(cast(SparseMatrix, value))
            parts = [self._array(part, where) for part in (csr.data, csr.indices, csr.indptr)]
            return {"$": "csr", "parts": parts, "shape": list(csr.shape)}
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return {"$": "slice", "items": [self.tree(end, where) for end in ends]}
        if isinstance(value, list | tuple | set | frozenset):
            kind = type(value).__name__
            items: Iterable[object] = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            found = [self.tree(item, where) for item in items]
            return found if kind == "list" else {"$": kind, "items": found}
        if isinstance(value, Mapping):
            pairs = [[self.tree(key, where), self.tree(item, f"{where}[{key!r}]")] for key, item in value.items()]
            return {"$": "dict", "items": pairs}
        return self._object(value, where)

    def _array(self, value: Array, where: str) -> dict[str, object]:
        if value.dtype.hasobject:
            if not all(isinstance(item, str) for item in value.ravel()) or value.ndim != 1:
                raise NotSupportedError(f"{where} holds Python objects, which a safe model file cannot.")
            return {"$": "names", "items": value.tolist()}
        self.arrays.append(value)
        return {"$": "array", "part": len(self.arrays) - 1}

    def _object(self, value: object, where: str) -> dict[str, object]:
        if isinstance(value, Clusterer):
            return self.estimator(value, where)
        cls = type(value)
        storable = not isinstance(value, KernelMap) or may_be_stored(value.kernel, value.params)
        if self.parts.get(cls.__name__) is not cls or not storable:
            raise NotSupportedError(
                f"{where} is {value!r:.80}, which a safe model file cannot hold; use the kernels and transformers that "
                "widegap knows by name."
            )
        state = vars(value) | ({"seconds": 0.0} if "seconds" in vars(value) else {})  # the same run, the same file
        return {"$": cls.__name__, "state": self._state(state, stored_attributes(cls), where)}


class Reader:
    """JSON to values; every object is of a declared class and only gets declared attributes."""

    def __init__(self, archive: ModelArchive):
        self.archive = archive
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
            return self._sparse(tree)
        if kind in ("tuple", "set", "frozenset"):
            return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](self.value(i) for i in tree["items"])
        if kind == "slice":
            return slice(*map(self.value, tree["items"]))
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in tree["items"]}
        return self._object(kind, tree) if kind in self.parts else self.estimator(tree)

    def estimator(self, tree: Any) -> Any:
        cls = estimator_class(tree["$"])
        if cls is None:
            raise DamagedModelError(f"it asks for the class {tree['$']!r}")
        outer, self.parts = self.parts, _parts(cls)
        defaults = _parameters(cls)
        found = self._filled(cls, tree["state"], dict.fromkeys(defaults, Any) | stored_attributes(cls))
        vars(found).update(defaults | vars(found))
        found._validate_params()
        self.parts = outer
        return found

    def _object(self, name: str, tree: Any) -> Any:
        declared = stored_attributes(self.parts[name])
        found = self._filled(self.parts[name], tree["state"], declared)
        _complete(found)
        missing = sorted(declared.keys() - vars(found).keys())
        if missing:
            raise DamagedModelError(f"{name} has no {missing[0]}")
        return found

    def _filled(self, cls: type, state: Mapping[str, Any], declared: Mapping[str, Any]) -> Any:
        """An object with the attributes of a file, each of the type that its class declares."""
        found: Any = object.__new__(cls)
        for key, item in state.items():
            value = self.value(item)
            if key not in declared or not fits(value, declared[key]):
                raise DamagedModelError(f"{cls.__name__}.{key} is {type(value).__name__}")
            vars(found)[key] = value
        return found

    def _sparse(self, tree: Mapping[str, Any]) -> SparseMatrix:
        """A sparse matrix, whose parts are checked before it is built: compiled loops do not check them."""
        data, indices, indptr = (self._array(part["part"]) for part in tree["parts"])
        if data.ndim != 1 or data.dtype not in (np.float32, np.float64):
            raise DamagedModelError(f"the entries of a sparse matrix are {data.dtype} of shape {data.shape}")
        check_compressed(len(data), indices, indptr, tree["shape"])
        return sp.csr_array((data, indices, indptr), shape=tuple(tree["shape"]))

    def _array(self, part: object) -> np.ndarray[Any, Any]:
        found = self.archive.array(part)
        if found.dtype.kind not in ARRAY_KINDS:
            raise DamagedModelError(f"array {part} holds {found.dtype}")
        return found.astype(found.dtype.newbyteorder("="), copy=False)  # compiled loops need the native byte order
