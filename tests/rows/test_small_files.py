"""Small files that ask for much memory are refused with the number, before the memory is taken."""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory by RLIMIT_AS of Linux")
LIMIT = 3 << 30  # bytes of address space: the interpreter with all libraries takes about 2 of them

RUN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from widegap.cli._main import main
codes = [main(["cluster", *arguments.split(), "--quiet"]) for arguments in sys.argv[1:]]
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(codes, int(peak.split()[1]) // 1024)
"""


def header(*shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(64)


def zipped(path, **parts):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(f"{name}.npy", content)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.svm").write_text("1 2000000000:2\n2 1:1\n1 5:2\n")
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(60, 3)), delimiter=",", header="a,b,c")
    (tmp_path / "long.npy").write_bytes(header(1 << 40, 8))
    (tmp_path / "negative.npy").write_bytes(header(-4, 8))
    zipped(tmp_path / "long.npz", X=header(1 << 28, 8))
    wide = sp.csr_array((np.ones(3), np.array([5, 1999999999, 1]), np.arange(4)), shape=(3, 2_000_000_000))
    sp.save_npz(tmp_path / "wide.npz", wide)
    return tmp_path


CASES = {
    "a.svm -k 2": "has 2,000,000,000 columns, but only 3 entries",
    "t.csv -k 2..1000000000": "-k 1000000000 asks for more clusters than there are rows (60)",
    "t.csv -k 1000000000": "-k 1000000000 asks for more clusters than there are rows (60)",
    "long.npy -k 2": "mmap length is greater than file size",
    "negative.npy -k 2": "memory mapped length must be positive",
    "long.npz -k 2": "declares shape (268435456, 8) of float64 in 192 bytes",
    "wide.npz -k 2": "has 2,000,000,000 columns, but only 3 entries",
}


def test_memory_is_bounded_by_what_a_file_holds(folder):
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(limit=LIMIT), *CASES], cwd=folder, capture_output=True, text=True, timeout=120
    )
    lines = done.stderr.splitlines()
    assert len(lines) == len(CASES), done.stderr
    for line, expected in zip(lines, CASES.values(), strict=True):
        assert line.startswith("error: ")
        assert expected in line
    codes, megabytes = done.stdout.rsplit(maxsplit=1)
    assert codes == str([2] * len(CASES))
    assert int(megabytes) < 600  # imports alone take 330


def test_parquet_that_claims_many_rows(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    from widegap.exceptions import InvalidDataError
    from widegap.rows import _columnar, shards

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0]}), path)
    monkeypatch.setattr(_columnar._Parquet, "lengths", lambda self: [10**12])
    with pytest.raises(InvalidDataError, match=r"declares 1,000,000,000,000 rows in \d+ bytes, so it is damaged"):
        shards([path])


def test_hashed_terms_are_wide_and_welcome(tmp_path):
    from widegap.rows import shards

    X = sp.csr_array((np.ones(2), np.array([5, (1 << 20) - 1]), np.arange(3)), shape=(2, 1 << 20))
    sp.save_npz(tmp_path / "hashed.npz", X)
    assert shards([tmp_path / "hashed.npz"]).shape == X.shape
