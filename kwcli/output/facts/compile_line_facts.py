"""Sections `line` of declarations in; functions out that make a line's facts from the two views of an exchange."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.enum_words import ENUMS
from decoders.schema.field_projection import Get, make_path_getter
from decoders.wire.format_and_escape_text import format_size
from decoders.wire.primitive_types import format_uuid
from kwcli.output.short_texts import (
    ALL_METRICS,
    count_of,
    format_number_ranges,
    format_period,
    join_first_and_count_others,
)

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Section


def _get_enum_words(means: str) -> dict[int, str]:
    """The words of one of Kafka's closed sets, as people say them; `unknown` is left out."""
    return {number: name.replace("_", " ") for number, name in ENUMS[means].items() if name != "unknown"}


# The negative times of ListOffsets, coordinators and so on are Kafka's words; the others are short forms for a line.
WORDS: Final[dict[str, dict[int, str]]] = {
    "coordinator": _get_enum_words("coordinator"),
    "config": _get_enum_words("config_resource"),
    "acl": _get_enum_words("acl_resource"),
    "pattern": _get_enum_words("pattern"),
    "operation": _get_enum_words("operation"),
    "permission": _get_enum_words("permission"),
    "election": _get_enum_words("election"),
    "codec": _get_enum_words("compression"),
    "timestamp": _get_enum_words("timestamp"),
    "isolation": ENUMS["isolation"],
    "scram": {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"},
    "endpoint": {1: "brokers", 2: "controllers"},
    "acks": {-1: "acks=all", 0: "acks=0", 1: "acks=1"},
    "epoch": {-1: "leaving", -2: "leaving (static)", 0: "joining"},
    "outcome": {0: "abort", 1: "commit"},
    "vote": {0: "not granted", 1: "granted"},
}


def word_or_number(table: str, number: int) -> str:
    """The word of a number in a table, or the number as text where it has no word."""
    return WORDS[table].get(number, str(number))


# A row is the section `line` of an API's declaration, the most important facts first; APIs that need more than it can
# say are functions in `line_fact_functions.py`. Two blanks or the end of a line separate facts, unless the next line
# begins with `|`. A fact is words and values; it is left out when one of its values is missing or empty. `>path` is a
# value of the request, `<path` of the response, `a|b` the first that is there; `path:form[:argument]` says how to
# write it. A path through arrays gives a list. In `topics[]/partitions[].index:parts` the part before the slash is
# the element that has the topic's name or id. Each row becomes a Python function, written as text and compiled when
# it is first needed: a line costs little more than reading its values.


View = Mapping[str, Any]
# Topic id → its name, where the capture has shown it.
Names = Callable[[UUID], str | None]

# Fields by which an element names its topic.
TOPIC_FIELDS: Final = ("name", "topic", "topic_name", "topic_id")


class FactLimits(NamedTuple):
    """How much is shown: items of a list, characters of an id; None means all."""

    items: int | None = None
    id_size: int | None = None


Facts = Callable[["Exchange", View, View, FactLimits], list[str]]
Form = Callable[[Any, str, Names, FactLimits], str]


class ApiFacts(NamedTuple):
    """The paths that the line of an API reads, and the function that makes its facts."""

    request: frozenset[str]
    response: frozenset[str]
    facts: Facts


def format_topic_of_element(element: View, names: Names, limits: FactLimits) -> str:
    """The topic of an element: its name, else the name that the capture has shown for its id, else the id."""
    name: str | None = element.get("name") or element.get("topic") or element.get("topic_name")
    if name:
        return name
    found = element.get("topic_id")
    return format_topic_id(found, names, limits) if found is not None else "?"


def format_topic_id(value: UUID, names: Names, limits: FactLimits) -> str:
    """The name of a topic id, or the id itself as Kafka prints it."""
    return names(value) or shorten_id(format_uuid(value.bytes), limits)


def shorten_id(text: str, limits: FactLimits) -> str:
    """An id within the limits: only its beginning, where it is too long."""
    return text if limits.id_size is None or len(text) <= limits.id_size else text[: limits.id_size - 1] + "…"


def _format_fact_value(value: Any, _argument: str, names: Names, limits: FactLimits) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return join_first_and_count_others(
            [_format_fact_value(item, "", names, limits) for item in value], limits.items
        )
    if isinstance(value, UUID):
        return shorten_id(format_uuid(value.bytes), limits)
    return "" if value is None else str(value)


def _format_element_count(value: Any, noun: str, _names: Names, _limits: FactLimits) -> str:
    return count_of(len(value), noun.replace("_", " ")) if value else ""


def _format_metric_prefixes(value: Any, _argument: str, _names: Names, limits: FactLimits) -> str:
    """The metrics that a broker wants: all, none, or those with these prefixes of names (KIP-714)."""
    if value is None:
        return ""
    return (
        "all metrics"
        if value in ALL_METRICS
        else join_first_and_count_others(value, limits.items)
        if value
        else "no metrics"
    )


def _format_true_flag(value: Any, text: str, _names: Names, _limits: FactLimits) -> str:
    return text.replace("_", " ") if value else ""


def _format_member_ids(value: Any, _argument: str, _names: Names, limits: FactLimits) -> str:
    if isinstance(value, list):
        return join_first_and_count_others([shorten_id(each, limits) for each in value if each], limits.items)
    return shorten_id(value, limits) if value else ""


def _format_number_as_word(value: Any, table: str, _names: Names, limits: FactLimits) -> str:
    if isinstance(value, list):
        return join_first_and_count_others(
            list(dict.fromkeys(word_or_number(table, item) for item in value)), limits.items
        )
    return word_or_number(table, int(value))


def _format_word_of_known_number(value: Any, table: str, _names: Names, _limits: FactLimits) -> str:
    return WORDS[table].get(value, "")


def _format_byte_size(value: Any, _argument: str, _names: Names, _limits: FactLimits) -> str:
    return format_size(sum(value) if isinstance(value, list) else value)


def _format_configured_ms(value: Any, _argument: str, _names: Names, _limits: FactLimits) -> str:
    return format_period(value) if value >= 0 else ""


def _format_number_unless_negative(value: Any, _argument: str, _names: Names, _limits: FactLimits) -> str:
    return str(value) if value is not None and value >= 0 else ""


def _format_topics_of_elements(value: Any, _argument: str, names: Names, limits: FactLimits) -> str:
    return join_first_and_count_others([format_topic_of_element(item, names, limits) for item in value], limits.items)


def _format_value_or_text_for_null(value: Any, text: str, _names: Names, _limits: FactLimits) -> str:
    """The value of a filter, or the argument where it is null."""
    return str(value) if value is not None else text


FORMS: Final[dict[str, Form]] = {
    "": _format_fact_value,
    "count": _format_element_count,
    "flag": _format_true_flag,
    "member": _format_member_ids,
    "word": _format_number_as_word,
    "said": _format_word_of_known_number,
    "size": _format_byte_size,
    "period": _format_configured_ms,
    "known": _format_number_unless_negative,
    "topics": _format_topics_of_elements,
}
# Forms that write a null, or an empty list, as well.
NULL_FORMS: Final[dict[str, Form]] = {"any": _format_value_or_text_for_null, "masks": _format_metric_prefixes}


def _make_partitions_formatter(outer: Get, path: str) -> Callable[[View, Names, FactLimits], str]:
    """A writer of `orders[0,3] payments[1]`; with `@field` of `orders[0]@42` where a topic has one partition."""
    partition_path, at, value_name = path.partition("@")
    inner = make_path_getter(partition_path)
    value_of = make_path_getter(partition_path.rpartition(".")[0] + "." + value_name) if at else None

    def write(view: View, names: Names, limits: FactLimits) -> str:
        elements = outer(view)
        if not elements:
            return ""
        if len(elements) == 1:
            topic = format_topic_of_element(elements[0], names, limits)
            numbers = inner(elements[0])
            if isinstance(numbers, list) and len(numbers) == 1:
                beside = value_of(elements[0]) if value_of is not None else None
                return f"{topic}[{numbers[0]}]@{beside[0]}" if beside else f"{topic}[{numbers[0]}]"
        topics: dict[str, list[int]] = {}
        values: list[int] = []
        for element in elements:
            numbers = inner(element)
            held = topics.setdefault(format_topic_of_element(element, names, limits), [])
            if isinstance(numbers, int):
                held.append(numbers)
            elif numbers:
                held.extend(numbers)
            if value_of is not None:
                values.extend(value_of(element) or ())
        count = sum(map(len, topics.values()))
        suffix = f"@{values[0]}" if count == 1 and values else ""
        return join_first_and_count_others(
            [f"{topic}[{format_number_ranges(held)}]{suffix}" for topic, held in topics.items()], limits.items
        )

    return write


class _FactFunctionSource:
    """The Python text of one row's function while it is written, the objects it names, and the paths it needs."""

    def __init__(self) -> None:
        self.lines = [
            "def facts(exchange, request, response, limits):",
            "    names = exchange.topic_name",
            "    out = []",
        ]
        self.objects: dict[str, Any] = {"plain": _format_fact_value}
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
                self._add_value_lines(depth + (choice > 0), name, text)
            self._add_line(depth, f"if {name}:")
            depth += 1
            shown.append(f"{{{name}}}")
        self._add_line(depth, f'out.append(f"{" ".join(shown)}")')

    def _add_line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _add_value_lines(self, depth: int, name: str, text: str) -> None:
        """Add lines that set `name` to one value as text, empty where it is missing."""
        side = "request" if text[0] == ">" else "response"
        path, _, form = text[1:].partition(":")
        form, _, argument = form.partition(":")
        if form in ("parts", "topics"):
            write, paths = _make_topics_formatter(path, form)
            self.needs[side] |= paths
            self._add_line(depth, f"{name} = {self._bind_object_to_name(write)}({side}, names, limits)")
            return
        self.needs[side].add(path)
        get = (
            f"{side}.get({path!r})"
            if "." not in path
            else f"{self._bind_object_to_name(make_path_getter(path))}({side})"
        )
        self._add_line(depth, f"v = {get}")
        if form == "":
            self._add_line(depth, f"{name} = v if v.__class__ is str else plain(v, '', names, limits)")
        elif form == "known":
            self._add_line(depth, f'{name} = str(v) if v is not None and v >= 0 else ""')
        elif form in NULL_FORMS:
            self._add_line(
                depth, f"{name} = {self._bind_object_to_name(NULL_FORMS[form])}(v, {argument!r}, names, limits)"
            )
        else:
            if form not in FORMS:
                raise ValueError(f"a fact has no form {form!r}; there are {', '.join([*FORMS, *NULL_FORMS])}")
            call = f"{self._bind_object_to_name(FORMS[form])}(v, {argument!r}, names, limits)"
            self._add_line(depth, f'{name} = "" if v is None or v == [] else {call}')

    def _bind_object_to_name(self, value: object) -> str:
        name = f"o{len(self.objects)}"
        self.objects[name] = value
        return name

    def compile_function(self) -> Facts:
        """The compiled function."""
        self._add_line(1, "return out")
        exec("\n".join(self.lines), self.objects)  # the text is made only from declarations
        facts: Facts = self.objects["facts"]
        return facts


def _make_topics_formatter(path: str, form: str) -> tuple[Callable[[View, Names, FactLimits], str], set[str]]:
    """A writer of an array's topics, or of its topics with their partitions; and the paths that it needs."""
    outer_path, _, inner_path = path.partition("/")
    outer = make_path_getter(outer_path.removesuffix("[]"))
    paths = {f"{outer_path}.{field}" for field in TOPIC_FIELDS}
    if form == "topics":
        return lambda view, names, limits: _format_topics_of_elements(outer(view) or [], "", names, limits), paths
    partition, at, beside = inner_path.partition("@")
    paths.add(f"{outer_path}.{partition}")
    if at:
        paths.add(f"{outer_path}.{partition.rpartition('.')[0]}.{beside}")
    return _make_partitions_formatter(outer, inner_path), paths


def compile_api_facts(line: Section) -> ApiFacts:
    """Compile one row. Raises DeclarationError."""
    source = _FactFunctionSource()
    try:
        for fact in re.split(r" {2,}|\n *", re.sub(r"\n *\|", "|", line.text)):
            source.add_fact(fact.split())
    except ValueError as error:
        raise line.error(str(error)) from None
    return ApiFacts(frozenset(source.needs["request"]), frozenset(source.needs["response"]), source.compile_function())
