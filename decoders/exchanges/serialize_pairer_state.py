"""The state of a Pairer in, built-in values out, and back: packed by wire/state_serialization.py.

Settled exchanges have been given out already. The state is requests in flight, frames under way, undecided
connections, learnt names and counts. Projections and layouts are made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, get_args
from uuid import UUID

from decoders.errors import Malformed
from decoders.exchanges.chunks_to_exchanges import Context
from decoders.exchanges.connection_pairing import Pairing, set_initial_values, set_response_missing
from decoders.exchanges.exchange import ConnectionInfo, Exchange, Summary
from decoders.exchanges.exchange_attribute_table import REQUEST
from decoders.exchanges.requests_in_flight_and_sasl_phase import Queue, SaslPhase
from decoders.frames.detect_kafka_connection import UndecidedConnection
from decoders.frames.framing import Frame, FrameDirection, Unframed
from decoders.tcp.connection_and_halves import Connection
from decoders.tcp.stream_chunks import Chunk, Gap, How
from decoders.wire.state_serialization import add_fields_to_older_state, pack, state_fields, unpack

HOWS: Final = frozenset(get_args(How))
PHASES: Final = frozenset({SaslPhase.KAFKA, SaslPhase.HANDSHAKE, SaslPhase.TOKENS})
# The attributes that are saved as they are; of a request in flight REQUEST.
CONNECTION: Final = (
    *("number", "client", "broker", "began_ns", "exchanges", "late_ns", "opened", "tls", "has_keys", "target"),
    "via_address",
)
DIRECTION: Final = (
    *("mode", "ready", "parts", "need", "left", "first", "last", "begun", "again", "missing", "doubt", "lossy"),
    *("lost_packet", "place"),
)
UNFRAMED: Final = ("reason", "detail", "time_ns", "packet", "size")
FRAME: Final = (*("data", "size", "first_ns", "first_packet", "last_ns", "last_packet", "place", "missing", "again"),)
UNDECIDED_SIDE: Final = ("followed", "opening", "window", "starts", "asked", "pairs", "first")
UNDECIDED: Final = ("held", "sizes", "dropped", "foreign", "tokens", "answers")
PAIRING: Final = ("client_first", "opening", "client_raw", "client_id", "software", "login", "frameless")
ANSWERED: Final = ("highest", "ids", "place")
COUNTS: Final = (*("connections", "exchanges", "first_ns", "gaps", "last_ns", "unanswered"),)
COUNTERS: Final = ("skipped", "skipped_bytes", "answers_only", "requests_only", "foreign")


def export_attributes(value: object, names: tuple[str, ...]) -> list[Any]:
    """The values of the attributes `names` of an object, for `resume_attributes`."""
    return [getattr(value, name) for name in names]


def resume_attributes(value: object, names: tuple[str, ...], state: object) -> None:
    """Set the attributes `names` of an object to what `export_attributes` gave.

    Raises DecodeError where the state is another one: a value has another type than the attribute has so far.
    """
    before = [getattr(value, name, None) for name in names]
    kinds = [object if item is None else type(item) for item in before]
    for name, item in zip(names, state_fields(state, *kinds), strict=True):
        setattr(value, name, item)


def export_context(context: Context) -> bytes:
    """The state of a pairer's context and its connections between two feeds, for `resume_context`."""
    return pack(
        [
            [export_pairing(pairing) for pairing in context.pairings.values()],
            [export_undecided(undecided) for undecided in context.undecided.values()],
            [[identity.bytes, name] for identity, (name, _) in context.topics.names.items()],
            dict(sorted(context.brokers.items())),
            _export_summary_counts(context.summary),
            [context.budget.held, context.budget.most],
            None if context.history is None else context.history.export(),
            dict(context.owners),
            [
                [undecided.connection.export(), export_undecided(undecided), how]
                for undecided, how in (() if context.doubtful is None else context.doubtful.ended)
            ],
            [] if context.copies is None else context.copies.export(),
        ]
    )


def resume_context(context: Context, state: bytes, connections: Mapping[int, Connection]) -> None:
    """Restore the state that export_context() gave; `connections` are the open ones of reassembly, by number.

    Raises DecodeError when the state is something else.
    """
    try:
        _resume_pairings(context, unpack(state), connections)
    except (TypeError, ValueError) as problem:
        raise Malformed(f"no saved state: {problem}") from None


def _resume_pairings(context: Context, state: object, connections: Mapping[int, Connection]) -> None:
    state = add_fields_to_older_state(add_fields_to_older_state(state, 8, 8, []), 9, 9, [])
    pairings, undecided, topics, brokers, counts, budget, history, owners, doubtful, copies = state_fields(
        state, *[list] * 3, dict, *[list] * 2, list | None, dict, *[list] * 2
    )
    context.owners = owners
    if context.copies is not None:
        context.copies.resume(copies)
    if history is not None:
        from decoders.exchanges.facts_from_earlier_exchanges import History

        context.history = History()
        context.history.resume(history)
    for row in topics:
        identity, name = state_fields(row, bytes, str)
        if len(identity) != 16:
            raise Malformed("a saved topic id of another size")
        context.topics.add(UUID(bytes=identity), name)
    context.brokers = brokers
    _resume_summary_counts(context.summary, counts)
    for row in pairings:
        resume_pairing(context, row)
    for row in undecided:
        resume_undecided(context, row, connections)
    for row in doubtful:
        _resume_doubtful(context, row)
    context.budget.held, context.budget.most = state_fields(budget, int, int)


def _export_summary_counts(summary: Summary) -> list[Any]:
    """The counts of a summary, with sets in order, so that equal states give equal bytes."""
    return [
        export_attributes(summary, COUNTS),
        *(dict(getattr(summary, name)) for name in COUNTERS),
        *(sorted(summary.clients, key=repr), sorted(summary.brokers)),
    ]


def _resume_summary_counts(summary: Summary, state: object) -> None:
    plain, *counters, clients, brokers = state_fields(state, list, *[dict] * len(COUNTERS), *[list] * 2)
    resume_attributes(summary, COUNTS, plain)
    for name, counts in zip(COUNTERS, counters, strict=True):
        setattr(summary, name, Counter(counts))
    summary.clients, summary.brokers = set(clients), set(brokers)


def export_pairing(pairing: Pairing) -> list[Any]:
    """One Kafka connection as built-in values."""
    rests = pairing.resting
    pairing.restore_initial_state()
    sasl = pairing.sasl
    state: list[Any] = [
        export_attributes(pairing.connection_info, CONNECTION),
        export_attributes(pairing, PAIRING),
        [
            [
                correlation_id,
                [export_attributes(each, REQUEST) for each in (entry if isinstance(entry, Queue) else (entry,))],
            ]
            for correlation_id, entry in pairing.in_flight.items()
        ],
        [
            *(sasl.phase, sasl.mechanism, sasl.left, [export_attributes(token, REQUEST) for token in sasl.tokens]),
            None if sasl.attempt is None else sasl.attempt.export(),
        ],
        [[correlation_id, export_attributes(frame, FRAME)] for correlation_id, frame in pairing.early.items()],
        _export_direction(pairing.requests),
        _export_direction(pairing.responses),
        export_attributes(pairing.answered, ANSWERED),
    ]
    if rests:
        pairing.drop_initial_state()
    return state


def _export_direction(direction: FrameDirection) -> list[Any]:
    return [
        export_attributes(direction, DIRECTION),
        None if direction.unframed is None else export_attributes(direction.unframed, UNFRAMED),
    ]


def resume_pairing(context: Context, state: object) -> None:
    """Restore the connection that export_pairing() gave. Raises DecodeError when the state is something else."""
    info_row, plain, in_flight, sasl, early, requests, responses, answered = state_fields(
        add_fields_to_older_state(state, 7, 7, [0, 0, -1]), *[list] * 8
    )
    info = ConnectionInfo(0, "", "", 0, context.topics)
    resume_attributes(info, CONNECTION, add_fields_to_older_state(info_row, 8, 8, False, None, None))
    info.has_keys = info.has_keys or info.tls is not None
    if not isinstance(info.tls, dict | None):
        raise Malformed("a saved connection with something else for its TLS")
    if not isinstance(info.target, str | None) or not isinstance(info.via_address, str | None):
        raise Malformed("a saved connection with something else for its prefix")
    pairing = Pairing(context, info, client_first=True, opening=False)
    resume_attributes(pairing, PAIRING, add_fields_to_older_state(plain, 6, 6, ""))
    resume_attributes(pairing.answered, ANSWERED, answered)
    if pairing.login is not None:
        from decoders.exchanges.sasl_logins import resume_login

        pairing.login = resume_login(pairing.login)
    for row in in_flight:
        correlation_id, waiting = state_fields(row, int, list)
        for each in waiting:
            pairing.in_flight.add_request(correlation_id, resume_request(context, pairing, each))
    phase, pairing.sasl.mechanism, pairing.sasl.left, tokens, attempt = state_fields(
        sasl, int, str, int, list, list | None
    )
    if attempt is not None:
        from decoders.exchanges.sasl_logins import LoginAttempt

        pairing.sasl.attempt = LoginAttempt.make_resumed(attempt)
    if phase not in PHASES:
        raise Malformed("a saved phase of another kind")
    pairing.sasl.phase = phase
    for each in tokens:
        pairing.sasl.add_waiting_token(resume_request(context, pairing, each))
    for row in early:
        correlation_id, frame_row = state_fields(row, int, list)
        frame = Frame(b"", 0, (0, 0), (0, 0), 0)
        resume_attributes(frame, FRAME, frame_row)
        pairing.early[correlation_id] = frame
    _resume_direction(pairing.requests, requests)
    _resume_direction(pairing.responses, responses)
    context.pairings[info.number] = pairing
    context.mark_active(pairing)


def resume_request(context: Context, pairing: Pairing, state: object) -> Exchange:
    """A request in flight, restored from the attributes that export_attributes() gave."""
    exchange = Exchange()
    set_initial_values(exchange, pairing.connection_info, context.api_readers.unknown)
    set_response_missing(exchange)
    resume_attributes(exchange, REQUEST, state)
    if not isinstance(exchange.request_raw, bytes):
        raise Malformed("a saved request without its bytes")
    if isinstance(exchange.api_key, int) and isinstance(exchange.api_version, int):
        exchange._api_reader = context.api_readers.get_reader(exchange.api_key, exchange.api_version)
    return exchange


def _resume_direction(direction: FrameDirection, state: list[Any]) -> None:
    if len(state) != 2:
        raise Malformed("a saved direction of another kind")
    resume_attributes(direction, DIRECTION, state[0])
    if state[1] is not None:
        direction.unframed = Unframed("lost", "", 0, 0)
        resume_attributes(direction.unframed, UNFRAMED, state[1])


def export_undecided(undecided: UndecidedConnection) -> list[Any]:
    """One connection, not yet known to be Kafka or not, as built-in values."""
    connection = undecided.connection
    return [
        connection.number,
        undecided.time_ns,
        [
            [half is connection.first, time_ns, packet, [data.size, data.why] if isinstance(data, Gap) else data]
            for half, time_ns, packet, data in undecided.chunks
        ],
        export_attributes(undecided, UNDECIDED),
        [export_attributes(undecided.sides[first], UNDECIDED_SIDE) for first in (True, False)],
    ]


def resume_undecided(context: Context, state: object, connections: Mapping[int, Connection]) -> None:
    """Restore the connection that export_undecided() gave. Raises DecodeError when the state is something else."""
    number, time_ns, chunks, plain, sides = state_fields(state, int, int, list, list, list)
    connection = connections.get(number)
    if connection is None or len(sides) != 2:
        raise Malformed("a saved connection that reassembly does not know")
    undecided = UndecidedConnection(connection, time_ns)
    resume_attributes(undecided, UNDECIDED, plain)
    for first, row in zip((True, False), sides, strict=True):
        resume_attributes(undecided.sides[first], UNDECIDED_SIDE, row)
    undecided.chunks = [_restore_chunk(connection, row) for row in chunks]
    context.undecided[number] = undecided


def _resume_doubtful(context: Context, state: object) -> None:
    """Restore a connection that is over and waits for its server to prove a broker."""
    connection_state, undecided, how = state_fields(state, list, list, str)
    connection = Connection.make_resumed(connection_state)
    if how not in HOWS or context.doubtful is None:
        raise Malformed("a saved connection with another end")
    resume_undecided(context, undecided, {connection.number: connection})
    context.doubtful.add(context.undecided.pop(connection.number), how)


def _restore_chunk(connection: Connection, state: object) -> Chunk:
    first, time_ns, packet, data = state_fields(state, bool, int, int, bytes | list)
    half = connection.first if first else connection.second
    if isinstance(data, list):
        size, why = state_fields(data, int, str)
        return half, time_ns, packet, Gap(size, why)
    return half, time_ns, packet, data
