"""Look-ups of the client: every body at every version declared, and at versions that dropped one of its fields."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

import pytest

import decoders.apis
from decoders.apis import api
from decoders.messages.whole_messages import decode_message, encode_message
from decoders.protocol_facts.api_keys import DESCRIBE_CLUSTER, FIND_COORDINATOR, LIST_OFFSETS, METADATA
from decoders.schema.api_declaration import ALL, FOREVER, Api, Field, Message, Versions
from kwcli.net import metadata_messages
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import ClientConfig
from kwcli.net.metadata_messages import KINDS
from tests.calling.scripted import Node, metadata

TOPIC_ID: Final = UUID(int=7)
NAMED: Final = Versions(metadata_messages.WITHOUT_CREATING, FOREVER)


class LookUp(NamedTuple):
    """A look-up: its API, the versions that can express it, its body, and the fields that define the question."""

    key: int
    versions: Versions
    body: Callable[[int], dict[str, Any]]
    asks: tuple[str, ...] = ()


COORDINATORS: Final = cast("list[tuple[metadata_messages.Kind, tuple[int, int]]]", list(KINDS.items()))


def coordinator(kind: metadata_messages.Kind, version: int) -> dict[str, Any]:
    return metadata_messages.build_coordinator_request(version, kind, "k-1")


LOOK_UPS: Final[dict[str, LookUp]] = {
    "nodes": LookUp(METADATA, ALL, metadata_messages.build_nodes_request),
    "topics": LookUp(
        METADATA, NAMED, lambda version: metadata_messages.build_topics_request(version, ["t-1"]), ("t-1",)
    ),
    "all topics": LookUp(
        METADATA,
        Versions(0, NAMED.low - 1),
        lambda version: metadata_messages.build_topics_request(version, ["t-1"]),
    ),
    "id": LookUp(
        METADATA,
        Versions(metadata_messages.BY_ID, FOREVER),
        lambda version: metadata_messages.build_topic_id_request(version, TOPIC_ID),
        (str(TOPIC_ID),),
    ),
    "controllers": LookUp(
        DESCRIBE_CLUSTER,
        Versions(metadata_messages.ENDPOINT_TYPE, FOREVER),
        metadata_messages.build_controllers_request,
        ("'endpoint_type': 2",),
    ),
    "offset": LookUp(
        LIST_OFFSETS,
        ALL,
        lambda version: metadata_messages.build_offset_request(version, "t-1", 3, -2),
        ("t-1", "3", "-2"),
    ),
    **{
        kind: LookUp(FIND_COORDINATOR, Versions(since, FOREVER), partial(coordinator, kind), ("k-1",))
        for kind, (_, since) in COORDINATORS
    },
}


@pytest.mark.parametrize("name", LOOK_UPS)
def test_every_body_encodes_at_every_version_and_still_asks(name: str) -> None:
    look_up = LOOK_UPS[name]
    versions = api(look_up.key).versions & look_up.versions
    assert versions
    for version in range(versions.low, versions.high + 1):
        data = encode_message(look_up.key, version, "request", look_up.body(version))
        said = str(decode_message(look_up.key, version, "request", data))
        assert [word for word in look_up.asks if word not in said] == [], version


def paths(body: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every field in a body, at any depth."""
    if isinstance(body, dict):
        for name, inner in body.items():
            yield (*above, name)
            for each in inner if isinstance(inner, list) else [inner]:
                yield from paths(each, (*above, name))


def newest(look_up: LookUp) -> dict[str, Any]:
    return look_up.body(api(look_up.key).versions.high)


def without(fields: Sequence[Field], path: tuple[str, ...], last: int) -> tuple[Field, ...]:
    """The fields, with the one at the path removed after version `last`."""
    name, *below = path
    return tuple(
        field
        if field.name != name or last not in field.versions
        else field._replace(fields=without(field.fields, tuple(below), last))
        if below
        else field._replace(versions=Versions(field.versions.low, last))
        for field in fields
    )


def one_more(key: int, *dropped: tuple[str, ...]) -> Api:
    """An API with one more version, whose request has lost these fields."""
    found = api(key)
    last = found.versions.high
    versions = Versions(found.versions.low, last + 1)
    fields = found.request.fields
    for path in dropped:
        fields = without(fields, path, last)
    request = Message(found.request.name, versions, found.request.flexible, fields)
    response = Message(found.response.name, versions, found.response.flexible, found.response.fields)
    return found._replace(versions=versions, request=request, response=response)


def declare(monkeypatch: pytest.MonkeyPatch, *apis: Api) -> None:
    """Replace the declarations of these APIs for the rest of the test."""
    ours = {each.key: each for each in apis}
    real = decoders.apis._parse_declaration
    monkeypatch.setattr(decoders.apis, "_parse_declaration", lambda key: ours.get(key) or real(key))


# Look-ups that are sent at the newest version.
TODAY: Final = [name for name, each in LOOK_UPS.items() if each.versions.high == FOREVER]


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in TODAY for path in paths(newest(LOOK_UPS[name]))])
def test_a_field_that_a_newer_version_dropped_is_not_sent(
    name: str, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = LOOK_UPS[name]
    before = list(paths(newest(look_up)))
    changed = one_more(look_up.key, path)
    declare(monkeypatch, changed)
    body = newest(look_up)
    assert list(paths(body)) == [each for each in before if each[: len(path)] != path]
    encode_message(look_up.key, changed.versions.high, "request", body)


def test_a_broker_that_has_only_versions_with_fewer_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader is found at a broker whose only Metadata version lacks fields that kw usually sends."""
    fewer = one_more(METADATA, ("allow_auto_topic_creation",), ("topics", "topic_id"))
    declare(monkeypatch, fewer)
    version = fewer.versions.high
    with Node({METADATA: (version, version)}, {}) as node:
        node.answers = {METADATA: metadata(node)}
        with ClusterClient(ClientConfig(servers=(node.address,)), Deadline(60.0, time.monotonic)) as cluster:
            leader = cluster.connect_to_leader("t-1", 0)
            assert leader is not None
            assert leader.address == node.address
    assert set(node.asked) == {(METADATA, version)}
