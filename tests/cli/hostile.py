"""Names with control sequences for terminals, a capture and a broker full of them, and kw run on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tty
from collections.abc import Iterator, Mapping, Sequence
from threading import Timer
from typing import Any, NamedTuple

import decoders
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from tests.capture.pcap_writer import PcapWriter
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed

# All C0 (NUL too), DEL, all C1, the bidirectional controls, a colour and a cursor movement that kw never writes itself
# into a value, and line ends that would forge a line.
FORGED = "FORGED"
NAME = (
    "\x1b[31mEVIL"
    + "".join(map(chr, range(0x20)))
    + "".join(map(chr, range(0x7F, 0xA0)))
    + "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    + f"\x1b[2J\x1b]0;title\x07\r\n{FORGED}\n{FORGED} é漢"
)
# Characters that JSON has in a string: a text with control characters is base64.
TURNED = "EVIL\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069é漢"
# The part of the name that file systems and command lines can hold.
WORD = NAME.replace("\0", "").replace("/", "")
ADDRESS = ("10.9.8.7:40000", "10.1.2.3:9092")

# Allowed in a terminal's output: text, tab, line feed, and the colours of kw's palette.
_OWN = re.compile(r"\x1b\[(?:[012]|3[1-6]|1;3[135])m")
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ERASED = "\r\x1b[K"


class Seen(NamedTuple):
    """The output of a run of kw on a terminal, and its exit code."""

    code: int
    text: str

    def faults(self, *, lines: bool = True) -> list[str]:
        """Control sequences in the output, and `lines` forged by a name (a cell of CSV may have line ends in it)."""
        text = self.text.replace(_ERASED, "")
        found = [repr(text[max(at.start() - 30, 0) : at.end() + 20]) for at in _OBEYED.finditer(_OWN.sub("", text))]
        if lines:
            found += [line for line in text.split("\n") if _OWN.sub("", line).startswith(FORGED)]
        return found + ["a colour from a name"] * ("\x1b[31mEVIL" in text)


# Runs each command of a list on the terminal it is started on: a new interpreter for each would take minutes.
_RUN = """
import json, os, sys
from kwcli.run_environment import Environment
from kwcli.main import run
for words in json.load(sys.stdin):
    env = Environment.of_process()
    code = run(words, env)
    env.stdout.flush()
    sys.stdout.flush()
    os.write(1, b"\\n<end %d>\\n" % code)
"""
_END = re.compile(r"\n<end (\d+)>\n")


def kw_on_terminal(
    *commands: Sequence[str], variables: Mapping[str, str] | None = None, seconds: float = 120.0
) -> list[Seen]:
    """Run `kw WORDS…` for each, in a process whose standard output and error are a terminal that changes no byte."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    surroundings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "4000", **(variables or {})}
    surroundings.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-c", _RUN], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=surroundings
    ) as process:
        os.close(theirs)
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(json.dumps(commands).encode())
        at_last = Timer(seconds, process.kill)
        at_last.start()
        data = b""
        try:
            while piece := _read(ours):
                data += piece
        finally:
            os.close(ours)
            at_last.cancel()
    parts = _END.split(data.decode())
    seen = [Seen(int(code), text) for text, code in zip(parts[::2], parts[1::2], strict=False)]
    assert len(seen) == len(commands), data.decode()[-2000:]
    return seen


class OnTerminal:
    """A `kw WORDS…` that runs on a terminal until it is interrupted."""

    def __init__(self, *words: str, variables: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        tty.setraw(theirs)
        surroundings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "4000", **variables}
        command = [sys.executable, "-m", "kwcli.main", *words]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=surroundings
        )
        os.close(theirs)
        self._data = b""

    def until(self, mark: bytes) -> None:
        """Read until the output contains `mark`."""
        while mark not in self._data:
            piece = _read(self._ours)
            assert piece, self._data.decode()
            self._data += piece

    def end(self) -> Seen:
        """Interrupt the program, and read the rest."""
        self._process.send_signal(signal.SIGINT)
        while piece := _read(self._ours):
            self._data += piece
        os.close(self._ours)
        return Seen(self._process.wait(), self._data.decode())


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux raises it when the other side is closed
        return b""


def _answers(name: str, host: str, port: int) -> dict[int, tuple[int, dict[str, Any], dict[str, Any]]]:
    """API → version, request, response; every text in them is `name`."""
    member = {"member_id": name, "client_id": name, "client_host": name}
    broker = {"node_id": 1, "host": host, "port": port, "rack": name}
    topic = {"name": name, "partitions": [{"leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}]}
    result = {"resource_name": name, "resource_type": 2, "error_code": 40, "error_message": name}
    config = {"name": name, "value": name, "documentation": name}
    return {
        18: (3, {"client_software_name": "kw", "client_software_version": "1"}, offers(OFFERED)),
        3: (
            9,
            {"topics": [{"name": name}]},
            {"brokers": [broker], "cluster_id": name, "controller_id": 1, "topics": [topic]},
        ),
        10: (3, {"key": name}, {"node_id": 1, "host": host, "port": port, "error_code": 15, "error_message": name}),
        32: (
            4,
            {"resources": [{"resource_type": 2, "resource_name": name}]},
            {"results": [{**result, "configs": [config]}]},
        ),
        19: (5, {"topics": [{"name": name}]}, {"topics": [{"name": name, "error_code": 17, "error_message": name}]}),
        16: (4, {"states_filter": [name]}, {"groups": [{"group_id": name, "protocol_type": name}]}),
        15: (5, {"groups": [name]}, {"groups": [{"group_id": name, "group_state": name, "members": [member]}]}),
        60: (0, {}, {"cluster_id": name, "error_message": name, "brokers": [{"broker_id": 1, "host": name}]}),
    }


OFFERED = {3: (0, 9), 10: (0, 3), 15: (0, 5), 16: (0, 4), 18: (0, 3), 19: (0, 5), 32: (0, 4), 60: (0, 0)}


def capture(name: str = NAME) -> bytes:
    """Exchanges of one connection in which every text is `name`."""
    pcap = PcapWriter(LINK_RAW)
    talk = SyntheticTcp(*ADDRESS, time_ns=10**18)
    packets = list(talk.opening_packets())
    for number, (key, (version, request, response)) in enumerate(_answers(name, name, 9092).items()):
        asked = decoders.encode_request(key, version, request, correlation_id=number, client_id=name)
        answer = decoders.encode_response(key, version, response, correlation_id=number)
        packets += [packet for packet, _ in talk.data_packets(CLIENT, framed(asked))]
        packets += [packet for packet, _ in talk.data_packets(SERVER, framed(answer))]
    packets += talk.closing_packets(reset=False)
    return pcap.make_file_header() + b"".join(
        pcap.make_packet_block(10**18 + at * 10**6, data) for at, data in enumerate(packets)
    )


def messages() -> Iterator[tuple[int, int, str, str]]:
    """API, version, request and response of each exchange, as hex of whole frames."""
    for key, (version, request, response) in _answers(NAME, NAME, 9092).items():
        asked = decoders.encode_request(key, version, request, client_id=NAME)
        answer = decoders.encode_response(key, version, response)
        yield key, version, framed(asked).hex(), framed(answer).hex()


class HostileBroker(Responder):
    """A broker whose answers have the hostile name in every text; if `reachable`, its address is real."""

    def __init__(self, *, reachable: bool) -> None:
        self._reachable = reachable
        super().__init__(each_request(self._answer))

    def _answer(self, request: bytes) -> bytes:
        key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
        host, port = self.address
        value = dict(_answers(NAME, host if self._reachable else NAME, port)[key][2])
        if key == 18:
            value["finalized_features"] = [{"name": NAME, "max_version_level": 1, "min_version_level": 1}]
            value["supported_features"] = [{"name": NAME, "min_version": 1, "max_version": 1}]
        number = int.from_bytes(request[4:8], "big")
        return framed(decoders.encode_response(key, version, value, correlation_id=number))
