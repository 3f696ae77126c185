"""Records in JSON form in; the same out, with keys and values decoded: Avro, Protobuf, JSON and their like.

`decoders/values` is loaded when the first key or value comes that may have such a form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.errors import EncodeError
from decoders.schema.json_form import bytes_from_json

if TYPE_CHECKING:
    from decoders.records.model import Header
    from decoders.values import DecodedValue, SchemaStore, ValueDecoder

__all__ = [
    "RecordChange",
    "RecordValueReader",
    "RecordValueTexts",
    "bytes_of_json_value",
    "decode_missing_parts",
    "describe_decoded_json",
]

# The characters with which a text may begin that has a form (the table of values/value_decoder.py): all other texts,
# which most keys and values are, are passed over after one look.
FIRST_CHARACTERS: Final = frozenset('\t\n "([Ox{')


class RecordChange(Protocol):
    """Shows more of records than their bytes (`Options.values`)."""

    def change_records(self, records: list[dict[str, Any]], topic: str | None) -> None:
        """Change records, which are in JSON form, in place."""


class RecordValueReader:
    """Decodes keys and values with the schemas of one run, and looks further for schemas that are missing.

    `look_further` is called when a value names a schema that is not there; it says whether it has added schemas.
    `missing` counts the values whose schema was not found, by what they name.
    """

    def __init__(self) -> None:
        self.look_further: Callable[[DecodedValue], bool] | None = None
        self.missing: Counter[str] = Counter()
        self._decoder: ValueDecoder | None = None
        self._store: SchemaStore | None = None

    @property
    def store(self) -> SchemaStore:
        """The schemas of the run."""
        if self._store is None:
            from decoders.values import SchemaStore

            self._store = SchemaStore()
        return self._store

    def decode(
        self, data: bytes | None, headers: Iterable[Header], topic: str | None, *, is_key: bool, count: bool = True
    ) -> DecodedValue | None:
        """A key or value decoded; None where its form is not known."""
        if not data and not headers:
            return None
        if self._decoder is None:
            from decoders.values import ValueDecoder

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
        if count:
            self.missing[str(found.schema_id)] += 1
        return found

    def has_schema(self, found: DecodedValue) -> bool:
        """Whether a schema with the id that a value names is known, with all that it refers to."""
        wanted = found.schema_id
        store = self.store
        schemas = (
            store.find_by_guid(wanted)
            if isinstance(wanted, str)
            else store.find_by_id(wanted or 0, id_kind=found.id_kind)
        )
        return any(schema.has_references for schema in schemas)

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

    def select_records(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The records in JSON form whose key or value may have a form, as far as one look tells.

        Most batches are text alone, and are passed over without a call for each record: such calls took a fifth of the
        time in which records of text are read and written as NDJSON.
        """
        first = FIRST_CHARACTERS
        try:
            for record in records:
                key, value = record["key"], record["value"]
                if (value and value[0] in first) or (key and key[0] in first) or record["headers"]:
                    break
            else:
                if self._store is None or not self._store.has_files:
                    return []
        except (KeyError, TypeError):  # a key or value that is bytes, or long and deferred
            pass
        return list(filter(self._may_have_form, records))

    def _may_have_form(self, record: dict[str, Any]) -> bool:
        """Whether the key or value of a record may have a form; those of control records are Kafka's own."""
        key, value = record["key"], record["value"]
        return "control_record" not in record and bool(
            (key is not None and (key.__class__ is not str or key[:1] in FIRST_CHARACTERS))
            or (value is not None and (value.__class__ is not str or value[:1] in FIRST_CHARACTERS))
            or record["headers"]
            or (self._store is not None and self._store.has_files)
        )

    def change_records(self, records: list[dict[str, Any]], topic: str | None) -> None:
        """Add `key_decoded` and `value_decoded` to records, where their forms are known."""
        for record in self.select_records(records):
            for field in ("key", "value"):
                found = self.decode_json(record, field, topic)
                if found is not None:
                    record[f"{field}_decoded"] = found.to_json()


class RecordValueTexts:
    """Puts lines of text in place of the keys and values of records that have a known form."""

    def __init__(self, reader: RecordValueReader, format_value: Callable[[DecodedValue, Any], str | None]) -> None:
        """`format_value` gives the text of a value, of which it is given the JSON form as well; None: no other text."""
        self._reader = reader
        self._format_value = format_value

    def change_records(self, records: list[dict[str, Any]], topic: str | None) -> None:
        """Set the `key` and `value` of records to texts, where they have a known form."""
        for record in self._reader.select_records(records):
            shown = {field: self._reader.decode_json(record, field, topic) for field in ("key", "value")}
            for field, found in shown.items():
                text = None if found is None else self._format_value(found, record[field])
                if text is not None:
                    record[field] = text


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


def decode_missing_parts(record: dict[str, Any], topic: str | None, change: RecordChange) -> None:
    """Decode a record that was written with bytes alone, or its parts whose schemas were not known then."""
    decoded = {name: record[name] for name in ("key_decoded", "value_decoded") if name in record}
    known = {name for name, said in decoded.items() if not said.get("missing_schema")}
    if len(known) == len(decoded) > 0:
        return
    asked = {**record, **{name.removesuffix("_decoded"): None for name in known}}
    change.change_records([asked], topic)
    record.update((name, asked[name]) for name in ("key_decoded", "value_decoded") if name in asked)


def bytes_of_json_value(value: Any) -> bytes | None:
    """The bytes that a JSON value stands for; None where they are redacted, or too long to be looked at."""
    try:
        return None if value is None else bytes_from_json(value, "")
    except EncodeError:
        return None
