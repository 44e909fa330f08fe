"""Frames of every library go into every estimator by one protocol, with the names of their columns."""

import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from widegap import (
    CPM3C,
    GMMC,
    M2DCU,
    MKC,
    MMC,
    DocumentClustering,
    IterLSSVM,
    IterSVM,
    IterSVR,
    MaxMarginClustering,
    TableEncoder,
    describe,
    universum,
)
from widegap._catalogue import ESTIMATORS
from widegap.exceptions import InvalidDataError, NotSupportedError

X = np.vstack([np.random.default_rng(i).normal(9 * i, 1, (12, 3)) for i in range(2)])
NAMES = ["height", "width", "depth"]
FRAME = pd.DataFrame(X, columns=NAMES)


class Stream:
    """A frame of a library that nobody knows, which hands its rows over once."""

    def __init__(self, frame):
        self._frame, self.reads = frame, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.reads += 1
        assert self.reads == 1, "the stream was read twice"
        return pa.Table.from_pandas(self._frame).__arrow_c_stream__(requested_schema)


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "Arrow": pa.Table.from_pandas,
    "a batch of Arrow": pa.RecordBatch.from_pandas,
    "a reader of Arrow": lambda frame: pa.Table.from_pandas(frame).to_reader(),
    "DuckDB": duckdb.from_df,
    "any stream": Stream,
}
every_frame = pytest.mark.parametrize("convert", FRAMES.values(), ids=FRAMES)
SETTINGS = {"MKC": {"kernels": ["linear", "rbf"]}, "M2DCU": {"C_universum": 0}}
CLASSES = [CPM3C, GMMC, IterLSSVM, IterSVM, IterSVR, M2DCU, MKC, MMC, MaxMarginClustering]


@every_frame
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_estimator_takes_it_and_keeps_the_names(cls, convert):
    model = cls(2, random_state=0, **SETTINGS.get(cls.__name__, {}))
    expected = model.fit(X).labels_
    np.testing.assert_array_equal(model.fit(convert(FRAME)).labels_, expected)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(convert(FRAME)), expected)
    assert describe.is_fitted_on(model, convert(FRAME))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(convert(FRAME[NAMES[::-1]]))


def test_every_estimator_is_tried():
    assert {cls.__name__ for cls in CLASSES} | {"DocumentClustering"} == set(ESTIMATORS)


@every_frame
def test_documents_take_embeddings(convert):
    model = DocumentClustering(2, random_state=0).fit(convert(FRAME))
    np.testing.assert_array_equal(model.predict(convert(FRAME)), model.fit(X).predict(X))


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_documents_of_a_frame_must_be_named(name):
    frame = FRAMES[name](pd.DataFrame({"text": ["a cat", "a dog"], "n": [1, 2]}))
    with pytest.raises(InvalidDataError, match="pass the one that holds the documents, such as frame\\['text'\\]"):
        DocumentClustering(2).fit(frame)


@every_frame
@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("cls", [CPM3C, IterSVR, MaxMarginClustering, TableEncoder], ids=lambda cls: cls.__name__)
def test_output_is_of_the_library_that_was_asked_for(cls, library, convert):
    settings = {} if cls is TableEncoder else {"random_state": 0}
    model = cls(**settings).fit(convert(FRAME)).set_output(transform=library)
    found = model.transform(convert(FRAME))
    assert type(found).__module__.startswith(library)
    assert list(found.columns) == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), cls(**settings).fit(X).transform(X))


@every_frame
def test_the_encoder_reads_words_and_keeps_the_names(convert):
    frame = pd.DataFrame({"price": ["€1,200", "€950", "n/a"] * 4, "kind": ["new", "used", "used"] * 4})
    encoder = TableEncoder(scale="none").fit(convert(frame))
    assert encoder.feature_names_in_.tolist() == ["price", "kind"]
    np.testing.assert_array_equal(encoder.transform(convert(frame)), TableEncoder(scale="none").fit_transform(frame))


@every_frame
def test_constraints_and_outliers_go_with_it(convert):
    known = np.array([0] + [-1] * 22 + [1])
    expected = MaxMarginClustering(2, outliers=0.1, random_state=0).fit(FRAME, known=known)
    found = MaxMarginClustering(2, outliers=0.1, random_state=0).fit(convert(FRAME), known=known)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@every_frame
@pytest.mark.filterwarnings("ignore::widegap.exceptions.InactiveUniversumWarning")
def test_views_and_universum_go_with_it(convert):
    views = {"one": FRAME, "two": FRAME * 2}
    expected = (
        MKC(2, kernels=[("first", "linear", "one"), ("second", "linear", "two")], random_state=0).fit(views).labels_
    )
    converted = {name: convert(view) for name, view in views.items()}
    found = MKC(2, kernels=[("first", "linear", "one"), ("second", "linear", "two")], random_state=0).fit(converted)
    np.testing.assert_array_equal(found.labels_, expected)
    outside = M2DCU(2, random_state=0).fit(convert(FRAME), universum=convert(FRAME[:6] + 4))
    np.testing.assert_array_equal(outside.labels_, M2DCU(2, random_state=0).fit(X, universum=X[:6] + 4).labels_)


@every_frame
def test_functions_take_it(convert):
    assert universum.random(convert(FRAME), 4, random_state=0).shape == (4, 3)
    found = describe.centers(CPM3C(2, random_state=0).fit(X), X, table=convert(FRAME))
    assert [name for name in found.columns if name != "cluster"] == NAMES


def test_flags_of_other_frames_are_categories():
    a = np.arange(40) % 2 == 0
    flags = pd.DataFrame({"a": a, "b": a ^ (np.arange(40) % 10 == 0)})
    expected = MaxMarginClustering(2, random_state=0).fit(flags)
    found = MaxMarginClustering(2, random_state=0).fit(pa.Table.from_pandas(flags))
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_sums_of_a_database_are_numbers():
    rows = duckdb.sql("SELECT i // 2 AS half, SUM(i) AS total, i * 0.5 AS share FROM range(8) t(i) GROUP BY i")
    model = CPM3C(2, random_state=0).fit(rows)
    assert model.feature_names_in_.tolist() == ["half", "total", "share"]


@every_frame
def test_text_is_refused_by_the_name_of_its_column(convert):
    with pytest.raises(InvalidDataError, match="Column 'city' of X has text \\('Bonn'\\)"):
        CPM3C(2).fit(convert(FRAME.assign(city="Bonn")))


@every_frame
def test_gaps_are_refused_by_the_name_of_their_column(convert):
    with pytest.raises(InvalidDataError, match="1 missing cell, in column 'width'"):
        CPM3C(2).fit(convert(FRAME.assign(width=[None, *X[1:, 1]])))


@pytest.mark.parametrize("estimator", [CPM3C(2), MaxMarginClustering(2), TableEncoder()], ids=lambda e: str(e)[:5])
def test_lazy_frames_are_refused(estimator):
    with pytest.raises(InvalidDataError, match=r"X is a lazy frame; call .collect\(\) first."):
        estimator.fit(pl.from_pandas(FRAME).lazy())


def test_a_column_alone_is_no_table():
    with pytest.raises(ValueError, match="Expected 2D array"):
        CPM3C(2).fit(pa.chunked_array([X[:, 0]]))


def test_the_extra_is_named(monkeypatch):
    rows = duckdb.from_df(FRAME)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotSupportedError, match="X is a frame of duckdb.*pip install 'widegap\\[table\\]'"):
        CPM3C(2).fit(rows)
