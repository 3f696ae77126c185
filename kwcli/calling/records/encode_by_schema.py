"""Records whose values are JSON and the name of a schema in (`--schema`), records with values encoded by it out.

The schema is that of an id or a subject, of the files of --schemas or of the registry that is named, or of a file.
Where the schema has an id, the value begins with it, as Confluent's serializers write it; else the value is the body
alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from decoders.errors import EncodeError
from decoders.values.encode_values import ValueFraming, encode_value
from decoders.values.schema_store import SchemaStore, StoredSchema
from decoders.values.schemas_and_decoded_values import RegisteredSchema
from kwcli.calling.words.record_words import ProduceRecord
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.net.config.client_config import ConnectionOptions
    from kwcli.run_environment import Environment

__all__ = ["encode_records_by_schema", "find_named_schema"]


def encode_records_by_schema(
    entries: Sequence[ProduceRecord], schema: StoredSchema, message: str | None
) -> list[ProduceRecord]:
    """The records with their values encoded; null stays null. Raises Failure (usage), which quotes no value."""
    framing: ValueFraming = "none" if schema.registered.schema_id is None else "prefix"
    made = []
    for number, entry in enumerate(entries, 1):
        if entry.value is None:
            made.append(entry)
            continue
        try:
            value = encode_value(orjson.loads(entry.value), schema, framing, message=message)
        except orjson.JSONDecodeError:
            raise Failure(f"the value of record {number} is no JSON, which --schema encodes", Exit.USAGE) from None
        except EncodeError as error:
            raise Failure(f"the value of record {number} does not fit --schema: {error}", Exit.USAGE) from None
        made.append(replace(entry, value=value))
    return made


def find_named_schema(
    word: str, store: SchemaStore, env: Environment, connection: ConnectionOptions
) -> tuple[StoredSchema, str | None]:
    """The schema that --schema names, and the message of it (`ID#shop.Order`). Raises Failure."""
    name, _, message = word.partition("#")
    if os.path.isfile(name):
        from kwcli.reading.schema_files import read_schema_files

        ids = os.path.join(os.path.dirname(name), "ids.json")
        found = read_schema_files([name, *([ids] if os.path.exists(ids) else [])], named=False)
        for each in found:
            store.add_schema(each)
        best = next((each for each in found if each.schema_id is not None), found[-1])
        return _find_stored_schema(store, best), message or None
    is_id = name.isascii() and name.isdecimal()
    known = store.find_by_id(int(name)) if is_id else store.find_by_subject(name)
    if known:
        return known[0], message or None
    from kwcli.net.config.build_config import build_client_config

    settings = build_client_config(env, connection).registry
    if settings is None:
        what = "give --schemas DIR or -X schema.registry.url=URL"
        raise Failure(f"--schema {word}: no such file, and no schema of that name: {what}", Exit.USAGE)
    from kwcli.net.schema_registry import SchemaRegistry

    registry = SchemaRegistry(settings, env, store.add_schema)
    return _find_stored_schema(
        store, registry.read_schema_by_id(int(name)) if is_id else registry.read_latest_schema_of_subject(name)
    ), message or None


def _find_stored_schema(store: SchemaStore, wanted: RegisteredSchema) -> StoredSchema:
    return next(
        each for each in store if (each.registered.text, each.registered.schema_id) == (wanted.text, wanted.schema_id)
    )
