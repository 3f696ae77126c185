"""Exchanges of one API in, observations of their bodies out, beyond latency and outcome: a function for each API."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.groups.observe_members import observe_assignment, observe_subscription
from decoders.analysis.doctor.groups.observe_share_locks import (
    observe_acknowledged_records,
    observe_acquired_records,
    observe_delivery_limit,
)
from decoders.analysis.doctor.groups.pending_revocations import HEARTBEAT_PATHS, observe_assigned_partitions
from decoders.analysis.doctor.ids_and_logins.observe_addresses import (
    observe_coordinator,
    observe_described_cluster,
)
from decoders.analysis.doctor.ids_and_logins.observe_ids_and_logins import (
    mark_member_alive,
    observe_deleted_topics,
    observe_group_heartbeat,
    observe_group_leave,
    observe_login,
    observe_new_credentials,
    observe_producer_start,
    observe_sasl_handshake,
    observe_transaction_begin,
    observe_transaction_end,
)
from decoders.analysis.doctor.moves.fenced_brokers import observe_broker_heartbeat
from decoders.analysis.doctor.moves.observe_moves import (
    observe_begun_moves,
    observe_changed_configs,
    observe_listed_moves,
)
from decoders.analysis.doctor.moves.observe_partitions import (
    observe_leader_epochs,
    observe_metadata,
    observe_replicas_in_sync,
)
from decoders.analysis.doctor.observe_odd_bytes import observe_refused_batches
from decoders.analysis.doctor.observe_positions import (
    observe_committed_offsets,
    observe_fetched_offsets,
    observe_held_records,
    observe_listed_offsets,
    observe_position_out_of_range,
    observe_transactional_batch,
    observe_unseen_records,
)
from decoders.analysis.doctor.records.damaged_batches import observe_damaged_batch
from decoders.analysis.doctor.records.early_timestamps import EARLIEST_MS, observe_early_timestamp
from decoders.analysis.doctor.refused.explain_expired_transactions import observe_abort_markers
from decoders.analysis.doctor.refused.explain_foreign_nodes import INCONSISTENT_CLUSTER_ID
from decoders.analysis.doctor.refused.observe_changes import CHANGING, observe_changes
from decoders.analysis.doctor.refused.observe_refusals import FETCH_OF_ZSTD, TOO_LARGE, UNSUPPORTED_COMPRESSION
from decoders.analysis.doctor.resent_batches import make_evidence_of_exchange
from decoders.analysis.doctor.topology.observe_topology import (
    observe_created_topics,
    observe_rack_of_client,
    observe_streams_heartbeat,
)
from decoders.analysis.exchange_facts import (
    CONSUMER,
    NS_PER_MS,
    NS_PER_S,
    WAIT_MIN_MS,
    error_codes_by_partition,
    replica_id_of_fetch,
    topic_of_element,
)
from decoders.analysis.groups.share_deliveries import share_delivery_paths
from decoders.analysis.read_dimension_values import host_of
from decoders.exchanges.topic_arrays import structs_at, topic_array_paths
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    ADD_PARTITIONS_TO_TXN,
    ALTER_CONFIGS,
    ALTER_PARTITION,
    ALTER_USER_SCRAM_CREDENTIALS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LEADER_AND_ISR,
    LEAVE_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    SYNC_GROUP,
    WRITE_TXN_MARKERS,
)
from decoders.records.summarize_records import BatchHead, read_batch_heads

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["BODY_OBSERVERS", "BodyObserver"]

# In: an exchange of which both sides were looked at, and its client's name. Out: all topics that it names, where the
# function has read them anyhow; else None.
Observe = Callable[["Observations", "Exchange", str], "list[str] | None"]
# FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH.
_SESSION_LOST: Final = (70, 71)
_INVALID_TIMESTAMP: Final = 32
_OUT_OF_ORDER: Final = 45
_OUT_OF_RANGE: Final = 1
_READ_COMMITTED: Final = 1
_STABLE: Final = "last_stable_offset"
# Of the checksums of batches, one in eight has none of these bits.
_SAMPLED: Final = 7
_METADATA_LOG: Final = "__cluster_metadata"
# Ranges of offsets: the names of how many there are, of their begin and of their end.
_ACCEPTED: Final = ("accepted", "accepted-from", "accepted")
_GOT: Final = ("got", "got-from", "got")
_READ: Final = ("offsets", "start", "end")
# Answers that come sooner do not keep other requests waiting.
_IN_FLIGHT_NS: Final = NS_PER_MS
# Fetches without records are answered sooner only if there was nothing to wait for.
_AT_ONCE_NS: Final = 20 * NS_PER_MS


class BodyObserver(NamedTuple):
    """The function that observes exchanges of an API, and the paths that it reads of each side.

    `partitions_of`: the API key, where it also reads the paths that the table of topics and partitions has of the API.
    """

    observe: Observe
    request: tuple[str, ...] = ()
    response: tuple[str, ...] = ()
    partitions_of: int | None = None

    def needs(self, side: Side) -> frozenset[str]:
        """The paths read of a side."""
        named = frozenset(self.request if side == "request" else self.response)
        return named if self.partitions_of is None else named | topic_array_paths(self.partitions_of, side)


def _observe_produce(seen: Observations, exchange: Exchange, client: str) -> list[str]:  # noqa: C901  # one loop, few calls
    raw, time_ns = exchange.request_raw, exchange.time_ns
    now_ms = time_ns // NS_PER_MS
    answered = exchange.outcome != "no_response_expected"
    # DUPLICATE_SEQUENCE_NUMBER is no error to clients, but says that the batch is not stored.
    refused = error_codes_by_partition(exchange, all_codes=True) if exchange._error_codes else {}
    ended, begun = exchange.response_ns, exchange.request_end_ns
    if ended is not None and begun is not None and ended - begun >= _IN_FLIGHT_NS:
        _observe_in_flight(seen, exchange, client, ended)
    topics: list[str] = []
    packed_refused = False
    offsets = _read_offsets_of_answer(exchange._response_view) if answered else {}
    tried = make_evidence_of_exchange(exchange), exchange.response_ns
    request = exchange._request_view
    transactional = request.get("transactional_id") if isinstance(request, dict) else None
    if transactional and not refused:
        seen.get_or_make("transaction-begun", transactional).mark_second(time_ns)
    for element in structs_at(request, "topic_data"):
        named = element.get("name") or element.get("topic_id")
        topic = named if named.__class__ is str else topic_of_element(exchange, element)
        if topic:
            topics.append(topic)
        writes: Observation | None = None
        batches = records = plain = 0
        for part in structs_at(element, "partition_data"):
            size = 0
            number = part.get("index")
            place = topic, number
            its = seen.produced.get((client, topic, number)) or seen.make_produced_partition(client, topic, number)
            writes = its.writes
            code = max(refused.get(place, (0,))) if refused else 0
            offset = offsets.get((named, number), -1)
            for head in read_batch_heads(part.get("records"), raw):
                magic, codec, count, its_size, _, _, newest, sound, producer, epoch, sequence, crc, offset_count, _ = (
                    head
                )
                size += its_size
                batches += 1
                records += count
                if answered:
                    if sound:  # else its header may say anything
                        seen.sent.add_try(head, client, place, code, tried, offset)
                    if transactional:
                        writer = seen.get_or_make("transactional", topic, number, producer)
                        observe_transactional_batch(writer, transactional, client, (time_ns, epoch, offset))
                    if offset >= 0 or producer >= 0:
                        taken = its.taken
                        if taken is None or its.producer != producer:
                            taken = its.taken = seen.get_or_make("sequence", client, topic, number, producer)
                            its.producer = producer
                        if producer >= 0:
                            _observe_sequence(taken, exchange, code, sequence, count)
                        if offset >= 0:
                            taken.add_range(_ACCEPTED, offset, offset + offset_count)
                            offset += offset_count
                if crc is not None and not crc & _SAMPLED and magic == 2 and not code and topic and raw is not None:
                    seen.sampled_keys.add_batch(seen, client, (topic, number), raw, head)
                if codec == "none":
                    plain += its_size
                elif codec == "zstd" and (its.zstd_ns < 0 or time_ns < its.zstd_ns):
                    its.zstd_ns = time_ns
                    seen.get_or_make("zstd-written", topic, client).count_occurrence_at(time_ns)
                if code or magic < 2 or not sound or newest is None or not EARLIEST_MS <= newest <= now_ms:
                    packed_refused |= _observe_batch_head(seen, exchange, client, place, (head, code))
            if size and number is not None:
                sizes = its.sizes
                if sizes is not None and its.name in sizes:
                    sizes[its.name] += size
                else:
                    its.sizes = seen.get_or_make("skew", topic).count_name("partitions", its.name, size)
        writes = writes or seen.get_or_make("produce", client, topic)
        writes.count_exchange(exchange)
        if writes.most.get("second") != time_ns // NS_PER_S:  # most come many to a second
            writes.mark_second(time_ns)
        if batches:
            _add_written_totals(writes.sums, batches, records, plain)
    if packed_refused:
        observe_refused_batches(seen, exchange, client)
    return topics


def _add_written_totals(sums: dict[str, int], batches: int, records: int, plain: int) -> None:
    """Add to the sums of what a producer wrote to a topic; `plain`: bytes of batches without compression."""
    sums["batches"] = sums.get("batches", 0) + batches
    sums["records"] = sums.get("records", 0) + records
    if plain:
        sums["plain"] = sums.get("plain", 0) + plain


def _observe_in_flight(seen: Observations, exchange: Exchange, client: str, ended: int) -> None:
    """Observe a request whose answer took so long that others may have had to wait."""
    info = exchange.connection_info
    its = seen.get_or_make("in-flight", client, info.client, info.broker)
    its.count_exchange(exchange)
    its.add_to_sum("took", ended - (exchange.request_end_ns or ended))
    its.keep_greatest("ended", ended)


def _read_offsets_of_answer(answer: Any) -> dict[tuple[Any, Any], int]:
    """Topic, by the name or the id that both sides have, and partition → the offset at which a Produce was written."""
    offsets: dict[tuple[Any, Any], int] = {}
    for element in structs_at(answer, "responses"):
        named = element.get("name") or element.get("topic_id")
        for part in structs_at(element, "partition_responses"):
            if not part.get("error_code"):
                offsets[named, part.get("index")] = part.get("base_offset", -1)
    return offsets


def _observe_batch_head(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any], batch: tuple[BatchHead, int]
) -> bool:
    """Observe the format, checksum and time stamp of a batch, answered with an error code; True: LZ4 was refused."""
    (topic, _), (head, code) = place, batch
    if head.magic < 2:
        seen.get_or_make("old-format", client, topic, "produces").count_exchange(exchange)
    if not head.sound:
        seen.get_or_make("crc", client, topic, "produced").count_exchange(exchange)
    elif head.max_timestamp is not None and head.max_timestamp > 0:
        if head.max_timestamp < EARLIEST_MS and not code:
            observe_early_timestamp(seen, exchange, client, place, (head.max_timestamp, head.records))
        _observe_time_stamp(seen, exchange, client, head.max_timestamp * NS_PER_MS - exchange.time_ns, code)
    if code == UNSUPPORTED_COMPRESSION:
        seen.get_or_make("codec-refused", client, topic).count_name("codecs", f"{head.codec} in {exchange.api_version}")
    if code in TOO_LARGE:
        seen.get_or_make("too-large", client, topic).keep_greatest("least", -head.size)
    return code != 0 and head.codec == "lz4"


def _observe_time_stamp(seen: Observations, exchange: Exchange, client: str, ahead: int, code: int) -> None:
    """Observe a time stamp after that of the capture, or one before it that the broker refuses."""
    if ahead > 0:
        clock = seen.get_or_make("clock", client)
        clock.keep_greatest("ahead", ahead)
        clock.count_exchange(exchange)
    elif code == _INVALID_TIMESTAMP:
        clock = seen.get_or_make("clock-behind", client)
        clock.keep_greatest("behind", -ahead)
        clock.count_exchange(exchange)


def _observe_sequence(its: Observation, exchange: Exchange, code: int, sequence: int, records: int) -> None:
    """Observe the sequence number that follows a batch that was taken, or that of one that is out of order."""
    if not code:
        after = exchange.time_ns, sequence + records
        before = its.edges.get("next")
        if before is not None and after >= before[1]:
            its.edges["next"] = before[0], after  # most come in order
        else:
            its.keep_first_and_last("next", *after)
        most = its.most
        if "reached" not in most or after[1] > most["reached"]:
            most["reached"] = after[1]
    elif code == _OUT_OF_ORDER:
        its.count_exchange(exchange)
        its.keep_first_and_last("refused", exchange.time_ns, sequence)


def _observe_fetch(seen: Observations, exchange: Exchange, client: str) -> list[str] | None:
    request, answer = exchange._request_view, exchange._response_view
    request, answer = request if isinstance(request, dict) else {}, answer if isinstance(answer, dict) else {}
    if answer.get("error_code") in _SESSION_LOST:
        seen.get_or_make("sessions-lost", client, exchange.connection_info.broker).count_exchange(exchange)
    replica = replica_id_of_fetch(request)
    if replica < CONSUMER:
        return None
    topics: list[str] = []
    positions = _read_fetch_positions(exchange, request, topics)
    if replica != CONSUMER:
        _observe_follower_lag(seen, exchange, replica, answer, positions)
        return None
    if request.get("rack_id"):
        observe_rack_of_client(seen, exchange, client, request["rack_id"])
    reading = seen.get_or_make("reading", client)
    second = reading.most.get("second")
    # A broker holds a Fetch for as long as there is no record.
    for time_ns in (exchange.time_ns, exchange.response_end_ns or exchange.time_ns):
        if time_ns // NS_PER_S != second:  # most come many to a second
            reading.mark_second(time_ns)
    if exchange._failed:
        observe_unseen_records(seen, client)
    if request.get("session_id") == 0 and request.get("session_epoch") == 0 and answer.get("session_id"):
        seen.get_or_make("sessions-opened", client, exchange.connection_info.broker).count_exchange(exchange)
    seen.note_partitions("asked", client, positions)
    found = False
    committed_only = request.get("isolation_level") == _READ_COMMITTED
    for element in structs_at(answer, "responses"):
        topic = topic_of_element(exchange, element)
        if topic:
            topics.append(topic)
        for part in structs_at(element, "partitions"):
            asked = positions.get((topic, part.get("partition_index")))
            its = part, asked, committed_only, found
            found |= _observe_fetched_partition(seen, exchange, client, topic, its)
    if not found:
        _observe_empty_fetch(seen, exchange, client)
    elif request.get("min_bytes", 1) > 1:
        _observe_held_back_fetch(seen, exchange, client, request.get("max_wait_ms") or 0)
    return topics


def _observe_fetched_partition(
    seen: Observations,
    exchange: Exchange,
    client: str,
    topic: str | None,
    its: tuple[dict[str, Any], int | None, bool, bool],
) -> bool:
    """Observe what a Fetch got of a partition; returns whether it got batches.

    `its`: the partition in the answer, the offset asked for, whether only committed records are read, and whether
    another partition had batches.
    """
    part, asked, committed_only, found = its
    number, newest, failed = part.get("partition_index"), part.get("high_watermark"), part.get("error_code")
    position, begin = asked, None
    for head in read_batch_heads(part.get("records"), exchange.response_raw):
        if begin is None:
            begin = head.base_offset if asked is None else asked
        position = head.last_offset + 1
        if head.magic < 2 or not head.sound:
            _observe_fetched_batch(seen, exchange, client, (topic, number), head)
    if begin is not None and head.codec == "zstd" and (exchange.api_version or 0) < FETCH_OF_ZSTD:
        unread = seen.get_or_make("codec-too-new", client, topic, "zstd")
        unread.count_exchange(exchange)
        unread.count_name("versions", str(exchange.api_version))
        unread.count_name("partitions", str(number))
    if position is None:
        return False
    address = exchange.connection_info.client
    known = seen.fetched.get((client, address, topic, number))
    if known is None:
        known = seen.make_fetched_partition(client, address, topic, number)
    if asked is not None and position > asked:
        read = known.read
        if read is None:
            read = known.read = seen.get_or_make("read", client, address, topic, number)
        read.count_exchange(exchange)
        read.add_range(_READ, asked, position)
    elif position == asked and (committed_only or failed):
        _observe_out_of_range_or_held_records(seen, exchange, client, (topic, number, asked), part)
    if newest is not None and newest >= 0 and not failed:
        lag = known.lag
        if lag is None:
            lag = known.lag = seen.get_or_make("lag", client, topic, number)
        lag.count_exchange(exchange)
        lag.keep_first_and_last("lag", exchange.response_ns or exchange.time_ns, max(newest - position, 0))
        if begin is not None:
            lag.add_range(_GOT, begin, position)
        elif position > newest and not found:
            _observe_position_beyond_watermark(seen, exchange, client, (topic, number), (position, newest))
    return begin is not None


def _observe_fetched_batch(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any], head: BatchHead
) -> None:
    """Observe the format and the checksum of a batch that a Fetch got."""
    if head.magic < 2:
        seen.get_or_make("old-format", client, place[0], "fetches").count_exchange(exchange)
    if not head.sound:
        observe_damaged_batch(seen, exchange, client, place, head)


def _observe_out_of_range_or_held_records(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any, int], part: dict[str, Any]
) -> None:
    """Observe a fetch that gets nothing because its offset is outside of the log, or at the last stable offset."""
    topic, number, asked = place
    if part.get("error_code") == _OUT_OF_RANGE:
        observe_position_out_of_range(seen, exchange, client, (topic, number), asked)
    elif part.get(_STABLE) == asked and (part.get("high_watermark") or 0) > asked:
        observe_held_records(seen, exchange, client, (topic, number), asked)


def _read_fetch_positions(
    exchange: Exchange, request: dict[str, Any], topics: list[str]
) -> dict[tuple[str | None, Any], int]:
    """Topic and partition → the offset that a Fetch asks for; its topics are appended to `topics`."""
    positions: dict[tuple[str | None, Any], int] = {}
    for element in structs_at(request, "topics"):
        topic = topic_of_element(exchange, element)
        if topic:
            topics.append(topic)
        for part in structs_at(element, "partitions"):
            offset = part.get("fetch_offset")
            if offset is not None and offset >= 0:
                positions[topic, part.get("partition")] = offset
    return positions


def _observe_position_beyond_watermark(
    seen: Observations,
    exchange: Exchange,
    client: str,
    place: tuple[str | None, Any],
    position_and_watermark: tuple[int, int],
) -> None:
    """Observe a fetch that asks for an offset that consumers may not see yet, and gets nothing."""
    position, newest = position_and_watermark
    its = seen.get_or_make("beyond", client, exchange.connection_info.broker, *place)
    its.count_exchange(exchange)
    its.keep_first_and_last("position", exchange.time_ns, position)
    its.keep_first_and_last("watermark", exchange.time_ns, newest)


def _observe_follower_lag(
    seen: Observations,
    exchange: Exchange,
    replica: int,
    answer: dict[str, Any],
    positions: dict[tuple[str | None, Any], int],
) -> None:
    """Observe a follower that asks for offsets below the high watermark: it is not in sync."""
    for element in structs_at(answer, "responses"):
        topic = topic_of_element(exchange, element)
        if topic == _METADATA_LOG:
            continue  # its high watermark moves with a majority of the replicas
        for part in structs_at(element, "partitions"):
            number, newest = part.get("partition_index"), part.get("high_watermark")
            position = positions.get((topic, number))
            if position is not None and newest is not None and newest > position and not part.get("error_code"):
                its = seen.get_or_make("follower", replica, exchange.connection_info.broker, topic, number)
                its.count_exchange(exchange)
                its.keep_greatest("behind", newest - position)
                its.keep_first_and_last("behind", exchange.time_ns, newest - position)


def _observe_empty_fetch(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a fetch without records that was answered at once."""
    if exchange.response_ns is None or exchange.request_end_ns is None or exchange._error_codes:
        return
    if exchange.response_ns - exchange.request_end_ns < _AT_ONCE_NS:
        seen.get_or_make("empty", client, exchange.connection_info.broker).count_exchange(exchange)


def _observe_held_back_fetch(seen: Observations, exchange: Exchange, client: str, most_ms: int) -> None:
    """Observe a fetch whose records waited for more records until max_wait_ms was over."""
    if exchange.response_ns is None or exchange.request_end_ns is None or most_ms < WAIT_MIN_MS:
        return
    took = exchange.response_ns - exchange.request_end_ns
    if 10 * took >= 9 * most_ms * NS_PER_MS:
        its = seen.get_or_make("fetch-waits", client)
        its.count_exchange(exchange)
        its.add_to_sum("waited", took)


def _observe_controller_election(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    if any(code == INCONSISTENT_CLUSTER_ID for _, code in exchange._error_codes or ()):
        return  # of another cluster
    seen.get_or_make("election").count_exchange(exchange)
    seen.get_or_make("election").count_name("nodes", host_of(exchange.connection_info.client))


_NODES: Final = ("node_id", "host", "port")
_LED: Final = ("partition_index", "leader", "leader_epoch")
_OF_BEAT: Final = ("group_id", "member_id", "member_epoch")
_BEAT: Final = BodyObserver(observe_group_heartbeat, _OF_BEAT, ("error_code", "member_epoch"))
_SHARED: Final = (
    *("group_id", "member_id", "share_session_epoch", "topics[].topic_id", "topics[].partitions[].partition_index"),
    *(
        f"topics[].partitions[].acknowledgement_batches[].{name}"
        for name in ("first_offset", "last_offset", "acknowledge_types")
    ),
)

# API key → its observer.
BODY_OBSERVERS: Final[dict[int, BodyObserver]] = {
    PRODUCE: BodyObserver(_observe_produce, ("transactional_id",), partitions_of=PRODUCE),
    LIST_OFFSETS: BodyObserver(
        observe_listed_offsets, ("topics[].partitions[].timestamp",), partitions_of=LIST_OFFSETS
    ),
    OFFSET_COMMIT: BodyObserver(
        observe_committed_offsets,
        ("group_id", "group_instance_id", "member_id", "generation_id_or_member_epoch"),
        partitions_of=OFFSET_COMMIT,
    ),
    OFFSET_FETCH: BodyObserver(
        observe_fetched_offsets, ("group_id",), ("groups[].group_id",), partitions_of=OFFSET_FETCH
    ),
    FETCH: BodyObserver(
        _observe_fetch,
        (
            *("replica_id", "replica_state", "min_bytes", "max_wait_ms", "session_id", "session_epoch"),
            *("isolation_level", "rack_id"),
        ),
        ("error_code", "session_id", f"responses[].partitions[].{_STABLE}"),
        partitions_of=FETCH,
    ),
    METADATA: BodyObserver(
        observe_metadata,
        ("allow_auto_topic_creation",),
        (
            "controller_id",
            "cluster_id",
            *(f"brokers[].{name}" for name in (*_NODES, "rack")),
            *(f"topics[].{name}" for name in ("error_code", "name", "topic_id")),
            *(
                f"topics[].partitions[].{name}"
                for name in (
                    "error_code",
                    "partition_index",
                    "leader_id",
                    "leader_epoch",
                    "replica_nodes",
                    "isr_nodes",
                    "offline_replicas",
                )
            ),
        ),
    ),
    DESCRIBE_CLUSTER: BodyObserver(
        observe_described_cluster, (), tuple(f"brokers[].{name}" for name in ("broker_id", "host", "port"))
    ),
    FIND_COORDINATOR: BodyObserver(
        observe_coordinator,
        ("key", "key_type", "coordinator_keys"),
        ("error_code", *_NODES, *(f"coordinators[].{name}" for name in ("error_code", "key", *_NODES))),
    ),
    JOIN_GROUP: BodyObserver(
        observe_subscription,
        (
            *("group_id", "member_id", "reason", "session_timeout_ms", "rebalance_timeout_ms", "group_instance_id"),
            *("protocol_type", "protocols[].name", "protocols[].metadata"),
        ),
        ("error_code", "generation_id", "member_id"),
    ),
    SYNC_GROUP: BodyObserver(
        observe_assignment, ("group_id", "member_id", "group_instance_id"), ("error_code", "assignment")
    ),
    HEARTBEAT: BodyObserver(mark_member_alive, ("group_id", "member_id", "group_instance_id")),
    LEADER_AND_ISR: BodyObserver(
        observe_leader_epochs,
        (
            *(f"ungrouped_partition_states[].{name}" for name in ("topic_name", *_LED)),
            *(f"topic_states[].{name}" for name in ("topic_name", "topic_id")),
            *(f"topic_states[].partition_states[].{name}" for name in _LED),
        ),
    ),
    LEAVE_GROUP: BodyObserver(observe_group_leave, ("group_id", "members[].reason")),
    68: BodyObserver(observe_assigned_partitions, *HEARTBEAT_PATHS),
    76: _BEAT,
    88: BodyObserver(
        observe_streams_heartbeat,
        (*_OF_BEAT, "instance_id", "rack_id"),
        ("error_code", "member_epoch", "status[].status_code", "status[].status_detail"),
    ),
    INIT_PRODUCER_ID: BodyObserver(
        observe_producer_start, ("transactional_id", "transaction_timeout_ms"), ("error_code", "producer_id")
    ),
    WRITE_TXN_MARKERS: BodyObserver(observe_abort_markers, ("markers[].producer_id", "markers[].transaction_result")),
    END_TXN: BodyObserver(observe_transaction_end, ("transactional_id", "committed"), ("error_code",)),
    ADD_PARTITIONS_TO_TXN: BodyObserver(observe_transaction_begin, ("v3_and_below_transactional_id",)),
    25: BodyObserver(observe_transaction_begin, ("transactional_id",)),
    SASL_HANDSHAKE: BodyObserver(observe_sasl_handshake, ("mechanism",), ("error_code",)),
    SASL_AUTHENTICATE: BodyObserver(observe_login, (), ("error_code", "session_lifetime_ms")),
    ALTER_USER_SCRAM_CREDENTIALS: BodyObserver(observe_new_credentials, (), ("results[].user", "results[].error_code")),
    DELETE_TOPICS: BodyObserver(
        observe_deleted_topics,
        ("topic_names", "topics[].name", "topics[].topic_id"),
        tuple(f"responses[].{name}" for name in ("name", "topic_id", "error_code")),
    ),
    **dict.fromkeys(CHANGING, BodyObserver(observe_changes)),
    CREATE_TOPICS: BodyObserver(observe_created_topics),
    **dict.fromkeys((ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS), BodyObserver(observe_changed_configs)),
    45: BodyObserver(observe_begun_moves),
    63: BodyObserver(
        observe_broker_heartbeat,
        ("broker_id", "want_fence", "want_shut_down"),
        ("error_code", "is_caught_up", "is_fenced"),
    ),
    46: BodyObserver(
        observe_listed_moves,
        ("topics[].name",),
        (
            *("error_code", "topics[].name"),
            *(f"topics[].partitions[].{name}" for name in ("partition_index", "adding_replicas")),
        ),
    ),
    DESCRIBE_CONFIGS: BodyObserver(
        observe_delivery_limit, (), tuple(sorted(share_delivery_paths(DESCRIBE_CONFIGS, "response")))
    ),
    SHARE_FETCH: BodyObserver(
        observe_acquired_records,
        _SHARED,
        (
            *("error_code", "acquisition_lock_timeout_ms", "responses[].topic_id"),
            *(f"responses[].partitions[].{name}" for name in ("partition_index", "acknowledge_error_code")),
            *(
                f"responses[].partitions[].acquired_records[].{name}"
                for name in ("first_offset", "last_offset", "delivery_count")
            ),
        ),
    ),
    SHARE_ACKNOWLEDGE: BodyObserver(
        observe_acknowledged_records,
        _SHARED,
        (
            *("error_code", "acquisition_lock_timeout_ms", "responses[].topic_id"),
            *(f"responses[].partitions[].{name}" for name in ("partition_index", "error_code")),
        ),
    ),
    52: BodyObserver(_observe_controller_election),
    ALTER_PARTITION: BodyObserver(
        observe_replicas_in_sync,
        (
            *(f"topics[].{name}" for name in ("topic_name", "topic_id")),
            *(f"topics[].partitions[].{name}" for name in ("partition_index", "new_isr", "new_isr_with_epochs")),
        ),
    ),
}
