"""Exchanges in, observations by kind and subject out: counts, times, sums, names, and the first exchanges as evidence.

Merging gives the same observations in any order and from any split of the exchanges: counts and sums are added; the
greatest values, the first and the last time, and the earliest evidence are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.doctor.keys.observe_keys import KeysOfWriters
from decoders.analysis.doctor.resent_batches import (
    Evidence,
    SentBatches,
    make_evidence_of_exchange,
    make_evidence_row,
    read_evidence,
    set_file_name_in_evidence,
)
from decoders.analysis.groups.share_deliveries import ShareDeliveries
from decoders.errors import Malformed
from decoders.limits import (
    EVIDENCE_MAX,
    MINUTES_MARKED_MAX,
    NAMES_OBSERVED_MAX,
    OBSERVATIONS_MAX,
    PARTITIONS_REMEMBERED_MAX,
)
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import add_fields_to_older_state, pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Exchange

__all__ = ["Evidence", "Observation", "Observations", "sort_names_by_count"]

_NS: Final = 1_000_000_000
# The bits of a minute's seconds.
_MINUTE: Final = (1 << 60) - 1
# The most seconds that one exchange marks.
_MARKED_MOST: Final = 600
# The kind of an observation, then the parts of its subject.
Key = tuple[str | int | None, ...]


class Observation:
    """What was observed of one kind and subject.

    `sums` are added up, `most` are greatest values, `names` counts names by facet, `edges` has the values at the first
    and the last time: (ns, value). `marks` are seconds in which something was heard: minute → a bit for each second.
    """

    __slots__ = ("count", "edges", "evidence", "first", "last", "marks", "most", "names", "sums")

    def __init__(self) -> None:
        self.count = self.first = self.last = 0
        self.sums: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.names: dict[str, dict[str, int]] = {}
        self.edges: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {}
        self.evidence: list[Evidence] = []
        self.marks: dict[int, int] = {}

    def count_exchange(self, exchange: Exchange) -> None:
        """Count an exchange, and keep it as evidence if it is among the earliest."""
        time_ns = exchange.time_ns
        if self.count and time_ns >= self.last:
            self.last = time_ns  # most come in order
            self.count += 1
            if len(self.evidence) >= EVIDENCE_MAX:
                return  # with times up to `last`
        else:
            self.count_occurrence_at(time_ns)
        evidence = self.evidence
        if not evidence or (time_ns > evidence[-1][0] and len(evidence) < EVIDENCE_MAX):
            evidence.append(make_evidence_of_exchange(exchange))
        elif len(evidence) < EVIDENCE_MAX or time_ns < evidence[-1][0]:
            self._keep_evidence([make_evidence_of_exchange(exchange)])

    def count_answer(self, exchange: Exchange) -> None:
        """Count an exchange at the time of its answer, for a fact that the answer states."""
        self.count_occurrence_at(exchange.response_ns or exchange.time_ns)
        if len(self.evidence) < EVIDENCE_MAX or exchange.time_ns < self.evidence[-1][0]:
            self._keep_evidence([make_evidence_of_exchange(exchange)])

    def count_end(self, ended: Ended) -> None:
        """Count the end of a connection, and keep it as evidence if it is among the earliest."""
        self.count_occurrence_at(ended.last_ns)
        info = ended.connection_info
        self._keep_evidence([(ended.last_ns, info.number, info.client, info.broker, None, None, None, None)])

    def count_evidence(self, evidence: Evidence) -> None:
        """Count an exchange of which only the evidence was kept."""
        self.count_occurrence_at(evidence[0])
        self._keep_evidence([evidence])

    def count_occurrence_at(self, time_ns: int) -> None:
        """Count one occurrence at a time in ns, without an exchange."""
        if not self.count:
            self.first = self.last = time_ns
        elif time_ns > self.last:
            self.last = time_ns
        elif time_ns < self.first:
            self.first = time_ns
        self.count += 1

    def add_to_sum(self, name: str, amount: int) -> None:
        """Add to a sum."""
        self.sums[name] = self.sums.get(name, 0) + amount

    def add_range(self, names: tuple[str, str, str], first: int, end: int) -> None:
        """Count the numbers of a range, up to one before `end`; the least `first` and the greatest `end` are kept.

        `names` are those of the number in `sums`, and in `most` those of the negative begin and of the end.
        """
        name, most_start, most_end = names
        sums, most = self.sums, self.most
        if name in sums:
            sums[name] += end - first
            if end > most[most_end]:
                most[most_end] = end
            if -first > most[most_start]:
                most[most_start] = -first
        else:
            sums[name], most[most_start], most[most_end] = end - first, -first, end

    def keep_greatest(self, name: str, value: int) -> None:
        """Keep the greatest of the values with this name."""
        before = self.most.get(name)
        if before is None or value > before:
            self.most[name] = value

    def count_name(self, facet: str, name: str, count: int = 1) -> dict[str, int]:
        """Count a name of a facet; names beyond NAMES_OBSERVED_MAX are not kept. Returns all names and counts."""
        names = self.names.get(facet)
        if names is None:
            names = self.names[facet] = {}
        before = names.get(name)
        if before is not None:
            names[name] = before + count
        elif len(names) < NAMES_OBSERVED_MAX:
            names[name] = count
        return names

    def keep_first_and_last(self, name: str, time_ns: int, value: int) -> None:
        """Take the value that `name` has at a time; the first and the last are kept."""
        found = (time_ns, value)
        before = self.edges.get(name)
        if before is None:
            self.edges[name] = (found, found)
        elif found >= before[1]:
            self.edges[name] = (before[0], found)  # most come in order
        else:
            self.edges[name] = (min(before[0], found), before[1])

    def mark_seconds(self, begin_ns: int, end_ns: int) -> None:
        """Mark the seconds from one time to another, in ns; seconds beyond the limits are not kept."""
        end = end_ns // _NS
        for second in range(max(begin_ns // _NS, end - _MARKED_MOST), end + 1):
            self._mark_seconds_of_minute(second // 60, 1 << second % 60)

    def _mark_seconds_of_minute(self, minute: int, seconds: int) -> None:
        if minute in self.marks or len(self.marks) < MINUTES_MARKED_MAX:
            self.marks[minute] = self.marks.get(minute, 0) | seconds

    def mark_second(self, time_ns: int) -> None:
        """Mark the second of a time in ns."""
        second = time_ns // _NS
        if self.most.get("second") != second:  # most come many to a second
            self.keep_greatest("second", second)
            self._mark_seconds_of_minute(second // 60, 1 << second % 60)

    def list_marked_seconds(self) -> Iterator[int]:
        """The marked seconds, in order."""
        for minute, bits in sorted(self.marks.items()):
            left = bits & _MINUTE
            while left:
                yield minute * 60 + (left & -left).bit_length() - 1
                left &= left - 1

    def find_longest_pause(self) -> tuple[int, int]:
        """The most whole seconds between two marks, and the second before; (0, 0) without a pause or past the limit."""
        longest = (0, 0)
        if len(self.marks) >= MINUTES_MARKED_MAX:
            return longest
        before: int | None = None
        for second in self.list_marked_seconds():
            if before is not None:
                longest = max(longest, (second - before - 1, before))
            before = second
        return longest

    def merge(self, other: Observation) -> None:
        """Add the counts of `other`, which stays unchanged."""
        self.first = min(self.first, other.first) if self.count and other.count else self.first or other.first
        self.last = max(self.last, other.last)
        self.count += other.count
        for name, amount in other.sums.items():
            self.add_to_sum(name, amount)
        for name, value in other.most.items():
            self.keep_greatest(name, value)
        for facet, names in other.names.items():
            for name, count in names.items():
                self.count_name(facet, name, count)
        for name, (first, last) in other.edges.items():
            self.keep_first_and_last(name, *first)
            self.keep_first_and_last(name, *last)
        for minute, seconds in other.marks.items():
            self._mark_seconds_of_minute(minute, seconds)
        self._keep_evidence(other.evidence)

    def _keep_evidence(self, more: Sequence[Evidence]) -> None:
        if not self.evidence:
            self.evidence = [*more]  # in order already, and no more than are kept
            return
        order = sorted({*self.evidence, *more}, key=lambda each: (each[0], each[2], each[3], each[4] or 0, each[1]))
        self.evidence = order[:EVIDENCE_MAX]

    def count_and_times(self) -> dict[str, Any]:
        """Count, first and last time, as rows of findings have them."""
        first, last = (format_rfc3339(at) if self.count else None for at in (self.first, self.last))
        return {"count": self.count, "first": first, "last": last}

    def evidence_rows(self) -> list[dict[str, Any]]:
        """The evidence, as rows of findings have it."""
        return [make_evidence_row(evidence) for evidence in self.evidence]

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [getattr(self, name) for name in _STATE]

    @classmethod
    def make_resumed(cls, state: object) -> Observation:
        """An observation from its `state`. Raises DecodeError."""
        made = cls()
        found = state_fields(state, int, int, int, dict, dict, dict, dict, list, dict)
        for name, value in zip(_STATE, found, strict=True):
            setattr(made, name, value)
        for mark in made.marks.items():
            state_fields(mark, int, int)
        for amounts in (made.sums, made.most, *made.names.values()):
            (amounts,) = state_fields([amounts], dict)
            for item in amounts.items():
                state_fields(item, str, int)
        for pair in made.edges.values():
            for edge in state_fields(pair, tuple, tuple):
                state_fields(edge, int, int)
        made.evidence = [*map(read_evidence, made.evidence)]
        return made


_STATE: Final = ("count", "first", "last", "sums", "most", "names", "edges", "evidence", "marks")


class ProducedPartition:
    """Where the writes of a client to a partition are counted: what many requests would look up one by one.

    `writes` is the observation of client and topic, `sizes` and `name` are the bytes by partition and the partition's
    name there, None before the first bytes; `taken` is the observation of the sequence of `producer`. `zstd_ns`:
    the earliest time of a batch with zstd, -1 before.
    """

    __slots__ = ("name", "producer", "sizes", "taken", "writes", "zstd_ns")

    def __init__(self, writes: Observation, number: int | None) -> None:
        self.writes = writes
        self.name = str(number)
        self.sizes: dict[str, int] | None = None
        self.producer: int | None = None
        self.taken: Observation | None = None
        self.zstd_ns = -1


class FetchedPartition:
    """Where the fetches of a connection from a partition are counted: what it read, and how far it is behind."""

    __slots__ = ("lag", "read")

    def __init__(self) -> None:
        self.read: Observation | None = None
        self.lag: Observation | None = None


class Observations:
    """All observations by key, and batches that were sent. `left_out`: how often a key came beyond the limit."""

    def __init__(self) -> None:
        self._found: dict[Key, Observation] = {}
        self.left_out = 0
        self.sent = SentBatches()
        self.sampled_keys = KeysOfWriters()
        self.shared = ShareDeliveries()
        # Kind → subjects and observations, as they were when there were so many: findings ask for a hundred kinds. Each
        # kind is put in order when it is asked for.
        self._by_kind: dict[Any, list[tuple[Any, Observation]]] = {}
        self._grouped = 0
        self._ordered: set[str] = set()
        # By client, topic and partition; by client, its address, topic and partition.
        self.produced: dict[tuple[str, str | None, Any], ProducedPartition] = {}
        self.fetched: dict[tuple[str, str, str | None, Any], FetchedPartition] = {}

    def get_or_make(self, *key: str | int | None) -> Observation:
        """The observation of this kind and subject, made where missing; beyond OBSERVATIONS_MAX it is not kept."""
        found = self._found.get(key)
        if found is None:
            found = Observation()
            if len(self._found) >= OBSERVATIONS_MAX:
                self.left_out += 1
            else:
                self._found[key] = found
        return found

    def make_produced_partition(self, client: str, topic: str | None, number: Any) -> ProducedPartition:
        """Where the writes of a client to a partition are counted, to be found again in `produced`."""
        if len(self.produced) >= PARTITIONS_REMEMBERED_MAX:
            self.produced.clear()
        made = self.produced[client, topic, number] = ProducedPartition(
            self.get_or_make("produce", client, topic), number
        )
        return made

    def make_fetched_partition(self, client: str, address: str, topic: str | None, number: Any) -> FetchedPartition:
        """Where the fetches of a connection from a partition are counted, to be found again in `fetched`."""
        if len(self.fetched) >= PARTITIONS_REMEMBERED_MAX:
            self.fetched.clear()
        made = self.fetched[client, address, topic, number] = FetchedPartition()
        return made

    def note_partitions(self, kind: str, client: str, places: Iterable[tuple[str | None, Any]]) -> None:
        """Make the observations of this kind, a client, and each topic and partition, where they are missing."""
        found = self._found
        for topic, number in places:
            if (kind, client, topic, number) not in found:
                self.get_or_make(kind, client, topic, number)

    def set_file_names(self, names: Sequence[str]) -> None:
        """Name the files of the evidence, by their indices in the numbers of its packets (merge_captures.py)."""
        for each in self._found.values():
            each.evidence = [set_file_name_in_evidence(evidence, names) for evidence in each.evidence]
        self.sent.set_file_names(names)

    def get_observation(self, *key: str | int | None) -> Observation | None:
        """The observation of this kind and subject; None where there is none."""
        return self._found.get(key)

    def items_of_kind(self, kind: str, edge: str | None = None) -> Iterator[tuple[Any, Observation]]:
        """Subject and observation, for all observations of a kind, in the order of subjects.

        With `edge` only those with a first and a last value of this name, which may be few of very many.
        """
        if self._grouped != len(self._found):
            self._by_kind, self._ordered = {}, set()
            for key, each in self._found.items():
                self._by_kind.setdefault(key[0], []).append((key[1:], each))
            self._grouped = len(self._found)
        found = self._by_kind.get(kind, [])
        if edge is not None:
            return iter(sorted((item for item in found if edge in item[1].edges), key=_rank_subject))
        if kind not in self._ordered:
            found.sort(key=_rank_subject)
            self._ordered.add(kind)
        return iter(found)

    def merge(self, other: Self) -> None:
        """Add the observations of `other`, which stays unchanged."""
        self.sampled_keys.hash_keys()
        other.sampled_keys.hash_keys()
        self.left_out += other.left_out
        self.sent.merge(other.sent)
        self.shared.merge(other.shared)
        for key, each in other._found.items():
            self.get_or_make(*key).merge(each)

    def export(self) -> bytes:
        """The state, for `resume`."""
        self.sampled_keys.hash_keys()
        items = [[key, each.state()] for key, each in self._found.items()]
        return pack([self.left_out, self.sent.state(), items, self.shared.export()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        self._grouped = 0
        self.produced, self.fetched, self.sampled_keys = {}, {}, KeysOfWriters()
        whole = add_fields_to_older_state(unpack(state), 3, 3, b"")
        self.left_out, sent, items, shared = state_fields(whole, int, list, list, bytes)
        self.sent, self.shared = SentBatches.make_resumed(sent), ShareDeliveries()
        if shared:
            self.shared.resume(shared)
        for item in items:
            key, each = state_fields(item, tuple, list)
            if not key or not isinstance(key[0], str) or not all(isinstance(part, _PART) for part in key):
                raise Malformed("an observation without a kind")
            self._found[_RENAMED_KINDS.get(key[0], key[0]), *key[1:]] = Observation.make_resumed(each)


def _rank_subject(item: tuple[Any, Observation]) -> list[tuple[bool, str]]:
    return [(part is not None, str(part)) for part in item[0]]


_PART: Final = (str, int, type(None))
# Kinds of observations by the names that older versions of kw saved them under.
_RENAMED_KINDS: Final = {
    "deaf": "unacknowledged",
    "deaf-to-broker": "unacknowledged-by-client",
    "mute": "never-answered",
    "shut-out": "closed-at-once",
}


def sort_names_by_count(names: Mapping[str, int]) -> list[str]:
    """Names with counts in, names out, the most frequent first."""
    return sorted(names, key=lambda name: (-names[name], name))
