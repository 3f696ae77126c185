"""The command line of `kw call` in, an exit code out; everything that needs no broker is checked before the run."""

from __future__ import annotations

import io
import os
import select
import stat
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from decoders.apis import NAMES
from decoders.exchanges.topic_arrays import RECORD_ARRAYS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH
from decoders.protocol_facts.request_routing import route_of_api
from decoders.schema.api_declaration import NONE, Api, Message, Side, Versions
from kwcli.calling.choose_request_version import VersionChoice, find_versions_of_release
from kwcli.calling.read_bodies import STDIN, SourceBody, extract_body_of_document, parse_json_or_yaml, read_all_stdin
from kwcli.calling.request_builder import RequestDraft
from kwcli.calling.words import SHORT_WORDS
from kwcli.calling.words.path_value_words import parse_body_words
from kwcli.names_in_any_spelling import find_api
from kwcli.net.connection_options import add_schema_registry_to_settings, read_client_config
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.calling.print_exchanges import CallOutput
    from kwcli.calling.records.print_records import RecordValueWriter
    from kwcli.calling.words.short_request_words import ShortRequest
    from kwcli.net.config.client_config import ConnectionOptions
    from kwcli.options import ContentOptions
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

# The options that go with short words.
RECORD_OPTIONS: Final = ("compression", "acks", "magic", "lines", "key_separator", "values")
# Between two requests of --repeat.
INTERVAL_S: Final = 1.0
INT16_MAX: Final = 32767


class CallOptions(NamedTuple):
    """The words and options of `kw call`."""

    api: str
    words: Sequence[str] = ()
    version: str | None = None
    release: str | None = None
    force: bool = False
    node: str | None = None
    split: bool = False
    example: bool = False
    skeleton: bool = False
    edit: bool = False
    dry_run: bool = False
    raw_body: str | None = None
    only: Side | None = None
    select: str | None = None
    repeat: int = 1
    interval_s: float | None = None
    compression: str | None = None
    acks: str | None = None
    magic: int | None = None
    lines: bool = False
    key_separator: str | None = None
    values: bool = False
    against: str | None = None
    schema: str | None = None


def run_call(
    env: Environment, asked: CallOptions, settings: Settings, content: ContentOptions, connection: ConnectionOptions
) -> Exit:
    """Run `kw call` with these options. Raises Failure."""
    raw = asked.raw_body is not None
    found = build_unknown_api(asked) if raw and _is_unknown_api_key(asked.api) else find_api(asked.api)
    if settings.values is None and found.key in RECORD_ARRAYS:  # a fetch shows records without --records too
        settings = settings._replace(values=content.make_value_reader(env, wanted=True))
    choice = VersionChoice.from_options(found, asked.version, asked.release, force=asked.force, raw=raw)
    if asked.dry_run and asked.node is not None:
        from kwcli.calling.request_destinations import NodeTarget

        NodeTarget.parse(asked.node)  # a wrong --node is reported although no node is asked
    draft = _make_request_draft(env, asked, found, settings, connection)
    if draft.is_empty and (asked.values or asked.key_separator is not None):
        raise Failure("topic= is missing: --values and -K are for records of a topic", Exit.USAGE)
    if asked.skeleton:
        from kwcli.calling.show_unsent_request import print_request_skeleton

        return print_request_skeleton(env, found, draft, choice)
    if asked.edit:
        from kwcli.calling.show_unsent_request import edit_request_draft

        draft = edit_request_draft(env, found, draft, choice)
    if draft.is_empty and route_of_api(found.key).mutates and not asked.example:
        from kwcli.calling.show_unsent_request import refuse_empty_request

        return refuse_empty_request(env, found, draft, choice)
    from kwcli.calling.print_exchanges import CallOutput

    if asked.against is not None:
        settings = _make_comparison_settings(asked.against, found, settings)
    select = None
    if asked.select is not None:
        from kwcli.calling.words.resolve_body_paths import SelectPath

        select = SelectPath.parse(asked.select, found, asked.only or "response")
    values: RecordValueWriter | None = None
    if asked.values or (asked.key_separator is not None and found.key == FETCH):
        values = _make_record_value_writer(env, asked, settings, follow=draft.has_short_words)
    elif _are_records_wanted(asked, draft, settings):
        from kwcli.calling.print_exchanges import write_to_stdout
        from kwcli.calling.records.print_records import RecordLineWriter
        from kwcli.output.short_texts import find_zone, palette

        zone = find_zone(settings.zone)
        values = RecordLineWriter(partial(write_to_stdout, env), zone, palette(settings.color))
    output = CallOutput(
        env,
        settings,
        only=asked.only,
        select=select,
        sent=not asked.dry_run,
        against=asked.against,
        brief=asked.repeat != 1 and asked.only is None,
        values=values,
    )
    if asked.dry_run:
        from kwcli.calling.show_unsent_request import show_unsent_request

        config = read_client_config(env, connection)
        draft.controllers = config.controllers
        return show_unsent_request(env, draft, choice, output, settings, config.client_id)
    return _run_call_plan(env, asked, found, choice, draft, output, settings, connection)


def _run_call_plan(
    env: Environment,
    asked: CallOptions,
    found: Api,
    choice: VersionChoice,
    draft: RequestDraft,
    output: CallOutput,
    settings: Settings,
    connection: ConnectionOptions,
) -> Exit:
    from kwcli.calling.request_destinations import NodeTarget
    from kwcli.calling.run_call import CallPlan, CallRun

    target = None if asked.node is None else NodeTarget.parse(asked.node)
    plan = CallPlan(found, draft, choice, target, asked.split, asked.repeat, asked.interval_s or INTERVAL_S)
    config = read_client_config(env, connection, verbose=settings.verbose)
    draft.controllers = config.controllers
    add_schema_registry_to_settings(env, settings, config.registry)
    run = CallRun(env, config, plan, output, settings)
    try:
        return run.run()
    finally:
        output.finish_output()
        if run.ping is not None and not settings.quiet:
            env.report(run.ping.format_summary_line())


def _make_comparison_settings(release: str, found: Api, settings: Settings) -> Settings:
    """The settings of a comparison with a release, which is a table of ApiVersions. Raises Failure (usage)."""
    if found.key != API_VERSIONS or settings.format not in ("text", "ndjson", "table"):
        raise Failure("--against compares what brokers offer: kw call ApiVersions -o table --against 3.9", Exit.USAGE)
    find_versions_of_release(found, release)
    return settings._replace(format="table")


def _make_record_value_writer(
    env: Environment, asked: CallOptions, settings: Settings, *, follow: bool
) -> RecordValueWriter:
    """The writer of a fetch's records alone. Raises Failure (usage)."""
    from kwcli.calling.print_exchanges import write_to_stdout
    from kwcli.calling.records.parse_record_lines import parse_key_separator
    from kwcli.calling.records.print_records import FORMATS, RecordValueWriter

    if settings.format not in FORMATS:
        raise Failure(f"--values has the formats {', '.join(FORMATS)}, not {settings.format}", Exit.USAGE)
    separator = None if asked.key_separator is None else parse_key_separator(asked.key_separator)
    return RecordValueWriter(partial(write_to_stdout, env), settings.format, separator, follow=follow)


def _are_records_wanted(asked: CallOptions, draft: RequestDraft, settings: Settings) -> bool:
    """Whether a fetch by short words is to show its records: in text, unless a part, bytes or all fields are wanted."""
    plain = settings.format == "text" and not settings.verbose and not settings.records
    whole = asked.only is None and asked.select is None and asked.repeat == 1 and not asked.dry_run
    return plain and whole and draft.has_short_words and draft.api.key == FETCH


def _is_unknown_api_key(word: str) -> bool:
    return word.isascii() and word.isdecimal() and int(word) not in NAMES


def build_unknown_api(asked: CallOptions) -> Api:
    """An API of which kw knows only the number, for a body that is given as bytes. Raises Failure (usage)."""
    key = int(asked.api)
    if key > INT16_MAX or asked.version is None or not asked.version.isdecimal() or not asked.force:
        raise Failure(f"kw does not know API {key}: sending it bytes takes --api-version and --force", Exit.USAGE)
    message = Message(f"UNKNOWN({key})", Versions(0, INT16_MAX), NONE, ())
    return Api(key, message.name, message.versions, NONE, message, message)


def _make_request_draft(
    env: Environment, asked: CallOptions, found: Api, settings: Settings, connection: ConnectionOptions
) -> RequestDraft:
    body: SourceBody | None = None
    given = {name: getattr(asked, name) for name in RECORD_OPTIONS}
    options = {name: value for name, value in given.items() if value is not None and value is not False}
    if asked.raw_body is not None:
        if asked.words or options:
            raise Failure("--raw-body is the whole body: leave out all path=value words", Exit.USAGE)
        return RequestDraft(found, parse_body_words(found, ()), raw=_parse_hex_body(asked.raw_body))
    if not asked.words and not asked.example and not asked.skeleton and not asked.edit:
        body = read_piped_body(env, found)
    if asked.example and asked.words:
        raise Failure("--example sends the example unchanged: leave out all path=value words", Exit.USAGE)
    words, short = asked.words, None
    if options or (words and found.key in SHORT_WORDS):
        from kwcli.calling.words.short_request_words import RecordOptions, parse_short_request

        short, words = parse_short_request(found.key, words, RecordOptions(**options), env)
    if asked.schema is not None:
        short = _encode_values_by_schema(env, asked.schema, short, settings, connection)
    return RequestDraft(found, parse_body_words(found, words, env=env, body=body), short=short)


def _encode_values_by_schema(
    env: Environment, name: str, short: ShortRequest | None, settings: Settings, connection: ConnectionOptions
) -> ShortRequest:
    """The records to produce, with values encoded by the schema that --schema names. Raises Failure."""
    from kwcli.calling.records.produce_request import ProduceToTopic

    if not isinstance(short, ProduceToTopic):
        raise Failure("--schema is for records to produce: kw call produce topic=… value:=…", Exit.USAGE)
    from kwcli.calling.records.encode_by_schema import encode_records_by_schema, find_named_schema

    assert settings.values is not None
    schema, message = find_named_schema(name, settings.values.store, env, connection)
    return replace(short, entries=encode_records_by_schema(short.entries, schema, message))


def _parse_hex_body(text: str) -> bytes:
    digits = "".join(text.removeprefix("0x").split())
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise Failure("--raw-body takes hex digits, two a byte", Exit.USAGE) from None


# The body on standard input


# The time that a program on the other end of a pipe needs to write its first bytes.
PATIENCE_MS: Final = 250


def read_piped_body(env: Environment, api: Api) -> SourceBody | None:
    """The body on standard input; None where there is none. Raises Failure for one that cannot be read.

    A script or cron may leave anything on standard input: a terminal, nothing, /dev/null, a pipe that stays silent, or
    the list that a `while read` loop is reading. So it is read only where the request has no words, and a silent pipe
    is given up after a moment; `-` always reads to the end.
    """
    if env.stdin_terminal or not _stdin_has_data(env):
        return None
    data = read_all_stdin(env)
    return extract_body_of_document(parse_json_or_yaml(data, STDIN), STDIN, api, "request") if data.strip() else None


def _stdin_has_data(env: Environment) -> bool:
    try:
        number = env.stdin.fileno()  # type: ignore[attr-defined]  # streams of memory have none
        kind = os.fstat(number).st_mode
    except (AttributeError, OSError, io.UnsupportedOperation):
        return isinstance(env.stdin, io.BytesIO)
    if stat.S_ISREG(kind):
        return True
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return False
    poll = select.poll()
    poll.register(number, select.POLLIN | select.POLLHUP)
    return any(events & (select.POLLIN | select.POLLHUP) for _, events in poll.poll(PATIENCE_MS))
