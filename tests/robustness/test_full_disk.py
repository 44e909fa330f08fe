"""A disk that is really full: a file is whole, or the old one stays, and the error says why; nothing else is left.

A small file system in memory is mounted and filled, which takes the rights of the superuser; elsewhere
``test_interrupted_writes.py`` lets a limit on the size of files stand in for it.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from _counts import tried
from widegap import CPM3C, persistence
from widegap.cli._main import main
from widegap.explorer import Workspace

Image = pytest.importorskip("PIL.Image", reason="needs the extra cli")

PAGE = 4096  # what such a disk gives out at a time
ROOMS = [0, 1, 2, 4, 8, 64]  # pages that are left
X = np.random.default_rng(0).normal(size=(400, 3)) + 9 * (np.arange(400) % 2)[:, None]
OLD = "the old content"


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    if not sys.platform.startswith("linux") or os.geteuid():
        pytest.skip("only the superuser of Linux may mount a small disk")
    place = tmp_path_factory.mktemp("disk")
    command = ["mount", "-t", "tmpfs", "-o", f"size={64 * PAGE},mode=700", "tmpfs", str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def disk(mounted):
    yield mounted
    for path in mounted.iterdir():
        path.unlink()


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A table and a picture on another disk."""
    folder = tmp_path_factory.mktemp("sources")
    np.savetxt(folder / "t.csv", X, delimiter=",", header="x,y,z", comments="")
    pixels = np.random.default_rng(1).integers(0, 40, (60, 80, 3)) + 150 * (np.arange(80) > 30)[None, :, None]
    Image.fromarray(pixels.astype(np.uint8)).save(folder / "p.png")
    cluster = ["cluster", str(folder / "t.csv"), "-k", "2", "--method", "cpm3c", "--quiet"]
    assert main([*cluster, "--model", str(folder / "m.widegap")]) == 0
    return folder


def fill(disk, pages):
    """Leave so many pages."""
    with open(disk / "filler", "wb", buffering=0) as file:
        while (left := os.statvfs(disk).f_bavail - pages) > 0:
            file.write(bytes(left * PAGE))


def commands(sources, target):
    cluster = ["cluster", str(sources / "t.csv"), "-k", "2", "--method", "cpm3c", "--quiet"]
    return {
        "cluster -o": [*cluster, "-o", str(target)],
        "cluster --model": [*cluster, "--model", str(target)],
        "cluster --report": [*cluster, "--report", str(target)],
        "predict -o": ["predict", str(sources / "m.widegap"), str(sources / "t.csv"), "--quiet", "-o", str(target)],
        "update": ["update", str(sources / "m.widegap"), str(sources / "t.csv"), "--quiet", "--model", str(target)],
        "export": ["export", str(sources / "m.widegap"), "--quiet", "-o", str(target)],
        "segment -o": ["segment", str(sources / "p.png"), "-k", "2", "--quiet", "-o", str(target)],
    }


@pytest.mark.parametrize(
    ("name", "file"),
    [
        *(("cluster -o", "t.csv"), ("cluster --model", "m"), ("cluster --report", "r.html"), ("segment -o", "s.png")),
        *(("predict -o", f"t.{ending}") for ending in ("parquet", "xlsx", "jsonl")),
        *(("update", "m"), ("export", "e.py"), ("export", "e.sql"), ("export", "e.onnx")),
    ],
)
def test_commands_on_a_full_disk(name, file, disk, sources, capsys):
    call, target = commands(sources, disk / file)[name], disk / file
    assert main(call) == 0
    whole = {path.name: path.read_bytes() for path in disk.iterdir()}
    codes = []
    for pages in ROOMS:
        for path in disk.iterdir():
            path.unlink()
        for written in whole:
            (disk / written).write_text(OLD, encoding="utf-8")
        fill(disk, pages)
        capsys.readouterr()
        codes.append(main(call))
        check_files(disk, whole)
        told = capsys.readouterr().err
        if codes[-1]:
            assert codes[-1] == 2 and "no space left on the disk, it was not written; free some" in told
            assert told.startswith(f"error: {disk}") and told.count("\n") == 1
        else:
            assert target.read_bytes() != OLD.encode()
        tried("commands on a disk without room", 1)
    assert codes[0] == 2 and codes[-1] == 0  # both were seen


def check_files(disk, whole):
    """Every file is new and as long as it ought to be, or the old one; no temporary one is left."""
    (disk / "filler").unlink()
    for path in disk.iterdir():
        content = path.read_bytes()
        is_whole = abs(len(content) - len(whole[path.name])) <= 40  # times and rounded numbers differ in length
        assert is_whole or content == OLD.encode(), path


@pytest.mark.parametrize("pages", ROOMS)
def test_models_on_a_full_disk(pages, disk):
    model, target = CPM3C(2, random_state=0).fit(X), disk / "m.widegap"
    fill(disk, pages)
    try:
        persistence.save(model, target)
    except OSError as error:
        assert pages < 4 and "No space left" in str(error) and "m.widegap" in str(error)
        assert [path.name for path in disk.iterdir()] == ["filler"]
    else:
        assert pages > 0
        np.testing.assert_array_equal(persistence.load(target)[0].predict(X), model.labels_)
    tried("models saved on a disk without room", 1)


@pytest.mark.parametrize("pages", ROOMS)
def test_checkpoints_and_files_of_labels_on_a_full_disk(pages, disk):
    fill(disk, pages)
    model = CPM3C(2, random_state=0, checkpoint=disk / "fit", labels_out=disk / "labels.npy")
    try:
        model.fit(np.tile(X, (20, 1)))
    except OSError as error:
        assert pages < 64 and "No space left" in str(error)
        assert {path.name for path in disk.iterdir()} <= {"filler", "fit"}
        (disk / "filler").unlink()
        model.fit(np.tile(X, (20, 1)))  # goes on where the disk was full
    else:
        assert pages > 8
    np.testing.assert_array_equal(
        np.load(disk / "labels.npy"), CPM3C(2, random_state=0).fit_predict(np.tile(X, (20, 1)))
    )
    tried("fits on a disk without room", 1)


def test_a_session_on_a_full_disk_goes_on_in_memory(disk):
    model = CPM3C(2, random_state=0).fit(X)
    workspace = Workspace(model, X, session=disk / "s.jsonl")
    fill(disk, 0)
    for number in range(200):  # more than what is left of the page that the file has
        workspace.act("rename", {"cluster": number % 2, "name": f"name {number} " + 60 * "x"})
    assert "No space left" in workspace.autosave.trouble and "free some space" in workspace.autosave.trouble
    assert workspace.number == 200
    (disk / "filler").unlink()
    workspace.act("rename", {"cluster": 0, "name": "the last"})
    assert workspace.autosave.trouble is None
    workspace.close()
    again = Workspace(model, X, session=disk / "s.jsonl", resume=True)
    assert again.number == 201 and again.state == workspace.state
