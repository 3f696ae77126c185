"""The first steps on a connection: frames cut out of bytes, and the conversation of ApiVersions."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any, Final, NamedTuple

from decoders.apis import api_name
from decoders.apis.error_codes import error_name
from decoders.apis.keys import API_VERSIONS, OFFSET_FETCH, PRODUCE, VOTE
from decoders.apis.releases import spoken
from decoders.errors import DecodeError
from decoders.frames.live_framing import SIZE_FIELD, Framer
from decoders.limits import FRAME_MAX
from decoders.messages.whole_messages import decode_response, encode_message
from decoders.schema.model import Versions
from decoders.wire.text import in_bytes
from kwcli.net.connection_stops import broken

# Bytes that are kept of a stream that is not Kafka, to find out its protocol.
_STRANGE_MAX: Final = 1024
_SHOWN: Final = 64


class TimedFrame(NamedTuple):
    """A frame that begins with its size field, and the times at which its first and last byte were handed in."""

    data: bytes
    first_ns: int
    last_ns: int


class BadSize(Exception):
    """A size field that no frame here can have; `head` is the data from that size field on."""

    def __init__(self, size: int, head: bytes) -> None:
        super().__init__(f"a frame of {in_bytes(size)}")
        self.size = size
        self.head = head


class FrameReader:
    """Cuts a stream into frames. `largest` and `least` bound the sizes taken; they may be changed between frames."""

    __slots__ = ("_first_ns", "_framer", "largest", "least", "whole")

    def __init__(self, largest: int = FRAME_MAX) -> None:
        self.largest = largest
        self.least = 4
        self.whole = 0  # frames that have been cut so far
        self._framer = Framer()
        self._first_ns = 0  # of the frame that is not whole yet

    @property
    def pending(self) -> bytes:
        """The start of the frame that is not whole yet, 64 bytes at most."""
        return self._framer.held()[:_SHOWN]

    @property
    def missing(self) -> tuple[int, int]:
        """(bytes there, bytes due in all) of the frame that is not whole yet; due is 4 while its size is unknown."""
        return self._framer.kept, self._framer.wanted or SIZE_FIELD

    def feed(self, data: bytes, now_ns: int) -> Iterator[TimedFrame]:
        """The frames that end in `data`. Raises BadSize."""
        framer = self._framer
        first_ns = self._first_ns if framer.kept else now_ns
        begin = 0
        if framer.wanted:
            frame, begin = framer.collect(data)
            if frame is None:
                return
            self.whole += 1
            yield TimedFrame(frame, first_ns, now_ns)
            first_ns = now_ns
        else:
            data = framer.join(data)
        for at, size in framer.frames(data, begin):
            if not self.least <= size <= self.largest:
                raise BadSize(size, data[at : at + SIZE_FIELD + _STRANGE_MAX])
            frame = framer.whole(data, at, size)
            if frame is None:
                break
            self.whole += 1
            yield TimedFrame(frame, first_ns, now_ns)
            first_ns = now_ns
        self._first_ns = first_ns


# The ApiVersions conversation: the requests to send, and the versions that the broker's answers offer.
#
# A generator: it yields the requests to send, and is sent the frames that answer them (KIP-35, KIP-511, KIP-1242).


# Version 5 names the broker that the client believes to reach (KIP-1242), so it is for clients that know.
HIGHEST: Final = 4
HIGHEST_KNOWING: Final = 5
UNSUPPORTED_VERSION: Final = 35
# After the size field and the correlation id.
_ERROR_AT: Final = 8
# More rounds than any honest broker needs: 5, 4, 0.
_ROUNDS: Final = 4
# The oldest release whose brokers might be met.
OLD_RELEASE: Final = "0.9.0"


class Ask(NamedTuple):
    """A request of the opening; the generator is sent the frame of its answer."""

    api_key: int
    version: int
    body: bytes


class BareToken(NamedTuple):
    """Bytes to send after a bare size field (SASL after handshake 0); the answer, if any, is such a frame, too."""

    data: bytes
    respond: bool = True


class Offer(NamedTuple):
    """The versions that a broker speaks. `answer` is its ApiVersions response, in the layout of `answer_version`.

    `assumed` is the release whose versions these are, for a broker too old to know ApiVersions; `answer` is then empty.
    """

    versions: dict[int, Versions]
    answer: Mapping[str, Any]
    answer_version: int = 0
    assumed: str = ""


Step = Ask | BareToken
Steps = Generator[Step, TimedFrame, None]


def negotiate(
    software: tuple[str, str], cluster_id: str | None = None, node_id: int | None = None
) -> Generator[Step, TimedFrame, Offer]:
    """Ask with the highest sensible ApiVersions; a broker that knows less names its versions, or is asked with 0.

    Raises ConnectionStop.
    """
    body: dict[str, Any] = {"client_software_name": software[0], "client_software_version": software[1]}
    version = HIGHEST
    if cluster_id is not None and node_id is not None:
        version = HIGHEST_KNOWING
        body.update(cluster_id=cluster_id, node_id=node_id)
    for _ in range(_ROUNDS):
        frame = yield Ask(API_VERSIONS, version, encode_message(API_VERSIONS, version, "request", body))
        try:
            response = decode_response(frame.data[4:], API_VERSIONS, version)
        except DecodeError as error:
            if version and _unsupported(frame):
                version = 0
                continue
            raise broken(f"answered ApiVersions {version} with {error}", "is it Kafka?") from None
        answer = response.body
        ranges = _ranges(answer)
        code = answer["error_code"]
        if code == UNSUPPORTED_VERSION and version:
            known = ranges.get(API_VERSIONS)
            version = min(known.high, version - 1) if known else 0
            continue
        if code:
            raise broken(f"answered ApiVersions {version} with {error_name(code)}")
        return Offer(ranges, answer, response.api_version)
    raise broken("refuses every version of ApiVersions, even those that it offers")


def _unsupported(frame: TimedFrame) -> bool:
    """Whether an answer that cannot be decoded begins with UNSUPPORTED_VERSION, as librdkafka's mock sends it."""
    return frame.data[_ERROR_AT : _ERROR_AT + 2] == UNSUPPORTED_VERSION.to_bytes(2, "big")


def probe_old(client: str) -> Generator[Step, TimedFrame, None]:
    """Make sure that a peer that did not know ApiVersions is a broker: ask for no offsets. Raises ConnectionStop."""
    body = encode_message(OFFSET_FETCH, 0, "request", {"group_id": client, "topics": []})
    frame = yield Ask(OFFSET_FETCH, 0, body)
    try:
        decode_response(frame.data[4:], OFFSET_FETCH, 0)
    except DecodeError as error:
        raise broken(f"knows no ApiVersions and answered OffsetFetch 0 with {error}", "is it Kafka?") from None


def assumed_offer() -> Offer:
    """The versions that a broker of before 0.10 is assumed to speak."""
    return Offer(dict(spoken(OLD_RELEASE)), {}, assumed=OLD_RELEASE)


def is_controller(versions: Mapping[int, Versions]) -> bool:
    """Whether these are the APIs of a listener of KRaft controllers: it takes Vote, and no Produce."""
    return VOTE in versions and PRODUCE not in versions


def impossible(answer: Mapping[str, Any]) -> list[str]:
    """The APIs that a broker offers in impossible versions, in words; -1 to -1 is the honest way to offer none."""
    found = []
    for row in answer.get("api_keys") or ():
        low, high = row["min_version"], row["max_version"]
        if high >= 0 and not 0 <= low <= high:
            found.append(f"{api_name(row['api_key'])} in versions {low} to {high}")
    return found


def _ranges(answer: Mapping[str, Any]) -> dict[int, Versions]:
    """API key → versions; an impossible range is left out, of two ranges for one API the first counts."""
    ranges: dict[int, Versions] = {}
    for row in answer["api_keys"]:
        versions = Versions(row["min_version"], row["max_version"])
        if versions and versions.low >= 0:
            ranges.setdefault(row["api_key"], versions)
    return ranges
