"""Every table and figure of the page, in its order."""

from importlib import import_module

CHAPTERS = {
    title: tuple(
        experiment for name in names.split() for experiment in import_module(f"experiments.tables.{name}").EXPERIMENTS
    )
    for title, names in {
        "CPM3C: multiclass maximum margin clustering": "cpm3c",
        "IterSVR: maximum margin clustering made practical": (
            "iterative iterative_slides iterative_figures segmentation"
        ),
        "M2DCU: documents with a universum": "universum documents",
        "MKC: multiple kernels": "mkc kernel_choice",
        "Beyond the papers": "panel pairs suite mixed aims new_rows cluster_numbers rules lengths",
        "Updates": "updates",
        "Side information, outliers and probabilities": "say doubt",
    }.items()
}
EXPERIMENTS = {experiment.name: experiment for chapter in CHAPTERS.values() for experiment in chapter}
