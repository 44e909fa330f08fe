"""What MaxMarginClustering's defaults reach, in % over seeds 0 to 4: mean accuracy, and the spread over the seeds.

No run sees a label, but the constants behind the defaults (smoothing steps, neighbours, numbers of groups, the rules of
merging) were settled while looking at the accuracy on many of these very sets: the figures are no forecast for unseen
data; for that see ``test_pairs_that_did_not_choose_the_defaults`` in the panel's file. What was measured is in the
comment of each row; limits leave a margin to it. The spread is that from the worst seed to the best.
"""

from itertools import combinations

import numpy as np
import pytest

from _data import requires_data
from experiments import loaders
from widegap import MaxMarginClustering, datasets
from widegap.metrics import clustering_accuracy

SEEDS = range(5)


def runs(X, y, seeds=SEEDS, **parameters):
    """Accuracy of every seed, and the share of rows to which ``predict`` gives their label; both in %."""
    found = []
    for seed in seeds:
        model = MaxMarginClustering(len(np.unique(y)), random_state=seed, **parameters).fit(X)
        found.append((100 * clustering_accuracy(y, model.labels_), 100 * np.mean(model.predict(X) == model.labels_)))
    print(
        "accuracy",
        *(f"{accuracy:.2f}" for accuracy, _ in found),
        "predicted",
        f"{min(found, key=lambda f: f[1])[1]:.1f}",
    )
    return np.array(found).T


def subset(data, classes):
    chosen = np.isin(data.target, classes)
    return np.asarray(data.data[chosen], dtype=float), data.target[chosen]


def thinned(data, draw, factor=20):
    """The rows with half of the classes, drawn, cut down to one row in so many."""
    rng = np.random.default_rng(draw)
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target)
    classes = np.unique(y)
    few = rng.permutation(classes)[: len(classes) // 2]
    kept = []
    for c in classes:
        rows = np.flatnonzero(y == c)
        kept.append(rng.permutation(rows)[: len(rows) // factor] if c in few else rows)
    chosen = np.sort(np.concatenate(kept))
    return X[chosen], y[chosen]


def mnist_test():
    data = loaders.load_mnist()
    return data.data[60000:], data.target[60000:]


def test_ten_digits():
    data = datasets.load_digits()
    accuracy, predicted = runs(data.data, data.target, range(2))
    assert accuracy.mean() >= 86
    assert predicted.min() >= 97


@requires_data
@pytest.mark.parametrize("name", [name for name in loaders.FCPS_SHAPES if name != "engytime"])
def test_shapes(name):
    data = loaders.load_fcps(name)
    accuracy, predicted = runs(data.data, data.target, range(1))
    assert accuracy.min() >= 99
    assert predicted.min() >= 99


def test_moves_tell_pairs_of_digits_apart():
    data = datasets.load_digits()
    found = [runs(*subset(data, pair), range(1), search="moves")[0] for pair in combinations(range(10), 2)]
    assert np.mean(found) >= 98.8


@pytest.mark.slow
@requires_data
@pytest.mark.parametrize(
    ("load", "least", "spread", "predicted"),
    [
        (datasets.load_digits, 87.0, 3.0, 98),  # 88.5, spread 1.0
        (loaders.load_optdigits, 96.0, 3.0, 98),  # 97.1
        (loaders.load_satimage, 76.0, 5.0, 93),  # 81.7, 2.9
        (loaders.load_segment, 74.0, 7.0, 96),  # 74.6, 5.5: one seed of five 70.3
        (loaders.load_w1a, 85.0, 3.0, 99),  # 89.2, 0.0; 100
        (lambda: loaders.load_fcps("engytime"), 93.5, 4.0, 95),  # 95.2, 2.0
        (loaders.load_ringnorm, 96.0, 3.0, 96),  # 97.7, 0.4; 97.9
        (mnist_test, 83.0, 3.0, 93),  # 84.9
    ],
    ids=["digits", "optdigits", "satimage", "segment", "w1a", "engytime", "ringnorm", "MNIST test"],
)
@pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")  # the clouds of engytime overlap far
def test_sets(load, least, spread, predicted):
    data = load()
    X, y = data if isinstance(data, tuple) else (data.data, data.target)
    accuracy, agreed = runs(X, y)
    assert accuracy.mean() >= least
    assert np.ptp(accuracy) <= spread
    assert agreed.min() >= predicted


@pytest.mark.slow
@requires_data
@pytest.mark.parametrize(
    ("load", "least"),
    [(datasets.load_digits, 78.0), (loaders.load_optdigits, 78.0)],  # 79.4 and 80.0 with 12 careful members
    ids=["digits", "optdigits"],
)
def test_half_of_the_classes_thinned(load, least):
    """Without setting ``min_cluster_fraction``; the mean over draws of the thinned classes and over seeds."""
    data = load()
    assert np.mean([runs(*thinned(data, draw), range(3))[0] for draw in range(5)]) >= least


@pytest.mark.slow
@requires_data
def test_all_of_mnist():
    data = loaders.load_mnist()
    accuracy, predicted = runs(data.data, data.target)
    assert accuracy.mean() >= 77  # 80.0
    assert np.ptp(accuracy) <= 5  # 3.2
    assert predicted.min() >= 95  # 98.8


@pytest.mark.slow
def test_pairs_of_digits():
    """97.1 on average, 92.5 before small clusters gave way; search="moves" has 98.8.

    27 of the ones stand apart from all others. Beside the eights, of which no clear border tells the other ones, they
    still are one of the two clusters (56.5 %).
    """
    data = datasets.load_digits()
    found = np.array([runs(*subset(data, pair), range(2))[0].mean() for pair in combinations(range(10), 2)])
    assert np.mean(found) >= 96
    assert np.median(found) >= 98.5


@requires_data
@pytest.mark.parametrize(
    ("load", "classes", "parameters", "least"),
    [
        (loaders.load_optdigits, [3, 9], {}, 98.0),
        (loaders.load_letter, ["A", "B"], {"search": "moves"}, 93.0),  # 53.6 by default: a part of the As stands apart
        (loaders.load_satimage, [1, 2], {"search": "moves"}, 98.0),
    ],
    ids=["digits 3-9", "letter A-B", "satellite 1-2"],
)
def test_pairs_of_the_papers(load, classes, parameters, least):
    assert runs(*subset(load(), classes), range(2), **parameters)[0].mean() >= least
