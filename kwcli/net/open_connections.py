"""An address in, a connected stream out: by TCP or TLS, with the addresses of --dial-map."""

from __future__ import annotations

import _thread
import errno
import socket
import time
from typing import Any, Final

from decoders.errors import strip_traceback
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig, TlsSettings
from kwcli.net.explain_connection_end import (
    NO_BROKER,
    Cause,
    ConnectionStop,
    explain_failed_handshake,
    explain_late_close,
    explain_silence,
    explain_silent_close,
)
from kwcli.net.parse_addresses import find_address_problem, format_address
from kwcli.run_environment import Exit, Failure

# An address from getaddrinfo: its family, and the argument of connect().
Place = tuple[int, tuple[Any, ...]]

_REASONS: Final = {
    errno.ECONNREFUSED: ("refused the connection", "is the broker running, and is it the right port?"),
    errno.ECONNRESET: ("closed the connection at once without a word", NO_BROKER),
    errno.EHOSTUNREACH: ("is unreachable", "no route to the host: VPN, firewall or wrong address?"),
    errno.EMFILE: ("cannot be reached: too many files are open", "raise the limit: ulimit -n"),
    errno.ENETUNREACH: ("is unreachable", "no route to its network: VPN, firewall or wrong address?"),
    errno.EACCES: ("is unreachable", "a firewall of this machine forbids it"),
    errno.EPERM: ("is unreachable", "a firewall of this machine forbids it"),
}


def resolve_address(address: Address, address_text: str, deadline: Deadline) -> list[Place]:
    """Every address that the name has, in the system's order. Raises Failure, which begins with `address_text`."""
    host, port = address
    problem = find_address_problem(address)  # the proxy's listeners lead to addresses that brokers named
    if problem is not None:
        raise Failure(f"{address_text}: {problem}", Exit.UNREACHABLE)
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return [(family, (host, port))]
    found = _look_up_in_time(host, port, deadline)
    if found is None:
        raise Failure(
            f"{address_text}: the name server did not answer within {_format_deadline(deadline)}", Exit.TIMEOUT
        )
    if isinstance(found, Exception):
        raise Failure(f"{address_text}: no address for {host!r}; {_find_lookup_remedy(found)}", Exit.UNREACHABLE)
    return found


def _look_up_in_time(host: str, port: int, deadline: Deadline) -> list[Place] | Exception | None:
    """getaddrinfo's answer or error; None where it gave none in time."""
    # ASCII names go as bytes: the codec for other names takes 5 ms to load.
    name = host.encode("ascii") if host.isascii() else host
    result: list[list[Place] | Exception] = []
    waiting = _thread.allocate_lock()
    waiting.acquire()

    def run_getaddrinfo() -> None:
        try:
            rows = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            result.append(list(dict.fromkeys((row[0], row[4]) for row in rows)))
        except (OSError, UnicodeError) as error:
            result.append(strip_traceback(error))
        finally:
            waiting.release()

    _thread.start_new_thread(run_getaddrinfo, ())
    waiting.acquire(timeout=deadline.left())
    return result[0] if result else None


def _find_lookup_remedy(error: Exception) -> str:
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return "the name server cannot be reached: is the network up?"
    if isinstance(error, UnicodeError):
        return "it cannot be a host name"
    return "is it spelt right? (containers and port-forwards: --dial-map)"


def dial_first_place(address_text: str, places: list[Place], deadline: Deadline) -> socket.socket:
    """A socket connected to the first of these places that accepts, the time left shared among them. Raises Failure."""
    failures: list[OSError] = []
    for left_over, (family, place) in zip(range(len(places), 0, -1), places, strict=True):
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # IPv6 on a machine without it
            failures.append(strip_traceback(error))
            continue
        try:
            connection.settimeout(max(deadline.left() / left_over, 0.001))
            connection.connect(place)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            connection.close()
            failures.append(strip_traceback(error))
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise make_unreachable_failure(address_text, failures, deadline)


def make_unreachable_failure(address_text: str, failures: list[OSError], deadline: Deadline) -> Failure:
    """The Failure for places that could not be connected to: a refusal says more than a silence."""
    known = next((error for error in failures if not isinstance(error, TimeoutError)), None)
    if known is None:
        text = f"{address_text} did not take the connection within {_format_deadline(deadline)}"
        return Failure(f"{text}; is the host up, and does a firewall drop packets?", Exit.TIMEOUT)
    text, remedy = _REASONS.get(known.errno or 0, (f"cannot be reached: {known.strerror or known}", ""))
    return Failure(f"{address_text} {text}" + (f"; {remedy}" if remedy else ""), Exit.UNREACHABLE)


def _format_deadline(deadline: Deadline) -> str:
    return f"{deadline.seconds:.3g} s"


# Connections with the client's settings


def make_own_proxy_head(config: ClientConfig) -> bytes:
    """The PROXY head of a connection that kw makes for itself: it names nobody. Empty where none is sent."""
    if config.send_proxy is None:
        return b""
    from decoders.protocols.make_proxy_head import make_proxy_head

    return make_proxy_head(config.send_proxy)


class Timing:
    """How long each step of opening a connection took, in ns; 0 for a step that was not needed."""

    __slots__ = ("auth_ns", "connect_ns", "negotiate_ns", "resolve_ns", "tls_ns")

    def __init__(self) -> None:
        self.resolve_ns = self.connect_ns = self.tls_ns = self.negotiate_ns = self.auth_ns = 0


class Connector:
    """The way to one broker. The name is resolved once."""

    def __init__(self, address: Address, config: ClientConfig) -> None:
        self.address = address
        self.tls = config.protocol in ("SSL", "SASL_SSL")
        self.sasl = config.protocol in ("SASL_PLAINTEXT", "SASL_SSL")
        self._config = config
        self._target = config.dial_map.get(address, address)
        self._places: list[Place] | None = None

    @property
    def address_text(self) -> str:
        """The address as text, `host:port`, and the address that is dialled instead."""
        text = format_address(self.address)
        return text if self._target == self.address else f"{text} (dialled {format_address(self._target)})"

    def connect(self, deadline: Deadline, timing: Timing | None = None) -> socket.socket:
        """A connected socket, speaking TLS where that is wanted. Raises Failure."""
        timing = timing or Timing()
        begun = time.perf_counter_ns()
        soon = deadline.limit_to(self._config.connect_timeout_s)
        self._resolve_address(soon)
        resolved = time.perf_counter_ns()
        link = self.dial_first_place(soon)
        connected = time.perf_counter_ns()
        timing.resolve_ns, timing.connect_ns = resolved - begun, connected - resolved
        if not self.tls:
            return link
        try:
            secured = self._start_tls(link, deadline)
        except BaseException:
            link.close()
            raise
        timing.tls_ns = time.perf_counter_ns() - connected
        return secured

    def dial_first_place(self, deadline: Deadline) -> socket.socket:
        """A connected socket without TLS, behind its PROXY head. Raises Failure."""
        link = dial_first_place(self.address_text, self._resolve_address(deadline), deadline)
        head = make_own_proxy_head(self._config)
        try:
            link.sendall(head)
        except OSError as error:
            link.close()
            raise make_unreachable_failure(self.address_text, [strip_traceback(error)], deadline) from None
        return link

    def find_tls_alert(self, error: OSError) -> ConnectionStop | None:
        """The broker's alert about our certificate, which TLS 1.3 brings only after our first bytes; else None."""
        if not self.tls or not getattr(error, "reason", None):
            return None
        from kwcli.net.tls_connect import explain_tls_error

        tls = self._config.tls or TlsSettings()
        stop = explain_tls_error(error, tls, tls.server_name or self.address[0])
        return stop if stop.cause is Cause.TLS else None

    def make_failure(self, stop: ConnectionStop) -> Failure:
        """The Failure with the line for people."""
        return Failure(stop.format_line(self.address_text), stop.code)

    def explain_close_after_api_versions(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """More about a peer that closed in answer to ApiVersions; `stop` itself where nothing is found."""
        return stop if self.tls else explain_silent_close(self.dial_first_place, deadline, stop, sasl=self.sasl)

    def explain_close_of_no_broker(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """More about a peer that closed in answer to ApiVersions, and is no old broker either."""
        return explain_silence(self.connect, deadline, stop)

    def explain_close_at_first_request(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """More about a broker that closed at the first request."""
        return stop if self.sasl else explain_late_close(self.connect, deadline, stop, tls=self.tls)

    def _resolve_address(self, deadline: Deadline) -> list[Place]:
        if self._places is None:
            self._places = resolve_address(self._target, self.address_text, deadline)
        return self._places

    def _start_tls(self, link: socket.socket, deadline: Deadline) -> socket.socket:
        from kwcli.net.tls_connect import start_tls

        soon = deadline.limit_to(self._config.connect_timeout_s)
        try:
            return start_tls(link, self.address[0], self._config.tls or TlsSettings(), soon)
        except TimeoutError:
            text = f"{self.address_text} did not finish the TLS handshake within {soon.seconds:.3g} s"
            raise Failure(f"{text}; does it speak TLS?", Exit.TIMEOUT) from None
        except ConnectionStop as stop:
            if stop.cause is Cause.CLOSED:
                stop = explain_failed_handshake(self.dial_first_place, deadline, stop, sasl=self.sasl)
            elif stop.cause is Cause.NAME:
                stop = self._add_certificate_names_to_stop(stop, soon)
            raise self.make_failure(stop) from None

    def _add_certificate_names_to_stop(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """The stop with the names in a certificate that is not for this host, asked for by one more connection."""
        from kwcli.net.explain_connection_end import make_other_name_stop
        from kwcli.net.tls_connect import read_certificate_names

        tls = self._config.tls or TlsSettings()
        try:
            with self.dial_first_place(deadline) as link:
                found = read_certificate_names(link, self.address[0], tls, deadline)
        except (OSError, Failure, ConnectionStop):
            return stop
        return make_other_name_stop(tls.server_name or self.address[0], found)
