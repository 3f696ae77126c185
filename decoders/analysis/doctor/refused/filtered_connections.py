"""Hosts whose new connections a broker does not answer, though it answers others, in; a finding for all of them out."""

from __future__ import annotations

from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    merge_observations,
)
from decoders.analysis.doctor.observations import Observation
from decoders.named_tuple import NamedTuple

__all__ = ["FilteredHost", "make_filtered_finding"]

_WAITING: Final = " A full queue of connections that it has not accepted looks the same"
_BETWEEN: Final = (
    "look at rules of firewalls, security groups and network policies between the two, and at what was changed there"
    " when it began; then at connections that wait at the broker (ss -ltn)"
)
_AT_BROKER: Final = (
    "look on the host of the broker: at its table of connections (nf_conntrack: table full, in dmesg; conntrack -S),"
    " its firewall, and connections that wait there (ss -ltn); then at rules of firewalls in front of it, and at what"
    " was changed when it began"
)


class FilteredHost(NamedTuple):
    """A host whose new connections to a broker are not answered: since when and what a finding about it says.

    `opened_ns`: when it opened one last, 0: never; `older`: its own clients that go on; `others`: other hosts that do;
    `without`: its clients that reach other brokers alone.
    """

    host: str
    seen: Observation
    values: dict[str, Any]
    opened_ns: int
    older: list[str]
    others: list[str]
    without: list[str]


def make_filtered_finding(case: Case, some: list[FilteredHost], how: str, newest_ns: int) -> Found:
    """The finding about a broker and hosts; `newest_ns`: when anybody opened a connection there last."""
    whole = merge_observations(its.seen for its in some)
    hosts = sorted(its.host for its in some)
    older = sorted({name for its in some for name in its.older})
    without = sorted({name for its in some for name in its.without})
    others = sorted({name for its in some for name in its.others} - {*hosts})
    values: dict[str, Any] = some[0].values | {"clients": (without or hosts)[:LISTED], "host": hosts}
    going = [f"older ones of {escape_for_sentence(older)}"] if older else []
    going += [f"those of {escape_for_sentence(others)}"] if others and (len(hosts) > 1 or not older) else []
    values["others_served"] = f"{' and '.join(going)} go on"
    if without:
        verb = "is" if len(without) == 1 else "are"
        values["without_connection"] = f"; {escape_for_sentence(without)} {verb} answered by other brokers alone"
    is_for_all = len(hosts) > 1 and newest_ns < whole.first
    before = [its for its in some if its.opened_ns]
    if is_for_all:
        values["nobody"] = "; no client got a new one since"
        if before:
            last = max(before, key=lambda its: its.opened_ns)
            values["nobody"] += f" ({last.host} did before, last at {format_clock(last.opened_ns)})"
    values["likely"] = _describe_likely_firewall(how, hosts, is_own=bool(older), is_for_all=is_for_all)
    values["remedy"] = _AT_BROKER if is_for_all and how == "silent" else _BETWEEN
    address, number = values["address"], values.get("node_id")
    values["topics_of_node"] = _list_topics_of_both(case, number, {case.nodes.get(its.host) for its in some})
    times = (_find_first_lost_request(case, its.host, address, its.seen) for its in some)
    lost_ns = min(filter(None, times), default=0)
    if lost_ns:
        whole.first = lost_ns
        values["lost"] = f"; on an open one nothing gets through since {format_clock(lost_ns)}"
    return case.make_finding("connection-filtered", whole, **values)


def _find_first_lost_request(case: Case, host: str, address: str, seen: Observation) -> int:
    """When a host first sent a request again and again before its new connections failed, in ns; 0: never."""
    times = (
        its.first
        for (_, who, where), its in case.seen.items_of_kind("lost-request")
        if who == host and where == address and its.first < seen.first
    )
    return min(times, default=0)


def _list_topics_of_both(case: Case, number: int | None, others: set[int | None]) -> list[str] | None:
    """Topics with replicas on a node and on one of others; None where there are none."""
    names = {str(each) for each in others if each is not None and each != number}
    return [
        str(topic)
        for (topic,), seen in case.seen.items_of_kind("topic")
        if str(number) in seen.names.get("nodes", ()) and names & seen.names["nodes"].keys()
    ] or None


def _describe_likely_firewall(how: str, hosts: list[str], *, is_own: bool, is_for_all: bool) -> str:
    """Words for what likely lies between hosts and a broker that runs; `is_own`: they have other connections."""
    if how == "refused":
        return f"a firewall or filter answers in its place, or it no longer listens there.{_WAITING}"
    if how == "unheard":
        return f"its packets are lost on the way back: a firewall or filter, or a route that is another one.{_WAITING}"
    if is_for_all:
        return (
            "its own host, or something in front of it for all, drops the packets that open connections (SYN) and lets"
            " the others through: a full table of connections (conntrack), a firewall or filter, or a full queue of"
            " connections that it has not accepted"
        )
    if is_own:
        drops = "drops the packets that open connections (SYN), and lets the others through"
        return f"a firewall or filter {drops}.{_WAITING}"
    between = "this host" if len(hosts) == 1 else "these hosts"
    return f"a firewall or filter, a route or a NAT between {between} and the broker drops its packets.{_WAITING}"
