"""Text that programs print for bytes in, the bytes out: hex, lists of numbers, escaped strings, base64.

A text is in one notation as a whole, with what a language puts around it (`[]byte{…}`, `b'…'`, `<Buffer …>`), or holds
bytes among other words, as lines of logs do. Decimal numbers and hex pairs look alike: a list between brackets with a
number of one or three digits is decimal, as Go prints it; pairs with a dash between them are hex, as C# prints them.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from decoders.frames.read_and_judge_headers import YES, judge_request

# The fewest bytes among other words that are worth a look: size, API key, version.
RUN_MIN: Final = 8
# Words of a language around bytes: names, types, sizes, assignments, comments, and what stands behind.
_AROUND: Final = re.compile(
    r"""[\s\w.,;:=&*+!$|<>@/'"-]*(?:\[\w*\]|\(\w*\)|[\s\w.,;:=&*+!$|<>@/'"-])*[{(\[<]*\s*""", re.ASCII
)
_BEHIND: Final = re.compile(r"""[\s\])}>;,'"|]*(?:[\w\s*]+(?:\[\])?\s*=\s*\w+\s*;?)?(?:,\s*[\w ]+:\s*\d+\s*\}?)?\s*""")
_BYTE: Final = r"(?:\(byte\)\s?)?(?:-?0x[0-9a-f]{1,2}|-?\d{1,3})(?:u8|[uUl])?(?![\w.])"
_LIST: Final = re.compile(rf"(?<![\w.:/]){_BYTE}(?:\s*[,\s]\s*{_BYTE})+", re.IGNORECASE)
_NUMBER: Final = re.compile(r"-?0x[0-9a-f]{1,2}|-?\d{1,3}", re.IGNORECASE)
_TYPES: Final = re.compile(r"\(byte\)|u8|[uU]\b|l\b")
_OBJECT: Final = re.compile(r'\{\s*"0"\s*:\s*\d{1,3}(?:\s*,\s*"\d+"\s*:\s*\d{1,3})+\s*\}')
# Erlang's and Elixir's binaries may have strings among the numbers.
_BINARY_ITEM: Final = r"""(?:\d{1,3}|"(?:[^"\\]|\\.)*")"""
_BINARY: Final = re.compile(rf"<<\s*({_BINARY_ITEM}(?:\s*,\s*{_BINARY_ITEM})*)\s*>>", re.ASCII)
_PAIRS: Final = re.compile(r"(?<![\w-])(?:[0-9a-f]{2}-){7,}[0-9a-f]{2}(?![\w-])", re.IGNORECASE)
_GROUPS: Final = re.compile(
    r"(?<![\w.])(?:0x|\\x)?(?:[0-9a-f]{2})+(?:(?:[ :]|, ?|,?\s?0x)(?:[0-9a-f]{2})+)*(?!\w)", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_LITERAL: Final = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")
# gdb writes equal bytes in a row as one: '\000' <repeats 16 times>.
_REPEATED: Final = re.compile(r"'(\\?[^']+)' <repeats (\d{1,5}) times>(?:, )?")
_BARE_ESCAPES: Final = re.compile(r"(?:\\(?:x[0-9a-f]{2}|[0-7]{3})[!-\[\]-~]*)+", re.IGNORECASE)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|([0-7]{1,3})|(.))", re.IGNORECASE | re.DOTALL
)
_LETTERS: Final = {"n": 10, "r": 13, "t": 9, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27}
_PERCENT: Final = re.compile(r"(?:%[0-9a-f]{2}|[\w.~+-])*(?:%[0-9a-f]{2}){2}(?:%[0-9a-f]{2}|[\w.~+-])*", re.IGNORECASE)
_HEX_NOISE: Final = re.compile(r"""\\+x|0x|\b16#|[\s,:;"'\[\](){}<>]|\b[bxe](?=["'])""", re.IGNORECASE)
_HALF_BYTE: Final = re.compile(r"\b(?:0x|16#)([0-9a-f])\b", re.IGNORECASE)
_HEX: Final = re.compile(r"[0-9a-f]*", re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_BASE64_RUN: Final = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/_-]{20,}={0,2}(?![\w+/=])")
_URL_SAFE: Final = str.maketrans("-_", "+/")


def decode_notation(text: str, form: str) -> bytes | None:
    """The bytes that a text stands for as a whole (`form` is `auto`, `hex` or `base64`); None where it is no bytes."""
    if form in ("auto", "hex"):
        for decode in (_decode_decimals, _decode_hex, _decode_dashed_pairs):
            data = decode(text)
            if data is not None:
                return data
    # Words with blanks between them are a sentence; base64 has at most line ends in it.
    if form == "base64" or (form == "auto" and " " not in text.strip()):
        data = _decode_base64(text, certain=form == "base64")
        if data is not None:
            return data
    return _decode_string_literals(text) if form == "auto" else None


def find_bytes_in_line(line: str) -> bytes | None:
    """The bytes among the words of a line: a whole Kafka frame if there is one, else the longest run; None without."""
    runs = [run for run in _find_runs_of_bytes(line) if len(run) >= RUN_MIN]
    return max(runs, key=lambda run: (is_whole_message(run), len(run)), default=None)


def explain_undecodable_text(text: str, form: str) -> str:
    """Why a text stands for no bytes: the mistake in it, if it is hex but for that."""
    digits = _HEX_NOISE.sub("", text)
    if form != "base64" and _HEX.fullmatch(digits):
        return f"an odd number of hex digits ({len(digits)})"
    if form != "base64" and sum(map(digits.count, "0123456789abcdefABCDEF")) > len(digits) * 3 // 4:
        at = next(place for place, each in enumerate(digits) if each not in "0123456789abcdefABCDEF")
        return f"not hex: {digits[at : at + 8]!r} behind {at} digits"
    shown = text if len(text) <= 24 else text[:24] + "…"
    wanted = {"hex": "hex", "base64": "base64"}.get(form, "hex nor base64, and no file")
    return f"{shown!r} is {'not' if form in ('hex', 'base64') else 'neither'} {wanted}"


def is_request(data: bytes) -> bool:
    """Whether bytes are a request of Kafka that decodes to its end, with or without the size field."""
    return judge_request(data, 0) == YES or judge_request(len(data).to_bytes(4, "big") + data, 0) == YES


def is_whole_message(data: bytes) -> bool:
    """Whether bytes are messages as long as their size fields say, or a request without its size field."""
    at = 0
    while len(data) - at >= RUN_MIN and int.from_bytes(data[at : at + 4], "big") <= len(data) - at - 4:
        at += 4 + int.from_bytes(data[at : at + 4], "big")
    return at == len(data) > 0 or judge_request(len(data).to_bytes(4, "big") + data, 0) == YES


# The notations of a whole text


def _decode_hex(text: str) -> bytes | None:
    digits = _HEX_NOISE.sub("", _HALF_BYTE.sub(r"0\1", text))
    if digits and _HEX.fullmatch(digits) and len(digits) % 2 == 0:
        return bytes.fromhex(digits)
    return None


def _decode_dashed_pairs(text: str) -> bytes | None:
    return bytes.fromhex(text.strip().replace("-", "")) if _PAIRS.fullmatch(text.strip()) else None


def _decode_base64(text: str, *, certain: bool) -> bytes | None:
    packed = re.sub(r"""[\s"']""", "", text)
    if not _BASE64.fullmatch(packed) or (not certain and _is_mistyped_hex(packed)):
        return None
    bare = packed.rstrip("=")
    try:
        return b64decode(bare.translate(_URL_SAFE) + "=" * (-len(bare) % 4), validate=True)
    except binascii.Error:
        return None


def _is_mistyped_hex(text: str) -> bool:
    """Whether nearly all of a text is hex digits: then it is hex with a mistake in it, and no base64."""
    return len(text) >= 8 and sum(map(text.lower().count, "0123456789abcdef")) > len(text) * 0.8


def _decode_decimals(text: str) -> bytes | None:
    """A list of numbers with the words of a language around it; None where its numbers may as well be hex pairs."""
    plain = _COMMENT.sub(" ", text).strip()
    found = _OBJECT.fullmatch(plain)
    if found is not None:
        return _convert_numbers_to_bytes(re.findall(r":\s*(\d+)", plain))
    binary = _BINARY.search(plain) if '"' in plain else None
    if binary is not None:
        return _decode_numbers_and_strings(binary[1])
    longest = max(_LIST.finditer(plain), key=lambda match: len(match[0]), default=None)
    if longest is None or not _is_code_around(plain[: longest.start()], plain[longest.end() :]):
        return None
    bracketed = _is_bracketed(plain, longest.start())
    if not bracketed and longest[0] == plain and len(plain.split()) >= RUN_MIN:
        bracketed = any(len(word) == 1 for word in plain.split())  # od -An -tu1: no pair of hex digits has one digit
    return _decode_number_list(longest[0], bracketed=bracketed)


def _decode_numbers_and_strings(items: str) -> bytes | None:
    """The bytes of numbers and strings with commas between them."""
    parts = [
        _unescape_bytes(item[1:-1]) if item[0] == '"' else _convert_numbers_to_bytes([item])
        for item in re.findall(_BINARY_ITEM, items)
    ]
    return None if None in parts else b"".join(part or b"" for part in parts)


def _is_code_around(before: str, behind: str) -> bool:
    """Whether what stands around a list are the words of a language, and no sentence of a log."""
    lead = before.rstrip()
    if re.fullmatch(r"""\s*\{\s*"type"\s*:\s*"Buffer"\s*,\s*"data"\s*:\s*\[""", lead) and behind.strip() == "]}":
        return True
    return (
        len(before) <= 120
        and (not lead or lead[-1] in "[{(<" or lead == "b")
        and _AROUND.fullmatch(before) is not None
        and _BEHIND.fullmatch(behind) is not None
    )


def _is_bracketed(text: str, at: int) -> bool:
    return text[:at].rstrip()[-1:] in ("[", "{", "(", "<") and bool(text[:at].strip())


def _decode_number_list(text: str, *, bracketed: bool) -> bytes | None:
    """The bytes of a list of numbers; None where they are pairs of hex digits."""
    words = _NUMBER.findall(_TYPES.sub("", text))
    if any("x" in word.lower() for word in words):
        return _convert_numbers_to_bytes(words)
    plain = [word.lstrip("-") for word in words]
    commas = "," in text
    if all(len(word) == 2 for word in plain) and not any(word[0] == "-" for word in words):
        return None
    if not commas and (not bracketed or any(len(word) == 2 and word[0] == "0" for word in plain)):
        return None
    if all(len(word) == 3 for word in plain) and any(word[0] == "0" for word in plain):
        return None  # octal or hex groups
    return _convert_numbers_to_bytes(words)


def _convert_numbers_to_bytes(words: list[str]) -> bytes | None:
    numbers = [int(word, 16) if "x" in word.lower() else int(word) for word in words]
    return bytes(number & 0xFF for number in numbers) if all(-128 <= number <= 255 for number in numbers) else None


def _decode_string_literals(text: str) -> bytes | None:
    """Escaped strings of a language, one or several with blanks or + between them; text with \\x00 and no quotes."""
    plain = text.strip()
    if "\\" not in plain and "%" not in plain:
        return None
    if _PERCENT.fullmatch(plain):
        return re.sub(rb"%(..)", lambda match: bytes.fromhex(match[1].decode()), plain.encode("ascii", "replace"))
    if plain[0] == "\\":
        return _unescape_bytes(plain)
    opened = re.match(r"""(?:[\w.&\[\]*:= ]*\(?\s*)?[bBeE$]?(?=["'])""", plain)
    if opened is None:
        return None
    rest = plain[opened.end() :]
    parts: list[bytes] = []
    while rest:
        repeated = _REPEATED.match(rest)
        literal = _LITERAL.match(rest) if repeated is None else repeated
        if literal is None:
            break
        piece = _unescape_bytes(literal[0][1:-1]) if repeated is None else _repeat_escaped_text(repeated)
        if piece is None:
            return None
        parts.append(piece)
        rest = re.sub(r"""^[\s+,\\]*[bB]?(?=["'])""", "", rest[literal.end() :])
    return b"".join(parts) if parts and re.fullmatch(r"[)\]\s;,\\]*", rest) else None


def _repeat_escaped_text(repeated: re.Match[str]) -> bytes | None:
    piece = _unescape_bytes(repeated[1])
    return None if piece is None else piece * int(repeated[2])


def _unescape_bytes(text: str) -> bytes | None:
    """The bytes of an escaped text; None where an escape stands for no byte.

    `\\0` and two more digits are octal in C, Python and strace; Rust, which has no octal, means a zero and two digits.
    """
    escapes = [match[4] for match in _ESCAPE.finditer(text) if match[4]]
    octal = any(digits[0] != "0" or len(digits) == 3 for digits in escapes) and not (
        "\\x" in text and all(digits[0] == "0" for digits in escapes)
    )
    out = bytearray()
    at = 0
    for match in _ESCAPE.finditer(text):
        out += text[at : match.start()].encode("utf-8", "replace")
        at = match.end()
        byte, four, braced, digits, letter = match.groups()
        if byte:
            out.append(int(byte, 16))
        elif four or braced:
            point = int(four or braced, 16)
            if point > 0x10FFFF:
                return None
            out += bytes((point,)) if point < 0x100 else chr(point).encode("utf-8", "replace")
        elif digits:
            if int(digits, 8) > 0xFF:
                return None
            out += bytes((int(digits, 8),)) if octal else b"\0" + digits[1:].encode()
        elif letter in _LETTERS:
            out.append(_LETTERS[letter])
        elif letter != "\n":
            out += letter.encode("utf-8", "replace")
    return bytes(out + text[at:].encode("utf-8", "replace"))


# Bytes among other words


def _find_runs_of_bytes(line: str) -> Iterator[bytes]:
    """The runs of bytes in a line, in every notation."""
    for match in _GROUPS.finditer(line):
        digits = _HEX_NOISE.sub("", match[0])
        if len(digits) % 2 == 0 and _HEX.fullmatch(digits):
            yield bytes.fromhex(digits)
    for match in _PAIRS.finditer(line):
        yield bytes.fromhex(match[0].replace("-", ""))
    for match in _LIST.finditer(line):
        data = _decode_number_list(match[0], bracketed=_is_bracketed(line, match.start()))
        if data is not None:
            yield data
    for match in (*_LITERAL.finditer(line), *_BARE_ESCAPES.finditer(line)):
        if "\\" in match[0]:
            data = _unescape_bytes(match[0].strip("\"'"))
            if data is not None:
                yield data
    for match in _BASE64_RUN.finditer(line):
        data = _decode_base64(match[0], certain=False)
        if data is not None and is_whole_message(data):
            yield data
