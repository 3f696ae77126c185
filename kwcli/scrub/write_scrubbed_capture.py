"""Packets of a capture and the new bytes of their payloads in, the scrubbed capture out: the second reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_packet_copies import PacketCopy
from decoders.capture.segments_of_cut_out_packets import MARK, CutNote, format_note_comment, format_topic_comments
from decoders.scrubbing.scrub_packets import RAW, PacketScrubber
from decoders.scrubbing.scrub_records import GARBAGE
from decoders.tcp.connection_and_halves import sequence_difference
from kwcli.proxy.log.capture_file import SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from kwcli.scrub.make_scrubbed_payloads import FIN, PAYLOAD, PLAIN_SAYS, RST, SEQ, DecryptedConnection, FirstReading
from kwcli.sniff.external_sort import BY_PACKET, PacketRecords

if TYPE_CHECKING:
    from kwcli.reading.read_captures_by_time import Captures
    from kwcli.sniff.files_read_twice import OutFile

__all__ = ["PROGRAM", "write_scrubbed_capture"]

# The program that the section of the result names; by it `kw scrub` knows its own files.
PROGRAM: Final = "kw scrub"


class _PlaintextConnection:
    """The plaintext of a TLS connection, as a TCP connection of its own."""

    def __init__(self, ends: DecryptedConnection, reading: FirstReading, packets: PacketScrubber, time_ns: int) -> None:
        names = reading.names
        self._tcp = SyntheticTcp(
            names.replace_text("hosts", ends.client), names.replace_text("hosts", ends.broker), time_ns
        )
        self._client = ends.met.side_index(ends.sender)
        self._places = [0, 0]
        self._packets = packets
        self._opened = False

    def make_packets_with(self, side: int, place: int, data: bytes) -> Iterator[bytes]:
        """Packets with these bytes, behind the handshake or a gap where there is one; for FIN or RST closing ones."""
        tcp = self._tcp
        if side in (FIN, RST):
            return map(self._packets.with_tcp_checksum, tcp.closing_packets(reset=side == RST))
        made = [] if self._opened else tcp.opening_packets()
        self._opened = True
        who = CLIENT if side == self._client else SERVER
        if place > self._places[side]:
            made += tcp.gap_packets(who, place - self._places[side])
        self._places[side] = place + len(data)
        made += [packet for packet, _ in tcp.data_packets(who, data)]
        return map(self._packets.with_tcp_checksum, made)


class _ScrubbedCaptureWriter:
    def __init__(self, reading: FirstReading, out: OutFile, counts: Counter[str]) -> None:
        names = reading.names
        self._reading = reading
        self._out = out
        self._counts = counts
        self._packets = PacketScrubber(names.pseudonyms, keeps_hosts="hosts" in names.keep)
        self._interfaces: dict[int, int] = {}
        self._plaintexts: dict[int, _PlaintextConnection] = {}

    def write_packet(self, packet: PacketCopy, said: list[bytes]) -> None:
        """Write a packet with TCP, or the plaintext of its TLS; other packets are only counted."""
        if not packet.key:
            self._counts["other"] += 1
            return
        self._counts["other"] -= len(packet.earlier)
        ends = self._find_decrypted_connection(packet)
        if ends is not None:
            self._write_decrypted_packets(packet, ends, said)
            return
        payload = bytearray(GARBAGE * packet.held)
        for record in said:
            if record[BY_PACKET.size - 1] == PAYLOAD:
                (seq,) = SEQ.unpack_from(record, BY_PACKET.size)
                _overwrite_payload(payload, packet, seq, record[BY_PACKET.size + SEQ.size :])
        made = self._packets.rewrite_packet(packet, bytes(payload))
        comments = [format_note_comment(note)] if (note := self._scrubbed_cut_note(packet)) is not None else []
        self._write_frame(packet.time_ns, made.link_type, made.frame, made.wire, comments)

    def _find_decrypted_connection(self, packet: PacketCopy) -> DecryptedConnection | None:
        for ends in self._reading.tls.get(packet.key, ()):
            if ends.met.began_ns <= packet.time_ns < ends.met.ended_ns:
                return ends
        return None

    def _write_decrypted_packets(self, packet: PacketCopy, ends: DecryptedConnection, said: Iterable[bytes]) -> None:
        for record in said:
            if record[BY_PACKET.size - 1] == PAYLOAD:
                continue
            number, side, place = PLAIN_SAYS.unpack_from(record, BY_PACKET.size)
            plain = self._plaintexts.get(number)
            if plain is None and side in (FIN, RST):
                continue  # nothing of the connection was read
            if plain is None:
                plain = self._plaintexts[number] = _PlaintextConnection(
                    ends, self._reading, self._packets, packet.time_ns
                )
            for made in plain.make_packets_with(side, place, record[BY_PACKET.size + PLAIN_SAYS.size :]):
                self._write_frame(packet.time_ns, RAW, made, len(made), ())

    def _scrubbed_cut_note(self, packet: PacketCopy) -> CutNote | None:
        """The note that a packet was cut out with, in which the broker's address is replaced."""
        note = packet.note
        return None if note is None else note._replace(broker=self._reading.names.replace_text("hosts", note.broker))

    def _write_frame(self, time_ns: int, link_type: int, frame: bytes, wire: int, comments: Iterable[str]) -> None:
        interface = self._interfaces.get(link_type)
        if interface is None:
            interface = self._interfaces[link_type] = len(self._interfaces)
            self._out.write(PcapngWriter.make_interface_block(link_type, ""))
        self._out.write(
            PcapngWriter.make_commented_packet_block(time_ns, frame, [*comments], wire=wire, interface=interface)
        )
        self._counts["packets"] += 1


def _overwrite_payload(payload: bytearray, packet: PacketCopy, seq: int, data: bytes) -> None:
    """Put bytes into a payload by their sequence number."""
    for span in packet.spans:
        step = sequence_difference(seq, span.seq)
        if 0 <= step < span.size:
            at = span.at + step
            size = min(len(data), len(payload) - at, span.size - step)
            if size > 0:
                payload[at : at + size] = data[:size]
            return


def write_scrubbed_capture(captures: Captures, reading: FirstReading, out: OutFile, *, cut_out: bool) -> Counter[str]:
    """Write the scrubbed capture; counts of `packets` written and of packets of `other` traffic left out.

    `cut_out`: the capture itself was cut out of another one.
    """
    counts: Counter[str] = Counter()
    writer = _ScrubbedCaptureWriter(reading, out, counts)
    names = reading.names
    topics = (
        each._replace(
            identity=UUID(bytes=names.replace_uuid(each.identity.bytes)), name=names.replace_text("topics", each.name)
        )
        for each in reading.topics
    )
    comments = (MARK, *format_topic_comments(topics)) if cut_out else ()
    out.write(PcapngWriter(RAW, comments=comments, program=PROGRAM).make_section_block())
    placed = PacketRecords(reading.placed)
    for batch in captures:
        for each in batch:
            packet = cast("PacketCopy", each)
            writer.write_packet(packet, placed.take_records(packet.packet))
    return counts
