"""A key's or value's bytes and headers in; its form, schema and value out, or None where no form is known.

The problem. Nothing says in one place what bytes are: a serializer puts an id before them, or a GUID into a header, or
nothing at all; headers are copied by connectors to records that are something else; and most values are plain text.

The idea. Headers that name a form come first, then a table by the first byte, which most text leaves after one look,
then guesses. A guess is made only where it explains every byte, and never of a value that may as well be a number, a
UUID or text; what is given up are values without mark and schema that are short, or have no text in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from decoders.embedded import TOPICS
from decoders.errors import DecodeError, Malformed
from decoders.limits import VALUE_INFLATED_MAX, VALUE_LAYERS_MAX
from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import json_bytes
from decoders.values.avro.avro_container_files import MAGIC, read_container
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.read_avro_json_encoding import read_json_encoding
from decoders.values.check_values_against_json_schema import JsonSchema
from decoders.values.compressed_values import inflate_value
from decoders.values.json_values import (
    is_cloud_event,
    is_connect_envelope,
    read_cloud_event_data,
    read_json,
    unwrap_connect_envelope,
)
from decoders.values.message_pack_and_cbor import guess_binary_json
from decoders.values.parse_schema import MissingReference, ValueReading
from decoders.values.protobuf.guess_message import guess_message, looks_like_message
from decoders.values.protobuf.protobuf_decoder import ProtobufReader, read_varint_64
from decoders.values.protobuf.protobuf_schema import UNKNOWN_FIELDS, ProtobufSchema, ProtoMessage
from decoders.values.schema_id_framings import (
    Framing,
    has_kafka_string,
    inflate_glue_body,
    read_apicurio_ref,
    read_framing,
    read_id_header,
    read_message_indexes,
)
from decoders.values.schema_store import SchemaStore, StoredSchema
from decoders.values.schemas_and_decoded_values import ID_KINDS, UNKNOWN_SCHEMA, DecodedValue
from decoders.values.values_that_may_be_encoded import has_header_of_form

Headers = Sequence[tuple[str, bytes | None]]
_ID_HEADERS: Final = ("__value_schema_id", "__key_schema_id")
_APICURIO: Final = ("apicurio.value.", "apicurio.key.")
_APICURIO_MESSAGE: Final = "apicurio.protobuf.type"
_CLOUD_EVENTS: Final = "application/cloudevents"
_LONG_SIZE: Final = 8
_GLUE_ZLIB_MAX: Final = VALUE_INFLATED_MAX
_FORMATS: Final = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json-schema"}


class _Place(NamedTuple):
    """Where a value stands, and how many other values it is inside of."""

    topic: str | None
    is_key: bool
    registry: str | None
    layer: int = 0


class ValueDecoder:
    """Decodes keys and values with the schemas of a store, to which schemas may be added at any time."""

    def __init__(self, store: SchemaStore) -> None:
        self.store = store

    def decode(
        self,
        data: bytes | None,
        headers: Headers = (),
        *,
        topic: str | None = None,
        is_key: bool = False,
        registry: str | None = None,
    ) -> DecodedValue | None:
        """What a key or value holds; None where no form is known, as for text. Never raises.

        `registry` is the one whose ids the value has, where that is known.
        """
        if topic in TOPICS:
            return None  # Kafka's own structures, which decoders.embedded reads
        if headers and has_header_of_form(headers):
            found = self._decode_by_headers(data, headers, _Place(topic, is_key, registry))
            if found is not None:
                return found
        if not data:
            return None
        if self.store.has_files and topic is not None:
            found = self._decode_without_prefix(data, _Place(topic, is_key, registry))
            if found is not None:
                return found
        recognise = _BY_FIRST_BYTE[data[0]]
        return None if recognise is None else recognise(self, data, _Place(topic, is_key, registry))

    # Headers.

    def _decode_by_headers(self, data: bytes | None, headers: Headers, place: _Place) -> DecodedValue | None:
        """The value where a header names its form; the first one of a name counts, as for Confluent's readers.

        A value of no bytes may be one: a message of Protobuf whose fields have their defaults.
        """
        named: dict[str, bytes] = {}
        for name, content in headers:
            if content is not None:
                named.setdefault(name, content)
        content = named.get(_ID_HEADERS[place.is_key])
        if data is not None and content is not None:
            framing = read_id_header(content)
            if framing is not None:
                return self._correct_stale_header(self._decode_framed(data, framing, place), data, place)
        if data is not None and (framing := _read_apicurio_headers(named, headers, place.is_key)) is not None:
            return self._correct_stale_header(self._decode_framed(data, framing, place), data, place)
        if place.is_key:
            return None
        if "ce_specversion" in named and "ce_type" in named:
            return self._decode_cloud_event(data, named, place)
        if named.get("content-type", b"")[: len(_CLOUD_EVENTS)].lower() == _CLOUD_EVENTS.encode():
            return self._decode_json(data, place) if data else None
        return None

    def _correct_stale_header(self, found: DecodedValue | None, data: bytes, place: _Place) -> DecodedValue | None:
        """What the bytes say where they are not what a header says, which may have been copied from another record."""
        if found is None or found.error is None or found.missing_schema or not data:
            return found
        recognise = _BY_FIRST_BYTE[data[0]]
        other = None if recognise is None else recognise(self, data, place)
        if other is None or other.error is not None or other.value is None:
            return found
        other.error = f"a header names the schema {found.schema_id}, by which it does not decode: {found.error}"
        return other

    def _decode_cloud_event(self, data: bytes | None, named: Mapping[str, bytes], place: _Place) -> DecodedValue:
        """A CloudEvent in binary mode: its attributes are headers, its data is the value."""
        event: dict[str, Any] = {
            name[3:]: json_bytes(content) for name, content in named.items() if name.startswith("ce_")
        }
        inner = self._decode_inner_value(data, place) if data else None
        if data:
            event["data"] = json_bytes(data) if inner is None or inner.value is None else inner.value
        found = DecodedValue("cloudevents", event, name=_text_or_none(event.get("type")))
        if inner is not None:
            found.schema_id, found.schema_from = inner.schema_id, inner.schema_from
            found.missing_schema, found.error = inner.missing_schema, inner.error
        return found

    def _decode_inner_value(self, data: bytes, place: _Place) -> DecodedValue | None:
        """What a value inside another one holds, if that is not too deep."""
        if place.layer >= VALUE_LAYERS_MAX:
            return None
        recognise = _BY_FIRST_BYTE[data[0]]
        return None if recognise is None else recognise(self, data, place._replace(layer=place.layer + 1))

    # The first byte.

    def _decode_json(self, data: bytes, place: _Place) -> DecodedValue | None:
        try:
            value = read_json(data)
        except DecodeError:
            return None
        if is_connect_envelope(value):
            name, payload = unwrap_connect_envelope(value)
            return DecodedValue("connect-json", payload, name=name)
        if is_cloud_event(value):
            inner_data = read_cloud_event_data(value)
            inner = self._decode_inner_value(inner_data, place) if inner_data else None
            if inner is not None and inner.value is not None:
                value["data"] = inner.value
            return DecodedValue("cloudevents", value, name=value["type"])
        return DecodedValue("json", value)

    def _decode_spaced_json_or_message(self, data: bytes, place: _Place) -> DecodedValue | None:
        """JSON behind white space; a message of Protobuf may begin so too."""
        return self._decode_json(data, place) if data.lstrip()[:1] in (b"{", b"[") else self._guess_message(data, place)

    def _decode_by_framing(self, data: bytes, place: _Place) -> DecodedValue | None:
        framing = read_framing(data)
        return None if framing is None else self._decode_framed(data, framing, place)

    def _decode_container(self, data: bytes, _place: _Place) -> DecodedValue | None:
        if not data.startswith(MAGIC):
            return None
        try:
            decoder, values = read_container(data)
        except DecodeError as failure:
            return DecodedValue("avro-container", None, error=str(failure))
        return DecodedValue("avro-container", values, name=decoder.name)

    def _decode_compressed(self, data: bytes, place: _Place) -> DecodedValue | None:
        found = inflate_value(data)
        if found is None:
            return self._guess_binary_json(data, place)
        form, plain = found
        inner = self._decode_inner_value(plain, place) if plain else None
        if inner is None:
            return DecodedValue(form, json_bytes(plain))
        inner.name = f"{inner.format} {inner.name}" if inner.name else inner.format
        inner.format, inner.reading = form, None  # whose fields are not in these bytes
        return inner

    def _guess_message(self, data: bytes, _place: _Place) -> DecodedValue | None:
        if not looks_like_message(data):
            return None
        return DecodedValue("protobuf", guess_message(data), guessed=True)

    def _guess_binary_json(self, data: bytes, _place: _Place) -> DecodedValue | None:
        found = guess_binary_json(data)
        return None if found is None else DecodedValue(found[0], found[1], guessed=True)

    # Schemas.

    def _decode_without_prefix(self, data: bytes, place: _Place) -> DecodedValue | None:
        """A value without prefix, by the schema that the user gave its topic, if that explains all bytes."""
        candidates = self.store.find_by_topic(place.topic or "", place.is_key, registry=place.registry)
        for schema in candidates:
            if schema.registered.origin.kind == "file":
                framing = read_framing(data)
                if framing is not None and self._find_schemas(framing, place):
                    return None
                found = self._decode_by_schema(schema, data, Framing(0))
                if found.error is None:
                    return found
        return None

    def _find_schemas(self, framing: Framing, place: _Place) -> list[StoredSchema]:
        if framing.schema_id is not None:
            found = self.store.find_by_id(framing.schema_id, registry=place.registry, id_kind=framing.id_kind)
        elif framing.guid is not None:
            found = self.store.find_by_guid(framing.guid, registry=place.registry)
        else:
            assert framing.fingerprint is not None
            found = self.store.find_by_fingerprint(framing.fingerprint)
        if len(found) > 1 and place.topic is not None:
            # Ids are unique per context of a registry: the subject of the topic tells more than the order of arrival.
            subject = f"{place.topic}-{'key' if place.is_key else 'value'}"
            found.sort(key=lambda each: not (each.registered.subject or "").endswith(subject))
        return found

    def _decode_framed(self, data: bytes, framing: Framing, place: _Place) -> DecodedValue | None:
        candidates = self._find_schemas(framing, place)
        if framing.is_zlib:
            try:
                data = data[: framing.at] + inflate_glue_body(data, framing.at, _GLUE_ZLIB_MAX)
            except DecodeError as failure:
                return _make_value_of_unknown_schema(framing, error=str(failure))
        if not candidates:
            return self._decode_without_schema(data, framing, place)
        first: DecodedValue | None = None
        for number, schema in enumerate(candidates):
            found = self._decode_by_schema(schema, data, framing)
            if found.error is None or found.value is not None:
                rest = candidates[number + 1 :]
                found.guessed |= number > 0 or any(self._gives_other_value(each, found, data, framing) for each in rest)
                return found
            found.guessed = len(candidates) > 1
            first = first or found
        named = self._decode_by_topic(data, framing, place)
        if named is not None:
            return named
        if len(data) == _LONG_SIZE and not framing.is_sure:
            return None  # a number of 64 bits that has an id's digits
        return first

    def _decode_by_topic(self, data: bytes, framing: Framing, place: _Place) -> DecodedValue | None:
        """A value that its id's schema does not fit, by one that the user gave its topic: ids of another context."""
        for schema in self.store.find_by_topic(place.topic or "", place.is_key, registry=place.registry):
            if schema.registered.origin.kind == "file":
                found = self._decode_by_schema(schema, data, framing)
                if found.error is None:
                    return found
        return None

    def _gives_other_value(self, schema: StoredSchema, found: DecodedValue, data: bytes, framing: Framing) -> bool:
        """Whether another schema of the same id reads another value, or one of another type, in the same bytes."""
        other = self._decode_by_schema(schema, data, framing)
        return other.error is None and (other.format, other.name, other.value) != (
            found.format,
            found.name,
            found.value,
        )

    def _decode_by_schema(self, schema: StoredSchema, data: bytes, framing: Framing) -> DecodedValue:
        """The value by a schema; `error` says why not."""
        registered = schema.registered
        found = DecodedValue(
            _FORMATS[registered.schema_type], None, schema_id=framing.shown_id, schema_from=registered.origin
        )
        try:
            parsed = schema.parse()
            found.name = parsed.name
            if isinstance(parsed, AvroDecoder):
                found.reading = ValueReading(framing, parsed)
                found.value = (
                    read_json_encoding(parsed.kind, data) if framing.is_json else parsed.decode_whole(data, framing.at)
                )
            elif isinstance(parsed, JsonSchema):
                found.reading = ValueReading(framing)
                found.value = read_json(data[framing.at :])
                found.error = parsed.find_misfit(found.value)
            else:
                found.reading = ValueReading(framing)
                message, at, found.value, found.guessed = _decode_protobuf(parsed, data, framing)
                found.name = message.name
                found.reading = ValueReading(framing, parsed, message, at)
        except DecodeError as failure:
            found.error = str(failure)
            # What a schema refers to is asked for after it, so it may still come.
            found.missing_schema = isinstance(failure, MissingReference)
            found.id_kind = framing.id_kind
        return found

    def _decode_without_schema(self, data: bytes, framing: Framing, place: _Place) -> DecodedValue | None:
        """A value whose schema is not known, or not yet: JSON and Protobuf show what they hold all the same."""
        body = data[framing.at :]
        found = _make_value_of_unknown_schema(framing)
        found.guessed = not framing.is_sure
        if body[:1] in (b"{", b"["):
            inner = self._decode_json(body, place)
            if inner is not None:
                found.format, found.value = "json", inner.value
                return found
        if framing.guid is not None and not framing.is_sure:
            return None  # a leading 01 alone says nothing
        ref = read_apicurio_ref(data, framing.at)
        if ref is not None:
            found.format, found.name = "protobuf", ref[0]
            found.value = guess_message(data, ref[1])
        elif framing.indexes:
            found.format, found.value = "protobuf", guess_message(body)
        elif body[:1] == b"\0" and looks_like_message(body[1:]):
            found.format, found.value = "protobuf", guess_message(body, 1)
        elif not framing.is_sure and has_kafka_string(data):
            return None
        elif not framing.is_sure and len(data) % _LONG_SIZE == 0 and (len(data) == _LONG_SIZE or framing.at > 5):
            return None  # numbers of 64 bits
        return found


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _make_value_of_unknown_schema(framing: Framing, error: str | None = None) -> DecodedValue:
    found = DecodedValue(UNKNOWN_SCHEMA, None, schema_id=framing.shown_id, error=error)
    if framing.fingerprint is not None:
        found.format, found.name = "avro", f"fingerprint {framing.fingerprint.hex()}"
    found.missing_schema = True
    found.id_kind = framing.id_kind
    found.reading = ValueReading(framing)
    return found


def _read_apicurio_headers(named: Mapping[str, bytes], headers: Headers, is_key: bool) -> Framing | None:
    """The framing of Apicurio's headers: an id of 8 bytes, and the name of Protobuf's message.

    The header of that name is the same for keys and for values: where there are two, the key's comes first.
    """
    prefix = _APICURIO[is_key]
    for word in ID_KINDS:
        content = named.get(prefix + word)
        if content is not None and len(content) == _LONG_SIZE:
            is_json = named.get(f"{prefix}encoding") == b"JSON"
            messages = [text for name, text in headers if name == _APICURIO_MESSAGE and text is not None]
            message = messages[0 if is_key else -1].decode("utf-8", "replace") if messages else ""
            schema_id = int.from_bytes(content, "big")
            return Framing(0, schema_id, is_sure=True, id_kind=word, is_json=is_json, message=message)
    return None


def _decode_protobuf(schema: ProtobufSchema, data: bytes, framing: Framing) -> tuple[ProtoMessage, int, Any, bool]:
    """The message that the framing names, where it begins, its value, and whether another message is as likely.

    Raises DecodeError: that of the likeliest reading.
    """
    failure: DecodeError | None = None
    unlikely: tuple[ProtoMessage, int, Any] | None = None
    for message, at, other in _list_messages(schema, data, framing):
        try:
            value = ProtobufReader(schema, data).read(message, at)
        except DecodeError as problem:
            failure = failure or problem.with_traceback(None)
            continue
        if _has_no_unknown_fields(value):
            return message, at, value, other is not None and _reads_without_unknown_fields(schema, data, other, at)
        unlikely = unlikely or (message, at, value)
    if unlikely is not None:
        return *unlikely, False
    raise failure or Malformed("no message of the schema is named", offset=framing.at)


def _has_no_unknown_fields(value: Any) -> bool:
    return not isinstance(value, dict) or UNKNOWN_FIELDS not in value


def _reads_without_unknown_fields(schema: ProtobufSchema, data: bytes, message: ProtoMessage, at: int) -> bool:
    try:
        return _has_no_unknown_fields(ProtobufReader(schema, data).read(message, at))
    except DecodeError:
        return False


def _list_messages(
    schema: ProtobufSchema, data: bytes, framing: Framing
) -> list[tuple[ProtoMessage, int, ProtoMessage | None]]:
    """The messages that the bytes may be, each with where it begins, the likeliest first.

    With a message comes the other one that its indexes may mean: the clients of some languages (Python, Go) count the
    entries of maps as messages, as descriptors do, and those of others (Java) do not.
    """
    found: list[tuple[ProtoMessage, int, ProtoMessage | None]] = []

    def add_messages(path: list[int], at: int) -> None:
        readings: list[ProtoMessage] = []
        for with_entries in (schema.is_of_descriptors, not schema.is_of_descriptors):
            with suppress(Malformed):
                message = schema.find_by_indexes(path, with_entries=with_entries)
                if message not in readings:
                    readings.append(message)
        found.extend((message, at, each) for message, each in zip(readings, [*readings[1:], None], strict=False))

    ref = read_apicurio_ref(data, framing.at)
    if ref is not None:
        with suppress(Malformed):
            found.append((schema.find_by_name(ref[0]), ref[1], None))
    if framing.message:
        with suppress(Malformed):
            found.append((schema.find_by_name(framing.message), framing.at, None))
    if framing.indexes is not None:
        for path, _ in read_message_indexes(framing.indexes, 0):
            add_messages(path, framing.at)
    elif framing.guid is not None and framing.is_sure:
        number, at = read_varint_64(data, framing.at, len(data))
        messages = schema.list_messages()
        if number < len(messages):
            found.append((messages[number], at, None))
    elif framing.at:
        for path, at in read_message_indexes(data, framing.at):
            add_messages(path, at)
    if not framing.at:
        add_messages([0], 0)
    return found


def _make_decoder_table_by_first_byte() -> tuple[
    Callable[[ValueDecoder, bytes, _Place], DecodedValue | None] | None, ...
]:
    """What a value may be, by its first byte; None for the first letters of text."""
    table: list[Callable[[ValueDecoder, bytes, _Place], DecodedValue | None] | None] = [None] * 256
    # Tags of the first three fields of a message.
    for byte in (number << 3 | wire for number in (1, 2, 3) for wire in (0, 1, 2, 5)):
        table[byte] = ValueDecoder._guess_message
    for byte in (*range(0x80, 0xC0), 0xD9, *range(0xDC, 0xE0)):
        table[byte] = ValueDecoder._guess_binary_json
    for byte in b'{["':
        table[byte] = ValueDecoder._decode_json
    for byte in b" \t\r\n":
        table[byte] = ValueDecoder._decode_spaced_json_or_message
    for byte in (0x1F, 0x28, 0x04, 0x78, 0x82):
        table[byte] = ValueDecoder._decode_compressed
    for byte in (0x00, 0x01, 0x03, 0xC3):
        table[byte] = ValueDecoder._decode_by_framing
    table[MAGIC[0]] = ValueDecoder._decode_container
    return tuple(table)


_BY_FIRST_BYTE: Final = _make_decoder_table_by_first_byte()
