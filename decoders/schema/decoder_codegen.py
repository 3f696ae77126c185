"""Plan in, source of a decoder out: for all fields as Python values or in JSON form, or for the wanted fields only.

Fields that are not wanted are stepped over (field_projection.py). Tagged fields are read by functions of their own,
called only when a struct has any.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any, Final

from decoders.limits import BODY_WHOLE_MAX, VALUES_MAX, VIEW_ELEMENTS_MAX
from decoders.named_tuple import NamedTuple
from decoders.schema import body_json_form, codegen_support
from decoders.schema.api_declaration import FIXED, Plan, PlanField, least_size_of_element, least_size_of_struct
from decoders.schema.codegen_support import (
    Body,
    Piece,
    Tail,
    Unit,
    format_of_pieces,
    format_sum_expression,
    make_long_unpack_table,
    make_unpack_table,
    targets_of_pieces,
)
from decoders.schema.field_projection import SIZED, Mode, Want, find_want_of_field
from decoders.schema.plan_walker import UNKNOWN, count_values_of_element
from decoders.wire.primitive_types import LETTERS

# Arrays of more fixed-size structs than this are unpacked by one iterator.
MANY = 4
_RUNTIME: Final = (
    "Crude", "add_error", "count", "count_or_null", "read_long_count", "read_long_count_or_null", "read_long_data",
    "read_long_data_or_null", "skip_long_data", "skip_long_data_or_null", "put_known_tags_last",
    "put_known_tags_last_json", "read_tags", "read_tags_json", "limit_to_room", "size", "size_or_null", "skip_tags",
    "spend_values", "read_tag_count", "text", "make_array_unpacker", "uuid_texts", "uuids", "uvarint", "varint",
    "varlong",
)  # fmt: skip


class Shown(NamedTuple):
    """The expressions for the value of a wanted string, bytes or records."""

    convert: str  # the value, from the raw bytes `{}`
    null: str  # the value for null
    by_place: str  # the value, from {start} and {size}, if it does not need the bytes; else empty
    secret: bool  # whether to redact it unless the sibling `unless` holds a name known to be public


class DecoderSource:
    """Generates one decoder: puts the function `decode`, and all functions that it calls, into a unit."""

    def __init__(self, unit: Unit, mode: Mode) -> None:
        self.unit = unit
        self.mode = mode
        self.more = "".join(
            f", {name}"
            for name, there in (("table", mode.json), ("errs", mode.errors), ("left", mode.careful))
            if there
        )
        unit.names.update({name: getattr(codegen_support, name) for name in _RUNTIME})
        unit.names.update(
            {
                name: getattr(body_json_form, name)
                for name in ("json_bytes", "string_json", "float_json", "is_public_config_name")
            }
        )

    def put_decode_function(self, plan: Plan, want: Want) -> None:
        """Put the function `decode(buf, at, end)` into the unit.

        JSON decoders also take the hook table, projections return errors.
        """
        body = Body(self.unit)
        careful = self.mode.careful
        arguments = f"buf, at, end{', table' if self.mode.json else ''}"
        body.put_lines(f"def decode({arguments}):")
        body.depth = 1
        if careful:
            body.put_lines(f"left = [{VALUES_MAX}, {VIEW_ELEMENTS_MAX}]")
        tries = not careful and (self.mode.json or _plan_reads_text(plan))
        if tries:
            body.put_lines("start = at", "try:")
            body.depth += 1
        if not careful and does_plan_count_values(plan):
            most = BODY_WHOLE_MAX if self.mode.projection else VALUES_MAX
            body.put_lines(f"if end - at > {most}:", f"    return careful({arguments})")
        if self.mode.errors:
            body.put_lines("errs = []")
        value = self.put_struct(body, plan, want, "", "")
        body.put_lines_updating_offset()
        body.fail_if("at > end")
        errors = f", {'errs or None' if self.mode.errors else None}" if self.mode.projection else ""
        body.put_lines(f"return {value}{errors}, at")
        if tries:
            body.depth -= 1
            body.put_lines("except UnicodeDecodeError:", f"    return careful({arguments.replace('at', 'start', 1)})")
        body.add_function_to_unit()

    def put_struct(self, body: Body, plan: Plan, want: Want, path: str, place: str) -> str | None:
        """Put lines that read a struct; returns the expression of its value, None where nothing of it is wanted.

        `path` is the prefix of its fields' paths without indices, `place` the prefix with indices, as f-string text.
        """
        entries: dict[str, str] = {}
        for inner in plan.fields:
            value = self.put_field(body, inner, find_want_of_field(want, inner.name), path, place, entries)
            if value is not None:
                entries[inner.name] = value
        value = None if want is None else "{" + ", ".join(f"{name!r}: {text}" for name, text in entries.items()) + "}"
        if not plan.flexible:
            return value
        tags = body.new_variable("t")
        body.add_piece("S", tags)
        body.put_lines_updating_offset()
        name = "None"
        if value is not None:
            name = body.new_variable("d")
            body.put_lines(f"{name} = {value}")
        body.put_lines(f"if {tags}:", f"    at = {self.tags_expression(plan, want, path, place, name, body.end)}")
        return None if value is None else name

    def put_field(
        self, body: Body, inner: PlanField, want: Want, path: str, place: str, before: dict[str, str]
    ) -> str | None:
        """Put lines that read a field; returns the expression of its value, None where it is not wanted."""
        path += inner.name
        place += inner.name
        outer, body.field = body.field, path
        if inner.array:
            value = ArrayReading(self, body, inner, want, path, place, before).put_array()
        elif inner.plan is not None:
            value = self._put_struct_field(body, inner, want, path, place)
        elif inner.kind in SIZED:
            value = self.put_sized(body, inner, inner.nullable, want, path, before)
        else:
            value = self.put_number(body, inner, want, place)
        body.field = outer
        return value

    def put_number(self, body: Body, inner: PlanField, want: Want, place: str) -> str | None:
        """Put lines that read a number, a bool, a uuid or a varint; returns the expression of its value, or None."""
        value = body.new_variable("v")
        letter = LETTERS.get(inner.kind)
        if letter is None:
            body.put_lines_updating_offset()
            body.put_lines(f"{value}, at = {inner.kind}(buf, at)")
            return None if want is None else value
        error = self.is_error_code_field(inner)
        body.add_piece(letter, value if want is not None or error else "")
        if error:
            body.put_lines_after_run(f"if {value}:", f'    add_error(errs, f"{place}", {value})')
        if want is None:
            return None
        if inner.secret and want != "raw" and not self.mode.reveal:
            return f"{{'redacted': {FIXED[inner.kind]}}}"
        return self.conversion_expression(inner.kind).format(value)

    def is_error_code_field(self, inner: PlanField) -> bool:
        """Whether a field goes into the list of errors."""
        return self.mode.errors and inner.kind == "int16" and not inner.array and inner.name.endswith("error_code")

    def conversion_expression(self, kind: str) -> str:
        """The expression of a value's final form; `{}` is the value as the struct module or a slice gives it."""
        if self.mode.json:
            return _JSON.get(kind, "{}") if kind != "string" or self.mode.careful else "{}.decode()"
        if kind == "string":
            return "text({})" if self.mode.careful else "{}.decode()"
        return "uuids[{}]" if kind == "uuid" and not self.mode.raw_uuids else "{}"

    def put_sized(
        self, body: Body, inner: PlanField, nullable: bool, want: Want, path: str, before: dict[str, str]
    ) -> str | None:
        """Put lines that read a string, bytes or records; returns the expression of the value, or None."""
        text = inner.kind == "string"
        size = body.new_variable("m")
        body.add_piece("S" if inner.compact else "h" if text else "i", size)
        value = body.new_variable("v")
        if want is None:
            return self._put_skip(body, inner.compact, nullable, size, "", "")
        shown = self.value_expressions(inner, want, path, before)
        if shown.by_place:
            return self._put_skip(body, inner.compact, nullable, size, value, shown.by_place)
        null = shown.null if nullable else ""
        if not shown.secret:
            body.add_tail(Tail(size, value, shown.convert, null, inner.compact, text))
            return value
        body.add_tail(Tail(size, value, "{}", null and "None", inner.compact, text))
        public = f"is_public_config_name(table, {before.get(inner.unless, 'None')})"
        converted = f"({shown.convert.format(value)} if {public} else {{'redacted': len({value})}})"
        return f"({shown.null} if {value} is None else {converted})"

    def value_expressions(self, inner: PlanField, want: Want, path: str, before: Mapping[str, str]) -> Shown:
        """The expressions for a wanted string, bytes or records: converted, redacted, passed to a hook, or its span."""
        secret = inner.secret and want != "raw" and not self.mode.reveal
        if want == "span":
            return Shown("", "None", "({start}, {size})", False)
        if secret and not (inner.unless and self.mode.json):
            return Shown("", "None", "{{'redacted': {size}}}", False)
        hook = self.mode.hooks.get(path) if self.mode.json and inner.kind != "string" else None
        if hook is not None:
            beside = body_json_form.sibling_of_hook(hook)
            more = f", {before.get(beside, 'None')}" if beside else ""
            return Shown(f"table[{hook!r}]({{}}{more})", f"table[{hook!r}](None{more})", "", secret)
        return Shown(self.conversion_expression(inner.kind), "None", "", secret)

    def _put_skip(self, body: Body, compact: bool, nullable: bool, size: str, value: str, form: str) -> str | None:
        """Put lines that step over sized bytes; `form` makes a value from their {start} and {size}."""
        body.put_pending()
        shift = body.shift
        body.shift = 0

        def make_value_lines(start: str, size: str) -> list[str]:
            return [f"{value} = {form.format(start=start, size=size)}"] if form else []

        with body.indented_block(f"if {body.condition_of_short_size(size)}:" if compact else f"if {size} >= 0:"):
            body.put_lines(*make_value_lines(format_sum_expression("at", shift), f"{size} - 1" if compact else size))
            body.put_lines(f"at += {format_sum_expression(size, shift - compact)}")
        if nullable:
            with body.indented_block(f"elif not {size}:" if compact else f"elif {size} == -1:"):
                body.put_lines(f"{value} = None") if form else None
                body.put_lines(f"at += {shift}")
        with body.indented_block("else:"):
            if not compact:
                body.put_lines("raise Crude")
            elif not form:
                skip = "skip_long_data_or_null" if nullable else "skip_long_data"
                body.put_lines(f"at = {skip}(buf, {format_sum_expression('at', shift - 1)}, {body.end})")
            else:
                read_size = "size_or_null" if nullable else "size"
                body.put_lines(f"{size}, at = {read_size}(buf, {format_sum_expression('at', shift - 1)}, {body.end})")
                with body.indented_block(f"if {size} < 0:"):
                    body.put_lines(f"{value} = None")
                with body.indented_block("else:"):
                    body.put_lines(*make_value_lines("at", size), f"at += {size}")
        return value if form else None

    def _put_struct_field(self, body: Body, inner: PlanField, want: Want, path: str, place: str) -> str | None:
        assert inner.plan is not None
        path += "."
        place += "."
        if not inner.nullable:
            return self.put_struct(body, inner.plan, want, path, place)
        value = body.new_variable("v")
        flag = body.new_variable("f")
        if inner.tag is None:
            body.add_piece("S", flag)
            body.put_lines_updating_offset()
            null = body.condition_of_negative(flag)
        else:
            body.put_lines_updating_offset()
            body.put_lines(f"{flag}, at = uvarint(buf, at)")
            null = f"not {flag}"
        with body.indented_block(f"if {null}:"):
            body.put_lines(f"{value} = None")
        with body.indented_block("else:"):
            whole = self.put_struct(body, inner.plan, want, path, place)
            body.put_lines_updating_offset()
            body.put_lines(f"{value} = {whole}")
        return None if want is None else value

    def tags_expression(self, plan: Plan, want: Want, path: str, place: str, into: str, end: str) -> str:
        """The call that reads the tag section whose count is the byte before `at`; it returns the offset after it."""
        left = ", left" if self.mode.careful else ""
        if not plan.tagged:
            if find_want_of_field(want, UNKNOWN) is None:
                return f"skip_tags(buf, at - 1, {end}{left})"
            return f"{'read_tags_json' if self.mode.json else 'read_tags'}(buf, at - 1, {end}, {into}{left})"
        name = self.unit.new_variable("tags")
        self._put_tags(name, plan, want, path)
        place_argument = f', f"{place}"' if self.mode.errors else ""
        return f"{name}(buf, at - 1, {end}, {into}{self.more}{place_argument})"

    def _put_tags(self, name: str, plan: Plan, want: Want, path: str) -> None:
        body = Body(self.unit, end="stop")
        body.put_lines(f"def {name}(buf, at, end, into{self.more}{', place' if self.mode.errors else ''}):")
        body.depth = 1
        body.put_lines(f"n, at = read_tag_count(buf, at, end, {'left' if self.mode.careful else None})")
        body.put_lines("unknown = {}", "before = -1")
        keep = find_want_of_field(want, UNKNOWN) is not None
        with body.indented_block("for _ in range(n):"):
            body.put_lines("tag, at = uvarint(buf, at)", "stop, at = uvarint(buf, at)", "stop += at")
            body.fail_if("stop > end or tag <= before")
            body.put_lines("before = tag")
            word = "if"
            for inner in plan.tagged:
                with body.indented_block(f"{word} tag == {inner.tag}:"):
                    before = {inner.unless: f"into.get({inner.unless!r})"}
                    value = self.put_field(body, inner, find_want_of_field(want, inner.name), path, "{place}", before)
                    body.put_lines_updating_offset()
                    body.fail_if("at != stop")
                    if value is not None:
                        body.put_lines(f"into[{inner.name!r}] = {value}")
                word = "elif"
            with body.indented_block("else:"):
                if keep:
                    body.put_lines("unknown[tag] = buf[at:stop]")
                body.put_lines("at = stop")
        if want is not None:
            names = tuple(inner.name for inner in plan.tagged if find_want_of_field(want, inner.name) is not None)
            body.put_lines(
                f"{'put_known_tags_last_json' if self.mode.json else 'put_known_tags_last'}(into, {names!r}, unknown)"
            )
        body.put_lines("return at")
        body.add_function_to_unit()


def _plan_reads_text(plan: Plan) -> bool:
    """Whether a message has strings, whose bytes may be no UTF-8."""
    return any(
        field.kind == "string" or (field.plan is not None and _plan_reads_text(field.plan))
        for field in (*plan.fields, *plan.tagged)
    )


def does_plan_count_values(plan: Plan) -> bool:
    """Whether values must be counted, because a message has arrays or several tag sections.

    A single tag section is bounded by read_tag_count() itself.
    """
    return _has_arrays(plan) or _count_tag_sections(plan) > 1


def _has_arrays(plan: Plan) -> bool:
    return any(
        field.array or (field.plan is not None and _has_arrays(field.plan)) for field in (*plan.fields, *plan.tagged)
    )


def _count_tag_sections(plan: Plan) -> int:
    inner = sum(_count_tag_sections(field.plan) for field in (*plan.fields, *plan.tagged) if field.plan is not None)
    return inner + plan.flexible


_JSON: Final = {
    "string": "string_json({})",
    "bytes": "json_bytes({})",
    "records": "json_bytes({})",
    "uuid": "uuid_texts[{}]",
    "float64": "float_json({})",
}


class ArrayReading:
    """Generates the lines that read one array: `path` and `place` as in DecoderSource.struct, `before` its siblings."""

    def __init__(
        self,
        reading: DecoderSource,
        body: Body,
        field: PlanField,
        want: Want,
        path: str,
        place: str,
        before: dict[str, str],
    ) -> None:
        self.reading = reading
        self.body = body
        self.field = field
        self.want = want
        self.path = path
        self.place = place
        self.before = before
        self.number = body.new_variable(
            "n"
        )  # the variable of the count as read: if compact, the count plus one, 0 for null
        self.value = body.new_variable("x")
        self.count = f"{self.number} - 1" if field.compact else self.number
        # A projection of a large message keeps at most VIEW_ELEMENTS_MAX elements.
        self.capped = reading.mode.careful and reading.mode.projection and want is not None

    def put_array(self) -> str | None:
        """Put lines that read the array; returns the expression of its value, None where it is not wanted."""
        body, field, want, value = self.body, self.field, self.want, self.value
        body.add_piece("S" if field.compact else "i", self.number)
        body.put_pending()
        if field.plan is None and field.kind in FIXED and not self.reading.mode.careful and want != "count":
            self._put_number_array(LETTERS[field.kind], FIXED[field.kind])
            return None if want is None else value
        self._put_count_check()
        there = self.number if field.compact else f"{self.number} >= 0"
        if want == "count":
            body.put_lines(
                f"{value} = {self.count} if {there} else None" if field.nullable else f"{value} = {self.count}"
            )
            self.want = None
        if not field.nullable:
            self._put_elements()
        else:
            with body.indented_block(f"if {there}:"):
                self._put_elements()
                body.put_lines("pass")
            if self.want is not None:
                body.put_lines("else:", f"    {value} = None")
        return None if want is None else value

    def _put_count_check(self) -> None:
        """Put lines that check the count and advance `at` beyond it."""
        body, field, number = self.body, self.field, self.number
        body.put_lines_updating_offset()
        least = least_size_of_element(field)
        null = "_or_null" if field.nullable else ""
        if field.compact:
            long = f"{number}, at = read_long_count{null}(buf, at - 1, {body.end}, {least})"
            body.put_lines(f"if not {body.condition_of_short_size(number)}:", f"    {long}")
        else:
            sure = (
                "True" if field.plan is not None and not least_size_of_struct(field.plan) else f"not 0 <= {number} < 16"
            )
            body.put_lines(f"if {sure}:", f"    {number} = count{null}({number}, at, {body.end}, {least})")
        if self.reading.mode.careful:
            body.put_lines(
                f"if {number} > 0:", f"    spend_values(left, ({self.count}) * {count_values_of_element(field)})"
            )

    def _put_unpacked_array(self, unpack: str, at: str) -> None:
        """Put the line that makes the array from the result of an unpack_from."""
        if self.want is None:
            return
        each = self.reading.conversion_expression(self.field.kind).format("w")
        values = f"{unpack}(buf, {at})"
        self.body.put_lines(
            f"{self.value} = [*{values}]" if each == "w" else f"{self.value} = [{each} for w in {values}]"
        )

    def _put_number_array(self, letter: str, width: int) -> None:
        """Put lines that read an array of a fixed-size type by one unpack_from for its count."""
        body, field, number = self.body, self.field, self.number
        form = "%d" + letter if len(letter) == 1 else letter
        tables = make_unpack_table(form, "", 1) if field.compact else make_long_unpack_table(form, "")
        name = body.constant("table", tables) if self.want is not None else ""
        shift, body.shift = body.shift, 0
        short = body.condition_of_short_size(number) if field.compact else f"0 <= {number} < 128"
        with body.indented_block(f"if {short}:"):
            self._put_unpacked_array(f"{name}[{number}]", format_sum_expression("at", shift))
            size = number if width == 1 else f"{width} * {number}"
            body.put_lines(f"at += {format_sum_expression(size, shift - (width if field.compact else 0))}")
        null = [f"{self.value} = None"] if self.want is not None else []
        if field.nullable:
            with body.indented_block(f"elif not {number}:" if field.compact else f"elif {number} == -1:"):
                body.put_lines(*null, f"at += {shift}")
        with body.indented_block("else:"):
            if field.compact:
                long = "read_long_count_or_null" if field.nullable else "read_long_count"
                body.put_lines(
                    f"{number}, at = {long}(buf, {format_sum_expression('at', shift - 1)}, {body.end}, {width})",
                    f"{number} -= 1",
                )
            else:
                body.put_lines(f"at += {shift}", f"{number} = count({number}, at, {body.end}, {width})")
            if field.nullable and field.compact:  # a uvarint 0 of more than one byte is null too
                body.put_lines(f"if {number} < 0:", *(["    " + line for line in null] or ["    pass"]))
                with body.indented_block("else:"):
                    self._put_unpacked_array(f"make_array_unpacker({letter!r}, {number})", "at")
                    body.put_lines(f"at += {width} * {number}")
            else:
                self._put_unpacked_array(f"make_array_unpacker({letter!r}, {number})", "at")
                body.put_lines(f"at += {width} * {number}")

    def _put_elements(self) -> None:
        """Put lines that read the elements, once the count is read."""
        if self.field.plan is None:
            self._put_leaf_elements()
            return
        fixed = (
            None
            if self.capped and self.want is not None
            else make_fixed_struct(self.reading, self.field.plan, self.want)
        )
        if fixed is None:
            self._put_struct_loop(self.field.plan)
            return
        body, value, count = self.body, self.value, self.count
        many = f"{self.number} > {MANY + self.field.compact}"
        total = f"{fixed.size} * ({count})"
        if self.want is None and not fixed.tags:
            body.put_lines(f"at += {total}")
            return
        if self.want is None:
            slices = "".join(
                f" and buf[{format_sum_expression('at', n)}:at + {total}:{fixed.size}].count(0) == {count}"
                for n in fixed.tags
            )
            enough = many + slices
        else:
            each = body.constant("each", Struct(">" + fixed.form).iter_unpack)
            no_tags = f" if not ({' or '.join(fixed.tag_names)})" if fixed.tags else ""
            made = f"[{fixed.value} for {fixed.targets} in {each}(buf[at:at + {total}]){no_tags}]"
            enough = f"{many} and len({value} := {made}) == {count}"
        body.put_lines(f"if {enough}:", f"    at += {total}")
        with body.indented_block("else:"):
            self._put_struct_loop(self.field.plan)

    def _put_leaf_elements(self) -> None:
        """Put lines that read elements of a primitive type: fixed-size ones at once, the others one by one."""
        body, field = self.body, self.field
        width = FIXED.get(field.kind)
        if width is not None:
            count = f"limit_to_room(left, {self.count})" if self.capped else self.count
            self._put_unpacked_array(f"make_array_unpacker({LETTERS[field.kind]!r}, {count})", "at")
            body.put_lines(f"at += {width} * ({self.count})")
            return
        if self.want is not None:
            body.put_lines(f"{self.value} = []")
        with body.indented_block(f"for _ in {self._index_range_expression()}:"):
            if field.kind in {"string", "bytes", "records"}:
                item = self.reading.put_sized(body, field, False, self.want, self.path + "[]", self.before)
            else:
                item = self.reading.put_number(body, field, self.want, "")
            body.put_lines_updating_offset()
            if item is not None:
                self._put_append_of_value(item)

    def _index_range_expression(self) -> str:
        """The expression of a range of the indices 0, 1, 2 … below the count."""
        kept = self.body.constant("ranges", codegen_support.RANGES)
        index = self.number if self.field.compact else f"{self.number} + 1"
        return f"({kept}[{index}] if {self.number} < 127 else range({self.count}))"

    def _put_struct_loop(self, plan: Plan) -> None:
        """Put the loop that reads structs one by one."""
        body = self.body
        if self.want is not None:
            body.put_lines(f"{self.value} = []")
        index = body.new_variable("i")
        with body.indented_block(f"for {index} in {self._index_range_expression()}:"):
            if any(inner.array and inner.kind not in FIXED for inner in plan.fields):
                body.fail_if(f"at > {body.end}")  # a short message in a long buffer must not be read far beyond its end
            each = self.reading.put_struct(body, plan, self.want, self.path + "[].", f"{self.place}[{{{index}}}].")
            body.put_lines_updating_offset()
            if self.want is not None:
                self._put_append_of_value(str(each))

    def _put_append_of_value(self, value: str) -> None:
        """Put the line that appends an element; projections of large messages append only while there is room."""
        if self.capped:
            self.body.put_lines("if limit_to_room(left, 1):", f"    {self.value}.append({value})")
        else:
            self.body.put_lines(f"{self.value}.append({value})")


class FixedStruct(NamedTuple):
    """A struct that has a fixed size without tagged fields: `tags` are the offsets of its tag counts."""

    form: str
    size: int
    targets: str
    value: str
    tags: list[int]
    tag_names: list[str]


def make_fixed_struct(reading: DecoderSource, plan: Plan, want: Want) -> FixedStruct | None:
    """How to read a struct in one step; None where its size varies, it has a secret, or its errors are wanted."""
    pieces: list[Piece] = []
    value = _flatten_fixed_fields(reading, plan, want, pieces, want is not None)
    if value is None:
        return None
    form = format_of_pieces(pieces)
    tags = [number for number, piece in enumerate(pieces) if piece.letter == "S"]
    offsets = [Struct(">" + format_of_pieces(pieces[:number])).size for number in tags]
    if want is not None and not any(piece.target for piece in pieces if piece.letter != "S"):
        return None
    return FixedStruct(
        form, Struct(">" + form).size, targets_of_pieces(pieces), value, offsets, [pieces[n].target for n in tags]
    )


def _flatten_fixed_fields(
    reading: DecoderSource, plan: Plan, want: Want, pieces: list[Piece], tags: bool
) -> str | None:
    """Add a struct's pieces to `pieces`; returns the expression of its value, None where one step cannot read it."""
    entries: list[str] = []
    for field in plan.fields:
        part: Any = want.get(field.name) if isinstance(want, dict) else want
        if field.array or (field.plan is not None and field.nullable) or field.secret:
            return None
        if field.plan is not None:
            inner = _flatten_fixed_fields(reading, field.plan, part, pieces, tags)
            if inner is None:
                return None
            value = inner
        elif field.kind in FIXED:
            if reading.mode.errors and field.name.endswith("error_code"):
                return None
            target = reading.unit.new_variable("v") if part is not None else ""
            pieces.append(Piece(LETTERS[field.kind], target))
            value = reading.conversion_expression(field.kind).format(target)
        else:
            return None
        if part is not None:
            entries.append(f"{field.name!r}: {value}")
    if plan.flexible:
        pieces.append(Piece("S", reading.unit.new_variable("t") if tags else ""))
    return "{" + ", ".join(entries) + "}"
