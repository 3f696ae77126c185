"""`-X list` and `-X dump`: the properties that exist, the ones in force, and their origins."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from kwcli.net.config.client_properties import IRRELEVANT, PROPERTIES, UNSUPPORTED, list_known_property_names
from kwcli.net.config.connection_profiles import Profiles
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw, world

TEXT = {"KW_OUTPUT": "text"}
COMMANDS = [("call",), ("call", "Metadata"), ("call", "Produce", "topic=a"), ("proxy",), ()]


def test_every_property_has_words() -> None:
    assert [row.name for row in PROPERTIES if not row.text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_list(command: tuple[str, ...]) -> None:
    done = kw(*command, "-X", "list", env=world(variables=TEXT))
    assert (done.code, done.err) == (Exit.DONE, "")
    words = set(done.out.replace(",", " ").replace(";", " ").split())
    assert [name for name in list_known_property_names() if name not in words] == []
    assert "whether to speak TLS (SSL), to log in (SASL), or both: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL" in done.out


def test_list_as_rows() -> None:
    rows = [json.loads(line) for line in kw("call", "-X", "list", "-o", "ndjson").out.splitlines()]
    assert json.loads(kw("call", "-o", "json", "-Xlist").out) == rows
    assert len(rows) == len(PROPERTIES) + len(UNSUPPORTED) + len(IRRELEVANT)
    assert rows[0] == {
        "property": "bootstrap.servers",
        "also": ["metadata.broker.list"],
        "followed": True,
        "meaning": "brokers to ask first: host:port,…",
        "values": [],
        "default": "localhost:9092",
        "secret": False,
    }
    table = [*csv.DictReader(io.StringIO(kw("call", "-X", "list", "-o", "csv").out))]
    assert [row["property"] for row in table] == [row["property"] for row in rows]


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_list_fits(columns: int) -> None:
    env = world(variables=TEXT, terminal=True, columns=columns)
    lines = kw("call", "-X", "list", env=env).out.splitlines()
    assert max(map(len, lines)) <= columns


def dump(home: Path, *words: str, **variables: str) -> Outcome:
    return kw(*words, "-X", "dump", env=world(variables={**TEXT, "XDG_CONFIG_HOME": str(home), **variables}))


def test_dump_says_where_each_value_is_from(tmp_path: Path) -> None:
    path = Profiles(tmp_path / "kw").write(
        "prod", [("bootstrap.servers", "p:1"), ("sasl.password", "hunter2"), ("client.id", "mine")]
    )
    file = tmp_path / "c.properties"
    file.write_text("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nacks=all\nfoo=bar\nssl.ca.location=/ca\n")
    done = dump(
        tmp_path, "call", "-F", str(file), "--profile", "prod", "-X", "sasl.username=me", "--timeout", "3s",
        KW_SSL_CIPHER_SUITES="A", KW_CONNECT_TIMEOUT="2",
    )  # fmt: skip
    assert (done.code, done.err) == (Exit.DONE, "")
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in done.out.splitlines()}
    assert "hunter2" not in done.out
    assert rows == {
        "property": "value from",
        "bootstrap.servers": f"p:1 profile prod {path}:1",
        "client.id": f"mine profile prod {path}:3",
        "security.protocol": f"SASL_SSL -F {file}:1",
        "kw.output": "text KW_OUTPUT",
        "socket.connection.setup.timeout.ms": "2000 KW_CONNECT_TIMEOUT",
        "default.api.timeout.ms": "3000 --timeout",
        "ssl.ca.location": f"/ca -F {file}:5",
        "api.version.request": "true default",
        "broker.version.fallback": "0.9.0 default",
        "enable.ssl.certificate.verification": "true default",
        "ssl.endpoint.identification.algorithm": "https default",
        "ssl.cipher.suites": "A KW_SSL_CIPHER_SUITES",
        "sasl.mechanism": f"PLAIN -F {file}:2",
        "sasl.username": "me -X",
        "sasl.password": f"{{redacted 7}} profile prod {path}:2",
        "sasl.kerberos.service.name": "kafka default",
        "sasl.oauthbearer.header.urlencode": "false default",
        "acks": f"all -F {file}:3 (no meaning for kw)",
        "foo": f"{{redacted 3}} -F {file}:4 (unknown)",
    }
    kinds = {row["property"]: row["from"] for row in json.loads(dump(tmp_path, "call", "-o", "json", "-b", "a:1").out)}
    assert kinds["bootstrap.servers"] == "command line"
    assert kinds["client.id"] == "default"
    revealed = dump(tmp_path, "call", "--profile", "prod", "--reveal-secrets")
    assert "hunter2" in revealed.out


def test_dump_of_the_active_profile_everywhere(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path / "kw")
    path = profiles.write("prod", [("bootstrap.servers", "p:1")])
    profiles.set_active("prod")
    for command in COMMANDS:
        assert (
            f"p:1                profile prod {path}:1" in dump(tmp_path, *command).out
            or "p:1" in dump(tmp_path, *command).out
        )


def test_dump_of_a_login_configuration(tmp_path: Path) -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="hunter2";'
    done = dump(tmp_path, "call", "-X", f"sasl.jaas.config={jaas}", "-o", "ndjson")
    rows = {row["property"]: row["value"] for row in map(json.loads, done.out.splitlines())}
    assert rows["username in sasl.jaas.config"] == "me"
    assert rows["password in sasl.jaas.config"] == {"redacted": 7}


def test_dump_shows_what_a_command_would_refuse(tmp_path: Path) -> None:
    done = dump(tmp_path, "call", "-X", "tls=true")
    assert done.code == Exit.DONE
    assert "tls" in done.out
    assert "(unknown)" in done.out
    lost = dump(tmp_path, "call", "--profile", "none")
    assert (lost.code, lost.err) == (Exit.USAGE, "kw: there is no profile none; there are none yet\n")


def test_a_property_before_the_command() -> None:
    done = kw("-X", "security.protocol=SSL", "call", "Metadata")
    assert done.code == Exit.USAGE
    assert done.err.startswith("kw: -X goes behind the command: kw call -X KEY=VALUE …")
