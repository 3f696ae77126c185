"""A filter and the header of requests in, a question about their bytes out: can the filter let such a request pass?

The problem. Rules of faults, scripts and users of a proxy select single requests by a filter. To ask a filter takes an
exchange and a decoded body, many times what passing a small request on takes; and most requests are not meant.

The idea. The header is mostly the same for all requests of a connection, so its values are put into the filter once. A
name that the rest of the filter asks for has to stand in the bytes of the request, and looking for bytes costs next to
nothing:

```
client_id == a and topic == orders ──▶ header of client b ──▶ False: no request passes
                                   ──▶ header of client a ──▶ orders stands in the bytes?  no: it does not pass
                                                                                           yes: ask the filter
```

What always holds: "no" is certain, whatever the bytes are; "yes" says nothing. Texts are never compressed or escaped in
a request, and where topics go by their ids (KIP-516) the ids of all names that pass are looked for as well.

What is given up: a question about numbers, records or partitions in bodies, about a pattern that is more than a word,
or about the answer is "yes" at once. So is what a request says in a version without text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES
from decoders.exchanges.topic_and_node_names import WELL_KNOWN, Topics
from decoders.filters.filter_field_table import BODIES, Phase, entity_name_paths
from decoders.filters.parse_expression import All, Always, Atom, Filter, Node, Not, declared_fields_at

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

# About a request in some bytes: the bytes, where its size field begins, and where the request ends.
BytesQuestion = Callable[[bytes, int, int], bool]
# False: no request passes. True: any may. Else the question whether a request may pass.
Possible = bool | BytesQuestion

# The most texts that are looked for.
_NEEDLES_MAX: Final = 8
_CORRELATION_ID: Final = Struct(">i")
# Fields of the header that change with each request → the function that reads the value from the bytes.
_VARYING: Final[Mapping[str, Callable[[bytes, int, int], Any]]] = {
    "request_size": lambda _data, at, stop: stop - at - 4,
    "correlation_id": lambda data, at, _stop: _CORRELATION_ID.unpack_from(data, at + 8)[0],
}


class TopicIds:
    """The topic ids, among those known so far, whose names pass a question about names of topics."""

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self._found: dict[Atom, tuple[int, list[bytes]]] = {}

    def ids_of_passing_topics(self, atom: Atom) -> list[bytes]:
        """The bytes of the ids of all topics whose names pass a question."""
        names = self.topics.names
        seen, found = self._found.get(atom) or (0, [id.bytes for id, name in WELL_KNOWN.items() if atom.passes(name)])
        if seen < len(names):
            found += (id.bytes for id, (name, _) in islice(names.items(), seen, None) if atom.passes(name))
            self._found[atom] = len(names), found
        return found


class Prefilter:
    """Asks filters about requests with one header; `exchange` has that header, and nothing else of a request.

    `known` are fields besides those of the header that are the same for all these requests, `unknown` are fields of the
    header that are not.
    """

    def __init__(
        self,
        exchange: Exchange,
        ids: TopicIds,
        *,
        known: frozenset[str] = frozenset(),
        unknown: frozenset[str] = frozenset(),
    ) -> None:
        self._exchange = exchange
        self._ids = ids
        self._known = known
        self._unknown = unknown
        client_id = exchange.client_id
        # Where names begin: behind size, API, version, correlation id and the client's id, which may be like one.
        self._begin = 14 + len(client_id.encode("utf-8", "surrogateescape")) if client_id is not None else 14

    def make_test_of_selection(self, selection: Filter, *, answered: bool) -> Possible:
        """Whether a request of this header may pass; `answered`: once its answer is there, which may say anything."""
        return self._make_test_of_node(selection.node, True, answered)

    def _make_test_of_node(self, node: Node, wanted: bool, answered: bool) -> Possible:
        """Whether the answer of a part of the filter may be `wanted`."""
        if isinstance(node, Atom):
            return self._make_test_of_atom(node, wanted, answered)
        if isinstance(node, Not):
            return self._make_test_of_node(node.node, not wanted, answered)
        if isinstance(node, Always):
            return wanted
        parts = [self._make_test_of_node(each, wanted, answered) for each in node.nodes]
        return join_by_and(parts) if isinstance(node, All) is wanted else join_by_or(parts)

    def _make_test_of_atom(self, atom: Atom, wanted: bool, answered: bool) -> Possible:
        varying = _VARYING.get(atom.name)
        if varying is not None:
            return lambda data, at, stop: atom.passes(varying(data, at, stop)) is wanted
        if atom.name in self._unknown:
            return True
        if atom.name in self._known or atom.row.phase is Phase.HEADER:
            return atom.make_test()(self._exchange) is wanted
        needles = self._needles_of_atom(atom, answered)
        if needles is None:
            return True
        if not needles:
            return not wanted
        if not wanted or len(needles) > _NEEDLES_MAX:
            return True
        return join_by_or([self._make_bytes_test(needle) for needle in needles])

    def _make_bytes_test(self, needle: bytes) -> BytesQuestion:
        begin = self._begin
        return lambda data, at, stop: data.find(needle, at + begin, stop) >= 0

    def _needles_of_atom(self, atom: Atom, answered: bool) -> list[bytes] | None:
        """Byte strings of which every request that passes has at least one; None where they are not known."""
        key = self._exchange.api_key
        assert key is not None
        if atom.row.entity:
            if answered and entity_name_paths(key, "response", atom.row.entity):
                return None
            paths = entity_name_paths(key, "request", atom.row.entity)
        elif atom.name.partition(".")[0] in BODIES and atom.sides == ("request",):
            paths = (atom.path,)
        else:
            return None
        kinds = _kinds_of_request_fields(key, paths)
        if not kinds:
            return []
        needle = _encode_needle(atom.needle)
        if needle is None or kinds - ({"string", "uuid"} if atom.row.entity == "topicName" else {"string"}):
            return None
        return [needle, *(self._ids.ids_of_passing_topics(atom) if "uuid" in kinds else ())]


@cache
def _kinds_of_request_fields(api_key: int, paths: tuple[str, ...]) -> frozenset[str]:
    """The types of the fields at these paths of a request."""
    if api_key not in NAMES:
        return frozenset()
    return frozenset(field.kind for path in paths for _, field in declared_fields_at(api_key, "request", path))


def _encode_needle(text: str | None) -> bytes | None:
    try:
        return None if text is None else text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def join_by_or(parts: Iterable[Possible]) -> Possible:
    """The answers of several parts joined by "or"."""
    return _join_tests(parts, any, decisive=True)


def join_by_and(parts: Iterable[Possible]) -> Possible:
    """The answers of several parts joined by "and"."""
    return _join_tests(parts, all, decisive=False)


def _join_tests(parts: Iterable[Possible], join: Callable[[Iterable[bool]], bool], *, decisive: bool) -> Possible:
    """The joined answer: `decisive` if one part is that, its opposite without questions, else a question."""
    asked: list[BytesQuestion] = []
    for each in parts:
        if each is decisive:
            return decisive
        if not isinstance(each, bool):
            asked.append(each)
    if len(asked) < 2:
        return asked[0] if asked else not decisive
    return lambda data, at, stop: join(each(data, at, stop) for each in asked)


__all__ = ["BytesQuestion", "Possible", "Prefilter", "TopicIds", "join_by_and", "join_by_or"]
