"""Settings from all sources in, the one configuration of a client out, or the setting that is wrong."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, cast

from kwcli.net.config import client_properties
from kwcli.net.config.client_config import (
    OLD_RELEASE,
    Address,
    AwsSettings,
    ClientConfig,
    ConnectionOptions,
    KeyStoreFile,
    OAuthSettings,
    Protocol,
    RegistrySettings,
    SaslSettings,
    TlsSettings,
)
from kwcli.net.config.merge_settings import ChosenSettings, SettingSource, SettingValue, merge_setting_sources
from kwcli.net.parse_addresses import AddressError, parse_address, parse_addresses
from kwcli.run_environment import Environment, Exit, Failure
from kwcli.user_folders import own_folder_name

if TYPE_CHECKING:
    from kwcli.net.config.client_properties import Pair

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
AWS_MSK_IAM: Final = "AWS_MSK_IAM"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", AWS_MSK_IAM)
_CIPHERS_1_3: Final = ("TLS_AES_", "TLS_CHACHA20_")
# Class of a login module → mechanism; SCRAM's class does not say which of the two it is.
_BY_MODULE: Final = {
    "PlainLoginModule": "PLAIN",
    "OAuthBearerLoginModule": "OAUTHBEARER",
    "Krb5LoginModule": "GSSAPI",
    "IAMLoginModule": AWS_MSK_IAM,
}
# The region in host names of AWS; Java's classes that sign OAUTHBEARER's tokens with AWS' credentials.
# Patterns are strings, compiled when they are first used: most commands never need them.
_AWS_HOST: Final = r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.(?:amazonaws|api\.aws)"
_AWS_HANDLER: Final = "software.amazon.msk.auth.iam.IAMOAuthBearer"
_LISTENER: Final = r"(?:^|,)\s*([A-Za-z_]+)://"

TlsVersion = Literal["TLSv1.2", "TLSv1.3"]


def parse_bootstrap_servers(value: SettingValue) -> tuple[Address, ...]:
    """The addresses of a setting that names servers, such as `-b`. Raises Failure (usage)."""
    try:
        return parse_addresses(value.text)
    except AddressError as error:
        raise Failure(f"{value.name_and_place}: {error}", Exit.USAGE) from None


def choose_security_protocol(chosen: ChosenSettings, where: SettingValue) -> Protocol:
    """The security protocol. `SSL://` before a server names one too, which wins only in an option."""
    value = chosen.values.get("protocol")
    listeners = re.findall(_LISTENER, where.text) if "://" in where.text else ()
    spoken = {name.upper() for name in listeners} & set(PROTOCOLS)
    if len(spoken) == 1 and (value is None or not value.text or where.origin == where.name):
        return cast(Protocol, spoken.pop())
    if value is None or not value.text:
        return "PLAINTEXT"
    name = value.text.upper()
    if name not in PROTOCOLS:
        raise Failure(f"{value.name_and_place} is {value.text!r}: write one of {', '.join(PROTOCOLS)}", Exit.USAGE)
    return cast(Protocol, name)


# Settings that only TLS and only SASL use; and the protocol that adds either to the one that was chosen.
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


def list_warnings_of_empty_settings(chosen: ChosenSettings, name: str) -> list[str]:
    """Warnings about settings that are there, and empty: Java takes an empty one for a word of its own."""
    lines = []
    check, protocol = chosen.values.get("host name check"), chosen.values.get("protocol")
    if "SSL" in name and check is not None and not check.text and chosen.read_flag("verify", True):
        lines.append(
            f"{check.name_and_place} is empty, so brokers' host names are not checked against their certificates: "
            "write https to check them, none to go without"
        )
    if protocol is not None and not protocol.text:
        lines.append(f"{protocol.name_and_place} is empty: kw speaks {name}")
    return lines


def list_warnings_of_unused_settings(chosen: ChosenSettings, name: Protocol) -> list[str]:
    """Warnings about settings that the protocol makes no use of, which is how a forgotten protocol shows."""
    lines = []
    for word, meanings in _TELLING.items():
        given = [chosen.values[meaning] for meaning in meanings if chosen.read_text(meaning)]
        if given and word not in name:
            remedy = f"-X security.protocol={_WITH[name, word]}"
            lines.append(f"{given[0].name_and_place} is not used: security.protocol is {name}; set it by {remedy}")
    return lines


def build_tls_settings(chosen: ChosenSettings, key_log: str | None) -> TlsSettings:
    """The TLS settings. Raises Failure (usage)."""
    check = chosen.values.get("host name check")
    verify = chosen.read_flag("verify", True)
    if check is not None and check.text.lower() not in ("", "none", "https"):
        raise Failure(f"{check.name_and_place} is {check.text!r}: write https, or none", Exit.USAGE)
    minimum, maximum = _read_tls_versions(chosen)
    certificate = _build_key_store_file(chosen, "certificate", "certificate password", "key password")
    key = _build_key_store_file(chosen, "key", None, "key password")
    if key is not None and certificate is None:
        raise Failure(
            f"{chosen.values['key'].name_and_place} needs a certificate: -X ssl.certificate.location=FILE", Exit.USAGE
        )
    ciphers = chosen.read_text("ciphers")
    if ciphers and any(name.strip().startswith(_CIPHERS_1_3) for name in re.split("[,:]", ciphers)):
        text = "it chooses suites of TLS 1.2 only; those of TLS 1.3 are all on"
        chosen.remarks.append(f"{chosen.values['ciphers'].name_and_place}: {text}")
    return TlsSettings(
        authorities=_build_key_store_file(chosen, "authorities", "authorities password", None),
        certificate=certificate,
        key=key,
        verify=verify,
        check_hostname=verify and (check is None or check.text.lower() == "https"),
        ciphers=ciphers.replace(",", ":") if ciphers else None,
        minimum=minimum,
        maximum=maximum,
        key_log=key_log,
    )


def _read_tls_versions(chosen: ChosenSettings) -> tuple[TlsVersion | None, TlsVersion | None]:
    value = chosen.values.get("tls versions")
    if value is None or not value.text:
        return None, None
    names = {name.strip() for name in value.text.split(",")}
    usable = sorted(names & {"TLSv1.2", "TLSv1.3"})
    if not usable:
        raise Failure(f"{value.name_and_place} is {value.text!r}: kw speaks TLSv1.2 and TLSv1.3", Exit.USAGE)
    if len(usable) < len(names):
        chosen.remarks.append(f"{value.name_and_place}: kw speaks {' and '.join(usable)} of these")
    return cast(TlsVersion, usable[0]), cast(TlsVersion, usable[-1])


def _build_key_store_file(
    chosen: ChosenSettings, meaning: str, password: str | None, key_password: str | None
) -> KeyStoreFile | None:
    value = chosen.values.get(meaning)
    if value is None or not value.text or (value.text == "probe" and value.name.endswith("ca.location")):
        return None  # librdkafka's "probe" asks for the system's authorities
    secret = chosen.read_text(password) if password else None
    key_secret = chosen.read_text(key_password) if key_password else None
    if value.form == "pem":
        return KeyStoreFile(pem=value.text, password=secret, key_password=key_secret)
    return KeyStoreFile(path=value.text, password=secret, key_password=key_secret)


def build_sasl_settings(
    chosen: ChosenSettings, servers: Sequence[Address], variables: Mapping[str, str]
) -> SaslSettings:
    """The SASL settings: mechanism and credentials. Raises Failure (usage)."""
    mechanism = _read_mechanism(chosen)
    username, password = chosen.read_text("username"), chosen.read_text("password")
    if mechanism == AWS_MSK_IAM:
        return SaslSettings("OAUTHBEARER", aws=_build_aws_settings(chosen, servers, variables))
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM"):
        for what, value in (("sasl.username", username), ("sasl.password", password)):
            if value is None:
                raise Failure(f"{mechanism} needs {what}: give it by -X, -F or a profile", Exit.USAGE)
    return SaslSettings(
        mechanism,
        username=username,
        password=password,
        oauth=_build_oauth_settings(chosen) if mechanism == "OAUTHBEARER" else None,
        service=chosen.read_text("service") or "kafka",
        principal=chosen.read_text("principal"),
        keytab=chosen.read_text("keytab"),
        token_auth=chosen.read_flag("token auth", False),
    )


def _build_aws_settings(
    chosen: ChosenSettings, servers: Sequence[Address], variables: Mapping[str, str]
) -> AwsSettings:
    by_host = next((match[1] for host, _ in servers if (match := re.search(_AWS_HOST, host))), None)
    region = (
        chosen.read_text("aws region") or by_host or variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION")
    )
    if not region:
        raise Failure(
            f"{AWS_MSK_IAM} needs the cluster's region: -X sasl.aws.region=eu-west-1, or AWS_REGION", Exit.USAGE
        )
    profile, role = chosen.read_text("aws profile"), chosen.read_text("aws role")
    if profile and role:
        one, other = chosen.values["aws profile"].name_and_place, chosen.values["aws role"].name_and_place
        raise Failure(f"{one} and {other}: give one of them; a profile of AWS' own files can name a role", Exit.USAGE)
    return AwsSettings(region, profile, role, chosen.read_text("aws session"))


def _read_mechanism(chosen: ChosenSettings) -> str:
    value, module = chosen.values.get("mechanism"), chosen.read_text("login module")
    if value is not None and value.text:
        name = value.text.upper()
        if name not in MECHANISMS:
            raise Failure(f"{value.name_and_place} is {value.text!r}: kw knows {', '.join(MECHANISMS)}", Exit.USAGE)
        by_aws = (chosen.read_text("login handler") or "").startswith(_AWS_HANDLER)
        return AWS_MSK_IAM if name == "OAUTHBEARER" and by_aws else name
    if module in _BY_MODULE:
        return _BY_MODULE[module]
    if chosen.read_text("oauth token") or chosen.read_text("oauth endpoint"):
        return "OAUTHBEARER"
    if module or chosen.read_text("username") or chosen.read_text("password"):
        raise Failure("sasl.mechanism is missing: -X sasl.mechanism=PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", Exit.USAGE)
    return "GSSAPI"  # the default of both clients


def _build_oauth_settings(chosen: ChosenSettings) -> OAuthSettings:
    token, endpoint = chosen.read_text("oauth token"), chosen.read_text("oauth endpoint")
    claims = None if token or endpoint else _read_oauth_claims(chosen)
    if not token and not endpoint and claims is None:
        raise Failure(
            "OAUTHBEARER needs a token: -X sasl.oauthbearer.token=TOKEN, or -X sasl.oauthbearer.token.endpoint.url=URL "
            "with …client.id and …client.secret",
            Exit.USAGE,
        )
    client, secret = chosen.read_text("oauth client"), chosen.read_text("oauth secret")
    if endpoint and not token and not endpoint.startswith("file:") and not (client and secret):
        raise Failure(
            "a token endpoint needs sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret", Exit.USAGE
        )
    for meaning, known in (("oauth grant", ("client_credentials",)), ("oauth method", ("default", "oidc"))):
        value = chosen.values.get(meaning)
        if value is not None and value.text not in ("", *known):
            raise Failure(f"{value.name_and_place} is {value.text!r}: kw knows {' and '.join(known)}", Exit.USAGE)
    return OAuthSettings(
        token=token,
        claims=claims,
        lifetime_s=_read_token_lifetime_s(chosen),
        endpoint=endpoint,
        url_encoded=chosen.read_flag("oauth encoding", False),
        client_id=client,
        client_secret=secret,
        scope=chosen.read_text("oauth scope"),
        extensions=_read_oauth_extensions(chosen),
        authorities=_build_key_store_file(chosen, "oauth authorities", "oauth authorities password", None),
    )


def _read_token_lifetime_s(chosen: ChosenSettings) -> float:
    value = chosen.values.get("oauth lifetime")
    try:
        return float(value.text or 3600) if value is not None else 3600.0
    except ValueError:
        assert value is not None
        raise Failure(f"{value.name_and_place} is no number", Exit.USAGE) from None


def _read_oauth_extensions(chosen: ChosenSettings) -> dict[str, str]:
    pairs = [
        word.strip().partition("=") for word in (chosen.read_text("oauth extensions") or "").split(",") if word.strip()
    ]
    found = {name: text for name, _, text in pairs}
    for meaning, value in chosen.values.items():
        if meaning.startswith("oauth option "):
            option = meaning.removeprefix("oauth option ")
            for prefix in ("extension_", "unsecuredLoginExtension_"):
                if option.startswith(prefix):
                    found.setdefault(option.removeprefix(prefix), value.text)
    for word in (chosen.read_text("oauth claims") or "").split():
        name, _, text = word.partition("=")
        if name.startswith("extension_"):
            found.setdefault(name.removeprefix("extension_"), text)
    return found


def _read_oauth_claims(chosen: ChosenSettings) -> dict[str, str | float | list[str]] | None:
    """The claims of an unsigned token, in Java's words or librdkafka's; None where nothing asks for such a token."""
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
            raise Failure(f"{value.name_and_place} is no number", Exit.USAGE) from None
    words = dict(word.partition("=")[::2] for word in (chosen.read_text("oauth claims") or "").split())
    if "principal" in words:
        claims[words.get("principalClaimName", "sub")] = words["principal"]
        if "scope" in words:
            claims[words.get("scopeClaimName", "scope")] = words["scope"].split(",")
    return claims or None


# The client's configuration


_FILE_MAX: Final = 1024 * 1024  # of a property file; a device given by mistake is endless
DEFAULT_SERVER: Final = "localhost:9092"
# Variables besides KW_ and a property's name in capitals (KW_SASL_USERNAME is sasl.username).
VARIABLES: Final = {
    "KW_BOOTSTRAP_SERVER": "bootstrap.servers",
    "KW_BOOTSTRAP_CONTROLLER": "bootstrap.controllers",
}
_OTHERS: Final = (
    *("KW_PROFILE", "KW_TIMEOUT", "KW_CONNECT_TIMEOUT", "KW_DIAL_MAP", "KW_OUTPUT", "KW_PAGER"),
    *("KW_COMPLETION_LIMIT", "KW_PLAYGROUND", "KW_COMPILE"),
)


def build_client_config(env: Environment, asked: ConnectionOptions) -> ClientConfig:
    """The client's configuration from all sources; Failure (usage) where it makes no sense.

    Where two sources differ the higher one wins: a flag, -X, -F, --profile, KW_* variables, the active profile, and
    localhost:9092 when no source says where the cluster is.
    """
    if asked.servers is not None and asked.controllers is not None:
        raise Failure("-b and --bootstrap-controller exclude each other: give one of them", Exit.USAGE)
    sources, notes = read_setting_sources(
        env, properties=asked.properties, files=asked.config_files, profile=asked.profile
    )
    _register_secrets(env, sources, asked.servers or asked.controllers or "")
    chosen = merge_setting_sources(sources)
    misspelt, faults = _find_misspelt_variables(env.variables)
    for fault in (*chosen.faults, *faults):  # the first is enough
        raise Failure(fault, Exit.USAGE)
    where, origin, is_controller = _choose_servers(chosen, asked.servers, asked.controllers)
    if where.text == DEFAULT_SERVER and origin == "default":
        misspelt += [
            f"{name} is not read: KW_BOOTSTRAP_SERVER or -b says where the cluster is"
            for name in _SERVERS_OF_OTHERS
            if name in env.variables
        ]
    protocol = choose_security_protocol(chosen, where)
    addresses = parse_bootstrap_servers(where)
    idle = list_warnings_of_unused_settings(chosen, protocol)
    # A protocol that is stated is meant: settings that it does not use are remarks then, not warnings.
    forgotten = [] if chosen.read_text("protocol") else idle
    dialled = {**_read_dial_map(env), **dict(asked.dial_map)}
    return ClientConfig(
        servers=addresses,
        origin=origin,
        protocol=protocol,
        tls=build_tls_settings(chosen, env.variables.get("SSLKEYLOGFILE") or None) if "SSL" in protocol else None,
        sasl=build_sasl_settings(chosen, addresses, env.variables) if "SASL" in protocol else None,
        client_id=asked.client_id if asked.client_id is not None else chosen.read_text("client id") or "kw",
        connect_timeout_s=asked.connect_timeout_s
        or chosen.read_seconds("connect timeout", _read_seconds_variable(env, "KW_CONNECT_TIMEOUT", 5.0)),
        timeout_s=asked.timeout_s or chosen.read_seconds("timeout", _read_seconds_variable(env, "KW_TIMEOUT", 10.0)),
        asks_versions=chosen.read_flag("version request", True),
        assumed_release=_read_assumed_release(chosen),
        controllers=is_controller,
        dial_map=dialled,
        registry=_build_registry_settings(chosen, env.variables),
        warnings=tuple(
            dict.fromkeys(
                [*notes, *misspelt, *chosen.warnings, *list_warnings_of_empty_settings(chosen, protocol), *forgotten]
            )
        ),
        remarks=tuple(dict.fromkeys([*_list_remarks_on_origins(chosen), *chosen.remarks, *idle])),
    )


def _build_registry_settings(chosen: ChosenSettings, variables: Mapping[str, str]) -> RegistrySettings | None:
    """The schema registry, where one is named; TLS has the settings of brokers. Raises Failure (usage)."""
    url = chosen.read_text("registry")
    if not url:
        return None
    user_info = chosen.read_text("registry user")
    if (chosen.read_text("registry credentials") or "").upper() == "SASL_INHERIT":
        user_info = f"{chosen.read_text('username') or ''}:{chosen.read_text('password') or ''}"
    tls = build_tls_settings(chosen, variables.get("SSLKEYLOGFILE") or None) if "https:" in url else TlsSettings()
    return RegistrySettings(url, user_info, chosen.read_text("registry token"), tls)


def _read_assumed_release(chosen: ChosenSettings) -> str:
    """The release of brokers that do not say their versions (`0.10.0.1` is 0.10.0). Raises Failure (usage)."""
    value = chosen.values.get("version fallback")
    if value is None or not value.text:
        return OLD_RELEASE
    from kwcli.names_in_any_spelling import find_release

    try:
        return find_release(value.text)
    except Failure as failure:
        raise Failure(f"{value.name_and_place}: {failure}", Exit.USAGE) from None


def read_setting_sources(
    env: Environment, *, properties: Sequence[Pair], files: Sequence[str], profile: str | None
) -> tuple[list[SettingSource], list[str]]:
    """All sources of settings, the highest first, and warnings about the profile."""
    sources = [SettingSource("-X", properties), *(read_settings_file(file) for file in reversed(files))]
    named, notes = _read_profile_sources(env, profile)
    notes += _list_warnings_of_world_writable_files(files)
    variables = _read_variable_sources(env.variables)
    return [*sources, *([*named, *variables] if profile is not None else [*variables, *named])], notes


def _list_warnings_of_world_writable_files(files: Sequence[str]) -> list[str]:
    """Warnings about files of -F that any user can change, and so send a login elsewhere."""
    found = []
    for path in files:
        with suppress(OSError):
            mode = os.stat(path).st_mode
            if stat.S_ISREG(mode) and mode & stat.S_IWOTH:
                found.append(f"other users can change -F {path}: chmod go-w it")
    return found


def _register_secrets(env: Environment, sources: Sequence[SettingSource], servers: str) -> None:
    """Hide the secrets of these sources in all that is printed from now on.

    A value that is also told openly is not hidden: a password equal to the user's name would stand out by its absence.
    """
    pairs = [pair for source in sources for pair in source.pairs]
    if not pairs:
        return
    from kwcli.net.config.client_properties import find_public_texts, find_secret_texts

    told = [servers, *find_public_texts(pairs)]
    env.add_secrets_to_hide(value for value in find_secret_texts(pairs) if not any(value in text for text in told))


def _choose_servers(
    chosen: ChosenSettings, servers: str | None, controllers: str | None
) -> tuple[SettingValue, str, bool]:
    """The addresses of the cluster, the source that names them, and whether they are controllers."""
    if servers is not None:
        return SettingValue(servers, "text", "-b", "-b"), "-b", False
    if controllers is not None:
        return (
            SettingValue(controllers, "text", "--bootstrap-controller", "--bootstrap-controller"),
            "--bootstrap-controller",
            True,
        )
    for meaning in ("servers", "controllers"):
        value = chosen.values.get(meaning)
        if value is not None and value.text:
            return value, value.origin, meaning == "controllers"
    return SettingValue(DEFAULT_SERVER, "text", "bootstrap.servers", "default"), "default", False


def _list_remarks_on_origins(chosen: ChosenSettings) -> list[str]:
    """Remarks on the sources of protocol and mechanism: they may differ from the source that names the cluster."""
    given = [chosen.values[meaning] for meaning in ("protocol", "mechanism") if chosen.read_text(meaning)]
    return [f"{value.name} {value.text} (from {value.where})" for value in given]


def _read_profile_sources(env: Environment, name: str | None) -> tuple[list[SettingSource], list[str]]:
    """The profile named by flag, else by KW_PROFILE, else the active one; and warnings about it."""
    folder = own_folder_name("config", env.variables)
    if name is None and not env.variables.get("KW_PROFILE") and not os.path.isdir(folder):
        return [], []  # most people have none, and what deals with them takes 4 ms to load
    from kwcli.net.config.connection_profiles import Profiles

    profiles = Profiles.open_own(env)
    if name is not None:
        origin, chosen = f"--profile {name}", name
    elif asked := env.variables.get("KW_PROFILE"):
        origin, chosen = f"KW_PROFILE={asked}", asked
    elif active := profiles.read_active_name():
        if active not in profiles.list_names():
            return [], [f"the active profile {active} is gone: kw profile use NAME, or --none"]
        origin, chosen = f"active profile {active}", active
    else:
        return [], []
    source = profiles.read_source(chosen, origin)
    notes = (
        [f"other users may read {profiles.path_of_profile(chosen)}: chmod 600 it"]
        if profiles.is_readable_by_others(chosen)
        else []
    )
    return [source], notes


def _read_variable_sources(variables: Mapping[str, str]) -> list[SettingSource]:
    """The sources of KW_ variables, one each, so that messages name the variable."""
    given = [name for name in variables if name.startswith("KW_")]
    names = _map_variables_to_properties() if given else {}
    # The login configuration last: variables of their own win over the options in it.
    given.sort(key=lambda name: name == "KW_SASL_JAAS_CONFIG")
    return [SettingSource(name, [(names[name], variables[name])]) for name in given if name in names]


def _map_variables_to_properties() -> dict[str, str]:
    return {f"KW_{name.upper().replace('.', '_')}": name for name in client_properties.BY_NAME} | VARIABLES


# Variables in which other programs have the servers.
_SERVERS_OF_OTHERS: Final = ("KAFKA_BOOTSTRAP_SERVERS", "BOOTSTRAP_SERVERS", "KAFKA_BROKERS")


def _find_misspelt_variables(variables: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Messages about misspelt KW_ variables: warnings, and those that may have been meant to protect the connection."""
    given = [name for name in variables if name.startswith("KW_")]
    if not given:
        return [], []
    from decoders.wire.suggest_similar_words import did_you_mean
    from kwcli.net.config.unknown_properties import is_property_about_security

    known = {*_map_variables_to_properties(), *_OTHERS}
    lines: tuple[list[str], list[str]] = ([], [])
    for name in given:
        meant = did_you_mean(name, known) if name not in known else ""
        if meant:
            security = is_property_about_security(name.removeprefix("KW_").replace("_", ".").lower(), variables[name])
            lines[security].append(f"unknown variable {name}{meant}")
    return lines


def _read_seconds_variable(env: Environment, name: str, default: float) -> float:
    text = env.variables.get(name)
    if not text:
        return default
    return parse_seconds(text, name)


def parse_seconds(text: str, name: str) -> float:
    """`10`, `10s`, `500ms`, `2m` → seconds. The Failure names `name`, where the text was given."""
    from decoders.wire.parse_units import parse_duration  # few settings are times

    try:
        found = parse_duration(text.strip().lower()) / 1000
    except ValueError:
        found = 0
    if found > 0:
        return found
    raise Failure(f"{name}: {text!r} is no time (write 10, 10s or 500ms)", Exit.USAGE)


def _read_dial_map(env: Environment) -> dict[Address, Address]:
    return dict(
        parse_dial_pair(word, "KW_DIAL_MAP") for word in env.variables.get("KW_DIAL_MAP", "").split(",") if word
    )


def parse_dial_pair(text: str, name: str) -> tuple[Address, Address]:
    """A pair `HOST:PORT=HOST:PORT`: the address that a broker names, and the address that is dialled instead."""
    said, equals, dialled = text.partition("=")
    try:
        if not equals:
            raise AddressError(f"{text!r} has no = in it: write HOST:PORT=HOST:PORT")
        return parse_address(said, None), parse_address(dialled, None)
    except AddressError as error:
        raise Failure(f"{name}: {error}", Exit.USAGE) from None


def read_settings_file(path: str) -> SettingSource:
    """The properties of a file of -F. Raises Failure (usage)."""
    from kwcli.net.config import client_properties as property_files

    try:
        with open(path, "rb") as file:
            content = file.read(_FILE_MAX)
    except OSError as error:
        raise Failure(f"-F {path}: {error.strerror}", Exit.USAGE) from None
    return SettingSource(
        f"-F {path}", *property_files.parse_properties_with_lines(property_files.decode_config_text(content))
    )
