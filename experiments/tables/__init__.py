"""Every table and figure of the page, in its order."""

from experiments.tables import panel

CHAPTERS = {
    "Beyond the papers": panel.EXPERIMENTS,
}
EXPERIMENTS = {experiment.name: experiment for chapter in CHAPTERS.values() for experiment in chapter}
