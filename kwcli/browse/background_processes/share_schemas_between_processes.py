"""Schemas of keys and values that the reader has met in the traffic in, the same schemas in the other processes out.

The reader learns as it reads: records of `_schemas`, answers of registries. Each process decodes values by a store of
its own, so that the reader sends the others what is new in its store with each block of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from decoders.named_tuple import NamedTuple
from decoders.values.schemas_and_decoded_values import RegisteredSchema

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings

__all__ = ["NewSchemas", "SchemaSender", "add_schemas_to_store"]


class NewSchemas(NamedTuple):
    """The message between the ends: new schemas of the reader's store, and all ids that a registry does not know."""

    schemas: list[RegisteredSchema]
    unregistered: list[int]


def add_schemas_to_store(new: NewSchemas, settings: Settings) -> None:
    """The receiving end: put the schemas into the store of this process."""
    if settings.values is None:
        return
    store = settings.values.store
    for schema in new.schemas:
        store.add_schema(schema)
    for schema_id in new.unregistered:
        store.note_unregistered_id(schema_id)


class SchemaSender:
    """The sending end, of the reader: sends what its store has got since it last sent."""

    def __init__(self, settings: Settings) -> None:
        self._store = None if settings.values is None else settings.values.store
        self._sent = 0 if self._store is None else len(self._store)  # the processes part with the schemas of files
        self._unregistered = 0

    def send_new_schemas(self, send: Callable[[Any], None]) -> None:
        """Send what is new."""
        store = self._store
        if store is None or (len(store) == self._sent and len(store.unregistered) == self._unregistered):
            return
        new = [stored.registered for stored in store][self._sent :]
        self._sent, self._unregistered = len(store), len(store.unregistered)
        send(NewSchemas(new, sorted(store.unregistered)))
