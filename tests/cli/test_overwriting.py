"""Files that were there before: replaced by the command that wrote them, refused or made private otherwise."""

from __future__ import annotations

import io
import os
import shutil
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kwcli.check_overwriting import is_report_page, is_scrubbed_capture
from kwcli.net.tls_connect import log_keys_to_file
from kwcli.output.output_settings import Settings
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.private_files import (
    ScratchFolder,
    StagedFile,
    is_path_of_open_descriptor,
    open_private_file,
    remove_abandoned_files,
    write_private_file,
)
from kwcli.proxy.log.capture_file import CaptureFiles
from kwcli.proxy.log.log_protocol import LogPlan
from kwcli.reading.sinks.write_live_capture import PacketFile
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world

TOUR = str(FOLDER / "tour.pcapng")
SMALL = str(FOLDER / "tls" / "librdkafka-jsse.pcap")
# A page as versions of kw wrote it that named no generator.
OLDER_PAGE = (
    b'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">\n'
    b'<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n<title>Kafka traffic, 2026</title>'
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def scrub(out: Path, *more: str) -> list[str]:
    return ["scrub", SMALL, str(out), "-q", *more]


def report(out: Path, *more: str) -> list[str]:
    return ["report", SMALL, "--html", str(out), "-q", *more]


def cut(out: Path, *more: str) -> list[str]:
    return ["sniff", SMALL, "-w", str(out), "-q", *more]


def a_recording(path: Path) -> None:
    shutil.copy(TOUR, path)


def a_cut_out_capture(path: Path) -> None:
    assert kw(*cut(path)).code == Exit.DONE


def a_cut_out_scrubbed_capture(path: Path) -> None:
    scrubbed = path.with_name("scrubbed")
    assert kw(*scrub(scrubbed)).code == Exit.DONE
    assert kw("sniff", str(scrubbed), "-w", str(path), "-q").code == Exit.DONE


def a_scrubbed_capture(path: Path) -> None:
    assert kw(*scrub(path)).code == Exit.DONE


def a_scrubbed_capture_with_a_recording_behind(path: Path) -> None:
    a_scrubbed_capture(path)
    with path.open("ab") as file:
        file.write((FOLDER / "tour.pcapng").read_bytes())


def a_page(path: Path) -> None:
    assert kw(*report(path)).code == Exit.DONE


def an_older_page(path: Path) -> None:
    path.write_bytes(OLDER_PAGE)


def a_text(path: Path) -> None:
    path.write_text("notes: kw scrub, kw report\n")


def another_page(path: Path) -> None:
    path.write_text('<!DOCTYPE html>\n<html lang="en">\n<head>\n<title>kw report</title>\n</head>')


def a_half_section(path: Path) -> None:
    path.write_bytes(bytes.fromhex("0a0d0d0a ffffffff 4d3c2b1a 01000000"))


def an_empty_file(path: Path) -> None:
    path.touch()


Words = Callable[..., list[str]]
REFUSED: list[tuple[Words, Callable[[Path], None]]] = [
    (scrub, a_recording),
    (scrub, a_cut_out_capture),
    (scrub, a_cut_out_scrubbed_capture),
    (scrub, a_scrubbed_capture_with_a_recording_behind),
    (scrub, a_page),
    (scrub, a_text),
    (scrub, a_half_section),
    (report, a_recording),
    (report, a_scrubbed_capture),
    (report, a_text),
    (report, another_page),
]
REPLACED: list[tuple[Words, Callable[[Path], None]]] = [
    (scrub, a_scrubbed_capture),
    (scrub, an_empty_file),
    (report, a_page),
    (report, an_older_page),
    (report, an_empty_file),
    (cut, a_recording),
]


def named(row: object) -> str:
    return getattr(row, "__name__", str(row))


@pytest.mark.parametrize(("words", "make"), REFUSED, ids=named)
def test_a_file_of_another_kind_stays_unless_forced(words: Words, make: Callable[[Path], None], tmp_path: Path) -> None:
    there = tmp_path / "there"
    make(there)
    before = there.read_bytes()
    done = kw(*words(there))
    assert (done.code, there.read_bytes()) == (Exit.USAGE, before)
    program = f"kw {words.__name__}"
    assert done.err == f"kw: {there}: this file exists, and {program} did not write it; --force replaces it\n"
    there.chmod(0o666)
    assert kw(*words(there, "--force")).code == Exit.DONE
    assert there.read_bytes() != before
    assert mode(there) == 0o600


@pytest.mark.parametrize(("words", "make"), REPLACED, ids=named)
def test_the_commands_own_file_is_replaced_without_a_word(
    words: Words, make: Callable[[Path], None], tmp_path: Path
) -> None:
    there = tmp_path / "there"
    make(there)
    there.chmod(0o644)
    before = there.stat().st_ino
    done = kw(*words(there))
    assert (done.code, "exists" in done.err) == (Exit.DONE, False)
    assert (mode(there), there.stat().st_ino == before) == (0o600, False)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_the_marks_are_in_what_is_written(tmp_path: Path) -> None:
    page, capture = tmp_path / "page", tmp_path / "capture"
    a_page(page)
    a_scrubbed_capture(capture)
    for path, marks in ((page, [True, False]), (capture, [False, True])):
        assert [is_own(io.BytesIO(path.read_bytes())) for is_own in (is_report_page, is_scrubbed_capture)] == marks
    assert b"generator" in page.read_bytes()[:4096]


def test_a_table_of_names_replaces_only_such_a_table(tmp_path: Path) -> None:
    out, names = tmp_path / "out", tmp_path / "names"
    asked = ["scrub", TOUR, str(out), "--names", str(names), "-q"]
    names.write_text("mine")
    done = kw(*asked)
    assert (done.code, names.read_text(), out.exists()) == (Exit.USAGE, "mine", False)
    assert f"{names}: this file exists" in done.err
    names.unlink()
    for _ in range(2):
        assert kw(*asked).code == Exit.DONE
        assert (mode(names), names.read_text()[:9]) == (0o600, '{"kind":"')
        names.chmod(0o644)


def live_capture(path: str) -> None:
    file = PacketFile(path, world())
    file.write(b"new")
    file.close()


def proxy_capture(path: str) -> None:
    CaptureFiles(LogPlan(Settings(), write=path)).close()


def tls_keys(path: str) -> None:
    log_keys_to_file(ssl.create_default_context(), path)


def a_file_of_tables(path: str) -> None:
    OutputFolder(os.path.dirname(path)).replace(os.path.basename(path), b"new")


def a_key_of_a_playground(path: str) -> None:
    write_tls_certificates(Path(path).parent)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (live_capture, "a"),
        (proxy_capture, "a"),
        (tls_keys, "a"),
        (a_file_of_tables, "a"),
        (a_key_of_a_playground, "ca.key"),
    ],
    ids=named,
)
def test_what_is_written_to_a_file_of_mode_0666_is_private(
    write: Callable[[str], None], name: str, tmp_path: Path
) -> None:
    there = tmp_path / name
    there.write_text("a much longer file that was there before")
    there.chmod(0o666)
    write(str(there))
    assert mode(there) == 0o600
    assert (b"before" in there.read_bytes()) == (write is tls_keys)


@pytest.mark.parametrize("words", [report, cut], ids=named)
def test_a_link_is_followed_and_stays(words: Words, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, target = tmp_path / "link", tmp_path / "elsewhere" / "target"
    link.symlink_to(target)
    for _ in range(2):
        assert kw(*words(link)).code == Exit.DONE
        assert (link.is_symlink(), mode(target)) == (True, 0o600)
        target.chmod(0o644)
    target.write_text("mine")
    assert kw(*words(link)).code == (Exit.USAGE if words is report else Exit.DONE)
    assert [path.name for path in target.parent.iterdir()] == ["target"]


@pytest.mark.parametrize("words", [report, cut], ids=named)
def test_a_fifo_is_written_as_it_is(words: Words, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o640)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert kw(*words(fifo)).code == Exit.DONE
    reader.join(60)
    assert len(got[0]) > 1000
    assert (mode(fifo), stat.S_ISFIFO(fifo.stat().st_mode)) == (0o640, True)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "LINK"])
def test_a_descriptor_is_written_as_it_is(name: str, tmp_path: Path) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to("/dev/stdout")
    out.write_text("older")
    out.chmod(0o644)
    code = "import sys; from kwcli.private_files import write_private_file; write_private_file(sys.argv[1], b'new')"
    with out.open("ab") as file:
        place = str(link) if name == "LINK" else name
        subprocess.run([sys.executable, "-c", code, place], stdout=file, check=True)
    assert (out.read_text(), mode(out)) == ("new", 0o644)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]


def test_what_is_a_descriptor(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to").symlink_to("file")
    rows = {"/dev/stdout": True, "/dev/fd/7": True, "/proc/self/fd/7": True, "/dev/null": False, "file": False}
    rows |= {str(tmp_path / "loop"): False, str(tmp_path / "to"): False, "/proc/self/status": False}
    assert {name: is_path_of_open_descriptor(name) for name in rows} == rows


def test_a_file_of_another_user_is_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("old")
    there.chmod(0o666)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("kwcli.private_files.os.fchmod", refuse)
    monkeypatch.setattr("kwcli.private_files.os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError), open(there, "wb", opener=open_private_file):
        pass
    assert there.read_text() == "old"


LEAVES = """
import sys
from kwcli.private_files import StagedFile
staged = StagedFile(sys.argv[1])
staged.file.write(b"half")
print(staged.path, flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LEAVES, str(tmp_path / "a")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    kept = ["a.1", f"a.{process.pid}", "a.kw-1", "a.kw-0123456789", "b.kw-0123456g", ".kw-01234567"]
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / "d.kw-01234567").mkdir()
    (tmp_path / "l.kw-01234567").symlink_to("a.1")
    kept += ["d.kw-01234567", "l.kw-01234567"]
    write_private_file(str(tmp_path / "b"), b"whole")
    assert left.exists()  # its process is at work
    process.kill()
    process.communicate()
    assert left.exists()
    write_private_file(str(tmp_path / "b"), b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "b"])


def test_a_staged_file_of_this_process_stays(tmp_path: Path) -> None:
    staged = StagedFile(str(tmp_path / "a"))
    remove_abandoned_files(str(tmp_path))
    staged.file.write(b"data")
    assert [path.name for path in tmp_path.iterdir()] == [Path(staged.path).name]
    staged.give_final_name()
    staged.delete_unfinished()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"data")]


SCRATCH = """
import sys
from kwcli.private_files import ScratchFolder
folder = ScratchFolder("kw-sql-")
open(folder.name + "/rows.parquet", "w").close()
print(folder.name, flush=True)
sys.stdin.read()
"""


def test_a_folder_of_a_killed_process_is_removed_and_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", SCRATCH],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    assert mode(left) == 0o700
    kept = ["kw-sql-", "kw-sql-my_notes", "kw-sql-results", "kw-tls-abcdefgh"]  # of the user, though named like ours
    for name in kept:
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.parquet").touch()
    (tmp_path / "kw-sql-abcdefgh").symlink_to(tmp_path / "kw-sql-results")
    kept.append("kw-sql-abcdefgh")
    with ScratchFolder("kw-sql-") as mine, ScratchFolder("kw-sql-") as other:
        assert left.exists()  # its process is at work
        process.kill()
        process.communicate()
        with ScratchFolder("kw-sql-"):
            assert [left.exists(), Path(mine).exists(), Path(other).exists()] == [False, True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    assert len(list(tmp_path.glob("kw-*/rows.parquet"))) == len(kept)
