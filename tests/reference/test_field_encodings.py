"""The form of a field on the wire in words."""

from __future__ import annotations

import pytest

from decoders.apis import api
from decoders.schema.api_declaration import Side, resolve
from kwcli.reference.wire_layout import describe_field_encoding


@pytest.mark.parametrize(
    ("name", "version", "side", "field", "words"),
    [
        ("Metadata", 0, "request", "topics", "array of struct"),
        ("Metadata", 1, "request", "topics", "nullable array of struct"),
        ("Metadata", 12, "request", "topics", "compact nullable array of struct"),
        ("Metadata", 12, "request", "allow_auto_topic_creation", "bool"),
        ("Metadata", 2, "response", "cluster_id", "nullable string"),
        ("Metadata", 12, "response", "cluster_id", "compact nullable string"),
        ("FindCoordinator", 0, "request", "key", "string"),
        ("FindCoordinator", 3, "request", "key", "compact string"),
        ("FindCoordinator", 4, "request", "coordinator_keys", "compact array of compact string"),
        ("SaslAuthenticate", 0, "request", "auth_bytes", "bytes"),
        ("SaslAuthenticate", 2, "request", "auth_bytes", "compact bytes"),
    ],
)
def test_words_of_an_encoding(name: str, version: int, side: Side, field: str, words: str) -> None:
    plan = resolve(api(name).message(side), version)
    (found,) = [each for each in plan.fields if each.name == field]
    assert describe_field_encoding(found) == words
