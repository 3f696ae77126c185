"""The commands of the core: each that it makes has one row that carries it out, and every row is of such a command."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from kwcli.proxy.relay import relay_connection, relay_state, upstream_login

ROOT = Path(relay_state.__file__).parent
OF_CORE = ("relay_requests.py", "relay_responses.py", "rewrite_cache.py", "relay_state.py", "frame_decisions.py")
# Tuples that begin with such a name and are no commands.
NO_COMMANDS = {"CLIENT", "SERVER", "SASL_HANDSHAKE", "API_VERSIONS", "STREAM", "REWRITE", "MECHANISM"}


def names_of_commands(*files: str) -> set[str]:
    """The names in the first place of the tuples that modules of the core make."""
    tuples = [node for name in files for node in ast.walk(ast.parse((ROOT / name).read_text()))]
    first = [node.elts[0] for node in tuples if isinstance(node, ast.Tuple) and node.elts]
    return {node.id for node in first if isinstance(node, ast.Name) and node.id.isupper()} - NO_COMMANDS


@pytest.mark.parametrize(
    ("files", "module", "rows"),
    [
        (OF_CORE, relay_state, relay_connection.CARRY_OUT),
        (("upstream_login.py",), upstream_login, upstream_login._CARRY_OUT),
    ],
    ids=["core", "login"],
)
def test_every_command_is_carried_out(files: tuple[str, ...], module: Any, rows: dict[int, Any]) -> None:
    made = {getattr(module, name) for name in names_of_commands(*files)}
    assert made == set(rows), f"kwcli/proxy/relay: {made ^ set(rows)} is made and not carried out, or the reverse"
