"""Numbers of clusters compared without labels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from widegap import CPM3C, MaxMarginClustering
from widegap.selection import COMPARED_ROWS, compare_cluster_numbers

CENTRES = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]


def make_default(k):
    return MaxMarginClustering(k, random_state=0)


def test_the_true_number_is_stable_and_beats_chance():
    X, _ = make_blobs(160, centers=CENTRES, cluster_std=0.7, random_state=0)
    calls = []
    records = compare_cluster_numbers(make_default, X, [4, 7], random_state=0, n_subsamples=3, on_fit=calls.append)
    assert calls == [4] * 5 + [7] * 5  # all rows, three subsamples, the shuffled rows
    four, seven = records
    assert four.stability == pytest.approx(1.0)
    assert seven.stability < 0.9
    assert four.gain > max(0, seven.gain)
    assert (four.smallest, four.largest) == (1.0, 1.0)
    assert seven.smallest < 1 < seven.largest


def test_a_loss_that_is_lower_on_the_data_is_a_gain():
    X, _ = make_blobs(100, centers=[[0, 0], [9, 9]], cluster_std=0.7, random_state=0)
    (record,) = compare_cluster_numbers(lambda k: CPM3C(k, random_state=0), X, [2], n_subsamples=1, random_state=0)
    assert record.gain > 0.1


def test_noise_has_no_gain():
    X = np.random.default_rng(0).normal(size=(300, 5))
    (record,) = compare_cluster_numbers(make_default, X, [3], random_state=0)
    assert abs(record.gain) < 0.05
    assert record.stability < 0.8


def test_sparse_rows_have_no_shuffle_and_many_rows_are_sampled():
    X = sparse.random(COMPARED_ROWS + 500, 20, 0.3, format="csr", random_state=0)
    seen = []

    def make(k):
        model = CPM3C(k, random_state=0, max_iter=5)
        fit = model.fit
        model.fit = lambda rows: (seen.append(rows.shape[0]), fit(rows))[1]
        return model

    with pytest.warns(UserWarning, match="max_iter|converge"):
        (record,) = compare_cluster_numbers(make, X, [2], n_subsamples=1, random_state=0)
    assert record.gain is None
    assert seen == [COMPARED_ROWS, int(0.8 * COMPARED_ROWS)]
