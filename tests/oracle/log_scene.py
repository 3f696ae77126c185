"""Plays one scenario on a recorded cluster with its request log on, and compares kw's exchanges with the log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.broker.cluster import Cluster
from tests.broker.options import LISTENERS, Options
from tests.broker.recorder import Recorder
from tests.broker.requestlog import Entry, read_logs
from tests.oracle.log_input import Alike, compare_inputs
from tests.oracle.log_match import Comparison, compare
from tests.oracle.log_records import compare_records
from tests.oracle.log_sniff import sniff

__all__ = ["Scene", "judge", "logs_of", "read_inputs", "stage"]

Play = Callable[[Cluster], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster's options and a play; `skips` allows bytes that are no Kafka frames (plays that send garbage)."""

    options: Options
    play: Play
    skips: bool = False


def stage(scene: Scene, folder: Path) -> None:
    """Play a scene; `folder` then has raw.pcap, one request log a node and the records that consumers read."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = replace(scene.options, request_log=True, class_archive=True)
    cluster = Cluster(options, folder=folder / "cluster")
    ports = [*cluster.ports, *([cluster.zookeeper_port] if options.mode == "zookeeper" else [])]
    with Recorder(folder / "raw.pcap", ports), cluster:
        read = scene.play(cluster)
    host = f"[{options.host}]" if ":" in options.host else options.host
    places = [(name, f"{host}:{port}") for node in cluster.nodes for name, port in node.ports.items()]
    about = {
        "logs": [str(file.relative_to(folder)) for file in cluster.request_logs],
        "sasl": [place for name, place in places if name.startswith("SASL")],
        "foreign": [
            f"{host}:{cluster.zookeeper_port}",
            *[place for name, place in places if LISTENERS.get(name, "").endswith("SSL")],
        ],
        "read": read,
    }
    (folder / "about.json").write_text(json.dumps(about))


def judge(folder: Path, *, skips: bool = False) -> Comparison:
    """Compare kw's exchanges in `raw.pcap` with the logs and with the records that consumers read."""
    about = json.loads((folder / "about.json").read_text())
    found = sniff(folder / "raw.pcap")
    entries = read_logs(folder / name for name in about["logs"])
    if skips:
        found = [record for record in found if record["kind"] == "exchange"]
    result = compare(found, entries, sasl=about["sasl"], foreign=about["foreign"])
    problems, count = compare_records(found, about["read"])
    result.problems += problems
    result.counts["records read"] = count
    return result


def logs_of(folder: Path) -> list[Entry]:
    """All entries of the brokers' logs."""
    about = json.loads((folder / "about.json").read_text())
    return read_logs(folder / name for name in about["logs"])


def read_inputs(folder: Path) -> Alike:
    """Compare kw's exchanges from the logs with those from `raw.pcap`."""
    about = json.loads((folder / "about.json").read_text())
    return compare_inputs([row for name in about["logs"] for row in sniff(folder / name)], sniff(folder / "raw.pcap"))
