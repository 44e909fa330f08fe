"""Commands that are ended at drawn moments: every file is the old one or the new one, and what can tidy up does.

One program per command writes its files once, to see what is right and how long it takes. Then it forks a process for
every trial, which begins with everything imported, and ends it by a signal at a drawn moment.
"""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from _counts import tried
from widegap.cli._main import main

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
    pytest.mark.filterwarnings("ignore"),
]
Image = pytest.importorskip("PIL.Image", reason="needs the extra cli")

DRIVER = """
import contextlib, io, json, os, random, signal, sys, time
from pathlib import Path
from widegap.cli._main import main

call, trials, signals, seed = json.loads(sys.argv[1])
draws, folder, old = random.Random(seed), Path("out"), b"the old content"

def run():
    told = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
        code = main(call)
    if code not in (0, 130):
        print(code, told.getvalue(), file=sys.stderr)
    return code

def forked():
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os._exit(run())
    return child

def trial(number, delay):
    for path in folder.iterdir():
        path.unlink() if path.is_file() else os.rmdir(path)
    for name in right:
        (folder / name).write_bytes(old)
    child = forked()
    time.sleep(delay)
    os.kill(child, number)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}
    states = [state(found.pop(name, b""), right[name]) for name in right]
    return status, states, sorted(found)

def state(content, other):
    # Times and rounded numbers differ in length. A zip ends with its directory, a page with a tag.
    same = abs(len(content) - len(other)) <= 60 and content[:4] == other[:4] and content[-1:] == other[-1:]
    return "old" if content == old else "new" if same and content[-22:-18] == other[-22:-18] else "part"

folder.mkdir(exist_ok=True)
assert run() == 0
began = time.monotonic()
assert os.waitpid(forked(), 0)[1] == 0
took = time.monotonic() - began
right = {path.name: path.read_bytes() for path in folder.iterdir()}
assert right and all(right.values())
for i in range(trials):
    number = signals[i % len(signals)]
    print(json.dumps([number, *trial(number, draws.uniform(0, 1.1 * took))]), flush=True)
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + 9 * (np.arange(120) % 2)[:, None]
    np.savetxt(folder / "t.csv", X, delimiter=",", header="x,y,z", comments="")
    lines = [f"{'bread flour yeast' if i % 2 else 'goal match keeper'} oven{i % 7} ball{i % 5}" for i in range(40)]
    (folder / "texts.txt").write_text("\n".join(lines), encoding="utf-8")
    pixels = rng.integers(0, 40, (40, 50, 3)) + 150 * (np.arange(50) > 20)[None, :, None]
    Image.fromarray(pixels.astype(np.uint8)).save(folder / "p.png")
    model = folder / "m.widegap"
    assert main(["cluster", str(folder / "t.csv"), "-k", "2", "-q", "--model", str(model)]) == 0
    return folder


COMMANDS = {
    "cluster": (["cluster", "t.csv", "-k", "2", "--method", "cpm3c"], ["-o o.csv", "--model m", "--report r.html"]),
    "predict": (["predict", "m.widegap", "t.csv"], ["-o o.xlsx"]),
    "update": (["update", "m.widegap", "t.csv"], ["-o o.jsonl", "--model m", "--report r.json"]),
    "refine": (["refine", "m.widegap", "t.csv", "--move", "4,7-9:0"], ["-o o.parquet", "--model m", "--report r.html"]),
    "report": (["report", "m.widegap", "t.csv"], ["--report r.html"]),
    "segment": (["segment", "p.png", "-k", "2"], ["-o s.png"]),
    "documents": (["documents", "texts.txt", "-k", "2"], ["-o o.csv", "--model m", "--report r.html"]),
    "export py": (["export", "m.widegap"], ["-o e.py"]),
    "export sql": (["export", "m.widegap", "--table", "t"], ["-o e.sql"]),
}


def check(command, sources, folder, trials, signals, seed=0):
    words, options = COMMANDS[command]
    call = [str(sources / word) if (sources / word).exists() else word for word in words]
    for option in options:
        name, file = option.split()
        call += [name, f"out/{file}"]
    asked = json.dumps([[*call, "-q"], trials, signals, seed])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER, asked], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == trials
    for number, status, states, left in found:
        assert "part" not in states, (number, status, states)
        if number == signal.SIGKILL:
            assert all(name.startswith(".") and ".tmp" in name for name in left), left  # hidden, and named as such
        else:  # Ctrl-C keeps the clusters so far, under other names
            kept = [name for name in left if number != signal.SIGINT or ".partial" not in name]
            assert kept == [], (number, status, left)
        # Ctrl-C before the command or after it, where it still is, or is again, the driver's own
        ended = {signal.SIGINT: (130, -2), signal.SIGTERM: (-15,), signal.SIGHUP: (-1,), signal.SIGKILL: (-9,)}[number]
        assert status in (0, *ended), (number, status, done.stderr)
        if status == 0:
            assert set(states) == {"new"}
    tried("commands ended by a signal", trials)
    return found


SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP] if hasattr(signal, "SIGHUP") else []


@pytest.mark.parametrize("command", ["cluster", "predict"])
def test_commands_ended_at_a_few_moments(command, sources, tmp_path):
    check(command, sources, tmp_path, 4, SIGNALS)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_ended_at_fifty_moments(command, number, sources, tmp_path):
    found = check(command, sources, tmp_path, 50, [number], seed=int(number))
    assert sum(status != 0 for _, status, *_ in found) > 10  # most are ended before they are done
