"""Standard input, which may have no end: read up to a limit."""

import sys

from widegap.exceptions import InvalidDataError

MAX_INPUT_BYTES = 1 << 30  # larger tables are files, whose size is known before they are read; not tuned


def read_standard_input() -> bytes:
    """All of it; an error if there is more than the limit."""
    parts, total = [], 0
    while part := sys.stdin.buffer.read(1 << 20):
        parts.append(part)
        total += len(part)
        if total > MAX_INPUT_BYTES:
            raise InvalidDataError(
                f"standard input has more than {MAX_INPUT_BYTES >> 20:,} MiB, the most that is read from there; write "
                "it to a file and name that."
            )
    return b"".join(parts)
