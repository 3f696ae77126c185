"""Exchange records of Fetch in, the Kafka records in them out: one value a line, after its key if a separator is given.

A response begins with the batch that holds the requested offset. Records before that offset are left out, and so are
transaction markers. Secrets are hidden, as in the exchange record that the values come from.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.deferred_json import DeferredText
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.body_printer import format_scalar
from kwcli.output.format_decoded_values import format_decoded_field, read_decoded_value
from kwcli.output.short_texts import Palette, TimeZone, count_of
from kwcli.output.write_values_in_any_format import JsonWriter

# Output formats for records alone.
FORMATS: Final = ("text", "ndjson", "json")
_LISTED: Final = 5


class PartitionAnswer(NamedTuple):
    """The answer for one partition, and the requested offset."""

    name: str  # orders[0]
    number: int
    asked: int
    answer: Mapping[str, Any]


class Remark(NamedTuple):
    """A line for standard error; a `problem` is printed with -q too."""

    text: str
    problem: bool = False


class RecordValueWriter:
    """Writes the records of Fetch responses: values, or with `separator` pairs (in JSON {"key", "value"}).

    A response ends at the end of a log segment, or at a limit. With `follow`,
    take_further_offsets() says where to go on.
    """

    alone = True  # whether the rest of the exchange is left out

    def __init__(
        self, write: Callable[[bytes], None], form: str, separator: bytes | None, *, follow: bool = False
    ) -> None:
        self._write = write
        self._text = form == "text"
        self._separator = separator
        self._json = JsonWriter(write, lines=form == "ndjson")
        self._follow = follow
        self._further: dict[int, int] = {}
        self._ends: dict[str, int] = {}
        self._shown = 0
        self._empty: dict[str, None] = {}  # partitions without records

    def write_records(self, exchange_json: Mapping[str, Any]) -> Iterator[Remark]:
        """Write the records of an exchange record; yield messages about its partitions (errors, records left out)."""
        for part in _list_partition_answers(exchange_json):
            if part.answer["error_code"]:
                yield Remark(
                    f"{part.name}: {error_name(part.answer['error_code'])}{_format_offset_range(part.answer)}",
                    problem=True,
                )
                continue
            count, last = 0, part.asked - 1
            for batch in part.answer["records"] or ():
                if "error" in batch:
                    why = batch["error"]["text"]
                    yield Remark(f"{part.name}: the batch at offset {batch['base_offset']}: {why}", problem=True)
                for each in () if batch["control"] else batch.get("records", ()):
                    if each["offset"] >= part.asked:
                        self._write_record(part.name, each)
                        count += 1
                if batch.get("records_cut"):
                    cut = f"{count_of(batch['records_cut'], 'record')} of the batch at offset {batch['base_offset']}"
                    yield Remark(f"{part.name}: {cut} left out", problem=True)
                if not batch["truncated"]:
                    last = max(last, batch["last_offset"] or 0)
            self._shown += count
            # The end is the high watermark of the first response: a busy topic never ends.
            left = self._ends.setdefault(part.name, part.answer["high_watermark"]) - last - 1
            if left > 0 and self._follow and last >= part.asked:
                self._further[part.number] = last + 1
            elif left > 0:
                yield Remark(f"{part.name}: {count_of(count, 'record')}, and there are more: offset={last + 1} goes on")
            elif not count:
                self._empty[part.name] = None

    def take_further_offsets(self) -> dict[int, int]:
        """Partition → offset to go on from, for partitions with more records; each is returned once."""
        found, self._further = self._further, {}
        return found

    def finish_values(self) -> Iterator[Remark]:
        """End the JSON array; yield a message if there was no record at all."""
        if not self._text:
            self._json.close()
        if self._empty and not self._shown:
            names = list(self._empty)
            more = f" and {len(names) - _LISTED} more" if names[_LISTED:] else ""
            yield Remark(f"no record from that offset on in {', '.join(names[:_LISTED])}{more}")

    def _write_record(self, _partition_name: str, record: Mapping[str, Any]) -> None:
        if self._text:
            key = b"" if self._separator is None else _bytes_of_field(record, "key") + self._separator
            self._write(key + _bytes_of_field(record, "value") + b"\n")
        elif self._separator is None:
            self._json.add(_json_of_field(record, "value"))
        else:
            self._json.add({field: _json_of_field(record, field) for field in ("key", "value")})


class RecordLineWriter(RecordValueWriter):
    """Writes a line for each record of Fetch responses, for people: partition, offset, time, key, value, headers."""

    alone = False

    def __init__(self, write: Callable[[bytes], None], zone: TimeZone, colors: Palette) -> None:
        super().__init__(write, "text", None)
        self._zone = zone
        self._colors = colors

    def _write_record(self, partition_name: str, record: Mapping[str, Any]) -> None:
        dim, off = self._colors.dim, self._colors.off
        stamp = record["timestamp"] or 0
        time = f"{self._zone.local_time(stamp // 1000):%Y-%m-%d %H:%M:%S}.{stamp % 1000:03d}" if stamp > 0 else "–"
        key = "" if record["key"] is None else f"{format_decoded_field(record, 'key')} → "
        headers = "".join(f"  {format_scalar(row['key'])}={format_scalar(row['value'])}" for row in record["headers"])
        place = f"{dim}{escape_text(partition_name)} {record['offset']}  {time}{off}"
        line = f"  {place}  {key}{format_decoded_field(record, 'value')}{dim}{headers}{off}\n"
        self._write(line.encode("utf-8", "backslashreplace"))


def _list_partition_answers(record: Mapping[str, Any]) -> Iterator[PartitionAnswer]:
    """The partitions of a response, with topic names where those of topic ids are known."""
    request, response = record["request"], record["response"]
    if not isinstance(request, dict) or not isinstance(response, dict):
        return
    asked = {
        (_format_topic_of_row(topic), each["partition"]): each["fetch_offset"]
        for topic in request.get("topics", ())
        for each in topic["partitions"]
    }
    names = {identity: _format_topic_name(name) for identity, name in (record.get("topic_names") or {}).items()}
    for topic in response.get("responses", ()):
        place = _format_topic_of_row(topic)
        for each in topic.get("partitions", ()):
            index = each["partition_index"]
            yield PartitionAnswer(f"{names.get(place, place)}[{index}]", index, asked.get((place, index), 0), each)


def _format_topic_of_row(value: Mapping[str, Any]) -> str:
    return _format_topic_name(value["topic"] if "topic" in value else value["topic_id"])


def _format_topic_name(name: Any) -> str:
    """A name in JSON form as text."""
    return name if isinstance(name, str) else format_scalar(name)


def _format_offset_range(answer: Mapping[str, Any]) -> str:
    """` (there are 5 to 9)`: the offsets of a partition, where an answer tells them."""
    first, end = answer.get("log_start_offset", -1), answer["high_watermark"]
    return f" (there are {first} to {end - 1})" if 0 <= first < end else ""


def _json_of_field(record: Mapping[str, Any], field: str) -> Any:
    """The key or value of a record, decoded where its bytes do not say the same."""
    decoded = read_decoded_value(record, field)
    return record[field] if decoded is None else decoded["value"]


def _bytes_of_field(record: Mapping[str, Any], field: str) -> bytes:
    """The bytes of the key or value of a record, as JSON where it is decoded; empty for null."""
    decoded = read_decoded_value(record, field)
    return _convert_json_to_bytes(record[field]) if decoded is None else orjson.dumps(decoded["value"])


def _convert_json_to_bytes(value: Any) -> bytes:
    """The bytes of a key or a value; empty for null."""
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, DeferredText):
        return value.data
    if value.keys() == {"base64"}:
        return b64decode(value["base64"])
    return format_scalar(value).encode()
