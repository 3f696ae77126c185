"""Segments cut into splits, through Splitter and Stitcher, beside the rows of one engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, cast

from decoders.exchanges.exchange import ENDED_KEYS, Ended, Exchange, Row
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.exchange_json import to_json_dict
from decoders.splits.split_parts import FACT, ROWS, Part, SharedFacts, canonical_connection_key
from decoders.splits.split_segments import Splitter
from decoders.splits.stitch_rows import Stitcher
from decoders.tcp.stream_chunks import Segment
from tests.exchanges.talks import REVEALED

Shown = tuple[Any, ...]
RERUNS: list[bytes] = []  # connections whose segments were read again
AGAIN: list[int] = []  # segments that splitters read again


def shown(row: Row) -> Shown:
    """A row without its connection number and without topic names that other connections have taught."""
    if isinstance(row, Ended):
        said = dict(zip(ENDED_KEYS, row.export(), strict=True))
        return (row.client, row.broker, row.time_ns, "connection", 0, repr(said))
    record = to_json_dict(row, REVEALED)
    record.pop("connection")
    record.pop("topic_names", None)
    place = row.place if isinstance(row, Exchange) else (row.packet, row.until_ns)
    return (row.client, row.broker, row.connection_info.began_ns, row.kind, row.time_ns, repr((place, record)))


def whole(every: list[Segment], **options: Any) -> list[Shown]:
    """The rows of one engine, in order of connection and time."""
    engine = Engine(connections=True, **options)
    engine.enable_leaving_out_of_copies()
    return sorted(map(shown, engine.feed(every) + engine.finish()))


class Listed:
    """Segments in a list, which can be read again."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._begin = self._end = 0

    def feeds(self, size: int) -> Iterator[list[Segment]]:
        """All segments, some at a time."""
        for at in range(0, len(self._segments), size):
            self._end = min(at + size, len(self._segments))
            yield self._segments[at : self._end]

    def mark_as_done(self) -> None:
        self._begin = self._end

    def reread_since_mark(self) -> Iterator[list[Segment]]:
        AGAIN.append(self._end - self._begin)
        yield self._segments[self._begin : self._end]


def parts_of(
    splits: Iterable[list[Segment]], *, batch: int = 1 << 30, raw: bool = False, listed: bool = False, **options: Any
) -> list[list[Part]]:
    """The parts of each split; `listed`: from splitters that keep no segments."""
    found = []
    for segments in splits:
        source = Listed(segments)
        splitter = Splitter(raw=raw, batch=min(batch, 2000), source=source if listed else None, **options)
        parts: list[Part] = []
        for number, some in enumerate(source.feeds(max(batch // 3, 1) if listed else batch)):
            parts += splitter.feed(some)
            if number % 7 == 3:
                parts += splitter.end_batch()
        found.append(parts + splitter.finish())
    return found


def stitched(
    splits: list[list[Segment]], *, raw: bool = False, batch: int = 1 << 30, listed: bool = False, **options: Any
) -> list[Shown]:
    """The rows of splitters and stitchers, in order of connection and time."""
    parts = parts_of(splits, batch=batch, raw=raw, listed=listed, **options)
    facts = SharedFacts()
    for each in parts:
        for part in each:
            if part.kind == FACT:
                facts.add_fact_part(part.blob)
    out: list[Row] = []
    for key in sorted({part.key for each in parts for part in each if part.key}):
        at: list[list[Segment]] = [[]]
        stitcher = Stitcher(key, facts=facts, reread=partial(again, at), **options)
        for at[0], its in zip(splits, parts, strict=True):
            for part in its:
                if part.key == key:
                    out += rows_of(stitcher, part)
        out += stitcher.finish()
    return sorted(map(shown, out))


def again(at: list[list[Segment]], key: bytes, after: int, until: int | None) -> Iterator[list[Segment]]:
    """Segments of a split, read again."""
    RERUNS.append(key)
    numbers = [segment[2] for segment in at[0]]
    begin, end = numbers.index(after) + 1, len(numbers) if until is None else numbers.index(until)
    yield [segment for segment in at[0][begin:end] if canonical_connection_key(segment[0]) == key]


def rows_of(stitcher: Stitcher, part: Part) -> list[Row]:
    """The rows that a part settles, with the part's own rows if they are valid."""
    rows, patch = stitcher.feed(part)
    if part.kind == ROWS and patch is not None:
        patch.correct_rows(part.rows)
        return rows + part.rows
    return rows


def cut(every: list[Segment], places: Iterable[int]) -> list[list[Segment]]:
    """Segments as splits that begin at these places."""
    ends = [0, *sorted(places), len(every)]
    return [every[begin:end] for begin, end in pairwise(ends)]


def rows(settled: Iterable[object]) -> list[Row]:
    """The rows of an engine with connections, with their type."""
    return cast(list[Row], list(settled))
