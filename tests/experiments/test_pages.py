"""The pages of the results: made from stored cells alone, and what they advise follows from their figures."""

import json
import re

import matplotlib
import pytest

from experiments import catalogue, page
from experiments.__main__ import MACHINE
from experiments.advice import BLOCK, BLOCKS, kinds, time_ratios, with_advice
from experiments.means import mean_of
from experiments.store import Store
from experiments.story import PAPERS, known_means, unexplained
from experiments.tables import CHAPTERS, EXPERIMENTS
from experiments.tables._compare import reasons
from experiments.tables.cluster_numbers import ON_SETS, ON_SHAPES, hits
from experiments.tables.mixed import FAMD, TABLES

assert catalogue
CHOOSE = page.WITH_BLOCKS[0].read_text()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages, made anew."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "results").mkdir()
    (folder / "results" / "gone.md").write_text("# A page of former results")
    page.write(Store(), json.loads(MACHINE.read_text()), folder)
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
def test_readme_and_guide_show_the_stored_results(path, filled):
    text = path.read_text()
    assert filled(text, Store()) == text, "run python -m experiments page"


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


def test_every_block_has_its_place_and_no_figure_of_the_choice_is_typed():
    placed = [name for path in page.WITH_BLOCKS for _, name, _ in BLOCK.findall(path.read_text())]
    assert sorted(placed) == sorted(BLOCKS)
    typed = re.sub(r"<!-- speed.*?<!-- end of speed -->|```.*?```", "", BLOCK.sub("", CHOOSE), flags=re.DOTALL)
    assert not re.findall(r"\d+\.\d|\d ?%|\d+ times", typed)


@pytest.fixture(scope="module")
def store():
    return Store()


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
