"""One API version as an engine uses it: its layouts, the fields that are projected, and the reading of its exchanges.

A side is read by its stable layout. Where that fails, the other layouts that this version has had are tried: those of
early-access releases, and version 0 for an ApiVersions response (a broker that does not know the version answers so).
Only the fields that views, filters and folds ask for (Needs) are projected, as united {(API key, side): paths}. A path
is written without indices (`topics[].name`); the path of a struct or array takes all of it. A path that a version does
not have is ignored for that version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from decoders.apis import NAMES, api, api_name
from decoders.errors import DecodeError, UnknownApi, UnsupportedVersion, strip_traceback
from decoders.exchanges.topic_and_node_names import (
    TOPIC_ID_SOURCES,
    WELL_KNOWN,
    Topics,
    paths_of_nameless_ids,
    values_at_path,
)
from decoders.frames.read_and_judge_headers import find_response_body_offset, is_flexible, read_request_head
from decoders.frames.read_unusual_bodies import (
    BodyReading,
    list_trailing_remarks,
    read_body_by_walking,
    read_response_of_other_version,
)
from decoders.limits import BODY_WHOLE_MAX
from decoders.mypyc_modules import mypyc_attr
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    API_VERSIONS,
    CONTROLLED_SHUTDOWN,
    CREATE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    DESCRIBE_GROUPS,
    ENVELOPE,
    JOIN_GROUP,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SYNC_GROUP,
)
from decoders.protocol_facts.errors.errors_by_api import expected_error_codes
from decoders.protocol_facts.exchange_remarks import LZ4_REMARKS, PAIRING_REMARKS, ExchangeRemark
from decoders.schema.api_declaration import Field, Plan, Side, resolve
from decoders.schema.codegen_support import CRUDE
from decoders.schema.decode_and_encode import decode_partial
from decoders.schema.defer_long_arrays import decode_without_long_arrays
from decoders.schema.field_projection import parse_wanted_paths, redact_secrets_in_place
from decoders.schema.lazy_decoder import Projector, generate_code_of_used_decoders, get_decoder, get_projector
from decoders.schema.plan_walker import UNKNOWN
from decoders.wire.primitive_types import format_uuid, read_uvarint
from decoders.wire.suggest_similar_words import did_you_mean

# The first ApiVersions request that says which software the client is.
SOFTWARE_SINCE: Final = 3
SIDES: Final[tuple[Side, Side]] = ("request", "response")

# The APIs whose responses name owners of delegation tokens (KIP-48), and the APIs that make up a login
# (sasl_logins.py).
TELLING_OWNERS: Final = (CREATE_DELEGATION_TOKEN, DESCRIBE_DELEGATION_TOKEN)
LOGGING_IN: Final = (SASL_HANDSHAKE, SASL_AUTHENTICATE)
_READ_WHEN_SETTLED: Final = frozenset((*LOGGING_IN, *TELLING_OWNERS, ENVELOPE))
TRANSACTIONAL_SINCE: Final = 3
UNSUPPORTED_VERSION: Final = b"\0\x23"
# Their fields hold what members of consumer groups tell each other.
GROUP_KEYS: Final = frozenset({JOIN_GROUP, SYNC_GROUP, DESCRIBE_GROUPS})
# The most readers kept, one for each API version: 368 exist, but garbage may claim more.
API_READERS_MAX: Final = 10_000


class DecodeFailure(NamedTuple):
    """Why a side could not be decoded: `offset` in bytes after the frame's size field, `path` of the field."""

    reason: str
    offset: int
    path: str
    text: str


class Sides(Protocol):
    """The part of an Exchange that this module reads and sets (exchange.py describes the attributes)."""

    request_raw: bytes | None
    response_raw: bytes | None
    extra: dict[str, Any] | None
    _request_view: Any
    _response_view: Any
    _error_codes: list[tuple[str, int]] | None
    _failed: dict[Side, DecodeFailure] | None
    _early: dict[Side, str] | None

    @property
    def is_sasl_token(self) -> bool:
        """Whether the exchange is a SASL token and its answer."""

    @property
    def is_orphan(self) -> bool:
        """Whether the exchange is a response without its request."""

    def raw(self, side: Side) -> bytes | None:
        """The frame of a side."""

    def values(self, side: Side) -> Any:
        """A side as Python values."""

    def topic_name(self, identity: UUID) -> str | None:
        """The name of a topic id."""

    def _set_views(
        self,
        request_view: Any,
        response_view: Any,
        error_codes: list[tuple[str, int]] | None,
        failures: dict[Side, DecodeFailure] | None,
        layout: dict[Side, str] | None,
    ) -> None:
        """Store the views, error codes, failures and early layouts that `ApiReader.read_and_set_views` has found."""


class Unusual(Exception):
    """Raised where the fast path of `ApiReader.read_and_set_views` does not apply and the slow path has to decide."""


FAILURES: Final = (*CRUDE, DecodeError, Unusual)
Read = TypeVar("Read")


class Layout(NamedTuple):
    """One layout of a body; `early_layout` names the release whose early-access layout it is; None: the stable one."""

    plan: Plan
    early_layout: str | None


class SideProjection(NamedTuple):
    """The view of a side, its error codes, the release of an early layout, and remarks on what was read."""

    view: Any
    codes: list[tuple[str, int]] | None
    early_layout: str | None
    remarks: list[ExchangeRemark]


def replace_reading_remarks(exchange: Sides, remarks: list[ExchangeRemark]) -> None:
    """Set the remarks on what was read of an exchange; those on its pairing stay. Reading it again adds none."""
    extra = exchange.extra or {}
    if remarks or "remarks" in extra:
        kept = [remark for remark in extra.get("remarks", ()) if remark["id"] in PAIRING_REMARKS | LZ4_REMARKS]
        others = {name: value for name, value in extra.items() if name != "remarks"}
        exchange.extra = ({**others, "remarks": kept + remarks} if kept or remarks else others) or None


@cache
def list_layouts(key: int, version: int, side: Side) -> tuple[Layout, ...]:
    """The layouts of a side, the stable one first; empty when the version is not known."""
    if key not in NAMES:
        return ()
    declared = api(key)
    message = declared.message(side)
    found = [Layout(resolve(message, version), None)] if version in declared.versions else []
    for (its_side, its_version, release), early in declared.early.items():
        if (its_side, its_version) == (side, version):
            found.append(Layout(resolve(early, version), release))
    if key == API_VERSIONS and side == "response" and version:
        found.append(Layout(resolve(message, 0), None))
    return tuple(found)


@mypyc_attr(allow_interpreted_subclasses=True)
class ApiReader:
    """Reads one API version. Slots hold what the pairing loop needs; projections are made when first used."""

    __slots__ = (
        "_nameless",
        "_needs",
        "_quick",
        "expected",
        "flexible",
        "json",
        "key",
        "known",
        "name",
        "no_acks",
        "null_id",
        "quick",
        "read_when_settled",
        "response_at",
        "version",
    )

    def __init__(self, key: int | None, version: int | None, needs: Needs) -> None:
        self.key = key
        self.version = version
        self.known = key is not None and version is not None and key in NAMES and version in api(key).versions
        self.name = None if key is None else api(key).name if key in NAMES else f"UNKNOWN({key})"
        self.flexible = key is not None and version is not None and is_flexible(key, version)
        # Produce without a transactional id: how a body with acks=0 begins, and what stands before the acks.
        self.no_acks, self.null_id = _find_acks_bytes(key, version or 0)
        # Whether a request has a client id and both sides only a stable layout; where the body of a response begins.
        self.quick = self.known and (key, version) != (CONTROLLED_SHUTDOWN, 0) and (key != API_VERSIONS or not version)
        self.quick = self.quick and key not in GROUP_KEYS  # their structures are looked at
        self.response_at = 9 if self.flexible and key != API_VERSIONS else 8
        self._quick: tuple[Projector, Projector] | None = None
        # The Readers that messages/build_body_json.py has made: without and with secrets.
        self.json: list[Any] = [None, None]
        self.read_when_settled = key in _READ_WHEN_SETTLED or has_topic_ids_with_names(key, version)
        self.expected = expected_error_codes(key)
        self._needs = needs
        self._nameless: dict[Side, tuple[str, ...]] = {}

    def has_acks_zero(self, data: bytes, body: int) -> bool:
        """Whether a Produce request, whose body begins at `body`, has acks=0; False where its acks cannot be read."""
        if not self.null_id:
            return data[body : body + 2] == b"\0\0"
        if not self.flexible:
            body += 2 + max(int.from_bytes(data[body : body + 2], "big", signed=True), 0)
        else:
            try:
                size, body = read_uvarint(data, body, len(data))
            except DecodeError:
                return False
            body += max(size - 1, 0)
        return data[body : body + 2] == b"\0\0"

    @property
    def allows_fast_pairing(self) -> bool:
        """Whether the pairing loop may take requests of this version on its fast path."""
        if not self.known or self.version is None:
            return False
        if self.key == API_VERSIONS:
            return self.version < SOFTWARE_SINCE
        return self.key not in LOGGING_IN and (self.key, self.version) != (CONTROLLED_SHUTDOWN, 0)

    def list_layouts(self, side: Side) -> tuple[Layout, ...]:
        """The layouts of a side, the stable one first."""
        return () if self.key is None or self.version is None else list_layouts(self.key, self.version, side)

    def may_try_layout(self, layout: Layout, data: bytes) -> bool:
        """Whether a layout may be tried on a frame: ApiVersions 0 for another version only at UNSUPPORTED_VERSION."""
        return (
            layout.early_layout is not None or layout.plan.version == self.version or data[8:10] == UNSUPPORTED_VERSION
        )

    def find_body_offset(self, side: Side, data: bytes) -> int:
        """The offset of the body in a frame. Raises DecodeError."""
        assert self.key is not None
        assert self.version is not None
        if side == "response":
            return find_response_body_offset(data, 0, len(data), self.key, self.version)
        return read_request_head(data, 0, len(data)).body

    def try_layouts(
        self,
        side: Side,
        data: bytes,
        read: Callable[[Layout], tuple[Read, int] | None],
        *,
        stable_only: bool = False,
    ) -> tuple[Read, Layout] | None:
        """The result of `read` for the first layout that reads a frame to its end, and that layout; None: none does.

        `read` returns a value and the offset after the message, or None where the frame cannot be read. Bytes after a
        message are no failure where the layout is a stable one, but a layout that leaves none over is preferred.
        """
        tolerated = None
        list_layouts = self.list_layouts(side)[: 1 if stable_only else None]
        if self.key == API_VERSIONS and side == "response" and data[8:10] == UNSUPPORTED_VERSION:
            list_layouts = list_layouts[::-1]  # brokers answer so in version 0
        for layout in list_layouts:
            if not self.may_try_layout(layout, data):
                continue
            found = read(layout)
            if found is None:
                continue
            if found[1] == len(data):
                return found[0], layout
            if layout.early_layout is None and found[1] < len(data):
                tolerated = found[0], layout
        return tolerated

    def _get_projector(self, layout: Layout, side: Side) -> Projector:
        return get_projector(
            layout.plan, _select_paths_of_layout(layout, self._list_wanted_paths(side)), side == "response"
        )

    def _list_wanted_paths(self, side: Side) -> frozenset[str]:
        return self._needs.needed_paths(self.key, side) if self.key is not None else frozenset()

    def read_and_set_views(self, exchange: Sides) -> None:
        """Project both sides of an exchange; in the common case both have the stable layout."""
        request, response = exchange.request_raw, exchange.response_raw
        if (
            not self.quick
            or request is None
            or (exchange.extra is not None and ("request" in exchange.extra or "response" in exchange.extra))
        ):
            self._read_views_with_failures(exchange)
            return
        quick = self._quick or self._find_projectors_of_both_sides()
        try:
            length = request[12] << 8 | request[13]
            at = 14 + length if length < 0x8000 else 14
            if self.flexible:
                if request[at]:
                    raise Unusual
                at += 1
            exchange._request_view, _, after = quick[0](request, at, len(request))
            if after != len(request):
                raise Unusual
            if response is None:
                exchange._response_view = exchange._error_codes = None
            else:
                at = self.response_at
                if at == 9 and response[8]:
                    raise Unusual
                exchange._response_view, exchange._error_codes, after = quick[1](response, at, len(response))
                if after != len(response):
                    raise Unusual
            exchange._failed = exchange._early = None
        except FAILURES:
            self._read_views_with_failures(exchange)

    def _find_projectors_of_both_sides(self) -> tuple[Projector, Projector]:
        request, response = self.list_layouts("request")[0], self.list_layouts("response")[0]
        self._quick = found = (self._get_projector(request, "request"), self._get_projector(response, "response"))
        return found

    def _read_views_with_failures(self, exchange: Sides) -> None:
        if self.key is None:
            exchange._set_views(None, None, None, _make_failures_of_unread_sides(exchange), None)
            return
        failures: dict[Side, DecodeFailure] = {}
        layout: dict[Side, str] = {}
        remarks: list[ExchangeRemark] = []
        views: list[Any] = [None, None]
        error_codes: list[tuple[str, int]] | None = None
        for number, side in enumerate(SIDES):
            data = exchange.raw(side)
            if data is None:
                continue
            missing = exchange.extra.get(side) if exchange.extra is not None else None
            found = None if missing is not None else self.project_side(side, data)
            if found is None:
                views[number], failures[side] = self.decode_fields_before_failure(side, data, missing)
                for plan in self.list_layouts(side)[:1]:
                    redact_secrets_in_place(plan.plan, views[number], self._list_wanted_paths(side))
                continue
            views[number] = found.view
            remarks += found.remarks
            error_codes = found.codes or error_codes
            if found.early_layout is not None:
                layout[side] = found.early_layout
        exchange._set_views(views[0], views[1], error_codes, failures or None, layout or None)
        replace_reading_remarks(exchange, remarks)

    def project_side(self, side: Side, data: bytes) -> SideProjection | None:
        """The view of a frame, with its error codes and its early layout; None when it cannot be decoded."""
        try:
            at = self.find_body_offset(side, data)
        except DecodeError:
            return None

        def project_by_layout(layout: Layout) -> tuple[tuple[Any, Any, int], int] | None:
            try:
                view, codes, after = self._get_projector(layout, side)(data, at, len(data))
            except (*CRUDE, DecodeError):  # generated code fails crudely; fields() says how
                return None
            return (view, codes, after), after

        found = self.try_layouts(side, data, project_by_layout)
        if found is not None:
            (view, codes, after), layout = found
            remarks = self.list_remarks_of_sound_body(side, layout.plan, data, at, after)
            return SideProjection(view, codes, layout.early_layout, remarks)
        reading = self.read_unusual_body(side, data)
        if reading is None:
            return None
        paths = _select_paths_of_layout(Layout(reading.plan, reading.early_layout), self._list_wanted_paths(side))
        return SideProjection(*reading.make_view(data, paths, side), reading.early_layout, reading.remarks)

    def list_remarks_of_sound_body(
        self, side: Side, plan: Plan, data: bytes, at: int, after: int
    ) -> list[ExchangeRemark]:
        """The remarks on a body from `at` to `after` that generated code has read: on its bytes and those behind it."""
        remarks = list_trailing_remarks(side, after, data)
        if self.key in GROUP_KEYS and len(data) <= BODY_WHOLE_MAX:
            from decoders.frames.content_remarks import find_structure_remarks  # loads the structures

            remarks += find_structure_remarks(self.key, side, plan, data, at)
        return remarks

    def set_remarks_on_refused_records(self, exchange: Sides) -> None:
        """Set the remarks on LZ4 frames where a broker refuses records: its error code says no more than that."""
        if self.key == PRODUCE and exchange._error_codes:
            self.set_lz4_remarks(exchange, "request", checksums=False)

    def set_lz4_remarks(self, exchange: Sides, side: Side, *, checksums: bool) -> None:
        """Set the remarks on the LZ4 frames in the records of a side, in place of those that it has."""
        data = exchange.raw(side)
        if data is None or self.key is None or (exchange.extra is not None and side in exchange.extra):
            return
        from decoders.frames.content_remarks import find_lz4_remarks

        try:
            at = self.find_body_offset(side, data)
            found = find_lz4_remarks(self.key, side, self.stable_plan(side), data, at, checksums=checksums)
        except (*CRUDE, DecodeError):
            return
        if found:
            extra = exchange.extra or {}
            kept = [remark for remark in extra.get("remarks", ()) if remark["id"] not in LZ4_REMARKS]
            exchange.extra = {**extra, "remarks": kept + found}

    def read_unusual_body(self, side: Side, data: bytes) -> BodyReading | None:
        """How a frame is read that `try_layouts` cannot read by generated code; None where it cannot be read at all.

        In this order: a layout of this version, with remarks on varints and tags; the stable one with bytes behind it;
        the stable one with null where it is not allowed; of a response, the only other version that reads it.
        """
        if len(data) > BODY_WHOLE_MAX:
            return None
        try:
            at = self.find_body_offset(side, data)
        except DecodeError:
            return None

        def read_by_walking_layout(layout: Layout) -> tuple[BodyReading, int] | None:
            reading = read_body_by_walking(side, layout.plan, data, at, early_layout=layout.early_layout)
            return None if reading is None else (reading, reading.after)

        found = self.try_layouts(side, data, read_by_walking_layout)
        if found is not None:
            return found[0]
        for layout in self.list_layouts(side)[:1]:
            if layout.early_layout is None:
                lenient = read_body_by_walking(side, layout.plan, data, at, lenient=True)
                if lenient is not None and lenient.after == len(data):
                    return lenient
        return read_response_of_other_version(self.key, self.version, data) if side == "response" else None

    def decode_fields_before_failure(
        self, side: Side, data: bytes, missing: str | None
    ) -> tuple[dict[str, Any], DecodeFailure]:
        """The fields of a side before the failure to decode it (no arrays of a large body), and the failure."""
        try:
            plan = self.stable_plan(side)
            at = self.find_body_offset(side, data)
            read = decode_without_long_arrays if len(data) - at > BODY_WHOLE_MAX else decode_partial
            fields, failure = read(plan, data, at, len(data))
        except DecodeError as problem:
            fields, failure = {}, strip_traceback(problem)
        return fields, make_decode_failure(failure, missing)

    def stable_plan(self, side: Side) -> Plan:
        """The first layout of a side, by which its failures are explained. Raises UnknownApi or UnsupportedVersion."""
        found = self.list_layouts(side)
        if found:
            return found[0].plan
        if self.key not in NAMES:
            raise UnknownApi(f"no API has the key {self.key}", offset=4)
        raise UnsupportedVersion(f"{self.name} {side} has no version {self.version}", offset=6)

    def values(self, exchange: Sides, side: Side) -> Any:
        """A side as Python values, or only the fields before a failure to decode it; None where the side is missing."""
        data = exchange.raw(side)
        if data is None:
            return None
        if self.key is None:
            return data[4:] if exchange.is_sasl_token else {}
        missing = exchange.extra.get(side) if exchange.extra is not None else None
        if missing is None:

            def decode_by_layout(layout: Layout) -> tuple[Any, int] | None:
                try:
                    return get_decoder(layout.plan)(data, self.find_body_offset(side, data), len(data))
                except (*CRUDE, DecodeError):
                    return None

            found = self.try_layouts(side, data, decode_by_layout)
            if found is not None:
                return found[0]
            reading = self.read_unusual_body(side, data)
            if reading is not None:
                return reading.walker.root
        return self.decode_fields_before_failure(side, data, missing)[0]

    def topic_names(self, exchange: Sides) -> dict[str, str]:
        """The known names, by id, of the topic ids in an exchange that have no name beside them."""
        found: dict[str, str] = {}
        for side in SIDES:
            paths = self.paths_of_nameless_topics(side)
            if not paths:
                continue
            view = self.read_wanted_fields(exchange, side, frozenset(paths))
            if view is None:  # missing, or only a part of it can be read
                view = exchange.values(side)
            for identity in self.list_nameless_topic_ids(side, view):
                name = exchange.topic_name(identity)
                if name is not None:
                    found[format_uuid(identity.bytes)] = name
        return found

    def list_nameless_topic_ids(self, side: Side, view: Any) -> Iterator[UUID]:
        """The topic ids in a view of a side that have no name beside them, without those that Kafka has for itself."""
        for path in self.paths_of_nameless_topics(side):
            for identity in values_at_path(view, path):
                if identity not in WELL_KNOWN:
                    yield identity

    def add_topic_names(self, exchange: Sides, topics: Topics) -> None:
        """Add the topic names in an exchange to `topics`."""
        for source in TOPIC_ID_SOURCES.get(self.key or 0, ()):
            wanted = frozenset((f"{source.path}.{source.name}", f"{source.path}.{source.id}"))
            view = self.read_wanted_fields(exchange, source.side, wanted)
            if view is not None:
                topics.add_names(view, source)

    def read_wanted_fields(self, exchange: Sides, side: Side, wanted: frozenset[str]) -> Any:
        """The fields of a side at `wanted` paths, by its stable layout; None where the side is missing or damaged."""
        data = exchange.raw(side)
        if data is None or (exchange.extra is not None and side in exchange.extra):
            return None
        try:
            at = self.find_body_offset(side, data)
            view, _, after = get_projector(self.list_layouts(side)[0].plan, wanted, False)(data, at, len(data))
        except (*CRUDE, DecodeError, IndexError):
            return None
        return view if after == len(data) else None

    def paths_of_nameless_topics(self, side: Side) -> tuple[str, ...]:
        """The paths of the topic ids of a side that have no name beside them."""
        paths = self._nameless.get(side)
        if paths is None:
            found = self.list_layouts(side)
            paths = self._nameless[side] = tuple(paths_of_nameless_ids(found[0].plan)) if found else ()
        return paths


def has_topic_ids_with_names(key: int | None, version: int | None) -> bool:
    """Whether an API version has topic ids beside topic names."""
    if key not in TOPIC_ID_SOURCES or version is None:
        return False
    return any(
        _plan_has_path(
            list_layouts(key, version, source.side)[0].plan, f"{source.path}.{source.id}".replace("[]", "").split(".")
        )
        for source in TOPIC_ID_SOURCES[key]
        if list_layouts(key, version, source.side)
    )


def _select_paths_of_layout(layout: Layout, paths: frozenset[str]) -> frozenset[str]:
    """The paths that a layout has: an early one is a declaration of its own and may lack fields of the stable one."""
    if layout.early_layout is None:
        return paths
    return frozenset(
        path for path in paths if _plan_has_path(layout.plan, path.partition(":")[0].replace("[]", "").split("."))
    )


def _plan_has_path(plan: Plan, names: list[str]) -> bool:
    for name in names:
        field = next((field for field in (*plan.fields, *plan.tagged) if field.name == name), None)
        if field is None:
            return False
        plan = field.plan or plan
    return True


def _find_acks_bytes(key: int | None, version: int) -> tuple[bytes | None, bytes]:
    """For Produce without a transactional id: how a body with acks=0 begins, and what stands before the acks."""
    if key != PRODUCE:
        return None, b""
    null_id = b"" if version < TRANSACTIONAL_SINCE else b"\xff\xff" if not is_flexible(key, version) else b"\0\0"
    return null_id + b"\0\0", null_id


def _make_failures_of_unread_sides(exchange: Sides) -> dict[Side, DecodeFailure] | None:
    """The failure of a response without its request."""
    if not exchange.is_orphan:
        return None
    missing = exchange.extra.get("response") if exchange.extra is not None else None
    return {"response": DecodeFailure(missing or "no_request", 4, "", "its request is not in the capture")}


def make_decode_failure(problem: DecodeError | None, missing: str | None) -> DecodeFailure:
    """The failure of a side; `missing` is the reason why only a part of its bytes is there, if so."""
    if problem is None:
        return DecodeFailure(missing or "malformed", 0, "", "")
    return DecodeFailure(missing or problem.reason, max(problem.offset - 4, 0), problem.path, problem.text)


class ApiReaders:
    """The readers of the API versions met; `plain` holds those that the pairing loop may take on its fast path."""

    __slots__ = ("_known", "needs", "plain", "unknown")

    def __init__(self, needs: Needs) -> None:
        self.needs = needs
        self.plain: dict[int, ApiReader] = {}
        self._known: dict[tuple[int, int], ApiReader] = {}
        self.unknown = ApiReader(None, None, needs)  # for tokens, and for responses without their request

    def get_reader(self, key: int, version: int) -> ApiReader:
        """The reader of an API key and version, made when first asked for."""
        api_reader = self._known.get((key, version))
        if api_reader is None:
            api_reader = ApiReader(key, version, self.needs)
            if len(self._known) < API_READERS_MAX:
                self._known[key, version] = api_reader
                if api_reader.allows_fast_pairing:
                    self.plain[key << 16 | version] = api_reader
        return api_reader

    def generate_code_of_used_decoders(self) -> None:
        """Generate the decoders' code of all versions read so far, before this process is forked."""
        for api_reader in self._known.values():
            for side in SIDES:
                for layout in api_reader.list_layouts(side):
                    generate_code_of_used_decoders(layout.plan)


# API key or name, and side → paths. (Keys of a mapping are invariant: no union of them takes a mapping of one kind.)
Paths = Mapping[tuple[Any, Side], Iterable[str]]


@mypyc_attr(allow_interpreted_subclasses=True)
class Needs:
    """The fields that a program asks for: paths for each API (its key or name) and side; `|` unites two.

        Needs({("Fetch", "response"): ["responses[].topic", "responses[].partitions[].high_watermark"]})

    A path has `[]` behind arrays and no indices; that of an array or struct takes all of it. A version that lacks the
    field is read without it. Raises UnknownApi, and TypeError for paths that are no list.
    """

    __slots__ = ("_paths",)

    def __init__(self, paths: Paths | None = None) -> None:
        self._paths: dict[tuple[int, Side], frozenset[str]] = {}
        for (name, side), wanted in (paths or {}).items():
            if isinstance(wanted, str):
                raise TypeError(f"the paths of {name} {side} are a list: [{wanted!r}]")
            key = api(name).key if isinstance(name, str) else name
            self._paths[key, side] = self._paths.get((key, side), frozenset()) | frozenset(wanted)

    def __or__(self, other: Needs) -> Needs:
        united = Needs()
        united._paths = dict(self._paths)
        for key, wanted in other._paths.items():
            united._paths[key] = united._paths.get(key, frozenset()) | wanted
        return united

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needs) and self._paths == other._paths

    def __repr__(self) -> str:
        paths = {(api_name(key), side): sorted(wanted) for (key, side), wanted in self._paths.items()}
        return f"Needs({paths!r})"

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        """The paths asked for of a side of an API."""
        return self._paths.get((key, side), frozenset())

    def check(self) -> None:
        """Raise ValueError for a side or a path that no version has, UnknownApi for an unknown API."""
        for (key, side), paths in self._paths.items():
            if side not in SIDES:
                raise ValueError(f"a side is 'request' or 'response', not {side!r}")
            message = api(key).message(side)
            known = list(_list_paths(message.fields, ""))
            without_brackets = {path.replace("[]", "") for path in known}
            for path in sorted(paths):
                name = path.partition(":")[0].replace("[]", "")
                if name not in without_brackets and name.rpartition(".")[2] != UNKNOWN:
                    near = did_you_mean(path, known)
                    raise ValueError(f'{api_name(key)} has no field "{path}" in its {side}{near}')
                for version in range(message.versions.low, message.versions.high + 1):
                    parse_wanted_paths(resolve(message, version), (path,))


def _list_paths(fields: Iterable[Field], prefix: str) -> Iterator[str]:
    """The paths of fields and of those inside them, in the order of the declaration."""
    for field in fields:
        path = f"{prefix}{field.name}"
        yield path
        yield from _list_paths(field.fields, f"{path}{'[]' if field.array else ''}.")
