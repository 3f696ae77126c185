"""A frame of unknown API in, the requests and responses that it may be out, the likeliest first.

A layout fits when it reads the frame to its last byte. How likely the layout is then depends on the values it finds:
each counts for or against it, by its type and by its field's name. The scores are natural logarithms by rule of thumb;
a value that never occurs costs so much that nothing else makes up for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, Final
from uuid import UUID

from decoders.apis import KEYS, NAMES, api
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import ApiReader, Layout, Needs
from decoders.frames.read_and_judge_headers import HEAD, judge_request, read_request_head
from decoders.limits import BODY_WHOLE_MAX, VALUE_WHOLE_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.header_versions import response_header_plan, response_header_version
from decoders.records.read_batches import read_first_batch_header
from decoders.schema.api_declaration import Plan, PlanField, Side, Versions, resolve
from decoders.schema.codegen_support import CRUDE
from decoders.schema.defer_long_arrays import LargeWalker, find_message_end
from decoders.schema.plan_walker import Span, Walker

__all__ = [
    "NEVER",
    "VALUES_MAX",
    "Candidate",
    "Kind",
    "LayoutReading",
    "guess_request",
    "guess_response",
    "score_plausibility",
]

# The most values that are scored.
VALUES_MAX: Final = 3000
NEVER: Final = -25.0
_INDEX: Final = re.compile(r"\[\d+\]")
_EPOCHS: Final = re.compile(r"epoch|generation|version")
_NODES: Final = re.compile(
    r"(^|_)(node|broker|leader|controller|replica|isr|voter|observer|directory)?_?(id|nodes?|replicas|brokers?|elr)$|leader$"
)
_TIMES_MS: Final = re.compile(r"timestamp|_ms$")
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS
_NOW_MS: Final = range(1_200_000_000_000, 2_600_000_000_000)


class LayoutReading(NamedTuple):
    """What a layout has read: the spans of the first values, and the whole body (`root`), None if it was not read."""

    spans: list[Span]
    root: dict[str, Any] | None


def score_plausibility(plan: Plan, reading: LayoutReading) -> float:
    """The score of a message as a layout has read it; higher is likelier."""
    fields = _flatten_fields_by_path(plan)
    score = 0.0
    for span in reading.spans:
        field = fields.get(_INDEX.sub("", span.path))
        if field is None:
            if span.what == "tags":
                score += 0.3 if not span.value else -1.0
            else:  # an unknown tagged field
                score -= 8
        else:
            score += _score_span(span, field)
    return score if reading.root is None else score + _score_whole_body(plan, reading.root)


@cache
def _flatten_fields_by_path(plan: Plan) -> dict[str, PlanField]:
    return dict(_walk_fields_with_path(plan, ""))


def _walk_fields_with_path(plan: Plan, prefix: str) -> Iterator[tuple[str, PlanField]]:
    for field in (*plan.fields, *plan.tagged):
        yield prefix + field.name, field
        if field.plan is not None:
            yield from _walk_fields_with_path(field.plan, f"{prefix}{field.name}.")


def _score_span(span: Span, field: PlanField) -> float:
    if span.what == "value":
        return _VALUES[field.kind](span.value, field.name)
    if span.what == "size":
        number = int(str(span.value))
        if number < 0:
            return -0.2
        if number == 0:
            return -2.0 if field.array and field.name == "partitions" else -0.5
        return 0.2
    if span.what == "tag":
        return 1.0
    return 0.0


def _score_bool(value: Any, _name: str) -> float:
    return 0.0 if isinstance(value, bool) else NEVER


def _score_int8(value: int, _name: str) -> float:
    return 0.3 if 0 <= value <= 40 else -1.0 if -1 <= value <= 127 else -4.0


def _score_int16(value: int, name: str) -> float:
    if name.endswith("error_code"):
        if value == 0:
            return 1.0
        return -0.5 if value in ERRORS else NEVER
    if name == "api_key":
        return 0.5 if value in NAMES else -3.0
    if _EPOCHS.search(name):
        return 0.3 if -1 <= value <= 1000 else -4.0
    return 0.2 if -1 <= value <= 1000 else -3.0


def _score_int32(value: int, name: str) -> float:
    if name == "throttle_time_ms":
        if not 0 <= value <= _DAY_MS:
            return NEVER
        return 2.0 if value == 0 else -0.5 if value <= _MINUTE_MS else -3.0 if value <= _HOUR_MS else -12.0
    if name == "port":
        return 1.0 if 0 < value < 65536 else -2.0 if value == -1 else NEVER if value else -3.0
    if name == "partition_index" or name.endswith("partitions") or name == "partition":
        return 0.5 if 0 <= value < 10_000 else -6.0
    if name.endswith("authorized_operations"):
        return 1.0 if value == -(1 << 31) else 0.3 if 0 <= value < 1 << 16 else -6.0
    if _EPOCHS.search(name):
        return 0.5 if -1 <= value < 100_000 else -5.0
    if _NODES.search(name):
        return 0.5 if -1 <= value < 100_000 else -3.0
    if _TIMES_MS.search(name):
        return 0.3 if -1 <= value <= _DAY_MS * 24 else -4.0
    return 0.3 if -1 <= value < 1_000_000 else -1.5


def _score_int64(value: int, name: str) -> float:
    if _TIMES_MS.search(name):
        return 1.0 if value == -1 or value in _NOW_MS else 0.2 if 0 <= value < 100 * _DAY_MS else -5.0
    if value > 0 and not value & 0xFFFF:
        return -3.0 if not value & 0xFFFFFFFF else -1.0  # more likely the zeros of other fields
    if -1 <= value < 1 << 48:
        return 1.0 if value < 1 << 32 else 0.2
    return 0.5 if value in (-2, -(1 << 63), (1 << 63) - 1) else -6.0


def _score_unsigned(value: int, name: str) -> float:
    return 0.5 if not name.endswith("port") or value else -2.0


def _score_float64(value: float, _name: str) -> float:
    return 0.5 if value == 0 or 1e-9 < abs(value) < 1e15 else -6.0


def _score_string(value: str, name: str) -> float:
    if not value:
        return -0.5
    if not value.isprintable() and not (name.endswith("message") and value.replace("\n", "").isprintable()):
        return -12.0
    if name.endswith(("topic_name", "host", "cluster_id", "topic")) and not _WORD.fullmatch(value):
        return -3.0
    if value.startswith("/"):
        return 0.5 if not name.endswith(("dir", "path")) else min(len(value), 40) * 0.4
    return min(len(value), 30) * 0.4


# The errors of ApiVersions: a version, or a request, that the broker does not accept.
_REFUSALS: Final = (35, 42)
_WORD: Final = re.compile(r"[\w.:%-]+")


def _score_uuid(value: UUID, _name: str) -> float:
    if value.int in (0, 1):
        return 0.5
    # Kafka's own ids are random ones (RFC 9562, version 4).
    return 4.0 if value.version == 4 else -5.0


def _score_bytes(value: bytes, _name: str) -> float:
    return 0.5 if value else -0.2


def _score_records(value: bytes, _name: str) -> float:
    if not value:
        return 0.0
    first = read_first_batch_header(value)
    if first.crc == "ok":
        return 25.0
    return 0.0 if first.truncated else -12.0


_VALUES: Final[dict[str, Callable[[Any, str], float]]] = {
    "bool": _score_bool,
    "int8": _score_int8,
    "int16": _score_int16,
    "uint16": _score_unsigned,
    "int32": _score_int32,
    "uint32": _score_unsigned,
    "int64": _score_int64,
    "float64": _score_float64,
    "uuid": _score_uuid,
    "string": _score_string,
    "bytes": _score_bytes,
    "records": _score_records,
}


def _score_whole_body(plan: Plan, root: dict[str, Any]) -> float:
    """The score of a body's values taken together; early layouts may lack any of them."""
    look = _WHOLES.get(plan.name)
    score = look(root) if look else 0.0
    name = plan.name.removesuffix("Response")
    error = root.get("error_code", 0)
    for first, last, words in _FAMILIES:
        if first <= error <= last:
            score += 1.0 if any(word in name for word in words) else -1.5
    if error and name in _OF_GROUPS and error not in _GROUP_ERRORS:
        score -= 2.0
    if not error and name not in _OFTEN_EMPTY:
        score -= 2.0 * sum(field.array and not root[field.name] for field in plan.fields)
    return score


_OF_GROUPS: Final = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"})
_GROUP_ERRORS: Final = frozenset({-1, 14, 15, 16, *range(22, 28), 30, 35, 42, 79, 81, 82})
# The APIs whose responses are often empty; other responses are about what was asked for.
_OFTEN_EMPTY: Final = frozenset(
    {
        *("Metadata", "DescribeConfigs", "ListGroups", "ListTransactions", "ListPartitionReassignments"),
        *("DescribeDelegationToken", "DescribeClientQuotas", "DescribeUserScramCredentials", "ListConfigResources"),
        *("ShareFetch", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"),
    }
)
# The first and last error code of a subject; an API that returns them has one of the words in its name.
_FAMILIES: Final[tuple[tuple[int, int, tuple[str, ...]], ...]] = (
    (22, 27, ("Group", "Heartbeat", "Offset")),
    (33, 34, ("Sasl",)),
    (
        41,
        41,
        ("Create", "Delete", "Alter", "Elect", "Update", "Broker", "Controller", "Partition", "Allocate", "Assign"),
    ),
    (47, 53, ("Txn", "Transactions", "Producer", "Produce")),
    (58, 58, ("SaslAuthenticate",)),
    (61, 67, ("DelegationToken",)),
    (68, 69, ("Group", "OffsetDelete")),
    (70, 71, ("Fetch",)),
    (79, 82, ("Group", "Heartbeat", "Offset")),
    (94, 98, ("Quorum", "Vote", "Features", "Snapshot", "Envelope", "Fetch")),
    (110, 113, ("Group", "Heartbeat", "Offset")),
    (117, 118, ("Telemetry",)),
    (121, 124, ("Share",)),
    (125, 127, ("Voter", "Quorum", "Vote", "Fetch")),
    (130, 132, ("Streams",)),
)


def _score_api_versions(root: dict[str, Any]) -> float:
    keys = [each["api_key"] for each in root.get("api_keys", ())]
    if root.get("error_code") not in (0, *_REFUSALS):
        return NEVER
    if not keys:
        return 0.0 if root.get("error_code") else NEVER
    ordered = keys == sorted(set(keys)) and all(
        each["min_version"] <= each["max_version"] for each in root.get("api_keys", ())
    )
    return 20.0 if ordered and NAMES.keys() & set(keys) else NEVER


def _score_metadata(root: dict[str, Any]) -> float:
    return 2.0 if root.get("brokers") else -8.0


def _score_join_group(root: dict[str, Any]) -> float:
    return 0.0 if root.get("error_code") or root.get("member_id", True) else NEVER


def _score_sasl_authenticate(root: dict[str, Any]) -> float:
    token = root.get("auth_bytes", b"")
    if root.get("error_code"):
        return 6.0 if root.get("error_message") else -6.0
    if token:
        return 8.0 if token.startswith((b"r=", b"v=", b"e=", b"{", b"\x60", b"\5\4")) else -3.0
    lifetime = root.get("session_lifetime_ms", 0)
    return 2.0 if not lifetime else 1.0 if lifetime & 0xFF else -1.0


def _score_init_producer_id(root: dict[str, Any]) -> float:
    return 0.0 if root.get("producer_id", True) else -2.5  # that of the first producer of a new cluster


def _score_sync_group(root: dict[str, Any]) -> float:
    return 0.0 if root.get("error_code") or root.get("assignment", True) else -4.0


def _score_leave_group(root: dict[str, Any]) -> float:
    return 0.0 if root.get("error_code") or root.get("members", True) else -4.0


def _score_produce(root: dict[str, Any]) -> float:
    return 0.0 if root.get("responses", True) else -10.0


def _score_fetch(root: dict[str, Any]) -> float:
    # Only the answers of fetch sessions may be empty (KIP-227).
    return 0.0 if root.get("responses", True) else 2.0 if "session_id" in root else -10.0


_WHOLES: Final[dict[str, Callable[[dict[str, Any]], float]]] = {
    "ApiVersionsResponse": _score_api_versions,
    "JoinGroupResponse": _score_join_group,
    "MetadataResponse": _score_metadata,
    "SaslAuthenticateResponse": _score_sasl_authenticate,
    "ProduceResponse": _score_produce,
    "FetchResponse": _score_fetch,
    "InitProducerIdResponse": _score_init_producer_id,
    "LeaveGroupResponse": _score_leave_group,
    "SyncGroupResponse": _score_sync_group,
}

# A layout fits when it reads the frame to its last byte. How likely it is then depends on the values it finds: error
# codes that exist, names that are text, epochs that are no huge numbers, batches whose checksum is right. API versions
# that read the same fields with the same values from a frame are one candidate: nothing could tell them apart.


# The score of an API before the values are looked at: how common its messages are.
# Followers, and consumers without anything to do, send Fetch two times a second for ever.
_COMMON: Final[dict[int, float]] = {
    **dict.fromkeys((0, 3, 12, 18), 3.0),
    1: 5.5,
    **dict.fromkeys((2, 8, 9, 10), 2.0),
    **dict.fromkeys((11, 14, 17), 1.5),
    36: 2.5,
    **dict.fromkeys((13, 22), 1.0),
}
_BETWEEN_BROKERS: Final = frozenset({4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, *range(80, 88)})
_RARE: Final = -1.0
# A request names its API and version: that it decodes to its last byte is no accident.
_REQUEST: Final = 12.0
_EARLY: Final = -8.0
# For messages with more than VALUES_MAX values: so many candidates are read to their end.
LONG_MAX: Final = 8


class Kind(NamedTuple):
    """An API and some of its versions."""

    key: int
    versions: Versions

    @property
    def name_with_versions(self) -> str:
        """The name of the API and its versions: `Metadata 9-11`."""
        return f"{api(self.key).name} {self.versions}"


class Candidate(NamedTuple):
    """One thing that a frame may be: `kinds` that read it alike, the most common first, and a score to compare by."""

    side: Side
    kinds: tuple[Kind, ...]
    plan: Plan
    early_layout: str | None
    score: float

    @property
    def api_key(self) -> int:
        """The API key of the first kind."""
        return self.kinds[0].key

    @property
    def newest_version(self) -> int:
        """The newest version of the first kind."""
        return self.kinds[0].versions.high

    @property
    def name_with_versions(self) -> str:
        """The names of the kinds: `Metadata 9-11`, `Heartbeat 1-3 or LeaveGroup 1-2 or EndTxn 0-2`."""
        early = f" (layout of {self.early_layout})" if self.early_layout else ""
        return " or ".join(kind.name_with_versions for kind in self.kinds) + early


class Variant(NamedTuple):
    """A layout with its field names, and the API versions that have it."""

    plan: Plan
    kinds: tuple[Kind, ...]
    prior: float
    early_layout: str | None = None


class WireForm(NamedTuple):
    """One layout on the wire: the same types in the same order, under the names of one or several variants."""

    header_version: int
    variants: tuple[Variant, ...]


def guess_request(frame: bytes) -> list[Candidate]:
    """The request that a frame with its size field is, by its own header; empty when it is none."""
    if judge_request(frame, 0) < HEAD:
        return []
    try:
        head = read_request_head(frame, 0, len(frame))
    except (DecodeError, IndexError):
        return []
    if head.api_version not in api(head.api_key).versions:
        return []
    kinds = (Kind(head.api_key, Versions(head.api_version, head.api_version)),)

    def read_whole_body(layout: Layout) -> tuple[tuple[dict[str, Any], int], int] | None:
        walker = LargeWalker(frame) if len(frame) > BODY_WHOLE_MAX else Walker(frame)
        try:
            after = walker.read(layout.plan, head.body, len(frame))
        except DecodeError:
            return None
        return (walker.root, after), after

    found = ApiReader(head.api_key, head.api_version, Needs()).try_layouts("request", frame, read_whole_body)
    if found is None:
        return []
    (root, after), (plan, early_layout) = found
    spans = _First()
    with suppress(_Enough):
        Walker(frame, spans).read(plan, head.body, len(frame))
    score = (
        score_plausibility(plan, LayoutReading(spans, root))
        + _prior_score_of_api(head.api_key)
        + (_EARLY if early_layout else 0)
    )
    score += _REQUEST * (after - 8) / (len(frame) - 8)
    return [Candidate("request", kinds, plan, early_layout, score)]


def guess_response(frame: bytes, keys: Iterable[int] | None = None) -> list[Candidate]:
    """The responses that a frame with its size field may be, best first; of the APIs `keys` only, if given."""
    found = _find_fitting_layouts(frame, _group_api_versions_by_response_layout(), keys)
    if not found:
        found = _find_fitting_layouts(frame, _list_early_response_layouts(), keys)
    return sorted(found, key=lambda candidate: -candidate.score)


class _Fit(NamedTuple):
    """A layout that reads a frame; `read`: the values that its variants read, `long`: not read to its end yet."""

    candidate: Candidate
    read: list[tuple[object, ...]]
    at: int
    long: bool


def _find_fitting_layouts(frame: bytes, groups: tuple[WireForm, ...], keys: Iterable[int] | None) -> list[Candidate]:
    starts = [_find_body_offset(frame, header_version) for header_version in (0, 1)]
    wanted = set(KEYS if keys is None else keys)
    fits = [
        fit
        for header_version, variants in groups
        if starts[header_version] >= 0 and (fit := _fit_layout(frame, starts[header_version], variants, wanted))
    ]
    long = sorted((fit for fit in fits if fit.long), key=lambda fit: -fit.candidate.score)
    proven = [fit for fit in long[:LONG_MAX] if _decodes_to_frame_end(fit.candidate.plan, frame, fit.at)]
    found: list[Candidate] = []
    places: dict[object, int] = {}  # values read → the place in `found` of their candidate
    for fit in (*(fit for fit in fits if not fit.long), *proven):
        place = next((places[read] for read in fit.read if read in places), len(found))
        if place < len(found):
            found[place] = _join_candidates(found[place], fit.candidate)
        else:
            found.append(fit.candidate)
        places.update(dict.fromkeys(fit.read, place))
    return found


def _fit_layout(frame: bytes, at: int, variants: tuple[Variant, ...], wanted: set[int]) -> _Fit | None:
    """The fit of one layout on the wire, under all names that it has; None where it does not fit."""
    of_group: Candidate | None = None
    reads: list[tuple[object, ...]] = []
    long = False
    for plan, kinds, prior, early_layout in variants:
        kinds = tuple(kind for kind in kinds if kind.key in wanted)
        reading = _read_whole_frame_by_layout(plan, frame, at) if kinds else None
        if reading is None:
            continue
        one = Candidate("response", kinds, plan, early_layout, score_plausibility(plan, reading) + prior)
        of_group = one if of_group is None else _join_candidates(of_group, one)
        reads.append((at, *map(_shorten_span_value, reading.spans)))
        long = long or reading.root is None
    return None if of_group is None else _Fit(of_group, reads, at, long)


def _shorten_span_value(span: Span) -> Span:
    """A span to compare readings of one frame by, a long value replaced by its type: the place identifies it."""
    value = span.value
    if isinstance(value, (str, bytes)) and len(value) > VALUE_WHOLE_MAX:
        return span._replace(value=value.__class__)
    return span


def _decodes_to_frame_end(plan: Plan, frame: bytes, at: int) -> bool:
    if len(frame) > BODY_WHOLE_MAX:
        try:
            return find_message_end(plan, frame, at, len(frame)) == len(frame)
        except (*CRUDE, DecodeError):
            return False
    try:
        return Walker(frame).read(plan, at, len(frame)) == len(frame)
    except DecodeError:
        return False


def _join_candidates(one: Candidate, other: Candidate) -> Candidate:
    """Two candidates that read the same values as one, the likelier first."""
    first, second = (one, other) if one.score >= other.score else (other, one)
    return first._replace(kinds=_merge_version_ranges(tuple(dict.fromkeys(first.kinds + second.kinds))))


def _merge_version_ranges(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """The kinds by API in the given order, with neighbouring versions of one API merged, the newest first."""
    ranges: dict[int, list[Versions]] = {}
    for key, versions in kinds:
        ranges.setdefault(key, []).append(versions)
    out: list[Kind] = []
    for key, of_key in ranges.items():
        merged: list[Versions] = []
        for versions in sorted(of_key, key=lambda versions: versions.low):
            if merged and versions.low == merged[-1].high + 1:
                merged[-1] = Versions(merged[-1].low, versions.high)
            else:
                merged.append(versions)
        out += [Kind(key, versions) for versions in reversed(merged)]
    return tuple(out)


def _find_body_offset(frame: bytes, header_version: int) -> int:
    """The offset of a response's body after a header of this version; -1 where there is no such header."""
    walker = Walker(frame)
    try:
        at = walker.read(response_header_plan(header_version), 4, len(frame))
    except DecodeError:
        return -1
    # No response with a tagged field in its header is known yet.
    return -1 if header_version and at != 9 else at


class _Enough(Exception):
    """Raised when the first values of a message have been read."""


class _First(list[Span]):
    """The first VALUES_MAX spans of a message, which are scored and by which two readings are compared."""

    def append(self, span: Span) -> None:
        if len(self) >= VALUES_MAX:
            raise _Enough
        super().append(span)


def _read_whole_frame_by_layout(plan: Plan, frame: bytes, at: int) -> LayoutReading | None:
    """The frame as a layout reads it; None unless it reads to the last byte. Most layouts fail after a few bytes.

    Of a long message only the first values are read, and `root` is None.
    """
    end = len(frame)
    walker = Walker(frame, spans := _First())
    try:
        if walker.read(plan, at, end) != end:
            return None
    except DecodeError:
        return None
    except _Enough:
        return LayoutReading(spans, None)
    return LayoutReading(spans, walker.root)


@cache
def _group_api_versions_by_response_layout() -> tuple[WireForm, ...]:
    """Every response layout once, with the API versions that have it."""
    variants: dict[tuple[object, ...], dict[object, tuple[Plan, list[Kind]]]] = {}
    for key in KEYS:
        declared = api(key)
        for version in range(declared.versions.low, declared.versions.high + 1):
            plan = resolve(declared.response, version)
            wire = response_header_version(key, version), _layout_signature(plan, names=False)
            _, known = variants.setdefault(wire, {}).setdefault(_layout_signature(plan, names=True), (plan, []))
            if known and known[-1].key == key and known[-1].versions.high == version - 1:
                known[-1] = Kind(key, Versions(known[-1].versions.low, version))
            else:
                known.append(Kind(key, Versions(version, version)))
    return tuple(
        WireForm(wire[0], tuple(_make_variant(plan, kinds) for plan, kinds in named.values()))  # type: ignore[arg-type]  # a number
        for wire, named in variants.items()
    )


def _make_variant(plan: Plan, kinds: list[Kind]) -> Variant:
    ordered = tuple(sorted(kinds, key=lambda kind: -_prior_score_of_api(kind.key)))
    return Variant(plan, ordered, _prior_score_of_api(ordered[0].key))


@cache
def _list_early_response_layouts() -> tuple[WireForm, ...]:
    """Every early-access layout of responses, with its API version."""
    groups = []
    for key in KEYS:
        for (side, version, release), message in api(key).early.items():
            if side == "response":
                plan = resolve(message, version)
                variant = Variant(
                    plan, (Kind(key, Versions(version, version)),), _prior_score_of_api(key) + _EARLY, release
                )
                groups.append(WireForm(response_header_version(key, version), (variant,)))
    return tuple(groups)


def _layout_signature(plan: Plan, *, names: bool) -> tuple[Any, ...]:
    """A value that is equal for two layouts with the same fields, and with `names` the same field names."""
    return (
        plan.flexible,
        *(
            (
                field.name if names else "",
                field.kind,
                field.array,
                field.nullable,
                field.compact,
                field.tag,
                field.plan and _layout_signature(field.plan, names=names),
            )
            for field in (*plan.fields, *plan.tagged)
        ),
    )


def _prior_score_of_api(key: int) -> float:
    if key in _BETWEEN_BROKERS:
        return _RARE
    return _COMMON.get(key, 0.0) if key in NAMES else _RARE
