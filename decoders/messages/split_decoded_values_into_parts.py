"""The parts of batches in; the same out, with the fields of decoded keys and values at their bytes.

Headers, which may say what a value is, come after it, so the parts of one record are held until it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from decoders.messages.decode_record_values import describe_decoded_json
from decoders.schema.plan_walker import BytePart
from decoders.wire.format_and_escape_text import format_bytes

if TYPE_CHECKING:
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.records.record_and_batch import Header

__all__ = ["iterate_parts_with_decoded_values"]


def iterate_parts_with_decoded_values(
    parts: Iterable[BytePart], topic: str | None, data: bytes, reader: RecordValueReader
) -> Iterator[BytePart]:
    """The parts of the batches of a topic that is not internal; those of control records stay as they are."""
    held: list[BytePart] = []
    record, control = "", False
    for part in parts:
        if record and not part.path.startswith(record):
            yield from _split_record_into_decoded_parts(held, record, topic, data, reader)
            held, record = [], ""
        if part.path.endswith("].attributes") and isinstance(part.value, str):
            control = "control" in part.value
        if not record and not control and part.path.endswith((".key", ".value")):
            record = f"{part.path.rpartition('.')[0]}."
        if record:
            held.append(part)
        else:
            yield part
    yield from _split_record_into_decoded_parts(held, record, topic, data, reader)


def _split_record_into_decoded_parts(
    held: list[BytePart], record: str, topic: str | None, data: bytes, reader: RecordValueReader
) -> Iterator[BytePart]:
    """The parts of a record from its key on; `record` is their path up to the field."""
    headers = [*_read_headers(held, f"{record}headers[", data)]
    for part in held:
        field = part.path[len(record) :]
        # A compressed message of magic 0 or 1 has text for its value.
        plain = part.what == "value" and isinstance(part.value, bytes) and not part.secret
        if not plain or field not in ("key", "value"):
            yield part
            continue
        value = data[part.at : part.end]
        found = reader.decode(value, headers, topic, is_key=field == "key")
        if found is None or found.reading is None:
            yield part
            continue
        from decoders.values.split_values_into_byte_parts import split_value_into_parts

        inside = split_value_into_parts(value, found.reading, part.path)
        if not inside:
            yield part
            continue
        text = f"{format_bytes(len(value))}, {describe_decoded_json(found.to_json())}"
        yield BytePart(part.path, part.at, part.at, "value", text, part.kind, foreign=True)
        for each in inside:
            yield each._replace(at=each.at + part.at, end=each.end + part.at)


def _read_headers(held: list[BytePart], path: str, data: bytes) -> Iterator[Header]:
    name: str | None = None
    content: bytes | None = None
    for part in held:
        if not part.path.startswith(path):
            continue
        if part.path.endswith(".key"):
            if part.what == "size":
                if name is not None:
                    yield name, content
                name = content = None
            else:
                name = data[part.at : part.end].decode("utf-8", "replace")
        elif part.what == "value":
            content = data[part.at : part.end]
    if name is not None:
        yield name, content
