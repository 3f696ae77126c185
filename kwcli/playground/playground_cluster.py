"""A throw-away Apache Kafka cluster from jars: `with Cluster(ClusterOptions(...)) as cluster: cluster.bootstrap()`."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from kwcli.playground import broker_properties
from kwcli.playground.broker_properties import LISTENERS, PASSWORDS, ClusterOptions, NodePlan
from kwcli.playground.download_jars import find_broker_jars, find_jar_cache_folder
from kwcli.playground.free_ports import find_free_ports, find_next_free_ports
from kwcli.playground.java_process import JAVA_FLAGS, Process, fetch_known_broker_ids, is_kafka_answering, run_java
from kwcli.playground.tls_certificates import write_tls_certificates

__all__ = ["Cluster", "StartFailed", "join_class_path"]

# The most characters of a node's last output that a message quotes.
_LAST: Final = 200
# Seconds that `state` waits for a node's answer.
_LOOK_S: Final = 0.5


class StartFailed(RuntimeError):
    """A node ended or stayed silent while it was starting; the text holds the end of its log."""


class Cluster:
    """A Kafka cluster: nodes as child processes in one scratch folder, stopped and removed at the end of `with`.

    `folder` keeps the files when given (request logs: `folder/node-N/requests.log`).
    """

    def __init__(self, options: ClusterOptions | None = None, folder: Path | None = None) -> None:
        self.options = options or ClusterOptions()
        self._keep = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="kw-"))
        self.cluster_id = _make_random_uuid_text()
        self._jars = self._find_jars()
        self._processes: dict[int, Process] = {}
        self.nodes = self._plan_nodes()

    def __enter__(self) -> Self:
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
        return ",".join(node.address(listener) for node in self.nodes if node.broker)

    @property
    def ports(self) -> list[int]:
        """All ports of all nodes, without ZooKeeper's own."""
        return sorted(port for node in self.nodes for port in node.ports.values())

    @property
    def request_logs(self) -> list[Path]:
        """The request log of each node."""
        return [node.folder / "requests.log" for node in self.nodes]

    # Life

    def start(self) -> None:
        """Format and start everything; returns when every node answers and brokers know each other."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(LISTENERS[name].endswith("SSL") for name in self.options.listeners):
            write_tls_certificates(self.folder / "tls")
        self._start_programs_nodes_need()
        self._list_jvm_flags()  # makes the class archive, once for all threads
        with ThreadPoolExecutor() as threads:
            list(threads.map(self._write_node_files, self.nodes))
        for node in self.nodes:
            self.start_node(node.id, wait=False)
        for node in self.nodes:
            self.wait_until_ready(node.id)
        self._wait_until_brokers_know_each_other()

    def stop(self) -> None:
        """Stop all nodes at once, then the programs that they need, then remove the folder."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()
        self._stop_programs_nodes_need()
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """Kill all nodes at once, for a cluster that is not used again."""
        for process in self._processes.values():
            process.kill()

    def explain_node_end(self, number: int) -> str:
        """How a node that does not run ended, in a few words: `was killed (SIGKILL)`, or its last error."""
        end = self._processes[number].end
        if not end.startswith("ended"):
            return end
        said = " ".join(line for line in self._read_error_lines(self.find_node_plan(number))[-1:]) or self._processes[
            number
        ].tail(_LAST)
        said = " ".join(said.split())
        return f"{end}: {said[:_LAST]}" if said else end

    # Methods that a cluster of another kind overrides

    def _find_jars(self) -> list[Path]:
        return find_broker_jars(self.options.version, self.options.jars)

    def _start_programs_nodes_need(self) -> None:
        """Start what nodes need before they start."""

    def _stop_programs_nodes_need(self) -> None:
        """Stop what `_start_programs_nodes_need` has started."""

    def _make_server_properties(self, node: NodePlan) -> dict[str, str]:
        """server.properties of a node."""
        return broker_properties.make_server_properties(self.options, node, self.nodes)

    def _list_jvm_flags(self) -> list[str]:
        """Further flags of every JVM."""
        if self.options.class_archive:
            archive = _make_class_archive(self.options.version, self._jars, self.folder / "archive")
            return [f"-XX:SharedArchiveFile={archive}"]
        return []

    def _list_controller_numbers(self) -> list[int]:
        """The numbers of the nodes that are controllers."""
        numbers = range(1, self.options.nodes + 1)
        return [*numbers] if self.options.roles == "combined" else [100 + number for number in numbers]

    def _format_storage(self, node: NodePlan, file: Path) -> None:
        run_java(
            [
                *self._make_java_command(node),
                "kafka.tools.StorageTool",
                "format",
                *self._list_storage_format_arguments(node, file),
            ]
        )

    # Life of one node

    def start_node(self, number: int, *, wait: bool = True) -> None:
        """Start one node (again)."""
        node = self.find_node_plan(number)
        command = [*self._make_java_command(node), "kafka.Kafka", str(node.folder / "server.properties")]
        self._processes[number] = Process(command, node.folder / "output.log")
        if wait:
            self.wait_until_ready(number)
            self._wait_until_brokers_know_each_other()

    def stop_node(self, number: int) -> None:
        """Stop one node in good order, and wait for its end."""
        self._processes[number].terminate()
        self._processes[number].wait()

    def request_node_stop(self, number: int) -> None:
        """Have one node stop in good order, without waiting for it."""
        self._processes[number].terminate()

    def kill_node(self, number: int) -> None:
        """Kill one node, as a crash would."""
        self._processes[number].kill()

    def pause_node(self, number: int) -> None:
        """Pause one node, as if it hung."""
        self._processes[number].pause()

    def unpause_node(self, number: int) -> None:
        """Let a paused node go on."""
        self._processes[number].unpause()

    def find_process_id_of_node(self, number: int) -> int:
        """The number of a node's process."""
        return self._processes[number].pid

    def find_node_state(self, number: int) -> Literal["up", "silent", "paused", "down"]:
        """The state of a node; a node that is just starting is silent."""
        process = self._processes[number]
        if not process.running:
            return "down"
        if process.paused:
            return "paused"
        host, port = self.find_node_plan(number).host, self._find_plain_port(number)
        return "up" if port is None or is_kafka_answering(host, port, timeout_s=_LOOK_S) else "silent"

    def is_node_running(self, number: int) -> bool:
        """Whether the process of this node is alive."""
        return self._processes[number].running

    def wait_until_ready(self, number: int) -> None:
        """Block until the node answers ApiVersions on its first listener that is not TLS."""
        node, process = self.find_node_plan(number), self._processes[number]
        port = self._find_plain_port(number)
        deadline = time.monotonic() + self.options.start_timeout_s
        while port is not None and not is_kafka_answering(node.host, port):
            if not process.running or time.monotonic() > deadline:
                raise StartFailed(f"node {number} does not answer: {process.tail()}{self._read_log_tail(node)}")
            time.sleep(0.05)

    def _find_plain_port(self, number: int) -> int | None:
        """The port of a node's first listener that is not TLS."""
        ports = self.find_node_plan(number).ports
        return next((port for name, port in ports.items() if not LISTENERS.get(name, "").endswith("SSL")), None)

    def _wait_until_brokers_know_each_other(self) -> None:
        """Block until every running broker that can be asked without TLS and login knows all running brokers."""
        deadline = time.monotonic() + self.options.start_timeout_s
        brokers = {node.id: node for node in self.nodes if node.broker and node.id in self._processes}
        wanted = {number for number in brokers if self.is_node_running(number)}
        for number in wanted:
            port = next((port for name, port in brokers[number].ports.items() if LISTENERS.get(name) == "PLAINTEXT"), 0)
            while port and not wanted <= fetch_known_broker_ids(brokers[number].host, port):
                if time.monotonic() > deadline:
                    raise StartFailed(
                        f"node {number} does not see the other nodes: {self._read_log_tail(brokers[number])}"
                    )
                time.sleep(0.05)

    def find_node_plan(self, number: int) -> NodePlan:
        """The plan of the node with this id."""
        return next(node for node in self.nodes if node.id == number)

    # Preparation

    def _plan_nodes(self) -> list[NodePlan]:
        options = self.options
        brokers, controllers = list(range(1, options.nodes + 1)), self._list_controller_numbers()
        taken = self._plan_ports(brokers, controllers)
        nodes = []
        for number in [*brokers, *(number for number in controllers if number not in brokers)]:
            ports = {name: port for (owner, name), port in taken.items() if owner == number}
            folder = self.folder / f"node-{number}"
            nodes.append(
                NodePlan(
                    number,
                    folder,
                    options.host,
                    ports,
                    number in brokers,
                    number in controllers,
                    _make_random_uuid_text(),
                )
            )
        return nodes

    def _plan_ports(self, brokers: Sequence[int], controllers: Sequence[int]) -> dict[tuple[int, str], int]:
        """(node, listener) → port, listener by listener: 9092, 9093, 9094 are the first listener of three nodes."""
        options = self.options
        shown: list[tuple[int, str]] = [
            (number, name) for name in options.listeners if name != "INTERNAL" for number in brokers
        ]
        hidden: list[tuple[int, str]] = [
            (number, name) for name in options.listeners if name == "INTERNAL" for number in brokers
        ]
        hidden += [(number, "CONTROLLER") for number in controllers]
        if options.first_port is None:
            return dict(zip(shown + hidden, find_free_ports(len(shown + hidden), options.host), strict=True))
        ports = find_next_free_ports(options.first_port, len(shown), options.host)
        if len(ports) < len(shown):
            raise StartFailed(f"no {len(shown)} free ports from {options.first_port} upward")
        others = [port for port in find_free_ports(len(shown + hidden), options.host) if port not in ports]
        return dict(zip(shown, ports, strict=True)) | dict(zip(hidden, others, strict=False))

    def _write_node_files(self, node: NodePlan) -> None:
        node.folder.mkdir(parents=True, exist_ok=True)
        file = node.folder / "server.properties"
        file.write_text(broker_properties.format_properties(self._make_server_properties(node)))
        log = self.options.request_log
        (node.folder / "log4j2.properties").write_text(broker_properties.format_log4j2_properties(node.folder, log))
        (node.folder / "log4j.properties").write_text(broker_properties.format_log4j_properties(node.folder, log))
        self._format_storage(node, file)

    def _list_storage_format_arguments(self, node: NodePlan, file: Path) -> list[str]:
        arguments = ["-t", self.cluster_id, "-c", str(file)]
        if any(name.startswith("SASL") for name in self.options.listeners):
            for user, password in PASSWORDS.items():
                for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                    arguments += ["--add-scram", f"{mechanism}=[name={user},password={password}]"]
        if self.options.quorum == "dynamic":
            voters = [each for each in self.nodes if each.controller]
            if node.controller:
                text = ",".join(f"{v.id}@{v.address('CONTROLLER')}:{v.directory_id}" for v in voters)
                arguments += ["--initial-controllers", text]
            else:
                arguments += ["--no-initial-controllers"]
        return arguments

    def _make_java_command(self, node: NodePlan) -> list[str]:
        flags = [*JAVA_FLAGS, f"-Xmx{self.options.heap}"]
        if self.options.version.startswith("4."):
            flags.append(f"-Dlog4j2.configurationFile={node.folder / 'log4j2.properties'}")
        else:
            flags.append(f"-Dlog4j.configuration=file:{node.folder / 'log4j.properties'}")
        return ["java", *flags, *self._list_jvm_flags(), "-cp", join_class_path(self._jars)]

    @staticmethod
    def _read_error_lines(node: NodePlan) -> list[str]:
        """The lines of a node's log that report errors."""
        log = node.folder / "server.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        return [line[:300] for line in text.splitlines() if "ERROR" in line or "Exception" in line]

    @classmethod
    def _read_log_tail(cls, node: NodePlan) -> str:
        log = node.folder / "server.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        # What comes last may be the end of a long stack trace: the first causes are told beside it.
        return "\n".join([*cls._read_error_lines(node)[:20], text[-3000:]])


def _make_random_uuid_text() -> str:
    # Kafka's tools take a leading dash for an option.
    while (text := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def join_class_path(jars: Sequence[Path]) -> str:
    return ":".join(map(str, jars))


def _make_class_archive(version: str, jars: Sequence[Path], folder: Path) -> Path:
    """An AppCDS archive of the classes that `kafka.Kafka` loads, made by one start and stop on first use."""
    archive = find_jar_cache_folder() / f"kafka-{version}.jsa"
    if not archive.exists():
        with Cluster(ClusterOptions(version=version), folder) as warm:
            node = warm.nodes[0]
            warm.stop_node(node.id)
            made = archive.with_suffix(f".{uuid.uuid4().hex}")
            command = [
                *warm._make_java_command(node)[:-2],
                f"-XX:ArchiveClassesAtExit={made}",
                "-cp",
                join_class_path(jars),
            ]
            process = Process(
                [*command, "kafka.Kafka", str(node.folder / "server.properties")], node.folder / "cds.log"
            )
            while process.running and not is_kafka_answering(warm.options.host, node.ports["PLAINTEXT"]):
                time.sleep(0.05)
            process.terminate()
            process.wait(60.0)
            made.rename(archive)
    return archive
