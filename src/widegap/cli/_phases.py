"""What a command is doing, one line a phase, for logs and pipes; a terminal shows bars instead."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from widegap.cli._errors import tell

if TYPE_CHECKING:
    from widegap.tables import Table


def tell_phase(text: str, *, quiet: bool) -> None:
    """Say on the error stream what begins, unless a terminal shows it or the user wants silence."""
    if not quiet and not sys.stderr.isatty():
        tell(f"{text} ...")


def tell_reading(source: Path, *, quiet: bool) -> None:
    """Say which file or folder is read."""
    name = "standard input" if str(source) == "-" else source.name or str(source)
    tell_phase(f"Reading {name}", quiet=quiet)


def tell_writing(target: Path, *, quiet: bool) -> None:
    """Say which file is written; standard output speaks for itself."""
    if str(target) != "-":
        tell_phase(f"Writing {target.name}", quiet=quiet)


def tell_encoding(table: "Table", *, quiet: bool) -> None:
    """Say how many columns become features."""
    from widegap._wording import counted
    from widegap.tables._frames import as_columns

    n = table.matrix.shape[1] if table.columns is None else len(as_columns(table.columns).names)
    tell_phase(f"Encoding {counted(n, 'column')}", quiet=quiet)
