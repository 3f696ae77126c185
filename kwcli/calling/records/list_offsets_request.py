"""The short words of a ListOffsets (`topic=orders timestamp=latest`) in, the request in JSON form out.

All partitions of the topic are asked unless `partition=` names some; other fields can be set by path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from decoders.apis import api
from decoders.protocol_facts.api_keys import LIST_OFFSETS
from decoders.protocol_facts.convert_field_names import drop_unknown_fields
from decoders.schema.api_declaration import Versions
from kwcli.calling.records.fetch_request import LATEST, OFFSET_WORDS, parse_partition_words
from kwcli.calling.words.record_words import (
    TopicLookup,
    parse_timestamp_ms,
    read_word_as_text,
    refuse_misspelt_words,
    split_short_words,
)
from kwcli.run_environment import Exit, Failure

WORDS: Final = ("topic", "partition", "timestamp")


@dataclass(frozen=True, slots=True)
class OffsetsOfTopic:
    """The offsets of one topic at a time (LATEST: the ends); empty `partitions`: of all of them."""

    topic: str
    partitions: Sequence[int]
    timestamp: int

    def narrow_versions(self, versions: Versions, *, connected: bool = True) -> Versions:  # noqa: ARG002  # as the others do
        """All of these versions: every version can carry it."""
        return versions

    def build_body(self, version: int, topics: TopicLookup | None) -> dict[str, Any]:
        """The request in JSON form. Without `topics` (not connected), it defaults to partition 0."""
        numbers = self.partitions or ([0] if topics is None else topics.list_partitions(self.topic))
        rows = [{"partition_index": number, "timestamp": self.timestamp} for number in numbers]
        if not version:
            rows = [{**row, "max_num_offsets": 1} for row in rows]
        body = {"replica_id": -1, "topics": [{"name": self.topic, "partitions": rows}]}
        return drop_unknown_fields(api(LIST_OFFSETS).request.fields, version, body)


def parse_offsets_words(words: Sequence[str], *, now_ms: int) -> tuple[OffsetsOfTopic | None, list[str]]:
    """The look-up that short words describe (None where no topic is named), and the other words.

    Raises Failure (usage).
    """
    ours, rest = split_short_words(words, WORDS)
    refuse_misspelt_words(LIST_OFFSETS, rest, WORDS)
    topics = [read_word_as_text(word) for word in ours if word.name == "topic"]
    if not topics:
        return None, list(words)
    times = [read_word_as_text(word) for word in ours if word.name == "timestamp"]
    if len(topics) > 1 or len(times) > 1:
        raise Failure(f"{'topic' if len(topics) > 1 else 'timestamp'}= is given twice", Exit.USAGE)
    partitions = parse_partition_words([read_word_as_text(word) for word in ours if word.name == "partition"])
    timestamp = LATEST
    if times:
        timestamp = OFFSET_WORDS.get(times[0].lower(), LATEST)
        if times[0].lower() not in OFFSET_WORDS:
            timestamp = parse_timestamp_ms(times[0], now_ms, "timestamp=")
    return OffsetsOfTopic(topics[0], partitions, timestamp), rest
