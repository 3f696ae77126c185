"""The parts of a playground that need no cluster: folders, ports, listeners, options, the search for Java."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kwcli.commands.playground import ListenerNames, TopicList
from kwcli.playground import download_jars
from kwcli.playground.client_configs import ListenerConfig, make_listener_configs
from kwcli.playground.download_jars import Missing, explain_java_problem, find_broker_jars
from kwcli.playground.free_ports import find_next_free_ports
from kwcli.playground.temp_dirs import PlaygroundFolder, find_playgrounds_folder, remove_abandoned_folders


def test_a_folder_lives_as_long_as_its_block(tmp_path: Path) -> None:
    with PlaygroundFolder(tmp_path / "home") as folder:
        (folder / "data").write_text("x")
        assert remove_abandoned_folders(tmp_path / "home", lambda _: None) == []
        assert folder.is_dir()
    assert list((tmp_path / "home").iterdir()) == []


def test_a_folder_whose_owner_is_gone_is_cleaned(tmp_path: Path) -> None:
    made = "from kwcli.playground.temp_dirs import PlaygroundFolder"
    code = f"from pathlib import Path; {made}; PlaygroundFolder(Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], check=True)
    (left,) = tmp_path.iterdir()
    told: list[Path] = []
    assert remove_abandoned_folders(tmp_path, told.append) == told == [left]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process began")
def test_a_process_number_that_is_used_again_is_no_owner(tmp_path: Path) -> None:
    folder = PlaygroundFolder(tmp_path).folder
    (folder / "owner").write_text(f"{os.getpid()} 1\n")
    assert remove_abandoned_folders(tmp_path, lambda _: None) == [folder]


@pytest.mark.parametrize(
    ("variables", "home"),
    [({"XDG_STATE_HOME": "/s"}, "/s/kw/playgrounds"), ({"HOME": "/h"}, "/h/.local/state/kw/playgrounds")],
)
def test_playgrounds_are_in_the_users_state_folder(variables: dict[str, str], home: str) -> None:
    assert str(find_playgrounds_folder(variables)) == home


def test_ports_that_are_taken_are_passed_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = find_next_free_ports(port, 2)
    assert port not in found
    assert found == sorted(found)
    assert find_next_free_ports(65536, 1) == []


def test_every_listener_has_its_ways_in(tmp_path: Path) -> None:
    found = list(make_listener_configs({"PLAINTEXT": "a:1", "MTLS": "a:2", "SASL_SSL": "a:3"}, tmp_path))
    assert [config.name for config in found] == [
        *("plaintext", "mtls", "sasl_ssl"),
        *("sasl_ssl-scram-sha-256", "sasl_ssl-plain", "sasl_ssl-oauthbearer"),
    ]
    mtls = found[1]
    assert mtls.librdkafka_properties["ssl.certificate.location"] == str(tmp_path / "client.crt")
    assert mtls.java_properties["ssl.keystore.location"] == str(tmp_path / "client.pem")
    assert (
        found[2].librdkafka_properties["sasl.mechanisms"]
        == found[2].java_properties["sasl.mechanism"]
        == "SCRAM-SHA-512"
    )
    assert found[5].librdkafka_properties["sasl.mechanisms"] == "OAUTHBEARER"
    assert {config.librdkafka_properties["bootstrap.servers"] for config in found[2:]} == {"a:3"}


def test_a_door_of_plaintext_asks_for_nothing(tmp_path: Path) -> None:
    config = ListenerConfig("plaintext", "PLAINTEXT", None, "a:1", tmp_path)
    assert (
        config.librdkafka_properties
        == config.java_properties
        == {"bootstrap.servers": "a:1", "security.protocol": "PLAINTEXT"}
    )


def test_options_are_checked() -> None:
    assert ListenerNames().convert("ssl,SASL-SSL,ssl", None, None) == ("SSL", "SASL_SSL")
    assert TopicList().convert("a:3,b", None, None) == (("a", 3), ("b", None))


@pytest.mark.parametrize("text", ["", "tls", "ssl,"])
def test_a_listener_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="is no listener"):
        ListenerNames().convert(text, None, None)


@pytest.mark.parametrize("text", ["", "a:", "a:0", "a:x", ":3"])
def test_a_topic_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="is no topic"):
        TopicList().convert(text, None, None)


@pytest.mark.parametrize("count", ["4001", "100000", "9" * 5000])
def test_a_topic_with_too_many_partitions_is_refused(count: str) -> None:
    with pytest.raises(Exception, match="at most 4000 partitions"):
        TopicList().convert(f"a:4000,b:{count}", None, None)


def test_a_folder_without_a_broker_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kafka-clients-4.3.1.jar").write_bytes(b"")
    with pytest.raises(Missing, match="holds no broker"):
        find_broker_jars("4.3.1", tmp_path)
    (tmp_path / "kafka_2.13-4.3.1.jar").write_bytes(b"")
    assert [path.name for path in find_broker_jars("4.3.1", tmp_path)] == [
        "kafka-clients-4.3.1.jar",
        "kafka_2.13-4.3.1.jar",
    ]


def _java(folder: Path, version: str) -> None:
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        (None, "there is no Java"),
        ("11.0.2", "needs Java 17, and this is Java 11"),
        ("1.8.0_402", "this is Java 1"),
        ("17.0.1", None),
    ],
)
def test_a_java_that_is_too_old_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, problem: str | None
) -> None:
    if version:
        _java(tmp_path, version)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if version else str(tmp_path))
    found = explain_java_problem("4.3.1", tmp_path)
    assert found == problem or (problem is not None and found is not None and problem in found)


def test_jars_that_are_not_here_need_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _java(tmp_path, "21.0.1")
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(download_jars, "find_jar_cache_folder", lambda: tmp_path)
    assert "no Maven" in (explain_java_problem("4.3.1") or "")
    (tmp_path / "kafka-4.3.1").mkdir()
    assert explain_java_problem("4.3.1") is None
