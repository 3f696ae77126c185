"""An attribute with a row in the table and a value, no more: state, records, schema, paths and tables have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ROW: Final = """    _field(
        *("extra", "colour", _object({"name": _NAME, "depth": _or_null(_INT32)})),
        {"colour_name": "string?@9 name of its colour", "colour_depth": "int32?@9 bits of it"},
    ),
"""
# A contributor's change: the row, before any module has read the table, and the value of one exchange.
SCRIPT: Final = f"""
import importlib.util, sys
from io import BytesIO

spec = importlib.util.find_spec("decoders.exchanges.exchange_fields")
text = open(spec.origin).read()
place = '    _field("extra", "via", _TEXT),\\n'
assert text.count(place) == 1
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(text.replace(place, {ROW!r} + place), spec.origin, "exec"), module.__dict__)

from decoders.exchanges.body_reader import ApiVersions, Needs
from decoders.exchanges.learned_names import Topics
from decoders.filters.exchange_paths import record_path
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.exchange_serialization import RowPacker, RowUnpacker
from decoders.schema.compile_json_schema import compile_json_schema
from kwcli.declarations.record_schema import record_schema
from kwcli.pipeline.tables.schemas import SCHEMAS
from kwcli.pipeline.tables.stored_exchanges import StoredRowReader
from kwcli.pipeline.tables.columns import TABLES_VERSION
from tests.captures.shipped import segments
from tests.pipeline.rows import batch_of, settled_for_tables

RED = {{"name": {{"base64": "/w=="}}, "depth": 8}}
plain, red = settled_for_tables(segments("tour.pcapng"))[:2]
red.extra = {{"colour": RED}}

record = to_json_dict(red)
assert record["colour"] == RED and "colour" not in to_json_dict(plain)
schema = record_schema()
check = compile_json_schema(schema["$defs"]["exchange"], schema)
assert check(record) is None and check({{**record, "colour": {{"name": "red"}}}}) is not None
again = FromRecords().read(record)
assert again.extra == red.extra and to_json_dict(again) == record

written = BytesIO()
packer = RowPacker(written.write)
packer.add([plain, red])
unpacked = RowUnpacker(packer.finish(), written, ApiVersions(Needs()), Topics()).unpack(2)
assert [row.extra for row in unpacked] == [plain.extra, red.extra]

path = record_path("colour.name")
assert path.whole and path.values(red, record) == [RED["name"]]

assert TABLES_VERSION == 9 and SCHEMAS["exchanges"].names[-2:] == ["colour_name", "colour_depth"]
rows = batch_of([plain, red]).to_pylist()
assert [row["colour_depth"] for row in rows] == [None, 8]
assert rows[1]["colour_name"] == '{{"base64":"/w=="}}'
stored = [StoredRowReader().read(row) for row in rows]
assert to_json_dict(stored[1])["colour"] == RED and "colour" not in to_json_dict(stored[0])
print("everywhere")
"""


def test_a_new_attribute_takes_its_row_and_its_value() -> None:
    made = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.stderr == ""
    assert made.stdout == "everywhere\n"
