"""Exchanges in, a portrait of each client or topic out: how much, how well, and everything that it has to do with.

A portrait has statistics and, by facet (addresses, topics written, groups …), the names met with how often, and when
first and last. A client is told apart by its client id, or where it has none its address, and by its software.

Where there are more portraits than KEYS_SHOWN_MAX, those with the most exchanges have rows, and all others together
have one (heavy_keys.py): its numbers, and of its names only the APIs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from decoders.analysis.exchange_facts import OFFERED, WAITING, WAITS, OfferedVersions, facts_of_exchange, waited_ns
from decoders.analysis.fold_interface import Row, sort_by_key
from decoders.analysis.heavy_keys import DistinctCount, HeavyKeys, fits_row_limit, has_too_many_keys, split_by_weight
from decoders.analysis.read_dimension_values import (
    client_of,
    host_of,
    library_in,
    paths_of_dimensions,
    read_topics,
    software_of,
)
from decoders.analysis.statistics import GroupStatistics
from decoders.analysis.sum_amounts_by_key import Tally
from decoders.analysis.time_slices import Join, add_amounts
from decoders.errors import Malformed
from decoders.exchanges.body_reader import LOGGING_IN
from decoders.exchanges.find_client_library import merge_libraries
from decoders.exchanges.topic_and_node_names import broker_addresses, list_nodes_of_answer
from decoders.filters.filter_field_table import entity_name_paths, entity_names_of_both_sides, sides_with_entity
from decoders.limits import NAMES_OF_PORTRAIT_MAX, NAMES_OF_PORTRAITS_MAX
from decoders.protocol_facts.api_keys import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
)
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.protocol_facts.guess_release_from_offered_versions import find_most_alike_releases
from decoders.schema.api_declaration import Versions
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = [
    "Brokers",
    "Clients",
    "Portrait",
    "Portraits",
    "groups_of",
    "make_latency_columns",
    "sender_and_api",
    "topic_use_of_api",
    "topics_of",
    "transactional_ids_of",
    "versions_used",
]

# Facet → name → [how often, first and last time in ns].
Facets = dict[str, dict[str, list[int]]]
# What an exchange says of its keys: (facet, name).
Names = list[tuple[str, str]]
ALIKE_MAX: Final = 4096  # kinds of exchanges that are known at once
# APIs by which clients find their way: asking for a topic there is neither writing, reading nor administering.
_ASKING: Final = frozenset({METADATA, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH, 23, 24, 28, 60, 61, 75})
_READING: Final = frozenset({FETCH, 78})


class Portrait:
    """A portrait: `statistics` of its exchanges, names in `facets`; `cut`: facets with more names than are kept."""

    __slots__ = ("cut", "facets", "first", "last", "statistics")

    def __init__(self) -> None:
        self.statistics = GroupStatistics()
        self.facets: Facets = {}
        self.cut: set[str] = set()
        self.first = self.last = 0

    def count_name(self, facet: str, name: str, count: int, first: int, last: int, *, room: bool = True) -> int:
        """Count a name of a facet, and its first and last time in ns; without `room` a new name is not kept.

        Returns how many names more there are than before: 1 or 0.
        """
        names = self.facets.get(facet)
        if names is None:
            names = self.facets[facet] = {}
        before = names.get(name)
        if before is not None:
            before[0] += count
            if first < before[1]:
                before[1] = first
            if last > before[2]:
                before[2] = last
        elif len(names) >= NAMES_OF_PORTRAIT_MAX or (not room and names):
            self.cut.add(facet)
        else:
            names[name] = [count, first, last]
            return 1
        return 0

    def count_names_kept(self) -> int:
        """How many names it has."""
        return sum(map(len, self.facets.values()))

    def extend_time(self, first: int, last: int) -> None:
        """Extend the time of the exchanges to cover an exchange, or several, from `first` to `last`, in ns."""
        self.first = min(self.first or first, first)
        self.last = max(self.last, last)

    def merge(self, other: Portrait, room: int | None = None) -> None:
        """Add the counts and names of `other`; of new names only about as many as there is `room` for (None: all)."""
        self.statistics.merge(other.statistics, 0, add_amounts)
        self.extend_time(other.first, other.last)
        self.cut |= other.cut
        for facet, names in other.facets.items():
            for name, (count, first, last) in names.items():
                new = self.count_name(facet, name, count, first, last, room=room is None or room > 0)
                room = None if room is None else room - new

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.statistics.state(), self.first, self.last, sorted(self.cut), self.facets]

    @classmethod
    def make_resumed(cls, state: object) -> Portrait:
        """A portrait from its `state`. Raises DecodeError."""
        made = cls()
        statistics, made.first, made.last, cut, facets = state_fields(state, list, int, int, list, dict)
        made.statistics = GroupStatistics.make_resumed(statistics)
        if not all(isinstance(facet, str) for facet in cut):
            raise Malformed("facets that are no names")
        made.cut = set(cut)
        for facet, names in facets.items():
            (facet, names) = state_fields([facet, names], str, dict)
            for name, amounts in names.items():
                (name,) = state_fields([name], str)
                made.facets.setdefault(facet, {})[name] = list(state_fields(amounts, int, int, int))
        return made

    def names_of_facet(self, facet: str) -> list[str]:
        """The names of a facet, in order."""
        return sorted(self.facets.get(facet, ()))


class _AlikeExchanges:
    """Exchanges that say the same names of the same keys: the names and, not counted so far, how many and when."""

    __slots__ = ("count", "first", "last", "library", "names", "portraits")

    def __init__(self, portraits: list[Portrait], names: Names, library: object) -> None:
        self.portraits = portraits
        self.names = names
        self.library = library  # it must live on, since the kind has its identity
        self.count = self.first = self.last = 0

    def add_time(self, time_ns: int) -> None:
        """Add an exchange."""
        self.first = time_ns if not self.count else min(self.first, time_ns)
        self.last = max(self.last, time_ns)
        self.count += 1


class Portraits(ABC):
    """The base of folds that make portraits by key. An exchange counts for each key that it is about.

    Most are alike: names are found for the first of a kind; the others count for it at the end, or at ALIKE_MAX kinds.
    """

    noun = "portraits"

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], Portrait] = {}
        self._heavy = HeavyKeys()
        self._others = Portrait()
        self._names = 0  # of all portraits
        self._alike: dict[tuple[Any, ...], _AlikeExchanges] = {}
        self.counted_apart = False  # whether the latest exchange counted in a portrait that is not the others'

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of names in bodies, and those that tell waiting from latency."""
        entities = frozenset(
            path for name in ("groupId", "transactionalId") for path in entity_name_paths(api_key, side, name)
        )
        return paths_of_dimensions(("topic",), api_key, side) | entities | WAITS.needed_paths(api_key, side)

    def learn(self, exchange: Exchange) -> None:  # noqa: B027 - nothing for most
        """Learn facts that do not depend on filters, whether or not the exchange counts."""

    @abstractmethod
    def keys_of_exchange(self, exchange: Exchange) -> Iterable[tuple[Any, ...]]:
        """The keys that an exchange is about."""

    @abstractmethod
    def names_of_exchange(self, exchange: Exchange) -> Names:
        """The names that an exchange says of each of its keys, by facet."""

    def key_of_alike_exchanges(self, exchange: Exchange) -> tuple[Any, ...] | None:  # noqa: ARG002 - None for most
        """All that decides on the keys and names of an exchange; None where that takes as long as finding them."""
        return None

    @abstractmethod
    def rows(self) -> list[Row]:
        """A row for each portrait."""

    def add(self, exchange: Exchange) -> None:
        """Count an exchange."""
        if exchange.api_key is None:
            return
        exchange._read_sides()
        kind = self.key_of_alike_exchanges(exchange)
        alike = None if kind is None else self._alike.get(kind)
        if alike is None:
            self._add_first_of_kind(exchange, kind)
            return
        alike.add_time(exchange.time_ns)
        self.counted_apart = bool(alike.portraits)
        for portrait in alike.portraits:
            portrait.extend_time(exchange.time_ns, exchange.time_ns)
            self._count_exchange(portrait.statistics, exchange)

    def _add_first_of_kind(self, exchange: Exchange, kind: tuple[Any, ...] | None) -> None:
        """Count an exchange with its names; those of its kind are known from now on."""
        time_ns = exchange.time_ns
        names: Names | None = None
        apart: dict[tuple[Any, ...], Portrait] = {}
        for key in self.keys_of_exchange(exchange):
            portrait = self._found.get(key) or self._choose_portrait_of_new_key(key)
            portrait.extend_time(time_ns, time_ns)
            self._count_exchange(portrait.statistics, exchange)
            if portrait is self._others:
                portrait.count_name("apis", _api_and_version(exchange), 1, time_ns, time_ns)
                kind = None  # whether a key is one of the others changes
                continue
            if names is None:
                names = self.names_of_exchange(exchange)
            apart[key] = portrait
            room = self._names < NAMES_OF_PORTRAITS_MAX
            for facet, name in names:
                self._names += portrait.count_name(facet, name, 1, time_ns, time_ns, room=room)
        self.counted_apart = bool(apart)
        if kind is not None and all(self._found.get(key) is portrait for key, portrait in apart.items()):
            if len(self._alike) >= ALIKE_MAX:
                self.count_alike_exchanges()
            self._alike[kind] = _AlikeExchanges(
                list(apart.values()), names or [], (exchange.extra or {}).get("library")
            )

    def count_alike_exchanges(self) -> None:
        """Count the names of exchanges that were like others; no kind is known from then on."""
        alike, self._alike = self._alike, {}
        for its in [each for each in alike.values() if each.count]:
            for portrait in its.portraits:
                room = self._names < NAMES_OF_PORTRAITS_MAX
                for facet, name in its.names:
                    self._names += portrait.count_name(facet, name, its.count, its.first, its.last, room=room)

    def _choose_portrait_of_new_key(self, key: tuple[Any, ...]) -> Portrait:
        """The portrait to count a new key in, which may be that of the others."""
        if has_too_many_keys(len(self._found)):
            self._sum_up_light_portraits()
        if not self._heavy.admit_key(key):
            return self._others
        portrait = self._found[key] = Portrait()
        return portrait

    def _exchanges_by_key(self) -> list[tuple[tuple[Any, ...], int]]:
        return [(key, portrait.statistics.count) for key, portrait in self._found.items()]

    def _sum_up_light_portraits(self) -> None:
        """Keep the portraits with the most exchanges, and add up all others."""
        self.count_alike_exchanges()
        for key in self._heavy.leave_out_light_keys(self._exchanges_by_key()):
            portrait = self._found.pop(key)
            self._names -= portrait.count_names_kept()
            _add_portrait_to_others(self._others, portrait)
            self.drop_data_beside_portrait(key)

    def drop_data_beside_portrait(self, key: tuple[Any, ...]) -> None:  # noqa: B027 - nothing for most
        """Give up what the fold has of a key besides its portrait."""

    def choose_portraits(self) -> tuple[dict[tuple[Any, ...], Portrait], Portrait, int]:
        """The portraits that have rows, the numbers of all others, and about how many others there are."""
        self.count_alike_exchanges()
        if fits_row_limit(len(self._found)):
            return self._found, self._others, self._heavy.left_out.estimate_count()
        kept, light = split_by_weight(self._exchanges_by_key())
        others, left_out = Portrait.make_resumed(self._others.state()), DistinctCount()
        left_out.merge(self._heavy.left_out)
        for key in light:
            left_out.add(key)
            _add_portrait_to_others(others, self._found[key])
        return {key: self._found[key] for key in kept}, others, left_out.estimate_count()

    def _count_exchange(self, group: GroupStatistics, exchange: Exchange) -> None:
        group.count += 1
        asked, answered = exchange.request_size, exchange.response_size
        carried = exchange.extra is not None and "envelope" in exchange.extra
        if not carried:
            group.request_bytes += asked or 0
            group.response_bytes += answered or 0
        if asked is None and answered is None:
            group.unsized += 1
        if exchange.outcome == "unanswered":
            group.unanswered += 1
        elif exchange._failed and exchange.outcome == "complete":
            group.undecoded += 1
        errors = exchange.unexpected if exchange._error_codes else None
        if errors:
            group.failed += 1
            group.codes.update([code for _, code in errors])
        waited = waited_ns(exchange) if exchange.api_key in WAITING else None
        if waited is not None:
            group.waited += 1
            group.waited_ns += waited
        elif not carried and exchange.response_ns is not None and exchange.request_end_ns is not None:
            group.add_value(exchange.response_ns - exchange.request_end_ns)

    def merge(self, other: Self) -> None:
        """Add the portraits of `other`, which stays as it is."""
        self.count_alike_exchanges()
        other.count_alike_exchanges()
        self._heavy.merge(other._heavy, self._found, other._found)
        for key, portrait in other._found.items():
            mine = self._found.setdefault(key, Portrait())
            self._names -= mine.count_names_kept()
            mine.merge(portrait, room=NAMES_OF_PORTRAITS_MAX - self._names)
            self._names += mine.count_names_kept()
        _add_portrait_to_others(self._others, other._others)
        if has_too_many_keys(len(self._found)):
            self._sum_up_light_portraits()

    def export(self) -> bytes:
        """The state, for `resume`."""
        self.count_alike_exchanges()
        found = [[key, portrait.state()] for key, portrait in self._found.items()]
        return pack([found, self._heavy.state(), self._others.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        items, heavy, others = state_fields(unpack(state), list, list, list)
        for item in items:
            key, portrait = state_fields(item, tuple, list)
            self._found[key] = made = Portrait.make_resumed(portrait)
            self._names += made.count_names_kept()
        self._heavy, self._others = HeavyKeys.make_resumed(heavy), Portrait.make_resumed(others)


def _add_portrait_to_others(others: Portrait, portrait: Portrait) -> None:
    """Add the numbers of a portrait to those of the others, and its versions of APIs."""
    others.statistics.merge(portrait.statistics, 0, add_amounts)
    if portrait.last:
        others.extend_time(portrait.first, portrait.last)
    for name, amounts in portrait.facets.get("apis", {}).items():
        others.count_name("apis", name, *amounts)
    others.cut |= portrait.cut & {"apis"}


def _api_and_version(exchange: Exchange) -> str:
    """The name that an exchange has in the facet `apis`."""
    return f"{exchange._api_reader.name} {exchange.api_version}"


def sender_and_api(exchange: Exchange) -> tuple[Any, ...]:
    """Connection, client, software and API version: the beginning of what `key_of_alike_exchanges` returns."""
    software = exchange.client_software
    said = None if software is None else (software["name"], software["version"])
    info, api_reader = exchange.connection_info, exchange._api_reader
    return info, api_reader, exchange.api_key, exchange.api_version, exchange.client_id, said


def make_latency_columns(group: GroupStatistics) -> Row:
    """The numbers of a portrait: latencies in ms, without answers that waited by design."""
    latency = group.percentiles() if group.values else {}
    return {
        "count": group.count,
        "errors": group.failed,
        "error_codes": {error_name(code): count for code, count in sorted(group.codes.items())},
        "unanswered": group.unanswered,
        "undecoded": group.undecoded,
        "request_bytes": group.request_bytes if group.has_known_sizes else None,
        "response_bytes": group.response_bytes if group.has_known_sizes else None,
        "p50": latency["p50"] / 1e6 if latency else None,
        "p99": latency["p99"] / 1e6 if latency else None,
        "max": group.high / 1e6 if latency else None,
    }


def topics_of(exchange: Exchange) -> list[str]:
    """The topics of an exchange, each once."""
    facts = facts_of_exchange(exchange)
    if facts.named_topics is None:
        facts.named_topics = [name for name in dict.fromkeys(read_topics(exchange)) if name]
    return facts.named_topics


def groups_of(exchange: Exchange) -> list[str]:
    """The consumer groups of an exchange, each once."""
    if exchange.api_key is None or not sides_with_entity(exchange.api_key, "groupId"):
        return []
    facts = facts_of_exchange(exchange)
    if facts.groups is None:
        facts.groups = _names_of_entity(exchange, "groupId")
    return facts.groups


def transactional_ids_of(exchange: Exchange) -> list[str]:
    """The transactional ids of an exchange, each once."""
    if exchange.api_key is None or not sides_with_entity(exchange.api_key, "transactionalId"):
        return []
    facts = facts_of_exchange(exchange)
    if facts.transactional_ids is None:
        facts.transactional_ids = _names_of_entity(exchange, "transactionalId")
    return facts.transactional_ids


def _names_of_entity(exchange: Exchange, entity: str) -> list[str]:
    found = entity_names_of_both_sides(exchange, entity)
    return [name for name in dict.fromkeys(found) if isinstance(name, str) and name] if found else found


def topic_use_of_api(api_key: int | None) -> str:
    """What an exchange of this API does with its topics: the name of a facet."""
    if api_key == PRODUCE:
        return "writes"
    return "reads" if api_key in _READING else "asks" if api_key in _ASKING else "administers"


class Clients(Portraits):
    """Portraits of clients, by id (else address) and software."""

    noun = "clients"
    asks_history = True  # for libraries (exchanges/facts_from_earlier_exchanges.py)

    def keys_of_exchange(self, exchange: Exchange) -> Iterable[tuple[Any, ...]]:
        """The client; of an exchange inside an Envelope its client id, else the principal that it is about."""
        software = exchange.client_software
        if exchange.envelope is not None and not exchange.client_id and exchange.user:
            return ((exchange.user, exchange.client_id, None, None),)
        name, version = (software["name"], software["version"]) if software else (None, None)
        return ((client_of(exchange.client_id, exchange.connection_info.client), exchange.client_id, name, version),)

    def names_of_exchange(self, exchange: Exchange) -> Names:
        """Addresses, senders, connections, brokers, versions, topics, groups, transactional ids of the client.

        An exchange inside an Envelope came over a broker's connection, in a version that the broker speaks.
        """
        info = exchange.connection_info
        names: Names = []
        if exchange.envelope is None:
            names += [
                ("addresses", host_of(info.client)),
                ("connections", f"{info.client} {info.broker}"),
                ("brokers", info.broker),
                ("apis", _api_and_version(exchange)),
            ]
        if info.via_address is not None:
            names.append(("via_addresses", host_of(info.via_address)))
        library = library_in(exchange)
        if library is not None:
            names.append(("libraries", orjson.dumps(library).decode()))
        if exchange.user and exchange.api_key not in LOGGING_IN:  # the login may be refused
            names.append(("users", exchange.user))
        doing = topic_use_of_api(exchange.api_key)
        names += [(doing, topic) for topic in topics_of(exchange)]
        names += [("groups", group) for group in groups_of(exchange)]
        names += [("transactional_ids", identity) for identity in transactional_ids_of(exchange)]
        return names

    def key_of_alike_exchanges(self, exchange: Exchange) -> tuple[Any, ...] | None:
        """Connection, client, API, user, library, and what the bodies name."""
        extra = exchange.extra
        if extra is not None and "envelope" in extra:
            return None
        library = None if extra is None else id(extra.get("library"))
        names = (*topics_of(exchange), None, *groups_of(exchange), None, *transactional_ids_of(exchange))
        return (*sender_and_api(exchange), exchange.user, library, *names)

    def rows(self) -> list[Row]:
        """A row for each client and software, those with the most exchanges first.

        A client says its software once: its exchanges without a software count for its software, if it has just one.
        """
        found, others, count = self.choose_portraits()
        rows = [
            self._make_client_row(client_id, None if name is None else {"name": name, "version": version}, portrait)
            for (_, client_id, name, version), portrait in sort_by_key(self._join_clients_without_software(found))
        ]
        rows.sort(key=lambda row: -row["count"])
        return rows + (
            [self._make_client_row(None, None, others) | {"connections": None, "others": count}] if count else []
        )

    def _make_client_row(self, client_id: str | None, software: Row | None, portrait: Portrait) -> Row:
        return {
            "client_id": client_id,
            "client_software": software,
            "library": merge_libraries(map(orjson.loads, portrait.names_of_facet("libraries"))),
            "addresses": portrait.names_of_facet("addresses"),
            **(
                {"via_addresses": portrait.names_of_facet("via_addresses")}
                if "via_addresses" in portrait.facets
                else {}
            ),
            "connections": len(portrait.facets.get("connections", ())),
            "brokers": portrait.names_of_facet("brokers"),
            "apis": versions_used(portrait),
            **{facet: portrait.names_of_facet(facet) for facet in ("writes", "reads", "administers")},
            **{facet: portrait.names_of_facet(facet) for facet in ("groups", "transactional_ids", "users")},
            **make_latency_columns(portrait.statistics),
            "first": format_rfc3339(portrait.first),
            "last": format_rfc3339(portrait.last),
            **({"cut": sorted(portrait.cut)} if portrait.cut else {}),
        }

    def _join_clients_without_software(
        self, portraits: dict[tuple[Any, ...], Portrait]
    ) -> dict[tuple[Any, ...], Portrait]:
        known: dict[Any, list[tuple[Any, ...]]] = {}
        for key in portraits:
            if key[2] is not None:
                known.setdefault(key[:2], []).append(key)
        found: dict[tuple[Any, ...], Portrait] = {}
        for key, portrait in portraits.items():
            its = known.get(key[:2])
            if its is None:
                found[key] = portrait  # as it is: nothing is merged into it
                continue
            place = its[0] if key[2] is None and len(its) == 1 else key
            if place not in found:
                found[place] = Portrait()
            found[place].merge(portrait)
        return found


def versions_used(portrait: Portrait) -> dict[str, list[int]]:
    """API name → versions used, in order."""
    found: dict[str, list[int]] = {}
    for text in portrait.facets.get("apis", ()):
        name, _, version = text.rpartition(" ")
        if version.lstrip("-").isdigit():
            found.setdefault(name, []).append(int(version))
    return {name: sorted(versions) for name, versions in sorted(found.items())}


_NODE: Final = ("node_id", "host", "port", "rack")
_LISTED: Final = {
    METADATA: frozenset({*(f"brokers[].{name}" for name in _NODE), "controller_id"}),
    DESCRIBE_CLUSTER: frozenset({*(f"brokers[].{name}" for name in ("broker_id", *_NODE[1:])), "controller_id"}),
}


class Brokers(Portraits):
    """The brokers that were talked to, by address, and those that answers advertise, with node ids, racks, releases."""

    noun = "brokers"

    def __init__(self) -> None:
        super().__init__()
        self._offers = Tally(("broker", "api_key"), {"low": min, "high": max}, "APIs of brokers")
        self._offered = OfferedVersions()
        sums: dict[str, Join] = {"count": add_amounts, "last": max}
        self._advertised = Tally(("address", "node_id", "rack"), sums, "addresses of brokers")
        self._controllers = Tally(("node_id",), sums, "controllers")

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths that tell waiting from latency, those of versions offered, and of addresses of nodes."""
        answers = OFFERED if api_key == API_VERSIONS else _LISTED.get(api_key, frozenset())
        return WAITS.needed_paths(api_key, side) | (answers if side == "response" else frozenset())

    def add(self, exchange: Exchange) -> None:
        """Count an exchange, and learn from it. Raises LimitExceeded."""
        super().add(exchange)
        self.learn(exchange)

    def learn(self, exchange: Exchange) -> None:
        """Learn what an answer says of brokers."""
        for key, versions in self._offered.read_changed_offer(exchange):
            self._offers.join_amounts((exchange.connection_info.broker, key), (versions.low, versions.high))
        answer = exchange.view("response") if exchange.api_key in _LISTED else None
        if not isinstance(answer, dict):
            return
        for node in list_nodes_of_answer(answer):
            self._advertised.join_amounts((node.address, node.id, node.rack), (1, exchange.time_ns))
        controller = answer.get("controller_id")
        if isinstance(controller, int) and controller >= 0:
            self._controllers.join_amounts((controller,), (1, exchange.time_ns))

    def keys_of_exchange(self, exchange: Exchange) -> Iterable[tuple[Any, ...]]:
        """The broker."""
        return ((exchange.connection_info.broker,),)

    def key_of_alike_exchanges(self, exchange: Exchange) -> tuple[Any, ...]:
        """Connection, client and API."""
        return sender_and_api(exchange)

    def names_of_exchange(self, exchange: Exchange) -> Names:
        """The broker's clients, their software and the APIs."""
        software = exchange.client_software
        names = [
            ("clients", client_of(exchange.client_id, exchange.connection_info.client)),
            ("apis", _api_and_version(exchange)),
        ]
        if software:
            names.append(("software", software_of(software["name"], software["version"]) or ""))
        return names

    def merge(self, other: Self) -> None:
        """Add the counts of `other`. Raises LimitExceeded."""
        super().merge(other)
        for mine, its in zip(self._list_tallies(), other._list_tallies(), strict=True):
            mine.merge(its)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([super().export(), *(tally.export() for tally in self._list_tallies())])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        portraits, *states = state_fields(unpack(state), *[bytes] * 4)
        super().resume(portraits)
        for tally, its in zip(self._list_tallies(), states, strict=True):
            tally.resume(its)

    def _list_tallies(self) -> tuple[Tally, ...]:
        return self._offers, self._advertised, self._controllers

    def rows(self) -> list[Row]:
        """A row for each broker that was talked to, then those that are only advertised; by node id and address."""
        portraits, others, count = self.choose_portraits()
        offers: dict[str, dict[int, Versions]] = {}
        for row in self._offers.rows():
            offers.setdefault(row["broker"], {})[row["api_key"]] = Versions(row["low"], row["high"])
        advertised = sorted(self._advertised.rows(), key=lambda row: row["last"])
        nodes = {place: row for row in advertised for place in _addresses_of_advertised(row["address"])}
        controllers = [row["node_id"] for row in sorted(self._controllers.rows(), key=lambda row: row["last"])]
        found = [
            self._make_broker_row(address, nodes.get(address), controllers)
            | {"release": str(find_most_alike_releases(offers[address])) if address in offers else None}
            | _make_broker_portrait_columns(portrait)
            for (address,), portrait in sort_by_key(portraits)
        ]
        reached = {address for (address,) in self._found}
        nothing = make_latency_columns(GroupStatistics())
        for place, row in {row["address"]: row for row in advertised}.items():
            if not reached & {*_addresses_of_advertised(place)}:
                known = self._make_broker_row(place, row, controllers)
                more = {"release": None, "clients": [], "apis": {}, **nothing, "first": None, "last": None}
                found.append({**known, **more})
        found.sort(key=lambda row: (row["node_id"] is None, row["node_id"] or 0, row["broker"]))
        if count:
            found.append(
                self._make_broker_row(None, None, ())
                | {"release": None}
                | _make_broker_portrait_columns(others)
                | {"others": count}
            )
        return found

    def _make_broker_row(self, address: str | None, node: Row | None, controllers: Sequence[int]) -> Row:
        """What is known of an address from the answers of brokers; the latest answer holds."""
        number = None if node is None else node["node_id"]
        return {
            "broker": address,
            "node_id": number,
            "rack": None if node is None else node["rack"],
            "advertised": None if node is None else node["address"],
            "controller": bool(controllers) and number is not None and controllers[-1] == number,
        }


def _make_broker_portrait_columns(portrait: Portrait) -> Row:
    """The keys of a broker's row that come from its portrait."""
    return {
        "clients": portrait.names_of_facet("clients"),
        "apis": versions_used(portrait),
        **make_latency_columns(portrait.statistics),
        "first": format_rfc3339(portrait.first),
        "last": format_rfc3339(portrait.last),
        **({"cut": sorted(portrait.cut)} if portrait.cut else {}),
    }


def _addresses_of_advertised(advertised: str) -> list[str]:
    """The addresses that an advertised address stands for, where that is certain."""
    host, _, port = advertised.rpartition(":")
    return broker_addresses(host, port)
