"""Stop words by language, and phrases of topics."""

import pytest

from widegap import DocumentClustering, datasets, report
from widegap.documents import _languages
from widegap.documents._languages import detect_language, stop_words_of
from widegap.documents._phrases import phrases_of, with_phrases
from widegap.exceptions import InvalidDataError

SENTENCES = {
    "english": "The cat is on the table and does not want to come down with the others.",
    "german": "Der Hund läuft über die Straße und sucht nach seinem Herrn, der nicht da ist.",
    "french": "Le chat est sur la table et il ne veut pas descendre avec les autres.",
    "spanish": "El perro está en la calle y no quiere volver con los otros a la casa.",
    "italian": "Il cane non vuole tornare a casa con gli altri perché la strada è troppo bella.",
    "dutch": "De hond is op straat en hij wil niet met de anderen naar het huis van zijn baas.",
    "swedish": "Hunden är på gatan och han vill inte gå hem med de andra som är där.",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_languages_are_recognised(language):
    if language != "english":
        pytest.importorskip("stop_words")
    assert detect_language([SENTENCES[language]]) == language


def test_what_is_no_language_is_not_recognised():
    assert detect_language(["int main void return printf stdio include"]) is None
    assert detect_language(["", "  "]) is None


def test_auto_takes_the_list_of_the_language():
    texts = datasets.load_docstrings(return_X_y=True)[0][:60]
    auto, english = (
        DocumentClustering(2, stop_words=words, random_state=0).fit(texts) for words in ("auto", "english")
    )
    assert auto.terms_.tolist() == english.terms_.tolist()
    assert auto._reader.vocabulary.language == "english"


def test_unknown_languages_are_refused(monkeypatch):
    with pytest.raises(InvalidDataError, match="stop_words='klingon' is not known; choose 'auto', one of english"):
        DocumentClustering(2, stop_words="klingon").fit(list(SENTENCES.values()))
    monkeypatch.setattr(_languages, "_lists", dict)
    with pytest.raises(InvalidDataError, match=r"pip install 'widegap\[documents\]'"):
        stop_words_of("german")
    assert detect_language([SENTENCES["english"]]) == "english"


def test_pairs_of_words_that_belong_together_are_phrases():
    texts = [
        "the space station orbits",
        "a space station again",
        "space station and moon",
        "moon orbits alone",
        "orbits",
    ]
    assert phrases_of(texts, ["space", "station", "moon", "orbits"]) == [("space", "station")]
    assert phrases_of(texts[:2], ["space", "station"]) == []  # in too few documents
    often = [*texts, *["space is large", "a station is small"] * 9]
    assert phrases_of(often, ["space", "station"]) == []  # mostly apart


def test_phrases_stand_for_their_words():
    texts = ["space station"] * 4 + ["bread flour", "flour bread"] * 4
    terms = {0: ["moon", "station", "space"], 1: ["bread", "flour"]}
    found = with_phrases(texts, [0] * 4 + [1] * 8, terms, 3)
    assert found[0] == ["moon", "space station"]
    assert found[1] in (["bread flour"], ["flour bread"])


def test_the_report_tells_topics_by_phrases():
    texts = [f"space station crew {i}" for i in range(6)] + [f"bread with flour and yeast {i}" for i in range(6)]
    model = DocumentClustering(2, random_state=0).fit(texts)
    summary = report.summarize(model, texts)
    terms = [item["feature"] for cluster in summary["clusters"] for item in cluster["separates"]]
    assert any("space station" in term or "station crew" in term for term in terms)
