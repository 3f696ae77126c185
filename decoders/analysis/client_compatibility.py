"""Exchanges in, a verdict on each client out: what breaks when the brokers become those of another release.

Theory of operation. A client breaks if it uses a version that the target no longer serves, unless an old broker held it
down: it asks for the versions that are served, and took the best that the broker offered. So what a broker offers is
part of the evidence:

```
does the target serve the use?
   yes ─► fine
   no, too old ─► does the client ask for versions? no ─► breaks (it does not choose)
                  was a version offered that both have? yes ─► breaks (it chose the old one: it knows no newer)
                  what does its library speak? newer ─► fine · older ─► breaks · not known ─► unknown
   no, too new ─► does the client ask? yes ─► fine, it will take an older one · no ─► breaks
```

A client works where all its uses are fine and either its library's release is known to speak what the target serves, or
each role that it plays was seen from its beginning: it connects, and produces, fetches or administers; the member of a
group joins. Of all other clients too little was seen: unknown, with the reason.

No client is left out while exchanges are counted (client_uses.py), so each that breaks has a row. Of the clients that
work, and of those that are not known, those with the most exchanges have rows; the rest of each is one row, "the
others", with how many they are.

Sources: the versions of all releases (apis/releases.py); first releases of other libraries that speak the baseline of
4.0 (KIP-896); `client_software_name` as libraries say it (KIP-511).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from heapq import heappush, heappushpop
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from decoders.analysis.client_uses import AuditedClient, ClientUses, Used, name_in_client_text
from decoders.analysis.exchange_facts import OFFERED, OfferedVersions
from decoders.analysis.fold_interface import Row
from decoders.analysis.heavy_keys import fits_row_limit
from decoders.analysis.read_dimension_values import host_of, library_in
from decoders.analysis.sum_amounts_by_key import Tally
from decoders.apis import NAMES, api
from decoders.exchanges.find_client_library import merge_libraries
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SYNC_GROUP,
)
from decoders.protocol_facts.kafka_releases import (
    HISTORY,
    RELEASES,
    api_versions_of_release,
    drop_unserved_produce_versions,
    versions_of_api_by_release,
)
from decoders.protocol_facts.parse_versions_and_releases import parse_release_name
from decoders.schema.api_declaration import Versions
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = [
    "Audit",
    "AuditTarget",
    "AuditVerdicts",
    "AuditedClient",
    "ClientOfAudit",
    "Use",
    "Who",
]

_JAVA: Final = "apache-kafka-java"
# The first release of a library that speaks the baseline of Kafka 4.0, as KIP-896 counts them.
_BASELINE: Final = {"librdkafka": "1.8.2", "kafkajs": "1.15.0", "sarama": "1.30.1", "kafka-python": "2.0.2"}
# Up to which release that baseline holds.
_BASELINE_LAST: Final = "4."
# The client ids of brokers that fetch from others.
_FETCHER: Final = re.compile(r"broker-\d+-fetcher-\d+")
_NUMBER: Final = re.compile(r"\d+")

# APIs by which members of classic, consumer, share and streams groups join; APIs that only classic members use.
_JOINING: Final = frozenset({JOIN_GROUP, 68, 76, 88})
_OF_MEMBERS: Final = frozenset({HEARTBEAT, LEAVE_GROUP, SYNC_GROUP})
# APIs that any client uses before its work, or beside it; 71 and 72 are telemetry.
_FINDING_ITS_WAY: Final = frozenset(
    {*(API_VERSIONS, METADATA, FIND_COORDINATOR, SASL_HANDSHAKE, SASL_AUTHENTICATE, DESCRIBE_CLUSTER, 71, 72)}
    | _JOINING
    | _OF_MEMBERS
)


class AuditTarget(NamedTuple):
    """The release or broker to check clients against: name, API key → versions served, release (None: a broker)."""

    name: str
    serves: Mapping[int, Versions]
    release: str | None

    @classmethod
    def of_release(cls, release: str) -> AuditTarget:
        """The target that is a release, one of RELEASES."""
        return cls(release, api_versions_of_release(release), release)

    @classmethod
    def of_broker(cls, name: str, offered: Mapping[int, Versions]) -> AuditTarget:
        """The target that is a broker which offers these versions."""
        return cls(name, drop_unserved_produce_versions(offered), None)


class Use(NamedTuple):
    """One version of one API that one client used of one broker: how often, first and last time in ns."""

    broker: str
    key: int
    version: int
    times: int
    first: int
    last: int


class ClientOfAudit:
    """What is known of one client: addresses, libraries, uses, and whether it asks for versions (`asks`)."""

    __slots__ = ("addresses", "asks", "copies", "libraries", "uses")

    def __init__(self) -> None:
        self.copies = False  # whether it is a broker that fetches from others, by its client id
        self.addresses: set[str] = set()
        self.libraries: list[dict[str, Any]] = []
        self.uses: list[Use] = []
        self.asks = False

    def exchange_count(self) -> int:
        """How many exchanges it had."""
        return sum(use.times for use in self.uses)


# Client id (else host), and software of a client.
Who = tuple[str, str | None, str | None]
VERDICTS: Final = ("breaks", "unknown", "works")


class Audit:
    """Which versions of which APIs each client used of each broker, and which versions the brokers offered."""

    asks_history = True  # for libraries (exchanges/facts_from_earlier_exchanges.py)

    def __init__(self) -> None:
        # Uses are (broker, API key, version), or (library as JSON,).
        self._uses = ClientUses()
        self._offers = Tally(("broker", "api_key"), {"low": min, "high": max}, "APIs of brokers")
        self._offered = OfferedVersions()

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of the versions in answers to ApiVersions."""
        return OFFERED if api_key == API_VERSIONS and side == "response" else frozenset()

    def add(self, exchange: Exchange) -> None:
        """Count an exchange; one without API and version counts nowhere, nor does one inside an Envelope.

        That one has the version that a broker speaks, and may be the broker's own, as when it creates a topic for a
        client that asked for metadata.
        """
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None or exchange.envelope is not None:
            return
        software = exchange.client_software
        name, its = (software["name"], software["version"]) if software else (None, None)
        host, time_ns = host_of(exchange.connection_info.client), exchange.time_ns
        client = AuditedClient(exchange.client_id, host, name, its)
        self.count_use(client, exchange.connection_info.broker, (key, version), time_ns)
        library = library_in(exchange)
        if library is not None:
            use = (orjson.dumps(library).decode(),)
            self._uses.count_use(AuditedClient(exchange.client_id, host), use, 1, time_ns, time_ns)
        self.learn(exchange)

    def count_use(self, client: AuditedClient, broker: str, use: tuple[int, int], time_ns: int) -> None:
        """Count a request of a client to a broker; `use` is its API key and version."""
        self._uses.count_use(client, (broker, *use), 1, time_ns, time_ns)

    def learn(self, exchange: Exchange) -> None:
        """Learn what a broker offers from its answer to ApiVersions; other exchanges say nothing of it."""
        for key, versions in self._offered.read_changed_offer(exchange):
            self._offers.join_amounts((exchange.connection_info.broker, key), (versions.low, versions.high))

    def merge(self, other: Self) -> None:
        """Add the counts of `other`. Raises LimitExceeded."""
        self._uses.merge(other._uses)
        self._offers.merge(other._offers)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self._uses.export(), self._offers.export()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        uses, offers = state_fields(unpack(state), bytes, bytes)
        self._uses.resume(uses)
        self._offers.resume(offers)

    def rows(self, target: AuditTarget | None = None, *, is_partial: bool = False) -> list[Row]:
        """A row for each client and software, those that break first; against the newest release without a target.

        Of those that do not break, the rows that are too many are one row for each verdict, with `others`: how many.
        """
        return list(self.judge_clients(target, is_partial=is_partial))

    def judge_clients(self, target: AuditTarget | None = None, *, is_partial: bool) -> AuditVerdicts:
        """The verdicts of which `rows` makes rows, one by one where they are very many.

        `is_partial`: the inputs were not read to their end, so that nothing is known to work.
        """
        return AuditVerdicts(self, target or AuditTarget.of_release(RELEASES[-1]), is_partial=is_partial)

    def judge_brokers(self, release: str, *, is_partial: bool = False) -> list[Row]:
        """A row for each broker that said what it serves: whether it serves what clients of a release need.

        `is_partial`: the inputs were not read to their end; no broker is judged to work then.
        """
        fine = "unknown" if is_partial else "works"
        speaks = api_versions_of_release(release)
        rows = []
        for broker, offered in sorted(self.offered_versions_by_broker().items()):
            lacking = [
                {
                    "api": api(key).name,
                    "api_key": key,
                    "offers": _version_bounds(offered.get(key)),
                    "speaks": _version_bounds(speaks[key]),
                }
                for key in _CLIENT_APIS
                if key in speaks and not _share_a_version(speaks[key], offered.get(key))
            ]
            rows.append({"broker": broker, "verdict": "breaks" if lacking else fine, "apis": lacking})
        return sorted(rows, key=lambda row: row["verdict"])

    def offered_versions_by_broker(self) -> dict[str, dict[int, Versions]]:
        """Address of a broker → API key → the versions that it offers."""
        found: defaultdict[str, dict[int, Versions]] = defaultdict(dict)
        for row in self._offers.rows():
            if 0 <= row["low"] <= row["high"]:
                found[row["broker"]][row["api_key"]] = Versions(row["low"], row["high"])
        return found

    def clients(self) -> Iterator[tuple[Who, ClientOfAudit]]:
        """All clients, by client id (else address) and software."""
        return (each for _, some in self.clients_by_name() for each in some)

    def clients_by_name(
        self, wanted: Container[int] | None = None
    ) -> Iterator[tuple[int, list[tuple[Who, ClientOfAudit]]]]:
        """The clients by client id (else address) and software, in order: those of one name together, with a number.

        Only those with numbers in `wanted` are made (None: all).
        """
        for number, (_, texts) in enumerate(groupby(self._uses.list_client_texts(), name_in_client_text)):
            if wanted is None or number in wanted:
                used = [each for text in texts for each in self._uses.uses_of_client(text)]
                yield number, _gather_clients_of_one_name(used)


class AuditVerdicts:
    """The verdict on each client: `counts` of them, and rows, which are made when they are read."""

    def __init__(self, audit: Audit, target: AuditTarget, *, is_partial: bool) -> None:
        self._audit = audit
        self._target = target
        self._is_partial = is_partial
        self._offers = audit.offered_versions_by_broker()
        self.counts: Counter[str] = Counter()
        # By verdict: the clients that have rows, by name and among those of the name.
        self._shown: dict[str, set[int]] = {verdict: set() for verdict in VERDICTS}
        self._heavy: dict[str, list[tuple[int, int, int]]] = {verdict: [] for verdict in VERDICTS[1:]}
        self._judge_all_clients()

    def _judge_all_clients(self) -> None:
        """Judge all clients; of those that do not break, the heaviest are kept in heaps."""
        for number, clients in self._audit.clients_by_name():
            for at, (who, client) in enumerate(clients):
                verdict = self._judge_one_client(who, client)[0]
                self.counts[verdict] += 1
                heap = self._heavy.get(verdict)
                if heap is None:
                    self._shown[verdict].add(number)
                    continue
                item = (client.exchange_count(), -number, -at)
                if fits_row_limit(len(heap) + 1):
                    heappush(heap, item)
                else:
                    heappushpop(heap, item)
        for verdict, heap in self._heavy.items():
            self._shown[verdict] = {-number for _, number, _ in heap}

    def __bool__(self) -> bool:
        """Whether there is a client to judge."""
        return bool(self.counts)

    def __iter__(self) -> Iterator[Row]:
        """The rows, those that break first."""
        for verdict in VERDICTS:
            heavy = None if verdict not in self._heavy else {(-number, -at) for _, number, at in self._heavy[verdict]}
            for number, clients in self._audit.clients_by_name(self._shown[verdict]) if self._shown[verdict] else ():
                some = []
                for at, (who, client) in enumerate(clients):
                    judged = self._judge_one_client(who, client)
                    if judged[0] == verdict and (heavy is None or (number, at) in heavy):
                        some.append(self._make_client_row(who, client, judged))
                yield from sorted(some, key=str)
            others = 0 if heavy is None else self.counts[verdict] - len(heavy)
            if others:
                yield self._make_row_of_clients_left_out(verdict, others)

    def _judge_one_client(self, client_key: Who, client: ClientOfAudit) -> _Judged:
        """The verdict on a client; what was not read of the inputs may say the opposite of `works`."""
        judged = _judge_client(client, _software_of_client(client_key), self._offers, self._target)
        if self._is_partial and judged[0] == "works":
            return "unknown", f"{judged[1]}, but the traffic was not read to its end", judged[2]
        return judged

    def _make_client_row(self, client_key: Who, client: ClientOfAudit, judged: _Judged) -> Row:
        software = _software_of_client(client_key)
        return {
            "client_id": client_key[0],
            "client_software": software,
            "library": merge_libraries(client.libraries) if software is None else None,
            "addresses": sorted(client.addresses),
            **_make_verdict_columns(*judged, self._target),
        }

    def _make_row_of_clients_left_out(self, verdict: str, count: int) -> Row:
        nothing: Row = {"client_id": None, "client_software": None, "library": None, "addresses": []}
        why = f"{count:,} clients with fewer exchanges"
        return nothing | _make_verdict_columns(verdict, why, [], self._target) | {"others": count}


def _software_of_client(client_key: Who) -> Row | None:
    return None if client_key[1] is None else {"name": client_key[1], "version": client_key[2]}


def _gather_clients_of_one_name(used: Iterable[Used]) -> list[tuple[Who, ClientOfAudit]]:
    """The clients of one name, by software.

    A client says its software once: its uses without a software count for its software, if it has just one.
    """
    rows = list(used)
    softwares: defaultdict[tuple[str | None, str], set[tuple[str, str | None]]] = defaultdict(set)
    asking = set()
    for (client_id, host, name, version), use, *_ in rows:
        if name is not None:
            softwares[client_id, host].add((name, version))
        if use[1:2] == (API_VERSIONS,):
            asking.add((client_id, host))
    found: dict[Who, ClientOfAudit] = {}
    for (client_id, host, name, version), use, *amounts in rows:
        if len(use) == 1:
            who = client_id or host, None, None
            found.setdefault(who, ClientOfAudit()).libraries.append(orjson.loads(use[0]))
            continue
        if name is None and len(softwares[client_id, host]) == 1:
            ((name, version),) = softwares[client_id, host]
        client = found.setdefault((client_id or host, name, version), ClientOfAudit())
        client.addresses.add(host)
        client.asks |= (client_id, host) in asking
        client.copies |= _FETCHER.fullmatch(client_id or "") is not None
        client.uses.append(Use(*use, *amounts))
    return [(who, client) for who, client in found.items() if client.uses]


# APIs that no kind of client can do without; `Audit.brokers` looks at these.
_CLIENT_APIS: Final = (
    *(PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP),
    *(HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, API_VERSIONS),
)


_Judged = tuple[str, str, list[Use]]


def _judge_client(
    client: ClientOfAudit,
    software: Mapping[str, str | None] | None,
    offers: Mapping[str, Mapping[int, Versions]],
    target: AuditTarget,
) -> _Judged:
    """The verdict on a client, the reason for it, and the uses that show it."""
    broken: list[Use] = []
    unsure: list[tuple[Use, str]] = []
    for use in client.uses:
        verdict, reason = _judge_use(use, client, software, offers.get(use.broker, {}), target)
        if verdict == "breaks":
            broken.append(use)
        elif verdict == "unknown":
            unsure.append((use, reason))
    if broken:
        why = _describe_broken_uses(broken, target)
        if any(use.key in _DROPPED for use in broken):
            why += "; brokers send them to each other as long as ZooKeeper is used: migrate to KRaft first"
        elif any(use.key == FETCH for use in broken) and client.copies:
            why += "; brokers replicate with them: raise inter.broker.protocol.version first"
        return "breaks", why, broken
    if unsure:
        return "unknown", unsure[0][1], [use for use, _ in unsure]
    if _library_speaks_what_target_serves(software, target):
        return "works", "its library speaks versions that are served", []
    lacking = _describe_unseen_role({use.key for use in client.uses})
    if lacking:
        return "unknown", f"not seen: {lacking}", []
    return "works", "all versions that it used are served", []


def _judge_use(
    use: Use,
    client: ClientOfAudit,
    software: Mapping[str, str | None] | None,
    offered: Mapping[int, Versions],
    target: AuditTarget,
) -> tuple[str, str]:
    served = target.serves.get(use.key)
    if served is None:
        return ("breaks", "") if _has_dropped_api(use.key, target) else ("works", "")
    if use.version in served or use.key == API_VERSIONS:
        return "works", ""  # ApiVersions is answered in any version: with version 0 where it is not known
    if use.version > served.high:
        return ("works", "") if client.asks else ("breaks", "")
    if not client.asks:
        return "breaks", ""
    offer = offered.get(use.key)
    if offer is not None and _share_a_version(offer, served):
        return "breaks", ""
    speaks = _versions_java_client_speaks(software, use.key)
    if speaks is not None:
        return ("works", "") if _share_a_version(speaks, served) else ("breaks", "")
    if _library_speaks_what_target_serves(software, target):
        return "works", ""
    name = api(use.key).name
    if offer is None:
        return "unknown", f"the capture does not show which versions of {name} its broker offers"
    return "unknown", f"its broker offers {name} only up to {offer.high}: the client may speak newer versions too"


def _has_dropped_api(api_key: int, target: AuditTarget) -> bool:
    """Whether the target had the API and has dropped it. An API that it has never heard of is no fault of a client."""
    if api_key not in HISTORY:
        return False
    if target.release is None:
        return api_key in _DROPPED
    at = RELEASES.index(target.release)
    return any(RELEASES.index(name) < at for name in versions_of_api_by_release(api_key))


_DROPPED: Final = frozenset(
    key for key in HISTORY if versions_of_api_by_release(key) and RELEASES[-1] not in versions_of_api_by_release(key)
)


def _share_a_version(one: Versions | None, other: Versions | None) -> bool:
    return one is not None and other is not None and not (one & other).is_empty


def _version_bounds(versions: Versions | None) -> list[int] | None:
    return None if versions is None or versions.is_empty else [versions.low, versions.high]


def _release_of_java_client(software: Mapping[str, str | None] | None) -> str | None:
    """The release of a Java client, where it is a known release; else None."""
    if software is None or software["name"] != _JAVA or not software["version"]:
        return None
    try:
        return parse_release_name(software["version"])
    except ValueError:
        return None


def _versions_java_client_speaks(software: Mapping[str, str | None] | None, api_key: int) -> Versions | None:
    release = _release_of_java_client(software)
    return None if release is None else api_versions_of_release(release).get(api_key)


def _library_speaks_what_target_serves(software: Mapping[str, str | None] | None, target: AuditTarget) -> bool:
    """Whether the release of a library is known to speak all that clients need of the target."""
    release = _release_of_java_client(software)
    if release is not None:
        speaks = api_versions_of_release(release)
        return all(
            _share_a_version(speaks[key], target.serves.get(key))
            for key in _CLIENT_APIS
            if key in speaks and key in target.serves
        )
    name = (software or {}).get("name") or ""
    name = "librdkafka" if name.startswith("confluent-kafka") else name
    since = _BASELINE.get(name)
    if since is None or not software or (target.release is not None and not target.release.startswith(_BASELINE_LAST)):
        return False
    version = (software["version"] or "").rpartition("librdkafka-")[2] or ""
    return bool(version) and _parse_version_numbers(version) >= _parse_version_numbers(since)


def _parse_version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in _NUMBER.findall(version)[:3])


def _describe_unseen_role(keys: set[int]) -> str:
    """Words for the role of a client that was not seen from its beginning; empty where there is none."""
    if not keys & {API_VERSIONS, METADATA}:
        return "how it connects"
    if keys & _OF_MEMBERS and not keys & _JOINING:
        return "how it joins its group"
    if not keys - _FINDING_ITS_WAY:
        return "whether it produces or fetches"
    return ""


def _describe_broken_uses(broken: Iterable[Use], target: AuditTarget) -> str:
    """The versions that break, most used first: `Fetch 2 (4 to 17 are served), Produce 1 (3 to 12 are served)`."""
    counts: defaultdict[int, int] = defaultdict(int)
    lows: dict[int, set[int]] = defaultdict(set)
    for use in broken:
        counts[use.key] += use.times
        lows[use.key].add(use.version)
    parts = []
    for key in sorted(counts, key=lambda each: (-counts[each], each)):
        versions = ", ".join(map(str, sorted(lows[key])))
        served = target.serves.get(key)
        what = "is gone" if served is None else f"{served.low} to {served.high} are served"
        parts.append(f"{api(key).name} {versions} ({what})")
    return ", ".join(parts)


def _first_java_release_for(uses: Iterable[Use], target: AuditTarget) -> str | None:
    """The first release whose Java client speaks a served version of each of these APIs; None where one is gone."""
    since = []
    for use in uses:
        served = target.serves.get(use.key)
        if served is None:
            return None
        since.append(
            next((name for name, its in versions_of_api_by_release(use.key).items() if its.high >= served.low), None)
        )
    known = [name for name in since if name is not None]
    return max(known, key=RELEASES.index) if known and len(known) == len(since) else None


def _make_verdict_columns(verdict: str, why: str, uses: list[Use], target: AuditTarget) -> Row:
    """The part of a row that is the verdict; uses of one version with several brokers are added up."""
    found: dict[tuple[int, int], list[int]] = {}
    for use in uses:
        before = found.setdefault((use.key, use.version), [0, use.first, use.last])
        before[0] += use.times
        before[1], before[2] = min(before[1], use.first), max(before[2], use.last)
    return {
        "verdict": verdict,
        "why": why,
        "needs": _first_java_release_for(uses, target) if verdict == "breaks" else None,
        "apis": [
            {
                "api": api(key).name if key in NAMES else f"UNKNOWN({key})",
                "api_key": key,
                "api_version": version,
                "serves": _version_bounds(target.serves.get(key)),
                "count": count,
                "first": format_rfc3339(first),
                "last": format_rfc3339(last),
            }
            for (key, version), (count, first, last) in sorted(found.items())
        ],
    }
