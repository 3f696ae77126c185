"""A broker whose answers decode but cannot be true: one line for the error, an exit code, never a defect."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

import decoders
from kwcli.net import metadata_messages
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import ClientConfig
from kwcli.net.parse_addresses import find_address_problem
from kwcli.net.session.blocking_connection import BrokerConnection
from kwcli.net.session.open_asyncio_connections import Dialler
from kwcli.proxy.node_listeners import ProxyListeners, ProxyPorts
from kwcli.proxy.proxy_settings import request_nodes_of_cluster
from kwcli.proxy.relay.rewrite_addresses import Endpoint
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import Outcome, kw, world
from tests.net.liar import Change, Liar
from tests.net.responder import Responder, framed
from tests.net.servers import silent
from tests.proxy.hidden import port_base

METADATA, LIST_OFFSETS, FIND_COORDINATOR, API_VERSIONS = 3, 2, 10, 18
EVERYWHERE = ("call", "ApiVersions", "--node", "all")
COORDINATOR = ("call", "ApiVersions", "--node", "coordinator:g")
PRODUCE = ("call", "produce", "topic=t", "value=x")
FETCH = ("call", "fetch", "topic=t", "partition=0", "offset=latest")
# Claims of a second node → the message about it.
IMPOSSIBLE = [{"api_key": key, "min_version": 5, "max_version": 2} for key in (60, *range(1000, 2000))]

PLACES: Mapping[str, tuple[dict[str, Any], str]] = {
    "port above": ({"port": 65536}, "a port is between 1 and 65535"),
    "largest port": ({"port": 2**31 - 1}, "a port is between 1 and 65535"),
    "port 0": ({"port": 0}, "a port is between 1 and 65535"),
    "negative port": ({"port": -1}, "a port is between 1 and 65535"),
    "no host": ({"host": ""}, "it names no host"),
    "a long host": ({"host": "a" * 30_000}, "its host has 30,000 characters, and none has more than 253"),
    "NUL": ({"host": "a\0b"}, "it cannot be a host name"),
    "an escape": ({"host": "a\x1b[31mb"}, "it cannot be a host name"),
    "two hosts": ({"host": "a b"}, "it cannot be a host name"),
    "no UTF-8": ({"host": b"\xff\xfe".decode("utf-8", "surrogateescape")}, "it cannot be a host name"),
    "bad IDNA": ({"host": "é" * 70}, "it cannot be a host name"),
    "negative id": ({"node_id": -5}, "a node id is not negative"),
}


def run(lies: Mapping[int, Change], *words: str) -> Outcome:
    """`kw WORDS…` on a broker with these lies; asserts that no defect is reported and no line is too long."""
    with Liar(lies) as liar:
        done = kw(*words, "-b", liar.bootstrap, "--timeout", "2s")
    assert "defect" not in done.err
    assert all(len(line) < 400 for line in done.err.splitlines())
    return done


def beside(more: Mapping[str, Any]) -> Change:
    """A change that adds node 2 beside the true node."""

    def change(answer: dict[str, Any]) -> None:
        (true,) = answer["brokers"]
        answer["brokers"] = [true, {**true, "node_id": 2, **more}]

    return change


def partitions(**values: Any) -> Change:
    return lambda answer: [row.update(values) for topic in answer["topics"] for row in topic["partitions"]]


@pytest.mark.parametrize("name", PLACES)
def test_a_node_at_a_place_that_cannot_be_one_keeps_nobody_from_the_others(name: str) -> None:
    values, says = PLACES[name]
    done = run({METADATA: beside(values)}, *EVERYWHERE, "-o", "ndjson")
    assert done.code == 5
    assert len(done.out.splitlines()) == 1  # the row of the true node
    (line,) = done.err.splitlines()
    assert re.match(r"kw: the cluster says that node (2|-5) is at ", line)
    assert line.endswith(says)


@pytest.mark.parametrize("name", PLACES)
def test_it_is_a_finding_before_a_proxy(name: str) -> None:
    values, says = PLACES[name]
    base = str(port_base(4))
    done = run({METADATA: beside(values)}, "proxy", "--check", "-o", "text", "--port-base", base, "-o", "ndjson")
    assert (done.code, done.err) == (5, "")
    bad = [line for line in done.out.splitlines() if '"ok": false' in line]
    assert says in bad[0]
    assert '"code": 5' in bad[0]
    assert "--dial-map" not in bad[0]


@pytest.mark.parametrize("name", PLACES)
def test_a_coordinator_cannot_be_there_either(name: str) -> None:
    values, says = PLACES[name]
    done = run({FIND_COORDINATOR: lambda answer: answer["coordinators"][0].update(values)}, *COORDINATOR)
    assert (done.code, done.out) == (5, "")
    assert done.err.endswith(f"{says}\n")


@pytest.mark.parametrize("name", PLACES)
def test_who_asks_for_metadata_is_shown_what_the_broker_says(name: str) -> None:
    values, _ = PLACES[name]
    done = run({METADATA: beside(values)}, "call", "Metadata", "-o", "ndjson")
    assert (done.code, done.err) == (0, "")
    assert done.out.count('"node_id"') == 2


ROWS: Mapping[str, tuple[Mapping[int, Change], tuple[str, ...], int, str]] = {
    "a node in two places": (
        {METADATA: beside({"node_id": 1, "port": 1})},
        EVERYWHERE,
        5,
        r"the cluster says that node 1 is at \S+ and at \S+:1: it cannot be both",
    ),
    "no node at all": (
        {METADATA: lambda answer: answer.update(brokers=[])},
        EVERYWHERE,
        1,
        "the cluster names no node",
    ),
    "a controller that is no node": (
        {METADATA: lambda answer: answer.update(controller_id=9)},
        ("call", "ApiVersions", "--node", "controller"),
        124,
        r"the cluster has no active controller \(given up after 2 s\)",
    ),
    "no coordinator": (
        {FIND_COORDINATOR: lambda answer: answer.update(coordinators=[])},
        COORDINATOR,
        1,
        r"\S+: its answer to FindCoordinator 4 does not mention 'g'",
    ),
    "another group's coordinator": (
        {FIND_COORDINATOR: lambda answer: answer["coordinators"][0].update(key="x")},
        COORDINATOR,
        1,
        r"\S+: its answer to FindCoordinator 4 does not mention 'g'",
    ),
    "a leader that is no node": (
        {METADATA: partitions(leader_id=9)},
        PRODUCE,
        1,
        r"the cluster has no node 9 \(it has 1\)",
    ),
    "a negative partition": (
        {METADATA: partitions(partition_index=-3)},
        PRODUCE,
        1,
        r"\S+: its answer to Metadata 12 names partition -3 of 't', and there is none below 0",
    ),
    "two leaders": (
        {METADATA: lambda answer: [topic["partitions"].append({"leader_id": 7}) for topic in answer["topics"]]},
        PRODUCE,
        1,
        r"\S+: its answer to Metadata 12 names two leaders of partition 0 of 't'",
    ),
    "a topic without partitions": (
        {METADATA: lambda answer: [topic.update(partitions=[]) for topic in answer["topics"]]},
        PRODUCE,
        1,
        "the cluster says that topic t has no partitions",
    ),
    "the same with a key": (
        {METADATA: lambda answer: [topic.update(partitions=[]) for topic in answer["topics"]]},
        (*PRODUCE, "key=k"),
        1,
        "the cluster says that topic t has no partitions",
    ),
    "no offset": (
        {LIST_OFFSETS: lambda answer: answer.update(topics=[])},
        FETCH,
        1,
        r"\S+: its answer to ListOffsets 6 does not mention t\[0\]",
    ),
    "another partition's offset": (
        {LIST_OFFSETS: lambda answer: answer["topics"][0]["partitions"][0].update(partition_index=5)},
        FETCH,
        1,
        r"\S+: its answer to ListOffsets 6 does not mention t\[0\]",
    ),
    "versions from 5 to 2": (
        {API_VERSIONS: lambda answer: answer["api_keys"].append({"api_key": 60, "min_version": 5, "max_version": 2})},
        ("call", "DescribeCluster"),
        1,
        r"\S+ offers DescribeCluster in versions 5 to 2: ignored\nkw: \S+ does not offer DescribeCluster .*",
    ),
    "many such versions": (
        {API_VERSIONS: lambda answer: answer["api_keys"].extend(IMPOSSIBLE)},
        ("call", "DescribeCluster"),
        1,
        r"\S+ offers DescribeCluster in versions 5 to 2 and 1,000 more like that: ignored"
        r"\nkw: \S+ does not offer DescribeCluster .*",
    ),
    "versions from -3 on": (
        {API_VERSIONS: lambda answer: answer["api_keys"].append({"api_key": 60, "min_version": -3, "max_version": 2})},
        ("call", "DescribeCluster"),
        1,
        r"\S+ offers DescribeCluster in versions -3 to 2: ignored\nkw: \S+ does not offer DescribeCluster .*",
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ROWS)
def test_what_cannot_be_true_is_said(name: str) -> None:
    lies, words, code, says = ROWS[name]
    done = run(lies, *words)
    assert done.code == code
    assert re.fullmatch(f"kw: {says}\n", done.err), done.err


class Halves(Liar):
    """A broker whose answers to ApiVersions, but for the first, end in the middle."""

    def _answer(self, request: bytes) -> bytes | None:
        whole = super()._answer(request)
        if whole is None or self.asked.count(API_VERSIONS) < 2:
            return whole
        return framed(whole[4 : len(whole) // 2])


def test_half_a_list_of_versions_is_no_column_of_a_table() -> None:
    with Halves() as liar:
        done = kw("call", "ApiVersions", "-b", liar.bootstrap, "-o", "table")
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch(r"kw: (node 1 )?\S+: its answer to ApiVersions 4 cannot be read: .+\n", done.err), done.err


@pytest.mark.parametrize(
    ("body", "topics"),
    [
        ("00000000 01 00 00000001 01 00", []),
        ("00000000 01 00 00000001 01 00 2a", []),
        ("00000000 01 00 00000001 00 00", r"b:9092: its answer to Metadata 12 cannot be read: .*null.*"),
        ("00000000 00 00 00000001 01 00 2a", r"b:9092: its answer to Metadata 12 cannot be read: .*null.*"),
        ("00000000 01 00 000000", r"b:9092: its answer to Metadata 12 cannot be read: .*"),
    ],
    ids=["whole", "a byte follows", "no topics", "no brokers", "cut"],
)
def test_an_answer_to_a_look_up_has_no_null_where_there_is_always_a_value(body: str, topics: list[Any] | str) -> None:
    frame = framed(bytes.fromhex("00000007 00" + body))
    reply: Any = SimpleNamespace(response_frame=frame)
    connection: Any = SimpleNamespace(peer="b:9092", deadline=None)  # it is for long answers
    if isinstance(topics, list):
        assert metadata_messages.decode_reply(connection, reply, METADATA, 12)["topics"] == topics
    else:
        with pytest.raises(Failure, match=topics):
            metadata_messages.decode_reply(connection, reply, METADATA, 12)


def test_versions_that_are_none_are_a_finding() -> None:
    row = {"api_key": 60, "min_version": 5, "max_version": 2}
    base = str(port_base(4))
    done = run(
        {API_VERSIONS: lambda answer: answer["api_keys"].append(row)},
        "proxy",
        "--check",
        "-o",
        "text",
        "--port-base",
        base,
    )
    assert done.code == Exit.FINDINGS
    assert "offers DescribeCluster in versions 5 to 2: no client can use that\n" in done.out


def test_a_cluster_id_of_any_length_and_bytes_is_one_line() -> None:
    words = ("proxy", "--check", "-o", "text", "--port-base", str(port_base(4)))
    long = run({METADATA: lambda answer: answer.update(cluster_id="x" * 30_000)}, *words)
    assert long.code == 0
    assert max(map(len, long.out.splitlines())) < 200
    odd = b"\xff".decode("utf-8", "surrogateescape")
    done = run({METADATA: lambda answer: answer.update(cluster_id=odd)}, *words)
    assert done.code == 0
    assert "cluster id \\xff" in done.out


@pytest.mark.parametrize("host", ["kafka-1", "a_b.c", "127.0.0.1", "::1", "fe80::1%eth0", "bücher.example", "a" * 253])
@pytest.mark.parametrize("port", [1, 9092, 65535])
def test_what_may_be_a_place_is_tried(host: str, port: int) -> None:
    assert find_address_problem((host, port)) is None


@pytest.mark.parametrize("port", [70_000, -1, 0])
def test_a_proxy_says_so_as_well(port: int) -> None:
    with pytest.raises(Failure, match=f"^127.0.0.1:{port}: a port is between 1 and 65535$"):
        asyncio.run(Dialler(ClientConfig((("127.0.0.1", 9092),))).dial(("127.0.0.1", port), asyncio.Protocol))


def test_a_proxy_leaves_out_whom_it_could_not_reach_and_says_why() -> None:
    with Liar({METADATA: beside({"port": 70_000})}) as liar:
        found = request_nodes_of_cluster(ClientConfig((liar.address,)))
    assert [*found.nodes] == [1]
    assert found.remark == "the cluster says that node 2 is at 127.0.0.1:70000: a port is between 1 and 65535"


def test_of_two_places_for_one_node_a_proxy_takes_the_first_and_stays_there() -> None:
    said: list[str] = []
    opened: list[socket.socket] = []
    base = port_base(4)
    listeners = ProxyListeners(
        ProxyPorts(base), "127.0.0.1", "127.0.0.1", lambda _, sock: opened.append(sock), said.append
    )
    found = [Endpoint(2, host, 9092, 0, 0) for host in ("a", "b", "a")]
    for _ in range(3):
        assert listeners.open_listeners_and_find_addresses(found) == {2: ("127.0.0.1", base + 3)}
    (sock,) = opened
    sock.close()
    assert said == [f"node 2: a:9092 at 127.0.0.1:{base + 3}"]


# Time and work for clusters of any size


class Clock:
    """A clock that stands still unless a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The addresses tried besides the first; each of them fails after a 64th of a second."""
    clock, places = Clock(), []
    real: Callable[..., BrokerConnection] = BrokerConnection.open

    def attempt(address: tuple[str, int], *words: Any, **more: Any) -> BrokerConnection:
        if address[0] == "127.0.0.1":
            return real(address, *words, **more)
        places.append(address)
        clock.now += 1 / 64
        raise Failure(f"{address[0]} refused the connection")

    monkeypatch.setattr("kwcli.net.cluster_client.BrokerConnection.open", attempt)
    monkeypatch.setattr("kwcli.proxy.check_without_starting.time", SimpleNamespace(monotonic=clock.monotonic))
    monkeypatch.setattr("tests.net.test_lies.CLOCK", clock)
    return places


CLOCK = Clock()


def thousands(answer: dict[str, Any]) -> None:
    more = [{"node_id": number, "host": f"k{number}", "port": 9092} for number in range(2, 5002)]
    answer["brokers"] = [*answer["brokers"], *more]


def test_all_nodes_are_asked_in_the_time_there_is(tried: list[tuple[str, int]]) -> None:
    env = world()
    env.monotonic = CLOCK.monotonic
    with Liar({METADATA: thousands}) as liar:
        done = kw(*EVERYWHERE, "-b", liar.bootstrap, "--timeout", "4s", "-o", "ndjson", env=env)
    assert len(tried) == 192  # a quarter of the time is left for requests
    assert (done.code, len(done.out.splitlines())) == (1, 1)
    told = done.err.splitlines()
    assert len(told) == 22
    assert told[-2:] == [
        "kw: … 172 nodes more like this …",
        "kw: no time is left to connect to 4,808 nodes of 5,001; give a longer --timeout",
    ]


def test_a_list_of_nodes_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = metadata_messages.make_node

    def counted(number: int, *words: Any) -> metadata_messages.ClusterNode:
        made.append(number)
        return real(number, *words)

    monkeypatch.setattr(metadata_messages, "make_node", counted)
    with (
        Liar({METADATA: thousands}) as liar,
        ClusterClient(ClientConfig((liar.address,)), Deadline(60.0, time.monotonic)) as cluster,
    ):
        assert len(cluster.list_nodes()) == 5001
        assert cluster.connect_to_any().node_id == 1
    assert len(made) == 5001


def test_a_long_answer_is_read_in_the_time_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()
    ended: list[bool] = []

    def endless(*words: Any, **more: Any) -> Any:
        ended.append(given_up.wait(10.0))
        return decoders.decode_response(*words, **more)

    monkeypatch.setattr("kwcli.net.metadata_messages.LONG", 50_000)
    monkeypatch.setattr("kwcli.net.metadata_messages.decode_response", endless)
    with Liar({METADATA: thousands}) as liar:
        done = kw(*EVERYWHERE, "-b", liar.bootstrap, "--timeout", "1s")
    assert not ended  # the answer is still being read
    given_up.set()
    assert (done.code, done.out) == (124, "")
    what = r"kw: \S+: its answer to Metadata 12, of [\d,]+ bytes, was not read within 1 s\n"
    assert re.fullmatch(what, done.err), done.err


def test_a_silent_node_leaves_time_to_ask_the_others() -> None:
    with Responder(silent) as nobody:
        done = run({METADATA: beside({"node_id": 0, "port": nobody.address[1]})}, *EVERYWHERE, "-o", "ndjson")
    assert (done.code, len(done.out.splitlines())) == (124, 1)
    assert re.search(r"accepted the connection but says nothing within 0\.\d+ s; is it a Kafka broker\?", done.err)


def test_a_check_is_over_when_its_time_is(tried: list[tuple[str, int]]) -> None:
    with Liar({METADATA: thousands}) as liar:
        words = ("-b", liar.bootstrap, "--timeout", "4s", "--port-base", str(port_base(256)))
        done = kw("proxy", "--check", "-o", "text", *words)
    assert len(tried) == 256
    assert done.out.count("refused the connection") == 256
    last = [line for line in done.out.splitlines() if "time is up" in line]
    assert last == [
        "fail  nodes         time is up after 4 s: 4,744 of 5,001 were not checked; give a longer --timeout",
        "fail  ports         time is up after 4 s: 4,746 of 5,002 were not checked; give a longer --timeout",
    ]
    assert done.code == 124


def test_ports_of_many_nodes_are_written_down_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    replace = os.replace

    def counted(source: str, target: str) -> None:
        written.append(target)
        replace(source, target)

    monkeypatch.setattr("kwcli.proxy.node_listeners.os.replace", counted)
    file = str(tmp_path / "ports.json")
    first = ProxyPorts(20000, "one", file, nodes=range(1000, 21000))
    assert (first.find_port(20999), written) == (41000, [file])
    assert [first.find_port(number) for number in (-1, -(2**31))] == [None, None]
    for number in range(2**31 - 60_000, 2**31):  # more nodes than there are ports
        first.find_port(number)
    first.write_ports_file()
    again = ProxyPorts(20000, "one", file)
    assert (again.find_port(20999), again.find_port(2**31 - 60_000), again.find_port(2**31 - 1)) == (41000, 41001, None)
    ProxyPorts(20000, "two", file, nodes=range(1000, 2000), keep=False)
    assert len(written) == 2
    assert ProxyPorts(20000, "two", file).find_port(1999) == 21001


def test_what_a_killed_proxy_left_is_swept_by_the_next(tmp_path: Any) -> None:
    file = tmp_path / "proxy-ports.json"
    left = tmp_path / "proxy-ports.json.kw-0123abcd"
    others = [tmp_path / f"proxy-ports.json.{word}" for word in ("1", "bak", "kw-0123")]
    for each in (left, *others):
        each.write_text("{")
    ProxyPorts(20000, "one", str(file), keep=False)
    assert left.exists()
    ProxyPorts(20000, "one", str(file))
    assert [each.exists() for each in (left, *others)] == [False, True, True, True]
