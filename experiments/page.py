"""``docs/results.md``, the pages in ``docs/results`` and the figures of other pages, from stored results alone."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.sentences import pages as marked_pages
from experiments.store import Record, Store
from experiments.story import story, suite_sentence, worse
from experiments.tables import CHAPTERS, EXPERIMENTS, Chapter
from experiments.tables._figure import Figure
from experiments.tables.panel import standing

TEMPLATE = Path(__file__).with_name("results_page.md")
DOCS = Path(__file__).parent.parent / "docs"
NUMBER = re.compile(r"\d[\d.]*")  # reasons that differ in numbers only are one
MOST_NAMED = 6  # data sets that are named where a reason holds for many
README = DOCS.parent / "README.md"
WITH_BLOCKS = marked_pages(DOCS)
MARKS = ("<!-- panel: written by `python -m experiments page` -->", "<!-- end of panel -->")


def front(store: Store, machine: dict[str, Any]) -> str:
    """The first page: the story on one screen, the list of pages, and how to read them."""
    listed = "\n".join(f"- [{chapter.title}](results/{name}.md): {chapter.about}" for name, chapter in CHAPTERS.items())
    contents = "\n".join(["```{toctree}", ":hidden:", "", *(f"results/{name}" for name in CHAPTERS), "```"])
    return TEMPLATE.read_text(encoding="utf-8").format(
        story=story(store),
        worse=worse(store),
        pages=f"{listed}\n\n{contents}",
        machine=_machine(machine),
        not_measured=_not_measured(store),
        effort=_effort(store),
    )


def chapter_page(chapter: Chapter, store: Store, folder: Path) -> str:
    """A page of tables and figures, whose pictures go to the folder."""
    parts = [
        f"# {chapter.title}\n",
        f"{chapter.about} [How to read the tables](../results.md#how-to-read-the-tables).\n",
    ]
    for experiment in chapter.experiments:
        section = experiment.section(store, folder) if isinstance(experiment, Figure) else experiment.section(store)
        parts.append(section.removeprefix("#"))  # sections are headed as parts of a chapter, which is the page here
    return "\n".join(parts)


def _not_measured(store: Store) -> str:
    """Every reason why a cell has no figure: the methods, and the data sets of each."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for cell in sorted({cell for experiment in EXPERIMENTS.values() for cell in experiment.cells()}, key=repr):
        record = store.records.get(cell)
        if record is None or record.status != "ok":
            data = reasons.setdefault(_reason(record), {}).setdefault(cell.method, [])
            data += [cell.data] * (cell.data not in data)
    lines = []
    for reason, methods in sorted(reasons.items()):
        told = "; ".join(f"{method} on {_some(data)}" for method, data in sorted(methods.items()))
        lines.append(f"- {reason}: {told}.")
    return "\n".join(["## What has no figure", "", *(lines or ["Every cell was measured."]), ""])


def _reason(record: Record | None) -> str:
    return "not run" if record is None else f"{record.status}: {NUMBER.sub('…', record.reason.split(';')[0])}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _effort(store: Store) -> str:
    """What the page took, and which code measured it: the core of widegap for ours, nothing but themselves for others.

    Cells from before there were versions have none.
    """
    records = store.records.values()
    hours = sum(sum(record.seconds) for record in records) / 3600
    took = f"The {len(records)} cells behind this page took {hours:.1f} hours of one core."
    cores = Counter(record.code.partition("/")[0] for record in records if "/" in record.code)
    unknown, others = len(records) - cores.total(), cores.pop("-", 0)
    told = [f"{number} with version `{core}` of the core of widegap" for core, number in cores.most_common()]
    told += [f"{others} of other methods with versions of their own"] * bool(others)
    told += [f"{unknown} with earlier code, which has no version"] * bool(unknown)
    return f"{took} Measured were {', '.join(told)}."


def write(store: Store, machine: dict[str, Any], docs: Path = DOCS) -> None:
    """The pages and their pictures."""
    folder = docs / "results"
    folder.mkdir(exist_ok=True, parents=True)
    (docs / "results.md").write_text(front(store, machine), encoding="utf-8")
    for name, chapter in CHAPTERS.items():
        (folder / f"{name}.md").write_text(chapter_page(chapter, store, folder), encoding="utf-8")
    for path in folder.iterdir():
        if path.stem not in (EXPERIMENTS if path.suffix == ".svg" else CHAPTERS):
            path.unlink()


def with_panel(readme: str, store: Store) -> str:
    """The README with the ranking of the panel and our place on the public suite between its two marks."""
    before, _, rest = readme.partition(f"{MARKS[0]}\n")
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n{standing(store)}\n{suite_sentence(store)}\n{MARKS[1]}{after}"


def _machine(machine: dict[str, Any]) -> str:
    last = ", ".join(f"{name} {value}" for name, value in machine.items())
    return f"The last cells were measured on: {last}. Those of earlier runs may be of other machines.\n"
