"""Standard input of every kind: a body is read where one is sent, and nothing waits for a silent one."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from decoders.apis import api
from kwcli.calling import call_command
from kwcli.calling.call_command import read_piped_body
from kwcli.run_environment import Failure
from tests.cli.worlds import world

BODY = b'{"topics":[]}'


def found(stream: BinaryIO) -> object:
    env = world()
    env.stdin = stream  # type: ignore[assignment]  # a BufferedReader
    with stream:
        body = read_piped_body(env, api("Metadata"))
    return None if body is None else body.value


def test_a_pipe_with_a_body() -> None:
    read, write = os.pipe()
    os.write(write, BODY)
    os.close(write)
    assert found(os.fdopen(read, "rb")) == {"topics": []}


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_bytes(BODY)
    assert found(path.open("rb")) == {"topics": []}


def test_a_pipe_that_stays_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_command, "PATIENCE_MS", 30)
    read, write = os.pipe()
    begun = time.monotonic()
    assert found(os.fdopen(read, "rb")) is None
    assert time.monotonic() - begun < 5
    os.close(write)


def test_a_pipe_whose_other_end_is_closed() -> None:
    read, write = os.pipe()
    os.close(write)
    assert found(os.fdopen(read, "rb")) is None


def test_a_socket_that_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_command, "PATIENCE_MS", 30)
    here, there = socket.socketpair()
    with here, there:
        assert found(here.makefile("rb")) is None


def test_the_null_device() -> None:
    assert found(os.fdopen(os.open(os.devnull, os.O_RDONLY), "rb")) is None


def test_what_is_no_body_is_said() -> None:
    read, write = os.pipe()
    os.write(write, b"orders\npayments\n")
    os.close(write)
    with pytest.raises(Failure, match="standard input: "):
        found(os.fdopen(read, "rb"))
