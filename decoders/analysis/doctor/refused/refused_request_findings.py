"""Observations in; findings about refused requests whose cause other exchanges show, and words about any refusal, out.

Words about a refusal are what the client asked for and what was taken before, what the broker says, who changed the
same topic, group, user or client shortly before, and who else does the same without errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    merge_observations,
    name_of_api_key,
    next_less_severe,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.groups.explain_late_acknowledgements import explain_late_acknowledgements
from decoders.analysis.doctor.ids_and_logins.id_and_login_findings import explain_deleted_topic
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.doctor.refused.errors_with_codes import ErrorKey, find_errors_with_codes
from decoders.analysis.doctor.refused.explain_expired_transactions import explain_expired_transactions
from decoders.analysis.doctor.refused.explain_foreign_nodes import explain_foreign_nodes
from decoders.analysis.doctor.refused.explain_forgotten_producers import explain_forgotten_producers
from decoders.analysis.doctor.refused.explain_misleading_addresses import explain_misleading_addresses
from decoders.analysis.doctor.refused.explain_single_codes import explain_single_code
from decoders.analysis.doctor.refused.explain_stuck_transactions import explain_stuck_transactions
from decoders.analysis.doctor.refused.observe_changes import ENTITY_SEPARATOR
from decoders.analysis.doctor.refused.observe_refusals import (
    SETTINGS,
    TOO_LARGE,
    UNSUPPORTED_COMPRESSION,
)
from decoders.protocol_facts.api_keys import (
    CREATE_TOPICS,
    FIND_COORDINATOR,
    OFFSET_COMMIT,
    TXN_OFFSET_COMMIT,
)
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import describe_duration, format_size

__all__ = ["describe_change", "explain_errors", "explain_refusal"]

_NOT_AVAILABLE: Final = 15
_UNKNOWN_MEMBER: Final = 25
_INVALID_REPLICATION_FACTOR: Final = 38
# A change is named where the first error follows so soon, or comes so little before it, where captures are merged.
_CHANGED_NS: Final = 60 * NS
_SLACK_NS: Final = NS // 10
# Settings by which records are deleted, and for how long after a change of one: brokers look for old segments every
# five minutes (log.retention.check.interval.ms), and delete them a minute later.
_EXPIRING: Final = re.compile(r"(local\.)?retention\.(ms|bytes)|cleanup\.policy|segment\.(ms|bytes)")
_EXPIRED_NS: Final = 10 * 60 * NS
# By the key type of FindCoordinator: what it is asked for; the topic of coordinators and the setting of its replicas.
_COORDINATED: Final = {
    0: ("group", "group", "__consumer_offsets", "offsets.topic.replication.factor", "members of groups read nothing"),
    1: (
        *("transactional_id", "transactional id", "__transaction_state"),
        *("transaction.state.log.replication.factor", "transactional producers write nothing"),
    ),
}
# What FindCoordinator's topics have by default.
_REPLICAS: Final = 3
# Finding → the kinds of changes that bring it; of all others those of a topic's or group's settings and partitions.
_BRINGING: Final[dict[str, tuple[str, ...]]] = {
    "access-denied": ("right",),
    "throttled": ("quota",),
    "quota-exceeded": ("quota",),
    "offset-out-of-range": ("records", "config"),
    "commit-lost": ("offsets",),
}
_BRINGING_OTHERS: Final = ("config", "partitions", "replicas")


def explain_errors(case: Case) -> tuple[list[Found], set[ErrorKey]]:
    """The findings about errors whose cause other exchanges show, and the errors that they are about."""
    found: list[Found] = []
    errors: set[ErrorKey] = set()
    for explain in (
        explain_foreign_nodes,
        _explain_missing_coordinators,
        _explain_foreign_commits,
        explain_expired_transactions,
        explain_forgotten_producers,
        explain_misleading_addresses,
        explain_stuck_transactions,
        explain_late_acknowledgements,
    ):
        for row, keys in explain(case):
            found.append(row)
            errors |= keys
    return found, errors


def _explain_missing_coordinators(case: Case) -> Iterator[tuple[Found, set[ErrorKey]]]:
    """Coordinators that nobody ever got: one finding for all groups, one for all transactional ids."""
    nodes = {number for (_, number, _, _), _ in case.seen.items_of_kind("advertised")}
    # Nodes that are down are listed as replicas alone.
    nodes |= {number for (number,), _ in case.seen.items_of_kind("gone")}
    nodes |= {
        int(name)
        for _, seen in case.seen.items_of_kind("topic")
        for name in seen.names.get("nodes", ())
        if name.isdigit()
    }
    for key_type, (kind, what, topic, setting, harm) in _COORDINATED.items():
        some = {
            key: seen
            for key, seen in find_errors_with_codes(case, (_NOT_AVAILABLE,))
            if key[1] == FIND_COORDINATOR and key[3] == kind and key[4] is not None
        }
        whole = merge_observations(some.values())
        never = case.seen.get_observation("coordinator", key_type) is None
        if not never or whole.count < case.limits["errors.few"] or whole.last - whole.first < LASTING_NS:
            continue
        is_there = case.seen.get_observation("topic", topic) is not None
        few = 0 < len(nodes) < _REPLICAS and not is_there
        # Brokers make the topic themselves, and say why they cannot.
        makes = {
            key: seen
            for key, seen in find_errors_with_codes(case, (_INVALID_REPLICATION_FACTOR,))
            if key[1] == CREATE_TOPICS and key[4] == topic and seen.first <= whole.last + NS
        }
        brokers = f"the {'1 broker' if len(nodes) == 1 else f'{len(nodes)} brokers'} of the cluster"
        names = sorted({str(key[4]) for key in some})
        about: dict[str, Any] = {"what": what, "error": error_name(_NOT_AVAILABLE), "names": names, "topic": topic}
        about |= {"api": name_of_api_key(FIND_COORDINATOR), "clients": sorted({key[2] for key in some})[:LISTED]}
        about |= {"setting": setting, "harm": harm}
        about["likely"] = f": likely {topic} wants more replicas than {brokers} can hold" if few else None
        about["why"] = (
            f"brokers make {topic} at the first look-up, with as many replicas as {setting} says (3 by default), and"
            " cannot with fewer brokers: waiting does not help"
            if few
            else f"{topic} has no partition with a leader, or cannot be made"
        )
        if makes:
            words = _describe_broker_words(merge_observations(makes.values()), _INVALID_REPLICATION_FACTOR)
            error = error_name(_INVALID_REPLICATION_FACTOR)
            about["likely"] = f": {topic} cannot be made, as its CreateTopics is refused with {error}{words}"
        yield case.make_finding("coordinator-never", whole, **about), {*some, *makes}


def _explain_foreign_commits(case: Case) -> Iterator[tuple[Found, set[ErrorKey]]]:
    """Commits without a member id for groups that have members."""
    for key, seen in find_errors_with_codes(case, (_UNKNOWN_MEMBER,)):
        code, api_key, client, kind, group = key
        joined = case.seen.get_observation("joined", group, client)
        foreign = seen.names.get("without", {}).get("membership", 0) == seen.count
        if api_key != OFFSET_COMMIT or kind != "group" or group is None or not foreign or joined is not None:
            continue
        members = sorted({who for (its, who), _ in case.seen.items_of_kind("joined") if its == group})
        about: dict[str, Any] = {"group": group, "clients": [client], "client_id": client, "error": error_name(code)}
        about["api"] = name_of_api_key(api_key)
        about["members"] = f" (members are {escape_for_sentence(members)})" if members else None
        went_on = case.done.get((client, api_key, group), 0) > seen.last
        severity = FINDINGS["not-a-member"].went_on if went_on else FINDINGS["not-a-member"].severity
        few = seen.count < case.limits["errors.few"]
        yield Found("not-a-member", next_less_severe(severity) if few else severity, seen, about), {key}


# Words about any refusal.


def explain_refusal(
    case: Case, what: str, subject: tuple[str, str | None], errors: list[ErrorKey], whole: Observation
) -> dict[str, Any]:
    """`details`, for the end of a title: the value asked for, the broker's own words, what was changed before.

    Also `meaning` and `remedy`, where the broker's words say another reason than its error code.
    """
    clients = sorted({client for _, _, client, _, _ in errors})
    asked = (
        _describe_asked_values(case, errors, whole)
        or _describe_sizes(case, subject[1], errors)
        or _describe_codecs(case, subject[1], errors)
        or _describe_member_silence(case, subject[1], errors, whole)
        or _describe_full_group(case, subject[1], errors)
        or _describe_pending_offsets(case, subject[1], errors)
        or _describe_new_topic(case, subject[1], errors, whole)
    )
    said = "" if asked else _describe_broker_words(whole, errors[0][0])
    users = sort_names_by_count(whole.names.get("users", {}))
    changed = describe_change(case, what, subject, clients, users, whole.first)
    single = explain_single_code(case, errors[0][0], subject[1], whole)
    details = single.pop("details", None) or ""
    other = _explain_other_protocol(said)
    expired = _explain_expired_records(case, what, subject, whole.first)
    denied = _explain_changed_rights(case, what, subject, users, whole.first)
    return {"details": asked + details + said + (changed or ""), **other, **single, **expired, **denied}


def _explain_changed_rights(
    case: Case, what: str, subject: tuple[str, str | None], users: list[str], first_ns: int
) -> dict[str, str]:
    """What to do where somebody denied what is refused, or took the right away, shortly before."""
    change = _find_change(case, what, subject, [], users, first_ns) if what == "access-denied" else None
    if change is None:
        return {}
    at, who, words = format_clock(change[0]), escape_for_sentence(change[1]), escape_for_sentence(change[2])
    if words.startswith("set the denial"):
        rule = words.removeprefix("set ")
        return {
            "remedy": f"remove {rule} that {who} set at {at} (kafka-acls --remove), or narrow it, to fewer names or"
            " principals: a denial goes before all rights, so that to grant one does not help"
        }
    if words.startswith("removed the right"):
        return {"remedy": f"give {words.removeprefix('removed ')} back that {who} removed at {at} (kafka-acls --add)"}
    return {}


def _explain_other_protocol(said: str) -> dict[str, Any]:
    """What it means that a group has members of the other protocol (KIP-848), which the error code does not say."""
    if not any(words in said for words in ("Cannot upgrade classic group", "Cannot downgrade consumer group")):
        return {}
    return {
        "other_protocol": True,
        "meaning": "the group is there, with members that use the other group protocol (KIP-848), and the broker does"
        " not change it while they are in it: whoever comes with this one is refused each time",
        "remedy": "give all members of the group one group.protocol; or let the broker change groups online"
        " (group.consumer.migration.policy), or stop all members and start them again with the new protocol",
    }


def _describe_asked_values(case: Case, errors: list[ErrorKey], whole: Observation) -> str:
    setting = next(
        (known[code][1] for code, api_key, *_ in errors if code in (known := SETTINGS.get(api_key, {}))), None
    )
    if setting is None or "asked" not in whole.names:
        return ""
    clients = {client for _, _, client, _, _ in errors}
    asked = sort_names_by_count(whole.names["asked"])
    who = escape_for_sentence(sorted(clients)) if errors[0][3] != "client_id" else "it"
    words = f": {who} {'asks' if len(clients) == 1 else 'ask'} for {setting}={escape_for_sentence(asked)}"
    if "offered" in whole.names:
        words += f", the broker offers {escape_for_sentence(sort_names_by_count(whole.names['offered']))}"
    own: tuple[int, str] = (0, "")
    others: set[str] = set()
    for (its, value, client), seen in case.seen.items_of_kind("taken"):
        if its == setting and value not in asked and client not in clients:
            others.add(value)
        elif its == setting and value not in asked and seen.last < whole.first:
            own = max(own, (seen.last, value))
    if own[0]:
        return f"{words}; {escape_for_sentence(own[1])} was taken before, last at {format_clock(own[0])}"
    return f"{words}; from others {escape_for_sentence(sorted(others))} is taken" if others else words


def _describe_sizes(case: Case, topic: str | None, errors: list[ErrorKey]) -> str:
    """From which size on batches are refused."""
    sizes = [
        -seen.most["least"]
        for (client, where), seen in case.seen.items_of_kind("too-large")
        if where == topic and client in {its for _, _, its, _, _ in errors}
    ]
    return f": batches of {format_size(min(sizes))} and more" if sizes and errors[0][0] in TOO_LARGE else ""


def _describe_codecs(case: Case, topic: str | None, errors: list[ErrorKey]) -> str:
    """Which compression of which version of Produce is refused."""
    if errors[0][0] != UNSUPPORTED_COMPRESSION:
        return ""
    found = merge_observations(
        seen
        for (client, where), seen in case.seen.items_of_kind("codec-refused")
        if where == topic and client in {its for _, _, its, _, _ in errors}
    )
    codecs = [words.partition(" in ") for words in sort_names_by_count(found.names.get("codecs", {}))]
    needs = " (zstd needs 7)" if any(codec == "zstd" for codec, _, _ in codecs) else ""
    each = [f"{codec} in Produce {version}" for codec, _, version in codecs]
    return f": batches with {escape_for_sentence(each)}{needs}" if each else ""


def _describe_member_silence(case: Case, group: str | None, errors: list[ErrorKey], whole: Observation) -> str:
    """For how long a member was not heard before the coordinator forgot it, where its session was over by then."""
    if errors[0][0] != _UNKNOWN_MEMBER:
        return ""
    clients = {client for _, _, client, _, _ in errors}
    for (its, _), seen in case.seen.items_of_kind("alive"):
        pause, before = seen.find_longest_pause()
        timeout, who = seen.most.get("timeout", 0), clients & seen.names.get("clients", {}).keys()
        if its == group and who and 0 < timeout <= pause * 1000 and before * NS < whole.first:
            name, silent = escape_for_sentence(min(who)), describe_duration(pause * 1000)
            return f": {name} was not heard for {silent}, and its session times out after {describe_duration(timeout)}"
    return ""


def _describe_full_group(case: Case, group: str | None, errors: list[ErrorKey]) -> str:
    """How many members a group has that is full, or not empty, and whose they are."""
    if errors[0][0] not in _OF_MEMBERS:
        return ""
    members = [seen for (its, _), seen in case.seen.items_of_kind("alive") if its == group]
    refused = {client for _, _, client, _, _ in errors}
    clients = sorted({who for seen in members for who in seen.names.get("clients", ())} - refused)
    if not clients:
        return ""
    count = sum(not seen.names.get("clients", {}).keys() <= refused for seen in members)
    return f": it has {count:,} member{'s' if count > 1 else ''} ({escape_for_sentence(clients)})"


def _describe_pending_offsets(case: Case, group: str | None, errors: list[ErrorKey]) -> str:
    """Which open transactions have committed offsets of a group that are not known before these end."""
    if errors[0][0] != _UNSTABLE_OFFSET_COMMIT:
        return ""
    writers = {client for (client, key, its) in case.done if (key, its) == (TXN_OFFSET_COMMIT, group)}
    names = [
        name
        for (name,), seen in case.seen.items_of_kind("transaction")
        if seen.most.get("begun", 0) > seen.most.get("ended", 0) and writers & seen.names.get("clients", {}).keys()
    ]
    if not names:
        return ""
    who = f"{escape_for_sentence(names)} ({escape_for_sentence(sorted(writers))})"
    return f": offsets wait for the end of the transaction of {who}"


def _describe_new_topic(case: Case, topic: str | None, errors: list[ErrorKey], whole: Observation) -> str:
    """Who deleted a topic that was made again, where clients ask for the topic before by its id."""
    if errors[0][0] != _INCONSISTENT_TOPIC_ID or topic is None:
        return ""
    return explain_deleted_topic(case, topic, whole, made_again=True).get("deleted", "")


# NON_EMPTY_GROUP, GROUP_MAX_SIZE_REACHED, GROUP_SUBSCRIBED_TO_TOPIC.
_OF_MEMBERS: Final = frozenset({68, 81, 86})
_UNSTABLE_OFFSET_COMMIT: Final = 88
_INCONSISTENT_TOPIC_ID: Final = 103


def _describe_broker_words(whole: Observation, code: int) -> str:
    """What the broker says itself; what it says of any such error says nothing."""
    if "words" not in whole.names:
        return ""
    from decoders.protocol_facts.errors.client_texts import CLIENT_TEXTS  # few captures need it

    known = tuple(CLIENT_TEXTS.get(code, ()))
    for words in sort_names_by_count(whole.names["words"]):
        if not words.startswith(known) and len(words) > 3:
            return f': "{escape_for_sentence(words).rstrip(".")}"'
    return ""


def describe_change(
    case: Case, what: str, subject: tuple[str, str | None], clients: list[str], users: list[str], first_ns: int
) -> str | None:
    """Words for who changed what a finding is about, shortly before it began; None where nobody did."""
    latest = _find_change(case, what, subject, clients, users, first_ns)
    if latest is None:
        return None
    at, who, words = latest
    ago = describe_duration(max(first_ns - at, 0) / MS)
    return f"; {escape_for_sentence(who)} {escape_for_sentence(words)} at {format_clock(at)}, {ago} before"


def _find_change(
    case: Case, what: str, subject: tuple[str, str | None], clients: list[str], users: list[str], first_ns: int
) -> tuple[int, str, str] | None:
    """When somebody changed what a finding is about, shortly before it began, who it was, and what it was."""
    kinds = _BRINGING.get(what, _BRINGING_OTHERS)
    latest: tuple[int, str, str] | None = None
    for (kind, name, how, words, who), seen in case.seen.items_of_kind("changed"):
        at = seen.last if seen.last <= first_ns + _SLACK_NS else seen.first
        expires = what == "offset-out-of-range" and how == "config"
        if expires and not _EXPIRING.search(words):
            continue
        within = _EXPIRED_NS if expires else _CHANGED_NS
        if how not in kinds or not first_ns - within <= at <= first_ns + _SLACK_NS:
            continue
        if not _is_change_about_subject(subject, clients, users, (kind, name)) or (
            how == "right" and not _may_take_right_away(words, users)
        ):
            continue
        latest = max(latest or (0, "", ""), (at, who, words))
    return latest


def _explain_expired_records(case: Case, what: str, subject: tuple[str, str | None], first_ns: int) -> dict[str, str]:
    """What to do where somebody changed the setting by which records expire, before positions were out of range."""
    if what != "offset-out-of-range":
        return {}
    change = _find_change(case, what, subject, [], [], first_ns)
    setting = _EXPIRING.search(change[2]) if change is not None else None
    if change is None or setting is None:
        return {}
    who, at = escape_for_sentence(change[1]), format_clock(change[0])
    return {
        "remedy": f"set {setting[0]} of {escape_for_sentence(subject[1])} back at once if {who} did not mean it (at"
        f" {at}): brokers go on deleting by it; have readers begin at the earliest offset that is left"
        " (auto.offset.reset=earliest), as those that go on at the end pass over more; what is deleted comes back"
        " from a copy alone"
    }


def _is_change_about_subject(
    subject: tuple[str, str | None], clients: list[str], users: list[str], changed: tuple[str, str]
) -> bool:
    kind, name = changed
    entities = {"client-id": clients, "user": users}
    kinds, names = kind.split(ENTITY_SEPARATOR), name.split(ENTITY_SEPARATOR)
    if entities.keys() >= {*kinds}:
        return all(not each or each in entities[its] for its, each in zip(kinds, names, strict=False))
    if kind != subject[0] or subject[1] is None:
        return False
    return name in ("*", subject[1]) or (name.endswith("*") and subject[1].startswith(name[:-1]))


def _may_take_right_away(words: str, users: list[str]) -> bool:
    """Whether a change of rights can take one away: a removed right or a denial of the users, or others' first one."""
    principals = {"User:*", *(f"User:{user}" for user in users or ["ANONYMOUS"])}
    if words.rpartition(" of ")[2] in principals:
        return words.startswith(("removed the right", "set the denial"))
    return words.startswith("set the right")
