"""Bytes as people paste them: each notation gives the same bytes; other text gives an error with its reason."""

from __future__ import annotations

import subprocess
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwcli.decoding.read_inputs import (
    find_packet_payload,
    gather_input_bytes,
    parse_hex_dump,
    split_inputs_in_bytes,
    split_inputs_in_text,
)
from kwcli.output.hex import HexStyle, format_frame_as_hex
from kwcli.output.short_texts import COLORED, PLAIN
from kwcli.run_environment import Failure
from tests.captures.shipped import segments
from tests.cli.worlds import world
from tests.exchanges.talks import request

FRAME = request(3, 12, 7, "app", {"topics": [{"name": "orders"}, {"name": "payments-of-today"}]})


def bytes_of(text: str) -> list[bytes]:
    return [each.data for each in split_inputs_in_text(text, "", "auto")]


def pairs(data: bytes, between: str = " ", before: str = "") -> str:
    return between.join(f"{before}{byte:02x}" for byte in data)


NOTATIONS = {
    "hex": FRAME.hex(),
    "upper case": FRAME.hex().upper(),
    "blanks": pairs(FRAME),
    "0x": "0x" + FRAME.hex(),
    "0x each": pairs(FRAME, ", ", "0x"),
    "C array": "{ " + ", ".join(f"0x{byte:x}" for byte in FRAME) + " };",
    "colons": pairs(FRAME, ":"),
    "escapes": pairs(FRAME, "", "\\x"),
    "Python bytes": 'b"' + pairs(FRAME, "", "\\x") + '"',
    "Java array": str([byte - 256 if byte > 127 else byte for byte in FRAME]),
    "base64": b64encode(FRAME).decode(),
    "quoted base64": f'"{b64encode(FRAME).decode()}"',
    "base64 for URLs": urlsafe_b64encode(FRAME).decode().rstrip("="),
    "broken hex": "\n".join(FRAME.hex()[at : at + 60] for at in range(0, len(FRAME.hex()), 60)),
    "broken base64": "\n".join(b64encode(FRAME).decode()[at : at + 76] for at in range(0, 400, 76)),
    "kw's hex view": "\n".join(format_frame_as_hex(FRAME, "request", 3, 12, HexStyle(None, PLAIN))),
    "kw's narrow hex view": "\n".join(format_frame_as_hex(FRAME, "request", 3, 12, HexStyle(80, PLAIN, whole=True))),
}


@pytest.mark.parametrize("name", NOTATIONS)
def test_notations(name: str) -> None:
    assert bytes_of(NOTATIONS[name]) == [FRAME]


# Programs of coreutils; xxd and hexdump are below.
PROGRAMS = {
    "od": ["od", "-A", "x", "-t", "x1"],
    "od with text": ["od", "-A", "x", "-t", "x1z"],
    "base64": ["base64"],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("data", [FRAME, FRAME * 3, FRAME[:20] + bytes(200) + b"deadbeef cafe 00" * 4], ids=len)
def test_what_programs_print(name: str, data: bytes) -> None:
    done = subprocess.run(PROGRAMS[name], input=data, capture_output=True, check=True)
    if name == "base64":
        assert b"".join(bytes_of(done.stdout.decode())) == data
    else:
        assert bytes_of(done.stdout.decode()) == [data]


ZEROS = "00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|"
# Dumps as xxd, hexdump and tcpdump print them, for machines without these programs.
DUMPS = [
    (
        "00000000: 0000 0012 0003 0005 0000 0007 0003 6170  ..............ap\n"
        "00000010: 7000 00                                  p..\n",
        19,
    ),
    (
        "00000000  00 00 00 12 00 03 00 05  00 00 00 07 00 03 61 70  |..............ap|\n"
        "00000010  70 00 00                                          |p..|\n00000013\n",
        19,
    ),
    (f"00000000  {ZEROS}\n*\n00000040  01                                                |.|\n00000041\n", 65),
    (f"00000000  {ZEROS}\n*\n00000040\n", 64),
    (
        "\t0x0000:  0000 0012 0003 0005 0000 0007 0003 6170  ..............ap\n"
        "\t0x0010:  7000 00                                  p..\n",
        19,
    ),
]


@pytest.mark.parametrize(("text", "size"), DUMPS)
def test_dumps(text: str, size: int) -> None:
    assert [len(data) for data in bytes_of(text)] == [size]


def test_a_dump_with_a_hole_is_refused() -> None:
    lines = NOTATIONS["kw's hex view"].splitlines()
    with pytest.raises(Failure, match="begins at byte 0x"):
        parse_hex_dump("\n".join(lines[:3] + lines[5:]))
    with pytest.raises(Failure, match="reveal-secrets"):
        parse_hex_dump("0000  00 00 ** **  secret")


def test_messages_a_line() -> None:
    assert bytes_of(f"{FRAME.hex()}\n\n{FRAME.hex()}\n") == [FRAME, FRAME]
    assert bytes_of(f"{b64encode(FRAME).decode()}\r\n{FRAME.hex()}\r\n") == [FRAME, FRAME]


class Trickle:
    """A standard input that gives a few bytes at a time, and counts the bytes taken."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data = data
        self.size = size
        self.taken = 0

    def read1(self, size: int = -1, /) -> bytes:
        piece = self.data[self.taken : self.taken + min(self.size, size)]
        self.taken += len(piece)
        return piece


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_lines_are_taken_as_they_come(size: int) -> None:
    env = world()
    lines = [FRAME.hex(), "", "no message", b64encode(FRAME).decode(), FRAME.hex()]
    env.stdin = trickle = Trickle("\n".join(lines).encode(), size)
    found = gather_input_bytes(["-"], env, "auto")
    assert next(found) == ("standard input, line 1", FRAME, FRAME.hex(), "")
    assert trickle.taken <= len(FRAME) * 2 + 1 + size
    assert [(each.name[-1], each.data) for each in found] == [("3", b""), ("4", FRAME), ("5", FRAME)]


def tcpdump_lines(data: bytes) -> str:
    """A packet as tcpdump -X prints it."""
    lines = ["12:00:00.000000 IP 127.0.0.1.40000 > 127.0.0.1.9092: Flags [P.], seq 1:2, length 1"]
    for at in range(0, len(data), 16):
        groups = " ".join(data[at : at + 16][place : place + 2].hex() for place in range(0, 16, 2))
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data[at : at + 16])
        lines.append(f"\t0x{at:04x}:  {groups:<39}  {text}")
    return "\n".join(lines)


def test_of_packets_the_payload_is_taken() -> None:
    tcp = bytes.fromhex("9c40 2384 00000001 00000001 8018 0200 0000 0000 0101080a 00000000 00000000")
    ip = bytes.fromhex(f"4500 {20 + len(tcp) + len(FRAME):04x} 0001 4000 4006 0000 7f000001 7f000001")
    ack = bytes.fromhex(f"4500 {20 + len(tcp):04x} 0001 4000 4006 0000 7f000001 7f000001") + tcp
    packet = ip + tcp + FRAME
    ethernet = bytes(12) + b"\x08\0" + packet
    assert find_packet_payload(packet) == find_packet_payload(ethernet) == find_packet_payload(FRAME) == FRAME
    text = "\n".join(map(tcpdump_lines, (packet, ack, ethernet)))
    assert bytes_of(text) == [FRAME, FRAME]


def test_a_capture_is_for_sniff(tmp_path: Path) -> None:
    for head in (bytes.fromhex("d4c3b2a1"), bytes.fromhex("0a0d0d0a")):
        file = tmp_path / "x.pcap"
        file.write_bytes(head + bytes(40))
        with pytest.raises(Failure, match=r"kw sniff .*x\.pcap"):
            list(gather_input_bytes([str(file)], world(), "auto"))
    assert len(segments("tour.pcapng")) > 100


WRONG = [
    ("00 0", "an odd number of hex digits"),
    ("0000001200zz", "not hex: 'zz'"),
    ("hello world", "neither hex nor base64, and no file"),
    ("   \n ", "no bytes"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_none_says_why(text: str, said: str) -> None:
    with pytest.raises(Failure, match=said):
        split_inputs_in_text(text, "", "auto")


def test_files_and_standard_input(tmp_path: Path) -> None:
    raw, text = tmp_path / "raw.bin", tmp_path / "text.hex"
    raw.write_bytes(FRAME)
    text.write_text(FRAME.hex())
    found = list(gather_input_bytes([str(raw), f"@{text}", "-", "00 01", "02"], world(FRAME), "auto"))
    assert [each.data for each in found] == [FRAME, FRAME, FRAME, b"\0\1\2"]
    with pytest.raises(Failure, match="no such file"):
        list(gather_input_bytes(["@/nowhere/at/all"], world(), "auto"))
    with pytest.raises(Failure, match="empty"):
        list(gather_input_bytes([], world(b" \n"), "auto"))


@given(st.binary(min_size=1, max_size=200), st.sampled_from(["auto", "hex", "base64", "raw"]))
def test_whatever_comes_in_a_file(data: bytes, form: str) -> None:
    try:
        found = [each.data for each in split_inputs_in_bytes(data, "x", form)]
    except Failure:
        found = None
    if form == "raw":
        assert found == [data]
    else:
        assert found is None or found


@given(st.text(max_size=200), st.sampled_from(["auto", "hex", "base64"]))
def test_whatever_is_pasted(text: str, form: str) -> None:
    try:
        found = split_inputs_in_text(text, "", form)
    except Failure:
        found = None
    assert found is None or found


def test_colours_of_a_view_are_no_part_of_a_dump() -> None:
    colored = "\n".join(format_frame_as_hex(FRAME, "request", 3, 12, HexStyle(100, COLORED, whole=True)))
    assert bytes_of(colored) == [FRAME]
