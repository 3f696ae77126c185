"""Real clusters that offer every version of their release, and how they answer the examples."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from decoders.apis import KEYS, api
from decoders.protocol_facts.kafka_releases import UNSTABLE, api_versions_of_release
from decoders.schema.api_declaration import NONE, Versions
from tests.broker.cluster import Cluster
from tests.broker.options import PASSWORDS, Options
from tests.cli.worlds import Outcome, kw
from tests.waiting import until

__all__ = ["ANSWERS", "DOORS", "LATER", "SETUPS", "STRANGE", "Door", "Stages", "offered", "strange"]


@dataclass(frozen=True, slots=True)
class Setup:
    """The options of a cluster of one node, and the listener for requests to its broker."""

    options: Options
    listener: str = "SASL_PLAINTEXT"
    unstable: bool = False  # whether versions are offered that are hidden by default


_ALL: Final = {
    "quorum": "dynamic",
    "class_archive": True,
    "telemetry": True,
    "authorizer": True,
    "listeners": ("PLAINTEXT", "SASL_PLAINTEXT"),
}
# Settings of 3.9 for the new consumer groups.
_GROUPS: Final = {
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "unstable.feature.versions.enable": "true",
}
SETUPS: Final[Mapping[str, Setup]] = {
    "4.3": Setup(
        Options(version="4.3.1", properties={"unstable.api.versions.enable": "true"}, **_ALL),  # type: ignore[arg-type]  # as named
        unstable=True,
    ),
    "3.9": Setup(Options(version="3.9.1", properties=_GROUPS, **_ALL)),  # type: ignore[arg-type]  # as named
    "3.9-zookeeper": Setup(Options(version="3.9.1", mode="zookeeper", class_archive=True), listener="PLAINTEXT"),
}
# A setup, and the name that declarations have for one of its listeners.
Door = tuple[str, str]
DOORS: Final[tuple[Door, ...]] = (
    ("4.3", "broker"),
    ("4.3", "controller"),
    ("3.9", "broker"),
    ("3.9", "controller"),
    ("3.9-zookeeper", "zkBroker"),
)


def offered(door: Door) -> dict[int, Versions]:
    """The versions that the listener offers, by the tables of releases and the declarations."""
    name, word = door
    release = name.partition("-")[0]
    hidden = {} if SETUPS[name].unstable else UNSTABLE.get(release, {})
    found = {}
    for key, versions in api_versions_of_release(release).items():
        if word in api(key).listeners or (word == "zkBroker" and key in _ON_ZOOKEEPER):
            top = versions.high - (hidden.get(key) == versions.high)
            found[key] = Versions(versions.low, top)
    if release == "4.3" and word == "broker":
        found[0] = Versions(0, found[0].high)  # for the sake of old librdkafka
    return {key: found[key] for key in KEYS if found.get(key, NONE)}


# Declarations have the listeners of the newest release, without ZooKeeper: the APIs of a broker on ZooKeeper besides.
_ON_ZOOKEEPER: Final = frozenset({*range(52), 56, 57, 58, 60, 61, 65, 66, 67, 68, 69})


class Stage:
    """A running cluster with a topic that holds a record; the end of the block asserts that its state is unchanged."""

    def __init__(self, name: str) -> None:
        self.setup = SETUPS[name]
        self.cluster = Cluster(self.setup.options)

    def __enter__(self) -> Stage:
        self.cluster.__enter__()
        try:
            done(self.call("CreateTopics", "topics[].name=orders", "topics[0].num_partitions=2"))
            until(lambda: not self.call("Produce", "topic=orders", "partition=1", "value=hello").code, seconds=30)
            self.before = self.state()
        except BaseException:
            self.cluster.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._is_whole()
                self.cluster.stop_node(1)
                self.cluster.start_node(1)
                self._is_whole()
        finally:
            self.cluster.stop()

    def _changed(self) -> dict[str, Any]:
        """The parts of the state that differ from the beginning: (then, now) by name."""
        now = self.state()
        return {name: (was, now[name]) for name, was in self.before.items() if now[name] != was}

    def _is_whole(self) -> None:
        """Wait until the state is as at the beginning; a node that just started or was changed may need a moment."""
        deadline = time.monotonic() + 30
        while True:
            try:
                assert not self._changed(), self._changed()
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def call(self, *words: str, door: str = "broker") -> Outcome:
        """Run `kw call WORDS…` through the listener that `door` names."""
        ports = self.cluster.nodes[0].ports
        if door == "controller":
            return kw("call", *words, "--bootstrap-controller", f"127.0.0.1:{ports['CONTROLLER']}")
        return kw("call", *words, "-b", f"127.0.0.1:{ports[self.setup.listener]}", *self._login())

    def _login(self) -> list[str]:
        if self.setup.listener == "PLAINTEXT":
            return []
        mine = {"security.protocol": self.setup.listener, "sasl.mechanism": "PLAIN"}
        mine |= {"sasl.username": "admin", "sasl.password": PASSWORDS["admin"]}
        return [word for name, value in mine.items() for word in ("-X", f"{name}={value}")]

    def state(self) -> dict[str, Any]:
        """The state of the cluster: brokers, topics that are not internal, offsets, features, groups, quotas, users."""
        assert self.cluster.is_node_running(1)
        metadata = done(self.call("Metadata"))
        found = {
            "brokers": metadata["brokers"],
            "topics": [_place(topic) for topic in metadata["topics"] if not topic["is_internal"]],
            "offsets": [self._end(partition) for partition in (0, 1)],
            "features": {name: value for name, value in done(self.call("ApiVersions")).items() if "feature" in name},
            "groups": done(self.call("ListGroups"))["groups"],
            "quotas": done(self.call("DescribeClientQuotas"))["entries"],
            "users": sorted(row["user"] for row in done(self.call("DescribeUserScramCredentials"))["results"]),
        }
        found["features"].pop("finalized_features_epoch", None)
        if self.setup.options.mode == "kraft":
            quorum = done(self.call("DescribeQuorum"))["topics"][0]["partitions"][0]
            found["voters"] = [
                (voter["replica_id"], voter["replica_directory_id"]) for voter in quorum["current_voters"]
            ]
            found["acls"] = done(self.call("DescribeAcls"))["resources"]
        return found

    def _end(self, partition: int) -> Any:
        words = ("topics[0].name=orders", f"topics[0].partitions[0].partition_index={partition}")
        (topic,) = done(self.call("ListOffsets", *words))["topics"]
        return topic["partitions"][0]["offset"]


class Stages:
    """All stages by name, each started when it is first asked for."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._stages: dict[str, Stage] = {}

    def __enter__(self) -> Stages:
        self._running.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._running.__exit__(kind, error, at)

    def __getitem__(self, name: str) -> Stage:
        if name not in self._stages:
            self._stages[name] = self._running.enter_context(Stage(name))
        return self._stages[name]


def _place(topic: Mapping[str, Any]) -> tuple[Any, ...]:
    """A topic's name, id, and partitions with leader and replicas in sync, in a fixed order."""
    parts = sorted((part["partition_index"], part["leader_id"], part["isr_nodes"]) for part in topic["partitions"])
    return topic["name"], topic["topic_id"], parts


def done(outcome: Outcome) -> Any:
    """The response of a call that went well."""
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return json.loads(outcome.out)["response"]


# Errors in the answers to examples: the named thing does not exist, or it is the wrong time for the request. An
# example must not get any other error code.
_NO_MEMBER: Final = {"UNKNOWN_MEMBER_ID"}
_NO_GROUP: Final = {"GROUP_ID_NOT_FOUND"}
_NO_SESSION: Final = {"SHARE_SESSION_NOT_FOUND"}
_NOT_NOW: Final = {"ILLEGAL_SASL_STATE"}
_ELSEWHERE: Final = {"INCONSISTENT_CLUSTER_ID"}
_FORMER: Final = {"STALE_CONTROLLER_EPOCH"}
_NO_TOKEN: Final = {"DELEGATION_TOKEN_NOT_FOUND", "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"}  # the second without a login
ANSWERS: Final[Mapping[str, set[str]]] = {
    "Fetch": {"FENCED_LEADER_EPOCH"},  # of a controller
    "LeaderAndIsr": _FORMER,
    "StopReplica": _FORMER,
    "UpdateMetadata": _FORMER,
    "ControlledShutdown": {"BROKER_NOT_AVAILABLE"},
    "JoinGroup": _NO_MEMBER,
    "Heartbeat": _NO_MEMBER,
    "LeaveGroup": _NO_MEMBER,
    "SyncGroup": _NO_MEMBER,
    "SaslHandshake": _NOT_NOW,
    "SaslAuthenticate": _NOT_NOW,
    "AddOffsetsToTxn": {"INVALID_PRODUCER_ID_MAPPING"},
    "EndTxn": {"INVALID_PRODUCER_ID_MAPPING"},
    "DescribeAcls": {"SECURITY_DISABLED"},  # without an authorizer
    "CreateDelegationToken": {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"},
    "RenewDelegationToken": _NO_TOKEN,
    "ExpireDelegationToken": _NO_TOKEN,
    "DescribeDelegationToken": {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"},
    "OffsetDelete": _NO_GROUP,
    "Vote": _ELSEWHERE,
    "BeginQuorumEpoch": _ELSEWHERE,
    "EndQuorumEpoch": _ELSEWHERE,
    "AlterPartition": {"STALE_BROKER_EPOCH"},
    "Envelope": {"PRINCIPAL_DESERIALIZATION_FAILURE"},
    "FetchSnapshot": _ELSEWHERE,
    "BrokerRegistration": _ELSEWHERE,
    "BrokerHeartbeat": {"STALE_BROKER_EPOCH"},
    "UnregisterBroker": {"BROKER_ID_NOT_REGISTERED"},
    "AllocateProducerIds": {"STALE_BROKER_EPOCH", "BROKER_ID_NOT_REGISTERED"},
    "ConsumerGroupHeartbeat": _NO_GROUP,
    "GetTelemetrySubscriptions": {"THROTTLING_QUOTA_EXCEEDED"},  # asked twice within the interval
    "PushTelemetry": {"UNKNOWN_SUBSCRIPTION_ID", "THROTTLING_QUOTA_EXCEEDED"},
    "AssignReplicasToDirs": {"STALE_BROKER_EPOCH"},
    "ShareGroupHeartbeat": _NO_GROUP,
    "ShareFetch": _NO_SESSION,
    "ShareAcknowledge": _NO_SESSION,
    "AddRaftVoter": _ELSEWHERE,
    "RemoveRaftVoter": _ELSEWHERE,
    "UpdateRaftVoter": _ELSEWHERE,
    "StreamsGroupHeartbeat": _NO_GROUP,
    "DeleteShareGroupOffsets": _NO_GROUP,
}
# Errors of a coordinator in the making; kw's look-ups wait for it, but the request itself is not repeated.
LATER: Final = {"COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}

# Offered but never served, whatever the request: the versions, and the outcome instead (an error's name, or a part of
# kw's line). A controller knows only the partition of its log, by an id that Fetch has from 13 on (0-6 cannot name it).
# DescribeCluster 0 cannot ask for controllers. Controllers list three APIs that they have no code for.
STRANGE: Final[Mapping[tuple[Door, str], tuple[str, str]]] = {
    (("4.3", "broker"), "Produce"): ("0-2", "does not serve it"),
    (("4.3", "controller"), "Fetch"): ("7-12", "INVALID_REQUEST"),
    (("3.9", "controller"), "Fetch"): ("7-12", "INVALID_REQUEST"),
    (("4.3", "controller"), "DescribeCluster"): ("0", "INVALID_REQUEST"),
    (("3.9", "controller"), "DescribeCluster"): ("0", "INVALID_REQUEST"),
    (("4.3", "controller"), "DescribeDelegationToken"): ("0+", "UNKNOWN_SERVER_ERROR"),
    (("3.9", "controller"), "DescribeDelegationToken"): ("0+", "UNKNOWN_SERVER_ERROR"),
    (("4.3", "controller"), "DescribeUserScramCredentials"): ("0+", "UNKNOWN_SERVER_ERROR"),
    (("3.9", "controller"), "DescribeUserScramCredentials"): ("0+", "UNKNOWN_SERVER_ERROR"),
    (("3.9", "controller"), "ControlledShutdown"): ("0+", "UNKNOWN_SERVER_ERROR"),
    # On ZooKeeper nothing is forwarded, and the new kinds of groups do not exist.
    (("3.9-zookeeper", "zkBroker"), "Envelope"): ("0+", "closed the connection"),
    (("3.9-zookeeper", "zkBroker"), "ConsumerGroupHeartbeat"): ("0+", "UNSUPPORTED_VERSION"),
}


def strange(door: Door, name: str, version: int) -> str | None:
    """The outcome in STRANGE that this version has instead of an answer, None if it is served."""
    versions, instead = STRANGE.get((door, name), ("none", ""))
    return instead if version in Versions.parse(versions) else None
