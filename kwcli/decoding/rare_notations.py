"""Text in a notation that is rare, or that looks like another one, in; the bytes that it may stand for out.

Debuggers, compilers and tools write bytes in more ways than one grammar has room for, and some look like others: `\\12`
is a byte of 10 in C and of 12 in Lua. So each reading is one function from a text to bytes, or to None where the text
has another form. The caller believes a reading if its bytes are a whole message; if it is sure, and nothing else reads
the text, without that, too.
"""

from __future__ import annotations

import binascii
import re
from base64 import b32decode, b64decode
from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["TEXT_MAX", "decode_by_rare_notations"]

# Longer texts are captures of something else.
TEXT_MAX: Final = 1 << 20
# Fewer bytes are no message.
_LEAST: Final = 8
_CHARACTER: Final = r"'(?:\\x[0-9a-f]{2}|\\[0-7]{1,3}|\\.|[^'\\])'"


def decode_by_rare_notations(text: str) -> Iterator[tuple[bytes, bool]]:
    """The bytes that a text may stand for, by each reading that takes it, and whether it is sure that it is bytes."""
    if len(text) > TEXT_MAX:
        return
    for readings, sure in ((SURE, True), (LIKELY, False)):
        for read in readings:
            data = read(text.strip("\r\n"))
            if data is not None and len(data) >= _LEAST:
                yield data, sure


# Lists


# What stands before, around and behind a number, and the number alone.
_DECORATIONS: Final = (
    (re.compile(r"\(\s*(?:const )?(?:unsigned |signed )?(?:char|s?byte|u?int8_t|u8|i8)\s*\)\s*", re.IGNORECASE), ""),
    (re.compile(r"\b(?:\w+::)?byte\s*[{(]\s*(0x[0-9a-f]{1,2}|\d{1,3})\s*[})]", re.IGNORECASE), r"\1"),
    (re.compile(r"(?:&H|(?<!\w)\$)([0-9a-f]{1,2})\b", re.IGNORECASE), r"0x\1"),
    (re.compile(r"(?<!\w)0?([0-9a-f]{2})h\b", re.IGNORECASE), r"0x\1"),
    (re.compile(r"\b0b([01]{8})\b"), lambda match: f"0x{int(match[1], 2):x}"),
    (re.compile(r"&#x([0-9a-f]{1,2});", re.IGNORECASE), r"0x\1,"),
    (re.compile(r"&#(\d{1,3});"), r"\1,"),
    (re.compile(r"\b(0x[0-9a-f]{1,2}|\d{1,3})(?:uy|u8|i8|ul?|l)\b", re.IGNORECASE), r"\1"),
    # gdb writes each number as a character, too, and equal ones in a row once.
    (
        re.compile(rf"(-?\b\d{{1,3}}) {_CHARACTER} <repeats (\d{{1,5}}) times>", re.IGNORECASE),
        lambda match: ", ".join([match[1]] * int(match[2])),
    ),
    (re.compile(rf"(-?\b\d{{1,3}}) {_CHARACTER}", re.IGNORECASE), r"\1"),
    (re.compile(r"[;\n]"), ","),
)
_ITEMS: Final = re.compile(r"-?(?:0x[0-9a-f]{1,2}|\d{1,3})(?:[\s,]+-?(?:0x[0-9a-f]{1,2}|\d{1,3}))*", re.IGNORECASE)
_LIST_LEAD: Final = re.compile(r"[^\[{(]*[\[{(|\s]*|(?:\.?byte|\.?db|bytes|data)\s*[:=]?\s*", re.IGNORECASE)
_BITS: Final = re.compile(r"[01]{8}(?:[\s,]+[01]{8})+")
_HEX_ITEMS: Final = re.compile(r"[\[{(]\s*([0-9a-f]{1,2}(?:\s*,\s*[0-9a-f]{1,2})+)\s*[\]})]", re.IGNORECASE)
_C_OCTAL: Final = re.compile(r"[^\[{(]*[\[{(]?\s*(0[0-7]{0,3}(?:\s*,\s*0[0-7]{0,3})+)\s*[\]})]?\s*;?")
_OCTALS: Final = re.compile(r"[0-7]{1,3}(?:[\s,]+[0-7]{1,3})+")
_SEPARATED: Final = re.compile(r"\W?[0-9a-f]{2}(?:([|_.;/\\])[0-9a-f]{2})(?:\1[0-9a-f]{2})+\W?", re.IGNORECASE)


def _read_decorated_list(text: str) -> bytes | None:
    """Numbers with casts, suffixes, prefixes and separators of a language: `(char) 0x4D`, `77uy`, `&H4D`, `4Dh`."""
    plain = text
    for pattern, instead in _DECORATIONS:
        plain = pattern.sub(instead, plain)
    found = max(_ITEMS.finditer(plain), key=lambda match: len(match[0]), default=None)
    if found is None or not _LIST_LEAD.fullmatch(plain[: found.start()]):
        return None
    if re.search(r"\w", plain[found.end() :]):
        return None
    return _convert_numbers_of_base_to_bytes(re.split(r"[\s,]+", found[0]), 0)


def _read_binary_numbers(text: str) -> bytes | None:
    return (
        _convert_numbers_of_base_to_bytes(re.split(r"[\s,]+", text.strip()), 2)
        if _BITS.fullmatch(text.strip())
        else None
    )


def _read_bare_hex_list(text: str) -> bytes | None:
    """Rust's {:x?}: hex numbers without a zero in front, at least one of which is no decimal number."""
    found = _HEX_ITEMS.search(text)
    return (
        _convert_numbers_of_base_to_bytes(re.split(r"\s*,\s*", found[1]), 16)
        if found and re.search("[a-f]", found[1], re.IGNORECASE)
        else None
    )


def _read_octal_array(text: str) -> bytes | None:
    found = _C_OCTAL.fullmatch(text.strip())
    return (
        _convert_numbers_of_base_to_bytes(re.split(r"\s*,\s*", found[1]), 8)
        if found and re.search(r"\b0\d\d", found[1])
        else None
    )


def _read_octal_numbers(text: str) -> bytes | None:
    return (
        _convert_numbers_of_base_to_bytes(re.split(r"[\s,]+", text.strip()), 8)
        if _OCTALS.fullmatch(text.strip())
        else None
    )


def _read_separated_pairs(text: str) -> bytes | None:
    """Hex pairs with a sign between them: `00|4d`, `00_4d`, `00.4d`, `\\00\\4d`."""
    plain = text.strip()
    return (
        bytes.fromhex("".join(re.findall("[0-9a-f]{2}", plain, re.IGNORECASE))) if _SEPARATED.fullmatch(plain) else None
    )


_INDEXED: Final = re.compile(
    rf"""(?:\[(\d+)\]|"(\d+)"|(?<![\w.])(\d+))\s*(?:=>|:|=)\s*(0x[0-9a-f]{{1,2}}|-?\d{{1,3}}|{_CHARACTER})(?![\w.])""",
    re.IGNORECASE,
)


def _read_indexed_values(text: str) -> bytes | None:
    """Values with their index, from 0 or 1 on: `[0] => 0`, `"1":77`, `[3] = 0x4d`, `[3] = 'M'`."""
    found = [(int(match[1] or match[2] or match[3]), match[4]) for match in _INDEXED.finditer(text)]
    first = found[0][0] if found else -1
    if first not in (0, 1) or [index for index, _ in found] != [*range(first, first + len(found))]:
        return None
    return _convert_numbers_of_base_to_bytes([value for _, value in found], 0)


def _convert_numbers_of_base_to_bytes(words: list[str], base: int) -> bytes | None:
    """The bytes of numbers of a base (0: as their prefixes say) or characters; None where one is no byte."""
    out = bytearray()
    for word in words:
        if word[:1] == "'":
            piece = _read_escapes(word[1:-1], 8)
            if piece is None or len(piece) != 1:
                return None
            out += piece
            continue
        try:
            number = int(word, base or (16 if "x" in word.lower() else 10))
        except ValueError:
            return None
        if not -128 <= number <= 255:
            return None
        out.append(number & 0xFF)
    return bytes(out)


# Strings


_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:x\{([0-9a-f]{1,2})\}|x([0-9a-f]{2})|(\d{1,3})|(&)|(.))", re.IGNORECASE | re.DOTALL)
_LETTERS: Final = {"n": 10, "r": 13, "t": 9, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27}
_BUFFERS: Final = re.compile(r'iov_base="((?:[^"\\]|\\.)*)"')


def _read_escapes(text: str, base: int) -> bytes | None:
    """The bytes of an escaped text whose numbers have this base; None where one is no byte."""
    out = bytearray()
    at = 0
    for match in _ESCAPE.finditer(text):
        out += text[at : match.start()].encode("utf-8", "replace")
        at = match.end()
        braced, pair, digits, nothing, letter = match.groups()
        if braced or pair:
            out.append(int(braced or pair, 16))
        elif digits:
            try:
                number = int(digits, base)
            except ValueError:
                return None
            if number > 0xFF:
                return None
            out.append(number)
        elif not nothing:
            out += bytes((_LETTERS[letter],)) if letter in _LETTERS else letter.encode("utf-8", "replace")
    return bytes(out + text[at:].encode("utf-8", "replace"))


def _read_longest_escaped_string(text: str, base: int) -> bytes | None:
    found = max(_STRING.findall(text), key=len, default="")
    return _read_escapes(found, base) if "\\" in found else None


def _read_perl_string(text: str) -> bytes | None:
    return _read_longest_escaped_string(text, 8) if "\\x{" in text else None


def _read_decimal_string(text: str) -> bytes | None:
    """A string of Lua, Haskell or OCaml, whose escapes are decimal."""
    return _read_longest_escaped_string(text, 10)


def _read_traced_write(text: str) -> bytes | None:
    """The longest string among other words; dtrace writes a zero behind it."""
    data = _read_longest_escaped_string(text, 8)
    return data[:-1] if data is not None and text.startswith(("write(0x", "read(0x", "sendto(0x")) else data


def _read_traced_writev(text: str) -> bytes | None:
    """The buffers of writev, one behind the other, as strace writes them."""
    parts = [_read_escapes(part, 8) for part in _BUFFERS.findall(text)]
    return b"".join(part or b"" for part in parts) if len(parts) > 1 and None not in parts else None


_ARMOR: Final = re.compile(r"\s*-----BEGIN [^-\n]*-----\s+([A-Za-z0-9+/=\s]+?)-----END [^-\n]*-----\s*")
_BASE64_BLOCK: Final = re.compile(r"!!binary\s*\|?\s*([A-Za-z0-9+/=\s]+)")
_BASE32: Final = re.compile("[A-Z2-7]{16,}={0,6}")
_PSQL: Final = re.compile(r"\s*\w+\s*\n-+\n\s*\\x([0-9a-f]+)\s*(?:\n\(\d+ rows?\)\s*)?", re.IGNORECASE)


def _read_base64_block(text: str) -> bytes | None:
    found = _ARMOR.fullmatch(text) or _BASE64_BLOCK.search(text)
    try:
        return b64decode("".join(found[1].split()), validate=True) if found else None
    except binascii.Error:
        return None


def _read_base32(text: str) -> bytes | None:
    packed = "".join(text.split())
    try:
        return b32decode(packed) if _BASE32.fullmatch(packed) else None
    except binascii.Error:
        return None


def _read_psql_bytea(text: str) -> bytes | None:
    found = _PSQL.fullmatch(text)
    return bytes.fromhex(found[1]) if found and len(found[1]) % 2 == 0 else None


# Dumps


# What a line has before its cells: an address, an index of R, the frame of a table, the words of a log.
_LEADS: Final = (
    re.compile(r"\s*[│|]\s*[0-9a-f]{4,16}[│|]\s+", re.IGNORECASE),
    re.compile(r"\s*[0-9a-f]{8}`[0-9a-f]{8}\s+", re.IGNORECASE),
    re.compile(r"\s*0x[0-9a-f]{4,16}(?: <[^>]*>)?:\s+", re.IGNORECASE),
    re.compile(r"\s*\[\d+\]\s+"),
    re.compile(r"\s*[0-9a-f]{1,16}:\s+", re.IGNORECASE),
    re.compile(r"\s+(?=[0-9a-f]{2}(?: |$))", re.IGNORECASE),
    re.compile(r".*?[:\])] (?=(?:[0-9a-f]{2} )*[0-9a-f]{2}\s*$)", re.IGNORECASE),
)
# Cells: their form, and the bytes of one.
_CELLS: Final[tuple[tuple[re.Pattern[str], Callable[[str], bytes | None]], ...]] = (
    (re.compile(r"[01]{8}(?!\w)"), lambda word: bytes((int(word, 2),))),
    (re.compile(r"[0-9a-f]{2}(?![\w'])", re.IGNORECASE), bytes.fromhex),
    (
        re.compile(rf"-?\d{{1,3}} (?={_CHARACTER})", re.IGNORECASE),
        lambda word: _convert_numbers_of_base_to_bytes([word.strip()], 0),
    ),
    (re.compile(r"-?\d{1,3}(?![\w'])"), lambda word: _convert_numbers_of_base_to_bytes([word], 0)),
    (re.compile(r"(?:[0-9a-f]{2}){1,8}(?!\w)", re.IGNORECASE), bytes.fromhex),
)
# Words as a little-endian machine has them.
_WORDS: Final[tuple[tuple[re.Pattern[str], Callable[[str], bytes | None]], ...]] = (
    (
        re.compile(r"(?:0x)?(?:[0-9a-f]{2}){1,8}(?!\w)", re.IGNORECASE),
        lambda word: _decode_hex_reversed(word.removeprefix("0x")),
    ),
)
_BETWEEN_CELLS: Final = re.compile(rf"(?:{_CHARACTER})?[ \t┊-]{{1,5}}", re.IGNORECASE)
# Lines that have no cells: headings, frames of tables, the line of a packet.
_NO_CELLS: Final = re.compile(
    r"[\s┌┬┐├┼┤└┴┘─+-]*|\s*0\s+1\s+2\s+3\s+4\s+5\s+6\s+7\b.*|\s*00\s01\s02\s03\s.*|[TUI#]\s?.*->.*|#+|[\d:.]+ .*Flags.*"
)


def _decode_hex_reversed(word: str) -> bytes:
    return bytes.fromhex(word)[::-1]


def _read_dump_of_bytes(text: str) -> bytes | None:
    """A dump whose lines all have one kind of lead and of cells; offsets are not believed."""
    return _read_rows_with_one_kind_of_cells(text, _CELLS)


def _read_dump_of_words(text: str) -> bytes | None:
    """A dump of words; those of a debugger may reach behind the frame."""
    data = _read_rows_with_one_kind_of_cells(text, _WORDS)
    if data is None:
        return None
    end = 4 + int.from_bytes(data[:4], "big")
    return data[:end] if end <= len(data) < end + 8 else data


def _read_rows_with_one_kind_of_cells(
    text: str, cells: tuple[tuple[re.Pattern[str], Callable[[str], bytes | None]], ...]
) -> bytes | None:
    lines = [line for line in text.splitlines() if not _NO_CELLS.fullmatch(line)]
    if len(lines) < 2:
        return None
    for lead in _LEADS:
        begins = [match.end() if (match := lead.match(line)) else 0 for line in lines]
        if not all(begins):
            continue
        for form, decode in cells:
            data = _read_cells_of_lines(lines, begins, form, decode)
            if data is not None:
                return data
    return None


def _read_cells_of_lines(
    lines: list[str], begins: list[int], form: re.Pattern[str], decode: Callable[[str], bytes | None]
) -> bytes | None:
    """The bytes of all lines. Behind the column where the cells of the first line end there is text."""
    out = bytearray()
    end: int | None = None
    for line, begin in zip(lines, begins, strict=True):
        at, count = begin, 0
        while (match := form.match(line, at)) and (end is None or match.end() <= end):
            piece = decode(match[0])
            if piece is None:
                return None
            out += piece
            count += 1
            at = match.end()
            gap = _BETWEEN_CELLS.match(line, at)
            if gap is None:
                break
            at = gap.end()
        if not count:
            return None
        if end is None and "\t" not in line:
            end = at if at == len(line) else len(line[:at].rstrip())
    return bytes(out)


def _read_one_byte_per_line(text: str) -> bytes | None:
    """A byte on each line, with a heading or without."""
    lines = text.split("\n")
    lines = lines[1:] if re.match(r"\d+-element ", lines[0]) else lines
    words = [line.strip().rstrip(",;") for line in lines if line.strip()]
    return (
        _convert_numbers_of_base_to_bytes(words, 0)
        if len(words) >= _LEAST and all(map(_ITEMS.fullmatch, words))
        else None
    )


# Texts in these forms are bytes; those that the others read may be words, or bytes in another base.
SURE: Final[tuple[Callable[[str], bytes | None], ...]] = (
    *(_read_one_byte_per_line, _read_traced_writev, _read_perl_string, _read_indexed_values, _read_base64_block),
    *(
        _read_psql_bytea,
        _read_dump_of_bytes,
        _read_binary_numbers,
        _read_bare_hex_list,
        _read_separated_pairs,
        _read_octal_array,
    ),
    _read_decorated_list,
)
LIKELY: Final[tuple[Callable[[str], bytes | None], ...]] = (
    *(_read_traced_write, _read_dump_of_words, _read_base32, _read_decimal_string, _read_octal_numbers),
)
