"""What ``pip install`` brings without extras, and how long an import takes, beside packages of the same kind.

Each package is installed in a place of its own, with all that comes along. Sizes leave out bytecode, which Python
writes itself. Of an import the processor seconds of a fresh process count, the least of several.
"""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._measure import Row

ROOT = Path(__file__).parents[1]
OURS = "widegap"
IMPORTS = {
    OURS: "from widegap import MaxMarginClustering",
    "scikit-learn": "from sklearn.cluster import KMeans",
    "umap-learn": "from umap import UMAP",
    "hdbscan": "from hdbscan import HDBSCAN",
}
REPEATS = 7
TIMED = "import time; began = time.process_time(); {}; print(time.process_time() - began)"


def rows() -> Iterator[Row]:
    """All rows of the report."""
    with tempfile.TemporaryDirectory() as folder:
        places = {name: _installed(Path(folder) / name, name) for name in IMPORTS}
        sizes = {name: _megabytes(python) for name, python in places.items()}
        turns = [[_seconds(python, IMPORTS[name]) for name, python in places.items()] for _ in range(REPEATS)]
        seconds = dict(zip(places, np.min(turns, axis=0).tolist(), strict=True))
    for name in list(IMPORTS)[1:]:
        detail = f"{sizes[OURS]:.0f} MB against {sizes[name]:.0f} MB"
        yield Row(f"installed size without extras, {name}", sizes[OURS] / sizes[name], None, detail)
    for name in list(IMPORTS)[1:]:
        detail = f"{seconds[OURS]:.2f} s ({IMPORTS[OURS]}) against {seconds[name]:.2f} s ({IMPORTS[name]})"
        yield Row(f"processor seconds of an import, {name}", seconds[OURS] / seconds[name], None, detail)


def _installed(folder: Path, name: str) -> Path:
    """The interpreter of a new place with one package and what it needs."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    wish = str(ROOT) if name == OURS else name
    subprocess.run([python, "-m", "pip", "install", "--quiet", wish], check=True, env=_environment())
    return python


def _megabytes(python: Path) -> float:
    """Size of all installed files but pip's own and bytecode."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = Path(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip())
    files = (path for path in found.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files if not path.relative_to(found).parts[0].startswith("pip")) / 1e6


def _seconds(python: Path, statement: str) -> float:
    command = [python, "-c", TIMED.format(statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment())
    return float(done.stdout)


def _environment() -> dict[str, str]:
    """Without the paths of this process, and with bytecode, whatever the shell of a developer asks for."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
