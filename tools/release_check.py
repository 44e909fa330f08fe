"""Whether a version may be released: `make release-check TAG=v0.2.0`; without TAG, all but the tag is checked.

Each reason against it is one line, and the exit status is 1 if there is one. ``tools/release.md`` is the checklist.
"""

import re
import sys
import tomllib
from pathlib import Path

from tools.package_metadata import is_placeholder

ROOT = Path(__file__).resolve().parents[1]
RECIPE, MODELS = "tools/conda/recipe.yaml", "tests/persistence/models"


def reasons(root: Path, tag: str | None) -> list[str]:
    """What stands against a release of the files in a folder."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")}
    repository = _repository(root)
    version = _found(r'^__version__ = "(.+)"', (root / "src" / "widegap" / "__init__.py").read_text(encoding="utf-8"))
    found = []
    if is_placeholder(repository):
        found.append(f"pyproject.toml: repository = {repository!r} is a placeholder; set it to the real address.")
    if tag is not None and tag != f"v{version}":
        found.append(f"The tag is {tag}, but the version is {version}; tag v{version}, or change __version__.")
    if f"\n## [{version}]" not in texts["CHANGELOG.md"]:
        found.append(f"CHANGELOG.md has no section [{version}]; rename [Unreleased], with the date.")
    if _found(r"^version: (.+)$", texts["CITATION.cff"]) != version:
        found.append(f"CITATION.cff is not of version {version}; change version and date-released.")
    if _found(r'^  version: "(.+)"$', (root / RECIPE).read_text(encoding="utf-8")) != version:
        found.append(f"{RECIPE} is not of version {version}; change version.")
    for former in re.findall(r"^## \[(\d.*)\]", texts["CHANGELOG.md"], re.MULTILINE):
        if former != version and not [*(root / MODELS).glob(f"release-{former}-*.widegap")]:
            found.append(
                f"{MODELS} has no model file of version {former}; write some with its code (tools/release.md)."
            )
    if f'repository-code: "{repository}"' not in texts["CITATION.cff"]:
        found.append(f'CITATION.cff lacks the line repository-code: "{repository}"; add it.')
    return found


def _repository(root: Path) -> str:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return str(settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"])


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


def main(arguments: list[str]) -> int:
    found = reasons(ROOT, arguments[0] if arguments else None)
    print("\n".join(found) or "Nothing stands against a release.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
