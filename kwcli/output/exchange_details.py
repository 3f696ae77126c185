"""An exchange in, the indented lines below its own out: bodies (-v), headers too (-vv), records (--records)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.topic_arrays import batch_array, partitions_in
from decoders.messages.exchange_json import to_json_dict
from decoders.wire.deferred_json import Deferred, DeferredList
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.body_printer import (
    GAP,
    BodyPrinter,
    LongValues,
    clean_field_names,
    decode_failure_lines,
    find_message_plan,
    format_remark_lines,
    format_scalar,
)
from kwcli.output.format_decoded_values import put_decoded_texts_in_records
from kwcli.output.short_texts import Palette, cell_width, cut, format_ends_with_host_names, palette

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.build_body_json import Options
    from decoders.schema.api_declaration import Side
    from kwcli.output.output_settings import Settings

_AT_ONCE: Final = frozenset([str, dict, type(None)])
ARROWS: Final[dict[Side, str]] = {"request": "→", "response": "←"}


def exchange_detail_lines(
    exchange: Exchange, settings: Settings, options: Options, explained: set[int]
) -> Iterator[str]:
    """All lines below the line of an exchange. The meaning of an error code in `explained` is not printed again.

    `options`: those that `make_text_options` makes of the settings.
    """
    record = to_json_dict(exchange, options)
    if exchange.record is not None:
        record = put_decoded_texts_in_records(exchange, record, settings.values)
    colors = palette(settings.color)
    if settings.verbose == 0:
        yield from _record_lines(exchange, record, settings, colors)
        return
    body = BodyPrinter(settings.width, colors, record.get("topic_names"))
    for side, arrow in ARROWS.items():
        value = record[side]
        size = record[f"{side}_size"]
        if value is None and size is None:
            continue
        head, *more = _message_heading_lines(exchange, record, side, settings.verbose > 1)
        yield f"  {colors.api}{arrow}{colors.off} {head}"
        for line in more:
            yield f"    {line if settings.width is None else cut(line, settings.width - 4)}"
        if isinstance(value, dict):
            its = value if exchange.record is None else clean_field_names(value)
            yield from body.struct_lines(its, find_message_plan(exchange, side), 2)
        elif value is not None:
            yield f"    {format_scalar(value)}"
        for line in (*decode_failure_lines(record, side, colors), *format_remark_lines(record, side, colors)):
            yield f"    {line}"
    yield from body.error_meaning_lines(explained)
    yield ""


def _message_heading_lines(exchange: Exchange, record: dict[str, Any], side: Side, headers: bool) -> Iterator[str]:
    """`999 B · 1.234 ms`; with `headers` also a line of header fields, and one of addresses and packets."""
    size = record[f"{side}_size"]
    parts = ["size unknown" if size is None else f"{size:,} B"]
    if side == "response" and exchange.latency_ms is not None:
        parts.append(f"{exchange.latency_ms:.3f} ms")
    yield " · ".join(parts)
    if not headers:
        return
    fields = [f"correlation_id {format_scalar(exchange.correlation_id)}"]
    if side == "request":
        fields.insert(
            0, f"api_key {format_scalar(exchange.api_key)} · api_version {format_scalar(exchange.api_version)}"
        )
        fields.append(f"client_id {format_scalar(exchange.client_id)}")
    yield " · ".join(fields)
    client, broker = format_ends_with_host_names(exchange)
    way = f"{client} → {broker}" if side == "request" else f"{broker} → {client}"
    packets = record["packets"][side]
    if packets:
        way += f" · packet {packets[0]}" if packets[0] == packets[1] else f" · packets {packets[0]}–{packets[1]}"
    yield f"{way} · connection {exchange.connection}"


def _record_lines(exchange: Exchange, record: dict[str, Any], settings: Settings, colors: Palette) -> Iterator[str]:
    """One line for each record: `orders[0]@42  key  value  headers`."""
    array = batch_array(exchange.api_key)
    if array is None:
        return
    for topic, part in partitions_in(record[array.side], array):
        name = topic.get("name") or topic.get("topic")
        if name is None:
            name = record.get("topic_names", {}).get(topic.get("topic_id")) or topic.get("topic_id")
        for batch in part.get(array.records) or ():
            yield from _record_batch_lines(f"{format_scalar(name)}[{part.get(array.number)}]", batch, settings, colors)


def _record_batch_lines(place: str, batch: dict[str, Any], settings: Settings, colors: Palette) -> Iterator[str]:
    yield from _batch_error_lines(place, batch, colors)
    long = LongValues(settings.width, format_scalar)
    records = batch.get("records") or ()
    for one in records:
        head = f"  {place}@{one['offset']}"
        # A call, and a question about an abstract class, take as long as all the rest of a line.
        parts = [
            format_scalar(each) if each.__class__ in _AT_ONCE else _cut_value_to_cell(each, long)
            for each in (one["key"], one["value"])
        ]
        if one.get("headers"):
            parts.append(
                " ".join(
                    f"{format_scalar(each['key'])}={_cut_value_to_cell(each['value'], long)}" for each in one["headers"]
                )
            )
        if one.get("control_record"):
            parts.append(escape_text(str(one["control_record"])))
        text = GAP.join(parts)
        if settings.width is not None:
            text = cut(text, max(settings.width - cell_width(head) - len(GAP), 8))
        line = f"{colors.dim}{head}{colors.off}{GAP}{text}"
        if long.waiting:
            yield from long.restore_values(line)
        else:
            yield line
    beside = batch
    if isinstance(records, DeferredList):
        beside = records.fields_following_list()
        yield from _batch_error_lines(place, {**batch, **beside}, colors)
    if beside.get("records_cut"):
        yield f"  {place}{GAP}{beside['records_cut']:,} records more than kw shows of one exchange"


def _batch_error_lines(place: str, batch: dict[str, Any], colors: Palette) -> Iterator[str]:
    error = batch.get("error")
    if error:
        text = escape_text(f"{error['reason']}: {error['text']}")
        yield f"  {place}@{batch.get('base_offset')}{GAP}{colors.bad}{text}{colors.off}"


def _cut_value_to_cell(value: Any, long: LongValues) -> str:
    return long.put_mark_for_value(value) if isinstance(value, Deferred) else format_scalar(value)
