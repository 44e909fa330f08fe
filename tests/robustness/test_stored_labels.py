"""The same labels as this version gave when they were stored, on every processor and by every later change."""

import json

import numpy as np
import pytest

from _stored_labels import FITS, STORED, UPDATES, outcome, updated


@pytest.mark.parametrize("fit", FITS)
def test_a_fit_gives_what_is_stored(fit):
    stored, found = json.loads(STORED.read_text(encoding="utf-8"))[fit], outcome(fit)
    np.testing.assert_allclose(found.pop("figures"), stored.pop("figures"), rtol=1e-3)
    assert found == stored


@pytest.mark.parametrize("fit", UPDATES)
def test_an_update_gives_what_is_stored(fit):
    assert updated(fit) == json.loads(STORED.read_text(encoding="utf-8"))[f"update of {fit}"]
