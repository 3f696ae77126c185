"""A type and bytes in, values in JSON form out: the first few by the walker, later ones by generated code."""

from __future__ import annotations

from typing import Any, Final

from decoders.errors import DecodeError, Malformed
from decoders.schema.body_json_form import json_bytes
from decoders.values.avro.avro_decoder_codegen import CRUDE, Decode, compile_decoder
from decoders.values.avro.avro_schema import AvroType
from decoders.values.avro.avro_walker import AvroWalker

# Making a function takes about as long as the walker takes for so many values.
_WALKED: Final = 4


class AvroDecoder:
    """Decodes values of one type."""

    def __init__(self, kind: AvroType) -> None:
        self.kind = kind
        self.name = kind.name or kind.kind
        self._walked = 0
        self._compiled: Decode | None = None

    def decode(self, buf: bytes, at: int = 0) -> tuple[Any, int]:
        """The value at `at`, and where it ends. Raises DecodeError."""
        if self._compiled is not None:
            try:
                return self._compiled(buf, at)
            except CRUDE:
                pass  # the walker says why, or reads what the function does not, such as a text that is no UTF-8
        elif self._walked < _WALKED:
            self._walked += 1
            if self._walked == _WALKED:
                self._compiled = compile_decoder(self.kind)
        return AvroWalker(buf).read(self.kind, at)

    def decode_whole(self, buf: bytes, at: int) -> Any:
        """The value that goes from `at` to the end. Raises DecodeError.

        Confluent's serializer of Java writes a schema of bytes without their size; so that is read too.
        """
        try:
            value, end = self.decode(buf, at)
            if end != len(buf):
                raise Malformed(f"{len(buf) - end} bytes are left over", offset=end)
        except DecodeError:
            if self.kind.kind != "bytes":
                raise
            value = json_bytes(buf[at:])
        return value
