"""The files that CONTRIBUTING names under "Where do I change ...?" are enough: a change of these alone works.

All ``CHANGES`` are made in a copy of the package. Their programs must run there, and must fail with the package as it
is. Edits find their place by name, so that they survive other changes of the same files.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "widegap"
MOST_FILES = 2

Edit = Callable[[str], str]  # the text of a file before and after


@dataclass(frozen=True)
class Change:
    """One answer: the row of CONTRIBUTING's table, edits by file, and a program that fails without them."""

    what: str
    folder: str
    edits: dict[str, Edit]
    program: str


def append(code: str) -> Edit:
    """Add code to the end of a module."""
    return lambda text: f"{text}\n\n{dedent(code)}"


def extend(name: str, entry: str) -> Edit:
    """Add an entry to a tuple, list or dict that is written out at module level."""

    def edit(text: str) -> str:
        for node in ast.parse(text).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                before, inside = _split(text, node.value.end_lineno, node.value.end_col_offset - 1)
                return f"{before.rstrip().removesuffix(',')}, {entry}{inside}"
        raise AssertionError(f"there is no {name} to extend")

    return edit


def begin(function: str, code: str) -> Edit:
    """Let a function or method, such as ``Class.method``, begin with this code."""

    def edit(text: str) -> str:
        body = _body(ast.parse(text), function.split("."))
        lines = text.splitlines(keepends=True)
        lines.insert(body[0].lineno - 1, indent(dedent(code), " " * body[0].col_offset))
        return "".join(lines)

    return edit


def replace(old: str, new: str) -> Edit:
    """Write other words; the old ones must be there."""

    def edit(text: str) -> str:
        assert old in text, f"there is no {old!r} to replace"
        return text.replace(old, new)

    return edit


def both(*edits: Edit) -> Edit:
    """Several edits of one file, in this order."""

    def edit(text: str) -> str:
        for each in edits:
            text = each(text)
        return text

    return edit


def _split(text: str, line: int, column: int) -> tuple[str, str]:
    """The text before and after a position as ast counts it: lines from 1, columns in bytes."""
    lines = text.splitlines(keepends=True)
    at = len("".join(lines[: line - 1]).encode()) + column
    return text.encode()[:at].decode(), text.encode()[at:].decode()


def _body(tree: ast.AST, path: list[str]) -> list[ast.stmt]:
    """Statements of a function or method behind its docstring."""
    for name in path:
        found = [node for node in ast.iter_child_nodes(tree) if getattr(node, "name", None) == name]
        assert found, f"there is no {'.'.join(path)}"
        tree = found[0]
    return tree.body[1:] if ast.get_docstring(tree) is not None else tree.body


# One entry for each row of the table in CONTRIBUTING.
CHANGES = [
    Change(
        "the linkage of groups",
        "forest",
        {
            "_linkage.py": append(
                """
                class RootLinkage(AverageLinkage):
                    \"\"\"Average linkage of square roots.\"\"\"

                    fitted = 0

                    def __init__(self, E, sizes):
                        super().__init__(np.sqrt(E), sizes)

                    def merge_all(self, ledger):
                        type(self).fitted += 1
                        super().merge_all(ledger)
                """
            ),
            "_merge_search.py": both(
                extend("ALL_RULES", '"root"'),
                extend("RULES", '"root": lambda P, graph: _linkage.RootLinkage(graph.E, graph.sizes)'),
                append("from widegap.forest import _linkage  # noqa: E402"),
            ),
        },
        """
        from sklearn.datasets import make_blobs

        from widegap import MaxMarginClustering
        from widegap.forest._linkage import RootLinkage

        X, _ = make_blobs(40, centers=3, random_state=0)
        model = MaxMarginClustering(3, random_state=0).fit(X)
        assert len(set(model.labels_)) == 3
        assert RootLinkage.fitted, "no tree was merged by the new rule"
        """,
    ),
    Change(
        "the wording of a column in the report",
        "results",
        {
            "_profile.py": begin(
                "Feature.text",
                """
                if self.kind == "share" and value is not None:
                    return f"{100 * value:.0f} in a hundred"
                """,
            ),
        },
        """
        import pandas as pd
        from sklearn.cluster import KMeans

        from widegap import report

        frame = pd.DataFrame({"age": [20.0, 21, 22, 60, 61, 62], "member": [1, 1, 1, 0, 0, 1]})
        page = report.render(report.summarize(KMeans(2, random_state=0).fit(frame), frame))
        assert "33 in a hundred" in page and "67 in a hundred" in page
        """,
    ),
    Change(
        "a further file format",
        "tables",
        {
            "_foreign.py": append(
                """
                def read_toml(path):
                    \"\"\"Arrays of one table, each a column.\"\"\"
                    import tomllib

                    import pandas as pd

                    return pd.DataFrame(tomllib.loads(path.read_text(encoding="utf-8"))), []
                """
            ),
            "_reading.py": both(
                begin(
                    "read_table",
                    """
                    if str(source).endswith(".toml"):
                        return _framed(str(source), read_toml(Path(source)), least)
                    """,
                ),
                append("from widegap.tables._foreign import read_toml  # noqa: E402"),
            ),
        },
        """
        from pathlib import Path

        from widegap.tables import read_table

        Path("rows.toml").write_text("size = [1, 2, 3]\\nkind = ['a', 'b', 'a']\\n", encoding="utf-8")
        table = read_table("rows.toml")
        assert list(table.columns.columns) == ["size", "kind"] and table.n_rows == 3
        """,
    ),
]

RUN_ALL = """
import json, sys, traceback

errors = {}
for what, program in json.load(sys.stdin).items():
    try:
        exec(program, {})
        errors[what] = ""
    except Exception:
        errors[what] = traceback.format_exc()
print(json.dumps(errors))
"""


def named_in_contributing() -> dict[str, tuple[str, list[str]]]:
    """What the table says: folder and files of every question."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Where do I change ...?")[2].partition("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {
        what: (re.findall(r"`([^`]+)/`", folder)[0], re.findall(r"`([^`]+\.[^`/]+)`", files))
        for what, folder, files in rows[1:]
    }


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Errors of every program, without the changes and with all of them, in a copy of the package."""
    folder = tmp_path_factory.mktemp("changed")
    source = folder / "src"  # not in the working folder, which Python searches first
    shutil.copytree(PACKAGE, source / "widegap", ignore=shutil.ignore_patterns("__pycache__"))
    for change in CHANGES:
        for file, edit in change.edits.items():
            path = source / "widegap" / change.folder / file
            path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    return _errors(PACKAGE.parent, folder), _errors(source, folder)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.what)
def test_changing_these_files_is_enough(change, outcomes):
    assert named_in_contributing()[change.what] == (change.folder, list(change.edits))
    before, after = outcomes
    assert before[change.what], "the program also runs without the change"
    assert not after[change.what], after[change.what]


def _errors(source: Path, folder: Path) -> dict[str, str]:
    """What each program raises with the package of a folder, in one process: it is imported once.

    Loops run as plain Python, as a copy has no compiled ones.
    """
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1"}
    programs = json.dumps({change.what: dedent(change.program) for change in CHANGES})
    command = [sys.executable, "-c", RUN_ALL]
    done = subprocess.run(command, input=programs, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_answer_is_one_folder_and_at_most_two_files():
    for folder, files in named_in_contributing().values():
        assert 1 <= len(files) <= MOST_FILES
        assert [file for file in files if not (PACKAGE / folder / file).is_file()] == []


def test_every_slice_has_a_line_in_contributing():
    layout = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where things are")[2]
    slices = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    assert not [name for name in slices if f"\n  {name}/ " not in layout]
