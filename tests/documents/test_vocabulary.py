"""Documents to words, words to rows of term weights."""

import numpy as np
import pytest
import scipy.sparse as sp

from widegap.base._validation import check_documents, input_kind
from widegap.documents._corpus import cosines_to_means
from widegap.documents._vocabulary import DocumentTerms, TermChoice, TermMatrix
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
