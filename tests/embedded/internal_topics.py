"""Internal topics of a busy cluster: kw's records against the output of Kafka's own `kafka-dump-log`.

`python -m tests.embedded.internal_topics` makes the goldens anew: a capture of followers' fetches, cut out of the
capture of a whole session, and the lines of the tool.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from decoders.embedded import parse_structure_declaration
from tests.broker import plays
from tests.broker.clients.session import run
from tests.broker.cluster import Cluster
from tests.broker.jars import find_broker_jars, tool_jars
from tests.broker.options import Options
from tests.oracle.log_scene import Scene, stage
from tests.oracle.log_sniff import sniff
from tests.oracle.log_values import Differences

GOLDENS: Final = Path(__file__).parent / "goldens"
CAPTURE: Final = GOLDENS / "internal-topics.pcapng.zst"
DUMPS: Final = GOLDENS / "internal-topics.dumps.gz"
VERSION: Final = "4.3.1"
METADATA: Final = "__cluster_metadata"
DECODERS: Final = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    METADATA: "--cluster-metadata-decoder",
}
FILTER: Final = "api == Fetch and topic like '__*'"
_RECORD: Final = re.compile(r"\| offset: (\d+) .*?headerKeys: \[.*?\] (.*)")
_PAIR: Final = re.compile(r"key: (.*?) payload: (.*)")
_CALLS: Final = (
    (
        *("CreateAcls", "creations[0].resource_type=topic", "creations[0].resource_name=orders"),
        *("creations[0].principal=User:alice", "creations[0].host=*", "creations[0].operation=read"),
        *("creations[0].permission_type=allow", "creations[0].resource_pattern_type=literal"),
    ),
    (
        *("AlterClientQuotas", "entries[0].entity[0].entity_type=user", "entries[0].entity[0].entity_name=alice"),
        *("entries[0].ops[0].key=producer_byte_rate", "entries[0].ops[0].value=100000"),
    ),
    (
        *("AlterUserScramCredentials", "upsertions[0].name=carol", "upsertions[0].mechanism=1"),
        *("upsertions[0].iterations=4096", "upsertions[0].salt=c2FsdA==", "upsertions[0].salted_password=cGFzc3dvcmQ="),
    ),
)


class Dumped(NamedTuple):
    """A record as the tool prints it: JSON of key and value, None where there is none; for metadata the value alone."""

    topic: str
    offset: int
    key: Any
    value: Any


def play(cluster: Cluster) -> list[dict[str, Any]]:
    """Groups of all kinds, transactions, and changes of topics, ACLs, quotas and SCRAM users for the metadata log."""
    found = plays.family(cluster, "java-4.4.0") + plays.share_groups(cluster)
    place = cluster.bootstrap()
    modern = {"topics": ["orders"], "group": "modern", "count": 5, "config": {"group.protocol": "consumer"}}
    run("java-4.4.0", place, [("consume", modern)], {"client.id": "modern-1"})
    for words in _CALLS:
        command = [sys.executable, "-m", "kwcli.main", "call", *words, "-b", place]
        subprocess.run(command, check=True, capture_output=True)
    return found


def record(folder: Path) -> tuple[Path, list[str]]:
    """Record a session; gives the capture, and the tool's lines for the first node."""
    options = Options(version=VERSION, nodes=2, authorizer=True, properties=plays.QUICK_SHARE)
    stage(Scene(options, play), folder)
    return folder / "raw.pcap", list(_dump(folder / "cluster" / "node-1" / "data"))


def _dump(data: Path) -> Iterator[str]:
    path = ":".join(map(str, [*tool_jars(VERSION), *find_broker_jars(VERSION)]))
    for topic, decoder in DECODERS.items():
        file = data / f"{topic}-0" / "00000000000000000000.log"
        command = ["java", "-cp", path, "org.apache.kafka.tools.DumpLogSegments", decoder, "--files", str(file)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        yield from (f"{topic} {line}" for line in done.stdout.splitlines() if line.startswith("| offset"))


def dumped(lines: Iterable[str]) -> Iterator[Dumped]:
    """The records in the tool's lines; its text for control records is left out."""
    for line in lines:
        topic, _, rest = line.partition(" ")
        found = _RECORD.match(rest)
        assert found is not None, line
        pair = _PAIR.match(found[2])
        if pair is not None:
            value = None if pair[2] == "<DELETE>" else json.loads(pair[2])
            yield Dumped(topic, int(found[1]), json.loads(pair[1]), value)
        elif found[2].startswith("payload: {"):
            yield Dumped(topic, int(found[1]), None, json.loads(found[2].removeprefix("payload: ")))


def shown(capture: Path) -> dict[tuple[str, int], tuple[Any, Any]]:
    """The keys and values that kw shows, by topic and offset."""
    found = {}
    for row in sniff(capture):
        answer = row.get("response") if row["kind"] == "exchange" and row["api"] == "Fetch" else None
        for topic in (answer or {}).get("responses", ()):
            identity = topic.get("topic_id")
            name = METADATA if identity == "AAAAAAAAAAAAAAAAAAAAAQ" else row.get("topic_names", {}).get(identity, "")
            for partition in topic.get("partitions", ()):  # an answer that the end of the capture cuts has none
                for batch in partition["records"] or ():
                    for each in batch.get("records") or ():
                        found[name, each["offset"]] = each["key"], each["value"]
    return found


def compare(lines: Iterable[str], capture: Path) -> tuple[list[str], Counter[str]]:
    """The differences, and how often each structure was compared."""
    ours, problems, counts = shown(capture), list[str](), Counter[str]()
    for each in dumped(lines):
        place = f"{each.topic} {each.offset}"
        if (each.topic, each.offset) not in ours:
            problems.append(f"{place}: not in the capture")
            continue
        for side, log, value in zip(("key", "value"), each[2:], ours[each.topic, each.offset], strict=True):
            if log is None or value is None:
                if log is not value:
                    problems.append(f"{place} {side}: {value!r:.200}, the tool has {log!r:.200}")
            else:
                problems += [f"{place} {side}: {text}" for text in _compare(log, value, counts)]
    return problems, counts


def _compare(log: Mapping[str, Any], ours: Any, counts: Counter[str]) -> Iterator[str]:
    """The differences in one structure; nested structures, which the tool reads as well, are compared separately."""
    if not isinstance(ours, dict) or "$type" not in ours:
        yield f"no structure: {ours!r:.200}"
        return
    name, version = ours["$type"], ours["$version"]
    counts[name] += 1
    kind, number = log.get("type"), log.get("version")
    if kind is not None and not kind.isdigit() and kind.replace("_", "").lower() != name.lower():
        yield f"{name}, the tool says {kind}"
    if number is not None and int(number) != version:
        yield f"{name} {version}, the tool says {number}"
    inner = list(_inner(log["data"], ours, counts))
    differences = Differences(version)
    differences.compare(log["data"], _plain(ours), parse_structure_declaration(name).fields)
    yield from (*inner, *differences.found)


def _plain(value: Any) -> Any:
    """A value as the tool has it: structures without the keys that name their type and version."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict) and "base64" not in value:
        return {name: _plain(each) for name, each in value.items() if not name.startswith("$")}
    return value


def _inner(log: Any, ours: Any, counts: Counter[str]) -> Iterator[str]:
    if isinstance(log, list) and isinstance(ours, list):
        for left, right in zip(log, ours, strict=False):
            yield from _inner(left, right, counts)
    elif isinstance(log, dict) and isinstance(ours, dict):
        for name, value in ours.items():
            left = next((log[each] for each in log if each.lower() == name.replace("_", "")), None)
            if isinstance(value, dict) and "$type" in value and isinstance(left, dict):
                yield from _compare({"data": left}, value, counts)
            else:
                yield from _inner(left, value, counts)


def main() -> None:
    """Make the goldens."""
    import zstandard

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw, lines = record(folder / "scene")
        cut = folder / "cut.pcapng"
        command = [sys.executable, "-m", "kwcli.main", "sniff", str(raw), "-f", FILTER, "-w", str(cut)]
        subprocess.run([*command, "--whole-connections", "-q"], check=True, stdout=subprocess.DEVNULL)
        GOLDENS.mkdir(exist_ok=True)
        CAPTURE.write_bytes(zstandard.compress(cut.read_bytes(), 19))
        DUMPS.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
