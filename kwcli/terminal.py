"""Text and bytes that may hold anything in, what a terminal may be given of them out.

Names, addresses and messages come from brokers, captures, files and the command line, and a terminal obeys what is in
them: ESC moves the cursor or rewrites lines, CR and BEL and the C1 controls act by themselves, and the bidirectional
controls make a line read otherwise than it is (CVE-2021-42574). Two places stand against that:

    a value ── clean() where a line of text is made: no control character, no line end, no code survives in a value
    bytes ──── Terminal, which a terminal's standard output and error are wrapped in: the last look at all that goes out

`clean` holds for text in pipes as well, where a line end in a name would forge a line. JSON and CSV keep their values;
`Terminal` writes what is left in them as `\\uXXXX`, which in JSON is the same value. In pipes and files there is no
`Terminal`, so nothing is searched and no byte differs. Of codes `Terminal` lets pass the colours of `palette`, and
those only while a format is written whose values are clean: see `Environment.allow_colors`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Final, Protocol

__all__ = ["Terminal", "Writable", "clean"]

# Takes away the line that the cursor is in.
ERASE: Final = b"\r\x1b[K"
# The colours of kwcli.output.units.
_COLOR: Final = r"\x1b\[(?:[012]|3[1-6]|1;3[135])m"
# C0 but tab and line feed, DEL, C1, and the bidirectional controls.
_OBEYED: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
# The same in UTF-8.
_BYTES: Final = (
    rb"\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]"
)
_SEARCH: Final = re.compile(_BYTES + rb"|\x1b").search
_SEARCH_COLORED: Final = re.compile(_BYTES + rb"|(?!" + _COLOR.encode() + rb")\x1b").search
_REPLACE: Final = re.compile(_OBEYED).sub
_REPLACE_COLORED: Final = re.compile(f"(?!{_COLOR}){_OBEYED}").sub


class Writable(Protocol):
    """What standard output and error must be able to do; `write` may take a part and says how much."""

    def write(self, data: bytes | memoryview, /) -> int: ...

    def flush(self) -> None: ...

    def fileno(self) -> int: ...


def clean(text: str) -> str:
    """A value as a line of text may hold it: what cannot be printed is escaped as Python writes it, line ends too."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte that was no UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


class Terminal:
    """A stream that is a terminal. What it obeys never reaches it, and a byte that is no UTF-8 is shown as `\\xNN`."""

    __slots__ = ("_decoder", "_replace", "_search", "beneath")

    def __init__(self, beneath: Writable) -> None:
        self.beneath = beneath
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._search: Callable[[bytes], object] = _SEARCH
        self._replace: Callable[[Callable[[re.Match[str]], str], str], str] = _REPLACE

    def allow_colors(self, allowed: bool) -> None:
        """Whether the codes of the palette pass."""
        self._search = _SEARCH_COLORED if allowed else _SEARCH
        self._replace = _REPLACE_COLORED if allowed else _REPLACE

    def write(self, data: bytes | memoryview, /) -> int:
        """Write all of it; the size of what was given, as streams return it."""
        given = bytes(data)
        self._put(given if self._is_harmless(given) else self._escape(given))
        return len(given)

    def redraw(self, line: str) -> None:
        """Write `line` in the place of the one that the cursor is in."""
        self._put(ERASE + clean(line).encode())

    def flush(self) -> None:
        """Let everything out."""
        self.beneath.flush()

    def fileno(self) -> int:
        """The descriptor of the terminal."""
        return self.beneath.fileno()

    def _is_harmless(self, data: bytes) -> bool:
        if self._search(data) is not None or self._decoder.getstate()[0]:
            return False
        if data.isascii():
            return True
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True

    def _escape(self, data: bytes) -> bytes:
        """A character that ends in the next piece waits for it: half of one is obeyed as well as the whole."""
        return self._replace(_as_number, self._decoder.decode(data)).encode()

    def _put(self, data: bytes) -> None:
        left = memoryview(data)
        while left:  # an unbuffered stream (PYTHONUNBUFFERED) may take a part
            left = left[self.beneath.write(left) :]


def _as_number(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
