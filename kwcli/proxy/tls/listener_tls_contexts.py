"""The hosts of the proxy in, the TLS contexts of its listeners out; and what a failed handshake means."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509

from decoders.named_tuple import NamedTuple
from kwcli.net.config.client_config import KeyStoreFile
from kwcli.net.tls import issue_certificates
from kwcli.net.tls.key_stores import Identity, read_identity, read_trusted_certificates
from kwcli.net.tls_connect import load_own_certificate, log_keys_to_file
from kwcli.proxy.tls.certificate_authority import Authority, find_state_folder, read_or_make_authority
from kwcli.run_environment import Exit, Failure

# Words in OpenSSL's reasons, and what they mean when a client's handshake fails.
_MEANINGS: Final = (
    (
        ("UNKNOWN_CA", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN"),
        "does not trust the {program}'s certificate; {trust}",
    ),
    (
        ("CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED", "UNSUPPORTED_CERTIFICATE"),
        "does not take the {program}'s certificate; is the client's clock right?",
    ),
    (
        ("PEER_DID_NOT_RETURN_A_CERTIFICATE",),
        "shows no certificate, which --tls-client-ca asks for; set ssl.certificate.location and ssl.key.location, "
        "or ssl.keystore.location",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED",),
        "shows a certificate that --tls-client-ca did not sign{detail}",
    ),
    (("HTTP_REQUEST", "HTTPS_PROXY_REQUEST"), "speaks HTTP to a listener of Kafka over TLS; check its port"),
    (
        ("WRONG_VERSION_NUMBER", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"),
        "does not speak TLS, which --tls-in requires; set security.protocol=SSL, or SASL_SSL",
    ),
    (
        ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "VERSION_TOO_LOW"),
        "speaks no version of TLS from 1.2 on",
    ),
    (("NO_SHARED_CIPHER",), "has no cipher suite in common with the {program}"),
)


def _explain_failed_handshake(error: BaseException, trust: str | None, program: str) -> str:
    """Why a handshake failed, as a text behind the client's address; `trust`: the file that clients need, if minted."""
    reason = str(getattr(error, "reason", None) or "").upper().replace(" ", "_")
    if isinstance(error, TimeoutError):
        return "did not finish the TLS handshake in time; does it speak TLS?"
    told = f"give it ssl.ca.location={trust} (Java: ssl.truststore.location, ssl.truststore.type=PEM)"
    for words, meaning in _MEANINGS:
        if any(word in reason for word in words):
            detail = getattr(error, "verify_message", "")
            return meaning.format(
                program=program,
                trust=told if trust else "give it the authority's certificate that signed --tls-cert",
                detail=f" ({detail})" if detail else "",
            )
    if reason and "EOF" not in reason:
        return f"failed the TLS handshake: {reason.replace('_', ' ').lower()}"
    untrusting = f"; a client that does not trust the {program} may do so: {told}" if trust else ""
    return f"closed the connection during the TLS handshake{untrusting}"


# Contexts of the listeners


_LIFETIME: Final = timedelta(days=30)
_RENEWED: Final = timedelta(days=10)
# More names than one proxy has; a client that makes up names cannot fill the memory.
_NAMES_MAX: Final = 64
# Clients on this machine may use these names, no matter which is advertised.
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class TlsIn(NamedTuple):
    """Settings of TLS towards clients: files. Without `certificate` the program mints its own."""

    certificate: str | None = None  # --tls-cert
    key: str | None = None  # --tls-key
    clients: str | None = None  # --tls-client-ca: authorities of the clients' certificates
    program: str = "proxy"  # its name in messages


class Inbound:
    """The TLS contexts of listeners; ask for `context` for each new connection.

    Without a certificate of the user's own, one is minted for the advertised hosts by the proxy's authority, and one
    more for each other name that a client asks for by SNI: a client that reaches the proxy by a name means the proxy.
    Minted certificates live in memory only, for a month; connections that come when a third of that is left get a new
    one.
    """

    def __init__(self, asked: TlsIn, places: Sequence[str], variables: Mapping[str, str]) -> None:
        """`places` are the hosts that clients are told. Raises Failure (usage) where a file is wrong."""
        self._asked = asked
        self._key_log = variables.get("SSLKEYLOGFILE") or None
        self._places = tuple(dict.fromkeys([*places, *_LOCAL]))
        self._clients = read_trusted_certificates(KeyStoreFile(asked.clients)) if asked.clients else None
        self._given: Identity | None = None
        self._authority: Authority | None = None
        self._minted: dict[str, tuple[ssl.SSLContext, datetime]] = {}
        if asked.certificate is not None:
            self._given = read_identity(KeyStoreFile(asked.certificate), KeyStoreFile(asked.key) if asked.key else None)
            self._fixed = self._make_context(self._given)
        elif asked.key is not None:
            raise Failure("--tls-key without --tls-cert", Exit.USAGE)
        else:
            self._authority = read_or_make_authority(find_state_folder(variables))

    @property
    def requires_client_certificates(self) -> bool:
        """Whether clients have to show a certificate."""
        return self._clients is not None

    def explain_failed_handshake(self, error: BaseException) -> str:
        """Why a handshake failed, as a text behind the client's address."""
        return _explain_failed_handshake(error, str(self.trust_file) if self.trust_file else None, self._asked.program)

    @property
    def trust_file(self) -> Path | None:
        """The file by which clients trust the minted certificates; None where the user gave one of their own."""
        return self._authority.path if self._authority else None

    @property
    def context_for_next_connection(self) -> ssl.SSLContext:
        """The TLS context for the next connection."""
        return self._fixed if self._given else self._get_or_make_context_for_name("")

    def read_certificate_end_and_names(self) -> tuple[datetime, list[str]]:
        """When the user's certificate ends, and the names that it is for."""
        assert self._given is not None
        certificate = x509.load_pem_x509_certificate(self._given.certificates.encode())
        try:
            names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return certificate.not_valid_after_utc, []
        places = [str(each) for each in names.get_values_for_type(x509.IPAddress)]
        return certificate.not_valid_after_utc, [*names.get_values_for_type(x509.DNSName), *places]

    def format_client_settings(self) -> list[str]:
        """The settings that clients need, as lines ready to paste: for librdkafka, for Java."""
        lines = []
        if self.trust_file is not None:
            lines += [
                f"librdkafka   security.protocol=SSL ssl.ca.location={self.trust_file}",
                f"Java         security.protocol=SSL ssl.truststore.type=PEM ssl.truststore.location={self.trust_file}",
            ]
        if self.requires_client_certificates:
            lines.append(f"clients show a certificate that {self._asked.clients} signed")
        return lines

    def _get_or_make_context_for_name(self, name: str) -> ssl.SSLContext:
        """The context with a certificate for the advertised hosts, and for `name` if not empty."""
        found = self._minted.get(name)
        now = datetime.now(UTC)
        if found is None or found[1] - now < _RENEWED:
            while len(self._minted) >= _NAMES_MAX:
                del self._minted[next(iter(self._minted))]
            found = self._minted[name] = self._make_context_with_minted_certificate(name), now + _LIFETIME
        return found[0]

    def _make_context_with_minted_certificate(self, name: str) -> ssl.SSLContext:
        assert self._authority is not None
        issuer = self._authority.issued
        places = (name, *self._places) if name else self._places
        made = issue_certificates.issue_leaf(issuer, places[0], places, _LIFETIME)
        chain = made.certificate_pem + issuer.certificate_pem
        context = self._make_context(Identity(chain.decode(), made.key_pem.decode()))
        if not name:
            context.sni_callback = self._choose_context
        return context

    def _choose_context(self, link: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> int | None:
        if name and name not in self._places:
            try:
                link.context = self._get_or_make_context_for_name(name)
            except (ValueError, UnicodeError):
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        return None

    def _make_context(self, own: Identity) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        load_own_certificate(context, own, f"the {self._asked.program}'s")
        if self._clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(cadata=self._clients)
            except ssl.SSLError as error:
                reason = (error.reason or str(error)).replace("_", " ").lower()
                raise Failure(f"--tls-client-ca {self._asked.clients} cannot be used ({reason})", Exit.USAGE) from None
        if self._key_log:
            log_keys_to_file(context, self._key_log)
        return context
