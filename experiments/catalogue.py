"""Everything that has a name: importing this module registers all data sets and methods."""

from experiments import (
    baselines,
    data,
    doubt_methods,
    iterative_methods,
    kernel_baselines,
    margin_methods,
    methods,
    new_row_methods,
    number_methods,
    photos,
    say_methods,
    shapes,
    suite_data,
    text_baselines,
    text_data,
    text_methods,
)

__all__ = [
    "baselines",
    "data",
    "doubt_methods",
    "iterative_methods",
    "kernel_baselines",
    "margin_methods",
    "methods",
    "new_row_methods",
    "number_methods",
    "photos",
    "say_methods",
    "shapes",
    "suite_data",
    "text_baselines",
    "text_data",
    "text_methods",
]
