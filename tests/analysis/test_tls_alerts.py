"""Why a TLS handshake was broken off: what the alert says, and what the certificate in clear says."""

from __future__ import annotations

import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.kinds.tls_alerts import describe_tls_refusal
from decoders.analysis.doctor.observations import Observation, Observations
from decoders.analysis.doctor.observe_odd_bytes import observe_protocol_of_connection
from decoders.exchanges.exchange import Ended
from decoders.tls.read_handshake import CertificateFacts
from decoders.tls.tls_facts import TlsFacts
from tests.analysis.network_scenes import alerted
from tests.analysis.scenes import BEGUN

_SUBJECT, _ISSUER, _LATER, _BEFORE = "CN=kafka-2", "CN=Acme CA", "2027-09-27T00:00:00Z", "2026-09-01T03:59:10Z"


@pytest.mark.parametrize(
    ("alert", "hosts", "sni", "until", "why", "remedy"),
    [
        ("certificate_expired", "", "", _BEFORE, f" of CN=kafka-2, which was valid until {_BEFORE}", "renew"),
        ("certificate_unknown", "10.0.0.8", "", _BEFORE, f" of CN=kafka-2, which was valid until {_BEFORE}", "renew"),
        ("unknown_ca", "", "", _LATER, " of CN=kafka-2, issued by CN=Acme CA", "ssl.truststore.location"),
        ("certificate_unknown", "kafka-2.acme, 10.0.0.7", "", _LATER, ", which is for kafka-2.acme, 10.0.0.7", "name"),
        ("certificate_unknown", "kafka-2.acme, 10.0.0.9", "", _LATER, " of CN=kafka-2", "the alert does not say"),
        (
            "encrypted alert",
            "",
            "",
            _LATER,
            "most likely because it refuses the certificate of CN=kafka-2",
            "truststore",
        ),
        # The name that the client asked for (SNI) is one of the certificate, or none.
        ("certificate_unknown", "kafka-2.acme", "kafka-2.acme", _LATER, " of CN=kafka-2", "the alert does not say"),
        ("certificate_unknown", "*.acme", "Kafka-2.acme", _LATER, " of CN=kafka-2", "the alert does not say"),
        ("certificate_unknown", "*.acme", "a.kafka-2.acme", _LATER, ", which is for *.acme", "name"),
        (
            "encrypted alert",
            "kafka-2.acme",
            "kafka-2.acme",
            _LATER,
            " of CN=kafka-2, issued by CN=Acme CA",
            "truststore",
        ),
    ],
)
def test_what_a_certificate_says_is_said(alert: str, hosts: str, sni: str, until: str, why: str, remedy: str) -> None:
    seen = Observation()
    seen.count_occurrence_at(BEGUN)
    seen.count_name("certificate", "\n".join((_SUBJECT, hosts, _ISSUER, until)))
    if sni:
        seen.count_name("sni", sni)
    told, what = describe_tls_refusal(["10.0.0.1"], "10.0.0.9:9092", alert, "client", seen)
    assert told is not None
    assert why in told
    assert remedy in what
    assert (until in told) == (until == _BEFORE)


def test_a_client_that_shows_a_certificate_is_told_of_it() -> None:
    seen = Observation()
    seen.count_occurrence_at(BEGUN)
    seen.add_to_sum("shown", 1)
    told, what = describe_tls_refusal(["10.0.0.1"], "10.0.0.9:9092", "unknown_ca", "server", seen)
    assert told == ", as it refuses the certificate of the client"
    assert "10.0.0.9:9092" in what


@pytest.mark.parametrize("sni", ["", "kafka-1.acme"])
@pytest.mark.parametrize("hosts", ["", "kafka-1.acme, 10.0.0.9"])
@pytest.mark.parametrize("issuer", ["CN=Acme CA", "CN=Guarded by Acme until later"])
@pytest.mark.parametrize("subject", ["CN=kafka-1", "CN=kafka-1,O=Institute for Data", 'O=Made by \\"Acme\\", for all'])
def test_names_of_a_certificate_are_read_as_they_are(subject: str, issuer: str, hosts: str, sni: str) -> None:
    rows = alerted(45, by_broker=False, times=1).rows(Doctor())
    (ended,) = (row for row in rows if isinstance(row, Ended) and row.reason == "tls")
    facts = TlsFacts()
    facts.version, facts.cipher, facts.sni = "TLS 1.2", "TLS_AES_128_GCM_SHA256", sni
    facts.certificate = CertificateFacts(subject, issuer, _LATER, hosts)
    facts.alerts = ["alert certificate_unknown from the client"]
    ended.detail = facts.describe_in_one_line()
    seen = Observations()
    observe_protocol_of_connection(seen, ended, "10.0.0.7")
    ((_, its),) = seen.items_of_kind("tls-alert")
    assert [*its.names["certificate"]] == ["\n".join((subject, hosts, issuer, _LATER))]
    assert [*its.names.get("sni", ())] == ([sni] if sni else [])
