"""The long comparison of kw with brokers' request logs: `python -m tests.oracle.scenarios [NAME…] [--keep DIR]`.

Each scenario starts a cluster, lets real clients work on it, records them, and compares every exchange with the log.
`--keep` leaves captures and logs in DIR/NAME; `--again DIR` compares the captures and logs there again.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tests.broker import plays, plays_more
from tests.broker.clients.session import ClientFailed
from tests.broker.cluster import StartFailed
from tests.broker.options import Options
from tests.oracle.log_scene import Scene, judge, stage

__all__ = ["SCENES", "main"]

_FOUR, _THREE = "4.3.1", "3.9.1"
_BOTH_LISTENERS: Final = ("PLAINTEXT", "SASL_PLAINTEXT")
_EVERY_LISTENER: Final = ("PLAINTEXT", "SSL", "MTLS", "SASL_PLAINTEXT", "SASL_SSL")
_AGES: Final[Mapping[str, tuple[str, ...]]] = {
    "0": ("0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3"),
    "1": ("1.0.2", "1.1.1"),
    "2": ("2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"),
    "3": ("3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.1"),
    "4": ("4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"),
}
_OTHERS: Final = ("librdkafka", "aiokafka", "python", "go", "node")
# Releases with different inter-broker protocols, which 3.9 in ZooKeeper mode can still speak.
_INTER_BROKER: Final = (
    *("0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4"),
    *("2.6", "2.7", "2.8", "3.0", "3.2", "3.4", "3.6", "3.9"),
)


def _java(age: str) -> plays.Play:
    return partial(plays.in_turn, clients=[f"java-{release}" for release in _AGES[age]])


def _snapshots(release: str) -> Options:
    often = {"metadata.log.max.record.bytes.between.snapshots": "2000", "metadata.log.max.snapshot.interval.ms": "2000"}
    return Options(version=release, quorum="dynamic", listeners=_BOTH_LISTENERS, properties=often)


def _old_snapshots() -> Options:
    small = {"metadata.log.segment.min.bytes": "4000", "metadata.log.segment.bytes": "4000"}
    return Options(version=_THREE, nodes=3, properties={**plays_more.QUICK_SNAPSHOTS, **small})


def _zookeeper(release: str) -> Scene:
    properties = {"inter.broker.protocol.version": release}
    if release < "3":
        properties["log.message.format.version"] = release
    transactions = release.startswith(("1", "2", "3")) or release == "0.11.0"
    options = Options(version=_THREE, mode="zookeeper", nodes=3, properties=properties)
    return Scene(options, partial(plays.nodes_come_and_go, transactions=transactions))


SCENES: Final[Mapping[str, Scene]] = {
    **{f"java-{age}-on-3.9": Scene(Options(version=_THREE), _java(age)) for age in _AGES},
    **{f"java-{age}-on-4.3": Scene(Options(), _java(age)) for age in ("2", "3", "4")},
    "others-on-3.9": Scene(Options(version=_THREE), partial(plays.in_turn, clients=_OTHERS)),
    "others-on-4.3": Scene(Options(), partial(plays.in_turn, clients=_OTHERS)),
    "at-once-on-4.3": Scene(Options(host="::1"), plays.at_once),
    "sasl-on-4.3": Scene(Options(listeners=_BOTH_LISTENERS), plays.authenticate),
    "sasl-on-3.9": Scene(Options(version=_THREE, listeners=_BOTH_LISTENERS), plays.authenticate),
    "sasl-raw": Scene(Options(version=_THREE, listeners=_BOTH_LISTENERS), plays.authenticate_raw),
    "sasl-again": Scene(Options(listeners=_BOTH_LISTENERS, properties=plays.SHORT_SESSIONS), plays.authenticate_again),
    "share": Scene(Options(properties=plays.QUICK_SHARE), plays.share_groups),
    "kraft-static": Scene(Options(nodes=3), plays.nodes_come_and_go),
    "kraft-dynamic": Scene(Options(nodes=3, quorum="dynamic"), plays.nodes_come_and_go),
    "kraft-separate": Scene(Options(nodes=3, roles="separate"), plays.nodes_come_and_go),
    "kraft-3.9": Scene(Options(version=_THREE, nodes=3), plays.nodes_come_and_go),
    **{f"zookeeper-{release}": _zookeeper(release) for release in _INTER_BROKER},
    "everything-4.3": Scene(Options(telemetry=True), plays.everything),
    "everything-3.9": Scene(Options(version=_THREE), plays.everything),
    "everything-3.9-zookeeper": Scene(Options(version=_THREE, mode="zookeeper"), plays.everything),
    "everything-authorized": Scene(Options(listeners=_BOTH_LISTENERS, authorizer=True), plays.everything_authenticated),
    "refused-4.3": Scene(Options(), plays.refused, skips=True),
    "refused-3.9": Scene(Options(version=_THREE), plays.refused, skips=True),
    "beside-tls": Scene(Options(listeners=_EVERY_LISTENER), plays_more.beside_tls, skips=True),
    "kerberos": Scene(Options(version=_THREE, listeners=_BOTH_LISTENERS, kerberos=True), plays_more.kerberos),
    "member-changes": Scene(Options(), plays_more.member_changes),
    "sasl-between-nodes": Scene(Options(nodes=2, listeners=("SASL_PLAINTEXT",)), plays_more.sasl_between_nodes),
    "fall-back": Scene(Options(version=_THREE), plays_more.fall_back),
    "many-connections": Scene(Options(properties={"connections.max.idle.ms": "3000"}), plays_more.many_connections),
    "throttled": Scene(Options(properties={"quota.window.num": "2"}), plays_more.throttled),
    "streams": Scene(Options(), plays_more.streams),
    "fetch-snapshots": Scene(_snapshots(_FOUR), plays_more.fetch_snapshots),
    "fetch-snapshots-3.9": Scene(_snapshots(_THREE), plays_more.fetch_snapshots),
    "snapshots-4.3": Scene(Options(nodes=3, properties=plays_more.QUICK_SNAPSHOTS), plays_more.snapshots),
    "snapshots-3.9": Scene(_old_snapshots(), plays_more.snapshots),
    "record-sets": Scene(Options(properties=plays.SMALL_SEGMENTS), plays.record_sets),
}


def main(arguments: list[str]) -> int:
    """Play scenes and compare; returns 1 if anything differed."""
    keep = again = None
    for word in ("--keep", "--again"):
        if word in arguments:
            at = arguments.index(word)
            folder = Path(arguments[at + 1])
            del arguments[at : at + 2]
            keep, again = (folder, again) if word == "--keep" else (keep, folder)
    bad = 0
    for name in arguments or SCENES:
        if again and not (again / name / "about.json").exists():
            continue
        with tempfile.TemporaryDirectory(prefix="kw-scene-") as scratch:
            began = time.monotonic()
            lines = _one(name, again / name if again else (keep or Path(scratch)) / name, play=again is None)
        bad += len(lines) > 1
        lines[0] = f"{name} ({time.monotonic() - began:.0f} s): {lines[0]}"
        sys.stdout.write("\n    ".join(lines) + "\n")
        sys.stdout.flush()
    return 1 if bad else 0


def _one(name: str, folder: Path, *, play: bool) -> list[str]:
    """The summary of one scene and its first problems."""
    if play:
        try:
            stage(SCENES[name], folder)
        except (ClientFailed, StartFailed, RuntimeError) as error:
            return ["was not played to its end", *str(error).splitlines()[-12:]]
    result = judge(folder, skips=SCENES[name].skips)
    return [result.summary(), *result.problems[:20]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
