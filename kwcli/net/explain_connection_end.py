"""The unexpected end of a connection in; one line that says why, with a remedy, out (TCP, TLS, SASL, Kafka).

Where the end explains nothing, further short connections find out what the peer is. Each of them asks one question, and
all have little time. Where they find out nothing, the stop stays as it was.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final

from decoders.errors import DecodeError
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.messages.whole_messages import decode_response, encode_request
from decoders.protocol_facts.api_keys import API_VERSIONS, SASL_HANDSHAKE
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import KeyStoreFile, TlsSettings
from kwcli.run_environment import Exit, Failure

# For a peer that closes without having sent anything.
NO_BROKER: Final = (
    "is it a Kafka broker? A broker with too many connections, or a proxy without a broker behind it, does so too"
)


class Cause(Enum):
    """The kind of an unexpected end."""

    CLOSED = auto()  # the peer ended the connection while an answer was due
    FOREIGN = auto()  # what came is not Kafka
    TLS = auto()  # the two sides cannot agree on TLS
    NAME = auto()  # the peer's certificate is good, but for another name
    BROKEN = auto()  # Kafka, but against its rules
    SASL = auto()  # the peer will not authenticate this way
    REFUSED = auto()  # the peer knows the mechanism, and refuses the credentials


class ConnectionStop(Exception):
    """The end of a connection. `text` follows the address: `closed the connection after ApiVersions`."""

    def __init__(self, cause: Cause, text: str, *, remedy: str = "", code: Exit = Exit.UNREACHABLE) -> None:
        super().__init__(text)
        self.cause = cause
        self.text = text
        self.remedy = remedy
        self.code = code

    def format_line(self, address: str) -> str:
        """The line for people: the address, the text and the remedy."""
        return f"{address} {self.text}" + (f"; {self.remedy}" if self.remedy else "")


def make_closed_stop(text: str, remedy: str = "", code: Exit = Exit.UNREACHABLE) -> ConnectionStop:
    """The stop where the peer ended the connection."""
    return ConnectionStop(Cause.CLOSED, text, remedy=remedy, code=code)


def make_broken_protocol_stop(text: str, remedy: str = "") -> ConnectionStop:
    """The stop where the peer speaks Kafka, but not by the rules."""
    return ConnectionStop(Cause.BROKEN, text, remedy=remedy)


# Errors of TLS


_PLAIN: Final = "-X security.protocol=PLAINTEXT or SASL_PLAINTEXT"
_NO_NAME_CHECK: Final = "-X ssl.endpoint.identification.algorithm=none"
_CLIENT: Final = "-X ssl.certificate.location=FILE and ssl.key.location=FILE, or ssl.keystore.location=FILE"

# OpenSSL's codes of what is wrong with a certificate.
_EXPIRED, _NOT_YET = 10, 9
_UNKNOWN_ISSUER: Final = frozenset({2, 18, 19, 20, 21, 27})
_OTHER_NAME: Final = frozenset({62, 64})
_NAMES_SHOWN: Final = 5


def make_tls_stop(error: OSError, tls: TlsSettings, host: str) -> ConnectionStop:
    """The stop for an `ssl.SSLError`, or for an end during the handshake; `host` is the name that was checked.

    A broker refuses a client by an alert, which in TLS 1.3 comes only after the handshake is over for the client:
    errors of the first reads and writes belong here as well.
    """
    code = getattr(error, "verify_code", None)
    if code:
        return _make_untrusted_certificate_stop(code, str(getattr(error, "verify_message", "")), tls, host)
    reason = str(getattr(error, "reason", None) or error).upper().replace(" ", "_")
    for words, (text, remedy) in _REASONS.items():
        if any(word in reason for word in words.split()):
            return _make_tls_stop_with_remedy(text, remedy)
    if "HANDSHAKE_FAILURE" in reason:
        own = "" if tls.certificate else f"does it want a client certificate ({_CLIENT})? else "
        return _make_tls_stop_with_remedy("refuses the TLS handshake", f"{own}see ssl.cipher.suites on both sides")
    if "CERTIFICATE_REQUIRED" in reason or "BAD_CERTIFICATE" in reason:
        return _make_tls_stop_with_remedy(*_explain_alert_about_ours(tls, missing=tls.certificate is None))
    if any(
        word in reason for word in ("UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED")
    ):
        return _make_tls_stop_with_remedy(*_explain_alert_about_ours(tls, missing=False))
    if "EOF" in reason or not getattr(error, "reason", None):
        return _make_tls_stop_with_remedy(
            "ended the TLS handshake without a word", f"is it a listener without TLS? try {_PLAIN}"
        )
    return _make_tls_stop_with_remedy(
        f"failed the TLS handshake: {reason.replace('_', ' ').lower()}", "the broker's log may say more"
    )


_REASONS: Final = {
    "WRONG_VERSION_NUMBER HTTP_REQUEST PACKET_LENGTH_TOO_LONG RECORD_LAYER_FAILURE UNEXPECTED_MESSAGE": (
        "does not speak TLS",
        f"try {_PLAIN}",
    ),
    "PROTOCOL_VERSION UNSUPPORTED_PROTOCOL": (
        "speaks no version of TLS that kw may use",
        "kw speaks TLSv1.2 and TLSv1.3; see ssl.enabled.protocols on both sides",
    ),
    "NO_SHARED_CIPHER NO_CIPHERS INSUFFICIENT_SECURITY": (
        "has no cipher suite in common with kw",
        "see ssl.cipher.suites on both sides",
    ),
    "UNRECOGNIZED_NAME": ("does not recognise this host name", "dial it by a name in its certificate"),
    "NO_CERTIFICATE_ASSIGNED": ("has no certificate", "see the broker's ssl.keystore.location"),
    "DH_KEY_TOO_SMALL EE_KEY_TOO_SMALL CA_MD_TOO_WEAK": (
        "uses keys that are too weak for OpenSSL",
        "renew the broker's certificate",
    ),
}


def _make_untrusted_certificate_stop(code: int, message: str, tls: TlsSettings, host: str) -> ConnectionStop:
    if code in _OTHER_NAME:
        return make_other_name_stop(host, [])
    if code in _UNKNOWN_ISSUER:
        trusted = _describe_store(tls.authorities) if tls.authorities else "this system's authorities"
        remedy = "name its authority's certificate by -X ssl.ca.location=FILE (or ssl.truststore.location)"
        return _make_tls_stop_with_remedy(f"has a certificate that {trusted} did not sign ({message})", remedy)
    if code == _EXPIRED:
        return _make_tls_stop_with_remedy(
            "has a certificate that has expired", "renew it; is this machine's clock right?"
        )
    if code == _NOT_YET:
        return _make_tls_stop_with_remedy("has a certificate that is not valid yet", "is this machine's clock right?")
    return _make_tls_stop_with_remedy(f"has a certificate that cannot be trusted ({message})", "see ssl.ca.location")


def make_other_name_stop(host: str, names: Sequence[str]) -> ConnectionStop:
    """The stop for a certificate that is not for `host`, but for `names`, where they are known."""
    text = f"has a certificate for another name than {host}"
    if not names:
        return _make_tls_stop_with_remedy(text, f"use a name that is in it, or {_NO_NAME_CHECK}", Cause.NAME)
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    text += f" (it is for {', '.join(names[:_NAMES_SHOWN])}{more})"
    return _make_tls_stop_with_remedy(text, f"use one of these names, or {_NO_NAME_CHECK}", Cause.NAME)


def _explain_alert_about_ours(tls: TlsSettings, *, missing: bool) -> tuple[str, str]:
    if missing:
        return "wants a client certificate", f"give it by {_CLIENT}"
    if tls.certificate is None:
        return "refuses clients without a certificate", f"give one by {_CLIENT}"
    return (
        f"does not take the client certificate of {_describe_store(tls.certificate)}",
        "does the broker trust its authority?",
    )


def _describe_store(store: KeyStoreFile) -> str:
    return store.path if store.path is not None else "the certificates given as text"


def _make_tls_stop_with_remedy(text: str, remedy: str, cause: Cause = Cause.TLS) -> ConnectionStop:
    return ConnectionStop(cause, text, remedy=remedy)


# Explanations by further short connections


Connect = Callable[[Deadline], socket.socket]

QUESTION_S: Final = 2.0
# A ClientHello of TLS 1.2 that any server answers, be it by an alert: one cipher, no extension.
_HELLO: Final = bytes.fromhex("0303" + "6b" * 32 + "00" + "0006" + "c02f009c00ff" + "0100")
CLIENT_HELLO: Final = (
    b"\x16\x03\x01" + (len(_HELLO) + 4).to_bytes(2, "big") + b"\x01" + len(_HELLO).to_bytes(3, "big") + _HELLO
)
_ANSWER_MAX: Final = 64 * 1024
_UNSUPPORTED_MECHANISM: Final = 33


def is_tls_server(connect: Connect, deadline: Deadline) -> bool:
    """Whether the peer answers a TLS greeting as TLS servers do."""
    head = _send_probe(connect, CLIENT_HELLO, 3, deadline)
    return _begins_tls_record(head)


def explain_failed_handshake(
    connect: Connect, deadline: Deadline, stop: ConnectionStop, *, sasl: bool
) -> ConnectionStop:
    """The cause of a failed TLS handshake, by the peer's answer to Kafka in the clear; else `stop`."""
    request = encode_request(API_VERSIONS, 0, {}, correlation_id=1)
    head = _send_probe(connect, with_size_field(request), 64, deadline)
    if not head:
        return stop
    if head[4:8] == (1).to_bytes(4, "big"):
        return ConnectionStop(Cause.FOREIGN, "speaks Kafka without TLS", remedy=format_remedy_for_plaintext_peer(sasl))
    return stop if _begins_tls_record(head) else make_foreign_protocol_stop(head) or stop


def explain_silent_close(connect: Connect, deadline: Deadline, stop: ConnectionStop, *, sasl: bool) -> ConnectionStop:
    """Why a peer in the clear closes without a word after ApiVersions: it speaks TLS; else `stop`."""
    if not is_tls_server(connect, deadline):
        return stop
    return ConnectionStop(stop.cause, f"{stop.text}: it speaks TLS", remedy=format_tls_remedy(sasl))


def explain_silence(connect: Connect, deadline: Deadline, stop: ConnectionStop) -> ConnectionStop:
    """The stop for a peer that closes without a word, and is neither a TLS listener nor an old broker."""
    head = _send_probe(connect, b"srvr", 64, deadline)
    return make_foreign_protocol_stop(head) or ConnectionStop(
        stop.cause, f"{stop.text} without a word", remedy=NO_BROKER
    )


def explain_late_close(connect: Connect, deadline: Deadline, stop: ConnectionStop, *, tls: bool) -> ConnectionStop:
    """Why a broker closes at the first request after ApiVersions: it wants SASL; else `stop`."""
    versions = with_size_field(encode_request(API_VERSIONS, 0, {}, correlation_id=1))
    handshake = with_size_field(encode_request(SASL_HANDSHAKE, 0, {"mechanism": "?"}, correlation_id=2))
    answer = _split_sized_frames(_send_probe(connect, versions + handshake, _ANSWER_MAX, deadline, frames=2))
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


def _send_probe(connect: Connect, question: bytes, size: int, deadline: Deadline, *, frames: int = 0) -> bytes:
    """The peer's answer to `question`: up to `size` bytes, or that many frames; empty where it gives none."""
    brief = deadline.limit_to(QUESTION_S)
    answer = b""
    try:
        with connect(brief) as link:
            link.settimeout(max(brief.left(), 0.001))
            link.sendall(question)
            while len(answer) < size and (not frames or len(_split_sized_frames(answer)) < frames):
                link.settimeout(max(brief.left(), 0.001))
                more = link.recv(4096)
                if not more:
                    break
                answer += more
    except (OSError, Failure, ConnectionStop):
        return answer
    return answer


def _begins_tls_record(head: bytes) -> bool:
    return head[:2] in (b"\x15\x03", b"\x16\x03")


def _split_sized_frames(data: bytes) -> list[bytes]:
    """The whole frames at the start of `data`, without size fields."""
    frames, at = [], 0
    while at + 4 <= len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            break
        frames.append(data[at + 4 : end])
        at = end
    return frames


_WHERE = "check host and port"


def make_foreign_protocol_stop(head: bytes, *, sasl: bool = False) -> ConnectionStop | None:
    """The stop for a peer that began, or went on, with `head`; None where that is no known protocol's."""
    from decoders.protocols import TLS
    from decoders.protocols.recognise_protocols import find_signature

    mark = find_signature(head)
    if mark is None:
        return None
    if mark.name == TLS:
        return ConnectionStop(Cause.FOREIGN, "speaks TLS", remedy=format_tls_remedy(sasl))
    detail = mark.describe(head)
    what = f"{mark.name} ({detail})" if detail else mark.name
    return ConnectionStop(Cause.FOREIGN, f"speaks {what}, not Kafka", remedy=_WHERE)


def make_not_kafka_stop(head: bytes, *, sasl: bool) -> ConnectionStop:
    """The stop for a peer that sent `head`, which is not Kafka: its protocol, or the bytes where that is unknown."""
    sent = f"does not speak Kafka: it sent {format_bytes_for_people(head)}"
    return make_foreign_protocol_stop(head, sasl=sasl) or ConnectionStop(Cause.FOREIGN, sent, remedy=_WHERE)


def format_tls_remedy(sasl: bool) -> str:
    """The settings to try where the peer turns out to speak TLS."""
    return f"try -X security.protocol={'SASL_SSL' if sasl else 'SSL'}"


def format_remedy_for_plaintext_peer(sasl: bool) -> str:
    """The settings to try where the peer turns out not to speak TLS."""
    return f"try -X security.protocol={'SASL_PLAINTEXT' if sasl else 'PLAINTEXT'}"


def format_bytes_for_people(data: bytes, limit: int = 24) -> str:
    """Bytes for a line of text: as they are where they can be read, else in hex."""
    part = data[:limit]
    more = "…" if len(data) > limit else ""
    text = part.rstrip(b"\r\n")
    if text and all(32 <= byte < 127 for byte in text):
        return f'"{text.decode("ascii")}{more}"'
    return part.hex(" ") + more if part else "nothing"
