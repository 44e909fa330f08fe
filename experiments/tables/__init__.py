"""Every table and figure of the page, in its order."""

from experiments.tables import cpm3c, mkc, panel, rules

CHAPTERS = {
    "CPM3C: multiclass maximum margin clustering": cpm3c.EXPERIMENTS,
    "MKC: multiple kernels": mkc.EXPERIMENTS,
    "Beyond the papers": panel.EXPERIMENTS + rules.EXPERIMENTS,
}
EXPERIMENTS = {experiment.name: experiment for chapter in CHAPTERS.values() for experiment in chapter}
