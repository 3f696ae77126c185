"""The settings of the output, from options and environment: format, width, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.messages.build_body_json import Options
    from decoders.messages.decode_record_values import RecordValueReader
    from kwcli.run_environment import Environment

# Formats that have colours; every value in them is cleaned before it is written.
PAINTED: Final = frozenset({"text", "table", "hex"})
# Formats with signs of kw's own.
SIGNED_FORMATS: Final = PAINTED | {"md"}


class Settings(NamedTuple):
    """How output is shown. `width` None: lines of any width, nothing is shortened."""

    format: str = "text"
    width: int | None = None
    color: bool = False
    verbose: int = 0
    quiet: bool = False
    records: bool = False
    reveal_secrets: bool = False
    names: bool = False  # in JSON and similar formats, words beside numbers that have names
    heading: bool = True  # write the names of the columns above them
    prompt: bool = False  # rows are written as they settle, not in large pieces
    csv_safe: bool = False  # no cell of CSV is a formula to a spreadsheet
    columns: Sequence[str] = ()  # the paths given by -e or --columns
    marks: Sequence[str] = ()  # the words of -E: the marks around fields
    ascii: bool = False  # no character beyond ASCII in formats that have signs of kw's own
    zone: str = ""  # time zone of times for people, as find_zone (output/short_texts.py) takes it; empty: UTC
    values: RecordValueReader | None = None  # decodes keys and values of the records that are shown

    def make_record_options(self) -> Options:
        """How much the records of exchanges show."""
        from decoders.messages.build_body_json import Options

        return Options(self.records, self.reveal_secrets, deferred=True, names=self.names, values=self.values)

    def prepare_output(self, env: Environment) -> None:
        """Let colour codes pass to a terminal where these settings produce them; turn signs into ASCII if asked for."""
        env.allow_colors(self.color and self.format in PAINTED)
        if self.ascii:
            env.ascii = True  # for standard error
            env.use_ascii_on_terminals()
            if not env.stdout_terminal and self.format in SIGNED_FORMATS:
                from kwcli.terminal.ascii_text import AsciiOutput

                env.stdout = AsciiOutput(env.stdout)


def choose_settings(env: Environment, *, output: str, color: str, live: bool = False) -> Settings:
    """Settings by the rules of every command: colours on a terminal only, NO_COLOR and COLUMNS honoured.

    Raises Failure.
    """
    if env.csv_safe and output != "csv":
        raise Failure("--csv-safe is for -o csv", Exit.USAGE)
    found = Settings(
        format=output,
        width=env.columns,
        color=_wants_color(env, color),
        prompt=live or env.stdout_terminal,
        csv_safe=env.csv_safe,
        ascii=env.ascii,
    )
    found.prepare_output(env)
    return found


_OFF: Final = frozenset({"", "0", "false", "no", "never"})


def _wants_color(env: Environment, color: str) -> bool:
    """Whether to use colours: by --color, else by variables (no-color.org, bixense.com/clicolors, force-color.org)."""
    if color != "auto":
        return color == "always"
    variables = env.variables
    if variables.get("NO_COLOR"):
        return False
    if force := variables.get("FORCE_COLOR"):
        return force not in _OFF
    if variables.get("CLICOLOR_FORCE", "0") not in _OFF:
        return True
    if variables.get("CLICOLOR", "1") == "0":
        return False
    return env.stdout_terminal and variables.get("TERM") != "dumb"
