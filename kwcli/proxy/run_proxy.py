"""Options of `kw proxy` in; the exit code of a proxy that has run to its end, out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kwcli.net.config.client_config import ClientConfig
from kwcli.net.listening_sockets import choose_advertised_host
from kwcli.proxy.deciding.served_versions import VersionDecider
from kwcli.proxy.log.log_options import LogOptions
from kwcli.proxy.log.log_protocol import LogPlan
from kwcli.proxy.log.log_queue import Overflow
from kwcli.proxy.log.start_log_process import start as launch
from kwcli.proxy.proxy_server import Proxy, serve_proxy
from kwcli.proxy.proxy_settings import DiscoveredNodes, Listening, ProxySettings, request_nodes_of_cluster
from kwcli.proxy.tls.listener_tls_options import TlsOptions, refuse_unsafe_exposure
from kwcli.run_environment import Environment, Exit, Failure

if TYPE_CHECKING:
    from kwcli.proxy.deciding.ask_deciders import Deciders
    from kwcli.proxy.deciding.faults.fault_options import FaultOptions
    from kwcli.proxy.deciding.faults.rule_files import RuleFiles
    from kwcli.proxy.deciding.script_and_control_options import ScriptAndControlOptions
    from kwcli.proxy.tls.listener_tls_contexts import Inbound


def run_proxy(
    env: Environment,
    config: ClientConfig,
    listening: Listening,
    security: TlsOptions,
    log: LogOptions,
    faults: FaultOptions,
    script_and_control: ScriptAndControlOptions,
    *,
    only_check: bool,
) -> int:
    """Run a proxy to its end, or only check whether one could run; the exit code. Raises Failure."""
    if config.controllers:
        raise Failure("the proxy relays to brokers: give -b, not --bootstrap-controller", Exit.USAGE)
    port_base, bind, advertise, metrics, served, run, heads = listening
    host = choose_advertised_host(bind, advertise)
    refuse_unsafe_exposure(security, config, bind)
    make = partial(_make_inbound_tls, env, security, [host, bind]) if security.uses_tls else None
    plan = log.make_plan(env, recording=script_and_control.control is not None)
    if plan is not None and plan.decodes and config.registry is not None:
        env.report("kw: the log asks no schema registry, so that it keeps up with the traffic: give --schemas DIR")
    rules = faults.read_rules(env.now_ns, controlled=script_and_control.control is not None)
    in_use = script_and_control.check_usage()
    if only_check:
        from kwcli.proxy.check_without_starting import CheckOptions, run_check

        return run_check(env, CheckOptions(config, port_base, bind, host, make, metrics), log.shown.output)
    tls = make() if make is not None else None
    found = request_nodes_of_cluster(config)
    settings = ProxySettings(
        config,
        port_base,
        bind,
        host,
        verbose=log.shown.verbose,
        quiet=log.shown.quiet,
        metrics=metrics,
        tls=tls,
        run=run,
        heads=heads,
    )
    version_decider = None if served is None else VersionDecider(served)
    settings = settings._replace(version_decider=version_decider)
    if in_use:
        from kwcli.proxy.deciding.script_and_control_options import ScriptAndControl

        made = ScriptAndControl(
            env, script_and_control, rules, reveal=log.content.reveal_secrets, version_decider=version_decider
        )
        settings = settings._replace(deciders=made.deciders, rules=made.rules, script_and_control=made)
    else:
        settings = settings._replace(deciders=combine_deciders(version_decider, rules), rules=rules)
    try:
        if plan is None:
            return serve_proxy(Proxy(env, settings, found))
        return _run_with_log(env, settings, found, plan, log.overflow)
    finally:
        if settings.script_and_control is not None:
            settings.script_and_control.close()


def combine_deciders(version_decider: VersionDecider | None, rules: RuleFiles | None) -> Deciders | None:
    """The deciders: `version_decider` first, then the fault rules, for requests that are served; None without any."""
    from kwcli.proxy.deciding.ask_deciders import Decider, Deciders

    found: list[Decider] = []
    if version_decider is not None:
        found.append(version_decider)
    if rules is not None:
        found.append(rules.faults)
    if not found:
        return None
    deciders = Deciders(found)
    if rules is not None:
        rules.faults.rules_changed = deciders.forget_handlings
    return deciders


def _make_inbound_tls(env: Environment, security: TlsOptions, places: list[str]) -> Inbound:
    from kwcli.proxy.tls.listener_tls_contexts import Inbound

    return Inbound(security.build_inbound_settings("proxy"), places, env.variables)


def _run_with_log(
    env: Environment, settings: ProxySettings, found: DiscoveredNodes, plan: LogPlan, overflow: Overflow
) -> int:
    """Run the proxy with a log's process beside it, which gets the time to write what it has."""
    script_and_control = settings.script_and_control
    controlled = script_and_control is not None and script_and_control.server is not None
    plan = plan._replace(report=settings.metrics is not None or controlled, report_records=controlled)
    log = launch(plan, overflow=overflow, say=lambda text: env.report(f"kw: {text}"))

    def serve_with_log() -> int:
        proxy = Proxy(env, settings, found, log.queue, both=plan.record == "both")
        log.queue.pause = proxy.pause
        if plan.report:
            told = proxy.metrics.add_errors if proxy.metrics is not None else lambda _: None
            log.queue.send_reports_to(
                told, script_and_control.ring.add_line if script_and_control is not None else None
            )
        log.queue.events = plan.events
        if proxy.metrics is not None:
            proxy.metrics.dropped = lambda: log.queue.dropped
        return serve_proxy(proxy)

    return log.run_while_logging(env, serve_with_log)
