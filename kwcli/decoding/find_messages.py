"""Runs of bytes in, single messages out: where each begins and ends, which side it is, of which API and version.

Frames follow one another by their size fields. Bytes that cannot be split so are one message without its size field,
or where API and version are given a bare body, or else a frame that was cut off. What is not given is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError
from decoders.frames.explain_strange_bytes import explain_bytes
from decoders.frames.read_and_judge_headers import HEAD, NO, REQUEST, YES, judge_request, read_request_head
from decoders.limits import FRAME_MAX
from decoders.messages.guess_api import Candidate, guess_request, guess_response
from decoders.messages.single_message_json import SingleMessage, frame_body, is_readable_message, size_before_body
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.decoding.read_inputs import InputBytes
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Side

_SIZE: Final = 4
# The least that a frame holds: a correlation id.
_LEAST: Final = 4
_REQUEST_HEAD: Final = 14
CHANCE_MAX: Final = 4096
SIDES: Final[tuple[Side, Side]] = ("request", "response")


@dataclass(frozen=True, slots=True)
class MessageHints:
    """What the user says of the messages: side, API key and version; None where not given."""

    side: Side | None = None
    key: int | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class NamedMessage:
    """One message, its name in diagnoses, and where its API was guessed, the candidates."""

    name: str
    alone: SingleMessage
    candidates: list[Candidate] = field(default_factory=list)


def explain_doubtful_response(correlation_id: int) -> str:
    """Why bytes that read as a response may be none; empty where nothing speaks against it."""
    if correlation_id >= 0:
        return ""
    return f"its correlation id {correlation_id} is negative, and clients count from 0"


def find_messages(input_bytes: InputBytes, hints: MessageHints) -> Iterator[NamedMessage]:
    """The messages in a run of bytes. Raises Failure at bytes that are no message, after the messages before them."""
    data = input_bytes.data
    frames, rest_at = _split_frames_by_size(data)
    whole = rest_at == len(data)
    # The first bytes of a message without its size field may look like one: Produce 12 begins with 0000 000c.
    alone = (
        None if whole and _is_decodable_frame(frames[0], hints) else _read_as_whole_message(input_bytes, data, hints)
    )
    if alone is not None:
        yield alone
        return
    count = len(frames) + (not whole)
    for number, frame in enumerate(frames):
        yield _read_frame_as_message(_format_message_name(input_bytes, number, count), frame, 0, None, hints)
    if not whole:
        yield _read_last_bytes_as_message(_format_message_name(input_bytes, len(frames), count), data[rest_at:], hints)


def _is_decodable_frame(frame: bytes, hints: MessageHints) -> bool:
    """Whether a frame with its size field decodes."""
    if hints.key is not None and hints.version is not None:
        return any(
            is_readable_message(SingleMessage(frame, side, hints.key, hints.version))
            for side in (SIDES if hints.side is None else (hints.side,))
        )
    return judge_request(frame, 0) == YES or bool(guess_response(frame))


def _split_frames_by_size(data: bytes) -> tuple[list[bytes], int]:
    """Frames by their size fields from the first byte on, and where they end."""
    frames: list[bytes] = []
    at = 0
    while len(data) - at >= _SIZE + _LEAST:
        size = int.from_bytes(data[at : at + _SIZE], "big", signed=True)
        if not _LEAST <= size <= min(FRAME_MAX, len(data) - at - _SIZE):
            break
        frames.append(data[at : at + _SIZE + size])
        at += _SIZE + size
    return frames, at


def _read_as_whole_message(input_bytes: InputBytes, data: bytes, hints: MessageHints) -> NamedMessage | None:
    """All bytes as one message without its size field, or as a body; None where they do not decode so."""
    frame = len(data).to_bytes(_SIZE, "big") + data if len(data) <= FRAME_MAX else data
    name = _format_message_name(input_bytes, 0, 1)
    if hints.key is not None and hints.version is not None:
        for alone in _read_as_frame_or_body(data, frame, hints.key, hints.version, hints.side):
            if is_readable_message(alone):
                return NamedMessage(name, alone)
        return None
    if hints.side != "response" and judge_request(frame, 0) == YES:
        return _read_frame_as_message(name, frame, _SIZE, None, hints)
    if hints.side is None and hints.key is None and _begins_with_api_key_and_version(data) and _has_known_header(frame):
        return _read_frame_as_message(name, frame, _SIZE, None, MessageHints("request"))
    if hints.side != "request":
        found = guess_response(frame, None if hints.key is None else [hints.key])
        if found and (found[0].score > 0 or hints.key is not None):
            return _decode_by_best_candidate(name, frame, _SIZE, found)
    return None


def _read_as_frame_or_body(
    data: bytes, frame: bytes, key: int, version: int, side: Side | None
) -> Iterator[SingleMessage]:
    """What bytes of a known API and version may be: a frame without its size field, or a body."""
    for each in SIDES if side is None else (side,):
        if each == "response" or _has_request_header(frame, key, version):
            yield SingleMessage(frame, each, key, version, _SIZE)
    for each in SIDES if side is None else (side,):
        yield SingleMessage(
            frame_body(data, each, key, version), each, key, version, size_before_body(each, key, version)
        )


def _has_request_header(frame: bytes, key: int, version: int) -> bool:
    """Whether a frame begins with the header of a request of this API and version."""
    return len(frame) >= _REQUEST_HEAD and REQUEST.unpack_from(frame)[1:3] == (key, version)


def _read_frame_as_message(
    name: str, frame: bytes, shift: int, missing: str | None, hints: MessageHints
) -> NamedMessage:
    """A frame with its size field as a message, by the hints and its own bytes. Raises Failure where it is none."""
    if hints.key is not None and hints.version is not None:
        for side in SIDES if hints.side is None else (hints.side,):
            alone = SingleMessage(frame, side, hints.key, hints.version, shift, missing)
            if (side == "response" or _has_request_header(frame, hints.key, hints.version)) and is_readable_message(
                alone
            ):
                return NamedMessage(name, alone)
        likely = hints.side or ("request" if _has_request_header(frame, hints.key, hints.version) else "response")
        return NamedMessage(name, SingleMessage(frame, likely, hints.key, hints.version, shift, missing))
    found: list[Candidate] = []
    if missing is None:
        if hints.side != "response":
            found += [each for each in guess_request(frame) if hints.key in (None, each.api_key)]
        # A long frame that reads as a request to its last byte is one; with a short frame that may be chance.
        if hints.side != "request" and not (found and len(frame) > CHANCE_MAX):
            found += guess_response(frame, None if hints.key is None else [hints.key])
        found.sort(key=lambda candidate: -candidate.score)
    if found and (found[0].score > 0 or hints.key is not None or judge_request(frame, 0) == NO):
        return _decode_by_best_candidate(name, frame, shift, found)
    if hints.side != "response" and (
        judge_request(frame, 0) >= HEAD
        or _has_known_header(frame)
        or hints.side == "request"
        or (shift == _SIZE and _begins_with_api_key_and_version(frame[shift:]))
    ):
        if len(frame) < _SIZE + _SIZE:
            raise Failure(
                f"{_format_name_prefix(name)}{format_bytes(len(frame) - shift)} are too few for the header of a request"
            )
        _, key, version = int.from_bytes(frame[:4], "big"), *_read_api_key_and_version(frame)
        return NamedMessage(name, SingleMessage(frame, "request", key, version, shift, missing))
    if found:
        return _decode_by_best_candidate(name, frame, shift, found)
    raise Failure(f"{_format_name_prefix(name)}{explain_unknown_bytes(frame[shift:])}")


def _read_api_key_and_version(frame: bytes) -> tuple[int, int]:
    return int.from_bytes(frame[4:6], "big", signed=True), int.from_bytes(frame[6:8], "big", signed=True)


def _has_known_header(frame: bytes) -> bool:
    """Whether a frame begins as a request of an API that exists, at a version that it has, with a client id."""
    key, version = _read_api_key_and_version(frame)
    if len(frame) < _REQUEST_HEAD or key not in NAMES or version not in api(key).versions:
        return False
    try:
        client_id = read_request_head(frame, 0, len(frame)).client_id
    except (DecodeError, IndexError):
        return False
    return client_id is None or (client_id != b"" and client_id.decode("utf-8", "replace").isprintable())


def _decode_by_best_candidate(name: str, frame: bytes, shift: int, found: list[Candidate]) -> NamedMessage:
    first = found[0]
    candidates = [] if first.side == "request" else found
    return NamedMessage(name, SingleMessage(frame, first.side, first.api_key, first.newest_version, shift), candidates)


def _read_last_bytes_as_message(name: str, rest: bytes, hints: MessageHints) -> NamedMessage:
    """The last bytes as a message, cut off or without its size field. Raises Failure where they are none."""
    size = int.from_bytes(rest[:_SIZE], "big", signed=True)
    more = (
        len(rest) >= _SIZE + _LEAST
        and len(rest) - _SIZE < size <= FRAME_MAX
        and not _begins_with_api_key_and_version(rest)
    )
    if more and (judge_request(rest, 0) >= HEAD or _has_known_header(rest) or hints.key is not None):
        return _read_frame_as_message(name, rest, 0, "truncated", hints)
    frame = len(rest).to_bytes(_SIZE, "big") + rest if len(rest) <= FRAME_MAX else rest
    if len(rest) >= _LEAST and (
        _begins_with_api_key_and_version(rest)
        or _has_known_header(frame)
        or hints.side is not None
        or hints.key is not None
    ):
        return _read_frame_as_message(name, frame, _SIZE, None, hints)
    raise Failure(f"{_format_name_prefix(name)}{explain_unknown_bytes(rest)}")


def _begins_with_api_key_and_version(rest: bytes) -> bool:
    """Whether the first bytes, as a size, are an API key and a version of it: a size of that many bytes is rare."""
    key, version = int.from_bytes(rest[:2], "big"), int.from_bytes(rest[2:4], "big")
    return len(rest) >= _REQUEST_HEAD - _SIZE and key > 0 and key in NAMES and version in api(key).versions


def explain_unknown_bytes(data: bytes) -> str:
    """Why bytes are no message, as far as that can be told."""
    found = explain_bytes(data)
    if found and not found[0].what.startswith("Kafka request"):
        remedy = f"; {found[0].remedy}" if found[0].remedy else ""
        return f"no Kafka message: {found[0].text}{remedy}"
    size = int.from_bytes(data[:_SIZE], "big", signed=True)
    if len(data) >= _SIZE + _LEAST and len(data) - _SIZE < size <= FRAME_MAX:
        there = f"the size field says {format_bytes(size)}, {len(data) - _SIZE:,} are there"
        return f"{there}; give --api and --version to decode them as far as possible"
    verb = "is" if len(data) == 1 else "are"
    what = f"{format_bytes(len(data))} that {verb} no message kw knows"
    return f"{what}; give --api and --version to decode them as far as possible"


def _format_message_name(input_bytes: InputBytes, number: int, count: int) -> str:
    if count == 1:
        return input_bytes.name
    return f"{input_bytes.name}, message {number + 1}" if input_bytes.name else f"message {number + 1}"


def _format_name_prefix(name: str) -> str:
    return f"{name}: " if name else ""
