"""Every table and figure of the page, in its order."""

from experiments.tables import (
    aims,
    cluster_numbers,
    cpm3c,
    documents,
    doubt,
    iterative,
    iterative_figures,
    iterative_slides,
    kernel_choice,
    lengths,
    mixed,
    mkc,
    new_rows,
    pairs,
    panel,
    rules,
    say,
    segmentation,
    suite,
    universum,
    updates,
)

CHAPTERS = {
    "CPM3C: multiclass maximum margin clustering": cpm3c.EXPERIMENTS,
    "IterSVR: maximum margin clustering made practical": (
        *iterative.EXPERIMENTS,
        *iterative_slides.EXPERIMENTS,
        *iterative_figures.EXPERIMENTS,
        *segmentation.EXPERIMENTS,
    ),
    "M2DCU: documents with a universum": universum.EXPERIMENTS + documents.EXPERIMENTS,
    "MKC: multiple kernels": mkc.EXPERIMENTS + kernel_choice.EXPERIMENTS,
    "Beyond the papers": (
        *panel.EXPERIMENTS,
        *pairs.EXPERIMENTS,
        *suite.EXPERIMENTS,
        *mixed.EXPERIMENTS,
        *aims.EXPERIMENTS,
        *new_rows.EXPERIMENTS,
        *cluster_numbers.EXPERIMENTS,
        *rules.EXPERIMENTS,
        *lengths.EXPERIMENTS,
    ),
    "Updates": updates.EXPERIMENTS,
    "Side information, outliers and probabilities": say.EXPERIMENTS + doubt.EXPERIMENTS,
}
EXPERIMENTS = {experiment.name: experiment for chapter in CHAPTERS.values() for experiment in chapter}
