"""Listeners of a playground in, what clients need for them out: settings, certificates, profiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kwcli.net.config.profiles import Profiles
from kwcli.net.tls import issue_certificates
from kwcli.playground.properties import LISTENERS, PASSWORDS, Listener
from kwcli.private_files import open_private

if TYPE_CHECKING:
    from kwcli.run_environment import Environment

__all__ = ["MECHANISMS", "ListenerConfig", "add_profile", "client_configs", "make_certificates", "remove_profiles"]

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
    def plain(self) -> dict[str, str]:
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
    def java(self) -> dict[str, str]:
        """The client's properties in the spelling of Java's client.properties."""
        lines = {"bootstrap.servers": self.bootstrap, "security.protocol": self.protocol}
        if self.protocol.endswith("SSL"):
            lines |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.tls / "ca.pem")}
        if self.listener == "MTLS":
            lines |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.tls / "client.pem")}
        if self.mechanism:
            lines["sasl.mechanism"] = self.mechanism
            lines["sasl.jaas.config"] = _jaas(self.mechanism)
        if self.mechanism == "OAUTHBEARER":
            place = "oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
            lines["sasl.login.callback.handler.class"] = f"{_SECURITY}.{place}"
        return lines


def client_configs(bootstraps: dict[Listener, str], tls: Path) -> Iterator[ListenerConfig]:
    """All ways into a cluster; the first mechanism of a SASL listener has the listener's own name."""
    for listener, bootstrap in bootstraps.items():
        short = listener.lower()
        if not listener.startswith("SASL"):
            yield ListenerConfig(short, listener, None, bootstrap, tls)
            continue
        yield ListenerConfig(short, listener, MECHANISMS[0], bootstrap, tls)
        for mechanism in MECHANISMS[1:]:
            yield ListenerConfig(f"{short}-{mechanism.lower()}", listener, mechanism, bootstrap, tls)


def _jaas(mechanism: str) -> str:
    if mechanism == "OAUTHBEARER":
        return f'{_SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}";'
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f'{_SECURITY}.{module} required username="{USER}" password="{PASSWORDS[USER]}";'


# A folder in, PEM files for TLS listeners and their clients out: one authority, one broker, one client.


_NAMES: Final = {"broker": "localhost", "client": "client"}
_PLACES: Final = ("localhost", "127.0.0.1", "::1")


def make_certificates(folder: Path) -> None:
    """Write ca.pem, broker.pem and client.pem (PKCS#8 key, certificate and authority in one file each) into `folder`.

    The parts stand beside them as NAME.key and NAME.crt. Both certificates are good for localhost, 127.0.0.1 and ::1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority = issue_certificates.authority("kw-ca")
    _write(folder / "ca.key", authority.key_pem)
    _write(folder / "ca.pem", authority.certificate_pem)
    for name, subject in _NAMES.items():
        made = issue_certificates.leaf(authority, subject, _PLACES)
        _write(folder / f"{name}.key", made.key_pem)
        _write(folder / f"{name}.crt", made.certificate_pem)
        _write(folder / f"{name}.pem", made.key_pem + made.certificate_pem + authority.certificate_pem)


def _write(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read: some have private keys."""
    with open(path, "wb", opener=open_private) as file:
        file.write(data)


# A way into a playground in, a profile of the user for it out, which is removed with the playground.


PREFIX: Final = "playground"
# The file in a playground's folder with the names of its profiles.
_LIST: Final = "profiles"


def add_profile(env: Environment, folder: Path, config: ListenerConfig) -> str:
    """Make a profile for a way into a cluster; returns its name, with a number where the usual name is taken."""
    profiles = Profiles.of(env)
    taken = set(profiles.names())
    name, number = f"{PREFIX}-{config.name}", 1
    while name in taken:
        number += 1
        name = f"{PREFIX}{number}-{config.name}"
    with open(folder / _LIST, "a", encoding="utf-8") as names:
        names.write(f"{name}\n")
    profiles.write(name, config.plain, "of a playground; goes when it goes")
    return name


def remove_profiles(env: Environment, folder: Path) -> None:
    """Remove the profiles of the playground in this folder."""
    try:
        names = (folder / _LIST).read_text(encoding="utf-8").split()
    except OSError:
        return
    profiles = Profiles.of(env)
    for name in set(names) & set(profiles.names()):
        profiles.remove(name)
