"""The login settings of each client family."""

from __future__ import annotations

from tests.broker.options import PASSWORDS

__all__ = ["sasl"]

_MODULES = "org.apache.kafka.common.security"


def sasl(
    client: str,
    mechanism: str,
    user: str = "alice",
    *,
    password: str | None = None,
    protocol: str = "SASL_PLAINTEXT",
) -> dict[str, str]:
    """The login properties of `client` (as session.start names it); a wrong `password` may be given."""
    secret = PASSWORDS[user] if password is None else password
    settings = {"security.protocol": protocol, "sasl.mechanism": mechanism}
    if client.startswith("java"):
        return {**settings, "sasl.jaas.config": _jaas(mechanism, user, secret)}
    if mechanism == "OAUTHBEARER":
        oauth = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": f"principal={user}"}
        return {**settings, **oauth}
    return {**settings, "sasl.username": user, "sasl.password": secret}


def _jaas(mechanism: str, user: str, secret: str) -> str:
    if mechanism == "OAUTHBEARER":
        name = "oauthbearer.OAuthBearerLoginModule"
        return f'{_MODULES}.{name} required unsecuredLoginStringClaim_sub="{user}";'
    name = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f'{_MODULES}.{name} required username="{user}" password="{secret}";'
