"""The text of a declaration in, its model out; a model and a version in, the plan of that version out.

`Api` and `Field` hold what a declaration says about all versions. `Plan` and `PlanField` hold one version: which fields
it has, and in what form.
Everything else in this folder works on plans.

"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

from decoders.errors import UnsupportedVersion
from decoders.named_tuple import NamedTuple
from decoders.wire.primitive_types import uuid_to_bytes

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
        """The range that a declaration writes as `5`, `0-13`, `9+` or `none`."""
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

    @property
    def is_empty(self) -> bool:
        """Whether the range has no version; compiled code has to ask for it, since it takes each pair for true."""
        return self.low > self.high

    def __bool__(self) -> bool:
        return not self.is_empty

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
    default: Default = None  # as declared; None with has_default False means the type's default (0, "", empty)
    has_default: bool = False
    ignorable: bool = False
    key: bool = False
    flexible: bool = True  # False: never compact, even in flexible versions (the client id of request headers)
    secret: bool = False
    unless: str = ""  # the sibling before it that holds a config's name: secret unless that name is known to be public
    entity: str = ""
    means: str = ""  # the set in decoders/protocol_facts/enum_words.py that has words for some of its numbers
    was: tuple[str, ...] = ()
    since: str = ""  # the release that added a tagged field to versions that were already released
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
        self.plans: dict[int, Plan] = {}  # by version; resolve() fills it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._values_to_compare() == other._values_to_compare()

    def __hash__(self) -> int:
        return hash(self._values_to_compare())

    def __repr__(self) -> str:
        return f"Message{self._values_to_compare()!r}"

    def _values_to_compare(self) -> tuple[object, ...]:
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
        """The request or response message as declared for stable versions."""
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
    plan: Plan | None  # of a struct, or of one element of an array of structs
    means: str = ""  # as Field.means
    unless: str = ""  # as Field.unless; the JSON decoder asks `public(name)`, which it is given, about that sibling


class Plan:
    """A struct or message at one version: plain fields in wire order, tagged ones by ascending tag.

    Plans are compared by identity. `absent` holds declared fields that this version lacks, `made` the functions that
    lazy_decoder.py has made for this plan, `written` how much was encoded before an encoder was generated.
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


# The notation of declarations

# A declaration is one text block. Its head lines give a word and its value; a section (`request`, `response`, `fields`,
# `struct NAME VERSIONS`, `early SIDE VERSION in RELEASE…`) holds one field a line, children indented below:
#     api 1 Fetch                     or: message ConsumerProtocolSubscription
#     versions 0-18
#     flexible 12+                    `none` if no version is
#     listeners broker controller
#     was OlderName
#     route leader topics[].topic
#     request
#         cluster_id   string    12+  null 12+  tag 0  = null  ignorable
#         topics       []struct  0+
#             topic    string    0-12  is topicName  was name
#     NAME TYPE VERSIONS then any of: `null V` nullable versions · `tag N [V]` tagged (in V, else in all its versions) ·
#     `= LITERAL` default (JSON, no blanks) · `ignorable` · `key` map key · `inflexible` never compact · `secret` ·
#     `secret unless FIELD` (a config value: unless FIELD, a sibling before it, holds a name known to be public) ·
#     `is ENTITY` · `means SET` words for numbers (decoders/protocol_facts/enum_words.py) · `was NAME[,NAME]` older
# names ·
#     `since RELEASE` a tagged field that this release added to versions that were already released.
#     TYPE is a primitive, `struct`, a common struct's name, or [] of these.
# The other sections of an API (FACTS) are kept as text, which may go on in indented lines: each is read by the module
# that uses it, when it is first asked for. A line of them that begins with `#` is a note for people.


# The sections of facts, in the order in which they are written, and who reads them:
# protocol_facts/request_routing (three), replaying/classify_apis_for_replay, protocol_facts/errors/errors_by_api
# (three), the text output, protocol_facts/example_requests.
FACTS: Final = (
    *("route", "sent", "mutates", "replay", "errors_listed", "errors_observed", "errors_expected", "line", "example"),
)

_parse_versions: Final = cache(Versions.parse)
# What Python calls otherwise in JSON.
JSON_WORDS: Final[dict[str, Default]] = {"null": None, "true": True, "false": False}


class DeclarationError(Exception):
    """A declaration that does not follow the vocabulary; the text names the line."""


class Section(NamedTuple):
    """A section of facts: the text after its word, without notes, and the place for what is wrong with it."""

    place: str
    text: str

    def error(self, text: str) -> DeclarationError:
        """The error for a reader to raise."""
        return DeclarationError(f"{self.place}: {text}")


def find_section(text: str, word: str) -> Section | None:
    """A section of facts in the text of a declaration, where it has it; nothing else in the text is read."""
    begin = f"\n{word}"
    at = text.find(begin)
    while at >= 0 and text[at + len(begin) :][:1] not in " \n":
        at = text.find(begin, at + 1)
    if at < 0:
        return None
    first, *below = text[at + len(begin) :].split("\n")
    lines = [first]
    for line in below:
        if not line.startswith(" "):
            break
        if not line.lstrip().startswith("#"):
            lines.append(line)
    return Section(f"line {text.count(chr(10), 0, at + 1) + 1}: {word}", "\n".join(lines).strip())


class _Line:
    __slots__ = ("children", "depth", "number", "words")

    def __init__(self, number: int, depth: int, words: list[str]) -> None:
        self.number = number
        self.depth = depth
        self.words = words
        self.children: list[_Line] = []


def _parse_line_tree(text: str) -> list[_Line]:
    roots: list[_Line] = []
    stack: list[_Line] = []
    is_fact = False
    for number, raw in enumerate(text.split("\n"), 1):
        indented = raw[:1] == " "
        if indented and is_fact:
            continue
        words = raw.split()
        if not words or words[0][0] == "#":
            continue
        if not indented:
            is_fact = words[0] in FACTS
        line = _Line(number, raw.index(words[0]), words)
        while stack and stack[-1].depth >= line.depth:
            stack.pop()
        (stack[-1].children if stack else roots).append(line)
        stack.append(line)
    return roots


def _declaration_error(line: _Line, text: str) -> DeclarationError:
    return DeclarationError(f"line {line.number}: {text}: {' '.join(line.words)}")


def _parse_field(line: _Line, commons: dict[str, _Line]) -> Field:
    if len(line.words) < 3:
        raise _declaration_error(line, "a field needs a name, a type and versions")
    name, kind, versions_text, *rest = line.words
    array = kind.startswith("[]")
    kind = kind.removeprefix("[]")
    versions = _parse_versions(versions_text)
    options: dict[str, object] = {}
    words = iter(rest)
    struct = ""
    children = line.children
    if kind not in PRIMITIVES and kind != "struct":
        if kind not in commons:
            raise _declaration_error(line, f"no type {kind!r}")
        struct, kind, children = kind, "struct", commons[kind].children
    pending = next(words, None)
    while pending is not None:
        word, pending = pending, None
        pending = _parse_option(line, word, words, versions, options)
    if bool(children) != (kind == "struct"):
        raise _declaration_error(line, "a struct has fields, nothing else has")
    fields = tuple(_parse_field(child, commons) for child in children)
    return Field(name, kind, array, versions, struct=struct, fields=fields, **options)  # type: ignore[arg-type]  # options are checked by word


def _parse_option(
    line: _Line, word: str, words: Iterator[str], versions: Versions, options: dict[str, object]
) -> str | None:
    """Read one option into `options`; returns the word after the option, None at the end of the line."""
    if word in {"ignorable", "key"}:
        options[word] = True
    elif word == "secret":
        options[word] = True
        after = next(words, None)
        if after != "unless":
            return after
        options[after] = _next_word(line, words)
    elif word == "inflexible":
        options["flexible"] = False
    elif word == "null":
        options["nullable"] = _parse_versions(_next_word(line, words))
    elif word == "is":
        options["entity"] = _next_word(line, words)
    elif word == "means":
        options["means"] = _next_word(line, words)
    elif word == "since":
        options["since"] = _next_word(line, words)
    elif word == "was":
        options["was"] = tuple(_next_word(line, words).split(","))
    elif word == "=":
        options["default"] = _parse_literal(line, _next_word(line, words))
        options["has_default"] = True
    elif word == "tag":
        options["tag"] = int(_next_word(line, words))
        options["tagged"] = versions
        after = next(words, None)
        if after is None or not _is_range(after):
            return after if after is not None else next(words, None)
        options["tagged"] = _parse_versions(after)
    else:
        raise _declaration_error(line, f"no word {word!r}")
    return next(words, None)


def _is_range(text: str) -> bool:
    """Whether a word is a range of versions (Versions.parse)."""
    return text == "none" or text.replace("-", "", 1).removesuffix("+").isdecimal()


def _next_word(line: _Line, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise _declaration_error(line, "a value is missing at the end")
    return value


def _parse_literal(line: _Line, text: str) -> Default:
    """The value of a JSON literal without escapes. Importing json would cost as much as all other imports together."""
    if text in JSON_WORDS:
        return JSON_WORDS[text]
    if text.removeprefix("-").isdecimal():
        return int(text)
    # Seldom reached: expressions are compiled here, as compiling them takes as long as half of this module's import.
    if re.fullmatch(r'"[^"\\]*"', text):
        return text[1:-1]
    if re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
        return float(text)
    raise _declaration_error(line, f"{text!r} is no plain literal")


class _Head:
    """The head lines and sections of one declaration."""

    def __init__(self, text: str) -> None:
        self.kind = ""
        self.key = -1
        self.name = ""
        self.words: dict[str, list[str]] = {}
        self.sections: dict[str, _Line] = {}
        self.commons: dict[str, _Line] = {}
        self.early: list[_Line] = []
        for line in _parse_line_tree(text):
            word, *rest = line.words
            if word == "api":
                self.kind, self.key, self.name = word, int(rest[0]), rest[1]
            elif word == "message":
                self.kind, self.name = word, rest[0]
            elif word == "struct":
                self.commons[rest[0]] = line
            elif word == "early":
                self.early.append(line)
            elif word in {"request", "response", "fields"}:
                self.sections[word] = line
            elif word in {"versions", "flexible", "listeners", "was"}:
                self.words[word] = rest
            elif word not in FACTS:
                raise _declaration_error(line, f"no word {word!r}")

    def versions(self, word: str) -> Versions:
        values = self.words.get(word)
        return _parse_versions(values[0]) if values else NONE

    def message(self, name: str, line: _Line | None) -> Message:
        children = line.children if line else []
        fields = tuple(_parse_field(child, self.commons) for child in children)
        return Message(name, self.versions("versions"), self.versions("flexible"), fields)


def parse_api(text: str) -> Api:
    """The API that a declaration describes. Raises DeclarationError."""
    head = _Head(text)
    if head.kind != "api":
        raise DeclarationError("line 1: a declaration of an API begins with `api KEY NAME`")
    early: dict[tuple[Side, int, str], Message] = {}
    for line in head.early:
        side, version, _, *releases = line.words[1:]
        message = head.message(f"{head.name}{side.capitalize()}", line)
        for release in releases:
            early[side, int(version), release] = message  # type: ignore[index]  # checked by proxy/check_without_starting.py
    return Api(
        head.key,
        head.name,
        head.versions("versions"),
        head.versions("flexible"),
        head.message(head.name + "Request", head.sections.get("request")),
        head.message(head.name + "Response", head.sections.get("response")),
        tuple(head.words.get("listeners", ())),
        tuple(head.words.get("was", ())),
        early,
    )


def parse_message(text: str) -> Message:
    """The structure that a declaration describes. Raises DeclarationError."""
    head = _Head(text)
    if head.kind != "message":
        raise DeclarationError("line 1: a declaration of a structure begins with `message NAME`")
    return head.message(head.name, head.sections.get("fields"))


# Plans of versions


# The default value that stands for "every field of the struct at its default".
STRUCT_DEFAULT: Final = "struct"


def resolve(message: Message, version: int) -> Plan:
    """The plan of one version; the same object each time. Raises UnsupportedVersion."""
    plan = message.plans.get(version)
    if plan is None:
        if version not in message.versions:
            raise UnsupportedVersion(f"{message.name} has versions {message.versions}, not {version}")
        plan = _make_plan(message.name, message.fields, version, version in message.flexible)
        message.plans[version] = plan
    return plan


def _make_plan(name: str, fields: tuple[Field, ...], version: int, flexible: bool) -> Plan:
    plain: list[PlanField] = []
    tagged: list[PlanField] = []
    for field in fields:
        if version in field.versions:
            (tagged if field.tag is not None and version in field.tagged else plain).append(
                _make_plan_field(name, field, version, flexible)
            )
    tagged.sort(key=lambda field: field.tag or 0)
    names = {field.name for field in (*plain, *tagged)}
    absent = {field.name: field for field in fields if field.name not in names}
    return Plan(name, version, flexible, tuple(plain), tuple(tagged), absent)


def _make_plan_field(owner: str, field: Field, version: int, flexible: bool) -> PlanField:
    nullable = version in field.nullable
    plan = None
    if field.kind == "struct":
        plan = _make_plan(field.struct or f"{owner}.{field.name}", field.fields, version, flexible)
    return PlanField(
        field.name,
        field.kind,
        field.array,
        nullable,
        flexible and field.flexible,
        field.tag if field.tag is not None and version in field.tagged else None,
        default_value(field, nullable=nullable),
        field.ignorable,
        field.secret,
        field.entity,
        plan,
        field.means,
        field.unless,
    )


def default_value(field: Field, *, nullable: bool) -> object:
    """A field's default in its final form (see PlanField); `nullable`: the version meant allows null."""
    value = field.default
    if field.has_default and value is None and nullable:
        return None
    if field.array:
        return ()
    if field.kind == "struct":
        return STRUCT_DEFAULT
    if field.kind == "records":
        return None if nullable else b""
    if field.kind == "bytes":
        return b""
    if field.kind == "string":
        return "" if value is None else str(value)
    if field.kind == "uuid":
        return bytes(16) if value is None else uuid_to_bytes(value)
    if field.kind == "bool":
        return value in (True, "true")
    if field.kind == "float64":
        return 0.0 if value is None else float(value)
    if isinstance(value, str):
        return int(value, 0)
    return 0 if value is None else int(value)


def equals_default(field: Field, value: object) -> bool:
    """Whether a value equals the default of a field that a version lacks, so that leaving it out loses nothing."""
    if value is None:
        return field.kind == "records" or (field.has_default and field.default is None)
    if field.array:
        return isinstance(value, list | tuple) and not value and not (field.has_default and field.default is None)
    if field.kind == "struct":
        inner = {child.name: child for child in field.fields}
        return isinstance(value, dict) and all(
            name in inner and equals_default(inner[name], value[name]) for name in value
        )
    default = default_value(field, nullable=False)
    if field.kind == "uuid":
        try:
            return uuid_to_bytes(value) == default
        except ValueError:
            return False
    if field.kind in {"string", "bytes"} and field.has_default and field.default is None:
        return False
    return bool(value == default)


def least_size_of_field(field: PlanField) -> int:
    """The least number of bytes that one untagged value of this field takes on the wire."""
    if field.array:
        return 1 if field.compact else 4
    if field.plan is not None:
        return 1 if field.nullable else least_size_of_struct(field.plan)
    return least_size_of_element(field)


def least_size_of_element(field: PlanField) -> int:
    """The least number of bytes that an element of an array field takes; never 0, so that counts are always bounded."""
    if field.plan is not None:
        return max(1, least_size_of_struct(field.plan))
    fixed = FIXED.get(field.kind)
    if fixed is not None:
        return fixed
    if field.compact or field.kind not in {"string", "bytes", "records"}:
        return 1
    return 2 if field.kind == "string" else 4


def least_size_of_struct(plan: Plan) -> int:
    """The least number of bytes that a struct takes on the wire."""
    return sum(least_size_of_field(field) for field in plan.fields) + (1 if plan.flexible else 0)
