"""Records written by kw, read again: the same rows and numbers as from the capture, and one line for other lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS, METRICS
from decoders.messages.read_ndjson import RecordLines
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw, world
from tests.filters.test_rows import ROWS
from tests.sampling import sampled

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TOUR = str(CAPTURES / "tour.pcapng")
NAMES = ("tour.pcapng", "first-steps.pcapng", "old-clients.pcap.gz", "share-groups.pcapng", "sasl-raw.pcap")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the NDJSON of captures, Kafka records included."""
    folder = tmp_path_factory.mktemp("written")
    for name in NAMES:
        made = kw("sniff", str(CAPTURES / name), "--records", "-o", "ndjson")
        assert made.code == Exit.DONE
        (folder / f"{name}.ndjson").write_text(made.out)
    return folder


# Records that were written with acks=0 and read: they are known again by checksums, which NDJSON does not have.
READ_WITHOUT_ANSWER = {"first-steps.pcapng"}


def lines_of(folder: Path, name: str = "tour.pcapng") -> list[str]:
    return (folder / f"{name}.ndjson").read_text().splitlines()


def without_file(outcome: Outcome) -> list[str]:
    """The lines of CSV without their last cell, the name of the file."""
    return [line.rpartition(",")[0] for line in outcome.out.splitlines()]


def from_pipe(data: str | bytes, *words: str) -> Outcome:
    return kw(*words, "-", env=world(data.encode() if isinstance(data, str) else data))


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metric", sampled(tuple(METRICS), 4))
def test_statistics_are_those_of_the_capture(written: Path, name: str, metric: str) -> None:
    for by in ("client,topic,partition", "api,error", "group,software,version", "address,broker,time", "connection"):
        if METRICS[metric].of_records and not all(DIMENSION_ROWS[name].of_records for name in by.split(",")):
            continue
        if METRICS[metric].of_records and name in READ_WITHOUT_ANSWER:
            continue
        words = ("--metric", metric, "--by", by, "--slowest", "7", "-o", "ndjson", "-q")
        assert kw("stats", str(written / f"{name}.ndjson"), *words) == kw("stats", str(CAPTURES / name), *words)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["text", "csv", "ndjson", "json"])
def test_rows_are_those_of_the_capture(written: Path, name: str, form: str) -> None:
    """Rows are those of the capture, but for requests inside an Envelope, which the record has redacted."""
    words = ("-o", form, "-q", "-f", "api != Envelope", *(["--records"] if form != "csv" else []))
    found, expected = (kw("sniff", path, *words) for path in (str(written / f"{name}.ndjson"), str(CAPTURES / name)))
    assert (found.code, found.err) == (Exit.DONE, "")
    assert found.out == expected.out if form != "csv" else without_file(found) == without_file(expected)


@pytest.mark.long
@pytest.mark.parametrize("name", ["three-nodes.pcapng.zst", "telemetry.pcapng"])
def test_structures_in_records_and_fields_are_read(name: str) -> None:
    made = kw("sniff", str(CAPTURES / name), "--records", "-o", "ndjson", "-q").out
    assert '"$type":' in made or name == "telemetry.pcapng"
    found = from_pipe(made, "sniff", "-o", "ndjson")
    assert "no exchange" not in found.err
    assert found.out == made
    asked = ("sniff", "-f", "value ~ PLAINTEXT", "-o", "ndjson", "-q")
    assert from_pipe(made, *asked).out == kw(*asked, str(CAPTURES / name), "--records").out


FILTERS = (
    *(text for text, _ in ROWS[::2] if text),
    *(
        "partition == 1",
        "records > 5",
        "key",
        "value ~ a",
        "header.trace == 4bf92f35",
        "side == request",
        "value == null",
    ),
)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("text", sampled(FILTERS, 3))
def test_filters_pass_the_same(written: Path, text: str) -> None:
    name = "first-steps.pcapng"
    words = ("-f", text, "-o", "ndjson", "-q", "--records")
    assert kw("sniff", str(written / f"{name}.ndjson"), *words) == kw("sniff", str(CAPTURES / name), *words)


def test_a_pipe_holds_records_as_well(written: Path) -> None:
    text = "\n".join(lines_of(written)) + "\n"
    expected = kw("stats", TOUR, "-o", "csv").out
    assert from_pipe(text, "stats", "-o", "csv").out == expected
    assert from_pipe("\ufeff" + text.replace("\n", "\r\n"), "stats", "-o", "csv").out == expected
    assert from_pipe("\n \n" + text.replace("\n", "\n\n"), "stats", "-o", "csv").out == expected
    assert from_pipe(text.rstrip("\n"), "stats", "-o", "csv").out == expected
    assert from_pipe(kw("sniff", TOUR, "-o", "json").out, "stats", "-o", "csv").out == expected
    assert from_pipe(gzip.compress(text.encode()), "stats", "-o", "csv").out == expected
    assert from_pipe(zstandard.compress(text.encode()), "stats", "-o", "csv").out == expected


@pytest.mark.long
def test_records_are_known_by_what_they_hold(written: Path, tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_text("\n".join(lines_of(written)))
    (tmp_path / "x.ndjson").write_bytes(Path(TOUR).read_bytes())
    expected = kw("sniff", TOUR, "-o", "text").out
    assert [kw("sniff", str(tmp_path / name), "-o", "text").out for name in ("x.pcap", "x.ndjson")] == [expected] * 2


def test_captures_and_records_are_read_together(written: Path) -> None:
    other = str(CAPTURES / "sasl-raw.pcap")
    expected = kw("sniff", TOUR, other, "--sort", "time", "-o", "csv").out.splitlines()
    for names in ((str(written / "tour.pcapng.ndjson"), other), (other, str(written / "tour.pcapng.ndjson"))):
        found = kw("sniff", *names, "--sort", "time", "-o", "csv")
        assert found.code == Exit.DONE
        # A connection has the number that its own file gives it.
        assert [_unnumbered(line) for line in found.out.splitlines()] == [_unnumbered(line) for line in expected]


def _unnumbered(line: str) -> list[str]:
    cells = line.split(",")
    return cells[:7] + cells[8:-1]


def test_ports_are_those_of_brokers(written: Path) -> None:
    words = ("--port", "9093", "-o", "csv", "-q")
    assert kw("stats", str(written / "tour.pcapng.ndjson"), *words) == kw("stats", TOUR, *words)


def test_the_closing_line_counts(written: Path) -> None:
    said = kw("sniff", str(written / "tour.pcapng.ndjson"), "-o", "csv").err.split(" · ")
    expected = kw("sniff", TOUR, "-o", "csv").err.split(" · ")
    assert said[:2] == expected[:2]
    assert (said[2], expected[2]) == ("193 lines", "945 packets")


def test_what_is_wrong_with_a_line_is_told_and_the_others_are_read(written: Path) -> None:
    good = lines_of(written)
    broken = [
        "nix",
        '{"kind":"message","side":"request"}',
        '{"kind":"exchange","schema":1}',
        "[1]",
        "7",
        "null",
        good[0][:99],
    ]
    found = from_pipe("\n".join([*good[:5], *broken, *good[5:]]), "sniff", "-o", "csv")
    assert found.code == Exit.FAILURE
    assert without_file(found) == without_file(kw("sniff", TOUR, "-o", "csv"))
    told = found.err.splitlines()
    assert told[0].startswith("kw: standard input: line 6: no JSON (")
    assert told[1] == 'kw: standard input: line 7: no exchange, but a record of kind "message"'
    assert told[2] == "kw: standard input: line 8: no exchange record: it has no time"
    assert told[3] == "kw: standard input: 4 more lines are no exchanges"
    assert told[4].startswith("193 exchanges, ")


def test_a_last_line_that_is_cut_off(written: Path) -> None:
    text = "\n".join(lines_of(written)[:9])
    found = from_pipe(text[:-20], "stats", "-o", "csv")
    assert (found.code, found.err.splitlines()[0]) == (
        Exit.FAILURE,
        "kw: standard input: line 9: cut off inside a record",
    )


@pytest.mark.parametrize("text", ['{"a": 1}', "[project]\nname = 3\n", "{\n  1\n}\n", '{"kind":"statistics"}\n', "[5"])
def test_what_is_no_record_at_all_is_one_line(text: str) -> None:
    found = from_pipe(text, "sniff", "-q")
    assert (found.code, found.out) == (Exit.FAILURE, "")
    assert found.err.startswith("kw: standard input: neither a capture nor NDJSON of kw: line ")
    assert found.err.count("\n") == 1


def test_bytes_that_a_record_does_not_have_are_not_shown(written: Path) -> None:
    found = kw("sniff", str(written / "tour.pcapng.ndjson"), "-o", "hex")
    assert (found.code, found.err.count("\n")) == (Exit.USAGE, 1)
    assert "-o hex shows bytes" in found.err


def test_records_that_are_not_in_the_file_are_told_of() -> None:
    text = kw("sniff", TOUR, "-o", "ndjson").out
    found = from_pipe(text, "sniff", "-o", "csv", "-f", "key == a")
    assert found.code == Exit.DONE
    assert "filters cannot match them (write the file with --records)" in found.err
    assert "--records" not in from_pipe(text, "sniff", "-o", "csv", "-f", "records > 5").err


def test_a_call_has_no_packets_and_a_latency(written: Path) -> None:
    """Records as `kw call -o ndjson` writes them: with a latency and no packets, and without an answer (--dry-run)."""
    record = json.loads(lines_of(written)[3])
    record["packets"] = {"request": None, "response": None}
    unsent = record | {"client": None, "broker": None, "response": None, "response_size": None, "status": "not_sent"}
    unsent |= {"latency_ms": None, "duration_ms": None}
    (row,) = map(json.loads, from_pipe(json.dumps(record), "stats", "-o", "ndjson").out.splitlines())
    assert (row["values"], row["sum"]) == (1, record["latency_ms"])
    for words in (("stats", "-o", "csv"), ("sniff", "-o", "text"), ("sniff", "-o", "csv")):
        assert from_pipe(json.dumps(unsent), *words).code == Exit.DONE


def test_lines_come_out_as_they_go_in(written: Path) -> None:
    """A record is given as soon as its line has ended, in whatever pieces the bytes come."""
    text = "\n".join(lines_of(written)[:20]).encode() + b"\n"
    whole = RecordLines()
    expected = [row.time_ns for row in whole.feed(text)]
    assert len(expected) == 20
    for size in (1, 7, 1000):
        lines, found = RecordLines(), []
        for at in range(0, len(text), size):
            ended = text[: at + size].count(b"\n")
            found += lines.feed(text[at : at + size])
            assert len(found) == ended
        assert [row.time_ns for row in found] == expected
        assert (lines.finish(), lines.lines, lines.broken) == ([], 20, 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["base64", "redacted", "name", "x"]), inner)
    ),
    max_leaves=5,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in items for place in _places(inner, (*path, key)))]


@pytest.mark.long
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_record_breaks_the_reader(written: Path, data: st.DataObject) -> None:
    """A record with one value replaced at random is read, or its line is told as broken."""
    name = data.draw(st.sampled_from(["tour.pcapng", "first-steps.pcapng"]))
    record = json.loads(data.draw(st.sampled_from(lines_of(written, name))))
    *steps, last = data.draw(st.sampled_from([place for place in _places(record) if place]))
    owner = record
    for step in steps:
        owner = owner[step]
    if data.draw(st.booleans()) or not isinstance(owner, dict):
        owner[last] = data.draw(JSON)
    else:
        del owner[last]
    line = json.dumps(record)
    for words in (
        ("stats", "--by", "partition,software"),
        ("stats", "--metric", "records", "--by", "topic"),
        ("sniff", "-v"),
    ):
        found = from_pipe(line, *words, "-o", "text")
        assert found.code in (Exit.DONE, Exit.FAILURE), found.err
        assert "defect" not in found.err


def test_a_line_that_is_too_long_is_passed_over(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.messages.read_ndjson.RECORD_LINE_MAX", 5000)
    lines = lines_of(written)
    long = [number for number, line in enumerate(lines, 1) if len(line.encode()) > 5000]
    reader = RecordLines()
    assert len(reader.feed(("\n".join(lines) + "\n").encode())) == len(lines) - len(long)
    assert long
    assert [problem.line for problem in reader.problems] == long[:3]
