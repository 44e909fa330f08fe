"""Files with changed bytes: a result, or one line that says what is wrong; never a traceback or an unexpected error.

Exit codes: 0 is a result, 2 is data that cannot be used; 1 would be an error that nobody thought of.
"""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from _counts import tried
from widegap.cli._main import main

TEXTS = ["flour and yeast bread", "bread with yeast", "flour bread", "late goal match", "match goal", "goal late"]


def rows():
    rng = np.random.default_rng(0)
    return np.round(np.vstack([rng.normal(size=(10, 3)), 8 + rng.normal(size=(10, 3))]), 3)


def csv_file(path):
    lines = ["a,b,c", *(",".join(map(str, row)) for row in rows())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def parquet_file(path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame(rows(), columns=["a", "b", "c"]).to_parquet(path)


def svm_file(path):
    lines = ["0 " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row)) for row in rows()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def picture_file(path):
    pixels = np.random.default_rng(0).integers(0, 255, (12, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def jsonl_file(path):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")


CLUSTER = ["cluster", "{}", "-k", "2", "--method", "cpm3c"]
KINDS = {
    "t.csv": (csv_file, CLUSTER),
    "t.parquet": (parquet_file, CLUSTER),
    "t.npy": (lambda path: np.save(path, rows()), CLUSTER),
    "t.npz": (lambda path: np.savez(path, X=rows()), CLUSTER),
    "csr.npz": (lambda path: sp.save_npz(path, sp.csr_array(rows())), CLUSTER),
    "t.svm": (svm_file, CLUSTER),
    "t.png": (picture_file, ["segment", "{}", "-k", "2", "-o", "out.png"]),
    "t.jsonl": (jsonl_file, ["documents", "{}", "-k", "2"]),
}


def mutated(content, rng):
    """Some bytes set, cut out, doubled or moved; or the end cut off."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        start = int(rng.integers(len(content) or 1))
        stop = start + int(rng.integers(1, 12))
        kind = int(rng.integers(5))
        if kind == 0:
            content[start : start + 1] = bytes([int(rng.integers(256))])
        elif kind == 1:
            del content[start:stop]
        elif kind == 2:
            content[start:start] = content[start:stop]
        elif kind == 3:
            content[start:start] = rng.choice([b"\0", b"nan", b"1e999", b'"', b"\n", b"-", b"\xff\xfe", b"9" * 30])
        elif rng.random() < 0.3:
            del content[start:]
    return bytes(content)


def try_mutants(name, count, seed, folder, capsys, monkeypatch):
    write, call = KINDS[name]
    monkeypatch.chdir(folder)
    path = folder / name
    write(path)
    whole, rng = path.read_bytes(), np.random.default_rng(seed)
    arguments = [part.format(name) for part in call]
    assert main(arguments) == 0, capsys.readouterr().err
    codes = []
    for i in range(count):
        path.write_bytes(mutated(whole, rng))
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            codes.append(main(arguments))
        said = capsys.readouterr()
        assert codes[-1] in (0, 2), (name, seed, i, said.err)
        if codes[-1] == 2:
            assert said.err.splitlines()[-1].startswith("error: "), (i, said.err)
            assert "Traceback" not in said.err
    assert 2 in codes
    tried("changed input files", count)


@pytest.mark.parametrize("name", KINDS)
def test_changed_files(name, tmp_path, capsys, monkeypatch):
    try_mutants(name, 15, 0, tmp_path, capsys, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_changed_files(name, tmp_path, capsys, monkeypatch):
    try_mutants(name, 250, 1, tmp_path, capsys, monkeypatch)
