"""Everything around the rows: the progress bar, pieces of output, settings, the closing line."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from decoders.exchanges.exchange import Summary
from decoders.filters.filter_field_table import BODIES, FIELDS
from kwcli.output import FORMATS, RECORD_FORMATS
from kwcli.output.output_settings import choose_settings
from kwcli.output.renderers import open_renderer
from kwcli.output.write_values_in_any_format import VALUE_WRITERS
from kwcli.reading.sinks.closing_lines import ShownCounts, closing_lines, describe_passed_over, is_lossy
from kwcli.reading.sinks.row_output import WRITE_SIZE, RowOutput
from kwcli.run_environment import Exit
from kwcli.terminal.progress import ProgressLine
from kwcli.terminal_escaping import ERASE
from tests.capture.pcap_writer import PcapWriter
from tests.cli.worlds import kw, world, written

TOUR = str(Path(__file__).parents[2] / "captures" / "tour.pcapng")


@pytest.mark.parametrize("name", RECORD_FORMATS)
def test_every_format_of_records_writes_values(name: str) -> None:
    """Commands that write records of their own (`kw call`, `kw apis`) take the writer of values, not the renderer."""
    assert name in VALUE_WRITERS, f"{name}: no row in VALUE_WRITERS of kwcli/output/write_values_in_any_format.py"


# The recorded broker has no rack.
@pytest.mark.parametrize("name", [name for name, row in FIELDS.items() if row.history and name != "node.rack"])
def test_a_column_remembers_what_its_filter_remembers(name: str) -> None:
    """A field that asks earlier exchanges has a value in as many rows as the filter finds."""
    wanted = f"{name} >= 0" if FIELDS[name].kind == "number" else name
    found = kw("sniff", TOUR, "-q", "-f", wanted, "-e", "api").out.splitlines()
    shown = [line for line in kw("sniff", TOUR, "-q", "-e", name).out.splitlines() if line]
    assert len(shown) == len(found) > 0


@pytest.mark.parametrize("output", ["csv", "table", "fields"])
def test_every_field_of_filters_is_a_column(output: str) -> None:
    """The packets of an exchange are the words of a filter that finds it."""
    names = [name for name in FIELDS if name not in BODIES]
    words = ["-o", output, *(["-e", ",".join(names)] if output == "fields" else ["--columns", ",".join(names)])]
    shown = kw("sniff", TOUR, TOUR.replace("tour.pcapng", "sasl-raw.pcap"), "-q", "-n", "40", *words)
    assert (shown.code, shown.err) == (Exit.DONE, "")
    assert len(shown.out.splitlines()) == 40 + (output != "fields")
    both = kw("sniff", TOUR, "-q", "-o", "csv", "--columns", "file,packet,correlation_id", "-n", "9").out.splitlines()
    for line in both[1:]:
        _, packets, number = next(csv.reader([line]))
        for packet in packets.split(","):
            found = kw("sniff", TOUR, "-q", "-f", f"packet == {packet}", "-o", "csv", "--columns", "correlation_id").out
            assert number in found.splitlines()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_renderer(name: str) -> None:
    """The class that the table names takes rows; tests of secrets, damage and hostile text run over the same table."""
    pieces: list[bytes] = []
    renderer = open_renderer(choose_settings(world(), output=name, color="never"), pieces.append)
    renderer.write([])
    renderer.learn_from_unshown_rows([])
    renderer.close()
    assert (renderer.errors, renderer.expected, renderer.undecoded) == (0, 0, 0)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def bar(done: int, *, after: float, total: int | None = 100, terminal: bool = True, wanted: bool = True) -> str:
    env = world(terminal=terminal)
    env.monotonic = clock = Clock()
    progress = ProgressLine(env, total, wanted=wanted)
    clock.now = after
    progress.show_progress(done, 1234)
    return written(env.stderr).decode()


def test_a_bar_comes_when_it_takes_long() -> None:
    assert bar(50, after=0.5) == ""
    assert bar(50, after=10.0).endswith(" 50%   10 s left  1,234 exchanges")
    assert bar(50_000_000, after=10.0, total=None).endswith("50.0 MB  1,234 exchanges")


def test_a_bar_is_for_terminals_and_not_for_the_quiet() -> None:
    assert bar(50, after=10.0, terminal=False) == ""
    assert bar(50, after=10.0, wanted=False) == ""


@pytest.mark.parametrize("columns", [1, 20, 40])
def test_a_bar_fits_in_a_line_for_a_broken_one_cannot_be_taken_away(columns: int) -> None:
    env = world(terminal=True, columns=columns)
    env.monotonic = clock = Clock()
    progress = ProgressLine(env, 100, wanted=True)
    clock.now = 10.0
    progress.show_progress(50, 1234)
    assert len(written(env.stderr).removeprefix(ERASE).decode()) == columns - 1


def test_rows_do_not_mix_with_the_bar() -> None:
    env = world(terminal=True)
    env.monotonic = clock = Clock()
    output = RowOutput(env, prompt=True)
    output.start_progress(100)
    clock.now = 10.0
    output.show_progress(10, 1)
    output.write(b"row\n")
    output.flush_if_prompt()
    assert written(env.stderr).endswith(ERASE)


class Reluctant(io.BytesIO):
    """An unbuffered stream that takes a few bytes at a time."""

    def write(self, data: Any) -> int:
        return super().write(bytes(data)[:3])


@pytest.mark.parametrize("stream", [io.BytesIO, Reluctant])
def test_everything_is_written_in_pieces(stream: type[io.BytesIO]) -> None:
    env = world()
    env.stdout = out = stream()
    output = RowOutput(env, prompt=False)
    output.write(b"0123456789")
    output.flush_if_prompt()
    assert out.getvalue() == b""  # no reader waits for it
    output.write(bytes(WRITE_SIZE) if stream is io.BytesIO else b"x")
    output.flush()
    assert out.getvalue().startswith(b"0123456789")
    assert len(out.getvalue()) == (10 + WRITE_SIZE if stream is io.BytesIO else 11)


@pytest.mark.parametrize(
    ("terminal", "variables", "color", "colored"),
    [
        (True, {}, "auto", True),
        (False, {}, "auto", False),
        (True, {"NO_COLOR": "1"}, "auto", False),
        (True, {"NO_COLOR": ""}, "auto", True),
        (True, {"TERM": "dumb"}, "auto", False),
        (False, {"NO_COLOR": "1"}, "always", True),
        (True, {}, "never", False),
        (False, {"CLICOLOR_FORCE": "1"}, "auto", True),
        (False, {"CLICOLOR_FORCE": "0"}, "auto", False),
        (True, {"CLICOLOR_FORCE": "0"}, "auto", True),
        (True, {"CLICOLOR": "0"}, "auto", False),
        (True, {"CLICOLOR": "1"}, "auto", True),
        (False, {"CLICOLOR": "1"}, "auto", False),
        (False, {"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, "auto", True),
        (False, {"FORCE_COLOR": "1"}, "auto", True),
        (False, {"FORCE_COLOR": "3"}, "auto", True),
        (True, {"FORCE_COLOR": "0"}, "auto", False),
        (False, {"FORCE_COLOR": ""}, "auto", False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", False),
        (False, {"FORCE_COLOR": "1"}, "never", False),
        (False, {"FORCE_COLOR": "1", "TERM": "dumb"}, "auto", True),
    ],
)
def test_when_there_are_colours(terminal: bool, variables: dict[str, str], color: str, colored: bool) -> None:
    env = world(terminal=terminal, variables=variables)
    made = choose_settings(env, output="text", color=color)
    assert made.color is colored
    assert made.prompt is terminal


def summary(**counts: Any) -> Summary:
    made = Summary()
    for name, value in counts.items():
        setattr(made, name, value)
    return made


def test_the_closing_line_says_what_matters_and_fits() -> None:
    made = summary(exchanges=6, unanswered=1, first_ns=1_795_230_245 * 10**9, last_ns=1_795_230_246 * 10**9)
    made.clients = {("10.0.0.1", "a", None, None), ("10.0.0.1", "b", None, None)}
    made.brokers = {"10.0.0.2:9092"}
    made.skipped.update({"lost": 1, "tls": 2})
    made.skipped_bytes.update({"lost": 1400, "tls": 99})
    lines = closing_lines(made, ShownCounts(6, errors=1), packets=41, seconds=0.061)
    counts = "6 exchanges, 2 clients, 1 broker, 1 error, 1 unanswered, 1 gap (1.4kB), 2 TLS connections"
    assert lines == [
        f"{counts} · 2026-11-21 03:04:05–03:04:06 UTC · 41 packets · 0.06 s",
        f"{counts} · 2026-11-21 03:04:05–03:04:06 UTC · 0.06 s",
        f"{counts} · 03:04:05–03:04:06 UTC · 0.06 s",
        counts,
    ]
    assert is_lossy(made)
    filtered = closing_lines(made, ShownCounts(2, undecoded=1), packets=1, seconds=1)
    assert filtered[-1].startswith("2 of 6 exchanges, 2 clients, 1 broker, 1 unanswered, 1 undecoded, ")


def test_other_traffic_is_no_loss() -> None:
    made = summary()
    made.skipped.update({"tls": 2, "not_kafka": 1})
    assert not is_lossy(made)
    assert closing_lines(made, ShownCounts(), packets=9, seconds=0) == [
        "0 exchanges, 1 other connection, 2 TLS connections · 9 packets · 0.00 s"
    ]


def test_what_was_passed_over_is_said() -> None:
    assert describe_passed_over({"packets": 9, "udp": 3, "stray": 0}) == []
    told = describe_passed_over({"packets": 9, "unreadable": 2, "stray": 1, "after_close": 1400})
    assert told == ["2 unreadable packets", "1 stray segment", "1.4kB after the end of connections"]
    lines = closing_lines(summary(), ShownCounts(), packets=9, seconds=0, passed_over=told)
    assert lines == [f"0 exchanges, {', '.join(told)} · 9 packets · 0.00 s"]


def test_passed_over_packets_are_a_loss(tmp_path: Path) -> None:
    capture = tmp_path / "broken.pcap"
    writer = PcapWriter(1)
    packet = bytes(12) + b"\x08\x00" + b"\x4f" + bytes(19)  # IPv4 with a header of 60 bytes, of which 20 are there
    capture.write_bytes(writer.make_file_header() + writer.make_packet_block(10**18, packet))
    outcome = kw("sniff", str(capture), "--strict")
    assert (outcome.code, outcome.out) == (Exit.LOSSY, "")
    fault, closing = outcome.err.splitlines()
    assert fault.startswith("kw: the capture has no TCP (packets: 1 unreadable)")
    assert closing.startswith("0 exchanges, 1 unreadable packet · 1 packet · ")
