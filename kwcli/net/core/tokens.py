"""What a token endpoint is sent and what it answers (RFC 6749, 4.4), and tokens without a signature: text only.

No socket and no clock: `kwcli.net.credentials` has those.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any, Final, NamedTuple
from urllib.parse import quote_plus, urlencode

from kwcli.net.core.config import OAuth

# A year: no connection lives as long, and larger numbers may be too large to reckon with.
_LIFETIME_MAX_S: Final = 365 * 86_400
# How much of an answer that is no token is shown.
_SHOWN: Final = 200


class Token(NamedTuple):
    """A token, and for how many seconds it is good (None where the endpoint does not say)."""

    text: str
    lifetime_s: float | None


class TokenRefused(ValueError):
    """The endpoint gave no token; the message says what it said instead, and shows no secret."""


def unsigned(oauth: OAuth, now_s: float) -> str:
    """A JWT without a signature (RFC 7515, appendix A.5), for brokers that are set up to believe it."""
    claims = {"iat": now_s, "exp": now_s + oauth.lifetime_s, **(oauth.claims or {})}
    parts = [{"alg": "none"}, claims]
    return "".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") + "." for part in parts)


def form(oauth: OAuth) -> bytes:
    """The body of the request."""
    fields = {"grant_type": "client_credentials"}
    if oauth.scope:
        fields["scope"] = oauth.scope
    return urlencode(fields).encode()


def authorization(oauth: OAuth) -> str:
    """Who asks: the header that carries client id and secret."""
    client, secret = oauth.client_id or "", oauth.client_secret or ""
    if oauth.url_encoded:
        client, secret = quote_plus(client), quote_plus(secret)
    return "Basic " + b64encode(f"{client}:{secret}".encode()).decode()


def read(status: int, content: bytes) -> Token:
    """The token in an answer. TokenRefused says what is there instead."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise TokenRefused(f"answered {status} with no JSON object{_quoted(content)}")
    token = answer.get("access_token")
    if 200 <= status < 300 and isinstance(token, str) and token:
        return Token(token.strip(), _lifetime_s(answer.get("expires_in")))
    said = ", ".join(str(answer[name]) for name in ("error", "error_description") if answer.get(name))
    if said:
        raise TokenRefused(f"refuses the client: {said[:_SHOWN]} (HTTP {status})")
    raise TokenRefused(f"answered {status} without an access_token")


def _lifetime_s(told: Any) -> float | None:
    """Seconds, where that is what was told: no number below 0, none that is no number, and no more than can matter."""
    if not isinstance(told, int | float) or not told >= 0:
        return None
    return float(min(told, _LIFETIME_MAX_S))


def _quoted(content: bytes) -> str:
    text = " ".join(content[:_SHOWN].decode("utf-8", "replace").split())
    return f": {text}" if text else ""
