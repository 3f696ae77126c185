"""A throw-away Apache Kafka cluster from Maven jars: `with Cluster(Options(...)) as cluster: cluster.bootstrap()`."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.broker import properties
from tests.broker.certificates import make_certificates
from tests.broker.jars import broker_jars, cache, telemetry_classes
from tests.broker.kerberos import Realm
from tests.broker.options import LISTENERS, PASSWORDS, Options
from tests.broker.ports import free_ports
from tests.broker.process import JAVA_FLAGS, Process, run_java
from tests.broker.properties import NodePlan
from tests.broker.ready import answers, reads_line

__all__ = ["Cluster", "StartFailed"]


class StartFailed(RuntimeError):
    """A node ended or stayed silent while it was starting; the text holds the end of its log."""


class Cluster:
    """Nodes as child processes in one scratch folder; stopped and removed at the end of the `with` block.

    `folder` keeps the files when given (request logs: `folder/node-N/requests.log`).
    """

    def __init__(self, options: Options | None = None, folder: Path | None = None) -> None:
        self.options = options or Options()
        self._keep = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="kw-"))
        self.cluster_id = _uuid22()
        self._jars: list[Path] = broker_jars(self.options.version)
        if self.options.telemetry:
            self._jars = [*self._jars, telemetry_classes(self.options.version)]
        self._processes: dict[int, Process] = {}
        self._zookeeper: Process | None = None
        self.realm = Realm(self.folder / "kerberos")
        self.zookeeper_port = 0
        self.nodes = self._plan()

    def __enter__(self) -> Cluster:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    # What clients ask

    def bootstrap(self, listener: str = "PLAINTEXT") -> str:
        """`host:port,…` of one listener on every broker."""
        host = self._host
        return ",".join(f"{host}:{node.ports[listener]}" for node in self.nodes if node.broker)

    @property
    def ports(self) -> list[int]:
        """All ports of all nodes (ZooKeeper's own not among them)."""
        return sorted(port for node in self.nodes for port in node.ports.values())

    @property
    def request_logs(self) -> list[Path]:
        """The request log of each node."""
        return [node.folder / "requests.log" for node in self.nodes]

    # Life

    def start(self) -> None:
        """Format and start everything; returns when every node answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(LISTENERS[name].endswith("SSL") for name in self.options.listeners):
            make_certificates(self.folder / "tls")
        if self.options.kerberos:
            self.realm.start()
        if self.options.mode == "zookeeper":
            self._start_zookeeper()
        for node in self.nodes:
            self._prepare(node)
        for node in self.nodes:
            self.start_node(node.id, wait=False)
        for node in self.nodes:
            self.wait_until_ready(node.id)

    def stop(self) -> None:
        """Stop all nodes at once, then ZooKeeper, then remove the folder."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()
        if self._zookeeper:
            self._zookeeper.terminate()
            self._zookeeper.wait()
        self.realm.stop()
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def start_node(self, number: int, *, wait: bool = True) -> None:
        """Start one node (again)."""
        node = self.node(number)
        command = [*self._java(node), "kafka.Kafka", str(node.folder / "server.properties")]
        self._processes[number] = Process(command, node.folder / "output.log")
        if wait:
            self.wait_until_ready(number)

    def stop_node(self, number: int) -> None:
        """Stop one node in good order."""
        self._processes[number].terminate()
        self._processes[number].wait()

    def kill_node(self, number: int) -> None:
        """Let one node crash."""
        self._processes[number].kill()

    def running(self, number: int) -> bool:
        """Whether the process of this node is alive."""
        return self._processes[number].running

    def wait_until_ready(self, number: int) -> None:
        """Block until the node answers ApiVersions on its first listener that is not TLS."""
        node, process = self.node(number), self._processes[number]
        port = next((port for name, port in node.ports.items() if not LISTENERS.get(name, "").endswith("SSL")), None)
        deadline = time.monotonic() + self.options.start_timeout_s
        while port is not None and not answers(self.options.host, port):
            if not process.running or time.monotonic() > deadline:
                raise StartFailed(f"node {number} does not answer: {process.tail()}{self._log_tail(node)}")
            time.sleep(0.05)

    def node(self, number: int) -> NodePlan:
        """The plan of the node with this id."""
        return next(node for node in self.nodes if node.id == number)

    # Preparation

    @property
    def _host(self) -> str:
        return f"[{self.options.host}]" if ":" in self.options.host else self.options.host

    def _plan(self) -> list[NodePlan]:
        options = self.options
        kraft = options.mode == "kraft"
        separate = kraft and options.roles == "separate"
        plans = []
        for number in range(1, options.nodes + 1):
            names = [*options.listeners, *(["CONTROLLER"] if kraft and not separate else [])]
            plans.append((number, names, True, kraft and not separate))
        if separate:
            plans += [(100 + number, ["CONTROLLER"], False, True) for number in range(1, options.nodes + 1)]
        total = sum(len(names) for _, names, _, _ in plans) + 1
        free = list(range(options.first_port, options.first_port + total)) if options.first_port else []
        free = free or free_ports(total, options.host)
        # Listener by listener, so that fixed ports read 9092, 9093, 9094 for three nodes' PLAINTEXT.
        order = sorted(
            {name for _, names, _, _ in plans for name in names}, key=lambda name: (name != "PLAINTEXT", name)
        )
        taken = {(number, name): free.pop(0) for name in order for number, names, _, _ in plans if name in names}
        nodes = []
        for number, names, broker, controller in plans:
            ports = {name: taken[number, name] for name in names}
            nodes.append(NodePlan(number, self.folder / f"node-{number}", ports, broker, controller, _uuid22()))
        self.zookeeper_port = free.pop(0)
        return nodes

    def _prepare(self, node: NodePlan) -> None:
        node.folder.mkdir(parents=True, exist_ok=True)
        lines = properties.server_properties(self.options, node, self.nodes, self.zookeeper_port)
        file = node.folder / "server.properties"
        file.write_text(properties.as_text(lines))
        log = self.options.request_log
        (node.folder / "log4j2.properties").write_text(properties.log4j2(node.folder, log))
        (node.folder / "log4j.properties").write_text(properties.log4j(node.folder, log))
        if self.options.mode == "kraft":
            run_java([*self._java(node), "kafka.tools.StorageTool", "format", *self._format_arguments(node, file)])

    def _format_arguments(self, node: NodePlan, file: Path) -> list[str]:
        arguments = ["-t", self.cluster_id, "-c", str(file)]
        if any(name.startswith("SASL") for name in self.options.listeners):
            for user, password in PASSWORDS.items():
                for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                    arguments += ["--add-scram", f"{mechanism}=[name={user},password={password}]"]
        if self.options.quorum == "dynamic":
            voters = [each for each in self.nodes if each.controller]
            if node.controller:
                text = ",".join(f"{v.id}@{self._host}:{v.ports['CONTROLLER']}:{v.directory_id}" for v in voters)
                arguments += ["--initial-controllers", text]
            else:
                arguments += ["--no-initial-controllers"]
        return arguments

    def _java(self, node: NodePlan) -> list[str]:
        flags = [*JAVA_FLAGS, f"-Xmx{self.options.heap}"]
        if self.options.version.startswith("4."):
            flags.append(f"-Dlog4j2.configurationFile={node.folder / 'log4j2.properties'}")
        else:
            flags.append(f"-Dlog4j.configuration=file:{node.folder / 'log4j.properties'}")
        if self.options.kerberos:
            flags.append(self.realm.flag)
        if self.options.class_archive and not self.options.telemetry:
            flags.append(f"-XX:SharedArchiveFile={_class_archive(self.options.version, self._jars)}")
        return ["java", *flags, "-cp", _class_path(self._jars)]

    def _start_zookeeper(self) -> None:
        folder = self.folder / "zookeeper"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "zoo.cfg").write_text(properties.zoo_cfg(folder, self.options.host, self.zookeeper_port))
        (folder / "log4j.properties").write_text(properties.log4j(folder, False))
        command = ["java", *JAVA_FLAGS, "-Xmx128m", f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}"]
        command += ["-cp", _class_path(self._jars), "org.apache.zookeeper.server.quorum.QuorumPeerMain"]
        self._zookeeper = Process([*command, str(folder / "zoo.cfg")], folder / "output.log")
        deadline = time.monotonic() + self.options.start_timeout_s
        while reads_line(self.options.host, self.zookeeper_port, b"ruok") != b"imok":
            if not self._zookeeper.running or time.monotonic() > deadline:
                raise StartFailed(f"ZooKeeper does not answer: {self._zookeeper.tail()}")
            time.sleep(0.05)

    @staticmethod
    def _log_tail(node: NodePlan) -> str:
        log = node.folder / "server.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        # What comes last may be the end of a long stack trace: the first causes are told beside it.
        causes = [line[:300] for line in text.splitlines() if "ERROR" in line or "Exception" in line]
        return "\n".join([*causes[:20], text[-3000:]])


def _uuid22() -> str:
    # Kafka's tools take a leading dash for an option.
    while (text := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def _class_path(jars: Sequence[Path]) -> str:
    return ":".join(map(str, jars))


def _class_archive(version: str, jars: Sequence[Path]) -> Path:
    """An AppCDS archive of the classes that `kafka.Kafka` loads, made by one start and stop on first use."""
    archive = cache() / f"kafka-{version}.jsa"
    if not archive.exists():
        with Cluster(Options(version=version)) as warm:
            node = warm.nodes[0]
            warm.stop_node(node.id)
            made = archive.with_suffix(f".{uuid.uuid4().hex}")
            command = [*warm._java(node)[:-2], f"-XX:ArchiveClassesAtExit={made}", "-cp", _class_path(jars)]
            process = Process(
                [*command, "kafka.Kafka", str(node.folder / "server.properties")], node.folder / "cds.log"
            )
            while process.running and not answers(warm.options.host, node.ports["PLAINTEXT"]):
                time.sleep(0.05)
            process.terminate()
            process.wait(60.0)
            made.rename(archive)
    return archive
