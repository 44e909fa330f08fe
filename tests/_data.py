"""Where the real data sets are, for the tests that need them."""

import os

import pytest

NO_DATA = "WIDEGAP_DATA is not set: point it to the folder of data sets to run this test"

requires_data = pytest.mark.skipif(not os.environ.get("WIDEGAP_DATA"), reason=NO_DATA)
