"""The fold of `kw doctor`: each exchange leaves observations, and findings are made of them at the end.

Theory of operation. No exchange is judged when it comes, since what comes later or was seen elsewhere is not known:

```
end of a connection ─► resets, windows of 0                ┐
exchange ─► how it went (errors, unanswered, throttled)    ┤
         ─► what its API says (body_observers.py)          ├─► observations ─► find_problems.py ─► findings
         ─► what went well, with whom and when last        ┘    (merge)          (once)
```

An error weighs less if the same client later succeeded with the same API and subject (`went_on`). So successes are
remembered as well, each by its last time alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from decoders.analysis.advisories.attack_observations import ATTACKS, TAGGED_SIZE, count_batch_tries, observe_attack
from decoders.analysis.doctor.body_observers import BODY_OBSERVERS
from decoders.analysis.doctor.find_problems import diagnose
from decoders.analysis.doctor.finding_kinds import STORAGE_ERRORS
from decoders.analysis.doctor.groups.observe_members import observe_waiting_request
from decoders.analysis.doctor.groups.observe_share_locks import INVALID_RECORD_STATE, observe_refused_acknowledgements
from decoders.analysis.doctor.ids_and_logins.observe_addresses import find_subjects_of_coordinator
from decoders.analysis.doctor.observations import Observation, Observations
from decoders.analysis.doctor.observe_odd_bytes import (
    observe_misplaced_answer,
    observe_odd_bytes,
    observe_protocol_of_connection,
)
from decoders.analysis.doctor.observe_positions import observe_answer_broken_off, observe_unseen_records
from decoders.analysis.doctor.observe_values import observe_subjects, observe_values
from decoders.analysis.doctor.refused.explain_misleading_addresses import NOT_LEADER, observe_named_leaders
from decoders.analysis.doctor.refused.explain_single_codes import observe_single_code
from decoders.analysis.doctor.refused.observe_refusals import RefusedExchange
from decoders.analysis.doctor.slow_brokers import BrokerLatencies
from decoders.analysis.doctor.thresholds import Thresholds
from decoders.analysis.exchange_facts import (
    CONSUMER,
    FETCHES,
    GATHERINGS,
    NS_PER_MS,
    NS_PER_S,
    OFFERED,
    WAIT_MIN_MS,
    WAITING,
    WAITS,
    OfferedVersions,
    error_codes_by_partition,
    throttle_ns,
    throttle_paths,
    view_or_empty,
    waited_ns,
)
from decoders.analysis.read_dimension_values import DIMENSIONS, client_of, host_of, paths_of_dimensions
from decoders.apis import NAMES
from decoders.exchanges.partitions_in_exchange import partition_paths
from decoders.filters.filter_field_table import entity_name_paths, entity_names_of_both_sides
from decoders.filters.read_partitions_and_records import record_and_topic_paths
from decoders.limits import GROUPS_MAX
from decoders.protocol_facts.api_keys import (
    ADD_PARTITIONS_TO_TXN,
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)
from decoders.schema.api_declaration import Versions
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import ConnectionInfo, Ended, Exchange
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.schema.api_declaration import Side

__all__ = ["Doctor"]

_topics_of: Final = DIMENSIONS["topic"].get
# APIs by whose latency brokers are compared: clients send them to all brokers, which answer them at once.
_COMPARED: Final = frozenset({PRODUCE, METADATA, OFFSET_COMMIT, HEARTBEAT, FETCH})
# Frames of this size and more are remembered; the threshold for huge ones is applied later.
_LARGE: Final = 1 << 20
# A connection's first request after ApiVersions begins among its first bytes.
_FIRST_BYTES: Final = 1 << 10
# Requests of this size and more may be above socket.request.max.bytes of a broker.
_SIZED: Final = 1 << 16
# An answer that takes longer is late; the threshold for silent brokers is applied later.
_LATE_NS: Final = 5 * NS_PER_S
# An answer that waited by design took at least nine tenths of the shortest wait (waited_ns).
_WAIT_LEAST_NS: Final = 9 * WAIT_MIN_MS * NS_PER_MS // 10
# Requests that wait by design, which clients may give up before.
_GIVEN_UP: Final = frozenset({FETCH, JOIN_GROUP})
# A request that was sent as often did not get lost by chance.
_TRIES: Final = 4
# A connection that is younger has not been idle for as long as anything forgets one.
_FRESH_NS: Final = 3 * NS_PER_S
# Connections whose client is remembered between their exchanges.
_LINKS_MAX: Final = 1024
# FENCED_INSTANCE_ID, of a member whose group.instance.id another one has taken.
_FENCED_INSTANCE: Final = 82
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, and the codes of ILLEGAL_GENERATION to
# STALE_MEMBER_EPOCH about membership: they are about a group or transaction, whatever topics are named besides.
# GROUP_AUTHORIZATION_FAILED and TRANSACTIONAL_ID_AUTHORIZATION_FAILED are, too.
_OF_GROUPS: Final = frozenset({14, 15, 16, 22, 25, 27, 30, 53, _FENCED_INSTANCE, 110, 113})
# INVALID_PRODUCER_EPOCH, PRODUCER_FENCED: about a transactional id, where partitions are added to its transaction.
_OF_PRODUCERS: Final = frozenset({47, 90})
# Their errors may be about the group or transactional id.
_WITH_OWNERS: Final = frozenset({OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT, ADD_PARTITIONS_TO_TXN})
_ENTITIES: Final = (("group", "groupId"), ("transactional_id", "transactionalId"))
# What succeeded: client, API key, subject.
_Done = tuple[str, int, str | None]


def _may_be_of_replica(exchange: Exchange) -> bool:
    """Whether a Fetch is none of a consumer, as most are: a request that could not be read may be any."""
    view = exchange._request_view
    return view.__class__ is not dict or view.get("replica_id", CONSUMER) != CONSUMER or "replica_state" in view


class Doctor:
    """Findings about the exchanges that were added, by `thresholds` (only rows() reads them).

    With `values`, a reader of keys and values, every record is decoded, to find what is wrong with schemas.
    """

    def __init__(self, thresholds: Thresholds | None = None, values: RecordValueReader | None = None) -> None:
        self._values = values
        self._thresholds = thresholds or Thresholds()
        self._seen = Observations()
        self._done: dict[_Done, int] = {}
        self._latencies = BrokerLatencies()
        self._offers: dict[tuple[str, int], Versions] = {}
        self._offered = OfferedVersions()
        self._faults: list[str] = []
        # Client id, client name, the observation of the client at its broker, that of the broker's answers.
        self._links: dict[ConnectionInfo, tuple[str | None, str, Observation, Observation]] = {}
        self._links_of_ids: dict[
            tuple[ConnectionInfo, str | None], tuple[str | None, str, Observation, Observation]
        ] = {}

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of names, of throttling, and those that observers of bodies read."""
        entities = frozenset(path for _, entity in _ENTITIES for path in entity_name_paths(api_key, side, entity))
        observed = BODY_OBSERVERS[api_key].needs(side) if api_key in BODY_OBSERVERS else frozenset()
        # An error code is about the partition that its own struct names.
        partitions = partition_paths(api_key, side, topics=True) if side == "response" else frozenset()
        offered = OFFERED if api_key == API_VERSIONS and side == "response" else frozenset()
        found = (
            paths_of_dimensions(("topic",), api_key, side)
            | entities
            | WAITS.needed_paths(api_key, side)
            | throttle_paths(api_key, side)
        )
        if self._values is not None:
            found = found.union(record_and_topic_paths(api_key, side))
        attacks = ATTACKS[api_key].needs(side) if api_key in ATTACKS else frozenset()
        return found | observed | partitions | offered | attacks

    def set_capture_faults(self, faults: list[str]) -> None:
        """Set the faults of the captures themselves, a sentence each."""
        self._faults = faults

    def observe_cluster_fact(self, kind: str, time_ns: int, *subject: str | int | None, **most: int) -> None:
        """Count an observation from a look at the cluster itself; of the values in `most` the greatest are kept."""
        its = self._seen.get_or_make(kind, *subject)
        its.count_occurrence_at(time_ns)
        for name, value in most.items():
            its.keep_greatest(name, value)

    def add(self, exchange: Exchange) -> None:
        """Observe an exchange; an exchange of no known API is ignored."""
        key = exchange.api_key
        if key is None or key not in NAMES:
            if exchange.extra is not None and "remarks" in exchange.extra:
                observe_misplaced_answer(self._seen, exchange, client_of(exchange.client_id, exchange.client))
            return
        exchange._read_sides()
        info = exchange.connection_info
        seen = self._seen
        client_id, client, link, answered = self._links.get(info) or self._find_client_and_observations(exchange)
        if client_id != exchange.client_id:
            _, client, link, answered = self._find_client_and_observations(exchange)
        link.count_exchange(exchange)
        if not exchange.place and exchange.request_packet:
            link.add_to_sum("connections", 1)
            link.keep_greatest("opened", info.began_ns)
        failed, size = exchange._failed, exchange.request_size or 0
        odd = (failed or exchange.extra is not None) and self._observe_oddities(exchange, client, link)
        if size >= TAGGED_SIZE or failed or (key in ATTACKS and (key != FETCH or _may_be_of_replica(exchange))):
            observe_attack(seen, exchange, client)
        if size >= _SIZED or (exchange.response_size or 0) >= _LARGE:
            self._observe_large_sizes(exchange, key, client)
        if exchange.outcome == "unanswered":
            self._observe_unanswered(exchange, key, client, odd=bool(odd))
            return
        response_ns = exchange.response_ns
        if response_ns is not None:
            second = response_ns // NS_PER_S
            if link.most.get("second") != second or answered.most.get("second") != second:
                answered.mark_second(response_ns)  # most come many to a second
                link.mark_second(response_ns)
            if response_ns - exchange.time_ns >= _LATE_NS:
                self._observe_late_answer(exchange, key, client)
        if self._values is not None:
            observe_values(seen, exchange, client, self._values)
        observer = BODY_OBSERVERS.get(key)
        topics = observer.observe(seen, exchange, client) if observer is not None else None
        if key == API_VERSIONS:
            link.add_to_sum("versions", 1)
            self._keep_offered_versions(exchange)
        answer = exchange._response_view
        throttled = throttle_ns(exchange) if answer.__class__ is not dict or answer.get("throttle_time_ms") else 0
        if throttled:
            its = seen.get_or_make("throttle", client, info.broker, host_of(info.client))
            its.count_exchange(exchange)
            its.add_to_sum("size", (size if key != FETCH else exchange.response_size) or 0)
            its.add_to_sum("ms", throttled // NS_PER_MS)
            its.keep_greatest("ms", throttled // NS_PER_MS)
        if exchange._error_codes and exchange.unexpected:
            self._observe_error_codes(exchange, key, client)
        else:
            self._observe_success(exchange, key, client, topics)

    def _keep_offered_versions(self, exchange: Exchange) -> None:
        for number, versions in self._offered.read_changed_offer(exchange):
            where = exchange.connection_info.broker, number
            self._offers[where] = max(self._offers.get(where, versions), versions)

    def _observe_oddities(self, exchange: Exchange, client: str, link: Observation) -> bool:
        """Observe what few exchanges have: retransmitted packets, remarks, odd bytes; whether there are odd bytes."""
        extra = exchange.extra or {}
        if extra.get("retransmitted"):
            link.add_to_sum("retransmitted", 1)
            info = exchange.connection_info
            self._seen.get_or_make("retransmitted", client, host_of(info.client), info.broker).count_exchange(exchange)
            if exchange.response_ns is not None and exchange.response_end_ns is None and exchange.place:
                self._observe_unread_answer(exchange, client)
        if "remarks" in extra:
            observe_misplaced_answer(self._seen, exchange, client)
        return bool(exchange._failed or "remarks" in extra) and observe_odd_bytes(self._seen, exchange, client)

    def _find_client_and_observations(self, exchange: Exchange) -> tuple[str | None, str, Observation, Observation]:
        """Client id and name, the client's observation at its broker, the broker's; remembered for the connection.

        An exchange inside an Envelope is about a client whose connection is another one: its observation is not kept.
        """
        info = exchange.connection_info
        if exchange.envelope is not None:
            client = exchange.client_id or exchange.user or client_of(None, info.client)
            return exchange.client_id, client, Observation(), Observation()
        known = self._links_of_ids.get((info, exchange.client_id))
        if known is not None:  # several clients on one connection, as behind a proxy
            self._links[info] = known
            return known
        client = client_of(exchange.client_id, info.client)
        key = "client", client, host_of(info.client), info.broker
        answered = self._seen.get_or_make("answered", info.broker)
        found = exchange.client_id, client, self._seen.get_or_make(*key), answered
        if len(self._links) >= _LINKS_MAX:
            self._links.clear()
        if len(self._links_of_ids) >= _LINKS_MAX:
            self._links_of_ids.clear()
        if self._seen.get_observation(*key) is not None:  # within the limit
            self._links[info] = self._links_of_ids[info, exchange.client_id] = found
        return found

    def observe_connection_end(self, ended: Ended) -> None:
        """Observe the end of a connection: resets after silence, TCP windows of 0, connections not accepted."""
        info, seen = ended.connection_info, self._seen
        host = host_of(info.client)
        observe_protocol_of_connection(seen, ended, host)
        if not ended.kafka:
            if ended.entry is not None:
                its = seen.get_or_make("no-entry", host, info.broker, ended.entry)
                its.count_end(ended)
                its.first = min(its.first, ended.time_ns)
                its.add_to_sum("tries", ended.client_packets)
                its.mark_second(ended.time_ns)
            return
        client = client_of(ended.client_id, info.client)
        if ended.opened and ended.exchanges and not ended.server_bytes and ended.how in ("fin", "rst"):
            its = seen.get_or_make("never-answered", client, info.broker)
            its.count_end(ended)
            its.keep_greatest("longest", ended.last_ns - ended.time_ns)
            its.keep_greatest("shortest", ended.time_ns - ended.last_ns)
            if ended.last_ns - ended.time_ns < NS_PER_S:
                its = seen.get_or_make("closed-at-once", host, info.broker)
                its.count_end(ended)
                its.count_name("clients", client)
        if ended.how in ("fin", "rst") and ended.exchanges:
            side = "broker" if ended.server_quiet_ns else "client" if ended.client_quiet_ns else "either"
            its = seen.get_or_make("ended", client, info.broker)
            its.count_name(side, f"{info.client} {info.began_ns} {ended.last_ns}")
        if ended.how == "capture_end" and ended.server_bytes:
            its = seen.get_or_make("stays", host, info.broker)
            its.count_occurrence_at(ended.time_ns)
            its.count_name("clients", client)
        if ended.client_bytes >= _SIZED and ended.how == "rst":
            its = seen.get_or_make("cut-off", client, info.broker)
            its.count_name("ended", f"{info.client} {info.began_ns} {ended.last_ns}")
        if info.via_address is not None and not ended.server_bytes and ended.how in ("fin", "rst"):
            seen.get_or_make("head", host_of(info.via_address), info.broker, host).count_end(ended)
        for side, quiet_ns, shut_ns in (
            ("client", ended.client_quiet_ns, ended.client_shut_ns),
            ("broker", ended.server_quiet_ns, ended.server_shut_ns),
        ):
            if ended.how == "rst" and quiet_ns >= NS_PER_S:
                its = seen.get_or_make("cut", client, host, info.broker, side)
                its.count_end(ended)
                its.count_name("seconds", str(quiet_ns // NS_PER_S))
            # To a window of 0 a client sends bytes again only to learn when it opens.
            if ended.client_again >= _TRIES and side == "client" and not ended.server_shut_ns:
                its = seen.get_or_make("unacknowledged", client, host, info.broker)
                its.count_end(ended)
                its.count_name("connections", info.client)
            if ended.server_again >= _TRIES and side == "broker" and not ended.client_shut_ns:
                seen.get_or_make("unacknowledged-by-client", client, host, info.broker).count_end(ended)
            if shut_ns:
                its = seen.get_or_make("shut", client, host, info.broker, side)
                its.count_end(ended)
                its.add_to_sum("ns", shut_ns)
                its.keep_greatest("ns", shut_ns)

    def _observe_late_answer(self, exchange: Exchange, api_key: int, client: str) -> None:
        if api_key not in WAITING:
            self._observe_waiting_request(exchange, client)
        elif api_key in _GIVEN_UP:
            observe_waiting_request(self._seen, exchange, client)

    def _observe_waiting_request(self, exchange: Exchange, client: str) -> None:
        """Observe a request that is not answered, or late, though it waits for no records and no members."""
        its = self._seen.get_or_make("stuck", client, exchange.connection_info.broker)
        its.count_exchange(exchange)
        its.mark_second(exchange.time_ns)

    def _observe_unheard_request(self, exchange: Exchange, client: str, size: int) -> None:
        """Observe a request that was sent again and not answered, and whether a new connection had smaller ones only.

        Bytes before it are those of requests before it: it is larger than each of them if it is larger than all.
        """
        info = exchange.connection_info
        its = self._seen.get_or_make("lost-request", client, host_of(info.client), info.broker)
        its.count_exchange(exchange)
        its.mark_second(exchange.time_ns)
        its.count_name("apis", str(exchange.api_key))
        its.count_name("connections", info.client)
        self._count_topics_of_produce(its, exchange, exchange.api_key or 0)
        its.keep_greatest("all-from", -size)
        if not exchange.place:
            its.add_to_sum("first", 1)
        elif exchange.place < size and exchange.time_ns - info.began_ns < _FRESH_NS:
            its.count_name("outgrown", info.client)
            its.keep_greatest("least", -size)
            its.keep_greatest("anew", info.began_ns)

    def _observe_unread_answer(self, exchange: Exchange, client: str) -> None:
        """Observe an answer that was begun and sent again, and not finished, behind others that were."""
        info = exchange.connection_info
        its = self._seen.get_or_make("unread-answer", client, host_of(info.client), info.broker)
        its.count_exchange(exchange)
        its.count_name("connections", info.client)
        its.count_name("apis", str(exchange.api_key))
        its.keep_greatest("anew", info.began_ns)
        its.keep_greatest("least", -(exchange.response_size or 0))

    def _observe_large_sizes(self, exchange: Exchange, api_key: int, client: str) -> None:
        if exchange.outcome == "complete" and (exchange.request_size or 0) >= _SIZED:
            answered = self._seen.get_or_make("size-taken", exchange.connection_info.broker)
            answered.keep_greatest("size", exchange.request_size or 0)
        for side, size in (("request", exchange.request_size), ("response", exchange.response_size)):
            if size is not None and size >= _LARGE:
                its = self._seen.get_or_make("large", client, api_key, side)
                its.count_exchange(exchange)
                its.keep_greatest("size", size)

    def _observe_unanswered(self, exchange: Exchange, api_key: int, client: str, *, odd: bool) -> None:
        """Observe a request without an answer; `odd`: its bytes say why."""
        closed, size = exchange.closed, exchange.request_size or 0
        if api_key == PRODUCE:
            count_batch_tries(self._seen, exchange, client)
        elif api_key in _GIVEN_UP:
            if api_key == FETCH and closed not in ("fin", "rst"):
                observe_unseen_records(self._seen, client)
            observe_waiting_request(self._seen, exchange, client)
            if not (exchange.extra and exchange.extra.get("retransmitted")):
                observe_answer_broken_off(self._seen, exchange, client)
        if size >= _SIZED and closed in ("fin", "rst"):
            its = self._seen.get_or_make("size-refused", client, exchange.connection_info.broker, api_key)
            its.count_exchange(exchange)
            its.keep_greatest("least", -size)
            if closed == "rst" and size < _LARGE:
                info = exchange.connection_info
                its = self._seen.get_or_make("cut-off", client, info.broker)
                its.count_name("asked", f"{info.client} {info.began_ns} {exchange.time_ns}")
        lost = exchange.extra is not None and exchange.extra.get("retransmitted")
        if lost:
            self._observe_unheard_request(exchange, client, size)
        if api_key not in WAITING and not odd:
            self._observe_waiting_request(exchange, client)
        if closed == "capture_end" and api_key not in FETCHES and not (odd or lost):
            its = self._seen.get_or_make("pending", client, exchange.connection_info.broker, api_key)
            its.count_exchange(exchange)
            its.count_name("connections", exchange.connection_info.client)
            if api_key in GATHERINGS:
                for name in self._find_subjects(exchange)[1]:
                    its.count_name("groups", name)
                its.count_name("members", str(view_or_empty(exchange, "request").get("member_id")))
            self._count_topics_of_produce(its, exchange, api_key)
        if closed in ("capture_end", None) or odd:
            return
        info, login = exchange.connection_info, exchange.login
        its = self._seen.get_or_make("unanswered", client, info.broker, api_key, exchange.api_version, closed)
        its.count_exchange(exchange)
        its.count_name("asked", f"{info.client} {info.began_ns} {exchange.time_ns}")
        self._count_topics_of_produce(its, exchange, api_key)
        if login is None:
            its.add_to_sum("without-login", 1)
            if 0 < exchange.place < _FIRST_BYTES:
                its.add_to_sum("first-without-login", 1)
        else:
            its = self._seen.get_or_make("session", client, info.broker, info.client)
            its.count_exchange(exchange)
            its.keep_greatest("unanswered", exchange.time_ns)

    @staticmethod
    def _count_topics_of_produce(its: Observation, exchange: Exchange, api_key: int) -> None:
        if api_key == PRODUCE:
            for topic in _topics_of(exchange):
                if topic:
                    its.count_name("topics", topic)

    def _observe_error_codes(self, exchange: Exchange, api_key: int, client: str) -> None:
        entity, names = self._find_subjects(exchange)
        found: dict[tuple[int, str, str | None], list[int | None]] = {}
        for (topic, partition), codes in error_codes_by_partition(exchange).items():
            for code in codes:
                adds = api_key == ADD_PARTITIONS_TO_TXN and code in _OF_PRODUCERS
                of_topic = topic and not (names and (adds or code in _OF_GROUPS))
                about = ("topic", topic) if of_topic else (entity, names[0] if names else None)
                found.setdefault((code, *about), []).append(partition)
        refusal = RefusedExchange(exchange)
        if any(code == NOT_LEADER for code, _, _ in found):
            observe_named_leaders(self._seen, exchange, client)
        if any(code == INVALID_RECORD_STATE for code, _, _ in found):
            observe_refused_acknowledgements(self._seen, exchange, client)
        for (code, kind, subject), partitions in found.items():
            its = self._seen.get_or_make("error", code, api_key, client, kind, subject)
            its.count_exchange(exchange)
            its.count_name("brokers", exchange.connection_info.broker)
            if entity == "transactional_id" and names:
                its.count_name("transactional", names[0])
            its.count_name("hosts", host_of(exchange.connection_info.client))
            if code == _FENCED_INSTANCE:
                its.count_name("instances", str(view_or_empty(exchange, "request").get("group_instance_id")))
            if kind == "topic" and subject and code in STORAGE_ERRORS:
                its.count_name("topics", subject)
            its.count_name("versions", str(exchange.api_version))
            refusal.observe(its, code, subject)
            observe_single_code(its, exchange, code, subject)
            its.mark_second(exchange.time_ns)
            user = exchange.user
            if user:
                its.count_name("users", user)
            for number in partitions:
                if number is not None:
                    its.count_name("partitions", str(number))

    def _observe_success(self, exchange: Exchange, api_key: int, client: str, named: list[str] | None) -> None:
        done, time_ns = self._done, exchange.time_ns
        last: str | None = ""
        topics: Sequence[str | None] = _topics_of(exchange) if named is None else named
        if topics and api_key in _WITH_OWNERS:
            topics = [*topics, *self._find_subjects(exchange)[1]]
        for subject in topics or self._find_subjects(exchange)[1] or (None,):
            if subject == last:
                continue  # an answer repeats the names of its request
            last = subject
            place = client, api_key, subject
            before = done.get(place)
            if time_ns > before if before is not None else time_ns > 0 and len(done) < GROUPS_MAX:
                done[place] = time_ns
        if api_key in _COMPARED and exchange.response_ns is not None and exchange.request_end_ns is not None:
            if exchange.extra is not None and exchange.envelope:
                return  # the latency is that of the Envelope around it
            took = exchange.response_ns - exchange.request_end_ns
            if took >= _WAIT_LEAST_NS and api_key in WAITING and waited_ns(exchange) is not None:
                return
            self._latencies.add_latency(exchange.connection_info.broker, api_key, client, time_ns, took)

    @staticmethod
    def _find_subjects(exchange: Exchange) -> tuple[str, list[str]]:
        """The kind and the names of what an exchange without topics is about."""
        if exchange.api_key == FIND_COORDINATOR:
            return find_subjects_of_coordinator(exchange)
        for kind, entity in _ENTITIES:
            names = [name for name in entity_names_of_both_sides(exchange, entity) if isinstance(name, str) and name]
            if names:
                return kind, names
        return "client_id", []

    def merge(self, other: Self) -> None:
        """Add what `other` has seen; `other` stays unchanged."""
        self._seen.merge(other._seen)
        for place, time_ns in other._done.items():
            self._done[place] = max(self._done.get(place, 0), time_ns)
        self._latencies.merge(other._latencies)
        for where, versions in other._offers.items():
            self._offers[where] = max(self._offers.get(where, versions), versions)
        self._faults = sorted({*self._faults, *other._faults})

    def export(self) -> bytes:
        """The state, for `resume`."""
        self._observe_subjects()
        offers = [[where, list(versions)] for where, versions in self._offers.items()]
        return pack([self._seen.export(), list(self._done.items()), self._latencies.state(), offers, self._faults])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        seen, done, latencies, offers, faults = state_fields(unpack(state), bytes, list, list, list, list)
        self._links, self._links_of_ids = {}, {}
        self._seen.resume(seen)
        for item in done:
            place, time_ns = state_fields(item, tuple, int)
            client, key, subject = state_fields(place, str, int, str | None)
            self._done[client, key, subject] = time_ns
        self._latencies = BrokerLatencies.make_resumed(latencies)
        for item in offers:
            where, versions = state_fields(item, tuple, list)
            broker, key = state_fields(where, str, int)
            self._offers[broker, key] = Versions(*state_fields(versions, int, int))
        self._faults = list(state_fields(faults, *[str] * len(faults)))

    def set_file_names(self, names: Sequence[str]) -> None:
        """Name the files of what was seen so far, by their indices in the numbers of packets (merge_captures.py)."""
        self._seen.set_file_names(names)

    def _observe_subjects(self) -> None:
        if self._values is not None:
            observe_subjects(self._seen, self._values)

    def rows(self) -> list[Row]:
        """A row for each finding, worst first."""
        self._observe_subjects()
        return diagnose(self._seen, self._done, self._latencies, self._offers, self._faults, self._thresholds)
