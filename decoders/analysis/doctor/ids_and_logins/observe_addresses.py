"""Answers that name nodes in, observations of the addresses that brokers advertise out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decoders.analysis.doctor.refused.explain_misleading_addresses import observe_named_coordinators
from decoders.analysis.exchange_facts import view_or_empty
from decoders.analysis.read_dimension_values import host_of
from decoders.exchanges.topic_arrays import structs_at

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = [
    "find_subjects_of_coordinator",
    "observe_advertised_address",
    "observe_coordinator",
    "observe_described_cluster",
]


def observe_advertised_address(seen: Observations, exchange: Exchange, node: dict[str, Any], number: Any) -> None:
    host, port = node.get("host"), node.get("port")
    if isinstance(number, int) and number >= 0 and host and isinstance(port, int):
        its = seen.get_or_make("advertised", exchange.connection_info.broker, number, host, port)
        its.count_answer(exchange)
        its.count_name("clients", host_of(exchange.connection_info.client))


def observe_described_cluster(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    for node in structs_at(exchange.view("response"), "brokers"):
        observe_advertised_address(seen, exchange, node, node.get("broker_id"))


def observe_coordinator(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    answer = view_or_empty(exchange, "response")
    for node in list(structs_at(answer, "coordinators")) or [answer]:
        if not node.get("error_code"):
            seen.get_or_make("coordinator", view_or_empty(exchange, "request").get("key_type", 0)).count_exchange(
                exchange
            )
            observe_advertised_address(seen, exchange, node, node.get("node_id"))
    observe_named_coordinators(seen, exchange)


def find_subjects_of_coordinator(exchange: Exchange) -> tuple[str, list[str]]:
    """What a FindCoordinator asks for: the kind and the names of groups or transactional ids."""
    request = view_or_empty(exchange, "request")
    kind = {0: "group", 1: "transactional_id"}.get(request.get("key_type", 0))
    names = [name for name in (request.get("key"), *(request.get("coordinator_keys") or ())) if isinstance(name, str)]
    return (kind, [name for name in names if name]) if kind is not None else ("client_id", [])
