"""The words of a question about records in (`orders/2@0`, `key == customer-3`), a test of offsets and records out.

A condition is an expression of the filter language, asked of each record alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from decoders.errors import FilterError
from decoders.filters.parse_expression import parse
from decoders.filters.record_questions import list_record_needles, make_record_test
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.filters.parse_expression import Filter
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.records.record_and_batch import Row
    from decoders.records.summarize_records import BatchHead

__all__ = [
    "AskedOffsets",
    "AskedProducer",
    "AskedRecords",
    "RecordCondition",
    "looks_like_asked_records",
    "parse_asked_records",
]

_OFFSETS: Final = re.compile(
    r"(?P<topic>[^\s@=<>~]+?)(?:/(?P<slash>\d{1,9})|\[(?P<bracket>\d{1,9})\])@(?P<first>\d{1,18})(?:-(?P<last>\d{1,18}))?"
)
_PRODUCER: Final = re.compile(r"pid\s*==?\s*(?P<id>\d{1,18})(?:/(?P<sequence>\d{1,9}))?")
# One "=" behind the name of a field, which the filter language writes with two.
_EQUALS: Final = re.compile(r"((?:^|\band\s|\bor\s|\bnot\s|[(!])\s*\w[\w.\[\]-]*)\s*=(?![=~])")
_FIELD: Final = re.compile(
    r"(not\s+|\(|!)*(keys?|values?|header|schema_id|value_format)\b\s*([.=!~<>]|in\b|like\b|is\b)"
)


# The most texts that batches are searched for.
_NEEDLES_MAX: Final = 8


class AskedOffsets(NamedTuple):
    """Offsets of one partition, from `first` to `last`; the topic by its name or its id."""

    topic: str
    partition: int
    first: int
    last: int


class AskedProducer(NamedTuple):
    """The records of one producer id, or the one with a sequence number (in each partition that has it)."""

    producer_id: int
    sequence: int | None


class RecordCondition:
    """A question about the content of a record."""

    def __init__(self, question: Filter) -> None:
        self.text = question.text
        self._question = question
        self._passes = make_record_test(question.node)
        needles = list_record_needles(question.node)
        self._needles = None if needles is None or len(needles) > _NEEDLES_MAX else needles

    def set_value_reader(self, reader: RecordValueReader | None) -> None:
        """Decode keys and values with the schemas of a run."""
        self._question.set_value_reader(reader)

    def may_match_batch(self, raw: bytes | None, head: BatchHead) -> bool:
        """Whether a record of a batch in these bytes may pass: False where a text is not there that each one has.

        To look for bytes takes a hundredth of the time of reading the records.
        """
        if self._needles is None or raw is None or head.at < 0 or head.codec != "none":
            return True
        at, stop = head.at, head.at + head.size
        return any(raw.find(needle, at, stop) >= 0 for needle in self._needles)

    def list_met(self, topic: str | None, records: Iterable[Row]) -> list[Row]:
        """The records that pass, of those of a topic."""
        passes = self._passes
        return [record for record in records if passes(topic, record)]


AskedRecords = AskedOffsets | AskedProducer | RecordCondition


def parse_asked_records(text: str) -> AskedRecords:
    """The records that a question asks for. Raises FilterError."""
    text = text.strip()
    offsets = _OFFSETS.fullmatch(text)
    if offsets is not None:
        first = int(offsets["first"])
        last = int(offsets["last"] or first)
        if last < first:
            raise FilterError(f"the offsets {first}-{last} end before they begin", offsets.start("first"))
        return AskedOffsets(offsets["topic"], int(offsets["slash"] or offsets["bracket"]), first, last)
    producer = _PRODUCER.fullmatch(text)
    if producer is not None:
        return AskedProducer(int(producer["id"]), None if producer["sequence"] is None else int(producer["sequence"]))
    if not looks_like_asked_records(text):
        raise FilterError(
            f'"{text}" names no record: TOPIC/PARTITION@OFFSET, key=…, header.NAME=…, value.FIELD=…, pid=…', 0
        )
    question = parse(_EQUALS.sub(r"\1 == ", text))
    others = [atom.name for atom in question.list_atoms() if not atom.reads_records]
    if others:
        raise FilterError(f"{others[0]} is no part of a record: give it with -f, beside this question", 0)
    return RecordCondition(question)


def looks_like_asked_records(word: str) -> bool:
    """Whether a word asks for records, rather than being the name of a file."""
    word = word.strip()
    return any((_OFFSETS.fullmatch(word), _PRODUCER.fullmatch(word), _FIELD.match(word)))
