"""Records of magic 2 one field at a time: plain bytes in, rows (the fields of Record) out, or the exact DecodeError.

The slow and careful reader: oracle of `fast`, and its stand-in where a batch is unusual or broken. Checks are Kafka's
own (DefaultRecord.readFrom): a negative length of key or value is null, one of a header's key is an error, and a record
must end where its length says.
"""

from __future__ import annotations

from collections.abc import Iterator

from decoders.errors import LimitExceeded, Malformed, Truncated
from decoders.limits import HEADER_KEY_MAX, HEADERS_OF_RECORD_MAX
from decoders.records.model import Budget, Header, Row
from decoders.wire.text import in_bytes
from decoders.wire.varints import read_varint, read_varlong

_INT64 = 1 << 64


def int64(number: int) -> int:
    """The number as a Java long holds it: sums of hostile bases and deltas wrap."""
    return (number + (_INT64 >> 1)) % _INT64 - (_INT64 >> 1)


def rows(
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """`count` records from `at` on; raises at the first that cannot be read, and when they do not end at `stop`."""
    for index in range(count):
        start = at
        size, at = read_varint(data, at, stop)
        end = at + size
        if size < 0 or end > stop:
            raise Truncated(f"record {index} of {in_bytes(size)}, {stop - at} are left", offset=start)
        stamp, at = read_varlong(data, min(at + 1, end), end)  # after the attributes, a byte without use
        delta, at = read_varint(data, at, end)
        key, at = _sized(data, at, end)
        value, at = _sized(data, at, end)
        headers, at = _headers(data, at, end, budget)
        if at != end:
            raise Malformed(f"record {index} says {in_bytes(size)} and has {at - end + size}", offset=start)
        yield int64(base_offset + delta), int64(base_timestamp + stamp), key, value, headers, None
    if at != stop:
        raise Malformed(f"{in_bytes(stop - at)} after the last record", offset=at)


def _sized(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    start = at
    size, at = read_varint(data, at, end)
    if size < 0:
        return None, at
    if size > end - at:
        raise Truncated(f"{in_bytes(size)}, {end - at} are left in the record", offset=start)
    return data[at : at + size], at + size


def _headers(data: bytes, at: int, end: int, budget: Budget) -> tuple[tuple[Header, ...], int]:
    start = at
    count, at = read_varint(data, at, end)
    if count < 0 or count * 2 > end - at:
        raise Malformed(f"{count} headers in what is left, {in_bytes(end - at)}", offset=start)
    if count > budget.headers:
        raise LimitExceeded("too many headers for one exchange", offset=start)
    if count > HEADERS_OF_RECORD_MAX:
        raise LimitExceeded(f"a record of {count:,} headers", offset=start)
    budget.headers -= count
    out: list[Header] = []
    for _ in range(count):
        start = at
        key, at = _sized(data, at, end)
        if key is None:
            raise Malformed("a header without a key", offset=start)
        if len(key) > HEADER_KEY_MAX:
            raise LimitExceeded(f"a header with a key of {in_bytes(len(key))}", offset=start)
        value, at = _sized(data, at, end)
        out.append((key.decode("utf-8", "surrogateescape"), value))
    return tuple(out), at
