"""Why a connection ended before it should, in one line, with what to do about it: TCP, TLS, SASL, Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from kwcli.env import Exit
from kwcli.net.config.client_config import KeyStoreFile, Tls

# Of whom closes without having said anything.
NO_BROKER: Final = (
    "is it a Kafka broker? One that has too many connections, or a proxy without a broker behind it, does so too"
)


class Cause(Enum):
    """What kind of end it is."""

    CLOSED = auto()  # the peer ended the connection while an answer was due
    FOREIGN = auto()  # what came is not Kafka
    TLS = auto()  # the two sides cannot agree on TLS
    NAME = auto()  # the peer's certificate is good, for others
    BROKEN = auto()  # Kafka, but against its rules
    SASL = auto()  # the peer will not authenticate this way
    REFUSED = auto()  # the peer knows the way, and refuses who comes


class ConnectionStop(Exception):
    """The end of a connection. `text` follows the address: `closed the connection after ApiVersions`."""

    def __init__(self, cause: Cause, text: str, *, remedy: str = "", code: Exit = Exit.UNREACHABLE) -> None:
        super().__init__(text)
        self.cause = cause
        self.text = text
        self.remedy = remedy
        self.code = code

    def line(self, address: str) -> str:
        """The one line for people."""
        return f"{address} {self.text}" + (f"; {self.remedy}" if self.remedy else "")


def closed(text: str, remedy: str = "", code: Exit = Exit.UNREACHABLE) -> ConnectionStop:
    """The peer ended the connection."""
    return ConnectionStop(Cause.CLOSED, text, remedy=remedy, code=code)


def broken(text: str, remedy: str = "") -> ConnectionStop:
    """The peer speaks Kafka, but not by the rules."""
    return ConnectionStop(Cause.BROKEN, text, remedy=remedy)


# An error of the TLS library in, the end of the connection out: what happened in plain words, and what to try.
#
# Loaded when something went wrong. A broker tells a client why it does not like it by an alert, which in TLS 1.3 comes
# only after the client thinks that the handshake is over: errors of the first reads and writes belong here as well.


_PLAIN: Final = "-X security.protocol=PLAINTEXT or SASL_PLAINTEXT"
_NO_NAME_CHECK: Final = "-X ssl.endpoint.identification.algorithm=none"
_CLIENT: Final = "-X ssl.certificate.location=FILE and ssl.key.location=FILE, or ssl.keystore.location=FILE"

# OpenSSL's codes of what is wrong with a certificate.
_EXPIRED, _NOT_YET = 10, 9
_UNKNOWN_ISSUER: Final = frozenset({2, 18, 19, 20, 21, 27})
_OTHER_NAME: Final = frozenset({62, 64})
_NAMES_SHOWN: Final = 5


def tls_stop(error: OSError, tls: Tls, host: str) -> ConnectionStop:
    """The reason of an `ssl.SSLError`, or of a connection that ended during the handshake; `host` as it was checked."""
    code = getattr(error, "verify_code", None)
    if code:
        return _untrusted(code, str(getattr(error, "verify_message", "")), tls, host)
    reason = str(getattr(error, "reason", None) or error).upper().replace(" ", "_")
    for words, (text, remedy) in _REASONS.items():
        if any(word in reason for word in words.split()):
            return _stop(text, remedy)
    if "HANDSHAKE_FAILURE" in reason:
        own = "" if tls.certificate else f"does it want a client certificate ({_CLIENT})? else "
        return _stop("refuses the TLS handshake", f"{own}see ssl.cipher.suites on both sides")
    if "CERTIFICATE_REQUIRED" in reason or "BAD_CERTIFICATE" in reason:
        return _stop(*_about_our_certificate(tls, missing=tls.certificate is None))
    if any(
        word in reason for word in ("UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED")
    ):
        return _stop(*_about_our_certificate(tls, missing=False))
    if "EOF" in reason or not getattr(error, "reason", None):
        return _stop("ended the TLS handshake without a word", f"is it a listener without TLS? try {_PLAIN}")
    return _stop(f"failed the TLS handshake: {reason.replace('_', ' ').lower()}", "the broker's log may say more")


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
    "UNRECOGNIZED_NAME": ("does not know itself by this name", "dial it by a name in its certificate"),
    "NO_CERTIFICATE_ASSIGNED": ("has no certificate", "see the broker's ssl.keystore.location"),
    "DH_KEY_TOO_SMALL EE_KEY_TOO_SMALL CA_MD_TOO_WEAK": (
        "uses keys that OpenSSL takes for too weak",
        "renew the broker's certificate",
    ),
}


def _untrusted(code: int, message: str, tls: Tls, host: str) -> ConnectionStop:
    if code in _OTHER_NAME:
        return other_name(host, [])
    if code in _UNKNOWN_ISSUER:
        trusted = _named(tls.authorities) if tls.authorities else "this system's authorities"
        remedy = "name its authority's certificate by -X ssl.ca.location=FILE (or ssl.truststore.location)"
        return _stop(f"has a certificate that {trusted} did not sign ({message})", remedy)
    if code == _EXPIRED:
        return _stop("has a certificate that has expired", "renew it; is this machine's clock right?")
    if code == _NOT_YET:
        return _stop("has a certificate that is not valid yet", "is this machine's clock right?")
    return _stop(f"has a certificate that cannot be trusted ({message})", "see ssl.ca.location")


def other_name(host: str, names: Sequence[str]) -> ConnectionStop:
    """The broker's certificate is not for `host`; it is for `names`, where they are known."""
    text = f"has a certificate for another name than {host}"
    if not names:
        return _stop(text, f"use a name that is in it, or {_NO_NAME_CHECK}", Cause.NAME)
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    text += f" (it is for {', '.join(names[:_NAMES_SHOWN])}{more})"
    return _stop(text, f"use one of these names, or {_NO_NAME_CHECK}", Cause.NAME)


def _about_our_certificate(tls: Tls, *, missing: bool) -> tuple[str, str]:
    if missing:
        return "wants a client certificate", f"give it by {_CLIENT}"
    if tls.certificate is None:
        return "refuses us without a client certificate", f"give one by {_CLIENT}"
    return (
        f"does not take the client certificate of {_named(tls.certificate)}",
        "is it signed by whom the broker trusts?",
    )


def _named(store: KeyStoreFile) -> str:
    return store.path if store.path is not None else "the certificates given as text"


def _stop(text: str, remedy: str, cause: Cause = Cause.TLS) -> ConnectionStop:
    return ConnectionStop(cause, text, remedy=remedy)
