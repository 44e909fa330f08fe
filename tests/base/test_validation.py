"""What users pass besides rows: the last value that is taken and the first that is refused, for every check."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from joblib import cpu_count
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from widegap import CPM3C, MKC, MMC, IterSVR, MaxMarginClustering
from widegap.base import _fit_fingerprint
from widegap.base._clusterer import Clusterer, Objective, stored_attributes, take_over
from widegap.base._fit_fingerprint import FitFingerprint, arguments_in_use, label_digest
from widegap.base._numbered_clusters import numbers_of, places_of
from widegap.base._records import IterationRecord, Point, Recorder, SearchRecorder, StopFit, asks_to_stop
from widegap.base._scored_clusterer import explained_scatter, log_likelihoods, lost_margin
from widegap.base._validation import (
    check_cluster_number,
    check_documents,
    check_generator,
    check_labels,
    check_precomputed,
    check_row_numbers,
    check_row_weights,
    check_rows_left,
    check_start_labels,
    check_threads,
    check_views,
    checked_rows,
    count_rows,
    digest_of,
    holds_numbers,
    input_kind,
    one_point_error,
)
from widegap.exceptions import InvalidDataError
from widegap.rows._known_frames import frame_of_clusters, known_frame, library_of
from widegap.rows._sources import row_blocks

X = np.random.default_rng(0).normal(size=(20, 3))
FRAME = pd.DataFrame({"a": [1.0], "b": ["text"]})

TAKEN = [
    (check_start_labels, ([0, 2, 1], 3, 3)), (check_start_labels, (np.array([True, False]), 2, 2)),
    (check_labels, ([-1, 0, 2], 3, 3)), (check_labels, ([], 0, 0)), (check_labels, ([99_999], None, None)),
    (check_labels, ([5], None, 100_000)), (check_row_numbers, ([0, 4], 5)), (check_row_numbers, ([], 5)),
    (check_row_weights, ([0.0, 1e-300], 2)), (check_rows_left, (np.array([True, True, False]), 0.3, 2)),
    (check_rows_left, (np.array([True, False]), 0.3, "auto")), (check_rows_left, (np.array([False]), 0.3, 2)),
    (check_cluster_number, (3, 3)), (check_precomputed, ((4, 4), "auto")), (check_precomputed, ((4, 4), False)),
    (check_documents, (["a", ""],)), (check_views, ({"x": X, "y": X[:, :1]}, [])),
    (check_views, ({"x": X[:2], "t": ["a", "b"]}, ["t"])), (check_threads, (1,)),
]  # fmt: skip
REFUSED = [
    (check_start_labels, ([0, 1], 3, 3), r"init has shape \(2,\), X has 3 rows"),
    (check_start_labels, ([0.0, 1.0], 2, 3), "init has dtype float64; starting labels must be .* = 2"),
    (check_start_labels, ([0, 3], 2, 3), "init holds values from 0 to 3"),
    (check_start_labels, ([-1, 2], 2, 3), "init holds values from -1 to 2"),
    (check_labels, ([[1]],), r"labels has shape \(1, 1\) and dtype int64; pass one integer per row"),
    (check_labels, ([1.0],), "dtype float64; pass one integer per row, -1 for none"),
    (check_labels, ([1], 2), "labels has 1 entries for 2 rows; pass one per row"),
    (check_labels, ([0, 3], 2, 3), "labels holds values from 0 to 3; they must go from -1 to 2"),
    (check_labels, ([-2], 1, 3), "labels holds values from -2 to -2"),
    (check_labels, ([100_000],), "holds values from 100000 to 100000; they must go from -1 to 99999"),
    (check_labels, ([0], 1, 100_001), "n_clusters=100001 must be an integer from 0 to 100,000"),
    (check_labels, ([0], 1, -1), "n_clusters=-1 must be an integer"),
    (check_labels, ([0], 1, 2.0), "n_clusters=2.0 must be an integer"),
    (check_row_numbers, ([0, 5], 5), "rows holds 0 to 5; rows are numbered from 0 to 4"),
    (check_row_numbers, ([-1], 5), "rows holds -1 to -1"),
    (check_row_numbers, ([1.0], 5), "rows has shape .* and dtype float64; pass a list of row numbers"),
    (check_row_numbers, ([[1]], 5), r"rows has shape \(1, 1\)"),
    (check_row_weights, ([1.0], 2), r"sample_weight has shape \(1,\) for 2 rows"),
    (check_row_weights, ([0.0, 0.0], 2), "not 0 for all rows"),
    (check_row_weights, ([1.0, -1e-300], 2), "at least 0"),
    (check_row_weights, ([1.0, np.inf], 2), "must be finite"),
    (check_rows_left, (np.array([True, False, False]), 0.3, 2), "outliers=0.3 leaves 1 of 3 rows, but every"),
    (check_rows_left, (np.array([False]), 0.3, "auto"), "outliers=0.3 leaves 0 of 1 rows"),
    (check_cluster_number, (2, 3), "n_samples=2 should be >= n_clusters=3"),
    (check_precomputed, ((4, 3), False), r"X has shape \(4, 3\), but kernel='precomputed' needs the square matrix"),
    (check_precomputed, ((4, 4), True), "standardize=True divides columns of X, but a precomputed kernel has none"),
    (check_documents, ("one",), r"documents is one str, but must be a list of str: pass \[text\]"),
    (check_documents, (b"one", "texts"), "texts is one bytes"),
    (check_documents, (["a", 3],), r"documents\[1\] is 3 of type int, but must be a str: convert it"),
    (check_documents, (["a", "b", b"c"],), r"documents\[2\] is b'c' of type bytes, but must be a str: decode it first"),
    (check_views, ({}, []), "X is a dict without views"),
    (check_views, ({"x": X, "y": X[:3]}, []), "different numbers of rows: 'x' 20, 'y' 3; row i must"),
    (check_views, ({"x": X, "t": ["a"]}, ["t"]), "different numbers of rows: 'x' 20, 't' 1"),
    (check_views, ({"x": np.zeros((2, 2), "m8[s]")}, []), "view 'x' holds timedelta64"),
    (check_views, ({"x": X * 1e30}, []), "squares of it overflow"),
    (input_kind, (FRAME,), r"X is a frame with the columns a, b; pass the one .* such as frame\['a'\]"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "arguments"), TAKEN)
def test_the_last_values_are_taken(check, arguments):
    check(*arguments)


@pytest.mark.parametrize(("check", "arguments", "words"), REFUSED)
def test_the_first_values_beyond_are_refused(check, arguments, words):
    with pytest.raises(InvalidDataError, match=words):
        check(*arguments)


def test_parameters_are_checked_before_a_fit():
    for settings in ({"n_clusters": 0}, {"tol": 0.0}, {"n_jobs": 0.5}, {"callback": 3}):
        with pytest.raises(InvalidParameterError, match=f"The '{next(iter(settings))}' parameter of CPM3C must be"):
            CPM3C(**settings).fit(X)


@pytest.mark.parametrize(
    "model", [CPM3C(4), IterSVR(4), MaxMarginClustering(4)], ids=lambda model: type(model).__name__
)
def test_every_cluster_needs_a_row(model):
    with pytest.raises(InvalidDataError, match="n_samples=3 should be >= n_clusters=4: every cluster needs a row"):
        model.fit(X[:3])


def test_what_numpy_would_turn_into_numbers_is_refused_by_fits():
    for wrong, words in ((np.ma.masked_array(X, X > 1), "masked array with"), (np.zeros((4, 2), "m8[s]"), "durations")):
        for call in (CPM3C(2).fit, CPM3C(2, random_state=0).fit(X).predict):
            with pytest.raises(InvalidDataError, match=words):
                call(wrong)


def test_threads_count_back_from_all_cores():
    cores = int(cpu_count())
    assert [check_threads(n) for n in (1, 3, -1, -cores, -cores - 5)] == [1, 3, cores, 1, 1]
    assert check_threads(None) >= 1
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning; use None for the default, -1 for all cores"):
        check_threads(0)


def test_generators_and_digests_are_those_of_the_seed_and_the_rows():
    for seed in (0, 7, np.int64(7)):
        assert check_generator(seed).random() == np.random.default_rng(int(seed)).random()
    state = np.random.RandomState(3)
    expected = np.random.default_rng(np.random.RandomState(3).randint(np.iinfo(np.int32).max)).random()
    assert check_generator(state).random() == expected
    frame = pd.DataFrame(X, columns=list("abc"))
    assert digest_of(X) == digest_of(frame) == digest_of(pl.from_pandas(frame)) == digest_of(sp.csr_array(X))
    assert len({digest_of(X), digest_of(X[1:]), digest_of(["a"]), digest_of(["b"])}) == 4


def test_kinds_of_input_and_numbers_of_rows():
    frame = pd.DataFrame(X)
    for table, kind in (
        (sp.csr_array(X), "matrix"), (X, "embeddings"), (frame, "embeddings"), (X.tolist(), "embeddings"),
        (["a", "b"], "documents"), ([], "documents"), (("a",), "documents"), ([b"a"], "documents"),
        ([["a"]], "documents"), (np.array(["a"]), "documents"), ([[1.0]], "embeddings"), ([()], "documents"),
    ):  # fmt: skip
        assert input_kind(table) == kind
    assert [count_rows(rows) for rows in (X, X.tolist(), sp.csr_array(X), frame)] == [20] * 4
    for other, numeric in ((frame, True), (FRAME, False), (pl.from_pandas(FRAME), False), (frame > 0, True),
                           (pd.DataFrame({"a": [1, None]}), True), (pa.table({"a": [1.5]}), True)):  # fmt: skip
        assert holds_numbers(other) == numeric


def test_a_giant_beside_usual_numbers_is_warned_of():
    Y = X.copy()
    Y[3, 1] = 1e12
    with pytest.warns(UserWarning, match="X holds a number 1.0e.12 from the median of its column, while .* is usual"):
        CPM3C(2, random_state=0, max_iter=1, n_init=1).set_params(tol=1.0)._read(Y)
    CPM3C(2)._read(X)


def test_rows_without_scatter_are_named_by_their_cause():
    equal = np.ones((4, 2))
    for kernel, rows, words in (
        ("rbf", equal, "All 4 rows are equal"), ("rbf", X, "Kernel 'rbf' maps all 4 rows to one point"),
        ("linear", X, "All 4 rows are equal"), ("rbf", None, "All 4 rows are equal"),
    ):  # fmt: skip
        message = str(one_point_error(kernel, rows, 4, 3))
        assert message.startswith(words) and "separated into 3 clusters" in message


def test_some_rows_are_checked_wherever_they_are():
    model = CPM3C(2, random_state=0).fit(X)
    rows = np.array([2, 9])
    frame = pd.DataFrame(X)
    for table in (X, sp.csr_array(X), row_blocks(X), frame):
        found = checked_rows(model, table, rows, 1)
        assert_array_equal(found.toarray() if sp.issparse(found) else found, X[rows])
    with pytest.raises(InvalidDataError, match="X has 2 features, but CPM3C was fitted with 3; pass the same columns"):
        checked_rows(model, row_blocks(X[:, :2]), rows, 1)
    with pytest.raises(InvalidDataError, match="X has 0 rows; at least one is needed"):
        model.predict(row_blocks(X[:0]))


def test_frames_of_arrow_keep_dates_and_clusters_come_in_the_library_of_the_rows():
    days = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([5, 6], name="number"))
    table = pa.Table.from_pandas(days).append_column("day", pa.array([0, 1], pa.date32()))
    found = known_frame(table)
    assert list(found.columns) == ["x", "number", "day"] and found["day"].dtype.kind == "M"
    assert library_of(days) == "pandas" and library_of(pl.DataFrame()) == "polars" and library_of(table) == "pyarrow"
    moments = np.array(["2020-01-01T10:00:00"], "M8[s]")
    polar = frame_of_clusters({"t": moments, "x": np.array([1.5])}, np.array([4]), "polars")
    assert polar.dtypes[1:] == [pl.Datetime("us"), pl.Float64] and polar["cluster"].to_list() == [4]


class Settled:
    """A model that tells the numbers of its clusters."""

    def __init__(self, numbers):
        self.n_clusters_, self.cluster_numbers_ = len(numbers), np.array(numbers)


def test_numbers_of_clusters_and_their_places():
    model = Settled([4, 0, 7])
    assert_array_equal(numbers_of(model, [0, 7, -1]), [4, 0, 7])
    assert_array_equal(numbers_of(model, [-1]), [4, 0, 7])
    assert_array_equal(numbers_of(model, [0, 1]), [0, 1, 2])  # labels of other clusters
    assert_array_equal(numbers_of(model, [0, 5]), np.arange(6))
    assert_array_equal(numbers_of(object(), [0, 2]), [0, 1, 2])
    assert numbers_of(object(), [-1]).shape == (0,)
    assert_array_equal(places_of(np.array([4, 0, 7]), np.array([7, 4, -1, 0, 1])), [2, 0, -1, 1, -1])
    assert_array_equal(places_of(np.zeros(0, int), np.array([-1])), [-1])


def record(**changes):
    values = {"start": 0, "iteration": 0, "objective": 1.0, "gap": 0.1, "cuts": 1, "passes": 1, "flips": 0,
              "beta": 1.0, "seconds": 0.5} | changes  # fmt: skip
    return IterationRecord(**values)


def test_records_of_searches_count_iterations_of_every_start():
    answers, lines, passes = iter([None, 1, False, np.False_, np.True_]), [], iter(range(10, 20))
    recorder = SearchRecorder(lambda: next(passes), lambda record: next(answers), lines.append)
    step = {"objective": 1.0, "gap": 0.5, "cuts": 2, "flips": 3, "beta": 1.0}
    for start, iteration in ((0, 0), (0, 1), (3, 0), (3, 1)):
        if iteration == 0 and start:
            recorder.begin(start)
        assert recorder.add(**step) is False
        assert (recorder.records[-1].start, recorder.records[-1].iteration) == (start, iteration)
    with pytest.raises(StopFit) as caught:
        recorder.add(**step)
    assert caught.value.point is None and recorder.stopped and len(recorder.records) == len(lines) == 5
    assert [each.passes for each in recorder.records] == list(range(10, 15))
    assert lines[2].startswith("start 3, iteration 0: objective 1, gap 0.5, 2 cuts, 3 flips, 12 passes")
    seconds = [each.seconds for each in recorder.records]
    assert 0 <= seconds[0] and seconds == sorted(seconds) and seconds[-1] < 60
    assert recorder.residual == 0
    for residual, largest in ((0.5, 0.5), (0.2, 0.5), (0.7, 0.7)):
        recorder.note_residual(residual)
        assert recorder.residual == largest
    silent = Recorder(record)
    assert silent.add(objective=2.0) is False and not silent.stopped
    assert [asks_to_stop(answer) for answer in (True, np.True_, False, 1, "yes", None)] == [True, True] + [False] * 4
    point = Point(np.eye(2), np.zeros(2), None, 1.0)
    assert not point.bound_active and StopFit(point).point is point


def test_fingerprints_are_a_few_short_lines():
    def of(**changes):
        parts = {"rows": "r", "labels": None, "arguments": [], "versions": {}, "processor": {}} | changes
        return FitFingerprint(**parts)

    for good in (of(rows=None), of(arguments=["a"] * 20), of(versions={"v" * 100: "1" * 100}), of(rows="r" * 100),
                 of(arguments=["a"] * 18, versions={"a": "b"}, processor={"c": "d"})):  # fmt: skip
        good.check()
    for bad in (of(arguments=["a"] * 21), of(versions={"v" * 101: "1"}), of(versions={"v": "1" * 101}),
                of(rows="r" * 101), of(labels="two\nlines"), of(processor={"a": "\x00"}), of(arguments=["\n"]),
                of(arguments=["a"] * 19, versions={"a": "b"}, processor={"c": "d"})):  # fmt: skip
        with pytest.raises(ValueError, match="does not consist of a few short lines"):
            bad.check()
    options = {"known": None, "weights": X, "extra": FitFingerprint("r", None, ["a"], {}, {}), "kind": FitFingerprint}
    assert arguments_in_use(options) == ["weights", "rows", "arguments", "versions", "processor", "kind"]
    found = _fit_fingerprint.processor()
    assert found["machine"] == os.uname().machine and "numba CPU" in found
    assert "BLAS 1" in found and "BLAS 0" not in found


def test_gains_are_relative_to_the_size_of_the_reference():
    for better, sign in (("higher", 1), ("lower", -1)):
        objective = Objective("x", better, "y")
        assert objective.gain(5.0, 4.0) == sign * 0.25 and objective.gain(-5.0, -4.0) == -sign * 0.25


def test_scores_of_rows_by_hand():
    scores = np.array([[1.0, 3.0, 2.5], [0.0, -2.0, -4.0]])
    assert_array_equal(explained_scatter(scores, 2.0), [6.0, 0.0])
    np.testing.assert_allclose(log_likelihoods(scores), np.log(np.exp(scores).sum(axis=1)))
    assert_array_equal(lost_margin(scores), [-0.5, 0.0])
    assert_array_equal(lost_margin(scores[:, :1]), [0.0, 0.0])


@pytest.fixture(scope="module")
def fitted():
    return MaxMarginClustering(3, random_state=0).fit(X + 9 * np.eye(3)[np.arange(20) % 3])


@pytest.mark.parametrize(
    ("numbers", "labels", "words"),
    [
        ([0, 1], None, "its 3 clusters have numbers of shape"), ([0, 1, 1], None, "have the same number"),
        ([0, 1, -1], None, "have numbers of shape"), ([0, 1, 10**6], None, "a number that is far too large"),
        ([0.0, 1.0, 2.0], None, "have numbers of shape"), (None, [0, 3], "labels_ are not numbers of 3 clusters"),
        (None, [0, -2], "are not numbers"), (None, [0.0, 1.0], "are not numbers"), (None, [[0, 1]], "are not numbers"),
        (None, [0, 2, -1], None), ([0, 5, 10**6 - 1], [0, 5, -1, 10**6 - 1], None), ([0, 5, 9], [0, 1], "are not"),
    ],
)  # fmt: skip
def test_numbers_and_labels_of_model_files_are_checked(numbers, labels, words, fitted):
    model = MaxMarginClustering(3)
    take_over(model, fitted)
    if numbers is not None:
        model._numbers = np.array(numbers)
        model.labels_ = np.full(4, numbers[0]).astype(np.int32)
    if labels is not None:
        model.labels_ = np.array(labels)
    if words is None:
        Clusterer._check_stored(model)
    else:
        with pytest.raises(ValueError, match=words):
            Clusterer._check_stored(model)


def test_positions_and_numbers_are_each_others_way_back(fitted):
    model = MaxMarginClustering(3)
    model.left_over_ = 1
    take_over(model, fitted)
    assert not hasattr(model, "left_over_") and model.random_state is None  # parameters stay
    assert_array_equal(model.cluster_numbers_, [0, 1, 2])
    positions = np.array([2, 0, -1, 1])
    assert model._to_numbers(positions) is positions and model._to_positions(positions) is positions
    model._numbers = np.array([4, 0, 7], np.int32)
    assert_array_equal(model._to_numbers(positions), [7, 4, -1, 0])
    assert_array_equal(model._to_positions(np.array([7, 4, -1, 0])), positions)
    model.cluster_numbers_[0] = 99
    assert_array_equal(model.cluster_numbers_, [4, 0, 7])
    assert label_digest(model) is not None
    assert {"labels_", "coef_", "history_"} <= stored_attributes(MaxMarginClustering).keys()
    assert stored_attributes(FitFingerprint).keys() == {"rows", "labels", "arguments", "versions", "processor"}
    assert stored_attributes(int) == {}


def test_pages_of_the_documentation(monkeypatch):
    model = CPM3C()
    monkeypatch.delenv("WIDEGAP_DOCS", raising=False)
    assert model._get_doc_link() == ""
    monkeypatch.setenv("WIDEGAP_DOCS", "file:///docs//")
    assert model._get_doc_link() == "file:///docs/generated/widegap.CPM3C.html"
    assert type("Own", (CPM3C,), {"__module__": "mine"})()._get_doc_link() == ""


@pytest.mark.parametrize("asked", ["cluster_numbers_", "predict", "decision_function", "transform", "score"])
@pytest.mark.parametrize("cls", [CPM3C, MKC, MMC, MaxMarginClustering, IterSVR])
def test_nothing_is_told_before_a_fit(cls, asked):
    with pytest.raises(NotFittedError):
        found = getattr(cls(), asked)
        found(np.eye(3))
