"""Every recipe of the documentation runs, where its package is installed; ``make test-recipes`` installs them all."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
SECTIONS = dict(re.findall(r"^## (.+?)\n.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE))
PACKAGES = {"BERTopic": "bertopic", "UMAP": "umap", "skrub": "skrub", "Dask": "distributed", "MLflow": "mlflow"}


def test_every_recipe_is_tried():
    assert SECTIONS.keys() == PACKAGES.keys() | {"Plain files"}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_recipe_runs(name, tmp_path):
    if name in PACKAGES:
        probe = [sys.executable, "-c", f"import importlib.util as u; exit(u.find_spec({PACKAGES[name]!r}) is None)"]
        if subprocess.run(probe).returncode:
            pytest.skip(f"{PACKAGES[name]} is not installed; make test-recipes installs it")
    # In a process of its own: other packages warn, and change settings of the whole process.
    (tmp_path / "recipe.py").write_text(f"if __name__ == '__main__':\n{_indented(SECTIONS[name])}", "utf-8")
    done = subprocess.run([sys.executable, "recipe.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _indented(code):
    return "".join(f"    {line}" for line in code.splitlines(keepends=True))
