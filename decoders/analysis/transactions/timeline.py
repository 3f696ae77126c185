"""The events of one transactional id in, its transactions out: when each began and ended, how, and what is in it.

Theory of operation. The events of one id, in the order in which they were answered, make transactions:

```
InitProducerId ─ AddPartitionsToTxn ─ Produce ─ Produce ─ EndTxn ─ WriteTxnMarkers ─ Produce ─ …
                 └──────────── transaction 1 ───────────────────┘                   └── transaction 2
```

The first partition or group begins one; what is refused begins nothing. A transaction is `open` where nothing in the
capture ends it; who knows more (a coordinator, the last stable offset) says so in `Transaction.close` or
`mark_not_over`. Without proof of its end nothing is claimed but what has to follow: after transaction.timeout.ms, that
it timed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.groups.partition_offsets_and_lag import NOTHING, TopicPartition
from decoders.analysis.transactions.events import FENCING, UNKNOWN, DescribedTransaction, TransactionEvent
from decoders.apis import api_name
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["Transaction", "TransactionTimeline", "WrittenPartition"]

_MS: Final = 1_000_000
_CONCURRENT: Final = 51
# Errors that are no answer yet: CONCURRENT_TRANSACTIONS, and those of a coordinator that loads or moves.
_PENDING: Final = frozenset({14, 15, 16, _CONCURRENT})
# Words of DescribeTransactions and ListTransactions → state here.
_TOLD: Final = {
    "Ongoing": "ongoing",
    "PrepareCommit": "prepared",
    "PrepareAbort": "prepared",
    "PrepareEpochFence": "prepared",
    "CompleteCommit": "committed",
    "CompleteAbort": "aborted",
}
_RANKS: Final = ("initialized", "partitions added", "offsets added", "produced", "offsets committed", "ended", "marker")
STATES_OPEN: Final = frozenset({"open", "ongoing", "prepared"})


class WrittenPartition:
    """What a transaction has written to a partition; offsets are -1 where no answer shows them."""

    __slots__ = ("batches", "bytes", "first_offset", "last_offset", "marker_error", "records")

    def __init__(self) -> None:
        self.first_offset = self.last_offset = NOTHING
        self.batches = self.records = self.bytes = 0
        self.marker_error = 0

    def add_produce(self, first: int, last: int, records: int, size: int) -> None:
        """Add a Produce that was not refused."""
        self.batches += 1
        self.records += records
        self.bytes += size
        if first != NOTHING:
            self.first_offset = first if self.first_offset == NOTHING else min(first, self.first_offset)
            self.last_offset = max(last, self.last_offset)


class Transaction:
    """One transaction: `began_ns` is None where the capture begins in it, `ended_ns` while nothing ends it."""

    __slots__ = (
        *("address", "asked_end", "began_ns", "client", "ended_ns", "epoch", "fenced", "groups", "implicit"),
        *("partitions", "producer_id", "registered", "state", "sure", "timeout_ms", "why"),
    )

    def __init__(self, producer_id: int, epoch: int, timeout_ms: int) -> None:
        self.producer_id, self.epoch, self.timeout_ms = producer_id, epoch, timeout_ms
        self.began_ns: int | None = None
        self.ended_ns: int | None = None
        self.state, self.why, self.sure = "open", "nothing in the capture ends it", True
        self.client: str | None = None
        self.address: str | None = None
        self.implicit: bool | None = None  # whether Produce adds partitions (KIP-890)
        self.registered = False  # whether its coordinator has heard of it
        self.partitions: dict[TopicPartition, WrittenPartition] = {}
        self.groups: set[str] = set()
        self.asked_end: TransactionEvent | None = None
        self.fenced: TransactionEvent | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing has ended it."""
        return self.state in STATES_OPEN

    @property
    def overdue_ns(self) -> int | None:
        """When its timeout ran out, in ns; None where the begin or the timeout is not known."""
        return None if self.began_ns is None or self.timeout_ms < 0 else self.began_ns + self.timeout_ms * _MS

    def get_or_make_partition(self, where: TopicPartition) -> WrittenPartition:
        """What it has written to a partition."""
        return self.partitions.setdefault(where, WrittenPartition())

    def add_work_event(self, event: TransactionEvent) -> None:
        """Take what was added, or written, to it."""
        self.began_ns = event.asked_ns if self.began_ns is None else min(self.began_ns, event.asked_ns)
        if not event.by_broker:
            if self.client is None:
                self.client, self.address = event.client, event.address
            if event.kind == "produced" or event.is_implicit:
                self.implicit = bool(self.implicit) or event.is_implicit
        self.registered |= event.is_implicit or event.kind in ("partitions added", "offsets added")
        if event.kind == "produced":
            topic, number, first, last, records, size = event.detail
            self.get_or_make_partition((topic, number)).add_produce(first, last, records, size)
        elif event.kind == "partitions added":
            for topic, numbers in event.detail:
                for number in numbers:
                    self.get_or_make_partition((topic, number))
        else:
            self.groups.add(event.detail[0])

    def close(self, state: str, ended_ns: int | None, why: str, *, sure: bool = True) -> None:
        """Say how it ended; an end at a time that is not known is None."""
        self.state, self.ended_ns, self.why, self.sure = state, ended_ns, why, sure

    def mark_not_over(self, state: str, why: str) -> None:
        """Say that it is not over, by what is known besides its own requests."""
        self.state, self.ended_ns, self.why, self.sure = state, None, why, True


class TransactionTimeline:
    """The transactions of one transactional id, in their order; `markers` are those of its producer ids."""

    def __init__(
        self,
        events: Iterable[TransactionEvent],
        markers: Iterable[TransactionEvent],
        described: DescribedTransaction | None,
    ) -> None:
        self.transactions: list[Transaction] = []
        self.events = sorted({*events, *markers}, key=lambda event: (event.time_ns, _RANKS.index(event.kind), event))
        self.described = described
        self.producer = (UNKNOWN, UNKNOWN)
        self.timeout_ms = UNKNOWN
        self.session: tuple[str, str] | None = None  # client and address that initialized the id
        self.fenced: TransactionEvent | None = None
        for event in self.events:
            _HANDLERS[event.kind](self, event)
        self._apply_description()

    @property
    def latest(self) -> Transaction | None:
        """The latest transaction; None where there is none."""
        return self.transactions[-1] if self.transactions else None

    @property
    def last_ns(self) -> int:
        """The time of the latest event, in ns."""
        return self.events[-1].time_ns if self.events else 0

    def producer_ids(self) -> set[int]:
        """All producer ids that the transactional id has had."""
        found = {event.producer_id for event in self.events} | {its.producer_id for its in self.transactions}
        return (found | {self.producer[0]}) - {UNKNOWN}

    def _latest_open_transaction(self) -> Transaction | None:
        latest = self.latest
        return latest if latest is not None and latest.is_open else None

    def _begin_transaction(self, producer_id: int, epoch: int) -> Transaction:
        made = Transaction(producer_id, epoch, self.timeout_ms)
        self.transactions.append(made)
        return made

    def _apply_initialization(self, event: TransactionEvent) -> None:
        its = self._latest_open_transaction()
        timeout, producer_id, epoch, kept = event.detail
        if event.error == 0:
            if its is not None and kept >= 0:
                its.mark_not_over("prepared", f"{event.client} took it over, to commit or abort it (two-phase commit)")
            elif its is not None:
                its.close("aborted", event.time_ns, f"{event.client} initialized the transactional id again")
            self.producer, self.timeout_ms = (producer_id, epoch), timeout
            self.session, self.fenced = (event.client, event.address), None
        elif event.error in FENCING:
            self._apply_fencing(event)
        elif event.error == _CONCURRENT and its is not None:
            its.mark_not_over(
                "prepared", f"{event.client} initialized the transactional id again, and its abort goes on"
            )

    def _apply_work(self, event: TransactionEvent) -> None:
        if event.error > 0:
            if event.error in FENCING:
                self._apply_fencing(event)
            return
        its, latest = self._latest_open_transaction(), self.latest
        if its is not None and self._is_of_later_transaction(event, its):
            its.close("ended", None, "a later transaction of this id began; its end is not in the capture")
            its = None
        if its is None:
            ended = latest.ended_ns if latest is not None else None
            if ended is not None and event.error == UNKNOWN and event.asked_ns <= ended:
                return  # of the transaction that has ended: its answer is not in the capture
            its = self._begin_transaction(event.producer_id, event.epoch)
        its.add_work_event(event)

    @staticmethod
    def _is_of_later_transaction(event: TransactionEvent, transaction: Transaction) -> bool:
        if UNKNOWN in (event.producer_id, transaction.producer_id):
            return False
        return event.producer_id != transaction.producer_id or event.epoch > transaction.epoch

    def _apply_fencing(self, event: TransactionEvent) -> None:
        its = self._latest_open_transaction()
        if its is not None and event.producer_id in (its.producer_id, UNKNOWN) and its.fenced is None:
            its.fenced = event
        elif its is None and event.producer_id in (self.producer[0], UNKNOWN):
            self.fenced = self.fenced or event

    def _apply_end(self, event: TransactionEvent) -> None:
        commits, producer_id, epoch = event.detail
        its = self._latest_open_transaction()
        if event.error == UNKNOWN or event.error in _PENDING:
            if its is not None:
                its.asked_end = event
        elif event.error in FENCING:
            self._apply_fencing(event)
        elif event.error == 0:
            state = "committed" if commits else "aborted"
            if its is None and self._is_end_of_marked_transaction(event, state):
                return
            if its is not None and self._is_of_later_transaction(event, its):
                its.close("ended", None, "a later transaction of this id ended; its own end is not in the capture")
                its = None
            if its is None:
                its = self._begin_transaction(event.producer_id, event.epoch)
                its.client, its.address = event.client, event.address
            if event.is_implicit:
                its.implicit = True
            its.asked_end = event
            its.close(state, event.time_ns, f"{event.client} ended it")
            if producer_id >= 0:
                self.producer = (producer_id, epoch)

    def _is_end_of_marked_transaction(self, event: TransactionEvent, state: str) -> bool:
        """Whether the markers of the transaction that an EndTxn ends were seen before its answer."""
        latest = self.latest
        if latest is None or latest.state != state or latest.asked_end is not None or latest.ended_ns is None:
            return False
        if (latest.producer_id, latest.epoch) != (event.producer_id, event.epoch):
            return False
        latest.asked_end = event
        return True

    def _apply_marker(self, event: TransactionEvent) -> None:
        latest = self.latest
        if latest is None or latest.producer_id != event.producer_id:
            return
        commits, _, *places = event.detail
        for topic, numbers in places:
            for number in numbers:
                if (topic, number) in latest.partitions and event.error >= 0:
                    latest.partitions[topic, number].marker_error = event.error
        if event.error == 0 and latest.is_open:
            self._close_by_marker(latest, event, commits=commits)

    def _close_by_marker(self, transaction: Transaction, event: TransactionEvent, *, commits: bool) -> None:
        overdue = transaction.overdue_ns
        if commits or transaction.asked_end is not None:
            transaction.close("committed" if commits else "aborted", event.asked_ns, "its marker was written")
        elif overdue is not None and event.asked_ns >= overdue:
            transaction.close("timed out", event.asked_ns, "the coordinator aborted it after its timeout")
        else:
            transaction.close("aborted", event.asked_ns, "an abort marker was written")

    def _apply_description(self) -> None:
        """Take what a coordinator told after the latest event."""
        told = self.described
        if told is None or told.time_ns < self.last_ns:
            return
        state, its = _TOLD.get(told.state), self.latest
        same = its is not None and told.producer_id in (its.producer_id, UNKNOWN)
        if its is None or not same:
            if state is None:
                self.producer = (told.producer_id, told.epoch) if not same else self.producer
                return
            its = self._begin_transaction(told.producer_id, told.epoch)
        if its.timeout_ms < 0:
            its.timeout_ms = told.timeout_ms
        self.timeout_ms = self.timeout_ms if self.timeout_ms >= 0 else told.timeout_ms
        if its.began_ns is None and told.started_ms > 0:
            its.began_ns = told.started_ms * _MS
        if state in ("ongoing", "prepared"):
            its.registered = True
            its.mark_not_over(state, f"its coordinator tells {told.state}")
            for topic, numbers in told.partitions:
                for number in numbers:
                    its.get_or_make_partition((topic, number))
        elif state is not None and its.is_open:
            overdue = its.overdue_ns
            late = state == "aborted" and its.asked_end is None and overdue is not None and told.time_ns >= overdue
            its.close("timed out" if late else state, None, f"its coordinator tells {told.state}")

    def replace_topic_ids_by_names(self, names: Mapping[str, str]) -> None:
        """Put the names of topics in place of ids that were not known by name when they were used."""
        for its in self.transactions:
            if any(topic in names for topic, _ in its.partitions):
                its.partitions = {
                    (names.get(topic, topic), number): part for (topic, number), part in its.partitions.items()
                }

    def settle_open_transaction(self, now_ns: int) -> None:
        """Say of a latest transaction that is still `open` what has to follow from its fencing and its timeout."""
        its = self.latest
        if its is None or its.state != "open":
            return
        overdue, fenced = its.overdue_ns, its.fenced
        if fenced is not None:
            why = f"{fenced.client} got {error_name(fenced.error)}"
            if overdue is not None and fenced.time_ns >= overdue:
                its.close("timed out", None, f"{why} after its timeout")
            else:
                its.close("fenced", None, why)
        elif its.asked_end is not None:
            its.why = "the answer to its EndTxn is not in the capture"
            if its.asked_end.error in _PENDING:
                its.why = f"its EndTxn was answered with {error_name(its.asked_end.error)}"
        elif overdue is not None and now_ns > overdue:
            its.close("timed out", None, "its timeout ran out, after which its coordinator aborts it", sure=False)

    def make_event_rows(self, most: int) -> list[Row]:
        """A row for each of the latest `most` events, in the order in which they were asked for."""
        latest = self.events[-most:] if most else []
        return [_make_event_row(event) for event in sorted(latest, key=lambda event: (event.asked_ns, event))]


_HANDLERS: Final[dict[str, Callable[[TransactionTimeline, TransactionEvent], None]]] = {
    "initialized": TransactionTimeline._apply_initialization,
    "partitions added": TransactionTimeline._apply_work,
    "offsets added": TransactionTimeline._apply_work,
    "produced": TransactionTimeline._apply_work,
    "offsets committed": TransactionTimeline._apply_work,
    "ended": TransactionTimeline._apply_end,
    "marker": TransactionTimeline._apply_marker,
}


def _make_event_row(event: TransactionEvent) -> Row:
    answered = event.error != UNKNOWN
    row: Row = {
        "time": format_rfc3339(event.asked_ns),
        "took_ms": (event.time_ns - event.asked_ns) / _MS if answered else None,
        "what": event.kind,
        "api": api_name(event.api_key),
        "api_version": event.version,
        "producer_id": _none_if_unknown(event.producer_id),
        "producer_epoch": _none_if_unknown(event.epoch),
        "client_id": event.client,
        "address": event.address,
        "answered": answered,
        "error": error_name(event.error) if event.error > 0 else None,
        "committed": None,
        "group": None,
        "partitions": {},
        "first_offset": None,
        "last_offset": None,
        "records": None,
        "bytes": None,
        "timeout_ms": None,
    }
    return row | _detail_of_event(event)


def _detail_of_event(event: TransactionEvent) -> Row:
    detail: Any = event.detail
    if event.kind == "produced":
        topic, number, first, last, records, size = detail
        known = {"first_offset": _none_if_unknown(first), "last_offset": _none_if_unknown(last)}
        return {"partitions": {topic: [number]}, **known, "records": records, "bytes": size}
    if event.kind == "initialized":
        given = {"producer_id": _none_if_unknown(detail[1]), "producer_epoch": _none_if_unknown(detail[2])}
        return {"timeout_ms": _none_if_unknown(detail[0]), **(given if event.error == 0 else {})}
    if event.kind == "offsets added":
        return {"group": detail[0]}
    if event.kind == "offsets committed":
        return {"group": detail[0], "partitions": _rows_of_partitions(detail[1:])}
    if event.kind == "partitions added":
        return {"partitions": _rows_of_partitions(detail)}
    if event.kind == "marker":
        return {"committed": detail[0], "partitions": _rows_of_partitions(detail[2:])}
    return {"committed": detail[0]}


def _rows_of_partitions(places: Iterable[tuple[str, tuple[int, ...]]]) -> dict[str, list[int]]:
    return {topic: list(numbers) for topic, numbers in places}


def _none_if_unknown(value: int) -> int | None:
    return None if value < 0 else value
