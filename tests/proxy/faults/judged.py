"""A client, a play and a topic in; the client's results and the topic's records afterwards out.

Topics are read from the broker itself, not through the proxy.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition, admin

from kwcli.playground.free_ports import find_free_ports
from kwcli.proxy.deciding.control.control_client import send_control_request
from tests.broker.clients.session import ClientFailed, LongSession, Results, Step
from tests.broker.clients.steps import values
from tests.broker.cluster import Cluster
from tests.proxy.hidden import ProxyProcess, port_base

WAIT_S: Final = 60.0
_LINE: Final = re.compile(r"^kw: fault (\d+) \((.*)\): hit ([\d,]+) of ", re.MULTILINE)


def make_topics(cluster: Cluster, names: Sequence[str]) -> None:
    """Make topics of one partition each."""
    if not names:
        return
    client: Any = admin.AdminClient({"bootstrap.servers": cluster.bootstrap()})
    new: Any = getattr(admin, "NewTopic")  # noqa: B009  # the stubs of this module lack it
    for future in client.create_topics([new(name, 1, 1) for name in names]).values():
        future.result(WAIT_S)


def fill(cluster: Cluster, topic: str, count: int) -> None:
    """Write orders 0 to `count` - 1, a few a batch."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "batch.num.messages": 5})
    for key, value in values(count, 0):
        producer.produce(topic, value, key)
    assert producer.flush(WAIT_S) == 0


def read(cluster: Cluster, topic: str) -> list[int]:
    """The numbers of the orders that are committed in the topic."""
    settings = {"group.id": "judge", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), **settings})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            break
        if error is not None:
            continue  # the broker does not know the new topic yet
        found.append(json.loads(message.value() or b"")["order"])
    else:
        raise KafkaException(f"the end of {topic} did not come")
    consumer.close()
    return found


def orders_of(records: Results) -> set[int]:
    """The numbers of the orders in the records that a client has read."""
    return {json.loads(base64.b64decode(each["value"]))["order"] for each in records}


def play(
    client: LongSession, bootstrap: str, steps: Sequence[Step], properties: Mapping[str, str], patience_s: float
) -> list[tuple[Any, str]]:
    """Each step's result, or the client's error; after an error a new client does the steps that are left."""
    told: list[tuple[Any, str]] = []
    while len(told) < len(steps):
        try:
            told += [
                (each["result"], "") for each in client.work(bootstrap, steps[len(told) :], properties, patience_s)
            ]
        except ClientFailed as failure:
            told += [*((each["result"], "") for each in failure.results), (None, str(failure))]
    return told


def whole(found: Sequence[int], outcomes: Sequence[str], ends: Sequence[str], count: int) -> str:
    """The problem with the records of transactions of `count` records each, "" if there is none.

    The records of a committed transaction must be there once, those of an aborted one must not; those of a failed one
    must be there completely or not at all.
    """
    times = Counter(found)
    for number, end in enumerate(ends):
        its = [times[order] for order in range(number * count, (number + 1) * count)]
        told = outcomes[number] if number < len(outcomes) else "lost"
        allowed = {"commit": [1], "abort": [0]}.get(told, [0, 1] if end == "commit" else [0])
        if len(set(its)) != 1 or its[0] not in allowed:
            return f"transaction {number}, {told}: its records are there {its} times"
    return "" if found == sorted(found) else f"out of order: {found}"


class FaultyProxy(ProxyProcess):
    """A proxy whose rules of faults are set by its control interface."""

    def __init__(self, upstream: str, output: Path) -> None:
        (self._control,) = find_free_ports(1)
        words = ["-b", upstream, "-o", "ndjson", "--seed", "3", "--control", str(self._control)]
        super().__init__(words, port_base(1), output)

    def begin(self, rules: Sequence[str]) -> None:
        """Add these rules."""
        for rule in rules:
            self._ask("POST", "/v1/faults", {"rule": rule})

    def end(self) -> dict[str, int]:
        """Remove all rules; gives each rule's hits."""
        rows = self._ask("GET", "/v1/faults", {})
        for row in rows:
            self._ask("DELETE", f"/v1/faults/{row['id']}", {})
        return {row["rule"]: row["hit"] for row in rows}

    def _ask(self, method: str, path: str, fields: Mapping[str, Any]) -> Any:
        return send_control_request(self._control, method, path, fields, os.environ)


def hits_by_rows(output: Path) -> Counter[int]:
    """The hits of each rule, by the log of a proxy (NDJSON)."""
    found: Counter[int] = Counter()
    for line in output.read_text().splitlines():
        fault = json.loads(line).get("fault")
        if fault:
            found.update(each["rule"] for each in (fault, *fault.get("more", ())))
    return found


def hits_by_lines(said: str) -> Counter[int]:
    """The hits of each rule, by the proxy's last lines, without refused clients, which have no rows in the log."""
    lines = [match.groups() for match in _LINE.finditer(said) if match[2] != "refuse"]
    return Counter({int(number): int(count.replace(",", "")) for number, _, count in lines if count != "0"})
