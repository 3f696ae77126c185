"""A connection whose past is unknown in, a *clean run* of it out: where it may begin, its rows, the state that it adds.

A clean run begins where the past does not matter for the decoding of all that follows: both directions are in step, no
bytes are held or missing, no SASL token is due. Only the requests in flight may depend on the past: a response in the
clean run to a request before it (an *orphan*) waits for the stitcher, which knows that request, and the correlation ids
of the clean run begin at `low`, above all ids before it. Rows are believed batch by batch (`commit`): if a batch would
be decoded differently with another past, it is no part of the clean run; none of its rows were handed on.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from decoders.exchanges.body_reader import LOGGING_IN
from decoders.exchanges.connection_pairing import Pairing
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.exchange_attribute_table import REQUEST
from decoders.exchanges.requests_in_flight_and_sasl_phase import AnsweredRequests, InFlight, SaslPhase
from decoders.exchanges.serialize_pairer_state import ANSWERED, export_attributes
from decoders.frames.framing import FrameDirection
from decoders.limits import IN_FLIGHT_MAX
from decoders.tcp.connection_and_halves import MASK, Connection, Half
from decoders.wire.state_serialization import pack

__all__ = ["FRAME_STATE", "ID_RANGE", "ORPHAN_ATTRIBUTES", "CleanRun", "state_needed_by_clean_run"]

# All correlation ids of a clean run are less than this above the lowest one.
ID_RANGE: Final = 1 << 30
# The attributes of a FrameDirection that say which frame it is inside of.
FRAME_STATE: Final = ("mode", "need", "left", "first", "last", "again", "missing")
_state = attrgetter(*FRAME_STATE)
# The attributes of an exchange that are kept of an orphan response.
ORPHAN_ATTRIBUTES: Final = (
    *("correlation_id", "response_raw", "response_size", "response_ns", "response_end_ns", "response_packet"),
    *("response_packet_end", "extra"),
)


def state_needed_by_clean_run(connection: Connection, pairing: Pairing) -> list[Any] | None:
    """The state on which a clean run that begins now depends; None if none may begin.

    The caller has checked that the connection waits for nothing.
    """
    client = connection.first if pairing.client_first else connection.second
    pairing.restore_initial_state()
    directions = (pairing.requests, pairing.responses)
    if pairing.opening or pairing.early or pairing.sasl.tokens or pairing.sasl.phase != SaslPhase.KAFKA:
        return None
    if pairing.sasl.attempt is not None:
        return None
    for half in (client, client.peer):
        half.sync_with_fast_path()
        if not half.started or half.ended or half.held or half.far:
            return None
    for direction in directions:
        if (
            direction.doubt
            or direction.unframed is not None
            or direction.missing
            or (direction.parts and not direction.need)
        ):
            return None
    return [
        client.key,
        client.place & MASK,
        client.peer.place & MASK,
        *(_pack_frame_state(direction) for direction in directions),
    ]


def _pack_frame_state(direction: FrameDirection) -> list[Any]:
    """The frame that a direction is inside of; only its mode between frames."""
    return export_attributes(direction, FRAME_STATE) if direction.need else [direction.mode]


class Checkpoint:
    """The state of a clean run at the end of a batch."""

    __slots__ = (
        *("answered", "client", "client_id", "client_raw", "directions", "halves", "login", "rows", "software"),
        "waiting",
    )

    def __init__(self, clean_run: CleanRun) -> None:
        pairing = clean_run.pairing
        self.halves = tuple((half.packets, half.place, half.last_ns) for half in clean_run.halves)
        first, second = clean_run.directions
        self.directions = (
            (_state(first), first.place, first.begun, first.parts[:]),
            (_state(second), second.place, second.begun, second.parts[:]),
        )
        self.waiting = [(each, each.extra) for each in pairing.in_flight.list_waiting_requests()]
        self.client_raw, self.client_id, self.software = pairing.client_raw, pairing.client_id, pairing.software
        self.login = pairing.login
        self.answered = export_attributes(pairing.answered, ANSWERED)
        self.rows = 0


class CleanRun:
    """The clean run that a connection of a splitter is in. `required_state` is the state that it depends on."""

    def __init__(self, connection: Connection, pairing: Pairing, agreed: list[Any], after_packet: int) -> None:
        self.connection = connection
        self.pairing = pairing
        self.after = after_packet  # the clean run begins after the segment with this packet number
        self.since: int | None = (
            after_packet  # `after_packet`, as long as that segment is in the current batch; else None
        )
        client = connection.first if pairing.client_first else connection.second
        self.halves: tuple[Half, Half] = (client, client.peer)
        self.directions = (pairing.requests, pairing.responses)
        self.required_state = agreed
        self.low: int | None = None
        self.begun = False  # whether its RUN is handed on
        self.orphans: list[Exchange] = []  # believed, not handed on yet
        # Of the current batch: (correlation id, first packet, last packet) of each row, the projections of these rows,
        # new orphans, and whether there was any other kind of row.
        self.rows: list[tuple[int, int, int]] = []
        self.made: list[Any] = []
        self.late: list[Exchange] = []
        self.odd = False
        self.count = 0  # rows believed
        pairing.budget.held -= sum(len(each.request_raw or b"") for each in pairing.in_flight.list_waiting_requests())
        pairing.in_flight = InFlight()
        pairing.answered = AnsweredRequests()
        for direction in self.directions:
            direction.lossy, direction.lost_packet = False, 0
        self.begin = self.checkpoint = Checkpoint(self)

    def has_new_packets(self) -> bool:
        """Whether any packet has come since the last commit."""
        first, second = self.halves
        return first.packets != self.checkpoint.halves[0][0] or second.packets != self.checkpoint.halves[1][0]

    def add_row(self, row: Settled, project: Callable[[Settled], Any]) -> None:
        """Take a row of the batch; of most rows only correlation id, first and last packet, and projection are kept."""
        if row.kind != "exchange" or row.correlation_id is None or row.api_key in LOGGING_IN:
            self.odd = True
        elif row.outcome == "orphan_response":
            self.late.append(row)
        else:
            last = row.response_packet_end or row.request_packet_end or 0
            self.rows.append((row.correlation_id, row.request_packet or 0, last))
            self.made.append(project(row))

    def accept_batch_if_independent(self) -> list[Any] | None:
        """Believe the batch if its rows do not depend on the past; returns their projections, or else None.

        Orphans are not among them: they wait in `orphans`.
        """
        rows, made, orphans, odd = self.rows, self.made, self.late, self.odd
        self.rows, self.made, self.late, self.odd = [], [], [], False
        if odd or not self.is_independent_of_past(rows):
            return None
        for half in self.halves:
            half.sync_with_fast_path()
        self.checkpoint = Checkpoint(self)
        self.orphans += orphans
        self.count += len(rows)
        return made

    def is_independent_of_past(self, settled: list[tuple[int, int, int]]) -> bool:
        pairing = self.pairing
        if pairing.early or pairing.in_flight.doubled or pairing.answered.disordered:
            return False
        if pairing.sasl.attempt is not None or pairing.sasl.phase != SaslPhase.KAFKA:
            return False
        if any(direction.lossy or direction.doubt for direction in self.directions):
            return False
        ids = [correlation_id for correlation_id, _, _ in settled]
        ids += pairing.in_flight
        if (
            len(ids) >= IN_FLIGHT_MAX // 2
            and _count_most_in_flight(settled) + pairing.in_flight.count_requests() >= IN_FLIGHT_MAX // 2
        ):
            return False
        if ids:
            least = min(ids)
            low = least if self.low is None else self.low
            if least < low or max(ids) >= low + ID_RANGE:
                return False
            self.low = low
        return True

    @property
    def is_empty(self) -> bool:
        """Whether nothing in the clean run is believed."""
        return self.checkpoint.halves == self.begin.halves

    def pack_run_part(self) -> bytes:
        """The blob of the clean run's RUN part, which is then handed on."""
        self.begun = True
        begin = self.begin
        return pack(
            [False, self.after, self.low, begin.software, begin.login, begin.directions[0][1], self.required_state]
        )

    def pack_orphan_responses(self) -> bytes:
        """The blob of a ROWS part: the orphan responses, which the stitcher matches with their requests."""
        orphans, self.orphans = self.orphans, []
        return pack([export_attributes(each, ORPHAN_ATTRIBUTES) for each in orphans]) if orphans else b""

    def pack_end_part(self, until_packet: int | None) -> bytes:
        """The blob of the END part: what the clean run adds up to the last commit.

        `until_packet` is the number of the first packet after the clean run, None if it lasts to the end of the split.
        """
        begin, checkpoint = self.begin, self.checkpoint
        halves = [
            [now[0] - then[0], now[1] - then[1], now[2]]
            for now, then in zip(checkpoint.halves, begin.halves, strict=True)
        ]
        directions = [
            [list(state), place - then[1], begun - then[1], parts]
            for (state, place, begun, parts), then in zip(checkpoint.directions, begin.directions, strict=True)
        ]
        waiting = []
        for each, extra in checkpoint.waiting:
            each.extra, each.outcome = extra, "complete"
            waiting.append([each.correlation_id, export_attributes(each, REQUEST)])
        names = [checkpoint.client_raw, checkpoint.client_id, checkpoint.software]
        return pack([until_packet, halves, directions, waiting, names, self.count, checkpoint.answered])


def _count_most_in_flight(settled: list[tuple[int, int, int]]) -> int:
    """The most of these exchanges that were in flight at one time."""
    begun = sorted(first for _, first, _ in settled)
    ended = sorted(last for _, _, last in settled)
    most = at = 0
    for count, packet in enumerate(begun, 1):
        while ended[at] < packet:
            at += 1
        most = max(most, count - at)
    return most
