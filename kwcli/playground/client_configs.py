"""The settings with which clients connect to the listeners of a playground, in the spelling of each kind of client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kwcli.playground.broker_properties import LISTENERS, PASSWORDS, Listener

MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER")
USER: Final = "alice"
_SECURITY: Final = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """One way into a cluster: a listener and a mechanism. `name` is short and good for a profile's or a file's name."""

    name: str
    listener: Listener
    mechanism: str | None
    bootstrap: str
    tls: Path  # the folder with ca.pem and client.pem

    @property
    def protocol(self) -> str:
        """Kafka's security protocol."""
        return LISTENERS[self.listener]

    @property
    def librdkafka_properties(self) -> dict[str, str]:
        """The client's properties in librdkafka's spelling, which kw reads."""
        lines = {"bootstrap.servers": self.bootstrap, "security.protocol": self.protocol}
        if self.protocol.endswith("SSL"):
            lines["ssl.ca.location"] = str(self.tls / "ca.pem")
        if self.listener == "MTLS":
            lines["ssl.certificate.location"] = str(self.tls / "client.crt")
            lines["ssl.key.location"] = str(self.tls / "client.key")
        if self.mechanism == "OAUTHBEARER":
            lines |= {"sasl.mechanisms": self.mechanism, "enable.sasl.oauthbearer.unsecure.jwt": "true"}
            lines["sasl.oauthbearer.config"] = f"principal={USER}"
        elif self.mechanism:
            lines |= {"sasl.mechanisms": self.mechanism, "sasl.username": USER, "sasl.password": PASSWORDS[USER]}
        return lines

    @property
    def java_properties(self) -> dict[str, str]:
        """The client's properties in the spelling of Java's client.properties."""
        lines = {"bootstrap.servers": self.bootstrap, "security.protocol": self.protocol}
        if self.protocol.endswith("SSL"):
            lines |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.tls / "ca.pem")}
        if self.listener == "MTLS":
            lines |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.tls / "client.pem")}
        if self.mechanism:
            lines["sasl.mechanism"] = self.mechanism
            lines["sasl.jaas.config"] = _format_jaas_config(self.mechanism)
        if self.mechanism == "OAUTHBEARER":
            place = "oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
            lines["sasl.login.callback.handler.class"] = f"{_SECURITY}.{place}"
        return lines


def make_listener_configs(bootstraps: dict[Listener, str], tls: Path) -> Iterator[ListenerConfig]:
    """All ways into a cluster; the first mechanism of a SASL listener has the listener's own name."""
    for listener, bootstrap in bootstraps.items():
        short = listener.lower()
        if not listener.startswith("SASL"):
            yield ListenerConfig(short, listener, None, bootstrap, tls)
            continue
        yield ListenerConfig(short, listener, MECHANISMS[0], bootstrap, tls)
        for mechanism in MECHANISMS[1:]:
            yield ListenerConfig(f"{short}-{mechanism.lower()}", listener, mechanism, bootstrap, tls)


def _format_jaas_config(mechanism: str) -> str:
    if mechanism == "OAUTHBEARER":
        return f'{_SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}";'
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f'{_SECURITY}.{module} required username="{USER}" password="{PASSWORDS[USER]}";'
