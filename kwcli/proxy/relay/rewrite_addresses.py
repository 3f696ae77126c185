"""A response's frame and listeners' addresses in, the frame with these addresses, or with capped versions, out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, Protocol

from decoders.apis import api
from decoders.errors import DecodeError, strip_traceback
from decoders.frames.frames_of_gapless_connections import SIZE_FIELD, with_size_field
from decoders.limits import FRAME_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS, DESCRIBE_CLUSTER
from decoders.protocol_facts.header_versions import response_header_plan, response_header_version
from decoders.schema.api_declaration import Plan, Side, Versions, resolve
from decoders.schema.codegen_support import CRUDE
from decoders.schema.decode_and_encode import encode
from decoders.schema.lazy_decoder import Projector, get_decoder, get_projector
from decoders.schema.plan_walker import UNKNOWN, Span, decode_by_walking
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.primitive_types import encode_size, encode_uvarint


class AddressRow(NamedTuple):
    """Where addresses are in the response of an API at some versions: in the elements of `array`, or at the top ("").

    In each, `port` directly follows `host`. `optional`: clients do without these addresses, so they may be left out.
    """

    versions: Versions
    array: str
    node_id: str
    optional: bool = False


ROWS: Final[dict[int, tuple[AddressRow, ...]]] = {
    0: (AddressRow(Versions(10, 13), "node_endpoints", "node_id", optional=True),),
    1: (AddressRow(Versions(16, 18), "node_endpoints", "node_id", optional=True),),
    3: (AddressRow(Versions(0, 13), "brokers", "node_id"),),
    10: (AddressRow(Versions(0, 3), "", "node_id"), AddressRow(Versions(4, 6), "coordinators", "node_id")),
    60: (AddressRow(Versions(0, 2), "brokers", "broker_id"),),
    78: (AddressRow(Versions(0, 2), "node_endpoints", "node_id", optional=True),),
    79: (AddressRow(Versions(0, 2), "node_endpoints", "node_id", optional=True),),
}
# The endpoint type of DescribeCluster (KIP-919) whose addresses are controllers', not brokers'.
CONTROLLERS: Final = 2

Judgement = Literal["rewritten", "controllers", "between brokers", "of applications", "no place"]

# Every struct of every message that has both a host and a port, or an endpoint as one text, and what is done about it.
# "controllers" and "between brokers" are passed on with a warning; nobody dials the rest.
JUDGED: Final[dict[tuple[int, Side, str], Judgement]] = {
    (0, "response", "node_endpoints"): "rewritten",
    (1, "response", "node_endpoints"): "rewritten",
    (3, "response", "brokers"): "rewritten",
    (4, "request", "live_leaders"): "between brokers",
    (6, "request", "live_brokers"): "between brokers",
    (6, "request", "live_brokers.endpoints"): "between brokers",
    (10, "response", ""): "rewritten",
    (10, "response", "coordinators"): "rewritten",
    (52, "response", "node_endpoints"): "controllers",
    (53, "request", "leader_endpoints"): "controllers",
    (53, "response", "node_endpoints"): "controllers",
    (54, "request", "leader_endpoints"): "controllers",
    (54, "response", "node_endpoints"): "controllers",
    (55, "response", "nodes.listeners"): "controllers",
    (59, "response", "node_endpoints"): "controllers",
    (60, "response", "brokers"): "rewritten",
    (62, "request", "listeners"): "between brokers",
    (70, "request", "listeners"): "controllers",
    (78, "response", "node_endpoints"): "rewritten",
    (79, "response", "node_endpoints"): "rewritten",
    (80, "request", "listeners"): "controllers",
    (82, "request", "listeners"): "controllers",
    (82, "response", "current_leader"): "controllers",
    (88, "request", "user_endpoint"): "of applications",
    (88, "response", "partitions_by_user_endpoint.user_endpoint"): "of applications",
    (89, "response", "groups.members.user_endpoint"): "of applications",
}
# APIs whose requests show that brokers or controllers are talking through the proxy, which is not made for them.
BYSTANDERS: Final = frozenset(key for (key, _, _), word in JUDGED.items() if word in ("controllers", "between brokers"))


def find_address_row(api_key: int, version: int) -> AddressRow | None:
    """The row for responses of this API at this version."""
    return next((row for row in ROWS.get(api_key, ()) if version in row.versions), None)


def are_responses_buffered(api_key: int, version: int) -> bool:
    """Whether responses of this kind are buffered until they are whole; all others stream through."""
    return api_key == API_VERSIONS or find_address_row(api_key, version) is not None


def find_highest_rewritable_version(api_key: int) -> int | None:
    """The highest version of a row that can be rewritten; None where the API has no row."""
    rows = ROWS.get(api_key)
    return max(row.versions.high for row in rows) if rows else None


# A rewrite is a splice: the bytes of a host and its port are replaced, and the sizes around them updated; everything
# else, unknown tags and record bytes included, stays as the broker sent it. A frame here has its size field.


Address = tuple[str, int]
# Size field and correlation id.
_UNTAGGED: Final = 8
_PORT: Final = 4
_STRING_MAX: Final = 32767
# librdkafka's mock cluster sends such a byte after some answers.
MOCKED: Final = b"\0"


class RewriteFailed(Exception):
    """A frame with addresses cannot be rewritten; `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Endpoint(NamedTuple):
    """A node in a response and its real address; `at` to `end` are the bytes of host, with its size, and port."""

    node_id: int
    host: str
    port: int
    at: int
    end: int


class RewrittenFrame(NamedTuple):
    """The frame to send, and whether addresses were left out because a node had no listener."""

    frame: bytes
    stripped: bool


def find_endpoints(api_key: int, version: int, frame: bytes) -> list[Endpoint]:
    """The nodes and addresses in a response, in wire order, without placeholders of errors. Raises RewriteFailed.

    Controllers, which DescribeCluster lists when it is asked for them, are left alone.
    """
    known = _find_address_reader(api_key, version)
    if known is None:
        return []
    row, plan, read = known
    view = _read_address_fields(plan, read, frame, find_start_of_body(api_key, version, frame))
    if api_key == DESCRIBE_CLUSTER and view.get("endpoint_type") == CONTROLLERS:
        return []
    elements = view.get(row.array) if row.array else (view,)
    return list(_iterate_endpoints(elements, row.node_id, plan.flexible, frame)) if elements else []


def rewrite_addresses(
    api_key: int,
    version: int,
    frame: bytes,
    addresses: Mapping[int, Address],
    found: Sequence[Endpoint] | None = None,
) -> RewrittenFrame:
    """The frame with the address of each node in `addresses`; `found`: of `find_endpoints`. Raises RewriteFailed.

    A node that `addresses` lacks makes it fail, unless clients do without addresses: then all of them are left out.
    """
    row = find_address_row(api_key, version)
    found = find_endpoints(api_key, version, frame) if found is None else found
    if row is None or not found:
        return RewrittenFrame(frame, stripped=False)
    missing = [each for each in found if each.node_id not in addresses]
    plan = _resolve_response_plan(api_key, version)
    if missing and not row.optional:
        raise RewriteFailed(f"node {missing[0].node_id} has no listener")
    if missing:
        return RewrittenFrame(
            _remove_addresses(plan, row, frame, find_start_of_body(api_key, version, frame)), stripped=True
        )
    edits = [(each.at, each.end, _encode_address(*addresses[each.node_id], plan.flexible)) for each in found]
    if any(field.name == row.array for field in plan.tagged):
        edits += _make_tag_size_edits(plan, row, frame, find_start_of_body(api_key, version, frame), edits)
    return RewrittenFrame(splice_frame(frame, edits), stripped=False)


def _resolve_response_plan(api_key: int, version: int) -> Plan:
    return resolve(api(api_key).response, version)


@cache
def _find_address_reader(api_key: int, version: int) -> tuple[AddressRow, Plan, Projector] | None:
    """The row of such responses, their plan, and a reader of their addresses (tests/bench/proxy.py, "5 held")."""
    row = find_address_row(api_key, version)
    if row is None:
        return None
    plan = _resolve_response_plan(api_key, version)
    return row, plan, get_projector(plan, _list_address_paths(row, api_key, version), False)


def _list_address_paths(row: AddressRow, api_key: int, version: int) -> frozenset[str]:
    prefix = f"{row.array}[]." if row.array else ""
    paths = {prefix + row.node_id, f"{prefix}host:span", f"{prefix}port"}
    if api_key == DESCRIBE_CLUSTER and version:
        paths.add("endpoint_type")
    return frozenset(paths)


def find_start_of_body(api_key: int, version: int, frame: bytes) -> int:
    """Where the body begins, behind the size field and the header."""
    if not _has_response_header_tags(api_key, version) and len(frame) >= _UNTAGGED:
        return _UNTAGGED
    if frame[_UNTAGGED : _UNTAGGED + 1] == b"\0":
        return _UNTAGGED + 1
    plan = response_header_plan(response_header_version(api_key, version))
    try:
        _, at = get_decoder(plan)(frame, SIZE_FIELD, len(frame))
    except CRUDE:
        at = len(frame) + 1
    if at > len(frame):
        raise RewriteFailed("its header is cut off")
    return int(at)


@cache
def _has_response_header_tags(api_key: int, version: int) -> bool:
    return response_header_version(api_key, version) > 0


def _read_address_fields(plan: Plan, read: Projector, frame: bytes, at: int) -> dict[str, Any]:
    end = len(frame)
    try:
        view, _, after = read(frame, at, end)
        if after == end or frame[after:] == MOCKED:
            return view
    except CRUDE:
        pass
    try:
        _, after = decode_by_walking(plan, frame, at, end)
    except DecodeError as failure:
        raise RewriteFailed(f"{plan.name} {plan.version}: {failure}") from None
    raise RewriteFailed(f"{plan.name} {plan.version}: {format_bytes(end - after)} after its end at byte {after}")


def _iterate_endpoints(
    elements: Sequence[Mapping[str, Any]], node_id: str, compact: bool, frame: bytes
) -> Iterator[Endpoint]:
    for element in elements:
        start, size = element["host"]
        port = element["port"]
        number = element[node_id]
        if not size or port <= 0 or number < 0:
            continue  # an error's placeholder, which nobody dials
        prefix = encode_size(size, False, compact)
        at = start - len(prefix)
        if frame[at:start] != prefix:
            raise RewriteFailed("the size of a host is encoded in an unusual way")
        host = frame[start : start + size].decode("utf-8", "replace")
        yield Endpoint(number, host, port, at, start + size + _PORT)


def _encode_address(host: str, port: int, compact: bool) -> bytes:
    data = host.encode()
    if len(data) > _STRING_MAX:
        raise RewriteFailed("the name of a listener is too long")
    return encode_size(len(data), False, compact) + data + port.to_bytes(_PORT, "big")


def splice_frame(frame: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The frame with the bytes of `edits` (start, end, new bytes) replaced, and its size field updated."""
    parts = []
    at = SIZE_FIELD
    for start, end, data in sorted(edits):
        parts += [frame[at:start], data]
        at = end
    parts.append(frame[at:])
    body = b"".join(parts)
    if len(body) > FRAME_MAX:
        raise RewriteFailed("it would grow beyond the limit of a frame")
    return with_size_field(body)


# Rare cases: addresses in a tagged field, and addresses that must be left out. The walker says where fields are.


def _list_spans_of_fields(plan: Plan, frame: bytes, at: int) -> list[Span]:
    spans: list[Span] = []
    decode_by_walking(plan, frame, at, len(frame), spans)
    return spans


def _find_address_tag(row: AddressRow, spans: list[Span]) -> tuple[Span, int]:
    """The span with the tag and size of the tagged field that has the addresses, and where the field's value ends."""
    (head,) = (span for span in spans if span.what == "tag" and span.path == row.array)
    inner = [span for span in spans if span.path.startswith(row.array) and span.at >= head.end]
    return head, max(span.end for span in inner)


def _make_tag_size_edits(
    plan: Plan, row: AddressRow, frame: bytes, at: int, edits: Sequence[tuple[int, int, bytes]]
) -> list[tuple[int, int, bytes]]:
    head, end = _find_address_tag(row, _list_spans_of_fields(plan, frame, at))
    size = end - head.end + sum(len(data) - (stop - start) for start, stop, data in edits)
    assert isinstance(head.value, int)
    return [(head.at, head.end, encode_uvarint(head.value) + encode_uvarint(size))]


def _remove_addresses(plan: Plan, row: AddressRow, frame: bytes, at: int) -> bytes:
    """The frame without any address: the tagged field taken out, or the array emptied."""
    spans = _list_spans_of_fields(plan, frame, at)
    if any(field.name == row.array for field in plan.tagged):
        head, end = _find_address_tag(row, spans)
        (count,) = (span for span in spans if span.what == "tags" and span.path == UNKNOWN)
        assert isinstance(count.value, int)
        return splice_frame(frame, [(count.at, count.end, encode_uvarint(count.value - 1)), (head.at, end, b"")])
    (count,) = (span for span in spans if span.what == "size" and span.path == row.array)
    end = max(span.end for span in spans if span.path.startswith(row.array + "["))
    return splice_frame(frame, [(count.at, end, encode_size(0, True, plan.flexible))])


# Versions in ApiVersions


_VERSION: Final = 2
_UNSUPPORTED_VERSION: Final = 35


class Cap(NamedTuple):
    """An API whose versions were cut: from `offered` to `left`, or taken out (`left` None)."""

    api: str
    offered: int
    left: int | None


class Served(Protocol):
    """Limits of the versions and features that clients are offered (kwcli/proxy/deciding/served_versions.py)."""

    def limit_offered_versions(self, api_key: int, versions: Versions) -> Versions:
        """The versions that clients are offered, of those that a broker offers; may be none."""

    def get_allowed_feature_levels(self, feature: str) -> Versions | None:
        """The levels of a feature that clients may be told; None: any."""


def cap_api_versions(frame: bytes, version: int, served: Served | None = None) -> tuple[bytes, list[Cap]]:
    """The frame of an ApiVersions response, capped, and what was cut. Raises RewriteFailed.

    Versions of rewritten APIs that the proxy does not know are cut: a client that negotiated one would get addresses
    that nobody could replace. Only those APIs are changed, and ApiVersions itself; all others pass, known or not.
    Numbers keep their size, so this is a splice as well.

    The list has only versions that `rewrite_addresses` cannot handle, not those that `served` leaves out.
    A broker that does not know the version asked for answers in the layout of version 0.
    """
    at = find_start_of_body(API_VERSIONS, version, frame)
    failure: DecodeError | None = None
    read: tuple[Plan, dict[str, Any], list[Span], int] | None = None
    for layout in dict.fromkeys((version, 0)):
        if layout not in api(API_VERSIONS).versions:
            continue
        plan = resolve(api(API_VERSIONS).response, layout)
        spans: list[Span] = []
        try:
            value, after = decode_by_walking(plan, frame, at, len(frame), spans)
        except DecodeError as error:
            failure = failure or strip_traceback(error)
            continue
        if after == len(frame):
            return _cap_versions(frame, plan, value, spans, served, after)
        if frame[after:] == MOCKED:
            read = read or (plan, value, spans, after)
    if read is not None:
        return _cap_versions(frame, *read[:3], served, read[3])
    if int.from_bytes(frame[at : at + 2], "big") == _UNSUPPORTED_VERSION:
        how = f"UNSUPPORTED_VERSION in a layout that is neither that of {version} nor of 0, as librdkafka's mock does"
        raise RewriteFailed(f"ApiVersions {version} is answered {how}; clients ask again for a lower version")
    reason = f": {failure}" if failure else f" in a layout that is not known ({version})"
    raise RewriteFailed(f"ApiVersions {version} is answered{reason}")


def _cap_versions(
    frame: bytes, plan: Plan, value: dict[str, Any], spans: list[Span], served: Served | None, end: int
) -> tuple[bytes, list[Cap]]:
    rows: list[dict[str, int]] = value["api_keys"]
    caps: list[Cap] = []
    edits: list[tuple[int, int, bytes]] = []
    gone = 0
    for number, row in enumerate(rows):
        key, offered = row["api_key"], Versions(row["min_version"], row["max_version"])
        most = api(API_VERSIONS).versions.high if key == API_VERSIONS else find_highest_rewritable_version(key)
        left = offered if most is None else Versions(offered.low, min(offered.high, most))
        if left != offered:
            caps.append(Cap(api(key).name, offered.high, left.high if left else None))
        left = left if served is None else served.limit_offered_versions(key, left)
        if left == offered:
            continue
        mine = [span for span in spans if span.path.startswith(f"api_keys[{number}].")]
        if not left:
            gone += 1
            edits.append((mine[0].at, mine[-1].end, b""))
            continue
        for name, bound in (("min_version", left.low), ("max_version", left.high)):
            (place,) = (span for span in mine if span.path.endswith(f".{name}"))
            edits.append((place.at, place.end, bound.to_bytes(_VERSION, "big", signed=True)))
    if gone:
        (count,) = (span for span in spans if span.what == "size" and span.path == "api_keys")
        edits.append((count.at, count.end, encode_size(len(rows) - gone, True, plan.flexible)))
    features = None if served is None else _limit_features(value, served)
    if features is not None:
        edits.append(_make_tags_edit(plan, spans, {**value, **features}, end))
    return (splice_frame(frame, edits) if edits else frame), caps


_FEATURES: Final = ("supported_features", "finalized_features")


def _limit_features(value: dict[str, Any], served: Served) -> dict[str, Any] | None:
    """The features of an answer, limited by `served`; None where it limits none of them."""
    levels = {
        each["name"]: served.get_allowed_feature_levels(each["name"])
        for name in _FEATURES
        for each in value.get(name, ())
    }
    if all(each is None for each in levels.values()):
        return None
    found: dict[str, Any] = {name: [] for name in _FEATURES if name in value}
    for each in value.get("supported_features", ()):
        known = Versions(each["min_version"], each["max_version"])
        left = known if (most := levels[each["name"]]) is None else known & most
        if left and left.high > 0:
            found["supported_features"].append({**each, "min_version": left.low, "max_version": left.high})
    for each in value.get("finalized_features", ()):
        most = levels[each["name"]]
        if most is None or most:
            level = each["max_version_level"] if most is None else min(each["max_version_level"], most.high)
            lower = min(each["min_version_level"], level)
            found["finalized_features"].append({**each, "max_version_level": level, "min_version_level": lower})
    if not any(found.values()):  # then brokers say nothing of them at all
        found |= {"finalized_features_epoch": -1, "zk_migration_ready": False}
    return found


def _make_tags_edit(plan: Plan, spans: list[Span], value: dict[str, Any], end: int) -> tuple[int, int, bytes]:
    """The edit that replaces all tagged fields at the end of an answer by those of `value`."""
    made = encode(plan, {**value, "api_keys": []})
    return (
        _find_offset_of_unknown_tags(spans),
        end,
        made[_find_offset_of_unknown_tags(_list_spans_of_fields(plan, made, 0)) :],
    )


def _find_offset_of_unknown_tags(spans: list[Span]) -> int:
    (count,) = (span for span in spans if span.what == "tags" and span.path == UNKNOWN)
    return count.at
