"""A frame of which nobody says what it is in; what it may be out, best first: request or response, of which API.

A layout fits when it reads the frame to its last byte. How likely it is then is told by the values it finds: error
codes that exist, names that are text, epochs that are no huge numbers, batches whose checksum is right. API versions
that read the same fields with the same values out of it are one candidate: nothing could tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple

from decoders.apis import KEYS, NAMES, api
from decoders.apis.headers import response_header_plan, response_header_version
from decoders.errors import DecodeError
from decoders.exchanges.needs import Needs
from decoders.exchanges.plausible import VALUES_MAX, LayoutReading, plausibility
from decoders.exchanges.specs import ApiVersion, Layout
from decoders.limits import VALUE_WHOLE_MAX
from decoders.schema.compile import CRUDE
from decoders.schema.deferred import LargeWalker, check, is_large
from decoders.schema.model import Plan, Side, Versions
from decoders.schema.resolve import resolve
from decoders.schema.walk import Span, Walker
from decoders.streams.heads import request_head
from decoders.streams.resync import HEAD
from decoders.streams.verdict import request_verdict

# What is said of an API before its bytes are looked at: how often its messages are met.
# A follower, and a consumer without anything to do, asks with Fetch two times a second for ever.
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
# A request says itself what it is: that it decodes to its last byte is no accident.
_REQUEST: Final = 12.0
_EARLY: Final = -8.0
# Messages with more values than are looked at: so many candidates are read to their end.
LONG_MAX: Final = 8


class Kind(NamedTuple):
    """An API and some of its versions."""

    key: int
    versions: Versions

    @property
    def name(self) -> str:
        """`Metadata 9-11`."""
        return f"{api(self.key).name} {self.versions}"


class Candidate(NamedTuple):
    """What a frame may be: `kinds` that read it alike, the most common one first; a score to compare by."""

    side: Side
    kinds: tuple[Kind, ...]
    plan: Plan
    release: str | None
    score: float

    @property
    def key(self) -> int:
        """The API key of the first kind."""
        return self.kinds[0].key

    @property
    def version(self) -> int:
        """The newest version of the first kind."""
        return self.kinds[0].versions.high

    @property
    def name(self) -> str:
        """`Metadata 9-11`, `Heartbeat 1-3 or LeaveGroup 1-2 or EndTxn 0-2`."""
        early = f" (layout of {self.release})" if self.release else ""
        return " or ".join(kind.name for kind in self.kinds) + early


class Variant(NamedTuple):
    """A layout with its field names, and the API versions that have it."""

    plan: Plan
    kinds: tuple[Kind, ...]
    prior: float
    release: str | None = None


class WireForm(NamedTuple):
    """One layout on the wire: the same types in the same order, under the names of one or several variants."""

    header_version: int
    variants: tuple[Variant, ...]


def guess(frame: bytes) -> list[Candidate]:
    """What a whole frame with its size field may be; empty when nothing reads it to its end."""
    found = [*guess_request(frame), *guess_response(frame)]
    return sorted(found, key=lambda candidate: -candidate.score)


def guess_request(frame: bytes) -> list[Candidate]:
    """The request that a frame is, by its own header; with a size field."""
    if request_verdict(frame, 0) < HEAD:
        return []
    try:
        head = request_head(frame, 0, len(frame))
    except (DecodeError, IndexError):
        return []
    if head.api_version not in api(head.api_key).versions:
        return []
    kinds = (Kind(head.api_key, Versions(head.api_version, head.api_version)),)

    def read(layout: Layout) -> tuple[tuple[dict[str, Any], int], int] | None:
        walker = LargeWalker(frame) if is_large(len(frame)) else Walker(frame)
        try:
            after = walker.read(layout.plan, head.body, len(frame))
        except DecodeError:
            return None
        return (walker.root, after), after

    found = ApiVersion(head.api_key, head.api_version, Needs()).try_layouts("request", frame, read)
    if found is None:
        return []
    (root, after), (plan, release) = found
    spans = _First()
    with suppress(_Enough):
        Walker(frame, spans).read(plan, head.body, len(frame))
    score = plausibility(plan, LayoutReading(spans, root)) + _prior(head.api_key) + (_EARLY if release else 0)
    score += _REQUEST * (after - 8) / (len(frame) - 8)
    return [Candidate("request", kinds, plan, release, score)]


def guess_response(frame: bytes, keys: Iterable[int] | None = None) -> list[Candidate]:
    """The responses that a frame with its size field may be, best first; of these APIs only where keys are given."""
    found = _fitting(frame, _groups(), keys)
    if not found:
        found = _fitting(frame, _early_groups(), keys)
    return sorted(found, key=lambda candidate: -candidate.score)


class _Fit(NamedTuple):
    """A layout that reads a frame; `read` is what it reads, `long` that it was not read to its end yet."""

    candidate: Candidate
    read: list[tuple[object, ...]]
    at: int
    long: bool


def _fitting(frame: bytes, groups: tuple[WireForm, ...], keys: Iterable[int] | None) -> list[Candidate]:
    starts = [_body(frame, header_version) for header_version in (0, 1)]
    wanted = set(KEYS if keys is None else keys)
    fits = [
        fit
        for header_version, variants in groups
        if starts[header_version] >= 0 and (fit := _fit(frame, starts[header_version], variants, wanted))
    ]
    long = sorted((fit for fit in fits if fit.long), key=lambda fit: -fit.candidate.score)
    proven = [fit for fit in long[:LONG_MAX] if _goes_up(fit.candidate.plan, frame, fit.at)]
    found: list[Candidate] = []
    places: dict[object, int] = {}  # what was read → the candidate that reads so
    for fit in (*(fit for fit in fits if not fit.long), *proven):
        place = next((places[read] for read in fit.read if read in places), len(found))
        if place < len(found):
            found[place] = _joined(found[place], fit.candidate)
        else:
            found.append(fit.candidate)
        places.update(dict.fromkeys(fit.read, place))
    return found


def _fit(frame: bytes, at: int, variants: tuple[Variant, ...], wanted: set[int]) -> _Fit | None:
    """One layout on the wire, under all names that it has; None where it does not fit."""
    of_group: Candidate | None = None
    reads: list[tuple[object, ...]] = []
    long = False
    for plan, kinds, prior, release in variants:
        kinds = tuple(kind for kind in kinds if kind.key in wanted)
        reading = _read(plan, frame, at) if kinds else None
        if reading is None:
            continue
        one = Candidate("response", kinds, plan, release, plausibility(plan, reading) + prior)
        of_group = one if of_group is None else _joined(of_group, one)
        reads.append((at, *map(_comparable, reading.spans)))
        long = long or reading.root is None
    return None if of_group is None else _Fit(of_group, reads, at, long)


def _comparable(span: Span) -> Span:
    """A span to compare readings of one frame by: what a long value says is told by its place and its type."""
    value = span.value
    if isinstance(value, (str, bytes)) and len(value) > VALUE_WHOLE_MAX:
        return span._replace(value=value.__class__)
    return span


def _goes_up(plan: Plan, frame: bytes, at: int) -> bool:
    if is_large(len(frame)):
        try:
            return check(plan, frame, at, len(frame)) == len(frame)
        except (*CRUDE, DecodeError):
            return False
    try:
        return Walker(frame).read(plan, at, len(frame)) == len(frame)
    except DecodeError:
        return False


def _joined(one: Candidate, other: Candidate) -> Candidate:
    """Two that read the same, as one: the more likely first."""
    first, second = (one, other) if one.score >= other.score else (other, one)
    return first._replace(kinds=_united(tuple(dict.fromkeys(first.kinds + second.kinds))))


def _united(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """The same kinds in the same order, neighbouring versions of one API together."""
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


def _body(frame: bytes, header_version: int) -> int:
    """Where the body of a response begins, -1 where there is no such header."""
    walker = Walker(frame)
    try:
        at = walker.read(response_header_plan(header_version), 4, len(frame))
    except DecodeError:
        return -1
    # Nobody has sent a tagged field in the header of a response yet.
    return -1 if header_version and at != 9 else at


class _Enough(Exception):
    """The first values of a message were read."""


class _First(list[Span]):
    """The first spans of a message: what is looked at, and by which two readings are compared."""

    def append(self, span: Span) -> None:
        if len(self) >= VALUES_MAX:
            raise _Enough
        super().append(span)


def _read(plan: Plan, frame: bytes, at: int) -> LayoutReading | None:
    """The frame as a layout reads it, None unless it does so to the last byte; most fail after a few bytes.

    Of a long message only the first values are read, and there is no root.
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
def _groups() -> tuple[WireForm, ...]:
    """Every response layout once, with the API versions that have it."""
    variants: dict[tuple[object, ...], dict[object, tuple[Plan, list[Kind]]]] = {}
    for key in KEYS:
        declared = api(key)
        for version in range(declared.versions.low, declared.versions.high + 1):
            plan = resolve(declared.response, version)
            wire = response_header_version(key, version), _signature(plan, names=False)
            _, known = variants.setdefault(wire, {}).setdefault(_signature(plan, names=True), (plan, []))
            if known and known[-1].key == key and known[-1].versions.high == version - 1:
                known[-1] = Kind(key, Versions(known[-1].versions.low, version))
            else:
                known.append(Kind(key, Versions(version, version)))
    return tuple(
        WireForm(wire[0], tuple(_variant(plan, kinds) for plan, kinds in named.values()))  # type: ignore[arg-type]  # a number
        for wire, named in variants.items()
    )


def _variant(plan: Plan, kinds: list[Kind]) -> Variant:
    ordered = tuple(sorted(kinds, key=lambda kind: -_prior(kind.key)))
    return Variant(plan, ordered, _prior(ordered[0].key))


@cache
def _early_groups() -> tuple[WireForm, ...]:
    """The early layouts of responses."""
    groups = []
    for key in KEYS:
        for (side, version, release), message in api(key).early.items():
            if side == "response":
                plan = resolve(message, version)
                variant = Variant(plan, (Kind(key, Versions(version, version)),), _prior(key) + _EARLY, release)
                groups.append(WireForm(response_header_version(key, version), (variant,)))
    return tuple(groups)


def _signature(plan: Plan, *, names: bool) -> tuple[Any, ...]:
    """What two layouts that are the same field by field have in common."""
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
                field.plan and _signature(field.plan, names=names),
            )
            for field in (*plan.fields, *plan.tagged)
        ),
    )


def _prior(key: int) -> float:
    if key in _BETWEEN_BROKERS:
        return _RARE
    return _COMMON.get(key, 0.0) if key in NAMES else _RARE


__all__ = ["Candidate", "Kind", "guess", "guess_request", "guess_response"]
