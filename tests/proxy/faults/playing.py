"""Rules of faults on a connection played without a socket: bytes in, bytes to both sides and log entries out."""

from __future__ import annotations

from collections.abc import Mapping

from decoders.filters.prefilter import Possible
from kwcli.proxy.deciding.ask_deciders import ConnectionDeciders, Deciders
from kwcli.proxy.deciding.faults.decide_by_fault_rules import FaultDecider
from kwcli.proxy.deciding.faults.parse_rule import parse_rule
from kwcli.proxy.node_listeners import Listener
from tests.proxy.stage import Stage

MS = 1_000_000


class HoldingAll(ConnectionDeciders):
    """Deciders that get every request of the APIs that they want."""

    __slots__ = ()

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:  # noqa: ARG002  # as they have it
        return True


class FaultyStage(Stage):
    """A played connection with rules of faults; `told` has each log entry: correlation id, rule, action, hit."""

    def __init__(
        self,
        *rules: str,
        seed: int = 1,
        where: Mapping[int, tuple[str, int]] | None = None,
        faults: FaultDecider | None = None,
        number: int = 1,
        node_id: int | None = 1,
    ) -> None:
        self.faults = faults or FaultDecider([parse_rule(rule) for rule in rules], seed, lambda: MS)
        self.number = number
        self.connection_deciders: ConnectionDeciders | None = None
        self.peer = "10.0.0.7:54321"
        self.via_address: str | None = None
        self.listener = Listener(node_id, ("127.0.0.1", 19094), (("kafka-1.invalid", 9092),), None)
        self.told: list[tuple[int, int, str, int]] = []
        self.deciders = Deciders([self.faults])
        self.faults.rules_changed = self.deciders.forget_handlings
        self._deciding = self.deciders.make_connection_decider(self)
        super().__init__(where, frame_decider=self._deciding)

    def hold_all(self) -> None:
        """Ask the rules about all requests of their APIs: none passes because of its bytes alone."""
        self._deciding.__class__ = HoldingAll

    def log_fault(self, correlation_id: int, rule: int, action: str, hit: int) -> None:
        self.told.append((correlation_id, rule, action, hit))

    def log_refusal(self, correlation_id: int, by: str, reason: str) -> None:
        """Fail: no rule of faults refuses a version."""
        raise AssertionError((correlation_id, by, reason))


def frames(data: bytes) -> list[bytes]:
    """The frames in these bytes, with their size fields; the last one may be cut."""
    found = []
    while data:
        size = int.from_bytes(data[:4], "big") + 4
        found.append(data[:size])
        data = data[size:]
    return found
