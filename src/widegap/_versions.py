"""Which versions of which packages are installed."""

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("widegap", "numpy", "scipy", "scikit-learn", "numba")


def versions(further: Iterable[str] = ()) -> dict[str, str]:
    """Versions of Python, of what every fit needs and of further packages; those not installed are left out."""
    found = {"Python": platform.python_version()}
    for name in (*PACKAGES, *further):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
