"""The state of a Pairer in, built-in values out, and back: what wire/state.py packs when work is handed over.

What has settled has been given; what remains are requests in flight, frames under way, connections undecided, names
learnt and counts. Projections and layouts are made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from decoders.errors import Malformed
from decoders.exchanges.context import Context
from decoders.exchanges.exchange import ConnectionInfo, Exchange
from decoders.exchanges.fill import begin, put_no_response
from decoders.exchanges.inflight import Queue
from decoders.exchanges.pairing import Pairing
from decoders.exchanges.phases import SaslPhase
from decoders.exchanges.summary import Summary
from decoders.streams.chunks import Chunk, Connection, Gap
from decoders.streams.detect import UndecidedConnection, UndecidedSide
from decoders.streams.framing import Frame, FrameDirection, Unframed
from decoders.wire.state import fields

PHASES: Final = {phase.value: phase for phase in SaslPhase}
# The attributes that are saved as they are.
REQUEST: Final = (
    *("api_key", "api_version", "correlation_id", "client_id", "client_software", "outcome", "extra", "place"),
    *("time_ns", "request_end_ns", "request_packet", "request_packet_end", "request_size", "request_raw"),
)
LANE: Final = (
    *("mode", "ready", "parts", "need", "left", "first", "last", "begun", "again", "missing", "doubt", "lossy"),
    *("lost_packet", "place"),
)
RUN: Final = ("reason", "detail", "time_ns", "packet", "size")
FRAME: Final = (*("data", "size", "first_ns", "first_packet", "last_ns", "last_packet", "place", "missing", "again"),)
SUSPECT: Final = ("followed", "opening", "window", "starts", "asked", "pairs", "first")
UNDECIDED: Final = ("held", "sizes", "dropped", "foreign", "tokens")
PAIRING: Final = ("client_first", "opening", "client_raw", "client_id", "software")
COUNTS: Final = (*("connections", "exchanges", "first_ns", "gaps", "last_ns", "unanswered"),)
STATE_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "parts": (list,),
    "first": (tuple, bytes),
    "request_raw": (bytes,),
    "data": (bytes,),
    "asked": (dict,),
    "sizes": (dict,),
    "dropped": (dict,),
    "starts": (list,),
}


def saved(value: object, names: tuple[str, ...]) -> list[Any]:
    """These attributes of an object."""
    return [getattr(value, name) for name in names]


def put(value: object, names: tuple[str, ...], state: object) -> None:
    """Set these attributes. Raises DecodeError when the state holds something else."""
    if not isinstance(state, list) or len(state) != len(names):
        raise Malformed("a saved state of another kind")
    for name, item in zip(names, state, strict=True):
        kinds = STATE_KINDS.get(name)
        if kinds is not None and not isinstance(item, kinds):
            raise Malformed(f"a saved state with another {name}")
        setattr(value, name, item)


def export_context(context: Context) -> list[Any]:
    """Everything, as built-in values."""
    return [
        [export_pairing(pairing) for pairing in context.pairings.values()],
        [export_undecided(undecided) for undecided in context.undecided.values()],
        [[identity.bytes, name] for identity, (name, _) in context.topics.names.items()],
        dict(sorted(context.brokers.items())),
        _counts(context.summary),
        [context.budget.held, context.budget.most],
    ]


def resume_context(context: Context, state: object, connections: Mapping[int, Connection]) -> None:
    """Take over what export_context() gave. Raises DecodeError when it is something else."""
    pairings, undecided, topics, brokers, counts, budget = fields(state, list, list, list, dict, list, list)
    for row in topics:
        identity, name = fields(row, bytes, str)
        if len(identity) != 16:
            raise Malformed("a saved topic id of another size")
        context.topics.add(UUID(bytes=identity), name)
    context.brokers = brokers
    _resume_counts(context.summary, counts)
    for row in pairings:
        resume_pairing(context, row)
    for row in undecided:
        resume_undecided(context, row, connections)
    context.budget.held, context.budget.most = fields(budget, int, int)


def _counts(summary: Summary) -> list[Any]:
    """Sets in order: the same state is the same bytes."""
    return [
        saved(summary, COUNTS),
        dict(summary.skipped),
        dict(summary.skipped_bytes),
        sorted(summary.clients),
        sorted(summary.client_ids),
        sorted(summary.brokers),
    ]


def _resume_counts(summary: Summary, state: object) -> None:
    plain, skipped, skipped_bytes, clients, client_ids, brokers = fields(state, list, dict, dict, list, list, list)
    put(summary, COUNTS, plain)
    summary.skipped, summary.skipped_bytes = Counter(skipped), Counter(skipped_bytes)
    summary.clients, summary.client_ids, summary.brokers = set(clients), set(client_ids), set(brokers)


def export_pairing(pairing: Pairing) -> list[Any]:
    """One Kafka connection as built-in values."""
    rests = pairing.resting
    ends, sasl = pairing.ends, pairing.sasl
    state: list[Any] = [
        [ends.number, ends.client, ends.broker, ends.began_ns, ends.exchanges, ends.late_ns],
        saved(pairing, PAIRING),
        [
            [correlation_id, [saved(each, REQUEST) for each in (entry if isinstance(entry, Queue) else (entry,))]]
            for correlation_id, entry in pairing.in_flight.items()
        ],
        [sasl.phase.value, sasl.mechanism, sasl.left, [saved(token, REQUEST) for token in sasl.tokens]],
        [[correlation_id, saved(frame, FRAME)] for correlation_id, frame in pairing.early.items()],
        _lane(pairing.client_lane),
        _lane(pairing.server_lane),
    ]
    if rests:
        pairing.rest()
    return state


def _lane(lane: FrameDirection) -> list[Any]:
    return [saved(lane, LANE), None if lane.run is None else saved(lane.run, RUN)]


def resume_pairing(context: Context, state: object) -> None:
    """Take over what export_pairing() gave. Raises DecodeError when it is something else."""
    ends_row, plain, in_flight, sasl, early, client_lane, server_lane = fields(state, *[list] * 7)
    number, client, broker, began_ns, exchanges, late_ns = fields(ends_row, int, str, str, *[int] * 3)
    pairing = Pairing(
        context, ConnectionInfo(number, client, broker, began_ns, context.topics), client_first=True, opening=False
    )
    put(pairing, PAIRING, plain)
    pairing.ends.exchanges, pairing.ends.late_ns = exchanges, late_ns
    for row in in_flight:
        correlation_id, waiting = fields(row, int, list)
        for each in waiting:
            pairing.in_flight.add(correlation_id, resume_request(context, pairing, each))
    phase, pairing.sasl.mechanism, pairing.sasl.left, tokens = fields(sasl, int, str, int, list)
    if phase not in PHASES:
        raise Malformed("a saved phase of another kind")
    pairing.sasl.phase = PHASES[phase]
    for each in tokens:
        pairing.sasl.wait(resume_request(context, pairing, each))
    for row in early:
        correlation_id, frame_row = fields(row, int, list)
        frame = Frame(b"", 0, (0, 0), (0, 0), 0)
        put(frame, FRAME, frame_row)
        pairing.early[correlation_id] = frame
    _resume_lane(pairing.client_lane, client_lane)
    _resume_lane(pairing.server_lane, server_lane)
    context.pairings[number] = pairing
    context.note(pairing)


def resume_request(context: Context, pairing: Pairing, state: object) -> Exchange:
    """A request in flight, of what saved() gave of it."""
    exchange = Exchange()
    begin(exchange, pairing.ends, context.specs.unknown)
    put_no_response(exchange)
    put(exchange, REQUEST, state)
    if isinstance(exchange.api_key, int) and isinstance(exchange.api_version, int):
        exchange.spec = context.specs.get(exchange.api_key, exchange.api_version)
    return exchange


def _resume_lane(lane: FrameDirection, state: list[Any]) -> None:
    if len(state) != 2:
        raise Malformed("a saved lane of another kind")
    put(lane, LANE, state[0])
    if state[1] is not None:
        lane.run = Unframed("lost", "", 0, 0)
        put(lane.run, RUN, state[1])


def export_undecided(undecided: UndecidedConnection) -> list[Any]:
    """One connection of which it is not known whether it is Kafka."""
    connection = undecided.connection
    return [
        connection.number,
        undecided.time_ns,
        [
            [half is connection.first, time_ns, packet, [data.size, data.why] if isinstance(data, Gap) else data]
            for half, time_ns, packet, data in undecided.chunks
        ],
        saved(undecided, UNDECIDED),
        [saved(undecided.sides[first], SUSPECT) for first in (True, False)],
    ]


def resume_undecided(context: Context, state: object, connections: Mapping[int, Connection]) -> None:
    """Take over what export_undecided() gave. Raises DecodeError when it is something else."""
    number, time_ns, chunks, plain, sides = fields(state, int, int, list, list, list)
    connection = connections.get(number)
    if connection is None or len(sides) != 2:
        raise Malformed("a saved connection that reassembly does not know")
    undecided = UndecidedConnection(connection, time_ns)
    put(undecided, UNDECIDED, plain)
    for first, row in zip((True, False), sides, strict=True):
        suspect: UndecidedSide = undecided.sides[first]
        put(suspect, SUSPECT, row)
    undecided.chunks = [_chunk(connection, row) for row in chunks]
    context.undecided[number] = undecided


def _chunk(connection: Connection, state: object) -> Chunk:
    first, time_ns, packet, data = fields(state, bool, int, int, bytes | list)
    half = connection.first if first else connection.second
    if isinstance(data, list):
        size, why = fields(data, int, str)
        return half, time_ns, packet, Gap(size, why)
    return half, time_ns, packet, data
