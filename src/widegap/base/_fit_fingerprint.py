"""The fingerprint of a fit: what its labels depend on besides the settings, so that another machine can compare.

A model file holds settings and labels as they are. The fingerprint adds digests of the rows and of the labels as the
fit left them, what the fit got besides rows, and the versions and the processor that it ran with.
"""

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from widegap._versions import versions
from widegap.rows._collections import is_collection
from widegap.rows._fingerprints import label_fingerprint
from widegap.rows._threads import blas_kernels

MOST_ENTRIES, LONGEST_ENTRY = 20, 100  # of versions and processors in a file, and letters of each


@dataclass(frozen=True)
class FitFingerprint:
    """What a fit saw and where it ran.

    Attributes
    ----------
    rows : str or None
        Digest of the rows (of their number and of up to 1000), as ``describe.is_fitted_on`` compares them.
    labels : str or None
        Digest of the labels; None of labels that stay on workers.
    arguments : list of str
        What ``fit`` got besides rows.
    versions, processor : dict
        Versions of Python and packages; the names by which numba and BLAS chose their code.
    """

    rows: str | None
    labels: str | None
    arguments: list[str]
    versions: dict[str, str]
    processor: dict[str, str]

    @classmethod
    def of(cls, estimator: Any, options: Mapping[str, Any]) -> "FitFingerprint":
        """The fingerprint of an estimator that was just fitted with these options."""
        labels = label_digest(estimator)
        return cls(getattr(estimator, "_rows_digest", None), labels, arguments_in_use(options), versions(), processor())

    def check(self) -> None:
        """Raise ValueError if these are not short lines of text, as in a forged model file."""
        pairs = [*self.versions.items(), *self.processor.items()]
        lines = [*self.arguments, *(part for pair in pairs for part in pair), self.rows or "", self.labels or ""]
        if len(pairs) + len(self.arguments) > MOST_ENTRIES or any(
            len(line) > LONGEST_ENTRY or not line.isprintable() for line in lines
        ):
            raise ValueError("its fingerprint does not consist of a few short lines")


def label_digest(estimator: Any) -> str | None:
    """Digest of the labels that an estimator has now; None if they are not in memory."""
    labels = estimator.labels_
    return None if is_collection(labels) else label_fingerprint(labels)


def arguments_in_use(options: Mapping[str, Any]) -> list[str]:
    """The names of options that say something; those of side information are its parts."""
    found: list[str] = []
    for name, value in options.items():
        if is_dataclass(value) and not isinstance(value, type):
            found += arguments_in_use({field.name: getattr(value, field.name) for field in fields(value)})
        elif value is not None:
            found.append(name)
    return found


def processor() -> dict[str, str]:
    """The kind of processor, and the names by which numba and BLAS chose code for it."""
    found = {"machine": platform.machine(), **blas_kernels()}
    llvm = sys.modules.get("llvmlite.binding")  # loaded once numba has compiled a loop
    if llvm is not None:
        found["numba CPU"] = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    return found
