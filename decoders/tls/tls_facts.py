"""Handshake messages of a TLS connection in; its version, cipher, names and alerts, also as one line of text, out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypedDict

from decoders.errors import Malformed
from decoders.tls.cipher_suites import find_suite
from decoders.tls.read_handshake import VERSIONS, CertificateFacts, ClientHello, ServerHello
from decoders.wire.format_and_escape_text import escape_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TlsFacts", "TlsInfo", "read_certificate_of_line", "read_certificates_of_line", "read_server_name_of_line"]

_SAVED: Final = (
    *("version", "cipher", "sni", "offered", "protocol", "resumed", "certificate", "client_certificate", "alerts"),
    *("early_data", "problem", "hello_ns", "answer_ns", "time_ns", "size", "opened"),
)


# Certificates of older states have no names of hosts.
_CERTIFICATE_SIZES: Final = (3, 4)
# An alert of TLS 1.3: header, level and description, content type, tag; a change of cipher may come before it.
_ALERT_SIZES: Final = (5 + 2 + 1 + 16, 6 + 5 + 2 + 1 + 16)


# The words between the names of a certificate.
_BETWEEN_NAMES: Final = re.compile(" (?:for|by|until) ")
_CERTIFICATE: Final = re.compile(
    ", ((?:client )?certificate) {name}(?: for {name})? by {name} until ([0-9][0-9:TZ-]+)".replace(
        "{name}", r"""("(?:[^"\\]|\\.)*"|[^"].*?)"""
    )
)
_SERVER_NAME: Final = re.compile(", for ([^ ,;]+)")


def _quote_name(name: str) -> str:
    """A name of a certificate, in quotes where it holds a word that stands between two names."""
    if not _BETWEEN_NAMES.search(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_certificates_of_line(line: str) -> Iterator[tuple[str, CertificateFacts]]:
    """The certificates that `TlsFacts.describe_in_one_line` names, each after `certificate` or `client certificate`."""
    for found in _CERTIFICATE.finditer(line):
        subject, hosts, issuer = (
            re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith('"') else name
            for name in (each or "" for each in found.groups()[1:4])
        )
        yield found[1], CertificateFacts(subject, issuer, found[5], hosts)


def read_certificate_of_line(line: str) -> CertificateFacts | None:
    """The certificate of the server that `TlsFacts.describe_in_one_line` names; None where there is none."""
    return next((facts for whose, facts in read_certificates_of_line(line) if whose == "certificate"), None)


def read_server_name_of_line(line: str) -> str:
    """The name that the client asked for (SNI) in what `TlsFacts.describe_in_one_line` gives; empty without one."""
    found = _SERVER_NAME.search(line.partition("certificate ")[0])
    return "" if found is None else found[1]


class TlsInfo(TypedDict):
    """The `tls` key of the exchange record: `version` is `1.2` or `1.3`, the cipher has IANA's name."""

    version: str
    cipher: str
    sni: str | None
    client_subject: str | None


class TlsFacts:
    """The facts of one TLS connection. Texts are empty where nothing is known.

    `problem` says why the connection is not, or no longer, decrypted. `opened`: some application data was decrypted.
    `size` counts the bytes of both directions, gaps included; `time_ns` is the time of the first byte.
    """

    __slots__ = _SAVED

    def __init__(self, time_ns: int = 0) -> None:
        self.version = ""  # `TLS 1.3`
        self.cipher = ""  # as IANA names it
        self.sni = ""
        self.offered: tuple[int, ...] = ()  # versions that the client offered, while the server has not answered
        self.protocol = ""  # ALPN: the chosen one, before that the first one offered
        self.resumed = False
        self.certificate: CertificateFacts | None = None
        self.client_certificate: CertificateFacts | None = None
        self.alerts: list[str] = []
        self.early_data = ""  # `accepted`, `rejected`, `offered`
        self.problem = ""
        self.hello_ns = 0
        self.answer_ns = 0
        self.time_ns = time_ns
        self.size = 0
        self.opened = False

    def take_client_hello(self, hello: ClientHello, time_ns: int) -> None:
        """Take over the fields of a ClientHello."""
        self.sni = hello.server_name
        self.offered = hello.versions
        self.protocol = "".join(hello.protocols[:1])
        if hello.early_data:
            self.early_data = "offered"
        self.hello_ns = self.hello_ns or time_ns

    def take_server_hello(self, hello: ServerHello, time_ns: int) -> None:
        """Take over the fields of a ServerHello."""
        self.version = VERSIONS.get(hello.version, f"version 0x{hello.version:04X}")
        self.cipher = find_suite(hello.suite).name
        self.protocol = hello.protocol
        self.answer_ns = self.answer_ns or time_ns

    def note_alert_by_size(self, size: int) -> None:
        """Note that all the bytes of a TLS 1.3 client behind its hello, which no key opens, are as many as an alert."""
        if self.version == "TLS 1.3" and not self.alerts and size in _ALERT_SIZES:
            self.alerts.append("encrypted alert from the client")

    @property
    def client_subject(self) -> str | None:
        """The subject of the client's certificate."""
        return None if self.client_certificate is None else self.client_certificate.subject

    def exchange_tls_info(self) -> TlsInfo:
        """The `tls` key of each exchange of the connection."""
        return {
            "version": self.version.removeprefix("TLS "),
            "cipher": self.cipher,
            "sni": self.sni or None,
            "client_subject": self.client_subject,
        }

    def describe_in_one_line(self) -> str:
        """The facts in one line, followed by a semicolon and the reason where the connection is not decrypted."""
        parts: list[str] = []
        if self.version:
            parts += [self.version, self.cipher]
        elif self.offered:
            names = [VERSIONS[number] for number in sorted(set(self.offered) & VERSIONS.keys())]
            parts += ["TLS", " ".join(["ClientHello of", ", ".join(name.partition(" ")[2] for name in names)])]
        else:
            parts.append("TLS")
        if self.sni:
            parts.append(f"for {escape_text(self.sni)}")
        if self.protocol:
            parts.append(f"ALPN {self.protocol}")
        if self.resumed:
            parts.append("session resumed")
        if self.early_data:
            parts.append(f"early data {self.early_data}")
        for whose, certificate in (("certificate", self.certificate), ("client certificate", self.client_certificate)):
            if certificate is not None:
                subject, issuer, expires, hosts = certificate
                known = f"{_quote_name(subject or 'without a name')}{f' for {_quote_name(hosts)}' if hosts else ''}"
                parts.append(f"{whose} {known} by {_quote_name(issuer or 'nobody')} until {expires}")
        if self.answer_ns and self.hello_ns and not self.offered:
            parts.append(f"hello answered after {(self.answer_ns - self.hello_ns) / 1e6:.3f} ms")
        parts += self.alerts
        return "; ".join(filter(None, [", ".join(parts), self.problem]))

    def export(self) -> list[Any]:
        """The facts as built-in values, for `make_resumed`."""
        state = [getattr(self, name) for name in _SAVED]
        return [list(value) if isinstance(value, CertificateFacts) else value for value in state]

    @classmethod
    def make_resumed(cls, state: object) -> TlsFacts:
        """The facts whose `export` gave `state`. Raises DecodeError when it is something else."""
        facts = cls()
        if not isinstance(state, list) or len(state) != len(_SAVED):
            raise Malformed("no saved facts of a TLS connection")
        for name, value in zip(_SAVED, state, strict=True):
            if name.endswith("certificate") and value is not None:
                if (
                    not isinstance(value, list)
                    or len(value) not in _CERTIFICATE_SIZES
                    or not all(isinstance(each, str) for each in value)
                ):
                    raise Malformed("no saved certificate")
                value = CertificateFacts(*value)
            elif value is not None and type(value) is not type(getattr(facts, name)):
                raise Malformed(f"saved facts with another {name}")
            setattr(facts, name, value)
        return facts
