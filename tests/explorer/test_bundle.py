"""The page as one module for notebooks: what its modules import is there, in order, and nothing else is."""

import re

import pytest

from widegap.explorer import _bundle
from widegap.explorer._bundle import PAGE, bundled

MODULES = sorted(path.stem for path in PAGE.glob("*.js"))
OF_A_SERVER = {"host", "http"}  # a notebook has its own


def test_every_module_is_there_once():
    made = re.findall(r"^const \$(\w+) = \(\(\) => \{$", bundled(), re.MULTILINE)
    assert sorted(made) == sorted({*MODULES} - OF_A_SERVER)


def test_modules_come_after_those_that_they_import():
    seen = {"host"}
    for made, used in re.findall(r"^const \$(\w+) = \(\(\)|^const .* = \$(\w+);$", bundled(), re.MULTILINE):
        assert not used or used in seen, used
        seen.add(made)


def test_nothing_is_imported_and_one_thing_exported():
    assert re.findall(r"^(?:import|export)\b.{20}", bundled(), re.MULTILINE) == ["export default $notebook.w"]
    assert "fetch(" not in bundled() and "EventSource" not in bundled()


@pytest.mark.parametrize("name", MODULES)
def test_every_name_that_is_imported_is_exported(name):
    for found in _bundle.IMPORT.finditer((PAGE / f"{name}.js").read_text(encoding="utf-8")):
        exported = {one["name"] for one in _bundle.EXPORT.finditer((PAGE / f"{found['module']}.js").read_text("utf-8"))}
        assert found["whole"] or set(re.findall(r"\w+", found["names"])) <= exported


@pytest.mark.parametrize(
    "line",
    [
        'import store from "./store.js";',
        'import { a as b } from "./store.js"',
        'import "./store.js";',
        "export default 3;",
        "export { a };",
        "export let a = 3;",
        'export * from "./store.js";',
    ],
)
def test_other_forms_are_refused(line, tmp_path, monkeypatch):
    (tmp_path / "odd.js").write_text(f"// A module.\n\n{line}\n", encoding="utf-8")
    monkeypatch.setattr(_bundle, "PAGE", tmp_path)
    with pytest.raises(
        ValueError, match=r"page/odd.js: .* is a form of import or export that _bundle.py does not know"
    ):
        _bundle._as_function("odd")


def test_a_module_as_a_function(tmp_path, monkeypatch):
    imports = 'import { act } from "./store.js";\nimport * as map from "./map.js";\n'
    text = f"{imports}\nexport const a = 3;\nexport async function b() {{}}\n"
    (tmp_path / "part.js").write_text(text, encoding="utf-8")
    monkeypatch.setattr(_bundle, "PAGE", tmp_path)
    body = "const { act } = $store;\nconst map = $map;\n\nconst a = 3;\nasync function b() {}\nreturn { a, b };\n"
    assert _bundle._as_function("part") == f"const $part = (() => {{\n{body}}})();"


def test_the_style_does_not_depend_on_a_document_of_its_own():
    style = (PAGE / "style.css").read_text(encoding="utf-8")
    assert ":root" not in style and "@media (max-width" not in style  # a widget is narrower than the window
    for rule in re.findall(r"^[^{\n]*\bbody\b[^{]*", style, re.MULTILINE):
        assert rule.startswith("/*") or ":host" in rule, rule


def test_the_page_asks_for_elements_of_its_own_root_alone():
    for name in {*MODULES} - {*OF_A_SERVER, "notebook"}:
        used = re.findall(r"\bdocument\.(\w+)", (PAGE / f"{name}.js").read_text(encoding="utf-8"))
        assert {*used} <= {"createElement", "createElementNS", "title"}, name
