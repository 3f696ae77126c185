"""Statistics in, text for people out: one line a group, with its values over time, then the slowest exchanges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS, METRICS, PERCENTS
from decoders.analysis.time_slices import Join, add_amounts
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.output.short_texts import count_of as number_of
from kwcli.output.short_texts import palette
from kwcli.output.table import Column, draw_table

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.output.output_settings import Settings
    from kwcli.stats.render_statistics import StatsResult

MARKS: Final = "▁▂▃▄▅▆▇█"
SPARK_LEAST: Final = 10
OFFSET: Final = 6  # characters of `+01:00`
SPARK_MOST: Final = 48
# The least width that names are cut to, by the number of dimensions.
NAME_CUTS: Final = (20, 20, 14, 10, 8)
_NO_AGES: Final = (
    "no record whose Produce is here too was read by a consumer or covered by a commit; a filter that leaves out"
    " Produce or Fetch, such as --group, leaves no ages."
)
# The name of the row of all groups that have no row of their own.
OTHERS: Final = "others"
Cell = Callable[["Row"], str]


class StatsColumn(NamedTuple):
    """One column of numbers: the smaller `drop_order`, the longer it stays on a narrow terminal."""

    title: str
    cell: Cell
    drop_order: int
    bad: bool = False


def _make_count_cell(name: str) -> Cell:
    return lambda row: _format_number(row[name])


def _format_number(value: Any) -> str:
    return "–" if not value else f"{value:,}"


def _make_metric_cell(name: str) -> Cell:
    def cell(row: Row) -> str:
        value = row[name]
        if value is None:
            return "–"
        unit = row["unit"]
        return format_latency(value) if unit == "ms" else format_size(value) if unit == "bytes" else f"{value:,}"

    return cell


def _make_share_cell(part: str, whole: str) -> Cell:
    return lambda row: f"{row[part] / row[whole]:.1%}" if row[part] and row[whole] else "–"


def _make_average_cell(part: str, whole: str, show: Callable[[int], str]) -> Cell:
    return lambda row: show(round(row[part] / row[whole])) if row[whole] else "–"


def _format_rate(row: Row) -> str:
    return format_rate(row["rate"])


def _format_metric_rate(row: Row) -> str:
    """The sum of the metric per second, as text."""
    if not row["rate"] or not row["sum"]:
        return "–"
    rate = row["sum"] * row["rate"] / row["count"]
    return f"{format_size(round(rate))}/s" if row["unit"] == "bytes" else format_rate(rate)


def format_rate(rate: float | None) -> str:
    """A rate as text: `1,234/s`, `1.2/s`, `0.03/s`; `–` for None."""
    if rate is None:
        return "–"
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s" if rate >= 0.95 else f"{rate:.2g}/s"


def _format_codes(row: Row) -> str:
    return ", ".join(f"{name} ×{count:,}" for name, count in row["error_codes"].items()) or "–"


def _make_bytes_cell(*names: str) -> Cell:
    def add_sizes(row: Row) -> str:
        sizes = [row[name] for name in names]
        return "–" if None in sizes else format_size(sum(sizes))

    return add_sizes


# The columns that metrics name (decoders/analysis/dimension_and_metric_table.py).
TEXT_COLUMNS: Final[dict[str, StatsColumn]] = {
    "count": StatsColumn("count", _make_count_cell("count"), 1),
    "rate": StatsColumn("rate", _format_rate, 8),
    "errors": StatsColumn("errors", _make_count_cell("errors"), 4, bad=True),
    "share_of_errors": StatsColumn("share", _make_share_cell("errors", "count"), 3),
    "codes": StatsColumn("codes", _make_count_cell("sum"), 7),
    "unanswered": StatsColumn("unanswered", _make_count_cell("unanswered"), 10),
    "undecoded": StatsColumn("undecoded", _make_count_cell("undecoded"), 12),
    "waited": StatsColumn("waited", _make_count_cell("waited"), 5),
    "min": StatsColumn("min", _make_metric_cell("min"), 10),
    **{
        name: StatsColumn(name, _make_metric_cell(name), drop_order)
        for name, drop_order in zip((*(f"p{percent}" for percent in PERCENTS), "max"), (2, 7, 10, 2, 3), strict=True)
    },
    "total": StatsColumn("total", _make_metric_cell("sum"), 2),
    "per_second": StatsColumn("per second", _format_metric_rate, 4),
    "throttled": StatsColumn("throttled", _make_count_cell("values"), 1),
    "share_throttled": StatsColumn("share", _make_share_cell("values", "count"), 4),
    "records": StatsColumn("records", _make_metric_cell("sum"), 1),
    "batches": StatsColumn("batches", _make_count_cell("batches"), 4),
    "records_per_batch": StatsColumn("rec/batch", _make_average_cell("sum", "batches", lambda each: f"{each:,}"), 5),
    "record_bytes": StatsColumn("bytes", _make_bytes_cell("record_bytes"), 2),
    "bytes_per_record": StatsColumn("B/rec", _make_average_cell("record_bytes", "sum", format_size), 6),
    "bytes": StatsColumn("bytes", _make_bytes_cell("request_bytes", "response_bytes"), 9),
    "sent": StatsColumn("sent", _make_bytes_cell("request_bytes"), 11),
    "got": StatsColumn("got", _make_bytes_cell("response_bytes"), 11),
}
# The word for several columns.
_PERCENTILES: Final = (*(f"p{percent}" for percent in PERCENTS), "max")
SPARK_DROP_ORDER: Final = 6


def columns_of_metric(metric: str) -> list[StatsColumn]:
    """The columns of numbers that the text shows for a metric."""
    found = []
    for word in METRICS[metric].columns.split():
        name, _, drop_order = word.partition("/")
        for one in _PERCENTILES if name == "percentiles" else (name,):
            column = TEXT_COLUMNS[one]
            found.append(column._replace(drop_order=int(drop_order)) if drop_order else column)
    return found


def title_over_time(metric: str) -> str:
    """The title of the column that shows a metric over time."""
    return f"{metric if METRICS[metric].join is add_amounts else 'max'} over time"


def format_text(result: StatsResult, settings: Settings) -> str:
    """The statistics as text; empty where nothing was counted, but that ages are missing is explained."""
    paint = palette(settings.color)
    if not result.rows:
        lines = wrap_note(_NO_AGES, settings.width) if METRICS[result.asked.metric].of_records else []
        return "".join(f"{paint.dim}{line}{paint.off}\n" for line in lines)
    result, silent = _drop_empty_groups(result, settings)
    width = None if settings.verbose else settings.width
    out = [*draw_table(_make_columns(result), width, paint, dense=True)] if result.rows else []
    notes = [*_list_notes_that_explain_numbers(result), *silent]
    if result.slowest:
        out += [*[""] * bool(out), *draw_table(_make_slowest_columns(result.slowest), width, paint, dense=True)]
    if notes:
        out += [
            *[""] * bool(out),
            *(f"{paint.dim}{line}{paint.off}" for note in notes for line in wrap_note(note, settings.width)),
        ]
    return "".join(f"{line}\n" for line in out)


def _drop_empty_groups(result: StatsResult, settings: Settings) -> tuple[StatsResult, list[str]]:
    """The result without the groups that have no value of the metric, and the note about these groups."""
    how = METRICS[result.asked.metric].silent
    if not how or settings.verbose:
        return result, []
    kept = [at for at, row in enumerate(result.rows) if row["values"]]
    left_out = len(result.rows) - len(kept)
    if not left_out:
        return result, []
    rows, slices = [result.rows[at] for at in kept], [result.slices[at] for at in kept]
    return result._replace(rows=rows, slices=slices), [
        f"{number_of(left_out, 'group')} {how}: not shown (-v shows all)."
    ]


def _make_columns(result: StatsResult) -> list[Column]:
    rows, asked = result.rows, result.asked
    first_name = next((name for name in asked.by if name != "time"), None)
    found = []
    for name in asked.by:
        shown = _format_times(rows) if name == "time" else [_format_dimension_value(row[name]) for row in rows]
        if name == first_name:
            shown = [OTHERS if "others" in row else cell for row, cell in zip(rows, shown, strict=True)]
        paints = "api" if name == "api" else "dim" if name == "time" else "client"
        right = DIMENSION_ROWS[name].is_number or name == "time"
        least = 0 if right else NAME_CUTS[min(len(asked.by), len(NAME_CUTS) - 1)]
        title = time_title(name, rows[0]["time"]) if name == "time" else name
        found.append(Column(title, shown, 0, right=right, paint=paints, cut=least))
    for one in columns_of_metric(asked.metric):
        shown = [one.cell(row) for row in rows]
        if one.drop_order > 4 and set(shown) == {"–"}:
            continue
        drop_order = 0 if one.title == asked.sort else one.drop_order
        found.append(Column(one.title, shown, drop_order, right=True, paint="bad" if one.bad else ""))
    first, last, _ = result.span
    if any(result.slices) and last > first:
        join = METRICS[asked.metric].join
        found.append(
            Column(
                title_over_time(asked.metric),
                ["–" for _ in rows],
                SPARK_DROP_ORDER,
                paint="name",
                grow=lambda width: [draw_sparkline(each, first, last, width, join) for each in result.slices],
                least=SPARK_LEAST,
                most=SPARK_MOST,
            )
        )
    if asked.metric == "errors":
        found.append(Column("which", [_format_codes(row) for row in rows], 2, paint="bad", cut=24))
    return found


def _format_dimension_value(value: Any) -> str:
    return "–" if value is None else escape_text(str(value))


def time_title(title: str, time: str) -> str:
    """The title of a column of times, with their zone: `time UTC`, `time +01:00`."""
    return f"{title} {'UTC' if time.endswith('Z') else time[-OFFSET:]}"


def _format_times(rows: list[Row]) -> list[str]:
    """The times of the rows as times of day, with the day where there are several days."""
    times = [row["time"].removesuffix("Z") for row in rows]
    if not rows[0]["time"].endswith("Z"):
        times = [time[:-OFFSET] for time in times]
    while all(time.endswith("0") for time in times) and "." in times[0]:
        times = [time[:-1] for time in times]
    times = [time.removesuffix(".") for time in times]
    if len({time[:10] for time in times}) == 1:
        return [time[11:] for time in times]
    return [time.replace("T", " ") for time in times]


def draw_sparkline(slices: dict[int, int], first: int, last: int, width: int, join: Join) -> str:
    """Marks for the slices from `first` to `last`, the greatest one full; a blank where there was nothing."""
    per = -(-(last - first + 1) // width)
    marks: dict[int, int] = {}
    for number, value in slices.items():
        at = (number - first) // per
        marks[at] = join(marks[at], value) if at in marks else value
    top = max([1, *marks.values()])
    return "".join(
        MARKS[max(0, min(7, -(-marks[at] * 8 // top) - 1))] if at in marks else " "
        for at in range((last - first) // per + 1)
    ).rstrip()


def _make_slowest_columns(rows: list[Row]) -> list[Column]:
    def make_column(title: str, cell: Cell, drop: int, *, right: bool = False, paint: str = "", cut: int = 0) -> Column:
        return Column(title, [cell(row) for row in rows], drop, right, paint, cut=cut)

    return [
        make_column("slowest", lambda row: format_latency(row["latency_ms"]), 0, right=True, paint="bad"),
        make_column("request", _format_api_and_version, 0, paint="api", cut=16),
        make_column("packets", lambda row: format_packets(row["packets"]), 1),
        make_column(time_title("time", rows[0]["time"]), lambda row: _format_time_of_day(row["time"]), 2, paint="dim"),
        make_column("client", _format_client_id_or_host, 3, paint="client", cut=12),
        make_column("broker", lambda row: row["broker"], 4),
        make_column("sent", lambda row: format_size(row["request_size"] or 0), 6, right=True),
        make_column("got", lambda row: format_size(row["response_size"] or 0), 6, right=True),
        make_column("address", lambda row: row["client"], 5),
        make_column("corr", lambda row: str(row["correlation_id"]), 7, right=True),
    ]


def _format_api_and_version(row: Row) -> str:
    return "SASL token" if row["api"] is None else f"{row['api']} {row['api_version']}"


def _format_client_id_or_host(row: Row) -> str:
    return _format_dimension_value(row["client_id"] or row["client"].rpartition(":")[0])


def _format_time_of_day(time: str) -> str:
    """The time of day to the millisecond, as `kw sniff` shows it."""
    return time.partition("T")[2][:12]


def format_packets(found: dict[str, list[int] | None]) -> str:
    """`17 → 19-21`: first and last packet of both sides."""
    spans = (found["request"], found["response"])
    return " → ".join(
        "–" if span is None else str(span[0]) if span[0] == span[1] else f"{span[0]}-{span[1]}" for span in spans
    )


def _list_notes_that_explain_numbers(result: StatsResult) -> list[str]:
    """Notes that explain the numbers."""
    notes = []
    waited = sum(row.get("waited", 0) for row in result.rows)
    if waited:
        ms = sum(row["waited_ms"] for row in result.rows)
        notes.append(
            "waited: fetches that came back empty after 0.9 × max_wait_ms or more (inferred to be long polls),"
            " JoinGroup and SyncGroup, which wait for the other members; not among the latencies"
            f" ({waited:,}, {format_latency(ms / waited)} on average)."
        )
    if result.more:
        notes.append(f"{number_of(result.more, 'more group')}: not shown (--top {result.asked.top}).")
    others = result.rows[-1].get("others") if result.rows else None
    if others is not None:
        notes.append(explain_row_of_others(number_of(others, "group"), "group"))
    several = [name for name in ("partition", "topic", "error", "group") if name in result.asked.by]
    if METRICS[result.asked.metric].of_records:
        notes.append("count: records, whose Produce is in the capture.")
    elif several:
        notes.append(f"An exchange about several {several[0]}s counts for each of them.")
    return notes


def explain_row_of_others(count: str, noun: str) -> str:
    """What the row of others means; `count` is how many they are, as `12,000 groups`."""
    return (
        f"others: about {count} with less traffic, in one row, with what a listed {noun} did before it had enough to be"
        " listed: sums are exact, the numbers of a listed one are at least these."
    )


def wrap_note(note: str, width: int | None) -> list[str]:
    """A note in lines of at most `width` characters."""
    if width is None or len(note) <= width:
        return [note]
    out = [""]
    for word in note.split():
        if out[-1] and len(out[-1]) + 1 + len(word) > width:
            out.append("")
        out[-1] += f" {word}" if out[-1] else word
    return out
