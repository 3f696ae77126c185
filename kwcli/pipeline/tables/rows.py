"""Exchanges and skipped runs in, record batches of the travelling form (schemas.ROWS) out.

`add` reads what it needs of an exchange into one tuple and lets go of its bytes; what is the same for many rows
(addresses, API versions, topics) is kept once and spread over the rows when the batch is made.
`python -m tests.bench.tables` measures it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from decoders.analysis.contents import HOLDERS, NS_PER_MS, code_topics, held, throttle_needs, waited_ns
from decoders.analysis.dimensions import DIMENSIONS
from decoders.apis.error_codes import error_name
from decoders.apis.keys import FETCH, SHARE_FETCH
from decoders.exchanges.bodies import Options
from decoders.exchanges.record import exchange_json
from decoders.exchanges.sessions import session_of
from decoders.exchanges.specs import SIDES
from decoders.exchanges.topics import at_path
from decoders.filters.topics import entity_paths
from decoders.limits import BODY_TEXT_MAX
from decoders.wire.deferred import json_pieces
from decoders.wire.primitives import uuid_text
from kwcli.pipeline.tables.build import ROW, build, shown
from kwcli.pipeline.tables.partitions import NAMES, Partition, Sole, partitions_of
from kwcli.pipeline.tables.places import PLACES

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange, Settled, Skipped

_WAITING: Final = frozenset({FETCH, SHARE_FETCH})
_topics: Final = DIMENSIONS["topic"].get
_groups: Final = DIMENSIONS["group"].get
_NO_PARTS: Final[list[Partition]] = []
_NOTHING: Final[tuple[None, ...]] = (None,) * 3
_NO_BODIES: Final[tuple[None, ...]] = (None,) * 2
_NO_WAIT: Final[tuple[None, ...]] = (None,) * 6
# Of a token, and of a response without its request: what their bodies say.
_SILENT: Final[tuple[Any, ...]] = (0, 0, 0, _NOTHING, None, _NO_WAIT)
# Of a skipped run: what follows its time.
_REST: Final = (None,) * (ROW - 9) + (0,)
_BATCHES: Final = NAMES.index("batches")
_BYTES: Final = NAMES.index("bytes")
_BYTES_END: Final = _BYTES + 1
# Texts kept in the form in which they are shown.
TEXTS_MAX: Final = 100_000
# What most exchanges have: nothing out of the ordinary.
ORDINARY: Final[tuple[Any, ...]] = (None, [], [], [], [], None, False, None, None, None, None, None, None)


class Pool:
    """Values that many rows share, each once, in the order met."""

    __slots__ = ("at", "values")

    def __init__(self, values: list[Any] | None = None) -> None:
        self.values = values or []
        self.at: dict[Hashable, int] = {}

    def place(self, key: Hashable, value: Any) -> int:
        """Where a value is; it is taken in when its key is new."""
        at = self.at.get(key)
        if at is None:
            at = self.at[key] = len(self.values)
            self.values.append(value)
        return at


class Kind:
    """What is to be looked for in exchanges of one API."""

    __slots__ = ("groups", "holds", "places", "sole", "throttles", "topics", "waits")

    def __init__(self, key: int) -> None:
        self.topics = bool(entity_paths(key, "request", "topicName") or entity_paths(key, "response", "topicName"))
        self.groups = bool(entity_paths(key, "request", "groupId") or entity_paths(key, "response", "groupId"))
        self.throttles = bool(throttle_needs(key, "response"))
        self.waits = key in _WAITING
        self.holds = key in HOLDERS
        self.places = key in PLACES
        self.sole = Sole.of(key)


class ExchangeColumns:
    """Collects rows. `files` are the captures by the number in their packets; `bodies` says how JSON bodies are shown.

    The exchanges come from an engine with `TableNeeds` of the same tables. Capture point and files are one for all.
    """

    def __init__(
        self,
        point: str,
        files: Sequence[str],
        tables: Collection[str],
        *,
        bodies: Options | None = None,
    ) -> None:
        self.point = point
        self.files = files
        self._partitions = "topic_partitions" in tables
        self._bodies = bodies
        self._kinds: dict[int, Kind] = {}
        self._texts: dict[str, str] = {}
        self._empty()

    def _empty(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._parts: list[Partition] = []
        self._body_size = 0
        self._ends = Pool()
        self._specs = Pool()
        self._clients, self._topics, self._groups = Pool(), Pool([((), (), ())]), Pool([()])
        self._rare, self._runs = Pool([ORDINARY]), Pool()
        self._pools = {
            "client": self._clients,
            "topics": self._topics,
            "groups": self._groups,
            "rare": self._rare,
            "run": self._runs,
        }

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def weight(self) -> int:
        """How much there is, in rows, partitions and kilobytes of bodies together: what bounds a batch."""
        return len(self._rows) + len(self._parts) + (self._body_size >> 10)

    def add(self, settled: Settled) -> None:
        """Take in a row."""
        if settled.kind == "exchange":
            self._add(settled)
        else:
            self._skip(settled)

    def batch(self) -> pa.RecordBatch:
        """The rows since the last batch."""
        made = build(
            self.point,
            self.files,
            self._rows,
            self._parts,
            ends=self._ends.values,
            specs=self._specs.values,
            pools={name: pool.values for name, pool in self._pools.items()},
        )
        self._empty()
        return made

    def _add(self, exchange: Exchange) -> None:
        if not exchange.looked:
            exchange.view("request")  # looks at both sides
        key, spec, failed = exchange.api_key, exchange.spec, exchange.failed
        status = "undecoded" if failed and exchange.outcome == "complete" else exchange.outcome
        topics, groups, count, contents, throttle, waits = _SILENT if key is None else self._about(exchange, key)
        unusual = exchange.extra or exchange.error_codes or failed or exchange.early
        client_id, software = exchange.client_id, exchange.client_software
        who = (client_id, software["name"], software["version"]) if software else (client_id, None, None)
        bodies = _NO_BODIES if self._bodies is None else self._bodies_of(exchange, self._bodies)
        ends, ends_at, specs_at, clients_at = exchange.ends, self._ends.at, self._specs.at, self._clients.at
        self._rows.append(
            (
                ends_at[ends] if ends in ends_at else self._ends.place(ends, ends),
                specs_at[spec] if spec in specs_at else self._specs.place(spec, spec),
                clients_at[who] if who in clients_at else self._client(who),
                topics,
                groups,
                self._rare_of(exchange) if unusual else 0,
                None,
                exchange.time_ns,
                exchange.request_end_ns,
                exchange.response_ns,
                exchange.response_end_ns,
                exchange.place,
                exchange.correlation_id,
                exchange.request_size,
                exchange.response_size,
                status,
                exchange.request_packet or None,
                exchange.request_packet_end or None,
                exchange.response_packet or None,
                exchange.response_packet_end or None,
                *contents,
                throttle,
                *waits,
                *bodies,
                count,
            )
        )

    def _about(self, exchange: Exchange, key: int) -> tuple[Any, ...]:
        """What the bodies say: places of topics and groups, partitions, contents, throttle time, waits."""
        topics = groups = count = 0
        contents: Sequence[Any] = _NOTHING
        waits: tuple[Any, ...] = _NO_WAIT
        throttle = None
        kind = self._kinds.get(key) or self._kind(key)
        parts, sole = _NO_PARTS, None
        if self._partitions and kind.places:
            sole = kind.sole.read(exchange, self._shown) if kind.sole else None
            if sole is None:
                parts = partitions_of(exchange, self._shown)
                self._parts += parts
                count = len(parts)
        if sole is not None:
            self._parts.append(sole)
            count = 1
            topics = self._topic(sole[0])
            if sole[_BYTES]:
                contents = sole[_BATCHES:_BYTES_END]
        elif kind.topics:
            topics = self._topics_of(exchange)
        if kind.groups:
            found = tuple(dict.fromkeys(map(self._shown, _groups(exchange))))
            groups = self._groups.place(found, found) if found else 0
        if kind.holds and sole is None:
            contents = self._contents(exchange, parts)
        view = exchange.response_view
        if kind.throttles and view.__class__ is dict:
            throttle = view.get("throttle_time_ms") or None
        if kind.waits:
            waits = _waits(exchange)
        return topics, groups, count, contents, throttle, waits

    def _skip(self, run: Skipped) -> None:
        at = self._runs.place(run, (run.direction, run.size, run.reason, run.detail))
        ends = self._ends.place(run.ends, run.ends)
        self._rows.append((ends, None, None, None, None, None, at, run.time_ns, *_REST))

    def _kind(self, key: int) -> Kind:
        kind = self._kinds[key] = Kind(key)
        return kind

    def _client(self, who: tuple[str | None, ...]) -> int:
        return self._clients.place(who, tuple(None if text is None else self._shown(text) for text in who))

    def _shown(self, text: str) -> str:
        found = self._texts.get(text)
        if found is None:
            if len(self._texts) >= TEXTS_MAX:
                self._texts.clear()
            found = self._texts[text] = shown(text)
        return found

    def _topic(self, name: str) -> int:
        """One topic that is named."""
        at = self._topics.at.get(name)
        return self._topics.place(name, ((name,), (), ())) if at is None else at

    def _topics_of(self, exchange: Exchange) -> int:
        names = tuple(_topics(exchange))
        ids: dict[Any, None] = {}
        for side in SIDES:
            for path in exchange.spec.nameless(side):
                ids |= dict.fromkeys(at_path(exchange.view(side), path))
        if not names and not ids:
            return 0
        where = (names, *ids)
        at = self._topics.at.get(where)
        if at is None or ids:  # what an id is called may have become known
            topics = tuple(dict.fromkeys(map(self._shown, names)))
            known = [identity for identity in ids if identity is not None and identity.int]
            called = [exchange.topic_name(identity) for identity in known]
            value = (
                topics,
                tuple(uuid_text(identity.bytes) for identity in known),
                tuple(None if name is None else self._shown(name) for name in called),
            )
            at = self._topics.place(value, value)
            self._topics.at[where] = at
        return at

    def _contents(self, exchange: Exchange, parts: list[Partition]) -> tuple[Any, ...]:
        """Batches, records and bytes of all partitions."""
        if not self._partitions:
            return held(exchange, None) or _NOTHING
        batches = sum(part[_BATCHES] or 0 for part in parts)
        records = sum(part[_BATCHES + 1] or 0 for part in parts)
        size = sum(part[_BYTES] or 0 for part in parts)
        return (batches, records, size) if size else _NOTHING

    def _rare_of(self, exchange: Exchange) -> int:
        codes = exchange.error_codes or ()
        failed, early = exchange.failed, exchange.early or {}
        side = reason = path = offset = None
        if failed:
            side, first = next(iter(failed.items()))
            reason, path, offset = first.reason, first.path, first.offset
        value = (
            exchange.reason,
            [code for _, code in codes],
            [error_name(code) for _, code in codes],
            [path for path, _ in codes],
            [None if topic is None else self._shown(topic) for topic in code_topics(exchange)],
            exchange.closed,
            exchange.retransmitted,
            "both" if failed and len(failed) > 1 else side,
            reason,
            path,
            offset,
            early.get("request"),
            early.get("response"),
        )
        at = len(self._rare.values)
        self._rare.values.append(value)
        return at

    def _bodies_of(self, exchange: Exchange, options: Options) -> list[str | None]:
        record = exchange_json(exchange, options)
        texts = [None if record[side] is None else _body_text(record[side]) for side in SIDES]
        self._body_size += sum(len(text) for text in texts if text is not None)
        return texts


def _body_text(body: Any) -> str:
    """The JSON of a body; of one that is too long for a cell how long it may be."""
    parts: list[bytes] = []
    left = BODY_TEXT_MAX
    for piece in json_pieces(body):
        left -= len(piece)
        if left < 0:
            return f'{{"limit":"more than {BODY_TEXT_MAX} bytes as JSON"}}'
        parts.append(piece)
    return b"".join(parts).decode()


def _waits(exchange: Exchange) -> tuple[Any, ...]:
    """How long a fetch may wait and did, and its session."""
    request = exchange.request_view
    if request.__class__ is not dict:
        return _NO_WAIT
    most, answered, sent = request.get("max_wait_ms"), exchange.response_ns, exchange.request_end_ns
    waited = None
    if most and answered is not None and sent is not None and 10 * (answered - sent) >= 9 * most * NS_PER_MS:
        waited = waited_ns(exchange)  # which looks for records too
    session = session_of(request, exchange.response_view) if exchange.api_key == FETCH else None
    if session is None:
        return most, request.get("min_bytes"), waited, None, None, None
    return most, request.get("min_bytes"), waited, *session.values()
