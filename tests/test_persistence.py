"""Model files: what goes in comes out, and what comes from elsewhere cannot do harm."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

import widegap
from widegap import CPM3C, IterSVR, MaxMarginClustering, persistence
from widegap.exceptions import InvalidDataError, NotSupportedError

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
    assert found.history_ == estimator.history_


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
    with pytest.raises(NotSupportedError, match="dict has no model file"):
        persistence.save({}, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def parts(wine, tmp_path_factory):
    """The parts of a good model file by name."""
    path = tmp_path_factory.mktemp("model") / "m"
    persistence.save(MaxMarginClustering(3, random_state=0).fit(wine), path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forge(tmp_path, parts, **changed):
    path = tmp_path / "forged"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**parts, **changed}.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def edited(parts, change):
    document = json.loads(parts["model.json"])
    change(document)
    return json.dumps(document)


def array_bytes(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


class Boom:
    """Raises when a pickle that holds it is opened."""

    def __reduce__(self):
        return (_explode, ())


def _explode():
    raise AssertionError("code from a model file was run")


def part_of(parts, attribute):
    return f"{json.loads(parts['model.json'])['model']['state'][attribute]['part']}.npy"


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
        lambda d: d["model"].pop("state"),
        lambda d: d["model"]["state"].update(x={"no": "kind"}),
    ],
)
def test_forged_trees_are_refused(change, parts, tmp_path):
    path = forge(tmp_path, parts, **{"model.json": edited(parts, change)})
    with pytest.raises(InvalidDataError, match="is no model file of widegap, or a damaged one"):
        persistence.load(path)


def test_pickles_are_not_opened(parts, tmp_path):
    name = part_of(parts, "coef_")
    for content in (pickle.dumps(Boom()), array_bytes(np.array([Boom()]), allow_pickle=True)):
        with pytest.raises(InvalidDataError, match="damaged"):
            persistence.load(forge(tmp_path, parts, **{name: content}))
    (tmp_path / "p").write_bytes(pickle.dumps(Boom()))
    with pytest.raises(InvalidDataError, match="damaged"):
        persistence.load(tmp_path / "p")


def test_an_array_that_claims_to_be_huge_is_refused_unread(parts, tmp_path):
    name = part_of(parts, "coef_")
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 8)})
    with pytest.raises(InvalidDataError, match="claims shape"):
        persistence.load(forge(tmp_path, parts, **{name: buffer.getvalue()}))


def test_weights_of_another_shape_are_refused(parts, tmp_path):
    for attribute in ("coef_", "_mean", "_mean_scores"):
        path = forge(tmp_path, parts, **{part_of(parts, attribute): array_bytes(np.zeros((3, 2)))})
        with pytest.raises(InvalidDataError, match="weights do not fit each other"):
            persistence.load(path)


def test_indices_out_of_bounds_are_refused(tmp_path):
    X = words(40)
    persistence.save(MaxMarginClustering(3, random_state=0).fit(X), tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    state = json.loads(parts["model.json"])["model"]["state"]["kernel_map_"]["state"]
    name = f"{state['landmarks']['parts'][1]['part']}.npy"
    indices = np.load(io.BytesIO(parts[name]))
    indices[0] = 10**6
    with pytest.raises(InvalidDataError, match="damaged"):
        persistence.load(forge(tmp_path, parts, **{name: array_bytes(indices)}))


def test_bombs_are_refused_before_they_unpack(parts, tmp_path):
    path = forge(tmp_path, parts, **{"bomb": b"\0" * (1 << 22)})
    with pytest.raises(InvalidDataError, match="more than the limit of 1,048,576 bytes"):
        persistence.load(path, max_bytes=1 << 20)


def test_the_limit_that_is_exceeded_is_named(parts, tmp_path, monkeypatch):
    path = forge(tmp_path, parts)
    monkeypatch.setattr(persistence, "MAX_PARTS", 1)
    with pytest.raises(InvalidDataError, match=r"holds \d+ parts, more than the 1 that") as caught:
        persistence.load(path)
    assert "max_bytes" not in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setattr(persistence, "MAX_JSON_BYTES", 10)
    with pytest.raises(InvalidDataError, match="bytes of JSON, more than the 10 that"):
        persistence.load(path)


@pytest.mark.parametrize("attribute", ["coef_", "intercept_"])
def test_weights_that_are_no_numbers_are_the_models_fault(attribute, wine, tmp_path):
    model = CPM3C(2, random_state=0).fit(wine)
    getattr(model, attribute).flat[0] = np.nan
    persistence.save(model, tmp_path / "m")
    with pytest.raises(InvalidDataError, match="its weights are not all finite numbers"):
        persistence.load(tmp_path / "m")


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
    with pytest.raises(InvalidDataError, match="is no ordinary file; only files can be replaced"):
        persistence.save(model, tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all"])
def test_files_that_are_no_archives(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(InvalidDataError, match="is no model file"):
        persistence.load(tmp_path / "m")


def test_deep_nesting_is_refused(parts, tmp_path):
    deep = '{"format": "widegap.model/1", "model": ' + "[" * 100_000 + "]" * 100_000 + "}"
    with pytest.raises(InvalidDataError, match="is no model file"):
        persistence.load(forge(tmp_path, parts, **{"model.json": deep}))


def test_a_failed_save_keeps_the_old_file(wine, tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        persistence.save(CPM3C(2, random_state=0).fit(wine), path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]
