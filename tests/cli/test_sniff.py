"""`kw sniff` as a whole, on the captures that ship: formats, filters, several files, bad files, exit codes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
from pathlib import Path
from typing import Any

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest
import zstandard

from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw, world

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
FIRST = str(CAPTURES / "first-steps.pcapng")
TOUR = str(CAPTURES / "tour.pcapng")
THREE = str(CAPTURES / "three-nodes.pcapng.zst")


def records(*words: str) -> list[dict[str, Any]]:
    """The rows that `kw sniff WORDS… -o ndjson` prints."""
    outcome = kw("sniff", *words, "-o", "ndjson")
    assert outcome.code == Exit.DONE
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.fixture(scope="module")
def everything() -> list[dict[str, Any]]:
    return records(FIRST)


def exchanges(outcome: Outcome) -> int:
    return len(outcome.out.splitlines())


# -- formats ----------------------------------------------------------------------------------------------------------


def test_ndjson_is_records_and_nothing_else(everything: list[dict[str, Any]]) -> None:
    outcome = kw("sniff", FIRST, "-o", "ndjson")
    assert outcome.code == Exit.DONE
    assert [json.loads(line) for line in outcome.out.splitlines()] == everything
    assert outcome.err.startswith(f"{len(everything)} exchanges, ")
    assert outcome.err.count("\n") == 1


def test_a_terminal_gets_text_that_fits(everything: list[dict[str, Any]]) -> None:
    outcome = kw("sniff", FIRST, env=world(terminal=True, columns=80))
    header, *lines = outcome.out.splitlines()
    assert "\x1b[" in header
    below = [line for line in lines if line.startswith(" ")]  # errors that have no room beside their topics
    assert len(lines) - len(below) == len(everything)
    assert 0 < len(below) <= sum(bool(row["errors"]) or row["status"] == "unanswered" for row in everything)
    plain = kw("sniff", FIRST, env=world(terminal=True, columns=80, variables={"NO_COLOR": "1"})).out
    assert "\x1b" not in plain
    assert all(len(line) <= 80 for line in plain.splitlines())


def test_the_array_is_the_lines(everything: list[dict[str, Any]]) -> None:
    assert json.loads(kw("sniff", FIRST, "-o", "json").out) == everything
    assert json.loads(kw("sniff", FIRST, "-o", "json", "--api", "Vote").out) == []


def test_csv_has_the_scalar_keys(everything: list[dict[str, Any]]) -> None:
    header, *rows = csv.reader(io.StringIO(kw("sniff", FIRST, "-o", "csv").out))
    scalars = [name for name, value in everything[0].items() if not isinstance(value, dict | list)]
    assert header == [*scalars[: len(header) - 5], "topics", "group", "error", "node", "file"]
    assert header[-6] == "reason"
    for row, record in zip(rows, everything, strict=True):
        assert row[header.index("correlation_id")] == str(record["correlation_id"])
        assert row[header.index("client")] == record["client"]


def test_the_table_has_a_line_for_each(everything: list[dict[str, Any]]) -> None:
    assert len(kw("sniff", FIRST, "-o", "table").out.splitlines()) == len(everything) + 1


def test_text_in_a_pipe_is_never_shortened() -> None:
    assert "…" not in kw("sniff", TOUR, "-o", "text").out
    assert "…" in kw("sniff", TOUR, "-o", "text", env=world(columns=80)).out


@pytest.mark.one_in(3)
@pytest.mark.parametrize("option", ["-v", "-vv", "--records"])
@pytest.mark.parametrize("columns", [80, 200, None])
def test_bodies_and_records_fit(option: str, columns: int | None) -> None:
    outcome = kw("sniff", TOUR, "-o", "text", option, env=world(columns=columns))
    lines = outcome.out.splitlines()
    assert outcome.code == Exit.DONE
    assert len(lines) > len(kw("sniff", TOUR, "-o", "text").out.splitlines())
    assert columns is None or max(map(len, lines)) <= columns
    assert all(line.isprintable() for line in lines)


def test_records_are_shown_when_asked_for() -> None:
    def batches(*words: str) -> list[dict[str, Any]]:
        return [
            batch
            for record in records(FIRST, "--api", "Produce", *words)
            for topic in record["request"]["topic_data"]
            for part in topic["partition_data"]
            for batch in part["records"]
        ]

    assert batches()
    assert not any("records" in batch for batch in batches())
    assert all(len(batch["records"]) == batch["record_count"] for batch in batches("--records"))


# -- filters ----------------------------------------------------------------------------------------------------------


def test_api(everything: list[dict[str, Any]]) -> None:
    for words in (["--api", "Produce", "--api", "fetch"], ["--api", "0,1"], ["--api", "PRODUCE,1"]):
        assert records(FIRST, *words) == [record for record in everything if record["api_key"] in (0, 1)]


def test_client_id(everything: list[dict[str, Any]]) -> None:
    wanted = [record for record in everything if (record["client_id"] or "").startswith("checkout-")]
    assert wanted
    assert records(FIRST, "--client-id", "checkout-*") == wanted


def test_topic(everything: list[dict[str, Any]]) -> None:
    found = records(FIRST, "--topic", "ord*")
    assert {record["api"] for record in found} >= {"Produce", "Fetch", "Metadata", "CreateTopics"}
    for record in everything:
        named = "orders" in (
            json.dumps(record["request"]) + json.dumps(record["response"]) + str(record.get("topic_names"))
        )
        if record["api"] in ("Produce", "Fetch", "ListOffsets", "Heartbeat", "ApiVersions"):
            assert (record in found) == named
    assert records(FIRST, "--topic", "ORD*") == []


def test_errors(everything: list[dict[str, Any]]) -> None:
    found = records(FIRST, "--errors")
    assert all(_wrong(record) or record["status"] == "unanswered" for record in found)
    assert [record for record in everything if _wrong(record)] == [record for record in found if _wrong(record)]
    every = records(FIRST, "--errors", "all")
    assert [record for record in everything if record["errors"]] == [record for record in every if record["errors"]]
    assert len(every) > len(found)


def _wrong(record: dict[str, Any]) -> bool:
    return any("expected" not in error for error in record["errors"])


def test_slower_than(everything: list[dict[str, Any]]) -> None:
    wanted = [record for record in everything if (record["latency_ms"] or 0) > 50]
    assert wanted
    assert records(FIRST, "--slower-than", "50ms") == wanted
    assert records(FIRST, "--slower-than", "0.05s") == wanted


def test_limit_counts_what_is_shown(everything: list[dict[str, Any]]) -> None:
    produces = [record for record in everything if record["api"] == "Produce"]
    assert records(FIRST, "--api", "Produce", "--limit", "3") == produces[:3]


def test_limit_stops_reading() -> None:
    class Endless(io.RawIOBase):
        """A capture that never ends: after its bytes, nothing more may be read from it."""

        def __init__(self) -> None:
            self.left = io.BytesIO(Path(FIRST).read_bytes())

        def read1(self, size: int = -1) -> bytes:
            data = self.left.read(min(size, 4096))
            assert data, "read beyond the limit"
            return data

    env = world()
    env.stdin = Endless()
    assert exchanges(kw("sniff", "-", "--limit", "2", env=env)) == 2


def test_sort_time(everything: list[dict[str, Any]]) -> None:
    found = records(FIRST, "--sort", "time")
    assert [record["time"] for record in found] == sorted(record["time"] for record in everything)
    assert len(found) == len(everything)


def test_port() -> None:
    def ports(*words: str) -> set[str]:
        found = records(THREE, *words)
        return {record["broker"].rpartition(":")[2] for record in found if record["kind"] == "exchange"}

    assert len(ports()) > 2
    one, two, *_ = sorted(ports())
    assert ports("--port", one) == {one}
    assert ports("--port", f"{one},{two}") == ports("--port", one, "--port", two) == {one, two}


def test_the_summary_says_how_many_of_how_many(everything: list[dict[str, Any]]) -> None:
    err = kw("sniff", FIRST, "--api", "Produce").err
    assert f" of {len(everything)} exchanges, " in err
    assert kw("sniff", FIRST, "-q").err == ""


# -- inputs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "compress", [bytes, gzip.compress, zstandard.compress, lz4.frame.compress], ids=["plain", "gz", "zst", "lz4"]
)
def test_standard_input(everything: list[dict[str, Any]], compress: Any) -> None:
    outcome = kw("sniff", "-", env=world(compress(Path(FIRST).read_bytes())))
    assert [json.loads(line) for line in outcome.out.splitlines()] == everything


@pytest.mark.long
def test_several_files_are_merged_by_time(everything: list[dict[str, Any]]) -> None:
    assert len(records(FIRST, TOUR)) == len(everything) + len(records(TOUR))
    assert sorted(map(json.dumps, _anonymous(records(TOUR, FIRST)))) == sorted(
        map(json.dumps, _anonymous(records(FIRST, TOUR)))
    )


def _anonymous(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records without connection numbers, which depend on which capture is read first."""
    return [
        {name: value for name, value in record.items() if name not in ("connection", "topic_names")} for record in found
    ]


def test_good_files_are_shown_before_the_bad_ones_are_told(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    bad = tmp_path / "x.pcap"
    bad.write_bytes(b"%PDF-1.7")
    outcome = kw("sniff", str(bad), FIRST, str(tmp_path / "missing.pcap"), f"{bad}/")
    assert outcome.code == Exit.FAILURE
    assert exchanges(outcome) == len(everything)
    assert sorted(outcome.err.splitlines()[:3]) == sorted(
        [
            f'kw: {bad}: not a capture: starts with "%PDF" (kw reads pcap and pcapng, also .gz .zst .lz4)',
            f"kw: {tmp_path}/missing.pcap: no such file",
            f"kw: {tmp_path}/x.pcap/: not a directory",
        ]
    )


@pytest.mark.parametrize(
    "data", [b"", b"x", b"%PDF-1.7", b"\x1f\x8b", gzip.compress(b"", mtime=0), b"\x0a\x0d\x0d\x0a"]
)
def test_what_is_no_capture_is_one_line(data: bytes) -> None:
    outcome = kw("sniff", "-", "-q", env=world(data))
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert outcome.err.startswith("kw: standard input: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("keep", [30, 100, 20_000, -1])
def test_what_came_before_a_cut_is_shown(everything: list[dict[str, Any]], keep: int) -> None:
    data = Path(FIRST).read_bytes()[:keep]
    outcome = kw("sniff", "-", "-q", env=world(data))
    assert outcome.code == Exit.FAILURE
    assert outcome.err.startswith("kw: standard input: cut off at byte ")
    assert outcome.err.count("\n") == 1
    shown = [json.loads(line) for line in outcome.out.splitlines()]
    complete = [record for record in shown if record["kind"] == "exchange" and record["status"] == "complete"]
    assert all(record in everything for record in complete)
    assert (f"{len(shown):,} exchange" if shown else "no exchange before it") in outcome.err


@pytest.mark.parametrize("at", range(0, 20_000, 997))
def test_flipped_bytes_end_in_one_line_at_most(at: int) -> None:
    data = bytearray(Path(FIRST).read_bytes()[:40_000])
    data[at : at + 3] = bytes(255 - byte for byte in data[at : at + 3])
    outcome = kw("sniff", "-", "-q", "-o", "text", "-v", env=world(bytes(data)))
    assert outcome.code == Exit.FAILURE  # at the latest at the cut end of the capture
    assert outcome.err.count("\n") == 1
    assert "defect" not in outcome.err


def test_a_capture_without_kafka() -> None:
    outcome = kw("sniff", str(CAPTURES / "negative" / "redis.pcap"), "-o", "text")
    assert (outcome.code, outcome.out) == (Exit.DONE, "")
    fault, closing = outcome.err.splitlines()
    assert fault == "kw: the capture has no Kafka; connections: 5 Redis (port 29145)"
    assert closing.startswith("0 exchanges, 5 other connections")


def test_an_empty_capture() -> None:
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    outcome = kw("sniff", "-", env=world(header))
    assert (outcome.code, outcome.out) == (Exit.DONE, "")
    fault, closing = outcome.err.splitlines()
    assert fault == "kw: the capture has no packets: check its filter and its interface"
    assert closing.startswith("0 exchanges · 0 packets · ")


# -- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "kw: give capture files, or - for standard input, or -i IFACE, or --on 'COMMAND'; see kw sniff --help"),
        (["x", "-i", "lo"], "kw: x and -i lo: not both; give files, or an interface; see kw sniff --help"),
        (["x", "y", "-i", "lo"], "kw: x, y and -i lo: not both"),
        (["x", "-o", "csv", "--records"], "kw: --records has no effect with -o csv, which has no bodies"),
        (["x", "--bpf", "tcp"], "kw: --bpf is for a live capture: it needs -i IFACE; see kw sniff --help"),
        (["x", "--api", "Metadta"], "kw: no API has the name 'Metadta' (did you mean \"Metadata\"?)"),
        (["x", "--api", "zzz"], "kw: no API has the name 'zzz'"),
        (["x", "--slower-than", "100x"], "kw: invalid value for '--slower-than': '100x' is no duration"),
        (["x", "--port", "0"], "kw: invalid value for '--port': '0' is no port"),
        (["x", "--limit", "0"], "kw: invalid value for '-n' / '-c' / '--limit': '0' is no number of rows"),
        (["x", "-o", "xml"], "kw: invalid value for '-o' / '--output': 'xml' is not one of"),
        (["x", "-g", "api"], "kw: no such option '-g'"),
    ],
)
def test_usage(words: list[str], line: str) -> None:
    outcome = kw("sniff", *words)
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert outcome.err.startswith(line)
    assert outcome.err.count("\n") == 1


def test_strict() -> None:
    whole = kw("sniff", FIRST, "--strict")
    assert whole.code == Exit.DONE
    # The same capture without a few of its packets in the middle.
    data = Path(FIRST).read_bytes()
    torn = _without_packets(data, range(400, 404))
    assert kw("sniff", "-", "--strict", env=world(torn)).code == Exit.LOSSY
    assert kw("sniff", "-", env=world(torn)).code == Exit.DONE


def _without_packets(data: bytes, gone: range) -> bytes:
    """A pcapng without the packets of these numbers."""
    kept, at, number = [], 0, 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        number += kind == 6
        if kind != 6 or number not in gone:
            kept.append(data[at : at + size])
        at += size
    return b"".join(kept)


def test_an_interrupt_keeps_what_was_decoded() -> None:
    class Interrupted(io.RawIOBase):
        """A capture during whose reading Ctrl-C is pressed."""

        def __init__(self) -> None:
            self.left = io.BytesIO(Path(FIRST).read_bytes()[:60_000])

        def read1(self, size: int = -1) -> bytes:
            data = self.left.read(min(size, 20_000))
            if not data:
                raise KeyboardInterrupt
            return data

    env = world()
    env.stdin = Interrupted()
    outcome = kw("sniff", "-", "-o", "json", env=env)
    assert outcome.code == Exit.INTERRUPTED
    assert len(json.loads(outcome.out)) > 10
    assert "exchanges" in outcome.err


def test_a_closed_pipe_ends_quietly() -> None:
    class Closed(io.BytesIO):
        def write(self, _data: Any) -> int:
            raise BrokenPipeError

    env = world()
    env.stdout = Closed()
    outcome = kw("sniff", FIRST, env=env)
    assert (outcome.code, outcome.out, outcome.err) == (Exit.DONE, "", "")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
@pytest.mark.parametrize("output", ["text", "ndjson"])
def test_every_capture_that_ships_is_decoded_whole(path: Path, output: str) -> None:
    outcome = kw("sniff", str(path), "-o", output, "--strict", env=world(columns=120))
    assert outcome.code == Exit.DONE
    assert "gap" not in outcome.err
