"""What `kw version` tells: versions of kw, Python, Kafka and libraries, which a report of a defect should have."""

from __future__ import annotations

import platform
import re
import textwrap
from importlib import metadata
from typing import Any, Final

import orjson

from decoders.apis import NAMES
from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.wire import primitive_types
from kwcli.pip_extras import DISTRIBUTION
from kwcli.run_environment import Environment

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


def is_compiled() -> bool:
    """Whether the library's busiest modules are machine code: all of them are, or none (decoders/mypyc_modules.py)."""
    return not (primitive_types.__file__ or "").endswith(".py")


def find_kw_versions() -> dict[str, Any]:
    """kw, compiled, python, implementation, platform, kafka {oldest, newest, apis}, libraries and extras {name: …}.

    A version is null where it is not installed.
    """
    from kwcli import VERSION

    needed, extras = split_requirements_by_extra()
    return {
        "kw": VERSION,
        "compiled": is_compiled(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()} {platform.machine()}",
        "kafka": {"oldest": RELEASES[0], "newest": RELEASES[-1], "apis": len(NAMES)},
        "libraries": {name: find_installed_version(name) for name in needed},
        "extras": {name: find_installed_version(name) for name in extras},
    }


def split_requirements_by_extra() -> tuple[list[str], list[str]]:
    """The names of the packages that kw needs, and of those that its extras need besides, but for the test extra."""
    try:
        stated = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # run from its sources
        stated = []
    needed: set[str] = set()
    extras: set[str] = set()
    for line in stated:
        match = _NAME.match(line)
        if match is None or match[0] == DISTRIBUTION:
            continue
        if "extra ==" not in line:
            needed.add(match[0])
        elif not re.search(r"extra == ['\"]test['\"]", line):
            extras.add(match[0])
    return sorted(needed), sorted(extras - needed)


def find_installed_version(name: str) -> str | None:
    """The version of a library; None where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def write_versions(env: Environment, versions: dict[str, Any], output: str) -> None:
    """Write the versions as text, as an indented JSON object, or as a JSON object on one line."""
    if output != "text":
        option = orjson.OPT_INDENT_2 if output == "json" else 0
        env.stdout.write(orjson.dumps(versions, option=option) + b"\n")
        return
    kafka = versions["kafka"]
    lines = [
        f"kw      {versions['kw']}{', compiled' * versions['compiled']}",
        f"Python  {versions['python']} ({versions['implementation']}, {versions['platform']})",
        f"Kafka   {kafka['oldest']} to {kafka['newest']}, {kafka['apis']} APIs",
    ]
    for title, key in (("with", "libraries"), ("extras", "extras")):
        there = [f"{name} {version}" for name, version in versions[key].items() if version]
        if there:
            lines.append(f"{title:<8}{', '.join(there)}")
    missing = [name for name, version in versions["extras"].items() if not version]
    if missing:
        lines.append(f"without {', '.join(missing)}")
    if env.columns is not None:
        lines = [part for line in lines for part in _wrap_line(line, env.columns)]
    env.stdout.write("".join(f"{line}\n" for line in lines).encode())


def _wrap_line(line: str, width: int) -> list[str]:
    """A line wrapped to a width, broken between libraries only."""
    held = re.sub(r" (?=\d)", "\0", line)  # a version stays with its name
    indent = " " * 8
    parts = textwrap.wrap(
        held, max(width, 40), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return [part.replace("\0", " ") for part in parts]
