"""Observations in, findings out, worst first: each function looks for one kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from decoders.analysis.doctor.findings import CODES, FINDINGS, OTHER, SEVERITIES, Severity
from decoders.analysis.doctor.observations import Observation, Observations, most_named
from decoders.analysis.fold import percentile
from decoders.apis import NAMES, api
from decoders.apis.error_codes import ERRORS, error_name
from decoders.apis.keys import METADATA
from decoders.apis.remedies import REMEDIES
from decoders.frames.framing import BEGINS_LATE
from decoders.wire.units import format_latency, format_size

if TYPE_CHECKING:
    from decoders.analysis.doctor.thresholds import Thresholds
    from decoders.analysis.fold import Row
    from decoders.analysis.statistics import GroupStatistics
    from decoders.schema.model import Versions

__all__ = ["ABOUT", "diagnose"]

_NS: Final = 1_000_000_000
_MS: Final = 1_000_000
# Names that a finding lists.
_LISTED: Final = 20
# Metadata, Produce, Fetch, ListOffsets …: what a client whose topic does not exist asks again and again.
_HERE: Final = ("localhost", "localhost.localdomain", "ip6-localhost")


class Found(NamedTuple):
    """One finding before it is a row: `values` fill the title and are keys of the row, but those with None."""

    id: str
    severity: Severity
    seen: Observation
    values: dict[str, Any]
    code: int | None = None


class Case:
    """What all the functions below look at."""

    def __init__(
        self,
        seen: Observations,
        done: Mapping[tuple[str, int, str | None], int],
        latencies: Mapping[tuple[str, int], GroupStatistics],
        offers: Mapping[tuple[str, int], Versions],
        faults: list[str],
        limits: Thresholds,
    ) -> None:
        self.seen = seen
        self.done = done
        self.latencies = latencies
        self.offers = offers
        self.faults = faults
        self.limits = limits
        self.brokers = {broker for (_, _, broker), _ in seen.of("client")}
        self.topics = {topic for (topic,), _ in seen.of("topic")}
        self.answered: dict[tuple[str, int], int] = {}
        for (client, key, _), time_ns in done.items():
            self.answered[client, key] = max(self.answered.get((client, key), 0), time_ns)
        self.last = max((its.last for _, its in seen.of("client")), default=0)

    def found(self, kind: str, seen: Observation, **values: Any) -> Found:
        """A finding of this kind, as bad as its table says."""
        return Found(kind, FINDINGS[kind].severity, seen, values)


def diagnose(
    seen: Observations,
    done: Mapping[tuple[str, int, str | None], int],
    latencies: Mapping[tuple[str, int], GroupStatistics],
    offers: Mapping[tuple[str, int], Versions],
    faults: list[str],
    limits: Thresholds,
) -> list[Row]:
    """A row for each finding, worst first, then by how often.

    `done`: client, API, subject → when that last went well, in ns. `latencies` by broker and API, in ns.
    """
    case = Case(seen, done, latencies, offers, faults, limits)
    rows = [_row(found) for look in _EXAMINATIONS for found in look(case)]
    return sorted(rows, key=lambda row: (SEVERITIES.index(row["severity"]), -row["count"], row["id"], row["title"]))


def _row(found: Found) -> Row:
    kind, seen = FINDINGS[found.id], found.seen
    values = {name: value for name, value in found.values.items() if value is not None}
    words = defaultdict(str, {name: _words(value) for name, value in values.items()})
    meaning, remedy = kind.meaning.format_map(words), kind.remedy
    if found.code is not None:
        error = ERRORS.get(found.code)
        meaning = meaning or (error.meaning if error else "an error code that has no name yet")
        remedy = remedy or REMEDIES.get(found.code, "")
    return {
        "id": found.id,
        "severity": found.severity,
        "title": kind.title.format_map(words),
        **seen.times(),
        **{name: value for name, value in values.items() if name in ABOUT},
        "evidence": seen.evidence_rows(),
        "meaning": meaning,
        "remedy": remedy,
    }


# Keys of a row that say what a finding is about; all others only fill its title.
ABOUT: Final = frozenset(
    {
        *("client_id", "clients", "topic", "topics", "partition", "partitions", "group", "transactional_id"),
        *("broker", "node_id", "address", "api", "api_version", "error", "went_on", "nearest_topic", "reasons"),
    }
)


def _words(value: Any) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - 3} more" if len(value) > 3 else ""
        return ", ".join(map(str, value[:3])) + more
    return str(value)


def _united(several: Iterable[Observation]) -> Observation:
    whole = Observation()
    for each in several:
        whole.merge(each)
    return whole


def _rate(seen: Observation, count: int) -> float:
    """How many a second over the time from the first to the last; over a second at least."""
    return count / max((seen.last - seen.first) / _NS, 1.0)


def _less(severity: Severity) -> Severity:
    return SEVERITIES[min(SEVERITIES.index(severity) + 1, len(SEVERITIES) - 1)]


def _name(key: int) -> str:
    return api(key).name if key in NAMES else f"UNKNOWN({key})"


# Error codes.


def _errors(case: Case) -> Iterator[Found]:
    """Codes by what they are about: one finding for all clients that met it."""
    met: dict[tuple[str, int, str, str | None], list[tuple[str, int, Observation]]] = defaultdict(list)
    for (code, key, client, kind, subject), seen in case.seen.of("error"):
        what = CODES.get(code, OTHER)
        if subject is None or what in ("login-failed", "version-refused", "controller-moved"):
            kind, subject = "client_id", client
            what = OTHER if what == "topic-unknown" else what  # of which topic, exchanges without bodies do not say
        if what == "broker-failed":
            for broker in seen.names.get("brokers", {}):
                met[what, code, "broker", broker].append((client, key, seen))
            continue
        met[what, code, kind, subject].append((client, key, seen))
    for (what, code, kind, subject), some in met.items():
        yield _told(case, what, code, kind, subject, some)


def _told(
    case: Case, what: str, code: int, kind: str, subject: str | None, some: list[tuple[str, int, Observation]]
) -> Found:
    whole = _united(seen for _, _, seen in some)
    about = subject if kind != "client_id" else None
    went_on = all(_went_on(case, client, key, about, seen) for client, key, seen in some)
    row = FINDINGS[what]
    severity = row.went_on if went_on else row.severity
    if not went_on and whole.count < case.limits["errors.few"]:
        severity = _less(severity)
    clients = Observation()
    for client, _, seen in some:
        clients.meet("clients", client, seen.count)
    names = most_named(clients.names["clients"])
    values: dict[str, Any] = {kind: subject, "error": error_name(code), "subject": _subject(kind, subject)}
    values["clients"] = names[:_LISTED]
    apis = {_name(key) for _, key, _ in some}
    values["api"] = apis.pop() if len(apis) == 1 else None
    partitions = whole.names.get("partitions")
    values["partitions"] = sorted(map(int, partitions))[:_LISTED] if partitions and kind == "topic" else None
    values["client"] = names[0]
    values["by"] = f" ({values['api']})" if values["api"] else ""
    brokers = [str(subject)] if kind == "broker" else most_named(whole.names.get("brokers", {}))
    values["broker"] = brokers[0] if len(brokers) == 1 or what == "version-refused" else None
    if what == "version-refused":
        versions = sorted(map(int, whole.names.get("versions", {"0": 1})))
        values |= {"api": values["api"] or _name(some[0][1]), "api_version": versions[0]}
        values["offered"] = _offered(case, values["broker"], some[0][1])
    if what == "topic-unknown" and subject is not None:
        near = get_close_matches(subject, sorted(case.topics - {subject}), 1, 0.75)
        values["nearest_topic"] = near[0] if near else None
        values["nearest"] = f" (is {near[0]} meant?)" if near and not went_on else ""
    values["went_on"] = went_on or None
    if what in ("login-failed", "version-refused") and not went_on:
        values["pace"] = _pace(case, whole)
    return Found(what, severity, whole, values, code)


def _pace(case: Case, seen: Observation) -> str | None:
    """How fast somebody tries again and again; None where it is no loop."""
    if seen.count < case.limits["loop.least"]:
        return None
    every = format_latency((seen.last - seen.first) / (seen.count - 1) / _MS)
    return f", {seen.count:,} times, every {every}"


def _went_on(case: Case, client: str, key: int, about: str | None, seen: Observation) -> bool:
    """Whether the client got the same done after the last error."""
    return case.done.get((client, key, about), 0) > seen.last


def _subject(kind: str, subject: str | None) -> str:
    nouns = {"topic": "topic", "group": "group", "transactional_id": "transactional id", "client_id": "client"}
    return f"{nouns[kind]} {subject}" if kind in nouns else f"{subject}"


def _offered(case: Case, broker: str | None, key: int) -> str:
    versions = case.offers.get((broker or "", key))
    if versions is not None:
        return f"{versions.low} to {versions.high}"
    known = any(where == broker for where, _ in case.offers)
    return "no version of it" if known else "other versions"


def _unanswered(case: Case) -> Iterator[Found]:
    """Requests that a connection's end left without an answer; a fetch that waits when a client leaves is none."""
    from decoders.analysis.exchange_facts import WAITING

    for (client, broker, key, version, closed), seen in case.seen.of("unanswered"):
        versions = case.offers.get((broker, key))
        known = versions is not None or any(where == broker for where, _ in case.offers)
        about = {"client": client, "clients": [client], "api": _name(key), "broker": broker}
        if known and (versions is None or not versions.low <= version <= versions.high):
            about |= {"api_version": version, "offered": _offered(case, broker, key), "pace": _pace(case, seen)}
            yield case.found("version-refused", seen, **about)
        elif key not in WAITING and seen.count >= case.limits["unanswered.least"]:
            then = "; asked again, it was answered" if case.answered.get((client, key), 0) > seen.last else None
            yield case.found("unanswered", seen, closed=_CLOSED.get(closed, closed), then=then, **about)


_CLOSED: Final = {"fin": "closed", "rst": "reset", "idle": "silent for hours"}


# Who reaches whom.


def _listeners(case: Case) -> Iterator[Found]:
    """Addresses that brokers advertise and clients cannot use."""
    for (asked, number, host, port), seen in case.seen.of("advertised"):
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        about = {"node_id": number, "address": address, "broker": asked, "clients": _clients(seen)}
        try:
            place = ip_address(host)
        except ValueError:
            place = None
        strangers = [name for name in seen.names.get("clients", ()) if not _is_loopback(name)]
        if place is not None and place.is_unspecified:
            yield case.found("advertised-wildcard", seen, **about)
        elif strangers and (host in _HERE or (place is not None and place.is_loopback)):
            yield case.found("advertised-loopback", seen, **about | {"clients": sorted(strangers)[:_LISTED]})
        elif _is_mapped(case, asked, host, port):
            yield case.found("advertised-elsewhere", seen, **about)


def _clients(seen: Observation) -> list[str]:
    return most_named(seen.names.get("clients", {}))[:_LISTED]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in _HERE


def _is_mapped(case: Case, asked: str, host: str, port: int) -> bool:
    """Whether a broker advertises its own host with a port that nobody connected to, and none that was."""
    here, _, _ = asked.rpartition(":")
    names = {host, f"[{host}]", *(("127.0.0.1", "[::1]") if host in _HERE else ())}
    if here not in names or any(f"{name}:{port}" in case.brokers for name in names):
        return False
    return (
        not any(
            f"{other}:{its}" == asked or (other in _HERE and _is_loopback(here) and asked.endswith(f":{its}"))
            for (_, _, other, its), _ in case.seen.of("advertised")
        )
        and len({number for (where, number, _, _), _ in case.seen.of("advertised") if where == asked}) == 1
    )


def _links(case: Case) -> Iterator[Found]:
    """Connections opened again and again; links that lose packets."""
    limits = case.limits
    by_client: dict[str, list[Observation]] = defaultdict(list)
    by_link: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for (client, host, broker), seen in case.seen.of("client"):
        by_client[client].append(seen)
        by_link[host, broker].append(seen)
    for client, some in by_client.items():
        whole = _united(some)
        opened = whole.sums.get("connections", 0)
        each = whole.count / opened if opened else 0
        many = opened >= limits["connections.least"] and _rate(whole, opened) >= limits["connections.rate"]
        if many and each <= limits["connections.exchanges"]:
            rate, exchanges = f"{_rate(whole, opened):.1f}", f"{each:.1f}"
            yield case.found("connection-churn", whole, client=client, client_id=client, rate=rate, exchanges=exchanges)
    for (host, broker), some in by_link.items():
        whole = _united(some)
        again = whole.sums.get("retransmitted", 0)
        if again >= limits["retransmitted.least"] and again >= limits["retransmitted.share"] * whole.count:
            share = f"{again / whole.count:.0%}"
            yield case.found("retransmissions", whole, host=host, broker=broker, share=share, clients=[host])


def _live(case: Case) -> Iterator[Found]:
    """What was found by looking at the cluster itself."""
    for (address, number, why), seen in case.seen.of("unreachable"):
        about = {"address": address, "node_id": number, "why": why.removeprefix(f"{address} ")}
        whom = address if number is None else f"node {number} at {address}"
        yield case.found("unreachable", seen, whom=whom, **about)
    for (broker, why), seen in case.seen.of("controller-silent"):
        yield case.found("controller-silent", seen, broker=broker, why=why.removeprefix(f"{broker} "))
    late = [(f"node {number} at {address}", seen) for (address, number), seen in case.seen.of("not-looked-at")]
    if late:
        yield case.found("not-looked-at", _united(seen for _, seen in late), brokers=[name for name, _ in late])
    releases: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
    for (release, number), seen in case.seen.of("release"):
        releases[release].append((number, seen))
    if len(releases) > 1:
        words = [f"{release} (node {_words([n for n, _ in its])})" for release, its in sorted(releases.items())]
        whole = _united(seen for its in releases.values() for _, seen in its)
        yield case.found("releases-differ", whole, releases="; ".join(words))
    features: dict[str, list[Observation]] = defaultdict(list)
    for (feature, _), seen in case.seen.of("feature"):
        features[feature].append(seen)
    for feature, some in features.items():
        level, most = max(each.most["level"] for each in some), min(each.most["most"] for each in some)
        if level < most:
            yield case.found("feature-behind", _united(some), feature=feature, level=level, most=most)
    for (number,), seen in case.seen.of("controller-clock"):
        if seen.most["apart"] >= case.limits["clock.apart"] * _NS:
            apart = format_latency(seen.most["apart"] / _MS)
            yield case.found("controller-clock", seen, node_id=number, apart=apart)


# Topics, partitions, brokers.


def _partitions(case: Case) -> Iterator[Found]:
    for kind, what in (("offline", "partition-offline"), ("short", "under-replicated")):
        # One finding for all partitions that lack the same nodes.
        found: dict[tuple[bool, tuple[str, ...]], dict[tuple[str, int], Observation]] = defaultdict(dict)
        for (topic, number), seen in case.seen.of(kind):
            known = case.seen.get("topic", topic)
            healed = known is not None and known.most.get("whole", 0) > seen.last
            nodes = tuple(sorted(seen.names.get("replicas", {})))
            found[healed, nodes][topic, number] = seen
        for (healed, nodes), some in found.items():
            whole = _united(some.values())
            topics = sorted({topic for topic, _ in some})
            values: dict[str, Any] = {"topics": topics[:_LISTED], "went_on": healed or None}
            if len(topics) == 1:
                values |= {"topic": topics[0], "partitions": sorted(number for _, number in some)[:_LISTED]}
            values["places"] = [f"{topic}-{number}" for topic, number in sorted(some)]
            values["replicas"] = f" (node {_words(list(nodes))})" if nodes else ""
            severity = FINDINGS[what].went_on if healed else FINDINGS[what].severity
            yield Found(what, severity, whole, values)


def _in_sync(case: Case) -> Iterator[Found]:
    """What leaders tell controllers of their followers: one finding for all partitions."""
    flapping, shrunk = {}, {}
    for (topic, number), seen in case.seen.of("isr"):
        (_, _), (_, last) = seen.edges["size"]
        if seen.count >= case.limits["isr.changes"]:
            flapping[topic, number] = seen
        elif last < seen.most["size"] and not _is_whole(case, topic, seen):
            shrunk[topic, number] = seen
    for what, some in (("isr-flapping", flapping), ("isr-shrunk", shrunk)):
        if some:
            whole = _united(some.values())
            topics = sorted({str(topic) for topic, _ in some})[:_LISTED]
            places = [f"{topic}-{number}" for topic, number in some]
            yield case.found(what, whole, topics=topics, places=places, changes=f"{whole.count:,}")


def _is_whole(case: Case, topic: str | None, seen: Observation) -> bool:
    """Whether metadata showed the topic with all its replicas later."""
    known = case.seen.get("topic", topic)
    return known is not None and known.most.get("whole", 0) > seen.last


def _brokers(case: Case) -> Iterator[Found]:
    """Brokers that are slower than their peers in the same work."""
    limits = case.limits
    by_api: dict[int, dict[str, float]] = defaultdict(dict)
    for (broker, key), group in case.latencies.items():
        if group.values >= limits["slow.exchanges"]:
            by_api[key][broker] = percentile(group.bins(), 50, group.low, group.high) / _MS
    for key, medians in by_api.items():
        for broker, ms in medians.items():
            peers = [other for name, other in medians.items() if name != broker]
            usual = median(peers) if peers else None
            if usual is None or ms < limits["slow.factor"] * usual or ms - usual < limits["slow.least"]:
                continue
            seen = _united(its for (_, _, where), its in case.seen.of("client") if where == broker)
            words = {"latency": f"{ms:.1f} ms", "peers": f"{usual:.1f} ms"}
            yield case.found("slow-broker", seen, broker=broker, api=_name(key), **words)


def _elections(case: Case) -> Iterator[Found]:
    seen = case.seen.get("election")
    if seen is not None:
        yield case.found("election", seen, nodes=most_named(seen.names["nodes"]))


# Groups, transactions.


def _groups(case: Case) -> Iterator[Found]:
    generations: dict[str, list[Observation]] = defaultdict(list)
    for (group, _), seen in case.seen.of("generation"):
        generations[group].append(seen)
    for group, some in generations.items():
        whole = _united(some)
        members = len(whole.names.get("clients", ()))
        its = case.seen.get("group", group)
        came = sum(its.names.get("came", {}).values()) if its is not None else 0
        least = max(case.limits["rebalance.generations"], case.limits["rebalance.per-member"] * max(members, came))
        if len(some) >= least:
            reasons = most_named(its.names.get("reasons", {}))[:_LISTED] if its is not None else []
            about = {"group": group, "clients": _clients(whole), "reasons": reasons or None}
            if its is not None:
                about |= {"cause": _cause(its), "waited": _longest(its)}
            yield case.found("rebalance-storm", whole, generations=len(some), members=members, **about)


_CAUSES: Final = {"came": "joins", "again": "joins again", "left": "leaves"}


def _cause(its: Observation) -> str | None:
    """Who made members wait most often, and by what."""
    found = [(count, name, what) for facet, what in _CAUSES.items() for name, count in its.names.get(facet, {}).items()]
    count, name, what = max(found, default=(0, "", ""))
    return f"; most often {name} {what} ({count:,} times)" if count > 1 else None


def _longest(its: Observation) -> str | None:
    waited = its.most.get("waited", 0)
    return f"; members waited up to {format_latency(waited / _MS)}" if waited >= _NS else None


def _transactions(case: Case) -> Iterator[Found]:
    limits = case.limits
    for (name,), seen in case.seen.of("transaction"):
        aborts, commits = seen.sums.get("aborts", 0), seen.sums.get("commits", 0)
        about = {"transactional_id": name, "clients": _clients(seen)}
        if aborts >= limits["aborts.least"] and aborts >= limits["aborts.share"] * (aborts + commits):
            yield case.found("transactions-abort", seen, aborts=aborts, transactions=aborts + commits, **about)
        begun = seen.most.get("begun", 0)
        if begun > seen.most.get("ended", 0) and case.last - begun >= limits["transaction.open"] * _NS:
            yield case.found("transaction-hangs", seen, open=format_latency((case.last - begun) / _MS), **about)


def _lags(case: Case) -> Iterator[Found]:
    limits = case.limits
    found: dict[tuple[str, str | None], list[tuple[int, int, Observation]]] = defaultdict(list)
    for (client, topic, _), seen in case.seen.of("lag"):
        (began_ns, before), (last_ns, after) = seen.edges["lag"]
        if last_ns - began_ns >= limits["lag.span"] * _NS:
            found[client, topic].append((before, after, seen))
    for (client, topic), some in found.items():
        before, after = sum(each[0] for each in some), sum(each[1] for each in some)
        if after >= limits["lag.records"] and after >= limits["lag.growth"] * before:
            whole = _united(seen for _, _, seen in some)
            about = {"client": client, "client_id": client, "topic": topic}
            yield case.found("lag-growing", whole, lag=f"{after:,}", before=f"{before:,}", **about)


# Producers and their records.


def _records(case: Case) -> Iterator[Found]:
    for (client, topic, how), seen in case.seen.of("crc"):
        yield case.found("records-corrupt", seen, client=client, client_id=client, topic=topic, how=how)
    old: dict[tuple[str, str], dict[str, Observation]] = defaultdict(dict)
    for (client, topic, does), seen in case.seen.of("old-format"):
        old[client, does][str(topic)] = seen
    for (client, does), its in old.items():
        about = {"client": client, "client_id": client, "topics": sorted(its)[:_LISTED], "does": does}
        yield case.found("old-format", _united(its.values()), **about)
    for (client,), seen in case.seen.of("clock"):
        ahead = seen.most.get("ahead", 0)
        if ahead >= case.limits["clock.ahead"] * _NS:
            yield case.found("clock-ahead", seen, client=client, client_id=client, ahead=format_latency(ahead / _MS))


def _producers(case: Case) -> Iterator[Found]:
    limits = case.limits
    for (client, topic), seen in case.seen.of("produce"):
        batches, records = seen.sums.get("batches", 0), seen.sums.get("records", 0)
        about = {"client": client, "client_id": client, "topic": topic}
        rate = _rate(seen, batches)
        small = batches and records / batches < limits["batch.records"]
        if small and batches >= limits["batch.least"] and rate >= limits["batch.rate"]:
            mean = f"{records / batches:.1f}"
            yield case.found("small-batches", seen, records=mean, rate=f"{rate:.0f}", **about)
        plain = seen.sums.get("plain", 0)
        if plain >= limits["plain.size"]:
            yield case.found("no-compression", seen, size=format_size(plain), **about)
    for (topic,), seen in case.seen.of("skew"):
        sizes = seen.names.get("partitions", {})
        total = sum(sizes.values())
        partition, most = max(sizes.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if len(sizes) >= 4 and total >= limits["skew.size"] and most >= limits["skew.share"] * total:
            writers = _united(its for (_, where), its in case.seen.of("produce") if where == topic)
            about = {"topic": topic, "partition": int(partition), "share": f"{most / total:.0%}"}
            yield case.found("skew", writers, **about)


def _load(case: Case) -> Iterator[Found]:
    limits = case.limits
    for (client,), seen in case.seen.of("fetch-waits"):
        if seen.count >= limits["fetch.waits"]:
            words = {"count": f"{seen.count:,}", "waited": format_latency(seen.sums["waited"] / seen.count / _MS)}
            yield case.found("fetch-waits", seen, client=client, client_id=client, **words)
    for (client, broker), seen in case.seen.of("throttle"):
        total = seen.sums["ms"]
        if total >= limits["throttle.total"]:
            words = {"total": format_latency(total), "most": format_latency(seen.most["ms"])}
            yield case.found("throttled", seen, client=client, client_id=client, broker=broker, **words)
    for (client, broker), seen in case.seen.of("sessions-lost"):
        if seen.count >= limits["sessions.lost"]:
            about = {"client": client, "client_id": client, "broker": broker}
            yield case.found("fetch-sessions-lost", seen, lost=f"{seen.count:,}", **about)
    for (client,), seen in case.seen.of("metadata"):
        rate = _rate(seen, seen.count)
        if seen.count >= limits["metadata.least"] and rate >= limits["metadata.rate"]:
            about = {"client": client, "client_id": client, "api": _name(METADATA)}
            yield case.found("metadata-storm", seen, rate=f"{rate:.1f}", **about)
    for (client, key, side), seen in case.seen.of("large"):
        if seen.most["size"] >= limits["huge.size"]:
            about = {"client": client, "client_id": client, "api": _name(key)}
            yield case.found("huge-frames", seen, side=side, size=format_size(seen.most["size"]), **about)


def _captures(case: Case) -> Iterator[Found]:
    for fault in case.faults:
        late = fault.startswith(BEGINS_LATE)
        yield case.found("capture-begins-late" if late else "capture", Observation(), fault=fault)
    if case.seen.left_out:
        yield case.found("left-out", Observation())


_EXAMINATIONS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    *(_captures, _live, _errors, _unanswered, _listeners, _links, _partitions, _in_sync, _brokers, _elections),
    *(_groups, _transactions, _lags, _records, _producers, _load),
)
