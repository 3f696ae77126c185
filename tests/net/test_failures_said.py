"""Output of `kw call` on a connection that fails: one line, and the failure's exit code, in time."""

from __future__ import annotations

import time

import pytest

from tests.cli.worlds import Outcome, kw, world
from tests.net.responder import Responder, Script, sends, unheard_address
from tests.net.servers import GRACE_S, closes, drips, pours, silent, then

ROWS: dict[str, tuple[Script, int, str]] = {
    "closes": (closes, 5, "closed the connection after ApiVersions"),
    "TLS": (sends([bytes.fromhex("15030300020246")]), 5, "try -X security.protocol=SSL"),
    "HTTP": (sends([b"HTTP/1.1 400 Bad Request\r\n\r\n"]), 5, "speaks HTTP/1"),
    "random": (sends([bytes(range(200, 256))]), 5, "does not speak Kafka"),
    "silent": (silent, 124, "says nothing within 1.5 s"),
    "slow": (drips(bytes.fromhex("00010000 00000001") + bytes(4096)), 124, "of the answer to ApiVersions 4"),
    "endless": (pours(b"\0\x0f\xff\xff\0\0\0\1", b"\xff" * 65536), 5, "answered ApiVersions 4"),
    "closes on requests": (then(), 5, "closed the connection instead of answering Metadata 13"),
    "silent on requests": (then(close=False), 124, "did not answer Metadata 13 within 1.5 s"),
    "another's answer": (then(bytes.fromhex("00000004 00000063")), 5, "correlation id 99, not 2"),
}


# Seconds for a time-out, and for an error that may be found as slowly as the machine likes.
SECONDS = {124: 1.5, 5: 60.0}


def call(port: int, seconds: float) -> Outcome:
    env = world(variables={"HOME": "/nowhere"})
    return kw("call", "Metadata", "-b", f"127.0.0.1:{port}", "--timeout", f"{seconds}s", env=env)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ROWS)
def test_a_failure_is_one_line_and_its_exit_code(name: str) -> None:
    script, code, says = ROWS[name]
    begun = time.monotonic()
    with Responder(script) as server:
        port = server.address[1]
        outcome = call(port, SECONDS[code])
    assert time.monotonic() - begun < SECONDS[code] + GRACE_S
    assert outcome.code == code, outcome.err
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"kw: 127.0.0.1:{port} ")
    assert says in line


def test_nobody_there() -> None:
    with unheard_address() as (_, port):
        outcome = call(port, SECONDS[5])
    assert outcome.code == 5
    said = "refused the connection; is the broker running, and is it the right port?"
    assert outcome.err == f"kw: 127.0.0.1:{port} {said}\n"
