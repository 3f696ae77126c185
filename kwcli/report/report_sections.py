"""The tables of a report, for its text, Markdown and HTML forms, so that all three say the same.

One literal table says which rows, which columns, and how a value is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.analyses.csv_and_table_columns import format_topic_schemas
from kwcli.analyses.draw_transaction_page import (
    format_held_back_partitions,
    format_producer_id_and_epoch,
    format_transaction_age,
    format_transaction_state,
    format_written_partitions,
)
from kwcli.analyses.render_answer import format_software, format_value_on_one_line
from kwcli.report.build_report import Report, find_rows_at_path, format_report_time
from kwcli.stats.statistics_as_text import OTHERS, explain_row_of_others, format_packets, format_rate

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

Say = Callable[["Row"], str]
_VERDICTS: Final = 3
NOTHING: Final = "–"
# Columns up to this `drop_order` are shown even where all their cells are empty.
WEIGHTY: Final = 4


class ReportColumn(NamedTuple):
    """One column: the smaller `drop_order`, the longer it stays on a narrow terminal; `cut`: how far it may be cut."""

    title: str
    say: Say
    drop_order: int
    right: bool = True
    cut: int = 0
    bad: bool = False
    tag: bool = False


def select_rows_of_others(rows: Sequence[Row]) -> list[Row]:
    """The rows of all those that have no row of their own."""
    return [row for row in rows[-_VERDICTS:] if OTHERS in row]


def select_first_rows(rows: list[Row], most: int) -> list[Row]:
    """The first rows that are shown, and those of all others."""
    if len(rows) <= most:
        return rows
    return [*(row for row in rows[:most] if OTHERS not in row), *select_rows_of_others(rows)]


class ReportSection(NamedTuple):
    """One section. `path`: where its rows are in a report; `none`: the text in place of a table without rows.

    `found`: its rows are findings, of which `explain_finding` makes texts.
    """

    name: str
    title: str
    path: tuple[str, ...]
    columns: tuple[ReportColumn, ...]
    none: str
    notes: tuple[str, ...] = ()
    over_time: bool = False
    found: bool = False

    def find_rows(self, report: Report) -> list[Row] | None:
        """The rows of the section in a report; None where the report does not have them."""
        return find_rows_at_path(report, self.path)

    def select_informative_columns(self, rows: Sequence[Row]) -> list[ReportColumn]:
        """The columns of the section, without columns of little weight that are empty in all of these rows."""
        return [
            column
            for column in self.columns
            if column.drop_order <= WEIGHTY or any(column.say(row) != NOTHING for row in rows)
        ]

    def select_notes_on(self, rows: Sequence[Row]) -> list[str]:
        """The notes of the section that are about these rows."""
        found = [note for note in self.notes if note != WAITED or any(row["waited"] for row in rows)]
        others = select_rows_of_others(rows)
        if others and "verdict" not in others[0]:  # each row of verdicts says how many they are
            found.append(explain_row_of_others(f"{others[0][OTHERS]:,}", "row"))
        return found


def _make_name_cell(*names: str) -> Say:
    return lambda row: next((escape_text(str(row[name])) for name in names if row[name] is not None), NOTHING)


def _make_title_cell(say: Say) -> Say:
    """The text of a column that says what a row is about."""
    return lambda row: OTHERS if OTHERS in row else say(row)


def _make_key_column(name: str) -> ReportColumn:
    """The column that says what a row is about."""
    return ReportColumn(name, _make_title_cell(_make_name_cell(name)), 0, False, 14)


def _make_count_cell(name: str) -> Say:
    return lambda row: f"{row[name]:,}" if row[name] else NOTHING


def _make_bytes_cell(*names: str) -> Say:
    return lambda row: format_size(round(sum(row[name] or 0 for name in names)))


def _make_duration_cell(name: str) -> Say:
    return lambda row: format_latency(row[name])


def _make_share_cell(name: str) -> Say:
    return lambda row: NOTHING if not row[name] else format_percent(row[name])


def _format_error_share(row: Row) -> str:
    return format_percent(row["errors"] / row["count"]) if row["errors"] and row["count"] else NOTHING


def format_percent(share: float) -> str:
    """A share as text, `12.3%`; never 0 or 100 % where the share is only near to that."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def format_error_codes_and_counts(counts_by_code: dict[str, int]) -> str:
    """Names and how often each was found, `NONE ×3, …`."""
    return ", ".join(f"{name} ×{times:,}" for name, times in counts_by_code.items()) or NOTHING


def _make_whole_number_cell(name: str) -> Say:
    return lambda row: f"{round(row[name]):,}" if row[name] is not None else NOTHING


LATENCY: Final = (
    ReportColumn("count", _make_count_cell("count"), 1),
    ReportColumn("rate", lambda row: format_rate(row["rate"]), 8),
    ReportColumn("errors", _make_count_cell("errors"), 4, bad=True),
    ReportColumn("err%", _format_error_share, 9, bad=True),
    ReportColumn("waited", _make_count_cell("waited"), 7),
    ReportColumn("p50", _make_duration_cell("p50"), 2),
    ReportColumn("p90", _make_duration_cell("p90"), 7),
    ReportColumn("p99", _make_duration_cell("p99"), 1),
    ReportColumn("max", _make_duration_cell("max"), 3),
    ReportColumn("bytes", _make_bytes_cell("request_bytes", "response_bytes"), 9),
    ReportColumn("unanswered", _make_count_cell("unanswered"), 10),
    ReportColumn("undecoded", _make_count_cell("undecoded"), 11),
)
WAITED: Final = (
    "waited: fetches that came back empty after 0.9 × max_wait_ms or more (inferred to be long polls), JoinGroup and "
    "SyncGroup, which wait for the other members; not among the latencies."
)


SEVERAL: Final = "An exchange about several topics counts for each of them."


def _make_latency_section(name: str) -> ReportSection:
    return ReportSection(
        f"latency-{name}",
        f"Latency by {name}",
        ("latency", name),
        (_make_key_column(name), *LATENCY),
        "no exchanges",
        (WAITED, SEVERAL) if name == "topic" else (WAITED,),
        over_time=True,
    )


def _format_api_and_version(row: Row) -> str:
    return "SASL token" if row["api"] is None else f"{row['api']} {row['api_version']}"


def _format_client_id_or_address(row: Row) -> str:
    return escape_text(row["client_id"] or row["address"])


def _format_software(row: Row) -> str:
    return escape_text(format_software(row)) or NOTHING


def _format_software_name(row: Row) -> str:
    return escape_text(f"{row['software']} {row['software_version'] or ''}".strip()) if row["software"] else NOTHING


def format_versions(row: Row) -> str:
    """`Fetch 2,3 (serves 4-17), LeaderAndIsr 1 (gone)`: what a client uses, by API."""
    apis: dict[str, list[Row]] = {}
    for each in row["old"]:
        apis.setdefault(each["api"], []).append(each)
    return ", ".join(
        f"{api} {','.join(str(one['api_version']) for one in some)} ({_format_versions_served(some[0])})"
        for api, some in apis.items()
    )


def _format_versions_served(old: Row) -> str:
    return "gone" if old["serves"] is None else f"serves {old['serves'][0]}-{old['serves'][1]}"


def _make_time_cell(name: str) -> Say:
    return lambda row: format_report_time(row[name]) if row[name] else NOTHING


# Names in one cell.
_SHOWN: Final = 4


def _make_names_cell(name: str) -> Say:
    """The first names of a list, and how many more there are."""

    def format_names(row: Row) -> str:
        names = row[name]
        more = f" +{len(names) - _SHOWN:,}" if len(names) > _SHOWN else ""
        return ", ".join(map(escape_text, names[:_SHOWN])) + more or NOTHING

    return format_names


def _make_written_cell(name: str, say: Callable[[Any], str]) -> Say:
    return lambda row: say(row["written"][name]) if row["written"] else NOTHING


def _format_integer(value: Any) -> str:
    return f"{value:,}"


_PORTRAIT: Final = (
    ReportColumn("exchanges", _make_count_cell("count"), 3),
    ReportColumn("errors", _make_count_cell("errors"), 2, bad=True),
    ReportColumn("p50", _make_duration_cell("p50"), 7),
    ReportColumn("p99", _make_duration_cell("p99"), 4),
    ReportColumn("sent", _make_bytes_cell("request_bytes"), 8),
    ReportColumn("got", _make_bytes_cell("response_bytes"), 8),
)


def explain_finding(row: Row) -> list[tuple[str, str]]:
    """The details of a finding below its title, each a name and a text."""
    who = row.get("clients") or ()
    more = f" and {len(who) - _SHOWN:,} more" if len(who) > _SHOWN else ""
    said = [("who", ", ".join(map(escape_text, who[:_SHOWN])) + more)] if who else []
    if row["first"]:
        last = "" if row["last"] == row["first"] else f", last {format_report_time(row['last'], 23)[11:]}"
        said.append(("since", format_report_time(row["first"], 23) + last))
    if row.get("reasons"):
        said.append(("reasons", "; ".join(map(escape_text, row["reasons"][:_SHOWN]))))
    said += [(name, row[key]) for name, key in (("means", "meaning"), ("do", "remedy")) if row[key]]
    if "command" in row:
        return [*said, ("see", row["command"])]
    seen = [_format_evidence_place(each) for each in row["evidence"][:_SHOWN]]
    return said + ([("see", ", ".join(seen))] if seen else [])


def _format_evidence_place(evidence: Row) -> str:
    if evidence["packets"] is None:
        where = f"connection {evidence['connection']}"
        number = evidence["correlation_id"]
        return where if number is None else f"correlation id {number} of {where}"
    first, last = evidence["packets"]
    of = f" of {evidence['file']}" if evidence["file"] else ""
    return (f"packet {first}" if first == last else f"packets {first}–{last}") + of


FINDING: Final = (
    ReportColumn("severity", _make_name_cell("severity"), 0, False, bad=True),
    ReportColumn("finding", _make_name_cell("title"), 0, False, 30),
    ReportColumn("times", _make_count_cell("count"), 1),
    ReportColumn("since", _make_time_cell("first"), 3, False),
    ReportColumn("what to do", _make_name_cell("remedy"), 4, False, 30),
)


SECTIONS: Final[tuple[ReportSection, ...]] = (
    ReportSection("findings", "Findings", ("findings",), FINDING, "nothing is wrong", found=True),
    ReportSection(
        *("audit", "Clients on the target release", ("audit", "clients")),
        (
            ReportColumn("client", _make_title_cell(_make_name_cell("client_id")), 0, False, 14),
            ReportColumn("verdict", _make_name_cell("verdict"), 0, False, tag=True),
            ReportColumn("needs", lambda row: row["needs"] or NOTHING, 3, False),
            ReportColumn("software", _format_software, 4, False, 12),
            ReportColumn("address", _make_names_cell("addresses"), 7, False, 12),
            ReportColumn("why", _make_name_cell("why"), 1, False, 24),
        ),
        "no clients",
        ("needs: the first Kafka release whose Java client speaks what is served.",),
    ),
    ReportSection("security", "Security", ("security",), FINDING, "nothing about security", found=True),
    ReportSection(
        *("clients", "Clients", ("clients",)),
        (
            ReportColumn(
                "client",
                _make_title_cell(
                    lambda row: escape_text(row["client_id"] or format_value_on_one_line(row["addresses"]))
                ),
                0,
                False,
                14,
            ),
            ReportColumn("software", _format_software, 4, False, 12),
            ReportColumn("user", _make_names_cell("users"), 6, False, 10),
            ReportColumn("address", _make_names_cell("addresses"), 8, False, 12),
            *_PORTRAIT,
            ReportColumn("writes", _make_names_cell("writes"), 2, False, 12),
            ReportColumn("reads", _make_names_cell("reads"), 2, False, 12),
            ReportColumn("groups", _make_names_cell("groups"), 5, False, 12),
            ReportColumn("transactional ids", _make_names_cell("transactional_ids"), 9, False, 12),
        ),
        "no clients",
    ),
    ReportSection(
        *("groups", "Groups", ("groups",)),
        (
            _make_key_column("group"),
            ReportColumn("type", _make_name_cell("type"), 5, False),
            ReportColumn("state", _make_name_cell("state"), 3, False),
            ReportColumn("members", lambda row: f"{sum(each['present'] for each in row['members']):,}", 2),
            ReportColumn("rebalances", _make_count_cell("rebalances"), 1),
            ReportColumn("behind", _make_whole_number_cell("commit_lag"), 1),
            ReportColumn("coordinator", _make_name_cell("coordinator"), 6, False),
            ReportColumn("errors", _make_count_cell("errors"), 4, bad=True),
            ReportColumn("clients", _make_names_cell("clients"), 4, False, 12),
        ),
        "no groups",
        ("behind: high watermark less commit, of all partitions where both were seen.",),
    ),
    ReportSection(
        *("transactions", "Transactions", ("transactions",)),
        (
            _make_key_column("transactional_id"),
            ReportColumn("state", format_transaction_state, 0, False),
            ReportColumn("age", format_transaction_age, 2),
            ReportColumn("producer", format_producer_id_and_epoch, 4, False),
            ReportColumn(
                "holds", lambda row: escape_text(format_held_back_partitions(row)) or NOTHING, 1, False, 14, bad=True
            ),
            ReportColumn("opened by", _make_name_cell("client_id"), 3, False, 12),
            ReportColumn("partitions", format_written_partitions, 5, False, 12),
            ReportColumn("commits", _make_count_cell("commits"), 7),
            ReportColumn("aborts", _make_count_cell("aborts"), 6),
            ReportColumn(
                "end it", lambda row: escape_text(row["command"] or NOTHING) if row["holds"] else NOTHING, 8, False, 20
            ),
        ),
        "no transactions",
        ("holds: partitions whose last stable offset is at the first record of the transaction.",),
    ),
    ReportSection(
        *("topics-seen", "Topics", ("topics",)),
        (
            _make_key_column("topic"),
            ReportColumn("partitions", lambda row: f"{len(row['partitions']):,}" if row["partitions"] else NOTHING, 3),
            ReportColumn("written", _make_written_cell("records", _format_integer), 1),
            ReportColumn("bytes", _make_written_cell("bytes", format_size), 3),
            ReportColumn("rec/batch", _make_written_cell("records_per_batch", lambda value: f"{value:,.1f}"), 5),
            ReportColumn("codecs", _make_written_cell("codecs", format_error_codes_and_counts), 6, False),
            ReportColumn("errors", _make_count_cell("errors"), 4, bad=True),
            ReportColumn("p99", _make_duration_cell("p99"), 7),
            ReportColumn("writers", _make_names_cell("writes"), 2, False, 12),
            ReportColumn("readers", _make_names_cell("reads"), 2, False, 12),
            ReportColumn("administers", _make_names_cell("administers"), 8, False, 12),
            ReportColumn("groups", _make_names_cell("groups"), 7, False, 12),
            ReportColumn("schemas", lambda row: format_topic_schemas(row) or NOTHING, 8, False, 20),
        ),
        "no topics",
    ),
    ReportSection(
        *("brokers", "Brokers", ("brokers",)),
        (
            ReportColumn("node", _make_name_cell("node_id"), 0, False),
            _make_key_column("broker"),
            ReportColumn("rack", _make_name_cell("rack"), 6, False),
            ReportColumn("looks like", _make_name_cell("release"), 2, False),
            ReportColumn("controller", lambda row: "yes" if row["controller"] else NOTHING, 5, False),
            *_PORTRAIT,
        ),
        "no brokers",
    ),
    _make_latency_section("api"),
    _make_latency_section("client"),
    _make_latency_section("topic"),
    _make_latency_section("broker"),
    ReportSection(
        *("slowest", "Slowest exchanges", ("slowest",)),
        (
            ReportColumn("took", _make_duration_cell("latency_ms"), 0, bad=True),
            ReportColumn("request", _format_api_and_version, 0, False, 14),
            ReportColumn("client", lambda row: escape_text(row["client_id"] or row["client"]), 2, False, 12),
            ReportColumn("broker", _make_name_cell("broker"), 5, False),
            ReportColumn("time", lambda row: format_report_time(row["time"], 23), 3, False),
            ReportColumn("packets", lambda row: format_packets(row["packets"]), 4, False),
            ReportColumn(
                "capture",
                lambda row: escape_text((row.get("source_file") or NOTHING).rpartition("/")[2]),
                4,
                False,
                12,
            ),
            ReportColumn("sent", _make_bytes_cell("request_size"), 7),
            ReportColumn("got", _make_bytes_cell("response_size"), 7),
            ReportColumn("address", _make_name_cell("client"), 8, False),
        ),
        "no exchange has a latency",
        ("packets are counted in the capture, as Wireshark does.",),
    ),
    ReportSection(
        *("errors", "Errors", ("errors",)),
        (
            ReportColumn("error", _make_title_cell(_make_name_cell("error")), 0, False, 20, bad=True),
            _make_key_column("api"),
            ReportColumn("exchanges", _make_count_cell("exchanges"), 1),
            ReportColumn("of its API", _make_share_cell("share"), 3),
            ReportColumn("codes", _make_count_cell("codes"), 3),
        ),
        "no error codes",
    ),
    ReportSection(
        *("old-versions", "Clients that the target release turns away", ("old_versions", "old")),
        (
            ReportColumn("client", _format_client_id_or_address, 0, False, 14),
            ReportColumn("software", _format_software_name, 3, False, 12),
            ReportColumn("requests", _make_count_cell("count"), 2),
            ReportColumn("of", _make_count_cell("of"), 6),
            ReportColumn("asks", lambda row: "yes" if row["asks"] else "no", 7, False),
            ReportColumn("needs", lambda row: row["since"] or NOTHING, 3, False),
            ReportColumn("last seen", _make_time_cell("last"), 5, False),
            ReportColumn("first seen", _make_time_cell("first"), 8, False),
            ReportColumn("address", _make_name_cell("address"), 6, False),
            ReportColumn("no longer served", format_versions, 1, False, 24, bad=True),
        ),
        "all clients use versions that the release serves",
        (
            "needs: the first Kafka release whose clients speak versions that are served; –: the API itself is gone. "
            "asks: the client asks brokers for their versions, so it may be the brokers here that are old.",
        ),
    ),
    ReportSection(
        *("talkers", "Top talkers", ("talkers", "client")),
        (
            _make_key_column("client"),
            ReportColumn("bytes", _make_bytes_cell("bytes"), 0),
            ReportColumn("share", _make_share_cell("share"), 2),
            ReportColumn("sent", _make_bytes_cell("request_bytes"), 3),
            ReportColumn("got", _make_bytes_cell("response_bytes"), 3),
            ReportColumn("requests", _make_count_cell("count"), 4),
            ReportColumn("rate", lambda row: format_rate(row["rate"]), 5),
        ),
        "no traffic",
    ),
    ReportSection(
        *("topics", "Topics by bytes", ("talkers", "topic")),
        (
            _make_key_column("topic"),
            ReportColumn("bytes", _make_bytes_cell("bytes"), 0),
            ReportColumn("produced", _make_bytes_cell("produced_bytes"), 2),
            ReportColumn("fetched", _make_bytes_cell("fetched_bytes"), 2),
            ReportColumn("records in", _make_count_cell("produced_records"), 3),
            ReportColumn("records out", _make_count_cell("fetched_records"), 3),
        ),
        "no records",
    ),
    ReportSection(
        *("batches", "Record batches", ("batches",)),
        (
            _make_key_column("topic"),
            ReportColumn("api", _make_name_cell("api"), 0, False),
            ReportColumn("batches", _make_count_cell("batches"), 3),
            ReportColumn("rec/batch", _make_whole_number_cell("records_per_batch"), 1),
            ReportColumn("p50", _make_whole_number_cell("records_p50"), 7),
            ReportColumn("p99", _make_whole_number_cell("records_p99"), 7),
            ReportColumn("B/batch", _make_bytes_cell("bytes_per_batch"), 1),
            ReportColumn("p50", _make_bytes_cell("bytes_p50"), 5),
            ReportColumn("p99", _make_bytes_cell("bytes_p99"), 5),
            ReportColumn("max", _make_bytes_cell("bytes_max"), 6),
            ReportColumn("B/rec", _make_bytes_cell("bytes_per_record"), 4),
            ReportColumn("codecs", lambda row: format_error_codes_and_counts(row["codecs"]), 3, False, 12),
        ),
        "no record batches",
        ("Where a request has several batches of a partition, they count with their mean.",),
    ),
    *(
        ReportSection(
            *(f"throttling-{name}", f"Throttling by {name}", ("throttling", name)),
            (
                _make_key_column(name),
                ReportColumn("throttled", _make_count_cell("throttled"), 1),
                ReportColumn("share", _make_share_cell("share"), 3),
                ReportColumn("in all", _make_duration_cell("sum_ms"), 1),
                ReportColumn("p50", _make_duration_cell("p50_ms"), 4),
                ReportColumn("p99", _make_duration_cell("p99_ms"), 4),
                ReportColumn("max", _make_duration_cell("max_ms"), 2),
            ),
            "no response was throttled",
        )
        for name in ("client", "api")
    ),
    ReportSection(
        *("connections", "Connections by client", ("connections", "client")),
        (
            _make_key_column("client"),
            ReportColumn("connections", _make_count_cell("count"), 0),
            ReportColumn("exchanges", _make_count_cell("exchanges"), 3),
            ReportColumn("bytes", _make_bytes_cell("bytes"), 3),
            ReportColumn("packets", _make_count_cell("packets"), 6),
            ReportColumn("gaps", _make_count_cell("gaps"), 3, bad=True),
            ReportColumn(
                "missing", lambda row: format_size(row["missing"]) if row["missing"] else NOTHING, 2, bad=True
            ),
            ReportColumn("sent again", _make_count_cell("retransmissions"), 4),
        ),
        "no connections",
    ),
    ReportSection(
        *("foreign", "Connections that are not Kafka", ("connections", "not_kafka")),
        (
            ReportColumn("to", _make_name_cell("broker"), 0, False),
            ReportColumn("connections", _make_count_cell("count"), 0),
            ReportColumn(
                "what",
                lambda row: escape_text(row["detail"] or row["reason"] or "nothing was said"),
                1,
                False,
                20,
            ),
        ),
        "all connections are Kafka",
    ),
    ReportSection(
        *("skipped", "Bytes that are no exchange", ("skipped",)),
        (
            ReportColumn("reason", _make_name_cell("reason"), 0, False),
            ReportColumn("direction", _make_name_cell("direction"), 1, False),
            ReportColumn("runs", _make_count_cell("count"), 0),
            ReportColumn("bytes", _make_bytes_cell("size"), 0),
        ),
        "nothing was lost or skipped",
    ),
)


def format_section_title(section: ReportSection, report: Report) -> str:
    """The title of a section; a title about the target release names it."""
    held = report["audit"] or report["old_versions"] or {}
    return section.title.replace("the target release", f"Kafka {held.get('target')}")


def list_totals(report: Report) -> list[tuple[str, str]]:
    """The totals of a report, each a name and a text."""
    summary = report["summary"]
    count = summary["count"] or 0
    found = [("exchanges", f"{count:,}")]
    if summary["rate"]:
        found.append(("rate", format_rate(summary["rate"])))
    found += [(name, format_latency(summary[name])) for name in ("p50", "p99", "max") if summary[name] is not None]
    for name in ("errors", "unanswered", "undecoded"):
        if summary[name]:
            found.append((name, f"{summary[name]:,} ({format_percent(summary[name] / count)})"))
    found += [(name, f"{summary[name]:,}") for name in ("clients", "brokers", "topics", "connections") if summary[name]]
    others = (("not Kafka", "not_kafka"), ("waited by design", "waited"), ("throttled", "throttled"))
    found += [(name, f"{summary[key]:,}") for name, key in others if summary[key]]
    if count:
        found += [
            ("sent", format_size(summary["request_bytes"] or 0)),
            ("got", format_size(summary["response_bytes"] or 0)),
        ]
    return found
