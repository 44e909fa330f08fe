"""What the user says of documents: known labels, links, bounds on sizes. Options as for tables, see ``_say.py``.

Documents are named by their paths in the folder, by their ids, or by their numbers from 1 where they have none.
"""

import re
from pathlib import Path

from widegap.cli._errors import CommandError
from widegap.cli._row_names import read_links, read_pairs
from widegap.cli._side_information_options import Said, Wishes
from widegap.cli._texts import Documents

REFUSED = {
    "weight_column": "--weight-column is not possible for documents: how many of them hold a term decides what the "
    "term weighs, and whether it counts at all; repeat documents that are to count more.",
    "outliers": "--outliers is not possible for documents: those without any term that counts get topic -1 by "
    "themselves; name others that belong nowhere with --universum.",
}


class DocumentNames:
    """Places of documents, by what the user calls them."""

    def __init__(self, found: Documents):
        self._counted = found.counted
        self._places = {name: place for place, name in enumerate(found.names)}
        self._left_out = set(found.left_out)

    def row(self, name: str) -> int | None:
        """The place of a document, or None."""
        return self._places.get(self._full(name))

    def _full(self, name: str) -> str:
        name = name.strip()
        return name if self._counted is None else f"{self._counted} {name}"

    def find(self, name: str) -> int:
        """The place of a document; refuses names that mean none, without saying where they stood."""
        place = self.row(name)
        if place is not None:
            return place
        if self._full(name) in self._left_out:
            raise CommandError(f"{name.strip()!r} is in the universum, too, and gets no topic; leave it out here.")
        raise CommandError(f"{name.strip()!r:.80} is not {self.rule}.")

    @property
    def rule(self) -> str:
        """What names of documents are."""
        if self._counted is not None:
            return f"the number of a {self._counted} with a document, counted from 1"
        return f"the name of a document, such as {next(iter(self._places), '')!r}"


def check_wishes(wishes: Wishes) -> None:
    """Refuse what has no meaning for documents."""
    for name, why in REFUSED.items():
        if getattr(wishes, name) is not None:
            raise CommandError(why)


def read_said(wishes: Wishes, found: Documents) -> Said:
    """What was said of the documents that are clustered."""
    names = DocumentNames(found)
    links = {
        name: read_links(path, option, names, found.notes)
        for name, option, path in (
            ("must_link", "--must-link", wishes.must_link),
            ("cannot_link", "--cannot-link", wishes.cannot_link),
        )
        if path is not None
    }
    known = None if wishes.known is None else _known(wishes.known, found, names)
    return Said(known, **links, known_column=wishes.known, unit="document")


def _known(asked: str, found: Documents, names: DocumentNames) -> list[str | None]:
    """Labels by a column of the table or a key of JSON lines, or by a file of documents and labels."""
    if asked in found.columns:
        from widegap.tables._frames import as_columns
        from widegap.tables._values import missing_words

        cells = as_columns({asked: found.column(asked)}).cells(asked, missing_words(()))
        kinds, codes = cells.levels
        kinds = [*(None if name == "-1" else name for name in kinds), None]
        labels = [kinds[code] for code in codes]
    elif Path(asked).is_file():
        labels = _labels_of_file(Path(asked), found, names)
    else:
        has = f"a column ({', '.join(map(repr, found.columns[:10]))})" if found.columns else "a column: there is none"
        raise CommandError(f"--known {asked!r} is neither {has} nor a CSV file of documents and labels; name one.")
    if not any(label is not None for label in labels):
        raise CommandError(f"--known {asked!r} holds no label at all; fill some in, or leave the option out.")
    return labels


def _labels_of_file(path: Path, found: Documents, names: DocumentNames) -> list[str | None]:
    labels: list[str | None] = [None] * len(found.texts)
    for number, (line, name, label) in enumerate(read_pairs(path, "--known")):
        place = names.row(name)
        if number == 0 and place is None:
            found.notes.append(f"--known {path.name}: the first line, {name!r} and {label!r}, names the columns.")
            continue
        try:
            place = names.find(name)
        except CommandError as error:
            raise CommandError(f"--known {path}, line {line}: {error}") from error
        label_or_none = None if label in ("", "-1") else label
        if labels[place] not in (None, label_or_none):
            raise CommandError(
                f"--known {path}, line {line}: {name!r} is {label!r} here and {labels[place]!r} before; keep one."
            )
        labels[place] = label_or_none
    return labels


def check_said(said: Said, found: Documents, k: int) -> None:
    """Refuse contradictions before the fit, with the names of the documents that are in question."""
    try:
        said.check(range(len(found.texts)), k)
    except CommandError as error:
        if found.counted is not None and not found.left_out:
            raise  # numbers are those of the file
        numbers = {int(n) for pair in re.findall(r"(\d+) (?:-|and) (\d+)", str(error)) for n in pair}
        told = ", ".join(f"{n} is {found.names[n - 1]!r}" for n in sorted(numbers))
        raise CommandError(f"{error} Documents by number: {told}." if told else str(error)) from error
