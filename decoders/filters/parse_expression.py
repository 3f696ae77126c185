"""The text of an expression in, a `Filter` out: the question, its fields, and when it can be answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import KEYS, NAMES, api
from decoders.errors import FilterError
from decoders.filters import comparisons
from decoders.filters.filter_field_table import (
    ALIASES,
    BODIES,
    DECODED_FIELDS,
    DECODED_PARTS,
    FIELDS,
    HEADER,
    RECORD,
    FieldRow,
    Kind,
    Phase,
    entity_name_paths,
    entity_names,
    make_record_header_field,
)
from decoders.filters.number_comparison_words import NamedNumber, fold_word, words_of_number_set
from decoders.filters.parse_literals import parse_literal
from decoders.filters.read_partitions_and_records import record_and_topic_paths
from decoders.filters.tokens import Scanner, Word
from decoders.protocol_facts.field_paths import FieldPathStep, parse_field_path
from decoders.protocol_facts.number_words import number_set_of_field
from decoders.schema.api_declaration import Field, Side
from decoders.schema.body_json_form import MESSAGE
from decoders.schema.field_projection import make_path_getter

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.filters.decoded_value_fields import DecodedValueReading
    from decoders.messages.decode_record_values import RecordValueReader


@cache
def spellings_of_path(api_key: int, side: Side, path: str) -> tuple[str, ...]:
    """The path as the declaration of this API spells it: one or, where fields took turns under a name, several."""
    if api_key not in NAMES:
        return ()
    return tuple(dict.fromkeys(spelt for spelt, _ in declared_fields_at(api_key, side, path)))


@cache
def number_word_sets_at(api_key: int, side: Side, path: str) -> Mapping[str, str]:
    """Spelling of a path → its set of words (`means`), for the spellings that are fields of numbers with words."""
    found = (
        ((spelt, number_set_of_field(field)) for spelt, field in declared_fields_at(api_key, side, path))
        if api_key in NAMES
        else ()
    )
    return {spelt: words for spelt, words in found if words}


def declared_fields_at(api_key: int, side: Side, path: str) -> Iterator[tuple[str, Field]]:
    """The spellings of a path in the declaration of an API, each with its field."""
    return _spell_path_as_declared(api(api_key).message(side).fields, parse_field_path(path))


def api_keys_with_path(side: Side, path: str) -> frozenset[int]:
    """The keys of all APIs that have such a field."""
    return frozenset(key for key in KEYS if spellings_of_path(key, side, path))


def all_body_paths(side: Side, keys: Iterable[int] = KEYS) -> list[str]:
    """Every path of these APIs, without brackets: the candidates for a misspelt path."""
    found: dict[str, None] = {}
    for key in keys:
        message = api(key).message(side)
        found.update(dict.fromkeys(_list_paths(message.fields, "")))
    return list(found)


def _spell_path_as_declared(fields: Iterable[Field], steps: Sequence[FieldPathStep]) -> Iterator[tuple[str, Field]]:
    """The paths that these steps stand for, spelt as declared, arrays with their brackets; each with its field."""
    (name, indices), *rest = steps
    bracket = "".join("[]" if index is None else f"[{index}]" for index in indices)
    for field in _find_fields_by_name(fields, name):
        head = field.name + ((bracket or "[]") if field.array else "")
        if bracket and not field.array:
            continue
        if not rest:
            yield head, field
        elif field.fields:
            for tail, last in _spell_path_as_declared(field.fields, rest):
                yield f"{head}.{tail}", last


def _find_fields_by_name(fields: Iterable[Field], name: str) -> list[Field]:
    """The fields that have this name; those that once had it, when none has it now."""
    folded = _fold_name(name)
    fields = list(fields)
    found = [field for field in fields if _fold_name(field.name) == folded]
    return found or [field for field in fields if any(_fold_name(old) == folded for old in field.was)]


def _list_paths(fields: Iterable[Field], prefix: str) -> Iterator[str]:
    for field in fields:
        yield prefix + field.name
        if field.fields:
            yield from _list_paths(field.fields, f"{prefix}{field.name}.")


def _fold_name(name: str) -> str:
    return name.replace("_", "").lower()


# The parts of a compiled expression: questions about one field, and how they are joined (three-valued, by Kleene).


Question = Callable[["Exchange"], bool]
# API keys that may pass; None: any.
Keys = frozenset[int] | None


class Always:
    """The question that every exchange passes."""

    phase = Phase.HEADER

    def make_test(self) -> Question:
        return lambda _exchange: True

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:  # noqa: ARG002 - as the others have it
        return True

    def possible_api_keys(self) -> Keys:
        return None

    def list_atoms(self) -> Iterator[Atom]:
        return iter(())


class Atom:
    """The question whether a value of a field passes a test; without a test, whether the field has a value."""

    def __init__(
        self,
        row: FieldRow,
        test: Callable[[Any], bool] | None,
        sides: Sequence[Side],
        path: str,
        keys: Keys = None,
        name: str = "",
        needle: str | None = None,
        needle_is_value: bool = False,
    ) -> None:
        """`needle`: text that stands in every value that passes, or is each; None: none that is known."""
        self.name = name
        self.needle, self.needle_is_value = needle, needle_is_value
        self.phase = row.phase if not row.entity else Phase.RESPONSE
        self.row = row
        self._test = test
        self.sides = sides
        self.path = path
        self._keys = keys

    @property
    def kind(self) -> Kind:
        """What kind of values the field has."""
        return self.row.kind

    def values(self, exchange: Exchange) -> list[Any]:
        """The values of the field."""
        found = self.row.get(exchange)
        return found if isinstance(found, list) else [] if found is None else [found]

    def passes(self, value: Any) -> bool:
        """Whether a value of the field passes the test."""
        return self._test is None or self._test(value)

    def make_test(self) -> Question:
        get, test = self.row.get, self._test
        if self.row.kind == "record_content":
            holds = self.make_test_of_record_content()
            return lambda exchange: any(map(holds, get(exchange)))
        if test is None:
            return lambda exchange: _has_value(get(exchange))

        def passes_any(exchange: Exchange) -> bool:
            value = get(exchange)
            if isinstance(value, list):
                return any(map(test, value))
            return value is not None and test(value)

        return passes_any

    def make_test_of_record_content(self) -> Callable[[Any], bool]:
        """The test of the content of a record or header, which may be null; only the question for null takes that."""
        test = self._test
        return test if test is _is_null else lambda value: value is not None and (test is None or test(value))

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        if phase >= self.phase:
            return self.make_test()(exchange)
        if self.row.entity and phase == Phase.REQUEST:
            # A name in the request is enough; what the response names is not known yet.
            found = list(entity_names(exchange, "request", self.row.entity))
            return True if (any(map(self._test, found)) if self._test else found) else None
        return None

    def possible_api_keys(self) -> Keys:
        return self._keys

    def list_atoms(self) -> Iterator[Atom]:
        yield self

    @property
    def reads_records(self) -> bool:
        """Whether the question is about the contents of records."""
        return self.row.kind == "record_content" or self.row.needs is record_and_topic_paths

    def needs(self, api_key: int, side: Side) -> tuple[str, ...]:
        """The paths that the question reads of a side of an API."""
        if self.row.needs is not None:
            return self.row.needs(api_key, side)
        if side not in self.sides:
            return ()
        if self.row.entity:
            return entity_name_paths(api_key, side, self.row.entity)
        return tuple(_remove_indices_from_path(path) for path in spellings_of_path(api_key, side, self.path))


class Not:
    """The opposite of a question."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.phase: Phase = node.phase

    def make_test(self) -> Question:
        inner = self.node.make_test()
        return lambda exchange: not inner(exchange)

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        answer = self.node.decide(exchange, phase)
        return None if answer is None else not answer

    def possible_api_keys(self) -> Keys:
        return None

    def list_atoms(self) -> Iterator[Atom]:
        return self.node.list_atoms()


class _Joined:
    """Several questions, joined by "and" or "or"."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.phase: Phase = max(node.phase for node in nodes)

    def list_atoms(self) -> Iterator[Atom]:
        for node in self.nodes:
            yield from node.list_atoms()


class All(_Joined):
    """Whether all questions pass; questions that can be answered earlier are asked first."""

    def make_test(self) -> Question:
        tests = [node.make_test() for node in sorted(self.nodes, key=lambda node: node.phase)]
        if len(tests) == 2:
            first, second = tests
            return lambda exchange: first(exchange) and second(exchange)
        return lambda exchange: all(test(exchange) for test in tests)

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        answers = [node.decide(exchange, phase) for node in self.nodes]
        return False if False in answers else None if None in answers else True

    def possible_api_keys(self) -> Keys:
        known = [keys for node in self.nodes if (keys := node.possible_api_keys()) is not None]
        return frozenset.intersection(*known) if known else None


class Any_(_Joined):  # noqa: N801 - any() and typing.Any have the name without the stroke
    """Whether at least one question passes."""

    def make_test(self) -> Question:
        tests = [node.make_test() for node in sorted(self.nodes, key=lambda node: node.phase)]
        return tests[0] if len(tests) == 1 else lambda exchange: any(test(exchange) for test in tests)

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        answers = [node.decide(exchange, phase) for node in self.nodes]
        return True if True in answers else None if None in answers else False

    def possible_api_keys(self) -> Keys:
        known = [node.possible_api_keys() for node in self.nodes]
        return None if None in known else frozenset().union(*(keys for keys in known if keys is not None))


Node = Always | Atom | Not | All | Any_


def _is_null(value: Any) -> bool:
    return value is None


def _is_any_value(value: Any) -> bool:  # noqa: ARG001 - a test as the others are, which only values come to
    return True


def _has_value(value: Any) -> bool:
    return value not in (None, [], False, "")


def _remove_indices_from_path(path: str) -> str:
    return re.sub(r"\[\d*\]", "[]", path).removesuffix("[]")


DEPTH_MAX: Final = 100
TEXT_MAX: Final = 64 * 1024


# The fields that rows of skipped bytes have as well.
_OF_ALL_ROWS: Final = frozenset({"connection", "time"})


class Filter:
    """A question about exchanges. `phase`: the phase by which it is answered for every exchange."""

    __slots__ = ("matches", "node", "phase", "text")

    matches: Callable[[Exchange], bool]

    def __init__(self, text: str, node: Node) -> None:
        self.text = text
        self.node = node
        self.phase = node.phase
        self.matches = node.make_test()

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        """The answer as far as it is known in this phase of an exchange; None where a later phase may change it."""
        return self.node.decide(exchange, phase)

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths that the filter reads of a side of an API (exchanges/body_reader.py); empty where no exchange of
        the API can pass.
        """
        keys = self.node.possible_api_keys()
        if keys is not None and api_key not in keys:
            return frozenset()
        return frozenset(path for atom in self.node.list_atoms() for path in atom.needs(api_key, side))

    def split_at_and(self) -> list[Filter]:
        """The questions that must all pass, each as a filter of its own, with the text of the whole filter."""
        nodes = self.node.nodes if isinstance(self.node, All) else [self.node]
        return [Filter(self.text, node) for node in nodes]

    def list_atoms(self) -> list[Atom]:
        """The questions about single fields."""
        return list(self.node.list_atoms())

    def may_pass_api(self, api_key: int | None) -> bool:
        """Whether an exchange of this API may pass, as far as the API decides."""
        keys = self.node.possible_api_keys()
        return keys is None or api_key in keys

    @property
    def field_names(self) -> frozenset[str]:
        """The fields that the filter asks about, those of bodies aside."""
        rows = {id(atom.row) for atom in self.node.list_atoms()}
        return frozenset(name for name, row in FIELDS.items() if id(row) in rows)

    @property
    def asks_for_connections(self) -> bool:
        """Whether the filter asks for connections by their numbers, and for nothing else but times: then it can be
        asked of a run of skipped bytes, too.
        """
        return "connection" in (names := {atom.name for atom in self.node.list_atoms()}) and names <= _OF_ALL_ROWS

    @property
    def asks_history(self) -> bool:
        """Whether the filter asks what an exchange means by those before it (facts_from_earlier_exchanges.py)."""
        return any(atom.row.history for atom in self.node.list_atoms())

    @property
    def reads_records(self) -> bool:
        """Whether the filter asks about the contents of records."""
        return any(atom.reads_records for atom in self.node.list_atoms())

    def set_value_reader(self, reader: RecordValueReader | None) -> RecordValueReader | None:
        """Have all questions about decoded keys and values use the schemas of one reader.

        `reader`: that of records that are shown; None: a new one. None where there is no such question.
        """
        from decoders.messages.decode_record_values import RecordValueReader

        used = reader
        for atom in self.node.list_atoms():
            if (set_value_reader := getattr(atom.row.get, "set_value_reader", None)) is not None:
                used = used or RecordValueReader()
                set_value_reader(used, count=reader is None)
        return used

    @property
    def passes_everything(self) -> bool:
        """Whether every exchange passes the filter."""
        return isinstance(self.node, Always)


def parse(text: str) -> Filter:
    """The filter that an expression describes; the empty one passes everything. Raises FilterError."""
    if len(text) > TEXT_MAX:
        raise FilterError(f"an expression has at most {TEXT_MAX} characters", TEXT_MAX)
    return Filter(text, _Parser(Scanner(text)).parse_whole())


class _Parser:
    """Recursive descent: or, and, not, then a comparison or parentheses."""

    def __init__(self, scan: Scanner) -> None:
        self._scan = scan
        self._depth = 0

    def parse_whole(self) -> Node:
        if self._scan.is_at_end:
            return Always()
        node = self._parse_or()
        if not self._scan.is_at_end:
            raise self._scan.make_error(
                '"and" or "or" is missing' if not self._scan.read_sign(")") else 'this ")" has no "("'
            )
        return node

    def _parse_or(self) -> Node:
        nodes = [self._parse_and()]
        while self._scan.read_keyword("or") or self._scan.read_sign("||"):
            nodes.append(self._parse_and())
        return nodes[0] if len(nodes) == 1 else Any_(nodes)

    def _parse_and(self) -> Node:
        nodes = [self._parse_not()]
        while self._scan.read_keyword("and") or self._scan.read_sign("&&"):
            nodes.append(self._parse_not())
        return nodes[0] if len(nodes) == 1 else All(nodes)

    def _parse_not(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._scan.make_error(f"more than {DEPTH_MAX} levels")
        try:
            if self._scan.read_keyword("not") or self._scan.read_sign("!"):
                return Not(self._parse_not())
            begun = self._scan.at
            if self._scan.read_sign("("):
                node = self._parse_or()
                if not self._scan.read_sign(")"):
                    raise self._scan.make_error("this parenthesis is not closed", begun)
                return node
            return self._parse_comparison()
        finally:
            self._depth -= 1

    def _parse_comparison(self) -> Node:
        word = self._scan.read_path()
        field = _find_filter_field_of_word(word)
        negated = bool(self._scan.read_keyword("not"))
        listed = self._scan.read_keyword("in", "like")
        if listed:
            return _negate_node_if(negated, self._parse_in_or_like_list(listed, field))
        if negated:
            raise self._scan.make_error('after "not" comes "in" or "like" here')
        begun = self._scan.at
        sign = self._scan.read_sign("==", "!=", "<", "<=", ">", ">=", "~", "!~", "=")
        if sign is None:
            return field.make_atom(None)
        if sign == "=":
            raise self._scan.make_error('write "==" for equal', begun)
        value = self._scan.read_value()
        if sign in ("~", "!~"):
            _check_field_is_text(field, value, sign)
            pattern = comparisons.make_regex_test(field.row.kind, value)
            return _negate_node_if(sign == "!~", field.make_atom(pattern, needle=comparisons.literal_of_regex(value)))
        if sign in ("==", "!="):
            return _negate_node_if(sign == "!=", _make_atom_of_equality(field, value))
        if field.row.kind not in comparisons.ORDERED:
            raise FilterError(f"{field.name} has no order: {sign} is for numbers, sizes and times", begun + 1)
        return field.make_atom(comparisons.make_order_test(field.row.kind, sign, value))

    def _parse_in_or_like_list(self, keyword: str, field: _FilterField) -> Node:
        words = [self._scan.read_value()] if not self._scan.read_sign("(") else self._parse_values()
        if keyword == "in":
            return Any_([_make_atom_of_equality(field, word) for word in words])
        for word in words:
            _check_field_is_text(field, word, keyword)
        return Any_(
            [
                field.make_atom(
                    comparisons.make_glob_test(field.row.kind, word), needle=comparisons.longest_literal_of_glob(word)
                )
                for word in words
            ]
        )

    def _parse_values(self) -> list[Word]:
        begun = self._scan.at - 1
        words = [self._scan.read_value()]
        while self._scan.read_sign(","):
            words.append(self._scan.read_value())
        if not self._scan.read_sign(")"):
            raise self._scan.make_error("this list is not closed", begun)
        return words


class _FilterField:
    """A field of an expression: its row, and what it needs of bodies."""

    def __init__(self, name: str, row: FieldRow, sides: Sequence[Side] = (), path: str = "") -> None:
        self.name = name
        self.row = row
        self._sides = sides
        self._path = path

    def make_atom(
        self,
        test: comparisons.Test | None,
        keys: frozenset[int] | None = None,
        needle: str | None = None,
        needle_is_value: bool = False,
    ) -> Atom:
        """The question whether a value of this field passes a test; without a test, whether there is a value."""
        return Atom(self.row, test, self._sides, self._path, keys, self.name, needle, needle_is_value)


def find_filter_field(text: str) -> _FilterField:
    """The field that a word of an expression names. Raises FilterError."""
    return _find_filter_field_of_word(Word(text, 0))


def _find_filter_field_of_word(word: Word) -> _FilterField:
    name = ALIASES.get(word.text, word.text)
    row = FIELDS.get(name)
    if row is not None:
        return _FilterField(name, row, ("request", "response") if row.entity else ())
    first, _, path = name.partition(".")
    if first == HEADER and path:
        return _FilterField(name, make_record_header_field(path))
    if first in BODIES and path:
        return _find_body_field(word, name, first, path)
    if first == RECORD and path:
        return _find_internal_topic_field(word, name, path)
    if (first in DECODED_PARTS and path) or name in DECODED_FIELDS:
        return _find_decoded_value_field(name, path)
    parts = [f"{part}." for part in (RECORD, *DECODED_PARTS, *BODIES)]
    names = [*FIELDS, *DECODED_FIELDS, *ALIASES, f"{HEADER}.NAME", *parts]
    raise FilterError(f"there is no field {word.text!r}", word.at + 1, word=word.text, candidates=names)


def _find_decoded_value_field(name: str, path: str) -> _FilterField:
    """A field of decoded keys and values of records."""
    from decoders.filters import decoded_value_fields as decoded  # few expressions have one

    first = name.partition(".")[0]
    if path:
        get: decoded.DecodedValueReading = decoded.DecodedValueField(
            "key" if first == "key" else "value", parse_field_path(path)
        )
        return _FilterField(name, _make_decoded_field_row("any", get, f"a field of a {first}"))
    kind, text = DECODED_FIELDS[name]
    if name == "schema_id":
        get = decoded.DecodedValueSchemaId(["key", "value"])
    else:
        made = decoded.DecodedValueFormat if name.endswith("_format") else decoded.DecodedValueJson
        get = made(["key" if name.startswith("key_") else "value"])
    return _FilterField(name, _make_decoded_field_row(kind, get, text))


def _make_decoded_field_row(kind: Kind, get: DecodedValueReading, text: str) -> FieldRow:
    return FieldRow(Phase.RESPONSE, kind, get, text, needs=record_and_topic_paths, of_record=get.list_values_of_record)


def _find_internal_topic_field(word: Word, name: str, path: str) -> _FilterField:
    """A field of the records of internal topics."""
    from decoders.filters import internal_topic_fields as structures  # few expressions have one

    plain = _INDEX.sub("", path)
    known = structures.list_internal_topic_field_paths()
    if plain not in known:
        text = f"no record of an internal topic has a field {path!r}"
        raise FilterError(text, word.at + 1, word=name, candidates=[f"{RECORD}.{each}" for each in known])
    get, of_record = structures.make_internal_topic_getter(plain), structures.make_internal_topic_record_getter(plain)
    row = FieldRow(Phase.RESPONSE, "any", get, "a field of records", needs=record_and_topic_paths, of_record=of_record)
    return _FilterField(name, row)


_INDEX: Final = re.compile(r"\[\d*\]")


def _find_body_field(word: Word, name: str, first: str, path: str) -> _FilterField:
    side, phase = BODIES[first]
    if not api_keys_with_path(side, path):
        others = [f"{first}.{other}" for other in all_body_paths(side)]
        text = f"no {first} has a field {path!r}"
        raise FilterError(text, word.at + 1, word=name, candidates=others)

    def get_body_values(exchange: Exchange) -> Any:
        view = exchange.view(side)
        if not isinstance(view, dict) or exchange.api_key is None:
            return None
        sets = number_word_sets_at(exchange.api_key, side, path)
        values: list[Any] = []
        for spelt in spellings_of_path(exchange.api_key, side, path):
            found = make_path_getter(spelt)(view)
            words = sets.get(spelt)
            for value in found if isinstance(found, list) else (found,):
                if value is not None:
                    values.append(value if words is None else NamedNumber(value, words))
        return _conceal_secrets_in_messages(exchange, values) if tells and values else values

    tells = path.rpartition(".")[2].partition("[")[0] == MESSAGE
    return _FilterField(name, FieldRow(phase, "any", get_body_values, f"a field of the {side}"), (side,), path)


def _conceal_secrets_in_messages(exchange: Exchange, messages: list[Any]) -> list[Any]:
    """Error messages without the secrets of the exchange that a broker repeats in them."""
    from decoders.messages.build_body_json import make_concealer_of_exchange

    conceal = make_concealer_of_exchange(exchange)
    return [conceal(each) if conceal and isinstance(each, str) else each for each in messages]


def _words_of_body_field(field: _FilterField) -> frozenset[str] | None:
    """The words that values of a body's field may have; None where some of them are text or have no words."""
    first = field.name.partition(".")[0]
    if first not in BODIES:
        return None
    side, _ = BODIES[first]
    found: set[str] = set()
    path = field.name.partition(".")[2]
    for key in api_keys_with_path(side, path):
        sets = number_word_sets_at(key, side, path)
        if len(sets) < len(spellings_of_path(key, side, path)):
            return None
        found.update(word for words in sets.values() for word in words_of_number_set(words))
    return frozenset(found)


def _make_atom_of_number_word(field: _FilterField, word: Word) -> Node | None:
    """The question whether a number has this word; None where the word is not one for numbers. Raises FilterError."""
    text = fold_word(word.text)
    first, _, path = field.name.partition(".")
    if word.quoted or first not in BODIES or not text[:1].isalpha():
        return None
    side, _ = BODIES[first]
    sets = {words for key in api_keys_with_path(side, path) for words in number_word_sets_at(key, side, path).values()}
    if any(text in words_of_number_set(words) for words in sets):
        return field.make_atom(lambda value: isinstance(value, NamedNumber) and text in value.words)
    known = _words_of_body_field(field)
    if known and text not in _KEYWORDS:
        few = f" (there are {', '.join(sorted(known))})" if len(known) <= _FEW else ""
        told = f"no {field.name} is called {word.text!r}{few}"
        raise FilterError(told, word.at + 1, word=word.text, candidates=sorted(known))
    return None


_FEW: Final = 6  # so many words are listed where one is wrong
# Values that any field may have.
_KEYWORDS: Final = frozenset({"null", "none", "true", "false", "yes", "no"})


# Words for no value, by the kind of the field. Clients and topics may be called `none`; error 0 is none.
_NULLS: Final[dict[str, tuple[str, ...]]] = {"text": ("null",), "error": ("null", "none", "0")}


def _is_word_for_null(field: _FilterField, word: Word) -> bool:
    return not word.quoted and word.text.lower() in _NULLS.get(field.row.kind, ("null", "none"))


def _make_atom_of_equality(field: _FilterField, word: Word) -> Node:
    if field.row.kind == "any" and (named := _make_atom_of_number_word(field, word)) is not None:
        return named
    if _is_word_for_null(field, word):
        return field.make_atom(_is_null) if field.row.kind == "record_content" else Not(field.make_atom(_is_any_value))
    test = comparisons.make_equality_test(field.row.kind, word)
    keys = frozenset({parse_literal("api", word)}) if field.row.kind == "api" else None
    return field.make_atom(test, keys, needle=word.text, needle_is_value=True)


def _check_field_is_text(field: _FilterField, word: Word, sign: str) -> None:
    if field.row.kind not in comparisons.TEXTUAL:
        raise FilterError(f"{field.name} is no text: {sign} is for text", word.at + 1)


def _negate_node_if(negated: bool, node: Node) -> Node:
    return Not(node) if negated else node
