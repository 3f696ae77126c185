"""What each command says of damaged captures, to the last letter, as a checksum for each of its answers.

`python -m tests.captures.test_damaged_answers` writes damaged_answers.txt again. A row is a capture, what was done to
its packets, and a command line: the number of lines of its answer, how it ended, and checksums of both outputs. Other
tests look at the answers themselves: these show that nothing else changed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import cache
from itertools import cycle
from pathlib import Path
from random import Random
from struct import pack
from typing import Final

import pytest

from decoders.capture.read_packet_copies import CopyReader, PacketCopy
from kwcli.options import OUTPUT_VARIABLE
from tests.captures.plain import read_bytes
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world
from tests.listed_answers import checksum_of, drop_duration, read_answers, write_answers

FILE: Final = Path(__file__).with_name("damaged_answers.txt")
# The most packets of a capture: damage is the same in the next hundred.
PACKETS: Final = 400
CAPTURES: Final = (
    *("tour.pcapng", "first-steps.pcapng", "old-clients.pcap.gz", "sasl-framed.pcapng", "sasl-raw.pcap"),
    *("share-groups.pcapng", "three-nodes.pcapng.zst", "zookeeper-cluster.pcap.gz", "telemetry.pcapng"),
    *("transactions/hanging.pcap.zst", "transactions/last-attempts.pcap.zst", "traces/downstream.pcap.zst"),
    *("values/confluent-avro.pcapng.zst", "values/confluent-protobuf.pcapng.zst", "faults/leaders-move.pcap.zst"),
    *("faults/sent-twice.pcap.zst", "faults/sequence-broken.pcap.zst", "negative/http1.pcap", "negative/tls.pcap"),
)
WORDS: Final = (
    *("sniff -o ndjson", "sniff -vv", "doctor -v", "stats --by api,client", "sniff -o ndjson --bodies", "groups"),
    *("sniff -v --errors", "topics -o json", "sniff -o hex -n 40", "clients", "trace --losses", "sniff -o yaml -n 20"),
    *("transactions -o json", "brokers", "sniff -o fields", "trace --duplicates -o json", "audit --target 4.0 -v"),
    *("sniff -o csv", "report -o md", "doctor -o json", "audit --security -v", "trace --misrouted", "sniff -o text -v"),
)
Packets = list[PacketCopy]


def flip_bytes(packets: Packets) -> Packets:
    """A byte of each ninth packet is another one."""
    draw = Random(1)
    out = []
    for number, each in enumerate(packets):
        data = bytearray(each.frame)
        if number % 9 == 5 and len(data) > 60:
            data[draw.randrange(54, len(data))] ^= 1 << draw.randrange(8)
        out.append(each._replace(frame=bytes(data)))
    return out


def swap_packets(packets: Packets) -> Packets:
    """Each third comes behind the next one."""
    out = packets[:]
    for at in range(2, len(out) - 1, 3):
        out[at], out[at + 1] = out[at + 1], out[at]
    return out


# What is done → how.
DAMAGES: Final[dict[str, Callable[[Packets], Packets]]] = {
    "whole": lambda packets: packets,
    "each 11th lost": lambda packets: [each for at, each in enumerate(packets) if at % 11 != 7],
    "cut at 96": lambda packets: [each._replace(frame=each.frame[:96]) for each in packets],
    "from the 30th": lambda packets: packets[30:],
    "bytes flipped": flip_bytes,
    "twice": lambda packets: [each for each in packets for _ in range(2)],
    "swapped": swap_packets,
    "one side": lambda packets: [each for each in packets if not each.key or each.key[:6] <= each.key[6:]],
    "cut at 300, one lost": lambda packets: [
        each._replace(frame=each.frame[:300]) for each in packets[:40] + packets[41:]
    ],
    "times back": lambda packets: [
        each._replace(time_ns=each.time_ns - 3 * 10**9 * (at % 50 == 49)) for at, each in enumerate(packets)
    ],
}


@cache
def packets_of(name: str) -> Packets:
    reader = CopyReader()
    found: list[object] = [*reader.feed(read_bytes(FOLDER / name)), *reader.finish()]
    packets = [each for each in found if isinstance(each, PacketCopy)]
    first = next((at for at, each in enumerate(packets) if each.held), 0)
    return packets[max(first - 3, 0) :][:PACKETS]


def write_capture(path: Path, packets: Packets) -> None:
    """A pcap of packets, with times in ns."""
    link = packets[0].source[0] if packets else 1
    head = pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, link)
    rows = (
        pack("<IIII", *divmod(each.time_ns, 10**9), len(each.frame), max(each.wire, len(each.frame))) + each.frame
        for each in packets
    )
    path.write_bytes(head + b"".join(rows))


def list_cases() -> Iterator[tuple[str, str, str]]:
    """Capture, damage and command of each row: all captures with all damages, three commands in turn."""
    words = cycle(WORDS)
    for name in CAPTURES:
        for damage in DAMAGES:
            for _ in range(3):
                yield name, damage, next(words)
        next(words)


def describe_answer(name: str, damage: str, words: str, folder: Path) -> str:
    write_capture(folder / "damaged.pcap", DAMAGES[damage](packets_of(name)))
    command, *more = words.split()
    with chdir(folder):
        done = kw(command, "damaged.pcap", *more, "--jobs", "1", env=world(variables={OUTPUT_VARIABLE: "text"}))
    out, err = (checksum_of(drop_duration(text)) for text in (done.out, done.err))
    return f"{done.out.count(chr(10))} lines, {done.code}, {out} {err}"


CASES: Final = [*list_cases()]
LISTED: Final = read_answers(FILE)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if at % 24 == 5 else [pytest.mark.long]) for at, case in enumerate(CASES)],
    ids=" · ".join,
)
def test_an_answer_about_a_damaged_capture_is_as_it_was(case: tuple[str, str, str], tmp_path: Path) -> None:
    said = "where it is meant: python -m tests.captures.test_damaged_answers"
    assert describe_answer(*case, tmp_path) == LISTED[" · ".join(case)], said


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as its_folder:
        write_answers(FILE, [(" · ".join(case), describe_answer(*case, Path(its_folder))) for case in CASES])
