"""A frame's body that is not as the protocol has it in, its reading by the walker with remarks out.

What is read all the same: null where it is not allowed, bytes behind the last field, varints longer than they need be,
tagged fields out of order or twice, and an answer in the layout of another version. Generated code fails at each of
these, or does not end where the message ends; so who reads a sound body pays nothing for them.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError
from decoders.frames.read_and_judge_headers import find_response_body_offset, is_flexible
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS
from decoders.protocol_facts.exchange_remarks import ExchangeRemark, make_remark
from decoders.schema.api_declaration import Plan, Side, resolve
from decoders.schema.field_projection import make_view_of_walker, make_walker_for_view, parse_wanted_paths
from decoders.schema.plan_walker import Walker
from decoders.wire.format_and_escape_text import format_bytes

__all__ = ["BodyReading", "list_trailing_remarks", "read_body_by_walking", "read_response_of_other_version"]

_SIZE_FIELD: Final = 4
# API key, version, correlation id and the size of the client id; where the body begins behind an empty one.
_REQUEST_HEAD: Final = Struct(">hhih")
_REQUEST_BODY: Final = 14


class BodyReading(NamedTuple):
    """A body that the walker has read from `begin` to `after`, with remarks; `early_layout` is as in `Layout`."""

    plan: Plan
    early_layout: str | None
    walker: Walker
    begin: int
    after: int
    remarks: list[ExchangeRemark]

    def make_view(
        self, data: bytes, paths: frozenset[str], side: Side
    ) -> tuple[dict[str, Any], list[tuple[str, int]] | None]:
        """The view of the body, and its error codes."""
        want = parse_wanted_paths(self.plan, paths)
        walker = make_walker_for_view(data, want, lenient=True)
        walker.read(self.plan, self.begin, len(data))
        return make_view_of_walker(self.plan, want, side == "response", walker)


def read_body_by_walking(
    side: Side, plan: Plan, data: bytes, at: int, *, early_layout: str | None = None, lenient: bool = False
) -> BodyReading | None:
    """The reading of a body, which begins at `at`, by one layout; None where it cannot be read.

    If `lenient`, null is read where it is not allowed.
    """
    walker = Walker(data, lenient=lenient)
    try:
        after = walker.read(plan, at, len(data))
    except DecodeError:
        return None
    remarks = [
        make_remark(side, remark.id, remark.text, path=remark.path, offset=remark.at - _SIZE_FIELD)
        for remark in walker.remarks
    ]
    more = walker.remark_count - len(remarks)
    if more:
        remarks[-1]["text"] += f" (and {more:,} more remarks)"
    remarks += list_trailing_remarks(side, after, data)
    return BodyReading(plan, early_layout, walker, at, after, remarks)


def list_trailing_remarks(side: Side, after: int, data: bytes) -> list[ExchangeRemark]:
    """The remark on the bytes of a frame from `after` on, which stand behind its last field."""
    if after >= len(data):
        return []
    text = f"{format_bytes(len(data) - after)} behind the last field"
    if side == "request" and _fits_without_header_tags(data):
        text += ": without tagged fields in its header, which this version has, it fits to its last byte"
    return [make_remark(side, "trailing", text, offset=after - _SIZE_FIELD)]


def _fits_without_header_tags(data: bytes) -> bool:
    """Whether a request of a flexible version can be read to its last byte behind the header of older versions."""
    key, version, _, length = _REQUEST_HEAD.unpack_from(data, _SIZE_FIELD)
    if key not in NAMES or not is_flexible(key, version) or version not in api(key).versions:
        return False
    try:
        after = Walker(data).read(resolve(api(key).request, version), _REQUEST_BODY + max(length, 0), len(data))
    except DecodeError:
        return False
    return after == len(data)


def read_response_of_other_version(key: int | None, asked: int | None, data: bytes) -> BodyReading | None:
    """The reading of a response by the only version, other than the one asked for, that reads it to its last byte.

    None where none does, or several that read different values from it: versions that read the same count as one.
    """
    if key not in NAMES or key == API_VERSIONS or asked is None or asked not in api(key).versions:
        return None
    found: dict[int, BodyReading] = {}
    for version in api(key).versions:
        if version == asked:
            continue
        try:
            at = find_response_body_offset(data, 0, len(data), key, version)
        except DecodeError:
            continue
        reading = read_body_by_walking("response", resolve(api(key).response, version), data, at)
        if reading is not None and reading.after == len(data):
            found[version] = reading
    if not found:
        return None
    first, *others = found.values()
    if any(other.walker.root != first.walker.root for other in others):
        return None
    versions = f"version {min(found)}" if len(found) == 1 else f"versions {min(found)} to {max(found)}"
    text = f"cannot be read in version {asked}, but in the layout of {versions} to its last byte"
    remark = make_remark("response", "other_version", text, offset=first.begin - _SIZE_FIELD)
    return first._replace(remarks=[remark, *first.remarks])
