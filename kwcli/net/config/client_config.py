"""The settings of a client connection, as values: where the cluster is, TLS, authentication, time-outs.

Made from flags, property files, profiles and variables by `kwcli.net.config.build_config`; read by drivers and
mechanisms. A password in here is never shown: `repr` leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.protocols.make_proxy_head import ProxyVersion

Address = tuple[str, int]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
# The oldest release whose brokers might be met.
OLD_RELEASE: Final = "0.9.0"
# Fields that are never shown.
_SECRETS: Final = frozenset(
    {
        "pem",
        "password",
        "key_password",
        "token",
        "client_secret",
        "endpoint",
        "extensions",
        "claims",
        "url",
        "user_info",
    }
)


def _repr_without_secrets(value: Any) -> str:
    """The `repr` of one of the values below, without its secrets."""
    names = [name for name in value._fields if name not in _SECRETS]
    return f"{type(value).__name__}({', '.join(f'{name}={getattr(value, name)!r}' for name in names)})"


class KeyStoreFile(NamedTuple):
    """Certificates or a key: a file (PEM, PKCS12 or JKS, told apart by its first bytes) or PEM text itself."""

    path: str | None = None
    pem: str | None = None
    password: str | None = None
    key_password: str | None = None

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class TlsSettings(NamedTuple):
    """TLS settings. `authorities` None: those of the system. `certificate` may hold the key too, else `key` does."""

    authorities: KeyStoreFile | None = None
    certificate: KeyStoreFile | None = None
    key: KeyStoreFile | None = None
    verify: bool = True
    check_hostname: bool = True
    server_name: str | None = None  # for SNI and the host name check, where it is not the host that is dialled
    ciphers: str | None = None
    minimum: Literal["TLSv1.2", "TLSv1.3"] | None = None
    maximum: Literal["TLSv1.2", "TLSv1.3"] | None = None
    key_log: str | None = None  # SSLKEYLOGFILE


class OAuthSettings(NamedTuple):
    """A token, an endpoint that gives one for client credentials (RFC 6749, 4.4), or the claims of an unsigned token.

    An endpoint `file:///…` is a file that holds the token. `url_encoded`: encode id and secret as in RFC 6749, 2.3.1.
    """

    token: str | None = None
    claims: Mapping[str, str | float | Sequence[str]] | None = None
    lifetime_s: float = 3600.0  # of an unsigned token
    endpoint: str | None = None
    url_encoded: bool = False
    client_id: str | None = None
    client_secret: str | None = None
    scope: str | None = None
    extensions: Mapping[str, str] = MappingProxyType({})
    authorities: KeyStoreFile | None = None

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class AwsSettings(NamedTuple):
    """The region for which a token is signed, and the AWS credentials that sign it: without these the usual ones."""

    region: str
    profile: str | None = None
    role: str | None = None
    session: str | None = None


class SaslSettings(NamedTuple):
    """SASL settings. `mechanism` as brokers name it: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI.

    With `aws` the mechanism is OAUTHBEARER, and its token is signed by AWS' own library.
    """

    mechanism: str
    username: str | None = None
    password: str | None = None
    oauth: OAuthSettings | None = None
    service: str = "kafka"  # of the broker's Kerberos principal
    principal: str | None = None  # the client's own
    keytab: str | None = None
    token_auth: bool = False  # SCRAM with a delegation token (KIP-48)
    aws: AwsSettings | None = None

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class RegistrySettings(NamedTuple):
    """A schema registry: its addresses with commas between them, and who asks: `user:password`, or a token."""

    url: str
    user_info: str | None = None
    token: str | None = None
    tls: TlsSettings = TlsSettings()

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class ClientConfig(NamedTuple):
    """All settings of a client connection. `origin` says where `servers` came from, for people."""

    servers: tuple[Address, ...]
    origin: str = "default"
    protocol: Protocol = "PLAINTEXT"
    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None
    client_id: str = "kw"
    connect_timeout_s: float = 5.0
    timeout_s: float = 10.0
    asks_versions: bool = True  # api.version.request: without it brokers have the versions of `assumed_release`
    assumed_release: str = OLD_RELEASE  # broker.version.fallback: of a broker that does not know ApiVersions
    controllers: bool = False  # servers are those of --bootstrap-controller
    dial_map: Mapping[Address, Address] = MappingProxyType({})
    send_proxy: ProxyVersion | None = None  # the PROXY head that a connection begins with, before TLS
    registry: RegistrySettings | None = None  # of schemas, which is asked where values are decoded
    warnings: tuple[str, ...] = ()  # properties that nobody knows: said at once
    remarks: tuple[str, ...] = ()  # properties without meaning here: said with -v


class ConnectionOptions(NamedTuple):
    """The connection options of the command line; None where an option is not given."""

    servers: str | None = None
    controllers: str | None = None
    properties: Sequence[tuple[str, str]] = ()  # of -X, the later wins
    config_files: Sequence[str] = ()
    profile: str | None = None
    client_id: str | None = None
    timeout_s: float | None = None
    connect_timeout_s: float | None = None
    dial_map: Sequence[tuple[Address, Address]] = ()
