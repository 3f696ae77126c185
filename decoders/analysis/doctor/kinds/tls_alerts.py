"""An alert of TLS and what the handshake shows in clear in; why it was likely sent, and what to do, out."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from decoders.analysis.doctor.diagnosis_input import escape_for_sentence
from decoders.analysis.read_dimension_values import host_of
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation

__all__ = ["describe_tls_refusal"]

_EXPIRED: Final = "certificate_expired"
_UNKNOWN: Final = "unknown_ca"
_UNREAD: Final = "encrypted alert"
# Alerts that say no more than that a certificate was not taken.
_REFUSED: Final = frozenset(
    {"bad_certificate", "certificate_unknown", "unsupported_certificate", "certificate_revoked"}
)
_CERTIFICATE: Final = _REFUSED | {_EXPIRED, _UNKNOWN, _UNREAD, "bad_certificate_status_response"}
_NONE_SHOWN: Final = frozenset({"bad_certificate", "certificate_required", "no_certificate"})
_COMPARE: Final = "compare protocols and ciphers of both sides (ssl.enabled.protocols, ssl.cipher.suites)"
_TRUST: Final = "ssl.truststore.location; librdkafka: ssl.ca.location"
_CHECK: Final = "look whether its end has come, whether its names fit, and whether the other side knows who issued it"


def describe_tls_refusal(
    hosts: list[str], broker: str, alert: str, whose: str, seen: Observation, before: str | None = None
) -> tuple[str | None, str]:
    """Words for why a side (`whose`) sent an alert, and what to do; only what the alert or the handshake says.

    `hosts` are the clients'; `before`: the certificate that the broker had on connections before that went on.
    """
    offered = max(seen.names.get("offered", {"": 0}))
    who = escape_for_sentence(hosts)
    if alert == "protocol_version":
        why = f", which offers TLS {offered}" if offered else None
        return why, f"have both sides take one version of TLS in common (ssl.enabled.protocols of {broker})"
    if whose == "server" and alert in _NONE_SHOWN and "shown" not in seen.sums:
        likely = "" if alert == "certificate_required" else "likely "
        return (
            f", {likely}as it wants a certificate of the client (ssl.client.auth), which shows none",
            f"give the client a key and a certificate that {broker} trusts: ssl.keystore.location",
        )
    if alert not in _CERTIFICATE:
        from decoders.tls.explain_first_record import remedy_of_alert_name  # few captures need it

        return None, remedy_of_alert_name(alert) or _COMPARE
    if whose == "server":
        return _describe_client_certificate(who, broker, alert)
    refuse = "it refuses" if len(hosts) == 1 else "they refuse"
    why = f", {'most likely because' if alert == _UNREAD else 'as'} {refuse} the certificate"
    shown = max(seen.names.get("certificate", {"": 0}))
    more, remedy = _describe_refused_certificate(who, broker, alert, seen, (shown, before or shown))
    return why + more, remedy


def _describe_refused_certificate(
    who: str, broker: str, alert: str, seen: Observation, certificates: tuple[str, str]
) -> tuple[str, str]:
    """Words for the certificate of a broker that clients refuse, which may be another one than before."""
    shown, before = certificates
    subject, hosts, issuer, until = _split_certificate(shown)
    name = max(seen.names.get("sni", {"": 0}))
    why = f" of {escape_for_sentence(subject)}" if subject else ""
    if alert == _EXPIRED or (until and until < format_rfc3339(seen.first)):
        why += f", which was valid until {until}" if until else ""
        return why, f"renew the certificate of {broker}, and have the broker load it (kafka-configs, or a restart)"
    is_for_another = _is_for_another_host(broker, hosts, name)
    if alert == _UNKNOWN or (alert == _UNREAD and not is_for_another):
        why += f", issued by {escape_for_sentence(issuer)}" if issuer else ""
        issuer_before = _split_certificate(before)[2]
        changed = issuer and issuer_before and issuer_before != issuer
        why += f" and not, as the one before it, by {escape_for_sentence(issuer_before)}" if changed else ""
        return why, f"give {who} the certificate of the CA that issued it ({_TRUST}), or correct the broker's key store"
    if is_for_another:
        why += f", which is for {escape_for_sentence(hosts)}"
        missing = name or host_of(broker).strip("[]")
        if before != shown and not _is_for_another_host(broker, _split_certificate(before)[1], name):
            return (
                f"{why}, and not, as the one before it, for {escape_for_sentence(missing)}",
                f"give {broker} a certificate with {missing} among its names (SAN) again, and have the broker load it",
            )
        return (
            why,
            f"if the client uses another name for {broker}: connect by one that the certificate has, or add this one to"
            f" it; else {_CHECK}",
        )
    return why, f"{_CHECK}: the alert does not say"


def _split_certificate(text: str) -> list[str]:
    """Subject, hosts, issuer and end of a certificate, each empty where it is not known."""
    return ([*text.split("\n")] + [""] * 4)[:4]


def _describe_client_certificate(host: str, broker: str, alert: str) -> tuple[str, str]:
    """Words for why a broker refuses a client's certificate."""
    why = ", as it refuses the certificate of the client"
    if alert == _EXPIRED:
        return why, f"renew the certificate of {host}"
    if alert == _UNKNOWN:
        return why, f"give {broker} the certificate of the CA that issued it (ssl.truststore.location)"
    return why, _CHECK


def _is_for_another_host(broker: str, hosts: str, name: str) -> bool:
    """Whether a certificate names addresses or hosts, and neither the broker's address nor the name asked for (SNI)."""
    names = hosts.split(", ") if hosts else []
    address = host_of(broker).strip("[]")
    return bool(names) and not any(_is_same_address(each, address) or _is_same_name(each, name) for each in names)


def _is_same_name(pattern: str, name: str) -> bool:
    """Whether a name of a certificate is a host's; `*.` at its beginning stands for one label (RFC 6125)."""
    pattern, name = pattern.lower(), name.lower()
    return pattern == name or (pattern.startswith("*.") and pattern[2:] == name.partition(".")[2])


def _is_same_address(name: str, address: str) -> bool:
    try:
        return ip_address(name) == ip_address(address)
    except ValueError:
        return False
