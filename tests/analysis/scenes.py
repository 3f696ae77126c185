"""Scripted conversations by the clock in (client, broker, time, request, answer), exchanges out."""

from __future__ import annotations

from ipaddress import ip_address
from math import inf
from struct import pack
from typing import Any

from decoders import encode_request, encode_response
from decoders.analysis.fold_interface import Fold
from decoders.exchanges.exchange import Ended, Exchange, Row
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.protocol_facts.api_keys import METADATA
from decoders.tcp.stream_chunks import ZERO_WINDOW, Segment
from kwcli.output.renderers import WantedPaths

SYN, ACK, FIN, RST, PUSH = 2, 16, 1, 4, 8
NS, MS = 10**9, 10**6
BEGUN = 1_790_000_000 * NS
BROKER = "10.0.0.9:9092"
# A segment that was sent before.
_AGAIN = 1 << 16


class Line:
    """One connection of a client to a broker."""

    def __init__(self, client: str, broker: str, port: int) -> None:
        here, there = self._end(f"{client}:{port}"), self._end(broker)
        self.keys = {True: here[0] + there[0] + here[1] + there[1], False: there[0] + here[0] + there[1] + here[1]}
        self.seq = {True: 1000, False: 5000}

    @staticmethod
    def _end(address: str) -> tuple[bytes, bytes]:
        host, _, port = address.rpartition(":")
        return ip_address(host.strip("[]")).packed, pack(">H", int(port))


class Scene:
    """A script of requests, answers and connection ends, each at a time in seconds after the beginning."""

    def __init__(self, ports: frozenset[int] | None = frozenset({9092, 9093, 9094})) -> None:
        self._ports = ports  # None: the engine finds out what is Kafka
        self._segments: list[tuple[int, Line, bool, int, bytes]] = []
        self._lines: dict[tuple[str, str, int], Line] = {}
        self._asked = self._asked_ports = self._last_port = self._orphans = 0

    def ask(
        self,
        at: float,
        what: tuple[int, int],
        request: dict[str, Any] | None = None,
        response: dict[str, Any] | None = None,
        *,
        client: str = "app",
        host: str = "10.0.0.1",
        broker: str = BROKER,
        line: int = 0,
        took: float = 0.001,
        ends: int = 0,
        cut: int = 0,
        behind: bytes = b"",
        answered_as: int | None = None,
        answered_in: int | None = None,
        says: tuple[int, int] | None = None,
        again: int = 0,
        stuck: int = 0,
        refused_at: int = 0,
    ) -> Scene:
        """A request, answered `took` seconds later (inf: never), or the connection ends then (`ends`: FIN or RST).

        `cut`: as many bytes lack at the request's end; `behind`: bytes behind its last field; `answered_as`: a foreign
        correlation id of the answer, `answered_in`: another version of its layout; `says`:
        another API key and version in the request's header; `again`: it is sent so often again, each second;
        `stuck`: the answer's first 1000 bytes alone are sent, and so often again, each second; `refused_at`: the client
        resets the connection after as many bytes of the answer.
        """
        key, version = what
        self._asked += 1
        port = 20_000 + line * 100 + sum(client.encode()) % 100
        now = round(BEGUN + at * NS)
        place = (host, broker, port)
        self._last_port = port
        if place not in self._lines:
            its = self._lines[place] = Line(host, broker, port)
            self._segments += [(now - 3000, its, True, SYN, b""), (now - 2000, its, False, SYN | ACK, b"")]
            self._segments.append((now - 1000, its, True, ACK, b""))
        its = self._lines[place]
        frame = encode_request(key, version, request or {}, correlation_id=self._asked, client_id=client)
        frame = frame[: len(frame) - cut] + behind
        frame = frame if says is None else pack(">hh", *says) + frame[4:]
        frame = pack(">i", len(frame)) + frame
        for number in range(1 + again):
            flags = ACK | PUSH | (_AGAIN if number else 0)
            self._segments.append((now + number * NS, its, True, flags, frame))
        if ends:
            self._segments.append((now + round(took * NS), its, False, ends | ACK, b""))
            if ends == FIN:
                self._segments.append((now + round(took * NS) + 1000, its, True, FIN | ACK, b""))
            del self._lines[place]
        elif took < inf:
            number = self._asked if answered_as is None else answered_as
            self._orphans += number != self._asked
            layout = version if answered_in is None else answered_in
            frame = encode_response(key, layout, response or {}, correlation_id=number)
            frame = pack(">i", len(frame)) + frame
            for number in range(1 + stuck):
                flags = ACK | PUSH | (_AGAIN if number else 0)
                part = frame[:1000] if stuck else frame[:refused_at] if refused_at else frame
                self._segments.append((now + round(took * NS) + number * NS, its, False, flags, part))
            if refused_at:
                self._segments.append((now + round(took * NS) + 1000, its, True, RST | ACK, b""))
                del self._lines[place]
        return self

    def reset(self, at: float, *, by_broker: bool = True, broker: str = BROKER) -> Scene:
        """Reset the connection of the default client."""
        its = self._lines.pop(("10.0.0.1", broker, self._last_port))
        self._segments.append((round(BEGUN + at * NS), its, not by_broker, RST, b""))
        return self

    def lose(self, at: float, times: int) -> Scene:
        """The default client sends a request on its latest connection, and again each second, without an answer."""
        its = self._lines["10.0.0.1", BROKER, self._last_port]
        self._asked += 1
        frame = encode_request(METADATA, 9, {}, correlation_id=self._asked, client_id="app")
        frame = pack(">i", len(frame)) + frame
        for number in range(times):
            flags = ACK | PUSH | (_AGAIN if number else 0)
            self._segments.append((round(BEGUN + (at + number) * NS), its, True, flags, frame))
        return self

    def shut(self, begin: float, end: float, *, broker: bool) -> Scene:
        """One side of the default client's connection announces a window of zero every 0.2 s."""
        its = self._lines["10.0.0.1", BROKER, self._last_port]
        for number in range(round((end - begin) * 5) + 1):
            now = round(BEGUN + (begin + number / 5) * NS)
            self._segments.append((now, its, not broker, ACK | ZERO_WINDOW, b""))
        return self

    def knock(
        self,
        at: float,
        broker: str,
        *,
        refused: bool = True,
        host: str = "10.0.0.1",
        tries: int = 1,
        heard: bool = False,
    ) -> Scene:
        """A connection that a broker refuses, or does not answer at all, or whose answers are not `heard`."""
        self._asked_ports += 1
        its = Line(host, broker, 40_000 + self._asked_ports)
        now = round(BEGUN + at * NS)
        for number in range(tries):
            self._segments.append((now + number * NS, its, True, SYN | (_AGAIN if number else 0), b""))
            if heard:
                self._segments.append(
                    (now + number * NS + 1000, its, False, SYN | ACK | (_AGAIN if number else 0), b"")
                )
        if refused:
            self._segments.append((now + 1000, its, False, RST | ACK, b""))
        return self

    def connect(self, at: float, broker: str, *, host: str = "10.0.0.1", kept_alive: int = 0) -> Scene:
        """A connection without a byte that stays open, with as many keep-alives, one each 5 s."""
        self._asked_ports += 1
        its = Line(host, broker, 40_000 + self._asked_ports)
        now = round(BEGUN + at * NS)
        for number, (by_client, flags) in enumerate(((True, SYN), (False, SYN | ACK), (True, ACK))):
            self._segments.append((now + number * 1000, its, by_client, flags, b""))
        for number in range(1, 1 + kept_alive):
            for by_client in (True, False):
                self._segments.append((now + number * 5 * NS + (not by_client), its, by_client, ACK, b""))
        return self

    def speak(
        self,
        at: float,
        data: bytes,
        answer: bytes = b"",
        *,
        host: str = "10.0.0.7",
        broker: str = BROKER,
        ends: int = RST,
        then: bytes = b"",
        lasts: float = 0,
    ) -> Scene:
        """A connection with other bytes than Kafka's, an answer, and what is said `then`, that the broker ends.

        It ends `lasts` seconds later.
        """
        self._asked_ports += 1
        its = Line(host, broker, 41_000 + self._asked_ports)
        now = round(BEGUN + at * NS)
        script: list[tuple[bool, int, bytes]]
        script = [(True, SYN, b""), (False, SYN | ACK, b""), (True, ACK, b""), (True, ACK | PUSH, data)]
        script += [(False, ACK | PUSH, answer)] if answer else []
        script += [(True, ACK | PUSH, then)] if then else []
        self._segments += [(now + number * 1000, its, *step) for number, step in enumerate(script)]
        over = now + round(lasts * NS) + len(script) * 1000
        self._segments += [(over, its, False, ends | ACK, b"")] if ends else []
        self._segments += [(over + 1000, its, True, FIN | ACK, b"")] if ends == FIN else []
        return self

    def segments(self) -> list[Segment]:
        """All packets of the scene as TCP segments, by time."""
        found: list[Segment] = []
        for number, (now, line, client, flags, data) in enumerate(sorted(self._segments, key=lambda item: item[0]), 1):
            seq, ack = line.seq[client], line.seq[not client]
            if flags & _AGAIN:
                flags, seq = flags & ~_AGAIN, seq - len(data) - bool(flags & SYN)
                line.seq[client] = seq
            found.append((line.keys[client], now, number, seq, ack if flags & ACK else 0, flags, data, 0))
            line.seq[client] = (seq + len(data) + bool(flags & (SYN | FIN))) % 2**32
        return found

    def exchanges(self, fold: Fold) -> list[Exchange]:
        """The exchanges of the scene, with the fields that a fold reads."""
        return [each for each in self.rows(fold) if isinstance(each, Exchange)]

    def rows(self, fold: Fold) -> list[Exchange | Ended]:
        """The exchanges of the scene and the ends of its connections."""
        engine = Engine(ports=self._ports, needs=WantedPaths(fold.needs), connections=True)
        settled: list[Row] = [*engine.feed(self.segments()), *engine.finish()]
        found = [each for each in settled if isinstance(each, Exchange | Ended)]
        assert sum(isinstance(each, Exchange) for each in found) == self._asked + self._orphans
        return found
