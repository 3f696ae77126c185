"""A topic in, its page of the handbook as Markdown out; a word in, the lines of the handbook that hold it out.

A page is the file of its name beside this module. Its first line is `# topic: description`. Some pages end with
lists that are taken from declarations: columns of tables, findings, dimensions and metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.analysis.dimension_and_metric_table import Metric
    from kwcli.pipeline.tables.table_columns import TableColumn

# The order of the list that `kw help` prints: commands first, then what several commands share, then the project.
TOPICS: Final = (
    *(
        "sniff",
        "browse",
        "stats",
        "clients",
        "groups",
        "transactions",
        "topics",
        "brokers",
        "trace",
        "doctor",
        "audit",
        "diff",
        "replay",
        "scrub",
        "call",
        "proxy",
        "mock",
        "faults",
        "as-kafka",
        "scripts",
        "control",
        "decode",
        "encode",
        "apis",
        "errors",
    ),
    *("playground", "pipeline", "report", "sql", "completion"),
    *(
        "other-tools",
        "filter",
        "columns",
        "record",
        "hex",
        "words",
        "produce-fetch",
        "values",
        "connect",
        "tls",
        "logins",
        "live",
        "request-log",
        "failures",
        "advisories",
        "telemetry",
    ),
    "options",
    *("exit-codes", "tables", "watch", "runbook", "spark", "library", "contributing", "changes"),
)
# Names of commands that have no page of their own → the page that tells of them.
ALIASES: Final = {
    "profile": "connect",
    "version": "options",
    "help": "options",
    "fields": "columns",
    "produce": "produce-fetch",
    "fetch": "produce-fetch",
    "compact": "watch",
    "protocol": "apis",
    "record-batch": "produce-fetch",
    "records": "produce-fetch",
    "avro": "values",
    "protobuf": "values",
    "schemas": "values",
    "python": "library",
    "auth": "connect",
    "sasl": "connect",
    "ssl": "connect",
    "exit": "exit-codes",
    "cve": "advisories",
}


class FoundLine(NamedTuple):
    """A line of the handbook: `number` counts from 1."""

    topic: str
    number: int
    line: str


def read_page(topic: str) -> str:
    """The page of a topic, one of TOPICS, as Markdown."""
    text = files(__package__).joinpath(f"{topic}.md").read_text("utf-8")
    more = _GENERATED_ENDS.get(topic)
    return text if more is None else text + more()


def describe_topic(topic: str) -> str:
    """The description of a topic: the words behind its name in the first line of its page."""
    return read_page(topic).partition("\n")[0].partition(": ")[2]


def search_pages(word: str) -> Iterator[FoundLine]:
    """The lines of all pages that hold `word`, in any case."""
    folded = word.casefold()
    for topic in TOPICS:
        for number, line in enumerate(read_page(topic).splitlines(), 1):
            if folded in line.casefold():
                yield FoundLine(topic, number, line.strip())


def _format_findings_as_markdown() -> str:
    """Markdown tables of the kinds of findings and of the thresholds of `kw doctor`."""
    from decoders.analysis.doctor.finding_kinds import FINDINGS
    from decoders.analysis.doctor.thresholds import THRESHOLDS

    lines = ["", "## Findings", "", "| id | severity | title | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{name}` | {kind.severity} | {kind.title} | {kind.meaning or 'what the error code means'} |"
        for name, kind in FINDINGS.items()
    ]
    lines += ["", "## Thresholds", "", "| name | default | unit | why |", "| --- | --- | --- | --- |"]
    lines += [f"| `{name}` | {row.default:g} | {row.unit} | {row.text} |" for name, row in THRESHOLDS.items()]
    return "\n".join(lines) + "\n"


def _format_advisories_as_markdown() -> str:
    """A Markdown table of the advisories that `kw audit --advisories` knows."""
    from decoders.protocol_facts.advisories import ADVISORIES, format_affected_releases

    lines = [
        "",
        "## Advisories",
        "",
        "| id | since | who | affected | fixed | effect |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in ADVISORIES:
        who = f"{each.library} ({', '.join(each.where)})"
        releases = f"{format_affected_releases(each)} | {', '.join(each.fixed) or 'not known'}"
        lines.append(f"| [{each.id}]({each.address}) | {each.published} | {who} | {releases} | {each.effect} |")
    doubts = {f"{each.id}: {why}" for each in ADVISORIES for _, _, why in each.doubtful}
    lines += [
        "",
        "Never more than `maybe`, in part or at all:",
        "",
        *(f"- {doubt}" for doubt in sorted(doubts, reverse=True)),
    ]
    return "\n".join(lines) + "\n"


def _format_table_columns_as_markdown() -> str:
    """A Markdown table of columns for each table of `kw pipeline`."""
    from kwcli.pipeline.tables.table_columns import ALL_TABLES, MEANINGS

    lines: list[str] = []
    for name, columns in ALL_TABLES.items():
        meaning = MEANINGS[name]
        lines += ["", f"## {name}", "", f"{meaning[0].upper()}{meaning[1:]}.", ""]
        lines += ["| column | type | null | meaning |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{each.name}` | `{each.type}` | {'yes' if each.null else 'no'} | {each.text}{_format_since(each)} |"
            for each in columns
        ]
    return "\n".join(lines) + "\n"


def _format_since(column: TableColumn) -> str:
    """For a column that was added later, the version that has it first, and its value in older files."""
    if column.since == 1:
        return ""
    return (
        f" (since version {column.since}; in older files {'null' if column.absent is None else f'`{column.absent}`'})"
    )


def _format_dimensions_and_metrics_as_markdown() -> str:
    """Markdown tables of the dimensions and the metrics of `kw stats`."""
    from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS, METRICS

    lines = ["", "## Dimensions", "", "| `--by` | meaning |", "| --- | --- |"]
    lines += [f"| `{name}` | {row.text} |" for name, row in DIMENSION_ROWS.items()]
    lines += ["", "## Metrics", "", "| `--metric` | unit | meaning | sorted by | as a field of filters |"]
    lines.append("| --- | --- | --- | --- | --- |")
    lines += [
        f"| `{name}` | {row.unit} | {row.text} | `{row.sort}` | {_format_metric_field(name, row)} |"
        for name, row in METRICS.items()
    ]
    return "\n".join(lines) + "\n"


def _format_metric_field(name: str, row: Metric) -> str:
    return "–" if row.of_records else f"`{row.field or name}`"


def _format_metric_fields_as_markdown() -> str:
    """A line with the fields of filters that are metrics of `kw stats`."""
    from decoders.analysis.dimension_and_metric_table import METRICS

    fields = ", ".join(_format_metric_field(name, row) for name, row in METRICS.items() if not row.of_records)
    return f"\nThe metrics of `kw stats` are fields too: {fields}.\n"


# Topic → what its page ends with, taken from declarations.
_GENERATED_ENDS: Final[dict[str, Callable[[], str]]] = {
    "tables": _format_table_columns_as_markdown,
    "doctor": _format_findings_as_markdown,
    "advisories": _format_advisories_as_markdown,
    "stats": _format_dimensions_and_metrics_as_markdown,
    "filter": _format_metric_fields_as_markdown,
}
