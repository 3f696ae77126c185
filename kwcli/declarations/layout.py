"""A message and a version in; what that version looks like on the wire, as values that can be compared, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as slot

from decoders.schema.model import Field, Message


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of one version. `default` is a literal or None; `has_default` False means the type's own."""

    name: str
    type: str
    nullable: bool
    tag: int | None
    default: object
    has_default: bool
    ignorable: bool
    key: bool
    entity: str
    cells: tuple[Cell, ...]
    was: tuple[str, ...] = slot(default=(), compare=False)


def cells(fields: Iterable[Field], version: int) -> tuple[Cell, ...]:
    """Plain fields in wire order, then tagged ones by tag."""
    plain: list[Cell] = []
    tagged: list[Cell] = []
    for field in fields:
        if version not in field.versions:
            continue
        tag = field.tag if version in field.tagged else None
        cell = Cell(
            field.name,
            "[]" * field.array + field.kind,
            version in field.nullable,
            tag,
            field.default,
            field.has_default and (field.default is not None or version in field.nullable),
            field.ignorable,
            field.key,
            field.entity,
            cells(field.fields, version),
            field.was,
        )
        (plain if tag is None else tagged).append(cell)
    return *plain, *sorted(tagged, key=lambda cell: cell.tag or 0)


def layout(message: Message, version: int) -> tuple[Cell, ...]:
    return cells(message.fields, version)


def paired(ours: Iterable[Cell], theirs: Iterable[Cell]) -> Iterator[tuple[Cell | None, Cell | None]]:
    """Fields that stand for each other: by place when plain, by tag when tagged; None where a side has no more."""
    ours, theirs = list(ours), list(theirs)
    plain = [[cell for cell in side if cell.tag is None] for side in (ours, theirs)]
    for place in range(max(map(len, plain))):
        one, other = (side[place] if place < len(side) else None for side in plain)
        yield one, other
    tags = [{cell.tag: cell for cell in side if cell.tag is not None} for side in (ours, theirs)]
    for tag in sorted(tags[0].keys() | tags[1].keys()):
        yield tags[0].get(tag), tags[1].get(tag)


def wire_type(word: str) -> str:
    """Definitions up to 2.7 call records `bytes`: the bytes are the same."""
    return "bytes" if word == "records" else word


def compatible(ours: Iterable[Cell], theirs: Iterable[Cell]) -> bool:
    """Whether bytes of `theirs` read as `ours` mean the same: ours may only know more tags."""
    for one, other in paired(ours, theirs):
        if other is None:
            if one is None or one.tag is None:
                return False
        elif one is None or not _agree(one, other):
            return False
    return True


def _agree(one: Cell, other: Cell) -> bool:
    same = one.nullable == other.nullable and wire_type(one.type) == wire_type(other.type)
    return same and compatible(one.cells, other.cells)
