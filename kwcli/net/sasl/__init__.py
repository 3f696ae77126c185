"""A `Sasl` in, the mechanism it names out; each mechanism is one file, loaded when it is wanted."""

from __future__ import annotations

from kwcli.net.config.client_config import SaslSettings
from kwcli.net.sasl.mechanism import Mechanism, SaslRefused
from kwcli.run_environment import Exit, Failure

__all__ = ["Mechanism", "SaslRefused", "make_mechanism"]


def make_mechanism(sasl: SaslSettings, host: str, token: str | None) -> Mechanism:
    """A fresh mechanism for a login to the broker on `host`; `token` is the token for OAUTHBEARER.

    SaslRefused where the mechanism cannot carry the credentials, Failure (usage) for an unknown mechanism or a missing
    package.
    """
    match sasl.mechanism:
        case "PLAIN":
            from kwcli.net.sasl.mechanism import PlainMechanism

            return PlainMechanism(sasl.username or "", sasl.password or "")
        case "SCRAM-SHA-256" | "SCRAM-SHA-512":
            from kwcli.net.sasl.scram import Scram

            return Scram(sasl.mechanism, sasl.username or "", sasl.password or "", token_auth=sasl.token_auth)
        case "OAUTHBEARER":
            from kwcli.net.sasl.oauthbearer import OAuthBearer

            return OAuthBearer(token or "", sasl.oauth.extensions if sasl.oauth else None)
        case "GSSAPI":
            from kwcli.net.sasl.kerberos import Gssapi

            return Gssapi(sasl, host)
    raise Failure(f"kw does not know the SASL mechanism {sasl.mechanism!r}", Exit.USAGE)
