"""Options that commands share, and the values they are gathered in: captures, filters, contents, output."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from decoders.named_tuple import NamedTuple
from decoders.wire.suggest_similar_words import quote_words
from kwcli.capture_options import ROTATION_OPTIONS, CaptureOptions, Rotation
from kwcli.option_types import JOBS_MAX, Duration, MetricsAddress, PortList, RowCount, Seconds, TimeWord, WordList
from kwcli.output import COLUMN_FORMATS, RECORD_FORMATS, find_format_names
from kwcli.output.output_settings import Settings, choose_settings
from kwcli.run_environment import Environment, Exit, Failure, make_flag_callback

if TYPE_CHECKING:
    from decoders.filters import Filter
    from decoders.messages.decode_record_values import RecordValueReader

FORMATS: Final = find_format_names(frames=False)
# The formats of a command that shows frames: also the frames' bytes.
FRAME_FORMATS: Final = find_format_names()
# Other words for formats.
FORMAT_WORDS: Final = {
    "jsonl": "ndjson",
    "jsonlines": "ndjson",
    "ndjson": "ndjson",
    "yml": "yaml",
    "txt": "text",
    "markdown": "md",
}
# The variable that sets another default of -o, for the commands that have this format.
OUTPUT_VARIABLE: Final = "KW_OUTPUT"
# The property of a profile that sets another default of -o.
OUTPUT_PROPERTY: Final = "kw.output"
# Formats that have a line for each exchange, and no bodies.
WITHOUT_BODIES: Final = frozenset(find_format_names(bodies=False))
COLORS: Final = ("auto", "always", "never")
# The formats of a command that answers with rows.
ANSWER_FORMATS: Final = ("text", "table", "md", "ndjson", "json", "csv", "yaml", "fields")
# Those of a command that judges: also documents for programs that show the results of checks.
CHECK_FORMATS: Final = (*ANSWER_FORMATS, "sarif", "junit")
REVEALING: Final = "Show tokens, salts and config values instead of {redacted}."
NO_SUMMARY: Final = "No summary and no progress bar."
# Formats that have columns.
WITH_COLUMNS: Final = (*find_format_names(columns="chosen"), *COLUMN_FORMATS)
# The most processes that show rows by default: one process reads for all of them, so more gain nothing.
JOBS_DEFAULT: Final = 8
# The key in the click context's `meta` of the format that an option asks for.
ASKED: Final = "kwcli.format"

Command = TypeVar("Command", bound=Callable[..., Any])


class OutputFormat(click.Choice[str]):
    """One of the formats of a command; `jsonl` and its like are other words for them."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = FORMAT_WORDS.get(value.lower(), value.lower())
        return super().convert(word if word in self.choices else value, param, ctx)


class FilterOptions(NamedTuple):
    """Which exchanges are selected, and at most how many; `slower_than` is in milliseconds."""

    apis: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    expression: str | None = None
    errors: bool = False
    errors_all: bool = False
    slower_than: float | None = None
    clients: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    packets: tuple[str, ...] = ()  # this and `connections`: of commands that read captures
    connections: tuple[str, ...] = ()
    limit: int | None = None  # of commands that have --limit

    def build_filter(self, also: str = "") -> Filter | None:
        """The filter for these options and the expression `also`, all of which must hold; None for no condition.

        Raises Failure (usage).
        """
        if not also and self._replace(limit=None) == FilterOptions():
            return None  # so that most runs do not load the filter language
        from kwcli.filter_options import EVERY_ERROR, WENT_WRONG, build_filter, join_filters

        words = {
            "--api": self.apis,
            "--client-id": self.client_ids,
            "--topic": self.topics,
            "--group": self.groups,
            "--client": self.clients,
            "--packet": self.packets,
            "--connection": self.connections,
        }
        errors = EVERY_ERROR if self.errors_all else WENT_WRONG if self.errors else None
        found = join_filters(also, build_filter(self.expression, words, slower_than=self.slower_than, errors=errors))
        return None if found.passes_everything else found

    def filter_text(self) -> str:
        """The filter for these options as an expression, empty for no condition. Raises Failure (usage)."""
        found = self.build_filter()
        return "" if found is None else found.text


class ContentOptions(NamedTuple):
    """How much of the exchanges is shown: records, secrets, names of numbers; and where schemas of values are."""

    records: bool = False
    reveal_secrets: bool = False
    names: bool = False
    raw_values: bool = False
    schemas: tuple[str, ...] = ()

    def make_value_reader(self, env: Environment, *, wanted: bool) -> RecordValueReader | None:
        """The reader of keys and values, where these are decoded or schemas for it are named. Raises Failure."""
        if self.raw_values:
            if self.schemas:
                raise Failure("--schemas decodes values, and --raw-values does not: leave one out", Exit.USAGE)
            return None
        if not wanted and not self.schemas:
            return None
        from decoders.messages.decode_record_values import RecordValueReader

        reader = RecordValueReader()
        if self.schemas:
            from kwcli.reading.schema_files import add_schema_files

            add_schema_files(self.schemas, reader.store, env)
        return reader

    def make_settings_with_values(self, settings: Settings, env: Environment) -> Settings:
        """The settings, with what these options say. Raises Failure."""
        wanted = self.records
        if settings.columns and not wanted:
            from kwcli.output.renderers import columns_decode_values

            wanted = columns_decode_values(settings)
        settings = settings._replace(values=self.make_value_reader(env, wanted=wanted))
        return settings._replace(records=self.records, reveal_secrets=self.reveal_secrets, names=self.names)


class OutputOptions(NamedTuple):
    """How output is written."""

    output: str
    color: str
    verbose: int = 0
    quiet: bool = False
    fields: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    local: bool = False

    def make_settings(self, env: Environment, content: ContentOptions | None = None, *, live: bool = False) -> Settings:
        """The Settings for these options in this environment; unless `live`, paging is started. Raises Failure."""
        if content is not None and content.records and self.output in WITHOUT_BODIES:
            raise Failure(
                f"--records has no effect with -o {self.output}, which has no bodies: use -o text or json", Exit.USAGE
            )
        if self.fields and self.output != "fields":
            raise Failure(f"-e is for -o fields, not for -o {self.output}", Exit.USAGE)
        if self.marks and self.output != "fields":
            raise Failure(f"-E is for -o fields, not for -o {self.output}", Exit.USAGE)
        if self.columns and self.output not in WITH_COLUMNS:
            raise Failure(f"--columns is for {quote_words(WITH_COLUMNS)}, not for -o {self.output}", Exit.USAGE)
        found = choose_settings(env, output=self.output, color=self.color, live=live)._replace(
            verbose=self.verbose,
            quiet=self.quiet,
            columns=self.fields or self.columns,
            marks=self.marks,
            zone=self._zone_name(env) if self.local else "",
        )
        if content is not None:
            found = content.make_settings_with_values(found, env)
        if not live:
            env.start_paging()
        if self.output == "fields":
            from kwcli.output.fields import FieldSeparators

            FieldSeparators.parse_words(self.marks)
        return found

    def _zone_name(self, env: Environment) -> str:
        if self.output in RECORD_FORMATS:  # times of records are UTC
            raise Failure(f"--local has no effect with -o {self.output}, whose times are UTC", Exit.USAGE)
        from kwcli.output.short_texts import LOCAL, find_zone

        name = env.variables.get("TZ") or LOCAL
        find_zone(name)
        return name


def pass_options_as_value(name: str, make: Callable[..., object], names: Iterable[str]) -> Callable[[Command], Command]:
    """A decorator: the command gets the options `names` as one argument `name`, made of them by `make`."""
    own = tuple(names)

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run_command(*args: Any, **values: Any) -> Any:
            value = make(**{each: values.pop(each) for each in own if each in values})
            return command(*args, **{name: value}, **values)

        wrapped: Any = run_command
        result: Command = wrapped
        return result

    return decorate


def add_options(command: Command, *options: Callable[[Any], Any]) -> Command:
    """The command with these options, in this order."""
    decorated: Any = command
    for option in reversed(options):
        decorated = option(decorated)
    result: Command = decorated
    return result


def _flatten_comma_lists(
    _ctx: click.Context, _param: click.Parameter, values: tuple[tuple[Any, ...], ...]
) -> tuple[Any, ...]:
    """The callback of a repeatable option with comma lists: all values as one tuple."""
    return tuple(item for group in values for item in group)


def _choose_format(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    """The callback of -o: the format asked for, else that of $KW_OUTPUT or of the profile if this command has it."""
    if value is not None:
        if ctx.meta.get(ASKED) == "json" != value:
            raise click.UsageError(f"-J means -o json: leave out -o {value}", ctx)
        return value
    if ASKED in ctx.meta:
        return str(ctx.meta[ASKED])
    wanted, where = "", OUTPUT_VARIABLE
    if isinstance(ctx.obj, Environment):
        wanted = ctx.obj.variables.get(OUTPUT_VARIABLE, "")
        if not wanted:
            given = dict(ctx.params.get("properties") or ()).get(OUTPUT_PROPERTY)
            wanted, where = given or ctx.obj.profile_output(ctx.params.get("profile")), OUTPUT_PROPERTY
    wanted = FORMAT_WORDS.get(wanted.lower(), wanted.lower())
    assert isinstance(param.type, click.Choice)
    if wanted in param.type.choices:
        return wanted
    if wanted and wanted not in FORMATS:
        raise click.UsageError(f"{where}: {wanted!r} is no format; there are {', '.join(FORMATS)}", ctx)
    return "text"


def _make_format_callback(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """The callback of an eager option that asks for a format, where -o says nothing; json is the strongest."""

    def choose_format(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if value and ctx.meta.get(ASKED) != "json":
            ctx.meta[ASKED] = name
        return _flatten_comma_lists(ctx, param, value) if param.multiple else value

    return choose_format


def environment_flag_option(name: str, attribute: str, help: str) -> Callable[[Command], Command]:
    """A flag that sets an attribute of the Environment to True; the command does not get it as an argument."""
    return click.option(
        name, is_flag=True, is_eager=True, expose_value=False, callback=make_flag_callback(attribute), help=help
    )


def list_option(
    *names: str,
    type: click.ParamType[Any],
    metavar: str,
    help: str,
    asks: str | None = None,
) -> Callable[[Command], Command]:
    """An option with commas between its values that may be repeated; its value is one tuple.

    Where the option is given, the output format is `asks`, unless -o says another one.
    """
    return click.option(
        *names,
        multiple=True,
        type=type,
        metavar=metavar,
        callback=_flatten_comma_lists if asks is None else _make_format_callback(asks),
        is_eager=asks is not None,
        help=help,
    )


def words_option(*names: str, known: tuple[str, ...] = (), help: str, metavar: str) -> Callable[[Command], Command]:
    """A list option of words; completion offers the `known` words."""
    return list_option(*names, type=WordList(known), metavar=metavar, help=help)


debug_option: Final = environment_flag_option("--debug", "debug", "Show the traceback of a defect.")
# For commands that have the format csv.
csv_safe_option: Final = environment_flag_option(
    "--csv-safe", "csv_safe", "In csv, put an apostrophe before cells that look like formulas."
)
ports_option: Final = list_option(
    "--port",
    "ports",
    type=PortList(),
    metavar="PORT,...",
    help="Broker ports, 9092-9094 for a range (default: detect Kafka on any port).",
)

since_option: Final = click.option(
    "--since", type=TimeWord(), metavar="TIME", help="Only what began since TIME: 17:34, 5m."
)
until_option: Final = click.option("--until", type=TimeWord(), metavar="TIME", help="Only what began before TIME.")
keylog_option: Final = click.option(
    "--keylog",
    "keylogs",
    multiple=True,
    metavar="FILE",
    type=click.Path(readable=False),
    help="Decrypt TLS with this key log, followed while it grows (default: $SSLKEYLOGFILE; see: kw help tls).",
)


schemas_option: Final = click.option(
    "--schemas",
    "schemas",
    multiple=True,
    metavar="DIR|FILE",
    type=click.Path(readable=False),
    help="Schemas of keys and values: .avsc, .proto, .desc, .json files (see: kw help values).",
)

local_option: Final = click.option(
    "--local", is_flag=True, help="Show times in the zone of $TZ, or of this machine, not UTC."
)
no_pager_option: Final = environment_flag_option("--no-pager", "no_pager", "Do not page long output on a terminal.")
ascii_option: Final = environment_flag_option(
    "--ascii", "ascii", "Write signs and names in ASCII (default: where the locale has no UTF-8)."
)
fields_option: Final = list_option(
    "-e",
    "--field",
    "fields",
    type=WordList(),
    metavar="PATH,...",
    asks="fields",
    help="With -o fields: the paths to show, as topic, latency_ms or request.topics[].name.",
)
marks_option: Final = click.option(
    "-E",
    "--field-option",
    "marks",
    multiple=True,
    metavar="NAME=VALUE",
    help="With -o fields: header=y, separator=, quote=d and so on, as in tshark.",
)
columns_option: Final = words_option(
    "--columns",
    "columns",
    metavar="PATH,...",
    help="Columns of text, table and csv: fields as in -f, or any path of the record.",
)


def output_options(
    *,
    verbose: str | None = None,
    quiet: str | None = None,
    formats: Sequence[str] = FORMATS,
    columns: bool = False,
    times: bool = False,
) -> Callable[[Command], Command]:
    """The options of a command's output; the command gets them as `shown`: an OutputOptions.

    `verbose` and `quiet` are the help of -v and -q; None: there is no such option. `columns`: there is
    --columns; `times`: there is --local.
    """

    def decorate(command: Command) -> Command:
        return add_options(
            pass_options_as_value("shown", OutputOptions, OutputOptions._fields)(command),
            click.option(
                "-o",
                "--output",
                type=OutputFormat(formats),
                callback=_choose_format,
                help="Output format (default: kw.output, $KW_OUTPUT, else text).",
            ),
            *(
                [
                    click.option(
                        "-J",
                        "as_json",
                        is_flag=True,
                        is_eager=True,
                        expose_value=False,
                        callback=_make_format_callback("json"),
                        help="The same as -o json.",
                    )
                ]
                if "json" in formats
                else []
            ),
            *([fields_option, marks_option] if "fields" in formats else []),
            *([columns_option] if columns else []),
            *([local_option] if times else []),
            *([csv_safe_option] if "csv" in formats else []),
            click.option("--color", type=click.Choice(COLORS), default="auto", help="When to use colours."),
            ascii_option,
            no_pager_option,
            *([] if verbose is None else [click.option("-v", "--verbose", count=True, help=verbose)]),
            *([] if quiet is None else [click.option("-q", "--quiet", is_flag=True, help=quiet)]),
            debug_option,
        )

    return decorate


def make_config_files_option(text: str, name: str = "config_files") -> Callable[[Command], Command]:
    """The option -F/--command-config, files of client properties; `text` is its help."""
    return click.option(
        "-F",
        "--command-config",
        name,
        multiple=True,
        type=click.Path(readable=False),
        metavar="FILE",
        help=text,
    )


names_from_option: Final = click.option(
    "--names-from",
    metavar="FILE|HOST:PORT",
    help="Names of topics that the capture has only ids of: a capture, NDJSON of kw, or a broker to ask.",
)


def make_hosts_option(name: str = "hosts", callback: Any = None) -> Callable[[Command], Command]:
    """The option --hosts; `callback` makes its value of the name of the file."""
    return click.option(
        "--hosts",
        name,
        metavar="FILE",
        type=click.Path(readable=False),
        callback=callback,
        help="Names of addresses: like /etc/hosts, or JSON of kubectl get pods -o json or docker inspect.",
    )


interface_option: Final = click.option(
    "-i",
    "--interface",
    "interfaces",
    multiple=True,
    metavar="IFACE",
    help="Capture live on this interface (`any`: all interfaces); repeatable.",
)
on_option: Final = click.option(
    "--on",
    "commands",
    multiple=True,
    metavar="[NAME=]COMMAND",
    help="Read the capture that a command writes, say 'ssh HOST tcpdump -U -w - port 9092'; repeatable.",
)
restart_option: Final = click.option("--restart", is_flag=True, help="Start a command of --on again when it ends.")
bpf_option: Final = click.option("--bpf", metavar="EXPR", help="Kernel filter of a live capture, in tcpdump's syntax.")


def capture_options(command: Command, words: str = "[FILE...]") -> Command:
    """Files, standard input or an interface to read; the command gets them as `capture`: a CaptureOptions.

    `words`: what the usage line says of the words, where the last one is no file.
    """
    return add_options(
        pass_options_as_value(
            "capture", _make_capture_options, (*CaptureOptions._fields, "read_files", *ROTATION_OPTIONS)
        )(command),
        click.argument("files", nargs=-1, metavar=words, type=click.Path(readable=False)),
        click.option(
            "-r",
            "--read",
            "read_files",
            multiple=True,
            metavar="FILE",
            type=click.Path(readable=False),
            help="A capture to read, like FILE.",
        ),
        interface_option,
        on_option,
        click.option(
            "--merge-delay",
            type=Seconds(),
            metavar="TIME",
            help="Wait so long for earlier packets of other places (default: 1s).",
        ),
        restart_option,
        click.option(
            "--align-clocks", is_flag=True, help="Put packets of places right whose clocks differ; see kw help live."
        ),
        bpf_option,
        click.option(
            "-w",
            "--write",
            metavar="FILE.pcapng",
            type=click.Path(readable=False),
            help="Write the packets of a live capture; kw sniff FILE -w: the packets of the rows shown.",
        ),
        click.option("--follow", is_flag=True, help="Follow FILE as it grows, then the next files of its writer."),
        ports_option,
        keylog_option,
        make_hosts_option(),
        names_from_option,
        since_option,
        until_option,
        # Options of tcpdump and tshark for what kw does anyway: rows at once, packets whole.
        click.option("-l", "-U", "line_buffered", is_flag=True, hidden=True, expose_value=False),
        click.option("-s", "snaplen", hidden=True, expose_value=False),
    )


def cut_options(command: Command) -> Command:
    """Options for how packets are cut out of files; used after `capture_options`, whose CaptureOptions has them."""
    return add_options(
        command,
        click.option(
            "--whole-connections", is_flag=True, help="With FILE -w: write all packets of connections with a row."
        ),
        click.option("--with-keys", is_flag=True, help="With FILE -w: write TLS keys of these packets, too."),
    )


guess_option: Final = click.option(
    "--guess-requests",
    is_flag=True,
    help="Decode responses without requests in the capture if exactly one API version fits.",
)


def _choose_default_jobs() -> int:
    """The number of processes that show rows without --jobs."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, JOBS_DEFAULT)


def make_jobs_option(work: str) -> Callable[[Command], Command]:
    """The option --jobs of a command whose processes do this work."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1, max=JOBS_MAX),
        metavar="N",
        default=_choose_default_jobs,
        help=f"{work} with N processes (default: one per core, at most {JOBS_DEFAULT}).",
    )


# Used after `capture_options`, whose CaptureOptions has the value.
jobs_option: Final = make_jobs_option("Decode and print")


force_option: Final = click.option(
    "--force", is_flag=True, help="Replace an existing file that this command did not write."
)


ignore_option: Final = click.option(
    "--ignore",
    "ignore_path",
    metavar="FILE",
    type=click.Path(readable=False),
    help="Leave out the findings in this list: YAML rows {id, client_id, topic, reason, until}.",
)


def html_option(help: str) -> Callable[[Command], Command]:
    """The option --html, a file that a report is written to as one page."""
    return click.option("--html", "html_path", metavar="FILE", type=click.Path(readable=False), help=help)


def metrics_option(help: str) -> Callable[[Command], Command]:
    """The option --metrics, where a command serves Prometheus while it runs."""
    return click.option("--metrics", type=MetricsAddress(), metavar="[ADDRESS:]PORT", help=help)


def telemetry_options(command: Command) -> Command:
    """Options that send metrics and spans elsewhere; used after `capture_options`, whose CaptureOptions has them."""
    return add_options(
        command,
        metrics_option("While running, serve Prometheus on http://127.0.0.1:PORT/metrics, or at ADDRESS."),
        click.option(
            "--otlp",
            metavar="URL",
            help="Send spans and metrics to this OpenTelemetry collector: http://localhost:4318.",
        ),
    )


def _make_capture_options(
    files: tuple[str, ...] = (), read_files: tuple[str, ...] = (), **others: Any
) -> CaptureOptions:
    rotation = Rotation(*(others.pop(name, None) for name in ROTATION_OPTIONS))
    return CaptureOptions((*read_files, *files), rotation=rotation, **others)


def limit_option(help: str) -> Callable[[Command], Command]:
    """The option --limit, also spelled -n and -c as in other tools."""
    return click.option("-n", "-c", "--limit", type=RowCount(), metavar="N", help=help)


_packet_option: Final = click.option(
    "--packet",
    "packets",
    multiple=True,
    metavar="[FILE:]N[-M],...",
    help="Only exchanges with bytes in these packets, as Wireshark counts: 105, kafka.pcap07:105-109.",
)
_connection_option: Final = words_option(
    "--connection", "connections", metavar="N,...", help="Only these connections, by the numbers that kw gives them."
)


def filter_options(*, limit: str | None = None, captures: bool = True) -> Callable[[Command], Command]:
    """Options that select exchanges; the command gets them as `filters`: a FilterOptions.

    `limit` is the help of --limit; None: there is no --limit. `captures`: there are --packet and --connection.
    """
    lacking = {*([] if limit else ["limit"]), *([] if captures else ["packets", "connections"])}
    names = [name for name in FilterOptions._fields if name not in lacking]
    options = [
        words_option("--api", "apis", metavar="API,...", help="Only these APIs, by name or number."),
        words_option("--client-id", "client_ids", metavar="GLOB,...", help="Only clients whose id matches."),
        words_option("--client", "clients", metavar="NAME,...", help="Only these clients, by id or by address."),
        words_option("--topic", "topics", metavar="GLOB,...", help="Only exchanges about a topic that matches."),
        words_option("--group", "groups", metavar="GLOB,...", help="Only exchanges about a group that matches."),
        click.option(
            "-f",
            "-Y",
            "--filter",
            "expression",
            metavar="EXPR",
            help="Only exchanges that match EXPR, for example 'api == Fetch and latency > 100ms'.",
        ),
        click.option("--errors-all", is_flag=True, hidden=True),
        click.option(
            "--errors",
            is_flag=True,
            help="Only failures: error codes, undecodable, unanswered at close; `--errors all`: also error codes that"
            " the protocol expects.",
        ),
        click.option("--slower-than", type=Duration(), metavar="TIME", help="Only latencies above TIME, say 100ms."),
        *([_packet_option, _connection_option] if captures else []),
        *([] if limit is None else [limit_option(limit)]),
    ]

    def decorate(command: Command) -> Command:
        return add_options(pass_options_as_value("filters", FilterOptions, names)(command), *options)

    return decorate


def answer_options(
    *own: Callable[[Any], Any],
    verb: str = "counted",
    verbose: str | None = None,
    formats: Sequence[str] = ANSWER_FORMATS,
    times: bool = False,
    words: str = "[FILE...]",
) -> Callable[[Command], Command]:
    """All options of a command that answers from captures: `capture`, its `own`, `filters`, `shown`.

    `verb` says what is done with exchanges up to --limit; `words` is as in `capture_options`, the others are as in
    `output_options`.
    """

    def decorate(command: Command) -> Command:
        return add_options(
            command,
            partial(capture_options, words=words),
            *own,
            jobs_option,
            filter_options(limit=f"Stop reading after N exchanges {verb}."),
            output_options(verbose=verbose, quiet=NO_SUMMARY, formats=formats, times=times),
        )

    return decorate


def content_options(command: Command) -> Command:
    """Options for how much of the exchanges is shown; the command gets them as `content`: a ContentOptions."""
    return add_options(
        pass_options_as_value("content", ContentOptions, ContentOptions._fields)(command),
        click.option("--records", is_flag=True, help="Show every record, with key, value and headers."),
        click.option("--reveal-secrets", is_flag=True, help=REVEALING),
        click.option("--names", is_flag=True, help="Name numbers in JSON, YAML, fields: 1 is read_committed."),
        click.option("--raw-values", is_flag=True, help="Show keys and values of records as bytes alone."),
        schemas_option,
    )
