"""One message of a SASL login in, the same message without user and secrets out, with the same length and shape.

A reader still sees the same step of the same mechanism: PLAIN (RFC 4616), SCRAM (RFC 5802), OAUTHBEARER (RFC 7628),
GSSAPI (RFC 2743, 4121). A message with none of these shapes is overwritten whole.
"""

from __future__ import annotations

import re
from typing import Final

from decoders.scrubbing.find_text_spelled_by_numbers import SPELLED
from decoders.scrubbing.replace_names import FILLER, NameReplacer

__all__ = ["scrub_token"]

_PLAIN: Final = re.compile(rb"([^\0]*)\0([^\0]+)\0([^\0]*)", re.DOTALL)
# The client's first message: the part before the user, the user, the part after the user.
_FIRST: Final = re.compile(rb"((?:[ny]|p=tls-(?:unique|server-end-point|exporter)),)(?:a=([^,]*))?,(.*)", re.DOTALL)
# SCRAM: pairs of a letter and a value, separated by commas.
_PAIR: Final = re.compile(rb"(?:^|(?<=,))(?:[a-z]|tokenauth)=[^,]*")
_SCRAM: Final = re.compile(rb"(?:[a-z]|tokenauth)=[^,]*(?:,(?:[a-z]|tokenauth)=[^,]*)*\Z", re.DOTALL)
# SCRAM pairs that identify nobody: iterations, the channel binding "none", the mark of a delegation token, errors.
_SAID: Final = re.compile(
    rb"i=\d{1,9}|c=biws|tokenauth=true|e=(?:invalid-encoding|extensions-not-supported|invalid-proof|unknown-user"
    rb"|channel-bindings-dont-match|server-does-support-channel-binding|channel-binding-not-supported"
    rb"|unsupported-channel-binding-type|invalid-username-encoding|no-resources|other-error)"
)
_SIGNS: Final = re.compile(rb"[^=.,\x01]")
_BEARER: Final = re.compile(rb"((?:\x01?(?:auth|host|port)=(?:[Bb]earer )?)|\x01)([^\x01]*)")
# GSSAPI's first token: its DER head, the identifier of a mechanism that Kafka's clients have (Kerberos, Microsoft's
# number of it, SPNEGO), and two bytes that say which message it is.
_GSSAPI: Final = re.compile(
    rb"\x60(?:[\x00-\x7f]|\x81.|\x82..|\x83...)\x06"
    rb"(?:\x09\x2a\x86\x48(?:\x86|\x82)\xf7\x12\x01\x02\x02|\x06\x2b\x06\x01\x05\x05\x02)..",
    re.DOTALL,
)
# A message that protects others (RFC 4121): flags and a byte 255 follow, then counts and its number.
_WRAP: Final = re.compile(rb"\x05\x04.\xff.{12}", re.DOTALL)
_WRAP_MARK: Final = 4
_ANSWER: Final = b"\xa1"


def scrub_token(data: bytes, names: NameReplacer) -> bytes:
    """A message of a SASL login without its user and its secrets, with the same length."""
    kept = _gssapi_header_size(data)
    if kept:
        names.overwrite_secret(data[kept:])
        return data[:kept] + FILLER * (len(data) - kept)
    if found := _PLAIN.fullmatch(data):
        user = names.replace_bytes("users", found[1]) if found[1] else b""
        return b"\0".join((user, names.replace_bytes("users", found[2]), names.overwrite_secret(found[3])))
    if found := _FIRST.fullmatch(data):
        acting = b"" if found[2] is None else b"a=" + names.replace_bytes("users", found[2])
        rest = (
            _scrub_oauthbearer_message(found[3], names)
            if found[3].startswith(b"\1")
            else _scrub_scram_message(found[3], names)
        )
        return found[1] + acting + b"," + rest
    if _SCRAM.match(data):
        return _scrub_scram_message(data, names)
    return names.overwrite_secret(data)


def _scrub_scram_message(data: bytes, names: NameReplacer) -> bytes:
    """A SCRAM message with its letters and lengths kept, its user replaced and its other values overwritten."""
    if not _SCRAM.match(data):
        return names.overwrite_secret(data)

    def scrub_pair(found: re.Match[bytes]) -> bytes:
        pair = found[0]
        if _SAID.fullmatch(pair):
            names.kept.add(pair.decode())
            return pair
        if pair.startswith(b"n="):
            return b"n=" + names.replace_bytes("users", pair[2:])
        names.overwrite_secret(pair[2:])
        letter, _, value = pair.partition(b"=")
        return letter + b"=" + _SIGNS.sub(FILLER, value)

    return _PAIR.sub(scrub_pair, data)


def _scrub_oauthbearer_message(data: bytes, names: NameReplacer) -> bytes:
    """An OAUTHBEARER message (pairs of a name and a value, each after a byte 1) with its values overwritten."""

    def overwrite_pair_value(found: re.Match[bytes]) -> bytes:
        names.kept.add(found[1].decode())
        names.overwrite_secret(found[2])
        return found[1] + _SIGNS.sub(FILLER, found[2])

    return _BEARER.sub(overwrite_pair_value, data)


def _gssapi_header_size(data: bytes) -> int:
    """How many first bytes of a GSSAPI message say which mechanism and which message it is; 0 for other messages."""
    if found := _GSSAPI.match(data) or _WRAP.match(data):
        return _WRAP_MARK if SPELLED.search(found[0]) else found.end()
    return min(2, len(data)) if data.startswith(_ANSWER) else 0
