"""`kw sniff FILES -w OUT`: packets cut out of captures give exactly the rows that were chosen."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest
from scapy.utils import PcapNgReader

from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.exchange_json import to_json_dict
from decoders.tls.key_log import KeyLog
from kwcli.main import run
from kwcli.run_environment import Exit
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import Outcome, kw, world, written
from tests.sampling import sampled

# Keys that cutting changes, and keys that packets left out had taught.
CHANGED = {"packets", "connection", "closed", "file"}
ELSEWHERE = {"library", "node", "group", "transaction"}  # from other connections too
LEARNT = {"client_software", "user", "mechanism", "fetch_session", *ELSEWHERE}
FILTERS: list[list[str]] = [
    [],
    ["--errors"],
    ["-f", "api == Metadata"],
    ["-f", "api == Fetch"],
    ["-f", "api == Produce"],
    ["-f", "api == Envelope"],
    ["-f", "latency > 5ms"],
    ["-f", "status != complete"],
    ["-f", "size > 100 and size < 300"],
    ["--limit", "40"],
    ["--sort", "latency", "-n", "5"],
]
DRAWN: list[Any] = [(name, *Random(name).sample(FILTERS[1:9], 2)) for name in CLEAN]
TLS = FOLDER / "tls" / "librdkafka-jsse.pcap"
KEYS = FOLDER / "tls" / "librdkafka-jsse.keys"
THREE = str(FOLDER / "three-nodes.pcapng.zst")


def rows(outcome: Outcome, dropped: set[str]) -> list[str]:
    found: list[dict[str, Any]] = [json.loads(line) for line in outcome.out.splitlines()]
    for row in found:
        asked = (row.get("fetch_session") or {}).get("partitions")
        if asked is not None and dropped >= ELSEWHERE:  # with names or ids that other connections taught
            row["fetch_session"]["partitions"] = sorted(asked.values())
    return sorted(json.dumps({key: value for key, value in row.items() if key not in dropped}) for row in found)


def check(name: str, words: list[str], out: Path, *, whole: bool) -> None:
    """Cut packets out of a capture, read the new file, and compare its rows."""
    asked = ["sniff", str(FOLDER / name), *words, "--records", "-o", "ndjson"]
    plain = kw(*asked)
    cut = kw(*asked, "-w", str(out), *(["--whole-connections"] if whole else []))
    assert (cut.code, cut.out) == (plain.code, plain.out)
    dropped = CHANGED | (LEARNT if words and not whole else ELSEWHERE if words else set())
    again = kw("sniff", str(out), *(words if whole else []), "--records", "-o", "ndjson")
    assert again.code == Exit.DONE
    assert rows(again, dropped) == rows(plain, dropped)
    assert ("gap" in again.err) <= ("gap" in plain.err)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    if plain.out:
        with PcapNgReader(str(out)) as packets:  # another reader
            count = sum(1 for _ in packets)
        assert f"{out}: {count:,} packet" in cut.err


@pytest.mark.one_in(2)
@pytest.mark.parametrize("row", sampled(DRAWN, 3), ids=[row[0] for row in DRAWN])
def test_the_rows_come_back(row: tuple[str, list[str], list[str]], tmp_path: Path) -> None:
    name, one, other = row
    check(name, one, tmp_path / "one.pcapng", whole=False)
    check(name, other, tmp_path / "other.pcapng", whole=True)


@pytest.mark.full
@pytest.mark.parametrize("words", FILTERS, ids=" ".join)
@pytest.mark.parametrize("name", CLEAN)
def test_the_rows_come_back_whatever_was_chosen(name: str, words: list[str], tmp_path: Path) -> None:
    check(name, words, tmp_path / "cut.pcapng", whole=False)
    if "--limit" not in words and "-n" not in words:
        check(name, words, tmp_path / "whole.pcapng", whole=True)


def test_tables_have_the_rows_that_were_chosen(tmp_path: Path) -> None:
    out = tmp_path / "cut.pcapng"
    kw("sniff", str(TLS), "--keylog", str(KEYS), "--api", "Produce", "-w", str(out), "--with-keys")
    assert kw("pipeline", "run", str(out), "--out", str(tmp_path / "tables"), "-q").code == Exit.DONE
    (tables,) = (tmp_path / "tables" / "exchanges").rglob("*.parquet")
    told = [json.loads(line)["correlation_id"] for line in kw("sniff", str(out), "-o", "ndjson").out.splitlines()]
    assert pq.read_table(tables).column("correlation_id").to_pylist() == told
    assert len(told) == 2


class AtWork:
    """Passes all calls on to the engine in `engine`, which a test may replace."""

    engine: Engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


DECRYPTED = [str(TLS), "--keylog", str(KEYS), "--api", "Produce"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", [DECRYPTED, [THREE, "-f", "api == Fetch"]])
def test_what_its_notes_say_is_handed_over(words: list[str], tmp_path: Path) -> None:
    """The notes in a cut file survive a handover between engines after any piece of the file."""
    out = tmp_path / "cut.pcapng"
    kw("sniff", *words, "-w", str(out), *(["--with-keys"] if "--keylog" in words else []))
    data = out.read_bytes()
    keys, reader, at_work = KeyLog(), CaptureReader(), AtWork()
    at_work.engine = Engine(keys=keys)
    reader.on_secrets, reader.cut_receiver = keys.add_lines, at_work
    found: list[Settled] = []
    for at in range(0, len(data), 4096):
        found += at_work.engine.feed(reader.feed(data[at : at + 4096]))
        state = at_work.engine.export()
        at_work.engine = Engine(keys=keys)
        at_work.engine.resume(state)
        assert at_work.engine.export() == state
    found += at_work.engine.feed(reader.finish()) + at_work.engine.finish()
    given = [to_json_dict(each) for each in found if isinstance(each, Exchange)]
    told = [json.loads(line) for line in kw("sniff", str(out), "-o", "ndjson").out.splitlines()]
    told = [row for row in told if row["kind"] == "exchange"]
    for row in given + told:
        row.pop("library", None)
        row.pop("fetch_session", None)  # the state of a session that this engine was not asked to keep
    assert sorted(map(orjson.dumps, given)) == sorted(map(orjson.dumps, told))
    assert len(given) > 1


def test_a_cut_is_cut_again(tmp_path: Path) -> None:
    first, second = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    tour = str(FOLDER / "tour.pcapng")
    kw("sniff", tour, "-f", "api == Fetch or api == Produce", "-w", str(first), "-o", "ndjson")
    direct = kw("sniff", tour, "-f", "api == Fetch", "-o", "ndjson")
    kw("sniff", str(first), "-f", "api == Fetch", "-w", str(second), "-o", "ndjson")
    dropped = CHANGED | LEARNT
    assert rows(kw("sniff", str(second), "-o", "ndjson"), dropped) == rows(direct, dropped)


def test_several_files_and_standard_input(tmp_path: Path) -> None:
    names = [str(FOLDER / name) for name in ("tour.pcapng", "first-steps.pcapng")]
    out = tmp_path / "out.pcapng"
    plain = kw("sniff", *names, "-f", "api == Metadata", "-o", "ndjson")
    kw("sniff", *names, "-f", "api == Metadata", "-o", "ndjson", "-w", str(out))
    dropped = CHANGED | LEARNT
    assert rows(kw("sniff", str(out), "-o", "ndjson"), dropped) == rows(plain, dropped)
    data = (FOLDER / "tour.pcapng").read_bytes()
    piped = kw("sniff", "-", "-f", "api == Metadata", "-o", "ndjson", "-w", str(out), env=world(stdin=data))
    assert rows(kw("sniff", str(out), "-o", "ndjson"), dropped) == rows(piped, dropped)


def test_the_first_packet_of_an_exchange_names_it(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    kw("sniff", str(FOLDER / "tour.pcapng"), "-f", "api == CreateTopics", "-w", str(out))
    assert b"CreateTopics v" in out.read_bytes()


def test_rows_out_of_tls_take_their_connection_and_keys_only_when_asked(tmp_path: Path) -> None:
    asked = ["sniff", str(TLS), "--keylog", str(KEYS), "-f", "api == Produce", "-o", "ndjson"]
    plain = kw(*asked)
    assert plain.out
    out = tmp_path / "out.pcapng"
    without = kw(*asked, "-w", str(out))
    assert "has no TLS keys" in without.err
    secrets = [line.split()[-1] for line in KEYS.read_text().splitlines() if line and line[0] != "#"]
    assert not any(secret.encode() in out.read_bytes() for secret in secrets)
    assert kw("sniff", str(out), "-o", "ndjson").out.count('"kind":"exchange"') == 0
    dropped = CHANGED | LEARNT
    assert rows(kw("sniff", str(out), "--keylog", str(KEYS), "-o", "ndjson"), dropped) == rows(plain, dropped)
    given = kw(*asked, "-w", str(out), "--with-keys")
    assert "anyone who has the file can decrypt them" in given.err
    assert rows(kw("sniff", str(out), "-o", "ndjson"), dropped) == rows(plain, dropped)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_what_was_there_stays_until_the_file_is_whole(tmp_path: Path) -> None:
    tour = tmp_path / "tour.pcapng"
    tour.write_bytes((FOLDER / "tour.pcapng").read_bytes())
    same = kw("sniff", str(tour), "-w", str(tour))
    assert (same.code, "one of the captures to read" in same.err) == (Exit.USAGE, True)
    assert tour.read_bytes() == (FOLDER / "tour.pcapng").read_bytes()
    full = kw("sniff", str(tour), "-w", "/dev/full", "-o", "ndjson")
    assert full.code == Exit.FAILURE
    assert "kw: /dev/full: no space left on device; it is not written" in full.err
    assert full.out == kw("sniff", str(tour), "-o", "ndjson").out


@pytest.mark.parametrize(
    ("out", "source", "said"),
    [
        ("-", "tour.pcapng", "-w -: rows go to standard output; name a file: -w OUT.pcapng"),
        ("$TMP/a.pcapng.gz", "tour.pcapng", "kw writes captures uncompressed: leave .gz out"),
        ("$TMP/a.pcap.zst", "tour.pcapng", "kw writes captures uncompressed: leave .zst out"),
        ("$TMP/a.pcapng", "$TMP/fifo", "-w reads its input twice, but this can be read only once: give it as `-`"),
    ],
)
def test_what_cannot_be_written_or_read_twice(out: str, source: str, said: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    out, source = (word.replace("$TMP", str(tmp_path)) for word in (out, source))
    refused = kw("sniff", str(FOLDER / source), "-w", out)
    assert (refused.code, said in refused.err, refused.out) == (Exit.USAGE, True, "")
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_frames_are_what_decode_reads() -> None:
    asked = ["sniff", str(FOLDER / "tour.pcapng"), "-f", "api == Fetch"]
    made: list[dict[str, Any]] = [json.loads(line) for line in kw(*asked, "-o", "ndjson").out.splitlines()]
    memory = world()
    assert run([*asked, "-o", "raw", "-q"], memory) == Exit.DONE
    frames = written(memory.stdout)
    read = [json.loads(line) for line in kw("decode", "-", "-o", "ndjson", env=world(stdin=frames)).out.splitlines()]
    assert [row["body"] for row in read] == [row[side] for row in made for side in ("request", "response") if row[side]]
    refused = kw(*asked, "-o", "raw", env=world(terminal=True))
    assert (refused.code, "not for a terminal" in refused.err) == (Exit.USAGE, True)
