"""The values that the readers return, Batch and Record, and the Budget that bounds one exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from decoders.limits import BATCHES_MAX, EXCHANGE_INFLATED_MAX, RECORD_HEADERS_MAX, RECORDS_MAX, RECORDS_SHOWN_MAX
from decoders.named_tuple import NamedTuple

# More than any input has.
NO_END: Final = 1 << 62
Header = tuple[str, bytes | None]
# A record as the readers return it: the fields of `Record` in order.
Row = tuple[int, int | None, bytes | None, bytes | None, tuple[Header, ...], dict[str, Any] | None]
# A function that makes a list of Record, or of JSON-ready dicts, from the rows of a batch.
Form = Callable[[Iterator[Row]], list[Any]]


class Record(NamedTuple):
    """One record. `timestamp` is in ms since 1970 (None in magic 0), header keys are text by surrogateescape.

    `control_record` is set in control batches only: {"type", "version", "value"}.
    """

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    control_record: dict[str, Any] | None = None

    def _repr_html_(self) -> str:
        html: str = import_module("decoders.notebook_html").record_to_html(self)
        return html


@dataclass(slots=True)
class Batch:
    """A batch of magic 2, or an outer message of magic 0 or 1; fields that its magic lacks, or cut-off ones, are None.

    `size` counts its bytes on the wire, so the sizes of all batches of a buffer add up to its length. `crc` is "ok",
    "bad" or "unchecked". `error` is (reason, text) where the batch cannot be read: `crc`, `codec`, `limit` or
    `malformed`, which also stands for bytes that are no batch at all. `records` is None where records were not asked
    for; after a failure it holds the records before it. `records_cut` says how many records a limit left out.
    """

    base_offset: int | None = None
    last_offset: int | None = None
    magic: int | None = None
    codec: str | None = None
    timestamp_type: str | None = None
    base_timestamp: int | None = None
    max_timestamp: int | None = None
    partition_leader_epoch: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None
    transactional: bool | None = None
    control: bool | None = None
    delete_horizon_ms: int | None = None
    crc: str = "unchecked"
    record_count: int | None = None
    size: int = 0
    truncated: bool = False
    error: tuple[str, str] | None = None
    records: list[Record] | None = None
    records_cut: int = 0


class TooLarge(Exception):
    """The records would take more memory as Python values than is allowed; read them while the output is written."""


class Budget:
    """What one exchange may still cost: decompressed bytes, records, record headers and batches.

    `shown` is for the bytes of records that are read while they are written; `held` is for Python values, unlimited
    unless a caller sets it. When `held` is used up the readers raise TooLarge, or, if `deferring`, leave the records of
    that batch to be read later.
    """

    __slots__ = ("_whole", "batches", "deferring", "headers", "held", "inflated", "records", "shown")

    def __init__(
        self,
        inflated: int = EXCHANGE_INFLATED_MAX,
        records: int = RECORDS_MAX,
        headers: int = RECORD_HEADERS_MAX,
        batches: int = BATCHES_MAX,
    ) -> None:
        self._whole = (inflated, records, headers, batches, RECORDS_SHOWN_MAX)
        self.held = NO_END
        self.deferring = False
        self.refill()

    def refill(self) -> None:
        """Reset the budget for the next exchange."""
        self.inflated, self.records, self.headers, self.batches, self.shown = self._whole

    @property
    def remaining(self) -> tuple[int, int, int, int, int]:
        """The amounts that are left; set it back before the same records are read again."""
        return self.inflated, self.records, self.headers, self.batches, self.shown

    @remaining.setter
    def remaining(self, left: tuple[int, int, int, int, int]) -> None:
        self.inflated, self.records, self.headers, self.batches, self.shown = left


# The keys that every batch has in JSON.
ALWAYS: Final = tuple(Batch.__dataclass_fields__)[: list(Batch.__dataclass_fields__).index("error")]


def blank_batch_json(size: int) -> dict[str, Any]:
    """The JSON-ready dict of a batch of which only the size on the wire is known."""
    fields: dict[str, Any] = dict.fromkeys(ALWAYS)
    fields["crc"] = "unchecked"
    fields["size"] = size
    fields["truncated"] = False
    return fields


def set_batch_error(batch_json: dict[str, Any], reason: str, text: str) -> dict[str, Any]:
    """Set the `error` of a batch's JSON-ready dict; returns the dict."""
    batch_json["error"] = {"reason": reason, "text": text}
    return batch_json
