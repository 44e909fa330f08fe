"""Places for results, checked before the work."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from widegap._atomic import destination
from widegap.cli._errors import CommandError
from widegap.exceptions import InvalidDataError


def check_writable(path: Any) -> None:
    """Refuse a place that cannot be written to, before hours of work."""
    path = Path(path)
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name a file.")
    try:
        target, _ = destination(path)
    except InvalidDataError as error:
        raise CommandError(
            f"{path} is a pipe or a device, but results replace only ordinary files; name a file, or pass '-o -' for "
            "standard output."
        ) from error
    if not target.parent.exists():
        raise CommandError(f"{target.parent}: no such folder for {target.name}; make it first.")
    if not may_write(target.parent):
        raise CommandError(f"{path}: permission denied; choose another place, or change the folder's permissions.")


def check_distinct(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None] = (), json: bool = False) -> None:
    """Refuse two results at one place, and a result in place of what is read; ``outputs`` are by their options."""
    found: dict[str, str] = {"-": "--json"} if json else {}
    sources = [path for path in inputs if path is not None and str(path) != "-"]
    for option, path in outputs.items():
        if path is None:
            continue
        place = "-" if str(path) == "-" else _place(path)
        if place in found:
            if place == "-":
                raise CommandError(f"{found[place]} and {option} - both write to standard output; name a file for one.")
            raise CommandError(f"{path} is given for both {found[place]} and {option}; each needs its own file.")
        found[place] = option
        if place != "-" and any(_is_same(path, source) for source in sources):
            raise CommandError(f"{path}: {option} would overwrite a file that this command reads; choose another name.")


def _is_same(path: Path, source: Path) -> bool:
    if path.exists() and source.exists():
        return os.path.samefile(path, source)
    return _place(path) == _place(source)


def _place(path: Path) -> str:
    """Where a file is or will be; Windows and macOS usually have one file for names that only differ in case."""
    place = os.path.realpath(path)
    return place.casefold() if sys.platform in ("win32", "darwin") else place


def may_write(folder: Path) -> bool:
    """Whether files can be made in a folder."""
    return os.access(folder, os.W_OK)


def partial_name(path: Path) -> Path:
    """Where the result of an interrupted run goes: ``out.partial.csv``."""
    return path if str(path) == "-" else path.with_suffix(f".partial{path.suffix}")
