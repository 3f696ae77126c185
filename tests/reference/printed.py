"""A reader that knows Kafka from the text of `kw apis API VERSION` alone: printed layout and bytes in, values out.

It shares no code with the library: sizes and forms come from the names of encodings and the legend below them.
"""

from __future__ import annotations

import re
import struct
from typing import Any
from uuid import UUID

FIXED = {"bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
FIXED["float64"] = "d"


class Row:
    """One printed line: a field, its encoding, its tag, and the lines indented below it."""

    def __init__(self, line: str) -> None:
        self.name, self.encoding, *rest = re.split(r" {2,}", line.strip())
        self.tag = next((int(word[4:]) for word in rest if re.fullmatch(r"tag \d+", word)), None)
        self.below: list[Row] = []


def parse(text: str) -> dict[str, list[Row]]:
    """The fields of `request header`, `request body`, `response header` and `response body`."""
    found: dict[str, list[Row]] = {}
    side = ""
    stack: list[list[Row]] = []
    for line in text.splitlines():
        title = re.match(r"\S+ \d+ (request|response) · ", line)
        depth = (len(line) - len(line.lstrip())) // 2
        if title:
            side = title[1]
        elif side and line in ("header", "body"):
            stack = [found.setdefault(f"{side} {line}", [])]
        elif not line:
            stack = []
        elif 0 < depth <= len(stack):  # deeper lines are the rest of a note
            del stack[depth:]
            row = Row(line)
            stack[-1].append(row)
            stack.append(row.below)
    return found


class Reader:
    """A cursor over bytes that reads values."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        assert 0 <= size <= len(self.data) - self.at, f"{size} bytes at {self.at} of {len(self.data)}"
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def fields(self, rows: list[Row]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for row in rows:
            if row.encoding == "tagged fields":
                value |= self.tags({below.tag: below for below in row.below})
            else:
                value[row.name] = self.value(row.encoding, row)
        return value

    def tags(self, known: dict[int | None, Row]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        unknown: dict[int, bytes] = {}
        for _ in range(self.uvarint()):
            tag, size = self.uvarint(), self.uvarint()
            inner = Reader(self.take(size))
            if tag in known:
                value[known[tag].name] = inner.value(known[tag].encoding, known[tag])
                assert inner.at == size
            else:
                unknown[tag] = inner.data
        return value | ({"_tagged_fields": unknown} if unknown else {})

    def value(self, encoding: str, row: Row) -> Any:
        outer, _, element = encoding.partition(" of ")
        compact, null, kind = re.fullmatch(r"(compact )?(nullable )?(\w+)", outer).groups()  # type: ignore[union-attr]  # else the test fails
        if kind == "array":
            count = self.uvarint() - 1 if compact else self.number("i")
            assert count >= 0 or (null and count == -1)
            return None if count < 0 else [self.value(element, row) for _ in range(count)]
        if kind == "struct":
            if null and self.number("b") == -1:
                return None
            return self.fields(row.below)
        if kind == "uuid":
            return UUID(bytes=self.take(16))
        if kind in FIXED:
            return self.number(FIXED[kind])
        assert kind in ("string", "bytes", "records"), encoding
        size = self.uvarint() - 1 if compact else self.number("h" if kind == "string" else "i")
        assert size >= 0 or (null and size == -1)
        if size < 0:
            return None
        return self.take(size).decode("utf-8", "surrogateescape") if kind == "string" else self.take(size)
