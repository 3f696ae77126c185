"""A registered schema, and a way to find those that it refers to, in; an object that decodes its values out."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from decoders.errors import LimitExceeded, Malformed
from decoders.named_tuple import NamedTuple
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.avro_schema import AvroType, UnknownName, collect_named_types, parse_avro_schema
from decoders.values.check_values_against_json_schema import JsonSchema
from decoders.values.protobuf.file_descriptors import read_descriptors
from decoders.values.protobuf.proto_text import parse_proto_text
from decoders.values.protobuf.protobuf_schema import DeclaredFile, ProtobufSchema, ProtoMessage, UnknownType, link_files
from decoders.values.protobuf.well_known_types import KNOWN_IMPORTS, load_well_known_types
from decoders.values.schema_id_framings import Framing
from decoders.values.schemas_and_decoded_values import RegisteredSchema

ParsedSchema: TypeAlias = AvroDecoder | ProtobufSchema | JsonSchema
# Types of other schemas that no reference names; the text is parsed again for each.
_IMPORTS_MAX: Final = 64
# The schema of a name that another one imports, though no reference names it; None where there is none.
FindImported: TypeAlias = Callable[[str], ParsedSchema | None]


class ValueReading(NamedTuple):
    """How a value was read: by which schema, and where its message begins (Protobuf). `schema` None: by none."""

    framing: Framing
    schema: AvroDecoder | ProtobufSchema | None = None
    message: ProtoMessage | None = None
    at: int = 0


class MissingReference(Malformed):
    """A schema refers to one that is not known, or not yet."""


def parse_schema(
    registered: RegisteredSchema, references: Mapping[str, ParsedSchema], find_imported: FindImported
) -> ParsedSchema:
    """The parsed form of a schema; `references` has those that it refers to, by the names they have in it.

    Raises DecodeError, MissingReference where another schema may still come that mends it.
    """
    if registered.schema_type == "AVRO":
        return _parse_avro(registered.text, references, find_imported)
    if registered.schema_type == "PROTOBUF":
        return _parse_protobuf(registered.text, references, find_imported)
    known = {name: each for name, each in references.items() if isinstance(each, JsonSchema)}
    return JsonSchema(registered.text, known)


def _parse_avro(text: str, references: Mapping[str, ParsedSchema], find_imported: FindImported) -> AvroDecoder:
    known: dict[str, AvroType] = {}
    for each in references.values():
        if isinstance(each, AvroDecoder):
            known |= collect_named_types(each.kind)
    for _ in range(_IMPORTS_MAX):
        try:
            return AvroDecoder(parse_avro_schema(text, known))
        except UnknownName as failure:
            found = find_imported(failure.name)
            if not isinstance(found, AvroDecoder) or failure.name in known:
                raise MissingReference(failure.text) from None
            known |= {failure.name: found.kind, **collect_named_types(found.kind)}
    raise LimitExceeded("a schema that refers to too many others")


def _parse_protobuf(text: str, references: Mapping[str, ParsedSchema], find_imported: FindImported) -> ProtobufSchema:
    files, is_of_descriptors = _read_protobuf_files(text)
    known = [each for each in references.values() if isinstance(each, ProtobufSchema)]
    missing = []
    if len(files) == 1:
        for path in files[0].imports:
            if path not in references and not path.startswith(KNOWN_IMPORTS):
                imported = find_imported(path)
                if isinstance(imported, ProtobufSchema):
                    known.append(imported)
                else:
                    missing.append(path)
    try:
        found = link_files(files, known, load_well_known_types())
    except UnknownType as failure:
        # Imports that only declare options of schemas, of which there are many, need not be known.
        if not missing:
            raise
        raise MissingReference(f"{failure.text}; not known is what it imports: {', '.join(missing)}") from None
    found.is_of_descriptors = is_of_descriptors
    return found


def _read_protobuf_files(text: str) -> tuple[list[DeclaredFile], bool]:
    """The declarations of `.proto` text, or of descriptors in base64, as clients register them; whether it is these."""
    try:
        data = b64decode("".join(text.split()), validate=True)
    except (NotBase64, ValueError):
        return [parse_proto_text(text)], False
    return read_descriptors(data), True
