"""Sections `line` of declarations in; functions out that make a line's facts from the two views of an exchange."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.enums import ENUMS
from decoders.schema.projection import Get, make_getter
from decoders.wire.primitives import uuid_text
from decoders.wire.readable_text import format_size
from kwcli.output.short_texts import ALL_METRICS, count_of, format_period, format_ranges, join_some

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Section


def _enum_words(means: str) -> dict[int, str]:
    """The words of one of Kafka's closed sets, as people say them; `unknown` is left out."""
    return {number: name.replace("_", " ") for number, name in ENUMS[means].items() if name != "unknown"}


# The negative times of ListOffsets, coordinators and so on are Kafka's words; the others are short forms for a line.
WORDS: Final[dict[str, dict[int, str]]] = {
    "coordinator": _enum_words("coordinator"),
    "config": _enum_words("config_resource"),
    "acl": _enum_words("acl_resource"),
    "pattern": _enum_words("pattern"),
    "operation": _enum_words("operation"),
    "permission": _enum_words("permission"),
    "election": _enum_words("election"),
    "codec": _enum_words("compression"),
    "timestamp": _enum_words("timestamp"),
    "isolation": ENUMS["isolation"],
    "scram": {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"},
    "endpoint": {1: "brokers", 2: "controllers"},
    "acks": {-1: "acks=all", 0: "acks=0", 1: "acks=1"},
    "epoch": {-1: "leaving", -2: "leaving (static)", 0: "joining"},
    "outcome": {0: "abort", 1: "commit"},
    "vote": {0: "not granted", 1: "granted"},
}


def word(table: str, number: int) -> str:
    """The word of a number in a table, or the number as text where it has no word."""
    return WORDS[table].get(number, str(number))


# A row is the section `line` of an API's declaration, the most important facts first; APIs that need more than it can
# say are functions in `fact_functions.py`. Two blanks or the end of a line separate facts, unless the next line begins
# with `|`. A fact is words and values; it is left out when one of its values is missing or empty. `>path` is a value of
# the request, `<path` of the response, `a|b` the first that is there; `path:form[:argument]` says how to write it. A
# path through arrays gives a list. In `topics[]/partitions[].index:parts` the part before the slash is the element that
# has the topic's name or id. Each row becomes a Python function, written as text and compiled when it is first needed:
# a line costs little more than reading its values.


View = Mapping[str, Any]
# Topic id → its name, where the capture has shown it.
Names = Callable[[UUID], str | None]

# Fields by which an element names its topic.
TOPIC_FIELDS: Final = ("name", "topic", "topic_name", "topic_id")


class FactRoom(NamedTuple):
    """How much is shown: items of a list, characters of an id; None means all."""

    items: int | None = None
    id_size: int | None = None


Facts = Callable[["Exchange", View, View, FactRoom], list[str]]
Form = Callable[[Any, str, Names, FactRoom], str]


class FactRow(NamedTuple):
    """The paths that the line of an API reads, and the function that makes its facts."""

    request: frozenset[str]
    response: frozenset[str]
    facts: Facts


def topic_of(element: View, names: Names, room: FactRoom) -> str:
    """The topic of an element: its name, else the name that the capture has shown for its id, else the id."""
    name: str | None = element.get("name") or element.get("topic") or element.get("topic_name")
    if name:
        return name
    found = element.get("topic_id")
    return topic_id(found, names, room) if found is not None else "?"


def topic_id(value: UUID, names: Names, room: FactRoom) -> str:
    """The name of a topic id, or the id itself as Kafka prints it."""
    return names(value) or short(uuid_text(value.bytes), room)


def short(text: str, room: FactRoom) -> str:
    """An id in the room there is: only its beginning, where it is too long."""
    return text if room.id_size is None or len(text) <= room.id_size else text[: room.id_size - 1] + "…"


def _format_plain(value: Any, _argument: str, names: Names, room: FactRoom) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return join_some([_format_plain(item, "", names, room) for item in value], room.items)
    if isinstance(value, UUID):
        return short(uuid_text(value.bytes), room)
    return "" if value is None else str(value)


def _format_count(value: Any, noun: str, _names: Names, _room: FactRoom) -> str:
    return count_of(len(value), noun.replace("_", " ")) if value else ""


def _format_metric_prefixes(value: Any, _argument: str, _names: Names, room: FactRoom) -> str:
    """The metrics that a broker wants: all, none, or those with these prefixes of names (KIP-714)."""
    if value is None:
        return ""
    return "all metrics" if value in ALL_METRICS else join_some(value, room.items) if value else "no metrics"


def _format_flag(value: Any, text: str, _names: Names, _room: FactRoom) -> str:
    return text.replace("_", " ") if value else ""


def _format_member(value: Any, _argument: str, _names: Names, room: FactRoom) -> str:
    if isinstance(value, list):
        return join_some([short(each, room) for each in value if each], room.items)
    return short(value, room) if value else ""


def _format_word(value: Any, table: str, _names: Names, room: FactRoom) -> str:
    if isinstance(value, list):
        return join_some(list(dict.fromkeys(word(table, item) for item in value)), room.items)
    return word(table, int(value))


def _format_word_unless_none(value: Any, table: str, _names: Names, _room: FactRoom) -> str:
    return WORDS[table].get(value, "")


def _format_size(value: Any, _argument: str, _names: Names, _room: FactRoom) -> str:
    return format_size(sum(value) if isinstance(value, list) else value)


def _format_configured_time(value: Any, _argument: str, _names: Names, _room: FactRoom) -> str:
    return format_period(value) if value >= 0 else ""


def _format_known_number(value: Any, _argument: str, _names: Names, _room: FactRoom) -> str:
    return str(value) if value is not None and value >= 0 else ""


def _format_topics(value: Any, _argument: str, names: Names, room: FactRoom) -> str:
    return join_some([topic_of(item, names, room) for item in value], room.items)


def _format_filter_value(value: Any, text: str, _names: Names, _room: FactRoom) -> str:
    """The value of a filter, or the argument where it is null."""
    return str(value) if value is not None else text


FORMS: Final[dict[str, Form]] = {
    "": _format_plain,
    "count": _format_count,
    "flag": _format_flag,
    "member": _format_member,
    "word": _format_word,
    "said": _format_word_unless_none,
    "size": _format_size,
    "period": _format_configured_time,
    "known": _format_known_number,
    "topics": _format_topics,
}
# Forms that write a null, or an empty list, as well.
NULL_FORMS: Final[dict[str, Form]] = {"any": _format_filter_value, "masks": _format_metric_prefixes}


def _partitions_writer(outer: Get, path: str) -> Callable[[View, Names, FactRoom], str]:
    """A writer of `orders[0,3] payments[1]`; with `@field` of `orders[0]@42` where a topic has one partition."""
    partition_path, at, value_name = path.partition("@")
    inner = make_getter(partition_path)
    value_of = make_getter(partition_path.rpartition(".")[0] + "." + value_name) if at else None

    def write(view: View, names: Names, room: FactRoom) -> str:
        elements = outer(view)
        if not elements:
            return ""
        if len(elements) == 1:
            topic = topic_of(elements[0], names, room)
            numbers = inner(elements[0])
            if isinstance(numbers, list) and len(numbers) == 1:
                beside = value_of(elements[0]) if value_of is not None else None
                return f"{topic}[{numbers[0]}]@{beside[0]}" if beside else f"{topic}[{numbers[0]}]"
        topics: dict[str, list[int]] = {}
        values: list[int] = []
        for element in elements:
            numbers = inner(element)
            held = topics.setdefault(topic_of(element, names, room), [])
            if isinstance(numbers, int):
                held.append(numbers)
            elif numbers:
                held.extend(numbers)
            if value_of is not None:
                values.extend(value_of(element) or ())
        count = sum(map(len, topics.values()))
        suffix = f"@{values[0]}" if count == 1 and values else ""
        return join_some([f"{topic}[{format_ranges(held)}]{suffix}" for topic, held in topics.items()], room.items)

    return write


class _Source:
    """The Python text of one row's function while it is written, the objects it names, and the paths it needs."""

    def __init__(self) -> None:
        self.lines = [
            "def facts(exchange, request, response, room):",
            "    names = exchange.topic_name",
            "    out = []",
        ]
        self.objects: dict[str, Any] = {"plain": _format_plain}
        self.needs: dict[str, set[str]] = {"request": set(), "response": set()}

    def add_fact(self, words: list[str]) -> None:
        """Add one fact: its words in order, nothing when one of its values is empty."""
        depth = 1
        shown: list[str] = []
        for number, token in enumerate(words):
            if token[0] not in "<>":
                shown.append(token)
                continue
            name = f"t{number}"
            for choice, text in enumerate(token.split("|")):
                if choice:
                    self._add_line(depth, f"if not {name}:")
                self._add_value(depth + (choice > 0), name, text)
            self._add_line(depth, f"if {name}:")
            depth += 1
            shown.append(f"{{{name}}}")
        self._add_line(depth, f'out.append(f"{" ".join(shown)}")')

    def _add_line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _add_value(self, depth: int, name: str, text: str) -> None:
        """Add lines that set `name` to one value as text, empty where it is missing."""
        side = "request" if text[0] == ">" else "response"
        path, _, form = text[1:].partition(":")
        form, _, argument = form.partition(":")
        if form in ("parts", "topics"):
            write, paths = _elements_writer(path, form)
            self.needs[side] |= paths
            self._add_line(depth, f"{name} = {self._bind_object(write)}({side}, names, room)")
            return
        self.needs[side].add(path)
        get = f"{side}.get({path!r})" if "." not in path else f"{self._bind_object(make_getter(path))}({side})"
        self._add_line(depth, f"v = {get}")
        if form == "":
            self._add_line(depth, f"{name} = v if v.__class__ is str else plain(v, '', names, room)")
        elif form == "known":
            self._add_line(depth, f'{name} = str(v) if v is not None and v >= 0 else ""')
        elif form in NULL_FORMS:
            self._add_line(depth, f"{name} = {self._bind_object(NULL_FORMS[form])}(v, {argument!r}, names, room)")
        else:
            if form not in FORMS:
                raise ValueError(f"a fact has no form {form!r}; there are {', '.join([*FORMS, *NULL_FORMS])}")
            call = f"{self._bind_object(FORMS[form])}(v, {argument!r}, names, room)"
            self._add_line(depth, f'{name} = "" if v is None or v == [] else {call}')

    def _bind_object(self, value: object) -> str:
        name = f"o{len(self.objects)}"
        self.objects[name] = value
        return name

    def compile_function(self) -> Facts:
        """The compiled function."""
        self._add_line(1, "return out")
        exec("\n".join(self.lines), self.objects)  # the text is made only from declarations
        facts: Facts = self.objects["facts"]
        return facts


def _elements_writer(path: str, form: str) -> tuple[Callable[[View, Names, FactRoom], str], set[str]]:
    """A writer of an array's topics, or of its topics with their partitions; and the paths that it needs."""
    outer_path, _, inner_path = path.partition("/")
    outer = make_getter(outer_path.removesuffix("[]"))
    paths = {f"{outer_path}.{field}" for field in TOPIC_FIELDS}
    if form == "topics":
        return lambda view, names, room: _format_topics(outer(view) or [], "", names, room), paths
    partition, at, beside = inner_path.partition("@")
    paths.add(f"{outer_path}.{partition}")
    if at:
        paths.add(f"{outer_path}.{partition.rpartition('.')[0]}.{beside}")
    return _partitions_writer(outer, inner_path), paths


def row(line: Section) -> FactRow:
    """Compile one row. Raises DeclarationError."""
    source = _Source()
    try:
        for fact in re.split(r" {2,}|\n *", re.sub(r"\n *\|", "|", line.text)):
            source.add_fact(fact.split())
    except ValueError as error:
        raise line.error(str(error)) from None
    return FactRow(frozenset(source.needs["request"]), frozenset(source.needs["response"]), source.compile_function())
