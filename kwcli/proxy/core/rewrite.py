"""A response's frame and where listeners are in, the same frame with their places in it out.

A rewrite is a splice: the bytes of a host and its port are replaced, and the sizes around them mended; everything else,
unknown tags and record bytes included, stays as the broker sent it. A frame here has its size field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from decoders.apis import api
from decoders.apis.headers import response_header_plan, response_header_version
from decoders.apis.keys import DESCRIBE_CLUSTER
from decoders.errors import DecodeError
from decoders.limits import FRAME_MAX
from decoders.schema.compile import CRUDE, Projector, decoder, projector
from decoders.schema.model import Plan
from decoders.schema.resolve import resolve
from decoders.schema.walk import UNKNOWN, Span, walk
from decoders.wire.primitives import write_size
from decoders.wire.text import in_bytes
from decoders.wire.varints import write_uvarint
from kwcli.proxy.core.rows import CONTROLLERS, AddressRow, row_of

Address = tuple[str, int]
_SIZE: Final = 4
# Size field and correlation id.
_UNTAGGED: Final = 8
_PORT: Final = 4
_STRING_MAX: Final = 32767
# librdkafka's mock cluster lets such a byte follow some answers.
MOCKED: Final = b"\0"


class RewriteFailed(Exception):
    """A frame that names places cannot be rewritten; `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Endpoint(NamedTuple):
    """A node that a response names and its real place; `at` to `end` are the bytes of host, with its size, and port."""

    node_id: int
    host: str
    port: int
    at: int
    end: int


class Rewritten(NamedTuple):
    """The frame to send, and whether places were left out because a node had no listener."""

    frame: bytes
    stripped: bool


def endpoints(api_key: int, version: int, frame: bytes) -> list[Endpoint]:
    """The places that a response of a row names, in wire order; placeholders of errors are none. Raises RewriteFailed.

    Controllers, which DescribeCluster lists when it is asked for them, are left alone.
    """
    known = _reading(api_key, version)
    if known is None:
        return []
    row, plan, read = known
    view = _view(plan, read, frame, body_at(api_key, version, frame))
    if api_key == DESCRIBE_CLUSTER and view.get("endpoint_type") == CONTROLLERS:
        return []
    elements = view.get(row.array) if row.array else (view,)
    return list(_endpoints(elements, row.node_id, plan.flexible, frame)) if elements else []


def rewrite(
    api_key: int,
    version: int,
    frame: bytes,
    where: Mapping[int, Address],
    found: Sequence[Endpoint] | None = None,
) -> Rewritten:
    """The frame with the place of each node in `where`; `found` is what `endpoints` gave for it. Raises RewriteFailed.

    A node that `where` lacks fails, but where clients do without places: there all of them are left out.
    """
    row = row_of(api_key, version)
    found = endpoints(api_key, version, frame) if found is None else found
    if row is None or not found:
        return Rewritten(frame, stripped=False)
    missing = [each for each in found if each.node_id not in where]
    plan = _plan(api_key, version)
    if missing and not row.optional:
        raise RewriteFailed(f"node {missing[0].node_id} has no listener")
    if missing:
        return Rewritten(_without(plan, row, frame, body_at(api_key, version, frame)), stripped=True)
    edits = [(each.at, each.end, _place(*where[each.node_id], plan.flexible)) for each in found]
    if any(field.name == row.array for field in plan.tagged):
        edits += _tag_size(plan, row, frame, body_at(api_key, version, frame), edits)
    return Rewritten(spliced(frame, edits), stripped=False)


def _plan(api_key: int, version: int) -> Plan:
    return resolve(api(api_key).response, version)


@cache
def _reading(api_key: int, version: int) -> tuple[AddressRow, Plan, Projector] | None:
    """The row of such responses and what reads them (tests/bench/proxy.py, "5 held")."""
    row = row_of(api_key, version)
    if row is None:
        return None
    plan = _plan(api_key, version)
    return row, plan, projector(plan, _paths(row, api_key, version), False)


def _paths(row: AddressRow, api_key: int, version: int) -> frozenset[str]:
    prefix = f"{row.array}[]." if row.array else ""
    paths = {prefix + row.node_id, f"{prefix}host:span", f"{prefix}port"}
    if api_key == DESCRIBE_CLUSTER and version:
        paths.add("endpoint_type")
    return frozenset(paths)


def body_at(api_key: int, version: int, frame: bytes) -> int:
    """Where the body begins, behind the size field and the header."""
    if not _tagged(api_key, version) and len(frame) >= _UNTAGGED:
        return _UNTAGGED
    if frame[_UNTAGGED : _UNTAGGED + 1] == b"\0":
        return _UNTAGGED + 1
    plan = response_header_plan(response_header_version(api_key, version))
    try:
        _, at = decoder(plan)(frame, _SIZE, len(frame))
    except CRUDE:
        at = len(frame) + 1
    if at > len(frame):
        raise RewriteFailed("its header is cut off")
    return int(at)


@cache
def _tagged(api_key: int, version: int) -> bool:
    return response_header_version(api_key, version) > 0


def _view(plan: Plan, read: Projector, frame: bytes, at: int) -> dict[str, Any]:
    end = len(frame)
    try:
        view, _, after = read(frame, at, end)
        if after == end or frame[after:] == MOCKED:
            return view
    except CRUDE:
        pass
    try:
        _, after = walk(plan, frame, at, end)
    except DecodeError as failure:
        raise RewriteFailed(f"{plan.name} {plan.version}: {failure}") from None
    raise RewriteFailed(f"{plan.name} {plan.version}: {in_bytes(end - after)} after its end at byte {after}")


def _endpoints(elements: Sequence[Mapping[str, Any]], node_id: str, compact: bool, frame: bytes) -> Iterator[Endpoint]:
    for element in elements:
        start, size = element["host"]
        port = element["port"]
        number = element[node_id]
        if not size or port <= 0 or number < 0:
            continue  # an error's placeholder: nobody goes there
        prefix = write_size(size, False, compact)
        at = start - len(prefix)
        if frame[at:start] != prefix:
            raise RewriteFailed("a host with a size that is written in an unusual way")
        host = frame[start : start + size].decode("utf-8", "replace")
        yield Endpoint(number, host, port, at, start + size + _PORT)


def _place(host: str, port: int, compact: bool) -> bytes:
    data = host.encode()
    if len(data) > _STRING_MAX:
        raise RewriteFailed("the name of a listener is too long")
    return write_size(len(data), False, compact) + data + port.to_bytes(_PORT, "big")


def spliced(frame: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The frame with bytes replaced, and its own size mended."""
    parts = []
    at = _SIZE
    for start, end, data in sorted(edits):
        parts += [frame[at:start], data]
        at = end
    parts.append(frame[at:])
    body = b"".join(parts)
    if len(body) > FRAME_MAX:
        raise RewriteFailed("it would grow beyond the limit of a frame")
    return len(body).to_bytes(_SIZE, "big") + body


# What is rare: places in a tagged field, and places that have to go. The walker says where things are.


def _spans(plan: Plan, frame: bytes, at: int) -> list[Span]:
    spans: list[Span] = []
    walk(plan, frame, at, len(frame), spans)
    return spans


def _tag(row: AddressRow, spans: list[Span]) -> tuple[Span, int]:
    """The span with the tag and the size of the places' field, and where its value ends."""
    (head,) = (span for span in spans if span.what == "tag" and span.path == row.array)
    inner = [span for span in spans if span.path.startswith(row.array) and span.at >= head.end]
    return head, max(span.end for span in inner)


def _tag_size(
    plan: Plan, row: AddressRow, frame: bytes, at: int, edits: Sequence[tuple[int, int, bytes]]
) -> list[tuple[int, int, bytes]]:
    head, end = _tag(row, _spans(plan, frame, at))
    size = end - head.end + sum(len(data) - (stop - start) for start, stop, data in edits)
    assert isinstance(head.value, int)
    return [(head.at, head.end, write_uvarint(head.value) + write_uvarint(size))]


def _without(plan: Plan, row: AddressRow, frame: bytes, at: int) -> bytes:
    """The frame without any place: the tagged field taken out, or the array emptied."""
    spans = _spans(plan, frame, at)
    if any(field.name == row.array for field in plan.tagged):
        head, end = _tag(row, spans)
        (count,) = (span for span in spans if span.what == "tags" and span.path == UNKNOWN)
        assert isinstance(count.value, int)
        return spliced(frame, [(count.at, count.end, write_uvarint(count.value - 1)), (head.at, end, b"")])
    (count,) = (span for span in spans if span.what == "size" and span.path == row.array)
    end = max(span.end for span in spans if span.path.startswith(row.array + "["))
    return spliced(frame, [(count.at, end, write_size(0, True, plan.flexible))])
