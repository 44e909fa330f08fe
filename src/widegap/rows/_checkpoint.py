"""Checkpoints: fits that survive their process.

A fit is a deterministic function of its settings and of the sums that its passes give, so these sums, (k, d) numbers
each, are all that a checkpoint keeps. Each is appended to a file as soon as it is known. A fit that finds the file
replays: it asks for the same passes, and those in the file are answered without reading a row. Their new states are
made when they are needed, all of them in one read. So the fit arrives where it was killed, with the same bits, after
two or three reads, however long it had run; steps in which the bound on cluster sizes was active take one read each,
because their labels do not follow from sums.

File: a line of JSON that identifies the fit, then records of a length, a digest and the content (``np.savez``, no
pickles). A record that a killed process left unfinished fails its digest, and the file is cut there.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from widegap._atomic import replacing
from widegap._types import Array, Indices, Matrix
from widegap.exceptions import InvalidDataError
from widegap.rows._blocks import Block
from widegap.rows._protocols import Parts, Rows, State, Total

_DIGEST = 16  # bytes of a record's digest: an unfinished record matches it with a probability of 2^-128
_FORMAT = 2  # format 1 identified the data by a thousand rows


@dataclass(eq=False)
class _Replayed:
    """A pass that the checkpoint answered; its states are made on demand."""

    function: Callable[..., tuple[Parts, Any]]
    inputs: tuple[State, ...]
    reads: bool
    n_states: int
    results: tuple[State, ...] | None = None


@dataclass(frozen=True)
class _Pending:
    """One state of a replayed pass."""

    of: _Replayed
    index: int


class CheckpointedRows:
    """Rows whose passes are written to a checkpoint, and answered by it as far as it goes."""

    def __init__(self, rows: Rows, checkpoint: "Checkpoint"):
        self._rows, self._checkpoint = rows, checkpoint
        self.shape, self.dtype = rows.shape, rows.dtype
        self.n_threads, self.in_process = rows.n_threads, rows.in_process

    def sweep(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        return self._pass(function, state, reads=True)

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        return self._pass(function, state, reads=False)

    def reduce(
        self, function: Callable[..., Total], *state: State, where: Callable[..., bool] | None = None
    ) -> Total | None:
        if self._checkpoint.replays:
            return self._checkpoint.next()[1]
        found = self._rows.reduce(function, *self._made(state), where=where)
        self._checkpoint.add((0, found))
        return found

    def _pass(
        self, function: Callable[..., tuple[Parts, Total]], state: tuple[State, ...], *, reads: bool
    ) -> tuple[tuple[State, ...], Total]:
        if self._checkpoint.replays:
            n_states, total = self._checkpoint.next()
            known = _Replayed(function, state, reads, n_states)
            return tuple(_Pending(known, index) for index in range(n_states)), total
        verb = self._rows.sweep if reads else self._rows.fold
        new, total = verb(function, *self._made(state))
        self._checkpoint.add((len(new), total))
        return new, total

    def take(self, rows: Indices) -> Matrix:
        return self._rows.take(rows)

    def place(self, values: Array) -> State:
        return self._rows.place(values)

    def mark(self, rows: Indices) -> State:
        return self._rows.mark(rows)

    def numbers(self) -> State:
        return self._rows.numbers()

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        return self._rows.collect(*self._made((state,)))

    def publish(self, state: State) -> Any:
        return self._rows.publish(*self._made((state,)))

    def _made(self, state: tuple[State, ...]) -> list[State]:
        """The states; those that are pending are made in one read, or one each where some do not read."""
        todo = _in_order(state)
        for group in [todo] if all(known.reads for known in todo) else [[known] for known in todo]:
            self._make(group)
        return [_result(value) for value in state]

    def _make(self, passes: list[_Replayed]) -> None:
        """Run passes together, each after those it needs."""
        if not passes:
            return
        if not passes[0].reads:
            (known,) = passes
            known.results = self._rows.fold(known.function, *map(_result, known.inputs))[0]
            return
        inputs: list[State] = []
        steps: list[_Step] = []
        for known in passes:
            sources: list[tuple[int | None, int]] = []
            for value in known.inputs:
                if isinstance(value, _Pending) and value.of.results is None:
                    sources.append((passes.index(value.of), value.index))
                else:
                    inputs.append(_result(value))
                    sources.append((None, len(inputs) - 1))
            steps.append((known.function, sources))
        made, _ = self._rows.sweep(lambda block, *parts: (_together(steps, block, parts), 0), *inputs)
        for known in passes:
            known.results, made = made[: known.n_states], made[known.n_states :]


def _result(value: State) -> State:
    """A state that has been made, or was never pending."""
    if not isinstance(value, _Pending):
        return value
    assert value.of.results is not None
    return value.of.results[value.index]


_Step = tuple[Callable[..., tuple[Parts, Any]], list[tuple[int | None, int]]]


def _together(steps: list[_Step], block: Block, parts: Parts) -> Parts:
    """New states of several passes for one block; sources are (pass, its state), or (None, place among the parts)."""
    results: list[Parts] = []
    for function, sources in steps:
        inputs = [parts[index] if step is None else results[step][index] for step, index in sources]
        results.append(function(block, *inputs)[0])
    return tuple(part for result in results for part in result)


def _in_order(state: tuple[State, ...]) -> list[_Replayed]:
    """The passes to run for some states, each after those it needs, and once."""
    found: list[_Replayed] = []

    def visit(value: State) -> None:
        if isinstance(value, _Pending) and value.of.results is None and value.of not in found:
            for needed in value.of.inputs:
                visit(needed)
            found.append(value.of)

    for value in state:
        visit(value)
    return found


class Checkpoint:
    """The file. ``replays`` is true as long as it holds the answer to the next pass.

    ``identity`` holds the settings and rows of the fit by name; the file of another fit is refused, with what differs.
    """

    def __init__(self, path: Path, identity: Mapping[str, str]):
        self._path = path
        head = json.dumps({"format": _FORMAT, **identity}).encode() + b"\n"
        self._known: list[bytes] = []
        self._next = 0
        if not (path.exists() and path.stat().st_size):
            with replacing(path) as temporary:
                temporary.write_bytes(head)
            return
        with open(path, "r+b") as file:
            self._check(file.readline(), head)
            self._known = _records(file, path.stat().st_size)
            file.truncate()

    def _check(self, found: bytes, head: bytes) -> None:
        try:
            former = json.loads(found)
            different = [name for name, value in json.loads(head).items() if former.get(name) != value]
        except (ValueError, AttributeError, RecursionError) as error:
            raise InvalidDataError(f"{self._path} is not a checkpoint; choose another file name.") from error
        if different:
            name = different[0]
            raise InvalidDataError(
                f"{self._path} is the checkpoint of another fit: {name} was {former.get(name)}, and is "
                f"{json.loads(head)[name]}; delete the file, or choose another name, to start again."
            )

    @property
    def replays(self) -> bool:
        return self._next < len(self._known)

    def next(self) -> tuple[int, Any]:
        """The answer to the next pass, its number of states and its sum; the checkpoint then drops it."""
        answer, self._known[self._next] = self._known[self._next], b""
        self._next += 1
        try:
            n_states, total = _decoded(answer)
        except Exception as error:  # whatever a file that somebody has changed causes in zipfile, json or NumPy
            raise InvalidDataError(
                f"{self._path} is damaged ({type(error).__name__}: {error!s:.100}); delete the file to start again."
            ) from error
        return n_states, total

    def add(self, answer: tuple[int, object]) -> None:
        """Append the answer of a pass."""
        content = _encoded(answer)
        with open(self._path, "ab") as file:
            file.write(len(content).to_bytes(8, "little") + _digest(content) + content)


def _records(file: BinaryIO, n_bytes: int) -> list[bytes]:
    """The complete records that follow in a file of ``n_bytes``, each read once; the file is left where they end."""
    found: list[bytes] = []
    while True:
        start = file.tell()
        size, digest = int.from_bytes(file.read(8), "little"), file.read(_DIGEST)
        record = file.read(size) if size <= n_bytes - file.tell() else b""  # an unfinished length may be any number
        if not record or _digest(record) != digest:
            file.seek(start)
            return found
        found.append(record)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def _encoded(value: object) -> bytes:
    arrays: list[Array | np.generic] = []
    form = json.dumps(_form(value, arrays))
    file = BytesIO()
    named: dict[str, Any] = {f"a{i}": array for i, array in enumerate(arrays)}
    np.savez(file, form=np.array(form), **named)
    return file.getvalue()


_Json = None | bool | int | float | dict[str, Any]


def _form(value: object, arrays: list[Array | np.generic]) -> _Json:
    """What a value is made of, in JSON; its arrays are collected in ``arrays``."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.ndarray | np.generic):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_form(item, arrays) for item in value]}
    assert is_dataclass(value) and not isinstance(value, type) and type(value).__module__.startswith("widegap.")
    members = {each.name: _form(getattr(value, each.name), arrays) for each in fields(value)}
    return {"class": [type(value).__module__, type(value).__name__], "fields": members}


def _decoded(content: bytes) -> Any:
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        return _value(json.loads(str(archive["form"])), archive)


def _value(form: _Json, arrays: Mapping[str, Array]) -> Any:
    if not isinstance(form, dict):
        return form
    if "array" in form:
        return arrays[f"a{form['array']}"][()]
    for kind in (list, tuple):
        if kind.__name__ in form:
            return kind(_value(item, arrays) for item in form[kind.__name__])
    module, name = form["class"]
    made = getattr(import_module(module), name) if module.startswith("widegap.") else None
    if not is_dataclass(made):
        raise ValueError(f"it names {module}.{name}, which no fit stores")
    return made(**{key: _value(item, arrays) for key, item in form["fields"].items()})  # type: ignore[operator]
