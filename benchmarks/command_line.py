"""``widegap cluster`` with its report and its table, against the script that one would write instead.

The script reads the table with pandas, makes columns of 0 and 1 of words, scales all columns, runs KMeans(n_init=10)
and writes the rows with their clusters. It is told which columns are what, and writes no report. Both are fresh
processes that take turns; processor seconds count, as other programs share the machine.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from benchmarks._measure import Row

SIZES = (1_000, 100_000, 1_000_000)
REPEATS = {1_000: 3, 100_000: 2, 1_000_000: 1}  # runs of each, of which the least counts; long ones vary less
AUTO_SIZES = (2_000, 100_000)
SEGMENTS = 5  # groups of customers
TARGET = 2.0
CITIES = ("Berlin", "Hamburg", "Munich", "Cologne", "Frankfurt", "Stuttgart", "Leipzig", "Dresden")
PLANS = ("basic", "family", "premium")
SCRIPT = """
import sys
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

frame = pd.read_csv(sys.argv[1])
X = frame.drop(columns="customer_id")
X["signup"] = (pd.to_datetime(X["signup"]) - pd.Timestamp("2019-01-01")).dt.days
X = pd.get_dummies(X).astype(float)
X = X.fillna(X.median())
frame["cluster"] = KMeans(5, n_init=10, random_state=0).fit_predict(StandardScaler().fit_transform(X))
frame.to_csv(sys.argv[2], index=False)
"""


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "customers.csv"
        for n in SIZES:
            customers(n).to_csv(table, index=False)
            ours, theirs = _in_turn([_command(table, str(SEGMENTS)), _script(table)], REPEATS[n])
            detail = f"{ours[0]:.1f} s (wall {ours[1]:.1f} s); script {theirs[0]:.1f} s (wall {theirs[1]:.1f} s)"
            target = None if n < 100_000 else TARGET  # of 1,000 rows, mostly imports are measured
            yield Row(
                f"{n:,} customers, cluster -k 5 --report -o, against the script", ours[0] / theirs[0], target, detail
            )
        for n in AUTO_SIZES:
            customers(n).to_csv(table, index=False)
            auto, given = _in_turn([_command(table, "auto"), _command(table, str(SEGMENTS))], REPEATS.get(n, 2))
            yield Row(f"{n:,} customers, -k auto, against -k 5", auto[0] / given[0], TARGET, f"{auto[0]:.1f} s")


def customers(n: int) -> pd.DataFrame:
    """Columns as files of customers have them: an id, money, whole numbers with gaps, a date, words; five groups."""
    rng = np.random.default_rng(0)
    group = rng.choice(SEGMENTS, n, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    visits = rng.poisson(np.array([2, 12, 5, 25, 8])[group]).astype(float)
    visits[rng.random(n) < 0.02] = np.nan
    days = rng.integers(0, 500, n) + np.array([0, 900, 300, 600, 1100])[group]
    plans = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3], [0.05, 0.15, 0.8], [0.4, 0.2, 0.4]])
    return pd.DataFrame(
        {
            "customer_id": rng.permutation(n) + 10_000,
            "income": rng.normal(np.array([22e3, 38e3, 52e3, 70e3, 110e3])[group], 6e3).round(2),
            "age": rng.normal(np.array([24, 38, 55, 47, 62])[group], 5).round().astype(int),
            "visits": visits,
            "spent": rng.gamma(4, np.array([10, 40, 25, 90, 200])[group]).round(2),
            "rating": rng.normal(np.array([3.2, 4.1, 3.6, 4.4, 2.5])[group], 0.4).clip(1, 5).round(1),
            "signup": (pd.Timestamp("2019-01-01") + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d"),
            "city": rng.choice(CITIES, n),
            "plan": np.array(PLANS)[(rng.random(n)[:, None] > plans.cumsum(axis=1)[group]).sum(axis=1)],
            "newsletter": np.where(rng.random(n) < np.array([0.2, 0.7, 0.5, 0.8, 0.4])[group], "yes", "no"),
        }
    )


def _command(table: Path, k: str) -> list[str]:
    targets = ["--report", str(table.with_name("r.html")), "-o", str(table.with_name("out.csv"))]
    return [sys.executable, "-m", "widegap", "cluster", str(table), "-k", k, *targets, "--quiet"]


def _script(table: Path) -> list[str]:
    return [sys.executable, "-c", SCRIPT, str(table), str(table.with_name("theirs.csv"))]


def _in_turn(commands: list[list[str]], repeats: int) -> list[tuple[float, float]]:
    """Least processor seconds of each command, and the least seconds on the clock."""
    found = np.array([[_seconds(command) for command in commands] for _ in range(repeats)])
    return [(float(cpu), float(wall)) for cpu, wall in found.min(axis=0)]


def _seconds(command: list[str]) -> tuple[float, float]:
    """Processor seconds of a process that ends well, with those of its threads, and seconds on the clock."""
    began = perf_counter()
    process = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{' '.join(command[:4])} ... failed with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, perf_counter() - began
