"""--hosts: files that name addresses, and what rows, text, filters, answers and tables make of the names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwcli.reading.sinks.host_names import read_host_names
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw, world, written

CAPTURE = Path(__file__).resolve().parents[2] / "captures" / "sasl-framed.pcapng"


def pod(name: str, *addresses: str, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    status = {"phase": phase, "podIP": addresses[0], "podIPs": [{"ip": each} for each in addresses]}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": spec, "status": status}


PODS = {
    "kind": "List",
    "items": [
        pod("broker-0", "10.0.0.5", "fd00::5"),
        pod("done", "10.0.0.6", phase="Succeeded"),
        pod("agent-x", "10.9.0.1", hostNetwork=True, nodeName="node-1"),
        pod("agent-y", "10.9.0.1", hostNetwork=True, nodeName="node-1"),
        {"kind": "Pod", "metadata": {"name": "pending"}, "status": {}},
    ],
}
CONTAINERS = [
    {
        "Name": "/kafka-1",
        "NetworkSettings": {
            "IPAddress": "",
            "Networks": {"kafka": {"IPAddress": "172.18.0.2", "GlobalIPv6Address": "fd01::2"}},
        },
    },
    {"Name": "/stopped", "NetworkSettings": {"IPAddress": "", "Networks": {}}},
]
LINES = """\
# brokers
10.0.0.1 b1 b1.example.com   # the first
10.0.0.2\tb2
::1 here
fe80::1%eth0 b3
2001:DB8:0::1 b4
::ffff:10.0.0.9 b9
"""


def names(path: Path, text: str) -> tuple[dict[str, str], str]:
    path.write_text(text)
    env = world()
    return dict(read_host_names(str(path), env).names), written(env.stderr).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            LINES,
            {"10.0.0.1": "b1", "10.0.0.2": "b2", "::1": "here", "fe80::1": "b3", "2001:db8::1": "b4", "10.0.0.9": "b9"},
        ),
        (json.dumps(PODS, indent=1), {"10.0.0.5": "broker-0", "fd00::5": "broker-0", "10.9.0.1": "node-1"}),
        (json.dumps(PODS["items"][0]), {"10.0.0.5": "broker-0", "fd00::5": "broker-0"}),
        ("\n " + json.dumps(CONTAINERS), {"172.18.0.2": "kafka-1", "fd01::2": "kafka-1"}),
    ],
)
def test_forms_of_a_file_of_names(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    assert names(tmp_path / "hosts", text) == (expected, "")


def test_lines_that_name_nothing_are_told_with_their_numbers(tmp_path: Path) -> None:
    found, err = names(
        tmp_path / "hosts", "b1 10.0.0.1\n10.0.0.2\n10.0.0.3 a\x1b[31m\n10.0.0.4 x\n10.0.0.4 y\n10.0.0.4 x\n"
    )
    assert found == {"10.0.0.4": "x"}
    for said in (
        "line 1: no address: 'b1'",
        "line 2: no name of a host: ''",
        "line 3: no name of a host: 'a\\x1b[31m'",
        "line 5: 10.0.0.4 is x already, and not y",
    ):
        assert f"hosts: {said}\n" in err
    assert len(err.splitlines()) == 4
    many = names(tmp_path / "hosts", "x\n" * 100)[1]
    assert len(many.splitlines()) == 6
    assert "95 lines more like these" in many


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2", "line 1: no JSON"),
        ("{}", "no addresses in this JSON"),
        ("[" * 100_000, "no JSON"),
        (None, "no such file"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "hosts").write_text(text)
    with pytest.raises(Failure, match=said):
        read_host_names(str(tmp_path / "hosts"), world())


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    (tmp_path / "hosts").write_text("127.0.0.1 broker-0\n")
    return str(tmp_path / "hosts")


def test_records_filters_columns_and_dimensions_have_the_names(hosts: str) -> None:
    plain = [json.loads(line) for line in kw("sniff", str(CAPTURE)).out.splitlines()]
    found = [json.loads(line) for line in kw("sniff", str(CAPTURE), "--hosts", hosts).out.splitlines()]
    named = {"client_name": "broker-0", "broker_name": "broker-0"}
    assert found == [row | named if row["kind"] == "exchange" else row for row in plain]
    words = ("sniff", str(CAPTURE), "--hosts", hosts, "-f")
    assert len(kw(*words, "client_name == broker-0").out.splitlines()) == sum(
        row["kind"] == "exchange" for row in plain
    )
    assert not kw(*words, "broker_name == b9").out
    cells = kw(*words, "api == Metadata", "-o", "csv", "--columns", "client_name,broker_name").out.splitlines()
    assert set(cells[1:]) == {"broker-0,broker-0"}
    (group,) = kw("stats", str(CAPTURE), "--hosts", hosts, "--by", "broker_name", "-o", "ndjson").out.splitlines()
    assert json.loads(group)["broker_name"] == "broker-0"


def test_records_that_are_read_again_get_names(hosts: str, tmp_path: Path) -> None:
    stored = tmp_path / "rows.ndjson"
    stored.write_text(kw("sniff", str(CAPTURE)).out)
    found = [json.loads(line) for line in kw("sniff", str(stored), "--hosts", hosts).out.splitlines()]
    assert {row["broker_name"] for row in found if row["kind"] == "exchange"} == {"broker-0"}
    stored.write_text("\n".join(map(json.dumps, found)))
    assert "broker-0" in kw("sniff", str(stored), "-f", "broker_name == broker-0").out


def test_text_shows_names_in_place_of_addresses(hosts: str) -> None:
    out = kw("sniff", str(CAPTURE), "--hosts", hosts, "-o", "text", "-v", "--limit", "3").out
    assert "broker-0:9094" in out
    assert "127.0.0.1:9094" not in out


def test_a_hostile_name_in_a_record_is_escaped(tmp_path: Path) -> None:
    row = json.loads(kw("sniff", str(CAPTURE), "--limit", "1").out)
    (tmp_path / "rows.ndjson").write_text(json.dumps(row | {"broker_name": "b\x1b[2J"}))
    assert "\x1b[2J" not in kw("sniff", str(tmp_path / "rows.ndjson"), "-o", "text", "-v").out


def test_neither_scrub_nor_kept_packets_have_names(hosts: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.pcapng"
    assert kw("sniff", str(CAPTURE), "--hosts", hosts, "-w", str(kept)).code == Exit.DONE
    assert b"broker-0" not in kept.read_bytes()
    assert kw("scrub", str(CAPTURE), str(tmp_path / "s.pcapng"), "--hosts", hosts).code == Exit.USAGE


def test_tables_have_the_names(hosts: str, tmp_path: Path) -> None:
    out = str(tmp_path / "tables")
    assert kw("pipeline", "run", str(CAPTURE), "--hosts", hosts, "--out", out).code == Exit.DONE
    query = "select distinct client_name, broker_name from exchanges where kind = 'exchange'"
    assert kw("sql", out, query, "-o", "csv").out.splitlines()[1:] == ["broker-0,broker-0"]
    assert json.loads(kw("sniff", out, "--limit", "1").out)["broker_name"] == "broker-0"
    bare = str(tmp_path / "bare")
    assert kw("pipeline", "run", str(CAPTURE), "--out", bare).code == Exit.DONE
    assert kw("sql", bare, query, "-o", "csv").out.splitlines()[1:] == [","]
    assert json.loads(kw("sniff", bare, "--hosts", hosts, "--limit", "1").out)["broker_name"] == "broker-0"


@pytest.mark.parametrize(
    ("command", "cell"), [("clients", " broker-0 "), ("brokers", " broker-0:9094 "), ("audit", " broker-0\n")]
)
def test_text_about_clients_and_brokers_has_names_in_place_of_addresses(hosts: str, command: str, cell: str) -> None:
    words = (command, str(CAPTURE), "--hosts", hosts, "-o")
    assert cell in kw(*words, "text").out
    assert kw(*words, "ndjson").out == kw(command, str(CAPTURE)).out


@pytest.mark.parametrize(("name", "cell"), [("b-0", "1 b-0"), ("broker", "broker"), ("payments-3", "1")])
def test_a_narrow_terminal_shows_the_name_without_its_port(tmp_path: Path, name: str, cell: str) -> None:
    (tmp_path / "hosts").write_text(f"127.0.0.1 {name}\n")
    words = ("-f", "api == SaslHandshake", "--limit", "1", "-o", "text")
    env = world(terminal=True, columns=80)
    assert f" {cell} " in kw("sniff", str(CAPTURE), "--hosts", str(tmp_path / "hosts"), *words, env=env).out


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('broker_name == "broker-0"', 193),
        ('file == "captures/tour.pcapng"', 193),
        ("file ~ steps and packet == 1-200", 3),
    ],
)
def test_packets_are_kept_by_names_of_addresses_and_files(hosts: str, tmp_path: Path, text: str, count: int) -> None:
    path = tmp_path / "kept.pcapng"
    files = ["captures/tour.pcapng", "captures/first-steps.pcapng"]
    shown = kw("sniff", *files, "-f", text, "--hosts", hosts, "-o", "ndjson", "-w", str(path)).out
    kept = kw("sniff", str(path), "-o", "ndjson").out
    assert kept.count("\n") == shown.count("\n") >= count
