"""HTML documents as people read them."""

import html as standard
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap import DocumentClustering, report
from widegap.cli._document_reading import read_documents
from widegap.documents._markup import html_text, plain_text

PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>Bread &amp; salt</title><meta charset="utf-8">
<style>p { color: red }</style><script>if (1 < 2) { document.write("<p>code</p>") }</script></head>
<body><!-- a comment with <b>tags</b> --><nav><a href="/">Home</a><a href="/about" title="1 > 0">About</a></nav>
<h1>Baking</h1><p>Mix <b>f</b>lour<br>with&nbsp;yeast.</p><ul><li>water</li><li>salt</li></ul>
<table><tr><td>500</td><td>grams</td></tr></table></body></html>"""


def test_a_page_becomes_lines_of_text():
    assert plain_text(PAGE).splitlines() == [
        "Bread & salt",
        "Home About",
        "Baking",
        "Mix flour",
        "with yeast.",
        "water",
        "salt",
        "500",
        "grams",
    ]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<p>Fish &amp; chips</p>", "Fish & chips"),
        ("<html><style>p {color: red}</style>Shown<script>var x = '<b>';</script>!</html>", "Shown !"),
        ("<HTML><HEAD><TITLE>Caf&eacute;</TITLE>", "Café"),
        ("<html>never closed <script>code", "never closed"),
        ("<html>never closed <!-- comment", "never closed comment"),
        ("<html><p>3 < 4 and 5 > 4</p>", "3 < 4 and 5 > 4"),
        ("<p>&lt;b&gt; is a tag</p>", "<b> is a tag"),
        ("<p>one</p><![CDATA[two]]><?php three ?>", "one"),
        ('<p class="a">it\'s</p>', "it's"),
        ("<p title=it's>text</p>", "text"),
        ("<SCRIPT type=x>code</SCRIPT ><p>text</p>", "text"),
    ],
)
def test_markup_goes(page, words):
    assert plain_text(page).split() == words.split()


@pytest.mark.parametrize("text", ["a < b and b > c", "std::vector<int> v;", "mail <me@home.org>", "x </sigh> y"])
def test_text_that_is_no_html_stays(text):
    assert plain_text(text) == text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=20), max_size=6))
def test_escaped_paragraphs_come_back(paragraphs):
    page = "".join(f"<p>{standard.escape(text)}</p>" for text in paragraphs)
    lines = [" ".join(line.split()) for text in paragraphs for line in text.splitlines()]
    assert html_text(page).splitlines() == [line for line in lines if line]


class Counted(str):
    """A text that counts how many of its signs are looked at by searches for the end of a comment."""

    seen = 0

    def find(self, *arguments):
        self.seen += len(self) - arguments[1]
        return super().find(*arguments)


def test_a_comment_that_never_ends_is_sought_once():
    page = Counted("<html>" + "<!-- " * 1000)
    assert html_text(page).split() == []
    assert page.seen < len(page)


@pytest.mark.parametrize("piece", ["<", "<script", "<a href='", '<a b="', "</", "<!--", "<![", "<a b=c ", "&#"])
def test_what_is_never_closed_does_no_harm(piece):
    html_text("<html>" + piece * 200_000)  # in quadratic time this would take hours


def test_reports_show_no_tags():
    pages = [
        f"<html><body><p>{text}</p></body></html>" for text in ("flour yeast", "bread flour", "goal", "match goal")
    ]
    model = DocumentClustering(2, random_state=0).fit(pages)
    page = report.render(report.summarize(model, pages))
    assert "bread flour" in page and "lt;p" not in page and "<p>bread" not in page
    assert [item["text"] for topic in report.summarize(model, pages)["clusters"] for item in topic["representatives"]]


def test_documents_of_all_files_lose_their_tags(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "folder" / "b.htm").write_text("no tags but &eacute;", encoding="utf-8")
    (tmp_path / "folder" / "c.txt").write_text("a < b &amp; c", encoding="utf-8")
    found = read_documents(tmp_path / "folder", None, "auto").X
    assert found[0].startswith("Bread & salt\nHome About") and found[1:] == ["no tags but é", "a < b &amp; c"]
    entry = {"text": "<p>one</p><p>two</p>"}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(entry)}\n" * 2)
    assert read_documents(tmp_path / "a.jsonl", None, "auto").X == ["one\ntwo"] * 2
    (tmp_path / "a.csv").write_text("body\n<p>one</p><p>two</p>\n<i>x</i>y z\n")
    assert read_documents(tmp_path / "a.csv", None, "auto").X == ["one\ntwo", "xy z"]
    (tmp_path / "a.txt").write_text("<p>one</p><p>two</p>\nthree\n")
    assert read_documents(tmp_path / "a.txt", None, "auto").X == ["one\ntwo", "three"]
