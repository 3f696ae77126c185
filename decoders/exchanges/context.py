"""What all connections of one engine share: layouts, topic names, the budget, the counts, and where things come out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from decoders.exchanges.exchange import Exchange, Settled, Skipped
from decoders.exchanges.needs import Needs
from decoders.exchanges.pairing import Pairing
from decoders.exchanges.specs import ApiVersions
from decoders.exchanges.summary import Summary
from decoders.exchanges.topics import Topics
from decoders.limits import HELD_MAX, RAW_KEPT_MAX
from decoders.streams.detect import UndecidedConnection
from decoders.streams.framing import FrameDirection, MemoryBudget, give_up

# Of a request that is given up for the budget, what is kept to say which it was.
HEAD_KEPT = 512
# A Kafka connection without bytes for so long (ns of capture time) is at rest: sooner, those that send heartbeats would
# be put to rest and taken up again all the time. Of a few there is nothing to gain.
REST_NS = 5 * 10**9
AWAKE_MIN = 1024
# Steps in which the budget follows a single frame that is larger than it.
STEP = 4 << 20


class Context:
    """The state of one engine beside its connections."""

    __slots__ = (
        *(
            "awake",
            "brokers",
            "budget",
            "connections",
            "out",
            "pairings",
            "ports",
            "runs",
            "specs",
            "summary",
            "topics",
        ),
        *("undecided", "vouching", "woken"),
    )

    def __init__(self, ports: Iterable[int] | None, needs: Needs, *, connections: bool = False) -> None:
        self.connections = connections  # give them at their end
        self.ports = None if ports is None else frozenset(ports)
        self.specs = ApiVersions(needs)
        self.topics = Topics()
        self.budget = MemoryBudget()
        self.summary = Summary()
        self.out: list[Settled] = []
        self.runs = 0  # of `out`, how many are no exchange
        self.pairings: dict[int, Pairing] = {}  # open connections that are Kafka, by number
        self.undecided: dict[int, UndecidedConnection] = {}
        self.brokers: dict[str, int] = {}  # endpoints once recognised, and since when
        # The same for other engines, where one asks for it: endpoint, since when, which client showed it.
        self.vouching: list[tuple[str, int, str]] | None = None
        # Connections that are not at rest, by number, where an engine puts them to rest.
        self.awake: deque[int] | None = None
        self.woken = 0  # so many of them since the last look

    def note(self, pairing: Pairing) -> None:
        """A connection begins, or has something again."""
        if self.awake is not None:
            self.awake.append(pairing.ends.number)
            self.woken += 1

    def rest(self) -> None:
        """Put connections to rest: for each that was noted since the last time two are looked at, in turn."""
        awake, before_ns = self.awake, self.summary.last_ns - REST_NS
        if awake is None or not self.woken:
            return
        looks = min(2 * self.woken, len(awake) - AWAKE_MIN)
        self.woken = 0
        for _ in range(looks):
            number = awake.popleft()
            pairing = self.pairings.get(number)
            if pairing is None or pairing.resting:
                continue
            client = pairing.client
            busy = client is not None and max(client.last_ns, client.peer.last_ns) > before_ns
            if busy or not pairing.rest():
                awake.append(number)

    def skip(self, skipped: Skipped) -> None:
        """Report bytes that are no exchange."""
        self.summary.skipped[skipped.reason] += 1
        self.summary.skipped_bytes[skipped.reason] += skipped.size
        self.out.append(skipped)
        self.runs += 1

    def shed(self, current: FrameDirection | None) -> None:
        """Too much is held: give up the oldest bodies until half the budget is free.

        First requests in flight, then connections undecided, then frames under way but for the `current` one, which
        alone may grow to the limit of a frame.
        """
        budget = self.budget
        aim = HELD_MAX // 2
        waiting = [exchange for pairing in self._at_work() for exchange in pairing.in_flight.waiting()]
        waiting.sort(key=_sent)
        for exchange in waiting:
            if budget.held <= aim:
                break
            self._cut(exchange)
        for undecided in self.undecided.values():
            if budget.held <= aim:
                break
            before = undecided.held
            undecided.let_go(0)
            budget.held -= before - undecided.held
        for pairing in self._at_work():
            for lane in (pairing.client_lane, pairing.server_lane):
                if budget.held > aim and lane is not current:
                    give_up(lane, RAW_KEPT_MAX)
        budget.most = max(HELD_MAX, budget.held + STEP)

    def _at_work(self) -> list[Pairing]:
        return [pairing for pairing in self.pairings.values() if not pairing.resting]

    def _cut(self, exchange: Exchange) -> None:
        data = exchange.request_raw
        if data is not None and len(data) > HEAD_KEPT:
            exchange.request_raw = data[:HEAD_KEPT]
            exchange.extra = {"request": "limit", **(exchange.extra or {})}
            self.budget.held -= len(data) - HEAD_KEPT


def _sent(exchange: Exchange) -> int:
    return exchange.request_packet_end or 0
