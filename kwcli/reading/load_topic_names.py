"""A source of topic names in (`--names-from`): a capture, records of kw, or a broker; the names by topic id out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from decoders.exchanges.segments_to_exchanges import Engine
from decoders.exchanges.topic_and_node_names import TOPIC_ID_SOURCES, Topics
from decoders.protocol_facts.api_keys import METADATA
from kwcli.output.renderers import WantedPaths
from kwcli.output.short_texts import count_of
from kwcli.reading.read_captures_by_time import Captures
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.schema.api_declaration import Side
    from decoders.tls.key_log import KeyLog
    from kwcli.run_environment import Environment

__all__ = ["load_topic_names"]


def load_topic_names(source: str, env: Environment, keys: KeyLog) -> Topics:
    """The names that a source has. `keys`: of TLS in captures. Raises Failure; a look at a broker is told."""
    if os.path.lexists(source) or any(sign in source for sign in "*?["):
        found = _read_topics_of_files(source, env, keys)
        where = source
    elif ":" in source and "/" not in source:
        found = _ask_broker(source, env)
        where = f"{source}, which was asked"
        env.report(f"kw: {count_of(len(found.names), 'name')} of topics from {where}")
    else:
        raise Failure(f"--names-from {source}: no such file, and no HOST:PORT of a broker", Exit.USAGE)
    if not found.names:
        raise Failure(f"--names-from {where}: no topic id with its name in it (Metadata 10 and later have them)")
    return found


def _needed_paths(api_key: int, side: Side) -> frozenset[str]:
    """The paths of names and ids in messages that have both."""
    return frozenset(
        f"{source.path}.{field}"
        for source in TOPIC_ID_SOURCES.get(api_key, ())
        if source.side == side
        for field in (source.name, source.id)
    )


def _read_topics_of_files(source: str, env: Environment, keys: KeyLog) -> Topics:
    engine = Engine(needs=WantedPaths(_needed_paths), keys=keys)
    captures = Captures([source], env, on_secrets=keys.add_lines)
    topics = engine.pairer.context.topics
    try:
        for batch in captures.read_batches():
            engine.feed(batch.segments, batch.now_ns)
        engine.finish()
        for _, rows in captures.read_recorded_rows():
            _add_names_of_records(rows, topics)
    finally:
        captures.close()
    if captures.problems and not topics.names:
        raise Failure(f"--names-from {captures.problems[0]}")
    return topics


def _add_names_of_records(rows: list[Settled], topics: Topics) -> None:
    for row in rows:
        if row.kind != "exchange" or row.api_key is None:
            continue
        for source in TOPIC_ID_SOURCES.get(row.api_key, ()):
            body: Any = row.view(source.side)
            topics.add_names(body, source)


def _ask_broker(address: str, env: Environment) -> Topics:
    """Ask a broker for all topics. Its security is that of the active profile."""
    from kwcli.net import metadata_messages
    from kwcli.net.cluster_client import ClusterClient
    from kwcli.net.command_deadline import Deadline
    from kwcli.net.config.client_config import ConnectionOptions
    from kwcli.net.connection_options import read_client_config

    config = read_client_config(env, ConnectionOptions(servers=address))
    with ClusterClient(config, Deadline(config.timeout_s, env.monotonic)) as cluster:
        first = cluster.connect_to_any()
        version = cluster.choose_version(first, METADATA)
        asked = metadata_messages.build_topics_request(version, None)
        answer = cluster.send_request(first, METADATA, version, asked)
    topics = Topics()
    for source in TOPIC_ID_SOURCES[METADATA]:
        topics.add_names(answer, source)
    return topics
