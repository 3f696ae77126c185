"""Serialized spans and metrics in, requests to an OpenTelemetry collector out; why one did not arrive.

The settings are those of OpenTelemetry's variables (OTEL_EXPORTER_OTLP_HEADERS and the like). Delivered is what the
collector answers with a status of 2xx, in an answer that ends (`kwcli.net.http_client`); a redirect is no success and
is not followed. After 429, 502, 503, 504, and where no connection or no answer comes about, the request is sent again,
as the protocol has it: after the time that `Retry-After` gives, or after 1, 2, 4 … s, as long as that fits the time of
one delivery.
"""

from __future__ import annotations

import gzip
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from http import HTTPStatus
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.util.re import parse_env_headers

from decoders.limits import HTTP_ANSWER_S
from decoders.wire.format_and_escape_text import escape_text
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import KeyStoreFile, TlsSettings
from kwcli.net.http_client import HttpAnswer, HttpProblem, HttpProxy, HttpServer, NoAnswer, send_http_request
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    import ssl

__all__ = ["Collector", "NotDelivered", "Signal"]

Signal = Literal["traces", "metrics"]

# Answers after which a request is sent again (OTLP/HTTP, "Retryable Response Codes").
_RETRIED: Final = frozenset({429, 502, 503, 504})
_FIRST_RETRY_S: Final = 1.0
# What is shown of a collector's words.
_SHOWN: Final = 200
_RESPONSES: Final[Mapping[Signal, Callable[[], Any]]] = {
    "traces": ExportTraceServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}
_REJECTED: Final[Mapping[Signal, str]] = {"traces": "rejected_spans", "metrics": "rejected_data_points"}
_PACKERS: Final[Mapping[str, Callable[[bytes], bytes]]] = {"gzip": gzip.compress, "deflate": zlib.compress}


class NotDelivered(Exception):
    """Something did not arrive; the message is the reason. `rejected`: how many of an accepted request; None: all."""

    def __init__(self, reason: str, rejected: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.rejected = rejected


class Collector:
    """A collector at a URL; `where` is its name in messages, without a password. Raises Failure for a bad URL."""

    def __init__(self, url: str, variables: Mapping[str, str]) -> None:
        self._url = _parse_collector_url(url)
        port = self._url.port
        self.where = f"{self._url.hostname}{f':{port}' if port else ''}"
        self._variables = variables
        self._contexts: dict[Signal, ssl.SSLContext | None] = {}
        if self._url.scheme == "https":
            self._contexts = {signal: self._make_tls_context(signal) for signal in _RESPONSES}
        for name in ("", "TRACES_", "METRICS_"):
            _refuse_malformed_headers(
                f"OTEL_EXPORTER_OTLP_{name}HEADERS", variables.get(f"OTEL_EXPORTER_OTLP_{name}HEADERS", "")
            )
        self._packer = {signal: self._find_variable(signal, "COMPRESSION").strip().lower() for signal in _RESPONSES}
        self._proxy = _find_http_proxy(self._url, variables)
        self._stopped = Event()

    def stop(self) -> None:
        """Send nothing again: a delivery that waits for that is over."""
        self._stopped.set()

    def deliver(self, signal: Signal, data: bytes) -> None:
        """Send a serialized request, in HTTP_ANSWER_S with all its attempts. Raises NotDelivered."""
        packer = _PACKERS.get(self._packer[signal])
        body = data if packer is None else packer(data)
        deadline = Deadline(HTTP_ANSWER_S, time.monotonic)
        pause_s = _FIRST_RETRY_S
        while True:
            try:
                answer = self._post_once(signal, body, deadline)
            except _NoConnection as problem:
                reason, wait_s = str(problem), pause_s
            else:
                if 200 <= answer.status < 300:
                    _raise_for_partial_success(signal, answer)
                    return
                reason, wait_s = _describe_http_status(answer), max(_parse_retry_after_s(answer, pause_s), pause_s)
                if answer.status not in _RETRIED:
                    raise NotDelivered(reason)
            if wait_s >= deadline.left() or self._stopped.wait(wait_s):
                raise NotDelivered(reason)
            pause_s *= 2

    def _post_once(self, signal: Signal, body: bytes, deadline: Deadline) -> HttpAnswer:
        parts = self._url
        context = self._contexts.get(signal)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        path = parts.path.rstrip("/").removesuffix("/v1/traces")
        server = HttpServer(parts.hostname or "", port, self.where, context, self._proxy)
        try:
            return send_http_request(
                server, "POST", f"{path}/v1/{signal}", self._make_http_headers(signal), body, deadline
            )
        except NoAnswer as problem:
            raise _NoConnection(str(problem)) from None
        except HttpProblem as problem:
            raise NotDelivered(str(problem)) from None
        except TimeoutError:
            raise NotDelivered(f"it did not answer within {deadline.seconds:.3g} s") from None
        except Failure as failure:
            raise NotDelivered(failure.text.removeprefix(f"{self.where}: ")) from None
        except OSError as error:
            if isinstance(error, ConnectionError):
                raise _NoConnection(f"it cannot be reached: {(error.strerror or str(error)).lower()}") from None
            raise NotDelivered(self._describe_connection_error(error)) from None

    def _describe_connection_error(self, error: OSError) -> str:
        """The reason why a connection failed: that of TLS, or of the network."""
        import ssl

        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {error.verify_message} (OTEL_EXPORTER_OTLP_CERTIFICATE=FILE)"
        if isinstance(error, ssl.SSLError):
            return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
        return f"it cannot be reached: {(error.strerror or str(error)).lower()}"

    def _make_http_headers(self, signal: Signal) -> dict[str, str]:
        headers = {"content-type": "application/x-protobuf"}
        if self._packer[signal] in _PACKERS:
            headers["content-encoding"] = self._packer[signal]
        if self._url.username is not None:
            headers["authorization"] = _make_basic_auth_header(self._url)
        headers.update(parse_env_headers(self._find_variable(signal, "HEADERS"), liberal=True))
        return headers

    def _find_variable(self, signal: Signal, name: str) -> str:
        """The variable of this name, for this signal or for all."""
        own = self._variables.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_{name}")
        return own or self._variables.get(f"OTEL_EXPORTER_OTLP_{name}", "")

    def _make_tls_context(self, signal: Signal) -> ssl.SSLContext:
        from kwcli.net.tls_connect import make_client_context

        authorities, certificate, key = (
            KeyStoreFile(path) if path else None
            for path in (
                self._find_variable(signal, each) for each in ("CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY")
            )
        )
        return make_client_context(TlsSettings(authorities=authorities, certificate=certificate, key=key))


class _NoConnection(Exception):
    """No connection came about, or it broke off; it may be tried again."""


def _parse_collector_url(url: str) -> SplitResult:
    problem = Failure("--otlp is no URL of a collector: write http://localhost:4318", Exit.USAGE)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise problem from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise problem
    return parts


def _refuse_malformed_headers(name: str, text: str) -> None:
    """Raise Failure where a part is no NAME=VALUE: OpenTelemetry's parser would show it, secret or not."""
    if any(part.strip() and "=" not in part for part in text.split(",")):
        raise Failure(f"{name}: a part of it is no NAME=VALUE", Exit.USAGE)


def _make_basic_auth_header(parts: SplitResult) -> str:
    """The header that presents the user and password of a URL."""
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(pair.encode('utf-8', 'surrogateescape')).decode()}"


def _find_http_proxy(url: SplitResult, variables: Mapping[str, str]) -> HttpProxy | None:
    """The proxy that the usual variables name for a URL (`https_proxy`, `no_proxy` …). Raises Failure."""
    names = [name for each in (url.scheme, "all") for name in (f"{each}_proxy", f"{each}_proxy".upper())]
    found = next((name for name in names if variables.get(name)), None)
    if found is None:
        return None
    bypass: Callable[[str, dict[str, str]], bool] = import_module("urllib.request").proxy_bypass_environment
    if bypass(url.netloc.rpartition("@")[2], {"no": variables.get("no_proxy") or variables.get("NO_PROXY", "")}):
        return None
    text = variables[found]
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        if parts.scheme == "http" and parts.hostname:
            return HttpProxy(
                parts.hostname, parts.port or 80, _make_basic_auth_header(parts) if parts.username is not None else None
            )
    except ValueError:
        pass  # no address, or no port; the error may repeat a password
    raise Failure(f"{found} names no HTTP proxy (http://HOST:PORT) that --otlp could use", Exit.USAGE)


def _describe_http_status(answer: HttpAnswer) -> str:
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    text = f"it answered {answer.status} {phrase}".rstrip()
    return f"{text}, and kw follows no redirect" if 300 <= answer.status < 400 else text


def _parse_retry_after_s(answer: HttpAnswer, otherwise: float) -> float:
    """The seconds that Retry-After gives as a number or as a date (RFC 9110, 10.2.3)."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0) if text else otherwise
    except (TypeError, ValueError, OverflowError):
        return otherwise


def _raise_for_partial_success(signal: Signal, answer: HttpAnswer) -> None:
    """Raise NotDelivered for what the collector accepted only in part ("Partial Success")."""
    no_message: type[Exception] = import_module("google.protobuf.message").DecodeError  # which brings no types
    response = _RESPONSES[signal]()
    try:
        response.ParseFromString(answer.body)
    except no_message:
        return  # the status counts
    rejected = getattr(response.partial_success, _REJECTED[signal])
    if rejected > 0:
        words = escape_text(" ".join(response.partial_success.error_message.split())[:_SHOWN])
        raise NotDelivered(f"it rejected them{f': {words}' if words else ''}", rejected)
