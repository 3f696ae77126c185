"""The properties by which clients reach a playground, in both spellings, for each listener and mechanism."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwcli.playground.broker_properties import PASSWORDS
from kwcli.playground.client_configs import ListenerConfig, make_listener_configs

TLS = Path("/tls")
PASSWORD = PASSWORDS["alice"]
SCRAM = {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": PASSWORD}
TRUST = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/tls/ca.pem"}


@pytest.mark.parametrize(
    ("listener", "mechanism", "protocol", "librdkafka", "java"),
    [
        ("PLAINTEXT", None, "PLAINTEXT", {}, {}),
        ("SSL", None, "SSL", {"ssl.ca.location": "/tls/ca.pem"}, TRUST),
        (
            "MTLS",
            None,
            "SSL",
            {
                "ssl.ca.location": "/tls/ca.pem",
                "ssl.certificate.location": "/tls/client.crt",
                "ssl.key.location": "/tls/client.key",
            },
            {**TRUST, "ssl.keystore.type": "PEM", "ssl.keystore.location": "/tls/client.pem"},
        ),
        ("SASL_PLAINTEXT", "SCRAM-SHA-512", "SASL_PLAINTEXT", SCRAM, {"sasl.mechanism": "SCRAM-SHA-512"}),
        (
            "SASL_SSL",
            "SCRAM-SHA-512",
            "SASL_SSL",
            {**SCRAM, "ssl.ca.location": "/tls/ca.pem"},
            {**TRUST, "sasl.mechanism": "SCRAM-SHA-512"},
        ),
        (
            "SASL_PLAINTEXT",
            "OAUTHBEARER",
            "SASL_PLAINTEXT",
            {
                "sasl.mechanisms": "OAUTHBEARER",
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
                "sasl.oauthbearer.config": "principal=alice",
            },
            {"sasl.mechanism": "OAUTHBEARER"},
        ),
    ],
)
def test_properties_of_a_way_in(
    listener: str, mechanism: str | None, protocol: str, librdkafka: dict[str, str], java: dict[str, str]
) -> None:
    config = ListenerConfig("x", listener, mechanism, "h:1", TLS)  # type: ignore[arg-type]  # one of its words
    both = {"bootstrap.servers": "h:1", "security.protocol": protocol}
    assert config.librdkafka_properties == {**both, **librdkafka}
    found = config.java_properties
    login = found.pop("sasl.jaas.config", None)
    handler = found.pop("sasl.login.callback.handler.class", None)
    assert found == {**both, **java}
    assert (login is not None) == (mechanism is not None)
    assert (handler is not None) == (mechanism == "OAUTHBEARER")


def test_each_mechanism_is_a_way_in() -> None:
    found = list(make_listener_configs({"PLAINTEXT": "h:1", "SASL_SSL": "h:2"}, TLS))
    assert [(each.name, each.mechanism, each.bootstrap) for each in found] == [
        ("plaintext", None, "h:1"),
        ("sasl_ssl", "SCRAM-SHA-512", "h:2"),
        ("sasl_ssl-scram-sha-256", "SCRAM-SHA-256", "h:2"),
        ("sasl_ssl-plain", "PLAIN", "h:2"),
        ("sasl_ssl-oauthbearer", "OAUTHBEARER", "h:2"),
    ]
