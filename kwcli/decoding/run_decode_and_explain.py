"""Words, options and environment in, messages or explanations on standard output and an exit code out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from decoders.apis import NAMES, api
from decoders.frames.explain_strange_bytes import explain_bytes
from decoders.frames.explain_strange_numbers import (
    explain_number,
    explain_number_read_as_size,
    list_findings_about_log_line,
    parse_number,
)
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.limits import FRAME_MAX
from decoders.messages.guess_api import guess_request, guess_response
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.errors.error_names import LIBRDKAFKA_ERRORS
from decoders.protocol_facts.errors.find_errors_in_text import find_error_codes_in_line
from decoders.protocol_facts.errors.remedies import REMEDIES
from decoders.protocols.recognise_protocols import Finding
from kwcli.decoding.byte_notations import find_bytes_in_line
from kwcli.decoding.find_messages import MessageHints, NamedMessage, explain_doubtful_response, find_messages
from kwcli.decoding.read_inputs import InputBytes, gather_input_bytes
from kwcli.decoding.write_messages import MessageOutput, format_decode_failure
from kwcli.output.write_values_in_any_format import VALUE_WRITERS
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment


def run_decode(words: Sequence[str], env: Environment, settings: Settings, hints: MessageHints, form: str) -> Exit:
    """Decode and show all messages; failures are reported on standard error, and later messages are still shown."""
    screen = MessageOutput(env, settings)
    code = Exit.DONE
    try:
        for given in gather_input_bytes(words, env, form):
            code = _show_messages(given, screen, env, hints) or code
            screen.flush()
    except Failure as failure:
        raise Failure(failure.text + _hint_at_text(" ".join(words)), failure.code) from None
    finally:
        screen.close()
    return code


def _show_messages(input_bytes: InputBytes, output: MessageOutput, env: Environment, hints: MessageHints) -> Exit:
    """Show the messages of one run of bytes."""
    code = Exit.DONE
    try:
        if input_bytes.problem:
            raise Failure(f"{input_bytes.name}: {input_bytes.problem}")
        for message in find_messages(input_bytes, hints):
            told = output.show_message(message)
            if told.failure is not None:
                code = Exit.FAILURE
                env.report(f"kw: {_format_message_name(message)}: {format_decode_failure(message, told)}")
    except Failure as failure:
        code = failure.code
        env.report(f"kw: {failure.text}{_hint_at_text(input_bytes.text)}")
    return code


def _hint_at_text(text: str) -> str:
    """A hint for a number or a line of a log that was given as a message; empty for other text."""
    number = parse_number(text)
    found = list_findings_about_log_line(text) if number is None else explain_number(number)
    return f"; as a number: {found[0].text} (--explain says more)" if found else ""


def _format_message_name(message: NamedMessage) -> str:
    alone = message.alone
    name = api(alone.key).name if alone.key in NAMES else f"UNKNOWN({alone.key})"
    lead = f"{message.name}: " if message.name else ""
    return f"{lead}{name} {alone.version} {alone.side}"


def run_explain(words: Sequence[str], env: Environment, settings: Settings, form: str) -> Exit:
    """Explain bytes, numbers and lines of a log; the exit code is 1 when nothing is known of one of them."""
    screen = MessageOutput(env, settings if settings.format in VALUE_WRITERS else settings._replace(format="text"))
    code = Exit.DONE
    known = 0
    told: set[Finding] = set()
    try:
        for given, found in _explain_inputs(words, env, form):
            known += len(found)
            if not found and not given.problem:  # of a log, most lines say nothing
                code = Exit.FAILURE
                env.report(f"kw: {given.name or 'these bytes'}: no protocol or file that kw knows begins so")
            for finding in found:
                if finding in told:
                    continue
                told.add(finding)
                if screen.are_rows_records:
                    screen.write_record({"kind": "explanation", **finding._asdict()})
                else:
                    screen.write_text_lines(_format_finding_lines(finding, settings))
    finally:
        screen.close()
    if not known and not code:
        env.report(
            "kw: nothing recognised: give bytes, the number that was read as a size, or the line of a log; "
            "kw errors --grep WORD searches the error codes"
        )
    return code if known else Exit.FAILURE


def _format_finding_lines(finding: Finding, settings: Settings) -> list[str]:
    from kwcli.output.short_texts import palette

    colors = palette(settings.color)
    detail = f": {finding.detail}" if finding.detail else ""
    more = [finding.remedy, f"next: {finding.command}" if finding.command else ""]
    return [f"{colors.api}{finding.what}{colors.off}{detail}", *(f"  {line}" for line in more if line)]


def _explain_inputs(words: Sequence[str], env: Environment, form: str) -> Iterator[tuple[InputBytes, list[Finding]]]:
    """Each run of bytes, or text that stands for no bytes, with the findings about it."""
    runs = gather_input_bytes(words, env, form, any_text=form == "auto")
    first, second = next(runs, None), next(runs, None)
    for given in chain((run_decode for run_decode in (first, second) if run_decode is not None), runs):
        yield given, _explain_input(given, alone=second is None)


def _explain_input(given: InputBytes, *, alone: bool) -> list[Finding]:
    """Findings about a number as first bytes of a known kind, else about bytes or a log line, else about a size."""
    number = parse_number(given.text)
    found = explain_number(number) if number is not None else []
    if not found and given.problem:
        found = explain_log_line(given.text, alone=alone) or _explain_text_that_is_no_bytes(given.text)
    elif not found:
        found = _explain_bytes(given.data)
    return explain_number_read_as_size(number) if number is not None and not found else found


def explain_log_line(line: str, *, alone: bool) -> list[Finding]:
    """Findings about a line of a log: its numbers and words, else the error codes that it names, else bytes in it."""
    found = list_findings_about_log_line(line, alone=alone)
    if found:
        return found
    codes = find_error_codes_in_line(line)
    if codes:
        return [_explain_error_code(code) for code in codes]
    data = find_bytes_in_line(line)
    return [] if data is None else _explain_bytes(data)


def _explain_error_code(code: int) -> Finding:
    if code in LIBRDKAFKA_ERRORS:
        own = LIBRDKAFKA_ERRORS[code]
        return Finding(own.name, f"{own.meaning} (librdkafka's own error {code})", "", f"kw errors {own.name}")
    known = ERRORS[code]
    return Finding(known.name, f"error code {code}: {known.meaning}", REMEDIES.get(code, ""), f"kw errors {known.name}")


def _explain_text_that_is_no_bytes(text: str) -> list[Finding]:
    """Findings about text that stands for no bytes, without the finding that it is text."""
    return [
        found for found in explain_bytes(text.encode("utf-8", "surrogateescape")) if not found.what.endswith("text")
    ]


def _explain_bytes(data: bytes) -> list[Finding]:
    """Findings of the table about bytes, and the Kafka response that they may be."""
    found = explain_bytes(data)
    for sized in (True, False):
        frame = data if sized else with_size_field(data) if len(data) <= FRAME_MAX else b""
        if len(frame) < 8 or int.from_bytes(frame[:4], "big") != len(frame) - 4:
            continue
        responses = [each for each in guess_response(frame) if each.score > 0]
        if responses and not guess_request(frame):
            detail = f"{responses[0].name_with_versions}{'' if sized else ', without its size field'}"
            doubt = explain_doubtful_response(int.from_bytes(frame[4:8], "big", signed=True))
            response = Finding("Kafka response", detail + (f"; doubtful: {doubt}" if doubt else ""), "")
            return [*found, response] if doubt else [response, *found]
    return found
