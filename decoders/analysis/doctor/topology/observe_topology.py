"""Exchanges in, observations of how topics came to be, of racks of clients, and of Streams groups, out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.ids_and_logins.observe_ids_and_logins import observe_group_heartbeat
from decoders.analysis.doctor.refused.observe_changes import observe_changes
from decoders.analysis.exchange_facts import view_or_empty
from decoders.exchanges.topic_arrays import structs_at

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = [
    "observe_created_topics",
    "observe_missing_topic",
    "observe_rack_of_client",
    "observe_streams_heartbeat",
]

# UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE: what Metadata say of a topic that they have just created.
_MISSING_CODES: Final = frozenset({3, 5})
# The most characters of the details of a state that are kept.
_DETAIL_MOST: Final = 300


def observe_missing_topic(
    seen: Observations, exchange: Exchange, client: str, topic: str | None, code: int | None
) -> None:
    """Observe a topic that is missing, in an answer to Metadata that may create it (before version 4 all may)."""
    if topic and code in _MISSING_CODES and view_or_empty(exchange, "request").get("allow_auto_topic_creation", True):
        seen.get_or_make("may-create", topic, client).count_answer(exchange)


def observe_created_topics(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the topics that a CreateTopics made, and whether a broker sent it on with its own defaults."""
    observe_changes(seen, exchange, client)
    request, answer = exchange.values("request"), exchange.values("response")
    if not isinstance(request, dict) or not isinstance(answer, dict) or request.get("validate_only"):
        return
    made = {str(each.get("name")) for each in structs_at(answer, "topics") if not each.get("error_code")}
    for element in structs_at(request, "topics"):
        name = str(element.get("name"))
        if name in made:
            by_default = element.get("num_partitions") == -1 or element.get("replication_factor") == -1
            how = "by-broker" if by_default and exchange.envelope is not None else "asked"
            seen.get_or_make("created", name, client, how).count_exchange(exchange)


def observe_rack_of_client(seen: Observations, exchange: Exchange, client: str, rack: Any) -> None:
    """Observe the rack that a consumer says it is in."""
    if rack and isinstance(rack, str):
        seen.get_or_make("rack", client, rack).count_exchange(exchange)


def observe_streams_heartbeat(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a StreamsGroupHeartbeat, and the states of the group that its answer names (KIP-1071)."""
    observe_group_heartbeat(seen, exchange, client)
    group, answer = view_or_empty(exchange, "request").get("group_id"), view_or_empty(exchange, "response")
    observe_rack_of_client(seen, exchange, client, view_or_empty(exchange, "request").get("rack_id"))
    if not group or answer.get("error_code"):
        return
    seen.get_or_make("streams-beat", group).count_answer(exchange)
    for status in structs_at(answer, "status"):
        code, detail = status.get("status_code"), str(status.get("status_detail") or "")[:_DETAIL_MOST]
        if isinstance(code, int):
            its = seen.get_or_make("streams-status", group, code, detail)
            its.count_answer(exchange)
            its.count_name("clients", client)
