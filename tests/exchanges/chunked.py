"""Hand-made chunks as rows of (sender, bytes), and what a Pairer settles from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.exchange import Exchange, Settled, Skipped
from decoders.tcp.connection_and_halves import Connection
from decoders.tcp.stream_chunks import Chunk, Close, Gap, Retransmission

MS = 10**6
Row = tuple[str, bytes | Gap | Retransmission | Close]


class Line:
    """One connection; its rows are ("c" for client or "b" for broker, data), one packet a millisecond."""

    def __init__(self, *, opened: bool = True, number: int = 1, broker: str = "10.0.0.2:9092") -> None:
        self.connection = Connection(number, f"10.0.0.1:{50000 + number}", broker, MS, opened=opened)
        self.packet = 0

    def chunks(self, *rows: Row) -> list[Chunk]:
        """The rows as chunks, one millisecond and one packet each."""
        out: list[Chunk] = []
        for who, data in rows:
            self.packet += 1
            half = self.connection.first if who == "c" else self.connection.second
            out.append((half, self.packet * MS, self.packet, data))
        return out


def play(*rows: Row, opened: bool = True, close: str = "fin", **options: Any) -> list[Settled]:
    """Everything settled for one connection with these rows."""
    line, stage = Line(opened=opened), Pairer(**options)
    end: list[Row] = [("c", Close(close))] if close else []  # type: ignore[arg-type]  # a How
    return stage.feed(line.chunks(*rows, *end)) + stage.finish()


def exchanges(settled: list[Settled]) -> list[Exchange]:
    """The exchanges among the settled rows; no row may be a skipped run."""
    assert [each.reason for each in settled if isinstance(each, Skipped)] == []
    return [each for each in settled if isinstance(each, Exchange)]


def told(settled: Sequence[Settled]) -> list[str]:
    """Each settled row in a few words."""
    out = []
    for each in settled:
        if isinstance(each, Skipped):
            out.append(f"{each.reason} {each.direction} {each.size}")
        else:
            reason = f" {each.reason}" if each.reason else ""
            closed = f" at {each.closed}" if each.closed else ""
            out.append(f"{each.api} {each.api_version} #{each.correlation_id} {each.status}{reason}{closed}")
    return out
