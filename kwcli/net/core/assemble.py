"""Chosen settings in, a `ClientConfig` out; what contradicts itself or is not enough is a usage error.

Nothing is read here: a file stays a name until a connection needs what is in it.
"""

from __future__ import annotations

import re
from typing import Final, Literal, cast

from kwcli.exits import Exit, Failure
from kwcli.net.core.addresses import AddressError, addresses
from kwcli.net.core.choose import Chosen, Value
from kwcli.net.core.config import Address, OAuth, Protocol, Sasl, Store, Tls

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
_CIPHERS_1_3: Final = ("TLS_AES_", "TLS_CHACHA20_")
# What a login module's class says about the mechanism; SCRAM's says too little.
_BY_MODULE: Final = {"PlainLoginModule": "PLAIN", "OAuthBearerLoginModule": "OAUTHBEARER", "Krb5LoginModule": "GSSAPI"}
_LISTENER: Final = re.compile(r"(?:^|,)\s*([A-Za-z_]+)://")

TlsVersion = Literal["TLSv1.2", "TLSv1.3"]


def servers(value: Value) -> tuple[Address, ...]:
    """The addresses of `-b` and its like."""
    try:
        return addresses(value.text)
    except AddressError as error:
        raise Failure(f"{value.said}: {error}", Exit.USAGE) from None


def protocol(chosen: Chosen, where: Value) -> Protocol:
    """The security protocol. `SSL://` before a server says it too: in an option it wins, else the property does."""
    value = chosen.values.get("protocol")
    spoken = {name.upper() for name in _LISTENER.findall(where.text)} & set(PROTOCOLS)
    if len(spoken) == 1 and (value is None or not value.text or where.origin == where.name):
        return cast(Protocol, spoken.pop())
    if value is None or not value.text:
        return "PLAINTEXT"
    name = value.text.upper()
    if name not in PROTOCOLS:
        raise Failure(f"{value.said} is {value.text!r}: write one of {', '.join(PROTOCOLS)}", Exit.USAGE)
    return cast(Protocol, name)


# What tells of TLS and of SASL, and the protocol that has both that and what was chosen.
_TELLING: Final = {
    "SSL": ("authorities", "certificate", "key"),
    "SASL": ("mechanism", "username", "password", "oauth token", "oauth endpoint"),
}
_WITH: Final = {
    ("PLAINTEXT", "SSL"): "SSL",
    ("PLAINTEXT", "SASL"): "SASL_SSL, or SASL_PLAINTEXT",
    ("SSL", "SASL"): "SASL_SSL",
    ("SASL_PLAINTEXT", "SSL"): "SASL_SSL",
}


def idle_settings(chosen: Chosen, name: Protocol) -> list[str]:
    """What is said of settings that the protocol makes no use of, which is how a forgotten protocol shows."""
    lines = []
    for word, meanings in _TELLING.items():
        given = [chosen.values[meaning] for meaning in meanings if chosen.text(meaning)]
        if given and word not in name:
            remedy = f"-X security.protocol={_WITH[name, word]}"
            lines.append(f"{given[0].said} is not used: security.protocol is {name}; set it by {remedy}")
    return lines


def tls(chosen: Chosen, key_log: str | None) -> Tls:
    """How to speak TLS."""
    check = chosen.values.get("host name check")
    verify = chosen.flag("verify", True)
    if check is not None and check.text.lower() not in ("", "none", "https"):
        raise Failure(f"{check.said} is {check.text!r}: write https, or none", Exit.USAGE)
    minimum, maximum = _versions(chosen)
    certificate = _store(chosen, "certificate", "certificate password", "key password")
    key = _store(chosen, "key", None, "key password")
    if key is not None and certificate is None:
        raise Failure(f"{chosen.values['key'].said} needs a certificate: -X ssl.certificate.location=FILE", Exit.USAGE)
    ciphers = chosen.text("ciphers")
    if ciphers and any(name.strip().startswith(_CIPHERS_1_3) for name in re.split("[,:]", ciphers)):
        chosen.remarks.append(f"{chosen.values['ciphers'].said}: cipher suites of TLS 1.3 are not chosen, all are on")
    return Tls(
        authorities=_store(chosen, "authorities", "authorities password", None),
        certificate=certificate,
        key=key,
        verify=verify,
        check_hostname=verify and (check is None or check.text.lower() == "https"),
        ciphers=ciphers.replace(",", ":") if ciphers else None,
        minimum=minimum,
        maximum=maximum,
        key_log=key_log,
    )


def _versions(chosen: Chosen) -> tuple[TlsVersion | None, TlsVersion | None]:
    value = chosen.values.get("tls versions")
    if value is None or not value.text:
        return None, None
    names = {name.strip() for name in value.text.split(",")}
    usable = sorted(names & {"TLSv1.2", "TLSv1.3"})
    if not usable:
        raise Failure(f"{value.said} is {value.text!r}: kw speaks TLSv1.2 and TLSv1.3", Exit.USAGE)
    if len(usable) < len(names):
        chosen.remarks.append(f"{value.said}: kw speaks {' and '.join(usable)} of these")
    return cast(TlsVersion, usable[0]), cast(TlsVersion, usable[-1])


def _store(chosen: Chosen, meaning: str, password: str | None, key_password: str | None) -> Store | None:
    value = chosen.values.get(meaning)
    if value is None or not value.text or (value.text == "probe" and value.name.endswith("ca.location")):
        return None  # librdkafka's "probe" asks for the system's authorities
    secret = chosen.text(password) if password else None
    key_secret = chosen.text(key_password) if key_password else None
    if value.form == "pem":
        return Store(pem=value.text, password=secret, key_password=key_secret)
    return Store(path=value.text, password=secret, key_password=key_secret)


def sasl(chosen: Chosen) -> Sasl:
    """Who we are and how we prove it."""
    mechanism = _mechanism(chosen)
    username, password = chosen.text("username"), chosen.text("password")
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM"):
        for what, value in (("sasl.username", username), ("sasl.password", password)):
            if value is None:
                raise Failure(f"{mechanism} needs {what}: give it by -X, -F or a profile", Exit.USAGE)
    return Sasl(
        mechanism,
        username=username,
        password=password,
        oauth=_oauth(chosen) if mechanism == "OAUTHBEARER" else None,
        service=chosen.text("service") or "kafka",
        principal=chosen.text("principal"),
        keytab=chosen.text("keytab"),
        token_auth=chosen.flag("token auth", False),
    )


def _mechanism(chosen: Chosen) -> str:
    value, module = chosen.values.get("mechanism"), chosen.text("login module")
    if value is not None and value.text:
        name = value.text.upper()
        if name not in MECHANISMS:
            raise Failure(f"{value.said} is {value.text!r}: kw knows {', '.join(MECHANISMS)}", Exit.USAGE)
        return name
    if module in _BY_MODULE:
        return _BY_MODULE[module]
    if chosen.text("oauth token") or chosen.text("oauth endpoint"):
        return "OAUTHBEARER"
    if module or chosen.text("username") or chosen.text("password"):
        raise Failure("which mechanism? -X sasl.mechanism=PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", Exit.USAGE)
    return "GSSAPI"  # the default of both clients


def _oauth(chosen: Chosen) -> OAuth:
    token, endpoint = chosen.text("oauth token"), chosen.text("oauth endpoint")
    claims = None if token or endpoint else _claims(chosen)
    if not token and not endpoint and claims is None:
        raise Failure(
            "OAUTHBEARER needs a token: -X sasl.oauthbearer.token=TOKEN, or -X sasl.oauthbearer.token.endpoint.url=URL "
            "with …client.id and …client.secret",
            Exit.USAGE,
        )
    client, secret = chosen.text("oauth client"), chosen.text("oauth secret")
    if endpoint and not token and not endpoint.startswith("file:") and not (client and secret):
        raise Failure(
            "a token endpoint needs sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret", Exit.USAGE
        )
    for meaning, known in (("oauth grant", ("client_credentials",)), ("oauth method", ("default", "oidc"))):
        value = chosen.values.get(meaning)
        if value is not None and value.text not in ("", *known):
            raise Failure(f"{value.said} is {value.text!r}: kw knows {' and '.join(known)}", Exit.USAGE)
    return OAuth(
        token=token,
        claims=claims,
        lifetime_s=_lifetime_s(chosen),
        endpoint=endpoint,
        url_encoded=chosen.flag("oauth encoding", False),
        client_id=client,
        client_secret=secret,
        scope=chosen.text("oauth scope"),
        extensions=_extensions(chosen),
        authorities=_store(chosen, "oauth authorities", "oauth authorities password", None),
    )


def _lifetime_s(chosen: Chosen) -> float:
    value = chosen.values.get("oauth lifetime")
    try:
        return float(value.text or 3600) if value is not None else 3600.0
    except ValueError:
        assert value is not None
        raise Failure(f"{value.said} is no number", Exit.USAGE) from None


def _extensions(chosen: Chosen) -> dict[str, str]:
    pairs = [word.strip().partition("=") for word in (chosen.text("oauth extensions") or "").split(",") if word.strip()]
    found = {name: text for name, _, text in pairs}
    for meaning, value in chosen.values.items():
        if meaning.startswith("oauth option "):
            option = meaning.removeprefix("oauth option ")
            for prefix in ("extension_", "unsecuredLoginExtension_"):
                if option.startswith(prefix):
                    found.setdefault(option.removeprefix(prefix), value.text)
    for word in (chosen.text("oauth claims") or "").split():
        name, _, text = word.partition("=")
        if name.startswith("extension_"):
            found.setdefault(name.removeprefix("extension_"), text)
    return found


def _claims(chosen: Chosen) -> dict[str, str | float | list[str]] | None:
    """What an unsigned token is to claim, in Java's words or librdkafka's; None where nothing asks for one."""
    claims: dict[str, str | float | list[str]] = {}
    kinds = ("StringClaim_", "NumberClaim_", "ListClaim_")
    for meaning, value in chosen.values.items():
        option = meaning.removeprefix("oauth option unsecuredLogin")
        kind = next((kind for kind in kinds if option.startswith(kind)), None)
        if kind is None:
            continue
        name = option.removeprefix(kind)
        try:
            claims[name] = (
                float(value.text)
                if kind == "NumberClaim_"
                else [word for word in re.split(r"\W+", value.text) if word]
                if kind == "ListClaim_"
                else value.text
            )
        except ValueError:
            raise Failure(f"{value.said} is no number", Exit.USAGE) from None
    words = dict(word.partition("=")[::2] for word in (chosen.text("oauth claims") or "").split())
    if "principal" in words:
        claims[words.get("principalClaimName", "sub")] = words["principal"]
        if "scope" in words:
            claims[words.get("scopeClaimName", "scope")] = words["scope"].split(",")
    return claims or None
