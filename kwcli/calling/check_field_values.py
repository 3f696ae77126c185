"""A value and its field in, its JSON form out, or an error that says where."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from decoders.errors import EncodeError
from decoders.protocol_facts.convert_field_names import find_field_by_any_name
from decoders.protocol_facts.enum_words import ENUMS
from decoders.schema.api_declaration import Api, Field, Side
from decoders.schema.body_json_form import FLOAT_WORDS, STRUCTURE, leaf_from_json, quote_json, tags_from_json
from decoders.wire.primitive_types import RANGES
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.calling.words.resolve_body_paths import TAGS, is_record_struct, raise_unknown_field

_LISTED = 8


def parse_named_number(field: Field, word: str, path: list[str]) -> int | None:
    """The number that a word means in the field at this path (its steps as text); None where no word means one.

    Raises EncodeError for a word that the field does not have.
    """
    if field.kind not in RANGES or not word[:1].isalpha() or not word.isascii():
        return None
    place = ".".join(path)
    if field.kind == "int16" and field.name.endswith("error_code"):
        from decoders.protocol_facts.errors.error_codes import ERRORS, find_error_code

        found = find_error_code(word)
        if found is None:
            meant = did_you_mean(word, [row.name for row in ERRORS.values()])
            raise EncodeError(f'no error is called "{word:.60}"{meant}', path=place)
        return found
    known = ENUMS.get(field.means)
    if known is None:
        return None
    words = {_fold_enum_name(name): number for number, name in known.items()}
    number = words.get(_fold_enum_name(word))
    if number is None:
        listed = ", ".join(list(known.values())[:_LISTED]) + (", …" if len(known) > _LISTED else "")
        meant = did_you_mean(word, known.values())
        raise EncodeError(f'a number or one of {listed} expected, not "{word:.60}"{meant}', path=place)
    return number


def _fold_enum_name(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()


# Values of fields


# Patterns are strings: few runs need them, and `re` compiles each when it is first used, then keeps it.
_INTEGER: Final = r"(?a)[+-]?\d{1,400}|0[xX][0-9a-fA-F]{1,400}"
_FLOAT: Final = r"(?a)[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_BOOLS: Final = {"true": True, "false": False}
# Fields of records and headers whose text is never a number.
_TEXTS: Final = frozenset({"key", "value", "client_id"})
DEEPEST: Final = 100


class PlainWord(str):
    """Text without quotes in a YAML document: its type comes from its field."""

    __slots__ = ()


def parse_text_as_kind(kind: str, text: str) -> Any:
    """Text as the JSON value of a primitive kind; text that does not fit stays text, for the check to report."""
    if kind in RANGES:
        if not re.fullmatch(_INTEGER, text):
            return text
        return int(text, 16) if text[:2] in {"0x", "0X"} else int(text)
    if kind == "bool":
        return _BOOLS.get(text.lower(), text)
    if kind == "float64":
        if text in FLOAT_WORDS:
            return text
        return float(text) if re.fullmatch(_FLOAT, text) and len(text) < DEEPEST else text
    return text


class ValueChecker:
    """Checks values of one side of an API: against `version` where it is given, else against all versions together.

    Text (of a word, of a plain YAML scalar) gets its type from its field.
    """

    def __init__(self, api: Api, side: Side, version: int | None = None) -> None:
        self.api = api
        self.side = side
        self.version = version

    def check_body(self, value: object) -> dict[str, Any]:
        """A whole body, ready to be encoded. Raises EncodeError, or Failure for a name that no version has."""
        return self.check_struct(self.api.message(self.side).fields, value, [])

    def check_struct(self, fields: Sequence[Field], value: object, before: list[str]) -> dict[str, Any]:
        """The checked fields of an object; `before` is its path, in steps."""
        if not isinstance(value, Mapping):
            raise EncodeError(f"an object expected, not {quote_json(value)}", path=".".join(before))
        out: dict[str, Any] = {}
        seen: dict[str, str] = {}
        for name, inner in value.items():
            if name == TAGS:
                place = ".".join([*before, TAGS])
                tags = infer_types_of_plain_words(inner, place)
                tags_from_json(tags, place)
                out[name] = tags
                continue
            field = find_field_by_any_name(fields, str(name), self.version) or find_field_by_any_name(fields, str(name))
            if field is None:
                raise_unknown_field(self.api, self.side, before, str(name))
            if field.name in seen:
                raise EncodeError(f"the same field as {seen[field.name]}", path=".".join([*before, str(name)]))
            seen[field.name] = str(name)
            # A body may have a field that this version lacks, if it is at its default: the encoder checks that.
            out[name] = self.check_value(field, inner, [*before, str(name)])
        return out

    def check_value(self, field: Field, value: object, path: list[str]) -> Any:
        """The checked value of a field, an array's elements included."""
        if value is None:
            self._check_null_allowed(field, path)
            return None
        if not field.array:
            return self.check_element(field, value, path)
        if not isinstance(value, list | tuple):
            raise EncodeError(f"an array expected, not {quote_json(value)}", path=".".join(path))
        return [self.check_element(field, each, [*path[:-1], f"{path[-1]}[{n}]"]) for n, each in enumerate(value)]

    def check_element(self, field: Field, value: object, path: list[str]) -> Any:
        """One checked value: a struct, or a leaf."""
        if is_record_struct(field):
            return infer_types_of_plain_words(value, ".".join(path))
        if field.kind == "struct":
            return self.check_struct(field.fields, value, path)
        place = ".".join(path)
        if isinstance(value, PlainWord):
            number = parse_named_number(field, str(value), path)
            value = parse_text_as_kind(field.kind, str(value)) if number is None else number
        elif isinstance(value, list | Mapping):
            value = infer_types_of_plain_words(value, place)
            if isinstance(value, list) and field.kind == "records":
                check_batches_encodable(value, place)
                return value
            if isinstance(value, dict) and STRUCTURE in value and field.kind in {"bytes", "records"}:
                check_structure_encodable(value, place)
                return value
        leaf_from_json(field.kind, value, place)
        return value

    def _check_null_allowed(self, field: Field, path: list[str]) -> None:
        if field.nullable and (self.version is None or self.version in field.nullable):
            return
        where = f": only in versions {field.nullable}" if field.nullable else ""
        raise EncodeError(f"null is not allowed{where}", path=".".join(path))


def check_batches_encodable(batches: list[Any], path: str) -> None:
    """Check that a list of batches can be encoded. Raises EncodeError."""
    from decoders.records.encode_batches import batch_from_json

    for index, batch in enumerate(batches):
        batch_from_json(batch, f"{path}[{index}]")


def check_structure_encodable(value: Mapping[str, Any], path: str) -> None:
    """Check that a structure with its `$type` can be encoded. Raises EncodeError."""
    from decoders.embedded import encode_embedded_from_json

    encode_embedded_from_json(value, path)


def infer_types_of_plain_words(value: Any, path: str, name: str = "", depth: int = 0) -> Any:
    """A value in which plain YAML text gets the type that it looks like, where no declaration gives one."""
    if isinstance(value, PlainWord):
        text = str(value)
        if name in _TEXTS:
            return text
        return next(
            (found for kind in ("int64", "bool", "float64") if (found := parse_text_as_kind(kind, text)) != text), text
        )
    if depth > DEEPEST:
        raise EncodeError("arrays and objects inside each other too deep", path=path)
    if isinstance(value, Mapping):
        return {key: infer_types_of_plain_words(inner, path, str(key), depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [infer_types_of_plain_words(each, path, name, depth + 1) for each in value]
    return value
