"""Every table and figure of the results, by the pages on which they are."""

from typing import Any, NamedTuple

from experiments.tables import (
    aims,
    cluster_numbers,
    cpm3c,
    documents,
    doubt,
    iterative,
    iterative_figures,
    kernel_choice,
    known_topics,
    lengths,
    mixed,
    mkc,
    new_rows,
    pairs,
    panel,
    panel_figure,
    rules,
    say,
    suite,
    universum,
    universum_rules,
    updates,
)


class Chapter(NamedTuple):
    """A page of the results: its title, what it answers, and its tables and figures."""

    title: str
    about: str
    experiments: tuple[Any, ...]


CHAPTERS = {
    "panel": Chapter(
        "All labelled sets",
        "How good and how fast are the defaults on data with known classes, and how steady: seeds, row orders, new "
        "rows, thinned classes?",
        (
            *panel_figure.EXPERIMENTS,
            *panel.EXPERIMENTS,
            *pairs.EXPERIMENTS,
            *aims.EXPERIMENTS,
            *new_rows.EXPERIMENTS,
            *rules.EXPERIMENTS,
        ),
    ),
    "suite": Chapter(
        "A public benchmark suite",
        "How do the defaults compare with the methods whose results others have published?",
        suite.EXPERIMENTS,
    ),
    "tables": Chapter(
        "Tables with categories and gaps",
        "Which method finds the classes of tables with numbers, categories and missing cells?",
        mixed.EXPERIMENTS,
    ),
    "numbers": Chapter(
        "How many clusters", "How often does each rule find the right number of clusters?", cluster_numbers.EXPERIMENTS
    ),
    "texts": Chapter(
        "Texts",
        "How well are topics found, how fast, and what do raw counts of words change?",
        documents.EXPERIMENTS + lengths.EXPERIMENTS,
    ),
    "known": Chapter(
        "Known labels, links and outliers",
        "What do a few labels, links or answers gain? Are outliers found, and are the probabilities right?",
        say.EXPERIMENTS + known_topics.EXPERIMENTS + doubt.EXPERIMENTS,
    ),
    "updates": Chapter(
        "Updates", "Do models that are updated keep their clusters, and notice what changed?", updates.EXPERIMENTS
    ),
    "cpm3c": Chapter(
        "The CPM3C paper", "Multiclass maximum margin clustering: the paper's tables next to ours.", cpm3c.EXPERIMENTS
    ),
    "itersvr": Chapter(
        "The iterSVR paper",
        "Maximum margin clustering made practical: the paper's tables next to ours.",
        iterative.EXPERIMENTS + iterative_figures.EXPERIMENTS,
    ),
    "m2dcu": Chapter(
        "The M2DCU paper",
        "Documents with a universum: the paper's tables next to ours, what a universum gains, whether it tells junk.",
        universum.EXPERIMENTS + universum_rules.EXPERIMENTS,
    ),
    "mkc": Chapter(
        "The MKC paper",
        "Multiple kernels: the paper's tables next to ours, and kernels chosen without labels.",
        mkc.EXPERIMENTS + kernel_choice.EXPERIMENTS,
    ),
}
EXPERIMENTS = {experiment.name: experiment for chapter in CHAPTERS.values() for experiment in chapter.experiments}
