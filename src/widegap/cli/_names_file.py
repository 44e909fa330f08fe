"""Names of clusters from a file: JSON that the report page saves, or a table of numbers and names."""

import csv
import json
from pathlib import Path

from widegap.cli._errors import CommandError

MAX_NAME_BYTES = 1 << 20  # ten thousand names and more; a larger file is something else


def read_names(path: Path | None) -> dict[str, str]:
    """Names by cluster; none without a file."""
    if path is None:
        return {}
    if not path.is_file():
        raise CommandError(f"{path}: no such file; the report's 'Save names' makes one.")
    if path.stat().st_size > MAX_NAME_BYTES:
        raise CommandError(f"{path} is too large for a file of names; it needs one line for each cluster.")
    try:
        text = path.read_text(encoding="utf-8-sig")
        if text.lstrip().startswith("{"):
            return {str(label): str(name) for label, name in json.loads(text).items()}
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]
        return {row[0].strip(): row[1].strip() for row in rows if row[0].strip().lstrip("-").isdigit()}
    except (UnicodeDecodeError, ValueError, IndexError, RecursionError, csv.Error) as error:
        raise CommandError(
            f'{path} does not hold names of clusters; write {{"0": "one name", "1": "another"}}, or lines such as '
            "0,one name."
        ) from error
