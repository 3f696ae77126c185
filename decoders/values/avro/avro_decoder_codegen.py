"""A type in; a function that decodes its values, made of Python source, out.

The problem. The walker makes some six calls for each part of a value. The source that a schema determines needs none of
them: which field follows which is known, so a record is a row of lines and one literal of a dict.

The idea. Records become lines of one function, except records that contain themselves, large ones, and those that are
nested deeply, which get functions of their own. Numbers and sizes are mostly one byte, for which a table gives the
value; the table has None for the others, which a call reads. Nothing checks the end of the bytes in between: a byte
beyond it is an IndexError, a slice beyond it is found at the end.

What always holds: no word of a schema is in the source but as an escaped literal; what the function accepts, the
walker accepts, with the same value. It may refuse what the walker accepts (one of CRUDE): then the walker's value
counts. Budgets are kept where a loop, or a function of a record, begins.

Gains: `python -m tests.bench.avro_values`.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Any, Final, TypeAlias
from uuid import UUID

from decoders.errors import DecodeError, LimitExceeded
from decoders.limits import SCHEMA_NESTING_MAX, VALUE_NESTING_MAX
from decoders.schema.body_json_form import float_json, json_bytes
from decoders.values.avro.avro_schema import AvroType
from decoders.values.avro.avro_walker import parts_budget, read_long
from decoders.values.avro.logical_types import find_logical_type_formatter
from decoders.values.shortest_float import shorten_float

Decode: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
# How generated code fails.
CRUDE: Final = (IndexError, KeyError, TypeError, UnicodeDecodeError, DecodeError, error, OverflowError)
# What goes into one function: parts of its values, and levels, of which Python allows 20 loops in each other.
_INLINE_WEIGHT: Final = 400
_INLINE_LEVELS: Final = 6
# Variables of one source, each with some five lines: Python compiles them in half a second.
_VARIABLES_MAX: Final = 4000
# A union of more branches, of which real ones have some five, is left to the walker.
_BRANCHES_MAX: Final = 64
_NUMBERS: Final = tuple(byte >> 1 ^ -(byte & 1) if byte < 128 else None for byte in range(256))
_SIZES: Final = tuple(byte >> 1 if byte < 128 and not byte & 1 else None for byte in range(256))


class NotCompiled(Exception):
    """A type for which no function is made."""


def _read_long_value(buf: bytes, at: int) -> tuple[int, int]:
    return read_long(buf, at)


def _read_int_value(buf: bytes, at: int) -> tuple[int, int]:
    return read_long(buf, at, 32)


def _read_checked_size(buf: bytes, at: int) -> tuple[int, int]:
    size, at = read_long(buf, at)
    if not 0 <= size <= len(buf) - at:
        raise IndexError
    return size, at


def _read_block_count(buf: bytes, at: int, left: list[int], least: int, weight: int) -> tuple[int, int]:
    """The number of items in a block of an array or a map; `left` is what parts there may still be."""
    count, at = read_long(buf, at)
    if count < 0:
        count = -count
        _, at = read_long(buf, at)
    left[0] -= count * weight
    if not count:  # in two bytes, where one would do: the end
        raise IndexError
    if count * least > len(buf) - at or left[0] < 0:
        raise IndexError
    return count, at


def _charge_parts_and_check_depth(left: list[int], weight: int, depth: int) -> None:
    left[0] -= weight
    if left[0] < 0 or depth > VALUE_NESTING_MAX - SCHEMA_NESTING_MAX:
        raise LimitExceeded("left to the walker")


def compile_decoder(kind: AvroType) -> Decode | None:
    """The function that reads values of a type: from bytes and a place, value and end; None where the walker does."""
    try:
        source = DecoderWriter(kind)
    except NotCompiled:
        return None
    made: Decode = source.compile_function()
    return made


class DecoderWriter:
    """Writes the source: one function `decode`, and one for each record that has its own."""

    def __init__(self, root: AvroType) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "N": _NUMBERS, "S": _SIZES, "B": {0: False, 1: True}, "long_": _read_long_value, "int_": _read_int_value,
            "size_": _read_checked_size, "block": _read_block_count, "parts_budget": parts_budget,
            "enter": _charge_parts_and_check_depth, "json_bytes": json_bytes,
            "float_json": float_json, "shorten": shorten_float,
            "float_": Struct("<f").unpack_from, "double_": Struct("<d").unpack_from, "UUID": UUID,
        }  # fmt: skip
        self.functions: dict[int, str] = {}
        self.waiting: list[AvroType] = []
        self.count = 0
        self.indent = 1
        self.put_lines("def decode(buf, at):", indent=0)
        self.put_lines(f"left = [parts_budget(len(buf)) - {root.weight}]", "depth = 0")
        value = self.put_value(root, 0)
        self.put_lines("if at > len(buf):", "    raise IndexError", f"return {value}, at")
        while self.waiting:
            self.put_function(self.waiting.pop())

    def compile_function(self) -> Any:
        """The function."""
        exec(compile("\n".join(self.lines), "<avro schema>", "exec"), self.names)
        return self.names["decode"]

    def put_lines(self, *lines: str, indent: int | None = None) -> None:
        space = "    " * (self.indent if indent is None else indent)
        self.lines += [space + line for line in lines]

    def new_name(self, stem: str) -> str:
        self.count += 1
        if self.count > _VARIABLES_MAX:
            raise NotCompiled
        return f"{stem}{self.count}"

    def constant(self, value: object) -> str:
        name = self.new_name("K")
        self.names[name] = value
        return name

    def put_function(self, kind: AvroType) -> None:
        self.indent = 1
        self.put_lines(f"def {self.functions[id(kind)]}(buf, at, left, depth):", indent=0)
        self.put_lines(f"enter(left, {kind.weight}, depth)")
        self.put_lines(f"return {self.put_record(kind, 0)}, at")

    def put_value(self, kind: AvroType, level: int) -> str:
        """Put lines that read a value and go on behind it; returns the expression of the value."""
        name = self.new_name("v")
        if kind.kind == "record":
            if kind.is_recursive or kind.weight > _INLINE_WEIGHT or level > _INLINE_LEVELS:
                return self.put_call(kind, name, level)
            return self.put_record(kind, level)
        _WRITERS[kind.kind](self, kind, name, level)
        formatter = find_logical_type_formatter(kind.logical, kind.kind, kind.scale) if kind.logical else None
        if formatter is not None:
            self.put_lines(f"{name} = {self.constant(formatter)}({name})")
        elif kind.kind in ("bytes", "fixed"):
            self.put_lines(f"{name} = json_bytes({name})")
        return name if kind.kind != "null" else "None"

    def put_call(self, kind: AvroType, name: str, level: int) -> str:
        function = self.functions.get(id(kind))
        if function is None:
            function = self.functions[id(kind)] = self.new_name("read")
            self.waiting.append(kind)
        self.put_lines(f"{name}, at = {function}(buf, at, left, depth + {level + 1})")
        return name

    def put_record(self, kind: AvroType, level: int) -> str:
        parts = [f"{field.name!a}: {self.put_value(field.type, level + 1)}" for field in kind.fields]
        return "{" + ", ".join(parts) + "}"

    def put_number(self, kind: AvroType, name: str, _level: int) -> None:
        self.put_lines(f"{name} = N[buf[at]]", f"if {name} is None:", f"    {name}, at = {kind.kind}_(buf, at)")
        self.put_lines("else:", "    at += 1")

    def put_boolean(self, _kind: AvroType, name: str, _level: int) -> None:
        self.put_lines(f"{name} = B[buf[at]]", "at += 1")

    def put_float(self, kind: AvroType, name: str, _level: int) -> None:
        value = f"{kind.kind}_(buf, at)[0]"
        self.put_lines(f"{name} = {f'shorten({value})' if kind.kind == 'float' else value}")
        self.put_lines(f"if {name} - {name} != 0:", f"    {name} = float_json({name})")
        self.put_lines(f"at += {kind.least_size}")

    def put_sized(self, kind: AvroType, name: str, _level: int) -> None:
        self.put_lines(f"{name} = S[buf[at]]", f"if {name} is None:", f"    {name}, at = size_(buf, at)")
        self.put_lines("else:", "    at += 1", f"end = at + {name}")
        self.put_lines(f"{name} = buf[at:end]{'.decode()' if kind.kind == 'string' else ''}", "at = end")

    def put_fixed(self, kind: AvroType, name: str, _level: int) -> None:
        self.put_lines(f"end = at + {kind.size}", f"{name} = buf[at:end]", "at = end")
        if find_logical_type_formatter(kind.logical, kind.kind, kind.scale) is not None:
            self.put_lines("if at > len(buf):", "    raise IndexError")  # a part of it would be another value

    def put_enum(self, kind: AvroType, name: str, _level: int) -> None:
        self.put_lines(
            f"{name} = S[buf[at]]", f"if {name} is None:", f"    {name}, at = size_(buf, at)", "else:", "    at += 1"
        )
        self.put_lines(f"{name} = {self.constant(kind.symbols)}[{name}]")

    def put_null(self, _kind: AvroType, _name: str, _level: int) -> None:
        pass

    def put_union(self, kind: AvroType, name: str, level: int) -> None:
        """A chain of comparisons; a number of a branch in more than one byte is left to the walker."""
        if len(kind.branches) > _BRANCHES_MAX:
            raise NotCompiled
        branch = self.new_name("b")
        self.put_lines(f"{branch} = buf[at]", "at += 1")
        for number, inner in enumerate(kind.branches):
            self.put_lines(f"{'el' if number else ''}if {branch} == {number * 2}:")
            self.indent += 1
            self.put_lines(f"{name} = {self.put_value(inner, level)}")
            self.indent -= 1
        self.put_lines("else:", "    raise IndexError")

    def put_blocks(self, kind: AvroType, name: str, level: int) -> None:
        """The blocks of an array or a map. Values in deeper levels are in functions, so their loops are too."""
        assert kind.items is not None
        if level > _INLINE_LEVELS:
            raise NotCompiled
        is_map = kind.kind == "map"
        least, count = kind.items.least_size + is_map, self.new_name("n")
        self.put_lines(f"{name} = {'{}' if is_map else '[]'}", "while buf[at]:")
        self.indent += 1
        self.put_lines(f"{count}, at = block(buf, at, left, {least}, {kind.items.weight})", f"for _ in range({count}):")
        self.indent += 1
        if is_map:
            key = self.new_name("k")
            self.put_sized(_STRING, key, level)
            self.put_lines(f"{name}[{key}] = {self.put_value(kind.items, level + 1)}")
        else:
            self.put_lines(f"{name}.append({self.put_value(kind.items, level + 1)})")
        self.indent -= 2
        self.put_lines("at += 1")


_STRING: Final = AvroType("string")
_WRITERS: Final[dict[str, Callable[[DecoderWriter, AvroType, str, int], None]]] = {
    "null": DecoderWriter.put_null,
    "boolean": DecoderWriter.put_boolean,
    **dict.fromkeys(("int", "long"), DecoderWriter.put_number),
    **dict.fromkeys(("float", "double"), DecoderWriter.put_float),
    **dict.fromkeys(("string", "bytes"), DecoderWriter.put_sized),
    "fixed": DecoderWriter.put_fixed,
    "enum": DecoderWriter.put_enum,
    "union": DecoderWriter.put_union,
    "array": DecoderWriter.put_blocks,
    "map": DecoderWriter.put_blocks,
}
