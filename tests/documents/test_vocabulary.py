"""Documents to words, words to rows of term weights."""

import numpy as np
import pytest
import scipy.sparse as sp

from widegap.base._validation import check_documents, input_kind
from widegap.documents._corpus import cosines_to_means
from widegap.documents._vocabulary import DocumentTerms, RawDocuments, TermChoice, TermMatrix
from widegap.documents._words import tokens
from widegap.exceptions import InvalidDataError

ALL = TermChoice(min_df=1, max_df=1.0, max_features=None)


def reader(choice=ALL, stop_words="english", stemmer=None):
    return DocumentTerms(choice, stop_words, stemmer)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The C3PO's R2-D2 isn't a droid_2", ["the", "po", "isn", "droid"]),
        ("Gemüse & crème brûlée", ["gemüse", "crème", "brûlée"]),
        ("привет, мир", ["привет", "мир"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया"]),
        ("日本語 text", ["text", "日本", "本語"]),
        ("犬がコンピュータの前で走る", ["犬", "コンピュータ", "前", "走"]),
        ("科学的研究，最新的望远镜", ["科学", "研究", "最新", "望远", "远镜"]),
        ("さくら", ["さく", "くら"]),
        ("ไทย", ["ไท", "ทย"]),
        ("한국어 문서", ["한국어", "문서"]),
        ("", []),
        ("x 1 !", []),
    ],
)
def test_tokens(text, expected):
    assert list(tokens(text)) == expected


def test_weights_by_hand():
    rows = reader().fit_transform(["apple apple pear", "pear plum", "pear"])
    expected = np.array([[(1 + np.log(2)) * np.log(3), 0, 0], [0, 0, np.log(3)], [0, 0, 0]])
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows.toarray(), expected / np.where(norms, norms, 1))


def test_rows_keep_their_weights_when_they_are_read_again():
    documents = ["red green green blue", "blue sky at night", "red wine and blue cheese", "", "the"]
    terms = reader(stemmer="porter")
    rows = terms.fit_transform(documents)
    np.testing.assert_allclose(terms.transform(documents).toarray(), rows.toarray())
    assert terms.transform(["unheard of"]).nnz == 0


def test_stop_words():
    assert set(reader().fit_transform(["the cat", "a dog"]).shape) == {2}
    terms = reader(stop_words=["cat"])
    terms.fit_transform(["the cat", "the dog"])
    assert terms.terms.tolist() == ["dog", "the"]


def test_stems_are_named_by_their_most_frequent_word():
    terms = reader(stemmer="porter")
    terms.fit_transform(["connected connection", "connection connections apples", "pears"])
    assert terms.terms.tolist() == ["apples", "connection", "pears"]
    assert terms.transform(["connecting"]).nnz == 1  # a form that was not in the fit


def test_choice_of_terms():
    documents = ["wine water rare", "wine water", "wine water bread", "bread wine only"]
    terms = reader(TermChoice(min_df=2, max_df=0.75, max_features=None))
    terms.fit_transform(documents)
    assert terms.terms.tolist() == ["bread", "water"]
    terms = reader(TermChoice(min_df=1, max_df=1.0, max_features=2))
    terms.fit_transform(documents)
    assert terms.terms.tolist() == ["water", "wine"]


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.coo_array, sp.csc_matrix])
def test_counts_and_documents_give_the_same_rows(container):
    counts = np.array([[2, 1, 0], [0, 1, 1], [0, 1, 0]])
    rows = TermMatrix(ALL).fit_transform(container(counts))
    expected = reader().fit_transform(["apple apple pear", "pear plum", "pear"])
    np.testing.assert_allclose(rows.toarray(), expected.toarray())


def test_weights_only_get_length_one():
    weights = np.array([[0.3, 0.4], [0.5, 0.0]])
    rows = TermMatrix(ALL).fit_transform(sp.csr_array(weights))
    np.testing.assert_allclose(rows.toarray(), [[0.6, 0.8], [1.0, 0.0]])


def test_the_matrix_of_the_caller_stays():
    counts = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    TermMatrix(ALL).fit_transform(counts)
    assert counts.data.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (["one", "two"], "documents"),
        ([], "documents"),
        ([["split", "text"]], "documents"),
        (np.array(["one", "two"]), "documents"),
        ([[0.5, 1.0]], "embeddings"),
        ([np.zeros(3)], "embeddings"),
        (np.zeros((2, 3)), "embeddings"),
        (sp.csr_array((2, 3)), "matrix"),
    ],
)
def test_input_kind(X, kind):
    assert input_kind(X) == kind


@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_array])
def test_cosines_to_means(as_rows):
    rows = as_rows(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_allclose(cosines_to_means(rows, np.array([0, 0, 1]), 2), [0.5**0.5, 0.5**0.5, 1.0])


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one text", r"documents is one str, but must be a list of str: pass \[text\]"),
        (["ok", b"bytes"], r"documents\[1\] is b'bytes' of type bytes.*decode it first"),
        (["ok", None], r"documents\[1\] is None of type NoneType.*replace missing texts by ''"),
        ([["split", "text"]], r"documents\[0\] is \['split', 'text'\] of type list"),
    ],
)
def test_wrong_documents(documents, message):
    with pytest.raises(InvalidDataError, match=message):
        check_documents(documents)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: reader().fit_transform(["", "the", "1 2 3"]), "The 3 documents hold no words besides stop words"),
        (lambda: reader(TermChoice(2, 1.0, None)).fit_transform(["cat", "dog"]), "None of the 2 terms .* min_df=2"),
        (lambda: TermMatrix(ALL).fit_transform(sp.csr_array([[-1.0, 1.0]])), "holds the value -1, .* dense array"),
        (lambda: TermMatrix(ALL, ["a"]).fit_transform(sp.csr_array([[1.0, 1.0]])), "feature_names has 1 entries"),
    ],
)
def test_nothing_to_work_with(fit, message):
    with pytest.raises(InvalidDataError, match=message):
        fit()


def test_other_columns_are_refused():
    terms = TermMatrix(ALL)
    terms.fit_transform(sp.csr_array(np.eye(3)))
    with pytest.raises(InvalidDataError, match="X has 4 columns, but the fit had 3"):
        terms.transform(sp.csr_array(np.eye(4)))


@pytest.mark.parametrize(("n", "least"), [(99, 1), (100, 2), (199, 2), (200, 3), (299, 3), (300, 3), (5000, 3)])
def test_a_term_of_many_documents_stands_in_three_of_them(n, least):
    counts = sp.csr_array((np.ones(6), ([0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2])), shape=(n, 3))
    kept, idf = TermChoice("auto", 1.0, None).columns_and_idf(counts)
    assert kept.tolist() == list(range(least - 1, 3))
    np.testing.assert_allclose(idf, np.log(n / np.arange(least, 4)))


def test_the_most_frequent_terms_stay_in_their_order():
    counts = sp.csr_array(np.array([[1, 1, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1]]))
    for most, expected in ((1, [1]), (2, [1, 3]), (3, [1, 2, 3]), (4, [0, 1, 2, 3])):
        assert TermChoice(1, 1.0, most).columns_and_idf(counts)[0].tolist() == expected


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("min_df", "max_df", "most"), [(1, 1.0, None), (2, 0.5, None), (2, 0.8, 5), ("auto", 0.6, 7)])
def test_terms_to_add_pass_the_rules_by_weight(seed, min_df, max_df, most):
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.4, size=(120, 9)) * (rng.random(9) < 0.8)
    weights = rng.choice([0.0, 1.0, 3.5], 120)
    found, idf = TermChoice(min_df, max_df, most).further_columns_and_idf(sp.csr_array(table), 4, weights)
    least = 2 if min_df == "auto" else min_df
    holds = table > 0
    allowed = [
        j
        for j in range(9)
        if (
            holds[:, j].any()
            if j < 4
            else holds[:, j].sum() >= least and 0 < weights @ holds[:, j] <= max_df * weights.sum()
        )
    ]
    if most is not None:
        allowed = sorted(allowed, key=lambda j: (-holds[:, j].sum(), j))[:most]
    assert found.tolist() == sorted(j for j in allowed if j >= 4)
    np.testing.assert_allclose(idf, np.log(weights.sum() / (weights @ holds)[found]))


def test_a_term_of_just_the_largest_share_is_added():
    table = sp.csr_array(np.array([[1, 0], [1, 1], [1, 1], [1, 0]]))
    assert TermChoice(1, 0.5, None).further_columns_and_idf(table, 1, np.ones(4))[0].tolist() == [1]
    assert not TermChoice(1, 0.49, None).further_columns_and_idf(table, 1, np.ones(4))[0].size
    assert not TermChoice(1, 1.0, None).further_columns_and_idf(table, 1, np.array([1.0, 0, 0, 1]))[0].size
    heavier = np.array([1, 1, 2, 1.0])
    assert not TermChoice(1, 0.5, None).further_columns_and_idf(table, 1, heavier)[0].size
    assert not TermChoice(3, 1.0, None).further_columns_and_idf(table, 1, np.ones(4))[0].size


def test_words_of_several_collections_are_aligned():
    first = RawDocuments(sp.csr_array([[2.0, 1.0]]), np.array(["pear", "apple"], object))
    second = RawDocuments(sp.csr_array([[3.0, 0.0], [0.0, 4.0]]), np.array(["pear", "plum"], object))
    joined = RawDocuments.joined([first, second])
    assert joined.words.tolist() == ["apple", "pear", "plum"]
    assert joined.rows.toarray().tolist() == [[1, 2, 0], [0, 3, 0], [0, 0, 4]]
    some = joined.of(np.array([2, 1])).of_used_words()
    assert some.words.tolist() == ["pear", "plum"] and some.rows.toarray().tolist() == [[0, 4], [3, 0]]
    matrix = RawDocuments.joined([RawDocuments(np.eye(2)), RawDocuments(np.zeros((1, 2)))])
    assert matrix.words is None and matrix.rows.shape == (3, 2) and matrix.of_used_words() is matrix


def test_a_growing_vocabulary_keeps_its_columns():
    terms = reader(stemmer="porter")
    terms.fit_transform(["connected apples", "pears connected", "figs"])
    assert terms.terms.tolist() == ["apples", "connected", "figs", "pears"]
    raw = terms.count(["connection plums plum", "plums", "apples", "zebra", "", "cherries zebra zebra zebra"])
    grown = terms.grown(raw, np.array([1.0, 1.0, 1.0, 2.0, 1.0, 2.0]))
    assert grown.terms.tolist() == ["apples", "connected", "figs", "pears", "cherries", "plums", "zebra"]
    assert terms.terms.tolist() == ["apples", "connected", "figs", "pears"]
    rows = grown.weigh(raw).toarray()
    first = np.array([0, np.log(3 / 2), 0, 0, 0, (1 + np.log(2)) * np.log(8 / 2), 0])
    np.testing.assert_allclose(rows[0], first / np.linalg.norm(first))
    last = np.array([0, 0, 0, 0, np.log(8 / 2), 0, (1 + np.log(3)) * np.log(8 / 4)])
    np.testing.assert_allclose(rows[5], last / np.linalg.norm(last))
    assert not rows[4].any()
    matrix = TermMatrix(TermChoice(2, 1.0, None))
    matrix.fit_transform(sp.csr_array([[1, 0, 1], [1, 1, 0], [0, 0, 0]]))
    assert matrix.terms.tolist() == ["x0"]
    grown = matrix.grown(matrix.count(sp.csr_array([[0, 2, 1], [0, 1, 1], [1, 0, 1.0]])), np.ones(3))
    assert grown.terms.tolist() == ["x0", "x1", "x2"]
    np.testing.assert_allclose(grown._idf, [np.log(3 / 2), np.log(3 / 2), 0])  # x2 is in all, so that it weighs nothing


def fitted_terms():
    terms = reader()
    terms.fit_transform(["apple pear", "plum"])
    return terms


def fitted_matrix():
    terms = TermMatrix(ALL)
    terms.fit_transform(sp.csr_array(np.diag([1.0, 2.0, 1.0])))
    return terms


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (fitted_terms, "_idf", np.ones(2)),
        (fitted_terms, "_idf", np.array([1.0, np.nan, 1.0])),
        (fitted_terms, "_idf", np.ones(3, int)),
        (fitted_terms, "stemmer", "other"),
        (fitted_terms, "_column", {"apple": 0, "pear": 1}),
        (fitted_terms, "_column", {"apple": 0, "pear": 1, "plum": 3}),
        (fitted_terms, "_column", {"apple": 0, "pear": 1, "plum": 1}),
        (fitted_matrix, "_idf", np.ones(2)),
        (fitted_matrix, "_idf", np.array([1.0, np.inf, 1.0])),
        (fitted_matrix, "_columns", np.array([0, 1])),
        (fitted_matrix, "_columns", np.array([0, 1, 3])),
        (fitted_matrix, "_columns", np.array([-1, 1, 2])),
        (fitted_matrix, "_columns", np.array([0.0, 1, 2])),
        (fitted_matrix, "_n_columns", 2),
    ],
)
def test_terms_of_a_model_file_fit_each_other(make, name, value):
    terms = make()
    terms.check()
    setattr(terms, name, value)
    with pytest.raises(ValueError, match="its 3 terms"):
        terms.check()


def raw(entries, words=None):
    return RawDocuments(sp.csr_array(np.atleast_2d(entries)), None if words is None else np.array(words, object))


@pytest.mark.parametrize(
    ("documents", "fits"),
    [
        (raw([1.0, 2, 1], ["a", "b", "c"]), True),
        (raw([1.0, 2, 1.5], ["a", "b", "c"]), False),
        (raw([1.0, 2, -1], ["a", "b", "c"]), False),
        (raw([1.0, 2, np.inf], ["a", "b", "c"]), False),
        (raw([1.0, 2, 1], ["a", "b", "b"]), False),
        (raw([1.0, 2, 1], ["a", "b"]), False),
        (raw([1.0, 2, 1]), False),
        (RawDocuments(sp.csr_array([[1.0]]), np.array(["a"])), False),
    ],
)
def test_counts_of_a_model_file_are_those_of_words(documents, fits):
    if fits:
        fitted_terms().check_counts(documents)
        return
    with pytest.raises(ValueError, match="it remembers documents"):
        fitted_terms().check_counts(documents)


def test_a_remembered_matrix_has_the_columns_of_the_fit():
    counts, weights = fitted_matrix(), TermMatrix(ALL)
    weights.fit_transform(sp.csr_array(np.diag([0.5, 2.0, 1.0])))
    counts.check_counts(raw([1.0, 2, 1]))
    weights.check_counts(raw([1.0, 2, 1.5]))
    for wrong in (raw([1.0, 2]), raw([1.0, 2, 1], ["a", "b", "c"]), raw([1.0, 2, 1.5]), raw([1.0, 2, -1])):
        with pytest.raises(ValueError, match="it remembers documents"):
            counts.check_counts(wrong)
