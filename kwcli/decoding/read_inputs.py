"""Words, files and standard input in, the runs of bytes that they stand for out: hex, base64, dumps, packets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from decoders.capture.dissect_packets import Dissector
from decoders.capture.link_types import LINKS
from decoders.frames.read_and_judge_headers import NO, judge_request
from decoders.limits import FRAME_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.decoding.byte_notations import (
    decode_notation,
    explain_undecodable_text,
    find_bytes_in_line,
    is_whole_message,
)
from kwcli.decoding.parse_od_dumps import parse_od_dump, unwrap_netty_table
from kwcli.decoding.rare_notations import decode_by_rare_notations
from kwcli.reading.capture_sources import CAPTURE_MAGICS
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.run_environment import Environment

_ETHERNET: Final = 1
_RAW: Final = 101
_PAYLOAD: Final = 6  # the payload's place in a segment


def find_packet_payload(data: bytes) -> bytes:
    """The payload where the bytes are a packet (tcpdump -X: from the IP header on, -XX: with Ethernet), else all."""
    if judge_request(data, 0) != NO:
        return data
    for link in (_RAW, _ETHERNET):
        if link == _RAW and data[:1] not in (b"\x45", b"\x46", b"\x60"):
            continue
        segment = Dissector().dissect_packet(LINKS[link], data, 0, len(data), 0, 0, 0)
        if segment is not None:
            carried: bytes = segment[_PAYLOAD]
            return carried
    return data


# Hex dumps


_COLON: Final = re.compile(r"\s*(?:0x)?([0-9a-f]{3,16})(?: <[^>]*>)?:\s+(?=[0-9a-f])(.*)", re.IGNORECASE)
# An address, where debuggers begin a dump: 0x16fdff3a0. Their bytes may have 0x as well.
_ADDRESS: Final = re.compile(r"\s*0x[0-9a-f]{8,16}(?: <[^>]*>)?:\s", re.IGNORECASE)
_PREFIXED_BYTE: Final = re.compile(r"\b0x(?=[0-9a-f]{2}\b)", re.IGNORECASE)
_BARE: Final = re.compile(r"\s*([0-9a-f]{4,16})(\s+)((?:[0-9a-f]{2}|\*\*)(?:\s.*)?)", re.IGNORECASE)
_END: Final = re.compile(r"\s*(?:0x)?[0-9a-f]{6,16}:?\s*", re.IGNORECASE)
_BESIDE: Final = re.compile(r"\s+[|>].*[|<]?\s*$")
_PAIR: Final = re.compile(r"[0-9a-f]{2}|\*\*", re.IGNORECASE)
_GROUP: Final = re.compile(r"(?:[0-9a-f]{2})+", re.IGNORECASE)
# A repeated line stands for as many bytes as the one before it had.
_SQUEEZED: Final = "*"
# The most bytes that a `*` may stand for.
REPEATED_MAX: Final = 1 << 24


def parse_hex_dump(dump_text: str) -> list[bytes] | None:
    """The runs of bytes of a dump; None where the text is no dump. Raises Failure where bytes of it are missing.

    Dumps are those of xxd, hexdump -C, od, tcpdump -X, PowerShell, debuggers, and kw's own hex view. A line has an
    offset, bytes, and beside them text that is not read: the bytes as text, names and values. Offsets must go on where
    the line before ended; an offset of 0 begins another run of bytes. Debuggers begin at an address in place of 0.
    """
    runs: list[bytearray] = []
    squeezed = False
    address = 0
    last = b""
    for number, line in enumerate(dump_text.splitlines(), 1):
        found = _parse_dump_line(line)
        if found is None:
            if line.strip() == _SQUEEZED and runs and last:
                squeezed = True
            elif not runs and line.strip() and _END.fullmatch(line) is None and _is_bytes_without_offset(line):
                return None
            continue
        at, data = found
        if not runs and _ADDRESS.match(line):
            address = at
        at -= address
        if at == 0 and (not runs or runs[-1]):
            runs.append(bytearray())
        if not runs:
            return None
        run = runs[-1]
        if squeezed and at > len(run):
            _repeat_dump_line(run, last, at)
        if at != len(run):
            raise Failure(
                f"line {number} of the dump begins at byte {at:#x}, and the bytes before it end at {len(run):#x}"
            )
        squeezed = False
        run += data
        last = data
    if squeezed and runs and (end := _parse_last_dump_offset(dump_text)) is not None and end > len(runs[-1]):
        _repeat_dump_line(runs[-1], last, end)
    return [bytes(run) for run in runs if run] or None


def _is_bytes_without_offset(line: str) -> bool:
    """Whether a line is bytes without an offset, and no head that numbers columns: then the text is no dump."""
    columns = [f"{column:02x}" for column in range(len(line.split()))]
    if line[:1] == " " and len(columns) >= 8 and line.lower().split() == columns:
        return False
    return re.fullmatch(r"[\s0-9a-fx,:\\]+", line, re.IGNORECASE) is not None


def _parse_dump_line(line: str) -> tuple[int, bytes] | None:
    """Offset and bytes of one line of a dump; None where the line has none. Raises Failure at hidden bytes."""
    match = _COLON.fullmatch(line)
    if match is not None:
        cells = match[2].replace("\t", " ") if _ADDRESS.match(line) else match[2]
        groups = re.split(r"\s{2,}", _BESIDE.sub("", _PREFIXED_BYTE.sub("", cells)))[0].split()
        if not all(map(_GROUP.fullmatch, groups)):
            return None
        return int(match[1], 16), bytes.fromhex("".join(groups))
    match = _BARE.fullmatch(line)
    if match is None or (len(match[2]) == 1 and len(match[1]) < 6):
        return None
    # Two blanks separate the halves of a line; more than two separate the bytes from other text.
    words = re.split(r"\s{3,}", _BESIDE.sub("", match[3]))[0].split()
    pairs: list[str] = []
    for word in words:
        if _PAIR.fullmatch(word) is None:
            break
        pairs.append(word)
    if "**" in pairs:
        raise Failure("the dump has hidden bytes (**): make it again with --reveal-secrets")
    return (int(match[1], 16), bytes.fromhex("".join(pairs))) if pairs else None


def _repeat_dump_line(dumped: bytearray, last: bytes, end: int) -> None:
    if end - len(dumped) > REPEATED_MAX:
        raise Failure(f"a line of the dump is repeated for too many bytes: {format_bytes(end - len(dumped))}")
    while len(dumped) < end:
        dumped += last[: end - len(dumped)]


def _parse_last_dump_offset(text: str) -> int | None:
    line = text.rstrip().rpartition("\n")[2].strip().rstrip(":")
    return int(line, 16) if _END.fullmatch(line) else None


# Inputs of the command line


# The largest input: some frames of the largest size, as hex.
INPUT_MAX: Final = 4 * FRAME_MAX
STANDARD_INPUT: Final = "standard input"
_PIECE: Final = 1 << 20
_SIZE: Final = 4
_COLORS: Final = re.compile(r"\x1b\[[0-9;]*m")


class InputBytes(NamedTuple):
    """Bytes, and their name in diagnoses; `text` is the text that they were written as, if any.

    `problem` is why the text of one line among others stands for no bytes.
    """

    name: str
    data: bytes
    text: str = ""
    problem: str = ""


def gather_input_bytes(
    words: Sequence[str], env: Environment, form: str, *, any_text: bool = False
) -> Iterator[InputBytes]:
    """The bytes of all words: `-`, `@FILE` and names of files are read, all others are bytes as text.

    Raises Failure where one cannot be read; with `any_text`, text that stands for no bytes is no failure.
    """
    texts: list[str] = []
    for word in words or ("-",):
        if word == "-":
            yield from _read_standard_input(env, form, any_text)
        elif word.startswith("@") or os.path.isfile(word):
            name = word.removeprefix("@")
            yield from split_inputs_in_bytes(_read_file(name), name, form, any_text=any_text)
        else:
            texts.append(word)
    if texts:
        yield from split_inputs_in_text(" ".join(texts), "", "hex" if form == "raw" else form, any_text=any_text)


def _read_standard_input(env: Environment, form: str, any_text: bool) -> Iterator[InputBytes]:
    """The bytes on standard input; where the first line is a whole message, each line as it comes."""
    if env.stdin_terminal:
        raise Failure("no bytes: give them as hex or base64, a file, or on standard input (-)", Exit.USAGE)
    pieces = _read_standard_input_pieces(env)
    head = b""
    while b"\n" not in head and (piece := next(pieces, b"")):
        head += piece
    if form == "raw" or not _is_one_whole_frame(head.partition(b"\n")[0], form):
        yield from split_inputs_in_bytes(b"".join([head, *pieces]), STANDARD_INPUT, form, any_text=any_text)
        return
    number = 0
    for more in chain((b"",), pieces, (b"\n",)):  # the last line may lack its end
        *lines, head = (head + more).split(b"\n")
        for line in lines:
            number += 1
            text = line.decode("utf-8", "replace").strip()
            if text:
                yield _decode_input_line(text, f"{STANDARD_INPUT}, line {number}", form)


def _is_one_whole_frame(line: bytes, form: str) -> bool:
    """Whether a line is bytes that are exactly one frame with its size field."""
    text = _decode_text_or_none(line)
    data = None if text is None or _parse_any_dump(text) is not None else decode_notation(text, form)
    return data is not None and len(data) > _SIZE and int.from_bytes(data[:_SIZE], "big") == len(data) - _SIZE


def _decode_input_line(text: str, name: str, form: str, *, any_text: bool = False) -> InputBytes:
    """The bytes that a line is, or the longest run of bytes in it; with `any_text` a line is then text."""
    data = decode_notation(text, form)
    if data is None and form == "auto" and not any_text:
        data = find_bytes_in_line(text)
    return (
        InputBytes(name, b"", text, explain_undecodable_text(text, form))
        if data is None
        else InputBytes(name, data, text)
    )


def split_inputs_in_bytes(data: bytes, name: str, form: str, *, any_text: bool = False) -> list[InputBytes]:
    """The runs of bytes in a file or standard input: what its text stands for, or the bytes themselves."""
    if data[:4] in CAPTURE_MAGICS and form in ("auto", "raw"):
        where = "-" if name == STANDARD_INPUT else name
        raise Failure(f"{name}: a capture, not a message: give it to kw sniff: kw sniff {where}")
    if not data.strip():
        raise Failure(f"{name}: empty: there is no message in it")
    text = _decode_text_or_none(data) if form != "raw" else None
    if text is None:
        if form in ("hex", "base64"):
            raise Failure(f"{name}: not {form}: there are bytes in it that are no text")
        return [InputBytes(name, data)]
    return split_inputs_in_text(text, name, form, any_text=any_text)


def split_inputs_in_text(text: str, name: str, form: str, *, any_text: bool = False) -> list[InputBytes]:
    """The runs of bytes that a text stands for: a dump, or hex or base64 with a message a line. Raises Failure."""
    text = _COLORS.sub("", text)
    if form != "auto" or any_text:
        return _split_by_usual_notations(text, name, form, any_text=any_text)
    refusal, found = None, list[InputBytes]()
    try:
        found = _split_by_usual_notations(text, name, form)
    except Failure as failure:
        refusal = failure.with_traceback(None)
    if found and all(is_whole_message(each.data) for each in found):
        return found
    others = [(find_packet_payload(data), sure) for data, sure in decode_by_rare_notations(text)]
    whole = next((data for data, _ in others if is_whole_message(data)), None)
    if whole is None and refusal is not None:
        whole = next((data for data, sure in others if sure), None)
    if whole is not None:
        return [InputBytes(name, whole, text)]
    if refusal is not None:
        raise refusal
    return found


def _split_by_usual_notations(text: str, name: str, form: str, *, any_text: bool = False) -> list[InputBytes]:
    """The runs of bytes that a text stands for by the notations that all programs share. Raises Failure."""
    if form in ("auto", "hex"):
        runs = _parse_any_dump(text)
        if runs is not None:
            found = [find_packet_payload(run) for run in runs]
            return [
                InputBytes(_append_number_to_name(name, number, len(runs)), run)
                for number, run in enumerate(found)
                if run
            ]
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise Failure("no bytes: there is nothing but blanks", Exit.FAILURE if name else Exit.USAGE)
    whole = decode_notation("\n".join(lines), form)
    parts = [decode_notation(line, form) for line in lines]
    goes_on = all(line.rstrip().endswith("\\") for line in lines[:-1])  # as a C compiler reads it
    if len(lines) > 1 and whole is not None and (goes_on or _is_one_wrapped_message(whole, parts)):
        return [InputBytes(name, whole, text)]
    if len(lines) == 1:
        only = _decode_input_line(lines[0], name, form, any_text=any_text)
        if only.problem and not any_text:
            lead = f"{name}: " if name else ""
            raise Failure(lead + only.problem, Exit.FAILURE if name else Exit.USAGE)
        return [only]
    lead = f"{name}, " if name else ""
    return [
        _decode_input_line(line, f"{lead}line {number}", form, any_text=any_text)
        for number, line in enumerate(lines, 1)
    ]


def _parse_any_dump(text: str) -> list[bytes] | None:
    """The runs of bytes of a dump, of od in a form of its own too; None where the text is no dump. Raises Failure."""
    text = unwrap_netty_table(text)
    try:
        runs = parse_hex_dump(text)
    except Failure:
        other = parse_od_dump(text)
        if other is None:
            raise
        return [other]
    if runs is None and (other := parse_od_dump(text)) is not None:
        return [other]
    return runs


def _is_one_wrapped_message(whole: bytes, parts: list[bytes | None]) -> bool:
    """Whether lines are one message that was wrapped: the size field in the first line is larger than the line."""
    first = parts[0]
    if first is None or None in parts:
        return True
    size = int.from_bytes(first[:4], "big")
    return len(first) >= 4 and size > len(first) - 4 and size <= len(whole) - 4


def _append_number_to_name(name: str, number: int, count: int) -> str:
    if count == 1:
        return name
    return f"{name}, message {number + 1}" if name else f"message {number + 1}"


def _decode_text_or_none(data: bytes) -> str | None:
    """The bytes as text; None where they are no text, as frames, which begin with zeros."""
    if b"\0" in data[:1024]:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if all(each.isprintable() or each in "\t\r\n\x1b" for each in text[:4096]) else None


def _read_standard_input_pieces(env: Environment) -> Iterator[bytes]:
    """The pieces of standard input as they come. Raises Failure behind INPUT_MAX bytes."""
    size = 0
    while piece := env.stdin.read1(_PIECE):
        size += len(piece)
        if size > INPUT_MAX:
            raise Failure(f"{STANDARD_INPUT}: more than {INPUT_MAX >> 20} MiB")
        yield piece


def _read_file(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            data = file.read(INPUT_MAX + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise Failure(f"{name}: {reason}") from None
    if len(data) > INPUT_MAX:
        raise Failure(f"{name}: more than {INPUT_MAX >> 20} MiB")
    return data
