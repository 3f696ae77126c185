"""`--schemas`: files and folders, what `ids.json` calls them, types of other files, and what is told of bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decoders import Record
from kwcli.reading.schema_files import read_schema_files
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw
from tests.reading.captures_with_values import ORDER, HandMadeCapture, prefixed
from tests.reading.test_value_schemas import orders

LINE = {"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "sku", "type": "string"}]}
CART = {
    "type": "record",
    "name": "Cart",
    "namespace": "shop",
    "fields": [{"name": "lines", "type": {"type": "array", "items": "Line"}}],
}


def write(folder: Path, **files: Any) -> str:
    """Write files of JSON; `_` stands for the last point of a name, `__` for a stroke."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / ".".join(name.rsplit("_", 1)).replace("__", "-")).write_text(text)
    return str(folder)


def test_ids_of_files_decode_and_come_before_the_capture(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "s",
        order_avsc=ORDER,
        cart_avsc=CART,
        line_avsc=LINE,
        ids_json={"17": "order.avsc", "18": "cart.avsc"},
    )
    capture = HandMadeCapture().produce(
        "orders", Record(0, 5, None, prefixed(17)), Record(1, 5, None, prefixed(18, b"\2\4ab\0"))
    )
    name = capture.write(tmp_path / "a.pcap")
    first, second = orders("sniff", name, "--schemas", folder)
    assert first["schema_from"] == {"kind": "file", "place": str(tmp_path / "s" / "order.avsc")}
    assert first["value"] == {"id": 41, "customer": "Ann"}
    assert second["value"] == {"lines": [{"sku": "ab"}]}
    assert kw("sniff", name, "--schemas", folder, "-f", "value.lines[].sku == ab").out.count("\n") == 1


def test_words_of_ids_and_names_of_files_are_subjects(tmp_path: Path) -> None:
    guid = "6DB62F8B-BF6A-5682-B0B8-93829C3E99BE"
    words = {"17": "order.avsc", "orders": "order.avsc", "orders-key": "order.avsc", guid: "order.avsc"}
    found = read_schema_files([write(tmp_path, order_avsc=ORDER, ids_json=words, a__value_json={"type": "object"})])
    assert {(each.schema_type, each.schema_id, each.guid, each.subject) for each in found} == {
        ("JSON", None, None, "a-value"),
        ("AVRO", None, None, "order"),
        ("AVRO", 17, None, None),
        ("AVRO", None, guid.lower(), None),
        ("AVRO", None, None, "orders-value"),
        ("AVRO", None, None, "orders-key"),
    }


def test_imports_name_files_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "line.proto").write_text('syntax = "proto3"; message Line { string sku = 1; }')
    (tmp_path / "cart.proto").write_text(
        'syntax = "proto3";\nimport "shop/line.proto";\nmessage Cart { Line line = 1; }'
    )
    found = {each.subject: each for each in read_schema_files([str(tmp_path)])}
    (reference,) = found["cart"].references
    assert (reference.name, reference.subject) == ("shop/line.proto", "line")
    assert not found["line"].references


def test_a_set_of_descriptors_has_the_schemas_of_its_files(tmp_path: Path) -> None:
    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    line, cart = field(1, b"line.proto"), field(1, b"cart.proto") + field(3, b"line.proto")
    (tmp_path / "all.desc").write_bytes(field(1, line) + field(1, cart))
    found = {each.subject: each for each in read_schema_files([str(tmp_path / "all.desc")])}
    assert [reference.subject for reference in found["cart"].references] == ["line"]


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "no schema in it"),
        ({"ids_json": ["17"], "a_avsc": ORDER}, "it has to be an object"),
        ({"ids_json": {"17": "b.avsc"}, "a_avsc": ORDER}, "b.avsc is not among the files"),
        ({"a_avsc": "{"}, "no JSON"),
        ({"a_desc": "{"}, "no set of Protobuf descriptors"),
    ],
    ids=["empty", "list", "unknown", "no JSON", "no set"],
)
def test_what_is_no_schema_is_told(files: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(Failure, match=text):
        read_schema_files([write(tmp_path / "s", **files)])


def test_options_that_would_be_ignored_are_refused(tmp_path: Path) -> None:
    name = HandMadeCapture().produce("orders").write(tmp_path / "a.pcap")
    assert kw("sniff", name, "--schemas", str(tmp_path / "none"), "--records").code == Exit.FAILURE
    assert kw("sniff", name, "--schemas", str(tmp_path), "--raw-values").code == Exit.USAGE
    bad = write(tmp_path / "s", a_avsc={"type": "nonsense", "name": "x"})
    assert "a.avsc: schema: " in kw("sniff", name, "--schemas", bad, "--records").err
