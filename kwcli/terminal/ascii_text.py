"""Text with kw's signs in, the same in ASCII out: for serial consoles, and for locales that have no Unicode.

A sign that stands in a column becomes one character, so that columns stay. What is no sign of kw, such as a letter of
a name, becomes the escape that Python and JSON write.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kwcli.terminal_escaping import Writable

__all__ = ["SIGNS", "AsciiOutput", "to_ascii"]

# Sign → its text in ASCII.
SIGNS: Final[Mapping[str, str]] = {
    "→": ">",
    "←": "<",
    "…": "~",
    "·": ".",
    "∙": ".",
    "‧": ".",
    "\ufffd": "?",
    "–": "-",
    "—": "-",
    "×": "x",
    "µ": "u",
    "✗": "x",
    "✓": "+",
    "⚡": "#",
    "⇄": "=",
    "⇅": "=",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "±": "+-",
    "√": "sqrt ",
    "“": '"',
    "”": '"',
    "’": "'",
    **dict.fromkeys("►▶▸›", ">"),
    **dict.fromkeys("◄◀‹", "<"),
    "⋮": ":",
    **dict.fromkeys("▲↑", "^"),
    **dict.fromkeys("▼▾↓", "v"),
    **dict.fromkeys("─━", "-"),
    **dict.fromkeys("│║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼", "+"),
    **dict(zip("▁▂▃▄▅▆▇█", "_.-=+*%#", strict=True)),
    **dict(zip("░▒▓", ".:#", strict=True)),
}
_TABLE: Final = str.maketrans(dict(SIGNS))


def to_ascii(text: str) -> str:
    """The text in ASCII: signs by `SIGNS`, other characters as `\\xNN`, `\\uNNNN` or `\\UNNNNNNNN`."""
    return text.translate(_TABLE).encode("ascii", "backslashreplace").decode("ascii")


class AsciiOutput:
    """A stream of text in UTF-8 whose bytes are written to the stream beneath in ASCII."""

    __slots__ = ("_decoder", "beneath")

    def __init__(self, beneath: Writable) -> None:
        self.beneath = beneath
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: bytes | memoryview, /) -> int:
        """Write all of the data; returns its size as given. A character cut off at its end waits for its rest."""
        left = memoryview(to_ascii(self._decoder.decode(data)).encode("ascii"))
        while left:  # an unbuffered stream may take a part
            left = left[self.beneath.write(left) :]
        return len(data)

    def flush(self) -> None:
        """Flush the stream beneath."""
        self.beneath.flush()

    def fileno(self) -> int:
        """The descriptor of the stream beneath."""
        return self.beneath.fileno()
