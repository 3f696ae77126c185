"""TCP segments in, settled exchanges and skipped runs out: reassembly, framing, detection and pairing as one stage."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from decoders.exchanges.exchange import Settled
from decoders.exchanges.needs import Needs
from decoders.exchanges.stage import Pairer
from decoders.exchanges.summary import Summary
from decoders.streams.chunks import Segment
from decoders.streams.reassembly import Reassembly
from decoders.wire.state import fields, pack, unpack


class Engine:
    """All of one capture. `ports` are Kafka without a look, and no others; `needs` is what `Exchange.view` holds.

    With `connections` each connection gives one `Ended` more at its end, behind all that is settled of it.
    """

    def __init__(
        self, ports: Iterable[int] | None = None, needs: Needs | None = None, *, connections: bool = False
    ) -> None:
        self.reassembly = Reassembly()
        self.pairer = Pairer(ports, needs, connections=connections)
        self.pairer.context.awake = deque()

    @property
    def summary(self) -> Summary:
        """The counts so far."""
        return self.pairer.summary

    def feed(self, segments: list[Segment], now_ns: int = 0) -> list[Settled]:
        """What settles with these segments."""
        settled = self.pairer.feed(self.reassembly.feed(segments, now_ns), now_ns)
        self.pairer.context.rest()
        return settled

    def export(self) -> bytes:
        """The state between two feeds, for `resume`."""
        return pack([self.reassembly.export(), self.pairer.export()])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called, maybe in another process. Raises DecodeError when the state is none."""
        reassembly, pairer = fields(unpack(state), bytes, bytes)
        self.reassembly.resume(reassembly)
        self.pairer.resume(pairer, self.reassembly.connections())

    def finish(self) -> list[Settled]:
        """What the end of the capture settles."""
        return self.pairer.feed(self.reassembly.finish()) + self.pairer.finish()
