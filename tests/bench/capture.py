"""`python -m tests.bench.capture`: what a packet costs from capture bytes to segment, from segment to chunk, in a walk.

Prints nanoseconds of CPU a packet, the best of some runs, beside the aim and beside the plain reader without fused
loops. `--capture FILE` measures one's own capture.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from time import process_time

from decoders.capture.find_cut_points import CutPointFinder
from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.tcp.reassembly import Reassembly
from tests.capture.frames import ACK, PSH, ethernet, ipv4, ipv6, tcp
from tests.capture.pcap_writer import PcapWriter

BLOCK = 1 << 20
WINDOW = 1 << 18  # as `kw pipeline` walks a file
WANTED = {"segments": 1000, "chunks": 350, "walk": 350}
STAMPS = b"\1\1\x08\x0a" + bytes(8)


def traffic(writer: PcapWriter | PcapngWriter, version: int, size: int) -> Iterator[bytes]:
    """A capture of about `size` bytes: a request, an answer, an acknowledgement, on 40 connections in turn."""
    yield writer.make_file_header()
    places = [[number * 7919, number * 104729] for number in range(1, 41)]
    time_ns = 1_790_000_000 * 10**9

    def frame(to_broker: bool, segment: bytes) -> bytes:
        if version == 6:
            ends = ("2001:db8::1", "2001:db8::2") if to_broker else ("2001:db8::2", "2001:db8::1")
            return ethernet(ipv6(*ends, segment), 0x86DD)
        ends = ("10.0.0.1", "10.0.0.2") if to_broker else ("10.0.0.2", "10.0.0.1")
        return ethernet(ipv4(*ends, segment))

    written = 0
    for number, place in cycle(enumerate(places)):
        port, (mine, theirs) = 40000 + number, place
        for to_broker, segment in (
            (True, tcp(port, 9092, mine, theirs, ACK | PSH, b"q" * 120, STAMPS)),
            (False, tcp(9092, port, theirs, mine + 120, ACK | PSH, b"a" * 400, STAMPS)),
            (True, tcp(port, 9092, mine + 120, theirs + 400, ACK, b"", STAMPS)),
        ):
            time_ns += 1000
            packet = writer.make_packet_block(time_ns, frame(to_broker, segment))
            written += len(packet)
            yield packet
        place[:] = mine + 120, theirs + 400
        if written > size:
            return


def blocks(data: bytes) -> list[bytes]:
    """A capture in blocks of the size in which the command reads a file."""
    return [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]


def cost(data: list[bytes], *, fused: bool) -> tuple[int, float, float]:
    """The number of packets, and the seconds spent in the reader and in reassembly."""
    reader, stage = CaptureReader(fused=fused), Reassembly()
    reading = joining = 0.0
    for block in data:
        began = process_time()
        segments = reader.feed(block)
        read = process_time()
        stage.feed(segments)
        joining += process_time() - read
        reading += read - began
    reader.finish()
    stage.finish()
    if reader.problem is not None:
        raise SystemExit(str(reader.problem))
    return reader.counts["packets"], reading, joining


def walked(data: list[bytes]) -> float:
    """Seconds of a `Walk` over the blocks, which finds where packets begin and their times."""
    walk = CutPointFinder()
    windows = [block[at : at + WINDOW] for block in data for at in range(0, len(block), WINDOW)]
    began = process_time()
    for window in windows:
        walk.feed(window)
    walk.finish()
    if walk.problem is not None:
        raise SystemExit(str(walk.problem))
    return process_time() - began


def report(name: str, data: list[bytes], runs: int) -> None:
    """Print one line of figures."""
    costs = [cost(data, fused=True) for _ in range(runs)]
    packets = costs[0][0]
    plain = cost(data, fused=False)[1]
    reading, joining = (min(row[column] for row in costs) for column in (1, 2))
    walking = min(walked(data) for _ in range(runs))
    figures = [seconds / packets * 1e9 for seconds in (reading, plain, joining, walking)]
    print(
        f"{name:16} {packets:10,} packets   segments {figures[0]:6.0f} ns (wanted {WANTED['segments']}, "
        f"the plain way {figures[1]:.0f})   chunks {figures[2]:6.0f} ns (wanted {WANTED['chunks']})   "
        f"walk {figures[3]:6.0f} ns (wanted {WANTED['walk']}; {walking / sum(map(len, data)) * 1e9:.2f} s/GB)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100, metavar="MB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--capture", type=Path)
    options = parser.parse_args()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)  # as the command line does
    if options.capture:
        report(options.capture.name, blocks(options.capture.read_bytes()), options.runs)
        return
    for writer in (PcapWriter(1), PcapngWriter(1)):
        for version in (4, 6):
            name = f"{'pcap' if isinstance(writer, PcapWriter) else 'pcapng'}, IPv{version}"
            report(name, blocks(b"".join(traffic(writer, version, options.size << 20))), options.runs)


if __name__ == "__main__":
    main()
