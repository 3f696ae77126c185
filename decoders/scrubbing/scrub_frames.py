"""Frames in, frames of the same layout out, with names replaced, and secrets and contents overwritten.

A message is read by its declaration, and only the bytes of its strings and bytes fields change, each according to its
kind in the table (field_kinds.py), and its uuids. Numbers stay: sizes, errors, offsets and versions are unchanged.

A message that cannot be read to its end is overwritten whole with bytes that cannot be read either: before the reading
fails, text may have been taken for numbers. Only a message of which the capture lacks the end keeps what is there. For
the same reason a number whose bytes spell text (find_text_spelled_by_numbers.py) becomes -1, and a message is
overwritten if its sizes and tags spell text. A correlation id that does so becomes another one, the same for request
and response.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from struct import error
from typing import Any, Final
from uuid import UUID

from decoders.embedded import INSIDE, TYPE, locate_structure, structure_or_stand_in_json
from decoders.embedded.structure_holders import HOLDERS
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import ApiReader, Layout, Needs
from decoders.exchanges.topic_arrays import find_topic_at_path
from decoders.frames.read_and_judge_headers import ERROR_CODE_MAX, read_request_head
from decoders.protocol_facts.api_keys import SASL_AUTHENTICATE, SASL_HANDSHAKE
from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.schema.api_declaration import Plan, Side
from decoders.schema.plan_walker import Span, Walker
from decoders.scrubbing.field_kinds import BY_SIBLING, Kind, kind_of_field
from decoders.scrubbing.find_text_spelled_by_numbers import SPELLED
from decoders.scrubbing.replace_names import FILLER, KEPT, NameReplacer
from decoders.scrubbing.scrub_records import GARBAGE, BatchScrubber
from decoders.scrubbing.scrub_sasl_tokens import scrub_token

__all__ = ["Scrubber", "harmless_request_start", "harmless_size_field"]

_INDEX: Final = re.compile(r"\[\d+\]")
_STEP: Final = re.compile(r"([^.\[\]]+)(?:\[(\d+)\])?\.?")
_SIZE: Final = 4
# Where correlation ids are, and where they end; what stands before that end cannot be overwritten.
_CORRELATION_AT: Final[dict[Side, int]] = {"request": 8, "response": 4}
_FIXED: Final[dict[Side, int]] = {"request": 12, "response": 8}
_UUID: Final = 16
_LARGEST: Final = b"\x7f\xff\xff\xff"
# A key and a version that no API has, in bytes that are no letters.
_OF_NO_API: Final = b"\x7f\x7f\x7f\x7f"
_NO_NEEDS: Final = Needs()
_NOISE: Final = 1 << 16
# How deep Envelopes may be nested; no broker nests them.
_DEPTH_MAX: Final = 2
# The exceptions of a walk beyond the end of the buffer, and all exceptions of a walk.
_BEYOND: Final = (IndexError, error)
_FAILURES: Final = (DecodeError, *_BEYOND)
# The first bytes of an unreadable body: every size and length that begins with them is an error. Behind them GARBAGE.
_UNREADABLE: Final = b"\x80" * 64
# The value of a number that spelled text: its bytes, each of them.
_NO_NUMBER: Final = b"\xff"
_NO_CLIENT_ID: Final = b"\xff\xff"
# Answers to the steps of a login, whose errors say what the connection carries next.
_STEPS: Final = frozenset({SASL_HANDSHAKE, SASL_AUTHENTICATE})
TopicNames = Callable[["UUID"], str | None]


class _TextWalker(Walker):
    """A Walker that collects where strings and bytes are, and where uuids are, and the offset that it reached."""

    __slots__ = ("begin", "found", "reached", "uuids")

    def __init__(self, buf: bytes, at: int) -> None:
        super().__init__(buf)
        self.found: list[tuple[str, int, int]] = []
        self.uuids: list[int] = []
        self.begin = self.reached = at

    def _note_span(self, path: str, at: int, end: int, kind: str, value: object) -> None:
        self.reached = max(self.reached, end)
        if kind == "value" and at < min(end, len(self._buf)):
            if value.__class__ in (str, bytes):
                self.found.append((path, at, end))
            elif value.__class__ is UUID:
                self.uuids.append(at)

    def overwrite_numbers_that_spell(self, out: bytearray, plan: Plan, begin: int, end: int, keep_before: int) -> int:
        """Overwrite the numbers in `out` that spell text, between `begin` and `end`, but none before `keep_before`.

        Returns how many these are; -1 if sizes or tags spell text as well.
        """
        bare = bytearray(self._buf[:end])
        for _, at, stop in self.found:
            stop = min(stop, end)
            bare[at:stop] = bytes(max(stop - at, 0))
        for at in self.uuids:
            bare[at : at + _UUID] = bytes(_UUID)
        runs = [found.span() for found in SPELLED.finditer(bare, begin)]
        if not runs:
            return 0
        spans: list[Span] = []
        with suppress(*_FAILURES):  # of a message that is cut
            Walker(self._buf, spans).read(plan, self.begin, end)
        count, runs = 0, runs[::-1]
        for _, at, stop, what, value in spans:
            while runs and runs[-1][1] <= at:
                runs.pop()
            if not runs:
                break
            if what == "value" and stop > runs[-1][0] and at >= keep_before and value.__class__ in (int, float, bool):
                out[at:stop] = bare[at:stop] = _NO_NUMBER * (stop - at)
                count += 1
        return -1 if SPELLED.search(bare, begin) else count


@cache
def _make_api_reader_of_version(key: int, version: int) -> ApiReader:
    return ApiReader(key, version, _NO_NEEDS)


@cache
def _kind_of_path_with_indices(message: str, path: str) -> Kind | None:
    return kind_of_field(message, _INDEX.sub("", path)) if "[" in path else kind_of_field(message, path)


def harmless_size_field(packed: bytes) -> bytes:
    """The size field that takes the place of one: the largest, of no frame either, if it spells text; else itself."""
    return _LARGEST if SPELLED.search(packed) else packed


def harmless_request_start(packed: bytes) -> bytes:
    """The first eight bytes of a request in the place of these: its size field, API key and version.

    Where the three spell text together, which no known API does, the key and the version are those of another unknown.
    """
    size, rest = harmless_size_field(packed[:_SIZE]), packed[_SIZE:]
    return size + (_OF_NO_API[: len(rest)] if SPELLED.search(size + rest) else rest)


class Scrubber:
    """Scrubs the frames of one capture.

    `counts`: batches and records (see scrub_records.py), frames that were overwritten as `unread`, and `numbers` that
    spelled text.
    """

    def __init__(self, names: NameReplacer) -> None:
        self.names = names
        self.counts: Counter[str] = Counter()
        self._batches = BatchScrubber(
            self.scrub_record_structure,
            names.remember_record_value,
            names.pseudonyms.letters_without_pattern(_NOISE),
            self.counts,
        )

    @property
    def count_lossy_frames(self) -> int:
        """How often a frame has lost more than its texts: it was overwritten, or numbers in it."""
        return self.counts["unread"] + self.counts["numbers"]

    def scrub_token_frame(self, data: bytes) -> bytes:
        """A raw SASL token, scrubbed, with its size field."""
        return data[:_SIZE] + scrub_token(data[_SIZE:], self.names)

    def scrub_request(
        self, data: bytes, key: int, version: int, topic_name: TopicNames, *, whole: bool = True, depth: int = 0
    ) -> bytes:
        """A request, scrubbed, with its size field; if not `whole`, bytes at its end are missing."""
        return _FrameScrubber(
            self, _make_api_reader_of_version(key, version), "request", topic_name, depth
        ).scrub_frame(data, whole=whole)

    def scrub_response(
        self,
        data: bytes,
        key: int | None,
        version: int | None,
        topic_name: TopicNames,
        *,
        request: Mapping[str, Any] | None = None,
        whole: bool = True,
        depth: int = 0,
    ) -> bytes:
        """A response, scrubbed, with its size field; only its header is left if its request is not known.

        `request`: the fields of its request, some of which say what kind of name a field holds. If not `whole`, bytes
        at its end are missing.
        """
        if key is None or version is None:
            self.counts["unread"] += 1
            head = self.replace_spelling_numbers_at_start(data, "response", alone=not depth)[: _FIXED["response"]]
            return head + GARBAGE * (len(data) - len(head))
        return _FrameScrubber(
            self, _make_api_reader_of_version(key, version), "response", topic_name, depth, request or {}
        ).scrub_frame(data, whole=whole)

    def replace_spelling_numbers_at_start(self, data: bytes, side: Side, *, alone: bool = False) -> bytes:
        """A frame with another start and correlation id where these spell text: no frame, but it was taken for one.

        Of a response without its request (`alone`), both together may spell text.
        """
        at = _CORRELATION_AT[side]
        begin, before = data[:at], data[at : at + 4]
        start = harmless_request_start(begin) if side == "request" else harmless_size_field(begin)
        after = self.names.pseudonyms.harmless_correlation_id(before, start if alone or side == "request" else b"")
        if start == begin and after == before:
            return data
        self.counts["numbers"] += 1
        return start + after + data[at + 4 :]

    def scrub_structure(self, name: str, data: bytes) -> bytes | None:
        """A structure inside bytes, scrubbed, as this one or one that may stand in its place; None if it is neither."""
        found = structure_or_stand_in_json(name, data)
        return None if found is None else self._scrub_located_structure(found[TYPE], data)

    def scrub_record_structure(self, name: str, data: bytes) -> bytes | None:
        """A structure in a record of an internal topic, scrubbed; bytes may follow it. None if it cannot be read."""
        try:
            return self._scrub_located_structure(name, data)
        except DecodeError:
            return None

    def _scrub_located_structure(self, name: str, data: bytes) -> bytes | None:
        name, plan, start = locate_structure(name, data)
        texts = _TextWalker(data, start)
        end = texts.read(plan, start, len(data))
        out = bytearray(data)
        inside = INSIDE.get(name, {})
        for path, at, stop in texts.found:
            other = inside.get(_INDEX.sub("", path))
            if other is not None:
                out[at:stop] = self.scrub_structure(other, data[at:stop]) or FILLER * (stop - at)
            else:
                out[at:stop] = self.scrub_text_field(name, path, data[at:stop], texts.root, {})
        self.replace_uuids(out, texts)
        out[end:] = FILLER * (len(data) - end)
        count = texts.overwrite_numbers_that_spell(out, plan, 0, end, start)
        self.counts["numbers"] += max(count, 0)
        return bytes(out) if count >= 0 else None

    def replace_uuids(self, out: bytearray, texts: _TextWalker) -> None:
        """Replace the uuids of a message."""
        for at in texts.uuids:
            out[at : at + _UUID] = self.names.replace_uuid(bytes(out[at : at + _UUID]))

    def scrub_text_field(
        self, message: str, path: str, data: bytes, root: Mapping[str, Any], request: Mapping[str, Any]
    ) -> bytes:
        """The scrubbed value of a field that holds neither a structure nor records."""
        kind = _kind_of_path_with_indices(message, path)
        names = self.names
        if kind == "sibling":
            return names.replace_bytes(_kind_by_sibling(path, data, root, request, names), data)
        if kind == "secret":
            return names.overwrite_secret(data)
        if kind == "token":
            return scrub_token(data, names)
        if kind == "address":
            return data if "hosts" in names.keep and len(data) in (4, 16) else names.pseudonyms.address_pseudonym(data)
        if kind in (None, "text", "structure", "records", "request", "response"):
            return FILLER * len(data)
        return names.replace_bytes(kind, data)

    def scrub_records_field(self, data: bytes, topic: str | None) -> bytes:
        """A records field, scrubbed."""
        return self._batches.scrub_records_field(data, topic)


class _FrameScrubber:
    """Scrubs one frame."""

    def __init__(
        self,
        scrubber: Scrubber,
        api_reader: ApiReader,
        side: Side,
        topic_name: TopicNames,
        depth: int,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        self._scrubber = scrubber
        self._api_reader = api_reader
        self._side = side
        self._topic_name = topic_name
        self._depth = depth
        self._asked = request or {}
        holders = HOLDERS.get((api_reader.key or 0, side), {})
        self._holders = {path.replace("[]", ""): name for path, name in holders.items()}

    def scrub_frame(self, data: bytes, *, whole: bool) -> bytes:
        key, version = self._api_reader.key or 0, self._api_reader.version or 0
        if self._side == "request":
            plan = request_header_plan(request_header_version(key, version))
        else:
            plan = response_header_plan(response_header_version(key, version))
        data = self._scrubber.replace_spelling_numbers_at_start(data, self._side)
        out = bytearray(data)
        # If bytes of the frame are missing, those before the gap are there: it is walked as if all bytes were.
        end = len(data) if whole else max(len(data), _SIZE + int.from_bytes(data[:_SIZE], "big"))
        head = _TextWalker(data, min(_SIZE, len(data)))
        at = -1
        with suppress(*_FAILURES):
            at = head.read(plan, head.reached, end)
        read = head.reached if at < 0 else at
        if not self._replace_found_texts(out, data, head, plan, read):
            self._overwrite_unreadable(out, _FIXED[self._side], _NO_CLIENT_ID if self._side == "request" else b"")
        elif at < 0:
            self._overwrite_unreadable(out, read)
        else:
            self._scrub_body(out, data, at, end)
        return bytes(out)

    def _scrub_body(self, out: bytearray, data: bytes, at: int, end: int) -> None:
        cut = end > len(data)

        def walk_texts_of_layout(layout: Layout) -> tuple[tuple[_TextWalker, int], int] | None:
            texts = _TextWalker(data, at)
            try:
                after = texts.read(layout.plan, at, end)
            except DecodeError:
                return None
            except _BEYOND:
                return ((texts, texts.reached), len(data)) if cut else None
            after = min(after, len(data))
            return (texts, after), after

        best = self._api_reader.try_layouts(self._side, data, walk_texts_of_layout, stable_only=cut)
        if best is None:
            self._overwrite_unreadable(out, at, self._bytes_that_determine_next_frames(data, at))
            return
        (texts, after), layout = best
        if self._replace_found_texts(out, data, texts, layout.plan, after):
            out[after:] = GARBAGE * (len(data) - after)
        else:
            self._overwrite_unreadable(out, at, self._bytes_that_determine_next_frames(data, at))

    def _bytes_that_determine_next_frames(self, data: bytes, at: int) -> bytes:
        """The first bytes of an overwritten body, which begins at `at`, that say which frames follow."""
        api_reader = self._api_reader
        if self._side == "request":
            return api_reader.no_acks if api_reader.no_acks is not None and api_reader.has_acks_zero(data, at) else b""
        error_code = data[at : at + 2]
        return error_code if api_reader.key in _STEPS and int.from_bytes(error_code, "big") <= ERROR_CODE_MAX else b""

    def _overwrite_unreadable(self, out: bytearray, at: int, begin: bytes = b"") -> None:
        """Overwrite a frame from `at` on with bytes that cannot be read, the first of them `begin`."""
        self._scrubber.counts["unread"] += 1
        size = max(len(out) - at, 0)
        made = begin + _UNREADABLE
        out[at:] = (made + GARBAGE * (size - len(made)))[:size]

    def _replace_found_texts(self, out: bytearray, data: bytes, texts: _TextWalker, plan: Plan, end: int) -> bool:
        """Replace the strings, bytes, uuids and spelling numbers that were found before `end`, at the same lengths.

        False if sizes or tags spell text: then all of it is to be overwritten.
        """
        for path, at, stop in texts.found:
            new = self._scrub_field(plan.name, path, data[at:stop], texts.root)
            assert len(new) == min(stop, len(data)) - at, path
            out[at : at + len(new)] = new
        self._scrubber.replace_uuids(out, texts)
        begin = texts.begin if self._side == "request" else _SIZE  # no text separates it from the correlation id
        count = texts.overwrite_numbers_that_spell(out, plan, begin, end, _FIXED[self._side])
        self._scrubber.counts["numbers"] += max(count, 0)
        return count >= 0

    def _scrub_field(self, message: str, path: str, data: bytes, root: Mapping[str, Any]) -> bytes:
        scrubber = self._scrubber
        kind = _kind_of_path_with_indices(message, path)
        if kind == "records":
            return scrubber.scrub_records_field(
                data, find_topic_at_path(self._api_reader.key, root, path, self._topic_name)
            )
        if kind == "structure":
            name = self._holders.get(_INDEX.sub("", path))
            return (scrubber.scrub_structure(name, data) if name else None) or FILLER * len(data)
        if kind in ("request", "response"):
            return self._scrub_enveloped_frame(kind == "request", data)
        return scrubber.scrub_text_field(message, path, data, root, self._asked)

    def _scrub_enveloped_frame(self, asks: bool, data: bytes) -> bytes:
        """The frame in an Envelope, which has no size field, scrubbed."""
        frame = len(data).to_bytes(_SIZE, "big") + data
        scrubber, depth = self._scrubber, self._depth + 1
        asking = frame
        if not asks:
            inner = self._asked.get("request_data") or b""
            asking = len(inner).to_bytes(_SIZE, "big") + inner
        try:
            head = read_request_head(asking, 0, len(asking))
        except DecodeError:
            return GARBAGE * len(data)
        if depth > _DEPTH_MAX:
            return GARBAGE * len(data)
        if asks:
            return scrubber.scrub_request(frame, head.api_key, head.api_version, self._topic_name, depth=depth)[_SIZE:]
        known = _make_api_reader_of_version(head.api_key, head.api_version).known
        return scrubber.scrub_response(
            frame, head.api_key if known else None, head.api_version, self._topic_name, depth=depth
        )[_SIZE:]


def _structs_around_field(path: str, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The structs around a field, the message first."""
    found = [root]
    for step in _STEP.finditer(path.rpartition(".")[0]):
        inner = found[-1].get(step[1])
        inner = inner[int(step[2])] if step[2] is not None and isinstance(inner, list) else inner
        if not isinstance(inner, Mapping):
            break
        found.append(inner)
    return found


def _kind_by_sibling(
    path: str, data: bytes, root: Mapping[str, Any], request: Mapping[str, Any], names: NameReplacer
) -> Kind:
    """The kind of a name whose kind another field says (BY_SIBLING)."""
    field = _INDEX.sub("", path).rpartition(".")[2]
    sibling, kinds = BY_SIBLING[field]
    structs = (*reversed(_structs_around_field(path, root)), request)
    value = next((struct[sibling] for struct in structs if sibling in struct), 0 if sibling == "key_type" else None)
    kind = kinds.get(value)
    if kind is not None:
        return kind
    text = data.decode("utf-8", "surrogateescape")
    return next((each for each in KEPT if each in kinds.values() and names.is_kept_text((each,), text)), "other")
