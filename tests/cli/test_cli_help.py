"""The help: panels, and options that have had other names."""

import pytest
import typer

from widegap.cli import _options as options
from widegap.cli._app import app
from widegap.cli._main import main

COMMANDS = typer.main.get_command(app).commands
PANELS = {options.COLUMNS, options.READING, options.KNOWLEDGE, options.RESULTS, options.RUN}


def shown_options(command):
    return [option for option in COMMANDS[command].params if option.opts[0].startswith("-") and not option.hidden]


def test_every_option_of_cluster_belongs_to_a_panel():
    found = {option.name: option.rich_help_panel for option in shown_options("cluster")}
    assert len(found) > 30
    assert {name: panel for name, panel in found.items() if panel not in PANELS} == {}
    assert set(found.values()) == PANELS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_an_option_means_the_same_in_every_command(command):
    """--model saves a model, --report writes a page, -o the clusters of every row or pixel, or the exported model."""
    found = {name: option.help for option in shown_options(command) for name in option.opts}
    assert "ave" in found.get("--model", "save") and "apply" not in found.get("--model", "").lower()
    assert "HTML" in found.get("--report", "HTML")
    assert any(word in found.get("-o", "Rows") for word in ("Rows", "Label picture", "Exported model"))
    assert all(text and text[0].isupper() and text.endswith(".") for text in found.values())


def test_shells_can_complete_options(capsys):
    assert main(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{5 * (i % 2) + i / 100},{i % 3},{'ab'[i % 2] if i < 4 else ''}" for i in range(20)]
    path.write_text("\n".join(["x,y,kind", *lines]), encoding="utf-8")
    return path


def test_a_former_name_works_with_a_note(table, tmp_path, capsys):
    written = {}
    for option in ("--known-column", "--known"):
        out = tmp_path / f"{option}.csv"
        assert main(["cluster", str(table), "-k", "2", option, "kind", "-o", str(out), "-q"]) == 0
        written[option] = out.read_bytes()
        note = "note: --known is now --known-column; the former name stops working in the next minor version.\n"
        assert capsys.readouterr().err == (note if option == "--known" else "")
    assert written["--known"] == written["--known-column"]


def test_former_names_of_other_commands(table, tmp_path, capsys):
    model, page = tmp_path / "m.widegap", tmp_path / "p.html"
    assert main(["cluster", str(table), "-k", "2", "--model", str(model), "-q"]) == 0
    assert main(["report", str(model), str(table), "-o", str(page), "-q"]) == 0
    assert "note: -o is now --report" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8").startswith("<!")
    new = tmp_path / "n.widegap"
    assert main(["refine", str(model), str(table), "--set-aside", "3", "--model", str(new), "-q"]) == 0
    assert "note: --set-aside is now --outliers" in capsys.readouterr().err
