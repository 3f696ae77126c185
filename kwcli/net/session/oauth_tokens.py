"""SASL settings in, tokens for OAUTHBEARER out: as given, unsigned, from a file or an endpoint, or signed by AWS."""

from __future__ import annotations

import importlib
import json
import sys
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, quote_plus, unquote, urlencode, urlsplit

from decoders.limits import HTTP_ANSWER_MAX, HTTP_ANSWER_S
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_size
from kwcli.net.command_deadline import Deadline, run_in_time
from kwcli.net.config.client_config import AwsSettings, OAuthSettings, SaslSettings, TlsSettings
from kwcli.net.config.client_properties import redact_url
from kwcli.pip_extras import pip_command_for_extra
from kwcli.run_environment import Exit, Failure

# A year: no connection lives as long, and larger numbers may be too large to compute with.
_LIFETIME_MAX_S: Final = 365 * 86_400
# How much of an answer that is no token is shown.
_SHOWN: Final = 200


class OAuthToken(NamedTuple):
    """A token and its lifetime in seconds (None where the endpoint does not say)."""

    text: str
    lifetime_s: float | None


class TokenRefused(ValueError):
    """The endpoint gave no token; the message has its answer, without secrets."""


def make_unsigned_token(oauth: OAuthSettings, now_s: float) -> str:
    """A JWT without a signature (RFC 7515, appendix A.5), for brokers that are set up to believe it."""
    claims = {"iat": now_s, "exp": now_s + oauth.lifetime_s, **(oauth.claims or {})}
    parts = [{"alg": "none"}, claims]
    return "".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") + "." for part in parts)


def build_token_request_form(oauth: OAuthSettings) -> bytes:
    """The body of a token request."""
    fields = {"grant_type": "client_credentials"}
    if oauth.scope:
        fields["scope"] = oauth.scope
    return urlencode(fields).encode()


def build_authorization_header(oauth: OAuthSettings) -> str:
    """The Authorization header of a token request, with client id and secret."""
    client, secret = oauth.client_id or "", oauth.client_secret or ""
    if oauth.url_encoded:
        client, secret = quote_plus(client), quote_plus(secret)
    return "Basic " + b64encode(f"{client}:{secret}".encode()).decode()


def read_token_answer(status: int, content: bytes) -> OAuthToken:
    """The token in the endpoint's answer. TokenRefused says what the answer has instead."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise TokenRefused(f"answered {status} with no JSON object{_quote_answer_content(content)}")
    token = answer.get("access_token")
    if 200 <= status < 300 and isinstance(token, str) and token:
        return OAuthToken(token.strip(), _parse_lifetime_s(answer.get("expires_in")))
    said = ", ".join(str(answer[name]) for name in ("error", "error_description") if answer.get(name))
    if said:
        raise TokenRefused(f"refuses the client: {said[:_SHOWN]} (HTTP {status})")
    raise TokenRefused(f"answered {status} without an access_token")


def _parse_lifetime_s(lifetime: Any) -> float | None:
    """A lifetime in seconds, at most a year; None where the endpoint told no number, or one below 0."""
    if not isinstance(lifetime, int | float) or not lifetime >= 0:
        return None
    return float(min(lifetime, _LIFETIME_MAX_S))


def _quote_answer_content(content: bytes) -> str:
    text = " ".join(content[:_SHOWN].decode("utf-8", "replace").split())
    return f": {text}" if text else ""


# Where tokens come from


_PIECE: Final = 64 * 1024
# The part of a token's life in which it is used again: brokers refuse a token that expires on its way.
_GOOD_FOR: Final = 0.8


class Credentials:
    """The tokens of one set of settings: as given, made here, from a file, or requested over HTTPS.

    A token that is still good is not requested again.
    """

    def __init__(self, sasl: SaslSettings, *, now_s: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._oauth = sasl.oauth
        self._aws = sasl.aws
        self._now_s = now_s
        self._monotonic = monotonic
        self._kept: tuple[str, float] | None = None

    def get_token(self, deadline: Deadline) -> str | None:
        """A token that is good now; None for mechanisms without one. Raises Failure."""
        oauth, aws = self._oauth, self._aws
        if aws is not None:
            return self._fetch_unless_kept(lambda: make_token_signed_by_aws(aws, deadline, self._now_s))
        if oauth is None or oauth.token is not None:
            return oauth.token if oauth else None
        if oauth.endpoint is None:
            return make_unsigned_token(oauth, self._now_s())
        return self._fetch_unless_kept(lambda: fetch_token(oauth, deadline))

    def _fetch_unless_kept(self, fetch: Callable[[], OAuthToken]) -> str:
        """The last token while it is good, else a fresh one."""
        if self._kept is None or self._monotonic() >= self._kept[1]:
            asked = self._monotonic()
            token = fetch()
            self._kept = token.text, asked + (token.lifetime_s or 0.0) * _GOOD_FOR
        return self._kept[0]


def make_token_signed_by_aws(aws: AwsSettings, deadline: Deadline, now_s: Callable[[], float]) -> OAuthToken:
    """A token for Amazon MSK, signed (SigV4) by AWS' own library. Raises Failure.

    Signing needs no network, getting credentials may: a role is assumed, an instance asks its metadata service.
    """
    try:
        signer: Any = importlib.import_module("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
    except ImportError as error:
        raise Failure(
            f"AWS_MSK_IAM needs the Python package aws-msk-iam-sasl-signer-python ({error}):"
            f" {pip_command_for_extra('msk')}",
            Exit.USAGE,
        ) from None
    _bound_answers_to_aws()
    more = (aws.session,) if aws.session else ()

    def sign() -> tuple[str, int]:
        if aws.role is not None:
            signed = signer.generate_auth_token_from_role_arn(aws.region, aws.role, *more)
        elif aws.profile is not None:
            signed = signer.generate_auth_token_from_profile(aws.region, aws.profile)
        else:
            signed = signer.generate_auth_token(aws.region)
        text, good_until_ms = signed
        return text, good_until_ms

    try:
        text, good_until_ms = run_in_time(sign, deadline, "AWS did not give credentials")
    except Failure:
        raise
    except AttributeError:  # of None, which the library takes for credentials
        remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name -X sasl.aws.profile=NAME"
        raise Failure(f"AWS_MSK_IAM found no AWS credentials: {remedy}", Exit.REFUSED) from None
    except Exception as error:  # boto's own, of which there are many
        said = " ".join(str(error).split())[:_SHOWN]
        raise Failure(f"AWS gives no credentials: {said}", Exit.REFUSED) from None
    return OAuthToken(text, max(0.0, good_until_ms / 1000 - now_s()))


def _bound_answers_to_aws() -> None:
    """Have AWS' library read answers within the limits of all others: it has no setting for that."""
    try:
        response: Any = importlib.import_module("botocore.awsrequest").AWSResponse
    except ImportError:
        return  # of a signer that asks by other means
    response.content = property(_read_content_up_to_limit)


def _read_content_up_to_limit(response: Any) -> bytes:
    """The content of an answer to AWS' library, which has turned `content` of its class into this."""
    if response._content is None:
        until, content = time.monotonic() + HTTP_ANSWER_S, bytearray()
        read1 = getattr(response.raw, "read1", None)  # which does not wait for a piece to be full
        for piece in response.raw.stream() if read1 is None else iter(lambda: read1(_PIECE), b""):
            content += piece
            if len(content) > HTTP_ANSWER_MAX:
                response.raw.close()
                raise ValueError(f"the answer is longer than {format_size(HTTP_ANSWER_MAX)}")
            if time.monotonic() > until:
                response.raw.close()
                raise TimeoutError(f"the answer did not end within {HTTP_ANSWER_S:.3g} s")
        response._content = bytes(content)
    kept: bytes = response._content
    return kept


def fetch_token(oauth: OAuthSettings, deadline: Deadline) -> OAuthToken:
    """A fresh token from the endpoint, or from the file that `file:` names. Raises Failure."""
    try:
        url = urlsplit(oauth.endpoint or "")
        where = f"{url.hostname}:{url.port}" if url.port is not None else url.hostname
    except ValueError:  # the error repeats a part of the URL, which may be a password
        raise _make_bad_endpoint_failure(oauth.endpoint or "") from None
    if url.scheme == "file":
        return _read_token_file(unquote(url.path))
    if url.scheme not in ("http", "https") or not where:
        raise _make_bad_endpoint_failure(oauth.endpoint or "")
    return _request_token_of_endpoint(oauth, url, f"token endpoint {where}", deadline)


def _make_bad_endpoint_failure(endpoint: str) -> Failure:
    text = f"sasl.oauthbearer.token.endpoint.url {redact_url(endpoint)} is no https:// address"
    return Failure(text, Exit.USAGE)


def _read_token_file(path: str) -> OAuthToken:
    try:
        return OAuthToken(Path(path).read_text(encoding="utf-8").strip(), None)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Failure(f"the token's file {path} cannot be read: {reason}", Exit.USAGE) from None


def _request_token_of_endpoint(
    oauth: OAuthSettings, url: SplitResult, endpoint_text: str, deadline: Deadline
) -> OAuthToken:
    """A token from the endpoint; `endpoint_text` is its name without the URL's user, which may come with a password.

    Raises Failure.
    """
    from kwcli.net.http_client import HttpProblem, HttpServer, send_http_request

    host, tls = url.hostname or "", TlsSettings(authorities=oauth.authorities)
    context = None
    if url.scheme == "https":
        from kwcli.net.tls_connect import make_client_context

        context = make_client_context(tls)
    server = HttpServer(host, url.port or (80 if context is None else 443), endpoint_text, context)
    headers = {
        "Authorization": build_authorization_header(oauth),
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    deadline = deadline.limit_to(HTTP_ANSWER_S)
    try:
        answer = send_http_request(server, "POST", target, headers, build_token_request_form(oauth), deadline)
        return read_token_answer(answer.status, answer.body)
    except TokenRefused as refused:
        remedy = "check sasl.oauthbearer.client.id, …client.secret and …scope"
        raise Failure(f"{endpoint_text} {refused}; {remedy}", Exit.REFUSED) from None
    except HttpProblem as problem:
        text = f"{endpoint_text} gives no token: {problem}; check sasl.oauthbearer.token.endpoint.url"
        raise Failure(text, Exit.UNREACHABLE) from None
    except TimeoutError:
        raise Failure(f"{endpoint_text} did not answer within {deadline.seconds:.3g} s", Exit.TIMEOUT) from None
    except OSError as error:
        raise _make_unreachable_failure(error, tls, host, endpoint_text) from None


def _make_unreachable_failure(error: OSError, tls: TlsSettings, host: str, endpoint_text: str) -> Failure:
    ssl = sys.modules.get("ssl")  # loaded where TLS was asked for
    if ssl is None or not isinstance(error, ssl.SSLError):
        return Failure(f"{endpoint_text} cannot be reached: {error.strerror or error}", Exit.UNREACHABLE)
    from kwcli.net.explain_connection_end import Cause, make_tls_stop

    stop = make_tls_stop(error, tls, host)
    if stop.cause is Cause.NAME:
        stop.remedy = "check the host in sasl.oauthbearer.token.endpoint.url"
    elif "ssl.ca.location" in stop.remedy:
        stop.remedy = "name its authority's certificate by -X https.ca.location=FILE"
    elif "security.protocol" in stop.remedy:
        stop.remedy = "is it http:// rather than https://?"
    return Failure(stop.format_line(endpoint_text), stop.code)
