"""What is handed out: licences of all that comes with it, wheel and sdist in empty places, and missing extras."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PERMISSIVE = re.compile(r"\b(0BSD|BSD|MIT|MIT-CMU|HPND|Apache|ISC|PSF|Python Software Foundation)\b")
OTHERS = {"certifi": "MPL-2.0"}  # its list of certificates is Mozilla's; it is not changed
COPYLEFT = re.compile(r"\b[AL]?GPL|GNU|EUPL|SSPL|Commons Clause", re.IGNORECASE)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def declared():
    """The requirements of the package and of all its extras."""
    texts = [*PROJECT["dependencies"], *(text for extra in PROJECT["optional-dependencies"].values() for text in extra)]
    return [wish for wish in map(Requirement, texts) if wish.name != "widegap"]


def installed_with(wishes):
    """The names of all that comes along, from what is installed here."""
    found, open_wishes = set(), list(wishes)
    while open_wishes:
        wish = open_wishes.pop()
        for text in [] if wish.name in found else metadata.requires(wish.name) or []:
            further = Requirement(text)
            if further.marker is None or any(further.marker.evaluate({"extra": e}) for e in {"", *wish.extras}):
                open_wishes.append(further)
        found.add(wish.name)
    return found


def licence(name):
    """What a package says of its licence: the expression, or else the classifiers and the head of the text."""
    head = metadata.metadata(name)
    classifiers = [text for text in head.get_all("Classifier") or [] if text.startswith("License")]
    return head.get("License-Expression") or " ".join([*classifiers, (head.get("License") or "")[:60]])


def test_all_that_comes_along_has_a_permissive_licence():
    names = installed_with(declared())
    assert {"numpy", "scs", "starlette", "click", "tornado"} <= names  # direct ones, and ones of others
    bad = {name: licence(name) for name in names if not PERMISSIVE.search(licence(name))}
    assert {name for name in bad if OTHERS.get(name) not in bad[name].split()} == set(), bad
    assert not [name for name in names if COPYLEFT.search(licence(name))]


BLOCKED = """
import sys
import numpy as np
for name in sys.argv[1].split(","):
    sys.modules[name] = None  # as if it were not installed
from widegap.cli._main import main
sys.exit(main(sys.argv[2:]))
"""
WITHOUT = [
    ("pypdf", ["documents", "notes", "-k", "2"], "widegap[documents]"),
    ("uvicorn", ["explore", "t.csv", "--no-browser"], "widegap[explore]"),
    ("rich", ["--help"], "widegap[cli]"),
    ("pyarrow", ["cluster", "t.csv", "-k", "2"], "widegap[cli]|widegap[table]"),
]


@pytest.mark.parametrize(("missing", "arguments", "extra"), WITHOUT, ids=[name for name, *_ in WITHOUT])
def test_commands_name_the_extra_that_is_missing(missing, arguments, extra, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i % 2 * 9},{i / 2}\n" for i in range(20)), encoding="utf-8")
    done = run([sys.executable, "-W", "ignore", "-c", BLOCKED, missing, *arguments], tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert any(f"pip install '{name}'" in done.stderr for name in extra.split("|")), done.stderr


STAR = """
import sys
import numpy as np
for name in sys.argv[1].split(","):
    sys.modules[name] = None  # as if it were not installed
from widegap import *
import widegap
assert set(widegap.__all__) <= set(globals())
for name in (TableEncoder, explore):
    try:
        name()
    except NotImplementedError as error:
        print(error)
    except TypeError:  # explore needs a model
        pass
"""
EXTRAS = [
    "pyarrow",
    "pandas",
    "jinja2",
    "starlette,uvicorn",
    "anywidget",
    "typer,rich",
    "dask,distributed",
    "PIL",
    "scs",
    "onnx",
]


def modules_of_extras():
    """All modules that come with an extra and not with the package alone."""
    names = {wish.name for wish in declared()} - {Requirement(text).name for text in PROJECT["dependencies"]}
    return sorted(module for module, owners in metadata.packages_distributions().items() if names & set(owners))


@pytest.mark.parametrize("missing", [*EXTRAS, "all"])
def test_all_names_can_be_imported_where_an_extra_is_missing(missing, tmp_path):
    blocked = ",".join(modules_of_extras()) if missing == "all" else missing
    said = checked([sys.executable, "-W", "ignore", "-c", STAR, blocked], tmp_path)
    has_table = missing not in ("all", "pyarrow")
    assert [line.split("'")[1] for line in said.splitlines()] == ["widegap[table]"] * 2 * (not has_table)


def test_modules_of_extras_are_found():
    assert {"PIL", "docx", "pandas", "typer", "onnx", "uvicorn"} <= set(modules_of_extras())
    assert not {"numpy", "sklearn", "numba"} & set(modules_of_extras())


def run(command, folder, **environment):
    return subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}
    )


def checked(command, folder, **environment):
    done = run(command, folder, **environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel, and the folder of the unpacked sdist."""
    out = tmp_path_factory.mktemp("dist")
    checked([sys.executable, "-m", "build", "--outdir", out, ROOT], out)
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(out, filter="data")
    (unpacked,) = (path for path in out.iterdir() if path.is_dir())
    return wheel, unpacked


def place_with(folder, *wishes):
    """An empty place, and the interpreter in it with some packages."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    checked([python, "-m", "pip", "install", "--quiet", *wishes], folder, PYTHONPATH="")
    return python


BARE = """
import sys, types
import numpy as np
from widegap import *
import widegap
assert set(widegap.__all__) <= set(globals())

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(20, 3)), 6 + rng.normal(size=(20, 3))])
model = widegap.MaxMarginClustering(2, random_state=0).fit(X)
assert sorted(np.bincount(model.labels_)) == [20, 20]
persistence.save(model, "m.widegap")
assert (persistence.load("m.widegap")[0].predict(X) == model.labels_).all()

def dask():
    sys.modules["dask"] = types.SimpleNamespace(is_dask_collection=lambda X: True)
    try:
        widegap.CPM3C(2).fit(X)
    finally:
        del sys.modules["dask"]

tries = {
    "sdp": lambda: widegap.MMC(2).fit(X),
    "explore|table": lambda: widegap.explore(model, X),  # it shows tables: whichever is missed first
    "report": lambda: report.render(report.summarize(model, X)),
    "table": lambda: widegap.TableEncoder(),
    "export": lambda: widegap.export(model, "m.onnx"),
    "documents": lambda: widegap.DocumentClustering(2, stop_words="german").fit(["brot mehl", "tor spiel"] * 3),
    "dask": dask,
}
for extra, attempt in tries.items():
    try:
        attempt()
    except Exception as error:
        named = any(f"widegap[{name}]" in str(error) for name in extra.split("|"))
        assert named and "pip install" in str(error), (extra, repr(error))
    else:
        raise AssertionError(extra)
print("all named")
"""


@pytest.mark.slow
def test_without_extras_the_estimators_work_and_the_rest_says_what_to_install(built, tmp_path):
    python = place_with(tmp_path / "bare", built[0])
    assert checked([python, "-c", BARE], tmp_path, PYTHONPATH="").strip() == "all named"
    done = run([tmp_path / "bare" / "bin" / "widegap", "demo"], tmp_path, PYTHONPATH="")
    assert done.returncode == 2
    assert "pip install 'widegap[cli]'" in done.stderr


@pytest.mark.slow
def test_with_all_extras_the_tests_of_the_sdist_pass(built, tmp_path):
    # README's commands, model files of old, what a test has helpers for: against the installed wheel, not the source.
    wheel, source = built
    python = place_with(tmp_path / "full", f"{wheel}[all]", "pytest", "hypothesis")
    where = checked([python, "-c", "import widegap; print(widegap.__file__)"], tmp_path, PYTHONPATH="")
    assert "site-packages" in where
    files = "conformance/test_readme persistence/test_old_models persistence/test_persistence rows/test_passes"
    tests = [f"tests/{name}.py" for name in (*files.split(), "cli/test_cli_segment")]
    checked([python, "-m", "pytest", "-q", *tests], source, PYTHONPATH="")
    assert "error:" not in run([tmp_path / "full" / "bin" / "widegap", "--help"], tmp_path, PYTHONPATH="").stderr


@pytest.mark.slow
def test_every_test_of_the_sdist_finds_its_helpers(built):
    places = os.pathsep.join(["src", "."])
    said = checked([sys.executable, "-m", "pytest", "--collect-only", "-q", "tests"], built[1], PYTHONPATH=places)
    assert "error" not in said.splitlines()[-1]
