"""``widegap documents``: texts from folders, tables, JSON lines and standard input."""

import csv
import io
import json
import sys

import pytest

from widegap.cli import _document_reading
from widegap.cli._errors import CommandError
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
    assert "6 documents, 2 topics" in shown
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
    assert main(["report", str(model), str(new), "--report", str(tmp_path / "r2.html"), "-q"]) == 0
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
    if kind == "jsonl":
        assert out.read_text(encoding="utf-8").startswith("id,topic,topic_name,margin")
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
    assert "With the 2 documents of the universum " in " ".join(found["warnings"])


def test_documents_in_both_folders_get_no_topic(folder, tmp_path, capsys):
    junk = tmp_path / "junk"
    junk.mkdir()
    first = min(path for path in folder.rglob("*") if path.is_file())
    (junk / "same.txt").write_text(first.read_text(encoding="utf-8").replace(" ", "\n"), encoding="utf-8")
    out = tmp_path / "out.csv"
    assert main(["documents", str(folder), "-k", "2", "--universum", str(junk), "-o", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "note: 1 document is also in the universum and got no topic." in said
    assert "5 documents, 2 topics" in said
    assert len(out.read_text(encoding="utf-8").splitlines()) == 6
    assert "none is left" in complaint(capsys, folder, "-k", "2", "--universum", folder)


def minimal_pdf(text):
    """A PDF file of one page with a line of text."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(content)
    return content + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def test_pdf_and_word_files_are_read_or_named(tmp_path, capsys):
    docx = pytest.importorskip("docx")
    pytest.importorskip("pypdf")
    folder = tmp_path / "notes"
    folder.mkdir()
    for i, text in enumerate(TEXTS):
        if i % 2:
            (folder / f"{i}.pdf").write_bytes(minimal_pdf(text))
        else:
            document = docx.Document()
            document.add_paragraph(text)
            document.save(str(folder / f"{i}.docx"))
    (folder / "broken.pdf").write_bytes(minimal_pdf("x")[:80])
    (folder / "broken.docx").write_bytes(b"PK\x03\x04 nothing")
    (folder / "empty.pdf").write_bytes(minimal_pdf(""))
    (folder / "sheet.xlsx").write_bytes(b"PK")
    out = tmp_path / ("a-long-name-" * 8 + "out.csv")
    assert main(["documents", str(folder), "-k", "2", "-o", str(out)]) == 0
    assert topics_of(out, range(6))
    said = " ".join(capsys.readouterr().out.split())
    assert "broken.pdf is damaged" in said
    assert "broken.docx is damaged" in said
    assert "empty.pdf holds no text" in said
    assert "Skipped, not documents by their endings: sheet.xlsx." in said
    assert str(out) in said, "a path is not cut at the edge of the screen"
    assert "put it in a folder with others" in complaint(capsys, folder / "1.pdf", "-k", "2")


def test_office_files_have_limits(tmp_path, monkeypatch):
    pytest.importorskip("pypdf")
    path = tmp_path / "a.pdf"
    path.write_bytes(minimal_pdf("bread"))
    assert _document_reading.read_office(path).strip() == "bread"
    monkeypatch.setattr(_document_reading, "MAX_PAGES", 0)
    with pytest.raises(CommandError, match="has 1 pages, more than the 0 that are read"):
        _document_reading.read_office(path)
    monkeypatch.setattr(_document_reading, "MAX_FILE_BYTES", 1)
    with pytest.raises(CommandError, match="more than the 0 MB that are read"):
        _document_reading.read_office(path)


def test_a_docx_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    docx = pytest.importorskip("docx")
    docx.Document().save(str(tmp_path / "a.docx"))
    monkeypatch.setattr(_document_reading, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(CommandError, match="would unpack to"):
        _document_reading.read_office(tmp_path / "a.docx")


def test_ids_and_titles_are_kept(tmp_path, capsys):
    path = tmp_path / "d.jsonl"
    rows = [{"id": f"n-{i}", "title": f"Note {i}", "text": text} for i, text in enumerate(TEXTS)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    report = tmp_path / "r.json"
    assert main(["documents", str(path), "-k", "2", "-q", "--report", str(report)]) == 0
    point = json.loads(report.read_text(encoding="utf-8"))["map"]["points"][3]
    assert (point["id"], point["title"], point["text"]) == ("n-3", "Note 3", TEXTS[3])


@pytest.mark.parametrize("content", ['{"0": "Kitchen", "1": "Pitch"}', "cluster,name\n0,Kitchen\n1,Pitch\n"])
def test_topics_get_the_names_of_a_file(content, folder, tmp_path, capsys):
    names, model, page = tmp_path / "names.json", tmp_path / "m.widegap", tmp_path / "r.html"
    names.write_text(content, encoding="utf-8")
    arguments = ["documents", str(folder), "-k", "2", "--json", "--names", str(names), "--model", str(model)]
    assert main(arguments) == 0
    assert [c["name"] for c in json.loads(capsys.readouterr().out)["clusters"]] == ["Kitchen", "Pitch"]
    assert main(["report", str(model), str(folder), "--report", str(page), "--names", str(names)]) == 0
    assert ">Kitchen</bdi>" in page.read_text(encoding="utf-8")
    names.write_text("{oops", encoding="utf-8")
    assert "does not hold names of clusters; write" in complaint(capsys, folder, "-k", "2", "--names", names)
    assert "no such file; the report's" in complaint(capsys, folder, "-k", "2", "--names", tmp_path / "none")
    names.write_text('{"7": "x"}', encoding="utf-8")
    assert "a name for cluster '7', which does not exist" in complaint(capsys, folder, "-k", "2", "--names", names)


GERMAN = [
    "das Brot und die Butter sind auf dem Tisch, und der Teig ist noch nicht fertig",
    "der Teig für das Brot braucht Mehl und Hefe, aber nicht zu viel Salz",
    "wir backen das Brot mit dem Mehl, das sie uns gegeben haben",
    "der Torwart hat den Ball nicht gehalten, und das Tor war für die Gäste",
    "ein Tor in der letzten Minute hat das Spiel für die Mannschaft entschieden",
    "die Mannschaft hat das Spiel nach einem Tor mit dem Kopf gewonnen",
]


def test_the_language_is_recognised(tmp_path, capsys):
    pytest.importorskip("stop_words")
    path = tmp_path / "d.txt"
    path.write_text("\n".join(GERMAN), encoding="utf-8")
    assert main(["documents", str(path), "-k", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "The documents are in German: its stop words were ignored;" in " ".join(found["warnings"])
    terms = {item["feature"] for cluster in found["clusters"] for item in cluster["separates"]}
    assert not terms & {"das", "der", "und", "die"}
    assert "is not known; choose 'auto', one of english, arabic" in complaint(
        capsys, path, "-k", "2", "--language", "x"
    )


def complaint(capsys, *arguments):
    assert main(["documents", *map(str, arguments)]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" ...")]
    return line


def test_errors_name_the_remedy(folder, tmp_path, capsys):
    assert "no such file or folder" in complaint(capsys, tmp_path / "none", "-k", "2")
    assert "asks for more topics than there are documents (6)" in complaint(capsys, folder, "-k", "7")
    (tmp_path / "void").mkdir()
    assert "holds no documents; they end in .txt" in complaint(capsys, tmp_path / "void", "-k", "2")
    (tmp_path / "void" / "a.txt").write_bytes(b"\0\0")
    assert "none of 1 files could be read" in complaint(capsys, tmp_path / "void", "-k", "2")
    path = tmp_path / "d.jsonl"
    path.write_text('{"text": "a"}\n{oops\n', encoding="utf-8")
    assert "line 2 is not JSON" in complaint(capsys, path, "-k", "2")
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
    assert "would overwrite a file that this command reads" in complaint(capsys, table, "-k", "2", "--report", table)


def test_json_is_printed_even_if_quiet(folder, capsys):
    assert main(["documents", str(folder), "-k", "2", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 6


def test_files_that_are_no_text_are_left_out_and_named(folder, capsys):
    (folder / "broken.txt").write_bytes(b"abc\0")
    assert main(["documents", str(folder), "-k", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "note: Skipped:" in shown
    assert "convert it to plain text, or leave it out" in shown
    assert "6 documents" in shown


def test_more_topics_than_different_documents_are_noted(tmp_path, capsys):
    path = tmp_path / "d.txt"
    path.write_text("\n".join([FOOD[0], SPORT[0]] * 4), encoding="utf-8")
    assert main(["documents", str(path), "-k", "3"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "-k 3 asks for more topics than there are different documents (2), so equal" in said
    assert "ask for 2 or fewer" in said


def test_other_languages_keep_english_stop_words(folder, capsys):
    arguments = ["documents", str(folder), "-k", "2", "--json"]
    assert main(arguments) == 0
    few = json.loads(capsys.readouterr().out)["n_features"]
    assert main([*arguments, "--language", "other"]) == 0
    assert json.loads(capsys.readouterr().out)["n_features"] > few


@pytest.mark.parametrize("command", ["documents", "predict"])
def test_a_table_of_documents_is_written_without_a_report(command, folder, tmp_path, monkeypatch):
    model, expected, found = (tmp_path / name for name in ("m.widegap", "expected.csv", "found.csv"))
    assert main(["documents", str(folder), "-k", "2", "-o", str(expected), "--model", str(model)]) == 0
    monkeypatch.setattr("widegap.results.Result.summary", lambda *args: pytest.fail("a report was made"))
    arguments = [str(folder), "-k", "2"] if command == "documents" else [str(model), str(folder)]
    assert main([command, *arguments, "-o", str(found), "-q"]) == 0
    assert topics_of(found, [1, 3, 5, 0, 2, 4])
    if command == "documents":
        assert found.read_bytes() == expected.read_bytes()
