"""A large body in, its JSON form out with long arrays deferred: their elements are read again as they are written.

The problem. A body of some MiB may hold millions of structs, each of which takes a hundred times its bytes as a value.

The idea. Read such a body twice. First the walker reads it, and steps over each long array by generated code that keeps
nothing (`check_message`); this finds the end, and the failure if there is one. Then, while the body is written out, a
DeferredArray reads elements in pieces of PIECE bytes:

```
body   │ field │ long array ………………………………… │ field │
walk   │ value │ Unread(at, end, count)          │ value │        LargeWalker
form   │ JSON  │ DeferredArray                   │ JSON  │        _LargeForm
write          └► [ 64 KiB ][ 64 KiB ] …                         small elements: the JSON decoder; large: this way again
```

What always holds: the same JSON, and the same failure at the same place, as the walker gives. Bodies up to
BODY_WHOLE_MAX never come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, Protocol

from decoders.errors import DecodeError, LimitExceeded, Malformed, strip_traceback
from decoders.limits import METRICS_SIZE_MAX, PIECE, VALUE_WHOLE_MAX, VALUES_MAX
from decoders.schema.api_declaration import FIXED, Plan, PlanField, least_size_of_element
from decoders.schema.body_json_form import Hook, JsonForm
from decoders.schema.codegen_support import CRUDE, make_array_unpacker
from decoders.schema.decode_and_encode import find_failure, make_trailing_error
from decoders.schema.field_projection import SIZED
from decoders.schema.lazy_decoder import JsonDecoder, get_json_decoder, get_projector
from decoders.schema.plan_walker import ReadingRemark, Walker, call_at_path, count_values_of_element
from decoders.wire.deferred_json import DeferredList, DeferredText
from decoders.wire.primitive_types import LETTERS, check_bytes_left, read_size

_NOTHING: Final[frozenset[str]] = frozenset()


def find_message_end(plan: Plan, data: bytes, at: int, end: int) -> int:
    """Check a message without keeping any value; returns the offset after it. Raises one of CRUDE."""
    return get_projector(plan, _NOTHING, False)(data, at, end)[2]


class Spent(Protocol):
    """The budget that hooks spend; `remaining` is set back before the same elements are read again."""

    remaining: Any


class BodyReader:
    """How the fields of a message become JSON: the arguments of to_json(), and the budget that the hooks spend."""

    __slots__ = ("budget", "hooks", "reveal", "table")

    def __init__(
        self, hooks: Mapping[str, str], table: Mapping[str, Hook], *, reveal: bool, budget: Spent | None = None
    ) -> None:
        self.hooks = hooks
        self.table = table
        self.reveal = reveal
        self.budget = budget

    def read(
        self, plan: Plan, data: bytes, at: int, end: int, path: str = ""
    ) -> tuple[dict[str, Any], int, DecodeError | None]:
        """The fields that can be read before the first failure, the offset after them, and that failure (or None)."""
        walker = LargeWalker(data)
        failure: DecodeError | None = None
        after = at
        try:
            after = walker.read(plan, at, end)
            if walker.remarks:
                failure = _make_remark_failure(walker.remarks[0])
        except DecodeError as found:
            failure = strip_traceback(found)
        return _LargeForm(self).struct_json(plan, walker.root, path), after, failure


def decode_partial_large(
    plan: Plan, data: bytes, at: int, end: int, reader: BodyReader
) -> tuple[dict[str, Any], DecodeError | None]:
    """A large body as by decode_partial() with `json`: the fields before the first failure, and that failure."""
    body, after, failure = reader.read(plan, data, at, end)
    if failure is None and after != end:
        failure = make_trailing_error(after, end)
    return body, failure or LimitExceeded(f"more than {VALUES_MAX} values in one message", offset=at)


def decode_without_long_arrays(plan: Plan, data: bytes, at: int, end: int) -> tuple[dict[str, Any], DecodeError | None]:
    """The Python values before the first failure, without the long arrays, and that failure (None if none)."""
    walker = LargeWalker(data)
    failure = find_failure(walker, plan, at, end)
    return _drop_deferred_arrays(walker.root), failure


def _make_remark_failure(remark: ReadingRemark) -> DecodeError:
    """The failure of a large body at what a small one is read with: long arrays are read by generated code alone."""
    return Malformed(f"{remark.text}, in a large message", offset=remark.at, path=remark.path)


class Unread:
    """A long array that the walker has stepped over; `rest` holds the part that was read of a broken element."""

    __slots__ = ("at", "count", "data", "end", "field", "rest")

    def __init__(self, field: PlanField, data: bytes, at: int, end: int, count: int) -> None:
        self.field = field
        self.data = data
        self.at = at
        self.end = end
        self.count = count
        self.rest: list[Any] = []


class LargeWalker(Walker):
    """A Walker that leaves long arrays unread: their value is an Unread."""

    __slots__ = ()

    def _read_array(self, field: PlanField, at: int, end: int, into: dict[str, Any], path: str) -> int:
        buf = self._buf
        count, start = read_size(True, field.compact, field.nullable, buf, at, end)
        if count < 0 or end - start <= PIECE:
            return super()._read_array(field, at, end, into, path)
        check_bytes_left(count, least_size_of_element(field), start, end)
        try:
            after = find_message_end(_make_plan_of_array(field), buf, at, end)
        except CRUDE:
            return self._read_failing_array(field, start, end, count, into, path)
        if after - start <= PIECE:
            return super()._read_array(field, at, end, into, path)
        into[field.name] = Unread(field, buf, start, after, count)
        return after

    def _read_failing_array(
        self, field: PlanField, at: int, end: int, count: int, into: dict[str, Any], path: str
    ) -> int:
        """Step over an array that cannot be read to its end: the elements before the broken one stay unread."""
        self._charge_values(count * count_values_of_element(field), at)
        unread = into[field.name] = Unread(field, self._buf, at, at, 0)
        for number in range(count):
            place = f"{path}[{number}]"
            try:
                at = unread.end = find_message_end(_make_plan_of_element(field), self._buf, at, end)
                unread.count += 1
            except CRUDE:
                held: dict[str, Any] = {}
                if field.plan is not None:
                    unread.rest.append(held)
                    at = self._read_struct(field.plan, at, end, held, place)
                else:
                    _, at = call_at_path(place, self._read_element, field, at, end, place)
                if self.remarks:
                    raise _make_remark_failure(self.remarks[0]) from None
        raise LimitExceeded(f"more than {VALUES_MAX} values in one message", offset=at, path=path)


class DeferredArray(DeferredList):
    """The elements of an Unread array in JSON form, read when they are iterated."""

    __slots__ = ("_began", "_path", "_reader", "_unread")

    def __init__(self, unread: Unread, reader: BodyReader, path: str) -> None:
        self._began: Any = None
        self._unread = unread
        self._reader = reader
        self._path = path

    def holds_structs(self) -> bool:
        """Whether the elements are structs, not plain values."""
        return self._unread.field.plan is not None

    def chunks(self) -> Iterator[list[Any]]:
        """The elements in lists of about PIECE bytes."""
        unread = self._unread
        field = unread.field
        budget = self._reader.budget
        if budget is not None:
            if self._began is None:
                self._began = budget.remaining
            budget.remaining = self._began
        if field.plan is not None:
            yield from self._chunks_of_structs(field.plan)
        elif field.kind in FIXED:
            yield from self._chunks_of_numbers(FIXED[field.kind])
        else:
            yield from self._chunks_of_leaves()
        if unread.rest:
            assert field.plan is not None
            form = _LargeForm(self._reader)
            yield [form.struct_json(field.plan, held, self._path + "[].") for held in unread.rest]

    def _chunks_of_structs(self, plan: Plan) -> Iterator[list[Any]]:
        unread, reader = self._unread, self._reader
        data, at, end = unread.data, unread.at, unread.end
        prefix = self._path + "[]."
        hooks = {path[len(prefix) :]: name for path, name in reader.hooks.items() if path.startswith(prefix)}
        decode: JsonDecoder = get_json_decoder(plan, hooks, reader.reveal)
        step = get_projector(plan, _NOTHING, False)
        chunk: list[Any] = []
        size = 0
        for _ in range(unread.count):
            after = step(data, at, end)[2]
            size += after - at
            if after - at > PIECE:
                chunk.append(reader.read(plan, data, at, after, prefix)[0])
            else:
                chunk.append(decode(data, at, after, reader.table)[0])
            at = after
            if size > PIECE:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _chunks_of_numbers(self, width: int) -> Iterator[list[Any]]:
        unread = self._unread
        field, at = unread.field, unread.at
        form = _LargeForm(self._reader)
        left = unread.count
        while left:
            count = min(max(PIECE // width, 1), left)
            values = make_array_unpacker(LETTERS[field.kind], count)(unread.data, at)
            yield [form.element_json(field, value, self._path + "[]", {}) for value in values]
            at += width * count
            left -= count

    def _chunks_of_leaves(self) -> Iterator[list[Any]]:
        unread = self._unread
        form = _LargeForm(self._reader)
        walker = Walker(unread.data)
        at = begun = unread.at
        chunk: list[Any] = []
        for _ in range(unread.count):
            value, at = walker.read_array_element(unread.field, at, unread.end)
            chunk.append(form.element_json(unread.field, value, self._path + "[]", {}))
            if at - begun > PIECE:
                yield chunk
                chunk, begun = [], at
        if chunk:
            yield chunk


class _LargeForm(JsonForm):
    """Makes the JSON form of the values that a LargeWalker has read."""

    __slots__ = ("_reader",)

    def __init__(self, reader: BodyReader) -> None:
        super().__init__(reader.hooks, reader.table, reader.reveal)
        self._reader = reader

    def field_json(self, field: PlanField, value: Any, path: str, owner: Mapping[str, Any]) -> Any:
        if isinstance(value, Unread):
            return DeferredArray(value, self._reader, path)
        return super().field_json(field, value, path, owner)

    def hook_json(self, kind: str, hook: str, value: Any, owner: Mapping[str, Any]) -> Any:
        if kind == "bytes" and value is not None and len(value) > METRICS_SIZE_MAX:
            return self.leaf_json(kind, value)  # no structure is looked for in so many bytes
        return super().hook_json(kind, hook, value, owner)

    def leaf_json(self, kind: str, value: Any) -> Any:
        if kind in SIZED and value is not None and len(value) > VALUE_WHOLE_MAX:
            if isinstance(value, str):
                return DeferredText(value.encode("utf-8", "surrogateescape"), text=True)
            return DeferredText(value)
        return super().leaf_json(kind, value)


@cache
def _make_plan_of_array(field: PlanField) -> Plan:
    """The plan of a message that holds this array alone."""
    return Plan(field.name, 0, flexible=False, fields=(field,), tagged=())


@cache
def _make_plan_of_element(field: PlanField) -> Plan:
    """The plan of a message that holds one element of this array."""
    if field.plan is not None:
        return field.plan
    return Plan(field.name, 0, flexible=False, fields=(field._replace(array=False, nullable=False),), tagged=())


def _drop_deferred_arrays(value: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _drop_deferred_arrays(item) if isinstance(item, dict) else item
        for name, item in value.items()
        if not isinstance(item, Unread)
    }
