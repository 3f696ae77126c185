"""Profiles in, what `kw profile` prints of them out: lines for people, rows for programs; secrets only on demand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from decoders.wire.hiding import hole
from kwcli.exits import Failure
from kwcli.net.core.choose import Source, choose
from kwcli.net.core.property_files import Pair
from kwcli.net.core.secrets import PUBLIC_OPTIONS, hidden, shown_name, shown_value
from kwcli.net.profiles import Profiles

Row = dict[str, Any]


def listed(profiles: Profiles) -> list[Row]:
    """One row a profile: its name, whether it is active, where it leads, and how."""
    active = profiles.active()
    return [{"profile": name, "active": name == active, **_summary(profiles, name)} for name in profiles.names()]


def _summary(profiles: Profiles, name: str) -> Row:
    try:
        chosen = choose([Source(name, profiles.pairs(name))])
    except Failure as failure:
        return {"servers": None, "protocol": None, "mechanism": None, "error": failure.text}
    return {
        "servers": shown_value("bootstrap.servers", chosen.text("servers") or chosen.text("controllers") or "") or None,
        "protocol": chosen.text("protocol") or "PLAINTEXT",
        "mechanism": chosen.text("mechanism"),
    }


def list_lines(rows: list[Row], width: int | None) -> list[str]:
    """Columns; the active profile has a star."""
    if not rows:
        return ["no profiles yet; kw profile import NAME FILE makes one"]
    from kwcli.render.columns import Column, draw_table
    from kwcli.render.palette import PLAIN
    from kwcli.terminal import clean

    def told(title: str) -> list[str]:
        return [clean(row[title] or "-") for row in rows]

    names = [f"{'*' if row['active'] else ' '} {row['profile']}" for row in rows]
    # Names and protocols are short; a long list of servers comes last and is cut on a terminal.
    columns = [Column("  profile", names), *(Column(title, told(title)) for title in ("protocol", "mechanism"))]
    return [*draw_table([*columns, Column("servers", told("servers"), cut=len("servers"))], width, PLAIN)]


def shown(pairs: Iterable[Pair], *, reveal: bool) -> Row:
    """The properties of a profile; a secret is {"redacted": its size in bytes}."""
    if reveal:
        return dict(pairs)
    return {shown_name(name, value): _shown(name, value) for name, value in pairs}


def _shown(name: str, value: str) -> Any:
    return _redacted(name, value) if hidden(name, value) else shown_value(name, value)


def _redacted(name: str, value: str) -> Any:
    """Of a login configuration what is no secret stays."""
    from kwcli.net.core import jaas

    if name == "sasl.jaas.config":
        with suppress(jaas.JaasError):
            module, options = jaas.parse(value)
            words = [
                f'{word}="{text}"' if word in PUBLIC_OPTIONS else f"{word}={hole(text)}"
                for word, text in options.items()
            ]
            return f"{' '.join([module, 'required', *words])};"
    return {"redacted": len(value.encode())}


def show_lines(row: Row) -> list[str]:
    """As in a property file; what a terminal could take for a command is escaped."""
    from kwcli.terminal import clean

    lines = []
    for name, value in row.items():
        text = f"{{redacted {value['redacted']}}}" if isinstance(value, dict) else value
        lines.append(clean(f"{name}={text}"))
    return lines


def as_json(rows: list[Row], output: str) -> bytes:
    """One object a line, or one array."""
    if output == "json":
        return (json.dumps(rows, indent=2, ensure_ascii=False) + "\n").encode()
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode()
