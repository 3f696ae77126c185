"""Playgrounds as people use them: a process, its output, signals, and nothing left when it is gone."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwcli.playground.free_ports import find_free_ports
from tests.broker.fixture import needs_brokers
from tests.playground.rounds import Round, one_round

broker = pytest.mark.broker


@pytest.fixture
def grounds() -> Iterator[list[Round]]:
    """The playgrounds that a test started; they are killed at its end."""
    started: list[Round] = []
    yield started
    for ground in started:
        ground.end(signal.SIGKILL)


@broker
@pytest.mark.long
@needs_brokers
def test_it_is_used_by_three_clients_and_leaves_nothing(tmp_path: Path) -> None:
    one_round(tmp_path, ("plaintext", "sasl_ssl"))


@broker
@pytest.mark.long
@needs_brokers
def test_a_command_is_run_in_it_and_its_exit_code_is_ours(tmp_path: Path, grounds: list[Round]) -> None:
    kw = f"{sys.executable} -m kwcli.main"
    command = f"{kw} call Metadata topics[].name=orders -o json > {tmp_path}/answer.json; exit 7"
    grounds.append(ground := Round(tmp_path, "-q", "--port", "29192", "--topics", "orders:3", "--run", command))
    assert ground.wait(60) == 7, ground.said
    (exchange,) = json.loads((tmp_path / "answer.json").read_text())
    (topic,) = exchange["response"]["topics"]
    assert (topic["name"], len(topic["partitions"])) == ("orders", 3)
    assert ground.said.startswith("ready 127.0.0.1:")
    assert ground.left() == []


@broker
@pytest.mark.long
@needs_brokers
def test_what_a_killed_one_left_is_cleaned_by_the_next(tmp_path: Path, grounds: list[Round]) -> None:
    grounds.append(killed := Round(tmp_path, "--listeners", "ssl", "--port", "29292", "--traffic"))
    killed.wait_until_ready()
    folder = killed.folder
    assert killed.profiles() == ["playground-ssl"]
    killed.end(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while killed.brokers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert killed.brokers() == []
    assert folder.is_dir()
    grounds.append(ground := Round(tmp_path, "--mock"))
    ground.wait_until_ready()
    assert "the remains of a killed playground" in ground.said
    assert ground.end(signal.SIGTERM) == 0
    assert ground.left() == []


@broker
@pytest.mark.long
@needs_brokers
def test_ports_that_are_taken_are_told_and_traffic_flows(tmp_path: Path, grounds: list[Round]) -> None:
    (port,) = find_free_ports(1)  # outgoing connections use ports behind those that the kernel gives
    with socket.create_server(("127.0.0.1", port)):
        words = ("--version", "3.9.1", "--port", str(port), "--traffic", "--topics", "tea:2")
        grounds.append(ground := Round(tmp_path, *words))
        place = ground.wait_until_ready()
    assert place != f"127.0.0.1:{port}"
    assert f"port {port}" in ground.said
    deadline = time.monotonic() + 60
    asked = ("call", "OffsetFetch", "groups[].group_id=playground", "groups[].topics:=null", "-b", place, "-o", "json")
    committed = 0
    while committed <= 0 and time.monotonic() < deadline:
        answer = ground.kw(*asked)
        if answer.returncode == 0:
            (exchange,) = json.loads(answer.stdout)
            topics = [topic for group in exchange["response"]["groups"] for topic in group["topics"]]
            committed = max((row["committed_offset"] for topic in topics for row in topic["partitions"]), default=0)
    assert committed > 0, answer.stderr
    assert ground.end(signal.SIGINT) == 0


def test_without_java_it_is_the_mock(tmp_path: Path, grounds: list[Round]) -> None:
    grounds.append(ground := Round(tmp_path, "--nodes", "2", "--topics", "a", path=str(tmp_path / "nothing")))
    place = ground.wait_until_ready()
    assert "librdkafka's mock cluster, no Apache Kafka: there is no Java on the PATH" in ground.said
    # The mock writes one byte too many behind its Metadata from version 9 on.
    answer = ground.kw("call", "Metadata", "topics[].name=a", "--api-version", "8", "-b", place, "-o", "json")
    assert answer.returncode == 0, answer.stderr
    (exchange,) = json.loads(answer.stdout)
    assert len(exchange["response"]["brokers"]) == 2
    assert "topic a has 4 partitions" in ground.said
    assert ground.end(signal.SIGINT) == 0
    assert ground.left() == []


def test_a_producers_traffic_flows_on_the_mock_too(tmp_path: Path, grounds: list[Round]) -> None:
    grounds.append(ground := Round(tmp_path, "--mock", "--traffic", "--topics", "tea:4"))
    place = ground.wait_until_ready()
    asked = ["call", "ListOffsets", "topics[].name=tea"]
    for number in range(4):
        asked += [
            f"topics[0].partitions[{number}].{field}" for field in (f"partition_index:={number}", "timestamp:=-1")
        ]
    produced = 0
    deadline = time.monotonic() + 60
    while produced <= 0 and time.monotonic() < deadline:
        answer = ground.kw(*asked, "-b", place, "-o", "json")
        if answer.returncode == 0:
            (exchange,) = json.loads(answer.stdout)
            (topic,) = exchange["response"]["topics"]
            produced = sum(row["offset"] for row in topic["partitions"])
    assert produced > 0, answer.stderr
    assert ground.end(signal.SIGINT) == 0
    assert "Traceback" not in ground.said


def test_the_mock_has_no_other_listeners(tmp_path: Path, grounds: list[Round]) -> None:
    grounds.append(ground := Round(tmp_path, "--mock", "--listeners", "ssl"))
    assert ground.wait(30) == 2
    assert "the mock has plaintext listeners only" in ground.said


def test_a_folder_without_jars_is_told(tmp_path: Path, grounds: list[Round]) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    java.chmod(0o755)
    grounds.append(ground := Round(tmp_path, "--jars", str(tmp_path), path=f"{java.parent}{os.pathsep}{os.defpath}"))
    assert ground.wait(30) == 1
    assert "holds no broker" in ground.said.splitlines()[-1]
    assert ground.left() == []
