"""What advisories are about: exchanges in, observations out that it may happen or that somebody tries; findings.

A request counts whether or not it was answered: the broker that it is meant for may not live to answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    NS,
    Case,
    Found,
    most_frequent_clients,
    name_of_api_key,
)
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.doctor.resent_batches import make_evidence_of_exchange
from decoders.analysis.doctor.sequence_findings import has_sequences_before_and_after
from decoders.analysis.exchange_facts import (
    error_codes_by_partition,
    replica_id_of_fetch,
    topic_of_element,
    view_or_empty,
)
from decoders.errors import DecodeError, LimitExceeded
from decoders.exchanges.find_client_library import BROKER, find_program_of_client_id
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in, structs_at
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    ALTER_CONFIGS,
    FETCH,
    FETCH_SNAPSHOT,
    INCREMENTAL_ALTER_CONFIGS,
    PRODUCE,
    PUSH_TELEMETRY,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from decoders.records.codecs import NAMES as CODECS
from decoders.records.codecs import inflate
from decoders.records.summarize_records import read_batch_heads
from decoders.wire.format_and_escape_text import describe_duration, format_size
from decoders.wire.primitive_types import read_uvarint

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.analysis.doctor.resent_batches import SentAgain
    from decoders.analysis.find_misrouted_batches import MisroutedBatch
    from decoders.exchanges.exchange import Exchange
    from decoders.protocol_facts.advisories import ReleaseRange
    from decoders.schema.api_declaration import Side, Versions

__all__ = [
    "ATTACKS",
    "ATTACK_FINDINGS",
    "TAGGED_SIZE",
    "AttackObserver",
    "count_batch_tries",
    "format_release_lines",
    "infer_releases_of_broker",
    "observe_attack",
]


# No client pushes metrics of this size; what unpacks to more is not unpacked further.
UNPACKED_MAX: Final = 16 * 1024 * 1024
# A request header has no tagged field so far; a smaller request cannot hold as many as are declared by an attack.
_TAGS_LEAST: Final = 1000
TAGGED_SIZE: Final = 2 * _TAGS_LEAST
# The most iterations of SCRAM that a broker of Kafka stores with a password.
_ITERATIONS_OF_KAFKA: Final = 16_384
# Where the client id of a request begins, in the frame behind its size field.
_CLIENT_ID_AT: Final = 8
# What the decoder says of an array that does not fit into its frame (schema/codegen_support.py).
_ELEMENTS: Final = re.compile(r"(\d+) elements need")
# Fetcher threads of brokers before 0.10.
_OLD_FETCHER: Final = re.compile(r"ReplicaFetcherThread-\d+-\d+")
_LOGIN_MODULE: Final = re.compile(rb"com\.sun\.security\.auth\.module\.(JndiLoginModule|LdapLoginModule)")
# Login module → the kind of the observation and of the finding.
LOGIN_MODULES: Final = {"JndiLoginModule": "jndi-login-module", "LdapLoginModule": "ldap-login-module"}
_PRODUCED, _ = TOPIC_ARRAYS[PRODUCE]


class AttackObserver(NamedTuple):
    """The function that observes requests of an API, and the paths that it reads."""

    observe: Callable[[Observations, Exchange, str], None]
    request: tuple[str, ...]
    response: tuple[str, ...] = ()

    def needs(self, side: Side) -> frozenset[str]:
        """The paths read of a side."""
        return frozenset(self.request if side == "request" else self.response)


def _observe_declared_counts(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe how many tagged fields a request header declares, and how many elements an array beyond its frame."""
    failure = (exchange._failed or {}).get("request")
    tags = _count_declared_tags(exchange)
    if tags >= _TAGS_LEAST:
        its = seen.get_or_make("header-tags", client, exchange.connection_info.broker, exchange.api_key)
        its.count_exchange(exchange)
        its.keep_greatest("tags", tags)
    elif failure is not None and failure.reason == "truncated":
        found = _ELEMENTS.match(failure.text)
        if found is not None:
            its = seen.get_or_make(
                "array-beyond-frame", client, exchange.connection_info.broker, exchange.api_key, failure.path
            )
            its.count_exchange(exchange)
            its.keep_greatest("elements", int(found[1]))
            its.keep_greatest("size", exchange.request_size or 0)


def _count_declared_tags(exchange: Exchange) -> int:
    """How many tagged fields the request header declares; 0 where it has none, or cannot be read so far."""
    raw = exchange.request_raw
    if raw is None or not exchange._api_reader.flexible:
        return 0
    at = 4 + _CLIENT_ID_AT
    size = int.from_bytes(raw[at : at + 2], "big", signed=True)
    try:
        return read_uvarint(raw, at + 2 + max(size, 0), len(raw))[0]
    except DecodeError:
        return 0


def count_batch_tries(seen: Observations, exchange: Exchange, client: str) -> None:
    """Count the tries of the batches of a Produce; those without an answer may come again."""
    if exchange.outcome == "no_response_expected":
        return
    unanswered = exchange.outcome == "unanswered"
    refused = error_codes_by_partition(exchange) if exchange._error_codes and exchange.unexpected else {}
    tried = make_evidence_of_exchange(exchange), exchange.response_ns
    for element, part in partitions_in(exchange.view(_PRODUCED.side), _PRODUCED):
        topic, number = topic_of_element(exchange, element), part.get(_PRODUCED.number)
        code = None if unanswered else max(refused.get((topic, number), (0,)))
        for head in read_batch_heads(part.get(_PRODUCED.records), exchange.request_raw):
            seen.sent.add_try(head, client, (topic, number), code, tried)


def _observe_pushed_metrics(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe metrics that unpack to more than any client has to say."""
    request = view_or_empty(exchange, "request")
    metrics, codec = request.get("metrics"), request.get("compression_type")
    if not isinstance(metrics, bytes) or not isinstance(codec, int) or not 0 < codec < len(CODECS):
        return
    try:
        inflate(codec, memoryview(metrics), UNPACKED_MAX, 2)
    except LimitExceeded:
        its = seen.get_or_make("telemetry-unpacked", client, exchange.connection_info.broker)
        its.count_exchange(exchange)
        its.keep_greatest("size", len(metrics))
    except DecodeError:
        return


def _observe_login_modules(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe login modules that look things up elsewhere, in the bytes of a request that alters configs."""
    for name in {found.decode() for found in _LOGIN_MODULE.findall(exchange.request_raw or b"")}:
        its = seen.get_or_make(LOGIN_MODULES[name], client, exchange.connection_info.broker)
        its.count_exchange(exchange)
        for resource in structs_at(exchange.view("request"), "resources"):
            for config in structs_at(resource, "configs"):
                its.count_name("names", str(config.get("name")))


def _observe_empty_snapshot_fetch(seen: Observations, exchange: Exchange, client: str) -> None:
    request = view_or_empty(exchange, "request")
    topics = request.get("topics")
    if isinstance(topics, list) and not any(True for topic in topics for _ in structs_at(topic, "partitions")):
        seen.get_or_make("snapshot-fetch-empty", client, exchange.connection_info.broker).count_exchange(exchange)


def _observe_claimed_replica(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a Fetch of a replica whose client id is none that brokers have."""
    request = exchange._request_view
    if not isinstance(request, dict):
        return
    replica = replica_id_of_fetch(request)
    if replica < 0:
        return
    name = exchange.client_id or ""
    program = find_program_of_client_id(name)
    if (program is not None and program["name"] == BROKER) or _OLD_FETCHER.fullmatch(name):
        return
    its = seen.get_or_make("replica-claimed", client, exchange.connection_info.broker, replica)
    its.count_exchange(exchange)


def _observe_login_in_clear(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a login with SCRAM that begins on a connection without TLS."""
    mechanism = view_or_empty(exchange, "request").get("mechanism")
    if not isinstance(mechanism, str) or not mechanism.startswith("SCRAM-"):
        return
    if exchange.connection_info.tls is None and view_or_empty(exchange, "response").get("error_code") == 0:
        its = seen.get_or_make("scram-in-clear", exchange.connection_info.broker, mechanism)
        its.count_exchange(exchange)
        its.count_name("clients", client)


def _observe_scram_iterations(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe more iterations of SCRAM than a broker of Kafka asks for."""
    iterations = ((exchange.extra or {}).get("sasl") or {}).get("iterations", 0)
    if iterations > _ITERATIONS_OF_KAFKA:
        its = seen.get_or_make("scram-iterations", client, exchange.connection_info.broker)
        its.count_exchange(exchange)
        its.keep_greatest("iterations", iterations)


_CONFIGS: Final = AttackObserver(_observe_login_modules, ("resources[].configs[].name",))
# API key → the observer of its requests.
ATTACKS: Final[dict[int | None, AttackObserver]] = {
    FETCH: AttackObserver(_observe_claimed_replica, ("replica_id", "replica_state")),
    SASL_AUTHENTICATE: AttackObserver(_observe_scram_iterations, ()),
    SASL_HANDSHAKE: AttackObserver(_observe_login_in_clear, ("mechanism",), ("error_code",)),
    ALTER_CONFIGS: _CONFIGS,
    INCREMENTAL_ALTER_CONFIGS: _CONFIGS,
    FETCH_SNAPSHOT: AttackObserver(_observe_empty_snapshot_fetch, ("topics",)),
    PUSH_TELEMETRY: AttackObserver(_observe_pushed_metrics, ("compression_type", "metrics")),
}


def observe_attack(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe what a request, of which both sides were looked at, has of an attack that an advisory is about."""
    attack = ATTACKS.get(exchange.api_key)
    if attack is not None:
        attack.observe(seen, exchange, client)
    if exchange._failed or (exchange.request_size or 0) >= TAGGED_SIZE:
        _observe_declared_counts(seen, exchange, client)


# Findings


# The first release whose broker compares the nonce of SCRAM.
_NONCE_COMPARED: Final = (3, 9)
# request.timeout.ms, after which clients give a request up.
_PATIENCE_NS: Final = 30 * NS


def infer_releases_of_broker(offered: Mapping[int, Versions]) -> ReleaseRange | None:
    """The releases that offer these versions, from the first to the last; None where no release does exactly.

    A release like `4.3` stands for all of its patches, since they offer the same.
    """
    if not offered:
        return None
    # These tables are large, and only a finding needs them.
    from decoders.protocol_facts.advisories import make_release_range_of_lines
    from decoders.protocol_facts.guess_release_from_offered_versions import find_most_alike_releases

    likeness = find_most_alike_releases(offered)
    if not likeness.is_likely_kafka_release:
        return None
    return make_release_range_of_lines(likeness.releases[0], likeness.releases[-1])


def _offers_by_broker(case: Case) -> dict[str, dict[int, Versions]]:
    found: defaultdict[str, dict[int, Versions]] = defaultdict(dict)
    for (broker, key), versions in case.offers.items():
        found[broker][key] = versions
    return found


def _find_declared_counts(case: Case) -> Iterator[Found]:
    for (client, broker, key), seen in case.seen.items_of_kind("header-tags"):
        about = {**_make_subject_columns(client, broker), "api": name_of_api_key(key)}
        yield case.make_finding("header-tags", seen, tags=f"{seen.most['tags']:,}", **about)
    for (client, broker, key, path), seen in case.seen.items_of_kind("array-beyond-frame"):
        if seen.most["elements"] >= case.limits["array.elements"]:
            about = {**_make_subject_columns(client, broker), "api": name_of_api_key(key), "path": path}
            words = {"elements": f"{seen.most['elements']:,}", "size": format_size(seen.most["size"])}
            yield case.make_finding("array-beyond-frame", seen, **about, **words)


def _make_subject_columns(client: str, broker: str) -> dict[str, Any]:
    return {"client": client, "client_id": client, "broker": broker}


def _find_attack_attempts(case: Case) -> Iterator[Found]:
    for (client, broker), seen in case.seen.items_of_kind("telemetry-unpacked"):
        sizes = {"size": format_size(seen.most["size"]), "most": format_size(UNPACKED_MAX)}
        yield case.make_finding("telemetry-unpacked", seen, **_make_subject_columns(client, broker), **sizes)
    for (client, broker, replica), seen in case.seen.items_of_kind("replica-claimed"):
        yield case.make_finding("replica-claimed", seen, **_make_subject_columns(client, broker), node_id=replica)
    for (client, broker), seen in case.seen.items_of_kind("snapshot-fetch-empty"):
        yield case.make_finding("snapshot-fetch-empty", seen, **_make_subject_columns(client, broker))
    for (client, broker), seen in case.seen.items_of_kind("scram-iterations"):
        if seen.most["iterations"] > case.limits["scram.iterations"]:
            words = {"iterations": f"{seen.most['iterations']:,}"}
            yield case.make_finding("scram-iterations", seen, **_make_subject_columns(client, broker), **words)
    for kind in LOGIN_MODULES.values():
        for (client, broker), seen in case.seen.items_of_kind(kind):
            names = sort_names_by_count(seen.names.get("names", {}))[:LISTED]
            yield case.make_finding(kind, seen, **_make_subject_columns(client, broker), names=names)


def _find_scram_in_clear(case: Case) -> Iterator[Found]:
    """Logins with SCRAM on connections without TLS, to brokers that may not compare the nonce."""
    offers = _offers_by_broker(case)
    for (broker, mechanism), seen in case.seen.items_of_kind("scram-in-clear"):
        release = infer_releases_of_broker(offers.get(broker, {}))
        if release is not None and release.first >= _NONCE_COMPARED:
            continue
        clients = most_frequent_clients(seen)
        told = "does not say what it serves" if release is None else f"looks like {format_release_lines(release)}"
        yield case.make_finding(
            "scram-in-clear", seen, mechanism=mechanism, broker=broker, clients=clients, release=told
        )


def format_release_lines(release: ReleaseRange) -> str:
    """The lines of releases of a broker: `4.3`, `2.4–2.5`."""
    return "–".join(dict.fromkeys(".".join(map(str, numbers[:-1])) for numbers in release[:2]))


def _find_expired_batches(case: Case) -> Iterator[Found]:
    age = case.limits["delivery.timeout"]
    found: defaultdict[tuple[str, str | None], list[SentAgain]] = defaultdict(list)
    for its in case.seen.sent.find_expired_batches(round(age * NS), _PATIENCE_NS):
        found[its.client, its.topic].append(its)
    for (client, topic), some in found.items():
        seen = Observation()
        for its in some:
            seen.count_evidence(its.last)
        words = (
            {"batches": f"{len(some):,} batches", "them": "them"}
            if len(some) > 1
            else {"batches": "a batch", "them": "it"}
        )
        about = {"client": client, "client_id": client, "topic": topic}
        yield case.make_finding("batch-expired", seen, age=describe_duration(age * 1000), **about, **words)


def _find_misrouted_batches(case: Case) -> Iterator[Found]:
    """Batches that went elsewhere than they were made for, by client, where to, and how that is known."""
    found: defaultdict[tuple[str, str, str, bool], list[MisroutedBatch]] = defaultdict(list)
    for each in case.seen.sent.find_misrouted_batches():
        (topic, number), batch, twin = each.rightful, each.batch, each.twin
        if twin is not None and all(has_sequences_before_and_after(case, its.source) for its in (batch, twin)):
            continue  # two batches that are alike by chance: each is one of its partition
        places = (topic, batch.topic) if topic != batch.topic else (f"{topic}-{number}", f"{topic}-{batch.partition}")
        found[batch.source.client, *places, each.twin is not None].append(each)
    for (client, meant, elsewhere, has_twins), some in found.items():
        seen = Observation()
        for each in some:
            for batch in filter(None, (each.twin, each.batch)):
                seen.count_evidence(batch.source.last)
        seen.count = len(some)
        words = {"batches": "a batch" if len(some) == 1 else f"{len(some):,} batches", "elsewhere": elsewhere}
        words |= {"meant": meant, "also": " as well" if has_twins else ""}
        words["proof"] = _UNDER_TWO_TOPICS if has_twins else _MISSING_ELSEWHERE
        topic = some[0].rightful[0]
        topics = sorted({topic, some[0].batch.topic})
        about = {"client": client, "client_id": client, "topic": topic, "topics": topics if topics[1:] else None}
        yield case.make_finding("batch-misrouted", seen, **about, **words)


_UNDER_TWO_TOPICS: Final = (
    "the same batch, by producer id, sequence number and checksum, is under two topics, and the producer does not write"
    " everything to both"
)
_MISSING_ELSEWHERE: Final = (
    "its sequence number does not follow there, and is the one that is missing where it was made for"
)


ATTACK_FINDINGS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_declared_counts,
    _find_attack_attempts,
    _find_scram_in_clear,
    _find_expired_batches,
    _find_misrouted_batches,
)
