"""Data sets of the papers, read from the folder named by ``WIDEGAP_DATA``.

Every loader returns a :class:`sklearn.utils.Bunch` with

- ``data``: an array of shape (n_samples, n_features), a CSR array, or a list of str for texts. Columns are
  neither scaled nor dropped. Stored integers become float32 in dense data (pixels, counts) and float64 in
  sparse data; stored float32 and float64 stay as they are;
- ``target``: the known classes, for scoring only; integers as int64, names as str;
- ``name`` and ``description``: what was loaded, and where it came from;
- whatever else the file holds, as stored and under its own name: ``X_test`` and ``y_test`` of svmguide1,
  ``y1`` of some shapes, ``terms`` of the Cora titles, ``split`` of the newsgroups, ``university`` of WebKB,
  ``lewissplit`` of Reuters. Further fields of texts are object arrays, one entry per document.

The folder holds ``.npz`` files, dense (``X, y, source``) or sparse (``data, indices, indptr, shape, y,
source``), and ``.jsonl.gz`` texts (one object with ``text`` and ``label`` per line). Nothing is unpickled.
Every loader takes ``return_X_y``: True gives ``(data, target)`` instead of the bunch.
"""

import gzip
import json
import os
import zipfile
import zlib
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import Bunch

from widegap.exceptions import InvalidDataError

_FILES = {
    "20news": "20news_bydate.jsonl.gz",
    "optdigits": "optdigits_train.npz",
    "rcv1": "rcv1_4topics.npz",
    "reuters": "reuters21578.jsonl.gz",
    "webkb": "webkb.jsonl.gz",
}
_TEXT_ORIGINS = {
    "20news": "20 Newsgroups, bydate version (Rennie)",
    "reuters": "Reuters-21578, Distribution 1.0",
    "webkb": "CMU World Wide Knowledge Base, 4 Universities",
}
ADULT_SIZES = ("a1a", "a2a", "a3a", "a4a", "a8a", "a9a")
CORA_FIELDS = ("ds", "ha", "ml", "os", "pl")
FCPS_SHAPES = tuple("atom chainlink engytime hepta lsun target tetra twodiamonds wingnut".split())


def _answer(name, *, return_X_y=False):
    """The bunch of a data set, or its data and target."""
    path = _path(name)
    is_text = path.name.endswith(".jsonl.gz")
    bunch = _text_bunch(name, _read_documents(path)) if is_text else _array_bunch(name, path)
    return (bunch.data, bunch.target) if return_X_y else bunch


# Handwritten digits, training part: 3823 x 64, pixel counts 0..16 as float32, 10 classes.
load_optdigits = partial(_answer, "optdigits")
# Letter recognition: 20000 x 16, integer features as float32, 26 classes named "A" to "Z".
load_letter = partial(_answer, "letter")
# Landsat satellite: 6435 x 36, pixels 0..255 as float32, 6 classes with codes 1, 2, 3, 4, 5 and 7.
load_satimage = partial(_answer, "satimage")
# Radar returns: 351 x 34, float64, good (1) or bad (0). The column with index 1 is constant.
load_ionosphere = partial(_answer, "ionosphere")
# Astroparticle data, training part: 3089 x 4, float64, classes 0 and 1; also ``X_test``, ``y_test``.
load_svmguide1 = partial(_answer, "svmguide1")
# Two overlapping Gaussians, one inside the other: 7400 x 20, float32, classes -1 and 1, standardised.
load_ringnorm = partial(_answer, "ringnorm")
# Image patches in two classes -1 and 1: 2310 x 18, float32, standardised; the papers cluster those from 1300 on.
load_image = partial(_answer, "image")
# Image patches in seven classes 1 to 7 of 330 rows each: 2310 x 18, float32, not scaled.
load_segment = partial(_answer, "segment")
# Handwritten digits: 70000 x 784, pixels 0..255 as float32 (220 MB), 10 classes; from 60000 on the test part.
load_mnist = partial(_answer, "mnist")
# Web pages by keyword: 2477 x 300, sparse binary as float64, classes -1 (2405 rows) and 1 (72 rows).
load_w1a = partial(_answer, "w1a")
# Reuters news in four topics: 23428 x 47236, sparse float32, TF-IDF rows of norm one.
load_rcv1 = partial(_answer, "rcv1")
# Cora papers as bags of words: 2708 x 1433, sparse binary as float64, 7 classes.
load_cora_bow = partial(_answer, "cora_bow")
# University web pages: 8282 raw pages (HTTP header, blank line, HTML), 7 classes.
load_webkb = partial(_answer, "webkb")
# Reuters newswire: 21578 texts of title and body; the target is "" unless there is exactly one topic, as for 9494 of
# them. All topics of a document are in ``topics``.
load_reuters = partial(_answer, "reuters")


def load_adult(size="a1a", *, return_X_y=False):
    """Census income in growing nested samples: 123 columns, sparse binary as float64, classes -1 and 1.

    1605, 2265, 3185, 4781, 22696 or 32561 rows. The sizes a5a to a7a are not in the collection.
    """
    return _answer(_one_of("size", size, ADULT_SIZES), return_X_y=return_X_y)


def load_cora_titles(field, *, return_X_y=False):
    """Cora papers of one field by their title words: sparse float32, TF-IDF; also ``terms`` and ``ids``.

    Data structures, hardware, machine learning, operating systems or programming languages.
    """
    return _answer(f"cora_titles_{_one_of('field', field, CORA_FIELDS)}", return_X_y=return_X_y)


def load_fcps(name, *, return_X_y=False):
    """One shape of the Fundamental Clustering Problems Suite: 2 or 3 columns, float32."""
    return _answer(f"fcps/{_one_of('name', name, FCPS_SHAPES)}", return_X_y=return_X_y)


def load_20news(*, categories=None, headers=True, return_X_y=False):
    """Usenet posts of 20 groups: 18846 texts, the groups are the classes.

    ``categories`` are names of groups, or their beginnings: ``["rec."]`` selects the four rec groups. Without
    ``headers`` (those up to the first blank line) only the ``From:`` and ``Subject:`` lines stay, much as in the
    "18828" version of the collection.
    """
    documents = _read_documents(_path("20news"))
    if categories is not None:
        documents = _in_groups(documents, categories)
    bunch = _text_bunch("20news", documents)
    if not headers:
        bunch.data = [_strip_headers(text) for text in bunch.data]
    return (bunch.data, bunch.target) if return_X_y else bunch


def _one_of(parameter, value, choices):
    """Return a value that is one of the choices, refuse any other."""
    if value not in choices:
        raise ValueError(f"{parameter}={value!r} is not in the collection. Choose one of {', '.join(choices)}.")
    return value


def _path(name):
    """The existing file of a data set."""
    file = _FILES.get(name, f"{name}.npz")
    folder = os.environ.get("WIDEGAP_DATA")
    if not folder:
        raise FileNotFoundError(
            f"The data set {name!r} needs the file {file} in the folder named by the environment variable "
            "WIDEGAP_DATA, which is not set. Set it, or use widegap.datasets, which needs no folder."
        )
    path = Path(folder, file)
    if not path.is_file():
        raise FileNotFoundError(
            f"The data set {name!r} needs the file {path}, which does not exist. Put it there, or set the "
            "environment variable WIDEGAP_DATA to the folder that has it."
        )
    return path


def _array_bunch(name, path):
    """The bunch of a dense or sparse ``.npz`` file."""
    try:
        # np.load of a path leaves the file open when the archive is broken.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            parts = dict(archive)
        data = _pop_csr(parts) if "indptr" in parts else _as_float(parts.pop("X"), np.float32)
        target, source = parts.pop("y"), str(parts.pop("source"))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidDataError(
            f"{path} cannot be read ({error}). It must be an .npz file without pickled objects that holds "
            "X, y, source, or data, indices, indptr, shape, y, source. Fetch or write the file again."
        ) from error
    if np.issubdtype(target.dtype, np.integer):
        target = target.astype(np.int64)
    return Bunch(**parts, data=data, target=target, name=name, description=source)


def _as_float(X, default):
    """X in its own floating type, or in the default one if it holds integers."""
    return X if np.issubdtype(X.dtype, np.floating) else X.astype(default)


def _pop_csr(parts):
    """The CSR array that is stored in parts, which are taken out."""
    data, shape = _as_float(parts.pop("data"), np.float64), tuple(parts.pop("shape"))
    # Indices are stored as uint16 to be small; scipy and scikit-learn work on signed ones.
    return csr_array((data, parts.pop("indices").astype(np.int32), parts.pop("indptr")), shape=shape)


def _read_documents(path):
    """The JSON objects of a ``.jsonl.gz`` file."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            documents = [json.loads(line) for line in lines]
        if not documents or not all({"text", "label"} <= document.keys() for document in documents):
            raise ValueError("a document, text or label is missing")
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidDataError(
            f"{path} cannot be read ({error}). It must be gzipped UTF-8 with one JSON object with the fields "
            "text and label per line. Fetch or write the file again."
        ) from error
    return documents


def _text_bunch(name, documents):
    """The bunch of documents with the fields text, label and any others."""
    fields = {field: [document.get(field) for document in documents] for field in documents[0]}
    data, target = fields.pop("text"), np.array([label or "" for label in fields.pop("label")])
    # np.array would make a matrix of lists that happen to have equal lengths.
    others = {field: np.fromiter(values, dtype=object) for field, values in fields.items()}
    return Bunch(**others, data=data, target=target, name=name, description=_TEXT_ORIGINS[name])


def _in_groups(documents, categories):
    """The documents whose label starts with one of the categories."""
    if isinstance(categories, str):
        raise ValueError(f"categories={categories!r} is a str, but must be a list. Use [{categories!r}].")
    groups = sorted({document["label"] for document in documents})
    unknown = [prefix for prefix in categories if not any(group.startswith(prefix) for group in groups)]
    if unknown or not categories:
        raise ValueError(
            f"categories={categories!r} must be names of groups or their beginnings; {unknown} are not. "
            f"Choose from {', '.join(groups)}, or None for all."
        )
    return [document for document in documents if document["label"].startswith(tuple(categories))]


def _strip_headers(text):
    """The text without the header lines other than From and Subject."""
    head, blank, body = text.partition("\n\n")
    if not blank:
        return text
    # Indented lines go too: in this collection they continue a References line that was cut out before.
    lines = [line for line in head.split("\n") if line.startswith(("From:", "Subject:"))]
    return "\n".join(lines) + blank + body
