"""The results file: one JSON line a cell, only ever appended to, so that a killed run loses the cells at work alone."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.cells import Cell

try:
    import fcntl
except ImportError:  # Windows, where one run at a time may write
    fcntl = None

PATH = Path(__file__).parent / "results.jsonl"


OUT_OF_TIME = "out of time"


@dataclass(frozen=True)
class Record:
    """A measured cell: scores and CPU seconds of every seed, or why there are none.

    ``status`` is "ok", "out of time", "refused" (the method cannot take such data) or "failed"; ``reason`` says more.
    ``kmeans_seconds`` is KMeans(n_init=1) on the same rows in the same process, the unit of all times on the page.
    ``megabytes`` is the most memory beyond what the process, with the data, held before, of the seed with the least:
    the first may load what is kept. ``code`` is the version of the code (``versions.py``); records from before there
    were such versions have none.
    """

    cell: Cell
    code: str
    status: str
    reason: str = ""
    scores: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    kmeans_seconds: float = 0.0
    extra: list[dict[str, Any]] = field(default_factory=list)
    megabytes: int = 0

    def line(self) -> str:
        cell = self.cell
        head = {"data": cell.data, "method": cell.method, "settings": dict(cell.settings), "seeds": cell.seeds}
        body = {name: value for name, value in vars(self).items() if name not in ("cell", "extra") and value}
        if any(self.extra):
            body["extra"] = self.extra
        return json.dumps(head | body, separators=(",", ":"))

    @classmethod
    def parse(cls, line: str) -> "Record":
        found = json.loads(line)
        settings = tuple(sorted((name, _hashable(value)) for name, value in found.pop("settings").items()))
        cell = Cell(found.pop("data"), found.pop("method"), settings, found.pop("seeds"))
        known = {name: value for name, value in found.items() if name in cls.__dataclass_fields__}
        if known["status"] == "timeout":  # its name in earlier records
            known["status"] = OUT_OF_TIME
        return cls(cell, **{"code": "", **known})


def _hashable(value: Any) -> Any:
    """Lists of a JSON file as tuples, as settings have them."""
    return tuple(_hashable(entry) for entry in value) if isinstance(value, list) else value


class Store:
    """Records by cell; of several measurements of a cell the last counts."""

    def __init__(self, path: Path = PATH):
        self.path = path
        self.records: dict[Cell, Record] = {}
        if path.exists():
            whole = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
            self.records = {record.cell: record for record in map(Record.parse, whole)}

    def ok(self, cells: Iterable[Cell]) -> list[Record]:
        """The records of those that went well."""
        found = [self.records.get(cell) for cell in cells]
        return [record for record in found if record is not None and record.status == "ok"]

    def add(self, record: Record) -> None:
        """Append under a lock, in place of a line that a killed run may have left unfinished."""
        self.records[record.cell] = record
        with self.path.open("a+b") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(record.line().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def tidy(self, wanted: Iterable[Cell]) -> None:
        """Drop superseded measurements and cells that are not wanted, and sort by data sets and methods.

        Versions of an earlier kind, with which nothing can be compared any more, are dropped too.
        """
        kept = {cell: self.records[cell] for cell in wanted if cell in self.records}
        self.records = {cell: r if "/" in r.code else replace(r, code="") for cell, r in kept.items()}
        lines = sorted(record.line() for record in self.records.values())
        spare = self.path.with_suffix(".new")
        spare.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        spare.replace(self.path)
