"""Another client's configuration file in, a profile out; settings that kw does not follow are reported."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from decoders.named_tuple import NamedTuple
from kwcli.net.config.build_config import MECHANISMS, list_warnings_of_empty_settings
from kwcli.net.config.client_properties import BY_NAME, decode_config_text, parse_properties_with_lines
from kwcli.net.config.connection_profiles import Profiles
from kwcli.net.config.merge_settings import SettingSource, merge_setting_sources
from kwcli.net.config.other_cli_configs import PLACES, ForeignCluster, parse_clusters_of_other_cli
from kwcli.run_environment import Environment, Exit, Failure

_FILE_MAX = 1024 * 1024


class ImportOptions(NamedTuple):
    """The options of an import: `context` names one cluster of a file that has several."""

    context: str | None = None
    active: bool = False
    force: bool = False
    verbose: bool = False


def import_profiles(env: Environment, words: Sequence[str], options: ImportOptions) -> None:
    """Import `[NAME] FILE` as profile NAME; without NAME every cluster of FILE under its own name. Raises Failure."""
    name, file = (words[0], words[1]) if len(words) == 2 else (None, words[0])
    file = _find_config_file(env, file)
    text = _read_config_text(env, file)
    said = "standard input" if file == "-" else file
    try:
        clusters = parse_clusters_of_other_cli(text)
    except ValueError as error:
        raise Failure(f"{said}: {error}", Exit.USAGE) from None
    if not clusters:
        if options.context is not None:
            raise Failure(f"{said} has one cluster only: leave --context out", Exit.USAGE)
        pairs, lines = parse_properties_with_lines(text)
        source = SettingSource(
            said, [(key, make_path_absolute(key, value, os.path.dirname(file))) for key, value in pairs], lines
        )
        _save_profile(env, name or _make_profile_name(os.path.basename(file).partition(".")[0]), source, options)
        return
    named = [
        (name or _make_profile_name(each.name), each)
        for each in _choose_clusters(clusters, name, said, options.context)
    ]
    _refuse_existing_profiles(Profiles.open_own(env), [each for each, _ in named], options)
    for own, cluster in named:
        _import_cluster(env, own, cluster, file, options)


def _choose_clusters(
    clusters: list[ForeignCluster], name: str | None, file: str, context: str | None
) -> list[ForeignCluster]:
    kind, names = clusters[0].kind, [cluster.name for cluster in clusters]
    if context is not None:
        if context not in names:
            from decoders.wire.suggest_similar_words import did_you_mean

            there = did_you_mean(context, names) or f"; there are {', '.join(names)}"
            raise Failure(f"{file} has no {kind} {context}{there}", Exit.USAGE)
        return [cluster for cluster in clusters if cluster.name == context]
    if name is None:
        return clusters
    for wanted in (name, next((cluster.name for cluster in clusters if cluster.current), None)):
        if wanted in names:
            return [clusters[names.index(wanted)]]
    if len(clusters) == 1:
        return clusters
    raise Failure(f"{file} has the {kind}s {', '.join(names)}: choose one by --context {names[0]}", Exit.USAGE)


def _import_cluster(env: Environment, name: str, cluster: ForeignCluster, file: str, options: ImportOptions) -> None:
    folder = os.path.dirname(file)
    pairs = [(key, make_path_absolute(key, value, folder)) for key, value in cluster.pairs]
    origin = f"{'standard input' if file == '-' else file}, {cluster.kind} {cluster.name}"
    # With all clusters imported, the one that is in use in the file becomes the active one.
    active = options.active and (options.context is not None or cluster.current)
    _save_profile(env, name, SettingSource(origin, pairs), options._replace(active=active))
    for line in cluster.unfollowed:
        env.report(f"kw: warning: {origin}: {line}")


def _save_profile(env: Environment, name: str, source: SettingSource, options: ImportOptions) -> None:
    profiles = Profiles.open_own(env)
    _refuse_existing_profiles(profiles, [name], options)
    chosen = merge_setting_sources([source])
    for fault in chosen.faults:
        raise Failure(fault, Exit.USAGE)
    if not chosen.values:
        raise Failure(f"{source.origin} has no property of a Kafka client in it", Exit.USAGE)
    path = profiles.write(name, source.pairs, comment=f"imported from {source.origin}")
    for line in (
        *chosen.warnings,
        *list_warnings_of_empty_settings(chosen, (chosen.read_text("protocol") or "PLAINTEXT").upper()),
    ):
        env.report(f"kw: warning: {line}")
    mechanism = chosen.values.get("mechanism")
    if mechanism is not None and mechanism.text and mechanism.text.upper() not in MECHANISMS:
        env.report(f"kw: warning: {mechanism.name_and_place} is {mechanism.text!r}: kw knows {', '.join(MECHANISMS)}")
    if options.verbose:
        for line in chosen.remarks:
            env.report(f"kw: {line}")
    elif chosen.remarks:
        many = len(chosen.remarks) > 1
        what = f"{len(chosen.remarks)} properties have" if many else "1 property has"
        env.report(f"kw: {what} no meaning for kw (-v lists {'them' if many else 'it'})")
    if not chosen.read_text("servers") and not chosen.read_text("controllers"):
        remedy = f"give -b, or add bootstrap.servers to {path}"
        env.report(f"kw: warning: {source.origin} does not say where the cluster is: {remedy}")
    if options.active:
        profiles.set_active(name)
    env.report(f"kw: {'the active profile is' if options.active else 'wrote profile'} {name}: {path}")


def _refuse_existing_profiles(profiles: Profiles, names: Sequence[str], options: ImportOptions) -> None:
    there = profiles.list_names()
    for name in names:
        profiles.path_of_profile(name)
        if not options.force and name in there:
            raise Failure(f"there is a profile {name} already; --force replaces it", Exit.USAGE)


def make_path_absolute(name: str, value: str, folder: str) -> str:
    """A path in another program's file, made good for use from anywhere; any other value as it is.

    Paths are relative to where a program runs; where there is no such file but one beside the configuration file, that
    one is meant.
    """
    row = BY_NAME.get(name)
    if row is None or row.form != "path" or not value or os.path.isabs(value):
        return value
    here, beside = os.path.abspath(value), os.path.abspath(os.path.join(folder, value))
    return beside if os.path.exists(beside) and not os.path.exists(here) else here


def _make_profile_name(word: str) -> str:
    """Another tool's name of a cluster, as a name that a profile may have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", word).strip("-._")[:64] or "imported"


def _find_config_file(env: Environment, word: str) -> str:
    """The path of a file; the name of a tool stands for its file in the user's home. Raises Failure."""
    if word not in PLACES or os.path.exists(word):
        return word
    home = env.variables.get("HOME") or os.path.expanduser("~")
    places = [os.path.join(home, place) for place in PLACES[word]]
    for place in places:
        if os.path.exists(place):
            return place
    raise Failure(f"{word} has no file at {places[0]}: name the file", Exit.USAGE)


def _read_config_text(env: Environment, file: str) -> str:
    try:
        if file == "-":
            return decode_config_text(b"".join(iter(env.stdin.read1, b"")))
        with open(file, "rb") as source:
            return decode_config_text(source.read(_FILE_MAX))
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", Exit.USAGE) from None
