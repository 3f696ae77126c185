"""Observations in; words about client ids that several hosts have, and about the quota that they share, out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    MS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    merge_observations,
)
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refused.refused_request_findings import describe_change
from decoders.exchanges.find_client_library import OWN_IDS
from decoders.wire.format_and_escape_text import describe_duration, format_size

__all__ = ["THROTTLES", "describe_hosts_of_client"]

# Client ids that libraries or tools give to every program that gives none, besides those that they number.
_DEFAULTS: Final = {"rdkafka": "librdkafka", "kgo": "franz-go", "console-producer": "a console producer"}
# Who sends so many times as much as another one uses up what both may send.
_MUCH_MORE: Final = 5


def describe_hosts_of_client(case: Case, client: str, hosts: Iterable[str]) -> str | None:
    """The hosts in brackets, where others have the same client id; else None."""
    some = sorted(set(hosts))
    others = {host for (_, host, _), _ in case.find_matching_observations("client", (0,), (client,))} - {*some}
    return f" ({escape_for_sentence(some)})" if others and some else None


def _find_throttled_clients(case: Case) -> Iterator[Found]:
    """Clients that brokers throttle: one finding for a client id at a broker, whichever hosts have it."""
    by_link: dict[tuple[str, str], list[tuple[str, Observation]]] = {}
    for (client, broker, host), seen in case.seen.items_of_kind("throttle"):
        by_link.setdefault((client, broker), []).append((host, seen))
    for (client, broker), some in by_link.items():
        whole = merge_observations(seen for _, seen in some)
        total, most = whole.sums["ms"], describe_duration(whole.most["ms"])
        if total < case.limits["throttle.total"]:
            continue
        about: dict[str, Any] = {"client": client, "client_id": client, "broker": broker}
        # Requests that are under way at one time are told to wait for the same time.
        is_sum = total * MS <= whole.last - whole.first + whole.most["ms"] * MS
        about["waits"] = f": {describe_duration(total)} in all, {most} at most" if is_sum else f" for up to {most}"
        users = [user for (who, user), _ in case.seen.items_of_kind("logged-in") if who == client and user]
        changed = describe_change(case, "throttled", ("client-id", client), [client], users, whole.first)
        about["details"] = changed
        about |= _describe_shared_quota(case, client, broker, some) if len(some) > 1 else {}
        about.setdefault("why", "the client is over its quota, or over the broker's limit of connections or changes")
        about.setdefault("remedy", "raise the quota (kafka-configs --entity-type clients), or have the client do less")
        yield case.make_finding("throttled", whole, **about)


def _describe_shared_quota(
    case: Case, client: str, broker: str, some: list[tuple[str, Observation]]
) -> dict[str, str | None]:
    """Words for hosts with one client id that are throttled: what each sends, and who is held back by another one."""
    ordered = sorted(some, key=lambda item: (-item[1].sums.get("size", 0), item[0]))
    (first, largest), (last, least) = ordered[0], ordered[-1]
    names = [host for host, _ in ordered]
    words = f"; {escape_for_sentence(names)} have this client id, and so likely one quota"
    if largest.sums.get("size", 0) < _MUCH_MORE * max(least.sums.get("size", 0), 1):
        return {"shared": words}
    came = case.seen.get_observation("client", client, first, broker)
    since = f", since {format_clock(came.first)}" if came is not None else ""
    words += (
        f": {first} had {format_size(largest.sums['size'])} in these requests{since}, and"
        f" {last} with {format_size(least.sums.get('size', 0))} waits for up to {describe_duration(least.most['ms'])}"
    )
    library = _find_library(client)
    default = f" ({escape_for_sentence(client)} is what {library} takes when none is set)" if library else ""
    return {
        "shared": words,
        "why": "a quota for a client id counts what all connections with it send to the broker: likely one program uses"
        f" it up, and the other is held back with it though it sends little; {first} and {last} need not be of one"
        " program",
        "remedy": f"give each program a client.id of its own{default}, or a user, with its own quota; let {first} send"
        " more slowly, or raise the quota (kafka-configs --entity-type clients)",
    }


def _find_library(client: str) -> str | None:
    """The library or tool that gives this client id to every program that sets none."""
    own = (library for library, pattern in OWN_IDS.items() if re.fullmatch(pattern, client))
    return _DEFAULTS.get(client) or next(own, None)


THROTTLES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_throttled_clients,)
