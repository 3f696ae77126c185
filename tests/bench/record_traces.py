"""`python -m tests.bench.record_traces`: the answers about records, on a capture of a million exchanges.

The capture is made for it: producers with idempotence and without, whose batches go to the partitions of three topics,
and two groups whose members read all of them and commit. The records of each other producer have headers, which members
of one group hand on to what they write; the values of each other are JSON. So every answer has what it is about for
each exchange. Prints the CPU seconds of each command against those of `kw sniff -o text`, and its memory, beside the
bounds. Exit code 1 when a bound is not held.

Each run of a command comes right behind one of `kw sniff`, so that both have the same neighbours; of several runs those
with the least seconds count. The seconds of a capture of a thousand exchanges, which are those of the start, are taken
off both: a capture of 100,000 exchanges has the ratios of a million. What finds records has to show them as well, up to
10,000: "shown" marks questions that many records meet, whose seconds are for the answer and not bounded.
"""

from __future__ import annotations

import argparse
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from google_crc32c import value as crc32c

import decoders
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.bench.process import Cost, run
from tests.bench.traffic import Exchange, Pcap, Side, connection

KW: Final = [sys.executable, "-m", "kwcli.main"]
RATIO: Final = 2.0
PEAK_MB: Final = 300
FEW: Final = 1000
ASKED: Final[tuple[tuple[str, ...], ...]] = (
    ("trace", "{file}", "orders/2@1000"),
    ("trace", "{file}", "orders/2@1000", "--downstream"),
    ("trace", "{file}", "key=one-customer"),
    ("trace", "{file}", "header.order-id=000000000000ff01"),
    ("trace", "{file}", "header.traceparent=4bf92f35"),
    ("trace", "{file}", "value.order==3"),
    ("trace", "{file}", "value.amount>1000"),
    ("trace", "{file}", "pid=4711/7"),
    ("trace", "{file}", "--duplicates"),
    ("trace", "{file}", "--losses"),
    ("trace", "{file}", "--misrouted"),
    ("trace", "{file}", "--misrouted", "--values"),
    ("transactions", "{file}"),
    ("groups", "{file}"),
    ("stats", "{file}", "--metric", "age", "--by", "topic,group"),
    ("stats", "{file}", "--metric", "commit-age", "--by", "topic,group"),
)
# Questions that many records meet.
SHOWN: Final[tuple[tuple[str, ...], ...]] = (("trace", "{file}", "pid=4711"), ("trace", "{file}", "key=key-1"))
TOPICS: Final = ("orders", "payments", "clicks")
PARTITIONS: Final = 12
GROUPS: Final = ("billing", "shipping")
MEMBERS: Final = 4
PRODUCERS: Final = 20
RECORDS_MOST: Final = 5
# Where a batch has what differs between those of a producer.
_BASE_OFFSET: Final = slice(0, 8)
_CRC: Final = slice(17, 21)
_CHECKED: Final = slice(21, None)
_FIRST_TIME: Final = slice(27, 35)
_NEWEST_TIME: Final = slice(35, 43)
_SEQUENCE: Final = slice(53, 57)
# What headers have until the number of a record is written into them: for an order, then for a trace.
_ORDER: Final = b"0123456789abcdef"
_TRACE: Final = b"00-4bf92f3577b34da6" + _ORDER + b"-00f067aa0ba902b7-01"
_NUMBERED: Final = re.compile(
    rb"order-id.(?P<order>[0-9a-f]{16}).traceparent.00-4bf92f3577b34da6(?P<trace>[0-9a-f]{16})", re.DOTALL
)
# The topic of members that hand headers on.
MADE: Final = "invoices"
Partition = tuple[str, int]


class Traffic:
    """Exchanges of producers and of the members of groups, in the order of time, into a capture."""

    def __init__(self, path: Path) -> None:
        self._pcap = Pcap(path)
        self._rng = random.Random(61)
        self._sides: dict[int, tuple[Side, Side]] = {}
        self._logs: defaultdict[Partition, list[tuple[int, int, bytes]]] = defaultdict(list)  # offset, end, batch
        self._ends: defaultdict[Partition, int] = defaultdict(int)
        self._sequences: defaultdict[tuple[int, Partition], int] = defaultdict(int)
        self._batches = [self._make_batches(number) for number in range(PRODUCERS)]
        self._places = [(topic, number) for topic in TOPICS for number in range(PARTITIONS)]
        self._positions: dict[tuple[str, Partition], int] = {}
        self.count = 0

    def _make_batches(self, number: int) -> list[bytearray]:
        """A batch of each number of records, of one producer; those with even numbers have a producer id."""
        identity = (4711 + number, 0, 0) if number % 2 == 0 else (-1, -1, -1)
        headers = (("order-id", _ORDER), ("traceparent", _TRACE)) if number % 4 < 2 else ()
        header = Batch(producer_id=identity[0], producer_epoch=identity[1], base_sequence=identity[2])
        made = []
        for count in range(1, RECORDS_MOST + 1):
            text = b"%x" % self._rng.getrandbits(400)
            if number % 4 in (1, 2):
                text = b'   {"order":%d,"customer":"customer-%d","amount":%d.5}' % (number + 7, number, number)
            records = [Record(at, 0, b"key-%d" % at, text[at:].lstrip(), headers) for at in range(count)]
            made.append(bytearray(encode_batch(records, header)))
        return made

    def _write(self, number: int, exchange: Exchange) -> None:
        if number not in self._sides:
            self._sides[number] = connection(self._pcap, number)
        client, broker = self._sides[number]
        correlation = self.count.to_bytes(4, "big")
        request, response = exchange
        self._pcap.message(client, broker, request[:4] + correlation + request[8:])
        self._pcap.message(broker, client, correlation + response[4:])
        self.count += 1

    def _make_exchange(self, key: int, version: int, client: str, request: Any, response: Any) -> Exchange:
        return (
            decoders.encode_request(key, version, request, client_id=client),
            decoders.encode_response(key, version, response),
        )

    def produce(self) -> None:
        """Send a batch of a producer to some partition."""
        number, where = self._rng.randrange(PRODUCERS), self._rng.choice(self._places)
        count = self._rng.randrange(1, RECORDS_MOST + 1)
        orders = [b"%016x" % (self.count * RECORDS_MOST + at) for at in range(count)]
        self._send(number, f"producer-{number}", self._batches[number][count - 1], where, orders)

    def hand_on(self, number: int, client: str, batch: bytes) -> None:
        """Let a member write a batch with the headers of one that it has read."""
        orders = [batch[at : at + len(_ORDER)] for at in self._places_of_orders(batch)[::2]]
        if orders:
            where = MADE, self._rng.randrange(PARTITIONS)
            self._send(number, f"{client}-out", self._batches[1][len(orders) - 1], where, orders)

    @staticmethod
    def _places_of_orders(batch: bytes | bytearray) -> list[int]:
        """Where the headers of records have the number of an order: the first of each two in its own header."""
        return [found.start(kind) for found in _NUMBERED.finditer(batch) for kind in ("order", "trace")]

    def _send(self, number: int, client: str, batch: bytearray, where: Partition, orders: list[bytes]) -> None:
        """Send a batch of as many records as there are numbers of orders."""
        offset, count = self._ends[where], len(orders)
        for at, place in enumerate(self._places_of_orders(batch)):
            batch[place : place + len(_ORDER)] = orders[at // 2]
        now_ms = struct.pack(">q", self._pcap.now_us // 1000)
        batch[_FIRST_TIME] = batch[_NEWEST_TIME] = now_ms
        if number < PRODUCERS and number % 2 == 0:
            batch[_SEQUENCE] = struct.pack(">i", self._sequences[number, where])
            self._sequences[number, where] += count
        batch[_CRC] = struct.pack(">I", crc32c(bytes(batch[_CHECKED])))
        part = {"index": where[1], "records": bytes(batch)}
        done = {"index": where[1], "base_offset": offset, "log_append_time_ms": -1, "log_start_offset": 0}
        request = {"acks": -1, "timeout_ms": 30000, "topic_data": [{"name": where[0], "partition_data": [part]}]}
        answer = {"responses": [{"name": where[0], "partition_responses": [done]}]}
        self._write(number, self._make_exchange(0, 7, client, request, answer))
        stored = bytearray(batch)
        stored[_BASE_OFFSET] = struct.pack(">q", offset)
        self._ends[where] += count
        self._logs[where].append((offset, offset + count, bytes(stored)))
        del self._logs[where][:-200]

    def _choose_member(self) -> tuple[str, int, int, list[Partition]]:
        """A member of a group: its group, its number in it, its connection, and its partitions."""
        group, member = self._rng.randrange(len(GROUPS)), self._rng.randrange(MEMBERS)
        return GROUPS[group], member, PRODUCERS + group * MEMBERS + member, self._places[member::MEMBERS]

    def fetch(self) -> None:
        """Let a member read what is new in some of its partitions."""
        group, member, number, places = self._choose_member()
        asked, got, read = defaultdict(list), defaultdict(list), list[bytes]()
        for where in self._rng.sample(places, 3):
            position = self._positions.get((group, where), 0)
            new = [(end, batch) for first, end, batch in self._logs[where] if first >= position]
            part = {"partition": where[1], "fetch_offset": position, "log_start_offset": -1}
            asked[where[0]].append({**part, "partition_max_bytes": 1 << 20})
            ends = {"high_watermark": self._ends[where], "last_stable_offset": self._ends[where]}
            got[where[0]].append(
                {"partition_index": where[1], "log_start_offset": 0, "aborted_transactions": None}
                | {**ends, "records": b"".join(batch for _, batch in new)}
            )
            self._positions[group, where] = new[-1][0] if new else position
            if group == GROUPS[0] and (where == ("orders", 2) or self._rng.random() < 0.1):
                read += [batch for _, batch in new]
        topics = [{"topic": topic, "partitions": parts} for topic, parts in asked.items()]
        request = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 50 << 20, "topics": topics}
        answer = {"responses": [{"topic": topic, "partitions": parts} for topic, parts in got.items()]}
        self._write(number, self._make_exchange(1, 10, f"{group}-{member}", request, answer))
        for batch in read:
            self.hand_on(number, f"{group}-{member}", batch)

    def commit(self) -> None:
        """Let a member commit where it is in some of its partitions."""
        group, member, number, places = self._choose_member()
        chosen = defaultdict(list)
        for where in self._rng.sample(places, 3):
            part = {"partition_index": where[1], "committed_offset": self._positions.get((group, where), 0)}
            chosen[where[0]].append(part)
        request = {"group_id": group, "generation_id_or_member_epoch": 1, "member_id": f"{group}-{member}-0b5c"}
        topics = [{"name": topic, "partitions": parts} for topic, parts in chosen.items()]
        done = [
            {"name": topic, "partitions": [{"partition_index": part["partition_index"]} for part in parts]}
            for topic, parts in chosen.items()
        ]
        exchange = self._make_exchange(8, 7, f"{group}-{member}", {**request, "topics": topics}, {"topics": done})
        self._write(number, exchange)

    def beat(self) -> None:
        """Let a member send a heartbeat."""
        group, member, number, _ = self._choose_member()
        request = {"group_id": group, "generation_id": 1, "member_id": f"{group}-{member}-0b5c"}
        self._write(number, self._make_exchange(12, 3, f"{group}-{member}", request, {}))

    def write_all(self, exchanges: int) -> None:
        """Write so many exchanges."""
        kinds = (self.produce, self.fetch, self.commit, self.beat)
        while self.count < exchanges:
            for kind in self._rng.choices(kinds, (0.5, 0.3, 0.1, 0.1), k=1000):
                kind()
        self._pcap.close()


def run_in_turn(words: Sequence[str], path: Path, runs: int) -> tuple[Cost, Cost]:
    """The least costs of `kw sniff` and of a command on a capture, run one behind the other."""
    command = [*KW, *(word.format(file=path) for word in words), "-o", "text", "--jobs", "1"]
    pairs = [(run([*KW, "sniff", "-o", "text", "--jobs", "1", str(path)]), run(command)) for _ in range(runs)]
    return min((each for each, _ in pairs), key=_cpu_of), min((each for _, each in pairs), key=_cpu_of)


def _cpu_of(cost: Cost) -> float:
    return cost.cpu_s


def measure(path: Path, few: Path, runs: int, words_in_name: str) -> bool:
    """Print the cost of each command; gives whether all bounds were held."""
    well = True
    for words in ASKED + SHOWN:
        name = f"kw {' '.join(word for word in words if word != '{file}')}"
        if words_in_name not in name:
            continue
        sniff_start, start = run_in_turn(words, few, 3)
        sniff, cost = run_in_turn(words, path, runs)
        ratio = (cost.cpu_s - start.cpu_s) / (sniff.cpu_s - sniff_start.cpu_s)
        ends = cost.exit_code in (0, 1)  # 1: nothing was found
        held = ends and (ratio <= RATIO or words in SHOWN) and cost.peak_mb <= PEAK_MB
        well &= held
        bound = "shown" if words in SHOWN else f"most {RATIO:g}x"
        said = f"{cost.cpu_s:7.2f} s CPU, sniff {sniff.cpu_s:6.2f} s: {ratio:.2f}x ({bound}), {cost.peak_mb:4.0f} MB"
        state = "" if ends else f"   exit {cost.exit_code}"
        print(f"  {name:48} {said} (most {PEAK_MB} MB){'' if held else '   NOT HELD'}{state}", flush=True)
    return well


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exchanges", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", default="", metavar="WORDS", help="commands with these words in them")
    parser.add_argument("--write", type=Path, metavar="FILE", help="only write the capture")
    options = parser.parse_args()
    if options.write:
        Traffic(options.write).write_all(options.exchanges)
        return 0
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        path, few = Path(folder) / "records.pcap", Path(folder) / "few.pcap"
        # Another process: the process that measures must stay small, see process.py.
        for file, count in ((path, options.exchanges), (few, FEW)):
            made = [sys.executable, "-m", "tests.bench.record_traces", "--exchanges", str(count)]
            subprocess.run([*made, "--write", str(file)], check=True)
        print(f"{options.exchanges:,} exchanges, {path.stat().st_size / 1e6:,.0f} MB")
        return 0 if measure(path, few, options.runs, options.only) else 1


if __name__ == "__main__":
    sys.exit(main())
