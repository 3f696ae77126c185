"""Exchanges in, the advisories that clients and brokers are affected by out: the fold of `kw audit --advisories`.

Theory of operation. Two things are told apart: whether a version is affected, and whether the capture shows something:

```
client ─► names its release?  no ─► its library's traits ─► some releases of an advisory ─► maybe ┐
   │yes                                                  └► none, or no library known ─► unknown  ├─► verdict
   └► a vendor's build? ─► its line of Kafka ─► maybe · unknown line ─► unknown                   │
   └► a release of Kafka ─► affected · not affected                                               ┘
broker ─► versions that it offers ─► its line of releases, never its patch ─► maybe at most
findings of attack_observations.py ─► seen: trigger · attempt · damage
```

What always holds: a client that names no release is never said not to be affected; a broker is `maybe` at most, since
it shows its line of releases alone, and vendors mend a release without changing what it offers; what a source does not
say for certain is `maybe`. A subject without an advisory has one row, whose `id` is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.advisories.attack_observations import (
    ATTACK_FINDINGS,
    ATTACKS,
    count_batch_tries,
    format_release_lines,
    infer_releases_of_broker,
    observe_attack,
)
from decoders.analysis.client_compatibility import Audit
from decoders.analysis.doctor.diagnosis_input import Case
from decoders.analysis.doctor.find_problems import make_finding_row
from decoders.analysis.doctor.observations import Observations, sort_names_by_count
from decoders.analysis.doctor.slow_brokers import BrokerLatencies
from decoders.analysis.doctor.thresholds import Thresholds
from decoders.analysis.exchange_facts import OFFERED
from decoders.analysis.read_dimension_values import DIMENSIONS, client_of
from decoders.exchanges.find_client_library import BROKER, find_program_of_client_id, format_library, merge_libraries
from decoders.exchanges.topic_arrays import topic_array_paths
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.advisories import (
    ADVISORIES,
    JAVA,
    SIGNS,
    Advisory,
    ReleaseRange,
    Sign,
    Where,
    classify_overlap,
    find_kafka_releases_of_client,
    format_affected_releases,
    make_release_range_of_lines,
    parse_release_numbers,
)
from decoders.protocol_facts.api_keys import API_VERSIONS, PRODUCE
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.client_compatibility import ClientOfAudit, Use, Who
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side, Versions

__all__ = ["ADVISORY_VERDICTS", "AdvisoryAudit", "is_finding_row"]

ADVISORY_VERDICTS: Final = ("affected", "maybe", "unknown", "not_affected")
_topics_of: Final = DIMENSIONS["topic"].get
# The most topics that a row names.
_LISTED: Final = 20
# The last line of releases whose Java client does not name itself (KIP-511).
_NAMELESS_UNTIL: Final = "2.3"
_PLAIN: Final = re.compile(r"\d+(?:\.\d+){1,3}")


class _Judged(NamedTuple):
    """A verdict of one advisory, and the reason for it."""

    advisory: Advisory
    verdict: str
    why: str


class _Times:
    """How often something was used, when first and last in ns."""

    __slots__ = ("count", "first", "last")

    def __init__(self) -> None:
        self.count = self.first = self.last = 0

    def add(self, use: Use) -> None:
        """Count a use."""
        self.first = min(self.first, use.first) if self.count else use.first
        self.last = max(self.last, use.last)
        self.count += use.times

    def columns(self) -> Row:
        """The columns of a row."""
        first, last = (format_rfc3339(at) if self.count else None for at in (self.first, self.last))
        return {"count": self.count, "first": first, "last": last}


def is_finding_row(row: Row) -> bool:
    """Whether a row of the answer is a finding: the version is affected, or the capture shows more than a version.

    A trigger alone harms nobody who is not affected.
    """
    if row["seen"] == "trigger":
        return row["verdict"] in ("affected", "maybe", "unknown")
    return row["verdict"] == "affected" or row["seen"] is not None


class AdvisoryAudit:
    """The clients and brokers of the exchanges that were added, what clients write, and what attacks were seen."""

    asks_history = True  # for libraries (exchanges/facts_from_earlier_exchanges.py)

    def __init__(self) -> None:
        self._audit = Audit()
        self._seen = Observations()

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of versions that brokers offer, of batches that producers send, and those that attacks show."""
        offered = OFFERED if api_key == API_VERSIONS and side == "response" else frozenset()
        batches = topic_array_paths(PRODUCE, side) if api_key == PRODUCE else frozenset()
        attacks = ATTACKS[api_key].needs(side) if api_key in ATTACKS else frozenset()
        return offered | batches | attacks

    def add(self, exchange: Exchange) -> None:
        """Count an exchange; one inside an Envelope has the version of the broker that forwards it."""
        if exchange.api_key is None or exchange.envelope is not None:
            return
        self._audit.add(exchange)
        exchange._read_sides()
        client = client_of(exchange.client_id, exchange.client)
        if exchange.api_key == PRODUCE:
            count_batch_tries(self._seen, exchange, client)
            writes = self._seen.get_or_make("writes", client)
            writes.count_exchange(exchange)
            for topic in _topics_of(exchange):
                writes.count_name("topics", topic)
        observe_attack(self._seen, exchange, client)
        if exchange.mechanism:
            for kind, subject in (("client", client), ("broker", exchange.connection_info.broker)):
                self._seen.get_or_make("mechanisms", kind, subject).count_name("names", exchange.mechanism)

    def learn(self, exchange: Exchange) -> None:
        """Learn what a broker offers from its answer to ApiVersions; other exchanges say nothing of it."""
        self._audit.learn(exchange)

    def merge(self, other: Self) -> None:
        """Add the counts of `other`. Raises LimitExceeded."""
        self._audit.merge(other._audit)
        self._seen.merge(other._seen)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self._audit.export(), self._seen.export()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        audit, seen = state_fields(unpack(state), bytes, bytes)
        self._audit.resume(audit)
        self._seen.resume(seen)

    def rows(self) -> list[Row]:
        """A row for each subject and advisory that it is or may be affected by, or of which more was seen; worst first.

        A subject without one has a row without `id`.
        """
        offers = self._audit.offered_versions_by_broker()
        findings = self._find_attacks(offers)
        rows: list[Row] = []
        brokers = {broker: _Times() for broker in offers}
        for who, client in self._audit.clients():
            rows += self._judge_client(who, client, findings)
            for use in client.uses:
                brokers.setdefault(use.broker, _Times()).add(use)
        for broker, times in brokers.items():
            rows += self._judge_broker(broker, offers.get(broker), times, findings)
        return sorted(rows, key=_rank_advisory_row)

    def _find_attacks(self, offers: Mapping[str, Mapping[int, Versions]]) -> list[Row]:
        listed = {(broker, key): its for broker, offered in offers.items() for key, its in offered.items()}
        case = Case(self._seen, {}, BrokerLatencies(), listed, [], Thresholds())
        return [make_finding_row(found) for look in ATTACK_FINDINGS for found in look(case)]

    # Clients

    def _judge_client(self, client_key: Who, client: ClientOfAudit, findings: list[Row]) -> Iterator[Row]:
        name, software, version = client_key
        program = (find_program_of_client_id(name) or {"name": ""})["name"]
        if program == BROKER:
            return  # a broker, which has rows of its own
        library = merge_libraries(client.libraries) if software is None else None
        writes = self._seen.get_observation("writes", name)
        topics = [] if writes is None else sort_names_by_count(writes.names.get("topics", {}))
        times = _Times()
        for use in client.uses:
            times.add(use)
        about: Row = {
            "client_id": name,
            "client_software": None if software is None else {"name": software, "version": version},
            "library": library,
            "addresses": sorted(client.addresses),
            "broker": None,
            "release": None,
            "topics": topics[:_LISTED],
            **times.columns(),
        }
        own = [row for row in findings if row.get("client_id") == name]
        judged, rest = _judge_software(software, version, library, _advisory_places_of_client(name, program))
        mechanisms = self._mechanism_names_of_subject("client", name)
        doing = f"; it writes {', '.join(topics[:3])}{' …' if len(topics) > 3 else ''}" if topics else ""
        told = [
            its._replace(why=f"{its.why}{_describe_further_conditions(its.advisory, mechanisms)}{doing}")
            for its in judged
        ]
        yield from _make_advisory_rows(told, rest, about, own, _CLIENT_SIGNS)

    def _mechanism_names_of_subject(self, kind: str, subject: str) -> frozenset[str]:
        its = self._seen.get_observation("mechanisms", kind, subject)
        return frozenset() if its is None else frozenset(its.names.get("names", ()))

    # Brokers

    def _judge_broker(
        self, broker: str, offered: Mapping[int, Versions] | None, times: _Times, findings: list[Row]
    ) -> Iterator[Row]:
        release = infer_releases_of_broker(offered or {})
        about: Row = {
            "client_id": None,
            "client_software": None,
            "library": None,
            "addresses": [],
            "broker": broker,
            "release": None if release is None else format_release_lines(release),
            "topics": [],
            **times.columns(),
        }
        mechanisms = self._mechanism_names_of_subject("broker", broker)
        judged = [] if release is None else [*_judge_release_of_broker(release, mechanisms)]
        if release is not None:
            rest = "not_affected", f"no advisory is about Kafka {format_release_lines(release)}"
        elif offered:
            rest = "unknown", "what it offers is not what a release of Kafka offers"
        else:
            rest = "unknown", "not seen: which versions it offers"
        own = [row for row in findings if row.get("broker") == broker]
        yield from _make_advisory_rows(judged, rest, about, own, _BROKER_SIGNS)


def _rank_advisory_row(row: Row) -> tuple[Any, ...]:
    """Findings first, then by verdict; clients before brokers, the newest advisory first."""
    number = _ORDER.get(row["id"], len(_ORDER))
    name = row["client_id"] if row["broker"] is None else row["broker"]
    worst = not is_finding_row(row), ADVISORY_VERDICTS.index(row["verdict"]), row["broker"] is not None
    return *worst, name, str(row["client_software"]), number


_ORDER: Final[dict[str | None, int]] = {advisory.id: number for number, advisory in enumerate(ADVISORIES)}
_CLIENT_SIGNS: Final = tuple(each for each in ADVISORIES if each.signs and "client" in each.where)
_BROKER_SIGNS: Final = tuple(each for each in ADVISORIES if each.signs and "broker" in each.where)


def _make_advisory_rows(
    judged: Iterable[_Judged],
    rest: tuple[str, str],
    about: Row,
    findings: list[Row],
    signed: Iterable[Advisory],
) -> Iterator[Row]:
    """The rows of a subject: of what it is or may be affected by, then of what else was seen; else one, `rest`."""
    seen = {each.id: _find_gravest_sign(each, findings) for each in signed}
    known = {its.advisory.id for its in judged}
    # Who is not affected meets a trigger without harm.
    wanted = SIGNS[1:] if rest[0] == "not_affected" else SIGNS
    others = [_Judged(each, *rest) for each in signed if each.id not in known and seen[each.id][0] in wanted]
    rows = 0
    for its in (*judged, *others):
        rows += 1
        sign, shown = seen.get(its.advisory.id, (None, []))
        # Another library, or a release that is mended, may have the same damage from another cause.
        verdict = "affected" if sign == "damage" and its.verdict != "not_affected" else its.verdict
        yield _make_advisory_row(its.advisory, verdict, its.why, sign, shown, about)
    if not rows or rest[0] == "unknown":
        yield _make_advisory_row(None, *rest, None, [], about)


def _find_gravest_sign(advisory: Advisory, findings: list[Row]) -> tuple[Sign | None, list[Row]]:
    """The gravest sign of an advisory among the findings, and all findings that are signs of it."""
    shown = [row for row in findings if row["id"] in advisory.signs]
    return max((advisory.signs[row["id"]] for row in shown), key=SIGNS.index, default=None), shown


def _make_advisory_row(
    advisory: Advisory | None, verdict: str, why: str, sign: Sign | None, findings: list[Row], about: Row
) -> Row:
    return {
        "id": None if advisory is None else advisory.id,
        "verdict": verdict,
        "seen": sign,
        "where": "broker" if about["broker"] is not None else "client",
        **about,
        "effect": None if advisory is None else advisory.effect,
        "affected": None if advisory is None else format_affected_releases(advisory),
        "fixed": [] if advisory is None else [*advisory.fixed],
        "since": None if advisory is None else advisory.published,
        "url": None if advisory is None else advisory.address,
        "why": why,
        "findings": [{"id": row["id"], "title": row["title"]} for row in findings],
        "evidence": [each for row in findings for each in row["evidence"]][:3],
    }


def _advisory_places_of_client(client_id: str, program: str) -> frozenset[Where]:
    """What a client is to advisories, by the program that made its client id."""
    if program in ("Kafka Streams", "ksqlDB"):
        return frozenset({"client", "streams"})
    if program == "Kafka Connect" or client_id.startswith("connect-"):
        return frozenset({"client", "connect"})
    return frozenset({"client"})


def _describe_further_conditions(advisory: Advisory, mechanisms: frozenset[str]) -> str:
    """What it takes besides the version: what the capture shows of it, and what no capture shows."""
    told = ""
    if advisory.mechanism:
        used = any(name.startswith(advisory.mechanism) for name in mechanisms)
        told = f"; logins with {advisory.mechanism} were {'seen' if used else 'not seen'}"
    return f"{told}; it also takes what no capture shows: {advisory.unseen}" if advisory.unseen else told


def _judge_software(
    software: str | None, version: str | None, library: Mapping[str, Any] | None, kinds: frozenset[Where]
) -> tuple[list[_Judged], tuple[str, str]]:
    """The advisories that a client is or may be affected by, and the verdict and reason for all others."""
    if software is None:
        return _judge_library(library, kinds)
    about = [each for each in ADVISORIES if each.library == software and not kinds.isdisjoint(each.where)]
    name = f"{software} {version}"
    if not about:
        return [], ("not_affected", f"kw knows no advisory about {software}")
    release = _find_releases_of_software(software, version or "")
    if release is None:
        return [], ("unknown", f"{name}: no table says which release it is")
    judged = [its for each in about if (its := _judge_release(each, release, name, kinds)) is not None]
    return judged, ("not_affected", f"no advisory is about {name}")


def _find_releases_of_software(software: str, version: str) -> ReleaseRange | None:
    if software == JAVA:
        return find_kafka_releases_of_client(version)
    return (
        ReleaseRange(parse_release_numbers(version), parse_release_numbers(version))
        if _PLAIN.fullmatch(version)
        else None
    )


def _judge_release(advisory: Advisory, release: ReleaseRange, name: str, kinds: frozenset[Where]) -> _Judged | None:
    """The verdict of an advisory on a client that names its release; None where it is not about the release."""
    found = {classify_overlap(release, *span) for span in advisory.affected} - {"none"}
    doubts = [why for first, last, why in advisory.doubtful if classify_overlap(release, first, last) != "none"]
    if not found and not doubts:
        return None
    if release.vendor:
        line = ".".join(map(str, release.first[:2]))
        return _Judged(
            advisory, "maybe", f"{name} is {release.vendor}'s build of Kafka {line}, which may have been mended"
        )
    if not found:
        return _Judged(advisory, "maybe", f"{name}: {doubts[0]}")
    why = f"{name} is one of {format_affected_releases(advisory)}"
    if "client" in advisory.where:
        return _Judged(advisory, "affected", why)
    what = "Kafka Connect" if "connect" in kinds else "Kafka Streams"
    return _Judged(advisory, "maybe", f"{why}, by its client; its client id is one of {what}")


def _judge_library(library: Mapping[str, Any] | None, kinds: frozenset[Where]) -> tuple[list[_Judged], tuple[str, str]]:
    """Verdicts on a client that does not name itself, by the releases that its traits fit."""
    if library is None:
        return [], ("unknown", "it names no library, and its traits fit none for certain")
    looks = f"it does not name its release; by its traits it is {format_library(library)}"
    last = library["to"]
    if last is None and library["name"] == JAVA:
        looks, last = f"{looks}, before 2.4, from which on it names itself", _NAMELESS_UNTIL
    release = make_release_range_of_lines(library["from"] or "0", last or "9999")
    judged = []
    for each in ADVISORIES:
        if each.library != library["name"] or kinds.isdisjoint(each.where):
            continue
        spans = [*each.affected, *((first, last) for first, last, _ in each.doubtful)]
        if any(classify_overlap(release, *span) != "none" for span in spans):
            judged.append(_Judged(each, "maybe", f"{looks}; {format_affected_releases(each)} are affected"))
    return judged, ("unknown", looks)


def _judge_release_of_broker(release: ReleaseRange, mechanisms: frozenset[str]) -> Iterator[_Judged]:
    """The advisories that a broker of these lines of releases may be affected by."""
    line = format_release_lines(release)
    for each in ADVISORIES:
        if "broker" not in each.where or each.library != JAVA:
            continue
        found = [span for span in each.affected if classify_overlap(release, *span) != "none"]
        doubts = [why for first, last, why in each.doubtful if classify_overlap(release, first, last) != "none"]
        if not found and not doubts:
            continue
        releases = format_affected_releases(each)
        why = f"it offers what Kafka {line} does, and its patch cannot be seen; {releases} are affected"
        if not found:
            why += f" ({doubts[0]})"
        yield _Judged(each, "maybe", why + _describe_further_conditions(each, mechanisms))
