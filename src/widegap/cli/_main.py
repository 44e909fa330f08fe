"""Entry point of ``widegap`` and ``python -m widegap``.

Command modules import what they need when they run, so that ``--help`` answers at once.
"""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(f"error: the command line needs {error.name}: pip install 'widegap[cli]'.", file=sys.stderr)
        return 2
    code = 0
    try:
        from widegap.cli._app import app

        app(None if arguments is None else list(arguments), prog_name="widegap")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except KeyboardInterrupt:  # before a command has begun
        print("Interrupted; no file was left half written.", file=sys.stderr)
        return 130
    return _flushed(code)


def _flushed(code: int) -> int:
    """The exit code, without a message if the program that reads the output stopped early, as ``head`` does."""
    from widegap.cli._errors import PIPE_CLOSED

    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must not fail once more
        return PIPE_CLOSED
    return code
