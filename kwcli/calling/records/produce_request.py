"""The short words of a Produce (`topic=orders key=k value=v`) in, the request in JSON form out.

Everything that can be wrong is reported before anything is sent. The versions to negotiate are narrowed to those that
can carry the records, the codec and the message format. A record goes to the partition that is named, else to the one
of the Java producer's hash of its key. All records without a key go to one partition, as with its sticky partitioner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from decoders.apis import api
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.protocol_facts.convert_field_names import drop_unknown_fields
from decoders.records.codecs import NAMES, NUMBERS
from decoders.records.record_and_batch import Row
from decoders.records.records_as_json import records_json
from decoders.schema.api_declaration import FOREVER, Versions
from kwcli.calling.read_bodies import STDIN
from kwcli.calling.records.parse_record_lines import LineOptions, parse_record_lines
from kwcli.calling.words.record_words import (
    OFFLINE,
    Contents,
    ProduceRecord,
    RecordWord,
    TopicLookup,
    build_topic_field,
    choose_partition_by_key,
    narrow_versions_to_needs,
    parse_json_record_lines,
    parse_record_words,
    read_word_as_number,
    read_word_as_text,
    refuse_misspelt_words,
    split_short_words,
)
from kwcli.run_environment import Exit, Failure

ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}
# The versions in which brokers take each message format (KIP-32, KIP-98).
_CARRIED_BY: Final = (Versions(0, 2), Versions(0, 2), Versions(3, FOREVER))
_BATCHES: Final = Versions(3, FOREVER)
_ZSTD: Final = Versions(7, FOREVER)
_TIMEOUT_MS: Final = 30_000
_LIMITS: Final = {"producer_id": (1 << 63) - 1, "producer_epoch": (1 << 15) - 1, "base_sequence": (1 << 31) - 1}

_RECORD: Final = ("key", "value", "header", "partition", "timestamp")
_ONCE: Final = ("topic", "acks", "transactional_id", "producer_id", "producer_epoch", "base_sequence")
WORDS: Final = (*_ONCE, *_RECORD)


@dataclass(frozen=True, slots=True)
class ProduceToTopic:
    """The records to produce, and how; independent of the API version and the cluster."""

    topic: str
    entries: Sequence[ProduceRecord]
    clock_ms: Callable[[], int]
    codec: str = "none"
    acks: int = -1
    magic: int | None = None
    transactional_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None

    def list_version_needs(self) -> list[tuple[Versions, str]]:
        """For each feature in use: the versions that support it, and its name for error messages."""
        out = []
        if self.magic is not None:
            out.append((_CARRIED_BY[self.magic], f"message format {self.magic}"))
        if self.codec == "zstd":
            out.append((_ZSTD, "zstd"))
        if any(entry.headers for entry in self.entries):
            out.append((_BATCHES, "a record with headers"))
        for name in ("producer_id", "transactional_id"):
            if getattr(self, name) is not None:
                out.append((_BATCHES, f"{name}="))
        return out

    def narrow_versions(self, versions: Versions, *, connected: bool = True) -> Versions:
        """The versions among these that can carry the records. Raises Failure (usage) when there is none."""
        return narrow_versions_to_needs(
            PRODUCE, versions, [*self.list_version_needs(), *(() if connected else (OFFLINE[PRODUCE],))]
        )

    def choose_message_format(self, version: int) -> int:
        """The message format for a version: the requested one, else the newest that clients of that version sent."""
        if self.magic is not None:
            return self.magic
        if version in _BATCHES:
            return 2
        stamped = any(entry.timestamp is not None for entry in self.entries)
        return 1 if version == 2 or stamped else 0

    def build_body(self, version: int, topics: TopicLookup | None) -> dict[str, Any]:
        """The request in JSON form. Without `topics` (not connected), records without a partition go to partition 0."""
        magic, now_ms = self.choose_message_format(version), self.clock_ms()
        parts: dict[int, list[ProduceRecord]] = {}
        for index, entry in zip(self._choose_partitions(topics, now_ms), self.entries, strict=True):
            parts.setdefault(index, []).append(entry)
        data = [
            {"index": index, "records": [self._build_batch_json(entries, magic, now_ms)]}
            for index, entries in sorted(parts.items())
        ]
        topic = build_topic_field(PRODUCE, version, self.topic, topics)
        body = {
            "transactional_id": self.transactional_id,
            "acks": self.acks,
            "timeout_ms": _TIMEOUT_MS,
            "topic_data": [{**topic, "partition_data": data}],
        }
        return drop_unknown_fields(api(PRODUCE).request.fields, version, body)

    def _choose_partitions(self, topics: TopicLookup | None, now_ms: int) -> list[int]:
        """The partition of each record."""
        if all(entry.partition is not None for entry in self.entries):
            partitions: Sequence[int] = ()
        else:
            partitions = (0,) if topics is None else topics.list_partitions(self.topic)
        places = []
        for entry in self.entries:
            if entry.partition is not None:
                places.append(entry.partition)
            elif entry.key is not None:
                places.append(choose_partition_by_key(entry.key, len(partitions)))
            else:
                places.append(partitions[now_ms % len(partitions)])
        return places

    def _build_batch_json(self, entries: Sequence[ProduceRecord], magic: int, now_ms: int) -> dict[str, Any]:
        """The records of one partition as one batch; fields that are left out follow from the records."""
        batch: dict[str, Any] = {"magic": magic, "codec": self.codec}
        if self.producer_id is not None:
            batch |= {name: getattr(self, name) for name in _LIMITS}
            batch["transactional"] = self.transactional_id is not None
        rows: list[Row] = [
            (at, now_ms if entry.timestamp is None else entry.timestamp, entry.key, entry.value, entry.headers, None)
            for at, entry in enumerate(entries)
        ]
        batch["records"] = records_json(iter(rows))
        if not magic:
            for record in batch["records"]:
                del record["timestamp"]
        return batch


def parse_produce_words(
    words: Sequence[str],
    *,
    compression: str | None = None,
    acks: str | None = None,
    magic: int | None = None,
    lines: LineOptions = LineOptions(),  # noqa: B008  # a value
    contents: Contents,
    stdin: Callable[[], bool],
    clock_ms: Callable[[], int],
) -> tuple[ProduceToTopic | None, list[str]]:
    """The records that the words describe (None where no word is about records), and the other words.

    `stdin`: records may come from standard input when no word has one. Raises Failure (usage).
    """
    ours, rest = split_short_words(words, WORDS)
    refuse_misspelt_words(PRODUCE, rest, WORDS)
    if not any(word.name in ("topic", *_RECORD) for word in ours):
        options = {"--compression": compression, "--acks": acks, "--magic": magic, "-K": lines.separator}
        stray = next((name for name, given in options.items() if given is not None), "--lines" if lines.plain else None)
        if stray:
            raise Failure(f"{stray} needs topic=… value=…", Exit.USAGE)
        return None, list(words)
    once: dict[str, RecordWord] = {}
    for word in ours:
        if word.name in _ONCE and once.setdefault(word.name, word) is not word:
            raise Failure(f"{word} is given twice", Exit.USAGE)
    if once.get("transactional_id") == RecordWord("transactional_id", "null", json=True):
        del once["transactional_id"]
    if "topic" not in once:
        raise Failure("topic= is missing", Exit.USAGE)
    by_word = [word for word in ours if word.name in _RECORD]
    entries, rest = _read_records_to_produce(by_word, rest, _RecordSources(contents, stdin, lines), clock_ms())
    wanted = read_word_as_text(once["acks"]) if "acks" in once else acks or "all"
    if wanted not in ACKS:
        raise Failure(f"acks are {', '.join(ACKS)}, not {wanted}", Exit.USAGE)
    if compression is not None and compression not in NUMBERS:
        raise Failure(f"compression is one of {', '.join(NAMES)}, not {compression}", Exit.USAGE)
    asked = ProduceToTopic(
        read_word_as_text(once["topic"]),
        entries,
        clock_ms,
        compression or "none",
        ACKS[wanted],
        magic,
        read_word_as_text(once["transactional_id"]) if "transactional_id" in once else None,
        **_parse_producer_fields(once),
    )
    if magic == 0 and any(entry.timestamp is not None for entry in entries):
        raise Failure("timestamp= needs message format 1 or 2, this is --magic 0", Exit.USAGE)
    asked.narrow_versions(api(PRODUCE).versions)
    return asked, rest


class _RecordSources(NamedTuple):
    """Where records outside the words come from (files by name, standard input), and how their lines are read."""

    contents: Contents
    stdin: Callable[[], bool]
    lines: LineOptions


def _read_records_to_produce(
    words: Sequence[RecordWord], rest: Sequence[str], sources: _RecordSources, now_ms: int
) -> tuple[list[ProduceRecord], list[str]]:
    """The records (of words, of {…} as they stand, of one @FILE or of standard input), and the words left over."""
    files = [word for word in rest if word == "-" or word.startswith("@")]
    objects = [word for word in rest if word.startswith("{")]
    left = [word for word in rest if word not in files and word not in objects]
    content = [word for word in words if word.name not in ("partition", "timestamp")]
    if not content and not objects and not files and sources.stdin():
        files = ["-"]
    if len(files) > 1 or bool(content) + bool(objects) + bool(files) > 1:
        what = files[-1] if files else objects[-1]
        raise Failure(f"records come from words, from objects or from one file: leave {what} out", Exit.USAGE)
    if not files and sources.lines != LineOptions():
        option = "--lines is" if sources.lines.plain else "-K is"
        raise Failure(f"{option} for records that come as lines: from @FILE or standard input", Exit.USAGE)
    if content or not (files or objects):
        if not words:
            raise Failure(
                "no record: give value=… (value:=null is a tombstone), or a value a line by @FILE or a pipe", Exit.USAGE
            )
        return parse_record_words(words, sources.contents, now_ms), left
    if files:
        name = files[0].removeprefix("@")
        source = STDIN if name == "-" else name
        entries = parse_record_lines(sources.contents(name), source, now_ms, sources.lines)
    else:
        source = "the words"
        entries = parse_json_record_lines("\n".join(objects).encode("utf-8", "surrogateescape"), "record", now_ms)
    if not entries:
        raise Failure(
            f"no record in {source}: give value=… (value:=null is a tombstone), or a value a line", Exit.USAGE
        )
    if words:
        # partition= and timestamp= hold for all of these records.
        (model,) = parse_record_words([*words, RecordWord("value", "")], sources.contents, now_ms)
        entries = [
            ProduceRecord(
                entry.key,
                entry.value,
                entry.headers,
                model.timestamp if entry.timestamp is None else entry.timestamp,
                model.partition if entry.partition is None else entry.partition,
            )
            for entry in entries
        ]
    return entries, left


def _parse_producer_fields(words_by_name: dict[str, RecordWord]) -> dict[str, int | None]:
    """Producer id, epoch and base sequence; epoch and sequence are 0 unless given."""
    if "producer_id" not in words_by_name:
        for name in ("producer_epoch", "base_sequence", "transactional_id"):
            if name in words_by_name:
                raise Failure(f"{name}= needs producer_id= (kw call InitProducerId gives one)", Exit.USAGE)
        return {}
    return {
        name: read_word_as_number(words_by_name[name], largest, smallest=-1) if name in words_by_name else 0
        for name, largest in _LIMITS.items()
    }
