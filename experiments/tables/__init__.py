"""Every table and figure of the results, by the pages on which they are."""

from importlib import import_module
from typing import Any, NamedTuple

from experiments.tables._table import lines_of


class Chapter(NamedTuple):
    """A page of the results: its title, what it answers, and its tables and figures."""

    title: str
    about: str
    experiments: tuple[Any, ...]


def _experiments(modules: str) -> tuple[Any, ...]:
    found = (import_module(f"experiments.tables.{name}") for name in modules.split())
    return tuple(experiment for module in found for experiment in module.EXPERIMENTS)


CHAPTERS = {
    line["page"]: Chapter(line["title"], line["about"], _experiments(line["modules"]))
    for line in lines_of("chapters.csv")
}
EXPERIMENTS = {experiment.name: experiment for chapter in CHAPTERS.values() for experiment in chapter.experiments}
