"""What the command line says in, the exit code of a proxy that ran out."""

from __future__ import annotations

import ipaddress
from typing import Final

from kwcli.env import Environment
from kwcli.exits import Exit, Failure
from kwcli.net.core.config import ClientConfig
from kwcli.proxy.discovery import Found, discover
from kwcli.proxy.log.feed import Overflow
from kwcli.proxy.log.options import LogOptions
from kwcli.proxy.log.plan import Plan
from kwcli.proxy.log.spawn import start as launch
from kwcli.proxy.running import Proxy, serve
from kwcli.proxy.settings import Settings
from kwcli.proxy.tls.options import Security, check_exposure

# What the log may take to write what it was given, at the end; after a second Ctrl-C.
FINISH_S: Final = 30.0
HURRIED_S: Final = 2.0


def start(
    env: Environment,
    config: ClientConfig,
    port_base: int,
    bind: str,
    advertise: str | None,
    security: Security,
    log: LogOptions,
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
    plan = log.plan(env)
    found = discover(config)
    settings = Settings(config, port_base, bind, advertise or bind, verbose=log.verbose, tls=tls)
    if plan is None:
        return serve(Proxy(env, settings, found))
    return _logged(env, settings, found, plan, log.overflow)


def _logged(env: Environment, settings: Settings, found: Found, plan: Plan, overflow: Overflow) -> int:
    """Run with a log beside it, which is given the time to write what it has."""
    log = launch(plan, overflow=overflow, say=lambda text: env.say(f"kw: {text}"))
    code: int = Exit.INTERRUPTED
    try:
        proxy = Proxy(env, settings, found, log.feed, both=plan.record == "both")
        log.feed.pause = proxy.pause
        code = serve(proxy)
    finally:
        if not log.finish(HURRIED_S if code == Exit.INTERRUPTED else FINISH_S):
            env.say("kw: the log did not get to its end")
    return code


def _anywhere(bind: str) -> bool:
    try:
        return ipaddress.ip_address(bind).is_unspecified
    except ValueError:
        return not bind
