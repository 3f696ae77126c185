"""A request log gives the exchanges that a capture of the same session gives, and facts that only the broker knows."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from decoders.exchanges.exchange import Exchange
from decoders.messages.parse_request_log import RequestLogLines
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import Outcome, kw, world
from tests.oracle.log_input import compare_inputs

LOG: Final = FOLDER / "first-steps.requests.log.gz"
CAPTURE: Final = FOLDER / "first-steps.pcapng"
LINE: Final = gzip.decompress(LOG.read_bytes()).splitlines()[1].decode()


def rows_of(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.code == Exit.DONE, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.mark.parametrize("words", [[], ["--reveal-secrets"]])
def test_the_exchanges_are_those_of_the_capture(words: list[str]) -> None:
    log = rows_of(kw("sniff", str(LOG), "-o", "ndjson", *words))
    found = compare_inputs(log, rows_of(kw("sniff", str(CAPTURE), "-o", "ndjson", *words)))
    assert (found.problems, found.alone, found.same) == ([], [], 263)
    # The wire adds to the broker's latency; the time of a log line has milliseconds.
    assert min(found.later) > -1


@pytest.mark.long
def test_statistics_and_answers_count_the_same() -> None:
    def counts(name: Path, *words: str) -> dict[str, Any]:
        found = rows_of(kw(*words, str(name), "-o", "ndjson"))
        key = words[-1] if words[0] == "stats" else words[0].removesuffix("s")
        return {row[key]: (row["count"], row["errors"]) for row in found if row[key] not in ("Envelope", None)}

    for words in (("stats", "--by", "api"), ("stats", "--by", "topic"), ("topics",), ("groups",)):
        assert counts(LOG, *words) == counts(CAPTURE, *words), words


@pytest.mark.long
def test_the_brokers_times_are_metrics_fields_and_columns() -> None:
    rows = rows_of(kw("stats", str(LOG), "--metric", "local", "-o", "ndjson"))
    raw = Counter[str]()
    for line in gzip.decompress(LOG.read_bytes()).splitlines():
        said = json.loads(line[line.index(b"{") : line.rindex(b"}") + 1])
        raw[said["requestHeader"]["requestApiKeyName"].replace("_", "")] += round(said["localTimeMs"] * 1e6)
    assert {row["api"].upper(): round(row["sum"] * 1e6) for row in rows} == dict(raw)
    assert {row["request_bytes"] for row in rows} == {None}
    slow = rows_of(kw("sniff", str(LOG), "-f", "server.local_ms > 60", "-o", "ndjson"))
    assert [row["server"]["local_ms"] > 60 for row in slow] == [True] * len(slow) != []
    shown = kw("sniff", str(LOG), "-o", "csv", "--columns", "server.listener,server.principal", "-n", "1")
    assert shown.out.splitlines()[1] == "CONTROLLER,User:ANONYMOUS"
    assert "–" in kw("stats", str(LOG), "-o", "text").out
    assert "? rec" in kw("sniff", str(LOG), "--api", "produce", "-o", "text").out


def test_times_are_those_of_the_broker() -> None:
    (row,) = rows_of(kw("sniff", "-", "-o", "ndjson", env=world(stdin=LINE.encode())))
    assert LINE.startswith("2026-11-21T16:48:26.704")
    assert row["time"] == "2026-11-21T16:48:26.641547Z"  # 62.453 ms before the log line
    assert (row["latency_ms"], row["duration_ms"]) == (60.858, 62.453)
    said = kw("sniff", "-", env=world(stdin=LINE.encode())).err
    assert "a broker's request log has no sizes, packets, records and logins" in said


@pytest.mark.parametrize(
    "head",
    ["[2026-11-21 16:48:26,704] DEBUG ", "2026-11-21T16:48:26.704 ", "[2026-11-21 16:48:26,704] TRACE [thread-1] "],
)
@pytest.mark.parametrize("tail", ["", " (kafka.request.logger)"])
def test_layouts_of_lines(head: str, tail: str) -> None:
    line = head + LINE[LINE.index("Completed") :] + tail
    lines = RequestLogLines()
    (row,) = lines.feed(line.encode() + b"\n")
    assert (row.kind, lines.broken) == ("exchange", 0)
    assert row.time_ns == 1795279706641547000


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "[2020-01-01 00:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=11) -- {}",
            "the log is of a release before Kafka 2.7: kw reads request logs in JSON, of 2.7 and later",
        ),
        (LINE[LINE.index("Completed") :], "the line has no time before the request"),
        (LINE[:-40], "no JSON ("),
        (LINE.replace('"requestApiKey":70', '"requestApiKey":9999'), "no request of a request log: "),
        (LINE.replace('"requestApiVersion":0', '"requestApiVersion":99'), "no request of a request log: "),
        (LINE.replace('"requestApiVersion":0', '"requestApiVersion":"x"'), "no request of a request log: "),
        (
            LINE.replace('"connection":"127', '"connection":"nowhere'[:14] + '","was":"127'),
            "no request of a request log: ",
        ),
        (LINE.replace('"connection"', '"other"'), "no request of a request log: it has no connection"),
        (LINE.replace('"controllerId":1', '"controllerId":"one"'), "no request of a request log: "),
        (LINE.replace('"controllerId":1', '"controllerId":99999999999'), "no request of a request log: "),
        (LINE.replace('"listeners":[', '"listeners":7,"more":['), "no request of a request log: "),
        (LINE.replace("totalTimeMs", "otherTimeMs"), "no request of a request log: it has no totalTimeMs"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_and_the_others_are_read(line: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_text(f"{LINE}\n{line}\njust another logger's line\n\n{LINE}\n")
    outcome = kw("sniff", str(path), "-o", "ndjson")
    assert len(outcome.out.splitlines()) == 2
    assert outcome.code == Exit.FAILURE
    assert f"{path}: line 2: {text}" in outcome.err
    assert [number for number in range(1, 6) if f"line {number}:" in outcome.err] == [2]
    path.write_text(f"{line}\n")
    outcome = kw("stats", str(path))
    assert outcome.code == Exit.FAILURE
    assert f"{path}: a broker's request log, but kw can read none of its lines: line 1: {text}" in outcome.err


def test_a_log_that_is_cut_off_and_a_folder_of_logs(tmp_path: Path) -> None:
    whole = LOG.read_bytes()
    (tmp_path / "a.log.gz").write_bytes(whole[: len(whole) // 2])
    outcome = kw("sniff", str(tmp_path / "a.log.gz"), "-o", "ndjson")
    assert outcome.code == Exit.FAILURE
    assert len(outcome.out.splitlines()) > 20
    assert "a.log.gz" in outcome.err
    (tmp_path / "a.log.gz").write_bytes(whole)
    (tmp_path / "b.log").write_text(f"{LINE}\n")
    (tmp_path / "notes.txt").write_text("nothing\n")
    found = kw("sniff", str(tmp_path), "-o", "fields", "-e", "file").out.splitlines()
    assert Counter(Path(name).name for name in found) == {"a.log.gz": 263, "b.log": 1}


def test_what_was_written_as_ndjson_comes_back() -> None:
    written = kw("sniff", str(LOG), "-o", "ndjson").out
    again = kw("sniff", "-", "-o", "ndjson", env=world(stdin=written.encode()))
    assert again.out == written


# -- kafka.server.KafkaApis --------------------------------------------------------------------------------------------

HEAD: Final = "[2025-07-25 14:45:53,662] TRACE [KafkaApi-1] Handling request:RequestHeader("
TAIL: Final = (
    " from connection INTERNAL_IP-192.0.2.7:33245-169;securityProtocol:SASL_SSL,principal:User:alice"
    " (kafka.server.KafkaApis)"
)
HANDLED: Final = {
    "fetch": (
        "apiKey=FETCH, apiVersion=11, clientId=app-1, correlationId=2010, headerVersion=1) -- FetchRequestData("
        "clusterId=null, replicaId=-1, replicaState=ReplicaState(replicaId=-1, replicaEpoch=-1), maxWaitMs=500, "
        "minBytes=1, maxBytes=104857600, isolationLevel=0, sessionId=0, sessionEpoch=-1, topics=[FetchTopic("
        "topic='orders', topicId=AAAAAAAAAAAAAAAAAAAAAA, partitions=[FetchPartition(partition=2, currentLeaderEpoch=0, "
        "fetchOffset=20419, lastFetchedEpoch=-1, logStartOffset=0, partitionMaxBytes=1048576)])], "
        "forgottenTopicsData=[], rackId='')",
        ("Fetch", 11, "app-1", ["orders"]),
    ),
    "produce": (
        "apiKey=PRODUCE, apiVersion=7, clientId=app-2, correlationId=42, headerVersion=1) -- "
        "{acks=-1,timeout=30000,partitionSizes=[orders-0=1024,pay-ments-11=7]}",
        ("Produce", 7, "app-2", ["orders", "pay-ments"]),
    ),
    "of an old release": (
        "apiKey=METADATA, apiVersion=5, clientId=old, correlationId=3) -- "
        "{topics=[a,b],allow_auto_topic_creation=true}",
        ("Metadata", 5, "old", ["a", "b"]),
    ),
    "two words": (
        "apiKey=LIST_OFFSETS, apiVersion=5, clientId=my app, two, correlationId=-3, headerVersion=1) -- "
        "ListOffsetsRequestData(replicaId=-1, isolationLevel=0, topics=[ListOffsetsTopic(name='it's', partitions=["
        "ListOffsetsPartition(partitionIndex=0, currentLeaderEpoch=-1, timestamp=-1)])], timeoutMs=0)",
        ("ListOffsets", 5, "my app, two", ["it's"]),
    ),
    "bytes": (
        "apiKey=JOIN_GROUP, apiVersion=5, clientId=null, correlationId=3, headerVersion=1) -- JoinGroupRequestData("
        "groupId='billing', sessionTimeoutMs=45000, rebalanceTimeoutMs=60000, memberId='', groupInstanceId=null, "
        "protocolType='consumer', protocols=[JoinGroupRequestProtocol(name='range', metadata=[0, 1, -1])], "
        "reason=null)",
        ("JoinGroup", 5, None, []),
    ),
    "a body of another form": (
        "apiKey=FETCH, apiVersion=11, clientId=x, correlationId=1, headerVersion=1) -- Something(unreadable",
        ("Fetch", 11, "x", None),
    ),
}


@pytest.mark.parametrize("name", HANDLED)
def test_requests_that_a_broker_has_handled(name: str, tmp_path: Path) -> None:
    line, (api, version, client_id, topics) = HANDLED[name]
    path = tmp_path / "server.log"
    path.write_text(f"[2025-07-25 14:45:53,661] INFO another logger\n{HEAD}{line}{TAIL}\n")
    (row,) = rows_of(kw("sniff", str(path), "-o", "ndjson"))
    assert (row["api"], row["api_version"], row["client_id"]) == (api, version, client_id)
    assert (row["client"], row["broker"], row["user"]) == ("192.0.2.7:33245", "0.0.0.0:0", "alice")
    assert (row["time"], row["status"]) == ("2025-07-25T14:45:53.662000Z", "no_response_expected")
    assert (row["latency_ms"], row["reason"], row["node"]["id"]) == (None, "the log has requests alone", 1)
    assert (row["request"] is None) is (topics is None)
    if topics is not None:
        assert [each["topic"] for each in rows_of(kw("topics", str(path), "-o", "ndjson"))] == topics
    (client,) = rows_of(kw("clients", str(path), "-o", "ndjson"))
    assert (client["addresses"], client["users"], client["apis"]) == (["192.0.2.7"], ["alice"], {api: [version]})
    assert (client["errors"], client["unanswered"], client["undecoded"]) == (0, 0, 0)


def test_bytes_are_those_of_java() -> None:
    lines = RequestLogLines(handled=True)
    (row,) = lines.feed(f"{HEAD}{HANDLED['bytes'][0]}{TAIL}\n".encode())
    assert isinstance(row, Exchange)
    assert row.record is not None
    assert row.record["request"]["protocols"][0]["metadata"] == {"base64": "AAH/"}
    assert row.record["request"]["group_id"] == "billing"


def test_where_a_log_has_whole_requests_these_alone_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"{HEAD}{HANDLED['fetch'][0]}{TAIL}\n{LINE}\n")
    assert [row["status"] for row in rows_of(kw("sniff", str(path), "-o", "ndjson"))] == ["complete"]


def test_the_state_says_which_lines_are_read() -> None:
    whole = "".join(f"{HEAD}{line}{TAIL}\n" for line, _ in HANDLED.values()).encode()
    expected = [row.client_id for row in RequestLogLines(handled=True).feed(whole) if isinstance(row, Exchange)]
    assert len(expected) == len(HANDLED)
    for at in range(0, len(whole), 97):
        first, second = RequestLogLines(handled=True), RequestLogLines()
        rows = first.feed(whole[:at])
        second.resume(first.export())
        assert [row.client_id for row in rows + second.feed(whole[at:]) if isinstance(row, Exchange)] == expected


@pytest.mark.parametrize("line", ["apiKey=NONE, apiVersion=1, clientId=x, correlationId=1) -- X()", "apiKey=FETCH"])
def test_a_handled_request_that_cannot_be_read_is_told(line: str) -> None:
    lines = RequestLogLines(handled=True)
    assert lines.feed(f"{HEAD}{line}{TAIL}\n".encode()) == []
    assert lines.broken == 1


@pytest.mark.parametrize("seed", range(200))
def test_changed_lines_raise_nothing_else(seed: int) -> None:
    rng = Random(seed)
    line = bytearray(f"{HEAD}{rng.choice([*HANDLED.values()])[0]}{TAIL}".encode())
    for _ in range(rng.randint(1, 6)):
        line[rng.randrange(len(HEAD), len(line))] = rng.choice(b"()[]{}',=-09aA \xff")
    RequestLogLines(handled=True).feed(bytes(line) + b"\n")


def test_many_structures_inside_each_other() -> None:
    head = "apiKey=FETCH, apiVersion=11, clientId=x, correlationId=1) -- "
    (row,) = RequestLogLines(handled=True).feed(f"{HEAD}{head}{'A(a=' * 90_000}{TAIL}\n".encode())
    assert isinstance(row, Exchange)
    assert row.record is not None
    assert row.record["request"] is None


def test_tables_have_handled_requests(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("".join(f"{HEAD}{line}{TAIL}\n" for line, _ in HANDLED.values()))
    assert kw("pipeline", "run", str(path), "--out", str(tmp_path / "tables")).code == Exit.DONE
    query = "select api, client_ip, user, source from exchanges order by place"
    rows = rows_of(kw("sql", str(tmp_path / "tables"), query, "-o", "ndjson"))
    assert [row["api"] for row in rows] == [said[0] for _, said in HANDLED.values()]
    assert {(row["client_ip"], row["user"], row["source"]) for row in rows} == {("192.0.2.7", "alice", "log")}
