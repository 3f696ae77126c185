"""Records in JSON form in; the same out, with keys and values decoded: Avro, Protobuf, JSON and their like.

The decoders of `decoders/values` are loaded when the first key or value comes that may have such a form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.errors import EncodeError
from decoders.exchanges.topic_arrays import batch_array, find_topic_of_records
from decoders.schema.body_json_form import bytes_from_json

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.records.record_and_batch import Header
    from decoders.values.schema_store import SchemaStore
    from decoders.values.schemas_and_decoded_values import DecodedValue
    from decoders.values.value_decoder import ValueDecoder

__all__ = [
    "RecordChange",
    "RecordValueReader",
    "RecordValueTexts",
    "bytes_of_json_value",
    "copy_exchange_with_changed_records",
    "decode_missing_parts",
    "decode_values_in_reread_exchange",
    "decode_values_in_reread_record",
    "describe_decoded_json",
    "format_id_of_missing_schema",
    "has_own_decoded_parts",
]


_DECODED: Final = ("key_decoded", "value_decoded")
# The keys that a decoded part in JSON form must have, and the types of what text is made of.
_DECODED_KEYS: Final = frozenset({"format", "schema_id", "name", "value"})
_DECODED_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "format": (str,),
    "schema_id": (int, str, NoneType),
    "name": (str, NoneType),
    "error": (str,),
}


class RecordChange(Protocol):
    """Shows more of records than their bytes (`Options.values`); `beyond_json`: of all but plain JSON."""

    @property
    def beyond_json(self) -> bool:
        """Whether keys and values that are plain JSON stay as they are."""

    def change_records(self, records: list[dict[str, Any]], topic: str | None) -> None:
        """Change records, which are in JSON form, in place."""


class RecordValueReader:
    """Decodes keys and values with the schemas of one run, and looks further for schemas that are missing.

    `look_further` is called when a value names a schema that is not there; it says whether it has added schemas.
    `missing` counts the values whose schema was not found, by what they name; `missing_so_far` is how often one was not
    found, those values included that are not counted.
    """

    beyond_json = False

    def __init__(self) -> None:
        from decoders.values.values_that_may_be_encoded import (
            list_parts_that_may_be_encoded,  # whose tables most commands do without
        )

        self._list_parts_with_form = list_parts_that_may_be_encoded
        self.look_further: Callable[[DecodedValue], bool] | None = None
        self.missing: Counter[str] = Counter()
        self.missing_so_far = 0
        self._decoder: ValueDecoder | None = None
        self._store: SchemaStore | None = None

    @property
    def store(self) -> SchemaStore:
        """The schemas of the run."""
        if self._store is None:
            from decoders.values.schema_store import SchemaStore

            self._store = SchemaStore()
        return self._store

    @property
    def has_schemas_of_unmarked_values(self) -> bool:
        """Whether there are schemas of files, which may be those of values without a mark."""
        return self._store is not None and self._store.has_files

    def decode(
        self, data: bytes | None, headers: Iterable[Header], topic: str | None, *, is_key: bool, count: bool = True
    ) -> DecodedValue | None:
        """A key or value decoded; None where its form is not known."""
        if not data and not headers:
            return None
        if self._decoder is None:
            from decoders.values.value_decoder import ValueDecoder

            self._decoder = ValueDecoder(self.store)
        decoder = self._decoder
        headers = tuple(headers)
        found = decoder.decode(data, headers, topic=topic, is_key=is_key)
        if found is None or not found.missing_schema:
            return found
        if self.look_further is not None and self.look_further(found):
            again = decoder.decode(data, headers, topic=topic, is_key=is_key)
            if again is None or not again.missing_schema:
                return again
        self.missing_so_far += 1
        if count:
            self.missing[format_id_of_missing_schema(found.schema_id, found.name)] += 1
        return found

    def knows_schema_of_value(self, found: DecodedValue) -> bool:
        """Whether a schema with the id that a value names is known, with all that it refers to."""
        wanted = found.schema_id
        store = self.store
        schemas = (
            store.find_by_guid(wanted)
            if isinstance(wanted, str)
            else store.find_by_id(wanted or 0, id_kind=found.id_kind)
        )
        return any(schema.knows_all_references for schema in schemas)

    def decode_json(self, record: dict[str, Any], field: str, topic: str | None) -> DecodedValue | None:
        """The `key` or `value` of a record in JSON form decoded; None where its form is not known."""
        data = bytes_of_json_value(record.get(field))
        if data is None:
            return None
        headers = [
            (each["key"], bytes_of_json_value(each["value"]))
            for each in record.get("headers") or ()
            if isinstance(each["key"], str)
        ]
        return self.decode(data, headers, topic, is_key=field == "key")

    def list_parts_to_decode(
        self, records: list[dict[str, Any]], *, beyond_json: bool = False
    ) -> list[tuple[dict[str, Any], str]]:
        """The keys and values of records in JSON form, each as its record and `key` or `value`, to be decoded.

        These are the ones that may have a form, or all, where schemas of files may be those of values without a mark;
        those of control records are Kafka's own. `beyond_json`: plain JSON is left out.
        """
        if not self.has_schemas_of_unmarked_values:
            return self._list_parts_with_form(records, beyond_json=beyond_json)
        return [(record, part) for record in records if "control_record" not in record for part in ("key", "value")]

    def change_records(self, records: list[dict[str, Any]], topic: str | None) -> None:
        """Add `key_decoded` and `value_decoded` to records, where their forms are known."""
        for record, part in self.list_parts_to_decode(records):
            found = self.decode_json(record, part, topic)
            if found is not None:
                record[f"{part}_decoded"] = found.to_json()


class RecordValueTexts:
    """Puts lines of text in place of the keys and values of records that have a known form."""

    beyond_json = True

    def __init__(self, reader: RecordValueReader, format_value: Callable[[DecodedValue, Any], str | None]) -> None:
        """`format_value` gives the text of a value, of which it is given the JSON form as well; None: no other text."""
        self._reader = reader
        self._format_value = format_value

    def change_records(self, records: list[dict[str, Any]], topic: str | None) -> None:
        """Set the `key` and `value` of records to texts, where they have a known form."""
        for record, part in self._reader.list_parts_to_decode(records, beyond_json=True):
            found = self._reader.decode_json(record, part, topic)
            text = None if found is None else self._format_value(found, record[part])
            if text is not None:
                record[part] = text


def describe_decoded_json(decoded: Mapping[str, Any]) -> str:
    """The form and schema of a decoded value in JSON form: `avro #17 shop.Order`."""
    words = [decoded["format"]]
    if decoded["schema_id"] is not None:
        words.append(f"#{decoded['schema_id']}")
    if decoded["name"]:
        words.append(decoded["name"])
    if "guessed" in decoded:
        words.append("(guessed)")
    if "missing_schema" in decoded:
        words.append("(schema not seen yet)")
    if "error" in decoded:
        words.append(f"({decoded['error']})")
    return " ".join(words)


def format_id_of_missing_schema(schema_id: int | str | None, name: str | None) -> str:
    """What a value names whose schema is missing: an id, or `fingerprint …` of Avro's single objects."""
    return str(schema_id if schema_id is not None else name)


def decode_missing_parts(record: dict[str, Any], topic: str | None, change: RecordChange) -> None:
    """Decode a record that was written with bytes alone, or its parts whose schemas were not known then."""
    decoded = {name: record[name] for name in ("key_decoded", "value_decoded") if name in record}
    known = {name for name, said in decoded.items() if not said.get("missing_schema")}
    if len(known) == len(decoded) > 0:
        return
    asked = {**record, **{name.removesuffix("_decoded"): None for name in known}}
    change.change_records([asked], topic)
    record.update((name, asked[name]) for name in ("key_decoded", "value_decoded") if name in asked)


def decode_values_in_reread_exchange(
    exchange: Exchange, record: Mapping[str, Any], reader: RecordChange
) -> dict[str, Any]:
    """The record of an exchange, read again, with the keys and values decoded that it has as bytes alone.

    `record` stays as it is.
    """
    return copy_exchange_with_changed_records(
        exchange, record, lambda each, topic: decode_values_in_reread_record(each, topic, reader)
    )


def copy_exchange_with_changed_records(
    exchange: Exchange, record: Mapping[str, Any], change: Callable[[dict[str, Any], str | None], dict[str, Any]]
) -> dict[str, Any]:
    """A copy of the record of an exchange, with what `change` makes of each record of its batches and their topic."""
    array = batch_array(exchange.api_key)
    if array is None:
        return {**record}

    def change_topic(topic: dict[str, Any]) -> dict[str, Any]:
        name = find_topic_of_records(exchange.api_key, topic, exchange.topic_name)

        def change_batch(batch: dict[str, Any]) -> dict[str, Any]:
            return _copy_with_changed_structs(batch, "records", lambda each: change(each, name))

        def change_partition(partition: dict[str, Any]) -> dict[str, Any]:
            return _copy_with_changed_structs(partition, array.records, change_batch)

        return _copy_with_changed_structs(topic, array.partitions, change_partition)

    body = record.get(array.side)
    if not isinstance(body, dict):
        return {**record}
    return {**record, array.side: _copy_with_changed_structs(body, array.topics, change_topic)}


def _copy_with_changed_structs(
    holder: dict[str, Any], name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """A copy of a struct with the structs of a list changed; the struct itself where it has no such list."""
    found = holder.get(name)
    if not isinstance(found, list):
        return holder
    return {**holder, name: [change(each) if isinstance(each, dict) else each for each in found]}


def decode_values_in_reread_record(record: dict[str, Any], topic: str | None, reader: RecordChange) -> dict[str, Any]:
    record = {**record}
    if has_own_decoded_parts(record) and {"key", "value", "headers"} <= record.keys():
        decode_missing_parts(record, topic, reader)
    return record


def has_own_decoded_parts(record: Mapping[str, Any]) -> bool:
    """Whether fields that are called as decoded parts are such, not somebody else's."""
    return all(map(_is_decoded_json, (record[name] for name in _DECODED if name in record)))


def _is_decoded_json(decoded: Any) -> bool:
    return (
        isinstance(decoded, dict)
        and decoded.keys() >= _DECODED_KEYS
        and all(isinstance(decoded[key], types) for key, types in _DECODED_TYPES.items() if key in decoded)
    )


def bytes_of_json_value(value: Any) -> bytes | None:
    """The bytes that a JSON value stands for; None where they are redacted, or too long to be looked at."""
    try:
        return None if value is None else bytes_from_json(value, "")
    except EncodeError:
        return None
