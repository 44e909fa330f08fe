"""Model files with a flipped byte or a missing end: the error of model files, or the very model that was saved."""

import numpy as np
import pytest

from _counts import tried
from widegap import CPM3C, persistence
from widegap.exceptions import InvalidDataError

X = np.array([[0.0, 0.0], [0.1, 0.2], [0.2, 0.1], [5.0, 5.0], [5.1, 5.2], [5.2, 5.1]])


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a small model file, and the scores of its model."""
    path = tmp_path_factory.mktemp("model") / "m"
    model = CPM3C(2, n_init=1, random_state=0).fit(X)
    model.history_ = model.history_[:1]
    persistence.save(model, path)
    return path.read_bytes(), model.decision_function(X)


def is_refused(content, scores, path):
    """Whether a damaged file is refused in the words of model files; if it is read, the model must be the right one."""
    path.write_bytes(content)
    try:
        found, _ = persistence.load(path)
    except InvalidDataError as error:
        assert "is not a model file of widegap, or is damaged" in str(error)
        return True
    np.testing.assert_array_equal(found.decision_function(X), scores)
    return False


@pytest.mark.parametrize(
    "mask", [0x01, pytest.param(0x80, marks=pytest.mark.slow), pytest.param(0xFF, marks=pytest.mark.slow)]
)
def test_every_byte_flipped(mask, good, tmp_path):
    content, scores = good
    refused = 0
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= mask
        refused += is_refused(bytes(damaged), scores, tmp_path / "m")
    assert refused > 0.7 * len(content)  # the rest are dates, modes and the like
    tried("model files with one byte changed", len(content))


def test_every_truncation(good, tmp_path):
    content, scores = good
    assert all(is_refused(content[:length], scores, tmp_path / "m") for length in range(len(content)))
    tried("model files cut short", len(content))
