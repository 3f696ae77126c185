"""Brokers that lie to `kw call` and to `kw proxy --check`: ports, ids, versions, hostile strings, cut and wrong frames.

For any answers, a command ends in time, with a documented exit code and a line for the error (if all nodes are asked,
one for each that cannot be reached); its output for programs is valid JSON.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from decoders.apis import KEYS, api
from decoders.errors import DecodeError
from decoders.messages.whole_messages import Request, decode_request, encode_response
from decoders.protocol_facts.request_routing import route_of_api
from decoders.schema.api_declaration import Plan, PlanField
from decoders.wire.primitive_types import RANGES
from kwcli.calling.run_call import PROBLEMS_TOLD
from kwcli.options import FORMATS
from tests.cli.worlds import Outcome, kw
from tests.exchanges.talks import plan
from tests.fuzz.hostile import HOSTILE
from tests.fuzz.program import check_end
from tests.net.responder import Responder, framed, read_frame
from tests.proxy.hidden import port_base
from tests.schema.values import random_value

TIMEOUT_S: Final = 2
# The most processor time of a command: all its time, and the work in progress when the time is over.
CPU_MAX_S: Final = TIMEOUT_S + 3.0
# By the wall clock a busy machine takes far longer; a command that only waits must still end.
CLOCK_MAX_S: Final = 120.0
METADATA, API_VERSIONS = 3, 18
MANY: Final = 20_000
PORTS: Final = (-(2**31), -1, 0, 1, 65_536, 70_000, 2**31 - 1)
ROUNDS: Final = 2  # repeats of a call

CALLS: Final = (
    ["Metadata"],
    ["Metadata", "topics[].name=orders", "--node", "all"],
    ["ApiVersions", "--node", "all"],
    ["ApiVersions", "--against", "3.9"],
    ["DescribeCluster", "--node", "controller"],
    ["Produce", "topic=orders", "value=v"],
    ["Produce", "topic=orders", "key=k", "value=v", "partition=0", "--acks", "0"],
    ["Fetch", "topic=orders", "partition=0", "offset=latest-10", "--records"],
    ["Fetch", "topic=orders", "offset=earliest"],
    ["ListOffsets", "topics[].name=orders", "topics[].partitions[].partition_index=0", "--split"],
    ["FindCoordinator", "key=billing"],
    ["DescribeGroups", "groups[]=billing"],
    ["OffsetFetch", "--node", "coordinator:billing"],
    ["DescribeConfigs", "--node", "0"],
    ["DescribeTransactions", "--node", "txn:t"],
    ["ListGroups", "--repeat", str(ROUNDS), "--interval", "1ms"],
    ["DeleteTopics", "topic_names[]=orders", "--node", "leader:orders-0"],
)
LOGINS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Liar(Responder):
    """A broker with random answers, but for a share of `truth` in the fields that steer a client.

    `wrongs` are faults in the bytes of an answer, each used one time in ten.
    """

    def __init__(self, rng: Random, *, truth: float, wrongs: Mapping[str, Wrong]) -> None:
        super().__init__(self._talk)
        self._rng = rng
        self._truth = truth
        self._wrongs = wrongs
        self.defects: list[Exception] = []  # the liar's own

    def __enter__(self) -> Liar:
        super().__enter__()
        return self

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.address[1]}"

    def _talk(self, link: socket.socket) -> None:
        while frame := read_frame(link):
            try:
                data = self.reply(frame)
                for wrong in self._wrongs.values():
                    data = wrong(self._rng, data) if len(data) > 4 and self._rng.random() < 0.1 else data
            except Exception as defect:
                self.defects.append(defect)
                return
            link.sendall(data)
            if len(data) < 4 or len(data) != 4 + int.from_bytes(data[:4], "big"):
                return

    def reply(self, frame: bytes) -> bytes:
        """The answer to a frame, with its size field."""
        try:
            request = decode_request(frame)
        except DecodeError:  # a token of a login
            return framed(self._rng.choice([b"", b"v=AAAA", b"r=x,s=AAAA,i=4096", self._rng.randbytes(20)]))
        return self._answer(request)

    def _answer(self, request: Request) -> bytes:
        key, version = request.api_key, request.api_version
        layout = plan(key, version, "response")
        value = random_value(layout, self._rng, values=60, texts=HOSTILE)
        if key == METADATA and self._rng.random() < 0.8:
            value |= self._cluster(request)
        if key == API_VERSIONS and self._rng.random() < 0.9:
            value["api_keys"] = self._offers()
        if len(value.get("brokers", ())) < MANY:
            self._steer(layout, value)
        return framed(encode_response(key, version, value, correlation_id=request.correlation_id))

    def _cluster(self, request: Request) -> dict[str, Any]:
        """A Metadata body: this broker, at times under very many ids, as the leader of the topics asked for."""
        host, port = self.address
        count = 1 if self._rng.random() < 0.97 else MANY
        partition = {"error_code": 0, "partition_index": 0, "leader_id": 0, "replica_nodes": [0], "isr_nodes": [0]}
        names = [topic["name"] for topic in request.body.get("topics") or () if topic.get("name")]
        return {
            "brokers": [{"node_id": number, "host": host, "port": port} for number in range(count)],
            "topics": [{"error_code": 0, "name": name, "partitions": [partition]} for name in names or ["orders"]],
        }

    def _offers(self) -> list[dict[str, int]]:
        """The APIs and versions that kw knows, with a few of them wrong."""
        ranges = {key: (api(key).versions.low, api(key).versions.high) for key in KEYS}
        strange = (-(2**15), -1, 0, 1, 2**15 - 1)
        rows = [{"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in ranges.items()]
        for row in self._rng.sample(rows, 5):
            if self._rng.random() >= self._truth:
                row[self._rng.choice([*row])] = self._rng.choice(strange)
        return rows

    def _steer(self, layout: Plan, value: dict[str, Any]) -> None:
        """Make the fields that steer a client true, most of the time."""
        host, port = self.address
        true = {"host": host, "port": port, "error_code": 0, "throttle_time_ms": 0}
        true |= dict.fromkeys(("node_id", "broker_id", "leader_id", "controller_id"), 0)
        left = [(layout, value)]
        while left:
            layout, each = left.pop()
            for field in (*layout.fields, *layout.tagged):
                said = each.get(field.name)
                if field.plan is not None:
                    inner = said if isinstance(said, list) else [said]
                    left += ((field.plan, one) for one in inner if one is not None)
                elif field.name in true and field.name in each and not field.array:
                    each[field.name] = self._said(field, true[field.name], said)

    def _said(self, field: PlanField, true: Any, said: Any) -> Any:
        """The value of a field that steers a client: the truth, or a lie that fits the field."""
        if self._rng.random() < self._truth:
            return true
        if field.name == "port":
            low, high = RANGES[field.kind]
            return self._rng.choice([port for port in PORTS if low <= port <= high])
        if field.name == "host":
            return self._rng.choice([*HOSTILE, "::1", "256.0.0.1", "no.invalid", "127.0.0.1:9"])
        return said


Wrong = Callable[[Random, bytes], bytes]
WRONGS: Final[Mapping[str, Wrong]] = {
    "cut": lambda rng, data: data[: rng.randrange(len(data) + 1)],
    "cut and sized": lambda rng, data: framed(data[4 : rng.randrange(4, len(data) + 1)]),
    "more": lambda rng, data: framed(data[4:] + rng.randbytes(rng.choice([1, 4, 1000]))),
    "size": lambda rng, data: struct.pack(">i", rng.choice([-(2**31), -1, 0, 3, 4, 2**20, 2**31 - 1])) + data[4:],
    "number": lambda rng, data: data[:4] + rng.randbytes(4) + data[8:],
    "bytes": lambda rng, data: data[: (at := rng.randrange(4, len(data)))] + rng.randbytes(1) + data[at + 1 :],
    "foreign": lambda rng, _: rng.choice([b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\0\2\2\x28", b"\0" * 9]),
}


REMARK: Final = re.compile(
    r": ignored$|: kw takes it for a broker before 0\.10|^kw: the cluster says that node "
    r"|closes on ApiVersions \d without an answer: asked with \d$"
)


def try_broker(rng: Random) -> int:
    """Run one command against a broker that lies."""
    truth = rng.choice([0.5, 0.9, 0.98, 1.0])
    with Liar(Random(rng.random()), truth=truth, wrongs=WRONGS if rng.random() < 0.5 else {}) as broker:
        words = command(rng, broker.server)
        clock, cpu = time.monotonic(), time.thread_time()  # the broker has its own threads
        outcome = kw(*words)
        clock_s, cpu_s = time.monotonic() - clock, time.thread_time() - cpu
    assert not broker.defects, f"the broker itself: {broker.defects}"
    shown = f"kw {' '.join(words)}: exit code {outcome.code}: {outcome.err[-1500:]}"
    check_end(outcome.code, shown)
    assert cpu_s < CPU_MAX_S, f"{cpu_s:.1f} s of a processor: {shown}"
    assert clock_s < CLOCK_MAX_S, f"{clock_s:.0f} s: {shown}"
    # A remark for each node with an impossible address (20 of them at most), and one for impossible versions.
    said = [line for line in outcome.err.split("\n")[:-1] if not REMARK.search(line)]
    assert len(said) <= lines_max(words), f"more lines than causes: {shown}"
    check_output(words, outcome)
    return 1


def lines_max(words: list[str]) -> int:
    """The most lines of errors that a command may print.

    One line ends each round. If all nodes are asked, lines for unreachable nodes come before it: PROBLEMS_TOLD of them,
    the number of further ones, and the last. After repeated calls a line has the times of the answers.
    """
    repeated = "--repeat" in words
    everywhere = words[0] == "call" and ("all" in words or route_of_api(api(words[1]).key).to == "all")
    return (ROUNDS if repeated else 1) * (1 + everywhere * (PROBLEMS_TOLD + 2)) + repeated


def command(rng: Random, server: str) -> list[str]:
    """A command that asks this server."""
    limits = ["-b", server, "--timeout", f"{TIMEOUT_S}s", "--connect-timeout", "1s", "--debug"]
    if rng.random() < 0.2:
        limits += ["-X", "security.protocol=SASL_PLAINTEXT", "-X", f"sasl.mechanism={rng.choice(LOGINS)}"]
        limits += ["-X", "sasl.username=alice", "-X", "sasl.password=secret"]
    if rng.random() < 0.3:
        return ["proxy", "--check", *limits, "--port-base", str(port_base(2)), "-o", rng.choice(["text", "ndjson"])]
    words = rng.choice([*CALLS, [api(rng.choice(KEYS)).name, "--example"]])
    return ["call", *words, *limits, "-o", rng.choice(FORMATS)]


def check_output(words: list[str], outcome: Outcome) -> None:
    """Assert that output for programs is valid JSON; a comparison of versions is for people."""
    if "--against" in words:
        return
    if "ndjson" in words:
        for row in outcome.out.split("\n")[:-1]:
            json.loads(row)
    elif "json" in words and outcome.out:
        json.loads(outcome.out)
