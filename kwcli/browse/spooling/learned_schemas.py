"""Schemas of keys and values that the reader has met in the traffic in, the same schemas in the other processes out.

The reader learns as it reads: records of `_schemas`, answers of registries. Each process decodes values by a store of
its own, so that the reader tells the others what is new in its store with each block of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from decoders.named_tuple import NamedTuple
from decoders.values.schemas_and_decoded_values import RegisteredSchema

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings

__all__ = ["SchemaTeller", "SchemasLearned", "learn_schemas"]


class SchemasLearned(NamedTuple):
    """A message of the reader: schemas that its store has got, and all ids that a registry does not know."""

    schemas: list[RegisteredSchema]
    unregistered: list[int]


def learn_schemas(learned: SchemasLearned, settings: Settings) -> None:
    """Put the schemas into the store of this process."""
    if settings.values is None:
        return
    store = settings.values.store
    for schema in learned.schemas:
        store.add_schema(schema)
    for schema_id in learned.unregistered:
        store.note_unregistered(schema_id)


class SchemaTeller:
    """The reader's side: tells what its store has got since it last told."""

    def __init__(self, settings: Settings) -> None:
        self._store = None if settings.values is None else settings.values.store
        self._told = 0 if self._store is None else len(self._store)  # the processes part with the schemas of files
        self._unregistered = 0

    def send_new_schemas(self, send: Callable[[Any], None]) -> None:
        """Send what is new."""
        store = self._store
        if store is None or (len(store) == self._told and len(store.unregistered) == self._unregistered):
            return
        new = [stored.registered for stored in store][self._told :]
        self._told, self._unregistered = len(store), len(store.unregistered)
        send(SchemasLearned(new, sorted(store.unregistered)))
