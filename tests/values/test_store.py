"""The store of schemas: what is found by id, GUID, subject and topic, and what it refuses."""

from __future__ import annotations

import pytest

from decoders.values import schema_store as module
from decoders.values.schema_store import SchemaStore
from decoders.values.schemas_and_decoded_values import ID_KINDS, RegisteredSchema, SchemaOrigin, SchemaReference

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


def test_spaces_and_order_of_names_are_no_other_schema() -> None:
    store = SchemaStore()
    store.add_schema(LONG._replace(text='{"type":"fixed","name":"F","size":4}', schema_id=9))
    store.add_schema(LONG._replace(text='{ "name": "F", "type": "fixed", "size": 4 }', schema_id=9))
    assert len(store.find_by_id(9)) == 1


def test_a_schema_with_what_it_refers_to_is_better_than_its_text_alone() -> None:
    store = SchemaStore()
    uses = SchemaReference("shop.Line", "line", 1)
    store.add_schema(LONG)
    store.add_schema(LONG._replace(references=(uses,)))
    store.add_schema(LONG._replace(version=7))
    (found,) = store.find_by_id(4)
    assert found.registered.references == (uses,)


def test_ids_of_apicurio_count_for_themselves() -> None:
    store = SchemaStore()
    store.add_schema(LONG._replace(id_kind="globalId"))
    store.add_schema(LONG._replace(text='"int"', id_kind="contentId"))
    store.add_schema(LONG._replace(text='"null"'))  # of Confluent's API, whose ids are content ids
    asked = {kind: [each.registered.text for each in store.find_by_id(4, id_kind=kind)] for kind in (*ID_KINDS, None)}
    assert asked == {"globalId": ['"long"'], "contentId": ['"int"', '"null"'], None: ['"long"', '"int"', '"null"']}
    store.add_schema(LONG._replace(text='"bytes"', origin=SchemaOrigin("file")))
    assert [each.registered.text for each in store.find_by_id(4, id_kind="globalId")] == ['"bytes"']


def test_a_file_of_a_subject_comes_before_versions_of_a_capture() -> None:
    store = SchemaStore()
    store.add_schema(LONG)
    store.add_schema(LONG._replace(text='"int"', origin=SchemaOrigin("file"), version=None))
    assert [each.registered.text for each in store.find_by_topic("orders", False)] == ['"int"']
