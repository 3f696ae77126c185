"""Reassignments of partitions in, observations of when they began and go on, and of replication throttles out.

These APIs are rare, and the bodies of requests that change something are read whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.refused.observe_changes import observe_changes
from decoders.analysis.exchange_facts import view_or_empty
from decoders.exchanges.topic_arrays import structs_at

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["THROTTLES", "observe_begun_moves", "observe_changed_configs", "observe_listed_moves"]

THROTTLES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_BROKER: Final = 4
_DELETE: Final = 1


def observe_changed_configs(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe changes of configs, and replication throttles of brokers among them: -1 for one that was removed."""
    observe_changes(seen, exchange, client)
    request, answer = exchange.values("request"), exchange.values("response")
    failed = {str(each.get("resource_name")) for each in structs_at(answer, "responses") if each.get("error_code")}
    for resource in structs_at(request, "resources"):
        name = str(resource.get("resource_name"))  # text that is none is an object in tables
        if resource.get("resource_type") != _BROKER or name in failed or request.get("validate_only"):
            continue
        for config in structs_at(resource, "configs"):
            setting, value = config.get("name"), config.get("value")
            if not isinstance(setting, str) or setting not in THROTTLES:
                continue
            is_set = isinstance(value, str) and value.isdecimal() and config.get("config_operation") != _DELETE
            its = seen.get_or_make("replication-throttle", name, str(setting))
            its.count_exchange(exchange)
            its.count_name("clients", client)
            its.keep_first_and_last("rate", exchange.time_ns, int(str(value)[:18]) if is_set else -1)


def observe_begun_moves(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the partitions whose replicas somebody moves, or no longer."""
    observe_changes(seen, exchange, client)
    request, answer = exchange.values("request"), exchange.values("response")
    if not isinstance(answer, dict) or answer.get("error_code"):
        return
    failed = {
        (str(topic.get("name")), part.get("partition_index"))
        for topic in structs_at(answer, "responses")
        for part in structs_at(topic, "partitions")
        if part.get("error_code")
    }
    for topic in structs_at(request, "topics"):
        for part in structs_at(topic, "partitions"):
            place = str(topic.get("name")), part.get("partition_index")
            if place not in failed:
                its = seen.get_or_make("move-begun", *place)
                its.count_exchange(exchange)
                its.count_name("clients", client)
                its.keep_first_and_last("begun", exchange.time_ns, int(part.get("replicas") is not None))


def observe_listed_moves(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Observe the moves that go on as an answer lists them, and which topics it would have listed (None: all)."""
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    if answer.get("error_code"):
        return
    asked: list[Any] = [str(each.get("name")) for each in structs_at(request, "topics")] or [None]
    for topic in asked:
        seen.get_or_make("moves-listed", topic).count_answer(exchange)
    for element in structs_at(answer, "topics"):
        for part in structs_at(element, "partitions"):
            its = seen.get_or_make("moving", str(element.get("name")), part.get("partition_index"))
            its.count_answer(exchange)
            for node in part.get("adding_replicas") or ():
                its.count_name("adding", str(node))
