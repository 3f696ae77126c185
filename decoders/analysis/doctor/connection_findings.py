"""Observations in, findings about reachability out: addresses, connections, links, and a look at the cluster."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    MS,
    NS,
    OWN_CLIENT_ID,
    Case,
    Found,
    escape_for_sentence,
    format_advertised_address,
    merge_observations,
    most_frequent_clients,
    name_of_api_key,
    rate_per_second,
)
from decoders.analysis.doctor.finding_kinds import CODES, FINDINGS
from decoders.analysis.doctor.ids_and_logins.shared_client_ids import describe_hosts_of_client
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.doctor.refused.filtered_connections import FilteredHost, make_filtered_finding
from decoders.analysis.read_dimension_values import host_of
from decoders.protocol_facts.api_keys import API_VERSIONS, DESCRIBE_CLUSTER, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from decoders.wire.format_and_escape_text import describe_duration, format_size

__all__ = ["REACHABILITY"]

_HERE: Final = ("localhost", "localhost.localdomain", "ip6-localhost")


def _find_unreachable_listeners(case: Case) -> Iterator[Found]:
    """Addresses that brokers advertise and clients cannot use."""
    for (asked, number, host, port), seen in case.seen.items_of_kind("advertised"):
        address = format_advertised_address(host, port)
        about = {"node_id": number, "address": address, "broker": asked, "clients": most_frequent_clients(seen)}
        place = _find_ip_address(host)
        remote = [name for name in seen.names.get("clients", ()) if not _is_loopback(name)]
        if place is not None and place.is_unspecified:
            yield case.make_finding("advertised-wildcard", seen, **about)
        elif remote and (host in _HERE or (place is not None and place.is_loopback)):
            yield case.make_finding("advertised-loopback", seen, **about | {"clients": sorted(remote)[:LISTED]})
        elif _is_reached_at_another_port(case, asked, host, port):
            yield case.make_finding("advertised-elsewhere", seen, **about)
        elif place is None and host not in _HERE:
            waiting = _list_waiting_clients(case, asked)
            if waiting:
                yield case.make_finding("advertised-elsewhere", seen, **about | {"clients": waiting})


def _find_shared_addresses(case: Case) -> Iterator[Found]:
    """Nodes that one answer lists at one address: clients reach whichever answers there."""
    for (host, port), seen in case.seen.items_of_kind("shared-address"):
        numbers, address = sorted(map(int, seen.names["nodes"])), format_advertised_address(host, port)
        clients = most_frequent_clients(seen)
        yield case.make_finding("advertised-shared", seen, nodes=numbers, address=address, clients=clients)


def _find_stranded_clients(case: Case) -> Iterator[Found]:
    """Clients that ask one of several nodes for metadata again and again, and try no other: they know no way there."""
    nodes: dict[str, set[str]] = defaultdict(set)
    for (asked, _, host, port), _ in case.seen.items_of_kind("advertised"):
        nodes[asked].add(format_advertised_address(host, port))
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for (client, host, broker), _ in case.seen.items_of_kind("client"):
        places[client].append((host, broker))
    busy = {client for client, key, _ in case.done if key not in _BEGINNINGS}
    failed = {host for (host, *_), _ in case.seen.items_of_kind("no-entry")}
    refused = {client for (_, key, client, _, _), _ in case.seen.items_of_kind("error") if key == METADATA}
    limits = case.limits
    for (client,), seen in case.seen.items_of_kind("metadata"):
        if client in busy | refused or client == OWN_CLIENT_ID or len(places[client]) != 1:
            continue
        ((host, broker),) = places[client]
        # Where nobody is seen at another node, the way there may not be captured.
        is_captured = any(where != broker for its, some in places.items() if its != client for _, where in some)
        named = sorted(address for address in nodes[broker] if _find_ip_address(host_of(address)) is None)
        rate = rate_per_second(seen, seen.count)
        if (
            len(nodes[broker]) >= _SEVERAL
            and named
            and is_captured
            and host not in failed
            and seen.count >= limits["advertised.asked"]
            and rate >= limits["advertised.rate"]
        ):
            about = {"client": client, "client_id": client, "broker": broker, "clients": [client]}
            yield case.make_finding("client-stranded", seen, rate=f"{rate:.1f}", others=named, **about)


def _list_waiting_clients(case: Case, broker: str) -> list[str]:
    """Clients that ask for metadata again and again, and for nothing else; none where one gets further."""
    names = {client for (client, _, where), _ in case.seen.items_of_kind("client") if where == broker}
    if any(client in names and key not in _BEGINNINGS for client, key, _ in case.done):
        return []
    limits = case.limits
    return sorted(
        client
        for (client,), seen in case.seen.items_of_kind("metadata")
        if client in names
        and seen.count >= limits["advertised.asked"]
        and rate_per_second(seen, seen.count) >= limits["advertised.rate"]
    )


# What clients ask of the first broker that they reach.
_BEGINNINGS: Final = frozenset({API_VERSIONS, METADATA, SASL_HANDSHAKE, SASL_AUTHENTICATE, DESCRIBE_CLUSTER})


def _find_ip_address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, with or without brackets; None where it is a name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    """Whether a host, an address or a name, is the machine itself."""
    place = _find_ip_address(host)
    return host in _HERE if place is None else place.is_loopback


def _is_reached_at_another_port(case: Case, asked: str, host: str, port: int) -> bool:
    """Whether a broker advertises only itself, at its own host and an unused port, and no answer has its used port."""
    here = host_of(asked)
    names = {host_of(format_advertised_address(host, port)), *(("127.0.0.1", "[::1]") if host in _HERE else ())}
    if here not in names or any(f"{name}:{port}" in case.brokers for name in names):
        return False
    return (
        not any(
            format_advertised_address(other, its) == asked
            or (other in _HERE and _is_loopback(here) and asked.endswith(f":{its}"))
            for (_, _, other, its), _ in case.seen.items_of_kind("advertised")
        )
        and len({number for (where, number, _, _), _ in case.seen.items_of_kind("advertised") if where == asked}) == 1
    )


def _find_connection_churn_and_losses(case: Case) -> Iterator[Found]:
    """Connections opened again and again; links that lose packets."""
    limits = case.limits
    by_client: dict[str, list[Observation]] = defaultdict(list)
    for (client, _, _), seen in case.seen.items_of_kind("client"):
        by_client[client].append(seen)
    refused: dict[str, int] = defaultdict(int)
    for (code, _, client, _, _), seen in case.seen.items_of_kind("error"):
        refused[client] += seen.count if CODES.get(code) == "login-failed" else 0
    for client, some in by_client.items():
        whole = merge_observations(some)
        opened = whole.sums.get("connections", 0)
        each = whole.count / opened if opened else 0
        many = opened >= limits["connections.least"] and rate_per_second(whole, opened) >= limits["connections.rate"]
        many = many and 2 * refused[client] < opened  # the finding about its logins says how often
        if client != OWN_CLIENT_ID and many and each <= limits["connections.exchanges"]:
            rate, exchanges = f"{rate_per_second(whole, opened):.1f}", f"{each:.1f}"
            yield case.make_finding(
                "connection-churn", whole, client=client, client_id=client, rate=rate, exchanges=exchanges
            )
    for (host, broker), whole in _gather_lossy_links(case).items():
        share = f"{whole.sums['retransmitted'] / whole.count:.0%}"
        # The states of older versions tell how many had some, and not which.
        again = merge_observations(
            its for _, its in case.find_matching_observations("retransmitted", (1, 2), (host, broker))
        )
        seen = again if again.count == whole.sums["retransmitted"] else whole
        yield case.make_finding("retransmissions", seen, host=host, broker=broker, share=share, clients=[host])


def _gather_lossy_links(case: Case) -> dict[tuple[str, str], Observation]:
    """(host, broker) → the observation of their exchanges, where many exchanges had retransmitted bytes."""
    limits, by_link = case.limits, defaultdict[tuple[str, str], list[Observation]](list)
    for (_, host, broker), seen in case.seen.items_of_kind("client"):
        by_link[host, broker].append(seen)
    found = {}
    for link, some in by_link.items():
        whole = merge_observations(some)
        again = whole.sums.get("retransmitted", 0)
        if again >= max(limits["retransmitted.least"], 1, limits["retransmitted.share"] * whole.count):
            found[link] = whole
    return found


def _find_cut_connections(case: Case) -> Iterator[Found]:
    """Connections that were reset while idle, and connections of which one side had a TCP window of 0."""
    limits = case.limits
    for (client, host, broker, side), seen in case.seen.items_of_kind("cut"):
        if case.seen.get_observation("client", client, host, broker) is None:
            continue  # the filters leave it out
        idle = {int(text): count for text, count in seen.names["seconds"].items() if int(text) >= limits["idle.least"]}
        count = sum(idle.values())
        if count >= limits["idle.cuts"]:
            least, most = (describe_duration(each(idle) * 1000) for each in (min, max))
            about = {"client": client, "client_id": client, "broker": broker, "cuts": count}
            about["whose"] = "broker's" if side == "broker" else "client's"
            about["idle"] = least if least == most else f"{least} to {most}"
            yield case.make_finding("idle-cut", seen, **about)
    lossy = _gather_lossy_links(case)
    for (client, host, broker, side), seen in case.seen.items_of_kind("shut"):
        # Buffers are full of bytes that came behind a lost packet: the network is to blame.
        known = case.seen.get_observation("client", client, host, broker) is not None and (host, broker) not in lossy
        if known and seen.most["ns"] >= limits["window.shut"] * NS:
            who, other = (broker, client) if side == "broker" else (client, broker)
            about = {"who": who, "other": other, "client_id": client, "broker": broker}
            about["other_at" if side == "broker" else "who_at"] = describe_hosts_of_client(case, client, [host])
            longest = describe_duration(seen.most["ns"] / MS)
            total = f"on {seen.count:,} connections, on one for {longest}" if seen.count > 1 else f"for {longest}"
            yield case.make_finding("zero-window", seen, total=f"{total} in all at least", **about)


def _find_dropped_connections(case: Case) -> Iterator[Found]:
    """Connections on which requests are sent again and again, while the broker answers others, or smaller ones."""
    lossy = _gather_lossy_links(case)
    for (client, host, broker), seen in case.seen.items_of_kind("unacknowledged"):
        requests = case.seen.get_observation("lost-request", client, host, broker)
        link = case.seen.get_observation("client", client, host, broker)
        silent = case.seen.get_observation("no-entry", host, broker, "silent")
        if requests is None or link is None or silent is not None:
            continue
        about: dict[str, Any] = {"client": client, "client_id": client, "clients": [client], "broker": broker}
        about |= {"host": host, "cuts": max(seen.count, len(requests.names.get("connections", ())))}
        apis = sorted(map(int, requests.names.get("apis", ())))
        answered_since = all(case.answered.get((client, key), 0) > requests.last for key in apis)
        about["topics"] = sort_names_by_count(requests.names.get("topics", {}))[:LISTED] or None
        about["to"] = f" to {escape_for_sentence(about['topics'])}" if about["topics"] else None
        if _are_only_large_ones_lost(requests):
            new = len(requests.names["outgrown"])
            older = len(requests.names.get("connections", ())) - new
            about["where"] = (
                f"{new:,} new connections" if older <= 0 else f"{new:,} new connections and {older:,} older"
            )
            about["size"] = format_size(-requests.most["least"])
            unread = _list_clients_with_lost_answers(case, host, broker, requests)
            about["clients"] = [client, *unread][:LISTED]
            about["others"] = _describe_heard_clients(case, client, host, broker, requests, unread)
            yield case.make_finding("large-unheard", requests, **about)
        elif link.most.get("second", 0) * NS > requests.first and (host, broker) not in lossy:
            # A later request was answered: its connection is another one.
            about["silence"], about["guess"], about["likely"], about["remedy"] = _explain_dropped_connections(
                link, requests
            )
            fails = not answered_since and requests.last - requests.first >= LASTING_NS
            severity = "error" if fails and requests.count >= _FAILED_OFTEN else FINDINGS["idle-dropped"].severity
            yield Found("idle-dropped", severity, requests, about)


def _find_unread_answers(case: Case) -> Iterator[Found]:
    """Connections on which large answers are begun and sent again and again, and never finished."""
    for (client, host, broker), answers in case.seen.items_of_kind("unread-answer"):
        unacknowledged = case.seen.get_observation("unacknowledged-by-client", client, host, broker)
        cuts, size = len(answers.names["connections"]), -answers.most["least"]
        is_alive = answers.most["anew"] > answers.first
        if (
            unacknowledged is None
            or min(unacknowledged.count, cuts) < _SEVERAL
            or size < _SEGMENT_LEAST
            or not is_alive
            or case.holes
        ):
            continue
        apis = [name_of_api_key(key) for key in sorted(map(int, answers.names["apis"]))]
        about = {"client": client, "client_id": client, "clients": [client], "broker": broker, "host": host}
        about |= {"apis": apis, "cuts": cuts, "size": format_size(size)}
        about["others"] = _describe_heard_clients(case, client, host, broker, answers, [])
        yield case.make_finding("answers-unheard", answers, **about)


# The same kind of request that is lost as often, over as long a time, and never answered since, does harm.
_FAILED_OFTEN: Final = 3
# Nothing forgets a connection that was silent for less.
_IDLE_LEAST: Final = 4
# The payload of a packet that passes a path with the lowest MTU that is usual.
_SEGMENT_LEAST: Final = 1200


def _explain_dropped_connections(link: Observation, requests: Observation) -> tuple[str | None, str, str, str]:
    """Words for the silence before requests that were lost, what likely lost them (in short, in full), what to do."""
    answers = [*link.list_marked_seconds()]
    silences = []
    for second in requests.list_marked_seconds():
        before = bisect_left(answers, second)
        silences.append(second - answers[before - 1] - 1 if before else 0)
    least, size = min(silences, default=0), -requests.most.get("all-from", 0)
    is_large, forgotten = size >= _SEGMENT_LEAST, "likely a NAT or firewall forgot them"
    besides = f"; as the lost requests have {format_size(size)} and more, it may be an MTU that is smaller there, too"
    if least >= _IDLE_LEAST:
        times = "each " if len(silences) > 1 else ""
        return (
            f", {times}after {describe_duration(least * 1000)} of silence or more",
            forgotten,
            "likely something between the two has forgotten the silent connections and drops their packets: a NAT,"
            f" firewall or load balancer after an idle time-out that is shorter than this{besides if is_large else ''}",
            _KEEP_ALIVE,
        )
    if not is_large and len(requests.names.get("outgrown", ())) == len(requests.names.get("connections", ())):
        return (
            None,
            "something drops their packets",
            "something between the two lets connections begin and then drops their packets, like a firewall that looks"
            " into them or a path of which a part fails; silence before does not explain it, nor does size"
            f" ({format_size(size)} fit into one packet)",
            "look at firewalls, proxies and routes between the two, and capture on both sides",
        )
    return (
        None,
        "a NAT or firewall forgot them, or full packets are lost (MTU)" if is_large else forgotten,
        "likely something between the two has forgotten the connections and drops their packets: a NAT, firewall or"
        f" load balancer after its idle time-out, or restarted{besides if is_large else ''}",
        _KEEP_ALIVE,
    )


_KEEP_ALIVE: Final = (
    "set connections.max.idle.ms of clients below that time-out, or raise the time-out; TCP keep-alive helps too"
)


def _are_only_large_ones_lost(requests: Observation) -> bool:
    """Whether new connections were answered until a request came that was larger than all before it, and a packet."""
    large = len(requests.names.get("outgrown", ()))
    begun_since = requests.most.get("anew", 0) > requests.first
    fills_packets = -requests.most.get("least", 0) >= _SEGMENT_LEAST
    return large >= _SEVERAL and begun_since and fills_packets and "first" not in requests.sums


# On one connection alone it may be chance.
_SEVERAL: Final = 2


def _list_clients_with_lost_answers(case: Case, host: str, broker: str, requests: Observation) -> list[str]:
    """Other clients of a host to which a broker sends its answers again and again meanwhile."""
    return sorted(
        its
        for (its, who, where), seen in case.seen.items_of_kind("unacknowledged-by-client")
        if (who, where) == (host, broker) and seen.last > requests.first
    )


def _describe_heard_clients(
    case: Case, client: str, host: str, broker: str, requests: Observation, unread: list[str]
) -> str | None:
    """Words for clients whose answers are lost as well, and for those that are answered meanwhile."""
    lost = {(its, who) for (its, who, where), _ in case.seen.items_of_kind("lost-request") if where == broker}
    heard: dict[bool, set[str]] = {True: set(), False: set()}
    for (its, who, where), seen in case.seen.items_of_kind("client"):
        answered = seen.most.get("second", 0) * NS > requests.first
        if where == broker and (its, who) not in lost and its not in {*unread, client, OWN_CLIENT_ID} and answered:
            heard[who == host].add(its)
    words = ""
    if unread:
        words += f"; answers to {escape_for_sentence(unread)} there are sent again and again as well"
    if heard[True]:
        words += f"; {escape_for_sentence(sorted(heard[True]))} on the same host"
        words += f" {'is' if len(heard[True]) == 1 else 'are'} answered"
    if heard[False]:
        words += f"; on other hosts {escape_for_sentence(sorted(heard[False]))}"
        words += f" {'is' if len(heard[False]) == 1 else 'are'} answered"
    return words or None


def _find_refused_heads(case: Case) -> Iterator[Found]:
    """Brokers that close connections with a PROXY head before the stream."""
    by_way: dict[tuple[str, str], list[tuple[str, Observation]]] = defaultdict(list)
    for (via, broker, host), seen in case.seen.items_of_kind("head"):
        by_way[via, broker].append((host, seen))
    for (via, broker), some in by_way.items():
        clients = sorted({host for host, _ in some})[:LISTED]
        whole = merge_observations(seen for _, seen in some)
        yield case.make_finding("proxy-head-refused", whole, via=via, broker=broker, clients=clients)


def _find_refused_connections(case: Case) -> Iterator[Found]:
    """Connections to brokers, or to addresses that brokers advertise, that are refused or not answered."""
    # Clients resolve names to addresses that no broker advertises.
    ports = {
        str(port): number
        for (_, number, host, port), _ in case.seen.items_of_kind("advertised")
        if _find_ip_address(host) is None
    }
    # Brokers use listeners among themselves that no client is told of.
    hosts = set(map(host_of, case.brokers))
    links: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for (_, host, broker), seen in case.seen.items_of_kind("client"):
        links[host, broker].append(seen)
    filtered: dict[tuple[str, str], list[FilteredHost]] = defaultdict(list)
    for (host, address, how), seen in case.seen.items_of_kind("no-entry"):
        number = case.advertised.get(address, ports.get(address.rpartition(":")[2]))
        between = how == "silent" and seen.count >= case.limits["unanswered.least"]
        if number is None and address not in case.brokers and not (between and {host, host_of(address)} <= hosts):
            continue
        if number is None and len(hosts) > 1:
            number = case.nodes.get(host_of(address))
        opened = max((its.most.get("opened", 0) for its in links[host, address]), default=0)
        last = max((its.last for its in links[host, address]), default=0)
        tries = seen.sums.get("tries", seen.count)
        values: dict[str, Any] = {"address": address, "node_id": number, "clients": [host], "host": host}
        values["whom"] = address if number is None else f"node {number} at {address}"
        values["how"] = _NO_ENTRY[how]
        older, others = _list_answered_clients(case, host, address, seen)
        if (older or others) and opened < seen.first and tries >= case.limits["unanswered.least"]:
            without = _list_clients_without_connection(case, host, address, seen)
            filtered[address, how].append(FilteredHost(host, seen, values, opened, older, others, without))
            continue
        went_on = last > seen.last
        kind = FINDINGS["no-connection"]
        severity = kind.went_on if went_on else kind.severity
        values["went_on"] = went_on or None
        elsewhere = _list_unadvertised_addresses(case, address)
        if elsewhere and address not in case.brokers:
            severity = "error"
            values["how"] += f"; its host answers at {elsewhere[0]}, which no broker advertises"
        yield Found("no-connection", severity, seen, values)
    for (address, how), some in filtered.items():
        newest = max(
            its.most.get("opened", 0) for (_, where), each in links.items() if where == address for its in each
        )
        yield make_filtered_finding(case, some, how, newest)


# How a connection was not opened → words for it.
_NO_ENTRY: Final = {
    "refused": "refused",
    "silent": "not answered",
    "unheard": "answered, and the answers (SYN-ACK) are not heard",
}
# Whoever was answered as long before the last try still has its connection.
_GOING_NS: Final = 5 * NS


def _list_answered_clients(case: Case, host: str, address: str, seen: Observation) -> tuple[list[str], list[str]]:
    """Clients of a host, and other hosts, that a broker answers while it answers no new connection of the host."""
    answered = case.seen.get_observation("answered", address)
    if answered is None or not _are_answers_within_refusals(answered, seen):
        return [], []
    without_entry = {
        who
        for (who, where, _), its in case.seen.items_of_kind("no-entry")
        if where == address and who != host and its.first <= seen.last and its.last >= seen.first
    }
    going = [
        (who, client)
        for (client, who, where), its in case.seen.items_of_kind("client")
        if where == address
        and who not in without_entry
        and client != OWN_CLIENT_ID
        and its.last > seen.last - _GOING_NS
        and _are_answers_within_refusals(its, seen)
    ]
    return sorted({client for who, client in going if who == host}), sorted({who for who, _ in going} - {host})


def _are_answers_within_refusals(answers: Observation, refusals: Observation) -> bool:
    """Whether a second of answers is strictly between the first and the last refusal: not before, not since."""
    begin, end = refusals.first // NS, refusals.last // NS
    return any(begin < second < end for second in answers.list_marked_seconds())


def _list_clients_without_connection(case: Case, host: str, address: str, seen: Observation) -> list[str]:
    """Clients of a host that other brokers answered meanwhile, and that have nothing from this one."""
    busy = {
        client
        for (client, who, where), its in case.seen.items_of_kind("client")
        if who == host and where != address and its.last > seen.first
    }
    served = {
        client
        for (client, who, where), its in case.seen.items_of_kind("client")
        if who == host and where == address and its.last > seen.first
    }
    return sorted(busy - served - {OWN_CLIENT_ID})[:LISTED]


def _list_unadvertised_addresses(case: Case, address: str) -> list[str]:
    """Addresses at which the host of an advertised one answers, and that nobody advertises; the node's host only."""
    if address not in case.advertised or host_of(address) not in case.nodes:
        return []
    return sorted(each for each in case.brokers - case.advertised.keys() if host_of(each) == host_of(address))


def _find_live_capture_faults(case: Case) -> Iterator[Found]:
    """Findings of a look at the cluster itself (-b)."""
    for (address, number, why), seen in case.seen.items_of_kind("unreachable"):
        about = {"address": address, "node_id": number, "why": why.removeprefix(address).removeprefix(":").lstrip()}
        whom = address if number is None else f"node {number} at {address}"
        yield case.make_finding("unreachable", seen, whom=whom, **about)
    for (broker, why), seen in case.seen.items_of_kind("controller-silent"):
        yield case.make_finding("controller-silent", seen, broker=broker, why=why.removeprefix(f"{broker} "))
    late = [
        (f"node {number} at {address}", seen) for (address, number), seen in case.seen.items_of_kind("not-looked-at")
    ]
    if late:
        yield case.make_finding(
            "not-looked-at", merge_observations(seen for _, seen in late), brokers=[name for name, _ in late]
        )
    releases: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
    for (release, number), seen in case.seen.items_of_kind("release"):
        releases[release].append((number, seen))
    if len(releases) > 1:
        words = [
            f"{release} (node {escape_for_sentence([n for n, _ in its])})" for release, its in sorted(releases.items())
        ]
        whole = merge_observations(seen for its in releases.values() for _, seen in its)
        yield case.make_finding("releases-differ", whole, releases="; ".join(words))
    features: dict[str, list[Observation]] = defaultdict(list)
    for (feature, _), seen in case.seen.items_of_kind("feature"):
        features[feature].append(seen)
    for feature, some in features.items():
        level, most = max(each.most["level"] for each in some), min(each.most["most"] for each in some)
        if level < most:
            yield case.make_finding("feature-behind", merge_observations(some), feature=feature, level=level, most=most)
    for (number,), seen in case.seen.items_of_kind("controller-clock"):
        if seen.most["apart"] >= case.limits["clock.apart"] * NS:
            apart = describe_duration(seen.most["apart"] / MS)
            yield case.make_finding("controller-clock", seen, node_id=number, apart=apart)


REACHABILITY: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_live_capture_faults,
    _find_unreachable_listeners,
    _find_shared_addresses,
    _find_stranded_clients,
    _find_connection_churn_and_losses,
    _find_cut_connections,
    _find_dropped_connections,
    _find_unread_answers,
    _find_refused_heads,
    _find_refused_connections,
)
