"""The parts of a compiled expression: questions about one field, and how they are joined (three-valued, by Kleene)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from decoders.filters.fields import FieldRow, Phase
from decoders.filters.paths import paths_in
from decoders.filters.topics import entity_paths, names
from decoders.schema.model import Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

Question = Callable[["Exchange"], bool]
# API keys that may pass; None: any.
Keys = frozenset[int] | None


class Always:
    """No question at all."""

    phase = Phase.HEADER

    def test(self) -> Question:
        return lambda _exchange: True

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:  # noqa: ARG002 - as the others have it
        return True

    def keys(self) -> Keys:
        return None

    def atoms(self) -> Iterator[Atom]:
        return iter(())


class Atom:
    """Whether a value of a field passes a test; without a test, whether the field says anything."""

    def __init__(
        self,
        row: FieldRow,
        test: Callable[[Any], bool] | None,
        sides: Sequence[Side],
        path: str,
        keys: Keys = None,
    ) -> None:
        self.phase = row.phase if not row.entity else Phase.RESPONSE
        self._row = row
        self._test = test
        self._sides = sides
        self._path = path
        self._keys = keys

    def test(self) -> Question:
        get, test = self._row.get, self._test
        if test is None:
            return lambda exchange: _says(get(exchange))

        def ask(exchange: Exchange) -> bool:
            value = get(exchange)
            if isinstance(value, list):
                return any(map(test, value))
            return value is not None and test(value)

        return ask

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        if phase >= self.phase:
            return self.test()(exchange)
        if self._row.entity and phase == Phase.REQUEST:
            # A name in the request is enough; what the response names is not known yet.
            found = list(names(exchange, "request", self._row.entity))
            return True if (any(map(self._test, found)) if self._test else found) else None
        return None

    def keys(self) -> Keys:
        return self._keys

    def atoms(self) -> Iterator[Atom]:
        yield self

    def needs(self, key: int, side: Side) -> tuple[str, ...]:
        """The paths that it reads of a side."""
        if side not in self._sides:
            return ()
        if self._row.entity:
            return entity_paths(key, side, self._row.entity)
        return tuple(_without_indices(path) for path in paths_in(key, side, self._path))


class Not:
    """The opposite."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.phase: Phase = node.phase

    def test(self) -> Question:
        inner = self._node.test()
        return lambda exchange: not inner(exchange)

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        answer = self._node.decide(exchange, phase)
        return None if answer is None else not answer

    def keys(self) -> Keys:
        return None

    def atoms(self) -> Iterator[Atom]:
        return self._node.atoms()


class _Joined:
    """Several questions."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self.phase: Phase = max(node.phase for node in nodes)

    def atoms(self) -> Iterator[Atom]:
        for node in self._nodes:
            yield from node.atoms()


class All(_Joined):
    """Every one of them; those that are known earlier are asked first."""

    def test(self) -> Question:
        tests = [node.test() for node in sorted(self._nodes, key=lambda node: node.phase)]
        if len(tests) == 2:
            first, second = tests
            return lambda exchange: first(exchange) and second(exchange)
        return lambda exchange: all(test(exchange) for test in tests)

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        answers = [node.decide(exchange, phase) for node in self._nodes]
        return False if False in answers else None if None in answers else True

    def keys(self) -> Keys:
        known = [keys for node in self._nodes if (keys := node.keys()) is not None]
        return frozenset.intersection(*known) if known else None


class Any_(_Joined):  # noqa: N801 - any() and typing.Any have the name without the stroke
    """One of them at least."""

    def test(self) -> Question:
        tests = [node.test() for node in sorted(self._nodes, key=lambda node: node.phase)]
        return tests[0] if len(tests) == 1 else lambda exchange: any(test(exchange) for test in tests)

    def decide(self, exchange: Exchange, phase: Phase) -> bool | None:
        answers = [node.decide(exchange, phase) for node in self._nodes]
        return True if True in answers else None if None in answers else False

    def keys(self) -> Keys:
        known = [node.keys() for node in self._nodes]
        return None if None in known else frozenset().union(*(keys for keys in known if keys is not None))


Node = Always | Atom | Not | All | Any_


def _says(value: Any) -> bool:
    return value not in (None, [], False, "")


def _without_indices(path: str) -> str:
    return re.sub(r"\[\d*\]", "[]", path).removesuffix("[]")
