"""A script in; decisions about frames out, made by the script in a process of its own (script_child_process.py).

```
relay ──▶ intercepted frame ──▶ filters ──▶ stars for secrets ──▶ process ──▶ answer ──▶ secrets back ──▶ Decision
```

The problem. A script is somebody's code: it may be slow, hang, raise, print, and it must see no secret.

The idea. The script runs in a child process. The data path sends the child one message for each exchange that a
function wants, and goes on. The child answers in the order of the messages. If an answer takes longer than `timeout_s`,
the child is killed and another one started, and the frame passes as it came. The frames behind it, and those that come
until the new child is ready, wait for it: for as long as a script may take to load.

What always holds. Without an answer a frame passes as it came. The child's answer may change the frame, but never a
secret: the answer names the places of secrets, which are filled from the original frame. SASL, delegation-token and
SCRAM frames are never sent. The data path never waits: sockets are read and written by the event loop.

When the script's file is saved, it is loaded into a new child while the old one goes on, until the new one is ready. A
script that does not load is reported with its line, and changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from decoders.filters import Filter, FilterError, parse
from decoders.filters.prefilter import Possible
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    ALTER_USER_SCRAM_CREDENTIALS,
    CREATE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    ENVELOPE,
    EXPIRE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from decoders.schema.api_declaration import Side
from kwcli.proxy.deciding.ask_deciders import ClientConnection
from kwcli.proxy.deciding.faults.parse_rule import is_field_known_at
from kwcli.proxy.deciding.held_exchanges import HeldExchanges
from kwcli.proxy.deciding.match_filters import FilterContext, FilteredConnection
from kwcli.proxy.deciding.scripts.script_child_process import pack_message, unpack_messages
from kwcli.proxy.log.redact_streams import find_secret_spans, may_message_have_secret
from kwcli.proxy.relay.frame_decisions import PASS, Decision, InterceptedExchange, Then
from kwcli.run_environment import Failure

__all__ = ["NEVER", "ScriptDecider"]

NEVER: Final = frozenset(
    {
        SASL_HANDSHAKE,
        SASL_AUTHENTICATE,
        CREATE_DELEGATION_TOKEN,
        RENEW_DELEGATION_TOKEN,
        EXPIRE_DELEGATION_TOKEN,
        DESCRIBE_DELEGATION_TOKEN,
        DESCRIBE_USER_SCRAM_CREDENTIALS,
        ALTER_USER_SCRAM_CREDENTIALS,
        ENVELOPE,  # may contain a request of any of these APIs
    }
)
# How long a script may take to load; frames wait as long for a process that has to be started again.
_LOAD_S: Final = 10.0
_WATCH_S: Final = 0.5
_REAP_S: Final = 0.2  # for a process that has closed its end
_CODE: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from kwcli.proxy.deciding.scripts.script_child_process import main; main(int(sys.argv[1]), sys.argv[3])"
)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ENDS: Final = {"close": Then.CLOSE, "reset": Then.RESET}


class ScriptRule(NamedTuple):
    """A function of the script, as the data path knows it; `number` is its index among the script's functions."""

    number: int
    side: Side
    apis: frozenset[int] | None
    filter: Filter

    def may_match(self, api_key: int) -> bool:
        """Whether the function may want exchanges of this API."""
        wanted = self.apis is None or api_key in self.apis
        return wanted and api_key not in NEVER and self.filter.may_pass_api(api_key)


class _Job(NamedTuple):
    """A frame that the script has not decided about yet."""

    exchange: InterceptedExchange
    relay: ClientConnection
    functions: list[int]
    show_answer: bool
    original: bytes
    spans: list[tuple[int, int]]  # places of secrets in `original`
    message: dict[str, Any]
    frames: bytes


class _Process(asyncio.Protocol):
    """A child process that runs the script; `told` gets its messages, `lost` is called when it has ended."""

    def __init__(
        self, path: str, told: Callable[[_Process, dict[str, Any], bytes], None], lost: Callable[[_Process], None]
    ) -> None:
        self._path = path
        self._told = told
        self._lost = lost
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._waiting: list[bytes] = []
        self.functions: list[ScriptRule] | None = None  # None until the script is loaded
        self._sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE, str(theirs.fileno()), json.dumps(sys.path), path],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if _has_file_descriptor(sys.stderr) else None,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()

    def wait_for_first_message(self) -> dict[str, Any] | None:
        """The message sent after loading the script; None: none in time. Blocks, so only before the event loop runs."""
        end = time.monotonic() + _LOAD_S
        while (left := end - time.monotonic()) > 0 and select.select([self._sock], [], [], left)[0]:
            data = self._sock.recv(1 << 16)
            if not data:
                return {"broken": f"{self._path}: the script ended its process while it was loaded"}
            self._buffer += data
            for said, _ in unpack_messages(self._buffer):
                return said
        return None

    async def attach(self) -> None:
        """Let the running event loop read and write the socket from now on."""
        self._sock.setblocking(False)
        await asyncio.get_running_loop().create_connection(lambda: self, sock=self._sock)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        for each in self._waiting:
            self._transport.write(each)
        self._waiting = []

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        for said, frame in unpack_messages(self._buffer):
            self._told(self, said, frame)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_REAP_S)
        self._lost(self)

    def send(self, data: bytes) -> None:
        """Send a message to the child, or keep it until the event loop has the socket."""
        if self._transport is None:
            self._waiting.append(data)
        else:
            self._transport.write(data)

    def kill(self) -> None:
        """Kill the child, and close its socket."""
        with suppress(OSError):
            self._child.kill()
        self._child.wait()
        if self._transport is not None:
            self._transport.abort()
        else:
            self._sock.close()


def _has_file_descriptor(stream: object) -> bool:
    try:
        return bool(cast(Any, stream).fileno() >= 0)
    except (AttributeError, OSError, ValueError):
        return False


class ScriptDecider:
    """A `Decider` that asks one script, for all connections. `say` prints a message, each text once."""

    def __init__(
        self,
        path: str,
        held: HeldExchanges,
        say: Callable[[str], None],
        *,
        timeout_s: float = 2.0,
        reveal: bool = False,
    ) -> None:
        self.path = path
        self._held = held
        self._say = say
        self._timeout_s = timeout_s
        self._reveal = reveal
        self._jobs: deque[_Job] = deque()
        self._sent = 0  # how many of them the process at work was sent
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stamp = _read_change_stamp(path)
        self._next: _Process | None = None  # loads a saved script, or the script again after one that took too long
        self._functions: list[ScriptRule] = []  # those of the script loaded last; empty while all frames pass
        self._done: Counter[str] = Counter()
        self._failing: set[str] = set()  # places in the script whose errors were reported
        self._ended = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.filter_context = FilterContext(())
        self.rules_changed: Callable[[], None] = lambda: None
        self._process: _Process | None = self._start_process()
        said = self._process.wait_for_first_message()
        problem = self._accept_functions(self._process, said)
        if problem is not None:
            self._process.kill()
            raise Failure(problem)

    # The process

    def _start_process(self) -> _Process:
        return _Process(self.path, self._handle_answer, self._handle_lost_process)

    def _accept_functions(self, process: _Process, said: dict[str, Any] | None) -> str | None:
        """Take over the functions that a process has found in the script; an error text where they cannot be used."""
        if said is None:
            return f"{self.path}: did not finish loading within {_LOAD_S:g} s"
        if "broken" in said:
            return str(said["broken"])
        functions = []
        for number, (side, apis, when, line) in enumerate(said["handlers"]):
            try:
                found = parse(when)
            except FilterError as error:
                return f"{self.path}:{line}: when: {error}"
            for atom in found.list_atoms():
                if not is_field_known_at(atom, "request" if side == "request" else "answer"):
                    return f"{self.path}:{line}: when: {atom.name} is not known when a {side} is held"
            functions.append(ScriptRule(number, side, None if apis is None else frozenset(apis), found))
        process.functions = self._functions = functions
        self.filter_context = FilterContext(
            (each.filter for each in functions), self.filter_context.topics, lambda: self.rules_changed()
        )
        self.rules_changed()
        return None

    async def attach(self) -> None:
        """Attach the process to the running event loop, and watch the script's file."""
        assert self._process is not None
        await self._process.attach()
        self._watch_file()

    def end(self) -> None:
        """Kill the processes: the proxy ends."""
        self._ended = True
        for each in (self._process, self._next):
            if each is not None:
                each.kill()

    def _watch_file(self) -> None:
        if self._ended:
            return
        stamp = _read_change_stamp(self.path)
        if stamp is not None and stamp != self._stamp:
            self._stamp = stamp
            self._reload_script()
        asyncio.get_running_loop().call_later(_WATCH_S, self._watch_file)

    def _reload_script(self) -> None:
        """Load the script into a new process."""
        if self._next is not None:
            self._next.kill()
        self._next = self._start_process()
        loop = asyncio.get_running_loop()
        loop.call_later(_LOAD_S, self._stop_loading, self._next)
        task = loop.create_task(self._next.attach())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop_loading(self, process: _Process) -> None:
        """Give up a process that takes too long to load the script."""
        if process is self._next and not self._ended:
            self._handle_loaded_script(process, None)

    def _handle_lost_process(self, process: _Process) -> None:
        """Handle the end of a process; one that is needed ends by itself only if the script does that (`os._exit`)."""
        if self._ended or (process is not self._process and process is not self._next):
            return
        if process is self._next:
            self._next = None
            if self._process is not None:
                return
        self._say(f"{self.path}: the script ended its process; frames pass unchanged until the file is saved")
        self._process = None
        self._pass_waiting_frames()

    def _pass_waiting_frames(self) -> None:
        """Pass the frames that wait, and all further ones until a script is loaded."""
        self._cancel_timer()
        self._functions = []
        jobs, self._jobs, self._sent = self._jobs, deque(), 0
        self._done["passed"] += len(jobs)
        for job in jobs:
            self._finish_job(job, PASS)

    # Frames

    def has_rule_for(self, api_key: int, version: int) -> bool:
        """Whether a function may want exchanges of this API and version."""
        return self.filter_context.is_needed_by_filters(api_key, version) or any(
            each.may_match(api_key) for each in self.functions
        )

    def make_connection_decider(self, relay: ClientConnection) -> _ConnectionScriptDecider:
        """The decider for one connection."""
        return _ConnectionScriptDecider(self, relay)

    def refuses_client(self, _relay: ClientConnection) -> bool:
        """False: scripts turn no client away."""
        return False

    @property
    def functions(self) -> list[ScriptRule]:
        """The functions that frames wait for; empty where no process has the script, nor is being started for it."""
        return self._functions

    def queue_exchange(
        self, exchange: InterceptedExchange, relay: ClientConnection, functions: list[int], *, show_answer: bool
    ) -> None:
        """Send a frame to the script; the decision comes later."""
        side: Side = "request" if exchange.response is None else "response"
        original = exchange.request if exchange.response is None else exchange.response
        code = (exchange.api_key, exchange.version)
        request, spans = exchange.request, []
        if not self._reveal:
            told = _find_secrets_if_any(request, "request", code, None)
            secrets = [request[start:stop] for start, stop in told]
            spans = told if side == "request" else _find_secrets_if_any(original, side, code, secrets)
            request = _overwrite_with_stars(request, told)
        frames = request
        if exchange.response is not None:
            frames += _overwrite_with_stars(original, spans)
        self._count += 1
        message = {
            "n": self._count,
            "handlers": functions,
            "key": exchange.api_key,
            "version": exchange.version,
            "connection": relay.number,
            "client": relay.peer,
            "broker": relay.listener.name,
            "size": len(request),
            "secrets": spans,
        }
        self._jobs.append(_Job(exchange, relay, functions, show_answer, original, spans, message, frames))
        self._done["seen"] += 1
        self._send_jobs()

    def _send_jobs(self) -> None:
        process = self._process
        if process is None or process.functions is None:
            return
        while self._sent < len(self._jobs):
            job = self._jobs[self._sent]
            process.send(pack_message(job.message, job.frames))
            self._sent += 1
        if self._timer is None and self._jobs:
            self._timer = asyncio.get_running_loop().call_later(self._timeout_s, self._pass_late_frame)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pass_late_frame(self) -> None:
        """Pass the frame whose function takes too long, and replace the process."""
        self._timer = None
        job = self._jobs.popleft()
        self._say(
            f"{self.path}: takes longer than {self._timeout_s:g} s (--script-timeout) for {job.exchange}: "
            "the original goes on"
        )
        self._done["late"] += 1
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        self._sent = 0
        self._reload_script()
        self._finish_job(job, PASS)

    def _handle_answer(self, process: _Process, said: dict[str, Any], frame: bytes) -> None:
        """Take a message of a process: that it has loaded the script, or the answer about the first job."""
        if process is self._next:
            self._handle_loaded_script(process, said)
        if process is not self._process or "n" not in said:
            return
        if not self._jobs or self._jobs[0].message["n"] != said["n"]:
            return
        self._cancel_timer()
        job = self._jobs.popleft()
        self._sent -= 1
        self._send_jobs()
        if "error" in said:
            place, _, text = said["error"].partition(": ")
            if place not in self._failing:  # once for a line, even if the next error there is another one
                self._failing.add(place)
                self._say(f"{place}: {text}: the original goes on")
            self._done["failed"] += 1
            self._finish_job(job, PASS)
            return
        self._carry_out_action(job, said, frame)

    def _handle_loaded_script(self, process: _Process, said: dict[str, Any] | None) -> None:
        """Put the process that was started last to work, or report why the script does not load (None: not in time)."""
        self._next = None
        problem = self._accept_functions(process, said)
        if problem is not None:
            going_on = "the old script stays in force" if self._process is not None else "frames pass unchanged"
            self._say(f"{problem}: {going_on}")
            process.kill()
            if self._process is None:
                self._pass_waiting_frames()
            return
        self._failing.clear()
        old, self._process = self._process, process
        if old is not None:
            old.kill()
            self._say(f"{self.path}: loaded again")
        # The functions and their numbers may have changed: the frames that wait are sent again, for the new numbers.
        self._sent = 0
        self._cancel_timer()
        jobs, self._jobs = self._jobs, deque()
        for job in jobs:
            side: Side = "request" if job.exchange.response is None else "response"
            key = job.exchange.api_key
            numbers = [each.number for each in self.functions if each.side == side and each.may_match(key)]
            if numbers:
                job.message["handlers"] = numbers
                self._jobs.append(job)
            else:
                self._finish_job(job, PASS)
        self._send_jobs()

    def _carry_out_action(self, job: _Job, said: dict[str, Any], frame: bytes) -> None:
        """Carry out the action that the script asks for."""
        action = said["do"]
        decision = Decision(delay_ns=max(int(said.get("delay_ns", 0)), 0))
        if action in _ENDS:
            decision = decision._replace(frame=b"", then=_ENDS[action], reason=f"by {self.path}")
        elif action == "answer":
            if not job.exchange.answered:
                self._say(f"{self.path}: {job.exchange} with acks=0 has no answer: the original goes on")
                self._finish_job(job, PASS)
                return
            decision = decision._replace(reply=frame)
        elif frame:
            decision = decision._replace(frame=_fill_in_secrets(frame, said["fills"], job))
        word = (
            "changed" if action == "pass" and frame else "delayed" if action == "pass" and decision.delay_ns else action
        )
        if word != "pass":
            self._done[word] += 1
            job.relay.log_fault(job.exchange.correlation_id, 0, f"script {_DONE[word]}", self._done[word])
        if action == "hold" and self._held.hold_exchange(
            job.exchange, job.relay, decision._replace(show_answer=job.show_answer)
        ):
            return
        self._finish_job(job, decision)

    def _finish_job(self, job: _Job, decision: Decision) -> None:
        if job.relay.connection_deciders is not None:
            job.relay.connection_deciders.finish_decision(
                job.exchange, decision._replace(show_answer=job.show_answer), time.time_ns()
            )

    def format_closing_lines(self) -> list[str]:
        """The line about the script that the proxy prints at its end: how many exchanges it saw, changed, …"""
        counts = ", ".join(f"{self._done[name]} {word}" for name, word in _COUNTED.items() if self._done[name])
        return [f"script {self.path}: {counts or 'no exchange seen'}"]


_DONE: Final = {
    "answer": "answered",
    "close": "closed",
    "reset": "reset",
    "hold": "held",
    "changed": "changed",
    "delayed": "delayed",
}
_COUNTED: Final = {
    "seen": "exchanges seen",
    **_DONE,
    "failed": "failed",
    "late": "too late",
    "passed": "passed without the script",
}


class _ConnectionScriptDecider:
    """The decider of one connection, which asks the script."""

    __slots__ = ("_decider", "_filtered", "_relay")

    def __init__(self, decider: ScriptDecider, relay: ClientConnection) -> None:
        self._decider = decider
        self._relay = relay
        self._filtered = FilteredConnection(relay)

    def end_connection(self) -> None:
        """Forget the held exchanges of this connection, which is over."""
        self._decider._held.forget_connection(self._relay)

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header a function may want."""
        decider = self._decider
        return self._filtered.prefilter_by_header(
            decider.filter_context, decider.functions, api_key, version, client_id
        )

    def decide_request(self, exchange: InterceptedExchange, _now_ns: int) -> Decision | None:
        """Ask the functions that want the request (None: they decide later); else pass it."""
        decider = self._decider
        wanted, show_answer = self._filtered.find_rules_for_request(decider.filter_context, decider.functions, exchange)
        if not wanted:
            return Decision(show_answer=show_answer)
        decider.queue_exchange(exchange, self._relay, [each.number for each in wanted], show_answer=show_answer)
        return None

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """Ask the functions that want the answer (None: they decide later); else pass it."""
        decider = self._decider
        wanted = self._filtered.find_rules_for_answer(decider.filter_context, decider.functions, exchange, now_ns)
        if not wanted:
            return PASS
        decider.queue_exchange(exchange, self._relay, [each.number for each in wanted], show_answer=False)
        return None


def _read_change_stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _find_secrets_if_any(
    frame: bytes, side: Side, code: tuple[int, int], told: list[bytes] | None
) -> list[tuple[int, int]]:
    return find_secret_spans(frame, side, code, told)[0] if may_message_have_secret(*code, side) else []


def _overwrite_with_stars(frame: bytes, spans: list[tuple[int, int]]) -> bytes:
    if not spans:
        return frame
    out = bytearray(frame)
    for start, stop in spans:
        out[start:stop] = b"*" * (stop - start)
    return bytes(out)


def _fill_in_secrets(frame: bytes, fills: list[list[int]], job: _Job) -> bytes:
    """The script's frame with the secrets of the original where they belong."""
    if not fills:
        return frame
    out = bytearray(frame)
    known = set(job.spans)
    for start, end, old_start, old_end in fills:
        if (old_start, old_end) in known and end - start == old_end - old_start and end <= len(out):
            out[start:end] = job.original[old_start:old_end]
    return bytes(out)
