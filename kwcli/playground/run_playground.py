"""Options in, a running cluster out: started, shown, kept going until Ctrl-C or the end of a command, and removed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast

from kwcli.pip_extras import pip_command_for_extra
from kwcli.playground.add_user_profiles import add_profile, remove_profiles
from kwcli.playground.broker_properties import PASSWORDS, ClusterOptions, Listener, format_properties
from kwcli.playground.client_configs import ListenerConfig, make_listener_configs
from kwcli.playground.download_jars import Missing, explain_java_problem
from kwcli.playground.node_control import VARIABLE, NodeControlServer
from kwcli.playground.playground_cluster import Cluster, StartFailed
from kwcli.playground.sample_traffic import MEMBERS, TrafficMaker, create_topics
from kwcli.playground.temp_dirs import PlaygroundFolder, find_playgrounds_folder, remove_abandoned_folders
from kwcli.run_environment import Exit, Failure
from kwcli.run_user_command import exit_code_of, start_user_command

if TYPE_CHECKING:
    from kwcli.run_environment import Environment

__all__ = ["LibrdkafkaMock", "PlaygroundOptions", "run_playground"]


WAIT_S: Final = 5.0
# The number of partitions that the mock gives a new topic.
PARTITIONS: Final = 4


class LibrdkafkaMock:
    """`nodes` mock brokers, alive as long as the `with` block. Raises Failure where confluent-kafka is missing."""

    def __init__(self, nodes: int) -> None:
        try:
            from confluent_kafka import Producer
        except ImportError:
            raise Failure(
                "a playground needs Java 17 (and Maven, or --jars FOLDER), or the mock: "
                + pip_command_for_extra("playground")
            ) from None
        settings = {"test.mock.num.brokers": nodes, "log_level": 0}
        self._producer: Any = Producer(settings)
        found = self._producer.list_topics(timeout=WAIT_S).brokers
        self.places = [(found[number].host, found[number].port) for number in sorted(found)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._producer = None

    def bootstrap(self) -> str:
        """`host:port,…` of all mock brokers."""
        return ",".join(f"{host}:{port}" for host, port in self.places)

    def create_topic(self, name: str) -> None:
        """Make a topic by asking the mock about it; the mock chooses the number of partitions."""
        self._producer.list_topics(name, timeout=WAIT_S)


LOOK_S: Final = 0.5  # time between two looks whether all nodes are alive
RUN_LOOK_S: Final = 0.02  # time between two looks whether --run's command is alive
DEMO: Final = "demo"  # the topic of the traffic where none was named


@dataclass(frozen=True, slots=True)
class PlaygroundOptions:
    """What the command line asks for."""

    nodes: int
    release: str
    port: int
    listeners: tuple[str, ...]
    topics: tuple[tuple[str, int | None], ...]  # None: as many partitions as there are by default
    traffic: bool
    run: str | None
    jars: Path | None
    mock: bool
    quiet: bool
    keep_going: bool = False
    said: frozenset[str] = frozenset()  # which of port and version are not the default

    @property
    def all_topics(self) -> tuple[tuple[str, int], ...]:
        """The topics named, or where none is, one for the traffic."""
        return tuple((name, count or 1) for name, count in self.topics) or (((DEMO, 3),) if self.traffic else ())

    def find_option_mock_lacks(self) -> str | None:
        """An option that the mock cannot fulfil, and why; None where it can fulfil all."""
        if self.listeners != ("PLAINTEXT",):
            return "the mock has plaintext listeners only"
        for name, count in self.topics:
            if count not in (None, PARTITIONS):
                return f"--topics {name}:{count}: every topic of the mock has {PARTITIONS} partitions"
        if "port" in self.said:
            return f"--port {self.port}: the mock chooses its own ports"
        if "version" in self.said or self.jars is not None:
            return f"--version {self.release}: the mock is no Apache Kafka"
        return None


class _RunningPlayground:
    """The cluster or mock that runs: how to reach it (`inside`: without security), and whether it still runs."""

    def __init__(
        self,
        bootstrap: str,
        inside: str,
        cluster: Cluster | None = None,
        named: Sequence[tuple[ListenerConfig, str]] = (),
        control: NodeControlServer | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.inside = inside
        self.cluster = cluster
        self.named = named  # ways in beside the first, with the names of their profiles
        self._control = control

    def poll_nodes(self, timeout_s: float) -> list[str]:
        """Serve a request about nodes that comes in this time; returns which nodes ended by themselves, and how."""
        if self._control is None or self.cluster is None:
            time.sleep(timeout_s)
            return []
        self._control.serve(timeout_s)
        return [
            f"node {number} {self.cluster.explain_node_end(number)}"
            for number in self._control.take_newly_ended_nodes()
        ]


def run_playground(env: Environment, wish: PlaygroundOptions) -> int:
    """Run a playground to its end; returns the exit code."""
    env.add_secrets_to_hide(PASSWORDS.values())  # these are public, but a place that shows them would show others too
    home = find_playgrounds_folder(env.variables)
    for folder in remove_abandoned_folders(home, lambda folder: remove_profiles(env, folder)):
        _report_on_stderr(env, wish, f"removed the remains of a killed playground ({folder.name})")
    with _interrupt_on_signals():
        try:
            with ExitStack() as stack:
                return _run_playground_in_folder(env, wish, stack, home)
        except KeyboardInterrupt:
            # Ctrl-C is the usual end of a playground; with --run it is the command's own end.
            return Exit.INTERRUPTED if wish.run else Exit.DONE


def _run_playground_in_folder(env: Environment, wish: PlaygroundOptions, stack: ExitStack, home: Path) -> int:
    began = env.monotonic()
    problem = "--mock asks for it" if wish.mock else explain_java_problem(wish.release, wish.jars)
    stage = _start_mock(env, wish, stack, problem) if problem else _start_cluster(env, wish, stack, home)
    _report_on_stderr(env, wish, f"started in {env.monotonic() - began:.1f} s")
    env.report(f"ready {stage.bootstrap.partition(',')[0]}")
    if wish.traffic:
        # The mock takes JoinGroup 6 for garbage, and SyncGroup 4 ends the process that it runs in.
        members = MEMBERS if stage.cluster else 0
        stack.enter_context(TrafficMaker(stage.inside, [name for name, _ in wish.all_topics], members=members))
    if wish.run is not None:
        return _run_user_command(env, wish, wish.run, stage)
    _print_commands_to_try(env, wish, stage)
    while True:
        for dead in stage.poll_nodes(LOOK_S):
            if not wish.keep_going:
                raise Failure(f"{dead}; with --keep-going the other nodes go on")
            _report_on_stderr(env, wish, _format_ended_nodes(dead))


def _format_ended_nodes(dead: str) -> str:
    return f"{dead}: it is down, kw playground node start {dead.split()[1]} starts it again"


def _start_mock(env: Environment, wish: PlaygroundOptions, stack: ExitStack, problem: str) -> _RunningPlayground:
    refused = wish.find_option_mock_lacks()
    if refused is not None:
        why = "; leave --mock out to start Apache Kafka" if wish.mock else f", and Apache Kafka cannot start: {problem}"
        raise Failure(refused + why, Exit.USAGE)
    mock = stack.enter_context(LibrdkafkaMock(wish.nodes))
    _report_on_stderr(env, wish, f"librdkafka's mock cluster, no Apache Kafka: {problem}")
    _report_on_stderr(env, wish, "the mock knows the common APIs only, and chooses its own ports")
    for name, _ in wish.all_topics:
        mock.create_topic(name)
        _report_on_stderr(env, wish, f"topic {name} has {PARTITIONS} partitions, as all topics of the mock")
    if wish.traffic:
        _report_on_stderr(env, wish, "groups of the mock cannot have members: the traffic comes from a producer alone")
    return _RunningPlayground(mock.bootstrap(), mock.bootstrap())


def _start_cluster(env: Environment, wish: PlaygroundOptions, stack: ExitStack, home: Path) -> _RunningPlayground:
    folder = stack.enter_context(PlaygroundFolder(home))
    # Brokers talk among themselves on a listener of their own, so that the other listeners have clients only.
    listeners = cast("tuple[Listener, ...]", ("INTERNAL", *wish.listeners))
    options = ClusterOptions(
        version=wish.release,
        nodes=wish.nodes,
        listeners=listeners,
        first_port=wish.port,
        class_archive=wish.jars is None,
        jars=wish.jars,
    )
    _report_on_stderr(env, wish, f"Apache Kafka {wish.release}, {_format_count(wish.nodes, 'node')} …")
    try:
        cluster = stack.enter_context(Cluster(options, folder / "cluster"))
    except (StartFailed, Missing, RuntimeError) as problem:
        raise Failure(_shorten_to_one_line(str(problem))) from None
    stack.callback(cluster.kill)
    if any(port != wish.port + place for place, port in enumerate(_list_client_ports(cluster, listeners))):
        _report_on_stderr(env, wish, f"port {wish.port}, or one that follows, is taken: the next free ones are used")
    create_topics(cluster.bootstrap("INTERNAL"), wish.all_topics, min(wish.nodes, 3))
    shown: dict[Listener, str] = {name: cluster.bootstrap(name) for name in listeners if name != "INTERNAL"}
    named = []
    for config in make_listener_configs(shown, cluster.folder / "tls"):
        (folder / f"{config.name}.conf").write_text(format_properties(config.librdkafka_properties))
        (folder / f"{config.name}.properties").write_text(format_properties(config.java_properties))
        if config.listener != "PLAINTEXT":
            named.append((config, add_profile(env, folder, config)))
    stack.callback(remove_profiles, env, folder)
    bootstrap = next(iter(shown.values()))
    inside = shown.get("PLAINTEXT") or cluster.bootstrap("INTERNAL")
    control = stack.enter_context(NodeControlServer(folder, cluster, lambda text: _report_on_stderr(env, wish, text)))
    return _RunningPlayground(bootstrap, inside, cluster, named, control)


def _list_client_ports(cluster: Cluster, listeners: tuple[Listener, ...]) -> Iterator[int]:
    for name in listeners:
        if name != "INTERNAL":
            yield from (node.ports[name] for node in cluster.nodes if node.broker)


def _print_commands_to_try(env: Environment, wish: PlaygroundOptions, stage: _RunningPlayground) -> None:
    """Print ready-made commands for the playground."""
    server = stage.bootstrap.partition(",")[0]
    to = "" if server.endswith(":9092") else f" -b {server}"
    if stage.named and stage.named[0][0].bootstrap == stage.bootstrap:
        to = f" --profile {stage.named[0][1]}"
    topic = wish.all_topics[0][0] if wish.all_topics else "orders"
    # The mock's newer answers have a byte too many.
    version = "" if stage.cluster else " --api-version 8"
    lines = [f"kw call Metadata{version}{to}", f"kw call produce topic={topic} key=k value=hello{to}"]
    if not wish.all_topics:
        named = f"'topics[].name={topic}'"  # zsh takes brackets for a pattern
        make = f"Metadata {named} allow_auto_topic_creation=true"
        if stage.cluster:
            make = f"CreateTopics {named} 'topics[].num_partitions=3' 'topics[].replication_factor=1'"
        lines.insert(1, f"kw call {make}{version}{to}")
    ports = ",".join(part.rpartition(":")[2] for part in stage.bootstrap.split(","))
    lines.append(f"sudo kw sniff -i lo --port {ports}")
    lines += [f"kw call Metadata --profile {name}" for _, name in stage.named]
    for line in lines:
        _report_on_stderr(env, wish, f"  {line}")
    if stage.cluster:
        _report_on_stderr(
            env, wish, f"settings for other clients: {stage.cluster.folder.parent}/*.conf and *.properties"
        )
        _report_on_stderr(
            env, wish, "kw playground node stop, kill, start, restart or pause: try what happens when a node fails"
        )
    _report_on_stderr(env, wish, "Ctrl-C ends the playground and leaves nothing behind")


def _run_user_command(env: Environment, wish: PlaygroundOptions, command: str, stage: _RunningPlayground) -> int:
    """Run a command line in the shell; returns its exit code, 128 + N where signal N ended it."""
    more = {} if stage.cluster is None else {VARIABLE: stage.cluster.folder.parent.name}
    child = start_user_command(command, stage.bootstrap, env.variables, more)
    try:
        while (ended := child.poll()) is None:
            for dead in stage.poll_nodes(RUN_LOOK_S):
                _report_on_stderr(env, wish, _format_ended_nodes(dead))
        code = ended
    except KeyboardInterrupt:
        # The terminal has interrupted the command too, which decides how to end.
        child.send_signal(signal.SIGINT)
        code = child.wait()
    return exit_code_of(code)


def _report_on_stderr(env: Environment, wish: PlaygroundOptions, text: str) -> None:
    if not wish.quiet:
        env.report(text)


def _format_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shorten_to_one_line(text: str) -> str:
    return " ".join(text.split())[:600]


@contextmanager
def _interrupt_on_signals() -> Iterator[None]:
    """A context in which SIGHUP (a closed terminal) and SIGINT, even in the background, raise KeyboardInterrupt."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
