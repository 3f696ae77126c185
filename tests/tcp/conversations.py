"""Helpers for tests of reassembly: two byte streams as TCP segments, and the chunks that come out."""

from __future__ import annotations

from collections.abc import Iterable

from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Close, Gap, Retransmission, Segment

FIN, SYN, RST, ACK = 1, 2, 4, 16
CLIENT = bytes([10, 0, 0, 1, 10, 0, 0, 2, 0xC3, 0x50, 0x23, 0x84])
BROKER = bytes([10, 0, 0, 2, 10, 0, 0, 1, 0x23, 0x84, 0xC3, 0x50])
NAMES = {"10.0.0.1:50000": "client", "10.0.0.2:9092": "broker"}
MS = 10**6


def play(segments: Iterable[Segment], *, finish: bool = True) -> list[Chunk]:
    """The chunks of these segments."""
    stage = Reassembly()
    chunks = stage.feed(list(segments))
    return chunks + stage.finish() if finish else chunks


def numbered(rows: Iterable[tuple[object, ...]]) -> list[Segment]:
    """Rows (sender, seq, ack or None, flags, payload[, cut]) as segments, one a millisecond."""
    out: list[Segment] = []
    for packet, row in enumerate(rows, 1):
        who, seq, ack, flags, data, *cut = row
        key = CLIENT if who == "client" else BROKER
        assert isinstance(seq, int)
        assert isinstance(flags, int)
        assert isinstance(data, bytes)
        assert ack is None or isinstance(ack, int)
        assert not cut or isinstance(cut[0], int)
        flags |= ACK if ack is not None else 0
        out.append(
            (key, packet * MS, packet, seq % 2**32, (ack or 0) % 2**32, flags, data, cut[0] if cut else 0)  # type: ignore[arg-type]
        )
    return out


def told(chunks: Iterable[Chunk]) -> list[tuple[object, ...]]:
    """Chunks as (sender, packet, content): bytes, or `gap 5 lost`, `again 0+5`, `close fin`."""
    out: list[tuple[object, ...]] = []
    for half, _, packet, data in chunks:
        match data:
            case Gap(size, why):
                what: object = f"gap {size} {why}"
            case Retransmission(at, size):
                what = f"again {at}+{size}"
            case Close(how):
                what = f"close {how}"
            case _:
                what = data
        out.append((NAMES[half.source], packet, what))
    return out


def streams(chunks: Iterable[Chunk]) -> dict[str, bytes]:
    """The bytes that each side sent, missing bytes as `?`."""
    out: dict[str, bytes] = {"client": b"", "broker": b""}
    for half, _, _, data in chunks:
        if isinstance(data, bytes):
            assert data
            out[NAMES[half.source]] += data
        elif isinstance(data, Gap):
            assert (data.size == 0) == (data.why == "jump")
            out[NAMES[half.source]] += b"?" * data.size
    return out
