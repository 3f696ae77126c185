"""GSSAPI (RFC 4752): a Kerberos login in, the steps of a security context out. Needs the Python package `gssapi`.

The context itself comes from the system's Kerberos library, which asks the KDC over the network by its own rules.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, Final

from kwcli.net.config.client_config import SaslSettings
from kwcli.net.sasl.mechanism import SaslRefused
from kwcli.pip_extras import pip_command_for_extra
from kwcli.run_environment import Exit, Failure

_NO_TICKET: Final = "get a ticket by kinit, or name -X sasl.kerberos.keytab=FILE and sasl.kerberos.principal"
_OTHER: Final = "check sasl.kerberos.service.name, the broker's host name and krb5.conf (KRB5_CONFIG)"
# The library's lines say a number and its meaning, first of the major code, then of the minor one.
_SAID: Final = re.compile(r"Minor \(\d+\): ([^\n]+)")
_NO_LAYER: Final = 1  # the bit for no security layer, which is all that Kafka's brokers do


class Gssapi:
    """A GSSAPI login by keytab where `sasl` names one, else by the user's ticket cache."""

    name = "GSSAPI"
    reason: str | None = None

    def __init__(self, sasl: SaslSettings, host: str) -> None:
        try:
            self._gssapi: Any = importlib.import_module("gssapi")
        except ImportError as error:
            raise Failure(
                f"GSSAPI needs the Python package gssapi and the system's Kerberos library ({error}): "
                + pip_command_for_extra("kerberos"),
                Exit.USAGE,
            ) from None
        self.done = False
        self._context = self._call_gssapi(lambda: self._start_context(sasl, host))

    def _start_context(self, sasl: SaslSettings, host: str) -> Any:
        gssapi = self._gssapi
        target = gssapi.Name(f"{sasl.service}@{host}", gssapi.NameType.hostbased_service)
        own = gssapi.Name(sasl.principal, gssapi.NameType.kerberos_principal) if sasl.principal else None
        store = {"client_keytab": sasl.keytab, "ccache": "MEMORY:kw"} if sasl.keytab else None
        credentials = gssapi.Credentials(name=own, usage="initiate", store=store) if own or store else None
        return gssapi.SecurityContext(name=target, creds=credentials, usage="initiate", mech=gssapi.MechType.kerberos)

    def make_first_token(self) -> bytes:
        token: bytes | None = self._call_gssapi(self._context.step)
        return token or b""

    def answer_challenge(self, challenge: bytes) -> bytes | None:
        if self.done:
            if challenge:
                raise SaslRefused("the server goes on after the end of the GSSAPI exchange")
            return None
        if not self._context.complete:
            token: bytes | None = self._call_gssapi(lambda: self._context.step(challenge))
            return token or b""
        offered: bytes = self._call_gssapi(lambda: self._context.unwrap(challenge).message)
        if len(offered) != 4 or not offered[0] & _NO_LAYER:
            raise SaslRefused("the server wants a GSSAPI security layer, which Kafka does not have")
        self.done = True
        chosen = bytes([_NO_LAYER, 0, 0, 0])
        wrapped: bytes = self._call_gssapi(lambda: self._context.wrap(chosen, False).message)
        return wrapped

    def _call_gssapi(self, question: Callable[[], Any]) -> Any:
        errors = self._gssapi.exceptions
        try:
            return question()
        except errors.GSSError as error:
            said = " ".join((_SAID.findall(str(error)) or [str(error)])[-1].split())
            missing = isinstance(error, errors.MissingCredentialsError | errors.ExpiredCredentialsError)
            remedy = _NO_TICKET if missing else _OTHER
            raise SaslRefused(f"Kerberos says: {said}; {remedy}") from None
