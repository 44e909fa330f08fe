"""What ``widegap documents`` is told besides the texts: known labels, links, sizes; and what it refuses to be told."""

import csv
import json

import numpy as np
import pytest

from tests.documents.test_document_constraints import written
from widegap import persistence
from widegap.cli._main import main

pytestmark = pytest.mark.usefixtures("wide_screen")


class Run:
    """Runs ``widegap documents`` on thirty documents of three subjects, in one of several forms."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys
        self.subjects, self.texts = written(30)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def table(self, **columns):
        with (self.folder / "table.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["text", *columns], *zip(self.texts, *columns.values(), strict=True)])
        return str(self.folder / "table.csv")

    def lines(self, **keys):
        rows = [dict(zip(["text", *keys], row, strict=True)) for row in zip(self.texts, *keys.values(), strict=True)]
        return self.write("notes.jsonl", "\n".join(map(json.dumps, rows)))

    def notes(self):
        (self.folder / "notes").mkdir(exist_ok=True)
        for i, text in enumerate(self.texts):
            self.write(f"notes/{i:02}.txt", text)
        return str(self.folder / "notes")

    def __call__(self, source, *options, k="3"):
        """Topics of the documents by name of the topic, and the summary."""
        out = self.folder / "out.csv"
        code = main(["documents", source, "-k", k, "-o", str(out), "--json", *options])
        shown = self.capsys.readouterr()
        assert code == 0, shown.err
        with out.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return np.array([row["topic"] for row in rows]), [row["topic_name"] for row in rows], json.loads(shown.out)

    def refusal(self, source, *options, k="3"):
        assert main(["documents", source, "-k", k, *options]) == 2
        return " ".join(self.capsys.readouterr().err.split())


@pytest.fixture
def run(tmp_path, capsys):
    return Run(tmp_path, capsys)


def told(run):
    """Labels of some documents, one of them against its words, and what a file of labels would hold."""
    labels = [str(name) if i < 6 else "" for i, name in enumerate(run.subjects)]
    labels[0] = "sport"
    return labels


@pytest.mark.parametrize("form", ["csv", "jsonl", "folder", "lines"])
def test_known_documents_keep_their_labels_in_every_form(run, form):
    labels = told(run)
    named = {"csv": [f"{i + 1}" for i in range(30)], "folder": [f"{i:02}.txt" for i in range(30)]}
    names = named.get(form, named["csv"])
    pairs = "".join(f"{name},{label}\n" for name, label in zip(names, labels, strict=True) if label)
    if form == "csv":
        source, known = run.table(kind=labels), "kind"
    elif form == "jsonl":
        source, known = run.lines(kind=[label or None for label in labels]), "kind"
    elif form == "folder":
        source, known = run.notes(), run.write("labels.csv", f"file,label\n{pairs}")
    else:
        source, known = run.write("notes.txt", "\n".join(run.texts)), run.write("labels.csv", pairs)
    _, found, summary = run(source, "--known-column", known)
    assert found[:6] == labels[:6]
    assert np.mean(np.array(found[6:]) == run.subjects[6:]) > 0.9
    assert {cluster["name"] for cluster in summary["clusters"]} == {"food", "music", "sport"}
    assert summary["by_hand"]["known"] == 6 and summary["by_hand"]["set_aside"] == 0
    assert f"Fixed by hand: 6 documents known by {known!r} (3 labels)." in summary["warnings"]


def test_links_and_sizes_are_kept_and_told(run, tmp_path):
    must = run.write("must.csv", "one,other\n00.txt,01.txt\n")
    cannot = run.write("cannot.csv", "00.txt;03.txt\n")
    page, model = tmp_path / "r.html", tmp_path / "m.widegap"
    options = ["--must-link", must, "--cannot-link", cannot, "--min-size", "8", "--max-size", "40%"]
    topics, _, summary = run(run.notes(), *options, "--report", str(page), "--model", str(model))
    assert topics[0] == topics[1] != topics[3]
    counts = np.unique(topics, return_counts=True)[1]
    assert counts.min() >= 8 and counts.max() <= 12
    assert (summary["by_hand"]["must_links"], summary["by_hand"]["cannot_links"]) == (1, 1)
    assert "Fixed by hand: 1 must-link, 1 cannot-link." in page.read_text(encoding="utf-8")
    loaded, extra = persistence.load(model)
    assert (loaded.size_min, loaded.size_max) == (8, 0.4)
    (links,) = extra["corrections"]["events"]
    assert links["must_link"] == [[0, 1]] and links["cannot_link"] == [[0, 3]]


def test_ids_name_documents_where_there_are_any(run):
    source = run.table(id=[f"K{i}" for i in range(30)])
    topics, _, _ = run(source, "--must-link", run.write("must.csv", "K0,K1\n"))
    assert topics[0] == topics[1]
    said = run.refusal(source, "--must-link", run.write("must.csv", "K0,K1\nK0,K77\n"))
    assert "must.csv, line 2: 'K77' is not the name of a document, such as 'K0'" in said


def test_a_saved_model_knows_the_names(run, tmp_path):
    model, page = tmp_path / "m.widegap", tmp_path / "r.html"
    run(run.table(kind=told(run)), "--known-column", "kind", "--model", str(model))
    new = run.write(
        "new.jsonl", '{"text": "a late goal in the match"}\n{"text": "flour and yeast, butter and dough"}\n'
    )
    assert main(["predict", str(model), new, "-o", str(tmp_path / "p.csv"), "-q"]) == 0
    with (tmp_path / "p.csv").open(encoding="utf-8", newline="") as file:
        assert [row["topic_name"] for row in csv.DictReader(file)] == ["sport", "food"]
    assert main(["report", str(model), new, "--report", str(page), "-q"]) == 0
    assert "sport" in page.read_text(encoding="utf-8")


def test_a_number_of_topics_is_recommended_and_the_result_keeps_what_was_said(run):
    _, found, summary = run(run.table(kind=told(run)), "--known-column", "kind", k="3-4")
    assert found[:6] == told(run)[:6]
    assert any("compared without --known-column; the result respects it" in note for note in summary["warnings"])


def test_documents_of_the_universum_are_not_told_of(run):
    run.texts[2] = "lorem ipsum dolor"
    junk = run.write("junk.txt", "lorem ipsum dolor\nanother line of junk\n")
    source = run.table(kind=told(run))
    said = run.refusal(source, "--universum", junk, "--must-link", run.write("must.csv", "1,3\n"))
    assert "must.csv, line 1: '3' is also in the universum and gets no topic" in said
    topics, found, _ = run(
        source, "--universum", junk, "--must-link", run.write("must.csv", "1,6\n"), "--known-column", "kind"
    )
    assert len(topics) == 29 and topics[0] == topics[4]  # numbers are those of the file
    assert found[0] == found[4] == "sport"
    links = run.write("links.csv", "1,4\n")
    said = run.refusal(source, "--universum", junk, "--must-link", links, "--cannot-link", links)
    assert "Documents by number: 1 is 'row 1', 3 is 'row 4'." in said


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--known-column", "nothing"], "--known-column 'nothing' is neither a column ('text', 'kind') nor a CSV file"),
        (["--known-column", "empty.csv"], "empty.csv' holds no label at all"),
        (["--known-column", "twice.csv"], "twice.csv, line 2: '1' is 'b' and also 'a'; keep one."),
        (
            ["--known-column", "far.csv"],
            "far.csv, line 2: '31' is not the number of a row with a document, counted from 1",
        ),
        (["--known-column", "four.csv"], "four.csv holds 4 labels"),
        (["--must-link", "links.csv", "--cannot-link", "links.csv"], "1 and 2 cannot be together by --cannot-link"),
        (["--min-size", "11"], "--min-size asks for 3 clusters of 11 rows or more, but there are 30"),
        (["--outliers", "5%"], "--outliers is not available for documents: those without any term"),
        (["--weight-column", "kind"], "--weight-column is not available for documents: term weights depend"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(run, tmp_path, options, expected):
    files = {
        "empty.csv": "1,-1\n2,\n",
        "twice.csv": "1,a\n1,b\n",
        "far.csv": "1,a\n31,b\n",
        "four.csv": "1,a\n2,b\n3,c\n4,d\n",
        "links.csv": "1,2\n",
    }
    for name, text in files.items():
        run.write(name, text)
    options = [str(tmp_path / option) if option in files else option for option in options]
    assert expected in run.refusal(run.table(kind=told(run)), *options)


def test_contradictions_name_the_documents(run):
    links = run.write("links.csv", "00.txt,04.txt\n")
    said = run.refusal(run.notes(), "--must-link", links, "--cannot-link", links)
    assert "Documents by number: 1 is '00.txt', 5 is '04.txt'." in said


def test_a_folder_has_no_columns(run):
    assert "neither a column: there is none nor a CSV file" in run.refusal(run.notes(), "--known-column", "kind")
