"""Model files that are safe to open: a zip of JSON texts and plain NumPy arrays, nothing that runs.

A pickle can run any code when it is opened, so models that are passed around must not be pickles. Here
``model.json`` holds the parameters and fitted attributes as a tree (``_json_tree.py``), and its arrays are stored
beside it as ``0.npy``, ``1.npy``, ... An estimator in the tree is a public one of ``widegap``, or one that the program
has defined; the objects inside are of the classes that this estimator declares (``_stored``). They get only the
attributes that their class declares, of the declared types (``_declared_types.py``). Sizes and checksums are compared
before anything is built from a file (``_archive.py``), and a model is returned only if its parameters are allowed, its
weights match each other and it can score a row. The format is our own rather than skops' because it needs no further
package, and because declarations are easier to judge than a general loader.

The checksums find accidents. They are not a signature: whoever can write a file can write checksums that match, so a
model of unknown origin runs no code but may give any answer.

It may import the methods and tables, whose types it reads, but nothing that shows results. Begin with ``_archive.py``.
"""

import copy
import json
import os
import re
from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

import widegap
from widegap._atomic import replacing
from widegap.base._clusterer import Clusterer, WeightVectorClusterer
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.persistence._archive import (
    MAX_MODEL_BYTES,
    DamagedModelError,
    ModelArchive,
    ModelTooLargeError,
    write_archive,
)
from widegap.persistence._json_tree import Reader, Writer
from widegap.persistence._weights import check_weights, try_out

__all__ = ["load", "save"]

FORMAT = 2  # format 1 had no checksums
TABLE = "table"  # beside the model: what a TableEncoder decided, or null; files without this key hold it in "extra"


def save(
    estimator: Any, path: str | os.PathLike[str], *, rows: bool = True, extra: Mapping[str, Any] | None = None
) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted estimator of this package, or a pipeline of a ``TableEncoder`` and one; without functions of your own
        (kernels), which no safe file can hold.
        ``callback`` and ``n_jobs`` are left out, and a ``DocumentClustering`` cannot ``refit`` after it is loaded.
    path : path
        The file appears whole or not at all.
    rows : bool, default=True
        Whether the file holds the rows that the model remembers (up to ``memory`` of them, with their values), so that
        the loaded model can be updated. False leaves these out and keeps the file small: of a kernel it holds the
        landmarks, which may be rows, and the features that scores need; ``coef_`` is that of these.
    extra : mapping, default=None
        Further values for JSON, returned by ``load``.
    """
    estimator, table = _without_table(estimator)
    name = type(estimator).__name__
    if not isinstance(estimator, Clusterer):
        raise NotSupportedError(f"{name} cannot be saved to a model file; use an estimator of widegap.")
    check_is_fitted(estimator)
    refusal = estimator._refusal_to_store()
    if refusal is not None:
        raise NotSupportedError(refusal)
    writer = Writer()
    tree = writer.estimator(estimator if rows else _without_rows(estimator), name)
    head = {"format": f"widegap.model/{FORMAT}", "version": widegap.__version__}
    text = json.dumps({**head, "model": tree, TABLE: table, "extra": dict(extra or {})})
    with replacing(path) as temporary:
        write_archive(temporary, text, writer.arrays, name)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_MODEL_BYTES) -> tuple[Any, dict[str, Any]]:
    """Read a model file; it cannot run code, wherever it comes from.

    Parameters
    ----------
    path : path
        What ``save`` wrote.
    max_bytes : int, default=4 GiB
        A model that could take more memory raises an error before it is read.

    Returns
    -------
    estimator, extra
        The fitted estimator, or the pipeline, and the dict that was saved with it.

    Notes
    -----
    Files are not signed: anyone can forge one, with weights that put your rows into clusters of their choosing. Use
    models of people you trust, or sign the files by other means.
    """
    if not isinstance(path, str | os.PathLike):  # open would take a number for an open file, read that and close it
        raise TypeError(f"path={path!r:.40} is not a file name; pass a str or a Path.")
    document: dict[str, Any] = {}
    with open(path, "rb") as file:
        try:
            archive = ModelArchive(file, max_bytes)
            document = archive.document()
            _check_format(document)
            model = Reader(archive).estimator(document["model"])
            model._check_stored()
            if isinstance(model, WeightVectorClusterer):
                check_weights(model)
                try_out(model)
            extra = document.get("extra")
            extra = extra if isinstance(extra, dict) else {}
            model = _with_table(model, document[TABLE] if TABLE in document else extra.pop(TABLE, None))
        except ModelTooLargeError as error:
            raise InvalidDataError(f"{path} {error}") from error
        except MemoryError:
            raise
        except Exception as error:  # whatever a damaged file causes in zipfile, zlib, json or NumPy
            raise _refusal(path, document, error) from error
    return model, extra


def _without_rows(estimator: Clusterer) -> Clusterer:
    """A copy that remembers no rows, and holds of a kernel what scores need."""
    scored = isinstance(estimator, WeightVectorClusterer)
    found = estimator._with_scores_as_features() if scored else copy.copy(estimator)
    found.__dict__.pop("_memory", None)
    return found


def _without_table(model: Any) -> tuple[Any, dict[str, Any] | None]:
    """The clusterer of a pipeline, and the decisions of its encoder; None without an encoder."""
    steps = [step for _, step in getattr(model, "steps", ())]
    if len(steps) != 2 or type(steps[0]).__name__ != "TableEncoder":
        return model, None
    from widegap.tables._stored import to_json

    return steps[1], to_json(steps[0])


def _with_table(model: Any, table: Any) -> Any:
    """The pipeline again, if there are decisions of an encoder."""
    if table is None:
        return model
    from sklearn.pipeline import Pipeline

    from widegap.tables._stored import from_json

    encoder = from_json(table)
    if encoder.n_features_out_ != model.n_features_in_:
        raise DamagedModelError("its table and its model have different numbers of columns")
    return Pipeline([("table", encoder), ("cluster", model)])


def _check_format(document: Mapping[str, Any]) -> None:
    found = document.get("format")
    if found != f"widegap.model/{FORMAT}":
        raise DamagedModelError(f"its format is {found!r}, not 'widegap.model/{FORMAT}'")


def _refusal(path: str | os.PathLike[str], document: Mapping[str, Any], error: Exception) -> InvalidDataError:
    """The error for a file that cannot be read: it is damaged, or this program is too old for it."""
    version = str(document.get("version"))
    if _format_number(document) > FORMAT or _release(version) > _release(widegap.__version__):
        return InvalidDataError(
            f"{path} was made by a newer version of widegap ({version:.40}), which {widegap.__version__} cannot read; "
            "pip install --upgrade widegap."
        )
    why = str(error) if isinstance(error, DamagedModelError) else f"{type(error).__name__}: {error}"
    return InvalidDataError(f"{path} is not a model file of widegap, or is damaged ({why:.200}); save the model again.")


def _format_number(document: Mapping[str, Any]) -> int:
    found = re.fullmatch(r"widegap\.model/(\d{1,6})", str(document.get("format")))
    return 0 if found is None else int(found[1])


def _release(version: str) -> tuple[int, ...]:
    """The numbers at the head of a version: (0, 1, 0) of "0.1.0"; empty if there are none."""
    found = re.match(r"\d{1,6}(?:\.\d{1,6}){0,3}(?![\d])", version)
    return () if found is None else tuple(map(int, found[0].split(".")))
