"""Bytes for a terminal in; output longer than the screen is shown through the user's pager, as git does it.

Output is held until it is longer than the screen: then the pager is started and gets the held output, and later output
as it comes. Shorter output is written to the terminal itself. When the pager is closed early, the next write raises
BrokenPipeError, which is no error for a command.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kwcli.terminal_escaping import Writable

# less leaves the text on the screen and keeps colours; it ends by itself where a resized screen has room for all.
LESS: Final = {"LESS": "FRX", "LESSCHARSET": "utf-8"}
_OF_A_SHELL: Final = frozenset("|&;<>()$`\\\"'*?[]#~=%")


def find_pager_command(variables: Mapping[str, str]) -> list[str]:
    """The words of the pager's command: KW_PAGER, else PAGER, else less unless TERM is dumb; none for no pager (empty,
    `cat`).
    """
    able = "less" if variables.get("TERM", "dumb") != "dumb" else ""
    text = variables.get("KW_PAGER", variables.get("PAGER", able)).strip()
    if text in ("", "cat"):
        return []
    return ["sh", "-c", text] if _OF_A_SHELL & set(text) else shlex.split(text)


class PagedOutput:
    """Standard output to a terminal of `size` (columns, rows), through a pager where it is longer than the screen."""

    def __init__(
        self, beneath: Writable, program: list[str], variables: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        self.beneath = beneath
        self._program = program
        self._variables = variables
        self._columns, self._rows = size
        self._held: list[bytes] = []
        self._lines = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._direct = False

    @property
    def has_begun(self) -> bool:
        """Whether output is held or in the pager: a diagnostic line written now would come before it, or into it."""
        return bool(self._held) or self._child is not None

    def write(self, data: bytes | memoryview, /) -> int:
        """Hold or write all of the data. Raises BrokenPipeError when the pager has been closed."""
        if self._direct:
            return self.beneath.write(data)
        given = bytes(data)
        if self._child is not None:
            self._write_to_pager(given)
            return len(given)
        self._held.append(given)
        self._lines += max(given.count(b"\n"), len(given) // max(self._columns, 1))
        if self._lines >= self._rows:
            self._start_pager()
        return len(given)

    def flush(self) -> None:
        """Flush the terminal where output goes straight to it; held output stays held."""
        if self._direct:
            self.beneath.flush()

    def fileno(self) -> int:
        """The descriptor of the terminal."""
        return self.beneath.fileno()

    def close(self) -> None:
        """Write held output to the terminal, or wait until the user closes the pager. Ctrl-C goes to the pager."""
        if self._child is None:
            self._write_held_output()
            return
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):
            self._child.stdin.close()
        while self._child.poll() is None:
            with suppress(KeyboardInterrupt):
                self._child.wait()
        self._child = None
        self._direct = True

    def _start_pager(self) -> None:
        try:
            self._child = subprocess.Popen(self._program, stdin=subprocess.PIPE, env={**LESS, **self._variables})
        except OSError:  # no such program: the text is shown as it is
            self._write_held_output()
            return
        held, self._held = self._held, []
        self._write_to_pager(b"".join(held))

    def _write_to_pager(self, data: bytes) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        self._child.stdin.write(data)
        self._child.stdin.flush()

    def _write_held_output(self) -> None:
        """Write held output, and all later output, to the terminal without a pager."""
        self._direct = True
        held, self._held = self._held, []
        left = memoryview(b"".join(held))
        while left:  # an unbuffered stream (PYTHONUNBUFFERED) may take a part
            left = left[self.beneath.write(left) :]
        self.beneath.flush()
