"""The text of an expression in, a `Filter` out: what it asks, of which fields, and when that can be answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.filters import questions
from decoders.filters.errors import FilterError
from decoders.filters.fields import ALIASES, BODIES, FIELDS, FieldRow, Phase
from decoders.filters.nodes import All, Always, Any_, Atom, Node, Not
from decoders.filters.paths import all_paths, apis_with, paths_in
from decoders.filters.scan import Scanner, Word
from decoders.filters.values import value_of
from decoders.schema.getter import getter
from decoders.schema.model import Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

DEPTH_MAX: Final = 100
TEXT_MAX: Final = 64 * 1024


class Filter:
    """A question about exchanges. `phase`: by when it is answered for every exchange."""

    __slots__ = ("_node", "matches", "phase", "text")

    matches: Callable[[Exchange], bool]

    def __init__(self, text: str, node: Node) -> None:
        self.text = text
        self._node = node
        self.phase = node.phase
        self.matches = node.test()

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        """The answer as far as it is known in this phase of an exchange; None where what follows may change it."""
        return self._node.decide(exchange, phase)

    def needs(self, key: int, side: Side) -> frozenset[str]:
        """The paths that it reads of a side of an API (needs.py); none where the API cannot pass in any case."""
        keys = self._node.keys()
        if keys is not None and key not in keys:
            return frozenset()
        return frozenset(path for atom in self._node.atoms() for path in atom.needs(key, side))

    @property
    def everything(self) -> bool:
        """Whether it asks nothing."""
        return isinstance(self._node, Always)


def parse(text: str) -> Filter:
    """The filter that an expression describes; the empty one passes everything. Raises FilterError."""
    if len(text) > TEXT_MAX:
        raise FilterError(f"an expression has at most {TEXT_MAX} characters", TEXT_MAX)
    return Filter(text, _Parser(Scanner(text)).whole())


class _Parser:
    """Recursive descent: or, and, not, then a comparison or parentheses."""

    def __init__(self, scan: Scanner) -> None:
        self._scan = scan
        self._depth = 0

    def whole(self) -> Node:
        if self._scan.ended:
            return Always()
        node = self._or()
        if not self._scan.ended:
            raise self._scan.error('"and" or "or" is missing' if not self._scan.sign(")") else 'this ")" opens nowhere')
        return node

    def _or(self) -> Node:
        nodes = [self._and()]
        while self._scan.keyword("or") or self._scan.sign("||"):
            nodes.append(self._and())
        return nodes[0] if len(nodes) == 1 else Any_(nodes)

    def _and(self) -> Node:
        nodes = [self._not()]
        while self._scan.keyword("and") or self._scan.sign("&&"):
            nodes.append(self._not())
        return nodes[0] if len(nodes) == 1 else All(nodes)

    def _not(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._scan.error(f"more than {DEPTH_MAX} levels")
        try:
            if self._scan.keyword("not") or self._scan.sign("!"):
                return Not(self._not())
            begun = self._scan.at
            if self._scan.sign("("):
                node = self._or()
                if not self._scan.sign(")"):
                    raise self._scan.error("this parenthesis is not closed", begun)
                return node
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Node:
        word = self._scan.path()
        field = _field(word)
        negated = bool(self._scan.keyword("not"))
        listed = self._scan.keyword("in", "like")
        if listed:
            return _maybe_not(negated, self._listed(listed, field))
        if negated:
            raise self._scan.error('after "not" comes "in" or "like" here')
        begun = self._scan.at
        sign = self._scan.sign("==", "!=", "<", "<=", ">", ">=", "~", "!~", "=")
        if sign is None:
            return field.asked(None)
        if sign == "=":
            raise self._scan.error('write "==" for equal', begun)
        value = self._scan.value()
        if sign in ("~", "!~"):
            _check_text(field, value, sign)
            return _maybe_not(sign == "!~", field.asked(questions.matching(field.row.kind, value)))
        if sign in ("==", "!="):
            return _maybe_not(sign == "!=", _equal(field, value))
        if field.row.kind not in questions.ORDERED:
            raise FilterError(f"{field.name} has no order: {sign} is for numbers, sizes and times", begun + 1)
        return field.asked(questions.ordered(field.row.kind, sign, value))

    def _listed(self, how: str, field: _Named) -> Node:
        words = [self._scan.value()] if not self._scan.sign("(") else self._values()
        if how == "in":
            return Any_([_equal(field, word) for word in words])
        for word in words:
            _check_text(field, word, how)
        return Any_([field.asked(questions.like(field.row.kind, word)) for word in words])

    def _values(self) -> list[Word]:
        begun = self._scan.at - 1
        words = [self._scan.value()]
        while self._scan.sign(","):
            words.append(self._scan.value())
        if not self._scan.sign(")"):
            raise self._scan.error("this list is not closed", begun)
        return words


class _Named:
    """A field of an expression: its row, and what it needs of bodies."""

    def __init__(self, name: str, row: FieldRow, sides: Sequence[Side] = (), path: str = "") -> None:
        self.name = name
        self.row = row
        self._sides = sides
        self._path = path

    def asked(self, test: questions.Test | None, keys: frozenset[int] | None = None) -> Atom:
        """The question whether a value of this field passes a test; without one, whether there is any."""
        return Atom(self.row, test, self._sides, self._path, keys)


def _field(word: Word) -> _Named:
    name = ALIASES.get(word.text, word.text)
    row = FIELDS.get(name)
    if row is not None:
        return _Named(name, row, ("request", "response") if row.entity else ())
    first, _, path = name.partition(".")
    if first in BODIES and path:
        return _body_field(word, name, first, path)
    names = [*FIELDS, *ALIASES, *(f"{side}." for side in BODIES)]
    raise FilterError(f"there is no field {word.text!r}", word.at + 1, word=word.text, candidates=names)


def _body_field(word: Word, name: str, first: str, path: str) -> _Named:
    side, phase = BODIES[first]
    if not apis_with(side, path):
        others = [f"{first}.{other}" for other in all_paths(side)]
        text = f"no {first} has a field {path!r}"
        raise FilterError(text, word.at + 1, word=name, candidates=others)

    def get(exchange: Exchange) -> Any:
        view = exchange.view(side)
        if not isinstance(view, dict) or exchange.api_key is None:
            return None
        found = [getter(spelt)(view) for spelt in paths_in(exchange.api_key, side, path)]
        values = [value for each in found for value in (each if isinstance(each, list) else (each,))]
        return [value for value in values if value is not None]

    return _Named(name, FieldRow(phase, "any", get, f"a field of the {side}"), (side,), path)


def _equal(field: _Named, word: Word) -> Node:
    if field.row.kind == "any" and not word.quoted and word.text.lower() in ("null", "none"):
        return Not(field.asked(None))
    test = questions.equal(field.row.kind, word)
    keys = frozenset({value_of("api", word)}) if field.row.kind == "api" else None
    return field.asked(test, keys)


def _check_text(field: _Named, word: Word, sign: str) -> None:
    if field.row.kind not in questions.TEXTUAL:
        raise FilterError(f"{field.name} is no text: {sign} is for text", word.at + 1)


def _maybe_not(negated: bool, node: Node) -> Node:
    return Not(node) if negated else node
