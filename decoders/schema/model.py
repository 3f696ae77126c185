"""The shapes of the schema machine: what a declaration says (Api, Field), and what one version of it is (Plan)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

Side = Literal["request", "response"]
FOREVER: Final = 32767

# Primitive words of a declaration. Fixed ones have a size on the wire in bytes.
FIXED: Final[dict[str, int]] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
VARIABLE: Final = frozenset({"string", "bytes", "records", "varint", "varlong", "uvarint"})
PRIMITIVES: Final = frozenset(FIXED) | VARIABLE


class Versions(NamedTuple):
    """An inclusive range of versions; empty when `low > high`."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """`5`, `0-13`, `9+` or `none`."""
        if text == "none":
            return NONE
        if text.endswith("+"):
            return cls(int(text[:-1]), FOREVER)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __contains__(self, version: int) -> bool:  # type: ignore[override]  # a range, which happens to be a pair
        return self.low <= version <= self.high

    def __and__(self, other: Versions) -> Versions:
        return Versions(max(self.low, other.low), min(self.high, other.high))

    def __bool__(self) -> bool:
        return self.low <= self.high

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.high == FOREVER:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


NONE: Final = Versions(0, -1)
ALL: Final = Versions(0, FOREVER)

Default = bool | int | float | str | None


class Field(NamedTuple):
    """One line of a declaration. `kind` is a primitive word or `struct`; `fields` holds a struct's own fields."""

    name: str
    kind: str
    array: bool
    versions: Versions
    nullable: Versions = NONE
    tag: int | None = None
    tagged: Versions = NONE
    default: Default = None  # as declared; None with has_default False means the type's own (0, "", empty)
    has_default: bool = False
    ignorable: bool = False
    key: bool = False
    flexible: bool = True  # False: never compact, whatever the message (the client id of request headers)
    secret: bool = False
    unless: str = ""  # the sibling before it that holds a config's name: secret unless that name is known to be public
    entity: str = ""
    was: tuple[str, ...] = ()
    since: str = ""  # the release that put a tagged field into versions that were out already
    struct: str = ""  # the common struct's name, where it is one
    fields: tuple[Field, ...] = ()


class Message:
    """One direction of an API, or a structure of its own: its fields over all its versions."""

    __slots__ = ("fields", "flexible", "name", "plans", "versions")

    def __init__(self, name: str, versions: Versions, flexible: Versions, fields: tuple[Field, ...]) -> None:
        self.name = name
        self.versions = versions
        self.flexible = flexible
        self.fields = fields
        self.plans: dict[int, Plan] = {}  # what resolve() has made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._told() == other._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def __repr__(self) -> str:
        return f"Message{self._told()!r}"

    def _told(self) -> tuple[object, ...]:
        return self.name, self.versions, self.flexible, self.fields


class Api(NamedTuple):
    """One API: `early` holds layouts of unstable releases, {(side, version, release): message}."""

    key: int
    name: str
    versions: Versions
    flexible: Versions
    request: Message
    response: Message
    listeners: tuple[str, ...] = ()
    was: tuple[str, ...] = ()
    early: Mapping[tuple[Side, int, str], Message] = MappingProxyType({})

    def message(self, side: Side) -> Message:
        """The declaration of one direction."""
        return self.request if side == "request" else self.response


class PlanField(NamedTuple):
    """One field of one version, ready to be turned into code.

    `default` is a Python value in its final form (0, "", b"", None, uuid as 16 bytes, [] as a tuple (), a struct's
    default as the string "struct").
    """

    name: str
    kind: str
    array: bool
    nullable: bool
    compact: bool
    tag: int | None
    default: object
    ignorable: bool
    secret: bool
    entity: str
    plan: Plan | None  # a struct's, or an array of structs' element
    unless: str = ""  # as Field.unless; the JSON decoder asks `public(name)`, which it is given, about that sibling


class Plan:
    """A struct or message at one version: plain fields in wire order, tagged ones by ascending tag.

    Plans are compared by identity; `absent` holds declared fields that this version lacks, `made` the functions that
    compile.py has made of this one, `written` how much was encoded without any.
    """

    __slots__ = ("absent", "fields", "flexible", "made", "name", "tagged", "version", "written")

    def __init__(
        self,
        name: str,
        version: int,
        flexible: bool,
        fields: tuple[PlanField, ...],
        tagged: tuple[PlanField, ...],
        absent: dict[str, Field] | None = None,
    ) -> None:
        self.name = name
        self.version = version
        self.flexible = flexible
        self.fields = fields
        self.tagged = tagged
        self.absent = absent or {}
        self.made: dict[object, Callable[..., Any]] = {}
        self.written = 0

    def __repr__(self) -> str:
        return f"Plan({self.name!r}, {self.version})"
