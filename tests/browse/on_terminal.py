"""`kw browse` on a terminal of its own, there before and after it: keys and signals in, bytes and modes out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from typing import Any, Final

from tests.waiting import until

__all__ = ["LEFT", "OnTerminal"]

# What ends each mode of the terminal that a screen begins: the other screen, no cursor, the mouse, pasted text, focus.
LEFT: Final = {
    b"\x1b[?1049h": b"\x1b[?1049l",
    b"\x1b[?25l": b"\x1b[?25h",
    b"\x1b[?1000h": b"\x1b[?1000l",
    b"\x1b[?1003h": b"\x1b[?1003l",
    b"\x1b[?1006h": b"\x1b[?1006l",
    b"\x1b[?2004h": b"\x1b[?2004l",
    b"\x1b[?1004h": b"\x1b[?1004l",
    b"\x1b[>1u": b"\x1b[<u",
}
_CODE: Final = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class OnTerminal:
    """A run. `seen`: all bytes that it has written; `before`: the modes of the terminal at its start."""

    def __init__(
        self, *words: str, size: tuple[int, int] = (80, 24), variables: Mapping[str, str | None] | None = None
    ) -> None:
        self.terminal, self._inside = pty.openpty()
        self.resize(*size, tell=False)
        self.before = termios.tcgetattr(self._inside)
        surroundings = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "COLORTERM", "TMUX"):
            surroundings.pop(name, None)
        for name, value in (variables or {}).items():
            surroundings.pop(name, None)
            if value is not None:
                surroundings[name] = value
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kwcli", "browse", *words],
            stdin=self._inside,
            stdout=self._inside,
            stderr=self._inside,
            env=surroundings,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.seen = b""

    def resize(self, columns: int, lines: int, *, tell: bool = True) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if tell:
            os.kill(self.process.pid, signal.SIGWINCH)

    def _read_what_is_there(self) -> None:
        while select.select([self.terminal], [], [], 0.02)[0]:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                break
            if not data:
                break
            self.seen += data

    def wait_for(self, text: bytes, *, after: int = 0) -> None:
        """Wait until a text was drawn behind so many bytes."""

        def was_drawn() -> bool:
            self._read_what_is_there()
            return text in _CODE.sub(b"", self.seen[after:]) or text in self.seen[after:]

        until(was_drawn)

    def press(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.terminal, keys)

    def wait_for_stop(self) -> None:
        """Wait until the process is suspended."""

        def is_stopped() -> bool:
            self._read_what_is_there()
            with open(f"/proc/{self.process.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] == "T"

        until(is_stopped)
        self._read_what_is_there()

    def wait_for_end(self) -> int:
        """Read to the end; returns the exit code."""

        def has_ended() -> bool:
            self._read_what_is_there()
            return self.process.poll() is not None

        until(has_ended)
        self._read_what_is_there()
        assert self.process.returncode is not None
        return self.process.returncode

    def hang_up(self) -> int:
        """Close the terminal, as a window that is closed; returns the exit code."""
        os.close(self.terminal)
        self.terminal = -1
        os.close(self._inside)
        self._inside = -1
        until(lambda: self.process.poll() is not None)
        assert self.process.returncode is not None
        return self.process.returncode

    def list_faults(self) -> list[str]:
        """What is not as it was before the run: modes of the line, and modes that codes have begun."""
        faults = [
            f"{began!r} was not ended"
            for began, ended in LEFT.items()
            if self.seen.rfind(began) > self.seen.rfind(ended)
        ]
        if self.modes() != self.before:
            faults.append("the modes of the line differ")
        return faults

    def modes(self) -> list[Any]:
        """The modes of the line now, as stty shows them."""
        return termios.tcgetattr(self._inside)

    def close(self) -> None:
        """Kill what is left, and close the terminal."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self.terminal, self._inside):
            if descriptor >= 0:
                os.close(descriptor)
        self.terminal = self._inside = -1
