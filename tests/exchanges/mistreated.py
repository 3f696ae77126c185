"""Captures of random conversations with faults: losses, repetitions, swapped packets, late starts, reused ports."""

from __future__ import annotations

from random import Random

from decoders.tcp.stream_chunks import Segment
from tests.exchanges.talks import SASL_HANDSHAKE, Talker, Turns, segments

MS = 10**6


def conversation(rng: Random, port: int) -> list[Segment]:
    """One connection with random faults."""
    talker = Talker(rng, count=rng.choice([3, 12, 60]), window=rng.choice([1, 4, 12]), values=30)
    if rng.random() < 0.1:
        talker.send(SASL_HANDSHAKE, 1, mechanism="PLAIN")
        talker.answer_all()
    turns: Turns = talker.talk.turns
    if rng.random() < 0.3:
        turns = pipelined(rng, turns)
    if rng.random() < 0.1:
        turns = [turn for turn in turns if rng.random() < 0.9]  # some turns never happened
    if rng.random() < 0.05:
        turns.insert(rng.randrange(len(turns) + 1), (rng.random() < 0.5, rng.randbytes(40)))
    found = segments(turns, rng, most=rng.choice([40, 400, 1448, 1448, 60000]), port=port)
    if rng.random() < 0.5:
        return found
    if rng.random() < 0.4:
        found = found[rng.randrange(len(found)) :]
    if rng.random() < 0.3:
        found = [segment for segment in found if not segment[5] & 5]
    loss = rng.choice([0, 0, 0.01, 0.1])
    twice, swap = rng.choice([0, 0.02]), rng.choice([0, 0, 0.02, 0.2])
    return shaken(rng, found, loss=loss, twice=twice, swap=swap)


def shaken(rng: Random, found: list[Segment], *, loss: float, twice: float, swap: float) -> list[Segment]:
    """Segments with these shares lost, repeated, and up to six places late."""
    places = [
        (number + (rng.random() * 6 if rng.random() < swap else 0), segment)
        for number, segment in enumerate(found)
        if rng.random() >= loss
    ]
    places += [(place + rng.random() * 8, segment) for place, segment in places if rng.random() < twice]
    return [segment for _, segment in sorted(places, key=lambda item: item[0])]


def pipelined(rng: Random, turns: Turns) -> Turns:
    """The turns with answers delayed at random, each side in its own order."""
    asked = [turn for turn in turns if turn[0]]
    answers = [turn for turn in turns if not turn[0]]
    out: Turns = []
    while asked or answers:
        source = (
            asked if asked and (not answers or rng.random() < len(asked) / (len(asked) + len(answers))) else answers
        )
        out.append(source.pop(0))
    return out


def capture(rng: Random, *, alone: bool) -> list[Segment]:
    """Some connections, some of them on the same ports one after the other; packets numbered, pauses between some."""
    lines = []
    for number in range(1 if alone else rng.choice([1, 3])):
        line: list[Segment] = []
        for _ in range(1 if alone else rng.choice([1, 1, 1, 2])):
            line += conversation(rng, 50000 + number)
        lines.append(line[::-1])
    out: list[Segment] = []
    time_ns = 10**9
    pause = rng.choice([MS, MS, 100 * MS])
    while any(lines):
        line = rng.choice([each for each in lines if each])
        for _ in range(rng.choice([1, 1, 5])):
            if line:
                key, _, _, seq, ack, flags, data, cut = line.pop()
                time_ns += rng.choice([1000, pause, pause]) if rng.random() < 0.97 else rng.choice([MS, 4000 * MS])
                out.append((key, time_ns, len(out) + 1, seq, ack, flags, data, cut))
    return out
