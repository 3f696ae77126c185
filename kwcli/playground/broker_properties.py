"""The options and ports of a cluster in, the text of its configuration files out: server.properties, log4j."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

__all__ = [
    "LISTENERS",
    "PASSWORDS",
    "ClusterOptions",
    "Listener",
    "NodePlan",
    "format_log4j2_properties",
    "format_log4j_properties",
    "format_properties",
    "make_authorizer_properties",
    "make_broker_properties",
    "make_server_properties",
]

Listener = Literal["INTERNAL", "PLAINTEXT", "SSL", "MTLS", "SASL_PLAINTEXT", "SASL_SSL"]

# Listener name → Kafka's security protocol.
LISTENERS: Final[Mapping[str, str]] = {
    "INTERNAL": "PLAINTEXT",
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MTLS": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
}
# Users that every SASL listener knows, under PLAIN and both SCRAMs.
PASSWORDS: Final[Mapping[str, str]] = {"admin": "admin-secret", "alice": "alice-secret", "bob": "bob-secret"}


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Everything that decides how a cluster starts.

    The first listener is the one that brokers use among themselves. `first_port` gives that port and the free ones that
    follow to the listeners, one listener after the other; without it any free ports do. `properties` are added to (and
    win over) every node's server.properties. `roles` "combined" makes each node broker and controller; "separate" adds
    as many controller-only nodes (numbered from 101). `jars` is a folder with a broker's jars; without it Maven fetches
    those of `version`.
    """

    version: str = "4.3.1"
    nodes: int = 1
    quorum: Literal["static", "dynamic"] = "static"
    roles: Literal["combined", "separate"] = "combined"
    listeners: tuple[Listener, ...] = ("PLAINTEXT",)
    host: str = "127.0.0.1"
    first_port: int | None = None
    request_log: bool = False
    class_archive: bool = False
    authorizer: bool = False
    heap: str = "384m"
    jars: Path | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    start_timeout_s: float = 60.0


# Configuration files of nodes


MECHANISMS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
_SECURITY: Final = "org.apache.kafka.common.security"


@dataclass(slots=True)
class NodePlan:
    """One node: its id, its folder, and the address and port of each of its listeners (CONTROLLER among them)."""

    id: int
    folder: Path
    host: str
    ports: dict[str, int]
    broker: bool = True
    controller: bool = True
    directory_id: str = ""
    arguments: list[str] = field(default_factory=list)

    def address(self, listener: str) -> str:
        """`host:port` of one of its listeners."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.ports[listener]}"


def make_server_properties(options: ClusterOptions, node: NodePlan, nodes: Sequence[NodePlan]) -> dict[str, str]:
    """server.properties of one KRaft node."""
    return (
        make_broker_properties(options, node, nodes)
        | _make_quorum_properties(options, node, nodes)
        | dict(options.properties)
    )


def make_broker_properties(options: ClusterOptions, node: NodePlan, nodes: Sequence[NodePlan]) -> dict[str, str]:
    """The properties of a node that are the same under KRaft and ZooKeeper."""
    lines = _make_common_properties(options, len([each for each in nodes if each.broker]))
    lines["log.dirs"] = str(node.folder / "data")
    lines.update(_make_listener_properties(options, node))
    if any(name.startswith("SASL") for name in options.listeners):
        lines.update(_make_sasl_properties(options))
    if any(LISTENERS[name].endswith("SSL") for name in options.listeners):
        lines.update(_make_tls_properties(node.folder.parent / "tls", options))
    if options.authorizer:
        lines.update(make_authorizer_properties("org.apache.kafka.metadata.authorizer.StandardAuthorizer"))
    return lines


def format_properties(lines: Mapping[str, str]) -> str:
    """Properties as the text of a Java properties file (no value here needs escaping)."""
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def format_log4j2_properties(folder: Path, request_log: bool) -> str:
    """log4j2.properties of 4.x brokers; its own shutdown hook would cut the last lines of the request log."""
    appenders = [("server", "server.log", "%d{ISO8601} %p %c %m%n"), ("requests", "requests.log", _REQUEST_LAYOUT)]
    lines = ["status=error", "shutdownHook=disable", "rootLogger.level=info", "rootLogger.appenderRef.s.ref=server"]
    for name, file, layout in appenders:
        lines += [f"appender.{name}.type=File", f"appender.{name}.name={name}"]
        lines += [f"appender.{name}.fileName={folder / file}", f"appender.{name}.layout.type=PatternLayout"]
        lines += [f"appender.{name}.layout.pattern={layout}"]
    lines += ["logger.r.name=kafka.request.logger", f"logger.r.level={'debug' if request_log else 'warn'}"]
    lines += ["logger.r.additivity=false", "logger.r.appenderRef.r.ref=requests"]
    return "\n".join(lines) + "\n"


def format_log4j_properties(folder: Path, request_log: bool) -> str:
    """log4j.properties of 3.x brokers (reload4j)."""
    lines = ["log4j.rootLogger=INFO, server"]
    for name, file, layout in (
        ("server", "server.log", "%d %p %c %m%n"),
        ("requests", "requests.log", _REQUEST_LAYOUT),
    ):
        lines += [f"log4j.appender.{name}=org.apache.log4j.FileAppender", f"log4j.appender.{name}.File={folder / file}"]
        lines += [f"log4j.appender.{name}.layout=org.apache.log4j.PatternLayout"]
        lines += [f"log4j.appender.{name}.layout.ConversionPattern={layout}"]
    lines += [f"log4j.logger.kafka.request.logger={'DEBUG' if request_log else 'WARN'}, requests"]
    lines += ["log4j.additivity.kafka.request.logger=false"]
    return "\n".join(lines) + "\n"


_REQUEST_LAYOUT: Final = "%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %m%n"


def _make_common_properties(options: ClusterOptions, brokers: int) -> dict[str, str]:
    copies = str(min(brokers, 3))
    lines = {"group.initial.rebalance.delay.ms": "0", "log.cleaner.dedupe.buffer.size": "2097152"}
    stores = [("offsets.topic", ""), ("transaction.state.log", "transaction.state.log.min.isr")]
    if options.version.startswith("4."):
        stores.append(("share.coordinator.state.topic", "share.coordinator.state.topic.min.isr"))
    for prefix, min_isr in stores:
        lines[f"{prefix}.replication.factor"] = copies
        lines[f"{prefix}.num.partitions"] = "1"
        if min_isr:
            lines[min_isr] = "1"
    return lines


def _make_listener_properties(options: ClusterOptions, node: NodePlan) -> dict[str, str]:
    mine = _list_listener_names(options, node)
    lines = {"listeners": ",".join(f"{name}://{node.address(name)}" for name in mine)}
    protocols = {name: LISTENERS.get(name, "PLAINTEXT") for name in ("CONTROLLER", *options.listeners)}
    lines["listener.security.protocol.map"] = ",".join(f"{name}:{protocol}" for name, protocol in protocols.items())
    if node.broker:
        lines["inter.broker.listener.name"] = options.listeners[0]
    return lines


def _list_listener_names(options: ClusterOptions, node: NodePlan) -> list[str]:
    names: list[str] = list(options.listeners) if node.broker else []
    if node.controller:
        names.append("CONTROLLER")
    return names


def _make_quorum_properties(options: ClusterOptions, node: NodePlan, nodes: Sequence[NodePlan]) -> dict[str, str]:
    controllers = [(each.id, each.address("CONTROLLER")) for each in nodes if each.controller]
    roles = [name for name, has in (("broker", node.broker), ("controller", node.controller)) if has]
    lines = {
        "process.roles": ",".join(roles),
        "node.id": str(node.id),
        "controller.listener.names": "CONTROLLER",
    }
    if options.quorum == "static":
        lines["controller.quorum.voters"] = ",".join(f"{number}@{place}" for number, place in controllers)
    else:
        lines["controller.quorum.bootstrap.servers"] = ",".join(place for _, place in controllers)
    return lines


def _make_sasl_properties(options: ClusterOptions) -> dict[str, str]:
    lines = {"sasl.enabled.mechanisms": MECHANISMS, "delegation.token.secret.key": "not-so-secret"}
    users = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
    admin = f'username="admin" password="{PASSWORDS["admin"]}"'
    modules = {
        "plain": f"{_SECURITY}.plain.PlainLoginModule required {admin} {users};",
        "scram-sha-256": f"{_SECURITY}.scram.ScramLoginModule required {admin};",
        "scram-sha-512": f"{_SECURITY}.scram.ScramLoginModule required {admin};",
        "oauthbearer": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="admin";',
    }
    for name in options.listeners:
        if name.startswith("SASL"):
            for mechanism, module in modules.items():
                lines[f"listener.name.{name.lower()}.{mechanism}.sasl.jaas.config"] = module
    lines["sasl.mechanism.inter.broker.protocol"] = "PLAIN"
    return lines


def _make_tls_properties(folder: Path, options: ClusterOptions) -> dict[str, str]:
    lines = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
    }
    if "MTLS" in options.listeners:
        lines["listener.name.mtls.ssl.client.auth"] = "required"
    return lines


def make_authorizer_properties(name: str) -> dict[str, str]:
    """Properties for ACLs by the authorizer class `name`; clients that did not authenticate may do everything."""
    return {"authorizer.class.name": name, "super.users": "User:ANONYMOUS;User:admin"}
