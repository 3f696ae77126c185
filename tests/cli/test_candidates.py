"""Candidates for the scripts of shells: properties, filters, nodes, names of the cluster; in time, or none."""

from __future__ import annotations

import json
import os
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import decoders
from kwcli.completion import cluster_names
from kwcli.completion.cluster_names import ClusterWords
from kwcli.completion.completion_candidates import LIMIT_VARIABLE
from kwcli.net.config.connection_profiles import Profiles
from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed

OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "like", "~", "!~", "in", "and", "or")
LIMIT = {LIMIT_VARIABLE: "30"}


def offered(kind: str, word: str, *line: str, home: Path | None = None, **variables: str) -> list[str]:
    """The candidates that `kw __complete` prints."""
    places = {} if home is None else {"XDG_CACHE_HOME": f"{home}/cache", "XDG_CONFIG_HOME": f"{home}/config"}
    done = kw("__complete", kind, word, *line, env=world(variables={**LIMIT, **places, **variables}))
    assert (done.code, done.err) == (Exit.DONE, "")
    return [row.partition("\t")[0] for row in done.out.splitlines()]


@pytest.mark.parametrize(
    ("kind", "word", "words"),
    [
        ("property", "security.pro", ["security.protocol="]),
        ("property", "SECURITY.PRO", ["security.protocol="]),
        ("property", "li", ["list"]),
        ("property", "sasl.mechanism=SCRAM", ["sasl.mechanism=SCRAM-SHA-256", "sasl.mechanism=SCRAM-SHA-512"]),
        ("property", "sasl.oauthbearer.method=", ["sasl.oauthbearer.method=default", "sasl.oauthbearer.method=oidc"]),
        ("property", "sasl.username=m", []),
        ("property", "nonsense=", []),
        ("columns", "lat", ["latency", "latency_ms"]),
        ("columns", "time,client_s", ["time,client_software"]),
        ("columns", "client_software.", ["client_software.name", "client_software.version"]),
        ("columns", "api,errors.c", ["api,errors.code"]),
        ("columns", "req", ["request_end_file", "request_size", "request."]),
        ("columns", "api,response.controller", ["api,response.controller_id"]),
        ("columns", "request.topics[0].num", ["request.topics[0].num_partitions"]),
        ("columns", "time api", []),
        ("filter", "lat", ["latency", "latency_ms"]),
        ("filter", "not lat", ["not latency", "not latency_ms"]),
        ("filter", "(lat", ["(latency", "(latency_ms"]),
        ("filter", "api == heartb", ["api == Heartbeat"]),
        ("filter", "api==Heartb", ["api==Heartbeat"]),
        ("filter", "latency > 1s and api != Heartb", ["latency > 1s and api != Heartbeat"]),
        ("filter", "api in (Fetch, Heartb", ["api in (Fetch, Heartbeat"]),
        ("filter", "api in (Heartb", ["api in (Heartbeat"]),
        ("filter", "api in ", ["api in ("]),
        ("filter", "api in (Fetch) a", ["api in (Fetch) and"]),
        ("filter", "status == un", ["status == unanswered", "status == undecoded"]),
        ("filter", "side == ", ["side == request", "side == response"]),
        ("filter", "closed == r", ["closed == rst"]),
        ("filter", "error == NOT_LEADER", ["error == NOT_LEADER_OR_FOLLOWER"]),
        ("filter", "latency > 1s o", ["latency > 1s or"]),
        ("filter", "status l", ["status like"]),
        ("filter", "partition", ["partition"]),
        ("filter-quoted", "partition", [f"partition {sign}" for sign in OPERATORS]),
        ("filter", "request.allow", ["request.allow_auto_topic_creation", "request.allow_replication_factor_change"]),
        ("filter", "api in (Fetch)", ["api in (Fetch) and", "api in (Fetch) or"]),
        ("filter", 'client_id == "a b"', ['client_id == "a b" and', 'client_id == "a b" or']),
        ("filter", "response.topics.num", ["response.topics.num_partitions"]),
        ("filter", 'client_id == "a b', []),
        ("filter", "client_id == ", []),
        ("filter", ")(lat", [")(latency", ")(latency_ms"]),
        ("filter", "(topic==a)", ["(topic==a) and", "(topic==a) or"]),
        ("filter", "topic==a)", []),
        ("filter", "topic==a) ", []),
        ("node", "co", ["controller", "coordinator:"]),
        ("node", "l", ["leader:"]),
        ("body", "topics[].name", []),
        ("nonsense", "x", []),
    ],
)  # fmt: skip
def test_words(kind: str, word: str, words: list[str]) -> None:
    assert offered(kind, word, "sniff") == words


@pytest.mark.parametrize(
    ("kind", "word", "line", "row"),
    [
        ("body", "topics[].n", "kw call Metadata", "topics[].name=\tThe topic name."),
        ("body", "TOPICS[].n", "kw call -b a:1 metadata", "topics[].name=\tThe topic name."),
        ("body", "topics[0].n", "kw call Metadata", "topics[0].name=\tThe topic name."),
        ("body", "topics[0].partitions[12].of", "kw encode ListOffsets", None),
        ("body", "groups[].t", "kw encode OffsetFetch 8", "groups[].topics[].name=\tThe topic name."),
        ("body", "groups", "kw call DescribeGroups", "groups[]=\tThe names of the groups to describe."),
        ("body", "hea", "kw call Produce", "header="),  # no field: a word of Produce
        ("body", "topics", "kw call", None),
        ("filter", "response.broker_ep", "kw sniff", "response.broker_epoch\tThe broker's assigned epoch, or -1 if"),
        (
            "filter",
            "request.topics[0].num",
            "kw sniff",
            "request.topics[0].num_partitions\tThe number of partitions to",
        ),
        ("filter", "request.topics.na", "kw sniff", "request.topics.name"),  # APIs say different things of it
        ("filter", "record.offs", "kw sniff", "record.offset\tThe offset that the consumer wants to store"),
        ("columns", "response.broker_ep", "kw sniff", "response.broker_epoch\tThe broker's assigned epoch, or -1 if"),
    ],
)
def test_a_field_says_what_it_means(kind: str, word: str, line: str, row: str | None) -> None:
    done = kw("__complete", kind, word, *line.split(), env=world(variables=LIMIT))
    assert (done.code, done.err) == (Exit.DONE, "")
    first = done.out.splitlines()[:1]
    assert first == [] if row is None else first[0].startswith(row)
    assert row is None or ("\t" in row) == ("\t" in first[0])


@pytest.mark.parametrize("words", [(), ("filter",), ("filter", "x"), ("body", "a=", "call", "-b"), ("property", "=")])
def test_half_a_call(words: tuple[str, ...]) -> None:
    done = kw("__complete", *words, env=world(variables=LIMIT))
    assert (done.code, done.err) == (Exit.DONE, "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("call -b a:1 Metadata", ClusterWords(servers=("a:1",))),
        ("call -ba:1", ClusterWords(servers=("a:1",))),
        ("call --bootstrap-server=a:1 --profile p", ClusterWords(servers=("a:1",), profile=("p",))),
        ("call -X a=b -Xc=d --property e=f", ClusterWords(properties=("a=b", "c=d", "e=f"))),
        ("call -F x -F y", ClusterWords(files=("x", "y"))),
        ("call --timeout 3 -b", ClusterWords()),
    ],
)
def test_what_a_line_says_of_its_cluster(line: str, words: ClusterWords) -> None:
    assert ClusterWords.from_words(line.split()) == words


class Broker:
    """A broker with two topics and these groups; `heard` are the requests that it got."""

    def __init__(self, groups: Sequence[str]) -> None:
        self.groups = groups
        self.heard: list[tuple[int, dict[str, object]]] = []
        self.port = 0

    def answer(self, frame: bytes) -> bytes:
        key, version, correlation_id = struct.unpack(">hhi", frame[:8])
        self.heard.append((key, decoders.decode_request(frame).body))
        value: dict[str, object] = offers({3: (0, 13), 16: (0, 5), 18: (0, 4)})
        if key == 3:
            node = {"node_id": 7, "host": "127.0.0.1", "port": self.port}
            topics: list[dict[str, object]] = [{"name": name, "partitions": []} for name in ("payments", "orders")]
            value = {"brokers": [node], "controller_id": 7, "cluster_id": "a-cluster", "topics": topics}
        elif key == 16:
            value = {"groups": [{"group_id": group} for group in self.groups]}
        return framed(decoders.encode_response(key, version, value, correlation_id=correlation_id))


@contextmanager
def broker(*groups: str) -> Iterator[tuple[Broker, str]]:
    made = Broker(groups or ("billing", "bad\x1bgroup"))
    with Responder(*[each_request(made.answer)] * 20) as served:
        made.port = served.address[1]
        yield made, f"127.0.0.1:{made.port}"


def test_names_of_the_cluster(tmp_path: Path) -> None:
    with broker() as (made, where):
        ask = ("call", "-b", where)
        assert offered("body", "topic=", *ask, "produce", home=tmp_path) == ["topic=orders", "topic=payments"]
        assert offered("body", "topics[3].name=o", *ask, "Metadata", home=tmp_path) == ["topics[3].name=orders"]
        assert offered("body", "resources[].resource_name=o", *ask, "DescribeConfigs", home=tmp_path) == [
            "resources[].resource_name=orders"
        ]
        assert offered("body", "group_id=", *ask, "OffsetCommit", home=tmp_path) == ["group_id=billing"]
        assert offered("body", "groups[]=", *ask, "DescribeGroups", home=tmp_path) == ["groups[]=billing"]
        assert offered("node", "7", *ask, home=tmp_path) == ["7"]
        assert offered("node", "leader:o", *ask, home=tmp_path) == ["leader:orders-0"]
        assert offered("node", "coordinator:", *ask, home=tmp_path) == ["coordinator:billing"]
        assert offered("filter", "topic == o", "sniff", "-b", where, home=tmp_path) == ["topic == orders"]
        assert offered("body", "acks=", *ask, "produce", home=tmp_path) == []
        # Each kind was asked for once, nothing else was, and nothing that creates a topic.
        assert {key for key, _ in made.heard} == {3, 16, 18}
        assert sum(key == 16 for key, _ in made.heard) == 1
        metadata = [body for key, body in made.heard if key == 3]
        assert all(body["allow_auto_topic_creation"] is False for body in metadata)
        assert [body["topics"] for body in metadata if body["topics"] is None] == [None]
        profiles = Profiles(tmp_path / "config/kw")
        profiles.write("p", [("bootstrap.servers", where)])
        heard = len(made.heard)
        for line, variables in (
            (("--profile", "p"), {}),
            ((), {"KW_PROFILE": "p"}),
            ((), {"KW_BOOTSTRAP_SERVER": where}),
        ):
            assert offered("body", "topic=o", "call", *line, "produce", home=tmp_path, **variables) == ["topic=orders"]
            assert len(made.heard) > heard  # another way to the cluster counts as another cluster
            heard = len(made.heard)
    files = [*(tmp_path / "cache/kw/completion").iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "cache/kw/completion").stat().st_mode) == 0o700
    # Names are kept for a minute, even if the cluster is gone.
    assert offered("body", "topic=o", *ask, "produce", home=tmp_path) == ["topic=orders"]
    for file in files:
        os.utime(file, (time.time() - 61,) * 2)
    assert offered("body", "topic=o", *ask, "produce", home=tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "word", "line", "words"),
    [
        # A value that begins with @ is a file to kw, which would send what is in it; topic= takes several, with commas.
        ("body", "group_id=", "call Heartbeat", ["group_id=a b", "group_id=a,b", "group_id=null"]),
        ("body", "topic=", "call produce", ["topic=a b", "topic=null"]),
        (
            "body",
            "group_id:=",
            "call Heartbeat",
            [f'group_id:="{name}"' for name in ("@file", "a b", "a,b", "null", "null\\tx", "a\\nb")],
        ),
        ("node", "coordinator:", "call", [f"coordinator:{name}" for name in ("@file", "a b", "a,b", "null")]),
        (
            "filter",
            "topic == ",
            "sniff",
            ["topic == @file", *(f'topic == "{name}"' for name in ("a b", "a,b", "null"))],
        ),
        ("filter", "group == a", "sniff", []),
    ],
)
def test_names_that_kw_itself_would_read_as_something_else(
    tmp_path: Path, kind: str, word: str, line: str, words: list[str]
) -> None:
    variables = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config"), **LIMIT}
    kinds: tuple[cluster_names.What, ...] = ("topics", "groups")
    for what in kinds:
        path = cluster_names.find_cache_file_of_names(world(variables=variables), what, ClusterWords(servers=("a:1",)))
        Path(path).write_text(json.dumps(["@file", "a b", "a,b", "null", "null\tx", "a\nb"]))
    command, *rest = line.split()
    assert offered(kind, word, command, "-b", "a:1", *rest, home=tmp_path) == words


@pytest.mark.parametrize(
    ("locale", "words"),
    [
        ({}, ["topic=plain", "topic=日|x"]),
        ({"LANG": "C"}, ["topic=plain", "topic=日|x"]),
        ({"LANG": "zh_CN.GBK", "LC_CTYPE": "zh_CN.utf8"}, ["topic=plain", "topic=日|x"]),
        ({"LANG": "de_DE.UTF-8"}, ["topic=plain", "topic=日|x"]),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "zh_CN.GBK"}, ["topic=plain"]),
        ({"LANG": "zh_TW"}, ["topic=plain"]),
    ],
)
def test_names_that_a_shell_reads_in_another_charset_are_left_out(
    tmp_path: Path, locale: dict[str, str], words: list[str]
) -> None:
    """In GBK the last byte of 日 and the sign behind it are one character, which is not quoted."""
    variables = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config"), **LIMIT}
    path = cluster_names.find_cache_file_of_names(world(variables=variables), "topics", ClusterWords(servers=("a:1",)))
    Path(path).write_text(json.dumps(["plain", "日|x"]), "utf-8")
    assert offered("body", "topic=", "call", "-b", "a:1", "produce", home=tmp_path, **locale) == words


def test_a_cluster_that_is_not_there_is_not_asked_at_once_again(tmp_path: Path) -> None:
    ask = ("call", "-b", "127.0.0.1:1", "produce")
    assert offered("body", "topic=", *ask, home=tmp_path) == []
    (file,) = (tmp_path / "cache/kw/completion").iterdir()
    assert json.loads(file.read_text()) == []
    before = file.stat().st_mtime_ns
    assert offered("body", "topic=", *ask, home=tmp_path) == []
    assert file.stat().st_mtime_ns == before
    os.utime(file, (time.time() - 11,) * 2)
    assert offered("body", "topic=", *ask, home=tmp_path) == []
    assert file.stat().st_mtime_ns > before


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '"x"', "null", '{"a": 1}'])
def test_a_broken_cache_is_none(tmp_path: Path, text: str) -> None:
    env = world(variables={"XDG_CACHE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), **LIMIT})
    path = cluster_names.find_cache_file_of_names(env, "topics", ClusterWords(servers=("127.0.0.1:1",)))
    Path(path).write_text(text)
    assert kw("__complete", "body", "topic=", "call", "-b", "127.0.0.1:1", "produce", env=env).out == ""


@pytest.mark.parametrize("line", [("-X", "tls=true"), ("-F", "/no/file"), ("--profile", "none"), ("-b", "a:b")])
def test_what_is_wrong_on_the_line_is_not_said_by_tab(tmp_path: Path, line: tuple[str, ...]) -> None:
    assert offered("body", "topic=", "call", *line, "produce", home=tmp_path) == []


def test_a_process_ends_in_time_and_leaves_the_asking_to_another(tmp_path: Path) -> None:
    """A real process ends at its limit; the next process finds the answer that the first one asked for."""
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("KW_")},
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    with broker() as (_, where):
        words = [sys.executable, "-m", "kwcli.main", "__complete", "body", "topic=", "call", "-b", where, "produce"]

        def run(limit: str) -> str:
            env = {**variables, LIMIT_VARIABLE: limit}
            done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60)
            assert (done.returncode, done.stderr) == (0, "")
            return done.stdout

        assert run("0.001") == ""
        assert run("30") == "topic=orders\ntopic=payments\n"
