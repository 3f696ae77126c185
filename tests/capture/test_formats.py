"""Capture files of every kind: whole, cut, corrupt, or no capture at all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.errors import DecodeError, Malformed
from decoders.limits import BLOCK_MAX, PACKET_MAX
from decoders.tcp.stream_chunks import Segment
from tests.capture.blocks import block, enhanced, interface, obsolete, section, simple, statistics
from tests.capture.frames import ACK, ethernet, ipv4, ipv6, tcp
from tests.capture.pcap_writer import PcapWriter

SECOND = 1_700_000_000
FRAME = ethernet(ipv4("10.0.0.1", "10.0.0.2", tcp(50000, 9092, 7, 9, ACK, b"ask")))
RAW = ipv4("10.0.0.1", "10.0.0.2", tcp(50000, 9092, 7, 9, ACK, b"ask"))
KEY = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + b"\xc3\x50\x23\x84"


def read(data: bytes, *, fused: bool = True) -> tuple[CaptureReader, list[Segment]]:
    """The reader at the end of these bytes, and all the segments that it gave."""
    reader = CaptureReader(fused=fused)
    segments = reader.feed(data)
    return reader, segments + reader.finish()


def times(data: bytes) -> list[int]:
    """The times of the segments in a sound capture."""
    reader, segments = read(data)
    assert reader.problem is None
    assert [segment[0] for segment in segments] == [KEY] * len(segments)
    assert [segment[2] for segment in segments] == list(range(1, len(segments) + 1))
    return [segment[1] for segment in segments]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "tick"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_classic_pcap(order: str, magic: int, tick: int) -> None:
    header = pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, 1)
    record = pack(order + "IIII", SECOND, 5, len(FRAME), len(FRAME)) + FRAME
    assert times(header + record * 3) == [SECOND * 10**9 + 5 * tick] * 3


@pytest.mark.parametrize("order", ["<", ">"])
def test_kuznetzovs_pcap(order: str) -> None:
    header = pack(order + "IHHIIII", 0xA1B2CD34, 2, 4, 0, 0, 65535, 1)
    record = pack(order + "IIIIIHBB", SECOND, 5, len(FRAME), len(FRAME), 2, 0x800, 0, 0) + FRAME
    assert times(header + record * 3) == [SECOND * 10**9 + 5000] * 3


def test_a_checksum_behind_frames_is_told_in_the_link_type() -> None:
    header = pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 0x4400_0001)
    record = pack("<IIII", SECOND, 0, len(FRAME) + 4, len(FRAME) + 4) + FRAME + b"\xaa\xbb\xcc\xdd"
    assert len(times(header + record)) == 1


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("resolution", "ticks", "time_ns"),
    [
        (None, SECOND * 10**6 + 5, SECOND * 10**9 + 5000),
        (6, SECOND * 10**6 + 5, SECOND * 10**9 + 5000),
        (9, SECOND * 10**9 + 5, SECOND * 10**9 + 5),
        (3, SECOND * 10**3 + 5, SECOND * 10**9 + 5_000_000),
        (0, SECOND, SECOND * 10**9),
        (10, SECOND * 10**10 + 57, SECOND * 10**9 + 5),
        (0x80 | 20, (SECOND << 20) + (1 << 19), SECOND * 10**9 + 500_000_000),
        (0x80 | 33, (SECOND << 33) + (1 << 31), SECOND * 10**9 + 250_000_000),
    ],
)
def test_pcapng_clocks(order: str, resolution: int | None, ticks: int, time_ns: int) -> None:
    rows = ((9, bytes([resolution])),) if resolution is not None else ()
    data = section(order) + interface(order, rows=rows) + enhanced(order, 0, ticks, FRAME) * 3
    assert times(data) == [time_ns] * 3
    shifted = section(order) + interface(order, rows=(*rows, (14, pack(order + "q", -100))))
    assert times(shifted + enhanced(order, 0, ticks, FRAME) * 3) == [time_ns - 100 * 10**9] * 3


def test_times_beyond_all_clocks() -> None:
    late, early = (14, pack("<q", 2**40)), (14, pack("<q", -(2**40)))
    frames = enhanced("<", 0, 2**63, FRAME) * 3
    for option, time_ns in ((late, 2**63 - 1), (early, 0)):
        assert times(section("<") + interface("<", rows=((9, b"\x09"), option)) + frames) == [time_ns] * 3


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_blocks(order: str) -> None:
    data = (
        section(order, ((4, b"some program"),))
        + interface(order, 1, 9000, ((2, b"eth0"),))
        + block(order, 4, b"a name table")
        + enhanced(order, 0, 1, FRAME)
        + enhanced(order, 0, 2, FRAME, rows=((1, b"a comment"), (2, b"\1\0\0\0")))
        + block(order, 0x80000BAD, b"somebody's own")
        + interface(order, 101)
        + enhanced(order, 1, 3, RAW)
        + simple(order, FRAME)
        + obsolete(order, 1, 4, RAW)
        + statistics(order, 0, 10, 2, 1)
        + statistics(order, 0, 20, 4, 3)
        + statistics(order, 1, 20, 1, 0)
    )
    assert times(data) == [1000, 2000, 3000, 3000, 4000]
    reader, _ = read(data)
    assert reader.counts["dropped"] == 8
    # A section of the other byte order behind it begins with interfaces of its own.
    other = "<" if order == ">" else ">"
    more = section(other) + interface(other, 101) + enhanced(other, 0, 5, RAW) + statistics(other, 0, 9, 1, 1)
    assert times(data + more) == [1000, 2000, 3000, 3000, 4000, 5000]
    reader, _ = read(data + more)
    assert reader.counts["dropped"] == 10
    assert reader.counts["packets"] == 6


def test_a_wrong_closing_length_is_forgiven_where_the_packet_tells_the_right_one() -> None:
    assert times(NG + ENHANCED[:-4] + b"\x09\0\0\0" + ENHANCED) == [5000] * 2


def test_a_simple_packet_is_cut_at_the_snaplen() -> None:
    data = section("<") + interface("<", 1, len(FRAME) - 2) + simple("<", FRAME[:-2], len(FRAME))
    _, segments = read(data)
    assert [(segment[6], segment[7]) for segment in segments] == [(b"a", 2)]


def test_what_the_writers_write() -> None:
    stamp = SECOND * 10**9 + 7
    writer = PcapngWriter(1, interface="lo", program="a test")
    data = (
        writer.make_file_header()
        + writer.make_packet_block(stamp, FRAME)
        + writer.make_packet_block(stamp, FRAME[:-2], len(FRAME))
    )
    data += writer.make_packet_block(stamp, FRAME[:-1], len(FRAME)) + writer.make_statistics_block(
        stamp, received=7, dropped=3
    )
    reader, segments = read(data)
    assert [segment[1:3] + segment[6:] for segment in segments] == [
        (stamp, 1, b"ask", 0),
        (stamp, 2, b"a", 2),
        (stamp, 3, b"as", 1),
    ]
    assert reader.problem is None
    assert reader.counts["dropped"] == 3


PCAP = PcapWriter(1).make_file_header()
NG = section("<") + interface("<")
RECORD = PcapWriter(1).make_packet_block(5, FRAME)
ENHANCED = enhanced("<", 0, 5, FRAME)
ONE, NG_ONE = PCAP + RECORD, NG + ENHANCED

# The file, segments before the problem, its offset, the beginning of its text.
PROBLEMS: dict[str, tuple[bytes, int, int, str]] = {
    "empty": (b"", 0, 0, "not a capture: empty"),
    "two bytes": (b"\xd4\xc3", 0, 2, "not a capture: only bytes d4 c3"),
    "a document": (b"%PDF-1.7 and so on", 0, 0, 'not a capture: starts with "%PDF"'),
    "zeros": (bytes(100), 0, 0, "not a capture: starts with bytes 00 00 00 00"),
    "cut in the file header": (PCAP[:20], 0, 20, "cut off"),
    "an unknown link type": (PCAP[:20] + b"\x93\0\0\0" + RECORD, 0, 20, "link type 147 is not supported"),
    "cut in a record header": (ONE + RECORD[:7], 1, len(ONE) + 7, "cut off inside a packet"),
    "cut in a packet": (ONE + RECORD[:30], 1, len(ONE) + 30, "cut off inside a packet"),
    "a packet of 4 GB": (ONE + pack("<IIII", 1, 1, 2**32 - 1, 2**32 - 1) + RECORD, 1, len(ONE), "no"),
    "a packet too large": (
        ONE + pack("<IIII", 1, 1, PACKET_MAX + 1, PACKET_MAX + 1),
        1,
        len(ONE),
        "no",
    ),
    "more captured than there was": (
        ONE + pack("<IIII", 1, 1, 50, 49) + bytes(50),
        1,
        len(ONE),
        "no",
    ),
    "no time": (ONE + pack("<IIII", 1, 10**9, 50, 50) + bytes(50), 1, len(ONE), "no packet record"),
    "zeros behind": (ONE + bytes(400), 1, len(ONE), "no packet record: nothing but zeros"),
    "text behind": (ONE + b"the end of the capture", 1, len(ONE), "no packet record"),
    "pcapng cut in a block": (NG_ONE + ENHANCED[:30], 1, len(NG_ONE) + 30, "cut off inside a packet"),
    "pcapng cut in a length": (NG_ONE + ENHANCED[:5], 1, len(NG_ONE) + 5, "cut off inside a packet"),
    "a block of no length": (NG_ONE + bytes(40), 1, len(NG_ONE), "no block: 0 bytes cannot be the length of one"),
    "a block of odd length": (NG_ONE + pack("<II", 6, 61) + bytes(61), 1, len(NG_ONE), "no block"),
    "a block of 4 GB": (NG_ONE + pack("<II", 6, 2**32 - 4) + bytes(61), 1, len(NG_ONE), "no block"),
    "a block too large": (NG_ONE + pack("<II", 9, BLOCK_MAX + 4) + bytes(9), 1, len(NG_ONE), "no block"),
    "two lengths": (NG_ONE + block("<", 9, b"")[:-1] + b"\1", 1, len(NG_ONE), "a block of 12 bytes"),
    "an unknown interface": (
        NG_ONE + enhanced("<", 1, 5, FRAME),
        1,
        len(NG_ONE),
        "a packet of interface 1",
    ),
    "no interface": (section("<") + simple("<", FRAME), 0, 28, "a packet of an interface that is not described"),
    "a short interface": (section("<") + block("<", 1, b""), 0, 28, "an interface description is too short"),
    "a packet longer than its block": (
        NG + block("<", 6, pack("<IIIII", 0, 0, 0, 99, 99)),
        0,
        len(NG) + 28,
        "a packet",
    ),
    "no byte order": (NG + pack("<III", 0x0A0D0D0A, 28, 7) + bytes(16), 0, len(NG) + 8, "a section has no byte-order"),
    "another version": (block("<", 0x0A0D0D0A, pack("<IHHq", 0x1A2B3C4D, 2, 0, -1)), 0, 12, "version 2 of pcapng"),
    "a clock too fine": (
        section("<") + interface("<", rows=((9, b"\xff"),)),
        0,
        28,
        "a clock resolution of 2**-127 seconds is not possible",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_came_before_a_problem_is_given(name: str) -> None:
    data, count, offset, text = PROBLEMS[name]
    for step in (len(data) + 1, 1, 3):
        reader = CaptureReader()
        segments = []
        for at in range(0, len(data), step):
            segments += reader.feed(data[at : at + step])
        segments += reader.finish()
        assert len(segments) == count
        assert isinstance(reader.problem, DecodeError)
        assert reader.problem.offset == offset
        assert reader.problem.text.startswith(text)
        assert reader.feed(data) == []


def test_frames_that_are_no_tcp_are_counted() -> None:
    fragment = ipv4("10.0.0.1", "10.0.0.2", bytes(16), fragment=0x2000)
    frames = [
        ethernet(ipv4("10.0.0.1", "10.0.0.2", bytes(8), protocol=17)),
        ethernet(ipv6("::1", "::2", bytes(8), protocol=17), 0x86DD),
        ethernet(ipv4("10.0.0.1", "10.0.0.2", bytes(8), protocol=1)),
        ethernet(bytes(28), 0x0806),
        ethernet(bytes(30), 0x88CC),
        ethernet(fragment),
        ethernet(ipv4("10.0.0.1", "10.0.0.2", b"short")),
        ethernet(b""),
        b"\1\2\3",
        FRAME,
    ]
    writer = PcapWriter(1)
    reader, segments = read(
        writer.make_file_header() + b"".join(writer.make_packet_block(1, frame) for frame in frames)
    )
    assert reader.problem is None
    assert len(segments) == 1
    assert reader.counts == {
        "packets": 10,
        "tcp": 1,
        "udp": 2,
        "icmp": 1,
        "arp": 1,
        "other": 1,
        "fragments": 1,
        "unreadable": 3,
        "unknown_link": 0,
        "fragmented": 1,
        "dropped": 0,
        "of EtherType 0x88cc": 1,
    }


# Versions that AIX and old programs wrote: minor version, link type, size of a tick in ns, whether sizes are swapped.
@pytest.mark.parametrize(
    ("minor", "link", "tick", "swapped"),
    [(2, 6, 1, False), (2, 6, 1, True), (3, 1, 1000, True), (3, 1, 1000, False), (1, 1, 1000, True)],
)
@pytest.mark.parametrize("fused", [True, False])
def test_old_versions_of_pcap(minor: int, link: int, tick: int, swapped: bool, fused: bool) -> None:
    header = pack("<IHHiIII", 0xA1B2C3D4, 2, minor, 0, 0, 65535, link)
    data, wire = FRAME[:-1], len(FRAME)  # one byte was not captured
    sizes = (wire, len(data)) if swapped else (len(data), wire)
    reader, segments = read(header + 2 * (pack("<IIII", 7, 5, *sizes) + data), fused=fused)
    assert reader.problem is None
    assert [segment[1] for segment in segments] == [7_000_000_000 + 5 * tick] * 2


@pytest.mark.parametrize(
    ("before", "packet", "command"),
    [
        (
            b"\x45" * 3,
            ipv4("10.0.0.1", "10.0.0.2", b"x" * 30),
            "IP begins at byte 3 of its first frame: editcap -L -C 3 -T",
        ),
        (b"", ipv4("10.0.0.1", "10.0.0.2", b"x" * 30), "IP begins at byte 0 of its first frame: editcap -T rawip"),
        (bytes(40), ipv6("::1", "::2", tcp(1, 2, 3, 4, ACK, b"x" * 9)), "editcap -L -C 40 -T rawip IN OUT"),
        (bytes(40), b"no packet", "where a header of SIZE bytes stands before IP: editcap -L -C SIZE -T rawip IN OUT"),
    ],
)
def test_what_makes_a_capture_that_is_read_of_another_link_type(before: bytes, packet: bytes, command: str) -> None:
    data = PCAP[:20] + b"\xfa\0\0\0" + PcapWriter(250).make_packet_block(5, before + packet)
    for feeds in ([data], [data[at : at + 1] for at in range(len(data))]):
        reader = CaptureReader()
        for piece in feeds:
            reader.feed(piece)
        assert isinstance(reader.problem, Malformed)
        assert command in str(reader.problem)
        assert reader.problem.offset == 20


@pytest.mark.skipif(shutil.which("editcap") is None, reason="editcap is not installed")
def test_the_named_command_does_what_is_said(tmp_path: Path) -> None:
    frame = bytes(11) + ipv4("10.0.0.1", "10.0.0.2", tcp(1, 2, 3, 4, ACK, b"Kafka"))
    path, made = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    path.write_bytes(PCAP[:20] + b"\x93\0\0\0" + PcapWriter(147).make_packet_block(5, frame))
    reader, _ = read(path.read_bytes())
    command = str(reader.problem).partition(": ")[2].partition(")")[0]
    words = [{"IN": str(path), "OUT": str(made)}.get(word, word) for word in command.split()]
    subprocess.run(words, check=True)
    reader, segments = read(made.read_bytes())
    assert [segment[6] for segment in segments] == [b"Kafka"]


def test_packets_of_an_unknown_link_type_are_counted() -> None:
    data = section("<") + interface("<", 147) + interface("<") + enhanced("<", 0, 5, FRAME) + enhanced("<", 1, 5, FRAME)
    reader, segments = read(data)
    assert reader.problem is None
    assert [segment[2] for segment in segments] == [2]
    assert reader.counts["unknown_link"] == 1


def capture(random: Random) -> bytes:
    """A small capture of many kinds of packets in any format."""
    segment = tcp(1, 2, 3, 4, ACK, random.randbytes(random.choice([0, 5, 80])), random.choice([b"", bytes(12)]))
    link = random.choice([1, 1, 101, 113, 276, 0])
    four, six = ipv4("10.0.0.1", "10.0.0.2", segment), ipv6("::1", "::2", segment)
    head4 = {1: ethernet(b""), 101: b"", 113: bytes(14) + b"\x08\x00", 276: b"\x08\x00" + bytes(18), 0: b"\2\0\0\0"}
    head6 = {1: ethernet(b"", 0x86DD), 101: b"", 113: bytes(14) + b"\x86\xdd", 276: b"\x86\xdd" + bytes(18)}
    head6[0] = b"\x1e\0\0\0"
    kinds = [
        head4[link] + four,
        head6[link] + six,
        head4[link] + ipv4("10.0.0.1", "10.0.0.2", segment, options=bytes(8)),
        head4[link] + ipv4("10.0.0.1", "10.0.0.2", segment[:24], fragment=0x2000),
        head4[link] + ipv4("10.0.0.1", "10.0.0.2", segment[24:], fragment=3),
        head4[link] + ipv4("10.0.0.1", "10.0.0.2", segment, total=0),
        head6[link] + ipv6("::1", "::2", b"\6\0" + bytes(6) + segment, protocol=0),
        head4[link] + ipv4("10.0.0.1", "10.0.0.2", segment, protocol=17),
        b"?",
    ]
    writer: PcapWriter | PcapngWriter = PcapngWriter(link)
    if random.random() < 0.6:
        writer = PcapWriter(link, order=random.choice("<>"), nanoseconds=random.random() < 0.5)
    out = [writer.make_file_header()]
    for number in range(random.randint(0, 12)):
        frame = random.choice([kinds[0], kinds[0], kinds[1], random.choice(kinds)])
        kept = frame[: random.choice([1000, 1000, 60])] + random.choice([b"", b"", bytes(6)])
        out.append(writer.make_packet_block(SECOND * 10**9 + number * 1000, kept, max(len(frame), len(kept))))
    if isinstance(writer, PcapngWriter):
        out.append(writer.make_statistics_block(5, received=3, dropped=2))
    return b"".join(out)


def outcome(reader: CaptureReader, segments: list[Segment]) -> object:
    """The final state of a reader: segments, problem, kind of file, counts."""
    problem = reader.problem
    told = (type(problem), problem.text, problem.offset) if problem else None
    return segments, told, reader.kind, reader.counts


@given(st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_any_cut_any_hand_over_and_the_plain_way_give_the_same(seed: int) -> None:
    random = Random(seed)
    data = capture(random)
    for _ in range(random.choice([0, 0, 1, 3])):
        at = random.randrange(len(data))
        data = data[:at] + bytes([random.choice([0, 255, data[at] ^ 1 << random.randrange(8)])]) + data[at + 1 :]
    data = data[: random.choice([len(data), len(data), random.randint(0, len(data))])]
    wanted = outcome(*read(data))
    plain = CaptureReader(fused=False)
    assert outcome(plain, plain.feed(data) + plain.finish()) == wanted
    reader, segments, at = CaptureReader(), [], 0
    while at < len(data):
        size = random.choice([1, 2, 7, 16, 60, 200])
        segments += reader.feed(data[at : at + size])
        at += size
        if random.random() < 0.2:
            heir = CaptureReader()
            heir.resume(reader.export())
            assert heir.export() == reader.export()
            reader = heir
    assert outcome(reader, segments + reader.finish()) == wanted


def test_a_hostile_length_is_not_waited_for() -> None:
    reader = CaptureReader()
    reader.feed(NG + pack("<II", 99, BLOCK_MAX))
    for _ in range(BLOCK_MAX >> 20):
        reader.feed(bytes(1 << 20))
    assert reader.problem is not None
    assert len(reader.export()) < 1000


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_a_state_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        CaptureReader().resume(data)
