"""Rows of groups in, HTML about each group out: its members over time, why it rebalanced, its lag by partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from decoders.wire.format_and_escape_text import escape_text, format_latency
from kwcli.analyses.group_details_as_text import MemberNames, format_assignment, format_rebalance_cause
from kwcli.output.short_texts import count_of, cut
from kwcli.report.build_report import Report, format_report_time, parse_rfc3339_ns

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["format_group_articles"]

# Groups with a timeline, and of each: members, generations, partitions.
GROUPS: Final = 20
MEMBERS: Final = 14
GENERATIONS: Final = 30
PARTITIONS: Final = 12
_LANE: Final = 26
_NAME: Final = 60


def format_group_articles(rows: Sequence[Row], report: Report) -> Iterator[str]:
    """HTML about each group, the groups with most rebalances, then most lag, first; the first three are open."""
    ordered = sorted(
        (row for row in rows if "others" not in row), key=lambda row: (-row["rebalances"], -(row["commit_lag"] or 0))
    )
    for at, row in enumerate(ordered[:GROUPS]):
        present = sum(member["present"] for member in row["members"])
        facts = [row["type"], row["state"], count_of(present, "member"), count_of(row["rebalances"], "rebalance")]
        facts += [f"{row['commit_lag']:,} behind"] if row["commit_lag"] is not None else []
        said = ", ".join(escape_text(str(fact)) for fact in facts if fact)
        yield f"<details{' open' if at < 3 else ''}><summary><strong>{_cut_and_escape_html(row['group'])}</strong> "
        yield f'<span class="dim">{escape(said)}</span></summary>'
        names = MemberNames([*row["members"], *(member for each in row["timeline"] for member in each["members"])])
        if row["timeline"]:
            yield from _draw_member_bars(row, names, report)
            yield from _format_generation_rows(row["timeline"], names)
        yield from _format_partition_table(row, names)
        yield "</details>"
    if len(ordered) > GROUPS:
        yield f'<p class="dim">And {len(ordered) - GROUPS:,} more groups: -o json has all.</p>'


def _cut_and_escape_html(value: object) -> str:
    return escape(cut(escape_text(str(value)), _NAME))


def _draw_member_bars(row: Row, names: MemberNames, report: Report) -> Iterator[str]:
    """A lane for each member, a bar for each generation that it was in, paler while it was not ready."""
    first, last = (parse_rfc3339_ns(report[name]) for name in ("first", "last"))
    span = max(last - first, 1)
    timeline = row["timeline"]
    begins = [parse_rfc3339_ns(each["began"]) for each in timeline]
    ends = [*begins[1:], max(last, begins[-1])]
    bars: dict[str, list[str]] = {}
    for each, began, end in zip(timeline, begins, ends, strict=True):
        ready = end if each["ready"] is None else min(max(parse_rfc3339_ns(each["ready"]), began), end)
        gone = {left["member_id"]: left["time"] for left in _find_members_that_left(timeline, each)}
        for member in each["members"]:
            until = gone.get(member["member_id"])
            stop = end if until is None else min(max(parse_rfc3339_ns(until), began), end)
            lane = bars.setdefault(member["member_id"], [])
            color = each["generation"] % 3
            lane.append(_draw_bar(began, min(ready, stop), first, span, f"f{color} waiting"))
            lane.append(_draw_bar(ready, stop, first, span, f"f{color}"))
    shown = list(bars)[:MEMBERS]
    height = _LANE * len(shown) + 18
    told = f"Members of {escape_text(row['group'])} over time: {', '.join(names.name_by_id(name) for name in shown)}"
    yield f'<svg class="lanes" height="{height}" role="img" aria-label="{escape(told)}">'
    for at, name in enumerate(shown):
        top = at * _LANE
        label = _cut_and_escape_html(names.name_by_id(name))
        yield f'<text x="0" y="{top + 11}">{label}</text>'
        yield f'<line class="lane" x1="0" x2="100%" y1="{top + 19}" y2="{top + 19}"/>'
        yield f'<svg y="{top + 15}" height="8" overflow="visible">{"".join(bars[name])}</svg>'
    begin, end_ = (escape(format_report_time(report[name])) for name in ("first", "last"))
    yield f'<text class="when" x="0" y="{height - 3}">{begin}</text>'
    yield f'<text class="when" x="100%" y="{height - 3}" text-anchor="end">{end_}</text></svg>'
    if len(bars) > len(shown):
        yield f'<p class="dim">And {len(bars) - len(shown):,} more members.</p>'


def _find_members_that_left(timeline: Sequence[Row], its: Row) -> list[Row]:
    """The members that left before the next generation, if the time is known."""
    at = timeline.index(its)
    return [left for left in timeline[at + 1]["left"] if left["time"]] if at + 1 < len(timeline) else []


def _draw_bar(began: int, end: int, first: int, span: int, kind: str) -> str:
    if end <= began:
        return ""
    left, width = 100 * (began - first) / span, 100 * (end - began) / span
    return f'<rect class="{kind}" x="{max(left, 0):.3f}%" width="{max(width, 0.15):.3f}%" height="8" rx="2"/>'


def _format_generation_rows(timeline: Sequence[Row], names: MemberNames) -> Iterator[str]:
    shown = timeline[-GENERATIONS:]
    if len(shown) < len(timeline):
        yield f'<p class="dim">The last {len(shown)} of {len(timeline):,} generations: -o json has all.</p>'
    yield '<div class="table" role="region" tabindex="0" aria-label="Generations"><table><thead><tr>'
    yield '<th scope="col">began</th><th scope="col" class="n">generation</th><th scope="col">why</th>'
    yield '<th scope="col" class="n">ready in</th><th scope="col" class="n k4">waited most</th>'
    yield '<th scope="col" class="k3">members</th></tr></thead><tbody>'
    for its in shown:
        took = "–" if its["took_ms"] is None else format_latency(its["took_ms"])
        waits = [
            (member["waited_ms"], names.name_of_member(member))
            for member in its["members"]
            if member["waited_ms"] is not None
        ]
        longest = max(waits, default=None)
        waited = "–" if longest is None else f"{format_latency(longest[0])} {longest[1]}"
        why = format_rebalance_cause(its["cause"], names).removeprefix(": ") or "–"
        reasons = "; ".join(escape_text(reason) for reason in its["reasons"])
        why += f" ({reasons})" if reasons and reasons not in why else ""
        members = [
            f"{names.name_of_member(member)} {format_assignment(member['assignment'])}"
            for member in its["members"][:MEMBERS]
        ]
        members += [f"and {len(its['members']) - MEMBERS:,} more"] if len(its["members"]) > MEMBERS else []
        yield (
            f'<tr><td>{escape(format_report_time(its["began"], 23)[11:])}</td><td class="n">{its["generation"]}</td>'
            f'<td class="name">{escape(cut(why, 200))}</td><td class="n">{escape(took)}</td>'
            f'<td class="n k4">{escape(cut(waited, _NAME))}</td>'
            f'<td class="name k3">{"<br>".join(escape(cut(each, 120)) for each in members)}</td></tr>'
        )
    yield "</tbody></table></div>"


def _format_partition_table(row: Row, names: MemberNames) -> Iterator[str]:
    """The table of the partitions that are farthest behind."""
    ordered = sorted(row["partitions"], key=lambda its: -max(its["commit_lag"] or 0, its["position_lag"] or 0))
    shown = ordered[:PARTITIONS]
    if not shown:
        return
    yield '<div class="table" role="region" tabindex="0" aria-label="Lag by partition"><table><thead><tr>'
    yield '<th scope="col">partition</th><th scope="col" class="n k3">end</th><th scope="col" class="n">committed</th>'
    yield '<th scope="col" class="n">commits behind</th><th scope="col" class="n k4">read to</th>'
    yield '<th scope="col" class="n k3">reading behind</th><th scope="col" class="k5">member</th></tr></thead><tbody>'
    for its in shown:
        cells = "".join(
            f'<td class="n {keep}">{"–" if its[key] is None else format(its[key], ",")}</td>'
            for key, keep in (
                *(("high_watermark", "k3"), ("committed", ""), ("commit_lag", "")),
                *(("position", "k4"), ("position_lag", "k3")),
            )
        )
        where = f"{_cut_and_escape_html(its['topic'])} {its['partition']}"
        reader = _cut_and_escape_html(names.name_by_id(its["member_id"]))
        yield f'<tr><td class="name">{where}</td>{cells}<td class="name k5">{reader}</td></tr>'
    yield "</tbody></table></div>"
    if len(ordered) > len(shown):
        yield f'<p class="dim">The {len(shown)} farthest behind of {len(ordered):,} partitions.</p>'
