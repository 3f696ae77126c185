"""A row of `kw groups` in, the lines of its page out: state, generations, members, and the lag of each partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.wire.format_and_escape_text import escape_text, format_latency
from kwcli.output.short_texts import count_of, format_number_ranges, palette
from kwcli.output.table import Column, draw_table

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.output.output_settings import Settings

__all__ = [
    "GROUP_LINES",
    "MemberNames",
    "draw_group_details",
    "format_assignment",
    "format_held_records",
    "format_last_attempts",
    "format_rebalance_cause",
    "format_share",
]

_NOTHING: Final = "–"
_MARGIN: Final = 4
_NAME_LEAST: Final = 10
# A member id ends with a UUID; so many characters of it tell two members apart.
_SHORT: Final = 8
# Partitions and members that a page lists; `-o ndjson` has all.
_LISTED: Final = 200
_HOW: Final = {
    "left": "left",
    "fenced": "was fenced",
    "replaced": "came back under another member id",
    "gone": "is gone without a word",
}
_CAUSES: Final = {
    "joined": "{} joined",
    "rejoined": "{} joined again",
    "left": "{} left",
    "fenced": "{} was fenced",
    "gone": "{} was gone",
}


def format_share(share: float | None) -> str:
    """A share as text: `41%`; `–` where it is unknown."""
    return _NOTHING if share is None else f"{share:.0%}"


def format_lag(row: Row, which: str) -> str:
    """A row's lag in records by `which` ("commit" or "position") as text: `1,200`; `–` where it is unknown."""
    value = row[f"{which}_lag"]
    return _NOTHING if value is None else f"{value:,}"


def _format_group_state(row: Row) -> str:
    present = sum(member["present"] for member in row["members"])
    parts = [str(row["state"])] if row["state"] else []
    return ", ".join(
        [*parts, f"{count_of(present, 'member')} of {len(row['members']):,} seen"] if row["members"] else parts
    )


def _format_lags(row: Row) -> str:
    parts = []
    for which, words in (("commit", "behind in commits"), ("position", "behind in reading")):
        if row[f"{which}_lag"] is not None:
            parts.append(f"{count_of(row[f'{which}_lag'], 'record')} {words}")
    return ", ".join(parts)


def _count_records_in_ranges(ranges: Iterable[Row]) -> int:
    return sum(each["last_offset"] - each["first_offset"] + 1 for each in ranges)


def format_held_records(row: Row) -> str:
    """How many records the members of a share group hold, as text: `12 records by worker-1, 3 by worker-2`."""
    by_client: Counter[str] = Counter()
    for each in row["locks"]:
        by_client[each["client_id"]] += _count_records_in_ranges([each])
    parts = [f"{count:,} by {client}" for client, count in sorted(by_client.items())]
    return f"{count_of(_count_records_in_ranges(row['locks']), 'record')}: {', '.join(parts)}" if parts else ""


def format_last_attempts(row: Row) -> str:
    """How many records are at the limit of deliveries, and what became of them, as text; `–` for none."""
    states: Counter[str] = Counter()
    for each in row["last_attempts"]:
        states[each["state"]] += _count_records_in_ranges([each])
    return ", ".join(f"{count:,} {state}" for state, count in sorted(states.items())) or _NOTHING


def _format_shared_record_counts(row: Row) -> str:
    counts: Mapping[str, int] = row["shared"] or {}
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


# Lines of a group's page besides those that every page has: title, and text.
GROUP_LINES: Final[tuple[tuple[str, Callable[[Row], str]], ...]] = (
    ("type", lambda row: row.get("type") or ""),
    ("state", lambda row: _format_group_state(row) if "generation" in row else ""),
    ("protocol", lambda row: row.get("protocol") or ""),
    ("coordinator", lambda row: row.get("coordinator") or ""),
    ("lag", lambda row: _format_lags(row) if "commit_lag" in row else ""),
    ("read again", lambda row: f"{row['refetched']:.0%} of offsets" if row.get("refetched") else ""),
    ("records", lambda row: _format_shared_record_counts(row) if row.get("shared") else ""),
    ("held", lambda row: format_held_records(row) if row.get("shared") else ""),
    ("at last attempt", lambda row: format_last_attempts(row) if row.get("last_attempts") else ""),
    ("asked by", lambda row: ", ".join(row.get("asked_by") or ())),
)


def draw_group_details(row: Row, settings: Settings) -> list[str]:
    """The lines below the list of a group's page: its timeline, refusals, members, partitions."""
    names = MemberNames([*row["members"], *(member for each in row["timeline"] for member in each["members"])])
    several_days = row["first"][:10] != row["last"][:10]
    lines: list[str] = []
    if row["timeline"]:
        lines += ["  generations", *_draw_generations(row["timeline"], names, settings, days=several_days)]
    if row["refused"]:
        lines.append("  refused")
        for each in row["refused"]:
            lines.append(f"{' ' * _MARGIN}{each['api']} {each['error']} ×{each['count']:,}, last {each['last'][:23]}")
    if row["members"]:
        lines += ["  members", *_draw_members(row["members"], names, settings)]
    if row["partitions"]:
        lines += ["  partitions", *_draw_partitions(row["partitions"], names, settings)]
    if row["locks"]:
        lines += ["  records held", *_draw_acquired_ranges(row["locks"], row["delivery_limit"], settings)]
    if row["last_attempts"]:
        lines += [
            "  records at their last attempt",
            *_draw_acquired_ranges(row["last_attempts"], row["delivery_limit"], settings),
        ]
    return lines


def _draw_acquired_ranges(ranges: Sequence[Row], limit: int, settings: Settings) -> list[str]:
    """The table of ranges of records that members of a share group have acquired."""
    rows = ranges[:_LISTED]
    columns = [
        Column("topic", [escape_text(each["topic"]) for each in rows], cut=_NAME_LEAST),
        Column("", [str(each["partition"]) for each in rows], right=True),
        Column("offsets", [_format_offset_range(each) for each in rows]),
        Column("state", [each["state"] for each in rows]),
        Column("delivery", [f"{each['deliveries']} of {limit}" for each in rows], right=True),
        Column("client", [escape_text(each["client_id"]) for each in rows], paint="client", cut=_NAME_LEAST),
        Column("acquired", [each["acquired"][11:23] for each in rows], drop=1),
        Column("lock ends", [each["expires"][11:23] if each["expires"] else _NOTHING for each in rows], drop=2),
        Column("member id", [escape_text(each["member_id"]) for each in rows], drop=3, cut=_NAME_LEAST),
    ]
    return _draw_indented_table(columns, settings, _MARGIN) + _format_rows_not_listed(ranges)


def _format_offset_range(each: Row) -> str:
    first, last = each["first_offset"], each["last_offset"]
    return f"{first:,}" if first == last else f"{first:,}-{last:,}"


class MemberNames:
    """Names of group members for people: the client id, with the end of the member id where several share it."""

    def __init__(self, members: Iterable[Row]) -> None:
        clients = {member["member_id"]: member["client_id"] or "" for member in members}
        counts = Counter(clients.values())
        self._names = {
            name: client if client and counts[client] == 1 else f"{client} …{name[-_SHORT:]}".strip()
            for name, client in clients.items()
        }

    def name_of_member(self, member: Row) -> str:
        """The name of the member in a row that has the keys of a member."""
        name = self._names.get(member["member_id"]) or member["client_id"] or member["member_id"]
        return escape_text(f"{name} ({member['instance_id']})" if member.get("instance_id") else name)

    def name_by_id(self, member_id: str | None) -> str:
        """The name of the member with this id."""
        return escape_text(self._names.get(member_id or "", member_id) or _NOTHING)


def format_assignment(assignment: Mapping[str, Sequence[int]] | None) -> str:
    """The partitions assigned to a member, as text: `orders[0-2] payments[0]`."""
    if assignment is None:
        return _NOTHING
    return (
        " ".join(f"{escape_text(topic)}[{format_number_ranges(numbers)}]" for topic, numbers in assignment.items())
        or "nothing"
    )


def _draw_generations(timeline: Sequence[Row], names: MemberNames, settings: Settings, *, days: bool) -> list[str]:
    lines = []
    for its in timeline:
        time = its["began"][:23].replace("T", " ") if days else its["began"][11:23]
        ready = f"ready in {format_latency(its['took_ms'])}" if its["took_ms"] is not None else "not seen to be ready"
        lines.append(
            f"{' ' * _MARGIN}{time}  generation {its['generation']:,}, "
            f"{ready}{format_rebalance_cause(its['cause'], names)}"
        )
        new = {member["member_id"] for member in its["joined"]}
        rows = [(member, "+" if member["member_id"] in new else " ") for member in its["members"][:_LISTED]]
        lines += _draw_indented_table(
            [
                Column("", [sign for _, sign in rows]),
                Column("", [names.name_of_member(member) for member, _ in rows], paint="client", cut=_NAME_LEAST),
                Column("", [_format_wait_of_member(member) for member, _ in rows], drop=1),
                Column("", [format_assignment(member["assignment"]) for member, _ in rows], cut=_NAME_LEAST),
            ],
            settings,
            2 * _MARGIN,
            heading=False,
        )
        for gone in its["left"]:
            reason = f": {escape_text(gone['reason'])}" if gone["reason"] else ""
            lines.append(f"{' ' * 2 * _MARGIN}-  {names.name_of_member(gone)} {_HOW[gone['how']]}{reason}")
        said = [escape_text(reason) for reason in its["reasons"]]
        if said:
            lines.append(f"{' ' * 2 * _MARGIN}reasons: {'; '.join(said)}")
    return lines


def _format_wait_of_member(member: Row) -> str:
    return "" if member["waited_ms"] is None else f"waited {format_latency(member['waited_ms'])}"


def format_rebalance_cause(cause: Row | None, names: MemberNames) -> str:
    """The cause of a rebalance, as text: `: billing-2 joined`; empty where it is unknown."""
    if cause is None:
        return ""
    reason = f" ({escape_text(cause['reason'])})" if cause["reason"] else ""
    return f": {_CAUSES[cause['what']].format(names.name_of_member(cause))}{reason}"


def _draw_members(members: Sequence[Row], names: MemberNames, settings: Settings) -> list[str]:
    rows = members[:_LISTED]
    lines = _draw_indented_table(
        [
            Column("member", [names.name_of_member(each) for each in rows], paint="client", cut=_NAME_LEAST),
            Column("", ["" if each["present"] else "no more" for each in rows]),
            Column("address", [escape_text(each["address"] or _NOTHING) for each in rows], drop=1),
            Column("beats", [f"{each['heartbeats']:,}" for each in rows], drop=3, right=True),
            Column("has", [format_assignment(each["assignment"]) for each in rows], cut=_NAME_LEAST),
            Column("member id", [escape_text(each["member_id"]) for each in rows], drop=2, cut=_NAME_LEAST),
        ],
        settings,
        _MARGIN,
    )
    return lines + _format_rows_not_listed(members)


def _draw_partitions(partitions: Sequence[Row], names: MemberNames, settings: Settings) -> list[str]:
    """The table of a group's partitions; where not all are listed, the partitions farthest behind come first."""
    rows = partitions
    if len(rows) > _LISTED:
        rows = sorted(rows, key=lambda row: -max(row["commit_lag"] or 0, row["position_lag"] or 0))[:_LISTED]
    lines = _draw_indented_table(
        [
            Column("topic", [escape_text(each["topic"]) for each in rows], cut=_NAME_LEAST),
            Column("", [str(each["partition"]) for each in rows], right=True),
            _make_number_column("end", rows, "high_watermark", 3),
            _make_number_column("committed", rows, "committed"),
            _make_number_column("lag", rows, "commit_lag"),
            _make_time_column("for", rows, "commit_lag_ms", 4),
            _make_number_column("position", rows, "position", 2),
            _make_number_column("lag", rows, "position_lag"),
            _make_time_column("for", rows, "position_lag_ms", 5),
            Column("read again", [format_share(each["refetched"]) for each in rows], drop=6, right=True),
            Column("member", [names.name_by_id(each["member_id"]) for each in rows], drop=1, cut=_NAME_LEAST),
        ],
        settings,
        _MARGIN,
    )
    return lines + _format_rows_not_listed(partitions)


def _make_number_column(title: str, rows: Sequence[Row], key: str, drop: int | None = None) -> Column:
    cells = [_NOTHING if row[key] is None else f"{row[key]:,}" for row in rows]
    return Column(title, cells, drop=drop, right=True)


def _make_time_column(title: str, rows: Sequence[Row], key: str, drop: int) -> Column:
    cells = [format_latency(row[key]) if row[key] else _NOTHING for row in rows]
    return Column(title, cells, drop=drop, right=True)


def _format_rows_not_listed(rows: Sequence[Any]) -> list[str]:
    more = len(rows) - _LISTED
    return [f"{' ' * _MARGIN}and {more:,} more: -o ndjson has all"] if more > 0 else []


def _draw_indented_table(columns: list[Column], settings: Settings, margin: int, *, heading: bool = True) -> list[str]:
    width = None if settings.width is None else max(settings.width - margin, 20)
    head, *lines = draw_table(columns, width, palette(settings.color), dense=True) if columns[0].cells else ("",)
    return [f"{' ' * margin}{line}" for line in ([head, *lines] if heading and lines else lines)]
