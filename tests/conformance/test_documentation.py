"""The pages say what is true: their Python runs, every public name is on a page, and every example has a place."""

import ast
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widegap
from _notebooks import as_in_a_notebook

ROOT = Path(__file__).parents[2]
DOCS, EXAMPLES = ROOT / "docs", sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = [DOCS / "get-started.md", DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md"))]


def python_of(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


BLOCKS = {page.stem: python_of(page) for page in PAGES}

sys.path.insert(0, str(DOCS / "_ext"))
from reference_pages import api_page, commands_page, public_functions  # noqa: E402


@pytest.mark.parametrize("page", [name for name, blocks in BLOCKS.items() if blocks])
def test_python_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page == "notebook":
        as_in_a_notebook(monkeypatch)
    names = {}
    for block in BLOCKS[page]:
        exec(compile(block, page, "exec"), names)


def test_metadata_reaches_the_pipeline_of_its_page():
    X = load_wine().data[:, :3]
    names = {"X": X, "known": np.where(np.arange(len(X)) < 5, 0, -1), "weights": np.ones(len(X)), "sklearn": sklearn}
    names |= {f.__name__: f for f in (widegap.MaxMarginClustering, StandardScaler, make_pipeline)}
    (block,) = (block for block in python_of("scikit-learn.md") if "enable_metadata_routing" in block)
    with sklearn.config_context():
        exec(compile(block, "scikit-learn.md", "exec"), names)


def test_a_model_file_is_deployed_as_its_page_says(tmp_path, monkeypatch):
    pytest.importorskip("onnx", reason="a model is exported as an ONNX graph")
    monkeypatch.chdir(tmp_path)
    frame = load_wine(as_frame=True).data.iloc[:, :3].assign(kind=["red", "white"] * 89)
    model = make_pipeline(widegap.TableEncoder(), widegap.MaxMarginClustering(3, random_state=0)).fit(frame)
    widegap.persistence.save(model, "model.widegap")
    for block in python_of("export.md"):
        exec(compile(block, "export.md", "exec"), {"frame": frame[frame.columns[::-1]], "model": model})
    assert {path.name for path in tmp_path.iterdir()} == {f"model.{kind}" for kind in ("widegap", "py", "onnx", "sql")}


@pytest.mark.parametrize("name", widegap.__all__)
def test_every_public_name_is_in_the_reference(name):
    page = api_page()
    value = getattr(widegap, name)
    if not inspect.ismodule(value):
        assert f"\n   {name}\n" in page
        return
    assert f"\nwidegap.{name}\n" in page
    for function in public_functions(value):
        assert f"\n   {function}\n" in page


def public_classes():
    return [name for name in widegap.__all__ if inspect.isclass(getattr(widegap, name))]


@pytest.mark.parametrize("name", public_classes())
def test_every_class_has_sections_and_an_example(name):
    text = inspect.getdoc(getattr(widegap, name))
    for section in ("Parameters", "Attributes", "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in text, f"{name} has no section {section}"


def functions_of_modules():
    modules = [name for name in widegap.__all__ if inspect.ismodule(getattr(widegap, name))]
    for name in modules:
        module = import_module(f"widegap.{name}")
        for function in public_functions(module):
            if inspect.isfunction(getattr(module, function)):
                yield f"{name}.{function}", getattr(module, function)


@pytest.mark.parametrize(
    ("name", "function"), list(functions_of_modules()), ids=lambda value: getattr(value, "__name__", value)
)
def test_every_function_documents_its_parameters_and_answer(name, function):
    text = inspect.getdoc(function)
    parameters = inspect.signature(function).parameters
    assert not parameters or "\nParameters\n----------\n" in text
    assert re.search(r"\n(Returns|Yields)\n-", text) or "-> None" in str(inspect.signature(function))


def test_pages_and_examples_only_use_public_names():
    texts = [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *EXAMPLES, ROOT / "README.md"]
    private = re.compile(
        r"(?:from|import) +widegap[\w.]*\._\w|from +widegap[\w.]* +import +(?:\w+, *)*_\w|widegap\.\w*\._\w"
    )
    assert private.search("from widegap.forest._choice import x") and private.search("from widegap import CPM3C, _docs")
    assert [path.name for path in texts if private.search(path.read_text(encoding="utf-8"))] == []


def test_the_report_has_the_sections_that_its_page_explains():
    templates = (ROOT / "src" / "widegap" / "report" / "templates").glob("*.j2")
    shown = " ".join(path.read_text(encoding="utf-8") for path in templates).replace("{{ group }}", "cluster")
    shown = shown.replace("{{ group | capitalize }}", "Cluster")
    for section in re.findall(r"\*\*\*([\w ]+)\*\*\*", (DOCS / "guide" / "report.md").read_text(encoding="utf-8")):
        assert f"<h2>{section}</h2>" in shown, section


def test_the_explorer_has_the_buttons_that_its_page_names():
    page = (ROOT / "src" / "widegap" / "explorer" / "page").rglob("*.*")
    corrections = (ROOT / "src" / "widegap" / "corrections").glob("*.py")
    shown = " ".join(path.read_text(encoding="utf-8") for path in (*page, *corrections) if path.suffix != ".svg")
    named = re.findall(r"(?<!\*)\*([A-Z][\w -]+)\*(?!\*)", (DOCS / "guide" / "explore.md").read_text(encoding="utf-8"))
    assert len(named) > 12
    assert [name for name in named if not re.search(rf">\s*{name}|\"{name}\"", shown)] == []


def test_every_page_of_the_guide_is_listed():
    listed = (DOCS / "guide" / "index.md").read_text(encoding="utf-8")
    for page in (DOCS / "guide").glob("*.md"):
        assert page.stem == "index" or f"\n{page.stem}\n" in listed


def test_files_that_pages_name_are_there():
    pages = [ROOT / "CONTRIBUTING.md", *(DOCS / "how").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`(\w+/_\w+\.py)`", page.read_text(encoding="utf-8"))}
    assert len(named) > 30
    assert [name for name in sorted(named) if not (ROOT / "src" / "widegap" / name).is_file()] == []


def test_the_commands_of_the_reference_are_those_of_the_program():
    page = commands_page()
    for command in ("cluster", "documents", "segment", "predict", "report", "datasets", "demo"):
        assert f"## widegap {command}\n" in page
    assert "--report" in page


def test_there_are_twelve_examples_and_all_parse():
    assert len(EXAMPLES) >= 12
    for example in EXAMPLES:
        docstring = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8")))
        title, line, *_ = docstring.splitlines()
        assert line == "=" * len(title), example.name


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="examples draw with matplotlib")
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    exec(compile(example.read_text(encoding="utf-8"), str(example), "exec"), {"__name__": "__main__"})
    plt.close("all")


@pytest.mark.parametrize("name", ["MaxMarginClustering", "DocumentClustering", "TableEncoder"])
def test_a_notebook_links_to_the_page_of_an_estimator(name, monkeypatch):
    estimator = getattr(widegap, name)()
    monkeypatch.delenv("WIDEGAP_DOCS", raising=False)
    assert "href=" not in estimator._repr_html_(), "no link rather than one that leads nowhere"
    monkeypatch.setenv("WIDEGAP_DOCS", "file:///site/")
    assert f'href="file:///site/generated/widegap.{name}.html"' in estimator._repr_html_()
