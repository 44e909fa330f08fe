"""Rows set aside by CPM3C, M2DCU and MKC: which, what they change, who is told, and where it is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits

from tests.forest.test_max_margin_constraints import contaminated
from widegap import CPM3C, M2DCU, MKC, MaxMarginClustering, persistence
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.metrics import clustering_accuracy
from widegap.rows import shards

MODELS = [
    CPM3C(3, random_state=0),
    CPM3C(3, kernel="rbf", n_components=20, random_state=0),
    M2DCU(3, C_universum=0, random_state=0),
    MKC(3, kernels=["linear"], n_init=2, random_state=0),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=["CPM3C", "CPM3C-rbf", "M2DCU", "MKC"])


def with_strays(n=120, strays=6, seed=0):
    """Three groups, and rows all around them at the end."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 3
    around = rng.normal(size=(strays, 3))
    around *= 60 / np.linalg.norm(around, axis=1)[:, None]
    return groups, np.vstack([8 * np.eye(3)[groups] + rng.normal(size=(n, 3)), around])


def test_the_line_for_new_rows_is_that_of_distances_in_radii():
    groups, X = with_strays()
    model = CPM3C(3, outliers=6 / 126, random_state=0).fit(X)
    kept = model.labels_ >= 0
    centres = np.stack([X[model.labels_ == p].mean(axis=0) for p in range(3)])
    np.testing.assert_allclose(model._centres, centres)
    nearest = np.where(kept, model.labels_, model.predict(X))
    away = np.linalg.norm(X - centres[nearest], axis=1)
    radii = np.array([np.median(away[model.labels_ == p]) for p in range(3)])
    np.testing.assert_allclose(model._radii, radii)
    ratios = away / radii[nearest]
    assert kept.sum() == 120 and model.reject_beyond_ == pytest.approx(ratios[kept].max())
    np.testing.assert_array_equal(model.predict(X, reject=True), np.where(kept, nearest, -1))
    edge = centres[0] + np.array([0, 0, radii[0] * model.reject_beyond_])
    near, far = centres[0] + 0.999999 * (edge - centres[0]), centres[0] + 1.000001 * (edge - centres[0])
    assert model.predict([near, far]).tolist() == [0, 0]
    assert model.predict([near, far], reject=True).tolist() == [0, -1]


@each_model
@pytest.mark.parametrize("outliers", ["auto", 6 / 126])
def test_strays_have_no_cluster_and_no_influence(model, outliers):
    groups, X = with_strays()
    found = clone(model).set_params(outliers=outliers).fit(X)
    aside = found.labels_ < 0
    assert aside[-6:].all() and aside[:-6].mean() < 0.1
    alone = clone(model).fit(X[~aside])
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    np.testing.assert_array_equal(found.labels_[~aside], alone.labels_)
    assert clustering_accuracy(groups[~aside[:-6]], found.labels_[~aside]) > 0.95
    assert found.labels_.dtype == np.int32 and (found.predict(X) >= 0).all()
    rejected = found.predict(X, reject=True)
    assert (rejected[-6:] == -1).all() and (rejected[:-6] >= 0).mean() > 0.85  # measured: 0.9 and more
    np.testing.assert_array_equal(rejected[rejected >= 0], found.predict(X)[rejected >= 0])


def test_none_is_the_default_and_needs_nothing():
    _, X = with_strays()
    model = CPM3C(3, random_state=0).fit(X)
    assert (model.labels_ >= 0).all() and not hasattr(model, "reject_beyond_")
    with pytest.raises(
        NotSupportedError, match="needs a fit that looked for outliers; fit with outliers='auto' or a share"
    ):
        model.predict(X, reject=True)
    model.set_params(outliers="auto").fit(X).set_params(outliers=0).fit(X)
    with pytest.raises(
        NotSupportedError, match="needs a fit that looked for outliers"
    ):  # nothing is left of the other fit
        model.predict(X, reject=True)


def test_what_is_known_of_a_stray_keeps_it():
    _, X = with_strays()
    known = np.full(126, -1)
    known[[0, 120]] = 5
    model = CPM3C(3, outliers="auto", random_state=0).fit(X, known=known, must_link=[[1, 121]], cannot_link=[[2, 122]])
    z = model.labels_
    assert z[0] == z[120] == 0 and z[1] == z[121] >= 0 and z[2] != z[122] >= 0
    assert (z[123:] == -1).all() and model.classes_ == [5, None, None]


def test_sizes_count_the_rows_that_stay_and_weights_zero_are_absent():
    _, X = with_strays()
    model = CPM3C(3, outliers=6 / 126, size_min=40, size_max=40, random_state=0).fit(X)
    assert np.bincount(model.labels_[model.labels_ >= 0]).tolist() == [40, 40, 40]
    weights = np.ones(126)
    weights[:3] = 0
    model = CPM3C(3, outliers="auto", random_state=0).fit(X, sample_weight=weights, must_link=[[0, 3]])
    alone = CPM3C(3, outliers="auto", random_state=0).fit(X[3:])
    np.testing.assert_array_equal(model.labels_[3:], alone.labels_)
    assert model.labels_[0] == model.labels_[3] and (model.labels_[-6:] == -1).all()


@pytest.mark.parametrize("kind", ["uniform", "shuffled"])
@pytest.mark.parametrize("outliers", ["auto", 0.1])
def test_noise_among_digits_is_set_aside(kind, outliers):
    X, y = load_digits(return_X_y=True)
    mixed, order = contaminated(X, kind)
    is_noise = order >= len(X)
    models = [CPM3C(10, random_state=seed, outliers=outliers).fit(mixed) for seed in range(3)]
    model, out = models[0], models[0].labels_ < 0
    assert out[is_noise].mean() > 0.85 and is_noise[out].mean() > 0.85  # measured: 0.91 and more
    clean = np.mean([clustering_accuracy(y, CPM3C(10, random_state=seed).fit(X).labels_) for seed in range(3)])
    found = [clustering_accuracy(y[order[~is_noise]], model.labels_[~is_noise]) for model in models]
    assert np.mean(found) > clean - 0.02  # measured: 0.007 at most, 0.023 of a single seed
    rejected = model.predict(mixed, reject=True) < 0
    assert rejected[is_noise].mean() > 0.8 and rejected[~is_noise].mean() < 0.2  # measured: 0.91, and 0.13 at most


def test_more_rows_than_are_looked_at(monkeypatch):
    _, X = with_strays(900, 30)
    whole = CPM3C(3, outliers="auto", random_state=0).fit(X).labels_ < 0
    monkeypatch.setattr("widegap.constraints._rejection.COMPARED_WITH", 300)
    aside = CPM3C(3, outliers="auto", random_state=0).fit(X).labels_ < 0
    assert aside[-30:].all() and np.mean(aside == whole) > 0.95
    share = CPM3C(3, outliers=30 / 930, random_state=0).fit(X).labels_ < 0
    assert share[-30:].mean() > 0.8 and share[:-30].mean() < 0.05


def test_sparse_rows_frames_and_files_of_labels(tmp_path):
    _, X = with_strays()
    X = np.where(np.abs(X) < 1, 0, X)
    dense = CPM3C(3, outliers="auto", random_state=0).fit(X)
    sparse = CPM3C(3, outliers="auto", random_state=0).fit(sp.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_array_equal(dense.predict(X, reject=True), sparse.predict(sp.csr_array(X), reject=True))
    written = CPM3C(3, outliers="auto", labels_out=tmp_path / "z.npy", random_state=0).fit(X)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), dense.labels_)
    assert isinstance(written.labels_, np.memmap)


@each_model
def test_model_files_know_whom_to_reject(model, tmp_path):
    _, X = with_strays()
    model = clone(model).set_params(outliers="auto").fit(X)
    persistence.save(model, tmp_path / "m.widegap")
    loaded, _ = persistence.load(tmp_path / "m.widegap")
    np.testing.assert_array_equal(loaded.predict(X, reject=True), model.predict(X, reject=True))
    np.testing.assert_array_equal(loaded.labels_, model.labels_)


@pytest.mark.parametrize(("name", "value"), [("_centres", np.zeros((3, 2))), ("_radii", np.full(3, np.nan))])
def test_damaged_model_files_are_refused(name, value, tmp_path):
    model = CPM3C(3, outliers="auto", random_state=0).fit(with_strays()[1])
    setattr(model, name, value)
    persistence.save(model, tmp_path / "m.widegap")
    with pytest.raises(InvalidDataError, match="damaged|does not fit"):
        persistence.load(tmp_path / "m.widegap")


def test_what_cannot_be_is_refused(tmp_path):
    _, X = with_strays()
    model = CPM3C(3, outliers="auto")
    np.save(tmp_path / "X.npy", X)
    files = shards([tmp_path / "X.npy"])
    with pytest.raises(NotSupportedError, match=r"one table in memory; fit a sample, .* predict\(X, reject=True\)"):
        model.fit(files)
    assert (clone(model).fit(X).predict(files, reject=True)[-6:] == -1).all()
    with pytest.raises(NotSupportedError, match="with starting labels is not possible.*set init='k-means'"):
        CPM3C(3, outliers=0.1, init=np.arange(126) % 3).fit(X)
    with pytest.raises(NotSupportedError, match="but X is several views"):
        MKC(3, kernels=[("a", "linear", "a")], outliers=0.1).fit({"a": X})
    with pytest.raises(NotSupportedError, match="but X is a kernel matrix"):
        MKC(3, kernels=["precomputed"], outliers=0.1).fit(X @ X.T)
    with pytest.raises(ValueError, match="outliers"):
        CPM3C(3, outliers=1.5).fit(X)


@pytest.mark.parametrize("cls", [CPM3C, MKC, MaxMarginClustering])
def test_a_share_that_leaves_fewer_rows_than_clusters_is_refused(cls):
    _, X = with_strays()
    with pytest.raises(
        InvalidDataError, match=r"outliers=0\.999 leaves \d of 126 rows.*n_clusters is 3; lower outliers"
    ):
        cls(3, outliers=0.999, random_state=0).fit(X)


def test_rows_of_dask_are_refused():
    da = pytest.importorskip("dask.array")
    _, X = with_strays()
    lazy = da.from_array(X, chunks=(63, 3))
    with pytest.raises(NotSupportedError, match="one table in memory; fit a sample"):
        CPM3C(3, outliers="auto").fit(lazy)
    model = CPM3C(3, outliers="auto", random_state=0).fit(X)
    with pytest.raises(NotSupportedError, match="call it for every chunk of X by X.map_blocks"):
        model.predict(lazy, reject=True)


@pytest.mark.parametrize("method", ["cpm3c", "mkc"])
def test_the_command_line_takes_it(method, tmp_path, capsys):
    _, X = with_strays()
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c", comments="")
    out = tmp_path / "o.csv"
    arguments = ["cluster", str(tmp_path / "t.csv"), "-k", "3", "--method", method, "--outliers", "auto"]
    assert main([*arguments, "--scale", "none", "-o", str(out), "--report", str(tmp_path / "r.html")]) == 0
    assert [line.split(",")[3] for line in out.read_text().splitlines()[-6:]] == ["-1"] * 6
    assert "in no cluster, marked -1" in " ".join(capsys.readouterr().out.split())
