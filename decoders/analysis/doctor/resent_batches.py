"""Batches that producers sent in, the batches out that were sent more than once because a try failed.

Theory of operation. A batch is known again by its producer id, epoch and sequence, or without idempotence by its bytes:
checksum, size and time stamps. Batches alike by chance (the same text in the same millisecond) are all accepted;
a batch that was sent again has a try that the broker refused, or whose outcome is unknown:

```
try 1 ─► unanswered, timed out: unknown   ┐
try 2 ─► refused                          ├─► one entry: tries, refused, unknown
try 3 ─► accepted                         ┘
```

A number that comes with other records is no batch sent again: its tries differ in their checksums.

A batch with a sequence also counts as sent again if its tries are as far apart as a client's pause before a retry: the
answer came too late, and the client had given up. (A batch that a proxy passes on is seen twice as well, but at once.)

Nobody knows beforehand which batches come again, and parts of a capture are read apart, so all would have to be kept.
Only the BATCHES_REMEMBERED_MAX batches with the least hashes are kept, which are the same for any order and parts.
So counts are complete up to that number, and those of a sample beyond it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappushpop
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Self
from zlib import crc32

from decoders.analysis.find_misrouted_batches import MisroutedBatch, SentBatch, find_misrouted_batches
from decoders.analysis.read_dimension_values import host_of
from decoders.capture.merge_captures import FILE_SHIFT, file_index_of_packet, packet_number_in_file
from decoders.limits import BATCHES_REMEMBERED_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import add_fields_to_older_state, state_fields

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.records.summarize_records import BatchHead

__all__ = [
    "Evidence",
    "SentAgain",
    "SentBatches",
    "find_packets",
    "make_evidence_of_exchange",
    "make_evidence_row",
    "read_evidence",
    "set_file_name_in_evidence",
    "set_file_names_in_rows",
]

# Time in ns, connection (its number, client, broker), correlation id, first and last packet of both sides (of those in
# the file of the first), and that file, where it is known by its name; else the packets are numbered across files.
Evidence = tuple[int, int, str, str, int | None, int | None, int | None, str | None]
# Error codes after which the batch may be written: REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND.
_UNKNOWN: Final = frozenset({7, 20})
_DUPLICATE: Final = 46
# Partition, producer id, base sequence.
_Place = tuple[int | None, int, int]
_NO_PLACE: Final[_Place] = (None, -1, -1)
# retry.backoff.ms of most clients.
_PAUSE_NS: Final = 100_000_000
# How far time stamps of new records are from the capture's clock at most.
_STAMPED_NS: Final = 300_000_000_000
_MS: Final = 1_000_000
# So many batches with one offset are of answers that make it up.
_OF_NO_LOG: Final = 3
# `senders` of a client that sends a batch again on another connection.
_RECONNECTED: Final = 2


@lru_cache(maxsize=1024)
def _hash_topic_name(topic: str | None) -> int:
    return crc32((topic or "").encode("utf-8", "surrogateescape"))


def make_evidence_of_exchange(exchange: Exchange) -> Evidence:
    """An exchange as evidence."""
    info, first, last = exchange.connection_info, exchange.request_packet, exchange.response_packet_end
    if exchange.extra is None and first and last and not (first ^ last) >> FILE_SHIFT:  # as most have them
        return exchange.time_ns, info.number, info.client, info.broker, exchange.correlation_id, first, last, None
    packets = find_packets(exchange)
    return exchange.time_ns, info.number, info.client, info.broker, exchange.correlation_id, *packets


def find_packets(exchange: Exchange) -> tuple[int | None, int | None, str | None]:
    """The first packet of an exchange, the last one in the file of the first, and that file where its name is known."""
    first, last = exchange.request_packet, exchange.response_packet_end
    if exchange.extra is None and first and last and not (first ^ last) >> FILE_SHIFT:
        return first, last, None
    first = last = None
    if exchange.request_packet or exchange.response_packet_end:
        first = exchange.request_packet or exchange.response_packet
        last = exchange.response_packet_end or exchange.request_packet_end
    extra, file = exchange.extra, None
    if extra is not None and "file" in extra:
        file = extra["file"]
        if "response_end_file" in extra:  # another file
            last = first if "request_end_file" in extra else exchange.request_packet_end
    elif first and last and (first ^ last) >> FILE_SHIFT:
        last = exchange.request_packet_end or first
        last = first if (first ^ last) >> FILE_SHIFT else last
    return first, last, file


def make_evidence_row(evidence: Evidence) -> dict[str, Any]:
    """Evidence, as rows of answers have it."""
    time_ns, number, client, broker, correlation_id, first, last, file = evidence
    return {
        "time": format_rfc3339(time_ns),
        "connection": number,
        "client": client,
        "broker": broker,
        "correlation_id": correlation_id,
        "file": file,
        "packets": None if first is None else [first, last],
    }


def set_file_names_in_rows(rows: Iterable[Row], names: Sequence[str]) -> None:
    """Name the files in the evidence of rows, by the indices in its packets, which are then numbered in their files."""
    for row in rows:
        for each in row["evidence"]:
            if each["file"] is None and each["packets"] is not None and None not in each["packets"]:
                first, last = each["packets"]
                each["file"] = names[file_index_of_packet(first)]
                each["packets"] = [packet_number_in_file(first), packet_number_in_file(last)]


def read_evidence(state: object) -> Evidence:
    """Evidence from a state, that of older versions without a file. Raises DecodeError."""
    time_ns, number, client, broker, correlation_id, first, last, file = state_fields(
        add_fields_to_older_state(state, 7, 7, None), int, int, str, str, *[int | None] * 3, str | None
    )
    return time_ns, number, client, broker, correlation_id, first, last, file


def set_file_name_in_evidence(evidence: Evidence, names: Sequence[str]) -> Evidence:
    """Evidence with the name of its file, by the index in its packets, which are then numbered in that file."""
    time_ns, number, client, broker, correlation_id, first, last, file = evidence
    if file is not None or first is None or last is None:
        return evidence
    own, file = (packet_number_in_file(first), packet_number_in_file(last)), names[file_index_of_packet(first)]
    return time_ns, number, client, broker, correlation_id, *own, file


class SentOnce(NamedTuple):
    """One try of a batch: its error code, None without an answer; its evidence, and when the answer came, in ns.

    `offset` is the one that the batch was written at, -1 where that is not known.
    """

    head: BatchHead
    client: str
    place: tuple[str | None, Any]
    code: int | None
    tried: tuple[Evidence, int | None]
    offset: int


class SentAgain:
    """A batch that was sent `tries` times: `refused` of the tries were refused, `unknown` may have been written.

    `began` is when it was sent first, in ns; `place` is partition, producer id and base sequence; `duplicates` counts
    answers DUPLICATE_SEQUENCE_NUMBER; `checksums` are the least and the greatest of the tries, None where unknown.
    `ended` is when the last try was answered, in ns, None without an answer; `first` is the first try. `newest_ms` is
    the newest time stamp of its records. `offsets` are the least and the greatest at which tries were accepted, None
    where none was. `senders` are 1 for one connection, 2 for several of one client, 3 for several clients.
    """

    __slots__ = (
        *("client", "topic", "idempotent", "tries", "refused", "unknown", "began", "last", "place", "duplicates"),
        *("checksums", "ended", "epoch", "records", "newest_ms", "first", "offsets", "senders"),
    )

    def __init__(self, client: str, topic: str | None, last: Evidence, *, idempotent: bool) -> None:
        self.client = client
        self.topic = topic
        self.idempotent = idempotent
        self.tries = 1
        self.refused = self.unknown = self.duplicates = 0
        self.began = last[0]
        self.last = last
        self.place = _NO_PLACE
        self.checksums: tuple[int, int] | None = None
        self.ended: int | None = None
        self.epoch = -1
        self.records = 0
        self.newest_ms: int | None = None
        self.first: Evidence | None = None
        self.offsets: tuple[int, int] | None = None
        self.senders = 1

    @classmethod
    def of_try(cls, once: SentOnce) -> SentAgain:
        """A batch with its only try."""
        head, client, (topic, partition), code, (last, ended), offset = once
        _, _, _, _, _, _, newest, _, producer, epoch, sequence, crc, offset_count, _ = head
        its = cls(client, topic, last, idempotent=producer >= 0)
        if code != 0:
            its.unknown = int(code is None or code in _UNKNOWN)
            its.refused, its.duplicates = 1 - its.unknown, int(code == _DUPLICATE)
        its.place = (partition, producer, sequence) if producer >= 0 else (partition, -1, -1)
        its.checksums, its.offsets = None if crc is None else (crc, crc), None if offset < 0 else (offset, offset)
        its.ended, its.epoch, its.records, its.newest_ms, its.first = ended, epoch, offset_count, newest, last
        return its

    def add_try(self, once: SentOnce) -> None:
        """Count one more try."""
        head, client, _, code, (last, ended), offset = once
        crc = head[11]
        first, before = self.first, self.last
        alike = code == 0 and client == self.client and (crc, crc) == self.checksums and first is not None
        if not alike or last[0] <= before[0]:
            self.add(SentAgain.of_try(once))
            return
        self.tries += 1  # the same bytes again, later, from the same client, and taken
        if self.senders <= _RECONNECTED and last[1:4] != before[1:4]:
            self.senders = _RECONNECTED if host_of(last[2]) == host_of(before[2]) else _RECONNECTED + 1
        self.last, self.ended = last, ended
        if offset >= 0:
            self.offsets = _join_spans(self.offsets, (offset, offset))

    def add(self, other: SentAgain) -> None:
        """Add the counts of the same batch; client, topic and evidence become those of the last try of both."""
        self.senders = _count_senders(self, other)
        self.first = _choose_first_try(self.first, other.first)
        late = other
        if self.last[0] >= other.last[0]:
            late = max(self, other, key=_rank_try)
        if late.place != _NO_PLACE or self.place == other.place:
            self.place = late.place
        else:
            self.place = max(self.place, other.place, key=_number_of_place)
        self.client, self.topic, self.idempotent, self.last = late.client, late.topic, late.idempotent, late.last
        self.ended, self.epoch, self.records, self.newest_ms = late.ended, late.epoch, late.records, late.newest_ms
        self.tries += other.tries
        self.refused += other.refused
        self.unknown += other.unknown
        self.began = min(self.began, other.began)
        self.duplicates += other.duplicates
        self.checksums = _join_spans(self.checksums, other.checksums)
        self.offsets = _join_spans(self.offsets, other.offsets)

    def set_file_names(self, names: Sequence[str]) -> None:
        """Name the files of the evidence."""
        self.last = set_file_name_in_evidence(self.last, names)
        self.first = None if self.first is None else set_file_name_in_evidence(self.first, names)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [
            *(self.client, self.topic, self.idempotent, self.tries, self.refused, self.unknown, self.began, self.last),
            *(self.place, self.duplicates, self.checksums, self.ended, self.epoch, self.records, self.newest_ms),
            *(self.first, self.offsets, self.senders),
        ]

    @classmethod
    def make_resumed(cls, state: list[Any]) -> SentAgain:
        """A batch from its `state`, that of an older version as well. Raises DecodeError."""
        whole = add_fields_to_older_state(add_fields_to_older_state(state, 8, 8, _NO_PLACE, 0, None), 11, 11, None)
        whole = add_fields_to_older_state(whole, 12, 12, -1, 0, None, None, None, 1)
        *counted, last, place, duplicates, checksums, ended, epoch, records, newest, first, offsets, senders = (
            state_fields(
                whole,
                *(str, str | None, bool, int, int, int, int, tuple, tuple, int, tuple | None, int | None),
                *(int, int, int | None, tuple | None, tuple | None, int),
            )
        )
        client, topic, idempotent, tries, refused, unknown, began = counted
        state_fields(place, int | None, int, int)
        for pair in (checksums, offsets):
            if pair is not None:
                state_fields(pair, int, int)
        its = cls(client, topic, read_evidence(last), idempotent=idempotent)
        its.tries, its.refused, its.unknown, its.began = tries, refused, unknown, began
        its.place, its.duplicates, its.checksums, its.ended = place, duplicates, checksums, ended
        its.epoch, its.records, its.newest_ms, its.offsets, its.senders = epoch, records, newest, offsets, senders
        its.first = None if first is None else read_evidence(first)
        return its

    @property
    def has_other_records(self) -> bool:
        """Whether tries of one sequence number have different records."""
        return self.checksums is not None and self.checksums[0] != self.checksums[1]

    @property
    def is_number_used_again(self) -> bool:
        """Whether new records came with a sequence number that had been accepted with others: they are not stored."""
        accepted = self.tries - self.refused - self.unknown
        return self.has_other_records and (self.duplicates > 0 or accepted > 1)

    @property
    def is_written_twice(self) -> bool:
        """Whether the batch was accepted at two offsets: as it must not be, or because its client had sent it again.

        Without idempotence a batch counts whose client had opened a new connection since, and whose time stamps are of
        the time of its first try: new records of a constant payload have time stamps of their own.
        """
        if self.offsets is None or self.offsets[0] == self.offsets[1] or self.has_other_records:
            return False
        if self.idempotent:
            return self.checksums is not None
        stamped = self.newest_ms is not None and abs(self.newest_ms * _MS - self.began) <= _STAMPED_NS
        return stamped and self.senders == _RECONNECTED and self.last[0] - self.began >= _PAUSE_NS


# With one more, the greatest hash is to be known.
_KEPT_FREELY: Final = BATCHES_REMEMBERED_MAX - 1


class SentBatches:
    """The batches that are remembered; `merge` in any order gives the same."""

    def __init__(self) -> None:
        # Batches that were sent once and taken, as most are: what is told of them is worked out when it is asked for.
        self._once: dict[int, SentOnce] = {}
        self._others: dict[int, SentAgain] = {}
        # Negative hashes of all batches, so that the greatest hash comes first; made when there are so many.
        self._heap: list[int] = []

    def add_try(
        self,
        head: BatchHead,
        client: str,
        place: tuple[str | None, Any],
        code: int | None,
        exchange: tuple[Evidence, int | None],
        offset: int = -1,
    ) -> None:
        """Count one try of a batch for a topic and partition; `code` is its error code, None without an answer.

        `exchange` is the evidence, and when the answer came in ns; `offset` is the one that the batch was written at,
        -1 where that is not known.
        """
        _, _, _, size, _, _, newest, _, producer, epoch, sequence, crc, _, _ = head
        topic, partition = place
        # Hashes of numbers are the same in every process.
        if producer >= 0:
            number = hash((producer, epoch, sequence, partition, _hash_topic_name(topic)))
        elif crc is not None:
            number = hash((crc, size, newest or 0, partition, _hash_topic_name(topic)))
        else:
            return  # records of NDJSON do not tell the checksum
        if not self._heap or number <= -self._heap[0]:
            made: SentOnce = tuple.__new__(SentOnce, (head, client, place, code, exchange, offset))
            if code == 0 and number not in self._once and number not in self._others:
                if len(self._once) + len(self._others) >= _KEPT_FREELY:
                    self._drop_greatest(number)
                self._once[number] = made
            else:
                self._add_try_again(number, made)

    def _add_try_again(self, number: int, once: SentOnce) -> None:
        its = self._get_or_make_counts(number)
        if its is not None:
            its.add_try(once)
        elif self._make_room_for_batch(number):
            self._others[number] = SentAgain.of_try(once)

    def _get_or_make_counts(self, number: int) -> SentAgain | None:
        """The counts of a batch by its hash, made of its only try where there was one."""
        once = self._once.pop(number, None)
        if once is not None:
            self._others[number] = SentAgain.of_try(once)
        return self._others.get(number)

    def _make_room_for_batch(self, number: int) -> bool:
        """Whether a batch that comes with this hash is to be remembered; that with the greatest is dropped for it."""
        if self._heap and number > -self._heap[0]:
            return False
        self._drop_greatest(number)
        return True

    def _drop_greatest(self, number: int) -> None:
        """Drop the batch with the greatest hash where there are too many with the one that is to come."""
        if self._heap:
            greatest = -heappushpop(self._heap, -number)
            if self._once.pop(greatest, None) is None:
                del self._others[greatest]
        elif len(self._once) + len(self._others) >= _KEPT_FREELY:
            self._heap = [-each for each in (*self._once, *self._others, number)]
            heapify(self._heap)

    def merge(self, other: Self) -> None:
        """Add the batches of `other`, which stays unchanged."""
        for number, once in other._once.items():
            if number in self._once or number in self._others:
                self._add_try_again(number, once)
            elif self._make_room_for_batch(number):
                self._once[number] = once
        for number, its in other._others.items():
            self._add_counts(number, its)

    def _add_counts(self, number: int, its: SentAgain) -> None:
        before = self._get_or_make_counts(number)
        if before is not None:
            before.add(its)
        elif self._make_room_for_batch(number):
            self._others[number] = SentAgain.make_resumed(its.state())

    def set_file_names(self, names: Sequence[str]) -> None:
        """Name the files of the evidence."""
        self._others, self._once = dict(self._list_all_batches()), {}
        for its in self._others.values():
            its.set_file_names(names)

    def _list_all_batches(self) -> list[tuple[int, SentAgain]]:
        """All batches, by their hashes."""
        return [*((number, SentAgain.of_try(once)) for number, once in self._once.items()), *self._others.items()]

    def _list_batches_tried_again(self) -> list[SentAgain]:
        return [its for its in self._others.values() if its.tries > 1]

    def find_batches_sent_again(self) -> Iterator[SentAgain]:
        """The batches that were sent more than once because a try failed."""
        return filter(_is_retry, self._list_batches_tried_again())

    def find_numbers_used_again(self) -> Iterator[SentAgain]:
        """The sequence numbers that came with other records after they had been accepted."""
        return (its for its in self._list_batches_tried_again() if its.is_number_used_again)

    def find_duplicates(self) -> Iterator[SentAgain]:
        """The batches that brokers answered with DUPLICATE_SEQUENCE_NUMBER."""
        return (its for its in self._others.values() if its.duplicates)

    def find_expired_batches(self, age_ns: int, patience_ns: int) -> Iterator[SentAgain]:
        """The batches that reached this age, counted from their first try, while a request of theirs was under way.

        A request without an answer counts as under way for `patience_ns`, after which clients give it up.
        """
        late = [
            SentAgain.of_try(once)
            for once in self._once.values()
            if once[4][1] is None or once[4][1] - once[4][0][0] >= age_ns
        ]
        for its in (*late, *self._others.values()):
            begun = its.last[0] - its.began
            ended = begun + patience_ns if its.ended is None else its.ended - its.began
            if begun < age_ns <= ended:
                yield its

    def find_batches_written_twice(self) -> Iterator[SentAgain]:
        """The batches that were accepted at two offsets."""
        return (its for its in self._list_batches_tried_again() if its.is_written_twice)

    def find_accepted_batch(self, place: tuple[str | None, int], offset: int, crc: int) -> tuple[int, str, bool] | None:
        """When a batch was written that was accepted at an offset, by which client, and whether with this checksum.

        Of batches without a sequence number the partition is not remembered: they are found by their checksum.
        """
        for _, its in self._list_all_batches():
            if (its.topic, its.offsets) == (place[0], (offset, offset)) and its.checksums is not None:
                alike = its.checksums == (crc, crc)
                if its.place[0] == place[1] or (alike and its.place[0] is None):
                    return its.began, its.client, alike
        return None

    def find_overwritten_batches(self) -> Iterator[tuple[SentAgain, SentAgain]]:
        """Pairs of batches that were accepted at the same offsets of a partition: the first is gone, the second there.

        A log gives each offset once, so it was cut off in between; or these are two logs. A topic of which a log
        begins anew at offset 0 is left out: likely it was made anew. So are answers that have one offset for several
        batches, which no log gives.
        """
        doubtful = self._find_places_with_steps_back()
        placed: dict[tuple[str | None, Any], list[tuple[int, int, int, SentOnce | SentAgain]]] = {}
        for number, once in self._once.items() if doubtful else ():
            if once.place in doubtful and once.offset >= 0:
                placed.setdefault(once.place, []).append((once.offset, once.offset + once.head[12], number, once))
        for number, its in self._others.items() if doubtful else ():
            where = its.topic, its.place[0]
            if where in doubtful and its.offsets is not None and its.offsets[0] == its.offsets[1]:
                placed.setdefault(where, []).append((its.offsets[0], its.offsets[0] + its.records, number, its))
        for some in placed.values():
            some.sort()
            offsets = Counter(each[0] for each in some)
            if offsets.most_common(1)[0][1] >= _OF_NO_LOG:
                continue
            last = some[0]
            for each in some[1:]:
                if each[0] < last[1]:
                    pair = (SentAgain.of_try(one) if isinstance(one, SentOnce) else one for one in (last[3], each[3]))
                    first, second = sorted(pair, key=lambda its: (its.ended or 0, *_rank_try(its)))
                    if second.offsets is not None and second.offsets[0]:
                        yield first, second
                if each[1] > last[1]:
                    last = each

    def _find_places_with_steps_back(self) -> set[tuple[str | None, Any]]:
        """Partitions in which batches have the same offsets, but for topics of which a log began anew at offset 0."""
        ends: dict[tuple[str | None, Any], int] = {}
        found: set[tuple[str | None, Any]] = set()
        accepted = [
            (place, offset, head[12], tried[1] or 0)
            for head, _, place, _, tried, offset in self._once.values()
            if offset >= 0
        ]
        for its in self._others.values():
            if its.offsets is not None:
                accepted.append(((its.topic, its.place[0]), its.offsets[0], its.records, its.ended or 0))
        for where, offset, records, _ in accepted:
            if offset < ends.get(where, 0):
                found.add(where)
            else:
                ends[where] = offset + records
        if not found:
            return found
        first: dict[tuple[str | None, Any], int] = {}  # when a batch behind offset 0 was accepted first
        for where, offset, _, ended in accepted:
            if offset and where in found:
                first[where] = min(first.get(where, ended), ended)
        anew = {where[0] for where, offset, _, ended in accepted if not offset and first.get(where, ended) < ended}
        return {where for where in found if where[0] not in anew}

    def find_misrouted_batches(self) -> list[MisroutedBatch]:
        """The batches that went to another topic or partition than they were made for; `source` is a SentAgain."""
        if not self._has_doubtful_sequences():
            return []
        sent = (
            SentBatch(its.began, its.topic, its.place[0], its.place[1], its.epoch, its.place[2], its.records, crc, its)
            for _, its in self._list_all_batches()
            if its.idempotent and its.topic and its.place[0] is not None and not its.has_other_records
            for crc in (-1 if its.checksums is None else its.checksums[0],)
        )
        return find_misrouted_batches(sent, complete=not self._heap)

    def _has_doubtful_sequences(self) -> bool:
        """Whether a batch is like another one, or a sequence may be missing; else no batch can have been misrouted.

        A sequence may be missing in a partition where two batches, not just the first, begin where none ends.
        """
        sent = [(its[0], its[2]) for its in self._once.values() if its[0][8] >= 0]
        if self._others and any(its.idempotent for its in self._others.values()):
            return True
        if len({_read_identity(head) for head, _ in sent}) < len(sent):
            return True
        if self._heap:
            return False
        ends = {(head[8], head[9], place, head[10] + head[12]) for head, place in sent}
        begins = {(head[8], head[9], place, head[10]) for head, place in sent} - ends
        return len({each[:3] for each in begins}) < len(begins)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [[number, its.state()] for number, its in self._list_all_batches()]

    @classmethod
    def make_resumed(cls, state: object) -> SentBatches:
        """Batches from their `state`. Raises DecodeError."""
        made = cls()
        (items,) = state_fields([state], list)
        for item in items:
            number, its = state_fields(item, int, list)
            made._add_counts(number, SentAgain.make_resumed(its))
        return made


# Producer id, epoch, sequence and checksum in the header of a batch.
_read_identity: Final = itemgetter(8, 9, 10, 11)


def _is_retry(its: SentAgain) -> bool:
    if its.has_other_records or its.is_written_twice:
        return False
    late = its.idempotent and its.last[0] - its.began >= _PAUSE_NS
    return late or its.refused + its.unknown > 0


def _rank_try(its: SentAgain) -> tuple[int, str, str, str]:
    return its.last[0], its.last[2], its.last[3], its.client


def _number_of_place(place: _Place) -> tuple[int, int]:
    return place[1:]


def _choose_first_try(one: Evidence | None, other: Evidence | None) -> Evidence | None:
    if one is None or other is None:
        return one or other
    if one[0] != other[0]:
        return one if one[0] < other[0] else other
    return min(one, other, key=lambda its: (its[2], its[3]))


def _count_senders(one: SentAgain, other: SentAgain) -> int:
    known = max(one.senders, other.senders)
    if known > _RECONNECTED or one.last[1:4] == other.last[1:4]:
        return known
    alike = one.client == other.client and host_of(one.last[2]) == host_of(other.last[2])
    return _RECONNECTED if alike else _RECONNECTED + 1


def _join_spans(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one == other or other is None:
        return one
    return other if one is None else (min(one[0], other[0]), max(one[1], other[1]))
