"""Words, scripts and languages of hand-written documents, at both sides of every share."""

import numpy as np
import pytest

from widegap.documents import _languages
from widegap.documents._languages import detect_language, known_languages, stop_words_of
from widegap.documents._phrases import phrases_of, with_phrases
from widegap.documents._words import count_words, overlap, script_language, tokens


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("日本 ab", None),  # as many signs as letters
        ("日本語 ab", "chinese"),
        ("日本語 abc", None),
        ("日" * 19 + "の", "chinese"),  # a twentieth of the signs
        ("日" * 18 + "の", "japanese"),
        ("日" * 18 + "ア", "japanese"),
        ("のの a", "japanese"),  # a single letter is no word
        ("", None),
        ("only words", None),
    ],
)
def test_the_script_tells_chinese_and_japanese(text, language):
    assert script_language(text) == language


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("日本", "本語", True),
        ("日本", "語本", False),
        ("日本", "本", False),
        ("本", "本語", False),
        ("日本語", "語学", False),
        ("ab", "bc", False),
        ("ไท", "ทย", True),
        ("日本", "本ย", False),
    ],
)
def test_pairs_of_one_run_overlap(first, second, expected):
    assert overlap(first, second) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ア", []),
        ("アイ ab", ["ab", "アイ"]),
        ("さくら ab", ["ab"]),
        ("さくら 日", ["日"]),
        ("ย", []),
        ("Ab a B bC", ["ab", "bc"]),
        ("日本語学", ["日本", "本語", "語学"]),
        ("<p>Bread</p><p>and</p> x", ["bread", "and"]),
    ],
)
def test_tokens_at_the_edges(text, expected):
    assert list(tokens(text)) == expected


def test_words_are_counted():
    counts, words = count_words(["b aa bb aa", "", "cc bb bb bb"])
    assert words.tolist() == ["aa", "bb", "cc"]
    assert counts.toarray().tolist() == [[2, 1, 0], [0, 0, 0], [0, 3, 1]]
    counts, words = count_words(["", "a 1"])
    assert counts.shape == (2, 0) and words.shape == (0,)


@pytest.fixture
def english_alone(monkeypatch):
    monkeypatch.setattr(_languages, "_lists", dict)


@pytest.mark.parametrize(("stop_words", "language"), [(3, "english"), (2, None)])
def test_fifteen_in_a_hundred_words_tell_a_language(english_alone, stop_words, language):
    assert detect_language(["the " * stop_words + "qwrt " * (20 - stop_words)]) == language
    assert detect_language(["", "the " * stop_words, "qwrt " * (20 - stop_words)]) == language


def test_every_second_of_six_hundred_documents_is_read(english_alone):
    documents = ["the the", "qwrt " * 40] * 300
    assert detect_language(documents) == "english"
    assert detect_language(documents[1:]) is None  # 599: all of them
    assert detect_language(["qwrt", *documents[1:]]) == "english"


def test_the_first_three_hundred_words_are_read(english_alone):
    assert detect_language(["qwrt " * 255 + "the " * 45 + "qwrt " * 9]) == "english"
    assert detect_language(["qwrt " * 256 + "the " * 45]) is None


def test_the_first_thousand_signs_show_the_script(monkeypatch):
    monkeypatch.setattr(_languages, "_lists", lambda: {"chinese": frozenset()})
    assert detect_language(["a" * 500 + "日" * 501]) is None
    assert detect_language(["a" * 499 + "日" * 501 + "a" * 99]) == "chinese"
    assert known_languages() == ["english", "chinese"]
    assert stop_words_of("chinese") == frozenset() and "the" in stop_words_of("english")


def test_a_phrase_stands_in_three_documents():
    texts = ["space station"] * 3
    assert phrases_of(texts, ["space", "station"]) == [("space", "station")]
    assert phrases_of([*texts[:2], "space station space station"], ["space", "station"])[0] == ("space", "station")
    assert phrases_of(["space station crew space station", "space station"], ["space", "station"]) == []
    assert phrases_of(texts, ["space"]) == [] and phrases_of(texts, ["station"]) == []
    assert phrases_of(["bye bye"] * 3, ["bye"]) == []


@pytest.mark.parametrize(("alone", "is_phrase"), [(6, True), (7, False)])
def test_a_phrase_is_every_third_place_of_its_rarer_word(alone, is_phrase):
    texts = ["space station"] * 3 + ["station"] * 50
    found = [("space", "station")] if is_phrase else []
    assert phrases_of([*texts, *["space"] * alone], ["space", "station"]) == found
    swapped = [" ".join(reversed(text.split())) for text in texts]
    assert phrases_of([*swapped, *["space"] * alone], ["space", "station"]) == [pair[::-1] for pair in found]


def test_frequent_phrases_come_first_then_by_their_words():
    texts = ["aa bb"] * 3 + ["ee ff"] * 5 + ["cc dd"] * 3 + ["cc dd cc dd"]
    assert phrases_of(texts, "ff ee dd cc bb aa".split()) == [("cc", "dd"), ("ee", "ff"), ("aa", "bb")]


def test_phrases_take_the_better_place_of_their_words():
    texts, labels = ["aa bb", "cc dd"] * 4, [0] * 8
    assert with_phrases(texts, labels, {0: ["cc", "bb", "xx", "aa", "dd"]}, 5) == {0: ["cc dd", "aa bb", "xx"]}
    assert with_phrases(texts, labels, {0: ["xx", "bb", "cc", "aa", "dd"]}, 2) == {0: ["xx", "aa bb"]}
    assert with_phrases(texts, [1] * 8, {0: ["aa", "bb"]}, 5) == {0: ["aa", "bb"]}
    three = ["aa bb cc"] * 4
    assert with_phrases(three, [0] * 4, {0: ["aa", "bb", "cc"]}, 5) == {0: ["aa bb", "cc"]}  # two words at most
    chain = ["日本語学"] * 4
    assert with_phrases(chain, [0] * 4, {0: ["語学", "xx", "日本", "本語"]}, 5) == {0: ["日本語学", "xx"]}


def test_phrases_are_counted_in_two_thousand_documents():
    texts = ["xx"] * 1997 + ["aa bb"] * 3
    assert with_phrases(texts, np.zeros(2000, int), {0: ["aa", "bb"]}, 2) == {0: ["aa bb"]}
    assert with_phrases(["xx", *texts], np.zeros(2001, int), {0: ["aa", "bb"]}, 2) == {0: ["aa", "bb"]}
