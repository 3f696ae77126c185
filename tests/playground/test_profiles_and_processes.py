"""The profiles of a playground, its processes, and the user's command that runs beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwcli.net.config.connection_profiles import Profiles
from kwcli.playground.add_user_profiles import add_profile, remove_profiles
from kwcli.playground.client_configs import ListenerConfig
from kwcli.playground.process_liveness import is_process_alive, read_process_start
from kwcli.run_user_command import exit_code_of, start_user_command
from kwcli.user_folders import own_folder_name
from tests.calling.surroundings import environment


def test_profiles_have_numbers_where_names_are_taken_and_go_with_their_folder(tmp_path: Path) -> None:
    env = environment(b"")
    env.variables = {"XDG_CONFIG_HOME": str(tmp_path)}
    config = ListenerConfig("plain", "PLAINTEXT", None, "localhost:9092", tmp_path)
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    remove_profiles(env, first)
    assert [add_profile(env, first, config) for _ in range(3)] == [
        "playground-plain",
        "playground2-plain",
        "playground3-plain",
    ]
    assert add_profile(env, second, config) == "playground4-plain"
    profiles = Profiles.open_own(env)
    assert ("bootstrap.servers", "localhost:9092") in profiles.read_pairs("playground2-plain")
    profiles.remove("playground2-plain")
    remove_profiles(env, first)
    assert profiles.list_names() == ["playground4-plain"]
    assert add_profile(env, first, config) == "playground-plain"


def test_a_process_is_alive_until_it_is_waited_for() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    assert is_process_alive(child.pid)
    assert is_process_alive(os.getpid())
    child.wait()
    assert not is_process_alive(child.pid)
    assert read_process_start(child.pid) == ""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no /proc")
def test_the_start_of_a_process_is_the_22nd_value_of_its_line() -> None:
    values = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert read_process_start(os.getpid()) == values[22 - 3]


@pytest.mark.parametrize(("returncode", "code"), [(0, 0), (1, 1), (255, 255), (-1, 129), (-15, 143)])
def test_the_exit_code_is_that_of_a_shell(returncode: int, code: int) -> None:
    assert exit_code_of(returncode) == code


def test_a_command_is_told_where_its_cluster_is() -> None:
    test = '[ "$KW_BOOTSTRAP_SERVER $KAFKA_BOOTSTRAP_SERVERS $A $B" = "h:1 h:1 2 3" ] && exit 7'
    command = start_user_command(test, "h:1", {"A": "1", "B": "3", "KW_BOOTSTRAP_SERVER": "x"}, {"A": "2"})
    assert command.wait() == 7


@pytest.mark.parametrize(
    ("kind", "variables", "name"),
    [
        ("cache", {"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/kw"),
        ("cache", {"HOME": "/h"}, "/h/.cache/kw"),
        ("config", {"XDG_CONFIG_HOME": "", "HOME": "/h"}, "/h/.config/kw"),
        ("state", {"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/h/.local/state/kw"),
        ("state", {}, os.path.expanduser("~/.local/state/kw")),
    ],
)
def test_own_folders(kind: str, variables: dict[str, str], name: str) -> None:
    assert own_folder_name(kind, variables) == name  # type: ignore[arg-type]  # one of its words
