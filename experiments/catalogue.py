"""Everything that has a name: importing this module registers all data sets and methods."""

from experiments import baselines, data, kernel_baselines, margin_methods, methods, text_baselines, text_data

__all__ = ["baselines", "data", "kernel_baselines", "margin_methods", "methods", "text_baselines", "text_data"]
