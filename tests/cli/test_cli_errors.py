"""Errors of the command line: one line with the remedy, exit code 2, nothing half written, no traceback."""

import errno
import io
import os
import zipfile

import numpy as np
import pytest
import typer

from widegap import CPM3C, persistence
from widegap.cli import _delivery, _places
from widegap.cli._errors import about_os_error, guarded, in_options, one_line
from widegap.cli._main import main

GOOD = "x,y\n" + "".join(f"{i % 2 * 9},{i / 2}\n" for i in range(20))


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.csv"
    path.write_text(GOOD, encoding="utf-8")
    return path


def complaint(capsys, arguments, code=2):
    """The one line that a command which fails says."""
    assert main([str(argument) for argument in arguments]) == code
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = [line for line in said.err.splitlines() if not line.endswith(" ...")]
    assert line.startswith("error: ")
    return line


FILES = [
    ("empty.csv", b"", "is empty; it needs a header"),
    ("blank.csv", b"\n \n", "is empty"),
    ("header.csv", b"a,b\n", "has a header but no rows"),
    ("binary.csv", b"\x89PNG\r\n\0\0\0\rIHDR", "is not a text file: it contains zero bytes"),
    ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, but the table has 2 columns"),
    (
        "texts.csv",
        b"a\n" + b"".join(b"text %d\n" % i for i in range(50)),
        "No column tells rows apart",
    ),
    ("bad.xlsx", b"PK", "is not a spreadsheet, or is damaged"),
    ("data.docx", b"PK", "files ending in .docx are not read; convert it"),
    ("bad.npy", b"no array", "cannot be read as .npy"),
    ("bad.npz", b"no archive", "cannot be read as .npz"),
    ("bad.parquet", b"PAR0", "is not a Parquet file"),
    ("bad.svm", b"1 a:b\n", "is not an svmlight file"),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[name for name, *_ in FILES])
def test_files_that_cannot_be_clustered(name, content, message, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content)
    line = complaint(capsys, ["cluster", path, "-k", "2"])
    assert any(part in line for part in message.split("|"))


CALLS = [
    (["-k", "21"], "asks for more clusters than there are rows (20)"),
    (["-k", "many"], "is not a number of clusters; pass one such as 5, a range such as 3-10, or auto"),
    (["-k", "2..1000000000"], "-k 1000000000 asks for more clusters than there are rows (20)"),
    (["-k", "auto", "--method", "cpm3c"], "or use --method max-margin, which finds it"),
    (["-k", "5..3"], "a range goes upwards"),
    (["-k", "0"], "numbers begin at 1"),
    (["-k", "2", "--columns", "z"], "has no column 'z' (--columns); it has 'x', 'y'"),
    (["-k", "2", "--label-column", "z"], "has no column 'z'"),
    (["-k", "2", "--encoding", "klingon"], "no such encoding"),
    (["-k", "2", "--delimiter", ",,"], "must be a single character"),
    (["-k", "2", "-o", "nowhere/out.csv"], "no such folder"),
    (["-k", "2", "-o", "out.docx"], "not as .docx; rename it"),
    (["-k", "2", "-o", "."], "is a folder; name a file"),
    (["-k", "2", "--min-size", "few"], "must be a number of rows, such as 20, or a share, such as 5%"),
    (["-k", "2", "--max-size", "9" * 400], "must be a number of rows, such as 20, or a share, such as 5%"),
    (["-k", "2", "--min-size", "60%"], "asks for 2 clusters of 12 rows or more, but there are 20 rows"),
    (["-k", "2", "--drop", "X"], "has no column 'X' (--drop); did you mean 'x'?"),
]


@pytest.mark.parametrize(("arguments", "message"), CALLS, ids=[" ".join(call) for call, _ in CALLS])
def test_calls_that_cannot_be_served(arguments, message, good, capsys):
    assert message in complaint(capsys, ["cluster", good, *arguments])


def test_many_numbers_are_not_compared_at_once(tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((5000, 2)))
    line = complaint(capsys, ["cluster", tmp_path / "x.npy", "-k", "2..5000"])
    assert "-k 2..5000 are 4,999 numbers to compare; ask for 100 at most, such as -k 2..10, or for -k auto" in line
    line = complaint(capsys, ["cluster", tmp_path / "x.npy", "-k", "4950..5000"])
    assert "random subsamples, which have 1600 of the 5000 rows; ask for 1600 or fewer" in line


def test_missing_files_and_folders(tmp_path, good, capsys):
    assert "no such file; check the name" in complaint(capsys, ["cluster", tmp_path / "none.csv", "-k", "2"])
    assert "is a folder; name a file" in complaint(capsys, ["cluster", tmp_path, "-k", "2"])
    assert "no such file; 'widegap cluster --model" in complaint(capsys, ["predict", tmp_path / "none", good])


def test_matrices_have_no_columns_to_name(tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.eye(4))
    assert "has no column names" in complaint(capsys, ["cluster", tmp_path / "x.npy", "-k", "2", "--columns", "a"])


def test_nan_in_a_matrix_is_refused_with_the_remedy(tmp_path, capsys):
    X = np.arange(20.0).reshape(10, 2)
    X[3, 1] = np.nan
    np.save(tmp_path / "x.npy", X)
    line = complaint(capsys, ["cluster", tmp_path / "x.npy", "-k", "2", "--scale", "none"])
    assert "NaN" in line


def test_no_permission(good, tmp_path, capsys, monkeypatch):
    # Simulated, because the superuser may do everything.
    monkeypatch.setattr(_places, "may_write", lambda folder: False)
    line = complaint(capsys, ["cluster", good, "-k", "2", "-o", tmp_path / "out.csv"])
    assert "permission denied; choose another place" in line


def test_no_permission_to_read(good, capsys, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert "permission denied" in complaint(capsys, ["cluster", good, "-k", "2"])


@pytest.mark.parametrize("option", ["-o", "--report", "--model"])
def test_a_full_disk_leaves_nothing_behind(option, good, tmp_path, capsys, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    target = tmp_path / ("target.html" if option == "--report" else "target.csv")
    target.write_text("the old content", encoding="utf-8")
    line = complaint(capsys, ["cluster", good, "-k", "2", option, target])
    assert f"{target}: no space left on the disk, it was not written" in line
    assert target.read_text(encoding="utf-8") == "the old content"
    assert sorted(os.listdir(tmp_path)) == ["good.csv", target.name]


def test_debug_shows_the_traceback(tmp_path):
    with pytest.raises(Exception, match="no such file"):
        main(["cluster", str(tmp_path / "none.csv"), "-k", "2", "--debug"])


def test_unexpected_errors_are_one_line_too(good, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("a\nbug")

    monkeypatch.setattr(_delivery, "print_summary", fail)
    line = complaint(capsys, ["cluster", good, "-k", "2"], code=1)
    assert line == "error: RuntimeError: a bug (unexpected: run again with --debug and report it)"


def test_too_little_memory_is_explained(good, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(_delivery, "print_summary", fail)
    assert "not enough memory; use fewer rows" in complaint(capsys, ["cluster", good, "-k", "2"], code=1)


def test_terminal_codes_in_data_do_not_reach_the_terminal(tmp_path, capsys):
    path = tmp_path / "codes.csv"
    path.write_text("x,\x1b[31mred\n" + "".join(f"{i % 2 * 9},{i % 2}\n" for i in range(20)), encoding="utf-8")
    assert main(["cluster", str(path), "-k", "2"]) == 0
    assert "\x1b[31m" not in capsys.readouterr().out
    assert "\x1b" not in complaint(capsys, ["cluster", path, "-k", "2", "--columns", "none"])


def test_messages_stay_on_one_line_of_bearable_length():
    assert one_line("a\n b\t\x07c") == "a b \ufffdc"
    assert len(one_line("x" * 10_000)) == 600


@pytest.mark.parametrize(("number", "message"), [(errno.EROFS, "read-only"), (errno.EIO, "Input/output error")])
def test_other_errors_of_the_system(number, message):
    assert message in about_os_error(OSError(number, os.strerror(number), "f"))


def test_a_model_without_the_columns_of_the_table(good, tmp_path, capsys):
    other, model = tmp_path / "other.csv", tmp_path / "m.widegap"
    other.write_text("x,z\n1,2\n", encoding="utf-8")
    assert main(["cluster", str(good), "-k", "2", "-q", "--model", str(model)]) == 0
    assert "lacks the column 'y' that the model was fitted with" in complaint(capsys, ["predict", model, other])
    np.save(tmp_path / "x.npy", np.eye(2))
    assert "The model needs the columns 'x', 'y'" in complaint(capsys, ["predict", model, tmp_path / "x.npy"])


def test_a_matrix_model_on_other_data(good, tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(20, 3)))
    np.save(tmp_path / "b.npy", np.ones((5, 4)))
    model = tmp_path / "m.widegap"
    assert main(["cluster", str(tmp_path / "a.npy"), "-k", "2", "-q", "--model", str(model)]) == 0
    line = complaint(capsys, ["predict", model, tmp_path / "b.npy"])
    assert "b.npy: X has 4 features, but TableEncoder is expecting 3" in line
    assert "fitted on a matrix without names" in complaint(capsys, ["predict", model, good])


def test_a_model_that_says_nothing_of_its_table(good, tmp_path, capsys):
    bare = tmp_path / "bare.widegap"
    persistence.save(CPM3C(2, random_state=0).fit(np.eye(6)[:, :2]), bare)
    assert "does not hold how its table was read; fit it again" in complaint(capsys, ["predict", bare, good])


def test_two_strokes_before_k_get_a_suggestion(capsys):
    assert main(["cluster", "x.csv", "--k", "3"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "No such option: --k" in said and "-k)" in said and "--known" not in said


@pytest.mark.parametrize("command", ["cluster", "documents", "segment", "explore"])
def test_addresses_are_not_read(command, capsys):
    assert main([command, "https://example.org/x.csv"]) == 2
    assert "https://example.org/x.csv: URLs are not read; download it first" in capsys.readouterr().err


def test_a_path_is_no_address(tmp_path, capsys):
    folder = tmp_path / "https:"
    folder.mkdir()
    (folder / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert main(["cluster", str(folder / "x.csv"), "-k", "2"]) == 2
    assert "URLs" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("set n_clusters=1, lower min_df", "pass -k 1, lower min_df"),
        ("n_samples=3 should be >= n_clusters=4: lower n_clusters.", "n_samples=3 should be >= -k 4: lower -k."),
        ("4 labels, but n_clusters=3", "4 labels, but -k is 3"),
    ],
)
def test_messages_of_the_library_name_options(message, words):
    assert in_options(message) == words


def test_an_error_that_ctrl_c_brought_about_is_an_interrupt(capsys):
    archive = zipfile.ZipFile(io.BytesIO(), "w")
    entry = archive.open("entry", "w")  # what Ctrl-C may leave open: to close the zip is an error then

    @guarded
    def command():
        with archive:
            raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "Interrupted; no file was left half written.\n"
    entry.close()
    archive.close()


def test_no_memory_for_a_thread_is_no_memory(good, tmp_path, capsys, monkeypatch):
    def full(*arguments, **options):
        raise RuntimeError("Unknown error: Failed to launch worker thread: Resource temporarily unavailable")

    monkeypatch.setattr(CPM3C, "_prepare", full)
    line = complaint(capsys, ["cluster", good, "-k", "2", "--method", "cpm3c"], code=1)
    assert line.startswith("error: not enough memory (Unknown error") and "use fewer rows" in line
