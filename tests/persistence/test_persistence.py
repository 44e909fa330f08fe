"""Model files: what goes in comes out, and what comes from elsewhere cannot do harm."""

import io
import os
import pickle
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from types import GenericAlias, SimpleNamespace
from typing import TypeVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import widegap
from tests._model_files import array_bytes, edited, forge, part_of, saved_parts, state_of
from widegap import CPM3C, IterSVR, MaxMarginClustering, persistence
from widegap._nesting import nesting
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.persistence import _archive
from widegap.persistence._declared_types import fits

ESTIMATORS = [
    MaxMarginClustering(3, random_state=0),
    MaxMarginClustering(1),
    CPM3C(3, random_state=0),
    CPM3C(2, kernel="rbf", random_state=0),
    IterSVR(3, random_state=0),
    IterSVR(2, kernel="linear", random_state=0),
    widegap.MKC(3, random_state=0),
]


@pytest.fixture(scope="module")
def wine():
    return load_wine().data


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_model_comes_back_as_it_was(estimator, wine, tmp_path):
    estimator.fit(wine)
    persistence.save(estimator, tmp_path / "m", extra={"a": [1, "b"]})
    found, extra = persistence.load(tmp_path / "m")
    assert extra == {"a": [1, "b"]}
    assert type(found) is type(estimator)
    assert found.get_params() == estimator.get_params()
    np.testing.assert_array_equal(found.decision_function(wine), estimator.decision_function(wine))
    np.testing.assert_array_equal(found.labels_, estimator.labels_)
    untimed = [replace(record, seconds=0.0) for record in estimator.history_]  # the same run gives the same file
    assert found.history_ == untimed


def test_further_values_may_have_any_name(wine, tmp_path):
    extra = {"table": {"rows": 178}, "model": 1}
    persistence.save(CPM3C(2, n_init=1, random_state=0).fit(wine), tmp_path / "m", extra=extra)
    found, returned = persistence.load(tmp_path / "m")
    assert isinstance(found, CPM3C)
    assert returned == extra


def test_further_values_beside_an_encoder_may_have_any_name(wine, tmp_path):
    pipeline = make_pipeline(widegap.TableEncoder(), CPM3C(2, n_init=1, random_state=0)).fit(wine)
    persistence.save(pipeline, tmp_path / "m", extra={"table": "wine"})
    found, returned = persistence.load(tmp_path / "m")
    assert returned == {"table": "wine"}
    np.testing.assert_array_equal(found.predict(wine), pipeline.predict(wine))


def words(n):
    """Sparse rows with words of one of three vocabularies of ten."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 10, (n, 12)) + 10 * (np.arange(n) % 3)[:, None]
    return sparse.csr_array((np.ones(columns.size), (np.repeat(np.arange(n), 12), columns.ravel())), shape=(n, 30))


def test_sparse_landmarks_come_back(tmp_path):
    X = words(60)
    model = MaxMarginClustering(3, random_state=0).fit(X)
    persistence.save(model, tmp_path / "m")
    np.testing.assert_array_equal(persistence.load(tmp_path / "m")[0].predict(X), model.predict(X))


def test_documents_come_back(tmp_path):
    texts = ["flour and yeast bread", "bread with yeast", "flour bread", "late goal match", "match goal", "goal late"]
    model = widegap.DocumentClustering(2, random_state=0).fit(texts)
    persistence.save(model, tmp_path / "m")
    found, _ = persistence.load(tmp_path / "m")
    np.testing.assert_array_equal(found.predict(texts), model.predict(texts))
    assert found.top_terms(2) == model.top_terms(2)


def test_the_callback_and_the_threads_are_left_out(wine, tmp_path):
    model = CPM3C(2, random_state=0, n_jobs=2, callback=lambda record: None).fit(wine)
    persistence.save(model, tmp_path / "m")
    found, _ = persistence.load(tmp_path / "m")
    assert (found.callback, found.n_jobs) == (None, None)


def test_names_of_columns_come_back(wine, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(wine[:, :3], columns=["a", "b", "c"])
    persistence.save(CPM3C(2, random_state=0).fit(frame), tmp_path / "m")
    assert list(persistence.load(tmp_path / "m")[0].feature_names_in_) == ["a", "b", "c"]


def test_functions_and_foreign_classes_are_refused(wine, tmp_path):
    model = MaxMarginClustering(2, kernel=lambda X, Y: X @ Y.T, random_state=0).fit(wine)
    with pytest.raises(
        NotSupportedError, match="MaxMarginClustering.kernel is <function.* safe model file cannot hold"
    ):
        persistence.save(model, tmp_path / "m")
    with pytest.raises(NotSupportedError, match="dict cannot be saved to a model file"):
        persistence.save({}, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def parts(wine, tmp_path_factory):
    """The parts of a good model file by name."""
    path = tmp_path_factory.mktemp("model") / "m"
    return saved_parts(MaxMarginClustering(3, random_state=0).fit(wine), path)


class Boom:
    """Runs code when a pickle that holds it is opened."""

    def __reduce__(self):
        return (_explode, ())


RUN = []  # an error would be taken for that of a damaged file


def _explode():
    RUN.append("code from a model file")


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(format="other"),
        lambda d: d["model"].update({"$": "Popen"}),
        lambda d: d["model"].update({"$": "os.system"}),
        lambda d: d["model"].update({"$": "KernelMap"}),
        lambda d: d["model"]["state"].update(coef_={"$": "array", "part": 10**6}),
        lambda d: d["model"]["state"].update(coef_={"$": "array", "part": "../../etc/passwd"}),
        lambda d: d["model"]["state"].update(coef_="weights"),
        lambda d: d["model"]["state"].update(n_clusters_=7),
        lambda d: d["model"]["state"].update(n_features_in_=2),
        lambda d: d["model"]["state"].pop("n_clusters_"),
        lambda d: d["model"]["state"]["kernel_map_"]["state"].update(kernel="sigmoid"),
        lambda d: d["model"]["state"]["kernel_map_"]["state"]["params"]["items"].append(["n_jobs", 10**6]),
        lambda d: d["model"]["state"].pop("coef_"),
        lambda d: d["model"]["state"].pop("kernel_map_"),
        lambda d: d["model"]["state"].pop("_mean"),
        lambda d: d["model"]["state"].update(predict=5),
        lambda d: d["model"]["state"].update(labels_=[0, 1]),
        lambda d: d["model"]["state"].update(n_clusters_=True),
        lambda d: d["model"]["state"].update(n_clusters=-3),
        lambda d: d["model"]["state"].update(kernel="sigmoid"),
        lambda d: d["model"]["state"]["history_"].append(5),
        lambda d: d["model"]["state"]["history_"][0]["state"].update(seconds="long"),
        lambda d: d["model"]["state"]["history_"][0]["state"].pop("seconds"),
        lambda d: d["model"]["state"]["candidates_"][0]["state"].update(cut_per_bit="small"),
        lambda d: d["model"]["state"]["candidates_"][0]["state"].pop("chosen"),
        lambda d: d["model"]["state"].update(candidates_=["gaps"]),
        lambda d: d["model"]["state"]["history_"][0]["state"].update(pool=3),
        lambda d: d["model"]["state"]["kernel_map_"]["state"].pop("unit_rows"),
        lambda d: d["model"]["state"]["kernel_map_"]["state"].update(landmarks="rows"),
        lambda d: d["model"]["state"]["kernel_map_"]["state"]["params"]["items"][0].__setitem__(1, "wide"),
        lambda d: d["model"].pop("state"),
        lambda d: d["model"]["state"].update(x={"no": "kind"}),
    ],
)
def test_forged_trees_are_refused(change, parts, tmp_path):
    path = forge(tmp_path / "forged", parts, **{"model.json": edited(parts, change)})
    with pytest.raises(InvalidDataError, match="is not a model file of widegap, or is damaged"):
        persistence.load(path)


def test_pickles_are_not_opened(parts, tmp_path):
    name = part_of(parts, "coef_")
    for content in (pickle.dumps(Boom()), array_bytes(np.array([Boom()]), allow_pickle=True)):
        with pytest.raises(InvalidDataError, match="damaged"):
            persistence.load(forge(tmp_path / "forged", parts, **{name: content}))
    (tmp_path / "p").write_bytes(pickle.dumps(Boom()))
    with pytest.raises(InvalidDataError, match="damaged"):
        persistence.load(tmp_path / "p")
    assert not RUN


def test_an_array_that_claims_to_be_huge_is_refused_unread(parts, tmp_path):
    name = part_of(parts, "coef_")
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 8)})
    with pytest.raises(InvalidDataError, match="declares shape"):
        persistence.load(forge(tmp_path / "forged", parts, **{name: buffer.getvalue()}))


def test_weights_of_another_shape_are_refused(parts, tmp_path):
    for attribute in ("coef_", "_mean", "_mean_scores"):
        path = forge(tmp_path / "forged", parts, **{part_of(parts, attribute): array_bytes(np.zeros((3, 2)))})
        with pytest.raises(InvalidDataError, match="does not fit coef_, whose shape|has other features than the 2 of"):
            persistence.load(path)


def test_indices_out_of_bounds_are_refused(tmp_path):
    X = words(40)
    parts = saved_parts(MaxMarginClustering(3, random_state=0).fit(X), tmp_path / "m")
    state = state_of(parts)["kernel_map_"]["state"]
    name = f"{state['landmarks']['parts'][1]['part']}.npy"
    indices = np.load(io.BytesIO(parts[name]))
    indices[0] = 10**6
    with pytest.raises(InvalidDataError, match="damaged"):
        persistence.load(forge(tmp_path / "forged", parts, **{name: array_bytes(indices)}))


def test_bombs_are_refused_before_they_unpack(parts, tmp_path):
    path = forge(tmp_path / "forged", parts, **{"bomb": b"\0" * (1 << 22)})
    with pytest.raises(InvalidDataError, match="but the limit is 1,048,576"):
        persistence.load(path, max_bytes=1 << 20)


def test_the_limit_that_is_exceeded_is_named(parts, tmp_path, monkeypatch):
    path = forge(tmp_path / "forged", parts)
    monkeypatch.setattr(_archive, "MAX_PARTS", 1)
    with pytest.raises(InvalidDataError, match=r"holds \d+ parts, but a model file may have 1 at most") as caught:
        persistence.load(path)
    assert "max_bytes" not in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setattr(_archive, "MAX_JSON_BYTES", 10)
    with pytest.raises(InvalidDataError, match="bytes of JSON, but a model file may have 10 at most"):
        persistence.load(path)


@pytest.mark.parametrize("attribute", ["coef_", "intercept_"])
def test_weights_that_are_no_numbers_are_the_models_fault(attribute, wine, tmp_path):
    model = CPM3C(2, random_state=0).fit(wine)
    getattr(model, attribute).flat[0] = np.nan
    persistence.save(model, tmp_path / "m")
    with pytest.raises(InvalidDataError, match=f"{attribute} is not all finite numbers"):
        persistence.load(tmp_path / "m")


@pytest.mark.skipif(sys.platform == "win32", reason="modes of Unix")
def test_a_new_file_has_the_mode_of_any_new_file(wine, tmp_path, monkeypatch):
    def refuse(mask):
        raise AssertionError("the umask is one for all threads")

    former = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", refuse)
            persistence.save(CPM3C(2, random_state=0).fit(wine), tmp_path / "m.widegap")
    finally:
        os.umask(former)
    assert oct((tmp_path / "m.widegap").stat().st_mode & 0o777) == "0o640"
    assert os.listdir(tmp_path) == ["m.widegap"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and pipes of Unix")
def test_links_are_followed_and_modes_kept(wine, tmp_path):
    model = CPM3C(2, random_state=0).fit(wine)
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_bytes(b"old")
    there.chmod(0o600)
    link.symlink_to(there)
    persistence.save(model, link)
    assert link.is_symlink()
    assert there.stat().st_mode & 0o777 == 0o600
    persistence.load(there)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidDataError, match="is not an ordinary file and cannot be replaced"):
        persistence.save(model, tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all"])
def test_files_that_are_no_archives(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(InvalidDataError, match="is not a model file"):
        persistence.load(tmp_path / "m")


def test_deep_nesting_is_refused(parts, tmp_path):
    limit = sys.getrecursionlimit()
    deep = '{"format": "widegap.model/2", "\\"": "]]]", "model": ' + "[" * 100_000 + "]" * 100_000 + "}"
    sys.setrecursionlimit(10**6)  # where the parser itself would overflow the stack
    try:
        with pytest.raises(InvalidDataError, match="its JSON is nested more than 100 deep"):
            persistence.load(forge(tmp_path / "forged", parts, **{"model.json": deep}))
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("end", ["", "\\", '"', '"}', "\\\n"])
def test_strings_without_an_end_take_no_more_time_than_others(parts, tmp_path, end):
    # 1,000,000 quotes, each of which could be the beginning of a string: a search from each would take hours.
    text = '{"format": "widegap.model/2", "model": "' + '\\"' * 1_000_000 + end
    with pytest.raises(InvalidDataError, match="is damaged"):
        persistence.load(forge(tmp_path / "forged", parts, **{"model.json": text}))


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0),
        ("1", 0),
        ('"[["', 0),
        ("[]", 1),
        ('{"a": [[]], "b": {}}', 3),
        ('["\\"[[[", []]', 2),
        ('["\\\\", [[]]]', 3),
    ],
)
def test_brackets_in_strings_are_no_levels(text, depth):
    assert nesting(text) == depth


def test_a_failed_save_keeps_the_old_file(wine, tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        persistence.save(CPM3C(2, random_state=0).fit(wine), path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_a_part_is_used_once(parts, tmp_path):
    """Four hundred references to one array would be read four hundred times."""

    def twice(document):
        document["model"]["state"]["intercept_"] = document["model"]["state"]["coef_"]

    with pytest.raises(InvalidDataError, match=r"it has no part \d+\.npy, or uses it twice"):
        persistence.load(forge(tmp_path / "forged", parts, **{"model.json": edited(parts, twice)}))


def test_json_counts_with_the_memory_that_it_takes(parts, tmp_path):
    def padded(document):
        document["extra"] = {"": [{"a": []}] * 100_000}

    path = forge(tmp_path / "forged", parts, **{"model.json": edited(parts, padded)})
    limit = 30 << 20
    tracemalloc.start()
    with pytest.raises(InvalidDataError, match=r"could take [\d,]+ bytes of memory, but the limit is 31,457,280"):
        persistence.load(path, max_bytes=limit)
    assert tracemalloc.get_traced_memory()[1] < limit / 10  # it was not parsed
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    persistence.load(path)
    taken = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert taken < _archive.JSON_COST * len(edited(parts, padded))


def test_what_could_not_be_read_again_is_not_written(wine, tmp_path, monkeypatch):
    model = CPM3C(2, random_state=0).fit(wine)
    monkeypatch.setattr(_archive, "MAX_JSON_BYTES", 100)
    with pytest.raises(NotSupportedError, match="bytes of JSON, but a model file may have 100 at most"):
        persistence.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), \n" + b" " * 60,
        b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 70_000,
        b"\x93NUMPY\x07\x00v\x00{}",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<M8[s]', 'fortran_order': False, 'shape': (0,), }".ljust(127) + b"\n",
        b"",
    ],
)
def test_headers_of_arrays_that_are_nonsense(content, parts, tmp_path):
    path = forge(tmp_path / "forged", parts, **{part_of(parts, "coef_"): content})
    with pytest.raises(InvalidDataError, match="is not a model file of widegap, or is damaged"):
        persistence.load(path)


def test_a_projection_of_another_rank(parts, tmp_path):
    name = f"{state_of(parts)['kernel_map_']['state']['projection']['part']}.npy"
    with pytest.raises(InvalidDataError, match="its projection does not fit its landmarks"):
        persistence.load(forge(tmp_path / "forged", parts, **{name: array_bytes(np.zeros(4))}))


def test_parts_that_were_changed_by_accident(parts, tmp_path):
    name = part_of(parts, "coef_")
    with zipfile.ZipFile(forge(tmp_path / "good", parts)) as archive:
        checksums = archive.read("checksums.json")
    with zipfile.ZipFile(tmp_path / "bad", "w") as archive:
        for entry, content in {**parts, name: parts[name][:-1] + b"!", "checksums.json": checksums}.items():
            archive.writestr(entry, content)
    with pytest.raises(InvalidDataError, match=f"the checksum of {name} is wrong"):
        persistence.load(tmp_path / "bad")


@pytest.mark.parametrize(
    "head", [{"format": "widegap.model/3"}, {"version": "99.1", "model": {"$": "Unheard", "state": {}}}]
)
def test_files_of_a_newer_version_say_so(head, parts, tmp_path):
    path = forge(tmp_path / "forged", parts, **{"model.json": edited(parts, lambda d: d.update(head))})
    with pytest.raises(InvalidDataError, match=r"was made by a newer version of widegap \(.*pip install --upgrade"):
        persistence.load(path)


def test_files_of_the_first_format_are_told_apart(parts, tmp_path):
    path = forge(
        tmp_path / "forged", parts, **{"model.json": edited(parts, lambda d: d.update(format="widegap.model/1"))}
    )
    with pytest.raises(InvalidDataError, match=r"its format is 'widegap\.model/1'.*save the model again"):
        persistence.load(path)


DOCUMENTS = ["flour and yeast bread", "bread with yeast", "flour bread", "late goal match", "match goal", "goal late"]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("topics_", {"$": "names", "items": ["bread", "goals"]}),
        ("topics_", {"$": "names", "items": ["bread"]}),
        ("n_clusters_", 5),
        ("coef_", None),
        ("_reader", None),
        ("term_weights_", 3),
    ],
)
def test_topics_that_do_not_fit(attribute, value, tmp_path):
    parts = saved_parts(widegap.DocumentClustering(2, random_state=0).fit(DOCUMENTS), tmp_path / "m")

    def change(document):
        document["model"]["state"][attribute] = value
        if value is None:
            del document["model"]["state"][attribute]

    with pytest.raises(InvalidDataError, match="is not a model file of widegap, or is damaged"):
        persistence.load(forge(tmp_path / "forged", parts, **{"model.json": edited(parts, change)}))


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v["_column"]["items"].pop(),
        lambda v: v["_column"]["items"][0].__setitem__(1, 10**9),
        lambda v: v.update(stemmer="none"),
        lambda v: v["terms"]["items"].pop(),
    ],
)
def test_vocabularies_that_do_not_fit(change, tmp_path):
    parts = saved_parts(widegap.DocumentClustering(2, random_state=0).fit(DOCUMENTS), tmp_path / "m")
    text = edited(parts, lambda d: change(d["model"]["state"]["_reader"]["state"]["vocabulary"]["state"]))
    with pytest.raises(InvalidDataError, match="is not a model file of widegap, or is damaged"):
        persistence.load(forge(tmp_path / "forged", parts, **{"model.json": text}))


def test_models_that_are_not_fitted_have_no_file(tmp_path):
    with pytest.raises(NotFittedError):
        persistence.save(CPM3C(2), tmp_path / "m")


def test_views_and_precomputed_kernels_come_back(wine, tmp_path):
    views = {"a": wine[:, :4] / wine[:, :4].std(axis=0), "b": wine[:, 4:12] / wine[:, 4:12].std(axis=0)}
    model = widegap.MKC(2, kernels=[("x", "rbf", "a"), ("y", "rbf", "b")], random_state=0).fit(views)
    persistence.save(model, tmp_path / "m")
    np.testing.assert_array_equal(persistence.load(tmp_path / "m")[0].predict(views), model.predict(views))
    K = views["b"] @ views["b"].T
    model = MaxMarginClustering(3, kernel="precomputed", random_state=0).fit(K)
    persistence.save(model, tmp_path / "m")
    np.testing.assert_array_equal(persistence.load(tmp_path / "m")[0].predict(K), model.predict(K))


def test_types_behind_aliases_of_python_312():
    item = TypeVar("item")
    alias = SimpleNamespace(__value__=list[item])  # stands in for: type alias[item] = list[item]
    kind = GenericAlias(alias, (int,))
    assert fits([1, 2], kind)
    assert not fits(["a"], kind)
    assert fits({"a": [1]}, SimpleNamespace(__value__=dict[str, kind]))


@pytest.mark.parametrize("number", [int, np.int64])
def test_columns_named_by_slices_are_stored(tmp_path, number):
    X = np.hstack([np.random.default_rng(0).normal(size=(40, 2)), np.eye(2)[np.arange(40) % 2]])
    model = MaxMarginClustering(2, search="merge", columns=[slice(number(2), number(4))], random_state=0).fit(X)
    persistence.save(model, tmp_path / "model.widegap")
    found = persistence.load(tmp_path / "model.widegap")[0]
    assert found.columns == [slice(2, 4)]
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
