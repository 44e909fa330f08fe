"""IterSVM, IterSVR and IterLSSVM against Tables IV and VI of Zhang, Tsang and Kwok, and against the LIBSVM loop.

The tuned tests choose the width of the Gaussian with labels, as the paper did, from a few multiples of the largest
distance. Sets and methods that do not reach the paper's figures are left out here, not loosened.
"""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.svm import SVR

from _data import requires_data
from experiments.loaders import load_letter, load_ringnorm, load_satimage
from widegap.datasets import load_digits
from widegap.iterative._bisection import far_kmeans
from widegap.iterative._iterative import IterLSSVM, IterSVM, IterSVR
from widegap.iterative._threshold import absolute_losses, best_split, bisection_bounds
from widegap.metrics import clustering_accuracy, clustering_error

# In largest distances. The authors' slides say 2 to 5; IterSVR on 2-7 needs 8 or more: 0.0 % there, 2.5 % up to 5.
WIDTHS = (2, 3, 4, 5, 8, 16)
SLACK = 1.5  # percent
METHODS = {"svm": IterSVM, "lssvm": IterLSSVM, "svr": IterSVR}


def of_classes(data, classes):
    X, y = data
    chosen = np.isin(y, classes)
    return X[chosen].astype(np.float64), y[chosen]


@cache
def data_set(name):
    """Rows, classes, the least share of half the rows (the paper's l), and the largest distance."""
    if "-" in name:
        X, y = of_classes(load_digits(return_X_y=True), [int(digit) for digit in name.split("-")])
    elif name == "letter":
        X, y = of_classes(load_letter(return_X_y=True), ["A", "B"])
    elif name == "satellite":
        X, y = of_classes(load_satimage(return_X_y=True), [1, 2])
    else:
        X, y = (part[400:] for part in load_ringnorm(return_X_y=True))  # the 7000 test rows, as in the paper
    return X, y, 0.7 if name == "satellite" else 0.94, float(euclidean_distances(X[:2000]).max())


@cache
def results(name, method):
    """Error in percent and turns at every width, from the paper's start."""
    X, y, fraction, diameter = data_set(name)
    found = []
    for width in WIDTHS:
        gamma = 1 / (width * diameter) ** 2
        model = METHODS[method](gamma=gamma, min_cluster_fraction=fraction, init="k-means", random_state=0).fit(X)
        found.append((100 * clustering_error(y, model.labels_), model.n_iter_))
    return found


def check_table_4(name, method, paper):
    errors = [error for error, _ in results(name, method)]
    assert min(errors) <= paper + SLACK, errors


def check_table_6(name, method, error, turns):
    """A width that reaches the paper's error takes half to twice its turns."""
    found = results(name, method)
    assert any(ours <= error + SLACK and turns / 2 <= n_iter <= turns * 2 for ours, n_iter in found), found


DIGITS = [
    ("3-8", "svm", 4.5, 3),
    ("3-8", "lssvm", 4.2, 2),
    ("3-8", "svr", 3.4, 3),
    ("1-7", "svm", 0.0, 2),
    ("1-7", "lssvm", 0.0, 2),
    ("1-7", "svr", 0.0, None),  # the start is a fixed point: 1 turn, the paper has 3
    ("2-7", "svm", 3.1, 3),
    ("2-7", "svr", 0.0, 5),
    ("8-9", "svm", 4.8, 6),
    ("8-9", "lssvm", 4.2, 4),
    ("8-9", "svr", 3.7, 5),
]
LARGER = [
    ("letter", "svm", 7.4, 6),
    ("letter", "lssvm", 7.4, 4),
    ("letter", "svr", 7.2, 15),
    ("satellite", "svm", 3.8, 11),
    ("satellite", "lssvm", 4.4, 13),
    ("satellite", "svr", 3.6, 5),
]
RINGNORM = [
    ("ringnorm", "svm", 23.4, None),  # turns differ: see the results page
    ("ringnorm", "lssvm", 7.2, None),
    ("ringnorm", "svr", 2.5, 7.4),
]


def table(rows, *, turns):
    """Parameters of a test: name, method, error, and turns if asked for."""
    if turns:
        return pytest.mark.parametrize(("name", "method", "error", "turns"), [row for row in rows if row[3]])
    return pytest.mark.parametrize(("name", "method", "error"), [row[:3] for row in rows])


@table(DIGITS, turns=False)
def test_label_tuned_errors_on_digits(name, method, error):
    check_table_4(name, method, error)


@table(DIGITS, turns=True)
def test_label_tuned_turns_on_digits(name, method, error, turns):
    check_table_6(name, method, error, turns)


@requires_data
@pytest.mark.slow
@table(LARGER, turns=False)
def test_label_tuned_errors_on_letter_and_satellite(name, method, error):
    check_table_4(name, method, error)


@requires_data
@pytest.mark.slow
@table(LARGER, turns=True)
def test_label_tuned_turns_on_letter_and_satellite(name, method, error, turns):
    check_table_6(name, method, error, turns)


@requires_data
@pytest.mark.slow
@table(RINGNORM, turns=False)
def test_label_tuned_errors_on_ringnorm(name, method, error):
    check_table_4(name, method, error)


@requires_data
@pytest.mark.slow
@table(RINGNORM, turns=True)
def test_label_tuned_turns_on_ringnorm(name, method, error, turns):
    check_table_6(name, method, error, turns)


# LIBSVM on the whole kernel matrix is the referee of our regression on features.


def libsvm_loop(K, y, fraction, max_iter=30):
    """IterSVR as published, from the labels y."""
    bounds = bisection_bounds(len(K), fraction)
    for _ in range(max_iter):
        machine = SVR(kernel="precomputed", C=500.0, epsilon=0.05).fit(K, y)
        following = best_split(machine.predict(K), absolute_losses, bounds).y
        if (following == y).all():
            break
        y = following
    return y


@requires_data
@pytest.mark.parametrize("name", ["letter", "satellite"])
def test_labels_agree_with_the_libsvm_loop(name):
    X, _, fraction, diameter = data_set(name)
    gamma = 1 / (4 * diameter) ** 2
    start = far_kmeans(X, True, np.random.default_rng(0))
    model = IterSVR(gamma=gamma, min_cluster_fraction=fraction, init=start, random_state=0).fit(X)
    expected = libsvm_loop(rbf_kernel(X, gamma=gamma), np.where(start, 1.0, -1.0), fraction)
    assert clustering_accuracy(expected, model.labels_) >= 0.98


@requires_data
@pytest.mark.parametrize("name", ["letter", pytest.param("satellite", marks=pytest.mark.slow)])
def test_first_objective_with_the_exact_map_agrees_with_libsvm(name):
    X, _, fraction, diameter = data_set(name)
    gamma = 1 / (4 * diameter) ** 2
    start = far_kmeans(X, True, np.random.default_rng(0))
    model = IterSVR(
        gamma=gamma,
        min_cluster_fraction=fraction,
        init=start,
        n_components=len(X),
        callback=lambda record: True,
    ).fit(X)
    K, y = rbf_kernel(X, gamma=gamma), np.where(start, 1.0, -1.0)
    referee = SVR(kernel="precomputed", C=500.0, epsilon=0.05).fit(K, y)
    alpha = referee.dual_coef_[0]
    regulariser = alpha @ K[np.ix_(referee.support_, referee.support_)] @ alpha / 2
    expected = regulariser + 500 * np.maximum(0, np.abs(referee.predict(K) - y) - 0.05).sum()
    assert model.history_[0].objective == pytest.approx(expected, rel=1e-3)


# Without labels: default settings, measured with a margin. From the paper's start 1-4 and 3-9 err by 39 to 47 %, 2-7 by
# 2.5 %.


@pytest.mark.parametrize(
    ("name", "method", "most"),
    [
        (name, method, most)
        for name, most in (("3-8", 4.7), ("1-7", 0.6), ("2-7", 0.3), ("8-9", 5.2), ("3-9", 1.2), ("1-4", 1.7))
        for method in METHODS
    ],
)
def test_label_free_errors_on_digits(name, method, most):
    X, y, _, _ = data_set(name)
    errors = [100 * clustering_error(y, METHODS[method](random_state=seed).fit_predict(X)) for seed in range(3)]
    assert np.mean(errors) <= most, errors


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_label_free_errors_on_all_pairs_of_digits(method):
    """Measured means 1.4 to 1.5 and, on 1-9, a worst of 16.9; from the paper's start 4.5 to 4.7 and 46.8."""
    errors = []
    for pair in combinations(range(10), 2):
        X, y, _, _ = data_set("-".join(map(str, pair)))
        errors.append(100 * clustering_error(y, METHODS[method](random_state=0).fit_predict(X)))
    assert np.mean(errors) <= 1.7 and max(errors) <= 18, errors


@requires_data
@pytest.mark.parametrize(
    ("name", "method", "most"),
    [(name, method, most) for name, most in (("letter", 7.8), ("satellite", 4.2)) for method in METHODS],
)
def test_label_free_errors_on_letter_and_satellite(name, method, most):
    X, y, fraction, _ = data_set(name)
    error = 100 * clustering_error(y, METHODS[method](min_cluster_fraction=fraction, random_state=0).fit_predict(X))
    assert error <= most
