"""Install widegap, editable, with the packages for its tests into the Python that runs this file.

``python tools/install.py docs browser`` adds the packages of these groups of pyproject.toml. pip takes the versions of
constraints.txt and compares the hash of every file. Where these versions cannot be had (a newer Python, a platform
without wheels, an index that lags behind) it takes the newest that pyproject.toml allows, and says so. A file with
another hash is an error: it is not the file that was tested.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WRONG_HASH = "DO NOT MATCH THE HASHES"


def install(groups: list[str]) -> int:
    """Exit status: 0, or what pip returned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wishes = [*project["dependencies"], *(f"--group={name}" for name in dict.fromkeys(["dev", *groups]))]
    done = _pip("--constraint", "constraints.txt", *wishes)
    if WRONG_HASH in done.stderr:
        print(done.stderr, file=sys.stderr)
        _say("a downloaded file is not the one that constraints.txt names; nothing was installed.")
        return done.returncode
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        _say("the versions of constraints.txt cannot be installed here, see above; the newest ones are installed.")
        done = _pip(*wishes)
    if not done.returncode:
        done = _pip("--no-deps", "--no-build-isolation", "--editable", ".")
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def _say(text: str) -> None:
    print(f"install: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(install(sys.argv[1:]))
