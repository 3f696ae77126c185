"""Chunks of one direction in, Kafka frames out, by their 4-byte size field, and the bytes between frames.

The problem. A Kafka stream has no marks: a frame is a size field and so many bytes. A reader that takes wrong bytes for
a size field reads garbage to the end of the connection. Captures have holes, and some begin inside a frame.

The idea. A hole has a known length, since sequence numbers count bytes. So most holes cost one frame only:

```
size │ body ……………… hole ………… body │ size │ body │          hole inside a body: that frame is cut (`missing`),
     └───────── need bytes ────────┘  ▲                     the next one begins where it must
                                      └ still in step
size │ body │ …… hole over a size field …… │ ? ? ? │        the step is lost: find_next_frame.py looks for a head;
                                             ▲              what lies between is an `Unframed`
                                             └ the frame found is in `doubt` until its last byte has come and it decodes
```

Whether a head can be right is asked of the connection's pairing object (`Owner`), which knows the requests, the client
id and the SASL phase. The common case, a frame in one chunk, is in exchanges/chunks_to_exchanges.py.

What always holds: every byte of a direction is in exactly one frame or one `Unframed`, and `place` counts them all.
A frame's bytes are kept with the size field before them, up to the first hole.

What is given up: bytes behind a hole inside a frame are not decoded; of a frame beyond FRAME_MAX only the first bytes
are kept; a frame in doubt that does not decode is counted as skipped.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, Literal, Protocol

from decoders.frames.find_next_frame import find_first_judged_frame
from decoders.frames.read_and_judge_headers import NO, YES
from decoders.limits import FIRST_BYTES_MAX, FRAME_MAX, HELD_MAX, RAW_KEPT_MAX
from decoders.tcp.stream_chunks import Why

# What the loop may do with the next bytes of a direction without asking.
ASK: Final = 0  # nothing: resync, SASL tokens, half a head, a damaged frame
REQUEST: Final = 1  # in step between frames, a request comes
RESPONSE: Final = 2
BODY: Final = 3  # inside a frame: append up to `left`

# Bytes that decide about a frame: size, API key, version, correlation id, client id length; size, correlation id.
REQUEST_HEAD: Final = 14
RESPONSE_HEAD: Final = 8

SIZE: Final = Struct(">i")
Missing = Literal["", "lost", "snaplen", "limit", "incomplete"]
Reason = Literal["lost", "midstream", "garbage", "oversized", "encrypted"]
# The beginning of the sentence about captures that start inside streams.
BEGINS_LATE: Final = "the capture starts in the middle"
# The details of an Unframed that may have no bytes: how many are missing is not known.
JUMP: Final = "sequence numbers jump"
UNOPENED: Final = "TLS records that no key decrypts"
UNKNOWN_SIZES: Final = {"jump": JUMP, "encrypted": UNOPENED}
_MISSING: Final[dict[str, Missing]] = {"snaplen": "snaplen", "limit": "limit"}
_WHY: Final = {
    "snaplen": "cut by the snap length",
    "encrypted": UNOPENED,
    "keyless": "its key is missing from the key log, or does not fit",
    "renegotiated": "renegotiated: kw cannot decrypt what follows",
}
# Gaps whose bytes are in the capture, encrypted.
_ENCRYPTED: Final = ("keyless", "renegotiated")


class Frame:
    """One frame: `data` from its size field on, only up to the first hole when something is `missing`."""

    __slots__ = ("again", "data", "first_ns", "first_packet", "last_ns", "last_packet", "missing", "place", "size")

    def __init__(
        self,
        data: bytes,
        size: int,
        first: tuple[int, int],
        last: tuple[int, int],
        place: int,
        missing: Missing = "",
        again: bool = False,
    ) -> None:
        self.data = data
        self.size = size  # the value of the size field
        self.first_ns, self.first_packet = first
        self.last_ns, self.last_packet = last
        self.place = place  # of its first byte in the stream
        self.missing: Missing = missing
        self.again = again  # bytes of it were sent again while it came


class Unframed:
    """Bytes of one direction that are no frame; `size` includes bytes that are not in the capture."""

    __slots__ = ("detail", "packet", "reason", "size", "time_ns")

    def __init__(self, reason: Reason, detail: str, time_ns: int, packet: int, size: int = 0) -> None:
        self.reason: Reason = reason
        self.detail = detail
        self.time_ns = time_ns
        self.packet = packet
        self.size = size


class MemoryBudget:
    """Bytes held by all connections together: frames under way, requests in flight, connections undecided."""

    __slots__ = ("held", "most")

    def __init__(self) -> None:
        self.held = 0
        self.most = HELD_MAX  # beyond it something has to be given up


class Owner(Protocol):
    """The pairing object of a connection, as framing sees it."""

    budget: MemoryBudget

    @property
    def last_waiting_frame(self) -> bytes:
        """The latest request that waits for an answer, with its size field; empty where none does."""

    def take_frame(self, direction: FrameDirection, frame: Frame) -> None:
        """A frame has come to its end."""

    def report_skipped(self, direction: FrameDirection, unframed: Unframed, until_ns: int) -> None:
        """Skipped bytes are over; `until_ns` is 0 when the connection ended before a frame was found again."""

    def why_no_frame_head(self, direction: FrameDirection, data: bytes, at: int, size: int) -> Reason | None:
        """Why the head at `at`, of a direction in step, cannot be that of a frame of this size; None if it can."""

    def judge_frame(self, direction: FrameDirection, data: bytes, at: int) -> int:
        """A verdict of read_and_judge_headers.py about a frame beginning at `at`."""

    def find_frame_candidates(self, direction: FrameDirection, data: bytes, at: int) -> list[int]:
        """The offsets from `at` on where a cheap look allows a frame."""


class FrameDirection:
    """One direction of a Kafka connection on its way from bytes to frames.

    `need` is the size of the frame under way with its size field (0 between frames), `left` how many bytes of it are
    still to come; `parts` are the bytes there are, also of a head not yet whole. `unframed` has the skipped bytes while
    a frame is looked for, and while the frame found is in `doubt`.
    """

    __slots__ = (
        "again",
        "begun",
        "doubt",
        "first",
        "last",
        "left",
        "lossy",
        "lost_packet",
        "missing",
        "mode",
        "need",
        "owner",
        "parts",
        "place",
        "ready",
        "request",
        "unframed",
    )

    def __init__(self, owner: Owner, *, request: bool) -> None:
        self.owner = owner
        self.request = request
        self.ready = REQUEST if request else RESPONSE
        self.mode = self.ready
        self.parts: list[bytes] = []
        self.need = 0
        self.left = 0
        self.first = (0, 0)  # time and packet of the first byte of `parts`
        self.last = (0, 0)  # of the latest bytes of the frame under way
        self.missing: Missing = ""
        self.unframed: Unframed | None = None
        self.doubt = False
        self.place = 0  # in the stream: behind the last byte taken
        self.begun = 0  # the place where the frame under way begins
        self.again = False  # bytes of the frame under way were sent again
        self.lossy = False  # bytes of this direction are not in the capture, or were no frames
        self.lost_packet = 0  # the packet at which that was last found

    def is_in_initial_state(self) -> bool:
        """Whether the direction is as new but for its place: in step between two frames, and nothing ever missing."""
        if self.mode != self.ready or self.mode not in (REQUEST, RESPONSE):
            return False
        return not (self.need or self.parts or self.missing or self.again or self.lossy or self.doubt or self.unframed)

    def set_mode_between_frames(self, mode: int) -> None:
        """Set the mode between frames: ASK, REQUEST or RESPONSE."""
        self.ready = mode
        if self.mode in (ASK, REQUEST, RESPONSE) and not self.parts and not self.need and self.unframed is None:
            self.mode = mode


def lose_sync(direction: FrameDirection, reason: Reason, detail: str, time_ns: int, packet: int, size: int = 0) -> None:
    """Begin to look for a frame; `size` bytes are skipped already."""
    direction.lossy = True
    direction.lost_packet = packet
    direction.mode = ASK
    if direction.unframed is None:
        direction.unframed = Unframed(reason, detail, time_ns, packet)
    if direction.parts:
        dropped = sum(map(len, direction.parts))
        direction.unframed.size += dropped
        direction.owner.budget.held -= dropped
        direction.unframed.time_ns, direction.unframed.packet = min(
            (direction.unframed.time_ns, direction.unframed.packet), direction.first
        )
        direction.parts = []
    direction.unframed.size += size


def take_bytes(direction: FrameDirection, time_ns: int, packet: int, data: bytes) -> None:
    """Take the next bytes of a direction in any state."""
    here = first = (time_ns, packet)
    at = 0
    direction.place += len(data)
    if direction.need:
        at = min(direction.left, len(data))
        _keep_body_bytes(direction, data[:at])
        direction.left -= at
        direction.last = here
        if not direction.left and not _end_frame(direction, time_ns, packet, at):
            at = 0  # it was no frame: look at this segment from its start
    elif direction.parts:
        first, data = _join_head_bytes(direction, here, data)
    look = at
    while at < len(data):
        if direction.unframed is not None:
            found = _search_next_frame(direction, first, data, at, look)
            if found < 0:
                return
            at = found
        at = _cut_whole_frames(direction, first if at == 0 else here, here, data, at)
        look = at + 1


def _join_head_bytes(direction: FrameDirection, here: tuple[int, int], data: bytes) -> tuple[tuple[int, int], bytes]:
    """Put bytes that were too few for a head before `data`; gives time and packet of the first byte, and the bytes."""
    head = b"".join(direction.parts)
    joined = head + data
    direction.owner.budget.held -= len(head)
    direction.parts = []
    if (
        direction.unframed is not None
        and len(joined) >= REQUEST_HEAD
        and direction.owner.judge_frame(direction, joined, 0) == NO
    ):
        direction.unframed.size += len(head)
        return here, data
    return direction.first, joined


def _keep_body_bytes(direction: FrameDirection, data: bytes) -> None:
    """Keep bytes of a body: all of a sound frame, none behind a hole, the first ones of an oversized frame."""
    if direction.missing == "limit":
        data = data[: max(RAW_KEPT_MAX - sum(map(len, direction.parts)), 0)]
    elif direction.missing:
        return
    direction.parts.append(data)
    direction.owner.budget.held += len(data)


def _begin_frame(
    direction: FrameDirection, data: bytes, need: int, first: tuple[int, int], here: tuple[int, int]
) -> None:
    direction.need = need
    direction.left = need - len(data)
    direction.first = first
    direction.last = here
    direction.begun = direction.place - len(data)
    direction.missing = "limit" if need - 4 > FRAME_MAX else ""
    direction.mode = ASK if direction.missing else BODY
    direction.parts = []
    _keep_body_bytes(direction, data)


def _end_frame(direction: FrameDirection, time_ns: int, packet: int, took: int) -> bool:
    """End the frame under way, of which the chunk at hand gave `took` bytes; False when it proves to be no frame."""
    data = b"".join(direction.parts) if len(direction.parts) != 1 else direction.parts[0]
    frame = Frame(
        data,
        direction.need - 4,
        direction.first,
        (time_ns, packet),
        direction.begun,
        direction.missing,
        direction.again,
    )
    direction.owner.budget.held -= len(data)
    direction.parts = []
    direction.need = 0
    direction.missing = ""
    direction.again = False
    direction.mode = ASK if direction.doubt else direction.ready
    return _deliver_frame(direction, frame, took)


def _deliver_frame(direction: FrameDirection, frame: Frame, took: int) -> bool:
    if direction.doubt:
        verdict = YES - 1 if frame.missing else direction.owner.judge_frame(direction, frame.data, 0)
        if verdict == NO:
            direction.doubt = False
            size = frame.size + 4 - took
            lose_sync(direction, "lost", "no frame begins here", frame.first_ns, frame.first_packet, size)
            return False
        direction.doubt = verdict != YES
        direction.mode = ASK if direction.doubt else direction.ready
        if direction.unframed is not None:
            unframed, direction.unframed = direction.unframed, None
            direction.owner.report_skipped(direction, unframed, frame.first_ns)
    direction.owner.take_frame(direction, frame)
    return True


def _cut_whole_frames(
    direction: FrameDirection, first: tuple[int, int], here: tuple[int, int], data: bytes, at: int
) -> int:
    """Take frames from `at` on, and begin a body or a head with the rest; where the step was lost, else the end."""
    stop = len(data)
    while at < stop:
        left = stop - at
        size = SIZE.unpack_from(data, at)[0] if left >= 4 else 0
        if left < 4 or left < min(4 + size, REQUEST_HEAD if direction.request else RESPONSE_HEAD):
            _keep_incomplete_head(direction, data[at:], first)
            direction.last = here
            return stop
        reason = direction.owner.why_no_frame_head(direction, data, at, size)
        if reason is not None:
            direction.doubt = False
            detail = _describe_frameless_bytes(direction, data[at : at + FIRST_BYTES_MAX])
            lose_sync(direction, "garbage" if detail else reason, detail or _DETAILS[reason], *first)
            return at
        after = at + 4 + size
        if after > stop:
            _begin_frame(direction, data[at:], 4 + size, first, here)
            return stop
        whole = data if after - at == stop else data[at:after]
        if not _deliver_frame(direction, Frame(whole, size, first, here, direction.place - left), after - at):
            return at
        at = after
        first = here
    direction.mode = ASK if direction.doubt else direction.ready
    return stop


def _describe_frameless_bytes(direction: FrameDirection, data: bytes) -> str:
    from decoders.frames.describe_frameless_bytes import describe_frameless_bytes  # few captures lose their step

    return describe_frameless_bytes(data, direction.owner.last_waiting_frame if direction.request else b"")


def _keep_incomplete_head(direction: FrameDirection, data: bytes, first: tuple[int, int]) -> None:
    """Keep bytes that are too few to be a head."""
    direction.parts = [data]
    direction.owner.budget.held += len(data)
    direction.first = first
    direction.mode = ASK


_DETAILS: Final[dict[str, str]] = {
    "lost": "segment lost",
    "garbage": "not the head of a frame",
    "oversized": "a size beyond the limit",
    "midstream": "the capture begins inside the stream",
}
_HEAD_CUT: Final = "cut off inside the head of a frame"


def name_unframed_bytes(reason: str, detail: str) -> str:
    """What skipped bytes are that are no frame; empty for others, and where that is not known."""
    name = detail.partition(",")[0]
    return name if reason == "garbage" and name not in (_DETAILS["garbage"], _HEAD_CUT) else ""


def make_unframed_sizes(reason: str, detail: str, size: int) -> dict[str, int]:
    """The size of skipped bytes by their reason; of bytes that are no frame also by `garbage: what they are`."""
    name = name_unframed_bytes(reason, detail)
    return {reason: size, f"{reason}: {name}": size} if name else {reason: size}


def _search_next_frame(direction: FrameDirection, first: tuple[int, int], data: bytes, begin: int, at: int) -> int:
    """Look for a frame from `at` on; its offset, or -1: all from `begin` is skipped, or kept as too short to judge."""
    unframed = direction.unframed
    assert unframed is not None
    if begin == 0 and len(data) < REQUEST_HEAD and direction.owner.judge_frame(direction, data, 0) == NO:
        _keep_incomplete_head(direction, data, first)
        return -1
    found = find_first_judged_frame(
        direction.owner.judge_frame, direction.owner.find_frame_candidates, direction, data, at
    )
    unframed.size += (found if found >= 0 else len(data)) - begin
    direction.doubt = found >= 0
    return found


def take_gap(direction: FrameDirection, time_ns: int, packet: int, size: int, why: Missing | Why) -> None:
    """Take a gap: `size` bytes of the direction are not in the capture; 0: nobody knows how many."""
    if not size:
        take_jump(direction, time_ns, packet, UNKNOWN_SIZES.get(why, JUMP))
        return
    direction.lossy = True
    direction.lost_packet = packet
    direction.place += size
    if direction.parts and not direction.need and direction.unframed is None:
        head = b"".join(direction.parts)
        if len(head) >= 4 and 0 <= SIZE.unpack_from(head)[0] <= FRAME_MAX:
            direction.owner.budget.held -= len(head)
            direction.place -= size
            _begin_frame(direction, head, 4 + SIZE.unpack_from(head)[0], direction.first, direction.last)
            direction.place += size
    if direction.need:
        direction.missing = direction.missing or _MISSING.get(why, "lost")
        direction.mode = ASK
        took = min(size, direction.left)
        direction.left -= took
        size -= took
        if not direction.left:
            _end_frame(direction, time_ns, packet, took)
        if not size:
            return
    reason: Reason = "encrypted" if why in _ENCRYPTED else "lost"
    lose_sync(direction, reason, _WHY.get(why, "segment lost"), time_ns, packet, size)


def take_jump(direction: FrameDirection, time_ns: int, packet: int, detail: str = JUMP) -> None:
    """Take a jump: nobody knows how many bytes are missing, nor where a frame under way would end."""
    if direction.need:
        _break_off_frame(direction, "lost")
    lose_sync(direction, "lost", detail, time_ns, packet)


def _break_off_frame(direction: FrameDirection, why: Missing) -> None:
    """End the frame under way, of which no more comes: its bytes are given, or skipped while it is in doubt."""
    if not direction.doubt:
        direction.missing = direction.missing or why
        direction.left = 0
        _end_frame(direction, *direction.last, 0)
        return
    skipped = direction.need - direction.left - sum(map(len, direction.parts))  # lose_sync adds the parts
    direction.need = 0
    direction.missing = ""
    direction.again = direction.doubt = False
    lose_sync(direction, "lost", "segment lost", *direction.first, skipped)


def close_direction(direction: FrameDirection, *, over: bool = False) -> None:
    """End a direction: what has come of a frame is given, skipped bytes are reported.

    `over`: its connection has ended, and not only the capture of it.
    """
    if direction.need:
        _break_off_frame(direction, "incomplete")
    elif direction.parts:
        detail = _describe_frameless_bytes(direction, b"".join(direction.parts)) if over else ""
        reason: Reason = "garbage" if over else "lost"
        lose_sync(direction, reason, detail or _HEAD_CUT, *direction.first)
    if direction.unframed is not None:
        unframed, direction.unframed = direction.unframed, None
        direction.owner.report_skipped(direction, unframed, 0)


def give_up_frame(direction: FrameDirection, size_kept: int) -> None:
    """Keep only the first `size_kept` bytes of the frame under way; the rest is too much to hold."""
    if not direction.need or direction.missing:
        return
    data = b"".join(direction.parts)
    direction.parts = [data[:size_kept]]
    direction.missing = "limit"
    direction.mode = ASK
    direction.owner.budget.held -= max(len(data) - size_kept, 0)
