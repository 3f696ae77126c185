"""Every string and bytes field of every message and structure has a row in the table, and every row a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from decoders.apis import KEYS, api
from decoders.embedded import INSIDE, STRUCTURES, parse_structure_declaration
from decoders.embedded.structure_holders import HOLDERS
from decoders.schema.api_declaration import Field, Message
from decoders.scrubbing.field_kinds import BY_FIELD, BY_SIBLING, KINDS, kind_of_field
from decoders.scrubbing.replace_names import KEPT

FILE: Final = "decoders/scrubbing/field_kinds.py"


def messages() -> Iterator[Message]:
    for key in KEYS:
        declared = api(key)
        yield from (declared.request, declared.response, *declared.early.values())
    yield from map(parse_structure_declaration, STRUCTURES)


def texts(fields: tuple[Field, ...], above: str = "") -> Iterator[tuple[str, Field]]:
    for field in fields:
        if field.fields:
            yield from texts(field.fields, f"{above}{field.name}.")
        elif field.kind in ("string", "bytes", "records"):
            yield above + field.name, field


def test_every_field_has_a_row() -> None:
    """A new field is overwritten until a row in the table tells what it is."""
    missing = [
        f"{m.name} {path}" for m in messages() for path, _ in texts(m.fields) if kind_of_field(m.name, path) is None
    ]
    assert not missing, "\n".join([f"no row in KINDS of {FILE}:", *missing])


def test_every_row_has_a_field() -> None:
    used = set()
    for message in messages():
        for path, field in texts(message.fields):
            above = path.rpartition(".")[0].rpartition(".")[2] or message.name
            used.add(f"{above}.{field.name}" if f"{above}.{field.name}" in BY_FIELD else field.name)
    left = sorted(set(BY_FIELD) - used)
    assert not left, "\n".join([f"rows of KINDS in {FILE} for fields that no declaration has:", *left])


def test_declared_secrets_are_secrets_here() -> None:
    hiding = ("secret", "token", "request", "response")
    wrong = [
        f"{message.name} {path}: {kind_of_field(message.name, path)}"
        for message in messages()
        for path, field in texts(message.fields)
        if field.secret and kind_of_field(message.name, path) not in hiding and not path.endswith("client_tags.value")
    ]
    assert not wrong, "\n".join([f"declared `secret`, so one of {hiding} in KINDS of {FILE}:", *wrong])


def test_entities_of_declarations_agree() -> None:
    kinds = {"topicName": "topics", "groupId": "groups", "transactionalId": "transactions"}
    wrong = [
        f"{message.name} {path}: {kind_of_field(message.name, path)}, {field.entity}"
        for message in messages()
        for path, field in texts(message.fields)
        if field.entity in kinds and kind_of_field(message.name, path) != kinds[field.entity]
    ]
    assert not wrong, "\n".join([f"another entity in the declaration than in KINDS of {FILE}:", *wrong])


def test_fields_that_hold_structures_are_known() -> None:
    """Fields that tables show as structures have the kind `structure`."""
    holders = [
        (api(key).message(side).name, path.replace("[]", ""))
        for (key, side), paths in HOLDERS.items()
        for path, name in paths.items()
        if name in STRUCTURES
    ]
    holders += [(name, path) for name, paths in INSIDE.items() for path in paths]
    wrong = [f"{message} {path}" for message, path in holders if kind_of_field(message, path) != "structure"]
    assert not wrong, "\n".join([f"not `structure` in KINDS of {FILE}:", *wrong])
    found = [(message.name, path) for message in messages() for path, _ in texts(message.fields)]
    wrong = [" ".join(each) for each in found if kind_of_field(*each) == "structure" and each not in holders]
    assert not wrong, "\n".join([f"`structure` in KINDS of {FILE}, in no row of HOLDERS or INSIDE:", *wrong])


def test_a_name_has_one_kind() -> None:
    names = Counter(name for names in KINDS.values() for name in names.split())
    wrong = [name for name, times in names.items() if times > 1]
    assert not wrong, f"several times in KINDS of {FILE}: {', '.join(wrong)}"


def test_what_siblings_say_is_a_kind() -> None:
    assert {kind for _, kinds in BY_SIBLING.values() for kind in kinds.values()} - {*KEPT, "number"} == set()
    assert {name.rpartition(".")[2] for name, kind in BY_FIELD.items() if kind == "sibling"} - {
        "coordinators.key"
    } == set(BY_SIBLING)
