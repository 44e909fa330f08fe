"""A new correction is one class in ``corrections/_corrections.py``: a newcomer's patch on a copy of the package."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import widegap

CLASS = '''
class Doublets(Correction):
    """Neighbouring rows of the selection belong together, two by two."""

    kind = "doublets"
    button, shortcut = "Pair up", "u"
    fields = {"rows": rules.TWO_ROWS}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        return {"rows": asked_rows(clusters, asked, 2)}

    def constrain(self, draft: Draft, data: EventData) -> None:
        draft.link(must=list(zip(data["rows"][::2], data["rows"][1::2], strict=False)))

    def words(self, data: EventData, naming: Naming) -> str:
        return f"paired up {naming.rows(data['rows'])}"


'''

USE = """
import sys

import numpy as np
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering, persistence
from widegap.explorer import Workspace
from widegap.explorer._export import download
from widegap.explorer._payloads import overview

folder = sys.argv[1]
X, y = make_blobs(60, 2, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.5, random_state=0)
workspace = Workspace(MaxMarginClustering(3, random_state=0).fit(X), X, session=f"{folder}/session.jsonl")
assert {"kind": "doublets", "label": "Pair up", "shortcut": "u"} in overview(workspace)["buttons"]

rows = sorted(int(np.flatnonzero(y == kind)[i]) for kind in (0, 1) for i in (0, 1))
try:
    workspace.act("doublets", {"rows": rows[:1]})
except ValueError as error:
    assert "at least 2 rows" in str(error)
else:
    raise AssertionError("one row is no pair")
workspace.act("doublets", {"rows": rows})
words = f"paired up {len(rows)} rows"
assert [one["words"] for one in overview(workspace)["corrections"]] == [words]
workspace.undo()
assert workspace.constraints == []
workspace.redo()
workspace.again()
pairs = [rows[:2], rows[2:]]
assert all(workspace.keys[a] == workspace.keys[b] for a, b in pairs)
workspace.close()

resumed = Workspace(workspace.opening.model, X, session=f"{folder}/session.jsonl", resume=True)
assert resumed.state == workspace.state
np.testing.assert_array_equal(resumed.labels, workspace.labels)

path = f"{folder}/model.widegap"
with open(path, "wb") as file:
    file.write(download(workspace, "model.widegap")[0])
model, extra = persistence.load(path)
(stored,) = extra["corrections"]["events"]
assert stored["kind"] == "doublets" and stored["rows"] == rows and stored["words"] == words
replayed = Workspace(model, X, extra=extra)
assert replayed.pending == 0 and replayed.keyed_constraints.must_link.tolist() == sorted(pairs)
print("paired")
"""


@pytest.fixture
def patched(tmp_path):
    """A copy of the package with one class more, entered in the list of corrections."""
    source, copy = Path(widegap.__file__).parent, tmp_path / "widegap"
    copy.mkdir()
    for path in source.iterdir():
        if path.name == "corrections":
            shutil.copytree(path, copy / path.name)
        else:  # what the patch leaves alone, with the compiled loops beside it
            (copy / path.name).symlink_to(path)
    file = copy / "corrections" / "_corrections.py"
    before, sign, after = file.read_text(encoding="utf-8").partition("CORRECTIONS: dict")
    assert sign and after.count("SplitInTwo()") == 1
    after = after.replace("SplitInTwo()", "SplitInTwo(), Doublets()")
    file.write_text(before + CLASS.lstrip() + sign + after, encoding="utf-8")
    return tmp_path


def test_a_new_correction_is_one_class(patched):
    done = subprocess.run(
        [sys.executable, "-c", USE, str(patched)],
        env={"PYTHONPATH": str(patched), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "paired\n", done.stderr
