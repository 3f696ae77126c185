"""Messages: kw against kafka-python and kio, decoding and encoding, per message and in the mean.

    python -m tests.bench.codec [--api NAME]... [--rows] [--seconds-per-cell 0.01]

Each message is measured in two sizes: with one element in each array, and with ten, five, two by depth. All sides run
in turn in the same process, and the best CPU time of each counts. Ratios above 1 mean that kw is faster. A message
below its minimum is measured again, all sides longer, since a busy machine may slow one side of a short measurement.
Batches of records are measured by `python -m tests.bench.records`.
"""

from __future__ import annotations

import argparse
import math
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from decoders.apis import KEYS, api
from decoders.schema.api_declaration import Plan, PlanField, Side, resolve
from decoders.schema.lazy_decoder import get_decoder, get_encoder, get_json_decoder, get_projector
from decoders.schema.plan_walker import encode_by_walking
from tests.bench.peers import kafka_python, kio

SIZES = {"one": (1, 1, 1), "many": (10, 5, 2)}
# Calls before measuring, at most: all sides generate code at first.
WARM = 1000
# Each cell is measured this many times, in turn with the others of its row.
TURNS = 12
# A message below its minimum is measured again this many times at most, each time this many times as long.
REPEATS = 3
REPEAT_FACTOR = 10
TEXT = "orders-eu-central.0123456789"
SIDES: tuple[Side, Side] = ("request", "response")


def typical(plan: Plan, counts: tuple[int, ...], depth: int = 0, index: int = 0) -> dict[str, Any]:
    """A value as real traffic has it: texts of some six to twenty bytes, small numbers, no error, nothing tagged.

    Elements of an array differ in the sizes of their texts and records.
    """
    return {field.name: _field(field, counts, depth, number + 3 * index) for number, field in enumerate(plan.fields)}


def _field(field: PlanField, counts: tuple[int, ...], depth: int, number: int) -> Any:
    if field.array:
        inner = field.plan
        if inner is not None:
            return [typical(inner, counts, depth + 1, each) for each in range(counts[min(depth, 2)])]
        return [_leaf(field._replace(nullable=False), each) for each in range(3)]
    if field.plan is not None:
        return typical(field.plan, counts, depth + 1)
    return _leaf(field, number)


def _leaf(field: PlanField, number: int) -> Any:
    if field.kind == "string":
        return None if field.nullable and number % 2 else TEXT[: 6 + number * 5 % 14]
    if field.kind in {"bytes", "records"}:
        return bytes(900 + 37 * number) if field.kind == "records" else bytes(40 + number)
    if field.kind == "uuid":
        return bytes(16)
    if field.kind == "bool":
        return False
    return 1.5 if field.kind == "float64" else 0 if field.name.endswith("error_code") else 100 + number % 20


class Sample(NamedTuple):
    """One message in one size."""

    key: int
    version: int
    side: Side
    size: str

    @property
    def name(self) -> str:
        """Its name in the rows that are printed."""
        return f"{api(self.key).name} v{self.version} {self.side} ({self.size})"


class Row(NamedTuple):
    """Best times of one message in µs; None if a peer does not have the message."""

    sample: Sample
    decode: float
    encode: float
    json: float
    projection: float
    kafka_decode: float | None
    kafka_encode: float | None
    kio_decode: float | None
    kio_encode: float | None


class Goal(NamedTuple):
    """A comparison of two columns of a row: minimum and aim of the mean, minimum and aim of the worst message."""

    title: str
    ours: str
    theirs: str
    least: float | None = None
    aim: float | None = None
    worst_least: float | None = None
    worst_aim: float | None = None

    def ratio(self, row: Row) -> float | None:
        """How many times faster kw is; None if the peer does not have the message."""
        theirs = getattr(row, self.theirs)
        return None if theirs is None else float(theirs / getattr(row, self.ours))

    def is_missed(self, row: Row) -> bool:
        """Whether the message is below the minimum of the worst."""
        ratio = self.ratio(row)
        return ratio is not None and self.worst_least is not None and ratio < self.worst_least


GOALS = [
    Goal("decode against kafka-python", "decode", "kafka_decode", 1.5, 3.0, 1.1, 1.5),
    Goal("decode against kio (native)", "decode", "kio_decode", 0.5, 1.0),
    Goal("encode against kio", "encode", "kio_encode", 6.0, 10.0, 3.0, 5.0),
    Goal("encode against kafka-python", "encode", "kafka_encode"),
]


def best(calls: list[Callable[[], Any] | None], seconds: float) -> list[float | None]:
    """The best CPU time of each call in µs, all measured in turn."""
    timers = [None if call is None else timeit.Timer(call, timer=time.process_time) for call in calls]
    times: list[float | None] = [None] * len(calls)
    for turn in range(TURNS):
        for number, timer in enumerate(timers):
            if timer is None:
                continue
            if turn == 0:
                timer.timeit(min(WARM, 2 + int(0.03 / timer.timeit(2) * 2)))
            count = max(1, int(seconds / TURNS / max(timer.timeit(3) / 3, 1e-7)))
            spent = timer.timeit(count) / count * 1e6
            known = times[number]
            times[number] = spent if known is None else min(known, spent)
    return times


def measure(sample: Sample, seconds: float) -> Row | None:
    """Measure one message in one size; None if no peer has the message."""
    key, version, side, size = sample
    declared = api(key)
    plan = resolve(declared.request if side == "request" else declared.response, version)
    data = encode_by_walking(plan, typical(plan, SIZES[size]))
    theirs = kafka_python(key, version, side, data)
    native = kio(key, version, side, data)
    if theirs is None and native is None:
        return None
    end = len(data)
    decode, encode = get_decoder(plan, raw_uuids=True), get_encoder(plan)
    value = decode(data, 0, end)[0]
    assert encode(value) == data
    to_json = get_json_decoder(plan)
    project = get_projector(plan, frozenset(), True)
    times = best(
        [
            lambda: decode(data, 0, end),
            lambda: encode(value),
            lambda: to_json(data, 0, end, {}),
            lambda: project(data, 0, end),
            theirs and theirs.decode,
            theirs and theirs.encode,
            native and native.decode,
            native and native.encode,
        ],
        seconds,
    )
    return Row(sample, *times)  # type: ignore[arg-type]  # ours are never None


def repeated(row: Row, seconds: float) -> Row:
    """The row with the best times of further measurements, taken as long as it is below its minimum."""
    for _ in range(REPEATS):
        if not any(goal.is_missed(row) for goal in GOALS):
            break
        again = measure(row.sample, seconds)
        assert again is not None
        times = zip(row[1:], again[1:], strict=True)
        row = Row(row.sample, *(old and min(old, new) for old, new in times))  # type: ignore[arg-type, type-var]
    return row


def measured(names: list[str], seconds: float) -> Iterator[Row]:
    """A row for each message that a peer has as well."""
    for key in [api(name).key for name in names] or KEYS:
        for version in range(api(key).versions.low, api(key).versions.high + 1):
            for side in SIDES:
                for size in SIZES:
                    row = measure(Sample(key, version, side, size), seconds)
                    if row is not None:
                        yield repeated(row, seconds * REPEAT_FACTOR)


class Ratio(NamedTuple):
    """A row's name and how many times faster kw is."""

    name: str
    ratio: float


def ratios(rows: list[Row], goal: Goal) -> list[Ratio]:
    """The ratio of every row that has both, worst first."""
    found = [Ratio(row.sample.name, ratio) for row in rows if (ratio := goal.ratio(row)) is not None]
    return sorted(found, key=lambda each: each.ratio)


def mean(found: list[Ratio]) -> float:
    """The geometric mean of ratios."""
    return math.exp(sum(math.log(each.ratio) for each in found) / len(found))


def report(rows: list[Row]) -> None:
    """Print the means and the worst messages beside their minimum and aim."""
    print(f"\n{'':30} {'messages':>8} {'mean':>7} {'minimum':>8} {'aim':>6}   {'worst':>6} {'minimum':>8} {'aim':>6}")
    for goal in GOALS:
        found = ratios(rows, goal)
        if not found:
            continue
        of_mean = f"{_times(goal.least):>8} {_times(goal.aim):>6}"
        of_worst = f"{_times(goal.worst_least):>8} {_times(goal.worst_aim):>6}"
        figures = f"{len(found):8} {mean(found):6.2f}x {of_mean}   {found[0].ratio:5.2f}x {of_worst}"
        reached = mean(found) >= (goal.least or 0) and found[0].ratio >= (goal.worst_least or 0)
        print(f"{goal.title:30} {figures}{'' if reached else '   BELOW THE MINIMUM'}")
        for each in found[:3]:
            print(f"    {each.ratio:5.2f}x {each.name}")


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:g}x"


HEADS = ("decode", "kafka-py", "kio", "encode", "kafka-py", "kio", "json", "errors")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--api", action="append", default=[], help="only this API (repeatable)")
    options.add_argument("--rows", action="store_true", help="print every message")
    options.add_argument("--seconds-per-cell", type=float, default=0.012)
    chosen = options.parse_args()
    rows = []
    if chosen.rows:
        print(f"{'µs':58}" + "".join(f" {head:>8}" for head in HEADS))
    for row in measured(chosen.api, chosen.seconds_per_cell):
        rows.append(row)
        if chosen.rows:
            ours = (row.decode, row.kafka_decode, row.kio_decode)
            cells = (*ours, row.encode, row.kafka_encode, row.kio_encode, row.json, row.projection)
            texts = [f" {'-' if cell is None else f'{cell:.2f}':>8}" for cell in cells]
            print(f"{row.sample.name:58}" + "".join(texts), flush=True)
    report(rows)


if __name__ == "__main__":
    main()
