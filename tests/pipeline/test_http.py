"""Captures on a web server: with and without ranges, folders that are pages, errors."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.read import find_captures as captures
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.pipeline.test_run import RAW, TOUR, known, rows, run


class Plain(SimpleHTTPRequestHandler):
    """The handler of `python -m http.server`: whole files only."""

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class Ranges(Plain):
    """A handler with ranges, as nginx and all object stores have."""

    def end_headers(self) -> None:
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def do_GET(self) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if asked is None or not path.is_file():
            super().do_GET()
            return
        begin, end = int(asked[1]), int(asked[2])
        data = path.read_bytes()
        part = data[begin : end + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)


class Server(ThreadingHTTPServer):
    """A server that prints nothing about clients that stop reading."""

    def handle_error(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture(params=[Ranges, Plain])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a server of a folder, and the folder, which has two captures and another file."""
    pytest.importorskip("aiohttp", reason=pip_command_for_extra("http"))
    folder = tmp_path / "www"
    (folder / "day").mkdir(parents=True)
    shutil.copy(RAW, folder / "a.pcap")
    shutil.copy(TOUR, folder / "day" / "b.pcapng")
    (folder / "day" / "notes.txt").write_text("no capture at all")
    with Server(("127.0.0.1", 0), partial(request.param, directory=str(folder))) as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}", folder
        made.shutdown()


@pytest.mark.one_in(2)
def test_captures_of_a_server_give_the_tables_of_those_on_the_disk(server: tuple[str, Path], tmp_path: Path) -> None:
    url, _ = server
    run(f"{url}/a.pcap", f"{url}/day/b.pcapng", "--out", tmp_path / "there", "--split-size", "30kB")
    run(RAW, TOUR, "--out", tmp_path / "here")
    assert known(rows(tmp_path / "there")) == known(rows(tmp_path / "here"))
    assert "nothing to do" in run(f"{url}/a.pcap", "--out", tmp_path / "there").err


@pytest.mark.one_in(3)
@pytest.mark.parametrize("word", ["day/", "day/*", "day/*.pcapng"])
def test_folders_and_patterns(server: tuple[str, Path], word: str) -> None:
    url, _ = server
    found = find_captures([f"{url}/{word}"])
    assert not found.problems
    assert [(file.name, file.size) for file in found.files] == [(f"{url}/day/b.pcapng", TOUR.stat().st_size)]


@pytest.mark.long
@pytest.mark.one_in(2)
def test_of_a_large_file_parts_are_needed(
    server: tuple[str, Path], request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = server
    monkeypatch.setattr(captures, "_REMOTE_SIZE", 20_000)
    plain = request.node.callspec.params["server"] is Plain
    code = Exit.FAILURE if plain else Exit.DONE
    said = run(f"{url}/a.pcap", "--out", tmp_path / "out", "--split-size", "30kB", code=code).err
    if plain:
        assert said == f"kw: {url}/a.pcap: the server does not send parts of files: download it first\n"
    else:
        run(RAW, "--out", tmp_path / "here")
        assert known(rows(tmp_path / "out")) == known(rows(tmp_path / "here"))


@pytest.mark.one_in(2)
def test_what_is_wrong_is_said_in_one_line(server: tuple[str, Path]) -> None:
    url, _ = server
    words = [f"{url}/none.pcap", f"{url}/none/", "http://127.0.0.1:1/a.pcap", "http://host.invalid/a.pcap"]
    problems = [str(problem) for problem in find_captures(words).problems]
    assert problems[:3] == [
        f"{url}/none.pcap: no such file",
        f"{url}/none/: no such file",
        "http://127.0.0.1:1/a.pcap: connection refused",
    ]
    assert re.fullmatch(r"http://host\.invalid/a\.pcap: [a-z ]+", problems[3])
    assert not re.search("unknown error", problems[3])


@pytest.mark.one_in(2)
def test_a_file_that_was_written_anew_is_another(server: tuple[str, Path]) -> None:
    import os

    url, folder = server
    (before,) = find_captures([f"{url}/a.pcap"]).files
    os.utime(folder / "a.pcap", (1, 1))
    (after,) = find_captures([f"{url}/a.pcap"]).files
    assert before.fingerprint != after.fingerprint
    assert (FOLDER / "sasl-raw.pcap").exists()
