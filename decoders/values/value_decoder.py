"""A key's or value's bytes and headers in; its form, schema and value out, or None where no form is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from decoders.errors import DecodeError
from decoders.values.json_values import read_json
from decoders.values.model import UNKNOWN_SCHEMA, DecodedValue
from decoders.values.store import SchemaStore

# Ids begin at 1 and count up; a larger number than this is no id of a registry.
SCHEMA_ID_MAX: Final = 10**7


class ValueDecoder:
    """Decodes keys and values with the schemas of a store, to which schemas may be added at any time."""

    def __init__(self, store: SchemaStore) -> None:
        self.store = store

    def decode(
        self,
        data: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),  # noqa: ARG002 - to come
        *,
        topic: str | None = None,  # noqa: ARG002 - to come
        is_key: bool = False,  # noqa: ARG002 - to come
        registry: str | None = None,
    ) -> DecodedValue | None:
        """What a key or value holds; None where no form is known, as for text. Never raises."""
        if not data:
            return None
        if data[0] in b"{[":
            try:
                return DecodedValue("json", read_json(data))
            except DecodeError:
                return None
        if data[0] == 0 and len(data) > 4:
            return self._decode_prefixed(data, registry)
        return None

    def _decode_prefixed(self, data: bytes, registry: str | None) -> DecodedValue | None:
        schema_id = int.from_bytes(data[1:5], "big")
        if not 0 < schema_id <= SCHEMA_ID_MAX:
            return None
        candidates = self.store.find_by_id(schema_id, registry=registry)
        if not candidates:
            found = DecodedValue(UNKNOWN_SCHEMA, None, schema_id=schema_id, guessed=True)
            found.missing_schema = True
            return found
        best = candidates[0]
        found = DecodedValue(
            best.registered.schema_type.lower(),
            None,
            schema_id=schema_id,
            schema_from=best.registered.origin,
            guessed=len(candidates) > 1,
        )
        try:
            parsed = best.parse()
            found.name = parsed.kind.name or parsed.kind.kind
            found.value, end = parsed.decode(data, 5)
            if end != len(data):
                found.value, found.error = None, f"{len(data) - end} bytes are left at byte {end}"
        except DecodeError as failure:
            found.error = str(failure)
        return found
