"""The decoded rows of a run in, a capture of the packets of the rows that are shown out: `kw sniff FILES -w OUT`.

The problem. The packets of a row are known only when the row is settled, long after they were read; whether it is shown
may be known only at the end (--sort). Captures are larger than memory, and so may be the part that is kept.

The idea. Files are read twice. The first time they are decoded as usual, and the place of each segment in its stream is
kept for as long as a row may come of it; the second time the packets of the rows are copied:

```
1st  segments ─► log of each direction ─► engine ─► row shown ─► its frames' ranges, packets in them, acknowledgements
                                                                         │  sorted by direction and place
                                                                         ▼
                                                      how much is kept before each ─► notes, sorted by packet
2nd  packets ─────────────────────────────────────────────────────────► note? ─► OUT
```

Of most connections OUT has the packets with bytes of a frame that is in a row, each with a note that says which bytes
those are (decoders/capture/segments_of_cut_out_packets.py): a reader of OUT takes what lies between neither for a row
nor for a loss. Four kinds of connections are taken whole, and have no notes but the name of their broker on the first
packet: those with rows, if whole connections are wanted (--whole-connections, or no filter at all); those with a row
about the whole connection or its end; those with rows from TLS; and those with tokens of a raw SASL login. Connections
of the last two kinds are taken up to their last row, as they cannot be read without what came before; their notes also
say which exchanges are rows.

What always holds: the rows of a run are the same as without `-w`. OUT takes its name when it is whole, so that a file
that was there before stays if OUT cannot be written. Memory is bounded: the log has what the engine may still need, and
beyond a limit what is kept goes to temporary files (external_sort.py). An input that can be read only once is copied
to a temporary file while it is read.

What is given up: the fragments of a fragmented IP packet are all taken at the place of the one that completes it. The
packets that are written do not say what was lost between those that are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from decoders.apis import api_name
from decoders.capture.merge_captures import file_index_of_packet
from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_packet_copies import PacketCopy
from decoders.capture.segments_of_cut_out_packets import (
    MARK,
    CutNote,
    PayloadPart,
    TopicName,
    format_note_comment,
    format_topic_comments,
)
from decoders.errors import strip_traceback
from decoders.messages.connection_end_rows import ENDS_OF_CONNECTIONS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import ENVELOPE
from decoders.tcp.connection_and_halves import reverse_key, sequence_difference
from decoders.tcp.stream_chunks import Segment
from decoders.wire.primitive_types import uuid_to_bytes
from kwcli.output.short_texts import count_of
from kwcli.reading.capture_sources import STANDARD_INPUT
from kwcli.reading.how_runs_end import Event
from kwcli.reading.read_captures_by_time import Captures
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.row_output import renumber_packets_in_file
from kwcli.run_environment import Exit, Failure
from kwcli.sniff.external_sort import BY_FILE, BY_PACKET, PacketRecords, SortedRecords
from kwcli.sniff.files_read_twice import (
    OutFile,
    Spooled,
    copy_environment_with_stdin,
    refuse_unwritable_output_or_piped_inputs,
    reopen_captures,
)
from kwcli.sniff.packets_of_rows import NEVER_NS, LoggedConnection, LoggedEngine, SegmentLog

if TYPE_CHECKING:
    from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled
    from decoders.filters import Filter
    from decoders.tls.key_log import KeyLog, SecretOrigin
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import WantedPaths
    from kwcli.run_environment import Environment

__all__ = ["MatchingPacketsWriter", "show_and_copy_rows"]

# Characters of a client id that a comment shows.
_SHOWN_MAX: Final = 80

# Records by direction and place: number of the connection and side, place, kind; then what a record of the kind has.
_PLACED: Final = Struct(">QQB")
_RANGE, _RUN, _ACKED = range(3)
_RANGE_SAYS: Final = Struct(">Q")  # its size; then the broker
_RUN_SAYS: Final = Struct(">QII")  # packet, sequence number, size
_ACK_SAYS: Final = Struct(">Q")  # packet
# Records by packet; after the kind what a record of that kind has.
_COMMENT, _PART, _ACK_AT, _ROW = range(4)
_PART_SAYS: Final = Struct(">QIIQ")  # number of the connection and side, sequence number, size, place; then the broker
_ACK_AT_SAYS: Final = Struct(">Q")
_ROW_SAYS: Final = Struct(">Q")  # where its request begins, as the pairing counts
# Fields that rows have only once they are numbered within their files.
_NUMBERED: Final = frozenset({"file", "point", "packet"})
# Skipped runs that are whole connections, and what says how a connection ended, of which any packet may be a part.
_CONNECTIONS: Final = frozenset({"one_direction", "not_kafka", "tls", "copy"}) | ENDS_OF_CONNECTIONS


class _WholeConnection:
    """A connection that is taken whole, up to a time; `some`: not all of its exchanges up to then are rows."""

    __slots__ = ("began_ns", "broker", "client_key", "ended_ns", "named", "number", "some", "until_ns")

    def __init__(self, logged: LoggedConnection, client_key: bytes, broker: str, until_ns: int, *, some: bool) -> None:
        self.some = some
        self.number = logged.number
        self.began_ns = logged.began_ns
        self.ended_ns = logged.ended_ns
        self.until_ns = until_ns
        self.client_key = client_key
        self.broker = broker
        self.named = False  # its first packet was written

    def covers_time(self, time_ns: int) -> bool:
        """Whether a packet of its ports, captured at this time, belongs to the part that is taken."""
        return self.began_ns <= time_ns < self.ended_ns and time_ns <= self.until_ns


class ExchangePackets(NamedTuple):
    """The packets of a row: records by place and by packet, or (`alone` False) its whole connection up to a time."""

    logged: LoggedConnection
    alone: bool
    client_key: bytes
    broker: str
    until_ns: int
    placed: list[bytes]
    noted: list[bytes]
    topics: Mapping[str, str]
    known_ns: int  # the time from which these names are known at the latest


class MatchingPacketsWriter:
    """The -w of one run, and the tap of its sink (filter_sort_and_limit_rows.py). Raises Failure without OUT.

    `whole`: all packets of connections that have a row, as also without a filter or limit; `limited`: there is a limit.
    """

    segments: SegmentLog
    _keys: KeyLog
    _selection: Filter | None
    _asks_for_files: bool

    def __init__(self, name: str, env: Environment, *, whole: bool, limited: bool, with_keys: bool) -> None:
        self.name = name
        self._env = env
        self._whole = whole
        self._limited = limited
        self._with_keys = with_keys
        self._pieces: dict[int, ExchangePackets | None] = {}  # of rows that wait to be shown, by their identity
        self._placed = SortedRecords(_PLACED.size)
        self._noted = SortedRecords(BY_FILE.size)
        self._taken: dict[int, _WholeConnection] = {}
        self._taken_by_key: dict[bytes, list[_WholeConnection]] = {}
        self._topics: dict[str, tuple[int, str]] = {}  # id → the time from which its name is known, the name
        self._sessions: dict[bytes, SecretOrigin] = {}  # of TLS connections that are taken, by client random
        self._failed: OSError | None = None
        self.rows = 0
        self._writer = OutFile(name)

    def begin_output(self, names: Sequence[str]) -> None:
        """Begin OUT. Raises Failure where it is one of the inputs, or cannot be made."""
        for name in names:
            with suppress(OSError):
                if os.path.samefile(name, self.name):
                    raise Failure(f"-w {self.name}: this is one of the captures to read: name another file", Exit.USAGE)
        self._writer.create_file()

    # The first reading.

    def make_engine(
        self, ports: frozenset[int] | None, wanted: WantedPaths, keys: KeyLog, selection: Filter | None
    ) -> LoggedEngine:
        """The engine of the run, which logs where its bytes come from."""
        self._keys, self._selection = keys, selection
        atoms = [] if selection is None else selection.node.list_atoms()
        self._asks_for_files = any(atom.name in _NUMBERED for atom in atoms)
        self._whole = self._whole or (selection is None and not self._limited)
        self.segments = SegmentLog(self._end_earlier_connection, places=not self._whole)
        return LoggedEngine(self.segments, ports=ports, needs=wanted, keys=keys)

    def note_packets_of_rows(self, rows: list[Settled], *, numbered: bool) -> None:
        """Find the packets of rows, before these are numbered within their files; the others are numbered here."""
        for row in rows:
            wanted = self._selection is None or (
                (row.kind == "exchange" or self._selection.asks_for_connections)
                and (self._asks_for_files or self._selection.matches(row))  # type: ignore[arg-type]  # of all rows
            )
            if wanted:
                self._pieces[id(row)] = self.find_packets_of_row(row)
            if row.kind == "exchange" and not numbered:
                renumber_packets_in_file(row)

    def keep_packets_of_rows(self, rows: list[Settled]) -> None:
        """Keep the packets of rows that are shown."""
        for row in rows:
            self.keep_packets_of_row(self._pieces.pop(id(row), None))

    def forget_unshown_rows(self) -> None:
        """Forget the rows of this batch that are not shown."""
        self._pieces.clear()

    def log_segments(self, segments: list[Segment]) -> None:
        """Log segments that the engine gets next."""
        self.segments.log_segments(segments)

    def _end_earlier_connection(self, logged: LoggedConnection) -> None:
        """End the earlier connection whose ports a new connection takes."""
        for taken in self._taken_by_key.get(logged.sides[0].half.key, ()):
            taken.ended_ns = min(taken.ended_ns, logged.began_ns)

    def find_packets_of_row(self, row: Settled) -> ExchangePackets | None:
        """The packets of a row; to be called before more segments are logged."""
        logged = self.segments.find_connection(row.connection_info.number)
        if logged is None:
            return None
        self.segments.set_stream_bases(logged, row.connection_info)
        client = logged.side_index(row.connection_info.sender)
        key = logged.sides[client].half.key
        if row.kind != "exchange":
            if self._whole or row.reason in _CONNECTIONS:
                return ExchangePackets(logged, False, key, "", NEVER_NS, [], [], {}, 0)
            return None
        packet = row.request_packet or row.response_packet or 0
        file = file_index_of_packet(packet)
        noted = [
            BY_PACKET.pack(file, packet, _COMMENT) + _format_exchange_comment(row).encode("utf-8", "backslashreplace")
        ]
        broker = row.connection_info.broker if row.connection_info.tls is None else ""
        until_ns = max(row.time_ns, row.request_end_ns or 0, row.response_end_ns or row.response_ns or 0)
        if self._whole:
            return ExchangePackets(logged, False, key, broker, NEVER_NS, [], noted, row.topic_names, until_ns)
        if row.request_size is not None:
            noted.append(BY_PACKET.pack(file, packet, _ROW) + _ROW_SAYS.pack(row.place))
        if row.is_sasl_token or row.connection_info.tls is not None or row.envelope or row.api_key == ENVELOPE:
            return ExchangePackets(logged, False, key, broker, until_ns, [], noted, row.topic_names, until_ns)
        placed: list[bytes] = []
        if row.request_size is not None:
            placed += self._pack_packets_of_frame(
                logged, client, 0, row.place, row.request_size + 4, row.connection_info
            )
        if row.response_size is not None:
            placed += self._pack_packets_of_frame(
                logged, 1 - client, 1, row.response_place, row.response_size + 4, row.connection_info
            )
        return ExchangePackets(logged, True, key, broker, until_ns, placed, noted, row.topic_names, until_ns)

    def _pack_packets_of_frame(
        self, logged: LoggedConnection, index: int, broker_sends: int, place: int, size: int, info: ConnectionInfo
    ) -> Iterator[bytes]:
        """Records of a frame: its range, the parts of packets in it, what these packets acknowledge."""
        side, peer = logged.sides[index], logged.sides[1 - index]
        place += side.base
        direction = logged.number << 1 | broker_sends
        yield _PLACED.pack(direction, place, _RANGE) + _RANGE_SAYS.pack(size) + info.broker.encode()
        for run in self.segments.find_frame_bytes(logged, index, place, size):
            says = _RUN_SAYS.pack(run.packet, run.seq, run.size)
            yield _PLACED.pack(direction, place + run.at, _RUN) + says
            acked = None if run.ack is None else peer.place_of_acknowledgement(run.ack)
            if acked is not None:
                yield _PLACED.pack(direction ^ 1, acked, _ACKED) + _ACK_SAYS.pack(run.packet)

    def keep_packets_of_row(self, pieces: ExchangePackets | None) -> None:
        """Keep the packets of a row that is shown."""
        if pieces is None or self._failed is not None:
            return
        logged = pieces.logged
        logged.latest_ns = max(logged.latest_ns, pieces.until_ns)
        self.rows += bool(pieces.noted)
        for identity, name in pieces.topics.items():
            known = (pieces.known_ns, name)
            self._topics[identity] = min(self._topics.get(identity, known), known)
        alone = pieces.alone and logged.number not in self._taken
        try:
            for record in pieces.placed if alone else ():
                self._placed.add(record)
            for record in pieces.noted:
                self._noted.add(record)
        except OSError as error:
            self._failed = strip_traceback(error)
        if not alone:
            self._keep_connection(pieces)

    def _keep_connection(self, pieces: ExchangePackets) -> None:
        logged = pieces.logged
        taken = self._taken.get(logged.number)
        if taken is None:
            some = not self._whole and pieces.until_ns != NEVER_NS
            taken = _WholeConnection(logged, pieces.client_key, pieces.broker, logged.latest_ns, some=some)
            self._taken[logged.number] = taken
            for key in (pieces.client_key, reverse_key(pieces.client_key)):
                self._taken_by_key.setdefault(key, []).append(taken)
        taken.until_ns = max(taken.until_ns, logged.latest_ns)
        taken.broker = taken.broker or pieces.broker
        if logged.session is not None and pieces.noted:
            self._sessions[logged.session.client_random] = logged.session

    # Between the readings.

    def _write_notes(self) -> None:
        """Write a note for each part of a packet: its place in a stream of the kept bytes alone."""
        at, kept, begin, end, broker = -1, 0, 0, 0, b""
        for record in self._placed:
            direction, place, kind = _PLACED.unpack_from(record)
            if direction != at:
                at, kept, begin, end = direction, 0, 0, 0
            if kind == _RANGE:
                stop = place + _RANGE_SAYS.unpack_from(record, _PLACED.size)[0]
                broker = record[_PLACED.size + _RANGE_SAYS.size :]
                if place > end:
                    kept += end - begin
                    begin = place
                end = max(end, stop)
            elif kind == _RUN:
                packet, seq, size = _RUN_SAYS.unpack_from(record, _PLACED.size)
                where = kept + place - begin
                head = BY_PACKET.pack(file_index_of_packet(packet), packet, _PART)
                self._noted.add(head + _PART_SAYS.pack(direction, seq, size, where) + (b"" if where else broker))
            else:
                (packet,) = _ACK_SAYS.unpack_from(record, _PLACED.size)
                head = BY_PACKET.pack(file_index_of_packet(packet), packet, _ACK_AT)
                self._noted.add(head + _ACK_AT_SAYS.pack(kept + min(place, end) - begin))

    # The second reading.

    def copy_kept_packets(self, captures: Captures) -> bool:
        """Copy the packets that are kept to OUT, and report it; False where that failed, which is reported too."""
        try:
            if self._failed is not None:
                raise self._failed
            self._write_notes()
            packets = self._copy_packets(captures)
        except OSError as error:
            return self._report_failure((error.strerror or str(error)).lower())
        except KeyboardInterrupt:
            self._report_failure("interrupted")
            raise
        if captures.problems:
            return self._report_failure(f"the capture could not be read a second time: {captures.problems[0]}")
        try:
            self._writer.give_final_name()
        except OSError as error:
            return self._report_failure((error.strerror or str(error)).lower())
        return self._report_written(packets)

    def _report_failure(self, why: str) -> bool:
        self._writer.delete_unfinished()
        self._env.report(f"kw: {self.name}: {why}; it is not written")
        return False

    def _report_written(self, packets: int) -> bool:
        self._env.report(f"kw: {self.name}: {count_of(packets, 'packet')} of {count_of(self.rows, 'exchange')}")
        sessions = len(self._sessions)
        if sessions and self._with_keys:
            whose = count_of(sessions, "TLS connection")
            self._env.report(f"kw: {self.name} has the keys of {whose}: anyone who has the file can decrypt them")
        elif sessions:
            self._env.report(f"kw: {self.name} has no TLS keys: read it with --keylog, or write it with --with-keys")
        return True

    def _copy_packets(self, captures: Captures) -> int:
        out = self._writer
        names = (
            TopicName(since_ns, UUID(bytes=uuid_to_bytes(identity)), name)
            for identity, (since_ns, name) in sorted(self._topics.items())
        )
        out.write(PcapngWriter(0, comments=(MARK, *format_topic_comments(names))).make_section_block())
        if self._with_keys and self.segments.engine is not None:
            sessions = self.segments.engine.decryption.sessions
            lines = b"".join(sessions.format_lines_of_connection(each, self._keys) for each in self._sessions.values())
            if lines:
                out.write(PcapngWriter.make_secrets_block(lines))
        noted = PacketRecords(self._noted)
        left = self._noted.count
        for batch in captures:
            for each in batch:
                packet = cast("PacketCopy", each)
                taken = next(
                    (its for its in self._taken_by_key.get(packet.key, ()) if its.covers_time(packet.time_ns)), None
                )
                said = noted.take_records(packet.packet)
                left -= len(said)
                if taken is not None:
                    out.write_packet(
                        packet, [*_decode_comments(said), *_make_notes_of_whole_connection(packet, taken, said)]
                    )
                elif any(record[BY_PACKET.size - 1] == _PART for record in said):
                    note = _make_note_of_packet(packet, said)
                    if note is not None:
                        out.write_packet(packet, [*_decode_comments(said), format_note_comment(note)])
            if not left and not self._taken:
                break
        return out.packets

    def close(self) -> None:
        """Give up what is not finished and close all files, however the run ended."""
        self._writer.delete_unfinished()
        self._placed.close()
        self._noted.close()


def _format_exchange_comment(row: Exchange) -> str:
    """`Fetch v12, correlation id 7, client app, complete, 1.234 ms`: the comment on the first packet of an exchange."""
    if row.api_key is None:
        words = ["SASL token" if row.is_sasl_token else "response without its request"]
    else:
        words = [f"{api_name(row.api_key)} v{row.api_version}"]
    if row.correlation_id is not None:
        words.append(f"correlation id {row.correlation_id}")
    if row.client_id:
        shown = row.client_id if row.client_id.isprintable() else ascii(row.client_id)[1:-1]
        words.append(f"client {shown[:_SHOWN_MAX]}")
    words.append(row.outcome.replace("_", " "))
    if row.latency_ms is not None:
        words.append(f"{row.latency_ms:.3f} ms")
    return ", ".join(words)


def _decode_comments(said: Iterable[bytes]) -> Iterator[str]:
    for record in said:
        if record[BY_PACKET.size - 1] == _COMMENT:
            yield record[BY_PACKET.size :].decode("utf-8", "replace")


def _make_notes_of_whole_connection(
    packet: PacketCopy, taken: _WholeConnection, said: Iterable[bytes]
) -> Iterator[str]:
    """The note on a packet of a connection that is taken whole, if any; a note that the packet already had is kept."""
    rows: tuple[int, ...] | None = None
    if taken.some:
        kind = BY_PACKET.size - 1
        rows = tuple(_ROW_SAYS.unpack_from(record, BY_PACKET.size)[0] for record in said if record[kind] == _ROW)
    broker = "" if taken.named else taken.broker
    if packet.note is not None:
        yield format_note_comment(packet.note._replace(broker=packet.note.broker or broker))
    elif rows or broker or (taken.some and not taken.named):
        yield format_note_comment(CutNote(taken.number, packet.key == taken.client_key, broker=broker, rows=rows))
    taken.named = True


def _make_note_of_packet(packet: PacketCopy, said: Iterable[bytes]) -> CutNote | None:
    """The note that the records of a packet make; None where no part of it is kept."""
    parts: list[PayloadPart] = []
    ack: int | None = None
    broker = b""
    direction = 0
    for record in said:
        kind = record[BY_PACKET.size - 1]
        if kind == _ACK_AT:
            ack = max(ack or 0, _ACK_AT_SAYS.unpack_from(record, BY_PACKET.size)[0])
        elif kind == _PART:
            direction, seq, size, place = _PART_SAYS.unpack_from(record, BY_PACKET.size)
            broker = broker or record[BY_PACKET.size + _PART_SAYS.size :]
            for span in packet.spans:
                step = sequence_difference(seq, span.seq)
                if 0 <= step < span.size:
                    parts.append(PayloadPart(span.at + step, min(size, span.size - step), place))
                    break
    if not parts:
        return None
    return CutNote(direction >> 1, not direction & 1, _join_adjacent_parts(sorted(parts)), ack, broker.decode())


def _join_adjacent_parts(parts: Iterable[PayloadPart]) -> tuple[PayloadPart, ...]:
    """The parts, joined where they follow each other both in the packet and in the stream."""
    out: list[PayloadPart] = []
    for part in parts:
        last = out[-1] if out else None
        if last is not None and (last.at + last.size, last.place + last.size) == (part.at, part.place):
            out[-1] = last._replace(size=last.size + part.size)
        elif last is None or part != last:
            out.append(part)
    return tuple(out)


def show_and_copy_rows(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    *,
    sort: str | None,
    strict: bool,
) -> Exit:
    """Show the rows of files that the options select, then write a capture of their packets. Raises Failure."""
    refuse_unwritable_output_or_piped_inputs(str(capture.write), capture.files)
    whole, limited, with_keys = capture.whole_connections, filters.limit is not None, capture.with_keys
    writer = MatchingPacketsWriter(str(capture.write), env, whole=whole, limited=limited, with_keys=with_keys)
    run = ReadingRun(env, settings, capture, filters, sort=sort, strict=strict, tap=writer)
    spooled = Spooled(env.stdin) if "-" in capture.files else None
    try:
        captures = run.open_captures(capture.files, copy_environment_with_stdin(env, spooled))
        if captures.records:
            raise Failure(f"{captures.records[0]}: records have no packets that -w could write", Exit.USAGE)
        writer.begin_output(captures.names)
        names = ["-" if source == STANDARD_INPUT else source for source in captures.names]
        ends = run.read_captures(captures).ends
        with ends.note_errors_that_end_run():
            if not writer.copy_kept_packets(reopen_captures(names, env, spooled)):
                ends.note_event(Event.PACKETS_UNWRITTEN)
            ends.note_event(Event.DONE)
        return ends.exit_code()
    finally:
        writer.close()
        if spooled is not None:
            spooled.file.close()
