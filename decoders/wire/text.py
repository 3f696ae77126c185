"""Bytes that may be text: bytes in, what JSON shows for them out (a string where it is readable text, else base64).

Text is valid UTF-8 without control characters (Unicode category Cc) other than tab, line feed and carriage return.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final

_KEPT: Final = frozenset(b"\t\n\r")
# One pass in C over the bytes: what is no plain ASCII text becomes a byte that is no ASCII.
_PLAIN: Final = bytes(byte if 0x20 <= byte < 0x7F or byte in _KEPT else 0x80 for byte in range(256))
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]").search


def in_bytes(size: int) -> str:
    """A size as it is read out: `1 byte`, `4,096 bytes`."""
    return "1 byte" if size == 1 else f"{size:,} bytes"


def is_plain(data: bytes) -> bool:
    """Whether the bytes are ASCII text without control characters (what most text is; cheap)."""
    return data.translate(_PLAIN).isascii()


def has_controls(text: str) -> bool:
    """Whether a text has control characters other than tab and line ends."""
    return _CONTROL(text) is not None


def json_bytes(data: bytes) -> str | dict[str, str]:
    """The JSON form of bytes: a string, or {"base64": "..."} where they are no readable text."""
    if data.translate(_PLAIN).isascii():
        return data.decode("ascii")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        pass
    else:
        if not _CONTROL(text):
            return text
    return {"base64": b64encode(data).decode("ascii")}


def json_text(text: str) -> str | dict[str, str]:
    """The JSON form of a string in which surrogateescape stands for bytes that are no UTF-8."""
    if text.isprintable():
        return text
    return json_bytes(text.encode("utf-8", "surrogateescape"))
