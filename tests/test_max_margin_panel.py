"""MaxMarginClustering() beside KMeans(n_init=10) on every labelled set of the collection, accuracy over seeds 0 to 4.

The first panel is what the defaults were settled on. The second was drawn only after the last change of defaults
(starts improved with a tenth of C first, ties to even sizes), to see whether it helps where nobody had looked; the
figures before that change are in the comment of each row. Texts need a vectoriser first and have their own tests.
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

pytestmark = [pytest.mark.slow, requires_data]

SEEDS = range(5)

# More than two points below k-means, and why.
SHORTFALLS = {
    "satimage": "soil classes blend into each other, and the even cut through them explains more than the true one",
    "w1a": "3 % against 97 %: k-means scores by one large and one small cluster, neither being the class",
    "cora_titles_ha": "seven words a title: nearly all rows are equally far apart, no split has a margin",
    "cora_titles_ml": "as for the other titles",
    "rcv1": "tf-idf rows are nearly equally far apart, so a Gaussian sees little; DocumentClustering is made for texts",
    "fcps chainlink": "linked rings have no wide gap for so wide a kernel, and seeds disagree on where to cut",
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


def ours(k, seed):
    return MaxMarginClustering(k, random_state=seed)


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
    ("load", "pairs", "rows", "least_lead"),
    [
        (loaders.load_mnist, list(combinations(range(10), 2)), TEST_ROWS, 5.0),  # lead 6.9, before 6.0
        (loaders.load_letter, LETTERS, slice(None), 6.0),  # lead 8.4, before 8.0
        (loaders.load_segment, list(combinations(range(1, 8), 2)), slice(None), 14.0),  # lead 17.2, before 16.6
        (loaders.load_satimage, SATELLITE, slice(None), 7.0),  # lead 9.4, before 9.5
    ],
    ids=["MNIST", "letter", "segment", "satellite"],
)
def test_pairs_that_did_not_choose_the_defaults(load, pairs, rows, least_lead):
    sets = unseen_pairs(load, pairs, rows)
    leads = [accuracy(ours, X, y, range(2)) - accuracy(kmeans, X, y, range(2)) for X, y in sets]
    print(f"mean lead {np.mean(leads):.1f}, worst {min(leads):.1f}")
    assert np.mean(leads) >= least_lead
