"""Observations in; findings about nodes of another cluster than the nodes with which they speak out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    NS,
    Case,
    Found,
    format_advertised_address,
    format_clock,
    merge_observations,
)
from decoders.analysis.doctor.observations import Observation
from decoders.capture.merge_captures import file_index_of_packet

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

__all__ = ["FOREIGN_NODES", "INCONSISTENT_CLUSTER_ID", "explain_foreign_nodes", "name_input"]

INCONSISTENT_CLUSTER_ID: Final = 104
# Client ids of nodes: `raft-client-3`, `broker-3-fetcher-0`, `3` of a broker that speaks with its controller.
_NODE: Final = re.compile(r"(?:raft-client-|broker-)?(\d{1,9})(?:-fetcher-\d+)?")
_ErrorKey = tuple[int, int, str, str, str | None]
# A cluster id, whether the address itself answers with it or another one that lists it, and these answers.
_Claim = tuple[str, bool, Observation]
# A cluster is made anew within such a time; the next file of a ring begins at once, other inputs may be of others.
_ANEW_MOST_NS: Final = 10 * 60 * NS
_NEXT_FILE_NS: Final = 60 * NS


def name_input(exchange: Exchange) -> str:
    """The input that an exchange is from, as text: its file where that is named, else the number of the file."""
    file = exchange.extra.get("file") if exchange.extra is not None else None
    return str(file or file_index_of_packet(exchange.response_packet or exchange.request_packet or 0))


def _gather_addresses_by_cluster(case: Case) -> dict[str, dict[str, Observation]]:
    """Cluster id → addresses at which brokers say in Metadata that it is theirs, and these answers."""
    found: dict[str, dict[str, Observation]] = defaultdict(dict)
    for (broker, cluster), seen in case.seen.items_of_kind("cluster"):
        found[str(cluster)][broker] = seen
    return found


def explain_foreign_nodes(case: Case) -> Iterator[tuple[Found, set[_ErrorKey]]]:
    """Nodes whose requests are refused for their cluster id, and addresses of a cluster where another one answers."""
    addresses = _gather_addresses_by_cluster(case)
    refused: dict[str, dict[_ErrorKey, Observation]] = defaultdict(dict)
    for key, seen in case.seen.items_of_kind("error"):
        if key[0] == INCONSISTENT_CLUSTER_ID:
            for cluster in seen.names.get("cluster-ids", ()):
                refused[cluster][key] = seen
    if refused:
        yield _explain_refused_node(case, addresses, refused)
        return
    claims = _gather_claims(case, addresses)
    for cluster, brokers in addresses.items():
        for broker, seen in brokers.items():
            other = _find_other_cluster(addresses, claims[broker], cluster, broker)
            if other is not None:
                about: dict[str, Any] = {"address": broker, "broker": broker, "node_id": case.advertised.get(broker)}
                number = about["node_id"]
                about["who"] = broker if number is None else f"node {number} ({broker})"
                about |= {"cluster": cluster, "other": other, "clients": sorted(seen.names["clients"])[:LISTED]}
                about["shown"] = "as its answers to Metadata say"
                yield case.make_finding("cluster-mixed", seen, **about), set()


def _gather_claims(case: Case, addresses: dict[str, dict[str, Observation]]) -> dict[str, list[_Claim]]:
    """Address → the clusters whose node answers there, or which list it, in the order of their ids."""
    answers: dict[str, list[tuple[str, Observation]]] = defaultdict(list)
    for cluster, brokers in addresses.items():
        for broker, seen in brokers.items():
            answers[broker].append((cluster, seen))
    asked: dict[str, set[str]] = {broker: {broker} for broker in answers}
    for (where, _, host, port), _ in case.seen.items_of_kind("advertised"):
        listed = format_advertised_address(host, port)
        if listed in asked and where in answers:
            asked[listed].add(where)
    return {
        broker: sorted(
            ((cluster, where == broker, seen) for where in some for cluster, seen in answers[where]),
            key=lambda claim: claim[:2],
        )
        for broker, some in asked.items()
    }


def _find_other_cluster(
    addresses: dict[str, dict[str, Observation]], claims: list[_Claim], cluster: str, broker: str
) -> str | None:
    """Another cluster whose node an address is at the same time: it answers before and after, or others list it.

    One that answers only before, or only after, is a cluster that was made anew, or another one at another time.
    """
    seen = addresses[cluster][broker]
    for other, is_own, its in claims:
        if not _share_input(seen, its):
            continue  # two inputs of one time, with addresses that are in both
        if its.first < (seen.first if is_own else seen.last) and its.last > seen.first and other != cluster:
            answer = addresses[other].get(broker)
            if answer is None or answer.first < seen.first:
                return other
    return None


def _share_input(one: Observation, other: Observation) -> bool:
    """Whether answers of both are in one input, as far as that is known."""
    files, others = one.names.get("files"), other.names.get("files")
    return not files or not others or not files.keys().isdisjoint(others)


def _find_clusters_made_anew(case: Case) -> Iterator[Found]:
    """Addresses whose cluster id changes once, for good, while clients go on: one finding for all of a cluster."""
    addresses = _gather_addresses_by_cluster(case)
    answers: dict[str, list[tuple[str, Observation]]] = defaultdict(list)
    for cluster, brokers in addresses.items():
        for broker, seen in brokers.items():
            answers[broker].append((cluster, seen))
    found: dict[tuple[str, str], dict[str, tuple[Observation, Observation]]] = defaultdict(dict)
    for broker, some in answers.items():
        if len(some) != 2:
            continue
        (old, before), (new, after) = sorted(some, key=lambda item: (item[1].first, item[0]))
        heard_both = before.names["clients"].keys() & after.names["clients"].keys()
        pause = _ANEW_MOST_NS if _share_input(before, after) else _NEXT_FILE_NS
        if heard_both and 0 < after.first - before.last <= pause:
            found[old, new][broker] = before, after
    for (old, new), its in found.items():
        whole = merge_observations(after for _, after in its.values())
        clients = {
            name for before, after in its.values() for name in before.names["clients"] if name in after.names["clients"]
        }
        until = max(before.last for before, _ in its.values())
        about: dict[str, Any] = {"clients": sorted(clients)[:LISTED], "cluster": new, "other": old}
        about |= {"broker": next(iter(its)) if len(its) == 1 else None, "who": sorted(its)}
        about |= {"verb": "has" if len(its) == 1 else "have", "until": format_clock(until)}
        about |= {"at": format_clock(whole.first), "readers": sorted(clients)}
        about["goes"] = "goes" if len(clients) == 1 else "go"
        yield case.make_finding("cluster-anew", whole, **about)


def _explain_refused_node(
    case: Case, addresses: dict[str, dict[str, Observation]], refused: dict[str, dict[_ErrorKey, Observation]]
) -> tuple[Found, set[_ErrorKey]]:
    """The finding about the cluster id that the fewest brokers have and the most refuse."""

    def rank(cluster: str) -> tuple[int, int, str]:
        refusing = {broker for seen in refused[cluster].values() for broker in seen.names.get("brokers", ())}
        return len(addresses.get(cluster, ())), -len(refusing), cluster

    foreign = min(refused, key=rank)
    others = sorted({*refused, *addresses} - {foreign}, key=lambda each: (-len(addresses.get(each, ())), each))
    keys = {key for some in refused.values() for key in some}
    whole = merge_observations(seen for some in refused.values() for seen in some.values())
    clients = sorted({key[2] for key in refused[foreign]})
    numbers = {int(match[1]) for match in map(_NODE.fullmatch, clients) if match}
    about: dict[str, Any] = {
        "clients": clients[:LISTED],
        "cluster": foreign,
        "other": others[0] if others else "another",
    }
    about["node_id"] = min(numbers) if len(numbers) == 1 else None
    about["address"] = next((where for where, node in case.advertised.items() if node == about["node_id"]), None)
    about["who"] = clients if about["node_id"] is None else f"node {about['node_id']}"
    about["shown"] = "nodes answer INCONSISTENT_CLUSTER_ID to each other"
    return case.make_finding("cluster-mixed", whole, **about), keys


FOREIGN_NODES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_clusters_made_anew,)
