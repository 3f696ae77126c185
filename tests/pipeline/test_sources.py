"""Names of captures in, files out: paths of any spelling, patterns, folders, URLs, capture points; fingerprints."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fsspec
import pytest

from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.plan_splits import plan_splits
from kwcli.pipeline.read.find_captures import SourceFile, _RemoteFile, find_captures, open_range_file
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.run_environment import Exit, Failure
from tests.captures.shipped import FOLDER
from tests.captures.shipped import segments as read

CAPTURE = (FOLDER / "sasl-raw.pcap").read_bytes()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with captures and other files."""
    for name in (
        "a.pcap",
        "b.pcap",
        "c[1].pcap",
        "d*e?.pcap",
        "ü ü.pcap",
        "day/x.pcap",
        "day/.hidden.pcap",
        "day/n/y.pcap",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CAPTURE + name.encode())
    (tmp_path / "day" / "notes.txt").write_text("no capture at all")
    (tmp_path / "day" / "empty").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    """An fsspec store in memory, emptied at the end of the test."""
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/", recursive=True)


def names(words: Sequence[str], points: Sequence[tuple[str, str]] = ()) -> list[str]:
    found = find_captures(words, points)
    assert not found.problems
    return [f"{file.point}={file.name}" if file.point else file.name for file in found.files]


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("a.pcap", ["a.pcap"]),
        ("./a.pcap", ["./a.pcap"]),
        ("?.pcap", ["a.pcap", "b.pcap"]),
        ("c[1].pcap", ["c[1].pcap"]),
        ("d*e?.pcap", ["d*e?.pcap"]),
        ("ü*", ["ü ü.pcap"]),
        ("day/*/*.pcap", ["day/n/y.pcap"]),
        ("**/[xy].pcap", ["day/n/y.pcap", "day/x.pcap"]),
        ("day/n", ["day/n/y.pcap"]),
    ],
)
def test_paths_and_patterns(here: Path, word: str, wanted: list[str]) -> None:
    assert names([word]) == wanted
    assert (
        names([f"file://{here}/{word}"]) == [f"{here}/{name.removeprefix('./')}" for name in wanted] or word[0] == "."
    )
    assert {Path(file.path).is_absolute() for file in find_captures([word]).files} == {True}


def test_a_folder_stands_for_the_captures_in_it(here: Path) -> None:
    found = find_captures([str(here / "day")])
    assert [file.name for file in found.files] == [f"{here}/day/x.pcap", f"{here}/day/n/y.pcap"]
    assert found.notes == [f"{here}/day: 2 files passed over: no capture"]
    assert not found.problems


@pytest.mark.parametrize("word", ["day", "day/*", "day/**"])
def test_of_a_folder_or_a_pattern_what_is_named_as_a_capture_is_one(here: Path, word: str) -> None:
    for name in ("bad.pcap", "bad.pcap12", "bad.PCAPNG.gz"):
        (here / "day" / name).write_bytes(b"scrambled")
    (here / "day" / "begun.pcap").write_bytes(b"")
    found = find_captures([word])
    bad = ["day/bad.PCAPNG.gz", "day/bad.pcap", "day/bad.pcap12"]
    assert sorted(file.name for file in found.files) == sorted([*bad, "day/x.pcap", "day/n/y.pcap"])
    assert found.notes == [f"{word}: 3 files passed over: no capture"]
    assert [problem.file for problem in plan_splits(found.files).problems] == bad


def test_a_folder_that_may_not_be_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = os.scandir

    def refused(path: str) -> Any:
        """Raise PermissionError for one folder, also for root, whom the system would let pass."""
        if str(path).endswith("day/n"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return looking(path)

    monkeypatch.setattr(os, "scandir", refused)
    for word, names in (("day", ["day/x.pcap"]), ("day/n", [])):
        found = find_captures([word])
        assert [file.name for file in found.files] == names
        assert [str(problem) for problem in found.problems] == ["day/n: no permission to read it"]
    assert here


def test_a_folder_is_one_however_many_links_lead_to_it(here: Path) -> None:
    os.symlink(here / "day", here / "day" / "n" / "round")
    (here / "other").mkdir()
    os.rename("b.pcap", "other/b.pcap")
    os.symlink(here / "other", here / "day" / "z")
    assert sorted(names(["day"])) == ["day/n/y.pcap", "day/x.pcap", "day/z/b.pcap"]


def test_a_file_is_one_however_often_it_is_named(here: Path) -> None:
    os.link("a.pcap", "linked.pcap")
    os.symlink("a.pcap", "other.pcap")
    assert names(["a.pcap", "./a.pcap", str(here / "a.pcap"), "other.pcap", "linked.pcap", "[ab].pcap"]) == [
        "a.pcap",
        "b.pcap",
    ]


def test_points(here: Path) -> None:
    assert names(["b.pcap", "a.pcap"], [("one", "a.pcap"), ("two", "day/*.pcap")]) == [
        "b.pcap",
        "one=a.pcap",
        "two=day/x.pcap",
    ]
    with pytest.raises(Failure) as caught:
        find_captures([], [("one", "a.pcap"), ("two", "*.pcap")])
    assert caught.value.text == "a.pcap belongs to two capture points: one and two"
    assert caught.value.code == Exit.USAGE
    assert here


def test_what_cannot_be_had_is_told_and_the_others_go_on(here: Path) -> None:
    os.mkfifo("pipe")
    os.symlink("nowhere", "dangling")
    found = find_captures(["nothing.pcap", "no*thing", "pipe", "a.pcap", "dangling", "day\0", "-", "memory://no/such"])
    assert [file.name for file in found.files] == ["a.pcap"]
    assert [str(problem) for problem in found.problems] == [
        "nothing.pcap: no such file",
        "no*thing: no such file",
        "pipe: not a regular file: it can be read only once",
        "dangling: no such file",
        "day\0: embedded null byte",
        "-: standard input can be read only once: write it to a file, or use kw sniff",
        "memory://no/such: no such file",
    ]
    assert here


def test_a_file_that_may_not_be_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = os.open

    def refused(path: str, *rest: Any) -> int:
        """Raise PermissionError for one file, also for root, whom the system would let pass."""
        if str(path).endswith("b.pcap"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opening(path, *rest)

    assert (here / "b.pcap").exists()
    monkeypatch.setattr(os, "open", refused)
    found = find_captures(["?.pcap"])
    assert [file.name for file in found.files] == ["a.pcap"]
    assert [str(problem) for problem in found.problems] == ["b.pcap: no permission to read it"]


def test_an_unknown_kind_of_url(here: Path) -> None:
    with pytest.raises(Failure) as caught:
        find_captures(["a.pcap", "gopher://host/a.pcap"])
    assert caught.value.text.startswith(
        "gopher://host/a.pcap: kw cannot read gopher:// (it reads local paths and abfs:// "
    )
    assert caught.value.code == Exit.USAGE
    assert here


@pytest.mark.parametrize(("url", "extra"), [("s3://bucket/a.pcap", "s3"), ("memory://a.pcap", "spark")])
def test_a_missing_package_names_the_extra(url: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"s3": "s3fs", "spark": "fsspec.core"}[extra]
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(Failure) as caught:
        find_captures([url])
    scheme = url.partition(":")[0]
    assert caught.value.text == f"{url}: {scheme}:// needs an extra: {pip_command_for_extra(extra)}"


def test_without_hadoop_one_line_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_HOME", "ARROW_LIBHDFS_DIR", "JAVA_HOME", "CLASSPATH"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Failure) as caught:
        find_captures(["hdfs://localhost/a.pcap"])
    needed = "hdfs:// needs Java and Hadoop here: set JAVA_HOME, HADOOP_HOME, CLASSPATH"
    assert caught.value.text == f"hdfs://localhost/a.pcap: {needed}"


def test_urls(memory: fsspec.AbstractFileSystem) -> None:
    for name in ("a.pcap", "b.pcap", "c[1].pcap", "day/x.pcap", "day/.hidden.pcap", "day/n/y.pcap"):
        memory.pipe(f"/store/{name}", CAPTURE)
    memory.pipe("/store/day/notes.txt", b"no capture at all")
    assert names(["memory://store/a.pcap", "memory:///store/a.pcap"]) == ["memory://store/a.pcap"]
    assert names(["memory://store/?.pcap"]) == ["memory://store/a.pcap", "memory://store/b.pcap"]
    assert names(["memory://store/c[1].pcap"]) == ["memory://store/c[1].pcap"]
    found = find_captures(["memory://store/day/"])
    assert [file.path for file in found.files] == ["memory://store/day/n/y.pcap", "memory://store/day/x.pcap"]
    assert found.notes == ["memory://store/day/: 1 file passed over: no capture"]


def test_a_capture_of_a_store_is_read_as_one_of_the_disk(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/store/a.pcap", CAPTURE)
    memory.pipe("/store/b.pcap.gz", (FOLDER / "old-clients.pcap.gz").read_bytes())
    made = plan_splits(find_captures(["memory://store/*"]).files, 20_000)
    assert len(made.splits) > 5
    found = [segment[:2] + segment[3:] for one in made.splits for batch in SplitReader(one) for segment in batch]
    wanted = [*read("sasl-raw.pcap"), *read("old-clients.pcap.gz")]
    assert sorted(found) == sorted(segment[:2] + segment[3:] for segment in wanted)
    memory.rm("/store/a.pcap")
    problems = [str(problem) for one in made.splits for problem in _problems(one)]
    assert set(problems) == {"memory://store/a.pcap: no such file"}


def _problems(one: object) -> list[object]:
    reading = SplitReader(one)  # type: ignore[arg-type]  # a split
    assert sum(map(len, reading)) >= 0
    return list(reading.problems)


def fingerprint(path: str) -> str:
    (file,) = find_captures([path]).files
    assert json.loads(json.dumps(file)) == list(file)
    assert isinstance(file, SourceFile)
    return file.fingerprint


def test_a_fingerprint_tells_what_changed(here: Path) -> None:
    path = here / "a.pcap"
    os.utime(path, ns=(1, 1))
    seen = {fingerprint("a.pcap")}
    assert fingerprint(str(path)) in seen  # the same file under another name

    def changed() -> None:
        found = fingerprint("a.pcap")
        assert found not in seen
        seen.add(found)

    os.utime(path, ns=(1, 2))
    changed()
    path.write_bytes(path.read_bytes() + b"1")
    os.utime(path, ns=(1, 2))
    changed()
    path.write_bytes(path.read_bytes()[:-1] + b"2")
    os.utime(path, ns=(1, 2))
    changed()
    (here / "copy.pcap").write_bytes(path.read_bytes())
    os.utime(here / "copy.pcap", ns=(1, 2))
    assert fingerprint("copy.pcap") not in seen


def test_a_fingerprint_reads_a_little_of_a_large_file(here: Path) -> None:
    path = here / "large.pcap"
    with path.open("wb") as file:
        file.write(CAPTURE)
        file.truncate(1 << 36)  # a hole of 64 GiB
    assert fingerprint("large.pcap")


def test_files_of_a_store_share_what_is_kept_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The more files are read side by side, the less is requested of each at once."""
    monkeypatch.setattr("kwcli.pipeline.read.find_captures.REMOTE_HELD_MAX", 1 << 20)
    monkeypatch.setattr("kwcli.pipeline.read.find_captures._REMOTE_MIN", 1 << 10)
    system = fsspec.filesystem("memory")
    system.pipe_file("/side/by", CAPTURE * 10)
    before = _RemoteFile.count
    files = [open_range_file("memory://side/by", "by") for _ in range(16)]
    for file in files:
        assert file.read(5, 100) == CAPTURE[5:105]
        assert isinstance(file, _RemoteFile)
        assert len(file._kept) == 1 << 16
    for file in files:
        file.close()
        file.close()
    assert _RemoteFile.count == before
    with open_range_file("memory://side/by", "by") as file:
        file.read(5, 100)
        assert isinstance(file, _RemoteFile)
        assert len(file._kept) == 1 << 20
    system.rm("/side", recursive=True)
