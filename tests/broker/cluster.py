"""A playground's cluster with the additions that only tests need: ZooKeeper, a Kerberos realm, a telemetry reporter."""

from __future__ import annotations

import socket
import time
from pathlib import Path

from kwcli.playground import broker_properties, playground_cluster
from kwcli.playground.broker_properties import NodePlan
from kwcli.playground.free_ports import find_free_ports
from kwcli.playground.java_process import JAVA_FLAGS, Process
from kwcli.playground.playground_cluster import StartFailed, join_class_path
from tests.broker.jars import OLD_BROKERS, old_broker_jars, telemetry_classes
from tests.broker.kerberos import Realm
from tests.broker.options import Options

__all__ = ["Cluster", "StartFailed"]


class Cluster(playground_cluster.Cluster):
    """A cluster of the tests; `folder` keeps its files when given (request logs: `folder/node-N/requests.log`)."""

    options: Options

    def __init__(self, options: Options | None = None, folder: Path | None = None) -> None:
        super().__init__(options or Options(), folder)
        self.realm = Realm(self.folder / "kerberos")
        self._zookeeper: Process | None = None
        (self.zookeeper_port,) = find_free_ports(1, self.options.host)

    def stop(self) -> None:
        """Kill all nodes first if no files are kept: an orderly stop of three nodes takes seconds."""
        if not self._keep:
            self.kill()
        super().stop()

    @property
    def on_zookeeper(self) -> bool:
        return self.options.mode == "zookeeper"

    def _find_jars(self) -> list[Path]:
        old = self.options.version in OLD_BROKERS
        jars = old_broker_jars(self.options.version) if old else super()._find_jars()
        return [*jars, telemetry_classes(self.options.version)] if self.options.telemetry else jars

    def _list_controller_numbers(self) -> list[int]:
        return [] if self.on_zookeeper else super()._list_controller_numbers()

    def _list_jvm_flags(self) -> list[str]:
        flags = [] if self.options.telemetry else super()._list_jvm_flags()
        return [*flags, self.realm.flag] if self.options.kerberos else flags

    def _make_server_properties(self, node: NodePlan) -> dict[str, str]:
        lines = (
            broker_properties.make_broker_properties(self.options, node, self.nodes)
            if self.on_zookeeper
            else super()._make_server_properties(node)
        )
        if self.on_zookeeper:
            lines["broker.id"] = str(node.id)
            lines["zookeeper.connect"] = f"{self.options.host}:{self.zookeeper_port}"
            # A crashed node is given up, and may come back, after two seconds.
            lines["zookeeper.session.timeout.ms"] = "2000"
            if self.options.authorizer:
                lines |= broker_properties.make_authorizer_properties("kafka.security.authorizer.AclAuthorizer")
        if self.options.kerberos:
            shown = [(name, port) for name, port in node.ports.items() if name != "CONTROLLER"]
            lines["advertised.listeners"] = ",".join(f"{name}://localhost:{port}" for name, port in shown)
            if any(name.startswith("SASL") for name in self.options.listeners):
                lines["sasl.enabled.mechanisms"] += ",GSSAPI"
                lines["sasl.kerberos.service.name"] = "kafka"
                lines["listener.name.sasl_plaintext.gssapi.sasl.jaas.config"] = self.realm.login("kafka/localhost")
        if self.options.telemetry:
            lines["metric.reporters"] = "Telemetry"
        return lines | dict(self.options.properties)

    def _wait_until_brokers_know_each_other(self) -> None:
        """Wait until the brokers know each other; old brokers run alone and do not know the request."""
        if self.options.version not in OLD_BROKERS:
            super()._wait_until_brokers_know_each_other()

    def _format_storage(self, node: NodePlan, file: Path) -> None:
        if not self.on_zookeeper:
            super()._format_storage(node, file)

    def _start_programs_nodes_need(self) -> None:
        if self.options.kerberos:
            self.realm.start()
        if self.on_zookeeper:
            self._start_zookeeper()

    def _stop_programs_nodes_need(self) -> None:
        if self._zookeeper:
            self._zookeeper.terminate()
            self._zookeeper.wait()
        self.realm.stop()

    def _start_zookeeper(self) -> None:
        folder = self.folder / "zookeeper"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "zoo.cfg").write_text(_zoo_cfg(folder, self.options.host, self.zookeeper_port))
        (folder / "log4j.properties").write_text(broker_properties.format_log4j_properties(folder, False))
        command = ["java", *JAVA_FLAGS, "-Xmx128m", f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}"]
        command += ["-cp", join_class_path(self._jars), "org.apache.zookeeper.server.quorum.QuorumPeerMain"]
        self._zookeeper = Process([*command, str(folder / "zoo.cfg")], folder / "output.log")
        deadline = time.monotonic() + self.options.start_timeout_s
        while _first_bytes(self.options.host, self.zookeeper_port, b"ruok") != b"imok":
            if not self._zookeeper.running or time.monotonic() > deadline:
                raise StartFailed(f"ZooKeeper does not answer: {self._zookeeper.tail()}")
            time.sleep(0.05)


def _zoo_cfg(folder: Path, host: str, port: int) -> str:
    """The configuration of a stand-alone ZooKeeper without its web server."""
    return (
        f"dataDir={folder}\nclientPort={port}\nclientPortAddress={host}\ntickTime=500\n"
        "admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=ruok,srvr\n"
    )


def _first_bytes(host: str, port: int, question: bytes, *, timeout_s: float = 2.0) -> bytes:
    """The answer to one of ZooKeeper's four letter words, empty when nobody answers."""
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(question)
            return connection.recv(4096)
    except OSError:
        return b""
