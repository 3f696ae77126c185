"""The options of every command that connects: where the cluster is, how to log in, how long to wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kwcli.net.config.client_config import Address, ClientConfig, ConnectionOptions
from kwcli.option_types import Seconds
from kwcli.options import ContentOptions, add_options, make_config_files_option, pass_options_as_value
from kwcli.run_environment import Environment, Failure
from kwcli.schema_options import RegistryOptions, SchemaOptions

if TYPE_CHECKING:
    from kwcli.net.config.client_config import RegistrySettings
    from kwcli.output.output_settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


class KeyValue(click.ParamType[tuple[str, str]]):
    """A pair `key=value`. Errors leave out the value, which may be a secret."""

    name = "key=value"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not equals or not name.strip():
            from kwcli.net.config.unknown_properties import (
                is_property_of_other_client,
                propose_property,
                redact_unless_property_name,
            )

            if is_property_of_other_client(name) and not equals:
                self.fail(f"{name!r} is no key=value{propose_property(name, 'true', option=True)}", param, ctx)
            self.fail(
                f"{redact_unless_property_name(name.strip())!r} has no value: write key=value; -X list shows all",
                param,
                ctx,
            )
        return name.strip(), text


class Dial(click.ParamType[tuple[Address, Address]]):
    """A pair `HOST:PORT=HOST:PORT`: the address that a broker names, and the address that is dialled."""

    name = "dial"

    def convert(
        self, value: str | tuple[Address, Address], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Address, Address]:
        if isinstance(value, tuple):
            return value
        from kwcli.net.config.build_config import parse_dial_pair

        try:
            return parse_dial_pair(value, "")
        except Failure as failure:
            self.fail(failure.text.removeprefix(": "), param, ctx)


def read_client_config(env: Environment, connection: ConnectionOptions, *, verbose: int = 0) -> ClientConfig:
    """The client's configuration; warns of unknown properties, and with `verbose` tells of those without meaning.

    Raises Failure.
    """
    from kwcli.net.config.build_config import build_client_config

    config = build_client_config(env, connection)
    for line in config.warnings:
        env.report(f"kw: warning: {line}")
    if verbose:
        for line in config.remarks:
            env.report(f"kw: {line}")
    return config


_CLIENT_ID = click.option("--client-id", metavar="ID", help="The client id to send (default: kw).")
_PROPERTIES = click.option(
    "-X",
    "--property",
    "properties",
    multiple=True,
    type=KeyValue(),
    metavar="KEY=VALUE",
    help="A client property, as librdkafka or Java spell it; list shows all, dump those in force.",
)
_CONFIG_FILES = make_config_files_option(
    "A file of client properties: client.properties, librdkafka.config, kcat.conf."
)
_PROFILE = click.option("--profile", metavar="NAME", help="A profile (see kw profile) instead of the active one.")
_TIMEOUT = click.option(
    "--timeout", "timeout_s", type=Seconds(), metavar="TIME", help="Time limit for answers of brokers (default: 10s)."
)
_LOGIN = ("properties", "profile", "timeout_s")
_LOGIN_OPTIONS = (_PROPERTIES, _PROFILE, _TIMEOUT)
_OPTIONS = (
    click.option(
        "-b",
        "--bootstrap-server",
        "servers",
        metavar="HOST:PORT,...",
        help="Brokers to ask first; else a profile's, else localhost:9092.",
    ),
    click.option(
        "--bootstrap-controller", "controllers", metavar="HOST:PORT,...", help="Bootstrap from these controllers."
    ),
    _PROPERTIES,
    _CONFIG_FILES,
    _PROFILE,
    _CLIENT_ID,
    _TIMEOUT,
    click.option(
        "--connect-timeout", "connect_timeout_s", type=Seconds(), metavar="TIME", help="Time to connect (default: 5s)."
    ),
    click.option(
        "--dial-map",
        multiple=True,
        type=Dial(),
        metavar="HOST:PORT=HOST:PORT",
        help="Dial the second where a broker advertises the first.",
    ),
)


def connection_options(command: Command) -> Command:
    """Add all options above; the command is called with `connection`, a ConnectionOptions."""
    return _add_options(command, _OPTIONS)


def connection_options_of_others(command: Command) -> Command:
    """Add all options above but --client-id, for a command that is asked about clients and hardly is one."""
    return _add_options(command, [option for option in _OPTIONS if option is not _CLIENT_ID])


def login_options(command: Command) -> Command:
    """Add -X, --profile and --timeout alone, for a command whose own option may name a broker to ask."""
    return add_options(pass_options_as_value("connection", ConnectionOptions, _LOGIN)(command), *_LOGIN_OPTIONS)


def add_schema_registry_to_settings(
    env: Environment, settings: Settings, config: RegistrySettings | None, *, wanted: bool = False
) -> Settings:
    """The settings, whose reader of values asks a registry for schemas that it lacks. Raises Failure.

    `wanted`: there is a reader, also where no record is shown, since filters may need it.
    """
    if config is None or (settings.values is None and not wanted):
        return settings
    from decoders.messages.decode_record_values import RecordValueReader
    from kwcli.net.schema_registry import SchemaRegistry

    reader = settings.values or RecordValueReader()
    reader.look_further = SchemaRegistry(config, env, reader.store.add_schema).find_schema
    return settings._replace(values=reader)


def add_named_registry_to_settings(
    env: Environment, settings: Settings, content: ContentOptions, registry: RegistryOptions
) -> Settings:
    """The settings, whose reader of values asks the registry that -X and -F name, if they do. Raises Failure."""
    if content.raw_values or not (registry.properties or registry.config_files):
        return settings
    from kwcli.net.config.build_config import build_client_config

    properties = [KeyValue().convert(word, None, None) for word in registry.properties]
    config = build_client_config(env, ConnectionOptions(properties=properties, config_files=registry.config_files))
    return add_schema_registry_to_settings(env, settings, config.registry, wanted=True)


def add_value_reader_to_settings(
    env: Environment, settings: Settings, schemas: SchemaOptions, *, wanted: bool
) -> Settings:
    """The settings, with a reader of values where an answer or a filter of it needs one. Raises Failure.

    `wanted`: the answer is about decoded keys and values.
    """
    content = ContentOptions(schemas=schemas.schemas)
    settings = settings._replace(values=content.make_value_reader(env, wanted=wanted))
    return add_named_registry_to_settings(
        env, settings, content, RegistryOptions(schemas.properties, schemas.config_files)
    )


class ConnectingCommand(click.Command):
    """A command that connects; with `-X list` or `-X dump` it only shows properties, even without required options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any(word in args for word in (*_SHOWN, *_ATTACHED)):
            show_properties(self, ctx, args)
        return super().parse_args(ctx, args)


_SHOWN: Final = ("list", "dump", "help")  # rpk's word for a list is help
_ATTACHED: Final = tuple(f"{option}{word}" for option in ("-X", "--property=") for word in _SHOWN)


def show_properties(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Show the properties that `-X list` or `-X dump` asks for, if one is given, and end the command."""
    try:
        given, _, _ = command.make_parser(ctx).parse_args([*args])
    except click.UsageError:
        return  # the command itself says what is wrong
    words = given.get("properties", [])
    asked = next((word for word in words if word in _SHOWN), None)
    if asked is None:
        return
    given["properties"] = [word for word in words if word not in _SHOWN]
    values: dict[str, Any] = {}
    for param in command.get_params(ctx):
        if param.name in given and param.name in (*ConnectionOptions._fields, "output", "reveal_secrets"):
            values[param.name] = param.process_value(ctx, given[param.name])
        elif param.name == "output" and param.callback is not None:
            values[param.name] = param.callback(ctx, param, None)
    env = ctx.obj
    assert isinstance(env, Environment)
    print_properties(env, asked, values)
    ctx.exit()


def print_properties(env: Environment, asked: str, values: dict[str, Any]) -> None:
    """Print the properties for `list` or `dump`; `values` are those of the command's options. Raises Failure."""
    from kwcli.net.config import show_settings
    from kwcli.net.config.connection_profiles import encode_rows_as_json

    output = values.get("output") or "text"
    if asked != "dump":
        rows = show_settings.build_property_rows()
    else:
        rows = show_settings.build_rows_in_force(
            env,
            properties=values.get("properties") or (),
            files=values.get("config_files") or (),
            profile=values.get("profile"),
            options=[(name, values.get(name)) for name in show_settings.OPTIONS],
            reveal=bool(values.get("reveal_secrets")),
        )
    if output in ("json", "ndjson"):
        env.stdout.write(encode_rows_as_json(rows, output))
        return
    if output == "csv":
        from kwcli.output.csv import format_csv_lines

        env.stdout.write(
            format_csv_lines(show_settings.build_csv_rows(rows), safe=env.csv_safe).encode("utf-8", "surrogateescape")
        )
        return
    lines = show_settings.format_property_table if asked != "dump" else show_settings.format_lines_in_force
    env.stdout.write("".join(f"{line}\n" for line in lines(rows, env.columns)).encode("utf-8", "surrogateescape"))


def _add_options(command: Command, options: Iterable[Callable[[Any], Any]]) -> Command:
    return add_options(
        pass_options_as_value("connection", ConnectionOptions, ConnectionOptions._fields)(command), *options
    )
