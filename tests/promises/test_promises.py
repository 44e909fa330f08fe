"""Every promise of the page on reliability can be broken, and the test that it names notices.

A file of this folder is a small change of the source that breaks one promise: first the promise, its test and words of
the failure, then a unified diff. The change is made in a copy, so that the source stays as it is.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
COPIED = ("src", "tests", "pyproject.toml")
WITHOUT = {
    "Wheel and sdist build.": "make test-dist builds and installs both, and a change would have to be built, too",
}  # promises without a patch, and why
FEW = 8  # lines that a change takes away or adds
SECONDS = 900  # of a test; those that are named take far less
ASSERTIONS = ("AssertionError", "assert ", "Failed: ")  # as pytest writes them; a broken import is another error

RUN = """
import sys, pathlib, pytest, widegap
assert pathlib.Path(widegap.__file__).is_relative_to(pathlib.Path.cwd()), widegap.__file__
sys.exit(pytest.main(sys.argv[1:]))
"""


@dataclass
class Patch:
    """What breaks a promise: for each file, pieces of text and what takes their place."""

    promise: str
    test: str
    fails: str
    pieces: list[tuple[str, str, str]]

    def applied(self, root):
        """The files that change, with their new texts; every piece has to be there once."""
        texts = {}
        for name, old, new in self.pieces:
            text = texts.get(name) or (root / name).read_text(encoding="utf-8")
            assert text.count(old) == 1, f"{text.count(old)} times in {name}, so the patch has to be renewed:\n{old}"
            texts[name] = text.replace(old, new)
        return texts


def read_patch(path):
    head, *files = re.split(r"^--- a/", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    fields = dict(line.split(": ", 1) for line in head.splitlines() if line)
    pieces = []
    for file in files:
        name, lines = file.split("\n", 1)[0], file.splitlines()[2:]
        assert file.splitlines()[1] == f"+++ b/{name}", f"{path.name} is no unified diff"
        for line in lines:
            if line.startswith("@@"):
                pieces.append((name, "", ""))
                continue
            sign, rest, (_, old, new) = line[:1], line[1:] + "\n", pieces.pop()
            pieces.append((name, old + (rest if sign != "+" else ""), new + (rest if sign != "-" else "")))
    return Patch(fields["Promise"], fields["Test"], fields["Fails"], pieces)


PATCHES = {path.stem: read_patch(path) for path in sorted(Path(__file__).parent.glob("*.patch"))}


def promises():
    """The promises of the page, and for each one what checks it."""
    rows = [line.strip("|").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    return {promise.strip(): checks for promise, checks in rows if promise.strip() != "promise"}


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_is_small_and_fits_the_source(name):
    patch = PATCHES[name]
    for file, text in patch.applied(ROOT).items():
        assert text != (ROOT / file).read_text(encoding="utf-8")
        if file.endswith(".py"):
            compile(text, file, "exec")
    lines = (Path(__file__).parent / f"{name}.patch").read_text(encoding="utf-8").splitlines()
    assert sum(line[:1] in "+-" and line[:3] not in ("+++", "---") for line in lines if line) <= FEW


def broken_by(name):
    """The one promise that a patch breaks, as the page has it."""
    (found,) = [promise for promise in promises() if promise.startswith(PATCHES[name].promise)]
    return found


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_breaks_a_promise_and_runs_its_test(name):
    file, test = re.fullmatch(r"(.+?)::(?:.+::)?(\w+)(?:\[.+\])?", PATCHES[name].test).groups()
    assert f"`{file}`" in promises()[broken_by(name)]
    assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_every_promise_has_a_patch():
    broken = {broken_by(name) for name in PATCHES}
    excepted = {promise for promise in promises() for words in WITHOUT if promise.startswith(words)}
    assert len(excepted) == len(WITHOUT) and not excepted & broken
    assert promises().keys() - broken == excepted, "a promise that no patch of this folder breaks"


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the source and the tests, and the environment in which it is used."""
    root = tmp_path_factory.mktemp("promises") / "copy"
    root.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, root / name)
    own = {
        "PYTHONPATH": str(root / "src"),
        "NUMBA_CACHE_DIR": str(root / "loops"),
        "PYTHONDONTWRITEBYTECODE": "1",  # a patch and its end may come within the second that tells them apart
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return root, {key: value for key, value in os.environ.items() if key != "WIDEGAP_COUNTS"} | own


def failures(copied, test):
    """What a test says of its failures; an error outside of the test itself is an error here, too."""
    root, environment = copied
    results = root / "results.xml"
    results.unlink(missing_ok=True)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=", f"--junitxml={results}"]
    options += ["--hypothesis-profile=unshrunk", test]  # nobody reads the shortest sequence of calls that fails
    command = [sys.executable, "-c", RUN, *options]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    suite = ElementTree.parse(results).getroot()[0]
    assert suite.get("errors") == "0" and int(suite.get("skipped")) < int(suite.get("tests")), done.stdout
    found = [failure.get("message") for failure in suite.iter("failure")]
    assert bool(found) == bool(done.returncode), done.stdout
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", PATCHES)
def test_the_test_of_a_promise_notices_that_it_is_broken(name, copied):
    patch, root = PATCHES[name], copied[0]
    assert failures(copied, patch.test) == []
    changed = patch.applied(root)
    before = {file: ((root / file).read_bytes(), (root / file).stat()) for file in changed}
    try:
        for file, text in changed.items():
            (root / file).write_text(text, encoding="utf-8")
        found = failures(copied, patch.test)
    finally:
        for file, (content, stat) in before.items():
            (root / file).write_bytes(content)
            os.utime(root / file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # compiled loops are known by it
    assert found, f"{patch.test} does not notice that this is broken: {patch.promise}"
    for message in found:
        assert message.startswith(ASSERTIONS) and patch.fails in message, message
