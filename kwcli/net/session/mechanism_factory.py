"""SASL settings in, a mechanism for each login out; settings that cannot work are a Failure before anything is sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig, SaslSettings
from kwcli.net.parse_addresses import format_address
from kwcli.net.sasl import SaslRefused, make_mechanism
from kwcli.net.sasl.mechanism import WrappedMechanism
from kwcli.net.session.sasl_authentication import make_failed_login_stop
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.net.sasl import Mechanism
    from kwcli.net.session.oauth_tokens import Credentials

Outcome = TypeVar("Outcome")


class SaslLogin:
    """The logins of one connection. `deadline` bounds requests for tokens and tickets; the connection moves it on."""

    def __init__(
        self, sasl: SaslSettings, address: Address, deadline: Deadline, credentials: Credentials | None
    ) -> None:
        self.deadline = deadline
        self._sasl = sasl
        self._address = address
        self._make_credentials_if_sasl = credentials
        self._made: list[Mechanism] = [self._make_mechanism()]

    def __call__(self) -> Mechanism:
        """A fresh mechanism for one login. Raises Failure."""
        return self._made.pop() if self._made else self._make_mechanism()

    def _make_mechanism(self) -> Mechanism:
        token = self._make_credentials_if_sasl.get_token(self.deadline) if self._make_credentials_if_sasl else None
        try:
            if self._sasl.mechanism == "GSSAPI":
                return _TimedMechanism(self._sasl, self._address[0], self)
            return make_mechanism(self._sasl, self._address[0], token)
        except SaslRefused as refused:
            line = make_failed_login_stop(self._sasl.mechanism, refused).format_line(format_address(self._address))
            raise Failure(line, Exit.REFUSED) from None


class BegunMechanism(WrappedMechanism):
    """A mechanism whose first message, for which a KDC may have to be asked, is made at once."""

    def __init__(self, inner: Mechanism) -> None:
        super().__init__(inner)
        self._first = inner.make_first_token()

    def make_first_token(self) -> bytes:
        return self._first


class _TimedMechanism(WrappedMechanism):
    """GSSAPI within the deadline of a login: its library would wait for a KDC without end."""

    def __init__(self, sasl: SaslSettings, host: str, login: SaslLogin) -> None:
        self._login = login
        super().__init__(self._run_in_time(lambda: make_mechanism(sasl, host, None)))

    def make_first_token(self) -> bytes:
        return self._run_in_time(self._inner.make_first_token)

    def answer_challenge(self, challenge: bytes) -> bytes | None:
        return self._run_in_time(lambda: self._inner.answer_challenge(challenge))

    def _run_in_time(self, step: Callable[[], Outcome]) -> Outcome:
        from kwcli.net.command_deadline import run_in_time

        return run_in_time(step, self._login.deadline, "the Kerberos library (is the KDC silent?) did not answer")


def make_credentials(config: ClientConfig) -> Credentials | None:
    """The source of tokens, shared by all connections of a cluster; None where the login needs no tokens."""
    if config.sasl is None or (config.sasl.oauth is None and config.sasl.aws is None):
        return None
    from kwcli.net.session.oauth_tokens import Credentials

    return Credentials(config.sasl, now_s=time.time, monotonic=time.monotonic)
