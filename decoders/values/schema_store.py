"""Schemas in, from files, captures, caches and registries; the schemas that an id, a GUID or a subject may mean out.

The problem. Ids belong to a registry, and to a context of it, so two schemas of one capture may have the same id; the
same schema comes many times; some schemas are hostile, or use others that come later.

The idea. A schema is kept as text and parsed when a value first needs it. One that cannot be parsed keeps its error,
which each value that names it tells; where a reference was missing, it is parsed again after other schemas came. A
search gives all candidates, the best first: those of files, then of the registry that is asked for. More than one means
that which of them it is, is a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import orjson

from decoders.errors import DecodeError, LimitExceeded, strip_traceback
from decoders.limits import SCHEMA_SIZE_MAX, SCHEMAS_MAX, SCHEMAS_SIZE_MAX
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.avro_schema import compute_fingerprint
from decoders.values.parse_schema import MissingReference, ParsedSchema, parse_schema
from decoders.values.protobuf.well_known_types import KNOWN_IMPORTS
from decoders.values.schemas_and_decoded_values import IdKind, RegisteredSchema, SchemaOrigin

# Files are what the user says; what a capture taught is of the cluster that is looked at.
_RANKS: Final = {"file": 0, "capture": 1, "cache": 2, "registry": 3}
# Schemas that refer to each other: the longest chains of real ones have some five.
_REFERENCES_MAX: Final = 16


class StoredSchema:
    """A schema of a store: what was added, and its parsed form once a value needed it."""

    __slots__ = ("_error", "_meaning", "_parsed", "_store", "_tried_at", "_visiting", "registered")

    def __init__(self, store: SchemaStore, registered: RegisteredSchema) -> None:
        self.registered = registered
        self._store = store
        self._meaning: tuple[str, str] | None = None
        self._parsed: ParsedSchema | None = None
        self._error: DecodeError | None = None
        self._tried_at = 0
        self._visiting = False

    @property
    def normalized_type_and_text(self) -> tuple[str, str]:
        """The type and the text without what JSON does not mean: registries and clients write spaces differently."""
        if self._meaning is None:
            text = self.registered.text
            with suppress(orjson.JSONDecodeError):
                text = orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS).decode()
            self._meaning = self.registered.schema_type, text
        return self._meaning

    @property
    def knows_all_references(self) -> bool:
        """Whether all schemas that it refers to are known."""
        try:
            self.parse()
        except DecodeError as failure:
            return not isinstance(failure, MissingReference)
        return True

    def parse(self, depth: int = 0) -> ParsedSchema:
        """The parsed schema. Raises DecodeError, each time, where its text, or one that it refers to, is none."""
        if self._parsed is not None:
            return self._parsed
        if self._error is None or (isinstance(self._error, MissingReference) and self._tried_at != self._store.changes):
            self._tried_at = self._store.changes
            try:
                self._parsed = self._parse_with_references(depth)
            except DecodeError as failure:
                self._error = strip_traceback(failure)
            else:
                return self._parsed
        raise type(self._error)(f"schema: {self._error.text}")

    def _parse_with_references(self, depth: int) -> ParsedSchema:
        if self._visiting or depth > _REFERENCES_MAX:
            raise LimitExceeded("schemas that refer to each other in a circle, or in a long chain")
        self._visiting = True
        try:
            found: dict[str, ParsedSchema] = {}
            for reference in self.registered.references:
                candidates = self._store.find_by_subject(
                    reference.subject, reference.version, registry=self.registered.registry
                )
                if not candidates:
                    if self.registered.schema_type == "PROTOBUF" and reference.name.startswith(KNOWN_IMPORTS):
                        continue
                    raise MissingReference(f"the schema of {reference.subject!r} that it refers to is not known")
                found[reference.name] = candidates[0].parse(depth + 1)
            return parse_schema(self.registered, found, lambda name: self._find_imported(name, depth))
        finally:
            self._visiting = False

    def _find_imported(self, name: str, depth: int) -> ParsedSchema | None:
        """The schema that an import means where no reference does, as in a folder: its subject is that name."""
        candidates = self._store.find_by_subject(name, registry=self.registered.registry)
        return candidates[0].parse(depth + 1) if candidates and candidates[0] is not self else None


class SchemaStore:
    """The schemas that are known. `changes` counts additions, `refused` schemas for which there was no room."""

    def __init__(self) -> None:
        self.changes = 0
        self.refused = 0
        self.unregistered: set[int] = set()  # ids that a registry said it does not know
        self.has_files = False  # whether a user gave schemas, which may be of values without a prefix
        self._size = 0
        self._all: dict[RegisteredSchema, StoredSchema] = {}
        self._by_id: dict[int, list[StoredSchema]] = {}
        self._by_guid: dict[str, list[StoredSchema]] = {}
        self._by_subject: dict[str, list[StoredSchema]] = {}
        self._by_fingerprint: dict[bytes, list[StoredSchema]] = {}
        self._unfingerprinted: list[StoredSchema] = []

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[StoredSchema]:
        return iter(self._all.values())

    def add_schema(self, registered: RegisteredSchema) -> bool:
        """Keep a schema. False where it is known already, or too large, or too many are kept; never raises."""
        plain = registered._replace(
            origin=SchemaOrigin(registered.origin.kind), references=tuple(registered.references)
        )
        if plain in self._all:
            return False
        size = len(registered.text)
        if size > SCHEMA_SIZE_MAX or self._size + size > SCHEMAS_SIZE_MAX or len(self._all) >= SCHEMAS_MAX:
            self.refused += 1
            return False
        self._size += size
        self.has_files |= registered.origin.kind == "file"
        self.changes += 1
        stored = self._all[plain] = StoredSchema(self, registered)
        if registered.schema_id is not None:
            self._by_id.setdefault(registered.schema_id, []).append(stored)
        if registered.guid is not None:
            self._by_guid.setdefault(registered.guid.lower(), []).append(stored)
        if registered.subject is not None:
            self._by_subject.setdefault(registered.subject, []).append(stored)
        if registered.schema_type == "AVRO":
            self._unfingerprinted.append(stored)
        return True

    def note_unregistered_id(self, schema_id: int) -> None:
        """Note that a registry does not know an id."""
        if len(self.unregistered) < SCHEMAS_MAX:
            self.unregistered.add(schema_id)

    def find_by_id(
        self, schema_id: int, *, registry: str | None = None, id_kind: IdKind | None = None
    ) -> list[StoredSchema]:
        """The schemas that an id may mean, the best first; several where registries (or contexts) differ about it.

        `id_kind`: which of Apicurio's ids it is. Its content ids are the ids of its Confluent API.
        """
        found = self._by_id.get(schema_id, ())
        if id_kind is not None:
            found = [each for each in found if _has_id_of_kind(each.registered, id_kind)]
        return _best_schemas(found, registry)

    def find_by_guid(self, guid: str, *, registry: str | None = None) -> list[StoredSchema]:
        """The schemas of a GUID (Confluent) or of a schema version's UUID (Glue), in any case of letters."""
        return _best_schemas(self._by_guid.get(guid.lower(), ()), registry)

    def find_by_subject(
        self, subject: str, version: int | None = None, *, registry: str | None = None
    ) -> list[StoredSchema]:
        """The schemas of a subject's version, or of its latest one: files, which have no versions, come first."""
        found: Sequence[StoredSchema] = self._by_subject.get(subject, ())
        if version is None:
            found = [each for each in found if each.registered.origin.kind == "file"] or found
            version = max((each.registered.version or 0 for each in found), default=None)
        return _best_schemas([each for each in found if (each.registered.version or 0) == version], registry)

    def find_by_topic(self, topic: str, is_key: bool, *, registry: str | None = None) -> list[StoredSchema]:
        """The latest schemas of a topic by the names that serializers give subjects by default (`orders-value`)."""
        return self.find_by_subject(f"{topic}-{'key' if is_key else 'value'}", registry=registry)

    def find_by_fingerprint(self, fingerprint: bytes) -> list[StoredSchema]:
        """The Avro schemas with a CRC-64-AVRO, which is given as the 8 bytes of the wire."""
        waiting, self._unfingerprinted = self._unfingerprinted, []
        for each in waiting:
            try:
                parsed = each.parse()
            except MissingReference:
                self._unfingerprinted.append(each)
            except DecodeError:
                pass
            else:
                assert isinstance(parsed, AvroDecoder)
                self._by_fingerprint.setdefault(compute_fingerprint(parsed.kind), []).append(each)
        return _best_schemas(self._by_fingerprint.get(fingerprint, ()), None)


def _has_id_of_kind(schema: RegisteredSchema, id_kind: IdKind) -> bool:
    """Whether a schema's id may be of a kind; the ids of files are what their user says."""
    if schema.id_kind is None:
        return id_kind == "contentId" or schema.origin.kind == "file"
    return schema.id_kind == id_kind


def _best_schemas(candidates: Sequence[StoredSchema], registry: str | None) -> list[StoredSchema]:
    """The candidates of the best origin and registry, one of each meaning."""
    if len(candidates) < 2:
        return list(candidates)
    ranked = [
        ((_RANKS[each.registered.origin.kind], each.registered.registry not in (None, registry)), each)
        for each in candidates
    ]
    best = min(rank for rank, _ in ranked)
    found: dict[tuple[str, str], StoredSchema] = {}
    for rank, each in ranked:
        if rank == best:
            kept = found.setdefault(each.normalized_type_and_text, each)
            # What a schema refers to may be told later than its text.
            if each.registered.references and not kept.registered.references:
                found[each.normalized_type_and_text] = each
    return [*found.values()]
