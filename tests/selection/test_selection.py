"""Numbers of clusters and lists of kernels compared without labels."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from widegap import CPM3C, MKC, DocumentClustering, MaxMarginClustering, selection
from widegap.exceptions import InvalidDataError, KernelWarning
from widegap.selection import _kernel_lists, compare_cluster_numbers
from widegap.selection._kernel_lists import CRITERIA, KERNEL_LISTS, choose_kernels, sort_records
from widegap.selection._trials import TRIAL_ROWS, Trials

CENTRES = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]


def make_default(k):
    return MaxMarginClustering(k, random_state=0)


def by_moves(k=2):
    return MaxMarginClustering(k, search="moves", random_state=0)


def four_blobs():
    return make_blobs(160, centers=CENTRES, cluster_std=0.7, random_state=0)[0]


def test_the_true_number_is_stable_and_beats_chance():
    calls = []
    records = compare_cluster_numbers(
        by_moves, four_blobs(), [4, 7], random_state=0, n_subsamples=3, on_fit=calls.append
    )
    assert calls == [4] * 5 + [7] * 5  # all rows, three subsamples, the shuffled rows
    four, seven = records
    assert four.stability == pytest.approx(1.0)
    assert seven.stability < 0.9
    assert four.gain > max(0, seven.gain)
    assert (four.smallest, four.largest) == (1.0, 1.0)
    assert seven.smallest < 1 < seven.largest
    assert four.separation is None


def test_one_fit_of_a_search_by_merging_serves_all_numbers():
    X, calls = four_blobs(), []
    options = {"random_state": 0, "n_subsamples": 2}
    records = compare_cluster_numbers(make_default(3), X, [1, 4, 6], on_fit=calls.append, **options)
    assert calls == [6] * 4  # all rows, two subsamples, the shuffled rows
    one, four, six = records
    assert (one.stability, one.gain, one.separation) == (1.0, None, None)
    assert four.stability == pytest.approx(1.0) and four.smallest == four.largest == 1.0
    assert six.stability < 0.95
    assert four.separation > 10 > 4 > six.separation
    whole = make_default(6).fit(X)
    assert six.objective == whole.objective_ and four.objective == whole.with_clusters(4).objective_
    assert compare_cluster_numbers(make_default(3), X, [1, 4, 6], **options) == records
    calls.clear()
    compare_cluster_numbers(make_default, X, [2, 3], n_subsamples=1, on_fit=calls.append)
    assert calls == [2] * 3 + [3] * 3  # a function may make anything


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], 20, axis=0)
    two, five = compare_cluster_numbers(make_default(2), X, [2, 5], n_subsamples=1, random_state=0)
    assert (two.stability, two.smallest) == (1.0, 2 / 3)
    assert 0 < five.stability <= 1


def test_a_loss_that_is_lower_on_the_data_is_a_gain():
    X, _ = make_blobs(100, centers=[[0, 0], [9, 9]], cluster_std=0.7, random_state=0)
    (record,) = compare_cluster_numbers(lambda k: CPM3C(k, random_state=0), X, [2], n_subsamples=1, random_state=0)
    assert record.gain > 0.1


def test_noise_has_no_gain():
    X = np.random.default_rng(0).normal(size=(300, 5))
    (record,) = compare_cluster_numbers(make_default, X, [3], random_state=0)
    assert (
        record.gain < 0.05
    )  # of six draws -0.37 to 0.04: a cluster of stray rows explains less than it does by chance
    assert record.stability < 0.8


def test_sparse_rows_have_no_shuffle_and_many_rows_are_sampled():
    X = sparse.random(TRIAL_ROWS + 500, 20, 0.3, format="csr", random_state=0)
    seen = []

    def make(k):
        model = CPM3C(k, random_state=0, max_iter=5)
        fit = model.fit
        model.fit = lambda rows: (seen.append(rows.shape[0]), fit(rows))[1]
        return model

    with pytest.warns(UserWarning, match="max_iter|converge"):
        (record,) = compare_cluster_numbers(make, X, [2], n_subsamples=1, random_state=0)
    assert record.gain is None
    assert seen == [TRIAL_ROWS, int(0.8 * TRIAL_ROWS)]


@pytest.fixture(scope="module")
def few_blobs():
    return make_blobs(40, centers=CENTRES[:2], cluster_std=0.7, random_state=0)[0]


def test_an_estimator_does_in_place_of_a_function(few_blobs):
    options = {"numbers": [2, 3], "n_subsamples": 1, "random_state": 0}
    expected = compare_cluster_numbers(by_moves, few_blobs, **options)
    assert compare_cluster_numbers(by_moves(7), few_blobs, **options) == expected
    assert compare_cluster_numbers(make_pipeline(FunctionTransformer(), by_moves()), few_blobs, **options) == expected


def test_a_pipeline_is_fitted_once_too(few_blobs):
    options = {"numbers": [2, 3], "n_subsamples": 1, "random_state": 0}
    pipeline = make_pipeline(FunctionTransformer(), MaxMarginClustering(random_state=0))
    expected = compare_cluster_numbers(MaxMarginClustering(random_state=0), few_blobs, **options)
    assert compare_cluster_numbers(pipeline, few_blobs, **options) == expected


def test_frames_keep_their_columns_and_are_shuffled_by_column():
    X, y = make_blobs(60, centers=[[0, 0, 0], [9, 9, 9]], cluster_std=0.7, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=range(100, 160))
    frame["kind"] = pd.Categorical(np.where(y, "far", "near"))
    encoder = ColumnTransformer([("kind", OneHotEncoder(), ["kind"])], remainder="passthrough")
    model = make_pipeline(encoder, MaxMarginClustering(random_state=0))
    (record,) = compare_cluster_numbers(model, frame, [2], n_subsamples=2, random_state=0)
    assert record.stability == pytest.approx(1.0)
    assert record.gain > 0
    shuffled = Trials.draw(frame, 1, 0.8, np.random.default_rng(0)).shuffled
    assert shuffled.dtypes.equals(frame.dtypes)
    for name in frame:
        assert sorted(shuffled[name]) == sorted(frame[name])
    together = shuffled["a"].rank().to_numpy() == shuffled["b"].rank().to_numpy()
    assert together.mean() < 0.2  # the values of a row are parted


def test_numbers_of_topics_of_texts():
    texts = [f"{'bread flour yeast oven' if i % 2 else 'goal match late team'} number {i}" for i in range(40)]
    (record,) = compare_cluster_numbers(DocumentClustering(random_state=0), texts, [2], n_subsamples=1, random_state=0)
    assert record.stability == pytest.approx(1.0)
    assert record.gain is None
    assert (record.smallest, record.largest) == (1.0, 1.0)


def test_a_clusterer_of_scikit_learn_has_no_gain(few_blobs):
    (record,) = compare_cluster_numbers(KMeans(random_state=0, n_init=3), few_blobs, [2], random_state=0)
    assert record.stability == pytest.approx(1.0)
    assert (record.gain, record.objective) == (None, None)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"make": 5}, TypeError, "make=5 is neither a function .* pass one of them"),
        ({"make": DBSCAN()}, TypeError, "DBSCAN has no parameter n_clusters.* pass a function"),
        ({"make": make_pipeline(DBSCAN())}, TypeError, "Pipeline has no parameter dbscan__n_clusters"),
        ({"n_subsamples": 0}, ValueError, "n_subsamples=0 must be an integer of at least 1"),
        ({"n_subsamples": 1.5}, ValueError, "n_subsamples=1.5 must be an integer"),
        ({"fraction": 2}, ValueError, "fraction=2 must be above 0 and at most 1"),
        ({"fraction": "half"}, ValueError, "fraction='half' must be above 0"),
        ({"numbers": 3}, TypeError, "numbers=3 must be several numbers of clusters, such as range"),
        ({"numbers": [2, 0]}, ValueError, "numbers holds 0; numbers of clusters are integers"),
        (
            {"numbers": [2, 33]},
            InvalidDataError,
            "n_clusters=33 is more than the 32 rows of a subsample.* raise fraction",
        ),
        ({"X": "a single text"}, InvalidDataError, "X is a single text of 13 characters; pass a list"),
    ],
)
def test_wrong_comparisons_are_refused_before_any_fit(changes, kind, message, few_blobs):
    calls = []
    call = {"make": make_default, "X": few_blobs, "numbers": [2], **changes}
    with pytest.raises(kind, match=message):
        compare_cluster_numbers(**call, on_fit=calls.append)
    assert calls == []


# Kernels ----------------------------------------------------------------------------------------------------------

LISTS = [("linear",), ("rbf",), (("rbf", {"width": 0.1}),), ("linear", "rbf")]


@pytest.fixture(scope="module")
def three_blobs():
    return make_blobs(90, centers=CENTRES[:3], cluster_std=1.5, random_state=0)[0]


def parts(record):
    return record.score, record.agreement, record.stability, record.gain, record.null_stability, record.degenerate


def test_the_order_of_candidates_only_orders_the_records(three_blobs):
    fast = MKC(n_init=1, n_components=20)
    options = {"criterion": "agreement + excess stability", "random_state": 0, "n_subsamples": 1, "estimator": fast}
    records = choose_kernels(three_blobs, 3, LISTS, **options)
    turned = choose_kernels(three_blobs, 3, LISTS[::-1], **options)
    assert {record.kernels: parts(record) for record in map(hashable, records)} == {
        record.kernels: pytest.approx(parts(record)) for record in map(hashable, turned)
    }
    scores = [record.score for record in records if not record.degenerate]
    assert scores == sorted(scores, reverse=True)
    again = choose_kernels(three_blobs, 3, LISTS, **options)
    assert [parts(record) for record in again] == [parts(record) for record in records]
    np.testing.assert_array_equal(again[0].model.labels_, records[0].model.labels_)


def hashable(record):
    return replace(record, kernels=repr(record.kernels))


def test_every_criterion_sorts_by_its_own_parts(three_blobs):
    records = choose_kernels(
        three_blobs,
        3,
        LISTS,
        criterion="excess stability",
        estimator=MKC(C=5.0, n_init=1),
        n_subsamples=1,
        random_state=0,
    )
    assert all(record.model.C_ == 5.0 for record in records)
    for name, value in CRITERIA.items():
        ordered = sort_records(records, name)
        assert [record.score for record in ordered] == [value(record) for record in ordered]
        scores = [record.score for record in ordered if not record.degenerate]
        assert scores == sorted(scores, reverse=True)


def test_default_candidates_find_clear_clusters():
    X, y = make_blobs(60, centers=CENTRES[:2], cluster_std=0.5, random_state=0)
    calls = []
    records = choose_kernels(X, 2, n_subsamples=1, random_state=0, on_fit=calls.append)
    assert len(records) == len(KERNEL_LISTS)
    assert len(calls) == 3 * len(KERNEL_LISTS)  # all rows, one subsample, the shuffled rows
    assert adjusted_rand_score(y, records[0].model.labels_) == 1
    assert records[0].stability == 1
    assert records[0].gain > 0
    assert records[0].null_stability is None


def test_kernels_of_sparse_rows():
    X, y = make_blobs(60, centers=CENTRES[:2], cluster_std=0.5, random_state=0)
    records = choose_kernels(sparse.csr_array(X), 2, LISTS[:2], n_subsamples=1, random_state=0)
    assert [record.kernels for record in records] == LISTS[:2]  # equal scores: in the order given
    assert [record.score for record in records] == [1, 1]
    assert adjusted_rand_score(y, records[0].model.labels_) == 1


def test_fits_of_candidates_do_not_warn_and_leave_the_filters_alone(three_blobs):
    """One of the kernels is constant, of which a fit of its own warns."""
    constant = [("linear", lambda A, B: np.ones((len(A), len(B))))]
    before, during = list(warnings.filters), []
    watched = MKC(n_init=1, callback=lambda record: during.append(list(warnings.filters)))
    choose_kernels(three_blobs, 2, constant, criterion="agreement", n_subsamples=1, estimator=watched, random_state=0)
    assert len(during) > 1
    assert all(filters == before for filters in during)
    with pytest.warns(KernelWarning, match="is constant"):
        MKC(2, kernels=constant[0], n_init=1, random_state=0).fit(three_blobs)


def test_a_degenerate_candidate_comes_last(three_blobs):
    records = choose_kernels(three_blobs, 2, LISTS, criterion="agreement", n_subsamples=1, random_state=0)
    spoilt = [replace(records[0], degenerate=True), *records[1:]]  # the best of them
    for criterion in ("agreement", "stability", "agreement + stability"):
        ordered = sort_records(spoilt, criterion)
        assert ordered[-1].kernels == records[0].kernels
        assert not ordered[0].degenerate
    with pytest.raises(ValueError, match="criterion='gain' needs fits of shuffled columns, which these lack; give"):
        sort_records(records, "gain")


def test_a_collapse_is_seen_and_not_warned_of(three_blobs):
    (record,) = choose_kernels(three_blobs, 2, [["linear"]], estimator=MKC(C=1e-3), n_subsamples=1, random_state=0)
    assert record.degenerate
    assert record.agreement == 1.0  # with no other candidate


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": []}, "candidates is empty; pass at least one list of kernels, or None"),
        ({"candidates": ["linear"]}, r"candidates holds 'linear'; every candidate must be a list of kernels"),
        ({"candidates": [["gauss"]]}, "kernels holds 'gauss', which is not a kernel; use a name"),
        ({"criterion": "accuracy"}, "criterion='accuracy' is unknown; use one of 'agreement', 'stability'"),
        ({"n_subsamples": 0}, "n_subsamples=0 must be an integer of at least 1"),
        ({"fraction": 1.5}, "fraction=1.5 must be above 0 and at most 1"),
        ({"n_clusters": 73}, "n_clusters=73 is more than the 72 rows of a subsample"),
    ],
)
def test_bad_requests(three_blobs, options, message):
    with pytest.raises(ValueError, match=message):
        choose_kernels(three_blobs, **{"n_clusters": 3, **options})


def test_bad_rows(three_blobs):
    with pytest.raises(InvalidDataError, match="criterion='gain' shuffles columns, which needs dense rows"):
        choose_kernels(sparse.csr_array(three_blobs), 3, criterion="gain")
    with pytest.raises(ValueError, match="contains NaN"):
        choose_kernels(np.full((9, 2), np.nan), 3)


@pytest.mark.parametrize("name", ["CANDIDATES", "CRITERIA", "KernelRecord", "choose_kernels", "sort_records"])
def test_names_that_choose_kernels_still_work_with_a_warning(name):
    with pytest.warns(FutureWarning, match=f"selection.{name} goes with version 0.3") as caught:
        found = getattr(selection, name)
    assert caught[0].filename == __file__
    assert found is getattr(_kernel_lists, {"CANDIDATES": "KERNEL_LISTS"}.get(name, name))
    assert name not in selection.__all__


def test_a_record_answers_to_its_former_name(three_blobs):
    (record,) = choose_kernels(three_blobs, 2, [["linear"]], criterion="excess stability", n_subsamples=1)
    assert record.chance_stability == record.null_stability is not None
    with pytest.raises(AttributeError, match="no attribute 'chance'"):
        _ = record.chance
    with pytest.raises(AttributeError, match="has no attribute 'choose'"):
        _ = selection.choose
