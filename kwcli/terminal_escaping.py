"""Bytes from untrusted sources in, what is safe to write to a terminal out.

Names, addresses and messages come from brokers, captures, files and the command line, and a terminal executes the
control characters in them: ESC moves the cursor or rewrites lines, CR, BEL and the C1 controls act by themselves, and
the bidirectional controls make a line read otherwise than it is (CVE-2021-42574). Two places guard against that:

    a value ── clean() (wire/format_and_escape_text.py) where text is made: no control character or line end survives
    bytes ──── Terminal, which wraps a terminal's standard output and error: the last check of all that is written

`clean` applies to text in pipes as well, where a line end in a name would forge a line. JSON and CSV keep their values;
`Terminal` writes the control characters in them as `\\uXXXX`, which in JSON is the same value. In pipes and files there
is no `Terminal`, so nothing is searched and no byte differs. The only escape codes that `Terminal` lets pass are the
colours of `palette`, and only while a format is written whose values are clean: see `Environment.allow_colors`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Final, Protocol

from decoders.wire.format_and_escape_text import escape_text

__all__ = ["Terminal", "Writable"]

# Erases the line that the cursor is on.
ERASE: Final = b"\r\x1b[K"
# The colours of kwcli.output.short_texts.
_COLOR: Final = r"\x1b\[(?:[012]|3[1-6]|1;3[135])m"
# C0 but tab and line feed, DEL, C1, and the bidirectional controls.
_OBEYED: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
# `_OBEYED` without ESC, in UTF-8.
_BYTES: Final = (
    rb"\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]"
)
_SEARCH: Final = re.compile(_BYTES + rb"|\x1b").search
_SEARCH_COLORED: Final = re.compile(_BYTES + rb"|(?!" + _COLOR.encode() + rb")\x1b").search
_REPLACE: Final = re.compile(_OBEYED).sub
_REPLACE_COLORED: Final = re.compile(f"(?!{_COLOR}){_OBEYED}").sub


class Writable(Protocol):
    """A byte stream for standard output or error; `write` may take a part of the data and returns its size."""

    def write(self, data: bytes | memoryview, /) -> int: ...

    def flush(self) -> None: ...

    def fileno(self) -> int: ...


class Terminal:
    """A terminal's stream: control characters are escaped, and a byte that is not UTF-8 is shown as `\\xNN`.

    `to_ascii`, if set, turns a text into ASCII, for a terminal that has no more.
    """

    __slots__ = ("_decoder", "_replace", "_search", "beneath", "to_ascii")

    def __init__(self, beneath: Writable) -> None:
        self.beneath = beneath
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self.to_ascii: Callable[[str], str] | None = None
        self._search: Callable[[bytes], object] = _SEARCH
        self._replace: Callable[[Callable[[re.Match[str]], str], str], str] = _REPLACE

    def allow_colors(self, allowed: bool) -> None:
        """Let the colour codes of the palette pass, or escape them."""
        self._search = _SEARCH_COLORED if allowed else _SEARCH
        self._replace = _REPLACE_COLORED if allowed else _REPLACE

    def write(self, data: bytes | memoryview, /) -> int:
        """Write all of the data, escaped where necessary; returns the size of the data as given."""
        given = bytes(data)
        self._write_all(given if self._has_no_controls(given) else self._escape_controls(given))
        return len(given)

    def redraw_line(self, line: str) -> None:
        """Replace the line that the cursor is on by `line`."""
        self._write_all(ERASE + escape_text(line).encode())

    def flush(self) -> None:
        """Flush the stream beneath."""
        self.beneath.flush()

    def fileno(self) -> int:
        """The descriptor of the terminal."""
        return self.beneath.fileno()

    def _has_no_controls(self, data: bytes) -> bool:
        if self._search(data) is not None or self._decoder.getstate()[0]:
            return False
        if data.isascii():
            return True
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True

    def _escape_controls(self, data: bytes) -> bytes:
        """The data, escaped. A character cut off at its end waits for the next piece: terminals join the halves."""
        return self._replace(_format_as_escape, self._decoder.decode(data)).encode()

    def _write_all(self, data: bytes) -> None:
        if self.to_ascii is not None and not data.isascii():
            data = self.to_ascii(data.decode("utf-8", "backslashreplace")).encode("ascii")
        left = memoryview(data)
        while left:  # an unbuffered stream (PYTHONUNBUFFERED) may take a part
            left = left[self.beneath.write(left) :]


def _format_as_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
