"""kw with one more attribute of an exchange, as a contributor adds one: a row in either table, and a value.

`python -m tests.pipeline.added_attribute` fails unless it goes through records, the schema, rows for other processes,
paths and tables, there and back. The attribute is `colour`, of which two parts have columns.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Final

LOOKS: Final = """    "colour": (
        _object_schema({"name": _NAME, "depth": _nullable_schema(_INT32)}),
        {"colour_name": "string?@9 name of its colour", "colour_depth": "int32?@9 bits of it"},
    ),
"""
# Module of a table → the new row, and the row that it stands before.
ROWS: Final = {
    "decoders.exchanges.exchange_attribute_table": (
        '    "colour": "extra",\n',
        '    "via": "extra",\n',
    ),
    "decoders.exchanges.exchange_attribute_schemas": (LOOKS, '    "via": (_TEXT,),\n'),
}
# Its name is no UTF-8.
RED: Final[dict[str, Any]] = {"name": {"base64": "/w=="}, "depth": 8}


def add_rows() -> None:
    """Add the rows; no module may have read the tables before."""
    for name, (row, next_row) in ROWS.items():
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        assert spec.name not in sys.modules
        text = Path(spec.origin).read_text()
        assert text.count(next_row) == 1
        module = sys.modules[spec.name] = module_from_spec(spec)
        exec(compile(text.replace(next_row, row + next_row), spec.origin, "exec"), module.__dict__)


def follow_value() -> None:
    """Follow the value of one exchange beside another one without it."""
    from decoders.filters.exchange_paths import parse_record_path
    from decoders.messages.exchange_from_json import FromRecords
    from decoders.messages.exchange_json import to_json_dict
    from decoders.schema.json_schema_validator import compile_json_schema
    from kwcli.declarations.make_published_schemas import make_record_schema
    from kwcli.pipeline.tables.arrow_schemas import SCHEMAS
    from kwcli.pipeline.tables.stored_exchanges import StoredRowReader
    from kwcli.pipeline.tables.table_columns import TABLES_VERSION
    from tests.captures.shipped import segments
    from tests.pipeline.rows import batch_of, settled_for_tables

    plain, red = [row for row in settled_for_tables(segments("tour.pcapng")) if row.kind == "exchange"][:2]
    red.extra = {"colour": RED}
    record = to_json_dict(red)
    assert record["colour"] == RED
    assert "colour" not in to_json_dict(plain)

    schema = make_record_schema()
    check = compile_json_schema(schema["$defs"]["exchange"], schema)
    assert check(record) is None
    assert check({**record, "colour": {"name": "red"}}) is not None
    again = FromRecords().read(record)
    assert again.kind == "exchange"
    assert again.extra == red.extra
    assert to_json_dict(again) == record

    assert parse_record_path("colour.name").values(red, record) == [RED["name"]]
    assert _sent_to_another_process(plain, red) == [None, RED]

    assert TABLES_VERSION == 9
    assert SCHEMAS["exchanges"].names[-2:] == ["colour_name", "colour_depth"]
    rows = batch_of([plain, red]).to_pylist()
    assert [row["colour_depth"] for row in rows] == [None, 8]
    assert [row["colour_name"] for row in rows] == [None, '{"base64":"/w=="}']
    stored = [to_json_dict(StoredRowReader().read(row)) for row in rows]
    assert [each.get("colour") for each in stored] == [None, RED]


def _sent_to_another_process(*rows: Any) -> list[Any]:
    from decoders.exchanges.body_reader import ApiReaders, Needs
    from decoders.exchanges.exchange import Exchange
    from decoders.exchanges.topic_and_node_names import Topics
    from decoders.messages.exchange_serialization import RowPacker, RowUnpacker

    written = BytesIO()
    packer = RowPacker(written.write)
    packer.add(rows)
    unpacker = RowUnpacker(packer.finish(), written, ApiReaders(Needs()), Topics())
    return [(row.extra or {}).get("colour") for row in unpacker.unpack(2) if isinstance(row, Exchange)]


if __name__ == "__main__":
    add_rows()
    follow_value()
    sys.stdout.write("everywhere\n")
