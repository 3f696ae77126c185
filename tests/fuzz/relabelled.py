"""Captures with frames relabelled, cut, mispaired, out of step, and with forbidden nulls, through `kw scrub`.

Names are random letters, so that no word of the protocol is a part of one. The result keeps no four letters of a name
at their place, no whole name anywhere, and no exchange is decoded in it that was not decoded before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from struct import pack, pack_into
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from decoders.apis import KEYS, api
from decoders.protocol_facts.api_keys import ENVELOPE, SASL_HANDSHAKE
from decoders.schema.api_declaration import Plan, PlanField
from decoders.schema.plan_walker import encode_by_walking
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from kwcli.run_environment import Exit
from tests.capture.pcap_writer import PcapWriter
from tests.cli.worlds import kw
from tests.exchanges.talks import framed, plan, request, request_of_body, response, response_of_body
from tests.records.making import batch, record
from tests.schema.values import allow_null, forbidden_places
from tests.tls.wrapping import segments_of

EXCHANGES: Final = 40
_SPELLED: Final = re.compile(rb"[a-z]{4,}")
_LETTERS: Final = "abcdefghijklmnopqrstuvwyz"  # not the letter that kw overwrites with
_LARGEST: Final = 7
_WHOLE: Final = 8
_LOSS: Final = 0.01
_IN_STEP: Final = 0.6
_NULLED: Final = 1 / 8
_OTHER_VERSION: Final = 0.1
# An API and version, and a side of it.
Version = tuple[int, int]


class Capture(NamedTuple):
    """A capture, the names in it, and whether a frame begins where it must.

    `harmed` is the number of frames that were harmed, `forbidden` that of bodies with a null that the protocol forbids.
    """

    data: bytes
    names: frozenset[bytes]
    harmed: int
    in_step: bool
    forbidden: int


class Namer:
    """Makes names of random letters, and values of messages with such names in all texts and bytes.

    `in_step`: whether all frames have the size that they say. `forbidden`: how many values were null where the
    protocol forbids it.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.forbidden = 0
        self.in_step = rng.random() < _IN_STEP
        self.names: set[bytes] = set()

    def name(self) -> bytes:
        """A new name."""
        made = "".join(self.rng.choices(_LETTERS, k=self.rng.choice([4, 6, 7, 8, 12, 15, 16, 17, 30]))).encode()
        self.names.add(made)
        return made

    def encoded(self, layout: Plan, value: dict[str, Any]) -> bytes:
        """The bytes of a value, in which one of eight has a null where the protocol forbids it."""
        places = list(forbidden_places(layout, value)) if self.rng.random() < _NULLED else []
        if places:
            struct, name, _ = self.rng.choice(places)
            struct[name] = None
            self.forbidden += 1
        return encode_by_walking(allow_null(layout), value)

    def value(self, layout: Plan) -> dict[str, Any]:
        """A value of a message."""
        tagged = [field for field in layout.tagged if self.rng.random() < 0.3]
        value = {field.name: self.field(field) for field in (*layout.fields, *tagged)}
        if layout.flexible and self.rng.random() < 0.1:
            value["_tagged_fields"] = {self.rng.choice([50, 99]): self.name()}
        return value

    def field(self, field: PlanField) -> Any:
        """A value of a field."""
        if field.nullable and self.rng.random() < 0.1:
            return None
        if field.array:
            return [self.element(field) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        return self.element(field)

    def element(self, field: PlanField) -> Any:
        """A value of a field, or of an element of one."""
        if field.plan is not None:
            return self.value(field.plan)
        if field.kind == "string":
            return self.name().decode()
        if field.kind == "bytes":
            return self.name()
        if field.kind == "records":
            return batch(record(key=self.name(), value=self.name(), headers=((self.name(), self.name()),)))
        if field.kind == "uuid":
            return self.rng.randbytes(16)
        return {"bool": True, "float64": 1.5}.get(field.kind, self.rng.randrange(_LARGEST))


def versions() -> Iterator[Version]:
    """Every API version, without the login that raw tokens follow: all frames after it would be tokens."""
    for key in KEYS:
        for version in range(api(key).versions.low, api(key).versions.high + 1):
            if (key, version) != (SASL_HANDSHAKE, 0):
                yield key, version


EVERY: Final = (*versions(), *[(ENVELOPE, 0)] * 10)


def relabelled(rng: Random, frame: bytes) -> bytes:
    """A request with another API or version."""
    out = bytearray(frame)
    key, version = rng.choice(EVERY)
    if rng.random() < 0.7:
        key = int.from_bytes(frame[4:6], "big")
        low, high = api(key).versions.low, api(key).versions.high
        version = rng.randint(low, high)
    pack_into(">hh", out, 4, key, version)
    return bytes(out)


def least(frame: bytes, namer: Namer, *, asks: bool) -> int:
    """The offset of a frame from which on it may be cut: in step, behind the client id."""
    if not namer.in_step:
        return min(4, len(frame) - 1)
    return min(14 + max(int.from_bytes(frame[12:14], "big", signed=True), 0) if asks else 8, len(frame) - 1)


def shortened(rng: Random, frame: bytes, namer: Namer, *, asks: bool) -> bytes:
    """A frame that is cut; its size is mostly that of the bytes that are left."""
    cut = frame[: rng.randrange(least(frame, namer, asks=asks), len(frame))]
    return framed(cut[4:]) if namer.in_step or rng.random() < 0.9 else cut


def lengthened(rng: Random, frame: bytes, namer: Namer, *, asks: bool) -> bytes:
    """A frame with a name behind it, or somewhere in it."""
    at = rng.choice([len(frame), rng.randrange(least(frame, namer, asks=asks), len(frame) + 1)])
    return framed(frame[4:at] + namer.name() + frame[at:])


def harmed(rng: Random, frame: bytes, namer: Namer, *, asks: bool) -> bytes:
    """A frame that is no longer what it was."""
    kind = rng.random()
    if kind < 0.5 and asks:
        return relabelled(rng, frame)
    if kind < 0.7:
        return shortened(rng, frame, namer, asks=asks)
    if kind < 0.8:
        return lengthened(rng, frame, namer, asks=asks)
    if kind < 0.85 and not namer.in_step:  # no frame at all
        return namer.name() + namer.name()
    if kind < 0.9 and len(frame) > 14 and not namer.in_step:  # a head that does not decode
        return framed(frame[4:12] + pack(">h", rng.choice([-7, 1000, 0x6162])) + frame[14:])
    return frame


def exchanges(rng: Random, namer: Namer, client: str, count: int) -> tuple[list[tuple[int, bytes]], int]:
    """The frames of a connection with the side of each, and how many are harmed."""
    turns: list[tuple[int, bytes]] = []
    harms = 0
    for number in range(1, count + 1):
        key, version = rng.choice(EVERY)
        asked = namer.value(plan(key, version, "request"))
        other = rng.choice(EVERY) if rng.random() < 0.2 else (key, version)
        if rng.random() < _OTHER_VERSION:  # which exactly one layout may read to its last byte
            other = (key, rng.choice(list(api(key).versions)))
        answer = namer.value(plan(*other, "response"))
        if key == ENVELOPE:
            inner = rng.choice(EVERY)
            frame = request(*inner, number, client, namer.value(plan(*inner, "request")))
            asked["request_data"] = (relabelled(rng, frame) if rng.random() < 0.5 else frame)[4:]
            if other[0] == ENVELOPE:
                answer["response_data"] = response(*inner, number, namer.value(plan(*inner, "response")))[4:]
        sent = request_of_body(key, version, number, client, namer.encoded(plan(key, version, "request"), asked))
        late = rng.random() < 0.03
        got = response_of_body(*other, number + late, namer.encoded(plan(*other, "response"), answer))
        pair = []
        for side, frame in ((CLIENT, sent), (SERVER, got)):
            bad = number > 1 and rng.random() < 0.5
            made = harmed(rng, frame, namer, asks=side == CLIENT) if bad else frame
            harms += made != frame
            pair.append((side, made))
        harms += other != (key, version)
        turns += pair
    return turns, harms


def capture(rng: Random, count: int = EXCHANGES) -> Capture:
    """A capture of some connections to a broker that a good exchange makes known."""
    namer, pcap = Namer(rng), PcapWriter(LINK_RAW)
    packets: list[bytes] = []
    harms = 0
    for port in range(4):
        client = namer.name().decode()
        ends = SyntheticTcp(f"10.9.8.7:{40000 + port}", "10.1.2.3:9092", time_ns=10**18)
        packets += ends.opening_packets()
        turns, more = exchanges(rng, namer, client, count // 4)
        harms += more
        for side, frame in turns:
            at = rng.randrange(1, len(frame)) if rng.random() < 0.2 else len(frame)
            for piece in filter(None, (frame[:at], frame[at:])):
                lost = not namer.in_step and rng.random() < _LOSS
                into = [] if lost else packets
                into += [packet for packet, _ in ends.data_packets(side, piece)]
        packets += ends.closing_packets(reset=False)
    data = pcap.make_file_header() + b"".join(
        pcap.make_packet_block(10**18 + at * 1000, each) for at, each in enumerate(packets)
    )
    return Capture(data, frozenset(namer.names), harms, namer.in_step, namer.forbidden)


def kept(before: Path, after: Path, names: frozenset[bytes]) -> set[tuple[int, bytes]]:
    """The runs of four letters of names, and their packets, that are at their place in both captures."""
    parts = {name[at : at + 4] for name in names for at in range(len(name) - 3)}
    found = set()
    for old, new in zip(segments_of(before), segments_of(after), strict=True):
        data, made = bytes(old[6]), bytes(new[6])
        assert len(data) == len(made)
        same = bytes(one if one == other else 0 for one, other in zip(data, made, strict=True))
        for run in _SPELLED.findall(same):
            if any(run[at : at + 4] in parts for at in range(len(run) - 3)):
                found.add((old[2], run))
    return found


def statuses(path: Path) -> Mapping[str, str]:
    """The status of each exchange, by its packets; without those in Envelopes, which may be overwritten."""
    lines = kw("sniff", str(path), "-o", "ndjson", "-q").out.splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == "exchange" and "envelope" not in row]
    return {json.dumps(row["packets"]): row["status"] for row in rows}


def check_scrubbed(made: Capture, folder: Path) -> None:
    """Assert that a scrubbed capture keeps nothing of the names, and decodes no better than before."""
    source, out = folder / "in.pcap", folder / "out.pcapng"
    source.write_bytes(made.data)
    left: set[tuple[int, bytes]] | None = None
    for _ in range(2):  # letters that another salt changes are those of a pseudonym, by chance
        outcome = kw("scrub", str(source), str(out), "--debug")
        if not made.in_step and "exchanges have changed" in outcome.err:  # other bytes were taken for a frame
            assert not out.exists()
            return
        assert outcome.code == Exit.DONE, outcome.err
        found = kept(source, out, made.names)
        left = found if left is None else left & found
        if not left:
            break
    assert not left, left
    data = out.read_bytes()
    assert not [name for name in made.names if len(name) >= _WHOLE and name in data]
    before, after = statuses(source), statuses(out)
    assert before.keys() == after.keys()
    better = {key for key, status in before.items() if status == "undecoded" and after[key] != "undecoded"}
    assert not better, better


def try_capture(rng: Random) -> int:
    """Scrub one capture; the number of its harmed frames."""
    made = capture(rng)
    with TemporaryDirectory() as folder:
        check_scrubbed(made, Path(folder))
    return made.harmed
