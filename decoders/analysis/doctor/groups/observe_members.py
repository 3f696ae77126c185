"""Exchanges of group members in, observations of what they subscribe to, what they are given, and who sets offsets."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.ids_and_logins.observe_ids_and_logins import mark_member_alive, observe_group_join
from decoders.analysis.exchange_facts import CONSUMER, replica_id_of_fetch, topic_of_element, view_or_empty
from decoders.analysis.read_dimension_values import host_of
from decoders.embedded import decode_embedded
from decoders.errors import DecodeError
from decoders.exchanges.topic_arrays import structs_at
from decoders.protocol_facts.api_keys import JOIN_GROUP

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["observe_assignment", "observe_subscription", "observe_waiting_request"]

_CONSUMER: Final = "consumer"
_LONG_WAIT_MS: Final = 1000


def observe_subscription(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a JoinGroup, and the topics that a member asks for with it."""
    observe_group_join(seen, exchange, client)
    request = view_or_empty(exchange, "request")
    group = request.get("group_id")
    if not group or request.get("protocol_type") != _CONSUMER or view_or_empty(exchange, "response").get("error_code"):
        return
    for protocol in structs_at(request, "protocols"):
        its = seen.get_or_make("subscribed", group, client)
        its.count_exchange(exchange)
        for topic in (
            _decode_structure_or_empty("ConsumerProtocolSubscription", protocol.get("metadata")).get("topics") or ()
        ):
            its.count_name("topics", str(topic))
        return  # each assignor gets the same


def observe_assignment(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a SyncGroup, and how many partitions it gives a member of a consumer group."""
    mark_member_alive(seen, exchange, client)
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    group, member, given = request.get("group_id"), request.get("member_id"), answer.get("assignment")
    if not group or not member or answer.get("error_code") or not isinstance(given, bytes | bytearray | memoryview):
        return
    found = _decode_structure_or_empty("ConsumerProtocolAssignment", given) if given else {"assigned_partitions": []}
    rows = found.get("assigned_partitions")
    if rows is None:
        return
    its = seen.get_or_make("given", group, member, client)
    its.count_exchange(exchange)
    its.keep_first_and_last("partitions", exchange.time_ns, sum(len(each.get("partitions") or ()) for each in rows))


def observe_waiting_request(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a consumer's Fetch or JoinGroup that lets the broker wait for a second or more, and got no answer.

    An answer that comes late may come to a connection that the client has closed: these are observed as well.
    """
    request = view_or_empty(exchange, "request")
    if exchange.api_key == JOIN_GROUP:
        wait_ms = request.get("rebalance_timeout_ms") or request.get("session_timeout_ms") or 0
    elif replica_id_of_fetch(request) == CONSUMER:
        wait_ms = request.get("max_wait_ms") or 0
    else:
        return
    if wait_ms < _LONG_WAIT_MS:
        return
    info = exchange.connection_info
    its = seen.get_or_make("wait-unheard", client, host_of(info.client), info.broker, exchange.api_key)
    its.count_exchange(exchange)
    its.count_name("times", str(exchange.time_ns))
    its.count_name("connections", info.client)
    its.keep_greatest("wait", wait_ms)
    its.keep_greatest("bytes", request.get("min_bytes") or 0)
    is_late = exchange.response_ns is not None
    its.add_to_sum("ended", is_late or exchange.closed in ("fin", "rst"))
    if request.get("group_id"):
        its.count_name("groups", str(request["group_id"]))
    for element in structs_at(request, "topics"):
        topic = topic_of_element(exchange, element)
        if topic:
            its.count_name("topics", topic)


def _decode_structure_or_empty(name: str, data: Any) -> dict[str, Any]:
    """The structure in bytes; empty where it does not decode."""
    with suppress(DecodeError, TypeError, ValueError):
        if data:
            return decode_embedded(name, bytes(data))
    return {}
