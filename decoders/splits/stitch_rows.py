"""The parts of one key, split by split, in; the rows that reading the whole capture gives for it out.

The problem. A splitter (split_segments.py) has decoded runs of a connection without knowing what came before. Only with
the exact state at the beginning of a run can one say whether its rows are those of the whole capture.

The idea. A stitcher has one engine with the exact state of one key, and takes the parts in order:

```
SEGMENTS  feed them to the engine
RUN       does the state that the run depends on agree with the engine's state?
ROWS        yes: they count, corrected by what only the engine knows (number, client software, requests before the run)
END         yes: the engine takes over the state after the run, without having seen its segments
            no:  the segments of the run are read again from the capture (`reread`) and fed
```

What always holds: the engine's state after a run is the one that feeding its segments would have given. Nothing of a
run that does not agree is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

from decoders.errors import Malformed
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.connection_pairing import Pairing, set_response_of_exchange
from decoders.exchanges.exchange import ConnectionInfo, Ended, Exchange, Row, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.exchanges.serialize_pairer_state import (
    resume_attributes,
    resume_pairing,
    resume_request,
    resume_undecided,
)
from decoders.frames.detect_kafka_connection import FOREVER
from decoders.frames.framing import Frame
from decoders.limits import IN_FLIGHT_MAX
from decoders.splits.decode_with_unknown_past import FRAME_STATE, ID_RANGE, ORPHAN_ATTRIBUTES, state_needed_by_clean_run
from decoders.splits.split_parts import END, ROWS, RUN, SEGMENTS, Part, RowCorrection, SharedFacts, unpack_segments
from decoders.tcp.connection_and_halves import MASK, Connection, Half
from decoders.tcp.find_connections_captured_twice import CopiesOfSplits
from decoders.tcp.stream_chunks import Segment
from decoders.tls.key_log import KeyLog
from decoders.wire.state_serialization import state_fields, unpack

__all__ = ["AdoptedConnection", "AdoptedRun", "Reread", "Stitcher"]

SEGMENT_KINDS: Final = (bytes, int, int, int, int, int, bytes, int)


class AdoptedRun:
    """A clean run (decode_with_unknown_past.py) that begins at the present state of an engine.

    `agreed`: it may be taken over, because the exact state agrees with the state that the run depends on.
    """

    def __init__(self, engine: Engine, run: list[Any]) -> None:
        self._engine = engine
        self._context = engine.pairer.context
        _, self.after, self._low, self._software, self._login, self._place, self._required_state = state_fields(
            run, bool, int, int | None, *[dict | None] * 2, int, list
        )
        self.segments: list[Segment] = []  # to feed before the segments that `reread` gives: none
        self.agreed = False
        half = engine.reassembly.find_half(self._required_state[0]) if self._required_state else None
        pairing = None if half is None else self._context.pairings.get(half.connection.number)
        if half is None or pairing is None:
            return
        self._connection: Connection = half.connection
        self._pairing: Pairing = pairing
        self._added: int = pairing.requests.place - self._place
        self._server_place = pairing.responses.place
        self._client_place = pairing.requests.place
        self.agreed = self._agrees_with_engine_state()

    def _agrees_with_engine_state(self) -> bool:
        """Whether the engine's state agrees with all that the clean run depends on."""
        pairing, software = self._pairing, self._software
        if (
            self._connection.prefix is not None  # it names another client than the run's rows
            or not self._engine.reassembly.waits_for_nothing(self._connection)
            or state_needed_by_clean_run(self._connection, pairing) != self._required_state
        ):
            return False
        if software is not None and software != pairing.software:
            return False
        if self._login is not None and self._login != pairing.login:
            return False
        waiting = pairing.in_flight
        low = self._low
        return waiting.count_requests() < IN_FLIGHT_MAX // 2 and (
            low is None or not any(low <= correlation_id < low + ID_RANGE for correlation_id in waiting)
        )

    def make_row_correction(self) -> RowCorrection:
        """The values that the rows of the clean run lack."""
        return RowCorrection(self._pairing.connection_info, self._added, self._pairing.software, self._pairing.login)

    def match_orphan_responses(self, orphans: list[Any]) -> None:
        """Match responses with their requests, which are before the clean run."""
        pairing = self._pairing
        for row in orphans:
            exchange = Exchange()
            resume_attributes(exchange, ORPHAN_ATTRIBUTES, row)
            frame = _response_frame_of(exchange)
            correlation_id = exchange.correlation_id
            assert correlation_id is not None
            asked = pairing.in_flight.take_request(correlation_id)
            if asked is None:
                pairing.settle_response_without_request(frame, correlation_id)
            else:
                pairing.budget.held -= len(asked.request_raw or b"")
                set_response_of_exchange(asked, frame)
                pairing.note_answer(asked, correlation_id)
                pairing.settle(asked)

    def apply_end_state(self, tail: list[Any]) -> None:
        """Take over the state that the clean run adds. Raises DecodeError if `tail` is no such state."""
        pairing, connection = self._pairing, self._connection
        _, halves, directions, waiting, names, count, answered = state_fields(
            tail, int | None, list, list, list, list, int, list
        )
        client = connection.first if pairing.client_first else connection.second
        for half, row in zip((client, client.peer), halves, strict=True):
            _add_segment_counts(half, row)
        connection.drowsy = False
        connection.choose_fast_or_slow_path()
        budget, places = pairing.budget, (self._client_place, self._server_place)
        for direction, place, row in zip((pairing.requests, pairing.responses), places, directions, strict=True):
            state, size, begun, parts = state_fields(row, list, int, int, list)
            budget.held -= sum(map(len, direction.parts))
            resume_attributes(direction, FRAME_STATE, state)
            direction.place, direction.begun, direction.parts = place + size, place + begun, parts
            budget.held += sum(map(len, parts))
        for row in waiting:
            correlation_id, saved = state_fields(row, int, list)
            exchange = resume_request(self._context, pairing, saved)
            exchange.place += self._added
            exchange.client_software = exchange.client_software or pairing.software
            exchange.login = exchange.login or pairing.login
            pairing.in_flight.add_request(correlation_id, exchange)
            budget.held += len(exchange.request_raw or b"")
        raw, client_id, software = state_fields(names, bytes | None, str | None, dict | None)
        if raw is not None:
            pairing.client_raw, pairing.client_id = raw, client_id
        pairing.software = software or pairing.software
        pairing.connection_info.exchanges += count
        highest, ids, answered_place = state_fields(answered, int, int, int)
        if ids:
            pairing.answered.note_unanswerable_ids(highest, ids)
        if answered_place >= 0:
            pairing.answered.place = answered_place + self._added


def _add_segment_counts(half: Half, state: list[Any]) -> None:
    packets, size, last_ns = state_fields(state, int, int, int)
    half.sync_with_fast_path()
    half.packets += packets
    half.place += size
    half.last_ns = last_ns if packets else half.last_ns


def _response_frame_of(exchange: Exchange) -> Frame:
    """The frame of an exchange's response. Raises Malformed if it has none."""
    extra = exchange.extra or {}
    first = (exchange.response_ns or 0, exchange.response_packet or 0)
    last = (exchange.response_end_ns or 0, exchange.response_packet_end or 0)
    data, size = exchange.response_raw, exchange.response_size
    if not isinstance(data, bytes) or not isinstance(size, int):
        raise Malformed("no response")
    return Frame(data, size, first, last, 0, extra.get("response", ""), bool(extra.get("retransmitted")))


class AdoptedConnection:
    """A connection from its SYN on, which is the next segment for an engine.

    `agreed`: it may be taken over, because no open connection or facts about the broker contradict it, and no secret
    that the split lacked is known here, and it is no copy of a connection of another split.
    """

    def __init__(self, engine: Engine, run: list[Any], copies: CopiesOfSplits) -> None:
        self._engine = engine
        _, _, segment, target, late_ns, who, lack = state_fields(run, bool, bool, tuple, str, int, list, list | None)
        self._ends: ConnectionInfo
        key, time_ns, packet, seq, ack, flags, data, cut = state_fields(segment, *SEGMENT_KINDS)
        self.segments: list[Segment] = [(key, time_ns, packet, seq, ack, flags, data, cut)]
        self.after: int = packet
        self.rows: list[Settled] = []  # rows of the connection whose ports it takes
        self.agreed = engine.pairer.context.brokers.get(target, FOREVER) >= late_ns
        if late_ns == FOREVER and target in engine.pairer.context.foretold:
            self.agreed = False
        self.agreed = self.agreed and not engine.decryption.is_missing_secret_known(lack)
        if copies.is_missed_by_split(key, seq + 1 & MASK):
            self.agreed = False
        if self.agreed:
            self.agreed, chunks = engine.reassembly.end_connection_before_syn(self.segments[0])
            self.rows = engine.pairer.feed(engine.decryption.feed(chunks))
        self._begin_connection(who)

    def continue_with_next_connection(self, run: list[Any]) -> None:
        """Go on with another connection, which has taken the ports."""
        *_, who, _ = state_fields(run, bool, bool, tuple, str, int, list, list | None)
        self._begin_connection(who)

    def _begin_connection(self, opening: list[Any]) -> None:
        if not self.agreed:
            return
        reassembly = self._engine.reassembly
        reassembly.count_connection_seen_elsewhere()
        client, broker, began_ns, tls, target, via_address = state_fields(
            opening, str, str, int, dict | None, *[str | None] * 2
        )
        number = reassembly.connection_count
        self._ends = ConnectionInfo(number, client, broker, began_ns, self._engine.pairer.context.topics)
        self._ends.tls, self._ends.target, self._ends.via_address = tls, target, via_address
        self._ends.has_keys = tls is not None or via_address is not None

    def make_row_correction(self) -> RowCorrection:
        """The values that the rows of the connection lack."""
        return RowCorrection(self._ends, 0, None, None)

    def apply_end_state(self, tail: list[Any]) -> None:
        """Take over the state at the end of the run. Raises DecodeError if `tail` is no such state."""
        _, state, pairing, undecided, tls = state_fields(tail, int | None, list, *[list | None] * 2, list | bool | None)
        reassembly, context = self._engine.reassembly, self._engine.pairer.context
        connection = reassembly.resume_key(self.segments[0][0], state)
        if connection is None:
            return
        if isinstance(tls, list):
            self._engine.decryption.resume_connection(connection, tls)
        else:
            connection.tls = tls
        if pairing is not None:
            pairing[0][0] = connection.number
            resume_pairing(context, pairing)
        elif undecided is not None:
            undecided[0] = connection.number
            resume_undecided(context, undecided, {connection.number: connection})


# A function that gives segments of a key again, in the split of the present part: those after the segment with one
# packet number, and before the segment (of any key) with another one, or to the end of the split if that is None.
Reread = Callable[[bytes, int, int | None], Iterable[list[Segment]]]


class Stitcher:
    """Stitches the parts of one canonical key of one timeline; they come in the order of their splits and their `seq`.

    `facts` are the facts of all splits. `reread` gives segments of the key from the capture again, see `Reread`.
    `topic_names` are those of the splitters.
    """

    def __init__(
        self,
        key: bytes,
        ports: Iterable[int] | None = None,
        needs: Needs | None = None,
        *,
        facts: SharedFacts | None = None,
        reread: Reread | None = None,
        keys: KeyLog | None = None,
        topic_names: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.key = key
        self._reread = reread
        self._facts = facts or SharedFacts()
        self._run: AdoptedRun | AdoptedConnection | None = None
        self._engine = Engine(ports, needs, connections=True, keys=keys)
        self._engine.pairer.context.topics.add_missing_names(topic_names)
        self._engine.pairer.context.brokers.update(self._facts.brokers_shown_by_others(key))
        self._engine.pairer.context.copies = self._facts.copies_of_splits
        self._engine.pairer.context.doubtful = None
        self._engine.pairer.context.foretold = frozenset(self._facts.brokers)
        self._engine.decryption.sessions = self._facts.sessions

    def feed(self, part: Part) -> tuple[list[Row], RowCorrection | None]:
        """Take a part; returns the rows that settle with it, and for ROWS the correction of the part's own rows.

        Without a correction (None) the part's own rows do not count. Raises DecodeError if the part cannot be taken:
        this stitcher is then of no more use.
        """
        if part.kind == SEGMENTS:
            return self._feed_segments(unpack_segments(self.key, part.blob)), None
        if part.kind == ROWS:
            return self._unpack_rows_part(part.blob)
        state = unpack(part.blob)
        if not isinstance(state, list) or part.kind not in (RUN, END):
            raise Malformed(f"no part of a connection: kind {part.kind}")
        return self._adopt_run(state) if part.kind == RUN else self._end_run(state), None

    def finish(self) -> list[Row]:
        """Take the end of the capture; returns the rows that settle with it."""
        last_ns, packet = self._facts.last
        if last_ns:
            self._engine.reassembly.advance_time(last_ns, packet)
        return cast(list[Row], self._engine.finish())

    def _feed_segments(self, segments: list[Segment]) -> list[Row]:
        return cast(list[Row], self._engine.feed(segments))

    def _adopt_run(self, state: list[object]) -> list[Row]:
        """Begin a run, and check whether it agrees with the exact state."""
        with _raise_malformed_for_bad_parts():
            if not state or state[0] is not True:
                self._run = AdoptedRun(self._engine, state)
                return []
            if len(state) > 1 and state[1] is True and isinstance(self._run, AdoptedConnection):
                self._run.continue_with_next_connection(state)
                return []
            self._run = AdoptedConnection(self._engine, state, self._facts.copies_of_splits)
        return cast(list[Row], self._run.rows)

    def _unpack_rows_part(self, blob: bytes) -> tuple[list[Row], RowCorrection | None]:
        run = self._run
        if run is None:
            raise Malformed("rows of no run")
        if not run.agreed:
            return [], None
        more = unpack(blob) if blob else []
        if not isinstance(more, list):
            raise Malformed("a run with something else beside its rows")
        if isinstance(run, AdoptedConnection):
            correction = run.make_row_correction()
            return [Ended.make_resumed(correction.connection_info, row) for row in more], correction
        with _raise_malformed_for_bad_parts():
            run.match_orphan_responses(more)
        return cast(list[Row], self._engine.pairer.feed([])), run.make_row_correction()

    def _end_run(self, state: list[object]) -> list[Row]:
        """End a run: take over its state, or feed its segments instead."""
        run, self._run = self._run, None
        if run is None or not state or not isinstance(state[0], int | None):
            raise Malformed("the end of no run")
        if run.agreed:
            with _raise_malformed_for_bad_parts():
                run.apply_end_state(state)
            return []
        if self._reread is None:
            raise Malformed("a run does not fit what was before it, and nobody reads the capture again")
        rows = self._feed_segments(run.segments)
        for segments in self._reread(self.key, run.after, state[0]):
            rows += self._feed_segments(segments)
        return rows


@contextmanager
def _raise_malformed_for_bad_parts() -> Iterator[None]:
    """Turn errors in reading a part into Malformed."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        raise Malformed(f"no part of a connection: {problem}") from problem
