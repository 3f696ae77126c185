"""The schemas of one run: files that are named, what the capture itself shows, a registry that is asked.

The problem. A consumer asks for a schema when it meets its id, so the schema often comes after the first value.

The idea. Rows are shown as they come, until a value names a schema that has not been seen. Then, where the captures are
files, they are read once more by an engine of its own, which shows nothing and takes the schemas alone; after that the
run goes on where it was. So files without such a value are read once, and no row waits.

What always holds: what pipes and live captures showed stays as it was shown, with the id alone; the closing line counts
such values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from decoders.capture.merge_captures import file_index_of_packet, packet_number_in_file
from decoders.errors import DecodeError
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.exchanges.topic_arrays import batch_array
from decoders.messages.registries.registry_traffic import SCHEMAS_TOPIC, RegistryTraffic
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from kwcli.output.format_decoded_values import list_missing_schemas
from kwcli.output.short_texts import count_of
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.reading.read_captures_by_time import Captures

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange, Settled
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.tls.key_log import KeyLog
    from decoders.values.schemas_and_decoded_values import DecodedValue

__all__ = ["RunSchemas"]

_NAME: Final = SCHEMAS_TOPIC.encode()


class RunSchemas:
    """Finds the schemas for a reader of values, in what a run reads."""

    def __init__(
        self, reader: RecordValueReader, ports: frozenset[int] | None = None, keys: KeyLog | None = None
    ) -> None:
        self._reader = reader
        self._ports, self._keys = ports, keys
        self._traffic = RegistryTraffic(self._learn_schema, self._note_unregistered)
        self._names: Sequence[str] = ()  # of the captures, where packets are numbered across them
        self._reopen: Callable[[], Captures] | None = None  # the captures from their beginning, where they are files
        self._complete = False  # all that the captures have is known
        self._ask = reader.look_further  # a registry, where one is named
        reader.look_further = self._look_up_schema

    def set_file_names(self, names: Sequence[str]) -> None:
        """Take the names of captures whose packets are numbered across files."""
        self._names = names

    def allow_second_reading(self, reopen: Callable[[], Captures]) -> None:
        """Have the captures read once more where a schema is missing."""
        self._reopen = reopen

    @property
    def missing(self) -> Counter[str]:
        """How many values name each id whose schema was not found."""
        return self._reader.missing

    @property
    def can_read_again(self) -> bool:
        """Whether the captures can still be read once more."""
        return self._reopen is not None

    def learn_from_engine(self, engine: Engine) -> None:
        """Learn from all connections of an engine."""
        engine.on_chunks = lambda chunks: None if self._complete else self._traffic.feed(chunks)

    def learn_from_rows(self, rows: Iterable[Settled]) -> None:
        """Learn from settled rows: records of `_schemas`."""
        if self._complete:
            return
        for row in rows:
            if row.kind == "exchange" and (array := batch_array(row.api_key)) is not None:
                raw = row.raw(array.side)
                if row.record is not None or (raw is not None and self._may_have_schemas(row, raw)):
                    self._learn_from_exchange(row)

    def _may_have_schemas(self, exchange: Exchange, raw: bytes) -> bool:
        """Whether the topic's name, or the id that it is known by, is among the bytes."""
        if _NAME in raw:
            return True
        names = exchange.connection_info.topics.names
        return bool(names) and any(
            name == SCHEMAS_TOPIC and identity.bytes in raw for identity, (name, _) in names.items()
        )

    def _learn_from_exchange(self, exchange: Exchange) -> None:
        # Loaded once there are such records, which most captures have not.
        from decoders.filters.read_partitions_and_records import iterate_records_with_topic, record_and_topic_paths
        from decoders.messages.exchange_json import read_fields_at_paths
        from decoders.messages.registries.learn_registry_schemas import learn_from_schemas_record

        array = batch_array(exchange.api_key)
        assert array is not None
        assert exchange.api_key is not None
        fields = packet = None
        if exchange.record is None:  # else it is of no capture of this run
            packet = exchange.request_packet if array.side == "request" else exchange.response_packet
            try:
                fields = read_fields_at_paths(
                    exchange, array.side, frozenset(record_and_topic_paths(exchange.api_key, array.side))
                )
            except DecodeError:
                return
        origin, registry = SchemaOrigin("capture", packet), exchange.broker
        for topic, record in iterate_records_with_topic(exchange, fields):
            if topic == SCHEMAS_TOPIC:
                learn_from_schemas_record(record[2], record[3], self._learn_schema, origin=origin, registry=registry)

    def _learn_schema(self, schema: RegisteredSchema) -> None:
        packet = schema.origin.packet
        if packet and self._names:
            place = escape_non_utf8(self._names[file_index_of_packet(packet)])
            schema = schema._replace(
                origin=SchemaOrigin("capture", packet_number_in_file(packet), place if len(self._names) > 1 else None)
            )
        self._reader.store.add_schema(schema)

    def _note_unregistered(self, schema_id: int) -> None:
        self._reader.store.note_unregistered_id(schema_id)

    def _look_up_schema(self, found: DecodedValue) -> bool:
        """Look for the schema that a value names; whether it may be known now."""
        if self._reopen is not None:
            reopen, self._reopen = self._reopen, None
            new = self.learn_from_captures(reopen)
            self._complete = True
            if new and (self._ask is None or self._reader.knows_schema_of_value(found)):
                return True
        return self._ask is not None and self._ask(found)

    def learn_from_captures(self, reopen: Callable[[], Captures]) -> bool:
        """Learn from captures, which are read from their beginning; whether there were schemas not known before."""
        store = self._reader.store
        before = store.changes
        self._traffic = RegistryTraffic(self._learn_schema, self._note_unregistered)
        engine = Engine(self._ports, keys=self._keys)
        engine.enable_leaving_out_of_copies()
        self.learn_from_engine(engine)
        captures = reopen()
        try:
            for batch in captures.read_batches():
                self.learn_from_rows(engine.feed(batch.segments, batch.now_ns))
            self.learn_from_rows(engine.finish())
            for _, rows in captures.read_recorded_rows():
                self.learn_from_rows(rows)
        finally:
            captures.close()
        return store.changes != before

    def closing_lines(self) -> list[str]:
        """The sentence about values whose schemas are missing, and what would help; none where none are."""
        http2 = self._traffic.http2
        unread = f"; {count_of(http2, 'connection')} of HTTP/2 not read" if http2 else ""
        return [f"{line}{unread}" for line in list_missing_schemas(self._reader.missing)]
