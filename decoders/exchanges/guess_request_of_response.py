"""A response without its request in, the only API version that it can belong to out, or none; what is said of it.

The problem. A response says neither its API nor its version, so a response whose request was not captured cannot be
decoded: many responses are a few zeros, which decode as responses of twenty APIs.

The idea. No scoring: the response layouts of every API version that kw knows are tried, early-access layouts too. The
true layout always reads the frame to its last byte. So where only one layout does, it is the true one, provided that kw
knows the true one. Against newer API versions and bytes that are no response at all (raw SASL tokens), the decoded
values must make sense as well, and the body must be large enough to be no coincidence.

```
0 bytes over, error codes and throttle times that exist, printable names, no unknown tag, SIZE_MIN bytes
   Fetch 12   ✓                → Fetch 12
   all other  ✗
   Fetch 13 ✓, Fetch 14 ✓      → none: two versions with the same layout
```

What is given up: API versions with the same layout, and short responses. A version that is newer than this kw and has
the layout of exactly one version that kw knows is taken for that one.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import UNSUPPORTED_VERSION, ApiReaders, list_layouts
from decoders.exchanges.exchange import Exchange
from decoders.frames.read_and_judge_headers import ERROR_CODE_MAX, THROTTLE_MAX, is_flexible, skip_header_tags
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS
from decoders.schema.api_declaration import Plan
from decoders.schema.plan_walker import Walker

__all__ = ["find_only_fitting_api_version", "remark_unasked_answer", "set_guessed_request"]

# The least bytes of a body: a shorter one decodes by coincidence.
SIZE_MIN: Final = 12
# The offset of the body in a frame whose header has no tagged fields.
_HEADER: Final = 8


class _Candidate(NamedTuple):
    """One layout of the response of an API version."""

    key: int
    version: int
    plan: Plan
    tagged: bool  # the header has tagged fields
    stable: bool


@cache
def _list_response_layouts() -> tuple[_Candidate, ...]:
    """All response layouts of all API versions; reads every declaration."""
    found: list[_Candidate] = []
    for key in NAMES:
        declared = api(key)
        early = [version for side, version, _ in declared.early if side == "response"]
        stable = range(declared.versions.low, declared.versions.high + 1)
        for version in sorted({*stable, *early}):
            tagged = key != API_VERSIONS and is_flexible(key, version)
            for layout in list_layouts(key, version, "response"):
                if layout.plan.version == version:  # not the fall-back of ApiVersions
                    found.append(_Candidate(key, version, layout.plan, tagged, layout.early_layout is None))
    return tuple(found)


def find_only_fitting_api_version(frame: bytes) -> tuple[int, int] | None:
    """The key and version of the only API version that a whole response frame, with its size field, fits; else None."""
    end = len(frame)
    if end < _HEADER + SIZE_MIN or int.from_bytes(frame[:4], "big") != end - 4 or frame[4] & 0x80:
        return None
    try:
        behind_tags = skip_header_tags(frame, _HEADER, end)
    except (DecodeError, IndexError):
        behind_tags = end
    found: _Candidate | None = None
    root: dict[str, Any] = {}
    for candidate in _list_response_layouts():
        at = behind_tags if candidate.tagged else _HEADER
        walker = Walker(frame)
        try:
            if walker.read(candidate.plan, at, end) != end:
                continue
        except (DecodeError, IndexError):
            continue
        if found is not None:
            return None
        found, root = candidate, walker.root
    if found is None or not found.stable or not _is_plausible_request_body(root):
        return None
    if found.key == API_VERSIONS and frame[_HEADER : _HEADER + 2] == UNSUPPORTED_VERSION:
        return None  # the response to a version that the broker does not have, laid out as version 0
    return found.key, found.version


def _is_plausible_request_body(root: dict[str, Any]) -> bool:
    """Whether every value of a body is one that brokers send."""
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            if not value.isprintable():
                return False
        elif isinstance(value, dict):
            if value.get("_tagged_fields"):
                return False
            if not -1 <= value.get("error_code", 0) <= ERROR_CODE_MAX:
                return False
            if not 0 <= value.get("throttle_time_ms", 0) <= THROTTLE_MAX:
                return False
            waiting += value.values()
    return True


def set_guessed_request(exchange: Exchange, api_readers: ApiReaders) -> None:
    """Set the only API version that a response without its request fits, and mark it as guessed."""
    found = find_only_fitting_api_version(exchange.response_raw or b"")
    if found is not None:
        exchange.api_key, exchange.api_version = found
        exchange._api_reader = api_readers.get_reader(*found)
        exchange.extra = {**(exchange.extra or {}), "guessed": True}


def remark_unasked_answer(exchange: Exchange, *, answered: bool | None) -> None:
    """Say of an answer that no request waits for it, on a connection of which every request was seen.

    `answered`: whether a request with its id had its answer before; None where that is not known.
    """
    exchange.extra = {**(exchange.extra or {}), "reason": "unasked"}
    if answered:
        text = f"request {exchange.correlation_id} had its answer before, or asked for none"
        exchange._add_remark("answered_twice", text, "response")
    elif answered is not None:
        exchange._add_remark("wrong_id", f"id {exchange.correlation_id}, which no open request has", "response")
