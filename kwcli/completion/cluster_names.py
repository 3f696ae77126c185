"""The connection options of a half-typed line in, the names of its cluster's topics, groups and nodes out.

A key of the keyboard must not wait for a network. Names are kept for a minute in the user's cache folder, one file a
cluster and kind, for the owner alone. Where no fresh names are kept, a separate process asks the cluster and writes
them, and the completing process waits for it as long as it may; when that is not long enough, the next TAB has them.
The requests change nothing: ApiVersions, the login, Metadata of all topics with auto_topic_creation off, ListGroups.
A failure is not reported, and the attempt is not repeated for some seconds.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from decoders.named_tuple import NamedTuple
from kwcli.private_files import create_private_folder, open_private_file, write_private_file
from kwcli.run_environment import Environment, Failure
from kwcli.user_folders import own_folder

if TYPE_CHECKING:
    from kwcli.net.cluster_client import ClusterClient
    from kwcli.net.config.client_config import ClientConfig

What = Literal["topics", "groups", "nodes"]
FRESH_S: Final = 60.0
FAILED_S: Final = 10.0  # time before a failed attempt is repeated
ASKING_S: Final = 5.0  # the whole time of the process that asks
_CONNECT_S: Final = 2.0
_NAMES_MAX: Final = 5000
_PAUSE_S: Final = 0.005
# Options of a line that say which cluster is meant and how to reach it → fields of ClusterWords.
_OPTIONS: Final = {
    "-b": "servers",
    "--bootstrap-server": "servers",
    "--bootstrap-controller": "controllers",
    "-X": "properties",
    "--property": "properties",
    "-F": "files",
    "--command-config": "files",
    "--profile": "profile",
    "--dial-map": "dial_map",
}
# Variables that say nothing about the cluster.
_OTHERS: Final = frozenset({"KW_OUTPUT", "KW_COMPLETION_LIMIT"})


class ClusterWords(NamedTuple):
    """The connection options in the words of a line; each option with all its values."""

    servers: tuple[str, ...] = ()
    controllers: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
    dial_map: tuple[str, ...] = ()

    @classmethod
    def from_words(cls, words: Sequence[str]) -> ClusterWords:
        """The connection options among words: `-b host:1`, `-bhost:1`, `--profile=prod`; other words are left out."""
        found: dict[str, list[str]] = {}
        at = 0
        while at < len(words):
            word, value = words[at], ""
            option, equals, attached = word.partition("=")
            if word in _OPTIONS:
                option, value = word, words[at + 1] if at + 1 < len(words) else ""
                at += 1
            elif option.startswith("--") and equals and option in _OPTIONS:
                value = attached
            elif word[:2] in _OPTIONS:
                option, value = word[:2], word[2:]
            else:
                option = ""
            if option and value:
                found.setdefault(_OPTIONS[option], []).append(value)
            at += 1
        return cls(**{name: tuple(values) for name, values in found.items()})

    def build_client_config(self, env: Environment) -> ClientConfig:
        """The ClientConfig for these options. Raises Failure."""
        from kwcli.net.config.build_config import build_client_config, parse_dial_pair
        from kwcli.net.config.client_config import ConnectionOptions

        return build_client_config(
            env,
            ConnectionOptions(
                servers=self.servers[-1] if self.servers else None,
                controllers=self.controllers[-1] if self.controllers else None,
                properties=[
                    (name.strip(), value) for name, _, value in (word.partition("=") for word in self.properties)
                ],
                config_files=self.files,
                profile=self.profile[-1] if self.profile else None,
                timeout_s=ASKING_S,
                connect_timeout_s=_CONNECT_S,
                dial_map=[parse_dial_pair(word, "") for word in self.dial_map],
            ),
        )


def list_cluster_names(
    env: Environment, what: What, words: Sequence[str], wait_s: float, *, apart: bool = True
) -> list[str]:
    """The cluster's names, sorted; empty where no answer comes in time. `apart`: ask in a separate process."""
    asked = ClusterWords.from_words(words)
    try:
        path = find_cache_file_of_names(env, what, asked)
        found = _read_cache(path)
        if found is not None or wait_s <= 0:
            return found or []
        if apart:
            _ask_cluster_in_process(env, what, asked, path)
        else:
            _ask_cluster_and_cache_names(env, what, asked, path)
        end = time.monotonic() + wait_s
        while (found := _read_cache(path)) is None and time.monotonic() < end:
            time.sleep(_PAUSE_S)
        return found or []
    except OSError:
        return []


def find_cache_file_of_names(env: Environment, what: What, asked: ClusterWords) -> str:
    """The cache file of a cluster's names: its name is a hash of everything that the connection depends on."""
    import hashlib

    config = own_folder("config", env.variables)
    files = [*asked.files, str(config / "active-profile")]
    profile = asked.profile[-1] if asked.profile else env.variables.get("KW_PROFILE") or _read_active_profile(files[-1])
    files.append(str(config / "profiles" / f"{profile}.properties"))
    variables = sorted(pair for pair in env.variables.items() if pair[0].startswith("KW_") and pair[0] not in _OTHERS)
    told = json.dumps([asked, profile, variables, [_path_and_change_time(file) for file in files]])
    name = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    folder = str(own_folder("cache", env.variables) / "completion")
    create_private_folder(folder)
    return os.path.join(folder, f"{name}.{what}")


def _read_active_profile(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def _path_and_change_time(path: str) -> tuple[str, int]:
    try:
        return os.path.abspath(path), os.stat(path).st_mtime_ns
    except OSError:
        return os.path.abspath(path), 0


def _read_cache(path: str) -> list[str] | None:
    """The names in a fresh cache file; None where there is none. An empty file, of a failed attempt, ages sooner."""
    try:
        with open(path, encoding="utf-8") as file:
            age = time.time() - os.fstat(file.fileno()).st_mtime
            names = json.load(file)
    except (OSError, ValueError):
        return None
    if not isinstance(names, list) or not -1 < age < (FRESH_S if names else FAILED_S):
        return None
    return [name for name in names if isinstance(name, str)]


def _ask_cluster_in_process(env: Environment, what: What, asked: ClusterWords, path: str) -> None:
    """Start a process that asks the cluster, unless one does already. It has no terminal, and ends by itself."""
    lock = f"{path}.asking"
    with suppress(OSError):
        if time.time() - os.stat(lock).st_mtime > 2 * ASKING_S:
            os.unlink(lock)
    try:
        os.close(open_private_file(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    if os.fork():
        return
    try:
        os.setsid()
        signal.alarm(int(2 * ASKING_S))  # even where a library blocks
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        _ask_cluster_and_cache_names(env, what, asked, path)
    finally:
        with suppress(OSError):
            os.unlink(lock)
        os._exit(0)


def _ask_cluster_and_cache_names(env: Environment, what: What, asked: ClusterWords, path: str) -> None:
    """Ask the cluster and write its names to the cache file; an empty list where it does not answer."""
    from kwcli.net.cluster_client import ClusterClient
    from kwcli.net.command_deadline import Deadline

    names: list[str] = []
    with suppress(Failure, OSError):
        config = asked.build_client_config(env)
        with ClusterClient(config, Deadline(ASKING_S, time.monotonic)) as client:
            names = sorted(_ASKED[what](client))[:_NAMES_MAX]
    write_private_file(path, json.dumps(names).encode())


def _request_topic_names(client: ClusterClient) -> list[str]:
    from decoders.protocol_facts.api_keys import METADATA
    from kwcli.net import metadata_messages

    connection = client.connect_to_any()
    version = client.choose_version(connection, METADATA)
    answer = client.send_request(connection, METADATA, version, metadata_messages.build_topics_request(version, None))
    return [topic.name for topic in metadata_messages.parse_topics(answer) if topic.name]


def _request_group_names(client: ClusterClient) -> list[str]:
    from decoders.protocol_facts.api_keys import LIST_GROUPS

    names: set[str] = set()
    for number in client.list_nodes():
        with suppress(Failure):  # the others' groups are better than none
            connection = client.connect_to_node(number)
            answer = client.send_request(connection, LIST_GROUPS, client.choose_version(connection, LIST_GROUPS), {})
            names |= {row["group_id"] for row in answer["groups"]}
    return [name for name in names if name]


def _request_node_ids(client: ClusterClient) -> list[str]:
    return [f"{number}\t{node.address[0]}:{node.address[1]}" for number, node in client.list_nodes().items()]


_ASKED: Final[dict[What, Callable[[ClusterClient], list[str]]]] = {
    "topics": _request_topic_names,
    "groups": _request_group_names,
    "nodes": _request_node_ids,
}
