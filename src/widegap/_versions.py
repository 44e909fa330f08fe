"""Which versions of which packages are installed."""

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("widegap", "numpy", "scipy", "scikit-learn", "numba")  # they decide about labels


def versions(further: Iterable[str] = ()) -> dict[str, str]:
    """Versions of Python, of what every fit needs and of further packages; those not installed are left out."""
    found = {name: _version(name) for name in (*PACKAGES, *further)}
    return {"Python": platform.python_version()} | {name: text for name, text in found.items() if text is not None}


@cache  # every fit asks, and looking through installed packages takes milliseconds
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
