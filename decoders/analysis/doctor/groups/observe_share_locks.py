"""Exchanges of share groups in, observations of records that members acquire and acknowledge out (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders.analysis.exchange_facts import topic_of_element, view_or_empty
from decoders.exchanges.topic_arrays import structs_at
from decoders.limits import NAMES_OBSERVED_MAX

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = [
    "INVALID_RECORD_STATE",
    "observe_acknowledged_records",
    "observe_acquired_records",
    "observe_delivery_limit",
    "observe_refused_acknowledgements",
]

INVALID_RECORD_STATE: Final = 121


def observe_acknowledged_records(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Observe the records that a member acknowledges on their own."""
    seen.shared.learn(exchange)


def observe_delivery_limit(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Observe how often a record is delivered at most, where somebody looks it up."""
    seen.shared.learn(exchange)


def observe_acquired_records(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the records that a member acquires, how long for and how often delivered, and those it acknowledges."""
    seen.shared.learn(exchange)
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    group, time_ns = str(request.get("group_id")), exchange.response_ns or exchange.time_ns
    lock_ms = answer.get("acquisition_lock_timeout_ms") or 0
    if not exchange._error_codes:
        for element in structs_at(request, "topics"):
            if any(part.get("acknowledgement_batches") for part in structs_at(element, "partitions")):
                its = seen.get_or_make("acknowledged", group, client, topic_of_element(exchange, element))
                its.count_exchange(exchange)
    for element in structs_at(answer, "responses"):
        for part in structs_at(element, "partitions"):
            for acquired in structs_at(part, "acquired_records"):
                topic = topic_of_element(exchange, element)
                its = seen.get_or_make("acquired", group, client, topic)
                its.count_exchange(exchange)
                its.keep_greatest("lock", lock_ms)
                its.keep_greatest("deliveries", acquired.get("delivery_count") or 0)
                if (acquired.get("delivery_count") or 0) > 1:
                    seen.get_or_make("delivered-again", group, client, topic).count_answer(exchange)
                if len(its.names.get("ranges", ())) < NAMES_OBSERVED_MAX:
                    first, last = acquired.get("first_offset", 0), acquired.get("last_offset", -1)
                    its.count_name("ranges", f"{part.get('partition_index', 0)} {first} {last} {time_ns}")


def observe_refused_acknowledgements(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the records that a member acknowledges, where the answer says that it does not hold them."""
    request, answer = exchange.values("request"), exchange.values("response")
    if not isinstance(request, dict) or not isinstance(answer, dict):
        return
    refused = {
        (element.get("topic_id"), part.get("partition_index"))
        for element in structs_at(answer, "responses")
        for part in structs_at(element, "partitions")
        if INVALID_RECORD_STATE in (part.get("error_code"), part.get("acknowledge_error_code"))
    }
    for element in structs_at(request, "topics"):
        for part in structs_at(element, "partitions"):
            number = part.get("partition_index")
            for batch in structs_at(part, "acknowledgement_batches"):
                if (element.get("topic_id"), number) in refused:
                    its = seen.get_or_make(
                        "not-held", str(request.get("group_id")), client, topic_of_element(exchange, element)
                    )
                    its.count_exchange(exchange)
                    its.count_name("ranges", f"{number} {batch.get('first_offset')} {exchange.time_ns}")
