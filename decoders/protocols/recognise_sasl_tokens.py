"""Bytes of a SASL exchange in, their mechanism and a description of the token out; never a password or a key.

PLAIN (RFC 4616), SCRAM (RFC 5802), OAUTHBEARER (RFC 7628), GSSAPI with its mechanisms (RFC 2743, 4121, 4178).
"""

from __future__ import annotations

import re
from typing import Final

from decoders.limits import SASL_TOKEN_READ_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_bytes, replace_unprintable

USER_MAX: Final = 255
_SCRAM_FIRST: Final = re.compile(rb"[nyp](?:=[\w.-]+)?,(?:a=[^,]*)?,(?:m=[^,]*,)?n=([^,\0]*),r=[^,\0]+")
_SCRAM_CHALLENGE: Final = re.compile(rb"r=[!-+\--~]+,s=[A-Za-z0-9+/=]+,i=(\d+)")
_SCRAM_FINAL: Final = re.compile(rb"c=[A-Za-z0-9+/=]+,r=[!-+\--~]+,p=[A-Za-z0-9+/=]+")
_SCRAM_OUTCOME: Final = re.compile(rb"(?:v=[A-Za-z0-9+/=]{24,}|e=([a-z-]+))(?:,|\Z)")
_BEARER: Final = re.compile(rb"[nyp](?:=[\w.-]+)?,(?:a=[^,]*)?,\x01(?:[a-z]+=[^\x01]*\x01)*auth=[Bb]earer ")
_PLAIN: Final = re.compile(rb"([^\0]{0,255})\0([^\0]{1,255})\0[^\0]{1,1024}", re.DOTALL)
_APPLICATION: Final = 0x60
_NEGOTIATION: Final = 0xA1
_WRAP: Final = b"\5\4"  # then flags and a filler (RFC 4121, 4.2.6.2)
# DER of the object identifiers of GSSAPI mechanisms.
_MECHANISMS: Final = {
    bytes.fromhex("2a864886f712010202"): "Kerberos",
    bytes.fromhex("2a864882f712010202"): "Kerberos (Microsoft's number)",
    bytes.fromhex("2b0601050502"): "SPNEGO",
    bytes.fromhex("2b06010401823702020a"): "NTLM",
}
_KERBEROS_TOKENS: Final = {b"\1\0": "AP-REQ", b"\2\0": "AP-REP", b"\3\0": "KRB-ERROR"}


class SaslTokenFound(NamedTuple):
    """The mechanism of a token, and a description of the token."""

    mechanism: str
    detail: str


def find_sasl_token(data: bytes) -> SaslTokenFound | None:
    """The token that begins at the first byte of `data`; None where there is none."""
    if not data:
        return None
    return _find_gssapi(data) or _find_scram_or_oauthbearer(data) or _find_plain(data)


def _find_scram_or_oauthbearer(data: bytes) -> SaslTokenFound | None:
    if _BEARER.match(data):
        return SaslTokenFound("OAUTHBEARER", "client's first message, with a bearer token")
    if found := _SCRAM_FIRST.match(data):
        return SaslTokenFound("SCRAM", f"client's first message, user {_limited_text(found[1])}")
    if found := _SCRAM_CHALLENGE.match(data):
        return SaslTokenFound("SCRAM", f"server's challenge, {int(found[1][:9])} iterations")
    if _SCRAM_FINAL.match(data):
        return SaslTokenFound("SCRAM", "client's proof")
    if found := _SCRAM_OUTCOME.match(data):
        return SaslTokenFound(
            "SCRAM", f"server's refusal: {_limited_text(found[1])}" if found[1] else "server's signature: accepted"
        )
    return None


def _find_plain(data: bytes) -> SaslTokenFound | None:
    found = _PLAIN.fullmatch(data)
    if found is None or not all(map(_is_printable_text, found.groups())):
        return None
    password = data.rpartition(b"\0")[2]
    if not _is_printable_text(password):
        return None
    acting = f" acting as {_limited_text(found[1])}" if found[1] and found[1] != found[2] else ""
    return SaslTokenFound(
        "PLAIN", f"user {_limited_text(found[2])}{acting}, with a password of {format_bytes(len(password))} in clear"
    )


def _find_gssapi(data: bytes) -> SaslTokenFound | None:
    if data[0] == _NEGOTIATION and data[1:2] and b"\x30" in data[2:6]:
        return SaslTokenFound("GSSAPI", "SPNEGO answer")
    if data[:2] == _WRAP and data[3:4] == b"\xff":
        return SaslTokenFound("GSSAPI", "Kerberos, wrapped message")
    if data[0] != _APPLICATION:
        return None
    at = 2 + (data[1] & 0x7F if data[1:2] and data[1] & 0x80 else 0)
    if data[at : at + 1] != b"\x06":
        return None
    size = int.from_bytes(data[at + 1 : at + 2], "big")
    name = _MECHANISMS.get(data[at + 2 : at + 2 + size])
    if name is None:
        return SaslTokenFound("GSSAPI", "first token of an unknown mechanism") if size else None
    kind = _KERBEROS_TOKENS.get(data[at + 2 + size : at + 4 + size]) if name.startswith("Kerberos") else None
    return SaslTokenFound("GSSAPI", f"{name} {kind}" if kind else f"{name} token")


def _is_printable_text(data: bytes) -> bool:
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _limited_text(data: bytes) -> str:
    """Bytes of a token as text of limited length, without control characters."""
    return replace_unprintable(data, USER_MAX)


def describe_sasl_frame(frame: bytes) -> str:
    """A description of a frame, with its size field, that is a raw SASL token; empty where it is none.

    A broker that expects no token reads its first two bytes as an API key.
    """
    if int.from_bytes(frame[:4], "big") > SASL_TOKEN_READ_MAX:
        return ""
    found = find_sasl_token(frame[4:])
    if found is None or "unknown" in found.detail:
        return ""
    kind = "Kerberos" if found.detail.startswith("Kerberos") else f"SASL {found.mechanism}"
    key = int.from_bytes(frame[4:6], "big", signed=True)
    return f"a {kind} token without SaslHandshake, which a broker takes for a request with the API key {key}"
