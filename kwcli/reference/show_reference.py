"""The arguments of `kw apis` and `kw errors` in, the reference's answer on standard output out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from decoders.apis import KEYS
from decoders.protocol_facts.api_keys import is_confluent_api_key
from decoders.protocol_facts.kafka_releases import RELEASES, api_versions_of_release
from decoders.protocol_facts.parse_versions_and_releases import split_version_range
from decoders.protocols.recognise_protocols import Finding
from decoders.schema.api_declaration import Api
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.names_in_any_spelling import find_api, find_release, find_version, parse_api_version
from kwcli.output.output_settings import Settings
from kwcli.output.short_texts import palette
from kwcli.run_environment import Environment, Exit, Failure

Row = dict[str, Any]
# Codes or names with commas between them.
_LIST: Final = re.compile(r"-?\w+(,-?\w+)+", re.ASCII)
# Words that are a release, or a range of two, wherever they stand: `3.9`, `v2.8.1`, `3.9..4.0`.
_RELEASES: Final = re.compile(r"v?\d+(\.\d+)+((\.{2,3}|[,:-])(v?\d+(\.\d+)+|latest))?", re.IGNORECASE)


def show_apis(
    env: Environment,
    settings: Settings,
    *,
    api: str | None,
    version: str | None,
    release: str | None,
    diff: tuple[str, str] | None,
    grep: str | None,
    about: bool,
) -> None:
    """Answer `kw apis`: the list, an API, a version, a difference, or a search. Raises click.UsageError and Failure."""
    from kwcli.reference import api_text

    if diff is None and grep is None:
        api, version, release, diff = _split_words_into_api_version_release(
            [word for word in (api, version) if word], release
        )
    asked = [word for word, given in (("--diff", diff), ("--grep", grep), ("--release", release)) if given]
    if len(asked) > 1:
        raise click.UsageError(f"{asked[0]} and {asked[1]} do not go together")
    if (diff and version is not None) or (grep and api):
        raise click.UsageError(f"{asked[0]} does not go with {'a version' if diff else 'an API'}")
    if about and (diff or not (api or grep)):
        raise click.UsageError(f"--about does not go with {'--diff' if diff else 'the list: name an API'}")
    found = find_api(api) if api is not None else None
    if release is not None:
        release = find_release(release)
    how = settings.width, palette(settings.color)
    if diff:
        _show_release_difference(env, settings, found, diff)
    elif grep:
        from kwcli.reference.api_rows import find_apis_and_fields

        rows = find_apis_and_fields(grep)
        if about:
            from kwcli.reference.field_descriptions import read_api_abouts

            for row in rows:
                row["about"] = read_api_abouts(row["key"]).get(f"{row['side']}.{row['path']}")
        _write_rows_in_format(env, settings, rows, lambda: api_text.search_result_lines(rows, grep, *how))
    elif found is None:
        from kwcli.reference.api_rows import make_api_entries

        rows = [row for row in make_api_entries() if release is None or release in row["releases"]]
        _write_rows_in_format(env, settings, rows, lambda: api_text.api_list_lines(rows, *how, release))
    elif version is None:
        from kwcli.reference.api_rows import make_api_tree
        from kwcli.reference.error_rows import list_errors_returned_by_api

        row = make_api_tree(_find_api_in_release_or_fail(found, release)) | {
            "errors": list_errors_returned_by_api(found.key)
        }
        if about:
            _add_abouts_to_api_row(found, release, row)
        _write_rows_in_format(env, settings, row, lambda: api_text.api_tree_lines(row, *how))
    else:
        from kwcli.reference.wire_layout import make_wire_layouts

        its = _find_api_in_release_or_fail(found, release)
        row = make_wire_layouts(its, _parse_api_version(its, version, release), release)
        if about:
            _add_abouts_to_api_row(found, release, row)
        _write_rows_in_format(env, settings, row, lambda: api_text.wire_layout_lines(row, *how))


def _split_words_into_api_version_release(
    words: Sequence[str], release: str | None
) -> tuple[str | None, str | None, str | None, tuple[str, str] | None]:
    """The API, its version, the release, and the pair to compare, from words that may be any of these."""
    others = [word for word in words if not _RELEASES.fullmatch(word)]
    named = [end for word in words if word not in others for end in split_version_range(word) or (word,)]
    api, version, *_ = (*others, None, None)
    ends = split_version_range(version) if version else None
    if release is None and ends and not named:
        return api, None, None, ends
    if release is None and len(named) == 2:
        return api, version, None, (named[0], named[1])
    return api, version, release or (named[0] if named else None), None


def _show_release_difference(env: Environment, settings: Settings, found: Api | None, diff: tuple[str, str]) -> None:
    from kwcli.reference.release_changes import compare_api_versions, compare_releases
    from kwcli.reference.release_changes_text import release_difference_lines, version_difference_lines

    if found is not None and not any("." in word for word in diff):
        older_version, newer_version = (find_version(found, word) for word in diff)
        row = compare_api_versions(found, older_version, newer_version)
        _write_rows_in_format(
            env, settings, row, lambda: version_difference_lines(row, settings.width, palette(settings.color))
        )
        return
    older, newer = (find_release(word) for word in diff)
    row = compare_releases(older, newer, KEYS if found is None else (found.key,))
    _write_rows_in_format(
        env, settings, row, lambda: release_difference_lines(row, settings.width, palette(settings.color))
    )


def show_errors(
    env: Environment, settings: Settings, *, words: Sequence[str], grep: str | None, retriable: bool | None
) -> int:
    """Answer `kw errors`: given codes, all codes, or a search; returns the exit code. Raises click.UsageError."""
    from decoders.protocol_facts.errors.error_codes import ERRORS
    from kwcli.reference import error_rows
    from kwcli.reference.error_rows import error_description_lines, error_list_lines

    words = [] if [word.lower() for word in words] in (["list"], ["all"]) else words
    if words and (grep is not None or retriable is not None):
        raise click.UsageError(f"{'--grep' if grep is not None else '--[not-]retriable'} does not go with a code")
    words = [part for word in words for part in (word.split(",") if _LIST.fullmatch(word) else [word])]
    for word in words:  # click lets -1 through, and with it all words that begin with -
        if word[:1] == "-" and not word[1:].isdecimal():
            raise click.NoSuchOption(word, ctx=click.get_current_context())
    how = settings.width, palette(settings.color)
    findings: list[Finding] = []
    if words:
        codes, unknown, findings = error_rows.find_codes_and_causes(words)
    else:
        codes, unknown = (error_rows.find_error_codes_with_word(grep) if grep else error_rows.list_error_codes()), []
    rows = [error_rows.make_error_row(code) for code in codes]
    if retriable is not None:
        rows = [row for row in rows if row["retriable"] is retriable and row["code"]]
    if words and len(rows) == 1:
        _write_rows_in_format(env, settings, rows[0], lambda: error_description_lines(rows[0], *how))
    elif rows or not words:
        _write_rows_in_format(env, settings, rows, lambda: error_list_lines(rows, *how))
    if findings:
        causes = [{"kind": "explanation", **finding._asdict()} for finding in findings]
        _write_rows_in_format(
            env, settings, causes[0] if len(causes) == 1 else causes, lambda: error_rows.cause_lines(findings, *how)
        )
    for word in unknown:
        meant = did_you_mean(word, [row.name for row in ERRORS.values()])
        hint = f"; kw errors --grep {word} searches" if word.isalpha() and word.isascii() else ""
        if " " in word.strip():
            hint = "; kw decode --explain takes bytes and numbers too"
        if is_confluent_api_key(word):
            hint = "; as an API key it is one of Confluent's own"
        hint = "" if meant else hint
        env.report(f"kw: no error {word!r} is known{meant} (Kafka {RELEASES[-1]} and older){hint}")
    return Exit.FAILURE if unknown else Exit.DONE


def _find_api_in_release_or_fail(found: Api, release: str | None) -> Api:
    """The API as it was in the release (None: as it is). Raises Failure where the release has no such API."""
    from kwcli.reference.api_at_release import find_api_in_release

    if release is None:
        return found
    its = find_api_in_release(found.key, release)
    if its is None:
        having = [one for one in RELEASES if found.key in api_versions_of_release(one)]
        where = " to ".join(dict.fromkeys((having[0], having[-1])))
        raise Failure(f"Kafka {release} has no {found.name}: it is in {where}", Exit.USAGE)
    return its


def _add_abouts_to_api_row(found: Api, release: str | None, row: Row) -> None:
    """Add what each field means to the trees, or the layouts, of both sides of an API."""
    from kwcli.reference.api_at_release import read_abouts_in_release
    from kwcli.reference.field_descriptions import add_abouts_to_rows, read_header_abouts

    abouts = read_abouts_in_release(found.key, release)
    for side in ("request", "response"):
        if isinstance(row[side], list):
            add_abouts_to_rows(row[side], abouts, f"{side}.")
        else:
            add_abouts_to_rows(row[side]["header"], read_header_abouts(), f"{side.capitalize()}Header.")
            add_abouts_to_rows(row[side]["body"], abouts, f"{side}.")


def _parse_api_version(its: Api, word: str, release: str | None) -> int:
    """The number of the version that a word names. Raises Failure where the API does not have it."""
    version = parse_api_version(its, word)
    if version not in its.versions:
        where = f" in {release}" if release else ""
        raise Failure(f"{its.name} has versions {its.versions}{where}, not {version}", Exit.USAGE)
    return version


def _write_rows_in_format(env: Environment, settings: Settings, rows: Row | Sequence[Row], lines: Any) -> None:
    if settings.format == "text":
        text: Iterable[str] = lines()
        env.stdout.write("".join(f"{line}\n" for line in text).encode())
        return
    if settings.format == "json":
        import orjson

        env.stdout.write(orjson.dumps(rows, option=orjson.OPT_INDENT_2) + b"\n")
        return
    from kwcli.output.write_values_in_any_format import open_value_writer

    writer = open_value_writer(settings, lambda data: _write_to_stdout(env, data))
    for row in [rows] if isinstance(rows, dict) else rows:
        writer.add(row)
    writer.close()


def _write_to_stdout(env: Environment, data: bytes) -> None:
    env.stdout.write(data)
