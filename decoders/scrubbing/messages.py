"""Frames in, frames of the same layout out, with names replaced, and secrets and contents overwritten.

A message is read by its declaration, and only the bytes of its strings and bytes fields change, each according to its
kind in the table (field_kinds.py). Numbers stay: sizes, errors, offsets and versions are unchanged. Where a message
cannot be read, its rest is overwritten with bytes that cannot be read either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from struct import error
from typing import TYPE_CHECKING, Any, Final

from decoders.apis.headers import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.embedded import INSIDE, TYPE, held_json, locate_structure
from decoders.embedded.holders import HOLDERS
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import ApiVersion, Layout, Needs
from decoders.exchanges.topic_arrays import topic_at
from decoders.frames.header_checks import request_head
from decoders.schema.model import Side
from decoders.schema.plan_walker import Walker
from decoders.scrubbing.batches import GARBAGE, BatchScrubber
from decoders.scrubbing.field_kinds import BY_SIBLING, Kind, kind_of
from decoders.scrubbing.names import FILLER, KEPT, Names
from decoders.scrubbing.tokens import scrub_token

if TYPE_CHECKING:
    from uuid import UUID

__all__ = ["Scrubber"]

_INDEX: Final = re.compile(r"\[\d+\]")
_STEP: Final = re.compile(r"([^.\[\]]+)(?:\[(\d+)\])?\.?")
_SIZE: Final = 4
_RESPONSE_HEAD: Final = 8
_NO_NEEDS: Final = Needs()
_NOISE: Final = 1 << 16
# How deep Envelopes may be nested; no broker nests them.
_DEPTH_MAX: Final = 2
# The exceptions of a walk, also of one beyond the end of the buffer.
_FAILURES: Final = (DecodeError, IndexError, error)
TopicNames = Callable[["UUID"], str | None]


class _Texts(Walker):
    """A Walker that collects where strings and bytes are, and the offset that it reached."""

    __slots__ = ("found", "reached")

    def __init__(self, buf: bytes, at: int) -> None:
        super().__init__(buf)
        self.found: list[tuple[str, int, int]] = []
        self.reached = at

    def _note(self, path: str, at: int, end: int, what: str, value: object) -> None:
        self.reached = max(self.reached, end)
        if what == "value" and at < min(end, len(self._buf)) and value.__class__ in (str, bytes):
            self.found.append((path, at, end))


@cache
def _spec(key: int, version: int) -> ApiVersion:
    return ApiVersion(key, version, _NO_NEEDS)


@cache
def _kind(message: str, path: str) -> Kind | None:
    return kind_of(message, _INDEX.sub("", path)) if "[" in path else kind_of(message, path)


class Scrubber:
    """Scrubs the frames of one capture. `counts`: batches and records (see batches.py), and `unread` frames."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.counts: Counter[str] = Counter()
        self._batches = BatchScrubber(self.record_structure, names.sample, names.pseudonyms.noise(_NOISE), self.counts)

    def token(self, data: bytes) -> bytes:
        """A raw SASL token, scrubbed, with its size field."""
        return data[:_SIZE] + scrub_token(data[_SIZE:], self.names)

    def request(
        self, data: bytes, key: int, version: int, topic_name: TopicNames, *, whole: bool = True, depth: int = 0
    ) -> bytes:
        """A request, scrubbed, with its size field; if not `whole`, bytes at its end are missing."""
        return _Frame(self, _spec(key, version), "request", topic_name, depth).scrub(data, whole=whole)

    def response(
        self,
        data: bytes,
        key: int | None,
        version: int | None,
        topic_name: TopicNames,
        *,
        asked: Mapping[str, Any] | None = None,
        whole: bool = True,
        depth: int = 0,
    ) -> bytes:
        """A response, scrubbed, with its size field; only its header is left if its request is not known.

        `asked`: the fields of its request, some of which say what kind of name a field holds. If not `whole`, bytes at
        its end are missing.
        """
        if key is None or version is None:
            self.counts["unread"] += 1
            return data[:_RESPONSE_HEAD] + GARBAGE * (len(data) - _RESPONSE_HEAD)
        return _Frame(self, _spec(key, version), "response", topic_name, depth, asked or {}).scrub(data, whole=whole)

    def structure(self, name: str, data: bytes) -> bytes | None:
        """A structure inside bytes, scrubbed, as this one or one that may stand in its place; None if it is neither."""
        found = held_json(name, data)
        if found is None:
            return None
        return self._structure(found[TYPE], data)

    def record_structure(self, name: str, data: bytes) -> bytes | None:
        """A structure in a record of an internal topic, scrubbed; bytes may follow it. None if it cannot be read."""
        try:
            return self._structure(name, data)
        except DecodeError:
            return None

    def _structure(self, name: str, data: bytes) -> bytes:
        name, plan, start = locate_structure(name, data)
        texts = _Texts(data, start)
        end = texts.read(plan, start, len(data))
        out = bytearray(data)
        inside = INSIDE.get(name, {})
        for path, at, stop in texts.found:
            other = inside.get(_INDEX.sub("", path))
            if other is not None:
                out[at:stop] = self.structure(other, data[at:stop]) or FILLER * (stop - at)
            else:
                out[at:stop] = self.text(name, path, data[at:stop], texts.root, {})
        out[end:] = FILLER * (len(data) - end)
        return bytes(out)

    def text(self, message: str, path: str, data: bytes, root: Mapping[str, Any], asked: Mapping[str, Any]) -> bytes:
        """The scrubbed value of a field that holds neither a structure nor records."""
        kind = _kind(message, path)
        names = self.names
        if kind == "sibling":
            return names.data(_told(path, data, root, asked, names), data)
        if kind == "secret":
            return names.secret(data)
        if kind == "token":
            return scrub_token(data, names)
        if kind == "address":
            return data if "hosts" in names.keep else names.pseudonyms.address(data)
        if kind in (None, "text", "structure", "records", "request", "response"):
            return FILLER * len(data)
        return names.data(kind, data)

    def batches(self, data: bytes, topic: str | None) -> bytes:
        """A records field, scrubbed."""
        return self._batches.scrub(data, topic)


class _Frame:
    """Scrubs one frame."""

    def __init__(
        self,
        scrubber: Scrubber,
        spec: ApiVersion,
        side: Side,
        topic_name: TopicNames,
        depth: int,
        asked: Mapping[str, Any] | None = None,
    ) -> None:
        self._scrubber = scrubber
        self._spec = spec
        self._side = side
        self._topic_name = topic_name
        self._depth = depth
        self._asked = asked or {}
        holders = HOLDERS.get((spec.key or 0, side), {})
        self._holders = {path.replace("[]", ""): name for path, name in holders.items()}

    def scrub(self, data: bytes, *, whole: bool) -> bytes:
        key, version = self._spec.key or 0, self._spec.version or 0
        if self._side == "request":
            plan = request_header_plan(request_header_version(key, version))
        else:
            plan = response_header_plan(response_header_version(key, version))
        out = bytearray(data)
        # If bytes of the frame are missing, those before the gap are there: it is walked as if all bytes were.
        end = len(data) if whole else max(len(data), _SIZE + int.from_bytes(data[:_SIZE], "big"))
        head = _Texts(data, min(_SIZE, len(data)))
        try:
            at = head.read(plan, head.reached, end)
        except _FAILURES:
            self._fill(out, data, head, plan.name)
            self._garbage(out, head.reached)
            return bytes(out)
        self._fill(out, data, head, plan.name)
        self._body(out, data, at, end)
        return bytes(out)

    def _body(self, out: bytearray, data: bytes, at: int, end: int) -> None:
        failures: list[tuple[_Texts, str]] = []

        def read(layout: Layout) -> tuple[tuple[_Texts, int], int] | None:
            texts = _Texts(data, at)
            try:
                after = texts.read(layout.plan, at, end)
            except _FAILURES:
                failures.append((texts, layout.plan.name))
                return None
            after = min(after, len(data))
            if after < len(data):
                failures.append((texts, layout.plan.name))
            return (texts, after), after

        best = self._spec.try_layouts(self._side, data, read, stable_only=end > len(data))
        if best is not None:
            (texts, after), layout = best
            self._fill(out, data, texts, layout.plan.name)
            out[after:] = FILLER * (len(data) - after)
        elif failures:
            texts, name = failures[0]
            self._fill(out, data, texts, name)
            self._garbage(out, texts.reached)
        else:
            self._garbage(out, at)

    def _garbage(self, out: bytearray, at: int) -> None:
        self._scrubber.counts["unread"] += 1
        out[at:] = GARBAGE * (len(out) - at)

    def _fill(self, out: bytearray, data: bytes, texts: _Texts, message: str) -> None:
        """Replace each string and bytes field that was found by a value of the same length."""
        for path, at, end in texts.found:
            new = self._changed(message, path, data[at:end], texts.root)
            assert len(new) == min(end, len(data)) - at, path
            out[at : at + len(new)] = new

    def _changed(self, message: str, path: str, data: bytes, root: Mapping[str, Any]) -> bytes:
        scrubber = self._scrubber
        kind = _kind(message, path)
        if kind == "records":
            return scrubber.batches(data, topic_at(self._spec.key, root, path, self._topic_name))
        if kind == "structure":
            name = self._holders.get(_INDEX.sub("", path))
            return (scrubber.structure(name, data) if name else None) or FILLER * len(data)
        if kind in ("request", "response"):
            return self._enclosed(kind == "request", data)
        return scrubber.text(message, path, data, root, self._asked)

    def _enclosed(self, asks: bool, data: bytes) -> bytes:
        """The frame in an Envelope, which has no size field, scrubbed."""
        frame = len(data).to_bytes(_SIZE, "big") + data
        scrubber, depth = self._scrubber, self._depth + 1
        asking = frame
        if not asks:
            inner = self._asked.get("request_data") or b""
            asking = len(inner).to_bytes(_SIZE, "big") + inner
        try:
            head = request_head(asking, 0, len(asking))
        except DecodeError:
            return GARBAGE * len(data)
        if depth > _DEPTH_MAX:
            return GARBAGE * len(data)
        if asks:
            return scrubber.request(frame, head.api_key, head.api_version, self._topic_name, depth=depth)[_SIZE:]
        known = _spec(head.api_key, head.api_version).known
        return scrubber.response(
            frame, head.api_key if known else None, head.api_version, self._topic_name, depth=depth
        )[_SIZE:]


def _structs(path: str, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The structs around a field, the message first."""
    found = [root]
    for step in _STEP.finditer(path.rpartition(".")[0]):
        inner = found[-1].get(step[1])
        inner = inner[int(step[2])] if step[2] is not None and isinstance(inner, list) else inner
        if not isinstance(inner, Mapping):
            break
        found.append(inner)
    return found


def _told(path: str, data: bytes, root: Mapping[str, Any], asked: Mapping[str, Any], names: Names) -> Kind:
    """The kind of a name whose kind another field says (BY_SIBLING)."""
    field = _INDEX.sub("", path).rpartition(".")[2]
    sibling, kinds = BY_SIBLING[field]
    structs = (*reversed(_structs(path, root)), asked)
    value = next((struct[sibling] for struct in structs if sibling in struct), 0 if sibling == "key_type" else None)
    kind = kinds.get(value)
    if kind is not None:
        return kind
    text = data.decode("utf-8", "surrogateescape")
    return next((each for each in KEPT if each in kinds.values() and names.knows((each,), text)), "other")
