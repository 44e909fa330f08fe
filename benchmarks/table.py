"""Tables: files read, and read and encoded, against pandas reading them; the encoding of a wide one in seconds."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._measure import Row, best_cpu_times
from widegap import TableEncoder
from widegap.tables import read_table

LONG = 1_000_000
WIDE = (600, 5000)
# In a process of its own, after all imports: by how much the largest memory grows, as Linux counts it, in kB. A process
# begins with the ru_maxrss of the one that started it, but with a VmHWM of its own.
MEMORY = """
import re, sys
from pathlib import Path
import numpy, pandas, pyarrow.csv, pyarrow.compute
from widegap import TableEncoder
from widegap.tables import read_table
def largest():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
TableEncoder().fit_transform(pandas.DataFrame({"a": [1.5, 2.5, 3.0], "b": ["x", "y", "x"]}))
before = largest()
TableEncoder().fit_transform(read_table(Path(sys.argv[1])).rows)
print(1024 * (largest() - before))
"""


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for name, frame, target in (("numbers", _numbers(), 2.0), ("customers", _customers(), 4.0)):
            frame.to_csv(path, index=False)
            yield from _against_pandas(f"{LONG:,} rows of {name} ({frame.shape[1]} columns)", path, target)
        rng = np.random.default_rng(0)
        pd.DataFrame(rng.normal(size=WIDE).round(4)).add_prefix("c").to_csv(path, index=False)
        yield from _against_pandas("{} x {} numbers".format(*WIDE), path, 2.0)
        table = read_table(path)
        (seconds,) = best_cpu_times(lambda: TableEncoder().fit_transform(table.rows), repeats=3)
        yield Row("{} x {} cells encoded, processor seconds".format(*WIDE), seconds, 3.0)


def _against_pandas(name: str, path: Path, target: float) -> Iterator[Row]:
    """Reading leaves cells as texts, where pandas makes numbers of some; encoding makes numbers of all columns."""

    def both() -> Any:
        return TableEncoder().fit_transform(read_table(path).rows)

    reading, whole, theirs = best_cpu_times(lambda: read_table(path), both, lambda: pd.read_csv(path), repeats=3)
    detail = f"{reading:.2f} s; pandas.read_csv {theirs:.2f} s"
    yield Row(f"{name}: read, against pandas.read_csv", reading / theirs, 1.3, detail)
    detail = f"{whole:.2f} s, of which encoding {whole - reading:.2f} s"
    yield Row(f"{name}: read and encoded, against pandas.read_csv", whole / theirs, target, detail)
    size = path.stat().st_size
    added = int(subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, check=True).stdout)
    yield Row(f"{name}: memory to read and encode, against the file", added / size, 3.0, f"file {size / 1e6:.0f} MB")


def _numbers() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(LONG, 10)).round(3)).add_prefix("c")


def _customers() -> pd.DataFrame:
    """Columns as customer files have them: an id, money, whole numbers with gaps, dates, words."""
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, LONG), "D")
    visits = rng.poisson(5, LONG).astype(object)
    visits[rng.random(LONG) < 0.02] = "n/a"
    return pd.DataFrame(
        {
            "customer_id": rng.permutation(LONG) + 10_000,
            "income": [f"€{value:,.2f}" for value in rng.normal(40_000, 9_000, LONG)],
            "visits": visits,
            "age": rng.integers(18, 90, LONG),
            "signup": days.strftime("%Y-%m-%d"),
            "member": rng.choice(["yes", "no"], LONG),
            "city": rng.choice(["Berlin", "Hamburg", "Munich", "Cologne"], LONG),
        }
    )
