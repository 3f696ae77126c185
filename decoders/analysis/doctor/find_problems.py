"""Observations in, findings out, worst first: each function looks for one kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.advisories.attack_observations import ATTACK_FINDINGS
from decoders.analysis.doctor.causes import find_causes, has_harmed_clients, sort_by_cause
from decoders.analysis.doctor.connection_findings import REACHABILITY
from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    MS,
    NS,
    OWN_CLIENT_ID,
    Case,
    Found,
    describe_offered_versions,
    describe_retry_pace,
    escape_for_sentence,
    has_stopped_recurring,
    merge_observations,
    most_frequent_clients,
    name_of_api_key,
    next_less_severe,
    rate_per_second,
)
from decoders.analysis.doctor.finding_kinds import CODES, FINDINGS, OTHER, SEVERITIES
from decoders.analysis.doctor.frequent.frequent_requests import FREQUENT_REQUESTS, explain_metadata_requests
from decoders.analysis.doctor.groups.added_partition_findings import ADDED_PARTITIONS
from decoders.analysis.doctor.groups.archived_record_findings import ARCHIVED_RECORDS
from decoders.analysis.doctor.groups.ended_lock_findings import ENDED_LOCKS
from decoders.analysis.doctor.groups.member_findings import MEMBERS
from decoders.analysis.doctor.groups.pending_revocations import PENDING_REVOCATIONS
from decoders.analysis.doctor.groups.rebalance_findings import REBALANCES
from decoders.analysis.doctor.groups.skipped_partition_findings import SKIPPED_PARTITIONS
from decoders.analysis.doctor.ids_and_logins.id_and_login_findings import (
    IDENTITIES,
    describe_offers,
    explain_changed_login,
    explain_deleted_topic,
    explain_second_login,
    has_logged_in_since,
)
from decoders.analysis.doctor.ids_and_logins.shared_client_ids import THROTTLES
from decoders.analysis.doctor.keys.key_findings import KEYS
from decoders.analysis.doctor.moves.move_findings import MOVES
from decoders.analysis.doctor.moves.replica_findings import REPLICAS
from decoders.analysis.doctor.observations import Observation, Observations, sort_names_by_count
from decoders.analysis.doctor.outage_and_stopped_client_findings import ABSENCES
from decoders.analysis.doctor.position_findings import (
    POSITIONS,
    describe_abort_command,
    list_holding_transactions,
)
from decoders.analysis.doctor.records.damaged_batches import DAMAGED_BATCHES
from decoders.analysis.doctor.records.early_timestamps import EARLY_TIMESTAMPS
from decoders.analysis.doctor.records.new_codecs import count_repeated_offsets, find_readers_too_old_for_codec
from decoders.analysis.doctor.refusal_findings import REFUSALS
from decoders.analysis.doctor.refused.errors_with_codes import describe_other_successes
from decoders.analysis.doctor.refused.explain_foreign_nodes import FOREIGN_NODES
from decoders.analysis.doctor.refused.explain_positions_outside import explain_position_outside
from decoders.analysis.doctor.refused.observe_refusals import SETTINGS
from decoders.analysis.doctor.refused.refused_request_findings import (
    explain_errors,
    explain_refusal,
)
from decoders.analysis.doctor.sequence_findings import SEQUENCES, describe_broken_sequence
from decoders.analysis.doctor.topology.topology_findings import TOPOLOGY, is_created_unasked
from decoders.analysis.doctor.value_findings import VALUES
from decoders.protocol_facts.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SASL_AUTHENTICATE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
from decoders.protocol_facts.errors.error_codes import ERRORS, error_name
from decoders.protocol_facts.errors.remedies import REMEDIES
from decoders.wire.format_and_escape_text import describe_duration, format_size

if TYPE_CHECKING:
    from decoders.analysis.doctor.slow_brokers import BrokerLatencies
    from decoders.analysis.doctor.thresholds import Thresholds
    from decoders.analysis.fold_interface import Row
    from decoders.schema.api_declaration import Versions

__all__ = ["ABOUT", "EXAMINATIONS", "diagnose", "make_finding_row"]


def diagnose(
    seen: Observations,
    done: Mapping[tuple[str, int, str | None], int],
    latencies: BrokerLatencies,
    offers: Mapping[tuple[str, int], Versions],
    faults: list[str],
    limits: Thresholds,
) -> list[Row]:
    """A row for each finding, worst first, then by count; the consequences of a finding follow it.

    `done`: client, API key, subject → time of the last success, in ns.
    """
    case = Case(seen, done, latencies, offers, faults, limits)
    findings = [found for look in EXAMINATIONS for found in look(case)]
    causes = find_causes(findings)
    harmed = {cause for place, some in causes.items() if has_harmed_clients(findings[place]) for cause in some}
    findings = [_lower_severity_of_restart(case, found, place in harmed) for place, found in enumerate(findings)]
    rows = [make_finding_row(found) for found in findings]
    effects: dict[int, list[Row]] = defaultdict(list)
    for place, some in causes.items():
        rows[place]["cause"] = {"id": rows[some[0]]["id"], "title": rows[some[0]]["title"]}
        followed = FINDINGS[rows[place]["id"]].followed
        if followed is not None and findings[place].values.get("likely"):
            rows[place]["meaning"], rows[place]["remedy"] = followed
        for cause in some:
            effects[cause].append(rows[place])
    roots = {place: some[0] for place, some in causes.items()}
    ordered = sort_by_cause([(row, roots.get(place)) for place, row in enumerate(rows)], _rank_finding_row)
    for cause, its in effects.items():
        its.sort(key=_rank_finding_row)
        rows[cause]["consequences"] = [{"id": each["id"], "title": each["title"]} for each in its]
    return ordered


def _rank_finding_row(row: Row) -> tuple[int, int, int, str, str]:
    return SEVERITIES.index(row["severity"]), _LAST.get(row["id"], 1), -row["count"], row["id"], row["title"]


# Of findings as bad, some come last: sound clients meet them too, or nothing is known about what they mean. A refused
# login comes first, as nothing else works without it, and so does a broker that is not there.
_LAST: Final = {
    **dict.fromkeys(("login-failed", "broker-restarts", "broker-down", "broker-silent", "partition-offline"), 0),
    **dict.fromkeys(("already-there", OTHER, "coordinator-moved", "switched-off"), 2),
}


def _lower_severity_of_restart(case: Case, found: Found, has_harmed: bool) -> Found:
    """A broker that came back soon, and harmed nobody (`has_harmed`), is a note: it was restarted."""
    took = found.seen.last - found.seen.first
    if found.id == "broker-back" and not has_harmed and took <= case.limits["broker.restart"] * NS:
        return found._replace(severity=FINDINGS[found.id].went_on)
    return found


def make_finding_row(found: Found) -> Row:
    """The row of a finding, as `-o ndjson` has it."""
    kind, seen = FINDINGS[found.id], found.seen
    values = {name: value for name, value in found.values.items() if value is not None}
    words = defaultdict(str, {name: escape_for_sentence(value) for name, value in values.items()})
    meaning, remedy = kind.meaning.format_map(words), kind.remedy.format_map(words)
    if found.code is not None:
        error = ERRORS.get(found.code)
        meaning = meaning or words["meaning"] or (error.meaning if error else "an error code that has no name yet")
        remedy = remedy or words["remedy"] or REMEDIES.get(found.code, "")
    return {
        "id": found.id,
        "severity": found.severity,
        "title": kind.title.format_map(words) + words["details"],
        **seen.count_and_times(),
        **{name: value for name, value in values.items() if name in ABOUT},
        "evidence": seen.evidence_rows(),
        "meaning": meaning + words["successes"],
        "remedy": remedy,
    }


# Keys of a row that say what a finding is about; all others only fill its title.
ABOUT: Final = frozenset(
    {
        *("client_id", "clients", "topic", "topics", "partition", "partitions", "group", "transactional_id"),
        *("broker", "node_id", "address", "api", "api_version", "error"),
        *("went_on", "nearest_topic", "reasons", "users"),
    }
)


# Error codes.


def _find_error_codes(case: Case) -> Iterator[Found]:
    """Error codes by subject: one finding for all clients that met one code there."""
    explained, its_errors = explain_errors(case)
    yield from explained
    met: dict[tuple[str, int, str, str | None], list[_Met]] = defaultdict(list)
    for (code, key, client, kind, subject), seen in case.seen.items_of_kind("error"):
        if (code, key, client, kind, subject) in its_errors:
            continue
        what = CODES.get(code, OTHER)
        if subject is None or what in ("login-failed", "version-refused", "controller-moved"):
            kind, subject = "client_id", client
            what = OTHER if what == "topic-unknown" else what  # exchanges without bodies do not name the topic
        if what == "broker-failed":
            for broker in seen.names.get("brokers", {}):
                met[what, code, "broker", broker].append((client, key, code, seen))
            continue
        # A topic that does not exist is one finding, by name and by id.
        met[what, 0 if what == "topic-unknown" else code, kind, subject].append((client, key, code, seen))
    for (what, _, kind, subject), some in met.items():
        asked_only = what == "topic-unknown" and all(key == METADATA for _, key, _, _ in some)
        if asked_only and is_created_unasked(case, str(subject)):
            continue  # that is the other finding
        yield _make_error_finding(case, what, kind, subject, some)


# Client, API key, error code.
_Met = tuple[str, int, int, Observation]


def _make_error_finding(case: Case, what: str, kind: str, subject: str | None, some: list[_Met]) -> Found:
    whole = merge_observations(seen for *_, seen in some)
    code = max(some, key=lambda its: its[3].count)[2]
    about = subject if kind != "client_id" else None
    went_on = all(_has_succeeded_since(case, client, key, about, seen) for client, key, _, seen in some)
    row = FINDINGS[what]
    severity = row.went_on if went_on else row.severity
    if severity == "warning" and not went_on and _is_work_hindered(case, about, some, whole):
        severity = "error"
    if not went_on and whole.count < case.limits["errors.few"] and not _is_setting_refused_for_good(code, some):
        severity = next_less_severe(severity)
    clients = Observation()
    for client, _, _, seen in some:
        clients.count_name("clients", client, seen.count)
    names = sort_names_by_count(clients.names["clients"])
    values: dict[str, Any] = {kind: subject, "error": error_name(code), "subject": _describe_subject(kind, subject)}
    values["clients"] = names[:LISTED]
    apis = {name_of_api_key(key) for _, key, _, _ in some}
    values["api"] = apis.pop() if len(apis) == 1 else None
    partitions = whole.names.get("partitions")
    values["partitions"] = sorted(map(int, partitions))[:LISTED] if partitions and kind == "topic" else None
    values["client"] = names[0]
    values["by_user"] = (
        f" ({escape_for_sentence(sort_names_by_count(whole.names['users']))})" if "users" in whole.names else ""
    )
    values["users"] = sort_names_by_count(whole.names.get("users", {}))[:LISTED] or None
    values["by"] = f" ({values['api']})" if values["api"] else ""
    brokers = [str(subject)] if kind == "broker" else sort_names_by_count(whole.names.get("brokers", {}))
    values["broker"] = brokers[0] if len(brokers) == 1 or what == "version-refused" else None
    if what == "version-refused":
        versions = sorted(map(int, whole.names.get("versions", {"0": 1})))
        values |= {"api": values["api"] or name_of_api_key(some[0][1]), "api_version": versions[0]}
        values["offered"] = describe_offered_versions(case, values["broker"], some[0][1])
    if what == "topic-unknown" and subject is not None:
        values |= _describe_missing_topic(case, subject, whole, went_on=went_on)
        if "deleted" in values and severity == "note":
            severity = "warning"  # its records are gone
        severity = "note" if is_created_unasked(case, subject) else severity  # that is a finding of its own
    if what == "producer-fenced" and kind == "topic" and "transactional" in whole.names:
        values["transactional_id"] = sort_names_by_count(whole.names["transactional"])[0]
        values["of"] = f" of transactional id {escape_for_sentence(values['transactional_id'])}"
    instances = sort_names_by_count(whole.names.get("instances", {}))
    values["subject"] += f", instance {escape_for_sentence(instances)}" if instances else ""
    if what == "broker-failed":
        values["topics"] = sort_names_by_count(whole.names.get("topics", {}))[:LISTED] or None
        topics = values["topics"] or []
        named = [topic for topic in topics if topic in case.topics] or topics  # of others the id alone is known
        values["of"] = f" for {escape_for_sentence(named)}" if named else ""
    values["went_on"] = (went_on and _is_error_over(case, what, kind, subject, some, whole)) or None
    if what == "offset-out-of-range":
        values |= explain_position_outside(case, subject, values["clients"])
    if what == "sequence-broken":
        values["sequence"] = describe_broken_sequence(case, subject, values["clients"])
    if what == "protocol-refused":
        values["offers"] = describe_offers(case, subject, names)
    if what == "login-failed":
        illegal = code == _ILLEGAL_STATE
        values |= (explain_second_login if illegal else explain_changed_login)(case, names[0], whole)
        explained = illegal and _do_logins_fail_later(case, {names[0]}, whole.last)
        severity = "note" if explained else severity  # why its logins fail is another finding
    if not went_on and (what in ("login-failed", "version-refused") or _is_setting_refused_for_good(code, some)):
        for_good = what == OTHER
        values["pace"] = describe_retry_pace(case, whole, refused_for_good=for_good)
    if severity != "note":
        errors = [(code, key, client, kind, subject) for client, key, code, _ in some]
        values |= explain_refusal(case, what, (kind, subject), errors, whole)
        values["successes"] = describe_other_successes(case, about, errors, whole)
    return Found(what, severity, whole, values, code)


def _describe_missing_topic(case: Case, topic: str, seen: Observation, *, went_on: bool) -> dict[str, Any]:
    """Words for why a topic is not there: somebody deleted it, or its name is misspelt."""
    near = get_close_matches(topic, sorted(case.topics - {topic}), 1, 0.75)
    values: dict[str, Any] = {"nearest_topic": near[0] if near else None}
    is_back = is_created_unasked(case, topic)
    values["lacks"] = "did not exist for a moment" if is_back else "does not exist"
    values |= explain_deleted_topic(case, topic, seen, made_again=went_on or is_back)
    values["nearest"] = f" (did the client mean {near[0]}?)" if near and not went_on | ("deleted" in values) else ""
    return values


def _is_setting_refused_for_good(code: int, some: list[_Met]) -> bool:
    """Whether a value of a setting was refused, which stays refused: clients give up at the first such answer."""
    return any(code in SETTINGS.get(key, {}) for _, key, _, _ in some)


# What clients and brokers live by. Who asks for descriptions or changes settings can do without.
_WORK: Final = frozenset(
    {
        *(PRODUCE, FETCH, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT),
        *(SYNC_GROUP, INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT),
        *(62, 68, 76, SHARE_FETCH, SHARE_ACKNOWLEDGE, 88),
    }
)
# ILLEGAL_SASL_STATE: the login is no reason for it, whoever logs in.
_ILLEGAL_STATE: Final = 34


def _is_work_hindered(case: Case, about: str | None, some: list[_Met], whole: Observation) -> bool:
    """Whether a client's work on a subject was refused from the first error on, and never succeeded since."""
    return whole.last - whole.first >= LASTING_NS and any(
        key in _WORK
        and seen.count >= case.limits["errors.few"]
        and seen.last - seen.first >= LASTING_NS
        and case.done.get((client, key, about), 0) < seen.first
        for client, key, _, seen in some
    )


def _has_succeeded_since(case: Case, client: str, api_key: int, about: str | None, seen: Observation) -> bool:
    """Whether the client succeeded with the same API and subject after the last error; in a login, with all of it."""
    if api_key == SASL_AUTHENTICATE:
        return has_logged_in_since(case, client, seen)
    return case.done.get((client, api_key, about), 0) > seen.last


def _is_error_over(case: Case, what: str, kind: str, subject: str | None, some: list[_Met], whole: Observation) -> bool:
    """Whether an error after which the same succeeded is known to be over: it did not come back, each partition that
    had it is read or written again, and a group or producer that found its coordinator has used it.
    """
    if not has_stopped_recurring(case, whole):
        return False
    if what == "login-failed" and _do_logins_fail_later(case, {client for client, *_ in some}, whole.last):
        return False
    for client, key, _, seen in some:
        if kind == "topic" and not all(
            _is_partition_served(case, client, key, subject, int(number), seen)
            for number in seen.names.get("partitions", ())
        ):
            return False
        looked_up = what == "coordinator-moved" and key == FIND_COORDINATOR
        if looked_up and case.last_uses.get((client, subject), 0) <= seen.last:
            return False
    return True


def _do_logins_fail_later(case: Case, clients: set[str], time_ns: int) -> bool:
    """Whether a login of these clients was refused after a time, with whatever error."""
    errors = (item for item in case.seen.items_of_kind("error") if item[1].last > time_ns)
    return any(CODES.get(code) == "login-failed" and client in clients for (code, _, client, *_), _ in errors)


def _is_partition_served(
    case: Case, client: str, api_key: int, topic: str | None, number: int, seen: Observation
) -> bool:
    """Whether a client's Fetch or Produce succeeded for a partition after the last error; True for other APIs."""
    if api_key == FETCH and case.seen.get_observation("reading", client) is not None:  # no follower
        its = case.seen.get_observation("lag", client, topic, number)
        return its is not None and its.edges["lag"][1][0] > seen.last
    if api_key == PRODUCE:
        written = case.last_writes.get((client, topic, number))
        if written is None:  # without sequences the partition's times are not kept
            return not _has_later_error(case, client, api_key, topic, number, seen.last)
        return written > seen.last
    return True


def _has_later_error(case: Case, client: str, api_key: int, topic: str | None, number: int, time_ns: int) -> bool:
    """Whether a client had any error of an API in a partition after a time, and up to its last success with the topic.

    Errors that ended long before that success are over.
    """
    since = max(time_ns, case.done.get((client, api_key, topic), 0) - LASTING_NS)
    return any(
        seen.last > since and str(number) in seen.names.get("partitions", ())
        for _, seen in case.find_matching_observations("error", (1, 2, 4), (api_key, client, topic))
    )


def _describe_subject(kind: str, subject: str | None) -> str:
    nouns = {"topic": "topic", "group": "group", "transactional_id": "transactional id", "client_id": "client"}
    return f"{nouns[kind]} {subject}" if kind in nouns else f"{subject}"


# Topics, partitions, brokers.


def _find_slow_brokers(case: Case) -> Iterator[Found]:
    """Brokers that are slower than their peers in the same work."""
    for broker, key, ms, usual in case.latencies.find_slow_brokers(case.limits):
        seen = merge_observations(its for (_, _, where), its in case.seen.items_of_kind("client") if where == broker)
        words = {"latency": f"{ms:.1f} ms", "peers": f"{usual:.1f} ms"}
        yield case.make_finding("slow-broker", seen, broker=broker, api=name_of_api_key(key), **words)


def _find_controller_elections(case: Case) -> Iterator[Found]:
    seen = case.seen.get_observation("election")
    if seen is not None:
        yield case.make_finding("election", seen, nodes=sort_names_by_count(seen.names["nodes"]))


def _find_moving_leaders(case: Case) -> Iterator[Found]:
    """Leaders that move more often than when all brokers restart in turn."""
    each, least = case.limits["leaders.each"], case.limits["leaders.least"]
    found: dict[str, tuple[int, int, Observation]] = {}
    for (topic,), seen in case.seen.items_of_kind("topic"):
        if "epochs" in seen.edges:
            (_, first), (_, last) = seen.edges["epochs"]
            found[topic] = (last - first, seen.most.get("partitions", 1), seen)
    by_controller: dict[str, list[Observation]] = defaultdict(list)
    for (topic, _), seen in case.seen.items_of_kind("led"):
        by_controller[str(topic)].append(seen)
    for topic, some in by_controller.items():
        moves = sum(last - first for (_, first), (_, last) in (seen.edges["epoch"] for seen in some))
        found[topic] = max(
            (moves, len(some), merge_observations(some)),
            found.get(topic, (0, 0, Observation())),
            key=lambda its: its[0],
        )
    for topic, (moves, partitions, seen) in sorted(found.items()):
        if moves >= max(least, each * partitions):
            yield case.make_finding("leaders-move", seen, topic=topic, moves=f"{moves:,}", parts=f"{partitions:,}")


# Groups, transactions.


def _find_troubled_transactions(case: Case) -> Iterator[Found]:
    limits, holding = case.limits, list_holding_transactions(case)
    for (name,), seen in case.seen.items_of_kind("transaction"):
        aborts, commits = seen.sums.get("aborts", 0), seen.sums.get("commits", 0)
        about = {"transactional_id": name, "clients": most_frequent_clients(seen)}
        if aborts >= limits["aborts.least"] and aborts >= limits["aborts.share"] * (aborts + commits):
            yield case.make_finding("transactions-abort", seen, aborts=aborts, transactions=aborts + commits, **about)
        begun = seen.most.get("begun", 0)
        if (
            name not in holding
            and begun > seen.most.get("ended", 0)
            and case.last - begun >= limits["transaction.open"] * NS
        ):
            age = describe_duration((case.last - begun) / MS)
            about["what"] = f"a transaction of {escape_for_sentence(name)} is open for {age}"
            about["remedy"] = describe_abort_command(case, name)
            yield case.make_finding("transaction-hangs", seen, **about)


def _find_growing_lags(case: Case) -> Iterator[Found]:
    limits = case.limits
    found: dict[tuple[str, str | None], list[tuple[int, int, Observation]]] = defaultdict(list)
    for (client, topic, _), seen in case.seen.items_of_kind("lag"):
        (began_ns, before), (last_ns, after) = seen.edges["lag"]
        if last_ns - began_ns >= limits["lag.span"] * NS:
            found[client, topic].append((before, after, seen))
    for (client, topic), some in found.items():
        before, after = sum(each[0] for each in some), sum(each[1] for each in some)
        if after >= limits["lag.records"] and after >= limits["lag.growth"] * before:
            whole = merge_observations(seen for _, _, seen in some)
            about = {"client": client, "client_id": client, "topic": topic}
            yield case.make_finding("lag-growing", whole, lag=f"{after:,}", before=f"{before:,}", **about)


def _find_reread_offsets(case: Case) -> Iterator[Found]:
    """Offsets that a connection fetches more than once."""
    limits = case.limits
    found: dict[tuple[str, str | None], list[Observation]] = defaultdict(list)
    for (client, _, topic, _), seen in case.seen.items_of_kind("read"):
        found[client, topic].append(seen)
    for (client, topic), some in found.items():
        again, read = count_repeated_offsets(some)
        if again >= limits["again.offsets"] and again >= limits["again.share"] * read:
            words = {"read": f"{read:,}", "once": f"{read - again:,}"}
            yield case.make_finding(
                "read-again", merge_observations(some), client=client, client_id=client, topic=topic, **words
            )


# Producers and their records.


def _find_bad_records(case: Case) -> Iterator[Found]:
    old: dict[tuple[str, str], dict[str, Observation]] = defaultdict(dict)
    for (client, topic, does), seen in case.seen.items_of_kind("old-format"):
        old[client, does][str(topic)] = seen
    for (client, does), its in old.items():
        about = {"client": client, "client_id": client, "topics": sorted(its)[:LISTED], "does": does}
        yield case.make_finding("old-format", merge_observations(its.values()), **about)
    for (client,), seen in case.seen.items_of_kind("clock-behind"):
        behind = describe_duration(seen.most["behind"] / MS)
        yield case.make_finding("clock-behind", seen, client=client, client_id=client, behind=behind)
    for (client,), seen in case.seen.items_of_kind("clock"):
        ahead = seen.most.get("ahead", 0)
        if ahead >= case.limits["clock.ahead"] * NS:
            yield case.make_finding(
                "clock-ahead", seen, client=client, client_id=client, ahead=describe_duration(ahead / MS)
            )


def _find_inefficient_producers(case: Case) -> Iterator[Found]:
    limits = case.limits
    for (client, topic), seen in case.seen.items_of_kind("produce"):
        batches, records = seen.sums.get("batches", 0), seen.sums.get("records", 0)
        about = {"client": client, "client_id": client, "topic": topic}
        rate = rate_per_second(seen, batches)
        small = batches and records / batches < limits["batch.records"]
        if small and batches >= limits["batch.least"] and rate >= limits["batch.rate"]:
            mean = f"{records / batches:.1f}"
            yield case.make_finding("small-batches", seen, records=mean, rate=f"{rate:.0f}", **about)
        plain = seen.sums.get("plain", 0)
        if plain >= limits["plain.size"]:
            yield case.make_finding("no-compression", seen, size=format_size(plain), **about)
    for (topic,), seen in case.seen.items_of_kind("skew"):
        sizes = seen.names.get("partitions", {})
        total = sum(sizes.values())
        partition, most = max(sizes.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if len(sizes) >= 4 and total >= limits["skew.size"] and most >= limits["skew.share"] * total:
            writers = merge_observations(
                its for (_, where), its in case.seen.items_of_kind("produce") if where == topic
            )
            about = {"topic": topic, "partition": int(partition), "share": f"{most / total:.0%}"}
            yield case.make_finding("skew", writers, **about)


def _find_requests_in_flight(case: Case) -> Iterator[Found]:
    """How many Produce requests a busy connection has in flight, on average (Little's law)."""
    limits = case.limits
    for (client, _, broker), seen in case.seen.items_of_kind("in-flight"):
        span = seen.most["ended"] - seen.first
        if seen.count < limits["in-flight.least"] or span <= 0:
            continue
        mean = seen.sums["took"] / span
        about = {"client": client, "client_id": client, "broker": broker, "mean": f"{mean:.1f}"}
        about["took"] = describe_duration(seen.sums["took"] / seen.count / MS)
        if mean > limits["in-flight.most"] and (client, INIT_PRODUCER_ID) not in case.answered:
            yield case.make_finding("many-in-flight", seen, **about)
        elif limits["in-flight.alone"] <= mean <= 1:
            yield case.make_finding("one-in-flight", seen, **about)


def _find_client_load(case: Case) -> Iterator[Found]:
    limits = case.limits
    for (client,), seen in case.seen.items_of_kind("fetch-waits"):
        if seen.count >= limits["fetch.waits"]:
            words = {"count": f"{seen.count:,}", "waited": describe_duration(seen.sums["waited"] / seen.count / MS)}
            yield case.make_finding("fetch-waits", seen, client=client, client_id=client, **words)
    for (client, broker), seen in case.seen.items_of_kind("sessions-lost"):
        if seen.count >= limits["sessions.lost"]:
            about = {"client": client, "client_id": client, "broker": broker}
            yield case.make_finding("fetch-sessions-lost", seen, lost=f"{seen.count:,}", **about)
    for (client, broker), seen in case.seen.items_of_kind("sessions-opened"):
        lost = case.seen.get_observation("sessions-lost", client, broker)
        opened = seen.count - (lost.count if lost is not None else 0)
        if opened >= limits["sessions.opened"] and rate_per_second(seen, opened) >= limits["sessions.rate"]:
            about = {"client": client, "client_id": client, "broker": broker}
            yield case.make_finding("fetch-sessions-unused", seen, opened=f"{opened:,}", **about)
    connections: dict[str, int] = defaultdict(int)
    for (client, _, _), seen in case.seen.items_of_kind("client"):
        connections[client] += seen.sums.get("connections", 0)
    for (client,), seen in case.seen.items_of_kind("metadata"):
        rate = rate_per_second(seen, seen.count)
        if client != OWN_CLIENT_ID and seen.count >= limits["metadata.least"] and rate >= limits["metadata.rate"]:
            about = {"client": client, "client_id": client, "api": name_of_api_key(METADATA)}
            about["why"], about["remedy"] = explain_metadata_requests(seen.count, connections[client])
            yield case.make_finding("metadata-storm", seen, rate=f"{rate:.1f}", **about)
    for (client, key, side), seen in case.seen.items_of_kind("large"):
        if seen.most["size"] >= limits["huge.size"]:
            about = {"client": client, "client_id": client, "api": name_of_api_key(key)}
            yield case.make_finding("huge-frames", seen, side=side, size=format_size(seen.most["size"]), **about)


def _find_capture_faults(case: Case) -> Iterator[Found]:
    for fault in case.faults:
        kind = "capture" if fault in case.holes else "capture-begins-late"
        yield case.make_finding(kind, Observation(), fault=fault)
    if case.seen.left_out:
        yield case.make_finding("left-out", Observation())


EXAMINATIONS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    *(
        _find_capture_faults,
        _find_error_codes,
        *REFUSALS,
        *REACHABILITY,
        *ABSENCES,
        *IDENTITIES,
        *POSITIONS,
        *MEMBERS,
        *MOVES,
        *FREQUENT_REQUESTS,
        *ADDED_PARTITIONS,
        *SKIPPED_PARTITIONS,
        *TOPOLOGY,
        *ENDED_LOCKS,
        *FOREIGN_NODES,
        *ARCHIVED_RECORDS,
        *PENDING_REVOCATIONS,
        *REPLICAS,
        _find_slow_brokers,
        _find_controller_elections,
    ),
    *(
        _find_moving_leaders,
        *REBALANCES,
        _find_troubled_transactions,
        _find_growing_lags,
        _find_reread_offsets,
        find_readers_too_old_for_codec,
    ),
    *(
        *DAMAGED_BATCHES,
        *EARLY_TIMESTAMPS,
        _find_bad_records,
        _find_inefficient_producers,
        *SEQUENCES,
        *KEYS,
        _find_requests_in_flight,
        *THROTTLES,
        _find_client_load,
        *VALUES,
        *ATTACK_FINDINGS,
    ),
)
