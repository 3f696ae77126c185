"""Exchanges of OffsetFetch, OffsetCommit, ListOffsets and Fetch in, observations of positions in partitions out.

Positions are of two kinds: where a group or a client is (committed offsets, the offset of a Fetch that was out of
range), and where a log begins, ends and may be read up to (ListOffsets, the last stable offset).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.exchange_facts import topic_of_element
from decoders.analysis.read_dimension_values import host_of
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, TopicArray, structs_at
from decoders.protocol_facts.api_keys import LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange

__all__ = [
    "observe_answer_broken_off",
    "observe_committed_offsets",
    "observe_fetched_offsets",
    "observe_held_records",
    "observe_listed_offsets",
    "observe_position_out_of_range",
    "observe_transactional_batch",
    "observe_unseen_records",
]

_COMMITTED, _ = TOPIC_ARRAYS[OFFSET_COMMIT]
_, _, _FETCHED, _FETCHED_BY_GROUP = TOPIC_ARRAYS[OFFSET_FETCH]
_ASKED, _LISTED = TOPIC_ARRAYS[LIST_OFFSETS]
# No client has a limit below it for the answers that it takes.
_LARGE: Final = 1 << 10
# The time stamps that ask for the begin and the end of a log.
_EARLIEST, _LATEST = -2, -1
_NAMES: Final = {_EARLIEST: "start", _LATEST: "end"}


def _iterate_partitions_of_array(
    exchange: Exchange, view: Any, array: TopicArray
) -> Iterator[tuple[str | None, dict[str, Any], dict[str, Any]]]:
    """Topic, the struct with the group's id, and the struct of each partition in an array."""
    for holder in structs_at(view, array.outer) if array.outer else (view,) if isinstance(view, dict) else ():
        for element in structs_at(holder, array.topics):
            topic = topic_of_element(exchange, element)
            for part in structs_at(element, array.partitions):
                yield topic, holder, part


def observe_committed_offsets(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the offsets that a member commits."""
    if exchange._error_codes:
        return
    request = exchange._request_view
    is_foreign = isinstance(request, dict) and not request.get("member_id")
    for topic, holder, part in _iterate_partitions_of_array(exchange, request, _COMMITTED):
        offset = part.get(_COMMITTED.offset)
        if offset is not None and offset >= 0:
            its = seen.get_or_make("committed", holder.get("group_id"), topic, part.get(_COMMITTED.number))
            its.keep_first_and_last("offset", exchange.time_ns, offset)
            its.count_name("clients", client)
            if is_foreign and holder.get("generation_id_or_member_epoch", -1) < 0:
                its = seen.get_or_make("offset-set", holder.get("group_id"), topic, part.get(_COMMITTED.number), client)
                its.count_exchange(exchange)
                its.keep_first_and_last("offset", exchange.time_ns, offset)


def observe_fetched_offsets(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the committed offsets that a member gets with its assignment, or that there is none."""
    request, answer = exchange._request_view, exchange._response_view
    single = request.get("group_id") if isinstance(request, dict) else None
    for array in (_FETCHED, _FETCHED_BY_GROUP):
        for topic, holder, part in _iterate_partitions_of_array(exchange, answer, array):
            number, offset, group = part.get(array.number), part.get(array.offset), holder.get("group_id") or single
            if offset is None or not group or part.get(array.error):
                continue
            assigned = seen.get_or_make("assigned", group, client, topic, number)
            assigned.count_exchange(exchange)
            assigned.count_name(f"from {offset}", exchange.connection_info.client)
            its = seen.get_or_make("committed", group, topic, number)
            if offset >= 0:
                its.keep_first_and_last("offset", exchange.time_ns, offset)
            else:
                its.count_exchange(exchange)
                its.count_name("clients", client)
                its.count_name("without", str(exchange.time_ns))


def observe_listed_offsets(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Observe where logs begin and end."""
    asked = {
        (topic, part.get(_ASKED.number)): part.get("timestamp")
        for topic, _, part in _iterate_partitions_of_array(exchange, exchange._request_view, _ASKED)
    }
    for topic, _, part in _iterate_partitions_of_array(exchange, exchange._response_view, _LISTED):
        name = _NAMES.get(asked.get((topic, part.get(_LISTED.number))) or 0)
        offset = part.get(_LISTED.offset)
        if name is not None and offset is not None and offset >= 0 and not part.get(_LISTED.error):
            its = seen.get_or_make("log", topic, part.get(_LISTED.number))
            its.keep_first_and_last(name, exchange.time_ns, offset)


def observe_position_out_of_range(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any], position: int
) -> None:
    """Observe the offset of a Fetch that is outside of the log."""
    its = seen.get_or_make("outside", client, *place)
    its.count_exchange(exchange)
    its.keep_first_and_last("position", exchange.time_ns, position)


def observe_held_records(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any], stable: int
) -> None:
    """Observe a reader of committed records that gets none, though there are records behind the last stable offset."""
    its = seen.get_or_make("held", *place, stable)
    its.count_exchange(exchange)
    its.count_name("clients", client)
    its.count_name("brokers", exchange.connection_info.broker)


def observe_answer_broken_off(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a Fetch whose answer was begun and not finished when the connection ended, though no packet was lost."""
    size = exchange.response_size or 0
    if exchange.response_ns is None or size < _LARGE or exchange.closed not in ("fin", "rst"):
        return
    info = exchange.connection_info
    its = seen.get_or_make("broken-off", client, host_of(info.client), info.broker)
    its.count_exchange(exchange)
    its.keep_greatest("least", -size)
    its.keep_greatest("most", size)
    for element in structs_at(exchange.view("request"), "topics"):
        topic = topic_of_element(exchange, element)
        for part in structs_at(element, "partitions"):
            its.count_name("positions", f"{topic} {part.get('partition')} {part.get('fetch_offset')}")


def observe_unseen_records(seen: Observations, client: str) -> None:
    """Observe that a client may have got records which the capture does not show."""
    seen.get_or_make("unseen-records", client).add_to_sum("answers", 1)


def observe_transactional_batch(its: Observation, name: str, client: str, written: tuple[int, int, int]) -> None:
    """Observe who writes within transactions, and where: time, epoch and offset (-1: not known) of a batch."""
    time_ns, epoch, offset = written
    its.keep_greatest("epoch", epoch)
    its.count_name("ids", name)
    its.count_name("clients", client)
    if offset >= 0:
        its.keep_first_and_last("written", time_ns, offset)
