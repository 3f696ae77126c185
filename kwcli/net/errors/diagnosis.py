"""An answer that is no Kafka, or none, in; what is probably there instead out."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

from decoders.apis.keys import API_VERSIONS, SASL_HANDSHAKE
from decoders.errors import DecodeError
from decoders.frames.live_framing import with_size
from decoders.messages.whole_messages import decode_response, encode_request
from kwcli.env import Exit, Failure
from kwcli.net.deadline import Deadline
from kwcli.net.errors.connection_stops import NO_BROKER, Cause, ConnectionStop
from kwcli.net.errors.foreign_answers import named, plain_remedy, tls_remedy

# A way to connect and an end that explains nothing in, an end that does out: further short connections find out why.
#
# Each asks one question, and all of them have little time. What they cannot find out leaves the end as it was.


Connect = Callable[[Deadline], socket.socket]

QUESTION_S: Final = 2.0
# A ClientHello of TLS 1.2 that any server answers, be it by an alert: one cipher, no extension.
_HELLO: Final = bytes.fromhex("0303" + "6b" * 32 + "00" + "0006" + "c02f009c00ff" + "0100")
CLIENT_HELLO: Final = (
    b"\x16\x03\x01" + (len(_HELLO) + 4).to_bytes(2, "big") + b"\x01" + len(_HELLO).to_bytes(3, "big") + _HELLO
)
_ANSWER_MAX: Final = 64 * 1024
_UNSUPPORTED_MECHANISM: Final = 33


def speaks_tls(connect: Connect, deadline: Deadline) -> bool:
    """Whether the peer answers a TLS greeting as TLS servers do."""
    head = _asked(connect, CLIENT_HELLO, 3, deadline)
    return _is_tls(head)


def without_tls(connect: Connect, deadline: Deadline, stop: ConnectionStop, *, sasl: bool) -> ConnectionStop:
    """Why a TLS handshake failed, by what the peer says to Kafka in the clear."""
    request = encode_request(API_VERSIONS, 0, {}, correlation_id=1)
    head = _asked(connect, with_size(request), 64, deadline)
    if not head:
        return stop
    if head[4:8] == (1).to_bytes(4, "big"):
        return ConnectionStop(Cause.FOREIGN, "speaks Kafka without TLS", remedy=plain_remedy(sasl))
    return stop if _is_tls(head) else named(head) or stop


def at_once(connect: Connect, deadline: Deadline, stop: ConnectionStop, *, sasl: bool) -> ConnectionStop:
    """Why a peer in the clear closes without a word after ApiVersions; the same end where it does not speak TLS."""
    if not speaks_tls(connect, deadline):
        return stop
    return ConnectionStop(stop.cause, f"{stop.text}: it speaks TLS", remedy=tls_remedy(sasl))


def no_broker(connect: Connect, deadline: Deadline, stop: ConnectionStop) -> ConnectionStop:
    """Who closes without a word, and is neither a TLS listener nor an old broker."""
    head = _asked(connect, b"srvr", 64, deadline)
    return named(head) or ConnectionStop(stop.cause, f"{stop.text} without a word", remedy=NO_BROKER)


def wants_sasl(connect: Connect, deadline: Deadline, stop: ConnectionStop, *, tls: bool) -> ConnectionStop:
    """Why a broker that said its versions closes at the first request after them."""
    versions = with_size(encode_request(API_VERSIONS, 0, {}, correlation_id=1))
    handshake = with_size(encode_request(SASL_HANDSHAKE, 0, {"mechanism": "?"}, correlation_id=2))
    answer = _frames(_asked(connect, versions + handshake, _ANSWER_MAX, deadline, frames=2))
    try:
        body = decode_response(answer[1], SASL_HANDSHAKE, 0).body
    except (DecodeError, IndexError):
        return stop
    if body["error_code"] != _UNSUPPORTED_MECHANISM:
        return stop
    offered = [str(each) for each in body["mechanisms"]]
    protocol = "SASL_SSL" if tls else "SASL_PLAINTEXT"
    text = f"{stop.text}: it wants SASL ({', '.join(offered)})"
    remedy = f"try -X security.protocol={protocol} -X sasl.mechanism={offered[0] if offered else 'PLAIN'}"
    return ConnectionStop(Cause.SASL, text, remedy=f"{remedy} with sasl.username and sasl.password", code=Exit.REFUSED)


def _asked(connect: Connect, question: bytes, size: int, deadline: Deadline, *, frames: int = 0) -> bytes:
    """What the peer says to `question`: up to `size` bytes, or that many frames; nothing where it does not."""
    brief = deadline.sooner(QUESTION_S)
    answer = b""
    try:
        with connect(brief) as link:
            link.settimeout(max(brief.left(), 0.001))
            link.sendall(question)
            while len(answer) < size and (not frames or len(_frames(answer)) < frames):
                link.settimeout(max(brief.left(), 0.001))
                more = link.recv(4096)
                if not more:
                    break
                answer += more
    except (OSError, Failure, ConnectionStop):
        return answer
    return answer


def _is_tls(head: bytes) -> bool:
    return head[:2] in (b"\x15\x03", b"\x16\x03")


def _frames(data: bytes) -> list[bytes]:
    """The whole frames at the start of `data`, without size fields."""
    frames, at = [], 0
    while at + 4 <= len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            break
        frames.append(data[at + 4 : end])
        at = end
    return frames
