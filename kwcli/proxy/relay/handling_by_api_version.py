"""An API and its version in; how a connection handles such a request and its response, out."""

from __future__ import annotations

from typing import Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError
from decoders.frames.read_and_judge_headers import is_flexible, read_request_head
from decoders.protocol_facts.api_keys import API_VERSIONS, PRODUCE, SASL_HANDSHAKE
from decoders.wire.primitive_types import read_uvarint
from kwcli.proxy.relay.rewrite_addresses import BYSTANDERS, are_responses_buffered, find_highest_rewritable_version

_WAYS: Final = (
    "through a proxy that works only where clients dial brokers by their own names: --advertise the broker's host (and "
    "have clients resolve it to the proxy), or let the proxy log in by -X security.protocol=SASL_… and clients without"
)
_HINTS: Final = {
    "GSSAPI": f"GSSAPI asks for a ticket for kafka/HOST with the host that the client dialled; {_WAYS}",
    "AWS_MSK_IAM": f"AWS_MSK_IAM signs the host that the client dialled; {_WAYS}",
}


def describe_mechanism_problem(name: str) -> str | None:
    """A hint for people about a SASL mechanism that may not work through a proxy; None for others."""
    return _HINTS.get(name)


# In a request: where the size of the client id is, the least size that has one, and the size of a null one.
HEAD: Final = 12
_HEAD_LEAST: Final = 14
_NULL: Final = 0xFFFF
_SIZE_MAX: Final = 0x7FFF
# Behind the client id of most Produce requests: no tags and no transactional id; before version 9 only the latter.
_BARE: Final = b"\0\0"
_NOBODY: Final = b"\xff\xff"

# What has to be read of a request besides its header.
NOTHING: Final = 0
ACKS: Final = 1
MECHANISM: Final = 2
REFUSE: Final = 3  # its answer would name brokers in a layout that cannot be rewritten
TELL: Final = 4  # people should know that such requests pass
HINT: Final = 5  # its SASL mechanism may not work through a proxy
WANTED: Final = 8  # added to these: a decider may want it (frame_decisions.py)

# What is done about a response.
STREAM: Final = 0
REWRITE: Final = 1
CAP: Final = 2
LOGIN: Final = 3  # says whether bare tokens follow
TOKEN: Final = 4  # answers a bare token


class RequestHandling:
    """What to read of requests of an API and version (`reads`), and what to do about their responses (`answer`)."""

    __slots__ = ("answer", "api_key", "reads", "version")

    def __init__(self, api_key: int, version: int, reads: int, answer: int) -> None:
        self.api_key = api_key
        self.version = version
        self.reads = reads
        self.answer = answer

    def __str__(self) -> str:
        if self is TOKENS:
            return "a SASL token"
        return f"{api(self.api_key).name} {self.version}" if self.api_key in NAMES else f"API {self.api_key}"


TOKENS: Final = RequestHandling(-1, 0, NOTHING, TOKEN)
# API key and version, both in one number as on the wire → their handling, once it was asked for.
KNOWN: Final[dict[int, RequestHandling]] = {}


def find_handling(number: int) -> RequestHandling:
    """The handling for an API key and version, both in one number as on the wire."""
    found = KNOWN.get(number)
    if found is None:
        key, version = _convert_to_signed_int16(number >> 16), _convert_to_signed_int16(number & 0xFFFF)
        found = RequestHandling(
            key, version, _choose_request_reading(key, version), _choose_answer_handling(key, version)
        )
        if key in NAMES:  # a client that makes up numbers fills no memory
            KNOWN[number] = found
    return found


def _choose_request_reading(key: int, version: int) -> int:
    most = find_highest_rewritable_version(key)
    if most is not None and version > most:
        return REFUSE
    if key == PRODUCE:
        return ACKS
    if key == SASL_HANDSHAKE:
        return HINT if version else MECHANISM
    return TELL if key in BYSTANDERS else NOTHING


def _choose_answer_handling(key: int, version: int) -> int:
    if key == API_VERSIONS:
        return CAP
    if key == SASL_HANDSHAKE and version == 0:
        return LOGIN
    return REWRITE if are_responses_buffered(key, version) else STREAM


def _convert_to_signed_int16(number: int) -> int:
    return number - 0x10000 if number & 0x8000 else number


def read_acks(version: int, data: bytes, at: int, end: int) -> int:
    """The acks of the Produce request whose size field is at `at`. Raises DecodeError or IndexError where it ends.

    Usual requests are read here in half the time (tests/bench/proxy.py, "5 small").
    """
    if end - at >= _HEAD_LEAST:
        place = at + HEAD + 2
        size = data[place - 2] << 8 | data[place - 1]
        place += size if size != _NULL else 0
        if (size <= _SIZE_MAX or size == _NULL) and place + 4 <= end:
            if version < 3:
                return _convert_to_signed_int16(data[place] << 8 | data[place + 1])
            if data[place : place + 2] == (_BARE if version >= 9 else _NOBODY):
                return _convert_to_signed_int16(data[place + 2] << 8 | data[place + 3])
    return _read_unusual_acks(version, data, at, end)


def _read_unusual_acks(version: int, data: bytes, at: int, end: int) -> int:
    """The acks of an unusual Produce request: with tags in the header, or with a transactional id."""
    at = read_request_head(data, at, end).body
    if version >= 3:  # a transactional id, nullable
        if is_flexible(PRODUCE, version):
            size, at = read_uvarint(data, at, end)
            at += max(size - 1, 0)
        else:
            if end - at < 2:
                raise IndexError
            at += 2 + max(_convert_to_signed_int16(data[at] << 8 | data[at + 1]), 0)
    if end - at < 2:
        raise IndexError
    return _convert_to_signed_int16(data[at] << 8 | data[at + 1])


# A client id that is longer than this is not compared.
_CLIENT_MAX: Final = 1024


def read_client_id(key: int, version: int, data: bytes, at: int, end: int) -> tuple[bytes, bytes | None] | None:
    """The bytes behind the correlation id of the request whose size field is at `at`, and its client id.

    The bytes are the client id with its size, and in flexible versions the count of tags, 0. None where the header is
    incomplete, too long, or has tags.
    """
    try:
        head = read_request_head(data, at, end)
    except (DecodeError, IndexError):
        return None
    begin, size = at + HEAD, len(head.client_id or b"")
    plain = begin + 2 + size + is_flexible(key, version)
    if head.body != plain or size > _CLIENT_MAX:
        return None
    return data[begin:plain], head.client_id


def read_mechanism(data: bytes, at: int, end: int) -> str:
    """The mechanism that a SaslHandshake asks for; "" where it cannot be read."""
    try:
        at = read_request_head(data, at, end).body
    except (DecodeError, IndexError):
        return ""
    size = int.from_bytes(data[at : at + 2], "big")
    return data[at + 2 : min(at + 2 + size, end)].decode("utf-8", "replace")
