"""The index in, batches out that went elsewhere than they were made for (find_misrouted_batches.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from decoders.analysis.find_misrouted_batches import MisroutedBatch, SentBatch, find_misrouted_batches
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.record_traces.partition_tables import Write

__all__ = ["find_misrouted"]


class _Try(NamedTuple):
    """What a row needs of a try to write a batch besides the batch: its offset, and its evidence."""

    time: int
    first: int
    sender: int
    correlation: int
    packet: int
    packet_end: int


def find_misrouted(lives: LivesOfRecords) -> Iterator[Row]:
    """A row for each batch that was misrouted, in the order of time."""
    for misrouted in find_misrouted_batches(_iterate_sent_batches(lives)):
        yield _make_misrouted_row(lives, misrouted)


def _iterate_sent_batches(lives: LivesOfRecords) -> Iterator[SentBatch]:
    for (topic, number), several in lives.tables.items():
        for tables in several:
            write: Write
            for write in tables.writes:
                if write.producer >= 0 and write.sequence >= 0:
                    identity = write.producer, write.epoch, write.sequence, write.records, write.crc
                    source = _Try(
                        write.time, write.first, write.sender, write.correlation, write.packet, write.packet_end
                    )
                    yield SentBatch(write.time, topic, number, *identity, source)


def _explain_misrouted_batch(misrouted: MisroutedBatch) -> str:
    batch, (topic, number) = misrouted.batch, misrouted.rightful
    if misrouted.twin is None:
        return (
            f"sequence {batch.sequence} of producer id {batch.producer} does not follow here, and is missing in"
            f" {topic}/{number}"
        )
    why = f"the same batch (producer id {batch.producer}, sequence {batch.sequence}) went to {topic}/{number}"
    if misrouted.contested:
        return f"{why}, and the producer gave its sequence to another batch here"
    return f"{why}, and its sequence does not follow here" if misrouted.sure else why


def _make_misrouted_row(lives: LivesOfRecords, misrouted: MisroutedBatch) -> Row:
    batch, right = misrouted.batch, misrouted.rightful
    source: _Try = batch.source
    return {
        "topic": batch.topic,
        "partition": batch.partition,
        "offset": None if source.first < 0 else source.first,
        "records": batch.records,
        "rightful_topic": right[0],
        "rightful_partition": right[1],
        "client_id": lives.client_id_of(source.sender),
        "producer_id": batch.producer,
        "producer_epoch": batch.epoch,
        "sequence": batch.sequence,
        "time": lives.format_time(batch.time),
        "sure": misrouted.sure,
        "why": _explain_misrouted_batch(misrouted),
        "evidence": [lives.evidence_of(source)],
    }
