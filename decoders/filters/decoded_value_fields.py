"""A path such as `value.items[].sku` in, the values that it has in decoded keys and values of records out.

A filter has no schemas of its own: `set_value_reader` gives it those of a run. Without them it reads what needs none:
JSON, Avro containers and the like. A list stands for each of its elements, with brackets or without, unless they have a
number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from decoders.embedded import TOPICS
from decoders.filters.json_text_prefilter import make_json_text_prefilter
from decoders.filters.read_partitions_and_records import iterate_records_with_topic
from decoders.messages.decode_record_values import RecordValueReader
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.field_paths import values_at_path
from decoders.records.batch_layout import SIZE
from decoders.records.scan_first_bytes_of_keys_and_values import HAS_HEADERS, combine_first_byte_classes
from decoders.values.values_that_may_be_encoded import FIRST_BYTES, has_header_of_form, may_have_header_of_form

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.protocol_facts.field_paths import FieldPathStep
    from decoders.records.record_and_batch import Row
    from decoders.values.schemas_and_decoded_values import DecodedValue

__all__ = [
    "BatchTest",
    "DecodedValueField",
    "DecodedValueFormat",
    "DecodedValueJson",
    "DecodedValueReading",
    "DecodedValueSchemaId",
    "KeyOrValue",
    "decode_keys_and_values",
]

_KEY: Final = 2
_VALUE: Final = 3
_HEADERS: Final = 4
_CONTROL: Final = 5
# The first bytes of JSON with fields, and of all values that may have some: a text in quotes is JSON without fields.
_OPENS_JSON: Final = frozenset(b"{[")
_OPENS_FIELDS: Final = FIRST_BYTES - frozenset(b'"')
# The same as bits of each first byte.
_IS_JSON: Final = 1
_IS_OF_ANOTHER_FORM: Final = 2
_CLASSES: Final = bytes(
    _IS_JSON if byte in _OPENS_JSON else _IS_OF_ANOTHER_FORM if byte in _OPENS_FIELDS else 0 for byte in range(256)
)
# Decimals are text, so that no digit is lost; they are compared as numbers as well.
_NUMBER: Final = re.compile(r"-?\d{1,40}(\.\d{1,40})?")

# Whether a record of the batch between two offsets in some bytes may pass.
BatchTest = Callable[[bytes, int, int], bool]
Part = Literal["key", "value"]
_PARTS: Final[tuple[Part, ...]] = ("key", "value")


class KeyOrValue(NamedTuple):
    """A key or value of a record: its bytes, and its decoded form, None where that is not known."""

    topic: str | None
    is_key: bool
    data: bytes | None
    decoded: DecodedValue | None


def decode_keys_and_values(
    exchange: Exchange, reader: RecordValueReader, parts: Sequence[Part] = _PARTS, *, count: bool = True
) -> Iterator[KeyOrValue]:
    """The keys and values of all records of an exchange, but for Kafka's own: control records and internal topics.

    `count`: the reader counts those without a schema.
    """
    for topic, row in iterate_records_with_topic(exchange):
        yield from _decode_record(topic, row, reader, parts, count=count)


def _decode_record(
    topic: str | None, row: Row, reader: RecordValueReader, parts: Sequence[Part], *, count: bool
) -> Iterator[KeyOrValue]:
    if topic in TOPICS or (len(row) > _CONTROL and row[_CONTROL] is not None):
        return
    headers = [(name, _record_content_bytes(content)) for name, content in row[_HEADERS]]
    for part in parts:
        is_key = part == "key"
        data = _record_content_bytes(row[_KEY if is_key else _VALUE])
        yield KeyOrValue(topic, is_key, data, reader.decode(data, headers, topic, is_key=is_key, count=count))


class DecodedValueReading:
    """Base of the `get` of fields about decoded keys or values."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._reader = RecordValueReader()
        self._counts = False

    def set_value_reader(self, reader: RecordValueReader, *, count: bool) -> None:
        """Decode with the schemas of a run; `count`: values without a schema are counted there."""
        self._reader, self._counts = reader, count

    def __call__(self, exchange: Exchange) -> list[Any]:
        """The values of the field in all records of an exchange."""
        return self.list_values(exchange)

    def list_values(self, exchange: Exchange) -> list[Any]:
        """The values of the field, each once, as they are shown."""
        return self._list_values_of_parts(
            decode_keys_and_values(exchange, self._reader, self._parts, count=self._counts)
        )

    def list_values_of_record(self, topic: str | None, row: Row) -> list[Any]:
        """The values of the field in one record."""
        return self._list_values_of_parts(_decode_record(topic, row, self._reader, self._parts, count=self._counts))

    def _list_values_of_parts(self, found: Iterable[KeyOrValue]) -> list[Any]:
        return [value for each in found if each.decoded is not None for value in self.field_values_of(each.decoded)]

    def field_values_of(self, found: DecodedValue) -> Iterable[Any]:
        """The values of the field in one key or value."""
        raise NotImplementedError


def _append_numbers_of_texts(found: list[Any]) -> list[Any]:
    numbers = [each for each in found if isinstance(each, str) and _NUMBER.fullmatch(each) is not None]
    return [*found, *map(_read_number, numbers)]


def _read_number(text: str) -> float | int:
    return float(text) if "." in text else int(text)


def _record_content_bytes(content: Any) -> bytes | None:
    """Bytes of a record; of one that was read from a record of kw, they may be text."""
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content


class DecodedValueField(DecodedValueReading):
    """`key.PATH`, `value.PATH`: what a key or value has at a path."""

    def __init__(self, part: Part, steps: Sequence[FieldPathStep]) -> None:
        super().__init__([part])
        self._steps = steps

    def __call__(self, exchange: Exchange) -> list[Any]:
        """The values, and the numbers that texts among them are."""
        return _append_numbers_of_texts(self.list_values(exchange))

    def list_values_of_record(self, topic: str | None, row: Row) -> list[Any]:
        """As of all records of an exchange."""
        return _append_numbers_of_texts(super().list_values_of_record(topic, row))

    def make_prefilter(self, passes: Callable[[Any], bool]) -> Callable[[Row], bool]:
        """A prefilter of records: whether the field may have a value that passes (json_text_prefilter.py).

        To decode a value takes three times as long.
        """
        prefilter_json = self._make_json_text_prefilter(passes)
        at = _KEY if self._parts[0] == "key" else _VALUE

        def may_record_pass(row: Row) -> bool:
            data: Any = row[at]
            if data.__class__ is not bytes or self._reader.has_schemas_of_unmarked_values:
                return True
            if row[_HEADERS] and has_header_of_form(row[_HEADERS]):
                return True
            if not data or data[0] not in _OPENS_FIELDS:
                return False
            return data[0] not in _OPENS_JSON or prefilter_json(data, 0, len(data))

        return may_record_pass

    def make_batch_prefilter(self, passes: Callable[[Any], bool]) -> BatchTest:
        """A prefilter of plain batches: whether the prefilter of records may let one of theirs pass.

        To read the records and look at each takes twice as long.
        """
        prefilter_json = self._make_json_text_prefilter(passes)
        of_keys = self._parts[0] == "key"

        def may_batch_pass(data: bytes, at: int, stop: int) -> bool:
            if self._reader.has_schemas_of_unmarked_values:
                return True
            found = combine_first_byte_classes(data, at + SIZE, stop, _CLASSES, of_keys=of_keys)
            return bool(
                found & _IS_OF_ANOTHER_FORM
                or (found & _IS_JSON and prefilter_json(data, at, stop))
                or (found & HAS_HEADERS and may_have_header_of_form(data, at, stop))
            )

        return may_batch_pass

    def _make_json_text_prefilter(self, passes: Callable[[Any], bool]) -> BatchTest:
        def passes_also_as_number(value: Any) -> bool:
            if value.__class__ is str and _NUMBER.fullmatch(value) is not None and passes(_read_number(value)):
                return True
            return passes(value)

        return make_json_text_prefilter(self._steps[-1].name, passes_also_as_number)

    def field_values_of(self, found: DecodedValue) -> Iterable[Any]:
        roots = found.value if isinstance(found.value, list) else (found.value,)
        for content in (each for root in roots for each in values_at_path(root, self._steps)):
            yield from content if isinstance(content, list) else (content,)


class DecodedValueJson(DecodedValueReading):
    """`value_decoded`: a decoded value with its form and schema, as JSON text."""

    def field_values_of(self, found: DecodedValue) -> Iterable[Any]:
        return (orjson.dumps(found.to_json()).decode(),)


class DecodedValueFormat(DecodedValueReading):
    """`value_format`: the form of a value."""

    def field_values_of(self, found: DecodedValue) -> Iterable[Any]:
        return (found.format,)


class DecodedValueSchemaId(DecodedValueReading):
    """`schema_id`: the id that keys and values name."""

    def field_values_of(self, found: DecodedValue) -> Iterable[Any]:
        return () if found.schema_id is None else (found.schema_id,)
