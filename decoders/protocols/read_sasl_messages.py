"""One message of a SASL login of a known mechanism in; its name, its user and other facts out, never a secret.

PLAIN (RFC 4616), SCRAM (RFC 5802) with delegation tokens (KIP-48), OAUTHBEARER (RFC 7628, RFC 7519, KIP-255) and GSSAPI
(RFC 4752, RFC 4121, RFC 4120). Passwords, proofs, nonces, salts, signatures, tickets and tokens are never given: only
the facts of a `SaslStep` are read. Names that are not UTF-8 are kept by surrogateescape.
"""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.limits import SASL_TOKEN_READ_MAX, USER_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocols.recognise_sasl_tokens import find_sasl_token
from decoders.schema.api_declaration import Side

__all__ = ["FINAL_ANSWERS", "REFUSAL", "SaslStep", "family_of_mechanism", "guess_mechanism", "read_sasl_step"]

GSSAPI: Final = "GSSAPI"
OAUTHBEARER: Final = "OAUTHBEARER"
# OAUTHBEARER's answer that refuses a token; the client has to acknowledge it before the error comes.
REFUSAL: Final = "server-error"


class SaslStep(NamedTuple):
    """One message. `name`: which message of its mechanism it is; `user`: the user it names; `said`: its other facts.

    `said` has built-in values: `acting_as` (text), `token_id` (text), `iterations`, `realm`, `service`, `expires_s`
    (seconds since 1970), `algorithm` (of a token's signature, `none` without one), `refusal`.
    """

    name: str
    user: str | None = None
    said: dict[str, Any] = {}  # noqa: RUF012 - never changed


def _limited_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")[:USER_MAX]


# PLAIN.


def _read_plain(data: bytes, side: Side) -> SaslStep | None:
    if side == "response":
        return SaslStep("accepted") if not data else None
    parts = data.split(b"\0")
    if len(parts) != 3 or not parts[1]:
        return SaslStep("credentials")
    acting, user = _limited_text(parts[0]), _limited_text(parts[1])
    return SaslStep("credentials", user, {"acting_as": acting} if acting and acting != user else {})


# SCRAM.


_FIRST: Final = re.compile(
    rb"[nyp](?:=[\w.-]+)?,(?:a=([^,]*))?,(?:m=[^,]*,)?n=([^,]*),r=[^,]*((?:,[^,]*)*)\Z", re.DOTALL
)
_CHALLENGE: Final = re.compile(rb"(?:m=[^,]*,)?r=[^,]*,s=[^,]*,i=(\d{1,9})")


def _read_scram(data: bytes, side: Side) -> SaslStep | None:
    if side == "response":
        if found := _CHALLENGE.match(data):
            return SaslStep("server-first", None, {"iterations": int(found[1])})
        if data[:2] == b"e=":
            return SaslStep("server-final", None, {"refusal": _limited_text(data[2:].partition(b",")[0])})
        return SaslStep("server-final") if data[:2] == b"v=" else None
    if data[:2] == b"c=":
        return SaslStep("client-final")
    found = _FIRST.match(data)
    if found is None:
        return None
    user, said = _unescape_scram_name(found[2]), {}
    if found[1] and _unescape_scram_name(found[1]) != user:
        said["acting_as"] = _unescape_scram_name(found[1])
    if b"tokenauth=true" in found[3].lower().split(b","):
        said["token_id"] = user
    return SaslStep("client-first", user, said)


def _unescape_scram_name(data: bytes) -> str:
    """A name in which `=2C` stands for a comma and `=3D` for an equals sign."""
    return _limited_text(data.replace(b"=2C", b",").replace(b"=3D", b"="))


# OAUTHBEARER.


_BEARER: Final = re.compile(rb"[nyp](?:=[\w.-]+)?,(?:a=([^,]*))?,\x01")
_REFUSAL: Final = re.compile(rb'\s*\{[^\x01]*?"status"\s*:\s*"([^"\\]{1,100})"', re.DOTALL)
# The names of algorithms of signatures (RFC 7518, 3.1), and others like them.
_ALGORITHM: Final = re.compile(r"[A-Za-z0-9-]{1,20}")
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999


def _read_oauthbearer(data: bytes, side: Side) -> SaslStep | None:
    if side == "response":
        if not data:
            return SaslStep("accepted")
        found = _REFUSAL.match(data)
        return SaslStep(REFUSAL, None, {"refusal": _limited_text(found[1])} if found else {})
    if data == b"\x01":
        return SaslStep("client-abort")
    found = _BEARER.match(data)
    if found is None:
        return None
    user, said = _read_jwt_claims(data[found.end() :])
    acting = _unescape_scram_name(found[1]) if found[1] else None
    if acting is not None and acting != user:
        if user is None:  # the token names no user: the broker holds the client to the name that it gives
            user = acting
        else:
            said["acting_as"] = acting
    return SaslStep("client-first", user, said)


def _read_jwt_claims(pairs: bytes) -> tuple[str | None, dict[str, Any]]:
    """The subject of a JWT, when it expires and how it is signed; None and an empty dict for a token that is no JWT."""
    for pair in pairs[:SASL_TOKEN_READ_MAX].split(b"\x01"):
        name, _, value = pair.partition(b"=")
        parts = value.split(b".")
        if name == b"auth" and value[:7].lower() == b"bearer " and len(parts) == 3:
            return _read_subject_and_expiry(_read_json_part(parts[0][7:]), _read_json_part(parts[1]))
    return None, {}


def _read_json_part(part: bytes) -> dict[str, Any]:
    """The object in a part of a JWT; an empty dict where there is none."""
    from base64 import urlsafe_b64decode

    import orjson

    try:
        value = orjson.loads(urlsafe_b64decode(part.strip() + b"=" * (-len(part.strip()) % 4)))
    except (NotBase64, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_subject_and_expiry(header: dict[str, Any], claims: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    subject, expires, algorithm = claims.get("sub"), claims.get("exp"), header.get("alg")
    said: dict[str, Any] = {}
    if isinstance(expires, int | float) and not isinstance(expires, bool) and 0 <= expires <= _LAST_SECOND:
        said["expires_s"] = int(expires)
    if isinstance(algorithm, str) and _ALGORITHM.fullmatch(algorithm):
        said["algorithm"] = algorithm
    return subject[:USER_MAX] if isinstance(subject, str) and subject else None, said


# GSSAPI.


# DER of Kerberos' object identifier, and the identifier of the token after it (RFC 4121, 4.1).
_KERBEROS: Final = bytes.fromhex("06092a864886f712010202")
_KERBEROS_STEPS: Final = {b"\1\0": "AP-REQ", b"\2\0": "AP-REP", b"\3\0": "KRB-ERROR"}
_WRAP: Final = b"\5\4"
_WRAP_HEAD: Final = 16
_SEALED: Final = 2  # bit of a wrap token's flags: it is encrypted
_LAYERS: Final = 4  # one byte of security layers, three of the largest message (RFC 4752, 3.1)
_ELEMENTS_MAX: Final = 16
# Tags: AP-REQ, its fields, the fourth of them, a ticket, its fields; of these the realm and the name of the service.
_WAY_TO_TICKET: Final = b"\x6e\x30\xa3\x61\x30"
_REALM, _SERVICE, _NAMES = 0xA1, 0xA2, 0xA1


def _read_gssapi(data: bytes, side: Side) -> SaslStep | None:
    if not data:
        return SaslStep("empty")
    if data[:2] == _WRAP:
        return _read_security_layers(data, side)
    at = data.find(_KERBEROS)
    while at >= 0:
        at += len(_KERBEROS)
        name = _KERBEROS_STEPS.get(data[at : at + 2])
        if name == "AP-REQ":
            return SaslStep(name, None, _read_kerberos_ticket(data, at + 2))
        if name is not None:
            return SaslStep(name)
        at = data.find(_KERBEROS, at)
    return SaslStep("negotiation") if data[:1] in (b"\x60", b"\xa1") else None


def _read_security_layers(data: bytes, side: Side) -> SaslStep:
    """The broker's offer of security layers, or the client's choice with the name that it logs in by."""
    name = "security-layer" if side == "request" else "security-layers"
    if len(data) < _WRAP_HEAD or data[2] & _SEALED or side == "response":
        return SaslStep(name)
    checksum, turned = int.from_bytes(data[4:6], "big"), int.from_bytes(data[6:8], "big")
    body = data[_WRAP_HEAD:]
    if turned and body:
        turned %= len(body)
        body = body[turned:] + body[:turned]
    plain = body[: len(body) - checksum] if checksum < len(body) else b""
    return SaslStep(name, _limited_text(plain[_LAYERS:]).rstrip("\0") or None)


def _read_kerberos_ticket(data: bytes, at: int) -> dict[str, Any]:
    """Realm and service of the ticket in an AP-REQ (RFC 4120, 5.3 and 5.5.1); the name of its owner is encrypted."""
    end = len(data)
    for tag in _WAY_TO_TICKET:
        span = next(((begun, until) for its, begun, until in _iterate_der_elements(data, at, end) if its == tag), None)
        if span is None:
            return {}
        at, end = span
    said: dict[str, Any] = {}
    for tag, begun, until in _iterate_der_elements(data, at, end):
        if tag == _REALM:
            for _, first, last in _iterate_der_elements(data, begun, until):
                said["realm"] = _limited_text(data[first:last])
        elif tag == _SERVICE:
            parts = [
                _limited_text(data[a:b])
                for _, outer, outer_end in _iterate_der_elements(data, begun, until)
                for name, inner, inner_end in _iterate_der_elements(data, outer, outer_end)
                if name == _NAMES
                for _, names, names_end in _iterate_der_elements(data, inner, inner_end)
                for _, a, b in _iterate_der_elements(data, names, names_end)
            ]
            if parts:
                said["service"] = "/".join(parts)[:USER_MAX]
    return said


def _iterate_der_elements(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(tag, begin, end) of the contents of each DER element between two offsets, up to the first unreadable one."""
    for _ in range(_ELEMENTS_MAX):
        if at + 2 > end:
            return
        tag, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            more = size & 0x7F
            if not 0 < more <= 4:
                return
            size = int.from_bytes(data[at : at + more], "big")
            at += more
        if at + size > end:
            return
        yield tag, at, at + size
        at += size


_READERS: Final[dict[str, Callable[[bytes, Side], SaslStep | None]]] = {
    "PLAIN": _read_plain,
    "SCRAM": _read_scram,
    OAUTHBEARER: _read_oauthbearer,
    GSSAPI: _read_gssapi,
}
# Family of a mechanism → (the client's step, the broker's answer) after which a login is over.
FINAL_ANSWERS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "PLAIN": (("credentials", "accepted"),),
    "SCRAM": (("client-final", "server-final"),),
    OAUTHBEARER: (("client-first", "accepted"),),
    GSSAPI: (("security-layer", "empty"),),
}


def family_of_mechanism(mechanism: str) -> str:
    """The family of a mechanism: `SCRAM` for `SCRAM-SHA-512`."""
    return mechanism.partition("-")[0]


def read_sasl_step(mechanism: str, data: bytes, side: Side) -> SaslStep | None:
    """The step of a message of the client (`request`) or the broker; None where it is no message of the mechanism."""
    read = _READERS.get(family_of_mechanism(mechanism))
    return None if read is None else read(data, side)


def guess_mechanism(data: bytes) -> str | None:
    """The mechanism of a client's message, where the capture does not have its SaslHandshake; None where unknown."""
    found = find_sasl_token(data)
    return None if found is None else found.mechanism
