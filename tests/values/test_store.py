"""The store of schemas: what is found by id, GUID, subject and topic, and what it refuses."""

from __future__ import annotations

import pytest

from decoders.values import RegisteredSchema, SchemaOrigin, SchemaStore
from decoders.values import store as module

CAPTURE = SchemaOrigin("capture", 5)
LONG = RegisteredSchema("AVRO", '"long"', CAPTURE, 4, "AB-1", "orders-value", 1)


def test_a_schema_is_kept_once() -> None:
    store = SchemaStore()
    assert store.add_schema(LONG)
    assert not store.add_schema(LONG._replace(origin=SchemaOrigin("capture", 99)))
    assert store.add_schema(LONG._replace(version=2))
    assert (len(store), store.changes) == (2, 2)
    assert [each.registered.version for each in store] == [1, 2]


def test_schemas_are_found_by_all_that_names_them() -> None:
    store = SchemaStore()
    store.add_schema(LONG)
    store.add_schema(LONG._replace(text='"int"', schema_id=5, guid=None, version=2))
    store.add_schema(LONG._replace(text='"null"', schema_id=6, guid=None, subject="orders-key"))
    found = {
        "id": store.find_by_id(4),
        "guid": store.find_by_guid("ab-1"),
        "version": store.find_by_subject("orders-value", 1),
        "latest": store.find_by_subject("orders-value"),
        "topic": store.find_by_topic("orders", False),
        "key": store.find_by_topic("orders", True),
        "none": store.find_by_id(9),
    }
    assert {name: [each.registered.text for each in schemas] for name, schemas in found.items()} == {
        "id": ['"long"'],
        "guid": ['"long"'],
        "version": ['"long"'],
        "latest": ['"int"'],
        "topic": ['"int"'],
        "key": ['"null"'],
        "none": [],
    }


def test_of_equal_texts_one_is_found_and_of_others_all() -> None:
    store = SchemaStore()
    store.add_schema(LONG)
    store.add_schema(LONG._replace(subject=":.other:orders-value"))
    assert len(store.find_by_id(4)) == 1
    store.add_schema(LONG._replace(text='"int"', subject=":.third:orders-value"))
    assert len(store.find_by_id(4)) == 2


@pytest.mark.plain
def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SCHEMAS_SIZE_MAX", 16)
    store = SchemaStore()
    assert [store.add_schema(LONG._replace(version=number)) for number in range(4)] == [True, True, False, False]
    assert store.refused == 2
    monkeypatch.setattr(module, "SCHEMA_SIZE_MAX", 3)
    assert not SchemaStore().add_schema(LONG)
