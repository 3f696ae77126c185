"""Another client's configuration file in, a profile out; what it says that kw does not follow is told."""

from __future__ import annotations

import os

from kwcli.env import Environment
from kwcli.exits import Exit, Failure
from kwcli.net.core.choose import Source, choose
from kwcli.net.core.property_files import decoded
from kwcli.net.profiles import Profiles, imported

_FILE_MAX = 1024 * 1024


def import_profile(env: Environment, name: str, file: str, *, active: bool, force: bool, verbose: bool) -> None:
    """Read `file` (`-`: standard input) and keep it as `name`. Failure where it says nothing."""
    profiles = Profiles.of(env)
    profiles.path(name)
    if not force and name in profiles.names():
        raise Failure(f"there is a profile {name} already; --force replaces it", Exit.USAGE)
    pairs = imported(_text(env, file), os.path.dirname(file))
    chosen = choose([Source(file, pairs)])
    if not chosen.values:
        raise Failure(f"{file} has no property of a Kafka client in it", Exit.USAGE)
    path = profiles.write(name, pairs, comment=f"imported from {file}")
    for line in chosen.warnings:
        env.say(f"kw: warning: {line}")
    if verbose:
        for line in chosen.remarks:
            env.say(f"kw: {line}")
    elif chosen.remarks:
        many = len(chosen.remarks) > 1
        what = f"{len(chosen.remarks)} properties have" if many else "1 property has"
        env.say(f"kw: {what} no meaning for kw (-v lists {'them' if many else 'it'})")
    if not chosen.text("servers") and not chosen.text("controllers"):
        env.say(f"kw: warning: {file} does not say where the cluster is: give -b, or add bootstrap.servers to {path}")
    if active:
        profiles.use(name)
    env.say(f"kw: {'the active profile is' if active else 'wrote profile'} {name}: {path}")


def _text(env: Environment, file: str) -> str:
    try:
        if file == "-":
            return decoded(b"".join(iter(env.stdin.read1, b"")))
        with open(file, "rb") as source:
            return decoded(source.read(_FILE_MAX))
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", Exit.USAGE) from None
