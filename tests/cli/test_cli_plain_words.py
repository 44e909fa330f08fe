"""What the summary says where a table tells little: few rows, rows without a value, columns that are not clustered."""

import json

import numpy as np
import pytest

from widegap.cli._main import main


def said(capsys, *arguments):
    """What a command that works writes on the screen, on one line."""
    assert main([str(argument) for argument in arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture
def groups(tmp_path):
    """Two groups of numbers, with a class, an income and a column of categories."""
    rng = np.random.default_rng(0)
    lines = [f"{9 * (i % 2) + rng.normal():.3f},{rng.normal():.3f},{'pq'[i % 2]},{10 - i % 2}" for i in range(40)]
    path = tmp_path / "groups.csv"
    path.write_text("\n".join(["size,income,plan,level", *lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize("rows", ["1,2,x\n3,4,y\n", "1,2,x\n3,4,y\n5,9,x\n", "1,2,x\n" * 3 + "8,9,y\n" * 4])
def test_nothing_is_claimed_of_few_rows(rows, tmp_path, capsys):
    table, page = tmp_path / "few.csv", tmp_path / "few.html"
    table.write_text("a,b,c\n" + rows, encoding="utf-8")
    text = said(capsys, "cluster", table, "--report", page)
    assert "rows are too few to tell how many there are; at least 10 are needed." in text
    lead = page.read_text(encoding="utf-8").split('class="lead"')[1].split("</header>")[0]
    for place in (text, lead):
        assert not {"sure", "clear.", "likely."} & set(place.split())
    assert main(["cluster", str(table), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["number"]["sure"] is None
    assert all(cluster["agreement"] is None for cluster in found["clusters"])


def test_rows_without_a_value_are_told_with_the_option_that_leaves_them_out(tmp_path, capsys):
    table = tmp_path / "one.csv"
    table.write_text(
        "v\n" + "".join("NA\n" if i % 4 == 0 else f"{(i * 37) % 101}\n" for i in range(80)), encoding="utf-8"
    )
    note = "20 rows lack every value that is used; filled, they are all alike. Leave them out with --missing drop."
    assert note in said(capsys, "cluster", table, "-k", "2")
    dropped = said(capsys, "cluster", table, "-k", "2", "--missing", "drop")
    assert "lack every value" not in dropped and "20 rows lack a value and were left out." in dropped


def test_a_column_says_what_it_is_there_for(groups, capsys):
    text = said(capsys, "cluster", groups, "-k", "2", "--label-column", "level")
    assert "it has the labels" in text and "you left it out" not in text
    assert "cluster 9 10 0 " in text  # numbers by their value
    text = said(capsys, "cluster", groups, "-k", "2", "--known-column", "plan", "--drop", "income")
    assert "it has the known labels" in text and "you left it out" in text
    assert "it has the weights of the rows" in said(capsys, "cluster", groups, "-k", "2", "--weight-column", "level")


def test_only_a_near_name_is_suggested(groups, capsys):
    for name, remedy in (("nope", "it has 'size', 'income', 'plan', 'level'."), ("incme", "did you mean 'income'?")):
        assert main(["cluster", str(groups), "--label-column", name]) == 2
        assert remedy in capsys.readouterr().err


def test_bounds_on_sizes_are_called_as_on_the_command_line(groups, tmp_path, capsys):
    model, few = tmp_path / "groups.widegap", tmp_path / "few.csv"
    assert main(["cluster", str(groups), "-k", "2", "--min-size", "3", "--model", str(model), "-q"]) == 0
    few.write_text("\n".join(groups.read_text(encoding="utf-8").splitlines()[:5]), encoding="utf-8")
    assert main(["update", str(model), str(few)]) == 2
    told = capsys.readouterr().err
    assert "--min-size 3 asks for 2 x 3 = 6 rows, but there are 4; lower it or -k" in told and "size_min" not in told
