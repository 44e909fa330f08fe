"""Model files whose parts, entries or types are not those of a model, one kind at a time."""

import json
import struct
import zipfile
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from _model_files import edited, forge, parts_of, saved_parts
from widegap import CPM3C, MKC, MaxMarginClustering, TableEncoder, persistence
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._coded_columns import CodedColumns
from widegap.persistence import _weights
from widegap.persistence._declared_types import fits
from widegap.persistence._json_tree import Writer

ROWS = np.random.default_rng(0).normal(size=(30, 3)) + 5 * (np.arange(30) % 2)[:, None]
CLASS = np.arange(90) % 2
FLAGS = np.eye(3)[CLASS + (np.random.default_rng(1).random(90) < 0.1)]  # of one category with three levels
LEVELS = np.column_stack([FLAGS, np.random.default_rng(0).normal(size=90) + 4 * CLASS])


@pytest.fixture
def file(tmp_path):
    persistence.save(CPM3C(2, random_state=0).fit(ROWS), tmp_path / "m")
    return tmp_path / "m"


def test_files_are_named_by_paths():
    with pytest.raises(TypeError, match=r"path=5 is not a file name; pass a str or a Path"):
        persistence.load(5)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name(file):
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("model.json", "{}")
    with pytest.raises(InvalidDataError, match="two entries of the same name"):
        persistence.load(file)


def test_an_entry_without_a_checksum(file):
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("more", "")
    with pytest.raises(InvalidDataError, match="its checksums are not those of its entries"):
        persistence.load(file)


def test_an_entry_that_is_shorter_than_it_says(file):
    content = bytearray(file.read_bytes())
    directory = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02"))
    (size,) = struct.unpack_from("<I", content, directory + 24)
    struct.pack_into("<I", content, directory + 24, size + 1)
    file.write_bytes(content)
    with pytest.raises(InvalidDataError, match=r"model\.json does not have its declared size"):
        persistence.load(file)


def test_json_that_is_no_object(file):
    with pytest.raises(InvalidDataError, match="its JSON holds no object"):
        persistence.load(forge(file, parts_of(file), **{"model.json": "[]"}))


def test_what_is_not_declared_is_not_written(tmp_path):
    model = CPM3C(2, random_state=0).fit(ROWS)
    model.more = 1
    with pytest.raises(NotSupportedError, match=r"CPM3C\.more is not declared for model files; add it to the _stored"):
        persistence.save(model, tmp_path / "m")
    with pytest.raises(NotSupportedError, match="x holds Python objects, which a safe model file cannot"):
        Writer().tree(np.array(["a", 1], object), "x")
    assert Writer().tree(CPM3C(2), "x")["$"] == "CPM3C"


def test_types_of_functions_arrays_and_tuples():
    assert not fits(print, Callable[[str], None])
    assert fits(np.zeros(2), np.ndarray)
    assert fits((1, "a"), tuple[int, str]) and not fits((1, 2), tuple[int, str]) and not fits((1,), tuple[int, str])


def test_wide_models_are_not_tried_out(file, tmp_path, monkeypatch):
    views = {"a": ROWS, "b": ROWS[:, :2] ** 2}
    model = MKC(2, kernels=[("x", "linear", "a"), ("y", "linear", "b")], random_state=0).fit(views)
    persistence.save(model, tmp_path / "views")
    monkeypatch.setattr(_weights, "MAX_TRIAL_COLUMNS", 0)
    monkeypatch.setattr(CPM3C, "predict", None)
    monkeypatch.setattr(MKC, "predict", None)
    for path in (file, tmp_path / "views"):
        assert persistence.load(path)[0].n_clusters == 2


def test_models_of_tables_with_few_levels(tmp_path):
    model = MaxMarginClustering(2, columns=[slice(0, 3)], random_state=0).fit(LEVELS)
    assert isinstance(model.kernel_map_, CodedColumns)
    parts = saved_parts(model, tmp_path / "m")
    np.testing.assert_array_equal(persistence.load(tmp_path / "m")[0].predict(LEVELS), model.predict(LEVELS))

    def weightless(document):
        state = document["model"]["state"]["kernel_map_"]["state"]
        columns = state["columns"]["items"] if isinstance(state["columns"], dict) else state["columns"]
        columns[0]["state"]["weight"] = 0.0

    with pytest.raises(InvalidDataError, match="the weight of a column is 0"):
        persistence.load(forge(tmp_path / "m", parts, **{"model.json": edited(parts, weightless)}))


def test_a_table_of_another_width(tmp_path):
    model = make_pipeline(TableEncoder(), CPM3C(2, random_state=0)).fit(ROWS)
    parts, other = saved_parts(model, tmp_path / "m"), saved_parts(CPM3C(2).fit(ROWS[:, :2]), tmp_path / "n")
    table = json.loads(parts["model.json"])["table"]
    wide = edited(other, lambda document: document.update(table=table))
    with pytest.raises(InvalidDataError, match="its table and its model have different numbers of columns"):
        persistence.load(forge(tmp_path / "n", other, **{"model.json": wide}))
