"""Observations in; findings about names that two processes share, and the words for what somebody changed, out."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    has_stopped_recurring,
    merge_observations,
    next_less_severe,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import describe_duration

__all__ = [
    "IDENTITIES",
    "describe_offers",
    "explain_changed_login",
    "explain_deleted_topic",
    "explain_second_login",
    "has_logged_in_since",
]

# Error codes of whoever had a name before: FENCED_INSTANCE_ID; INVALID_PRODUCER_EPOCH, PRODUCER_FENCED.
_FENCED: Final = {"group.instance.id": (82,), "transactional.id": (47, 90)}
# An error that a change brings can be seen this long before its request, where captures of two hosts are read.
_SLACK_NS: Final = NS // 10

# The clients, by name and host, that took a name.
_Users = dict[tuple[str, str], Observation]


def _find_shared_names(case: Case) -> Iterator[Found]:
    """Names of one process that two use in turns, both of which were fenced for it."""
    users: defaultdict[tuple[str, str | None, str], _Users] = defaultdict(dict)
    for (setting, group, name, client, host), seen in case.seen.items_of_kind("name"):
        users[setting, group, name][client, host] = seen
    for (setting, group, name), its in users.items():
        takers = _list_turn_takers(its)
        fences = _list_fenced_clients(case, setting, group, name) if takers else []
        fenced = {
            (client, host)
            for _, client, seen in fences
            for host in _hosts_of_observation(seen)
            if (client, host) in takers
        }
        if len(fenced) < 2:
            continue
        whole = merge_observations(seen for _, _, seen in fences)
        names = sorted({client for client, _ in fenced})
        about: dict[str, Any] = {"setting": setting, "name": escape_for_sentence(name), "clients": names[:LISTED]}
        about["taken_by"] = _join_names(
            names if len(names) > 1 else [f"{who} at {host}" for who, host in sorted(fenced)]
        )
        about["error"] = error_name(fences[0][0])
        if group is None:
            about["transactional_id"] = name
        else:
            about |= {"group": group, "where": f" of group {escape_for_sentence(group)}"}
        kind = FINDINGS["name-shared"]
        severity = kind.went_on if has_stopped_recurring(case, whole) else kind.severity
        few = whole.count < case.limits["errors.few"]
        yield Found("name-shared", next_less_severe(severity) if few else severity, whole, about)


def _list_turn_takers(users: _Users) -> list[tuple[str, str]]:
    """The users that took the name before and after another one, or between two times that another one did."""
    order = sorted(users.items(), key=lambda item: item[1].first)
    found, latest = [], 0
    for place, (user, seen) in enumerate(order):
        after = order[place + 1][1].first if place + 1 < len(order) else seen.last
        if seen.first < latest or after < seen.last:
            found.append(user)
        latest = max(latest, seen.last)
    return found


def _list_fenced_clients(case: Case, setting: str, group: str | None, name: str) -> list[tuple[int, str, Observation]]:
    """Error code, client and observation of those whose name another one had taken."""
    found = []
    for (code, _, client, kind, subject), seen in case.seen.items_of_kind("error"):
        if code in _FENCED[setting]:
            if group is None:
                fits = name in seen.names.get("transactional", ()) or (kind, subject) == ("transactional_id", name)
            else:
                fits = (kind, subject) == ("group", group) and name in seen.names.get("instances", ())
            if fits:
                found.append((code, client, seen))
    return found


def _hosts_of_observation(seen: Observation) -> set[str]:
    return set(seen.names.get("hosts", ()))


def _join_names(names: list[str]) -> str:
    """`a and b`, `a, b and 3 more`."""
    if len(names) == 2:
        return f"{escape_for_sentence(names[0])} and {escape_for_sentence(names[1])}"
    more = len(names) - 2
    return f"{escape_for_sentence(names[:2])} and {f'{more:,} more' if more > 1 else escape_for_sentence(names[2])}"


def describe_offers(case: Case, group: str | None, clients: list[str]) -> str | None:
    """Words for the protocols (assignors) of members that a group refused, and of those that it took."""
    refused, taken = Observation(), Observation()
    for (its, client, what), seen in case.seen.items_of_kind("offers"):
        if its == group and (what == "taken" or client in clients):
            (refused if what == "refused" else taken).merge(seen)
    if not refused.count:
        return None
    facet, verb = "protocols", "offer" if len(clients) > 1 else "offers"
    if taken.count and not refused.names.get("types", {}).keys() & taken.names.get("types", {}).keys():
        facet = "types"
    ours, theirs = (sorted(each.names.get(facet, ())) for each in (refused, taken))
    if not ours:
        return None
    who = "they" if len(clients) > 1 else "it"
    others = f"; members of the group offer {escape_for_sentence(theirs)}" if theirs else ""
    return f": {who} {verb} {'protocol type ' if facet == 'types' else ''}{escape_for_sentence(ours)}{others}"


def has_logged_in_since(case: Case, client: str, seen: Observation) -> bool:
    """Whether a login of this client, as one of the users that failed, has succeeded since."""
    users = seen.names.get("users")
    return any(
        its.last > seen.last and (not users or user in users)
        for (who, user), its in case.seen.items_of_kind("logged-in")
        if who == client
    )


def explain_changed_login(case: Case, client: str, seen: Observation) -> dict[str, str]:
    """Words for why logins fail that succeeded before: `changed`, and the `remedy` where the change is known."""
    token = case.seen.get_observation("token-expired", client)
    if token is not None and token.first <= seen.last and token.last >= seen.first - NS:
        until = sorted(token.names["until"])
        renewed = len(until) > 1 or has_logged_in_since(case, client, seen)
        return {
            "changed": f": its token expired at {until[-1].replace('.000000', '')}"
            f"{'' if renewed else ' and was never renewed'}",
            "remedy": f"have {escape_for_sentence(client)} fetch a new token before each login (a login callback, or"
            " sasl.oauthbearer.token.endpoint.url), and compare its clock with the issuer's",
        }
    for user in sort_names_by_count(seen.names.get("users", {})):
        worked = case.seen.get_observation("logged-in", client, user)
        before = worked.first if worked is not None else 0
        changed = case.seen.get_observation("credentials", user)
        at = _find_time_of_change(changed, seen.first)
        if changed is not None and at and not (worked is not None and at < worked.last < seen.first):
            who, ago = _describe_clients_of_change(changed), describe_duration((seen.first - at) / MS)
            what = f": {who} changed the credentials of {escape_for_sentence(user)} at {format_clock(at)}, {ago} before"
            return {"changed": what, "remedy": f"give {escape_for_sentence(client)} the new password"}
        if 0 < before < seen.first:
            return {"changed": ", and succeeded before"}
    return {}


def explain_second_login(case: Case, client: str, seen: Observation) -> dict[str, str]:
    """Meaning and remedy of a step of a login that comes at the wrong time, by a client that has logged in before."""
    if not any(who == client and its.first < seen.first for (who, _), its in case.seen.items_of_kind("logged-in")):
        return {}
    return {
        "meaning": "likely the client logs in again on a connection that has a login: brokers take that only with"
        " connections.max.reauth.ms, and not within a second of the last login (KIP-368)",
        "remedy": "none, if its next login succeeds; else look at the other errors of its logins",
    }


def explain_deleted_topic(case: Case, topic: str, seen: Observation, *, made_again: bool) -> dict[str, str]:
    """Words for who deleted a topic: `deleted`, and with them `meaning` and `remedy`."""
    deleted = case.seen.get_observation("deleted", topic)
    at = _find_time_of_change(deleted, seen.last)  # a topic may lack before it is made, too
    if deleted is None or not at:
        return {}
    if made_again:
        return {
            "deleted": f": {_describe_clients_of_change(deleted)} deleted it at {format_clock(at)}, and it was made"
            " again",
            "meaning": "the records of the first topic are gone, and positions in it lead nowhere: readers begin where"
            " auto.offset.reset says",
            "remedy": "ask who deleted it and why: its records do not come back",
        }
    return {
        "deleted": f": {_describe_clients_of_change(deleted)} deleted it at {format_clock(at)}",
        "meaning": "the topic and its records are gone; its clients ask for it again and again",
        "remedy": "if that was a mistake, create the topic again: its records do not come back; else stop its clients",
    }


def _find_time_of_change(changed: Observation | None, by_ns: int) -> int:
    """When something was changed last before a time, in ns; 0 where it was not."""
    times = sorted(map(int, changed.names["times"])) if changed is not None else []
    place = bisect_right(times, by_ns + _SLACK_NS)
    return times[place - 1] if place else 0


def _describe_clients_of_change(changed: Observation) -> str:
    return escape_for_sentence(sort_names_by_count(changed.names["clients"])[0])


IDENTITIES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_shared_names,)
