"""Lines of text in, bytes to write out, some at a time; a line may come in pieces where it holds a long value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from decoders.wire.deferred import Deferred, DeferredList, DeferredText
from kwcli.terminal import clean

# Characters that are written together.
AT_ONCE: Final = 1 << 18
# Stands for a long value in a line; what comes from the wire has none, it is shown escaped.
_MARK: Final = "\0"


class LinePiece(str):
    """A piece of a line that goes on."""

    __slots__ = ()


def in_pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines as bytes to write, some at a time: those of a frame of 100 MiB are not held together."""
    parts: list[str] = []
    size = 0
    for line in lines:
        parts.append(line)
        if line.__class__ is not LinePiece:
            parts.append("\n")
        size += len(line) + 1
        if size > AT_ONCE:
            yield "".join(parts).encode("utf-8", "backslashreplace")
            parts, size = [], 0
    if parts:
        yield "".join(parts).encode("utf-8", "backslashreplace")


class LongValues:
    """Values too long for a line that is held: marked while the line is put together, read as it is written.

    With a width only the beginning is shown, as there is no room for more.
    """

    def __init__(self, width: int | None, scalar: Callable[[Any], str]) -> None:
        self._width = width
        self._scalar = scalar
        self._waiting: dict[str, Deferred] = {}
        self._count = 0

    def mark(self, value: Deferred) -> str:
        """What stands for the value in a line."""
        if self._width is not None:
            return next(self._texts(value), "")
        self._count += 1
        self._waiting[str(self._count)] = value
        return f"{_MARK}{self._count}{_MARK}"

    def spelled(self, line: str) -> Iterator[str]:
        """The line, in pieces where a value is marked in it."""
        if _MARK not in line:
            yield line
            return
        texts = line.split(_MARK)
        for text, number in zip(texts[::2], texts[1::2], strict=False):
            yield LinePiece(text)
            for piece in self._texts(self._waiting.pop(number)):
                yield LinePiece(piece)
        yield texts[-1]

    def _texts(self, value: Deferred) -> Iterator[str]:
        if isinstance(value, DeferredText):
            lead = "" if value.is_text() else "base64:"
            for text in value.texts():
                yield lead + clean(text)
                lead = ""
        elif isinstance(value, DeferredList):
            lead = ""
            for chunk in value.chunks():
                yield lead + ",".join(map(self._scalar, chunk))
                lead = ","
