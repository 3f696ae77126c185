"""Reading steps in, lines of Python out; also the functions that generated lines call at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from re import findall
from struct import Struct, calcsize
from struct import error as struct_error
from typing import Any, Final
from uuid import UUID, SafeUUID

from decoders.limits import ERRORS_SHOWN_MAX, TAGS_MAX
from decoders.mypyc_modules import mypyc_attr
from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import base64_json
from decoders.wire.primitive_types import format_uuid

Unpack = Callable[[bytes, int], tuple[Any, ...]]


class Crude(Exception):
    """Generated code cannot go on; only the walker knows why."""


# All exceptions that a generated decoder may raise for bytes that are no such message.
CRUDE: Final = (Crude, struct_error, IndexError, OverflowError)
# All exceptions that a generated encoder may raise for a value that it cannot take.
ENCODE_CRUDE: Final = (Crude, struct_error, LookupError, TypeError, AttributeError, ValueError, OverflowError)

# Sizes below this are a uvarint of one byte; tables of structs have this length.
SHORT: Final = 128
# The range of the indices below a count, by count plus one. Looking one up is a third of the cost of making one.
RANGES: Final = [range(number - 1) for number in range(SHORT + 1)]
# Structs for strings with int16 sizes are kept for sizes below this.
KEPT: Final = 512
# How many UUIDs are kept as values.
KEPT_VALUES: Final = 10_000


def make_short_unpack_table(form: str, after: str, bias: int) -> list[Unpack]:
    """unpack_from functions by size: entry n unpacks n - bias items of `form`, then `after`; made on first use."""
    entries: list[Unpack] = []

    def make_self_replacing_entry(number: int) -> Unpack:
        def replace_entry_and_unpack(buf: bytes, at: int) -> tuple[Any, ...]:
            entries[number] = unpack = Struct(_make_struct_format(form, number - bias, after)).unpack_from
            return unpack(buf, at)

        return replace_entry_and_unpack

    entries += [make_self_replacing_entry(number) for number in range(SHORT)]
    return entries


class LongTable(dict[int, Unpack]):
    """unpack_from functions by size, for sizes that may exceed one byte; each is made on first use."""

    def __init__(self, form: str, after: str) -> None:
        super().__init__()
        self._form = form
        self._after = after

    def __missing__(self, size: int) -> Unpack:
        unpack = Struct(_make_struct_format(self._form, size, self._after)).unpack_from
        if size < KEPT:
            self[size] = unpack
        return unpack


def _make_struct_format(form: str, count: int, after: str) -> str:
    return ">" + (form % count if "%d" in form else form * count) + after


def make_array_unpacker(letter: str, count: int) -> Unpack:
    """The unpack_from function of an array too long for the tables."""
    return Struct(_make_struct_format("%d" + letter if len(letter) == 1 else letter, count, "")).unpack_from


def uvarint(buf: bytes, at: int) -> tuple[int, int]:
    """The unsigned varint at `at`, and the offset after it. Raises Crude for one that is longer than it need be."""
    value = buf[at]
    if value < 0x80:
        return value, at + 1
    byte = buf[at + 1]
    value = value & 0x7F | (byte & 0x7F) << 7
    if byte < 0x80:
        if not byte:
            raise Crude
        return value, at + 2
    shift = 14
    at += 2
    while shift < 35:
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32 or not byte:
                break
            return value, at
        shift += 7
    raise Crude


def size(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The compact size at `at` of a value that may not be null and must end by `end`, and the offset after the size."""
    value, at = uvarint(buf, at)
    if not value or at + value - 1 > end:
        raise Crude
    return value - 1, at


def size_or_null(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The compact size at `at` (-1 for null) of a value that must end by `end`, and the offset after the size."""
    value, at = uvarint(buf, at)
    if at + value - 1 > end:
        raise Crude
    return value - 1, at


def read_long_data(buf: bytes, at: int, end: int) -> tuple[bytes, int]:
    """The bytes after their compact size at `at`, and the offset after them."""
    count, at = size(buf, at, end)
    return buf[at : at + count], at + count


def read_long_data_or_null(buf: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """The bytes after their compact size at `at` (None for null), and the offset after them."""
    count, at = size_or_null(buf, at, end)
    return (None, at) if count < 0 else (buf[at : at + count], at + count)


def read_long_count(buf: bytes, at: int, end: int, least: int) -> tuple[int, int]:
    """The compact count plus one at `at`, of elements of at least `least` bytes, and the offset after it."""
    value, at = uvarint(buf, at)
    if not value or (value - 1) * least > end - at:
        raise Crude
    return value, at


def read_long_count_or_null(buf: bytes, at: int, end: int, least: int) -> tuple[int, int]:
    """The compact count plus one (0: null) at `at`, of elements of at least `least` bytes, and the offset after it."""
    value, at = uvarint(buf, at)
    if value and (value - 1) * least > end - at:
        raise Crude
    return value, at


def count(number: int, at: int, end: int, least: int) -> int:
    """The int32 count `number` of elements of at least `least` bytes, checked against the bytes that are left."""
    if number < 0 or number * least > end - at:
        raise Crude
    return number


def count_or_null(number: int, at: int, end: int, least: int) -> int:
    """The int32 count `number` (-1 for null) of elements of at least `least` bytes, checked against the bytes left."""
    if number < -1 or number * least > end - at:
        raise Crude
    return number


def add_error(found: list[tuple[str, int]], place: str, code: int) -> None:
    """Add an error code to a message's list of them, which holds at most ERRORS_SHOWN_MAX."""
    if len(found) < ERRORS_SHOWN_MAX:
        found.append((place, code))


def spend_values(left: list[int], values: int) -> None:
    """Count values of a large message against VALUES_MAX. Raises Crude beyond it."""
    left[0] -= values
    if left[0] < 0:
        raise Crude


def limit_to_room(left: list[int], count: int) -> int:
    """How many of `count` elements a projection of a large message keeps; uses up that much of the room."""
    kept = min(count, left[1])
    left[1] -= kept
    return kept


def varint(buf: bytes, at: int) -> tuple[int, int]:
    """The zigzag varint of 32 bits at `at`, and the offset after it."""
    value, at = uvarint(buf, at)
    return (value >> 1) ^ -(value & 1), at


def varlong(buf: bytes, at: int) -> tuple[int, int]:
    """The zigzag varint of 64 bits at `at`, and the offset after it."""
    value = shift = 0
    while shift < 70:
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64 or (shift and not byte):
                break
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise Crude


def text(data: bytes) -> str:
    """The string of any bytes, UTF-8 or not (surrogateescape)."""
    return data.decode("utf-8", "surrogateescape")


_new_uuid = UUID.__new__
_set_int = UUID.__dict__["int"].__set__
_set_safe = UUID.__dict__["is_safe"].__set__
_from_bytes = int.from_bytes


class Kept(dict[bytes, Any]):
    """Values by their bytes, each made on first use: messages repeat a few UUIDs again and again."""

    def __init__(self, make: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, data: bytes) -> Any:
        if len(self) >= KEPT_VALUES:
            self.clear()
        value = self[data] = self._make(data)
        return value


def _uuid(data: bytes) -> UUID:
    value = _new_uuid(UUID)
    _set_int(value, _from_bytes(data, "big"))
    _set_safe(value, SafeUUID.unknown)
    return value


# By their 16 bytes: UUIDs, and the text of UUIDs as Kafka prints it.
uuids: Final = Kept(_uuid)
uuid_texts: Final = Kept(format_uuid)


def put_known_tags_last(into: dict[str, Any], names: tuple[str, ...], unknown: dict[int, bytes]) -> None:
    """Put the tagged fields last, in the order of `names`, and add the unknown ones under `_tagged_fields`."""
    for name in names:
        if name in into:
            into[name] = into.pop(name)
    if unknown:
        into["_tagged_fields"] = dict(sorted(unknown.items()))


def put_known_tags_last_json(into: dict[str, Any], names: tuple[str, ...], unknown: dict[int, bytes]) -> None:
    """Put the tagged fields last, in the order of `names`, and add the unknown ones in JSON form."""
    put_known_tags_last(into, names, unknown)
    if unknown:
        into["_tagged_fields"] = {str(tag): base64_json(unknown[tag]) for tag in into["_tagged_fields"]}


def skip_long_data(buf: bytes, at: int, end: int) -> int:
    """The offset after bytes whose compact size is at `at`."""
    count, at = size(buf, at, end)
    return at + count


def skip_long_data_or_null(buf: bytes, at: int, end: int) -> int:
    """The offset after bytes, or null, whose compact size is at `at`."""
    count, at = size_or_null(buf, at, end)
    return at + count if count > 0 else at


def read_tag_count(buf: bytes, at: int, end: int, left: list[int] | None) -> tuple[int, int]:
    """The number of tagged fields, checked against the bytes left, and the offset after it."""
    number, at = uvarint(buf, at)
    if number * 2 > end - at or number > TAGS_MAX:
        raise Crude
    if left is not None:
        spend_values(left, number)
    return number, at


def skip_tags(buf: bytes, at: int, end: int, left: list[int] | None = None) -> int:
    """The offset after a tag section of a struct without known tagged fields; no value is kept."""
    number, at = read_tag_count(buf, at, end, left)
    before = -1
    for _ in range(number):
        tag, at = uvarint(buf, at)
        count, at = uvarint(buf, at)
        at += count
        if at > end or tag <= before:
            raise Crude
        before = tag
    return at


def read_tags(buf: bytes, at: int, end: int, into: dict[str, Any], left: list[int] | None = None) -> int:
    """Read a tag section without known tagged fields: `into` gets `_tagged_fields`. Returns the offset after it."""
    number, at = read_tag_count(buf, at, end, left)
    unknown: dict[int, bytes] = {}
    before = -1
    for _ in range(number):
        tag, at = uvarint(buf, at)
        count, at = uvarint(buf, at)
        stop = at + count
        if stop > end or tag <= before:
            raise Crude
        before = tag
        unknown[tag] = buf[at:stop]
        at = stop
    put_known_tags_last(into, (), unknown)
    return at


def read_tags_json(buf: bytes, at: int, end: int, into: dict[str, Any], left: list[int] | None = None) -> int:
    """Read a tag section without known tagged fields: `into` gets `_tagged_fields` in JSON form. Returns its end."""
    at = read_tags(buf, at, end, into, left)
    if "_tagged_fields" in into:
        into["_tagged_fields"] = {str(tag): base64_json(data) for tag, data in into["_tagged_fields"].items()}
    return at


# Lines of generated functions

# A `Unit` is the module that is being generated (functions and constants); a `Body` is one reading function of it. A
# body collects fixed-width pieces into runs: each run is one `unpack_from` with a cached struct. A string whose size is
# known to be short is unpacked together with the run after it, by a struct looked up by that size. `shift` counts bytes
# that were read but not yet added to the variable `at`.


@lru_cache(maxsize=4096)
def make_unpacker(form: str) -> Unpack:
    """The unpack_from function of a format, made once."""
    return Struct(">" + form).unpack_from


@lru_cache(maxsize=1024)
def make_unpack_table(form: str, after: str, bias: int) -> list[Unpack]:
    """The table of `make_short_unpack_table` of a format, by size byte, made once."""
    return make_short_unpack_table(form, after, bias)


@lru_cache(maxsize=1024)
def make_long_unpack_table(form: str, after: str) -> LongTable:
    """The LongTable of a format, by size, made once."""
    return LongTable(form, after)


class Unit:
    """A module that is being generated: `names` are its globals, `parts` the texts of its functions.

    With `commented`, each line has a comment that names the fields it reads or writes.
    """

    def __init__(self, *, commented: bool = False) -> None:
        self.names: dict[str, object] = {}
        self.parts: list[str] = []
        self.fields: dict[str, str] | None = {} if commented else None  # the field of each variable
        self._count = 0
        self._constants: dict[int, str] = {}

    def new_variable(self, stem: str) -> str:
        """A variable name that the unit has not used before."""
        self._count += 1
        return f"{stem}{self._count}"

    def constant(self, stem: str, value: object) -> str:
        """The name of the global that holds a value, added on first use."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = self.new_variable(stem)
            self.names[name] = value
        return name


class Piece(NamedTuple):
    """A fixed-width piece: its struct letter (`S`: a size, count or flag byte) and its variable, empty to skip it."""

    letter: str
    target: str


class Tail(NamedTuple):
    """A string or bytes between the run that reads its size into the variable `size` and the next run."""

    size: str
    target: str
    convert: str  # the value as an expression of the raw bytes `{}`
    null: str  # the value for null, as an expression; empty where null is not allowed
    compact: bool
    text: bool


@mypyc_attr(allow_interpreted_subclasses=True)
class Lines:
    """The text of a function that is being generated; `field` is the path of the present field."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.field = ""
        self.lines: list[str] = []
        self.depth = 0

    def put_lines(self, *lines: str) -> None:
        """Add lines at the present depth."""
        if self.unit.fields is not None:
            lines = tuple(self._comment_line(line, self.unit.fields) for line in lines)
        self.lines += ["    " * self.depth + line for line in lines]

    def _comment_line(self, line: str, fields: dict[str, str]) -> str:
        """A line with a comment that names the fields of its variables, or else the present field."""
        found = [fields[word] for word in findall(r"\w+", line) if fields.get(word)] or [self.field]
        return f"{line}  # {', '.join(dict.fromkeys(found))}" if found != [""] else line

    @contextmanager
    def indented_block(self, head: str) -> Iterator[None]:
        """Add the line `head`; lines put within the block are indented below it."""
        self.put_lines(head)
        self.depth += 1
        yield
        self.depth -= 1

    def new_variable(self, stem: str) -> str:
        """A variable name that the unit has not used before."""
        name = self.unit.new_variable(stem)
        if self.unit.fields is not None:
            self.unit.fields[name] = self.field
        return name

    def constant(self, stem: str, value: object) -> str:
        """The name of the global that holds a value, added on first use."""
        return self.unit.constant(stem, value)

    def add_function_to_unit(self) -> None:
        """Add the finished function to the unit."""
        self.unit.parts.append("\n".join(self.lines))


@mypyc_attr(allow_interpreted_subclasses=True)
class Body(Lines):
    """A reading function that is being generated. `end` is the variable of the offset that it must not read beyond."""

    def __init__(self, unit: Unit, end: str = "end") -> None:
        super().__init__(unit)
        self.end = end
        self.shift = 0
        self._pieces: list[Piece] = []
        self._after: list[str] = []
        self._tail: Tail | None = None
        self._unsigned: set[str] = set()

    def fail_if(self, condition: str) -> None:
        """Put lines that raise Crude under a condition."""
        self.put_lines(f"if {condition}:", "    raise Crude")

    def add_piece(self, letter: str, target: str = "") -> None:
        """Add a fixed-width piece to the run: read into the variable `target`, or skipped if that is empty."""
        self._pieces.append(Piece(letter, target))

    def put_lines_after_run(self, *lines: str) -> None:
        """Add lines that are put after the lines that read the present run."""
        self._after += lines

    def add_tail(self, tail: Tail) -> None:
        """Add a string or bytes whose size is the last piece of the run."""
        self.put_pending()
        self._tail = tail

    def offset_expression(self, more: int = 0) -> str:
        """The expression of the offset up to which lines have been put, plus `more`."""
        return format_sum_expression("at", self.shift + more)

    def condition_of_short_size(self, size: str) -> str:
        """The condition that a compact size is one byte and not null."""
        return f"0 < {size} < 128" if size in self._unsigned else f"{size} > 0"

    def condition_of_negative(self, flag: str) -> str:
        """The condition that an int8 is negative."""
        return f"{flag} > 127" if flag in self._unsigned else f"{flag} < 0"

    def put_lines_updating_offset(self) -> None:
        """Put lines that read the pending pieces and bring `at` up to date."""
        self.put_pending()
        if self.shift:
            self.put_lines(f"at += {self.shift}")
            self.shift = 0

    def put_pending(self) -> None:
        """Put lines that read the pending pieces."""
        tail, self._tail = self._tail, None
        pieces, self._pieces = self._pieces, []
        after, self._after = self._after, []
        lead, core, rest = _split_leading_and_trailing_padding(pieces)
        if tail is not None:
            self._put_tail(tail, lead, core)
            self.shift = rest
        else:
            self._put_pieces_at_offset(core, self.offset_expression(lead))
            self.shift += lead + _pieces_size(core) + rest
        self.put_lines(*after)

    def _put_pieces_at_offset(self, core: list[Piece], offset: str) -> None:
        """Put lines that read a run which begins and ends with a wanted piece."""
        if not core:
            return
        letter, target = core[0]
        if len(core) > 1 or letter not in "S?":
            unpack = self.constant("unpack", make_unpacker(format_of_pieces(core)))
            self.put_lines(f"{targets_of_pieces(core)} = {unpack}(buf, {offset})")
        elif letter == "?":
            self.put_lines(f"{target} = buf[{offset}] != 0")
        else:
            self.put_lines(f"{target} = buf[{offset}]")
            self._unsigned.add(target)

    def _put_tail(self, tail: Tail, lead: int, core: list[Piece]) -> None:
        total = lead + _pieces_size(core)
        with self.indented_block(
            f"if {self.condition_of_short_size(tail.size)}:" if tail.compact else f"if {tail.size} >= 0:"
        ):
            if tail.text and (len(core) > 1 or (core and core[0].letter not in "S?")):
                self._put_unpacked_tail(tail, lead, core)
            else:
                self._put_sliced_tail(tail, lead, core)
        if tail.null:
            with self.indented_block(f"elif not {tail.size}:" if tail.compact else f"elif {tail.size} == -1:"):
                self.put_lines(f"{tail.target} = {tail.null}")
                self._put_pieces_at_offset(core, self.offset_expression(lead))
                if self.shift + total:
                    self.put_lines(f"at += {self.shift + total}")
        if tail.compact and not tail.text:
            self._put_slice_of_two_byte_size(tail, lead, core)
        with self.indented_block("else:"):
            if not tail.compact:
                self.put_lines("raise Crude")
                return
            long = "read_long_data_or_null" if tail.null else "read_long_data"
            self.put_lines(f"{tail.target}, at = {long}(buf, {self.offset_expression(-1)}, {self.end})")
            value = tail.convert.format(tail.target)
            if tail.null and not (value == tail.target and tail.null == "None"):
                value = f"{tail.null} if {tail.target} is None else {value}"
            if value != tail.target:
                self.put_lines(f"{tail.target} = {value}")
            self._put_pieces_at_offset(core, format_sum_expression("at", lead))
            if total:
                self.put_lines(f"at += {total}")

    def _put_sliced_tail(self, tail: Tail, lead: int, core: list[Piece]) -> None:
        stop = self.new_variable("e")
        self.put_lines(f"{stop} = {format_sum_expression(f'at + {tail.size}', self.shift - tail.compact)}")
        if not tail.text and not tail.compact:
            self.fail_if(f"{stop} > {self.end}")
        self.put_lines(f"{tail.target} = {tail.convert.format(f'buf[{self.offset_expression()}:{stop}]')}")
        self._put_pieces_at_offset(core, format_sum_expression(stop, lead))
        self.put_lines(f"at = {format_sum_expression(stop, lead + _pieces_size(core))}")

    def _put_slice_of_two_byte_size(self, tail: Tail, lead: int, core: list[Piece]) -> None:
        """Put lines that read bytes whose size is a uvarint of two bytes, as is the size of most record batches."""
        low, stop = self.new_variable("b"), self.new_variable("e")
        there = "" if tail.null else f"{tail.size} and "
        with self.indented_block(f"elif {there}0 < ({low} := buf[{self.offset_expression()}]) < 128:"):
            self.put_lines(f"{stop} = {format_sum_expression(f'at + ({tail.size} & 127 | {low} << 7)', self.shift)}")
            self.fail_if(f"{stop} > {self.end}")
            self.put_lines(f"{tail.target} = {tail.convert.format(f'buf[{self.offset_expression(1)}:{stop}]')}")
            self._put_pieces_at_offset(core, format_sum_expression(stop, lead))
            self.put_lines(f"at = {format_sum_expression(stop, lead + _pieces_size(core))}")

    def _put_unpacked_tail(self, tail: Tail, lead: int, core: list[Piece]) -> None:
        after = (f"{lead}x" if lead else "") + format_of_pieces(core)
        unpack = make_unpack_table("%ds", after, 1) if tail.compact else make_long_unpack_table("%ds", after)
        name = self.constant("table", unpack)
        self.put_lines(
            f"{tail.target}, {targets_of_pieces(core)} = {name}[{tail.size}](buf, {self.offset_expression()})"
        )
        value = tail.convert.format(tail.target)
        if value != tail.target:
            self.put_lines(f"{tail.target} = {value}")
        self.put_lines(
            f"at += {format_sum_expression(tail.size, self.shift - tail.compact + lead + _pieces_size(core))}"
        )


def format_sum_expression(base: str, more: int) -> str:
    """The expression `base` plus a number."""
    return base if not more else f"{base} + {more}" if more > 0 else f"{base} - {-more}"


def _expand_format_letter(letter: str) -> str:
    return "b" if letter == "S" else letter


def format_of_pieces(pieces: list[Piece]) -> str:
    return "".join(
        _expand_format_letter(letter) if target else f"{calcsize('>' + _expand_format_letter(letter))}x"
        for letter, target in pieces
    )


def _pieces_size(pieces: list[Piece]) -> int:
    return calcsize(">" + "".join(_expand_format_letter(piece.letter) for piece in pieces))


def targets_of_pieces(pieces: list[Piece]) -> str:
    names = [piece.target for piece in pieces if piece.target]
    return ", ".join(names) + ("," if len(names) == 1 else "")


def _split_leading_and_trailing_padding(pieces: list[Piece]) -> tuple[int, list[Piece], int]:
    """Bytes skipped before the first wanted piece, the pieces from it to the last wanted one, bytes skipped after."""
    wanted = [number for number, piece in enumerate(pieces) if piece.target]
    if not wanted:
        return _pieces_size(pieces), [], 0
    first, last = wanted[0], wanted[-1] + 1
    return _pieces_size(pieces[:first]), pieces[first:last], _pieces_size(pieces[last:])
