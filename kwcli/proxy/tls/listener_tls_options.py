"""The options about TLS towards clients in, one value out; and a check that others cannot use the proxy's login."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from decoders.named_tuple import NamedTuple
from kwcli.net.config.client_config import ClientConfig
from kwcli.options import add_options, pass_options_as_value
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.proxy.tls.listener_tls_contexts import TlsIn


class TlsOptions(NamedTuple):
    """The options about TLS as given. `certificate`, `key` and `client_ca` are files; each of them implies `tls_in`."""

    tls_in: bool
    certificate: str | None
    key: str | None
    client_ca: str | None
    allow_anonymous: bool = False

    @property
    def uses_tls(self) -> bool:
        """Whether listeners speak TLS."""
        return self.tls_in or any((self.certificate, self.key, self.client_ca))

    def build_inbound_settings(self, program: str) -> TlsIn:
        """The TLS settings of the listeners of a program, `proxy` or `mock`."""
        from kwcli.proxy.tls.listener_tls_contexts import TlsIn

        return TlsIn(self.certificate, self.key, self.client_ca, program)


def refuse_unsafe_exposure(security: TlsOptions, config: ClientConfig, bind: str) -> None:
    """Raise Failure (usage) where any client from another machine could use the proxy's credentials for the cluster."""
    from kwcli.net.listening_sockets import is_loopback  # loads asyncio

    if is_loopback(bind) or security.client_ca or security.allow_anonymous:
        return
    if config.sasl is not None and "SASL" in config.protocol:
        who = f"as {config.sasl.username}" if config.sasl.username else f"by the proxy's {config.sasl.mechanism} login"
    elif "SSL" in config.protocol and config.tls is not None and config.tls.certificate is not None:
        who = "by the proxy's certificate"
    else:
        return
    text = f"--bind {bind} would let anyone who reaches it act on the cluster {who}"
    raise Failure(f"{text}: give --tls-client-ca FILE, or --allow-anonymous if that is meant", Exit.USAGE)


_FILE = click.Path(dir_okay=False)
_OPTIONS = (
    click.option("--tls-in", is_flag=True, help="Speak TLS with clients; kw makes an authority and certificates."),
    click.option("--tls-cert", "certificate", type=_FILE, metavar="FILE", help="Speak TLS with your own certificate."),
    click.option("--tls-key", "key", type=_FILE, metavar="FILE", help="Key of --tls-cert, if in another file."),
    click.option(
        "--tls-client-ca", "client_ca", type=_FILE, metavar="FILE", help="Require client certificates of these CAs."
    ),
)
_ANONYMOUS = click.option(
    "--allow-anonymous",
    is_flag=True,
    help="With --bind: let other machines use the proxy's login without one of their own.",
)


def security_options(command: Callable[..., Any], *, lends_login: bool = True) -> Callable[..., Any]:
    """Add the options, which the command gets as `security`. `lends_login`: clients may use the program's own login."""
    more = [_ANONYMOUS] if lends_login else []
    return add_options(pass_options_as_value("security", TlsOptions, TlsOptions._fields)(command), *_OPTIONS, *more)
