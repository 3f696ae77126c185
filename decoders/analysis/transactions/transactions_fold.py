"""The fold of `kw transactions`: exchanges in, a row for each transactional id out, which rows() puts together.

```
exchange ─► portrait of the transactional id (counts, errors, latency, clients)   ┐
         ─► its events (events.py)            ─► timeline.py: its transactions     ├─► a row for each id, and for each
         ─► markers, descriptions, by producer id or name                         │   producer that holds readers back
         ─► last stable offsets (stable_offsets.py), of all exchanges  ┘
```

Events are sets, of which the latest are kept: an exchange that is taken twice, or in another order, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import UUID

from decoders.analysis.groups.partition_offsets_and_lag import TopicPartition
from decoders.analysis.portraits.client_and_broker_portraits import (
    Names,
    Portrait,
    Portraits,
    make_latency_columns,
    transactional_ids_of,
    versions_used,
)
from decoders.analysis.read_dimension_values import client_of
from decoders.analysis.transactions.events import (
    COORDINATED,
    DescribedTransaction,
    TransactionEvent,
    read_described_transactions,
    read_markers,
    transaction_events_of,
    transaction_paths,
)
from decoders.analysis.transactions.held_partitions import HeldPartition, find_held_partitions
from decoders.analysis.transactions.rows import TransactionView, make_producer_row, make_transaction_row
from decoders.analysis.transactions.stable_offsets import StableOffsets, stable_offset_paths
from decoders.analysis.transactions.timeline import TransactionTimeline
from decoders.errors import Malformed
from decoders.exchanges.body_reader import SIDES
from decoders.limits import PARTITIONS_KEPT_MAX, TRANSACTION_EVENTS_ALL_MAX, TRANSACTION_EVENTS_MAX
from decoders.protocol_facts.api_keys import (
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    FETCH,
    LIST_TRANSACTIONS,
    PRODUCE,
    WRITE_TXN_MARKERS,
)
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.primitive_types import format_uuid
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["Transactions"]

# APIs that ask about transactions without taking part in them.
_ASKING: Final = frozenset({DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS})
_EVENT: Final = (int, str, int, int, int, int, int, str, str, int, tuple)
_DESCRIBED: Final = (int, str, int, str, bool, int, int, int, tuple)


class EventSet:
    """The latest events of one transactional id, or markers of one producer id: of Produce, and of all others.

    `cut`: whether there were more.
    """

    __slots__ = ("cut", "others", "produced")

    def __init__(self) -> None:
        self.produced: set[TransactionEvent] = set()
        self.others: set[TransactionEvent] = set()
        self.cut = False

    def __len__(self) -> int:
        return len(self.produced) + len(self.others)

    def add(self, event: TransactionEvent) -> None:
        """Keep an event."""
        kept = self.produced if event.kind == "produced" else self.others
        kept.add(event)
        if len(kept) >= 2 * TRANSACTION_EVENTS_MAX:
            self.drop_events_over_limit()

    def drop_events_over_limit(self) -> None:
        """Keep only the latest TRANSACTION_EVENTS_MAX events of each kind."""
        for kept in (self.produced, self.others):
            if len(kept) > TRANSACTION_EVENTS_MAX:
                kept.difference_update(sorted(kept)[: len(kept) - TRANSACTION_EVENTS_MAX])
                self.cut = True

    def list_events(self) -> list[TransactionEvent]:
        """All events that are kept."""
        self.drop_events_over_limit()
        return [*self.produced, *self.others]

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.cut, [tuple(event) for event in sorted({*self.produced, *self.others})]]

    @classmethod
    def make_resumed(cls, state: object) -> EventSet:
        """A set from its `state`. Raises DecodeError."""
        made = cls()
        made.cut, events = state_fields(state, bool, list)
        for each in events:
            event = TransactionEvent(*state_fields(each, *_EVENT))
            (made.produced if event.kind == "produced" else made.others).add(event)
        return made


class Transactions(Portraits):
    """Transactional ids with their latest transactions, and what holds readers of committed records back.

    Events and offsets are learnt from all exchanges, for a Fetch names no transaction: a caller that calls `learn` for
    exchanges that filters leave out has to call it for all.
    """

    noun = "transactions"

    def __init__(self) -> None:
        super().__init__()
        self._events: dict[str, EventSet] = {}
        self._markers: dict[int, EventSet] = {}
        self._described: dict[tuple[str, bool], DescribedTransaction] = {}  # by name and whether it tells all
        self._software: dict[tuple[str, str], tuple[str, str]] = {}  # client and address → name and version
        self._offsets = StableOffsets()
        self._topic_names: dict[str, str] = {}  # by id, for exchanges before the name was known
        self._named_ids: set[UUID] = set()  # those whose names are known
        self._places: set[TopicPartition] = set()  # those that counted exchanges tell to be held back
        self._last_ns = 0
        self._learns = False
        self._left_out = False

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of names, of events and of offsets."""
        return super().needs(api_key, side) | transaction_paths(api_key, side) | stable_offset_paths(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Count an exchange, and learn from it."""
        super().add(exchange)
        if exchange.api_key is None:
            return
        held = (
            ()
            if self._learns and exchange.api_key not in (FETCH, DESCRIBE_PRODUCERS)
            else self._offsets.learn(exchange)
        )
        self._places.update(held)
        if not self._learns:
            self._learn_events(exchange)

    def learn(self, exchange: Exchange) -> None:
        """Learn what an exchange says of transactions and offsets, whether or not it counts."""
        self._learns = True
        if exchange.api_key is not None:
            exchange._read_sides()
            self._offsets.learn(exchange)
            self._learn_events(exchange)

    def _learn_events(self, exchange: Exchange) -> None:
        key = exchange.api_key
        self._last_ns = max(self._last_ns, exchange.response_ns or exchange.time_ns)
        if (
            key in (FETCH, PRODUCE)
            and (exchange.api_version or 0) >= 13
            and len(self._topic_names) < PARTITIONS_KEPT_MAX
        ):
            self._learn_topic_names(exchange)
        if key == WRITE_TXN_MARKERS:
            for marker in read_markers(exchange):
                self._keep_event(self._markers, marker.producer_id, marker)
        elif key in _ASKING:
            for name, told in read_described_transactions(exchange):
                where = name, told.whole
                if where in self._described or len(self._described) < PARTITIONS_KEPT_MAX:
                    self._described[where] = max(self._described.get(where, told), told)
        else:
            for name, event in transaction_events_of(exchange):
                self._keep_event(self._events, name, event)
                self._keep_software(exchange, (event.client, event.address))

    def _learn_topic_names(self, exchange: Exchange) -> None:
        """Learn the names of the topic ids that have none beside them, from the paths that portraits need."""
        for side in SIDES:
            for identity in exchange._api_reader.list_nameless_topic_ids(side, exchange.view(side)):
                name = None if identity in self._named_ids else exchange.topic_name(identity)
                if name is not None:
                    self._named_ids.add(identity)
                    self._topic_names[format_uuid(identity.bytes)] = name

    def _keep_event(self, events_by_key: dict[Any, EventSet], key: Any, event: TransactionEvent) -> None:
        its = events_by_key.get(key)
        if its is None:
            if len(self._events) + len(self._markers) >= PARTITIONS_KEPT_MAX:
                self._left_out = True
                return
            its = events_by_key[key] = EventSet()
        its.add(event)

    def _keep_software(self, exchange: Exchange, client_and_host: tuple[str, str]) -> None:
        software = exchange.client_software
        if software and (client_and_host in self._software or len(self._software) < PARTITIONS_KEPT_MAX):
            its = software["name"] or "", software["version"] or ""
            self._software[client_and_host] = max(self._software.get(client_and_host, its), its)

    def keys_of_exchange(self, exchange: Exchange) -> Iterable[tuple[str]]:
        """Each transactional id."""
        if exchange.api_key == LIST_TRANSACTIONS:
            return [(name,) for name in dict.fromkeys(name for name, _ in read_described_transactions(exchange))]
        return [(name,) for name in transactional_ids_of(exchange)]

    def names_of_exchange(self, exchange: Exchange) -> Names:
        """The clients, coordinators, APIs and ends of the transactions."""
        key, info = exchange.api_key, exchange.connection_info
        client = client_of(exchange.client_id, info.client)
        names = [("apis", f"{exchange._api_reader.name} {exchange.api_version}")]
        names.append(("asked_by" if key in _ASKING else "clients", client))
        accepted = exchange.outcome == "complete" and not exchange._error_codes
        if key in COORDINATED and accepted and key != PRODUCE:
            names.append(("coordinators", info.broker))
        if key == END_TXN and accepted:
            request = exchange.view("request")
            names.append(("ends", "committed" if isinstance(request, dict) and request.get("committed") else "aborted"))
        return names

    def drop_data_beside_portrait(self, key: tuple[str, ...]) -> None:
        """Give up the events of a transactional id."""
        self._events.pop(key[0], None)

    def merge(self, other: Self) -> None:
        """Add the counts of `other`."""
        super().merge(other)
        self._offsets.merge(other._offsets)
        self._last_ns = max(self._last_ns, other._last_ns)
        self._left_out |= other._left_out
        self._places |= other._places
        self._topic_names.update(other._topic_names)
        for mine, theirs in ((self._events, other._events), (self._markers, other._markers)):
            self._merge_events(mine, theirs)
        for where, told in other._described.items():
            self._described[where] = max(self._described.get(where, told), told)
        for who, software in other._software.items():
            self._software[who] = max(self._software.get(who, software), software)

    def _merge_events(self, mine: dict[Any, EventSet], theirs: dict[Any, EventSet]) -> None:
        for key, events in theirs.items():
            for event in (*events.produced, *events.others):
                self._keep_event(mine, key, event)
            if key in mine:
                mine[key].cut |= events.cut

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack(
            [
                *(super().export(), self._offsets.export()),
                *([[key, its.state()] for key, its in kept.items()] for kept in (self._events, self._markers)),
                [[*key, tuple(told)] for key, told in self._described.items()],
                [[*key, *its] for key, its in self._software.items()],
                *(list(self._topic_names.items()), sorted(self._places)),
                *(self._last_ns, self._learns, self._left_out),
            ]
        )

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        portraits, offsets, events, markers, described, software, names, places, last_ns, learns, left_out = (
            state_fields(unpack(state), bytes, bytes, *[list] * 6, int, bool, bool)
        )
        super().resume(portraits)
        self._offsets.resume(offsets)
        for item in events:
            name, its = state_fields(item, str, list)
            self._events[name] = EventSet.make_resumed(its)
        for item in markers:
            producer_id, its = state_fields(item, int, list)
            self._markers[producer_id] = EventSet.make_resumed(its)
        for item in described:
            name, whole, told = state_fields(item, str, bool, tuple)
            self._described[name, whole] = DescribedTransaction(*state_fields(told, *_DESCRIBED))
        for item in software:
            client, address, name, version = state_fields(item, str, str, str, str)
            self._software[client, address] = name, version
        for item in names:
            identity, name = state_fields(item, str, str)
            self._topic_names[identity] = name
        for item in places:
            topic, number = state_fields(item, str, int)
            self._places.add((topic, number))
        self._last_ns, self._learns, self._left_out = last_ns, learns, left_out
        if sum(map(len, self._events.values())) > TRANSACTION_EVENTS_ALL_MAX * 2:
            raise Malformed("a saved state with more events than are kept")

    # Rows.

    def rows(self) -> list[Row]:
        """A row for each transactional id, by name, then for each producer that holds records back and has none."""
        found, others, count = self.choose_portraits()
        timelines = {name: self._make_timeline(name) for name in self._known_transactional_ids()}
        held = find_held_partitions(timelines, self._offsets, self._topic_names, self._last_ns)
        by_name: dict[str, list[HeldPartition]] = {}
        nameless: dict[tuple[int, int], list[HeldPartition]] = {}
        for each in held:
            if each.transactional_id is not None:
                by_name.setdefault(each.transactional_id, []).append(each)
            elif each.place in self._counted_partitions():
                nameless.setdefault((each.producer_id, each.epoch), []).append(each)
        rows = [
            self._make_row_of_transactional_id(name, portrait, timelines[name], by_name.get(name, []))
            for (name,), portrait in sorted(found.items())
        ]
        for producer, its in sorted(nameless.items()):
            row = make_producer_row(producer, its, self._last_ns)
            times = {key: row.pop(key) for key in ("first", "last")}
            rows.append(row | _EMPTY | times)
        if count:
            empty = TransactionTimeline([], [], None)
            rows.append(self._make_row_of_transactional_id(None, others, empty, []) | {"others": count})
        return rows

    def _counted_partitions(self) -> set[TopicPartition]:
        return {(self._topic_names.get(topic, topic), number) for topic, number in self._places}

    def _known_transactional_ids(self) -> set[str]:
        return {*self._events, *(name for (name,) in self._found), *(name for name, _ in self._described)}

    def _make_timeline(self, name: str) -> TransactionTimeline:
        events = self._events.get(name)
        mine = events.list_events() if events is not None else []
        told = [self._described[name, whole] for whole in (True, False) if (name, whole) in self._described]
        latest = max(told, default=None)
        if latest is not None and not latest.whole and len(told) == 2 and told[0].producer_id == latest.producer_id:
            latest = told[0]._replace(time_ns=latest.time_ns, state=latest.state)
        first = TransactionTimeline(mine, (), latest)
        markers = [
            marker
            for producer_id in sorted(first.producer_ids())
            if producer_id in self._markers
            for marker in self._markers[producer_id].list_events()
        ]
        made = TransactionTimeline(mine, markers, latest) if markers else first
        made.replace_topic_ids_by_names(self._topic_names)
        made.settle_open_transaction(self._last_ns)
        return made

    def _make_row_of_transactional_id(
        self, name: str | None, portrait: Portrait, timeline: TransactionTimeline, held: list[HeldPartition]
    ) -> Row:
        events = self._events.get(name or "")
        coordinators = portrait.facets.get("coordinators", {})
        coordinator = max(coordinators, key=lambda each: (coordinators[each][2], each), default=None)
        if coordinator is None and timeline.described is not None:
            coordinator = timeline.described.broker
        cut = {*portrait.cut, *(("timeline",) if events is not None and events.cut else ())}
        cut |= {"partitions"} if self._offsets.left_out else set()
        ends = portrait.facets.get("ends", {})
        view = TransactionView(name, timeline, held, coordinator, self._software, self._last_ns)
        return {
            **make_transaction_row(view, TRANSACTION_EVENTS_MAX),
            "commits": ends.get("committed", [0])[0],
            "aborts": ends.get("aborted", [0])[0],
            "clients": portrait.names_of_facet("clients"),
            "asked_by": portrait.names_of_facet("asked_by"),
            "apis": versions_used(portrait),
            **make_latency_columns(portrait.statistics),
            "first": format_rfc3339(portrait.first),
            "last": format_rfc3339(portrait.last),
            **({"cut": sorted(cut - {"ends", "coordinators"})} if cut - {"ends", "coordinators"} else {}),
        }


_NOBODY: Final = Portrait()
_EMPTY: Final[Row] = {
    "commits": 0,
    "aborts": 0,
    "clients": [],
    "asked_by": [],
    "apis": {},
    **make_latency_columns(_NOBODY.statistics),
}
