"""An address and settings in, connected sockets out, speaking TLS where that is wanted."""

from __future__ import annotations

import socket
import time

from kwcli.env import Exit, Failure
from kwcli.net.config.client_config import Address, ClientConfig, Tls
from kwcli.net.connector.tcp_connect import Place, dial, resolve, text_of
from kwcli.net.errors import diagnosis
from kwcli.net.errors.connection_stops import Cause, ConnectionStop
from kwcli.net.with_timeout import Deadline


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
    def text(self) -> str:
        """`host:port`, and where it is dialled instead."""
        text = text_of(self.address)
        return text if self._target == self.address else f"{text} (dialled {text_of(self._target)})"

    def connect(self, deadline: Deadline, timing: Timing | None = None) -> socket.socket:
        """A connected socket, speaking TLS where that is wanted. Raises Failure."""
        timing = timing or Timing()
        begun = time.perf_counter_ns()
        soon = deadline.sooner(self._config.connect_timeout_s)
        self._resolve(soon)
        resolved = time.perf_counter_ns()
        link = self.dial(soon)
        connected = time.perf_counter_ns()
        timing.resolve_ns, timing.connect_ns = resolved - begun, connected - resolved
        if not self.tls:
            return link
        try:
            secured = self._secured(link, deadline)
        except BaseException:
            link.close()
            raise
        timing.tls_ns = time.perf_counter_ns() - connected
        return secured

    def dial(self, deadline: Deadline) -> socket.socket:
        """A connected socket without TLS. Raises Failure."""
        return dial(self.text, self._resolve(deadline), deadline)

    def alerted(self, error: OSError) -> ConnectionStop | None:
        """With TLS 1.3 a broker's verdict on our certificate comes in answer to our first bytes: what it is."""
        if not self.tls or not getattr(error, "reason", None):
            return None
        from kwcli.net.connector.tls_connect import explained

        tls = self._config.tls or Tls()
        stop = explained(error, tls, tls.server_name or self.address[0])
        return stop if stop.cause is Cause.TLS else None

    def failure(self, stop: ConnectionStop) -> Failure:
        """The line for people."""
        return Failure(stop.line(self.text), stop.code)

    def why_closed(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """More about a peer that closed in answer to ApiVersions; the same end where nothing is found."""
        return stop if self.tls else diagnosis.at_once(self.dial, deadline, stop, sasl=self.sasl)

    def no_broker(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """More about one that no old broker is either."""
        return diagnosis.no_broker(self.connect, deadline, stop)

    def why_refused(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """More about a broker that closed at the first request."""
        return stop if self.sasl else diagnosis.wants_sasl(self.connect, deadline, stop, tls=self.tls)

    def _resolve(self, deadline: Deadline) -> list[Place]:
        if self._places is None:
            self._places = resolve(self._target, self.text, deadline)
        return self._places

    def _secured(self, link: socket.socket, deadline: Deadline) -> socket.socket:
        from kwcli.net.connector.tls_connect import secure

        soon = deadline.sooner(self._config.connect_timeout_s)
        try:
            return secure(link, self.address[0], self._config.tls or Tls(), soon)
        except TimeoutError:
            text = f"{self.text} did not finish the TLS handshake within {soon.seconds:.3g} s"
            raise Failure(f"{text}; does it speak TLS?", Exit.TIMEOUT) from None
        except ConnectionStop as stop:
            if stop.cause is Cause.CLOSED:
                stop = diagnosis.without_tls(self.dial, deadline, stop, sasl=self.sasl)
            elif stop.cause is Cause.NAME:
                stop = self._of_others(stop, soon)
            raise self.failure(stop) from None

    def _of_others(self, stop: ConnectionStop, deadline: Deadline) -> ConnectionStop:
        """Whom a certificate is for that is not for this host, asked by one more connection."""
        from kwcli.net.connector.tls_connect import names
        from kwcli.net.errors.connection_stops import other_name

        tls = self._config.tls or Tls()
        try:
            with self.dial(deadline) as link:
                found = names(link, self.address[0], tls, deadline)
        except (OSError, Failure, ConnectionStop):
            return stop
        return other_name(tls.server_name or self.address[0], found)
