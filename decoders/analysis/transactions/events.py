"""An exchange in, what it says of transactions out: events of a transactional id, markers, what coordinators tell.

A transaction begins with the first partition or group that is added to it: with AddPartitionsToTxn or AddOffsetsToTxn;
since KIP-890 with the first Produce or TxnOffsetCommit. EndTxn ends it, a new InitProducerId aborts it, and so does the
coordinator after transaction.timeout.ms. WriteTxnMarkers, between brokers, writes the end into the partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.exchange_facts import topic_of_element
from decoders.analysis.read_dimension_values import client_of, host_of
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in, structs_at, topic_array_paths
from decoders.limits import ASSIGNED_SHOWN_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    INIT_PRODUCER_ID,
    LIST_TRANSACTIONS,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    WRITE_TXN_MARKERS,
)
from decoders.records.summarize_records import read_batch_heads

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = [
    "COORDINATED",
    "FENCING",
    "DescribedTransaction",
    "TransactionEvent",
    "read_described_transactions",
    "read_markers",
    "transaction_events_of",
    "transaction_paths",
]

# APIs that only the coordinator of a transaction answers without an error.
COORDINATED: Final = frozenset(
    {INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, DESCRIBE_TRANSACTIONS}
)
# Errors that shut a producer out: INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED.
FENCING: Final = frozenset({47, 49, 90})
# The first versions of requests that only transactions of KIP-890 have.
_IMPLICIT: Final = {PRODUCE: 12, TXN_OFFSET_COMMIT: 5, END_TXN: 5}
# From this version on AddPartitionsToTxn is a request of brokers, for producers.
_BY_BROKERS: Final = 4
UNKNOWN: Final = -1

Partitions = tuple[tuple[str, tuple[int, ...]], ...]


class TransactionEvent(NamedTuple):
    """Something that a producer, or a broker for it, did for a transaction.

    `time_ns`: of the answer, of the request where there is none; `asked_ns`: of the request. `error`: 0 if accepted,
    -1 if the answer is not known. What is not known is -1.

    | kind | detail |
    | --- | --- |
    | `initialized` | timeout in ms, producer id and epoch given, producer id of a transaction that is kept |
    | `partitions added` | each topic with its partitions |
    | `offsets added` | group |
    | `produced` | topic, partition, first and last offset, records, bytes |
    | `offsets committed` | group, each topic with its partitions |
    | `ended` | whether it commits, producer id and epoch for the next transaction |
    | `marker` | whether it commits, address of the broker, each topic with its partitions |
    """

    time_ns: int
    kind: str
    api_key: int
    asked_ns: int
    version: int
    producer_id: int
    epoch: int
    client: str
    address: str
    error: int
    detail: tuple[Any, ...]

    @property
    def by_broker(self) -> bool:
        """Whether a broker sent it, for a producer."""
        return self.kind == "marker" or (self.api_key == ADD_PARTITIONS_TO_TXN and self.version >= _BY_BROKERS)

    @property
    def is_implicit(self) -> bool:
        """Whether only a transaction that adds partitions without a request of its own (KIP-890) has such an event."""
        return self.version >= _IMPLICIT.get(self.api_key, self.version + 1)


class DescribedTransaction(NamedTuple):
    """What a coordinator tells of a transaction: DescribeTransactions, ListTransactions (the first five alone)."""

    time_ns: int
    state: str
    producer_id: int
    broker: str
    whole: bool
    epoch: int = UNKNOWN
    timeout_ms: int = UNKNOWN
    started_ms: int = UNKNOWN
    partitions: Partitions = ()


Found = Iterator[tuple[str, TransactionEvent]]


class _TransactionExchange:
    """The parts of an exchange that all readers below use."""

    __slots__ = ("answer", "answered", "asked_ns", "exchange", "key", "request", "time_ns", "version", "who")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        request, answer = exchange.view("request"), exchange.view("response")
        self.request: Mapping[str, Any] = request if isinstance(request, dict) else {}
        self.answer: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        self.answered = exchange.response_ns is not None and bool(self.answer)
        self.key, self.version = exchange.api_key or 0, exchange.api_version or 0
        info = exchange.connection_info
        self.who = client_of(exchange.client_id, info.client), host_of(info.client)
        self.asked_ns = exchange.time_ns
        self.time_ns = exchange.response_ns or exchange.time_ns

    @property
    def error(self) -> int:
        """The error of the whole answer."""
        return int(self.answer.get("error_code") or 0) if self.answered else UNKNOWN

    def make_event(self, kind: str, producer_id: Any, epoch: Any, error: int, *detail: Any) -> TransactionEvent:
        """An event of the exchange."""
        producer = int_or_unknown(producer_id), int_or_unknown(epoch)
        return TransactionEvent(
            self.time_ns, kind, self.key, self.asked_ns, self.version, *producer, *self.who, error, detail
        )


def int_or_unknown(value: Any) -> int:
    """An integer of a body; -1 where a side ends before it."""
    return value if isinstance(value, int) else UNKNOWN


def _partitions_by_topic(pairs: Iterable[tuple[str | None, Any]]) -> Partitions:
    """Partitions by topic, both in order, at most ASSIGNED_SHOWN_MAX in all."""
    found: dict[str, set[int]] = {}
    for topic, number in pairs:
        if topic and isinstance(number, int):
            found.setdefault(topic, set()).add(number)
    left, made = ASSIGNED_SHOWN_MAX, []
    for topic, numbers in sorted(found.items()):
        made.append((topic, tuple(sorted(numbers)[:left])))
        left -= len(made[-1][1])
    return tuple(made)


def _events_of_initialization(its: _TransactionExchange) -> Found:
    request, answer = its.request, its.answer
    name = request.get("transactional_id")
    if name:
        yield (
            str(name),
            its.make_event(
                *("initialized", request.get("producer_id"), request.get("producer_epoch"), its.error),
                int_or_unknown(request.get("transaction_timeout_ms")),
                int_or_unknown(answer.get("producer_id")),
                int_or_unknown(answer.get("producer_epoch")),
                int_or_unknown(answer.get("ongoing_txn_producer_id")),
            ),
        )


def _events_of_added_partitions(its: _TransactionExchange) -> Found:
    """Partitions that are added, and those that are refused; a broker that only asks whether they are adds none."""
    request, answer = its.request, its.answer
    codes: dict[tuple[str, str, Any], int] = {}
    for result in structs_at(answer, "results_by_transaction"):
        for topic in structs_at(result, "topic_results"):
            for part in structs_at(topic, "results_by_partition"):
                where = str(result.get("transactional_id")), str(topic.get("name")), part.get("partition_index")
                codes[where] = part.get("partition_error_code") or 0
    alone = str(request.get("v3_and_below_transactional_id") or "")
    for topic in structs_at(answer, "results_by_topic_v3_and_below"):
        for part in structs_at(topic, "results_by_partition"):
            codes[alone, str(topic.get("name")), part.get("partition_index")] = part.get("partition_error_code") or 0
    asked = [each for each in structs_at(request, "transactions") if not each.get("verify_only")]
    whole = [
        (each.get("transactional_id"), each.get("producer_id"), each.get("producer_epoch"), each.get("topics"))
        for each in asked
    ]
    if alone:
        prefix = "v3_and_below_"
        pid, epoch, topics = (request.get(prefix + name) for name in ("producer_id", "producer_epoch", "topics"))
        whole.append((alone, pid, epoch, topics))
    for name, producer_id, epoch, topics in whole:
        by_error: dict[int, list[tuple[str | None, Any]]] = {}
        for topic in structs_at({"topics": topics}, "topics"):
            for number in topic.get("partitions") or ():
                code = codes.get((str(name), str(topic.get("name")), number), its.error)
                by_error.setdefault(code, []).append((topic.get("name"), number))
        for code, pairs in by_error.items():
            yield (
                str(name),
                its.make_event("partitions added", producer_id, epoch, code, *_partitions_by_topic(pairs)),
            )


def _events_of_added_offsets(its: _TransactionExchange) -> Found:
    request = its.request
    who = request.get("producer_id"), request.get("producer_epoch")
    yield (
        str(request.get("transactional_id") or ""),
        its.make_event("offsets added", *who, its.error, str(request.get("group_id") or "")),
    )


def _events_of_produce(its: _TransactionExchange) -> Found:
    name = its.request.get("transactional_id")
    if not name:
        return
    asked, answered = TOPIC_ARRAYS[PRODUCE]
    given = {
        (topic_of_element(its.exchange, element), part.get(answered.number)): (
            part.get(answered.error) or 0,
            part.get(answered.offset, UNKNOWN),
        )
        for element, part in partitions_in(its.answer, answered)
    }
    for element, part in partitions_in(its.request, asked):
        topic, number = topic_of_element(its.exchange, element), part.get(asked.number)
        heads = list(read_batch_heads(part.get(asked.records), its.exchange.request_raw))
        if topic is None or not isinstance(number, int) or not heads:
            continue
        error, base = given.get((topic, number), (UNKNOWN, UNKNOWN))
        count = sum(head.offset_count for head in heads)
        last = base + count - 1 if base >= 0 else UNKNOWN
        size, records = sum(head.size for head in heads), sum(head.records for head in heads)
        detail = (topic, number, base, last, records, size)
        yield str(name), its.make_event("produced", heads[0].producer_id, heads[0].producer_epoch, error, *detail)


def _events_of_committed_offsets(its: _TransactionExchange) -> Found:
    request = its.request
    asked, answered = TOPIC_ARRAYS[TXN_OFFSET_COMMIT]
    codes = {part.get(answered.error) or 0 for _, part in partitions_in(its.answer, answered)}
    pairs = (
        (topic_of_element(its.exchange, each), part.get(asked.number)) for each, part in partitions_in(request, asked)
    )
    who = request.get("producer_id"), request.get("producer_epoch")
    group, places = str(request.get("group_id") or ""), _partitions_by_topic(pairs)
    error = max(codes, default=0) if its.answered else UNKNOWN
    yield (
        str(request.get("transactional_id") or ""),
        its.make_event("offsets committed", *who, error, group, *places),
    )


def _events_of_end(its: _TransactionExchange) -> Found:
    request, answer = its.request, its.answer
    following = int_or_unknown(answer.get("producer_id")), int_or_unknown(answer.get("producer_epoch"))
    who = request.get("producer_id"), request.get("producer_epoch")
    yield (
        str(request.get("transactional_id") or ""),
        its.make_event("ended", *who, its.error, bool(request.get("committed")), *following),
    )


_READERS: Final[dict[int, Callable[[_TransactionExchange], Found]]] = {
    PRODUCE: _events_of_produce,
    INIT_PRODUCER_ID: _events_of_initialization,
    ADD_PARTITIONS_TO_TXN: _events_of_added_partitions,
    ADD_OFFSETS_TO_TXN: _events_of_added_offsets,
    END_TXN: _events_of_end,
    TXN_OFFSET_COMMIT: _events_of_committed_offsets,
}


def transaction_events_of(exchange: Exchange) -> Found:
    """Each event in an exchange, with the transactional id."""
    reader = _READERS.get(exchange.api_key if exchange.api_key is not None else UNKNOWN)
    if reader is not None:
        yield from ((name, event) for name, event in reader(_TransactionExchange(exchange)) if name)


def read_markers(exchange: Exchange) -> Iterator[TransactionEvent]:
    """The markers of a WriteTxnMarkers, each with the error of its partitions, by producer id alone."""
    its = _TransactionExchange(exchange)
    codes: dict[tuple[Any, Any, Any], int] = {}
    for marker in structs_at(its.answer, "markers"):
        for topic in structs_at(marker, "topics"):
            for part in structs_at(topic, "partitions"):
                codes[marker.get("producer_id"), topic.get("name"), part.get("partition_index")] = (
                    part.get("error_code") or 0
                )
    for marker in structs_at(its.request, "markers"):
        producer_id = marker.get("producer_id")
        by_error: dict[int, list[tuple[str | None, Any]]] = {}
        for topic in structs_at(marker, "topics"):
            for number in topic.get("partition_indexes") or ():
                code = codes.get((producer_id, topic.get("name"), number), UNKNOWN)
                by_error.setdefault(code, []).append((topic.get("name"), number))
        for code, pairs in by_error.items():
            detail = (
                bool(marker.get("transaction_result")),
                exchange.connection_info.broker,
                *_partitions_by_topic(pairs),
            )
            yield its.make_event("marker", producer_id, marker.get("producer_epoch"), code, *detail)


def read_described_transactions(exchange: Exchange) -> Iterator[tuple[str, DescribedTransaction]]:
    """What an answer to DescribeTransactions or ListTransactions tells of each transactional id."""
    answer, broker = exchange.view("response"), exchange.connection_info.broker
    time_ns, whole = exchange.response_ns or exchange.time_ns, exchange.api_key == DESCRIBE_TRANSACTIONS
    for row in structs_at(answer, "transaction_states"):
        name, state = row.get("transactional_id"), row.get("transaction_state")
        if not name or not state or row.get("error_code"):
            continue
        pairs = (
            (topic.get("topic"), number)
            for topic in structs_at(row, "topics")
            for number in topic.get("partitions") or ()
        )
        pid, epoch = int_or_unknown(row.get("producer_id")), int_or_unknown(row.get("producer_epoch"))
        timeout = int_or_unknown(row.get("transaction_timeout_ms"))
        started = int_or_unknown(row.get("transaction_start_time_ms"))
        yield (
            str(name),
            DescribedTransaction(
                time_ns, str(state), pid, broker, whole, epoch, timeout, started, _partitions_by_topic(pairs)
            ),
        )


_PRODUCER: Final = ("transactional_id", "producer_id", "producer_epoch")
_RESULTS: Final = ("name", "results_by_partition[].partition_index", "results_by_partition[].partition_error_code")
_PATHS: Final[dict[tuple[int, str], tuple[str, ...]]] = {
    (PRODUCE, "request"): ("transactional_id",),
    (INIT_PRODUCER_ID, "request"): (*_PRODUCER, "transaction_timeout_ms"),
    (INIT_PRODUCER_ID, "response"): ("error_code", "producer_id", "producer_epoch", "ongoing_txn_producer_id"),
    (ADD_PARTITIONS_TO_TXN, "request"): (
        *(f"v3_and_below_{name}" for name in (*_PRODUCER, "topics")),
        "transactions",
    ),
    (ADD_PARTITIONS_TO_TXN, "response"): (
        "error_code",
        "results_by_transaction",
        *(f"results_by_topic_v3_and_below[].{name}" for name in _RESULTS),
    ),
    (ADD_OFFSETS_TO_TXN, "request"): (*_PRODUCER, "group_id"),
    (ADD_OFFSETS_TO_TXN, "response"): ("error_code",),
    (END_TXN, "request"): (*_PRODUCER, "committed"),
    (END_TXN, "response"): ("error_code", "producer_id", "producer_epoch"),
    (WRITE_TXN_MARKERS, "request"): ("markers",),
    (WRITE_TXN_MARKERS, "response"): ("markers",),
    (TXN_OFFSET_COMMIT, "request"): (*_PRODUCER, "group_id"),
    (DESCRIBE_TRANSACTIONS, "response"): ("transaction_states",),
    (LIST_TRANSACTIONS, "response"): ("transaction_states",),
}


def transaction_paths(api_key: int, side: Side) -> frozenset[str]:
    """The paths that the functions above read of a side of an API."""
    mine = frozenset(_PATHS.get((api_key, side), ()))
    return mine | topic_array_paths(api_key, side) if api_key in (PRODUCE, TXN_OFFSET_COMMIT) else mine
