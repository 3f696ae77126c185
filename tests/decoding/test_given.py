"""Bytes as people paste them: each notation gives the same bytes; other text gives an error with its reason."""

from __future__ import annotations

import shutil
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
from kwcli.reading.capture_sources import CAPTURE_MAGICS
from kwcli.run_environment import Failure
from tests.captures.shipped import segments
from tests.cli.worlds import kw, world
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


def words(between: str = ", ", form: str = "{}", signed: bool = False) -> str:
    return between.join(form.format(byte - 256 if signed and byte > 127 else byte) for byte in FRAME)


def escaped(nul: str, form: str) -> str:
    """The frame as a string whose printable characters stand as they are."""
    kept = {9: "\\t", 34: '\\"', 92: "\\\\"}
    return "".join(
        kept.get(byte) or (nul if byte == 0 else chr(byte) if 32 <= byte < 127 else form.format(byte)) for byte in FRAME
    )


def strace(data: bytes) -> str:
    """The frame as strace and C compilers write it: an octal number is as short as what stands behind it allows."""
    out = ""
    for at, byte in enumerate(data):
        follows = data[at + 1 : at + 2].isdigit()
        out += chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" if follows else f"\\{byte:o}"
    return out


def netty_table() -> str:
    lines = [f"|{at:08x}| {pairs(FRAME[at : at + 16]):<47} |................|" for at in range(0, len(FRAME), 16)]
    return "\n".join(["+--------+----+", *lines, "+--------+----+"])


def rows_of(width: int, form: str, between: str = " ", cell: str = "{:02x}") -> str:
    """The frame as lines of some bytes; the form has its place (`at`) and bytes (`cells`)."""
    return "\n".join(
        form.format(at=at, cells=between.join(cell.format(byte) for byte in FRAME[at : at + width]))
        for at in range(0, len(FRAME), width)
    )


# How languages and programs print the bytes of a frame: `name: text` where it is more than numbers in brackets.
WRAPPED = {
    "Go %x": FRAME.hex(),
    "Go %v": f"[{words(' ')}]",
    "Go %#v": "[]byte{" + words(", ", "0x{:x}") + "}",
    "Go pointer": "&[]byte{" + words(",", "0x{:x}") + "}",
    "Go %q": f'"{escaped(chr(92) + "x00", chr(92) + "x{:02x}")}"',
    "Go string": f'[]byte("{escaped(chr(92) + "x00", chr(92) + "x{:02x}")}")',
    "Rust array": f"[{words()}]",
    "Rust vec!": f"vec![{words()}]",
    "Rust u8": f"&[{words(', ', '{}u8')}]",
    "Rust let": f"let frame: [u8; {len(FRAME)}] = [{words()}];",
    "Rust bytes": f'b"{escaped(chr(92) + "0", chr(92) + "x{:02x}")}"',
    "Python bytearray": f"bytearray({FRAME!r})",
    "Python bytes of a list": f"bytes([{words()}])",
    "Python logger": f"DEBUG kafka.conn Request 7: {FRAME!r}",
    "Java new": "new byte[] {" + words(", ", "(byte) {}", True) + "}",
    "Java printed": f"[{words(', ', '{}', True)}]",
    "Java with a blank": f"[{words(', ', '{}', True)}] ",
    "Kotlin": f"byteArrayOf({words(', ', '{}', True)})",
    "Scala": f"Array({words(', ', '{}', True)})",
    "Node Buffer": f"<Buffer {pairs(FRAME)}>",
    "Node Buffer as JSON": '{"type":"Buffer","data":[' + words(",") + "]}",
    "Node Uint8Array": f"Uint8Array({len(FRAME)}) [\n  {words()}\n]",
    "Node array as JSON": "{" + ",".join(f'"{at}":{byte}' for at, byte in enumerate(FRAME)) + "}",
    "Node ArrayBuffer": "ArrayBuffer { [Uint8Contents]: <" + pairs(FRAME) + f">, byteLength: {len(FRAME)} }}",
    "Node from": f"Buffer.from('{FRAME.hex()}', 'hex')",
    "C array named": f"static const uint8_t frame[{len(FRAME)}] = {{{words(', ', '0x{:02x}')}}};",
    "Wireshark's C array": "char peer0_0[] = { /* Packet 4 */\n" + words(", ", "0x{:02x}") + " };",
    "C string": f'"{strace(FRAME)}"',
    "strace": f'write(5, "{strace(FRAME)}", {len(FRAME)}) = {len(FRAME)}',
    "C octal": "".join(f"\\{byte:03o}" for byte in FRAME),
    "C# BitConverter": pairs(FRAME, "-").upper(),
    "C# array": "new byte[] { " + words(", ", "0x{:02X}") + " };",
    "Swift": f"[UInt8]({words()})",
    "Dart": f"Uint8List.fromList([{words()}])",
    "Erlang": f"<<{words(',')}>>",
    "Erlang, hex": f"<<{words(',', '16#{:X}')}>>",
    "Elixir with strings": f"<<{words(', ').replace('97, 112, 112', chr(34) + 'app' + chr(34))}>>",
    "Wireshark's escaped string": rows_of(16, '"{cells}" \\', "", "\\x{:02x}"),
    "PowerShell Format-Hex": " " * 11 + pairs(bytes(range(16))) + "\n\n" + rows_of(16, "{at:08X}   {cells}  ....", " "),
    "PowerShell 7 Format-Hex": f"  Offset {pairs(bytes(range(16)))}\n  ------ --\n"
    + rows_of(16, "{at:016X} {cells} ...."),
    "gdb x/8xb": rows_of(8, "0x7ffe{at:08x}:\t{cells}", "\t", "0x{:02x}"),
    "gdb x/8xb of a symbol": rows_of(8, "0x55550{at:07x} <buffer+{at}>:\t{cells}", "\t", "0x{:02x}"),
    "lldb memory read": rows_of(16, "0x16fdff{at:03x}: {cells}  ................"),
    "JSON with base64": '{"payload":"' + b64encode(FRAME).decode() + '"}',
    "JSON with base64, without size": '{"payload":"' + b64encode(FRAME[4:]).decode() + '"}',
    "Objective C": "{length = 63, bytes = 0x" + FRAME.hex() + "}",
    "JSON escapes": f'"{escaped(chr(92) + "u0000", chr(92) + "u{:04x}")}"',
    "PostgreSQL": "\\x" + FRAME.hex(),
    "SQL": f"X'{FRAME.hex()}'",
    "URL": pairs(FRAME, "", "%"),
    "netty's table": netty_table(),
    "netty's table in a log": "\n".join("10:00:00 DEBUG " + line for line in netty_table().splitlines()),
    "log line, hex": f"2026-11-28T10:00:00Z DEBUG sending bytes={FRAME.hex()} (uuid 0f8fad5b-d9cb-469f)",
    "log line, list": f"[2026-11-28 10:00:00,123] TRACE bytes [{words(', ', '{}', True)}] (kafka.server.KafkaApis)",
    "log line, Go": f"time=10:00:00 level=debug msg=read buf=[{words(' ')}] n=63",
    "log line, base64": f"got {b64encode(FRAME).decode()} from 10.0.0.1:9092",
    "log line, dashes": f"10:00:00 [DBG] frame {pairs(FRAME, '-').upper()} sent",
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_languages_print_for_bytes(name: str) -> None:
    assert bytes_of(WRAPPED[name]) == [FRAME[4:] if name.endswith("without size") else FRAME]


OD = [
    *("od", "od -t x1", "od -v -A n -t x1", "od -A x -t x1z", "od -A d -t x1", "od -b", "od -c", "od -x", "od -t x2"),
    *("od -t u1", "od -t d1", "od -v -A n -t u1", "od -t u2", "od -t x4", "od -t x2 --endian=big", "od -v -t o1z"),
    *("hexdump", "hexdump -C", "hexdump -b", "hexdump -c", "hexdump -d", "hexdump -o", "hexdump -x"),
    *("xxd", "xxd -p", "xxd -i", "xxd -u", "xxd -c 8", "xxd -g 4"),
]


@pytest.mark.parametrize("command", OD)
def test_what_od_hexdump_and_xxd_print(command: str, tmp_path: Path) -> None:
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"{command.split()[0]} is missing")
    frame = request(3, 12, 7, "app", {"topics": [{"name": "orders"}] * 9 + [{"name": "o" * 70}]})
    (tmp_path / "frame").write_bytes(frame)
    printed = subprocess.run([*command.split(), "frame"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert bytes_of(printed.stdout) == [frame]


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[0 0 0 43 0 3 0 12]", "0000002b0003000c"),
        ("00-00-00-2B-00-03-00-0C", "0000002b0003000c"),
        ("[10 20 30 40]", "10203040"),
        ("00,00,00,2b", "0000002b"),
        ("[0, -1, 43]", "00ff2b"),
        (r'"\0\0\0+\0\3\0\f"', "0000002b0003000c"),
        (r'b"\0\x01\012"', "0001003132"),
        (r"'\000\000\000\053'", "0000002b"),
        (r"""'\000' <repeats 3 times>, "+\000\003\000\f" """, "0000002b0003000c"),
    ],
)
def test_decimal_hex_or_octal(text: str, data: str) -> None:
    assert bytes_of(text)[0].hex() == data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0012 0003 00000001 0001 61 00 0000", "→ ApiVersions 3 request · 14 B · correlation id 1 · client a"),
        ("[0, 3, 0, 12, 0, 0, 0, 1, 0, -1, 0, -1, 1, 0]", "→ Metadata 12 request · 14 B · correlation id 1"),
        ("000300ff00000001", "→ "),
    ],
)
def test_a_request_without_its_size_that_ends_early_is_that_request(text: str, said: str) -> None:
    """Read with the size field that is not there, the head would be an answer or a Produce of 1 MB."""
    done = kw("decode", text, "-o", "text")
    assert (done.code, done.out.startswith(said)) == (1, said != "→ ")


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
        refused = data[:4] in CAPTURE_MAGICS or not data.strip()
        assert found == (None if refused else [data])
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
