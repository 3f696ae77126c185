"""Messages in, text, JSON or hex on standard output out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from decoders.messages.single_message_json import Told, make_concealer_of_message, message_json
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.decoding.find_messages import NamedMessage, explain_doubtful_response
from kwcli.output.write_values_in_any_format import VALUE_WRITERS, open_value_writer

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

ARROWS: Final = {"request": "→", "response": "←"}
# The most candidates that are listed; the others are hardly better than chance.
CANDIDATES: Final = 6


class MessageOutput:
    """Writes messages to standard output in one format; `close` must be called at the end."""

    def __init__(self, env: Environment, settings: Settings) -> None:
        self._env = env
        self._settings = settings
        self._options = settings.make_record_options()
        self._records = open_value_writer(settings, self._write) if settings.format in VALUE_WRITERS else None
        if self._records is None and settings.values is not None:
            from kwcli.output.format_decoded_values import make_text_options

            self._options = make_text_options(settings)
        self._explained: set[int] = set()

    @property
    def are_rows_records(self) -> bool:
        """Whether the rows of the format are records; else they are lines."""
        return self._records is not None

    def show_message(self, message: NamedMessage) -> Told:
        """Write one message; returns its record and failure, as `message_json` makes them."""
        told = message_json(message.alone, self._options)
        if message.alone.side == "response" and told.record["correlation_id"] is not None:
            doubt = explain_doubtful_response(told.record["correlation_id"])
            if doubt:
                told.record["doubtful"] = doubt
        form = self._settings.format
        if self._records is not None:
            record = dict(told.record)
            if message.candidates:
                record["candidates"] = _build_candidates_json(message)
            self._records.add(record)
        else:
            self._write_lines(
                chain(
                    self._format_message_as_hex(message, told)
                    if form == "hex"
                    else self._format_message_as_text(message, told),
                    ("",),
                )
            )
        return told

    def write_record(self, record: dict[str, Any]) -> None:
        """Write one record, in the formats whose rows are records."""
        assert self._records is not None
        self._records.add(record)

    def write_text_lines(self, lines: list[str]) -> None:
        """Write lines as they are."""
        self._write_lines(lines)

    def flush(self) -> None:
        """Flush standard output: a program that pipes lines in may wait for the answer to each."""
        self._env.stdout.flush()

    def close(self) -> None:
        """End the output of records, such as a JSON array, and flush standard output."""
        if self._records is not None:
            self._records.close()
        self._env.stdout.flush()
        if self._settings.values is not None and not self._settings.quiet:
            from kwcli.output.format_decoded_values import list_missing_schemas

            for line in list_missing_schemas(self._settings.values.missing):
                self._env.report(f"kw: {line}")

    def _write_lines(self, lines: Iterable[str]) -> None:
        from kwcli.output.body_printer import encode_lines

        for piece in encode_lines(lines):
            self._write(piece)

    def _write(self, data: bytes) -> None:
        self._env.stdout.write(data)

    def _format_message_as_text(self, message: NamedMessage, told: Told) -> Iterator[str]:
        from decoders.wire.format_and_escape_text import escape_text
        from kwcli.output.body_printer import BodyPrinter, format_scalar
        from kwcli.output.short_texts import palette

        settings = self._settings
        colors = palette(settings.color)
        yield from self._format_message_head(message, told)
        if settings.verbose and told.record["header"]:
            fields = " · ".join(f"{name} {format_scalar(value)}" for name, value in told.record["header"].items())
            yield f"  {colors.dim}{_cut_text(fields, settings.width, 2)}{colors.off}"
        body = BodyPrinter(settings.width, colors)
        yield from body.struct_lines(told.record["body"], told.plan, 1)
        if "trailing" in told.record:
            behind = f"bytes behind it: {format_scalar(told.record['trailing'])}"
            yield f"  {colors.bad}{_cut_text(behind, settings.width, 2)}{colors.off}"
        if told.failure is not None:
            failure = escape_text(format_decode_failure(message, told))
            yield f"  {colors.bad}{_cut_text('! ' + failure, settings.width, 2)}{colors.off}"
        yield from body.error_meaning_lines(self._explained)

    def _format_message_as_hex(self, message: NamedMessage, told: Told) -> Iterator[str]:
        from kwcli.output.hex import HexStyle, format_frame_as_hex
        from kwcli.output.short_texts import palette

        settings, alone = self._settings, message.alone
        colors, reveal = palette(settings.color), settings.reveal_secrets
        values = settings.values if settings.records else None
        conceal = make_concealer_of_message(alone)
        style = HexStyle(settings.width, colors, reveal, settings.verbose > 0, conceal, values=values)
        yield from self._format_message_head(message, told)
        yield from format_frame_as_hex(
            alone.frame,
            alone.side,
            alone.key,
            alone.version,
            style,
            missing=alone.missing,
            made_up=alone.shift,
        )

    def _format_message_head(self, message: NamedMessage, told: Told) -> Iterator[str]:
        """`→ Metadata 12 request · 62 B · correlation id 7 · client app`, and lines of what else the message may be."""
        from kwcli.output.body_printer import format_scalar
        from kwcli.output.short_texts import palette

        colors, width, alone = palette(self._settings.color), self._settings.width, message.alone
        record = told.record
        name = (
            message.candidates[0].kinds[0].name_with_versions
            if message.candidates
            else f"{record['api']} {record['api_version']}"
        )
        given = len(alone.frame) - alone.shift
        parts = [f"{name} {alone.side}", f"{given:,} B" + (" of the body" if alone.is_bare_body else "")]
        if record["correlation_id"] is not None:
            parts.append(f"correlation id {record['correlation_id']}")
        if record["client_id"] is not None:
            parts.append(f"client {format_scalar(record['client_id'])}")
        if "layout" in record:
            parts.append(f"layout of {record['layout']}")
        yield f"{colors.api}{ARROWS[alone.side]}{colors.off} {_cut_text(' · '.join(parts), width, 2)}"
        if "doubtful" in record:
            yield f"  {colors.bad}{_cut_text('doubtful: ' + record['doubtful'], width, 2)}{colors.off}"
        others = [kind.name_with_versions for kind in message.candidates[0].kinds[1:]] if message.candidates else []
        for label, names in (
            ("read the same by", others),
            ("less likely", [each.name_with_versions for each in message.candidates[1:CANDIDATES] if each.score > 0]),
        ):
            if names:
                yield f"  {colors.dim}{_cut_text(f'{label}: ' + ', '.join(names), width, 2)}{colors.off}"


def _cut_text(text: str, width: int | None, used: int) -> str:
    from kwcli.output.short_texts import cut

    return text if width is None else cut(text, max(width - used, 1))


def _build_candidates_json(message: NamedMessage) -> list[dict[str, Any]]:
    """What a message may be, best first; APIs of the same layout, which nothing tells apart, have the same rank."""
    out = []
    for rank, candidate in enumerate(message.candidates[:CANDIDATES], 1):
        for kind in candidate.kinds:
            name = kind.name_with_versions.rpartition(" ")[0]
            out.append(
                {"rank": rank, "api_key": kind.key, "api": name, "versions": [kind.versions.low, kind.versions.high]}
            )
    return out


def format_decode_failure(message: NamedMessage, told: Told) -> str:
    """`truncated at byte 36 in topics[0].name: string of 6 bytes, 4 are left`; bytes count from the first one given."""
    failure, alone = told.failure, message.alone
    assert failure is not None
    place = f" in {failure.path}" if failure.path else ""
    offset = failure.offset + (4 if alone.shift == 0 else 0)
    texts = [failure.text] if failure.text else []
    if alone.missing is not None:
        size = int.from_bytes(alone.frame[:4], "big")
        texts.append(f"the size field says {format_bytes(size)}, {len(alone.frame) - 4:,} are there")
    return f"{failure.reason} at byte {offset}{place}" + (f": {'; '.join(texts)}" if texts else "")
