"""What `kw diff` does: two captures (or tables, NDJSON, logs) in, what changed from one to the other out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.differences.compare_profiles import ALPHA, CHANGES, compare_profiles
from decoders.analysis.differences.traffic_profile import TrafficProfile
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.analyses.csv_and_table_columns import format_csv, format_markdown, format_table
from kwcli.analyses.render_answer import make_answer_record
from kwcli.output.report_partial_input import list_partial_sentences
from kwcli.output.short_texts import count_of, palette
from kwcli.output.table import Column, draw_table
from kwcli.output.write_values_in_any_format import open_value_writer
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write
    from kwcli.run_environment import Environment

__all__ = ["FAIL_ON_CHANGES", "run_diff"]

# The words of --fail-on: kinds of differences, any of them, none.
FAIL_ON_CHANGES: Final = (*CHANGES, "any", "never")
_SIGNS: Final = {"new": "+", "gone": "-"}
_BAD: Final = ("new-error", "slower")
_KIND: Final = "difference"


class _ProfileSide(FoldRenderer):
    """Counts the exchanges of one side; writes nothing."""

    def __init__(self) -> None:
        self.profile = TrafficProfile()
        super().__init__([self.profile], "give a filter")

    def make_empty_copy(self) -> _ProfileSide:
        """A renderer like this one that has seen nothing."""
        return _ProfileSide()

    def open(self, _write: Write) -> _ProfileSide:
        """The renderer, which has nothing to write with."""
        return self


def run_diff(
    env: Environment, settings: Settings, capture: CaptureOptions, filters: FilterOptions, fail_on: Sequence[str]
) -> Exit:
    """Read both sides, write the differences, return the exit code. Raises Failure."""
    if len(capture.files) != 2 or capture.places:
        told = f"{count_of(len(capture.files), 'input')} given" if not capture.places else "-i and --on are live"
        raise Failure(f"kw diff compares two inputs, before and after: kw diff A B ({told})", Exit.USAGE)
    sides: list[_ProfileSide] = []
    code = Exit.DONE
    for file in capture.files:
        side = _ProfileSide()
        view = ReadingView(side.profile.needs, side.open)
        ended = ReadingRun(env, settings, capture._replace(files=(file,)), filters, view=view).run().exit_code()
        if ended not in (Exit.DONE, Exit.LOSSY):
            return ended
        code = code or ended
        sides.append(side)
    rows = compare_profiles(sides[0].profile, sides[1].profile)
    notes = [
        f"{name}: {sentence}"
        for name, side in zip(capture.files, sides, strict=True)
        for sentence in list_partial_sentences(side.coverage.partial)
    ]
    notes += [f"{name}: no exchange" for name, side in zip(capture.files, sides, strict=True) if not side.profile.count]
    env.stdout.write(_format_rows_in_output_format(rows, settings, capture.files).encode("utf-8", "backslashreplace"))
    if not settings.quiet:
        env.report(f"kw: {'; '.join([_format_difference_count(rows), *notes])}")
    failing = any(row["significant"] and ("any" in fail_on or row["change"] in fail_on) for row in rows)
    return Exit.FINDINGS if failing and code in (Exit.DONE, Exit.LOSSY) else code


def _format_difference_count(rows: Sequence[Row]) -> str:
    """`3 differences, 2 too rare to tell`; `no difference`."""
    sure = sum(row["significant"] for row in rows)
    rare = len(rows) - sure
    told = count_of(sure, "difference") if sure else "no difference"
    return told + (f"; {rare:,} too rare to tell from chance (-v)" if rare else "")


def _format_rows_in_output_format(rows: list[Row], settings: Settings, names: Sequence[str]) -> str:
    shown = rows if settings.verbose else [row for row in rows if row["significant"]]
    if settings.format in _TEXTS:
        return _TEXTS[settings.format](shown, settings, names)
    parts: list[bytes] = []
    writer = open_value_writer(settings, parts.append, [*shown[0]] if shown else [])
    for row in shown:
        writer.add(make_answer_record(_KIND, row))
    writer.close()
    return b"".join(parts).decode()


def format_differences(rows: Sequence[Row], settings: Settings, _names: Sequence[str] = ()) -> str:
    """A line for each difference: what kind it is, what it is about, from what to what, and by how much."""
    colors = palette(settings.color)
    signs = [_SIGNS.get(row["change"].partition("-")[0], "~") if row["change"] not in _BAD else "✗" for row in rows]
    drawn = draw_table(
        [
            Column("", signs),
            Column("change", [row["change"] + ("" if row["significant"] else "?") for row in rows], paint="name"),
            Column("what", [_describe_subject(row) for row in rows], cut=20),
            Column("before", [_format_value_of_side(row, "before") for row in rows], right=True),
            Column("after", [_format_value_of_side(row, "after") for row in rows], right=True),
            Column("effect", [f"×{row['ratio']:.3g}" if row["ratio"] else "" for row in rows], drop=1, right=True),
            Column("p", [_format_p_value(row["p"]) for row in rows], drop=2),
        ],
        settings.width,
        colors,
        dense=True,
    )
    return "".join(f"{line}\n" for line in drawn) if rows else ""


def _describe_subject(row: Row) -> str:
    """Whom and what a difference is about: `latency of Produce of checkout-7`."""
    who = row["client_id"] or row["broker"]
    if row["metric"]:
        return escape_text(f"{row['metric'].replace('_', ' ')} of {row['api']}, {who}")
    parts = [row["error"], row["api"], who, row["topic"], row["group"]]
    return escape_text(", ".join(str(part) for part in parts if part is not None))


def _format_value_of_side(row: Row, side: str) -> str:
    value, count = row[side], row[f"count_{side}"]
    if isinstance(value, str):
        return escape_text(value)
    if value is None:
        return f"{count:,}" if count else "–"
    if row["unit"] == "ns":
        return format_latency(value / 1e6)
    return format_size(value) if row["unit"] == "bytes" else f"{value:.3g}/s"


def _format_p_value(p: float) -> str:
    return "" if not p else f"{p:.1g}" if p >= 0.001 else f"{p:.0e}"


_STYLE: Final = (
    "body{font:15px system-ui,sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;padding:.3em .6em;border-bottom:1px solid #8884}td.n{text-align:right}"
    ".bad{color:#c22}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}.bad{color:#f66}}"
)


def format_differences_as_html_page(rows: Sequence[Row], _settings: Settings, names: Sequence[str]) -> str:
    """A page with a table of the differences, which loads nothing and runs nothing."""
    return "".join(f"{line}\n" for line in _list_html_lines(rows, [escape(escape_text(name)) for name in names]))


def _list_html_lines(rows: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    title = f"{names[0]} → {names[1]}"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
    tests = f"Mann and Whitney’s U and Fisher’s exact test, Holm’s correction, α = {ALPHA}"
    yield f"<p>{escape(_format_difference_count(rows))}. {tests}.</p>"
    if rows:
        heads = ("change", "what", "before", "after", "effect", "p")
        yield f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
        for row in rows:
            effect = f"×{row['ratio']:.3g}" if row["ratio"] else ""
            cells = [
                _describe_subject(row),
                _format_value_of_side(row, "before"),
                _format_value_of_side(row, "after"),
                effect,
            ]
            mark = ' class="bad"' if row["change"] in _BAD else ""
            shown = "".join(f"<td>{escape(cell)}</td>" for cell in [*cells, _format_p_value(row["p"])])
            yield f"<tr><td{mark}>{row['change']}</td>{shown}</tr>"
        yield "</table>"
    yield "</body></html>"


# Format → the function that makes text of all rows; all other formats are records.
_TEXTS: Final[dict[str, Callable[[list[Any], Any, Sequence[str]], str]]] = {
    "text": format_differences,
    "html": format_differences_as_html_page,
    "table": lambda rows, settings, _: format_table(_KIND, rows, settings),
    "md": lambda rows, settings, _: format_markdown(_KIND, rows, settings),
    "csv": lambda rows, settings, _: format_csv(_KIND, rows, settings),
}
