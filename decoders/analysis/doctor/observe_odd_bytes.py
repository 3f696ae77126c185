"""Exchanges and ends of connections in, observations out of bytes that their reader refuses or did not expect.

Three kinds: requests and answers that cannot be read, or were read against the protocol's rules; answers at the wrong
place; connections to a broker that speak another protocol.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from decoders.protocols import foreign_protocol_name

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Ended, Exchange

__all__ = [
    "observe_misplaced_answer",
    "observe_odd_bytes",
    "observe_protocol_of_connection",
    "observe_refused_batches",
]

# Failures that are the sender's: all others (snaplen, lost, limit …) are the capture's, or that of kw's own tables.
_UNREADABLE: Final = frozenset({"malformed", "truncated"})
_ODD: Final = ("null", "trailing", "embedded", "other_version", "tag_twice", "tag_order")
_REFUSED_BATCHES: Final = "lz4_linked"
_UNSUPPORTED: Final = "unsupported_version"
_MISPLACED: Final = frozenset({"out_of_order", "wrong_id", "answered_twice"})
# How a connection ends that one side closes.
_CLOSED: Final = ("fin", "rst")
# An alert of TLS in plain text: five bytes of header, two of alert.
_ALERT_SIZE: Final = 7

# What ends the facts of a TLS connection (tls/tls_facts.py): an alert other than the one at every orderly end.
_TLS_ALERT: Final = re.compile(r"(?:fatal )?(encrypted alert|alert \w+) from the (client|server)")
_CLIENT_CERTIFICATE: Final = ", client certificate "
_OFFERED: Final = re.compile(r"ClientHello of ([\d., ]*\d)")
# A connection that lasts so long was not broken off.
_LASTING_NS: Final = 5 * 10**9


def observe_odd_bytes(seen: Observations, exchange: Exchange, client: str) -> bool:
    """Observe what cannot be read of a request or an answer, or is forbidden there; whether there is such a thing."""
    found = _find_odd_place(exchange)
    if found is None:
        return False
    side, what, path, offset = found
    broker = exchange.connection_info.broker
    its = seen.get_or_make("odd", client, broker, exchange.api_key, exchange.api_version, side, what, path)
    its.count_exchange(exchange)
    its.count_name("offsets", str(offset))
    if exchange.outcome == "unanswered" and exchange.closed in _CLOSED:
        its.add_to_sum("closed", 1)
    return True


def _find_odd_place(exchange: Exchange) -> tuple[str, str, str, int] | None:
    """Side, reason or remark, path and offset of what is most likely the cause of a refusal; None where nothing is."""
    for side, failure in (exchange._failed or {}).items():
        if failure.reason == _UNSUPPORTED and exchange.outcome == "unanswered" and exchange.closed in _CLOSED:
            return side, failure.reason, "", failure.offset
        if failure.reason in _UNREADABLE and not (side == "response" and exchange.outcome == "unanswered"):
            return side, failure.reason, failure.path, failure.offset
    remarks = exchange.extra.get("remarks", ()) if exchange.extra else ()
    found = [remark for remark in remarks if remark["id"] in _ODD]
    if not found:
        return None
    first = min(found, key=lambda remark: (remark["side"] != "request", _ODD.index(remark["id"])))
    return first["side"], first["id"], first["path"], first["offset"]


def observe_misplaced_answer(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe an answer that comes out of order, twice, or with the id of no request."""
    for remark in exchange.extra["remarks"] if exchange.extra else ():
        if remark["id"] in _MISPLACED:
            its = seen.get_or_make("misplaced", exchange.connection_info.broker, remark["id"])
            its.count_exchange(exchange)
            its.count_name("clients", client)


def observe_refused_batches(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a refused request with batches that no broker takes: LZ4 frames with linked blocks."""
    if any(each["id"] == _REFUSED_BATCHES and each["side"] == "request" for each in exchange.remarks):
        seen.get_or_make("lz4-linked", client, exchange.connection_info.broker).count_exchange(exchange)


def observe_protocol_of_connection(seen: Observations, ended: Ended, host: str) -> None:
    """Observe what a connection to a broker speaks, where it is not Kafka or where its end says so."""
    broker, closed = ended.connection_info.broker, ended.how in _CLOSED
    odd = ended.kafka and ended.detail != ""
    if odd:
        what = ended.detail
        spoken = what if what.startswith(("a ", "an ")) else f"bytes that are no frame ({what})"
        _observe_foreign_bytes(seen, ended, host, spoken)
    unmixed = ended.opened and ended.client_bytes and not ended.client_missing
    if ended.kafka and ended.server_bytes > _ALERT_SIZE:
        tls = ended.connection_info.tls is not None
        seen.get_or_make("speaks", broker, "TLS" if tls else "plaintext").count_end(ended)
    elif ended.kafka and ended.exchanges:
        if closed and unmixed and ended.exchanges == 1 and ended.connection_info.tls is None:
            its = seen.get_or_make("unheard", host, broker)
            its.count_end(ended)
            its.add_to_sum("alerts", ended.server_bytes == _ALERT_SIZE)
    elif ended.reason == "tls" and (ended.server_bytes > _ALERT_SIZE or " from the server" in ended.detail):
        seen.get_or_make("speaks", broker, "TLS").count_end(ended)
        alert = _TLS_ALERT.search(ended.detail)
        if alert is not None:
            _observe_tls_alert(seen.get_or_make("tls-alert", host, broker, alert[1], alert[2]), ended)
        elif ended.last_ns - ended.time_ns >= _LASTING_NS:
            its = seen.get_or_make("tls-lasts", host, broker)
            its.count_end(ended)
            its.keep_greatest("begun", ended.time_ns)
            its.keep_greatest("begun-first", -ended.time_ns)
            _count_certificate(its, ended)
    elif unmixed and (ended.reason or closed) and not odd:
        spoken = "TLS" if ended.reason == "tls" else foreign_protocol_name(ended.detail)
        _observe_foreign_bytes(seen, ended, host, spoken)


def _observe_tls_alert(its: Observation, ended: Ended) -> None:
    """Observe an alert, and what the handshake shows in clear: the broker's certificate, versions that were offered."""
    its.count_end(ended)
    from decoders.tls.tls_facts import read_server_name_of_line  # few captures need it

    _count_certificate(its, ended)
    name = read_server_name_of_line(ended.detail)
    if name:
        its.count_name("sni", name)
    if _CLIENT_CERTIFICATE in ended.detail:
        its.add_to_sum("shown", 1)
    offered = _OFFERED.search(ended.detail)
    if offered is not None:
        its.count_name("offered", offered[1])


def _count_certificate(its: Observation, ended: Ended) -> None:
    """Count the certificate that a broker shows in clear, if it does."""
    from decoders.tls.tls_facts import read_certificate_of_line  # few captures need it

    certificate = read_certificate_of_line(ended.detail)
    if certificate is not None:
        subject, issuer, expires, hosts = certificate
        its.count_name("certificate", "\n".join((subject, hosts, issuer, expires)))


def _observe_foreign_bytes(seen: Observations, ended: Ended, host: str, spoken: str) -> None:
    """Observe what else than Kafka a connection to a broker carries, and whether it was closed without an answer."""
    its = seen.get_or_make("foreign", host, ended.connection_info.broker, spoken)
    its.count_end(ended)
    if ended.how in _CLOSED and not ended.server_bytes:
        its.add_to_sum("closed", 1)
