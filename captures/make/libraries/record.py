"""Records client libraries of many releases: the traits of their requests, one JSON line a connection.

`python -m captures.make.libraries.record OUT.ndjson [WORD…]` records the clients with one of the words in their label
(all clients without words). Each client produces twenty records to a topic of its own and reads them in a group of its
own, with the library's default settings. A line has the label, the release of the broker and the traits
(`client_library_traits.py`); captures are not kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from captures.make.libraries.releases import FAMILIES, prepare
from decoders.exchanges.client_library_traits import Traits
from decoders.exchanges.exchange import Exchange
from decoders.read_exchanges_of_captures import read_exchanges
from tests.broker.clients.session import ClientFailed, run
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.recorder import Recorder

__all__ = ["Played", "main", "play_client"]

BROKERS: Final = ("3.9.1", "4.3.1")
# A client that has not ended by then has sent all its kinds of requests.
CLIENT_S: Final = 40


class Played(NamedTuple):
    """A client that was played: its begin and end in nanoseconds since 1970."""

    label: str
    begin_ns: int
    end_ns: int


def main(words: list[str]) -> None:
    """Record the clients and write their traits to a file."""
    out, wanted = Path(words[0]), [word for word in words[1:] if word not in BROKERS]
    brokers = [broker for broker in BROKERS if broker in words] or BROKERS
    labels = [label for label in _labels() if not wanted or any(word in label for word in wanted)]
    with out.open("w") as file:
        for broker in brokers:
            for row in _record(broker, labels):
                file.write(json.dumps(row) + "\n")


def _labels() -> Iterator[str]:
    for family, releases in FAMILIES.items():
        for release in releases:
            yield f"{family} {release}"


def _record(broker: str, labels: list[str]) -> Iterator[dict[str, object]]:
    played = []
    with tempfile.TemporaryDirectory(prefix="kw-libraries-") as scratch:
        raw = Path(scratch) / "raw.pcap"
        cluster = Cluster(Options(version=broker), folder=Path(scratch) / "cluster")
        with cluster:
            place = cluster.bootstrap()
            topics = {f"orders-{number}": 1 for number, _ in enumerate(labels)}
            run("librdkafka", place, [("create", {"topics": topics})])
            with Recorder(raw, [int(place.rpartition(":")[2])]):
                for number, label in enumerate(labels):
                    begin_ns = time.time_ns()
                    said = play_client(label, place, f"orders-{number}", f"billing-{number}")
                    played.append(Played(label, begin_ns, time.time_ns()))
                    sys.stderr.write(f"{broker}: {label}: {said}\n")
        with raw.open("rb") as file:
            yield from _traits(broker, played, list(read_exchanges(file)))


def play_client(label: str, place: str, topic: str, group: str) -> str:
    """Have a client (`java 3.9.1`) write twenty records and read them in a group; gives `done`, or what went wrong."""
    family, _, release = label.partition(" ")
    if family in ("java", "librdkafka"):
        program = f"java-{release}" if family == "java" else f"rdkafka-{release}"
        steps = [
            ("produce", {"topic": topic, "count": 20}),
            ("consume", {"topics": [topic], "group": group, "count": 20}),
        ]
        try:
            run(program, place, steps[: 1 if label == "java 0.8.2.2" else 2])
        except ClientFailed as error:
            return str(error)[-200:]
        return "done"
    command, environment = prepare(family, release)
    try:
        done = subprocess.run(
            [*command, place, topic, group], env={**os.environ, **environment}, capture_output=True, timeout=CLIENT_S
        )
    except subprocess.TimeoutExpired:
        return "stopped"
    return "done" if not done.returncode else done.stderr.decode()[-200:]


def _traits(broker: str, played: list[Played], exchanges: list[Exchange]) -> Iterator[dict[str, object]]:
    found: dict[int, tuple[str, Traits]] = {}
    software: set[int] = set()
    exchanges.sort(key=lambda each: each.time_ns)
    for exchange in exchanges:
        number = exchange.connection_info.number
        if number not in found:
            its = [each.label for each in played if each.begin_ns <= exchange.time_ns <= each.end_ns]
            found[number] = its[0] if its else "", Traits(opened=True)
        found[number][1].add_traits_of(exchange)
        if exchange.client_software is not None:
            software.add(number)
    for number, (label, traits) in found.items():
        if label:
            yield {"label": label, "broker": broker, "software": number in software, **_facts(traits)}


def _facts(traits: Traits) -> dict[str, object]:
    return {name: getattr(traits, name) for name in ("client_id", "versions", "offered", "values", "replica")}


if __name__ == "__main__":
    main(sys.argv[1:])
