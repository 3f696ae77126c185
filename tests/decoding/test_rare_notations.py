"""Bytes as debuggers, compilers and tools print them, where their notation is rare or looks like another one."""

from __future__ import annotations

import shutil
import subprocess
from base64 import b32encode, b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwcli.decoding.rare_notations import LIKELY, SURE, TEXT_MAX, decode_by_rare_notations
from kwcli.run_environment import Failure
from tests.decoding.test_given import FRAME, bytes_of, pairs, rows_of, words

SIGNED = [byte - 256 if byte > 127 else byte for byte in FRAME]


def printable(form: Callable[[int], str], *, follows: str = "") -> str:
    """The frame as a string; `follows` stands between an escape and a digit behind it."""
    out = ""
    for at, byte in enumerate(FRAME):
        digit = FRAME[at + 1 : at + 2].isdigit()
        out += chr(byte) if 32 <= byte < 127 else form(byte) + (follows if digit else "")
    return out


def beside(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)


def dump(form: str, *, width: int = 16, cell: Callable[[bytes], str] = pairs, columns: int = 47) -> str:
    """The frame as lines with its text beside the bytes."""
    rows = [(at, FRAME[at : at + width]) for at in range(0, len(FRAME), width)]
    return "\n".join(form.format(at=at, cells=f"{cell(row):<{columns}}", text=beside(row)) for at, row in rows)


def halves(between: str) -> Callable[[bytes], str]:
    return lambda row: pairs(row[:8]) + (between + pairs(row[8:]) if row[8:] else "")


def swapped(row: bytes, size: int, before: str = "") -> str:
    """Words of a little-endian machine; what reaches behind the frame is 0."""
    row += bytes(-len(row) % size) if before else b""
    return " ".join(before + row[at : at + size][::-1].hex().rjust(2 * size) for at in range(0, len(row), size))


def character(byte: int) -> str:
    return f"'{chr(byte)}'" if 32 <= byte < 127 else f"'\\{byte:03o}'"


def repeated() -> str:
    """The frame as gdb prints an array of characters: equal ones in a row once."""
    out: list[str] = []
    at = 0
    while at < len(FRAME):
        count = len(FRAME[at:]) - len(FRAME[at:].lstrip(FRAME[at : at + 1]))
        one = f"{SIGNED[at]} {character(FRAME[at])}"
        out += [f"{one} <repeats {count} times>"] if count > 9 else [one] * count
        at += count
    return "$1 = {" + ", ".join(out) + "}"


LINES_OF_8 = [FRAME[at : at + 8] for at in range(0, len(FRAME), 8)]
NGREP = "T 127.0.0.1:40000 -> 127.0.0.1:9092 [AP] #4\n"
BASE64 = b64encode(FRAME).decode()
ARMOR = "\n".join(BASE64[at : at + 64] for at in range(0, len(BASE64), 64))
RARE = {
    "Rust {:x?}": f"[{words(', ', '{:x}')}]",
    "Rust {:#x?}": "[\n" + words("\n", "    0x{:x},") + "\n]",
    "PHP print_r": "Array\n(\n" + "\n".join(f"    [{at}] => {byte}" for at, byte in enumerate(FRAME, 1)) + "\n)\n",
    "PHP var_export": "array(" + ",".join(f"{at}=>{byte}" for at, byte in enumerate(FRAME, 1)) + ")",
    "PHP JSON": "{" + ",".join(f'"{at}":{byte}' for at, byte in enumerate(FRAME, 1)) + "}",
    "Visual Studio": f"{{byte[{len(FRAME)}]}}\n" + "\n".join(f"    [{at}]: {b}" for at, b in enumerate(FRAME)),
    "lldb p": "(uint8_t[81]) $0 = {\n" + "\n".join(f"  [{at}] = 0x{b:02x}" for at, b in enumerate(FRAME)) + "\n}",
    "lldb p, characters": "(char [81]) x = ("
    + ", ".join(f"[{at}] = {character(b)}" for at, b in enumerate(FRAME))
    + ")",
    "Perl": '"' + printable("\\x{{{:x}}}".format) + '"',
    "Lua": '"' + printable("\\{:03d}".format) + '"',
    "Haskell": '"' + printable("\\{}".format, follows="\\&") + '"',
    "OCaml": '"' + printable("\\{:03d}".format) + '"',
    "C casts": "{ " + words(", ", "(unsigned char)0x{:02x}") + " }",
    "C casts to char": "{ " + words(", ", "(char) 0x{:02X}") + " }",
    "C bits": "{ " + words(", ", "0b{:08b}") + " }",
    "C octal": "{ " + words(", ", "0{:o}") + " }",
    "C++ byte": "{ " + words(", ", "std::byte{{0x{:02x}}}") + " }",
    "Visual Basic": "{" + words(", ", "&H{:02X}") + "}",
    "F#": "[|" + words("; ", "{}uy") + "|]",
    "F#, hex": "[|" + words("; ", "0x{:02X}uy") + "|]",
    "assembler": "db " + words(", ", "{:03X}h"),
    "with h": words(" ", "{:02X}h"),
    "with $": words(" ", "${:02X}"),
    "entities": words("", "&#{};"),
    "semicolons": "bytes: " + words(";"),
    "bars": pairs(FRAME, "|"),
    "underscores": pairs(FRAME, "_"),
    "dots": pairs(FRAME, "."),
    "LDAP": pairs(FRAME, "", "\\"),
    "bits": words(" ", "{:08b}"),
    "octal numbers": words(" ", "{:o}"),
    "Julia": "81-element Vector{UInt8}:\n" + words("\n", " 0x{:02x}"),
    "byte a line": words("\n", "0x{:02x},"),
    "PowerShell's list": words("\n"),
    "R": "\n".join(f"{f'[{at + 1}]':>5} {pairs(FRAME[at : at + 20])}" for at in range(0, len(FRAME), 20)),
    "psql": f" payload \n---------\n \\x{FRAME.hex()}\n(1 row)",
    "armor": f"-----BEGIN DATA-----\n{ARMOR}\n-----END DATA-----",
    "Wireshark's YAML": f"# Packet 4\npeer: 0\ndata: !!binary |\n  {BASE64}",
    "base32": b32encode(FRAME).decode(),
    "gdb print": repeated(),
    "gdb print, short": "$1 = {" + ", ".join(f"{s} {character(b)}" for s, b in zip(SIGNED, FRAME, strict=True)) + "}",
    "gdb x/xw": dump("0x7ffd{at:08x}:\t{cells}", cell=lambda row: swapped(row, 4, "0x").replace(" ", "\t")),
    "gdb x/xg": dump("0x7ffd{at:08x}:\t{cells}", cell=lambda row: swapped(row, 8, "0x").replace(" ", "\t")),
    "gdb x/db": dump(
        "0x7ffd{at:08x}:\t{cells}", width=8, cell=lambda row: "\t".join(str(b - 256 if b > 127 else b) for b in row)
    ),
    "gdb x/cb": dump(
        "0x7ffd{at:08x}:\t{cells}", width=8, cell=lambda row: "\t".join(f"{b} {character(b)}" for b in row)
    ),
    "WinDbg db": dump("00000024`0c9ff{at:03x}  {cells}  {text}", cell=halves("-")),
    "hexyl": "┌────────┬───┐\n" + dump("│{at:08x}│ {cells} │{text}│", cell=halves(" ┊ ")) + "\n└────────┴───┘",
    "xxd -b": dump(
        "{at:08x}: {cells}  {text}", width=6, cell=lambda row: " ".join(f"{b:08b}" for b in row), columns=53
    ),
    "xxd -e": dump("{at:08x}: {cells}   {text}", cell=lambda row: swapped(row, 4), columns=35),
    "xxd -d": dump("{at:08d}: {cells}  {text}", cell=lambda row: row.hex(" ", -2), columns=39),
    "tracemem": " " * 13 + "0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f\n" + dump("{at:10x}: {cells}  {text}"),
    "ngrep -x": NGREP + dump("  {cells}    {text}", cell=halves("    "), columns=50),
    "ESP-IDF": rows_of(16, "I (1234) tag: {cells}"),
    "strace -x": f'sendto(5, "{pairs(FRAME, "", chr(92) + "x")}", 81, 0, NULL, 0) = 81',
    "ltrace": f'write(5, "{printable((chr(92) + "{:03o}").format)}", 81)',
    "dtruss": f'write(0x5, "{printable((chr(92) + "{:03o}").format)}\\0", 0x51)',
    "Go hex.Dump": dump("{at:08x}  {cells}  |{text}|", cell=halves("  "), columns=48),
    "Go spew": "([]uint8) (len=81 cap=96) {\n"
    + dump(" {at:08x}  {cells}  |{text}|", cell=halves("  "), columns=48)
    + "\n}",
    "Delve": f"[]uint8 len: 81, cap: 96, [{words(',')}]",
    "JShell": "$1 ==> byte[81] { " + ", ".join(map(str, SIGNED)) + " }",
    "numpy": "array([" + ", ".join(f"{byte:3d}" for byte in FRAME) + "], dtype=uint8)",
    "Deno": "Uint8Array(81) [\n" + rows_of(12, "  {cells},", ", ", "{:3d}") + "\n]",
    "NSData": "<" + FRAME.hex(" ", -4) + ">",
    "Wireshark's stream": dump("    {at:08X}  {cells}   {text}", cell=halves("  "), columns=48),
}


@pytest.mark.parametrize("name", RARE)
def test_rare_notations(name: str) -> None:
    assert bytes_of(RARE[name]) == [FRAME]


@pytest.mark.parametrize("words", ["xxd -b", "xxd -e", "xxd -d", "hd", "od -t x8", "od -t x1 -w24"])
def test_what_programs_print_in_their_rare_modes(words: str, tmp_path: Path) -> None:
    if shutil.which(words.split()[0]) is None:
        pytest.skip(f"{words.split()[0]} is missing")
    (tmp_path / "frame").write_bytes(FRAME)
    done = subprocess.run([*words.split(), "frame"], cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{words}: no such option")
    assert bytes_of(done.stdout) == [FRAME]


@pytest.mark.parametrize("text", ['msg="a\\tb" n=1', "say 'hello\\n' to", "MFRGGZDFMZTWQ2LK and more"])
def test_words_are_no_bytes(text: str) -> None:
    for name in ("", "file"):
        found = []
        try:
            found = [each for each in bytes_of(text) if each]
        except Failure:
            assert not found
        assert not found, name


@given(st.text(st.sampled_from("0123456789abcdefx,;[](){}<>=:'\"\\ \n\t-%&#h|_."), max_size=200))
def test_whatever_is_written_is_read_or_not(text: str) -> None:
    for data, sure in decode_by_rare_notations(text):
        assert len(data) >= 8
        assert sure in (True, False)


def test_long_texts_are_read_once_at_most() -> None:
    assert list(decode_by_rare_notations("00 " * TEXT_MAX)) == []
    assert not set(SURE) & set(LIKELY)
