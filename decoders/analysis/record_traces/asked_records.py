"""The words of a question about records in (`orders/2@0`, `key == customer-3`), a test of offsets and records out.

A condition is an expression of the filter language, asked of each record alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.record_traces.record_contents import BatchesWithoutFinds, read_record_rows
from decoders.errors import FilterError
from decoders.filters.parse_expression import parse
from decoders.filters.record_predicates import make_batch_test, make_record_test
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.filters.parse_expression import Filter
    from decoders.messages.decode_record_values import RecordValueReader
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
        # Whether a record of a plain batch may pass, by searching its bytes, and by what JSON in them has.
        self._search = make_batch_test(question.node, by_search=True)
        asks_json = any(hasattr(atom.row.get, "make_batch_prefilter") for atom in question.list_atoms())
        self._test = make_batch_test(question.node) if asks_json else None
        self._passed_over = BatchesWithoutFinds()

    def set_value_reader(self, reader: RecordValueReader | None) -> None:
        """Decode keys and values with the schemas of a run."""
        self._passed_over = BatchesWithoutFinds(self._question.set_value_reader(reader))

    def may_hold_asked(self, topic: str | None, records: Any, raw: bytes | None) -> bool:
        """Whether a records field may have records that pass, or markers of transactions: most have none."""
        return self._passed_over.may_have_matches(topic, records, raw, self._search, self._test)

    def list_passing_offsets(self, topic: str | None, records: Any, raw: bytes | None, head: BatchHead) -> list[int]:
        """The offsets, as a batch has them, of its records that pass."""
        plain = raw if head.at >= 0 and head.codec == "none" else None
        at, stop = head.at, head.at + head.size
        if plain is not None and self._search is not None and not self._search(plain, at, stop):
            return []
        passed_over, passes = self._passed_over, self._passes
        known_by = passed_over.identify_batch(topic, raw, head)
        if known_by in passed_over:
            return []
        found: list[int] = []
        if plain is None or self._test is None or self._test(plain, at, stop):
            found = [row[0] for row in read_record_rows(records, raw, head) if passes(topic, row)]
        if not found:
            passed_over.add(known_by)
        return found


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
