"""Observations in; words about errors of three codes out, whose code does not say who causes them and what helps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    MS,
    NS,
    Case,
    escape_for_sentence,
    format_clock,
)
from decoders.analysis.doctor.observations import sort_names_by_count
from decoders.analysis.exchange_facts import topic_of_element
from decoders.analysis.read_dimension_values import host_of
from decoders.exchanges.topic_arrays import structs_at
from decoders.wire.format_and_escape_text import describe_duration, format_size

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange

__all__ = [
    "LISTENER_NOT_FOUND",
    "explain_single_code",
    "observe_instance",
    "observe_single_code",
]

OFFSET_METADATA_TOO_LARGE: Final = 12
LISTENER_NOT_FOUND: Final = 72
UNRELEASED_INSTANCE_ID: Final = 111


def observe_instance(seen: Observations, exchange: Exchange, client: str, group: str, instance: str) -> None:
    """Observe a heartbeat of a static member that its group took (KIP-848)."""
    its = seen.get_or_make("instance-held", group, instance, client, host_of(exchange.connection_info.client))
    its.count_exchange(exchange)


def observe_single_code(its: Observation, exchange: Exchange, code: int, subject: str | None) -> None:
    """Add what the bodies say of an error with one of these codes to its observation."""
    if code not in _EXPLAINED:
        return
    request, answer = exchange.values("request"), exchange.values("response")
    if code == OFFSET_METADATA_TOO_LARGE and isinstance(request, dict):
        for element in structs_at(request, "topics"):
            if topic_of_element(exchange, element) == subject:
                for part in structs_at(element, "partitions"):
                    text = part.get("committed_metadata")
                    its.keep_greatest("size", len(text.encode("utf-8", "replace")) if isinstance(text, str) else 0)
    elif code == LISTENER_NOT_FOUND and isinstance(answer, dict):
        listed = {node.get("node_id") for node in structs_at(answer, "brokers")}
        for element in structs_at(answer, "topics"):
            if topic_of_element(exchange, element) == subject:
                for part in structs_at(element, "partitions"):
                    absent = {*(part.get("replica_nodes") or ())} - listed
                    if part.get("error_code") == code and len(absent) == 1:
                        its.count_name("nodes", str(absent.pop()))
    elif code == UNRELEASED_INSTANCE_ID and isinstance(request, dict):
        its.count_name("instances", str(request.get("instance_id")))


def explain_single_code(case: Case, code: int, subject: str | None, whole: Observation) -> dict[str, Any]:
    """`details`, `meaning` and `remedy` of an error with one of these codes; empty for all others."""
    explain = _EXPLAINED.get(code)
    return explain(case, subject, whole) if explain is not None else {}


def _explain_large_metadata(case: Case, subject: str | None, whole: Observation) -> dict[str, Any]:  # noqa: ARG001  # as all have it
    size = whole.most.get("size", 0)
    return {
        "details": f": the text that it stores with an offset has {format_size(size)}" if size else None,
        "meaning": "the text is longer than offset.metadata.max.bytes of the broker (4096 by default): the offset is"
        " not stored, and after a restart or rebalance the records behind the last one stored are read again",
        "remedy": "have the program store less with its offsets (the metadata of a commit), or raise"
        " offset.metadata.max.bytes of the brokers",
    }


def _explain_missing_listener(case: Case, subject: str | None, whole: Observation) -> dict[str, Any]:  # noqa: ARG001  # as all have it
    nodes, brokers = (sort_names_by_count(whole.names.get(facet, {})) for facet in ("nodes", "brokers"))
    who = f"node {nodes[0]}" if len(nodes) == 1 else f"nodes {escape_for_sentence(nodes)}" if nodes else ""
    have = "has" if len(nodes) == 1 else "have"
    at = escape_for_sentence(brokers[:1])
    return {
        "details": f": {who} {have} no listener with the name of that at {at}" if who else None,
        "meaning": "the broker that leads the partition is there, but has no listener with the name of the one that the"
        " client asks: clients of this listener get no address for it, so they can neither write nor read there",
        "remedy": f"give {who or 'each broker'} a listener with the same name (listeners, advertised.listeners,"
        f" listener.security.protocol.map) as {at} has; clients find it with their next look at the metadata",
    }


def _explain_held_instance(case: Case, group: str | None, whole: Observation) -> dict[str, Any]:
    holders = [
        (seen.last, client, host)
        for instance in whole.names.get("instances", {})
        for (_, _, client, host), seen in case.find_matching_observations("instance-held", (0, 1), (group, instance))
        if seen.first < whole.last
    ]
    if not holders:
        return {
            "meaning": "a static member (group.instance.id) has its place until it leaves or its session is over:"
            " likely another process has the same id, or the one before was ended without leaving the group",
            "remedy": f"give each process a group.instance.id of its own; {_WAIT}",
        }
    last, client, host = max(holders)
    who = f"{escape_for_sentence(client)} at {host}"
    if last > whole.first:
        return {
            "details": f": {who} has it, and goes on",
            "meaning": "another process has the same group.instance.id and lives: the group takes no second one",
            "remedy": "give each process a group.instance.id of its own, or stop one of them",
        }
    pause = describe_duration(max(whole.first - last, 0) // NS * NS / MS)
    return {
        "details": f": {who} had it, last heard at {format_clock(last)}, {pause} before",
        "meaning": "likely who had it was ended without leaving the group: a static member has its place until its"
        " session is over (group.consumer.session.timeout.ms, 45 s by default)",
        "remedy": _WAIT,
    }


_WAIT: Final = (
    "have the program close its consumer when it ends, wait until the session is over, or lower"
    " group.consumer.session.timeout.ms"
)
_EXPLAINED: Final[dict[int, Callable[[Case, str | None, Observation], dict[str, Any]]]] = {
    OFFSET_METADATA_TOO_LARGE: _explain_large_metadata,
    LISTENER_NOT_FOUND: _explain_missing_listener,
    UNRELEASED_INSTANCE_ID: _explain_held_instance,
}
