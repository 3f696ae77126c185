"""Settings of a proxy in; a line for each thing that must be right before clients connect, and an exit code, out.

Nothing is left behind: connections are closed, ports are free again. Exit codes: 0 all is well, 4 a port, a certificate
or a broker's versions are wrong, 5 a broker cannot be reached, 6 it refuses the login, 124 it does not answer in time.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final

from decoders.apis import NAMES, api
from decoders.errors import strip_traceback
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig
from kwcli.net.listening_sockets import open_listener
from kwcli.net.parse_addresses import format_address
from kwcli.net.session.version_negotiation import find_impossible_versions
from kwcli.output.short_texts import count_of, cut
from kwcli.proxy.node_listeners import ProxyPorts, find_ports_file
from kwcli.proxy.relay.rewrite_addresses import ROWS, find_highest_rewritable_version
from kwcli.run_environment import Environment, Exit, Failure
from kwcli.telemetry.http_server import listen_for_metrics

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Versions
    from kwcli.net.metadata_messages import ClusterNode
    from kwcli.net.session.blocking_connection import BrokerConnection
    from kwcli.proxy.tls.listener_tls_contexts import Inbound


# A cluster id has 22 characters.
_ID_SHOWN_MAX: Final = 64
# This many ports are checked even when the brokers have used up the time: checking them takes next to none.
_PORTS_AT_ONCE: Final = 256


class CheckLine(NamedTuple):
    """One finding of the check; `code` is 0 where all is well, else an exit code."""

    what: str
    text: str
    code: int = Exit.DONE


class CheckOptions(NamedTuple):
    """Settings of the proxy to check. `tls` makes the TLS side of its listeners, or raises Failure; None: no TLS."""

    config: ClientConfig
    port_base: int
    bind: str
    advertise: str
    tls: Callable[[], Inbound] | None = None
    metrics: Address | None = None


def run_check(env: Environment, options: CheckOptions, output: str | None = None) -> int:
    """Print each finding at once, in the format `output`; the exit code is that of the worst one. Raises Failure."""
    if output not in _FORMS:
        raise Failure(f"--check prints text, ndjson or json, not {output}", Exit.USAGE)
    line, between, ends = _FORMS[output]
    codes = set()
    env.stdout.write(ends[:1])
    for number, finding in enumerate(find_check_lines(env.variables, options)):
        finding = finding._replace(text=env.hide_secrets(finding.text))
        env.stdout.write((between if number else b"") + line(finding).encode("utf-8", "backslashreplace"))
        env.stdout.flush()
        codes.add(finding.code)
    env.stdout.write(ends[1:])
    env.stdout.flush()
    order = (Exit.REFUSED, Exit.UNREACHABLE, Exit.TIMEOUT, Exit.FINDINGS)
    return next((code for code in order if code in codes), Exit.DONE)


def _format_check_line_as_text(finding: CheckLine) -> str:
    mark = "fail" if finding.code else "ok"
    return f"{mark:4}  {finding.what:12}  {escape_text(finding.text)}\n"


def _format_check_line_as_json(finding: CheckLine) -> str:
    """A finding as JSON; `code` is the exit code that it alone would give."""
    found = {"kind": "finding", "what": finding.what, "ok": not finding.code, "code": int(finding.code)}
    return json.dumps({**found, "text": finding.text}, ensure_ascii=False)


# Option -o → how to write a finding, the bytes between two findings, the bytes before and after all of them.
_FORMS: Final[Mapping[str | None, tuple[Callable[[CheckLine], str], bytes, bytes]]] = {
    None: (_format_check_line_as_text, b"", b""),
    "text": (_format_check_line_as_text, b"", b""),
    "ndjson": (lambda finding: _format_check_line_as_json(finding) + "\n", b"", b""),
    "json": (_format_check_line_as_json, b",\n", b"[]\n"),
}


def find_check_lines(variables: Mapping[str, str], options: CheckOptions) -> Iterator[CheckLine]:
    """Check the certificate, the brokers and the ports; the findings, in this order."""
    if options.tls is not None:
        yield _check_certificate(options.tls, options.advertise)
    found: dict[int, ClusterNode] = {}
    cluster_id = None
    deadline = Deadline(options.config.timeout_s, time.monotonic)
    try:
        with ClusterClient(options.config, deadline) as cluster:
            first = cluster.connect_to_any()
            yield CheckLine("upstream", f"{format_address(first.address)} answers{_describe_protocol(options.config)}")
            yield from _check_versions("versions", first)
            nodes = _find_nodes_or_login_failure(cluster)
            if isinstance(nodes, Failure):
                yield CheckLine("nodes", f"{nodes.text}; the nodes will be known once a client has logged in")
            else:
                found, cluster_id = dict(nodes), cluster.cluster_id
                named = cut(cluster_id, _ID_SHOWN_MAX) if cluster_id else "unknown"
                code = Exit.DONE if found else Exit.FINDINGS
                yield CheckLine("cluster", f"{count_of(len(found), 'broker')}, cluster id {named}", code)
                for place, node in enumerate(found.values()):
                    if not deadline.left():
                        yield _make_line_that_time_is_up("nodes", len(found) - place, len(found), deadline)
                        break
                    yield from _check_node(cluster, node, first.address)
    except Failure as failure:
        yield CheckLine("upstream", failure.text, failure.code)
    if not options.port_base:
        yield CheckLine("ports", "a free range is taken at the start")
        return
    ports = ProxyPorts(options.port_base, cluster_id, find_ports_file(variables), nodes=found, keep=False)
    yield from _check_ports(options, ports, found, deadline)


def _make_line_that_time_is_up(what: str, left: int, count: int, deadline: Deadline) -> CheckLine:
    text = f"time is up after {deadline.seconds:.3g} s: {left:,} of {count:,} were not checked; give a longer --timeout"
    return CheckLine(what, text, Exit.TIMEOUT)


def _describe_protocol(config: ClientConfig) -> str:
    words = []
    if "SSL" in config.protocol:
        verified = config.tls is None or config.tls.verify
        words.append("over TLS" if verified else "over TLS, its certificate not verified")
    if "SASL" in config.protocol and config.sasl is not None:
        words.append(f"takes the login by {config.sasl.mechanism}")
    return f" {' and '.join(words)}" if words else " in plaintext"


def _find_nodes_or_login_failure(cluster: ClusterClient) -> Mapping[int, ClusterNode] | Failure:
    """The brokers by node id; a Failure as a value where the cluster wants a login, which clients do by themselves."""
    try:
        return cluster.list_nodes()
    except Failure as failure:
        if failure.code != Exit.REFUSED or "SASL" in cluster.config.protocol:
            raise
        return strip_traceback(failure)


def _check_node(cluster: ClusterClient, node: ClusterNode, known: Address) -> Iterator[CheckLine]:
    name = f"node {node.id}"
    try:
        connection = cluster.connect_to_node(node.id)
    except Failure as failure:
        reachable = failure.code == Exit.UNREACHABLE and node.problem is None
        remedy = "; --dial-map dials another address" if reachable else ""
        text = failure.text if "--dial-map" in failure.text else failure.text + remedy
        yield CheckLine(name, text, failure.code)
        return
    if node.address == known:
        yield CheckLine(name, f"{format_address(node.address)} is the bootstrap broker")
    else:
        yield from _check_versions(name, connection)


def _check_versions(name: str, connection: BrokerConnection) -> Iterator[CheckLine]:
    """Findings about APIs and versions of a broker that kw does not know or cannot rewrite; one finding where none."""
    offered = connection.versions
    strange = [*_warn_of_newer_versions(offered), *_warn_of_unknown_apis(offered)]
    strange += (f"offers {each}: no client can use that" for each in find_impossible_versions(connection.offer.answer))
    where = format_address(connection.address)
    if not strange:
        yield CheckLine(name, f"{where} speaks {count_of(len(offered), 'API')}, all known to kw")
    for text in strange:
        yield CheckLine(name, f"{where}: {text}", Exit.FINDINGS)


def _warn_of_newer_versions(offered: Mapping[int, Versions]) -> Iterator[str]:
    for key in ROWS:
        most = find_highest_rewritable_version(key)
        versions = offered.get(key)
        if versions is None or most is None or versions.high <= most:
            continue
        left = "not at all" if versions.low > most else f"up to {most}"
        yield f"{api(key).name} {versions.high} is newer than kw can rewrite: the proxy offers it to clients {left}"


def _warn_of_unknown_apis(offered: Mapping[int, Versions]) -> Iterator[str]:
    for key, versions in offered.items():
        if key not in NAMES:
            yield f"API {key} is not known to kw: if its answers name brokers, clients will bypass the proxy"
        elif key not in ROWS and versions.high > api(key).versions.high:
            yield (
                f"{api(key).name} {versions.high} is newer than kw knows ({api(key).versions.high}): if its answers "
                "name brokers, clients will bypass the proxy"
            )


def _check_ports(
    options: CheckOptions, ports: ProxyPorts, nodes: Collection[int], deadline: Deadline
) -> Iterator[CheckLine]:
    if options.metrics is not None:
        try:
            listen_for_metrics(options.metrics).close()
        except Failure as failure:
            yield CheckLine("metrics", failure.text, Exit.FINDINGS)
    count = 1 + len(nodes)
    wanted = chain(
        [("bootstrap", ports.bootstrap_port)], ((f"node {number}", ports.find_port(number)) for number in nodes)
    )
    free: list[str] = []
    for place, (name, port) in enumerate(wanted):
        if place >= _PORTS_AT_ONCE and not deadline.left():
            yield _make_line_that_time_is_up("ports", count - place, count, deadline)
            return
        if port is None:
            yield CheckLine("ports", f"no port is left for {name}: give a lower --port-base", Exit.FINDINGS)
            continue
        try:
            open_listener(options.bind, port).close()
        except Failure as failure:
            yield CheckLine("ports", f"for {name}: {failure.text}", Exit.FINDINGS)
        else:
            free.append(str(port))
    if len(free) == count:
        yield CheckLine("ports", f"free on {options.bind}: {', '.join(free)}")


def _check_certificate(make: Callable[[], Inbound], advertise: str) -> CheckLine:
    try:
        tls = make()
    except Failure as failure:
        return CheckLine("certificate", failure.text, Exit.FINDINGS)
    if tls.trust_file is not None:
        return CheckLine("certificate", f"made for {advertise}; clients trust {tls.trust_file}")
    ends, names = tls.read_certificate_end_and_names()
    if ends < datetime.now(UTC):
        return CheckLine("certificate", f"it expired on {ends:%Y-%m-%d}: give another --tls-cert", Exit.FINDINGS)
    if not _is_certificate_for_host(names, advertise):
        known = ", ".join(names) or "nobody"
        text = f"it is for {known}, not for {advertise}, which clients are told: see --advertise"
        return CheckLine("certificate", text, Exit.FINDINGS)
    return CheckLine("certificate", f"given, good for {advertise} until {ends:%Y-%m-%d}")


def _is_certificate_for_host(names: list[str], host: str) -> bool:
    try:
        wanted = ipaddress.ip_address(host)
    except ValueError:
        parent = host.lower().partition(".")[2]
        return any(name.lower() == host.lower() or (name[:2] == "*." and name[2:].lower() == parent) for name in names)
    return str(wanted) in names
