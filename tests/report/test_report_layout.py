"""The page as a browser lays it out: nothing of a table lies beyond the edge of its box."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from widegap import MaxMarginClustering
from widegap.report import render, summarize

BROWSER = shutil.which("chromium")
# The page's own policy lets no other script run, so the copy that is measured does without.
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
MEASURE = """<pre id="sizes"></pre><script>
document.getElementById("sizes").textContent = JSON.stringify(
  [...document.querySelectorAll(".examples .scroll")].map((box) => [box.scrollWidth, box.clientWidth]));
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="needs Debian's chromium")
def test_no_column_of_the_examples_is_cut_off(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) + 9 * (np.arange(60)[:, None] % 2)
    names = ["bill_length_mm", "flipper_length_mm", "body_mass_g", "average_monthly_income_usd", "year"]
    page = render(summarize(MaxMarginClustering(2, random_state=0).fit(X), X, feature_names=names))
    path = tmp_path / "page.html"
    path.write_text(POLICY.sub("", page).replace("</body>", MEASURE), encoding="utf-8")
    flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path}",
    ]
    command = [BROWSER, *flags, "--window-size=1200,900", "--dump-dom", path.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    sizes = json.loads(re.search(r'<pre id="sizes">(.*?)</pre>', shown)[1])
    assert len(sizes) == 4
    assert all(needed <= there for needed, there in sizes), sizes
