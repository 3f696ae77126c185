"""The bytes of one direction in; out comes whether they are a Kafka broker's answers to requests not in the capture.

The problem. A capture filter like `src port 9092`, or a mirror port of one direction, keeps answers alone. An answer
does not say what it answers, and a size and a number before some bytes is what many protocols have (ZooKeeper's answers
have both).

The idea. One frame says little, a chain of them much: each begins where the one before it ends, correlation ids go
up, as clients count and brokers answer in order, and every frame decodes as the answer of some API.

```
size │ 7 │ decodes … │ size │ 8 │ decodes … │ size │ 9 │ decodes … │   ANSWERS of them, the first at a segment's start
```

One answer that lists the versions a broker serves, the brokers of a cluster, or SASL mechanisms, is as good as a chain.

What is given up: a connection with fewer answers and none of these is not recognised.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError
from decoders.frames.read_and_judge_headers import (
    NO,
    RESPONSE,
    YES,
    find_response_body_offset,
    find_stable_plan,
    judge_response,
)
from decoders.limits import FRAME_MAX
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, HEARTBEAT, METADATA, PRODUCE, SASL_HANDSHAKE
from decoders.schema.plan_walker import Walker

# Frames of a chain that prove Kafka where all are whole; more where too little of them is captured to decode.
ANSWERS: Final = 3
ANSWERS_CUT: Final = 6
# The most places that are tried as the beginning of a chain.
STARTS_MAX: Final = 32
# Correlation ids of one client go on by one for each request that it sends, to any broker.
STEP_MAX: Final = 1 << 16
# Some clients number a request before those that have to be sent first (ApiVersions on a new connection).
TURNED_MAX: Final = 4
# An answer to ApiVersions names at least so many APIs.
APIS_MIN: Final = 8
MECHANISMS: Final = frozenset({"PLAIN", "GSSAPI", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"})
# The APIs of most answers come first.
_KEYS: Final = tuple(dict.fromkeys((FETCH, PRODUCE, METADATA, HEARTBEAT, *NAMES)))
_Layouts = tuple[tuple[int, int], ...]


@cache
def list_possible_api_versions() -> _Layouts:
    """The APIs and versions that an answer may be of, likely ones first. All declarations are read for it."""
    return tuple(
        (key, version)
        for key in _KEYS
        for version in range(api(key).versions.high, api(key).versions.low - 1, -1)
        if key != API_VERSIONS
    )


class Stretches:
    """The bytes of a stream that are there, by their places in it: a stretch between each two gaps."""

    def __init__(self, pieces: Iterable[tuple[int, bytes]]) -> None:
        """`pieces`: place and bytes of each segment, ascending."""
        self.starts: list[int] = []  # places where a segment begins
        self._places: list[int] = []
        self._parts: list[list[bytes]] = []
        end = -1
        for place, data in pieces:
            self.starts.append(place)
            if place != end:
                self._places.append(place)
                self._parts.append([])
            self._parts[-1].append(data)
            end = place + len(data)
        self._data = [b"".join(parts) for parts in self._parts]

    def find_stretch_at(self, place: int) -> tuple[bytes, int]:
        """The stretch that has this place, and the offset of the place in it; past its end where nothing is there."""
        number = bisect_right(self._places, place) - 1
        if number < 0:
            return b"", 0
        return self._data[number], place - self._places[number]


def find_first_response_chain(stretches: Stretches) -> int | None:
    """The place of the first segment with which a chain of answers begins."""
    return next((place for place in stretches.starts[:STARTS_MAX] if _begins_response_chain(stretches, place)), None)


def _begins_response_chain(stretches: Stretches, place: int) -> bool:
    """Whether answers follow one another from this place on, enough of them to be sure."""
    if _is_unmistakable_answer(*stretches.find_stretch_at(place)):
        return True
    frames = _follow_response_chain(stretches, place)
    if len(frames) < ANSWERS:
        return False
    whole = 0
    candidates = list_possible_api_versions()
    for data, at in frames:
        verdict, candidates = _judge_as_any_response(data, at, candidates)
        if verdict == NO:
            return False
        whole += verdict == YES
    return len(frames) >= (ANSWERS if whole >= ANSWERS else ANSWERS_CUT)


def _follow_response_chain(stretches: Stretches, place: int) -> list[tuple[bytes, int]]:
    """The frames of a chain from this place on, up to ANSWERS_CUT: bytes, and the offset of the size field in them."""
    frames: list[tuple[bytes, int]] = []
    before = 0
    while len(frames) < ANSWERS_CUT:
        data, at = stretches.find_stretch_at(place)
        if len(data) - at < RESPONSE.size:
            break
        size, correlation_id = RESPONSE.unpack_from(data, at)
        if not 4 <= size <= FRAME_MAX or correlation_id < 0:
            return []
        if frames and not (0 < correlation_id - before <= STEP_MAX or 0 < before - correlation_id <= TURNED_MAX):
            return []
        frames.append((data, at))
        before = correlation_id
        place += 4 + size
    return frames


def _judge_as_any_response(data: bytes, at: int, candidates: _Layouts) -> tuple[int, _Layouts]:
    """The best verdict of any API's answer about a frame, and the layouts in the order to try the next one in."""
    best = NO
    for number, layout in enumerate(candidates):
        verdict = judge_response(data, at, *layout)
        if verdict == YES:
            return YES, candidates if number < 2 else (layout, *candidates[:number], *candidates[number + 1 :])
        best = max(best, verdict)
    return best, candidates


def _is_unmistakable_answer(data: bytes, at: int) -> bool:
    """Whether a whole frame is an answer that nothing else would send: one of `_TELLING`."""
    if len(data) - at < RESPONSE.size:
        return False
    size = RESPONSE.unpack_from(data, at)[0]
    end = at + 4 + size
    if not 4 <= size <= len(data) - at - 4:
        return False
    for key, is_telling in _TELLING.items():
        versions = api(key).versions
        for version in range(versions.low, versions.high + 1):
            plan = find_stable_plan(key, version, "response")
            walker = Walker(data)
            try:
                if (
                    plan is None
                    or walker.read(plan, find_response_body_offset(data, at, end, key, version), end) != end
                ):
                    continue
            except (DecodeError, IndexError):
                continue
            if is_telling(walker.root):
                return True
    return False


def _has_plausible_versions(answer: dict[str, Any]) -> bool:
    served = answer["api_keys"] or []
    keys = [each["api_key"] for each in served]
    return (
        len(keys) >= APIS_MIN
        and all(one < other for one, other in pairwise(keys))
        and all(0 <= each["min_version"] <= each["max_version"] for each in served)
    )


def _has_plausible_brokers(answer: dict[str, Any]) -> bool:
    brokers = answer["brokers"] or []
    return bool(brokers) and all(
        each["node_id"] >= 0 and each["host"].isprintable() and each["host"] and 0 < each["port"] < 1 << 16
        for each in brokers
    )


def _has_plausible_mechanisms(answer: dict[str, Any]) -> bool:
    return any(name in MECHANISMS for name in answer["mechanisms"] or [])


_TELLING: Final[dict[int, Callable[[dict[str, Any]], bool]]] = {
    API_VERSIONS: _has_plausible_versions,
    METADATA: _has_plausible_brokers,
    SASL_HANDSHAKE: _has_plausible_mechanisms,
}
