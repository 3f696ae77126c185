"""Messages of the data path in, chunks for rows and packets for a capture file out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from decoders.frames.framing import FrameDirection
from decoders.protocols.read_connection_prefix import list_prefix_heads, make_prefix_of_heads
from decoders.tcp.connection_and_halves import Connection
from decoders.tcp.stream_chunks import Chunk, Close, Gap, How
from decoders.wire.format_and_escape_text import format_size
from kwcli.output.short_texts import count_of
from kwcli.proxy.log.capture_file import CLIENTS, UPSTREAM, CaptureFiles, SyntheticTcp
from kwcli.proxy.log.exchange_rows import LogRows
from kwcli.proxy.log.log_protocol import CLIENT, COUNTS, SERVER, SIZE, TIMES, MessageKind
from kwcli.proxy.log.redact_streams import LoggedChunk, Redactor, SharedKnowledge

if TYPE_CHECKING:
    from kwcli.proxy.log.log_protocol import LogPlan, Message
    from kwcli.proxy.log.log_queue import Reporter
    from kwcli.run_environment import Environment

__all__ = ["Recorder"]


class CaptureTrack:
    """One TCP connection of a capture file; `redactor` None where secrets are revealed."""

    __slots__ = ("interface", "redactor", "talk")

    def __init__(self, talk: SyntheticTcp, interface: int, redactor: Redactor | None) -> None:
        self.talk = talk
        self.interface = interface
        self.redactor = redactor


class RecordedConnection:
    """One client's connection. `client` and `upstream` are its TCP connections in the capture file."""

    __slots__ = ("client", "connection", "ends", "halves", "upstream")

    def __init__(self, connection: Connection, client: str, listener: str) -> None:
        self.connection = connection
        self.ends = (client, listener, connection.number)
        self.halves = (connection.first, connection.second)
        self.client: CaptureTrack | None = None
        self.upstream: CaptureTrack | None = None


class Recorder:
    """Records all open connections: their bytes go to rows and to the capture file."""

    def __init__(self, env: Environment, plan: LogPlan, reporter: Reporter | None = None) -> None:
        self._env = env
        self._reveal = plan.settings.reveal_secrets
        self._rows = LogRows(env, plan, reporter)
        self._reporter = reporter
        self._files: CaptureFiles | None = None
        self._seen = SharedKnowledge()
        self._kept: dict[int, RecordedConnection] = {}
        self._count = plan.connections
        self._chunks: list[Chunk] = []
        self._ended: list[int] = []
        self._lost: set[RecordedConnection] = set()  # a side of their redactor is out of step
        self._dropped = (0, 0, 0)
        self._unfiled = False
        if plan.write is not None:
            self._run_or_give_up_file(lambda: setattr(self, "_files", CaptureFiles(plan)))

    @property
    def is_over(self) -> bool:
        """Whether nobody wants rows, packets or reports any more."""
        return not self._rows.listening and self._files is None and self._reporter is None

    @property
    def failed(self) -> bool:
        """Whether rows or packets that were asked for could not be written."""
        return self._unfiled or self._rows.failed

    def record_messages(self, messages: list[Message]) -> None:
        """Record messages that came together."""
        known = self._kept
        chunks = self._chunks
        for kind, number, time_ns, content in messages:
            kept = known.get(number)
            if kept is None:
                self._record_message_without_connection(kind, number, time_ns, content)
                chunks = self._chunks  # the chunks before a row of another kind were settled
            elif kind <= SERVER:
                if kept.client is None:
                    chunks.append((kept.halves[kind], time_ns, 0, content))
                else:
                    self._record_bytes(kept, kept.client, kind, time_ns, content)
                    if kept in self._lost:
                        self._pass_chunks_to_rows()  # later bytes get into the file, if the redactor is in step by now
                        chunks = self._chunks
            elif kind == MessageKind.UPSTREAM:
                correlation_id, sent_ns, first_ns = TIMES.unpack(content)
                self._rows.keep_upstream_latency(kept.connection.number, correlation_id, (first_ns - sent_ns) / 1e6)
            else:
                self._record_connection_message(kept, kind, number, time_ns, content)
                chunks = self._chunks
        self._pass_chunks_to_rows()
        if self._files is not None:
            self._run_or_give_up_file(self._files.flush)

    def finish(self) -> None:
        """Record the end of all connections, and close rows and files: the data path has ended."""
        for number, kept in list(self._kept.items()):
            self._record_kept_bytes(kept)
            del self._kept[number]
        self._pass_chunks_to_rows()
        more = []
        if any(self._dropped):
            size, exchanges, connections = self._dropped
            more.append(f"{format_size(size)} with {count_of(exchanges, 'answer')} left out of the log")
            if connections:
                more.append(f"{count_of(connections, 'connection')} left out of the log")
        self._rows.finish(more)
        if self._files is not None:
            self._run_or_give_up_file(self._files.close)

    # -- messages without bytes of the traffic -------------------------------------------------------------------------

    def _record_message_without_connection(self, kind: int, number: int, time_ns: int, content: bytes) -> None:
        """Take a message about no open connection."""
        if kind == MessageKind.OPENED:
            self._open_connection(number, time_ns, content)
        elif kind == MessageKind.DROPPED:
            self._dropped = COUNTS.unpack(content)
        elif kind in (MessageKind.EVENT, MessageKind.LISTENERS):
            self._pass_chunks_to_rows()
            if kind == MessageKind.EVENT:
                self._rows.print_event(content.decode(), time_ns, None)
            else:
                self._rows.print_listeners(json.loads(content), time_ns)

    def _record_connection_message(
        self, kept: RecordedConnection, kind: int, number: int, time_ns: int, content: bytes
    ) -> None:
        """Take a message about an open connection."""
        if kind in (MessageKind.GAP, MessageKind.GAP_SERVER):
            side, size = kind - MessageKind.GAP, SIZE.unpack(content)[0]
            if kept.client is not None:
                self._record_bytes(kept, kept.client, side, time_ns, b"", size)
            else:
                self._chunks.append((kept.halves[side], time_ns, 0, Gap(size, "lost")))
        elif kind == MessageKind.CLOSED:
            self._close_connection(number, kept, time_ns, content)
        elif kind in (MessageKind.TLS, MessageKind.EVENT):
            self._pass_chunks_to_rows()
            if kind == MessageKind.EVENT:
                self._rows.print_event(content.decode(), time_ns, kept.connection.number)
            else:
                version, cipher = json.loads(content)
                self._rows.print_connection_event(kept.ends, "tls", time_ns, {"version": version, "cipher": cipher})
        elif kind == MessageKind.DECISION:
            self._rows.keep_decision(kept.connection.number, json.loads(content))
        elif kind == MessageKind.DIALLED and self._files is not None:
            local, upstream, *head = json.loads(content)
            kept.upstream = self._begin_tcp_connection_in_file(
                (local, upstream), time_ns, UPSTREAM, bytes.fromhex("".join(head))
            )
        elif kind in (MessageKind.RAW, MessageKind.RAW_SERVER) and kept.upstream is not None:
            self._record_bytes(kept, kept.upstream, kind - MessageKind.RAW, time_ns, content)
        elif kind in (MessageKind.RAW_GAP, MessageKind.RAW_GAP_SERVER) and kept.upstream is not None:
            self._record_bytes(kept, kept.upstream, kind - MessageKind.RAW_GAP, time_ns, b"", SIZE.unpack(content)[0])

    def _open_connection(self, number: int, time_ns: int, content: bytes) -> None:
        sender, listener, upstream, *more = json.loads(content)
        again, head = any(more[:1]), bytes.fromhex("".join(more[1:]))
        self._count += 1
        connection = Connection(self._count, sender, listener, time_ns, opened=not again)
        if head:
            connection.prefix = make_prefix_of_heads(list_prefix_heads(head, b""), time_ns=time_ns)
        client = connection.prefix.client if connection.prefix is not None else ""
        kept = self._kept[number] = RecordedConnection(connection, client or sender, listener)
        self._rows.add_connection(connection)
        if self._rows.events and not again:
            self._pass_chunks_to_rows()
            details = {"upstream": upstream} if upstream else {}
            details |= {"via_address": sender} if client else {}
            self._rows.print_connection_event(kept.ends, "opened", time_ns, details)
        if self._files is not None:
            kept.client = self._begin_tcp_connection_in_file((sender, listener), time_ns, CLIENTS, head)

    def _close_connection(self, number: int, kept: RecordedConnection, time_ns: int, content: bytes) -> None:
        word, _, reason = content.decode().partition("\n")
        how: How = "rst" if word == "rst" else "fin"
        self._record_kept_bytes(kept)
        for track in (kept.client, kept.upstream):
            if track is not None:
                self._write_packets(track, time_ns, track.talk.closing_packets(reset=how == "rst"))
        self._chunks.append((kept.connection.first, time_ns, 0, Close(how)))
        del self._kept[number]
        self._lost.discard(kept)
        self._ended.append(kept.connection.number)
        if self._rows.events:
            self._pass_chunks_to_rows()
            self._rows.print_connection_event(kept.ends, "closed", time_ns, {"how": word, "reason": reason or None})

    # -- the file ------------------------------------------------------------------------------------------------------

    def _begin_tcp_connection_in_file(
        self, ends: tuple[str, str], time_ns: int, interface: int, head: bytes
    ) -> CaptureTrack:
        """Begin a TCP connection in the capture file, with the PROXY head that its client's bytes came behind."""
        track = CaptureTrack(
            SyntheticTcp(ends[0], ends[1], time_ns), interface, None if self._reveal else Redactor(self._seen)
        )
        packets = track.talk.opening_packets()
        self._write_packets(track, time_ns, packets + [packet for packet, _ in track.talk.data_packets(CLIENT, head)])
        return track

    def _record_bytes(
        self, kept: RecordedConnection, track: CaptureTrack, side: int, time_ns: int, data: bytes, gap: int = 0
    ) -> None:
        """Pass bytes, or a gap of them, through the redactor into the file, then to the rows."""
        if track.redactor is None:
            pieces = [LoggedChunk(side, time_ns, data, gap)]
        else:
            pieces = (
                track.redactor.note_missing_bytes(side, time_ns, gap)
                if gap
                else track.redactor.feed(side, time_ns, data)
            )
            if track is kept.client and track.redactor.lost_sides:
                self._lost.add(kept)
        for piece in pieces:
            self._write_chunk_to_file_and_rows(kept, track, piece)

    def _record_kept_bytes(self, kept: RecordedConnection) -> None:
        """Record what the redactors of a connection still keep."""
        for track in (kept.client, kept.upstream):
            if track is not None and track.redactor is not None:
                for piece in track.redactor.finish():
                    self._write_chunk_to_file_and_rows(kept, track, piece)

    def _write_chunk_to_file_and_rows(self, kept: RecordedConnection, track: CaptureTrack, piece: LoggedChunk) -> None:
        side, time_ns, data = piece.side, piece.time_ns, piece.data
        rows = self._chunks if track is kept.client else []
        half = kept.halves[side]
        shown = piece.shown if piece.cut is None else piece.shown[: piece.cut]
        at = 0
        for packet, size in track.talk.data_packets(side, bytes(shown)):
            number = self._write_packets(track, time_ns, [packet])
            rows.append((half, time_ns, number, data[at : at + size] if size < len(data) else data))
            at += size
        left_out = piece.gap or len(data) - at
        if left_out:
            number = self._write_packets(track, time_ns, track.talk.gap_packets(side, left_out))
            rows.append((half, time_ns, number, Gap(piece.gap, "lost") if piece.gap else data[at:]))

    def _write_packets(self, track: CaptureTrack, time_ns: int, packets: list[bytes]) -> int:
        """Write packets to the file; the number of the last one, 0 without a file."""
        files = self._files
        if files is None:
            return 0
        number: int = self._run_or_give_up_file(lambda: files.write_packets(time_ns, packets, track.interface)) or 0
        return number

    def _run_or_give_up_file(self, act: Any) -> Any:
        """Do `act` with the file; where that fails with OSError, the rows go on without the file."""
        try:
            return act()
        except OSError as error:
            self._files, self._unfiled = None, True
            what = (error.strerror or str(error)).lower()
            self._env.report(f"kw: {error.filename or 'the capture file'}: {what}; nothing more is written to it")
            return None

    # -- the end of a batch --------------------------------------------------------------------------------------------

    def _pass_chunks_to_rows(self) -> None:
        if self._chunks:
            chunks, self._chunks = self._chunks, []
            self._rows.add_chunks(chunks)
        for number in self._ended:
            self._rows.forget_connection(number)
        self._ended = []
        if self._lost:
            self._resume_lost_redactors()

    def _resume_lost_redactors(self) -> None:
        """Let redactors that are out of step go on where the engine has found frames again."""
        for kept in list(self._lost):
            redactor = kept.client.redactor if kept.client is not None else None
            if redactor is None:
                continue
            for side in redactor.lost_sides:
                direction = kept.halves[side].state
                if isinstance(direction, FrameDirection) and _knows_next_frame(direction):
                    redactor.resume_side(side, direction.left)
            if not redactor.lost_sides:
                self._lost.discard(kept)


def _knows_next_frame(direction: FrameDirection) -> bool:
    """Whether the engine knows where the next frame of a direction begins."""
    return direction.unframed is None and not direction.doubt and (direction.need > 0 or not direction.parts)
