"""The small table of speed in the README and the guide, from the page of measured figures: none is typed by hand."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SHOWING = (README, ROOT / "docs" / "guide" / "choose.md")
MARKS = ("<!-- speed: written by `python -m benchmarks` -->", "<!-- end of speed -->")
# What the page calls a row, and what the README says of it.
SHOWN = {
    "fit, MNIST 70000 x 784, KMeans(n_init=10)": ("`MaxMarginClustering`, MNIST 70,000 x 784, k = 10", "KMeans(10)"),
    "fit, MNIST test set, SpectralClustering on neighbours": (
        "`MaxMarginClustering`, MNIST 10,000 x 784, k = 10",
        "SpectralClustering",
    ),
    "fit, MNIST test set, UMAP and Gaussian mixture": (
        "`MaxMarginClustering`, MNIST 10,000 x 784, k = 10",
        "UMAP + GMM",
    ),
    "fit, MNIST 70000 x 784, UMAP and Gaussian mixture": (
        "`MaxMarginClustering`, MNIST 70,000 x 784, k = 10",
        "UMAP + GMM",
    ),
    "fit, ringnorm-like 1000000 x 20, KMeans(n_init=10)": (
        "`MaxMarginClustering`, 1,000,000 x 20, k = 2",
        "KMeans(10)",
    ),
    "fit, digits, SpectralClustering on neighbours": (
        "`MaxMarginClustering`, digits 1,797 x 64, k = 10",
        "SpectralClustering",
    ),
    "fit, MNIST 70000 x 784 float32, k = 10, against KMeans(n_init=1)": (
        "`CPM3C`, MNIST 70,000 x 784, k = 10",
        "KMeans(1)",
    ),
}


def with_speed(text: str, page: str) -> str:
    """A text with the chosen rows of the page between its two marks."""
    before, _, rest = text.partition(f"{MARKS[0]}\n")
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n{_table(page)}\n{MARKS[1]}{after}"


def _table(page: str) -> str:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    found = {name: (ratio, _errors(rest[-1])) for name, ratio, *rest in rows if name in SHOWN}
    missing = sorted(SHOWN.keys() - found.keys())
    if missing:
        raise KeyError(f"The page of benchmarks has no row {missing[0]!r}; run the suite that measures it.")
    lines = [f"| {ours} | {theirs} | {' | '.join(found[name])} |" for name, (ours, theirs) in SHOWN.items()]
    head = ["| fit | against | times as long | error in %, theirs |", "|---|---|---|---|"]
    return "\n".join([*head, *lines])


def _errors(detail: str) -> str:
    """Ours and theirs, from a detail that has both as errors or as accuracies."""
    errors = re.findall(r"error ([\d.]+)", detail) or [
        f"{100 - float(right):.1f}" for right in re.findall(r"accuracy ([\d.]+)", detail)
    ]
    return ", ".join(errors[:2])
