"""Bytes of a structure whose name is given in; its contents out, as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.embedded import FRAME, STRUCTURES, TYPE, VERSION, structure_plan_and_json
from decoders.errors import DecodeError
from decoders.messages.exchange_json import SCHEMA, with_number_words
from kwcli.decoding.read_inputs import gather_input_bytes
from kwcli.decoding.write_messages import MessageOutput
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Plan
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

__all__ = ["print_structures", "run_decode_as_structure"]

_AROUND = frozenset({TYPE, VERSION, FRAME})
# Module of a declaration → what the list of structures says of where they travel, where it does not say the module's
# name: these words are part of the output.
_WHERE: Final = {
    "broker_files_and_envelope_principals": "broker state files",
    "cluster_metadata_topic": "cluster metadata",
    "connect_worker_metadata_and_assignment": "connect protocol",
    "consumer_offsets_topic_consumer_groups": "consumer groups",
    "consumer_offsets_topic_share_groups": "share groups",
    "consumer_offsets_topic_streams_groups": "streams groups",
    "consumer_subscription_and_assignment": "consumer protocol",
    "remote_log_metadata_topic": "remote log",
    "share_group_state_topic": "share state",
    "transaction_state_topic": "transaction state",
}


def print_structures(env: Environment, settings: Settings) -> Exit:
    """Print the names of all structures, with where they travel."""
    from kwcli.output.short_texts import palette
    from kwcli.output.table import Column, draw_table

    screen = MessageOutput(env, settings)
    rows = [(name, _WHERE.get(row.module) or row.module.replace("_", " ")) for name, row in STRUCTURES.items()]
    if screen.are_rows_records:
        for name, where in rows:
            screen.write_record({"kind": "structure_name", "schema": SCHEMA, "name": name, "of": where})
    else:
        columns = [Column("structure", [name for name, _ in rows]), Column("of", [where for _, where in rows], drop=0)]
        screen.write_text_lines([*draw_table(columns, settings.width, palette(settings.color))])
    screen.close()
    return Exit.DONE


def run_decode_as_structure(
    words: Sequence[str], env: Environment, settings: Settings, structure_name: str, form: str
) -> Exit:
    """Decode and show bytes as this structure; unreadable ones are reported on standard error and skipped."""
    screen = MessageOutput(env, settings)
    code = Exit.DONE
    try:
        for given in gather_input_bytes(words, env, form):
            lead = f"{given.name}: " if given.name else ""
            try:
                if given.problem:
                    raise Failure(f"{lead}{given.problem}")
                plan, value = _decode_structure(structure_name, given.data, lead, reveal=settings.reveal_secrets)
            except Failure as failure:
                code = failure.code
                env.report(f"kw: {failure.text}")
                continue
            if screen.are_rows_records:
                record = {"kind": "structure", "schema": SCHEMA, "size": len(given.data), "value": value}
                screen.write_record(with_number_words(record) if settings.names else record)
            else:
                screen.write_text_lines([*_format_structure_lines(plan, value, len(given.data), settings), ""])
            screen.flush()
    finally:
        screen.close()
    return code


def _decode_structure(name: str, data: bytes, lead: str, *, reveal: bool) -> tuple[Plan, dict[str, Any]]:
    try:
        return structure_plan_and_json(name, data, reveal=reveal)
    except DecodeError as problem:
        place = f" in {problem.path}" if problem.path else ""
        at = "" if problem.offset is None else f" at byte {problem.offset}"
        raise Failure(f"{lead}{name}: {problem.reason}{at}{place}: {problem.text}") from None


def _format_structure_lines(plan: Plan, value: dict[str, Any], size: int, settings: Settings) -> Iterator[str]:
    from kwcli.output.body_printer import BodyPrinter
    from kwcli.output.short_texts import palette

    colors = palette(settings.color)
    frame = f" · frame version {value[FRAME]}" if FRAME in value else ""
    yield f"{colors.api}{value[TYPE]} {value[VERSION]}{colors.off} · {size:,} B{frame}"
    body = {key: inner for key, inner in value.items() if key not in _AROUND}
    yield from BodyPrinter(settings.width, colors).struct_lines(body, plan, 1)
