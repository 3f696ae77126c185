"""Why a TLS handshake was broken off: what the alert says, and what the certificate in clear says."""

from __future__ import annotations

import pytest

from decoders.analysis.doctor.kinds.tls_alerts import describe_tls_refusal
from decoders.analysis.doctor.observations import Observation
from tests.analysis.scenes import BEGUN

_SUBJECT, _ISSUER, _LATER, _BEFORE = "CN=kafka-2", "CN=Acme CA", "2027-09-27T00:00:00Z", "2026-09-01T03:59:10Z"


@pytest.mark.parametrize(
    ("alert", "hosts", "until", "why", "remedy"),
    [
        ("certificate_expired", "", _BEFORE, f" of CN=kafka-2, which was valid until {_BEFORE}", "renew"),
        ("certificate_unknown", "10.0.0.8", _BEFORE, f" of CN=kafka-2, which was valid until {_BEFORE}", "renew"),
        ("unknown_ca", "", _LATER, " of CN=kafka-2, issued by CN=Acme CA", "ssl.truststore.location"),
        ("certificate_unknown", "kafka-2.acme, 10.0.0.7", _LATER, ", which is for kafka-2.acme, 10.0.0.7", "name"),
        ("certificate_unknown", "kafka-2.acme, 10.0.0.9", _LATER, " of CN=kafka-2", "the alert does not say"),
        ("encrypted alert", "", _LATER, "most likely because it refuses the certificate of CN=kafka-2", "truststore"),
    ],
)
def test_what_a_certificate_says_is_said(alert: str, hosts: str, until: str, why: str, remedy: str) -> None:
    seen = Observation()
    seen.count_occurrence_at(BEGUN)
    seen.count_name("certificate", "\n".join((_SUBJECT, hosts, _ISSUER, until)))
    told, what = describe_tls_refusal("10.0.0.1", "10.0.0.9:9092", alert, "client", seen)
    assert told is not None
    assert why in told
    assert remedy in what
    assert (until in told) == (until == _BEFORE)


def test_a_client_that_shows_a_certificate_is_told_of_it() -> None:
    seen = Observation()
    seen.count_occurrence_at(BEGUN)
    seen.add_to_sum("shown", 1)
    told, what = describe_tls_refusal("10.0.0.1", "10.0.0.9:9092", "unknown_ca", "server", seen)
    assert told == ", as it refuses the certificate of the client"
    assert "10.0.0.9:9092" in what
