"""Entry point of ``widegap`` and ``python -m widegap``.

Command modules import what they need when they run, so that ``--help`` answers at once.
"""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper

# New objects after which Python looks for cycles; its own 700 (2000 in later versions) cost a short command a tenth
# of its time, as imports make hundreds of thousands of objects that stay.
OBJECTS_A_COLLECTION = 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(f"error: the command line needs {error.name}: pip install 'widegap[cli]'.", file=sys.stderr)
        return 2
    _write_utf8()
    code = 0
    try:
        from widegap.cli._ending import tidy_end

        with _rare_collections(), tidy_end():
            from widegap.cli._app import app

            app(None if arguments is None else list(arguments), prog_name="widegap")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except KeyboardInterrupt:  # before a command has begun
        print("Interrupted; no file was left half written.", file=sys.stderr)
        return 130
    return _flushed(code)


def _write_utf8() -> None:
    """Results in a pipe or a file are UTF-8 with plain line ends, on Windows too: they are the bytes of ``-o FILE``."""
    if sys.platform != "win32" or "PYTHONIOENCODING" in os.environ:
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", newline="\n")


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cycles of objects less often."""
    usual = gc.get_threshold()
    gc.set_threshold(OBJECTS_A_COLLECTION, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _flushed(code: int) -> int:
    """The exit code, without a message if the program that reads the output stopped early, as ``head`` does."""
    from widegap.cli._errors import PIPE_CLOSED, is_closed_pipe

    try:
        sys.stdout.flush()
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must not fail once more
        return PIPE_CLOSED
    return code
