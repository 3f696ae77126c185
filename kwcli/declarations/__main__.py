"""`python -m kwcli.declarations check JAR…|write JAR…|format|schema`: declarations compared, written, put in order."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.schema.api_declaration import DeclarationError, Side, resolve
from decoders.schema.field_projection import Mode
from decoders.schema.lazy_decoder import decoder_source, encoder_source
from kwcli.declarations.compare_with_release import (
    compare_apis_with_release,
    compare_release_table,
    compare_structures_with_release,
    versions_to_ask_each_release,
)
from kwcli.declarations.declaration_text import (
    declaration_path,
    find_unformatted_files,
    format_api_declaration,
    read_all_declarations,
    replace_declaration,
)
from kwcli.declarations.make_abouts_files import compare_abouts_files, make_abouts_files
from kwcli.declarations.make_published_schemas import (
    PUBLISHED,
    PUBLISHED_STATISTICS,
    format_schema,
    make_record_schema,
    make_statistics_schema,
)
from kwcli.declarations.merge_releases import unite_apis
from kwcli.declarations.read_release_jar import DefinitionError, Release, read_release_definitions

_PATHS = click.argument("jars", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="JAR…")


@click.group()
def main() -> None:
    """Compare decoders/apis with the message definitions in kafka-clients jars, or write it from them."""


def _read_releases_in_jars(jars: tuple[Path, ...]) -> list[Release]:
    try:
        return [read_release_definitions(path) for path in jars]
    except DefinitionError as error:
        raise click.ClickException(str(error)) from error


def _find_newest_release_written() -> tuple[int, ...]:
    """The release that our declarations were last written from."""
    return tuple(map(int, RELEASES[-1].split(".")))


@main.command()
@_PATHS
def check(jars: tuple[Path, ...]) -> None:
    """List every difference in APIs, headers, structures, abouts and the release table; exit 1 when there is one.

    Of several jars each speaks for the versions of APIs that no newer one of them has. Jars of coordinators,
    controllers and storage (kafka-group-coordinator, kafka-metadata, …) have structures alone.

    \b
    Example: python -m kwcli.declarations check kafka-clients-3.9.2.jar kafka-clients-4.4.0.jar
    """
    ours = read_all_declarations()
    found = 0
    releases = _read_releases_in_jars(jars)
    for release, versions in versions_to_ask_each_release(releases):
        details = release.version[:2] >= _find_newest_release_written()
        differences = compare_apis_with_release(ours, release, versions, details=details)
        if details:
            differences += compare_structures_with_release(release)
        if release.apis:
            differences += compare_release_table(release)
        found += len(differences)
        for difference in differences:
            click.echo(difference)
        asked = sum(map(len, versions.values()))
        what = f"{2 * asked} (API, version, side)" if release.apis else f"{len(release.structures)} structures"
        click.echo(f"{release}: {what}, {len(differences)} differences", err=True)
    for difference in compare_abouts_files(ours, releases, _find_newest_release_written()):
        found += 1
        click.echo(difference)
    sys.exit(1 if found else 0)


@main.command()
@_PATHS
def write(jars: tuple[Path, ...]) -> None:
    """Write or update the declaration files and their abouts; give the newest jar, and older ones for what it lacks.

    \b
    Example: python -m kwcli.declarations write kafka-clients-4.5.0.jar
    """
    releases = _read_releases_in_jars(jars)
    for api in unite_apis(read_all_declarations(), releases, _find_newest_release_written()):
        path = declaration_path(api.key, api.name)
        old = path.read_text("utf-8") if path.exists() else None
        new = replace_declaration(old, api.name, format_api_declaration(api))
        if new != old:
            path.write_text(new, "utf-8")
            click.echo(f"{'updated' if old else 'new'}: {path.name} ({api.key} {api.name} {api.versions})")
    for file in make_abouts_files(read_all_declarations(), releases, _find_newest_release_written()):
        if [*file.wants.items()] != [*file.has.items()]:
            file.path.parent.mkdir(exist_ok=True)
            file.path.write_text(file.format_wanted_text, "utf-8")
            click.echo(f"{'updated' if file.has else 'new'}: abouts/{file.path.name}")


@main.command()
@click.argument("name")
@click.argument("version", type=int)
@click.argument("side", type=click.Choice(["request", "response"]), default="request")
@click.option("--encoder", is_flag=True, help="The encoder instead of the decoder.")
@click.option("--json", "as_json", is_flag=True, help="The decoder that makes the JSON form.")
def source(name: str, version: int, side: Side, *, encoder: bool, as_json: bool) -> None:
    """Print the Python that is generated to read or write a message, with the field's name beside each line.

    \b
    Example: python -m kwcli.declarations source Heartbeat 4 response
    """
    found = next((each for each in read_all_declarations().values() if each.name.lower() == name.lower()), None)
    if found is None or version not in found.versions:
        raise click.UsageError(f"no API {name}" if found is None else f"{found.name} has versions {found.versions}")
    plan = resolve(found.message(side), version)
    click.echo(encoder_source(plan) if encoder else decoder_source(plan, Mode(json=as_json)), nl=False)


@main.command(name="format")
def format_() -> None:
    """Align the columns of our declarations and put their words in order; the files that changed are named."""
    try:
        files = find_unformatted_files()
    except DeclarationError as error:
        raise click.ClickException(str(error)) from error
    for path, text in files.items():
        path.write_text(text, "utf-8")
        click.echo(f"formatted: {path.name}")


@main.command()
def schema() -> None:
    """Write record.schema.json and statistics.schema.json anew, with the rows of their tables.

    The tables are decoders/exchanges/exchange_attribute_schemas.py and decoders/analysis/dimension_and_metric_table.py.
    """
    PUBLISHED.write_text(format_schema(make_record_schema()), "utf-8")
    PUBLISHED_STATISTICS.write_text(format_schema(make_statistics_schema()), "utf-8")


if __name__ == "__main__":
    main()
