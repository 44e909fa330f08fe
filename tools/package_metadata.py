"""Addresses of the package's metadata, from the one constant in pyproject.toml: links of the project and the README.

PyPI shows the README without the files beside it, so its relative links become addresses in the repository, at the tag
of the version. While the constant is a placeholder there are no addresses, and the README stays as it is.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


class Addresses(MetadataHookInterface):  # hatchling finds the class by its base
    """The hook that hatchling calls; ``self.config`` is its table in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = self.config["repository"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if not is_placeholder(repository):
            metadata["urls"] = project_urls(repository)
            text = with_addresses(text, repository, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def is_placeholder(repository: str) -> bool:
    """Whether nobody has filled in the address yet: .invalid is reserved, and no such host can exist."""
    host = urlsplit(repository).hostname or "invalid"
    return host.rpartition(".")[2] == "invalid"


def project_urls(repository: str) -> dict[str, str]:
    """The links that PyPI shows beside the README."""
    return {
        "Source": repository,
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def with_addresses(text: str, repository: str, tag: str) -> str:
    """A page whose links and pictures are relative, with addresses instead."""

    def absolute(found: re.Match[str]) -> str:
        picture, shown, path = found.groups()
        return f"{picture}[{shown}]({repository}/{'raw' if picture else 'blob'}/{tag}/{path})"

    return LINK.sub(absolute, text)
