"""``widegap documents``: texts from folders, tables, JSON lines and standard input."""

import csv
import io
import json
import sys

import pytest

from widegap.cli._main import main

FOOD = ["bake the bread with flour and yeast", "flour, yeast and water for bread", "bread needs salt, flour and yeast"]
SPORT = ["the goalkeeper saved a late goal", "a late goal decided the match", "the match ended without a goal"]
TEXTS = [*FOOD, *SPORT]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "notes"
    (path / "deep").mkdir(parents=True)
    for i, text in enumerate(TEXTS):
        name, content = (f"{i}.txt", text) if i % 2 else (f"deep/{i}.html", f"<p>{text}</p>")
        (path / name).write_text(content, encoding="utf-8")
    (path / "ignored.bin").write_bytes(b"\0\1")
    return path


def topics_of(path, order):
    """Whether the documents in ``order`` (their numbers by row) fall into the two subjects."""
    with path.open(encoding="utf-8", newline="") as file:
        labels = dict(zip(order, [row["topic"] for row in csv.DictReader(file)], strict=True))
    return len({labels[i] for i in range(3)}) == len({labels[i] for i in range(3, 6)}) == 1 and labels[0] != labels[5]


def test_a_folder(folder, tmp_path, capsys):
    out, page, model = tmp_path / "out.csv", tmp_path / "r.html", tmp_path / "m.widegap"
    arguments = ["documents", str(folder), "-k", "2", "-o", str(out), "--report", str(page), "--model", str(model)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "6 documents, 2 clusters" in shown
    assert "goal" in shown
    assert "bread" in shown
    order = [1, 3, 5, 0, 2, 4]
    rows = out.read_text(encoding="utf-8").splitlines()
    assert rows[1].startswith("1.txt,")
    assert rows[4].startswith("deep/0.html,")
    assert topics_of(out, order)
    assert "deep/0.html" in page.read_text(encoding="utf-8")

    new = tmp_path / "new.jsonl"
    new.write_text('{"text": "a goal in the last match"}\n{"text": "yeast for bread"}\n', encoding="utf-8")
    assert main(["predict", str(model), str(new), "-o", str(tmp_path / "p.csv"), "-q"]) == 0
    found = (tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1] for line in found[1:]] == [rows[2].split(",")[1], rows[4].split(",")[1]]
    assert main(["report", str(model), str(new), "-o", str(tmp_path / "r2.html"), "-q"]) == 0
    assert "2</b> documents" in (tmp_path / "r2.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["jsonl", "csv", "lines"])
def test_other_forms(kind, tmp_path, capsys):
    path = tmp_path / {"jsonl": "d.jsonl", "csv": "d.csv", "lines": "d.txt"}[kind]
    if kind == "jsonl":
        path.write_text("\n".join(json.dumps({"id": 1, "body": text}) for text in TEXTS), encoding="utf-8")
    elif kind == "csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["id", "note"], *enumerate(TEXTS)])
    else:
        path.write_text("\n".join(TEXTS), encoding="utf-8")
    out = tmp_path / "out.csv"
    assert main(["documents", str(path), "-k", "2", "-o", str(out)]) == 0
    assert topics_of(out, range(6))
    notes = " ".join(capsys.readouterr().out.split())
    assert {"jsonl": "6 documents", "csv": "taken from column 'note'", "lines": "taken for one document"}[kind] in notes


def test_standard_input_and_universum(folder, tmp_path, monkeypatch, capsys):
    junk = tmp_path / "junk.txt"
    junk.write_text("all rights reserved bread goal\nterms of use match flour\n", encoding="utf-8")
    stdin = type("Stdin", (), {"buffer": io.BytesIO("\n".join(TEXTS).encode())})()
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["documents", "-", "-k", "2", "--universum", str(junk), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_rows"] == 6
    assert len(found["clusters"]) == 2


def complaint(capsys, *arguments):
    assert main(["documents", *map(str, arguments)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_errors_name_the_remedy(folder, tmp_path, capsys):
    assert "no such file or folder" in complaint(capsys, tmp_path / "none", "-k", "2")
    assert "asks for more topics than there are documents (6)" in complaint(capsys, folder, "-k", "7")
    (tmp_path / "void").mkdir()
    assert "holds no documents; they end in .txt" in complaint(capsys, tmp_path / "void", "-k", "2")
    (tmp_path / "void" / "a.txt").write_bytes(b"\0\0")
    assert "none of 1 files is text" in complaint(capsys, tmp_path / "void", "-k", "2")
    path = tmp_path / "d.jsonl"
    path.write_text('{"text": "a"}\n{oops\n', encoding="utf-8")
    assert "line 2: no JSON" in complaint(capsys, path, "-k", "2")
    path.write_text('{"text": "a"}\n{"other": 1}\n', encoding="utf-8")
    assert "line 2: no text under 'text'; it has ['other']" in complaint(capsys, path, "-k", "2")
    path.write_text("[1]\n", encoding="utf-8")
    assert "must be an object" in complaint(capsys, path, "-k", "2")
    path.write_text("", encoding="utf-8")
    assert "is empty; at least two documents" in complaint(capsys, path, "-k", "2")
    table = tmp_path / "d.csv"
    table.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    assert "has no column 'c'; it has ['a', 'b']" in complaint(capsys, table, "-k", "2", "--text-column", "c")


def test_columns_of_numbers_are_no_documents(tmp_path, capsys):
    table = tmp_path / "d.csv"
    table.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    line = complaint(capsys, table, "-k", "2")
    assert "has no column of texts, only numbers (['a', 'b']); 'widegap cluster'" in line
    assert "column 'a' holds numbers, not texts" in complaint(capsys, table, "-k", "2", "--text-column", "a")
    rows = "".join(f"{10**60 + i},{text}\n" for i, text in enumerate(TEXTS))  # longer than any text on average
    table.write_text("number,note\n" + rows.replace(", yeast", " yeast").replace(", flour", " flour"), encoding="utf-8")
    assert main(["documents", str(table), "-k", "2"]) == 0
    assert "taken from column 'note'" in " ".join(capsys.readouterr().out.split())


def test_results_do_not_replace_what_is_read(tmp_path, capsys):
    table = tmp_path / "d.txt"
    table.write_text("\n".join(TEXTS), encoding="utf-8")
    assert "would replace what is read" in complaint(capsys, table, "-k", "2", "--report", table)


def test_json_is_printed_even_if_quiet(folder, capsys):
    assert main(["documents", str(folder), "-k", "2", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 6


def test_files_that_are_no_text_are_left_out_and_named(folder, capsys):
    (folder / "broken.txt").write_bytes(b"abc\0")
    assert main(["documents", str(folder), "-k", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "note: Left out:" in shown
    assert "convert it to plain text, or leave it out" in shown
    assert "6 documents" in shown


def test_more_topics_than_different_documents_are_noted(tmp_path, capsys):
    path = tmp_path / "d.txt"
    path.write_text("\n".join([FOOD[0], SPORT[0]] * 4), encoding="utf-8")
    assert main(["documents", str(path), "-k", "3"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "-k 3 asks for more topics than there are different documents (2), so that" in said
    assert "ask for 2 or fewer" in said


def test_other_languages_keep_english_stop_words(folder, capsys):
    arguments = ["documents", str(folder), "-k", "2", "--json"]
    assert main(arguments) == 0
    few = json.loads(capsys.readouterr().out)["n_features"]
    assert main([*arguments, "--language", "other"]) == 0
    assert json.loads(capsys.readouterr().out)["n_features"] > few
