"""Parameters of the methods with losses: their bounds from both sides, and defaults as they are documented."""

import ast
import inspect
import re

import pytest

from widegap.cutting_plane._cpm3c import CPM3C
from widegap.cutting_plane._cutting_plane_clusterer import CuttingPlaneClusterer, default_plan
from widegap.cutting_plane._m2dcu import M2DCU
from widegap.cutting_plane._mkc import MKC
from widegap.documents._document_clustering import DocumentClustering
from widegap.iterative._iterative import IterSVR
from widegap.iterative._iterative_clusterer import IterativeClusterer
from widegap.sdp._gmmc import GMMC
from widegap.sdp._mmc import MMC
from widegap.sdp._semidefinite import SDPClusterer

COUNT = ([1, 2], [0])  # from one on
TINY = 5e-324
CUTTING_PLANE = {
    "n_clusters": COUNT,
    "n_init": COUNT,
    "max_iter": COUNT,
    "balance": ([0, 0.5, 9], [-TINY]),
    "min_cluster_fraction": ([0, 1], [-TINY, 1.0000001]),
    "outliers": ([0, 0.99, "auto"], [-TINY, 1.0]),
    "tol": ([TINY, 5], [0]),
    "size_min": ([0, 7, 0.5, None], [-1]),
    "size_max": ([0, 7, 0.5, None], [-1]),
    "annealing": ([True, False], [2]),
}
SEMIDEFINITE = {
    "n_clusters": COUNT,
    "n_roundings": ([0, 1], [-1]),
    "max_samples": ([2, 3], [1]),
    "tol": ([TINY, 5], [0]),
    "max_iter": COUNT,
}
BOUNDS = {
    CPM3C: CUTTING_PLANE | {"n_components": COUNT, "memory": ([0, 1], [-1])},
    M2DCU: CUTTING_PLANE
    | {"n_components": COUNT, "C_universum": ([0, 1e12], [-TINY, 1.1e12]), "margin_tolerance": ([0, 3], [-TINY])},
    MKC: CUTTING_PLANE | {"n_components": COUNT, "norm": ([1.0000001, 1e6], [1, 1.1e6]), "memory": ([0, 1], [-1])},
    IterSVR: {
        "n_clusters": COUNT,
        "n_components": COUNT,
        "n_init": COUNT,
        "max_iter": COUNT,
        "min_cluster_fraction": ([0, 1], [-TINY, 1.0000001]),
        "epsilon": ([0, 0.999], [-TINY, 1.0]),
    },
    MMC: SEMIDEFINITE | {"C": ([1e-12, 1e3], [0.9e-12, 1.1e3]), "min_cluster_fraction": ([TINY, 1], [0, 1.0000001])},
    GMMC: SEMIDEFINITE | {"C_e": ([TINY, 5], [0]), "ridge": ([1e-9, 1e6], [0.9e-9, 1.1e6])},
    DocumentClustering: {
        "n_clusters": COUNT,
        "min_df": COUNT,
        "max_df": ([TINY, 1], [0, 1.0000001]),
        "max_features": ([1, None], [0]),
        "n_components": COUNT,
        "memory": ([0, 1], [-1]),
        "size_min": ([0, 0.5, None], [-1]),
    },
}
CASES = [(cls, name) for cls, bounds in BOUNDS.items() for name in bounds]


@pytest.mark.parametrize(("cls", "name"), CASES, ids=[f"{cls.__name__}-{name}" for cls, name in CASES])
def test_bounds_are_legal_and_what_is_beyond_is_not(cls, name):
    legal, beyond = BOUNDS[cls][name]
    model = cls(2)
    for value in legal:
        model.set_params(**{name: value})._validate_params()
    for value in beyond:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of {cls.__name__}"):
            model.set_params(**{name: value})._validate_params()


def test_bounds_of_the_bases_are_those_of_the_methods():
    for base, methods in (
        (CuttingPlaneClusterer, (CPM3C, M2DCU)),
        (IterativeClusterer, (IterSVR,)),
        (SDPClusterer, (MMC, GMMC)),
    ):
        for method in methods:
            assert issubclass(method, base)
            assert set(base._parameter_constraints) <= set(method._parameter_constraints)


@pytest.mark.parametrize("cls", BOUNDS, ids=lambda cls: cls.__name__)
def test_defaults_are_those_that_are_documented(cls):
    signature = {name: p.default for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}
    documented = {}
    for names, text in re.findall(
        r"^    (\w[\w, ]*) : [^\n]*?default=([^\n]+)$", inspect.getdoc(cls) and cls.__doc__, re.M
    ):
        values = re.split(r" and |, (?=[^\d])", text) if "," in names else [text]
        for name, value in zip(names.split(", "), values * (len(names.split(", ")) // len(values)), strict=True):
            documented[name] = ast.literal_eval(value.replace("_", "") if value[0].isdigit() else value)
    assert documented and {name: signature[name] for name in documented} == documented
    undocumented = set(signature) - set(documented) - {"kernels", "norm", "kernel", "gamma", "kernel_params"}
    assert not undocumented


@pytest.mark.parametrize(
    ("k", "plan"),
    [
        (1, ("cuts_first", 0.3, 2, 2, 2)),
        (2, ("cuts_first", 0.3, 2, 2, 2)),
        (3, ("one_step", 0.3, 10, 4, 0)),
        (4, ("one_step", 0.3, 10, 4, 0)),
        (5, ("linearize_first", 0.2, 8, 1, 0)),
    ],
)
def test_the_plan_of_a_search_goes_by_the_number_of_clusters(k, plan):
    found = default_plan(k)
    assert (found.order, found.rho, found.kmeans_runs, found.kmeans_starts, found.random_starts) == plan
