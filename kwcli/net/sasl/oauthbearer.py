"""OAUTHBEARER (RFC 7628): a token in, the message that carries it out, and the server's reason when it says no.

A server that refuses says why in JSON, expects one byte 01 in answer, and only then ends the exchange.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from kwcli.net.sasl.mechanism import SaslRefused

_SEPARATOR: Final = "\x01"
_NAME: Final = re.compile(r"[A-Za-z]+")
_TEXT: Final = re.compile(r"[\x20-\x7e\t\r\n]+")
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")  # RFC 6750, 2.1
_REASON_SIZE: Final = 64 * 1024


class OAuthBearer:
    """A login by a bearer token; `extensions` go with it (KIP-342)."""

    name = "OAUTHBEARER"

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        if not _TOKEN.fullmatch(token):
            raise SaslRefused("the token has characters that are not allowed in a bearer token")
        for name, text in (extensions or {}).items():
            if name == "auth" or not _NAME.fullmatch(name) or not _TEXT.fullmatch(text):
                raise SaslRefused(f"{name!r} with its value is no extension of OAUTHBEARER: letters = printable text")
        pairs = {"auth": f"Bearer {token}", **(extensions or {})}
        fields = "".join(f"{name}={text}{_SEPARATOR}" for name, text in pairs.items())
        self._message = f"n,,{_SEPARATOR}{fields}{_SEPARATOR}".encode()
        self._token = token
        self.done = False
        self.reason: str | None = None

    def make_first_token(self) -> bytes:
        return self._message

    def answer_challenge(self, challenge: bytes) -> bytes | None:
        if self.reason is not None:
            raise SaslRefused(self.reason)
        if not challenge:
            self.done = True
            return None
        until = _format_token_expiry(self._token)
        self.reason = _format_refusal_reason(challenge) + (f" (the token was good until {until})" if until else "")
        return _SEPARATOR.encode()


def _format_refusal_reason(challenge: bytes) -> str:
    try:
        value = json.loads(challenge[:_REASON_SIZE])
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return "the server refuses the token"
    status = value.get("status", "no status")
    rest = [f"{name} {value[name]}" for name in ("scope", "openid-configuration") if value.get(name)]
    return f"the server refuses the token: {', '.join([str(status), *rest])}"


def _format_token_expiry(token: str) -> str | None:
    """The time at which a JWT expires, in UTC; None for other tokens."""
    parts = token.split(".")
    try:
        claims = json.loads(b64decode(parts[1] + "===", b"-_"))
        return datetime.fromtimestamp(float(claims["exp"]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, OSError, RecursionError):
        return None
