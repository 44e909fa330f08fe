"""How a command ends when something is wrong: one line with the remedy, and an exit code."""

import errno
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from widegap._atomic import remove_passing
from widegap._jit import holds_interrupt

# Exit codes as shells use them: 2 for a wrong call, 128 and the number of the signal for SIGINT and SIGPIPE.
USAGE, UNEXPECTED, INTERRUPTED, PIPE_CLOSED = 2, 1, 130, 141
INPUTS = ("data", "path", "picture", "universum")  # arguments of commands that name files to be read
ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}(.*)", re.IGNORECASE)  # not C:/data, whose scheme has one letter
IN_USE = (5, 32, 33)  # errors of Windows for files that are open elsewhere, in a spreadsheet for example
NO_THREAD = "Failed to launch worker thread"  # of Arrow, which has no memory for its stack
MAX_MESSAGE = 600  # letters, about eight lines of a terminal; a longer message hides its remedy
# Arguments of the library, and their options on the command line; longer names first.
NUMBER_WORDS = (
    ("n_clusters='auto'", "-k auto"),
    ("raise n_clusters", "raise -k"),
    ("lower n_clusters", "lower -k"),
    ("set n_clusters=", "pass -k "),
    ("but n_clusters=", "but -k is "),
    ("n_clusters=", "-k "),
    ("it or n_clusters", "it or -k"),
)
SIZE_WORDS = (
    ("size_min=", "--min-size "),
    ("size_max=", "--max-size "),
    ("size_min", "--min-size"),
    ("size_max", "--max-size"),
)
OPTION_WORDS = (
    *NUMBER_WORDS,
    *SIZE_WORDS,
    ("cannot_link", "--cannot-link"),
    ("numeric or categorical", "--numeric or --categorical"),
    ("out before the fit", "out with --missing drop"),
    ("missing='fill'", "--missing median, or leave those rows out with --missing drop"),
)
NA_VALUES = re.compile(r"na_values=\[([^\]]*)\]")


class CommandError(Exception):
    """The command cannot continue; the message names the value, the rule and the remedy."""

    def __init__(self, message: str, code: int = USAGE):
        super().__init__(message)
        self.code = code


def one_line(text: Any) -> str:
    """A message for a terminal: one line, no control characters, not endless."""
    flat = " ".join(str(text).split())
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in flat)
    return shown if len(shown) <= MAX_MESSAGE else shown[: MAX_MESSAGE - 1] + "…"


def in_options(message: str) -> str:
    """A message of the library in the words of the command line."""
    for argument, option in OPTION_WORDS:
        message = message.replace(argument, option)
    return NA_VALUES.sub(lambda found: "--na-values=" + found[1].replace("'", "").replace(", ", ","), message)


def tell(text: Any) -> None:
    """One line on the error stream, apart from results."""
    print(one_line(text), file=sys.stderr, flush=True)


def about_os_error(error: OSError) -> str:
    """What the system refused, and the remedy."""
    if error.errno == errno.ENOENT and not _has_working_folder():
        return "the folder in which the command was called no longer exists; change to another one (cd)."
    name = error.filename if error.filename is not None else "the file"
    if getattr(error, "winerror", None) in IN_USE:
        return f"{name}: permission denied, or open in another program; close it there, or choose another place."
    remedies = {
        errno.ENOENT: f"{name}: no such file or folder; check the name.",
        errno.EACCES: f"{name}: permission denied; choose another place, or change its permissions.",
        errno.EPERM: f"{name}: permission denied; choose another place, or change its permissions.",
        errno.EROFS: f"{name}: this file system is read-only; choose another place.",
        errno.EISDIR: f"{name} is a folder; name a file.",
        errno.ENOTDIR: f"{name}: a part of the path is not a folder; check the name.",
        errno.ENOSPC: f"{name}: no space left on the disk, it was not written; free some, or choose another place.",
        errno.EDQUOT: f"{name}: your disk quota is used up, it was not written; free some space.",
        errno.ENAMETOOLONG: "a file name is too long; choose a shorter one.",
    }
    return remedies.get(error.errno or 0, f"{name}: {error.strerror or error}.")


def _has_working_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def is_closed_pipe(error: OSError) -> bool:
    """Whether the program that reads the output stopped early; Windows calls it an invalid argument."""
    is_nameless = error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and is_nameless)


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that turns every error into one line and an exit code, unless ``debug`` asks for the traceback."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        import typer

        try:
            _refuse_addresses(options)
            command(*arguments, **options)
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            _tidy_up()
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if isinstance(error, OSError) and is_closed_pipe(error):
                raise typer.Exit(PIPE_CLOSED) from None
            if holds_interrupt(error):  # a zip that Ctrl-C left with an open entry raises ValueError as it is closed
                _tidy_up()
                raise typer.Exit(INTERRUPTED) from None
            if options.get("debug"):
                raise
            message, code = _explain(error)
            tell(f"error: {message}")
            raise typer.Exit(code) from None

    return run


def _tidy_up() -> None:
    """After Ctrl-C, which may fall between the making of a file and the block that deletes it."""
    remove_passing()
    tell("Interrupted; no file was left half written.")


def _refuse_addresses(options: dict[str, Any]) -> None:
    """Refuse an address of the network as input: a path has already lost one of its two strokes."""
    for path in filter(None, map(options.get, INPUTS)):
        found = ADDRESS.match(str(path))
        if found is not None and not path.exists():
            address = f"{found[1]}://{found[2]}"
            raise CommandError(f"{address}: URLs are not read; download it first, and name the file.")


def _explain(error: Exception) -> tuple[str, int]:
    if isinstance(error, CommandError):
        return str(error), error.code
    if isinstance(error, OSError):
        return about_os_error(error), USAGE
    if isinstance(error, MemoryError) or NO_THREAD in str(error):
        size = f" ({error})" if str(error) else ""  # NumPy says how much it asked for
        return f"not enough memory{size}; use fewer rows or columns (--columns), or a machine with more.", UNEXPECTED
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed: pip install 'widegap[cli]'.", USAGE
    from widegap.exceptions import WidegapError

    if isinstance(error, WidegapError | ValueError):
        message = str(error)
        for argument, option in NUMBER_WORDS + SIZE_WORDS:  # of others, the command that fails may have none
            message = message.replace(argument, option)
        return message, USAGE
    return f"{type(error).__name__}: {error} (unexpected: run again with --debug and report it)", UNEXPECTED
