"""A large body in, of which some parts are made only while they are written; its JSON in pieces out.

The problem. A body of a few bytes may take gigabytes as values: a struct in two bytes takes two hundred, and a batch of
1 MiB inflates to 64. A process that shows such a body must not hold it.

The idea. Where a body would take much room, long arrays, records and long texts stand in it as objects that can be read
piece by piece, as often as one likes. orjson writes the body with a mark in the place of each object, and the JSON of
the object is written in place of the mark:

```
{"topics": DeferredList, "name": "x"}  →  {"topics":␀,"name":"x"}  →  `{"topics":` + chunks… + `,"name":"x"}`
```

What always holds: the JSON is the same as that of the plain values, byte for byte. Nothing of a part is held once it is
written. What is given up: time, as a part is decoded again each time that it is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.limits import PIECE
from decoders.wire.format_and_escape_text import format_bytes, has_control_characters

# Stands for a deferred part in the output of orjson, which has no such byte otherwise.
_MARK: Final = b"\0"
_decoder: Final = getincrementaldecoder("utf-8")


class Deferred(ABC):
    """A part of a body that is made while it is written."""

    __slots__ = ()

    @abstractmethod
    def json(self) -> Iterator[bytes]:
        """The JSON of the part in pieces."""


class DeferredList(Deferred):
    """A list whose elements are made when they are asked for, a few at a time; it is never empty."""

    __slots__ = ()

    @abstractmethod
    def chunks(self) -> Iterator[list[Any]]:
        """The elements in order, in lists that take little room."""

    def holds_structs(self) -> bool:
        """Whether the elements are structs, not plain values."""
        return True

    def fields_following_list(self) -> dict[str, Any]:
        """Other fields of the struct that has the list, known when the list has been read to its end."""
        return {}

    def __iter__(self) -> Iterator[Any]:
        for chunk in self.chunks():
            yield from chunk

    def json(self) -> Iterator[bytes]:
        """The JSON of the list in pieces, followed by `fields_following_list`."""
        lead = b"["
        for chunk in self.chunks():
            if chunk:
                yield lead
                yield from _make_json_pieces(chunk, inside=True)
                lead = b","
        yield b"[]" if lead == b"[" else b"]"
        for name, value in self.fields_following_list().items():
            yield b"," + _dump_json(name) + b":" + _dump_json(value)


class DeferredEach(DeferredList):
    """A deferred list of structs, which a function changes in place when they are read, those of a chunk at once."""

    __slots__ = ("_change", "_plain")

    def __init__(self, plain: DeferredList, change: Callable[[list[Any]], None]) -> None:
        self._plain = plain
        self._change = change

    def chunks(self) -> Iterator[list[Any]]:
        """The changed elements in order, some at a time."""
        for chunk in self._plain.chunks():
            self._change(chunk)
            yield chunk

    def holds_structs(self) -> bool:
        """Whether the elements are structs, not plain values."""
        return self._plain.holds_structs()

    def fields_following_list(self) -> dict[str, Any]:
        """Other fields of the struct that has the list."""
        return self._plain.fields_following_list()


class DeferredText(Deferred):
    """Long bytes of a bytes field; with `text`, of a string field, which may hold control characters."""

    __slots__ = ("_text", "data")

    def __init__(self, data: bytes, *, text: bool = False) -> None:
        self.data = data
        self._text = text

    def __repr__(self) -> str:
        return format_bytes(len(self.data))

    def is_text(self) -> bool:
        """Whether JSON shows a string, not base64."""
        try:
            return not any(not self._text and has_control_characters(piece) for piece in self._decode_text())
        except UnicodeDecodeError:
            return False

    def texts(self) -> Iterator[str]:
        """The string in pieces, or its base64."""
        if self.is_text():
            yield from self._decode_text()
            return
        step = PIECE * 3
        for at in range(0, len(self.data), step):
            yield b64encode(self.data[at : at + step]).decode()

    def json(self) -> Iterator[bytes]:
        """The JSON of the text in pieces."""
        if self.is_text():
            yield b'"'
            for piece in self._decode_text():
                yield _dump_json(piece)[1:-1]
            yield b'"'
            return
        yield b'{"base64":"'
        for piece in self.texts():
            yield piece.encode()
        yield b'"}'

    def _decode_text(self) -> Iterator[str]:
        decoder = _decoder()
        for at in range(0, len(self.data), PIECE):
            yield decoder.decode(self.data[at : at + PIECE], at + PIECE >= len(self.data))


def make_json_pieces(value: Any) -> Iterator[bytes]:
    """The JSON of a value in pieces; in one piece where nothing of it is deferred."""
    return _make_json_pieces(value, inside=False)


def _make_json_pieces(value: Any, *, inside: bool) -> Iterator[bytes]:
    """The JSON of a value; `inside` leaves out the brackets around a list."""
    texts, deferred = split_deferred(value)
    if inside:
        texts[0] = texts[0][1:]
        texts[-1] = texts[-1][:-1]
    for text, part in zip(texts, deferred, strict=False):
        yield text
        yield from part.json()
    yield texts[-1]


def split_deferred(value: Any) -> tuple[list[bytes], list[Deferred]]:
    """The JSON around the deferred parts of a value, and these parts: there is one text more than there are parts."""
    import orjson  # few runs write JSON

    deferred: list[Deferred] = []

    def collect_deferred_part(part: object) -> Any:
        if not isinstance(part, Deferred):
            raise TypeError(f"no JSON of {part.__class__.__name__}")
        deferred.append(part)
        return orjson.Fragment(_MARK)

    data = orjson.dumps(value, collect_deferred_part)
    return (data.split(_MARK) if deferred else [data]), deferred


def _dump_json(value: Any) -> bytes:
    """The JSON of a value of which nothing is deferred."""
    import orjson

    return orjson.dumps(value)
