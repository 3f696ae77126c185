"""The first bytes of keys and values in; which of them may be encoded, in a form of value_decoder.py, out.

The problem. Most keys and values are text, numbers or random bytes. A line of Python for each of them takes one in a
hundred of all that is done to show a record.

The idea. The keys of a chunk of rows, and its values, are looked at together: the set of their first bytes shows of
most chunks that nothing in them has a form (`JsonRecords`). Else a regular expression looks at each whose first byte
may be that of a form; and where records come otherwise, each value is looked at. What always holds: a value with a form
passes all looks; decoding decides about what passes.
"""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, compress
from operator import itemgetter
from typing import Any, Final

from decoders.named_tuple import NamedTuple

__all__ = [
    "FIRST_BYTES",
    "JsonRecords",
    "begins_as_binary_json",
    "has_header_of_form",
    "list_parts_that_may_be_encoded",
    "may_be_encoded",
    "may_have_header_of_form",
]

# Texts have no control characters but tabs and line ends. All of these but `x` (zlib) begin JSON, or white space does.
_FIRST_CHARACTERS: Final = frozenset('\t\n\r "[{x')
_ZLIB_IN_TEXT: Final = range(0x680, 0x6C0)  # what `x` and a byte 0xDA may be the beginning of
_CONTENT_TYPE: Final = "content-type"
# The headers that name a form, or a schema.
_HEADERS_OF_FORMS: Final = frozenset(
    [
        *("__key_schema_id", "__value_schema_id", "ce_specversion", _CONTENT_TYPE),
        *(f"apicurio.{part}.{kind}" for part in ("key", "value") for kind in ("contentId", "globalId")),
    ]
)
# Each of these names has one of these parts; some are looked for only where there is a "_", which is found faster.
_IN_NAMES_WITH_LOW_LINE: Final = b"_schema_id", b"ce_specversion"
_IN_OTHER_NAMES: Final = _CONTENT_TYPE.encode(), b"apicurio."
_CLOUD_EVENTS: Final = "application/cloudevents"
_HEAD: Final = 24  # characters of base64 that are looked at
_TAGS: Final = frozenset(number << 3 | wire for number in (1, 2, 3) for wire in (0, 1, 2, 5))
# Longer marks than two bytes.
_MARKS: Final = (
    *(b"Obj\x01", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"),
    *(b"\x82SNAPPY\0", b"\xd9\xd9\xf7", b"\x78\x01", b"\x78\x9c", b"\x78\xda"),
)
# Ids begin at 1 and count up; a larger number than this is no id of a registry.
SCHEMA_ID_MAX: Final = 10**7
_GUID_SIZE: Final = 17
_GLUE_SIZE: Final = 18
_LEAST_MESSAGE: Final = 8
_LEAST_BINARY_JSON: Final = 4


class _BinaryJson(NamedTuple):
    """How values begin in one of both forms.

    `places`: first byte → where the first key, or the first map of an array, begins, and whether it is that of an
    array. Then the bytes that begin a map of a few pairs, one of more, a short text, a long one.
    """

    places: dict[int, tuple[int, bool]]
    maps: range
    long_maps: frozenset[int]
    texts: range
    long_texts: frozenset[int]


_MSGPACK: Final = _BinaryJson(
    {
        **dict.fromkeys(range(0x81, 0x90), (1, False)),
        **dict.fromkeys(range(0x91, 0xA0), (1, True)),
        0xDC: (3, True),
        0xDD: (5, True),
        0xDE: (3, False),
        0xDF: (5, False),
    },
    range(0x81, 0x90),
    frozenset({0xDE, 0xDF}),
    range(0xA1, 0xC0),
    frozenset(range(0xD9, 0xDC)),
)
_CBOR: Final = _BinaryJson(
    {
        major | more: (at, major == 0x80)
        for major in (0x80, 0xA0)
        for more, at in (*((each, 1) for each in range(1, 24)), (24, 2), (25, 3), (26, 5), (27, 9), (31, 1))
    },
    range(0xA1, 0xB8),
    frozenset({*range(0xB8, 0xBC), 0xBF}),
    range(0x61, 0x78),
    frozenset({*range(0x78, 0x7C), 0x7F}),
)
_get_first: Final = itemgetter(0)
_ZERO: Final = {0}
# A column of rows: all of it, what of it is not empty, and that joined.
Column = tuple[Sequence[bytes | None], Sequence[bytes], bytes]

# How keys and values begin that may have a form.
_TWO: Final = rb"(?:[\x20-\x7e][\x20-\x7e\xc2-\xf4]|[\xc2-\xf4][\x80-\xbf])"
_KEY_OF_MSGPACK: Final = rb"(?:\xa1[\x20-\x7e]|[\xa2-\xbf]" + _TWO + rb"|[\xd9-\xdb])"
_KEY_OF_CBOR: Final = rb"(?:\x61[\x20-\x7e]|[\x62-\x77]" + _TWO + rb"|[\x78-\x7b\x7f])"
_MAP_OF_MSGPACK: Final = rb"(?:[\x81-\x8f]" + _KEY_OF_MSGPACK + rb"|[\xde\xdf])"
_MAP_OF_CBOR: Final = rb"(?:[\xa1-\xb7]" + _KEY_OF_CBOR + rb"|[\xb8-\xbb\xbf])"
_TAG: Final = (
    b"(?:["
    + b"".join(b"\\x%02x" % tag for tag in range(8, 128) if tag & 7 in (0, 1, 2, 5))
    + b"]|["
    + b"".join(b"\\x%02x" % tag for tag in range(128, 256) if tag & 7 in (0, 1, 2, 5))
    + rb"][\x01\x02]|\Z)"
)
_BEYOND_JSON: Final = b"|".join(
    [
        rb"\x00(?!\x00{4})\x00[\x00-\x98]..",  # an id
        rb"\x00{6}[\x00-\x98].{3}",  # one of 8 bytes
        rb"\x01.{16}",
        rb"\x03[\x00\x05].{6}[\x40-\x4f].[\x80-\xbf]",
        rb"\xc3\x01",
        *map(re.escape, _MARKS),
        rb"[\x08\x10\x18\x20][\x80-\xff]{0,9}[\x00-\x7f]" + _TAG,
        rb"[\x09\x11\x19].{8}" + _TAG,
        rb"[\x0d\x15\x1d].{4}" + _TAG,
        rb"[\x0a\x12\x1a].",
        rb"[\t\n\r ]\s*[\[{]",
        rb"[\x81-\x8f](?:" + _KEY_OF_MSGPACK + b"|" + _MAP_OF_CBOR + b")",
        rb"[\x90-\x97\x9f](?:" + _MAP_OF_MSGPACK + b"|" + _MAP_OF_CBOR + b")",
        rb"[\x98-\x9e](?:" + _MAP_OF_MSGPACK + rb"|.{1,8}?" + _MAP_OF_CBOR + b")",
        rb"[\xa1-\xb7\xbf]" + _KEY_OF_CBOR,
        rb"[\xb8-\xbb].{1,8}?" + _KEY_OF_CBOR,
        rb"(?:\xdc..|\xdd....)" + _MAP_OF_MSGPACK,
        rb"(?:\xde..|\xdf....)" + _KEY_OF_MSGPACK,
    ]
)
# JSON has no other control characters than tabs and line ends.
_JSON: Final = rb"[{\[\x22](?:[\t\n\r\x20-\xff]{8}|[\t\n\r\x20-\xff]{0,7}\Z)"
_FIRST_OF_JSON: Final = frozenset(b'{["')
FIRST_BYTES: Final = frozenset(
    [
        *(0x00, 0x01, 0x03, 0x04, 0x1F, 0x28, 0x4F, 0x78, 0xC3, 0xD9),
        *_TAGS,
        *b'\t\n\r "[{',
        *range(0x81, 0xC0),
        *range(0xDC, 0xE0),
    ]
)
# Numbers of 64 bits; an id of 8 bytes has more behind it, and a 0 before it.
_SIZE_OF_LONG: Final = {8}
_LONG_ID_SIZE: Final = 9
# What all JSON has that is more: the names of members, or escapes of their letters.
_SAYS_MORE: Final = (b'"payload"', b'"specversion"', b"\\u006", b"\\u007")
_SAYS_MORE_IN_TEXT: Final = tuple(each.decode() for each in _SAYS_MORE)


@cache
def _compile_form_matcher() -> Callable[[bytes], re.Match[bytes] | None]:
    """What says whether bytes begin as a form does; most captures do without."""
    return re.compile(_JSON + b"|" + _BEYOND_JSON, re.DOTALL).match


def has_header_of_form(headers: Iterable[Sequence[Any]]) -> bool:
    """Whether a name of headers, each (name, content), says that a key or value has a form."""
    return not _HEADERS_OF_FORMS.isdisjoint(map(_get_first, headers))


def may_have_header_of_form(data: bytes, at: int, stop: int) -> bool:
    """Whether records between two offsets, in any form, may have a header whose name says that."""
    find, (schema_id, event), (content_type, registry) = data.find, _IN_NAMES_WITH_LOW_LINE, _IN_OTHER_NAMES
    if find(b"_", at, stop) >= 0 and (find(schema_id, at, stop) >= 0 or find(event, at, stop) >= 0):
        return True
    return find(content_type, at, stop) >= 0 or find(registry, at, stop) >= 0


class JsonRecords(list[dict[str, Any]]):
    """Records in JSON form, with what a look at their rows has found.

    `parts`: the keys and values that may have a form, each as the number of its record and `key` or `value`; None
    where each record has to be looked at. `beyond_json`: they are to be of other forms than plain JSON.
    """

    __slots__ = ("beyond_json", "parts")

    def __init__(self, *, beyond_json: bool) -> None:
        self.beyond_json = beyond_json
        self.parts: list[tuple[int, str]] | None = []

    def note_rows(self, keys: Column, values: Column, headers: Sequence[Any]) -> None:
        """Look at the rows of the next records, by columns; `Column` has the whole one and what of it is not empty."""
        if self.parts is None:
            return
        if any(headers) and has_header_of_form(chain.from_iterable(headers)):
            self.parts = None
            return
        for part, (column, present, joined) in (("key", keys), ("value", values)):
            first = list(map(_get_first, present))
            found = FIRST_BYTES.intersection(first)
            if found and not (
                (self.beyond_json and found <= _FIRST_OF_JSON and not any(each in joined for each in _SAYS_MORE))
                or (
                    found == _ZERO
                    and set(map(len, present)) == _SIZE_OF_LONG
                    and not any(joined[at::8].strip(b"\0") for at in range(6))
                )
            ):
                begin, match = len(self), _compile_form_matcher()
                numbers = range(begin, begin + len(column))
                there: Iterable[int] = numbers if len(present) == len(column) else compress(numbers, column)
                self.parts += [
                    (number, part)
                    for number, data in compress(zip(there, present, strict=True), map(found.__contains__, first))
                    if match(data) is not None
                ]


def list_parts_that_may_be_encoded(
    records: list[dict[str, Any]], *, beyond_json: bool = False
) -> list[tuple[dict[str, Any], str]]:
    """The keys and values, each as a record in JSON form and `key` or `value`, that may have a form.

    `beyond_json`: plain JSON is passed over, since its text says all that there is to say.
    """
    if isinstance(records, JsonRecords) and records.parts is not None and records.beyond_json <= beyond_json:
        if not records.parts:
            return []
        return [
            (record, part)
            for record, part in ((records[number], part) for number, part in records.parts)
            if "control_record" not in record and _may_be_encoded(record[part], beyond_json)
        ]
    found: list[tuple[dict[str, Any], str]] = []
    for record in records:
        if "control_record" in record:
            continue
        names_form = record["headers"] and _has_encoding_header(record["headers"])
        found += [
            (record, part) for part in ("key", "value") if names_form or _may_be_encoded(record[part], beyond_json)
        ]
    return found


def _may_be_encoded(shown: Any, beyond_json: bool) -> bool:
    """Whether a key or value in JSON form may have a form."""
    if shown.__class__ is str:
        return bool(shown) and shown[0] in _FIRST_CHARACTERS and _may_text_be_encoded(shown, beyond_json)
    if shown.__class__ is dict:
        text = shown.get("base64")
        return text.__class__ is str and _may_base64_be_encoded(text)
    return False  # null, or long and deferred


def _has_encoding_header(headers: Sequence[Any]) -> bool:
    """Whether one of the headers of a record in JSON form names a form or a schema."""
    for header in headers:
        name = header["key"]
        if name.__class__ is str and name in _HEADERS_OF_FORMS:
            content = header["value"]
            if name != _CONTENT_TYPE or str(content)[: len(_CLOUD_EVENTS)].lower() == _CLOUD_EVENTS:
                return True
    return False


def _may_text_be_encoded(text: str, beyond_json: bool) -> bool:
    """The second look at a text."""
    first = text[0]
    if first == "{":
        return not beyond_json or any(each in text for each in _SAYS_MORE_IN_TEXT)
    if first in '["':
        return not beyond_json
    if first == "x":
        return len(text) > 1 and ord(text[1]) in _ZLIB_IN_TEXT
    head = text[:_HEAD].encode("utf-8", "surrogatepass")[:_HEAD]
    return may_be_encoded(head, len(text) * 4)  # a size that it has at most


def _may_base64_be_encoded(text: str) -> bool:
    """The second look at bytes that are no text."""
    try:
        head = a2b_base64(text[:_HEAD])
    except NotBase64:
        return False
    return bool(head) and may_be_encoded(head, len(text) // 4 * 3 - text.count("=", -2))


def may_be_encoded(head: bytes, size: int) -> bool:
    """Whether a value of so many bytes, of which the first 18 are given, or all, may have a form."""
    first = head[0]
    if first == 0xC3:
        return head[1:2] == b"\x01"
    if first >= 0x80:
        return begins_as_binary_json(head, size) or head.startswith(_MARKS)
    if first in b" \t\r\n":
        return head.lstrip()[:1] in (b"{", b"[", b"") or _begins_as_protobuf_message(head, size)
    if first in _TAGS:
        return _begins_as_protobuf_message(head, size)
    if first == 0:
        schema_id = int.from_bytes(head[1:5], "big")
        return size >= 5 and schema_id <= SCHEMA_ID_MAX and (schema_id > 0 or size > _LONG_ID_SIZE)
    if first == 1:
        return size >= _GUID_SIZE
    if first == 3:
        return size >= _GLUE_SIZE and head[1] in (0, 5) and head[8] >> 4 == 4 and head[10] >> 6 == 2
    if first in b'{["':
        return min(head.translate(None, b"\t\n\r")) >= 0x20  # as _JSON
    return head.startswith(_MARKS)


def _begins_as_protobuf_message(head: bytes, size: int) -> bool:
    """Whether the first fields of a message of Protobuf can be read as guess_message.py demands of a whole one."""
    if size < _LEAST_MESSAGE:
        return False
    at, last, end = 0, 0, len(head)
    while at < end:
        tag, at = head[at], at + 1
        if tag >= 0x80:
            if at == end:
                break
            if not 0 < head[at] < 0x80:
                return False  # longer than it need be, or far from the numbers before
            tag, at = tag & 0x7F | head[at] << 7, at + 1
        number, wire = tag >> 3, tag & 7
        if not 0 < number <= last + 32 or number < last:
            return False
        last = number
        if wire == 0 or wire == 2:
            start, content = at, 0
            while at < end and head[at] >= 0x80:
                content |= (head[at] & 0x7F) << 7 * (at - start)
                at += 1
            if at == end:
                break
            if head[at] == 0 and at > start and wire == 0:
                return False
            content |= head[at] << 7 * (at - start)
            at += 1 + (content if wire == 2 else 0)
        elif wire == 1:
            at += 8
        elif wire == 5:
            at += 4
        else:
            return False
    return at <= size


def begins_as_binary_json(head: bytes, size: int) -> bool:
    """Whether a value may be a map of MessagePack or CBOR with a text for its first key, or an array of such maps."""
    return size >= _LEAST_BINARY_JSON and (_begins_with_map(head, _MSGPACK) or _begins_with_map(head, _CBOR))


def _begins_with_map(head: bytes, form: _BinaryJson) -> bool:
    place = form.places.get(head[0])
    if place is None:
        return False
    at, is_array = place
    sign = head[at] if at < len(head) else 0
    if is_array:
        if sign in form.long_maps:
            return True
        at += 1
        sign = head[at] if sign in form.maps and at < len(head) else 0
    return sign in form.long_texts or (sign in form.texts and _begins_text(head, at + 1))


def _begins_text(head: bytes, at: int) -> bool:
    """Whether a printable character may begin there."""
    return at < len(head) and (0x20 <= head[at] < 0x7F or 0xC2 <= head[at] <= 0xF4)
