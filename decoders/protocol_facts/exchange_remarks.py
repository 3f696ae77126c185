"""The remarks that an exchange can carry: what the protocol forbids, or does not expect, and kw read all the same.

A remark is no failure: the exchange stays `complete`, its bodies and error codes count. Who finds one adds it
by `Exchange._add_remark`.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

__all__ = ["LZ4_REMARKS", "PAIRING_REMARKS", "REMARKS", "STRICT_REMARKS", "ExchangeRemark", "RemarkId", "make_remark"]

RemarkId = Literal[
    "null",
    "trailing",
    "varint",
    "tag_order",
    "tag_twice",
    "out_of_order",
    "wrong_id",
    "answered_twice",
    "lz4_linked",
    "lz4_checksum",
    "embedded",
    "other_version",
]
# Id → its meaning, as the handbook, the JSON Schema and completion have it.
REMARKS: Final[dict[RemarkId, str]] = {
    "null": "null in a field that may not be null in this version",
    "trailing": "bytes behind the last field of a side",
    "varint": "a varint with more bytes than its value needs",
    "tag_order": "tagged fields that are not in ascending order",
    "tag_twice": "the same tagged field twice in one structure",
    "out_of_order": "an answer that came after the answer to a later request of its connection",
    "wrong_id": "an answer with a correlation id that no open request of its connection has",
    "answered_twice": "a second answer to a request that had its answer, or one to a request that asked for none",
    "lz4_linked": "an LZ4 frame with linked blocks, which Kafka refuses",
    "lz4_checksum": "an LZ4 frame with a wrong content checksum, which Kafka does not look at",
    "embedded": "bytes that should hold another structure and do not",
    "other_version": "an answer in the layout of another version than the one asked for",
}
# The remarks for which `--strict` ends with exit code 3.
STRICT_REMARKS: Final[frozenset[str]] = frozenset({"null", "trailing", "wrong_id"})

# Those that pairing finds: all others are on what was read of a side, and are found again with each reading.
PAIRING_REMARKS: Final[frozenset[str]] = frozenset({"out_of_order", "wrong_id", "answered_twice"})

# Those on the records of a side, which are not read with its fields.
LZ4_REMARKS: Final[frozenset[str]] = frozenset({"lz4_linked", "lz4_checksum"})


class ExchangeRemark(TypedDict):
    """One row of the `remarks` key of the exchange record.

    `offset` counts bytes behind the size field of the side's frame, `path` is that of the field, empty where the remark
    is about no field of the body.
    """

    side: Literal["request", "response"]
    path: str
    offset: int
    id: RemarkId
    text: str


def make_remark(
    side: Literal["request", "response"], identity: RemarkId, text: str, *, path: str = "", offset: int
) -> ExchangeRemark:
    """A remark on a side."""
    return {"side": side, "path": path, "offset": offset, "id": identity, "text": text}
