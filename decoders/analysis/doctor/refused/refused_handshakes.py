"""Observations in, findings about TLS handshakes that one side breaks off with an alert, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import NS, Case, Found, escape_for_sentence, next_less_severe
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.kinds.tls_alerts import describe_tls_refusal
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.read_dimension_values import host_of

__all__ = ["REFUSED_HANDSHAKES", "is_kafka_address", "speaks_protocol"]

# Ports that end so are Kafka's by custom: a TLS hello that is refused there concerns Kafka.
_CUSTOMARY: Final = "909"
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1", "[::1]", "localhost"})
# Lower ports are those of other protocols.
_REGISTERED_MIN: Final = 1024
# What the handshakes show that one finding is about: they are alike in it.
_SHOWN: Final = ("certificate", "offered", "sni")
# Programs connect to all brokers when they start, some a moment before the first is refused.
_AT_THAT_TIME_NS: Final = 5 * NS


def speaks_protocol(case: Case, broker: str, what: str) -> bool:
    """Whether a connection to an address spoke TLS, or plaintext."""
    return case.seen.get_observation("speaks", broker, what) is not None


def is_kafka_address(case: Case, broker: str) -> bool:
    """Whether an address is a broker's by its port, or because the capture has nothing else that could be Kafka."""
    if broker in case.brokers or broker[:-1].endswith(_CUSTOMARY):
        return True
    return not case.brokers and int(broker.rpartition(":")[2]) >= _REGISTERED_MIN


def _is_listener_of_brokers(case: Case, host: str, address: str) -> bool:
    """Whether an address that speaks TLS is another listener of brokers that are known by a plaintext one.

    It is on the machine of a broker. Where that is this machine (127.0.0.1), on which many programs listen, the same
    port is there on several of them, or the client `host` speaks TLS to several of them, as clients of a cluster do.
    """
    hosts, port = set(map(host_of, case.brokers)), address.rpartition(":")[2]
    if host_of(address) not in hosts or int(port) < _REGISTERED_MIN:
        return False
    alike = {where for (where, what), _ in case.seen.items_of_kind("speaks") if what == "TLS"} | {address}
    alike = {host_of(where) for where in alike if where.rpartition(":")[2] == port}
    if len(alike & hosts) > 1 or host_of(address) not in _THIS_MACHINE:
        return True
    used = {host_of(where) for (who, where), _ in case.seen.items_of_kind("tls-lasts") if who == host}
    used |= {host_of(where) for (who, where, *_), _ in case.seen.items_of_kind("tls-alert") if who == host}
    return len(used & hosts) > 1


def _find_refused_handshakes(case: Case) -> Iterator[Found]:
    """TLS handshakes that one side breaks off with an alert: one finding for all hosts at which they are alike."""
    found: dict[Any, dict[str, Observation]] = defaultdict(dict)
    for (host, broker, alert, whose), seen in case.seen.items_of_kind("tls-alert"):
        if is_kafka_address(case, broker) or _is_listener_of_brokers(case, host, broker):
            shown = tuple(tuple(sorted(seen.names.get(name, ()))) for name in _SHOWN)
            found[broker, alert, whose, shown, "shown" in seen.sums][host] = seen
    for (broker, alert, whose, *_), by_host in found.items():
        hosts, whole = sorted(by_host), Observation()
        for seen in by_host.values():
            whole.merge(seen)
        name, named = alert.removeprefix("alert "), escape_for_sentence(hosts)
        about: dict[str, Any] = {"clients": hosts, "broker": broker, "alert": name}
        about["node_id"] = case.nodes.get(broker, case.nodes.get(host_of(broker)))
        about["who"], about["other"] = (named, broker) if whose == "client" else (broker, named)
        about["breaks"] = "break" if whose == "client" and len(hosts) > 1 else "breaks"
        before = _find_certificate_before(case, hosts, broker, whole) if whose == "client" else None
        about["why"], about["remedy"] = describe_tls_refusal(hosts, broker, name, whose, whole, before)
        about["others_served"] = _describe_lasting_tls(case, hosts, broker, whole)
        about["tally"] = f"{whole.count:,} connection{'s' if whole.count > 1 else ''}"
        few = whole.count < case.limits["errors.few"]
        severity = FINDINGS["tls-refused"].severity
        yield Found("tls-refused", next_less_severe(severity) if few else severity, whole, about)


def _find_certificate_before(case: Case, hosts: list[str], broker: str, alerts: Observation) -> str | None:
    """The other certificate that a broker showed these hosts, if it showed one, on connections that went on before."""
    found: set[str] = set()
    for (host, where), its in case.seen.items_of_kind("tls-lasts"):
        if where == broker and host in hosts and its.most["begun"] < alerts.first:
            found.update(its.names.get("certificate", ()))
    found.difference_update(alerts.names.get("certificate", ()))
    return found.pop() if len(found) == 1 else None


def _describe_lasting_tls(case: Case, hosts: list[str], broker: str, alerts: Observation) -> str | None:
    """Words for TLS connections that go on meanwhile: older ones of these hosts to the broker, those to others."""
    words = []
    lasting = dict(case.seen.items_of_kind("tls-lasts"))
    own = [lasting[host, broker] for host in hosts if (host, broker) in lasting]
    if any(its.last > alerts.first > -its.most["begun-first"] for its in own):
        words.append("connections from before go on")
    refused = {where for (who, where, *_), _ in case.seen.items_of_kind("tls-alert") if who in hosts}
    others = sorted(
        {
            where
            for (who, where), its in lasting.items()
            if who in hosts and where not in refused and its.most["begun"] > alerts.first - _AT_THAT_TIME_NS
        }
    )
    if others:
        these = "this host" if len(hosts) == 1 else "these hosts"
        words.append(f"{escape_for_sentence(others)} take{'s' if len(others) == 1 else ''} new ones of {these}")
    return "; " + ", and ".join(words) if words else None


REFUSED_HANDSHAKES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_refused_handshakes,)
