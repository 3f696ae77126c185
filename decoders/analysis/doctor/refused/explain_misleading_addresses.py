"""Answers of wrong nodes in, observations out; and these in, findings about addresses at which wrong nodes answer out.

A broker that is not the leader says who is (KIP-951). If it names the very address at which it was asked, the broker
that answers there is another one. Without such words the same follows from metadata that do not change, and from
look-ups of a coordinator that name this address again and again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_advertised_address,
    merge_observations,
    name_of_api_key,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refused.errors_with_codes import (
    ErrorKey,
    describe_other_successes,
    find_errors_with_codes,
)
from decoders.analysis.exchange_facts import topic_of_element, view_or_empty
from decoders.exchanges.topic_arrays import structs_at
from decoders.protocol_facts.api_keys import FETCH, FIND_COORDINATOR
from decoders.protocol_facts.errors.error_codes import error_name

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["NOT_LEADER", "explain_misleading_addresses", "observe_named_coordinators", "observe_named_leaders"]

NOT_LEADER: Final = 6
_NOT_COORDINATOR: Final = 16
_NOT_CONTROLLER: Final = 41
# A broker that has become leader or coordinator knows it within a moment.
_LASTING_NS: Final = 3 * NS
# So many answers that name the same are no chance.
_ASKED_LEAST: Final = 3
# Kind of a subject → the key type with which its coordinator is looked up.
_KEY_TYPES: Final = {"group": 0, "transactional_id": 1}


def observe_named_leaders(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the leaders that an answer names where it refuses to be one, and their addresses."""
    answer = exchange.values("response")
    if not isinstance(answer, dict):
        return
    places: dict[int, list[str]] = defaultdict(list)
    for element in structs_at(answer, "responses"):
        topic = topic_of_element(exchange, element)
        for part in (*structs_at(element, "partition_responses"), *structs_at(element, "partitions")):
            leader = part.get("current_leader")
            number = leader.get("leader_id") if isinstance(leader, dict) else None
            if part.get("error_code") == NOT_LEADER and isinstance(number, int) and number >= 0:
                places[number].append(f"{topic}-{part.get('index', part.get('partition_index'))}")
    for number, some in places.items():
        its = seen.get_or_make("leader-named", client, exchange.connection_info.broker, number)
        its.count_exchange(exchange)
        for place in some:
            its.count_name("places", place)
        for node in structs_at(answer, "node_endpoints"):
            if node.get("node_id") == number:
                its.count_name("addresses", format_advertised_address(str(node.get("host")), node.get("port") or 0))


def observe_named_coordinators(seen: Observations, exchange: Exchange) -> None:
    """Observe which node, at which address, a look-up names as the coordinator of a group or transactional id."""
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    for node in list(structs_at(answer, "coordinators")) or [answer]:
        name, number, port = node.get("key") or request.get("key"), node.get("node_id"), node.get("port")
        if name and isinstance(name, str) and isinstance(number, int) and isinstance(port, int) and port > 0:
            address = format_advertised_address(str(node.get("host")), port)
            its = seen.get_or_make("coordinator-named", request.get("key_type", 0), name, address)
            its.count_answer(exchange)
            its.keep_greatest("node", number)


def explain_misleading_addresses(case: Case) -> Iterator[tuple[Found, set[ErrorKey]]]:
    """Addresses at which clients are refused what the node of this address has: one finding for each."""
    shared = {format_advertised_address(host, port) for (host, port), _ in case.seen.items_of_kind("shared-address")}
    by_address: dict[tuple[int, str], dict[ErrorKey, Observation]] = defaultdict(dict)
    for key, seen in find_errors_with_codes(case, (NOT_LEADER, _NOT_COORDINATOR, _NOT_CONTROLLER)):
        if len(seen.names["brokers"]) == 1:
            (address,) = seen.names["brokers"]
            by_address[key[0], address][key] = seen
    for (code, address), some in by_address.items():
        whole = merge_observations(some.values())
        number = case.advertised.get(address)
        if whole.count < case.limits["errors.few"] or whole.last - whole.first < _LASTING_NS or address in shared:
            continue
        if code == NOT_LEADER:
            its = _find_proof_of_leaders(case, address, some)
        elif number is None:
            continue
        elif code == _NOT_COORDINATOR:
            its = _find_proof_of_coordinators(case, address, some)
        else:
            its = _find_proof_of_controller(case, number, some)
        if its is not None and its[0]:
            yield _make_finding(case, address, number, *its), {*its[0]}


def _make_finding(
    case: Case, address: str, number: int | None, some: dict[ErrorKey, Observation], proof: str, named: int | None
) -> Found:
    whole = merge_observations(some.values())
    code, kind = next((key[0], key[3]) for key in some)
    clients = sorted({key[2] for key in some})
    apis = sorted({key[1] for key in some})
    subjects = sorted({str(key[4]) for key in some if key[4] is not None})
    about: dict[str, Any] = {
        "address": address,
        "node_id": number if named is None else named,
        "error": error_name(code),
        "clients": clients[:LISTED],
        "broker": address,
        "api": name_of_api_key(apis[0]) if len(apis) == 1 else None,
        "apis": [name_of_api_key(key) for key in apis],
        "client_id": clients[0] if len(clients) == 1 else None,
    }
    if kind == "topic":
        places = sorted(
            {
                place
                for (client, _, _), seen in case.find_matching_observations("leader-named", (1,), (address,))
                if client in clients
                for place in seen.names["places"]
            }
        )
        about["places"] = f" for {escape_for_sentence(places or subjects)}"
        about["topics"] = subjects[:LISTED]
    elif subjects and kind in _KEY_TYPES:
        about["places"] = f" for {'group' if kind == 'group' else 'transactional id'} {escape_for_sentence(subjects)}"
        about["group"] = subjects[0] if kind == "group" and len(subjects) == 1 else None
    others = _find_answering_nodes(case, clients, address, about["node_id"]) if kind == "topic" else []
    about["to"] = f": node {escape_for_sentence(others)}" if others else None
    about["proof"] = proof
    # Of a topic's partitions others are elsewhere, so that a success there says nothing.
    went_on = kind != "topic" and all(
        case.done.get((key[2], key[1], key[4]), 0) > seen.last for key, seen in some.items()
    )
    about["successes"] = describe_other_successes(case, subjects[0], [*some], whole) if len(subjects) == 1 else None
    row = FINDINGS["other-node-answers"]
    return Found("other-node-answers", row.went_on if went_on else row.severity, whole, about)


_Proof = tuple[dict[ErrorKey, Observation], str, int | None]


def _find_proof_of_leaders(case: Case, address: str, some: dict[ErrorKey, Observation]) -> _Proof | None:
    """The errors that prove another node at an address, words for the proof, and the node that should answer."""
    named: dict[str, int] = {}
    named_there = case.find_matching_observations("leader-named", (1,), (address,))
    for (client, _, number), seen in named_there:
        its = case.advertised.get(address) == number or address in seen.names.get("addresses", ())
        if its and seen.last - seen.first >= _LASTING_NS:
            named[client] = number
    found = {key: seen for key, seen in some.items() if key[2] in named}
    if found:
        (number, *_) = sorted({named[key[2]] for key in found})
        return found, f"; the answers themselves name node {number} at {address} as the leader", number
    if address not in case.advertised:
        return None
    asked = {client for (client, _, _), _ in named_there}
    found = {key: seen for key, seen in some.items() if key[2] not in asked and _are_leaders_unchanged(case, key, seen)}
    words = "; the client has asked for metadata meanwhile, and no leader of the topic has changed"
    return found, words, None


def _are_leaders_unchanged(case: Case, key: ErrorKey, seen: Observation) -> bool:
    """Whether metadata that a client asked for show the same leader epochs of a topic before and after its errors."""
    _, api_key, client, kind, topic = key
    known, asked = case.seen.get_observation("topic", topic), case.seen.get_observation("metadata", client)
    if kind != "topic" or known is None or asked is None or "epochs" not in known.edges:
        return False
    (first_ns, first), (last_ns, last) = known.edges["epochs"]
    # A node that is gone is no leader, and a client that asked once may not have got the answer.
    is_served = api_key == FETCH and any(
        its.edges["lag"][1][0] > seen.first
        for number in seen.names.get("partitions", ())
        if (its := case.seen.get_observation("lag", client, topic, int(number))) is not None
    )
    return (
        first == last
        and first_ns <= seen.first
        and min(last_ns, asked.last) >= seen.first + _LASTING_NS
        and asked.count >= _ASKED_LEAST
        and seen.last > min(last_ns, asked.last)
        and not is_served
    )


def _find_proof_of_coordinators(case: Case, address: str, some: dict[ErrorKey, Observation]) -> _Proof | None:
    found = {}
    for key, seen in some.items():
        _, api_key, client, kind, name = key
        named = {
            where: its
            for (_, _, where), its in case.find_matching_observations(
                "coordinator-named", (0, 1), (_KEY_TYPES.get(kind), name)
            )
            if its.last >= seen.first
        }
        used = case.last_uses.get((client, name), 0)
        if api_key != FIND_COORDINATOR and [*named] == [address] and used < seen.first:
            its = named[address]
            if its.last >= seen.first + _LASTING_NS and its.count >= _ASKED_LEAST:
                found[key] = seen
    return found, f"; each look-up names {address} as the coordinator's address, also since", None


def _find_proof_of_controller(case: Case, number: int, some: dict[ErrorKey, Observation]) -> _Proof | None:
    listing = case.seen.get_observation("listing")
    if listing is None or "controller" not in listing.edges:
        return None
    (_, first), (last_ns, last) = listing.edges["controller"]
    found = {key: seen for key, seen in some.items() if last_ns >= seen.first + _LASTING_NS}
    if not first == last == number:
        return None
    return found, f"; the metadata name node {number} as the controller, before and since", None


def _find_answering_nodes(case: Case, clients: list[str], address: str, number: int | None) -> list[int]:
    """Nodes at whose own addresses the same clients are seen to be told of the same leader: behind a port forward."""
    return sorted(
        {
            case.advertised[where]
            for client in clients
            for (_, where, _), _ in case.find_matching_observations("leader-named", (0, 2), (client, number))
            if where != address and case.advertised.get(where, number) != number
        }
    )
