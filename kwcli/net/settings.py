"""Flags, property files, profiles and variables in, one `ClientConfig` out.

Where two say different things the higher wins: a flag, -X, -F, --profile, KW_* variables, the active profile, and
localhost:9092 when nobody says where the cluster is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from decoders.wire.units import parse_duration
from kwcli.env import Environment
from kwcli.exits import Exit, Failure
from kwcli.folders import own_folder
from kwcli.net.core import assemble, properties
from kwcli.net.core.addresses import AddressError, address
from kwcli.net.core.choose import Chosen, Source, Value, choose
from kwcli.net.core.config import Address, ClientConfig

if TYPE_CHECKING:
    from kwcli.net.core.property_files import Pair

_FILE_MAX: Final = 1024 * 1024  # of a property file; a device given by mistake is endless
DEFAULT_SERVER: Final = "localhost:9092"
# Variables that are more than KW_ and a property's name in capitals: KW_SASL_USERNAME is sasl.username.
VARIABLES: Final = {
    "KW_BOOTSTRAP_SERVER": "bootstrap.servers",
    "KW_BOOTSTRAP_CONTROLLER": "bootstrap.controllers",
}
_OTHERS: Final = ("KW_PROFILE", "KW_TIMEOUT", "KW_CONNECT_TIMEOUT", "KW_DIAL_MAP")


def client_config(
    env: Environment,
    *,
    servers: str | None = None,
    controllers: str | None = None,
    properties: Sequence[Pair] = (),  # of -X, the later wins
    files: Sequence[str] = (),
    profile: str | None = None,
    client_id: str | None = None,
    timeout_s: float | None = None,
    connect_timeout_s: float | None = None,
    dial_map: Sequence[tuple[Address, Address]] = (),
) -> ClientConfig:
    """How to reach the cluster, from all that says so; Failure (usage) where it makes no sense."""
    if servers is not None and controllers is not None:
        raise Failure("-b and --bootstrap-controller name two ways in: give one of them", Exit.USAGE)
    sources = [Source("-X", properties), *(Source(f"-F {file}", _file(file)) for file in reversed(files))]
    named, notes = _profiles(env, profile)
    variables = _variables(env.variables)
    sources += [*named, *variables] if profile is not None else [*variables, *named]
    _keep_secrets(env, sources, servers or controllers or "")
    chosen = choose(sources)
    where, origin, is_controller = _where(chosen, servers, controllers)
    protocol = assemble.protocol(chosen, where)
    idle = assemble.idle_settings(chosen, protocol)
    # Who states the protocol means it.
    forgotten = [] if chosen.text("protocol") else idle
    dialled = {**_dialled(env), **dict(dial_map)}
    return ClientConfig(
        servers=assemble.servers(where),
        origin=origin,
        protocol=protocol,
        tls=assemble.tls(chosen, env.variables.get("SSLKEYLOGFILE") or None) if "SSL" in protocol else None,
        sasl=assemble.sasl(chosen) if "SASL" in protocol else None,
        client_id=client_id if client_id is not None else chosen.text("client id") or "kw",
        connect_timeout_s=connect_timeout_s
        or chosen.seconds("connect timeout", _seconds(env, "KW_CONNECT_TIMEOUT", 5.0)),
        timeout_s=timeout_s or chosen.seconds("timeout", _seconds(env, "KW_TIMEOUT", 10.0)),
        controllers=is_controller,
        dial_map=dialled,
        warnings=tuple(dict.fromkeys([*notes, *_misspelt(env.variables), *chosen.warnings, *forgotten])),
        remarks=tuple(dict.fromkeys([*_origins(chosen), *chosen.remarks, *idle])),
    )


def _keep_secrets(env: Environment, sources: Sequence[Source], servers: str) -> None:
    """Nothing that is said from now on has a secret of these sources in it, whoever repeats it.

    What is told openly of them is none: a password that is the user's name would stand out by its absence.
    """
    pairs = [pair for source in sources for pair in source.pairs]
    if not pairs:
        return
    from kwcli.net.core.secrets import public_of, secrets_of

    told = [servers, *public_of(pairs)]
    env.keep_secret(value for value in secrets_of(pairs) if not any(value in text for text in told))


def _where(chosen: Chosen, servers: str | None, controllers: str | None) -> tuple[Value, str, bool]:
    """Where the cluster is, who says so, and whether these are controllers."""
    if servers is not None:
        return Value(servers, "text", "-b", "-b"), "-b", False
    if controllers is not None:
        return (
            Value(controllers, "text", "--bootstrap-controller", "--bootstrap-controller"),
            "--bootstrap-controller",
            True,
        )
    for meaning in ("servers", "controllers"):
        value = chosen.values.get(meaning)
        if value is not None and value.text:
            return value, value.origin, meaning == "controllers"
    return Value(DEFAULT_SERVER, "text", "bootstrap.servers", "default"), "default", False


def _origins(chosen: Chosen) -> list[str]:
    """Who says how to speak, where that is not the default: it may be another place than the one that says where."""
    given = [chosen.values[meaning] for meaning in ("protocol", "mechanism") if chosen.text(meaning)]
    return [f"{value.name} {value.text} (from {value.origin})" for value in given]


def _profiles(env: Environment, name: str | None) -> tuple[list[Source], list[str]]:
    """The profile that is asked for, by flag; else the one of KW_PROFILE or the active one; and what to say of it."""
    folder = own_folder("config", env.variables)
    if name is None and not env.variables.get("KW_PROFILE") and not folder.is_dir():
        return [], []  # most people have none, and what deals with them takes 4 ms to load
    from kwcli.net.profiles import Profiles

    profiles = Profiles.of(env)
    if name is not None:
        origin, chosen = f"--profile {name}", name
    elif asked := env.variables.get("KW_PROFILE"):
        origin, chosen = f"KW_PROFILE={asked}", asked
    elif active := profiles.active():
        if active not in profiles.names():
            return [], [f"the active profile {active} is gone: kw profile use NAME, or --none"]
        origin, chosen = f"active profile {active}", active
    else:
        return [], []
    source = Source(origin, profiles.pairs(chosen))
    notes = [f"others may read {profiles.path(chosen)}: chmod 600 it"] if profiles.open_to_others(chosen) else []
    return [source], notes


def _variables(variables: Mapping[str, str]) -> list[Source]:
    """One source each, so that people are told which variable it was."""
    given = [name for name in variables if name.startswith("KW_")]
    names = _variable_names() if given else {}
    # The login configuration last: what it says besides may have a variable of its own.
    given.sort(key=lambda name: name == "KW_SASL_JAAS_CONFIG")
    return [Source(name, [(names[name], variables[name])]) for name in given if name in names]


def _variable_names() -> dict[str, str]:
    return {f"KW_{name.upper().replace('.', '_')}": name for name in properties.BY_NAME} | VARIABLES


def _misspelt(variables: Mapping[str, str]) -> list[str]:
    """Warnings about variables that look like ours."""
    given = [name for name in variables if name.startswith("KW_")]
    if not given:
        return []
    from kwcli.spelling import did_you_mean

    known = {*_variable_names(), *_OTHERS}
    meant = {name: did_you_mean(name, known) for name in given if name not in known}
    return [f"unknown variable {name}{others}" for name, others in meant.items() if others]


def _seconds(env: Environment, name: str, default: float) -> float:
    text = env.variables.get(name)
    if not text:
        return default
    return seconds(text, name)


def seconds(text: str, name: str) -> float:
    """`10`, `10s`, `500ms`, `2m` → seconds. Failure names where it was said."""
    word = text.strip().lower()
    try:
        found = parse_duration(word if word[-1:].isalpha() else f"{word}s") / 1000
    except ValueError:
        found = 0
    if found > 0:
        return found
    raise Failure(f"{name}: {text!r} is no time (write 10, 10s or 500ms)", Exit.USAGE)


def _dialled(env: Environment) -> dict[Address, Address]:
    return dict(dial_pair(word, "KW_DIAL_MAP") for word in env.variables.get("KW_DIAL_MAP", "").split(",") if word)


def dial_pair(text: str, name: str) -> tuple[Address, Address]:
    """`HOST:PORT=HOST:PORT`: what a broker says it is, and where it is dialled instead."""
    said, equals, dialled = text.partition("=")
    try:
        if not equals:
            raise AddressError(f"{text!r} has no = in it: write HOST:PORT=HOST:PORT")
        return address(said, None), address(dialled, None)
    except AddressError as error:
        raise Failure(f"{name}: {error}", Exit.USAGE) from None


def _file(path: str) -> list[Pair]:
    from kwcli.net.core import property_files

    try:
        with open(path, "rb") as file:
            content = file.read(_FILE_MAX)
    except OSError as error:
        raise Failure(f"-F {path}: {error.strerror}", Exit.USAGE) from None
    return property_files.parse(property_files.decoded(content))
