"""Exchanges and skipped runs in, record batches of rows (schemas.ROWS) out."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from decoders.analysis.exchange_facts import (
    GATHERINGS,
    NS_PER_MS,
    WAITING,
    record_totals_of_exchange,
    throttle_paths,
    topics_of_error_codes,
    waited_ns,
)
from decoders.analysis.read_dimension_values import DIMENSIONS
from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.exchange import make_fetch_session
from decoders.exchanges.exchange_attribute_table import ALWAYS
from decoders.exchanges.topic_and_node_names import WELL_KNOWN, values_at_path
from decoders.exchanges.topic_arrays import BATCH_ARRAYS, TOPIC_ARRAYS
from decoders.filters.filter_field_table import entity_name_paths
from decoders.limits import BODY_TEXT_MAX
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import SCHEMA, to_json_dict
from decoders.protocol_facts.api_keys import FETCH
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.schema.body_json_form import encode_text_for_cell
from decoders.wire.deferred_json import make_json_pieces
from decoders.wire.primitive_types import format_uuid
from kwcli.pipeline.tables.arrow_schemas import OWN, PARTITION, ROWS, TYPES
from kwcli.pipeline.tables.exchange_attribute_columns import COLUMN_PARTS, NOTED, SERVER, split_attribute_into_columns
from kwcli.pipeline.tables.topic_partition_rows import NAMES, Partition, SingleTopic, read_partitions_of_exchange
from kwcli.reading.capture_sources import escape_non_utf8

if TYPE_CHECKING:
    from decoders.exchanges.body_reader import ApiReader
    from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled, Skipped

# Columns with numbers of packets.
PACKETS: Final = ("request_packet", "request_packet_end", "response_packet", "response_packet_end")
# The first values of a row: places in the pools.
_PLACES: Final = ("connection", "api_reader", "client", "topics", "groups", "rare", "run", "server")
# Columns of the exchange record that only runs with bodies fill.
BODY_COLUMNS: Final = ("request_body", "response_body", "further_keys")
# The values of a row behind the places: columns as they are, then the number of its partitions.
_PLAIN: Final = (
    *("time_ns", "request_end_ns", "response_ns", "response_end_ns", "place", "correlation_id"),
    *("request_size", "response_size", "status"),
    *PACKETS,
    *("batches", "records", "record_bytes", "throttle_time_ms", "max_wait_ms", "min_bytes", "waited_ns"),
    *("fetch_session_id", "fetch_session_epoch", "fetch_session_incremental", *BODY_COLUMNS),
)
ROW: Final = len(_PLACES) + len(_PLAIN) + 1
_RARE: Final = (
    *("reason", "error_codes", "error_names", "error_paths", "error_topics", "error_expected"),
    *("undecoded_side", "undecoded_reason", "undecoded_path", "undecoded_offset", "request_layout", "response_layout"),
    *(column for key in NOTED for column, _ in COLUMN_PARTS[key]),
)
_CLIENT: Final = ("client_id", "client_software_name", "client_software_version", "user", "mechanism")
_TOPICS: Final = ("topics", "topic_ids", "topic_names")
_SERVER: Final = ("source", *(column for column, _ in COLUMN_PARTS[SERVER]))
# The columns of _SERVER for an exchange from a capture.
_WIRE: Final = ("wire", *(None,) * (len(_SERVER) - 1))
# Packets carry the number of their file above these bits.
NUMBER_BITS: Final = 40

Arrays = dict[str, pa.Array]


def build_row_batch(
    point: str | None,
    files: Sequence[str],
    rows: list[tuple[Any, ...]],
    parts: list[list[Any]],
    *,
    infos: list[ConnectionInfo],
    api_readers: list[ApiReader],
    pools: Mapping[str, list[Any]],
) -> pa.RecordBatch:
    """The record batch of some rows; `pools` are those of clients, topics, groups, rare columns, runs and servers.

    `point`: the capture point of all rows; None where each file is a point of its own.
    """
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * ROW
    count = len(rows)
    at = {name: pa.array(columns[n], pa.int32()) for n, name in enumerate(_PLACES)}
    given = columns[len(_PLACES) :]
    arrays = {name: pa.array(given[n], ROWS.field(name).type) for n, name in enumerate(_PLAIN)}
    for names, pool in ((_CLIENT, "client"), (_TOPICS, "topics"), (_RARE, "rare"), (_SERVER, "server")):
        arrays |= _build_pool_columns(names, pools[pool], at[pool])
    arrays["groups"] = pa.array(pools["groups"], TYPES["list<string>"]).take(at["groups"])
    arrays |= _build_connection_columns(infos, at["connection"])
    arrays |= _build_api_columns(api_readers, at["api_reader"])
    runs = _build_pool_columns(("direction", "size", "run_reason", "detail"), pools["run"], at["run"], _RUN_TYPES)
    is_run = pc.is_valid(at["run"])
    arrays["reason"] = pc.coalesce(arrays["reason"], runs.pop("run_reason"))
    arrays |= runs
    arrays["kind"] = pc.if_else(is_run, "skipped", "exchange")
    arrays["schema"] = pa.repeat(pa.scalar(SCHEMA, pa.int32()), count)
    _add_time_columns(arrays)
    _add_packet_columns(arrays, files)
    arrays["point"] = arrays["source_file"] if point is None else pa.repeat(pa.scalar(point, pa.string()), count)
    arrays["partitions"] = _build_partition_lists(given[len(_PLAIN)], parts)
    return pa.RecordBatch.from_arrays([arrays[field.name] for field in ROWS], schema=ROWS)


_RUN_TYPES: Final = {"direction": pa.string(), "size": pa.int64(), "run_reason": pa.string(), "detail": pa.string()}


def _build_pool_columns(
    names: Sequence[str], pool: list[Any], at: pa.Array, types: Mapping[str, pa.DataType] | None = None
) -> Arrays:
    """The columns `names`: each row has the values of the pool at its place in `at`."""
    columns = list(zip(*pool, strict=True)) or [()] * len(names)
    found = {}
    for name, values in zip(names, columns, strict=True):
        kind = ROWS.field(name).type if types is None else types[name]
        found[name] = pa.array(values, kind).take(at)
    return found


def split_address(address: str) -> tuple[str, int]:
    """`[::1]:9092` → `::1`, 9092."""
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _build_connection_columns(infos: list[ConnectionInfo], at: pa.Array) -> Arrays:
    clients = [split_address(one.client) for one in infos]
    brokers = [split_address(one.broker) for one in infos]
    columns: dict[str, list[Any]] = {
        "client": [one.client for one in infos],
        "broker": [one.broker for one in infos],
        "via_address": [one.via_address for one in infos],
        "client_ip": [ip for ip, _ in clients],
        "client_port": [port for _, port in clients],
        "broker_ip": [ip for ip, _ in brokers],
        "broker_port": [port for _, port in brokers],
        "connection": [one.number or None for one in infos],
        "connection_began_ns": [one.began_ns for one in infos],
    }
    return {name: pa.array(values, ROWS.field(name).type).take(at) for name, values in columns.items()}


def _build_api_columns(api_readers: list[ApiReader], at: pa.Array) -> Arrays:
    columns: dict[str, list[Any]] = {
        "api_key": [api_reader.key for api_reader in api_readers],
        "api": [api_reader.name for api_reader in api_readers],
        "api_version": [api_reader.version for api_reader in api_readers],
    }
    return {name: pa.array(values, ROWS.field(name).type).take(at) for name, values in columns.items()}


def _add_time_columns(arrays: Arrays) -> None:
    """Add the columns time, latency and duration: the arithmetic of the exchange record, a column at a time."""
    begun, sent, answered, ended = (
        arrays[name] for name in ("time_ns", "request_end_ns", "response_ns", "response_end_ns")
    )
    arrays["time"] = pc.divide(begun, 1000).cast(TYPES["timestamp"])
    arrays["latency_ms"] = _convert_ns_to_ms(pc.subtract(answered, sent))
    whole = pc.if_else(pc.is_valid(sent), ended, pa.scalar(None, pa.int64()))
    arrays["duration_ms"] = _convert_ns_to_ms(pc.subtract(whole, begun))


def _convert_ns_to_ms(ns: pa.Array) -> pa.Array:
    return pc.divide(ns.cast(pa.float64(), safe=False), 1e6)


def _add_packet_columns(arrays: Arrays, files: Sequence[str]) -> None:
    """Split the packet numbers into the numbers in their files and the columns with the files' names."""
    names = pa.array([*map(escape_non_utf8, files), ""], pa.string())
    numbers, places = {}, {}
    for name in PACKETS:
        packet = arrays[name]
        number = pc.bit_wise_and(packet, (1 << NUMBER_BITS) - 1)
        numbers[name] = pc.if_else(
            pc.equal(number, 0), pa.scalar(None, pa.int64()), number
        )  # a row of a log has no packet
        places[name] = pc.shift_right(packet, NUMBER_BITS)
    arrays |= numbers
    source = pc.coalesce(places["request_packet"], places["response_packet"], pa.scalar(len(files), pa.int64()))
    arrays["source_file"] = names.take(source)
    for name, place in (
        ("request_end_file", "request_packet_end"),
        ("response_file", "response_packet"),
        ("response_end_file", "response_packet_end"),
    ):
        other = pc.if_else(pc.equal(places[place], source), pa.scalar(None, pa.int64()), places[place])
        arrays[name] = names.take(other)


def _build_partition_lists(counts: Sequence[int], parts: list[list[Any]]) -> pa.Array:
    columns = list(zip(*parts, strict=True)) or [()] * len(OWN)
    fields = [pa.field(column.name, TYPES[column.type]) for column in OWN]
    structs = pa.StructArray.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)], fields=fields
    )
    offsets = pc.cumulative_sum(pa.array([0, *counts], pa.int32()))
    return pa.ListArray.from_arrays(offsets, structs).cast(pa.list_(pa.field("element", PARTITION)))


# `add` reads what it needs of an exchange into one tuple and lets go of its bytes; values that many rows share
# (addresses, API versions, topics) are kept once and spread over the rows when the batch is made.
# `python -m tests.bench.tables` measures it.


_topics: Final = DIMENSIONS["topic"].get
_groups: Final = DIMENSIONS["group"].get
_NO_PARTS: Final[list[Partition]] = []
_NOTHING: Final[tuple[None, ...]] = (None,) * 3
_NO_BODIES: Final[tuple[None, ...]] = (None,) * len(BODY_COLUMNS)
# The text in place of a body that is too long for a cell.
BODY_CUT: Final = f'{{"limit":"more than {BODY_TEXT_MAX} bytes as JSON"}}'
# Keys of the record that have columns: some of them are known only when a capture that was cut has been put together.
_HAVE_COLUMNS: Final = frozenset((*ALWAYS, "client_software", "user", "mechanism", "topic_names", "via_address"))
_NO_WAIT: Final[tuple[None, ...]] = (None,) * 6
# The result of `_read_cells_of_bodies` for a token, and for a response without its request.
_SILENT: Final[tuple[Any, ...]] = (0, 0, 0, _NOTHING, None, _NO_WAIT)
# The values of a skipped run's row behind its time.
_REST: Final = (None,) * (ROW - 10) + (0,)
_BATCHES: Final = NAMES.index("batches")
_BYTES: Final = NAMES.index("bytes")
_BYTES_END: Final = _BYTES + 1
# Texts kept in the form in which they are shown.
TEXTS_MAX: Final = 100_000
# The rare columns of an exchange with nothing out of the ordinary, as most are.
ORDINARY: Final[tuple[Any, ...]] = (
    *(None, [], [], [], [], [], None, None, None, None, None, None),
    *(value for key in NOTED for value in split_attribute_into_columns(key, None)),
)


class Pool:
    """Values that many rows share, each once, in the order met."""

    __slots__ = ("at", "values")

    def __init__(self, values: list[Any] | None = None) -> None:
        self.values = values or []
        self.at: dict[Hashable, int] = {}

    def find_or_add_value(self, key: Hashable, value: Any) -> int:
        """The place of a value, which is added when its key is new."""
        at = self.at.get(key)
        if at is None:
            at = self.at[key] = len(self.values)
            self.values.append(value)
        return at


class ApiContents:
    """Flags for one API: what exchanges of it may contain, and so has to be looked for."""

    __slots__ = ("groups", "holds", "places", "sole", "throttles", "topics", "waits")

    def __init__(self, key: int) -> None:
        self.topics = bool(
            entity_name_paths(key, "request", "topicName") or entity_name_paths(key, "response", "topicName")
        )
        self.groups = bool(
            entity_name_paths(key, "request", "groupId") or entity_name_paths(key, "response", "groupId")
        )
        self.throttles = bool(throttle_paths(key, "response"))
        self.waits = key in WAITING
        self.holds = key in BATCH_ARRAYS
        self.places = key in TOPIC_ARRAYS
        self.sole = SingleTopic.for_api(key)


class ExchangeColumns:
    """Collects rows. `files` are the captures by the number in their packets; `bodies` says how JSON bodies are shown.

    The exchanges come from an engine with `TableNeeds` of the same tables. All rows have the same capture point and
    files.
    """

    def __init__(
        self,
        point: str,
        files: Sequence[str],
        tables: Collection[str],
        *,
        bodies: Options | None = None,
    ) -> None:
        self.point: str | None = point  # None: each file is a point of its own
        self.files = files
        self._build_partition_lists = "topic_partitions" in tables
        self._bodies = bodies
        self._kinds: dict[int, ApiContents] = {}
        self._texts: dict[str, str] = {}
        self._begin_batch()

    def _begin_batch(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._parts: list[Partition] = []
        self._body_size = 0
        self._connections = Pool()
        self._api_readers = Pool()
        self._clients, self._topics, self._groups = Pool(), Pool([((), (), ())]), Pool([()])
        self._rare, self._runs, self._servers = Pool([ORDINARY]), Pool(), Pool([_WIRE])
        self._pools = {
            "client": self._clients,
            "topics": self._topics,
            "groups": self._groups,
            "rare": self._rare,
            "run": self._runs,
            "server": self._servers,
        }

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def weight(self) -> int:
        """The number of rows, partitions and kilobytes of bodies, added up: it bounds a batch."""
        return len(self._rows) + len(self._parts) + (self._body_size >> 10)

    def add_row(self, settled: Settled) -> None:
        """Add an exchange or a skipped run."""
        if settled.kind == "exchange":
            self._add_exchange(settled)
        else:
            self._add_skipped_run(settled)

    def take_batch(self) -> pa.RecordBatch:
        """The rows added since the last batch."""
        made = build_row_batch(
            self.point,
            self.files,
            self._rows,
            self._parts,
            infos=self._connections.values,
            api_readers=self._api_readers.values,
            pools={name: pool.values for name, pool in self._pools.items()},
        )
        self._begin_batch()
        return made

    def _add_exchange(self, exchange: Exchange) -> None:
        exchange._read_sides()
        key, api_reader, failed = exchange.api_key, exchange._api_reader, exchange._failed
        status = "undecoded" if failed and exchange.outcome == "complete" else exchange.outcome
        topics, groups, count, contents, throttle, waits = (
            _SILENT if key is None else self._read_cells_of_bodies(exchange, key)
        )
        unusual = exchange.extra or exchange._error_codes or failed or exchange._early
        software = exchange.client_software
        name, version = (software["name"], software["version"]) if software else (None, None)
        who = (exchange.client_id, name, version, exchange.user, exchange.mechanism)
        bodies = _NO_BODIES if self._bodies is None else self._dump_bodies(exchange, self._bodies)
        info, connections_at, api_readers_at, clients_at = (
            exchange.connection_info,
            self._connections.at,
            self._api_readers.at,
            self._clients.at,
        )
        self._rows.append(
            (
                connections_at[info] if info in connections_at else self._connections.find_or_add_value(info, info),
                api_readers_at[api_reader]
                if api_reader in api_readers_at
                else self._api_readers.find_or_add_value(api_reader, api_reader),
                clients_at[who] if who in clients_at else self._pool_client(who),
                topics,
                groups,
                self._pool_rare_values(exchange) if unusual else 0,
                None,
                self._pool_server_times(exchange.extra[SERVER]) if exchange.extra and SERVER in exchange.extra else 0,
                exchange.time_ns,
                exchange.request_end_ns,
                exchange.response_ns,
                exchange.response_end_ns,
                exchange.place,
                exchange.correlation_id,
                exchange.request_size,
                exchange.response_size,
                status,
                exchange.request_packet or None,
                exchange.request_packet_end or None,
                exchange.response_packet or None,
                exchange.response_packet_end or None,
                *contents,
                throttle,
                *waits,
                *bodies,
                count,
            )
        )

    def _read_cells_of_bodies(self, exchange: Exchange, key: int) -> tuple[Any, ...]:
        """The contents of the bodies: places of topics and groups, partitions, contents, throttle time, waits."""
        topics = groups = count = 0
        contents: Sequence[Any] = _NOTHING
        waits: tuple[Any, ...] = _NO_WAIT
        throttle = None
        kind = self._kinds.get(key) or self._find_contents_of_api(key)
        parts, sole = _NO_PARTS, None
        if self._build_partition_lists and kind.places:
            sole = kind.sole.read_partition(exchange, self._make_cell_of_text) if kind.sole else None
            if sole is None:
                parts = read_partitions_of_exchange(exchange, self._make_cell_of_text)
                self._parts += parts
                count = len(parts)
        if sole is not None:
            self._parts.append(sole)
            count = 1
            topics = self._pool_topic(sole[0])
            if sole[_BYTES]:
                contents = sole[_BATCHES:_BYTES_END]
        elif kind.topics:
            topics = self._pool_topics_of_exchange(exchange)
        if kind.groups:
            found = tuple(dict.fromkeys(map(self._make_cell_of_text, _groups(exchange))))
            groups = self._groups.find_or_add_value(found, found) if found else 0
        if kind.holds and sole is None:
            contents = self._sum_record_batches(exchange, parts)
        view = exchange._response_view
        if kind.throttles and view.__class__ is dict:
            throttle = view.get("throttle_time_ms") or None
        if kind.waits:
            waits = _read_wait_times(exchange)
        return topics, groups, count, contents, throttle, waits

    def _add_skipped_run(self, run: Skipped) -> None:
        at = self._runs.find_or_add_value(run, (run.direction, run.size, run.reason, run.detail))
        at_connection = self._connections.find_or_add_value(run.connection_info, run.connection_info)
        self._rows.append((at_connection, None, None, None, None, None, at, None, run.time_ns, *_REST))

    def _find_contents_of_api(self, key: int) -> ApiContents:
        kind = self._kinds[key] = ApiContents(key)
        return kind

    def _pool_client(self, who: tuple[str | None, ...]) -> int:
        return self._clients.find_or_add_value(
            who, tuple(None if text is None else self._make_cell_of_text(text) for text in who)
        )

    def _make_cell_of_text(self, text: str) -> str:
        found = self._texts.get(text)
        if found is None:
            if len(self._texts) >= TEXTS_MAX:
                self._texts.clear()
            found = self._texts[text] = encode_text_for_cell(text)
        return found

    def _pool_topic(self, name: str) -> int:
        """The place of one topic, given by name, in the pool of topics."""
        at = self._topics.at.get(name)
        return self._topics.find_or_add_value(name, ((name,), (), ())) if at is None else at

    def _pool_topics_of_exchange(self, exchange: Exchange) -> int:
        names = tuple(_topics(exchange))
        ids: dict[Any, None] = {}
        for side in SIDES:
            for path in exchange._api_reader.paths_of_nameless_topics(side):
                ids |= dict.fromkeys(values_at_path(exchange.view(side), path))
        if not names and not ids:
            return 0
        where = (names, *ids)
        at = self._topics.at.get(where)
        if at is None or ids:  # the name of an id may have become known
            topics = tuple(dict.fromkeys(map(self._make_cell_of_text, names)))
            known = [identity for identity in ids if identity is not None and identity.int]
            # As in the record: names that the capture has shown.
            called = [None if identity in WELL_KNOWN else exchange.topic_name(identity) for identity in known]
            value = (
                topics,
                tuple(format_uuid(identity.bytes) for identity in known),
                tuple(None if name is None else self._make_cell_of_text(name) for name in called),
            )
            at = self._topics.find_or_add_value(value, value)
            self._topics.at[where] = at
        return at

    def _sum_record_batches(self, exchange: Exchange, parts: list[Partition]) -> tuple[Any, ...]:
        """Batches, records and bytes of all partitions."""
        if not self._build_partition_lists:
            return record_totals_of_exchange(exchange, None) or _NOTHING
        batches = sum(part[_BATCHES] or 0 for part in parts)
        records = sum(part[_BATCHES + 1] or 0 for part in parts)
        size = sum(part[_BYTES] or 0 for part in parts)
        return (batches, records, size) if size else _NOTHING

    def _pool_rare_values(self, exchange: Exchange) -> int:
        codes, expected = exchange._error_codes or (), exchange._api_reader.expected
        assert exchange.remarks is not None  # they are in `extra` once they were asked for
        failed, early, extra = exchange._failed, exchange._early or {}, exchange.extra or {}
        side = reason = path = offset = None
        if failed:
            side, first = next(iter(failed.items()))
            reason, path, offset = first.reason, first.path, first.offset
        value = (
            exchange.reason,
            [code for _, code in codes],
            [error_name(code) for _, code in codes],
            [path for path, _ in codes],
            [None if topic is None else self._make_cell_of_text(topic) for topic in topics_of_error_codes(exchange)],
            [code in expected for _, code in codes],
            "both" if failed and len(failed) > 1 else side,
            reason,
            path,
            offset,
            early.get("request"),
            early.get("response"),
            *(value for key in NOTED for value in split_attribute_into_columns(key, extra.get(key))),
        )
        at = len(self._rare.values)
        self._rare.values.append(value)
        return at

    def _pool_server_times(self, said: Mapping[str, Any]) -> int:
        """The place of an exchange's times from a request log in the pool of servers."""
        value = ("log", *(None if each is None else float(each) for each in split_attribute_into_columns(SERVER, said)))
        return self._servers.find_or_add_value(value, value)

    def _dump_bodies(self, exchange: Exchange, options: Options) -> list[str | None]:
        record = to_json_dict(exchange, options)
        texts = [None if record[side] is None else _dump_body(record[side]) for side in SIDES]
        further = {name: value for name, value in record.items() if name not in _HAVE_COLUMNS}
        texts.append(_dump_body(further) if further else None)
        self._body_size += sum(len(text) for text in texts if text is not None)
        return texts


def _dump_body(body: Any) -> str:
    """The JSON of a body; BODY_CUT for a body that is too long for a cell."""
    parts: list[bytes] = []
    left = BODY_TEXT_MAX
    for piece in make_json_pieces(body):
        left -= len(piece)
        if left < 0:
            return BODY_CUT
        parts.append(piece)
    return b"".join(parts).decode()


def _read_wait_times(exchange: Exchange) -> tuple[Any, ...]:
    """How long a fetch may wait and did, and its session; how long a member waited for its group."""
    if exchange.api_key in GATHERINGS:
        return None, None, waited_ns(exchange), None, None, None
    request = exchange._request_view
    if request.__class__ is not dict:
        return _NO_WAIT
    most, answered, sent = request.get("max_wait_ms"), exchange.response_ns, exchange.request_end_ns
    waited = None
    if most and answered is not None and sent is not None and 10 * (answered - sent) >= 9 * most * NS_PER_MS:
        waited = waited_ns(exchange)  # which looks for records too
    session = make_fetch_session(request, exchange._response_view) if exchange.api_key == FETCH else None
    if session is None:
        return most, request.get("min_bytes"), waited, None, None, None
    return most, request.get("min_bytes"), waited, *session.values()
