"""Coverage-guided fuzzing of a reader of ``readers.py``, with atheris: ``make fuzz`` says how it is installed.

    PYTHONPATH=build/fuzz:tests python tests/fuzz/run.py csv -runs=100000

begins with the stored inputs and the reader's own seeds, and keeps what it finds interesting in ``build/fuzz-inputs``;
``all`` in the place of ``csv`` takes every reader in turn. An input that is neither read nor refused, takes more than
five seconds of the processor or more than 200 MB is written to ``build/fuzz-findings``, once for each place in the
source, and the run goes on. ``run.py --store`` makes ``corpus.zip``, the inputs that ``test_readers.py`` reads: of
those that grew the coverage, the smallest ones.
"""

import json
import resource
import subprocess
import sys
import time
import traceback
import warnings
import zipfile
from hashlib import sha256
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]
# Not the packages that hold compiled loops: numba cannot compile what counts its own branches.
GUIDED = ["tables", "persistence", "documents", "corrections", "explorer", "cli", "rows._sources", "rows._columnar"]
GUIDED += ["rows._file_sizes", "rows._checkpoint", "_nesting"]
STORED_BYTES = 4_000  # of one reader: all of them together stay below the limit of ``test_readers.py``
SECONDS, MEGABYTES = 5, 200
MOST_ADDRESSES = 6 << 30  # bytes of address space: a reader that asks for more gets a MemoryError, which is a finding

with atheris.instrument_imports(include=[f"widegap.{name}" for name in GUIDED]):
    import readers


class Watch:
    """Calls a reader, counts the inputs, and writes down what should not have happened."""

    def __init__(self, name: str):
        self.name, self.count, self.start = name, 0, time.time()
        self.seen: set[str] = set()

    def __call__(self, content: bytes) -> None:
        self.count += 1
        before, start = peak(), time.process_time()
        try:
            readers.try_out(self.name, content)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)
            inner = next((entry for entry in reversed(place) if "/widegap/" in entry.filename), place[-1])
            self.found(f"{type(error).__name__} {Path(inner.filename).name}:{inner.lineno}", content)
        if time.process_time() - start > SECONDS:
            self.found("slow", content)
        if peak() - before > MEGABYTES:
            self.found("large", content)
        if self.count % 100 == 0:  # the process ends within C
            self.note()

    def found(self, what: str, content: bytes) -> None:
        if what not in self.seen:
            self.seen.add(what)
            folder = ROOT / "build" / "fuzz-findings"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{self.name} {what}".replace("/", "_")).write_bytes(content)

    def note(self) -> None:
        """How many inputs were tried so far, in a file of this run."""
        folder = ROOT / "build" / "fuzz-counts"
        folder.mkdir(parents=True, exist_ok=True)
        entry = {"reader": self.name, "inputs": self.count, "findings": sorted(self.seen)}
        (folder / f"{self.name} {self.start}.json").write_text(json.dumps(entry), encoding="utf-8")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(name: str, options: list[str]) -> None:
    folder = ROOT / "build" / "fuzz-inputs" / name
    folder.mkdir(parents=True, exist_ok=True)
    for content in (*readers.READERS[name].seeds(), *readers.stored(name)):
        (folder / sha256(content).hexdigest()[:16]).write_bytes(content)
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    watch = Watch(name)
    limits = ["-timeout=60", "-rss_limit_mb=4000", "-max_len=8192", "-verbosity=0"]
    atheris.Setup([sys.argv[0], str(folder), *limits, *dictionary(name), *options], watch)
    atheris.Fuzz()


def dictionary(name: str) -> list[str]:
    """The option for the words of a reader, if it has any."""
    words = [word.encode("utf-8", "surrogatepass") for word in readers.READERS[name].words]
    path = ROOT / "build" / f"fuzz-words {name}"
    escaped = ["".join(f"\\x{byte:02x}" for byte in word) for word in words]
    path.write_text("".join(f'"{word}"\n' for word in escaped), encoding="ascii")
    return [f"-dict={path}"] if words else []


def store() -> None:
    """The smallest inputs of every reader, up to a limit, in one archive whose bytes depend on them alone."""
    with zipfile.ZipFile(readers.CORPUS, "w") as archive:
        for name in sorted(path.name for path in (ROOT / "build" / "fuzz-inputs").iterdir()):
            found = {path.read_bytes() for path in (ROOT / "build" / "fuzz-inputs" / name).iterdir()}
            kept, size = found - set(readers.READERS[name].seeds()), 0
            for content in sorted(kept, key=lambda each: (len(each), each)):
                size += len(content)
                if size <= STORED_BYTES:
                    entry = zipfile.ZipInfo(f"{name}/{sha256(content).hexdigest()[:16]}")
                    archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    if sys.argv[1] == "--store":
        store()
    elif sys.argv[1] == "all":
        for each in readers.READERS:
            subprocess.run([sys.executable, __file__, each, *sys.argv[2:]], check=True)
    else:
        run(sys.argv[1], sys.argv[2:])
