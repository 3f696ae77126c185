"""Plan in, source of an encoder out: for complete values of the right types; other values are left to plan_walker.py.

Fixed-width fields are packed in runs. A string, bytes or an array of numbers is packed with the fields around it by a
struct looked up by its length. The pieces are joined at the end. A value that the encoder cannot take (a field is
missing, a name unknown, a number too large) makes it raise one of ENCODE_CRUDE, and plan_walker.py then encodes the
value or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from decoders.schema import codegen_support
from decoders.schema.api_declaration import FIXED, Plan, PlanField
from decoders.schema.codegen_support import Lines, Unit
from decoders.schema.plan_walker import UNKNOWN, default_bytes, unknown_tags
from decoders.wire.primitive_types import LETTERS, encode_number, encode_uvarint, uuid_to_bytes

Pack = Callable[..., bytes]
# Below this, a size plus one is a uvarint of one byte.
SHORT: Final = 127
# Below this, a size plus one is a uvarint of two bytes at most.
TWO_BYTES: Final = (1 << 14) - 1
SIZED: Final = frozenset({"string", "bytes", "records"})
BOOLS: Final = {True: 1, False: 0}


class PackTable(dict[int, Pack]):
    """Pack functions by length; each packs the fields before, the length, the data or numbers, and the fields after."""

    def __init__(self, before: str, each: str, after: str) -> None:
        super().__init__()
        self._parts = before, each, after

    def __missing__(self, length: int) -> Pack:
        before, each, after = self._parts
        middle = f"{length}{each}" if len(each) == 1 else each * length
        pack = Struct(f">{before}{middle}{after}").pack
        if length < codegen_support.KEPT:
            self[length] = pack
        return pack


@lru_cache(maxsize=2048)
def make_pack_table(before: str, each: str, after: str) -> PackTable:
    """The PackTable of these formats, made once."""
    return PackTable(before, each, after)


@lru_cache(maxsize=2048)
def make_packer(form: str) -> Pack:
    """The pack function of a format, made once."""
    return Struct(">" + form).pack


def pack_numbers(letter: str, values: list[Any]) -> bytes:
    """The bytes of an array of numbers that is too long for the tables."""
    return Struct(f">{len(values)}{letter}" if len(letter) == 1 else ">" + letter * len(values)).pack(*values)


def encode_tag_section(tags: dict[int, bytes]) -> bytes:
    """The bytes of a tag section: the count, then the tagged fields by ascending tag."""
    out = [encode_uvarint(len(tags))]
    for tag in sorted(tags):
        out += (encode_uvarint(tag), encode_uvarint(len(tags[tag])), tags[tag])
    return b"".join(out)


def add_unknown_tags(tags: dict[int, bytes], value: object, known: frozenset[int]) -> None:
    """Add the unknown tagged fields that `_tagged_fields` holds to `tags`. Raises Crude for a tag that is known."""
    unknown = unknown_tags(value, UNKNOWN)
    if not known.isdisjoint(unknown):
        raise codegen_support.Crude
    tags.update(unknown)


def raise_crude() -> None:
    """Raise Crude: only plan_walker.py can judge this value."""
    raise codegen_support.Crude


class Variable(NamedTuple):
    """The item of variable length in a pack: bytes or numbers, whose length is in the variable `length`."""

    value: str
    length: str
    size: str  # the struct letter of the size before it
    each: str  # "s" for bytes, else the letter of the numbers
    null: str  # the variable that may be None; empty where null is not allowed
    ready: tuple[str, ...]  # lines that make `value` and `length` when it is not null


class Writer(Lines):
    """An encoding function that is being generated: pending fields go into one pack, with at most one variable item."""

    def __init__(self, unit: Unit, *, direct: bool = False) -> None:
        super().__init__(unit)
        self._direct = direct  # each pack has a variable of its own, as there are few and no loops
        self.parts: list[str] = []
        self.before: list[tuple[str, str]] = []
        self.variable: Variable | None = None
        self.after: list[tuple[str, str]] = []

    def add_piece(self, letter: str, value: str) -> None:
        """Add a field of fixed width to the pending pack; value "" packs zeros."""
        (self.before if self.variable is None else self.after).append((letter, value))

    def add_variable(self, variable: Variable) -> None:
        """Add bytes or numbers, with their size, to the pending pack."""
        if self.variable is not None:
            self.put_pending()
        self.variable = variable

    def pack_expression(self, pieces: list[tuple[str, str]]) -> str:
        """The expression that packs fields of fixed width; empty if there are no fields."""
        if not pieces:
            return ""
        form = "".join("x" if not value else letter for letter, value in pieces)
        if all(not value or value.lstrip("-").isdigit() for _, value in pieces):
            return repr(Struct(">" + form).pack(*(int(value) for _, value in pieces if value)))
        return f"{self.constant('pack', make_packer(form))}({', '.join(value for _, value in pieces if value)})"

    def put_pending(self) -> None:
        """Put the lines that pack the pending fields."""
        before, variable, after = self.before, self.variable, self.after
        self.before, self.variable, self.after = [], None, []
        if variable is None:
            if before:
                self.begin_message_piece()
                self.put_values(self.pack_expression(before))
            return
        self.begin_message_piece()
        if not variable.null:
            self._put_variable(before, variable, after)
        else:
            with self.indented_block(f"if {variable.null} is None:"):
                null = ("b", "") if variable.size == "b" else (variable.size, "-1")
                self.put_values(self.pack_expression([*before, null, *after]))
            with self.indented_block("else:"):
                self._put_variable(before, variable, after)

    def put_pending_values_and_count(self, count: str) -> None:
        """Put the lines that pack the pending fields and then a compact count, which is nearly always one byte."""
        before, variable, after = [*self.before], self.variable, [*self.after]
        with self.indented_block(f"if {count} < {SHORT}:"):
            self.add_piece("b", f"{count} + 1")
            self.put_pending()
        self.before, self.variable, self.after = before, variable, after
        with self.indented_block("else:"):
            self.put_pending()
            self.put_values(f"encode_uvarint({count} + 1)")

    def _put_variable(self, before: list[tuple[str, str]], variable: Variable, after: list[tuple[str, str]]) -> None:
        self.put_lines(*variable.ready)
        length = variable.length
        numbers = variable.each != "s"
        values = [value for _, value in before if value]
        values.append(f"{length} + 1" if variable.size == "b" else length)
        values.append(f"*{variable.value}" if numbers else variable.value)
        values += [value for _, value in after if value]
        form = "".join("x" if not value else letter for letter, value in before)
        rest = "".join("x" if not value else letter for letter, value in after)
        table = self.constant("table", make_pack_table(form + variable.size, variable.each, rest))
        short = f"{table}[{length}]({', '.join(values)})"
        if variable.size == "h":
            self.put_values(short)
            return
        with self.indented_block(f"if {length} < {SHORT}:"):
            self.put_values(short)
        if variable.size == "b" and not numbers:
            with self.indented_block(f"elif {length} < {TWO_BYTES}:"):
                size = [("B", f"{length} + 1 & 127 | 128"), ("B", f"{length} + 1 >> 7")]
                self.put_values(self.pack_expression([*before, *size]), variable.value, self.pack_expression(after))
        data = f"pack_numbers({variable.each!r}, {variable.value})" if numbers else variable.value
        with self.indented_block("else:"):
            if variable.size == "b":
                self.put_values(
                    self.pack_expression(before), f"encode_uvarint({length} + 1)", data, self.pack_expression(after)
                )
            else:
                self.put_values(
                    self.pack_expression([*before, (variable.size, length)]), data, self.pack_expression(after)
                )

    def begin_message_piece(self) -> None:
        """Begin the next piece of the message; the out() lines that follow, in all branches, make it."""
        if self._direct:
            self.parts.append(self.unit.new_variable("p"))

    def put_values(self, *values: str) -> None:
        """Put lines that add the values of these expressions to the message; empty expressions are left out."""
        if self._direct:
            self.put_lines(f"{self.parts[-1]} = {' + '.join(value for value in values if value)}")
        else:
            self.put_lines(*(f"out({value})" for value in values if value))


class EncoderSource:
    """Generates one encoder: puts the function `encode`, and all functions that it calls, into a unit."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        unit.names.update(
            Crude=codegen_support.Crude, BOOLS=BOOLS, add_unknown_tags=add_unknown_tags, pack_numbers=pack_numbers,
            encode_tag_section=encode_tag_section, raise_crude=raise_crude, uuid_bytes=uuid_to_bytes,
            encode_number=encode_number, encode_uvarint=encode_uvarint,
        )  # fmt: skip

    def put_encode_function(self, plan: Plan) -> None:
        """Put the function `encode(value)` into the unit."""
        body = Writer(self.unit, direct=not _needs_loops_or_null_branches(plan))
        body.put_lines("def encode(v):")
        body.depth = 1
        if not plan.fields:
            tags = self._put_tags(plan) + "(v)" if plan.flexible else "raise_crude()"
            body.put_lines(f"return {tags} if v else {bytes(plan.flexible)!r}")
        elif not _needs_loops_or_null_branches(plan):
            self.put_struct(body, plan, "v")
            body.put_pending()
            body.put_lines(f"return {' + '.join(body.parts)}")
        else:
            body.put_lines("parts = []", "out = parts.append")
            self.put_struct(body, plan, "v")
            body.put_pending()
            body.put_lines('return b"".join(parts)')
        body.add_function_to_unit()

    def put_struct(self, body: Writer, plan: Plan, value: str) -> None:
        """Put lines that encode the struct in the variable `value`."""
        if not plan.flexible:
            body.put_lines(f"if len({value}) != {len(plan.fields)}:", "    raise_crude()")
        for field in plan.fields:
            self.put_field(body, field, f"{value}[{field.name!r}]")
        if plan.flexible:
            body.add_piece("b", "")
            body.put_pending()
            # The count of tagged fields was written as 0, which it nearly always is.
            body.put_lines(f"if len({value}) != {len(plan.fields)}:")
            last = body.parts[-1] if body.parts else "parts[-1]"
            body.put_lines(f"    {last} = {last}[:-1] + {self._put_tags(plan)}({value})")

    def put_field(self, body: Writer, field: PlanField, value: str) -> None:
        """Put lines that encode a field; `value` is the expression of its value."""
        outer, body.field = body.field, f"{body.field}.{field.name}".lstrip(".")
        if self.unit.fields is not None:
            self.unit.fields[field.name] = body.field  # the word in `value`
        if field.array:
            self._put_array(body, field, value)
        elif field.plan is not None:
            self._put_struct_field(body, field, value)
        else:
            self._put_leaf(body, field, value, field.nullable)
        body.field = outer

    def _put_leaf(self, body: Writer, field: PlanField, value: str, nullable: bool) -> None:
        if field.kind in SIZED:
            self._put_sized(body, field, value, nullable)
        elif field.kind in LETTERS:
            body.add_piece(_LETTERS.get(field.kind, LETTERS[field.kind]), _CONVERT.get(field.kind, "{}").format(value))
        else:
            body.put_pending()
            body.begin_message_piece()
            body.put_values(f"encode_number({field.kind!r}, {value})")

    def _put_sized(self, body: Writer, field: PlanField, value: str, nullable: bool) -> None:
        text = field.kind == "string"
        name = body.new_variable("s")
        length = body.new_variable("n")
        if text and not nullable:
            ready = [f"{name} = {value}.encode()"]
        else:
            body.put_lines(f"{name} = {value}")
            ready = [f"{name} = {name}.encode()"] if text else [f"if {name}.__class__ is not bytes:", "    raise Crude"]
        size = "b" if field.compact else "h" if text else "i"
        body.add_variable(
            Variable(name, length, size, "s", name if nullable else "", (*ready, f"{length} = len({name})"))
        )

    def _put_array(self, body: Writer, field: PlanField, value: str) -> None:
        name = body.new_variable("x")
        length = body.new_variable("n")
        body.put_lines(f"{name} = {value}")
        check = (f"if {name}.__class__ is not list:", "    raise Crude", f"{length} = len({name})")
        size = "b" if field.compact else "i"
        if field.plan is None and field.kind in FIXED:
            convert = _CONVERT.get(field.kind)
            ready = check if convert is None else (*check, f"{name} = [{convert.format('w')} for w in {name}]")
            letter = _LETTERS.get(field.kind, LETTERS[field.kind])
            body.add_variable(Variable(name, length, size, letter, name if field.nullable else "", ready))
            return
        if not field.nullable:
            self._put_elements(body, field, name, length, size, check)
            return
        kept = [*body.before], body.variable, [*body.after]
        with body.indented_block(f"if {name} is None:"):
            body.add_piece(size, "" if size == "b" else "-1")
            body.put_pending()
        body.before, body.variable, body.after = kept
        with body.indented_block("else:"):
            self._put_elements(body, field, name, length, size, check)

    def _put_elements(
        self, body: Writer, field: PlanField, name: str, length: str, size: str, check: tuple[str, ...]
    ) -> None:
        body.put_lines(*check)
        if size == "b":
            body.put_pending_values_and_count(length)
        else:
            body.add_piece(size, length)
            body.put_pending()
        item = body.new_variable("w")
        with body.indented_block(f"for {item} in {name}:"):
            if field.plan is not None:
                self.put_struct(body, field.plan, item)
            else:
                self._put_leaf(body, field, item, nullable=False)
            body.put_pending()

    def _put_struct_field(self, body: Writer, field: PlanField, value: str) -> None:
        assert field.plan is not None
        name = body.new_variable("w")
        body.put_lines(f"{name} = {value}")
        if not field.nullable:
            self.put_struct(body, field.plan, name)
            return
        body.put_pending()
        null = b"\xff" if field.tag is None else b"\0"
        body.put_lines(f"if {name} is None:", f"    out({null!r})")
        with body.indented_block("else:"):
            body.add_piece("b", "1")
            self.put_struct(body, field.plan, name)
            body.put_pending()

    def _put_tags(self, plan: Plan) -> str:
        """Put the function that makes a struct's tag section into the unit; returns its name."""
        name = self.unit.new_variable("tags")
        body = Writer(self.unit)
        body.put_lines(f"def {name}(v):")
        body.depth = 1
        body.put_lines("tags = {}", f"n = {len(plan.fields)}")
        for field in plan.tagged:
            with body.indented_block(f"if {field.name!r} in v:"):
                body.put_lines("n += 1", "parts = []", "out = parts.append")
                self.put_field(body, field, f"v[{field.name!r}]")
                body.put_pending()
                body.put_lines('data = b"".join(parts)')
                body.put_lines(f"if data != {default_bytes(field)!r}:", f"    tags[{field.tag}] = data")
        known = body.constant("known", frozenset(field.tag for field in plan.tagged))
        with body.indented_block(f"if {UNKNOWN!r} in v:"):
            body.put_lines("n += 1", f"add_unknown_tags(tags, v[{UNKNOWN!r}], {known})")
        body.put_lines("if n != len(v):", "    raise Crude", "return encode_tag_section(tags)")
        body.add_function_to_unit()
        return name


def _needs_loops_or_null_branches(plan: Plan) -> bool:
    """Whether encoding needs loops, or pieces that depend on a null."""
    return any(
        (field.array and (field.plan is not None or field.kind not in FIXED))
        or (field.plan is not None and (field.nullable or _needs_loops_or_null_branches(field.plan)))
        for field in plan.fields
    )


# For kinds where the struct module is too tolerant, or packs another type.
_LETTERS: Final = {"bool": "B"}
_CONVERT: Final = {"bool": "BOOLS[{}]", "uuid": "uuid_bytes({})"}
