"""Every client family through `kw proxy`: `python -m tests.proxy.everyone [NAME…]` (names as printed).

The brokers advertise names that only the proxy can resolve, so that a leaked address fails a scene. Afterwards the
proxy's log is compared with the capture that it wrote.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from tests.broker import plays
from tests.broker.clients.session import ClientFailed, Step, run, start
from tests.broker.clients.steps import different
from tests.broker.cluster import Cluster, StartFailed
from tests.broker.options import Options
from tests.proxy.hidden import ROOT, Behind, HiddenCluster, ProxyProcess, port_base
from tests.proxy.recorded import problems

_NEW, _OLD = "4.3.1", "3.9.1"
_CLIENTS: Final[Mapping[str, tuple[str, ...]]] = {
    _OLD: ("java-0.10.2.2", "java-0.11.0.3", "java-1.0.2", "java-2.0.1"),
    _NEW: (
        *("java-2.8.2", "java-3.6.2", "java-3.9.2", "java-4.4.0"),
        *("librdkafka", "aiokafka", "python", "go", "node"),
    ),
}
# The words of admin calls without an answer.
_LOST: Final = ("Timeout", "timed out", "no answer", "Disconnect", "Network", "Unknown host", "TRANSPORT")
# Java clients before 2.1 give up a record if its leader is not (yet) the node that they expect.
_AGAIN: Final = {"retries": "30"}
_CONSUMER: Final = {"group.protocol": "consumer"}


class Wrong(RuntimeError):
    """A scene that did not end as it should."""


class World:
    """A cluster and the proxy in front of it."""

    def __init__(self, cluster: HiddenCluster, proxy: ProxyProcess) -> None:
        self.cluster = cluster
        self.place = proxy.bootstrap
        self.behind = cast(Cluster, Behind(proxy.bootstrap))

    @property
    def listeners(self) -> dict[int, tuple[str, int]]:
        """The listener of the proxy for each node."""
        host, _, base = self.place.partition(":")
        return {node.id: (host, int(base) + 1 + node.id) for node in self.cluster.nodes}

    def call(self, api: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """`kw call` through the proxy; gives the row. Raises Wrong without an answer."""
        command = [sys.executable, "-m", "kwcli.main", "call", api, "-b", self.place, "-o", "ndjson", "-q", "-"]
        done = subprocess.run(command, cwd=ROOT, input=json.dumps(body).encode(), capture_output=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        if not rows or not rows[-1].get("response"):
            raise Wrong(f"{api}: {done.stderr.decode()}")
        return cast("dict[str, Any]", rows[-1])


Scene = Callable[[World], str]


def _expect(what: str, found: int, expected: int) -> None:
    if found < expected:
        raise Wrong(f"{what}: {found} instead of {expected}")


def _family(client: str, world: World) -> str:
    """Topics, records in every codec, a group, transactions, admin calls."""
    again = _AGAIN if client in _CLIENTS[_OLD] else {}
    answers = plays.family_steps(world.behind, client, prefix=f"{client}-", properties=again)
    if client.startswith("java-0.11"):  # the first one with an AdminClient, which `family_steps` does not use for it
        asked = {"topic": f"{client}-orders", "group": f"{client}-billing"}
        answers += run(client, world.place, [("administer", asked)])
    produced = sum(each["result"] for each in answers if each["step"] == "produce")
    read = len(plays.read_of(answers))
    _expect("records read", read, produced - 6)
    _expect("records acknowledged", produced, 20 * 2 + 6)
    said = [f"{produced} written, {read} read"]
    # Five of a transaction and three with acks=1; records with acks=0 may be lost before the leader knows the topic.
    ends = [each["result"] for each in answers if each["step"] == "transact"]
    if ends:
        config = {"isolation.level": "read_committed"}
        work = {"topics": [f"{client}-payments"], "group": f"{client}-books", "count": 8, "config": config}
        _expect("committed", len(plays.read_of(run("librdkafka", world.place, [("consume", work)]))), 8)
        said.append(f"{ends[0]} transactions")
    for each in answers:
        if each["step"] == "administer":
            lost = {name: told for name, told in each["result"].items() if any(word in told for word in _LOST)}
            if lost:
                raise Wrong(f"admin calls without an answer: {lost}")
            had = sum(not told.startswith("not in this release") for told in each["result"].values())
            said.append(f"{had} admin calls")
    return ", ".join(said)


def _consumer_groups(client: str, world: World) -> str:
    """Two members of a group of the new protocol (KIP-848)."""
    topic = f"{client}-new-group"
    steps: list[Step] = [("create", {"topics": {topic: 4}}), ("produce", {"topic": topic, "count": 40})]
    run(client, world.place, steps)
    work = {"topics": [topic], "group": f"{client}-new", "count": 40, "polls": 16, "config": _CONSUMER}
    members = [start(client, world.place, [("consume", work)]) for _ in range(2)]
    read = different(record for member in members for record in plays.read_of(member.finish()))
    _expect("records read", read, 40)
    return f"{read} read by two members"


def _share(world: World) -> str:
    read = different(plays.share_groups(world.behind))
    _expect("records read", read, 20)
    return f"{read} read by two members of a share group"


def _at_once(world: World) -> str:
    read = len(plays.at_once(world.behind))
    _expect("records read", read, 1200)
    return f"{read} read by six families at the same time"


def _moves(clients: Sequence[str], writers: Sequence[str], world: World) -> str:
    """All families read and some write, while leaders move and a node is stopped and started."""
    topic = "moving"
    run("librdkafka", world.place, [("create", {"topics": {topic: 3, f"{topic}-ledger": 1}, "replicas": 3})])
    slow = {"topic": topic, "count": 200, "batches": 200, "config": {"linger.ms": "150", "acks": "all", **_AGAIN}}
    total = 200 * len(writers)
    work = {"topics": [topic], "count": total, "polls": 1000}
    readers = [start(client, world.place, [("consume", {**work, "group": f"{client}-movers"})]) for client in clients]
    busy = [start(client, world.place, [("produce", slow)], {"client.id": f"busy-{client}"}) for client in writers]
    sharers = []
    if "java-4.4.0" in clients:
        early = {"kind": "GROUP", "name": "share-movers", "values": {"share.auto.offset.reset": "earliest"}}
        run("java-4.4.0", world.place, [("configure", early)])
        shared = {"topics": [topic], "group": "share-movers", "count": total, "polls": 150}
        sharers.append(start("java-4.4.0", world.place, [("share", shared)]))
    time.sleep(6)
    for number in range(4):
        _lead(world, topic, [(number + place) % 3 + 1 for place in range(3)])
        time.sleep(2)
    world.cluster.stop_node(3)
    ledger: Mapping[str, Any] = {"topic": f"{topic}-ledger", "id": "ledger", "ends": ["commit", "abort"] * 3}
    run(writers[0], world.place, [("transact", ledger)])
    world.cluster.start_node(3)
    time.sleep(3)
    _lead(world, topic, [3, 2, 1])
    for session in sharers:
        if not plays.read_of(session.finish()):
            raise Wrong("a member of a share group read nothing")
    written = sum(each["result"] for session in busy for each in session.finish())
    _expect("records acknowledged", written, total)
    for client, reader in zip(clients, readers, strict=True):
        _expect(f"records read by {client}", len(plays.read_of(reader.finish())), total)
    return f"{written} written and read by {len(clients)} families, five moves of leaders, a node stopped and started"


def _lead(world: World, topic: str, replicas: list[int]) -> None:
    """Have every partition led by the first of `replicas`."""
    wanted = [{"partition_index": number, "replicas": replicas} for number in range(3)]
    answer = world.call("AlterPartitionReassignments", {"topics": [{"name": topic, "partitions": wanted}]})
    if answer["response"]["error_code"]:
        raise Wrong(f"AlterPartitionReassignments: {answer['response']}")
    time.sleep(0.5)
    world.call("ElectLeaders", {"election_type": 0, "topic_partitions": [{"topic": topic, "partitions": [0, 1, 2]}]})


def _scenes(release: str) -> dict[str, Scene]:
    clients = _CLIENTS[release]
    scenes: dict[str, Scene] = {client: partial(_family, client) for client in clients}
    if release == _OLD:
        return {**scenes, "moves-old": partial(_moves, clients, ("java-0.11.0.3", "java-2.0.1"))}
    return {
        **scenes,
        "consumer-java-4.4.0": partial(_consumer_groups, "java-4.4.0"),
        "consumer-librdkafka": partial(_consumer_groups, "librdkafka"),
        "share": _share,
        "at-once": _at_once,
        "moves": partial(_moves, clients, ("java-4.4.0", "java-3.9.2", "librdkafka")),
    }


def _play(release: str, names: list[str]) -> int:
    """Play the scenes of one cluster, then compare the proxy's log and capture; gives the number of failures."""
    scenes = {name: scene for name, scene in _scenes(release).items() if name in names or not names}
    if not scenes:
        return 0
    properties = plays.QUICK_SHARE if release == _NEW else {}
    options = Options(version=release, nodes=3, listeners=("INTERNAL", "PLAINTEXT"), properties=properties)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="kw-everyone-") as folder, HiddenCluster(options) as cluster:
        out, capture = Path(folder) / "log.ndjson", Path(folder) / "kept.pcapng"
        words = ["-b", cluster.bootstrap().partition(",")[0], *cluster.dial_map, "-o", "ndjson", "-w", str(capture)]
        with ProxyProcess(words, port_base(3), out) as proxy:
            world = World(cluster, proxy)
            for name, scene in scenes.items():
                bad += _report(name, release, partial(scene, world))
        bad += _report("log and capture", release, partial(_kept, world, proxy, out, capture, "moves" in scenes))
    return bad


def _kept(world: World, proxy: ProxyProcess, out: Path, capture: Path, moved: bool) -> str:
    summary, found = problems(out, capture, proxy.said, world.listeners)
    if proxy.code or "defect" in proxy.said or "Traceback" in proxy.said:
        found.append(f"the proxy ended with {proxy.code}: {proxy.said}")
    if moved and summary.endswith("none"):
        found.append("leaders moved, but nobody was told where to")
    if found:
        raise Wrong("\n    ".join([summary, *found]))
    return summary


def _report(name: str, release: str, scene: Callable[[], str]) -> bool:
    """Play a scene and print its line; gives whether it failed."""
    began = time.monotonic()
    try:
        said, failed = scene(), False
    except (Wrong, ClientFailed, StartFailed, RuntimeError, subprocess.SubprocessError) as error:
        said, failed = f"FAILED: {error}", True
    sys.stdout.write(f"{name} on {release} ({time.monotonic() - began:.0f} s): {said}\n")
    sys.stdout.flush()
    return failed


def main(names: list[str]) -> int:
    """Play all scenes, or those named; returns 1 if one failed."""
    known = [name for release in _CLIENTS for name in _scenes(release)]
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.stdout.write(f"no such scene: {', '.join(unknown)}; there are {', '.join(known)}\n")
        return 2
    return 1 if sum(_play(release, names) for release in _CLIENTS) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
