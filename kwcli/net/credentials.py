"""SASL settings in, OAUTHBEARER's token out: as given, made here, from a file, or asked for over HTTPS."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from kwcli.exits import Exit, Failure
from kwcli.net.core import tokens
from kwcli.net.core.config import OAuth, Sasl, Tls
from kwcli.net.core.secrets import shown_url
from kwcli.net.deadline import Deadline
from kwcli.net.in_time import in_time

_ANSWER_MAX: Final = 1024 * 1024
# The part of a token's life in which it is used again: brokers refuse one that ends while it is on its way.
_GOOD_FOR: Final = 0.8


class Credentials:
    """The tokens of one set of settings; a token that is still good is not asked for again."""

    def __init__(self, sasl: Sasl, *, now_s: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._oauth = sasl.oauth
        self._now_s = now_s
        self._monotonic = monotonic
        self._kept: tuple[str, float] | None = None

    def token(self, deadline: Deadline) -> str | None:
        """A token that is good now; None for mechanisms without one. Raises Failure."""
        oauth = self._oauth
        if oauth is None or oauth.token is not None:
            return oauth.token if oauth else None
        if oauth.endpoint is None:
            return tokens.unsigned(oauth, self._now_s())
        if self._kept is None or self._monotonic() >= self._kept[1]:
            asked = self._monotonic()
            token = ask(oauth, deadline)
            self._kept = token.text, asked + (token.lifetime_s or 0.0) * _GOOD_FOR
        return self._kept[0]


def ask(oauth: OAuth, deadline: Deadline) -> tokens.Token:
    """A fresh token from the endpoint, or from the file that `file:` names. Raises Failure."""
    try:
        url = urlsplit(oauth.endpoint or "")
        where = f"{url.hostname}:{url.port}" if url.port is not None else url.hostname
    except ValueError:  # says what it does not like, which may be a password
        raise _no_address(oauth.endpoint or "") from None
    if url.scheme == "file":
        return _from_file(unquote(url.path))
    if url.scheme not in ("http", "https") or not where:
        raise _no_address(oauth.endpoint or "")
    exchange = _Exchange(oauth, url, f"token endpoint {where}")
    try:
        # A server that sends a byte now and then would never run into a socket's time-out.
        return in_time(lambda: exchange.token(deadline), deadline, f"{exchange.where} did not answer")
    finally:
        exchange.end()


def _no_address(endpoint: str) -> Failure:
    text = f"sasl.oauthbearer.token.endpoint.url {shown_url(endpoint)} is no https:// address"
    return Failure(text, Exit.USAGE)


def _from_file(path: str) -> tokens.Token:
    try:
        return tokens.Token(Path(path).read_text(encoding="utf-8").strip(), None)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Failure(f"the token's file {path} cannot be read: {reason}", Exit.USAGE) from None


class _Exchange:
    """One request to the token endpoint: run in a thread, its outcome read by another."""

    def __init__(self, oauth: OAuth, url: SplitResult, where: str) -> None:
        self._oauth = oauth
        self.where = where  # as people are told: without a user, who may come with a password
        self._url = url
        host, port = url.hostname or "", url.port
        if url.scheme == "https":
            from kwcli.net.tls import client_context

            self._tls = Tls(authorities=oauth.authorities)
            context = client_context(self._tls)
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, context=context)
        else:
            self._connection = http.client.HTTPConnection(host, port)

    def end(self) -> None:
        """Close the connection; a thread that still reads from it then ends as well."""
        with suppress(OSError):
            if self._connection.sock is not None:
                self._connection.sock.shutdown(2)

    def token(self, deadline: Deadline) -> tokens.Token:
        """Ask. Raises Failure."""
        where = self.where
        try:
            status, content = self._ask(deadline.left())
            return tokens.read(status, content)
        except tokens.TokenRefused as refused:
            remedy = "check sasl.oauthbearer.client.id, …client.secret and …scope"
            raise Failure(f"{where} {refused}; {remedy}", Exit.REFUSED) from None
        except TimeoutError:
            raise Failure(f"{where} did not answer within {deadline.seconds:.3g} s", Exit.TIMEOUT) from None
        except OSError as error:
            if self._url.scheme == "https":
                raise self._tls_failure(error, where) from None
            raise Failure(f"{where} cannot be reached: {error.strerror or error}", Exit.UNREACHABLE) from None
        except (http.client.HTTPException, ValueError):
            text = f"{where} does not speak HTTP; check sasl.oauthbearer.token.endpoint.url"
            raise Failure(text, Exit.UNREACHABLE) from None
        finally:
            self._connection.close()

    def _ask(self, timeout_s: float) -> tuple[int, bytes]:
        self._connection.timeout = max(timeout_s, 0.001)
        headers = {
            "Authorization": tokens.authorization(self._oauth),
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            "User-Agent": "kw",
        }
        path = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
        self._connection.request("POST", path, tokens.form(self._oauth), headers)
        response = self._connection.getresponse()
        return response.status, response.read(_ANSWER_MAX)

    def _tls_failure(self, error: OSError, where: str) -> Failure:
        import ssl

        if not isinstance(error, ssl.SSLError):
            return Failure(f"{where} cannot be reached: {error.strerror or error}", Exit.UNREACHABLE)
        from kwcli.net.core.stops import Cause
        from kwcli.net.core.tls_stops import tls_stop

        stop = tls_stop(error, self._tls, self._url.hostname or "")
        if stop.cause is Cause.NAME:
            stop.remedy = "check the host in sasl.oauthbearer.token.endpoint.url"
        elif "ssl.ca.location" in stop.remedy:
            stop.remedy = "name its authority's certificate by -X https.ca.location=FILE"
        elif "security.protocol" in stop.remedy:
            stop.remedy = "is it http:// rather than https://?"
        return Failure(stop.line(where), stop.code)
