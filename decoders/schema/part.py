"""What hex views are made of: some bytes of a message, the field they belong to, and what they say."""

from __future__ import annotations

from typing import Literal, NamedTuple

What = Literal["value", "size", "flag", "tags", "tag"]


class BytePart(NamedTuple):
    """Bytes `at` to `end`: as walk.Span, with the type of the field as one says it and whether it is to be hidden.

    `array` says that a `size` is the count of an array. `kind` is `int32`, `compact string`, `varint`, …; empty where
    the bytes are no field of their own.
    """

    path: str
    at: int
    end: int
    what: What
    value: object
    kind: str = ""
    secret: bool = False
    array: bool = False
