"""The control interface: access, the operations, and that its description matches them."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from decoders.filters import FilterError
from kwcli.proxy.deciding.control.control_client import find_control_port, send_control_request
from kwcli.proxy.deciding.control.control_operations import OPERATIONS, ControlState, Ring, run_operation
from kwcli.proxy.deciding.control.http_control import BODY_MAX, ControlServer, find_token_file
from kwcli.proxy.deciding.held_exchanges import HeldExchanges
from kwcli.proxy.deciding.hold_rules import HoldRules
from kwcli.proxy.relay.frame_decisions import Decision
from kwcli.run_environment import Failure


class SomeFaults:
    """A stand-in for the rules of faults."""

    def __init__(self) -> None:
        self.found: dict[int, str] = {}

    def add_rule(self, rule: str) -> dict[str, Any]:
        if rule == "bad":
            raise FilterError("no such action", 1)
        self.found[len(self.found) + 1] = rule
        return {"id": len(self.found), "rule": rule, "met": 0, "hit": 0}

    def remove_rule(self, number: int) -> bool:
        return self.found.pop(number, None) is not None

    def list_rows(self) -> list[dict[str, Any]]:
        return [{"id": number, "rule": rule, "met": 0, "hit": 0} for number, rule in self.found.items()]


def state() -> tuple[ControlState, list[str]]:
    told: list[str] = []
    held = HeldExchanges(lambda: 0, told.append)
    rows = (lambda: [{"connection": 1}], lambda: [{"node": "boot"}])
    stop = lambda: told.append("stopped")  # noqa: E731
    return ControlState(*rows, Ring(3), held, HoldRules(held), SomeFaults(), told.append, stop), told


def do(made: ControlState, method: str, path: str, **fields: Any) -> tuple[int, Any]:
    answer = run_operation(made, method, path, fields)
    return answer.status, json.loads(answer.body)


def test_operations_do_what_they_say() -> None:
    made, told = state()
    for number in range(5):
        made.ring.add_line(json.dumps({"n": number}).encode())
    assert do(made, "GET", "/v1/exchanges") == (200, [{"n": 2}, {"n": 3}, {"n": 4}])
    assert do(made, "GET", "/v1/exchanges", limit="1") == (200, [{"n": 4}])
    assert do(made, "GET", "/v1/connections") == (200, [{"connection": 1}])
    assert do(made, "GET", "/v1/listeners") == (200, [{"node": "boot"}])
    assert do(made, "GET", "/v1/held") == (200, [])
    rule = {"id": 1, "when": "api == Produce", "side": "request", "left": 2, "held": 0}
    assert do(made, "POST", "/v1/holds", when="api == Produce", first=2) == (200, rule)
    assert do(made, "GET", "/v1/holds") == (200, [rule])
    assert made.holds.has_rule_for(0, 9)
    assert not made.holds.has_rule_for(3, 9)
    assert do(made, "DELETE", "/v1/holds/1") == (200, {"id": 1})
    assert not made.holds.has_rule_for(0, 9)
    assert do(made, "POST", "/v1/faults", rule="close")[0] == 200
    assert do(made, "GET", "/v1/faults") == (200, [{"id": 1, "rule": "close", "met": 0, "hit": 0}])
    assert do(made, "DELETE", "/v1/faults/1") == (200, {"id": 1})
    assert do(made, "GET", "/v1/exchanges/count") == (200, {"count": 5})
    assert do(made, "GET", "/v1/exchanges", after="4") == (200, [{"n": 4}])
    assert do(made, "GET", "/v1/exchanges", after="0", limit="2") == (200, [{"n": 2}, {"n": 3}])
    assert do(made, "GET", "/v1/exchanges", after="9") == (200, [])
    assert told == [
        "control: rule 1 holds requests when api == Produce",
        "control: rule 1 holds no more exchanges",
        "control: fault 1 begins: close",
        "control: fault 1 ends",
    ]


def test_all_rules_end_at_once() -> None:
    made, told = state()
    assert do(made, "DELETE", "/v1/faults") == (200, [])
    for rule in ("close", "reset"):
        do(made, "POST", "/v1/faults", rule=rule)
        do(made, "POST", "/v1/holds", when="api == Fetch")
    assert do(made, "DELETE", "/v1/faults") == (200, [{"id": 1}, {"id": 2}])
    assert do(made, "DELETE", "/v1/holds") == (200, [{"id": 1}, {"id": 2}])
    assert (do(made, "GET", "/v1/faults"), do(made, "GET", "/v1/holds")) == ((200, []), (200, []))
    assert told[-4:] == [
        *("control: fault 1 ends", "control: fault 2 ends"),
        *("control: rule 1 holds no more exchanges", "control: rule 2 holds no more exchanges"),
    ]


def test_the_proxy_stops() -> None:
    made, told = state()
    assert do(made, "POST", "/v1/stop") == (200, {"connections": 1})
    assert told == ["control: the proxy stops", "stopped"]


@pytest.mark.parametrize(
    ("method", "path", "fields", "status", "text"),
    [
        ("GET", "/", {}, 404, "nothing is at /; see /openapi.json"),
        ("GET", "/v1/held/1", {}, 405, "/v1/held/1 takes POST"),
        ("POST", "/v1/held/x", {}, 404, "nothing is at /v1/held/x; see /openapi.json"),
        ("POST", "/v1/held/1", {}, 404, "exchange 1 is not held, or no longer"),
        ("POST", "/v1/held/1", {"do": "eat"}, 400, "do: one of pass, close, reset"),
        ("POST", "/v1/holds", {"when": "topik == a"}, 400, "when: column 1: "),
        ("POST", "/v1/holds", {"when": "latency > 1s"}, 400, "when: column 1: latency is not known when a"),
        ("POST", "/v1/holds", {"when": 3}, 400, "when: a filter; side: request or response"),
        ("POST", "/v1/holds", {"first": 0}, 400, "first: a count, at least 1"),
        ("POST", "/v1/holds", {"first": True}, 400, "first: a count, at least 1"),
        ("POST", "/v1/holds", {"file": "x"}, 400, "unknown field file; known here: when, side, first"),
        ("DELETE", "/v1/holds/7", {}, 404, "no rule 7 holds exchanges"),
        ("POST", "/v1/faults", {"rule": "bad"}, 400, "rule: column 1: no such action"),
        ("POST", "/v1/faults", {}, 400, "rule: the text of a fault, as --fault takes it"),
        ("DELETE", "/v1/faults/7", {}, 404, "there is no fault 7"),
        ("GET", "/v1/exchanges", {"limit": "-1"}, 400, "limit=-1 is no count"),
        ("GET", "/v1/exchanges", {"after": "x"}, 400, "after=x is no count"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(method: str, path: str, fields: Mapping[str, Any], status: int, text: str) -> None:
    made, told = state()
    got, answer = do(made, method, path, **fields)
    assert (got, answer["error"][: len(text)]) == (status, text)
    assert told == []


def test_the_description_says_the_same() -> None:
    described = json.loads(resources.files("kwcli.proxy.deciding.control").joinpath("openapi.json").read_bytes())
    rows = {(method.upper(), path): row for path, ways in described["paths"].items() for method, row in ways.items()}
    assert sorted(rows) == sorted((row.method, row.path) for row in OPERATIONS)
    for operation in OPERATIONS:
        row = rows[operation.method, operation.path]
        said = {each["name"] for each in row.get("parameters", ()) if each["in"] == "query"}
        body = row.get("requestBody", {"content": {"application/json": {"schema": {"properties": {}}}}})
        said |= set(body["content"]["application/json"]["schema"]["properties"])
        assert said == set(operation.fields)


async def _send(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


def over_http(tmp_path: Path, request: Callable[[ControlServer], bytes]) -> tuple[int, Any]:
    """Status and JSON of one request's answer."""

    async def run() -> bytes:
        server = ControlServer(0, {"XDG_STATE_HOME": str(tmp_path)})
        try:
            assert stat.S_IMODE(server.file.stat().st_mode) == 0o600
            assert server.file == find_token_file(server.port, {"XDG_STATE_HOME": str(tmp_path)})
            await server.begin_answering(state()[0])
            return await _send(server.port, request(server))
        finally:
            server.close()
            assert not server.file.exists()

    answer = asyncio.run(run())
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def asking(
    server: ControlServer,
    line: str = "GET /v1/held",
    *headers: str,
    token: str | None = None,
    host: str = "",
    body: str = "",
) -> bytes:
    lines = [f"{line} HTTP/1.1", f"Host: {host or f'127.0.0.1:{server.port}'}", *headers]
    if token != "":
        lines.append(f"Authorization: Bearer {token or server.token}")
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        (lambda s: asking(s), 200),
        (lambda s: asking(s, host=f"localhost:{s.port}"), 200),
        (lambda s: asking(s, host="[::1]"), 200),
        (lambda s: asking(s, "GET /openapi.json"), 200),
        (lambda s: asking(s, "POST /v1/holds", body='{"when": "api == Fetch"}'), 200),
        (lambda s: asking(s, token=""), 401),
        (lambda s: asking(s, token="x" * 43), 401),
        (lambda s: asking(s, f"GET /v1/held?token={s.token}", token=""), 401),
        (lambda s: asking(s, "GET /v1/held", f"Cookie: Authorization=Bearer {s.token}", token=""), 401),
        (lambda s: asking(s, "GET /v1/held", f"Authorization: Bearer {s.token}"), 401),  # twice
        (lambda s: asking(s, host="LocalHost:1"), 200),
        (lambda s: asking(s, host="kafka.example:80"), 403),
        (lambda s: asking(s, host="127.0.0.1:1@evil.com"), 403),
        (lambda s: asking(s, host="localhost:80@evil.com:80"), 403),
        (lambda s: asking(s, host="localhost:"), 403),
        (lambda s: asking(s, host="localhost:x"), 403),
        (lambda s: asking(s, host="localhost:123456"), 403),
        (lambda s: asking(s, host="[::1]:[::1]:1"), 403),
        (lambda s: asking(s, host="localhost.:80"), 403),
        (lambda s: asking(s, host="127.0.0.1:1/:2"), 403),
        (lambda s: asking(s, host="evil.com#127.0.0.1:1"), 403),
        (lambda s: asking(s, host="127.0.0.1.example"), 403),
        (lambda s: asking(s, "GET /v1/held", "Origin: http://127.0.0.1"), 403),
        (lambda s: asking(s, "GET /v1/held", "Origin: null"), 403),
        (lambda s: asking(s, "POST /v1/holds", body="{"), 400),
        (lambda s: asking(s, "POST /v1/holds", body="[]"), 400),
        (lambda s: asking(s, "POST /v1/holds", body=" " * (BODY_MAX + 1)), 413),
        (lambda s: asking(s, "PUT /v1/holds"), 405),
        (lambda _: b"\x00\x00\x00\x11\x00\x12\x00\x00\r\n\r\n", 400),
        (lambda s: asking(s, "GET /v1/held", "X: " + "x" * 70_000), 431),
    ],
)  # fmt: skip
def test_who_is_let_in(tmp_path: Path, request_of: Callable[[ControlServer], bytes], status: int) -> None:
    got, answer = over_http(tmp_path, request_of)
    assert got == status
    assert ("error" in answer) == (status != 200)


def test_the_proxy_that_runs_is_found_among_those_that_were_killed(tmp_path: Path) -> None:
    here = {"XDG_STATE_HOME": str(tmp_path)}
    with pytest.raises(Failure, match="no running proxy has a control interface"):
        find_control_port(here)
    servers = [ControlServer(0, here) for _ in range(2)]
    try:
        left = find_token_file(servers[0].port, here)
        with pytest.raises(Failure, match="several proxies have a control interface: give --port "):
            find_control_port(here)
        token = left.read_text()
        servers[0].close()
        left.write_text(token)
        assert find_control_port(here) == servers[1].port
        with pytest.raises(Failure, match="one that ended has left its token"):
            send_control_request(servers[0].port, "GET", "/v1/held", {}, here)
    finally:
        for server in servers:
            server.close()


def test_a_held_exchange_says_how_long_it_is_held_and_when_it_goes_on() -> None:
    async def hold_one() -> list[dict[str, Any]]:
        held = HeldExchanges(lambda: clock[0], lambda _: None, timeout_s=25.0)
        relay: Any = SimpleNamespace(number=7, peer="10.0.0.1:5", listener=SimpleNamespace(name="node 1"))
        exchange: Any = SimpleNamespace(request=b"12345", response=None, api_key=0, version=9, correlation_id=3)
        assert held.hold_exchange(exchange, relay, Decision())
        clock[0] += 4_500_000_000
        (row,) = held.list_rows()
        clock[0] += 30_000_000_000
        (late,) = held.list_rows()
        held.forget_connection(relay)
        return [row, late]

    clock = [1_700_000_000_000_000_000]
    row, late = asyncio.run(hold_one())
    assert (row["id"], row["side"], row["api"], row["size"], row["since"]) == (
        *(1, "request", "Produce", 5),
        "2023-11-14T22:13:20.000000Z",
    )
    assert (row["held_ms"], row["released_in_ms"]) == (4500.0, 20_500.0)
    assert (late["held_ms"], late["released_in_ms"]) == (34_500.0, 0.0)
