"""Do two processors give the same labels? The default search on every set of the panel, here and on an older processor.

``python -m experiments.same_labels [SET ...]`` fits the sets (all of them if none is named) in two child processes: one
as it is, one whose NumPy, BLAS and numba know nothing newer than SSE4. Every comparison is a line of
``same_labels.jsonl``, a newer one of the same set in place of an older one, and the table in ``docs/platforms.md`` is
made from these lines alone.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

STORED = Path(__file__).with_name("same_labels.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "platforms.md"
FIRST, LAST = "<!-- same labels -->", "<!-- end of same labels -->"
OLDER = {"OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "generic"}
SEEDS = (0, 1)
FEW_SEEDS, LARGE = (0,), ("mnist/all",)  # which takes minutes


def sets() -> dict[str, str]:
    """Titles of the panel's sets, and their names."""
    from experiments.tables.panel import SETS, TEXTS

    return {**SETS, **TEXTS}


def serve() -> None:
    """The child: for every set that is named on standard input, labels by seed and the processor, as JSON."""
    import experiments.catalogue  # noqa: F401
    from experiments.runner import load
    from widegap import MaxMarginClustering
    from widegap.base._fit_fingerprint import processor

    warnings.simplefilter("ignore")
    for line in sys.stdin:
        name = line.strip()
        task, labels = load(name), {}
        for seed in FEW_SEEDS if name in LARGE else SEEDS:
            labels[seed] = MaxMarginClustering(task.n_clusters, random_state=seed).fit(task.X).labels_.tolist()
        print(json.dumps({"labels": labels, "processor": processor()}), flush=True)


@contextmanager
def children() -> Iterator[list[subprocess.Popen[str]]]:
    """The process as it is, and that of the older processor."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    newer = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
    with tempfile.TemporaryDirectory() as code:
        older = {**OLDER, "NUMBA_CACHE_DIR": code, "NPY_DISABLE_CPU_FEATURES": newer}
        command, pipe = [sys.executable, "-m", "experiments.same_labels", "--serve"], subprocess.PIPE
        found = [
            subprocess.Popen(command, env={**os.environ, **more}, stdin=pipe, stdout=pipe, text=True)
            for more in ({}, older)
        ]
        try:
            yield found
        finally:
            for child in found:
                child.communicate()


def ask(child: subprocess.Popen[str], name: str) -> dict[str, Any]:
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(name + "\n")
    child.stdin.flush()
    found: dict[str, Any] = json.loads(child.stdout.readline())
    return found


def compare(title: str, here: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    blas = [kernels for name, kernels in there["processor"].items() if name.startswith("BLAS")]
    assert len(blas) >= 2 and all(OLDER["OPENBLAS_CORETYPE"] in kernels for kernels in blas), blas
    assert there["processor"]["numba CPU"] == OLDER["NUMBA_CPU_NAME"] != here["processor"]["numba CPU"]
    pairs = [(here["labels"][seed], there["labels"][seed]) for seed in here["labels"]]
    return {
        "set": title,
        "rows": len(pairs[0][0]),
        "fits": len(pairs),
        "identical": sum(a == b for a, b in pairs),
        "least_ari": round(min(float(adjusted_rand_score(a, b)) for a, b in pairs), 5),
        "other": max(int(np.count_nonzero(np.array(a) != np.array(b))) for a, b in pairs),
        "processors": [here["processor"], there["processor"]],
    }


def stored() -> dict[str, dict[str, Any]]:
    lines = STORED.read_text().splitlines() if STORED.exists() else []
    return {line["set"]: line for line in map(json.loads, lines)}


def page_text(lines: dict[str, dict[str, Any]]) -> str:
    """The table, and what it shows in a sentence."""
    same = [line for line in lines.values() if line["identical"] == line["fits"]]
    others = [line["set"] for line in lines.values() if line not in same]
    least = min(line["least_ari"] for line in lines.values())
    missing = [title for title in sets() if title not in lines]
    sentence = f"All labels are identical on {len(same)} of {len(lines)} sets; the least ARI is {least:g}."
    sentence += f" Not identical: {', '.join(others)}." if others else ""
    sentence += f" Not compared: {', '.join(missing)}." if missing else ""
    rows = [
        f"| {line['set']} | {line['rows']} | {line['identical']} of {line['fits']} | {line['least_ari']:g} |"
        for title in sets()
        if (line := lines.get(title))
    ]
    return "\n".join([sentence, "", "| set | rows | identical fits | least ARI |", "|---|---|---|---|", *rows])


def write_page(lines: dict[str, dict[str, Any]]) -> None:
    text = PAGE.read_text()
    before, after = text[: text.index(FIRST) + len(FIRST)], text[text.index(LAST) :]
    PAGE.write_text(f"{before}\n\n{page_text(lines)}\n\n{after}")


def main(titles: list[str]) -> None:
    lines, names = stored(), sets()
    with children() as (here, there):
        for title in titles or names:
            lines[title] = compare(title, ask(here, names[title]), ask(there, names[title]))
            print({name: value for name, value in lines[title].items() if name != "processors"}, flush=True)
            STORED.write_text("".join(json.dumps(line) + "\n" for line in lines.values()))
    write_page(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main(sys.argv[1:])
