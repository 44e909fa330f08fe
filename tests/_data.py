"""Where the real data sets are, for the tests that need them."""

import os
from pathlib import Path

import pytest

FOLDER = os.environ.get("WIDEGAP_DATA", "")
NO_DATA = f"WIDEGAP_DATA={FOLDER!r} names no folder: point it to the folder of data sets to run this test"

requires_data = pytest.mark.skipif(not FOLDER or not Path(FOLDER).is_dir(), reason=NO_DATA)
