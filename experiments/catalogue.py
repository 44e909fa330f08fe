"""Everything that has a name: importing this module registers all data sets and methods."""

from experiments import baselines, data, methods

__all__ = ["baselines", "data", "methods"]
