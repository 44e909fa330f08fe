"""The pages of the results: made from stored cells alone, and what they advise follows from their figures."""

import json
import re

import matplotlib
import numpy as np
import pytest

from experiments import catalogue, page
from experiments import sentences as said
from experiments.__main__ import MACHINE
from experiments.advice import BLOCKS, kinds, time_ratios, with_advice
from experiments.means import mean_of
from experiments.store import Store
from experiments.story import PAPERS, known_means, unexplained
from experiments.tables import CHAPTERS, EXPERIMENTS
from experiments.tables._compare import reasons
from experiments.tables.cluster_numbers import ON_SETS, ON_SHAPES, hits
from experiments.tables.known_topics import by_name
from experiments.tables.mixed import FAMD, TABLES

assert catalogue
WRITTEN = (page.README, *(path for name in ("guide", "how") for path in sorted((page.DOCS / name).glob("*.md"))))
# What stands on a page and is no text of it: what is filled in, code, and formulas.
FILLED = re.compile(
    r"<!-- (measured|timed|speed|panel)\b.*?<!-- end of \1 -->|```.*?```|\$\$.*?\$\$|\$[^$]*\$|`[^`\n]*`", re.DOTALL
)
FIGURE = re.compile(r"\d\.\d|\d ?%|\d times|\d points|\d of \d")
# Figures that are typed because they were not measured: by reason, the page and the words around them.
TYPED = {
    "versions of Python": [("README", "Python 3.11")],
    "defaults and constants of the methods": [
        ("imbalance", "at least 0.3 n/k rows"),
        ("imbalance", "to 0.5\nor more"),
        ("report", "explain 95 % of the column"),
        ("columns", "(97 % or more) and cut less than 0.85 times"),
        ("columns", "exceed those of 95 % of 20 tables"),
        ("cutting-planes", "is 0.2 to 0.3 times the"),
        ("documents", "is 0.3 times the"),
        ("documents", "below 0.85, step 4"),
        ("merging", "width of 1.5 median"),
        ("merging", "2 or 8 times in a row"),
        ("merging", "exceeds 0.3, only merges"),
        ("merging", "is below 0.9 of that"),
        ("merging", "lower by at most 0.1, for *moves* 0.05)"),
        ("merging", "is less than 1.15 times"),
        ("merging", "fewer than 97 % of the labels"),
        ("merging", "less than 97 %, with a ridge"),
        ("number", "exceeds 0.6"),
        ("number", "at least 0.9, *likely* from 0.5 on"),
        ("number", "constants 3, 2.1, 1.2 and ten"),
        ("universum", ", 0.5); beyond that"),
    ],
    "figures of the papers, and what follows from their rules": [
        ("cutting-planes", "The paper's 0.01 is absolute, which is far too loose if  is below 0.1."),
        ("iterative", "below 11 %, but the paper reports 3.6 %"),
        ("universum", "gains of 0.9 to 5.9 points"),
    ],
    "scales that are explained": [
        ("report", "100 % means that all"),
        ("trouble", "rows below 0.7 lie between"),
        ("moves", "labelings of 12 points"),
        ("universum", "with 95 %\nintervals"),
    ],
}


@pytest.fixture(scope="module")
def store():
    return Store()


@pytest.fixture(scope="module")
def written(tmp_path_factory, store):
    """The pages, made anew."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "results").mkdir()
    (folder / "results" / "gone.md").write_text("# A page of former results")
    page.write(store, json.loads(MACHINE.read_text()), folder)
    return folder


@pytest.mark.parametrize("name", ["results.md", *(f"results/{name}.md" for name in CHAPTERS)])
def test_page_is_what_the_stored_results_give(written, name):
    """No figure can be typed by hand: the page is made anew from the results file and must not differ."""
    assert (written / name).read_text() == (page.DOCS / name).read_text(), "run python -m experiments page"


def test_reasons_name_rows_of_tables_and_only_those_that_may_be_missed():
    for table, label in reasons():
        assert table in PAPERS and label in [row.label for row in EXPERIMENTS[table].rows]


def test_a_missed_figure_without_a_reason_is_named(monkeypatch):
    store, known = Store(), dict(reasons())
    missed = [key for key in known if f"{key[0]}: {key[1]}" not in unexplained(store)]
    assert missed == [*known]
    monkeypatch.setattr("experiments.story.reasons", dict)
    assert {f"{table}: {label}" for table, label in known} & set(unexplained(store))


def test_no_page_is_left_of_a_chapter_that_is_gone(written):
    for folder in (written, page.DOCS):
        assert {path.stem for path in (folder / "results").glob("*.md")} == set(CHAPTERS)


def test_the_story_is_on_one_screen():
    story = (page.DOCS / "results.md").read_text().partition("\n## ")[0]
    assert len(story.splitlines()) < 40
    assert all(f"results/{name}.md" in story for name in CHAPTERS if name != "updates")


@pytest.mark.parametrize(
    ("path", "filled"), [(page.README, page.with_panel), *((path, with_advice) for path in page.WITH_BLOCKS)]
)
def test_readme_and_guide_show_the_stored_results(path, filled, store):
    text = path.read_text()
    assert filled(text, store) == text, "run python -m experiments page"


def drawing(path):
    """An SVG's text with coordinates to a tenth of a pixel and without the ids that matplotlib derives from them."""
    plain = re.sub(r"\b[mpch][0-9a-f]{10}\b", "id", path.read_text())
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.1f}", plain)


def test_pictures_are_what_the_stored_results_give(written):
    stored = sorted((page.DOCS / "results").glob("*.svg"))
    assert [path.name for path in stored] == sorted(path.name for path in (written / "results").glob("*.svg"))
    for path in stored:
        if f"Matplotlib v{matplotlib.__version__}" not in path.read_text():
            pytest.skip(f"{path.name} was drawn by another version of matplotlib")
        assert drawing(written / "results" / path.name) == drawing(path), path.name


def test_no_table_of_the_page_is_wider_than_the_view():
    pages = [page.DOCS / "results.md", *(page.DOCS / "results").glob("*.md")]
    widths = [line.count("|---") for path in pages for line in path.read_text().split("\n")]
    assert 2 <= max(widths) <= 8


def test_every_measured_figure_has_its_place():
    found = [mark for path in page.WITH_BLOCKS for mark in said.MARK.findall(path.read_text())]
    assert sorted(name for _, kind, name, *_ in found if kind == "measured") == sorted(BLOCKS)


@pytest.mark.parametrize("path", page.WITH_BLOCKS, ids=lambda path: path.stem)
def test_no_line_begins_with_a_mark_of_its_sentence(path):
    """Markdown takes a line that begins with a comment for HTML, up to its end."""
    lines = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL).splitlines()
    assert not [line for line in lines if re.match(r"[\s*-]*<!-- (measured|timed): \w+ -->.", line)]


def test_a_sentence_keeps_its_words_and_a_block_its_empty_lines():
    functions = {"share": lambda source: f"{source} %", "all": lambda source: f"All {source}."}
    sentence = "Found <!-- measured: share -->1 %<!-- end of measured --> of <!-- timed: s -->2<!-- end of timed -->."
    block = "<!-- measured: all -->\nold\n<!-- end of measured -->"
    assert said.filled(sentence, "measured", functions, 7) == sentence.replace("1 %", "7 %")
    assert said.filled(block, "measured", functions, 7) == block.replace("old", "\nAll 7.\n")
    with pytest.raises(KeyError, match="gone"):
        said.filled(sentence.replace("share", "gone"), "measured", functions, 7)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_no_measured_figure_is_typed(path):
    text = FILLED.sub("", path.read_text())
    for name, words in (words for group in TYPED.values() for words in group):
        if name == path.stem:
            assert words in text, f"{words!r} is not on the page any more: remove it from TYPED"
            text = text.replace(words, "")
    assert not [line for line in text.splitlines() if FIGURE.search(line)]


class TestAdvice:
    """The words of the guide that name a winner, against the figures below them."""

    def best(self, figures):
        return max(figures, key=figures.get)

    def test_kinds_of_data(self, store):
        found = {kind.partition(" (")[0]: line for kind, line in kinds(store).items()}
        assert self.best(found["measurements"]) == "MaxMarginClustering"
        pictures, flags = found["pictures, pixel by pixel"], found["yes/no columns"]
        assert self.best(pictures) == "UMAP + GMM"
        assert max(flags.values()) < 0.2 and flags["KMeans(10)"] > max(flags["MaxMarginClustering"], flags["HDBSCAN"])
        assert self.best(found["shapes in two or three columns"]) == "MaxMarginClustering"

    def test_tables_with_categories(self, store):
        titles = [TABLES, FAMD, "k-prototypes", "Gower + average linkage"]
        means = {title: mean_of("mixed", title, store) for title in titles}
        assert sorted(means, key=means.get, reverse=True) == titles

    def test_texts(self, store):
        titles = ("DocumentClustering", "spherical k-means", "KMeans(10)", "NMF", "LDA", "GMM")
        accuracy, shared = (
            {title: mean_of(name, title, store) for title in titles} for name in ("documents", "documents-nmi")
        )
        assert self.best(accuracy) == "DocumentClustering" and self.best(shared) in titles[:2]

    def test_number_of_groups(self, store):
        drawn, real = ({way: right for way, (right, _) in hits(table, store).items()} for table in (ON_SHAPES, ON_SETS))
        real.pop("most stable", None)
        assert self.best(drawn) == "auto" and self.best(real) == "silhouette"

    def test_time(self, store):
        ratios = time_ratios(store)
        assert min(ratios["letter"], ratios["a9a"]) > 3 and ratios["mnist"] < 1

    def test_known_labels(self, store):
        for budget in (1, 2, 5, 10):
            assert self.best(known_means(budget, store)) == "widegap"
        ten = known_means(10, store)
        assert ten["widegap"] - ten["RBF self-training"] < 5

    def test_digits_1_and_8(self, store):
        linear, moves = (said.pair_1_8(title, store) for title in ("CPM3C", "search by moves"))
        assert linear < 70 and moves > 90 and said.pair_1_8("KMeans(10)", store) < 70

    def test_the_hinge_gets_stuck_and_the_absolute_loss_does_not(self, store):
        first, *_, last = said.turns(said.HINGE, store)
        assert first - last < 5 and said.turns(said.ABSOLUTE, store)[-1] < 5 < said.turns(said.WIDE, store)[-1]
        assert said.beyond(said.HINGE, store) > 50 > 5 > said.beyond(said.ABSOLUTE, store)

    def test_own_starts_are_better_than_the_start_of_the_paper(self, store):
        (mean, worst), (theirs, theirs_worst) = (said.pair_errors(start, store) for start in ("auto", "KM + iterSVR"))
        assert mean < theirs and worst < theirs_worst

    def test_objectives_that_prefer_other_labels(self, store):
        assert min(said.objective_of_classes(label, store) for label in ("ionosphere", "image")) > 10
        assert said.ratio_from_classes(store) > 1.1

    def test_kernels_chosen_without_labels(self, store):
        gain, error = said.kernel_choice(store)
        assert gain < 2 * error

    def test_classes_are_lost_as_published(self, store):
        lost, total = said.lost_classes(store)
        assert 0 < lost <= total

    def test_spherical_k_means_is_more_accurate(self, store):
        assert mean_of("documents", "spherical k-means", store) > mean_of("documents", "KMeans(10)", store)

    def test_a_universum_is_not_for_accuracy(self, store):
        assert "That may be chance" in BLOCKS["universum_rules"](store)
        assert said.universum_cost(store) > 5

    def test_numbers_on_sets_with_classes(self, store):
        right, total = said.most_hits(store)
        assert right < total / 2
        one, tables = said.one_class(store)
        assert one > 0.9 * tables

    def test_known_topics(self, store):
        free, one, two, five = np.array(list(by_name(store).values())).T
        assert (five > free).all() and min((one - free).min(), (two - free).min()) < 0
