"""Words that stand for numbers, in fields of a closed set and in error codes: a field and a word in, the number out."""

from __future__ import annotations

from decoders.apis.enums import ENUMS
from decoders.apis.names import find_field
from decoders.errors import EncodeError
from decoders.schema.model import Api, Field, Side
from decoders.wire.primitives import RANGES
from kwcli.spelling import did_you_mean

_LISTED = 8


def number_of(api: Api, side: Side, field: Field, word: str, path: list[str]) -> int | None:
    """The number that a word means in a field at this path (its steps as text); None where no word means one.

    Raises EncodeError for a word that is none of the field's.
    """
    if field.kind not in RANGES or not word[:1].isalpha() or not word.isascii():
        return None
    place = ".".join(path)
    if field.kind == "int16" and field.name.endswith("error_code"):
        from decoders.apis.error_codes import ERRORS, find_error

        found = find_error(word)
        if found is None:
            meant = did_you_mean(word, [row.name for row in ERRORS.values()])
            raise EncodeError(f'no error is called "{word:.60}"{meant}', path=place)
        return found
    known = ENUMS.get(api.key, {}).get(canonical(api, side, path))
    if known is None:
        return None
    words = {_folded(name): number for number, name in known.items()}
    number = words.get(_folded(word))
    if number is None:
        listed = ", ".join(list(known.values())[:_LISTED]) + (", …" if len(known) > _LISTED else "")
        meant = did_you_mean(word, known.values())
        raise EncodeError(f'a number or one of {listed} expected, not "{word:.60}"{meant}', path=place)
    return number


def canonical(api: Api, side: Side, path: list[str]) -> str:
    """A path with the names of the declaration and without numbers: `topics[].partitions[].timestamp`."""
    fields = api.message(side).fields
    steps = []
    for text in path:
        field = find_field(fields, text.partition("[")[0])
        if field is None:
            break
        steps.append(field.name + ("[]" if field.array and field.fields else ""))
        fields = field.fields
    return ".".join(steps)


def _folded(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
