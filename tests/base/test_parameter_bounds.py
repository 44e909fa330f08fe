"""The least and largest values of every parameter are accepted, and what lies beyond is refused."""

import pytest
from sklearn.utils._param_validation import InvalidParameterError

from widegap._catalogue import ESTIMATORS, public_class

TINY = 1e-300
COUNT = [1], [0]
# Values that are accepted, and values that are not.
BOUNDS = {
    "n_clusters": COUNT, "n_components": COUNT, "n_init": COUNT, "max_iter": COUNT, "n_neighbors": COUNT,
    "min_df": COUNT, "max_features": COUNT, "smoothing": ([0], [-1]), "memory": ([0], [-1]), "n_roundings": ([0], [-1]),
    "max_samples": ([2], [1]), "size_min": ([0], [-1]), "size_max": ([0], [-1]), "C": ([1e-12, 1e12], [9e-13, 1.1e12]),
    "C_universum": ([0, 1e12], [-TINY, 1.1e12]), "C_e": ([TINY, 1e300], [0]), "margin_tolerance": ([0, 1e300], [-TINY]),
    "balance": ([0, 1e300], [-TINY]), "tol": ([TINY, 1e300], [0]), "gamma": ([TINY, 1e300], [0, -1]),
    "min_cluster_fraction": ([0, 1], [-TINY, 1.01]), "outliers": ([0, 0.999], [-TINY, 1.0]),
    "epsilon": ([0, 0.999], [-TINY, 1.0]), "norm": ([1.001, 1e6], [1, 1.1e6]), "ridge": ([1e-9, 1e6], [9e-10, 1.1e6]),
    "max_df": ([TINY, 1], [0, 1.01]),
}  # fmt: skip
OWN = {("MMC", "C"): ([1e-12, 1e3], [9e-13, 1.1e3]), ("MMC", "min_cluster_fraction"): ([TINY, 1], [0, 1.01])}
OWN |= {("GMMC", name): bounds for (_, name), bounds in OWN.items() if name == "min_cluster_fraction"}
NUMBERS = [
    (cls, name)
    for cls in map(public_class, ESTIMATORS)
    for name, rules in cls._parameter_constraints.items()
    if any("Interval" in type(rule).__name__ for rule in rules)
]


@pytest.mark.parametrize(("cls", "name"), NUMBERS, ids=[f"{cls.__name__}, {name}" for cls, name in NUMBERS])
def test_numbers_are_accepted_up_to_their_bounds(cls, name):
    accepted, refused = OWN.get((cls.__name__, name), BOUNDS[name])
    for value in accepted:
        cls(**{name: value})._validate_params()
    for value in refused:
        with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter"):
            cls(**{name: value})._validate_params()
