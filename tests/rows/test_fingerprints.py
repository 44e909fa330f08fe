"""Digests: those of stored models and checkpoints stay what they are, and do not depend on how values are stored."""

import numpy as np
import pytest
import scipy.sparse as sp

from widegap.rows import _fingerprints
from widegap.rows._fingerprints import digest_of_rows, fingerprint, label_fingerprint, text_fingerprint
from widegap.rows._sources import row_blocks

X = (np.arange(60.0).reshape(20, 3) % 7 - 3) / 8  # some entries are 0
WIDE = sp.csr_array((np.arange(1.0, 6), (np.arange(5), 26_000 * np.arange(5))), shape=(5, 1 << 17))  # two in a chunk
LONG = np.arange(3003.0).reshape(1001, 3)  # one row more than is looked at


def test_digests_are_those_of_files_that_exist():
    assert fingerprint(X) == "72daa5cef4636d75c2558969d044ab65"
    assert fingerprint(LONG) == "e07a8cc0d174c2758466bcf8fd99fa5f"
    assert fingerprint(WIDE) == "b6811dfbaebbe417c84cbae3d237a7c6" == fingerprint(WIDE.toarray())
    assert digest_of_rows(row_blocks(X)) == "c993580b8bd3b70e5f8b84046cd61198"
    assert text_fingerprint(["a", "", "bc"]) == "f8a2f3a6068aeb734c0e1b339f8b58ae"
    assert label_fingerprint(np.array([0, 2, -1], np.int32)) == "595bad9fb843c8892c06d17779739446"


@pytest.mark.parametrize("cached", [1, 7, 1 << 18])
def test_digests_are_those_of_the_values(cached, monkeypatch):
    of_one_block = digest_of_rows(row_blocks(X))
    monkeypatch.setattr("widegap.rows._matrices.CACHED_NUMBERS", cached)
    monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", 24 * cached)
    expected = fingerprint(X), of_one_block
    twice = sp.csr_array(np.hstack([X, X]))
    twice = sp.csr_array((twice.data / 2, twice.indices % 3, twice.indptr), shape=X.shape)
    for same in (np.where(X == 0, -0.0, X), np.asfortranarray(X), sp.csr_array(X), X.astype(np.float32), twice):
        assert (fingerprint(same), digest_of_rows(row_blocks(same))) == expected
    for row in range(20):
        other = X.copy()
        other[row, row % 3] += 2.0**-40
        assert fingerprint(other) != expected[0] and digest_of_rows(row_blocks(other)) != expected[1]


def test_a_thousand_rows_are_looked_at_evenly():
    looked_at = np.linspace(0, 1000, 1000).astype(int)
    (passed_over,) = set(range(1001)) - set(looked_at.tolist())
    for row, noticed in ((0, True), (1000, True), (passed_over, False)):
        other = LONG.copy()
        other[row] += 1
        assert (fingerprint(other) != fingerprint(LONG)) == noticed
    assert _fingerprints.DIGEST_ROWS == len(set(looked_at.tolist()))


def test_texts_and_labels_are_told_apart():
    assert len({text_fingerprint(texts) for texts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""])}) == 4
    assert label_fingerprint(np.array([1, 0], np.int64)) == label_fingerprint(np.array([1, 0], np.int8))
    assert label_fingerprint(np.array([1, 0])) != label_fingerprint(np.array([0, 1]))
    assert text_fingerprint(["\ud800"]) != text_fingerprint(["?"])
