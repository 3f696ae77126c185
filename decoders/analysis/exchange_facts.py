"""An exchange in, facts about it out: its records and bytes by topic, how long it waited by design, its error codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import add
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.partitions_in_exchange import partition_number_of_struct
from decoders.exchanges.topic_arrays import BATCH_ARRAYS, batch_array, partitions_in
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, JOIN_GROUP, SHARE_FETCH, SYNC_GROUP
from decoders.records.summarize_records import summarize_records_of_view, summarize_sole_batch
from decoders.schema.api_declaration import Side, Versions
from decoders.wire.primitive_types import format_uuid

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000
# APIs whose answers may wait for records.
FETCHES: Final = frozenset({FETCH, SHARE_FETCH})
# The replica id of a Fetch that no broker sends.
CONSUMER: Final = -1
# APIs whose answers wait until the other members of the group have asked too. An answer with one of these codes has
# waited: 0, or REBALANCE_IN_PROGRESS where the group begins anew meanwhile. All other errors are answered at once.
GATHERINGS: Final = frozenset({JOIN_GROUP, SYNC_GROUP})
_GATHERED: Final = (0, 27)
WAITING: Final = FETCHES | GATHERINGS


TOPIC_FIELDS: Final = ("name", "topic", "topic_name", "topic_id")
RECORDS: Final = Needs(
    {
        (key, array.side): [
            f"{array.records_path}:span",
            *(
                f"{array.topics}[].{field.name}"
                for outer in api(key).message(array.side).fields
                if outer.name == array.topics
                for field in outer.fields
                if field.name in TOPIC_FIELDS
            ),
        ]
        for key, array in BATCH_ARRAYS.items()
    }
)
WAITS: Final = Needs(
    {(key, "request"): ["max_wait_ms"] for key in FETCHES}
    | {(key, "response"): [f"{BATCH_ARRAYS[key].records_path}:span"] for key in FETCHES}
    | {(key, "response"): ["error_code"] for key in GATHERINGS}
)
# A wait shorter than this says nothing.
WAIT_MIN_MS: Final = 2

_STEP: Final = re.compile(r"(\w+)\[(\d+)\]")


# Brokers whose latest answers are kept.
_BROKERS_MAX: Final = 1024
# What is read of an answer to ApiVersions.
OFFERED: Final = frozenset(
    {"error_code", *(f"api_keys[].{name}" for name in ("api_key", "min_version", "max_version"))}
)

# A topic, None for none, and the number of one of its partitions, None for all of them.
Partition = tuple[str | None, int | None]


class RecordTotals(NamedTuple):
    """The totals of records fields: batches, records, bytes on the wire."""

    batches: int
    records: int
    size: int


def record_totals_of_exchange(exchange: Exchange, topic: str | None = None) -> RecordTotals | None:
    """Totals of the records that an exchange carries, those of one topic if it is given; None without records."""
    batches = records = size = 0
    for element, _, its in _iterate_record_totals(exchange):
        if topic is None or topic_of_element(exchange, element) == topic:
            batches += its.batches
            records += its.records
            size += its.size
    return RecordTotals(batches, records, size) if size else None


def record_totals_by_partition(exchange: Exchange) -> dict[Partition, RecordTotals]:
    """Totals of the records that an exchange carries, for each partition that has any."""
    found: dict[Partition, RecordTotals] = {}
    for element, number, its in _iterate_record_totals(exchange):
        if its.size:
            where = topic_of_element(exchange, element), number
            before = found.get(where)
            found[where] = RecordTotals(*map(add, before, its)) if before else its
    return found


def _iterate_record_totals(exchange: Exchange) -> Iterator[tuple[dict[str, Any], int | None, RecordTotals]]:
    """For each partition that may carry records: the element about its topic, its number, its totals."""
    array = batch_array(exchange.api_key)
    if array is None:
        return
    raw = exchange.raw(array.side)
    for element, part in partitions_in(exchange.view(array.side), array):
        yield element, part.get(array.number), _total_records_field(raw, part.get(array.records))


class ExchangeFacts:
    """The facts that several folds ask of one exchange: each is found when it is first asked, and kept in the exchange.

    None: not asked so far. A report has twelve folds, of which seven ask for topics, six for waits, and three for the
    versions that brokers offer.
    """

    __slots__ = (
        "groups",
        "is_wait_known",
        "named_topics",
        "offered_versions",
        "topics",
        "transactional_ids",
        "waited_ns",
    )

    def __init__(self) -> None:
        self.topics: Sequence[str | None] | None = None  # as the bodies name them
        self.named_topics: list[str] | None = None  # each once, by the names that are known
        self.groups: list[str] | None = None  # each once
        self.transactional_ids: list[str] | None = None  # each once
        self.offered_versions: dict[int, Versions] | None = None  # by API key
        self.is_wait_known = False
        self.waited_ns: int | None = None  # also None where the exchange did not wait


def facts_of_exchange(exchange: Exchange) -> ExchangeFacts:
    """The facts that folds share of an exchange."""
    try:
        found: ExchangeFacts = exchange._facts
    except AttributeError:
        found = exchange._facts = ExchangeFacts()
    return found


def waited_ns(exchange: Exchange) -> int | None:
    """How long an answer took that waited by design, in ns; None for any other answer.

    Two kinds wait: fetches that a broker answers empty because their time is over (inferred: it took 0.9 × max_wait_ms
    or more, and no records came); and JoinGroup and SyncGroup, which wait for the other members of the group.
    """
    facts = facts_of_exchange(exchange)
    if not facts.is_wait_known:
        facts.waited_ns, facts.is_wait_known = _compute_wait_by_design_ns(exchange), True
    return facts.waited_ns


def _compute_wait_by_design_ns(exchange: Exchange) -> int | None:
    if exchange.response_ns is None or exchange.request_end_ns is None:
        return None
    took = exchange.response_ns - exchange.request_end_ns
    if exchange.api_key in GATHERINGS:
        response = exchange.view("response")
        return took if isinstance(response, dict) and response.get("error_code") in _GATHERED else None
    request = exchange.view("request")
    most = request.get("max_wait_ms") if isinstance(request, dict) else None
    if most is None or most < WAIT_MIN_MS or 10 * took < 9 * most * NS_PER_MS:
        return None
    return None if _carries_records(exchange) else took


def _carries_records(exchange: Exchange) -> bool:
    array = batch_array(exchange.api_key)
    return array is not None and any(
        not _has_no_records(part.get(array.records)) for _, part in partitions_in(exchange.view("response"), array)
    )


def error_codes_about(exchange: Exchange, topic: str | None) -> list[int]:
    """The error codes of the response that count as errors; of a topic, those about it and those about no topic."""
    if topic is None:
        return [code for _, code in exchange.unexpected]
    view = exchange.view("response")
    return [code for path, code in exchange.unexpected if _topic_on_path(exchange, view, path) in (topic, None)]


def error_codes_by_partition(exchange: Exchange, *, all_codes: bool = False) -> dict[Partition, list[int]]:
    """The error codes of the response that count as errors, by topic and partition; None: no topic, no partition.

    With `all_codes` those too that the protocol means so.
    """
    view = exchange.view("response")
    found: dict[Partition, list[int]] = {}
    for path, code in (exchange._error_codes or ()) if all_codes else exchange.unexpected:
        found.setdefault((_topic_on_path(exchange, view, path), _partition_on_path(view, path)), []).append(code)
    return found


def topics_of_error_codes(exchange: Exchange) -> list[str | None]:
    """For each error code of the response the topic that it is about; None for a code about no topic."""
    view = exchange.view("response")
    return [_topic_on_path(exchange, view, path) for path, _ in exchange._error_codes or ()]


def throttle_ns(exchange: Exchange) -> int:
    """The throttle time in the response, in ns; 0 where there is none."""
    view = exchange._response_view if exchange._looked else exchange.view("response")
    ms = view.get("throttle_time_ms") if isinstance(view, dict) else None
    return ms * NS_PER_MS if ms and isinstance(ms, int) and ms > 0 else 0


def throttle_paths(api_key: int, side: Side) -> frozenset[str]:
    """The path of the throttle time in responses of an API; empty for requests."""
    if side == "request" or api_key not in NAMES:
        return frozenset()
    return frozenset(field.name for field in api(api_key).response.fields if field.name == "throttle_time_ms")


def view_or_empty(exchange: Exchange, side: Side) -> dict[str, Any]:
    """The fields of a body that were asked for; empty where there is no body, or none that can be read."""
    if not exchange._looked:
        exchange._read_sides()
    view = exchange._request_view if side == "request" else exchange._response_view
    return view if isinstance(view, dict) else {}


def replica_id_of_fetch(request: dict[str, Any]) -> int:
    """The node id of the broker that fetches; CONSUMER: a consumer fetches."""
    state = request.get("replica_state")
    found = state.get("replica_id", CONSUMER) if isinstance(state, dict) else request.get("replica_id", CONSUMER)
    return int(found)


def topic_of_element(exchange: Exchange, element: Any) -> str | None:
    """The topic that an element of a body is about."""
    for name in TOPIC_FIELDS:
        value = element.get(name)
        if value:
            return value if value.__class__ is str else topic_named_by(exchange, value)
    return None


def topic_named_by(exchange: Exchange, value: Any) -> str | None:
    """The topic that a field names, by its name or its id."""
    if isinstance(value, UUID):
        return topic_by_id(exchange, value)
    return str(value) if value else None


def topic_by_id(exchange: Exchange, identity: UUID) -> str | None:
    """The name of a topic by its id; the id itself where the capture had not shown the name; None for the zero id."""
    if not identity.int:
        return None
    return exchange.topic_name(identity) or format_uuid(identity.bytes)


def _topic_on_path(exchange: Exchange, view: Any, path: str) -> str | None:
    """The topic of the element that a path begins with."""
    match = _STEP.match(path)
    elements = view.get(match[1]) if match and isinstance(view, dict) else None
    if match is None or not isinstance(elements, list) or int(match[2]) >= len(elements):
        return None
    element = elements[int(match[2])]
    return topic_of_element(exchange, element) if isinstance(element, dict) else None


def _partition_on_path(view: Any, path: str) -> int | None:
    """The number of the partition that the innermost struct on a path is about."""
    number = None
    for name, index in _STEP.findall(path):
        inner = view.get(name) if isinstance(view, dict) else None
        view = inner[int(index)] if isinstance(inner, list) and int(index) < len(inner) else None
        found = partition_number_of_struct(view) if isinstance(view, dict) else None
        number = number if found is None else found
    return number


def _has_no_records(records: Any) -> bool:
    return not records or (records.__class__ is tuple and not records[1])


def _total_records_field(raw: bytes | None, records: Any) -> RecordTotals:
    if records.__class__ is tuple and raw is not None:
        at, size = records
        alone = summarize_sole_batch(raw, at, size, verify_checksum=True)
        if alone is not None:
            return RecordTotals(1, alone[0], size)
    found = summarize_records_of_view(records, raw, verify_checksums=True)
    return RecordTotals(found.batches, found.records, found.size) if found is not None else RecordTotals(0, 0, 0)


class OfferedVersions:
    """An exchange in, the versions of an answer to ApiVersions out, where its broker has not offered the same before.

    Clients ask at the begin of each connection, and a broker's answers of eighty versions are the same again and again.
    """

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        self._latest: dict[str, dict[int, Versions]] = {}  # by broker

    def read_changed_offer(self, exchange: Exchange) -> Iterable[tuple[int, Versions]]:
        """API keys and versions that the broker offers, if its latest answer was not the same; else nothing."""
        if exchange.api_key != API_VERSIONS:
            return ()
        facts = facts_of_exchange(exchange)
        found = facts.offered_versions
        if found is None:
            found = facts.offered_versions = _find_offered_versions(exchange)
        broker = exchange.connection_info.broker
        if self._latest.get(broker) == found:
            return ()
        if len(self._latest) >= _BROKERS_MAX:
            self._latest.clear()
        self._latest[broker] = found
        return found.items()


def _find_offered_versions(exchange: Exchange) -> dict[int, Versions]:
    """API key → versions that an answer to ApiVersions offers; empty for an answer with an error."""
    answer = exchange.view("response")
    found: dict[int, Versions] = {}
    if isinstance(answer, dict) and not answer.get("error_code"):
        for row in answer.get("api_keys") or ():
            number, low, high = row.get("api_key"), row.get("min_version"), row.get("max_version")
            if isinstance(number, int) and isinstance(low, int) and isinstance(high, int) and 0 <= low <= high:
                found[number] = Versions(low, high)
    return found
