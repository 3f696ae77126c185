"""Completion scripts: the files in `completions/` are what `kw completion` prints, and shells accept and obey them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kwcli.completion import SHELLS
from tests.cli.worlds import kw

ROOT = Path(__file__).resolve().parents[2]
FILES = {"bash": "kw.bash", "zsh": "_kw", "fish": "kw.fish"}


@pytest.mark.parametrize("shell", list(SHELLS))
def test_the_shipped_script_is_what_the_command_prints(shell: str) -> None:
    assert (ROOT / "completions" / FILES[shell]).read_text() == kw("completion", shell).out


def complete(*words: str) -> set[str]:
    """What bash offers for the last word."""
    script = (
        f"source {ROOT}/completions/kw.bash\n"
        f"COMP_WORDS=(kw {' '.join(repr(word) for word in words)})\nCOMP_CWORD={len(words)}\n"
        '_kw\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["comp"], {"completion"}),
        (["--ver"], {"--version"}),
        (["completion", "z"], {"zsh"}),
        (["profile", "im"], {"import"}),
        (["profile", "import", "--fo"], {"--force"}),
    ],
)
def test_bash_completes(words: list[str], offered: set[str]) -> None:
    assert complete(*words) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_parse_their_script(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell} on the PATH")
    done = subprocess.run([program, "-n", str(ROOT / "completions" / FILES[shell])], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
