"""A watch of captures that appear in any way leaves the tables of a run over all of them."""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import stat
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.pipeline.store.finish_commits import COMMITS, read_newest_commit
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.replace_folders_of_tables import find_tables, open_store
from kwcli.pipeline.watch import watch_captures
from kwcli.pipeline.watch.decode_batch import decode_points
from kwcli.run_environment import Exit, Failure
from tests.bench.watch import soak
from tests.captures.shipped import FOLDER, capture_bytes
from tests.pipeline.odd import odd_capture, packets
from tests.pipeline.watched import Watched, run_over, tables_in

RAW: Final = capture_bytes("sasl-raw.pcap")


def ring(folder: Path, capture: bytes, count: int) -> list[Path]:
    """A capture as `count` consecutive files."""
    folder.mkdir()
    kept = list(packets(capture))
    cuts = [len(kept) * number // count for number in range(count + 1)]
    paths = []
    for number in range(count):
        path = folder / f"dump.pcap{number:03}"
        path.write_bytes(capture[:24] + b"".join(kept[cuts[number] : cuts[number + 1]]))
        paths.append(path)
    return paths


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param("raw SASL", marks=pytest.mark.long), "odd"])
def test_files_that_grow_byte_by_byte(tmp_path: Path, name: str) -> None:
    capture = RAW if name == "raw SASL" else odd_capture(20)
    rng = random.Random(name)
    source, aside = tmp_path / "in", tmp_path / "aside"
    kept = ring(aside, capture, 3)
    source.mkdir()
    watched = Watched([str(source)], tmp_path / "out")
    batches = 0
    for path in kept:
        data, at = path.read_bytes(), 0
        while at < len(data):
            step = rng.randint(1, len(data) // 3)
            with open(source / path.name, "ab") as file:
                file.write(data[at : at + step])
            at += step
            watched.clock.now += 1
            batches += watched.read()
    assert batches > 5
    watched.finish()
    assert watched.said == ""
    run_over([str(aside)], tmp_path / "run")
    expected = tables_in(tmp_path / "run")
    assert expected["exchanges"]
    assert tables_in(tmp_path / "out") == expected


@pytest.mark.long
@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.long)])
def test_a_connection_lasts_through_a_ring_of_many_files(tmp_path: Path, count: int) -> None:
    """The ring has four names that are used again and again; each file exists for one batch only."""
    kept = ring(tmp_path / "aside", odd_capture(count), count)
    (tmp_path / "in").mkdir()
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")
    with watched.started() as watching:
        for number, path in enumerate(kept):
            shutil.copy(path, tmp_path / "in" / f"dump.pcap{number % 4}")
            watched.clock.now += 1
            assert watching.run_next_batch() is not None
    watched.finish()
    assert watched.said == ""
    run_over([str(tmp_path / "aside")], tmp_path / "run")
    names = {path.name: f"dump.pcap{number % 4}" for number, path in enumerate(kept)}
    expected = tables_in(tmp_path / "run")
    for rows in expected.values():
        for row in rows:
            for column in ("source_file", "request_end_file", "response_file", "response_end_file"):
                if row.get(column):
                    row[column] = names[row[column]]
    found = tables_in(tmp_path / "out")
    assert len(found["exchanges"]) >= count // 3
    for name, rows in expected.items():
        assert found[name] == sorted(rows, key=lambda row: (row["time_ns"], repr(row)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("packed", [False, True])
def test_closed_files_in_any_order_within_their_lateness(tmp_path: Path, packed: bool) -> None:
    kept = ring(tmp_path / "aside", RAW, 6)
    if packed:
        for path in kept:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
            path.unlink()
    names = sorted(path.name for path in (tmp_path / "aside").iterdir())
    (tmp_path / "in").mkdir()
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", lateness_s=5.0)
    for name in random.Random(packed).sample(names, len(names)):
        shutil.copy(tmp_path / "aside" / name, tmp_path / "in" / name)
        watched.clock.now += 0.5
        assert watched.read() == 0
    watched.clock.now += 6
    with watched.started() as watching:
        watching.run_next_batch()  # a new process sees all of them for the first time
        watched.clock.now += 6
        while watching.run_next_batch() is not None:
            pass
    watched.finish()
    run_over([str(tmp_path / "aside")], tmp_path / "run")
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


@pytest.mark.long
def test_files_side_by_side_are_merged_and_points_are_apart(tmp_path: Path) -> None:
    kept = list(packets(RAW))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "even.pcap").write_bytes(RAW[:24] + b"".join(kept[::2]))
        (tmp_path / name / "odd.pcap").write_bytes(RAW[:24] + b"".join(kept[1::2]))
    points = [(name, str(tmp_path / name / "*.pcap")) for name in ("one", "two")]
    watched = Watched([], tmp_path / "out", *points)
    watched.finish()
    run_over([], tmp_path / "run", *points)
    expected = tables_in(tmp_path / "run")
    assert {row["point"] for row in expected["exchanges"]} == {"one", "two"}
    assert tables_in(tmp_path / "out") == expected


def test_batches_are_bounded_and_the_rest_waits(tmp_path: Path) -> None:
    (tmp_path / "in.pcap").write_bytes(RAW)
    watched = Watched([str(tmp_path / "in.pcap")], tmp_path / "out", batch_size=1 << 16)
    watched_size = len(RAW)
    with watched.started() as watching:
        sizes = []
        while (done := watching.run_next_batch()) is not None:
            sizes.append(done.size)
    assert sum(sizes) == watched_size
    assert max(sizes) <= 1 << 16
    watched.finish()
    run_over([str(tmp_path / "in.pcap")], tmp_path / "run")
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


@pytest.mark.parametrize("packed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_file_that_grows_after_a_long_pause_is_read_on(tmp_path: Path, packed: bool) -> None:
    """A link that is silent for minutes, beside a busy one: its first packets are not the end of its capture."""
    quiet, busy = tmp_path / "in" / "eth0.pcap", tmp_path / "in" / "eth1.pcap"
    quiet.parent.mkdir()
    capture = odd_capture(20)
    begun = int.from_bytes(RAW[24:28], "little") - 1  # seconds, just before the busy one
    kept = [begun.to_bytes(4, "little") + each[4:] for each in packets(capture)]
    begin, rest = capture[:24] + b"".join(kept[:4]), b"".join(kept[4:])
    if packed:  # its end looks like a pause: it is told that more has come behind it
        begin, rest = gzip.compress(begin), gzip.compress(rest)
    quiet.write_bytes(begin)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")
    with watched.started() as watching:
        for _ in range(2):  # one step sees the file, one reads it
            watching.run_next_batch()
            watched.clock.now += 10
        busy.write_bytes(RAW)
        for _ in range(5):
            watching.run_next_batch()
            watched.clock.now += 100
        with quiet.open("ab") as file:
            file.write(rest)
        for _ in range(5):
            watching.run_next_batch()
            watched.clock.now += 10
    watched.finish()
    if packed:
        assert watched.said == f"kw: {quiet}: grew by {len(rest):,} bytes after it was read to its end: they are lost\n"
    else:
        assert watched.said == ""
        run_over([str(tmp_path / "in")], tmp_path / "run")
        assert _unnumbered(tmp_path / "out") == _unnumbered(tmp_path / "run")


def _unnumbered(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables without connection numbers, which depend on the order in which connections were met."""
    return {
        name: [{key: value for key, value in row.items() if key != "connection"} for row in rows]
        for name, rows in tables_in(out).items()
    }


# -- what is lost, late or strange -------------------------------------------------------------------------------------


def test_a_file_that_is_gone_before_its_commit_is_told(tmp_path: Path) -> None:
    first, second = ring(tmp_path / "in", RAW, 2)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", lateness_s=5.0)
    with watched.started() as watching:
        assert watching.run_next_batch() is None
        second.unlink()
        watched.clock.now += 11
        assert watching.run_next_batch() is not None
        assert watched.said == ""
        watched.clock.now += 11
        watching.run_next_batch()
    assert f"kw: {second}: gone before its last " in watched.said
    assert first.exists()
    _, manifest = find_tables(str(tmp_path / "out"))
    assert manifest.facts["lossy"] is True


def test_a_file_that_is_late_is_put_aside_and_told_and_one_after_a_jump_of_the_clock_is_read(tmp_path: Path) -> None:
    first, second, third = ring(tmp_path / "in", RAW, 3)
    for path in (first, second):
        os.utime(path, (1, 1))  # written long ago: the clock has not jumped
    late = second.rename(tmp_path / "late")
    kept = list(packets(third.read_bytes()))
    long_ago = [(int.from_bytes(one[:4], "little") - 7200).to_bytes(4, "little") + one[4:] for one in kept]
    jumped = RAW[:24] + b"".join(long_ago)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", lateness_s=0.001)
    watched.clock.now += 1
    with watched.started() as watching:
        watching.run_next_batch()
        watched.clock.now += 1
        while watching.run_next_batch() is not None:
            pass
        late.rename(second)
        watching.run_next_batch()
        watched.clock.now += 1
        while watching.run_next_batch() is not None:
            pass
        assert f"kw: {second}: begins " in watched.said
        assert watched.said.endswith("set aside, not read\n")
        before = watched.said
        path = tmp_path / "in" / "dump.pcap9"
        path.write_bytes(jumped)
        ended = int.from_bytes(long_ago[-1][:4], "little")
        os.utime(path, (ended + 1, ended + 1))
        os.utime(third, (2, 2))
        watching._captures.last_changed_ns[""] = 0  # as if the others had been written before
        watching.run_next_batch()
        watched.clock.now += 1
        assert watching.run_next_batch() is not None
        assert watched.said == before


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("hours", [2, 24 * 400])
def test_a_clock_that_jumps_forward_inside_a_file_gives_the_rows_of_a_run(tmp_path: Path, hours: int) -> None:
    kept = list(packets(RAW))
    half = len(kept) // 2
    later = [(int.from_bytes(one[:4], "little") + hours * 3600).to_bytes(4, "little") + one[4:] for one in kept[half:]]
    data, at = RAW[:24] + b"".join([*kept[:half], *later]), 0
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "dump.pcap"
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")
    for share in (0.4, 0.49, 0.51, 0.6, 1.0):
        with open(path, "ab") as file:
            file.write(data[at : (end := int(len(data) * share))])
        at = end
        watched.clock.now += 1
        assert watched.read() == 1
    watched.finish()
    assert watched.said == ""
    run_over([str(tmp_path / "in")], tmp_path / "run")
    expected = tables_in(tmp_path / "run")
    assert len({row["time"].date() for row in expected["exchanges"]}) == (1 if hours == 2 else 2)
    assert tables_in(tmp_path / "out") == expected


def test_a_source_that_is_away_for_a_while_is_waited_for(tmp_path: Path) -> None:
    kept = ring(tmp_path / "in", RAW, 2)
    second = kept[1].rename(tmp_path / "second")
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")
    with watched.started() as watching:
        assert watching.run_next_batch() is not None
        (tmp_path / "in").rename(tmp_path / "away")
        for _ in range(5):
            watched.clock.now += 10
            assert watching.run_next_batch() is None
        assert watched.said.count("waiting for it") == 1
        (tmp_path / "away").rename(tmp_path / "in")
        second.rename(kept[1])
        watched.clock.now += 1
        assert watching.run_next_batch() is not None
        assert watched.said.endswith("can be read again\n")
    watched.finish()
    run_over([str(tmp_path / "in")], tmp_path / "run")
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


def test_a_file_that_is_emptied_while_it_is_read_costs_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "in.pcap"
    path.write_bytes(RAW)
    watched = Watched([str(path)], tmp_path / "out")

    def decode(batch: Any, points: Any) -> Any:
        found = [decode_points(batch, points)]
        path.write_bytes(odd_capture(20))
        return found

    with watched.started(decode) as watching:
        size = watching._captures.batch_size
        with pytest.raises(Failure, match="was emptied or replaced while it was read"):
            watching.run_next_batch()
        assert watching._captures.batch_size == size // 2  # for a ring that is faster than a batch
    assert not OutputFolder(str(tmp_path / "out")).list_names(COMMITS)
    watched.finish()
    run_over([str(path)], tmp_path / "run")
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


def test_a_file_that_is_emptied_under_its_writer_is_read_on(tmp_path: Path) -> None:
    """logrotate's copytruncate: zeros stand before the next bytes."""
    half = len(RAW) // 2
    watched = Watched([str(tmp_path / "in.pcap")], tmp_path / "out")
    with (tmp_path / "in.pcap").open("wb", buffering=0) as writer:
        writer.write(RAW[:half])
        watched.read()
        os.truncate(tmp_path / "in.pcap", 0)
        watched.read()
        writer.write(RAW[half:])
    watched.finish()
    assert watched.said == ""
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "in.pcap").write_bytes(RAW)
    run_over([str(tmp_path / "whole")], tmp_path / "run")
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


def test_a_file_that_goes_once_it_is_read_costs_nothing(tmp_path: Path) -> None:
    """Without that, no batch would ever be finished in a ring that is almost too small."""
    kept = ring(tmp_path / "aside", RAW, 3)
    shutil.copytree(tmp_path / "aside", tmp_path / "in")
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")

    def decode(batch: Any, points: Any) -> Any:
        found = [decode_points(batch, points)]
        (tmp_path / "in" / kept[0].name).unlink()
        return found

    with watched.started(decode) as watching:
        assert watching.run_next_batch() is not None
    watched.finish()
    assert watched.said == ""
    run_over([str(tmp_path / "aside")], tmp_path / "run")
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


def test_a_file_that_is_away_before_it_is_read_costs_the_batch(tmp_path: Path) -> None:
    """The file may come back, as on a share that is away for a moment."""
    kept = ring(tmp_path / "in", RAW, 2)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")

    def decode(batch: Any, points: Any) -> Any:
        kept[0].rename(tmp_path / "away")
        return [decode_points(batch, points)]

    with watched.started(decode) as watching, pytest.raises(Failure, match="was emptied or replaced while it was read"):
        watching.run_next_batch()
    (tmp_path / "away").rename(kept[0])
    watched.finish()
    run_over([str(tmp_path / "in")], tmp_path / "run")
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


class Full(OutputFolder):
    """A disk that is full after a number of writes."""

    left = 0

    def _use(self) -> None:
        Full.left -= 1
        if Full.left < 0:
            raise OSError(28, "No space left on device", self.root)

    def open_new(self, path: str) -> Any:
        self._use()
        return super().open_new(path)

    def rename(self, path: str, to: str) -> None:
        self._use()
        super().rename(path, to)


@pytest.mark.long
@pytest.mark.parametrize("renames", [True, False])
def test_a_disk_that_is_full_at_any_step_costs_nothing(tmp_path: Path, renames: bool) -> None:
    kept = ring(tmp_path / "aside", RAW, 4)
    (tmp_path / "in").mkdir()
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", renames=renames)
    failed = 0
    for path in kept:
        shutil.copy(path, tmp_path / "in" / path.name)
        watched.clock.now += 1
        room = 0
        with watched.started() as watching:
            before = watching.batch
            while True:
                Full.left = room
                watching._store.files = Full(watching._store.files.root)
                try:
                    assert watching.run_next_batch() is not None
                    break
                except OSError as error:
                    failed += 1
                    room += 1
                    watching._store.files = OutputFolder(watching._store.files.root)
                    watching._return_to_latest_commit(Failure(str(error)))
                    if watching.batch > before:
                        break  # the disk was full after the commit
    assert failed > 8
    watched.finish()
    run_over([str(tmp_path / "aside")], tmp_path / "run")
    _, manifest = find_tables(str(tmp_path / "out"))
    found = tables_in(tmp_path / "out")
    assert {name: len(rows) for name, rows in found.items()} == {
        name: table.rows for name, table in manifest.tables.items()
    }
    assert found == tables_in(tmp_path / "run")


def test_what_is_kept_is_for_the_owner_alone(tmp_path: Path) -> None:
    ring(tmp_path / "in", RAW, 2)
    Watched([str(tmp_path / "in")], tmp_path / "out").read()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").rglob("*") if path.is_dir()}
    assert modes == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").rglob("*") if path.is_file()} == {0o600}


def test_a_state_does_not_grow_with_who_has_asked(tmp_path: Path) -> None:
    """A watch never ends, and new clients come all the time."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "dump.pcap").write_bytes(RAW)
    assert Watched([str(source)], out).read()
    files = OutputFolder(str(out))
    commit = read_newest_commit(files)
    assert commit is not None
    (state,) = (files.read(path) for path in commit["watch"]["states"].values())
    assert state is not None
    engine = Engine(connections=True)
    engine.resume(state)
    assert engine.summary.exchanges
    assert engine.summary.brokers
    assert not engine.summary.clients


def test_a_folder_belongs_to_a_run_or_to_a_watch(tmp_path: Path) -> None:
    ring(tmp_path / "in", RAW, 2)
    Watched([str(tmp_path / "in")], tmp_path / "out").read()
    with pytest.raises(Failure, match="its tables are those of kw pipeline watch"), open_store(str(tmp_path / "out")):
        pass
    run_over([str(FOLDER / "sasl-raw.pcap")], tmp_path / "run")
    with pytest.raises(Failure, match="has tables of kw pipeline run"):
        Watched([str(tmp_path / "in")], tmp_path / "run").read()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("renames", [True, False])
def test_dates_that_are_old_by_the_clock_of_the_captures_are_dropped(tmp_path: Path, renames: bool) -> None:
    (tmp_path / "in").mkdir()
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", keep_days=30, renames=renames)
    kept = list(packets(RAW))
    for days in (0, 20, 40):
        moved = [(int.from_bytes(one[:4], "little") + days * 86_400).to_bytes(4, "little") + one[4:] for one in kept]
        (tmp_path / "in" / f"{days}.pcap").write_bytes(RAW[:24] + b"".join(moved))
        watched.clock.now += 1
        watched.read()
    watched.finish()
    dates = sorted(path.name for path in (tmp_path / "out" / "exchanges").iterdir() if list(path.iterdir()))
    found = tables_in(tmp_path / "out")["exchanges"]
    assert len(dates) == 2 + dates.count("date=1970-01-01")
    assert len({row["time"].date() for row in found}) == 2
    _, manifest = find_tables(str(tmp_path / "out"))
    assert manifest.tables["exchanges"].rows == len(found)


def test_prometheus_is_told_how_far_it_is(tmp_path: Path) -> None:
    ring(tmp_path / "in", RAW, 2)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")
    with watched.started() as watching:
        assert watching.run_next_batch() is not None
        watched.clock.now += 3
        rows = dict(line.rsplit(" ", 1) for line in watching.format_metrics().splitlines() if not line.startswith("#"))
    assert float(rows["kw_watch_batches_total"]) == 1
    assert float(rows["kw_watch_packets_total"]) == len(list(packets(RAW)))
    assert float(rows["kw_watch_lag_bytes"]) == 0
    assert float(rows["kw_watch_idle_seconds"]) == 3
    last = max(int.from_bytes(one[:4], "little") for one in packets(RAW))
    assert int(float(rows['kw_watch_read_time_seconds{point=""}'])) == last


def test_tls_goes_on_from_batch_to_batch_and_no_key_is_kept(tmp_path: Path) -> None:
    folder = FOLDER / "tls"
    keys = str(folder / "librdkafka-jsse.keys")
    kept = ring(tmp_path / "aside", (folder / "librdkafka-jsse.pcap").read_bytes(), 5)
    (tmp_path / "in").mkdir()
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", keylogs=(keys,))
    for path in kept:
        shutil.copy(path, tmp_path / "in" / path.name)
        watched.clock.now += 1
        assert watched.read() == 1
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    secrets = [
        found[0] for line in Path(keys).read_text().splitlines() if (found := re.findall("[0-9a-fA-F]{64,}$", line))
    ]
    assert len(secrets) > 3
    for secret in secrets:
        assert secret.encode() not in written
        assert bytes.fromhex(secret) not in written
    watched.finish()
    run_over([str(tmp_path / "aside")], tmp_path / "run", keylogs=(keys,))
    expected = tables_in(tmp_path / "run")
    assert len(expected["exchanges"]) > 5
    assert tables_in(tmp_path / "out") == expected


def test_who_reads_once_is_told_by_the_exit_code_of_a_source_that_is_not_there(tmp_path: Path) -> None:
    watched = Watched([str(tmp_path / "none" / "in.pcap")], tmp_path / "out", once=True)
    with watched.started() as watching:
        watching.run_batches()
        assert watching.exit_code() == Exit.FAILURE
    assert watched.said == f"kw: {tmp_path}/none/in.pcap: no such file\n"


def test_what_comes_between_two_batches_waits_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = ring(tmp_path / "aside", RAW, 2)
    (tmp_path / "in").mkdir()
    shutil.copy(first, tmp_path / "in" / first.name)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", lateness_s=5.0, interval_s=10.0)
    begun = watched.clock.now

    def sleep(seconds: float) -> None:
        watched.clock.now += seconds
        if watched.clock.now >= begun + 6:  # the first batch was at 5, the second may be at 15
            shutil.copy(second, tmp_path / "in" / second.name)
        if watched.clock.now > begun + 15:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch_captures, "time", SimpleNamespace(sleep=sleep))
    with watched.started() as watching:
        with pytest.raises(KeyboardInterrupt):
            watching.run_batches()
        assert watching.batch == 2


@pytest.mark.full
def test_rows_are_there_within_15_seconds_of_their_packets(tmp_path: Path) -> None:
    """A minute at 20 MB/s, of a ring whose files are closed every 2.5 s."""
    assert soak(Namespace(minutes=1.0, rate=20.0, file=50.0, words=["--doctor"]), tmp_path)
