"""Options that say where schemas of keys and values are besides the captures: files, a schema registry."""

from __future__ import annotations

from typing import Final

import click

from decoders.named_tuple import NamedTuple
from kwcli.options import Command, add_options, make_config_files_option, pass_options_as_value, schemas_option

__all__ = ["RegistryOptions", "SchemaOptions", "registry_options", "schema_options"]


class RegistryOptions(NamedTuple):
    """The schema registry of a command that connects to nothing else: KEY=VALUE words, and files of properties."""

    properties: tuple[str, ...] = ()
    config_files: tuple[str, ...] = ()


class SchemaOptions(NamedTuple):
    """Where an answer about keys and values finds their schemas: in files, and in a registry."""

    schemas: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    config_files: tuple[str, ...] = ()


_REGISTRY_OPTIONS: Final = (
    click.option(
        "-X",
        "--property",
        "properties",
        multiple=True,
        metavar="KEY=VALUE",
        help="The schema registry to ask: schema.registry.url=URL and its login (see: kw help values).",
    ),
    make_config_files_option("A file of client properties that names a schema registry."),
)


def registry_options(command: Command) -> Command:
    """Options for a schema registry; the command gets them as `registry`: a RegistryOptions."""
    return add_options(
        pass_options_as_value("registry", RegistryOptions, RegistryOptions._fields)(command), *_REGISTRY_OPTIONS
    )


def schema_options(command: Command) -> Command:
    """Options for the schemas of keys and values that an answer is about; the command gets a SchemaOptions.

    It is called `schemas`.
    """
    return add_options(
        pass_options_as_value("schemas", SchemaOptions, SchemaOptions._fields)(command),
        schemas_option,
        *_REGISTRY_OPTIONS,
    )
