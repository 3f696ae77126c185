"""Every table of structures: one list of the rows that are missing or wrong, each with its table and file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import decoders.embedded
from decoders.apis import api
from decoders.embedded import (
    INSIDE,
    INSTEAD,
    STRUCTURES,
    TOPICS,
    StructureRow,
    parse_structure_declaration,
    split_declarations,
)
from decoders.embedded.structure_holders import HOLDERS
from decoders.records.records_as_json import TYPES
from decoders.schema.api_declaration import Field, Message, Side
from decoders.schema.body_json_form import sibling_of_hook
from tests.embedded.test_embedded import ROWS

FOLDER: Final = Path(decoders.embedded.__file__).parent / "declarations"
FILES: Final = "decoders/embedded/declarations"
TABLES: Final = "decoders/embedded/__init__.py"
# Structures that no message and no record of a topic holds: in files of brokers, or read as something else.
ALONE: Final = frozenset({"ControlRecordTypeSchema", "AbortedTxn", "ProducerSnapshot", "QuorumStateData"})
# Structures with one number: of old records, and of later ones that replace them.
RENAMED: Final = {("framed", 14): {"ClientQuotaRecord", "QuotaRecord"}}


class Tables(NamedTuple):
    """The tables, and the structures that files declare: name → file."""

    declared: Mapping[str, str]
    structures: Mapping[str, StructureRow]
    topics: Mapping[str, tuple[str, ...]]
    holders: Mapping[tuple[int, Side], Mapping[str, str]]
    inside: Mapping[str, Mapping[str, str]]
    rows: Mapping[str, str]  # structure → its bytes in the tests


def declared() -> dict[str, str]:
    """The structures of all files: name → file without its suffix."""
    modules = [path.stem for path in sorted(FOLDER.glob("*.py"))]
    texts = {
        module: getattr(import_module(f"decoders.embedded.declarations.{module}"), "DECLARATION", "")
        for module in modules
    }
    return {
        part.split("\n", 1)[0].removeprefix("message "): module
        for module, text in texts.items()
        for part in split_declarations(text)
    }


NOW: Final = Tables(declared(), STRUCTURES, TOPICS, HOLDERS, INSIDE, {name: text for name, _, text, _ in ROWS})


def wrong_rows(tables: Tables) -> Iterator[str]:
    """One line for each row that is missing or wrong."""
    for name, module in tables.declared.items():
        row = tables.structures.get(name)
        if row is None:
            yield f"{name}, declared in {FILES}/{module}.py: no row in STRUCTURES of {TABLES}"
        elif row.module != module:
            yield f"{name}: STRUCTURES of {TABLES} says {row.module}, {FILES}/{module}.py declares it"
    for name in tables.structures.keys() - tables.declared.keys():
        yield f"{name}: a row in STRUCTURES of {TABLES}, declared in no file"
    yield from _wrong_framings(tables)
    yield from _wrong_records(tables)
    yield from _wrong_holders(tables)
    yield from _unheld(tables)
    tried = {tables.structures[name].module for name in tables.rows if name in tables.structures}
    for module in {row.module for row in tables.structures.values()} - tried:
        yield f"{module}: no structure of this file has its bytes in ROWS of tests/embedded/test_embedded.py"


def _unheld(tables: Tables) -> Iterator[str]:
    """Structures without a number that nothing holds: no field, no other structure, no control record, no key."""
    held = {name for paths in (*tables.holders.values(), *tables.inside.values()) for name in paths.values()}
    held |= {other for name in held for other in INSTEAD.get(name, ())} | {name for _, name in TYPES.values()} | ALONE
    for name, row in tables.structures.items():
        if row.number is None and name not in held and f"{name.removesuffix('Value')}Key" not in tables.structures:
            yield (
                f"{name}: no holder: no row of HOLDERS (decoders/embedded/structure_holders.py), INSIDE ({TABLES}) "
                "or TYPES (decoders/records/records_as_json.py)"
            )


def _wrong_framings(tables: Tables) -> Iterator[str]:
    of_topics = {module for modules in tables.topics.values() for module in modules}
    for name, row in tables.structures.items():
        known = name in STRUCTURES and tables.declared.get(name) == STRUCTURES[name].module
        fields = parse_structure_declaration(name).fields if known else ()
        if fields and (row.framing in ("own", "own4")) is not (fields[0].name == "version"):
            yield f"{name}: `own` and `own4` are for structures whose first field is `version` (STRUCTURES of {TABLES})"
        wanted = "key" if name.endswith("Key") else "prefix" if name.endswith("Value") else row.framing
        if row.module in of_topics and row.framing != wanted:
            yield f"{name}: a record's framing is `{wanted}`, not `{row.framing}` (STRUCTURES of {TABLES})"


def _wrong_records(tables: Tables) -> Iterator[str]:
    """Structures with a number are found by it in records of the topics of their files; a key's has a value's."""
    of_topics = {module for modules in tables.topics.values() for module in modules}
    for name, row in tables.structures.items():
        if row.number is None:
            if row.framing in ("key", "framed"):
                yield f"{name}: framing `{row.framing}` needs a number, in STRUCTURES of {TABLES}"
            continue
        if row.framing not in ("key", "framed"):
            yield f"{name}: only keys and framed records have a number, in STRUCTURES of {TABLES}"
        if row.module not in of_topics:
            yield f"{row.module}, with {name}: in no row of TOPICS of {TABLES}"
        value = f"{name.removesuffix('Key')}Value"
        if row.framing == "key" and value not in tables.structures:
            yield f"{name}: no {value} in STRUCTURES of {TABLES}, which the records with this key have"
    for topic, modules in tables.topics.items():
        yield from _taken(topic, {name: row for name, row in tables.structures.items() if row.module in modules})


def _taken(topic: str, rows: Mapping[str, StructureRow]) -> Iterator[str]:
    """Numbers that several structures of a topic have."""
    found: dict[tuple[str, int], set[str]] = {}
    for name, row in rows.items():
        if row.number is not None:
            found.setdefault((row.framing, row.number), set()).add(name)
    for (framing, number), names in found.items():
        if len(names) > 1 and names != RENAMED.get((framing, number)):
            yield (
                f"{' and '.join(sorted(names))}: one number, {number}, in {topic}; it is `apiKey` in Kafka, "
                f"and {max(each for _, each in found)} is the highest so far (STRUCTURES of {TABLES})"
            )


def _wrong_holders(tables: Tables) -> Iterator[str]:
    for (key, side), paths in tables.holders.items():
        message = api(key).message(side)
        for path, name in paths.items():
            where = f"{message.name} {path}, in HOLDERS of decoders/embedded/structure_holders.py"
            beside = _fields(message, path.replace("[]", "").rpartition(".")[0])
            known = name in tables.structures or sibling_of_hook(name) in [field.name for field in beside]
            yield from _wrong_holder(where, message, path.replace("[]", ""), name if known else None)
    for holder, paths in tables.inside.items():
        if holder not in STRUCTURES:
            yield f"{holder}, in INSIDE of {TABLES}: no row of STRUCTURES has this name"
            continue
        for path, name in paths.items():
            where = f"{holder} {path}, in INSIDE of {TABLES}"
            yield from _wrong_holder(
                where, parse_structure_declaration(holder), path, name if name in tables.structures else None
            )


def _wrong_holder(where: str, message: Message, path: str, held: str | None) -> Iterator[str]:
    above, _, last = path.rpartition(".")
    beside = _fields(message, above)
    field = next((each for each in beside if each.name == last), None)
    if field is None:
        names = ", ".join(each.name for each in beside) or "none"
        yield f"{where}: the newest stable layout has no such field (at this place: {names})"
    elif field.kind != "bytes":
        yield f"{where}: a field of type {field.kind}; only bytes hold structures"
    elif field.secret:
        yield f"{where}: a secret is shown to nobody, so it cannot be shown as a structure"
    if held is None:
        yield f"{where}: no row of STRUCTURES has the name of the structure"


def _fields(message: Message, path: str) -> tuple[Field, ...]:
    """The fields of a struct in a message; none if there is no such struct."""
    fields = message.fields
    for word in path.split(".") if path else ():
        fields = next((field.fields for field in fields if field.name == word), ())
    return fields


def test_every_structure_has_its_rows() -> None:
    wrong = list(wrong_rows(NOW))
    assert not wrong, "\n".join(["rows are missing or wrong:", *wrong])


def without(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: row for key, row in table.items() if key != name}


def holder(path: str, name: str) -> Tables:
    """The tables with one more holder in a JoinGroup request."""
    paths = {**HOLDERS[11, "request"], path: name}
    return NOW._replace(holders={**HOLDERS, (11, "request"): paths})


@pytest.mark.parametrize(
    ("tables", "line"),
    [
        (
            NOW._replace(structures=without(STRUCTURES, "EndTxnMarker")),
            "EndTxnMarker, declared in decoders/embedded/declarations/control_records.py: no row in STRUCTURES",
        ),
        (
            NOW._replace(structures={**STRUCTURES, "EndTxnMarker": StructureRow("files", "prefix")}),
            "EndTxnMarker: STRUCTURES of decoders/embedded/__init__.py says files, ",
        ),
        (NOW._replace(declared=without(NOW.declared, "EndTxnMarker")), "EndTxnMarker: a row in STRUCTURES"),
        (
            NOW._replace(topics=without(TOPICS, "__share_group_state")),
            "share_group_state_topic, with ShareSnapshotKey: in no row",
        ),
        (
            NOW._replace(structures=without(STRUCTURES, "ShareUpdateValue")),
            "ShareUpdateKey: no ShareUpdateValue in STRUCTURES",
        ),
        (
            NOW._replace(
                structures={**STRUCTURES, "ShareUpdateKey": StructureRow("share_group_state_topic", "key", 0)}
            ),
            "ShareSnapshotKey and ShareUpdateKey: one number, 0, in __share_group_state",
        ),
        (holder("protocols[].metadat", "EndTxnMarker"), "has no such field (at this place: name, metadata)"),
        (holder("protocol[].metadata", "EndTxnMarker"), "has no such field (at this place: none)"),
        (holder("group_id", "EndTxnMarker"), "a field of type string; only bytes hold structures"),
        (holder("protocols[].metadata", "EndTxnMark"), "no row of STRUCTURES has the name of the structure"),
        (
            NOW._replace(holders={(36, "request"): {"auth_bytes": "EndTxnMarker"}}),
            "SaslAuthenticateRequest auth_bytes, in HOLDERS of decoders/embedded/structure_holders.py: a secret",
        ),
        (NOW._replace(inside={"EndTxnMarker": {"x": "EndTxnMarker"}}), "EndTxnMarker x, in INSIDE of"),
        (NOW._replace(inside={"EndTxnMark": {"x": "EndTxnMarker"}}), "EndTxnMark, in INSIDE of"),
        (
            NOW._replace(structures={**STRUCTURES, "EndTxnMarker": StructureRow("control_records", "own")}),
            "EndTxnMarker: `own` and `own4` are for structures whose first field is `version`",
        ),
        (
            NOW._replace(
                structures={**STRUCTURES, "TransactionLogValue": StructureRow("transaction_state_topic", "bare")}
            ),
            "TransactionLogValue: a record's framing is `prefix`, not `bare`",
        ),
        (
            NOW._replace(structures={**STRUCTURES, "EndTxnMarker": StructureRow("control_records", "prefix", 3)}),
            "EndTxnMarker: only keys and framed records have a number",
        ),
        (
            NOW._replace(inside=without(INSIDE, "ConsumerProtocolAssignment")),
            "AssignmentInfo: no holder",
        ),
        (
            NOW._replace(rows=without(NOW.rows, "TransactionLogKey")),
            "transaction_state_topic: no structure of this file has",
        ),
        (
            NOW._replace(
                structures={**STRUCTURES, "TransactionLogKey": StructureRow("transaction_state_topic", "key")}
            ),
            "TransactionLogKey: framing `key` needs a number",
        ),
    ],
)
def test_what_is_wrong_is_told(tables: Tables, line: str) -> None:
    assert any(line in each for each in wrong_rows(tables)), list(wrong_rows(tables))
