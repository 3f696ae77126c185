"""Random declarations by seed: any versions, nesting, nullability, tags and defaults that Kafka could have."""

from __future__ import annotations

from random import Random

from decoders.schema.api_declaration import FIXED, FOREVER, NONE, Default, Field, Message, Versions

KINDS = [*FIXED, "string", "string", "string", "bytes", "records", "varint", "varlong", "uvarint", "struct", "struct"]
DEFAULTS: dict[str, list[Default]] = {
    "bool": [True, False],
    "int8": [-1, 7],
    "int16": [-1, 300],
    "uint16": [9092],
    "int32": [-1, 2**31 - 1],
    "uint32": [2**32 - 1],
    "int64": [-1, -(2**63)],
    "float64": [1.5],
    "uuid": ["AAAAAAAAAAAAAAAAAAAAAQ"],
    "string": ["", "none"],
}


def message(rng: Random) -> Message:
    """A message with one to four versions, the last of which may be flexible."""
    last = rng.randrange(4)
    flexible = Versions(rng.randrange(last + 2), FOREVER) if rng.random() < 0.8 else NONE
    fields = _fields(rng, last, flexible, 3)
    return Message(f"Random{rng.randrange(10**6)}", Versions(0, last), flexible, fields)


def _fields(rng: Random, last: int, flexible: Versions, depth: int) -> tuple[Field, ...]:
    always = Field("always", rng.choice(["int8", "int32", "string"]), False, Versions(0, FOREVER))
    fields = [always]
    for number in range(rng.choice([1, 2, 3, 5, 8] if depth == 3 else [0, 1, 2, 3, 4])):
        fields.append(_field(rng, f"field_{number}", last, flexible, depth))
    rng.shuffle(fields)
    if any(field.unless for field in fields):
        fields.sort(key=lambda field: field.name != "always")
    return tuple(fields)


def _versions(rng: Random, last: int) -> Versions:
    if rng.random() < 0.7:
        return Versions(0, FOREVER)
    low = rng.randrange(last + 1)
    return Versions(low, FOREVER if rng.random() < 0.6 else rng.randrange(low, last + 1))


def _field(rng: Random, name: str, last: int, flexible: Versions, depth: int) -> Field:
    kind = rng.choice(KINDS)
    if kind == "int16" and rng.random() < 0.5:
        name += "_error_code"
    array = rng.random() < 0.35
    fields: tuple[Field, ...] = ()
    if kind == "struct":
        if depth == 0:
            kind = "int32"
        else:
            fields = _fields(rng, last, flexible, depth - 1)
            array = rng.random() < 0.7
    versions = _versions(rng, last)
    nullable = NONE
    if (array or kind in {"string", "bytes", "records", "struct"}) and rng.random() < 0.5:
        nullable = Versions(rng.randrange(last + 1), FOREVER)
    tag, tagged = None, NONE
    if flexible and rng.random() < 0.3:
        tag, tagged = int(name.split("_")[1]), versions & flexible
    default: Default = None
    has_default = False
    if not array and kind in DEFAULTS and rng.random() < 0.5:
        default, has_default = rng.choice(DEFAULTS[kind]), True
    elif nullable.low == 0 and nullable and rng.random() < 0.4:
        has_default = True
    secret = kind in {"string", "bytes"} and rng.random() < 0.1
    return Field(
        name, kind, array, versions, nullable, tag, tagged, default, has_default,
        ignorable=rng.random() < 0.3, secret=secret, fields=fields,
        flexible=rng.random() < 0.95, unless="always" if secret and rng.random() < 0.5 else "",
    )  # fmt: skip
