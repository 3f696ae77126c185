"""The short words of a Fetch (`topic=orders partition=0 offset=-10`) in, the request in JSON form out.

Offsets that only the cluster knows are looked up with ListOffsets. All other fields are as a Java consumer sends them,
and can be set by path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from decoders.apis import api
from decoders.protocol_facts.api_keys import FETCH
from decoders.protocol_facts.convert_field_names import drop_unknown_fields
from decoders.schema.api_declaration import Versions
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.calling.words.record_words import (
    OFFLINE,
    TopicLookup,
    build_topic_field,
    narrow_versions_to_needs,
    parse_timestamp_ms,
    read_word_as_text,
    refuse_misspelt_words,
    split_short_words,
)
from kwcli.run_environment import Exit, Failure

WORDS: Final = ("topic", "partition", "offset")
# Timestamps of ListOffsets that stand for the ends of a partition.
LATEST, EARLIEST = -1, -2
OFFSET_WORDS: Final = {
    **dict.fromkeys(("latest", "end", "newest"), LATEST),
    **dict.fromkeys(("earliest", "beginning", "start", "oldest"), EARLIEST),
}
_EXPRESSION: Final = re.compile(
    rf"(?P<end>{'|'.join(OFFSET_WORDS)})(?P<step>[+-]\d{{1,19}})?|(?P<away>[+-]\d{{1,19}})|(?P<number>\d{{1,19}})|s?@(?P<time>.+)"
)
_PARTITIONS: Final = re.compile(r"(\d{1,10})(?:(?:-|\.\.)(\d{1,10}))?")
# The most partitions that a topic has in practice; a range is expanded into a list.
_PARTITIONS_MAX: Final = 100_000
_INT32_MAX: Final = (1 << 31) - 1
_INT64_MAX: Final = (1 << 63) - 1
# A Java consumer's defaults.
_WAIT_MS: Final = 500
_MAX_BYTES: Final = 50 << 20
_PARTITION_MAX_BYTES: Final = 1 << 20


class OffsetLookup(TopicLookup, Protocol):
    """The cluster's answers about topics and offsets that a Fetch needs."""

    def find_offset_at_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset at or after a time (LATEST: the end, EARLIEST: the first one); None where there is none."""


@dataclass(frozen=True, slots=True)
class StartOffset:
    """A start offset: `step` away from the offset at `timestamp`; without a timestamp `step` is the offset itself."""

    step: int
    timestamp: int | None = None

    @classmethod
    def parse(cls, text: str, now_ms: int) -> StartOffset:
        """`-10` (before the end), `1042`, `beginning`, `end-10`, `@2026-11-21T03:04:05Z`. Raises Failure (usage)."""
        match = _EXPRESSION.fullmatch(text.strip().lower() if text[:1].isalpha() else text.strip())
        if match is None:
            meant = did_you_mean(text, tuple(OFFSET_WORDS))
            raise Failure(
                f"offset={text} is no offset{meant}: write a number, -10 (the last ten), beginning, end, end-10 "
                "or @2026-11-21T03:04:05Z",
                Exit.USAGE,
            )
        if match["time"]:
            return cls(0, max(0, parse_timestamp_ms(match["time"], now_ms, "offset=")))
        if match["end"]:
            return cls(int(match["step"] or 0), OFFSET_WORDS[match["end"]])
        if match["away"]:
            step = int(match["away"])
            return cls(step, EARLIEST if match["away"][0] == "+" else LATEST)
        step = int(match["number"])
        if step > _INT64_MAX:
            raise Failure(f"offset={text} is outside 0 to {_INT64_MAX}", Exit.USAGE)
        return cls(step)

    def find_offset(self, topic: str, partition: int, offsets: OffsetLookup | None) -> int:
        """The offset to fetch from, never before the first one; the end offset for a time after the last record."""
        if self.timestamp is None:
            return self.step
        if offsets is None:
            raise Failure("only the cluster knows where a partition begins and ends: give offset= a number", Exit.USAGE)
        found = offsets.find_offset_at_time(topic, partition, self.timestamp)
        if found is None:
            found = offsets.find_offset_at_time(topic, partition, LATEST) or 0
        if self.step < 0:
            first = offsets.find_offset_at_time(topic, partition, EARLIEST) or 0
            return max(first, found + self.step)
        return min(_INT64_MAX, found + self.step)


@dataclass(frozen=True, slots=True)
class FetchFromTopic:
    """A fetch from one topic; empty `partitions`: all of them; `position` None: from the earliest offset."""

    topic: str
    partitions: Sequence[int]
    position: StartOffset | None
    offsets: Mapping[int, int] | None = None  # partition → offset, instead of `partitions` and `position`

    def resume_at_offsets(self, offsets: Mapping[int, int]) -> FetchFromTopic:
        """A fetch of this topic from these offsets of partitions."""
        return FetchFromTopic(self.topic, sorted(offsets), None, offsets)

    def narrow_versions(self, versions: Versions, *, connected: bool = True) -> Versions:
        """The versions among these that can carry this fetch. Raises Failure (usage) when there is none."""
        return narrow_versions_to_needs(FETCH, versions, () if connected else [OFFLINE[FETCH]])

    def build_body(self, version: int, offsets: OffsetLookup | None) -> dict[str, Any]:
        """The request in JSON form. Without `offsets` (not connected), it defaults to partition 0 from offset 0."""
        position = self.position or (StartOffset(0) if offsets is None else StartOffset(0, EARLIEST))
        partitions = []
        for index in self._list_partitions_to_fetch(offsets):
            begin = position.find_offset(self.topic, index, offsets) if self.offsets is None else self.offsets[index]
            asked = {"partition": index, "fetch_offset": begin}
            partitions.append(asked | {"partition_max_bytes": _PARTITION_MAX_BYTES})
        topic = build_topic_field(FETCH, version, self.topic, offsets)
        topics = [{**topic, "partitions": partitions}]
        body = {"max_wait_ms": _WAIT_MS, "min_bytes": 1, "max_bytes": _MAX_BYTES, "topics": topics}
        return drop_unknown_fields(api(FETCH).request.fields, version, body)

    def _list_partitions_to_fetch(self, offsets: OffsetLookup | None) -> Sequence[int]:
        if self.partitions:
            return self.partitions
        return [0] if offsets is None else offsets.list_partitions(self.topic)


def parse_fetch_words(words: Sequence[str], *, now_ms: int) -> tuple[FetchFromTopic | None, list[str]]:
    """The fetch that short words describe (None where none names a topic, partition or offset), and the other words.

    Raises Failure (usage).
    """
    ours, rest = split_short_words(words, WORDS)
    refuse_misspelt_words(FETCH, rest, WORDS)
    if not ours:
        return None, rest
    topics = [read_word_as_text(word) for word in ours if word.name == "topic"]
    positions = [read_word_as_text(word) for word in ours if word.name == "offset"]
    if len(topics) != 1:
        raise Failure("topic= is given twice" if topics else "topic= is missing", Exit.USAGE)
    if len(positions) > 1:
        raise Failure("offset= is given twice", Exit.USAGE)
    partitions = parse_partition_words([read_word_as_text(word) for word in ours if word.name == "partition"])
    position = StartOffset.parse(positions[0], now_ms) if positions else None
    return FetchFromTopic(topics[0], partitions, position), rest


def parse_partition_words(texts: Sequence[str]) -> list[int]:
    """The partitions of `3`, `0,2` or `0-5`, each once; an empty list for `all`. Raises Failure (usage)."""
    found: list[int] = []
    for part in (part.strip() for text in texts for part in text.split(",")):
        if part == "all":
            return []
        match = _PARTITIONS.fullmatch(part)
        if match is None:
            raise Failure(f"partition={part} is no number: write 0, several (0,2 or 0-5), or all", Exit.USAGE)
        low = int(match[1])
        high = int(match[2] or low)
        if high > _INT32_MAX:
            raise Failure(f"partition={part} is outside 0 to {_INT32_MAX}", Exit.USAGE)
        if not 0 <= high - low < _PARTITIONS_MAX:
            raise Failure(f"partition={part} is no range of partitions", Exit.USAGE)
        found += range(low, high + 1)
    return list(dict.fromkeys(found))
