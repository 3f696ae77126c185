"""What the command line says in, the exit code of a proxy that ran out."""

from __future__ import annotations

import ipaddress

from kwcli.env import Environment
from kwcli.exits import Exit, Failure
from kwcli.net.core.config import ClientConfig
from kwcli.proxy.discovery import discover
from kwcli.proxy.running import Proxy, serve
from kwcli.proxy.settings import Settings
from kwcli.proxy.tls.options import Security, check_exposure


def start(
    env: Environment,
    config: ClientConfig,
    port_base: int,
    bind: str,
    advertise: str | None,
    verbose: int,
    security: Security,
) -> int:
    """Run a proxy to its end; the exit code. Raises Failure."""
    if config.controllers:
        raise Failure("the proxy stands before brokers: give -b, not --bootstrap-controller", Exit.USAGE)
    if advertise is None and _anywhere(bind):
        raise Failure(f"--bind {bind} listens on every address: --advertise HOST says which clients use", Exit.USAGE)
    check_exposure(security, config, bind)
    tls = None
    if security.tls:
        from kwcli.proxy.tls.inbound import Inbound, TlsIn

        asked = TlsIn(security.certificate, security.key, security.client_ca)
        tls = Inbound(asked, [advertise or bind, bind], env.variables)
    found = discover(config)
    settings = Settings(config, port_base, bind, advertise or bind, verbose=verbose, tls=tls)
    return serve(Proxy(env, settings, found))


def _anywhere(bind: str) -> bool:
    try:
        return ipaddress.ip_address(bind).is_unspecified
    except ValueError:
        return not bind
