"""Exchanges of a recording in, the cluster that answers like the recorded one out.

Records come from Produce requests and Fetch responses, each batch at its offset; of two batches with the same first
offset, the one that reaches further is taken. The log has holes at offsets that nobody wrote or read in the
recording. Committed offsets are those that groups had when the recording began, so that clients which run again get
the same records; the offsets that they commit then are kept.

Errors are kept by client id, API, name and partition, and given once for each time that they were recorded. Errors that
come from the state of a cluster (a rebalance, an unknown member, an unknown name) are not kept: the state gives them
again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.errors import DecodeError, EncodeError
from decoders.exchanges.topic_and_node_names import METADATA_TOPIC
from decoders.messages.whole_messages import decode_message, encode_json
from decoders.mocking.accept_any_login import TAKEN_MECHANISMS
from decoders.mocking.build_response_bodies import RequestBody, ResponseBody
from decoders.mocking.cluster_state import Committed, ErrorPlace, MockCluster, MockNode, TopicPartition
from decoders.mocking.partition_log import PartitionLog, StoredBatch
from decoders.mocking.split_records_field_into_batches import split_records_field_into_batches
from decoders.protocol_facts import api_keys

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["RecordedCluster", "RedactedRecording"]

_NO_ID: Final = UUID(int=0)
# The APIs whose exchanges are read.
READ: Final = frozenset(
    {
        *(
            api_keys.PRODUCE,
            api_keys.FETCH,
            api_keys.LIST_OFFSETS,
            api_keys.METADATA,
            api_keys.OFFSET_COMMIT,
            api_keys.OFFSET_FETCH,
        ),
        *(
            api_keys.FIND_COORDINATOR,
            api_keys.JOIN_GROUP,
            api_keys.SYNC_GROUP,
            api_keys.HEARTBEAT,
            api_keys.LEAVE_GROUP,
        ),
        *(api_keys.SASL_HANDSHAKE, api_keys.CREATE_TOPICS, 22, 24, 25, 26, 28, api_keys.DESCRIBE_CLUSTER, 68),
    }
)
# Error codes that come from the state of groups, sessions, logs and producers, and from names that do not exist.
OF_STATE: Final = frozenset({0, 1, 3, 16, 22, 25, 27, 35, 36, 45, 46, 47, 51, 70, 71, 79, 82, 88, 90, 100, 110, 113})
_ERRORS_MAX: Final = 10_000
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
_NAMES: Final = ("name", "topic", "group_id", "key", "transactional_id")
_NUMBERS: Final = ("partition_index", "index", "partition")


class RedactedRecording(Exception):
    """Raised for a recording whose records were redacted."""


@dataclass(slots=True)
class _Partition:
    leader: int | None = None
    start: int | None = None
    end: int = 0
    batches: list[StoredBatch] = field(default_factory=list)


@dataclass(slots=True)
class _RecordedTopic:
    id: UUID | None = None
    internal: bool = False
    partitions: dict[int, _Partition] = field(default_factory=dict)


class RecordedCluster:
    """A fold over exchanges; `build_cluster` makes the cluster that they describe."""

    def __init__(self) -> None:
        self.exchanges = 0
        self.unplaced = 0  # writes without a response that says at which offset
        self.unread: Counter[str] = Counter()  # API → sides that do not decode
        self._nodes: dict[int, MockNode] = {}
        self._answering: dict[str, None] = {}  # addresses of brokers
        self._cluster_id: str | None = None
        self._controller = -1
        self._topics: dict[str, _RecordedTopic] = {}
        self._ids: dict[UUID, str] = {}
        self._absent: dict[str, None] = {}
        self._refuses_to_create = False
        self._offsets: dict[str, dict[TopicPartition, Committed | None]] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self.mechanisms: dict[str, None] = {}
        self.errors: dict[ErrorPlace, deque[int]] = {}
        self._errors = 0
        self._results: dict[int, bool] = {}  # producer id → whether its last transaction was committed
        self._by_api = {
            api_keys.METADATA: self._learn_from_metadata,
            api_keys.DESCRIBE_CLUSTER: self._learn_from_describe_cluster,
            api_keys.PRODUCE: self._learn_from_produce,
            api_keys.FETCH: self._learn_from_fetch,
            api_keys.OFFSET_FETCH: self._learn_from_offset_fetch,
            api_keys.OFFSET_COMMIT: self._learn_from_offset_commit,
            28: self._learn_from_offset_commit,
            api_keys.FIND_COORDINATOR: self._learn_from_find_coordinator,
            api_keys.SASL_HANDSHAKE: self._learn_from_sasl_handshake,
            26: self._learn_from_end_txn,
        }

    def add(self, exchange: Exchange) -> None:
        """Take an exchange into account. Raises RedactedRecording."""
        self.exchanges += 1
        key = exchange.api_key
        if exchange.broker and exchange.outcome == "complete":
            self._answering.setdefault(exchange.broker)
        if key not in READ or exchange.outcome != "complete":
            self.unplaced += key == api_keys.PRODUCE and exchange.outcome == "no_response_expected"
            return
        request, response = self._decode_body(exchange, "request"), self._decode_body(exchange, "response")
        if request is None or response is None:
            return
        reader = self._by_api.get(key)
        if reader is not None:
            reader(exchange, request, response)
        for place, code in _find_error_codes(response, _find_request_subject(request), -1):
            name = place[0] if isinstance(place[0], str) else self._find_topic_name(exchange, {"topic_id": place[0]})
            if code not in OF_STATE and name is not None and self._errors < _ERRORS_MAX:
                self._errors += 1
                self.errors.setdefault((exchange.client_id, key, name, place[1]), deque()).append(code)

    def _decode_body(self, exchange: Exchange, side: Side) -> dict[str, Any] | None:
        """The body of a side as Python values; None where it does not decode."""
        if side in exchange.failures:
            self.unread[exchange.api or ""] += 1
            return None
        value = exchange.values(side)
        if exchange.raw(side) is not None:
            found: dict[str, Any] = value
            return found
        key, version = exchange.api_key, exchange.api_version
        assert key is not None
        assert version is not None
        layout = exchange.layout.get(side)
        try:
            return decode_message(
                key, version, side, encode_json(key, version, side, value, layout=layout), layout=layout
            )
        except EncodeError as problem:
            if key in (api_keys.PRODUCE, api_keys.FETCH):
                raise RedactedRecording(f"{exchange.api} at {exchange.time}, {side}: {problem}") from None
            self.unread[exchange.api or ""] += 1
            return None
        except DecodeError:
            self.unread[exchange.api or ""] += 1
            return None

    def _find_topic_name(self, exchange: Exchange, row: dict[str, Any]) -> str | None:
        """The name of the topic of a struct; None where it is not known."""
        name = row["name"] if row.get("name") is not None else row.get("topic")
        if name is not None or "topic_id" not in row:
            return name
        return self._ids.get(row["topic_id"]) or exchange.topic_name(row["topic_id"])

    def _find_or_add_partition(self, name: str, number: int) -> _Partition:
        topic = self._topics.setdefault(name, _RecordedTopic())
        return topic.partitions.setdefault(number, _Partition())

    def _learn_from_metadata(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:  # noqa: ARG002
        for row in response["brokers"]:
            self._nodes[row["node_id"]] = MockNode(row["node_id"], row["host"], row["port"], row.get("rack"))
        self._cluster_id = response.get("cluster_id") or self._cluster_id
        if response.get("controller_id", -1) >= 0:
            self._controller = response["controller_id"]
        for row in response["topics"]:
            name = row["name"]
            if not name:
                continue
            if row["error_code"] == UNKNOWN_TOPIC_OR_PARTITION:
                self._absent.setdefault(name)
                self._refuses_to_create |= bool(request.get("allow_auto_topic_creation", True))
            if row["error_code"] or not row["partitions"]:
                continue
            topic = self._topics.setdefault(name, _RecordedTopic())
            if row.get("topic_id", _NO_ID) != _NO_ID:
                topic.id = row["topic_id"]
                self._ids[row["topic_id"]] = name
            topic.internal = bool(row.get("is_internal"))
            for each in row["partitions"]:
                partition = self._find_or_add_partition(name, each["partition_index"])
                if partition.leader is None and each["leader_id"] >= 0:
                    partition.leader = each["leader_id"]

    def _learn_from_describe_cluster(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:  # noqa: ARG002
        for row in response["brokers"] if response.get("endpoint_type", 1) == 1 else ():
            self._nodes.setdefault(row["broker_id"], MockNode(row["broker_id"], row["host"], row["port"], row["rack"]))
        self._cluster_id = response["cluster_id"] or self._cluster_id

    def _learn_from_produce(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:
        written = {
            (self._find_topic_name(exchange, topic), row["index"]): row["records"]
            for topic in request["topic_data"]
            for row in topic["partition_data"]
        }
        for topic in response["responses"]:
            name = self._find_topic_name(exchange, topic)
            for row in topic["partition_responses"]:
                data = written.get((name, row["index"]))
                if name is None or row["error_code"] or not data:
                    continue
                partition = self._find_or_add_partition(name, row["index"])
                at = row["base_offset"]
                if at < 0:
                    self.unplaced += 1
                    continue
                for batch in split_records_field_into_batches(data, partly=True):
                    count = batch.last_offset - batch.base_offset
                    batch.data = at.to_bytes(8, "big") + batch.data[8:]
                    batch.base_offset, batch.last_offset = at, at + count
                    partition.batches.append(batch)
                    at += count + 1

    def _learn_from_fetch(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:  # noqa: ARG002
        if exchange.api_version is None:
            return
        for topic in response["responses"]:
            name = self._find_topic_name(exchange, topic)
            if name is None or name == METADATA_TOPIC:
                continue
            for row in topic["partitions"]:
                if row["error_code"]:
                    continue
                partition = self._find_or_add_partition(name, row["partition_index"])
                partition.end = max(partition.end, row["high_watermark"])
                start = row.get("log_start_offset", -1)
                if start >= 0 and partition.start is None:
                    partition.start = start
                if row["records"]:
                    partition.batches += split_records_field_into_batches(row["records"], partly=True)

    def _learn_from_offset_fetch(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:
        groups = response.get("groups")
        for group in [{**response, "group_id": request["group_id"]}] if groups is None else groups:
            known = self._offsets.setdefault(group["group_id"], {})
            for topic in group["topics"]:
                name = self._find_topic_name(exchange, topic)
                for row in topic["partitions"]:
                    if name is None or row["error_code"]:
                        continue
                    offset = row["committed_offset"]
                    found = Committed(offset, row.get("committed_leader_epoch", -1), row["metadata"])
                    known.setdefault((name, row["partition_index"]), found if offset >= 0 else None)

    def _learn_from_offset_commit(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:  # noqa: ARG002
        """Note that partitions committed now had no offset when the recording began, unless one is known."""
        known = self._offsets.setdefault(request["group_id"], {})
        for topic in request["topics"]:
            name = self._find_topic_name(exchange, topic)
            for row in topic["partitions"]:
                if name is not None:
                    known.setdefault((name, row["partition_index"]), None)

    def _learn_from_find_coordinator(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:  # noqa: ARG002
        kind = request.get("key_type", 0)
        for row in response.get("coordinators", [{**response, "key": request.get("key", "")}]):
            if not row["error_code"]:
                self._coordinators[kind, row["key"]] = row["node_id"]
                if row["host"]:
                    self._nodes.setdefault(row["node_id"], MockNode(row["node_id"], row["host"], row["port"]))

    def _learn_from_sasl_handshake(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:  # noqa: ARG002
        if not response["error_code"]:
            self.mechanisms.setdefault(request["mechanism"])

    def _learn_from_end_txn(self, exchange: Exchange, request: RequestBody, response: ResponseBody) -> None:  # noqa: ARG002
        if not response["error_code"]:
            self._results[request["producer_id"]] = request["committed"]

    # what is reported at the start

    @property
    def unsupported_mechanisms(self) -> list[str]:
        """Recorded mechanisms that no mock can speak."""
        return [name for name in self.mechanisms if name not in TAKEN_MECHANISMS]

    def list_nodes(self) -> list[MockNode]:
        """The recorded nodes, by id; where there are none, the brokers that answered, numbered from 1."""
        if self._nodes:
            return [self._nodes[number] for number in sorted(self._nodes)]
        ends = [address.rpartition(":") for address in self._answering]
        return [MockNode(number, host, int(port)) for number, (host, _, port) in enumerate(ends, 1)]

    def build_cluster(self, nodes: Iterable[MockNode], *, calm: bool = False) -> MockCluster:
        """The recorded cluster, with these nodes; without the recorded errors if `calm`. Raises Refusal."""
        nodes = list(nodes)
        ids = {node.id for node in nodes}
        controller = self._controller if self._controller in ids else nodes[0].id
        made = MockCluster(nodes, self._cluster_id or "kw-mock", controller, auto_create=not self._refuses_to_create)
        for name, topic in self._topics.items():
            count = max(topic.partitions) + 1
            leaders = [_choose_leader(topic.partitions.get(number), nodes, number) for number in range(count)]
            added = made.add_topic(name, leaders, topic.id, internal=topic.internal)
            for number, partition in topic.partitions.items():
                log = added.logs[number]
                _fill_log_from_recording(log, partition, self._results)
                made.memory_used += log.size
        made.reserve_memory(0)
        made.absent = {name for name in self._absent if name not in self._topics}
        for group, offsets in self._offsets.items():
            for place, committed in offsets.items():
                if committed is not None:
                    made.commit_offset(group, place, committed)
        made.coordinators = {key: node for key, node in self._coordinators.items() if node in ids}
        made.mechanisms = list(self.mechanisms)
        made.errors = {} if calm else {place: deque(codes) for place, codes in self.errors.items()}
        made.next_producer_id = max((made.next_producer_id, *self._list_producer_ids()))
        return made

    def _list_producer_ids(self) -> Iterator[int]:
        for topic in self._topics.values():
            for partition in topic.partitions.values():
                yield from (batch.producer_id for batch in partition.batches)


def _choose_leader(partition: _Partition | None, nodes: list[MockNode], number: int) -> int:
    ids = [node.id for node in nodes]
    if partition is not None and partition.leader in ids:
        assert partition.leader is not None
        return partition.leader
    return ids[number % len(ids)]


def _fill_log_from_recording(log: PartitionLog, partition: _Partition, results: dict[int, bool]) -> None:
    """Put the recorded batches into a log, in order and each offset once; end the transactions that it leaves open."""
    # Of batches with the same first offset, the one that reaches furthest comes first.
    rows = sorted(partition.batches, key=lambda batch: (batch.base_offset, -batch.last_offset))
    first = rows[0].base_offset if rows else partition.end
    log.start = min(first, partition.start) if partition.start is not None else first
    log.end = log.start
    for batch in rows:
        if batch.base_offset >= log.end:
            log.add_batch(batch)
    log.extend_with_empty_batch(partition.end)
    for producer_id in list(log.open):
        epoch = max(batch.producer_epoch for batch in rows if batch.producer_id == producer_id)
        log.end_transaction(producer_id, epoch, 0, commit=results.get(producer_id, False))


# Name or topic id, number of a partition.
_Place = tuple[str | UUID, int]


def _find_request_subject(request: dict[str, Any]) -> str:
    """The group, transactional id or key that a whole request is about."""
    return next((request[name] for name in ("group_id", "transactional_id", "key") if request.get(name)), "")


def _find_error_codes(value: Any, name: str | UUID, number: int) -> Iterator[tuple[_Place, int]]:
    """Every error code in a body that is not 0, with the name and partition that it belongs to."""
    waiting: list[tuple[Any, str | UUID, int]] = [(value, name, number)]
    while waiting:
        value, name, number = waiting.pop()
        if isinstance(value, list):
            waiting += [(each, name, number) for each in value if isinstance(each, dict)]
            continue
        name = next((value[key] for key in (*_NAMES, "topic_id") if value.get(key)), name)
        number = next((value[key] for key in _NUMBERS if key in value), number)
        for key, each in value.items():
            if isinstance(each, dict | list):
                waiting.append((each, name, number))
            elif each and key.endswith("error_code"):
                yield (name, number), each
