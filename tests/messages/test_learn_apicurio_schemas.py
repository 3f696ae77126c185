"""Apicurio's own API: schemas of answers by id, by version, and of artifacts that are made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from decoders.messages.registries.learn_apicurio_schemas import ApicurioTraffic, find_schema_type
from decoders.protocols.read_http_exchanges import HttpExchange
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaReference

V2, V3 = "/apis/registry/v2", "/apis/registry/v3"
AVRO = '{"type":"record","name":"Order","fields":[]}'
USES = [{"groupId": "default", "artifactId": "line", "version": "3", "name": "shop.Line"}]
LINE = SchemaReference("shop.Line", "line", 3)


def learnt(*exchanges: tuple[str, str, Any, Any]) -> list[RegisteredSchema]:
    found: list[RegisteredSchema] = []
    traffic = ApicurioTraffic(found.append)
    for method, target, sent, received in exchanges:
        bodies = [each.encode() if isinstance(each, str) else json.dumps(each).encode() for each in (sent, received)]
        traffic.learn_from_exchange(HttpExchange(method, target, "host", bodies[0], 200, bodies[1], 7), "host")
    return found


def said(schema: RegisteredSchema) -> tuple[Any, ...]:
    return schema.schema_type, schema.text, schema.id_kind, schema.schema_id, schema.subject, schema.version


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (("GET", f"{V2}/ids/globalIds/4?dereference=false", "", AVRO), [("AVRO", AVRO, "globalId", 4, None, None)]),
        (("GET", f"{V3}/ids/contentIds/5", "", AVRO), [("AVRO", AVRO, "contentId", 5, None, None)]),
        (("GET", f"{V2}/groups/g/artifacts/a%20b/versions/2", "", AVRO), [("AVRO", AVRO, None, None, "a b", 2)]),
        (("GET", f"{V3}/groups/g/artifacts/ab/versions/2/content", "", AVRO), [("AVRO", AVRO, None, None, "ab", 2)]),
        (("GET", f"{V2}/groups/g/artifacts/ab", "", AVRO), [("AVRO", AVRO, None, None, "ab", None)]),
        (
            ("POST", f"{V2}/groups/g/artifacts?ifExists=RETURN", AVRO, {"id": "ab", "version": "1", "globalId": 8}),
            [("AVRO", AVRO, "globalId", 8, "ab", 1)],
        ),
        (
            (
                "POST",
                f"{V3}/groups/g/artifacts",
                {"artifactId": "ab", "firstVersion": {"content": {"content": AVRO, "references": USES}}},
                {"artifact": {}, "version": {"artifactId": "ab", "version": "x", "globalId": 8, "contentId": 9}},
            ),
            [("AVRO", AVRO, "globalId", 8, "ab", 0), ("AVRO", AVRO, "contentId", 9, "ab", 0)],
        ),
        (
            (
                "POST",
                f"{V3}/groups/g/artifacts/ab/versions",
                {"content": {"content": AVRO}},
                {"version": "2", "globalId": 8},
            ),
            [("AVRO", AVRO, "globalId", 8, "ab", 2)],
        ),
        (("GET", f"{V2}/groups/g/artifacts/ab/meta", "", {"id": "ab", "globalId": 4}), []),
        (("GET", "/ids/globalIds/4", "", AVRO), []),
        (("DELETE", f"{V2}/groups/g/artifacts", "", AVRO), []),
    ],
)  # fmt: skip
def test_schemas_are_learnt(exchange: tuple[str, str, Any, Any], expected: list[tuple[Any, ...]]) -> None:
    assert [said(each) for each in learnt(exchange)] == expected


def test_what_a_schema_refers_to_is_told_by_another_answer() -> None:
    place = f"{V2}/ids/globalIds/4"
    alone, whole = learnt(("GET", place, "", AVRO), ("GET", f"{place}/references", "", USES))
    assert (alone.references, whole.references) == ((), (LINE,))
    assert whole == alone._replace(references=(LINE,))
    assert len(learnt(("GET", place, "", AVRO), ("GET", f"{place}/references", "", []))) == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (AVRO, "AVRO"),
        ('"long"', "AVRO"),
        ('["null","long"]', "AVRO"),
        ('{"type":{"type":"map","values":"int"}}', "AVRO"),
        ('{"type":"object"}', "JSON"),
        ('{"type":["string","null"]}', "JSON"),
        ('{"$ref":"#"}', "JSON"),
        ("true", "JSON"),
        ('syntax = "proto3";', "PROTOBUF"),
    ],
)
def test_the_text_says_its_type(text: str, kind: str) -> None:
    assert find_schema_type(text) == kind
