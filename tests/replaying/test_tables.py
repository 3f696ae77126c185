"""The tables of replays: every API has a class, every id in a message a role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from decoders.apis import NAMES, api, section
from decoders.protocol_facts.request_routing import route_of_api
from decoders.replaying.classify_apis_for_replay import CLASSES, classify_api
from decoders.replaying.field_roles import find_field_role
from decoders.schema.api_declaration import Field, Side

# The entity in a field's declaration (`is`) → the role that the field must have; `nodes` for an array.
ENTITIES: Final = {
    "topicName": "topic",
    "groupId": "group",
    "transactionalId": "transaction",
    "producerId": "producer",
    "brokerId": "node",
}
# The meaning in a field's declaration (`means`) → its role.
MEANINGS: Final = {
    "generation": "generation",
    "member_epoch": "generation",
    "session": "session",
    "session_epoch": "session_epoch",
    "offset": "offset",
}


def fields_of(fields: Sequence[Field], owner: str) -> Iterator[tuple[str, Field]]:
    """All fields of a message that hold a value, each with its parent's name."""
    for field in fields:
        if field.fields:
            yield from fields_of(field.fields, field.name)
        else:
            yield owner, field


def test_every_class_has_apis() -> None:
    assert {*map(classify_api, NAMES)} == {*CLASSES}


def test_what_does_not_follow_is_said() -> None:
    """Where a class follows from the route, the declaration says none."""
    said = {key for key in NAMES if section(key, "replay")}
    assert all({"client", "tool"} & set(route_of_api(key).sent_by) for key in said)


def test_an_api_without_a_class_is_never_sent() -> None:
    assert classify_api(max(NAMES) + 1) == "never"


def test_what_is_read_changes_nothing() -> None:
    assert [key for key in NAMES if classify_api(key) == "read" and route_of_api(key).mutates] == []


def test_what_only_brokers_and_controllers_send_is_never_sent() -> None:
    inside = {key for key in NAMES if not {"client", "tool"} & set(route_of_api(key).sent_by)}
    assert {key for key in inside if classify_api(key) != "never"} == set()
    assert len(inside) > 15


@pytest.mark.parametrize("name", ["SaslHandshake", "SaslAuthenticate", "CreateDelegationToken", "Envelope"])
def test_logins_and_tokens_are_never_sent(name: str) -> None:
    assert classify_api(api(name).key) == "never"


@pytest.mark.parametrize("side", ["request", "response"])
def test_every_id_in_a_message_has_a_role(side: Side) -> None:
    wrong: list[str] = []
    seen = 0
    for key in NAMES:
        if classify_api(key) == "never":
            continue
        message = api(key).message(side)
        for owner, field in fields_of(message.fields, message.name):
            wanted = ENTITIES.get(field.entity) or MEANINGS.get(field.means)
            if wanted == "node" and field.array:
                wanted = "nodes"
            seen += wanted is not None
            role = find_field_role(owner, field.name)
            if (wanted and role != wanted) or (field.kind == "uuid" and role is None):
                wrong.append(f"{message.name} {owner}.{field.name}: {role}, not {wanted}")
    assert wrong == []
    assert seen > 80
