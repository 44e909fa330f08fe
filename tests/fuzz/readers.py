"""Everything that widegap reads from users, as functions of bytes: they read, or refuse in widegap's own words.

Coverage-guided fuzzing (``run.py``) and the test of the stored inputs (``test_readers.py``) call the same functions.
Where checksums would refuse every change (model files, archives, checkpoints), readers put the bytes into sound files.
"""

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import scipy.sparse as sp

from _model_files import forge, parts_of
from widegap import TableEncoder, persistence
from widegap.cli import _options
from widegap.cli._column_options import stated_weights
from widegap.cli._document_reading import read_documents, read_office
from widegap.cli._errors import CommandError
from widegap.cli._names_file import read_names
from widegap.cli._pictures import read_picture
from widegap.cli._row_names import RowNames, read_links
from widegap.corrections._actions import check_saved
from widegap.corrections._events import History
from widegap.corrections._stored_log import StoredCorrections
from widegap.exceptions import WidegapError
from widegap.explorer._autosave import SESSION_SCHEMA, Autosave
from widegap.rows import shards
from widegap.rows._checkpoint import Checkpoint, _digest, _encoded
from widegap.tables import read_table

REFUSALS = (WidegapError, CommandError)
ENOUGH_WORDS = 15  # letters of a reason
FOLDER = Path(tempfile.mkdtemp(prefix="readers-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
CORPUS = Path(__file__).parent / "corpus.zip"
MODELS = sorted(
    (Path(__file__).parents[1] / "persistence" / "models").glob("*.widegap"), key=lambda p: p.stat().st_size
)
MOST_CELLS = 4_000  # of a table that is encoded too: more take seconds, and show nothing new
N_ROWS = 12

ROWS = np.round(np.random.default_rng(0).normal(size=(6, 3)), 2)
FRAME = pd.DataFrame(
    {"size": [1.5, 2.0, np.nan, 4.25], "kind": ["a", "b", None, "a"], "n": [1, 2, 3, 4], "yes": [True, False] * 2}
)
CSV = "size,kind,when\n1.5,a,2024-01-02\n2.5,b,2024-02-03\n,a,2024-03-04\n"


@dataclass(frozen=True)
class Reader:
    """What reads bytes, whole files to begin with, and words that such files are made of."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[str, ...] = ()


def try_out(name: str, content: bytes) -> bool:
    """Whether the bytes were read; False if they were refused with a reason. Anything else is raised."""
    return all_read(lambda: READERS[name].read(content))


def all_read(*reads: Callable[[], object]) -> bool:
    """Whether all of these read what they are for; those that do not refuse it with a reason."""
    refused = 0
    for read in reads:
        try:
            read()
        except REFUSALS as error:
            assert len(str(error)) >= ENOUGH_WORDS, repr(error)
            refused += 1
    return not refused


def in_file(name: str, content: bytes) -> Path:
    path = FOLDER / name
    path.write_bytes(content)
    return path


def stored(name: str) -> list[bytes]:
    """Inputs of a reader that fuzzing has kept."""
    if not CORPUS.exists():
        return []
    with zipfile.ZipFile(CORPUS) as archive:
        return [archive.read(entry) for entry in archive.namelist() if entry.startswith(f"{name}/")]


def file_of(write: Callable[[Path], object], name: str) -> bytes:
    """What a function writes to a file of this name."""
    path = FOLDER / name
    write(path)
    return path.read_bytes()


# Tables ---------------------------------------------------------------------------------------------------------------


def read_and_encode(name: str) -> Callable[[bytes], None]:
    """Read a table from a file of this name, and turn its columns into numbers."""

    def read(content: bytes) -> None:
        table = read_table(in_file(name, content))
        if table.columns is None:
            np.asarray(table.matrix.sum(axis=0))
        elif table.n_rows * len(table.columns.columns) <= MOST_CELLS:
            encode(table.rows)

    return read


def encode(rows: object) -> None:
    """The numbers are finite, and the same for the same rows a second time."""
    encoder = TableEncoder()
    first = encoder.fit_transform(rows)
    first = first.data if sp.issparse(first) else np.asarray(first)
    assert np.isfinite(first).all()
    again = encoder.transform(rows)
    np.testing.assert_array_equal(again.data if sp.issparse(again) else np.asarray(again), first)


def read_values(content: bytes) -> None:
    """Lines are the cells of one column, the first one is its name."""
    name, *cells = content.decode("utf-8", "replace").split("\n")
    encode(pd.DataFrame({name: cells[:200]}))


def cells(*columns: str) -> list[bytes]:
    return ["\n".join(column.split("|")).encode() for column in columns]


def read_shards(name: str) -> Callable[[bytes], None]:
    """Rows of a file that is read block by block."""

    def read(content: bytes) -> None:
        blocks = shards([in_file(name, content)])
        if 0 < blocks.shape[0] * blocks.shape[1] <= 10**6:
            blocks.take(np.arange(blocks.shape[0]))

    return read


def zip_of(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


SEPARATOR = b"\n--part--\n"


def in_npz(content: bytes) -> None:
    """Parts of an archive of arrays: those of a sparse matrix, or one of X."""
    parts = content.split(SEPARATOR)
    names = ["X"] if len(parts) == 1 else ["format", "shape", "indptr", "indices", "data"]
    read_shards("t.npz")(zip_of({f"{name}.npy": part for name, part in zip(names, parts, strict=False)}))


def npz_parts() -> Iterable[bytes]:
    yield npy(ROWS)
    for form in ("csr", "csc", "coo", "bsr"):
        buffer = io.BytesIO()
        sp.save_npz(buffer, sp.coo_array(ROWS[:, :2]).asformat(form))
        with zipfile.ZipFile(buffer) as archive:
            names = ["format", "shape", "indptr", "indices", "data"]
            yield SEPARATOR.join(archive.read(f"{n}.npy") for n in names if f"{n}.npy" in archive.namelist())


def npz_files() -> Iterable[bytes]:
    yield file_of(lambda path: np.savez(path, X=ROWS), "seed.npz")
    yield file_of(lambda path: sp.save_npz(path, sp.csr_array(ROWS)), "seed.npz")


# A workbook of one sheet without styles; the sheet is what changes.
OPC = "http://schemas.openxmlformats.org"
XLSX = {
    "[Content_Types].xml": f'<Types xmlns="{OPC}/package/2006/content-types"><Default Extension="xml" '
    'ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{OPC}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{OPC}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{OPC}/spreadsheetml/2006/main" xmlns:r="{OPC}/officeDocument/2006/'
    'relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{OPC}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{OPC}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" '
    f'Type="{OPC}/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
    "xl/sharedStrings.xml": f'<sst xmlns="{OPC}/spreadsheetml/2006/main"><si><t>size</t></si><si><t>kind</t></si>'
    "</sst>",
}
SHEET = (
    f'<worksheet xmlns="{OPC}/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c>'
    '<c r="B1" t="s"><v>1</v></c></row><row r="2"><c r="A2"><v>1.5</v></c><c r="B2" t="inlineStr"><is><t>a</t></is></c>'
    '</row><row r="3"><c r="A3"><v>2</v></c><c r="B3" t="b"><v>1</v></c></row></sheetData>'
    '<mergeCells><mergeCell ref="A1:B1"/></mergeCells></worksheet>'
)
ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:'
    'names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>'
    '<office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell office:value-type="string">'
    "<text:p>size</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell "
    'office:value-type="float" office:value="1.5" table:number-columns-repeated="2">'
    "<text:p>1.5</text:p></table:table-cell></table:table-row>"
    "</table:table></office:spreadsheet></office:body></office:document-content>"
)


def in_workbook(content: bytes) -> None:
    """The sheet of an .xlsx file."""
    read_and_encode("t.xlsx")(workbook(content))


def workbook(sheet: bytes) -> bytes:
    parts = {name: text.encode() for name, text in XLSX.items()}
    return zip_of({**parts, "xl/worksheets/sheet1.xml": sheet})


ODS_ROW = ODS[ODS.rindex("<table:table-row>") : ODS.index("</table:table>")]


def in_ods(content: bytes) -> None:
    mime = b"application/vnd.oasis.opendocument.spreadsheet"
    manifest = b'<manifest xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    read_and_encode("t.ods")(zip_of({"mimetype": mime, "META-INF/manifest.xml": manifest, "content.xml": content}))


def packed_files() -> Iterable[bytes]:
    import bz2
    import gzip
    import lzma

    import zstandard

    text = CSV.encode()
    yield from (gzip.compress(text, mtime=0), bz2.compress(text), lzma.compress(text), zip_of({"a.csv": text}))
    yield zstandard.ZstdCompressor().compress(text)
    yield from (zip_of({"a.json": b'[{"a": 1}, {"a": 2}]'}), zip_of({"a.csv": text, "b.csv": text}))


def database() -> Iterable[bytes]:
    import sqlite3

    path = FOLDER / "seed.db"
    path.unlink(missing_ok=True)
    held = sqlite3.connect(path)
    held.execute("PRAGMA page_size = 512")
    held.execute("CREATE TABLE t (a, b)")
    held.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2.5, "y"), (None, "z")])
    held.commit()
    held.close()
    yield path.read_bytes()


# Model files and checkpoints ------------------------------------------------------------------------------------------


def use(path: Path) -> None:
    """Load a model file and put rows into its clusters."""
    model, _ = persistence.load(path)
    width = getattr(model, "n_features_in_", 0)
    if type(model).__name__ not in ("DocumentClustering", "Pipeline") and 0 < width < 100:
        model.predict(np.zeros((2, width)))


def read_model(content: bytes) -> None:
    use(in_file("m.widegap", content))


def chosen_model(content: bytes) -> dict[str, bytes]:
    return PARTS[content[0] % len(PARTS)] if content else PARTS[0]


def in_model_tree(content: bytes) -> None:
    """The tree of a model file with right checksums; the first byte chooses the model."""
    use(forge(FOLDER / "m.widegap", chosen_model(content), **{"model.json": content[1:]}))


def in_model_array(content: bytes) -> None:
    """An array of a model file with right checksums; the first bytes choose the model and the array."""
    parts = chosen_model(content)
    names = sorted(name for name in parts if name.endswith(".npy"))
    use(forge(FOLDER / "m.widegap", parts, **{names[(content[1:2] or b"\0")[0] % len(names)]: content[2:]}))


PARTS = [parts_of(path) for path in MODELS[:10]]  # the large ones would be slow, and have nothing new


def model_trees() -> Iterable[bytes]:
    return (bytes([i]) + parts["model.json"] for i, parts in enumerate(PARTS))


def model_arrays() -> Iterable[bytes]:
    for i, parts in enumerate(PARTS):
        names = sorted(name for name in parts if name.endswith(".npy"))
        yield from (bytes([i, j]) + parts[name] for j, name in enumerate(names) if len(parts[name]) < 2_000)


IDENTITY = {"data": "12 rows", "settings": "k=3"}


def read_checkpoint(content: bytes) -> None:
    """The file of a fit that was interrupted: as it is, or as one record with the right digest."""
    head = json.dumps({"format": 2, **IDENTITY}).encode() + b"\n"
    record = len(content).to_bytes(8, "little") + _digest(content) + content

    def read(whole: bytes) -> None:
        found = Checkpoint(in_file("checkpoint", whole), IDENTITY)
        while found.replays:
            found.next()

    all_read(lambda: read(content), lambda: read(head + content), lambda: read(head + record))


# Sessions, corrections and small files --------------------------------------------------------------------------------

HEADER = {"schema": SESSION_SCHEMA, "rows": N_ROWS, "digest": "d", "title": "t"}
EVENTS = [
    {"kind": "junk", "rows": [1]},
    {"kind": "again"},
    {"kind": "merge", "clusters": [0, 1]},
    {"kind": "undo"},
    {"kind": "is", "rows": [2, 3], "cluster": 1},
    {"kind": "together", "rows": [4, 5], "asked": True},
    {"kind": "apart", "rows": [4, 6]},
    {"kind": "rename", "cluster": 0, "name": "flour"},
    {"kind": "k", "k": 3},
    {"kind": "links", "must_link": [[0, 1]], "cannot_link": [[1, 2]]},
]
NUMBERED = [{"number": number, "at": "2026-01-01", **event} for number, event in enumerate(EVENTS, 1)]


def read_session(content: bytes) -> None:
    """A session of the explorer, with its header and without."""

    def read(whole: bytes) -> None:
        session = Autosave(in_file("session.jsonl", whole), resume=True)
        try:
            history = History()
            for event in session.read(HEADER):
                check_saved(event, history.events, N_ROWS)
                history.add(event)
        finally:
            session.close()

    all_read(lambda: read(content), lambda: read(json.dumps(HEADER).encode() + b"\n" + content))


def sessions() -> Iterable[bytes]:
    yield b"".join(json.dumps(event).encode() + b"\n" for event in NUMBERED)
    yield from (json.dumps({**event, "number": 1}).encode() + b"\n" for event in NUMBERED)


def parsed(content: bytes) -> dict:
    """A JSON object of a file whose other checks have passed."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_corrections(content: bytes) -> None:
    """What a model file says about corrections."""
    extra = parsed(content)
    StoredCorrections.read(extra, N_ROWS, 3)


def corrections() -> Iterable[bytes]:
    for events in ([NUMBERED[4]], NUMBERED[4:8], [{**NUMBERED[7], "number": 1}], [NUMBERED[9]]):
        again = [{**event, "number": number} for number, event in enumerate(events, 1)]
        yield json.dumps({"corrections": {"events": again, "earlier": ["a"]}, "weight_column": "w"}).encode()
    fixed = {"rows": [0, 1], "clusters": [0, 1], "must_link": [[2, 3]], "cannot_link": [], "aside": [4]}
    yield json.dumps({"fixed": {**fixed, "settled_rows": [5], "settled_clusters": [2], "corrections": ["b"]}}).encode()


def read_links_file(content: bytes) -> None:
    """A file of links between rows, by number and by id."""
    path = in_file("links.csv", content)
    table = SimpleNamespace(n_rows=N_ROWS, frame=pd.DataFrame({"id": [f"r{i}" for i in range(N_ROWS)]}))

    def read(id_columns: list[str]) -> None:
        rows = SimpleNamespace(table=table, id_columns=id_columns, kept=np.arange(N_ROWS - 1))
        read_links(path, "--must-link", RowNames(rows), [])

    all_read(lambda: read([]), lambda: read(["id"]))


def read_options(content: bytes) -> None:
    """Texts behind options of the command line."""
    text = content.decode("utf-8", "surrogateescape")
    all_read(
        lambda: stated_weights([text]),
        lambda: _options.cluster_numbers(text),
        lambda: _options.size(text, "--min-size"),
        lambda: _options.outlier_share(text),
        lambda: _options.names(text),
    )


def documents(name: str) -> Callable[[bytes], object]:
    return lambda content: read_documents(in_file(name, content), None, "auto")


def read_page(content: bytes) -> object:
    """A folder with one page of HTML."""
    folder = FOLDER / "pages"
    folder.mkdir(exist_ok=True)
    (folder / "a.html").write_bytes(content)
    return read_documents(folder, None, "auto")


def office(name: str) -> Callable[[bytes], object]:
    return lambda content: read_office(in_file(name, content))


def word_file() -> Iterable[bytes]:
    import docx

    document = docx.Document()
    document.add_paragraph("flour and yeast")
    document.add_table(1, 2).cell(0, 0).text = "salt"
    yield file_of(lambda path: document.save(str(path)), "seed.docx")


def pdf_file() -> Iterable[bytes]:
    text = b"BT /F1 12 Tf 20 20 Td (flour and yeast) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (i, content) for i, content in enumerate(objects, 1))
    whole = b"%PDF-1.4\n" + body
    places = b"".join(b"%010d 00000 n \n" % whole.index(b"%d 0 obj" % i) for i in range(1, len(objects) + 1))
    yield (
        whole
        + b"xref\n0 6\n0000000000 65535 f \n"
        + places
        + (b"trailer << /Root 1 0 R /Size 6 >>\nstartxref\n%d\n%%%%EOF\n" % len(whole))
    )


def pictures() -> Iterable[bytes]:
    from PIL import Image

    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    for form, mode in (("PNG", "RGB"), ("PNG", "P"), ("TIFF", "F"), ("BMP", "RGB"), ("GIF", "P"), ("JPEG", "L")):
        buffer = io.BytesIO()
        Image.fromarray(pixels).convert("L" if mode == "F" else "RGB").convert(mode).save(buffer, form)
        yield buffer.getvalue()


TEXT_WORDS = (
    '"',
    ",",
    ";",
    "\t",
    "|",
    "\r\n",
    "nan",
    "1e308",
    "-",
    "NA",
    "\ufeff",
    "\x00",
    "1,5",
    "12:30",
    "2024-01-02",
)
JSON_WORDS = ("{", "}", "[", "]", ":", ",", "null", "true", "NaN", "1e999", '"a"', "\\ud800", "-0", "[[[[", '{"a":')
VALUE_WORDS = (
    "$", "€", "%", "1,234.5", "1.234,5", "1e5", "(5)", "+", "−", "12:30", "31.12.2024", "Jan", "kg", "cm", "°C", "1/2",
    "\xa0", "'", "yes", "no", "true", "none", "-999", "inf", "<5", "1-2", "2024-W01", "20240102", "Z", "+02:00",
)  # fmt: skip

READERS = {
    "csv": Reader(read_and_encode("t.csv"), lambda: [CSV.encode(), CSV.replace(",", ";").encode("utf-16")], TEXT_WORDS),
    "tsv": Reader(read_and_encode("t.tsv"), lambda: [CSV.replace(",", "\t").encode()], TEXT_WORDS),
    "text": Reader(read_and_encode("t.txt"), lambda: [b"# note\n1.5 2\n2 3\n", b"a|b\n1|x\n2|y\n"], TEXT_WORDS),
    "values": Reader(
        read_values,
        lambda: cells(
            "amount|1,234.5|2,000|n/a",
            "price|$5|$6.50|7 €",
            "when|2024-01-02|2024-02-03 12:30|",
            "day|31.12.2024|1.2.24",
            "time|12:30|23:59:59",
            "share|5 %|10 %",
            "weight|5 kg|300 g",
            "ok|yes|no|yes",
            "zip|00501|90210|10001",
            "code|-999|5|7|-999",
            "id|a1|a2|a3",
            "text|some words here|other words",
            "n|1|2|3",
            "d|20240102|20240203",
        ),
        VALUE_WORDS,
    ),
    "json": Reader(
        read_and_encode("t.json"),
        lambda: [b'[{"a": 1, "b": {"c": "x"}}, {"a": 2.5, "b": [1]}]', b'{"a": [1, 2], "b": ["x", null]}'],
        JSON_WORDS,
    ),
    "jsonl": Reader(read_and_encode("t.jsonl"), lambda: [b'{"a": 1, "b": "x"}\n{"a": null, "b": true}\n'], JSON_WORDS),
    "packed": Reader(read_and_encode("t"), packed_files),
    "npy": Reader(read_shards("t.npy"), lambda: [npy(ROWS), npy(ROWS.astype("f4")), npy(np.asfortranarray(ROWS))]),
    "npz": Reader(read_shards("t.npz"), npz_files),
    "npz parts": Reader(in_npz, npz_parts),
    "svmlight": Reader(read_and_encode("t.svm"), lambda: [b"1 1:0.5 3:2\n-1 2:1e3 # x\n", b"1 qid:1 1:2\n0 2:1\n"]),
    "parquet": Reader(read_and_encode("t.parquet"), lambda: [file_of(FRAME.to_parquet, "seed.parquet")]),
    "parquet shards": Reader(
        read_shards("t.parquet"), lambda: [file_of(FRAME[["n", "size"]].to_parquet, "seed.parquet")]
    ),
    "feather": Reader(read_and_encode("t.feather"), lambda: [file_of(FRAME.to_feather, "seed.feather")]),
    "feather shards": Reader(
        read_shards("t.feather"), lambda: [file_of(FRAME[["n", "yes"]].to_feather, "seed.feather")]
    ),
    "xlsx": Reader(
        read_and_encode("t.xlsx"),
        lambda: [workbook(SHEET.encode())],
    ),
    "xlsx sheet": Reader(
        in_workbook,
        lambda: [SHEET.encode()],
        ('<c r="A1">', "<v>", "</v>", 't="s"', 't="e"', 't="d"', "<row>", "&#0;", "1e999"),
    ),
    "ods content": Reader(
        in_ods,
        lambda: [ODS.replace(ODS_ROW, "".join(ODS_ROW.replace("1.5", n) for n in ("1.5", "2", "3.5"))).encode()],
        ('table:number-rows-repeated="9"', 'office:date-value="2024-01-02"'),
    ),
    "sqlite": Reader(read_and_encode("t.db"), database),
    "model": Reader(read_model, lambda: [path.read_bytes() for path in MODELS[:3]]),
    "model tree": Reader(in_model_tree, model_trees, JSON_WORDS),
    "model array": Reader(in_model_array, model_arrays),
    "checkpoint": Reader(
        read_checkpoint,
        lambda: [
            json.dumps({"format": 2, **IDENTITY}).encode() + b"\n",
            _encoded((1, ROWS)),
            _encoded((0, [1.5, None])),
        ],
    ),
    "session": Reader(read_session, sessions, JSON_WORDS),
    "corrections": Reader(read_corrections, corrections, JSON_WORDS),
    "names": Reader(
        lambda content: read_names(in_file("names.json", content)),
        lambda: [b'{"0": "a", "-1": "b"}', b"0,a\n1,b\n"],
        JSON_WORDS,
    ),
    "links": Reader(read_links_file, lambda: [b"3,7\n1,2\n", b"a;b\nr1;r2\n", b'"1"\t"2"\n'], TEXT_WORDS),
    "options": Reader(read_options, lambda: [b"income=0.5", b"3-10", b"3..10", b"5%", b"20", b"auto", b"a\\,b,c"]),
    "documents": Reader(documents("d.txt"), lambda: [b"flour and yeast\nlate goal\n"], TEXT_WORDS),
    "documents jsonl": Reader(
        documents("d.jsonl"),
        lambda: [b'{"text": "flour", "id": 1, "title": "x"}\n{"text": "goal", "id": 2}\n'],
        JSON_WORDS,
    ),
    "documents csv": Reader(documents("d.csv"), lambda: [b"id,text\n1,flour and yeast\n2,late goal\n"], TEXT_WORDS),
    "page": Reader(read_page, lambda: [b"<html><p>flour &amp; yeast</p><script>x</script><!-- n --></html>"]),
    "word": Reader(office("d.docx"), word_file),
    "pdf": Reader(
        office("d.pdf"), pdf_file, ("obj", "endobj", "stream", "endstream", "/Filter", "/FlateDecode", "xref")
    ),
    "picture": Reader(lambda content: read_picture(in_file("p.png", content)), pictures),
}
