"""A broker's ApiVersions answer in, the same with no version of a rewritten API that the proxy does not know out.

A client that negotiated such a version would be answered with places nobody could replace. Only those APIs are touched,
and ApiVersions itself; everything else passes, known or not. Numbers keep their size, so this is a splice as well.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from decoders.apis import api
from decoders.apis.keys import API_VERSIONS
from decoders.errors import DecodeError
from decoders.schema.model import Plan
from decoders.schema.resolve import resolve
from decoders.schema.walk import Span, walk
from decoders.wire.primitives import write_size
from kwcli.proxy.core.rewrite import MOCKED, RewriteFailed, body_at, spliced
from kwcli.proxy.core.rows import highest

_VERSION: Final = 2
_UNSUPPORTED_VERSION: Final = 35


class Cap(NamedTuple):
    """An API whose versions were cut: from `offered` to `left`, or taken out (`left` None)."""

    api: str
    offered: int
    left: int | None


def cap_api_versions(frame: bytes, version: int) -> tuple[bytes, list[Cap]]:
    """The frame of an ApiVersions response, capped, and what was cut. Raises RewriteFailed.

    A broker that does not know the version asked for answers in the layout of version 0.
    """
    at = body_at(API_VERSIONS, version, frame)
    failure: DecodeError | None = None
    read: tuple[Plan, list[dict[str, int]], list[Span]] | None = None
    for layout in dict.fromkeys((version, 0)):
        if layout not in api(API_VERSIONS).versions:
            continue
        plan = resolve(api(API_VERSIONS).response, layout)
        spans: list[Span] = []
        try:
            value, after = walk(plan, frame, at, len(frame), spans)
        except DecodeError as error:
            failure = failure or error
            continue
        if after == len(frame):
            return _capped(frame, plan, value["api_keys"], spans)
        if frame[after:] == MOCKED:
            read = read or (plan, value["api_keys"], spans)
    if read is not None:
        return _capped(frame, *read)
    if int.from_bytes(frame[at : at + 2], "big") == _UNSUPPORTED_VERSION:
        how = f"UNSUPPORTED_VERSION in a layout that is neither that of {version} nor of 0, as librdkafka's mock does"
        raise RewriteFailed(f"ApiVersions {version} is answered {how}; clients ask again for less")
    reason = f": {failure}" if failure else f" in a layout that is not known ({version})"
    raise RewriteFailed(f"ApiVersions {version} is answered{reason}")


def _capped(frame: bytes, plan: Plan, rows: list[dict[str, int]], spans: list[Span]) -> tuple[bytes, list[Cap]]:
    caps: list[Cap] = []
    edits: list[tuple[int, int, bytes]] = []
    gone = 0
    for number, row in enumerate(rows):
        key, offered = row["api_key"], row["max_version"]
        most = api(API_VERSIONS).versions.high if key == API_VERSIONS else highest(key)
        if most is None or offered <= most:
            continue
        mine = [span for span in spans if span.path.startswith(f"api_keys[{number}].")]
        if row["min_version"] > most:
            gone += 1
            edits.append((mine[0].at, mine[-1].end, b""))
            caps.append(Cap(api(key).name, offered, None))
            continue
        (place,) = (span for span in mine if span.path.endswith(".max_version"))
        edits.append((place.at, place.end, most.to_bytes(_VERSION, "big", signed=True)))
        caps.append(Cap(api(key).name, offered, most))
    if gone:
        (count,) = (span for span in spans if span.what == "size" and span.path == "api_keys")
        edits.append((count.at, count.end, write_size(len(rows) - gone, True, plan.flexible)))
    return (spliced(frame, edits) if edits else frame), caps
