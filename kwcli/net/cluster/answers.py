"""A look-up's answer as it came in, what it says out; one that cannot be read, or cannot be true, names its broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import api, api_name
from decoders.apis.keys import FIND_COORDINATOR, METADATA
from decoders.errors import DecodeError
from decoders.limits import MIB
from decoders.messages.whole_messages import decode_response
from decoders.schema.model import NONE, Versions
from decoders.wire.text import in_bytes
from kwcli.env import Failure
from kwcli.net.cluster import metadata_requests
from kwcli.net.cluster.metadata_requests import BadAnswer, TopicMetadata
from kwcli.net.deadline import in_time

if TYPE_CHECKING:
    from kwcli.net.session.blocking import Connection, Reply

__all__ = ["decoded", "found_coordinator", "highest_common", "told_topics"]

# What is shorter is read in no time; a longer answer may take as long as there is time left, and no longer.
LONG: Final = MIB


def highest_common(connection: Connection, key: int, least: int, most: int) -> int:
    """The highest version that both sides know, in these bounds. Raises Failure when there is none."""
    offered = connection.versions.get(key, NONE)
    both = offered & api(key).versions & Versions(least, most)
    if not both:
        need = f" {least} or later" if least else ""
        hint = (
            "; is it a controller? --bootstrap-controller is for those" if METADATA not in connection.versions else ""
        )
        raise Failure(f"{connection.peer} does not offer {api_name(key)}{need}, which this needs{hint}")
    return both.high


def decoded(connection: Connection, reply: Reply, key: int, version: int) -> dict[str, Any]:
    """The body of the answer to a request that has one. Raises Failure."""
    frame = reply.response_frame
    assert frame is not None
    name = api(key).name

    def read() -> dict[str, Any]:
        # Not strict: librdkafka's mock lets a byte follow its Metadata 13.
        return decode_response(frame[4:], key, version, strict=False).body

    try:
        if len(frame) < LONG:
            return read()
        what = f"{connection.peer}: its answer to {name} {version}, of {in_bytes(len(frame))}, was not read"
        return in_time(read, connection.deadline, what)
    except DecodeError as problem:
        raise Failure(f"{connection.peer}: its answer to {name} {version} cannot be read: {problem}") from None


def told_topics(connection: Connection, version: int, answer: Mapping[str, Any]) -> list[TopicMetadata]:
    """The topics of a Metadata answer. Raises Failure."""
    try:
        return metadata_requests.topics(answer)
    except BadAnswer as bad:
        raise _untrue(connection, METADATA, version, bad) from None


def found_coordinator(connection: Connection, version: int, answer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The part of a FindCoordinator answer that is about this key. Raises Failure."""
    try:
        return metadata_requests.coordinator(answer, key)
    except BadAnswer as bad:
        raise _untrue(connection, FIND_COORDINATOR, version, bad) from None


def _untrue(connection: Connection, key: int, version: int, bad: BadAnswer) -> Failure:
    return Failure(f"{connection.peer}: its answer to {api(key).name} {version} {bad}")
