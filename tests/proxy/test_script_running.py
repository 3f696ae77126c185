"""A script and the control interface of a running proxy: real sockets, a real child process, its messages."""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kwcli.proxy.deciding.ask_deciders import Deciders
from kwcli.proxy.deciding.held_exchanges import HeldExchanges
from kwcli.proxy.deciding.hold_rules import HoldRules
from kwcli.proxy.deciding.scripts.script_decider import NEVER, ScriptDecider
from kwcli.run_environment import Failure
from tests.cli.worlds import kw, world
from tests.proxy.running import ANSWERS, ASKED, WAIT_S, Running, beat, echo, frame, in_loop, running, sooner_or_later
from tests.proxy.stage import HEARTBEAT, response
from tests.proxy.test_logged import Logged, mock  # noqa: F401  # a fixture

REFUSED = [response(HEARTBEAT, 4, {"error_code": 27}, id=number) for number in range(10)]


ON = "from kwcli.proxy.scripts import on\n"


class Scripted:
    """A proxy with a script; `told` are the messages for people."""

    def __init__(self, path: Path, proxy: Running, script: ScriptDecider, held: HeldExchanges, told: list[str]) -> None:
        self.path, self.proxy, self.script, self.held, self.told = path, proxy, script, held, told

    def save(self, source: str) -> None:
        """Save another script, with another modification time whatever the resolution of the file system's clock."""
        self.path.write_text(source)
        stamp = time.time_ns() + 1_000_000_000
        os.utime(self.path, ns=(stamp, stamp))


@asynccontextmanager
async def scripted(tmp_path: Path, source: str, *, timeout_s: float = 30.0) -> AsyncIterator[Scripted]:
    path = tmp_path / "s.py"
    path.write_text(source)
    told: list[str] = []
    held = HeldExchanges(time.time_ns, told.append)
    script = ScriptDecider(str(path), held, told.append, timeout_s=timeout_s)
    deciders = Deciders([script])
    script.rules_changed = deciders.forget_handlings
    try:
        async with running(echo, deciders=deciders) as proxy:
            await script.attach()
            yield Scripted(path, proxy, script, held, told)
    finally:
        script.end()


@in_loop
async def test_it_answers_fails_is_saved_again_and_never_breaks_traffic(tmp_path: Path) -> None:
    source = (
        "def request(x):\n  if x.correlation_id == 1: x.answer({'error_code': 27})\n  if x.correlation_id == 2: 1 / 0\n"
    )
    async with scripted(tmp_path, source) as made:
        client = await made.proxy.connect()
        client[1].write(b"".join(ASKED[:4]))
        got = [await frame(client[0]) for _ in range(4)]
        assert got == [ANSWERS[0], REFUSED[1], ANSWERS[2], ANSWERS[3]]
        place = f"{made.path}:3: ZeroDivisionError: division by zero: the original goes on"
        assert made.told == [place]
        client[1].write(ASKED[2])
        await frame(client[0])
        assert made.told == [place]  # once
        made.save("def request(x): x.answer({'error_code': 27})")
        await sooner_or_later(lambda: f"{made.path}: loaded again" in made.told)
        client[1].write(ASKED[3])
        assert await frame(client[0]) == REFUSED[3]
        made.save("def request(x:")
        await sooner_or_later(lambda: made.told[-1].endswith("the old script stays in force"))
        client[1].write(ASKED[4])
        assert await frame(client[0]) == REFUSED[4]
        assert made.script.format_closing_lines() == [f"script {made.path}: 7 exchanges seen, 3 answered, 2 failed"]


@in_loop
async def test_one_that_hangs_is_ended_and_those_behind_it_are_asked_again(tmp_path: Path) -> None:
    source = (
        "import time\ndef request(x):\n  if x.correlation_id == 1: time.sleep(3600)\n  x.answer({'error_code': 27})\n"
    )
    async with scripted(tmp_path, source, timeout_s=1.0) as made:
        slow, other = await made.proxy.connect(), await made.proxy.connect()
        slow[1].write(ASKED[1])
        await sooner_or_later(lambda: made.script.format_closing_lines()[0].endswith("1 exchanges seen"))
        other[1].write(ASKED[2])
        assert await frame(slow[0]) == ANSWERS[1]
        assert await frame(other[0]) == REFUSED[2]
        assert "takes longer than 1 s (--script-timeout) for Heartbeat 4: the original goes on" in made.told[0]


@in_loop
async def test_frames_that_come_before_it_is_up_again_wait_for_it(tmp_path: Path) -> None:
    """The client whose exchange takes too long is not the one that gets an answer without the script."""
    source = (
        "import time\ndef request(x):\n  if x.correlation_id == 1: time.sleep(3600)\n  x.answer({'error_code': 27})\n"
    )
    async with scripted(tmp_path, source, timeout_s=1.0) as made:
        slow, other, third = [await made.proxy.connect() for _ in range(3)]
        slow[1].write(ASKED[1])
        assert await frame(slow[0]) == ANSWERS[1]
        other[1].write(ASKED[2])
        slow[1].write(ASKED[3])
        third[1].write(ASKED[4])
        assert [await frame(client[0]) for client in (other, slow, third)] == [REFUSED[2], REFUSED[3], REFUSED[4]]
        assert len(made.told) == 1
        assert made.script.format_closing_lines() == [f"script {made.path}: 4 exchanges seen, 3 answered, 1 too late"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("second", "load_s", "said"),
    [
        ("os._exit(1)", 20, "the script ended its process; frames pass unchanged until the file is saved"),
        ("time.sleep(3600)", 0.5, "did not finish loading within 0.5 s: frames pass unchanged"),
        ("1 / 0", 20, "ZeroDivisionError: division by zero: frames pass unchanged"),
    ],
)
def test_frames_do_not_wait_for_ever_for_a_script_that_does_not_load_again(
    second: str, load_s: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    source = (
        f"import os, time\nif os.path.exists({str(begun)!r}): {second}\nopen({str(begun)!r}, 'w').close()\n"
        "def request(x):\n  if x.correlation_id == 1: time.sleep(3600)\n"
    )

    @in_loop
    async def wait() -> None:
        async with scripted(tmp_path, source, timeout_s=0.1) as made:
            monkeypatch.setattr("kwcli.proxy.deciding.scripts.script_decider._LOAD_S", load_s)
            slow, other = await made.proxy.connect(), await made.proxy.connect()
            slow[1].write(ASKED[1])
            assert await frame(slow[0]) == ANSWERS[1]
            other[1].write(ASKED[2])
            assert await frame(other[0]) == ANSWERS[2]
            assert len(made.told) == 2
            assert made.told[1].endswith(said)
            await beat(other, 3)
            counts = "2 exchanges seen, 1 too late, 1 passed without the script"
            assert made.script.format_closing_lines() == [f"script {made.path}: {counts}"]

    wait()


@in_loop
async def test_one_that_ends_its_process_lets_all_pass(tmp_path: Path) -> None:
    async with scripted(tmp_path, "import os\ndef request(x): os._exit(1)") as made:
        client = await made.proxy.connect()
        await beat(client, 0)
        await beat(client, 1)
        assert len(made.told) == 1


@in_loop
async def test_what_it_holds_waits_until_it_is_released_or_time_is_up(tmp_path: Path) -> None:
    async with scripted(tmp_path, "def response(x):\n  if x.correlation_id < 3: x.hold()") as made:
        client, other = await made.proxy.connect(), await made.proxy.connect()
        client[1].write(ASKED[1] + ASKED[5])
        await sooner_or_later(made.held.list_rows)
        await beat(other, 4)
        [row] = made.held.list_rows()
        assert (row["id"], row["side"], row["api"], row["correlation_id"]) == (1, "response", "Heartbeat", 1)
        assert made.held.release_exchange(1)
        assert not made.held.release_exchange(1)
        assert [await frame(client[0]), await frame(client[0])] == [ANSWERS[1], ANSWERS[5]]
        made.held.timeout_s = 0.05
        await beat(client, 2)
        made.held.timeout_s = 60
        client[1].write(ASKED[0])
        await sooner_or_later(made.held.list_rows)
        client[1].get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client[1].transport.abort()  # a reset: after a FIN the answer may still be read
        await sooner_or_later(lambda: not made.held.list_rows())


@in_loop
async def test_rules_that_hold(tmp_path: Path) -> None:
    del tmp_path
    held = HeldExchanges(time.time_ns, lambda _: None, most=len(ASKED[0]))
    rules = HoldRules(held)
    deciders = Deciders([rules])
    rules.rules_changed = deciders.forget_handlings
    async with running(echo, deciders=deciders) as proxy:
        client, other = await proxy.connect(), await proxy.connect()
        await beat(client, 0)
        rules.add_rule("api == Heartbeat and group == g", "request", 2)
        client[1].write(ASKED[1])
        await sooner_or_later(held.list_rows)
        await beat(other, 2)  # there is no room to hold this one as well
        assert held.release_exchange(1, "close")
        assert await client[0].read() == b""
        again = await proxy.connect()
        again[1].write(ASKED[3])
        await sooner_or_later(held.list_rows)
        rules.remove_rule(1)
        assert held.release_exchange(2)
        assert await frame(again[0]) == ANSWERS[3]
        await beat(again, 4)


def test_frames_that_no_script_sees() -> None:
    """Tokens, delegation tokens, SCRAM, and requests that may hold any of these."""
    assert sorted(NEVER) == [17, 36, 38, 39, 40, 41, 50, 51, 58]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def request(x:", ":1:12: '(' was never closed"),
        (f"{ON}@on(when='latency > 1s')\ndef request(x): 0", ":2: when: latency is not known when a request is held"),
        (f"{ON}@on(when='topik == a')\ndef request(x): 0", ":2: when: "),
    ],
)  # fmt: skip
def test_scripts_that_no_proxy_starts_with(tmp_path: Path, source: str, text: str) -> None:
    path = tmp_path / "s.py"
    path.write_text(source)
    held = HeldExchanges(time.time_ns, lambda _: None)
    with pytest.raises(Failure, match=r".") as raised:
        ScriptDecider(str(path), held, lambda _: None)
    assert raised.value.text.startswith(f"{path}{text}")


def test_a_script_that_cannot_be_read_is_a_line_at_once() -> None:
    """No broker is asked before: the address of this one leads nowhere."""
    ran = kw("proxy", "-b", "127.0.0.1:1", "--script", "nosuch.py")
    assert (ran.code, ran.out, ran.err) == (2, "", "kw: --script nosuch.py: No such file or directory\n")


def test_a_script_that_ends_its_process_while_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "s.py"
    path.write_text("import os\nos._exit(0)\ndef request(x): 0")
    with pytest.raises(Failure) as raised:
        ScriptDecider(str(path), HeldExchanges(time.time_ns, lambda _: None), lambda _: None)
    assert raised.value.text == f"{path}: the script ended its process while it was loaded"


@pytest.mark.long
def test_the_command_line(mock: str, tmp_path: Path) -> None:  # noqa: F811
    """Script and control of a proxy in front of real clients; the log has the changes of a script."""
    script = tmp_path / "shop.py"
    script.write_text(
        "from kwcli.proxy.scripts import on\n"
        "@on('FindCoordinator')\ndef response(x): x.response['throttle_time_ms'] = 1\n"
        "@on('Produce')\ndef request(x): x.delay('1ms')\n"
    )
    here = {"XDG_STATE_HOME": str(tmp_path / "state")}
    steered = ("--script", str(script), "--control", "0", "--seed", "7")
    with Logged(mock, tmp_path, "-o", "ndjson", *steered, env={**os.environ, **here}) as proxy:
        proxy.talk(3)

        def ctl(*words: str) -> Any:
            ran = kw("proxy", "ctl", *words, "-o", "json", env=world(variables=here))
            assert ran.code == 0, ran.err
            return json.loads(ran.out)

        assert ctl("listeners")[0]["node"] == "boot"
        deadline = time.monotonic() + WAIT_S
        while not {row["api"] for row in ctl("exchanges", "-n", "500")} >= {"Metadata", "Produce", "Fetch"}:
            assert time.monotonic() < deadline  # the log is a little behind
        assert ctl("hold", "api == Produce", "--first", "1")[0]["left"] == 1
        assert [row["id"] for row in ctl("holds")] == [1]
        assert ctl("unhold", "1") == [{"id": 1}]
        assert ctl("fault", "delay 1ms, when api == Fetch")[0]["hit"] == 0
        assert len(ctl("faults")) == 1
        assert ctl("unfault", "1") == [{"id": 1}]
        more = [ctl("fault", f"{rule}, when topic == none")[0]["id"] for rule in ("close", "reset")]
        assert more == [
            2,
            3,
        ]
        assert ctl("unfault", "all") == [{"id": 2}, {"id": 3}]
        assert ctl("faults") == []
        assert ctl("held") == []
        shown = kw("proxy", "ctl", "exchanges", "-n", "500", "-o", "text", env=world(variables=here))
        assert (shown.code, shown.err) == (0, "")
        assert "Produce " in shown.out
        assert "orders" in shown.out
        assert "script delayed" in shown.out
        past = ctl("wait", "api == Produce and topic == orders", "--past", "--timeout", "20s")
        assert (past[0]["api"], past[0]["fault"]["action"]) == ("Produce", "script delayed")
        late = kw("proxy", "ctl", "wait", "api == CreateTopics", "--timeout", "0.3s", env=world(variables=here))
        assert (late.code, late.out) == (124, "")
        assert late.err == "kw: no exchange that matches came within 0.3 s\n"
        wrong = kw("proxy", "ctl", "wait", "topik == a", env=world(variables=here))
        assert (wrong.code, wrong.err.count("\n")) == (2, 1)
        assert wrong.err.startswith("kw: column 1: there is no field 'topik'")
        assert isinstance(ctl("connections"), list)
        assert kw("proxy", "ctl", "release", "9", env=world(variables=here)).code == 1
        assert len(ctl("stop")) == 1
        said = proxy.wait()
    rows = [json.loads(line) for line in proxy.out.read_text().splitlines()]
    found = {(row["api"], row["fault"]["action"], row["fault"]["rule"]) for row in rows if "fault" in row}
    assert found == {("FindCoordinator", "script changed", 0), ("Produce", "script delayed", 0)}
    assert {
        row["response"]["throttle_time_ms"] for row in rows if row["api"] == "FindCoordinator" and row["response"]
    } == {1}
    assert "control: fault 1 begins: delay 1ms, when api == Fetch" in said
    assert "exchanges seen" in said
    assert not list((tmp_path / "state" / "kw").glob("*.token"))
    gone = kw("proxy", "ctl", "held", env=world(variables=here))
    assert (gone.code, gone.err.count("\n")) == (5, 1)
