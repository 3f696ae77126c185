"""What keys and values are taken for: bytes and headers in, format, schema and value out."""

from __future__ import annotations

from decoders.values import RegisteredSchema, SchemaOrigin, SchemaStore, ValueDecoder

ORDER = """{"type": "record", "name": "Order", "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "customer", "type": "string"}]}"""


def test_a_prefix_names_the_schema() -> None:
    store = SchemaStore()
    store.add_schema(RegisteredSchema("AVRO", ORDER, SchemaOrigin("capture", 88), schema_id=17))
    found = ValueDecoder(store).decode(bytes.fromhex("00 00000011 52 06416e6e"), [], topic="orders", is_key=False)
    assert found is not None
    assert found.to_json() == {
        "format": "avro",
        "schema_id": 17,
        "name": "shop.Order",
        "schema_from": {"kind": "capture", "packet": 88},
        "value": {"id": 41, "customer": "Ann"},
    }


def test_a_value_that_ends_early_says_where() -> None:
    store = SchemaStore()
    store.add_schema(RegisteredSchema("AVRO", ORDER, SchemaOrigin("file", place="order.avsc"), schema_id=17))
    found = ValueDecoder(store).decode(bytes.fromhex("00 00000011 52 06416e"), [])
    assert found is not None
    assert (found.value, found.error) == (None, "need 3 bytes, have 2 at byte 7 (customer)")


def test_an_id_without_schema_is_told() -> None:
    found = ValueDecoder(SchemaStore()).decode(bytes.fromhex("00 00000011 52 06416e6e"), [])
    assert found is not None
    assert (found.schema_id, found.missing_schema, found.value) == (17, True, None)
