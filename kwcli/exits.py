"""The ways a command can end, and the one exception that carries such an end up to `main`."""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import Final

# Ends of a write that no defect of ours is the cause of: what it goes to is full, closed, broken or too large.
_UNWRITABLE: Final = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.ENXIO, errno.EROFS, errno.ESTALE
})  # fmt: skip


class Exit(IntEnum):
    """Exit codes of `kw`; scripts rely on them."""

    DONE = 0
    FAILURE = 1  # of the input, or a Kafka-level error in the answer to a call
    USAGE = 2
    LOSSY = 3  # only under --strict: traffic was lost or could not be decoded
    FINDINGS = 4  # a check found something
    UNREACHABLE = 5  # could not connect
    REFUSED = 6  # authentication refused
    TIMEOUT = 124
    INTERRUPTED = 130


def unwritten(error: OSError, what: str = "the output") -> str | None:
    """The line for something that was to be written and could not be; None where the error says something else."""
    if error.errno not in _UNWRITABLE:
        return None
    return f"{error.filename or what} cannot be written: {(error.strerror or str(error)).lower()}"


class Failure(Exception):
    """An end that is not a defect: `text` is the one line shown to the user, after `kw: `."""

    def __init__(self, text: str, code: Exit = Exit.FAILURE) -> None:
        super().__init__(text)
        self.text = text
        self.code = code
