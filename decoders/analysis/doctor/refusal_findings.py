"""Observations in, findings out about requests, logins and connections that a broker refuses by closing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    MS,
    NS,
    Case,
    Found,
    describe_offered_versions,
    describe_retry_pace,
    escape_for_sentence,
    format_clock,
    merge_observations,
    most_frequent_clients,
    name_of_api_key,
    next_less_severe,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.ids_and_logins.shared_client_ids import describe_hosts_of_client
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.doctor.refused.explain_unanswered_requests import (
    explain_unanswered_requests,
    find_last_time_by_connection,
)
from decoders.analysis.doctor.refused.refused_handshakes import REFUSED_HANDSHAKES, is_kafka_address, speaks_protocol
from decoders.analysis.exchange_facts import WAITING
from decoders.analysis.read_dimension_values import host_of
from decoders.apis import api
from decoders.limits import NAMES_OBSERVED_MAX
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, PRODUCE
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import describe_duration, format_size

__all__ = ["REFUSALS", "are_writes_lost_with_sessions"]

# A request this much before the end of a session may still be refused for it: clocks of broker and capture, pauses.
_SLACK_MS: Final = 2000

# What is odd → words for it, and the likely reason.
_ODDITIES: Final[dict[str, tuple[str, str]]] = {
    "null": ("null in {path}", "null is not allowed there in this version"),
    "trailing": ("bytes behind the last field", "the writer used another version's layout, or wrote a field too many"),
    "embedded": ("{path} does not hold what it should", "the writer used another structure, or left its version out"),
    "other_version": ("the layout of another version", "the writer ignores the version that was asked for"),
    "tag_twice": ("a tagged field twice", "the writer appends tagged fields without looking"),
    "tag_order": ("tagged fields out of order", "the writer has to sort tagged fields by number"),
    "unsupported_version": (
        "a version that no release of Kafka has that kw knows",
        "the writer's version does not exist, or its bytes are in another place",
    ),
    "truncated": ("cut off at byte {offset}{place}", "it ends too early: {layout}"),
    "malformed": ("no sense at byte {offset}{place}", "a length or a value is impossible there: {layout}"),
}


def _describe_oddity(
    api_key: int, version: int | None, side: str, what: str, path: str, seen: Observation
) -> tuple[str, str]:
    """Words for what is odd about a side, and for the likely reason."""
    words, reason = _ODDITIES[what]
    offset = sort_names_by_count(seen.names["offsets"])[0]
    place = f" in {path}" if path else ""
    versions = api(api_key).message("request").flexible
    flexible = versions.low <= (version or 0) <= versions.high
    old = "a flexible version written with the old layout" if flexible else "written with another version's layout"
    layout = f"{old}, or cut by its writer"
    values = {"path": path or f"the {side}", "offset": offset, "place": place, "layout": layout}
    return words.format_map(values), reason.format_map(values)


def _find_odd_bytes(case: Case) -> Iterator[Found]:
    """Requests and answers with bytes that the protocol forbids, and whether the broker closed behind them."""
    for (client, broker, key, version, side, what, path), seen in case.seen.items_of_kind("odd"):
        fault, reason = _describe_oddity(key, version, side, what, path, seen)
        closed = seen.sums.get("closed", 0)
        about = {"client": client, "clients": [client], "broker": broker, "api": name_of_api_key(key)}
        about |= {
            "api_version": version,
            "fault": fault,
            "likely": reason,
            "tally": _format_tally_if_repeated(closed, seen.count),
        }
        if side == "response":
            yield case.make_finding("answer-odd", seen, **about)
        else:
            yield case.make_finding("request-closed" if closed else "request-odd", seen, **about)


def _format_tally_if_repeated(closed: int, count: int) -> str | None:
    return f", {closed:,} of {count:,} times" if count > 1 else None


def _find_refused_batches(case: Case) -> Iterator[Found]:
    for (client, broker), seen in case.seen.items_of_kind("lz4-linked"):
        yield case.make_finding("lz4-refused", seen, client=client, client_id=client, broker=broker)


def _find_misplaced_answers(case: Case) -> Iterator[Found]:
    """Answers out of order, answers twice, and answers with ids that nobody asked for: one finding for a broker."""
    for (broker, what), seen in case.seen.items_of_kind("misplaced"):
        yield case.make_finding(
            "answers-misplaced", seen, broker=broker, fault=_MISPLACED[what], clients=most_frequent_clients(seen)
        )


_MISPLACED: Final = {
    "out_of_order": "answers out of order",
    "wrong_id": "answers with correlation ids that no request has",
    "answered_twice": "answers a request twice",
}


def _find_foreign_protocols(case: Case) -> Iterator[Found]:
    """Connections that speak TLS or HTTP to a plaintext listener, plaintext to a TLS listener, or no Kafka at all."""
    for (host, broker, spoken), seen in case.seen.items_of_kind("foreign"):
        plain, closed = speaks_protocol(case, broker, "plaintext"), seen.sums.get("closed", 0)
        about = {"host": host, "clients": [host], "broker": broker, "tally": _describe_connections(closed, seen.count)}
        if spoken == "TLS":
            if closed and (plain or (is_kafka_address(case, broker) and not speaks_protocol(case, broker, "TLS"))):
                about["which"] = ", which speaks plaintext" if plain else ", which gives no byte of TLS back"
                yield case.make_finding("tls-to-plaintext", seen, **about)
        elif plain or speaks_protocol(case, broker, "TLS"):
            yield case.make_finding("not-kafka", seen, spoken=spoken or "bytes that are no Kafka", **about)
    for (host, broker), seen in case.seen.items_of_kind("unheard"):
        if _is_plaintext_refused(case, host, broker):
            tally = _describe_connections(seen.count, seen.count)
            yield case.make_finding("plaintext-to-tls", seen, host=host, clients=[host], broker=broker, tally=tally)


def _is_plaintext_refused(case: Case, host: str, broker: str) -> bool:
    """Whether a host's plaintext connections to a broker end without an answer, because the broker speaks TLS."""
    unheard = case.seen.get_observation("unheard", host, broker)
    if unheard is None or speaks_protocol(case, broker, "plaintext"):
        return False
    return speaks_protocol(case, broker, "TLS") or unheard.sums["alerts"] == unheard.count


def _describe_connections(closed: int, count: int) -> str:
    connections = f"{count:,} connection{'s' if count > 1 else ''}"
    if not closed:
        return connections
    return f"{connections}, {'' if closed == count else f'{closed:,} '}closed by the broker without an answer"


def _find_unanswered_requests(case: Case) -> Iterator[Found]:
    """Requests without an answer at the end of their connection, but for those that wait by design, such as fetches."""
    ended = case.compute_once(_gather_ended_sessions)
    hosts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for (client, host, broker), _ in case.seen.items_of_kind("client"):
        hosts[client, broker].add(host)
    by_link: dict[tuple[str, str], list[tuple[int, int, str, Observation]]] = defaultdict(list)
    unserved = case.compute_once(_gather_unserved_versions)
    for (client, broker, key, version), seen in unserved.items():
        about: dict[str, Any] = {"client": client, "clients": [client], "api": name_of_api_key(key), "broker": broker}
        about |= {"api_version": version, "pace": describe_retry_pace(case, seen)}
        about["offered"] = describe_offered_versions(case, broker, key)
        offered, fetch = case.offers.get((broker, key)), case.offers.get((broker, FETCH))
        is_old = offered is not None and version < offered.low
        about["since"] = _NO_OLDER_ONES if is_old and fetch is not None and fetch.low >= _FETCH_OF_KAFKA_4 else None
        yield case.make_finding("version-refused", seen, **about)
    for (client, broker, key, version, closed), seen in case.seen.items_of_kind("unanswered"):
        is_plain = any(_is_plaintext_refused(case, host, broker) for host in hosts[client, broker])
        if not is_plain and (client, broker, key, version) not in unserved:
            by_link[client, broker].append((key, version, closed, seen))
    closed_at_once = _find_hosts_closed_at_once(case)
    yield from closed_at_once.values()
    expired: dict[tuple[str, str], list[tuple[int, Observation]]] = {}
    for (client, broker), some in by_link.items():
        if sum(seen.count for *_, seen in some) <= _count_closed_at_once(
            closed_at_once, client, hosts[client, broker], broker
        ):
            continue
        if (client, broker) in ended:
            expired[client, broker] = ended[client, broker]
        elif _is_login_missing(case, client, broker, [seen for *_, seen in some]):
            yield _make_missing_login_finding(case, client, broker, some)
        else:
            without = [each for each in some if _is_first_without_login(case, broker, each[-1])]
            if without:
                yield _make_missing_login_finding(case, client, broker, without)
            yield from _find_closed_requests(case, client, broker, [each for each in some if each not in without])
    yield from _find_expired_logins(case, expired)


# The lowest version of Fetch that Kafka 4.0 serves, and what is said of brokers that begin there, as others may too.
_FETCH_OF_KAFKA_4: Final = 4
_NO_OLDER_ONES: Final = " and no older ones, as Kafka 4.0 and later do (KIP-896)"


def _gather_unserved_versions(case: Case) -> dict[tuple[str, str, int, int], Observation]:
    """Client, broker, API key and version → unanswered requests of a version that the broker does not serve."""
    found: dict[tuple[str, str, int, int], Observation] = {}
    known = {broker for broker, _ in case.offers}
    for (client, broker, key, version, _), seen in case.seen.items_of_kind("unanswered"):
        versions = case.offers.get((broker, key))
        if broker in known and (versions is None or not versions.low <= version <= versions.high):
            its = (client, broker, key, version)
            found[its] = merge_observations([found[its], seen]) if its in found else seen
    return found


def _count_explained_closings(case: Case, broker: str) -> dict[str, int]:
    """Client → how many of its requests a broker closed the connection on for what they are: version, odd bytes."""
    found: dict[str, int] = defaultdict(int)
    for (client, where, _, _), seen in case.compute_once(_gather_unserved_versions).items():
        found[client] += seen.count if where == broker else 0
    for (client, where, *_), seen in case.seen.items_of_kind("odd"):
        found[client] += seen.sums.get("closed", 0) if where == broker else 0
    return found


def _count_closed_at_once(
    closed_at_once: Mapping[tuple[str, str], Found], client: str, hosts: set[str], broker: str
) -> int:
    """How many connections of a client findings about its hosts are about."""
    its = [closed_at_once[host, broker] for host in hosts if (host, broker) in closed_at_once]
    return sum(found.seen.names["clients"].get(client, 0) for found in its)


def _describe_later_answers(case: Case, client: str, broker: str, key: int, seen: Observation) -> str | None:
    """Words for how the broker, or another one, answered a client's requests of an API later; None where none did."""
    answered = case.answered.get((client, key), 0)
    codes = {
        error_name(code)
        for (code, _, _, *_), its in case.find_matching_observations("error", (1, 2), (key, client))
        # Errors that ended long before the last success are over.
        if its.last > max(seen.last, answered - LASTING_NS) and broker in its.names.get("brokers", ())
    }
    if codes:
        return f"; asked again, it answered with {escape_for_sentence(sorted(codes))}"
    return "; asked again, it was answered" if answered > seen.last else None


def _find_closed_requests(
    case: Case, client: str, broker: str, some: list[tuple[int, int, str, Observation]]
) -> Iterator[Found]:
    for key, version, closed, seen in some:
        too_large = _find_refused_size(case, client, broker, key, seen)
        if too_large is not None:
            yield too_large
            continue
        about: dict[str, Any] = {"client": client, "clients": [client], "api": name_of_api_key(key), "broker": broker}
        about["topics"] = sort_names_by_count(seen.names.get("topics", {}))[:LISTED] or None
        entry = _find_accepted_but_unanswered(case, client, broker, seen) if key == API_VERSIONS else None
        if entry is not None:
            yield entry
        elif key == API_VERSIONS and closed != "idle" and not _are_versions_answered(case, client, broker):
            about |= {"api_version": version, "tally": _format_tally_if_repeated(seen.count, seen.count)}
            yield case.make_finding("versions-closed", seen, **about)
        elif key not in WAITING and seen.count >= case.limits["unanswered.least"]:
            then = _describe_later_answers(case, client, broker, key, seen)
            senders = {host_of(asked.partition(" ")[0]) for asked in seen.names.get("asked", ())}
            about["at"] = describe_hosts_of_client(case, client, senders)
            about |= explain_unanswered_requests(case, client, broker, closed, seen)
            yield case.make_finding("unanswered", seen, then=then, **about)


def _find_accepted_but_unanswered(case: Case, client: str, broker: str, unanswered: Observation) -> Found | None:
    """A finding where a broker takes connections of a client, which wait on them for an answer that does not come."""
    seen = case.seen.get_observation("never-answered", client, broker)
    if seen is None or seen.count < case.limits["unanswered.least"] or -seen.most["shortest"] < NS:
        return None
    others = _list_answered_clients(case, broker, {client}, unanswered.first)
    about: dict[str, Any] = {"client": client, "clients": [client], "broker": broker}
    about["others_served"] = f", while others there go on ({escape_for_sentence(others)})" if others else None
    about["lasted"] = describe_duration(seen.most["longest"] / MS)
    over = case.answered.get((client, API_VERSIONS), 0) > seen.last
    about["went_on"] = over or None
    kind = FINDINGS["entry-unanswered"]
    return Found("entry-unanswered", kind.went_on if over else kind.severity, seen, about)


def _list_answered_clients(case: Case, broker: str, but: set[str], since_ns: int) -> list[str]:
    """Other clients that a broker has answered since then, all of whose new connections it answers."""
    never_answered = {who for (who, where), _ in case.seen.items_of_kind("never-answered") if where == broker}
    return sorted(
        {
            who
            for (who, _, where), its in case.seen.items_of_kind("client")
            if where == broker and who not in but | never_answered and its.most.get("second", 0) * NS > since_ns
        }
    )


def _find_hosts_closed_at_once(case: Case) -> dict[tuple[str, str], Found]:
    """Host and broker → a finding where the broker closes new connections of the host at once, and serves others."""
    found = {}
    for (host, broker), seen in case.seen.items_of_kind("closed-at-once"):
        explained = _count_explained_closings(case, broker)
        names = {who: count for who, count in seen.names["clients"].items() if count > explained.get(who, 0)}
        others = _list_answered_clients(case, broker, {*seen.names["clients"]}, seen.first)
        is_headed = any(where == broker for (_, where, _), _ in case.seen.items_of_kind("head"))
        knows_versions = any(where == broker for where, _ in case.offers)
        few = sum(names.values()) < case.limits["unanswered.least"]
        if few or not others or is_headed or not knows_versions:
            continue
        about: dict[str, Any] = {"host": host, "clients": sort_names_by_count(names)[:LISTED], "broker": broker}
        families = sorted(_count_by_client_id_family(names), key=lambda name: (name.endswith("*"), name))
        about["whose"] = escape_for_sentence(families)
        stays = case.seen.get_observation("stays", host, broker)
        if stays is not None and stays.count >= _MANY_OPEN:
            about["others_served"] = (
                f": likely its limit for one address (max.connections.per.ip), as {_describe_open_connections(stays)}"
            )
        else:
            about["others_served"] = f", while others there go on ({escape_for_sentence(others)})"
        over = all(case.answered.get((client, API_VERSIONS), 0) > seen.last for client in names)
        about["went_on"] = over or None
        kind = FINDINGS["entry-closed"]
        found[host, broker] = Found("entry-closed", kind.went_on if over else kind.severity, seen, about)
    return found


# A few connections are those of any client.
_MANY_OPEN: Final = 10


def _describe_open_connections(stays: Observation) -> str:
    """Words for connections that stay open to the end of the capture, and whose most of them are."""
    names = stays.names["clients"]
    family, count = max(_count_by_client_id_family(names).items(), key=lambda item: (item[1], item[0]))
    whose = escape_for_sentence(family)
    if 2 * count < stays.count:
        return f"{stays.count:,} others of it are open"
    ids = sum(_client_id_family(name, names) == family for name in names)
    many = f"{'at least ' if len(names) >= NAMES_OBSERVED_MAX else ''}{ids:,}"
    of = f"{'all' if count == stays.count else f'{count:,}'} of {whose}"
    of += f" ({many} client ids)" if ids > 1 else ""
    begun = f", first seen from {format_clock(stays.first)[:8]} to {format_clock(stays.last)}"
    return f"{stays.count:,} others of it are open, {of}{begun}"


def _client_id_family(name: str, names: Collection[str]) -> str:
    """`worker-*` for a client id that ends in a number, and has others like it among the names."""
    stem = name.rstrip("0123456789")
    alike = stem and sum(other.rstrip("0123456789") == stem for other in names) > 1
    return f"{stem}*" if alike else name


def _count_by_client_id_family(names: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for name, count in names.items():
        found[_client_id_family(name, names)] += count
    return found


def _find_refused_size(case: Case, client: str, broker: str, key: int, unanswered: Observation) -> Found | None:
    """A finding where a broker closes on each request from some size on, and answers this client's smaller ones."""
    seen = case.seen.get_observation("size-refused", client, broker, key)
    taken = case.seen.get_observation("size-taken", broker)
    if seen is None or seen.count < max(unanswered.count, case.limits["size.least"]):
        return None
    size, most = -seen.most["least"], taken.most["size"] if taken is not None else 0
    if most >= size or (size < _LARGE and not _are_large_requests_reset_at_once(case, client, broker, key, seen)):
        return None
    about: dict[str, Any] = {"client": client, "clients": [client], "broker": broker, "api": name_of_api_key(key)}
    about |= {"size": format_size(size), "tally": _format_tally_if_repeated(seen.count, seen.count)}
    topics = sort_names_by_count(unanswered.names.get("topics", {}))[:LISTED]
    about["topics"] = topics or None
    about["to"] = f" to {escape_for_sentence(topics)}" if topics else None
    about["smaller"] = f", and answers those of up to {format_size(most)}" if most else None
    return case.make_finding("request-too-large", seen, **about)


# With requests of this size and more nothing but their size is likely.
_LARGE: Final = 1 << 20
# A broker closes as soon as it has read the size of a request that is too large; clients wait for longer.
_AT_ONCE_NS: Final = 3 * NS


def _are_large_requests_reset_at_once(case: Case, client: str, broker: str, key: int, refused: Observation) -> bool:
    """Whether a client's connections were reset at once after its large requests, while it has answers to others."""
    seen = case.seen.get_observation("cut-off", client, broker)
    asked, ended = (find_last_time_by_connection(seen, facet) for facet in ("asked", "ended"))
    waits = [ended[connection] - asked[connection] for connection in asked.keys() & ended.keys()]
    answers = (seen for (who, _, where), seen in case.seen.items_of_kind("client") if (who, where) == (client, broker))
    goes_on = any("second" in its.most and its.most["second"] * NS > refused.first for its in answers)
    at_once = len(waits) >= case.limits["unanswered.least"] and max(waits) < _AT_ONCE_NS
    return at_once and goes_on and (client, key) in case.answered


def _are_versions_answered(case: Case, client: str, broker: str) -> bool:
    """Whether the broker has answered another ApiVersions, or closes for another reason: a PROXY head before it."""
    if any(where == broker for (_, where, _), _ in case.seen.items_of_kind("head")):
        return True
    its = [seen for (who, _, where), seen in case.seen.items_of_kind("client") if (who, where) == (client, broker)]
    return any("versions" in seen.sums for seen in its) or any(where == broker for where, _ in case.offers)


def _is_login_missing(case: Case, client: str, broker: str, unanswered: list[Observation]) -> bool:
    """Whether a client without a login has answers to ApiVersions alone, and each first other request is closed."""
    whole = merge_observations(
        seen for (who, _, where), seen in case.seen.items_of_kind("client") if (who, where) == (client, broker)
    )
    versions, count = whole.sums.get("versions", 0), sum(seen.count for seen in unanswered)
    without = sum(seen.sums.get("without-login", 0) for seen in unanswered)
    return 0 < versions == whole.count - count and without == count <= versions


def _is_first_without_login(case: Case, broker: str, unanswered: Observation) -> bool:
    """Whether each of these requests was the first of a connection without a login, at a listener that takes logins.

    A listener wants a login of every connection or of none.
    """
    takes_logins = case.seen.get_observation("takes-logins", broker) is not None
    return takes_logins and unanswered.sums.get("first-without-login", 0) == unanswered.count


def _make_missing_login_finding(
    case: Case, client: str, broker: str, some: list[tuple[int, int, str, Observation]]
) -> Found:
    whole = merge_observations(seen for *_, seen in some)
    severity = FINDINGS["login-missing"].severity
    if whole.count < case.limits["errors.few"]:
        severity = next_less_severe(severity)
    apis = sorted({name_of_api_key(key) for key, *_ in some})
    about = {"client": client, "clients": [client], "broker": broker, "apis": apis}
    return Found(
        "login-missing", severity, whole, about | {"tally": _format_tally_if_repeated(whole.count, whole.count)}
    )


def _gather_ended_sessions(case: Case) -> dict[tuple[str, str], list[tuple[int, Observation]]]:
    """Client and broker, where all unanswered requests came after logins had run out → lifetimes in ms, sessions."""
    by_link: dict[tuple[str, str], list[tuple[int, Observation]]] = defaultdict(list)
    others: set[tuple[str, str]] = set()
    for (client, broker, _), seen in case.seen.items_of_kind("session"):
        at, lifetime_ms = seen.most.get("unanswered"), seen.most.get("lifetime")
        if at is None:
            continue
        if lifetime_ms and at >= seen.most["login"] + (lifetime_ms - _SLACK_MS) * MS:
            by_link[client, broker].append((lifetime_ms, seen))
        else:
            others.add((client, broker))
    return {link: some for link, some in by_link.items() if link not in others}


def _find_expired_logins(case: Case, links: Mapping[tuple[str, str], list[tuple[int, Observation]]]) -> Iterator[Found]:
    """Logins whose lifetime ran out: one finding for all clients with one lifetime, as it is a setting of brokers."""
    by_lifetime: dict[int, dict[tuple[str, str], list[Observation]]] = defaultdict(dict)
    for link, some in links.items():
        by_lifetime[max(lifetime for lifetime, _ in some)][link] = [seen for _, seen in some]
    for lifetime, its in by_lifetime.items():
        whole = merge_observations(seen for sessions in its.values() for seen in sessions)
        counts: dict[str, int] = defaultdict(int)
        for (client, _), sessions in its.items():
            counts[client] += len(sessions)
        clients, brokers = sort_names_by_count(counts), sorted({broker for _, broker in its})
        about: dict[str, Any] = {"clients": clients[:LISTED], "broker": brokers[0] if len(brokers) == 1 else None}
        about |= {"client": clients, "at": brokers, "connections": f"{sum(counts.values()):,}"}
        about["verb"], about["whose"] = ("does", "its") if len(clients) == 1 else ("do", "their")
        about["closes"] = "closes" if len(brokers) == 1 else "close"
        about["lifetime"] = describe_duration(lifetime)
        yield case.make_finding("login-expired", whole, **about)


def are_writes_lost_with_sessions(case: Case, client: str) -> bool:
    """Whether all Produce requests of a client without an answer came after its login had run out.

    A broker handles no request of such a connection: it closes it.
    """
    ended = case.compute_once(_gather_ended_sessions)
    brokers = {
        broker
        for (who, broker, key, _, _), _ in case.seen.items_of_kind("unanswered")
        if (who, key) == (client, PRODUCE)
    }
    timed_out = any(
        (code, key, who) == (_TIMED_OUT, PRODUCE, client)
        for (code, key, who, _, _), _ in case.seen.items_of_kind("error")
    )
    return bool(brokers) and not timed_out and all((client, broker) in ended for broker in brokers)


# REQUEST_TIMED_OUT: what a broker answers that may have written.
_TIMED_OUT: Final = 7

REFUSALS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_odd_bytes,
    _find_refused_batches,
    _find_misplaced_answers,
    _find_foreign_protocols,
    *REFUSED_HANDSHAKES,
    _find_unanswered_requests,
)
