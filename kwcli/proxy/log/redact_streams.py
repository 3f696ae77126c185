"""The two streams of one connection in; both with stars in place of secrets, fit for a capture file, out.

The problem. A capture file has the bytes of the wire, tokens and passwords among them.

The idea. Frames are followed in both directions, as the engine follows them. Most frames pass as they are. A frame
whose API has a secret in any field is kept until it is whole and can be decoded; then each byte of its secrets is
replaced by a star. Bare SASL tokens are stars but for their size field.

What always holds: bytes that cannot be followed any more, or frames too large to be decoded, are hidden to their end.
Sizes stay, so the file decodes to the same exchanges.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from struct import Struct
from typing import Final

from decoders.errors import DecodeError
from decoders.exchanges.body_reader import ApiReader, Needs
from decoders.exchanges.requests_in_flight_and_sasl_phase import InFlight, Sasl, SaslPhase
from decoders.exchanges.topic_and_node_names import METADATA_TOPIC
from decoders.frames.frames_of_gapless_connections import SIZE_FIELD, Framer
from decoders.limits import FRAME_MAX, IN_FLIGHT_MAX
from decoders.messages.build_body_json import ECHOING, conceal_echoes_in_parts, layouts_have_secrets
from decoders.messages.split_frame_into_parts import split_frame
from decoders.messages.whole_messages import decode_request, decode_response
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, SASL_HANDSHAKE
from decoders.schema.api_declaration import Side
from decoders.schema.body_json_form import MESSAGE
from decoders.wire.redact_text import make_secret_concealer, redact_whole_text
from kwcli.proxy.log.log_protocol import CLIENT

__all__ = ["Code", "FrameTracker", "LoggedChunk", "Redactor", "SharedKnowledge"]

# API key and version.
Code = tuple[int, int]


class LoggedChunk:
    """Bytes that came together; `shown` has stars in place of secrets, and from `cut` on it is left out of the file."""

    __slots__ = ("cut", "data", "gap", "shown", "side", "time_ns", "waits")

    def __init__(self, side: int, time_ns: int, data: bytes, gap: int = 0) -> None:
        self.side = side
        self.time_ns = time_ns
        self.data = data
        self.shown: bytes | bytearray = data
        self.cut: int | None = None
        self.gap = gap  # how many bytes are missing; then `data` is empty
        self.waits = False  # for the rest of a frame

    def hide_bytes(self, at: int, end: int) -> None:
        """Replace the bytes from `at` to `end` by stars."""
        if at < end:
            if not isinstance(self.shown, bytearray):
                self.shown = bytearray(self.data)
            self.shown[at:end] = b"*" * (end - at)


class FrameTracker:
    """One direction. Places count its bytes; `pieces` are chunks that wait for more of a frame, with their places."""

    __slots__ = ("blind", "code", "first", "framer", "lost", "pieces", "place", "side", "size")

    def __init__(self, side: int) -> None:
        self.side = side
        self.first = True  # no frame has passed yet
        self.lost = False  # it is not known where the next frame begins
        self.framer = Framer()
        self.pieces: deque[tuple[int, LoggedChunk]] = deque()
        self.place = 0  # after the last byte that came
        self.begin_frame()

    def begin_frame(self) -> None:
        """Begin a new frame, of which nothing is known yet."""
        self.size: int | None = None  # of the current frame, once known
        self.code: Code | None = None
        self.blind = False  # the rest of the frame is starred

    def forget_current_frame(self, *, lost: bool = False) -> None:
        """Forget the current frame; `lost`: it is not known where the next one begins."""
        self.framer.drop_held()
        self.framer.left = 0
        self.lost = lost
        self.begin_frame()

    def add_chunk(self, piece: LoggedChunk) -> int:
        """Add a chunk that has come; its place."""
        place = self.place
        self.place += len(piece.data)
        self.pieces.append((place, piece))
        piece.waits = True
        return place

    def hide_bytes(self, start: int, stop: int) -> None:
        """Replace bytes of the waiting chunks by stars, by their places."""
        for place, piece in self.pieces:
            piece.hide_bytes(max(start - place, 0), min(stop - place, len(piece.data)))

    def release_chunks(self) -> None:
        """Let the chunks pass that came before the bytes kept by the framer."""
        kept = self.place - self.framer.kept
        while self.pieces and self.pieces[0][0] + len(self.pieces[0][1].data) <= kept:
            self.pieces.popleft()[1].waits = False


# Frames of APIs that have no secrets pass as they come. Frames that may have one are kept until they are whole, and
# with them all that comes behind them on the connection, so that the order stays. Bytes that may be a secret are
# starred: tokens outside of Kafka frames, answers to requests that were not seen, bodies that cannot be read. A
# direction that is out of step is left out (`cut`) until `in_step`. An error message that repeats a secret of its
# request is starred too.


# A larger frame that may have a secret is starred behind its header.
HELD_MOST: Final = 16 << 20
# How many requests' secrets are remembered until the answer, and bytes of each; else all messages are starred.
REMEMBERED_MOST: Final = 256
REMEMBERED_SIZE: Final = 64 << 10
_HANDSHAKE: Final = (SASL_HANDSHAKE, 0)
# In place of a request's code, where its correlation id is in flight twice: either may be answered first.
_TWICE: Final = (-1, -1)
# The whole frame must be decoded before it is known which of its bytes are shown.
WHOLE: Final = 0
_NO_NEEDS: Final = Needs()
_METADATA_NAME: Final = METADATA_TOPIC.encode()
_METADATA_ID: Final = bytes(15) + b"\x01"
_GSSAPI_TOKEN: Final = 0x60
# Size, API key, version, correlation id, client id's length; size, correlation id.
_REQUEST: Final = Struct(">ihhih")
_RESPONSE: Final = Struct(">ii")


class SharedKnowledge:
    """What all connections share: `metadata`, whether a Fetch request named the cluster's metadata topic."""

    __slots__ = ("metadata",)

    def __init__(self) -> None:
        self.metadata = False


class Redactor:
    """Hides the secrets of one connection. `feed`, `gap` and `finish` return chunks in the order in which they came."""

    def __init__(self, seen: SharedKnowledge) -> None:
        self._seen = seen
        self._trackers = (FrameTracker(0), FrameTracker(1))
        self._queue: deque[LoggedChunk] = deque()
        self._asked: InFlight[Code] = InFlight()
        self._secrets: dict[int, list[bytes]] = {}  # by correlation id; answers may repeat them
        self._sasl: Sasl[None] = Sasl()
        self._doubt = False  # bytes are missing, so the SASL phase is not sure

    @property
    def lost_sides(self) -> list[int]:
        """The sides that are out of step, once all chunks were returned."""
        return [] if self._queue else [tracker.side for tracker in self._trackers if tracker.lost]

    def resume_side(self, side: int, left: int = 0) -> None:
        """Follow a side again: a frame begins after `left` more bytes, which are starred."""
        tracker = self._trackers[side]
        tracker.forget_current_frame()
        tracker.framer.left, tracker.blind = left, left > 0

    def feed(self, side: int, time_ns: int, data: bytes) -> list[LoggedChunk]:
        """Take bytes of a side; the chunks that may be written now."""
        piece = LoggedChunk(side, time_ns, data)
        tracker = self._trackers[side]
        if not self._queue and self._is_surely_without_secrets(tracker, data):
            tracker.place += len(data)
            return [piece]
        self._queue.append(piece)
        self._follow_frames_of_chunk(tracker, piece)
        return self._take_finished_chunks()

    def _is_surely_without_secrets(self, tracker: FrameTracker, data: bytes) -> bool:
        """Whether `data` is one whole frame without secrets, or more of one: the usual case, fast. False: unsure."""
        size = len(data)
        framer = tracker.framer
        if framer.left:
            if tracker.blind or tracker.lost or framer.left <= size:
                return False
            framer.skip_rest_of_frame(data)
            return True
        if framer.kept or tracker.lost or tracker.first or self._sasl.tokens or self._sasl.phase != SaslPhase.KAFKA:
            return False
        if tracker.side != CLIENT:
            if size < _RESPONSE.size:
                return False
            need, correlation_id = _RESPONSE.unpack_from(data)
            code = self._asked.first_request_with(correlation_id)
            if need + SIZE_FIELD != size or code is None or code[0] in (_TWICE[0], SASL_HANDSHAKE):
                return False
            if self._seen.metadata if code[0] == FETCH else may_message_have_secret(*code, "response"):
                return False
            del self._asked[correlation_id]
            return True
        if size < _REQUEST.size:
            return False
        need, key, version, correlation_id, _ = _REQUEST.unpack_from(data)
        if need + SIZE_FIELD != size or key == SASL_HANDSHAKE:
            return False
        if key == FETCH:
            if not self._seen.metadata and (_METADATA_NAME in data or _METADATA_ID in data):
                return False
        elif may_message_have_secret(key, version, "request"):
            return False
        self._remember_request(correlation_id, (key, version))
        return True

    def note_missing_bytes(self, side: int, time_ns: int, size: int) -> list[LoggedChunk]:
        """Take note that `size` bytes of a side are missing; the chunks that may be written now."""
        self._queue.append(LoggedChunk(side, time_ns, b"", size))
        tracker = self._trackers[side]
        framer = tracker.framer
        rest = framer.left
        if framer.kept:
            rest = 0 if tracker.size is None else tracker.size + SIZE_FIELD - framer.kept
            self._hide_unfinished_frame(tracker)
            tracker.blind = True
        if rest and size <= rest and not tracker.lost:
            framer.left = rest - size
            if not framer.left:
                tracker.begin_frame()
        else:
            tracker.forget_current_frame(lost=True)
            self._doubt = True
        return self._take_finished_chunks()

    def finish(self) -> list[LoggedChunk]:
        """End the connection: the kept chunks, with unfinished frames starred."""
        for tracker in self._trackers:
            if tracker.framer.kept:
                self._hide_unfinished_frame(tracker)
        return self._take_finished_chunks()

    def _take_finished_chunks(self) -> list[LoggedChunk]:
        queue = self._queue
        out = []
        while queue and not queue[0].waits:
            out.append(queue.popleft())
        return out

    def _hide_unfinished_frame(self, tracker: FrameTracker) -> None:
        """Star all of an unfinished frame but its header."""
        place = tracker.place - tracker.framer.kept
        shown = SIZE_FIELD if tracker.size is None or self._sasl.tokens else _get_shown_header_size(tracker.side)
        tracker.hide_bytes(place + shown, tracker.place)
        tracker.framer.drop_held()
        tracker.release_chunks()

    def _follow_frames_of_chunk(self, tracker: FrameTracker, piece: LoggedChunk) -> None:
        """Go through the frames that a chunk has bytes of."""
        framer, data = tracker.framer, piece.data
        begun = tracker.add_chunk(piece) - framer.kept  # the place of the first byte to look at
        if tracker.lost:
            piece.cut = 0
        elif framer.wanted:
            frame, at = framer.collect_frame(data)
            if frame is not None:
                self._hide_secrets_of_frame(tracker, frame, begun)
                self._follow_frames(tracker, data, at, tracker.place - len(data))
        else:
            at = framer.skip_rest_of_frame(data)
            if tracker.blind:
                piece.hide_bytes(0, at)
            if not framer.left:
                self._follow_frames(tracker, framer.prepend_kept_bytes(data), at, begun)
        tracker.release_chunks()

    def _follow_frames(self, tracker: FrameTracker, data: bytes, begin: int, place: int) -> None:
        """Go through the frames of `data` from `begin` on; `place` is the place of its first byte."""
        end = len(data)
        for at, size in tracker.framer.cut_whole_frames(data, begin):
            tracker.begin_frame()
            start = place + at
            if not (0 < size <= FRAME_MAX or (size == 0 and tracker.side != CLIENT and self._sasl.tokens)):
                tracker.forget_current_frame(lost=True)
                self._doubt = True
                last, piece = tracker.pieces[-1]
                piece.cut = max(start - last, 0)
                return
            tracker.size = size
            stop = min(at + SIZE_FIELD + size, end)
            head = data[at : at + min(SIZE_FIELD + size, _get_shown_header_size(tracker.side))]
            if len(head) < min(SIZE_FIELD + size, _get_shown_header_size(tracker.side)):
                tracker.framer.keep_rest(data, at)
                return
            shown = (
                self._count_shown_bytes_of_request(tracker, head)
                if tracker.side == CLIENT
                else self._count_shown_bytes_of_answer(tracker, head)
            )
            if shown == WHOLE and size > HELD_MOST:
                shown = SIZE_FIELD if tracker.code is None else len(head)
            if shown == WHOLE:
                frame = tracker.framer.take_frame_if_whole(data, at, size)
                if frame is None:
                    return
                self._hide_secrets_of_frame(tracker, frame, start)
            elif shown is not None:
                tracker.blind = True
                tracker.hide_bytes(start + shown, place + stop)
            tracker.first = False
        if tracker.framer.kept:
            tracker.begin_frame()

    def _hide_secrets_of_frame(self, tracker: FrameTracker, frame: bytes, place: int) -> None:
        """Star the secrets of a frame that was kept until it was whole."""
        for start, stop in (
            self._find_places_to_hide_in_request(tracker, frame)
            if tracker.side == CLIENT
            else self._find_places_to_hide_in_answer(tracker, frame)
        ):
            tracker.hide_bytes(place + start, place + stop)
        tracker.first = False

    # -- requests ------------------------------------------------------------------------------------------------------

    def _count_shown_bytes_of_request(self, tracker: FrameTracker, head: bytes) -> int | None:
        """How many bytes of a request are shown: None all; WHOLE: the whole frame has to be decoded first."""
        if len(head) < _REQUEST.size or self._sasl.phase != SaslPhase.KAFKA:
            return WHOLE
        _, key, version, correlation_id, _ = _REQUEST.unpack(head)
        if tracker.first and head[SIZE_FIELD] == _GSSAPI_TOKEN:
            return WHOLE
        if self._doubt and not ApiReader(key, version, _NO_NEEDS).list_layouts("request"):
            return WHOLE  # more likely a token than a request of a later version
        tracker.code = (key, version)
        self._remember_request(correlation_id, tracker.code)
        if key == FETCH:
            return None if self._seen.metadata else WHOLE
        return WHOLE if (key, version) == _HANDSHAKE or may_message_have_secret(key, version, "request") else None

    def _remember_request(self, correlation_id: int, code: Code) -> None:
        asked = self._asked
        if len(asked) >= IN_FLIGHT_MAX:
            asked.take_oldest_request()
        if correlation_id in asked:
            asked.take_request(correlation_id)
            asked.add_request(correlation_id, _TWICE)
        else:
            asked[correlation_id] = code

    def _find_places_to_hide_in_request(self, tracker: FrameTracker, frame: bytes) -> list[tuple[int, int]]:
        """The (start, stop) places of the bytes to hide in a request, or in a token."""
        code = tracker.code
        if code is None:
            code = _decode_request_code(frame)
            if code is None:
                if tracker.first:
                    self._sasl.follow_first_token()
                self._sasl.add_waiting_token(None)
                return [(SIZE_FIELD, len(frame))]
            self._sasl.phase = SaslPhase.KAFKA
            self._remember_request(_REQUEST.unpack_from(frame)[3], code)
        key, _ = code
        if code == _HANDSHAKE:
            try:
                self._sasl.follow_handshake_request(str(decode_request(frame[SIZE_FIELD:]).body["mechanism"]))
            except DecodeError:
                self._sasl.follow_handshake_request("")
            return []
        if key == FETCH:
            self._seen.metadata |= _METADATA_NAME in frame or _METADATA_ID in frame
            return []
        spans, whole = find_secret_spans(frame, "request", code)
        if key in ECHOING and whole:
            self._remember_secrets(_REQUEST.unpack_from(frame)[3], [frame[start:stop] for start, stop in spans])
        return spans

    def _remember_secrets(self, correlation_id: int, secrets: list[bytes]) -> None:
        known = self._secrets
        known.pop(correlation_id, None)
        if sum(map(len, secrets)) <= REMEMBERED_SIZE:
            if len(known) >= REMEMBERED_MOST:
                del known[next(iter(known))]
            known[correlation_id] = secrets

    # -- answers -------------------------------------------------------------------------------------------------------

    def _count_shown_bytes_of_answer(self, tracker: FrameTracker, head: bytes) -> int | None:
        """How many bytes of an answer are shown: None all; WHOLE: the whole frame has to be decoded first."""
        correlation_id = _RESPONSE.unpack(head)[1] if len(head) == _RESPONSE.size else None
        code = None if correlation_id is None else self._asked.first_request_with(correlation_id)
        handshake = self._sasl.phase == SaslPhase.HANDSHAKE and code == _HANDSHAKE
        if self._sasl.tokens and not handshake:
            self._sasl.take_token()
            self._sasl.follow_token_answer()
            return SIZE_FIELD
        if correlation_id is not None and code is not None:
            self._asked.take_request(correlation_id)
        if code is None or code == _TWICE:
            return len(head)
        tracker.code = code
        if code[0] == FETCH:
            return WHOLE if self._seen.metadata else None
        return WHOLE if code == _HANDSHAKE or may_message_have_secret(*code, "response") else None

    def _find_places_to_hide_in_answer(self, tracker: FrameTracker, frame: bytes) -> list[tuple[int, int]]:
        assert tracker.code is not None
        if tracker.code == _HANDSHAKE:
            try:
                error_code = decode_response(frame[SIZE_FIELD:], *tracker.code).body["error_code"]
            except DecodeError:
                error_code = 0
            if self._sasl.phase == SaslPhase.HANDSHAKE:
                self._sasl.follow_handshake_response(error_code)
            return []
        key, version = tracker.code
        if key not in ECHOING:
            return find_secret_spans(frame, "response", tracker.code)[0]
        known: list[bytes] | None = [] if not may_message_have_secret(key, version, "request") else None
        secrets = self._secrets.pop(_RESPONSE.unpack_from(frame)[1], known)
        return find_secret_spans(frame, "response", tracker.code, secrets)[0]


@cache
def may_message_have_secret(key: int, version: int, side: Side) -> bool:
    """Whether a message of this kind may have a secret; True for unknown kinds."""
    if key == API_VERSIONS:
        return False  # unknown versions of it are everyday traffic, answered in version 0
    if side == "response" and key in ECHOING:
        return True
    return layouts_have_secrets(key, tuple(ApiReader(key, version, _NO_NEEDS).list_layouts(side)))


def find_secret_spans(
    frame: bytes, side: Side, code: Code, told: list[bytes] | None = None
) -> tuple[list[tuple[int, int]], bool]:
    """Where the secrets of a frame are, and whether the frame could be read to its end, so that none is missed.

    `told` are the secrets of its request, None where they are not known.
    """
    found = split_frame(frame, side, *code)
    spans = [(part.at, part.end) for part in found.body if part.secret]
    whole = not found.rest_secret or found.rest_at >= len(frame)
    if not whole:
        spans.append((found.rest_at, len(frame)))
    if side == "response" and code[0] in ECHOING:
        secrets = [*(told or ()), *(frame[start:stop] for start, stop in spans)]
        conceal = make_secret_concealer(secrets, len(frame)) if told is not None and whole else redact_whole_text
        if conceal is not None:
            messages = [part for part in found.body if part.path.endswith(MESSAGE)]
            spans += [(part.at, part.end) for part in conceal_echoes_in_parts(messages, conceal) if part.secret]
    return sorted(spans), whole


def _decode_request_code(frame: bytes) -> Code | None:
    """API key and version of a frame that decodes as a request to its last byte; None for any other."""
    try:
        request = decode_request(frame[SIZE_FIELD:])
    except DecodeError:
        return None
    return request.api_key, request.api_version


def _get_shown_header_size(side: int) -> int:
    return _REQUEST.size if side == CLIENT else _RESPONSE.size
