"""MaxMarginClustering() beside KMeans(n_init=10) on every labelled set of the collection, accuracy over seeds 0 to 4.

The first panel is what the defaults were settled on; the pairs of classes were not looked at for that, neither for the
search by merging and agreement nor for the last change of the search by moves. Texts need a vectoriser first and have
their own tests.
"""

from itertools import combinations

import numpy as np
import pytest
from sklearn import datasets as bundled
from sklearn.cluster import KMeans

from _data import requires_data
from experiments import loaders
from widegap import MaxMarginClustering
from widegap.metrics import clustering_accuracy

pytestmark = [
    pytest.mark.slow,
    requires_data,
    pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning"),  # some classes are no clusters
    pytest.mark.filterwarnings("ignore::widegap.exceptions.StarvedClusterWarning"),  # of the search by moves
]

SEEDS = range(5)

# More than two points below k-means, and why.
SHORTFALLS = {
    "a3a": "all columns are flags, which have no groups; other samples of that table are nearer",
    "image": "both cuts run along gaps, and the even one, which tells more, is not that of the classes",
    "ionosphere": "good returns are one dense group, and bad ones lie around it without a group of their own",
}


PANEL = {
    **{f"sklearn {name}": getattr(bundled, f"load_{name}") for name in ("iris", "wine", "breast_cancer", "digits")},
    **{name: getattr(loaders, f"load_{name}") for name in "optdigits satimage ionosphere svmguide1".split()},
    **{name: getattr(loaders, f"load_{name}") for name in "ringnorm image segment w1a rcv1 cora_bow".split()},
    **{f"fcps {name}": lambda name=name: loaders.load_fcps(name) for name in loaders.FCPS_SHAPES},
    **{f"cora_titles_{f}": lambda f=f: loaders.load_cora_titles(f) for f in loaders.CORA_FIELDS},
    **{size: lambda size=size: loaders.load_adult(size) for size in loaders.ADULT_SIZES},
    "letter": loaders.load_letter,
    "mnist": loaders.load_mnist,
}


def accuracy(make, X, y, seeds=SEEDS):
    k = len(np.unique(y))
    return 100 * np.mean([clustering_accuracy(y, make(k, seed).fit_predict(X)) for seed in seeds])


def ours(k, seed, search="agree"):
    return MaxMarginClustering(k, search=search, random_state=seed)


def by_moves(k, seed):
    return ours(k, seed, "moves")


def kmeans(k, seed):
    return KMeans(k, n_init=10, random_state=seed)


@pytest.mark.parametrize("name", PANEL)
def test_not_two_points_below_kmeans_unless_listed(name):
    data = PANEL[name]()
    seeds = SEEDS if len(data.target) < 20000 else range(1)
    lead = accuracy(ours, data.data, data.target, seeds) - accuracy(kmeans, data.data, data.target, seeds)
    print(f"{name}: {lead:+.1f}")
    if name in SHORTFALLS:
        assert lead < 0, f"{name} leads by {lead:.1f}: take it off the list of shortfalls"
    else:
        assert lead >= -2


def unseen_pairs(load, classes, rows=slice(None)):
    data = load()
    X, y = data.data[rows], data.target[rows]
    return [(X[np.isin(y, pair)], y[np.isin(y, pair)]) for pair in classes]


TEST_ROWS = slice(60000, None)
LETTERS = [("C", "D"), ("E", "F"), ("G", "H"), ("I", "J"), ("K", "L"), ("M", "N")]
LETTERS += [("O", "P"), ("Q", "R"), ("S", "T"), ("U", "V"), ("W", "X"), ("Y", "Z")]
SATELLITE = [pair for pair in combinations((1, 2, 3, 4, 5, 7), 2) if pair != (1, 2)]


@pytest.mark.parametrize(
    ("load", "pairs", "rows", "least_lead", "least_by_moves"),
    [
        (
            loaders.load_mnist,
            list(combinations(range(10), 2)),
            TEST_ROWS,
            4.0,
            5.0,
        ),  # lead 5.5 on every fourth pair, by moves 6.9
        (loaders.load_letter, LETTERS, slice(None), -10.0, 6.0),  # lead -7.2, by moves 8.4
        (loaders.load_segment, list(combinations(range(1, 8), 2)), slice(None), 10.0, 14.0),  # 12.6, by moves 17.2
        (loaders.load_satimage, SATELLITE, slice(None), 7.0, 7.0),  # 9.1, by moves 9.4
    ],
    ids=["MNIST", "letter", "segment", "satellite"],
)
def test_pairs_that_did_not_choose_the_defaults(load, pairs, rows, least_lead, least_by_moves):
    """Moves, which prefer clusters of similar size, do better here than the default.

    The classes of a pair are equally large, and where one of them falls into parts, as most letters do by their fonts,
    the default may split off such a part and leave the two classes together.
    """
    sets = unseen_pairs(load, pairs, rows)
    for make, least in ((ours, least_lead), (by_moves, least_by_moves)):
        leads = [accuracy(make, X, y, range(2)) - accuracy(kmeans, X, y, range(2)) for X, y in sets]
        print(f"{make.__name__}: mean lead {np.mean(leads):.1f}, worst {min(leads):.1f}")
        assert np.mean(leads) >= least
