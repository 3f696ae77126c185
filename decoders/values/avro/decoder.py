"""A type and bytes in, values in JSON form out: the first few by the walker, later ones by generated code."""

from __future__ import annotations

from typing import Any

from decoders.values.avro.schema import AvroType
from decoders.values.avro.walker import AvroWalker


class AvroDecoder:
    """Decodes values of one type."""

    def __init__(self, kind: AvroType) -> None:
        self.kind = kind

    def decode(self, buf: bytes, at: int = 0) -> tuple[Any, int]:
        """The value at `at`, and where it ends. Raises DecodeError."""
        return AvroWalker(buf).read(self.kind, at)
