"""Loaders of the papers' folder on made-up files of the three formats, and on the real folder where there is one."""

import gzip
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from _data import requires_data
from experiments import loaders
from widegap.exceptions import InvalidDataError

POSTS = [
    {
        "id": "1",
        "split": "train",
        "label": "rec.autos",
        "text": "From: me\n <id@host>\nLines: 1\nSubject: cars\n\nFast.",
    },
    {
        "id": "2",
        "split": "test",
        "label": "rec.motorcycles",
        "text": "Subject: bikes\nLines: 1\n\nFrom: no header\n\nBye.",
    },
    {"id": "3", "split": "train", "label": "sci.space", "text": "no header at all"},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("WIDEGAP_DATA", str(tmp_path))
    return tmp_path


def write_documents(path, documents):
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(document) + "\n" for document in documents)


def write_sparse(path, X, **others):
    parts = {"data": X.data, "indices": X.indices.astype(np.uint16), "indptr": X.indptr, "shape": X.shape}
    np.savez(path, **parts, source="made up", **others)


@pytest.fixture
def posts(folder):
    """A data folder with three posts."""
    write_documents(folder / "20news_bydate.jsonl.gz", POSTS)
    return folder


class TestDense:
    @pytest.mark.parametrize(
        ("stored", "returned"), [(np.uint8, np.float32), (np.float32, np.float32), (np.float64, np.float64)]
    )
    def test_types(self, folder, stored, returned):
        X = np.array([[0, 255], [1, 2], [3, 4]], dtype=stored)
        np.savez(folder / "segment.npz", X=X, y=np.array([1, 2, 2], dtype=np.int8), source="made up")
        bunch = loaders.load_segment()
        assert_array_equal(bunch.data, X)
        assert_array_equal(bunch.target, [1, 2, 2])
        assert (bunch.data.dtype, bunch.target.dtype) == (returned, np.int64)
        assert (bunch.name, bunch.description) == ("segment", "made up")

    def test_names_of_classes_and_file(self, folder):
        np.savez(folder / "letter.npz", X=np.eye(2), y=np.array(["A", "B"]), source="made up")
        X, y = loaders.load_letter(return_X_y=True)
        assert_array_equal(X, np.eye(2))
        assert_array_equal(y, ["A", "B"])

    def test_other_arrays_are_kept(self, folder):
        arrays = {"X": np.eye(2), "y": [0, 1], "X_test": np.ones((3, 2)), "y_test": [0, 0, 1]}
        np.savez(folder / "svmguide1.npz", **arrays, source="made up")
        bunch = loaders.load_svmguide1()
        assert_array_equal(bunch.X_test, np.ones((3, 2)))
        assert_array_equal(bunch.y_test, [0, 0, 1])

    def test_subfolder(self, folder):
        (folder / "fcps").mkdir()
        np.savez(folder / "fcps" / "atom.npz", X=np.eye(2), y=[1, 2], source="made up")
        assert loaders.load_fcps("atom").name == "fcps/atom"


class TestSparse:
    @pytest.mark.parametrize(("stored", "returned"), [(np.uint8, np.float64), (np.float32, np.float32)])
    def test_types(self, folder, stored, returned):
        X = csr_array(np.array([[0, 1, 0], [2, 0, 3]], dtype=stored))
        write_sparse(folder / "a1a.npz", X, y=np.array([-1, 1], dtype=np.int8))
        bunch = loaders.load_adult()
        assert isinstance(bunch.data, csr_array)
        assert_array_equal(bunch.data.toarray(), X.toarray())
        assert (bunch.data.dtype, bunch.data.indices.dtype) == (returned, np.int32)
        assert_array_equal(bunch.target, [-1, 1])

    def test_terms_are_kept_and_parts_are_not(self, folder):
        X = csr_array(np.eye(2, dtype=np.float32))
        write_sparse(folder / "cora_titles_ml.npz", X, y=["Theory", "Case-Based"], terms=["bound", "case"])
        bunch = loaders.load_cora_titles("ml")
        assert set(bunch) == {"data", "target", "name", "description", "terms"}
        assert_array_equal(bunch.terms, ["bound", "case"])


class TestTexts:
    def test_texts_labels_and_other_fields(self, posts):
        bunch = loaders.load_20news()
        assert bunch.data == [post["text"] for post in POSTS]
        assert_array_equal(bunch.target, ["rec.autos", "rec.motorcycles", "sci.space"])
        assert_array_equal(bunch.split, ["train", "test", "train"])

    @pytest.mark.parametrize(
        ("categories", "ids"),
        [(["rec."], ["1", "2"]), (["sci.space"], ["3"]), (("rec.autos", "sci."), ["1", "3"]), (None, ["1", "2", "3"])],
    )
    def test_categories(self, posts, categories, ids):
        assert_array_equal(loaders.load_20news(categories=categories).id, ids)

    def test_headers_removed(self, posts):
        assert loaders.load_20news(headers=False).data == [
            "From: me\nSubject: cars\n\nFast.",
            "Subject: bikes\n\nFrom: no header\n\nBye.",
            "no header at all",
        ]

    def test_null_label_is_the_empty_string(self, folder):
        documents = [
            {"label": "earn", "text": "profit", "topics": ["earn"]},
            {"label": None, "text": "both", "topics": ["acq", "earn"]},
        ]
        write_documents(folder / "reuters21578.jsonl.gz", documents)
        bunch = loaders.load_reuters()
        assert_array_equal(bunch.target, ["earn", ""])
        assert list(bunch.topics) == [["earn"], ["acq", "earn"]]

    def test_lists_of_equal_length_do_not_become_a_matrix(self, folder):
        documents = [{"label": None, "text": "x", "topics": ["a", "b"]}] * 2
        write_documents(folder / "reuters21578.jsonl.gz", documents)
        assert loaders.load_reuters().topics.shape == (2,)

    @pytest.mark.parametrize(
        ("categories", "message"),
        [
            ("rec.", r"categories='rec.' is a str.*Use \['rec.'\]"),
            (["rec.", "misc."], r"\['misc.'\] are not.*Choose from rec.autos, rec.motorcycles, sci.space"),
            ([], "categories=.*None for all"),
        ],
    )
    def test_wrong_categories(self, posts, categories, message):
        with pytest.raises(ValueError, match=message):
            loaders.load_20news(categories=categories)


class TestRefusals:
    def test_variable_not_set(self, monkeypatch):
        monkeypatch.delenv("WIDEGAP_DATA", raising=False)
        with pytest.raises(FileNotFoundError, match="optdigits_train.npz.*WIDEGAP_DATA, which is not set"):
            loaders.load_optdigits()

    def test_file_missing(self, folder):
        with pytest.raises(FileNotFoundError, match="mnist.npz, which does not exist.*WIDEGAP_DATA"):
            loaders.load_mnist()

    def test_text_file_missing(self, folder):
        with pytest.raises(FileNotFoundError, match="20news_bydate.jsonl.gz, which does not exist"):
            loaders.load_20news()

    def test_pickled_objects(self, folder):
        np.savez(folder / "image.npz", X=np.array([[{}]], dtype=object), y=[0], source="made up")
        with pytest.raises(InvalidDataError, match="image.npz cannot be read.*without pickled objects"):
            loaders.load_image()

    def test_pickle_instead_of_archive(self, folder):
        np.array([{}], dtype=object).dump(folder / "image.npz")
        with pytest.raises(InvalidDataError, match="image.npz cannot be read.*without pickled objects"):
            loaders.load_image()

    def test_array_missing(self, folder):
        np.savez(folder / "image.npz", X=np.eye(2), source="made up")
        with pytest.raises(InvalidDataError, match="image.npz cannot be read .'y'.*X, y, source"):
            loaders.load_image()

    def test_truncated_archive(self, folder):
        path = folder / "image.npz"
        np.savez(path, X=np.eye(2), y=[0, 1], source="made up")
        path.write_bytes(path.read_bytes()[:-30])
        with pytest.raises(InvalidDataError, match="image.npz cannot be read.*again"):
            loaders.load_image()

    @pytest.mark.parametrize("documents", [[], [{"text": "no label"}]])
    def test_no_documents_or_labels(self, folder, documents):
        write_documents(folder / "webkb.jsonl.gz", documents)
        with pytest.raises(InvalidDataError, match="webkb.jsonl.gz cannot be read .*is missing"):
            loaders.load_webkb()

    def test_texts_not_gzipped(self, folder):
        (folder / "webkb.jsonl.gz").write_text('{"text": "", "label": ""}')
        with pytest.raises(InvalidDataError, match="webkb.jsonl.gz cannot be read.*gzipped UTF-8"):
            loaders.load_webkb()

    @pytest.mark.parametrize(
        ("load", "message"),
        [
            (lambda: loaders.load_adult("a5a"), "size='a5a'.*a1a, a2a, a3a, a4a, a8a, a9a"),
            (lambda: loaders.load_cora_titles("ai"), "field='ai'.*ds, ha, ml, os, pl"),
            (lambda: loaders.load_fcps("../atom"), r"name='\.\./atom'.*atom, chainlink"),
        ],
    )
    def test_unknown_choice(self, load, message):
        with pytest.raises(ValueError, match=message):
            load()


REAL = [
    # loader, arguments, shape, type, rows per class or number of classes: the table of the folder's README
    ("optdigits", (), (3823, 64), np.float32, 10),
    ("letter", (), (20000, 16), np.float32, 26),
    ("satimage", (), (6435, 36), np.float32, 6),
    ("ionosphere", (), (351, 34), np.float64, {0: 126, 1: 225}),
    ("svmguide1", (), (3089, 4), np.float64, {0: 1089, 1: 2000}),
    ("ringnorm", (), (7400, 20), np.float32, {-1: 3736, 1: 3664}),
    ("image", (), (2310, 18), np.float32, {-1: 990, 1: 1320}),
    ("segment", (), (2310, 18), np.float32, dict.fromkeys(range(1, 8), 330)),
    ("mnist", (), (70000, 784), np.float32, 10),
    ("fcps", ("atom",), (800, 3), np.float32, 2),
    ("fcps", ("hepta",), (212, 3), np.float32, 7),
    ("fcps", ("engytime",), (4096, 2), np.float32, 2),
    ("adult", ("a1a",), (1605, 123), np.float64, {-1: 1210, 1: 395}),
    ("adult", ("a2a",), (2265, 123), np.float64, {-1: 1693, 1: 572}),
    ("adult", ("a3a",), (3185, 123), np.float64, {-1: 2412, 1: 773}),
    ("adult", ("a4a",), (4781, 123), np.float64, {-1: 3593, 1: 1188}),
    ("adult", ("a8a",), (22696, 123), np.float64, {-1: 17190, 1: 5506}),
    ("adult", ("a9a",), (32561, 123), np.float64, {-1: 24720, 1: 7841}),
    ("w1a", (), (2477, 300), np.float64, {-1: 2405, 1: 72}),
    ("rcv1", (), (23428, 47236), np.float32, {"CCAT": 9616, "ECAT": 1915, "GCAT": 5244, "MCAT": 6653}),
    ("cora_bow", (), (2708, 1433), np.float64, 7),
    ("cora_titles", ("ds",), (1192, 2247), np.float32, 9),
    ("cora_titles", ("ha",), (453, 1161), np.float32, 7),
    ("cora_titles", ("ml",), (1810, 2934), np.float32, 7),
    ("cora_titles", ("os",), (1241, 2096), np.float32, 4),
    ("cora_titles", ("pl",), (1655, 2518), np.float32, 9),
]


def count_classes(y):
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True))


@requires_data
@pytest.mark.parametrize(("name", "arguments", "shape", "dtype", "classes"), REAL)
def test_real_arrays(name, arguments, shape, dtype, classes):
    X, y = getattr(loaders, f"load_{name}")(*arguments, return_X_y=True)
    counts = count_classes(y)
    assert (X.shape, X.dtype, y.shape) == (shape, dtype, shape[:1])
    assert (counts if isinstance(classes, dict) else len(counts)) == classes


@requires_data
def test_real_newsgroups():
    bunch = loaders.load_20news(categories=["rec."], headers=False)
    sizes = {"rec.autos": 990, "rec.motorcycles": 996, "rec.sport.baseball": 994, "rec.sport.hockey": 999}
    assert count_classes(bunch.target) == sizes
    assert len(bunch.data) == len(bunch.split) == 3979
    heads = [text.partition("\n\n")[0].split("\n") for text in bunch.data]
    assert all(len(head) == 2 for head in heads)


@requires_data
def test_real_web_pages():
    bunch = loaders.load_webkb()
    assert len(bunch.data) == 8282
    assert len(set(bunch.target)) == 7
    cornell = count_classes(bunch.target[bunch.university == "cornell"])
    assert (cornell["student"], cornell["department"], sum(cornell.values())) == (128, 1, 867)


@requires_data
def test_real_newswire():
    bunch = loaders.load_reuters()
    assert len(bunch.data) == 21578
    assert len({topic for topics in bunch.topics for topic in topics}) == 120
    assert_array_equal(bunch.target != "", [len(topics) == 1 for topics in bunch.topics])
    mod_apte = bunch.topics_flag == "YES"
    assert [(mod_apte & (bunch.lewissplit == part)).sum() for part in ("TRAIN", "TEST")] == [9603, 3299]
    assert (bunch.target != "").sum() == 9494
