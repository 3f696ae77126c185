"""Admin work of the Java client (0.11 on): a function a step; calls that a release lacks are reported, not fatal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types

__all__ = ["FUNCTIONS"]

_ADMIN = "org.apache.kafka.clients.admin"
_COMMON = "org.apache.kafka.common"


class Admin:
    """An AdminClient, and the resources that its calls are made for."""

    def __init__(
        self, bootstrap: str, properties: Mapping[str, str], topic: str = "", group: str = "", user: str = ""
    ) -> None:
        self.topic, self.group, self.user = topic, group, user
        settings = jpype.JClass("java.util.HashMap")()
        for key, value in {"bootstrap.servers": bootstrap, **properties}.items():
            settings.put(key, value)
        self.client = jpype.JClass(f"{_ADMIN}.AdminClient").create(settings)

    def done(self, result: Any, *ways: str) -> str:
        """Wait for a result's future (the first of `ways` that it has); "ok" or the exception's name."""
        for way in ways:
            if hasattr(result, way):
                try:
                    getattr(result, way)().get()
                except jpype.JException as error:
                    cause = error.getCause() or error
                    return str(cause.getClass().getSimpleName())
                return "ok"
        return "no way"


def a_list(*values: Any) -> Any:
    """A java.util.ArrayList."""
    made = jpype.JClass("java.util.ArrayList")()
    for value in values:
        made.add(value)
    return made


def a_map(*pairs: tuple[Any, Any]) -> Any:
    """A java.util.HashMap."""
    made = jpype.JClass("java.util.HashMap")()
    for key, value in pairs:
        made.put(key, value)
    return made


def create(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: dict[str, int],
    replicas: int = 1,
    config: dict[str, str] | None = None,
) -> str:
    """CreateTopics, one topic of `topics` (name → partitions) at a time."""
    admin = Admin(bootstrap, properties)
    said = []
    for name, partitions in topics.items():
        topic = jpype.JClass(f"{_ADMIN}.NewTopic")(name, jpype.JInt(partitions), jpype.JShort(replicas))
        if config:
            topic.configs(a_map(*config.items()))
        said.append(admin.done(admin.client.createTopics(a_list(topic)), "all"))
    admin.client.close()
    return ",".join(said)


def delete(bootstrap: str, properties: dict[str, str], *, topics: list[str]) -> str:
    """DeleteTopics."""
    admin = Admin(bootstrap, properties)
    said = admin.done(admin.client.deleteTopics(a_list(*topics)), "all")
    admin.client.close()
    return said


def administer(
    bootstrap: str, properties: dict[str, str], *, topic: str, group: str = "billing", user: str = "carol"
) -> dict[str, str]:
    """Make every harmless admin call that this release has; gives the outcome of each."""
    admin = Admin(bootstrap, properties, topic, group, user)
    said: dict[str, str] = {}
    for name, call in _CALLS.items():
        try:
            said[name] = call(admin)
        except (AttributeError, TypeError) as error:
            said[name] = f"not in this release: {error}"
        except jpype.JException as error:
            said[name] = str(error)
    admin.client.close()
    return said


def _resource(kind: str, name: str) -> Any:
    where = jpype.JClass(f"{_COMMON}.config.ConfigResource")
    return where(getattr(where.Type, kind), name)


def _place(topic: str) -> Any:
    return jpype.JClass(f"{_COMMON}.TopicPartition")(topic, 0)


def _set_configs(admin: Admin, topic: str) -> str:
    operation = jpype.JClass(f"{_ADMIN}.AlterConfigOp")
    entry = jpype.JClass(f"{_ADMIN}.ConfigEntry")("retention.ms", "86400000")
    change = a_list(operation(entry, operation.OpType.SET))
    return admin.done(admin.client.incrementalAlterConfigs(a_map((_resource("TOPIC", topic), change))), "all")


def _replace_configs(admin: Admin, topic: str) -> str:
    entry = jpype.JClass(f"{_ADMIN}.ConfigEntry")("cleanup.policy", "compact")
    config = jpype.JClass(f"{_ADMIN}.Config")(a_list(entry))
    return admin.done(admin.client.alterConfigs(a_map((_resource("TOPIC", topic), config))), "all")


def _acl(user: str) -> Any:
    acl, resource = f"{_COMMON}.acl", f"{_COMMON}.resource"
    pattern_type = jpype.JClass(f"{resource}.PatternType").LITERAL
    kind = jpype.JClass(f"{resource}.ResourceType").TOPIC
    pattern = jpype.JClass(f"{resource}.ResourcePattern")(kind, "orders", pattern_type)
    entry = jpype.JClass(f"{acl}.AccessControlEntry")(
        f"User:{user}",
        "*",
        jpype.JClass(f"{acl}.AclOperation").READ,
        jpype.JClass(f"{acl}.AclPermissionType").ALLOW,
    )
    return jpype.JClass(f"{acl}.AclBinding")(pattern, entry)


def _acls(admin: Admin, user: str) -> str:
    said = [admin.done(admin.client.createAcls(a_list(_acl(user))), "all")]
    anything = jpype.JClass(f"{_COMMON}.acl.AclBindingFilter").ANY
    said.append(admin.done(admin.client.describeAcls(anything), "values"))
    said.append(admin.done(admin.client.deleteAcls(a_list(_acl(user).toFilter())), "all"))
    return ",".join(said)


def _scram(admin: Admin, user: str) -> str:
    mechanism = jpype.JClass(f"{_ADMIN}.ScramMechanism").SCRAM_SHA_256
    info = jpype.JClass(f"{_ADMIN}.ScramCredentialInfo")(mechanism, 4096)
    upsert = jpype.JClass(f"{_ADMIN}.UserScramCredentialUpsertion")(user, info, "carol-secret")
    said = [admin.done(admin.client.alterUserScramCredentials(a_list(upsert)), "all")]
    said.append(admin.done(admin.client.describeUserScramCredentials(), "all"))
    gone = jpype.JClass(f"{_ADMIN}.UserScramCredentialDeletion")(user, mechanism)
    said.append(admin.done(admin.client.alterUserScramCredentials(a_list(gone)), "all"))
    return ",".join(said)


def _quotas(admin: Admin, user: str) -> str:
    quota = f"{_COMMON}.quota"
    entity = jpype.JClass(f"{quota}.ClientQuotaEntity")(a_map(("user", user)))
    operation = jpype.JClass(f"{quota}.ClientQuotaAlteration$Op")(
        "producer_byte_rate", jpype.JClass("java.lang.Double")(1e6)
    )
    change = jpype.JClass(f"{quota}.ClientQuotaAlteration")(entity, a_list(operation))
    said = [admin.done(admin.client.alterClientQuotas(a_list(change)), "all")]
    anything = jpype.JClass(f"{quota}.ClientQuotaFilter").all()
    said.append(admin.done(admin.client.describeClientQuotas(anything), "entities"))
    return ",".join(said)


def _delete_records(admin: Admin, topic: str) -> str:
    before = jpype.JClass(f"{_ADMIN}.RecordsToDelete").beforeOffset(1)
    return admin.done(admin.client.deleteRecords(a_map((_place(topic), before))), "all")


def _grow(admin: Admin, topic: str) -> str:
    more = jpype.JClass(f"{_ADMIN}.NewPartitions").increaseTo(8)
    return admin.done(admin.client.createPartitions(a_map((topic, more))), "all")


def _elect(admin: Admin, topic: str) -> str:
    kind = jpype.JClass(f"{_COMMON}.ElectionType").PREFERRED
    places = jpype.JClass("java.util.HashSet")()
    places.add(_place(topic))
    return admin.done(admin.client.electLeaders(kind, places), "all")


def _reassign(admin: Admin, topic: str) -> str:
    target = jpype.JClass(f"{_ADMIN}.NewPartitionReassignment")(a_list(jpype.JClass("java.lang.Integer")(1)))
    optional = jpype.JClass("java.util.Optional").of(target)
    said = [admin.done(admin.client.alterPartitionReassignments(a_map((_place(topic), optional))), "all")]
    said.append(admin.done(admin.client.listPartitionReassignments(), "reassignments"))
    return ",".join(said)


def _list_offsets(admin: Admin, topic: str) -> str:
    spec = jpype.JClass(f"{_ADMIN}.OffsetSpec")
    kinds = [
        way for way in ("latest", "earliest", "maxTimestamp", "earliestLocal", "latestTiered") if hasattr(spec, way)
    ]
    asked = [admin.client.listOffsets(a_map((_place(topic), getattr(spec, way)()))) for way in kinds]
    return ",".join(admin.done(each, "all") for each in asked)


def _tokens(admin: Admin) -> str:
    said = [admin.done(admin.client.createDelegationToken(), "delegationToken")]
    said.append(admin.done(admin.client.describeDelegationToken(), "delegationTokens"))
    return ",".join(said)


def _features(admin: Admin) -> str:
    said = [admin.done(admin.client.describeFeatures(), "featureMetadata")]
    update = jpype.JClass(f"{_ADMIN}.FeatureUpdate")
    change = update(jpype.JShort(99), update.UpgradeType.UPGRADE)
    options = jpype.JClass(f"{_ADMIN}.UpdateFeaturesOptions")()
    said.append(admin.done(admin.client.updateFeatures(a_map(("metadata.version", change)), options), "all"))
    return ",".join(said)


def _alter_offsets(admin: Admin, topic: str, group: str) -> str:
    offset = jpype.JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")(jpype.JLong(2), "by hand")
    said = [admin.done(admin.client.alterConsumerGroupOffsets(group, a_map((_place(topic), offset))), "all")]
    places = jpype.JClass("java.util.HashSet")()
    places.add(_place(topic))
    said.append(admin.done(admin.client.deleteConsumerGroupOffsets(group, places), "all"))
    return ",".join(said)


_CALLS: Mapping[str, Callable[[Admin], str]] = {
    "cluster": lambda a: a.done(a.client.describeCluster(), "nodes"),
    "topics": lambda a: a.done(a.client.listTopics(), "names"),
    "describe": lambda a: a.done(a.client.describeTopics(a_list(a.topic)), "allTopicNames", "all"),
    "configs": lambda a: a.done(a.client.describeConfigs(a_list(_resource("TOPIC", a.topic))), "all"),
    "broker configs": lambda a: a.done(a.client.describeConfigs(a_list(_resource("BROKER", "1"))), "all"),
    "set configs": lambda a: _set_configs(a, a.topic),
    "replace configs": lambda a: _replace_configs(a, a.topic),
    "grow": lambda a: _grow(a, a.topic),
    "delete records": lambda a: _delete_records(a, a.topic),
    "log dirs": lambda a: a.done(
        a.client.describeLogDirs(a_list(jpype.JClass("java.lang.Integer")(1))), "allDescriptions", "all"
    ),
    "acls": lambda a: _acls(a, a.user),
    "groups": lambda a: a.done(a.client.listConsumerGroups(), "all"),
    "all groups": lambda a: a.done(a.client.listGroups(), "all"),
    "describe group": lambda a: a.done(a.client.describeConsumerGroups(a_list(a.group)), "all"),
    "group offsets": lambda a: a.done(a.client.listConsumerGroupOffsets(a.group), "partitionsToOffsetAndMetadata"),
    "alter offsets": lambda a: _alter_offsets(a, a.topic, a.group),
    "list offsets": lambda a: _list_offsets(a, a.topic),
    "elect": lambda a: _elect(a, a.topic),
    "reassign": lambda a: _reassign(a, a.topic),
    "scram": lambda a: _scram(a, a.user),
    "quotas": lambda a: _quotas(a, a.user),
    "tokens": lambda a: _tokens(a),
    "features": lambda a: _features(a),
    "quorum": lambda a: a.done(a.client.describeMetadataQuorum(), "quorumInfo"),
    "producers": lambda a: a.done(a.client.describeProducers(a_list(_place(a.topic))), "all"),
    "transactions": lambda a: a.done(a.client.listTransactions(), "all"),
    "describe transactions": lambda a: a.done(a.client.describeTransactions(a_list("checkout-7")), "all"),
    "metrics resources": lambda a: a.done(a.client.listClientMetricsResources(), "all"),
    "config resources": lambda a: a.done(a.client.listConfigResources(), "all"),
    "fence": lambda a: a.done(a.client.fenceProducers(a_list("nobody")), "all"),
    "share groups": lambda a: a.done(a.client.describeShareGroups(a_list("warehouse")), "all"),
    "streams groups": lambda a: a.done(a.client.describeStreamsGroups(a_list("enrich")), "all"),
    "delete group": lambda a: a.done(a.client.deleteConsumerGroups(a_list(a.group)), "all"),
}


def configure(bootstrap: str, properties: dict[str, str], *, kind: str, name: str, values: dict[str, str]) -> str:
    """IncrementalAlterConfigs: set `values` of one resource (`kind`: TOPIC, BROKER, GROUP …)."""
    admin = Admin(bootstrap, properties)
    operation = jpype.JClass(f"{_ADMIN}.AlterConfigOp")
    entry = jpype.JClass(f"{_ADMIN}.ConfigEntry")
    changes = [operation(entry(key, value), operation.OpType.SET) for key, value in values.items()]
    said = admin.done(admin.client.incrementalAlterConfigs(a_map((_resource(kind, name), a_list(*changes)))), "all")
    admin.client.close()
    return said


def limit(bootstrap: str, properties: dict[str, str], *, user: str, rates: dict[str, float]) -> str:
    """AlterClientQuotas: rates of one user; with no name, the default rates of all users."""
    admin = Admin(bootstrap, properties)
    quota = f"{_COMMON}.quota"
    entity = jpype.JClass(f"{quota}.ClientQuotaEntity")(a_map(("user", user or None)))
    operation = jpype.JClass(f"{quota}.ClientQuotaAlteration$Op")
    changes = [operation(name, jpype.JClass("java.lang.Double")(rate)) for name, rate in rates.items()]
    change = jpype.JClass(f"{quota}.ClientQuotaAlteration")(entity, a_list(*changes))
    said = admin.done(admin.client.alterClientQuotas(a_list(change)), "all")
    admin.client.close()
    return said


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "create": create,
    "delete": delete,
    "administer": administer,
    "configure": configure,
    "limit": limit,
}
