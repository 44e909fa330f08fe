"""Fixtures shared by all tests. None is autouse."""

import os
from pathlib import Path

import pytest

from _data import NO_DATA


@pytest.fixture
def data_folder():
    """Folder of the real data sets; the test is skipped where there is none."""
    folder = os.environ.get("WIDEGAP_DATA")
    if not folder:
        pytest.skip(NO_DATA)
    return Path(folder)
